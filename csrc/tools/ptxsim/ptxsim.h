/* ptxsim.h: what the files of ptxsim share: modules, grids, warps. Registers and instructions
 * are csrc/ptx's, whose ptx.h comes first.
 *
 *     text --module.c--> Module --ptx/decode.c--> Ins of Func --exec.c--> lanes of warps
 *
 * A register that was never written is an error where it would matter: in an address, a
 * branch, a predicate, a store to global memory.
 */
#ifndef TEGULA_PTXSIM_H
#define TEGULA_PTXSIM_H

#include "ptx/ptx.h"

#define SIM_EXPORT __attribute__((visibility("default")))

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
    uint32_t parked;  /* lanes that wait for others to come where they are */
    bool is_last;     /* nobody else will: the next instruction runs, or is an error */
    const Ins *at;    /* where it waits */
    bool has_arrived; /* at the cluster's barrier, whose phase is not over */
    uint8_t *local;   /* of 32 threads, one behind the other */
    Copy *copies;
    int n_copies, cap_copies;
    int64_t committed[LANES]; /* groups of cp.async */
    uint64_t n_run;           /* instructions so far */
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
    uint32_t n_shared;
    Barrier barrier[N_BARRIERS];
    int n_gone; /* warps that have ended */
} Cta;

typedef struct Cluster {
    struct Launch *launch;
    Cta *ctas;
    int n_ctas;
    int n_slices;  /* it has run without coming to its end */
    bool is_ended; /* and no other took its place */
} Cluster;

typedef struct Launch {
    const Func *f;
    int grid[3], block[3], cluster[3];
    uint32_t shared; /* dynamic */
    const uint8_t *params;
    int device;
    jmp_buf stop;
    int error; /* a CUresult */
    char text[PTX_TEXT];
    uint64_t n_run, n_lanes; /* instructions of warps, of lanes */
    struct Counts *counts;   /* count.c's; NULL: nobody asked */
} Launch;

/* Runs a grid: 0 or a CUresult with l->text. */
int sim_launch(Launch *l);
uint32_t sim_shared_bytes(const Func *f); /* of fixed size */
/* Ends the launch; names the instruction, its line and the thread. */
_Noreturn void sim_fault(Warp *w, const Ins *i, int lane, int error, const char *fmt,
                         ...) PTX_PRINTF(5, 6);
Launch *warp_launch(const Warp *w);
/* exec.c: what lanes ask for; a warp's turn: until it waits, ends, or has had enough. */
extern const Owner sim_owner;
void sim_run_warp(Warp *w);

/* Registered memory: what kernels may touch. */
bool region_add(const void *p, size_t n);
bool region_remove(const void *p);
bool region_has(const void *p, size_t n);

/* Where an access goes: called before every one of a warp (the counters' hook). address[l]
 * of the lanes in m; `bytes` for each. */
void sim_access(const Lanes *w, const Ins *i, uint32_t m, Space space,
                const uint64_t address[LANES], int bytes, bool is_store);

/* The bytes behind an address of a lane, checked: aligned, within its space. */
uint8_t *sim_bytes(Warp *w, const Ins *i, int lane, Space space, uint64_t address,
                   uint32_t n, bool is_store);
/* async.c: Owner's copy, commit and wait. */
void sim_copy(Lanes *w, const Ins *i, int lane, uint64_t to, uint64_t from, uint32_t n);
void sim_commit(Lanes *w, uint32_t m);
void sim_wait(Lanes *w, const Ins *i, uint32_t m, int64_t pending);
/* The states of bytes of shared memory that sim_bytes gave; NULL: other memory. */
uint8_t *sim_states(Warp *w, Space space, uint64_t address);

#endif
