/* math: exp, log, sin, .. for host code, on vectors of any width; the emulator uses it for
 * scalars.
 *
 * f32 is straight-line code: reduce the argument, evaluate a polynomial, put it back. The
 * polynomials are minimax fits of our own (Remez, weighted to relative error), their error
 * is below 2^-27; most of what remains is the rounding of the steps around them. Over all
 * finite arguments, subnormals included, tests/c/host.c allows
 *
 *     exp exp2 log log2        2 ulp       (subnormal results: 1 unit of the last place)
 *     sin cos                  2 ulp
 *     tanh erf                 3 ulp
 *     sqrt floor ceil          exact; rsqrt 1 / sqrt, 1.5 ulp
 *
 * f64 is math64.c. Infinities, NaNs and zeros are as in C, signs included.
 *
 * Fused multiply-adds are asked for by llvm.fmuladd: a machine without them takes two
 * roundings and may lose another ulp.
 */
#include "codegen/math.h"

/* ---- exp, exp2 ------------------------------------------------------------------------- */

/* Adding 1.5 * 2^23 rounds to a whole number and leaves it in the low bits. */
static const double ROUNDER = 0x1.8p23;

/* Below, the result is less than half of 2^-149. */
static const double LEAST_EXP = -104, LEAST_EXP2 = -150;

/* p * 2^n, rounded once where it is subnormal: an instruction of AVX-512, sixteen at a time. */
static Lv
scale_sixteens(const M *m, Lv p, Lv n)
{
    enum { WIDTH = 16, MAX_PARTS = 4, NEAREST = 4 };
    Lv part[MAX_PARTS];
    Lt t = ll_vec(m->f1, WIDTH), i16 = m->l->i16;
    int count = m->lanes / WIDTH;
    for (int i = 0; i < count; i++) {
        Lv x[2] = {p, n};
        for (int k = 0; k < 2; k++)
            x[k] = ll_some_lanes(m->l, x[k], NULL, i * WIDTH, 1, WIDTH);
        part[i] = ll_intrinsic(m->l, "llvm.x86.avx512.mask.scalef.ps.512", NULL, 0,
                               (Lv[]){x[0], x[1], LLVMConstNull(t),
                                      LLVMConstAllOnes(i16), ll_i32(m->l, NEAREST)},
                               5);
    }
    for (int width = WIDTH; count > 1; count /= 2, width *= 2)
        for (int i = 0; i < count; i += 2)
            part[i / 2] = ll_some_lanes(m->l, part[i], part[i + 1], 0, 1, 2 * width);
    return part[0];
}

static bool
has_scale(const M *m)
{
    return m->l->has_scalef && (m->lanes == 16 || m->lanes == 32 || m->lanes == 64);
}

/* p * 2^n for p in 0.7 .. 1.5 and n in -152..129, where n is in the low bits of
 * t = n + ROUNDER, so that a shift by 23 leaves n at the place of the exponent. Where the
 * result may be subnormal the exponent gets 32 more and the product with 2^-32 rounds
 * once. From `limit` on the result is infinite; NaNs come out of there, too. Below least it is 0, by a product
 * with 0: a result that is rounded to 0 takes an Intel CPU 150 cycles and more, and e^-inf is what masks leave. */
static Lv
scale(const M *m, Lv p, Lv t, Lv x, double least, double limit)
{
    LLVMBuilderRef b = m->l->b;
    Lv none = less(m, x, num(m, least));
    if (has_scale(m))
        return scale_sixteens(m, pick(m, none, num(m, 0), p),
                              sub(m, t, num(m, ROUNDER)));
    Lv fine = LLVMBuildFCmp(b, LLVMRealOLT, x, num(m, limit), "");
    Lv n = LLVMBuildShl(b, bits(m, t), whole(m, 23), "");
    Lv small = less(m, x, num(m, -limit / 2)); /* n is about -64 there */
    Lv w = LLVMBuildAdd(b, bits(m, p), n, "");
    w = LLVMBuildAdd(b, w, pick(m, small, whole(m, 32 << 23), whole(m, 0)), "");
    Lv by = pick(m, small, num(m, 0x1p-32), num(m, 1));
    Lv r = mul(m, from_bits(m, w), pick(m, none, num(m, 0), by));
    return pick(m, fine, r, add(m, x, num(m, (double)__builtin_inff())));
}

/* What scale can be given for x: from `least` on, and up to `most` where an instruction knows of infinity. NaNs stay. */
static Lv
bounded(const M *m, Lv x, double least, double most)
{
    if (has_scale(m))
        return pick(m, less(m, num(m, most), x), num(m, most), x);
    return pick(m, less(m, x, num(m, least)), num(m, least), x);
}

/* e^x = 2^n e^r, r = x - n ln 2 in two parts. */
static Lv
exp_f32(const M *m, Lv x)
{
    Lv all = x;
    x = bounded(m, x, LEAST_EXP - 1, 89);
    Lv t = mad(m, x, num(m, 0x1.71547652b82fep0), num(m, ROUNDER));
    Lv n = sub(m, t, num(m, ROUNDER));
    Lv r = mad(m, n, num(m, -0x1.62e4p-1), x);
    r = mad(m, n, num(m, -0x1.7f7d1cf79abcap-20), r);
    Lv p = POLY(m, r, 0.49999993050401564f, 0.16666514790378814f, 0.0416684568590907f,
                0.00836941893592756f, 0.0013813140977855588f);
    p = mad(m, mul(m, r, r), p, r);
    return scale(m, add(m, p, num(m, 1)), t, all, LEAST_EXP, 0x1.62e430p6);
}

static Lv
exp2_f32(const M *m, Lv x)
{
    Lv all = x;
    x = bounded(m, x, LEAST_EXP2 - 1, 129);
    Lv t = add(m, x, num(m, ROUNDER));
    Lv r = sub(m, x, sub(m, t, num(m, ROUNDER)));
    Lv p = POLY(m, r, 0.6931472041820915f, 0.24022647742437214f, 0.0555032934946401f,
                0.009618449950866305f, 0.001340017020203379f, 0.0001535232067581362f);
    return scale(m, mad(m, p, r, num(m, 1)), t, all, LEAST_EXP2, 128);
}

/* ---- log, log2 ---------------------------------------------------------------------------- */

static LogParts
log_parts(const M *m, Lv x)
{
    LogParts p = log_split(m, x, 23, 0x3f3504f3, 0x1p-126, 23);
    Lv q = POLY(m, p.f, 0.3333331260567982f, -0.250000095953659f, 0.20002118536975463f,
                -0.16667995933686705f, 0.1421955487801237f, -0.12405589581936761f,
                0.11888145051776013f, -0.1167564019669123f, 0.06746663403116485f);
    Lv f2 = mul(m, p.f, p.f);
    p.y = mul(m, mad(m, p.f, q, num(m, -0.5)), f2);
    return p;
}

static Lv
log_f32(const M *m, Lv x)
{
    LogParts p = log_parts(m, x);
    return log_special(m, x, log_of_parts(m, &p, 0x1.7f7d1cf79abcap-20, 0x1.62e4p-1));
}

static Lv
log2_f32(const M *m, Lv x)
{
    LogParts p = log_parts(m, x);
    return log_special(m, x, log2_of_parts(m, &p, 0x1.4ae0cp-26, 0x1.715476p0));
}

/* ---- sin, cos -------------------------------------------------------------------------------- */

/* 2 / pi, the bits behind the point. */
static const uint32_t two_over_pi[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                       0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
enum { LAST_SHIFT = 104, NEXT = 64 }; /* 2^127 is 24 bits times 2^104 */

/* 64 bits of 2 / pi * 2^p modulo 4: two before the point, 62 behind. */
static uint64_t
window(int p)
{
    uint64_t w = 0;
    for (int k = p - 1; k < p + 63; k++) { /* bit k has weight 2^-k in 2 / pi */
        unsigned bit = k < 1 ? 0 : two_over_pi[(k - 1) / 32] >> (31 - (k - 1) % 32) & 1;
        w = w << 1 | bit;
    }
    return w;
}

static Lv
window_table(const M *m)
{
    Ll *l = m->l;
    Lv t = LLVMGetNamedGlobal(l->m, "two_over_pi");
    if (t)
        return t;
    Lv all[LAST_SHIFT + NEXT + 1];
    for (int p = 0; p < (int)COUNT(all); p++)
        all[p] = ll_i64(l, (int64_t)window(p));
    return ll_constant(l, LLVMConstArray2(l->i64, all, COUNT(all)), "two_over_pi");
}

/* The windows at p, whole numbers from 0 on. */
static Lv
windows(const M *m, Lv p)
{
    LLVMBuilderRef b = m->l->b;
    Lt i64 = m->l->i64;
    Lv at = LLVMBuildGEP2(b, i64, window_table(m), &p, 1, "");
    if (!m->lanes)
        return LLVMBuildLoad2(b, i64, at, "");
    Lv win = LLVMGetPoison(ll_vec(i64, m->lanes));
    for (int i = 0; i < m->lanes; i++) {
        Lv one = LLVMBuildExtractElement(b, at, ll_i32(m->l, i), "");
        win = LLVMBuildInsertElement(b, win, LLVMBuildLoad2(b, i64, one, ""),
                                     ll_i32(m->l, i), "");
    }
    return win;
}

typedef struct Turns64 { /* Turns32 before its r is rounded: doubles */
    Lv q, r;
} Turns64;

/* x = q pi/2 + r of whole numbers |x| from 2^30 on: all of x * 2/pi that matters modulo 4
 * is x's 24-bit significand times a window of 2/pi (Payne and Hanek, 1983), modulo 2^64.
 * No float is nearer to a multiple of pi/2 than 2^-30, of which 64 bits leave 8: 32 more
 * are multiplied for their carry. */
static Turns64
far_quadrant(const M *m, Lv x)
{
    Ll *l = m->l;
    LLVMBuilderRef b = l->b;
    Lt f64 = ll_vec(l->f64, m->lanes), i64 = ll_vec(l->i64, m->lanes);
#define W(v) ll_splat(l, ll_i64(l, (v)), m->lanes)
    Lv w = bits(m, x);
    Lv e = LLVMBuildAnd(b, LLVMBuildLShr(b, w, whole(m, 23), ""), whole(m, 255), "");
    Lv p = LLVMBuildSub(b, e, whole(m, 150), "");
    p = ll_intrinsic(l, "llvm.smax", (Lt[]){m->i}, 1, (Lv[]){p, whole(m, 0)}, 2);
    p = ll_intrinsic(l, "llvm.smin", (Lt[]){m->i}, 1, (Lv[]){p, whole(m, LAST_SHIFT)},
                     2);
    Lv sig = LLVMBuildOr(b, LLVMBuildAnd(b, w, whole(m, 0x7fffff), ""),
                         whole(m, 0x800000), "");
    sig = LLVMBuildZExt(b, sig, i64, "");
    Lv next = windows(m, LLVMBuildAdd(b, p, whole(m, NEXT), ""));
    next = LLVMBuildMul(b, sig, LLVMBuildLShr(b, next, W(32), ""), "");
    Lv prod = LLVMBuildMul(b, sig, windows(m, p), "");
    prod = LLVMBuildAdd(b, prod, LLVMBuildLShr(b, next, W(32), ""), "");
    Lv turns = LLVMBuildAShr(b, LLVMBuildAdd(b, prod, W((int64_t)1 << 61), ""), W(62),
                             "");
    Lv frac = LLVMBuildSub(b, prod, LLVMBuildShl(b, turns, W(62), ""), "");
    Lv unit = ll_splat(l, LLVMConstReal(l->f64, 0x1.921fb54442d18p-62), m->lanes);
    Lv r = LLVMBuildFMul(b, LLVMBuildSIToFP(b, frac, f64, ""), unit, "");
    Lv q = LLVMBuildTrunc(b, turns, m->i, "");
    Lv is_neg = less(m, x, num(m, 0)); /* of -x everything is the negative */
    return (Turns64){pick(m, is_neg, LLVMBuildNeg(b, q, ""), q),
                     LLVMBuildSelect(b, is_neg, LLVMBuildFNeg(b, r, ""), r, "")};
#undef W
}

/* The same up to 2^30: in double, with pi/2 in two parts. */
static Turns64
near_quadrant(const M *m, Lv x)
{
    Ll *l = m->l;
    LLVMBuilderRef b = l->b;
    Lt f64 = ll_vec(l->f64, m->lanes), i64 = ll_vec(l->i64, m->lanes);
#define D(v) ll_splat(l, LLVMConstReal(l->f64, (v)), m->lanes)
    Lv d = LLVMBuildFPExt(b, x, f64, "");
    Lv t = mad(m, d, D(0x1.45f306dc9c883p-1), D(0x1.8p52));
    Lv n = LLVMBuildFSub(b, t, D(0x1.8p52), "");
    Lv r = mad(m, n, D(-0x1.921fb54442d18p+0), d);
    r = mad(m, n, D(-0x1.1a62633145c07p-54), r);
    Lv q = LLVMBuildTrunc(b, LLVMBuildBitCast(b, t, i64, ""), m->i, "");
    return (Turns64){q, r};
#undef D
}

static Lv
any_of(const M *m, Lv flags)
{
    if (!m->lanes)
        return flags;
    Lt t = LLVMIntTypeInContext(m->l->cx, (unsigned)m->lanes);
    Lv w = LLVMBuildBitCast(m->l->b, flags, t, "");
    return LLVMBuildICmp(m->l->b, LLVMIntNE, w, LLVMConstNull(t), "");
}

/* The far road is long and hardly ever taken: a branch around it. Infinity is not "far": it
 * makes a NaN on the near road. */
Turns32
math_quadrant(const M *m, Lv x)
{
    LLVMBuilderRef b = m->l->b;
    Lv a = magnitude(m, x);
    Turns64 k = near_quadrant(m, x);
    Lv is_far = LLVMBuildAnd(b, less(m, num(m, 0x1p30), a),
                             less(m, a, num(m, (double)__builtin_inff())), "");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), far_at = ll_block(m->l, "far"),
                      join = ll_block(m->l, "near");
    ll_if(m->l, any_of(m, is_far), far_at, join);
    Turns64 far = far_quadrant(m, x);
    far.q = pick(m, is_far, far.q, k.q);
    far.r = LLVMBuildSelect(b, is_far, far.r, k.r, "");
    far_at = LLVMGetInsertBlock(b);
    ll_jump(m->l, join);
    Lv q = ll_join(m->l, k.q, before, far.q, far_at),
       r = ll_join(m->l, k.r, before, far.r, far_at);
    return (Turns32){q, LLVMBuildFPTrunc(b, r, m->f, "")};
}

Lv
math_sine_of(const M *m, Turns32 k, int turn)
{
    LLVMBuilderRef b = m->l->b;
    Lv q = LLVMBuildAdd(b, k.q, whole(m, turn), "");
    Lv z = mul(m, k.r, k.r);
    Lv s = POLY(m, z, -0.1666665487336843f, 0.008332173539226034f,
                -0.00019516655422828692f);
    s = mad(m, mul(m, s, z), k.r, k.r);
    Lv c = POLY(m, z, 0.041666645554460334f, -0.001388730986580178f,
                2.4432412866854975e-05f);
    c = mad(m, mul(m, c, z), z, mad(m, z, num(m, -0.5), num(m, 1)));
    Lv odd = LLVMBuildTrunc(b, q, ll_vec(m->l->i1, m->lanes), "");
    Lv r = pick(m, odd, c, s);
    Lv sign = LLVMBuildShl(b, LLVMBuildAnd(b, q, whole(m, 2), ""), whole(m, 30), "");
    return from_bits(m, LLVMBuildXor(b, bits(m, r), sign, ""));
}

static Lv
sine(const M *m, Lv x, int turn)
{
    Lv r = math_sine_of(m, math_quadrant(m, x), turn);
    /* The sine of -0 is -0; the reduction has lost the sign. */
    if (!turn)
        r = pick(m, LLVMBuildFCmp(m->l->b, LLVMRealOEQ, x, num(m, 0), ""), x, r);
    return r;
}

/* ---- tanh, erf ----------------------------------------------------------------------------------- */

/* Both are 1 less something small, so that the target's own e^x and quotient are good
 * enough: a GPU's approximations lose half a unit of the last place here. */
static Lv
power(const M *m, Lv x)
{
    return m->l->ops->math(m->l, OP_EXP, E_F32, &x);
}

/* 2 / x for x from 1 on; a GPU takes it for 0 beyond 2^126. */
static Lv
two_over(const M *m, Lv x)
{
    if (m->l->ops == &scalar_ops_host)
        return LLVMBuildFDiv(m->l->b, num(m, 2), x, "");
    Lv r = ll_intrinsic(m->l, "llvm.nvvm.rcp.approx.ftz.f", NULL, 0, &x, 1);
    return mul(m, num(m, 2), r);
}

static Lv
tanh_f32(const M *m, Lv x)
{
    Lv a = magnitude(m, x), z = mul(m, x, x);
    Lv near = POLY(m, z, -0.3333328320260579f, 0.13331470156702047f,
                   -0.0537416216254267f, 0.02064413266877215f, -0.005709493770193283f);
    near = mad(m, mul(m, near, z), x, x);
    Lv e = power(m, add(m, a, a));
    Lv far = sub(m, num(m, 1), two_over(m, add(m, e, num(m, 1))));
    return with_sign_of(m, pick(m, less(m, a, num(m, 0.625)), near, far), x);
}

/* 1 - 2^x for x in -32 .. 0, as (1 - 2^n) - 2^n (2^r - 1): where x is small, n is 0 and what remains is a product. */
static Lv
one_less_exp2(const M *m, Lv x)
{
    double rounder = ROUNDER + 127; /* leaves the bits of 2^n / 2^23 */
    Lv t = add(m, x, num(m, rounder)), r = sub(m, x, sub(m, t, num(m, rounder)));
    Lv p = POLY(m, r, 0.69314718246459961f, 0.24022641777992249f, 0.055503588169813156f,
                0.0096190124750137329f, 0.0013391419779509306f,
                0.00015207819524221122f);
    Lv n = from_bits(m, LLVMBuildShl(m->l->b, bits(m, t), whole(m, 23), ""));
    p = LLVMBuildFNeg(m->l->b, mul(m, p, r), "");
    return mad(m, p, n, sub(m, num(m, 1), n));
}

/* 1 - 2^k(a), where k is a fit of log2(1 - erf) that is 0 at 0. */
static Lv
erf_f32(const M *m, Lv x)
{
    Lv a = magnitude(m, x);
    Lv c = pick(m, less(m, num(m, 4), a), num(m, 4), a);
    Lv k = POLY(m, c, -1.6279070351262537f, -0.91844762529239255f,
                -0.14827706643417177f, 0.027632030543875242f, 0.00023140204460305372f,
                -0.0024050115410563762f, 0.00091299012307647883f,
                -0.00016972032483799314f, 1.3353948192962454e-05f);
    return with_sign_of(m, one_less_exp2(m, mul(m, k, c)), x);
}

/* ---- the table of functions ------------------------------------------------------ */

static Lv
math(Ll *l, OpCode op, Elem e, Lv *args)
{
    if (e == E_F64)
        return math_f64(l, op, args[0]);
    M m = like(l, args[0]);
    switch (op) {
    case OP_EXP: return exp_f32(&m, args[0]);
    case OP_EXP2: return exp2_f32(&m, args[0]);
    case OP_LOG: return log_f32(&m, args[0]);
    case OP_LOG2: return log2_f32(&m, args[0]);
    case OP_SIN: return sine(&m, args[0], 0);
    case OP_COS: return sine(&m, args[0], 1);
    case OP_TANH: return tanh_f32(&m, args[0]);
    case OP_ERF: return erf_f32(&m, args[0]);
    default: return NULL; /* sqrt, floor, fma, min ..: LLVM has instructions */
    }
}

const ScalarOps scalar_ops_host = {.math = math, .assembly = cg_asm_elements};
