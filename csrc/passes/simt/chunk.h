/* chunk.h: how big blocks are cut into slices; for chunk.c and its parts.
 *
 *     chunk_carried.c what loops carry goes to local memory
 *     chunk_relaid.c  what is loaded and stored in other layouts than blocks beside it
 *     chunk_dims.c    along which dim each value is cut
 *     chunk_levels.c  which loop each op belongs to
 *     chunk_loops.c   what each loop computes again and what is kept; the loops
 */
#ifndef TEGULA_PASSES_CHUNK_H
#define TEGULA_PASSES_CHUNK_H

#include "passes/passes.h"

/* An op outside of a reduction's region, numbered in the order of the text. A small block may
 * be wanted as a whole and in slices, too. */
typedef struct Step {
    Op *o;
    int number;
    bool is_cut, is_whole;
    bool
        is_sum; /* a reduction along the dim that is cut: there when its loop is through */
    int level;       /* of the loop over slices that it is in; is_cut */
    int whole_level; /* it stands in front of that loop; is_whole */
} Step;

typedef struct Cut {
    Func *f;
    Comp *c;
    Arena *a;
    int log2;    /* of the number of slices */
    int8_t *dim; /* by id: that is cut; -1: the value is not */
    bool *only;  /* by id: nobody has the whole value */
    int n_sums;  /* reductions along a dim that is cut */
    VEC(Step *) steps;
    Map step_of; /* Op -> Step */
} Cut;

enum { LOCAL_ALIGN = 16 }; /* of what lies in a thread's local memory */

static inline bool
chunk_is_local(const Op *o)
{
    return o->op >= OP_LOCAL_ALLOC && o->op <= OP_LOCAL_STORE;
}

/* ---- chunk_carried.c --------------------------------------------------------------------- */
/* false: no loop carries a big block, or any if all, and none comes out of an if. */
bool chunk_carried(Func *f, bool all);

/* ---- chunk_relaid.c ---------------------------------------------------------------------- */
/* false: no rows in lanes stand beside a block whose rows are registers. */
bool chunk_relaid(Func *f);

/* ---- chunk_dims.c ------------------------------------------------------------------------ */
/* false: some value cannot be cut so. */
bool chunk_dims(Cut *k);
/* Is an element of the result made of one element of each operand? */
bool chunk_is_plain(const Op *o);
bool chunk_runs_once(const Op *o); /* an access that would write again */
/* The dim of operand i that is cut where dim r of o's results is; negative: none. */
int chunk_operand_dim(const Op *o, int i, int r);
const Type *chunk_type(const Cut *k, const Val *v); /* of a slice of v */

/* ---- chunk_levels.c ---------------------------------------------------------------------- */
void chunk_levels(Cut *k);
Step *chunk_step(const Cut *k, const Val *v); /* that defines v; NULL: none does */
bool chunk_takes_slice(const Cut *k, const Step *s, int i); /* of operand i; s is cut */
/* Would the same be loaded in a later loop of the block? */
bool chunk_loads_again(const Cut *k, const Step *load, int level);

/* ---- chunk_loops.c ----------------------------------------------------------------------- */
void chunk_loops(Cut *k);

#endif
