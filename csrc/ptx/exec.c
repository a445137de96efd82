/* exec: a warp, its lanes with the lowest pc first; barriers of its block and its cluster.
 *
 * Lanes that part at a branch wait where they are until the others, which are behind, have
 * come to them: mostly LLVM lays blocks out so that what is shared stands below. Where it
 * does not (the end of a rotated loop), lanes wait at the next instruction that wants all
 * of them, as a GPU's do; an error is that they all wait, at different ones.
 */
#include "ptx/engine.h"

#include <stdarg.h>

enum {
    SLICE = 4096, /* instructions of a turn */
    LOOK = 8      /* of a loop that looks at an mbarrier */
};
static const uint64_t most_instructions = UINT64_C(1) << 31;

Launch *
warp_launch(const Warp *w)
{
    return w->cta->cluster->launch;
}

void
warp_fault(Warp *w, const Ins *i, int lane, EngineFault fault, const char *fmt, ...)
{
    Launch *l = warp_launch(w);
    EngineReport *r = &l->report;
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

/* ---- what lanes ask for ---------------------------------------------------------- */

static uint8_t *
own_bytes(Lanes *lanes, const Ins *i, int lane, Space space, uint64_t address,
          uint32_t n, bool is_store)
{
    return warp_bytes(warp_of(lanes), i, lane, space, address, n, is_store);
}

static uint8_t *
own_states(Lanes *lanes, Space space, uint64_t address)
{
    return warp_states(warp_of(lanes), space, address);
}

/* Every read sees it later. */
static uint64_t
own_clock(Lanes *lanes)
{
    return 4 * warp_launch(warp_of(lanes))->n_run;
}

static __attribute__((noreturn)) void
own_fault(Lanes *lanes, const Ins *i, int lane, const char *text)
{
    warp_fault(warp_of(lanes), i, lane, FAULT_INVALID, "%s", text);
}

static int
own_rank(const Lanes *lanes)
{
    return ((const Warp *)(const void *)lanes)->cta->rank;
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

/* Of other blocks' memory nothing is known. */
static void
own_async_access(Lanes *lanes, const Ins *i, int lane, Space space, uint64_t address,
                 uint32_t n, bool is_store)
{
    Warp *w = warp_of(lanes);
    const uint8_t *state = warp_states(w, space, address);
    const Cta *c = w->cta;
    if (!state || state < c->state || state >= c->state + c->n_shared)
        return;
    uint32_t at = (uint32_t)(state - c->state);
    if (is_store)
        proxy_wrote_async(w, at, n);
    else
        proxy_read(w, i, lane, at, n);
}

static void
own_order(Lanes *lanes, const void *at, bool acquires)
{
    proxy_order(warp_of(lanes), at, acquires);
}

/* Others have their turn: what it waits for is theirs to do. */
static void
own_goes_on(Lanes *lanes, const Ins *i)
{
    Warp *w = warp_of(lanes);
    w->is_waiting = true;
    w->at = i;
}

const Owner warp_owner = {
    .bytes = own_bytes,
    .states = own_states,
    .access = own_access,
    .clock = own_clock,
    .copy = late_copy,
    .commit = late_commit,
    .wait = late_wait,
    .fence_async = own_fence_async,
    .async_access = own_async_access,
    .order = own_order,
    .goes_on = own_goes_on,
    .rank = own_rank,
    .fault = own_fault,
};

/* ---- lanes that part and meet ---------------------------------------------------- */

/* Of the lanes in the deepest call, those with the lowest pc run; not those that wait
 * where all must meet, unless nobody else is left to come. */
static void
choose(Warp *w)
{
    if (!(w->lanes.alive & ~w->parked)) {
        w->parked = 0;
        w->is_last = true;
    }
    int low = INT32_MAX, next = INT32_MAX, deepest = -1;
    uint32_t m = 0;
    for (int l = 0; l < LANES; l++) {
        if (!((w->lanes.alive & ~w->parked) >> l & 1) || w->depth[l] < deepest)
            continue;
        int pc = w->lane_pc[l];
        if (w->depth[l] > deepest)
            deepest = w->depth[l], low = next = INT32_MAX;
        if (pc < low)
            next = low, low = pc, m = 0;
        else if (pc > low && pc < next)
            next = pc;
        m |= (uint32_t)(pc == low) << l;
    }
    w->pc = low;
    w->mask = m;
    w->wait_pc = next;
}

static void
regroup(Warp *w)
{
    for (int l = 0; l < LANES; l++)
        if (w->mask >> l & 1)
            w->lane_pc[l] = w->pc;
    choose(w);
}

static void
branch(Warp *w, const Ins *i, uint32_t m)
{
    if (m == w->mask) {
        w->pc = i->target;
        return;
    }
    w->pc++;
    if (!m)
        return;
    for (int l = 0; l < LANES; l++)
        if (m >> l & 1)
            w->lane_pc[l] = i->target;
    w->mask &= ~m;
    if (i->target < w->wait_pc)
        w->wait_pc = i->target;
}

/* The lanes wait here for the others, which run first. */
static void
park(Warp *w)
{
    for (int l = 0; l < LANES; l++)
        if (w->mask >> l & 1)
            w->lane_pc[l] = w->pc;
    w->parked |= w->mask;
    choose(w);
}

/* Arguments there, results back: bytes of local memory. */
static void
call(Warp *w, const Ins *i, uint32_t m)
{
    const Call *c = i->more;
    for (int l = 0; l < LANES; l++) {
        if (!(w->mask >> l & 1))
            continue;
        w->lane_pc[l] = w->pc + 1;
        if (!(m >> l & 1))
            continue;
        if (w->depth[l] == MAX_DEPTH)
            warp_fault(w, i, l, FAULT_FAILED, "calls nested too deeply");
        uint8_t *local = w->local + (size_t)l * w->f->local_bytes;
        for (int k = 0; k < c->n_args; k++) {
            const Param *to = &c->callee->params[k];
            memcpy(local + c->local + to->offset, local + c->arg[k], to->size);
        }
        w->returns[l][w->depth[l]++] = w->pc;
        w->lane_pc[l] = c->entry;
    }
    choose(w);
}

static void
return_from(Warp *w, uint32_t m)
{
    for (int l = 0; l < LANES; l++) {
        if (!(w->mask >> l & 1))
            continue;
        w->lane_pc[l] = w->pc + 1;
        if (!(m >> l & 1))
            continue;
        int at = w->returns[l][--w->depth[l]];
        const Call *c = w->f->code[at].more;
        uint8_t *local = w->local + (size_t)l * w->f->local_bytes;
        const Param *from = &c->callee->result;
        if (c->result >= 0)
            memcpy(local + c->result, local + c->local + from->offset, from->size);
        w->lane_pc[l] = at + 1;
    }
    choose(w);
}

/* ---- barriers -------------------------------------------------------------------- */

static void
release(Cta *c, Barrier *b, int n_threads)
{
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
        lanes_put(&w->lanes, w->at->out[0], w->mask, v);
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
        warp_fault(w, i, __builtin_ctz(m), FAULT_FAILED,
                   "lanes %#x are elsewhere: the warp has diverged at a barrier",
                   w->lanes.alive & ~m);
    lanes_get(&w->lanes, i->in[0], v);
    int lane = __builtin_ctz(m);
    if (v[lane] >= N_BARRIERS)
        warp_fault(w, i, lane, FAULT_INVALID, "barrier %d", (int)v[lane]);
    Barrier *b = &c->barrier[v[lane]];
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
                   "a barrier of %d threads, of %d where others arrived", expected,
                   b->expected);
    b->expected = expected;
    b->n_threads += LANES;
    proxy_arrive(w, (int)(b - c->barrier));
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
                !k->ctas[c].warps[n].has_arrived)
                return;
    for (int c = 0; c < k->n_ctas; c++)
        for (int n = 0; n < k->ctas[c].n_warps; n++) {
            Warp *w = &k->ctas[c].warps[n];
            w->has_arrived = false;
            proxy_pass(w, -1);
            if (w->state == WARP_AT_CLUSTER)
                w->state = WARP_RUNS;
        }
}

static void
cluster_barrier(Warp *w, const Ins *i, uint32_t m)
{
    if (w->lanes.alive & ~m)
        warp_fault(w, i, __builtin_ctz(m), FAULT_FAILED,
                   "lanes %#x are elsewhere: the warp has diverged at a barrier",
                   w->lanes.alive & ~m);
    if (i->flags & BAR_ARRIVE) {
        if (w->has_arrived)
            warp_fault(w, i, __builtin_ctz(m), FAULT_FAILED,
                       "the warp has arrived already");
        w->has_arrived = true;
        proxy_arrive(w, -1);
        check_cluster(w->cta->cluster);
    } else if (w->has_arrived) {
        w->state = WARP_AT_CLUSTER;
        w->at = i;
    }
}

static void
leave(Warp *w, uint32_t m)
{
    w->lanes.alive &= ~m;
    w->mask &= ~m;
    if (!w->mask && w->lanes.alive) {
        regroup(w);
        return;
    }
    w->pc++;
    if (w->lanes.alive)
        return;
    w->state = WARP_DONE;
    w->cta->n_gone++;
    for (int b = 0; b < N_BARRIERS; b++)
        check_barrier(w->cta, &w->cta->barrier[b]);
    check_cluster(w->cta->cluster);
}

/* ---- a warp ---------------------------------------------------------------------- */

static void
spread(Warp *w, const Ins *i, uint32_t m)
{
    uint32_t u = 0, *undef = w->lanes.undef;
    for (int k = 0; k < i->n_in; k++)
        u |= undef[i->in[k].id];
    u &= m;
    for (int k = 0; k < i->n_out; k++)
        undef[i->out[k].id] = (undef[i->out[k].id] & ~m) | u;
    if (u)
        for (int k = 0; k < i->n_out; k++)
            for (int q = 0; q < 4; q++)
                w->lanes.has[q][i->out[k].id] &= ~m;
}

/* Until it waits, ends, or has had its turn. */
void
warp_run(Warp *w)
{
    const Ins *code = w->f->code;
    int n_code = w->f->n_code;
    uint64_t n = 0, n_lanes = 0;
    Launch *l = warp_launch(w);
    void (*const hook)(const Launch *, const Ins *, uint32_t) = l->hooks->run;
    w->is_waiting = false;
    while (w->state == WARP_RUNS && n < SLICE && !w->is_waiting) {
        if (w->pc >= w->wait_pc)
            regroup(w);
        if (w->pc >= n_code)
            warp_fault(w, &code[n_code - 1], 0, FAULT_FAILED,
                       "runs beyond the end of the kernel");
        const Ins *i = &code[w->pc];
        uint32_t m = w->mask;
        if (i->meets && w->lanes.alive & ~m && !w->is_last) {
            park(w);
            continue;
        }
        w->is_last = false;
        n++;
        if (i->has_guard) {
            uint32_t p = lanes_true(&w->lanes, i->guard),
                     bad = w->lanes.undef[i->guard.id] & m;
            if (bad)
                warp_fault(w, i, __builtin_ctz(bad), FAULT_INVALID,
                           "the predicate was never written");
            m &= i->guard_not ? ~p : p;
        }
        if (hook)
            hook(l, i, m);
        if (i->flow == FLOW_BRA) {
            branch(w, i, m);
            continue;
        }
        if (!m) {
            w->pc++;
            continue;
        }
        n_lanes += (uint64_t)__builtin_popcount(m);
        if (i->is_aligned && w->lanes.alive & ~m)
            warp_fault(w, i, __builtin_ctz(m), FAULT_FAILED,
                       "lanes %#x are elsewhere: the warp has diverged",
                       w->lanes.alive & ~m);
        if (i->run) {
            i->run(&w->lanes, i, m);
            if (!i->tracks)
                spread(w, i, m);
        }
        if (i->flow >= FLOW_EXIT) {
            if (i->flow == FLOW_EXIT)
                leave(w, m);
            else if (i->flow == FLOW_CALL)
                call(w, i, m);
            else
                return_from(w, m);
            continue;
        }
        w->pc++;
        if (i->flow == FLOW_NEXT)
            continue;
        if (i->flow == FLOW_BARRIER)
            barrier(w, i, m);
        else if (i->flow == FLOW_CLUSTER)
            cluster_barrier(w, i, m);
        else
            break;
    }
    w->has_only_waited = w->is_waiting && n <= LOOK;
    l->n_run += n;
    l->n_lanes += n_lanes;
    if (l->n_run > most_instructions)
        warp_fault(w, &code[w->pc < n_code ? w->pc : n_code - 1], 0, FAULT_TIMEOUT,
                   "no end in sight");
}
