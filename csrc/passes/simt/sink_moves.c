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
 * What is moved is all of the operand at one time. Where a thread would spill, a large one that lives while threads
 * wait for others is stored in a place that lasts, once for all moves of it, out of which the product reads what each of its
 * steps wants, word by word:
 *
 *     %b = convert_layout %x         shared_store %a, 0, %x
 *     ..                         =>  ..
 *     %d = dot %c, %b                %b = shared_load %a, 0
 *                                    %d = dot %c, %b
 *
 * So is one whose block is kept for the move alone over a product. Spills by 2 warps: the output of the iplr delta rule
 * 876 bytes and 88, the delta rule's states by 64 columns 440 and 204.
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
is_growing(const Op *move)
{
    return n_regs(result(move, 0)) > n_regs(arg(move, 0));
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

/* Is o a move whose result user takes, too? */
static bool
moves_for(const Op *o, const Op *user)
{
    const Use *u = o->op == OP_CONVERT ? result(o, 0)->uses : NULL;
    return u && !u->next && u->user == user;
}

/* Is there a product between the two, or something else for which threads wait and registers are read to the end? By four
 * warps a move of the other operand of that product is none: they hide one another's waits. */
static bool
is_held_between(const Func *f, const Op *o, const Op *until)
{
    bool hides = f->team_warps >= WARPGROUP;
    for (o = o->next; o && o != until; o = o->next)
        if ((op_has(o, OPF_SCRATCH) && !(hides && moves_for(o, until))) ||
            o->op == OP_MMA_START || o->op == OP_BARRIER || o->n_regions)
            return true;
    return false;
}

/* A large operand of products alone. */
static bool
is_large_operand(const Val *v)
{
    enum { MANY = 64 }; /* words of a thread */
    for (const Use *u = v->uses; u; u = u->next)
        if (u->user->op != OP_DOT)
            return false;
    return ty_bytes(v->type) >= 2 && v->type->rank == 2 &&
           ty_bits(v->type) << n_regs(v) >= 32 * MANY;
}

/* Does it live while threads wait for others, or round a loop? One that goes to the next product alone the assembler
 * reads as it goes: on an H100 two products of 64x64 by 64x128 words took 84 us so, and 112 out of a place. */
static bool
is_held(const Func *f, const Val *v)
{
    bool any = false;
    for (const Use *u = v->uses; u; u = u->next)
        any |= u->user->block != v->def->block || is_held_between(f, v->def, u->user);
    return any;
}

/* Is what is moved kept for the move alone, over a product? Four warps hide one another's waits, and a place would
 * have them wait for its loads before the product: the conjugate gradients of mesa_net spilled 964 bytes and 1120. */
static bool
is_source_held(const Func *f, const Op *move)
{
    const Op *from = arg(move, 0)->def, *dot = from;
    if (f->team_warps >= WARPGROUP || !from || from->block != move->block)
        return false;
    while (dot != move && dot->op != OP_DOT)
        dot = dot->next;
    for (const Use *u = arg(move, 0)->uses; u; u = u->next)
        for (const Op *o = u->user; o && u->user != move; o = o->prev)
            if (o == dot)
                return false;
    return dot != move;
}

/* The axis along which threads have most side by side: they store that in one piece. Along the other axis sparse
 * attention's dq by 2 warps stored 224 times more, in the same banks: 862 us and 4490 on an H100. */
static int
axis_of_runs(const Type *t)
{
    enum { BYTES = 16 /* of a store */ };
    int bit[MAX_BITS], best = t->rank - 1, most = 0;
    for (int d = t->rank; d--;) {
        int run = layout_run(t->layout, d, __builtin_ctz(BYTES / (unsigned)ty_bytes(t)),
                             bit);
        if (run > most)
            most = run, best = d;
    }
    return best;
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

/* Shared memory that is taken, and the blocks that a multiprocessor holds without places. */
typedef struct Room {
    int64_t bytes;
    int blocks;
} Room;

static int
blocks_with(const Func *f, int64_t bytes)
{
    return hopper_blocks_of(f, f->team_warps, INT32_MAX, bytes);
}

/* Where the place is filled: where the move was, or before threads first wait, if it alone keeps what it moves. Loads
 * that come before that are under way by then. */
static Op *
filled_before(const Func *f, Op *move)
{
    if (!is_source_held(f, move))
        return move;
    Op *o = arg(move, 0)->def->next;
    while (o != move && !op_has(o, OPF_SCRATCH) && !o->n_regions)
        o = o->next;
    return o;
}

/* The place that a move before this one, in its block, has filled with the same; false: none of that form. */
static bool
find_slot(const Op *move, const Type *t, Val *slot[2])
{
    const Val *v = arg(move, 0);
    for (const Use *u = v->uses; u; u = u->next)
        if (u->user->op == OP_SHARED_STORE && u->user->block == move->block &&
            arg(u->user, 0)->type == t && arg(u->user, 2) == v &&
            u->user->next->op == OP_BARRIER) {
            slot[0] = arg(u->user, 0), slot[1] = arg(u->user, 1);
            return true;
        }
    return false;
}

/* A new place that holds what is moved; false: there is no room. Half of the blocks may go for places: on an H100
 * the delta rule's states took 290 us with four of 2 warps and 212 with two. Its gradients, of which places left one of
 * two, took 577 and 780. */
static bool
fill_slot(Func *f, Op *move, const Type *t, Room *room, Val *slot[2])
{
    Val *from = arg(move, 0);
    int64_t bytes = room->bytes + ty_numel(from->type) * ty_bytes(from->type);
    if (bytes > shared_memory_limit(&f->c->opt.target) ||
        hopper_holds_fewer(f, blocks_with(f, bytes), (room->blocks + 1) / 2))
        return false;
    room->bytes = bytes;
    Build b = {.f = f,
               .block = move->block,
               .before = filled_before(f, move),
               .loc = move->loc};
    slot[0] = ir_op1(&b, OP_SHARED_ALLOC, 0, NULL, t), slot[1] = ir_const_i32(&b, 0);
    ir_op(&b, OP_SHARED_STORE, 3, (Val *[]){slot[0], slot[1], from}, 0, NULL);
    ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    return true;
}

/* The move becomes a store, and reads in front of each product. */
static void
share_move(Func *f, Op *o, Room *room)
{
    Val *v = result(o, 0), *from = arg(o, 0), *slot[2];
    const Type *t = ty_smem(f->c, from->type, 1,
                            pipeline_slot_layout(f->c, from, axis_of_runs(from->type)));
    if (!find_slot(o, t, slot) && !fill_slot(f, o, t, room, slot))
        return;
    for (Use *u = v->uses, *next; u; u = next) {
        next = u->next;
        Op *dot = u->user;
        int i = (int)(u - dot->args);
        Build at = {.f = f, .block = dot->block, .before = dot, .loc = o->loc};
        ir_set_arg(dot, i,
                   ir_op1(&at, OP_SHARED_LOAD, 2, slot,
                          ty_slot(f->c, t, v->type->layout)));
    }
    ir_erase(o);
}

void
pass_sink_moves(Func *f)
{
    VEC(Op *) moves = {0}; /* none twice: several go to one product */
    EACH_OP(o, f->body)
        if (o->op == OP_CONVERT)
            PUSH(f->c->arena, &moves, o);
    for (int i = 0; i < moves.n; i++) {
        Op *user = first_user(f, moves.at[i]);
        if (user && user->op == OP_DOT && is_growing(moves.at[i]))
            ir_move_before(moves.at[i], user);
    }
    if (most_live_words(f) <= MAX_WORDS)
        return;
    int64_t bytes = bytes_at_once(f);
    Room room = {bytes, blocks_with(f, bytes)};
    for (int i = 0; i < moves.n; i++)
        if (is_large_operand(result(moves.at[i], 0)) &&
            (is_held(f, result(moves.at[i], 0)) || is_source_held(f, moves.at[i])))
            share_move(f, moves.at[i], &room);
}
