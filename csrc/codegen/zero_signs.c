/* zero_signs: selections of which LLVM makes a minimum or maximum that is wrong, on GPUs.
 *
 *     %c = fcmp olt x, 0.0
 *     %r = select %c, x, 0.0        =>    select %c, (bitcast x to i32), 0, as a float again
 *
 * For x = -0.0 that is 0.0. LLVM takes it for min x, 0.0, as if nobody looked at the sign of
 * a zero, and the chip's instruction gives -0.0. Of integers it makes nothing. Where x is
 * zero a comparison picks the second arm, whatever the signs are, so the other zero, as in
 * select (fcmp ogt x, 0.0), x, 0.0, is what the instruction gives, and stays.
 *
 * After LLVM's optimisations, which would undo it.
 */
#include "codegen/codegen.h"

static bool
is_zero(Lv v, bool *is_negative)
{
    LLVMBool loses;
    *is_negative = !LLVMIsNull(v); /* which is of bits */
    return LLVMIsAConstantFP(v) && LLVMConstRealGetDouble(v, &loses) == 0;
}

/* Does the comparison of x with a zero tell which is greater (1) or less (-1), and leave equal
 * ones to the second arm? 0: it is another one. */
static int
order_of(Lv compare, Lv x)
{
    if (!LLVMIsAFCmpInst(compare))
        return 0;
    LLVMRealPredicate p = LLVMGetFCmpPredicate(compare);
    int order = p == LLVMRealOGT || p == LLVMRealUGT   ? 1
                : p == LLVMRealOLT || p == LLVMRealULT ? -1
                                                       : 0;
    bool any, is_left = LLVMGetOperand(compare, 0) == x;
    Lv other = LLVMGetOperand(compare, is_left);
    if (LLVMGetOperand(compare, !is_left) != x || !is_zero(other, &any))
        return 0;
    return is_left ? order : -order;
}

static void
keep_sign(Ll *l, Lv select)
{
    if (!LLVMIsASelectInst(select))
        return;
    Lt t = LLVMTypeOf(select), bits = t == l->f16   ? l->i16
                                      : t == l->f32 ? l->i32
                                      : t == l->f64 ? l->i64
                                                    : NULL;
    Lv arm[2] = {LLVMGetOperand(select, 1), LLVMGetOperand(select, 2)};
    bool is_negative, is_second = is_zero(arm[1], &is_negative);
    if (!bits || (!is_second && !is_zero(arm[0], &is_negative)))
        return;
    int order = order_of(LLVMGetOperand(select, 0), arm[!is_second]);
    bool is_max = (order > 0) == is_second, gives_negative = is_second == is_negative;
    if (!order || is_max != gives_negative)
        return;
    LLVMBuilderRef b = l->b;
    LLVMPositionBuilderBefore(b, select);
    for (int i = 0; i < 2; i++)
        arm[i] = LLVMBuildBitCast(b, arm[i], bits, "");
    Lv r = LLVMBuildSelect(b, LLVMGetOperand(select, 0), arm[0], arm[1], "");
    LLVMReplaceAllUsesWith(select, LLVMBuildBitCast(b, r, t, ""));
    LLVMInstructionEraseFromParent(select);
}

void
ll_keep_zero_signs(Ll *l)
{
    if (l->gptr != l->ptr)
        ll_each_instruction(l, keep_sign);
}
