/* chunk.h: how big blocks are cut into slices; for chunk.c and its parts.
 *
 *     chunk_carried.c what loops carry goes to local memory
 *     chunk_relaid.c  what is loaded and stored in other layouts than blocks beside it
 *     chunk_dims.c    along which dims each value is cut
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
    /* Along the dims that are cut: a reduction, which is there when its loop is through; a scan, which goes on from
     * slice to slice. */
    bool is_sum, is_carry;
    int level;       /* of the loop over slices that it is in; is_cut */
    int whole_level; /* it stands in front of that loop; is_whole */
} Step;

/* Which bit of a value's flat index each bit of a slice's number is; NO_BIT: all its slices are alike. */
enum { NO_BIT = -1, LOG2_SLICES = 10 };
_Static_assert(1 << LOG2_SLICES == MAX_SLICES, "as many as a type has");
typedef struct Bits {
    int8_t at[LOG2_SLICES];
} Bits;

/* What a value had before a choice of bits spread to it. */
typedef struct Claim {
    const Val *v;
    Bits bits;
    bool only;
} Claim;

/* What may be: any bits number slices, which may have more registers; big values that cannot be cut stay whole; what
 * only moves has slices of as many registers as it takes. */
typedef enum Slack { SLACK_NONE, SLACK_BITS, SLACK_WHOLE, SLACK_MOVES } Slack;

typedef struct Cut {
    Func *f;
    Comp *c;
    Arena *a;
    Slack slack;
    int log2;      /* of the number of slices */
    int most_bits; /* log2 of the registers that a slice may have */
    Bits *bits;    /* by id: none, if the value is not cut */
    bool *only;    /* by id: nobody has the whole value */
    VEC(Claim) claims;
    VEC(const Val *) met; /* by choices that did not fit */
    int n_sums;           /* reductions along a dim that is cut */
    VEC(Step *) steps;
    Map step_of; /* Op -> Step */
} Cut;

static inline bool
chunk_is_local(const Op *o)
{
    return o->op >= OP_LOCAL_ALLOC && o->op <= OP_LOCAL_STORE;
}

/* ---- chunk_carried.c --------------------------------------------------------------------- */
/* false: no loop carries a big block, or any if all, and none comes out of an if. */
bool chunk_carried(Func *f, bool all);
/* Big blocks that the ops in question take go through local memory. alone: what they give, too, and each op loads
 * for itself what it takes. */
void chunk_apart(Func *f, bool (*is_apart)(Func *f, const Op *o), bool alone);

/* Is v stored to a place, and nothing else? */
bool chunk_is_put(const Val *v);
/* What a loop over slices has in registers it does not load, and what nobody loads is not stored. */
void chunk_forward(Func *f);

/* ---- chunk_relaid.c ---------------------------------------------------------------------- */
/* false: no rows in lanes stand beside a block whose rows are registers. */
bool chunk_relaid(Func *f);

/* ---- chunk_dims.c ------------------------------------------------------------------------ */
bool chunk_dims(
    Cut *k); /* false: some value, or from SLACK_WHOLE on each, cannot be cut so */
bool chunk_has_slices(const Cut *k, const Val *v);
bool chunk_is_cut_alike(const Cut *k, const Val *x, const Val *y);
/* Are o's operands cut along its axis alone? */
bool chunk_is_along(const Cut *k, const Op *o);
/* Is an element of the result made of one element of each operand? */
bool chunk_is_plain(const Op *o);
bool chunk_is_move(Func *f, const Op *o); /* from thread to thread */
/* Is all of v made of small blocks and numbers? Then slices of it are made anywhere. */
bool chunk_is_made_anywhere(Func *f, const Val *v);
/* May slices be combined element by element as the region of o combines elements? */
bool chunk_is_simple(const Op *o);
bool chunk_runs_once(const Op *o); /* an access that would write again */
/* Is a slice of o's results made of one of operand i? */
bool chunk_takes_slices(const Cut *k, const Op *o, int i);
int64_t chunk_mask(const Cut *k,
                   const Val *v); /* of the bits that number slices of v */
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
