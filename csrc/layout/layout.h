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

/* A block of 2^20 elements has no more sides of 2; and 20! is the largest factorial that an
 * attribute holds (ir/perm.c). */
enum { MAX_RANK = 20, MAX_BITS = 24 };

/* ---- f2.c: matrices over F2 as arrays of columns --------------------------------- */
typedef uint32_t Col; /* a column: up to 32 output bits */
/* n is at most 32 everywhere. */
Col f2_mul(const Col *m, int n, Col v); /* XOR of the columns picked by v */
int f2_rank(const Col *m, int n);
/* x with m x = y, free variables (columns in the span of earlier ones) 0, so x is
 * linear in y; false when y is outside the image. */
bool f2_solve(const Col *m, int n, Col y, Col *x);
/* inv[j] solves m inv[j] = bit j for j < bits; false unless m is onto bits bits. */
bool f2_invert(const Col *m, int n, int bits, Col *inv);
/* Unit vectors that complete m to all of `bits` bits; returns how many. */
int f2_complement(const Col *m, int n, int bits, Col *out);
/* The columns of `from`, in order, that enlarge the span of m and those before. */
int f2_extend(const Col *m, int n, const Col *from, int n_from, Col *out);

/* ---- layout.c: the algebra ------------------------------------------------------- */
typedef enum InDim { IN_REG, IN_LANE, IN_WARP, IN_BLOCK, N_IN } InDim;

enum { LANE_BITS = 5, WARP_BITS = 6 }; /* of a block: at most 64 warps */

typedef struct Layout {
    uint8_t rank;
    uint8_t log2_shape[MAX_RANK]; /* of the tensor, dim 0 slowest */
    uint8_t n[N_IN];              /* input bits of each dim; lane is 5 but in tiles */
    Col basis[N_IN][MAX_BITS];
} Layout;

/* Interned: equal layouts are the same pointer within a Comp. Reads what n says. */
const Layout *layout_intern(Comp *c, const Layout *l);
int layout_bits(const Layout *l); /* log2 of the element count */
int layout_n_in(const Layout *l); /* all input bits */
Col layout_at(const Layout *l, uint32_t reg, uint32_t lane, uint32_t warp,
              uint32_t block);
bool layout_is_onto(const Layout *l);      /* every element is somewhere */
bool layout_is_injective(const Layout *l); /* nothing is held twice */
/* The coordinate along `dim` of flat index i is i >> shift & (size - 1). */
int layout_dim_shift(const Layout *l, int dim);
/* The input bits of `in` whose basis moves along dim, as a mask. */
uint32_t layout_moves(const Layout *l, InDim in, int dim);
/* The bits of a thread's number (lane, then warp) that do not change what it holds: threads
 * with one of them set hold copies. */
uint32_t layout_copies(const Layout *l);
/* Along dim, are the warps' bits one run above all the lanes' bits? Then partial results go
 * from lanes to warps in order. */
bool layout_is_nested(const Layout *l, int dim);
/* The longest run of consecutive elements along dim within a thread: reg_bit[i] is the
 * register bit that steps by 1 << i, and no other input bit disturbs that bit of the
 * coordinate. Returns its log2, at most max. Vector accesses are made of such runs. */
int layout_run(const Layout *l, int dim, int max, int *reg_bit);

/* The layouts of op results: same thread, same register unless it says otherwise. Each
 * law is tested against brute force. */
const Layout *layout_expand(Comp *c, const Layout *l, int axis); /* new dim of 1 */
/* Dims of 1 grow to log2_shape (of l's rank). What is new goes to inputs that
 * replicated so far (lanes, then warps, then registers), the rest to new high register
 * bits. */
const Layout *layout_broadcast(Comp *c, const Layout *l, const uint8_t *log2_shape);
/* Without dim axis: its bits vanish, so inputs along it replicate (a reduction's
 * result). Zero register bases stay; layout_dedup_regs drops them. */
const Layout *layout_slice(Comp *c, const Layout *l, int axis);
/* One of the parts of l that those bits of the flat index number. NULL: one of them is not a bit of the
 * register's number alone. */
const Layout *layout_part(Comp *c, const Layout *l, Col bits);
/* Dim i of the result is dim perm[i] of l. */
const Layout *layout_permute(Comp *c, const Layout *l, const int *perm);
/* The flat index stays. */
const Layout *layout_reshape(Comp *c, const Layout *l, int rank,
                             const uint8_t *log2_shape);
/* A new last dim of 2, in the lowest register bit. */
const Layout *layout_join(Comp *c, const Layout *l);
/* The halves of a last dim of 2 that one register bit alone tells apart: the layout
 * without that bit, or NULL; layout_split_bit is the bit (0 after join) or -1. */
const Layout *layout_split(Comp *c, const Layout *l);
int layout_split_bit(const Layout *l);
/* Drops repeated registers (zero register bases). */
const Layout *layout_dedup_regs(Comp *c, const Layout *l);
/* "reg [1 2] lane [4 8 0 0 0] warp []", and " block [..]" if there are block bits. */
char *layout_str(Arena *a, const Layout *l);
/* Reads that and moves *text behind it; NULL when it is no layout of that shape. */
const Layout *layout_parse(Comp *c, int rank, const uint8_t *log2_shape,
                           const char **text);

/* ---- catalog.c: constructors ----------------------------------------------------- */
/* Blocked: per_thread[] contiguous elements, then lanes, then warps, then registers
 * again, filling dims in `order` (fastest first). All counts are powers of two; the
 * number of warps is 1 << log2_warps. Replicates when the block is smaller than the
 * threads. */
const Layout *layout_blocked(Comp *c, int rank, const uint8_t *log2_shape,
                             const int *per_thread, int log2_warps, const int *order);
/* ... where threads go along the fastest dim in lines of 1 << log2_line elements: to the next line
 * when there are no more rows. */
const Layout *layout_blocked_lines(Comp *c, int rank, const uint8_t *log2_shape,
                                   const int *per_thread, int log2_warps,
                                   const int *order, int log2_line);
/* D (and C) of mma m16n8, tiled over [M, N] by warps_m x warps_n warps (the low warp
 * bits are n's). 2-D, or 3-D with a leading batch in registers. Of blocks smaller than the
 * instruction lanes hold copies. */
const Layout *layout_mma_acc(Comp *c, int rank, const uint8_t *log2_shape,
                             int log2_warps_m, int log2_warps_n);
/* A [M, K] and B [K, N] operands of that mma; kw = elements of a word (mma.h). */
const Layout *layout_mma_a(Comp *c, int rank, const uint8_t *log2_shape, int kw,
                           int log2_warps_m, int log2_warps_n);
const Layout *layout_mma_b(Comp *c, int rank, const uint8_t *log2_shape, int kw,
                           int log2_warps_m, int log2_warps_n);
/* D of wgmma over [M, N]: a warpgroup has 64 rows (so log2_warps_m >= 2) and a
 * contiguous N >> log2_warps_n columns; the low warp bits are m's. */
const Layout *layout_wgmma_acc(Comp *c, const uint8_t *log2_shape, int log2_warps_m,
                               int log2_warps_n);

/* The same, D or A, of 4-byte elements with other rows of M: where A runs along M in lines of 128
 * bytes, whose chunks are swizzled, a warp finds its words in 32 banks, pairs side by side. */
const Layout *layout_wgmma_by_words(Comp *c, const Layout *l);
/* B of 4-byte elements where A, in registers, has kw = 2: what is k = t + 4 j to an instruction,
 * t < 4, is 2 t + j of the block. Done three times, it is l again. */
const Layout *layout_wgmma_paired(Comp *c, const Layout *l);

/* A of it, where each warp has its rows in registers; kw elements of a word. */
const Layout *layout_wgmma_a(Comp *c, const uint8_t *log2_shape, int kw,
                             int log2_warps_m, int log2_warps_n);

/* Shared memory as a layout that has only register bits: those of an element's offset.
 * Row-major with dim `fastest` last, but lines of up to 128 bytes along it come first:
 *
 *     offset bytes   [ 128-byte column | rows | chunk of 16 bytes | inside ]
 *
 * and chunk bits from `skip` on are XORed with the bits, from `from` on, of the number of the
 * 128-byte row they are in, so that 8 rows of 16 bytes (4, 2 with skip 1, 2) lie in
 * different banks; with from 1, every second row, as who gathers 4 bytes out of 4 rows wants
 * it. With both 0 it is what TMA and wgmma call swizzle 128B, 64B and 32B. */
const Layout *layout_swizzled(Comp *c, int rank, const uint8_t *log2_shape, int fastest,
                              int log2_elem_bytes, int skip, int from);

/* Shared memory that copies of tensors fill box by box, each without gaps:
 *
 *     offset bytes   [ boxes | inside of a box, the last dim lowest ]
 *
 * swizzle, 32, 64 or 128: chunks of 16 bytes are XORed with the number of the 128-byte row they
 * are in, as many of its bits as lines of that length have for chunks. 0: they are not. */
const Layout *layout_boxes(Comp *c, int rank, const uint8_t *log2_shape,
                           const uint8_t *log2_box, int log2_elem_bytes, int swizzle);

/* ---- convert.c: plan a change of layout ----------------------------------------------
 * How to turn the registers src[] of a value laid out as `src` into dst[] of `dst`. The
 * plan is arrays of constants for one loop each; the essays of convert_*.c say why it is right.
 *
 * REGS     dst[r] = src[dst_from[r]]
 *
 * SHUFFLE  within warps. A word is 1 << log2_pack elements that travel together (packed
 *          into one 32-bit register when log2_pack > 0).
 *     1.   word[j] = { src[src_from[j << log2_pack | e]] for each e }   j < n_words_src
 *     2.   for each lane bit i with pre_lane[i]: all j at once
 *              word[j] = lane bit i ? word[j ^ pre_lane[i]] : word[j]
 *          the same for each warp bit with pre_warp[i]
 *     3.   at  = XOR of lane_of[i], warp_of[i] over set lane and warp bits
 *          got[k] = shfl.idx(word[word_of[k]], at ^ lane_xor[k])        k < n_words_dst
 *          (when same_lane and lane_xor[k] == 0 that is word[word_of[k]]: no shuffle)
 *     4.   for each lane bit i with post_lane[i]: all k at once
 *              got[k] = lane bit i ? got[k ^ post_lane[i]] : got[k]
 *     5.   dst[r] = element e of got[k],  k << log2_pack | e = dst_from[r]
 *
 * SHARED   through a buffer of 1 << log2_buffer elements, each 1 << log2_elem_bytes bytes
 *          (bool is a byte). Offsets are in elements.
 *          at = XOR of store_lane[i], store_warp[i] over set bits, load_at likewise
 *          for rep p < n_reps:                      (a barrier before p > 0)
 *     1.       store i < n_stores: offset at ^ store_xor[i], elements
 *                  src[src_from[(p * n_stores + i) << log2_store | e]]
 *              only by threads with no lane bit of store_lane_skip and no warp bit of
 *              store_warp_skip (the others would write the same values again)
 *     2.       barrier, of the warp alone if warp_local
 *     3.       load i < n_loads: offset load_at ^ load_xor[i] gives
 *                  value[(p * n_loads + i) << log2_load | e]
 *          dst[r] = value[dst_from[r]]
 *          ^ is + where store_xor[i] & store_moving is 0 (an immediate of the address).
 */
typedef enum ConvKind { CONV_NONE, CONV_REGS, CONV_SHUFFLE, CONV_SHARED } ConvKind;

typedef struct ConvPlan {
    ConvKind kind;       /* NONE: src and dst are the same layout */
    int cost;            /* issue slots of a quarter of an SM, about */
    int n_src, n_dst;    /* registers of src and of dst */
    const int *dst_from; /* [n_dst] */
    const int *src_from; /* SHUFFLE and SHARED */

    /* SHUFFLE */
    int log2_pack;
    int n_words_src, n_words_dst;
    Col pre_lane[LANE_BITS], pre_warp[WARP_BITS];
    Col lane_of[LANE_BITS], warp_of[WARP_BITS];
    bool same_lane;      /* lane_of is the identity and warp_of is 0 */
    const int *word_of;  /* [n_words_dst] */
    const int *lane_xor; /* [n_words_dst] */
    Col post_lane[LANE_BITS];
    int n_shuffles; /* of words; 0 when selects are enough */

    /* SHARED */
    int log2_buffer, log2_elem_bytes;
    int n_reps, n_stores, n_loads; /* accesses are counted per rep */
    int log2_store, log2_load;     /* elements of one access, at most 16 bytes */
    Col store_lane[LANE_BITS], store_warp[WARP_BITS];
    Col load_lane[LANE_BITS], load_warp[WARP_BITS];
    uint32_t store_lane_skip, store_warp_skip;
    const Col *store_xor, *load_xor; /* [n_stores], [n_loads] */
    Col store_moving, load_moving;   /* bits that a lane or warp can set */
    bool warp_local;                 /* each warp has its own part of the buffer */
    int store_ways, load_ways;       /* bank conflicts: 1 is none */
    Col offset_of[MAX_BITS];         /* flat index i is at f2_mul(offset_of, bits, i) */
} ConvPlan;

/* Both layouts are of one shape and onto. Raises LIMIT when elements would have to
 * cross blocks of a cluster. */
const ConvPlan *layout_plan(Comp *c, const Layout *src, const Layout *dst,
                            int elem_bits);
int64_t layout_plan_bytes(const ConvPlan *p); /* of shared memory; 0 if none */

/* ---- ldmatrix.c ------------------------------------------------------------------- */
/* How ldmatrix fills registers from shared memory: word k of the instruction that starts
 * at register r (no bit of a word, no matrix bit set) is for registers
 *     r | (k & 1) << bit[0] | (k >> 1) << bit[1] | 0 .. elements of a word - 1
 * and lane bit i of the lane that hands in an address moves it by row[i] elements (XOR). */
typedef struct LdMatrix {
    bool trans;
    int log2_n;    /* matrices an instruction: 1, 2 or 4 */
    int log2_word; /* elements of a word: registers 0, 1, .. */
    int bit[2];
    Col row[LANE_BITS];
} LdMatrix;
/* Can it fill l, when flat index i is at f2_mul(offset_of, bits, i)? avoid: register bits
 * that should not tell matrices apart if there are others. */
bool layout_ldmatrix(const Layout *l, const Col *offset_of, int elem_bits,
                     uint32_t avoid, LdMatrix *m);
/* offset_of of a layout like layout_swizzled's: its inverse. */
void layout_offsets(const Layout *smem, Col *offset_of);
/* Like layout_run, along offsets: registers that are neighbours in shared memory. */
int layout_offset_run(const Layout *l, const Col *offset_of, int max, int *reg_bit);

/* For 16-bit elements and a buffer that is still to be planned: the layout in which each
 * lane has its row of 8 elements for ld- or stmatrix(.trans) of l. Registers 0-2 go along
 * the row; lanes 0-2 pick the row of a matrix, lanes 3, 4 the matrix. A row's number, its
 * register >> 3, is that of an instruction, which takes the 2 n registers of l from
 * 2 n times that number on. n is 1, 2 or 4 matrices, or 0: l has no such rows. */
typedef struct MatrixRows {
    const Layout *rows;
    bool trans;
    int n;
} MatrixRows;
MatrixRows layout_matrix_rows(Comp *c, const Layout *l, bool trans);
/* Do the rows lie in p's buffer as the instructions take them? */
bool layout_rows_fit(const ConvPlan *p, const Layout *rows);

/* ---- wgmma.c --------------------------------------------------------------------- */
/* How wgmma finds an operand in shared memory; all in bytes. */
typedef struct WgmmaOperand {
    int line; /* 128, 64 or 32: the swizzle */
    bool is_mn_major;
    int lbo; /* MN-major: from a line's elements to those behind them; else unused */
    int sbo; /* from 8 lines to the next 8 */
} WgmmaOperand;
/* Can instructions that read mn x 32 bytes of k at a time find them in smem, whose dim
 * mn_dim is M or N? Where they begin is at its offset: nothing is left to swizzle. */
bool layout_wgmma(const Layout *smem, int mn_dim, int mn, int elem_bytes,
                  WgmmaOperand *w);

/* ---- bank.c ---------------------------------------------------------------------- */
/* In how many ways one access of a warp to shared memory conflicts: 1 is conflict-free.
 * The thread's vector of 1 << log2_vec elements is aligned and at most 16 bytes;
 * offset_of maps flat indices to element offsets. Registers and warps do not matter:
 * they move all lanes by one XOR. */
int layout_bank_ways(const Layout *l, const Col *offset_of, int log2_vec,
                     int elem_bits);

#endif
