/* pipeline_invariant: operands of dots that do not change in the loop wait in shared memory.
 *
 * The queries of attention are such operands: if they stayed in registers for the whole loop, too
 * few registers would be left for the accumulators. So they are stored once before the loop, and
 * every dot reads them again.
 */
#include "passes/simt/layouts.h"
#include "passes/simt/pipeline.h"

enum { MAX_PRESSURE = 200 }; /* registers of 255 */

/* The operand of a dot of the loop that comes from outside, in registers, and could as
 * well come out of shared memory: the result of a move. */
static Val *
find_invariant(Pipe *p)
{
    for (const Op *o = p->body->first; o; o = o->next)
        for (int i = 0; o->op == OP_DOT && i < 2; i++) {
            Val *v = arg(o, i);
            if (v->def && v->def->op == OP_CONVERT && is_defined_outside(v, p->body) &&
                elem_info[v->type->elem].bytes >= 2)
                return v;
        }
    return NULL;
}

/* Stores what `move` moves, and reads it in front of every dot in a loop below. */
static void
share_invariant(Pipe *p, Op *move)
{
    Val *v = result(move, 0), *from = arg(move, 0);
    const Type *t = ty_smem(p->c, from->type, 1,
                            pipeline_slot_layout(p->c, from, from->type->rank - 1));
    Build b = ir_before(move);
    Val *smem = ir_op1(&b, OP_SHARED_ALLOC, 0, NULL, t),
        *slot = ir_const_int(&b, ty_scalar(p->c, E_I32), 0);
    ir_op(&b, OP_SHARED_STORE, 3, (Val *[]){smem, slot, from}, 0, NULL);
    ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    for (Use *u = v->uses, *next; u; u = next) {
        next = u->next;
        Op *o = u->user;
        int i = (int)(u - o->args);
        if (o->op != OP_DOT || o->block == move->block)
            continue;
        Build at = ir_before(o);
        ir_set_arg(o, i,
                   ir_op1(&at, OP_SHARED_LOAD, 2, (Val *[]){smem, slot},
                          ty_slot(p->c, t, v->type->layout)));
    }
    if (!v->uses)
        ir_erase(move);
}

void
pipeline_share_invariant(Pipe *p)
{
    while (loop_pressure(p->loop) > MAX_PRESSURE) {
        Val *v = find_invariant(p);
        if (!v)
            return;
        share_invariant(p, v->def);
    }
}
