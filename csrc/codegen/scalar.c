/* scalar: elementwise ops on one element, or on a vector of elements of any width.
 *
 * A value is in the register form of codegen.h. What LLVM has no good arithmetic for goes
 * through float and back, one rounding an op, as ir/eval.c defines it:
 *
 *     f16 bf16 f8      add x, y   =>   round(to_float(x) + to_float(y))
 *
 * Rule 1: an op gives what ir_eval gives, bit for bit, except the payload of a NaN and the
 *         last bits of math functions. Dividing integers by zero gives 0, and so does the remainder.
 * Rule 2: nothing here may trap or be poison for any operands: a masked-off lane computes
 *         with garbage. So shifts are bounded, conversions saturate, divisors are made
 *         harmless. GPUs do not trap, yet LLVM concludes from a division that the divisor
 *         is not 0, and would drop the test in where(b == 0, 0, a // b).
 */
#include "codegen/scalar.h"

/* ---- small words --------------------------------------------------------------------- */

/* x may become part of an fma. */
static Lv
contracted(Ll *l, Lv x)
{
    if (l->contract && LLVMIsAInstruction(x) && LLVMCanValueUseFastMathFlags(x))
        LLVMSetFastMathFlags(x, LLVMFastMathAllowContract);
    return x;
}

/* ---- mul + add ------------------------------------------------------------------------- */

/* On a GPU LLVM chooses which become an fma. There it looks at one basic block at a time, and on
 * a CPU code that checks bounds has others: its results would not be those of the code that
 * stays (runtime/trial.c). So there the choice is made here, by what the kernel says: a product
 * with one use, a sum. */
static bool
is_product(const Ll *l, Lv x)
{
    return l->contract && LLVMIsAInstruction(x) &&
           LLVMGetInstructionOpcode(x) == LLVMFMul &&
           LLVMGetFastMathFlags(x) & LLVMFastMathAllowContract;
}

static Lv
product_plus(Ll *l, Lv product, bool minus, Lv z)
{
    Lt t = LLVMTypeOf(z);
    Lv x = LLVMGetOperand(product, 0), y = LLVMGetOperand(product, 1);
    if (minus)
        x = LLVMBuildFNeg(l->b, x, "");
    return ll_intrinsic(l, "llvm.fmuladd", &t, 1, (Lv[]){x, y, z}, 3);
}

static Lv
sum_of(Ll *l, Lv a, Lv b, bool minus)
{
    if (ll_is_host(l) && is_product(l, a))
        return product_plus(l, a, false, minus ? LLVMBuildFNeg(l->b, b, "") : b);
    if (ll_is_host(l) && is_product(l, b))
        return product_plus(l, b, minus, a);
    Lv x = minus ? LLVMBuildFSub(l->b, a, b, "") : LLVMBuildFAdd(l->b, a, b, "");
    return ll_is_host(l) ? x : contracted(l, x);
}

/* The op may have other users than a sum; then its value is to be one. */
static Lv
product_of(Ll *l, Lv a, Lv b, bool has_one_use)
{
    Lv x = LLVMBuildFMul(l->b, a, b, "");
    return ll_is_host(l) && !has_one_use ? x : contracted(l, x);
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
    if (!ll_is_host(l) && elem_info[e].bits <= 32 && !LLVMIsConstant(b))
        return cg_quotient(l, e, a, b, want_rem);
    /* Zero becomes 1, and so does -1, whose quotient is -a: MIN / -1 would trap. A GPU
     * wraps there, and only of a constant does LLVM know that it is -1. */
    Lv is_zero = cmp_int(l, LLVMIntEQ, b, same_int(b, 0));
    Lv bad = is_zero, is_minus = NULL;
    if (is_signed && (ll_is_host(l) || LLVMIsConstant(b))) {
        is_minus = cmp_int(l, LLVMIntEQ, b, LLVMConstAllOnes(LLVMTypeOf(b)));
        bad = LLVMBuildOr(l->b, is_zero, is_minus, "");
    }
    Lv d = choose(l, bad, same_int(b, 1), b), q;
    if (want_rem && !ll_is_host(l))
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

#ifdef __x86_64__
/* Of vectors of 32 bits. x86 multiplies the lower halves of lanes of 64 bits, so even and odd elements stay where they are:
 * LLVM widens the vector, and packs both halves of the result. */
static Lv
multiply_high_by_pairs(Ll *l, Lv a, Lv b)
{
    LLVMBuilderRef r = l->b;
    Lt pairs = ll_vec(l->i64, ll_lanes(a) / 2);
    Lv x[] = {LLVMBuildBitCast(r, a, pairs, ""), LLVMBuildBitCast(r, b, pairs, "")};
    Lv low = same_int(x[0], UINT32_MAX), half = same_int(x[0], 32);
    Lv even = LLVMBuildMul(r, LLVMBuildAnd(r, x[0], low, ""),
                           LLVMBuildAnd(r, x[1], low, ""), "");
    Lv odd = LLVMBuildMul(r, LLVMBuildLShr(r, x[0], half, ""),
                          LLVMBuildLShr(r, x[1], half, ""), "");
    Lv pick[256];
    int n = ll_lanes(a);
    for (int i = 0; i < n; i++)
        pick[i] = ll_i32(l, i + i % 2 * n);
    even = LLVMBuildLShr(r, even, half, "");
    return LLVMBuildShuffleVector(r, LLVMBuildBitCast(r, even, LLVMTypeOf(a), ""),
                                  LLVMBuildBitCast(r, odd, LLVMTypeOf(a), ""),
                                  LLVMConstVector(pick, (unsigned)n), "");
}
#endif

static Lv
multiply_high(Ll *l, Elem e, Lv a, Lv b)
{
    unsigned bits = elem_info[e].bits;
    if (bits == 1)
        return same_int(a, 0);
#ifdef __x86_64__
    if (!l->machine && bits == 32 && ll_lanes(a) && ll_lanes(a) % 2 == 0)
        return multiply_high_by_pairs(l, a, b);
#endif
    Lv p = multiply_wide(l, e, a, b);
    p = LLVMBuildLShr(l->b, p, same_int(p, bits), "");
    return LLVMBuildTrunc(l->b, p, LLVMTypeOf(a), "");
}

static Lv
int_abs(Ll *l, Lv a)
{
    Lt own = LLVMTypeOf(a);
    return ll_intrinsic(l, "llvm.abs", &own, 1,
                        (Lv[]){a, LLVMConstInt(l->i1, 0, false)}, 2);
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
    case OP_ABS: return is_signed ? int_abs(l, a) : a;
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
#define OP(...)
#define MATH(name, fn, ...)                                                            \
    case OP_##name: return "llvm." #fn;
#include "ir/ops.def"
#undef OP
    case OP_SQRT_RN: return "llvm.sqrt";
    case OP_ABS: return "llvm.fabs";
    default: return NULL;
    }
}

/* f32 or f64 */
static Lv
wide_op(Ll *l, OpCode op, Elem e, Lv *x, int n, bool has_one_use)
{
    Lv a = x[0], b = n > 1 ? x[1] : NULL;
    switch (op) {
    case OP_ADD: return sum_of(l, a, b, false);
    case OP_SUB: return sum_of(l, a, b, true);
    case OP_MUL: return product_of(l, a, b, has_one_use);
    case OP_NEG: return LLVMBuildFNeg(l->b, a, "");
    case OP_ABS: return unary(l, "llvm.fabs", a);
    case OP_DIV_RN: return LLVMBuildFDiv(l->b, a, b, "");
    case OP_REM: return cg_float_rem(l, a, b);
    case OPS(OP_MIN, OP_MAX, OP_MINNAN, OP_MAXNAN):
        if (ll_is_host(l))
            return cg_extreme(l, op, a, b);
        break;
    default: break;
    }
    Lv v = l->ops && l->ops->math ? l->ops->math(l, op, e, x) : NULL;
    if (v)
        return v;
    if (op == OP_DIV || op == OP_DIV_APPROX)
        return LLVMBuildFDiv(l->b, a, b, "");
    if (op == OP_RSQRT)
        return LLVMBuildFDiv(l->b, same_float(l, a, 1), unary(l, "llvm.sqrt", a), "");
    const char *name = intrinsic_of(op);
    if (!name)
        err_at(l->c, NULL, TARGET, op_info[op].text, "this target");
    Lt t = LLVMTypeOf(a);
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
float_op(Ll *l, OpCode op, Elem e, Lv *x, int n, bool has_one_use)
{
    if (!elem_is_narrow_float(e))
        return wide_op(l, op, e, x, n, has_one_use);
    Lv as_int = x[0]; /* bf16 and f8 are integers in registers */
    uint64_t sign = (uint64_t)1 << (elem_info[e].bits - 1);
    if ((op == OP_NEG || op == OP_ABS) && float_form[e].one_zero) {
        /* zero and NaN have no sign */
        Lv magnitude = LLVMBuildAnd(l->b, as_int, same_int(as_int, sign - 1), "");
        Lv r = op == OP_ABS ? magnitude
                            : LLVMBuildXor(l->b, as_int, same_int(as_int, sign), "");
        return choose(l, cmp_int(l, LLVMIntEQ, magnitude, same_int(as_int, 0)), as_int,
                      r);
    }
    if (op == OP_NEG)
        return e == E_F16 ? LLVMBuildFNeg(l->b, as_int, "")
                          : LLVMBuildXor(l->b, as_int, same_int(as_int, sign), "");
    if (op == OP_ABS)
        return e == E_F16 ? unary(l, "llvm.fabs", as_int)
                          : LLVMBuildAnd(l->b, as_int, same_int(as_int, sign - 1), "");
    if (op == OP_FMA)
        return narrow_fma(l, e, x);
    Lv y[3], own = l->ops && l->ops->narrow ? l->ops->narrow(l, op, e, x) : NULL;
    if (own)
        return own;
    for (int i = 0; i < n; i++)
        y[i] = cast_narrow_to_float(l, e, x[i]);
    bool kept = l->contract;
    l->contract = false; /* each op rounds to the narrow type */
    Lv r = wide_op(l, op, E_F32, y, n, false);
    l->contract = kept;
    return cast_float_to_narrow(l, e, r, ROUND_RTNE);
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
    if (elem_is_narrow_float(t->elem)) {
        a = cast_narrow_to_float(l, t->elem, a);
        b = cast_narrow_to_float(l, t->elem, b);
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
    return ll_element(l, ll_mem(l, pt->elem), p, i);
}

Lv
cg_elementwise(Ll *l, const Op *o, Lv *x)
{
    const Type *t = o->n_args ? arg(o, 0)->type : NULL;
    OpCode op = o->op;
    switch (op) {
    case OP_HINT: return x[0];
    case OP_EXTERN:
    case OP_EXTERN_IO: return l->call_extern(l, o, x);
    case OP_SELECT: return choose(l, x[0], x[1], x[2]);
    case OP_BITCAST: return bitcast(l, t, result(o, 0)->type, x[0]);
    case OP_ADDPTR: return add_pointer(l, t, arg(o, 1)->type, x[0], x[1]);
    case OP_CAST:
        return cg_cast(l, t->elem, result(o, 0)->type->elem, x[0],
                       (int)ir_attr(o, ATTR_ROUNDING));
    case OPS_COMPARE: return compare(l, op, t, x);
    case OP_MUL:
        if (l->machine && t->elem == E_U32 && has_high_half(o))
            return LLVMBuildTrunc(l->b, multiply_wide(l, t->elem, x[0], x[1]),
                                  LLVMTypeOf(x[0]), "");
        /* fall through */
    default:
        if (elem_is_float(t->elem)) {
            const Use *use = result(o, 0)->uses;
            return float_op(l, op, t->elem, x, o->n_args, use && !use->next);
        }
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
            err_say(r->l->c, o->loc, LIMIT, "'%s' cannot be used in a combine function",
                    info(o)->text);
        Lv *x = NEW_N(r->l->c->arena, Lv, o->n_args + 1),
           *y = NEW_N(r->l->c->arena, Lv, o->n_results);
        for (int i = 0; i < o->n_args; i++)
            x[i] = region_value(r, arg(o, i));
        if (op_is_assembly(o))
            r->l->ops->assembly(r->l, o, x, y);
        else
            y[0] = cg_elementwise(r->l, o, x);
        for (int i = 0; i < o->n_results; i++)
            map_put(&r->at, result(o, i), 0, y[i]);
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
