/* foreign: code of the user's libraries, made to fit this target.
 *
 * What is reached from the kernel's calls is walked over once, after linking:
 *
 *     sdiv, udiv, srem, urem      never trap, on any target: a pure function may run for
 *                                 elements whose result nobody takes
 *     llvm.nvvm.*, shared memory  refused on hosts, as code for GPUs is as a whole
 *     exceptions, llvm.trap ..    refused: they would end the process
 *
 * Rule 1: what is not known here is refused by name. Nothing is guessed.
 */
#include "codegen/library/link.h"
#include "ptx/asm.h"

typedef struct Walk {
    Ll *l;
    Map *seen;
    const Op *o; /* who asked, for messages */
    Lv fn;       /* whose code is being walked over */
} Walk;

enum { SHARED_SPACE = 3 };

const char *
foreign_target(const Ll *l)
{
    return l->c->opt.interpret                   ? "the interpreter"
           : l->c->opt.target.kind == TARGET_EMU ? "the emulator"
           : ll_is_host(l)                       ? "the CPU"
                                                 : "CUDA";
}

bool
foreign_flushes(const Ll *l)
{
    size_t n;
    return !option_text(l->c->option_texts, "enable_reflect_ftz=", &n);
}

static bool
is_one_of(const char *name, const char *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, all[i]))
            return true;
    return false;
}

bool
foreign_is_known(Ll *l, const char *name)
{
    static const char *const of_cuda[] = {"vprintf", "malloc", "free", "__assertfail"};
    if (!ll_is_host(l))
        return is_one_of(name, of_cuda, COUNT(of_cuda));
    char real;
    return foreign_types(name, &real) != NULL;
}

/* "f" of "tegula.0.f". */
static const char *
user_name(Walk *w, Lv fn)
{
    size_t n;
    const char *name = LLVMGetValueName2(fn, &n);
    if (!strncmp(name, "tegula.call", 11)) /* ours */
        return str_intern_n(w->l->c, w->o->text, strcspn(w->o->text, "\n"));
    if (!strncmp(name, "tegula.", 7)) {
        const char *dot = strchr(name + 7, '.');
        name = dot ? dot + 1 : name;
    }
    return ll_shown(w->l->c, name);
}

static NORETURN void
refuse_foreign(Walk *w, const char *what)
{
    Ll *l = w->l;
    err_help(l->c, "choose by tl.target_info.is_ptx(), or write it in the language");
    err_at(l->c, w->o->loc, TARGET,
           str_printf(l->c->arena, "%s, in the function '%s' of a library,", what,
                      user_name(w, w->fn)),
           foreign_target(l));
}

/* ---- instructions ------------------------------------------------------------------------ */

/* x / 0 and x % 0 are 0, MIN / -1 is MIN. */
static void
guard_division(Walk *w, Lv i, LLVMOpcode op)
{
    Ll *l = w->l;
    Lv x = LLVMGetOperand(i, 0), y = LLVMGetOperand(i, 1);
    Lt t = LLVMTypeOf(y);
    bool is_signed = op == LLVMSDiv || op == LLVMSRem,
         is_rem = op == LLVMSRem || op == LLVMURem;
    if (LLVMIsAConstantInt(y) && !LLVMIsNull(y) &&
        !(is_signed && LLVMConstIntGetSExtValue(y) == -1))
        return;
    LLVMPositionBuilderBefore(l->b, i);
    if (!ll_is_host(l) && LLVMGetTypeKind(t) == LLVMIntegerTypeKind &&
        LLVMGetIntTypeWidth(t) <= 32) {
        LLVMReplaceAllUsesWith(i,
                               cg_quotient(l, is_signed ? E_I32 : E_U32, x, y, is_rem));
        LLVMInstructionEraseFromParent(i);
        return;
    }
    Lv zero = LLVMConstNull(t), minus = LLVMConstAllOnes(t);
    Lv one = LLVMBuildSub(l->b, zero, minus, "");
    x = LLVMBuildFreeze(l->b, x, "");
    y = LLVMBuildFreeze(l->b, y, "");
    Lv is_zero = LLVMBuildICmp(l->b, LLVMIntEQ, y, zero, ""), bad = is_zero,
       is_minus = NULL;
    if (is_signed) {
        is_minus = LLVMBuildICmp(l->b, LLVMIntEQ, y, minus, "");
        bad = LLVMBuildOr(l->b, is_zero, is_minus, "");
    }
    Lv safe = LLVMBuildSelect(l->b, bad, one, y, "");
    Lv q = LLVMBuildBinOp(l->b, op, x, safe, "");
    if (is_minus && !is_rem)
        q = LLVMBuildSelect(l->b, is_minus, LLVMBuildNeg(l->b, x, ""), q, "");
    if (!is_rem)
        q = LLVMBuildSelect(l->b, is_zero, zero, q, "");
    LLVMReplaceAllUsesWith(i, q);
    LLVMInstructionEraseFromParent(i);
}

static bool
is_of(Ll *l, Lt t, char kind, char real)
{
    switch (kind) {
    case 'T': return t == (real == 'f' ? l->f32 : l->f64);
    case 'i': return t == l->i32;
    case 'l': return t == l->i64;
    case 'p': return LLVMGetTypeKind(t) == LLVMPointerTypeKind;
    default: return t == l->void_;
    }
}

/* Is it a function of the C library that is called as what it is? */
static bool
is_c_call(Ll *l, const char *name, Lv call)
{
    char real;
    const char *types = foreign_types(name, &real);
    int n = (int)LLVMGetNumArgOperands(call);
    if (!types || (int)strlen(types) != n + 1 ||
        !is_of(l, LLVMTypeOf(call), types[0], real))
        return false;
    for (int i = 0; i < n; i++)
        if (!is_of(l, LLVMTypeOf(LLVMGetOperand(call, (unsigned)i)), types[1 + i],
                   real))
            return false;
    return true;
}

static void
call_on_host(Walk *w, Lv call)
{
    static const char *const never[] = {"llvm.trap",         "llvm.debugtrap",
                                        "llvm.ubsantrap",    "llvm.eh.",
                                        "llvm.stackrestore", "llvm.coro.",
                                        "llvm.amdgcn.",      "llvm.nvvm.",
                                        "llvm.va_",          "llvm.init.trampoline",
                                        "llvm.frameaddress", "llvm.returnaddress",
                                        "llvm.localescape",  "llvm.thread.pointer",
                                        "llvm.threadlocal."};
    Ll *l = w->l;
    Lv fn = LLVMGetCalledValue(call);
    if (LLVMIsAInlineAsm(fn)) /* no assembler for CPUs is linked */
        refuse_foreign(w, "inline assembly");
    if (!LLVMIsAFunction(fn) || !LLVMIsDeclaration(fn))
        return;
    size_t len;
    const char *name = str_intern(l->c, LLVMGetValueName2(fn, &len));
    bool is_intrinsic = LLVMGetIntrinsicID(fn) != 0;
    for (size_t k = 0; is_intrinsic && k < COUNT(never); k++)
        if (!strncmp(name, never[k], strlen(never[k])))
            refuse_foreign(w, str_printf(l->c->arena, "'%s'", ll_shown(l->c, name)));
    if (!is_intrinsic && !is_c_call(l, name, call))
        refuse_foreign(w, str_printf(l->c->arena, "'%s' of these types",
                                     ll_shown(l->c, name)));
}

/* The emulator says of a fault that it is in assembly of a library. */
static void
mark_assembly(const Walk *w, Lv call)
{
    size_t n_text, n_form;
    Lv fn = LLVMGetCalledValue(call);
    const char *text = LLVMGetInlineAsmAsmString(fn, &n_text),
               *form = LLVMGetInlineAsmConstraintString(fn, &n_form);
    char *marked = str_printf(w->l->c->arena, "//" PTX_LIBRARY "\n%.*s", (int)n_text,
                              text);
    Lv is = LLVMGetInlineAsm(LLVMGetInlineAsmFunctionType(fn), marked, strlen(marked),
                             form, n_form, LLVMGetInlineAsmHasSideEffects(fn),
                             LLVMGetInlineAsmNeedsAlignedStack(fn),
                             LLVMGetInlineAsmDialect(fn),
                             LLVMGetInlineAsmCanUnwind(fn));
    LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, is);
}

/* The code generator for GPUs would end with an error of its own. */
static void
call_on_gpu(Walk *w, Lv call)
{
    static const char *const never[] = {"sin",  "cos",    "tan",      "asin",  "acos",
                                        "atan", "atan2",  "sinh",     "cosh",  "tanh",
                                        "exp",  "exp2",   "log",      "exp10", "log10",
                                        "log2", "sincos", "sincospi", "pow",   "powi",
                                        "modf", "frexp"};
    Lv fn = LLVMGetCalledValue(call);
    if (LLVMIsAInlineAsm(fn) && w->l->c->opt.target.kind == TARGET_EMU)
        mark_assembly(w, call);
    if (!LLVMIsAFunction(fn) || !LLVMGetIntrinsicID(fn))
        return;
    size_t len;
    const char *name = str_intern(w->l->c, LLVMGetValueName2(fn, &len));
    char word[16] = "";
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name + 5, "."), name + 5);
    bool is_approximate = LLVMCanValueUseFastMathFlags(call) &&
                          (LLVMGetFastMathFlags(call) & LLVMFastMathApproxFunc);
    if (is_one_of(word, never, COUNT(never)) && !is_approximate)
        refuse_foreign(w, str_printf(w->l->c->arena, "'%s'", ll_shown(w->l->c, name)));
}

static void visit(Walk *w, Lv v);

static void
instruction(Walk *w, Lv i)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    switch (op) {
    case LLVMSDiv:
    case LLVMUDiv:
    case LLVMSRem:
    case LLVMURem: guard_division(w, i, op); return;
    case LLVMCall:
        if (ll_is_host(w->l))
            call_on_host(w, i);
        else
            call_on_gpu(w, i);
        return;
    case LLVMInvoke:
    case LLVMLandingPad:
    case LLVMResume:
    case LLVMCatchSwitch:
    case LLVMCleanupPad:
    case LLVMCallBr:
    case LLVMIndirectBr:
        refuse_foreign(w, "an exception or a jump out of the function");
    case LLVMVAArg: refuse_foreign(w, "a variable number of arguments");
    default: return;
    }
}

/* What the host's code generator would take amiss, or do more than asked: other CPUs' features,
 * guards of the stack, tables for unwinding. */
static void
plain_function(Walk *w, Lv fn)
{
    static const char *const kept[] = {"alwaysinline", "noinline", "convergent",
                                       "memory",       "nounwind", "willreturn",
                                       "optnone",      "norecurse"};
    LLVMAttributeIndex at = LLVMAttributeFunctionIndex;
    unsigned n = LLVMGetAttributeCountAtIndex(fn, at);
    LLVMAttributeRef *all = NEW_N(w->l->c->arena, LLVMAttributeRef, n + 1);
    LLVMGetAttributesAtIndex(fn, at, all);
    for (unsigned k = 0; k < n; k++) {
        unsigned len, kind = 0;
        if (LLVMIsStringAttribute(all[k])) {
            const char *key = LLVMGetStringAttributeKind(all[k], &len);
            LLVMRemoveStringAttributeAtIndex(fn, at, key, len);
            continue;
        }
        bool is_kept = false;
        kind = LLVMGetEnumAttributeKind(all[k]);
        for (size_t j = 0; j < COUNT(kept); j++)
            is_kept |= kind ==
                       LLVMGetEnumAttributeKindForName(kept[j], strlen(kept[j]));
        if (!is_kept)
            LLVMRemoveEnumAttributeAtIndex(fn, at, kind);
    }
    unsigned kind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(w->l->cx, kind, 0));
}

static void
visit_function(Walk *outer, Lv fn)
{
    Walk w = *outer;
    w.fn = fn;
    if (LLVMHasPersonalityFn(fn))
        refuse_foreign(&w, "an exception");
    if (ll_is_host(w.l))
        plain_function(&w, fn);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b;
         b = LLVMGetNextBasicBlock(b))
        for (Lv i = LLVMGetFirstInstruction(b), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            for (int k = 0, n = LLVMGetNumOperands(i); k < n; k++)
                visit(&w, LLVMGetOperand(i, (unsigned)k));
            instruction(&w, i);
        }
}

static void
visit_global(Walk *w, Lv g)
{
    if (LLVMIsThreadLocal(g))
        refuse_foreign(w, str_printf(w->l->c->arena, "the thread's own variable '%s'",
                                     user_name(w, g)));
    if (ll_is_host(w->l) && LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == SHARED_SPACE)
        refuse_foreign(w, str_printf(w->l->c->arena, "shared memory, '%s',",
                                     user_name(w, g)));
    visit(w, LLVMGetInitializer(g));
}

static void
visit(Walk *w, Lv v)
{
    if (!v || !LLVMIsAConstant(v) || map_get(w->seen, v, 0))
        return;
    map_put(w->seen, v, 0, v);
    if (LLVMIsAFunction(v)) {
        if (!LLVMIsDeclaration(v))
            visit_function(w, v);
        return;
    }
    if (LLVMIsAGlobalVariable(v)) {
        if (!LLVMIsDeclaration(v))
            visit_global(w, v);
        return;
    }
    for (int k = 0, n = LLVMGetNumOperands(v); k < n; k++)
        visit(w, LLVMGetOperand(v, (unsigned)k));
}

void
foreign_adapt(Ll *l, Map *seen, const Op *o, Lv fn)
{
    visit(&(Walk){.l = l, .seen = seen, .o = o, .fn = fn}, fn);
}
