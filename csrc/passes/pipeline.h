/* pipeline.h: the parts of the pass of that name. */
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

/* Ops that only rename or convert elements on the way from a load to its user. */
enum { MAX_CHAIN = 8 };
typedef struct Chain {
    Op *op[MAX_CHAIN];
    int n;
} Chain;

/* pipeline_slots.c: may o be redone in another layout, as part of a chain? */
bool pipeline_is_link(const Op *o);
/* The layout that a chain's start has when its end has l. */
const Layout *pipeline_pulled_back(Comp *c, const Chain *chain, const Layout *l);
/* Where the elements of v shall lie, contiguous along dim. */
const Layout *pipeline_slot_layout(Comp *c, const Val *v, int dim);

/* pipeline_bounds.c */
/* Where the iterations end that have another one `stage` iterations behind them. */
typedef struct PipeBound {
    Val *end; /* what the induction variable stays below */
    Val *
        is_up; /* i1: else above, and all in i64; NULL: the step is a positive constant */
} PipeBound;
/* step: the loop's, a constant > 0; 0: not known. */
PipeBound pipeline_bound(Build *b, const Op *loop, int64_t step, int stage);
/* i1: does the iteration `stage` behind that of iv exist? iv's does, or is the first. */
Val *pipeline_is_inside(Build *b, const PipeBound *k, Val *iv);
/* The induction variable `stage` iterations after iv; meant only where that is inside. */
Val *pipeline_iv_after(Build *b, const Op *loop, int64_t step, Val *iv, int stage);

/* pipeline_order.c: may the load of the loop's body be done iterations early? */
bool pipeline_may_overtake(const Func *f, const Op *loop, const Op *load);

/* pipeline_steps.c: carries the first step of the loop's dot. false: it has none. */
bool pipeline_steps(const Pipelined *p);

#endif
