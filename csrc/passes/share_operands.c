/* share_operands: what tensor cores read themselves, and no copy has brought, is stored.
 *
 *     %s = to_shared %x          =>   %a = shared_alloc : smem<1 x ..>
 *                                     shared_store %a, 0, %x
 *                                     fence_async
 *                                     barrier
 *                                     %s = shared_view %a, 0
 *
 * pipeline has turned those that come out of a slot into views of it already. Before the
 * store the place must be free: that is for codegen to see, which deals out places.
 */
#include "passes/passes.h"

static void
share(Func *f, Op *o)
{
    Build b = {.f = f, .block = o->block, .before = o, .loc = o->loc};
    const Type *t = result(o, 0)->type;
    Val *smem = result(ir_op(&b, OP_SHARED_ALLOC, 0, NULL, 1, &t), 0),
        *slot = ir_const_int(&b, ty_scalar(f->c, E_I32), 0);
    ir_op(&b, OP_SHARED_STORE, 3, (Val *[]){smem, slot, arg(o, 0)}, 0, NULL);
    ir_op(&b, OP_FENCE_ASYNC, 0, NULL, 0, NULL);
    ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    Op *view = ir_op(&b, OP_SHARED_VIEW, 2, (Val *[]){smem, slot}, 1, &t);
    int perm[MAX_RANK];
    for (int d = 0; d < t->rank; d++)
        perm[d] = d;
    ir_set_attr(view, ATTR_PERM, perm_pack(t->rank, perm));
    ir_replace(result(o, 0), result(view, 0));
    ir_erase(o);
}

void
pass_share_operands(Func *f)
{
    EACH_OP_INSIDE_OUT(o, f->body)
        if (o->op == OP_TO_SHARED)
            share(f, o);
}
