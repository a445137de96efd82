/* tensors: loads and stores through plain pointers that access a block of a tensor.
 *
 *     a_ptr + (pid * 128 + r) % M * stride + k * 64 + c     where k * 64 + c < K
 * =>
 *     of a_ptr[M, K], strides [stride, 1], the block [128, 64] at (pid * 128 % M, k * 64)
 *
 * A pointer is a sum: stride[d] * index[d] for the dims d of the block, and U for all of it. U is
 * divided among the tensor's dims: a dim with a mask r + v < b takes v, and its size is b; of what
 * is left, terms with a dim's stride go to that dim, terms of the launch's values alone to the
 * tensor's address, one with another stride of the launch's to a dim that the block goes
 * through one index of, and the rest, without a factor of the launch, to the innermost dim.
 *
 * Rule 1: a mask counts only if it says of a dim what its coordinate says: a bound of another
 *         sum is none. What is no bound of one dim refuses the access.
 * Rule 2: a coordinate is never negative, as a copy reads zeros there and a load the memory in
 *         front. Launches are asked of their own values; program_id is none, nor what a loop
 *         counts or carries up from what is none; beside tl.assume nothing else is believed.
 *         Programs that count down, -n * pid, have n * (num_programs - 1 - pid), in a tensor that
 *         begins n * (num_programs - 1) in front. Where nobody knows (an index or a length is
 *         loaded), coordinates count from TENSOR_FRONT rows in front of the tensor, which
 *         makes them positive; a bound is as much further. An index beyond that, of rows of
 *         MIN_ROW bytes or more, would be in no GPU's memory. No box may be all outside then.
 * Rule 3: what wraps (% M), or is kept in front of the end (x < M ? x : 0, min(x, M - 1)), is copied as if it
 *         ended where nobody needs what is behind (rows.c); else, for % M alone, where the block's side divides both the coordinate and M: then no wrap is inside
 *         of a block.
 */
#include "analysis/analysis.h"

#include <stdlib.h>

enum {
    MAX_STEPS = 64,
    MAX_CONJUNCTS = 16,
    MIN_BYTES = 16,
    MAX_CARRIED = 4,
    MIN_ROW = 128
};

typedef struct Split {
    const Func *f;
    const Op *access;
    const Type *block;
    TensorBlock *out;
    AffineWraps wraps;
    int rank; /* of the block */
    AffSum stride[MAX_RANK], left;
    AffSum coord[MAX_RANK], size[MAX_RANK];
    bool has_bound[MAX_RANK], has_floor[MAX_RANK],
        has_end[MAX_RANK];  /* end: of rows.c */
    AffSum floor[MAX_RANK]; /* r + floor >= 0 is asked */
    AffSum modulus[MAX_RANK];
    int inner;                       /* the dim of stride 1 */
    const Val *carried[MAX_CARRIED]; /* by loops, and taken for not negative */
    int n_carried;
} Split;

/* ---- sums of the launch ----------------------------------------------------------------- */

static bool
is_of_launch(const Split *s, const Val *v)
{
    HostOp ops[MAX_HOST_OPS];
    return ir_host_ops(s->f, v, ops) > 0;
}

/* How many factors of the term are not the launch's; *other: the last of them. */
static int
own_factors(const Split *s, const AffTerm *t, const Val **other)
{
    int n = 0;
    if (!is_of_launch(s, t->a))
        n++, *other = t->a;
    if (t->b && !is_of_launch(s, t->b))
        n++, *other = t->b;
    return n;
}

static AffSum
one_term(AffTerm t)
{
    return (AffSum){.n = 1, .term = {t}};
}

/* Moves the terms and the constant of the launch alone from s to to. */
static bool
take_launch(const Split *k, AffSum *s, AffSum *to)
{
    AffSum all = *s, rest = {0};
    const Val *other;
    to->c += all.c;
    for (int i = 0; i < all.n; i++) {
        AffSum t = one_term(all.term[i]);
        if (!aff_add(own_factors(k, &all.term[i], &other) ? &rest : to, &t, 1))
            return false;
    }
    *s = rest;
    return true;
}

/* ---- the pointer ------------------------------------------------------------------------ */

/* A stride is a positive constant, or a value of the launch's by one. */
static bool
is_stride(const Split *s, const AffSum *t)
{
    if (!t->n)
        return t->c > 0;
    return t->n == 1 && !t->c && t->term[0].factor > 0 && !t->term[0].b &&
           is_of_launch(s, t->term[0].a);
}

static const char *
read_pointer(Split *s)
{
    Affine a;
    const Type *t = s->block;
    if (!affine_deep(arg(s->access, 0), &a, &s->wraps) ||
        (a.origin && !affine_unroll(&a, &s->wraps)) || !a.pointer ||
        !is_of_launch(s, a.pointer))
        return "its pointers are no sums";
    s->out->pointer = a.pointer;
    s->left = a.base;
    aff_unroll(&s->left, &s->wraps);
    s->inner = -1;
    for (int d = 0; d < s->rank; d++) {
        s->stride[d] = a.stride[d];
        if (t->shape[d] == 1 || !is_stride(s, &a.stride[d]))
            return "a stride is none of a tensor";
        bool is_one = !a.stride[d].n && a.stride[d].c == 1;
        if (is_one && s->inner >= 0)
            return "two strides are 1";
        s->inner = is_one ? d : s->inner;
        for (int e = 0; e < d; e++)
            if (aff_is_same(&s->stride[e], &s->stride[d]))
                return "two strides are equal";
    }
    if (s->inner < 0)
        return "no stride is 1";
    return t->shape[s->inner] * elem_info[t->elem].bytes < MIN_BYTES
               ? "its rows are short"
               : NULL;
}

/* ---- the mask --------------------------------------------------------------------------- */

/* sum + stride * r < 0 along one dim, of which to[] is the block's. */
static bool
read_bound(Split *s, const Affine *less, int rank, const int *to)
{
    int dim = -1;
    for (int d = 0; d < rank; d++)
        if (less->stride[d].n || less->stride[d].c) {
            if (dim >= 0 || less->stride[d].n || llabs(less->stride[d].c) != 1)
                return false;
            dim = d;
        }
    if (dim < 0 || less->origin || less->pointer)
        return false;
    bool is_upper = less->stride[dim].c == 1;
    AffSum sum = less->base;
    aff_unroll(&sum, &s->wraps);
    dim = to[dim];
    if (!is_upper) { /* r > sum: r - sum - 1 >= 0 */
        if (s->has_floor[dim])
            return false;
        s->has_floor[dim] = true;
        s->floor[dim] = (AffSum){.c = -1};
        return aff_add(&s->floor[dim], &sum, -1);
    }
    if (s->has_bound[dim])
        return false;
    s->has_bound[dim] = true;
    AffSum bound = {0};
    if (!take_launch(s, &sum, &bound) || !aff_add(&s->size[dim], &bound, -1))
        return false;
    s->coord[dim] = sum;
    return true;
}

static bool
read_compare(Split *s, const Op *o, const int *to)
{
    bool swaps = o->op == OP_GT || o->op == OP_GE,
         is_equal = o->op == OP_LE || o->op == OP_GE;
    Affine x, y;
    AffineWraps none = {0};
    int rank = result(o, 0)->type->rank;
    if (!affine_deep(arg(o, swaps), &x, &none) ||
        !affine_deep(arg(o, !swaps), &y, &none) || none.n || x.origin || y.origin ||
        x.pointer || y.pointer || !elem_is_signed(arg(o, 0)->type->elem) ||
        !aff_add(&x.base, &y.base, -1))
        return false;
    x.base.c -= is_equal;
    for (int d = 0; d < rank; d++)
        if (!aff_add(&x.stride[d], &y.stride[d], -1))
            return false;
    return read_bound(s, &x, rank, to);
}

/* to[d]: the block's dim that is dim d of the mask. */
static bool
read_mask(Split *s, const Val *m, const int *to, int *budget)
{
    const Op *o = m->def;
    uint64_t bits;
    int inside[MAX_RANK];
    if (ir_is_const(m, &bits))
        return bits;
    if (!o || --*budget < 0)
        return false;
    if (o->op == OP_AND)
        return read_mask(s, arg(o, 0), to, budget) &&
               read_mask(s, arg(o, 1), to, budget);
    if (o->op == OP_BROADCAST)
        return read_mask(s, arg(o, 0), to, budget);
    if (o->op != OP_EXPAND)
        return op_is_order(o) && m->type->rank && read_compare(s, o, to);
    for (int d = 0, axis = (int)ir_attr(o, ATTR_AXIS); d < arg(o, 0)->type->rank; d++)
        inside[d] = to[d + (d >= axis)];
    return read_mask(s, arg(o, 0), inside, budget);
}

/* ---- who gets what is left -------------------------------------------------------------- */

/* A bounded dim has taken what its mask says; other rows of it are no columns. */
static bool
is_of_bounded_rows(const Split *s, int d, int64_t factor)
{
    for (int e = 0; e < s->rank; e++) {
        const AffSum *k = &s->stride[e];
        if (s->has_bound[e] && !k->n && k->c > s->stride[d].c && factor % k->c == 0)
            return true;
    }
    return false;
}

/* Of the terms that are left, those of a dim's stride. */
static bool
give_to(Split *s, int d)
{
    const AffSum *k = &s->stride[d];
    const AffTerm *by = k->n ? &k->term[0] : NULL;
    AffSum all = s->left, rest = {.c = all.c};
    for (int i = 0; i < all.n; i++) {
        AffTerm t = all.term[i];
        const Val *other = NULL, *mine = NULL;
        int n_own = own_factors(s, &t, &other);
        if (by && n_own == 1 && t.b && t.factor % by->factor == 0)
            mine = t.a == by->a ? t.b : t.b == by->a ? t.a : NULL;
        else if (!by && n_own == 1 && !t.b && t.factor % k->c == 0 &&
                 !is_of_bounded_rows(s, d, t.factor))
            mine = t.a;
        AffSum one =
            mine == other && mine
                ? one_term((AffTerm){t.factor / (by ? by->factor : k->c), mine, NULL})
                : one_term(t);
        if (!aff_add(mine == other && mine ? &s->coord[d] : &rest, &one, 1))
            return false;
    }
    s->left = rest;
    return true;
}

static void
put_dim(TensorBlock *t, TensorDim d)
{
    t->dim[t->rank++] = d;
}

/* Another dim for each term that is left: its index there is one. */
static bool
give_rest(Split *s)
{
    TensorBlock *t = s->out;
    if (!take_launch(s, &s->left, &t->offset))
        return false;
    for (int i = 0; i < s->left.n; i++) {
        AffTerm k = s->left.term[i];
        const Val *other = NULL;
        if (own_factors(s, &k, &other) != 1 || k.factor < 0 ||
            t->rank + s->rank == MAX_TMAP_RANK)
            return false;
        TensorDim d = {.block_dim = -1, .coord = one_term((AffTerm){1, other, NULL})};
        d.stride = k.b ? one_term((AffTerm){k.factor, other == k.a ? k.b : k.a, NULL})
                       : (AffSum){.c = k.factor};
        put_dim(t, d);
    }
    return true;
}

/* Dims without a mask, long strides first. */
static bool
give_strides(Split *s)
{
    for (int d = 0; d < s->rank; d++)
        if (s->has_bound[d]) {
            AffSum minus = {0};
            if (!aff_add(&minus, &s->coord[d], -1) ||
                !aff_add_product(&s->left, &minus, &s->stride[d]))
                return false;
        }
    for (int pass = 0; pass < 3; pass++)
        for (int d = 0; d < s->rank; d++) {
            int kind = s->stride[d].n ? 0 : d == s->inner ? 2 : 1;
            if (kind == pass && !s->has_bound[d] && !give_to(s, d))
                return false;
        }
    return true;
}

/* ---- rules 2 and 3 ---------------------------------------------------------------------- */

static bool is_not_negative(Split *s, const Val *v, int *budget);
static bool is_sum_not_negative(Split *s, const AffSum *sum, int *budget);

static bool
ask_launch(Split *s, const AffSum *sum)
{
    TensorBlock *t = s->out;
    if (!sum->n)
        return sum->c >= 0;
    for (int i = 0; i < t->n_not_negative; i++)
        if (aff_is_same(&t->not_negative[i], sum))
            return true;
    if (t->n_not_negative == MAX_TERMS)
        return false;
    t->not_negative[t->n_not_negative++] = *sum;
    return true;
}

static bool
ask_launch_of(Split *s, const Val *v)
{
    AffSum sum = one_term((AffTerm){1, v, NULL});
    int64_t c;
    return ir_const_as_int(v, &c) ? c >= 0 : ask_launch(s, &sum);
}

/* How many programs there are along the axis of program_id v, where promote_tma has put that;
 * NULL: nowhere. */
static const Val *
programs_along(const Split *s, const Val *v)
{
    if (!v->def || v->def->op != OP_PROGRAM_ID)
        return NULL;
    for (const Op *o = s->f->body->first; o; o = o->next)
        if (o->op == OP_NUM_PROGRAMS &&
            ir_attr(o, ATTR_AXIS) == ir_attr(v->def, ATTR_AXIS))
            return result(o, 0);
    return NULL;
}

/* to += n * (num_programs - 1), the most that n times the program_id v is. */
static bool
add_last_program(const Split *s, AffSum *to, const Val *v, int64_t n)
{
    const Val *all = programs_along(s, v);
    AffSum last = {.c = -n, .n = 1, .term = {{n, all, NULL}}};
    return all && aff_add(to, &last, 1);
}

/* Index of a loop that counts up from what is not negative; with a step of 0 it stays there. */
static bool
counts_up(Split *s, const Val *v, int *budget)
{
    const Op *o = v->block->owner;
    return is_not_negative(s, arg(o, 2), budget) &&
           is_not_negative(s, arg(o, 0), budget);
}

/* What a loop carries: not negative at first, nor behind a turn if it was none before. */
static bool
stays_up(Split *s, const Val *v, int *budget)
{
    const Op *o = v->block->owner;
    int n = s->n_carried;
    for (int i = 0; i < n; i++)
        if (s->carried[i] == v)
            return true;
    if (n == MAX_CARRIED || !is_not_negative(s, arg(o, 2 + v->index), budget))
        return false;
    s->carried[s->n_carried++] = v;
    if (is_not_negative(s, arg(v->block->last, v->index - 1), budget))
        return true;
    s->n_carried = n; /* with what was said of others because of it */
    return false;
}

/* A sum or a difference, taken apart as far as it goes. */
static bool
is_difference_not_negative(Split *s, const Val *v, int *budget)
{
    AffineWraps none = {0};
    Affine a;
    return affine_deep(v, &a, &none) && !none.n && !a.origin && !a.pointer &&
           !(a.base.n == 1 && a.base.term[0].a == v) &&
           is_sum_not_negative(s, &a.base, budget);
}

/* tl.assume(v >= 0), or > of -1 at least, on all ways to the access. */
static bool
is_said_not_negative(const Split *s, const Val *v)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        int64_t c;
        bool is_floor = (o->op == OP_GE || o->op == OP_GT) && arg(o, 0) == v &&
                        ir_const_as_int(arg(o, 1), &c) && c >= -(o->op == OP_GT);
        for (const Use *w = is_floor ? result(o, 0)->uses : NULL; w; w = w->next)
            if (w->user->op == OP_ASSUME && ir_is_inside(s->access, w->user->block))
                return true;
    }
    return false;
}

static bool
is_not_negative(Split *s, const Val *v, int *budget)
{
    const Op *o = v->def;
    if (--*budget < 0)
        return false;
    if (is_said_not_negative(s, v))
        return true;
    if (!o && v->block->owner)
        return v->block->owner->op == OP_FOR &&
               (v->index ? stays_up : counts_up)(s, v, budget);
    if (o && (o->op == OP_PROGRAM_ID || o->op == OP_NUM_PROGRAMS))
        return true;
    if (is_of_launch(s, v))
        return ask_launch_of(s, v);
    switch (o->op) {
    case OP_ADD:
    case OP_SUB: return is_difference_not_negative(s, v, budget);
    case OP_MUL:
    case OP_MIN:
        return is_not_negative(s, arg(o, 0), budget) &&
               is_not_negative(s, arg(o, 1), budget);
    case OP_AND:
    case OP_MAX:
        return is_not_negative(s, arg(o, 0), budget) ||
               is_not_negative(s, arg(o, 1), budget);
    case OP_DIV: /* a divisor that is computed is positive: assumption B of rules.c */
        return is_not_negative(s, arg(o, 0), budget) &&
               (!is_of_launch(s, arg(o, 1)) || is_not_negative(s, arg(o, 1), budget));
    case OPS(OP_REM, OP_SHR, OP_HINT): return is_not_negative(s, arg(o, 0), budget);
    case OP_CAST:
        return elem_is_int(arg(o, 0)->type->elem) &&
               is_not_negative(s, arg(o, 0), budget);
    case OPS(OPS_VALUES, OPS_SHAPE, OP_DIV_RN, OP_DIV_APPROX, OP_MINNAN, OP_MAXNAN,
             OP_UMULHI, OP_OR, OP_XOR, OP_SHL, OP_NEG, OP_ABS, OP_FMA, OPS_COMPARE,
             OP_SELECT, OP_BITCAST, OP_ADDPTR, OPS_MATH, OPS_OTHER):
        break;
    }
    return false;
}

/* Terms that are not negative are 0 at least; of the rest a launch knows the least. */
static bool
is_sum_not_negative(Split *s, const AffSum *sum, int *budget)
{
    AffSum least = {.c = sum->c};
    const Val *other;
    for (int i = 0; i < sum->n; i++) {
        const AffTerm *t = &sum->term[i];
        AffSum one = one_term(*t);
        bool ok = !own_factors(s, t, &other) ? aff_add(&least, &one, 1)
                  : t->factor < 0
                      ? !t->b && add_last_program(s, &least, t->a, t->factor)
                      : is_not_negative(s, t->a, budget) &&
                            (!t->b || is_not_negative(s, t->b, budget));
        if (!ok)
            return false;
    }
    return ask_launch(s, &least);
}

/* Nobody needs the rows that wrap: then m bounds the dim. */
static bool
is_end_of_rows(Split *s, int dim, const AffSum *m)
{
    AffineWraps none = {0};
    Affine size = {.base = *m};
    if ((m->n && !affine_deep(m->term[0].a, &size, &none)) || none.n ||
        (m->n && !aff_add(&size.base, &(AffSum){.c = m->c}, 1)) ||
        s->access->op != OP_LOAD ||
        !rows_are_dropped(s->f, result(s->access, 0), dim, &s->coord[dim], &size.base))
        return false;
    s->size[dim] = size.base;
    s->has_bound[dim] = s->has_end[dim] = true;
    return true;
}

/* Finds the dim of each remainder: the one whose coordinate it takes. */
static bool
settle_wraps(Split *s)
{
    const Type *t = s->block;
    for (int i = 0; i < s->wraps.n; i++) {
        const Op *o = s->wraps.at[i];
        AffineWraps none = {0};
        Affine x;
        int dim = -1;
        AffSum m = aff_modulus(o);
        if (!affine_deep(aff_wrapped(o), &x, &none) || none.n ||
            (m.n && !is_of_launch(s, m.term[0].a)))
            return false;
        for (int d = 0; d < s->rank; d++)
            if (aff_is_same(&x.base, &s->coord[d])) {
                if (dim >= 0)
                    return false;
                dim = d;
            }
        AffSum aligned = x.base;
        if (dim < 0 || s->has_bound[dim] || !aff_is_zero(&s->modulus[dim]))
            return false;
        if (is_end_of_rows(s, dim, &m))
            continue;
        if (o->op != OP_REM || !aff_divide(&aligned, t->shape[dim]) ||
            m.c % t->shape[dim])
            return false;
        s->modulus[dim] = m;
    }
    return true;
}

/* The tensor begins `by` indices of a dim earlier, which all coordinates count. */
static bool
begin_earlier(TensorBlock *t, TensorDim *d, const AffSum *by)
{
    AffSum minus = {0};
    return aff_is_zero(&d->modulus) && aff_add(&minus, by, -1) &&
           aff_add(&d->coord, by, 1) && aff_add(&d->size, by, 1) &&
           aff_add_product(&t->offset, &minus, &d->stride);
}

/* The coordinate counts from what the mask says is the first index. Without a last one nobody
 * knows how far from there the block is. */
static bool
count_from_floor(Split *s, TensorDim *d)
{
    AffSum by = s->floor[d->block_dim], rest = {0};
    return d->is_bounded && aff_add(&by, &d->coord, -1) && take_launch(s, &by, &rest) &&
           !by.n && begin_earlier(s->out, d, &rest);
}

/* A dim without a bound is as long as coordinates are: programs that are far apart along it,
 * as those of a batch, may be more than it has room for. The launch knows. */
static bool
ends_in_time(Split *s, const TensorDim *d)
{
    enum { MOST = 1 << 30, FAR_APART = 1 << 12 };
    AffSum rest = {.c = MOST};
    for (int i = 0; i < d->coord.n && !d->is_bounded && aff_is_zero(&d->modulus); i++) {
        const AffTerm *t = &d->coord.term[i];
        if (t->factor > FAR_APART && !t->b && programs_along(s, t->a) &&
            !add_last_program(s, &rest, t->a, -t->factor))
            return false;
    }
    return ask_launch(s, &rest);
}

/* Not what wraps: a remainder of what is negative wraps in front of the tensor, too. */
static bool
count_from_front(Split *s, TensorDim *d)
{
    AffSum room = {.c = -MIN_ROW};
    int bytes = elem_info[s->block->elem].bytes;
    bool wraps = !aff_is_zero(&d->modulus) ||
                 (d->block_dim >= 0 && s->has_end[d->block_dim]);
    d->is_from_front = s->access->op == OP_LOAD && d->block_dim != s->inner && !wraps &&
                       aff_add(&room, &d->stride, bytes) && ask_launch(s, &room);
    return d->is_from_front;
}

static bool
counts_from_0(Split *s, TensorDim *d)
{
    int budget = MAX_STEPS;
    AffSum by = {0};
    for (int i = 0; i < d->coord.n; i++) {
        const AffTerm *t = &d->coord.term[i];
        if (t->factor < 0 && !t->b && programs_along(s, t->a) &&
            !add_last_program(s, &by, t->a, -t->factor))
            return false;
    }
    return (aff_is_zero(&by) || begin_earlier(s->out, d, &by)) &&
           is_sum_not_negative(s, &d->coord, &budget);
}

/* Rule 2. */
static bool
count_up(Split *s, TensorDim *d)
{
    TensorBlock before = *s->out;
    TensorDim dim = *d;
    if (d->block_dim >= 0 && s->has_floor[d->block_dim])
        return count_from_floor(s, d);
    if (counts_from_0(s, d))
        return true;
    *s->out = before; /* with what a launch was asked in vain */
    *d = dim;
    return count_from_front(s, d);
}

/* ---- boxes that lie behind the end -------------------------------------------------------- */

static bool
scalar_sum(const Val *v, AffSum *out)
{
    AffineWraps none = {0};
    Affine a;
    if (!affine_deep(v, &a, &none) || none.n || a.origin || a.pointer)
        return false;
    *out = a.base;
    return true;
}

/* Where x < y: is sum positive, too? What is below a minimum is below both. */
static bool
is_positive_below(const AffSum *sum, const Val *x, const Val *y)
{
    AffSum rest = *sum, low, high;
    if (y->def && y->def->op == OP_MIN)
        return is_positive_below(sum, x, arg(y->def, 0)) ||
               is_positive_below(sum, x, arg(y->def, 1));
    return scalar_sum(x, &low) && scalar_sum(y, &high) && aff_add(&rest, &low, 1) &&
           aff_add(&rest, &high, -1) && !rest.n && rest.c >= 0;
}

static bool
is_positive_where(const AffSum *sum, const Val *test, bool is_true)
{
    const Op *o = test->def;
    if (!o)
        return false;
    if (o->op == (is_true ? OP_AND : OP_OR))
        return is_positive_where(sum, arg(o, 0), is_true) ||
               is_positive_where(sum, arg(o, 1), is_true);
    if (o->op == (is_true ? OP_LT : OP_GE))
        return is_positive_below(sum, arg(o, 0), arg(o, 1));
    return o->op == (is_true ? OP_GT : OP_LE) &&
           is_positive_below(sum, arg(o, 1), arg(o, 0));
}

/* By the loops and the ifs that the access stands in. */
static bool
is_positive_here(const Split *s, const AffSum *sum)
{
    int64_t step;
    const Block *b = s->access->block;
    for (const Op *o = b->owner; o; b = o->block, o = b->owner) {
        if (o->op == OP_IF && is_positive_where(sum, arg(o, 0), b == o->regions[0]))
            return true;
        if (o->op == OP_FOR && ir_const_as_int(arg(o, 2), &step) && step > 0 &&
            is_positive_below(sum, b->args[0], arg(o, 1)))
            return true;
    }
    return false;
}

/* Does each box of the block hold an index in front of the dim's end? */
static bool
ends_behind_boxes(Split *s, const TensorDim *d)
{
    enum { SIDE = 256, LINE = 128 };
    AffSum left = d->size;
    int side = d->block_dim < 0 ? 1 : s->block->shape[d->block_dim],
        most = d->block_dim == s->inner ? LINE / elem_info[s->block->elem].bytes : SIDE;
    if (!aff_add(&left, &d->coord, -1))
        return false;
    left.c -= side - MIN(side, most);
    if (is_positive_here(s, &left))
        return true;
    const Val *other;
    for (int i = 0; i < left.n; i++)
        if (own_factors(s, &left.term[i], &other))
            return false;
    left.c--;
    return ask_launch(s, &left);
}

/* A chip looks at the tensor's address for a box that is all outside, and where indices count from the
 * front no memory need be there. */
static bool
has_no_box_outside(Split *s)
{
    bool has_front = false;
    for (int d = 0; d < s->out->rank; d++)
        has_front = has_front || s->out->dim[d].is_from_front;
    for (int d = 0; d < s->out->rank && has_front; d++)
        if (s->out->dim[d].is_bounded && !ends_behind_boxes(s, &s->out->dim[d]))
            return false;
    return true;
}

static const char *
put_dims(Split *s)
{
    for (int k = 0; k < s->rank; k++) { /* the inner one last */
        int d = k == s->rank - 1 ? s->inner : k + (k >= s->inner);
        put_dim(s->out, (TensorDim){.stride = s->stride[d],
                                    .coord = s->coord[d],
                                    .size = s->size[d],
                                    .is_bounded = s->has_bound[d],
                                    .block_dim = d,
                                    .modulus = s->modulus[d]});
    }
    for (int d = 0; d < s->out->rank; d++)
        if (!count_up(s, &s->out->dim[d]) || !ends_in_time(s, &s->out->dim[d]))
            return "an index may be negative";
    return has_no_box_outside(s)
               ? NULL
               : "it may lie behind its end, which is loaded: `if first < end` around it";
}

bool
mask_bound(const Func *f, const Val *mask, int dim, AffSum *coord, AffSum *size)
{
    Split s = {.f = f, .rank = mask->type->rank};
    int to[MAX_RANK], budget = MAX_CONJUNCTS;
    for (int d = 0; d < s.rank; d++)
        to[d] = d;
    if (!read_mask(&s, mask, to, &budget) || !s.has_bound[dim])
        return false;
    *coord = s.coord[dim];
    *size = s.size[dim];
    return true;
}

const char *
tensor_block(const Func *f, const Op *access, TensorBlock *out)
{
    bool is_load = access->op == OP_LOAD;
    const Type *block = is_load ? result(access, 0)->type : arg(access, 1)->type;
    const Val *mask = access->n_args > 2 - is_load ? arg(access, 2 - is_load) : NULL;
    Split s = {
        .f = f, .access = access, .block = block, .out = out, .rank = block->rank};
    int to[MAX_RANK], budget = MAX_CONJUNCTS;
    *out = (TensorBlock){0};
    if (s.rank < 2 || s.rank > MAX_TMAP_RANK)
        return "it is no matrix";
    const char *why = read_pointer(&s);
    if (why)
        return why;
    for (int d = 0; d < s.rank; d++)
        to[d] = d;
    if (mask && !read_mask(&s, mask, to, &budget))
        return "its mask is no bound of its rows and columns";
    if (!give_strides(&s) || !settle_wraps(&s) || !give_rest(&s))
        return "its indices are no coordinates";
    return put_dims(&s);
}
