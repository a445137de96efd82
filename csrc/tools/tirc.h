/* tirc.h: what the files of tirc share. */
#ifndef TEGULA_TIRC_H
#define TEGULA_TIRC_H

#include "analysis/analysis.h"
#include "codegen/codegen.h"
#include "passes/passes.h"
#include "random/random.h"
#include "runtime/runtime.h"

typedef struct Gpu Gpu;       /* tirc_gpu.c */
typedef struct Copies Copies; /* tirc_copies.c */

enum {
    MAX_ARGS = 256,
    RED_ZONE = 4096, /* bytes beside a buffer that belong to none */
};

typedef struct Buffer {
    const Type *elem; /* scalar */
    char *at;         /* NULL: the argument is a scalar */
    int64_t n;        /* elements */
} Buffer;

typedef struct Tirc {
    const char *words; /* passes, comma-separated */
    const char *file;  /* name, for messages */
    const char *text;
    bool with_locs;
    bool is_random;           /* no text: a function from seed */
    bool is_odd;              /* ... with sides that are no powers of two, too */
    bool is_product;          /* ... that multiplies blocks of tensors */
    Copies *copies;           /* what became of those; NULL: none was tried */
    uint64_t seed, last_seed; /* of the random functions still to make */
    int n_ops;
    Gpu *gpu;           /* opened by the first run on it */
    HostKernel *kernel; /* of a host: its code */
    Comp *c;
    Buffer buffer[MAX_ARGS];
    uint64_t arg[MAX_ARGS];
    int n_args;
    int32_t grid[3];
    char options[128];   /* Comp.option_texts */
    unsigned grid_facts; /* GRID_* that a compile is told */
    const char *cpu;     /* of Comp; NULL: this one */
    double tolerance;    /* of check: relative, of f32 and f64 */
    uint64_t order;      /* of the emulator's threads: EmuRun.seed */
} Tirc;

/* ---- tirc_args.c: GRID and ARG lines -------------------------------------------- */

/* t->args, buffers and grid from the lines of t->text. */
void tirc_read_args(Comp *c, Tirc *t, const Func *f);
void tirc_print_buffers(Comp *c, const Tirc *t);
int64_t tirc_buffer_bytes(const Buffer *b);
uint64_t tirc_get_elem(const Buffer *b, int64_t i); /* its bits, in the low ones */

/* ---- tirc_run.c: kernels at work ------------------------------------------------ */

/* What codegen makes of the function; for GPUs it has layouts by now. */
Binary *tirc_generate(Func *f);
/* Interprets the grid, prints the buffers. */
void tirc_interp(Comp *c, Tirc *t, const Func *f);
/* Compiles f and runs the grid with the arguments read; prints times when asked. */
void tirc_run(Comp *c, Tirc *t, Func *f, bool is_timed);
/* The interpreter and the code must agree about every buffer. */
void tirc_check(Comp *c, Tirc *t, Func *f);

/* ---- tirc_gpu.c: a compiled function on the first GPU ---------------------------- */

/* Memory of the host from start on, copied to the device and back. */
typedef struct GpuBuffer {
    char *start;
    size_t bytes;
    int param;     /* which parameter points into it .. */
    size_t offset; /* .. and how far behind start */
} GpuBuffer;

Gpu *gpu_open(char err[ERR_TEXT]); /* NULL: no GPU */
void gpu_close(Gpu *g);            /* NULL is fine */
/* Runs the grid and waits for it. params: 8 bytes each, those of buffers are set here. */
bool gpu_run(Gpu *g, const Binary *b, const CudaStart *launch, uint64_t *params,
             int n_params, const GpuBuffer *buffers, int n_buffers, char err[ERR_TEXT]);

/* tirc_skeleton.c: of PTX, how threads work together: accesses, barriers, branches. */
void tirc_print_skeleton(Arena *a, const char *ptx);

/* tirc_bitcode.c: writes it to stdout; the exit status. */
int tirc_bitcode(const char *text);

/* ---- tirc_copies.c: copies of tensors beside pointers ----------------------------- */
/* The passes that lead to copies. */
void tirc_promote(Func *f);
/* Interprets f, of t->seed, and the same with copies; raises where they differ. */
void tirc_copies(Comp *c, Tirc *t, const Func *f);
void tirc_copies_end(Copies *k); /* prints the table; NULL is fine */

#endif
