/* compare: comparisons, and the choice between two by one. */
#include "ptx/half.h"
#include "ptx/lanes.h"

/* ---- comparisons ----------------------------------------------------------------- */
/* op: the comparison; flags: what is done with the third operand, a predicate. */
enum { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NOT_NUM, N_CMP };
/* lo, ls, hi, hs are lt, le, gt, ge of numbers without a sign. */
static const char *const cmp_words[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                        "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
                                        "lo",  "ls",  "hi",  "hs",  NULL};
static const char *const bool_words[] = {"and", "or", "xor", NULL};
enum { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR, BOOL_NOT = 4, CMP_FTZ = 8 };

/* Ordered comparisons are C's, but for != of floats, where x == x says that it is no NaN. */
#define CMP_INT(T, differ)                                                             \
    BINARY(eq_##T, uint8_t, T, x == y)                                                 \
    BINARY(ne_##T, uint8_t, T, differ)                                                 \
    BINARY(lt_##T, uint8_t, T, x < y)                                                  \
    BINARY(le_##T, uint8_t, T, x <= y)                                                 \
    BINARY(gt_##T, uint8_t, T, x > y)                                                  \
    BINARY(ge_##T, uint8_t, T, x >= y)
#define CMP_FLOAT(T)                                                                   \
    CMP_INT(T, (x < y) | (x > y))                                                      \
    BINARY(equ_##T, uint8_t, T, !((x < y) | (x > y)))                                  \
    BINARY(neu_##T, uint8_t, T, x != y)                                                \
    BINARY(ltu_##T, uint8_t, T, !(x >= y))                                             \
    BINARY(leu_##T, uint8_t, T, !(x > y))                                              \
    BINARY(gtu_##T, uint8_t, T, !(x <= y))                                             \
    BINARY(geu_##T, uint8_t, T, !(x < y))                                              \
    BINARY(num_##T, uint8_t, T, (x == x) & (y == y))                                   \
    BINARY(nan_##T, uint8_t, T, (x != x) | (y != y))
#define CMP_ROW(T) eq_##T, ne_##T, lt_##T, le_##T, gt_##T, ge_##T
#define CMP_FLOAT_ROW(T)                                                               \
    {CMP_ROW(T), equ_##T, neu_##T, ltu_##T, leu_##T, gtu_##T, geu_##T, num_##T, nan_##T}
CMP_INT(uint16_t, x != y)
CMP_INT(uint32_t, x != y)
CMP_INT(uint64_t, x != y)
CMP_INT(int16_t, x != y)
CMP_INT(int32_t, x != y)
CMP_INT(int64_t, x != y)
CMP_FLOAT(float)
CMP_FLOAT(double)

static Run *const cmp_run[N_TYPES][N_CMP] = {
    [T_U16] = {CMP_ROW(uint16_t)},        [T_S16] = {CMP_ROW(int16_t)},
    [T_U32] = {CMP_ROW(uint32_t)},        [T_S32] = {CMP_ROW(int32_t)},
    [T_U64] = {CMP_ROW(uint64_t)},        [T_S64] = {CMP_ROW(int64_t)},
    [T_B16] = {eq_uint16_t, ne_uint16_t}, [T_B32] = {eq_uint32_t, ne_uint32_t},
    [T_B64] = {eq_uint64_t, ne_uint64_t}, [T_F32] = CMP_FLOAT_ROW(float),
    [T_F64] = CMP_FLOAT_ROW(double),
};

/* One comparison as 0 or 1, of any type: what setp, set and slct share. Each holds for some of: less,
 * equal, greater, and not to be ordered. */
static bool
compare_one(Type t, int cmp, bool ftz, uint64_t x, uint64_t y)
{
    enum { L = 1, E = 2, G = 4, N = 8 };
    static const uint8_t holds[N_CMP] = {
        [EQ] = E,          [NE] = L | G,      [LT] = L,      [LE] = L | E,
        [GT] = G,          [GE] = G | E,      [EQU] = E | N, [NEU] = L | G | N,
        [LTU] = L | N,     [LEU] = L | E | N, [GTU] = G | N, [GEU] = G | E | N,
        [NUM] = L | E | G, [NOT_NUM] = N};
    int shift = 64 - 8 * type_info[t].bytes, is;
    if (type_info[t].kind == 'f') {
        double a = lane_float(t, x, ftz), b = lane_float(t, y, ftz);
        is = a < b ? L : a == b ? E : a > b ? G : N;
    } else {
        bool is_signed = type_info[t].kind == 's';
        x <<= shift, y <<= shift;
        is = x == y ? E : (is_signed ? (int64_t)x < (int64_t)y : x < y) ? L : G;
    }
    return holds[cmp] & is;
}

/* setp and set in their general forms: a second result, a third operand, halves. */
typedef struct Set {
    Type type, to;   /* to: T_PRED, or of set */
    Type of_half;    /* of a packed type, else T_NONE */
    bool has_second; /* setp p|q: of the other result */
} Set;

static bool
combined(const Ins *i, bool t, bool with)
{
    switch (i->flags & 3) {
    case BOOL_AND: return t && (with ^ (bool)(i->flags & BOOL_NOT));
    case BOOL_OR: return t || (with ^ (bool)(i->flags & BOOL_NOT));
    case BOOL_XOR: return t ^ (with ^ (bool)(i->flags & BOOL_NOT));
    default: return t;
    }
}

static uint64_t
truth(Type to, bool t)
{
    return to == T_F32    ? (t ? 0x3f800000 : 0)
           : to == T_F16  ? (t ? 0x3c00 : 0)
           : to == T_BF16 ? (t ? 0x3f80 : 0)
                          : (t ? UINT64_MAX : 0);
}

static void
set_any(Lanes *w, const Ins *i, uint32_t m)
{
    const Set *s = i->more;
    uint64_t room[3][LANES], p[LANES], q[LANES];
    bool ftz = i->flags & CMP_FTZ;
    const uint64_t *a = lanes_word(w, i, 0, room[0]), *b = lanes_word(w, i, 1, room[1]),
                   *c = lanes_word(w, i, 2, room[2]);
    for (int l = 0; l < LANES; l++) {
        Type t = s->of_half ? s->of_half : s->type;
        bool lo = compare_one(t, i->op, ftz, s->of_half ? a[l] & 0xffff : a[l],
                              s->of_half ? b[l] & 0xffff : b[l]);
        bool hi = s->of_half && compare_one(t, i->op, ftz, a[l] >> 16, b[l] >> 16);
        if (s->to == T_PRED) {
            p[l] = combined(i, lo, c[l] & 1);
            q[l] = combined(i, s->of_half ? hi : !lo, c[l] & 1);
        } else if (s->of_half) {
            Type half = s->to == T_F16X2 ? T_F16 : s->to == T_BF16X2 ? T_BF16 : s->to;
            p[l] = (truth(half, combined(i, lo, c[l] & 1)) & 0xffff) |
                   (truth(half, combined(i, hi, c[l] & 1)) & 0xffff) << 16;
        } else {
            p[l] = truth(s->to, combined(i, lo, c[l] & 1));
        }
    }
    lanes_put(w, i->out[0], m, p);
    if (s->has_second)
        lanes_put(w, i->out[1], m, q);
}

/* ---- selection ------------------------------------------------------------------- */

#define SELP(T)                                                                        \
    static void selp_##T(Lanes *w, const Ins *i, uint32_t m)                           \
    {                                                                                  \
        T *d = LANE(T, w, i->d);                                                       \
        const T *a = LANE(T, w, i->a), *b = LANE(T, w, i->b);                          \
        const uint8_t *p = LANE(uint8_t, w, i->c);                                     \
        EACH_LANE(m, d[l] = p[l] ? a[l] : b[l])                                        \
    }
SELP(uint16_t)
SELP(uint32_t)
SELP(uint64_t)

BY_WORD(slct, compare_one((Type)i->type, GE, i->flags &CMP_FTZ, z, 0) ? x : y)

/* ---- rows ------------------------------------------------------------------------ */

static bool
is_unsigned(Type t)
{
    return type_info[t].kind == 'u' || type_info[t].kind == 'b';
}

/* The comparison, and what is combined with operand k. */
static int
dec_comparison(Dec *d)
{
    int cmp = dec_one(d, cmp_words);
    if (cmp < 0)
        dec_fail(d, "no comparison");
    bool has_unsigned = cmp <= NOT_NUM;
    for (int k = 0; k < d->n_mods; k++)
        has_unsigned |= is_unsigned(type_named(d->mod[k]));
    if (!has_unsigned)
        dec_fail(d, "a comparison of numbers without a sign");
    int with = dec_one(d, bool_words);
    d->ins->flags = (uint16_t)(with + 1 + (dec_has(d, "ftz") ? CMP_FTZ : 0));
    return cmp > NOT_NUM ? LT + (cmp - NOT_NUM - 1) : cmp;
}

static Type
half_type(Type t)
{
    return t == T_F16X2 ? T_F16 : t == T_BF16X2 ? T_BF16 : T_NONE;
}

static void
dec_set_operands(Dec *d, Type t, int cmp)
{
    Ins *i = d->ins;
    i->op = (uint8_t)cmp;
    if (type_info[t].kind != 'f' && cmp > GE)
        dec_fail(d, "a comparison of floats");
    if (type_info[t].kind != 'f' && i->flags & CMP_FTZ)
        dec_fail(d, ".ftz of no floats");
    if (type_info[t].kind == 'b' && cmp > NE)
        dec_fail(d, "bits have no order");
    dec_in_typed(d, 1, t);
    dec_in_typed(d, 2, t);
    if (i->flags & 3) {
        if (d->n_opds < 4)
            dec_fail(d, "a predicate is missing");
        i->flags |= d->opd[3].is_not ? BOOL_NOT : 0;
        d->opd[3].is_not = false;
        dec_in(d, 3, 1);
    }
}

static void
dec_setp(Dec *d)
{
    int cmp = dec_comparison(d);
    Type t = dec_type(d);
    const char *second = d->opd[0].second;
    dec_out_and_truth(d, 1);
    dec_set_operands(d, t, cmp);
    dec_places(d);
    d->ins->run = cmp_run[t][cmp];
    if (!d->ins->run || d->ins->flags || second) {
        Set *s = dec_more(d, sizeof *s);
        *s = (Set){t, T_PRED, half_type(t), second != NULL};
        d->ins->run = set_any;
    }
}

static void
dec_set(Dec *d)
{
    int cmp = dec_comparison(d);
    Type to = dec_type(d), t = dec_type(d);
    bool is_half = type_info[t].kind == 'f' && t != T_F32 && t != T_F64;
    bool is_to_half = to == T_F16 || (to == T_BF16 && dec_sm(d) >= 90);
    dec_refuse(d, to != T_U32 && to != T_S32 && to != T_F32 && !is_to_half && !is_half);
    dec_out(d, 0, type_info[to].bytes);
    dec_set_operands(d, t, cmp);
    Set *s = dec_more(d, sizeof *s);
    *s = (Set){t, to, half_type(t), false};
    d->ins->run = set_any;
}

static void
dec_selp(Dec *d)
{
    static Run *const run[] = {NULL, selp_uint16_t, selp_uint32_t, selp_uint64_t};
    Type t = dec_type(d);
    d->ins->run = run[type_info[t].log2];
    if (!d->ins->run)
        dec_fail(d, ".%s is not simulated", type_info[t].name);
    dec_out(d, 0, type_info[t].bytes);
    dec_in_typed(d, 1, t);
    dec_in_typed(d, 2, t);
    dec_in(d, 3, 1);
    dec_places(d);
    dec_bitwise(d, 3);
}

static void
dec_slct(Dec *d)
{
    bool ftz = dec_has(d, "ftz");
    Type t = dec_type(d), by = dec_type(d);
    dec_refuse(d, by != T_F32 && (by != T_S32 || ftz));
    dec_out(d, 0, type_info[t].bytes);
    dec_in_typed(d, 1, t);
    dec_in_typed(d, 2, t);
    dec_in_typed(d, 3, by);
    d->ins->type = (uint8_t)by;
    d->ins->flags = ftz ? CMP_FTZ : 0;
    d->ins->run = slct;
}

const OpRow compare_ops[] = {
    {"setp", dec_setp}, {"set", dec_set}, {"selp", dec_selp},
    {"slct", dec_slct}, {NULL, NULL},
};
