/* floats: every float format of PTX that our code meets, and cvt between them.
 *
 * A format is a row: so many bits of exponent and mantissa, where they stand in the
 * register, the code of its largest number, whether infinity follows it. One function
 * rounds a double into any of them, one goes back. A double holds all the others exactly,
 * so that rounding from any source is rounding once.
 *
 * Codes without sign grow with the numbers they stand for, subnormals included: an
 * overflow is a code above the largest, and a carry out of the mantissa needs no care.
 * Source: PTX ISA, "cvt", "alternate floating-point data formats".
 */
#include <math.h>
#include <string.h>

#include "ptx/formats.h"

typedef struct Format {
    const char *name;
    int bits;          /* of the register */
    int exp, man, low; /* bits of exponent and mantissa; unused bits below */
    uint64_t max, nan; /* codes without sign, before they are moved up by `low` */
    bool has_inf;      /* it is max + 1 */
} Format;

/* clang-format off */
static const Format format[FMT_N_TYPES] = {
    /*             name   bits exp man low  max                    nan                  inf */
    [FMT_F64]  = {"f64",   64, 11, 52,  0, 0x7fefffffffffffffu, 0x7fffffffffffffffu, true},
    [FMT_F32]  = {"f32",   32,  8, 23,  0, 0x7f7fffff,          0x7fffffff,          true},
    [FMT_TF32] = {"tf32",  32,  8, 10, 13, 0x3fbff,             0x3ffff,             true},
    [FMT_F16]  = {"f16",   16,  5, 10,  0, 0x7bff,              0x7fff,              true},
    [FMT_BF16] = {"bf16",  16,  8,  7,  0, 0x7f7f,              0x7fff,              true},
    [FMT_E2M1] = {"e2m1",   4,  2,  1,  0, 0x7,                 0x7,                 false},
    [FMT_E2M3] = {"e2m3",   8,  2,  3,  0, 0x1f,                0x1f,                false},
    [FMT_E3M2] = {"e3m2",   8,  3,  2,  0, 0x1f,                0x1f,                false},
    [FMT_UE8M0]= {"ue8m0",  8,  8,  0,  0, 0xfe,                0xff,                false},
    [FMT_E4M3] = {"e4m3",   8,  4,  3,  0, 0x7e,                0x7f,                false},
    [FMT_E5M2] = {"e5m2",   8,  5,  2,  0, 0x7b,                0x7f,                true},
    [FMT_S32]  = {"s32",   32,  0,  0,  0, 0,                   0,                   false},
    [FMT_S8]   = {"s8",     8,  0,  0,  0, 0,                   0,                   false},
    [FMT_U8]   = {"u8",     8,  0,  0,  0, 0,                   0,                   false},
    [FMT_S4]   = {"s4",     4,  0,  0,  0, 0,                   0,                   false},
    [FMT_U4]   = {"u4",     4,  0,  0,  0, 0,                   0,                   false},
    [FMT_B1]   = {"b1",     1,  0,  0,  0, 0,                   0,                   false},
};
/* clang-format on */

static bool
is_word(const char *text, int len, const char *word)
{
    return (int)strlen(word) == len && !memcmp(text, word, (size_t)len);
}

FloatType
fmt_named(const char *word, int len)
{
    for (int t = 0; t < FMT_N_TYPES; t++)
        if (is_word(word, len, format[t].name))
            return (FloatType)t;
    return FMT_N_TYPES;
}

int
fmt_bits(FloatType t)
{
    return format[t].bits;
}

/* Where the sign stands. */
static int
sign_bit(FloatType t)
{
    return t == FMT_E2M3 || t == FMT_E3M2 ? 5 : format[t].bits - 1;
}

double
fmt_to_double(FloatType t, uint64_t bits)
{
    const Format *f = &format[t];
    if (t == FMT_F64)
        return f64_of_bits(bits);
    if (t == FMT_F32 || t == FMT_BF16)
        return f32_of_bits((uint32_t)(t == FMT_F32 ? bits : bits << 16));
    if (t == FMT_F16)
        return f16_of_bits((uint32_t)bits);
    if (t == FMT_UE8M0)
        return (bits & 255) == 255 ? NAN : ldexp(1, (int)(bits & 255) - 127);
    uint64_t code = bits >> f->low & (((uint64_t)1 << (f->exp + f->man)) - 1);
    uint64_t sign = bits >> sign_bit(t) & 1;
    int exp = (int)(code >> f->man), bias = (1 << (f->exp - 1)) - 1;
    double x;
    if (code > f->max)
        x = f->has_inf && code == f->max + 1 ? INFINITY : NAN;
    else if (exp == 0) /* man * 2^(1 - bias - f->man), a power that a double has */
        x = (double)code * f64_of_bits((uint64_t)(1023 + 1 - bias - f->man) << 52);
    else
        x = f64_of_bits((uint64_t)(1023 + exp - bias) << 52 |
                        (code << (52 - f->man) & 0xfffffffffffffu));
    return sign ? -x : x;
}

/* Is a significand q with a remainder rounded up? */
static bool
rounds_up(FmtRounding r, bool is_negative, uint64_t q, uint64_t rest, uint64_t half)
{
    switch (r) {
    case FMT_RN: return rest > half || (rest == half && (q & 1));
    case FMT_RNA: return rest >= half;
    case FMT_RZ: return false;
    case FMT_RM: return rest && is_negative;
    case FMT_RP: return rest && !is_negative;
    case FMT_RS: break;
    }
    return false;
}

/* The power of two at |x| or, by FMT_RP, above it. */
static uint64_t
power_from_double(FmtRounding r, bool to_finite, double x)
{
    if (isinf(x))
        return to_finite ? 254 : 255;
    int exp;
    double half = frexp(fabs(x), &exp); /* |x| = half * 2^exp, half in [0.5, 1) */
    int code = x == 0 ? 0 : exp - 1 + 127 + (r == FMT_RP && half > 0.5);
    return (uint64_t)(code < 0 ? 0 : code > 254 ? 254 : code);
}

/* How a number is rounded, and the random bits of FMT_RS. */
typedef struct Rounding {
    FmtRounding mode;
    uint32_t random;
    int n_random;
} Rounding;

/* Do the upper bits of what is cut, and the random ones, carry? */
static bool
carries(const Rounding *by, uint64_t sig, int cut)
{
    int below = cut - by->n_random;
    uint64_t rest = cut > 63 ? sig : sig & ((UINT64_C(1) << cut) - 1);
    return below < 64 && ((rest >> below) + by->random) >> by->n_random;
}

/* A double as a float of that type, rounded once. */
static uint64_t
rounded(FloatType t, const Rounding *by, bool to_finite, double x)
{
    FmtRounding r = by->mode;
    const Format *f = &format[t];
    if (isnan(x))
        return f->nan << f->low;
    if (t == FMT_F64)
        return to_finite && isinf(x) ? f->max | (uint64_t)(x < 0) << 63
                                     : bits_of_f64(x);
    if (t == FMT_F32 && r == FMT_RN && !to_finite)
        return bits_of_f32((float)x);
    if (t == FMT_UE8M0)
        return power_from_double(r, to_finite, x);
    uint64_t bits = bits_of_f64(x), sig = bits & 0xfffffffffffffu;
    bool is_negative = bits >> 63;
    int exp = (int)(bits >> 52 & 0x7ff), least = 1 - ((1 << (f->exp - 1)) - 1);
    uint64_t code;
    if (exp == 0x7ff) {
        code = f->max + 1; /* infinity overflows */
        r = FMT_RN;
    } else {
        if (exp)
            sig |= (uint64_t)1 << 52;
        else
            exp = 1;
        exp -= 1023; /* x = sig * 2^(exp - 52) */
        int cut = 52 - f->man + (exp < least ? least - exp : 0);
        bool up = r == FMT_RS && carries(by, sig, cut);
        if (cut > 60)
            cut = 60; /* nothing is left of sig, and its rest is below a half */
        uint64_t q = sig >> cut, rest = sig & (((uint64_t)1 << cut) - 1);
        q += up || rounds_up(r, is_negative, q, rest, (uint64_t)1 << (cut - 1));
        code = q + (exp > least ? (uint64_t)(exp - least) << f->man : 0);
    }
    if (code > f->max) {
        bool goes_to_max = to_finite || r == FMT_RZ || (r == FMT_RM && !is_negative) ||
                           (r == FMT_RP && is_negative);
        code = goes_to_max ? f->max : f->has_inf ? f->max + 1 : f->nan;
    }
    return code << f->low | (uint64_t)is_negative << sign_bit(t);
}

uint64_t
fmt_from_double(FloatType t, FmtRounding r, bool to_finite, double x)
{
    return rounded(t, &(Rounding){.mode = r}, to_finite, x);
}

uint64_t
fmt_from_random(FloatType t, uint32_t bits, int n, bool to_finite, double x)
{
    return rounded(t, &(Rounding){FMT_RS, bits, n}, to_finite, x);
}

/* "f16x2": FMT_F16 and 2 */
static FloatType
packed_type(const char *word, int len, int *n)
{
    *n = len > 2 && word[len - 2] == 'x' && word[len - 1] == '2' ? 2 : 1;
    FloatType t = fmt_named(word, *n == 2 ? len - 2 : len);
    return t <= FMT_E5M2 ? t : FMT_N_TYPES;
}

/* Pairs always say how they are rounded. */
static bool
wants_rounding(const FmtCvt *c)
{
    return c->n == 2 || format[c->from].exp > format[c->to].exp ||
           format[c->from].man > format[c->to].man || c->to == FMT_TF32;
}

static bool
may_be_modified(const FmtCvt *c)
{
    bool is_small = fmt_bits(c->to) <= 8;
    if (c->relu && (c->sat || c->ftz || c->to == FMT_F32 || c->to == FMT_F64))
        return false;
    if ((c->sat || c->ftz) && (c->n == 2 || c->to_finite))
        return false;
    if (c->rounding == FMT_RNA && c->to != FMT_TF32)
        return false;
    if ((c->sat && (c->to == FMT_BF16 || c->from == FMT_BF16 || c->to == FMT_TF32)) ||
        (c->ftz && c->to != FMT_F32 && c->from != FMT_F32))
        return false;
    if (c->to == FMT_UE8M0)
        return c->rounding == FMT_RZ || c->rounding == FMT_RP;
    return !is_small || (c->n == 2 && c->rounding == FMT_RN && c->to_finite);
}

bool
fmt_cvt_decode(FmtCvt *c, const char *opcode)
{
    static const char *const rounding[] = {
        [FMT_RN] = "rn", [FMT_RNA] = "rna", [FMT_RZ] = "rz",
        [FMT_RM] = "rm", [FMT_RP] = "rp",
    };
    const struct {
        const char *word;
        bool *is;
    } flags[] = {{"satfinite", &c->to_finite},
                 {"relu", &c->relu},
                 {"sat", &c->sat},
                 {"ftz", &c->ftz}};
    *c = (FmtCvt){.to = FMT_N_TYPES, .from = FMT_N_TYPES, .rounding = FMT_RN};
    int n_from = 0, n_roundings = 0;
    if (strncmp(opcode, "cvt.", 4))
        return false;
    for (const char *w = opcode + 4, *end; w; w = *end ? end + 1 : NULL) {
        int len = (int)strcspn(w, "."), r = 0, f = 0;
        end = w + len;
        while (r <= FMT_RP && !is_word(w, len, rounding[r]))
            r++;
        while (f < 4 && !is_word(w, len, flags[f].word))
            f++;
        if (r <= FMT_RP)
            c->rounding = (FmtRounding)r, n_roundings++;
        else if (f < 4)
            *flags[f].is = true;
        else if (c->to == FMT_N_TYPES &&
                 (c->to = packed_type(w, len, &c->n)) < FMT_N_TYPES)
            continue;
        else if (c->to == FMT_N_TYPES || c->from != FMT_N_TYPES ||
                 (c->from = packed_type(w, len, &n_from)) == FMT_N_TYPES)
            return false;
    }
    if (c->from == FMT_N_TYPES || n_from > c->n)
        return false;
    c->n_sources = c->n == 2 && n_from == 1 ? 2 : 1;
    if (n_roundings && !wants_rounding(c) && (c->to == FMT_F64 || c->from == FMT_F16))
        return false;
    return n_roundings <= 1 && (n_roundings || !wants_rounding(c)) &&
           may_be_modified(c);
}

/* A number on its way, after its source was read and before it is rounded. */
static double
adjusted(const FmtCvt *c, double x)
{
    if (c->ftz && c->from == FMT_F32 && fabs(x) < 0x1p-126)
        x = copysign(0, x);
    if (c->sat)
        x = isnan(x) || x <= 0 ? 0 : x > 1 ? 1 : x;
    if (c->relu && x <= 0)
        x = 0;
    return x;
}

uint64_t
fmt_cvt_run(const FmtCvt *c, uint64_t a, uint64_t b)
{
    int from = format[c->from].bits, to = format[c->to].bits;
    uint64_t d = 0;
    for (int i = 0; i < c->n; i++) { /* the lower number first */
        uint64_t word = c->n_sources == 2 ? (i ? a : b) : a >> i * from;
        double x = adjusted(c, fmt_to_double(c->from, word));
        uint64_t y = fmt_from_double(c->to, c->rounding, c->to_finite, x);
        if (isnan(x) && c->to == FMT_TF32 && c->rounding == FMT_RNA)
            y = word & 0xffffe000; /* an H200 cuts NaN like a number, by .rna alone */
        if (c->ftz && c->to == FMT_F32 && !(y & 0x7f800000))
            y &= 0x80000000;
        d |= y << i * to;
    }
    return d;
}
