/* library: a function of the user's library that has effects, over a whole block at once.
 *
 * Operands are in scratch, dense and row-major; a loop calls the function for one element
 * after the other (codegen/library/link.c). Functions without effects are arithmetic: they stand in
 * the loops of their group.
 */
#include "codegen/host/host.h"

static Lv
elements(Host *h, const Val *v)
{
    if (!v->type->rank)
        return host_stack_slot(h, host_to_mem(h, v->type, host_scalar(h, v)));
    return host_address(h, v->type, &state(h, v)->view, NULL);
}

void
host_extern(Host *h, const Op *o)
{
    Ll *l = h->l;
    const Val *r = result(o, 0);
    int n = o->n_args;
    host_settle_loads(h, o);
    for (int i = 0; i < n; i++)
        if (arg(o, i)->type->rank)
            host_materialise(h, arg(o, i));
    host_flush(h);
    host_free_before(h, host_pos(h, o));
    Lv data = host_slot(h, LLVMArrayType2(l->ptr, (uint64_t)n + 1)), room;
    if (r->type->rank) {
        VState *s = state(h, r);
        s->kind = V_BUFFER;
        s->view = host_new_view(h, r);
        room = host_address(h, r->type, &s->view, NULL);
    } else {
        room = host_slot(h, host_mem_type(h, r->type));
    }
    for (int i = 0; i <= n; i++) {
        Lv at = ll_i64(l, i), p = i < n ? elements(h, arg(o, i)) : room;
        LLVMBuildStore(l->b, p, LLVMBuildGEP2(l->b, l->ptr, data, &at, 1, ""));
    }
    Lv fn = ll_extern_loop(l, o, false);
    Lv args[] = {ll_i64(l, ty_numel(r->type)), data};
    LLVMBuildCall2(l->b, LLVMGlobalGetValueType(fn), fn, args, 2, "");
    if (r->type->rank)
        return;
    Lv v = LLVMBuildLoad2(l->b, host_mem_type(h, r->type), room, "");
    *state(h, r) = (VState){.kind = V_SCALAR, .lv = host_from_mem(h, r->type, v)};
}
