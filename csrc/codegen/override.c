/* override: files of the user's in the place of what a compile made (Comp.overrides).
 *
 *     tir, simt    parsed and verified; the function that all later stages are made of
 *     llir         parsed and verified; the module that code is made of
 *     ptx          what is assembled; its entry is what is launched, with up to
 *                  MAX_SCRATCH_PARAMS null pointers behind the arguments: PTX of Triton's has
 *                  them, for memory that its launcher allocates and few kernels use
 *     cubin        what is launched
 *
 * A launch calls the code as it would call what was replaced: same parameters, same scratch
 * and shared memory, which the replaced stage said. So all that can be compared is compared
 * here, and an error names the file and its line.
 */
#include "codegen/codegen.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>

#include <ctype.h>
#include <stdlib.h>

static NORETURN void
bad_file(Comp *c, const Loc *at, const Override *o, const char *why)
{
    err_say(c, at, VALUE, "ir_override '%s': %s", o->path, why);
}

/* ---- tile IR ------------------------------------------------------------------------ */

static void
check_params(const Func *ours, const Func *theirs, const Override *o)
{
    Comp *c = ours->c;
    int n = ours->body->n_args, m = theirs->body->n_args;
    if (n != m)
        bad_file(c, theirs->loc, o,
                 str_printf(c->arena, "%d parameters, where the kernel has %d", m, n));
    for (int i = 0; i < n; i++) {
        const Type *a = ours->body->args[i]->type, *b = theirs->body->args[i]->type;
        if (a != b)
            bad_file(c, theirs->loc, o,
                     str_printf(c->arena, "parameter %d is %s, and the kernel's is %s",
                                i, ty_str(c->arena, b), ty_str(c->arena, a)));
    }
    if (ours->log2_ctas != theirs->log2_ctas)
        bad_file(c, theirs->loc, o,
                 str_printf(c->arena, "made for %d ctas, and the kernel for %d",
                            1 << theirs->log2_ctas, 1 << ours->log2_ctas));
}

Func *
override_func(Func *f, const char *stage)
{
    Comp *c = f->c;
    const Override *o = comp_override(c, stage);
    if (!o)
        return f;
    Func *g = ir_parse_file(c, o->data, o->path);
    ir_verify(g, NULL);
    check_params(f, g, o);
    /* What this launch knows, whatever the text claims of its arguments. */
    g->name = f->name;
    g->slot = f->slot;
    g->facts = f->facts;
    g->n_facts = f->n_facts;
    g->report = f->report;
    g->team_warps = f->team_warps;
    return g;
}

/* ---- LLVM --------------------------------------------------------------------------- */

typedef struct Reading {
    const Override *file;
    LLVMModuleRef module;
    char *message; /* LLVM's; NULL: none */
    bool bad;
} Reading;

static void
read_module(Ll *l, void *data)
{
    Reading *r = data;
    LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        r->file->data, r->file->size, r->file->path);
    r->bad = LLVMParseIRInContext(l->cx, text, &r->module, &r->message); /* takes it */
}

static void
verify_module(Ll *l, void *data)
{
    (void)l;
    Reading *r = data;
    r->bad = LLVMVerifyModule(r->module, LLVMReturnStatusAction, &r->message);
}

static void
keep_text(Ll *l, Binary *out, const char *stage)
{
    char *text = LLVMPrintModuleToString(l->m);
    bool kept = text && binary_put(out, stage, text, strlen(text));
    LLVMDisposeMessage(text);
    if (!kept)
        err_at(l->c, NULL, MEMORY);
}

/* The message without the blanks and new lines at its end. */
static const char *
trimmed(Comp *c, const char *s)
{
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1]))
        n--;
    return str_printf(c->arena, "%.*s", (int)n, s);
}

void
ll_override(Ll *l, Binary *out)
{
    Comp *c = l->c;
    Reading r = {.file = comp_override(c, "llir")};
    if (!r.file)
        return;
    ll_guarded(l, read_module, &r);
    if (r.bad)
        bad_file(c, NULL, r.file, trimmed(c, ll_message(c, r.message)));
    size_t n;
    const char *name = str_intern(c, LLVMGetValueName2(l->fn, &n));
    Lv theirs = LLVMGetNamedFunction(r.module, name);
    const char *why = NULL;
    if (!theirs || LLVMIsDeclaration(theirs))
        why = str_printf(c->arena, "it has no function @%s", name);
    else if (LLVMGlobalGetValueType(theirs) != LLVMGlobalGetValueType(l->fn))
        why = str_printf(
            c->arena, "@%s is %s, and the kernel's is %s", name,
            ll_message(c, LLVMPrintTypeToString(LLVMGlobalGetValueType(theirs))),
            ll_message(c, LLVMPrintTypeToString(LLVMGlobalGetValueType(l->fn))));
    if (why) {
        LLVMDisposeModule(r.module); /* the context outlives it */
        bad_file(c, NULL, r.file, why);
    }
    LLVMSetTarget(r.module, LLVMGetTarget(l->m));
    LLVMSetModuleDataLayout(r.module, LLVMGetModuleDataLayout(l->m));
    LLVMDisposeModule(l->m);
    l->m = r.module;
    l->fn = theirs;
    ll_guarded(l, verify_module, &r);
    const char *said = r.message ? ll_message(c, r.message) : "";
    if (r.bad)
        bad_file(c, NULL, r.file, trimmed(c, said));
    keep_text(l, out, "llir");
}

/* ---- PTX ---------------------------------------------------------------------------- */

static bool
is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* The next ".entry NAME(" from s on: its name, n bytes long, and where its parameters begin;
 * NULL: there is none. */
static const char *
next_entry(const char *s, int *n, const char **params)
{
    static const char word[] = ".entry";
    while ((s = strstr(s, word))) {
        s += sizeof word - 1;
        const char *name = s + strspn(s, " \t\r\n");
        *n = 0;
        while (is_name(name[*n]))
            ++*n;
        *params = name + *n;
        if (name > s && *n)
            return name;
    }
    return NULL;
}

/* A parameter of an entry, in the file's text. */
typedef struct EntryParam {
    const char *name;
    int n; /* bytes of name */
    bool is_64_bits;
} EntryParam;

/* The next parameter from s on, ahead of end; *p says which. Where it ends, or NULL. */
static const char *
next_param(const char *s, const char *end, EntryParam *p)
{
    s = strstr(s, ".param");
    if (!s || s >= end)
        return NULL;
    const char *stop = s + strcspn(s, ",)");
    const char *width = strstr(s, "64"), *last = stop;
    while (last > s && !is_name(last[-1]))
        last--;
    p->name = last;
    while (p->name > s && is_name(p->name[-1]))
        p->name--;
    p->n = (int)(last - p->name);
    p->is_64_bits = width && width < p->name && width[-2] == '.';
    return stop;
}

static bool
is_read(const EntryParam *p, const char *body)
{
    for (const char *s = body; (s = strchr(s, '[')); s++) {
        const char *name = s + 1 + strspn(s + 1, " \t");
        if (!strncmp(name, p->name, (size_t)p->n) && !is_name(name[p->n]))
            return true;
    }
    return false;
}

/* Can the entry whose parameters begin at s be launched with n arguments and null pointers
 * behind them? What is wrong, or NULL. */
static const char *
misfit(Comp *c, const char *s, int n, const char *entry)
{
    EntryParam p;
    int theirs = 0;
    s += strspn(s, " \t\r\n");
    const char *end = *s == '(' ? strchr(s, ')') : s, *wrong = NULL;
    while (end && (s = next_param(s, end, &p))) {
        if (theirs++ < n || wrong)
            continue;
        if (!p.is_64_bits)
            wrong = "";
        else if (is_read(&p, end))
            wrong =
                str_printf(c->arena,
                           "the entry %s reads %.*s behind the kernel's parameters: "
                           "scratch memory, which a launch here does not allocate",
                           entry, p.n, p.name);
    }
    if (theirs < n || theirs > n + MAX_SCRATCH_PARAMS || (wrong && !*wrong))
        return str_printf(c->arena,
                          "the entry %s has %d parameters, and the kernel's %d", entry,
                          theirs, n);
    return wrong;
}

void
override_ptx(Comp *c, Binary *out)
{
    const Override *o = comp_override(c, "ptx");
    if (!o)
        return;
    const char *found = NULL, *params = NULL, *at = o->data, *behind;
    int n_found = 0, n_entries = 0, n;
    for (const char *name; (name = next_entry(at, &n, &behind)); at = behind) {
        n_entries++;
        bool is_ours = strlen(out->symbol) == (size_t)n &&
                       !memcmp(name, out->symbol, n);
        if (!found || is_ours)
            found = name, n_found = n, params = behind;
        if (is_ours) {
            n_entries = 1;
            break;
        }
    }
    if (!found)
        bad_file(c, NULL, o, "it has no .entry");
    if (n_entries > 1)
        bad_file(c, NULL, o,
                 str_printf(c->arena, "none of its %d entries is called %s", n_entries,
                            out->symbol));
    const char *entry = str_printf(c->arena, "%.*s", n_found, found);
    int n_hidden = out->n_maps + (out->blocks ? GRID_PARAMS : 0);
    const char *wrong = misfit(c, params, out->n_params + n_hidden, entry);
    if (wrong)
        bad_file(c, NULL, o, wrong);
    char *symbol = strndup(found, (size_t)n_found);
    if (!symbol || !binary_put(out, "ptx", o->data, o->size)) {
        free(symbol);
        err_at(c, NULL, MEMORY);
    }
    free(out->symbol);
    out->symbol = symbol;
}
