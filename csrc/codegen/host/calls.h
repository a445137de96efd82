/* calls.h: what compiled CPU code calls, and what it finds in its scratch. The code is in
 * runtime/host_calls.c; the calls are made by codegen/host/debug.c. */
#ifndef TEGULA_HOST_CALLS_H
#define TEGULA_HOST_CALLS_H

#include "base/base.h"

/* One launch. The first 8 bytes of every program's scratch point to it. Compiled code reads
 * the first field. */
typedef struct HostRun {
    int64_t stream_bytes; /* a launch that writes so much bypasses the caches */
    char *err;            /* ERR_TEXT bytes: the first fault, else empty */
    int stop;  /* set (atomically) by the first fault; no program starts then */
    FILE *out; /* of device_print */
} HostRun;

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
void tegula_assert(char *scratch, const int32_t *pid, const char *text,
                   const int32_t *what, int64_t flat);

#endif
