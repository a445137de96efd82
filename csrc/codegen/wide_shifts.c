/* wide_shifts: shifts of 64 bits by 64 bits, on GPUs.
 *
 *     select (n < 64), (lshr x, n), 0    =>    the same, and LLVM does not know that n is the n of the comparison
 *
 * A shift of PTX's by 64 or more gives 0, so LLVM 22 drops the selection. But PTX has counts of
 * 32 bits, and of a count of 2^32 those are 0.
 *
 * After LLVM's optimisations, which would see through it.
 */
#include "codegen/codegen.h"

static bool
is_shift_by(Lv x, Lv n)
{
    if (!LLVMIsAInstruction(x))
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    return (op == LLVMLShr || op == LLVMShl) && LLVMGetOperand(x, 1) == n;
}

static void
hide_count(Ll *l, Lv select)
{
    if (!LLVMIsASelectInst(select) || LLVMTypeOf(select) != l->i64)
        return;
    Lv fits = LLVMGetOperand(select, 0);
    if (!LLVMIsAICmpInst(fits))
        return;
    Lv n = LLVMGetOperand(fits, 0);
    if (!is_shift_by(LLVMGetOperand(select, 1), n) &&
        !is_shift_by(LLVMGetOperand(select, 2), n))
        return;
    LLVMPositionBuilderBefore(l->b, fits);
    LLVMSetOperand(fits, 0, ll_asm(l, l->i64, "mov.b64 $0, $1;", "=l,l", &n, 1, false));
}

void
ll_keep_wide_counts(Ll *l)
{
    if (l->gptr != l->ptr)
        ll_each_instruction(l, hide_count);
}
