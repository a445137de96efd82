/* layouts: random layouts. */
#include "layouts.h"

void
random_shape(Test *t, int bits, int *rank, uint8_t *log2_shape)
{
    *rank = 1 + test_below(t, 3);
    memset(log2_shape, 0, MAX_RANK);
    for (int i = 0; i < bits; i++)
        log2_shape[test_below(t, *rank)]++;
}

static const Layout *
random_blocked(Test *t, Comp *c, int rank, const uint8_t *log2_shape, int log2_warps)
{
    int per_thread[MAX_RANK], order[MAX_RANK];
    for (int d = 0; d < rank; d++) {
        per_thread[d] = 1 << test_below(t, 4);
        order[d] = d;
    }
    for (int d = rank - 1; d > 0; d--) {
        int k = test_below(t, d + 1), kept = order[d];
        order[d] = order[k];
        order[k] = kept;
    }
    return layout_blocked(c, rank, log2_shape, per_thread, log2_warps, order);
}

/* An mma fragment, or NULL where the shape has no room for one. */
static const Layout *
random_mma(Test *t, Comp *c, int rank, const uint8_t *log2_shape, int log2_warps)
{
    if (rank < 2)
        return NULL;
    int m = log2_shape[rank - 2], n = log2_shape[rank - 1];
    int wn = test_below(t, log2_warps + 1), wm = log2_warps - wn,
        log2_kw = test_below(t, 3);
    switch (test_below(t, 4)) {
    case 0: return layout_mma_acc(c, rank, log2_shape, wm, wn);
    case 1: return layout_mma_a(c, rank, log2_shape, 1 << log2_kw, wm, wn);
    case 2: return layout_mma_b(c, rank, log2_shape, 1 << log2_kw, wm, wn);
    default:
        if (rank > 2 || m < 6 || wm < 2 || n < 3 + wn)
            return NULL;
        return layout_wgmma_acc(c, log2_shape, wm, wn);
    }
}

/* A slice of a layout with one more dim. */
static const Layout *
random_slice(Test *t, Comp *c, int rank, const uint8_t *log2_shape, int log2_warps)
{
    uint8_t larger[MAX_RANK] = {0};
    int axis = test_below(t, rank + 1);
    for (int d = 0; d <= rank; d++)
        larger[d] = d == axis ? (uint8_t)test_below(t, 5) : log2_shape[d - (d > axis)];
    return layout_slice(c, random_blocked(t, c, rank + 1, larger, log2_warps), axis);
}

static const Layout *
random_permuted(Test *t, Comp *c, int rank, const uint8_t *log2_shape, int log2_warps)
{
    uint8_t reversed[MAX_RANK] = {0};
    int perm[MAX_RANK];
    for (int d = 0; d < rank; d++) {
        reversed[d] = log2_shape[rank - 1 - d];
        perm[d] = rank - 1 - d;
    }
    const Layout *l = random_mma(t, c, rank, reversed, log2_warps);
    if (!l)
        l = random_blocked(t, c, rank, reversed, log2_warps);
    return layout_permute(c, l, perm);
}

/* Columns dealt at random. Mixed: each then gets earlier ones added, so that the result
 * is any matrix; else it is a permutation of bits. Extra zero columns replicate. */
static const Layout *
random_matrix(Test *t, Comp *c, int rank, const uint8_t *log2_shape, int log2_warps,
              bool mixed)
{
    Layout l = {.rank = (uint8_t)rank, .n = {0, LANE_BITS, (uint8_t)log2_warps, 0}};
    memcpy(l.log2_shape, log2_shape, MAX_RANK);
    int bits = layout_bits(&l), n_free = LANE_BITS + log2_warps;
    int extra = test_below(t, 3) ? 0 : test_below(t, n_free);
    int n_reg = MAX(bits + extra - n_free, 0);
    l.n[IN_REG] = (uint8_t)(n_reg + (test_below(t, 3) == 0));
    Col *slot[32];
    int n = 0;
    for (int d = 0; d < N_IN; d++)
        for (int i = 0; i < l.n[d]; i++)
            slot[n++] = &l.basis[d][i];
    for (int i = n - 1; i > 0; i--) {
        int k = test_below(t, i + 1);
        Col *kept = slot[i];
        slot[i] = slot[k];
        slot[k] = kept;
    }
    for (int i = 0; i < bits; i++)
        *slot[i] = (Col)1 << i;
    if (mixed)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < i; k++)
                *slot[i] ^= test_below(t, 4) ? 0 : *slot[k];
    else if (bits > 1 && test_below(t, 4) == 0) /* a swizzle: one leans on another */
        *slot[test_below(t, bits - 1)] ^= *slot[bits - 1];
    return layout_intern(c, &l);
}

const Layout *
random_layout(Test *t, Comp *c, int rank, const uint8_t *log2_shape, int log2_warps)
{
    const Layout *l = NULL;
    switch (test_below(t, 8)) {
    case 0:
    case 1: l = random_mma(t, c, rank, log2_shape, log2_warps); break;
    case 2: l = random_slice(t, c, rank, log2_shape, log2_warps); break;
    case 3: l = random_permuted(t, c, rank, log2_shape, log2_warps); break;
    case 4: l = random_matrix(t, c, rank, log2_shape, log2_warps, false); break;
    case 5: l = random_matrix(t, c, rank, log2_shape, log2_warps, true); break;
    }
    return l ? l : random_blocked(t, c, rank, log2_shape, log2_warps);
}
