/* scalar: elementwise ops on one element, or on a vector of elements of any width.
 *
 * A value is in the register form of codegen.h. What LLVM has no good arithmetic for goes
 * through float and back, one rounding an op, as ir/eval.c defines it:
 *
 *     f16 bf16 f8      add x, y   =>   round(to_float(x) + to_float(y))
 *
 * Rule 1: an op gives what ir_eval gives, bit for bit, except the payload of a NaN, the
 *         sign of a zero from min and max, and the last bits of math functions.
 *         Dividing integers by zero gives 0, and so does the remainder.
 * Rule 2: nothing here may trap or be poison for any operands: a masked-off lane computes
 *         with garbage. So shifts are bounded, conversions saturate, divisors are made
 *         harmless. GPUs do not trap, yet LLVM concludes from a division that the divisor
 *         is not 0, and would drop the test in where(b == 0, 0, a // b).
 */
#include "codegen/codegen.h"
#include "codegen/simt/machine.h"

/* ---- small words --------------------------------------------------------------------- */

static Lt
like(Lv x, Lt t)
{
    return ll_vec(t, ll_lanes(x));
}

/* An integer constant of x's type. */
static Lv
same_int(Lv x, uint64_t v)
{
    Lt t = LLVMTypeOf(x);
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return LLVMConstInt(t, v, false);
    Lv all[256], one = LLVMConstInt(LLVMGetElementType(t), v, false);
    unsigned n = LLVMGetVectorSize(t);
    for (unsigned i = 0; i < n && i < COUNT(all); i++)
        all[i] = one;
    return LLVMConstVector(all, n);
}

static Lv
same_float(Ll *l, Lv x, double v)
{
    Lt t = LLVMTypeOf(x);
    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind)
        t = LLVMGetElementType(t);
    return ll_splat(l, LLVMConstReal(t, v), ll_lanes(x));
}

static Lv
cmp_int(Ll *l, LLVMIntPredicate p, Lv x, Lv y)
{
    return LLVMBuildICmp(l->b, p, x, y, "");
}

static Lv
choose(Ll *l, Lv c, Lv x, Lv y)
{
    return LLVMBuildSelect(l->b, c, x, y, "");
}

static Lv
unary(Ll *l, const char *name, Lv x)
{
    Lt t = LLVMTypeOf(x);
    return ll_intrinsic(l, name, &t, 1, &x, 1);
}

static Lv
binary(Ll *l, const char *name, Lv x, Lv y)
{
    Lt t = LLVMTypeOf(x);
    return ll_intrinsic(l, name, &t, 1, (Lv[]){x, y}, 2);
}

static Lv
contracted(Ll *l, Lv x)
{
    if (l->contract && LLVMIsAInstruction(x) && LLVMCanValueUseFastMathFlags(x))
        LLVMSetFastMathFlags(x, LLVMFastMathAllowContract);
    return x;
}

static bool
traps(const Ll *l)
{
    return l->gptr == l->ptr; /* a CPU; PTX has another address space */
}

static bool
is_narrow_float(Elem e)
{
    return elem_is_float(e) && elem_info[e].bits < 32;
}

/* ---- narrow floats <-> float --------------------------------------------------------- */

static Lv
f8e4m3_to_float(Ll *l, Lv x)
{
    /* Exponent and mantissa moved to their place in a float are the number times 2^-120,
     * subnormals too: one exact multiplication. 0x7f is the NaN, there is no infinity. */
    Lt i32 = like(x, l->i32), f32 = like(x, l->f32);
    Lv w = LLVMBuildZExt(l->b, x, i32, "");
    Lv magnitude = LLVMBuildAnd(l->b, w, same_int(w, 0x7f), "");
    Lv f = LLVMBuildBitCast(l->b, LLVMBuildShl(l->b, magnitude, same_int(w, 20), ""),
                            f32, "");
    f = LLVMBuildFMul(l->b, f, same_float(l, f, 0x1p120), "");
    Lv bits = LLVMBuildBitCast(l->b, f, i32, "");
    Lv is_nan = cmp_int(l, LLVMIntEQ, magnitude, same_int(w, 0x7f));
    bits = choose(l, is_nan, same_int(w, 0x7fc00000), bits);
    Lv sign = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, w, same_int(w, 0x80), ""),
                           same_int(w, 24), "");
    return LLVMBuildBitCast(l->b, LLVMBuildOr(l->b, bits, sign, ""), f32, "");
}

static Lv
narrow_to_float(Ll *l, Elem e, Lv x)
{
    if (l->ops && l->ops->to_float) {
        Lv v = l->ops->to_float(l, e, x);
        if (v)
            return v;
    }
    Lt i32 = like(x, l->i32), f32 = like(x, l->f32);
    switch (e) {
    case E_F16: return LLVMBuildFPExt(l->b, x, f32, "");
    case E_BF16: {
        Lv w = LLVMBuildZExt(l->b, x, i32, "");
        return LLVMBuildBitCast(l->b, LLVMBuildShl(l->b, w, same_int(w, 16), ""), f32,
                                "");
    }
    case E_F8E5M2: { /* the upper byte of a half */
        Lv w = LLVMBuildZExt(l->b, x, like(x, l->i16), "");
        w = LLVMBuildShl(l->b, w, same_int(w, 8), "");
        Lv h = LLVMBuildBitCast(l->b, w, like(x, l->f16), "");
        return LLVMBuildFPExt(l->b, h, f32, "");
    }
    case E_F8E4M3: return f8e4m3_to_float(l, x);
    default: unreachable(l->c);
    }
}

static Lv
float_to_half(Ll *l, Lv x, int rounding)
{
    Lt i16 = like(x, l->i16), f16 = like(x, l->f16);
    Lv h = LLVMBuildFPTrunc(l->b, x, f16, "");
    if (rounding == ROUND_RTNE)
        return h;
    /* One step toward zero where rounding went away from it; that turns an infinity made
     * by overflow into the largest number, too. A NaN compares false. */
    Lv back = LLVMBuildFPExt(l->b, h, LLVMTypeOf(x), "");
    Lv away = LLVMBuildFCmp(l->b, LLVMRealOGT, unary(l, "llvm.fabs", back),
                            unary(l, "llvm.fabs", x), "");
    Lv bits = LLVMBuildBitCast(l->b, h, i16, "");
    bits = LLVMBuildSub(l->b, bits, LLVMBuildZExt(l->b, away, i16, ""), "");
    return LLVMBuildBitCast(l->b, bits, f16, "");
}

static Lv
float_to_bf16(Ll *l, Lv x, int rounding)
{
    Lt i16 = like(x, l->i16), i32 = like(x, l->i32);
    Lv w = LLVMBuildBitCast(l->b, x, i32, ""), r = w;
    if (rounding == ROUND_RTNE) {
        Lv odd = LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, w, same_int(w, 16), ""),
                              same_int(w, 1), "");
        r = LLVMBuildAdd(l->b, w, LLVMBuildAdd(l->b, odd, same_int(w, 0x7fff), ""), "");
    }
    Lv is_nan = LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, "");
    r = choose(l, is_nan, same_int(w, 0x7fc00000), r);
    r = LLVMBuildLShr(l->b, r, same_int(w, 16), "");
    return LLVMBuildTrunc(l->b, r, i16, "");
}

/* To sign, exponent, mant bits of mantissa; above max: max, infinity too. */
static Lv
float_to_f8(Ll *l, Lv x, int mant, int bias, uint64_t max, int rounding)
{
    Lt i32 = like(x, l->i32);
    int drop = 23 - mant;
    Lv w = LLVMBuildBitCast(l->b, x, i32, "");
    Lv a = LLVMBuildAnd(l->b, w, same_int(w, 0x7fffffff), "");
    Lv magnitude = unary(l, "llvm.fabs", x);
    Lv n = a; /* normal: move the exponent's bias, cut the mantissa */
    Lv s;     /* subnormal: count units of 2^(1 - bias - mant) */
    if (rounding == ROUND_RTNE) {
        Lv odd = LLVMBuildAnd(l->b,
                              LLVMBuildLShr(l->b, a, same_int(w, (unsigned)drop), ""),
                              same_int(w, 1), "");
        n = LLVMBuildAdd(l->b, n, odd, "");
        n = LLVMBuildAdd(l->b, n, same_int(w, (1u << (drop - 1)) - 1), "");
        /* Adding 2^23 units leaves the rounded count in the low bits of the sum. */
        union {
            float f;
            uint32_t u;
        } magic = {.u = (uint32_t)(24 - bias - mant + 127) << 23};
        s = LLVMBuildFAdd(l->b, magnitude, same_float(l, x, (double)magic.f), "");
        s = LLVMBuildSub(l->b, LLVMBuildBitCast(l->b, s, i32, ""), same_int(w, magic.u),
                         "");
    } else {
        union {
            float f;
            uint32_t u;
        } scale = {.u = (uint32_t)(bias + mant - 1 + 127) << 23};
        s = LLVMBuildFMul(l->b, magnitude, same_float(l, x, (double)scale.f), "");
        s = ll_intrinsic(l, "llvm.fptosi.sat", (Lt[]){i32, LLVMTypeOf(x)}, 2, &s, 1);
    }
    n = LLVMBuildSub(l->b, n, same_int(w, (uint64_t)(127 - bias) << 23), "");
    n = LLVMBuildLShr(l->b, n, same_int(w, (unsigned)drop), "");
    Lv is_small = cmp_int(l, LLVMIntULT, a, same_int(w, (uint64_t)(128 - bias) << 23));
    Lv r = choose(l, is_small, s, n);
    r = choose(l, cmp_int(l, LLVMIntUGT, r, same_int(w, max)), same_int(w, max), r);
    Lv sign = LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, w, same_int(w, 24), ""),
                           same_int(w, 0x80), "");
    r = LLVMBuildOr(l->b, r, sign, "");
    Lv is_nan = LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, "");
    r = choose(l, is_nan, same_int(w, 0x7f), r);
    return LLVMBuildTrunc(l->b, r, like(x, l->i8), "");
}

static Lv
float_to_narrow(Ll *l, Elem e, Lv x, int rounding)
{
    if (l->ops && l->ops->from_float) {
        Lv v = l->ops->from_float(l, e, x, rounding);
        if (v)
            return v;
    }
    switch (e) {
    case E_F16: return float_to_half(l, x, rounding);
    case E_BF16: return float_to_bf16(l, x, rounding);
    case E_F8E4M3: return float_to_f8(l, x, 3, 7, 0x7e, rounding);
    case E_F8E5M2: return float_to_f8(l, x, 2, 15, 0x7b, rounding);
    default: unreachable(l->c);
    }
}

/* double -> float, so that a second rounding to fewer bits gives what one would have:
 * toward zero, with the last bit set when anything was cut off ("round to odd"; Boldo and
 * Melquiond, "Emulation of FMA and correctly rounded sums", 2008). */
static Lv
double_to_odd_float(Ll *l, Lv x)
{
    Lt i32 = like(x, l->i32), f32 = like(x, l->f32), f64 = LLVMTypeOf(x);
    Lv f = LLVMBuildFPTrunc(l->b, x, f32, ""), back = LLVMBuildFPExt(l->b, f, f64, "");
    Lv away = LLVMBuildFCmp(l->b, LLVMRealOGT, unary(l, "llvm.fabs", back),
                            unary(l, "llvm.fabs", x), "");
    Lv inexact = LLVMBuildFCmp(l->b, LLVMRealONE, back, x, "");
    Lv w = LLVMBuildBitCast(l->b, f, i32, "");
    w = LLVMBuildSub(l->b, w, LLVMBuildZExt(l->b, away, i32, ""), "");
    w = LLVMBuildOr(l->b, w, LLVMBuildZExt(l->b, inexact, i32, ""), "");
    return LLVMBuildBitCast(l->b, w, f32, "");
}

static Lv
double_to_float_rtz(Ll *l, Lv x)
{
    Lt i32 = like(x, l->i32), f32 = like(x, l->f32), f64 = LLVMTypeOf(x);
    Lv f = LLVMBuildFPTrunc(l->b, x, f32, ""), back = LLVMBuildFPExt(l->b, f, f64, "");
    Lv away = LLVMBuildFCmp(l->b, LLVMRealOGT, unary(l, "llvm.fabs", back),
                            unary(l, "llvm.fabs", x), "");
    Lv w = LLVMBuildBitCast(l->b, f, i32, "");
    w = LLVMBuildSub(l->b, w, LLVMBuildZExt(l->b, away, i32, ""), "");
    return LLVMBuildBitCast(l->b, w, f32, "");
}

/* ---- casts ------------------------------------------------------------------------------ */

static Lv
float_to_float(Ll *l, Elem from, Elem to, Lv x, int rounding)
{
    if (to == E_F64) {
        if (is_narrow_float(from))
            x = narrow_to_float(l, from, x);
        return LLVMBuildFPExt(l->b, x, like(x, l->f64), "");
    }
    if (from == E_F64) {
        if (to != E_F32)
            return float_to_narrow(l, to, double_to_odd_float(l, x), rounding);
        return rounding == ROUND_RTZ ? double_to_float_rtz(l, x)
                                     : LLVMBuildFPTrunc(l->b, x, like(x, l->f32), "");
    }
    if (is_narrow_float(from))
        x = narrow_to_float(l, from, x);
    return to == E_F32 ? x : float_to_narrow(l, to, x, rounding);
}

static Lv
int_to_float(Ll *l, Elem from, Elem to, Lv x)
{
    Lt t = like(x, to == E_F64 ? l->f64 : l->f32);
    Lv v = elem_is_signed(from) ? LLVMBuildSIToFP(l->b, x, t, "")
                                : LLVMBuildUIToFP(l->b, x, t, "");
    return is_narrow_float(to) ? float_to_narrow(l, to, v, ROUND_RTNE) : v;
}

static Lv
float_to_int(Ll *l, Elem from, Elem to, Lv x)
{
    if (is_narrow_float(from))
        x = narrow_to_float(l, from, x);
    if (to == E_I1)
        return LLVMBuildFCmp(l->b, LLVMRealUNE, x, same_float(l, x, 0), "");
    const char *name = elem_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    Lt t = like(x, ll_elem(l, to));
    return ll_intrinsic(l, name, (Lt[]){t, LLVMTypeOf(x)}, 2, &x, 1);
}

Lv
cg_cast(Ll *l, Elem from, Elem to, Lv x, int rounding)
{
    if (from == to)
        return x;
    if (elem_is_float(from))
        return elem_is_float(to) ? float_to_float(l, from, to, x, rounding)
                                 : float_to_int(l, from, to, x);
    if (elem_is_float(to))
        return int_to_float(l, from, to, x);
    if (to == E_I1)
        return cmp_int(l, LLVMIntNE, x, same_int(x, 0));
    int a = elem_info[from].bits, b = elem_info[to].bits;
    Lt t = like(x, ll_elem(l, to));
    if (a == b)
        return x;
    if (a > b)
        return LLVMBuildTrunc(l->b, x, t, "");
    return elem_is_signed(from) ? LLVMBuildSExt(l->b, x, t, "")
                                : LLVMBuildZExt(l->b, x, t, "");
}

Lv
cg_to_memory(Ll *l, Elem e, Lv x)
{
    return e == E_I1 ? LLVMBuildZExt(l->b, x, like(x, l->i8), "") : x;
}

Lv
cg_from_memory(Ll *l, Elem e, Lv x)
{
    return e == E_I1 ? cmp_int(l, LLVMIntNE, x, same_int(x, 0)) : x;
}

/* ---- integers ------------------------------------------------------------------------------ */

/* Vectors of up to 32 bits divide exactly in floating point: the quotient of two p-bit
 * integers differs from the next integer by at least 2^-p, more than the rounding of a
 * significand of 2p bits. CPUs have no vector division of integers. */
static Lv
divide_by_float(Ll *l, Elem e, Lv a, Lv b)
{
    Lt f = like(a, elem_info[e].bits > 8 ? l->f64 : l->f32), t = LLVMTypeOf(a);
    if (elem_is_signed(e)) {
        Lv q = LLVMBuildFDiv(l->b, LLVMBuildSIToFP(l->b, a, f, ""),
                             LLVMBuildSIToFP(l->b, b, f, ""), "");
        return LLVMBuildFPToSI(l->b, q, t, "");
    }
    Lv q = LLVMBuildFDiv(l->b, LLVMBuildUIToFP(l->b, a, f, ""),
                         LLVMBuildUIToFP(l->b, b, f, ""), "");
    return LLVMBuildFPToUI(l->b, q, t, "");
}

static Lv
int_divide(Ll *l, Elem e, Lv a, Lv b, bool want_rem)
{
    bool is_signed = elem_is_signed(e);
    if (e == E_I1) /* the only divisor is 1 */
        return want_rem ? same_int(a, 0) : LLVMBuildAnd(l->b, a, b, "");
    /* Zero becomes 1, and so does -1, whose quotient is -a: MIN / -1 would trap. A GPU
     * wraps there, and only of a constant does LLVM know that it is -1. */
    Lv is_zero = cmp_int(l, LLVMIntEQ, b, same_int(b, 0));
    Lv bad = is_zero, is_minus = NULL;
    if (is_signed && (traps(l) || LLVMIsConstant(b))) {
        is_minus = cmp_int(l, LLVMIntEQ, b, LLVMConstAllOnes(LLVMTypeOf(b)));
        bad = LLVMBuildOr(l->b, is_zero, is_minus, "");
    }
    Lv d = choose(l, bad, same_int(b, 1), b), q;
    if (want_rem && !traps(l))
        return is_signed ? LLVMBuildSRem(l->b, a, d, "")
                         : LLVMBuildURem(l->b, a, d, "");
    if (ll_lanes(a) && elem_info[e].bits <= 32 && !LLVMIsConstant(d))
        q = divide_by_float(l, e, a, d);
    else
        q = is_signed ? LLVMBuildSDiv(l->b, a, d, "") : LLVMBuildUDiv(l->b, a, d, "");
    if (want_rem) /* by 1 it is 0, which -1 wants too */
        return LLVMBuildSub(l->b, a, LLVMBuildMul(l->b, q, d, ""), "");
    if (is_minus)
        q = choose(l, is_minus, LLVMBuildNeg(l->b, a, ""), q);
    return choose(l, is_zero, same_int(a, 0), q);
}

static Lv
shift(Ll *l, OpCode op, Elem e, Lv a, Lv n)
{
    unsigned bits = elem_info[e].bits;
    Lv fits = cmp_int(l, LLVMIntULT, n, same_int(n, bits));
    if (e == E_I1)
        return LLVMBuildAnd(l->b, a, LLVMBuildNot(l->b, n, ""), "");
    if (op == OP_SHR && elem_is_signed(e)) {
        n = choose(l, fits, n, same_int(n, bits - 1));
        return LLVMBuildAShr(l->b, a, n, "");
    }
    /* Bounded before the shift, so that what select drops is not poison. */
    Lv safe = LLVMBuildAnd(l->b, n, same_int(n, bits - 1), "");
    Lv r = op == OP_SHL ? LLVMBuildShl(l->b, a, safe, "")
                        : LLVMBuildLShr(l->b, a, safe, "");
    return choose(l, fits, r, same_int(a, 0));
}

static Lv
multiply_wide(Ll *l, Elem e, Lv a, Lv b)
{
    Lt wide = like(a, LLVMIntTypeInContext(l->cx, elem_info[e].bits * 2));
    return LLVMBuildMul(l->b, LLVMBuildZExt(l->b, a, wide, ""),
                        LLVMBuildZExt(l->b, b, wide, ""), "");
}

static Lv
multiply_high(Ll *l, Elem e, Lv a, Lv b)
{
    unsigned bits = elem_info[e].bits;
    if (bits == 1)
        return same_int(a, 0);
    Lv p = multiply_wide(l, e, a, b);
    p = LLVMBuildLShr(l->b, p, same_int(p, bits), "");
    return LLVMBuildTrunc(l->b, p, LLVMTypeOf(a), "");
}

/* Does a umulhi want the high half of o's product? On GPUs both halves come from one
 * mul.wide when they are taken from one wide product: half the multiplications of Philox. */
static bool
has_high_half(const Op *o)
{
    Val *a = arg(o, 0), *b = arg(o, 1);
    Val *fewer = ir_is_const(a, NULL) ? b : a;
    for (const Use *u = fewer->uses; u; u = u->next)
        if (u->user->op == OP_UMULHI &&
            ((arg(u->user, 0) == a && arg(u->user, 1) == b) ||
             (arg(u->user, 0) == b && arg(u->user, 1) == a)))
            return true;
    return false;
}

static Lv
int_op(Ll *l, OpCode op, Elem e, Lv *x)
{
    bool is_signed = elem_is_signed(e);
    Lv a = x[0], b = x[1];
    switch (op) {
    case OP_ADD: return LLVMBuildAdd(l->b, a, b, "");
    case OP_SUB: return LLVMBuildSub(l->b, a, b, "");
    case OP_MUL: return LLVMBuildMul(l->b, a, b, "");
    case OP_DIV: return int_divide(l, e, a, b, false);
    case OP_REM: return int_divide(l, e, a, b, true);
    case OP_MIN: return binary(l, is_signed ? "llvm.smin" : "llvm.umin", a, b);
    case OP_MAX: return binary(l, is_signed ? "llvm.smax" : "llvm.umax", a, b);
    case OP_UMULHI: return multiply_high(l, e, a, b);
    case OP_AND: return LLVMBuildAnd(l->b, a, b, "");
    case OP_OR: return LLVMBuildOr(l->b, a, b, "");
    case OP_XOR: return LLVMBuildXor(l->b, a, b, "");
    case OP_SHL:
    case OP_SHR: return shift(l, op, e, a, b);
    case OP_NEG: return LLVMBuildNeg(l->b, a, "");
    case OP_ABS: {
        if (!is_signed)
            return a;
        Lt t = LLVMTypeOf(a);
        return ll_intrinsic(l, "llvm.abs", &t, 1,
                            (Lv[]){a, LLVMConstInt(l->i1, 0, false)}, 2);
    }
    default: unreachable(l->c);
    }
}

/* ---- floats ------------------------------------------------------------------------------------ */

static const char *
intrinsic_of(OpCode op)
{
    switch (op) {
    case OP_MIN: return "llvm.minnum";
    case OP_MAX: return "llvm.maxnum";
    case OP_MINNAN: return "llvm.minimum";
    case OP_MAXNAN: return "llvm.maximum";
    case OP_FMA: return "llvm.fma";
    case OP_EXP: return "llvm.exp";
    case OP_EXP2: return "llvm.exp2";
    case OP_LOG: return "llvm.log";
    case OP_LOG2: return "llvm.log2";
    case OP_SIN: return "llvm.sin";
    case OP_COS: return "llvm.cos";
    case OP_TANH: return "llvm.tanh";
    case OP_SQRT:
    case OP_SQRT_RN: return "llvm.sqrt";
    case OP_FLOOR: return "llvm.floor";
    case OP_CEIL: return "llvm.ceil";
    case OP_ABS: return "llvm.fabs";
    default: return NULL;
    }
}

/* f32 or f64 */
static Lv
wide_op(Ll *l, OpCode op, Elem e, Lv *x, int n)
{
    Lv a = x[0], b = n > 1 ? x[1] : NULL;
    switch (op) {
    case OP_ADD: return contracted(l, LLVMBuildFAdd(l->b, a, b, ""));
    case OP_SUB: return contracted(l, LLVMBuildFSub(l->b, a, b, ""));
    case OP_MUL: return contracted(l, LLVMBuildFMul(l->b, a, b, ""));
    case OP_NEG: return LLVMBuildFNeg(l->b, a, "");
    case OP_ABS: return unary(l, "llvm.fabs", a);
    case OP_DIV_RN: return LLVMBuildFDiv(l->b, a, b, "");
    case OP_REM: return cg_float_rem(l, a, b);
    default: break;
    }
    Lv v = l->ops && l->ops->math ? l->ops->math(l, op, e, x) : NULL;
    if (v)
        return v;
    if (op == OP_DIV)
        return LLVMBuildFDiv(l->b, a, b, "");
    if (op == OP_RSQRT)
        return LLVMBuildFDiv(l->b, same_float(l, a, 1), unary(l, "llvm.sqrt", a), "");
    const char *name = intrinsic_of(op);
    if (!name)
        err_at(l->c, NULL, TARGET, op_info[op].text, "this target");
    Lt t = LLVMTypeOf(a);
#if defined __aarch64__
    /* fmaxnm returns a signaling NaN; a quiet one loses, as all do in eval.c. */
    bool on_host = l->gptr == l->ptr;
    if (on_host && (op == OP_MIN || op == OP_MAX))
        return binary(l, name, unary(l, "llvm.canonicalize", a),
                      unary(l, "llvm.canonicalize", b));
#endif
    return ll_intrinsic(l, name, &t, 1, x, n);
}

/* Rounded once: the sum in double is brought to odd first, so that what it cut off counts
 * in the rounding to the narrow type. The product of two narrow floats is exact there. */
static Lv
narrow_fma(Ll *l, Elem e, Lv *x)
{
    Lv d[3];
    for (int i = 0; i < 3; i++)
        d[i] = cg_cast(l, e, E_F64, x[i], ROUND_RTNE);
    Lv p = LLVMBuildFMul(l->b, d[0], d[1], "");
    Lv s = LLVMBuildFAdd(l->b, p, d[2], "");
    Lv q = LLVMBuildFSub(l->b, s, p, ""); /* two-sum: rest is the error of s */
    Lv rest = LLVMBuildFAdd(l->b,
                            LLVMBuildFSub(l->b, p, LLVMBuildFSub(l->b, s, q, ""), ""),
                            LLVMBuildFSub(l->b, d[2], q, ""), "");
    Lt i64 = like(s, l->i64);
    Lv w = LLVMBuildBitCast(l->b, s, i64, "");
    Lv zero = same_float(l, s, 0);
    Lv inexact = LLVMBuildFCmp(l->b, LLVMRealONE, rest, zero, "");
    /* rest against s: s is one step too far from zero. s is not 0 when rest is not. */
    Lv toward = LLVMBuildXor(l->b, LLVMBuildFCmp(l->b, LLVMRealOLT, rest, zero, ""),
                             LLVMBuildFCmp(l->b, LLVMRealOLT, s, zero, ""), "");
    Lv less = LLVMBuildAnd(l->b, inexact, toward, "");
    w = LLVMBuildSub(l->b, w, LLVMBuildZExt(l->b, less, i64, ""), "");
    w = LLVMBuildOr(l->b, w, LLVMBuildZExt(l->b, inexact, i64, ""), "");
    return cg_cast(l, E_F64, e, LLVMBuildBitCast(l->b, w, LLVMTypeOf(s), ""),
                   ROUND_RTNE);
}

static Lv
float_op(Ll *l, OpCode op, Elem e, Lv *x, int n)
{
    if (!is_narrow_float(e))
        return wide_op(l, op, e, x, n);
    Lv as_int = x[0]; /* bf16 and f8 are integers in registers */
    uint64_t sign = (uint64_t)1 << (elem_info[e].bits - 1);
    if (op == OP_NEG)
        return e == E_F16 ? LLVMBuildFNeg(l->b, as_int, "")
                          : LLVMBuildXor(l->b, as_int, same_int(as_int, sign), "");
    if (op == OP_ABS)
        return e == E_F16 ? unary(l, "llvm.fabs", as_int)
                          : LLVMBuildAnd(l->b, as_int, same_int(as_int, sign - 1), "");
    if (op == OP_FMA)
        return narrow_fma(l, e, x);
    Lv y[3];
    for (int i = 0; i < n; i++)
        y[i] = narrow_to_float(l, e, x[i]);
    bool kept = l->contract;
    l->contract = false; /* each op rounds to the narrow type */
    Lv r = wide_op(l, op, E_F32, y, n);
    l->contract = kept;
    return float_to_narrow(l, e, r, ROUND_RTNE);
}

static Lv
compare(Ll *l, OpCode op, const Type *t, Lv *x)
{
    static const LLVMRealPredicate real[] = {LLVMRealOEQ, LLVMRealUNE, LLVMRealOLT,
                                             LLVMRealOLE, LLVMRealOGT, LLVMRealOGE};
    static const LLVMIntPredicate sign[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntSLT,
                                            LLVMIntSLE, LLVMIntSGT, LLVMIntSGE};
    static const LLVMIntPredicate unsign[] = {LLVMIntEQ,  LLVMIntNE,  LLVMIntULT,
                                              LLVMIntULE, LLVMIntUGT, LLVMIntUGE};
    int i = (int)op - OP_EQ;
    if (t->is_ptr || elem_is_int(t->elem))
        return cmp_int(l, !t->is_ptr && elem_is_signed(t->elem) ? sign[i] : unsign[i],
                       x[0], x[1]);
    Lv a = x[0], b = x[1];
    if (is_narrow_float(t->elem)) {
        a = narrow_to_float(l, t->elem, a);
        b = narrow_to_float(l, t->elem, b);
    }
    return LLVMBuildFCmp(l->b, real[i], a, b, "");
}

static Lv
bitcast(Ll *l, const Type *from, const Type *to, Lv x)
{
    Lt t = like(x, ll_type(l, to));
    if (LLVMTypeOf(x) == t)
        return x;
    if (from->is_ptr)
        return LLVMBuildPtrToInt(l->b, x, t, "");
    if (to->is_ptr)
        return LLVMBuildIntToPtr(l->b, x, t, "");
    return LLVMBuildBitCast(l->b, x, t, "");
}

static Lv
add_pointer(Ll *l, const Type *pt, const Type *it, Lv p, Lv i)
{
    if (elem_info[it->elem].bits < 64)
        i = elem_is_signed(it->elem) ? LLVMBuildSExt(l->b, i, like(i, l->i64), "")
                                     : LLVMBuildZExt(l->b, i, like(i, l->i64), "");
    return LLVMBuildGEP2(l->b, ll_mem(l, pt->elem), p, &i, 1, "");
}

Lv
cg_elementwise(Ll *l, const Op *o, Lv *x)
{
    const Type *t = arg(o, 0)->type;
    OpCode op = o->op;
    switch (op) {
    case OP_HINT: return x[0];
    case OP_INLINE_ASM:
    case OP_INLINE_ASM_IO:
        err_at(l->c, o->loc, TARGET, "inline assembly",
               l->machine ? l->machine->name : "the CPU");
    case OP_EXTERN: return ll_call_extern(l, o, x);
    case OP_SELECT: return choose(l, x[0], x[1], x[2]);
    case OP_BITCAST: return bitcast(l, t, result(o, 0)->type, x[0]);
    case OP_ADDPTR: return add_pointer(l, t, arg(o, 1)->type, x[0], x[1]);
    case OP_CAST:
        return cg_cast(l, t->elem, result(o, 0)->type->elem, x[0],
                       (int)ir_attr(o, ATTR_ROUNDING));
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE: return compare(l, op, t, x);
    case OP_MUL:
        if (l->machine && t->elem == E_U32 && has_high_half(o))
            return LLVMBuildTrunc(l->b, multiply_wide(l, t->elem, x[0], x[1]),
                                  LLVMTypeOf(x[0]), "");
        /* fall through */
    default:
        if (elem_is_float(t->elem))
            return float_op(l, op, t->elem, x, o->n_args);
        return int_op(l, op, t->elem, (Lv[]){x[0], o->n_args > 1 ? x[1] : NULL});
    }
}

/* ---- regions ---------------------------------------------------------------------------------- */

typedef struct Region {
    Ll *l;
    Map at;    /* Val -> Lv */
    int lanes; /* of the arguments */
    Lv (*outer)(void *data, const Val *v);
    void *data;
} Region;

static Lv
region_value(Region *r, const Val *v)
{
    Lv x = map_get(&r->at, v, 0);
    if (x)
        return x;
    if (v->type->rank)
        unreachable(r->l->c);
    return ll_splat(r->l, r->outer(r->data, v), r->lanes);
}

static void region_block(Region *r, const Block *b, Lv *out);

static void
region_if(Region *r, const Op *o)
{
    Ll *l = r->l;
    int n = o->n_results;
    if (!n)
        return;
    Lv *x = NEW_N(l->c->arena, Lv, n), *y = NEW_N(l->c->arena, Lv, n);
    region_block(r, o->regions[0], x);
    region_block(r, o->regions[1], y);
    Lv cond = region_value(r, arg(o, 0));
    for (int i = 0; i < n; i++)
        map_put(&r->at, result(o, i), 0, choose(l, cond, x[i], y[i]));
}

static void
region_block(Region *r, const Block *b, Lv *out)
{
    for (const Op *o = b->first; o; o = o->next) {
        if (o->op == OP_YIELD) {
            for (int i = 0; i < o->n_args; i++)
                out[i] = region_value(r, arg(o, i));
            return;
        }
        if (o->op == OP_IF) {
            region_if(r, o);
            continue;
        }
        if (o->op == OP_CONST) {
            map_put(&r->at, result(o, 0), 0,
                    ll_bits(r->l, result(o, 0)->type->elem, o->bits, r->lanes));
            continue;
        }
        if (!op_has(o, OPF_ELEM))
            err_at(r->l->c, o->loc, LIMIT,
                   str_printf(r->l->c->arena,
                              "'%s' cannot be used in a combine function",
                              info(o)->text));
        Lv x[4];
        for (int i = 0; i < o->n_args && i < (int)COUNT(x); i++)
            x[i] = region_value(r, arg(o, i));
        map_put(&r->at, result(o, 0), 0, cg_elementwise(r->l, o, x));
    }
}

void
cg_region(Ll *l, const Block *region, Lv *args, int n_args, Lv *out,
          Lv (*outer)(void *data, const Val *v), void *data)
{
    Region r = {l, {.a = l->c->arena}, n_args ? ll_lanes(args[0]) : 0, outer, data};
    for (int i = 0; i < n_args; i++)
        map_put(&r.at, region->args[i], 0, args[i]);
    region_block(&r, region, out);
}
