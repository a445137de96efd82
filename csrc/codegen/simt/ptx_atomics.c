/* ptx_atomics: order and scope are written out in asm, because LLVM's atomicrmw drops them.
 */
#include "codegen/simt/ptx.h"

static const char *const sem_word[] = {"acq_rel", "acquire", "release", "relaxed"};
static const char *const scope_word[] = {"gpu", "cta", "sys"};

/* "@p atom.sem.scope.global.<what> $0, [ptr], values;" with the result tied to 0. `first`
 * and its like are integers or floats of the register class that <what> needs. */
static Lv
atom(Ll *l, Lv ptr, Lv pred, int sem, int scope, const char *what, Lv *values, int n,
     Lv otherwise)
{
    Asm a = {.l = l};
    Lt t = LLVMTypeOf(values[0]);
    asm_out(&a, t);
    asm_predicate(&a, pred);
    asm_text(&a, "atom.%s.%s.global.%s $0, [$%d]", sem_word[sem], scope_word[scope],
             what, asm_in(&a, ptr));
    for (int i = 0; i < n; i++)
        asm_text(&a, ", $%d", asm_in(&a, values[i]));
    asm_text(&a, ";");
    if (pred)
        asm_tie(&a, 0, otherwise ? otherwise : LLVMConstNull(t));
    return asm_done(&a, true, true);
}

/* Integer order is float order for numbers without a sign, and the other way round,
 * unsigned, for those with one. So one of two instructions, by the operand's sign. */
static Lv
float_extreme(Ll *l, const Access *x, Elem e, int rmw, int sem, int scope, Lv value)
{
    int bits = elem_info[e].bits;
    bool is_max = rmw == RMW_MAX;
    char up[16], down[16];
    snprintf(up, sizeof up, "%s.s%d", is_max ? "max" : "min", bits);
    snprintf(down, sizeof down, "%s.u%d", is_max ? "min" : "max", bits);
    Lv v = ptx_as_bits(l, e, value);
    Lv is_neg = LLVMBuildICmp(l->b, LLVMIntSLT, v, LLVMConstNull(LLVMTypeOf(v)), "");
    Lv is_pos = LLVMBuildNot(l->b, is_neg, "");
    if (x->pred) {
        is_neg = LLVMBuildAnd(l->b, is_neg, x->pred, "");
        is_pos = LLVMBuildAnd(l->b, is_pos, x->pred, "");
    }
    Lv old = atom(l, x->ptr, is_pos, sem, scope, up, &v, 1, NULL);
    old = atom(l, x->ptr, is_neg, sem, scope, down, &v, 1, old);
    return LLVMBuildBitCast(l->b, old, ll_elem(l, e), "");
}

/* bf16 addition before sm_90: compare and swap until nobody came between. */
static Lv
add_by_cas(Ll *l, const Access *x, Elem e, int sem, int scope, Lv value)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b), start = ll_block(l, "rmw"),
                      loop = ll_block(l, "retry"), after = ll_block(l, "added");
    Lv pred = x->pred ? x->pred : LLVMConstInt(l->i1, 1, false);
    LLVMBuildCondBr(l->b, pred, start, after);
    LLVMPositionBuilderAtEnd(l->b, start);
    Lv seen = LLVMBuildLoad2(l->b, l->i16, x->ptr, "");
    LLVMSetVolatile(seen, 1);
    LLVMBuildBr(l->b, loop);
    LLVMPositionBuilderAtEnd(l->b, loop);
    Lv old = LLVMBuildPhi(l->b, l->i16, "");
    LLVMAddIncoming(old, &seen, &start, 1);
    Lv sum = LLVMBuildFAdd(l->b,
                           cg_cast(l, e, E_F32,
                                   LLVMBuildBitCast(l->b, old, ll_elem(l, e), ""),
                                   ROUND_RTNE),
                           cg_cast(l, e, E_F32, value, ROUND_RTNE), "");
    Lv new = ptx_as_bits(l, e, cg_cast(l, E_F32, e, sum, ROUND_RTNE));
    Lv got = atom(l, x->ptr, NULL, sem, scope, "cas.b16", (Lv[]){old, new}, 2, NULL);
    Lv same = LLVMBuildICmp(l->b, LLVMIntEQ, got, old, "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b);
    LLVMAddIncoming(old, &got, &end, 1);
    LLVMBuildCondBr(l->b, same, after, loop);
    LLVMPositionBuilderAtEnd(l->b, after);
    Lv r = LLVMBuildPhi(l->b, l->i16, "");
    LLVMAddIncoming(r, (Lv[]){LLVMConstNull(l->i16), got},
                    (LLVMBasicBlockRef[]){before, end}, 2);
    return LLVMBuildBitCast(l->b, r, ll_elem(l, e), "");
}

Lv
ptx_atomic_rmw(Ll *l, const Access *x, Elem e, int rmw, int sem, int scope, Lv value)
{
    int bits = elem_info[e].bits;
    char what[24];
    Lv v = value;
    switch (rmw) {
    case RMW_ADD:
        if (e == E_BF16 && !ptx_sm_at_least(l, 90))
            return add_by_cas(l, x, e, sem, scope, value);
        if (elem_info[e].bits == 16)
            snprintf(what, sizeof what, "add.noftz.%s", e == E_F16 ? "f16" : "bf16");
        else
            snprintf(what, sizeof what, "add.%c%d", elem_is_float(e) ? 'f' : 'u', bits);
        if (bits == 16)
            v = ptx_as_bits(l, e, value);
        break;
    case RMW_MAX:
    case RMW_MIN:
        if (elem_is_float(e))
            return float_extreme(l, x, e, rmw, sem, scope, value);
        snprintf(what, sizeof what, "%s.%c%d", rmw == RMW_MAX ? "max" : "min",
                 elem_is_signed(e) ? 's' : 'u', bits);
        break;
    case RMW_AND: snprintf(what, sizeof what, "and.b%d", bits); break;
    case RMW_OR: snprintf(what, sizeof what, "or.b%d", bits); break;
    case RMW_XOR: snprintf(what, sizeof what, "xor.b%d", bits); break;
    case RMW_XCHG:
        snprintf(what, sizeof what, "exch.b%d", bits);
        v = ptx_as_bits(l, e, value);
        break;
    default: unreachable(l->c);
    }
    Lv old = atom(l, x->ptr, x->pred, sem, scope, what, &v, 1, NULL);
    return LLVMBuildBitCast(l->b, old, LLVMTypeOf(value), "");
}

Lv
ptx_atomic_cas(Ll *l, const Access *x, Elem e, int sem, int scope, Lv compare, Lv value)
{
    char what[16];
    snprintf(what, sizeof what, "cas.b%d", elem_info[e].bits);
    Lv v[] = {ptx_as_bits(l, e, compare), ptx_as_bits(l, e, value)};
    Lv old = atom(l, x->ptr, x->pred, sem, scope, what, v, 2, NULL);
    return LLVMBuildBitCast(l->b, old, LLVMTypeOf(value), "");
}
