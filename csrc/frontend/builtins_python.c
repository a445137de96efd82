/* builtins_python: what Python's own len, int, isinstance, .. mean in a kernel. */
#include "frontend/fe.h"

Value
bi_len(Fe *f, Value *a)
{
    if (a[0].kind == V_TUPLE)
        return v_int(f, a[0].tuple->n);
    if (a[0].kind == V_TENSOR && a[0].val->type->rank)
        return v_int(f, a[0].val->type->shape[0]);
    if (a[0].kind != V_OBJ)
        fail(f, TYPE, "%s has no length", v_describe(f, a[0]));
    Py_ssize_t n = PyObject_Size(a[0].obj);
    if (n < 0)
        fe_raise(f, f->b.loc);
    return v_int(f, n);
}

/* The class applied to a constant. */
static Value
convert(Fe *f, PyTypeObject *cls, const Value *a, const char *to)
{
    PyObject *r;
    if (a[0].kind == V_TENSOR)
        err_help(f->c, "x.to(tl.%s) converts a run-time value", to);
    if (is_absent(a[0]))
        r = PyObject_CallFunctionObjArgs((PyObject *)cls, NULL);
    else
        r = PyObject_CallFunctionObjArgs(
            (PyObject *)cls,
            v_to_py(f, a[0], str_printf(f->a, "the argument of %s()", f->callee)),
            NULL);
    return v_obj(fe_own(f, r));
}

Value
bi_int(Fe *f, Value *a)
{
    return convert(f, &PyLong_Type, a, "int32");
}
Value
bi_float(Fe *f, Value *a)
{
    return convert(f, &PyFloat_Type, a, "float32");
}
Value
bi_bool(Fe *f, Value *a)
{
    return convert(f, &PyBool_Type, a, "int1");
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
