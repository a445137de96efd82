/* turns: two warpgroups keep the tensor cores busy in turn.
 *
 *     for i {                        turn {turn=open}                 once, in front of all
 *       %s = mma_start ..            for i {
 *       %o = mma_start ..              turn {turn=wait}
 *       mma_wait %s            =>      %s = mma_start ..
 *       softmax ..                     %o = mma_start ..
 *     }                                turn {turn=pass}
 *                                      mma_wait %s
 *                                      softmax ..
 *                                    }
 *
 * Both groups have the same work, and left alone they do it at the same time: both multiply,
 * then both compute while the tensor cores wait. In turn, one multiplies while the other
 * computes. A loop begins with what the last one ended with, so `open` stands once a kernel:
 * the last group passes the turn to the first, and one pass stays over at the end.
 *
 * Rule 1: the loop is one that rotate has turned (LOOP_MMA_ROUND), so computing has no product
 *         of its own group to wait for.
 * Rule 2: the groups meet nowhere else in the loop, or they would end up side by side again.
 */
#include "passes/passes.h"

/* Do threads of different groups meet in o? */
static bool
meets(Func *f, const Op *o)
{
    enum { ROOM = 48 << 10 };
    return o->op == OP_BARRIER ||
           (op_has(o, OPF_SCRATCH) && scratch_of(f, o, ROOM).bytes);
}

/* The first and the last product that the loop begins; false: it has no turns. */
static bool
find_products(Func *f, const Op *loop, Op **first, Op **last)
{
    int n = 0;
    for (Op *o = loop->regions[0]->first; o; o = o->next) {
        if (meets(f, o) || op_has(o, OPF_CONTROL))
            return false;
        if (o->op != OP_MMA_START)
            continue;
        *last = o;
        if (!n++)
            *first = o;
    }
    return n > 1;
}

static void
turn(Func *f, Op *before, int what)
{
    Build b = {.f = f, .block = before->block, .before = before, .loc = before->loc};
    ir_set_attr(ir_op(&b, OP_TURN, 0, NULL, 0, NULL), ATTR_TURN, what);
}

static int
take_turns(Func *f, Block *b)
{
    int n = 0;
    for (Op *o = b->first, *first = NULL, *last = NULL; o; o = o->next) {
        if (o->op == OP_FOR && ir_attr(o, ATTR_LOOP) & LOOP_MMA_ROUND &&
            find_products(f, o, &first, &last)) {
            turn(f, first, TURN_WAIT);
            turn(f, last->next, TURN_PASS);
            ir_report(f, first->loc, "dot", "two warpgroups multiply in turn");
            n++;
            continue;
        }
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            n += take_turns(f, o->regions[i]);
    }
    return n;
}

void
pass_turns(Func *f)
{
    if (f->team_warps != 2 * WARPGROUP || !hopper_plan(f).has_turns)
        return;
    for (Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_ROLES && take_turns(f, o->regions[0]))
            turn(f, o->regions[0]->first, TURN_OPEN);
}
