/* range: lo..hi of integer values, exactly as the type reads them. One step per op; facts.c
 * holds the memo and goes round loops.
 *
 *     program_id           0 .. 2^31 - 2
 *     arange(0, 128)       0 .. 127
 *     %pid * 128           all of i32: it may wrap
 *     %x % 8               0 .. 7 where %x is not negative, else -7 .. 7
 *     for i in (lb, ub)    lb.lo .. ub.hi - 1
 *
 * u64 does not fit int64_t: INT64_MAX as its hi means "or more". No argument is asked
 * anything, so a pass may look at ranges without making more variants.
 */
#include "analysis/facts_impl.h"

/* Operand bounds below this in magnitude may be multiplied in int64_t. */
#define MUL_LIMIT ((int64_t)1 << 31)

static Answer
range(int64_t lo, int64_t hi)
{
    return (Answer){lo, hi};
}

Answer
range_of_type(const Type *t)
{
    if (t->is_ptr || elem_is_float(t->elem))
        return range(INT64_MIN, INT64_MAX);
    int bits = elem_info[t->elem].bits;
    if (elem_is_signed(t->elem))
        return bits == 64
                   ? range(INT64_MIN, INT64_MAX)
                   : range(-((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1);
    return range(0, bits == 64 ? INT64_MAX : ((int64_t)1 << bits) - 1);
}

/* hi stands for "or more". */
static bool
is_open(const Type *t, Answer r)
{
    return t->elem == E_U64 && r.hi == INT64_MAX;
}

static bool
is_point(const Type *t, Answer r)
{
    return r.lo == r.hi && !is_open(t, r);
}

static Answer
range_of(FactTable *t, const Op *o, int i)
{
    return fact_ask(t, ASK_RANGE, arg(o, i), 0, 0, MAX_LOG2);
}

static Answer
hull(Answer a, Answer b)
{
    return range(MIN(a.lo, b.lo), MAX(a.hi, b.hi));
}

/* r where the type holds it all, so that nothing wrapped; else everything. */
static Answer
fit(const Type *t, bool is_known, int64_t lo, int64_t hi)
{
    Answer all = range_of_type(t);
    return is_known && lo >= all.lo && hi <= all.hi ? range(lo, hi) : all;
}

static bool
add_fits(int64_t a, int64_t b, int64_t *sum)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return false;
    *sum = a + b;
    return true;
}

static Answer
range_add(const Type *t, Answer x, Answer y)
{
    int64_t lo = 0, hi = 0;
    bool ok = add_fits(x.lo, y.lo, &lo) && add_fits(x.hi, y.hi, &hi);
    return fit(t, ok && !is_open(t, x) && !is_open(t, y), lo, hi);
}

static Answer
range_sub(const Type *t, Answer x, Answer y)
{
    int64_t lo = 0, hi = 0;
    bool ok = y.lo != INT64_MIN && y.hi != INT64_MIN && add_fits(x.lo, -y.hi, &lo) &&
              add_fits(x.hi, -y.lo, &hi);
    return fit(t, ok && !is_open(t, x) && !is_open(t, y), lo, hi);
}

static Answer
range_mul(const Type *t, Answer x, Answer y)
{
    if (MIN(x.lo, y.lo) < -MUL_LIMIT || MAX(x.hi, y.hi) > MUL_LIMIT)
        return range_of_type(t);
    int64_t a = x.lo * y.lo, b = x.lo * y.hi, c = x.hi * y.lo, d = x.hi * y.hi;
    return fit(t, true, MIN(MIN(a, b), MIN(c, d)), MAX(MAX(a, b), MAX(c, d)));
}

static Answer
range_div(const Type *t, Answer x, Answer y)
{
    if (y.lo < 1 || is_open(t, x))
        return range_of_type(t); /* the sign is open, or -x wraps */
    return range(x.lo / (x.lo < 0 ? y.lo : y.hi), x.hi / (x.hi < 0 ? y.hi : y.lo));
}

/* The sign of the dividend, below the divisor in magnitude. */
static Answer
range_rem(const Type *t, Answer x, Answer y)
{
    Answer all = range_of_type(t);
    int64_t limit = INT64_MAX;              /* of the magnitude */
    if (!is_open(t, y) && y.lo > INT64_MIN) /* by 0 it is 0 */
        limit = MAX(MAX(y.hi, -y.lo) - 1, 0);
    if (x.lo >= 0)
        return range(0, MIN(x.hi, limit));
    if (limit == INT64_MAX)
        return range(all.lo, x.hi < 0 ? 0 : x.hi);
    return range(MAX(x.lo, -limit), x.hi < 0 ? 0 : MIN(x.hi, limit));
}

static Answer
range_and(const Type *t, Answer x, Answer y)
{
    if (x.lo >= 0 && y.lo >= 0)
        return range(0, MIN(x.hi, y.hi));
    if (x.lo >= 0 || y.lo >= 0)
        return range(0, x.lo >= 0 ? x.hi : y.hi);
    return range_of_type(t);
}

/* Both or and xor stay below the next power of two. */
static Answer
range_or(const Type *t, Answer x, Answer y, bool is_or)
{
    if (x.lo < 0 || y.lo < 0)
        return range_of_type(t);
    int64_t top = MAX(x.hi, y.hi), hi = 0;
    while (hi < top)
        hi = hi * 2 + 1;
    return range(is_or ? MAX(x.lo, y.lo) : 0, hi);
}

static Answer
range_shift(const Type *t, OpCode op, Answer x, Answer n)
{
    int bits = elem_info[t->elem].bits;
    if (!is_point(t, n) || n.lo < 0 || n.lo >= bits)
        return range_of_type(t);
    int k = (int)n.lo;
    if (op == OP_SHL)
        return k < 31 ? range_mul(t, x, range((int64_t)1 << k, (int64_t)1 << k))
                      : range_of_type(t);
    /* Towards minus infinity, without shifting negative numbers. */
    int64_t lo = x.lo < 0 ? ~(~x.lo >> k) : x.lo >> k;
    int64_t hi = x.hi < 0 ? ~(~x.hi >> k) : x.hi >> k;
    return is_open(t, x) ? range(lo, INT64_MAX) : range(lo, hi);
}

static Answer
range_neg(const Type *t, Answer x)
{
    return range_sub(t, range(0, 0), x);
}

static Answer
range_abs(const Type *t, Answer x)
{
    if (x.lo >= 0)
        return x;
    Answer n = range_neg(t, x);
    if (n.lo > n.hi || x.lo == range_of_type(t).lo)
        return range_of_type(t); /* |MIN| wraps */
    return x.hi < 0 ? n : range(0, MAX(x.hi, n.hi));
}

static Answer
range_cast(FactTable *t, const Op *o, const Type *to)
{
    const Type *from = arg(o, 0)->type;
    Answer all = range_of_type(to);
    if (from->is_ptr || elem_is_float(from->elem))
        return all;
    Answer x = range_of(t, o, 0);
    bool has_zero = x.lo <= 0 && x.hi >= 0;
    if (to->elem == E_I1) /* != 0 */
        return has_zero ? range(0, x.lo != 0 || x.hi != 0) : range(1, 1);
    if (is_open(from, x))
        return to->elem == E_U64 ? x : all;
    return fit(to, true, x.lo, x.hi);
}

static Answer
range_bitcast(FactTable *t, const Op *o, const Type *to)
{
    const Type *from = arg(o, 0)->type;
    Answer all = range_of_type(to);
    if (from->is_ptr || to->is_ptr || elem_is_float(from->elem))
        return all;
    Answer x = range_of(t, o, 0);
    return x.lo >= 0 && x.hi <= all.hi && !is_open(from, x) ? x : all;
}

/* 1 true, 0 false, -1 depends. */
static int
decide(OpCode op, const Type *t, Answer x, Answer y)
{
    bool x_open = is_open(t, x), y_open = is_open(t, y);
    bool is_less = !x_open && x.hi < y.lo, is_more = !y_open && x.lo > y.hi;
    bool is_le = !x_open && x.hi <= y.lo, is_ge = !y_open && x.lo >= y.hi;
    bool is_same = is_point(t, x) && is_point(t, y) && x.lo == y.lo;
    if (op == OP_EQ || op == OP_NE)
        return is_same ? op == OP_EQ : is_less || is_more ? op == OP_NE : -1;
    return op == OP_LT   ? is_less ? 1
                           : is_ge ? 0
                                   : -1
           : op == OP_LE ? is_le     ? 1
                           : is_more ? 0
                                     : -1
           : op == OP_GT ? is_more ? 1
                           : is_le ? 0
                                   : -1
           : is_ge       ? 1
           : is_less     ? 0
                         : -1;
}

static Answer
range_compare(FactTable *t, const Op *o)
{
    const Type *in = arg(o, 0)->type;
    int r = -1;
    if (!in->is_ptr && elem_is_int(in->elem))
        r = decide(o->op, in, range_of(t, o, 0), range_of(t, o, 1));
    return r < 0 ? range(0, 1) : range(r, r);
}

/* The induction variable of `for`: never outside of its bounds, whatever the step. From a
 * known start it is at last where whole steps lead: 0, 2048 .. 6144 below 8192. */
static Answer
range_of_iv(FactTable *t, const Val *v)
{
    const Op *o = v->block->owner;
    Answer lb = range_of(t, o, 0), ub = range_of(t, o, 1), step = range_of(t, o, 2);
    if (step.lo > 0 && ub.hi > INT64_MIN) {
        int64_t last = is_open(v->type, ub) ? INT64_MAX : ub.hi - 1;
        if (lb.lo == lb.hi && step.lo == step.hi && last > lb.lo) {
            uint64_t way = (uint64_t)last - (uint64_t)lb.lo, by = (uint64_t)step.lo;
            last = (int64_t)((uint64_t)lb.lo + (way - way % by));
        }
        return range(lb.lo, MAX(last, lb.lo));
    }
    if (step.hi < 0 && ub.lo < INT64_MAX)
        return range(MIN(ub.lo + 1, lb.hi), lb.hi);
    return range_of_type(v->type);
}

Answer
rule_range(FactTable *t, const Val *v)
{
    const Type *type = v->type;
    Answer all = range_of_type(type);
    const Op *o = v->def;
    if (!o) {
        o = v->block->owner;
        return o && o->op == OP_FOR && v->index == 0 ? range_of_iv(t, v) : all;
    }
    int64_t c;
    switch (o->op) {
    case OP_CONST:
        return ir_const_as_int(v, &c) && c >= all.lo && c <= all.hi ? range(c, c) : all;
    case OP_ARANGE: return range(ir_attr(o, ATTR_START), ir_attr(o, ATTR_END) - 1);
    case OP_PROGRAM_ID:
    case OP_BLOCK_ID: return range(0, INT32_MAX - 1);
    case OP_NUM_PROGRAMS:
    case OP_NUM_BLOCKS: return range(1, INT32_MAX);
    case OP_CLUSTER_RANK: return range(0, MAX_SHARES - 1);
    case OPS(OP_SPLAT, OPS_INDEX, OP_SPLIT, OPS_MOVED, OP_HINT, OP_GATHER, OP_SORT):
        return range_of(t, o, 0);
    case OP_JOIN:
    case OP_CAT: return hull(range_of(t, o, 0), range_of(t, o, 1));
    case OP_SELECT: return hull(range_of(t, o, 1), range_of(t, o, 2));
    case OP_ADD: return range_add(type, range_of(t, o, 0), range_of(t, o, 1));
    case OP_SUB: return range_sub(type, range_of(t, o, 0), range_of(t, o, 1));
    case OP_MUL: return range_mul(type, range_of(t, o, 0), range_of(t, o, 1));
    case OP_DIV: return range_div(type, range_of(t, o, 0), range_of(t, o, 1));
    case OP_REM: return range_rem(type, range_of(t, o, 0), range_of(t, o, 1));
    case OP_MIN: {
        Answer x = range_of(t, o, 0), y = range_of(t, o, 1);
        return range(MIN(x.lo, y.lo), MIN(x.hi, y.hi));
    }
    case OP_MAX: {
        Answer x = range_of(t, o, 0), y = range_of(t, o, 1);
        return range(MAX(x.lo, y.lo), MAX(x.hi, y.hi));
    }
    case OP_AND: return range_and(type, range_of(t, o, 0), range_of(t, o, 1));
    case OP_OR: return range_or(type, range_of(t, o, 0), range_of(t, o, 1), true);
    case OP_XOR: return range_or(type, range_of(t, o, 0), range_of(t, o, 1), false);
    case OP_SHL:
    case OP_SHR: return range_shift(type, o->op, range_of(t, o, 0), range_of(t, o, 1));
    case OP_NEG: return range_neg(type, range_of(t, o, 0));
    case OP_ABS:
        return elem_is_signed(type->elem) ? range_abs(type, range_of(t, o, 0))
                                          : range_of(t, o, 0);
    case OPS_COMPARE: return range_compare(t, o);
    case OP_CAST: return range_cast(t, o, type);
    case OP_BITCAST: return range_bitcast(t, o, type);
    case OP_HISTOGRAM: return range(0, all.hi);
    case OP_IF:
        return hull(
            fact_ask(t, ASK_RANGE, fact_yielded(o, 0, v->index), 0, 0, MAX_LOG2),
            fact_ask(t, ASK_RANGE, fact_yielded(o, 1, v->index), 0, 0, MAX_LOG2));
    case OPS(OP_RESIZE, OP_DIV_RN, OP_DIV_APPROX, OP_MINNAN, OP_MAXNAN, OP_UMULHI,
             OP_FMA, OP_ADDPTR, OPS_MATH, OPS_ACCESS, OPS_TENSOR, OP_REDUCE, OP_SCAN,
             OP_DOT, OPS_FOREIGN, OP_FOR, OP_WHILE, OPS_ENDS, OPS_NOTES, OPS_THREADS):
        break;
    }
    return all;
}
