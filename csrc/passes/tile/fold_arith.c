/* fold_arith: identities of elementwise ops. See fold.c for the rules.
 *
 *     %x + 0, %x * 1, %x & -1, %x / 1.0        %x
 *     %x - %x, %x * 0, %x < %x                 0
 *     (%x + 3) + 4                             %x + 7
 *     %x - 3                                   %x + -3            one form, so that sums meet
 *     %n / 8, %n % 8       %n >= 0             %n >> 3, %n & 7
 *     %f / 4.0                                 %f * 0.25          the same rounding
 *     3 < %x                                   %x > 3             constants stand right
 *     select(%c, %x, %x)                       %x
 *
 * Floats: only what is right for -0.0, infinities and subnormals alike. x + 0.0 is not x
 * (-0.0 + 0.0 is 0.0), x * 0.0 is not 0.0, x == x is not true, nothing is reassociated. The
 * sign and payload of a NaN are nobody's promise. A product by a power of two stays a
 * product: every backend knows, and the analyses like it so.
 */
#include "passes/tile/fold.h"

#include <math.h>

static uint64_t
all_ones(const Type *t)
{
    int bits = elem_info[t->elem].bits;
    return bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static bool
is_float_const(const Val *v, double *d)
{
    uint64_t bits;
    if (!ty_is_float(v->type) || !ir_is_const(v, &bits))
        return false;
    *d = elem_to_double(v->type->elem, bits);
    return true;
}

static bool
is_bits(const Val *v, uint64_t want)
{
    uint64_t bits;
    return ir_is_const(v, &bits) && bits == want;
}

static bool
is_int_const(const Val *v, int64_t *c)
{
    return ty_is_int(v->type) && ir_const_as_int(v, c);
}

static Val *
bin(Fold *w, OpCode op, Val *x, Val *y)
{
    return ir_bin(&w->b, op, x, y);
}

/* x op c, where x is y op d with the same associative op on integers: y op (d op c). */
static Val *
regroup(Fold *w, const Op *o)
{
    const Op *in = arg(o, 0)->def;
    uint64_t c[2], r;
    Elem e = result(o, 0)->type->elem;
    if (!in || in->op != o->op || !ty_is_int(result(o, 0)->type) ||
        !ir_is_const(arg(in, 1), &c[0]) || !ir_is_const(arg(o, 1), &c[1]) ||
        !ir_eval(o->op, e, e, c, 2, &r))
        return NULL;
    return bin(w, o->op, arg(in, 0), fold_const(w, result(o, 0)->type, r));
}

/* ---- integers ------------------------------------------------------------------------------ */

static Val *
int_add(Fold *w, const Op *o, Val *x, Val *y)
{
    if (is_bits(y, 0))
        return x;
    if (x->def && x->def->op == OP_SUB && arg(x->def, 1) == y)
        return arg(x->def, 0);
    if (y->def && y->def->op == OP_SUB && arg(y->def, 1) == x)
        return arg(y->def, 0);
    return regroup(w, o);
}

static Val *
int_sub(Fold *w, Val *x, Val *y)
{
    uint64_t c;
    if (x == y)
        return fold_const(w, x->type, 0);
    if (ir_is_const(y, &c))
        return c ? bin(w, OP_ADD, x, fold_const(w, x->type, 0 - c)) : x;
    if (is_bits(x, 0))
        return ir_un(&w->b, OP_NEG, y);
    if (x->def && x->def->op == OP_ADD) {
        if (arg(x->def, 1) == y)
            return arg(x->def, 0);
        if (arg(x->def, 0) == y)
            return arg(x->def, 1);
    }
    return NULL;
}

static Val *
int_mul(Fold *w, const Op *o, Val *x, Val *y)
{
    if (is_bits(y, 0))
        return y;
    if (is_bits(y, 1))
        return x;
    if (is_bits(y, all_ones(y->type)))
        return ir_un(&w->b, OP_NEG, x);
    return regroup(w, o);
}

/* log2 of a constant power of two; -1. */
static int
power_of_two(const Val *v)
{
    int64_t c;
    if (!is_int_const(v, &c) || c <= 0 || (c & (c - 1)))
        return -1;
    int k = 0;
    while ((int64_t)1 << k < c)
        k++;
    return k;
}

static bool
fits_i32(Fold *w, const Val *v, int64_t least)
{
    int64_t lo, hi;
    facts_range(w->facts, v, &lo, &hi);
    return lo >= least && hi <= INT32_MAX;
}

/* Of 64-bit numbers that fit in 32 bits, which divides several times as fast. MIN / -1 would not fit. */
static Val *
narrow_div(Fold *w, const Op *o, Val *x, Val *y)
{
    if (x->type->elem != E_I64 || !fits_i32(w, x, INT32_MIN + 1) ||
        !fits_i32(w, y, INT32_MIN))
        return NULL;
    const Type *t = ty_with_elem(w->f->c, x->type, E_I32);
    Val *a = ir_op1(&w->b, OP_CAST, 1, &x, t), *b = ir_op1(&w->b, OP_CAST, 1, &y, t),
        *r = bin(w, o->op, a, b);
    return ir_op1(&w->b, OP_CAST, 1, &r, x->type);
}

static Val *
int_div(Fold *w, const Op *o, Val *x, Val *y)
{
    int64_t lo, hi, c;
    bool is_div = o->op == OP_DIV;
    if (!is_int_const(y, &c))
        return narrow_div(w, o, x, y);
    if (c == 1)
        return is_div ? x : fold_const(w, x->type, 0);
    facts_range(w->facts, x, &lo, &hi);
    bool is_open = x->type->elem == E_U64 && hi == INT64_MAX;
    if (lo < 0 || c <= 0)
        return NULL;
    if (hi < c && !is_open)
        return is_div ? fold_const(w, x->type, 0) : x;
    int k = power_of_two(y);
    if (k < 0)
        return NULL;
    uint64_t n = is_div ? (uint64_t)k : (uint64_t)c - 1;
    return bin(w, is_div ? OP_SHR : OP_AND, x, fold_const(w, x->type, n));
}

static Val *
int_min_max(Fold *w, const Op *o, Val *x, Val *y)
{
    int64_t xlo, xhi, ylo, yhi;
    facts_range(w->facts, x, &xlo, &xhi);
    facts_range(w->facts, y, &ylo, &yhi);
    bool x_open = x->type->elem == E_U64 && xhi == INT64_MAX;
    bool y_open = x->type->elem == E_U64 && yhi == INT64_MAX;
    if (!x_open && xhi <= ylo)
        return o->op == OP_MIN ? x : y;
    if (!y_open && yhi <= xlo)
        return o->op == OP_MIN ? y : x;
    return NULL;
}

/* not of a compare is the opposite compare; of floats only == and != have one. */
static Val *
not_of(Fold *w, Val *x)
{
    static const OpCode opposite[N_OP] = {
        [OP_EQ] = OP_NE, [OP_NE] = OP_EQ, [OP_LT] = OP_GE,
        [OP_GE] = OP_LT, [OP_GT] = OP_LE, [OP_LE] = OP_GT,
    };
    const Op *c = x->def;
    if (!c || !opposite[c->op] ||
        (ty_is_float(arg(c, 0)->type) && c->op != OP_EQ && c->op != OP_NE))
        return NULL;
    Val *args[2] = {arg(c, 0), arg(c, 1)};
    return ir_op1(&w->b, opposite[c->op], 2, args, x->type);
}

static Val *
int_bits(Fold *w, const Op *o, Val *x, Val *y)
{
    uint64_t ones = all_ones(x->type), c;
    if (x == y)
        return o->op == OP_XOR ? fold_const(w, x->type, 0) : x;
    if (is_bits(y, 0))
        return o->op == OP_AND ? y : x;
    if (is_bits(y, ones)) {
        if (o->op == OP_AND)
            return x;
        if (o->op == OP_OR)
            return y;
        Val *r = x->type->elem == E_I1 ? not_of(w, x) : NULL;
        if (r)
            return r;
    }
    if (o->op == OP_AND && ir_is_const(y, &c) && !(c & (c + 1))) {
        int64_t lo, hi; /* already below the mask 2^k - 1? */
        facts_range(w->facts, x, &lo, &hi);
        if (lo >= 0 && (uint64_t)hi <= c &&
            !(x->type->elem == E_U64 && hi == INT64_MAX))
            return x;
    }
    return regroup(w, o);
}

static Val *
fold_int(Fold *w, const Op *o, Val *x, Val *y)
{
    switch (o->op) {
    case OP_ADD: return int_add(w, o, x, y);
    case OP_SUB: return int_sub(w, x, y);
    case OP_MUL: return int_mul(w, o, x, y);
    case OP_DIV:
    case OP_REM: return int_div(w, o, x, y);
    case OP_MIN:
    case OP_MAX: return x == y ? x : int_min_max(w, o, x, y);
    case OPS(OP_AND, OP_OR, OP_XOR): return int_bits(w, o, x, y);
    case OP_SHL:
    case OP_SHR: return is_bits(y, 0) || is_bits(x, 0) ? x : NULL;
    case OPS(OPS_VALUES, OPS_SHAPE, OP_DIV_RN, OP_DIV_APPROX, OP_MINNAN, OP_MAXNAN,
             OP_UMULHI, OP_NEG, OP_ABS, OP_FMA, OPS_COMPARE, OP_SELECT, OP_CAST,
             OP_BITCAST, OP_ADDPTR, OPS_MATH, OP_HINT, OPS_OTHER):
        break;
    }
    return NULL;
}

/* ---- floats --------------------------------------------------------------------------------- */

/* 1 / d where that is exact and neither is subnormal. */
static bool
exact_reciprocal(Elem e, double d, uint64_t *bits)
{
    int exp;
    static const int min_exp[N_ELEM] = {
        /* of a normal number in e, as frexp says it */
        [E_F16] = -13,
        [E_BF16] = -125,
        [E_F32] = -125,
        [E_F64] = -1021,
    };
    if (!min_exp[e] || !isfinite(d) || fabs(frexp(d, &exp)) != 0.5 || exp < min_exp[e])
        return false;
    double r = 1 / d;
    *bits = elem_from_double(e, r);
    frexp(r, &exp);
    return exp >= min_exp[e] && elem_to_double(e, *bits) == r;
}

static Val *
fold_float(Fold *w, const Op *o, Val *x, Val *y)
{
    double d;
    uint64_t bits;
    switch (o->op) {
    case OP_ADD: return is_float_const(y, &d) && d == 0 && signbit(d) ? x : NULL;
    case OP_SUB: return is_float_const(y, &d) && d == 0 && !signbit(d) ? x : NULL;
    case OP_MUL: return is_float_const(y, &d) && d == 1 ? x : NULL;
    case OPS(OP_DIV, OP_DIV_RN, OP_DIV_APPROX):
        if (!is_float_const(y, &d))
            return NULL;
        if (d == 1)
            return x;
        if (!exact_reciprocal(x->type->elem, d, &bits))
            return NULL;
        return bin(w, OP_MUL, x, fold_const(w, x->type, bits));
    case OPS(OP_MIN, OP_MAX, OP_MINNAN, OP_MAXNAN): return x == y ? x : NULL;
    case OPS(OPS_VALUES, OPS_SHAPE, OP_REM, OP_UMULHI, OP_AND, OP_OR, OP_XOR, OP_SHL,
             OP_SHR, OP_NEG, OP_ABS, OP_FMA, OPS_COMPARE, OP_SELECT, OP_CAST,
             OP_BITCAST, OP_ADDPTR, OPS_MATH, OP_HINT, OPS_OTHER):
        break;
    }
    return NULL;
}

/* ---- one operand, compares, select -------------------------------------------------------------- */

static Val *
fold_unary(Fold *w, const Op *o, Val *x)
{
    const Op *in = x->def;
    int64_t lo, hi;
    if (o->op == OP_NEG) {
        if (in && in->op == OP_NEG)
            return arg(in, 0);
        if (in && in->op == OP_SUB && ty_is_int(x->type))
            return bin(w, OP_SUB, arg(in, 1), arg(in, 0));
        return NULL;
    }
    /* abs; of an unsigned integer it is nothing */
    facts_range(w->facts, x, &lo, &hi);
    if ((in && in->op == OP_ABS) || (ty_is_int(x->type) && lo >= 0))
        return x;
    return in && in->op == OP_NEG ? ir_un(&w->b, OP_ABS, arg(in, 0)) : NULL;
}

static Val *
fold_compare(Fold *w, const Op *o, Val *x, Val *y)
{
    static const OpCode swapped[N_OP] = {
        [OP_LT] = OP_GT,
        [OP_GT] = OP_LT,
        [OP_LE] = OP_GE,
        [OP_GE] = OP_LE,
    };
    const Type *t = result(o, 0)->type;
    if (x == y && !ty_is_float(x->type))
        return fold_const(w, t, o->op == OP_EQ || o->op == OP_LE || o->op == OP_GE);
    if (ir_is_const(x, NULL) && !ir_is_const(y, NULL) && swapped[o->op])
        return ir_op1(&w->b, swapped[o->op], 2, (Val *[]){y, x}, t);
    bool is_ne = o->op == OP_NE;
    if ((!is_ne && o->op != OP_EQ) || !ty_is_int(x->type))
        return NULL;
    if (x->type->elem == E_I1 && ir_is_const(y, NULL)) {
        if (is_bits(y, is_ne ? 0 : 1))
            return x;
        return bin(w, OP_XOR, x, fold_const(w, t, 1));
    }
    /* An i1 made wider and compared with 0. */
    const Op *in = x->def;
    if (in && in->op == OP_CAST && arg(in, 0)->type->elem == E_I1 &&
        !arg(in, 0)->type->is_ptr && is_bits(y, 0))
        return is_ne ? arg(in, 0) : bin(w, OP_XOR, arg(in, 0), fold_const(w, t, 1));
    return NULL;
}

static Val *
fold_select(Fold *w, const Op *o)
{
    Val *c = arg(o, 0), *x = arg(o, 1), *y = arg(o, 2);
    uint64_t bits;
    if (x == y)
        return x;
    if (ir_is_const(c, &bits))
        return bits & 1 ? x : y;
    if (x->type == c->type && is_bits(x, 1) && is_bits(y, 0))
        return c;
    if (c->def && c->def->op == OP_XOR && is_bits(arg(c->def, 1), 1))
        return ir_select(&w->b, arg(c->def, 0), y, x);
    return NULL;
}

static Val *
fold_addptr(Fold *w, const Op *o)
{
    Val *p = arg(o, 0), *i = arg(o, 1);
    int64_t a, b;
    if (is_bits(i, 0))
        return p;
    const Op *in = p->def;
    if (!in || in->op != OP_ADDPTR || !is_int_const(i, &a) ||
        !is_int_const(arg(in, 1), &b) || i->type != arg(in, 1)->type)
        return NULL;
    /* One step, where the index type can say it. */
    Elem e = i->type->elem;
    uint64_t sum = elem_from_int(e, (int64_t)((uint64_t)a + (uint64_t)b));
    if (e == E_U64 || elem_info[e].bits == 64 || elem_to_int(e, sum) != a + b)
        return NULL;
    return ir_addptr(&w->b, arg(in, 0), fold_const(w, i->type, sum));
}

/* ---- all of it -------------------------------------------------------------------------------------- */

/* Every operand a constant. */
static Val *
evaluate(Fold *w, const Op *o)
{
    const Type *t = result(o, 0)->type;
    uint64_t in[3], r;
    for (int i = 0; i < o->n_args; i++)
        if (i == 3 || !ir_is_const(arg(o, i), &in[i]))
            return NULL;
    const Type *xt = arg(o, 0)->type;
    Elem from = ty_evaluated(xt), to = ty_evaluated(t);
    if (o->op == OP_ADDPTR) {
        from = arg(o, 1)->type->elem;
        to = t->elem;
    }
    if (o->op == OP_CAST)
        r = elem_cast(from, to, in[0], (int)ir_attr(o, ATTR_ROUNDING));
    else if (!ir_eval(o->op, from, to, in, o->n_args, &r))
        return NULL;
    return fold_const(w, t, r);
}

Val *
fold_filled(Fold *w, const Op *o)
{
    Val *args[3];
    if (result(o, 0)->type->rank == 0 || o->n_args > 3)
        return NULL;
    for (int i = 0; i < o->n_args; i++)
        if (!fold_is_filled(arg(o, i)))
            return NULL;
    for (int i = 0; i < o->n_args; i++)
        args[i] = fold_filling(w, arg(o, i));
    const Type *t = result(o, 0)->type;
    return fold_splat(w, fold_like(w, o, o->n_args, args, ty_element(w->f->c, t)), t);
}

static Val *
fold_binary(Fold *w, Op *o)
{
    Val *x = arg(o, 0), *y = arg(o, 1);
    if (op_has(o, OPF_COMM) && ir_is_const(x, NULL) && !ir_is_const(y, NULL)) {
        ir_set_arg(o, 0, y);
        ir_set_arg(o, 1, x);
        w->changed = true;
        x = arg(o, 0), y = arg(o, 1);
    }
    if (o->op >= OP_EQ && o->op <= OP_GE)
        return fold_compare(w, o, x, y);
    return ty_is_float(x->type) ? fold_float(w, o, x, y) : fold_int(w, o, x, y);
}

/* An integer of which the range leaves one value. */
static Val *
fold_by_range(Fold *w, const Op *o)
{
    const Val *v = result(o, 0);
    int64_t lo, hi;
    if (!ty_is_int(v->type))
        return NULL;
    facts_range(w->facts, v, &lo, &hi);
    if (lo != hi || (v->type->elem == E_U64 && hi == INT64_MAX))
        return NULL;
    return fold_const(w, v->type, elem_from_int(v->type->elem, lo));
}

Val *
fold_arith(Fold *w, Op *o)
{
    Val *r = o->n_args ? evaluate(w, o) : NULL;
    if (!r && o->op != OP_HINT)
        r = fold_filled(w, o);
    if (!r)
        r = fold_by_range(w, o);
    if (r)
        return r;
    switch (o->op) {
    case OP_CAST:
    case OP_BITCAST: return fold_cast(w, o);
    case OP_SELECT: return fold_select(w, o);
    case OP_ADDPTR: return fold_addptr(w, o);
    case OP_NEG:
    case OP_ABS: return fold_unary(w, o, arg(o, 0));
    case OP_HINT: return fold_shape(w, o);
    case OPS(OPS_VALUES, OPS_SHAPE, OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_DIV_RN,
             OP_DIV_APPROX, OP_REM, OP_MIN, OP_MAX, OP_MINNAN, OP_MAXNAN, OP_UMULHI,
             OP_AND, OP_OR, OP_XOR, OP_SHL, OP_SHR, OP_FMA, OPS_COMPARE, OPS_MATH,
             OPS_OTHER):
        break;
    }
    return o->n_args == 2 ? fold_binary(w, o) : NULL;
}
