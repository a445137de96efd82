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
 * That is asked for (hopper="3,turns"), as each turn takes time. Without turns groups stay as far apart as they
 * happen to begin, as clocks of each iteration have shown: attention's blocks by 128x128, D = 64, on an H100 were 883
 * clocks apart, half an iteration, and took 1896 clocks an iteration, or 164 apart, and took 2584. So the second
 * group begins late, once:
 *
 *     turn {turn=late, clocks=903}
 *     %s = mma_start ..                the first of all
 *     for i { .. }
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
turn(Op *before, int what)
{
    Build b = ir_before(before);
    ir_set_attr(ir_op(&b, OP_TURN, 0, NULL, 0, NULL), ATTR_TURN, what);
}

static int
take_turns(Func *f, Block *b)
{
    int n = 0;
    for (Op *o = b->first, *first = NULL, *last = NULL; o; o = o->next) {
        if (o->op == OP_FOR && ir_attr(o, ATTR_LOOP) & LOOP_MMA_ROUND &&
            find_products(f, o, &first, &last)) {
            turn(first, TURN_WAIT);
            turn(last->next, TURN_PASS);
            ir_report(f, first->loc, "dot", "two warpgroups multiply in turn");
            n++;
            continue;
        }
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            n += take_turns(f, o->regions[i]);
    }
    return n;
}

/* The first loop that could have turns. */
static const Op *
first_loop(Func *f, const Block *b)
{
    Op *first = NULL, *last = NULL;
    for (const Op *o = b->first; o; o = o->next) {
        if (o->op == OP_FOR && ir_attr(o, ATTR_LOOP) & LOOP_MMA_ROUND &&
            find_products(f, o, &first, &last))
            return o;
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++) {
            const Op *in = first_loop(f, o->regions[i]);
            if (in)
                return in;
        }
    }
    return NULL;
}

/* Seven eighths of what the special unit takes for both groups; what stands behind the last wait
 * (halves.c) counts half. H100, 128x128, clocks 0, 600, 900, 1200, TFLOP/s: D = 64 484, 481, 481, 472, causal 423, 423, 442, 421; D = 128 642,
 * 644, 640, 611, causal 601, 612, 615, 595. By halves 600, 690, 774, 900, of cuDNN: D = 64 1.06, 1.06, 1.04, 0.98, causal
 * 1.03, 1.10, 1.09, 1.00. */
static int
late_clocks(const Op *loop)
{
    enum { SPECIAL = 16 /* results in a clock */ };
    int64_t n = 0, last = 0;
    for (const Op *o = loop->regions[0]->first; o; o = o->next)
        if (op_has(o, OPF_SPECIAL))
            last += ty_numel(result(o, 0)->type);
        else if (o->op == OP_MMA_WAIT)
            n += last, last = 0;
    return (int)((n + last / 2) / SPECIAL * 7 / 8);
}

static Op *
first_product(const Block *b)
{
    for (Op *o = b->first; o; o = o->next) {
        if (o->op == OP_MMA_START)
            return o;
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++) {
            Op *in = first_product(o->regions[i]);
            if (in)
                return in;
        }
    }
    return NULL;
}

static void
begin_late(Func *f, const Block *program)
{
    const Op *loop = first_loop(f, program);
    if (!loop || !late_clocks(loop))
        return;
    Op *first = first_product(program);
    turn(first, TURN_LATE);
    ir_set_attr(first->prev, ATTR_CLOCKS, late_clocks(loop));
}

void
pass_turns(Func *f)
{
    if (f->team_warps != 2 * WARPGROUP)
        return;
    bool has_turns = hopper_plan(f).has_turns;
    for (Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_ROLES && !has_turns)
            begin_late(f, o->regions[0]);
        else if (o->op == OP_ROLES && take_turns(f, o->regions[0]))
            turn(o->regions[0]->first, TURN_OPEN);
}
