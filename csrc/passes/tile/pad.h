/* pad.h: what pad.c, pad_shape.c and pad_combine.c share. */
#ifndef TEGULA_PASSES_PAD_H
#define TEGULA_PASSES_PAD_H

#include "passes/passes.h"

typedef struct Pad {
    Func *f;
    Comp *c;
    Map sides; /* Val -> its type before, for those that were padded */
    Map whole; /* Val, a block that was flattened the long way -> the block it was */
    Map noted; /* what the report has said */
    bool is_needed;
} Pad;

/* ---- pad.c --------------------------------------------------------------------------- */
/* The type as the user knows it. */
const Type *pad_type(const Pad *p, const Val *v);
/* Uses of old become uses of v, which has the same sides. */
void pad_replace(Pad *p, Val *old, Val *v);
/* For a block of that shape: index < limit[d] for the dims where limit is below the
 * shape, as i1; NULL: there is none. */
Val *pad_inside(Build *b, int rank, const int32_t *shape, const int32_t *limit);
/* The same of v's sides, for the dims of the set. */
Val *pad_valid(const Pad *p, Build *b, const Val *v, unsigned dims);
/* Are all elements of v whose index along dim is `from` or more one known value? */
bool pad_fill(const Val *v, int dim, int32_t from, uint64_t *bits);
/* A line of the kernel's report; said once. */
void pad_note(Pad *p, const Op *o, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* ---- pad_shape.c: reshape, cat, resize -------------------------------------------------- */
void pad_reshape(Pad *p, Op *o);
void pad_cat(Pad *p, Op *o);
void pad_resize(Pad *p, Op *o);

/* ---- pad_combine.c: reduce, scan -------------------------------------------------------- */
void pad_combine(Pad *p, Op *o);

#endif
