/* ptx_math: scalar functions and conversions that PTX does better than shared code.
 */
#include "codegen/simt/ptx.h"

static Lv
f32_call(Ll *l, const char *name, Lv x)
{
    return ll_intrinsic(l, name, NULL, 0, &x, 1);
}

static Lv
ex2(Ll *l, Lv x)
{
    return ll_asm(l, l->f32, "ex2.approx.ftz.f32 $0, $1;", "=f,f", &x, 1, false);
}

/* The approximations Triton's functions are, where PTX has one that is good enough: one
 * instruction, subnormals flushed. The rest is shared with the CPU. */
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
        case OP_RSQRT: return f32_call(l, "llvm.nvvm.rsqrt.approx.ftz.f", x[0]);
        case OP_SQRT:
            return ll_asm(l, l->f32, "sqrt.approx.f32 $0, $1;", "=f,f", x, 1, false);
        default: break;
        }
    }
    return scalar_ops_host.math(l, op, e, x);
}

static Lv
ptx_to_float(Ll *l, Elem e, Lv x)
{
    if ((e != E_F8E4M3 && e != E_F8E5M2) || !ptx_sm_at_least(l, 89))
        return NULL;
    const char *text = e == E_F8E4M3 ? "cvt.rn.f16x2.e4m3x2 $0, $1;"
                                     : "cvt.rn.f16x2.e5m2x2 $0, $1;";
    Lv pair = LLVMBuildZExt(l->b, x, l->i16, "");
    Lv both = ll_asm(l, l->i32, text, "=r,h", &pair, 1, false);
    Lv half = LLVMBuildTrunc(l->b, both, l->i16, "");
    return LLVMBuildFPExt(l->b, LLVMBuildBitCast(l->b, half, l->f16, ""), l->f32, "");
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
    if ((e == E_F8E4M3 || e == E_F8E5M2) && ptx_sm_at_least(l, 89)) {
        const char *text = e == E_F8E4M3 ? "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;"
                                         : "cvt.rn.satfinite.e5m2x2.f32 $0, $1, $2;";
        Lv in[] = {LLVMConstReal(l->f32, 0), x}; /* high, low */
        Lv pair = ll_asm(l, l->i16, text, "=h,f,f", in, 2, false);
        return LLVMBuildTrunc(l->b, pair, l->i8, "");
    }
    return NULL;
}

const ScalarOps ptx_scalar_ops = {ptx_math, ptx_to_float, ptx_from_float};
