/* catalog: the layouts that instructions and memory accesses want. Constructors only.
 *
 * All are tilings: bits of the coordinates are dealt out, low ones first, to registers,
 * lanes and warps. mma m16n8 D with f32, [16, 8], register pair per lane:
 *
 *              n 0 1   2 3   4 5   6 7
 *     m 0      lane 0  lane 1  lane 2  lane 3      reg:  n bit 0; m bit 3
 *     m 1      lane 4  lane 5  ...                 lane: n bits 1, 2; m bits 0, 1, 2
 *     ...
 *     m 8      lane 0  lane 1  ...  registers 2, 3
 *
 * The bit order of D is that of A with kw = 2, which is why one dot's result feeds the
 * next without a move (tested). Where a block is smaller than the fragment, its lanes hold
 * copies, and its registers are fewer. Source: PTX ISA, "Matrix fragments for mma.m16n8k16"
 * and "Register fragments of wgmma"; the formulas there are spelt out in tests/c.
 */
#include "layout/layout.h"

#include <assert.h>

typedef struct Deal {
    Layout l;
    int used[MAX_RANK]; /* bits of each dim that have been dealt */
} Deal;

static Deal
deal_new(int rank, const uint8_t *log2_shape)
{
    Deal t = {.l.rank = (uint8_t)rank};
    assert(rank <= MAX_RANK);
    memcpy(t.l.log2_shape, log2_shape, (size_t)rank);
    return t;
}

static bool
has_more(const Deal *t, int dim)
{
    return t->used[dim] < t->l.log2_shape[dim];
}

/* The next n bits of dim to `in`. Beyond its end threads replicate, registers do not. */
static void
deal(Deal *t, InDim in, int n, int dim)
{
    for (; n > 0; n--) {
        Col b = 0;
        if (has_more(t, dim))
            b = (Col)1 << (layout_dim_shift(&t->l, dim) + t->used[dim]++);
        else if (in == IN_REG)
            return;
        assert(t->l.n[in] < MAX_BITS);
        t->l.basis[in][t->l.n[in]++] = b;
    }
}

static void
replicate(Deal *t, InDim in, int n)
{
    while (n-- > 0)
        t->l.basis[in][t->l.n[in]++] = 0;
}

/* What is left of dims last, last - 1, .. 0 to registers. */
static const Layout *
deal_rest(Comp *c, Deal *t)
{
    for (int d = t->l.rank - 1; d >= 0; d--)
        deal(t, IN_REG, MAX_BITS, d);
    return layout_intern(c, &t->l);
}

/* Threads along the first dim of `order` up to 1 << log2_line elements, then along the others, and along
 * what is left of the first. */
static void
deal_threads(Deal *t, InDim in, int left, const int *order, int log2_line)
{
    int first = order[0];
    for (; left && has_more(t, first) && t->used[first] < log2_line; left--)
        deal(t, in, 1, first);
    for (int k = 1; k <= t->l.rank; k++) {
        int dim = order[k % t->l.rank];
        for (; left && has_more(t, dim); left--)
            deal(t, in, 1, dim);
    }
    replicate(t, in, left);
}

const Layout *
layout_blocked_lines(Comp *c, int rank, const uint8_t *log2_shape,
                     const int *per_thread, int log2_warps, const int *order,
                     int log2_line)
{
    Deal t = deal_new(rank, log2_shape);
    for (int k = 0; k < rank; k++)
        deal(&t, IN_REG, log2_of(per_thread[order[k]]), order[k]);
    deal_threads(&t, IN_LANE, LANE_BITS, order, log2_line);
    deal_threads(&t, IN_WARP, log2_warps, order, log2_line);
    for (int k = 0; k < rank; k++)
        deal(&t, IN_REG, MAX_BITS, order[k]);
    return layout_intern(c, &t.l);
}

const Layout *
layout_blocked(Comp *c, int rank, const uint8_t *log2_shape, const int *per_thread,
               int log2_warps, const int *order)
{
    return layout_blocked_lines(c, rank, log2_shape, per_thread, log2_warps, order,
                                MAX_BITS);
}

const Layout *
layout_mma_acc(Comp *c, int rank, const uint8_t *log2_shape, int log2_warps_m,
               int log2_warps_n)
{
    Deal t = deal_new(rank, log2_shape);
    int m = rank - 2, n = rank - 1;
    assert(rank >= 2);
    deal(&t, IN_REG, 1, n);
    deal(&t, IN_LANE, 2, n);
    deal(&t, IN_LANE, 3, m);
    deal(&t, IN_REG, 1, m);
    deal(&t, IN_WARP, log2_warps_n, n);
    deal(&t, IN_WARP, log2_warps_m, m);
    return deal_rest(c, &t);
}

const Layout *
layout_mma_a(Comp *c, int rank, const uint8_t *log2_shape, int kw, int log2_warps_m,
             int log2_warps_n)
{
    Deal t = deal_new(rank, log2_shape);
    int m = rank - 2, k = rank - 1;
    assert(rank >= 2);
    deal(&t, IN_REG, log2_of(kw), k);
    deal(&t, IN_LANE, 2, k);
    deal(&t, IN_LANE, 3, m);
    deal(&t, IN_REG, 1, m);
    replicate(&t, IN_WARP, log2_warps_n);
    deal(&t, IN_WARP, log2_warps_m, m);
    return deal_rest(c, &t);
}

const Layout *
layout_mma_b(Comp *c, int rank, const uint8_t *log2_shape, int kw, int log2_warps_m,
             int log2_warps_n)
{
    Deal t = deal_new(rank, log2_shape);
    int k = rank - 2, n = rank - 1;
    assert(rank >= 2);
    deal(&t, IN_REG, log2_of(kw), k);
    deal(&t, IN_LANE, 2, k);
    deal(&t, IN_LANE, 3, n);
    deal(&t, IN_REG, MAX_BITS, k);
    deal(&t, IN_WARP, log2_warps_n, n);
    replicate(&t, IN_WARP, log2_warps_m);
    return deal_rest(c, &t);
}

const Layout *
layout_wgmma_acc(Comp *c, const uint8_t *log2_shape, int log2_warps_m, int log2_warps_n)
{
    enum { M, N };
    Deal t = deal_new(2, log2_shape);
    assert(log2_shape[M] >= 6 && log2_warps_m >= 2);
    assert(log2_shape[N] >= 3 + log2_warps_n);
    deal(&t, IN_REG, 1, N);
    deal(&t, IN_LANE, 2, N);
    deal(&t, IN_LANE, 3, M);
    deal(&t, IN_REG, 1, M);
    deal(&t, IN_WARP, log2_warps_m, M);
    deal(&t, IN_REG, log2_shape[N] - 3 - log2_warps_n, N);
    deal(&t, IN_WARP, log2_warps_n, N);
    return deal_rest(c, &t);
}

const Layout *
layout_wgmma_a(Comp *c, const uint8_t *log2_shape, int kw, int log2_warps_m,
               int log2_warps_n)
{
    enum { M, K };
    Deal t = deal_new(2, log2_shape);
    deal(&t, IN_REG, log2_of(kw), K);
    deal(&t, IN_LANE, 2, K);
    deal(&t, IN_LANE, 3, M);
    deal(&t, IN_REG, 1, M);
    deal(&t, IN_WARP, log2_warps_m, M);
    replicate(&t, IN_WARP, log2_warps_n);
    return deal_rest(c, &t);
}

/* Bits 0 .. n - 1 of dim become bits to[0 .. n - 1] of it. */
static const Layout *
renamed(Comp *c, const Layout *l, int dim, const uint8_t *to, int n)
{
    Layout r = *l;
    int at = layout_dim_shift(l, dim);
    Col low = (((Col)1 << n) - 1) << at;
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++) {
            r.basis[in][i] &= ~low;
            for (int k = 0; k < n; k++)
                if (l->basis[in][i] >> (at + k) & 1)
                    r.basis[in][i] |= (Col)1 << (at + to[k]);
        }
    return layout_intern(c, &r);
}

/* An instruction's row bits, low ones first, are these of M. Lanes 0-15 read four lines, k 0 .. 3
 * of the instruction, whose chunks are turned over by k:
 *
 *     word in its line     m 4   m 3   m 2   |   m 1   m 0
 *     turned over by       k 2   k 1   k 0
 *
 * m 0 is the register behind (row + 8), so a lane reads pairs; rows 0 and 1 are m 1 and m 4, which
 * with k 0 and k 1 are all banks. */
const Layout *
layout_wgmma_by_words(Comp *c, const Layout *l)
{
    static const uint8_t m_of_row[] = {1, 4, 2, 0, 3, 5};
    return renamed(c, l, 0, m_of_row, COUNT(m_of_row));
}

const Layout *
layout_wgmma_paired(Comp *c, const Layout *l)
{
    static const uint8_t k_of_step[] = {1, 2, 0};
    return renamed(c, l, 0, k_of_step, COUNT(k_of_step));
}

enum { LOG2_CHUNK = 4, LOG2_LINE = 7 };

/* Chunk bits below `line` (log2 bytes), from `skip` on, are XORed with those of the number of
 * the 128-byte row, from `from` on. */
static void
swizzle_chunks(Layout *l, int log2_elem_bytes, int line, int skip, int from)
{
    Col *b = l->basis[IN_REG];
    for (int i = 0; LOG2_CHUNK + skip + i < line; i++) {
        int row = LOG2_LINE + from + i - log2_elem_bytes;
        if (row < l->n[IN_REG]) /* that row has the chunk bit turned over */
            b[row] ^= b[LOG2_CHUNK + skip + i - log2_elem_bytes];
    }
}

const Layout *
layout_swizzled(Comp *c, int rank, const uint8_t *log2_shape, int fastest,
                int log2_elem_bytes, int skip, int from)
{
    Deal t = deal_new(rank, log2_shape);
    int line = MIN((int)log2_shape[fastest] + log2_elem_bytes, LOG2_LINE);
    deal(&t, IN_REG, line - log2_elem_bytes, fastest);
    for (int d = rank - 1; d >= 0; d--)
        if (d != fastest)
            deal(&t, IN_REG, MAX_BITS, d);
    deal(&t, IN_REG, MAX_BITS, fastest);
    swizzle_chunks(&t.l, log2_elem_bytes, line, skip, from);
    return layout_intern(c, &t.l);
}

const Layout *
layout_boxes(Comp *c, int rank, const uint8_t *log2_shape, const uint8_t *log2_box,
             int log2_elem_bytes, int swizzle)
{
    Deal t = deal_new(rank, log2_shape);
    for (int d = rank - 1; d >= 0; d--)
        deal(&t, IN_REG, log2_box[d], d);
    for (int d = rank - 2; d >= 0; d--)
        deal(&t, IN_REG, MAX_BITS, d);
    deal(&t, IN_REG, MAX_BITS, rank - 1);
    if (swizzle)
        swizzle_chunks(&t.l, log2_elem_bytes, log2_of(swizzle), 0, 0);
    return layout_intern(c, &t.l);
}
