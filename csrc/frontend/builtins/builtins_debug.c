/* builtins_debug: loops, hints, asserts, prints, the target: what computes no value. */
#include "frontend/fe.h"

Value
bi_device_assert(Fe *f, Value *a)
{
    if (a[1].kind == V_TENSOR)
        err_help(f->c, "tl.device_print(\"x\", x) shows run-time values");
    const char *msg = is_absent(a[1])
                          ? ""
                          : v_const_str(f, a[1], "the message of an assert");
    f->has_assert = true;
    bool is_text = a[0].kind == V_OBJ && PyUnicode_Check(a[0].obj);
    if (is_text)
        err_help(f->c,
                 "the condition comes first: tl.device_assert(n > 0, \"n is 0\")");
    if (!f->c->opt.debug && !is_text)
        return v_obj(Py_None);
    Val *cond = fe_tensor(f, a[0], "the condition of an assert"), *mask = NULL;
    cond = fe_cast(f, cond, E_I1, ROUND_RTNE);
    if (fe_is_given(a[2])) {
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
    bool has_stop = fe_is_given(a[1]);
    r->start = has_stop ? a[0] : v_int(f, 0);
    r->stop = has_stop ? a[1] : a[0];
    r->step = !fe_is_given(a[2]) ? v_int(f, 1) : a[2];
    return r;
}

static int
small_hint(Fe *f, Value v, const char *what)
{
    if (!fe_is_given(v))
        return 0;
    int64_t i = v_const_int(f, v, what);
    if (i < 0 || i > 1024)
        fail(f, VALUE, "%s must be between 0 and 1024, not %lld", what, (long long)i);
    return (int)i;
}

Value
bi_range(Fe *f, Value *a)
{
    static const struct {
        const char *name;
        int flag;
    } flags[] = {
        {"disallow_acc_multi_buffer", LOOP_NO_MULTI_BUFFER},
        {"flatten", LOOP_FLATTEN},
        {"warp_specialize", LOOP_WARP_SPECIALIZE},
        {"disable_licm", LOOP_NO_LICM},
    };
    Range *r = range_of(f, a);
    r->stages = small_hint(f, a[3], "num_stages");
    r->unroll = small_hint(f, a[4], "loop_unroll_factor");
    for (int i = 0; i < (int)COUNT(flags); i++)
        if (!is_absent(a[5 + i]) && v_const_bool(f, a[5 + i], flags[i].name))
            r->flags |= flags[i].flag;
    return (Value){.kind = V_RANGE, .range = r};
}

Value
bi_static_range(Fe *f, Value *a)
{
    Range *r = range_of(f, a);
    r->is_static = true;
    return (Value){.kind = V_RANGE, .range = r};
}

Value
bi_condition(Fe *f, Value *a)
{
    if (!is_absent(a[1]))
        v_const_bool(f, a[1], "disable_licm");
    return a[0];
}

/* ---- promises ------------------------------------------------------------------------------- */

/* One power of two for each dim; the attribute holds log2, a byte each. */
Value
bi_hint(Fe *f, Value *a)
{
    Attr attr = (Attr)f->which;
    bool scalars = attr == ATTR_DIVISIBLE;
    if (a[0].kind != V_TENSOR)
        return a[0];
    Val *v = a[0].val;
    int64_t values[MAX_RANK];
    int n = v_int_list(f, a[1], values, MAX_RANK, f->callee);
    if (n != v->type->rank && !(scalars && !v->type->rank && n == 1)) {
        if (!v->type->rank)
            return a[0];
        fail(f, VALUE, "%s: %d value%s for the %d dimension%s of %s", f->callee, n,
             n == 1 ? "" : "s", v->type->rank, v->type->rank == 1 ? "" : "s",
             ty_str(f->a, v->type));
    }
    int64_t code = 0;
    for (int i = 0; i < n; i++) {
        if (values[i] < 1)
            fail(f, VALUE, "%s: values are positive, not %lld", f->callee,
                 (long long)values[i]);
        if (i < MAX_HINT_RANK)
            code |= (int64_t)__builtin_ctzll((uint64_t)values[i]) << (8 * i);
    }
    if ((!v->type->is_ptr && elem_is_float(v->type->elem)) || n > MAX_HINT_RANK)
        return a[0];
    const Type *t = v->type;
    Op *o = ir_op(&f->b, OP_HINT, 1, &v, 1, &t);
    ir_set_attr(o, attr, code);
    return v_val(result(o, 0));
}

Value
bi_assume(Fe *f, Value *a)
{
    if (a[0].kind == V_OBJ) {
        if (!fe_truth(f, a[0], "an assumption")) {
            const char *text = fe_written(f, a[0]);
            const char *values = fe_values(f, f->args ? f->args->at[0] : NULL);
            if (values)
                err_help(f->c, "%s", values);
            fail(f, VALUE, "the assumption is false%s%s", text ? ": " : "",
                 text ? text : "");
        }
        return v_obj(Py_None);
    }
    if (a[0].kind == V_TENSOR && a[0].val->type->rank) {
        fe_blame(f, a[0]);
        err_say(f->c, f->b.loc, CONDITION, "an assumption must be a scalar, not %s",
                ty_str(f->a, a[0].val->type));
    }
    Val *c = fe_condition(f, a[0], "an assumption");
    ir_op(&f->b, OP_ASSUME, 1, &c, 0, NULL);
    return v_obj(Py_None);
}

Value
bi_debug_barrier(Fe *f, Value *a)
{
    (void)a;
    ir_op(&f->b, OP_BARRIER, 0, NULL, 0, NULL);
    return v_obj(Py_None);
}

/* ---- asserts and prints ------------------------------------------------------------------------ */

Value
bi_static_assert(Fe *f, Value *a)
{
    const char *msg = "";
    if (!is_absent(a[1])) {
        PyObject *s = fe_own(f, PyObject_Str(v_to_py(f, a[1], "the message")));
        msg = v_const_str(f, v_obj(s), "the message");
    }
    if (a[0].kind == V_TENSOR)
        err_help(f->c, "tl.device_assert checks when the kernel runs");
    v_to_py(f, a[0], "the condition of static_assert");
    if (!fe_truth(f, a[0], "the condition of static_assert")) {
        const char *text = fe_written(f, a[0]);
        const char *values = fe_values(f, f->args ? f->args->at[0] : NULL);
        if (values)
            err_help(f->c, "%s", values);
        if (!*msg && text)
            msg = text;
        err_at(f->c, f->b.loc, STATIC_ASSERT, *msg ? ": " : "", msg);
    }
    return v_obj(Py_None);
}

/* What static_print shows for v: the constant, or the type of a run-time value. */
static PyObject *
printable(Fe *f, Value v)
{
    v = fe_read(f, v);
    if (v.kind == V_OBJ)
        return v.obj;
    if (v.kind == V_TENSOR) {
        const Type *t = v.val->type;
        Elem e = t->elem;
        const char *name = elem_is_int(e) ? elem_info[e].tl : elem_info[e].sig;
        Sb sb = {.a = f->a};
        sb_printf(&sb, t->is_ptr ? "pointer<%s>[" : "%s[", name);
        for (int i = 0; i < v.val->type->rank; i++)
            sb_printf(&sb, "%sconstexpr[%d]", i ? ", " : "",
                      (int)v.val->type->shape[i]);
        sb_put(&sb, "]");
        return fe_own(f, PyUnicode_FromString(sb.at));
    }
    return fe_own(f, PyUnicode_FromString(v_short(f, v)));
}

Value
bi_static_print(Fe *f, Value *a)
{
    static const char *const names[] = {"sep", "end", "file", "flush"};
    int n = a[0].kind == V_TUPLE ? a[0].tuple->n : 0;
    PyObject *args = fe_own(f, PyTuple_New(n)), *kw = fe_own(f, PyDict_New());
    for (int i = 0; i < n; i++)
        PyTuple_SetItem(args, i, Py_NewRef(printable(f, a[0].tuple->at[i])));
    for (int i = 0; i < 4; i++)
        if (!is_absent(a[1 + i]) &&
            PyDict_SetItemString(kw, names[i], v_to_py(f, a[1 + i], names[i])))
            fe_raise(f, f->b.loc);
    PyObject *print = fe_own(f, PyObject_GetAttrString(f->builtins_mod, "print"));
    fe_own(f, PyObject_Call(print, args, kw));
    return v_obj(Py_None);
}

static Value
print(Fe *f, const char *prefix, int n, const Value *args, bool hex)
{
    Val **v = NEW_N(f->a, Val *, n + 1);
    for (const char *s = prefix; *s; s++)
        if ((unsigned char)*s < 32 || (unsigned char)*s > 126)
            fail(f, VALUE,
                 "the prefix of device_print must be printable ASCII, not \"%s\"",
                 prefix);
    for (int i = 0; i < n; i++)
        v[i] = fe_tensor(f, args[i], "an operand of device_print");
    Op *o = ir_op(&f->b, OP_PRINT, n, v, 0, NULL);
    ir_set_attr(o, ATTR_HEX, hex);
    o->text = ir_print_prefix(f->c, prefix, n > 0);
    return v_obj(Py_None);
}

Value
bi_device_print(Fe *f, Value *a)
{
    if (a[0].kind == V_TENSOR) {
        err_help(f->c, "tl.device_print(\"x\", x): a text comes first");
        fail_of(f, a[0], TYPE, "the prefix of device_print must be a str, not %s",
                v_describe(f, a[0]));
    }
    const char *prefix = v_const_str(f, a[0], "the prefix of device_print");
    const char *percent = strchr(prefix, '%');
    if (percent && percent[1] && strchr(".0123456789dfgiusxe", percent[1]))
        fe_warn(
            f, PyExc_UserWarning,
            "device_print takes a prefix, no format: it prints \"%s: \" and then the "
            "values",
            prefix);
    bool hex = !is_absent(a[2]) && v_const_bool(f, a[2], "hex");
    int n = a[1].kind == V_TUPLE ? a[1].tuple->n : 0;
    return print(f, prefix, n, n ? a[1].tuple->at : NULL, hex);
}

/* Python's print: texts become the prefix, the rest are operands. In the interpreter it is
 * Python's own, of NumPy's arrays. */
Value
bi_print(Fe *f, Value *a)
{
    Sb sb = {.a = f->a};
    int n = a[0].kind == V_TUPLE ? a[0].tuple->n : 0, n_args = 0;
    Value *args = NEW_N(f->a, Value, n + 1);
    if (f->c->opt.interpret) {
        fe_print_values(f, n, n ? a[0].tuple->at : NULL);
        return v_obj(Py_None);
    }
    sb_put(&sb, "");
    for (int i = 0; i < n; i++) {
        Value v = fe_read(f, a[0].tuple->at[i]);
        if (v.kind == V_OBJ && PyUnicode_Check(v.obj))
            sb_printf(&sb, "%s%s", sb.n ? " " : "", v_const_str(f, v, "a text"));
        else
            args[n_args++] = v;
    }
    return print(f, str_intern(f->c, sb.at), n_args, args, false);
}

/* ---- the target -------------------------------------------------------------------- */

/* Of a function of the language, at the line that called it. */
Value
bi_warn(Fe *f, Value *a)
{
    const Loc *here = f->b.loc;
    Frame *frame = f->frame;
    while (f->b.loc && f->b.loc->is_library)
        f->b.loc = f->b.loc->caller;
    while (f->frame && f->frame->tree->is_library)
        f->frame = f->frame->caller;
    fe_warn(f, PyExc_UserWarning, "%s", v_const_str(f, a[0], "a warning"));
    f->frame = frame;
    f->b.loc = here;
    return v_obj(Py_None);
}

Value
bi_is_cuda(Fe *f, Value *a)
{
    (void)a;
    return v_bool(f->c->opt.target.kind != TARGET_CPU);
}

Value
bi_is_ptx(Fe *f, Value *a)
{
    (void)a;
    return v_bool(f->c->opt.target.kind == TARGET_CUDA && !f->c->opt.interpret);
}

Value
bi_cuda_capability_geq(Fe *f, Value *a)
{
    int64_t major = v_const_int(f, a[0], "major");
    int64_t minor = fe_is_given(a[1]) ? v_const_int(f, a[1], "minor") : 0;
    const Target *t = &f->c->opt.target;
    if (t->kind == TARGET_CPU)
        return v_bool(false);
    return v_bool(t->sm / 10 > major || (t->sm / 10 == major && t->sm % 10 >= minor));
}

Value
bi_num_warps(Fe *f, Value *a)
{
    (void)a;
    return v_int(f, f->c->opt.num_warps);
}

Value
bi_num_threads(Fe *f, Value *a)
{
    (void)a;
    return v_int(f, 32 * f->c->opt.num_warps);
}
