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

/* A bulk copy: plain pointers, all of it checked. */
typedef struct PtxBulk {
    void *to;
    const void *from;
    uint32_t n;     /* bytes, a multiple of 16 */
    void *bar;      /* the mbarrier that is told; NULL: it is of its thread's group */
    int8_t op;      /* -1: a copy, else what becomes of both .. */
    uint8_t type;   /* .. and of which type they are */
    uint8_t *state; /* of the bytes it goes to, where there is such; else NULL */
} PtxBulk;

typedef struct Copy { /* of cp.async, that has not landed */
    const Ins *i;
    uint32_t lane, to, bytes;
    int64_t group; /* of the lane */
    const uint8_t *from;
    uint32_t n_from;  /* the rest are zeros */
    int64_t number;   /* of the lane's copies */
    uint8_t seen[16]; /* what stood in its source */
} Copy;

typedef struct
    Bulk { /* of cp.async.bulk, that has not landed; or an arrival after copies */
    PtxBulk copy;  /* n is 0: an arrival */
    uint8_t *seen; /* what stood in its source; malloc'ed */
    struct Warp *of;
    const Ins *i;
    int lane;
    int64_t group; /* of the lane */
    int64_t until; /* an arrival: its lane's copies up to this number */
    bool is_read;  /* its source is free */
} Bulk;

#define NOT_PAUSED (UINT64_MAX / 2)
enum { WARP_RUNS, WARP_AT_BARRIER, WARP_AT_CLUSTER, WARP_DONE };
/* Has arrived, and the phase is not over; it is over, and the warp has not waited yet. */
enum { CLUSTER_AWAY, CLUSTER_ARRIVED, CLUSTER_LET_GO };
typedef struct Warp {
    Lanes lanes; /* first: the functions of instructions get a pointer to it */
    const Func *f;
    struct Cta *cta;
    int id;    /* in the block */
    int state; /* WARP_* */
    Turns turns;
    int depth[LANES];              /* of calls */
    int returns[LANES][MAX_DEPTH]; /* the calls */
    uint32_t parked; /* lanes that wait for others to come where they are */
    bool is_last;    /* nobody else will: the next instruction runs, or is an error */
    const Ins *at;   /* where it waits */
    bool is_waiting; /* its turn ended at an mbarrier, whose phase goes on .. */
    bool has_only_waited;   /* .. and was no more than looks at that */
    uint64_t n_since_pause; /* instructions since it let others run; NOT_PAUSED */
    int at_cluster;         /* its barrier: CLUSTER_* */
    uint8_t *local;         /* of 32 threads, one behind the other */
    Copy *copies;
    int n_copies, cap_copies;
    int64_t committed[LANES]; /* groups of cp.async */
    struct OpenMma *mma;      /* products that have begun: wgmma.c */
    int n_mma, n_done;        /* computed, and not waited for by this warp */
    int64_t mma_groups;       /* committed */
    uint32_t
        *touched; /* of each register: wgmma.fences before its last use by others than
                          products; NULL: the kernel has none */
    uint32_t n_fences;          /* wgmma.fence */
    int64_t bulk_groups[LANES]; /* committed */
    int64_t n_issued[LANES];    /* copies of cp.async */
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
    int reduces;      /* 1 + the operation of bar.red; 0: none */
    bool is_part;     /* some threads only arrived, or are not of those that come */
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
    int n_gone;                /* warps that have ended */
    struct SharedCells *cells; /* of its shared memory: races.c */
} Cta;

typedef struct Cluster {
    struct Launch *launch;
    Cta *ctas;
    int n_ctas;
    int n_idle;     /* turns in a row in which all warps have only waited */
    int n_slices;   /* it has run without coming to its end */
    bool is_ended;  /* and no other took its place */
    uint32_t index; /* in the grid */
    uint64_t random;
    int held, n_held;    /* by the seed: so many warps from that one on .. */
    int hold_turns;      /* .. so many turns more */
    struct Order *order; /* who knows of whom: races.c */
    Bulk *bulk;          /* under way, oldest first */
    int n_bulk, cap_bulk;
} Cluster;

/* Why a launch ended before its time. */
typedef enum EngineFault {
    FAULT_NONE,
    FAULT_INVALID, /* what PTX leaves undefined: registers never written, odd operands */
    FAULT_ADDRESS,
    FAULT_MISALIGNED,
    FAULT_READ_ONLY,
    FAULT_UNWRITTEN, /* shared memory */
    FAULT_RACE,
    FAULT_TRAP,
    FAULT_BARRIER, /* lanes that are elsewhere, or others that never come */
    FAULT_TIMEOUT, /* it has no end in sight */
    FAULT_ASSERT,
    FAULT_STOPPED, /* by a hook */
    FAULT_MEMORY   /* the machine's own has run out */
} EngineFault;

typedef struct EngineReport {
    EngineFault fault;
    char text[PTX_TEXT];    /* one line, without the place */
    const Ins *ins;         /* where; NULL: nowhere. It has the place in both texts */
    const Ins *other;       /* of a race: what it meets; NULL: not known */
    uint32_t other_program; /* of one in global memory: whose that is, from 1 */
    bool other_is_store;
    int block[3], warp, lane;
    uint64_t address; /* of a fault of an access to global memory: .. */
    uint32_t bytes;   /* .. so many, else 0 */
    bool is_store;
    const char *file, *function; /* of an assertion: what it says of its place */
    int line;
} EngineReport;

/* Memory that a launch may touch, and who touched it last. */
typedef struct EngineRegion {
    uint64_t start, bytes;
    bool is_read_only;
    struct GlobalCells *cells; /* shared by regions that overlap; NULL: nobody looks */
} EngineRegion;

/* What a launch asks of whoever started it. All but `has` and `print` may be absent. */
typedef struct EngineHooks {
    /* May the kernel touch these n bytes of global memory, which are of no region? */
    bool (*has)(const struct Launch *l, const Ins *i, const void *p, size_t n);
    /* Between two turns of warps: false ends the launch. */
    bool (*turn)(const struct Launch *l);
    /* What a thread prints. */
    void (*print)(const struct Launch *l, const char *text);
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
    EngineRegion *regions;
    int n_regions;
    uint64_t seed; /* of the order of warps; 0: theirs */
    bool
        is_checked; /* for races, unwritten shared memory, copies that nobody waits for */
    bool is_endless; /* Ctrl-C ends it, not a number of instructions */
    jmp_buf stop;
    EngineReport report;
    int last_region;
    struct Posts *posts; /* what programs left at places of global memory: races.c */
    struct Suspect *suspect; /* the same */
    uint64_t n_run;          /* instructions of warps */
    uint64_t
        asked_at; /* the host's clock in ns when a clock was first read; 0: none was */
    uint64_t n_pauses; /* of warps, since there was something new for a poll to see */
} Launch;

/* Runs a grid. False: it ended early, and l->report says why. */
bool engine_run(Launch *l);
uint32_t kernel_shared_bytes(const Func *f); /* of fixed size */
/* Ends the launch; names the instruction, its line and the thread. */
_Noreturn void warp_fault(Warp *w, const Ins *i, int lane, EngineFault fault,
                          const char *fmt, ...) PTX_PRINTF(5, 6);
/* Rows with room for one more than n; ends the launch where there is no memory. */
void *warp_room(Warp *w, void *rows, int n, int *cap, size_t size);
static inline Launch *
warp_launch(const Warp *w)
{
    return w->cta->cluster->launch;
}
/* exec.c: what lanes ask for; a warp's turn: until it waits, ends, or has had enough. */
extern const Owner warp_owner;
/* Lanes that were to come here, and will not. */
_Noreturn void warp_apart(Lanes *w, const Ins *i, int lane, uint32_t missing);
/* What was done before is left somewhere, or taken from there. HAND_WAIT takes, too; who finds no
 * end of the phase looks again. */
typedef enum Handing { HAND_LEAVE, HAND_TAKE, HAND_WAIT } Handing;
/* What a lane did before is left at an mbarrier, or taken from there. */
void warp_order(Lanes *w, const Ins *i, int lane, const void *bar, Handing how);
/* What the async proxy reads and writes of shared memory, checked by `bytes` (HOW_ASYNC) before.
 * agent: who is waited for, as of races_async; an mbarrier is told of bytes. */
void warp_async(Lanes *w, const Ins *i, int lane, Space space, uint64_t address,
                uint32_t n, bool is_store, const void *agent);
/* A lane has found that the phase goes on: others have their turn. */
void warp_goes_on(Lanes *w, const Ins *i);
void warp_run(Warp *w);
bool warp_is_held(const Warp *w); /* by the seed */
uint64_t next_random(Cluster *k); /* of its order, which the launch's seed began */

/* The bytes behind an address of a lane, checked: aligned, within its space. */
uint8_t *warp_bytes(Lanes *w, const Ins *i, int lane, Space space, uint64_t address,
                    uint32_t n, bool is_store);
uint8_t *warp_row(Lanes *w, const Ins *i, int lane, int n_lanes, Space space,
                  uint64_t address, uint32_t n, bool is_store);
/* Global memory; a fault where it may not be. */
void warp_want(Warp *w, const Ins *i, int lane, const uint8_t *p, uint32_t n,
               bool is_store);
/* proxy.c: what the async proxy may read. All do nothing in a block without a Proxy. Offsets
 * are of the block's shared memory; barrier -1 is the cluster's. */
bool proxy_is_asked(const Func *f);
struct Proxy *proxy_new(uint32_t n_bytes); /* NULL: out of memory */
void proxy_free(struct Proxy *p);
void proxy_reset(struct Proxy *p);
void proxy_wrote(Warp *w, const Ins *i, uint32_t lanes, uint32_t at, uint32_t n);
void proxy_fence(Warp *w, uint32_t lanes);
/* By the async proxy. */
void proxy_access(Warp *w, const Ins *i, int lane, uint32_t at, uint32_t n,
                  bool is_store);
void proxy_bar(Warp *w, const Ins *i, int lane, const void *mbarrier);
void proxy_arrive(Warp *w, int barrier);
void proxy_pass(Warp *w, int barrier);
void proxy_order(Warp *w, const void *mbarrier, bool acquires);
/* late.c. cp.async: i->bytes of shared memory from `to` on, of which the first n come from global
 * memory and the others are 0. It lands when its lane waits for its group. */
void late_copy(Lanes *w, const Ins *i, int lane, uint64_t to, uint64_t from,
               uint32_t n);
Run late_commit;
/* For all but the newest i->imm groups; -1: for what is in no group, too. */
Run late_wait;
/* It lands when its mbarrier is looked at or its group is waited for. */
void late_bulk(Lanes *w, const Ins *i, int lane, const PtxBulk *b);
Run late_bulk_commit;
Run late_bulk_wait; /* the same; flags: their sources alone need be free */
void late_look(Lanes *w, uint8_t *bar);
/* The mbarrier is told when the lane's copies so far have landed. */
void late_arrive(Lanes *w, const Ins *i, int lane, uint8_t *bar);
void late_leave(Warp *w, uint32_t m, bool is_last); /* lanes end */
void late_clear(Cluster *k);
/* bulk.c: it lands; NULL, or what is wrong. */
const char *bulk_land(const PtxBulk *b);
/* What is still to write there: "cp.async", "cp.async.bulk". */
const char *late_writer(const Cta *c, uint64_t at, uint32_t n);

/* races.c. Each does nothing in a launch that is not checked. */
void races_begin(Launch *l); /* may fail: FAULT_MEMORY */
void races_end(Launch *l);
void races_cluster_begin(Cluster *k); /* it becomes another of the grid */
void races_cluster_free(Cluster *k);
void races_shared(Warp *w, const Ins *i, int lane, const Cta *c, uint32_t at,
                  uint32_t n, bool is_store);
void races_global(Warp *w, const Ins *i, int lane, struct GlobalCells *cells,
                  uint64_t address, uint32_t n, bool is_store);
/* The same of lanes side by side, n bytes each; false: some meet others, and nothing is told. */
bool races_shared_row(Warp *w, const Ins *i, int lane, int n_lanes, const Cta *c,
                      uint32_t at, uint32_t n, bool is_store);
bool races_global_row(Warp *w, const Ins *i, int lane, int n_lanes,
                      struct GlobalCells *cells, uint64_t address, uint32_t n,
                      bool is_store);
/* The async proxy's, until whoever waits for `agent` has waited: an mbarrier (where it is), the
 * groups of a thread's bulk copies (its counter), the products of a warpgroup (its first warp). */
void races_async(Warp *w, const Ins *i, int lane, const Cta *c, uint32_t at, uint32_t n,
                 bool is_store, const void *agent);
/* A write that is a race if it changes anything has been done by now. */
void races_settle(Launch *l);
struct GlobalCells *global_cells_new(uint64_t start, uint64_t bytes);
void global_cells_free(struct GlobalCells *c);

/* order.c: who knows of whom. Each does nothing in a launch that is not checked. */
/* Lanes of m have waited for the agent's first so many groups. */
void order_wait(Warp *w, uint32_t m, const void *agent, int64_t groups);
void order_pass(Lanes *w, const Ins *i, int lane, const void *at, Handing how);
void order_fence(Lanes *w, uint32_t m);
void order_sync(Lanes *w, uint32_t m);
/* A warp arrives at a barrier; those of `waiting` are let go. */
void order_arrive(Warp *w, const Barrier *b);
void order_release(Cta *c, const Barrier *b);
void order_cluster_barrier(Cluster *k);
void order_cluster_arrive(Warp *w);

/* wgmma.c: whether a warp at a wait must let others of its warpgroup begin their part; what
 * ordinary instructions do to registers, until a wgmma.fence. */
bool wgmma_is_asked(const Func *f);
bool wgmma_must_wait(const Warp *w, const Ins *i);
void wgmma_touch(Warp *w, const Ins *i);

/* The block whose shared memory that is, and where there; NULL: none. */
Cta *warp_cta_of(Warp *w, Space space, uint64_t address, uint32_t *offset);
/* The states of bytes of shared memory that warp_bytes gave; NULL: other memory. */
uint8_t *warp_states(Lanes *w, Space space, uint64_t address);

#endif
