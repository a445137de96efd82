/* assembly: an op of inline assembly in code for CPUs: a constant that says
 * what it is (PtxSite in ptx/asm.h), for a call of the run time. GPUs get the text itself:
 * simt/assembly.c.
 */
#include "codegen/codegen.h"
#include "ptx/asm.h"

static Lv
text_of(Ll *l, const char *text)
{
    text = text ? text : "";
    return ll_constant(l, LLVMConstStringInContext2(l->cx, text, strlen(text), false),
                       "assembly");
}

Lv
cg_asm_site(Ll *l, const Op *o, int64_t n, int sm, bool is_masked, bool is_checked)
{
    int n_in = ir_n_values(o), n_all = n_in + o->n_results;
    const Loc *at = o->loc;
    while (at && at->is_library && at->caller)
        at = at->caller;
    Lv *bits = NEW_N(l->c->arena, Lv, n_all + 1);
    for (int i = 0; i < n_all; i++)
        bits[i] =
            ll_i32(l, ty_bits(i < n_in ? arg(o, i)->type : result(o, i - n_in)->type));
    Lv field[] = {
        text_of(l, o->text),
        text_of(l, at ? at->file : NULL),
        text_of(l, at ? at->func : NULL),
        ll_constant(l, LLVMConstArray2(l->i32, bits, (uint64_t)n_all), "assembly"),
        ll_i64(l, n),
        ll_i32(l, at ? at->line : 0),
        ll_i32(l, at ? at->col : 0),
        ll_i32(l, n_in),
        ll_i32(l, o->n_results),
        ll_i32(l, (int)ir_attr(o, ATTR_PACK)),
        ll_i32(l, sm),
        ll_i32(l, is_masked),
        ll_i32(l, is_checked),
        ll_i32(l, ir_reaches_elsewhere(o)),
    };
    return ll_constant(l, LLVMConstStructInContext(l->cx, field, COUNT(field), false),
                       "assembly");
}

static NORETURN void
bad_assembly(Ll *l, const Op *o, const char *err)
{
    err_say(l->c, o->loc, VALUE, "in the assembly, %s", err);
}

int
cg_asm_bits(const Type *t)
{
    return MAX(8, ty_bits(t));
}

void
cg_asm_form(Ll *l, const Op *o, PtxForm *form)
{
    char err[PTX_ERROR];
    int n_in = ir_n_values(o), n = n_in + o->n_results;
    int *bits = NEW_N(l->c->arena, int, n);
    const char *nl = strchr(o->text, '\n');
    for (int i = 0; i < n; i++)
        bits[i] = cg_asm_bits((i < n_in ? arg(o, i) : result(o, i - n_in))->type);
    if (!ptx_form_read(form, o->text, (size_t)(nl - o->text), err) ||
        !ptx_form_fits(form, n_in, o->n_results, bits, (int)ir_attr(o, ATTR_PACK), err))
        bad_assembly(l, o, err);
}

/* Text that no one has read yet: IR that was not made by the frontend. */
void
cg_asm_check(Ll *l, const Op *o, int sm)
{
    char err[PTX_ERROR];
    PtxForm form;
    PtxAsm *a = NULL;
    cg_asm_form(l, o, &form);
    PtxStatus s = ptx_asm_new(o->text, sm, &a, err);
    ptx_asm_free(a);
    if (s != PTX_OK)
        bad_assembly(l, o, err);
}

/* What is wrong stops the run; this program goes on to its end first. */
void
cg_asm_elements(Ll *l, const Op *o, Lv *x, Lv *out)
{
    enum { PID = 1, GRID, SCRATCH }; /* parameters of a host kernel */
    int lanes = o->n_args ? ll_lanes(x[0]) : 0, n = o->n_args, n_all = n + o->n_results;
    if (ir_attr(o, ATTR_PACK) != 1)
        err_at(l->c, o->loc, LIMIT, "assembly with pack in a reduction or a scan");
    cg_asm_check(l, o, PTX_NEWEST);
    Lv data = ll_slot(l, LLVMArrayType2(l->ptr, (uint64_t)n_all)),
       *room = NEW_N(l->c->arena, Lv, n_all);
    for (int i = 0; i < n_all; i++) {
        const Type *t = (i < n ? arg(o, i) : result(o, i - n))->type;
        room[i] = ll_slot(l, ll_vec(t->is_ptr ? l->gptr : ll_mem(l, t->elem), lanes));
        if (i < n)
            LLVMBuildStore(l->b, t->is_ptr ? x[i] : cg_to_memory(l, t->elem, x[i]),
                           room[i]);
        LLVMBuildStore(l->b, room[i], ll_element(l, l->ptr, data, ll_i64(l, i)));
    }
    Lv args[] = {LLVMGetParam(l->fn, SCRATCH), LLVMGetParam(l->fn, PID),
                 LLVMGetParam(l->fn, GRID),
                 cg_asm_site(l, o, MAX(lanes, 1), PTX_NEWEST, false,
                             l->c->opt.check_bounds),
                 data};
    ll_call_c(l, "tegula_assembly", l->i32, args, COUNT(args));
    for (int i = 0; i < o->n_results; i++) {
        const Type *t = result(o, i)->type;
        Lt room_type = t->is_ptr ? l->gptr : ll_mem(l, t->elem);
        Lv r = LLVMBuildLoad2(l->b, ll_vec(room_type, lanes), room[n + i], "");
        out[i] = t->is_ptr ? r : cg_from_memory(l, t->elem, r);
    }
}
