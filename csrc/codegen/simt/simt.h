/* simt.h: one thread's program. Private to codegen/simt.
 *
 * A block value is an array of LLVM values, one for each register of its layout; a scalar
 * is an array of one, computed by every thread alike.
 *
 *     distribute.c    the walk over the ops; elementwise, shape ops, indices
 *     values.c        the registers of a value
 *     slices.c        slices that passes keep in local memory
 *     pieces.c        loops over what lies there whole
 *     control.c       for, while, if
 *     words.c         elements <-> 32-bit words: packing, shuffles
 *     scratch.c       the places of ops in shared memory, and their waits
 *     memory.c        load, store, atomics
 *     roles.c         rings of slots, and warps that fill them
 *     shared.c        shared memory as a value; asynchronous copies
 *     tensor.c        copies of tensors
 *     reduce.c scan.c convert.c dot.c lookup.c      the ops that threads do together
 *     cost.c          what each line became, for the report
 *     machine.h       what they are made of
 */
#ifndef TEGULA_SIMT_H
#define TEGULA_SIMT_H

#include "codegen/simt/machine.h"

/* The block of per-thread constants: of the whole function, or of what follows a loop. */
typedef struct Setup {
    Lv tid;                      /* i32: lane bits, then warp bits */
    Lv end;                      /* the branch that ends the block */
    Lv warp;                     /* its number; NULL: nobody has asked */
    Map linear, flipped, owners; /* what the block has computed already */
} Setup;

typedef struct Sim {
    Comp *c;
    Arena *a;
    Func *f;
    Ll *l;
    const Machine *m;
    FactTable *facts;
    FactTable *rows; /* of which even_rows asks; NULL: masks of rows stay as they are */
    int log2_warps;
    Lv **vals;          /* by value id: one Lv a register */
    struct Lazy **lazy; /* by value id: how registers that are NULL are made; or NULL */
    Lv slices;          /* where slices.c keeps blocks; NULL: none has been asked for */
    Setup *setup;
    Map word_of; /* element Lv -> Word: where it was unpacked from */
    int shared_bytes;
    int first_mbar; /* of the exchanges of a cluster */
} Sim;

/* ---- distribute.c ---------------------------------------------------------------------- */
void sim_block(Sim *s, const Block *b); /* all ops but the terminator */

/* ---- values.c -------------------------------------------------------------------------- */
Lv *sim_val(Sim *s, const Val *v);    /* its registers */
Lv *sim_define(Sim *s, const Val *v); /* room for them, to be filled */
/* The same, filled when asked for: make(s, data, r) fills register r, and may fill others. */
void sim_define_lazily(Sim *s, const Val *v, void (*make)(Sim *s, void *data, int r),
                       void *data);
Lv sim_reg(Sim *s, const Val *v, int r); /* one register; sim_val makes all */
int sim_n_regs(const Val *v);            /* 1 for a scalar */
NORETURN void sim_bad_layout(Sim *s, const Op *o);
/* Of a shape op: bit i of a register of the result is map[i] of the operand's. */
void sim_reg_map(Sim *s, const Op *o, Col *map);
/* Of a join, split or cat: the register bit that tells the halves apart. */
int sim_half_bit(Sim *s, const Op *o);

/* ---- setup.c --------------------------------------------------------------------------- */
/* XOR of the columns of this thread's set lane and warp bits, as i32. */
Lv sim_linear(Sim *s, const Col *lane, int n_lane, const Col *warp, int n_warp);
/* What sim_linear gave with the bits of k turned over, in setup too. The optimiser cannot
 * look into it: a sum with it stays one, and what is not the thread's stays uniform. */
Lv sim_flipped(Sim *s, Lv linear, Col k);
Lv sim_index(Sim *s, const Layout *l, int reg); /* flat index of a register's element */
/* a ^ k, as an addition where k shares no bit with those that a can have. */
Lv sim_xor(Sim *s, Lv a, Col can_have, Col k);
/* The warp's number, as one that the assembler knows to be the same in all lanes: what depends on it may
 * stay in uniform registers, and a branch on it leaves no lane behind. */
Lv sim_warp_number(Sim *s);
Lv sim_in_first_group(Sim *s); /* of two warpgroups */
/* (tid & mask) == 0; NULL (always) when mask is 0. */
Lv sim_all_clear(Sim *s, uint32_t tid_mask);
/* Is this thread the one, of those that hold the same elements, that acts? NULL: all are. */
Lv sim_owner(Sim *s, const Layout *l);
Lv sim_and(Sim *s, Lv a, Lv b); /* of predicates; NULL is true */
/* To the end of this block of IR, per-thread constants are computed again where they are first
 * wanted from here on, instead of being kept in registers since the function began. */
void sim_begin_anew(Sim *s);
void sim_open_setup(Sim *s); /* of the function; ended where its ops begin */
void sim_end_setup(Sim *s, const char *then);

/* XOR of the columns of from's set bits, which are n. */
Lv sim_xor_columns(Sim *s, Lv from, const Col *col, int n);
/* a ^ b of what has only those bits: a sum where none is in both. */
Lv sim_joined(Sim *s, Lv a, Col a_bits, Lv b, Col b_bits);

/* ---- slices.c: what passes keep in local memory ------------------------------------------ */
Lv sim_slices(Sim *s, const Val *local); /* where they begin */
void sim_slice_load(Sim *s, const Op *o);
void sim_slice_store(Sim *s, const Op *o);

/* ---- control.c -------------------------------------------------------------------------- */
void sim_for(Sim *s, const Op *o);
void sim_while(Sim *s, const Op *o);
void sim_if(Sim *s, const Op *o);

/* ---- words.c ------------------------------------------------------------------------------ */
/* An element <-> an integer of its width in memory. */
Lv sim_to_int(Ll *l, const Type *t, Lv x);
Lv sim_from_int(Ll *l, const Type *t, Lv x);
/* n consecutive elements of type t <-> one value as memory takes it: i8, i16, i32, i64 or
 * vectors of i32, i64. At most 16 bytes. */
Lt sim_packed_type(Sim *s, const Type *t, int n);
Lv sim_pack(Sim *s, const Type *t, Lv *elems, int n);
void sim_unpack(Sim *s, const Type *t, Lv packed, int n, Lv *elems);
/* n consecutive elements in shared memory, at a multiple of their bytes. */
void sim_shared_get(Sim *s, const Type *t, Lv offset, int n, Lv *elems);
void sim_shared_put(Sim *s, const Type *t, Lv offset, Lv *elems, int n, Lv pred);
/* One element as 32-bit words (the low one first) and back; returns their number, 1 or 2. */
int sim_to_words(Sim *s, const Type *t, Lv x, Lv word[2]);
Lv sim_from_words(Sim *s, const Type *t, Lv word[2]);
/* n elements side by side in the low bits of a 32-bit word. */
Lv sim_pack_word(Sim *s, const Type *t, Lv *elems, int n);
void sim_unpack_word(Sim *s, const Type *t, Lv word, int n, Lv *elems);
/* The word that the element x was taken out of, and which of its parts; NULL: none. */
Lv sim_word_of(Sim *s, Lv x, int *part);
Lv sim_shuffle_xor(Sim *s, const Type *t, Lv x, int mask);
Lv sim_shuffle_idx(Sim *s, const Type *t, Lv x, Lv lane);

/* ---- memory.c --------------------------------------------------------------------------------- */
enum { SIM_MAX_VECTOR = 16 }; /* elements: 16 bytes of bytes */
/* Registers that one access takes together. */
typedef struct SimVector {
    int log2;
    uint32_t mask;           /* of the register bits inside */
    int reg[SIM_MAX_VECTOR]; /* register of element i, relative to the first */
} SimVector;
SimVector sim_vector(const int *bit, int log2); /* of these register bits, low first */
/* Of an asynchronous copy. */
SimVector sim_copy_vector(Sim *s, const Op *o);

/* ---- scratch.c ----------------------------------------------------------------------------- */
void sim_check_places(Sim *s);
int sim_site(Sim *s, const Op *o); /* the number of its exchange in a cluster */
int sim_scratch(Sim *s,
                const Op *o); /* where o's place begins; waits until it is free */
void sim_wait(Sim *s, const Op *o, int which); /* WAIT_*, where o has that one */
void sim_barrier(Sim *s);                      /* all threads of the program */
/* Index * bytes + at. */
Lv sim_shared_offset(Sim *s, Lv index, int elem_bytes, int at);

/* ---- cost.c ------------------------------------------------------------------------------- */
typedef struct SimCosts SimCosts;
/* l->machine, counted in l->costs. */
const Machine *sim_costs_open(Ll *l, Arena *a);
void sim_costs_enter(Ll *l, const Op *o); /* what is asked next is o's */
void sim_costs_report(Ll *l, Func *f);    /* into f->report */

/* ---- the rest -------------------------------------------------------------------------------- */
void sim_shared_alloc(Sim *s, const Op *o);
void sim_shared_load(Sim *s, const Op *o);
void sim_shared_store(Sim *s, const Op *o);
/* A block to and from the shared memory at `slot` (bytes, the same for all threads), where
 * elements lie as smem says; what is read is o's result. A part that is written alone, of the bytes of
 * the whole that registers choose, begins at `slot`. */
typedef struct SlotPart {
    int from, bytes;
    bool in_place; /* as address computes */
} SlotPart;
void sim_write_part(Sim *s, const Val *v, const Type *smem, Lv slot, SlotPart part);
void sim_read_slot(Sim *s, const Op *o, const Type *smem, Lv slot);
/* The same register by register, when asked, for threads that hold elements as l says. */
typedef struct SharedRead SharedRead;
SharedRead *sim_open_slot(Sim *s, const Type *smem, Lv slot, const Layout *l);
Lv sim_slot_reg(Sim *s, SharedRead *k, int r);
void sim_map_open(Sim *s); /* tensor.c: before all ops */
void sim_tensor_map(Sim *s, const Op *o);
void sim_map_load(Sim *s, const Op *o);
void sim_map_store(Sim *s, const Op *o);
void sim_end_stages(Sim *s, const Block *b); /* of roles: behind the team's code */
void sim_async_copy(Sim *s, const Op *o);
/* Are there registers for the fragments of two steps along k of a dot in a loop? */
bool sim_reads_ahead(Sim *s, const Op *dot);
void sim_load(Sim *s, const Op *o);
void sim_store(Sim *s, const Op *o);
void sim_atomic(Sim *s, const Op *o);
void sim_prefetch(Sim *s, const Op *o);
void sim_extern(Sim *s, const Op *o); /* memory.c: with effects, by the owner */
void sim_reduce(Sim *s, const Op *o);
void sim_scan(Sim *s, const Op *o);
void sim_convert(Sim *s, const Op *o);
void sim_dot(Sim *s, const Op *o);
/* What is summed in; the accumulator's registers as that, and back. */
Elem sim_work_elem(Elem acc);
Lv *sim_open_acc(Sim *s, const Op *o);
void sim_close_acc(Sim *s, const Op *o, Lv *acc);
void sim_fma_dot(Sim *s, const Op *o); /* dot_fma.c */
Lv sim_round_tf32(Sim *s, Lv x);       /* dot.c: to nearest */
/* Is o a move that rounds to tf32 first, as only products want what it moves? */
bool sim_rounds_move(Sim *s, const Op *o);
void sim_mma_start(Sim *s, const Op *o); /* wgmma.c */
void sim_mma_open(Sim *s, const Op *o);
void sim_mma_wait(Sim *s, const Op *o);
void sim_shared_view(Sim *s, const Op *o);
/* Where the slot begins that operands smem and smem + 1 of o name. */
Lv sim_slot_place(Sim *s, const Op *o, int smem);
void sim_ring_alloc(Sim *s, const Op *o); /* roles.c */
void sim_mbar_wait(Sim *s, const Op *o);
void sim_mbar_arrive(Sim *s, const Op *o);
void sim_turn(Sim *s, const Op *o);
void sim_tma_load(Sim *s, const Op *o);
void sim_roles(Sim *s, const Op *o);

/* ---- reduce_scatter.c ------------------------------------------------------------------------- */
void sim_reduce_scatter(Sim *s, const Op *o);
int sim_scatter_mbar(Sim *s,
                     const Op *ring); /* where the blocks' sums arrive, in bytes */
/* By one thread, which has made it: how many bytes will come to it. */
void sim_open_scatter(Sim *s, const Op *ring);

void sim_gather(Sim *s, const Op *o);
void sim_share_results(Sim *s, const Op *o);
void sim_inline_asm(Sim *s, const Op *o); /* assembly.c */
void sim_histogram(Sim *s, const Op *o);

#endif
