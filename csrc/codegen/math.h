/* math.h: the words that math.c and math64.c are written in. M says of what: floats or
 * doubles, one or as many as a vector holds. Everything here is one LLVM instruction, or
 * two.
 */
#ifndef TEGULA_CODEGEN_MATH_H
#define TEGULA_CODEGEN_MATH_H

#include "codegen/codegen.h"

typedef struct M {
    Ll *l;
    Lt f1, i1; /* the scalars: float and i32, or double and i64 */
    Lt f, i;   /* as wide as the argument */
    int lanes;
} M;

static inline M
like(Ll *l, Lv x)
{
    int lanes = ll_lanes(x);
    Lt t = LLVMTypeOf(x);
    Lt f1 = lanes ? LLVMGetElementType(t) : t, i1 = f1 == l->f64 ? l->i64 : l->i32;
    return (M){l, f1, i1, t, ll_vec(i1, lanes), lanes};
}

static inline Lv
num(const M *m, double v)
{
    return ll_splat(m->l, LLVMConstReal(m->f1, v), m->lanes);
}

static inline Lv
whole(const M *m, int64_t v)
{
    return ll_splat(m->l, LLVMConstInt(m->i1, (uint64_t)v, true), m->lanes);
}

static inline Lv
mad(const M *m, Lv a, Lv b, Lv c)
{
    Lt t = LLVMTypeOf(a);
    return ll_intrinsic(m->l, "llvm.fmuladd", &t, 1, (Lv[]){a, b, c}, 3);
}

static inline Lv
mul(const M *m, Lv a, Lv b)
{
    return LLVMBuildFMul(m->l->b, a, b, "");
}

static inline Lv
add(const M *m, Lv a, Lv b)
{
    return LLVMBuildFAdd(m->l->b, a, b, "");
}

static inline Lv
sub(const M *m, Lv a, Lv b)
{
    return LLVMBuildFSub(m->l->b, a, b, "");
}

static inline Lv
bits(const M *m, Lv x)
{
    return LLVMBuildBitCast(m->l->b, x, m->i, "");
}

static inline Lv
from_bits(const M *m, Lv x)
{
    return LLVMBuildBitCast(m->l->b, x, m->f, "");
}

static inline Lv
pick(const M *m, Lv c, Lv a, Lv b)
{
    return LLVMBuildSelect(m->l->b, c, a, b, "");
}

static inline Lv
less(const M *m, Lv a, Lv b)
{
    return LLVMBuildFCmp(m->l->b, LLVMRealOLT, a, b, "");
}

/* x where it is within lo..hi; a NaN stays. */
static inline Lv
clamp(const M *m, Lv x, double lo, double hi)
{
    x = pick(m, less(m, num(m, hi), x), num(m, hi), x);
    return pick(m, less(m, x, num(m, lo)), num(m, lo), x);
}

static inline Lv
magnitude(const M *m, Lv x)
{
    return ll_intrinsic(m->l, "llvm.fabs", (Lt[]){m->f}, 1, &x, 1);
}

static inline Lv
with_sign_of(const M *m, Lv x, Lv sign)
{
    return ll_intrinsic(m->l, "llvm.copysign", (Lt[]){m->f}, 1, (Lv[]){x, sign}, 2);
}

/* A logarithm: r for ordinary x; 0, negative, infinite and NaN x as they should be. */
static inline Lv
log_special(const M *m, Lv x, Lv r)
{
    double inf = __builtin_inf();
    r = pick(m, LLVMBuildFCmp(m->l->b, LLVMRealOEQ, x, num(m, 0), ""), num(m, -inf), r);
    r = pick(m, less(m, x, num(m, 0)), num(m, __builtin_nan("")), r);
    /* +inf and NaN are their own logarithm. */
    return pick(m, less(m, x, num(m, inf)), r, x);
}

/* x = 2^e (1 + f), 1 + f in sqrt 1/2 .. sqrt 2; y = log(1 + f) - f, which each width has its own series for. */
typedef struct LogParts {
    Lv e, f, y;
} LogParts;

/* e and f of x > 0. A float has n bits behind the point, root is sqrt 1/2 as bits. Subnormal x, below `least`, are
 * scaled up by 2^up first. */
static inline LogParts
log_split(const M *m, Lv x, int n, int64_t root, double least, int up)
{
    LLVMBuilderRef b = m->l->b;
    Lv tiny = less(m, x, num(m, least));
    Lv w = bits(m, pick(m, tiny, mul(m, x, num(m, (double)(1LL << up))), x));
    w = LLVMBuildSub(b, w, whole(m, root), "");
    Lv e = LLVMBuildAShr(b, w, whole(m, n), "");
    e = LLVMBuildSub(b, e, pick(m, tiny, whole(m, up), whole(m, 0)), "");
    w = LLVMBuildAnd(b, w, whole(m, (1LL << n) - 1), "");
    w = LLVMBuildAdd(b, w, whole(m, root), "");
    LogParts p = {.e = LLVMBuildSIToFP(b, e, m->f, "")};
    p.f = sub(m, from_bits(m, w), num(m, 1));
    return p;
}

/* e ln 2 + f + y, ln 2 in two parts, the second of which has few bits, so that e times it is exact. */
static inline Lv
log_of_parts(const M *m, const LogParts *p, double low, double high)
{
    Lv r = mad(m, p->e, num(m, low), p->y);
    return mad(m, p->e, num(m, high), add(m, r, p->f));
}

/* e + (f + y) log2 e, log2 e in two parts. */
static inline Lv
log2_of_parts(const M *m, const LogParts *p, double low, double high)
{
    Lv r = mul(m, p->f, num(m, low));
    r = mad(m, p->y, num(m, high), r);
    r = mad(m, p->f, num(m, high), r);
    return add(m, r, p->e);
}

/* c[0] + c[1] x + ..., by Horner. */
static inline Lv
poly(const M *m, Lv x, const double *c, int n)
{
    Lv p = num(m, c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        p = mad(m, p, x, num(m, c[i]));
    return p;
}
#define POLY(m, x, ...)                                                                \
    poly((m), (x), (const double[]){__VA_ARGS__},                                      \
         (int)COUNT(((const double[]){__VA_ARGS__})))

/* Sines of floats, in two steps. q: its low 2 bits count quarter turns (i32); r: the rest,
 * within pi / 4 or little more. */
typedef struct Turns32 {
    Lv q, r;
} Turns32;

Turns32 math_quadrant(const M *m, Lv x); /* of any x; NaN where x is not finite */
/* turn 0: sine, 1: cosine. */
Lv math_sine_of(const M *m, Turns32 k, int turn);

/* math64.c: exp .. erf of doubles, of any width; NULL: the generic form. */
Lv math_f64(Ll *l, OpCode op, Lv x);

#endif
