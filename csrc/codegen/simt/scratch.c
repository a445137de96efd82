/* scratch: which bytes of shared memory each op uses, and where a barrier must stand.
 *
 * Every op that works through shared memory writes its scratch, waits for the block, and
 * reads it. So after such an op all that is pending is reads of its own place, and the next
 * op needs a barrier before it writes only if it takes the same place:
 *
 *     reduce #1   place A:  write A  barrier  read A
 *     reduce #2   place B:  write B  barrier  read B      one barrier each:
 *     reduce #3   place A:  write A  barrier  read A      the two places alternate
 *
 * The plan is made before code is: a walk over the structured ops with the set of places
 * that may still be read. An op takes the lowest bytes outside that set while the total stays
 * under a soft limit, and otherwise shares bytes and gets a barrier. Loop bodies are walked
 * twice, the second time with what the first left pending.
 *
 * Programs on a cluster share no places: another block may send before this one has read.
 *
 * A shared_alloc keeps its place from where it stands to the op that uses it last, in the
 * same block (a loop counts as one op), and nobody else gets it in between. What is in it
 * is in order by explicit barriers; after the last use it counts as still being read.
 */
#include "codegen/simt/simt.h"

enum { ALIGN = 16, SOFT_LIMIT = 48 << 10 };

typedef struct Place {
    int at, size;    /* bytes */
    const Op *alloc; /* whose it is, while live */
} Place;
typedef VEC(Place) Places;
typedef struct Pending {
    Places v;    /* may still be read */
    Places live; /* of shared_allocs whose last use is to come */
} Pending;

static bool
overlaps(const Pending *p, int at, int size)
{
    for (int i = 0; i < p->v.n; i++)
        if (at < p->v.at[i].at + p->v.at[i].size && p->v.at[i].at < at + size)
            return true;
    return false;
}

static void
add_place(Sim *s, Pending *p, int at, int size)
{
    for (int i = 0; i < p->v.n; i++)
        if (p->v.at[i].at == at && p->v.at[i].size == size)
            return;
    PUSH(s->a, &p->v, ((Place){at, size, NULL}));
}

/* The live places of both are the same: control flow is nested. */
static void
join(Sim *s, Pending *p, const Pending *other)
{
    for (int i = 0; i < other->v.n; i++)
        add_place(s, p, other->v.at[i].at, other->v.at[i].size);
}

static Pending
copy(Sim *s, const Pending *p)
{
    Pending r = {0};
    join(s, &r, p);
    for (int i = 0; i < p->live.n; i++)
        PUSH(s->a, &r.live, p->live.at[i]);
    return r;
}

/* Moves *at behind a place it overlaps; false when there is none. */
static bool
step_over(const Places *v, int *at, int size, int align)
{
    for (int i = 0; i < v->n; i++) {
        int end = v->at[i].at + v->at[i].size;
        if (*at < end && v->at[i].at < *at + size) {
            *at = (end + align - 1) / align * align;
            return true;
        }
    }
    return false;
}

/* The lowest place of that size outside of what is live and, if asked, what is pending. */
static int
find_gap(const Pending *p, int size, int align, bool avoid_pending)
{
    int at = 0;
    while (step_over(&p->live, &at, size, align) ||
           (avoid_pending && step_over(&p->v, &at, size, align)))
        ;
    return at;
}

/* Bytes behind all that nobody else may have. */
static int
room(Sim *s, const Pending *p)
{
    int end = s->f->log2_ctas ? s->shared_bytes : 0;
    for (int i = 0; i < p->live.n; i++)
        end = MAX(end, p->live.at[i].at + p->live.at[i].size);
    return MAX(0, shared_memory_limit(&s->c->opt.target) - end);
}

static int64_t
wanted(Sim *s, const Op *o, const Pending *p, bool *warp_local)
{
    switch (o->op) {
    case OP_SHARED_ALLOC: return sim_shared_alloc_bytes(o);
    case OP_CONVERT: return sim_convert_bytes(s, o, warp_local);
    case OP_REDUCE: return sim_reduce_bytes(s, o);
    case OP_SCAN: return sim_scan_bytes(s, o);
    case OP_DOT: return sim_dot_bytes(s, o, room(s, p));
    case OP_GATHER: return sim_gather_bytes(s, o);
    case OP_HISTOGRAM: return sim_histogram_bytes(s, o);
    case OP_ATOMIC_RMW:
    case OP_ATOMIC_CAS:
    case OP_EXTERN_IO: return sim_shared_result_bytes(o);
    case OP_INLINE_ASM_IO: return sim_asm_by_owners(o) ? sim_shared_result_bytes(o) : 0;
    default: return 0;
    }
}

static Scratch *
place_op(Sim *s, const Op *o, const Pending *p)
{
    Scratch *k = map_get(&s->scratch, o, 0);
    if (k)
        return k;
    k = NEW(s->a, Scratch);
    int64_t bytes = wanted(s, o, p, &k->warp_local);
    int limit = shared_memory_limit(&s->c->opt.target);
    int align = o->op == OP_SHARED_ALLOC ? SHARED_ALIGN : ALIGN;
    k->size = (int)MIN(bytes, INT32_MAX / 2);
    if (k->size && s->f->log2_ctas) {
        k->at = s->shared_bytes;
        s->shared_bytes += (k->size + ALIGN - 1) / ALIGN * ALIGN;
        k->site = s->n_sites++;
    } else if (k->size) {
        k->at = find_gap(p, k->size, align, true);
        if (k->at + k->size > MIN(limit, MAX(SOFT_LIMIT, s->shared_bytes)))
            k->at = find_gap(p, k->size, align, false);
        s->shared_bytes = MAX(s->shared_bytes, k->at + k->size);
    }
    if (s->shared_bytes > limit)
        err_at(s->c, o->loc, RESOURCES, "shared memory", (long long)s->shared_bytes,
               (long long)limit);
    map_put(&s->scratch, o, 0, k);
    return k;
}

static void plan_block(Sim *s, const Block *b, Pending *p);

static void
plan_op(Sim *s, const Op *o, Pending *p)
{
    if (o->op == OP_FOR || o->op == OP_WHILE) {
        for (int pass = 0; pass < 2; pass++) {
            Pending before = copy(s, p);
            plan_block(s, o->regions[0], p);
            if (o->op == OP_WHILE) { /* which is left behind its test */
                Pending tested = copy(s, p);
                plan_block(s, o->regions[1], p);
                join(s, p, &tested);
            }
            join(s, p, &before);
        }
        return;
    }
    if (o->op == OP_IF) {
        Pending then = copy(s, p);
        plan_block(s, o->regions[0], &then);
        if (o->n_regions > 1)
            plan_block(s, o->regions[1], p);
        join(s, p, &then);
        return;
    }
    if (o->op == OP_BARRIER) {
        p->v.n = 0;
        return;
    }
    Scratch *k = place_op(s, o, p);
    if (!k->size)
        return;
    if (overlaps(p, k->at, k->size)) {
        k->needs_barrier = true;
        p->v.n = 0;
    }
    if (o->op == OP_SHARED_ALLOC) {
        PUSH(s->a, &p->live, ((Place){k->at, k->size, o}));
        return;
    }
    if (!k->warp_local)
        p->v.n = 0;
    add_place(s, p, k->at, k->size);
}

/* The op of block b that contains o. */
static const Op *
within(const Block *b, const Op *o)
{
    while (o->block != b)
        o = o->block->owner;
    return o;
}

/* Does no use of the shared_alloc come after o in its block? */
static bool
was_last_use(const Op *alloc, const Op *o)
{
    for (const Use *u = result(alloc, 0)->uses; u; u = u->next) {
        const Op *user = within(alloc->block, u->user), *p = o;
        while (p && p != user)
            p = p->prev;
        if (!p)
            return false;
    }
    return true;
}

/* The places of allocs of o's block that nobody uses after o. */
static void
end_lives(Sim *s, const Op *o, Pending *p)
{
    for (int i = p->live.n; i-- > 0;) {
        Place k = p->live.at[i];
        if (k.alloc->block != o->block || !was_last_use(k.alloc, o))
            continue;
        p->live.at[i] = p->live.at[--p->live.n];
        add_place(s, p, k.at, k.size);
    }
}

static void
plan_block(Sim *s, const Block *b, Pending *p)
{
    for (const Op *o = b->first; o; o = o->next) {
        plan_op(s, o, p);
        end_lives(s, o, p);
    }
}

void
sim_plan_scratch(Sim *s)
{
    Pending p = {0};
    plan_block(s, s->f->body, &p);
}

int
sim_scratch(Sim *s, const Op *o)
{
    const Scratch *k = map_get(&s->scratch, o, 0);
    if (!k || !k->size)
        unreachable(s->c);
    if (k->needs_barrier)
        sim_barrier(s, o->loc);
    return k->at;
}

int
sim_scratch_bytes(Sim *s, const Op *o)
{
    const Scratch *k = map_get(&s->scratch, o, 0);
    return k->size;
}

int
sim_site(Sim *s, const Op *o)
{
    const Scratch *k = map_get(&s->scratch, o, 0);
    return k->site;
}

void
sim_barrier(Sim *s, const Loc *loc)
{
    if (s->log2_warps)
        s->m->barrier(s->l, loc);
    else
        s->m->warp_sync(s->l, loc);
}

Lv
sim_shared_offset(Sim *s, Lv index, int elem_bytes, int at)
{
    Ll *l = s->l;
    if (elem_bytes > 1)
        index = LLVMBuildMul(l->b, index, ll_i32(l, elem_bytes), "");
    return at ? LLVMBuildAdd(l->b, index, ll_i32(l, at), "") : index;
}
