/* assembly: PTX that a kernel's author wrote, over a whole block at once.
 *
 * Operands are in scratch, dense and row-major; one call of the run time reads them and
 * fills the results. What is decoded stays with the code (ptx/asm.h, PtxCache).
 */
#include "codegen/host/calls.h"
#include "codegen/host/host.h"

/* Where v's elements are. */
static Lv
elements(Host *h, const Val *v)
{
    if (!v->type->rank)
        return host_stack_slot(h, host_to_mem(h, v->type, host_scalar(h, v)));
    return host_address(h, v->type, &state(h, v)->view, NULL);
}

static Lv
make_room(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (!v->type->rank)
        return host_slot(h, host_mem_type(h, v->type));
    s->kind = V_BUFFER;
    s->view = host_new_view(h, v);
    return host_address(h, v->type, &s->view, NULL);
}

void
host_assembly(Host *h, const Op *o)
{
    Ll *l = h->l;
    int n_in = ir_n_values(o), n_out = o->n_results;
    bool is_masked = n_in < o->n_args;
    cg_asm_check(l, o, PTX_NEWEST);
    if (op_has(o, OPF_WRITES))
        host_settle_loads(h, o);
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->type->rank)
            host_materialise(h, arg(o, i));
    host_flush(h);
    host_free_before(h, host_pos(h, o));
    int n_data = n_in + n_out + is_masked;
    Lv data = host_slot(h, LLVMArrayType2(l->ptr, (uint64_t)n_data)),
       *room = NEW_N(h->c->arena, Lv, n_out);
    for (int i = 0; i < n_data; i++) {
        Lv at = ll_i64(l, i), p;
        if (i < n_in)
            p = elements(h, arg(o, i));
        else if (i < n_in + n_out)
            p = room[i - n_in] = make_room(h, result(o, i - n_in));
        else
            p = elements(h, arg(o, n_in)); /* the mask */
        LLVMBuildStore(l->b, p, LLVMBuildGEP2(l->b, l->ptr, data, &at, 1, ""));
    }
    Lv args[] = {h->scratch, h->pid, h->grid,
                 cg_asm_site(l, o, ty_numel(result(o, 0)->type), PTX_NEWEST, is_masked,
                             h->c->opt.check_bounds),
                 data};
    Lv fault = ll_call_c(l, "tegula_assembly", l->i32, args, COUNT(args));
    LLVMBasicBlockRef fine = ll_block(l, "ran");
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntNE, fault, ll_i32(l, 0), ""),
                    h->leave, fine);
    LLVMPositionBuilderAtEnd(l->b, fine);
    for (int i = 0; i < n_out && !result(o, 0)->type->rank; i++) {
        const Type *t = result(o, i)->type;
        Lv v = LLVMBuildLoad2(l->b, host_mem_type(h, t), room[i], "");
        *state(h, result(o, i)) = (VState){.kind = V_SCALAR,
                                           .lv = host_from_mem(h, t, v)};
    }
}
