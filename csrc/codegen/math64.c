/* math64: exp, log, sin, .. of doubles: the same roads as math.c, with longer polynomials
 * (minimax fits of our own, error below 2^-56 of the result). GPUs have no other way: PTX
 * knows none of these for f64. tests/c/host.c and tests/kernels/test_math.py allow
 *
 *     exp exp2 log log2        2 ulp       (subnormal results: 1 unit of the last place)
 *     sin cos                  2 ulp, of any argument, where the code is ours
 *     tanh erf                 3 ulp
 *
 * Sine and cosine of hosts are libm's, once a lane: the reduction of large arguments is
 * integer work that vectors do not do well.
 */
#include "codegen/math.h"

/* ---- exp, exp2 ------------------------------------------------------------------------- */

/* Adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits. */
static const double ROUNDER = 0x1.8p52;

/* p * 2^n for n in -1100..1100, n in the low bits of t = n + ROUNDER, and 0 where none; see math.c. */
static Lv
scale(const M *m, Lv p, Lv t, Lv none)
{
    LLVMBuilderRef b = m->l->b;
    if (ll_is_host(m->l)) /* a GPU is no slower where it rounds to 0 */
        p = pick(m, none, num(m, 0), p);
    Lv n = LLVMBuildSub(b, bits(m, t), whole(m, 0x4338000000000000), "");
    Lv half = LLVMBuildAShr(b, n, whole(m, 1), "");
    Lv rest = LLVMBuildSub(b, n, half, "");
    Lv one = whole(m, 0x3ff0000000000000), shift = whole(m, 52);
    Lv s1 = from_bits(m, LLVMBuildAdd(b, LLVMBuildShl(b, half, shift, ""), one, ""));
    Lv s2 = from_bits(m, LLVMBuildAdd(b, LLVMBuildShl(b, rest, shift, ""), one, ""));
    return mul(m, mul(m, p, s1), s2);
}

static Lv
exp_f64(const M *m, Lv x)
{
    Lv none = less(m, x, num(m, -746));
    x = clamp(m, x, -746, 710);
    Lv t = mad(m, x, num(m, 0x1.71547652b82fep0), num(m, ROUNDER));
    Lv n = sub(m, t, num(m, ROUNDER));
    Lv r = mad(m, n, num(m, -0x1.62e42feep-1), x); /* 32 bits of ln 2: exact */
    r = mad(m, n, num(m, -0x1.a39ef35793c76p-33), r);
    Lv p = POLY(m, r, 0x1.0p-1, 0x1.5555555555557p-3, 0x1.5555555555558p-5,
                0x1.11111111100bdp-7, 0x1.6c16c16c151ccp-10, 0x1.a01a01abf8a8ep-13,
                0x1.a01a01ad0ca59p-16, 0x1.71de01fce71cfp-19, 0x1.27e4cca2d4ee8p-22,
                0x1.af4e56d3373b2p-26, 0x1.1f8b95345c29ap-29);
    p = mad(m, mul(m, r, r), p, r);
    return scale(m, add(m, p, num(m, 1)), t, none);
}

static Lv
exp2_f64(const M *m, Lv x)
{
    Lv none = less(m, x, num(m, -1076));
    x = clamp(m, x, -1076, 1025);
    Lv t = add(m, x, num(m, ROUNDER));
    Lv r = sub(m, x, sub(m, t, num(m, ROUNDER)));
    Lv p = POLY(m, r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c6p-5,
                0x1.3b2ab6fba4e7dp-7, 0x1.5d87fe78a3f49p-10, 0x1.430912f86a08cp-13,
                0x1.ffcbfc6dc7ef4p-17, 0x1.62c0224961aa8p-20, 0x1.b524eb7c9271ap-24,
                0x1.e4cef638c2fa7p-28, 0x1.e9ecb5f25e2d4p-32, 0x1.c4c957cc8dc8dp-36);
    return scale(m, mad(m, p, r, num(m, 1)), t, none);
}

/* ---- log, log2 ---------------------------------------------------------------------------- */

/* With s = f / (2 + f), log(1 + f) = log(1 + s) - log(1 - s) = 2 s + s R(s^2), an odd
 * series of fast decay; and 2 s = f - s f, so f itself stays exact. */
static LogParts
log_parts(const M *m, Lv x)
{
    LogParts p = log_split(m, x, 52, 0x3fe6a09e667f3bcd, 0x1p-1022, 54);
    Lv s = LLVMBuildFDiv(m->l->b, p.f, add(m, p.f, num(m, 2)), "");
    Lv z = mul(m, s, s);
    Lv r = POLY(m, z, 0x1.5555555555558p-1, 0x1.99999999951fep-2, 0x1.2492492e08013p-2,
                0x1.c71c62cb0101ap-3, 0x1.7462bba51baa2p-3, 0x1.39fd87dde0f98p-3,
                0x1.2b6220cf76b04p-3);
    Lv half = mul(m, mul(m, p.f, num(m, 0.5)), p.f);
    p.y = sub(m, mul(m, s, mad(m, z, r, half)), half);
    return p;
}

static Lv
log_f64(const M *m, Lv x)
{
    LogParts p = log_parts(m, x);
    return log_special(m, x,
                       log_of_parts(m, &p, 0x1.a39ef35793c76p-33, 0x1.62e42feep-1));
}

static Lv
log2_f64(const M *m, Lv x)
{
    LogParts p = log_parts(m, x);
    return log_special(
        m, x, log2_of_parts(m, &p, 0x1.777d0ffda0d23p-56, 0x1.71547652b82fep0));
}

/* ---- sin, cos: one double at a time ------------------------------------------------------ */

/* The bits of 2 / pi behind the point, after 64 zeros. */
static const uint64_t two_over_pi[] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
    0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
    0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

/* Where the window of an argument begins among those bits: at least that of 2^20, at most
 * that of 2^1023, whose 192 bits end in the last word. */
enum { FIRST_BIT = 30, LAST_BIT = 1033 };
_Static_assert(LAST_BIT / 64 + 3 < (int)COUNT(two_over_pi),
               "four words from any place");

typedef struct Quadrant {
    Lv q;     /* i64: its low 2 bits count quarter turns */
    Lv r, lo; /* the rest, within pi / 4, is r + lo; lo is small against r */
} Quadrant;

typedef struct Pair {
    Lv s, e; /* e is what rounding took from s */
} Pair;

/* a + b, exactly. */
static Pair
two_sum(const M *m, Lv a, Lv b)
{
    Lv s = add(m, a, b), v = sub(m, s, a);
    return (Pair){s, add(m, sub(m, a, sub(m, s, v)), sub(m, b, v))};
}

/* |x| <= 2^20: pi/2 in four parts, 33 bits the first three, so that their multiples are
 * exact without fused operations. */
static Quadrant
reduce_near(const M *m, Lv x)
{
    Lv t = mad(m, x, num(m, 0x1.45f306dc9c883p-1), num(m, ROUNDER));
    Lv n = sub(m, t, num(m, ROUNDER));
    Lv r = sub(m, x, mul(m, n, num(m, 0x1.921fb544p0)));
    Pair a = two_sum(m, r, mul(m, n, num(m, -0x1.0b4611a6p-34)));
    Pair b = two_sum(m, a.s, mul(m, n, num(m, -0x1.3198a2ep-69)));
    Lv lo = mad(m, n, num(m, -0x1.b839a252049c1p-104), add(m, a.e, b.e));
    Pair c = two_sum(m, b.s, lo);
    return (Quadrant){bits(m, t), c.s, c.e};
}

static Lv
window_table(const M *m)
{
    Ll *l = m->l;
    Lv t = LLVMGetNamedGlobal(l->m, "two_over_pi_words");
    if (t)
        return t;
    Lv all[COUNT(two_over_pi)];
    for (size_t i = 0; i < COUNT(all); i++)
        all[i] = ll_i64(l, (int64_t)two_over_pi[i]);
    return ll_constant(l, LLVMConstArray2(l->i64, all, COUNT(all)),
                       "two_over_pi_words");
}

static Lv
word(const M *m, Lv first, int i)
{
    LLVMBuilderRef b = m->l->b;
    Lv at = LLVMBuildAdd(b, first, whole(m, i), "");
    at = LLVMBuildGEP2(b, m->i, window_table(m), &at, 1, "");
    return LLVMBuildLoad2(b, m->i, at, "");
}

/* |x| > 2^20. A whole number times a power of two, times 192 bits of 2/pi, of which those
 * before count full turns; modulo 2^192 the first two bits of the product are the quadrant
 * and the others what is left of a quarter turn (Payne and Hanek, 1983). */
static Quadrant
reduce_far(const M *m, Lv x)
{
    Ll *l = m->l;
    LLVMBuilderRef b = l->b;
    Lt i128 = LLVMIntTypeInContext(l->cx, 128);
    Lv w = bits(m, x);
    Lv e = LLVMBuildAnd(b, LLVMBuildLShr(b, w, whole(m, 52), ""), whole(m, 2047), "");
    Lv at = LLVMBuildSub(b, e, whole(m, 1013), ""); /* of x = 2^20 this is FIRST_BIT */
    at = ll_intrinsic(l, "llvm.smax", (Lt[]){m->i}, 1, (Lv[]){at, whole(m, FIRST_BIT)},
                      2);
    at = ll_intrinsic(l, "llvm.smin", (Lt[]){m->i}, 1, (Lv[]){at, whole(m, LAST_BIT)},
                      2);
    Lv first = LLVMBuildLShr(b, at, whole(m, 6), "");
    Lv wide[3], part[4];
    for (int i = 0; i < 4; i++)
        part[i] = word(m, first, i);
    for (int i = 0; i < 3; i++) {
        Lv in[] = {part[i], part[i + 1], LLVMBuildAnd(b, at, whole(m, 63), "")};
        wide[i] = LLVMBuildZExt(b, ll_intrinsic(l, "llvm.fshl", (Lt[]){m->i}, 1, in, 3),
                                i128, "");
    }
    Lv sig = LLVMBuildAnd(b, w, whole(m, 0xfffffffffffff), "");
    sig = LLVMBuildOr(b, sig, whole(m, 0x10000000000000), "");
    sig = LLVMBuildZExt(b, sig, i128, "");
    Lv s64 = LLVMConstInt(i128, 64, false), s126 = LLVMConstInt(i128, 126, false);
    Lv p = LLVMBuildLShr(b, LLVMBuildMul(b, sig, wide[2], ""), s64, "");
    p = LLVMBuildAdd(b, p, LLVMBuildMul(b, sig, wide[1], ""), "");
    Lv top = LLVMBuildShl(b, LLVMBuildMul(b, sig, wide[0], ""), s64, "");
    p = LLVMBuildAdd(b, p, top, "");

    /* To the nearest quarter turn: the rest is signed. */
    Lv half = LLVMBuildShl(b, LLVMConstInt(i128, 1, false),
                           LLVMConstInt(i128, 125, false), "");
    Lv turns = LLVMBuildLShr(b, LLVMBuildAdd(b, p, half, ""), s126, "");
    Lv rest = LLVMBuildSub(b, p, LLVMBuildShl(b, turns, s126, ""), "");
    Lv hi = LLVMBuildTrunc(b, LLVMBuildAShr(b, rest, s64, ""), m->i, "");
    Lv lo = LLVMBuildTrunc(b, rest, m->i, "");
    Lv d = LLVMBuildSIToFP(b, hi, m->f, "");
    Lv left = LLVMBuildSub(b, hi, LLVMBuildFPToSI(b, d, m->i, ""), "");
    Lv small = mul(m, LLVMBuildUIToFP(b, lo, m->f, ""), num(m, 0x1p-64));
    small = add(m, small, LLVMBuildSIToFP(b, left, m->f, ""));
    Pair f = two_sum(m, d, small); /* of a quarter turn, times 2^62 */

    Lv pi = num(m, 0x1.921fb54442d18p-62);
    Lv r = mul(m, f.s, pi);
    Lv in[] = {f.s, pi, LLVMBuildFNeg(b, r, "")};
    Lv tail = ll_intrinsic(l, "llvm.fma", (Lt[]){m->f}, 1, in, 3);
    tail = mad(m, f.s, num(m, 0x1.1a62633145c07p-116), mad(m, f.e, pi, tail));
    Pair y = two_sum(m, r, tail);
    Lv q = LLVMBuildTrunc(b, turns, m->i, "");
    Lv is_neg = less(m, x, num(m, 0)); /* of -x everything is the negative */
    return (Quadrant){pick(m, is_neg, LLVMBuildNeg(b, q, ""), q),
                      pick(m, is_neg, LLVMBuildFNeg(b, y.s, ""), y.s),
                      pick(m, is_neg, LLVMBuildFNeg(b, y.e, ""), y.e)};
}

/* turn 0: sine, 1: cosine. */
static Lv
sine(const M *m, Lv x, int turn)
{
    LLVMBuilderRef b = m->l->b;
    Quadrant near = reduce_near(m, x), far = reduce_far(m, x);
    Lv a = magnitude(m, x);
    /* Infinity is not "far": it makes a NaN on the near road. */
    Lv is_far = LLVMBuildAnd(b, less(m, num(m, 0x1p20), a),
                             less(m, a, num(m, __builtin_inf())), "");
    Lv r = pick(m, is_far, far.r, near.r), lo = pick(m, is_far, far.lo, near.lo);
    Lv q = pick(m, is_far, far.q, near.q);
    q = LLVMBuildAdd(b, q, whole(m, turn), "");

    Lv z = mul(m, r, r), half = mul(m, z, num(m, 0.5)), w = sub(m, num(m, 1), half);
    Lv s = POLY(m, z, -0x1.5555555555555p-3, 0x1.1111111110ba6p-7,
                -0x1.a01a019e80a1ep-13, 0x1.71de379292381p-19, -0x1.ae6006d9b1e01p-26,
                0x1.5e09988c5b3dfp-33);
    s = mad(m, mul(m, s, z), r, mul(m, lo, w)); /* d sin = cos = 1 - z/2 */
    s = add(m, r, s);
    Lv c = POLY(m, z, 0x1.5555555555555p-5, -0x1.6c16c16c16960p-10,
                0x1.a01a019f4d280p-16, -0x1.27e4fa15da111p-22, 0x1.1eeb66d0ea81cp-29,
                -0x1.907c1f79fb1b5p-37);
    c = sub(m, mul(m, mul(m, c, z), z), mul(m, r, lo)); /* d cos = -sin = -r */
    c = add(m, w, add(m, sub(m, sub(m, num(m, 1), w), half), c));

    Lv odd = LLVMBuildTrunc(b, q, m->l->i1, "");
    Lv v = pick(m, odd, c, s);
    Lv sign = LLVMBuildShl(b, LLVMBuildAnd(b, q, whole(m, 2), ""), whole(m, 62), "");
    v = from_bits(m, LLVMBuildXor(b, bits(m, v), sign, ""));
    /* The sine of -0 is -0; the reduction has lost the sign. */
    if (!turn)
        v = pick(m, LLVMBuildFCmp(b, LLVMRealOEQ, x, num(m, 0), ""), x, v);
    return v;
}

static Lv
sine_by_lane(Ll *l, Lv x, int turn)
{
    int lanes = ll_lanes(x);
    Lv r = lanes ? LLVMGetPoison(LLVMTypeOf(x)) : NULL;
    for (int i = 0; i < MAX(lanes, 1); i++) {
        Lv one = lanes ? LLVMBuildExtractElement(l->b, x, ll_i32(l, i), "") : x, v;
        if (l->machine) {
            M m = like(l, one);
            v = sine(&m, one, turn);
        } else {
            v = ll_call_c(l, turn ? "cos" : "sin", l->f64, &one, 1);
        }
        r = lanes ? LLVMBuildInsertElement(l->b, r, v, ll_i32(l, i), "") : v;
    }
    return r;
}

/* ---- tanh, erf ----------------------------------------------------------------------------------- */

static Lv
tanh_f64(const M *m, Lv x)
{
    Lv a = magnitude(m, x), z = mul(m, x, x);
    Lv near = POLY(m, z, -0x1.5555555555554p-2, 0x1.1111111110838p-3,
                   -0x1.ba1ba1b935c85p-5, 0x1.664f4839eb0fap-6, -0x1.226e298222bf8p-7,
                   0x1.d6d18e10e7390p-9, -0x1.7d80ce667d242p-10, 0x1.34012f5235ca0p-11,
                   -0x1.e421b5c2eabfbp-13, 0x1.4e3f3d0095f3ep-14,
                   -0x1.221a3b1b96da6p-16);
    near = mad(m, mul(m, near, z), x, x);
    Lv e = exp_f64(m, add(m, a, a));
    Lv far = sub(m, num(m, 1),
                 LLVMBuildFDiv(m->l->b, num(m, 2), add(m, e, num(m, 1)), ""));
    return with_sign_of(m, pick(m, less(m, a, num(m, 0.625)), near, far), x);
}

/* Two polynomials for the price of one: each coefficient is chosen. */
static Lv
chosen_poly(const M *m, Lv which, Lv x, const double (*c)[2], int n)
{
    Lv p = NULL;
    for (int i = n - 1; i >= 0; i--) {
        Lv k = pick(m, which, num(m, c[i][0]), num(m, c[i][1]));
        p = p ? mad(m, p, x, k) : k;
    }
    return p;
}

/* Far from 0: 1 - e^-k(a), k a fit of -log(1 - erf) on 15/16 .. 2 and on 2 .. 6. */
static Lv
erf_f64(const M *m, Lv x)
{
    static const double k[][2] = {
        {0x1.b01db23274581p+0, 0x1.575b329b1f516p+2},
        {0x1.445c9b104a8edp+1, 0x1.1ac3258a8dc2fp+2},
        {0x1.ab8ee28721f3bp-1, 0x1.d8f5dece91b6ep-1},
        {0x1.69a8fb4ae9478p-5, 0x1.0dc3b5fca0c4ap-6},
        {-0x1.5d7d4bc047ce6p-7, -0x1.d406b40b443f3p-9},
        {0x1.0e943e820b303p-9, 0x1.7ffd0bc63d61ap-11},
        {-0x1.d2f2a7ebede53p-13, -0x1.1bc4c5c261397p-13},
        {-0x1.5a13b44eb9707p-15, 0x1.5b7f584e12e17p-16},
        {0x1.1417182978443p-15, -0x1.079cad4b363bbp-19},
        {-0x1.6e2d581a3966cp-17, -0x1.9239a723de7fap-23},
        {0x1.206dddadb370ep-19, 0x1.52089a99bf625p-23},
        {-0x1.ae28767c1cf7ep-24, -0x1.95245afdd516cp-25},
        {-0x1.8fdd511db7693p-24, 0x1.374976236bab1p-27},
        {0x1.10ef5c987ba68p-25, -0x1.2803f6c704f0ep-30},
        {-0x1.074bdb9249cf6p-28, 0x1.08518c3e4c3e9p-34},
    };
    Lv a = magnitude(m, x), z = mul(m, x, x);
    Lv near = POLY(m, z, 0x1.20dd750429b6dp+0, -0x1.812746b0379e7p-2,
                   0x1.ce2f21a042bb5p-4, -0x1.b82ce312879e1p-6, 0x1.565bcd0e31576p-8,
                   -0x1.c02db3f2640f7p-11, 0x1.f9a324cf31ea5p-14,
                   -0x1.f4d2221a24511p-17, 0x1.b9e29b6edcf26p-20,
                   -0x1.5f3f21f01539bp-23, 0x1.f9324f84f97e9p-27,
                   -0x1.3da9aaf4f4693p-30, 0x1.14f44051753b8p-34);
    near = mul(m, near, x);
    Lv c = pick(m, less(m, num(m, 6), a), num(m, 6), a);
    Lv is_low = less(m, c, num(m, 2));
    Lv t = sub(m, c, pick(m, is_low, num(m, 0.9375), num(m, 2)));
    Lv e = chosen_poly(m, is_low, t, k, (int)COUNT(k));
    Lv far = sub(m, num(m, 1), exp_f64(m, LLVMBuildFNeg(m->l->b, e, "")));
    return with_sign_of(m, pick(m, less(m, a, num(m, 0.9375)), near, far), x);
}

/* ---- the table of functions ------------------------------------------------------ */

Lv
math_f64(Ll *l, OpCode op, Lv x)
{
    M m = like(l, x);
    switch (op) {
    case OP_EXP: return exp_f64(&m, x);
    case OP_EXP2: return exp2_f64(&m, x);
    case OP_LOG: return log_f64(&m, x);
    case OP_LOG2: return log2_f64(&m, x);
    case OP_SIN: return sine_by_lane(l, x, 0);
    case OP_COS: return sine_by_lane(l, x, 1);
    case OP_TANH: return tanh_f64(&m, x);
    case OP_ERF: return erf_f64(&m, x);
    default: return NULL; /* sqrt, floor, fma, min ..: LLVM has instructions */
    }
}
