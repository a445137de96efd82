/* whole: ops that take whole blocks at once, by one call: PTX that a kernel's author wrote, and a
 * function of the user's library that has effects.
 *
 * Operands are in scratch, dense and row-major; the call gets a list of where they and the results
 * are. The run time interprets assembly; what it decodes stays with the code (ptx/asm.h, PtxCache).
 * A loop calls a library's function for one element after the other (codegen/library/link.c);
 * functions without effects are arithmetic and stand in the loops of their group.
 */
#include "codegen/host/calls.h"
#include "codegen/host/host.h"

/* Where v's elements are. */
static Lv
elements(Host *h, const Val *v)
{
    if (!v->type->rank)
        return host_spill(h, host_to_mem(h, v->type, host_scalar(h, v)));
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

/* The list: the first n operands, the results (whose places are room's, too), other operands. */
static Lv
list_blocks(Host *h, const Op *o, int n, Lv *room)
{
    Ll *l = h->l;
    host_free_before(h, host_pos(h, o));
    int n_all = o->n_args + o->n_results;
    Lv list = host_slot(h, LLVMArrayType2(l->ptr, (uint64_t)n_all));
    for (int i = 0; i < n_all; i++) {
        Lv p;
        if (i < n)
            p = elements(h, arg(o, i));
        else if (i < n + o->n_results)
            p = room[i - n] = make_room(h, result(o, i - n));
        else
            p = elements(h, arg(o, i - o->n_results));
        LLVMBuildStore(l->b, p, ll_element(l, l->ptr, list, ll_i64(l, i)));
    }
    return list;
}

static void
take_scalars(Host *h, const Op *o, const Lv *room)
{
    for (int i = 0; i < o->n_results && !result(o, i)->type->rank; i++) {
        const Type *t = result(o, i)->type;
        Lv v = LLVMBuildLoad2(h->l->b, host_mem_type(h, t), room[i], "");
        *state(h, result(o, i)) = (VState){.kind = V_SCALAR,
                                           .lv = host_from_mem(h, t, v)};
    }
}

void
host_assembly(Host *h, const Op *o)
{
    Ll *l = h->l;
    int n_in = ir_n_values(o);
    cg_asm_check(l, o, PTX_NEWEST);
    Lv *room = NEW_N(h->c->arena, Lv, o->n_results),
       list = list_blocks(h, o, n_in, room);
    Lv args[] = {h->scratch, h->pid, h->grid,
                 cg_asm_site(l, o, ty_numel(result(o, 0)->type), PTX_NEWEST,
                             n_in < o->n_args, h->c->opt.check_bounds),
                 list};
    Lv fault = ll_call_c(l, "tegula_assembly", l->i32, args, COUNT(args));
    LLVMBasicBlockRef fine = ll_block(l, "ran");
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntNE, fault, ll_i32(l, 0), ""),
                    h->leave, fine);
    LLVMPositionBuilderAtEnd(l->b, fine);
    take_scalars(h, o, room);
}

void
host_extern(Host *h, const Op *o)
{
    Ll *l = h->l;
    Lv room, list = list_blocks(h, o, o->n_args, &room),
             fn = ll_extern_loop(l, o, false);
    Lv args[] = {ll_i64(l, ty_numel(result(o, 0)->type)), list};
    LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
    take_scalars(h, o, &room);
}
