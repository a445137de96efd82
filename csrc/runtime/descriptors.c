/* descriptors: a TensorDescriptor as nodes, a tuple of its type.
 *
 *     base  shape  strides  block_shape  padding  round_f32_to_tf32
 *     x     [M,K]  [K,1]    [64,32]      "zero"   False
 *     ptr   i32 i32  i32 1  64  32       "zero"   False              the last stride and what follows: constants
 *
 * 1. All of it may be changed between launches, so a launch looks at all of it: what is the very object of the
 *    launch before, and cannot change, has the node that it had.
 * 2. The class keeps its fields in slots, which are read as words of the object. A class that has made
 *    something else of one of the names is asked by attribute.
 */
#include "runtime/launch.h"

enum { BASE, SHAPE, STRIDES, BLOCK, PADDING, ROUNDS, N_FIELD, N_LIST = 3 };
enum { MOST = N_LIST * MAX_RANK }; /* integers */

/* The nodes of a launch behind base. */
typedef struct SeenDescriptor {
    int rank;
    PyObject *tuple[N_LIST];    /* owned; NULL: it was a list */
    PyObject *item[MOST];       /* integers of Python's own type, owned, ... */
    PyObject *padding, *rounds; /* ... a string and a bool, owned */
    uint32_t code[MOST + 2];
    uint64_t bits[MOST + 2];
} SeenDescriptor;

static PyObject *
name_of(const State *st, int field)
{
    PyObject *const names[] = {st->str_base,        st->str_shape,   st->str_strides,
                               st->str_block_shape, st->str_padding, st->str_rounds};
    return names[field];
}

int
descriptor_slots(const State *st, PyObject *x, uint16_t at[N_FIELD])
{
    PyObject *type = (PyObject *)Py_TYPE(x), *mark[N_FIELD] = {NULL};
    PyObject *probe = PyObject_CallMethod(type, "__new__", "O", type);
    bool ok = probe;
    for (int i = 0; ok && i < N_FIELD; i++) {
        PyObject *slot = PyObject_GetAttr(type, name_of(st, i));
        ok = slot && Py_TYPE(slot) == &PyMemberDescr_Type &&
             (mark[i] = PyList_New(0)) &&
             !PyObject_SetAttr(probe, name_of(st, i), mark[i]);
        Py_XDECREF(slot);
    }
    for (int i = 0; i < N_FIELD; i++) {
        int found = ok ? object_find(probe, mark[i]) : 0;
        ok = found > 0;
        at[i] = (uint16_t)MAX(found, 0);
    }
    if (!ok)
        at[BASE] = 0;
    for (int i = 0; i < N_FIELD; i++)
        Py_XDECREF(mark[i]);
    Py_XDECREF(probe);
    if (PyErr_Occurred() && fe_is_grave())
        return -1;
    return PyErr_Clear(), 0;
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* How many sides a descriptor's list has; it keeps what is in it. -1 with an exception. */
static int
sides_of(const FeParam *p, PyObject *list, PyObject *name)
{
    bool ok = PyTuple_Check(list) || PyList_Check(list);
    Py_ssize_t n = !ok                   ? -1
                   : PyTuple_Check(list) ? PyTuple_Size(list)
                                         : PyList_Size(list);
    if (n >= 1 && n <= MAX_RANK)
        return (int)n;
    return PyErr_Format(
               PyExc_TypeError,
               "argument '%U': %U must be a list or tuple of 1 to %d integers, "
               "not %R",
               p->name, name, MAX_RANK, list),
           -1;
}

/* The integers of one list as nodes, constants from side `constant` on. */
static int
add_ints(Call *c, const FeParam *p, PyObject *list, PyObject *name, int rank,
         int constant)
{
    int n = sides_of(p, list, name);
    if (n >= 0 && n != rank)
        return PyErr_Format(PyExc_ValueError,
                            "argument '%U': %U has %d sides, block_shape has %d",
                            p->name, name, n, rank),
               -1;
    bool is_tuple = PyTuple_Check(list);
    for (int i = 0; i < n; i++) {
        PyObject *x = is_tuple ? PyTuple_GetItem(list, i) : PyList_GetItem(list, i);
        if (!x)
            return -1;
        if (!PyLong_Check(x))
            return PyErr_Format(PyExc_TypeError,
                                "argument '%U': %U must be integers, not %R", p->name,
                                name, x),
                   -1;
        if (i >= constant ? constant_node(c, x) : call_int(c, p, x))
            return -1;
    }
    return n < 0 ? -1 : 0;
}

static int
add_all(Call *c, const FeParam *p, PyObject *x, PyObject *const field[N_FIELD])
{
    const State *st = c->k->st;
    int rank = sides_of(p, field[BLOCK], name_of(st, BLOCK));
    if (rank < 0)
        return -1;
    if (c->n + 3 * rank + 4 > MAX_NODES)
        return call_too_many();
    call_add(c, CODE(NODE_TUPLE, 3 * rank + 3, 0), 0, x);
    const int constant[] = {[SHAPE] = rank, [STRIDES] = rank - 1, [BLOCK] = 0};
    int r = call_argument(c, p, field[BASE]);
    for (int i = SHAPE; !r && i <= BLOCK; i++)
        r = add_ints(c, p, field[i], name_of(st, i), rank, constant[i]);
    for (int i = PADDING; !r && i <= ROUNDS; i++)
        r = constant_node(c, field[i]);
    return r;
}

/* ---- what is as it was ----------------------------------------------------------------------- */

static void
seen_free(SeenDescriptor *d)
{
    for (int i = 0; d && i < N_LIST; i++)
        Py_XDECREF(d->tuple[i]);
    for (int i = 0; d && i < N_LIST * d->rank; i++)
        Py_DECREF(d->item[i]);
    if (d) {
        Py_DECREF(d->padding);
        Py_DECREF(d->rounds);
    }
    PyMem_Free(d);
}

void
seen_clear(Seen *seen)
{
    SeenDescriptor *d = seen->descriptor;
    PyObject *x = seen->x;
    seen->descriptor = NULL, seen->x = NULL;
    seen_free(d);
    Py_XDECREF(x);
}

int
seen_traverse(const Seen *seen, visitproc visit, void *arg)
{
    for (int i = 0; seen->descriptor && i < N_LIST; i++)
        Py_VISIT(seen->descriptor->tuple[i]);
    return 0;
}

/* Keeps the n nodes of a descriptor that c has from `from` on, where their objects cannot change. */
static void
remember(const Call *c, Seen *seen, PyObject *const field[N_FIELD], int from, int n)
{
    SeenDescriptor *d, *old = seen->descriptor;
    bool ok = n == code_children(c->code[from]) + 1 && /* base is one node */
              PyUnicode_CheckExact(field[PADDING]) && PyBool_Check(field[ROUNDS]);
    int n_items = n - 4;
    for (int i = 0; ok && i < n_items; i++)
        ok = PyLong_CheckExact(c->value[from + 2 + i]);
    if (!ok || !(d = PyMem_Calloc(1, sizeof *d)))
        return;
    d->rank = n_items / N_LIST;
    d->padding = Py_NewRef(field[PADDING]);
    d->rounds = Py_NewRef(field[ROUNDS]);
    for (int i = 0; i < n_items; i++)
        d->item[i] = Py_NewRef(c->value[from + 2 + i]);
    for (int i = 0; i < N_LIST; i++)
        if (PyTuple_Check(field[SHAPE + i]))
            d->tuple[i] = Py_NewRef(field[SHAPE + i]);
    memcpy(d->code, c->code + from + 2, (size_t)(n - 2) * sizeof *d->code);
    memcpy(d->bits, c->bits + from + 2, (size_t)(n - 2) * sizeof *d->bits);
    seen->descriptor = d;
    seen_free(old);
}

static bool
is_same(const SeenDescriptor *d, PyObject *const field[N_FIELD])
{
    if (field[PADDING] != d->padding || field[ROUNDS] != d->rounds)
        return false;
    for (int i = 0; i < N_LIST; i++) {
        PyObject *list = field[SHAPE + i], *const *item = d->item + i * d->rank;
        bool is_tuple = PyTuple_Check(list);
        if (list == d->tuple[i])
            continue;
        if ((!is_tuple && !PyList_Check(list)) ||
            (is_tuple ? PyTuple_Size(list) : PyList_Size(list)) != d->rank)
            return false;
        for (int k = 0; k < d->rank; k++)
            if ((is_tuple ? PyTuple_GetItem(list, k) : PyList_GetItem(list, k)) !=
                item[k])
                return false;
    }
    return true;
}

/* 1: c has its nodes; 0: base is not one node any more; -1 with an exception. What is kept is copied before
 * base is read, which may run Python. */
static int
add_same(Call *c, const FeParam *p, PyObject *x, PyObject *base,
         const SeenDescriptor *d)
{
    int from = c->n, n = N_LIST * d->rank + 2;
    if (from + n + 2 > MAX_NODES)
        return call_too_many();
    call_add(c, CODE(NODE_TUPLE, n + 1, 0), 0, x);
    memcpy(c->code + from + 2, d->code, (size_t)n * sizeof *d->code);
    memcpy(c->bits + from + 2, d->bits, (size_t)n * sizeof *d->bits);
    memcpy(c->value + from + 2, d->item, (size_t)(n - 2) * sizeof *d->item);
    c->value[from + n] = d->padding;
    c->value[from + n + 1] = d->rounds;
    if (call_argument(c, p, base))
        return -1;
    bool is_one = c->n == from + 2;
    c->n = is_one ? from + n + 2 : from;
    return is_one;
}

int
call_descriptor(Call *c, const FeParam *p, PyObject *x, const Setter *s, Seen *seen)
{
    const State *st = c->k->st;
    PyObject *field[N_FIELD] = {NULL};
    bool has_slots = s->field_at[BASE];
    int r = 0, from = c->n;
    for (int i = 0; has_slots && i < N_FIELD; i++) {
        memcpy(&field[i], (char *)x + s->field_at[i], sizeof *field);
        has_slots = field[i]; /* or it was deleted */
    }
    if (has_slots && seen && seen->descriptor && is_same(seen->descriptor, field)) {
        PyObject *base = Py_NewRef(field[BASE]);
        r = add_same(c, p, x, base, seen->descriptor);
        Py_DECREF(base);
        if (r)
            return MIN(r, 0);
    }
    for (int i = 0; i < N_FIELD; i++)
        field[i] = has_slots ? Py_NewRef(field[i]) : NULL;
    for (int i = 0; !r && i < N_FIELD; i++)
        if (!field[i] && !(field[i] = PyObject_GetAttr(x, name_of(st, i))))
            r = -1;
    if (!r)
        r = add_all(c, p, x, field);
    if (!r && seen && has_slots)
        remember(c, seen, field, from, c->n - from);
    for (int i = 0; i < N_FIELD; i++)
        Py_XDECREF(field[i]); /* x holds them */
    return r;
}
