/* owner: what lanes of assembly ask of who runs them: memory, copies, clocks, who they are.
 *
 * Global memory is the process's, where PtxRun.may allows it. The other spaces are the business
 * of threads (PtxTeam): where there are none there is no such memory.
 */
#include "ptx/run.h"
#include "ptx/specials.h"

#include <inttypes.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

typedef struct PtxThread Exec;

static __attribute__((noreturn)) void
fault(Lanes *w, const Ins *i, int lane, const char *text)
{
    Exec *x = (Exec *)(void *)w;
    (void)lane;
    snprintf(x->err, PTX_ERROR, "%s; %s in line %d of the assembly", text, i->words,
             i->line);
    longjmp(*x->stop, 1);
}

/* An address of shared memory as a piece of it: the block's rank stands above. */
static PtxShared
piece_of(const Ins *i, int lane, Space space, uint64_t address, uint32_t n)
{
    PtxShared s = {.rank = -1,
                   .offset = address - SHARED_BASE,
                   .n = n,
                   .lane = i->meets ? lane : -1,
                   .words = i->words,
                   .line = i->line};
    if (space == SPACE_CLUSTER && address >> CLUSTER_SHIFT) {
        uint64_t rank = (address >> CLUSTER_SHIFT) - 1;
        s.rank = rank < INT32_MAX ? (int)rank : INT32_MAX;
        s.offset = (address & ((1u << CLUSTER_SHIFT) - 1)) - SHARED_BASE;
    }
    return s;
}

static uint8_t *
shared_at(Lanes *w, const Ins *i, int lane, const PtxShared *s)
{
    const Exec *x = (Exec *)(void *)w;
    void *at = NULL;
    const char *why = x->r->team->shared(x->r, s, &at);
    if (why)
        fault(w, i, lane, why);
    if (s->offset & (s->n - 1))
        fault(w, i, lane, "misaligned, in shared memory");
    return at;
}

/* Ends the run where the memory may not be touched. */
static void
ask(Lanes *w, uint64_t address, uint32_t n, bool is_store)
{
    Exec *x = (Exec *)(void *)w;
    PtxAccess a = {address, (int)n, is_store};
    if (x->r->may && !x->r->may(x->r, &a)) {
        x->r->refused = a;
        *x->err = 0;
        longjmp(*x->stop, 1);
    }
}

static uint8_t *
bytes_at(Lanes *w, const Ins *i, int lane, Space space, uint64_t address, uint32_t n,
         bool is_store)
{
    const Exec *x = (Exec *)(void *)w;
    char text[128];
    space = lanes_space(space, &address);
    if (w->how == HOW_STRONG && x->r->team)
        x->r->team->order(x->r, NULL, true);
    if ((space == SPACE_SHARED || space == SPACE_CLUSTER) && x->r->team) {
        PtxShared s = piece_of(i, lane, space, address, n);
        s.access = !is_store             ? (w->how ? PTX_ATOMIC_READ : PTX_READ)
                   : w->how == HOW_PLAIN ? PTX_WRITE
                                         : PTX_ATOMIC;
        return shared_at(w, i, lane, &s);
    }
    if (space != SPACE_GLOBAL)
        fault(w, i, lane, "only global memory is there");
    ask(w, address, n, is_store);
    if (address & (n - 1)) {
        snprintf(text, sizeof text, "misaligned: a %s of %u bytes at %#" PRIx64,
                 is_store ? "store" : "load", n, address);
        fault(w, i, lane, text);
    }
    return (uint8_t *)(uintptr_t)address;
}

/* ---- copies, and the block's number: of a thread among others -------------------- */

static void
copy_later(Lanes *w, const Ins *i, int lane, uint64_t to, uint64_t from, uint32_t n)
{
    const Exec *x = (Exec *)(void *)w;
    PtxShared s = piece_of(i, lane, SPACE_SHARED, to, i->bytes);
    s.access = PTX_WRITE;
    shared_at(w, i, lane, &s);
    if (n == i->bytes)
        ask(w, from, n, false);
    for (uint32_t k = 0; n < i->bytes && k < n; k++)
        ask(w, from + k, 1, false); /* a part of it has any length */
    x->r->team->copy(x->r, &s, from, (int)n);
}

static void
commit_copies(Lanes *w, uint32_t m)
{
    const Exec *x = (Exec *)(void *)w;
    (void)m; /* a thread is one lane */
    x->r->team->commit(x->r);
}

static void
wait_for_copies(Lanes *w, const Ins *i, uint32_t m, int64_t pending)
{
    const Exec *x = (Exec *)(void *)w;
    (void)i, (void)m;
    x->r->team->wait(x->r, pending > INT32_MAX ? INT32_MAX : (int)pending);
}

static void
bulk(Lanes *w, const Ins *i, int lane, const PtxBulk *b)
{
    const Exec *x = (Exec *)(void *)w;
    const char *why = x->r->team->bulk(x->r, b);
    if (why)
        fault(w, i, lane, why);
}

static void
bulk_commit(Lanes *w)
{
    const Exec *x = (Exec *)(void *)w;
    x->r->team->bulk_commit(x->r);
}

static void
bulk_wait(Lanes *w, int64_t pending, bool is_read)
{
    const Exec *x = (Exec *)(void *)w;
    x->r->team->bulk_wait(x->r, pending > INT32_MAX ? INT32_MAX : (int)pending,
                          is_read);
}

static void
look(Lanes *w, const Ins *i, int lane, uint8_t *bar)
{
    const Exec *x = (Exec *)(void *)w;
    (void)i, (void)lane;
    x->r->team->look(x->r, bar);
}

static void
arrive_later(Lanes *w, const Ins *i, int lane, uint8_t *bar)
{
    const Exec *x = (Exec *)(void *)w;
    const char *why = x->r->team->arrive_later(x->r, bar);
    if (why)
        fault(w, i, lane, why);
}

static void
order(Lanes *w, const void *at, bool acquires)
{
    const Exec *x = (Exec *)(void *)w;
    x->r->team->order(x->r, at, acquires);
}

static int
own_rank(const Lanes *w)
{
    return ((const Exec *)(const void *)w)->r->rank;
}

static int
own_n_ranks(const Lanes *w)
{
    return ((const Exec *)(const void *)w)->r->n_ranks;
}

/* Nanoseconds. */
static uint64_t
now(Lanes *w)
{
    struct timespec t;
    (void)w;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

const Owner ptx_owner = {.bytes = bytes_at,
                         .clock = now,
                         .copy = copy_later,
                         .commit = commit_copies,
                         .wait = wait_for_copies,
                         .bulk = bulk,
                         .bulk_commit = bulk_commit,
                         .bulk_wait = bulk_wait,
                         .look = look,
                         .arrive_later = arrive_later,
                         .order = order,
                         .rank = own_rank,
                         .n_ranks = own_n_ranks,
                         .fault = fault};

/* The program is a warp of one lane on the emulator's terms, and a thread alone on a CPU. */
uint64_t
ptx_special(const PtxRun *r, int which)
{
    int lane = r->thread % LANES;
    uint32_t bit = 1u << lane;
    uint64_t n_ranks = r->n_ranks > 1 ? (uint64_t)r->n_ranks : 1,
             rank = (uint64_t)r->rank;
    switch (which) {
    case S_TID_X: return (uint64_t)r->thread;
    case S_NTID_X: return (uint64_t)r->n_threads;
    case S_NTID_Y:
    case S_NTID_Z:
    case S_CLUSTER_NCTAID_Y:
    case S_CLUSTER_NCTAID_Z: return 1;
    case S_CLUSTER_NCTAID_X:
    case S_CLUSTER_NCTARANK: return n_ranks;
    case S_CLUSTER_CTAID_X:
    case S_CLUSTER_CTARANK: return rank;
    case S_CTAID_X: return (uint64_t)r->pid[0] * n_ranks + rank;
    case S_CTAID_Y:
    case S_CTAID_Z: return (uint64_t)r->pid[which - S_CTAID_X];
    case S_NCTAID_X: return (uint64_t)r->grid[0] * n_ranks;
    case S_NCTAID_Y:
    case S_NCTAID_Z: return (uint64_t)r->grid[which - S_NCTAID_X];
    case S_CLUSTERID_X:
    case S_CLUSTERID_Y:
    case S_CLUSTERID_Z: return (uint64_t)r->pid[which - S_CLUSTERID_X];
    case S_NCLUSTERID_X:
    case S_NCLUSTERID_Y:
    case S_NCLUSTERID_Z: return (uint64_t)r->grid[which - S_NCLUSTERID_X];
    case S_LANEID: return (uint64_t)lane;
    case S_WARPID: return (uint64_t)(r->thread / LANES);
    case S_NWARPID: return (uint64_t)((r->n_threads + LANES - 1) / LANES);
    case S_IS_CLUSTER: return n_ranks > 1;
    case S_SMID: {
        int cpu = sched_getcpu();
        return cpu < 0 ? 0 : (uint64_t)cpu;
    }
    case S_NSMID: return (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    case S_GRIDID: return 1;
    case S_LANEMASK_EQ: return bit;
    case S_LANEMASK_LE: return bit | (bit - 1);
    case S_LANEMASK_LT: return bit - 1;
    case S_LANEMASK_GE: return (uint32_t)~(bit - 1);
    case S_LANEMASK_GT: return (uint32_t)~(bit | (bit - 1));
    default: return 0; /* no shared memory; clocks are read when they are asked */
    }
}
