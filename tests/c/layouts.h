/* layouts.h: random layouts, shared by the layout tests. */
#ifndef TEGULA_TEST_LAYOUTS_H
#define TEGULA_TEST_LAYOUTS_H

#include "layout/layout.h"
#include "test.h"

/* A shape of `bits` bits in all, of 1 to 3 dims. */
void random_shape(Test *t, int bits, int *rank, uint8_t *log2_shape);
/* An onto layout of that shape with 1 << log2_warps warps: blocked, an mma fragment, a
 * slice, a permutation, any bit permutation, a swizzle, or any matrix, with and without
 * replication. */
const Layout *random_layout(Test *t, Comp *c, int rank, const uint8_t *log2_shape,
                            int log2_warps);

#endif
