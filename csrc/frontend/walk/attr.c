/* attr: what v.name means, for each kind of value. */
#include "frontend/fe.h"

static Value
bind(Fe *f, const Builtin *bi, FeFunction *fn, Value self)
{
    MethodValue *m = NEW(f->a, MethodValue);
    *m = (MethodValue){.builtin = bi, .fn = fn, .self = self};
    return (Value){.kind = V_METHOD, .method = m};
}

/* A function of an aggregate's class that no instance is bound to, written Class.name: a
 * @staticmethod, decorated with @jit or not. */
static Value
static_method(Fe *f, PyObject *fn)
{
    Closure *k = NEW(f->a, Closure);
    k->fn = fe_method_of(f, fn);
    return (Value){.kind = V_CLOSURE, .closure = k};
}

static Value
shape_tuple(Fe *f, int rank, const int32_t *shape)
{
    Value dims[MAX_RANK];
    for (int i = 0; i < rank; i++)
        dims[i] = v_int(f, shape[i]);
    return v_tuple(f, rank, dims);
}

/* A builtin or a library function that tensors have as a method. */
static Value
method(Fe *f, const char *name, Value self)
{
    const Builtin *bi = fe_member(name);
    if (!bi)
        return (Value){0};
    if (bi->fn)
        return bind(f, bi, NULL, self);
    PyObject *o = fe_own(f, PyObject_GetAttrString(f->env->language, name));
    FeFunction *fn = fe_as_function(f, v_obj(o));
    if (!fn)
        return (Value){0};
    return bind(f, NULL, fn, self);
}

static Value
tensor_attribute(Fe *f, Val *v, const char *name)
{
    const Type *t = v->type;
    if (!strcmp(name, "dtype") || !strcmp(name, "type")) {
        PyObject *o = v_dtype(f, t->elem).obj;
        if (t->is_ptr)
            o = fe_pointer_object(f, o, t->is_const);
        if (t->rank && !strcmp(name, "type"))
            o = fe_block_object(f, o, t->rank, t->shape);
        return v_obj(o);
    }
    if (!strcmp(name, "shape"))
        return shape_tuple(f, t->rank, t->shape);
    if (!strcmp(name, "numel"))
        return v_int(f, ty_numel(t));
    if (!strcmp(name, "T")) {
        if (t->rank != 2) {
            err_help(f->c,
                     t->rank == 1
                         ? "x[:, None] is a column, x[None, :] a row"
                         : "tl.permute(x, dims) reorders any number of dimensions");
            fail(f, VALUE, "x.T needs two dimensions, not the shape %s",
                 ty_shape_str(f->a, t));
        }
        return v_val(fe_trans(f, v, (const int[]){1, 0}));
    }
    const Builtin *operator = fe_operator_method(name);
    return operator ? bind(f, operator, NULL, v_val(v)) : method(f, name, v_val(v));
}

static Value
block_ptr_attribute(Fe *f, Value v, const char *name)
{
    BlockPtr *p = v.bp;
    if (p->is_desc)
        return fe_descriptor_attribute(f, v, name);
    if (!strcmp(name, "dtype") || !strcmp(name, "type")) {
        PyObject *e = v_dtype(f, p->base->type->elem).obj;
        return v_obj(
            fe_pointer_object(f, fe_block_object(f, e, p->rank, p->block), false));
    }
    if (!strcmp(name, "shape"))
        return shape_tuple(f, p->rank, p->block);
    if (!strcmp(name, "advance") || !strcmp(name, "store"))
        return method(f, name, v);
    return (Value){0};
}

/* A parameter E: tl.constexpr may be an Enum's member: E.value is the member itself, as
 * of any constexpr, and E.value.value the member's. */
static Value
object_attribute(Fe *f, Value of, const char *name)
{
    PyObject *o = of.obj;
    if (!of.is_bare && !strcmp(name, "value")) {
        of.is_bare = true;
        return of;
    }
    PyObject *r = PyObject_GetAttrString(o, name);
    if (r) {
        fe_own(f, r);
        fe_watch(f, o, name);
    }
    if (r && fe_is_aggregate(o) && fe_has_attr(f, r, "__code__"))
        return static_method(f, r);
    if (r) {
        Value v = v_from_py(f, r);
        v.is_bare = !fe_is_instance(f, r, f->cls_constexpr);
        return v;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        fe_raise(f, f->b.loc);
    PyErr_Clear();
    /* An integer argument of 1 and a literal are constants, but scalars to their user. */
    Value v = v_obj(o);
    if (!is_number(v)) /* hasattr() and getattr() go on without it */
        fe_watch(f, o, name);
    if (!strcmp(name, "value"))
        return v;
    bool is_tuple = PyTuple_Check(o);
    if (!is_number(v) && !is_tuple)
        return (Value){0};
    if (!strcmp(name, "type")) { /* of a constant, it is its value */
        PyObject *cls = fe_own(f, PyObject_GetAttrString(f->core, "constexpr_type"));
        return v_obj(fe_own(f, PyObject_CallFunctionObjArgs(cls, o, NULL)));
    }
    return is_tuple ? (Value){0}
                    : tensor_attribute(f, fe_tensor(f, v, "the value"), name);
}

/* The tl.tuple_type of v, of which some elements are tensors; absent: one has no type. */
static Value
tuple_type(Fe *f, Value v)
{
    PyObject *types = fe_own(f, PyList_New(0)), *fields = Py_None;
    for (int i = 0; i < v.tuple->n; i++) {
        Value t = fe_attribute(f, v.tuple->at[i], "type");
        if (t.kind != V_OBJ)
            return (Value){0};
        if (PyList_Append(types, t.obj) < 0)
            fe_raise(f, f->b.loc);
    }
    if (v.tuple->type)
        fields = fe_own(f, PyObject_GetAttrString(v.tuple->type, "_fields"));
    PyObject *cls = fe_own(f, PyObject_GetAttrString(f->core, "tuple_type"));
    return v_obj(fe_own(f, PyObject_CallFunctionObjArgs(cls, types, fields, NULL)));
}

/* Is every leaf of a tuple known now? */
static bool
all_known(Fe *f, Value v)
{
    v = fe_read(f, v);
    if (v.kind != V_TUPLE)
        return v.kind == V_OBJ;
    for (int i = 0; i < v.tuple->n; i++)
        if (!all_known(f, v.tuple->at[i]))
            return false;
    return true;
}

/* Is cls.name a @staticmethod? Named tuples have methods, too. */
static bool
is_static(Fe *f, PyObject *cls, const char *name)
{
    PyObject *mro = fe_own(f, PyObject_GetAttrString(cls, "__mro__"));
    PyObject *kind = fe_own(f, PyObject_GetAttrString(f->builtins_mod, "staticmethod"));
    for (Py_ssize_t i = 0; i < PyTuple_Size(mro); i++) {
        PyObject *dict =
            fe_own(f, PyObject_GetAttrString(PyTuple_GetItem(mro, i), "__dict__"));
        PyObject *o = PyMapping_GetItemString(dict, name);
        if (o)
            return fe_is_instance(f, fe_own(f, o), kind);
        fe_forget(f);
    }
    return false;
}

Value
fe_attribute_of(Fe *f, Value v, const char *name)
{
    v = fe_read(f, v);
    switch (v.kind) {
    case V_TENSOR: return tensor_attribute(f, v.val, name);
    case V_OBJ: return object_attribute(f, v, name);
    case V_BLOCK_PTR: return block_ptr_attribute(f, v, name);
    case V_TUPLE: {
        if (!v.tuple->type && !strcmp(name, "type") && all_known(f, v))
            return object_attribute(f, v_obj(v_to_py(f, v, "the tuple")), name);
        if (!v.tuple->type)
            return strcmp(name, "type") ? (Value){0} : tuple_type(f, v);
        PyObject *fields = fe_own(f, PyObject_GetAttrString(v.tuple->type, "_fields"));
        for (int i = 0; i < v.tuple->n; i++) {
            PyObject *field = PyTuple_GetItem(fields, i);
            const char *s = field ? PyUnicode_AsUTF8AndSize(field, NULL) : NULL;
            if (s && !strcmp(s, name) && !is_absent(v.tuple->at[i]))
                return v.tuple->at[i];
        }
        PyErr_Clear();
        if (!v.tuple->is_aggregate && !strcmp(name, "type"))
            return tuple_type(f, v);
        /* a jit function that is an attribute of the class */
        PyObject *o = PyObject_GetAttrString(v.tuple->type, name);
        if (!o)
            fe_forget(f);
        if (o) {
            fe_own(f, o);
            fe_watch(f, v.tuple->type, name);
            FeFunction *fn = fe_method_of(f, o);
            if (fn && is_static(f, v.tuple->type, name))
                return static_method(f, o);
            if (fn) {
                Value m = bind(f, NULL, fn, v);
                m.method->obj = o;
                m.method->is_constant = fe_has_attr(f, o, "__tegula_constexpr__");
                return m;
            }
            return v_from_py(f, o);
        }
        break;
    }
    default: break;
    }
    return (Value){0};
}

/* ---- for functions of constants ---------------------------------------------------------- */

bool
fe_has_stand_in(Value v)
{
    return v.kind == V_TENSOR || v.kind == V_BLOCK_PTR;
}

/* An object that isinstance() takes for v's class and that has those attributes of v which
 * are known while compiling; what else is done to it is a TypeError or an AttributeError. */
PyObject *
fe_stand_in(Fe *f, Value v)
{
    static const char *const names[] = {"dtype", "type",        "shape",
                                        "numel", "block_shape", "block_type"};
    bool is_desc = v.kind == V_BLOCK_PTR && v.bp->is_desc;
    PyObject *known = fe_own(f, PyDict_New());
    for (size_t i = 0; i < COUNT(names); i++) {
        Value x = fe_attribute(f, v, names[i]);
        if (!is_absent(x) && all_known(f, x) &&
            PyDict_SetItemString(known, names[i], v_to_py(f, x, names[i])))
            fe_raise(f, f->b.loc);
    }
    PyObject *cls =
        is_desc ? fe_own(f, PyObject_GetAttrString(f->core, "tensor_descriptor"))
                : f->cls_tensor;
    PyObject *m = fe_own(f, PyImport_ImportModule("tegula.language._calls"));
    return fe_own(f, PyObject_CallMethod(m, "StandIn", "OO", cls, known));
}
