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
 *
 * Where the products of a loop stay open until the next ones have begun (LOOP_MMA_BEHIND), those of the
 * iteration before still read theirs: two places are used in turn.
 *
 *     for i ^(turn) {
 *       barrier                         all have waited for the products before the last
 *       shared_store %a, turn, %x
 */
#include "passes/passes.h"

static bool
has_barrier_before(const Op *o)
{
    for (; o; o = o->prev)
        if (o->op == OP_BARRIER)
            return true;
    return false;
}

/* The fence behind the store is for all that threads wrote in front of it. */
static void
drop_fences_before(const Op *o)
{
    for (Op *p = o->prev, *before; p && p->op != OP_DOT && !p->n_regions; p = before) {
        before = p->prev;
        if (p->op == OP_FENCE_ASYNC)
            ir_erase(p);
    }
}

/* Which of two places this iteration's operand has; the loop counts. */
static Val *
take_turns(Op *loop)
{
    Func *f = loop->block->func;
    Block *body = loop->regions[0];
    Build before = {.f = f, .block = loop->block, .before = loop, .loc = loop->loc},
          end = {.f = f, .block = body, .before = body->last, .loc = loop->loc};
    Val *turn = ir_carry(loop, ir_const_i32(&before, 0), NULL);
    ir_add_arg(body->last, ir_bin(&end, OP_XOR, turn, ir_const_i32(&end, 1)));
    return turn;
}

static void
share(Func *f, Op *o)
{
    Op *loop = o->block->owner;
    bool is_open = loop && loop->op == OP_FOR &&
                   ir_attr(loop, ATTR_LOOP) & LOOP_MMA_BEHIND;
    Build b = {.f = f, .block = o->block, .before = o, .loc = o->loc}, at = b;
    const Type *t = result(o, 0)->type;
    Val *slot = NULL;
    drop_fences_before(o);
    if (is_open) {
        at.block = loop->block;
        at.before = loop;
        slot = take_turns(loop);
        if (!has_barrier_before(o))
            ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    }
    Val *smem = ir_op1(&at, OP_SHARED_ALLOC, 0, NULL,
                       ty_smem(f->c, t, 1 + is_open, t->layout));
    slot = slot ? slot : ir_const_i32(&b, 0);
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
