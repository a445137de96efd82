/* rem: the remainder of floats, exact as C's fmod, on GPUs and their emulator. Hosts have
 * LLVM's frem, which is libm's; for PTX that is x - trunc(x / y) * y, wrong from quotients
 * of 2^24 on and by y where x / y rounds up to a whole number.
 *
 *     step(a, b)   n = trunc(a / b);  r = a - n * b (one fma);  r < 0: r + b
 *
 * is exact while a / b < 2^(p-1), where p is the number of bits of a significand: n is the quotient
 * or one more, and r is a multiple of b's last place between -b and b, so it is a float. Larger quotients take
 * a few steps by b * 2^k first, p - 2 bits of the quotient each: 12 at most for floats, 42
 * for doubles. These steps are a function of their own, and the branch that calls it is rarely taken.
 */
#include "codegen/math.h"

/* What f32 and f64 differ in. */
typedef struct Float {
    const char *slow; /* the function's name */
    int p;            /* bits of the significand, the hidden one too */
    int bias;
    double limit; /* 2^(p-1) */
    double least; /* the least normal number */
} Float;

static const Float single = {"tegula_rem_f32", 24, 127, 0x1p23, 0x1p-126};
static const Float twice = {"tegula_rem_f64", 53, 1023, 0x1p52, 0x1p-1022};

static Lv
call1(const M *m, const char *name, Lv x)
{
    return ll_intrinsic(m->l, name, (Lt[]){m->f}, 1, &x, 1);
}

/* a mod b, given q = a / b below the limit. */
static Lv
step(const M *m, Lv a, Lv b, Lv q)
{
    Lv n = LLVMBuildFNeg(m->l->b, call1(m, "llvm.trunc", q), "");
    Lv r = ll_intrinsic(m->l, "llvm.fma", (Lt[]){m->f}, 1, (Lv[]){n, b, a}, 3);
    return pick(m, less(m, r, num(m, 0)), add(m, r, b), r);
}

/* The biased exponent of x > 0, as if there were no subnormals. */
static Lv
exponent(const M *m, const Float *t, Lv x)
{
    LLVMBuilderRef b = m->l->b;
    double up = 2 * t->limit;
    Lv tiny = less(m, x, num(m, t->least));
    Lv y = pick(m, tiny, mul(m, x, num(m, up)), x);
    Lv e = LLVMBuildLShr(b, bits(m, y), whole(m, t->p - 1), "");
    return LLVMBuildSub(b, e, pick(m, tiny, whole(m, t->p), whole(m, 0)), "");
}

/* 2^k, k from 0 to bias. */
static Lv
power(const M *m, const Float *t, Lv k)
{
    Lv e = LLVMBuildAdd(m->l->b, k, whole(m, t->bias), "");
    return from_bits(m, LLVMBuildShl(m->l->b, e, whole(m, t->p - 1), ""));
}

/* static T slow(T a, T b): a mod b of what is not negative, by any number of steps. */
static void
fill_slow(const M *m, const Float *t, Lv fn)
{
    Ll *l = m->l;
    LLVMBuilderRef b = l->b;
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(l->cx, fn, "");
    LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(l->cx, fn, "head");
    LLVMBasicBlockRef more = LLVMAppendBasicBlockInContext(l->cx, fn, "more");
    LLVMBasicBlockRef last = LLVMAppendBasicBlockInContext(l->cx, fn, "last");
    LLVMBasicBlockRef none = LLVMAppendBasicBlockInContext(l->cx, fn, "none");
    Lv x = LLVMGetParam(fn, 0), y = LLVMGetParam(fn, 1);
    LLVMPositionBuilderAtEnd(b, entry);
    Lv is_number = LLVMBuildAnd(b, less(m, x, num(m, __builtin_inf())),
                                less(m, num(m, 0), y), "");
    LLVMBuildCondBr(b, is_number, head, none);

    LLVMPositionBuilderAtEnd(b, head);
    Lv a = LLVMBuildPhi(b, m->f, "");
    Lv q = LLVMBuildFDiv(b, a, y, "");
    LLVMBuildCondBr(b, less(m, q, num(m, t->limit)), last, more);

    LLVMPositionBuilderAtEnd(b, more);
    Lv k = LLVMBuildSub(b, exponent(m, t, a), exponent(m, t, y), "");
    k = LLVMBuildSub(b, k, whole(m, t->p - 2), "");
    Lv half = LLVMBuildLShr(b, k, whole(m, 1), ""); /* 2^k itself may be infinite */
    Lv c = mul(m, y, power(m, t, half));
    c = mul(m, c, power(m, t, LLVMBuildSub(b, k, half, "")));
    Lv next = step(m, a, c, LLVMBuildFDiv(b, a, c, ""));
    LLVMBuildBr(b, head);
    LLVMAddIncoming(a, (Lv[]){x, next}, (LLVMBasicBlockRef[]){entry, more}, 2);

    LLVMPositionBuilderAtEnd(b, last);
    LLVMBuildRet(b, step(m, a, y, q));
    LLVMPositionBuilderAtEnd(b, none);
    LLVMBuildRet(b, num(m, __builtin_nan("")));
}

static Lv
slow_function(const M *m, const Float *t, Lt type)
{
    Ll *l = m->l;
    Lv fn = LLVMGetNamedFunction(l->m, t->slow);
    if (fn)
        return fn;
    fn = LLVMAddFunction(l->m, t->slow, type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    fill_slow(m, t, fn);
    LLVMPositionBuilderAtEnd(l->b, here);
    return fn;
}

static Lv
rem_scalar(Ll *l, Lv x, Lv y)
{
    M m = like(l, x);
    const Float *t = m.f == l->f64 ? &twice : &single;
    Lv a = magnitude(&m, x), b = magnitude(&m, y);
    Lv q = LLVMBuildFDiv(l->b, a, b, "");
    /* Also where b is infinite, 0 * b would be NaN; and where a / b rounds up to 1. */
    Lv quick = pick(&m, less(&m, a, b), a, step(&m, a, b, q));
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b);
    LLVMBasicBlockRef far = ll_block(l, "rem"), done = ll_block(l, "");
    LLVMBuildCondBr(l->b, less(&m, q, num(&m, t->limit)), done, far);
    LLVMPositionBuilderAtEnd(l->b, far);
    Lt type = LLVMFunctionType(m.f, (Lt[]){m.f, m.f}, 2, false);
    Lv long_way = LLVMBuildCall2(l->b, type, slow_function(&m, t, type), (Lv[]){a, b},
                                 2, "");
    ll_jump(l, done);
    Lv r = ll_join(l, quick, from, long_way, far);
    return with_sign_of(&m, r, x);
}

Lv
cg_float_rem(Ll *l, Lv x, Lv y)
{
    if (!l->machine || (LLVMIsConstant(x) && LLVMIsConstant(y)))
        return LLVMBuildFRem(l->b, x, y, "");
    int lanes = ll_lanes(x);
    if (!lanes)
        return rem_scalar(l, x, y);
    Lv r = LLVMGetPoison(LLVMTypeOf(x));
    for (int i = 0; i < lanes; i++) {
        Lv at = ll_i32(l, i);
        Lv one = rem_scalar(l, LLVMBuildExtractElement(l->b, x, at, ""),
                            LLVMBuildExtractElement(l->b, y, at, ""));
        r = LLVMBuildInsertElement(l->b, r, one, at, "");
    }
    return r;
}
