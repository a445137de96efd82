/* math_f64: exp, log, sin, .. of one f64 for GPUs, where there is no libm to call.
 *
 * Straight-line code: reduce the argument, add up a series long enough that what is left
 * is below 2^-55 of the result, put the reduction back. Series are Taylor's (the tables
 * are factorials) but for erf: Chebyshev fits of our own, of erf(x) / x in x^2 below 1 and
 * of erfc(x) exp(x^2) in 1 / (x + 4) above. Against libm over random arguments:
 *
 *     exp exp2 log log2 erf    2 ulp
 *     tanh                     3 ulp
 *     sin cos                  2 ulp up to |x| = 2^20; the error grows with |x| beyond, and
 *                              above 2^51 the result is NaN
 */
#include "codegen/simt/machine.h"

static const double exp_tail[] = {
    0x1.0000000000000p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5,
    0x1.1111111111111p-7, 0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13,
    0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22,
    0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33,
};
static const double atanh_tail[] = {
    0x1.5555555555555p-1, 0x1.999999999999ap-2, 0x1.2492492492492p-2,
    0x1.c71c71c71c71cp-3, 0x1.745d1745d1746p-3, 0x1.3b13b13b13b14p-3,
    0x1.1111111111111p-3, 0x1.e1e1e1e1e1e1ep-4, 0x1.af286bca1af28p-4,
    0x1.8618618618618p-4, 0x1.642c8590b2164p-4,
};
static const double sin_tail[] = {
    -0x1.5555555555555p-3, 0x1.1111111111111p-7, -0x1.a01a01a01a01ap-13,
    0x1.71de3a556c734p-19, -0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
    -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49,
};
static const double cos_tail[] = {
    0x1.5555555555555p-5, -0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-16,
    -0x1.27e4fb7789f5cp-22, 0x1.1eed8eff8d898p-29, -0x1.93974a8c07c9dp-37,
    0x1.ae7f3e733b81fp-45,
};
static const double sinh_tail[] = {
    0x1.5555555555555p-3, 0x1.1111111111111p-7, 0x1.a01a01a01a01ap-13,
    0x1.71de3a556c734p-19, 0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33,
    0x1.ae7f3e733b81fp-41,
};
static const double cosh_terms[] = {
    0x1.0000000000000p+0, 0x1.0000000000000p-1, 0x1.5555555555555p-5,
    0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-16, 0x1.27e4fb7789f5cp-22,
    0x1.1eed8eff8d898p-29, 0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-45,
};
static const double erf_near_zero[] = {
    0x1.20dd750429b6dp+0, -0x1.812746b0379c1p-2, 0x1.ce2f21a040f66p-4,
    -0x1.b82ce31203772p-6, 0x1.565bccfa44156p-8, -0x1.c02db0665e53dp-11,
    0x1.f9a2be4f731a1p-14, -0x1.f4ca838adb73bp-17, 0x1.b981d78881a5dp-20,
    -0x1.5c131500d3f88p-23, 0x1.d76af6ca49787p-27, -0x1.ac9585a44fe29p-31,
};
static const double erfc_scaled[] = {
    0x1.97b3643d2dbacp-3, 0x1.2f5ebea455d38p-3, 0x1.c9dc1a149db93p-5,
    0x1.28327629c793ap-6, 0x1.470b1b58197f6p-8, 0x1.307d7547fff98p-10,
    0x1.d2d18ca2c5301p-13, 0x1.18b18b9bd9390p-15, 0x1.d59a72e84574ap-19,
    0x1.3388989578842p-23, -0x1.babff1985991bp-26, -0x1.549ad4d9021e9p-28,
    -0x1.d6b4d01607c27p-34, 0x1.3034a974619ecp-34, 0x1.ce4d207c4c901p-38,
    -0x1.bf493df777489p-41, -0x1.43cca960f7447p-43,
};

static Lv
num(Ll *l, double v)
{
    return LLVMConstReal(l->f64, v);
}

static Lv
mad(Ll *l, Lv a, Lv b, Lv c)
{
    return ll_intrinsic(l, "llvm.fma", &l->f64, 1, (Lv[]){a, b, c}, 3);
}

static Lv
mul(Ll *l, Lv a, Lv b)
{
    return LLVMBuildFMul(l->b, a, b, "");
}

static Lv
add(Ll *l, Lv a, Lv b)
{
    return LLVMBuildFAdd(l->b, a, b, "");
}

static Lv
sub(Ll *l, Lv a, Lv b)
{
    return LLVMBuildFSub(l->b, a, b, "");
}

static Lv
magnitude(Ll *l, Lv x)
{
    return ll_intrinsic(l, "llvm.fabs", &l->f64, 1, &x, 1);
}

static Lv
with_sign_of(Ll *l, Lv x, Lv sign)
{
    return ll_intrinsic(l, "llvm.copysign", &l->f64, 1, (Lv[]){x, sign}, 2);
}

static Lv
pick(Ll *l, LLVMRealPredicate p, Lv a, Lv b, Lv x, Lv y)
{
    return LLVMBuildSelect(l->b, LLVMBuildFCmp(l->b, p, a, b, ""), x, y, "");
}

/* c[0] + c[1] x + ..., by Horner. */
static Lv
series(Ll *l, Lv x, const double *c, size_t n)
{
    Lv p = num(l, c[n - 1]);
    for (size_t i = n - 1; i-- > 0;)
        p = mad(l, p, x, num(l, c[i]));
    return p;
}
#define SERIES(l, x, table) series((l), (x), (table), COUNT(table))

/* Adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits. */
static const double ROUNDER = 0x1.8p52;

static Lv
bits(Ll *l, Lv x)
{
    return LLVMBuildBitCast(l->b, x, l->i64, "");
}

static Lv
from_bits(Ll *l, Lv x)
{
    return LLVMBuildBitCast(l->b, x, l->f64, "");
}

/* ---- exp, exp2 ---------------------------------------------------------------------------- */

/* p * 2^n, n in the low bits of t = n + ROUNDER, |n| below 2000: two factors, so that a
 * subnormal result is rounded once. */
static Lv
scale(Ll *l, Lv p, Lv t)
{
    Lv n = LLVMBuildSub(l->b, bits(l, t), bits(l, num(l, ROUNDER)), "");
    Lv half = LLVMBuildAShr(l->b, n, ll_i64(l, 1), ""), rest = LLVMBuildSub(l->b, n, half, "");
    Lv factor[2] = {half, rest};
    for (int i = 0; i < 2; i++) {
        Lv e = LLVMBuildAdd(l->b, factor[i], ll_i64(l, 1023), "");
        p = mul(l, p, from_bits(l, LLVMBuildShl(l->b, e, ll_i64(l, 52), "")));
    }
    return p;
}

/* e^r for |r| below 0.35 */
static Lv
exp_near_zero(Ll *l, Lv r)
{
    Lv p = mad(l, mul(l, r, r), SERIES(l, r, exp_tail), r);
    return add(l, p, num(l, 1));
}

static Lv
clamp(Ll *l, Lv x, double low, double high)
{
    x = pick(l, LLVMRealOLT, num(l, high), x, num(l, high), x);
    return pick(l, LLVMRealOLT, x, num(l, low), num(l, low), x);
}

/* x = n ln 2 + r; n times the upper part of ln 2 is exact. */
static Lv
exp_f64(Ll *l, Lv x)
{
    x = clamp(l, x, -800, 800);
    Lv t = mad(l, x, num(l, 0x1.71547652b82fep+0), num(l, ROUNDER));
    Lv n = sub(l, t, num(l, ROUNDER));
    Lv r = mad(l, n, num(l, -0x1.62e42fee00000p-1), x);
    r = mad(l, n, num(l, -0x1.a39ef35793c76p-33), r);
    return scale(l, exp_near_zero(l, r), t);
}

static Lv
exp2_f64(Ll *l, Lv x)
{
    x = clamp(l, x, -1100, 1100);
    Lv t = add(l, x, num(l, ROUNDER));
    Lv r = sub(l, x, sub(l, t, num(l, ROUNDER)));
    return scale(l, exp_near_zero(l, mul(l, r, num(l, 0x1.62e42fefa39efp-1))), t);
}

/* ---- log, log2 ------------------------------------------------------------------------------ */

typedef struct LogParts {
    Lv e, f, tail;      /* log x = e ln 2 + f - tail, 1 + f in sqrt 1/2 .. sqrt 2 */
} LogParts;

/* log(1 + f) = 2 atanh s, s = f / (2 + f), arranged so that f itself is not rounded:
 * f - (f^2/2 - s (f^2/2 + s^2 (2/3 + ..))). */
static LogParts
log_parts(Ll *l, Lv x)
{
    enum { SUBNORMAL = 54 };
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
    Lv is_tiny = LLVMBuildFCmp(l->b, LLVMRealOLT, x, num(l, 0x1p-1022), "");
    Lv w = bits(l, LLVMBuildSelect(l->b, is_tiny, mul(l, x, num(l, 0x1p54)), x, ""));
    w = LLVMBuildSub(l->b, w, ll_i64(l, (int64_t)sqrt_half), "");
    Lv e = LLVMBuildAShr(l->b, w, ll_i64(l, 52), "");
    Lv less = LLVMBuildSelect(l->b, is_tiny, ll_i64(l, SUBNORMAL), ll_i64(l, 0), "");
    e = LLVMBuildSub(l->b, e, less, "");
    w = LLVMBuildAnd(l->b, w, ll_i64(l, 0xfffffffffffff), "");
    w = LLVMBuildAdd(l->b, w, ll_i64(l, (int64_t)sqrt_half), "");
    LogParts p = {.e = LLVMBuildSIToFP(l->b, e, l->f64, "")};
    p.f = sub(l, from_bits(l, w), num(l, 1));
    Lv s = LLVMBuildFDiv(l->b, p.f, add(l, p.f, num(l, 2)), "");
    Lv s2 = mul(l, s, s), half = mul(l, mul(l, p.f, p.f), num(l, 0.5));
    Lv rest = mul(l, s2, SERIES(l, s2, atanh_tail));
    p.tail = sub(l, half, mul(l, s, add(l, half, rest)));
    return p;
}

/* 0 -> -inf, negative and NaN -> NaN, inf -> inf */
static Lv
log_special(Ll *l, Lv x, Lv r)
{
    Lv inf = num(l, (double)__builtin_inf()), zero = num(l, 0);
    r = pick(l, LLVMRealOEQ, x, inf, inf, r);
    r = pick(l, LLVMRealOEQ, x, zero, num(l, -(double)__builtin_inf()), r);
    return pick(l, LLVMRealUGE, x, zero, pick(l, LLVMRealUNO, x, x, x, r),
                num(l, (double)__builtin_nan("")));
}

static Lv
log_f64(Ll *l, Lv x)
{
    LogParts p = log_parts(l, x);
    Lv low = mad(l, p.e, num(l, 0x1.a39ef35793c76p-33), sub(l, num(l, 0), p.tail));
    Lv r = add(l, low, p.f);
    return log_special(l, x, mad(l, p.e, num(l, 0x1.62e42fee00000p-1), r));
}

/* (f - tail) / ln 2 with 1 / ln 2 in two parts, f - tail as a sum of two, too. */
static Lv
log2_f64(Ll *l, Lv x)
{
    const double high = 0x1.71547652b82fep+0, low = 0x1.777d0ffda0d24p-56;
    LogParts p = log_parts(l, x);
    Lv y = sub(l, p.f, p.tail);
    Lv lost = sub(l, sub(l, p.f, y), p.tail);
    Lv q = mul(l, y, num(l, high));
    Lv err = mad(l, y, num(l, high), sub(l, num(l, 0), q));
    err = mad(l, y, num(l, low), mad(l, lost, num(l, high), err));
    Lv sum = add(l, p.e, q);
    Lv rest = add(l, sub(l, q, sub(l, sum, p.e)), err);
    return log_special(l, x, add(l, sum, rest));
}

/* ---- sin, cos ---------------------------------------------------------------------------------- */

/* quarter: 0 for sine, 1 for cosine: how many quarters of a turn to go on. */
static Lv
sine_f64(Ll *l, Lv x, int quarter)
{
    Lv t = mad(l, x, num(l, 0x1.45f306dc9c883p-1), num(l, ROUNDER));
    Lv n = sub(l, t, num(l, ROUNDER));
    Lv r = mad(l, n, num(l, -0x1.921fb54442d18p+0), x);
    r = mad(l, n, num(l, -0x1.1a62633145c07p-54), r);
    r = mad(l, n, num(l, 0x1.f1976b7ed8fbcp-110), r);
    Lv r2 = mul(l, r, r);
    Lv s = mad(l, mul(l, r, r2), SERIES(l, r2, sin_tail), r);
    Lv c = mul(l, mul(l, r2, r2), SERIES(l, r2, cos_tail));
    /* 1 - r2/2 + c with what 1 - r2/2 rounds off */
    Lv half = mul(l, r2, num(l, 0.5)), w = sub(l, num(l, 1), half);
    c = add(l, w, add(l, sub(l, sub(l, num(l, 1), w), half), c));
    Lv q = LLVMBuildAdd(l->b, bits(l, t), ll_i64(l, quarter), "");
    Lv odd = LLVMBuildTrunc(l->b, q, l->i1, "");
    Lv v = LLVMBuildSelect(l->b, odd, c, s, "");
    Lv sign = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, q, ll_i64(l, 2), ""), ll_i64(l, 62), "");
    v = from_bits(l, LLVMBuildXor(l->b, bits(l, v), sign, ""));
    if (quarter == 0)       /* keeps the sign of a zero */
        v = pick(l, LLVMRealOEQ, x, num(l, 0), x, v);
    return pick(l, LLVMRealOLT, magnitude(l, x), num(l, 0x1p51), v,
                num(l, (double)__builtin_nan("")));
}

/* ---- tanh, erf ----------------------------------------------------------------------------------- */

static Lv
tanh_f64(Ll *l, Lv x)
{
    Lv a = magnitude(l, x), x2 = mul(l, x, x);
    Lv sinh = mad(l, mul(l, a, x2), SERIES(l, x2, sinh_tail), a);
    Lv small = LLVMBuildFDiv(l->b, sinh, SERIES(l, x2, cosh_terms), "");
    Lv e = exp_f64(l, mul(l, a, num(l, -2)));
    Lv large = LLVMBuildFDiv(l->b, sub(l, num(l, 1), e), add(l, num(l, 1), e), "");
    Lv v = pick(l, LLVMRealOLT, a, num(l, 0.6), small, large);
    v = with_sign_of(l, v, x);
    return pick(l, LLVMRealUNO, x, x, x, v);
}

static Lv
erf_f64(Ll *l, Lv x)
{
    Lv a = magnitude(l, x), x2 = mul(l, x, x);
    Lv small = mul(l, a, SERIES(l, x2, erf_near_zero));
    Lv far = clamp(l, a, 1, 6);
    Lv u = LLVMBuildFDiv(l->b, num(l, 20), add(l, far, num(l, 4)), "");
    Lv p = SERIES(l, sub(l, u, num(l, 3)), erfc_scaled);
    Lv e = exp_f64(l, mul(l, far, mul(l, far, num(l, -1))));
    Lv large = sub(l, num(l, 1), mul(l, e, p));
    Lv v = pick(l, LLVMRealOLT, a, num(l, 1), small, large);
    v = with_sign_of(l, v, x);
    return pick(l, LLVMRealUNO, x, x, x, v);
}

Lv
sim_math_f64(Ll *l, OpCode op, Lv x)
{
    switch (op) {
    case OP_EXP: return exp_f64(l, x);
    case OP_EXP2: return exp2_f64(l, x);
    case OP_LOG: return log_f64(l, x);
    case OP_LOG2: return log2_f64(l, x);
    case OP_SIN: return sine_f64(l, x, 0);
    case OP_COS: return sine_f64(l, x, 1);
    case OP_TANH: return tanh_f64(l, x);
    case OP_ERF: return erf_f64(l, x);
    default: return NULL;
    }
}
