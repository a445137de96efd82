/* shared.h: the walk that place_shared and barriers share: what of shared memory is in use
 * where. */
#ifndef TEGULA_PASSES_SHARED_H
#define TEGULA_PASSES_SHARED_H

#include "passes/passes.h"

typedef struct Bytes {
    int at, size;
    const Op *alloc; /* whose they are, while live */
} Bytes;
typedef VEC(Bytes) BytesList;
typedef struct InUse {
    BytesList
        read; /* may still be read by a thread that has not reached the next barrier */
    BytesList live; /* of shared_allocs whose last use is to come */
} InUse;

typedef struct SharedWalk {
    Func *f;
    void *data;
    /* Of every op that may have a place; what it has when this returns is in use from there
     * on. place_shared gives it one here, at its first visit. NULL: all have theirs. */
    void (*visit)(struct SharedWalk *w, Op *o, const InUse *u);
    /* Its place may still be read: a barrier comes in front of it. NULL: nobody asks. */
    void (*clash)(struct SharedWalk *w, Op *o);
} SharedWalk;

/* Room for other ops to use, whose uses say how long it lives. */
static inline bool
is_shared_alloc(const Op *o)
{
    return o->op == OP_SHARED_ALLOC || o->op == OP_RING_ALLOC;
}

/* Over the structured ops, bodies of loops twice: the second time with what the first left. */
void shared_walk(SharedWalk *w);

#endif
