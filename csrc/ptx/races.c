/* races: accesses of one byte that nothing orders, one of them a write.
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
 * Equal values are no race: code may let all lanes store the same partial result. So a write
 * that meets another is looked at again when it has been done (Suspect). In global memory a
 * program's own loads meet no store of the same program: threads may hold copies of an element,
 * of which one stores. Of many readers two are remembered: the first, and the latest.
 *
 * Shared and global memory are one file, because an access asks both orders: an mbarrier or a
 * flag of global memory orders threads and programs at once.
 */
#include "ptx/engine.h"

/* Threads; bytes of an access; log2 of bytes; programs of a set. */
enum { READERS = 2, WIDEST = 32, PAGE = 12, MOST_BITS = 1 << 20 };
/* log2 of a cell's bytes before an access was smaller: a lane mostly loads and stores as many. */
enum { CELL = 4 };
enum { AGENTS = 64 }; /* of a block; what more of them do is not looked at */

typedef struct SharedCell {
    uint32_t w_time, r_time[READERS], w_ins, r_ins[READERS];
    uint32_t r_product[READERS]; /* the reading warp's next product: its agent's time */
    uint16_t w_thread, r_thread[READERS];
    bool is_atomic; /* the write */
} SharedCell;

struct SharedCells {
    uint32_t n; /* bytes */
    int log2;   /* bytes of a cell */
    SharedCell *cell;
};

typedef struct GlobalCell { /* programs count from 1; 0: none */
    uint32_t w_program, w_tick, w_time, w_ins;
    uint32_t r_program[READERS], r_tick[READERS], r_ins[READERS];
    uint16_t w_thread;
    bool is_atomic;
} GlobalCell;

struct GlobalCells {
    uint64_t start, n_pages;
    int log2;
    GlobalCell **page; /* of 1 << PAGE bytes each, once it is touched */
};

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

/* Programs of which others are known, up to a tick. */
typedef struct Known {
    uint64_t *bits; /* NULL: none */
    uint32_t tick;
} Known;

typedef struct Order {
    int n, per_cta; /* threads and agents; threads */
    int n_threads;
    const void *agent[16 * AGENTS]; /* from n_threads on: who stands for it */
    int n_agents;
    uint32_t base;   /* times up to here are of programs before */
    uint32_t *own;   /* time of each thread */
    uint32_t *floor; /* of each block */
    uint32_t *known; /* n of each thread, beyond the floor; NULL: nothing */
    bool is_wide;    /* of threads of other warps, too */
    Post *posts;
    int n_posts, cap_posts;
    Known knows, pending; /* pending: read by what is relaxed, known after a fence */
    uint32_t fenced;      /* the tick of the last fence; 0: none */
} Order;

typedef struct Place { /* of global memory, where programs released */
    uint64_t address;  /* 0: free */
    uint32_t only;     /* the only one so far, from 1; 0: see known */
    Known known;
} Place;

struct Posts {
    Place *row;
    size_t n, cap;
    uint32_t tick;
    size_t words; /* of a set */
};

/* Two accesses that nothing orders: mine, and another. */
typedef struct Meeting {
    Warp *w;
    const Ins *i;
    int lane, actor, other_thread;     /* threads or agents; of global memory: none */
    uint32_t other_ins, other_program; /* 0: of shared memory */
    uint64_t address;                  /* of global memory */
    uint32_t bytes;
    bool writes, wrote; /* I, the other */
} Meeting;

struct Suspect {
    const uint8_t *at; /* NULL: nobody is suspected */
    uint8_t was[WIDEST];
    Meeting met;
};

static _Noreturn void
no_room(const Cluster *k)
{
    warp_fault(&k->ctas[0].warps[0], NULL, 0, FAULT_MEMORY, "out of memory");
}

static void *
room(const Cluster *k, size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p)
        no_room(k);
    return p;
}

static Order *
order_of(const Warp *w)
{
    return w->cta->cluster->order;
}

static int
thread_of(const Warp *w, int lane)
{
    return w->cta->rank * order_of(w)->per_cta + LANES * w->id + lane;
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
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

/* Does a thread know what another did at that time? */
static bool
knows(const Order *o, int thread, int other, uint32_t time)
{
    int cta = thread / o->per_cta;
    return thread == other || time <= o->base ||
           (time <= o->floor[cta] && other / o->per_cta == cta) ||
           (o->known && time <= o->known[(size_t)thread * (size_t)o->n + other]);
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

/* All that a thread knows, joined to a clock: of its block at least the floor. */
static void
put_known(Cluster *k, uint32_t *clock, int thread)
{
    Order *o = k->order;
    int first = thread / o->per_cta * o->per_cta;
    uint32_t floor = o->floor[thread / o->per_cta];
    for (int i = first; i < first + o->per_cta; i++)
        clock[i] = clock[i] > floor ? clock[i] : floor;
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
races_sync(Lanes *lanes, uint32_t m)
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
races_arrive(Warp *w, const Barrier *b)
{
    if (!order_of(w) || !b->expected)
        return;
    for (int l = 0; l < LANES; l++)
        if (w->lanes.alive >> l & 1)
            release(w->cta->cluster, b, thread_of(w, l));
}

/* Its number; -1: it has none, or, who makes one, there are too many. */
static int
agent_of(Order *o, const void *who, bool makes)
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
races_wait(Warp *w, uint32_t m, const void *agent, int64_t groups)
{
    Order *o = order_of(w);
    int k = o && groups > 0 ? agent_of(o, agent, false) : -1;
    for (int l = 0; k >= 0 && l < LANES; l++) {
        if (!(m >> l & 1))
            continue;
        uint32_t *row = row_of(w->cta->cluster, thread_of(w, l)),
                 time = o->base + (uint32_t)groups;
        row[k] = row[k] > time ? row[k] : time;
        o->own[k] = o->own[k] > time ? o->own[k] : time;
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
        most = o->own[t] > most ? o->own[t] : most;
    o->floor[c->rank] = most;
    for (int t = first; t < first + o->per_cta; t++)
        o->own[t] = most + 1;
}

void
races_release(Cta *c, const Barrier *b)
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
races_cluster_arrive(Warp *w)
{
    for (int l = 0; order_of(w) && l < LANES; l++)
        if (w->lanes.alive >> l & 1)
            release(w->cta->cluster, w->cta->cluster, thread_of(w, l));
}

void
races_cluster_barrier(Cluster *k)
{
    if (!k->order)
        return;
    for (int t = 0; t < k->order->n_threads; t++)
        acquire(k, k, t);
    forget(k->order, k);
}

/* A product's column in a clock: of the warpgroup of a thread; -1: it has begun none. */
static int
column_of_products(const Cluster *k, int thread)
{
    Order *o = k->order;
    int first = thread % o->per_cta / LANES & ~3;
    return agent_of(o, &k->ctas[thread / o->per_cta].warps[first], false);
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
        int column = column_of_products(w->cta->cluster, t);
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
races_order(Lanes *lanes, const Ins *i, int lane, const void *at, Handing how)
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

/* In a large grid some programs share a bit: a race between these may be missed. */
static uint64_t *
word_of(const Launch *l, const Known *k, uint32_t program, uint64_t *bit)
{
    uint64_t at = (program - 1) % (64 * l->posts->words);
    *bit = UINT64_C(1) << at % 64;
    return &k->bits[at / 64];
}

static bool
has_program(const Launch *l, const Known *k, uint32_t program, uint32_t tick)
{
    uint64_t bit;
    return k->bits && tick < k->tick && *word_of(l, k, program, &bit) & bit;
}

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
    to->tick = to->tick > from->tick ? to->tick : from->tick;
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
        to->tick = to->tick > at->known.tick ? to->tick : at->known.tick;
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
    at->known.tick = at->known.tick > tick ? at->known.tick : tick;
}

/* A strong access of global memory: takes what is there, and leaves what it knows. */
static void
pass_flag(Warp *w, const Ins *i, uint64_t address, bool is_store)
{
    const Launch *l = warp_launch(w);
    const Cluster *k = w->cta->cluster;
    Order *o = k->order;
    Place *at = place_at(l, k, address);
    uint32_t self = k->index + 1;
    take_from(l, k, at, i->order & ORDER_ACQUIRE ? &o->knows : &o->pending, self);
    if (is_store && i->order & ORDER_RELEASE)
        leave_at(l, k, at, self, ++l->posts->tick);
    else if (is_store && o->fenced)
        leave_at(l, k, at, self, o->fenced);
}

void
races_fence(Lanes *lanes, uint32_t m)
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

/* ---- reports --------------------------------------------------------------------------- */

/* "thread 7", "a product", "a bulk copy" */
static void
name_of(const Warp *w, int actor, const Ins *i, char to[64])
{
    if (actor < order_of(w)->n_threads)
        snprintf(to, 64, "thread %d", actor);
    else
        snprintf(to, 64, "%s", i->is_wgmma ? "a product" : "a bulk copy");
}

static _Noreturn void
tell(Meeting m)
{
    EngineReport *r = &warp_launch(m.w)->report;
    const char *does = m.writes ? "writes" : "reads",
               *did = m.wrote ? "written" : "read";
    r->other = &m.w->f->code[m.other_ins];
    r->other_program = m.other_program;
    r->other_is_store = m.wrote;
    r->address = m.address;
    r->bytes = m.other_program ? m.bytes : 0;
    r->is_store = m.writes;
    if (m.other_program)
        warp_fault(m.w, m.i, m.lane, FAULT_RACE,
                   "race: %s memory that program %u has %s, and nothing orders these",
                   does, m.other_program - 1, did);
    char actor[64], other[64];
    name_of(m.w, m.actor, m.i, actor);
    name_of(m.w, m.other_thread, r->other, other);
    warp_fault(m.w, m.i, m.lane, FAULT_RACE,
               "race: %s %s shared memory that %s has %s, and nothing orders them",
               actor, does, other, did);
}

void
races_settle(Launch *l)
{
    struct Suspect *s = l->suspect;
    if (!s || !s->at)
        return;
    const uint8_t *at = s->at;
    s->at = NULL;
    if (memcmp(at, s->was, s->met.bytes) != 0)
        tell(s->met);
}

/* The same access, and whom it meets. */
static Meeting
with(const Meeting *me, int thread, uint32_t program, uint32_t ins, bool wrote)
{
    Meeting m = *me;
    m.other_thread = thread;
    m.other_program = program;
    m.other_ins = ins;
    m.wrote = wrote;
    return m;
}

/* Two writes: of equal values? Told at once where one is atomic, or one reads. */
static void
meet(Meeting m, const uint8_t *at, bool may_be_equal)
{
    struct Suspect *s = warp_launch(m.w)->suspect;
    if (!may_be_equal)
        tell(m);
    if (s->at || m.bytes > WIDEST)
        return;
    s->at = at;
    s->met = m;
    memcpy(s->was, at, m.bytes);
}

static uint32_t
number_of(const Warp *w, const Ins *i)
{
    return (uint32_t)(i - w->f->code);
}

/* ---- shared memory --------------------------------------------------------------------- */

/* A product begins for all warps of a warpgroup, each with what it has read for it before: who knows
 * that it is over knows that these reads are, too. */
static bool
is_read_for_product(const Cluster *c, int thread, const SharedCell *y, int k)
{
    const Order *o = c->order;
    int reader = y->r_thread[k], first = reader % o->per_cta / LANES & ~3;
    if (!o->known || reader >= o->n_threads)
        return false;
    const void *group = &c->ctas[reader / o->per_cta].warps[first];
    for (int a = 0; a < o->n_agents; a++)
        if (o->agent[a] == group)
            return o->known[(size_t)thread * (size_t)o->n + o->n_threads + a] >=
                   y->r_product[k];
    return false;
}

/* Is all that a cell knows in order with an access of a thread? */
static inline bool
has_known(const Order *o, int thread, const SharedCell *y, bool writes)
{
    bool knows_all = knows(o, thread, y->w_thread, y->w_time);
    for (int k = 0; k < READERS && writes; k++)
        knows_all &= knows(o, thread, y->r_thread[k], y->r_time[k]);
    return knows_all;
}

static void
note_read(const Warp *w, SharedCell *y, int thread, int actor, uint32_t ins)
{
    const Order *o = order_of(w);
    int k = 0;
    while (k < READERS - 1 && y->r_thread[k] != actor &&
           !knows(o, thread, y->r_thread[k], y->r_time[k]))
        k++;
    y->r_thread[k] = (uint16_t)actor;
    y->r_time[k] = o->own[actor];
    y->r_product[k] = o->base + 1 + (uint32_t)w->mma_groups;
    y->r_ins[k] = ins;
}

static void
note_write(const Order *o, SharedCell *y, int actor, uint32_t ins, bool is_atomic)
{
    y->w_thread = (uint16_t)actor;
    y->w_time = o->own[actor];
    y->w_ins = ins;
    y->is_atomic = is_atomic;
}

/* Cells of half the size, as long as they are larger than an access. */
static void
halve(const Cluster *k, struct SharedCells *s, uint32_t access)
{
    while (access & ((1u << s->log2) - 1)) {
        size_t n = (size_t)(s->n >> s->log2) + 1;
        SharedCell *half = room(k, 2 * n, sizeof *half);
        for (size_t i = 0; i < n; i++)
            half[2 * i] = half[2 * i + 1] = s->cell[i];
        free(s->cell);
        s->cell = half;
        s->log2--;
    }
}

static void
shared_cell(const Meeting *m, const Order *o, int thread, SharedCell *y,
            const uint8_t *at)
{
    bool is_atomic = m->w->lanes.how != HOW_PLAIN;
    if (!(is_atomic && y->is_atomic) && !knows(o, thread, y->w_thread, y->w_time))
        meet(with(m, y->w_thread, 0, y->w_ins, true), at,
             m->writes && !is_atomic && !y->is_atomic && m->actor == thread);
    if (!m->writes) {
        if (!is_atomic)
            note_read(m->w, y, thread, m->actor, number_of(m->w, m->i));
        return;
    }
    for (int k = 0; k < READERS; k++)
        if (!knows(o, thread, y->r_thread[k], y->r_time[k]) &&
            !is_read_for_product(m->w->cta->cluster, thread, y, k))
            tell(with(m, y->r_thread[k], 0, y->r_ins[k], false));
    note_write(o, y, m->actor, number_of(m->w, m->i), is_atomic);
}

static void
shared_cells(const Meeting *m, const Cta *c, uint32_t at)
{
    struct SharedCells *s = c->cells;
    races_settle(warp_launch(m->w));
    halve(m->w->cta->cluster, s, at | m->bytes);
    const Order *o = order_of(m->w);
    int thread = thread_of(m->w, m->lane);
    for (uint32_t k = at >> s->log2; k < (at + m->bytes) >> s->log2; k++)
        shared_cell(m, o, thread, &s->cell[k], c->shared + at);
}

void
races_async(Warp *w, const Ins *i, int lane, const Cta *c, uint32_t at, uint32_t n,
            bool is_store, const void *agent)
{
    Order *o = order_of(w);
    Cluster *k = w->cta->cluster;
    int actor = o ? agent_of(o, agent, true) : -1;
    if (actor < 0)
        return;
    bool is_product = i->is_wgmma, is_in_group = agent == &w->bulk_groups[lane];
    if (is_product || is_in_group)
        o->own[actor] = o->base + 1 +
                        (uint32_t)(is_product ? w->mma_groups : w->bulk_groups[lane]);
    else
        post_at(k, agent, true)->clock[actor] = ++o->own[actor];
    shared_cells(&(Meeting){.w = w,
                            .i = i,
                            .lane = lane,
                            .actor = actor,
                            .bytes = n,
                            .writes = is_store},
                 c, at);
}

void
races_shared(Warp *w, const Ins *i, int lane, const Cta *c, uint32_t at, uint32_t n,
             bool is_store)
{
    Order *o = order_of(w);
    if (!o || (w->lanes.how == HOW_PLAIN &&
               races_shared_row(w, i, lane, 1, c, at, n, is_store)))
        return;
    races_settle(warp_launch(w));
    if (w->lanes.how == HOW_STRONG && w->f->mod->has_author) {
        acquire(w->cta->cluster, o, thread_of(w, lane));
        release(w->cta->cluster, o, thread_of(w, lane));
    }
    shared_cells(&(Meeting){.w = w,
                            .i = i,
                            .lane = lane,
                            .actor = thread_of(w, lane),
                            .bytes = n,
                            .writes = is_store},
                 c, at);
}

bool
races_shared_row(Warp *w, const Ins *i, int lane, int n_lanes, const Cta *c,
                 uint32_t at, uint32_t n, bool is_store)
{
    const Order *o = order_of(w);
    struct SharedCells *s = c->cells;
    int thread = thread_of(w, lane);
    races_settle(warp_launch(w));
    halve(w->cta->cluster, s, at | n);
    SharedCell *y = &s->cell[at >> s->log2];
    for (int end = thread + n_lanes; thread < end; thread++)
        for (uint32_t k = 0; k < n >> s->log2; k++, y++) {
            if (!has_known(o, thread, y, is_store))
                return false;
            if (is_store)
                note_write(o, y, thread, number_of(w, i), false);
            else
                note_read(w, y, thread, thread, number_of(w, i));
        }
    return true;
}

/* ---- global memory --------------------------------------------------------------------- */

struct GlobalCells *
global_cells_new(uint64_t start, uint64_t bytes)
{
    struct GlobalCells *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->start = start & ~UINT64_C(15);
    c->n_pages = ((start - c->start + bytes) >> PAGE) + 1;
    c->log2 = CELL;
    c->page = calloc(c->n_pages, sizeof(GlobalCell *));
    if (c->page)
        return c;
    free(c);
    return NULL;
}

void
global_cells_free(struct GlobalCells *c)
{
    for (uint64_t i = 0; c && i < c->n_pages; i++)
        free(c->page[i]);
    if (c)
        free(c->page);
    free(c);
}

static void
halve_global(const Cluster *k, struct GlobalCells *c, uint64_t access)
{
    for (; access & ((1u << c->log2) - 1); c->log2--) {
        size_t n = (size_t)1 << (PAGE - c->log2);
        for (uint64_t p = 0; p < c->n_pages; p++) {
            if (!c->page[p])
                continue;
            GlobalCell *half = room(k, 2 * n, sizeof *half);
            for (size_t i = 0; i < n; i++)
                half[2 * i] = half[2 * i + 1] = c->page[p][i];
            free(c->page[p]);
            c->page[p] = half;
        }
    }
}

static GlobalCell *
global_cell_at(const Cluster *k, struct GlobalCells *c, uint64_t at)
{
    GlobalCell **page = &c->page[at >> PAGE];
    if (!*page)
        *page = room(k, (size_t)1 << (PAGE - c->log2), sizeof **page);
    return &(*page)[(at & ((1 << PAGE) - 1)) >> c->log2];
}

static bool
is_news(const Warp *w, uint32_t program, uint32_t tick)
{
    const Cluster *k = w->cta->cluster;
    return program && program != k->index + 1 &&
           !has_program(k->launch, &k->order->knows, program, tick);
}

/* Has another written there, and nothing orders that before an access? */
static bool
is_new_write(const Warp *w, const Order *o, int thread, const GlobalCell *y,
             bool writes)
{
    return is_news(w, y->w_program, y->w_tick) ||
           (writes && y->w_program == w->cta->cluster->index + 1 &&
            !knows(o, thread, y->w_thread, y->w_time));
}

/* A reader that nothing orders; READERS: none. */
static int
new_reader(const Warp *w, const GlobalCell *y)
{
    int k = 0;
    while (k < READERS && !is_news(w, y->r_program[k], y->r_tick[k]))
        k++;
    return k;
}

static void
note_global(const Warp *w, const Order *o, int thread, const Ins *i, GlobalCell *y,
            bool writes)
{
    uint32_t self = w->cta->cluster->index + 1, tick = warp_launch(w)->posts->tick;
    bool is_atomic = w->lanes.how != HOW_PLAIN;
    if (!writes) {
        if (is_atomic || y->r_program[0] == self)
            return;
        int k = is_news(w, y->r_program[0], y->r_tick[0]);
        y->r_program[k] = self;
        y->r_tick[k] = tick;
        y->r_ins[k] = number_of(w, i);
        return;
    }
    y->w_program = self;
    y->w_tick = tick;
    y->w_thread = (uint16_t)thread;
    y->w_time = o->own[thread];
    y->w_ins = number_of(w, i);
    y->is_atomic = is_atomic;
}

static void
global_cell(const Meeting *m, const Order *o, int thread, GlobalCell *y)
{
    const Warp *w = m->w;
    bool is_atomic = w->lanes.how != HOW_PLAIN;
    if (is_new_write(w, o, thread, y, m->writes) && !(is_atomic && y->is_atomic))
        meet(with(m, 0, y->w_program, y->w_ins, true),
             (const uint8_t *)(uintptr_t)m->address,
             m->writes && !is_atomic && !y->is_atomic);
    int k = m->writes ? new_reader(w, y) : READERS;
    if (k < READERS)
        tell(with(m, 0, y->r_program[k], y->r_ins[k], false));
    note_global(w, o, thread, m->i, y, m->writes);
}

bool
races_global_row(Warp *w, const Ins *i, int lane, int n_lanes, struct GlobalCells *c,
                 uint64_t address, uint32_t n, bool is_store)
{
    const Order *o = order_of(w);
    const Cluster *k = w->cta->cluster;
    int thread = thread_of(w, lane);
    uint64_t at = address - c->start;
    races_settle(warp_launch(w));
    halve_global(k, c, address | n);
    for (int end = thread + n_lanes; thread < end; thread++)
        for (uint64_t behind = at + n; at < behind; at += 1u << c->log2) {
            GlobalCell *y = global_cell_at(k, c, at);
            if (is_new_write(w, o, thread, y, is_store) ||
                (is_store && new_reader(w, y) < READERS))
                return false;
            note_global(w, o, thread, i, y, is_store);
        }
    return true;
}

void
races_global(Warp *w, const Ins *i, int lane, struct GlobalCells *c, uint64_t address,
             uint32_t n, bool is_store)
{
    Order *o = order_of(w);
    if (!o || (w->lanes.how == HOW_PLAIN &&
               races_global_row(w, i, lane, 1, c, address, n, is_store)))
        return;
    races_settle(warp_launch(w));
    if (w->lanes.how == HOW_STRONG) {
        pass_flag(w, i, address, is_store);
        if (w->f->mod->has_author) {
            acquire(w->cta->cluster, o, thread_of(w, lane));
            release(w->cta->cluster, o, thread_of(w, lane));
        }
    }
    const Meeting me = {.w = w,
                        .i = i,
                        .lane = lane,
                        .address = address,
                        .bytes = n,
                        .writes = is_store};
    halve_global(w->cta->cluster, c, address | n);
    for (uint64_t at = address - c->start, end = at + n; at < end; at += 1u << c->log2)
        global_cell(&me, o, thread_of(w, lane), global_cell_at(w->cta->cluster, c, at));
}

/* ---- launches -------------------------------------------------------------------------- */

void
races_begin(Launch *l)
{
    if (!l->is_checked)
        return;
    l->posts = calloc(1, sizeof *l->posts);
    l->suspect = calloc(1, sizeof *l->suspect);
    if (!l->posts || !l->suspect) {
        l->report.fault = FAULT_MEMORY;
        longjmp(l->stop, 1);
    }
    uint64_t n = (uint64_t)l->grid[0] * (uint64_t)l->grid[1] * (uint64_t)l->grid[2];
    l->posts->words = (size_t)((n < MOST_BITS ? n : MOST_BITS) / 64 + 1);
    l->posts->tick = 1;
}

void
races_end(Launch *l)
{
    for (size_t i = 0; l->posts && i < l->posts->cap; i++)
        free(l->posts->row[i].known.bits);
    if (l->posts)
        free(l->posts->row);
    free(l->posts);
    free(l->suspect);
    l->posts = NULL;
    l->suspect = NULL;
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
    for (int c = 0; c < k->n_ctas; c++) {
        struct SharedCells *s = k->ctas[c].cells = room(k, 1, sizeof *s);
        s->n = k->ctas[c].n_shared + 64;
        s->log2 = CELL;
        s->cell = room(k, (s->n >> s->log2) + 1u, sizeof *s->cell);
    }
}

void
races_cluster_begin(Cluster *k)
{
    if (!k->launch->is_checked)
        return;
    if (!k->order)
        order_new(k);
    Order *o = k->order;
    for (int t = 0; t < o->n; t++)
        o->base = o->own[t] > o->base ? o->own[t] : o->base;
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
races_cluster_free(Cluster *k)
{
    Order *o = k->order;
    for (int c = 0; k->ctas && c < k->n_ctas; c++) {
        if (k->ctas[c].cells)
            free(k->ctas[c].cells->cell);
        free(k->ctas[c].cells);
    }
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
