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
