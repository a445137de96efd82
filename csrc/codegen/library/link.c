/* link: functions of the user's libraries become part of the module.
 *
 * What they call is looked for in their file, then in the others that the call names; the files
 * are linked, and all is hidden and put into its callers. foreign.c replaces what this target
 * has not. Code for GPUs asks for its flags by __nvvm_reflect, which the pass of that name
 * answers on PTX: subnormal numbers are flushed, as Triton says, unless the option
 * enable_reflect_ftz is off.
 *
 * Rule 1: only what is reached from a called symbol counts. A library may be full of
 *         functions that this target could not run.
 */
#include "codegen/library/link.h"

#include <llvm-c/Linker.h>

/* ---- what they call --------------------------------------------------------------------------- */

typedef struct Reach {
    Ll *l;
    const Called *from;
    Map *seen;
} Reach;

static void reach(Reach *r, Lv v);

/* A name that its own file does not define: another file's? Then both have one name. */
static void
resolve(Reach *r, Lv global)
{
    Ll *l = r->l;
    size_t n;
    const char *name = str_intern(l->c, LLVMGetValueName2(global, &n));
    const char *at = lib_files(r->from->o), *path;
    if (LLVMIsAFunction(global) && LLVMGetIntrinsicID(global))
        return;
    if ((!ll_is_host(l) && !strcmp(name, "__nvvm_reflect")) ||
        foreign_is_known(l, name))
        return;
    while ((path = lib_next_file(l, &at))) {
        LlLibrary *lib = lib_open(l, path, r->from->o);
        Lv there = lib->module ? lib_defined(l, lib, name) : NULL;
        if (!there)
            continue;
        if (LLVMGlobalGetValueType(there) != LLVMGlobalGetValueType(global))
            lib_bad(l, path, r->from->o,
                    str_printf(l->c->arena,
                               "'%s' is of another type than it is "
                               "called with",
                               ll_shown(l->c, name)));
        lib->is_wanted = true;
        const char *full = LLVMGetValueName2(there, &n);
        LLVMSetValueName2(global, full, n);
        reach(r, there);
        return;
    }
    err_help(l->c, "extern_libs may name the file that has it");
    err_say(l->c, r->from->o->loc, VALUE,
            "the function '%s' of a library needs '%s', which is "
            "in none of its files",
            lib_symbol(l, r->from->o), ll_shown(l->c, name));
}

static void
reach_body(Reach *r, Lv fn)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b;
         b = LLVMGetNextBasicBlock(b))
        for (Lv i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            for (int k = 0, n = LLVMGetNumOperands(i); k < n; k++)
                reach(r, LLVMGetOperand(i, (unsigned)k));
}

/* Functions and globals behind v, once each. */
static void
reach(Reach *r, Lv v)
{
    if (!v || !LLVMIsAConstant(v) || map_get(r->seen, v, 0))
        return;
    map_put(r->seen, v, 0, v);
    if (LLVMIsAFunction(v) || LLVMIsAGlobalVariable(v)) {
        if (LLVMIsDeclaration(v))
            resolve(r, v);
        else if (LLVMIsAFunction(v))
            reach_body(r, v);
        else
            reach(r, LLVMGetInitializer(v));
        return;
    }
    for (int k = 0, n = LLVMGetNumOperands(v); k < n; k++)
        reach(r, LLVMGetOperand(v, (unsigned)k));
}

typedef struct Linking {
    LlLibrary *library;
    bool bad;
} Linking;

static void
link_it(Ll *l, void *data)
{
    Linking *k = data;
    k->bad = LLVMLinkModules2(l->m, k->library->module); /* takes the module */
    k->library->module = NULL;
}

static void
link_all(Ll *l)
{
    struct LlExterns *e = l->externs;
    Map seen = {.a = l->c->arena};
    for (int i = 0; i < e->all.n; i++) {
        Reach r = {l, e->all.at[i], &seen};
        size_t n;
        const char *name = LLVMGetValueName2(r.from->fn, &n);
        for (LlLibrary *k = e->libraries; k; k = k->next) {
            Lv fn = k->module ? LLVMGetNamedFunction(k->module, name) : NULL;
            if (fn && !LLVMIsDeclaration(fn))
                reach(&r, fn);
        }
    }
    const Op *first = e->all.at[0]->o;
    for (LlLibrary *k = e->libraries; k; k = k->next) {
        if (!k->is_wanted)
            continue;
        if (k->has_constructors)
            lib_bad(l, k->path, first, "it has code that runs when it is loaded");
        Linking linking = {.library = k};
        ll_guarded(l, link_it, &linking);
        if (linking.bad)
            lib_bad(l, k->path, first, "it cannot be linked");
    }
}

/* Nothing but the kernel is seen from outside. */
static void
hide_all(Ll *l)
{
    for (Lv f = LLVMGetFirstFunction(l->m); f; f = LLVMGetNextFunction(f))
        if (f != l->fn && !LLVMIsDeclaration(f))
            LLVMSetLinkage(f, LLVMInternalLinkage);
    for (Lv g = LLVMGetFirstGlobal(l->m); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g) && LLVMGetLinkage(g) == LLVMExternalLinkage)
            LLVMSetLinkage(g, LLVMInternalLinkage);
}

/* What a library gets that asks for "__CUDA_FTZ". */
static void
answer_ftz(Ll *l)
{
    static const char name[] = "nvvm-reflect-ftz";
    LLVMAddModuleFlag(l->m, LLVMModuleFlagBehaviorOverride, name, sizeof name - 1,
                      LLVMValueAsMetadata(ll_i32(l, foreign_flushes(l))));
}

const char *
ll_link(Ll *l, const char *passes)
{
    if (!l->externs)
        return passes;
    if (!ll_is_host(l))
        answer_ftz(l);
    link_all(l);
    hide_all(l);
    Map seen = {.a = l->c->arena};
    for (int i = 0; i < l->externs->all.n; i++) {
        Called *k = l->externs->all.at[i];
        foreign_adapt(l, &seen, k->o, k->wrapper);
    }
    return str_printf(
        l->c->arena,
        "globaldce,%salways-inline,function(sroa,instcombine<no-verify-fixpoint>,"
        "simplifycfg),cgscc(inline),globaldce,%s",
        ll_is_host(l) ? "" : "nvvm-reflect,", passes);
}

void
ll_note_libraries(Ll *l, Binary *out)
{
    const LlLibrary *k = l->externs ? l->externs->libraries : NULL;
    if (!k)
        return;
    Sb sb = {.a = l->c->arena};
    if (!ll_is_host(l))
        sb_printf(&sb, "libdevice %s\n", l->c->libdevice ? l->c->libdevice : "");
    for (; k; k = k->next)
        sb_printf(&sb, "%016llx %llu %s\n", (unsigned long long)k->hash,
                  (unsigned long long)k->n_bytes, k->path);
    if (!binary_add(out, "linked", sb.at, (size_t)sb.n))
        err_at(l->c, NULL, MEMORY);
}

/* ---- for the interpreter ------------------------------------------------------------------------ */

static void
loops_of(Ll *l, const Block *b, Lv pick, LLVMBasicBlockRef end)
{
    EACH_OP(o, b) {
        if (!op_is_extern(o))
            continue;
        LLVMBasicBlockRef here = ll_block(l, "op");
        LLVMPositionBuilderAtEnd(l->b, here);
        Lv fn = ll_extern_loop(l, o, true),
           args[] = {LLVMGetParam(l->fn, 1), LLVMGetParam(l->fn, 2)};
        LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
        LLVMBuildBr(l->b, end);
        LLVMAddCase(pick, ll_i32(l, ir_extern_index(o)), here);
    }
}

void
cg_externs(const Func *f, Binary *out)
{
    if (!ir_holds(f->body, op_is_extern))
        return;
    Ll *l = ll_new(f->c, LL_HOST, f->name);
    Lt params[] = {l->i32, l->i64, l->ptr};
    l->fn = LLVMAddFunction(l->m, "tegula_externs",
                            LLVMFunctionType(l->void_, params, 3, false));
    LLVMBasicBlockRef entry = ll_block(l, "entry"), end = ll_block(l, "end");
    LLVMPositionBuilderAtEnd(l->b, end);
    LLVMBuildRetVoid(l->b);
    LLVMPositionBuilderAtEnd(l->b, entry);
    Lv pick = LLVMBuildSwitch(l->b, LLVMGetParam(l->fn, 0), end, 4);
    loops_of(l, f->body, pick, end);
    ll_finish(l,
              ll_link(l, "function(sroa,instcombine<no-verify-fixpoint>,simplifycfg)"),
              out);
    ll_emit(l, LLVMObjectFile, "externs", out);
}
