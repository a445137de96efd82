/* order: who knows of whom, so that races.c can tell which accesses nothing orders.
 *
 * Threads of a cluster. Each has a time, and knows of every other up to some time of it. What
 * orders them hands this on: a barrier of all, at which everybody knows of everybody (a floor,
 * one number); bar.warp.sync, barriers of some, mbarriers and flags, where rows are joined.
 *
 *     thread 0   st [a]      arrive bar: bar = (1, 0)
 *     thread 1   wait bar: knows (1, 1)          ld [a]     written at 1 of thread 0: known
 *
 * Programs. Whoever releases at a place of global memory leaves there the set of programs it
 * knows of, itself included, and the launch's tick; who acquires there takes both. A program
 * knows what one of its set did before that tick. Sets only grow, so a race may be missed when
 * programs pass several flags; none is invented.
 *
 * Agents. What the async proxy does (a bulk copy, a product of a warpgroup) goes on until somebody
 * has waited for it, so it is nobody's own: an agent's, which has a column among the threads'.
 * It begins when it is asked for, and must be in order with what who asks knows of; it is known
 * of by whoever has waited at its mbarrier or for its group, and by whom these tell.
 *
 * An mbarrier or a flag of global memory orders threads and programs at once.
 */
#include "ptx/races.h"

enum { MOST_BITS = 1 << 20 }; /* programs of a set */

typedef struct Post { /* what threads of a cluster left somewhere */
    const void *at;
    uint32_t *clock;
    uint32_t
        *over; /* of an mbarrier: what was left there before its last phase was over */
    uint32_t *look; /* behind that: when each thread saw that it was; 0: it has not */
    uint32_t *product; /* behind that: its warp's next product then, its agent's time */
    const Ins *looker; /* the last */
    uint64_t phase;
} Post;

typedef struct Place { /* of global memory, where programs released */
    uint64_t address;  /* 0: free */
    uint32_t only;     /* the only one so far, from 1; 0: see known */
    Known known;
} Place;

static uint32_t
later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t *
row_of(Cluster *k, int thread)
{
    Order *o = k->order;
    if (!o->known)
        o->known = room(k, (size_t)o->n * (size_t)o->n, sizeof *o->known);
    return o->known + (size_t)thread * (size_t)o->n;
}

static void
join_clock(uint32_t *to, const uint32_t *from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = later(to[i], from[i]);
}

/* ---- who orders threads ---------------------------------------------------------------- */

static Post *
post_at(Cluster *k, const void *at, bool makes)
{
    Order *o = k->order;
    for (int i = 0; i < o->n_posts; i++)
        if (o->posts[i].at == at)
            return &o->posts[i];
    if (!makes)
        return NULL;
    o->posts = warp_room(&k->ctas[0].warps[0], o->posts, o->n_posts, &o->cap_posts,
                         sizeof *o->posts);
    o->posts[o->n_posts] = (Post){.at = at,
                                  .clock = room(k, (size_t)o->n, sizeof(uint32_t))};
    return &o->posts[o->n_posts++];
}

uint32_t *
order_clock(Cluster *k, const void *at)
{
    return post_at(k, at, true)->clock;
}

/* All that a thread knows, joined to a clock: of its block at least the floor. */
static void
put_known(Cluster *k, uint32_t *clock, int thread)
{
    Order *o = k->order;
    int first = thread / o->per_cta * o->per_cta;
    uint32_t floor = o->floor[thread / o->per_cta];
    for (int i = first; i < first + o->per_cta; i++)
        clock[i] = later(clock[i], floor);
    if (o->known)
        join_clock(clock, row_of(k, thread), o->n);
    clock[thread] = o->own[thread];
}

static void
release(Cluster *k, const void *at, int thread)
{
    put_known(k, post_at(k, at, true)->clock, thread);
    k->order->own[thread]++;
}

static void
acquire(Cluster *k, const void *at, int thread)
{
    const Post *p = post_at(k, at, false);
    if (!p)
        return;
    join_clock(row_of(k, thread), p->clock, k->order->n);
    k->order->is_wide = true;
}

/* Lanes of a warp: rows are joined, as far as they have been written. */
void
order_sync(Lanes *lanes, uint32_t m)
{
    Warp *w = warp_of(lanes);
    Order *o = order_of(w);
    if (!o)
        return;
    Cluster *k = w->cta->cluster;
    int warp = thread_of(w, 0), first = o->is_wide ? 0 : warp,
        n = o->is_wide ? o->n : LANES;
    uint32_t all[(MAX_WARPS * LANES + AGENTS) * 16];
    memset(all, 0, (size_t)n * sizeof *all);
    row_of(k, warp);
    EACH_LANE_OF(l, m) {
        join_clock(all, row_of(k, warp + l) + first, n);
        all[warp - first + l] = o->own[warp + l]++;
    }
    EACH_LANE_OF(l, m)
        memcpy(row_of(k, warp + l) + first, all, (size_t)n * sizeof *all);
}

void
order_arrive(Warp *w, const Barrier *b)
{
    if (!order_of(w) || !b->expected)
        return;
    EACH_LANE_OF(l, w->lanes.alive)
        release(w->cta->cluster, b, thread_of(w, l));
}

int
order_agent(Order *o, const void *who, bool makes)
{
    for (int k = 0; k < o->n_agents; k++)
        if (o->agent[k] == who)
            return o->n_threads + k;
    if (!makes || o->n_threads + o->n_agents == o->n)
        return -1;
    o->agent[o->n_agents] = who;
    return o->n_threads + o->n_agents++;
}

void
order_wait(Warp *w, uint32_t m, const void *agent, int64_t groups)
{
    Order *o = order_of(w);
    int k = o && groups > 0 ? order_agent(o, agent, false) : -1;
    if (k < 0)
        return;
    uint32_t time = o->base + (uint32_t)groups;
    EACH_LANE_OF(l, m) {
        uint32_t *row = row_of(w->cta->cluster, thread_of(w, l));
        row[k] = later(row[k], time);
        o->own[k] = later(o->own[k], time);
        o->is_wide = true;
    }
}

/* What was left there; NULL: everywhere. */
static void
forget(Order *o, const void *at)
{
    for (int i = 0; i < o->n_posts; i++)
        if (!at || o->posts[i].at == at) {
            free(o->posts[i].clock);
            free(o->posts[i].over);
            o->posts[i--] = o->posts[--o->n_posts];
        }
}

/* All threads of a block know of each other, and what one knows of other blocks. */
static void
level(Cta *c)
{
    Order *o = c->cluster->order;
    int first = c->rank * o->per_cta;
    uint32_t most = 0;
    if (o->known && o->is_wide && (c->cluster->n_ctas > 1 || o->n_agents)) {
        uint32_t *all = room(c->cluster, (size_t)o->n, sizeof *all);
        for (int t = first; t < first + o->per_cta; t++)
            join_clock(all, row_of(c->cluster, t), o->n);
        for (int t = first; t < first + o->per_cta; t++)
            memcpy(row_of(c->cluster, t), all, (size_t)o->n * sizeof *all);
        free(all);
    }
    for (int t = first; t < first + o->per_cta; t++)
        most = later(most, o->own[t]);
    o->floor[c->rank] = most;
    for (int t = first; t < first + o->per_cta; t++)
        o->own[t] = most + 1;
}

void
order_release(Cta *c, const Barrier *b)
{
    Order *o = c->cluster->order;
    if (!o)
        return;
    bool is_all = !b->is_part &&
                  __builtin_popcount(b->waiting) == c->n_warps - c->n_gone;
    for (int k = 0; k < c->n_warps && !is_all; k++)
        for (int l = 0; b->waiting >> k & 1 && l < LANES; l++)
            acquire(c->cluster, b, thread_of(&c->warps[k], l));
    if (is_all)
        level(c);
    forget(o, b);
}

void
order_cluster_arrive(Warp *w)
{
    if (!order_of(w))
        return;
    EACH_LANE_OF(l, w->lanes.alive)
        release(w->cta->cluster, w->cta->cluster, thread_of(w, l));
}

void
order_cluster_barrier(Cluster *k)
{
    if (!k->order)
        return;
    for (int t = 0; t < k->order->n_threads; t++)
        acquire(k, k, t);
    forget(k->order, k);
}

int
order_products(const Cluster *k, int thread)
{
    Order *o = k->order;
    int first = thread % o->per_cta / LANES & ~3;
    return order_agent(o, &k->ctas[thread / o->per_cta].warps[first], false);
}

/* A phase ends. Each thread that saw the end of the one before has done so in any order of the
 * warps: else it might come when this one, of the same parity as what it waits for, is over as
 * well. A product that its warp began behind the look is over: then it has looked. */
static void
check_looks(Warp *w, const Ins *i, int lane, const Post *p)
{
    const Order *o = order_of(w);
    for (int t = 0; t < o->n_threads; t++) {
        if (p->look[t] <= o->base || p->clock[t] >= p->look[t])
            continue;
        int column = order_products(w->cta->cluster, t);
        if (column >= 0 && p->clock[column] >= p->product[t])
            continue;
        warp_launch(w)->report.other = p->looker;
        warp_fault(w, i, lane, FAULT_RACE,
                   "race: an mbarrier's phase ends, and nothing orders that behind "
                   "thread %d's wait for the phase before",
                   t);
    }
    memset(p->look, 0, (size_t)o->n * sizeof *p->look);
}

/* Of an mbarrier: has a phase ended since somebody looked? Its top bit says which it is in. */
static Post *
phase_of(Warp *w, const Ins *i, int lane, const void *bar)
{
    uint64_t bits;
    Cluster *k = w->cta->cluster;
    size_t n = (size_t)k->order->n;
    Post *p = post_at(k, bar, true);
    if (!p->over) {
        p->over = room(k, 3 * n, sizeof *p->over);
        p->look = p->over + n;
        p->product = p->look + n;
    }
    memcpy(&bits, bar, sizeof bits);
    if (bits >> 63 != p->phase) {
        memcpy(p->over, p->clock, n * sizeof *p->over);
        check_looks(w, i, lane, p);
    }
    p->phase = bits >> 63;
    return p;
}

void
order_pass(Lanes *lanes, const Ins *i, int lane, const void *at, Handing how)
{
    Warp *w = warp_of(lanes);
    if (!order_of(w))
        return;
    Cluster *k = w->cta->cluster;
    int thread = thread_of(w, lane);
    if (how != HAND_LEAVE) {
        Post *p = phase_of(w, i, lane, at);
        join_clock(row_of(k, thread), p->over, k->order->n);
        if (how == HAND_WAIT) {
            p->look[thread] = k->order->own[thread];
            p->product[thread] = k->order->base + 1 + (uint32_t)w->mma_groups;
            p->looker = i;
        }
        k->order->is_wide = true;
        return;
    }
    /* The last to come ends the phase: before it is looked at. */
    release(k, at, thread);
    phase_of(w, i, lane, at);
}

/* ---- who orders programs --------------------------------------------------------------- */

static void
add_program(const Launch *l, const Cluster *k, Known *to, uint32_t program)
{
    uint64_t bit, *word;
    if (!to->bits)
        to->bits = room(k, l->posts->words, sizeof *to->bits);
    word = word_of(l, to, program, &bit);
    *word |= bit;
}

static void
add_known(const Launch *l, const Cluster *k, Known *to, const Known *from)
{
    if (!from->bits)
        return;
    if (!to->bits)
        to->bits = room(k, l->posts->words, sizeof *to->bits);
    for (size_t i = 0; i < l->posts->words; i++)
        to->bits[i] |= from->bits[i];
    to->tick = later(to->tick, from->tick);
}

static Place *
place_at(const Launch *l, const Cluster *k, uint64_t address)
{
    struct Posts *p = l->posts;
    if (2 * p->n >= p->cap) {
        struct Posts old = *p;
        p->cap = p->cap ? 4 * p->cap : 64; /* a power of two */
        p->row = room(k, p->cap, sizeof *p->row);
        for (size_t i = 0; i < old.cap; i++)
            if (old.row[i].address)
                *place_at(l, k, old.row[i].address) = old.row[i], p->n = old.n;
        free(old.row);
    }
    size_t i = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (p->cap - 1);
    while (p->row[i].address && p->row[i].address != address)
        i = (i + 1) & (p->cap - 1);
    p->n += !p->row[i].address;
    p->row[i].address = address;
    return &p->row[i];
}

static void
take_from(const Launch *l, const Cluster *k, const Place *at, Known *to, uint32_t self)
{
    if (at->only && at->only != self) {
        add_program(l, k, to, at->only);
        to->tick = later(to->tick, at->known.tick);
    } else if (!at->only) {
        add_known(l, k, to, &at->known);
    }
}

static void
leave_at(const Launch *l, const Cluster *k, Place *at, uint32_t self, uint32_t tick)
{
    const Known *mine = &k->order->knows;
    bool is_new = !at->only && !at->known.bits;
    if ((is_new || at->only == self) && !mine->bits) {
        at->only = self;
    } else {
        if (at->only)
            add_program(l, k, &at->known, at->only);
        at->only = 0;
        add_program(l, k, &at->known, self);
        add_known(l, k, &at->known, mine);
    }
    at->known.tick = later(at->known.tick, tick);
}

/* A strong access of global memory: takes what is there, and leaves what it knows. */
static void
pass_flag(const Cluster *k, const Ins *i, uint64_t address, bool is_store)
{
    const Launch *l = k->launch;
    Order *o = k->order;
    Place *at = place_at(l, k, address);
    uint32_t self = k->index + 1;
    take_from(l, k, at, i->order & ORDER_ACQUIRE ? &o->knows : &o->pending, self);
    if (is_store && i->order & ORDER_RELEASE)
        leave_at(l, k, at, self, ++l->posts->tick);
    else if (is_store && o->fenced)
        leave_at(l, k, at, self, o->fenced);
}

/* Where a kernel's author wrote assembly, threads of a cluster may wait for each other by it, too. */
void
order_strong(Warp *w, const Ins *i, int lane, uint64_t address, bool is_store)
{
    Cluster *k = w->cta->cluster;
    if (w->lanes.how != HOW_STRONG)
        return;
    if (address)
        pass_flag(k, i, address, is_store);
    if (w->f->mod->has_author) {
        acquire(k, k->order, thread_of(w, lane));
        release(k, k->order, thread_of(w, lane));
    }
}

void
order_fence(Lanes *lanes, uint32_t m)
{
    Warp *w = warp_of(lanes);
    Order *o = order_of(w);
    (void)m;
    if (!o)
        return;
    const Launch *l = warp_launch(w);
    add_known(l, w->cta->cluster, &o->knows, &o->pending);
    o->fenced = ++l->posts->tick;
}

/* ---- launches -------------------------------------------------------------------------- */

bool
order_begin(Launch *l)
{
    uint64_t n = (uint64_t)l->grid[0] * (uint64_t)l->grid[1] * (uint64_t)l->grid[2];
    if (!(l->posts = calloc(1, sizeof *l->posts)))
        return false;
    l->posts->words = (size_t)((n < MOST_BITS ? n : MOST_BITS) / 64 + 1);
    l->posts->tick = 1;
    return true;
}

void
order_end(Launch *l)
{
    for (size_t i = 0; l->posts && i < l->posts->cap; i++)
        free(l->posts->row[i].known.bits);
    if (l->posts)
        free(l->posts->row);
    free(l->posts);
    l->posts = NULL;
}

static void
order_new(Cluster *k)
{
    Order *o = k->order = room(k, 1, sizeof *o);
    o->per_cta = LANES * k->ctas[0].n_warps;
    o->n_threads = o->per_cta * k->n_ctas;
    o->n = o->n_threads + AGENTS * k->n_ctas;
    o->own = room(k, (size_t)o->n, sizeof *o->own);
    o->floor = room(k, (size_t)k->n_ctas, sizeof *o->floor);
}

void
order_cluster_begin(Cluster *k)
{
    if (!k->order)
        order_new(k);
    Order *o = k->order;
    for (int t = 0; t < o->n; t++)
        o->base = later(o->base, o->own[t]);
    for (int t = 0; t < o->n; t++)
        o->own[t] = o->base + 1;
    forget(o, NULL);
    o->n_agents = 0;
    o->is_wide = false;
    free(o->knows.bits);
    free(o->pending.bits);
    o->knows = o->pending = (Known){0};
    o->fenced = 0;
}

void
order_cluster_free(Cluster *k)
{
    Order *o = k->order;
    if (!o)
        return;
    forget(o, NULL);
    free(o->posts);
    free(o->own);
    free(o->floor);
    free(o->known);
    free(o->knows.bits);
    free(o->pending.bits);
    free(o);
}
