/* foreign_asm: inline PTX in code of a GPU's library, on a host: csrc/ptx interprets it.
 *
 *     %r = call float asm "ex2.approx.f32 $0, $1;", "=f,f"(float %x)
 *         =>
 *     store %x, %slot ..                              operands and results are on the stack
 *     call @tegula_foreign_assembly(cache, site, data)
 *     %r = load %room
 *
 * What has been read of it stays with the code: the loader fills in the variable
 * tegula_assembly_cache (runtime/jit.c). Such code knows nothing of the program that it runs
 * in, so what asks for a thread or a place in the grid is refused.
 */
#include "codegen/library/foreign.h"
#include "ptx/asm.h"

enum { CACHE_ALIGN = 8 };

/* The special registers that say who runs the code. */
static const char *const places[] = {"%tid",    "%ntid",   "%ctaid",    "%nctaid",
                                     "%laneid", "%warpid", "%nwarpid",  "%smid",
                                     "%nsmid",  "%gridid", "%lanemask", "%cluster"};

static int
bits_of(Ll *l, Lt t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMPointerTypeKind: return 64;
    case LLVMIntegerTypeKind: return (int)LLVMGetIntTypeWidth(t);
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 16;
    default: return t == l->f32 ? 32 : t == l->f64 ? 64 : 0;
    }
}

/* A slot in the function's entry block. */
static Lv
slot(Ll *l, Lt t)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(l->fn);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(l->cx);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(entry));
    Lv p = LLVMBuildAlloca(b, t, "");
    LLVMDisposeBuilder(b);
    return p;
}

static Lv
cache_of(Ll *l)
{
    static const char name[] = "tegula_assembly_cache";
    Lv g = LLVMGetNamedGlobal(l->m, name);
    if (!g) {
        g = LLVMAddGlobal(l->m, l->ptr, name);
        LLVMSetInitializer(g, LLVMConstNull(l->ptr));
        LLVMSetAlignment(g, CACHE_ALIGN);
    }
    Lv cache = LLVMBuildLoad2(l->b, l->ptr, g, "");
    LLVMSetVolatile(cache, true); /* LLVM sees nobody write it */
    return cache;
}

/* Does it mean something here? NULL: yes. */
static const char *
check(Ll *l, const char *constraints, const char *text, int sm, const int *bits,
      int n_in, int n_out)
{
    char err[PTX_ERROR] = "";
    PtxForm form;
    PtxAsm *a = NULL;
    for (int i = 0; i < n_in + n_out; i++)
        if (!bits[i])
            return "an operand of a type that no register holds";
    if (!ptx_form_read(&form, constraints, strlen(constraints), err) ||
        !ptx_form_fits(&form, n_in, n_out, bits, 1, err))
        return ll_shown(l->c, err);
    for (size_t i = 0; i < COUNT(places); i++)
        if (strstr(text, places[i]))
            return str_printf(l->c->arena, "it asks for %s", places[i]);
    const char *both = str_printf(l->c->arena, "%s\n%s", constraints, text);
    if (ptx_asm_meets(both))
        return "its threads would meet";
    PtxStatus s = ptx_asm_new(both, sm, &a, err);
    ptx_asm_free(a);
    return s == PTX_OK ? NULL : ll_shown(l->c, err);
}

Lv
foreign_assembly(Ll *l, Lv call, const Loc *at, const char **why)
{
    size_t n_text, n_form;
    Lv fn = LLVMGetCalledValue(call);
    const char *text = LLVMGetInlineAsmAsmString(fn, &n_text),
               *form = LLVMGetInlineAsmConstraintString(fn, &n_form);
    text = str_intern_n(l->c, text, n_text);
    form = str_intern_n(l->c, form, n_form);
    Lt ret = LLVMTypeOf(call);
    bool is_struct = LLVMGetTypeKind(ret) == LLVMStructTypeKind;
    int n_in = (int)LLVMGetNumArgOperands(call);
    int n_out = is_struct ? (int)LLVMCountStructElementTypes(ret)
                          : LLVMGetTypeKind(ret) != LLVMVoidTypeKind;
    int n = n_in + n_out, *bits = NEW_N(l->c->arena, int, n + 1);
    Lt *types = NEW_N(l->c->arena, Lt, n + 1);
    for (int i = 0; i < n; i++) {
        types[i] = i < n_in    ? LLVMTypeOf(LLVMGetOperand(call, (unsigned)i))
                   : is_struct ? LLVMStructGetTypeAtIndex(ret, (unsigned)(i - n_in))
                               : ret;
        bits[i] = bits_of(l, types[i]);
    }
    *why = check(l, form, text, PTX_NEWEST, bits, n_in, n_out);
    if (*why)
        return NULL;
    AsmSite k = {.text = str_intern(l->c,
                                    str_printf(l->c->arena, "%s\n%s", form, text)),
                 .at = at,
                 .bits = bits,
                 .n_in = n_in,
                 .n_out = n_out,
                 .pack = 1,
                 .sm = PTX_NEWEST,
                 .n = 1};
    LLVMPositionBuilderBefore(l->b, call);
    Lv data = slot(l, LLVMArrayType2(l->ptr, (uint64_t)n + 1)),
       *room = NEW_N(l->c->arena, Lv, n + 1);
    for (int i = 0; i < n; i++) {
        Lv j = ll_i64(l, i);
        room[i] = slot(l, types[i]);
        if (i < n_in)
            LLVMBuildStore(l->b, LLVMGetOperand(call, (unsigned)i), room[i]);
        LLVMBuildStore(l->b, room[i], LLVMBuildGEP2(l->b, l->ptr, data, &j, 1, ""));
    }
    Lv args[] = {cache_of(l), cg_asm_constant(l, &k), data};
    Lv done = ll_call_c(l, "tegula_foreign_assembly", l->void_, args, COUNT(args));
    if (!n_out)
        return done;
    Lv r = is_struct ? LLVMGetPoison(ret) : NULL;
    for (int i = 0; i < n_out; i++) {
        Lv x = LLVMBuildLoad2(l->b, types[n_in + i], room[n_in + i], "");
        r = is_struct ? LLVMBuildInsertValue(l->b, r, x, (unsigned)i, "") : x;
    }
    return r;
}
