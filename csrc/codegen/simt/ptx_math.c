/* ptx_math: scalar functions and conversions that PTX does better than shared code.
 */
#include "codegen/library/foreign.h"
#include "codegen/math.h"
#include "codegen/simt/ptx.h"

static Lv
f32_call(Ll *l, const char *name, Lv x)
{
    return ll_intrinsic(l, name, NULL, 0, &x, 1);
}

static Lv
ex2(Ll *l, Lv x)
{
    const char *text = foreign_flushes(l) ? "ex2.approx.ftz.f32 $0, $1;"
                                          : "ex2.approx.f32 $0, $1;";
    return ll_asm(l, l->f32, text, "=f,f", &x, 1, false);
}

static Lv
rsqrt(Ll *l, Lv x)
{
    return f32_call(l,
                    foreign_flushes(l) ? "llvm.nvvm.rsqrt.approx.ftz.f"
                                       : "llvm.nvvm.rsqrt.approx.f",
                    x);
}

/* x = q pi/2 + r without doubles, where q has at most 17 bits: pi/2 in three parts, the
 * product by the first is exact, and so is what it leaves of x. */
static Turns32
near_quadrant(const M *m, Lv x)
{
    const double rounder = 0x1.8p23;
    Lv t = mad(m, x, num(m, 0x1.45f306p-1), num(m, rounder));
    Lv n = sub(m, t, num(m, rounder));
    Lv r = mad(m, n, num(m, -0x1.921fb4p0), x);
    r = mad(m, n, num(m, -0x1.4442d0p-24), r);
    r = mad(m, n, num(m, -0x1.8469898cc5170p-48), r);
    return (Turns32){bits(m, t), r};
}

/* What sines have found out about their arguments: a cosine of the same x asks again. */
typedef struct Known {
    Lv magnitude; /* of x */
    Turns32 k;
    LLVMBasicBlockRef before, join; /* k is known in `join`, which `before` dominates */
} Known;

enum { MAX_KNOWN = 64 };

typedef struct PtxTurns {
    Known all[MAX_KNOWN]; /* the last ones */
    int n;
} PtxTurns;

/* The turns of x that are known where code is built, NULL: none are. The blocks that dominate
 * it: those before a join of ours, or the only one from which a branch comes. */
static const Turns32 *
known(const PtxTurns *t, Lv x, LLVMBasicBlockRef here)
{
    for (int steps = 0; here && steps < 2 * MAX_KNOWN; steps++) {
        const Known *k = t->all, *end = k + (t->n < MAX_KNOWN ? t->n : MAX_KNOWN);
        while (k < end && k->join != here)
            k++;
        if (k < end && LLVMGetOperand(k->magnitude, 0) == x)
            return &k->k;
        LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(here));
        here = k < end ? k->before
               : use && !LLVMGetNextUse(use)
                   ? LLVMGetInstructionParent(LLVMGetUser(use))
                   : NULL;
    }
    return NULL;
}

/* The code for a large x is long, and hardly ever runs: a branch around it. */
static Turns32
turns(Ll *l, const M *m, Lv x)
{
    LLVMBuilderRef b = l->b;
    if (!l->turns)
        l->turns = NEW(l->c->arena, PtxTurns);
    const Turns32 *same = known(l->turns, x, LLVMGetInsertBlock(b));
    if (same)
        return *same;
    Turns32 near = near_quadrant(m, x);
    Lv a = magnitude(m, x), inf = num(m, (double)__builtin_inff());
    Lv is_far = LLVMBuildAnd(b, less(m, num(m, 100000), a), less(m, a, inf), "");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), far_at = ll_block(l, "far"),
                      join = ll_block(l, "near");
    ll_if(l, is_far, far_at, join);
    Turns32 far = math_quadrant(m, x);
    far_at = LLVMGetInsertBlock(b);
    ll_jump(l, join);
    Turns32 k = {ll_join(l, near.q, before, far.q, far_at),
                 ll_join(l, near.r, before, far.r, far_at)};
    l->turns->all[l->turns->n++ % MAX_KNOWN] = (Known){a, k, before, join};
    return k;
}

static Lv
sine(Ll *l, Lv x, int turn)
{
    M m = like(l, x);
    Lv r = math_sine_of(&m, turns(l, &m, x), turn);
    return turn ? r
                : pick(&m, LLVMBuildFCmp(l->b, LLVMRealOEQ, x, num(&m, 0), ""), x, r);
}

/* The approximations Triton's functions are, where PTX has one that is good enough: one
 * instruction, subnormals flushed (enable_reflect_ftz). The rest is shared with the CPU. */
static Lv
ptx_math(Ll *l, OpCode op, Elem e, Lv *x)
{
    if (e == E_F32) {
        switch (op) {
        case OP_EXP2: return ex2(l, x[0]);
        case OP_EXP: {
            Lv scaled = LLVMBuildFMul(l->b, x[0], LLVMConstReal(l->f32, 0x1.715476p+0),
                                      "");
            return ex2(l, scaled);
        }
        case OP_DIV:
            return ll_asm(l, l->f32, "div.full.f32 $0, $1, $2;", "=f,f,f", x, 2, false);
        case OP_DIV_APPROX:
            return ll_asm(l, l->f32, "div.approx.f32 $0, $1, $2;", "=f,f,f", x, 2,
                          false);
        case OP_RSQRT: return rsqrt(l, x[0]);
        case OP_SQRT:
            return ll_asm(l, l->f32, "sqrt.approx.f32 $0, $1;", "=f,f", x, 1, false);
        case OP_SIN: return sine(l, x[0], 0);
        case OP_COS: return sine(l, x[0], 1);
        default: break;
        }
    }
    return scalar_ops_host.math(l, op, e, x);
}

/* A sum of two bf16 is rounded as by way of float, which has more than twice the bits, by one instruction
 * instead of four. */
static Lv
ptx_narrow(Ll *l, OpCode op, Elem e, Lv *x)
{
    if (e != E_BF16 || !ptx_sm_at_least(l, 90) ||
        (op != OP_ADD && op != OP_SUB && op != OP_MUL))
        return NULL;
    const char *text = str_printf(l->c->arena, "%s.rn.bf16 $0, $1, $2;",
                                  op_info[op].text);
    return ll_asm(l, l->i16, text, "=h,h,h", x, 2, false);
}

/* Two float8 in the lower half of a word, as two f16; the upper half is no matter. The pair comes as a word:
 * FLOAT8_HALF in ptxas_faults.def, which rows that are masked off would meet. */
static Lv
both_to_f16(Ll *l, Elem e, Lv word)
{
    const char *text =
        e == E_F8E4M3 ? "{.reg .b16 h; cvt.u16.u32 h, $1; cvt.rn.f16x2.e4m3x2 $0, h;}"
                      : "{.reg .b16 h; cvt.u16.u32 h, $1; cvt.rn.f16x2.e5m2x2 $0, h;}";
    return ll_asm(l, l->i32, text, "=r,r", &word, 1, false);
}

/* Two e4m3 in the high bytes of two halves, as two f16: exponent and mantissa one place
 * lower are the f16 of 2^-8 times as much, subnormals too. 0x7f is NaN; it alone carries
 * into bit 14 when one is added to its mantissa, and 480 with bit 13 is a NaN of f16. */
static Lv
e4m3_to_f16(Ll *l, Lv high)
{
    LLVMBuilderRef b = l->b;
    Lt halves = ll_vec(l->f16, 2);
    Lv low = LLVMBuildAnd(b, high, ll_i32(l, 0x7f007f00), "");
    low = LLVMBuildLShr(b, low, ll_i32(l, 1), "");
    Lv scale = LLVMBuildBitCast(b, ll_i32(l, 0x5c005c00), halves, "");
    Lv x = LLVMBuildFMul(b, LLVMBuildBitCast(b, low, halves, ""), scale, "");
    Lv nan = LLVMBuildAdd(b, low, ll_i32(l, 0x00800080), "");
    nan = LLVMBuildLShr(b, nan, ll_i32(l, 1), "");
    nan = LLVMBuildAnd(b, nan, ll_i32(l, 0x20002000), "");
    Lv sign = LLVMBuildAnd(b, high, ll_i32(l, (int)0x80008000), "");
    x = LLVMBuildOr(b, LLVMBuildBitCast(b, x, l->i32, ""), sign, "");
    return LLVMBuildOr(b, x, nan, "");
}

/* Two e4b15 in the high bytes of two halves: f16 without the highest bit of its exponent. */
static Lv
e4b15_to_f16(Ll *l, Lv high)
{
    LLVMBuilderRef b = l->b;
    Lv low = LLVMBuildAnd(b, high, ll_i32(l, 0x7f007f00), "");
    Lv sign = LLVMBuildAnd(b, high, ll_i32(l, (int)0x80008000), "");
    return LLVMBuildOr(b, LLVMBuildLShr(b, low, ll_i32(l, 1), ""), sign, "");
}

Lv
ptx_f8_pair(Ll *l, Elem e, Lv word, int i)
{
    if (float_form[e].one_zero)
        return NULL;
    /* e5m2 is the high byte of an f16 */
    if (e == E_F8E5M2 || e == E_F8E4B15 || !ptx_sm_at_least(l, 89)) {
        Lv in[] = {word, ll_i32(l, 0), ll_i32(l, i ? 0x3424 : 0x1404)};
        Lv high = ll_intrinsic(l, "llvm.nvvm.prmt", NULL, 0, in, 3);
        return e == E_F8E5M2    ? high
               : e == E_F8E4B15 ? e4b15_to_f16(l, high)
                                : e4m3_to_f16(l, high);
    }
    if (i)
        word = LLVMBuildLShr(l->b, word, ll_i32(l, 16), "");
    return both_to_f16(l, e, word);
}

static Lv
ptx_to_float(Ll *l, Elem e, Lv x)
{
    if ((e != E_F8E4M3 && e != E_F8E5M2) || !ptx_sm_at_least(l, 89))
        return NULL;
    Lv both = both_to_f16(l, e, LLVMBuildZExt(l->b, x, l->i32, ""));
    Lv half = LLVMBuildTrunc(l->b, both, l->i16, "");
    return LLVMBuildFPExt(l->b, LLVMBuildBitCast(l->b, half, l->f16, ""), l->f32, "");
}

Lv
ptx_f8_of_pair(Ll *l, Elem e, Lv low, Lv high)
{
    if ((e != E_F8E4M3 && e != E_F8E5M2) || !ptx_sm_at_least(l, 89))
        return NULL;
    const char *text = e == E_F8E4M3 ? "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;"
                                     : "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;";
    return ll_asm(l, l->i16, text, "=h,f,f", (Lv[]){high, low}, 2, false);
}

static Lv
ptx_from_float(Ll *l, Elem e, Lv x, int rounding)
{
    if (rounding != ROUND_RTNE)
        return NULL;
    if (e == E_BF16 && ptx_sm_at_least(l, 80)) {
        Lt bf16 = LLVMBFloatTypeInContext(l->cx);
        return LLVMBuildBitCast(l->b, LLVMBuildFPTrunc(l->b, x, bf16, ""), l->i16, "");
    }
    Lv pair = ptx_f8_of_pair(l, e, x, LLVMConstReal(l->f32, 0));
    return pair ? LLVMBuildTrunc(l->b, pair, l->i8, "") : NULL;
}

/* cvt saturates by itself, and of float32 to 32 bits or less makes NaN 0; LLVM's form of
 * that is six instructions. */
static Lv
ptx_to_int(Ll *l, Elem to, Lv x)
{
    int bits = elem_info[to].bits;
    bool wide = LLVMTypeOf(x) == l->f64;
    char text[64], of[8];
    snprintf(text, sizeof text, "cvt.rzi.%c%d.f%d $0, $1;",
             elem_is_signed(to) ? 's' : 'u', bits, wide ? 64 : 32);
    snprintf(of, sizeof of, "=%c,%c",
             bits == 16   ? 'h'
             : bits == 32 ? 'r'
                          : 'l',
             wide ? 'd' : 'f');
    Lv r = ll_asm(l, ll_elem(l, to), text, of, &x, 1, false);
    if (!wide && bits <= 32)
        return r;
    Lv is_nan = LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, "");
    return LLVMBuildSelect(l->b, is_nan, LLVMConstNull(LLVMTypeOf(r)), r, "");
}

const ScalarOps ptx_scalar_ops = {ptx_math,   ptx_to_float,  ptx_from_float,
                                  ptx_to_int, simt_assembly, ptx_narrow};
