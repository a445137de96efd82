/* races: accesses of one byte that nothing orders, one of them a write.
 *
 * Each cell of memory knows its last write and two of its reads; order.c says whether who comes
 * now knows of these.
 *
 * Equal values are no race: code may let all lanes store the same partial result. So a write
 * that meets another is looked at again when it has been done (Suspect). In global memory a
 * program's own loads meet no store of the same program: threads may hold copies of an element,
 * of which one stores. Of many readers two are remembered: the first, and the latest.
 */
#include "ptx/races.h"

/* Threads; bytes of an access; log2 of bytes. */
enum { READERS = 2, WIDEST = 32, PAGE = 12 };
/* log2 of a cell's bytes before an access was smaller: a lane mostly loads and stores as many. */
enum { CELL = 4 };

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
    if (!o->known || y->r_thread[k] >= o->n_threads)
        return false;
    int column = order_products(c, y->r_thread[k]);
    return column >= 0 &&
           o->known[(size_t)thread * (size_t)o->n + column] >= y->r_product[k];
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
    int actor = o ? order_agent(o, agent, true) : -1;
    if (actor < 0)
        return;
    bool is_product = i->is_wgmma, is_in_group = agent == &w->bulk_groups[lane];
    if (is_product || is_in_group)
        o->own[actor] = o->base + 1 +
                        (uint32_t)(is_product ? w->mma_groups : w->bulk_groups[lane]);
    else
        order_clock(w->cta->cluster, agent)[actor] = ++o->own[actor];
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
    if (!order_of(w) || (w->lanes.how == HOW_PLAIN &&
                         races_shared_row(w, i, lane, 1, c, at, n, is_store)))
        return;
    order_strong(w, i, lane, 0, is_store);
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
    const Order *o = order_of(w);
    if (!o || (w->lanes.how == HOW_PLAIN &&
               races_global_row(w, i, lane, 1, c, address, n, is_store)))
        return;
    races_settle(warp_launch(w));
    order_strong(w, i, lane, address, is_store);
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
    l->suspect = calloc(1, sizeof *l->suspect);
    if (!l->suspect || !order_begin(l)) {
        l->report.fault = FAULT_MEMORY;
        longjmp(l->stop, 1);
    }
}

void
races_end(Launch *l)
{
    order_end(l);
    free(l->suspect);
    l->suspect = NULL;
}

void
races_cluster_begin(Cluster *k)
{
    if (!k->launch->is_checked)
        return;
    for (int c = 0; c < k->n_ctas && !k->ctas[c].cells; c++) {
        struct SharedCells *s = k->ctas[c].cells = room(k, 1, sizeof *s);
        s->n = k->ctas[c].n_shared + 64;
        s->log2 = CELL;
        s->cell = room(k, (s->n >> s->log2) + 1u, sizeof *s->cell);
    }
    order_cluster_begin(k);
}

void
races_cluster_free(Cluster *k)
{
    for (int c = 0; k->ctas && c < k->n_ctas; c++) {
        if (k->ctas[c].cells)
            free(k->ctas[c].cells->cell);
        free(k->ctas[c].cells);
    }
    order_cluster_free(k);
}
