/* piecewise: what is computed element by element, one element after the other.
 *
 *     x0 = mul a0, b0            x0 = mul a0, b0
 *     x1 = mul a1, b1            y0 = xor x0, c
 *     ..                   =>    store y0
 *     y0 = xor x0, c             x1 = mul a1, b1
 *     ..                         ..
 *
 * Code generation takes an op for all of a thread's registers and then the next op, so that as many words live as the
 * block has of each value. ptxas brings an element's instructions together as far as it sees, and spills otherwise. What
 * it spilled is computed so, and kept where less spills then (compile.c). On an H100: norm and float8 by groups of 5120 by
 * one warp, 1584 bytes and 103 us, 328 and 69; cross entropy of 50257 by 32 warps, 332 and 168, 144 and 142. Not
 * everywhere: a softmax's backward pass of 32768 by 32 warps spills nothing by itself, 96 bytes so, and takes 8% longer.
 *
 * In each basic block what has effects or reads memory stays in its order, and everything else moves to just in front of the
 * first that wants it.
 */
#include "codegen/binary.h"
#include "codegen/codegen.h"

typedef struct Order {
    Ll *l;
    LLVMBasicBlockRef block;
    Map seen; /* of this block, and placed */
    VEC(Lv) placed;
} Order;

static bool
is_pure_call(Lv o)
{
    static const char name[] = "memory";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    Lv f = LLVMGetCalledValue(o);
    LLVMAttributeRef a = LLVMGetCallSiteEnumAttribute(o, LLVMAttributeFunctionIndex,
                                                      kind);
    if (!a && LLVMIsAFunction(f))
        a = LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, kind);
    return a && !LLVMGetEnumAttributeValue(a) &&
           !LLVMGetCallSiteEnumAttribute(
               o, LLVMAttributeFunctionIndex,
               LLVMGetEnumAttributeKindForName("convergent", sizeof "convergent" - 1));
}

static bool
is_movable(Lv o)
{
    switch (LLVMGetInstructionOpcode(o)) {
    case LLVMPHI:
    case LLVMLoad:
    case LLVMStore:
    case LLVMAlloca:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return false;
    case LLVMCall: return is_pure_call(o);
    default: return !LLVMIsATerminatorInst(o);
    }
}

/* In front of which what it is made of stands, and that before. */
static void
place(Order *d, Lv o)
{
    if (map_get(&d->seen, o, 0))
        return;
    map_put(&d->seen, o, 0, o);
    for (int i = 0; i < LLVMGetNumOperands(o); i++) {
        Lv x = LLVMGetOperand(o, (unsigned)i);
        if (LLVMIsAInstruction(x) && LLVMGetInstructionParent(x) == d->block &&
            is_movable(x))
            place(d, x);
    }
    PUSH(d->l->c->arena, &d->placed, o);
}

static void
order_block(Ll *l, LLVMBasicBlockRef block)
{
    Order d = {.l = l, .block = block, .seen.a = l->c->arena};
    Lv end = LLVMGetBasicBlockTerminator(block), first = NULL;
    for (Lv o = LLVMGetFirstInstruction(block); o != end;
         o = LLVMGetNextInstruction(o)) {
        if (LLVMGetInstructionOpcode(o) == LLVMPHI)
            continue;
        first = first ? first : o;
        if (!is_movable(o))
            place(&d, o);
    }
    for (Lv o = first; o && o != end; o = LLVMGetNextInstruction(o))
        place(&d, o); /* what other blocks want, and the branch */
    for (int i = 0; i < d.placed.n; i++) {
        LLVMInstructionRemoveFromParent(d.placed.at[i]);
        LLVMPositionBuilderBefore(l->b, end);
        LLVMInsertIntoBuilder(l->b, d.placed.at[i]);
    }
}

const char *
ll_emit_piecewise(Ll *l)
{
    Comp *c = l->c;
    LLVMModuleRef m = l->m;
    Lv fn = l->fn;
    size_t n;
    Binary *out = NEW(c->arena, Binary);
    arena_defer(c->arena, binary_drop, out);
    l->m = LLVMCloneModule(m);
    l->fn = LLVMGetNamedFunction(l->m, LLVMGetValueName2(fn, &n));
    LLVMSetCurrentDebugLocation2(l->b, NULL);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(l->fn); b;
         b = LLVMGetNextBasicBlock(b))
        order_block(l, b);
    ll_emit(l, LLVMAssemblyFile, "ptx", out);
    LLVMDisposeModule(l->m);
    l->m = m;
    l->fn = fn;
    return binary_stage(out, "ptx")->data;
}
