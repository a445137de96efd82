/* integer: arithmetic on integers. Results are modulo 2^n; what PTX leaves open (division
 * by zero) is what the hardware gives: all ones, as quotient and as remainder.
 */
#include "ptx/half.h"
#include "ptx/lanes.h"

typedef __int128 Wide;
typedef unsigned __int128 UWide;

/* A function for each type: NAME_u16 .. NAME_s64. U(x) is x without its sign, so that an
 * overflow is defined. */
#define ALL_TYPES(MAKE, name, expr)                                                    \
    MAKE(name##_u16, uint16_t, uint16_t, expr)                                         \
    MAKE(name##_u32, uint32_t, uint32_t, expr)                                         \
    MAKE(name##_u64, uint64_t, uint64_t, expr)                                         \
    MAKE(name##_s16, int16_t, int16_t, expr)                                           \
    MAKE(name##_s32, int32_t, int32_t, expr)                                           \
    MAKE(name##_s64, int64_t, int64_t, expr)
#define TABLE(name)                                                                    \
    static Run *const name##_run[N_TYPES] = {                                          \
        [T_U16] = name##_u16, [T_U32] = name##_u32, [T_U64] = name##_u64,              \
        [T_S16] = name##_s16, [T_S32] = name##_s32, [T_S64] = name##_s64}
#define U(x) ((uint64_t)(x))

ALL_TYPES(BINARY, add, U(x) + U(y))
TABLE(add);
ALL_TYPES(BINARY, sub, U(x) - U(y))
TABLE(sub);
ALL_TYPES(BINARY, mul_lo, U(x) * U(y))
TABLE(mul_lo);
ALL_TYPES(BINARY, min, x < y ? x : y)
TABLE(min);
ALL_TYPES(BINARY, max, x > y ? x : y)
TABLE(max);
UNARY(neg_s16, int16_t, int16_t, U(0) - U(x))
UNARY(neg_s32, int32_t, int32_t, U(0) - U(x))
UNARY(neg_s64, int64_t, int64_t, U(0) - U(x))
static Run *const neg_run[N_TYPES] = {
    [T_S16] = neg_s16, [T_S32] = neg_s32, [T_S64] = neg_s64};
UNARY(abs_s16, int16_t, int16_t, x < 0 ? -x : x)
UNARY(abs_s32, int32_t, int32_t, x < 0 ? U(0) - U(x) : U(x))
UNARY(abs_s64, int64_t, int64_t, x < 0 ? U(0) - U(x) : U(x))
static Run *const abs_run[N_TYPES] = {
    [T_S16] = abs_s16, [T_S32] = abs_s32, [T_S64] = abs_s64};
/* Is it -1 of a type with a sign, where the quotient may overflow? */
#define IS_MINUS_ONE(y) ((__typeof__(y))-1 < 1 && (y) == (__typeof__(y))-1)
ALL_TYPES(BINARY, div, !y ? ~U(0) : IS_MINUS_ONE(y) ? U(0) - U(x) : U(x / y))
TABLE(div);
ALL_TYPES(BINARY, rem, !y ? ~U(0) : IS_MINUS_ONE(y) ? 0 : U(x % y))
TABLE(rem);
BINARY(mul_hi_u16, uint16_t, uint16_t, (uint32_t)x *y >> 16)
BINARY(mul_hi_u32, uint32_t, uint32_t, U(x) * U(y) >> 32)
BINARY(mul_hi_u64, uint64_t, uint64_t, (UWide)x *y >> 64)
BINARY(mul_hi_s16, int16_t, int16_t, (int32_t)x *y >> 16)
BINARY(mul_hi_s32, int32_t, int32_t, (int64_t)x *y >> 32)
BINARY(mul_hi_s64, int64_t, int64_t, (Wide)x *y >> 64)
TABLE(mul_hi);
BINARY(mul_wide_u16, uint32_t, uint16_t, (uint32_t)x *y)
BINARY(mul_wide_u32, uint64_t, uint32_t, U(x) * U(y))
BINARY(mul_wide_s16, int32_t, int16_t, (int32_t)x *y)
BINARY(mul_wide_s32, int64_t, int32_t, (int64_t)x *y)
static Run *const mul_wide_run[N_TYPES] = {[T_U16] = mul_wide_u16,
                                           [T_U32] = mul_wide_u32,
                                           [T_S16] = mul_wide_s16,
                                           [T_S32] = mul_wide_s32};
#define SAME_TERNARY(name, D, S, expr) TERNARY(name, D, S, D, expr)
ALL_TYPES(SAME_TERNARY, mad_lo, U(x) * U(y) + U(z))
TABLE(mad_lo);
TERNARY(mad_hi_u16, uint16_t, uint16_t, uint16_t, ((uint32_t)x * y >> 16) + z)
TERNARY(mad_hi_u32, uint32_t, uint32_t, uint32_t, (U(x) * U(y) >> 32) + z)
TERNARY(mad_hi_u64, uint64_t, uint64_t, uint64_t, ((UWide)x * y >> 64) + z)
TERNARY(mad_hi_s16, int16_t, int16_t, int16_t, ((int32_t)x * y >> 16) + z)
TERNARY(mad_hi_s32, int32_t, int32_t, int32_t, U((int64_t)x *y >> 32) + U(z))
TERNARY(mad_hi_s64, int64_t, int64_t, int64_t, U((Wide)x *y >> 64) + U(z))
TABLE(mad_hi);
TERNARY(mad_wide_u16, uint32_t, uint16_t, uint32_t, (uint32_t)x *y + z)
TERNARY(mad_wide_u32, uint64_t, uint32_t, uint64_t, U(x) * U(y) + z)
TERNARY(mad_wide_s16, int32_t, int16_t, int32_t, U((int32_t)x *y) + U(z))
TERNARY(mad_wide_s32, int64_t, int32_t, int64_t, U((int64_t)x *y) + U(z))
static Run *const mad_wide_run[N_TYPES] = {[T_U16] = mad_wide_u16,
                                           [T_U32] = mad_wide_u32,
                                           [T_S16] = mad_wide_s16,
                                           [T_S32] = mad_wide_s32};
#define SAD(name, D, S, expr) TERNARY(name, D, S, D, expr)
ALL_TYPES(SAD, sad, U(z) + (x < y ? U(y) - U(x) : U(x) - U(y)))
TABLE(sad);
static int32_t
clamp32(int64_t x)
{
    return (int32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}
BINARY(add_sat, int32_t, int32_t, clamp32((int64_t)x + y))
BINARY(sub_sat, int32_t, int32_t, clamp32((int64_t)x - y))
TERNARY(mad_hi_sat, int32_t, int32_t, int32_t, clamp32(((int64_t)x * y >> 32) + z))

/* ---- with a carry ---------------------------------------------------------------- */
/* CC.CF of each lane is a bit of w->carry. is_in: it is added (taken away), is_out: the new
 * one is kept. A borrow is a carry that did not come: PTX keeps the borrow itself. */
enum { CARRY_IN = 1, CARRY_OUT = 2, CARRY_SUB = 4, CARRY_HI = 8 };

/* The low or the high half of a product, as wide as its factors. */
static uint64_t
half_of_product(const Ins *i, uint64_t a, uint64_t b)
{
    int bits = 8 * i->in[0].bytes;
    UWide p = (UWide)a * b;
    if (type_info[i->type].kind == 's')
        p = bits == 32 ? (UWide)((Wide)(int32_t)a * (int32_t)b)
                       : (UWide)((Wide)(int64_t)a * (int64_t)b);
    uint64_t half = (uint64_t)(i->flags & CARRY_HI ? p >> bits : p);
    return bits == 32 ? (uint32_t)half : half;
}

static void
carried(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t room[3][LANES], out[LANES];
    int bits = 8 * i->in[0].bytes;
    const uint64_t *a = lanes_word(w, i, 0, room[0]), *b = lanes_word(w, i, 1, room[1]),
                   *c = lanes_word(w, i, 2, room[2]);
    for (int l = 0; l < LANES; l++) {
        bool in = (i->flags & CARRY_IN) && (w->carry >> l & 1);
        UWide r = i->n_in > 2 ? (UWide)half_of_product(i, a[l], b[l]) + c[l] + in
                  : i->flags & CARRY_SUB ? (UWide)a[l] - b[l] - in
                                         : (UWide)a[l] + b[l] + in;
        out[l] = (uint64_t)r;
        if (m >> l & 1 && i->flags & CARRY_OUT)
            w->carry = (w->carry & ~(1u << l)) | (uint32_t)(r >> bits & 1) << l;
    }
    lanes_put(w, i->out[0], m, out);
}

/* ---- bits and bytes -------------------------------------------------------------- */

UNARY(popc_b32, uint32_t, uint32_t, __builtin_popcount(x))
UNARY(popc_b64, uint32_t, uint64_t, __builtin_popcountll(x))
UNARY(clz_b32, uint32_t, uint32_t, x ? __builtin_clz(x) : 32)
UNARY(clz_b64, uint32_t, uint64_t, x ? __builtin_clzll(x) : 64)

UNARY(brev_b32, uint32_t, uint32_t, bits_reversed(x, 32))
UNARY(brev_b64, uint64_t, uint64_t, bits_reversed(x, 64))

static uint32_t
bit_found(uint64_t x, int bits, bool is_signed, bool shift)
{
    if (is_signed && x >> (bits - 1) & 1)
        x = ~x & (bits == 64 ? UINT64_MAX : UINT32_MAX);
    if (!x)
        return UINT32_MAX;
    int at = 63 - __builtin_clzll(x);
    return (uint32_t)(shift ? bits - 1 - at : at);
}

BY_WORD(bfind,
        bit_found(x, 8 * i->in[0].bytes, type_info[i->type].kind == 's', i->flags))

/* The place of the n-th bit that is set, from place `at` on, downwards where n < 0; of n = 0,
 * that place itself. */
static uint32_t
nth_set(uint32_t x, uint32_t at, int32_t n)
{
    int64_t left = n < 0 ? -(int64_t)n : n;
    for (int64_t k = at; k >= 0 && k < 32; k += n < 0 ? -1 : 1) {
        if (x >> k & 1 && --left <= 0)
            return (uint32_t)k;
        if (n == 0)
            break;
    }
    return UINT32_MAX;
}
TERNARY3(fns, uint32_t, uint32_t, uint32_t, int32_t, nth_set(x, y, z))

static uint64_t
field(uint64_t x, uint32_t at, uint32_t n, int bits, bool is_signed)
{
    at &= 255, n &= 255;
    uint64_t sign = 0;
    if (is_signed && n) {
        uint32_t top = at + n - 1 < (uint32_t)bits - 1 ? at + n - 1
                                                       : (uint32_t)bits - 1;
        sign = x >> top & 1;
    }
    uint64_t v = at < (uint32_t)bits ? x >> at : 0;
    uint32_t have = at < (uint32_t)bits ? (uint32_t)bits - at : 0;
    if (n < have)
        have = n;
    if (have < 64) {
        v &= (UINT64_C(1) << have) - 1;
        if (sign)
            v |= UINT64_MAX << have;
    }
    return v;
}
static uint32_t
bit_mask(uint32_t at, uint32_t n, bool clamp)
{
    uint32_t from = at & 31, len = n & 31, above = 0;
    if (clamp && at > 31)
        return 0;
    if (!(clamp && n > 31) && from + len < 32)
        above = ~0u << (from + len);
    return ~0u << from & ~above;
}
BINARY(bmsk, uint32_t, uint32_t, bit_mask(x, y, i->flags))

/* The lowest n bits, extended by the highest of them or by 0. */
static uint32_t
extend(uint32_t x, uint32_t n, bool clamp, bool is_signed)
{
    if (clamp && n > 31)
        return x;
    n &= 31;
    return n == 0      ? 0
           : is_signed ? (uint32_t)((int32_t)(x << (32 - n)) >> (32 - n))
                       : x & ((1u << n) - 1);
}
BINARY(szext_u32, uint32_t, uint32_t, extend(x, y, i->flags, false))
BINARY(szext_s32, uint32_t, uint32_t, extend(x, y, i->flags, true))

TERNARY3(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, field(x, y, z, 32, false))
TERNARY3(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, field(x, y, z, 64, false))
TERNARY3(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, field(x, y, z, 32, true))
TERNARY3(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, field(x, y, z, 64, true))

static void
bfi(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t a[LANES], b[LANES], at[LANES], n[LANES], out[LANES];
    uint64_t bits = 8u * i->in[0].bytes;
    lanes_get(w, i->in[0], a);
    lanes_get(w, i->in[1], b);
    lanes_get(w, i->in[2], at);
    lanes_get(w, i->in[3], n);
    for (int l = 0; l < LANES; l++) {
        uint64_t from = at[l] & 255, len = n[l] & 255;
        uint64_t mask = len >= 64 ? UINT64_MAX : (UINT64_C(1) << len) - 1;
        mask = from >= bits ? 0 : mask << from;
        out[l] = from >= bits ? b[l] : (b[l] & ~mask) | (a[l] << from & mask);
    }
    lanes_put(w, i->out[0], m, out);
}

/* ---- rows ------------------------------------------------------------------------ */

static void
dec_carry(Dec *d, Type t, int flags, bool is_mad)
{
    dec_same(d, t, is_mad ? 3 : 2);
    if (type_info[t].log2 < 2)
        dec_fail(d, ".%s is not simulated", type_info[t].name);
    d->ins->type = (uint8_t)t;
    d->ins->flags = (uint16_t)flags;
    d->ins->run = carried;
}

static void
dec_signless(Dec *d, Run *const table[N_TYPES], Run *sat, int carry)
{
    bool is_sat = dec_has(d, "sat");
    if (dec_has(d, "cc") || carry & CARRY_IN) {
        bool out = !(carry & CARRY_IN) || dec_has(d, "cc");
        dec_carry(d, dec_type(d), carry | (out ? CARRY_OUT : 0), false);
        return;
    }
    Type t = dec_type(d);
    dec_run(d, table, t);
    dec_same(d, t, 2);
    if (is_sat && t != T_S32)
        dec_fail(d, ".sat is for .s32");
    if (is_sat)
        d->ins->run = sat;
    else
        d->ins->undef = UNDEF_CARRIES;
}

/* Names that floats have as well: theirs when a type of theirs stands last. */
static bool
is_float(const Dec *d)
{
    for (int k = 0; k < d->n_mods; k++)
        if (type_info[type_named(d->mod[k])].kind == 'f' || !strcmp(d->mod[k], "f32x2"))
            return true;
    return false;
}

static void
dec_add(Dec *d)
{
    if (is_float(d))
        dec_float(d, HALF_ADD);
    else if (!dec_pairs(d, PAIR_ADD))
        dec_signless(d, add_run, add_sat, 0);
}

static void
dec_sub(Dec *d)
{
    if (is_float(d))
        dec_float(d, HALF_SUB);
    else
        dec_signless(d, sub_run, sub_sat, CARRY_SUB);
}

/* addc, subc */
static void
dec_with_carry(Dec *d)
{
    bool is_sub = !strcmp(d->op, "subc");
    dec_signless(d, is_sub ? sub_run : add_run, NULL,
                 CARRY_IN | (is_sub ? CARRY_SUB : 0));
}

static const char *const part_words[] = {"lo", "hi", "wide", NULL};

static void
dec_wide(Dec *d, Type t, int n)
{
    Type twice = t == T_U16 ? T_U32 : t == T_S16 ? T_S32 : t == T_U32 ? T_U64 : T_S64;
    dec_out(d, 0, type_info[twice].bytes);
    dec_in_typed(d, 1, t);
    dec_in_typed(d, 2, t);
    if (n == 3)
        dec_in_typed(d, 3, twice);
    dec_places(d);
}

static void
dec_mul(Dec *d)
{
    if (is_float(d)) {
        dec_float(d, HALF_MUL);
        return;
    }
    int part = dec_one(d, part_words);
    Type t = dec_type(d);
    if (part < 0)
        dec_fail(d, "one of .lo, .hi and .wide is missing");
    dec_run(d, part == 0 ? mul_lo_run : part == 1 ? mul_hi_run : mul_wide_run, t);
    if (part == 2)
        dec_wide(d, t, 2);
    else
        dec_same(d, t, 2);
    d->ins->undef = part == 0 ? UNDEF_CARRIES : UNDEF_WHOLE;
}

/* mad, which of floats is another name of fma, and madc */
static void
dec_mad(Dec *d)
{
    bool is_carried = !strcmp(d->op, "madc");
    if (!is_carried && is_float(d)) {
        dec_float(d, HALF_FMA);
        return;
    }
    bool cc = dec_has(d, "cc"), sat = dec_has(d, "sat");
    int part = dec_one(d, part_words);
    Type t = dec_type(d);
    if (part < 0)
        dec_fail(d, "one of .lo, .hi and .wide is missing");
    if (cc || is_carried) {
        if (part == 2)
            dec_fail(d, ".wide has no carry");
        dec_carry(d, t,
                  (is_carried ? CARRY_IN : 0) | (cc ? CARRY_OUT : 0) |
                      (part == 1 ? CARRY_HI : 0),
                  true);
        return;
    }
    dec_run(d, part == 0 ? mad_lo_run : part == 1 ? mad_hi_run : mad_wide_run, t);
    if (part == 2)
        dec_wide(d, t, 3);
    else
        dec_same(d, t, 3);
    if (sat && (part != 1 || t != T_S32))
        dec_fail(d, ".sat is for .hi.s32");
    if (sat)
        d->ins->run = mad_hi_sat;
    d->ins->undef = part == 0 ? UNDEF_CARRIES : UNDEF_WHOLE;
}

#define ROW(name, table, n, other)                                                     \
    static void dec_##name(Dec *d)                                                     \
    {                                                                                  \
        if (is_float(d)) {                                                             \
            other;                                                                     \
            return;                                                                    \
        }                                                                              \
        Type t = dec_type(d);                                                          \
        dec_run(d, table, t);                                                          \
        dec_same(d, t, n);                                                             \
    }
#define NO_FLOATS dec_fail(d, "not of floats")
ROW(div, div_run, 2, dec_float_div(d))
ROW(rem, rem_run, 2, NO_FLOATS)
ROW(sad, sad_run, 3, NO_FLOATS)
ROW(neg, neg_run, 1, dec_float_sign(d, true))
ROW(abs, abs_run, 1, dec_float_sign(d, false))
ROW(any_min, min_run, 2, dec_float_minmax(d, false))
ROW(any_max, max_run, 2, dec_float_minmax(d, true))

static void
dec_minmax(Dec *d)
{
    bool is_max = !strcmp(d->op, "max");
    if (is_float(d) || !dec_pairs(d, is_max ? PAIR_MAX : PAIR_MIN))
        (is_max ? dec_any_max : dec_any_min)(d);
}

static void
dec_fns(Dec *d)
{
    dec_refuse(d, dec_type(d) != T_B32);
    dec_same(d, T_B32, 3);
    d->ins->run = fns;
}

/* popc and clz, whose results have 32 bits, whatever is counted, and brev. */
static void
dec_bits(Dec *d)
{
    static Run *const popc[N_TYPES] = {[T_B32] = popc_b32, [T_B64] = popc_b64},
                      *const clz[N_TYPES] = {[T_B32] = clz_b32, [T_B64] = clz_b64},
                      *const brev[N_TYPES] = {[T_B32] = brev_b32, [T_B64] = brev_b64};
    Type t = dec_type(d);
    bool is_brev = !strcmp(d->op, "brev");
    dec_run(d, is_brev ? brev : !strcmp(d->op, "popc") ? popc : clz, t);
    dec_out(d, 0, is_brev ? type_info[t].bytes : 4);
    dec_in_typed(d, 1, t);
    dec_places(d);
}

static void
dec_bfind(Dec *d)
{
    d->ins->flags = dec_has(d, "shiftamt");
    Type t = dec_type(d);
    if (type_info[t].log2 < 2 || (type_info[t].kind != 'u' && type_info[t].kind != 's'))
        dec_fail(d, ".%s is not simulated", type_info[t].name);
    d->ins->type = (uint8_t)t;
    d->ins->run = bfind;
    dec_out(d, 0, 4);
    dec_in_typed(d, 1, t);
}

static void
dec_bfe(Dec *d)
{
    static Run *const run[N_TYPES] = {
        [T_U32] = bfe_u32, [T_U64] = bfe_u64, [T_S32] = bfe_s32, [T_S64] = bfe_s64};
    Type t = dec_type(d);
    dec_run(d, run, t);
    dec_out(d, 0, type_info[t].bytes);
    dec_in_typed(d, 1, t);
    dec_in(d, 2, 4);
    dec_in(d, 3, 4);
    dec_places(d);
    dec_bitwise(d, 1);
}

static void
dec_bfi(Dec *d)
{
    Type t = dec_type(d);
    if (t != T_B32 && t != T_B64)
        dec_fail(d, ".%s is not simulated", type_info[t].name);
    d->ins->run = bfi;
    dec_out(d, 0, type_info[t].bytes);
    dec_in_typed(d, 1, t);
    dec_in_typed(d, 2, t);
    dec_in(d, 3, 4);
    dec_in(d, 4, 4);
    dec_bitwise(d, 2);
}

static void
dec_bmsk(Dec *d)
{
    static const char *const mode[] = {"wrap", "clamp", NULL};
    int m = dec_one(d, mode);
    dec_refuse(d, m < 0 || dec_type(d) != T_B32);
    d->ins->flags = (uint16_t)m;
    d->ins->run = bmsk;
    dec_same(d, T_B32, 2);
}

static void
dec_szext(Dec *d)
{
    static Run *const run[N_TYPES] = {[T_U32] = szext_u32, [T_S32] = szext_s32};
    static const char *const mode[] = {"wrap", "clamp", NULL};
    int m = dec_one(d, mode);
    Type t = dec_type(d);
    dec_refuse(d, m < 0);
    d->ins->flags = (uint16_t)m;
    dec_run(d, run, t);
    dec_same(d, t, 2);
}

const OpRow integer_ops[] = {
    {"add", dec_add},     {"sub", dec_sub},         {"mul", dec_mul},
    {"mad", dec_mad},     {"addc", dec_with_carry}, {"subc", dec_with_carry},
    {"madc", dec_mad},    {"div", dec_div},         {"rem", dec_rem},
    {"sad", dec_sad},     {"neg", dec_neg},         {"abs", dec_abs},
    {"min", dec_minmax},  {"max", dec_minmax},      {"popc", dec_bits},
    {"clz", dec_bits},    {"brev", dec_bits},       {"fns", dec_fns},
    {"bfind", dec_bfind}, {"bfe", dec_bfe},         {"bfi", dec_bfi},
    {"bmsk", dec_bmsk},   {"szext", dec_szext},     {NULL, NULL},
};
