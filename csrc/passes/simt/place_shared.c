/* place_shared: every op that works through shared memory gets its bytes of it.
 *
 *     %m = reduce %x {axis=0} : f32         =>   %m = reduce %x {axis=0} shared(at=0, bytes=16)
 *     %s = reduce %y {axis=0} : f32         =>   %s = reduce %y {axis=0} shared(at=16, bytes=16)
 *     %a = shared_alloc : smem<3 x ..>      =>   %a = shared_alloc shared(at=1024, bytes=24576)
 *
 * An op takes the lowest bytes that are neither live nor perhaps still being read
 * (shared_walk.c), while the total stays under a soft limit: so places alternate and need no
 * barrier in front. Beyond the limit it takes few bytes so, or shares bytes
 * with what is still being read, and `barriers` puts a barrier there.
 *
 * Rule 1: programs on a cluster share no places: another block may send before this one has
 *         read. Each exchange has an mbarrier behind all places.
 *         Loads by tensor maps have one together.
 * Rule 2: what may be live at one time never overlaps, however short of room the kernel is.
 */
#include "passes/simt/shared.h"

enum { SOFT_LIMIT = 48 << 10, MBAR_ALIGN = 16, MBAR_BYTES = 8 };

typedef struct Placing {
    int end;   /* behind all places so far */
    int limit; /* bytes that the target has */
} Placing;

/* Moves *at behind each of the bytes that it overlaps then; false when there are none. */
static bool
step_over(const BytesList *v, int *at, int size, int align)
{
    int from = *at;
    for (int i = 0; i < v->n; i++) {
        int end = v->at[i].at + v->at[i].size;
        if (*at < end && v->at[i].at < *at + size)
            *at = round_up(end, align);
    }
    return *at != from;
}

/* The lowest bytes outside of what is live and, if asked, of what is being read. */
static int
find_gap(const InUse *u, int size, int align, bool avoid_read)
{
    int at = 0;
    while (step_over(&u->live, &at, size, align) ||
           (avoid_read && step_over(&u->read, &at, size, align)))
        ;
    return at;
}

/* Bytes behind all that nobody else may have. */
static int
room(const SharedWalk *w, const InUse *u)
{
    const Placing *p = w->data;
    int end = w->f->log2_ctas ? p->end : 0;
    for (int i = 0; i < u->live.n; i++)
        end = MAX(end, u->live.at[i].at + u->live.at[i].size);
    return MAX(0, p->limit - end);
}

/* The blocks that share a multiprocessor with places up to `end`. */
static int
n_blocks(const Func *f, int end)
{
    const Chip *chip = chip_of(f->c->opt.target.sm);
    return (int)MIN(chip_blocks_by_shared(chip, end),
                    chip->threads / (32 * block_warps(f)));
}

/* A few bytes that nobody reads any more cost less than a barrier, but not a block of a multiprocessor. Many
 * are taken from the cache: attention's gradients by 64x64, D = 128, with 16 KB more had 539 TFLOP/s on an
 * H100, without 581. */
static int
find_place(const SharedWalk *w, const InUse *u, int size, int align)
{
    enum { FEW = 2 << 10 };
    const Placing *p = w->data;
    int fresh = find_gap(u, size, align, true), least = find_gap(u, size, align, false),
        end = MAX(p->end, fresh + size), least_end = MAX(p->end, least + size);
    bool is_few = end - p->end <= FEW && !hopper_holds_fewer(w->f, n_blocks(w->f, end),
                                                             n_blocks(w->f, least_end)),
         fits = end <= p->limit && (end <= MAX(SOFT_LIMIT, p->end) || is_few);
    return fits ? fresh : least;
}

/* The place of a store whose stage o shares. */
static const SharedPlace *
place_of_stage(const Func *f, const Op *o)
{
    EACH_OP(p, f->body)
        if (p != o && p->place && has_stage(p) && share_stage(p, o))
            return p->place;
    return NULL;
}

static bool
is_stage(const Op *alloc)
{
    const Use *u = alloc->op == OP_SHARED_ALLOC ? result(alloc, 0)->uses : NULL;
    return alloc->op == OP_ROLES || (u && u->user->op == OP_MAP_STORE);
}

static BytesList
without_stages(SharedWalk *w, const BytesList *live)
{
    BytesList r = {0};
    for (int i = 0; i < live->n; i++)
        if (!is_stage(live->at[i].alloc))
            PUSH(w->f->c->arena, &r, live->at[i]);
    return r;
}

static void
place_op(SharedWalk *w, Op *o, const InUse *u)
{
    Placing *p = w->data;
    if (o->place) { /* the text's */
        p->end = MAX(p->end, o->place->at + o->place->bytes);
        return;
    }
    const SharedPlace *stage = has_stage(o) ? place_of_stage(w->f, o) : NULL;
    if (stage) {
        ir_place(o, stage->at, stage->bytes);
        return;
    }
    InUse others = *u;
    if (may_lie_in_stage(o))
        others.live = without_stages(w, &u->live), u = &others;
    Scratch k = scratch_of(w->f, o, room(w, u));
    if (!k.bytes)
        return;
    int size = (int)MIN(k.bytes, INT32_MAX / 2), at;
    if (w->f->log2_ctas) {
        at = round_up(p->end, k.align);
    } else {
        at = find_place(w, u, size, k.align);
    }
    p->end = MAX(p->end, at + size);
    if (p->end > p->limit)
        err_at(w->f->c, o->loc, RESOURCES, "shared memory", (long long)p->end,
               (long long)p->limit);
    ir_place(o, at, size)->by_warp = k.by_warp;
    if (k.is_dealt)
        ir_set_attr(o, ATTR_DEALT, 1);
    if (k.is_exchange || k.meets)
        o->place->mbar = 0; /* below */
}

/* Those that meet do so one after another, so they share the first. */
static void
place_mbars(const Block *b, int first, int *at)
{
    EACH_CONTROL_OP(o, b) {
        bool has_one = o->place && o->place->mbar >= 0;
        if (has_one && o->op == OP_MAP_LOAD) {
            o->place->mbar = first;
            *at = MAX(*at, first + MBAR_BYTES);
        } else if (has_one) {
            o->place->mbar = *at;
            *at += MBAR_BYTES;
        }
    }
}

void
pass_place_shared(Func *f)
{
    check_threads(f);
    Placing p = {.limit = shared_memory_limit(&f->c->opt.target)};
    SharedWalk w = {.f = f, .data = &p, .visit = place_op};
    shared_walk(&w);
    int at = round_up(p.end, MBAR_ALIGN);
    place_mbars(f->body, at, &at);
    if (at > p.limit)
        err_at(f->c, f->loc, RESOURCES, "shared memory", (long long)at,
               (long long)p.limit);
}
