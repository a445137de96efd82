/* pipeline.h: the two halves of the pass of that name. */
#ifndef TEGULA_PIPELINE_H
#define TEGULA_PIPELINE_H

#include "passes/passes.h"

/* A loop whose copies run ahead, as pipeline.c leaves it. */
typedef struct Pipelined {
    Func *f;
    Op *loop;
    Op *wait, *barrier; /* the first ops of the body */
    Val *read,
        *next_read;  /* the slots of this iteration and of the next, in the body */
    Val *first_slot; /* of the first iteration, outside */
    int ahead;       /* iterations between a copy and its use */
} Pipelined;

/* pipeline_steps.c: carries the first step of the loop's dot. false: it has none. */
bool pipeline_steps(const Pipelined *p);

#endif
