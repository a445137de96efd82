/* machine.h: the primitives SIMT code is made of, and who provides them.
 *
 * machine_ptx answers with intrinsics and inline assembly. Words are i32; wider elements travel
 * as several words. `pred` is an i1 or NULL for "always". All threads of a warp (block) reach
 * shuffles (barriers) together.
 *
 * A slot (machine.def) builds code at the builder's place, l->b, and may add basic blocks; the
 * builder then stands where the code goes on. PORTING.md is the guide for a new machine.
 */
#ifndef TEGULA_MACHINE_H
#define TEGULA_MACHINE_H

#include "codegen/codegen.h"
#include "layout/layout.h"
#include "layout/mma.h"

typedef struct Access { /* one load, store or atomic of one thread */
    Lv ptr;             /* global: of type l->gptr */
    int bytes;          /* of the whole vector: 1..max_vec_bytes, a power of two */
    int align;          /* bytes known, at least 1 */
    Lv pred;            /* memory is not touched where it is false; NULL: always */
    Lv count; /* of an async_copy: bytes (i32) to read, the rest are 0; NULL: all */
    Lv owner; /* of an async_copy: elsewhere another thread makes it; NULL: everywhere */
    int cache, evict; /* CACHE_*, EVICT_* */
    bool is_volatile;
} Access;

/* Instructions of a warpgroup, one after the other along k: 64 rows, `columns` columns, each 32
 * bytes of k. */
typedef struct Wgmma {
    Elem elem, elem_b; /* they differ in float8 alone */
    Elem sum;
    int columns, n_sums; /* words of the sum, two of f16 in each */
    bool is_first;       /* the first one overwrites the accumulators */
    WgmmaOperand a, b;   /* a: unless it is in registers */
    Lv a_first, b_first; /* shared offsets, bytes, the same for all of a warpgroup .. */
    int n_steps;
    int *a_offset, *b_offset; /* .. and what is added: by step */
} Wgmma;

typedef struct Machine {
    const char *name;  /* in errors that say what a target lacks */
    int max_vec_bytes; /* the widest access to global memory */
#define SLOT(type, name, params) type(*name) params;
#include "codegen/simt/machine.def"
    const ScalarOps *ops; /* codegen.h: elementwise code's questions */
} Machine;

extern const Machine machine_ptx;

/* assembly.c: o on one element, in a region: its results. */
void simt_assembly(Ll *l, const Op *o, Lv *x, Lv *out);

#endif
