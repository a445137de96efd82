/* impl.h: what the files of the interpreter share. */
#ifndef TEGULA_INTERP_IMPL_H
#define TEGULA_INTERP_IMPL_H

#include "interp/interp.h"
#include "ptx/asm.h"

/* Memory that is used again and grows. */
typedef struct Scratch {
    uint64_t *at;
    int64_t cap; /* in words */
} Scratch;

struct Interp {
    Comp *c;
    const InterpRun *run;
    uint64_t **val;  /* by Val.id; NULL: not computed yet */
    Scratch moved;   /* what a terminator moves: see move_values */
    Scratch line;    /* what is being combined */
    Scratch factors; /* of a dot */
    Scratch passed;  /* addresses that the function of a library gets */
    int32_t pid[3];
    PtxCache *assembly; /* what was read of it so far */
};

static inline int64_t
numel(const Val *v)
{
    return ty_numel(v->type);
}

uint64_t *interp_new_place(Interp *in, const Val *v);

/* The place of v's elements. */
static inline uint64_t *
place(Interp *in, const Val *v)
{
    uint64_t *p = in->val[v->id];
    return p ? p : interp_new_place(in, v);
}

static inline const uint64_t *
operand(Interp *in, const Op *o, int i)
{
    return place(in, arg(o, i));
}

/* At least n words; what was in it is lost. */
uint64_t *interp_scratch(Interp *in, Scratch *s, int64_t n);
/* Runs a block; its terminator, whose operands are what leaves it. */
const Op *interp_block(Interp *in, const Block *b);
/* Coordinates of a flat index, and back. */
void interp_unflatten(const Type *t, int64_t flat, int32_t *at);
int64_t interp_flatten(const Type *t, const int32_t *at);
const char *interp_where(const Interp *in); /* " in program (0, 1, 0)" */
/* Is element i switched off by the mask, if there is one at operand k? */
bool interp_is_off(Interp *in, const Op *o, int k, int64_t i);

/* ---- memory.c ------------------------------------------------------------- */
void interp_memory(Interp *in, const Op *o);
void interp_tile(Interp *in, const Op *o);
void interp_shared(Interp *in, const Op *o);
void interp_assembly(Interp *in, const Op *o);

/* ---- across.c ------------------------------------------------------------- */
void interp_combine(Interp *in, const Op *o); /* REDUCE, SCAN */
void interp_dot(Interp *in, const Op *o);
void interp_histogram(Interp *in, const Op *o);
void interp_sort(Interp *in, const Op *o);

#endif
