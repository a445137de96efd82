/* extern: calls of functions of the user's libraries, and of LLVM's own.
 *
 *     cg_elementwise(extern %x)     the file is read, once, and has the symbol? (library.c)
 *         |                         define T @tegula.call(T %x)      the wrapper: converts
 *         v                           %r = call @tegula.0.f(..)      between their types and
 *     call @tegula.call               ..                             ours, asks the mask
 *
 * link.c links and inlines them.
 */
#include "codegen/library/link.h"

#include <llvm-c/Analysis.h>

/* ---- their types and ours --------------------------------------------------------------- */

static unsigned
float_or_int_bits(Lt t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMIntegerTypeKind: return LLVMGetIntTypeWidth(t);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    default: return 0;
    }
}

/* The one field of a struct or array, as C++ wraps its halves; else NULL. */
static Lt
only_field(Lt t)
{
    if (LLVMGetTypeKind(t) == LLVMStructTypeKind && LLVMCountStructElementTypes(t) == 1)
        return LLVMStructGetTypeAtIndex(t, 0);
    if (LLVMGetTypeKind(t) == LLVMArrayTypeKind && LLVMGetArrayLength2(t) == 1)
        return LLVMGetElementType(t);
    return NULL;
}

/* May a value of ours be theirs? 16-bit floats travel as integers, too, and C's bool is a
 * byte. */
static bool
fits_type(Ll *l, Lt ours, Lt theirs)
{
    if (ours == theirs)
        return true;
    if (only_field(theirs))
        return fits_type(l, ours, only_field(theirs));
    if (LLVMGetTypeKind(ours) == LLVMPointerTypeKind)
        return LLVMGetTypeKind(theirs) == LLVMPointerTypeKind;
    unsigned a = float_or_int_bits(ours), b = float_or_int_bits(theirs);
    return (a == 16 && b == 16) || (a == 1 && b == 8);
}

static Lv
to_theirs(Ll *l, LLVMBuilderRef b, Lv x, Lt theirs)
{
    Lt ours = LLVMTypeOf(x);
    if (ours == theirs)
        return x;
    if (only_field(theirs)) {
        Lv field = to_theirs(l, b, x, only_field(theirs));
        return LLVMBuildInsertValue(b, LLVMGetPoison(theirs), field, 0, "");
    }
    if (LLVMGetTypeKind(ours) == LLVMPointerTypeKind)
        return LLVMBuildAddrSpaceCast(b, x, theirs, "");
    if (ours == l->i1)
        return LLVMBuildZExt(b, x, theirs, "");
    return LLVMBuildBitCast(b, x, theirs, "");
}

static Lv
to_ours(Ll *l, LLVMBuilderRef b, Lv x, Lt ours)
{
    Lt theirs = LLVMTypeOf(x);
    if (ours == theirs)
        return x;
    if (only_field(theirs))
        return to_ours(l, b, LLVMBuildExtractValue(b, x, 0, ""), ours);
    if (LLVMGetTypeKind(ours) == LLVMPointerTypeKind)
        return LLVMBuildAddrSpaceCast(b, x, ours, "");
    if (ours == l->i1)
        return LLVMBuildICmp(b, LLVMIntNE, x, LLVMConstNull(theirs), "");
    return LLVMBuildBitCast(b, x, ours, "");
}

static Lt
our_type(Ll *l, const Op *o)
{
    int n = ir_n_values(o);
    Lt *types = NEW_N(l->c->arena, Lt, n + 1);
    for (int i = 0; i < n; i++)
        types[i] = ll_type(l, arg(o, i)->type);
    return LLVMFunctionType(ll_type(l, result(o, 0)->type), types, (unsigned)n, false);
}

static void
check_type(Ll *l, const Op *o, const char *path, Lt theirs)
{
    int n = ir_n_values(o);
    Lt ours = our_type(l, o);
    Lt *types = NEW_N(l->c->arena, Lt, LLVMCountParamTypes(theirs) + 1);
    LLVMGetParamTypes(theirs, types);
    Lt ret = LLVMGetReturnType(theirs);
    bool ok = !LLVMIsFunctionVarArg(theirs) &&
              LLVMCountParamTypes(theirs) == (unsigned)n &&
              fits_type(l, ll_type(l, result(o, 0)->type), ret);
    for (int i = 0; ok && i < n; i++)
        ok = fits_type(l, ll_type(l, arg(o, i)->type), types[i]);
    if (ok)
        return;
    const char *a = ll_message(l->c, LLVMPrintTypeToString(theirs)),
               *b = ll_message(l->c, LLVMPrintTypeToString(ours));
    lib_bad(l, path, o,
            str_printf(l->c->arena, "'%s' is %s, but called as %s", lib_symbol(l, o), a,
                       b));
}

/* ---- functions of LLVM itself ------------------------------------------------------------ */

/* The part of LLVM whose intrinsics those are, "nvvm"; "": of all targets. */
static const char *
home_of(const char *symbol)
{
    static const char *const homes[] = {"aarch64", "amdgcn",    "arm",  "bpf",  "dx",
                                        "hexagon", "loongarch", "mips", "nvvm", "ppc",
                                        "r600",    "riscv",     "s390", "spv",  "ve",
                                        "wasm",    "x86",       "xcore"};
    const char *word = symbol + strlen("llvm.");
    size_t n = strcspn(word, ".");
    for (size_t i = 0; i < COUNT(homes); i++)
        if (strlen(homes[i]) == n && !strncmp(word, homes[i], n) && word[n] == '.')
            return homes[i];
    return "";
}

static NORETURN void
bad_intrinsic(Ll *l, const Op *o, const char *why)
{
    err_say(l->c, o->loc, VALUE, "the function '%s': %s", lib_symbol(l, o), why);
}

static void build_wrapper(Ll *l, Called *k, LLVMModuleRef m);

typedef struct Probe {
    Called called;
    LLVMModuleRef m;
    char *message;
    bool bad;
} Probe;

static void
probe(Ll *l, void *data)
{
    Probe *p = data;
    build_wrapper(l, &p->called, p->m);
    p->bad = LLVMVerifyModule(p->m, LLVMReturnStatusAction, &p->message);
    LLVMDisposeModule(p->m);
}

/* Its name says the types; a module of its own says whether ours are those. */
static void
open_intrinsic(Ll *l, Called *k)
{
    const char *symbol = lib_symbol(l, k->o), *home = home_of(symbol);
    if (!LLVMLookupIntrinsicID(symbol, strlen(symbol)))
        bad_intrinsic(l, k->o, "there is no such function");
    const char *part = ll_is_host(l) ? LLVMGetTarget(l->m) : "nvvm";
    if (strncmp(part, home, strlen(home)) != 0) {
        err_help(l->c, "choose by tl.target_info, or write it in the language");
        err_at(l->c, k->o->loc, TARGET,
               str_printf(l->c->arena, "the function '%s'", symbol), foreign_target(l));
    }
    k->type = our_type(l, k->o);
    Probe p = {.called = *k, .m = LLVMModuleCreateWithNameInContext("probe", l->cx)};
    p.called.fn = LLVMAddFunction(p.m, symbol, k->type);
    if (!LLVMGetIntrinsicID(p.called.fn))
        bad_intrinsic(l, k->o, "there is no such function");
    ll_guarded(l, probe, &p);
    const char *why = p.message ? ll_message(l->c, p.message) : "";
    if (p.bad)
        bad_intrinsic(
            l, k->o,
            strstr(why, "immarg")
                ? "one of its operands must be a constant"
                : str_printf(l->c->arena, "it is not one of type %s",
                             ll_message(l->c, LLVMPrintTypeToString(k->type))));
    k->fn = LLVMGetNamedFunction(l->m, symbol);
    if (!k->fn)
        k->fn = LLVMAddFunction(l->m, symbol, k->type);
}

/* ---- the wrapper ---------------------------------------------------------------------------- */

static void
open_function(Ll *l, Called *k)
{
    const char *symbol = lib_symbol(l, k->o), *at = lib_files(k->o), *path;
    LlLibrary *first = NULL;
    while ((path = lib_next_file(l, &at))) {
        LlLibrary *lib = lib_open(l, path, k->o);
        first = first ? first : lib;
        Lv fn = lib_defined(l, lib, symbol);
        if (!fn)
            continue;
        k->type = LLVMGlobalGetValueType(fn);
        if (LLVMGetTypeKind(k->type) != LLVMFunctionTypeKind)
            lib_bad(l, path, k->o,
                    str_printf(l->c->arena, "'%s' is no function", symbol));
        check_type(l, k->o, path, k->type);
        lib->is_wanted = true;
        if (LLVMGetFunctionCallConv(fn) == PTX_KERNEL)
            lib_bad(l, path, k->o, str_printf(l->c->arena, "'%s' is a kernel", symbol));
        k->theirs = fn;
        size_t len;
        const char *name = LLVMGetValueName2(fn, &len);
        k->fn = LLVMGetNamedFunction(l->m, name);
        if (!k->fn)
            k->fn = LLVMAddFunction(l->m, name, k->type);
        LLVMSetFunctionCallConv(k->fn, LLVMGetFunctionCallConv(fn));
        return;
    }
    if (!first)
        err_say(l->c, k->o->loc, VALUE, "no library is named for the function '%s'",
                symbol);
    lib_no_symbol(l, first, k->o, symbol);
}

/* The extensions that the ABI asks for stand at the call, too. */
static void
copy_attributes(Ll *l, Lv call, Lv fn, int n)
{
    for (int i = 0; i <= n; i++) {
        LLVMAttributeIndex at = (LLVMAttributeIndex)i;
        unsigned count = LLVMGetAttributeCountAtIndex(fn, at);
        LLVMAttributeRef *all = NEW_N(l->c->arena, LLVMAttributeRef, count + 1);
        LLVMGetAttributesAtIndex(fn, at, all);
        for (unsigned j = 0; j < count; j++)
            LLVMAddCallSiteAttribute(call, at, all[j]);
    }
}

/* The operand is a number: an operand of an intrinsic that must be one. */
static Lv
number_of(Ll *l, const Val *v)
{
    const Op *o = v->def;
    while (o && (o->op == OP_SPLAT || o->op == OP_BROADCAST || o->op == OP_EXPAND))
        o = arg(o, 0)->def;
    return o && o->op == OP_CONST && !v->type->is_ptr
               ? ll_bits(l, v->type->elem, o->bits, 0)
               : NULL;
}

static void
mark_function(Ll *l, Lv fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(l->cx, kind, 0));
}

/* R wrapper(operands.., i1 mask): 0 where the mask is false. */
static void
build_wrapper(Ll *l, Called *k, LLVMModuleRef m)
{
    const Op *o = k->o;
    int n = ir_n_values(o);
    Lt *types = NEW_N(l->c->arena, Lt, o->n_args + 1),
       ret = ll_type(l, result(o, 0)->type);
    Lt *theirs = NEW_N(l->c->arena, Lt, n + 1);
    Lv *x = NEW_N(l->c->arena, Lv, n + 1);
    for (int i = 0; i < o->n_args; i++)
        types[i] = ll_type(l, arg(o, i)->type);
    LLVMGetParamTypes(k->type, theirs);
    Lt type = LLVMFunctionType(ret, types, (unsigned)o->n_args, false);
    Lv w = LLVMAddFunction(m, "tegula.call", type);
    LLVMSetLinkage(w, LLVMInternalLinkage);
    mark_function(l, w, "alwaysinline");
    mark_function(l, w, "nounwind");
    LLVMBuilderRef b = LLVMCreateBuilderInContext(l->cx);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(l->cx, w, "entry"),
                      off = NULL;
    LLVMPositionBuilderAtEnd(b, entry);
    if (n < o->n_args) {
        LLVMBasicBlockRef on = LLVMAppendBasicBlockInContext(l->cx, w, "on");
        off = LLVMAppendBasicBlockInContext(l->cx, w, "off");
        LLVMBuildCondBr(b, LLVMGetParam(w, (unsigned)n), on, off);
        LLVMPositionBuilderAtEnd(b, off);
        LLVMBuildRet(b, LLVMConstNull(ret));
        LLVMPositionBuilderAtEnd(b, on);
    }
    for (int i = 0; i < n; i++) {
        Lv number = number_of(l, arg(o, i));
        x[i] = to_theirs(l, b, number ? number : LLVMGetParam(w, (unsigned)i),
                         theirs[i]);
    }
    Lv r = LLVMBuildCall2(b, k->type, k->fn, x, (unsigned)n, "");
    LLVMSetInstructionCallConv(r, LLVMGetFunctionCallConv(k->fn));
    if (k->theirs)
        copy_attributes(l, r, k->theirs, n);
    LLVMBuildRet(b, to_ours(l, b, r, ret));
    LLVMDisposeBuilder(b);
    k->wrapper = w;
}

static Called *
called(Ll *l, const Op *o)
{
    struct LlExterns *e = lib_externs(l);
    Called *k = map_get(&e->of_op, o, 0);
    if (k)
        return k;
    k = NEW(l->c->arena, Called);
    k->o = o;
    if (!strncmp(o->text, "llvm.", 5))
        open_intrinsic(l, k);
    else
        open_function(l, k);
    build_wrapper(l, k, l->m);
    map_put(&e->of_op, o, 0, k);
    PUSH(l->c->arena, &e->all, k);
    return k;
}

Lv
ll_call_extern(Ll *l, const Op *o, Lv *x)
{
    Called *k = called(l, o);
    Lt type = LLVMGlobalGetValueType(k->wrapper);
    int lanes = 0, n = o->n_args;
    for (int i = 0; i < n; i++)
        lanes = MAX(lanes, ll_lanes(x[i]));
    if (!lanes)
        return LLVMBuildCall2(l->b, type, k->wrapper, x, (unsigned)n, "");
    Lv r = LLVMGetPoison(ll_vec(LLVMGetReturnType(type), lanes));
    Lv *one = NEW_N(l->c->arena, Lv, n + 1);
    for (int j = 0; j < lanes; j++) {
        for (int i = 0; i < n; i++)
            one[i] = ll_lanes(x[i])
                         ? LLVMBuildExtractElement(l->b, x[i], ll_i32(l, j), "")
                         : x[i];
        Lv y = LLVMBuildCall2(l->b, type, k->wrapper, one, (unsigned)n, "");
        r = LLVMBuildInsertElement(l->b, r, y, ll_i32(l, j), "");
    }
    return r;
}

/* ---- over arrays ------------------------------------------------------------------------------ */

/* The element at p: of ll_mem form, or 8 bytes each. */
static Lv
load_element(Ll *l, LLVMBuilderRef b, const Type *t, Lv p, Lv i, bool is_wide)
{
    Lt mem = t->is_ptr ? l->gptr : ll_mem(l, t->elem), cell = is_wide ? l->i64 : mem;
    Lv x = LLVMBuildLoad2(b, mem, LLVMBuildGEP2(b, cell, p, &i, 1, ""), "");
    return !t->is_ptr && t->elem == E_I1
               ? LLVMBuildICmp(b, LLVMIntNE, x, LLVMConstNull(l->i8), "")
               : x;
}

/* void loop(i64 n, ptr data): element after element of operands data[0] .., into the last. */
Lv
ll_extern_loop(Ll *l, const Op *o, bool is_wide)
{
    Called *k = called(l, o);
    int n = o->n_args;
    Lt params[] = {l->i64, l->ptr};
    Lt type = LLVMFunctionType(l->void_, params, 2, false);
    Lv fn = LLVMAddFunction(l->m, "tegula.loop", type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    mark_function(l, fn, "nounwind");
    LLVMBuilderRef b = LLVMCreateBuilderInContext(l->cx);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(l->cx, fn, "entry"),
                      body = LLVMAppendBasicBlockInContext(l->cx, fn, "body"),
                      end = LLVMAppendBasicBlockInContext(l->cx, fn, "end");
    LLVMPositionBuilderAtEnd(b, entry);
    Lv *at = NEW_N(l->c->arena, Lv, n + 1), *x = NEW_N(l->c->arena, Lv, n + 1);
    for (int i = 0; i <= n; i++) {
        Lv j = ll_i64(l, i), data = LLVMGetParam(fn, 1);
        at[i] = LLVMBuildLoad2(b, l->ptr, LLVMBuildGEP2(b, l->ptr, data, &j, 1, ""),
                               "");
    }
    LLVMBuildBr(b, body); /* n is not 0 */
    LLVMPositionBuilderAtEnd(b, body);
    Lv i = LLVMBuildPhi(b, l->i64, "");
    for (int j = 0; j < n; j++)
        x[j] = load_element(l, b, arg(o, j)->type, at[j], i, is_wide);
    Lv r = LLVMBuildCall2(b, LLVMGlobalGetValueType(k->wrapper), k->wrapper, x,
                          (unsigned)n, "");
    const Type *rt = result(o, 0)->type;
    Lt mem = rt->is_ptr ? l->gptr : ll_mem(l, rt->elem);
    if (LLVMTypeOf(r) != mem)
        r = LLVMBuildZExt(b, r, mem, "");
    Lv to = LLVMBuildGEP2(b, is_wide ? l->i64 : mem, at[n], &i, 1, "");
    if (is_wide)
        LLVMBuildStore(b, ll_i64(l, 0), to);
    LLVMBuildStore(b, r, to);
    Lv next = LLVMBuildAdd(b, i, ll_i64(l, 1), ""), zero = ll_i64(l, 0);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, next, LLVMGetParam(fn, 0), ""),
                    body, end);
    LLVMAddIncoming(i, &zero, &entry, 1);
    LLVMAddIncoming(i, &next, &body, 1);
    LLVMPositionBuilderAtEnd(b, end);
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    return fn;
}
