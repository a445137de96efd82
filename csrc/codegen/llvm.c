/* llvm: contexts, target machines, optimise, verify, emit. Every LLVMDispose is here.
 *
 *     ll_new -> build with l->b -> ll_finish (verify, optimise, print) -> ll_emit
 *
 * Everything of one Ll goes with the Comp's arena.
 *
 * LLVM has two ways of ending the process, and neither may. Its default diagnostic handler
 * exits on an error: ours keeps the text, and ll_finish or ll_emit raises it after LLVM has
 * returned. Its fatal errors, and the end of memory, cannot return at all: the handlers jump to
 * the escape of the Comp that this thread is compiling (error.c, rule 2 names this one exception), and what
 * LLVM had live is abandoned. They get no pointer of ours, hence `current`, a
 * thread-local: with `targets_once` the only mutable data of this folder.
 *
 * Rule 1: no lock of ours is held while LLVM runs, so that a jump leaves none behind.
 * Rule 2: after a fatal error the context is leaked, never disposed: it may be half built.
 */
#include "codegen/codegen.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_once_t targets_once = PTHREAD_ONCE_INIT;

/* What ll_new allocates: the public part and what only this file looks at. */
typedef struct Session {
    Ll l;
    char *diagnostic; /* first error LLVM reported, malloc'ed by it; or NULL */
    bool is_running;  /* inside LLVM; seen by session_drop only after a jump */
    int64_t stack;    /* bytes of the frames of what was emitted */
} Session;
static _Thread_local Session *current; /* what this thread is working on */

/* ---- the process ------------------------------------------------------------------- */

static void
on_fatal(const char *reason)
{
    Comp *c = current ? current->l.c : NULL;
    if (!c || !c->escape)
        return; /* not ours: LLVM ends the process, as it would have */
    err_at(c, NULL, LLVM, reason);
}

/* LLVM is built without exceptions: where memory ends, so does the process, be it by operator
 * new or by its own allocations. Both let somebody say something before, in C++ alone: these
 * are the names that the Itanium ABI makes of std::set_new_handler (of the libstdc++ inside
 * this library) and llvm::install_bad_alloc_error_handler. */
typedef void NewHandler(void);
NewHandler *set_new_handler(NewHandler *h) __asm__("_ZSt15set_new_handlerPFvvE");
void install_bad_alloc(
    void (*h)(void *data, const char *reason, bool is_crash),
    void *data) __asm__("_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");

static void
on_no_memory(void)
{
    Session *s = current;
    if (s && s->l.c->escape) {
        s->is_running = true; /* what it had begun is not to be disposed of: rule 2 */
        err_at(s->l.c, NULL, MEMORY);
    }
    set_new_handler(NULL); /* operator new goes on as it would have */
}

static void
on_bad_alloc(void *data, const char *reason, bool is_crash)
{
    (void)data, (void)reason, (void)is_crash;
    on_no_memory();
}

static void
init_targets(void)
{
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeDisassembler();
#ifdef __x86_64__
    /* LLVM 22's pass against stalls of stored bytes takes the size of a masked store for a number and ends the process. */
    const char *const words[] = {"tegula", "-x86-disable-avoid-SFB"};
    LLVMParseCommandLineOptions(2, words, NULL);
#endif
    LLVMInstallFatalErrorHandler(on_fatal);
    install_bad_alloc(on_bad_alloc, NULL);
}

int __cxa_atexit(void (*fn)(void *), void *arg, void *library);

static void
ll_init(void)
{
    pthread_once(&targets_once, init_targets);
}

/* What LLVM and its C++ library register here to be taken down at the exit of the process stays
 * up: threads may still compile then, and nobody can stop LLVM (runtime/aside.h). The link makes
 * this their function, and hides it from others'. */
int
__cxa_atexit(void (*fn)(void *), void *arg, void *library)
{
    (void)fn, (void)arg, (void)library;
    return 0;
}

/* ---- one module -------------------------------------------------------------------- */

/* LLVM's C API tells the size of a frame in this warning alone; see ask_for_frames. */
static void
note_frame(Session *s, LLVMDiagnosticInfoRef d)
{
    char *text = LLVMGetDiagInfoDescription(d);
    const char *size = strstr(text, "stack frame size (");
    if (size)
        s->stack += strtoll(strchr(size, '(') + 1, NULL, 10);
    LLVMDisposeMessage(text);
}

static void
on_diagnostic(LLVMDiagnosticInfoRef d, void *data)
{
    Session *s = data;
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(d);
    if (severity == LLVMDSWarning)
        note_frame(s, d);
    if (severity == LLVMDSError && !s->diagnostic)
        s->diagnostic = LLVMGetDiagInfoDescription(d);
}

static void
session_drop(void *obj)
{
    Session *s = obj;
    Ll *l = &s->l;
    if (current == s)
        current = NULL;
    LLVMDisposeMessage(s->diagnostic);
    if (s->is_running)
        return; /* rule 2 */
    if (l->b)
        LLVMDisposeBuilder(l->b);
    if (l->m)
        LLVMDisposeModule(l->m);
    if (l->cx)
        LLVMContextDispose(l->cx);
    if (l->tm)
        LLVMDisposeTargetMachine(l->tm);
}

static void
drop_message(void *message)
{
    LLVMDisposeMessage(message);
}

static bool
is_shown(char c)
{
    return c >= ' ' && c <= '~';
}

const char *
ll_shown(Comp *c, const char *name)
{
    char *s = NEW_N(c->arena, char, strlen(name) + 1);
    for (size_t i = 0; name[i]; i++)
        s[i] = is_shown(name[i]) ? name[i] : '?';
    return s;
}

const char *
ll_message(Comp *c, char *message)
{
    if (!message)
        return "no reason";
    arena_defer(c->arena, drop_message, message);
    for (char *s = message; *s; s++) /* of a damaged file */
        if (*s != '\n' && !is_shown(*s))
            *s = '?';
    return message;
}

static void
drop_error(void *message)
{
    LLVMDisposeErrorMessage(message);
}

/* What host/ asks about; LLVM knows the rest by the name. */
static const char *
lesser_features(const char *cpu)
{
#define V4 "+avx2,+avx512f,+avx512bw,+avx512dq,+avx512vl"
#define BF16 V4 ",+avx512vnni,+avx512bf16"
    static const char *const all[][2] = {
        {"x86-64-v3", "+avx2"},
        {"x86-64-v4", V4},
        {"cascadelake", V4 ",+avx512vnni"},
        {"cooperlake", BF16},
        {"sapphirerapids", BF16 ",+amx-tile,+amx-bf16,+amx-int8"},
    };
#undef BF16
#undef V4
    for (size_t i = 0; i < COUNT(all); i++)
        if (!strcmp(cpu, all[i][0]))
            return all[i][1];
    return "";
}

const char *
ll_host_features(Comp *c)
{
    if (c->cpu)
        return lesser_features(c->cpu);
    return ll_message(c, LLVMGetHostCPUFeatures());
}

/* The CPU this process runs on, with everything it can do. */
static LLVMTargetMachineRef
host_machine(Ll *l, LLVMCodeGenOptLevel level, const char **triple)
{
    Comp *c = l->c;
    *triple = ll_message(c, LLVMGetDefaultTargetTriple());
    LLVMTargetRef t;
    char *error = NULL;
    if (LLVMGetTargetFromTriple(*triple, &t, &error))
        err_at(l->c, NULL, LLVM, ll_message(l->c, error));
    const char *features = c->cpu ? "" : ll_host_features(c);
    const char *cpu = c->cpu ? c->cpu : ll_message(c, LLVMGetHostCPUName());
    return LLVMCreateTargetMachine(t, *triple, cpu, features, level, LLVMRelocPIC,
                                   LLVMCodeModelSmall);
}

static LLVMTargetMachineRef
nvptx_machine(Ll *l, const char **triple)
{
    *triple = "nvptx64-nvidia-cuda";
    LLVMTargetRef t;
    char *error = NULL;
    if (LLVMGetTargetFromTriple(*triple, &t, &error))
        err_at(l->c, NULL, LLVM, ll_message(l->c, error));
    Target g = l->c->opt.target;
    char cpu[16];
    snprintf(cpu, sizeof cpu, "sm_%d%s", g.sm, g.accelerated ? "a" : "");
    /* The newest PTX this LLVM can write: an older one hides instructions. */
#if LLVM_VERSION_MAJOR >= 22
    const char *ptx = "+ptx90";
#elif LLVM_VERSION_MAJOR >= 21
    const char *ptx = "+ptx88";
#elif LLVM_VERSION_MAJOR >= 20
    const char *ptx = "+ptx87";
#else
    const char *ptx = "+ptx85";
#endif
    return LLVMCreateTargetMachine(t, *triple, cpu, ptx, LLVMCodeGenLevelDefault,
                                   LLVMRelocDefault, LLVMCodeModelDefault);
}

static void
fill_types(Ll *l)
{
    LLVMContextRef cx = l->cx;
    l->void_ = LLVMVoidTypeInContext(cx);
    l->i1 = LLVMInt1TypeInContext(cx);
    l->i8 = LLVMInt8TypeInContext(cx);
    l->i16 = LLVMInt16TypeInContext(cx);
    l->i32 = LLVMInt32TypeInContext(cx);
    l->i64 = LLVMInt64TypeInContext(cx);
    l->f16 = LLVMHalfTypeInContext(cx);
    l->f32 = LLVMFloatTypeInContext(cx);
    l->f64 = LLVMDoubleTypeInContext(cx);
    l->ptr = LLVMPointerTypeInContext(cx, 0);
}

Ll *
ll_new(Comp *c, LlTarget t, const char *name)
{
    ll_init();
    Session *s = NEW(c->arena, Session);
    Ll *l = &s->l;
    l->c = c;
    arena_defer(c->arena, session_drop, s);
    current = s;
    set_new_handler(on_no_memory);
    const char *triple;
    l->tm = t == LL_NVPTX ? nvptx_machine(l, &triple)
                          : host_machine(l, LLVMCodeGenLevelDefault, &triple);
    l->cx = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(l->cx, on_diagnostic, s);
    l->m = LLVMModuleCreateWithNameInContext(name, l->cx);
    LLVMSetTarget(l->m, triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(l->tm);
    LLVMSetModuleDataLayout(l->m, layout);
    LLVMDisposeTargetData(layout);
    l->b = LLVMCreateBuilderInContext(l->cx);
    fill_types(l);
    l->gptr = t == LL_NVPTX ? LLVMPointerTypeInContext(l->cx, 1) : l->ptr;
    l->contract = c->opt.enable_fp_fusion;
    l->ops = t == LL_NVPTX ? NULL : &scalar_ops_host;
    return l;
}

/* Beyond these, choosing instructions well takes longer than most kernels run: addresses of
 * loops are weighed over the whole function, and a block is scheduled as a whole. A kernel with
 * 2000 copies of a loop's body took 8.5 s, one with 10,000 checked sums 100 s. */
enum { MANY_INSTRUCTIONS = 12000, LONG_BLOCK = 3000 };

bool
ll_quicken(Ll *l)
{
    int n = 0, longest = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(l->fn); b;
         b = LLVMGetNextBasicBlock(b)) {
        int here = 0;
        for (Lv i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            here++;
        n += here;
        longest = MAX(longest, here);
    }
    if (n <= MANY_INSTRUCTIONS && longest <= LONG_BLOCK)
        return false;
    const char *triple;
    LLVMTargetMachineRef quick = host_machine(l, LLVMCodeGenLevelNone, &triple);
    LLVMDisposeTargetMachine(l->tm);
    l->tm = quick;
    return true;
}

/* ---- types and constants ------------------------------------------------------------- */

Lt
ll_elem(Ll *l, Elem e)
{
    switch (e) {
    case E_I1: return l->i1;
    case E_I8:
    case E_U8:
    case E_F8E4M3:
    case E_F8E5M2:
    case E_F8E4B15:
    case E_F8E4B8:
    case E_F8E5B16: return l->i8;
    case E_I16:
    case E_U16:
    case E_BF16: return l->i16;
    case E_I32:
    case E_U32: return l->i32;
    case E_I64:
    case E_U64: return l->i64;
    case E_F16: return l->f16;
    case E_F32: return l->f32;
    case E_F64: return l->f64;
    default: unreachable(l->c);
    }
}

Lt
ll_mem(Ll *l, Elem e)
{
    return e == E_I1 ? l->i8 : ll_elem(l, e);
}

Lt
ll_type(Ll *l, const Type *t)
{
    return t->is_ptr ? l->gptr : ll_elem(l, t->elem);
}

Lt
ll_vec(Lt t, int lanes)
{
    return lanes > 1 ? LLVMVectorType(t, (unsigned)lanes) : t;
}

int
ll_lanes(Lv v)
{
    Lt t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? (int)LLVMGetVectorSize(t) : 0;
}

Lv
ll_constant(Ll *l, Lv value, const char *name)
{
    Lv g = LLVMAddGlobal(l->m, LLVMTypeOf(value), name);
    LLVMSetInitializer(g, value);
    LLVMSetGlobalConstant(g, true);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    return g;
}

Lv
ll_i32(Ll *l, int32_t v)
{
    return LLVMConstInt(l->i32, (uint64_t)(int64_t)v, true);
}

Lv
ll_i64(Ll *l, int64_t v)
{
    return LLVMConstInt(l->i64, (uint64_t)v, true);
}

Lv
ll_element(Ll *l, Lt elem, Lv p, Lv i)
{
    return LLVMBuildGEP2(l->b, elem, p, &i, 1, "");
}

Lv
ll_byte_at(Ll *l, Lv p, Lv i)
{
    return ll_element(l, l->i8, p, i);
}

Lv
ll_load_element(Ll *l, Lt elem, Lv p, Lv i)
{
    return LLVMBuildLoad2(l->b, elem, ll_element(l, elem, p, i), "");
}

Lv
ll_bits(Ll *l, Elem e, uint64_t bits, int lanes)
{
    int n = elem_info[e].bits;
    if (n < 64)
        bits &= ((uint64_t)1 << n) - 1;
    Lt as_int = LLVMIntTypeInContext(l->cx, (unsigned)n), t = ll_elem(l, e);
    Lv v = LLVMConstInt(as_int, bits, false);
    if (as_int != t)
        v = LLVMConstBitCast(v, t);
    return ll_splat(l, v, lanes);
}

Lv
ll_splat(Ll *l, Lv x, int lanes)
{
    if (lanes < 2)
        return x;
    if (LLVMIsConstant(x)) {
        Lv *all = NEW_N(l->c->arena, Lv, lanes);
        for (int i = 0; i < lanes; i++)
            all[i] = x;
        return LLVMConstVector(all, (unsigned)lanes);
    }
    Lt t = ll_vec(LLVMTypeOf(x), lanes);
    Lv v = LLVMBuildInsertElement(l->b, LLVMGetPoison(t), x, ll_i32(l, 0), "");
    Lv zeros = LLVMConstNull(ll_vec(l->i32, lanes));
    return LLVMBuildShuffleVector(l->b, v, LLVMGetPoison(t), zeros, "");
}

Lv
ll_some_lanes(Ll *l, Lv x, Lv y, int first, int step, int n)
{
    Lv *at = NEW_N(l->c->arena, Lv, n);
    for (int i = 0; i < n; i++)
        at[i] = ll_i32(l, first + i * step);
    return LLVMBuildShuffleVector(l->b, x, y ? y : LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(at, (unsigned)n), "");
}

/* ---- calls and attributes -------------------------------------------------------------- */

Lv
ll_intrinsic(Ll *l, const char *name, Lt *types, int n_types, Lv *args, int n_args)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id)
        err_at(l->c, NULL, LLVM, str_printf(l->c->arena, "no intrinsic %s", name));
    Lt ft = LLVMIntrinsicGetType(l->cx, id, types, (size_t)n_types);
    Lv fn = LLVMGetIntrinsicDeclaration(l->m, id, types, (size_t)n_types);
    return LLVMBuildCall2(l->b, ft, fn, args, (unsigned)n_args, "");
}

Lv
ll_call_c(Ll *l, const char *symbol, Lt ret, Lv *args, int n)
{
    Lt *types = NEW_N(l->c->arena, Lt, n + 1);
    for (int i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    Lt ft = LLVMFunctionType(ret, types, (unsigned)n, false);
    Lv fn = LLVMGetNamedFunction(l->m, symbol);
    if (!fn)
        fn = LLVMAddFunction(l->m, symbol, ft);
    return LLVMBuildCall2(l->b, ft, fn, args, (unsigned)n, "");
}

LLVMAttributeRef
ll_attribute(Ll *l, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    return LLVMCreateEnumAttribute(l->cx, kind, value);
}

Lv
ll_asm(Ll *l, Lt ret, const char *text, const char *constraints, Lv *args, int n,
       bool effects)
{
    Lt *types = NEW_N(l->c->arena, Lt, n + 1);
    for (int i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    Lt ft = LLVMFunctionType(ret, types, (unsigned)n, false);
    Lv fn = LLVMGetInlineAsm(ft, text, strlen(text), constraints, strlen(constraints),
                             effects, false, LLVMInlineAsmDialectATT, false);
    Lv call = LLVMBuildCall2(l->b, ft, fn, args, (unsigned)n, "");
    if (effects)
        LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                                 ll_attribute(l, "convergent", 0));
    return call;
}

void
ll_mark_pure(Ll *l, Lv call)
{
    static const char *const names[] = {"nounwind", "memory", "willreturn"};
    for (size_t i = 0; i < COUNT(names); i++)
        LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                                 ll_attribute(l, names[i], 0));
}

void
ll_fn_attr(Ll *l, Lv fn, const char *name, const char *value)
{
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(l->cx, name,
                                                      (unsigned)strlen(name), value,
                                                      (unsigned)strlen(value)));
}

void
ll_param_attr(Ll *l, Lv fn, int param, const char *enum_name, uint64_t value)
{
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)(param + 1),
                            ll_attribute(l, enum_name, value));
}

LLVMBasicBlockRef
ll_block(Ll *l, const char *name)
{
    return LLVMAppendBasicBlockInContext(l->cx, l->fn, name);
}

void
ll_jump(Ll *l, LLVMBasicBlockRef to)
{
    LLVMBuildBr(l->b, to);
    LLVMPositionBuilderAtEnd(l->b, to);
}

void
ll_if(Ll *l, Lv cond, LLVMBasicBlockRef yes, LLVMBasicBlockRef no)
{
    LLVMBuildCondBr(l->b, cond, yes, no);
    LLVMPositionBuilderAtEnd(l->b, yes);
}

Lv
ll_phi(Ll *l, Lv x, LLVMBasicBlockRef from)
{
    Lv phi = LLVMBuildPhi(l->b, LLVMTypeOf(x), "");
    LLVMAddIncoming(phi, &x, &from, 1);
    return phi;
}

Lv
ll_join(Ll *l, Lv x, LLVMBasicBlockRef x_from, Lv y, LLVMBasicBlockRef y_from)
{
    Lv phi = ll_phi(l, x, x_from);
    LLVMAddIncoming(phi, &y, &y_from, 1);
    return phi;
}

Lv
ll_slot(Ll *l, Lt t)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b),
                      entry = LLVMGetEntryBasicBlock(l->fn);
    LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(entry));
    Lv p = LLVMBuildAlloca(l->b, t, "");
    ll_go_on(l, here);
    return p;
}

void
ll_keep_rolled(Ll *l, Lv branch)
{
    static const char word[] = "llvm.loop.unroll.disable", kind[] = "llvm.loop";
    LLVMMetadataRef text = LLVMMDStringInContext2(l->cx, word, sizeof word - 1),
                    disable = LLVMMDNodeInContext2(l->cx, &text, 1),
                    self = LLVMTemporaryMDNode(l->cx, NULL, 0),
                    both[] = {self, disable},
                    loop = LLVMMDNodeInContext2(l->cx, both, COUNT(both));
    LLVMMetadataReplaceAllUsesWith(self, loop); /* a loop's name is itself */
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(l->cx, kind, sizeof kind - 1),
                    LLVMMetadataAsValue(l->cx, loop));
}

/* ---- from module to code ----------------------------------------------------------------- */

static void
begin(Session *s)
{
    current = s;
    s->is_running = true;
}

static void
end(Session *s)
{
    s->is_running = false;
    if (s->diagnostic) {
        char *text = s->diagnostic;
        s->diagnostic = NULL;
        err_at(s->l.c, NULL, LLVM, ll_message(s->l.c, text));
    }
}

void
ll_guarded(Ll *l, void (*fn)(Ll *l, void *data), void *data)
{
    Session *s = (Session *)l;
    begin(s);
    fn(l, data);
    end(s);
}

void
ll_finish(Ll *l, const char *passes, Binary *out)
{
    Session *s = (Session *)l;
    char *message = NULL;
    double start = clock_ms();
    begin(s);
    bool bad = LLVMVerifyModule(l->m, LLVMReturnStatusAction, &message);
    end(s);
    if (bad)
        err_at(l->c, NULL, LLVM, ll_message(l->c, message));
    LLVMDisposeMessage(message);

    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    begin(s);
    LLVMErrorRef error = LLVMRunPasses(l->m, passes, l->tm, options);
    s->is_running = false;
    LLVMDisposePassBuilderOptions(options);
    if (error) {
        message = LLVMGetErrorMessage(error);
        arena_defer(l->c->arena, drop_error, message);
        err_at(l->c, NULL, LLVM, message);
    }
    end(s);
    ll_part_masked_bits(l);
    ll_store_one_lane(l);
    ll_keep_zero_signs(l);
    ll_hide_counts(l);
    ll_keep_wide_counts(l);
    ll_select_signed_bits(l);

    char *text = LLVMPrintModuleToString(l->m); /* NULL: no memory */
    bool kept = text && binary_add(out, "llir", text, strlen(text));
    LLVMDisposeMessage(text);
    if (!kept)
        err_at(l->c, NULL, MEMORY);
    ll_override(l, out);
    out->ms[TIME_LLVM] += clock_ms() - start;
}

/* Every function is warned of whose frame has more than 0 bytes. */
static void
ask_for_frames(Ll *l)
{
    for (Lv fn = LLVMGetFirstFunction(l->m); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn))
            ll_fn_attr(l, fn, "warn-stack-size", "0");
}

void
ll_emit(Ll *l, LLVMCodeGenFileType kind, const char *stage, Binary *out)
{
    Session *s = (Session *)l;
    LLVMMemoryBufferRef code = NULL;
    char *message = NULL;
    double start = clock_ms();
    if (kind == LLVMObjectFile)
        ask_for_frames(l);
    begin(s);
    bool bad = LLVMTargetMachineEmitToMemoryBuffer(l->tm, l->m, kind, &message, &code);
    s->is_running = false;
    if (bad)
        err_at(l->c, NULL, LLVM, ll_message(l->c, message));
    bool kept = s->diagnostic || binary_add(out, stage, LLVMGetBufferStart(code),
                                            LLVMGetBufferSize(code));
    LLVMDisposeMemoryBuffer(code);
    out->ms[TIME_LLVM] += clock_ms() - start;
    out->stack = (int)MIN(s->stack, INT32_MAX);
    end(s);
    if (!kept)
        err_at(l->c, NULL, MEMORY);
}

/* ---- files that nobody vouches for -------------------------------------------------------- */

static void
ignore_diagnostic(LLVMDiagnosticInfoRef d, void *data)
{
    (void)d, (void)data;
}

/* In a process of its own, which may crash, hang or run out of memory: exits with 0, or
 * writes to `out` what LLVM says. */
static NORETURN void
try_to_read(const char *path, int out)
{
    enum { SECONDS = 60 };
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM};
    struct rlimit no_core = {0, 0};
    current = NULL; /* LLVM's fatal errors end this process */
    for (size_t i = 0; i < COUNT(fatal); i++)
        signal(fatal[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(SECONDS);
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (quiet >= 0)
        dup2(quiet, STDERR_FILENO);
    LLVMContextRef cx = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(cx, ignore_diagnostic, NULL);
    LLVMMemoryBufferRef text;
    LLVMModuleRef m = NULL;
    char *message = NULL;
    bool bad = LLVMCreateMemoryBufferWithContentsOfFile(path, &text, &message) ||
               LLVMParseIRInContext(cx, text, &m, &message) ||
               LLVMVerifyModule(m, LLVMReturnStatusAction, &message);
    ssize_t n = bad && message ? (ssize_t)strlen(message) : 0;
    if (n && write(out, message, (size_t)n) != n)
        _exit(2);
    if (m)
        LLVMDisposeModule(m);
    LLVMContextDispose(cx);
    _exit(bad);
}

const char *
ll_unreadable(Comp *c, const char *path)
{
    enum { ROOM = 4096 }; /* a pipe holds more, so the child never waits for us */
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC))
        return NULL; /* nor is there a process to be had: it is read here then */
    pid_t child = fork();
    if (!child)
        try_to_read(path, ends[1]);
    close(ends[1]);
    char *why = NEW_N(c->arena, char, ROOM);
    if (child > 0)
        file_read(ends[0], why, ROOM - 1); /* until there is no more */
    close(ends[0]);
    if (child < 0)
        return NULL;
    pid_t seen;
    do
        seen = waitpid(child, &status, 0);
    while (seen < 0 && errno == EINTR);
    why[strcspn(why, "\n")] = 0;
    if (seen < 0) /* somebody else waited for it */
        return *why ? ll_shown(c, why) : NULL;
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return NULL;
    return *why ? ll_shown(c, why) : "it is damaged: reading it would end LLVM";
}
