/* place_local: every block that passes keep in a thread's local memory gets its bytes of it.
 *
 *     %m = local_alloc : local<8 x f32[4096]>   =>   %m = local_alloc {at=0} : ..
 *     .. the last load of %m                         ..
 *     %n = local_alloc : local<8 x f32[4096]>        %n = local_alloc {at=0} : ..
 *
 * A place is in use from the first op of its block that asks for it to the last (a loop counts as one op). Two
 * that are in use at one time share no byte. The GPU reserves local memory for every thread that can be resident, so
 * each byte is expensive.
 *
 * Rule 1: what an op reads and writes piece by piece (streamed_from) it reads where it stands itself, not where
 *         the local_load does.
 */
#include "passes/passes.h"

enum { ALIGN = 16, MAX_BYTES = 448 << 10 }; /* of 512 KB that a thread can have */

typedef struct Life {
    Op *alloc;
    int from, until; /* numbers of ops */
    int64_t at, end; /* bytes */
} Life;

typedef struct Lives {
    Func *f;
    Map first, last; /* Op -> its number, and that of the last op in it: from 1 up */
    VEC(Life) all;
} Lives;

static int
number_ops(Lives *w, const Block *b, int n)
{
    for (const Op *o = b->first; o; o = o->next) {
        map_put(&w->first, o, 0, (void *)(intptr_t)++n);
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            n = number_ops(w, o->regions[r], n);
        map_put(&w->last, o, 0, (void *)(intptr_t)n);
    }
    return n;
}

static void
note_user(const Lives *w, Life *l, const Op *o)
{
    while (o->block != l->alloc->block)
        o = o->block->owner;
    l->from = MIN(l->from, (int)(intptr_t)map_get(&w->first, o, 0));
    l->until = MAX(l->until, (int)(intptr_t)map_get(&w->last, o, 0));
}

static void
note_users(const Lives *w, Life *l)
{
    for (const Use *u = result(l->alloc, 0)->uses; u; u = u->next) {
        const Op *o = u->user;
        note_user(w, l, o);
        if (o->n_results && streamed_from(result(o, 0)))
            note_user(w, l, result(o, 0)->uses->user);
        if (o->op == OP_LOCAL_STORE && streamed_to(arg(o, 2)))
            note_user(w, l, arg(o, 2)->def);
    }
}

/* The lowest bytes that no other has then. */
static void
place(const Lives *w, Life *l, int64_t bytes)
{
    l->at = 0;
    for (int i = 0; i < w->all.n; i++) {
        const Life *y = &w->all.at[i];
        bool meets = l->from <= y->until && y->from <= l->until;
        if (!meets || l->at >= y->end || y->at >= l->at + bytes)
            continue;
        l->at = y->end, i = -1;
    }
    l->end = l->at + round_up(bytes, ALIGN);
    ir_set_attr(l->alloc, ATTR_AT, l->at);
}

void
pass_place_local(Func *f)
{
    Arena *a = f->c->arena;
    Lives w = {.f = f, .first.a = a, .last.a = a};
    number_ops(&w, f->body, 0);
    EACH_CONTROL_OP(o, f->body) {
        if (o->op != OP_LOCAL_ALLOC || !result(o, 0)->uses)
            continue;
        Life l = {.alloc = o, .from = INT32_MAX};
        note_users(&w, &l);
        place(&w, &l, slices_bytes(result(o, 0)->type));
        PUSH(a, &w.all, l);
    }
    if (local_bytes(f) > MAX_BYTES)
        err_at(f->c, f->loc, RESOURCES, "local memory of a thread",
               (long long)local_bytes(f), (long long)MAX_BYTES);
}
