/* shared_walk: what of shared memory is in use where.
 *
 * An op with a place writes it, waits for the block, and reads it (SharedPlace, ir.h). So after the
 * op all that may still happen is reads of its own place, and the next op has a barrier
 * in front only if it takes the same bytes:
 *
 *     reduce #1   place A:  write A  barrier  read A
 *     reduce #2   place B:  write B  barrier  read B      one barrier each:
 *     reduce #3   place A:  write A  barrier  read A      the two places alternate
 *
 * Rule 1: an op that waits by warps alone orders nothing for the others.
 * Rule 2: a shared_alloc or ring_alloc is live from where it stands to the op that uses it
 *         last, in the same block (a loop counts as one op). What is in it is in order by explicit barriers;
 *         after the last use it counts as still being read.
 * Rule 3: copies send the stage of stores while the threads go on, so it is theirs from the
 *         beginning of their roles to the end.
 */
#include "passes/simt/shared.h"

static bool
overlaps(const BytesList *v, int at, int size)
{
    for (int i = 0; i < v->n; i++)
        if (at < v->at[i].at + v->at[i].size && v->at[i].at < at + size)
            return true;
    return false;
}

static bool
is_at(const BytesList *v, int i, int at, int size)
{
    return i < v->n && v->at[i].at == at && v->at[i].size == size;
}

static void
add_bytes(Arena *a, BytesList *v, int at, int size)
{
    for (int i = 0; i < v->n; i++)
        if (is_at(v, i, at, size))
            return;
    PUSH(a, v, ((Bytes){at, size, NULL}));
}

/* What is live is the same in both: control flow is nested. Most lists begin alike. */
static void
join_in_use(Arena *a, InUse *u, const InUse *other)
{
    for (int i = 0; i < other->read.n; i++) {
        const Bytes *k = &other->read.at[i];
        if (!is_at(&u->read, i, k->at, k->size))
            add_bytes(a, &u->read, k->at, k->size);
    }
}

static InUse
copy_in_use(Arena *a, const InUse *u)
{
    InUse r = {0};
    for (int i = 0; i < u->read.n; i++)
        PUSH(a, &r.read, u->read.at[i]);
    for (int i = 0; i < u->live.n; i++)
        PUSH(a, &r.live, u->live.at[i]);
    return r;
}

static void walk_block(SharedWalk *w, const Block *b, InUse *u);

static void
walk_loop(SharedWalk *w, Op *o, InUse *u)
{
    Arena *a = w->f->c->arena;
    for (int pass = 0; pass < 2; pass++) {
        InUse before = copy_in_use(a, u);
        walk_block(w, o->regions[0], u);
        if (o->op == OP_WHILE) { /* which is left behind its test */
            InUse tested = copy_in_use(a, u);
            walk_block(w, o->regions[1], u);
            join_in_use(a, u, &tested);
        }
        join_in_use(a, u, &before);
    }
}

static void
walk_if(SharedWalk *w, Op *o, InUse *u)
{
    Arena *a = w->f->c->arena;
    InUse then = copy_in_use(a, u);
    walk_block(w, o->regions[0], &then);
    if (o->n_regions > 1)
        walk_block(w, o->regions[1], u);
    join_in_use(a, u, &then);
}

/* o takes its place; owner: whose it is while that lives, NULL: o's alone while it runs. */
static void
take(SharedWalk *w, Op *o, const Op *owner, InUse *u)
{
    if (w->visit)
        w->visit(w, o, u);
    const SharedPlace *k = o->place;
    if (!k)
        return;
    if (overlaps(&u->read, k->at, k->bytes)) {
        u->read.n = 0;
        if (w->clash)
            w->clash(w, o);
    }
    if (owner) {
        PUSH(w->f->c->arena, &u->live, ((Bytes){k->at, k->bytes, owner}));
        return;
    }
    if (!k->by_warp)
        u->read.n = 0;
    add_bytes(w->f->c->arena, &u->read, k->at, k->bytes);
}

static void
walk_op(SharedWalk *w, Op *o, InUse *u)
{
    if (o->op == OP_FOR || o->op == OP_WHILE) {
        walk_loop(w, o, u);
        return;
    }
    if (o->op == OP_IF) {
        walk_if(w, o, u);
        return;
    }
    if (o->op == OP_ROLES) {
        EACH_OP(p, o->regions[0])
            if (has_stage(p))
                take(w, p, o, u);
        for (int i = 0; i < o->n_regions; i++)
            walk_block(w, o->regions[i], u);
        return;
    }
    if (o->op == OP_BARRIER) {
        u->read.n = 0;
        return;
    }
    if (op_has(o, OPF_SCRATCH) && !has_stage(o))
        take(w, o, is_shared_alloc(o) ? o : NULL, u);
}

/* Does no use of v come after o, in alloc's block? A view, and a product that reads it, hand
 * their use on to who uses them. */
static bool
was_last_use_of(const Op *alloc, const Val *v, const Op *o)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *user = ir_op_in(alloc->block, u->user), *p = o;
        while (p && p != user)
            p = p->prev;
        if (!p)
            return false;
        bool hands_on = u->user->op == OP_SHARED_VIEW || u->user->op == OP_MMA_START;
        if (hands_on && !was_last_use_of(alloc, result(u->user, 0), o))
            return false;
    }
    return true;
}

/* Does no use of what was allocated come after o in its block? */
static bool
was_last_use(const Op *alloc, const Op *o)
{
    for (int i = 0; i < alloc->n_results; i++)
        if (!was_last_use_of(alloc, result(alloc, i), o))
            return false;
    return true;
}

/* The places of allocs of o's block that nobody uses after o. */
static void
end_lives(SharedWalk *w, const Op *o, InUse *u)
{
    for (int i = u->live.n; i-- > 0;) {
        Bytes k = u->live.at[i];
        if (k.alloc->block != o->block || !was_last_use(k.alloc, o))
            continue;
        u->live.at[i] = u->live.at[--u->live.n];
        add_bytes(w->f->c->arena, &u->read, k.at, k.size);
    }
}

static void
walk_block(SharedWalk *w, const Block *b, InUse *u)
{
    for (Op *o = b->first; o; o = o->next) {
        walk_op(w, o, u);
        end_lives(w, o, u);
    }
}

void
shared_walk(SharedWalk *w)
{
    InUse u = {0};
    walk_block(w, w->f->body, &u);
}
