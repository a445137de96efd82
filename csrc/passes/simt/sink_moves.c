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
 * What is moved is all of the operand at one time. Where a thread would spill, a large one that lives over other
 * products is stored in a place that lasts, out of which the product reads what each of its steps wants, word by word:
 *
 *     %b = convert_layout %x         shared_store %a, 0, %x
 *     ..                         =>  ..
 *     %d = dot %c, %b                %b = shared_load %a, 0
 *                                    %d = dot %c, %b
 *
 * Rule 1: no move goes into a region, nor over what begins products by warpgroups: threads would meet
 *         while these read shared memory.
 * Rule 2: only what becomes larger goes down. Of others the operand would live longer.
 */
#include "passes/simt/layouts.h"
#include "passes/simt/pipeline.h"
#include "passes/simt/shared.h"

enum { MAX_WORDS = 230 /* of a thread, beside addresses */ };

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

/* Does the large operand live while others are multiplied? One that goes to the next product alone the assembler
 * reads as it goes: on an H100 two products of 64x64 by 64x128 words took 84 us so, and 112 out of a place. */
static bool
is_kept_large(const Val *v)
{
    enum { MANY = 64 };
    bool is_kept = false;
    if (ty_bytes(v->type) < 2 || v->type->rank != 2)
        return false;
    for (const Use *u = v->uses; u; u = u->next) {
        if (u->user->op != OP_DOT)
            return false;
        const Op *o = v->def->next, *at = ir_op_in(v->def->block, u->user);
        while (o != at && o->op != OP_DOT && o->op != OP_MMA_START && !o->n_regions)
            o = o->next;
        is_kept |= o != u->user;
    }
    return is_kept && ty_bits(v->type) << n_regs(v) >= 32 * MANY;
}

/* What the function has of shared memory if all that it keeps there lived at one time. */
static int64_t
bytes_at_once(Func *f)
{
    int64_t sum = 0, most = 0;
    EACH_OP(o, f->body) {
        if (!op_has(o, OPF_SCRATCH) || has_stage(o))
            continue;
        int64_t bytes = scratch_of(f, o, INT32_MAX).bytes;
        if (is_shared_alloc(o))
            sum += bytes;
        else
            most = MAX(most, bytes);
    }
    return sum + most;
}

/* The move becomes a store, and reads in front of each product. */
static void
share_move(Func *f, Op *o, int64_t *room)
{
    Comp *c = f->c;
    Val *v = result(o, 0), *from = arg(o, 0);
    int64_t bytes = ty_numel(from->type) * ty_bytes(from->type);
    if (bytes > *room)
        return;
    *room -= bytes;
    Build b = ir_before(o);
    const Type *t = ty_smem(c, from->type, 1,
                            pipeline_slot_layout(c, from, from->type->rank - 1));
    Val *slot[] = {ir_op1(&b, OP_SHARED_ALLOC, 0, NULL, t), ir_const_i32(&b, 0)};
    ir_op(&b, OP_SHARED_STORE, 3, (Val *[]){slot[0], slot[1], from}, 0, NULL);
    ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    for (Use *u = v->uses, *next; u; u = next) {
        next = u->next;
        Op *dot = u->user;
        int i = (int)(u - dot->args);
        Build at = {.f = f, .block = dot->block, .before = dot, .loc = o->loc};
        ir_set_arg(dot, i,
                   ir_op1(&at, OP_SHARED_LOAD, 2, slot,
                          ty_slot(c, t, v->type->layout)));
    }
    ir_erase(o);
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
    if (most_live_words(f) <= MAX_WORDS)
        return;
    int64_t room = shared_memory_limit(&f->c->opt.target) - bytes_at_once(f);
    for (int i = 0; i < moves.n; i++)
        if (is_kept_large(result(moves.at[i], 0)))
            share_move(f, moves.at[i], &room);
}
