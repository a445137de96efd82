/* sink_moves: what a product reads is moved to its threads right before it, not as soon as it is known.
 *
 *     %b = convert_layout %x                    32 words of each thread become 128
 *     %y = convert_layout %z                =>  %y = convert_layout %z
 *     %c = dot %a, %y                           %c = dot %a, %y
 *                                               %b = convert_layout %x
 *     %d = dot %c, %b                           %d = dot %c, %b
 *
 * assign_layouts puts a move behind its operand's definition, so that it is in no loop. As each warp
 * of a product has all rows of its right operand, the copy takes more registers than the block itself; and the
 * moves of other blocks have barriers, over which ptxas keeps what has been read.
 *
 * Rule 1: no move goes into a region, nor over what begins products by warpgroups: threads would meet
 *         while these read shared memory.
 * Rule 2: only what becomes larger goes down. Of others the operand would live longer.
 */
#include "passes/passes.h"

static int
n_regs(const Val *v)
{
    return v->type->layout->n[IN_REG];
}

static bool
is_growing_move(const Op *o)
{
    return o->op == OP_CONVERT && n_regs(result(o, 0)) > n_regs(arg(o, 0));
}

/* The first op of o's block that wants its result, or has a region that does. */
static Op *
first_user(Func *f, const Op *o)
{
    Map users = {.a = f->c->arena};
    for (const Use *u = result(o, 0)->uses; u; u = u->next) {
        Op *user = ir_op_in(o->block, u->user);
        map_put(&users, user, 0, user);
    }
    Op *at = o->next;
    while (at && !map_get(&users, at, 0) && at->op != OP_MMA_START)
        at = at->next;
    return at;
}

void
pass_sink_moves(Func *f)
{
    VEC(Op *) moves = {0}; /* none twice: several go to one product */
    EACH_OP(o, f->body)
        if (is_growing_move(o))
            PUSH(f->c->arena, &moves, o);
    for (int i = 0; i < moves.n; i++) {
        Op *user = first_user(f, moves.at[i]);
        if (user && user->op == OP_DOT)
            ir_move_before(moves.at[i], user);
    }
}
