/* one_lane: masked stores of which one lane is known to be the only one.
 *
 *     y = trunc <16 x i16> x to <16 x i8>
 *     masked.store(y, p, <1, 0, .. 0>)      =>    store i8 y[0], p
 *
 * LLVM 22 makes a scalar store of the element of x: two bytes, of which the second is a neighbour's. It does
 * so for a store that truncates, and with a mask of one lane alone.
 *
 * After LLVM's optimisations, which find such masks.
 */
#include "codegen/codegen.h"

/* The only lane that is set; -1: the mask is no constant, or has another number of them. */
static int
only_lane(Lv mask)
{
    int lane = -1;
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(mask)); i++) {
        Lv bit = LLVMIsConstant(mask) ? LLVMGetAggregateElement(mask, i) : NULL;
        if (!bit || !LLVMIsAConstantInt(bit))
            return -1;
        if (!LLVMConstIntGetZExtValue(bit))
            continue;
        if (lane >= 0)
            return -1;
        lane = (int)i;
    }
    return lane;
}

static bool
is_masked_store(Lv o)
{
    static const char name[] = "llvm.masked.store.";
    Lv f = LLVMIsACallInst(o) ? LLVMGetCalledValue(o) : NULL;
    size_t n;
    return f && LLVMIsAFunction(f) &&
           !strncmp(LLVMGetValueName2(f, &n), name, sizeof name - 1);
}

static void
store_alone(Ll *l, Lv store)
{
    if (!is_masked_store(store))
        return;
    Lv value = LLVMGetOperand(store, 0), p = LLVMGetOperand(store, 1);
    unsigned n = LLVMGetNumArgOperands(store);
    int lane = only_lane(LLVMGetOperand(store, n - 1));
    if (lane < 0)
        return;
    LLVMPositionBuilderBefore(l->b, store);
    Lv index = ll_i32(l, lane), x = LLVMBuildExtractElement(l->b, value, index, "");
    Lt e = LLVMGetElementType(LLVMTypeOf(value));
    p = ll_element(l, e, p, index);
    LLVMSetAlignment(LLVMBuildStore(l->b, x, p), 1);
    LLVMInstructionEraseFromParent(store);
}

void
ll_store_one_lane(Ll *l)
{
    ll_each_instruction(l, store_alone);
}
