/* cast_again: what threads keep across a reduction, they keep as it was loaded.
 *
 *     %x = cast %h : f32[32768]           %x = cast %h : f32[32768]
 *     %m = reduce %x ..             =>    %m = reduce %x ..
 *     %y = sub %x, %m                     %z = cast %h {again} : f32[32768]
 *                                         %y = sub %z, %m
 *
 * A 16-bit float widens exactly by one instruction and takes half of a register. That is worth it
 * where registers bound how many threads a multiprocessor holds: the backward pass of a
 * softmax of 32768 by 32 warps keeps two rows of 32 elements a thread, which spilled 96 bytes
 * and ran at 0.92 of Triton's speed on an H200. `again` says that no optimiser may see that
 * both casts give the same.
 *
 * Rule 1: where registers leave room for half of the threads that a multiprocessor holds all stays
 *         as it is, unless one block takes all registers and leaves none for an address.
 */
#include "passes/passes.h"

typedef struct Again {
    Func *f;
    Block *b;
    Map place;         /* op of b -> its place, from 1 on */
    VEC(Op *) widened; /* casts above, the latest of each value */
} Again;

static bool
widens(const Op *o)
{
    const Type *from = o->op == OP_CAST ? arg(o, 0)->type : NULL;
    return from && from->rank && elem_is_float(from->elem) &&
           elem_info[from->elem].bits == 16 && result(o, 0)->type->elem == E_F32;
}

static intptr_t
place_of_cast(const Again *w, const Op *o)
{
    while (o->block != w->b)
        o = o->block->owner;
    return (intptr_t)map_get(&w->place, o, 0);
}

/* Is v used in front of `at` (or there), and behind it? */
static void
look_at_uses(const Again *w, const Val *v, intptr_t at, bool *before, bool *behind)
{
    *before = *behind = false;
    for (const Use *u = v->uses; u; u = u->next)
        *(place_of_cast(w, u->user) > at ? behind : before) = true;
}

static Op *
again(Again *w, Op *o, Op *reduce, intptr_t at)
{
    Build b = {.f = w->f, .block = w->b, .before = reduce->next, .loc = o->loc};
    Val *v = result(o, 0), *h = arg(o, 0);
    Op *n = ir_op(&b, OP_CAST, 1, &h, 1, &v->type);
    ir_set_attr(n, ATTR_AGAIN, 1);
    map_put(&w->place, n, 0, (void *)at);
    for (Use *u = v->uses, *next; u; u = next) {
        Op *user = u->user;
        next = u->next;
        for (int i = 0; place_of_cast(w, user) > at && i < user->n_args; i++)
            if (&user->args[i] == u)
                ir_set_arg(user, i, result(n, 0));
    }
    return n;
}

/* Values that are wanted on both sides of the reduction are cast again behind it. */
static void
cross(Again *w, Op *reduce)
{
    intptr_t at = place_of_cast(w, reduce);
    for (int i = 0; i < w->widened.n; i++) {
        Op *o = w->widened.at[i];
        bool before, behind;
        look_at_uses(w, result(o, 0), at, &before, &behind);
        if (!behind)
            continue;
        if (before)
            w->widened.at[i] = again(w, o, reduce, at);
        else if (ir_attr(o, ATTR_AGAIN)) {
            ir_move_before(o, reduce->next);
            map_put(&w->place, o, 0, (void *)at);
        }
    }
}

static void
cast_block(Func *f, Block *b)
{
    Arena *a = f->c->arena;
    Again w = {.f = f, .b = b, .place = {.a = a}};
    intptr_t n = 0;
    for (Op *o = b->first; o; o = o->next)
        map_put(&w.place, o, 0, (void *)++n);
    for (Op *o = b->first; o; o = o->next) {
        if (widens(o) && !ir_attr(o, ATTR_AGAIN))
            PUSH(a, &w.widened, o);
        if (o->op == OP_REDUCE || o->op == OP_SCAN)
            cross(&w, o);
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            cast_block(f, o->regions[r]);
    }
}

void
pass_cast_again(Func *f)
{
    int64_t half = chip_of(f->c->opt.target.sm)->threads / 2,
            words = most_live_words(f);
    bool is_full = words * 32 * f->team_warps >= CHIP_REGISTERS;
    if (is_full || words * half > CHIP_REGISTERS)
        cast_block(f, f->body);
}
