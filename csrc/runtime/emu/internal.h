/* internal.h: what the emulator's files share. See emu.h. */
#ifndef TEGULA_EMU_INTERNAL_H
#define TEGULA_EMU_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/attend.h"
#include "runtime/emu/emu.h"
#include "runtime/emu/fiber.h"

enum {
    LANES = 32,
    MAX_WARPS = 32, /* of all blocks of a program */
    MAX_SITES = 32,
    N_BARRIERS = 16,
    /* Shadow.w_thread of bytes that several may have added to: lanes of warp w, or warps. */
    ATOMIC_WARP = 0xff00, /* + w */
    ATOMIC_THREAD = 0xfffe,
    REMOTE_THREAD = 0xfffd, /* came from a block of the cluster */
};

typedef enum ThreadState {
    T_READY,
    T_GATHER,  /* for its warp, which then is at a barrier */
    T_BARRIER, /* for other warps */
    T_WARP,    /* in a warp operation of the compiler's */
    T_MEET,    /* in one of assembly's, for the lanes of a mask */
    T_CLUSTER, /* for an exchange */
    T_CLUSTER_BARRIER,
    T_DONE
} ThreadState;
typedef enum WarpOp {
    W_SYNC,
    W_XOR,
    W_IDX,
    W_UP,
    W_BALLOT,
    W_MMA,
    W_LDMATRIX,
    W_STMATRIX,
    N_WARP_OP
} WarpOp;

/* State of all the programs of one launch. */
typedef struct EmuGrid {
    const EmuRun *run;
    EmuReport *report;
    pthread_mutex_t lock; /* report, printing */
    atomic_llong next;    /* the next program, in linear order */
    long long n_programs;
    atomic_bool stop; /* a fault was reported, or the attendant ended the run */
} EmuGrid;

/* Who touched one byte of shared memory last. Epochs count barriers (of the block) and
 * warp_syncs (of a warp) and never repeat, so a new program needs no clearing. */
typedef struct Shadow {
    uint32_t w_epoch, w_warp_epoch, r_epoch, r_warp_epoch;
    uint16_t w_thread; /* or ATOMIC_WARP + w, ATOMIC_THREAD; with REMOTE_THREAD
                                       w_warp_epoch is the site */
    uint16_t r_thread; /* one of the readers in r_epoch */
    uint8_t r_many;    /* 0 one thread, 1 several of one warp, 2 several warps */
    bool in_flight;    /* an asynchronous copy will write it */
} Shadow;

/* One asynchronous copy on its way, in the queue of the thread that issued it. */
typedef struct AsyncCopy {
    uint64_t address;                   /* 0: nothing is read */
    int32_t offset, bytes, read, group; /* behind the bytes read come zeros */
    bool is_assembly;                   /* offset: in its shared memory */
    EmuPlace at;
    unsigned char seen[16]; /* what stood there when it was issued */
} AsyncCopy;

typedef struct EmuBlock EmuBlock;
typedef struct BulkCopy BulkCopy; /* bulk.c */
typedef struct Races Races;       /* races.c */

/* Shared memory of one piece of assembly: csrc/ptx has checked what it declares. */
typedef struct AsmArea {
    const struct PtxSite *site;
    uint32_t at, bytes; /* in what assembly calls shared memory */
} AsmArea;

/* One of the barriers of a block, between two times that all came. */
typedef struct EmuBarrier {
    int n, expected; /* threads: that have come, of how many */
    int n_true;      /* of them: with a predicate that holds */
    char red;        /* what becomes of it */
} EmuBarrier;

/* One thread block; a program has several when it runs on a cluster. */
typedef struct EmuCta {
    unsigned char *asm_shared; /* ASM_SHARED bytes, once there is an area */
    unsigned char *asm_state;  /* of each of them: 1, a copy is to come */
    struct Byte *asm_bytes;    /* of each of them: who touched it, of races.c */
    unsigned char *shared;
    Shadow *shadow;
    EmuBarrier barrier[N_BARRIERS];
    uint32_t epoch;             /* counts barriers */
    uint32_t opened;            /* sites armed in this program, as bits */
    int64_t to_come[MAX_SITES]; /* bytes */
} EmuCta;

struct EmuThread {
    EmuBlock *b;
    EmuCta *cta;
    Fiber fiber;
    int id;
    ThreadState state;
    const EmuPlace *at; /* where it waits */
    /* The warp operation it waits in, with operands and result. */
    WarpOp op;
    int32_t in, param, out;
    uint32_t *d;
    const uint32_t *a, *bb;
    struct PtxThread *assembly; /* in which it is */
    uint32_t members;           /* of its warp, for whom it waits in T_MEET */
    PtxBarrier *arrival;        /* in T_GATHER and T_BARRIER */
    bool has_arrived;       /* at the cluster's barrier, for which it has not waited */
    uint32_t cluster_phase; /* when it did */
    AsyncCopy *copies;      /* oldest first; malloc'ed, kept from program to program */
    int n_copies, cap_copies;
    int64_t n_landed;    /* copies, of this program */
    int32_t group;       /* the group the next copy joins */
    int32_t bulk_group;  /* the next bulk copy */
    int site;            /* waited for, in T_CLUSTER */
    uint32_t sites_seen; /* exchanges this thread has waited for */
};

/* One program instance on one OS thread. */
struct EmuBlock {
    EmuGrid *grid;
    Fiber scheduler;
    Attendant *attendant; /* the caller's; NULL on other OS threads */
    Pace pace;            /* of switches and of polls */
    bool is_polled; /* the thread that was switched from wants a look, and to go on */
    EmuThread *threads;
    EmuCta *ctas;
    int n_ctas;
    int n, n_done;             /* threads of all blocks */
    int arrived[MAX_WARPS];    /* lanes waiting in a warp operation */
    int at_barrier[MAX_WARPS]; /* lanes that wait for their warp, in T_GATHER */
    int n_at_cluster;       /* threads that have arrived at the cluster's barrier .. */
    uint32_t cluster_phase; /* .. which all came to so often */
    AsmArea *areas; /* of the assembly that has run in this program; malloc'ed, kept */
    int n_areas, cap_areas;
    BulkCopy *bulk; /* under way, oldest first; malloc'ed, kept */
    int n_bulk, cap_bulk;
    Races *races;    /* of this program, once there is an area */
    uint16_t *order; /* in which the scheduler looks at threads */
    uint64_t rng;
    int32_t pid[3];
    uint32_t first_epoch; /* of every block, at the start of this program */
    uint32_t warp_epoch[MAX_WARPS];
    int last_region;    /* where the last global access fell */
    uint64_t last_page; /* the last that was found outside of the tensors, but there */
};

/* Reports (the first fault of the run wins) and leaves the program for good. */
NORETURN void emu_fault(EmuThread *t, EmuFault fault, const EmuPlace *at,
                        const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Waits until all lanes of the warp are in the same operation; the last one performs it. */
void emu_warp_op(EmuThread *t, WarpOp op, const EmuPlace *at);
/* Range and alignment; then who may write there (value NULL: it differs from what is there). */
void emu_check_shared(EmuThread *t, int32_t offset, int32_t bytes, int32_t align,
                      const EmuPlace *at);
void emu_note_write(EmuThread *t, int32_t offset, int32_t bytes,
                    const unsigned char *value, const EmuPlace *at);
/* Do the bytes lie in a tensor that may be used like this? Or, where there is memory at all? */
bool emu_is_allowed(EmuThread *t, uint64_t address, int32_t bytes, bool is_write,
                    bool is_elsewhere);
void emu_wait(EmuThread *t, ThreadState state, const EmuPlace *at);
void emu_do_mma(EmuThread *warp); /* warp: its 32 threads */
void emu_do_ldmatrix(EmuThread *warp);
void emu_do_stmatrix(EmuThread *warp);
/* barriers.c: waits at a barrier for the threads that it names, or arrives there. */
void emu_barrier_of(EmuThread *t, PtxBarrier *b, const EmuPlace *at);
/* Who waits with it: threads that have come, and of how many. */
int emu_at_barrier(const EmuThread *t, int *expected);
/* barrier.cluster; a text: why it may not. */
const char *emu_cluster_barrier(EmuThread *t, bool arrives, const EmuPlace *at);
/* async.c */
void emu_queue_copy(EmuThread *t, const AsyncCopy *k);
void emu_async_land(EmuThread *t, int n); /* its n oldest copies */
/* bulk.c: a text says why not. */
const char *emu_bulk(EmuThread *t, const PtxBulk *copy, const EmuPlace *at);
void emu_bulk_wait(EmuThread *t, int pending, bool is_read);
const char *emu_arrive_later(EmuThread *t, void *bar, const EmuPlace *at);
void emu_bulk_look(EmuThread *t, const void *bar); /* before it is tested */
void emu_bulk_end(EmuThread *t);                   /* of the thread */
void emu_bulk_clear(EmuBlock *b);
/* Bytes of the shared memory that assembly has declared. */
uint32_t emu_asm_end(const EmuBlock *b);
/* races.c. A thread leaves what it knows at a place, or takes it from there. */
void emu_release(EmuThread *t, const void *at);
void emu_acquire(EmuThread *t, const void *at);
void emu_forget_post(EmuBlock *b, const void *at);
void emu_order_lanes(EmuThread *warp, uint32_t lanes); /* as one: bar.warp.sync */
void emu_order_strong(EmuThread *t); /* with whoever did an atomic before */
/* An access of assembly's shared memory, before it is done; then, that it was done. */
void emu_races_access(EmuThread *t, const EmuCta *cta, const PtxShared *s,
                      const EmuPlace *at);
void emu_races_settle(EmuBlock *b);
bool emu_races_start(EmuBlock *b, uint32_t n_bytes); /* false: no memory */
void emu_races_clear(EmuCta *cta, uint32_t offset, uint32_t n);
void emu_races_end(EmuBlock *b);
/* Nobody can run: does someone wait for whoever comes? Then these go on. */
bool emu_meet_few(EmuBlock *b);

#endif
