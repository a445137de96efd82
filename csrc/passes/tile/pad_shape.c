/* pad_shape: ops of pad_blocks that count on the order of elements having no gaps.
 *
 *     [24, 4] -> [96]      padded [32, 4] -> [128]: element (i, j) is 4 i + j in both: plain
 *     [4, 24] -> [96]      padded [4, 32] -> [128]: 24 i + j stands at 32 i + j: moved
 *
 * A reshape is cut into the least groups of dims with equal products. A group is plain when
 * both sides are the same, or when only their first dims are no powers of two: then a padded
 * first dim leaves its gaps at the end, and they are equally large, as padding m * 2^k gives
 * 2^k times what padding m gives. Otherwise all elements move through one gather whose
 * index is computed from the place in the result: on GPUs that is shared memory.
 */
#include "passes/tile/pad.h"

/* The dims of more than one element. */
static int
squeeze(const int32_t *from, int n, int32_t *to)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        if (from[i] != 1)
            to[k++] = from[i];
    return k;
}

static bool
is_power(int32_t n)
{
    return ty_padded_side(n) == n;
}

/* One group: is a padded x, read as a padded y, the same elements in order? */
static bool
is_plain_group(const int32_t *x, int nx, const int32_t *y, int ny)
{
    if (nx == ny && !memcmp(x, y, (size_t)nx * sizeof *x))
        return true;
    for (int i = 1; i < nx; i++)
        if (!is_power(x[i]))
            return false;
    for (int i = 1; i < ny; i++)
        if (!is_power(y[i]))
            return false;
    return true;
}

static bool
is_plain(const Type *from, const Type *to)
{
    int32_t x[MAX_RANK], y[MAX_RANK];
    int nx = squeeze(from->shape, from->rank, x);
    squeeze(to->shape, to->rank, y); /* of the same number of elements */
    for (int i = 0, j = 0; i < nx;) {
        int i0 = i, j0 = j;
        int64_t a = x[i++], b = y[j++];
        while (a != b)
            if (a < b)
                a *= x[i++];
            else
                b *= y[j++];
        if (!is_plain_group(x + i0, i - i0, y + j0, j - j0))
            return false;
    }
    return true;
}

static Val *
reshape_to(Build *b, Val *v, int rank, const int32_t *shape)
{
    const Type *t = ty_with_shape(b->f->c, v->type, rank, shape);
    return t == v->type ? v : ir_op1(b, OP_RESHAPE, 1, &v, t);
}

static Val *
times(Build *b, Val *x, int64_t k)
{
    return k == 1 ? x : ir_bin(b, OP_MUL, x, ir_const_int(b, x->type, k));
}

/* For every place of the padded block `to`: its element's number in row-major order. */
static Val *
numbers(Build *b, const Type *to, const Type *padded)
{
    Val *sum = NULL;
    int64_t stride = 1;
    for (int d = to->rank - 1; d >= 0; stride *= to->shape[d--]) {
        if (to->shape[d] == 1)
            continue;
        Val *i = times(b, ir_arange(b, 0, padded->shape[d]), stride);
        i = ir_broadcast(b, ir_as_dim(b, i, d, to->rank), to->rank, padded->shape);
        sum = sum ? ir_bin(b, OP_ADD, sum, i) : i;
    }
    return sum;
}

/* Where the elements of these numbers stand in the padded block `from`. */
static Val *
places(Build *b, Val *number, const Type *from, const Type *padded)
{
    Val *sum = NULL;
    int64_t below = 1, stride = 1;
    for (int d = from->rank - 1; d >= 0; d--) {
        if (from->shape[d] > 1) {
            Val *i = number;
            const Type *t = i->type;
            if (below > 1)
                i = ir_bin(b, OP_DIV, i, ir_const_int(b, t, below));
            if (ty_numel(from) != below * from->shape[d]) /* not the first dim */
                i = ir_bin(b, OP_REM, i, ir_const_int(b, t, from->shape[d]));
            i = times(b, i, stride);
            sum = sum ? ir_bin(b, OP_ADD, sum, i) : i;
        }
        below *= from->shape[d];
        stride *= padded->shape[d];
    }
    /* What padding computes may be beyond the end. */
    return ir_bin(b, OP_AND, sum, ir_const_int(b, sum->type, stride - 1));
}

/* Those who reduce it will read the block that was flattened: pad_combine.c. */
static bool
is_only_reduced(const Val *v)
{
    for (const Use *u = v->uses; u; u = u->next)
        if (u->user->op != OP_REDUCE)
            return false;
    return true;
}

void
pad_reshape(Pad *p, Op *o)
{
    Val *v = arg(o, 0);
    const Type *from = pad_type(p, v), *to = pad_type(p, result(o, 0));
    if (is_plain(from, to))
        return;
    const Type *wide = result(o, 0)->type;
    int32_t n_from = (int32_t)ty_numel(v->type), n_to = (int32_t)ty_numel(wide);
    Build b = ir_before(o);
    Val *at = places(&b, numbers(&b, to, wide), from, v->type);
    at = reshape_to(&b, at, 1, &n_to);
    ir_set_arg(o, 0, ir_pick(&b, reshape_to(&b, v, 1, &n_from), 0, at));
    if (to->rank == 1)
        map_put(&p->whole, result(o, 0), 0, v);
    if (to->rank != 1 || !is_only_reduced(result(o, 0)))
        pad_note(p, o, "reshape of %s to %s moves elements (a gather)",
                 ty_shape_str(p->c->arena, from), ty_shape_str(p->c->arena, to));
}

/* The padded halves stand at 0 and at n of the padded result. */
void
pad_cat(Pad *p, Op *o)
{
    Val *v = result(o, 0), *x = arg(o, 0);
    int32_t n = pad_type(p, x)->shape[0], wide = x->type->shape[0];
    if (n == wide)
        return;
    Build b = ir_before(o);
    Val *i = ir_arange(&b, 0, v->type->shape[0]);
    Val *first = ir_bin(&b, OP_LT, i, ir_const_int(&b, i->type, n));
    Val *second = ir_bin(&b, OP_ADD, i, ir_const_int(&b, i->type, wide - n));
    second = ir_bin(&b, OP_AND, second, ir_const_int(&b, i->type, 2 * wide - 1));
    i = ir_select(&b, first, i, second);
    Op *both = ir_op(&b, OP_CAT, 2, (Val *[]){x, arg(o, 1)}, 1, &v->type);
    pad_replace(p, v, ir_pick(&b, result(both, 0), 0, i));
    pad_note(p, o, "cat of %s moves elements (a gather)",
             ty_shape_str(p->c->arena, pad_type(p, x)));
    ir_erase(o);
}

void
pad_resize(Pad *p, Op *o)
{
    Val *v = arg(o, 0), *r = result(o, 0);
    const Type *from = pad_type(p, v), *to = pad_type(p, r);
    Build b = ir_before(o);
    int32_t limit[MAX_RANK];
    for (int d = 0; d < to->rank; d++) {
        int32_t has = v->type->shape[d], wants = r->type->shape[d];
        limit[d] = from->shape[d] < to->shape[d] ? from->shape[d] : wants;
        if (has == wants)
            continue;
        Val *i = ir_arange(&b, 0, wants);
        if (wants > has)
            i = ir_bin(&b, OP_AND, i, ir_const_int(&b, i->type, has - 1));
        v = ir_pick(&b, v, d, i);
        pad_note(p, o, "%s from %s moves elements (a gather)",
                 ty_shape_str(p->c->arena, to), ty_shape_str(p->c->arena, from));
    }
    Val *in = pad_inside(&b, to->rank, r->type->shape, limit);
    if (in)
        v = ir_select(&b, in, v, ir_splat(&b, arg(o, 1), to->rank, r->type->shape));
    pad_replace(p, r, v);
    ir_erase(o);
}
