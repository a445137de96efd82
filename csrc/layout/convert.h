/* convert.h: what the files of convert share: one conversion being planned. */
#ifndef TEGULA_LAYOUT_CONVERT_H
#define TEGULA_LAYOUT_CONVERT_H

#include "layout/layout.h"

typedef struct Conv {
    Comp *c;
    const Layout *src, *dst;
    int elem_bits;      /* as stored: 8, 16, 32 or 64 */
    int n_dreg;         /* register bits of dst that are no XOR of earlier ones ... */
    int dreg[MAX_BITS]; /* ... which they are ... */
    Col dst_kept[MAX_BITS]; /* ... and each of its bits as a sum of positions in dreg */
} Conv;

/* Basis i of an input, 0 where the layout has fewer bits: replicated. */
static inline Col
basis(const Layout *l, InDim in, int i)
{
    return i < l->n[in] ? l->basis[in][i] : 0;
}

/* Bit k of the result is bit at[k] of v. */
static inline Col
gather(Col v, const int *at, int n)
{
    Col g = 0;
    for (int k = 0; k < n; k++)
        g |= (v >> at[k] & 1) << k;
    return g;
}

/* The inverse: bit at[k] of the result is bit k of v. */
static inline Col
scatter(Col v, const int *at, int n)
{
    Col s = 0;
    for (int k = 0; k < n; k++)
        s |= (v >> k & 1) << at[k];
    return s;
}

enum { BARRIER_COST = 64, WARP_BARRIER_COST = 24 };

/* Registers or shuffles; false when that cannot be or costs more than shared memory. */
bool convert_plan_warp(const Conv *v, ConvPlan *p);

void convert_plan_shared(const Conv *v, ConvPlan *p);

#endif
