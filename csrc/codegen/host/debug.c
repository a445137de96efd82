/* debug: device_assert and device_print.
 *
 * A failed assertion tells the run (calls.h) and leaves the program at once; what it has
 * stored so far stays stored. Both go element by element, through the stack.
 */
#include "codegen/host/calls.h"
#include "codegen/host/host.h"

static Lv
text_of(Host *h, const char *text)
{
    return LLVMBuildGlobalStringPtr(h->l->b, text, "text");
}

static Lv
words(Host *h, const int32_t *w, int n)
{
    Ll *l = h->l;
    Lv all[PRINT_SHAPE + 2 * MAX_RANK];
    for (int i = 0; i < n; i++)
        all[i] = ll_i32(l, w[i]);
    return ll_constant(l, LLVMConstArray2(l->i32, all, (uint64_t)n), "what");
}

static Lv
describe(Host *h, const Op *o, int operand)
{
    int32_t w[PRINT_SHAPE + 2 * MAX_RANK] = {operand, ir_n_values(o)};
    int rank = 0;
    if (o->n_args) {
        const Type *t = arg(o, operand)->type;
        w[PRINT_ELEM] = t->is_ptr ? E_U64 : t->elem;
        w[PRINT_HEX] = t->is_ptr || ir_attr(o, ATTR_HEX);
        rank = w[PRINT_RANK] = t->rank;
        for (int d = 0; d < rank; d++)
            w[PRINT_SHAPE + d] = t->shape[d];
        ty_unpack_sides(t, ir_attr(o, ATTR_SIDES), w + PRINT_SHAPE + rank);
    }
    return words(h, w, PRINT_SHAPE + 2 * rank);
}

/* The bits of one element, as u64. */
static Lv
bits_of(Host *h, const Type *t, Lv x)
{
    Ll *l = h->l;
    if (t->is_ptr)
        return LLVMBuildPtrToInt(l->b, x, l->i64, "");
    Lt it = LLVMIntTypeInContext(l->cx, elem_info[t->elem].bits);
    if (LLVMTypeOf(x) != it)
        x = LLVMBuildBitCast(l->b, x, it, "");
    return it == l->i64 ? x : LLVMBuildZExt(l->b, x, l->i64, "");
}

/* Element i of a vector, with a loop around. */
static Lv
lane(Host *h, Lv slot, Lt elem, Lv i)
{
    Ll *l = h->l;
    return ll_load_element(l, elem, slot, i);
}

void
host_print(Host *h, const Op *o, int operand, int lanes, Lv flat, Lv value, Lv mask)
{
    Ll *l = h->l;
    Lv args[6] = {h->scratch,          h->pid,
                  text_of(h, o->text), describe(h, o, MAX(operand, 0)),
                  ll_i64(l, 0),        ll_i64(l, 0)};
    if (operand < 0 || !lanes) {
        if (operand >= 0)
            args[5] = bits_of(h, arg(o, operand)->type, value);
        if (flat)
            args[4] = flat;
        When on;
        if (mask)
            host_when_open(h, &on, mask);
        ll_call_c(l, "tegula_print", l->void_, args, 6);
        if (mask)
            host_when_close(h, &on);
        return;
    }
    const Type *t = arg(o, operand)->type;
    value = host_to_mem(h, t, value); /* an array of i1 would be packed */
    Lt elem = LLVMGetElementType(LLVMTypeOf(value));
    Lv slot = host_spill(h, value), bits = NULL;
    if (mask)
        bits = host_spill(h, mask);
    Loop loop;
    When on;
    host_loop_open(h, &loop, lanes, 1);
    if (mask)
        host_when_open(
            h, &on, LLVMBuildTrunc(l->b, lane(h, bits, l->i8, loop.index), l->i1, ""));
    args[4] = LLVMBuildAdd(l->b, flat, loop.index, "");
    args[5] = bits_of(h, t, host_from_mem(h, t, lane(h, slot, elem, loop.index)));
    ll_call_c(l, "tegula_print", l->void_, args, 6);
    if (mask)
        host_when_close(h, &on);
    host_loop_close(h, &loop);
}

static void
fail_if(Host *h, const Op *o, Lv bad, Lv flat)
{
    Ll *l = h->l;
    LLVMBasicBlockRef failed = ll_block(l, "failed"), fine = ll_block(l, "fine");
    ll_if(l, bad, failed, fine);
    Lv args[] = {
        h->scratch,        h->pid, host_access_of(h, o, 0, 0), text_of(h, o->text),
        describe(h, o, 0), flat};
    ll_call_c(l, "tegula_assert", l->void_, args, COUNT(args));
    LLVMBuildBr(l->b, h->leave);
    LLVMPositionBuilderAtEnd(l->b, fine);
}

void
host_check(Host *h, const Op *o, int lanes, Lv flat, Lv cond, Lv mask)
{
    Ll *l = h->l;
    Lv bad = LLVMBuildNot(l->b, cond, "");
    if (mask)
        bad = LLVMBuildAnd(l->b, bad, mask, "");
    if (!lanes) {
        fail_if(h, o, bad, flat ? flat : ll_i64(l, 0));
        return;
    }
    When any;
    host_when_open(h, &any, host_any(h, bad));
    Lv slot = host_spill(h, bad);
    Loop loop;
    host_loop_open(h, &loop, lanes, 1);
    Lv bit = LLVMBuildTrunc(l->b, lane(h, slot, l->i8, loop.index), l->i1, "");
    fail_if(h, o, bit, LLVMBuildAdd(l->b, flat, loop.index, ""));
    host_loop_close(h, &loop);
    host_when_close(h, &any);
}
