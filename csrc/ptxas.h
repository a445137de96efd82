/* ptxas.h: NVIDIA's assembler, where there is one. */
#ifndef TEGULA_PTXAS_H
#define TEGULA_PTXAS_H

#include "base/base.h"

#include <limits.h>

typedef struct Assembled {
    char *cubin; /* malloc'ed */
    size_t size;
    int n_regs, n_spills; /* spill bytes, stores + loads */
    char *log;            /* malloc'ed: everything ptxas said */
    bool is_serial;       /* wgmma runs one after the other: its notes C75xx */
    bool reads_early;     /* because sums are read while products run, it says: C7514 */
    int died_of;          /* signal that ended ptxas, and that nobody sent; 0: none */
} Assembled;
/* What to assemble, and how. */
typedef struct Assembly {
    const char *ptx;
    size_t n;
    Target target;
    const char *options; /* further ones of the user's, between blanks; NULL: none */
    struct Halt *halt;   /* base/poll.h; NULL: it runs to its end */
    bool keep_version;   /* the user chose the version of the PTX: an error where the
                            assembler is older, and not the same text under its own */
} Assembly;
/* path NULL: CUDA_HOME, CUDA_PATH, PATH. found false: there is no assembler (the driver's will
 * do). */
bool ptxas_run(const char *path, const Assembly *in, Assembled *out, bool *found,
               char err[ERR_TEXT]);

/* A malloc'ed copy of PTX that says it is of another version (87: 8.7); NULL: out of memory, or
 * no version in it. We write the newest; what a kernel uses of it is often in an older one. */
char *ptx_with_version(const char *ptx, size_t n, int version);
/* Where the assembler is; false: there is none. */
bool ptxas_find(const char *asked, char out[PATH_MAX]);

#endif
