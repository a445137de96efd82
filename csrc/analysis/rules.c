/* rules: one step of contiguity (RUN), constancy (CON) and divisibility (DIV) per op, in the
 * words of facts.c. All numbers are log2.
 *
 *     op              RUN                     CON                     DIV
 *     arange(a, b)    b - a                   1                       a, run
 *     x + y           x where y is constant   both                    the smaller
 *                     over it, or vice versa
 *     x * y           1                       both                    their sum
 *     x / c           1                       + runs inside a multiple of c
 *     x % c           runs inside a multiple of c         both        the smaller
 *     x < y           -                       + runs that end at a multiple of y's divisor
 *     select, if      both, where cond is constant  both  the smaller
 *     shape ops       of the operand's dim that becomes this one
 *
 * A and B are the assumptions named in facts.c. The order of questions matters: what cannot
 * need an argument goes first, so that an argument is asked only where the rest leaves room.
 */
#include "analysis/facts_impl.h"

/* Values that a walk for a sign looks at; parameters it may ask for theirs. */
enum { WALK_BUDGET = 64, MAX_SIGNS = 8 };

static int
log2_shape(const Val *v, int dim)
{
    return v->type->rank ? fact_log2(v->type->shape[dim]) : 0;
}

/* Are the elements integers on which runs and divisors mean something? */
static bool
is_index(const Type *t)
{
    return t->is_ptr || (elem_is_int(t->elem) && t->elem != E_I1);
}

static int
elem_log2(const Type *pointer)
{
    return fact_log2(elem_info[pointer->elem].bytes);
}

/* The constant every element of v is. */
static bool
const_of(const Val *v, int64_t *c)
{
    while (v->def && (v->def->op == OP_SPLAT || v->def->op == OP_BROADCAST ||
                      v->def->op == OP_EXPAND))
        v = arg(v->def, 0);
    return ir_const_as_int(v, c);
}

static bool
const_log2(const Val *v, int *k)
{
    int64_t c;
    if (!const_of(v, &c) || c <= 0 || (c & (c - 1)))
        return false;
    *k = fact_log2(c);
    return true;
}

/* ---- shape ops --------------------------------------------------------------------------- */

static int64_t
below(const Type *t, int dim)
{
    int64_t n = 1;
    for (int d = dim + 1; d < t->rank; d++)
        n *= t->shape[d];
    return n;
}

/* The operand's dim whose neighbours are dim's neighbours in the result, or -1 where all
 * elements along dim come from one place (expand, broadcast) or nothing is known (reshape:
 * *is_known false). */
int
fact_source_dim(const Op *o, int dim, bool *is_known)
{
    const Type *from = arg(o, 0)->type, *to = result(o, 0)->type;
    *is_known = true;
    int axis = (int)ir_attr(o, ATTR_AXIS), perm[MAX_RANK];
    switch (o->op) {
    case OP_EXPAND: return dim == axis ? -1 : dim - (dim > axis);
    case OP_BROADCAST: return from->shape[dim] == to->shape[dim] ? dim : -1;
    case OP_TRANS: ir_perm(o, perm); return perm[dim];
    case OPS(OP_SPLIT, OPS_MOVED, OP_HINT): return dim;
    case OP_RESHAPE:
        /* Steps along dim are steps of `below` elements in memory order. */
        for (int d = 0; d < from->rank; d++)
            if (from->shape[d] > 1 && below(from, d) == below(to, dim))
                return d;
        *is_known = to->shape[dim] == 1;
        return -1;
    case OPS(OPS_VALUES, OP_JOIN, OP_CAT, OP_RESIZE, OPS_ARITH, OPS_MATH, OPS_OTHER):
        break;
    }
    *is_known = false;
    return -1;
}

static bool
is_shape_op(OpCode op)
{
    return op == OP_EXPAND || op == OP_BROADCAST || op == OP_TRANS || op == OP_SPLIT ||
           op == OP_CONVERT || op == OP_RESHAPE;
}

/* Is v a parameter, perhaps splatted? Those are asked last. */
static bool
is_param(FactTable *t, const Val *v)
{
    while (v->def && (v->def->op == OP_SPLAT || is_shape_op(v->def->op)))
        v = arg(v->def, 0);
    return !v->def && v->block == t->f->body;
}

/* ---- signs ------------------------------------------------------------------------------ */

/* What a claim that a value is not negative takes: that these parameters are not. */
typedef struct Signs {
    FactTable *t;
    const Val *carried; /* the loop-carried value we are going round from, or NULL */
    const Val *param[MAX_SIGNS];
    int n, budget;
} Signs;

static bool is_never_negative(Signs *s, const Val *v);

static bool
are_never_negative(Signs *s, const Val *x, const Val *y)
{
    return is_never_negative(s, x) && is_never_negative(s, y);
}

/* One of the two is enough, and what the other would take is not asked. */
static bool
is_either_never_negative(Signs *s, const Val *x, const Val *y)
{
    int n = s->n;
    if (is_never_negative(s, x))
        return true;
    s->n = n;
    return is_never_negative(s, y);
}

static bool
note_param(Signs *s, const Val *v)
{
    for (int i = 0; i < s->n; i++)
        if (s->param[i] == v)
            return true;
    if (s->n == MAX_SIGNS)
        return false;
    s->param[s->n++] = v;
    return true;
}

/* An argument of a region: what enters a loop, and what comes round or is added. */
static bool
is_loop_never_negative(Signs *s, const Val *v)
{
    const Op *o = v->block->owner;
    if (v->block != o->regions[0] || (o->op != OP_FOR && o->op != OP_WHILE))
        return false;
    bool is_for = o->op == OP_FOR, is_iv = is_for && v->index == 0;
    const Val *init = arg(o, is_for && !is_iv ? 2 + v->index : v->index);
    const Val *back = is_iv    ? arg(o, 2)
                      : is_for ? fact_yielded(o, 0, v->index - 1)
                               : fact_yielded(o, 1, v->index);
    const Val *outer = s->carried;
    bool ok = is_never_negative(s, init);
    if (ok && !outer)
        s->carried = v;
    ok = ok && is_never_negative(s, back);
    s->carried = outer;
    return ok;
}

/* A number without a sign that gets one without getting wider may begin with a 1. */
static bool
is_cast_never_negative(Signs *s, const Op *o)
{
    const Type *from = arg(o, 0)->type, *to = result(o, 0)->type;
    bool may_flip = !elem_is_signed(from->elem) && ty_bits(from) >= ty_bits(to);
    return is_index(from) && !from->is_ptr && !may_flip &&
           is_never_negative(s, arg(o, 0));
}

/* B: only a parameter that divides is asked, and a constant looked at. */
static bool
is_count(Signs *s, const Val *v)
{
    int64_t c;
    if (const_of(v, &c))
        return c > 0;
    while (v->def &&
           (v->def->op == OP_SPLAT || v->def->op == OP_CAST || is_shape_op(v->def->op)))
        v = arg(v->def, 0);
    return is_param(s->t, v) ? is_never_negative(s, v)
                             : !v->def || v->def->op != OP_NEG;
}

static bool
is_never_negative(Signs *s, const Val *v)
{
    v = fact_same_as(v);
    if (fact_ask(s->t, ASK_RANGE, v, 0, 0, MAX_LOG2).lo >= 0 || v == s->carried)
        return true;
    if (--s->budget < 0)
        return false;
    const Op *o = v->def;
    if (!o)
        return v->block->owner ? is_loop_never_negative(s, v) : note_param(s, v);
    switch (o->op) {
    case OPS(OP_SPLAT, OPS_INDEX, OP_SPLIT, OPS_MOVED, OP_REM, OP_SHL, OP_SHR, OP_HINT,
             OP_GATHER, OP_SORT):
        return is_never_negative(s, arg(o, 0));
    case OP_CAST: return is_cast_never_negative(s, o);
    case OP_AND:
    case OP_MAX: return is_either_never_negative(s, arg(o, 0), arg(o, 1));
    case OPS(OP_JOIN, OP_CAT, OP_ADD, OP_MUL, OP_MIN, OP_OR, OP_XOR):
        return are_never_negative(s, arg(o, 0), arg(o, 1));
    case OP_DIV: return is_never_negative(s, arg(o, 0)) && is_count(s, arg(o, 1));
    case OP_SELECT: return are_never_negative(s, arg(o, 1), arg(o, 2));
    case OP_IF:
        return are_never_negative(s, fact_yielded(o, 0, v->index),
                                  fact_yielded(o, 1, v->index));
    case OPS(OP_CONST, OP_ARANGE, OPS_GRID, OP_RESIZE, OP_SUB, OP_DIV_RN, OP_DIV_APPROX,
             OP_MINNAN, OP_MAXNAN, OP_UMULHI, OP_NEG, OP_ABS, OP_FMA, OPS_COMPARE,
             OP_BITCAST, OP_ADDPTR, OPS_MATH, OPS_ACCESS, OPS_TENSOR, OP_REDUCE,
             OP_SCAN, OP_DOT, OP_HISTOGRAM, OPS_FOREIGN, OP_FOR, OP_WHILE, OPS_ENDS,
             OPS_NOTES, OPS_THREADS):
        break;
    }
    return false;
}

static bool
ask_signs(const Signs *s)
{
    for (int i = 0; i < s->n; i++)
        if (!ir_ask(s->t->f, s->param[i], FACT_GE0))
            return false;
    return true;
}

/* How long the runs of x are that lie between two multiples of c (constant over them): inside
 * such a run x / c does not change, and x % c counts up. Not below zero, where C truncates:
 * -8 / 8 is -1, and -7 / 8 is 0. */
static int
runs_between_multiples(FactTable *t, const Op *o, int dim, int want)
{
    const Val *x = arg(o, 0), *c = arg(o, 1);
    Signs signs = {.t = t, .budget = WALK_BUDGET};
    int g = fact_run(t, x, dim, want);
    if (g)
        g = facts_constancy(t, c, dim, g);
    if (!g || !is_never_negative(&signs, x))
        return 0;
    g = fact_div(t, x, dim, g, g);
    if (g)
        g = fact_div(t, c, dim, g, g);
    return g && ask_signs(&signs) ? g : 0;
}

/* x & (2^k - 1) and x & -2^k cut runs as % and / do, negative or not. */
static int
runs_between_powers(FactTable *t, const Val *x, int dim, int k)
{
    int g = fact_run(t, x, dim, k);
    return g ? fact_div(t, x, dim, g, g) : 0;
}

/* k for which v is 2^k - 1 (low) or -2^k (high) throughout; else -1. */
static int
mask_bits(const Val *v, bool is_low)
{
    int64_t c;
    if (!const_of(v, &c))
        return -1;
    uint64_t u = is_low ? (uint64_t)c + 1 : 0 - (uint64_t)c;
    return u && !(u & (u - 1)) && u <= (uint64_t)1 << MAX_LOG2 ? fact_log2((int64_t)u)
                                                               : -1;
}

/* ---- RUN --------------------------------------------------------------------------------------- */

static int
run_with(FactTable *t, const Val *x, const Val *y, int dim, int want)
{
    int g = fact_run(t, x, dim, want);
    return g ? facts_constancy(t, y, dim, g) : 0;
}

/* x | y and x ^ y where y is a multiple of the run and x starts at one. */
static int
run_above(FactTable *t, const Val *x, const Val *y, int dim, int want)
{
    int g = run_with(t, x, y, dim, want);
    if (g)
        g = fact_div(t, x, dim, g, g);
    return g ? fact_div(t, y, dim, g, g) : 0;
}

static int
run_of_cast(FactTable *t, const Op *o, int dim, int want)
{
    const Type *from = arg(o, 0)->type, *to = result(o, 0)->type;
    if (from->is_ptr != to->is_ptr || !is_index(from) || !is_index(to) ||
        (from->is_ptr && elem_log2(from) != elem_log2(to)))
        return 0;
    return fact_run(t, arg(o, 0), dim, want); /* A, where the cast widens */
}

static int
run_of_both(FactTable *t, const Val *x, const Val *y, int dim, int want)
{
    want = fact_run(t, x, dim, want);
    return want ? fact_run(t, y, dim, want) : 0;
}

static int
hinted(const Op *o, Attr a, int dim)
{
    return dim < MAX_HINT_RANK ? (int)((uint64_t)ir_attr(o, a) >> (8 * dim) & 0xff) : 0;
}

static int
run_by_op(FactTable *t, const Op *o, const Val *v, int dim, int want)
{
    const Val *x = o->n_args > 0 ? arg(o, 0) : NULL,
              *y = o->n_args > 1 ? arg(o, 1) : NULL;
    bool is_known;
    int d, g, k;
    switch (o->op) {
    case OP_ARANGE: return log2_shape(v, 0);
    case OPS(OPS_INDEX, OP_SPLIT, OPS_MOVED):
        d = fact_source_dim(o, dim, &is_known);
        return d < 0 ? 0 : fact_run(t, x, d, want);
    case OP_JOIN: return dim == v->type->rank - 1 ? 0 : run_of_both(t, x, y, dim, want);
    case OP_CAT: return run_of_both(t, x, y, dim, want);
    case OP_ADD:
    case OP_ADDPTR: /* A */
        g = run_with(t, x, y, dim, want);
        return g < want ? MAX(g, run_with(t, y, x, dim, want)) : g;
    case OP_SUB: return run_with(t, x, y, dim, want);
    case OP_OR:
    case OP_XOR:
        g = run_above(t, x, y, dim, want);
        return g ? g : run_above(t, y, x, dim, want);
    case OP_REM: return runs_between_multiples(t, o, dim, want);
    case OP_AND:
        if ((k = mask_bits(y, true)) >= 0)
            return runs_between_powers(t, x, dim, MIN(k, want));
        if ((k = mask_bits(x, true)) >= 0)
            return runs_between_powers(t, y, dim, MIN(k, want));
        return 0;
    case OP_SELECT:
        g = run_of_both(t, y, arg(o, 2), dim, want);
        return g ? facts_constancy(t, x, dim, g) : 0;
    case OP_CAST:
    case OP_BITCAST: return run_of_cast(t, o, dim, want);
    case OP_HINT:
        g = MIN(hinted(o, ATTR_CONTIGUOUS, dim), MIN(log2_shape(v, dim), t->max_hint));
        return g < want ? MAX(g, fact_run(t, x, dim, want)) : g;
    case OP_IF:
        return run_of_both(t, fact_yielded(o, 0, v->index),
                           fact_yielded(o, 1, v->index), dim, want);
    case OPS(OP_CONST, OP_SPLAT, OPS_GRID, OP_RESIZE, OP_MUL, OP_DIV, OP_DIV_RN,
             OP_DIV_APPROX, OP_MIN, OP_MAX, OP_MINNAN, OP_MAXNAN, OP_UMULHI, OP_SHL,
             OP_SHR, OP_NEG, OP_ABS, OP_FMA, OPS_COMPARE, OPS_MATH, OPS_ACCESS,
             OPS_TENSOR, OPS_ACROSS, OPS_FOREIGN, OP_FOR, OP_WHILE, OPS_ENDS, OPS_NOTES,
             OPS_THREADS):
        break;
    }
    return 0;
}

int
rule_run(FactTable *t, const Val *v, int dim, int want)
{
    if (!v->def || !is_index(v->type))
        return 0;
    return MIN(run_by_op(t, v->def, v, dim, want), want);
}

/* ---- CON ----------------------------------------------------------------------------------------- */

static int
con_of_all(FactTable *t, const Op *o, int dim, int want)
{
    for (int i = 0; i < o->n_args && want; i++)
        want = facts_constancy(t, arg(o, i), dim, want);
    return want;
}

/* x < y and x >= y where x counts up and y stands still: no change before a multiple of y's
 * divisor, where x arrives only at the start of a run. */
static int
con_of_order(FactTable *t, const Val *x, const Val *y, int dim, int want)
{
    if (!is_index(x->type) || x->type->is_ptr)
        return 0;
    int g = fact_run(t, x, dim, MIN(want, elem_info[x->type->elem].bits - 2));
    if (g)
        g = facts_constancy(t, y, dim, g);
    if (g)
        g = fact_div(t, x, dim, g, g);
    return g ? fact_div(t, y, dim, g, g) : 0;
}

static int
con_by_op(FactTable *t, const Op *o, const Val *v, int dim, int want)
{
    bool is_known;
    int d, g, k;
    switch (o->op) {
    case OP_CONST:
    case OP_SPLAT: return want;
    case OPS(OPS_INDEX, OP_SPLIT, OPS_MOVED):
        d = fact_source_dim(o, dim, &is_known);
        if (d < 0)
            return is_known ? want : 0;
        return facts_constancy(t, arg(o, 0), d, want);
    case OP_JOIN: return dim == v->type->rank - 1 ? 0 : con_of_all(t, o, dim, want);
    case OP_CAT: return con_of_all(t, o, dim, want);
    case OP_LOAD: return ir_attr(o, ATTR_VOLATILE) ? 0 : con_of_all(t, o, dim, want);
    case OP_REDUCE:
        d = dim + (dim >= (int)ir_attr(o, ATTR_AXIS));
        return con_of_all(t, o, d, want);
    case OP_SCAN:
        return dim == (int)ir_attr(o, ATTR_AXIS) ? 0 : con_of_all(t, o, dim, want);
    case OP_LT:
    case OP_GE:
        g = con_of_all(t, o, dim, want);
        return g < want ? MAX(g, con_of_order(t, arg(o, 0), arg(o, 1), dim, want)) : g;
    case OP_GT:
    case OP_LE:
        g = con_of_all(t, o, dim, want);
        return g < want ? MAX(g, con_of_order(t, arg(o, 1), arg(o, 0), dim, want)) : g;
    case OP_DIV:
        g = con_of_all(t, o, dim, want);
        if (g < want && is_index(v->type))
            g = MAX(g, runs_between_multiples(t, o, dim, want));
        return g;
    case OP_SHR:
        g = con_of_all(t, o, dim, want);
        int64_t c;
        if (g < want && const_of(arg(o, 1), &c) && c > 0 &&
            c < elem_info[v->type->elem].bits)
            g = MAX(g, runs_between_powers(t, arg(o, 0), dim, (int)MIN(c, want)));
        return g;
    case OP_AND:
        g = con_of_all(t, o, dim, want);
        if (g < want && (k = mask_bits(arg(o, 1), false)) >= 0)
            g = MAX(g, runs_between_powers(t, arg(o, 0), dim, MIN(k, want)));
        return g;
    case OP_HINT:
        g = facts_constancy(t, arg(o, 0), dim, want);
        return MAX(g, MIN(want, hinted(o, ATTR_CONSTANCY, dim)));
    case OP_IF:
        g = facts_constancy(t, fact_yielded(o, 0, v->index), dim, want);
        return g ? facts_constancy(t, fact_yielded(o, 1, v->index), dim, g) : 0;
    case OPS(OP_ARANGE, OPS_GRID, OP_RESIZE, OP_ADD, OP_SUB, OP_MUL, OP_DIV_RN,
             OP_DIV_APPROX, OP_REM, OP_MIN, OP_MAX, OP_MINNAN, OP_MAXNAN, OP_UMULHI,
             OP_OR, OP_XOR, OP_SHL, OP_NEG, OP_ABS, OP_FMA, OP_EQ, OP_NE, OP_SELECT,
             OP_CAST, OP_BITCAST, OP_ADDPTR, OPS_MATH, OP_STORE, OPS_RARE_ACCESS,
             OPS_TENSOR, OP_DOT, OP_GATHER, OP_HISTOGRAM, OP_SORT, OPS_FOREIGN, OP_FOR,
             OP_WHILE, OPS_ENDS, OPS_NOTES, OPS_THREADS):
        return op_has(o, OPF_ELEM) && !op_is_assembly(o) ? con_of_all(t, o, dim, want)
                                                         : 0;
    }
    return 0;
}

int
rule_con(FactTable *t, const Val *v, int dim, int want)
{
    return v->def ? con_by_op(t, v->def, v, dim, want) : 0;
}

/* ---- masks that end inside of a run -------------------------------------------------------- */

/* The runs along dim in each of which the mask is true up to some element and false from
 * there on: those of con_of, and where x < y while x counts up and y stands still. The
 * comparisons of the second kind go to e. */
int
rule_ragged(FactTable *t, const Val *mask, int dim, int want, MaskEdges *e, int *budget)
{
    int g = facts_constancy(t, mask, dim, want), d;
    const Op *o = mask->def;
    bool is_known;
    if (g >= want || !o || --*budget < 0)
        return g;
    if (o->op == OP_AND) {
        g = rule_ragged(t, arg(o, 0), dim, want, e, budget);
        return g ? rule_ragged(t, arg(o, 1), dim, g, e, budget) : 0;
    }
    if (o->op == OP_EXPAND || o->op == OP_BROADCAST) {
        d = fact_source_dim(o, dim, &is_known);
        return d < 0 ? want : rule_ragged(t, arg(o, 0), d, want, e, budget);
    }
    if (!op_is_order(o) || e->n == MAX_MASK_EDGES ||
        !elem_is_signed(arg(o, 0)->type->elem))
        return g;
    d = o->op == OP_GT || o->op == OP_GE; /* x stands on the right */
    want = run_with(t, arg(o, d), arg(o, !d), dim, want);
    if (want <= g)
        return g;
    e->op[e->n++] = o;
    return want;
}

/* ---- DIV ------------------------------------------------------------------------------------------ */

/* A parameter: what is never asked about stays out of the key of the variant. Pointers are
 * always aligned to their element. */
static int
div_of_param(FactTable *t, const Val *v, int want)
{
    int known = v->type->is_ptr ? elem_log2(v->type) : 0;
    if (t->asks_16)
        return ir_ask(t->f, v, 1u << 4) ? MIN(want, 4) : known;
    for (int k = MIN(want, 4); k > known; k--)
        if (ir_ask(t->f, v, 1u << k))
            return k;
    return known;
}

static int
div_of_both(FactTable *t, const Val *x, const Val *y, int dim, int run, int want)
{
    bool x_last = is_param(t, x);
    int g = fact_div(t, x_last ? y : x, dim, run, want);
    return g ? fact_div(t, x_last ? x : y, dim, run, g) : 0;
}

static int
div_of_product(FactTable *t, const Val *x, const Val *y, int dim, int run, int want)
{
    bool x_last = is_param(t, x);
    int g = fact_div(t, x_last ? y : x, dim, run, want);
    return g < want ? g + fact_div(t, x_last ? x : y, dim, run, want - g) : g;
}

static int
div_of_pointer(FactTable *t, const Op *o, int dim, int run, int want)
{
    int size = elem_log2(arg(o, 0)->type);
    int g = size + fact_div(t, arg(o, 1), dim, run, MAX(want - size, 0));
    return fact_div(t, arg(o, 0), dim, run, MIN(g, want));
}

/* x >> k, or x / 2^k where x is a multiple of it. */
static int
div_of_quotient(FactTable *t, const Val *x, int k, int dim, int run, int want)
{
    return MAX(0, fact_div(t, x, dim, run, want + k) - k);
}

/* What the user vouches for holds at the starts of the runs the user vouches for; between
 * them x counts up, so nothing there is more divisible than its distance (pointers count
 * elements, and are divisible in bytes). */
static int
div_of_hint(FactTable *t, const Op *o, int dim, int run, int want)
{
    const Val *v = result(o, 0);
    int size = v->type->is_ptr ? elem_log2(v->type) : 0;
    if (v->type->rank == 0 && hinted(o, ATTR_DIVISIBLE, 0) >= want)
        return want; /* no argument needs to be asked */
    int g = fact_div(t, arg(o, 0), dim, run, want);
    if (v->type->rank == 0)
        return MAX(g, hinted(o, ATTR_DIVISIBLE, 0));
    int limit = MAX_LOG2;
    for (int d = 0; d < v->type->rank; d++) {
        int n = fact_run(t, v, d, MAX_LOG2), at = d == dim ? run : 0;
        if (at >= n && (run == 0 || d == dim))
            g = MAX(g, hinted(o, ATTR_DIVISIBLE, d));
        if (at < n)
            limit = MIN(limit, at + size);
    }
    if (run)
        g = MAX(g, MIN(hinted(o, ATTR_DIVISIBLE, dim), limit));
    return MIN(g, limit);
}

static int
div_by_op(FactTable *t, const Op *o, const Val *v, int dim, int run, int want)
{
    const Val *x = o->n_args > 0 ? arg(o, 0) : NULL,
              *y = o->n_args > 1 ? arg(o, 1) : NULL;
    bool is_known;
    int64_t c;
    int d, g, k;
    switch (o->op) {
    case OP_CONST: return fact_trailing_zeros(o->bits);
    case OP_SPLAT: return fact_div(t, x, 0, 0, want);
    case OP_ARANGE:
        g = fact_trailing_zeros((uint64_t)ir_attr(o, ATTR_START));
        return run >= log2_shape(v, 0) ? g : MIN(g, run);
    case OPS(OPS_INDEX, OP_SPLIT, OPS_MOVED):
        d = fact_source_dim(o, dim, &is_known);
        return d < 0 ? fact_div(t, x, 0, 0, want) : fact_div(t, x, d, run, want);
    case OP_JOIN:
        if (dim == v->type->rank - 1)
            dim = run = 0;
        return div_of_both(t, x, y, dim, run, want);
    case OPS(OP_CAT, OP_ADD, OP_SUB, OP_REM, OP_MIN, OP_MAX, OP_OR, OP_XOR):
        return div_of_both(t, x, y, dim, run, want);
    case OP_SELECT: return div_of_both(t, y, arg(o, 2), dim, run, want);
    case OP_ADDPTR: return div_of_pointer(t, o, dim, run, want);
    case OP_MUL: return div_of_product(t, x, y, dim, run, want);
    case OP_SHL:
        if (const_of(y, &c) && c >= 0 && c < MAX_LOG2)
            return (int)c + fact_div(t, x, dim, run, MAX(want - (int)c, 0));
        return fact_div(t, x, dim, run, want);
    case OP_SHR:
        if (const_of(y, &c) && c >= 0 && c < MAX_LOG2)
            return div_of_quotient(t, x, (int)c, dim, run, want);
        return 0;
    case OP_DIV:
        return const_log2(y, &k) ? div_of_quotient(t, x, k, dim, run, want) : 0;
    case OP_AND: /* the zeros of either */
        g = fact_div(t, y, dim, run, want);
        return g < want ? MAX(g, fact_div(t, x, dim, run, want)) : g;
    case OP_NEG:
    case OP_ABS: return fact_div(t, x, dim, run, want);
    case OP_CAST:
    case OP_BITCAST: return is_index(x->type) ? fact_div(t, x, dim, run, want) : 0;
    case OP_HINT: return div_of_hint(t, o, dim, run, want);
    case OP_IF:
        return div_of_both(t, fact_yielded(o, 0, v->index),
                           fact_yielded(o, 1, v->index), dim, run, want);
    case OPS(OPS_GRID, OP_RESIZE, OP_DIV_RN, OP_DIV_APPROX, OP_MINNAN, OP_MAXNAN,
             OP_UMULHI, OP_FMA, OPS_COMPARE, OPS_MATH, OPS_ACCESS, OPS_TENSOR,
             OPS_ACROSS, OPS_FOREIGN, OP_FOR, OP_WHILE, OPS_ENDS, OPS_NOTES,
             OPS_THREADS):
        break;
    }
    return 0;
}

int
rule_div(FactTable *t, const Val *v, int dim, int run, int want)
{
    if (!is_index(v->type))
        return 0;
    const Op *o = v->def ? v->def : v->block->owner;
    if (!o)
        return div_of_param(t, v, want);
    if (v->def)
        return MIN(div_by_op(t, o, v, dim, run, want), want);
    /* The induction variable: lb + k * step. */
    if (o->op == OP_FOR && v->index == 0)
        return div_of_both(t, arg(o, 0), arg(o, 2), 0, 0, want);
    return 0;
}
