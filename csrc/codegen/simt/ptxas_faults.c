/* ptxas_faults: code that ptxas would make wrong is rewritten, behind LLVM's passes, which
 * make such code of other code. ptxas_faults.def says what there is.
 */
#include "codegen/simt/ptx.h"

typedef enum FaultId {
#define FAULT(name, ...) FAULT_##name,
#include "codegen/simt/ptxas_faults.def"
#undef FAULT
} FaultId;

static bool
has_fault(const Ll *l, FaultId f)
{
    static const struct {
        int first, end;
    } chips[] = {
#define FAULT(name, first, end, ...) {first, end},
#include "codegen/simt/ptxas_faults.def"
#undef FAULT
    };
    int sm = l->c->opt.target.sm;
    return sm >= chips[f].first && sm < chips[f].end;
}

static bool
takes_signed_extremes(const Ll *l)
{
    size_t n;
    for (Lv fn = LLVMGetFirstFunction(l->m); fn; fn = LLVMGetNextFunction(fn)) {
        const char *name = LLVMGetValueName2(fn, &n);
        if (!strncmp(name, "llvm.smax.", 10) || !strncmp(name, "llvm.smin.", 10))
            return true;
    }
    return false;
}

/* -2^k: LLVM makes a product or quotient by that a negation. */
static bool
is_negative_power(Lv c)
{
    if (!LLVMIsAConstantInt(c))
        return false;
    int64_t n = LLVMConstIntGetSExtValue(c);
    return n < -1 && n > INT64_MIN && !(-n & (-n - 1));
}

/* words: of 32 bits, too. */
static bool
is_negation(Lv v, bool words)
{
    Lt t = LLVMTypeOf(v);
    if (LLVMGetTypeKind(t) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(t) > (words ? 32 : 16))
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMSub: return LLVMGetOperand(v, 0) == LLVMConstNull(t);
    case LLVMMul:
    case LLVMSDiv: return is_negative_power(LLVMGetOperand(v, 1));
    default: return false;
    }
}

/* What v is the negation of. */
static Lv
negated_by(Ll *l, Lv v)
{
    Lv x = LLVMGetOperand(v, 0), y = LLVMGetOperand(v, 1);
    if (LLVMGetInstructionOpcode(v) == LLVMSub)
        return y;
    y = LLVMConstInt(LLVMTypeOf(y), (uint64_t)-LLVMConstIntGetSExtValue(y), false);
    return LLVMGetInstructionOpcode(v) == LLVMMul ? LLVMBuildMul(l->b, x, y, "")
                                                  : LLVMBuildSDiv(l->b, x, y, "");
}

/* -x as ~x + 1, which nobody reads as a negation. */
static Lv
negated(Ll *l, Lv x)
{
    Lt t = LLVMTypeOf(x);
    x = LLVMBuildSExt(l->b, x, l->i32, "");
    x = ll_asm(l, l->i32, "{.reg .b32 t; not.b32 t, $1; add.s32 $0, t, 1;}", "=r,r", &x,
               1, false);
    return LLVMBuildTrunc(l->b, x, t, "");
}

static Lv
absolute(Ll *l, Lv x)
{
    Lt t = LLVMTypeOf(x);
    unsigned bits = LLVMGetIntTypeWidth(t);
    if (bits < 32) {
        x = LLVMBuildSExt(l->b, x, l->i32, "");
        x = ll_asm(l, l->i32, "abs.s32 $0, $1;", "=r,r", &x, 1, false);
        return LLVMBuildTrunc(l->b, x, t, "");
    }
    const char *text = str_printf(
        l->c->arena,
        "{.reg .b%u s, t; shr.s%u s, $1, %u; xor.b%u t, $1, s; sub.s%u $0, t, s;}",
        bits, bits, bits - 1, bits, bits);
    return ll_asm(l, t, text, bits == 32 ? "=r,r" : "=l,l", &x, 1, false);
}

typedef struct Avoid {
    Ll *l;
    bool words;      /* NEGATED_EXTREMES */
    Lv word, hidden; /* the last constant that was, as what hides it */
} Avoid;

/* A constant that ptxas does not take for one: that no lane is both below a lane and not is
 * nothing it looks into. */
static Lv
hidden(Avoid *a, Lv word)
{
    Ll *l = a->l;
    if (word == a->word)
        return a->hidden;
    a->word = word;
    LLVMPositionBuilderBefore(l->b,
                              LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(l->fn)));
    return a->hidden = ll_asm(
               l, l->i32,
               "{.reg .b32 s, t; mov.u32 s, %lanemask_lt; mov.u32 t, %lanemask_ge; "
               "and.b32 s, s, t; or.b32 $0, s, $1;}",
               "=r,r", &word, 1, false);
}

/* Is it a product by mma.sync of one of two types? */
static bool
is_mma_of(Lv called, const char *type, const char *other)
{
    size_t n;
    if (!LLVMIsAInlineAsm(called))
        return false;
    const char *text = LLVMGetInlineAsmAsmString(called, &n);
    return !strncmp(text, "mma.sync.", 9) &&
           (strstr(text, type) || strstr(text, other));
}

/* only_negative: those whose upper bit is set. */
static void
hide_constants(Avoid *a, Lv mma, bool only_negative)
{
    unsigned n = LLVMGetNumArgOperands(mma);
    for (unsigned i = 0; i < n; i++) {
        Lv word = LLVMGetOperand(mma, i);
        if (LLVMIsAConstantInt(word) && LLVMTypeOf(word) == a->l->i32 &&
            (!only_negative || LLVMConstIntGetSExtValue(word) < 0))
            LLVMSetOperand(mma, i, hidden(a, word));
    }
}

/* Does v come out of shared memory as it is, so that ptxas knows no bit of it? */
static bool
is_from_shared(Lv v)
{
    enum { SHARED = 3 };
    size_t n;
    if (LLVMIsALoadInst(v))
        return LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(v, 0))) == SHARED;
    if (LLVMIsAExtractValueInst(v))
        v = LLVMGetOperand(v, 0);
    if (!LLVMIsACallInst(v) || !LLVMIsAInlineAsm(LLVMGetCalledValue(v)))
        return false;
    return !strncmp(LLVMGetInlineAsmAsmString(LLVMGetCalledValue(v), &n), "ldmatrix.",
                    9);
}

/* Words that a mask may take off: ptxas follows the 0 of a load whose predicate is false through selections and
 * shuffles. What uses v uses it joined with a 0 that ptxas does not know. */
static void
hide_words(Avoid *a, Lv mma)
{
    static const char JOIN[] = "or.b32 $0, $1, $2;";
    Ll *l = a->l;
    unsigned n = LLVMGetNumArgOperands(mma);
    for (unsigned i = 0; i < n; i++) {
        Lv v = LLVMGetOperand(mma, i), next;
        size_t length;
        if (LLVMTypeOf(v) != l->i32 || !LLVMIsAInstruction(v) || is_from_shared(v) ||
            (LLVMIsACallInst(v) && LLVMIsAInlineAsm(LLVMGetCalledValue(v)) &&
             !strcmp(LLVMGetInlineAsmAsmString(LLVMGetCalledValue(v), &length), JOIN)))
            continue;
        Lv zero = hidden(a, LLVMConstNull(l->i32));
        for (next = LLVMGetNextInstruction(v); LLVMIsAPHINode(next);)
            next = LLVMGetNextInstruction(next);
        LLVMPositionBuilderBefore(l->b, next);
        Lv joined = ll_asm(l, l->i32, JOIN, "=r,r,r", (Lv[]){v, zero}, 2, false);
        LLVMReplaceAllUsesWith(v, joined);
        LLVMSetOperand(joined, 0, v);
    }
}

static void
hide_operands(Avoid *a, Lv call, Lv called)
{
    if (has_fault(a->l, FAULT_FLOAT8_CONSTANTS) &&
        is_mma_of(called, ".e4m3.", ".e5m2.")) {
        hide_words(a, call); /* first, or it would join what hides a constant */
        hide_constants(a, call, false);
    }
    if (is_mma_of(called, ".f16.f16.", ".bf16.bf16."))
        hide_constants(a, call, true);
}

static bool
is_of_floats(Lt t)
{
    LLVMTypeKind k = LLVMGetTypeKind(t);
    if (k == LLVMVectorTypeKind)
        k = LLVMGetTypeKind(LLVMGetElementType(t));
    return k == LLVMHalfTypeKind || k == LLVMBFloatTypeKind || k == LLVMFloatTypeKind ||
           k == LLVMDoubleTypeKind;
}

/* The bits of floats that a store of fewer bits may take from the float's own register: a
 * move lies between. is_cut: what uses them wants fewer. */
static void
move_floats(Ll *l, Lv user, unsigned operand, bool is_cut, int depth)
{
    Lv v = LLVMGetOperand(user, operand);
    if (!LLVMIsAInstruction(v) || !depth)
        return;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMBitCast:
        if (is_of_floats(LLVMTypeOf(LLVMGetOperand(v, 0)))) {
            if (is_cut && LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMIntegerTypeKind) {
                LLVMPositionBuilderBefore(l->b, user);
                LLVMSetOperand(user, operand, ptx_opaque(l, v));
            }
            return;
        }
        break;
    case LLVMTrunc: is_cut = true; break;
    case LLVMZExt:
    case LLVMSExt:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMFreeze:
    case LLVMInsertElement:
    case LLVMShuffleVector: break;
    default: return;
    }
    for (int i = 0; i < LLVMGetNumOperands(v); i++)
        move_floats(l, v, (unsigned)i, is_cut, depth - 1);
}

static void
move_stored_floats(Ll *l, Lv v)
{
    enum { DEPTH = 12 };
    if (LLVMIsAStoreInst(v))
        move_floats(l, v, 0, false, DEPTH);
    if (LLVMIsACallInst(v) && LLVMIsAInlineAsm(LLVMGetCalledValue(v)))
        for (unsigned i = 0; i < LLVMGetNumArgOperands(v); i++)
            move_floats(l, v, i, false, DEPTH);
}

/* max(x, 0) of a word: ptxas knows it, but packs no two words. */
static Lv
positive(Ll *l, Lv x)
{
    Lt t = LLVMTypeOf(x);
    x = LLVMBuildSExt(l->b, x, l->i32, "");
    x = ll_asm(l, l->i32, "max.s32 $0, $1, 0;", "=r,r", &x, 1, false);
    return LLVMBuildTrunc(l->b, x, t, "");
}

static bool
is_short_positive(Lv max, const char *name)
{
    Lt t = LLVMTypeOf(max);
    return !strncmp(name, "llvm.smax.i", 11) && LLVMGetIntTypeWidth(t) <= 16 &&
           (LLVMGetOperand(max, 0) == LLVMConstNull(t) ||
            LLVMGetOperand(max, 1) == LLVMConstNull(t));
}

/* May ptxas find bounds of x? It does so of absolute values, squares, the functions of the
 * chip, and of what is made of them. */
static bool
is_bounded(Lv x, int depth)
{
    if (!LLVMIsAInstruction(x))
        return false;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMCall: return true;
    case LLVMFMul:
        if (LLVMGetOperand(x, 0) == LLVMGetOperand(x, 1))
            return true;
        break;
    case LLVMFNeg:
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFDiv:
    case LLVMFPExt:
    case LLVMSelect: break;
    default: return false;
    }
    for (int i = 0; depth && i < LLVMGetNumOperands(x); i++)
        if (is_bounded(LLVMGetOperand(x, (unsigned)i), depth - 1))
            return true;
    return !depth;
}

/* A comparison that a NaN fails as not the one that a NaN passes, of which ptxas drops
 * nothing: the machine code is the same. */
static Lv
compared(Ll *l, Lv v)
{
    enum { DEPTH = 8 };
    Lv of[2] = {LLVMGetOperand(v, 0), LLVMGetOperand(v, 1)};
    bool is_left = LLVMIsAConstantFP(of[0]), is_right = LLVMIsAConstantFP(of[1]);
    if (LLVMTypeOf(of[0]) != l->f32 || is_left == is_right ||
        !is_bounded(of[is_left], DEPTH))
        return NULL;
    LLVMRealPredicate p = LLVMGetFCmpPredicate(v);
#define NOT(p) "{.reg .pred t; setp." p ".f32 t, $1, $2; not.pred $0, t;}"
    const char *text = p == LLVMRealOGT   ? NOT("leu")
                       : p == LLVMRealOGE ? NOT("ltu")
                       : p == LLVMRealOLT ? NOT("geu")
                       : p == LLVMRealOLE ? NOT("gtu")
                                          : NULL;
#undef NOT
    if (!text)
        return NULL;
    return ll_asm(l, l->i1, text, "=b,f,f", of, 2, false);
}

static bool
is_constant_shift(Lv v, LLVMOpcode op)
{
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == op &&
           LLVMIsAConstantInt(LLVMGetOperand(v, 1));
}

/* The word of which v is the upper half. */
static Lv
word_of_upper(Ll *l, Lv v)
{
    enum { HALF = 16 };
    if (LLVMIsABitCastInst(v))
        v = LLVMGetOperand(v, 0);
    if (LLVMIsATruncInst(v)) {
        v = LLVMGetOperand(v, 0);
        return LLVMTypeOf(v) == l->i32 && is_constant_shift(v, LLVMLShr) &&
                       LLVMConstIntGetZExtValue(LLVMGetOperand(v, 1)) == HALF
                   ? LLVMGetOperand(v, 0)
                   : NULL;
    }
    if (!LLVMIsAExtractElementInst(v))
        return NULL;
    Lv pair = LLVMGetOperand(v, 0), at = LLVMGetOperand(v, 1);
    return LLVMGetVectorSize(LLVMTypeOf(pair)) == 2 && LLVMIsAConstantInt(at) &&
                   LLVMConstIntGetZExtValue(at) == 1
               ? LLVMBuildBitCast(l->b, pair, l->i32, "")
               : NULL;
}

/* Selections among which is the upper half of a word get it by a shift: where another selection
 * changes the lower half in place, ptxas would take that half twice. */
static void
shift_upper_halves(Ll *l, Lv select)
{
    Lt t = LLVMTypeOf(select);
    LLVMTypeKind k = LLVMGetTypeKind(t);
    if (t != l->i16 && k != LLVMHalfTypeKind && k != LLVMBFloatTypeKind)
        return;
    for (unsigned i = 1; i <= 2; i++) {
        Lv word = word_of_upper(l, LLVMGetOperand(select, i));
        if (!word)
            continue;
        word = ll_asm(l, l->i32, "shr.u32 $0, $1, 16;", "=r,r", &word, 1, false);
        Lv half = LLVMBuildTrunc(l->b, word, l->i16, "");
        LLVMSetOperand(select, i, LLVMBuildBitCast(l->b, half, t, ""));
    }
}

/* Is v one of two constants, which a bit decides? LLVM makes a selection of it behind us. */
static bool
is_by_a_bit(Ll *l, Lv v, Lv *bit, Lv of[2])
{
    if (!LLVMIsAInstruction(v))
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    Lv x = LLVMGetOperand(v, 0);
    switch (op) {
    case LLVMSelect:
        *bit = x, of[0] = LLVMGetOperand(v, 1), of[1] = LLVMGetOperand(v, 2);
        return LLVMIsAConstantFP(of[0]) && LLVMIsAConstantFP(of[1]);
    case LLVMUIToFP:
        *bit = x, of[0] = LLVMConstReal(LLVMTypeOf(v), 1);
        of[1] = LLVMConstNull(LLVMTypeOf(v));
        return LLVMTypeOf(x) == l->i1;
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul: break;
    default: return false;
    }
    Lv y = LLVMGetOperand(v, 1);
    if (!LLVMIsAConstantFP(y) || !is_by_a_bit(l, x, bit, of))
        return false;
    for (int i = 0; i < 2; i++)
        of[i] = LLVMBuildBinOp(l->b, op, of[i], y, "");
    return true;
}

/* 1 beside -0, or -1 beside 0, is selected of integers, where ptxas sees no conversion of one bit. */
static Lv
selected(Ll *l, Lv v)
{
    LLVMBool loses;
    bool is_zero = false, is_minus_zero = false, is_one = false, is_minus_one = false;
    Lv bit, of[2];
    if (LLVMTypeOf(v) != l->f32 || !is_by_a_bit(l, v, &bit, of))
        return NULL;
    for (int i = 0; i < 2; i++) {
        double x = LLVMConstRealGetDouble(of[i], &loses);
        is_zero |= x == 0;
        is_minus_zero |= x == 0 && !LLVMIsNull(of[i]);
        is_one |= x == 1;
        is_minus_one |= x == -1;
        of[i] = LLVMConstBitCast(of[i], l->i32);
    }
    if (!(is_minus_zero && is_one) && !(is_zero && is_minus_one))
        return NULL;
    return LLVMBuildBitCast(l->b, LLVMBuildSelect(l->b, bit, of[0], of[1], ""), l->f32,
                            "");
}

/* A value that a bit decides, in another type of floats, is selected of two other constants. */
static Lv
selected_otherwise(Ll *l, Lv v)
{
    Lv bit, of[2];
    Lt t = LLVMTypeOf(v);
    if (!is_by_a_bit(l, LLVMGetOperand(v, 0), &bit, of))
        return NULL;
    for (int i = 0; i < 2; i++)
        of[i] = LLVMIsAFPTruncInst(v) ? LLVMBuildFPTrunc(l->b, of[i], t, "")
                                      : LLVMBuildFPExt(l->b, of[i], t, "");
    return LLVMBuildSelect(l->b, bit, of[0], of[1], "");
}

/* 8 or 16 bits of a word, with their sign, which begin at 0 of *word; 0: v is no such field. */
static int
signed_field(Ll *l, Lv v, Lv *word)
{
    enum { WORD = 32 };
    int bits = 0;
    if (LLVMIsASExtInst(v)) {
        Lv x = LLVMGetOperand(v, 0);
        bits = (int)LLVMGetIntTypeWidth(LLVMTypeOf(x));
        *word = bits < WORD ? LLVMBuildZExt(l->b, x, l->i32, "") : x;
    } else if (is_constant_shift(v, LLVMAShr)) {
        Lv x = LLVMGetOperand(v, 0);
        int right = (int)LLVMConstIntGetZExtValue(LLVMGetOperand(v, 1)), left = 0;
        if (is_constant_shift(x, LLVMShl)) {
            left = (int)LLVMConstIntGetZExtValue(LLVMGetOperand(x, 1));
            x = LLVMGetOperand(x, 0);
        }
        bits = WORD - right;
        if (left > right)
            return 0;
        *word = LLVMBuildLShr(l->b, x, ll_i32(l, right - left), "");
    }
    return bits == 8 || bits == 16 ? bits : 0;
}

/* v, a field with its sign, of which prmt spreads the sign: ptxas sees no field in that. NULL: v is none. */
static Lv
spread_field(Ll *l, Lv v)
{
    Lv word;
    if (LLVMTypeOf(v) != l->i32)
        return NULL;
    int bits = signed_field(l, v, &word);
    const char *text = bits == 8 ? "prmt.b32 $0, $1, 0, 0x8880;"
                                 : "prmt.b32 $0, $1, 0, 0x9910;";
    return bits ? ll_asm(l, l->i32, text, "=r,r", &word, 1, false) : NULL;
}

/* A conversion of such a field to a float as if it had no sign. */
static Lv
unsigned_field(Ll *l, Lv v)
{
    Lv x = LLVMGetOperand(v, 0);
    Lt t = LLVMTypeOf(x);
    x = spread_field(l, LLVMIsAZExtInst(x) ? LLVMGetOperand(x, 0) : x);
    return x ? LLVMBuildUIToFP(l->b, LLVMBuildIntCast2(l->b, x, t, false, ""),
                               LLVMTypeOf(v), "")
             : NULL;
}

/* The bits of a float of 16 bits that a conversion made, by LLVM or by an instruction of ours. */
static bool
is_converted(const Ll *l, Lv x)
{
    if (LLVMTypeOf(x) != l->i16)
        return false;
    if (LLVMIsABitCastInst(x))
        return is_of_floats(LLVMTypeOf(LLVMGetOperand(x, 0)));
    return LLVMIsACallInst(x) && LLVMIsAInlineAsm(LLVMGetCalledValue(x));
}

/* Such bits and a mask. Two conversions become one of a pair, of which the lower half goes
 * unmasked to a store; of what prmt moves there is no pair. */
static Lv
masked_half(Ll *l, Lv v)
{
    Lt t = LLVMTypeOf(v);
    Lv x = LLVMGetOperand(v, 0), mask;
    if (LLVMIsAZExtInst(v) && LLVMIsATruncInst(x)) {
        unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(x));
        mask = LLVMConstInt(t, (1ull << bits) - 1, false);
        x = LLVMGetOperand(x, 0);
    } else if (LLVMGetInstructionOpcode(v) == LLVMAnd &&
               LLVMIsAConstantInt(LLVMGetOperand(v, 1))) {
        mask = LLVMGetOperand(v, 1);
        if (LLVMIsAZExtInst(x))
            x = LLVMGetOperand(x, 0);
    } else
        return NULL;
    if (!is_converted(l, x))
        return NULL;
    Lv word = LLVMBuildZExt(l->b, x, l->i32, "");
    word = ll_asm(l, l->i32, "prmt.b32 $0, $1, 0, 0x4410;", "=r,r", &word, 1, false);
    return LLVMBuildAnd(l->b, LLVMBuildIntCast2(l->b, word, t, false, ""), mask, "");
}

static bool
is_negative_half(Lv c)
{
    LLVMBool loses;
    return c && LLVMIsAConstantFP(c) &&
           LLVMGetTypeKind(LLVMTypeOf(c)) == LLVMHalfTypeKind &&
           LLVMConstRealGetDouble(c, &loses) < 0;
}

/* A pair of f16, one of which is a negative constant, by integers. */
static Lv
paired(Ll *l, Lv v)
{
    enum { HALF = 16 };
    Lv pair = LLVMGetOperand(v, 0), x = LLVMGetOperand(v, 1), at = LLVMGetOperand(v, 2);
    Lt t = LLVMTypeOf(v);
    if (!LLVMIsConstant(pair) || !LLVMIsAConstantInt(at) || LLVMGetVectorSize(t) != 2)
        return NULL;
    unsigned lane = (unsigned)LLVMConstIntGetZExtValue(at);
    Lv other = LLVMGetAggregateElement(pair, 1 - lane);
    if (LLVMIsConstant(x) || !is_negative_half(other))
        return NULL;
    Lv word[2];
    for (unsigned i = 0; i < 2; i++) {
        Lv half = LLVMBuildBitCast(l->b, i == lane ? x : other, l->i16, "");
        word[i] = LLVMBuildZExt(l->b, half, l->i32, "");
    }
    word[1] = LLVMBuildShl(l->b, word[1], ll_i32(l, HALF), "");
    return LLVMBuildBitCast(l->b, LLVMBuildOr(l->b, word[0], word[1], ""), t, "");
}

/* Is v, a byte, only widened to a word? Then it is never in a register of 16 bits. */
static bool
is_only_widened(Lv v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        Lv by = LLVMGetUser(u);
        if ((!LLVMIsAZExtInst(by) && !LLVMIsASExtInst(by)) ||
            LLVMGetIntTypeWidth(LLVMTypeOf(by)) != 32)
            return false;
    }
    return true;
}

/* A byte of a word, but its first, by a shift. */
static Lv
shifted(Ll *l, Lv v)
{
    enum { BYTE = 8, BYTES = 4 };
    Lv bytes = LLVMGetOperand(v, 0), at = LLVMGetOperand(v, 1);
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(bytes));
    if (LLVMTypeOf(v) != l->i8 || n % BYTES || !LLVMIsAConstantInt(at))
        return NULL;
    unsigned i = (unsigned)LLVMConstIntGetZExtValue(at);
    if (i % BYTES == 0 || is_only_widened(v))
        return NULL;
    Lt words = LLVMVectorType(l->i32, n / BYTES);
    Lv word = LLVMBuildExtractElement(l->b, LLVMBuildBitCast(l->b, bytes, words, ""),
                                      ll_i32(l, i / BYTES), "");
    word = LLVMBuildLShr(l->b, word, ll_i32(l, i % BYTES * BYTE), "");
    return LLVMBuildTrunc(l->b, word, l->i8, "");
}

/* Is max(x, c), or min, c? A comparison of x says so, too. */
static Lv
bounded(Ll *l, Lv v)
{
    static const struct {
        const char *extreme;
        LLVMIntPredicate holds;
    } rows[] = {{"llvm.umax.i", LLVMIntULE},
                {"llvm.umin.i", LLVMIntUGE},
                {"llvm.smax.i", LLVMIntSLE},
                {"llvm.smin.i", LLVMIntSGE}};
    Lv extreme = LLVMGetOperand(v, 0), c = LLVMGetOperand(v, 1);
    LLVMIntPredicate p = LLVMGetICmpPredicate(v);
    if (!LLVMIsACallInst(extreme) || !LLVMIsAConstantInt(c) ||
        LLVMGetOperand(extreme, 1) != c || (p != LLVMIntEQ && p != LLVMIntNE))
        return NULL;
    size_t n;
    const char *name = LLVMGetValueName2(LLVMGetCalledValue(extreme), &n);
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strncmp(name, rows[i].extreme, strlen(rows[i].extreme))) {
            Lv is = LLVMBuildICmp(l->b, rows[i].holds, LLVMGetOperand(extreme, 0), c,
                                  "");
            return p == LLVMIntEQ ? is : LLVMBuildNot(l->b, is, "");
        }
    return NULL;
}

/* What stands for v instead, made in front of it; NULL: v stays. */
static Lv
rewritten(Avoid *a, Lv v)
{
    Ll *l = a->l;
    size_t n;
    move_stored_floats(l, v);
    LLVMPositionBuilderBefore(l->b, v);
    if (is_negation(v, a->words))
        return negated(l, negated_by(l, v));
    if (LLVMIsAFCmpInst(v))
        return compared(l, v);
    if (LLVMIsAICmpInst(v))
        return bounded(l, v);
    if (LLVMIsASelectInst(v)) {
        shift_upper_halves(l, v);
        return selected(l, v);
    }
    if (LLVMIsAExtractElementInst(v))
        return shifted(l, v);
    if (LLVMIsAInsertElementInst(v))
        return paired(l, v);
    if (LLVMIsAFPTruncInst(v) || LLVMIsAFPExtInst(v))
        return selected_otherwise(l, v);
    if (LLVMIsAUIToFPInst(v))
        return unsigned_field(l, v);
    if (LLVMIsAZExtInst(v) || LLVMIsABinaryOperator(v))
        return masked_half(l, v);
    if (!LLVMIsACallInst(v))
        return NULL;
    Lv called = LLVMGetCalledValue(v);
    hide_operands(a, v, called);
    if (!LLVMIsAFunction(called))
        return NULL;
    const char *name = LLVMGetValueName2(called, &n);
    LLVMPositionBuilderBefore(l->b, v);
    if (!strncmp(name, "llvm.abs.i", 10))
        return absolute(l, LLVMGetOperand(v, 0));
    if (is_short_positive(v, name)) {
        Lv first = LLVMGetOperand(v, 0);
        return positive(l, LLVMIsAConstant(first) ? LLVMGetOperand(v, 1) : first);
    }
    return NULL;
}

void
ptx_avoid_faults(Ll *l)
{
    Avoid a = {.l = l};
    a.words = has_fault(l, FAULT_NEGATED_EXTREMES) && takes_signed_extremes(l);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(l->fn); b;
         b = LLVMGetNextBasicBlock(b))
        for (Lv v = LLVMGetFirstInstruction(b), next; v; v = next) {
            next = LLVMGetNextInstruction(v);
            Lv instead = rewritten(&a, v);
            if (!instead)
                continue;
            LLVMReplaceAllUsesWith(v, instead);
            LLVMInstructionEraseFromParent(v);
        }
}
