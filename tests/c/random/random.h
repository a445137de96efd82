/* random.h: functions that nobody would write, for ctest and for tirc. */
#pragma once

#include "ir/ir.h"

/* 64 random bits. */
uint64_t random_bits(uint64_t *state);

/* ---- random.c ------------------------------------------------------------------- */
typedef struct RandomSpec {
    uint64_t seed;
    int n_ops;        /* about this many, without what they need for themselves */
    bool approximate; /* also ops that targets compute to a bound: exp, sqrt .. */
    bool odd_sides;   /* also blocks whose sides are no powers of two */
} RandomSpec;
/* A valid function that ends, stays inside of its buffers and has one right answer. */
Func *ir_random(Comp *c, const RandomSpec *spec);
/* The GRID and ARG lines that tirc's interp reads, for such a function. */
char *ir_random_args(const Func *f, uint64_t seed);

/* ---- random_product.c ----------------------------------------------------------- */
/* A kernel that multiplies blocks of tensors. */
Func *random_product(Comp *c, uint64_t seed);
