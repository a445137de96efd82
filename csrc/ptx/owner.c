/* owner: what lanes of assembly ask of who runs them: memory, clocks, who they are.
 *
 * Global memory is the process's, where PtxRun.may allows it. There is no other, and no copies:
 * these are the business of threads (engine.h), and such assembly does not run here (meets).
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
    char text[128];
    space = lanes_space(space, &address);
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

/* Nanoseconds. */
static uint64_t
now(Lanes *w)
{
    struct timespec t;
    (void)w;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

const Owner ptx_owner = {.bytes = bytes_at, .clock = now, .fault = fault};

/* A program is one thread. */
uint64_t
ptx_special(const PtxRun *r, int which)
{
    int k = which - S_TID_X, d = k % 3;
    if (k >= 0 && which <= S_CLUSTER_NCTAID_Z) {
        const uint64_t three[] = {0,
                                  1,
                                  (uint64_t)r->pid[d],
                                  (uint64_t)r->grid[d],
                                  (uint64_t)r->pid[d],
                                  (uint64_t)r->grid[d],
                                  0,
                                  1};
        return three[k / 3];
    }
    switch (which) {
    case S_CLUSTER_NCTARANK:
    case S_NWARPID:
    case S_GRIDID:
    case S_LANEMASK_EQ:
    case S_LANEMASK_LE: return 1;
    case S_SMID: {
        int cpu = sched_getcpu();
        return cpu < 0 ? 0 : (uint64_t)cpu;
    }
    case S_NSMID: return (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    case S_LANEMASK_GE: return UINT32_MAX;
    case S_LANEMASK_GT: return UINT32_MAX - 1;
    default: return 0; /* no shared memory; clocks are read when they are asked */
    }
}
