/* emu.h: a kernel's PTX at work on this machine's CPU: csrc/ptx runs it, here it is launched.
 *
 * The PTX is what a GPU would get, with the lines of the kernel. Tensors are the host's memory,
 * one region each. What breaks a rule of the machine ends the run with a report that names the
 * line: a stray access, a race, a read of unwritten shared memory, a barrier not reached by all.
 */
#ifndef TEGULA_EMU_H
#define TEGULA_EMU_H

#include "base/base.h"

typedef struct EmuCode EmuCode;
/* Reads PTX; NULL: err (EMU_ERROR bytes) says why. Launches of several threads may share it. */
enum { EMU_ERROR = 1024 };
EmuCode *emu_load(const char *ptx, const char *symbol, char err[EMU_ERROR]);
void emu_unload(EmuCode *c);

/* Memory the kernel may touch: the tensors of the launch. n_regions 0 switches the check off. */
typedef struct EmuRegion {
    uint64_t start, bytes;
    bool read_only;
    int param; /* for the message */
} EmuRegion;

typedef struct EmuRun {
    const EmuCode *code;
    const uint64_t *params; /* 8 bytes each */
    int32_t grid[3];
    int num_warps;    /* of one block */
    int num_ctas;     /* blocks of a cluster that share a program; 0 is 1 */
    int shared_bytes; /* dynamic; each block has as many */
    const EmuRegion *regions;
    int n_regions;
    uint64_t seed;         /* 0: warps in order; else the order is shuffled by it */
    FILE *out;             /* of device_print; stdout when NULL */
    struct Poller *poller; /* base/poll.h; NULL: nobody looks after signals */
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
    char text[512]; /* one line, without the place */
    const char *file,
        *func; /* the kernel's line (strings live in the code); NULL: unknown */
    int line, col;
    int32_t pid[3];
    int thread; /* -1: on a CPU, which has none */
    /* Of an access to global memory: the tensor, -1: there is none; text is `did`, what stands
     * there, and `tail`, for who knows the tensor's name. */
    int param;
    uint64_t address;
    char did[24], tail[160];
} EmuReport;

/* Runs all programs; false with *report filled in at the first fault, true also when the
 * poller ended it. No Python, no GIL. */
bool emu_run(const EmuRun *r, EmuReport *report);

#endif
