/* turns: of two warpgroups the second begins late, so that they keep the tensor cores busy in turn.
 *
 *     turn {clocks=903}
 *     %s = mma_start ..                the first of all
 *     for i { .. }
 *
 * Both groups have the same work. Where they do it at the same time, both multiply, then both compute while the
 * tensor cores wait. They stay as far apart as they happen to begin, as clocks of each iteration have shown:
 * attention's blocks by 128x128, D = 64, on an H100 were 883 clocks apart, half an iteration, and took 1896 clocks
 * an iteration, or 164 apart, and took 2584. Turns that the groups pass to each other at barriers cost more than
 * they gave.
 *
 * Where programs run in turn (persist), what a group stores and waits for between two of them changes the distance. There the
 * first group writes down when it begins a program, and the second begins no earlier than so many clocks behind that. It
 * does not wait where it is late already:
 *
 *     turn %empty, %program {clocks=679}
 *
 * In us on an H100, 128x128, plain pointers, in turn when the first program alone began late, and since (not in turn; cuDNN): D = 64, 16
 * heads of 8192 keys 597, 513 (529; 568), 128 of 1024 87, 78 (93; 86); causal 304, 289 (311; 343) and 60, 55 (66; 61).
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

/* Does it begin several products, and do groups meet nowhere in it? */
static bool
has_turns(Func *f, const Op *loop)
{
    int n = 0;
    for (const Op *o = loop->regions[0]->first; o; o = o->next) {
        if (meets(f, o) || op_has(o, OPF_CONTROL))
            return false;
        n += o->op == OP_MMA_START;
    }
    return n > 1;
}

/* The first loop that could have turns. */
static const Op *
first_loop(Func *f, const Block *b)
{
    EACH_CONTROL_OP(o, b)
        if (o->op == OP_FOR && ir_attr(o, ATTR_LOOP) & LOOP_MMA_ROUND &&
            has_turns(f, o))
            return o;
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
    EACH_CONTROL_OP(o, b)
        if (o->op == OP_MMA_START)
            return o;
    return NULL;
}

/* The first ring keeps what the first group writes down. */
static void
begin_late(Func *f, const Block *program)
{
    const Op *loop = first_loop(f, program);
    if (!loop || !late_clocks(loop))
        return;
    Op *first = first_product(program), *programs = first->block->owner;
    while (programs && !op_is_programs_loop(programs))
        programs = programs->block->owner;
    Build b = ir_before(first);
    Val *since[2] = {0};
    if (programs) {
        Op *ring = f->body->first;
        while (ring->op != OP_RING_ALLOC)
            ring = ring->next;
        ir_set_attr(ring, ATTR_CLOCKS, 1);
        since[0] = result(ring, ring->n_results - 1);
        since[1] = programs->regions[0]->args[0];
    }
    Op *turn = ir_op(&b, OP_TURN, programs ? 2 : 0, since, 0, NULL);
    ir_set_attr(turn, ATTR_CLOCKS, late_clocks(loop));
}

void
pass_turns(Func *f)
{
    for (Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_ROLES && f->team_warps == 2 * WARPGROUP)
            begin_late(f, o->regions[0]);
}
