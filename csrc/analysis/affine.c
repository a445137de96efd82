/* affine: index arithmetic as base + strides.
 *
 *     %m = pid * 64 + arange(0, 64)            base 64 pid      stride [1]
 *     a + %m[:, None] * lda + %k[None, :]      pointer a        stride [lda, 1]
 *                                              base 64 pid lda
 *     for .. (%p = that): yield %p + 32        origin %p        stride [lda, 1]
 *
 * Scalars are taken as they are, never looked into: what wraps in a scalar has wrapped, and
 * the sums stay exact. Only products and sums over blocks are taken apart, where index
 * arithmetic does not wrap (assumption A of facts.c). Every scalar in a sum counts as its
 * own type reads it.
 *
 * A loop-carried block keeps its strides when what comes round has those of the initial
 * value; where it starts is then known only at run time: origin.
 */
#include "analysis/analysis.h"

enum { MAX_VISITS = 512, MAX_DEPTH = 64, MAX_OPEN = 8 };
#define FACTOR_LIMIT ((int64_t)1 << 31) /* products of two stay below 2^62 */

typedef struct Walk {
    AffineWraps
        *wraps; /* scalars are taken apart, too, and remainders noted; or NULL */
    int visits, depth, n_open;
    struct {
        const Val *v;     /* a carried value whose loop is being looked at */
        const Affine *at; /* what it is, if its strides hold */
    } open[MAX_OPEN];
} Walk;

static bool walk_value(Walk *w, const Val *v, Affine *out);
static bool walk_op(Walk *w, const Val *v, Affine *out);

/* ---- sums ------------------------------------------------------------------------------ */

static bool
is_small(int64_t x)
{
    return x >= -FACTOR_LIMIT && x <= FACTOR_LIMIT;
}

static int
compare_terms(const AffTerm *x, const AffTerm *y)
{
    int xb = x->b ? x->b->id : -1, yb = y->b ? y->b->id : -1;
    return x->a->id != y->a->id ? (x->a->id < y->a->id ? -1 : 1)
           : xb < yb            ? -1
                                : xb > yb;
}

static bool
add_term(AffSum *s, AffTerm t)
{
    int i = 0, order = 1;
    while (i < s->n && (order = compare_terms(&s->term[i], &t)) < 0)
        i++;
    if (i < s->n && order == 0) {
        s->term[i].factor += t.factor;
        if (s->term[i].factor == 0) {
            memmove(&s->term[i], &s->term[i + 1], (size_t)(s->n - i - 1) * sizeof t);
            s->n--;
            return true;
        }
        return is_small(s->term[i].factor);
    }
    if (!t.factor)
        return true;
    if (s->n == MAX_TERMS || !is_small(t.factor))
        return false;
    memmove(&s->term[i + 1], &s->term[i], (size_t)(s->n - i) * sizeof t);
    s->term[i] = t;
    s->n++;
    return true;
}

/* s += k * x */
bool
aff_add(AffSum *s, const AffSum *x, int64_t k)
{
    s->c += k * x->c;
    if (!is_small(s->c))
        return false;
    for (int i = 0; i < x->n; i++) {
        AffTerm t = x->term[i];
        t.factor *= k;
        if (!add_term(s, t))
            return false;
    }
    return true;
}

/* s += x * y; false where a product of three scalars would appear. */
bool
aff_add_product(AffSum *s, const AffSum *x, const AffSum *y)
{
    if (!aff_add(s, x, y->c))
        return false;
    AffSum no_c = *y;
    no_c.c = 0; /* x->c * y->c is in already */
    if (!aff_add(s, &no_c, x->c))
        return false;
    for (int i = 0; i < x->n; i++)
        for (int j = 0; j < y->n; j++) {
            AffTerm p = x->term[i], q = y->term[j];
            if (p.b || q.b)
                return false;
            bool is_ordered = p.a->id <= q.a->id;
            AffTerm t = {p.factor * q.factor, is_ordered ? p.a : q.a,
                         is_ordered ? q.a : p.a};
            if (!add_term(s, t))
                return false;
        }
    return true;
}

bool
aff_is_zero(const AffSum *s)
{
    return !s->n && !s->c;
}

/* Do the sums differ by no more than their constants? */
static bool
same_terms(const AffSum *x, const AffSum *y)
{
    if (x->n != y->n)
        return false;
    for (int i = 0; i < x->n; i++)
        if (x->term[i].factor != y->term[i].factor ||
            compare_terms(&x->term[i], &y->term[i]))
            return false;
    return true;
}

bool
aff_is_same(const AffSum *x, const AffSum *y)
{
    return x->c == y->c && same_terms(x, y);
}

static bool
is_zero(const AffSum *s)
{
    return s->c == 0 && s->n == 0;
}

static bool
has_strides(const Affine *a, int rank)
{
    for (int d = 0; d < rank; d++)
        if (!is_zero(&a->stride[d]))
            return true;
    return false;
}

static bool
sum_is_outside(const AffSum *s, const Block *b)
{
    for (int i = 0; i < s->n; i++)
        if (!is_defined_outside(s->term[i].a, b) ||
            (s->term[i].b && !is_defined_outside(s->term[i].b, b)))
            return false;
    return true;
}

/* ---- arithmetic ---------------------------------------------------------------------------- */

/* out += k * x */
static bool
add_affine(Affine *out, const Affine *x, int rank, int64_t k)
{
    if ((x->pointer && out->pointer) || (x->origin && (out->origin || k != 1)))
        return false;
    out->pointer = x->pointer ? x->pointer : out->pointer;
    out->origin = x->origin ? x->origin : out->origin;
    if (!aff_add(&out->base, &x->base, k))
        return false;
    for (int d = 0; d < rank; d++)
        if (!aff_add(&out->stride[d], &x->stride[d], k))
            return false;
    return true;
}

static bool
walk_sum(Walk *w, const Op *o, int64_t k, Affine *out)
{
    int rank = result(o, 0)->type->rank;
    Affine y;
    return walk_value(w, arg(o, 0), out) && walk_value(w, arg(o, 1), &y) &&
           add_affine(out, &y, rank, k);
}

static bool
walk_product(Walk *w, const Op *o, Affine *out)
{
    int rank = result(o, 0)->type->rank;
    Affine x, y;
    if (!walk_value(w, arg(o, 0), &x) || !walk_value(w, arg(o, 1), &y) || x.origin ||
        y.origin)
        return false;
    const Affine *moves = has_strides(&x, rank) ? &x : &y,
                 *still = moves == &x ? &y : &x;
    if (has_strides(still, rank) ||
        !aff_add_product(&out->base, &moves->base, &still->base))
        return false;
    for (int d = 0; d < rank; d++)
        if (!aff_add_product(&out->stride[d], &moves->stride[d], &still->base))
            return false;
    return true;
}

static bool
walk_scaled(Walk *w, const Op *o, int64_t k, Affine *out)
{
    Affine x;
    return walk_value(w, arg(o, 0), &x) &&
           add_affine(out, &x, result(o, 0)->type->rank, k);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Result dim d is operand dim from[d]; -1: it has no stride. */
static bool
walk_dims(Walk *w, const Op *o, const int *from, Affine *out)
{
    if (!walk_value(w, arg(o, 0), out))
        return false;
    AffSum old[MAX_AFFINE_RANK];
    memcpy(old, out->stride, sizeof old);
    memset(out->stride, 0, sizeof out->stride);
    for (int d = 0; d < result(o, 0)->type->rank; d++)
        if (from[d] >= 0)
            out->stride[d] = old[from[d]];
    return true;
}

static bool
walk_shape(Walk *w, const Op *o, Affine *out)
{
    const Type *x = arg(o, 0)->type, *t = result(o, 0)->type;
    int from[MAX_RANK], perm[MAX_RANK], axis = (int)ir_attr(o, ATTR_AXIS), next = 0;
    if (o->op == OP_TRANS)
        ir_perm(o, perm);
    for (int d = 0; d < t->rank; d++) {
        from[d] = -1;
        if (o->op == OP_EXPAND) {
            from[d] = d == axis ? -1 : d - (d > axis);
        } else if (o->op == OP_BROADCAST) {
            from[d] = x->shape[d] == t->shape[d] ? d : -1;
        } else if (o->op == OP_TRANS) {
            from[d] = perm[d];
        } else if (t->shape[d] != 1) { /* reshape: only dims of 1 come and go */
            while (next < x->rank && x->shape[next] == 1)
                next++;
            if (next == x->rank || x->shape[next] != t->shape[d])
                return false;
            from[d] = next++;
        }
    }
    return walk_dims(w, o, from, out);
}

/* ---- across regions --------------------------------------------------------------------------- */

/* v as an origin with the strides of `like`. */
static void
start_at(Affine *out, const Val *v, const Affine *like)
{
    memset(out, 0, sizeof *out);
    out->origin = v;
    memcpy(out->stride, like->stride, sizeof out->stride);
}

static bool
same_strides(const Affine *x, const Affine *y, int rank)
{
    for (int d = 0; d < rank; d++)
        if (!aff_is_same(&x->stride[d], &y->stride[d]))
            return false;
    return true;
}

/* Strides that mean something outside of b. */
static bool
strides_leave(const Affine *a, int rank, const Block *b)
{
    for (int d = 0; d < rank; d++)
        if (!sum_is_outside(&a->stride[d], b))
            return false;
    return true;
}

static bool
walk_carried(Walk *w, const Val *v, const Val *init, const Val *back, Affine *out)
{
    for (int i = 0; i < w->n_open; i++)
        if (w->open[i].v == v) {
            *out = *w->open[i].at;
            return true;
        }
    Affine first, round;
    if (w->n_open == MAX_OPEN || !walk_value(w, init, &first))
        return false;
    start_at(out, v, &first);
    w->open[w->n_open].v = v;
    w->open[w->n_open++].at = out;
    bool ok = walk_value(w, back, &round) && same_strides(out, &round, v->type->rank);
    w->n_open--;
    return ok;
}

static const Val *
yielded(const Block *b, int i)
{
    return arg(b->last, i);
}

static bool
walk_result(Walk *w, const Val *v, Affine *out)
{
    const Op *o = v->def;
    int rank = v->type->rank;
    Affine x, y;
    const Val *from = o->op == OP_FOR     ? o->regions[0]->args[v->index + 1]
                      : o->op == OP_WHILE ? yielded(o->regions[0], v->index + 1)
                                          : yielded(o->regions[0], v->index);
    if (!walk_value(w, from, &x))
        return false;
    if (o->op == OP_IF && (!walk_value(w, yielded(o->regions[1], v->index), &y) ||
                           !same_strides(&x, &y, rank)))
        return false;
    start_at(out, v, &x);
    return strides_leave(&x, rank, o->regions[0]);
}

static bool
walk_block_arg(Walk *w, const Val *v, Affine *out)
{
    const Op *o = v->block->owner;
    if (!o)
        return false;
    if (o->op == OP_FOR && v->index > 0)
        return walk_carried(w, v, arg(o, 2 + v->index), yielded(v->block, v->index - 1),
                            out);
    if (o->op != OP_WHILE)
        return false;
    if (v->block == o->regions[0])
        return walk_carried(w, v, arg(o, v->index), yielded(o->regions[1], v->index),
                            out);
    Affine x; /* the second region's: what the condition passes on */
    if (!walk_value(w, yielded(o->regions[0], v->index + 1), &x))
        return false;
    start_at(out, v, &x);
    return strides_leave(&x, v->type->rank, o->regions[0]);
}

/* select(x < n, x, c), unlike other selections an index that is kept in front of n. */
static bool
is_kept_below(const Op *select)
{
    const Op *less = arg(select, 0)->def;
    uint64_t c;
    return less && less->op == OP_LT && arg(less, 0) == arg(select, 1) &&
           ir_is_const(arg(select, 2), &c);
}

const Val *
aff_wrapped(const Op *o)
{
    return arg(o, o->op == OP_SELECT);
}

AffSum
aff_modulus(const Op *o)
{
    const Val *n = arg(o->op == OP_SELECT ? arg(o, 0)->def : o, 1);
    int64_t c, more = o->op == OP_MIN;
    if (ir_const_as_int(n, &c))
        return (AffSum){.c = c + more};
    if (n->def && n->def->op == OP_SPLAT)
        return (AffSum){.c = more, .n = 1, .term = {{1, arg(n->def, 0), NULL}}};
    return (AffSum){0};
}

/* x % n as x, which it is but for the wrap; what is kept below n, too. */
static bool
walk_wrapped(Walk *w, const Op *o, Affine *out)
{
    AffineWraps *k = w->wraps;
    if (!k || k->n == MAX_WRAPS || !result(o, 0)->type->rank ||
        (o->op == OP_SELECT && !is_kept_below(o)))
        return false;
    AffSum n = aff_modulus(o);
    if ((!n.n && n.c <= 0) || !walk_value(w, aff_wrapped(o), out) || out->origin)
        return false;
    for (int i = 0; i < k->n; i++)
        if (k->at[i] == o)
            return true;
    k->at[k->n++] = o;
    return true;
}

/* ---- one step ------------------------------------------------------------------------------------ */

static bool
is_int(const Type *t)
{
    return !t->is_ptr && elem_is_int(t->elem) && t->elem != E_I1;
}

/* A scalar that is a sum or a product, taken apart; false: it is taken as it is. */
static bool
walk_inside(Walk *w, const Val *v, Affine *out)
{
    const Op *o = v->def;
    bool is_sum = o && (o->op == OP_ADD || o->op == OP_SUB || o->op == OP_MUL ||
                        o->op == OP_NEG || o->op == OP_HINT || o->op == OP_CAST ||
                        o->op == OP_ADDPTR);
    bool may_wrap = !v->type->is_ptr && !elem_is_signed(v->type->elem);
    if (!w->wraps || !is_sum || may_wrap || ++w->visits > MAX_VISITS ||
        w->depth == MAX_DEPTH)
        return false;
    w->depth++;
    bool ok = walk_op(w, v, out);
    w->depth--;
    return ok;
}

static bool
walk_scalar(Walk *w, const Val *v, Affine *out)
{
    int64_t c;
    if (walk_inside(w, v, out))
        return true;
    memset(out, 0, sizeof *out);
    if (v->type->is_ptr)
        out->pointer = v;
    else if (ir_const_as_int(v, &c))
        out->base.c = c;
    else
        return add_term(&out->base, (AffTerm){1, v, NULL});
    return is_small(out->base.c);
}

static bool
walk_op(Walk *w, const Val *v, Affine *out)
{
    const Op *o = v->def;
    const Type *from;
    int64_t c;
    switch (o->op) {
    case OP_CONST:
        return ir_const_as_int(v, &c) && !v->type->is_ptr && is_small(out->base.c = c);
    case OP_ARANGE:
        out->base.c = ir_attr(o, ATTR_START);
        out->stride[0].c = v->type->shape[0] > 1;
        return true;
    case OPS(OP_SPLAT, OPS_MOVED, OP_HINT): return walk_value(w, arg(o, 0), out);
    case OPS_INDEX: return walk_shape(w, o, out);
    case OP_ADD:
    case OP_ADDPTR: return walk_sum(w, o, 1, out);
    case OP_SUB: return walk_sum(w, o, -1, out);
    case OP_MUL: return walk_product(w, o, out);
    case OPS(OP_REM, OP_MIN, OP_SELECT): return walk_wrapped(w, o, out);
    case OP_NEG: return walk_scaled(w, o, -1, out);
    case OP_SHL: {
        Affine n;
        if (!walk_value(w, arg(o, 1), &n) || has_strides(&n, v->type->rank) ||
            n.base.n || n.origin)
            return false;
        return n.base.c >= 0 && n.base.c < 31 &&
               walk_scaled(w, o, (int64_t)1 << n.base.c, out);
    }
    case OP_CAST:
        from = arg(o, 0)->type;
        return is_int(from) && ty_bits(from) <= ty_bits(v->type) &&
               walk_value(w, arg(o, 0), out);
    case OPS(OP_FOR, OP_WHILE, OP_IF): return walk_result(w, v, out);
    case OPS(OPS_GRID, OP_JOIN, OP_SPLIT, OP_CAT, OP_RESIZE, OP_DIV, OP_DIV_RN,
             OP_DIV_APPROX, OP_MAX, OP_MINNAN, OP_MAXNAN, OP_UMULHI, OP_AND, OP_OR,
             OP_XOR, OP_SHR, OP_ABS, OP_FMA, OPS_COMPARE, OP_BITCAST, OPS_MATH,
             OPS_ACCESS, OPS_TENSOR, OPS_ACROSS, OPS_FOREIGN, OPS_ENDS, OPS_NOTES,
             OPS_THREADS):
        break;
    }
    return false;
}

static bool
walk_value(Walk *w, const Val *v, Affine *out)
{
    memset(out, 0, sizeof *out);
    if ((!v->type->is_ptr && !is_int(v->type)) || v->type->rank > MAX_AFFINE_RANK)
        return false;
    if (v->type->rank == 0)
        return walk_scalar(w, v, out);
    if (++w->visits > MAX_VISITS || w->depth == MAX_DEPTH)
        return false;
    w->depth++;
    bool ok = v->def ? walk_op(w, v, out) : walk_block_arg(w, v, out);
    w->depth--;
    return ok;
}

bool
affine_of(const Func *f, const Val *v, Affine *out)
{
    (void)f;
    Walk w = {0};
    return walk_value(&w, v, out);
}

bool
affine_deep(const Val *v, Affine *out, AffineWraps *wraps)
{
    Walk w = {.wraps = wraps};
    return walk_value(&w, v, out);
}

/* ---- what loops carry ------------------------------------------------------------------------ */

static AffSum
one_term(AffTerm t)
{
    return (AffSum){.n = 1, .term = {t}};
}

bool
aff_divide(AffSum *s, int64_t n)
{
    bool ok = s->c % n == 0;
    for (int i = 0; i < s->n; i++)
        ok = ok && s->term[i].factor % n == 0;
    for (int i = 0; ok && i < s->n; i++)
        s->term[i].factor /= n;
    s->c /= n;
    return ok;
}

/* What a loop with a constant step carries is its first, and *by for each (iv - lb). */
static bool
unroll_carried(const Val *v, Affine *first, AffSum *by, AffineWraps *wraps)
{
    const Op *loop = v->block->owner;
    Affine back;
    int64_t step;
    if (v->def || !loop || loop->op != OP_FOR || !v->index ||
        !ir_const_as_int(arg(loop, 2), &step) || step <= 0 ||
        !affine_deep(arg(loop, 2 + v->index), first, wraps) || first->origin ||
        !affine_deep(arg(loop->regions[0]->last, v->index - 1), &back, wraps) ||
        back.pointer || (v->type->rank && back.origin != v))
        return false;
    *by = back.base;
    AffSum itself = one_term((AffTerm){-1, v, NULL});
    if (!v->type->rank && !aff_add(by, &itself, 1))
        return false;
    for (int i = 0; i < by->n; i++)
        if (!is_defined_outside(by->term[i].a, loop->regions[0]) ||
            (by->term[i].b && !is_defined_outside(by->term[i].b, loop->regions[0])))
            return false;
    return aff_divide(by, step);
}

bool
affine_unroll(Affine *a, AffineWraps *wraps)
{
    const Val *v = a->origin;
    Affine first, lb;
    AffSum by;
    if (!unroll_carried(v, &first, &by, wraps) ||
        !affine_deep(arg(v->block->owner, 0), &lb, wraps))
        return false;
    AffSum turns = one_term((AffTerm){1, v->block->args[0], NULL});
    a->origin = NULL;
    a->pointer = first.pointer;
    return aff_add(&turns, &lb.base, -1) && aff_add(&a->base, &first.base, 1) &&
           aff_add_product(&a->base, &by, &turns);
}

/* Only what begins with a constant: of others as they are more is known, that they count up from
 * what is never negative. */
static bool
unroll_number(const Val *v, AffSum *out, AffineWraps *wraps)
{
    const Op *loop = v->block->owner;
    Affine first;
    AffSum by;
    int64_t lb;
    if (v->def || !loop || loop->op != OP_FOR || !v->index ||
        !ir_const_as_int(arg(loop, 0), &lb) || lb ||
        !unroll_carried(v, &first, &by, wraps) || first.base.n)
        return false;
    AffSum sum = first.base, turns = one_term((AffTerm){1, v->block->args[0], NULL});
    if (!aff_add_product(&sum, &by, &turns))
        return false;
    *out = sum;
    return true;
}

void
aff_unroll(AffSum *sum, AffineWraps *wraps)
{
    AffSum all = {.c = sum->c};
    for (int i = 0; i < sum->n; i++) {
        AffTerm t = sum->term[i];
        AffSum v = one_term(t), other = {.c = t.factor};
        if (t.b && unroll_number(t.b, &v, wraps))
            other = one_term((AffTerm){t.factor, t.a, NULL});
        else if (!unroll_number(t.a, &v, wraps))
            other.c = 1;
        else if (t.b)
            other = one_term((AffTerm){t.factor, t.b, NULL});
        if (!aff_add_product(&all, &v, &other))
            return;
    }
    *sum = all;
}

bool
affine_const_stride(const Affine *a, int dim, int64_t *c)
{
    *c = a->stride[dim].c;
    return a->stride[dim].n == 0;
}

bool
affine_span(const Affine *a, const Type *t, int64_t *span)
{
    *span = 1;
    for (int d = 0; d < t->rank; d++) {
        int64_t c;
        if (t->shape[d] > 1 && !affine_const_stride(a, d, &c))
            return false;
        if (t->shape[d] > 1)
            *span += (c < 0 ? -c : c) * (t->shape[d] - 1);
    }
    return true;
}

int64_t
affine_low(const Affine *a, const Type *t)
{
    int64_t low = a->base.c;
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] > 1)
            low += MIN(a->stride[d].c, 0) * (t->shape[d] - 1);
    return low;
}

bool
affine_is_beside(const Affine *x, const Affine *y)
{
    return x->pointer == y->pointer && x->origin == y->origin &&
           same_terms(&x->base, &y->base);
}

bool
affine_is_same(const Affine *x, const Affine *y, const Type *t)
{
    if (!affine_is_beside(x, y) || x->base.c != y->base.c)
        return false;
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] > 1 && (x->stride[d].c != y->stride[d].c ||
                                !same_terms(&x->stride[d], &y->stride[d])))
            return false;
    return true;
}
