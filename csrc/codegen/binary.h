/* binary.h: what a compile yields: code, and what a launch must know of it. */
#ifndef TEGULA_BINARY_H
#define TEGULA_BINARY_H

#include "ir/ir.h"

/* One runtime parameter of the compiled function, in call order. */
typedef struct ParamAbi {
    Elem elem;
    bool is_ptr;
    bool is_written; /* the function may store through it */
    bool is_read;    /* the function may load what was there before the launch */
    int16_t slot;    /* leaf of the kernel's arguments that feeds it */
} ParamAbi;

/* A value that a launch computes: so many of Binary.host_ops. */
typedef struct HostValue {
    uint16_t first, n;
} HostValue;

/* A tensor map that a launch makes, and hands to the kernel behind its parameters. The dims
 * are the kernel's: the last is the innermost one, whose stride is 1. */
typedef struct MapPlan {
    uint8_t elem, rank;
    uint8_t swizzle; /* bytes, as ATTR_SWIZZLE */
    bool fills_nan;
    bool is_written; /* what stores go through, not loads */
    int16_t param;   /* whose memory it is */
    uint16_t box[MAX_TMAP_RANK];
    HostValue base, size[MAX_TMAP_RANK], stride[MAX_TMAP_RANK]; /* in elements */
} MapPlan;

/* A named text or binary stage of a compile. */
typedef struct Stage {
    char name[8]; /* tir report simt llir ptx cubin asm obj linked */
    char *
        data; /* malloc'ed, or in Binary.file; texts end with a NUL not counted in size */
    size_t size;
} Stage;
enum { MAX_STAGE = 8 };

/* Where the time of a compile goes; the words are the keys of compiled.timings. */
/* clang-format off */
#define TIMES(X)                                                                         \
    X(FRONTEND, "frontend")     /* Python's tree -> tile IR */                           \
    X(PASSES,   "passes")       /* tile IR -> tile IR */                                 \
    X(CODEGEN,  "codegen")      /* tile IR -> LLVM IR */                                 \
    X(LLVM,     "llvm")         /* LLVM IR -> PTX or object code */                      \
    X(PTXAS,    "ptxas")        /* PTX -> cubin */
/* clang-format on */
typedef enum Time {
#define X(name, text) TIME_##name,
    TIMES(X)
#undef X
        N_TIME
} Time;

/* Null pointers that a launch passes behind a kernel's own arguments: codegen/override.c. The grid, a
 * parameter a side, is in front of them where blocks are not BLOCKS_AS_PROGRAMS. */
enum { MAX_SCRATCH_PARAMS = 2, GRID_PARAMS = 3 };

/* The smallest tensor that was tried for a parameter: runtime/trial.c. */
typedef struct Tried {
    uint64_t bytes; /* without the empty ones */
    uint16_t node;  /* of a launch */
    bool is_empty;  /* one without elements was tried, too */
} Tried;

/* What a compile yields: plain malloc'ed data, so it outlives its Comp, is written to disk
 * and read back as it is. Immutable once published. */
typedef struct Binary {
    Target target;
    char *symbol; /* of the kernel in obj, or its name in PTX */
    ParamAbi *params;
    int n_params;
    ArgFacts *facts; /* by slot: the answers this variant was compiled for */
    int n_facts;
    Stage stage[MAX_STAGE];
    int n_stages;
    MapPlan *maps;    /* parameters of the code, behind those of the kernel */
    HostValue *tests; /* what a launch of this code finds true, beside the facts */
    HostOp *host_ops;
    int n_maps, n_tests, n_host_ops;
    Tried *tried; /* of the parameters that are pointers; none: it was not tried */
    int n_tried;
    int num_warps, num_stages, num_ctas;
    int block_warps; /* of a thread block: num_warps, and those that bring data */
    int blocks;      /* BLOCKS_* */
    int strips;      /* of a tile, where blocks are BLOCKS_IN_STRIPS */
    int grid,
        asked;   /* GRID_*: those in asked are in a launch's grid as they are in grid */
    int shared;  /* bytes of dynamic shared memory */
    int scratch; /* bytes of scratch one CPU program needs (64-byte aligned) */
    int stack; /* bytes of stack that its code takes, without the functions of C it calls */
    int n_regs, n_spills; /* from ptxas; -1 unknown */
    int n_lowered; /* levels of optimisation that were tried below ptxas's own: it died */
    double ms[N_TIME]; /* this process's; all 0: read from disk */
    char *file;        /* malloc'ed: of the disk, with what was read inside; or NULL */
    size_t file_size;
} Binary;

/* May a launch run it of whose grid those GRID_* hold? */
static inline bool
binary_is_for(const Binary *b, unsigned grid)
{
    return !((grid ^ (unsigned)b->grid) & (unsigned)b->asked);
}

/* For a field of a Binary, which binary_free frees. */
void *binary_copy(Comp *c, const void *p, size_t n);
void binary_free(Binary *b);
void binary_drop(void *b); /* the same, for arena_defer */
/* Its arrays beside the stages, and its numbers: what is freed, written and read alike. */
typedef struct BinaryArray {
    size_t at, n; /* of the pointer and of the int that counts, in a Binary */
    size_t size;  /* bytes of an element */
} BinaryArray;
enum { N_BINARY_ARRAYS = 6, N_BINARY_INTS = 14 };
extern const BinaryArray binary_arrays[N_BINARY_ARRAYS];
extern const size_t binary_ints[N_BINARY_INTS];
/* Where they lie. */
void **binary_array(const Binary *b, int which);
int *binary_int(const Binary *b, size_t at);
const Stage *binary_stage(const Binary *b, const char *name); /* NULL: no such stage */
/* Adds a copy of data; false when out of memory or full. */
bool binary_add(Binary *b, const char *name, const char *data, size_t n);
/* Adds data itself, which lies in b->file or was malloc'ed. */
bool binary_take(Binary *b, const char *name, char *data, size_t n);
/* The same, in the place of what the stage was. */
bool binary_put(Binary *b, const char *name, const char *data, size_t n);
/* Drops the stage, if there is one. */
void binary_remove(Binary *b, const char *name);
/* Milliseconds of a clock that only goes forward. */
double clock_ms(void);

#endif
