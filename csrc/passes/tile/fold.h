/* fold.h: what the files of the pass `fold` share; nobody else includes it. fold.c holds
 * the walk and control flow, fold_arith.c one element's arithmetic, fold_shape.c the rest. */
#ifndef TEGULA_FOLD_H
#define TEGULA_FOLD_H

#include "passes/passes.h"

typedef struct Fold {
    Func *f;
    Build b;          /* before the op that is being looked at, with its location */
    FactTable *facts; /* ranges only: fold asks no argument anything */
    bool changed;     /* something, in this sweep */
} Fold;

/* The value that result 0 of o becomes, or NULL. New ops go in front of o. */
Val *fold_arith(Fold *w, Op *o);
Val *fold_shape(Fold *w, Op *o);
Val *fold_cast(Fold *w, Op *o);
/* Ops with a mask, and asserts. Changes o in place; false when o is to be erased, with *with
 * what its result becomes. */
bool fold_masked(Fold *w, Op *o, Val **with);
/* Every operand is filled with one scalar: o of the scalars, and a block of that; or NULL. */
Val *fold_filled(Fold *w, const Op *o);

bool fold_is_filled(const Val *v); /* a splat or a constant block */
Val *fold_filling(Fold *w,
                  const Val *v); /* the scalar that fills it, perhaps a new constant */
/* A block of type t filled with the scalar x. */
Val *fold_splat(Fold *w, Val *x, const Type *t);
Val *fold_const(Fold *w, const Type *t, uint64_t bits);
/* A one-result op like o, attributes included, on other operands and with another type. */
Val *fold_like(Fold *w, const Op *o, int n_args, Val *const *args, const Type *t);

#endif
