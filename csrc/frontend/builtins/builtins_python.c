/* builtins_python: what Python's own len, int, isinstance, .. mean in a kernel. */
#include "frontend/fe.h"

Value
bi_len(Fe *f, Value *a)
{
    if (a[0].kind == V_TUPLE)
        return v_int(f, a[0].tuple->n);
    if (a[0].kind == V_TENSOR && a[0].val->type->rank)
        return v_int(f, a[0].val->type->shape[0]);
    if (a[0].kind == V_TENSOR && a[0].val->type->is_ptr)
        err_help(f->c,
                 "of a tensor that is passed a kernel gets the address alone: pass "
                 "its sizes as arguments");
    if (a[0].kind != V_OBJ)
        fail(f, TYPE, "%s has no length", v_describe(f, a[0]));
    fe_watch_operand(f, a[0]);
    Py_ssize_t n = PyObject_Size(a[0].obj);
    if (n < 0)
        fe_raise(f, f->b.loc);
    return v_int(f, n);
}

/* The class applied to a constant. */
Value
bi_number(Fe *f, Value *a)
{
    static PyTypeObject *const classes[] = {&PyLong_Type, &PyFloat_Type, &PyBool_Type};
    static const Elem like[] = {E_I32, E_F32, E_I1};
    PyObject *cls = (PyObject *)classes[f->which], *x = NULL;
    if (a[0].kind == V_TENSOR)
        err_help(f->c, "x.to(tl.%s) converts a run-time value",
                 elem_info[like[f->which]].tl);
    fe_watch_operand(f, a[0]);
    if (!is_absent(a[0]))
        x = v_to_py(f, a[0], str_printf(f->a, "the argument of %s()", f->callee));
    return v_obj(fe_own(f, PyObject_CallFunctionObjArgs(cls, x, NULL)));
}

Value
bi_tuple(Fe *f, Value *a)
{
    if (is_absent(a[0]))
        return v_tuple(f, 0, NULL);
    return fe_elements(f, a[0], "what becomes a tuple");
}

static bool
is_a(Fe *f, Value v, Value cls)
{
    if (cls.kind == V_TUPLE) {
        for (int i = 0; i < cls.tuple->n; i++)
            if (is_a(f, v, cls.tuple->at[i]))
                return true;
        return false;
    }
    PyObject *c = v_to_py(f, cls, "the class");
    if (v.kind == V_BLOCK_PTR && v.bp->is_desc) {
        PyObject *desc = fe_own(f,
                                PyObject_GetAttrString(f->core, "tensor_descriptor"));
        return c == desc;
    }
    if (c == f->cls_tensor)
        return v.kind == V_TENSOR || v.kind == V_BLOCK_PTR;
    if (c == f->cls_constexpr)
        return v.kind == V_OBJ;
    if (c == f->cls_tuple || c == (PyObject *)&PyTuple_Type)
        return v.kind == V_TUPLE;
    if (v.kind == V_TUPLE)
        return v.tuple->type == c;
    return v.kind == V_OBJ && fe_is_instance(f, v.obj, c);
}

Value
bi_isinstance(Fe *f, Value *a)
{
    return v_bool(is_a(f, a[0], a[1]));
}

Value
bi_hasattr(Fe *f, Value *a)
{
    return v_bool(!is_absent(fe_attribute(f, a[0], v_const_str(f, a[1], "the name"))));
}

Value
bi_getattr(Fe *f, Value *a)
{
    const char *name = v_const_str(f, a[1], "the name");
    Value r = fe_attribute(f, a[0], name);
    if (!is_absent(r))
        return r;
    if (is_absent(a[2]))
        err_at(f->c, f->b.loc, ATTRIBUTE, v_describe(f, a[0]), name);
    return a[2];
}

/* ---- over tuples ------------------------------------------------------------------------- */

Value
bi_enumerate(Fe *f, Value *a)
{
    const TupleValue *t = fe_elements(f, a[0], "what enumerate() counts").tuple;
    int64_t start = is_absent(a[1]) ? 0 : v_const_int(f, a[1], "start of enumerate()");
    Value *items = NEW_N(f->a, Value, t->n + 1);
    for (int i = 0; i < t->n; i++) {
        const Value pair[2] = {v_int(f, start + i), t->at[i]};
        items[i] = v_tuple(f, 2, pair);
    }
    return v_tuple(f, t->n, items);
}

/* As long as the shortest; with strict=True all are as long. */
Value
bi_zip(Fe *f, Value *a)
{
    const TupleValue *args = a[0].tuple;
    int n_args = is_absent(a[0]) ? 0 : args->n, n = 0;
    const TupleValue **t = NEW_N(f->a, const TupleValue *, n_args + 1);
    for (int k = 0; k < n_args; k++) {
        t[k] = fe_elements(f, args->at[k], "an argument of zip()").tuple;
        n = k ? MIN(n, t[k]->n) : t[k]->n;
    }
    bool strict = !is_absent(a[1]) && v_const_bool(f, a[1], "strict");
    for (int k = 0; strict && k < n_args; k++)
        if (t[k]->n != n)
            fail(f, VALUE, "zip(strict=True) of tuples of %d and %d elements", t[0]->n,
                 t[k]->n == t[0]->n ? n : t[k]->n);
    Value *items = NEW_N(f->a, Value, n + 1), *row = NEW_N(f->a, Value, n_args + 1);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n_args; k++)
            row[k] = t[k]->at[i];
        items[i] = v_tuple(f, n_args, row);
    }
    return v_tuple(f, n, items);
}

Value
bi_reversed(Fe *f, Value *a)
{
    const TupleValue *t = fe_elements(f, a[0], "what reversed() turns around").tuple;
    Value *items = NEW_N(f->a, Value, t->n + 1);
    for (int i = 0; i < t->n; i++)
        items[i] = t->at[t->n - 1 - i];
    return v_tuple(f, t->n, items);
}

/* sum((a, b)), any(..), all(..): of the elements of a tuple, not of a block. */
static const TupleValue *
summed(Fe *f, Value v, const char *reduction)
{
    if (v.kind == V_TENSOR)
        err_help(f->c, "%s reduces a block", reduction);
    return fe_elements(f, v, str_printf(f->a, "the argument of %s()", f->callee)).tuple;
}

Value
bi_py_sum(Fe *f, Value *a)
{
    const TupleValue *t = summed(f, a[0], "tl.sum(x)");
    Value r = is_absent(a[1]) ? v_int(f, 0) : a[1];
    for (int i = 0; i < t->n; i++)
        r = i || !is_absent(a[1]) ? fe_binary(f, OPR_Add, r, t->at[i]) : t->at[i];
    return r;
}

/* One of them decides: of constants now, of scalars when the kernel runs. */
Value
bi_any_or_all(Fe *f, Value *a)
{
    bool is_all = f->which;
    const TupleValue *t = summed(f, a[0], is_all ? "tl.min(x)" : "tl.max(x)");
    Val *r = NULL;
    for (int i = 0; i < t->n; i++) {
        Value x = fe_read(f, t->at[i]);
        if (x.kind == V_TENSOR) {
            Val *c = fe_condition(f, x, "an element");
            r = r ? fe_logical(f, is_all ? OPR_And : OPR_Or, r, c) : c;
        } else if (fe_truth(f, x, "an element") != is_all)
            return v_bool(!is_all);
    }
    return r ? v_val(r) : v_bool(is_all);
}
