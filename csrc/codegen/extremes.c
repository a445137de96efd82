/* extremes: min and max of floats on x86, where no plain instruction orders zeros.
 *
 *     vmaxps a, b     b where the two are equal or one is a NaN: of 0.0 and -0.0 either
 *
 * as in ir/eval.c -0.0 is to be below 0.0, and a NaN loses. By what is known, cheapest first:
 *
 *     a constant that is no NaN and not the zero that loses    one vmaxps, it is b
 *     AVX512-DQ       vrangeps orders zeros and drops a quiet NaN. A signaling one it makes
 *                     quiet instead, so an operand that may be one goes through vrangeps x, x.
 *                     So does a sum: x - 0 and x * 1 are x to LLVM, in lanes of a mask, too
 *     else            m = vmaxps a, b; where a equals b: m & a; where b is a NaN: a
 */
#include "codegen/scalar.h"

/* Constants alone: no NaN, and where the other one is a zero too, this one is the result. */
static bool
wins_ties(Lv c, bool is_max)
{
    if (!LLVMIsConstant(c))
        return false;
    int lanes = ll_lanes(c);
    for (int i = 0; i < MAX(lanes, 1); i++) {
        Lv x = lanes ? LLVMGetAggregateElement(c, (unsigned)i) : c;
        if (!x || !LLVMIsAConstantFP(x))
            return false;
        LLVMBool loses;
        double d = LLVMConstRealGetDouble(x, &loses);
        if (d != d || (d == 0 && LLVMIsNull(x) != is_max)) /* null: of bits */
            return false;
    }
    return true;
}

/* ---- vrangeps ---------------------------------------------------------------------------- */

/* n lanes of x, from one on; what is beyond its end is anything. */
static Lv
part(Ll *l, Lv x, int from, int n)
{
    int lanes = ll_lanes(x);
    if (!lanes)
        return LLVMBuildInsertElement(l->b, LLVMGetPoison(ll_vec(LLVMTypeOf(x), n)), x,
                                      ll_i32(l, 0), "");
    Lv pick[64];
    for (int i = 0; i < n; i++)
        pick[i] = from + i < lanes ? ll_i32(l, from + i) : LLVMGetPoison(l->i32);
    return LLVMBuildShuffleVector(l->b, x, LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(pick, (unsigned)n), "");
}

/* Of vectors of any width: in registers of 16, 32 or 64 bytes. */
static Lv
range(Ll *l, bool is_max, Lv a, Lv b)
{
    bool is_wide = like(a, l->f64) == LLVMTypeOf(a);
    int lanes = ll_lanes(a), size = is_wide ? 8 : 4, bytes = MAX(lanes, 1) * size;
    if (bytes > 64) {
        int half = lanes / 2;
        Lv low = range(l, is_max, part(l, a, 0, half), part(l, b, 0, half)),
           high = range(l, is_max, part(l, a, half, half), part(l, b, half, half));
        return ll_some_lanes(l, low, high, 0, 1, lanes);
    }
    if (bytes < 16) {
        Lv r = range(l, is_max, part(l, a, 0, 16 / size), part(l, b, 0, 16 / size));
        return lanes ? part(l, r, 0, lanes)
                     : LLVMBuildExtractElement(l->b, r, ll_i32(l, 0), "");
    }
    enum { MIN_BY_ORDER = 4, MAX_BY_ORDER = 5, NO_ROUNDING = 4 };
    char name[48];
    snprintf(name, sizeof name, "llvm.x86.avx512.mask.range.p%c.%d",
             is_wide ? 'd' : 's', bytes * 8);
    Lv all = LLVMConstAllOnes(lanes > 8 ? l->i16 : l->i8);
    Lv how = ll_i32(l, is_max ? MAX_BY_ORDER : MIN_BY_ORDER);
    return ll_intrinsic(l, name, NULL, 0,
                        (Lv[]){a, b, how, LLVMGetPoison(LLVMTypeOf(a)), all,
                               ll_i32(l, NO_ROUNDING)},
                        bytes == 64 ? 6 : 5);
}

static const char quiet[] = "tegula.quiet";

Lv
cg_mark_quiet(Ll *l, Lv x)
{
    unsigned kind = LLVMGetMDKindIDInContext(l->cx, quiet, sizeof quiet - 1);
    Lv none = LLVMMetadataAsValue(l->cx, LLVMMDNodeInContext2(l->cx, NULL, 0));
    if (l->has_range && LLVMIsAInstruction(x))
        LLVMSetMetadata(x, kind, none);
    return x;
}

static bool
is_quiet(Ll *l, Lv x)
{
    if (!LLVMIsAInstruction(x))
        return false;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMExtractElement: return is_quiet(l, LLVMGetOperand(x, 0));
    case LLVMShuffleVector:
        if (LLVMIsUndef(LLVMGetOperand(x, 1)) && is_quiet(l, LLVMGetOperand(x, 0)))
            return true;
        break;
    case LLVMSIToFP:
    case LLVMUIToFP: return true;
    default: break;
    }
    return LLVMGetMetadata(x, LLVMGetMDKindIDInContext(l->cx, quiet, sizeof quiet - 1));
}

/* ---- which form ---------------------------------------------------------------------------- */

static Lv
by_order(Ll *l, bool is_max, Lv a, Lv b)
{
    if (!is_quiet(l, a))
        a = range(l, is_max, a, a);
    if (!is_quiet(l, b))
        b = range(l, is_max, b, b);
    return cg_mark_quiet(l, range(l, is_max, a, b));
}

static Lv
before(Ll *l, bool is_max, Lv a, Lv b)
{
    return LLVMBuildFCmp(l->b, is_max ? LLVMRealOGT : LLVMRealOLT, a, b, "");
}

static Lv
by_bits(Ll *l, bool is_max, Lv a, Lv b)
{
    LLVMBuilderRef m = l->b;
    Lt t = LLVMTypeOf(a), it = like(a, t == like(a, l->f64) ? l->i64 : l->i32);
    Lv r = choose(l, before(l, is_max, a, b), a, b);
    Lv mask = LLVMBuildFCmp(m, is_max ? LLVMRealUNE : LLVMRealOEQ, a, b, "");
    mask = LLVMBuildSExt(m, mask, it, "");
    Lv bits = LLVMBuildBitCast(m, a, it, "");
    r = LLVMBuildBitCast(m, r, it, "");
    r = is_max ? LLVMBuildAnd(m, r, LLVMBuildOr(m, bits, mask, ""), "")
               : LLVMBuildOr(m, r, LLVMBuildAnd(m, bits, mask, ""), "");
    Lv is_nan = LLVMBuildFCmp(m, LLVMRealUNO, b, b, "");
    return choose(l, is_nan, a, LLVMBuildBitCast(m, r, t, ""));
}

Lv
cg_extreme(Ll *l, OpCode op, Lv a, Lv b)
{
    bool is_max = op == OP_MAX || op == OP_MAXNAN;
    if (op == OP_MINNAN || op == OP_MAXNAN) {
        const char *name = is_max ? "llvm.maximum" : "llvm.minimum";
        if (!l->has_range && LLVM_VERSION_MAJOR >= 20)
            return binary(l, name, a, b);
        /* LLVM 19 loses the NaN of vectors beside -0. */
        Lv is_nan = LLVMBuildFCmp(l->b, LLVMRealUNO, a, b, "");
        Lv r = l->has_range ? range(l, is_max, a, b) : binary(l, name, a, b);
        return choose(l, is_nan, LLVMBuildFAdd(l->b, a, b, ""), r);
    }
#if defined __aarch64__
    /* fmaxnm orders zeros, but returns a signaling NaN; a quiet one loses. */
    const char *name = is_max ? "llvm.maxnum" : "llvm.minnum";
    return binary(l, name, unary(l, "llvm.canonicalize", a),
                  unary(l, "llvm.canonicalize", b));
#endif
    if (LLVMIsConstant(
            a)) { /* LLVM 22 loses -0.0 of select (x > 0), 0, x behind a cast */
        Lv c = a;
        a = b, b = c;
    }
    if (wins_ties(b, is_max)) {
#if LLVM_VERSION_MAJOR >= 20
        return binary(l, is_max ? "llvm.maximumnum" : "llvm.minimumnum", a, b);
#else
        return choose(l, before(l, is_max, a, b), a, b);
#endif
    }
    return l->has_range ? by_order(l, is_max, a, b) : by_bits(l, is_max, a, b);
}
