/* subscript: x[..] of blocks, tuples and constants.
 *
 * Of a block: None adds a dimension, ':' keeps one, and beyond Triton an integer picks an
 * element and a slice with constant bounds a part. Picking is a gather: on GPUs it goes
 * through shared memory, so in a hot loop it is better to load what is needed. The first
 * elements of a dimension are a resize, which costs nothing where the padded sides agree.
 * '...' stands for the dimensions that no other index is about.
 */
#include "frontend/fe.h"

/* One index of x[..]. A slice is written a:b:c, then key is absent, or is a tl.slice. */
typedef struct Index {
    const Node *node;
    Value key;
} Index;

static bool
is_written_slice(const Index *x)
{
    return x->node->kind == AST_Slice;
}

static bool
is_slice(Fe *f, const Index *x)
{
    return is_written_slice(x) ||
           (x->key.kind == V_OBJ && fe_is_instance(f, x->key.obj, f->cls_slice));
}

static Index
read_index(Fe *f, Node *n)
{
    bool written = n->kind == AST_Slice;
    return (Index){n, written ? (Value){0} : fe_read(f, fe_expr(f, n))};
}

/* A bound that is written; None where it is left out. */
static PyObject *
written_bound(Fe *f, Node *n)
{
    if (!n)
        return Py_None;
    const Value v = fe_read(f, fe_expr(f, n));
    const Node *const node = n;
    const CallArgs now = {f->frame, 1, &v, &node, NULL}, *outer = f->args;
    f->args = &now;
    if (v.kind == V_TENSOR)
        err_help(f->c, "tl.where(index < n, x, 0) keeps the shape and drops the rest");
    PyObject *o = v_to_py(f, v, "a slice bound");
    f->args = outer;
    return o;
}

/* A slice with constant bounds, as PySlice says. */
static Py_ssize_t
slice_of(Fe *f, const Index *x, int size, Py_ssize_t *start, Py_ssize_t *step)
{
    static const char *const name[3] = {"start", "stop", "step"};
    Node *parts[3] = {x->node->a, x->node->b, x->node->c};
    PyObject *lim[3];
    for (int i = 0; i < 3; i++)
        lim[i] = is_written_slice(x)
                     ? written_bound(f, parts[i])
                     : fe_own(f, PyObject_GetAttrString(x->key.obj, name[i]));
    fe_at(f, x->node);
    PyObject *s = fe_own(f, PySlice_New(lim[0], lim[1], lim[2]));
    Py_ssize_t stop;
    if (PySlice_Unpack(s, start, &stop, step) < 0)
        fe_raise(f, f->b.loc);
    return PySlice_AdjustIndices(size, start, &stop, *step);
}

/* v[start::step] along dim, count elements. */
static Val *
slice_dim(Fe *f, Val *v, int dim, const Index *s)
{
    int32_t extent = v->type->shape[dim];
    Py_ssize_t start, step, count = slice_of(f, s, extent, &start, &step);
    if (count == extent && step == 1)
        return v;
    if (count < 1) {
        err_help(f->c, "a block has at least one element");
        fail(f, VALUE, "this slice picks %lld of %d elements", (long long)count,
             extent);
    }
    if (!start && step == 1 && !v->type->is_ptr &&
        ty_padded_side((int32_t)count) == ty_padded_side(extent)) {
        int32_t shape[MAX_RANK];
        memcpy(shape, v->type->shape, sizeof shape);
        shape[dim] = (int32_t)count;
        return fe_resize(f, v, shape, NULL);
    }
    Val *i = ir_arange(&f->b, 0, count);
    if (step != 1)
        i = ir_bin(&f->b, OP_MUL, i, ir_const_int(&f->b, i->type, step));
    if (start)
        i = ir_bin(&f->b, OP_ADD, i, ir_const_int(&f->b, i->type, start));
    return ir_pick(&f->b, v, dim, i);
}

/* v[k] along dim, which goes away. */
static Val *
element(Fe *f, Val *v, int dim, Value k)
{
    int32_t extent = v->type->shape[dim], shape[MAX_RANK];
    Val *i;
    if (k.kind == V_TENSOR) {
        i = k.val;
        if (i->type->rank || i->type->is_ptr || !elem_is_int(i->type->elem)) {
            if (i->type->elem == E_I1)
                err_help(f->c, "blocks keep their shape: tl.where(mask, x, 0)");
            else
                err_help(f->c, "tl.gather(x, index, axis) picks by a block of indices");
            fail(f, TYPE, "a block is indexed by integers, slices and None, not by %s",
                 v_describe(f, k));
        }
        i = fe_cast(f, i, E_I32, ROUND_RTNE);
    } else {
        int64_t at = v_const_int(f, k, "the index of a block");
        if (at < -extent || at >= extent)
            fail(f, VALUE, "index %lld is outside a dimension of %d", (long long)at,
                 extent);
        i = fe_const_int(f, ty_scalar(f->c, E_I32), at < 0 ? at + extent : at);
    }
    int32_t one = 1;
    v = ir_pick(&f->b, v, dim, fe_splat_to(f, i, 1, &one));
    int rank = 0;
    for (int d = 0; d < v->type->rank; d++)
        if (d != dim)
            shape[rank++] = v->type->shape[d];
    return fe_reshape(f, v, rank, shape);
}

static bool
is_ellipsis(const Node *n)
{
    return n->kind == AST_Constant && n->value == Py_Ellipsis;
}

/* The index expressions of x[..], which are read from left to right. */
typedef struct Indices {
    Node **at;
    Index *read; /* nothing for an ellipsis */
    int n, n_used /* dims that they name */, n_dots;
} Indices;

static Indices
read_indices(Fe *f, Node **at, int n)
{
    Indices x = {.at = at, .read = NEW_N(f->a, Index, n + 1), .n = n};
    for (int i = 0; i < n; i++) {
        if (is_ellipsis(at[i])) {
            x.n_dots++;
            continue;
        }
        x.read[i] = read_index(f, at[i]);
        x.n_used += is_written_slice(&x.read[i]) || !is_py_none(x.read[i].key);
    }
    return x;
}

/* v with a dimension of one element more, at dim. */
static Val *
new_dim(Fe *f, Val *v, int dim)
{
    if (v->type->rank >= MAX_RANK)
        fail(f, LIMIT, "a block of more than %d dimensions", MAX_RANK);
    int32_t unit = 1;
    return v->type->rank ? ir_expand(&f->b, v, dim) : fe_splat_to(f, v, 1, &unit);
}

static NORETURN void
refuse_scalar(Fe *f, const Node *n, const Type *whole, Val *v)
{
    err_help(f->c, whole->is_ptr ? "tl.load(p + i) reads an element"
                                 : "a scalar takes None alone, for a new dimension");
    const char *text = fe_text(f, n->a);
    fail(f, TYPE, "%s%s%s%s%s has no elements to index", text ? "'" : "",
         text ? text : "", text ? "' (" : "", v_describe(f, v_val(v)), text ? ")" : "");
}

static Value
index_tensor(Fe *f, Node *n, Val *v)
{
    Node *one[1] = {n->b};
    bool is_list = n->b->kind == AST_Tuple;
    Indices x = read_indices(f, is_list ? n->b->list : one, is_list ? n->b->n_list : 1);
    int dim = 0, n_beyond = 0;
    fe_at(f, n);
    if (x.n_dots > 1) {
        err_help(f->c, "one '...' stands for all dimensions that are not named");
        fail(f, VALUE, "two '...' in one index");
    }
    const Type *whole = v->type;
    for (int i = 0; i < x.n; i++) {
        const Node *s = x.at[i];
        const Index *index = &x.read[i];
        if (is_ellipsis(s)) {
            dim += MAX(whole->rank - x.n_used, 0);
            continue;
        }
        bool is_part = is_slice(f, index);
        bool is_all = is_written_slice(index) && !s->a && !s->b && !s->c;
        /* As in Triton, a ':' that no dimension is left for changes nothing. It is one of
         * those that None made of a scalar, or of none: x[:, :, None, :] of a matrix. */
        if (is_all && dim >= v->type->rank) {
            n_beyond++;
            continue;
        }
        if (!is_part && is_py_none(index->key) && !(n_beyond && whole->rank)) {
            v = new_dim(f, v, dim++);
            continue;
        }
        if (!whole->rank)
            refuse_scalar(f, n, whole, v);
        if (dim >= v->type->rank) {
            err_help(f->c, "the block has shape %s", ty_shape_str(f->a, whole));
            fail(f, VALUE, "too many indices for a block of %d dimension%s",
                 whole->rank, whole->rank == 1 ? "" : "s");
        }
        if (is_part)
            v = slice_dim(f, v, dim++, index);
        else
            v = element(f, v, dim, index->key);
        fe_at(f, n);
    }
    return v_val(v);
}

static Value
index_tuple(Fe *f, Node *n, Value t)
{
    int size = t.tuple->n;
    if (n->b->kind == AST_Slice && t.tuple->keys)
        fail(f, TYPE, "a dict is indexed by its keys, not by a slice");
    const Index index = read_index(f, n->b);
    if (!t.tuple->keys && is_slice(f, &index)) {
        Py_ssize_t start, step, count = slice_of(f, &index, size, &start, &step);
        fe_at(f, n);
        Value *items = NEW_N(f->a, Value, count + 1);
        for (Py_ssize_t i = 0; i < count; i++)
            items[i] = t.tuple->at[start + i * step];
        return v_tuple(f, (int)count, items);
    }
    Value k = index.key;
    fe_at(f, n);
    if (t.tuple->keys) {
        const char *key = v_const_str(f, k, "the key of a dict");
        for (int i = 0; i < size; i++)
            if (!strcmp(t.tuple->keys[i], key))
                return t.tuple->at[i];
        const char **words = NEW_N(f->a, const char *, size + 1);
        memcpy(words, t.tuple->keys, (size_t)size * sizeof *words);
        const char *near = fe_closest(key, words);
        if (near)
            err_help(f->c, "did you mean '%s'?", near);
        else
            err_help(f->c, "it has %s", size ? fe_listed(f, words) : "none");
        fail(f, VALUE, "this dict has no key '%s'", key);
    }
    bool is_shape = n->a->kind == AST_Attribute && !strcmp(n->a->name, "shape");
    if (k.kind == V_TENSOR) {
        err_help(f->c, "tl.static_range(%d) or 'for x in t' unrolls a loop over it%s",
                 size, is_shape ? "" : "; a block is indexed at run time");
        const char *text = fe_text(f, n->b);
        fe_point(f, n->b);
        fail(f, VALUE,
             "the index of a tuple must be known when the kernel is compiled, but "
             "'%s' (%s) is known only when it runs",
             text ? text : "it", v_describe(f, k));
    }
    int64_t i = v_const_int(f, k, "the index of a tuple");
    if (i < -size || i >= size) {
        const char *text = fe_text(f, n->a->a);
        if (is_shape && !size)
            err_help(f->c,
                     "of a tensor that is passed a kernel gets the address alone: "
                     "pass its sizes as arguments");
        else
            err_help(f->c, "the first has the index 0, the last %d", size - 1);
        if (is_shape && !size)
            fail(f, VALUE, "%s%s%s is a scalar: its shape is ()", text ? "'" : "",
                 text ? text : "it", text ? "'" : "");
        fail(f, VALUE, "index %lld is outside a tuple of %d", (long long)i, size);
    }
    return t.tuple->at[i < 0 ? i + size : i];
}

Value
fe_subscript(Fe *f, Node *n)
{
    Value v = fe_read(f, fe_expr(f, n->a));
    fe_at(f, n);
    if (v.kind == V_TENSOR)
        return index_tensor(f, n, v.val);
    Value r;
    if (v.kind == V_TUPLE && v.tuple->is_aggregate && n->b->kind != AST_Slice) {
        Value key = fe_expr(f, n->b);
        fe_at(f, n);
        if (fe_aggregate_element(f, v, key, &r))
            return r;
    }
    if (v.kind == V_TUPLE)
        return index_tuple(f, n, v);
    if (v.kind == V_BLOCK_PTR)
        err_help(f->c, v.bp->is_desc
                           ? "d.load([i, j]) reads the block that starts there"
                           : "tl.load(p) reads the block it points to");
    if (v.kind != V_OBJ || n->b->kind == AST_Slice)
        fail(f, TYPE, "%s cannot be indexed", v_describe(f, v));
    if (is_number(v)) {
        /* An integer argument of 1 is a constant; x[None] works on it as on any scalar. */
        return index_tensor(f, n, fe_tensor(f, v, "the value"));
    }
    bool is_class = PyType_Check(v.obj);
    if (PyCallable_Check(v.obj) && !is_class && !PyMapping_Check(v.obj)) {
        const char *text = fe_text(f, n->a);
        err_help(f->c, "call it: %s(..)", text ? text : "f");
        fail(f, TYPE, "%s is a function, which has no elements",
             text ? text : v_describe(f, v));
    }
    PyObject *key = v_to_py(f, fe_expr(f, n->b), "the index");
    fe_at(f, n);
    if (fe_watch_item(f->env, v.obj, key))
        fe_raise(f, f->b.loc);
    r = v_from_py(f, fe_own(f, PyObject_GetItem(v.obj, key)));
    r.is_bare = v.is_bare;
    return r;
}
