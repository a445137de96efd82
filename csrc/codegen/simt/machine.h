/* machine.h: the primitives SIMT code is made of, and who provides them.
 *
 * machine_ptx answers with intrinsics and inline assembly. Words are i32; wider elements travel
 * as several words. `pred` is an i1 or NULL for "always". All threads of a warp (block) reach
 * shuffles (barriers) together.
 *
 * A slot builds code at the builder's place, l->b, and may add basic blocks; the builder then
 * stands where the code goes on. A slot is filled by every machine unless "NULL:" in its
 * comment says what the lowering does without it. PORTING.md is the guide for a new machine.
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
    const Loc *loc;
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
    /* Creates l->fn with the ABI of the machine and fills params[i] with the register form;
     * raises for a chip it has no code for. What it needs later lies in l->machine_data. */
    void (*begin)(Ll *l, const Func *f, Lv *params);
    /* Ends l->fn; shared_bytes are what the passes placed, and what a launch provides. */
    void (*end)(Ll *l, const Func *f, int shared_bytes);
    Lv (*thread_id)(Ll *l);              /* i32 in the program, from 0 */
    Lv (*program_id)(Ll *l, int axis);   /* i32; axis is 0, 1 or 2 */
    Lv (*num_programs)(Ll *l, int axis); /* i32, at least 1 */
    Lv (*num_blocks)(Ll *l);             /* i32: of a persistent launch */
    /* All threads of the block (l->team_threads > 0: those) wait for each other, and see each other's writes. */
    void (*barrier)(Ll *l, const Loc *loc);
    /* The same among the 32 threads of the warp. */
    void (*warp_sync)(Ll *l, const Loc *loc);
    /* An i32 of another lane: lane ^ mask; `lane`, an i32 from 0 to 31; lane - delta. */
    Lv (*shuffle_xor)(Ll *l, Lv word, int mask);
    Lv (*shuffle_idx)(Ll *l, Lv word, Lv lane);
    Lv (*shuffle_up)(Ll *l, Lv word, int delta); /* own value where lane < delta */
    Lv (*ballot)(Ll *l, Lv bit);                 /* i32: bit i is the i1 of lane i */
    /* A program on the blocks of a cluster (l->log2_ctas > 0): thread_id counts the threads of all
     * of them, shared memory and barrier are each block's own. Site i is one exchange, done
     * once: every warp sends words to every block (rank), and once bytes[i] have come,
     * cluster_wait returns. open comes first, before any other code; where others use the
     * cluster's barrier it leaves that to them (is_shared). The mbarriers are 8 bytes each,
     * side by side from shared_at. NULL, all three: analysis/cluster.c must not choose
     * clusters for the target. */
    void (*cluster_open)(Ll *l, int n_sites, const int *bytes, int shared_at,
                         bool is_shared);
    void (*cluster_send)(Ll *l, int site, Lv offset, Lv word, Lv rank, Lv pred,
                         const Loc *loc);
    void (*cluster_wait)(Ll *l, int site, const Loc *loc);
    /* Global memory. Values are <n x i8/i16/i32/i64> or scalars of ll_mem form; `other` is
     * what a false pred gives, NULL only where pred is NULL. A load of void brings what is there
     * to a cache, CACHE_CA to the first, and gives NULL. */
    Lv (*load)(Ll *l, const Access *a, Lt type, Lv other);
    void (*store)(Ll *l, const Access *a, Lv value);
    /* `value` is one element (ll_elem) or, packed, the a->bytes of several, as many as atomic_log2
     * (analysis/target.c) says; so is what was there. is_used: somebody asks for that. */
    Lv (*atomic_rmw)(Ll *l, const Access *a, Elem e, int rmw, int sem, int scope,
                     Lv value, bool is_used);
    Lv (*atomic_cas)(Ll *l, const Access *a, Elem e, int sem, int scope, Lv compare,
                     Lv value);
    void (*fence)(Ll *l, int scope); /* acquire and release, SCOPE_* */
    /* Shared memory, by byte offset (i32) from the start of the kernel's buffer. */
    Lv (*shared_load)(Ll *l, Lv offset, Lt type, int align, const Loc *loc);
    void (*shared_store)(Ll *l, Lv offset, Lv value, int align, Lv pred,
                         const Loc *loc);
    Lv (*shared_atomic_add)(Ll *l, Lv offset, Lv value, Lv pred,
                            const Loc *loc); /* i32 */
    /* cp.async of a->bytes (4, 8 or 16) to a shared offset; zeros where a->pred is false,
     * and behind a->count.
     * wait(n): all but the newest n committed groups of this thread have landed. Where
     * has_async is false, the passes make no such copies; the other three may be NULL then. */
    bool (*has_async)(Ll *l);
    void (*async_copy)(Ll *l, Lv offset, const Access *a);
    void (*async_commit)(Ll *l);
    void (*async_wait)(Ll *l, int pending);
    /* d += a * b on one warp; regs in place, dealt to lanes as PTX's mma.sync deals them
     * (layout/mma.h). false: this target lacks the kind, and analysis/dot.c may not choose it. */
    bool (*has_mma)(Ll *l, MmaKind k);
    void (*mma)(Ll *l, MmaKind k, Lv *d, Lv *a, Lv *b);
    /* Products of a warpgroup (sm_90a). a: four words, or NULL. fence_async: the thread's writes
     * to shared memory so far are there for the tensor cores, once all have met. wait: all but
     * the newest `pending` groups are through; d is theirs, kept is what they read. fence: d and
     * kept are computed in front of it. NULL, all five: analysis/hopper.c does not choose warpgroups
     * for the target. */
    void (*wgmma)(Ll *l, const Wgmma *w, Lv *d, Lv (*a)[4]);
    void (*wgmma_fence)(Ll *l, Lv *d, int n, Lv *kept, int n_kept);
    void (*wgmma_commit)(Ll *l);
    void (*wgmma_wait)(Ll *l, int pending, Lv *d, int n, Lv *kept, int n_kept);
    void (*fence_async)(Ll *l);
    /* Rings (sm_90a). Mbarriers are named by shared offsets. init: n side by side, to be called
     * by one thread, which then says that it has. arrive: where pred, with bytes to come or 0.
     * tma_load: one thread copies the box of map at coords, innermost first, to `to`, and its
     * bytes arrive at bar; is_pair: in both blocks of a pair. set_registers: of every thread of a warpgroup that comes here, which
     * then has more, or fewer. elect: true in one thread of the warp. NULL, all of these:
     * analysis/hopper.c does not choose rings for the target. */
    void (*mbar_init)(Ll *l, int at, int n, int arrivals);
    void (*mbar_init_done)(Ll *l);
    void (*mbar_wait)(Ll *l, Lv at, Lv phase, int looks); /* 0: as many as it takes */
    void (*mbar_arrive)(Ll *l, Lv at, int bytes, Lv pred);
    /* Blocks 2 i and 2 i + 1 as a pair (RING_ALLOC {pair=1}). open: the kernel is of such, before other
     * code names shared memory. arrive: at the mbarriers of both. meet: all threads of both, in whose
     * warps all are there at the begin of the kernel, but not at its end. */
    void (*pair_open)(Ll *l);
    void (*pair_arrive)(Ll *l, Lv at, Lv pred);
    void (*pair_meet)(Ll *l, bool is_begin);
    /* Blocks that share a program (RING_ALLOC {ctas}). rank: of this one. meet: the team's threads of all of
     * them. place: an address in another one's shared memory, where push writes 16 bytes, so many behind; they
     * arrive at the mbarrier there. */
    Lv (*cluster_rank)(Ll *l);
    void (*cluster_meet)(Ll *l);
    Lv (*cluster_place)(Ll *l, int rank, Lv offset);
    void (*cluster_push)(Ll *l, Lv place, int behind, Lv words[4], Lv mbar);
    /* Of two warpgroups, each of which knows whether it is the first. */
    void (*begin_late)(Ll *l, int clocks, Lv is_first);
    /* The same, since the first group began with program `turn` or a later one, which `is_one`, a thread of that
     * group, writes at `at` (8 bytes). open: before anybody has. */
    void (*keep_open)(Ll *l, int at);
    void (*keep_late)(Ll *l, int clocks, Lv is_first, Lv is_one, Lv at, Lv turn);
    void (*group_barrier)(Ll *l, Lv is_first); /* of the threads of each */
    void (*tma_load)(Ll *l, Lv map, Lv to, Lv bar, Lv *coords, int n, bool is_pair);
    void (*set_registers)(Ll *l, int n, bool more);
    Lv (*elect)(Ll *l);
    /* Tensor maps (sm_90). tensor_map: the address (i64) of the i-th of the function. Stores are
     * one thread's, in groups; tensor_wait: all have been read, or are done. mbar_meet: where all
     * threads of the block meet, one of them with bytes (i32) that are to come; a token, which
     * mbar_await takes. NULL, all: analysis/hopper.c has no maps for the target. */
    Lv (*tensor_map)(Ll *l, int i);
    void (*prefetch_map)(Ll *l, Lv map);
    void (*tensor_store)(Ll *l, Lv map, Lv from, Lv *coords, int n);
    void (*tensor_commit)(Ll *l);
    void (*tensor_wait)(Ll *l, bool is_read);
    Lv (*mbar_meet)(Ll *l, Lv at, Lv bytes);
    void (*mbar_await)(Ll *l, Lv at, Lv token);
    /* Elements 2 i and 2 i + 1 of four float8 in a word, as two f16 in a word; NULL, or NULL
     * given back: one by one. */
    Lv (*f8_pair)(Ll *l, Elem e, Lv word, int i);
    /* The nearest float8 of two f32, as i16; NULL, or NULL given back: one by one. */
    Lv (*f8_of_pair)(Ll *l, Elem e, Lv low, Lv high);
    Lv (*opaque)(
        Ll *l,
        Lv x); /* x, i32 or global pointer, unknown to the optimiser; may be NULL */
    /* 8 x 8 matrices of 16 bits, n = 1, 2 or 4 of them, as PTX's instructions of these names
     * deal them to lanes; offset is the lane's row. stmatrix, NULL: has_stmatrix
     * (analysis/target.c) is false of the target. */
    void (*ldmatrix)(Ll *l, Lv offset, int n, bool trans, Lv *out, const Loc *loc);
    void (*stmatrix)(Ll *l, Lv offset, int n, bool trans, Lv *words, const Loc *loc);
    /* Stops the kernel where cond (i1) is true, with text and the place. */
    void (*trap_if)(Ll *l, Lv cond, const char *text, const Loc *loc);
    /* Prints one element. flat_index (i32) is its row-major position in operand's shape;
     * operand -1: the text alone. */
    void (*print)(Ll *l, const Op *o, int operand, Lv flat_index, Lv value, Lv pred);
    const ScalarOps *ops; /* codegen.h: elementwise code's questions */
} Machine;

extern const Machine machine_ptx;

/* assembly.c: o on one element, in a region: its results. */
void simt_assembly(Ll *l, const Op *o, Lv *x, Lv *out);

#endif
