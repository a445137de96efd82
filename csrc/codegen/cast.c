/* cast: elements of one type as those of another, one or a vector of them.
 *
 * The rules of scalar.c hold here, too: what ir_eval gives, bit for bit, and no trap for
 * any operand.
 */
#include "codegen/scalar.h"
#include "ptx/formats.h"

/* ---- narrow floats <-> float --------------------------------------------------------- */

static Lv
float_of_bits(Ll *l, Lv like_it, uint32_t bits)
{
    return same_float(l, like_it, (double)f32_of_bits(bits));
}

/* To float from eight bits whose largest exponent has numbers, too. */
static Lv
f8_to_float(Ll *l, Elem e, Lv x)
{
    /* Exponent and mantissa moved to their place in a float are the number times
     * 2^(bias - 127), subnormals too: one exact multiplication. */
    const FloatForm *form = &float_form[e];
    Lt i32 = like(x, l->i32), f32 = like(x, l->f32);
    Lv w = LLVMBuildZExt(l->b, x, i32, "");
    Lv magnitude = LLVMBuildAnd(l->b, w, same_int(w, 0x7f), "");
    Lv place = same_int(w, (uint64_t)(23 - form->mant));
    Lv f = LLVMBuildBitCast(l->b, LLVMBuildShl(l->b, magnitude, place, ""), f32, "");
    f = LLVMBuildFMul(l->b, f, float_of_bits(l, f, (uint32_t)(254 - form->bias) << 23),
                      "");
    Lv bits = LLVMBuildBitCast(l->b, f, i32, "");
    if (!form->no_nan) {
        Lv is_nan = cmp_int(l, LLVMIntEQ, form->one_zero ? w : magnitude,
                            same_int(w, form->nan));
        bits = choose(l, is_nan, same_int(w, 0x7fc00000), bits);
    }
    Lv sign = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, w, same_int(w, 0x80), ""),
                           same_int(w, 24), "");
    return LLVMBuildBitCast(l->b, LLVMBuildOr(l->b, bits, sign, ""), f32, "");
}

/* x, of which LLVM knows no more what it was made of. */
static Lv
fenced(Ll *l, Lv x)
{
    Lt t = LLVMTypeOf(x);
    return LLVMIsConstant(x) ? x
                             : ll_intrinsic(l, "llvm.arithmetic.fence", &t, 1, &x, 1);
}

/* LLVM narrows what it finds done to a half that was widened: a floor, a comparison, a select. A CPU without arithmetic of
 * halves gets those element by element, or with masks of 32 bits packed to 16. */
static Lv
half_to_float(Ll *l, Lv x)
{
    Lt t = like(x, l->f32);
    Lv y = LLVMBuildFPExt(l->b, x, t, "");
    bool narrows = ll_is_host(l) && !l->has_halves && ll_lanes(x) >= 4;
    return narrows ? fenced(l, y) : y;
}

Lv
cast_narrow_to_float(Ll *l, Elem e, Lv x)
{
    if (l->ops && l->ops->to_float) {
        Lv v = l->ops->to_float(l, e, x);
        if (v)
            return v;
    }
    Lt i32 = like(x, l->i32), f32 = like(x, l->f32);
    switch (e) {
    case E_F16: return half_to_float(l, x);
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
    case E_F8E4M3:
    case E_F8E4B15:
    case E_F8E4B8:
    case E_F8E5B16: return f8_to_float(l, e, x);
    default: unreachable(l->c);
    }
}

/* The bits of x in the narrower type `to`, cut: one step toward zero where rounding went away from
 * it; that turns an infinity made by overflow into the largest number, too. A NaN compares false.
 * *back: x as it was rounded. */
static Lv
bits_toward_zero(Ll *l, Lv x, Lt to, Lt bits, Lv *back)
{
    Lv h = LLVMBuildFPTrunc(l->b, x, to, "");
    *back = LLVMBuildFPExt(l->b, h, LLVMTypeOf(x), "");
    Lv away = LLVMBuildFCmp(l->b, LLVMRealOGT, unary(l, "llvm.fabs", *back),
                            unary(l, "llvm.fabs", x), "");
    Lv w = LLVMBuildBitCast(l->b, h, bits, "");
    return LLVMBuildSub(l->b, w, LLVMBuildZExt(l->b, away, bits, ""), "");
}

static Lv
float_to_half(Ll *l, Lv x, int rounding)
{
    Lt f16 = like(x, l->f16);
    Lv back;
    if (rounding == ROUND_RTNE)
        return LLVMBuildFPTrunc(l->b, x, f16, "");
    return LLVMBuildBitCast(l->b, bits_toward_zero(l, x, f16, like(x, l->i16), &back),
                            f16, "");
}

static Lv
bits_to_bf16(Ll *l, Lv x, int rounding)
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

/* AVX512-BF16 rounds sixteen floats at once, and takes subnormal ones for 0. Where there is one, which is rare, all
 * are rounded by their bits. One branch for all: what computes them overlaps. */
static Lv
float_to_bf16(Ll *l, Lv x, int rounding)
{
    enum { SIXTEEN = 16, MOST = 4, SUBNORMAL = 0x20 };
    int n = ll_lanes(x), n_parts = n / SIXTEEN;
    if (!l->has_bf16 || rounding != ROUND_RTNE || n % SIXTEEN || n_parts > MOST || !n ||
        n & (n - 1))
        return bits_to_bf16(l, x, rounding);
    Lv part[MOST], is_tiny = LLVMConstNull(l->i16);
    for (int i = 0; i < n_parts; i++) {
        Lv y = ll_some_lanes(l, x, NULL, i * SIXTEEN, 1, SIXTEEN);
        Lv tiny = ll_intrinsic(l, "llvm.x86.avx512.fpclass.ps.512", NULL, 0,
                               (Lv[]){y, ll_i32(l, SUBNORMAL)}, 2);
        is_tiny = LLVMBuildOr(l->b, is_tiny, LLVMBuildBitCast(l->b, tiny, l->i16, ""),
                              "");
        y = ll_intrinsic(l, "llvm.x86.avx512bf16.cvtneps2bf16.512", NULL, 0, &y, 1);
        part[i] = LLVMBuildBitCast(l->b, y, ll_vec(l->i16, SIXTEEN), "");
    }
    for (int width = SIXTEEN; width < n; width *= 2)
        for (int i = 0; i < n / (2 * width); i++)
            part[i] = ll_some_lanes(l, part[2 * i], part[2 * i + 1], 0, 1, 2 * width);
    LLVMBasicBlockRef all = LLVMGetInsertBlock(l->b), some = ll_block(l, "tiny"),
                      join = ll_block(l, "rounded");
    ll_if(l, LLVMBuildICmp(l->b, LLVMIntNE, is_tiny, LLVMConstNull(l->i16), ""), some,
          join);
    Lv by_bits = bits_to_bf16(l, x, rounding);
    ll_jump(l, join);
    return ll_join(l, part[0], all, by_bits, some);
}

static Lv
float_to_f8(Ll *l, Elem e, Lv x, int rounding)
{
    Lt i32 = like(x, l->i32);
    const FloatForm *form = &float_form[e];
    int mant = form->mant, bias = form->bias, drop = 23 - mant;
    Lv w = LLVMBuildBitCast(l->b, x, i32, "");
    Lv a = LLVMBuildAnd(l->b, w, same_int(w, 0x7fffffff), "");
    Lv magnitude = unary(l, "llvm.fabs", x);
    Lv n = a; /* normal: move the exponent's bias, cut the mantissa */
    Lv s;     /* subnormal: count units of 2^(1 - bias - mant) */
    if (rounding == ROUND_RTNE && !form->ties_away) {
        Lv odd = LLVMBuildAnd(l->b,
                              LLVMBuildLShr(l->b, a, same_int(w, (unsigned)drop), ""),
                              same_int(w, 1), "");
        n = LLVMBuildAdd(l->b, n, odd, "");
        n = LLVMBuildAdd(l->b, n, same_int(w, (1u << (drop - 1)) - 1), "");
        /* Adding 2^23 units leaves the rounded count in the low bits of the sum. */
        uint32_t magic = (uint32_t)(24 - bias - mant + 127) << 23;
        s = LLVMBuildFAdd(l->b, magnitude, float_of_bits(l, x, magic), "");
        s = LLVMBuildSub(l->b, LLVMBuildBitCast(l->b, s, i32, ""), same_int(w, magic),
                         "");
    } else { /* whole units; of halves, where ties go away from zero */
        int half = form->ties_away;
        Lv units = float_of_bits(l, x, (uint32_t)(bias + mant - 1 + half + 127) << 23);
        s = LLVMBuildFMul(l->b, magnitude, units, "");
        s = ll_intrinsic(l, "llvm.fptosi.sat", (Lt[]){i32, LLVMTypeOf(x)}, 2, &s, 1);
        if (half) {
            n = LLVMBuildAdd(l->b, n, same_int(w, 1u << (drop - 1)), "");
            s = LLVMBuildAdd(l->b, s, same_int(w, 1), "");
            s = LLVMBuildLShr(l->b, s, same_int(w, 1), "");
        }
    }
    n = LLVMBuildSub(l->b, n, same_int(w, (uint64_t)(127 - bias) << 23), "");
    n = LLVMBuildLShr(l->b, n, same_int(w, (unsigned)drop), "");
    Lv is_small = cmp_int(l, LLVMIntULT, a, same_int(w, (uint64_t)(128 - bias) << 23));
    Lv r = choose(l, is_small, s, n);
    Lv max = same_int(w, form->max);
    r = choose(l, cmp_int(l, LLVMIntUGT, r, max), max, r);
    if (rounding == ROUND_RTZ &&
        form->has_inf) /* nothing finite is toward zero of it */
        r = choose(l, cmp_int(l, LLVMIntEQ, a, same_int(w, 0x7f800000)),
                   same_int(w, form->max + 1), r);
    Lv sign = LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, w, same_int(w, 24), ""),
                           same_int(w, 0x80), "");
    if (form->one_zero)
        sign = choose(l, cmp_int(l, LLVMIntEQ, r, same_int(w, 0)), r, sign);
    r = LLVMBuildOr(l->b, r, sign, "");
    Lv is_nan = form->one_zero ? cmp_int(l, LLVMIntUGE, a,
                                         same_int(w, 0x7f800000)) /* or infinity */
                               : LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, "");
    r = choose(l, is_nan, same_int(w, form->nan), r);
    return LLVMBuildTrunc(l->b, r, like(x, l->i8), "");
}

Lv
cast_float_to_narrow(Ll *l, Elem e, Lv x, int rounding)
{
    if (l->ops && l->ops->from_float) {
        Lv v = l->ops->from_float(l, e, x, rounding);
        if (v)
            return v;
    }
    switch (e) {
    case E_F16: return float_to_half(l, x, rounding);
    case E_BF16: return float_to_bf16(l, x, rounding);
    case E_F8E4M3:
    case E_F8E5M2:
    case E_F8E4B15:
    case E_F8E4B8:
    case E_F8E5B16: return float_to_f8(l, e, x, rounding);
    default: unreachable(l->c);
    }
}

/* double -> float, so that a second rounding to fewer bits gives what one would have:
 * toward zero, with the last bit set when anything was cut off ("round to odd"; Boldo and
 * Melquiond, "Emulation of FMA and correctly rounded sums", 2008). */
static Lv
double_to_odd_float(Ll *l, Lv x)
{
    Lt i32 = like(x, l->i32), f32 = like(x, l->f32);
    Lv back, w = bits_toward_zero(l, x, f32, i32, &back);
    Lv inexact = LLVMBuildFCmp(l->b, LLVMRealONE, back, x, "");
    w = LLVMBuildOr(l->b, w, LLVMBuildZExt(l->b, inexact, i32, ""), "");
    return LLVMBuildBitCast(l->b, w, f32, "");
}

static Lv
double_to_float_rtz(Ll *l, Lv x)
{
    Lt f32 = like(x, l->f32);
    Lv back;
    return LLVMBuildBitCast(l->b, bits_toward_zero(l, x, f32, like(x, l->i32), &back),
                            f32, "");
}

/* ---- casts ------------------------------------------------------------------------------ */

static Lv
float_to_float(Ll *l, Elem from, Elem to, Lv x, int rounding)
{
    if (to == E_F64) {
        if (elem_is_narrow_float(from))
            x = cast_narrow_to_float(l, from, x);
        return LLVMBuildFPExt(l->b, x, like(x, l->f64), "");
    }
    if (from == E_F64) {
        if (to != E_F32)
            return cast_float_to_narrow(l, to, double_to_odd_float(l, x), rounding);
        return rounding == ROUND_RTZ ? double_to_float_rtz(l, x)
                                     : LLVMBuildFPTrunc(l->b, x, like(x, l->f32), "");
    }
    if (elem_is_narrow_float(from))
        x = cast_narrow_to_float(l, from, x);
    return to == E_F32 ? x : cast_float_to_narrow(l, to, x, rounding);
}

/* An integer of 8 or 16 bits as f32: in the low bits of 2^23 it is that number more. GPUs convert
 * 16 integers a clock of a multiprocessor, and permute bytes and add 64 or more, which is what products
 * of dequantised weights wait for. */
static Lv
small_int_to_float(Ll *l, Elem from, Lv x)
{
    int bits = elem_info[from].bits;
    uint32_t bias = elem_is_signed(from) ? 1u << (bits - 1) : 0;
    if (bias)
        x = LLVMBuildXor(l->b, x, same_int(x, bias), "");
    Lv w = LLVMBuildZExt(l->b, x, like(x, l->i32), "");
    w = LLVMBuildOr(l->b, w, same_int(w, 0x4b000000), "");
    w = LLVMBuildBitCast(l->b, w, like(x, l->f32), "");
    return LLVMBuildFSub(l->b, w, same_float(l, w, 0x1p23 + bias), "");
}

/* By f32, whose one rounding stays one: what f32 does not hold is an infinity of f16. LLVM would make of it an integer as
 * f16, and of that, widened, the integer as f32, which is no infinity. */
static Lv
int_to_float(Ll *l, Elem from, Elem to, Lv x)
{
    int bits = elem_info[from].bits;
    Lt t = like(x, to == E_F64 ? l->f64 : l->f32);
    bool is_gpu = l->c->opt.target.kind != TARGET_CPU;
    Lv v = is_gpu && to != E_F64 && (bits == 8 || bits == 16)
               ? small_int_to_float(l, from, x)
           : elem_is_signed(from) ? LLVMBuildSIToFP(l->b, x, t, "")
                                  : LLVMBuildUIToFP(l->b, x, t, "");
    if (!elem_is_narrow_float(to))
        return v;
    bool fits = bits < 16 || (bits == 16 && elem_is_signed(from));
    return cast_float_to_narrow(l, to, to == E_F16 && !fits ? fenced(l, v) : v,
                                ROUND_RTNE);
}

/* To 16 bits and cut to `to`: LLVM takes llvm.fptosi.sat of vectors of 16 bits lane by lane. A NaN is 0. */
static Lv
float_to_small_int(Ll *l, Elem to, Lv x)
{
    bool is_signed = elem_is_signed(to);
    Lv lo = same_float(l, x, is_signed ? INT16_MIN : 0),
       hi = same_float(l, x, is_signed ? INT16_MAX : UINT16_MAX);
    Lv y = choose(l, LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, ""), same_float(l, x, 0),
                  x);
    y = choose(l, LLVMBuildFCmp(l->b, LLVMRealOLT, y, hi, ""), y, hi);
    y = choose(l, LLVMBuildFCmp(l->b, LLVMRealOGT, y, lo, ""), y, lo);
    y = LLVMBuildFPToSI(l->b, y, like(x, l->i32), "");
    return LLVMBuildTrunc(l->b, y, like(x, ll_elem(l, to)), "");
}

/* A vector to integers of 32 or 64 bits: LLVM takes llvm.fptosi.sat lane by lane on x86. Numbers that do not fit, of which
 * the conversion makes anything, are told by comparisons; a NaN is 0. */
static Lv
float_to_large_int(Ll *l, Elem to, Lv x)
{
    bool is_signed = elem_is_signed(to);
    Lt t = like(x, ll_elem(l, to));
    uint64_t top = UINT64_MAX >> (64 - elem_info[to].bits + is_signed),
             bottom = is_signed ? top + 1 : 0;
    double end = (double)top + 1; /* a power of two, also where (double)top is one */
    Lv y = is_signed ? LLVMBuildFPToSI(l->b, x, t, "")
                     : LLVMBuildFPToUI(l->b, x, t, "");
    Lv starts = same_float(l, x, is_signed ? -end : 0);
    y = choose(l, LLVMBuildFCmp(l->b, LLVMRealOGE, x, starts, ""), y,
               same_int(y, bottom));
    y = choose(l, LLVMBuildFCmp(l->b, LLVMRealOGE, x, same_float(l, x, end), ""),
               same_int(y, top), y);
    return choose(l, LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, ""), same_int(y, 0), y);
}

static Lv
float_to_int(Ll *l, Elem from, Elem to, Lv x)
{
    if (elem_is_narrow_float(from))
        x = cast_narrow_to_float(l, from, x);
    if (to == E_I1)
        return LLVMBuildFCmp(l->b, LLVMRealUNE, x, same_float(l, x, 0), "");
    /* Bytes are the low halves of 16 bits, as cvt makes them (eval.c: double_to_int). */
    if (elem_info[to].bits <= 16 && l->c->opt.target.kind == TARGET_CPU)
        return float_to_small_int(l, to, x);
    if (ll_lanes(x) && l->c->opt.target.kind == TARGET_CPU)
        return float_to_large_int(l, to, x);
    const char *name = elem_is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    Lt t = like(x, ll_elem(l, to)), wide = t;
    Elem e = to;
    if (elem_info[to].bits == 8) {
        e = elem_is_signed(to) ? E_I16 : E_U16;
        wide = like(x, l->i16);
    }
    Lv r = l->ops && l->ops->to_int
               ? l->ops->to_int(l, e, x)
               : ll_intrinsic(l, name, (Lt[]){wide, LLVMTypeOf(x)}, 2, &x, 1);
    return wide == t ? r : LLVMBuildTrunc(l->b, r, t, "");
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
