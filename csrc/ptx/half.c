/* half: arithmetic on f16 and bf16: exact in double, then rounded once.
 *
 * Sums and products of halves fit double, or are off by less than could matter. The sum in
 * a fma is not: it is rounded to odd first (the last bit of double tells that something
 * was cut), which makes the second rounding the only one. Boldo and Melquiond, 2008.
 */
#include "ptx/half.h"
#include "ptx/lanes.h"

#include <math.h>

double
half_value(Type t, uint64_t bits)
{
    return fmt_to_double(t == T_F16 ? FMT_F16 : FMT_BF16, bits & 0xffff);
}

uint64_t
half_bits(Type t, double x)
{
    return fmt_from_double(t == T_F16 ? FMT_F16 : FMT_BF16, FMT_RN, false, x);
}

double
lane_float(Type t, uint64_t bits, bool ftz)
{
    if (t == T_F64)
        return f64_of_bits(bits);
    if (t == T_F32) {
        float f = f32_of_bits((uint32_t)bits);
        return ftz ? flushed(f) : f;
    }
    double x = half_value(t, bits);
    return ftz && t == T_F16 && fabs(x) < 0x1p-14 ? copysign(0, x) : x;
}

static double
sum_to_odd(double a, double b)
{
    double s = a + b;
    if (!isfinite(s))
        return s;
    double bb = s - a, rest = (a - (s - bb)) + (b - bb);
    uint64_t bits = bits_of_f64(s);
    if (rest != 0 && !(bits & 1))
        bits += (rest > 0) == (s > 0) ? 1 : -UINT64_C(1);
    return f64_of_bits(bits);
}

enum { FTZ = 1, SAT = 2, RELU = 4, XORSIGN = 8 };

static uint64_t
one(const Ins *i, Type t, uint64_t a, uint64_t b, uint64_t c)
{
    bool ftz = i->flags & FTZ;
    a &= 0xffff, b &= 0xffff;
    bool is_quiet = i->op == HALF_ABS && (t == T_F16 || i->type == T_BF16X2);
    if ((i->op == HALF_NEG || is_quiet) &&
        (a & 0x7fff) > (t == T_F16 ? 0x7c00 : 0x7f80))
        return 0x7fff; /* as the hardware does it */
    if (i->op == HALF_NEG)
        return a ^ 0x8000;
    if (i->op == HALF_ABS)
        return a & 0x7fff;
    uint64_t sign = i->flags & XORSIGN ? (a ^ b) & 0x8000 : 0;
    if (i->flags & XORSIGN)
        a &= 0x7fff, b &= 0x7fff;
    double x = lane_float(t, a, ftz), y = lane_float(t, b, ftz), r = 0;
    bool less = x < y || (x == y && signbit(x) && !signbit(y));
    switch (i->op) {
    case HALF_ADD: r = x + y; break;
    case HALF_SUB: r = x - y; break;
    case HALF_MUL: r = x * y; break;
    case HALF_FMA: r = sum_to_odd(x * y, lane_float(t, c & 0xffff, ftz)); break;
    case HALF_EX2: r = exp2(x); break;
    case HALF_TANH: r = tanh(x); break;
    default: {
        bool is_max = i->op == HALF_MAX || i->op == HALF_MAX_NAN;
        if (x == x && y == y)
            r = less != is_max ? x : y;
        else if (i->op == HALF_MIN_NAN || i->op == HALF_MAX_NAN)
            r = NAN;
        else
            r = x == x ? x : y;
    }
    }
    if (i->flags & SAT)
        r = !(r > 0) ? 0 : r > 1 ? 1 : r;
    if (i->flags & RELU && r <= 0)
        r = 0; /* of -0, too */
    uint64_t bits = half_bits(t, r);
    if (r == r)
        bits |= sign;
    return ftz && (bits & 0x7c00) == 0 && t == T_F16 ? bits & 0x8000 : bits;
}

/* ---- the usual ones, fast -------------------------------------------------------- */
/* Sums and products of halves in f32, rounded once more, are as if rounded once: f32 has
 * more than twice the bits and two (Figueroa, 1995). A fma is computed in double as above. */

/* To nearest even; NaN is 0x7fff. */
static inline uint32_t
f16_of_float(float x)
{
    uint32_t bits = bits_of_f32(x);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff, code;
    uint32_t sum =
        bits_of_f32(fabsf(x) + 0.5f); /* its last bit is that of a subnormal half */
    code = size < 0x38800000 ? sum - 0x3f000000
                             : (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
    code = size >= 0x47800000 ? 0x7c00 : code;
    return size > 0x7f800000 ? 0x7fff : sign | code;
}

static inline float
float_of_bf16(uint32_t h)
{
    return f32_of_bits(h << 16);
}

static inline uint32_t
bf16_of_float(float x)
{
    uint32_t bits = bits_of_f32(x);
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fff
                                            : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

#define PAIR(name, of, to, expr)                                                       \
    static void name(Lanes *w, const Ins *i, uint32_t m)                               \
    {                                                                                  \
        uint32_t *d = LANE(uint32_t, w, i->d);                                         \
        const uint32_t *a = LANE(uint32_t, w, i->a), *b = LANE(uint32_t, w, i->b);     \
        for (int l = 0; l < LANES; l++) {                                              \
            float x = of(a[l] & 0xffff), y = of(b[l] & 0xffff);                        \
            uint32_t r = to(expr);                                                     \
            x = of(a[l] >> 16), y = of(b[l] >> 16);                                    \
            r |= to(expr) << 16;                                                       \
            d[l] = m >> l & 1 ? r : d[l];                                              \
        }                                                                              \
    }
PAIR(add_f16x2, f16_of_bits, f16_of_float, x + y)
PAIR(sub_f16x2, f16_of_bits, f16_of_float, x - y)
PAIR(mul_f16x2, f16_of_bits, f16_of_float, x *y)
PAIR(add_bf16x2, float_of_bf16, bf16_of_float, x + y)
PAIR(sub_bf16x2, float_of_bf16, bf16_of_float, x - y)
PAIR(mul_bf16x2, float_of_bf16, bf16_of_float, x *y)

static Run *const fast[][2] = {[HALF_ADD] = {add_f16x2, add_bf16x2},
                               [HALF_SUB] = {sub_f16x2, sub_bf16x2},
                               [HALF_MUL] = {mul_f16x2, mul_bf16x2}};

/* Of two halves in a word, or of one. */
static uint64_t
of_halves(const Ins *i, uint64_t x, uint64_t y, uint64_t z)
{
    Type t = i->type == T_F16 || i->type == T_F16X2 ? T_F16 : T_BF16;
    uint64_t r = one(i, t, x, y, z);
    return type_info[i->type].bytes < 4
               ? r
               : r | one(i, t, x >> 16, y >> 16, z >> 16) << 16;
}
BY_WORD(run_half, of_halves(i, x, y, z))

void
dec_half_xorsign(Dec *d)
{
    dec_since(d, 86);
    d->ins->flags |= XORSIGN;
}

void
dec_half(Dec *d, Type t, HalfOp op, int n, bool ftz, bool sat, bool relu)
{
    bool is_bf16 = t == T_BF16 || t == T_BF16X2;
    dec_refuse(d, is_bf16 && (ftz || sat) && op != HALF_EX2);
    if (is_bf16 && op <= HALF_MUL && dec_sm(d) < 90)
        dec_fail(d, "bfloat16 has only fma before sm_90");
    dec_out(d, 0, type_info[t].bytes);
    for (int k = 1; k <= n; k++)
        dec_in(d, k, type_info[t].bytes);
    d->ins->op = (uint8_t)op;
    d->ins->type = (uint8_t)t;
    d->ins->flags = (uint16_t)((ftz ? FTZ : 0) | (sat ? SAT : 0) | (relu ? RELU : 0));
    d->ins->run = run_half;
    d->ins->undef = type_info[t].bytes == 4 ? UNDEF_HALVES : UNDEF_WHOLE;
    if (op <= HALF_MUL && !d->ins->flags && type_info[t].bytes == 4) {
        dec_places(d);
        d->ins->run = fast[op][is_bf16];
    }
}
