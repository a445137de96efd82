/* exec: a grid, block after block; a warp, lanes with the lowest pc first.
 *
 * Lanes that part at a branch wait where they are until the others, which are behind, have
 * come to them: mostly LLVM lays blocks out so that what is shared stands below. Where it
 * does not (the end of a rotated loop), lanes wait at the next instruction that wants all
 * of them, as a GPU's do; an error is that they all wait, at different ones.
 *
 * Warps of a block take turns of SLICE instructions, or until they wait. Blocks run one
 * cluster at a time, so that a block's memory stays warm; one that does not end (it may
 * wait for another block) gets company, and then they take turns too.
 */
#include "ptx/specials.h"
#include "tools/ptxsim/count.h"
#include "tools/ptxsim/ptxsim.h"

#include <cuda.h>
#include <inttypes.h>
#include <stdarg.h>

enum { SLICE = 4096, LONE_SLICES = 512, MAX_RESIDENT = 1024, N_SMS = 16 };
static const uint64_t most_instructions = UINT64_C(1) << 31;

Launch *
warp_launch(const Warp *w)
{
    return w->cta->cluster->launch;
}

void
sim_fault(Warp *w, const Ins *i, int lane, int error, const char *fmt, ...)
{
    Launch *l = warp_launch(w);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->text, sizeof l->text, fmt, ap);
    va_end(ap);
    const char *file = i->file > 0 && i->file < 64 ? w->f->mod->files[i->file] : NULL;
    char source[256] = "";
    if (file)
        snprintf(source, sizeof source, " (%s:%d)", file, i->src);
    if (n >= 0 && (size_t)n < sizeof l->text)
        snprintf(l->text + n, sizeof l->text - (size_t)n,
                 "; %s at line %d of the PTX%s, in %s(), block (%d, %d, %d), warp %d, "
                 "lane %d",
                 i->words, i->line, source, w->f->name, w->cta->id[0], w->cta->id[1],
                 w->cta->id[2], w->id, lane);
    l->error = error;
    longjmp(l->stop, 1);
}

/* ---- what lanes ask for ---------------------------------------------------------- */

static uint8_t *
own_bytes(Lanes *lanes, const Ins *i, int lane, Space space, uint64_t address,
          uint32_t n, bool is_store)
{
    return sim_bytes(warp_of(lanes), i, lane, space, address, n, is_store);
}

static uint8_t *
own_states(Lanes *lanes, Space space, uint64_t address)
{
    return sim_states(warp_of(lanes), space, address);
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
    sim_fault(warp_of(lanes), i, lane, CUDA_ERROR_INVALID_VALUE, "%s", text);
}

static int
own_rank(const Lanes *lanes)
{
    return ((const Warp *)(const void *)lanes)->cta->rank;
}

static const Owner owner = {
    .bytes = own_bytes,
    .states = own_states,
    .access = sim_access,
    .clock = own_clock,
    .copy = sim_copy,
    .commit = sim_commit,
    .wait = sim_wait,
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
            sim_fault(w, i, l, CUDA_ERROR_LAUNCH_FAILED, "calls nested too deeply");
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
        sim_fault(w, i, __builtin_ctz(m), CUDA_ERROR_LAUNCH_FAILED,
                  "lanes %#x are elsewhere: the warp has diverged at a barrier",
                  w->lanes.alive & ~m);
    lanes_get(&w->lanes, i->in[0], v);
    int lane = __builtin_ctz(m);
    if (v[lane] >= N_BARRIERS)
        sim_fault(w, i, lane, CUDA_ERROR_INVALID_VALUE, "barrier %d", (int)v[lane]);
    Barrier *b = &c->barrier[v[lane]];
    bool red = i->flags & BAR_RED;
    int expected = 0;
    if (i->n_in > 1 + red) {
        lanes_get(&w->lanes, i->in[1], v);
        expected = (int)v[lane];
        if (expected <= 0 || expected % LANES)
            sim_fault(w, i, lane, CUDA_ERROR_INVALID_VALUE, "a barrier of %d threads",
                      expected);
    }
    if (b->n_threads && b->expected != expected)
        sim_fault(w, i, lane, CUDA_ERROR_INVALID_VALUE,
                  "a barrier of %d threads, of %d where others arrived", expected,
                  b->expected);
    b->expected = expected;
    b->n_threads += LANES;
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
            if (w->state == WARP_AT_CLUSTER)
                w->state = WARP_RUNS;
        }
}

static void
cluster_barrier(Warp *w, const Ins *i, uint32_t m)
{
    if (w->lanes.alive & ~m)
        sim_fault(w, i, __builtin_ctz(m), CUDA_ERROR_LAUNCH_FAILED,
                  "lanes %#x are elsewhere: the warp has diverged at a barrier",
                  w->lanes.alive & ~m);
    if (i->flags & BAR_ARRIVE) {
        if (w->has_arrived)
            sim_fault(w, i, __builtin_ctz(m), CUDA_ERROR_LAUNCH_FAILED,
                      "the warp has arrived already");
        w->has_arrived = true;
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
static void
run_warp(Warp *w)
{
    const Ins *code = w->f->code;
    int n_code = w->f->n_code;
    uint64_t n = 0, n_lanes = 0;
    Counts *counts = warp_launch(w)->counts;
    while (w->state == WARP_RUNS && n < SLICE) {
        if (w->pc >= w->wait_pc)
            regroup(w);
        if (w->pc >= n_code)
            sim_fault(w, &code[n_code - 1], 0, CUDA_ERROR_LAUNCH_FAILED,
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
                sim_fault(w, i, __builtin_ctz(bad), CUDA_ERROR_INVALID_VALUE,
                          "the predicate was never written");
            m &= i->guard_not ? ~p : p;
        }
        if (counts)
            count_run(counts, i, m);
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
            sim_fault(w, i, __builtin_ctz(m), CUDA_ERROR_LAUNCH_FAILED,
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
    Launch *l = warp_launch(w);
    l->n_run += n;
    l->n_lanes += n_lanes;
    if (l->n_run > most_instructions)
        sim_fault(w, &code[w->pc < n_code ? w->pc : n_code - 1], 0,
                  CUDA_ERROR_LAUNCH_TIMEOUT, "no end in sight");
}

/* ---- blocks ---------------------------------------------------------------------- */

static uint64_t
special_value(const Warp *w, int which, int lane)
{
    const Launch *l = warp_launch(w);
    const Cta *c = w->cta;
    int tid = LANES * w->id + lane;
    const int at[3] = {tid % l->block[0], tid / l->block[0] % l->block[1],
                       tid / l->block[0] / l->block[1]};
    uint32_t bit = 1u << lane;
    switch (which) {
    case S_TID_X:
    case S_TID_Y:
    case S_TID_Z: return (uint64_t)at[which - S_TID_X];
    case S_NTID_X:
    case S_NTID_Y:
    case S_NTID_Z: return (uint64_t)l->block[which - S_NTID_X];
    case S_CTAID_X:
    case S_CTAID_Y:
    case S_CTAID_Z: return (uint64_t)c->id[which - S_CTAID_X];
    case S_NCTAID_X:
    case S_NCTAID_Y:
    case S_NCTAID_Z: return (uint64_t)l->grid[which - S_NCTAID_X];
    case S_CLUSTERID_X:
    case S_CLUSTERID_Y:
    case S_CLUSTERID_Z: {
        int k = which - S_CLUSTERID_X;
        return (uint64_t)(c->id[k] / l->cluster[k]);
    }
    case S_NCLUSTERID_X:
    case S_NCLUSTERID_Y:
    case S_NCLUSTERID_Z: {
        int k = which - S_NCLUSTERID_X;
        return (uint64_t)(l->grid[k] / l->cluster[k]);
    }
    case S_CLUSTER_CTAID_X:
    case S_CLUSTER_CTAID_Y:
    case S_CLUSTER_CTAID_Z: {
        int k = which - S_CLUSTER_CTAID_X;
        return (uint64_t)(c->id[k] % l->cluster[k]);
    }
    case S_CLUSTER_NCTAID_X:
    case S_CLUSTER_NCTAID_Y:
    case S_CLUSTER_NCTAID_Z: return (uint64_t)l->cluster[which - S_CLUSTER_NCTAID_X];
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

static uint32_t
extern_shared_at(const Module *m)
{
    uint32_t a = m->shared_align > 16 ? m->shared_align : 16;
    return (m->shared_bytes + a - 1) & -a;
}

uint32_t
sim_shared_bytes(const Func *f)
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

static void
warp_new(Warp *w, const Func *f, Cta *c, int id)
{
    *w = (Warp){.lanes.owner = &owner, .f = f, .cta = c, .id = id};
    void *file = NULL;
    if (posix_memalign(&file, 64, f->file_bytes + 64) == 0)
        memset(w->lanes.file = file, 0, f->file_bytes + 64);
    w->lanes.undef = calloc(5 * (f->n_regs + 1u), sizeof *w->lanes.undef);
    w->local = calloc(LANES, f->local_bytes + 1);
    if (!w->lanes.file || !w->lanes.undef || !w->local) {
        Launch *l = c->cluster->launch;
        snprintf(l->text, sizeof l->text, "out of memory");
        l->error = CUDA_ERROR_OUT_OF_MEMORY;
        longjmp(l->stop, 1);
    }
    for (uint32_t k = 0; k < 4; k++)
        w->lanes.has[k] = w->lanes.undef + (k + 1) * (f->n_regs + 1u);
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
    w->lanes.alive = w->mask = left >= LANES ? (uint32_t)FULL : (1u << left) - 1;
    w->pc = 0;
    w->wait_pc = INT32_MAX;
    w->lanes.carry = 0;
    w->parked = 0;
    w->is_last = false;
    w->has_arrived = false;
    w->n_copies = 0;
    memset(w->committed, 0, sizeof w->committed);
    memset(w->depth, 0, sizeof w->depth);
    memset(w->lanes.undef, 0xff, (f->n_regs + 1) * sizeof *w->lanes.undef);
    memset(w->lanes.has[0], 0, 4 * (f->n_regs + 1u) * sizeof *w->lanes.undef);
    w->lanes.undef[0] = 0;
    for (int k = 0; k < f->n_specials; k++) {
        uint64_t v[LANES];
        for (int l = 0; l < LANES; l++)
            v[l] = special_value(w, f->specials[k].which, l);
        lanes_put(&w->lanes, f->specials[k].reg, (uint32_t)FULL, v);
    }
}

static void
cluster_free(Cluster *k)
{
    if (!k)
        return;
    for (int c = 0; c < k->n_ctas; c++) {
        Cta *cta = &k->ctas[c];
        for (int n = 0; cta->warps && n < cta->n_warps; n++) {
            free(cta->warps[n].lanes.file);
            free(cta->warps[n].lanes.undef);
            free(cta->warps[n].local);
            free(cta->warps[n].copies);
        }
        free(cta->warps);
        free(cta->shared);
        free(cta->state);
    }
    free(k->ctas);
    free(k);
}

static _Noreturn void
no_memory(Launch *l)
{
    snprintf(l->text, sizeof l->text, "out of memory");
    l->error = CUDA_ERROR_OUT_OF_MEMORY;
    longjmp(l->stop, 1);
}

static void
cluster_new(Launch *l, Cluster **to)
{
    Cluster *k = *to = calloc(1,
                              sizeof *k); /* the caller's to free, whatever happens */
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
        if (!cta->shared || !cta->state || !cta->warps)
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
    k->n_slices = 0;
    k->is_ended = false;
    for (int c = 0; c < k->n_ctas; c++) {
        Cta *cta = &k->ctas[c];
        int in[3] = {c % l->cluster[0], c / l->cluster[0] % l->cluster[1],
                     c / l->cluster[0] / l->cluster[1]};
        for (int d = 0; d < 3; d++)
            cta->id[d] = at[d] * l->cluster[d] + in[d];
        cta->n_gone = 0;
        memset(cta->state, BYTE_UNDEF, cta->n_shared);
        memset(cta->barrier, 0, sizeof cta->barrier);
        for (int w = 0; w < cta->n_warps; w++)
            warp_reset(&cta->warps[w], l->block[0] * l->block[1] * l->block[2]);
    }
}

/* One turn for each warp: did any run? */
static bool
cluster_turn(Cluster *k)
{
    bool ran = false, ended = true;
    for (int c = 0; c < k->n_ctas; c++)
        for (int w = 0; w < k->ctas[c].n_warps; w++) {
            Warp *warp = &k->ctas[c].warps[w];
            if (warp->state == WARP_RUNS) {
                run_warp(warp);
                ran = true;
            }
            ended &= warp->state == WARP_DONE;
        }
    k->n_slices++;
    k->is_ended = ended;
    return ran;
}

static _Noreturn void
deadlock(Cluster *k)
{
    for (int c = 0; c < k->n_ctas; c++)
        for (int n = 0; n < k->ctas[c].n_warps; n++) {
            Warp *w = &k->ctas[c].warps[n];
            if (w->state == WARP_AT_BARRIER || w->state == WARP_AT_CLUSTER)
                sim_fault(w, w->at, 0, CUDA_ERROR_LAUNCH_TIMEOUT,
                          "waits for ever at a barrier that others do not reach");
        }
    no_memory(k->launch); /* cannot be: somebody waits, or all have ended */
}

typedef struct Resident { /* clusters that take turns */
    Cluster *live[MAX_RESIDENT];
    int n;
} Resident;

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
            if (!cluster_turn(c) && !c->is_ended)
                deadlock(c); /* nobody outside of it can help */
            wants_company |= c->n_slices % LONE_SLICES == 0;
            if (c->is_ended) {
                ended++;
                if (next < count)
                    cluster_reset(l, c, next++);
            }
        }
        if (wants_company && next < count && r->n < MAX_RESIDENT) {
            cluster_new(l, &r->live[r->n++]);
            cluster_reset(l, r->live[r->n - 1], next++);
        }
    }
}

int
sim_launch(Launch *l)
{
    Resident *r = calloc(1, sizeof *r);
    if (!r)
        return CUDA_ERROR_OUT_OF_MEMORY;
    l->error = 0;
    l->counts = count_begin(l);
    if (!setjmp(l->stop))
        run_grid(l, r);
    for (int k = 0; k < r->n; k++)
        cluster_free(r->live[k]);
    free(r);
    count_end(l->counts, l);
    return l->error;
}
