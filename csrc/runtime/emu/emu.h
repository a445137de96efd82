/* emu.h: the emulator: one program instance as 32 * num_warps fibers on this thread.
 *
 * codegen/simt with machine_emu makes a host function that is called once for each thread
 * of a program, each on its own stack; what threads do together (barriers, shuffles, mma)
 * and what touches memory are calls to the emu_* functions below. Shared memory has shadow
 * state, for each block of a cluster its own: a race between barriers, a read of unwritten bytes, an access outside the tensors
 * passed, a barrier not reached by all: each ends the run with a report that names the line.
 */
#ifndef TEGULA_EMU_H
#define TEGULA_EMU_H

#include "base/base.h"
#include "layout/layout.h"
#include "ptx/asm.h"

typedef struct EmuThread EmuThread;
typedef void EmuKernel(EmuThread *t, const uint64_t *params);

/* Memory the kernel may touch: the tensors of the launch. n_regions 0 switches the check off. */
typedef struct EmuRegion {
    uint64_t start, bytes;
    bool read_only;
    int param; /* for the message */
} EmuRegion;

typedef struct EmuRun {
    EmuKernel *kernel;
    const uint64_t *params;
    int32_t grid[3];
    int num_warps;    /* of one block */
    int num_ctas;     /* blocks of a cluster that share a program; 0 is 1 */
    int shared_bytes; /* each block has as many */
    const EmuRegion *regions;
    int n_regions;
    uint64_t seed;      /* 0: warps in order; else the order is shuffled by it */
    int n_host_threads; /* programs run in parallel on this many OS threads */
    FILE *out;          /* of device_print; stdout when NULL */
    PtxCache *assembly; /* of the kernel's code */
    struct Attendant *attendant; /* base/attend.h; NULL: nobody looks after signals */
} EmuRun;

typedef enum EmuFault {
    EMU_OK,
    EMU_RACE,
    EMU_UNWRITTEN,
    EMU_BOUNDS,
    EMU_READ_ONLY,
    EMU_BARRIER,
    EMU_ASSERT,
    EMU_MISALIGNED,
    EMU_NO_MEMORY
} EmuFault;
typedef struct EmuReport {
    EmuFault fault;
    char text[512];          /* one line, without the place */
    const char *file, *func; /* the kernel's line (strings live in the object code) */
    int line, col;
    int32_t pid[3];
    int thread; /* -1: on a CPU, which has none */
    int param;  /* BOUNDS, on a CPU: the nearest tensor's; -1: there is none */
} EmuReport;

/* Runs all programs; false with *report filled in at the first fault, true also when the
 * attendant ended it. No Python, no GIL. */
bool emu_run(const EmuRun *r, EmuReport *report);

/* ---- called by emulated code: the table the JIT resolves symbols from ----------------------- */
typedef struct EmuSymbol {
    const char *name;
    void *address;
} EmuSymbol;
extern const EmuSymbol emu_symbols[];
extern const int n_emu_symbols;

/* where: "file\0" etc. is one pointer to a constant EmuPlace in the object code. */
typedef struct EmuPlace {
    const char *file, *func;
    int32_t line, col;
    int32_t is_elsewhere; /* an access that may go beyond the tensors of the launch */
} EmuPlace;

int32_t emu_thread_id(EmuThread *t);
int32_t emu_program_id(EmuThread *t, int32_t axis);
int32_t emu_num_programs(EmuThread *t, int32_t axis);
void emu_barrier(EmuThread *t, const EmuPlace *at);
void emu_warp_sync(EmuThread *t, const EmuPlace *at);
int32_t emu_shuffle_xor(EmuThread *t, int32_t v, int32_t mask);
int32_t emu_shuffle_idx(EmuThread *t, int32_t v, int32_t lane);
int32_t emu_shuffle_up(EmuThread *t, int32_t v, int32_t delta);
int32_t emu_ballot(EmuThread *t, int32_t bit);
/* Checked, then done by the caller's own load or store at the address returned. */
void *emu_global(EmuThread *t, uint64_t address, int32_t bytes, int32_t align,
                 int32_t is_write, const EmuPlace *at);
/* Shared accesses are done here: two threads may write the same bytes between barriers only
 * when they write the same values, which takes the value to see. */
void emu_shared_load(EmuThread *t, int32_t offset, int32_t bytes, int32_t align,
                     void *value, const EmuPlace *at);
void emu_shared_store(EmuThread *t, int32_t offset, int32_t bytes, int32_t align,
                      const void *value, const EmuPlace *at);
/* cp.async: bytes (4, 8 or 16) of shared memory, of which the first `read` come from global
 * memory and the others are 0. The copy
 * happens as late as it may: in the emu_async_wait that names its group. Until then the
 * bytes are poison, and touching them is a fault. */
void emu_async_copy(EmuThread *t, int32_t offset, uint64_t address, int32_t bytes,
                    int32_t read, const EmuPlace *at);
void emu_async_commit(EmuThread *t);
/* Waits for all but the newest `pending` groups of this thread. */
void emu_async_wait(EmuThread *t, int32_t pending);
/* Clusters. Site i is one exchange, done once: each block waits for `bytes` of it, which all
 * send by words to the shared memory of the blocks they name. */
void emu_cluster_open(EmuThread *t, int32_t site, int32_t bytes);
void emu_cluster_send(EmuThread *t, int32_t site, int32_t offset, int32_t word,
                      int32_t rank, const EmuPlace *at);
void emu_cluster_wait(EmuThread *t, int32_t site, const EmuPlace *at);
/* kind: MmaKind as int; regs are arrays of 32-bit words. */
void emu_mma(EmuThread *t, int32_t kind, uint32_t *d, const uint32_t *a,
             const uint32_t *b);
void emu_ldmatrix(EmuThread *t, int32_t offset, int32_t n, int32_t trans, uint32_t *out,
                  const EmuPlace *at);
/* n elements side by side, each atomic by itself. */
void emu_stmatrix(EmuThread *t, int32_t offset, int32_t n, int32_t trans,
                  const uint32_t *words, const EmuPlace *at);
void emu_atomic(EmuThread *t, int32_t rmw, int32_t elem, int32_t n, uint64_t address,
                const void *value, void *old, const EmuPlace *at);
void emu_cas(EmuThread *t, int32_t elem, uint64_t address, const void *compare,
             const void *value, void *old, const EmuPlace *at);
int32_t emu_shared_add(EmuThread *t, int32_t offset, int32_t v, const EmuPlace *at);
/* Assembly on the elements of this thread: data[i] are operand i's, data[n_in] the result's. */
void emu_assembly(EmuThread *t, const PtxSite *site, void *const *data);
/* A turn of a `while`: does not return when the run is to end. */
void emu_poll(EmuThread *t);
void emu_assert(EmuThread *t, const char *text, const EmuPlace *at);
typedef struct EmuPrint {
    const char *text;
    int32_t operand, n_operands, elem, hex, rank, shape[MAX_RANK];
    int32_t sides[MAX_RANK]; /* without padding: elements beyond are not shown */
} EmuPrint;
void emu_print(EmuThread *t, const EmuPrint *what, int32_t flat_index, uint64_t bits);

#endif
