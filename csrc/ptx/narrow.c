/* narrow: integers narrower than their register: two of 16 bits, products of 24, sums of
 * products of bytes, and narrow ones packed into a word.
 */
#include "ptx/half.h"
#include "ptx/lanes.h"

/* ---- two of 16 bits -------------------------------------------------------------- */

#define PAIR(name, T, expr)                                                            \
    static inline uint32_t name##_one(uint32_t a, uint32_t b)                          \
    {                                                                                  \
        T x = (T)a, y = (T)b;                                                          \
        return (uint16_t)(expr);                                                       \
    }                                                                                  \
    BINARY(name, uint32_t, uint32_t,                                                   \
           name##_one(x, y) | name##_one(x >> 16, y >> 16) << 16)
PAIR(add_pair, uint16_t, x + y)
PAIR(min_u16x2, uint16_t, x < y ? x : y)
PAIR(max_u16x2, uint16_t, x > y ? x : y)
PAIR(min_s16x2, int16_t, x < y ? x : y)
PAIR(max_s16x2, int16_t, x > y ? x : y)
PAIR(min_relu_s16x2, int16_t, x < 0 || y < 0 ? 0 : x < y ? x : y)
PAIR(max_relu_s16x2, int16_t, x < 0 && y < 0 ? 0 : x > y ? x : y)
BINARY(min_relu_s32, int32_t, int32_t, x < 0 || y < 0 ? 0 : x < y ? x : y)
BINARY(max_relu_s32, int32_t, int32_t, x < 0 && y < 0 ? 0 : x > y ? x : y)

bool
dec_pairs(Dec *d, PairOp op)
{
    static Run *const run[][3] = {
        [PAIR_ADD] = {add_pair, add_pair, NULL},
        [PAIR_MIN] = {min_u16x2, min_s16x2, min_relu_s16x2},
        [PAIR_MAX] = {max_u16x2, max_s16x2, max_relu_s16x2},
    };
    static const char *const words[] = {"u16x2", "s16x2", NULL};
    int t = dec_one(d, words);
    bool relu = t >= 0 ? dec_has(d, "relu") : op != PAIR_ADD && dec_has(d, "relu");
    if (t < 0 && !relu)
        return false;
    dec_since(d, 90);
    dec_refuse(d, (t < 0 && dec_type(d) != T_S32) || (relu && t == 0) ||
                      (relu && !run[op][2]));
    dec_same(d, T_B32, 2);
    d->ins->run = t >= 0           ? run[op][relu ? 2 : t]
                  : op == PAIR_MIN ? min_relu_s32
                                   : max_relu_s32;
    d->ins->undef = t >= 0 ? UNDEF_HALVES : UNDEF_WHOLE;
    return true;
}

/* ---- products of 24 bits --------------------------------------------------------- */

#define LOW24(x) ((int64_t)((int32_t)((uint32_t)(x) << 8) >> 8))
#define PRODUCT_u32(x, y) ((uint64_t)((x) & 0xffffff) * ((y) & 0xffffff))
#define PRODUCT_s32(x, y) (LOW24(x) * LOW24(y))
/* .hi: the upper 32 of 48 bits. */
BINARY(mul24_lo_u32, uint32_t, uint32_t, PRODUCT_u32(x, y))
BINARY(mul24_lo_s32, int32_t, int32_t, PRODUCT_s32(x, y))
BINARY(mul24_hi_u32, uint32_t, uint32_t, PRODUCT_u32(x, y) >> 16)
BINARY(mul24_hi_s32, int32_t, int32_t, PRODUCT_s32(x, y) >> 16)
TERNARY(mad24_lo_u32, uint32_t, uint32_t, uint32_t, PRODUCT_u32(x, y) + z)
TERNARY(mad24_lo_s32, int32_t, int32_t, int32_t, PRODUCT_s32(x, y) + z)
TERNARY(mad24_hi_u32, uint32_t, uint32_t, uint32_t, (PRODUCT_u32(x, y) >> 16) + z)
TERNARY(mad24_hi_s32, int32_t, int32_t, int32_t, (PRODUCT_s32(x, y) >> 16) + z)

static int64_t
clamped(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}
TERNARY(mad24_hi_sat, int32_t, int32_t, int32_t,
        clamped((PRODUCT_s32(x, y) >> 16) + z, INT32_MIN, INT32_MAX))

static void
dec_24(Dec *d)
{
    static Run *const run[2][2][2] = {
        {{mul24_lo_u32, mul24_lo_s32}, {mul24_hi_u32, mul24_hi_s32}},
        {{mad24_lo_u32, mad24_lo_s32}, {mad24_hi_u32, mad24_hi_s32}}};
    static const char *const parts[] = {"lo", "hi", NULL};
    bool is_mad = !strcmp(d->op, "mad24"), sat = dec_has(d, "sat");
    int part = dec_one(d, parts);
    Type t = dec_type(d);
    dec_refuse(d, part < 0 || (t != T_U32 && t != T_S32) ||
                      (sat && (!is_mad || part == 0 || t != T_S32)));
    dec_same(d, t, is_mad ? 3 : 2);
    d->ins->run = sat ? mad24_hi_sat : run[is_mad][part][t == T_S32];
}

/* ---- sums of products ------------------------------------------------------------ */

/* dp4a: four products of bytes; dp2a: two of 16 bits by a byte. */
enum { DP_A_SIGNED = 1, DP_B_SIGNED = 2, DP_TWO = 4, DP_HI = 8 };

static uint64_t
sum_of_products(int flags, uint64_t a, uint64_t b, uint64_t c)
{
    for (int k = 0; k < (flags & DP_TWO ? 2 : 4); k++) {
        int at = flags & DP_TWO ? 16 * k : 8 * k;
        int bt = flags & DP_TWO ? 8 * k + (flags & DP_HI ? 16 : 0) : 8 * k;
        int64_t x =
            flags & DP_TWO
                ? (flags & DP_A_SIGNED ? (int16_t)(a >> at) : (uint16_t)(a >> at))
                : (flags & DP_A_SIGNED ? (int8_t)(a >> at) : (uint8_t)(a >> at));
        int64_t y = flags & DP_B_SIGNED ? (int8_t)(b >> bt) : (uint8_t)(b >> bt);
        c += (uint64_t)(x * y);
    }
    return c;
}
BY_WORD(dp, sum_of_products(i->flags, x, y, z))

static void
dec_dp(Dec *d)
{
    bool two = !strcmp(d->op, "dp2a");
    static const char *const half[] = {"lo", "hi", NULL};
    int hi = two ? dec_one(d, half) : 0;
    Type a = dec_type(d), b = dec_maybe_type(d);
    dec_refuse(d, hi < 0 || (a != T_U32 && a != T_S32) || (b != T_U32 && b != T_S32));
    d->ins->flags = (uint16_t)((a == T_S32 ? DP_A_SIGNED : 0) |
                               (b == T_S32 ? DP_B_SIGNED : 0) | (two ? DP_TWO : 0) |
                               (hi ? DP_HI : 0));
    dec_same(d, T_B32, 3);
    d->ins->run = dp;
}

/* ---- cvt.pack -------------------------------------------------------------------- */

/* a and b clamped and side by side, b below; what was in c goes above them. */
typedef struct Pack {
    int bits;
    bool is_signed;
} Pack;

static uint64_t
packed(const Pack *p, uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t mask = (UINT64_C(1) << p->bits) - 1;
    int64_t most = (int64_t)(p->is_signed ? mask >> 1 : mask),
            least = p->is_signed ? -most - 1 : 0;
    uint64_t high = (uint64_t)clamped((int32_t)a, least, most) & mask,
             low = (uint64_t)clamped((int32_t)b, least, most) & mask;
    return c << 2 * p->bits | high << p->bits | low;
}
BY_WORD(pack_two, packed(i->more, x, y, z))

void
dec_pack(Dec *d)
{
    static const struct {
        const char *name;
        Pack pack;
    } rows[] = {{"u16", {16, false}}, {"s16", {16, true}}, {"u8", {8, false}},
                {"s8", {8, true}},    {"u4", {4, false}},  {"s4", {4, true}},
                {"u2", {2, false}},   {"s2", {2, true}}};
    Pack *p = dec_more(d, sizeof *p);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!p->bits && dec_has(d, rows[k].name))
            *p = rows[k].pack;
    bool is_whole = p->bits == 16;
    dec_refuse(d, !p->bits || !dec_has(d, "sat") || dec_type(d) != T_S32 ||
                      (!is_whole && dec_type(d) != T_B32));
    dec_same(d, T_B32, is_whole ? 2 : 3);
    d->ins->run = pack_two;
}

const OpRow narrow_ops[] = {{"mul24", dec_24},
                            {"mad24", dec_24},
                            {"dp4a", dec_dp},
                            {"dp2a", dec_dp},
                            {NULL, NULL}};
