/* calls.h: what compiled CPU code calls, and what it finds in its scratch. The code is in
 * runtime/host_calls.c; the calls are made by codegen/host/debug.c. */
#ifndef TEGULA_HOST_CALLS_H
#define TEGULA_HOST_CALLS_H

#include "base/poll.h"
#include "base/base.h"
#include "ptx/asm.h"
#include "runtime/emu/emu.h"

#include <pthread.h>

/* The memory of a parameter's tensor; no bytes for a scalar. */
typedef struct HostSpan {
    uint64_t start, bytes;
} HostSpan;

/* What is wrong with the accesses of a launch whose bounds are checked. */
typedef struct HostStray {
    bool loads_are_fine; /* a stray load from memory that is there is noted, and done */
    int is_noted;        /* atomic: there was one */
    EmuReport note;      /* of the first */
    uint64_t noted_at,
        fault_at;      /* addresses: of that load, and of what ended the launch */
    uint64_t noted_in; /* bytes of the memory nearest to that load */
    uint64_t page;     /* atomic: was seen to be there; 0: none */
} HostStray;

/* One launch. The first 8 bytes of every program's scratch point to it. Compiled code reads
 * stream_bytes, is_alone and spans. */
typedef struct HostRun {
    int64_t stream_bytes; /* a launch that writes so much bypasses the caches */
    int32_t
        is_alone; /* nobody else runs a program now: atomics need no lock (pool.c) */
    char *err;    /* ERR_TEXT bytes: the first fault, else empty */
    int stop;     /* set (atomically) by the first fault; no program starts then */
    FILE *out;    /* of device_print */
    const HostSpan *spans; /* one a parameter, for code that checks bounds */
    int n_spans;
    HostStray *stray;   /* as spans */
    EmuReport *report;  /* of a failure that has a place */
    PtxCache *assembly; /* of the code */
    Poller *poller;     /* the caller's; NULL: none */
    pthread_t caller;
} HostRun;

/* pool.c: a look at signals, on the caller's thread, and at `stop`. false: the run ends. */
bool host_look(HostRun *r, Pace *p);

/* A load, store or atomic in code that checks bounds. */
typedef struct HostAccess {
    const char *file, *func;
    int32_t line, col;
    int32_t bytes, lanes; /* of an element; how many */
    int32_t is_write;
    int32_t is_elsewhere; /* it may lie in no tensor, if there is memory */
} HostAccess;

/* A table the JIT resolves symbols from. */
typedef struct HostSymbol {
    const char *name;
    void *address;
} HostSymbol;
extern const HostSymbol host_symbols[];
extern const int n_host_symbols;

/* Words of the constant array `what`: PRINT_SHAPE is followed by the extents, and those by
 * the sides without padding: elements beyond them are not shown. */
enum {
    PRINT_OPERAND,
    PRINT_N_OPERANDS,
    PRINT_ELEM,
    PRINT_HEX,
    PRINT_RANK,
    PRINT_SHAPE
};

/* One element of a print; n_operands 0: the text alone. */
void tegula_print(char *scratch, const int32_t *pid, const char *text,
                  const int32_t *what, int64_t flat, uint64_t bits);
/* An assertion that failed, at element `flat` of a block of that shape. */
void tegula_assert(char *scratch, const int32_t *pid, const HostAccess *at,
                   const char *text, const int32_t *what, int64_t flat);

/* Lanes of an access whose bit of mask is set: at first, first + bytes .., or where `each`
 * says. 0, or 1 when one lies in no tensor: that is in the report, and the run stops. */
int32_t tegula_bounds(char *scratch, const int32_t *pid, const HostAccess *what,
                      uint64_t first, const uint64_t *each, uint64_t mask);

/* A turn of a `while`. How many until the next call; 0: the run stops. */
int32_t tegula_poll(HostRun *run, Pace *pace);

/* Assembly (ptx/asm.h): data[i] are the elements of operand i, dense, data[n_in] the result's
 * room. 0, or 1 when the run stops. */
int32_t tegula_assembly(char *scratch, const int32_t *pid, const int32_t *grid,
                        const PtxSite *site, void *const *data);

#endif
