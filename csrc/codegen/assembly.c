/* assembly: an op of inline assembly in code for CPUs and the emulator: a constant that says
 * what it is (PtxSite in ptx/asm.h), for a call of the run time. GPUs get the text itself:
 * simt/assembly.c.
 */
#include "codegen/codegen.h"
#include "ptx/asm.h"

static Lv
constant(Ll *l, Lv value)
{
    Lv g = LLVMAddGlobal(l->m, LLVMTypeOf(value), "assembly");
    LLVMSetInitializer(g, value);
    LLVMSetGlobalConstant(g, true);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    return g;
}

static Lv
text_of(Ll *l, const char *text)
{
    text = text ? text : "";
    return constant(l, LLVMConstStringInContext2(l->cx, text, strlen(text), false));
}

Lv
cg_asm_site(Ll *l, const Op *o, int64_t n, int sm, bool is_checked)
{
    const Loc *at = o->loc;
    while (at && at->is_library && at->caller)
        at = at->caller;
    Lv *bits = NEW_N(l->c->arena, Lv, o->n_args + 1);
    for (int i = 0; i <= o->n_args; i++) {
        const Val *v = i < o->n_args ? arg(o, i) : result(o, 0);
        bits[i] = ll_i32(l, ty_bits(v->type));
    }
    Lv field[] = {
        text_of(l, o->text),
        text_of(l, at ? at->file : NULL),
        text_of(l, at ? at->func : NULL),
        constant(l, LLVMConstArray2(l->i32, bits, (uint64_t)o->n_args + 1)),
        ll_i64(l, n),
        ll_i32(l, at ? at->line : 0),
        ll_i32(l, at ? at->col : 0),
        ll_i32(l, o->n_args),
        ll_i32(l, (int)ir_attr(o, ATTR_PACK)),
        ll_i32(l, (int)ir_attr(o, ATTR_START)),
        ll_i32(l, sm),
        ll_i32(l, is_checked),
    };
    return constant(l, LLVMConstStructInContext(l->cx, field, COUNT(field), false));
}

/* Text that no one has read yet: IR that was not made by the frontend. */
void
cg_asm_check(Ll *l, const Op *o, int sm)
{
    char err[PTX_ERROR];
    PtxForm form;
    PtxAsm *a = NULL;
    int *bits = NEW_N(l->c->arena, int, o->n_args + 1);
    const char *nl = strchr(o->text, '\n');
    for (int i = 0; i < o->n_args; i++)
        bits[i] = MAX(8, ty_bits(arg(o, i)->type));
    bool ok = ptx_form_read(&form, o->text, (size_t)(nl - o->text), err) &&
              ptx_form_fits(&form, o->n_args, bits, MAX(8, ty_bits(result(o, 0)->type)),
                            (int)ir_attr(o, ATTR_PACK), (int)ir_attr(o, ATTR_START),
                            err);
    if (ok)
        ok = ptx_asm_new(o->text, sm, &a, err) == PTX_OK;
    ptx_asm_free(a);
    if (!ok)
        err_at(l->c, o->loc, VALUE,
               str_printf(l->c->arena, "in the assembly, %s", err));
}

/* A slot in the entry block, so that a loop needs it once. */
static Lv
slot(Ll *l, Lt t)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b),
                      entry = LLVMGetEntryBasicBlock(l->fn);
    LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(entry));
    Lv p = LLVMBuildAlloca(l->b, t, "");
    LLVMPositionBuilderAtEnd(l->b, here);
    return p;
}

/* What is wrong stops the run; this program goes on to its end first. */
Lv
cg_asm_elements(Ll *l, const Op *o, Lv *x)
{
    enum { PID = 1, GRID, SCRATCH }; /* parameters of a host kernel */
    int lanes = ll_lanes(x[0]), n = o->n_args;
    if (ir_attr(o, ATTR_PACK) != 1)
        err_at(l->c, o->loc, LIMIT, "assembly with pack in a reduction or a scan");
    cg_asm_check(l, o, PTX_NEWEST);
    Lv data = slot(l, LLVMArrayType2(l->ptr, (uint64_t)n + 1));
    const Type *rt = result(o, 0)->type;
    Lt room = rt->is_ptr ? l->gptr : ll_mem(l, rt->elem);
    Lv to = slot(l, ll_vec(room, lanes));
    for (int i = 0; i <= n; i++) {
        Lv p = to, k = ll_i64(l, i);
        if (i < n) {
            const Type *t = arg(o, i)->type;
            Lv v = t->is_ptr ? x[i] : cg_to_memory(l, t->elem, x[i]);
            p = slot(l, LLVMTypeOf(v));
            LLVMBuildStore(l->b, v, p);
        }
        LLVMBuildStore(l->b, p, LLVMBuildGEP2(l->b, l->ptr, data, &k, 1, ""));
    }
    Lv args[] = {LLVMGetParam(l->fn, SCRATCH), LLVMGetParam(l->fn, PID),
                 LLVMGetParam(l->fn, GRID),
                 cg_asm_site(l, o, MAX(lanes, 1), PTX_NEWEST, l->c->opt.check_bounds),
                 data};
    ll_call_c(l, "tegula_assembly", l->i32, args, COUNT(args));
    Lv r = LLVMBuildLoad2(l->b, ll_vec(room, lanes), to, "");
    return rt->is_ptr ? r : cg_from_memory(l, rt->elem, r);
}
