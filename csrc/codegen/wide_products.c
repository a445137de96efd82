/* wide_products: upper bits of vectors of 64-bit products, on CPUs.
 *
 *     lshr (mul x, y), C    =>    lshr (mul x, y), c, and LLVM does not know that c is C
 *
 * Where x and y are numbers of 16 bits, and 16 bits are wanted, LLVM for x86 takes the upper
 * half of 16-bit products, pmulhw, and shifts that by C - 16 more. That is right of 32-bit
 * products. Of 64-bit ones the bits above the half are lost, and a shift by more than the half
 * has gives anything.
 *
 * After LLVM's optimisations, which would see through it.
 */
#include "codegen/codegen.h"

/* C of each lane; NULL: they differ, or are no constants. */
static Lv
count_of(Lv counts)
{
    Lv first = LLVMIsConstant(counts) ? LLVMGetAggregateElement(counts, 0) : NULL;
    for (unsigned i = 1; first && i < LLVMGetVectorSize(LLVMTypeOf(counts)); i++)
        if (LLVMGetAggregateElement(counts, i) != first)
            return NULL;
    return first && LLVMIsAConstantInt(first) ? first : NULL;
}

static bool
is_product(Lv x)
{
    return LLVMIsAInstruction(x) && LLVMGetInstructionOpcode(x) == LLVMMul;
}

static void
hide_count(Ll *l, Lv shift)
{
    enum { HALF = 16 };
    LLVMOpcode op = LLVMGetInstructionOpcode(shift);
    Lt t = LLVMTypeOf(shift);
    if ((op != LLVMLShr && op != LLVMAShr) ||
        LLVMGetTypeKind(t) != LLVMVectorTypeKind || LLVMGetElementType(t) != l->i64 ||
        !is_product(LLVMGetOperand(shift, 0)))
        return;
    Lv c = count_of(LLVMGetOperand(shift, 1));
    if (!c || LLVMConstIntGetZExtValue(c) <= HALF)
        return;
    Lv fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(shift));
    LLVMPositionBuilderBefore(l->b,
                              LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    c = ll_asm(l, l->i64, "", "=r,0", &c, 1, false);
    LLVMPositionBuilderBefore(l->b, shift);
    Lv zero = LLVMConstNull(t), lane = LLVMConstNull(l->i32);
    c = LLVMBuildInsertElement(l->b, zero, c, lane, "");
    Lv lanes = LLVMConstNull(LLVMVectorType(l->i32, LLVMGetVectorSize(t)));
    LLVMSetOperand(shift, 1, LLVMBuildShuffleVector(l->b, c, zero, lanes, ""));
}

void
ll_hide_counts(Ll *l)
{
    if (l->gptr == l->ptr)
        ll_each_instruction(l, hide_count);
}
