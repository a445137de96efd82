/* masked_bits: a selection of bits under a mask, on CPUs with AVX-512.
 *
 *     o = (x & C) | (y & ~C)              d = x ^ o
 *     r = select m, o, x            =>    r = x ^ (sext m & d)
 *
 * LLVM 19 to 22 make one vpternlog of the left side, with the truth table of another order
 * of its operands (VPTERNLOG231_imm8 and 312 are exchanged; LLVM 23 has them right): the
 * sign of x on y comes out as some bits of both. The right side is two vpternlogs.
 *
 * After LLVM's optimisations, which would undo it.
 */
#include "codegen/codegen.h"

static Lv
behind_casts(Lv v)
{
    while (LLVMIsABitCastInst(v))
        v = LLVMGetOperand(v, 0);
    return v;
}

static bool
is_bitwise(Lv v)
{
    return LLVMIsAInstruction(v) && (LLVMGetInstructionOpcode(v) == LLVMAnd ||
                                     LLVMGetInstructionOpcode(v) == LLVMOr ||
                                     LLVMGetInstructionOpcode(v) == LLVMXor);
}

/* Is v a bitwise expression of x? The patterns are three operations deep. */
static bool
is_bits_of(Lv v, Lv x, int depth)
{
    v = behind_casts(v);
    if (!depth || !is_bitwise(v) || LLVMIsConstant(x))
        return false;
    for (int i = 0; i < 2; i++) {
        Lv in = LLVMGetOperand(v, (unsigned)i);
        if (behind_casts(in) == x || is_bits_of(in, x, depth - 1))
            return true;
    }
    return false;
}

/* The vector of integers that is as wide as t, element by element; NULL: none. */
static Lt
integers_of(Ll *l, Lt t)
{
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return NULL;
    Lt e = LLVMGetElementType(t);
    Lt i = e == l->f32                  ? l->i32
           : e == l->f64                ? l->i64
           : e == l->i32 || e == l->i64 ? e
                                        : NULL;
    return i ? LLVMVectorType(i, LLVMGetVectorSize(t)) : NULL;
}

static void
part(Ll *l, Lv select)
{
    if (!LLVMIsASelectInst(select))
        return;
    LLVMBuilderRef b = l->b;
    Lv m = LLVMGetOperand(select, 0), v[2];
    for (int i = 0; i < 2; i++)
        v[i] = LLVMGetOperand(select, (unsigned)(1 + i));
    Lt t = integers_of(l, LLVMTypeOf(select));
    if (!t || LLVMGetTypeKind(LLVMTypeOf(m)) != LLVMVectorTypeKind)
        return;
    int other = is_bits_of(v[0], behind_casts(v[1]), 3)   ? 1
                : is_bits_of(v[1], behind_casts(v[0]), 3) ? 0
                                                          : -1;
    if (other < 0)
        return;
    LLVMPositionBuilderBefore(b, select);
    Lv x = LLVMBuildBitCast(b, v[other], t, ""),
       o = LLVMBuildBitCast(b, v[!other], t, "");
    Lv mask = LLVMBuildSExt(b, other ? m : LLVMBuildNot(b, m, ""), t, "");
    Lv r = LLVMBuildAnd(b, mask, LLVMBuildXor(b, x, o, ""), "");
    r = LLVMBuildXor(b, x, r, "");
    LLVMReplaceAllUsesWith(select, LLVMBuildBitCast(b, r, LLVMTypeOf(select), ""));
    LLVMInstructionEraseFromParent(select);
}

void
ll_each_instruction(Ll *l, void (*change)(Ll *l, Lv o))
{
    for (Lv f = LLVMGetFirstFunction(l->m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef k = LLVMGetFirstBasicBlock(f); k;
             k = LLVMGetNextBasicBlock(k))
            for (Lv next, o = LLVMGetFirstInstruction(k); o; o = next) {
                next = LLVMGetNextInstruction(o);
                change(l, o);
            }
}

void
ll_part_masked_bits(Ll *l)
{
    if (l->gptr != l->ptr || !strstr(ll_host_features(l->c), "+avx512f"))
        return;
    ll_each_instruction(l, part);
}
