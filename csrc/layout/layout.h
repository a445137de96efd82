/* layout.h: who holds which element. A layout is a linear map over F2.
 *
 * All sizes are powers of two. Inputs are the bits of (register, lane, warp, block);
 * the output is the flat row-major index of the tensor (the last dim has the low bits).
 * basis[d][i] is the image of bit i of input d; the element held by (r, l, w, b) is the
 * XOR of the bases of the set bits. A zero basis replicates along that bit.
 *
 *     a 4x4 block on 4 lanes with 4 registers each, rows to lanes:
 *         reg: 1, 2      lane: 4, 8          lane 0 holds 0 1 2 3
 *                                            lane 1 holds 4 5 6 7   ...
 *     the same transposed (columns to lanes):
 *         reg: 4, 8      lane: 1, 2          lane 0 holds 0 4 8 12
 *
 * Shared memory is described by the same algebra: offset bits -> flat index.
 * Source: Zhou, Lezcano, Goucher et al., "Linear Layouts", arXiv 2505.23819.
 */
#ifndef TEGULA_LAYOUT_H
#define TEGULA_LAYOUT_H

#include "base/base.h"

enum { MAX_RANK = 8, MAX_BITS = 24 };

/* ---- f2.c: matrices over F2 as arrays of columns --------------------------------- */
typedef uint32_t Col;                       /* a column: up to 32 output bits */
Col f2_mul(const Col *m, int n, Col v);     /* XOR of the columns picked by v */
int f2_rank(const Col *m, int n);
/* x with m x = y, free variables 0; false when y is outside the image. */
bool f2_solve(const Col *m, int n, Col y, Col *x);
/* inv[j] solves m inv[j] = bit j for j < bits; false unless m is onto bits bits. */
bool f2_invert(const Col *m, int n, int bits, Col *inv);
/* Unit vectors that complete m to all of `bits` bits; returns how many. */
int f2_complement(const Col *m, int n, int bits, Col *out);

/* ---- layout.c: the algebra --------------------------------------------------------- */
typedef enum InDim { IN_REG, IN_LANE, IN_WARP, IN_BLOCK, N_IN } InDim;

typedef struct Layout {
    uint8_t rank;
    uint8_t log2_shape[MAX_RANK];   /* of the tensor, dim 0 slowest */
    uint8_t n[N_IN];                /* input bits of each dim; lane is always 5 */
    Col basis[N_IN][MAX_BITS];
} Layout;

/* Interned: equal layouts are the same pointer within a Comp. */
const Layout *layout_intern(Comp *c, const Layout *l);
int layout_bits(const Layout *l);                       /* log2 of the element count */
int layout_n_in(const Layout *l);                       /* all input bits */
/* All bases in the order reg, lane, warp, block; returns the count. */
int layout_columns(const Layout *l, Col out[N_IN * MAX_BITS]);
Col layout_at(const Layout *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block);
bool layout_is_onto(const Layout *l);                   /* every element is somewhere */
bool layout_is_injective(const Layout *l);              /* nothing is held twice */
/* How the coordinate along `dim` looks in the flat index: shift and mask. */
int layout_dim_shift(const Layout *l, int dim);

/* The layouts of op results. Each law is tested against brute force. */
const Layout *layout_expand(Comp *c, const Layout *l, int axis);        /* new dim of 1 */
const Layout *layout_broadcast(Comp *c, const Layout *l, int rank, const uint8_t *log2_shape);
const Layout *layout_slice(Comp *c, const Layout *l, int axis);         /* after a reduction */
const Layout *layout_permute(Comp *c, const Layout *l, const int *perm);/* result dim i = dim perm[i] */
const Layout *layout_reshape(Comp *c, const Layout *l, int rank, const uint8_t *log2_shape);
const Layout *layout_join(Comp *c, const Layout *l);    /* new last dim of 2 in the lowest register bit */
const Layout *layout_split(Comp *c, const Layout *l);   /* inverse; NULL when bit 0 is not a register */
/* Drops repeated registers (zero register bases). */
const Layout *layout_dedup_regs(Comp *c, const Layout *l);
/* Product: inputs concatenated, b's bases shifted by a's size per dim. */
const Layout *layout_product(Comp *c, const Layout *a, const Layout *b);
const Layout *layout_compose(Comp *c, const Layout *outer, const Layout *inner);
/* Left division: does l start with tile t? Fills the quotient; false when it does not. */
bool layout_divide(Comp *c, const Layout *l, const Layout *t, const Layout **quotient);
char *layout_str(Arena *a, const Layout *l);            /* "reg [1 2 | ..] lane [...] warp [...]" */
const Layout *layout_parse(Comp *c, int rank, const uint8_t *log2_shape, const char **text);

/* ---- catalog.c: constructors -------------------------------------------------------- */
/* Blocked: per_thread[] contiguous elements, then lanes, then warps, then registers again,
 * filling dims in `order` (fastest first). All counts are powers of two; the number of
 * warps is 1 << log2_warps. Replicates when the block is smaller than the threads. */
const Layout *layout_blocked(Comp *c, int rank, const uint8_t *log2_shape,
                             const int *per_thread, int log2_warps, const int *order);
/* D (and C) of mma m16n8, tiled over [M, N] by warps_m x warps_n warps. 2-D, or 3-D with a
 * leading batch in registers. Smaller blocks than the instruction are not given here. */
const Layout *layout_mma_acc(Comp *c, int rank, const uint8_t *log2_shape, int log2_warps_m, int log2_warps_n);
/* A [M, K] and B [K, N] operands of that mma; kw = elements per 32-bit register. */
const Layout *layout_mma_a(Comp *c, int rank, const uint8_t *log2_shape, int kw, int log2_warps_m, int log2_warps_n);
const Layout *layout_mma_b(Comp *c, int rank, const uint8_t *log2_shape, int kw, int log2_warps_m, int log2_warps_n);
const Layout *layout_wgmma_acc(Comp *c, const uint8_t *log2_shape, int log2_warps_m, int log2_warps_n);

/* ---- convert.c: plan a change of layout ---------------------------------------------- */
typedef enum ConvKind { CONV_NONE, CONV_REGS, CONV_SHUFFLE, CONV_SHARED } ConvKind;

typedef struct ConvPlan {
    ConvKind kind;
    /* CONV_REGS: dst register r copies src register reg_from[r]. */
    int *reg_from;
    /* CONV_SHUFFLE (section 5 of gpu-codegen): see convert.c. Register r of the renamed
     * source; pairs of (register bit, lane bit) for the two select steps. */
    int n_regs;             /* 1 << register bits after dropping repeats */
    int *rename;            /* renamed register -> src register */
    int n_pairs;
    int sel1_reg[5], sel1_lane[5];  /* before: register bit ^= lane bit */
    int sel2_reg[5], sel2_lane[5];  /* after */
    Col lane_inv[5];        /* source lane = XOR of lane_inv over the set bits of ... */
    Col *lane_xor;          /* ... (lane ^ lane_xor[r]) */
    int *dst_reg;           /* dst register -> register after the steps */
    /* CONV_SHARED: offset (in elements) of flat index = f2_mul(offset_of, bits, index). */
    Col offset_of[MAX_BITS];
    int log2_vec;           /* consecutive registers that form one access */
    int vec_regs[4];        /* register bits of src (and dst) inside a vector: see convert.c */
    int vec_regs_dst[4];
    int bits;               /* log2 of the buffer in elements */
} ConvPlan;

/* How to turn src into dst for elements of elem_bits bits. */
const ConvPlan *layout_plan(Comp *c, const Layout *src, const Layout *dst, int elem_bits);

/* ---- bank.c ---------------------------------------------------------------------------- */
/* Worst number of ways over all phases when `l` accesses shared memory through offset_of
 * with vectors of 1 << log2_vec elements. 1 is conflict-free. */
int layout_bank_ways(const Layout *l, const Col *offset_of, int bits, int log2_vec,
                     const int *vec_regs, int elem_bits);

#endif
