/* engine.h: whole kernels: a module, a grid of blocks, their warps; who runs them on a CPU.
 *
 *     text --module.c--> Module --decode.c--> Ins of Func --exec.c--> lanes of warps
 *                                                          grid.c     blocks, clusters
 *
 * Who launches fills in a Launch and calls engine_run; what it wants to see or to decide stands
 * in EngineHooks. Registers and instructions are ptx.h's.
 *
 * A register that was never written is an error where it would matter: in an address, a
 * branch, a predicate, a store to global memory.
 */
#ifndef TEGULA_PTX_ENGINE_H
#define TEGULA_PTX_ENGINE_H

#include "ptx/ptx.h"

enum { MAX_WARPS = 32 };

enum { MAX_ARGS = 16, MAX_DEPTH = 8 };
typedef struct Call {
    const char *name;
    uint32_t arg[MAX_ARGS]; /* places in local memory */
    int n_args;
    int64_t result; /* its place; -1: none */
    /* link.c, when the function is no other's than the text's: */
    const struct Func *callee;
    uint32_t local; /* its frame */
    int entry;
} Call;

/* Reads text. NULL: err says where and why. */
Module *module_parse(const char *text, char err[PTX_TEXT]);
void module_free(Module *m);
bool link_kernel(Module *m, Func *kernel, char err[PTX_TEXT]);
Func *module_kernel(const Module *m, const char *name);

extern const OpRow control_ops[];

typedef struct Copy { /* of cp.async, that has not landed */
    uint32_t lane, to, bytes;
    int64_t group; /* of the lane */
    const uint8_t *from;
    uint32_t n_from; /* the rest are zeros */
    const Ins *ins;
} Copy;

enum { WARP_RUNS, WARP_AT_BARRIER, WARP_AT_CLUSTER, WARP_DONE };
typedef struct Warp {
    Lanes lanes; /* first: the functions of instructions get a pointer to it */
    const Func *f;
    struct Cta *cta;
    int id;        /* in the block */
    int state;     /* WARP_* */
    uint32_t mask; /* lanes that run now */
    int pc;
    int wait_pc; /* the lowest pc of the lanes that wait; INT32_MAX: none do */
    int lane_pc[LANES];
    int depth[LANES];              /* of calls */
    int returns[LANES][MAX_DEPTH]; /* the calls */
    uint32_t parked; /* lanes that wait for others to come where they are */
    bool is_last;    /* nobody else will: the next instruction runs, or is an error */
    const Ins *at;   /* where it waits */
    bool is_waiting; /* its turn ended at an mbarrier, whose phase goes on .. */
    bool has_only_waited; /* .. and was no more than looks at that */
    bool has_arrived;     /* at the cluster's barrier, whose phase is not over */
    uint8_t *local;       /* of 32 threads, one behind the other */
    Copy *copies;
    int n_copies, cap_copies;
    int64_t committed[LANES]; /* groups of cp.async */
    struct OpenMma *mma;      /* products that have begun: wgmma.c */
    int n_mma;
    int64_t mma_groups; /* committed */
    uint64_t n_run;     /* instructions so far */
} Warp;

static inline Warp *
warp_of(Lanes *w)
{
    return (Warp *)(void *)w;
}

typedef struct Barrier {
    int n_threads;    /* that have arrived */
    int expected;     /* 0: all of the block */
    uint32_t waiting; /* warps */
    uint32_t n_true;  /* of bar.red: threads whose predicate holds */
} Barrier;

typedef struct Cta {
    struct Cluster *cluster;
    int id[3];
    int rank;
    int n_warps;
    Warp *warps;
    uint8_t *shared, *state; /* from SHARED_BASE on */
    struct Proxy *proxy;     /* NULL: nothing reads by the async proxy */
    uint32_t n_shared;
    Barrier barrier[N_BARRIERS];
    int n_gone; /* warps that have ended */
} Cta;

typedef struct Cluster {
    struct Launch *launch;
    Cta *ctas;
    int n_ctas;
    int n_idle;    /* turns in a row in which all warps have only waited */
    int n_slices;  /* it has run without coming to its end */
    bool is_ended; /* and no other took its place */
} Cluster;

/* Why a launch ended before its time. */
typedef enum EngineFault {
    FAULT_NONE,
    FAULT_INVALID, /* what PTX leaves undefined: registers never written, odd operands */
    FAULT_ADDRESS,
    FAULT_MISALIGNED,
    FAULT_FAILED,  /* trap, lanes that are elsewhere */
    FAULT_TIMEOUT, /* it waits for ever, or has no end in sight */
    FAULT_ASSERT,
    FAULT_MEMORY /* the machine's own has run out */
} EngineFault;

typedef struct EngineReport {
    EngineFault fault;
    char text[PTX_TEXT]; /* one line, without the place */
    const Ins *ins;      /* where; NULL: nowhere. It has the place in both texts */
    int block[3], warp, lane;
} EngineReport;

/* What a launch asks of whoever started it. All but `has` may be absent. */
typedef struct EngineHooks {
    /* May the kernel touch these n bytes of global memory? */
    bool (*has)(const struct Launch *l, const void *p, size_t n);
    /* A warp is about to run an instruction, with the lanes of m. */
    void (*run)(const struct Launch *l, const Ins *i, uint32_t m);
    /* Called before every access of a warp: address[l] of the lanes in m; `bytes` each. */
    void (*access)(const struct Launch *l, const Ins *i, uint32_t m, Space space,
                   const uint64_t address[LANES], int bytes, bool is_store);
} EngineHooks;

typedef struct Launch {
    const Func *f;
    int grid[3], block[3], cluster[3];
    uint32_t shared; /* dynamic */
    const uint8_t *params;
    const EngineHooks *hooks;
    void *data; /* the hooks' */
    jmp_buf stop;
    EngineReport report;
    uint64_t n_run, n_lanes; /* instructions of warps, of lanes */
} Launch;

/* Runs a grid. False: it ended early, and l->report says why. */
bool engine_run(Launch *l);
uint32_t kernel_shared_bytes(const Func *f); /* of fixed size */
/* Ends the launch; names the instruction, its line and the thread. */
_Noreturn void warp_fault(Warp *w, const Ins *i, int lane, EngineFault fault,
                          const char *fmt, ...) PTX_PRINTF(5, 6);
Launch *warp_launch(const Warp *w);
/* exec.c: what lanes ask for; a warp's turn: until it waits, ends, or has had enough. */
extern const Owner warp_owner;
void warp_run(Warp *w);

/* The bytes behind an address of a lane, checked: aligned, within its space. */
uint8_t *warp_bytes(Warp *w, const Ins *i, int lane, Space space, uint64_t address,
                    uint32_t n, bool is_store);
bool warp_has(const Warp *w, const void *p, size_t n); /* global memory */
/* proxy.c: what the async proxy may read. All do nothing in a block without a Proxy. Offsets
 * are of the block's shared memory; barrier -1 is the cluster's. */
bool proxy_is_asked(const Func *f);
struct Proxy *proxy_new(uint32_t n_bytes); /* NULL: out of memory */
void proxy_free(struct Proxy *p);
void proxy_reset(struct Proxy *p);
void proxy_wrote(Warp *w, const Ins *i, uint32_t lanes, uint32_t at, uint32_t n);
void proxy_wrote_async(Warp *w, uint32_t at, uint32_t n);
void proxy_fence(Warp *w, uint32_t lanes);
void proxy_read(Warp *w, const Ins *i, int lane, uint32_t at, uint32_t n);
void proxy_arrive(Warp *w, int barrier);
void proxy_pass(Warp *w, int barrier);
void proxy_order(Warp *w, const void *mbarrier, bool acquires);
/* late.c: Owner's copy, commit and wait. */
void late_copy(Lanes *w, const Ins *i, int lane, uint64_t to, uint64_t from,
               uint32_t n);
void late_commit(Lanes *w, uint32_t m);
void late_wait(Lanes *w, const Ins *i, uint32_t m, int64_t pending);
/* The states of bytes of shared memory that warp_bytes gave; NULL: other memory. */
uint8_t *warp_states(Warp *w, Space space, uint64_t address);

#endif
