/* value: what expressions evaluate to, and the traffic with Python objects.
 *
 * A number the compiler knows is a V_OBJ and stays weak in promotion; assigning it to a
 * name turns it into a tensor (fe_decay). Tuples are ours even when Python made them, so
 * their elements may be tensors.
 */
#include "frontend/fe.h"

static void
drop_ref(void *o)
{
    Py_DECREF((PyObject *)o);
}

PyObject *
fe_own(Fe *f, PyObject *o)
{
    if (!o)
        fe_raise(f, f->b.loc);
    arena_defer(f->a, drop_ref, o);
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
fe_raise(Fe *f, const Loc *loc)
{
    PyObject *type, *value, *trace;
    if (!PyErr_Occurred())
        err_at(f->c, loc, VALUE, "a Python call failed without an exception");
    if (fe_is_grave() || f->c->raw_errors)
        err_at(f->c, loc, VALUE, "interrupted"); /* stays set for the module */
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    /* Into a buffer of our own: nothing may be held when the arena raises. */
    char msg[1024];
    PyObject *s = value ? PyObject_Str(value) : NULL;
    PyObject *name = type ? PyObject_GetAttrString(type, "__name__") : NULL;
    const char *text = s ? PyUnicode_AsUTF8AndSize(s, NULL) : NULL;
    const char *kind = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    snprintf(msg, sizeof msg, "%s: %s", kind ? kind : "error", text ? text : "");
    PyErr_Clear();
    Py_XDECREF(s);
    Py_XDECREF(name);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    err_at(f->c, loc, VALUE, msg);
}

void
fe_forget(Fe *f)
{
    if (fe_is_grave())
        fe_raise(f, f->b.loc);
    PyErr_Clear();
}

bool
fe_has_attr(Fe *f, PyObject *o, const char *name)
{
    PyObject *lost = NULL;
    bool has = fe_has(o, name, &lost);
    if (lost) {
        PyErr_SetNone(fe_own(f, lost));
        fe_raise(f, f->b.loc);
    }
    return has;
}

bool
fe_is_instance(Fe *f, PyObject *o, PyObject *cls)
{
    int r = PyObject_IsInstance(o, cls);
    if (r < 0)
        fe_raise(f, f->b.loc);
    return r;
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

Value
v_tuple(Fe *f, int n, const Value *at)
{
    TupleValue *t = NEW(f->a, TupleValue);
    t->n = n;
    t->at = NEW_N(f->a, Value, n + 1);
    if (n)
        memcpy(t->at, at, (size_t)n * sizeof *at);
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
    const char *text = fe_written(f, v);
    if (v.kind == V_TENSOR) {
        uint64_t bits;
        const Val *first = fe_original(f, v.val);
        const char *name = first->name ? first->name : "x";
        if (ir_is_const(v.val, &bits) && !v.val->type->rank)
            err_help(f->c,
                     "assigning a constant to a name makes a tensor of it; "
                     "%s: tl.constexpr = .. keeps it a constant",
                     name);
        else if (!first->def && first->block == f->func->body && !v.val->type->is_ptr &&
                 !v.val->type->rank && v.val->name)
            err_help(f->c, "annotate the parameter of %s(): %s: tl.constexpr%s%s",
                     f->func->name, name, f->c->pending_help ? "; or " : "",
                     f->c->pending_help ? f->c->pending_help : "");
        else if (!f->c->pending_help)
            err_help(f->c, "compute it from literals, shapes and tl.constexpr "
                           "parameters of the kernel");
    }
    fe_blame(f, v);
    if (v.kind != V_TENSOR)
        fail(f, VALUE, "%s must be known when the kernel is compiled, but it is %s",
             what, v_describe(f, v));
    fail(f, VALUE,
         "%s must be known when the kernel is compiled, but %s%s%s (%s) is known only "
         "when it runs",
         what, text ? "'" : "", text ? text : "it", text ? "'" : "", v_describe(f, v));
}

/* ---- text ------------------------------------------------------------------------------ */

/* Takes the first " at 0x7f.." out: it says nothing, and something else each time. */
static void
drop_address(char *s)
{
    char *at = strstr(s, " at 0x");
    if (at) {
        char *end = at + strlen(" at 0x");
        end += strspn(end, "0123456789abcdefABCDEF");
        memmove(at, end, strlen(end) + 1);
    }
}

/* repr(o) without addresses, cut at 60 bytes. */
static const char *
repr_text(Fe *f, PyObject *o)
{
    enum { MOST = 63, CUT = 60 };
    char buf[256];
    PyObject *s = PyObject_Repr(o);
    const char *u = s ? PyUnicode_AsUTF8AndSize(s, NULL) : NULL;
    snprintf(buf, sizeof buf, "%s", u ? u : "?");
    if (!PyUnicode_Check(o))
        drop_address(buf);
    if (strlen(buf) > MOST) {
        size_t n = CUT;
        while (n && ((unsigned char)buf[n] & 0xC0) == 0x80)
            n--;
        strcpy(buf + n, "...");
    }
    PyErr_Clear();
    Py_XDECREF(s);
    return str_printf(f->a, "%s", buf);
}

const char *
v_short(Fe *f, Value v)
{
    switch (v.kind) {
    case V_NONE: return "nothing";
    case V_OBJ: return repr_text(f, v.obj);
    case V_TENSOR: return ty_str(f->a, v.val->type);
    case V_PARAM: return ty_str(f->a, v.param->val->type);
    case V_METHOD: return "a method";
    case V_RANGE: return "a range";
    case V_CLOSURE: return v_describe(f, v);
    case V_BLOCK_PTR:
        return str_printf(f->a, "%s of %s",
                          v.bp->is_desc ? "tensor descriptor" : "block pointer",
                          ty_shape_str(f->a, ty_block(f->c, ty_scalar(f->c, E_I8),
                                                      v.bp->rank, v.bp->block)));
    case V_TUPLE: {
        Sb sb = {.a = f->a};
        const char *const *keys = v.tuple->keys;
        sb_put(&sb, keys ? "{" : "(");
        for (int i = 0; i < v.tuple->n; i++)
            sb_printf(&sb, "%s%s%s%s", i ? ", " : "", keys ? keys[i] : "",
                      keys ? ": " : "", v_short(f, v.tuple->at[i]));
        sb_put(&sb, keys ? "}" : v.tuple->n == 1 ? ",)" : ")");
        return sb.at;
    }
    }
    unreachable(f->c);
}

/* an f32 scalar, a block f32[64], a pointer to f32, a block [64] of pointers to f32 */
static const char *
type_words(Fe *f, const Type *t)
{
    const char *e = elem_info[t->elem].text;
    if (t->is_ptr && t->rank)
        return str_printf(f->a, "a block %s of pointers to %s", ty_shape_str(f->a, t),
                          e);
    if (t->is_ptr)
        return str_printf(f->a, "a pointer to %s", e);
    if (t->rank)
        return str_printf(f->a, "a block %s", ty_str(f->a, t));
    return str_printf(f->a, "%s %s scalar", strchr("fi", e[0]) ? "an" : "a", e);
}

const char *
v_describe(Fe *f, Value v)
{
    switch (v.kind) {
    case V_OBJ:
        if (v.obj == Py_None)
            return "None";
        if (fe_as_function(f, v))
            return str_printf(f->a, "the function %s()", fe_as_function(f, v)->name);
        if (is_number(v) || PyUnicode_Check(v.obj)) {
            PyObject *name = fe_own(f, PyType_GetName(Py_TYPE(v.obj)));
            const char *u = PyUnicode_AsUTF8AndSize(name, NULL);
            return str_printf(f->a, "the constant %s %s", u ? u : "?",
                              repr_text(f, v.obj));
        }
        if (PyCallable_Check(v.obj) && !PyType_Check(v.obj) &&
            fe_has_attr(f, v.obj, "__code__")) {
            PyObject *name = fe_own(f, PyObject_GetAttrString(v.obj, "__name__"));
            return str_printf(f->a, "the Python function %s()",
                              v_const_str(f, v_obj(name), "a name"));
        }
        if (PyType_Check(v.obj) || PyModule_Check(v.obj)) {
            bool is_type = PyType_Check(v.obj);
            PyObject *name = fe_own(f, is_type ? PyType_GetName((PyTypeObject *)v.obj)
                                               : PyModule_GetNameObject(v.obj));
            return str_printf(f->a, "the %s %s", is_type ? "class" : "module",
                              v_const_str(f, v_obj(name), "a name"));
        }
        return repr_text(f, v.obj);
    case V_TENSOR:
    case V_PARAM: {
        return type_words(f, v.kind == V_TENSOR ? v.val->type : v.param->val->type);
    }
    case V_TUPLE:
        if (v.tuple->type) {
            PyObject *cls = fe_own(f, PyType_GetName((PyTypeObject *)v.tuple->type));
            const char *name = v_const_str(f, v_obj(cls), "a name");
            return v.tuple->is_aggregate
                       ? str_printf(f->a, "a value of the class %s", name)
                       : str_printf(f->a, "the %s %s", name, v_short(f, v));
        }
        return str_printf(f->a, "the %s %s", v.tuple->keys ? "dict" : "tuple",
                          v_short(f, v));
    case V_CLOSURE: {
        const char *name = v.closure->fn->name;
        return !strcmp(name, "lambda") ? "a lambda"
                                       : str_printf(f->a, "the function %s()", name);
    }
    case V_BLOCK_PTR: return str_printf(f->a, "a %s", v_short(f, v));
    case V_RANGE: return "a range";
    default: return v_short(f, v);
    }
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
               !memcmp(a.bp->block, b.bp->block,
                       (size_t)a.bp->rank * sizeof *a.bp->block);
    case V_METHOD: return a.method == b.method;
    case V_CLOSURE: return same_closure(a.closure, b.closure);
    default: return true;
    }
}

/* ---- compile-time arguments ---------------------------------------------------------------- */

int64_t
v_const_int(Fe *f, Value v, const char *what)
{
    PyObject *o = v_to_py(f, v, what);
    if (!PyLong_Check(o)) {
        fe_blame(f, v);
        if (PyFloat_Check(o))
            err_help(f->c, "'//' divides integers, int(..) converts a constant");
        fail(f, TYPE, "%s must be an int, not %s", what, v_describe(f, v_obj(o)));
    }
    int overflow;
    long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow)
        fail(f, VALUE, "%s does not fit 64 bits", what);
    return i;
}

bool
v_const_bool(Fe *f, Value v, const char *what)
{
    int r = PyObject_IsTrue(v_to_py(f, v, what));
    if (r < 0)
        fe_raise(f, f->b.loc);
    return r;
}

const char *
v_const_str(Fe *f, Value v, const char *what)
{
    PyObject *o = v_to_py(f, v, what);
    if (!PyUnicode_Check(o)) {
        fe_blame(f, v);
        fail(f, TYPE, "%s must be a str, not %s", what, v_describe(f, v_obj(o)));
    }
    const char *s = PyUnicode_AsUTF8AndSize(o, NULL);
    if (!s)
        fe_raise(f, f->b.loc);
    return str_intern(f->c, s);
}

/* The element type of a scalar dtype; false: we have none like it. */
static bool
dtype_elem(Fe *f, PyObject *dtype, Elem *e)
{
    for (int i = 0; i < N_ELEM; i++)
        if (f->dtype[i] == dtype) {
            *e = (Elem)i;
            return true;
        }
    PyObject *name = fe_own(f, PyObject_GetAttrString(dtype, "name"));
    const char *s = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!s)
        fe_raise(f, f->b.loc);
    for (int i = 0; i < N_ELEM; i++)
        if (!strcmp(s, elem_info[i].tl) ||
            (elem_is_float((Elem)i) && !strcmp(s, elem_info[i].sig))) {
            *e = (Elem)i;
            return true;
        }
    return false;
}

/* o is no dtype of ours: "float16", torch.float16, numpy.float16, float .. */
static void
help_dtype(Fe *f, PyObject *o)
{
    PyObject *text = PyType_Check(o)      ? PyType_GetName((PyTypeObject *)o)
                     : PyUnicode_Check(o) ? Py_NewRef(o)
                                          : PyObject_Str(o);
    const char *s = text ? PyUnicode_AsUTF8AndSize(fe_own(f, text), NULL) : NULL;
    PyErr_Clear();
    if (!s)
        return;
    const char *dot = strrchr(s, '.'), *name = dot ? dot + 1 : s;
    if (!strcmp(name, "float"))
        name = "float32";
    else if (!strcmp(name, "int"))
        name = "int32";
    else if (!strcmp(name, "bool"))
        name = "int1";
    for (int i = 0; i < N_ELEM; i++)
        if (!strcmp(name, elem_info[i].tl) || !strcmp(name, elem_info[i].sig)) {
            err_help(f->c, "write tl.%s", elem_info[i].tl);
            return;
        }
}

Elem
v_elem(Fe *f, Value v, const char *what)
{
    PyObject *o = v_to_py(f, v, what);
    Elem e;
    while (fe_is_instance(f, o, f->cls_block))
        o = fe_own(f, PyObject_GetAttrString(o, "element_ty"));
    if (!fe_is_instance(f, o, f->cls_dtype) || fe_is_instance(f, o, f->cls_pointer)) {
        fe_blame(f, v);
        help_dtype(f, o);
        fail(f, TYPE, "%s must be a dtype such as tl.float32, not %s", what,
             v_describe(f, v_obj(o)));
    }
    if (!dtype_elem(f, o, &e)) {
        const char *name = v_short(f, v_obj(o)), *dot = strrchr(name, '.');
        fe_blame(f, v);
        err_at(f->c, f->b.loc, TARGET, str_printf(f->a, "tl.%s", dot ? dot + 1 : name),
               "this architecture");
    }
    return e;
}

/* The side a block of n has on the machine. */
static int64_t
padded_side(int32_t n)
{
    int64_t side = 1;
    while (side < n)
        side *= 2;
    return side;
}

static NORETURN void
too_many_elements(Fe *f, int rank, const int32_t *shape)
{
    Sb user = {.a = f->a}, padded = {.a = f->a};
    for (int i = 0; i < rank; i++) {
        sb_printf(&user, "%s%d", i ? ", " : "[", (int)shape[i]);
        sb_printf(&padded, "%s%lld", i ? ", " : "[", (long long)padded_side(shape[i]));
    }
    if (strcmp(user.at, padded.at))
        fail(f, VALUE,
             "a block may have at most %d elements: %s], padded to %s], has more",
             MAX_NUMEL, user.at, padded.at);
    fail(f, VALUE, "a block may have at most %d elements: %s] has more", MAX_NUMEL,
         user.at);
}

void
fe_check_shape(Fe *f, int rank, const int32_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 1) {
            if (shape[i] == -1)
                err_help(f->c, "no side is found out: write its number");
            fail(f, VALUE, "Shape element %d must be 1 or more, not %d", i,
                 (int)shape[i]);
        }
    for (int i = 0; i < rank; i++) {
        n *= padded_side(shape[i]);
        if (n > MAX_NUMEL)
            too_many_elements(f, rank, shape);
    }
}

int
v_int_list(Fe *f, Value v, int64_t *out, int cap, const char *what)
{
    v = fe_read(f, v);
    if (v.kind != V_TUPLE) {
        out[0] = v_const_int(f, v, what);
        return 1;
    }
    if (v.tuple->n > cap)
        fail(f, LIMIT, "%s has %d entries; at most %d are possible", what, v.tuple->n,
             cap);
    for (int i = 0; i < v.tuple->n; i++) {
        Value k = fe_read(f, v.tuple->at[i]);
        if (!is_int_obj(k)) {
            const Node *node = fe_element_node(f, v, i);
            const CallArgs now = {f->frame, 1, &k, &node, NULL};
            fe_blame(f, v);
            if (node)
                f->args = &now;
            v_const_int(f, k, str_printf(f->a, "element %d of %s", i, what));
        }
        out[i] = v_const_int(f, k, what);
    }
    return v.tuple->n;
}

int
v_shape(Fe *f, Value v, int32_t *shape, const char *what)
{
    int64_t dims[MAX_RANK];
    int rank = v_int_list(f, v, dims, MAX_RANK, what);
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 1 || dims[i] > INT32_MAX)
            shape[i] = dims[i] == 0 ? 0 : -1;
        else
            shape[i] = (int32_t)dims[i];
    }
    fe_check_shape(f, rank, shape);
    return rank;
}

/* a and b but for capitals, or one with more words behind: BLOCK of block and BLOCK_SIZE. */
static bool
is_same_word(const char *a, const char *b)
{
    while (*a && *b && (*a | 32) == (*b | 32))
        a++, b++;
    return (!*a && !*b) || (!*a && *b == '_') || (!*b && *a == '_');
}

const char *
fe_closest(const char *name, const char *const *words)
{
    /* Edit distance with swaps of neighbours, over names of at most 40 bytes. */
    const char *best = NULL, *const *all = words;
    size_t n = strlen(name);
    int best_d = n < 4 ? 2 : 3;
    if (n > 40)
        return NULL;
    if (n == 1) {
        /* Any letter is as near as any other: x is short for x_ptr. */
        for (; *words; words++)
            if ((*words)[0] == name[0] && (*words)[1] == '_')
                return *words;
        return NULL;
    }
    for (; *words; words++) {
        const char *w = *words;
        size_t m = strlen(w);
        if (m > 40 || m + 3 < n || n + 3 < m)
            continue;
        int d[3][42];
        for (size_t j = 0; j <= m; j++)
            d[0][j] = (int)j;
        for (size_t i = 1; i <= n; i++) {
            int *now = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
            now[0] = (int)i;
            for (size_t j = 1; j <= m; j++) {
                int cost = name[i - 1] != w[j - 1];
                now[j] = MIN(MIN(up[j] + 1, now[j - 1] + 1), up[j - 1] + cost);
                if (i > 1 && j > 1 && name[i - 1] == w[j - 2] &&
                    name[i - 2] == w[j - 1])
                    now[j] = MIN(now[j], up2[j - 2] + 1);
            }
        }
        int dist = d[n % 3][m];
        if (dist < best_d ||
            (dist == best_d && !best && dist < 3 && dist * 2 < (int)n)) {
            if (dist < best_d || !best) {
                best = w;
                best_d = dist;
            }
        }
    }
    for (words = all; !best && n > 2 && *words; words++)
        if (is_same_word(name, *words))
            best = *words;
    return best && strcmp(best, name) ? best : NULL;
}
