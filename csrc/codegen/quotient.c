/* quotient: whole numbers of up to 32 bits by each other, on GPUs.
 *
 *     z = 2^32 / d, a little less                 by the approximate reciprocal, once for all quotients by this d
 *     z = z + high(z * (-d * z))                  Newton's step: 2^32 / d is above z by at most 1.6
 *     q = high(x * z)
 *     x - q * d > d - 1:  q + 1                   once where x <= 2^31, else twice
 *
 * PTX has a division, and ptxas makes the same of it, with one step more and a test for d = 0. Dividing by 0
 * gives 0 here (ir/README.md), which would be a second test around that division, and a third for LLVM
 * (scalar.c, rule 2). Here z is 0 then, and nothing is above d - 1, which is 2^32 - 1.
 *
 * How far z is below 2^32 / d: d - 1 as a float and that plus 1 are each rounded by 2^-24, the
 * reciprocal is within 2^-23 and its product within 2^-24. That product is by 2^32 - 2^12, which takes 2^-20 away, so
 * z is never above and lies below by 2^-19 of it at most. The step squares that; rounding down
 * costs less than 0.5 before it and 1 behind it.
 *
 * abs of the least number is that number, which ptxas takes for positive (ABS_OF_LEAST of simt/ptxas_faults.def). Nothing
 * here asks for its sign.
 */
#include "codegen/scalar.h"

static const char reciprocal[] =
    "{.reg .b32 z, e; .reg .f32 f; add.u32 z, $1, -1; cvt.rn.f32.u32 f, z; "
    "add.rn.f32 f, f, 0f3F800000; rcp.approx.ftz.f32 f, f; "
    "mul.rn.f32 f, f, 0f4F7FFFF0; cvt.rzi.u32.f32 z, f; mul.lo.u32 e, $1, z; "
    "sub.u32 e, 0, e; mul.hi.u32 e, z, e; add.u32 $0, z, e;}";

#define HEAD                                                                           \
    "{.reg .b32 q, r, m; .reg .pred p; add.u32 m, $2, -1; mul.hi.u32 q, $1, $3; "
#define STEP                                                                           \
    "mul.lo.u32 r, q, $2; sub.u32 r, $1, r; setp.gt.u32 p, r, m; @p add.u32 q, q, 1; "

static Lv
pure(Ll *l, const char *text, const char *constraints, Lv *args, int n)
{
    Lv call = ll_asm(l, l->i32, text, constraints, args, n, false);
    ll_mark_pure(l, call);
    return call;
}

static Lv
unsigned_quotient(Ll *l, Lv x, Lv d)
{
    Lv z = pure(l, reciprocal, "=r,r", &d, 1);
    return pure(l, HEAD STEP STEP "mov.b32 $0, q;}", "=r,r,r,r", (Lv[]){x, d, z}, 3);
}

static Lv
signed_quotient(Ll *l, Lv a, Lv b)
{
    Lv x = pure(l, "abs.s32 $0, $1;", "=r,r", &a, 1);
    Lv d = pure(l, "abs.s32 $0, $1;", "=r,r", &b, 1);
    Lv z = pure(l, reciprocal, "=r,r", &d, 1);
    return pure(l,
                HEAD STEP "xor.b32 r, $4, $5; setp.lt.s32 p, r, 0; "
                          "@p sub.u32 q, 0, q; mov.b32 $0, q;}",
                "=r,r,r,r,r,r", (Lv[]){x, d, z, a, b}, 5);
}

Lv
cg_quotient(Ll *l, Elem e, Lv a, Lv b, bool want_rem)
{
    bool is_signed = elem_is_signed(e);
    Lt narrow = LLVMTypeOf(a);
    a = LLVMBuildIntCast2(l->b, a, l->i32, is_signed, "");
    b = LLVMBuildIntCast2(l->b, b, l->i32, is_signed, "");
    Lv q = is_signed ? signed_quotient(l, a, b) : unsigned_quotient(l, a, b);
    if (want_rem) {
        Lv r = LLVMBuildSub(l->b, a, LLVMBuildMul(l->b, q, b, ""), "");
        q = choose(l, cmp_int(l, LLVMIntEQ, b, same_int(b, 0)), b, r);
    }
    return LLVMBuildTrunc(l->b, q, narrow, "");
}
