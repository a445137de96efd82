/* builtins_debug: loops, hints, asserts, prints: what computes no value. */
#include "frontend/fe.h"

Value
bi_device_assert(Fe *f, Value *a)
{
    const char *msg = is_absent(a[1]) ? "" : v_const_str(f, a[1], "the message of an assert");
    if (!f->c->opt.debug)
        return v_obj(Py_None);
    Val *cond = fe_tensor(f, a[0], "the condition of an assert"), *mask = NULL;
    cond = fe_cast(f, cond, E_I1, ROUND_RTNE);
    if (!is_absent(a[2]) && !is_py_none(a[2])) {
        mask = fe_cast(f, fe_tensor(f, a[2], "mask"), E_I1, ROUND_RTNE);
        fe_broadcast_pair(f, &cond, &mask);
    }
    Op *o = ir_op(&f->b, OP_ASSERT, mask ? 2 : 1, (Val *[]){cond, mask}, 0, NULL);
    o->text = msg;
    return v_obj(Py_None);
}

/* ---- loops -------------------------------------------------------------------------------- */

static Range *
range_of(Fe *f, const Value *a)
{
    Range *r = NEW(f->a, Range);
    bool has_stop = !is_absent(a[1]) && !is_py_none(a[1]);
    r->start = has_stop ? a[0] : v_int(f, 0);
    r->stop = has_stop ? a[1] : a[0];
    r->step = is_absent(a[2]) || is_py_none(a[2]) ? v_int(f, 1) : a[2];
    return r;
}

static int
small_hint(Fe *f, Value v, const char *what)
{
    if (is_absent(v) || is_py_none(v))
        return 0;
    int64_t i = v_const_int(f, v, what);
    if (i < 0 || i > 1024)
        fail(f, VALUE, "%s must be between 0 and 1024, not %lld", what, (long long)i);
    return (int)i;
}

Value
bi_range(Fe *f, Value *a)
{
    static const struct { const char *name; int flag; } flags[] = {
        {"disallow_acc_multi_buffer", LOOP_NO_MULTI_BUFFER}, {"flatten", LOOP_FLATTEN},
        {"warp_specialize", LOOP_WARP_SPECIALIZE}, {"disable_licm", LOOP_NO_LICM},
    };
    Range *r = range_of(f, a);
    r->stages = small_hint(f, a[3], "num_stages");
    r->unroll = small_hint(f, a[4], "loop_unroll_factor");
    for (int i = 0; i < (int)COUNT(flags); i++)
        if (!is_absent(a[5 + i]) && v_const_bool(f, a[5 + i], flags[i].name))
            r->flags |= flags[i].flag;
    return (Value){V_RANGE, {.range = r}};
}

Value
bi_static_range(Fe *f, Value *a)
{
    Range *r = range_of(f, a);
    r->is_static = true;
    return (Value){V_RANGE, {.range = r}};
}
