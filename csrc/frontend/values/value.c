/* value: what expressions evaluate to, and how Python objects become values and values objects.
 *
 * A number the compiler knows is a V_OBJ and stays weak in promotion; assigning it to a
 * name turns it into a tensor (fe_decay). Tuples are ours even when Python made them, so
 * their elements may be tensors.
 */
#include "frontend/fe.h"

void
fe_drop_ref(void *o)
{
    Py_DECREF((PyObject *)o);
}

PyObject *
fe_own(Fe *f, PyObject *o)
{
    if (!o)
        fe_raise(f, f->b.loc);
    arena_defer(f->a, fe_drop_ref, o);
    return o;
}

PyObject *
fe_knob(Fe *f, const char *group, const char *name)
{
    PyObject *knobs = fe_own(f, PyImport_ImportModule("tegula.knobs"));
    return fe_own(f, PyObject_GetAttrString(
                         fe_own(f, PyObject_GetAttrString(knobs, group)), name));
}

void
fe_forget(Fe *f)
{
    if (fe_is_grave())
        fe_raise(f, f->b.loc);
    PyErr_Clear();
}

/* What a look-up of fe_clear's kind lost, if it did. */
static void
raise_lost(Fe *f, PyObject *lost)
{
    if (lost) {
        PyErr_SetNone(fe_own(f, lost));
        fe_raise(f, f->b.loc);
    }
}

bool
fe_has_attr(Fe *f, PyObject *o, const char *name)
{
    PyObject *lost = NULL;
    bool has = fe_has(o, name, &lost);
    raise_lost(f, lost);
    return has;
}

bool
fe_is_ours(Fe *f, PyObject *o)
{
    PyObject *lost = NULL;
    bool is = fe_is_from(o, "tegula", &lost);
    raise_lost(f, lost);
    return is;
}

bool
fe_is_instance(Fe *f, PyObject *o, PyObject *cls)
{
    int r = PyObject_IsInstance(o, cls);
    if (r < 0)
        fe_raise(f, f->b.loc);
    return r;
}

FeFunction *
fe_as_function(Fe *f, Value v)
{
    if (v.kind == V_CLOSURE)
        return v.closure->fn;
    if (v.kind != V_OBJ)
        return NULL;
    return f->env->as_function(f->env->data, v.obj);
}

bool
fe_is_given(Value v)
{
    return !is_absent(v) && !is_py_none(v);
}

Value
v_int(Fe *f, int64_t i)
{
    return v_obj(fe_own(f, PyLong_FromLongLong(i)));
}

Value
v_bool(bool b)
{
    return v_obj(b ? Py_True : Py_False);
}

enum { MOST_LEAVES = 1 << 16 }; /* t = (t, t) doubles them, and is short to write */

Value
v_tuple(Fe *f, int n, const Value *at)
{
    TupleValue *t = NEW(f->a, TupleValue);
    t->n = n;
    t->at = NEW_N(f->a, Value, n + 1);
    if (n)
        memcpy(t->at, at, (size_t)n * sizeof *at);
    for (int i = 0; i < n; i++)
        t->n_leaves += at[i].kind == V_TUPLE ? MAX(at[i].tuple->n_leaves, 1) : 1;
    if (t->n_leaves > MOST_LEAVES)
        err_say(f->c, f->b.loc, LIMIT,
                "a tuple of %lld values, counted all the way down; at "
                "most %d are possible",
                (long long)t->n_leaves, MOST_LEAVES);
    return (Value){.kind = V_TUPLE, .tuple = t};
}

Value
v_tuple_like(Fe *f, const TupleValue *t)
{
    Value r = v_tuple(f, t->n, t->at);
    r.tuple->type = t->type;
    r.tuple->is_aggregate = t->is_aggregate;
    r.tuple->keys = t->keys;
    return r;
}

Value
v_dtype(Fe *f, Elem e)
{
    if (!f->dtype[e])
        f->dtype[e] = fe_own(f, PyObject_GetAttrString(f->core, elem_info[e].tl));
    return v_obj(f->dtype[e]);
}

bool
is_int_obj(Value v)
{
    return v.kind == V_OBJ && PyLong_Check(v.obj);
}

bool
is_number(Value v)
{
    return v.kind == V_OBJ && (PyLong_Check(v.obj) || PyFloat_Check(v.obj));
}

/* The class when o is a namedtuple, else NULL. */
static PyObject *
named_type(PyObject *o)
{
    if (Py_IS_TYPE(o, &PyTuple_Type))
        return NULL;
    return PyObject_HasAttrString((PyObject *)Py_TYPE(o), "_fields")
               ? (PyObject *)Py_TYPE(o)
               : NULL;
}

/* NumPy's scalars as the numbers they are; else o. */
static PyObject *
plain_number(Fe *f, PyObject *o)
{
    PyObject *mod = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "__module__");
    bool is_numpy = mod && PyUnicode_Check(mod) &&
                    !PyUnicode_CompareWithASCIIString(mod, "numpy") &&
                    !fe_has_attr(f, o, "__len__");
    PyErr_Clear();
    Py_XDECREF(mod);
    PyObject *r = is_numpy ? fe_own(f, PyObject_CallMethod(o, "item", NULL)) : o;
    return PyLong_Check(r) || PyFloat_Check(r) ? r : o;
}

Value
v_from_py(Fe *f, PyObject *o)
{
    for (int i = 0; i < 10 && fe_is_instance(f, o, f->cls_constexpr); i++) {
        PyObject *wrap = o;
        o = fe_own(f, PyObject_GetAttrString(wrap, "value"));
        if (fe_has_attr(f, o, "__code__")) /* called with constexprs, not bare */
            o = fe_own(f, PyObject_CallMethod(wrap, "_callee", NULL));
    }
    bool is_list = PyList_Check(o);
    if (PyNumber_Check(o) && !PyLong_Check(o) && !PyFloat_Check(o))
        o = plain_number(f, o);
    if (!is_list && !PyTuple_Check(o)) {
        if (f->cls_tuple && fe_is_instance(f, o, f->cls_tuple))
            return v_from_py(f, fe_own(f, PySequence_Tuple(o)));
        return v_obj(o);
    }
    if (++f->depth > 500)
        err_at(f->c, f->b.loc, LIMIT, "a tuple is nested too deeply");
    PyObject *seq = is_list ? fe_own(f, PyList_AsTuple(o)) : o;
    int n = (int)PyTuple_Size(seq);
    Value *at = NEW_N(f->a, Value, n + 1);
    for (int i = 0; i < n; i++)
        at[i] = v_from_py(f, PyTuple_GetItem(seq, i));
    Value t = v_tuple(f, n, at);
    if (!is_list)
        t.tuple->type = named_type(o);
    f->depth--;
    return t;
}

/* What v was before it became a named copy, which the interpreter's frames show. */
static const Val *
original(const Fe *f, const Val *v)
{
    while (f->c->opt.interpret && v->def && v->def->op == OP_BITCAST &&
           arg(v->def, 0)->type == v->type)
        v = arg(v->def, 0);
    return v;
}

/* Is v the index of a loop, or what its turns hand on? */
static bool
is_of_a_loop(const Fe *f, const Val *v)
{
    return v->def ? v->def->op == OP_FOR || v->def->op == OP_WHILE
                  : v->block != f->func->body;
}

/* The help of an error that says that a tensor is known too late. */
static void
help_to_know(Fe *f, const Val *v)
{
    uint64_t bits;
    const Val *first = original(f, v);
    const char *name = first->name ? first->name : "x", *help = f->c->pending_help;
    bool is_param = !first->def && first->block == f->func->body && v->name;
    if (ir_is_const(v, &bits) && !v->type->rank)
        err_help(f->c,
                 "assigning a constant to a name makes a tensor of it; "
                 "%s: tl.constexpr = .. keeps it a constant",
                 name);
    else if (is_param && !v->type->is_ptr && !v->type->rank)
        err_help(f->c, "annotate the parameter of %s(): %s: tl.constexpr%s%s",
                 f->func->name, name, help ? "; or " : "", help ? help : "");
    else if (!v->type->rank && is_of_a_loop(f, first))
        err_help(
            f->c,
            "it changes while its loop runs; tl.static_range(..) unrolls a loop, and "
            "its index is a constant%s%s",
            help ? "; or " : "", help ? help : "");
    else if (!help)
        err_help(f->c, "compute it from literals, shapes and tl.constexpr "
                       "parameters of the kernel");
}

static NORETURN void
not_constant(Fe *f, Value v, const char *what)
{
    const char *text = fe_written(f, v);
    if (v.kind == V_TENSOR)
        help_to_know(f, v.val);
    fe_blame(f, v);
    if (v.kind != V_TENSOR)
        fail(f, VALUE, "%s must be known when the kernel is compiled, but it is %s",
             what, v_describe(f, v));
    fail(f, VALUE,
         "%s must be known when the kernel is compiled, but %s%s%s (%s) is known only "
         "when it runs",
         what, text ? "'" : "", text ? text : "it", text ? "'" : "", v_describe(f, v));
}

PyObject *
v_to_py(Fe *f, Value v, const char *what)
{
    v = fe_read(f, v);
    if (v.kind == V_OBJ)
        return v.obj;
    if (v.kind == V_METHOD && v.method->self.kind == V_OBJ)
        return v.method->self.obj;
    if (v.kind == V_TUPLE && v.tuple->keys) {
        PyObject *d = fe_own(f, PyDict_New());
        for (int i = 0; i < v.tuple->n; i++)
            if (PyDict_SetItemString(d, v.tuple->keys[i],
                                     v_to_py(f, v.tuple->at[i], what)))
                fe_raise(f, f->b.loc);
        return d;
    }
    if (v.kind == V_TUPLE) {
        PyObject *t = fe_own(f, PyTuple_New(v.tuple->n));
        for (int i = 0; i < v.tuple->n; i++) {
            PyObject *item = v_to_py(f, v.tuple->at[i], what);
            PyTuple_SetItem(t, i, Py_NewRef(item));
        }
        if (!v.tuple->type)
            return t;
        return fe_own(f, PyObject_Call(v.tuple->type, t, NULL));
    }
    not_constant(f, v, what);
}

/* ---- leaves ------------------------------------------------------------------------------ */

int
v_flatten(Fe *f, Value v, Val **leaf, int cap, int n)
{
    switch (v.kind) {
    case V_TENSOR:
    case V_PARAM:
        if (n >= cap)
            err_at(f->c, f->b.loc, LIMIT, "too many values live across this statement");
        leaf[n++] = v.kind == V_PARAM ? v.param->val : v.val;
        break;
    case V_TUPLE:
        for (int i = 0; i < v.tuple->n; i++)
            n = v_flatten(f, v.tuple->at[i], leaf, cap, n);
        break;
    case V_BLOCK_PTR: {
        BlockPtr *p = v.bp;
        if (n + 1 + 3 * p->rank > cap)
            err_at(f->c, f->b.loc, LIMIT, "too many values live across this statement");
        leaf[n++] = p->base;
        for (int i = 0; i < p->rank; i++) {
            leaf[n++] = p->shape[i];
            leaf[n++] = p->strides[i];
            if (!p->is_desc)
                leaf[n++] = p->offsets[i];
        }
        break;
    }
    default: break;
    }
    return n;
}

Value
v_rebuild(Fe *f, Value like, Val *const *leaf, int *at)
{
    switch (like.kind) {
    case V_TENSOR:
    case V_PARAM: return v_val(leaf[(*at)++]);
    case V_TUPLE: {
        Value t = v_tuple_like(f, like.tuple);
        for (int i = 0; i < t.tuple->n; i++)
            t.tuple->at[i] = v_rebuild(f, like.tuple->at[i], leaf, at);
        return t;
    }
    case V_BLOCK_PTR: {
        BlockPtr *p = NEW(f->a, BlockPtr);
        *p = *like.bp;
        p->base = leaf[(*at)++];
        for (int i = 0; i < p->rank; i++) {
            p->shape[i] = leaf[(*at)++];
            p->strides[i] = leaf[(*at)++];
            if (!p->is_desc)
                p->offsets[i] = leaf[(*at)++];
        }
        return (Value){.kind = V_BLOCK_PTR, .bp = p};
    }
    default: return like;
    }
}

static bool
is_run_time(Value v)
{
    return v.kind == V_TENSOR || v.kind == V_PARAM;
}

bool
v_identical(Value a, Value b)
{
    return a.kind == b.kind && (a.kind == V_NONE || a.obj == b.obj);
}

/* The same def in the same frame, with the same defaults. */
static bool
same_closure(const Closure *a, const Closure *b)
{
    if (a->fn != b->fn || a->frame != b->frame)
        return false;
    for (int i = 0; i < a->fn->n_params; i++)
        if (!v_identical(a->defaults[i], b->defaults[i]))
            return false;
    return true;
}

bool
v_same_shape(Value a, Value b)
{
    if (is_run_time(a) && is_run_time(b))
        return true;
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case V_OBJ: {
        if (a.obj == b.obj)
            return true;
        if (Py_TYPE(a.obj) != Py_TYPE(b.obj))
            return false;
        int r = PyObject_RichCompareBool(a.obj, b.obj, Py_EQ);
        PyErr_Clear();
        return r > 0;
    }
    case V_TUPLE:
        if (a.tuple->n != b.tuple->n || a.tuple->type != b.tuple->type ||
            !a.tuple->keys != !b.tuple->keys)
            return false;
        for (int i = 0; a.tuple->keys && i < a.tuple->n; i++)
            if (a.tuple->keys[i] != b.tuple->keys[i])
                return false;
        for (int i = 0; i < a.tuple->n; i++)
            if (!v_same_shape(a.tuple->at[i], b.tuple->at[i]))
                return false;
        return true;
    case V_BLOCK_PTR:
        return a.bp->rank == b.bp->rank && a.bp->is_desc == b.bp->is_desc &&
               a.bp->nan_pad == b.bp->nan_pad &&
               a.bp->rounds_tf32 == b.bp->rounds_tf32 &&
               !memcmp(a.bp->block, b.bp->block,
                       (size_t)a.bp->rank * sizeof *a.bp->block);
    case V_METHOD: return a.method == b.method;
    case V_CLOSURE: return same_closure(a.closure, b.closure);
    default: return true;
    }
}

/* ---- objects of Python --------------------------------------------------------------- */

PyObject *
fe_pointer_object(Fe *f, PyObject *element, bool is_const)
{
    return fe_own(f, PyObject_CallFunction(f->cls_pointer, "OsO", element, "global",
                                           is_const ? Py_True : Py_False));
}

PyObject *
fe_dtype_object(Fe *f, const Type *t, bool is_const)
{
    PyObject *e = v_dtype(f, t->elem).obj;
    return t->is_ptr ? fe_pointer_object(f, e, is_const) : e;
}

PyObject *
fe_block_object(Fe *f, PyObject *element, int rank, const int32_t *shape)
{
    PyObject *dims = fe_own(f, PyList_New(rank));
    for (int i = 0; i < rank; i++)
        PyList_SetItem(dims, i, PyLong_FromLong(shape[i]));
    return fe_own(f, PyObject_CallFunctionObjArgs(f->cls_block, element, dims, NULL));
}

void
fe_watch(Fe *f, PyObject *o, const char *name)
{
    PyObject *key = fe_own(f, PyUnicode_FromString(name));
    if (fe_watch_attribute(f->env, o, key))
        fe_raise(f, f->b.loc);
}

void
fe_watch_operand(Fe *f, Value v)
{
    if (v.kind == V_OBJ && !is_number(v) && fe_watch_value(f->env, v.obj, NULL))
        fe_raise(f, f->b.loc);
}
