/* grid: blocks and clusters, and whose turn it is.
 *
 * Warps of a block take turns (warp_run). Blocks run one cluster at a time, so that a block's
 * memory stays warm; one that does not end (it may wait for another block) gets company, and
 * then they take turns too.
 */
#include "ptx/engine.h"
#include "ptx/specials.h"

enum { MAX_CTAS = 16 }; /* of a cluster */
enum { LONE_SLICES = 512, MAX_RESIDENT = 1024, N_SMS = 16 };

/* Of %tid.x and the others that have three: in the order of specials.h. */
static int
one_of_three(const Warp *w, int which, int lane)
{
    const Launch *l = warp_launch(w);
    const int *id = w->cta->id, tid = LANES * w->id + lane, d = which % 3;
    const int at[3] = {tid % l->block[0], tid / l->block[0] % l->block[1],
                       tid / l->block[0] / l->block[1]};
    const int of[] = {at[d],
                      l->block[d],
                      id[d],
                      l->grid[d],
                      id[d] / l->cluster[d],
                      l->grid[d] / l->cluster[d],
                      id[d] % l->cluster[d],
                      l->cluster[d]};
    return of[which / 3];
}

static uint64_t
special_value(const Warp *w, int which, int lane)
{
    const Launch *l = warp_launch(w);
    const Cta *c = w->cta;
    uint32_t bit = 1u << lane;
    if (which >= S_TID_X && which <= S_CLUSTER_NCTAID_Z)
        return (uint64_t)one_of_three(w, which - S_TID_X, lane);
    switch (which) {
    case S_CLUSTER_CTARANK: return (uint64_t)c->rank;
    case S_CLUSTER_NCTARANK: return (uint64_t)c->cluster->n_ctas;
    case S_LANEID: return (uint64_t)lane;
    case S_WARPID: return (uint64_t)w->id;
    case S_NWARPID: return (uint64_t)c->n_warps;
    case S_SMID: return (uint64_t)((c->id[0] + c->id[1] + c->id[2]) % N_SMS);
    case S_NSMID: return N_SMS;
    case S_GRIDID: return 1;
    case S_LANEMASK_EQ: return bit;
    case S_LANEMASK_LE: return bit | (bit - 1);
    case S_LANEMASK_LT: return bit - 1;
    case S_LANEMASK_GE: return ~(bit - 1);
    case S_LANEMASK_GT: return (uint32_t)~(bit | (bit - 1));
    case S_DYNAMIC_SMEM: return l->shared;
    case S_TOTAL_SMEM: return c->n_shared;
    default: return 0; /* clocks: read when they are asked */
    }
}

static bool
is_of_lane(int which)
{
    return (which >= S_TID_X && which <= S_TID_Z) || which == S_LANEID ||
           (which >= S_LANEMASK_EQ && which <= S_LANEMASK_GT);
}

static uint32_t
extern_shared_at(const Module *m)
{
    uint32_t a = m->shared_align > 16 ? m->shared_align : 16;
    return (m->shared_bytes + a - 1) & -a;
}

uint32_t
kernel_shared_bytes(const Func *f)
{
    return f->mod->shared_bytes;
}

static uint64_t
const_value(const Func *f, const Const *k)
{
    if (!k->sym)
        return k->value;
    if (k->sym->is_extern)
        return k->value + SHARED_BASE + extern_shared_at(f->mod);
    return k->value + k->sym->offset;
}

static _Noreturn void
no_memory(Launch *l)
{
    snprintf(l->report.text, sizeof l->report.text, "out of memory");
    l->report.fault = FAULT_MEMORY;
    longjmp(l->stop, 1);
}

static void
warp_new(Warp *w, const Func *f, Cta *c, int id)
{
    *w = (Warp){.lanes.owner = &warp_owner, .f = f, .cta = c, .id = id};
    void *file = NULL;
    if (posix_memalign(&file, 64, f->file_bytes + 64) == 0)
        memset(w->lanes.file = file, 0, f->file_bytes + 64);
    w->lanes.undef = calloc((1 + PARTS) * (f->n_regs + 1u), sizeof *w->lanes.undef);
    w->local = calloc(LANES, f->local_bytes + 1);
    if (!w->lanes.file || !w->lanes.undef || !w->local)
        no_memory(c->cluster->launch);
    if (wgmma_is_asked(f) && !(w->touched = calloc(f->n_regs + 1u, sizeof *w->touched)))
        no_memory(c->cluster->launch);
    w->lanes.has = (uint32_t (*)[PARTS])(w->lanes.undef + f->n_regs + 1u);
    for (int k = 0; k < f->n_consts; k++) {
        uint64_t v[LANES];
        for (int l = 0; l < LANES; l++)
            v[l] = const_value(f, &f->consts[k]);
        lanes_put(&w->lanes, f->consts[k].reg, (uint32_t)FULL, v);
    }
}

static void
warp_reset(Warp *w, int n_threads)
{
    const Func *f = w->f;
    w->state = WARP_RUNS;
    int left = n_threads - LANES * w->id;
    w->lanes.alive = w->turns.mask = left >= LANES ? (uint32_t)FULL : (1u << left) - 1;
    w->turns.pc = 0;
    w->turns.wait_pc = INT32_MAX;
    w->lanes.carry = 0;
    w->parked = 0;
    w->is_last = false;
    w->at_cluster = CLUSTER_AWAY;
    w->has_only_waited = false;
    w->n_since_pause = NOT_PAUSED;
    w->n_copies = 0;
    memset(w->bulk_groups, 0, sizeof w->bulk_groups);
    memset(w->n_issued, 0, sizeof w->n_issued);
    w->n_mma = w->n_done = 0;
    w->mma_groups = 0;
    w->n_fences = 0;
    if (w->touched)
        memset(w->touched, 0, (f->n_regs + 1) * sizeof *w->touched);
    memset(w->committed, 0, sizeof w->committed);
    memset(w->depth, 0, sizeof w->depth);
    memset(w->lanes.undef, 0xff, (f->n_regs + 1) * sizeof *w->lanes.undef);
    memset(w->lanes.has, 0, (f->n_regs + 1u) * sizeof *w->lanes.has);
    w->lanes.undef[0] = 0;
    for (int k = 0; k < f->n_specials; k++) {
        uint64_t v[LANES];
        int which = f->specials[k].which;
        for (int l = 0; l < LANES; l++)
            v[l] = l && !is_of_lane(which) ? v[0] : special_value(w, which, l);
        lanes_put(&w->lanes, f->specials[k].reg, (uint32_t)FULL, v);
    }
}

static void
cluster_free(Cluster *k)
{
    if (!k)
        return;
    races_cluster_free(k);
    late_clear(k);
    free(k->bulk);
    for (int c = 0; c < k->n_ctas; c++) {
        Cta *cta = &k->ctas[c];
        for (int n = 0; cta->warps && n < cta->n_warps; n++) {
            free(cta->warps[n].lanes.file);
            free(cta->warps[n].lanes.undef);
            free(cta->warps[n].local);
            free(cta->warps[n].copies);
            free(cta->warps[n].mma);
            free(cta->warps[n].touched);
        }
        free(cta->warps);
        free(cta->shared);
        free(cta->state);
        proxy_free(cta->proxy);
    }
    free(k->ctas);
    free(k);
}

/* *to is the caller's to free, whatever happens. */
static void
cluster_new(Launch *l, Cluster **to)
{
    Cluster *k = *to = calloc(1, sizeof *k);
    const Module *m = l->f->mod;
    if (!k)
        no_memory(l);
    k->launch = l;
    int n = l->cluster[0] * l->cluster[1] * l->cluster[2];
    if (!(k->ctas = calloc((size_t)n, sizeof *k->ctas)))
        no_memory(l);
    k->n_ctas = n;
    for (int c = 0; c < n; c++) {
        Cta *cta = &k->ctas[c];
        cta->cluster = k;
        cta->rank = c;
        cta->n_warps = (l->block[0] * l->block[1] * l->block[2] + LANES - 1) / LANES;
        cta->n_shared = l->shared ? extern_shared_at(m) + l->shared : m->shared_bytes;
        cta->shared = calloc(1, cta->n_shared + 64u);
        cta->state = malloc(cta->n_shared + 64u);
        cta->warps = calloc((size_t)cta->n_warps, sizeof *cta->warps);
        bool is_asked = proxy_is_asked(l->f);
        cta->proxy = is_asked ? proxy_new(cta->n_shared) : NULL;
        if (!cta->shared || !cta->state || !cta->warps || (is_asked && !cta->proxy))
            no_memory(l);
        for (int w = 0; w < cta->n_warps; w++)
            warp_new(&cta->warps[w], l->f, cta, w);
    }
}

/* The cluster becomes number `index` of the grid. */
static void
cluster_reset(Launch *l, Cluster *k, int64_t index)
{
    int64_t nx = l->grid[0] / l->cluster[0], ny = l->grid[1] / l->cluster[1];
    int at[3] = {(int)(index % nx), (int)(index / nx % ny), (int)(index / nx / ny)};
    k->n_slices = k->n_idle = k->hold_turns = 0;
    l->n_pauses = 0;
    k->index = (uint32_t)index;
    k->random = (l->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(index + 1);
    late_clear(k);
    races_cluster_begin(k);
    k->is_ended = false;
    for (int c = 0; c < k->n_ctas; c++) {
        Cta *cta = &k->ctas[c];
        int in[3] = {c % l->cluster[0], c / l->cluster[0] % l->cluster[1],
                     c / l->cluster[0] / l->cluster[1]};
        for (int d = 0; d < 3; d++)
            cta->id[d] = at[d] * l->cluster[d] + in[d];
        cta->n_gone = 0;
        memset(cta->state, BYTE_UNDEF, cta->n_shared);
        proxy_reset(cta->proxy);
        memset(cta->barrier, 0, sizeof cta->barrier);
        for (int w = 0; w < cta->n_warps; w++)
            warp_reset(&cta->warps[w], l->block[0] * l->block[1] * l->block[2]);
    }
}

/* The order of a turn: as they stand, or by the seed. */
static void
shuffle(Cluster *k, uint16_t *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = (uint16_t)i;
    for (int i = n - 1; k->launch->seed && i > 0; i--) {
        int j = (int)(next_random(k) % (unsigned)(i + 1));
        uint16_t x = order[i];
        order[i] = order[j];
        order[j] = x;
    }
}

static void
look_at_launch(Launch *l)
{
    if (!l->hooks->turn || l->hooks->turn(l))
        return;
    l->report.fault = FAULT_STOPPED;
    longjmp(l->stop, 1);
}

/* A seed holds some back, a warp or a warpgroup, and some turns later others: they run, and not far,
 * when all the rest only wait. So whoever may be left behind, or run ahead, is; a third of the
 * time all are on a par. A seed of more than 32 bits holds the one warp back that its upper half counts from 1,
 * to the end. */
static void
hold(Cluster *k)
{
    enum { GROUP = 4, MANY = 128, ALWAYS = 32 };
    if (!k->launch->seed || k->hold_turns-- > 0)
        return;
    if (k->launch->seed >> ALWAYS) {
        k->held = (int)(k->launch->seed >> ALWAYS) - 1, k->n_held = 1;
        return;
    }
    int per_cta = k->ctas[0].n_warps, groups = (per_cta + GROUP - 1) / GROUP;
    int cta = (int)(next_random(k) % (unsigned)k->n_ctas),
        group = (int)(next_random(k) % (unsigned)groups),
        warp = (int)(next_random(k) % (2 * GROUP));
    int n = per_cta - GROUP * group < GROUP ? per_cta - GROUP * group : GROUP;
    k->held = cta * per_cta + GROUP * group + (warp < GROUP ? warp % n : 0);
    k->n_held = next_random(k) % 3 == 0 ? 0 : warp < GROUP ? 1 : n;
    k->hold_turns = (int)(next_random(k) % MANY);
}

bool
warp_is_held(const Warp *w)
{
    const Cluster *k = w->cta->cluster;
    int i = w->cta->rank * w->cta->n_warps + w->id;
    return k->launch->seed && i >= k->held && i < k->held + k->n_held;
}

/* One turn for each warp: did any run? */
static bool
cluster_turn(Cluster *k)
{
    bool can_run = false, ended = true, only_waits = true;
    int per_cta = k->ctas[0].n_warps, n = k->n_ctas * per_cta;
    uint16_t order[MAX_CTAS * MAX_WARPS];
    hold(k);
    shuffle(k, order, n);
    for (int i = 0; i < n; i++) {
        Warp *warp = &k->ctas[order[i] / per_cta].warps[order[i] % per_cta];
        bool runs = warp->state == WARP_RUNS, waits = !k->n_idle && warp_is_held(warp);
        can_run |= runs;
        if (runs && !waits) {
            look_at_launch(k->launch);
            warp_run(warp);
            only_waits &= warp->has_only_waited;
        }
        ended &= warp->state == WARP_DONE;
    }
    k->n_slices++;
    k->n_idle = only_waits ? k->n_idle + 1 : 0; /* who is held runs in the next turn */
    k->is_ended = ended;
    return can_run;
}

/* Copies land at a look at their mbarrier, so a few turns would tell. */
static bool
waits_for_ever(const Cluster *k)
{
    enum { MANY = 64 };
    return k->n_idle > MANY;
}

static _Noreturn void
report_stuck(Warp *w)
{
    const Cta *c = w->cta;
    const Cluster *k = c->cluster;
    int here = 0, all = 0;
    if (w->state == WARP_AT_CLUSTER) {
        for (int n = 0; n < k->n_ctas; n++)
            for (int i = 0; i < c->n_warps; i++, all += LANES)
                here += k->ctas[n].warps[i].at_cluster == CLUSTER_ARRIVED ? LANES : 0;
        warp_fault(w, w->at, 0, FAULT_TIMEOUT,
                   "the cluster's barrier reached by %d of %d threads", here, all);
    }
    for (int b = 0; b < N_BARRIERS; b++) {
        const Barrier *at = &c->barrier[b];
        all = at->expected ? at->expected : LANES * c->n_warps;
        if (at->waiting >> w->id & 1 && b)
            warp_fault(w, w->at, 0, FAULT_TIMEOUT,
                       "barrier %d reached by %d of %d threads", b, at->n_threads, all);
        else if (at->waiting >> w->id & 1)
            warp_fault(w, w->at, 0, FAULT_TIMEOUT,
                       "barrier reached by %d of %d threads", at->n_threads, all);
    }
    no_memory(k->launch); /* cannot be: it waits at one of them */
}

static _Noreturn void
deadlock(Cluster *k)
{
    for (int c = 0; c < k->n_ctas; c++)
        for (int n = 0; n < k->ctas[c].n_warps; n++) {
            Warp *w = &k->ctas[c].warps[n];
            if (w->state == WARP_AT_BARRIER || w->state == WARP_AT_CLUSTER)
                report_stuck(w);
            if (w->state == WARP_RUNS)
                warp_fault(
                    w, w->at, 0, FAULT_TIMEOUT,
                    w->at->is_wgmma
                        ? "waits for ever for products that other warps of its "
                          "warpgroup do not begin"
                        : "waits for ever at an mbarrier whose phase does not end");
        }
    no_memory(k->launch); /* cannot be: somebody waits, or all have ended */
}

typedef struct Resident { /* clusters that take turns */
    Cluster *live[MAX_RESIDENT];
    int n;
} Resident;

/* Who only looks at memory pauses again and again. */
static bool
polls(const Warp *w)
{
    enum { A_FEW_TURNS = 16 * 4096 };
    return w->state == WARP_RUNS && w->n_since_pause < A_FEW_TURNS;
}

/* Some poll, the others wait for these or have ended, and nobody has written anything for long:
 * nobody in this grid ever will. */
static void
check_polls(const Launch *l, const Resident *r)
{
    enum { MANY = 1 << 14 };
    Warp *first = NULL;
    if (l->n_pauses < MANY)
        return;
    for (int k = 0; k < r->n; k++)
        for (int c = 0; c < r->live[k]->n_ctas && !r->live[k]->is_ended; c++)
            for (int n = 0; n < r->live[k]->ctas[c].n_warps; n++) {
                Warp *w = &r->live[k]->ctas[c].warps[n];
                if (w->state == WARP_RUNS && !polls(w))
                    return;
                first = !first && polls(w) ? w : first;
            }
    if (first)
        warp_fault(
            first, first->at, 0, FAULT_TIMEOUT,
            "polls for a value that nobody writes: all other programs poll, too, "
            "or have ended");
}

static void
run_grid(Launch *l, Resident *r)
{
    int64_t next = 0, ended = 0;
    int64_t count = (int64_t)l->grid[0] * l->grid[1] * l->grid[2] /
                    (l->cluster[0] * l->cluster[1] * l->cluster[2]);
    while (ended < count) {
        bool wants_company = r->n == 0;
        for (int k = 0; k < r->n; k++) {
            Cluster *c = r->live[k];
            if (c->is_ended)
                continue;
            if ((!cluster_turn(c) || waits_for_ever(c)) && !c->is_ended)
                deadlock(c); /* nobody outside of it can help */
            wants_company |= c->n_slices % LONE_SLICES == 0;
            if (c->is_ended) {
                ended++;
                if (next < count)
                    cluster_reset(l, c, next++);
            }
        }
        if (next == count || r->n == MAX_RESIDENT)
            check_polls(l, r);
        if (wants_company && next < count && r->n < MAX_RESIDENT) {
            cluster_new(l, &r->live[r->n++]);
            cluster_reset(l, r->live[r->n - 1], next++);
        }
    }
}

bool
engine_run(Launch *l)
{
    Resident *r = calloc(1, sizeof *r);
    l->report = (EngineReport){.fault = FAULT_NONE};
    if (!setjmp(l->stop)) {
        if (!r)
            no_memory(l);
        races_begin(l);
        run_grid(l, r);
    }
    for (int k = 0; r && k < r->n; k++)
        cluster_free(r->live[k]);
    free(r);
    races_end(l);
    return l->report.fault == FAULT_NONE;
}
