/* builtins_shape: making blocks and changing their shape. */
#include <math.h>

#include "frontend/fe.h"

static int
grid_axis(Fe *f, Value v)
{
    if (v.kind == V_OBJ && PyUnicode_Check(v.obj))
        err_help(f->c, "x, y and z of a grid are the axes 0, 1 and 2");
    int64_t axis = v_const_int(f, v, "axis");
    if (axis < 0 || axis > 2)
        fail_of(f, v, VALUE, "%s axis must be 0, 1, or 2 but got %lld", f->callee,
                (long long)axis);
    return (int)axis;
}

Value
bi_grid(Fe *f, Value *a)
{
    OpCode code = (OpCode)f->which;
    int at = grid_axis(f, a[0]);
    const Type *t = ty_scalar(f->c, E_I32);
    Op *o = ir_op(&f->b, code, 0, NULL, 1, &t);
    ir_set_attr(o, ATTR_AXIS, at);
    return v_val(result(o, 0));
}

Value
bi_arange(Fe *f, Value *a)
{
    if (a[0].kind == V_TENSOR || a[1].kind == V_TENSOR)
        err_help(f->c, "add a run-time offset "
                       "outside: start + tl.arange(0, N)");
    int64_t start = v_const_int(f, a[0], "arange's start");
    int64_t end = v_const_int(f, a[1], "arange's end");
    int64_t n = end - start;
    if (start < 0) {
        err_help(f->c, "tl.arange(0, N) - %lld", -(long long)start);
        fail(f, VALUE, "arange's start must be 0 or more, not %lld", (long long)start);
    }
    if (end > UINT32_MAX)
        fail(f, VALUE, "arange must fit in int32, not %lld .. %lld", (long long)start,
             (long long)end);
    if (n <= 0 || n > MAX_NUMEL)
        fe_help_values(f);
    if (n <= 0)
        fail(f, VALUE, "arange's end argument must be greater than the start argument");
    if (n > MAX_NUMEL)
        err_help(f->c, "go over it in a loop, in smaller blocks");
    if (n > MAX_NUMEL)
        fail(f, VALUE, "a block may have at most %d elements, not %lld", MAX_NUMEL,
             (long long)n);
    return v_val(ir_arange(&f->b, start, end));
}

/* v in every element of a block, converted to e. */
static Value
filled(Fe *f, Val *v, Elem e, int rank, const int32_t *shape)
{
    return v_val(fe_splat_to(f, fe_cast(f, v, e, ROUND_RTNE), rank, shape));
}

Value
bi_full(Fe *f, Value *a)
{
    int32_t shape[MAX_RANK];
    int rank = v_shape(f, a[0], shape, "a shape");
    if (is_py_none(a[2]))
        fail(f, VALUE, "dtype must be specified when value is not a tensor");
    Elem e = v_elem(f, a[2], "dtype");
    if (is_number(a[1])) {
        double d = PyFloat_AsDouble(a[1].obj);
        PyErr_Clear(); /* of an integer beyond doubles, which no type holds */
        int sign = elem_is_signed(e);
        double limit = ldexp(1, elem_info[e].bits - sign);
        if (PyFloat_Check(a[1].obj) && elem_is_int(e) && e != E_I1 &&
            !(d == trunc(d) && d >= -limit * sign && d < limit)) {
            err_help(f->c, "to cut it off: int(..), or tl.cast(value, dtype)");
            fail_of(f, a[1], TYPE, "full of %s cannot hold %s", elem_info[e].tl,
                    v_short(f, a[1]));
        }
        /* Floats straight to e: 3.7e9 as i64 must not pass through f32. No integer
         * converts to fp8, and one beyond 64 bits may be a float. */
        const Type *t = ty_scalar(f->c, e);
        bool is_small = PyFloat_Check(a[1].obj) || (d >= -0x1p63 && d < 0x1p64);
        Val *v;
        if (elem_is_float(e) &&
            (PyFloat_Check(a[1].obj) || elem_is_f8(e) || (!is_small && d != -1)))
            v = ir_const_float(&f->b, t, d);
        else if (e == E_I1)
            v = ir_const_int(&f->b, t, PyObject_IsTrue(a[1].obj));
        else
            v = fe_cast(f, fe_tensor(f, a[1], "value"), e, 0);
        return v_val(fe_splat_to(f, v, rank, shape));
    }
    Val *v = fe_tensor(f, a[1], "value");
    if (ty_numel(v->type) != 1)
        fail(f, VALUE, "full fills a block with a scalar, not with %s",
             ty_str(f->a, v->type));
    return filled(f, fe_reshape(f, v, 0, NULL), e, rank, shape);
}

Value
bi_zeros(Fe *f, Value *a)
{
    int32_t shape[MAX_RANK];
    int rank = v_shape(f, a[0], shape, "a shape");
    const Type *t = ty_scalar(f->c, v_elem(f, a[1], "dtype"));
    if (rank)
        t = ty_block(f->c, t, rank, shape);
    return v_val(ir_const_bits(&f->b, t, 0));
}

Value
bi_zeros_like(Fe *f, Value *a)
{
    Val *v = fe_tensor(f, a[0], "input");
    return v_val(ir_const_bits(&f->b, v->type, 0));
}

Value
bi_cast(Fe *f, Value *a)
{
    bool bitcast = !is_absent(a[3]) && v_const_bool(f, a[3], "bitcast");
    return fe_cast_value(f, a[0], a[1], a[2], bitcast);
}

Value
bi_to_tensor(Fe *f, Value *a)
{
    return v_val(fe_tensor(f, a[0], "what becomes a tensor"));
}

Value
bi_broadcast(Fe *f, Value *a)
{
    Val *x = fe_tensor(f, a[0], "input"), *y = fe_tensor(f, a[1], "other");
    fe_broadcast_pair(f, &x, &y);
    Value pair[2] = {v_val(x), v_val(y)};
    return v_tuple(f, 2, pair);
}

/* *shape may be one tuple: x.reshape((4, 8)) beside x.reshape(4, 8). */
static Value
rest_of(Value rest)
{
    if (rest.kind == V_TUPLE && rest.tuple->n == 1 && rest.tuple->at[0].kind == V_TUPLE)
        return rest.tuple->at[0];
    return rest;
}

Value
bi_broadcast_to(Fe *f, Value *a)
{
    int32_t shape[MAX_RANK];
    Val *v = fe_tensor(f, a[0], "input");
    int rank = v_shape(f, rest_of(a[1]), shape, "a shape");
    const Type *t = v->type;
    if (!t->rank)
        return v_val(fe_splat_to(f, v, rank, shape));
    bool fits = rank == t->rank;
    for (int i = 0; fits && i < rank; i++)
        fits = t->shape[i] == shape[i] || t->shape[i] == 1;
    if (!fits) {
        if (rank != t->rank)
            err_help(f->c, "x[None, :] and x[:, None] add the dimensions that miss");
        else
            err_help(f->c, "each dimension must be equal, or 1 in the block");
        fe_bad_shapes(f, "the block cannot be broadcast to that shape", t,
                      ty_with_shape(f->c, t, rank, shape));
    }
    return v_val(fe_splat_to(f, v, rank, shape));
}

Value
bi_expand_dims(Fe *f, Value *a)
{
    Val *v = fe_tensor(f, a[0], "input");
    int64_t axes[MAX_RANK];
    int n = v_int_list(f, a[1], axes, MAX_RANK, "axis"), rank = v->type->rank + n;
    bool is_new[MAX_RANK] = {0};
    if (rank > MAX_RANK)
        fail(f, LIMIT, "a block of more than %d dimensions", MAX_RANK);
    for (int i = 0; i < n; i++) {
        int64_t at = axes[i] < 0 ? axes[i] + rank : axes[i];
        if (at < 0 || at >= rank)
            fail(f, VALUE, "axis %lld is outside the %d dims of the result",
                 (long long)axes[i], rank);
        if (is_new[at])
            fail(f, VALUE, "axis %lld appears twice", (long long)axes[i]);
        is_new[at] = true;
    }
    int32_t shape[MAX_RANK];
    if (!v->type->rank) {
        for (int i = 0; i < rank; i++)
            shape[i] = 1;
        return v_val(fe_splat_to(f, v, rank, shape));
    }
    for (int i = 0; i < rank; i++)
        if (is_new[i])
            v = ir_expand(&f->b, v, i);
    return v_val(v);
}

/* What Triton 3.10 will not have any more. Here the order is kept either way. */
static void
warn_reorder(Fe *f, Value can_reorder)
{
    if (can_reorder.kind == V_TENSOR) {
        err_help(f->c, "one within the other: tl.cat(tl.cat(a, b), c)");
        fe_blame(f, can_reorder);
        err_at(f->c, f->b.loc, ARGUMENT, str_printf(f->a, "%s()", f->callee),
               "it takes two blocks");
    }
    if (!is_absent(can_reorder) && v_const_bool(f, can_reorder, "can_reorder"))
        fe_warn(f, PyExc_UserWarning,
                "%s(can_reorder=True) is deprecated: leave it out, it changes nothing",
                f->callee);
}

/* Of x.reshape(4, -1): the number that -1 stands for elsewhere. */
static void
help_open_side(Fe *f, const Type *t, Value shape)
{
    int64_t dims[MAX_RANK], known = 1, n = ty_numel(t);
    int open = 0, rank = v_int_list(f, shape, dims, MAX_RANK, "a shape");
    for (int i = 0; i < rank; i++)
        if (dims[i] == -1)
            open++;
        else if (dims[i] > 0 && dims[i] <= n)
            known *= dims[i];
        else
            return;
    if (open == 1 && known <= n && n % known == 0)
        err_help(f->c, "no side is found out: here -1 is %lld", (long long)(n / known));
}

Value
bi_reshape(Fe *f, Value *a)
{
    warn_reorder(f, a[2]);
    int32_t shape[MAX_RANK];
    Val *v = fe_tensor(f, a[0], "input");
    help_open_side(f, v->type, rest_of(a[1]));
    int rank = v_shape(f, rest_of(a[1]), shape, "a shape");
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    if (n != ty_numel(v->type))
        fe_help_values(f);
    if (n != ty_numel(v->type))
        fail(f, VALUE, "cannot reshape %s (%lld elements) to %s (%lld)",
             ty_shape_str(f->a, v->type), (long long)ty_numel(v->type),
             ty_shape_str(f->a, ty_with_shape(f->c, v->type, rank, shape)),
             (long long)n);
    return v_val(fe_reshape(f, v, rank, shape));
}

Value
bi_view(Fe *f, Value *a)
{
    fe_warn(f, PyExc_UserWarning,
            "tl.view is deprecated: tl.reshape(x, shape) is the same");
    return bi_reshape(f, (Value[]){a[0], a[1], {0}});
}

Val *
fe_resize(Fe *f, Val *v, const int32_t *shape, Val *fill)
{
    const Type *t = ty_with_shape(f->c, v->type, v->type->rank, shape);
    if (t == v->type)
        return v;
    if (!fill)
        fill = ir_const_bits(&f->b, ty_element(f->c, v->type), 0);
    return ir_op1(&f->b, OP_RESIZE, 2, (Val *[]){v, fill}, t);
}

Value
bi_resize(Fe *f, Value *a)
{
    Val *v = fe_tensor(f, a[0], "input"), *fill = NULL;
    const Type *t = v->type;
    int32_t shape[MAX_RANK];
    int rank = v_shape(f, a[1], shape, "a shape");
    if (t->is_ptr) {
        err_help(f->c, "tl.load them first");
        fail(f, TYPE, "resize takes numbers, not %s", ty_str(f->a, t));
    }
    if (!t->rank || rank != t->rank) {
        err_help(f->c, "resize keeps the dims; x[:, None] adds one");
        fe_bad_shapes(f, "resize to another number of dimensions", t,
                      ty_with_shape(f->c, t, rank, shape));
    }
    if (fe_is_given(a[2])) {
        fill = fe_tensor(f, a[2], "fill");
        if (fill->type->rank || fill->type->is_ptr)
            fail(f, TYPE, "fill must be a scalar number, not %s",
                 ty_str(f->a, fill->type));
        fill = fe_cast(f, fill, t->elem, ROUND_RTNE);
    }
    return v_val(fe_resize(f, v, shape, fill));
}

Value
bi_item(Fe *f, Value *a)
{
    Val *v = fe_tensor(f, a[0], "input");
    if (ty_numel(v->type) != 1) {
        err_help(f->c,
                 "x[0] is an element of a block, tl.sum(x) and tl.max(x) one number");
        fail(f, VALUE, "item() needs a block of one element, not %s",
             ty_str(f->a, v->type));
    }
    return v_val(fe_reshape(f, v, 0, NULL));
}

Value
bi_ravel(Fe *f, Value *a)
{
    Val *v = fe_tensor(f, a[0], "x");
    int32_t n = (int32_t)ty_numel(v->type);
    return v_val(fe_reshape(f, v, 1, &n));
}

static Value
permuted(Fe *f, Val *v, Value dims, bool allow_negative)
{
    int64_t d[MAX_RANK];
    int perm[MAX_RANK], rank = v->type->rank,
                        n = v_int_list(f, dims, d, MAX_RANK, "dims");
    unsigned seen = 0;
    bool ok = n == rank;
    for (int i = 0; ok && i < n; i++) {
        int64_t k = allow_negative && d[i] < 0 ? d[i] + rank : d[i];
        ok = k >= 0 && k < rank && !(seen & 1u << k);
        if (ok) {
            seen |= 1u << k;
            perm[i] = (int)k;
        }
    }
    if (!ok)
        fail(f, VALUE, "dims must be a permutation of 0..%d for the shape %s, not %s",
             rank - 1, ty_shape_str(f->a, v->type), v_short(f, dims));
    return v_val(fe_trans(f, v, perm));
}

Value
bi_trans(Fe *f, Value *a)
{
    Val *v = fe_tensor(f, a[0], "input");
    Value dims = is_absent(a[1]) ? v_tuple(f, 0, NULL) : rest_of(a[1]);
    int perm[MAX_RANK], rank = v->type->rank;
    if (dims.tuple->n)
        return permuted(f, v, dims, false);
    if (rank == 1)
        err_help(f->c, "x[:, None] is a column, x[None, :] a row");
    if (rank < 2)
        fail(f, VALUE, "trans needs two dimensions, not the shape %s",
             ty_shape_str(f->a, v->type));
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    return v_val(fe_trans(f, v, perm));
}

Value
bi_permute(Fe *f, Value *a)
{
    Value dims = is_absent(a[1]) ? v_tuple(f, 0, NULL) : rest_of(a[1]);
    return permuted(f, fe_tensor(f, a[0], "input"), dims, false);
}

/* ---- putting together, taking apart ----------------------------------------------------- */

static void
need_same_elem(Fe *f, const Val *x, const Val *y)
{
    if (ty_element(f->c, x->type) == ty_element(f->c, y->type))
        return;
    err_help(f->c, "convert one of them: x.to(tl.%s)", elem_info[y->type->elem].tl);
    fail(f, TYPE, "%s needs one element type, not %s and %s", f->callee,
         ty_str(f->a, x->type), ty_str(f->a, y->type));
}

static Val *
join_blocks(Fe *f, Val *x, Val *y)
{
    need_same_elem(f, x, y);
    fe_broadcast_pair(f, &x, &y);
    bool is_pair = !x->type->rank;
    if (is_pair) { /* layouts know blocks: [1] and [1] give [1, 2] */
        x = ir_splat(&f->b, x, 1, (int32_t[]){1});
        y = ir_splat(&f->b, y, 1, (int32_t[]){1});
    }
    int rank = x->type->rank;
    int32_t shape[MAX_RANK];
    if (rank == MAX_RANK)
        fail(f, LIMIT, "a block of more than %d dimensions", MAX_RANK);
    memcpy(shape, x->type->shape, sizeof shape);
    shape[rank] = 2;
    fe_check_shape(f, rank + 1, shape);
    Val *r = ir_op1(&f->b, OP_JOIN, 2, (Val *[]){x, y},
                    ty_block(f->c, ty_element(f->c, x->type), rank + 1, shape));
    return is_pair ? fe_reshape(f, r, 1, (int32_t[]){2}) : r;
}

Value
bi_join(Fe *f, Value *a)
{
    return v_val(join_blocks(f, fe_tensor(f, a[0], "a"), fe_tensor(f, a[1], "b")));
}

Value
bi_interleave(Fe *f, Value *a)
{
    Val *v = join_blocks(f, fe_tensor(f, a[0], "a"), fe_tensor(f, a[1], "b"));
    int rank = v->type->rank;
    if (rank == 1)
        return v_val(v);
    int32_t shape[MAX_RANK];
    memcpy(shape, v->type->shape, sizeof shape);
    shape[rank - 2] *= 2;
    return v_val(fe_reshape(f, v, rank - 1, shape));
}

Value
bi_split(Fe *f, Value *a)
{
    Val *v = fe_tensor(f, a[0], "a");
    const Type *t = v->type;
    if (!t->rank || t->shape[t->rank - 1] != 2) {
        err_help(f->c, "x.reshape(.., 2) makes such a dimension");
        fail(f, VALUE, "split needs a last dimension of 2, not the shape %s",
             ty_shape_str(f->a, t));
    }
    bool is_pair = t->rank == 1;
    if (is_pair) /* layouts know blocks: [1, 2] gives two of [1] */
        v = fe_reshape(f, v, 2, (int32_t[]){1, 2});
    const Type *half = ty_with_shape(f->c, t, v->type->rank - 1, v->type->shape);
    Op *o = ir_op(&f->b, OP_SPLIT, 1, &v, 2, (const Type *[]){half, half});
    Value pair[2];
    for (int i = 0; i < 2; i++) {
        Val *r = result(o, i);
        pair[i] = v_val(is_pair ? fe_reshape(f, r, 0, NULL) : r);
    }
    return v_tuple(f, 2, pair);
}

/* x before y along dim, of any lengths there: element i is x[i], or y[i - n]. */
static Val *
cat_lengths(Fe *f, Val *x, Val *y, int dim)
{
    int32_t n = x->type->shape[dim], m = y->type->shape[dim], shape[MAX_RANK];
    int rank = x->type->rank;
    memcpy(shape, x->type->shape, sizeof shape);
    shape[dim] = n + m;
    fe_check_shape(f, rank, shape);
    Val *i = ir_arange(&f->b, 0, n + m);
    Val *len = ir_const_int(&f->b, i->type, n);
    Val *last = ir_const_int(&f->b, i->type, n - 1),
        *zero = ir_const_int(&f->b, i->type, 0);
    Val *of_x = ir_pick(&f->b, x, dim, ir_bin(&f->b, OP_MIN, i, last));
    Val *from = ir_bin(&f->b, OP_MAX, ir_bin(&f->b, OP_SUB, i, len), zero);
    Val *of_y = ir_pick(&f->b, y, dim, from), *is_x = ir_bin(&f->b, OP_LT, i, len);
    return ir_select(&f->b, fe_along(f, is_x, dim, of_x->type), of_x, of_y);
}

/* [.., n] beside [.., n] along dim: join gives [.., n, 2]; the new dim moves in front of
 * the one that grows, and both become one. */
Value
bi_cat(Fe *f, Value *a)
{
    if (a[0].kind == V_TUPLE)
        err_help(f->c, "the two blocks are arguments: tl.cat(a, b, dim=0)");
    Val *x = fe_tensor(f, a[0], "input"), *y = fe_tensor(f, a[1], "other");
    warn_reorder(f, a[2]);
    int64_t dim = is_absent(a[3]) ? 0 : v_const_int(f, a[3], "dim");
    int rank = x->type->rank;
    need_same_elem(f, x, y);
    bool fits = rank && rank == y->type->rank;
    if (fits && (dim < -rank || dim >= rank))
        fail(f, VALUE, "dim %lld is outside the shape %s", (long long)dim,
             ty_shape_str(f->a, x->type));
    if (dim < 0)
        dim += rank;
    for (int d = 0; fits && d < rank; d++)
        fits = d == dim || x->type->shape[d] == y->type->shape[d];
    if (!fits)
        fe_bad_shapes(f, "cat needs two blocks of one shape, but along dim", x->type,
                      y->type);
    if (!ty_same_shape(x->type, y->type))
        return v_val(cat_lengths(f, x, y, (int)dim));
    int32_t shape[MAX_RANK];
    memcpy(shape, x->type->shape, sizeof shape);
    shape[dim] *= 2;
    fe_check_shape(f, rank, shape);
    if (rank == 1) {
        return v_val(ir_op1(&f->b, OP_CAT, 2, (Val *[]){x, y},
                            ty_with_shape(f->c, x->type, 1, shape)));
    }
    Val *v = join_blocks(f, x, y);
    int perm[MAX_RANK];
    for (int i = 0, at = 0; i < rank; i++) {
        if (i == dim)
            perm[at++] = rank;
        perm[at++] = i;
    }
    return v_val(fe_reshape(f, fe_trans(f, v, perm), rank, shape));
}
