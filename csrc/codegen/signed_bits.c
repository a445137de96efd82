/* signed_bits: a bit with its sign as a float, on GPUs.
 *
 *     sitofp i1 x to bfloat    =>    select x, -1.0, 0.0
 *
 * LLVM 22 converts 1 or 0 to bfloat16 there, and the sign is lost. The other types it
 * converts well, and a selection is no more than that.
 *
 * After LLVM's optimisations, which make such conversions of others.
 */
#include "codegen/scalar.h"

static void
select_signed(Ll *l, Lv v)
{
    if (!LLVMIsASIToFPInst(v))
        return;
    Lv bit = LLVMGetOperand(v, 0);
    Lt t = LLVMTypeOf(v);
    if (LLVMTypeOf(bit) != like(v, l->i1))
        return;
    LLVMPositionBuilderBefore(l->b, v);
    Lv r = LLVMBuildSelect(l->b, bit, LLVMConstReal(t, -1), LLVMConstNull(t), "");
    LLVMReplaceAllUsesWith(v, r);
    LLVMInstructionEraseFromParent(v);
}

void
ll_select_signed_bits(Ll *l)
{
    if (l->gptr != l->ptr)
        ll_each_instruction(l, select_signed);
}
