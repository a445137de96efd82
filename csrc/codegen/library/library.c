/* library: the user's files of LLVM bitcode, or of LLVM's text, read and looked up.
 *
 * What a file defines gets a prefix of its own, "tegula.0.f", so nothing of it meets our names
 * or another file's.
 *
 * Rule 1: nothing in a file is believed: it is verified when it has been read, and every
 *         fault is an error at the line of the call.
 */
#include "codegen/library/link.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>

struct LlExterns *
lib_externs(Ll *l)
{
    if (!l->externs) {
        l->externs = NEW(l->c->arena, struct LlExterns);
        l->externs->of_op.a = l->c->arena;
    }
    return l->externs;
}

/* ---- Op.text ----------------------------------------------------------------------------- */

const char *
lib_symbol(Ll *l, const Op *o)
{
    return str_intern_n(l->c, o->text, strcspn(o->text, "\n"));
}

/* The file at *at, which moves on; NULL: no more. */
const char *
lib_next_file(Ll *l, const char **at)
{
    size_t n = strcspn(*at, "\n");
    if (!n)
        return NULL;
    const char *path = str_intern_n(l->c, *at, n);
    *at += n + ((*at)[n] == '\n');
    return path;
}

const char *
lib_files(const Op *o)
{
    const char *nl = strchr(o->text, '\n');
    return nl ? nl + 1 : "";
}

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct Reading {
    const char *path;
    LLVMModuleRef module;
    uint64_t hash, n_bytes;
    char *message; /* LLVM's; NULL: none */
    bool bad;
} Reading;

static void
read_file(Ll *l, void *data)
{
    Reading *r = data;
    LLVMMemoryBufferRef text;
    r->bad = LLVMCreateMemoryBufferWithContentsOfFile(r->path, &text, &r->message);
    if (r->bad)
        return;
    r->n_bytes = LLVMGetBufferSize(text);
    r->hash = hash_bytes(LLVMGetBufferStart(text), r->n_bytes);
    /* takes the buffer */
    r->bad = LLVMParseIRInContext(l->cx, text, &r->module, &r->message);
    if (!r->bad)
        r->bad = LLVMVerifyModule(r->module, LLVMReturnStatusAction, &r->message);
}

NORETURN void
lib_bad(Ll *l, const char *path, const Op *o, const char *why)
{
    err_help(l->c,
             "a library is LLVM bitcode or text for %s, made by this LLVM or an "
             "older one",
             ll_is_host(l) ? "this machine" : "nvptx64");
    err_say(l->c, o->loc, VALUE, "the library '%s': %s", path, why);
}

/* "x86_64" of "x86_64-unknown-linux-gnu". */
static bool
is_same_arch(const char *a, const char *b)
{
    size_t n = strcspn(a, "-");
    return n == strcspn(b, "-") && !strncmp(a, b, n);
}

/* What names no machine is taken for code of the target. */
static void
check_triple(Ll *l, const LlLibrary *k, const Op *o)
{
    const char *theirs = LLVMGetTarget(k->module);
    if (!*theirs || is_same_arch(theirs, LLVMGetTarget(l->m)))
        return;
    if (is_same_arch(theirs, "nvptx64")) {
        err_help(l->c, "run it on a GPU or on the emulator (TEGULA_TARGET=emu:sm_90a), "
                       "give code for this machine, or write it in the language");
        err_at(l->c, o->loc, TARGET,
               str_printf(l->c->arena, "the library '%s', which is code for GPUs,",
                          k->path),
               foreign_target(l));
    }
    lib_bad(l, k->path, o,
            str_printf(l->c->arena, "it is code for %s", ll_shown(l->c, theirs)));
}

static bool
is_local(Lv global)
{
    LLVMLinkage k = LLVMGetLinkage(global);
    return k == LLVMInternalLinkage || k == LLVMPrivateLinkage;
}

static void
rename_global(Ll *l, const LlLibrary *k, Lv global)
{
    size_t n;
    const char *name = LLVMGetValueName2(global, &n);
    name = str_printf(l->c->arena, "tegula.%d.%.*s", k->index, (int)n, name);
    LLVMSetValueName2(global, name, strlen(name));
}

/* A definition that others may see becomes one of this library. */
static void
adopt(Ll *l, const LlLibrary *k, Lv global)
{
    LLVMSetComdat(global, NULL);
    if (is_local(global))
        return;
    rename_global(l, k, global);
    LLVMSetLinkage(global, LLVMExternalLinkage);
    LLVMSetVisibility(global, LLVMDefaultVisibility);
}

static void
drop_attribute(Lv fn, const char *name)
{
    LLVMRemoveStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, name,
                                     (unsigned)strlen(name));
}

static void
adopt_all(Ll *l, LlLibrary *k)
{
    static const char *const lists[] = {"llvm.used", "llvm.compiler.used",
                                        "llvm.global_ctors", "llvm.global_dtors"};
    LLVMModuleRef m = k->module;
    LLVMStripModuleDebugInfo(m);
    for (size_t i = 0; i < COUNT(lists); i++) {
        Lv list = LLVMGetNamedGlobal(m, lists[i]);
        if (!list)
            continue;
        k->has_constructors |= i >= 2;
        LLVMDeleteGlobal(list);
    }
    for (Lv f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        drop_attribute(f, "target-cpu");
        drop_attribute(f, "target-features");
        drop_attribute(f, "tune-cpu");
        if (!LLVMIsDeclaration(f))
            adopt(l, k, f);
    }
    for (Lv g = LLVMGetFirstGlobal(m); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g))
            adopt(l, k, g);
    for (Lv a = LLVMGetFirstGlobalAlias(m); a; a = LLVMGetNextGlobalAlias(a))
        if (!is_local(a))
            rename_global(l, k, a);
    LLVMSetTarget(m, LLVMGetTarget(l->m));
    LLVMSetModuleDataLayout(m, LLVMGetModuleDataLayout(l->m));
}

LlLibrary *
lib_open(Ll *l, const char *path, const Op *o)
{
    struct LlExterns *e = lib_externs(l);
    for (LlLibrary *k = e->libraries; k; k = k->next)
        if (!strcmp(k->path, path))
            return k;
    const char *why = ll_unreadable(l->c, path);
    if (why)
        lib_bad(l, path, o, why);
    Reading r = {.path = path};
    ll_guarded(l, read_file, &r);
    if (r.bad)
        lib_bad(l, path, o, ll_message(l->c, r.message));
    LLVMDisposeMessage(r.message);
    LlLibrary *k = NEW(l->c->arena, LlLibrary);
    *k = (LlLibrary){.next = e->libraries,
                     .path = path,
                     .hash = r.hash,
                     .n_bytes = r.n_bytes,
                     .module = r.module,
                     .index = e->n_libraries++};
    check_triple(l, k, o);
    adopt_all(l, k);
    e->libraries = k;
    return k;
}

/* What the library defines under that name; NULL: nothing. */
Lv
lib_defined(Ll *l, const LlLibrary *k, const char *symbol)
{
    const char *name = str_printf(l->c->arena, "tegula.%d.%s", k->index, symbol);
    Lv f = LLVMGetNamedFunction(k->module, name);
    return f ? f : LLVMGetNamedGlobal(k->module, name);
}

/* "it has no function 'f'", and what it has instead. */
NORETURN void
lib_no_symbol(Ll *l, const LlLibrary *k, const Op *o, const char *symbol)
{
    enum { SHOWN = 8 };
    Sb sb = {.a = l->c->arena};
    int n = 0;
    sb_put(&sb, "");
    for (Lv f = LLVMGetFirstFunction(k->module); f; f = LLVMGetNextFunction(f)) {
        size_t len;
        const char *name = LLVMGetValueName2(f, &len);
        if (LLVMIsDeclaration(f) || is_local(f) || ++n > SHOWN)
            continue;
        sb_printf(&sb, "%s'%s'", n > 1 ? ", " : "",
                  ll_shown(l->c, strchr(name + 7, '.') + 1));
    }
    err_help(l->c, "it has %s%s", n ? sb.at : "none", n > SHOWN ? ", .." : "");
    err_say(l->c, o->loc, VALUE, "the library '%s': it has no function '%s'", k->path,
            symbol);
}
