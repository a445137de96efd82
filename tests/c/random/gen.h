/* gen.h: what the files of random.c share. */
#pragma once

#include "random.h"

enum {
    MAX_NEST = 3, /* regions inside of each other */
    LIMIT = 5,    /* value of the parameter of that name */
    DIV_ALL = FACT_DIV2 | FACT_DIV4 | FACT_DIV8 | FACT_DIV16,
};

typedef struct Shape {
    int rank;
    int32_t n[MAX_RANK];
} Shape;

typedef struct Gen {
    Comp *c;
    Func *f;
    Build b;
    const RandomSpec *spec;
    uint64_t rng;
    VEC(Val *) pool;    /* in scope */
    Val *input[N_ELEM]; /* parameter, a buffer to load from; NULL: not made yet */
    Val *limit;         /* parameter, LIMIT */
    Val *stride;        /* parameter, of the rows of matrices to load */
    int n_buffer;       /* elements of a buffer, and the most of a block */
    int n_shapes;
    int left; /* ops to make */
    int depth;
    Shape home[3]; /* shapes this function likes */
} Gen;

/* One kind of op, and how often there is one. */
typedef struct Maker {
    void (*make)(Gen *g);
    int weight;
    bool nests;
} Maker;

enum {
    RND_N_VALUES = 15,
    RND_N_EFFECTS = 8,
    RND_N_MAKERS = RND_N_VALUES + RND_N_EFFECTS
};

extern const Maker rnd_values[RND_N_VALUES];   /* random_values.c */
extern const Maker rnd_effects[RND_N_EFFECTS]; /* random_effects.c */

/* 0 .. n - 1 */
int rnd_below(Gen *g, int n);
bool rnd_chance(Gen *g, int percent);
Elem rnd_some_elem(Gen *g);
Shape rnd_some_shape(Gen *g);
/* any that this function may have */
Shape rnd_other_shape(Gen *g);
const Type *rnd_type_of(Gen *g, Elem e, Shape s);
Shape rnd_shape_of(const Val *v);
bool rnd_is_large(uint64_t seed);
int rnd_stride_of(uint64_t seed);
/* v, in the pool from now on */
Val *rnd_keep(Gen *g, Val *v);
Val *rnd_constant(Gen *g, const Type *t);
Val *rnd_splat_int(Gen *g, Elem e, Shape s, int64_t v);
Val *rnd_parameter(Gen *g, const Type *t, const char *name);
Val *rnd_with_shape(Gen *g, OpCode op, int n_args, Val *const *args, Shape s);
Val *rnd_pointers(Gen *g, Val *base, Val *index);
/* An index of every element of its own, behind those of the programs before. */
Val *rnd_own_index(Gen *g, Shape s);
/* The buffer to load elements e from. */
Val *rnd_input(Gen *g, Elem e);
/* Any value of the type: from the pool, or made of what is there. */
Val *rnd_some(Gen *g, Elem e, Shape s);
/* Small whole numbers of a type that holds them. */
Val *rnd_some_small(Gen *g, Elem e, Shape s);
/* Any value that is no scalar. */
Val *rnd_block_of(Gen *g);
/* Stores v to a buffer of its own; nothing when it is too large. */
void rnd_store_value(Gen *g, Val *v);
/* Up to n more ops (and what they need) at g->b. */
void rnd_grow(Gen *g, int n);
