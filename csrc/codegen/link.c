/* link: functions out of the user's files of bitcode, or of LLVM's text, for PTX.
 *
 * A call declares the function as its operands have it. When the kernel is built, each file is
 * read once, compared with what was declared, and linked; what came with it is hidden, put
 * into its callers, and dropped. Files ask for their flags by __nvvm_reflect, which the pass
 * of that name answers: subnormal numbers are flushed, as Triton says, unless the option
 * enable_reflect_ftz is off.
 */
#include "codegen/codegen.h"
#include "codegen/simt/machine.h"

#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>

typedef struct LlLibrary LlLibrary;
struct LlLibrary {
    LlLibrary *next;
    const char *path;
    const Op *first; /* who asked, for messages */
    VEC(const Op *) all;
};

/* Of Op.text: the symbol. *path: the file. */
static const char *
symbol_of(Ll *l, const Op *o, const char **path)
{
    const char *end = strchr(o->text, '\n');
    *path = end + 1;
    return str_intern_n(l->c, o->text, (size_t)(end - o->text));
}

Lv
ll_call_extern(Ll *l, const Op *o, Lv *x)
{
    const char *path, *symbol = symbol_of(l, o, &path);
    if (!l->machine || l->machine != &machine_ptx)
        err_at(l->c, o->loc, TARGET, "a function of a library",
               l->machine ? l->machine->name : "the CPU");
    LlLibrary *k = l->libraries;
    while (k && strcmp(k->path, path) != 0)
        k = k->next;
    if (!k) {
        k = NEW(l->c->arena, LlLibrary);
        *k = (LlLibrary){.next = l->libraries, .path = path, .first = o};
        l->libraries = k;
    }
    PUSH(l->c->arena, &k->all, o);
    Lv call = ll_call_c(l, symbol, ll_elem(l, result(o, 0)->type->elem), x, o->n_args);
    unsigned pure = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(l->cx, pure, 0));
    return call;
}

typedef struct Reading {
    const LlLibrary *library;
    LLVMModuleRef module;
    char *message; /* LLVM's; NULL: none */
    bool bad;
} Reading;

static void
read_file(Ll *l, void *data)
{
    Reading *r = data;
    LLVMMemoryBufferRef text;
    r->bad = LLVMCreateMemoryBufferWithContentsOfFile(r->library->path, &text,
                                                      &r->message);
    if (!r->bad) /* takes the buffer */
        r->bad = LLVMParseIRInContext(l->cx, text, &r->module, &r->message);
}

static void
link_it(Ll *l, void *data)
{
    Reading *r = data;
    r->bad = LLVMLinkModules2(l->m, r->module); /* takes the module */
}

static NORETURN void
bad_library(Ll *l, const LlLibrary *k, const Op *o, const char *why)
{
    err_help(l->c,
             "a library is LLVM bitcode or text for nvptx64, made by this LLVM or an "
             "older one");
    err_at(l->c, o->loc, VALUE,
           str_printf(l->c->arena, "the library '%s': %s", k->path, why));
}

/* Are the functions there, and of the types that were called? */
static void
check_symbols(Ll *l, const LlLibrary *k, LLVMModuleRef m)
{
    for (int i = 0; i < k->all.n; i++) {
        const Op *o = k->all.at[i];
        const char *path, *symbol = symbol_of(l, o, &path);
        Lv theirs = LLVMGetNamedFunction(m, symbol);
        Lv ours = LLVMGetNamedFunction(l->m, symbol);
        if (!theirs || LLVMIsDeclaration(theirs)) {
            LLVMDisposeModule(m);
            bad_library(l, k, o,
                        str_printf(l->c->arena, "it has no function '%s'", symbol));
        }
        Lt have = LLVMGlobalGetValueType(theirs), want = LLVMGlobalGetValueType(ours);
        if (have == want)
            continue;
        const char *a = ll_message(l->c, LLVMPrintTypeToString(have)),
                   *b = ll_message(l->c, LLVMPrintTypeToString(want));
        const char *why = str_printf(l->c->arena, "'%s' is %s, but called as %s",
                                     symbol, a, b);
        LLVMDisposeModule(m); /* else the context does it */
        bad_library(l, k, o, why);
    }
}

/* Option enable_reflect_ftz: what a library gets that asks for "__CUDA_FTZ". */
static void
answer_ftz(Ll *l)
{
    size_t n;
    const char *off = option_text(l->c->option_texts, "enable_reflect_ftz=", &n);
    static const char name[] = "nvvm-reflect-ftz";
    LLVMAddModuleFlag(l->m, LLVMModuleFlagBehaviorOverride, name, sizeof name - 1,
                      LLVMValueAsMetadata(ll_i32(l, !off)));
}

const char *
ll_link(Ll *l, const char *passes)
{
    if (!l->libraries)
        return passes;
    answer_ftz(l);
    for (LlLibrary *k = l->libraries; k; k = k->next) {
        Reading r = {.library = k};
        ll_guarded(l, read_file, &r);
        const char *why = ll_message(l->c, r.message);
        if (r.bad)
            bad_library(l, k, k->first, why);
        check_symbols(l, k, r.module);
        LLVMSetTarget(r.module, LLVMGetTarget(l->m));
        LLVMSetModuleDataLayout(r.module, LLVMGetModuleDataLayout(l->m));
        ll_guarded(l, link_it, &r);
        if (r.bad)
            bad_library(l, k, k->first, "it cannot be linked");
    }
    for (Lv f = LLVMGetFirstFunction(l->m); f; f = LLVMGetNextFunction(f))
        if (f != l->fn && !LLVMIsDeclaration(f))
            LLVMSetLinkage(f, LLVMInternalLinkage);
    for (Lv g = LLVMGetFirstGlobal(l->m); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g) && LLVMGetLinkage(g) == LLVMExternalLinkage)
            LLVMSetLinkage(g, LLVMInternalLinkage);
    return str_printf(
        l->c->arena,
        "globaldce,nvvm-reflect,function(sroa,instcombine<no-verify-fixpoint>,"
        "simplifycfg),cgscc(inline),globaldce,%s",
        passes);
}
