/* eval: what elementwise ops mean on one element. Fold, the interpreter and the tests
 * all ask here, so a constant folded at compile time equals the value computed at run
 * time.
 *
 * An element travels as the low bits of a uint64_t, the rest 0.
 *
 *     f64                computed in double
 *     f32                computed in float; math functions in double, then rounded
 *     f16 bf16 f8..      computed in float, then rounded once to the type. That is the
 *                        same as one rounding for + - * / sqrt: 24 bits of significand
 *                        are at least 2p + 2 for p <= 11 (Figueroa, "When is double
 *                        rounding innocuous?", 1995)
 *     integers           wrap; a shift by the width or more leaves only the sign
 *
 * Rule 1: the bits of a NaN that is computed are the positive quiet NaN without payload
 *         (f8: FloatForm.nan), whatever the machine's own habit, so that the same input
 *         gives the same bytes. neg, abs, select and bitcast move bits and keep payloads.
 * Rule 2: nothing here is undefined in C: no overflow, no out-of-range conversion.
 */
#include "ir/ir.h"

#include <math.h>

const FloatForm float_form[N_ELEM] = {
    [E_F16] = {10, 15, true, false, 0x7bff, 0x7e00, .one_zero = false},
    [E_BF16] = {7, 127, true, false, 0x7f7f, 0x7fc0, .one_zero = false},
    [E_F32] = {23, 127, true, false, 0x7f7fffff, 0x7fc00000, .one_zero = false},
    [E_F64] = {52, 1023, true, false, 0x7fefffffffffffff, 0x7ff8000000000000,
               .one_zero = false},
    [E_F8E4M3] = {3, 7, false, true, 0x7e, 0x7f, .one_zero = false},
    [E_F8E5M2] = {2, 15, true, true, 0x7b, 0x7f, .one_zero = false},
    /* 0x7f is 1.875, which no conversion gives: Triton's ends at 1.75, for NaN as well. */
    [E_F8E4B15] = {3, 15, false, true, 0x7e, 0x7e, .no_nan = true, .ties_away = true},
    [E_F8E4B8] = {3, 8, false, true, 0x7f, 0x80, .one_zero = true},
    [E_F8E5B16] = {2, 16, false, true, 0x7f, 0x80, .one_zero = true},
};

static uint64_t
low_bits(int n)
{
    return n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
}

static uint64_t
sign_bit(Elem e)
{
    return (uint64_t)1 << (elem_info[e].bits - 1);
}

static uint64_t
bits_of_double(double v)
{
    uint64_t u;
    memcpy(&u, &v, 8);
    return u;
}

static double
double_of_bits(uint64_t u)
{
    double v;
    memcpy(&v, &u, 8);
    return v;
}

static uint32_t
bits_of_float(float v)
{
    uint32_t u;
    memcpy(&u, &v, 4);
    return u;
}

/* ---- conversions ---------------------------------------------------------------- */

static bool
is_nan(Elem e, uint64_t bits)
{
    const FloatForm *f = &float_form[e];
    if (f->no_nan || f->one_zero)
        return f->one_zero && bits == f->nan;
    bits &= ~sign_bit(e);
    return f->has_inf ? bits > (low_bits(elem_info[e].bits - 1 - f->mant) << f->mant)
                      : bits == f->nan;
}

static double
float_to_double(Elem e, uint64_t bits)
{
    if (e == E_F64)
        return double_of_bits(bits);
    const FloatForm *f = &float_form[e];
    double sign = bits & sign_bit(e) ? -1.0 : 1.0;
    uint64_t negative = (bits & sign_bit(e)) != 0;
    uint64_t mant = bits & low_bits(f->mant);
    int exp_bits = elem_info[e].bits - 1 - f->mant;
    int exp = (int)(bits >> f->mant & low_bits(exp_bits));
    if (is_nan(e, bits))
        return copysign(NAN, f->one_zero ? 1 : sign);
    if (f->has_inf && exp == (int)low_bits(exp_bits))
        return sign * INFINITY;
    /* All of them are normal numbers of f64. */
    if (exp == 0)
        return sign * (double)mant *
               double_of_bits((uint64_t)(1 - f->bias - f->mant + 1023) << 52);
    return double_of_bits(negative << 63 | (uint64_t)(exp - f->bias + 1023) << 52 |
                          mant << (52 - f->mant));
}

static uint64_t
with_sign(Elem e, bool negative, uint64_t bits)
{
    return negative && (bits || !float_form[e].one_zero) ? bits | sign_bit(e) : bits;
}

/* sig * 2^exp, exactly, to a float type other than f64; sig is below 2^63 and sticky
 * says that a little more, less than one unit of sig, was cut off. One rounding. */
static uint64_t
round_to(Elem e, bool negative, uint64_t sig, int exp, bool sticky, int rounding)
{
    const FloatForm *f = &float_form[e];
    if (sig == 0)
        return with_sign(e, negative, 0);
    int top = 63 - __builtin_clzll(sig);
    /* The exponent of the last mantissa bit: by the leading one, or that of
     * subnormals. */
    int unit = MAX(exp + top - f->mant, 1 - f->bias - f->mant);
    int drop = unit - exp; /* bits of sig below the last bit */
    uint64_t m;
    bool up = false;
    if (drop <= 0) {
        m = sig << -drop; /* a short significand: nothing is lost */
        sticky = false;
    } else if (drop > 63) {
        m = 0; /* less than half of the smallest number */
    } else {
        m = sig >> drop;
        uint64_t rest = sig & low_bits(drop), half = (uint64_t)1 << (drop - 1);
        up = rest > half || (rest == half && (sticky || (m & 1) || f->ties_away));
    }
    if (up && (rounding == ROUND_RTNE || f->ties_away))
        m++;
    /* m counts units: with its leading one at bit mant it is normal, and adding it
     * to the biased exponent carries by itself when rounding reached the next power
     * of two. */
    int biased = unit + f->mant + f->bias; /* of a normal number; 1 for subnormals */
    if (m >> (f->mant + 1)) {
        m >>= 1;
        biased++;
    }
    bool normal = m >> f->mant;
    int exp_bits = elem_info[e].bits - 1 - f->mant;
    if (normal && biased > (int)low_bits(exp_bits))
        biased = (int)low_bits(exp_bits) + 1;
    uint64_t bits = normal ? ((uint64_t)biased << f->mant) + (m & low_bits(f->mant))
                           : m;
    if (bits > f->max)
        bits = f->saturates || rounding == ROUND_RTZ ? f->max
                                                     : low_bits(exp_bits) << f->mant;
    return with_sign(e, negative, bits);
}

/* v + a little of the sign of `rest` (0: nothing), rounded once. */
static uint64_t
double_to_float(Elem e, double v, double rest, int rounding)
{
    const FloatForm *f = &float_form[e];
    if (isnan(v))
        return f->nan;
    if (e == E_F64)
        return bits_of_double(v);
    if (e == E_F32 && rest == 0 && rounding == ROUND_RTNE)
        return bits_of_float((float)v);
    uint64_t u = bits_of_double(v);
    bool negative = u >> 63;
    if (isinf(v) && f->one_zero)
        return f->nan;
    if (isinf(v))
        return with_sign(e, negative,
                         f->saturates && !(rounding == ROUND_RTZ && f->has_inf)
                             ? f->max
                             : f->max + 1);
    uint64_t sig = u & low_bits(52);
    int exp = (int)(u >> 52 & 0x7ff);
    if (exp)
        sig |= (uint64_t)1 << 52;
    exp = MAX(exp, 1) - 1075;
    /* One bit more for what was cut off: v - tiny is (2 sig - 1) with more behind
     * it. */
    sig <<= 1, exp--;
    bool sticky = rest != 0;
    if (sticky && sig && (rest < 0) != negative)
        sig--;
    return round_to(e, negative, sig, exp, sticky, rounding);
}

double
elem_to_double(Elem e, uint64_t bits)
{
    if (elem_is_float(e))
        return float_to_double(e, bits);
    return elem_is_signed(e) ? (double)elem_to_int(e, bits) : (double)bits;
}

/* Toward zero, to the nearest that the type holds; NaN is 0. Bytes are the low half of
 * what 16 bits hold: a GPU converts to no fewer, and its 300.0 is 44 as int8. */
static uint64_t
double_to_int(Elem e, double v)
{
    int bits = elem_info[e].bits;
    if (bits == 8)
        return double_to_int(elem_is_signed(e) ? E_I16 : E_U16, v) & low_bits(8);
    if (e == E_I1)
        return v != 0; /* a NaN is not 0 either */
    if (isnan(v))
        return 0;
    v = trunc(v);
    if (!elem_is_signed(e)) {
        if (v <= 0)
            return 0;
        return v >= ldexp(1, bits) ? low_bits(bits) : (uint64_t)v;
    }
    double limit = ldexp(1, bits - 1);
    if (v >= limit)
        return low_bits(bits - 1);
    if (v < -limit)
        return sign_bit(e);
    return (uint64_t)(int64_t)v & low_bits(bits);
}

uint64_t
elem_from_double(Elem e, double v)
{
    return elem_is_float(e) ? double_to_float(e, v, 0, ROUND_RTNE)
                            : double_to_int(e, v);
}

int64_t
elem_to_int(Elem e, uint64_t bits)
{
    if (elem_is_signed(e) && bits & sign_bit(e))
        bits |= ~low_bits(elem_info[e].bits);
    return (int64_t)bits;
}

/* Integers reach the types below f32 through f32, as on every target. */
static uint64_t
int_to_float(Elem e, bool negative, uint64_t magnitude)
{
    if (e == E_F64) {
        double v = (double)magnitude;
        return bits_of_double(negative ? -v : v);
    }
    float v = (float)magnitude;
    if (negative)
        v = -v;
    return e == E_F32 ? bits_of_float(v) : double_to_float(e, v, 0, ROUND_RTNE);
}

uint64_t
elem_from_int(Elem e, int64_t v)
{
    if (elem_is_float(e))
        return int_to_float(e, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
    return (uint64_t)v & low_bits(elem_info[e].bits);
}

uint64_t
elem_cast(Elem from, Elem to, uint64_t bits, int rounding)
{
    if (from == to)
        return bits;
    if (elem_is_float(from)) {
        double v = float_to_double(from, bits);
        return elem_is_float(to) ? double_to_float(to, v, 0, rounding)
                                 : double_to_int(to, v);
    }
    if (to == E_I1)
        return bits != 0;
    int64_t v = elem_to_int(from, bits);
    if (!elem_is_float(to))
        return (uint64_t)v & low_bits(elem_info[to].bits);
    bool negative = elem_is_signed(from) && v < 0;
    return int_to_float(to, negative, negative ? 0 - (uint64_t)v : (uint64_t)v);
}

/* ---- integers ------------------------------------------------------------------- */

static uint64_t
high_product(uint64_t a, uint64_t b)
{
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t mid = ah * bl + (al * bl >> 32);
    uint64_t mid2 = al * bh + (uint32_t)mid;
    return ah * bh + (mid >> 32) + (mid2 >> 32);
}

/* Division as the hardware would: toward zero, and MIN / -1 wraps. */
static uint64_t
int_div(Elem e, uint64_t a, uint64_t b, bool want_rem)
{
    if (!elem_is_signed(e))
        return want_rem ? a % b : a / b;
    int64_t x = elem_to_int(e, a), y = elem_to_int(e, b);
    if (y == -1)
        return want_rem ? 0 : 0 - (uint64_t)x;
    return (uint64_t)(want_rem ? x % y : x / y);
}

static bool
eval_int(OpCode op, Elem e, const uint64_t *args, int n_args, uint64_t *res)
{
    int bits = elem_info[e].bits;
    uint64_t a = args[0], b = n_args > 1 ? args[1] : 0, r;
    int64_t x = elem_to_int(e, a), y = elem_to_int(e, b);
    bool less = elem_is_signed(e) ? x < y : a < b;
    switch (op) {
    case OP_ADD: r = a + b; break;
    case OP_SUB: r = a - b; break;
    case OP_MUL: r = a * b; break;
    case OP_DIV:
    case OP_REM:
        if (b == 0)
            return false;
        r = int_div(e, a, b, op == OP_REM);
        break;
    case OP_MIN: r = less ? a : b; break;
    case OP_MAX: r = less ? b : a; break;
    case OP_UMULHI: r = bits == 64 ? high_product(a, b) : a * b >> bits; break;
    case OP_AND: r = a & b; break;
    case OP_OR: r = a | b; break;
    case OP_XOR: r = a ^ b; break;
    case OP_SHL: r = b >= (uint64_t)bits ? 0 : a << b; break;
    case OP_SHR:
        r = b >= (uint64_t)bits ? 0 : a >> b;
        if (elem_is_signed(e) && x < 0)
            r |= b >= (uint64_t)bits ? UINT64_MAX : ~(low_bits(bits) >> b);
        break;
    case OP_NEG: r = 0 - a; break;
    case OP_ABS: r = elem_is_signed(e) && x < 0 ? 0 - a : a; break;
    case OP_EQ: *res = a == b; return true;
    case OP_NE: *res = a != b; return true;
    case OP_LT: *res = less; return true;
    case OP_LE: *res = less || a == b; return true;
    case OP_GT: *res = !less && a != b; return true;
    case OP_GE: *res = !less; return true;
    default: return false;
    }
    *res = r & low_bits(bits);
    return true;
}

/* ---- floats --------------------------------------------------------------------- */

/* -0 is below +0; with one NaN the other operand, or NaN where it wins. */
static double
float_min(double a, double b, bool nan_wins)
{
    if (isnan(a) || isnan(b))
        return nan_wins || (isnan(a) && isnan(b)) ? NAN : isnan(a) ? b : a;
    if (a == b)
        return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double
float_max(double a, double b, bool nan_wins)
{
    return -float_min(-a, -b, nan_wins);
}

/* a * b + c in e, rounded once. The product of two narrow floats is exact in double;
 * what the sum loses there is its error term (Knuth's two-sum), and its sign is all
 * that a second rounding needs to know. */
static uint64_t
float_fma(Elem e, double a, double b, double c)
{
    if (e == E_F64)
        return double_to_float(e, fma(a, b, c), 0, ROUND_RTNE);
    if (e == E_F32)
        return double_to_float(e, fmaf((float)a, (float)b, (float)c), 0, ROUND_RTNE);
    double p = a * b, s = p + c;
    double q = s - p, rest = (p - (s - q)) + (c - q);
    return double_to_float(e, s, isfinite(s) ? rest : 0, ROUND_RTNE);
}

static bool
eval_math(OpCode op, double x, double *r)
{
    switch (op) {
#define OP(...)
#define MATH(name, fn, ...)                                                            \
    case OP_##name: *r = fn(x); return true;
#include "ir/ops.def"
#undef OP
    case OP_ERF: *r = erf(x); return true;
    case OP_SQRT_RN: *r = sqrt(x); return true;
    case OP_RSQRT: *r = 1 / sqrt(x); return true;
    default: return false;
    }
}

/* The zero and the NaN of types with one zero have no sign. */
static bool
keeps_sign(Elem e, uint64_t bits)
{
    return float_form[e].one_zero && !(bits & ~sign_bit(e));
}

static bool
eval_float(OpCode op, Elem e, const uint64_t *args, int n_args, uint64_t *res)
{
    double v[3] = {0}, r;
    for (int i = 0; i < n_args && i < 3; i++)
        v[i] = float_to_double(e, args[i]);
    float x = (float)v[0], y = (float)v[1]; /* exact unless e is f64 */
    bool wide = e == E_F64;
    switch (op) {
    case OP_ADD: r = wide ? v[0] + v[1] : (double)(x + y); break;
    case OP_SUB: r = wide ? v[0] - v[1] : (double)(x - y); break;
    case OP_MUL: r = wide ? v[0] * v[1] : (double)(x * y); break;
    case OP_DIV:
    case OP_DIV_APPROX:
    case OP_DIV_RN: r = wide ? v[0] / v[1] : (double)(x / y); break;
    case OP_REM: r = fmod(v[0], v[1]); break; /* exact */
    case OP_MIN: r = float_min(v[0], v[1], false); break;
    case OP_MAX: r = float_max(v[0], v[1], false); break;
    case OP_MINNAN: r = float_min(v[0], v[1], true); break;
    case OP_MAXNAN: r = float_max(v[0], v[1], true); break;
    case OP_NEG:
        *res = keeps_sign(e, args[0]) ? args[0] : args[0] ^ sign_bit(e);
        return true;
    case OP_ABS:
        *res = keeps_sign(e, args[0]) ? args[0] : args[0] & ~sign_bit(e);
        return true;
    case OP_FMA: *res = float_fma(e, v[0], v[1], v[2]); return true;
    case OP_EQ: *res = v[0] == v[1]; return true;
    case OP_NE: *res = v[0] != v[1]; return true;
    case OP_LT: *res = v[0] < v[1]; return true;
    case OP_LE: *res = v[0] <= v[1]; return true;
    case OP_GT: *res = v[0] > v[1]; return true;
    case OP_GE: *res = v[0] >= v[1]; return true;
    default:
        if (!eval_math(op, v[0], &r))
            return false;
    }
    *res = double_to_float(e, r, 0, ROUND_RTNE);
    return true;
}

bool
ir_eval(OpCode op, Elem in, Elem out, const uint64_t *args, int n_args, uint64_t *res)
{
    switch (op) {
    case OP_SELECT: *res = args[0] & 1 ? args[1] : args[2]; return true;
    case OP_CAST: *res = elem_cast(in, out, args[0], ROUND_RTNE); return true;
    case OP_BITCAST: *res = args[0] & low_bits(elem_info[out].bits); return true;
    case OP_HINT: *res = args[0]; return true;
    case OP_ADDPTR:
        *res = args[0] + (uint64_t)elem_to_int(in, args[1]) * elem_info[out].bytes;
        return true;
    default:
        return elem_is_float(in) ? eval_float(op, in, args, n_args, res)
                                 : eval_int(op, in, args, n_args, res);
    }
}

bool
ir_neutral(OpCode op, Elem e, uint64_t *bits)
{
    bool is_float = elem_is_float(e), is_signed = elem_is_signed(e);
    int n = elem_info[e].bits;
    uint64_t ones = UINT64_MAX >> (64 - n), top = (uint64_t)1 << (n - 1),
             nan = elem_from_double(e, NAN);
    switch (op) {
    case OP_ADD:
        *bits = elem_from_double(e, -0.0);
        return true; /* -0.0 + -0.0 is -0.0 */
    case OP_MUL: *bits = elem_from_double(e, 1); return true;
    case OP_OR:
    case OP_XOR: *bits = 0; return true;
    case OP_AND: *bits = ones; return true;
    case OP_MIN: *bits = is_float ? nan : is_signed ? ones ^ top : ones; return true;
    case OP_MAX: *bits = is_float ? nan : is_signed ? top : 0; return true;
    case OP_MINNAN: *bits = elem_from_double(e, INFINITY); return true;
    case OP_MAXNAN: *bits = elem_from_double(e, -INFINITY); return true;
    default: return false;
    }
}
