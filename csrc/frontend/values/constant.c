/* constant: arguments that must be known when the kernel is compiled: numbers, texts, element
 * types, shapes. What is another thing, or too large, is refused here.
 */
#include "frontend/fe.h"

int64_t
v_const_int(Fe *f, Value v, const char *what)
{
    PyObject *o = v_to_py(f, v, what);
    if (!PyLong_Check(o)) {
        fe_blame(f, v);
        bool is_max = f->callee && !strcmp(f->callee, "max");
        if ((is_max || (f->callee && !strcmp(f->callee, "min"))) &&
            !strcmp(what, "axis"))
            err_help(f->c, "tl.%simum(a, b) takes the %s of two, element by element",
                     f->callee, is_max ? "larger" : "smaller");
        else if (PyFloat_Check(o))
            err_help(f->c, "'//' divides integers, int(..) converts a constant");
        else if (PyTuple_Check(o) && f->callee && !strcmp(what, "axis"))
            err_help(f->c,
                     "one axis at a time: tl.%s(tl.%s(x, 1), 0); all of them "
                     "where axis is left out",
                     f->callee, f->callee);
        else if (fe_is_instance(f, o, f->cls_dtype))
            err_help(f->c, "x.to(dtype, bitcast=True) reads the bits as another type");
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
    if (!PyUnicode_Check(o))
        fail_of(f, v, TYPE, "%s must be a str, not %s", what, v_describe(f, v_obj(o)));
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

void
fe_help_dtype(Fe *f, PyObject *o)
{
    if (PyLong_Check(o) || PyFloat_Check(o)) {
        err_help(f->c, "by name the order is free: dtype=tl.float32");
        return;
    }
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
        fe_help_dtype(f, o);
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

/* The side a block of n has on the machine, where it can have one. */
static int64_t
padded_side(int64_t n)
{
    if (n > MAX_NUMEL)
        return n;
    int64_t side = 1;
    while (side < n)
        side *= 2;
    return side;
}

static NORETURN void
too_many_elements(Fe *f, int rank, const int64_t *shape)
{
    Sb user = {.a = f->a}, padded = {.a = f->a};
    for (int i = 0; i < rank; i++) {
        sb_printf(&user, "%s%lld", i ? ", " : "[", (long long)shape[i]);
        sb_printf(&padded, "%s%lld", i ? ", " : "[", (long long)padded_side(shape[i]));
    }
    err_help(f->c, "go over it in a loop, in smaller blocks");
    if (strcmp(user.at, padded.at))
        fail(f, VALUE,
             "a block may have at most %d elements: %s], padded to %s], has more",
             MAX_NUMEL, user.at, padded.at);
    fail(f, VALUE, "a block may have at most %d elements: %s] has more", MAX_NUMEL,
         user.at);
}

static void
check_sides(Fe *f, int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 1) {
            if (shape[i] == -1 && !f->c->pending_help)
                err_help(f->c, "no side is found out: write its number");
            fail(f, VALUE, "Shape element %d must be 1 or more, not %lld", i,
                 (long long)shape[i]);
        }
    for (int i = 0; i < rank; i++) {
        n = shape[i] > MAX_NUMEL ? shape[i] : n * padded_side(shape[i]);
        if (n > MAX_NUMEL)
            too_many_elements(f, rank, shape);
    }
}

void
fe_check_shape(Fe *f, int rank, const int32_t *shape)
{
    int64_t side[MAX_RANK];
    for (int i = 0; i < rank; i++)
        side[i] = shape[i];
    check_sides(f, rank, side);
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
    check_sides(f, rank, dims);
    for (int i = 0; i < rank; i++)
        shape[i] = (int32_t)dims[i];
    return rank;
}

bool
fe_truth(Fe *f, Value v, const char *of)
{
    v = fe_read(f, v);
    if (v.kind == V_TUPLE)
        return v.tuple->n > 0;
    if (v.kind != V_OBJ)
        fail(f, CONDITION, "%s must be known when the kernel is compiled, but it is %s",
             of, v_describe(f, v));
    fe_watch_operand(f, v);
    int r = PyObject_IsTrue(v.obj);
    if (r < 0)
        fe_raise(f, f->b.loc);
    return r;
}

/* What one value that is to be taken apart may have meant. */
static void
help_one_value(Fe *f, Value v)
{
    if (f->c->pending_help || v.kind != V_TENSOR)
        return;
    if (v.val->type->rank)
        err_help(f->c, "arithmetic on a block is on all its elements, without a loop; "
                       "tl.split(x) takes a last dimension of 2 apart");
    else if (v.val->type->is_ptr)
        err_help(f->c, "tl.load(p + i) reads an element");
    else
        err_help(f->c, "that is one number; an argument may be a tuple of some");
}

Value
fe_elements(Fe *f, Value v, const char *of)
{
    v = fe_read(f, v);
    if (v.kind == V_TUPLE && v.tuple->keys) {
        Value t = v_tuple(f, v.tuple->n, v.tuple->at);
        for (int i = 0; i < v.tuple->n; i++)
            t.tuple->at[i] = v_obj(fe_own(f, PyUnicode_FromString(v.tuple->keys[i])));
        return t;
    }
    if (v.kind == V_TUPLE)
        return v;
    if (v.kind != V_RANGE) {
        help_one_value(f, v);
        fail(f, TYPE, "%s must be a tuple or a range, not %s", of, v_describe(f, v));
    }
    const Range *r = v.range;
    if (fe_read(f, r->stop).kind == V_TENSOR || fe_read(f, r->start).kind == V_TENSOR)
        err_help(f->c, r->is_static
                           ? "range(..) takes run-time ends and is not unrolled"
                           : "a for over the range runs as often as it says");
    int64_t start = v_const_int(f, r->start, "the start of the range");
    int64_t stop = v_const_int(f, r->stop, "the end of the range");
    int64_t step = v_const_int(f, r->step, "the step of the range");
    if (!step)
        fail(f, VALUE, "the step of a range must not be 0");
    uint64_t count = 0;
    if (step > 0 && start < stop)
        count = ((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1;
    else if (step < 0 && start > stop)
        count = ((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1;
    if (count > 1 << 16) {
        err_help(f->c, "range(..) makes a loop that is not unrolled");
        fail(f, LIMIT, "unrolling a range of %llu steps", (unsigned long long)count);
    }
    Value *items = NEW_N(f->a, Value, count + 1);
    for (uint64_t i = 0; i < count; i++)
        items[i] = v_int(f, start + (int64_t)i * step);
    return v_tuple(f, (int)count, items);
}
