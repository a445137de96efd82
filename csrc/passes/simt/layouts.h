/* layouts.h: how assign_layouts chooses; wish_layouts.c is the choice, access_layouts.c that of loads, stores
 * and atomics, reduced_layouts.c that of reductions, shape_layouts.c what shape ops do to a layout. */
#ifndef TEGULA_LAYOUTS_H
#define TEGULA_LAYOUTS_H

#include "passes/passes.h"

static inline bool
is_block(const Val *v)
{
    return v->type->rank > 0;
}

/* Layouts as values have them: registers never repeat an element. */
const Layout *layouts_slice(Comp *c, const Layout *l, int axis);
/* Of what o, a reduction, gives where its operands have l: lanes along the axis have the same results, or
 * part them. */
const Layout *layouts_reduced(Comp *c, const Op *o, const Layout *l);
/* What the operand of expand_dims, broadcast, trans, reshape must have for o's result to
 * have layout l without a move; NULL: o is none of these. */
const Layout *layouts_operand(Comp *c, const Op *o, const Layout *l);
/* The other direction: the result's layout when the operand has l. */
const Layout *layouts_result(Comp *c, const Op *o, const Layout *l);
/* Of a and b side by side, which both have l: b in a new high register bit. */
const Layout *layouts_cat(Comp *c, const Layout *l);

/* Accesses of a warp to shared memory, in which bytes of a block's elements lie as offset_of says, by
 * threads that hold it as l; in words of a thread. */
int layouts_access_cost(const Layout *l, const Col *offset_of, int elem_bits);

enum {
    MAX_VEC_BYTES = 16, /* that a thread loads or stores at a time */
    LINE = 128,         /* bytes of memory that an access takes at a time */
};

/* The dims of a block, fastest first: `first`, then the others from the last to the first. */
void layouts_order(int rank, int first, int *order);
/* 1 << log2_vec elements a thread along `fastest`, and as many as it may have along `along`, if that is not -1;
 * never so many that threads go idle. A warp has 1 << log2_line elements of a row, and more rows. */
const Layout *layouts_blocked(Comp *c, int log2_warps, const Type *t, int fastest,
                              int log2_vec, int along, int log2_line);

/* How each access of a function would best go to memory, found before anything changes. */
typedef struct Accesses Accesses;
Accesses *accesses_new(Func *f, FactTable *facts);
const Layout *accesses_layout(const Accesses *s, const Op *o); /* NULL: of a scalar */
bool accesses_is_scattered(const Accesses *s, const Op *o); /* one element at a time */
/* log2 of the elements that an atomic may take at a time. */
int accesses_atomic_width(const Accesses *s, const Op *o, int fastest);
/* Of a row that copies bring, by as few threads as may be; NULL: it is too narrow for copies. */
const Layout *accesses_copied_layout(const Accesses *s, const Op *load);
/* Bytes that one access of a warp covers without a gap along dim. */
int accesses_run_bytes(const Layout *l, int dim, int elem_bytes);

/* What each value and op of a function would like, found before anything changes. */
typedef struct Wishes Wishes;
Wishes *wishes_new(Func *f);
/* NULL: a scalar, or made after wishes_new. */
const Layout *wishes_of(const Wishes *s, const Val *v);
bool wishes_any(const Wishes *s, const Val *v); /* cheap: any layout will do */
/* Computed of rows and columns alone: less work to do again than to move. */
bool wishes_is_spread(const Wishes *s, const Val *v);
/* Of broadcasts, and what has no other reason: gives way. */
bool wishes_gives_way(const Wishes *s, const Val *v);
enum {
    WISHES_CHEAP = 48
}; /* ops (weighted) that may be done again rather than moved */
int wishes_weight(const Op *o); /* of an elementwise op; WISHES_CHEAP: too dear */
/* The layout an op works on its operands in; NULL: as its result. */
const Layout *wishes_of_op(const Wishes *s, const Op *o);
const Layout *wishes_default(Wishes *s, const Type *t); /* when there is no reason */
const Accesses *wishes_accesses(const Wishes *s);

#endif
