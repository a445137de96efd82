/* exec: a warp, its lanes with the lowest pc first; barriers of its block and its cluster.
 *
 * Where lanes of a warp branch to different places, those with the lowest pc run first and the
 * others wait, so the lanes converge at the first instruction that both paths reach: LLVM mostly
 * places such blocks below both. Where it does not (the end of a rotated loop), lanes wait at the
 * next instruction that needs the whole warp, as on a GPU. It is an error when all lanes wait,
 * and at different instructions.
 */
#include "ptx/engine.h"

#include <time.h>
#include <stdarg.h>

enum {
    SLICE = 4096, /* instructions of a turn */
    SHORT_SLICE = 256,
    HELD_SLICE = 32,
    LOOK = 8 /* of a loop that looks at an mbarrier */
};
static const uint64_t most_instructions = UINT64_C(1) << 31;

void
warp_fault(Warp *w, const Ins *i, int lane, EngineFault fault, const char *fmt, ...)
{
    Launch *l = warp_launch(w);
    EngineReport *r = &l->report;
    races_settle(l); /* what came before is told before */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->text, sizeof r->text, fmt, ap);
    va_end(ap);
    r->fault = fault;
    r->ins = i;
    memcpy(r->block, w->cta->id, sizeof r->block);
    r->warp = w->id;
    r->lane = lane;
    longjmp(l->stop, 1);
}

void *
warp_room(Warp *w, void *rows, int n, int *cap, size_t size)
{
    int more = n < *cap ? *cap : 2 * *cap + 16;
    void *grown = more == *cap ? rows : realloc(rows, (size_t)more * size);
    if (!grown)
        warp_fault(w, NULL, 0, FAULT_MEMORY, "out of memory");
    *cap = more;
    return grown;
}

/* ---- what lanes ask for ---------------------------------------------------------- */

/* Every read sees it later: four ns an instruction, from the host's time at the first one on. */
static uint64_t
own_clock(Lanes *lanes)
{
    Launch *l = warp_launch(warp_of(lanes));
    struct timespec now;
    l->n_pauses = 0; /* the poll ends by the time */
    if (!l->asked_at && !clock_gettime(CLOCK_MONOTONIC, &now))
        l->asked_at = (uint64_t)now.tv_sec * UINT64_C(1000000000) +
                      (uint64_t)now.tv_nsec;
    return l->asked_at + 4 * l->n_run;
}

static __attribute__((noreturn)) void
own_fault(Lanes *lanes, const Ins *i, int lane, const char *text)
{
    warp_fault(warp_of(lanes), i, lane, FAULT_INVALID, "%s", text);
}

/* Lanes that were to come here: where the first of them stands is told. */
void
warp_apart(Lanes *lanes, const Ins *i, int lane, uint32_t missing)
{
    Warp *w = warp_of(lanes);
    int first = __builtin_ctz(missing), pc = w->turns.lane_pc[first];
    int n_here = __builtin_popcount(lanes->alive & ~missing);
    char where[96] = "pass by";
    if (!(w->turns.mask >> first & 1) && pc >= 0 && pc < w->f->n_code) {
        const Ins *at = &w->f->code[pc];
        int line = i->author_line && at->author_line ? at->author_line : at->src;
        snprintf(where, sizeof where, "are at %.60s in line %d", at->words,
                 line ? line : at->line);
    }
    warp_fault(
        w, i, lane, FAULT_BARRIER,
        "%.60s reached by %d of the warp's %d threads: it has diverged, lanes %#x %s",
        i->words, n_here, __builtin_popcount(lanes->alive), missing, where);
}

static void
own_access(const Lanes *lanes, const Ins *i, uint32_t m, Space space,
           const uint64_t address[LANES], int bytes, bool is_store)
{
    const Launch *l = warp_launch((const Warp *)(const void *)lanes);
    if (l->hooks->access)
        l->hooks->access(l, i, m, space, address, bytes, is_store);
}

static void
own_fence_async(Lanes *lanes, uint32_t m)
{
    proxy_fence(warp_of(lanes), m);
}

/* Which proxy wrote what of other blocks' memory is not known. */
void
warp_async(Lanes *lanes, const Ins *i, int lane, Space space, uint64_t address,
           uint32_t n, bool is_store, const void *agent)
{
    Warp *w = warp_of(lanes);
    uint32_t at;
    Cta *c = warp_cta_of(w, space, address, &at);
    if (!c)
        return;
    races_async(w, i, lane, c, at, n, is_store, agent);
    if (c == w->cta)
        proxy_access(w, i, lane, at, n, is_store);
    proxy_bar(w, i, lane, agent);
}

void
warp_order(Lanes *lanes, const Ins *i, int lane, const void *at, Handing how)
{
    proxy_order(warp_of(lanes), at, how != HAND_LEAVE);
    order_pass(lanes, i, lane, at, how);
}

/* Others have their turn: what it waits for is theirs to do. */
void
warp_goes_on(Lanes *lanes, const Ins *i)
{
    Warp *w = warp_of(lanes);
    w->is_waiting = true;
    w->at = i;
}

const Owner warp_owner = {
    .bytes = warp_bytes,
    .row = warp_row,
    .states = warp_states,
    .access = own_access,
    .clock = own_clock,
    .fence_async = own_fence_async,
    .fence = order_fence,
    .fault = own_fault,
};

/* ---- lanes that part and meet ---------------------------------------------------- */

/* Of the lanes in the deepest call, those with the lowest pc run; not those that wait
 * where all must meet, unless nobody else is left to come. */
static void
choose_lanes(Warp *w)
{
    if (!(w->lanes.alive & ~w->parked)) {
        w->parked = 0;
        w->is_last = true;
    }
    int deepest = -1;
    uint32_t among = 0;
    EACH_LANE_OF(l, w->lanes.alive & ~w->parked) {
        if (w->depth[l] > deepest)
            deepest = w->depth[l], among = 0;
        among |= (uint32_t)(w->depth[l] == deepest) << l;
    }
    turns_choose(&w->turns, among);
}

/* The lanes wait here for the others, which run first. */
static void
park(Warp *w)
{
    w->parked |= w->turns.mask;
    choose_lanes(w);
}

/* Arguments there, results back: bytes of local memory. */
static void
call(Warp *w, const Ins *i, uint32_t m)
{
    const Call *c = i->more;
    EACH_LANE_OF(l, w->turns.mask) {
        w->turns.lane_pc[l] = w->turns.pc + 1;
        if (!(m >> l & 1))
            continue;
        if (w->depth[l] == MAX_DEPTH)
            warp_fault(w, i, l, FAULT_TRAP, "calls nested too deeply");
        uint8_t *local = w->local + (size_t)l * w->f->local_bytes;
        for (int k = 0; k < c->n_args; k++) {
            const Param *to = &c->callee->params[k];
            memcpy(local + c->local + to->offset, local + c->arg[k], to->size);
        }
        w->returns[l][w->depth[l]++] = w->turns.pc;
        w->turns.lane_pc[l] = c->entry;
    }
    w->turns.mask = 0;
    choose_lanes(w);
}

static void
return_from(Warp *w, uint32_t m)
{
    EACH_LANE_OF(l, w->turns.mask) {
        w->turns.lane_pc[l] = w->turns.pc + 1;
        if (!(m >> l & 1))
            continue;
        int at = w->returns[l][--w->depth[l]];
        const Call *c = w->f->code[at].more;
        uint8_t *local = w->local + (size_t)l * w->f->local_bytes;
        const Param *from = &c->callee->result;
        if (c->result >= 0)
            memcpy(local + c->result, local + c->local + from->offset, from->size);
        w->turns.lane_pc[l] = at + 1;
    }
    w->turns.mask = 0;
    choose_lanes(w);
}

/* ---- barriers -------------------------------------------------------------------- */

static void
release(Cta *c, Barrier *b, int n_threads)
{
    order_release(c, b);
    for (int k = 0; k < c->n_warps; k++) {
        Warp *w = &c->warps[k];
        if (!(b->waiting >> k & 1))
            continue;
        w->state = WARP_RUNS;
        proxy_pass(w, (int)(b - c->barrier));
        if (!(w->at->flags & BAR_RED))
            continue;
        uint64_t v[LANES];
        for (int l = 0; l < LANES; l++)
            v[l] = w->at->op == 0   ? b->n_true
                   : w->at->op == 1 ? b->n_true == (uint32_t)n_threads
                                    : b->n_true != 0;
        lanes_put(&w->lanes, w->at->out[0], w->turns.mask, v);
    }
    *b = (Barrier){0};
}

/* A barrier without a count waits for the warps that have not ended. */
static void
check_barrier(Cta *c, Barrier *b)
{
    int expected = b->expected ? b->expected : LANES * (c->n_warps - c->n_gone);
    if (b->n_threads && b->n_threads >= expected)
        release(c, b, b->n_threads);
}

static void
barrier(Warp *w, const Ins *i, uint32_t m)
{
    uint64_t v[LANES];
    Cta *c = w->cta;
    if (w->lanes.alive & ~m)
        warp_apart(&w->lanes, i, __builtin_ctz(m), w->lanes.alive & ~m);
    lanes_get(&w->lanes, i->in[0], v);
    int lane = __builtin_ctz(m);
    if (v[lane] >= N_BARRIERS)
        warp_fault(w, i, lane, FAULT_INVALID, "barrier %d: there are %d", (int)v[lane],
                   N_BARRIERS);
    int id = (int)v[lane];
    Barrier *b = &c->barrier[id];
    bool red = i->flags & BAR_RED;
    int expected = 0;
    if (i->n_in > 1 + red) {
        lanes_get(&w->lanes, i->in[1], v);
        expected = (int)v[lane];
        if (expected <= 0 || expected % LANES)
            warp_fault(w, i, lane, FAULT_INVALID, "a barrier of %d threads", expected);
    }
    if (b->n_threads && b->expected != expected)
        warp_fault(w, i, lane, FAULT_INVALID,
                   "barrier %d of %d threads, of %d where others arrived", id, expected,
                   b->expected);
    int reduces = red ? 1 + i->op : 0;
    if (b->n_threads && !(i->flags & BAR_ARRIVE) && b->waiting && b->reduces != reduces)
        warp_fault(w, i, lane, FAULT_INVALID,
                   "barrier %d with another reduction than where others arrived", id);
    if (!(i->flags & BAR_ARRIVE))
        b->reduces = reduces;
    b->expected = expected;
    b->is_part |= (i->flags & BAR_ARRIVE) != 0;
    b->n_threads += LANES;
    proxy_arrive(w, id);
    order_arrive(w, b);
    if (red) {
        uint32_t p = lanes_true(&w->lanes, i->in[i->n_in - 1]);
        b->n_true += (uint32_t)__builtin_popcount((i->imm ? ~p : p) & m);
    }
    if (!(i->flags & BAR_ARRIVE)) {
        b->waiting |= 1u << w->id;
        w->state = WARP_AT_BARRIER;
        w->at = i;
    }
    for (int k = 0; k < i->n_out; k++)
        w->lanes.undef[i->out[k].id] = 0;
    check_barrier(c, b);
}

static void
check_cluster(Cluster *k)
{
    for (int c = 0; c < k->n_ctas; c++)
        for (int n = 0; n < k->ctas[c].n_warps; n++)
            if (k->ctas[c].warps[n].state != WARP_DONE &&
                k->ctas[c].warps[n].at_cluster != CLUSTER_ARRIVED)
                return;
    order_cluster_barrier(k);
    for (int c = 0; c < k->n_ctas; c++)
        for (int n = 0; n < k->ctas[c].n_warps; n++) {
            Warp *w = &k->ctas[c].warps[n];
            w->at_cluster = CLUSTER_LET_GO;
            proxy_pass(w, -1);
            if (w->state != WARP_AT_CLUSTER)
                continue;
            w->state = WARP_RUNS;
            w->at_cluster = CLUSTER_AWAY;
        }
}

static void
cluster_barrier(Warp *w, const Ins *i, uint32_t m)
{
    if (w->lanes.alive & ~m)
        warp_apart(&w->lanes, i, __builtin_ctz(m), w->lanes.alive & ~m);
    if (i->flags & BAR_ARRIVE) {
        if (w->at_cluster != CLUSTER_AWAY)
            warp_fault(
                w, i, __builtin_ctz(m), FAULT_BARRIER,
                "the warp arrives at the cluster's barrier, where it has arrived "
                "already, and has not waited since");
        w->at_cluster = CLUSTER_ARRIVED;
        proxy_arrive(w, -1);
        order_cluster_arrive(w);
        check_cluster(w->cta->cluster);
        return;
    }
    if (w->at_cluster == CLUSTER_AWAY)
        warp_fault(
            w, i, __builtin_ctz(m), FAULT_BARRIER,
            "the warp waits at the cluster's barrier, and has not arrived there");
    w->at = i;
    if (w->at_cluster == CLUSTER_ARRIVED)
        w->state = WARP_AT_CLUSTER;
    else
        w->at_cluster = CLUSTER_AWAY;
}

/* Does the program end with these lanes? */
static bool
is_last_of_all(const Warp *w, uint32_t m)
{
    const Cluster *k = w->cta->cluster;
    if (w->lanes.alive & ~m)
        return false;
    for (int c = 0; c < k->n_ctas; c++)
        if (k->ctas[c].n_gone + (&k->ctas[c] == w->cta) < k->ctas[c].n_warps)
            return false;
    return true;
}

static void
leave_call(Warp *w, uint32_t m)
{
    late_leave(w, m, is_last_of_all(w, m));
    w->lanes.alive &= ~m;
    w->turns.mask &= ~m;
    if (!w->turns.mask && w->lanes.alive) {
        choose_lanes(w);
        return;
    }
    w->turns.pc++;
    if (w->lanes.alive)
        return;
    w->state = WARP_DONE;
    w->cta->n_gone++;
    for (int b = 0; b < N_BARRIERS; b++)
        check_barrier(w->cta, &w->cta->barrier[b]);
    check_cluster(w->cta->cluster);
}

uint64_t
next_random(Cluster *k) /* xorshift64*, Vigna 2016 */
{
    k->random ^= k->random >> 12;
    k->random ^= k->random << 25;
    k->random ^= k->random >> 27;
    return k->random * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

/* ---- a warp ---------------------------------------------------------------------- */

static void
pause_at(Warp *w, const Ins *i)
{
    w->n_since_pause = 0;
    w->at = i;
    warp_launch(w)->n_pauses++;
}

/* The lanes of m whose predicate lets i run; others may be among them. */
static inline uint32_t
guarded(Warp *w, const Ins *i, uint32_t m)
{
    uint32_t p = lanes_true(&w->lanes, i->guard), bad = w->lanes.undef[i->guard.id] & m;
    if (bad)
        warp_fault(w, i, __builtin_ctz(bad), FAULT_INVALID,
                   "the predicate was never written");
    return i->guard_not ? ~p : p;
}

/* Behind an instruction that others than the next one may follow: false where the warp pauses. */
static bool
goes_on(Warp *w, const Ins *i, uint32_t m)
{
    if (i->flow == FLOW_EXIT)
        leave_call(w, m);
    else if (i->flow == FLOW_CALL)
        call(w, i, m);
    else if (i->flow > FLOW_EXIT)
        return_from(w, m);
    else if (i->flow == FLOW_BARRIER)
        barrier(w, i, m);
    else if (i->flow == FLOW_CLUSTER)
        cluster_barrier(w, i, m);
    else {
        pause_at(w, i);
        return false;
    }
    return true;
}

/* Until it waits, ends, or has had its turn. */
void
warp_run(Warp *w)
{
    const Ins *code = w->f->code;
    int n_code = w->f->n_code;
    uint64_t n = 0;
    Launch *l = warp_launch(w);
    void (*const hook)(const Launch *, const Ins *, uint32_t) = l->hooks->run;
    Cluster *k = w->cta->cluster;
    const uint64_t slice =
        !l->seed ? SLICE
                 : 1 + next_random(k) % (warp_is_held(w) ? HELD_SLICE : SHORT_SLICE);
    w->is_waiting = false;
    w->n_since_pause += slice; /* or less */
    while (w->state == WARP_RUNS && n < slice && !w->is_waiting) {
        if (w->turns.pc >= w->turns.wait_pc)
            choose_lanes(w);
        if (w->turns.pc >= n_code)
            warp_fault(w, &code[n_code - 1], 0, FAULT_TRAP,
                       "runs beyond the end of the kernel");
        const Ins *i = &code[w->turns.pc];
        uint32_t m = w->turns.mask;
        if (i->meets && w->lanes.alive & ~m && !w->is_last) {
            park(w);
            continue;
        }
        w->is_last = false;
        n++;
        if (i->has_guard)
            m &= guarded(w, i, m);
        if (hook)
            hook(l, i, m);
        if (i->flow == FLOW_BRA) {
            turns_branch(&w->turns, i->target, m);
            continue;
        }
        if (!m) {
            w->turns.pc++;
            continue;
        }
        if (i->is_aligned && w->lanes.alive & ~m)
            warp_apart(&w->lanes, i, __builtin_ctz(m), w->lanes.alive & ~m);
        if (i->is_wgmma && wgmma_must_wait(w, i)) {
            warp_goes_on(&w->lanes, i);
            continue;
        }
        if (i->run)
            lanes_run(&w->lanes, i, m);
        if (w->touched && !i->is_wgmma)
            wgmma_touch(w, i);
        if (i->flow < FLOW_EXIT)
            w->turns.pc++;
        if (i->flow != FLOW_NEXT && !goes_on(w, i, m))
            break;
    }
    if (w->is_waiting || n > LOOK) /* a seed's turn may be too short to tell */
        w->has_only_waited = n <= LOOK;
    l->n_run += n;
    races_settle(l);
    if (l->n_run > most_instructions && !l->is_endless)
        warp_fault(w, &code[w->turns.pc < n_code ? w->turns.pc : n_code - 1], 0,
                   FAULT_TIMEOUT, "no end in sight");
}
