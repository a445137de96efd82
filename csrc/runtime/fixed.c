/* fixed: the arguments of compiled[grid](..), for a variant that its caller has chosen.
 *
 *     compiled for      x: *fp32   n: i64   s: fp64   y = None   BLOCK = 64
 *     called with       tensor     5        0.5       -1         64
 *     as nodes          f32        i32      f32       i32        64
 *     and adapted       f32        i64      f64       None       64
 *
 * A launch of the kernel finds a number's type by looking at it. Here the types are given, so
 * numbers take them, where they fit: Inductor compiles with i64 for a size that may grow.
 *
 * More may be true of an argument than what the code was made for: a size of 16 runs where
 * nothing was promised. Less may not. Which arguments lie in the same memory is no promise of
 * the caller's: where the code is for others (share.c), the kernel has, or gets, a variant
 * for these beside it, of the same types, constants, options and target.
 *
 * What was a constant of the compile must be the same constant again. compiled.run(), which is
 * Triton's launcher, does not look at these arguments: programs put placeholders there.
 *
 * Up to its version 3.2 Triton's compiled kernels took no constexpr arguments at all, and from
 * 3.3 on they take every argument. Programs are written for one or the other, and no count of
 * arguments says both, so both are understood: fixed_complete puts the constants back.
 */
#include "runtime/launch.h"

/* The node after the tree that starts at i. */
static int
tree_end(const uint32_t *code, int i)
{
    int left = 1;
    for (; left; i++)
        left += code_kind(code[i]) == NODE_TUPLE ? code_children(code[i]) - 1 : -1;
    return i;
}

static bool
is_negative(Elem e, uint64_t bits)
{
    return elem_is_signed(e) && (int64_t)bits < 0;
}

/* The scalar *bits of type `have`, from the object x, as one of type `want`. */
static bool
take_type(Elem have, Elem want, PyObject *x, uint64_t *bits)
{
    bool negative = is_negative(have, *bits);
    int n = elem_info[want].bits;
    if (elem_is_int(have) && elem_is_int(want)) {
        if (want == E_I1)
            return *bits <= 1;
        if (elem_is_signed(want))
            return negative ? (int64_t)*bits >= -((int64_t)1 << (n - 1))
                            : *bits >> (n - 1) == 0;
        return !negative && (n == 64 || *bits >> n == 0);
    }
    if (!elem_is_float(want) || !x)
        return false;
    double d = PyFloat_AsDouble(x);
    if (d == -1.0 && PyErr_Occurred())
        return PyErr_Clear(), false;
    float f = (float)d;
    *bits = 0;
    if (want == E_F32)
        memcpy(bits, &f, sizeof f);
    else if (want == E_F64)
        memcpy(bits, &d, sizeof d);
    else
        *bits = elem_from_double(want, d);
    return true;
}

/* Is x the constant y, for all that a kernel can tell? Neither is looked into by type. */
static bool
is_that_number(uint32_t have, PyObject *x, uint32_t want, PyObject *y)
{
    if (code_kind(have) != NODE_SCALAR || !x || !y ||
        code_kind(want) < NODE_CONST_INT || code_kind(want) > NODE_CONST_FLOAT)
        return false;
    int same = PyObject_RichCompareBool(x, y, Py_EQ);
    if (same < 0)
        PyErr_Clear();
    return same > 0;
}

/* Node i of from as node j of the key: true where it is one now. */
static bool
adapt_node(const Call *from, int i, const Key *key, int j, Call *to)
{
    uint32_t have = from->code[i], want = key->code[j];
    uint64_t bits = from->bits[i];
    if (is_that_number(have, from->value[i], want, key->value[j])) {
        have = want, bits = key->bits[j];
    } else if (code_kind(have) == NODE_SCALAR && code_kind(want) == NODE_SCALAR &&
               code_elem(have) != code_elem(want)) {
        if (!take_type(code_elem(have), code_elem(want), from->value[i], &bits))
            return false;
        unsigned truth = elem_is_int(code_elem(want)) && code_elem(want) != E_I1
                             ? truth_of_int(bits, is_negative(code_elem(want), bits)) |
                                   (bits == 1 ? FACT_EQ1 : 0u)
                             : 0;
        have = CODE(NODE_SCALAR, code_elem(want), truth);
    }
    if (code_kind(have) <= NODE_POINTER && code_kind(want) == code_kind(have))
        have &= want | ~(uint32_t)INT_FACTS;
    to->code[to->n] = have;
    to->bits[to->n] = bits;
    to->span[to->n] = from->span[i];
    to->value[to->n++] = from->value[i];
    return true;
}

/* The nodes of c as those that the key has. False where they cannot be. */
static bool
adapt(Call *c, const Key *key, bool any_constants)
{
    Call to;
    int i = 0, j = 0;
    to.n = 0;
    while (i < c->n && j < key->n) {
        int i_end = tree_end(c->code, i), j_end = tree_end(key->code, j);
        NodeKind want = code_kind(key->code[j]);
        if (any_constants && want >= NODE_NONE && want != NODE_TUPLE) {
            to.code[to.n] = key->code[j];
            to.bits[to.n] = key->bits[j];
            to.span[to.n] = (Span){0, 0};
            to.value[to.n++] = key->value[j];
        } else if (i_end - i != j_end - j) {
            return false;
        } else {
            for (int k = 0; k < i_end - i; k++)
                if (!adapt_node(c, i + k, key, j + k, &to))
                    return false;
        }
        i = i_end, j = j_end;
    }
    if (i != c->n || j != key->n)
        return false;
    c->n = to.n;
    memcpy(c->code, to.code, (size_t)to.n * sizeof *c->code);
    memcpy(c->bits, to.bits, (size_t)to.n * sizeof *c->bits);
    memcpy(c->value, to.value, (size_t)to.n * sizeof *c->value);
    memcpy(c->span, to.span, (size_t)to.n * sizeof *c->span);
    return true;
}

/* 1: c is, or can be made, a call of v, as far as v's questions among facts tell; 0; -1 with
 * an exception. */
static int
fits_call(const Launcher *l, Call *c, unsigned facts)
{
    const Compiled *v = l->fixed;
    int r = call_agrees(c, v->key, v->asked, facts);
    return r || !adapt(c, v->key, l->any_constants)
               ? r
               : call_agrees(c, v->key, v->asked, facts);
}

Compiled *
fixed_variant(const Launcher *l, Call *c)
{
    Compiled *v = l->fixed;
    bool on_cuda = c->place.type == kDLCUDA;
    c->opt =
        v->key->opt; /* chosen with the variant: a launch of it takes arguments only */
    bool is_there = !c->place.type || on_cuda == (v->bin.target.kind == TARGET_CUDA);
    int r = is_there ? fits_call(l, c, TRUTH_BITS) : 0;
    if (is_there && !r && (r = fits_call(l, c, (unsigned)~SHARE_FACTS)) > 0) {
        c->want = &v->bin.target;
        call_note_target(c);
        return cache_get(c);
    }
    if (r > 0)
        return cache_check_writes(c, v) ? NULL : v;
    if (!r)
        PyErr_Format(PyExc_ValueError,
                     "these arguments need another variant of %s(): launch the kernel "
                     "instead of the compiled one",
                     c->k->f->name);
    return NULL;
}

/* What node *at of a key holds, as an object, and *at behind it. New reference. */
static PyObject *
key_object(const Key *key, int *at)
{
    int i = (*at)++;
    PyObject *x = key->value[i];
    if (code_kind(key->code[i]) != NODE_TUPLE)
        return Py_NewRef(x ? x : Py_None);
    int n = code_children(key->code[i]);
    PyObject *items = PyTuple_New(n);
    for (int j = 0; items && j < n; j++) {
        PyObject *item = key_object(key, at);
        if (!item || PyTuple_SetItem(items, j, item))
            Py_CLEAR(items);
    }
    if (!items || !x || x == (PyObject *)&PyTuple_Type)
        return items;
    PyObject *named = PyObject_CallObject(x, items);
    Py_DECREF(items);
    return named;
}

int
fixed_complete(const Compiled *v, PyObject *const *args, PyObject *all[MAX_ARGS])
{
    const FeFunction *f = v->kernel->f;
    for (int i = 0, at = 0; i < f->n_params; i++) {
        if (f->params[i].is_constexpr) {
            all[i] = key_object(v->key, &at);
        } else {
            all[i] = Py_NewRef(*args++);
            at = tree_end(v->key->code, at);
        }
        if (!all[i]) {
            while (i--)
                Py_DECREF(all[i]);
            return -1;
        }
    }
    return 0;
}
