/* pipeline.h: the parts of the pass of that name. */
#ifndef TEGULA_PIPELINE_H
#define TEGULA_PIPELINE_H

#include "passes/passes.h"

/* A loop whose copies run ahead, as pipeline_rewrite.c leaves it. */
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

enum { MAX_STREAMS = 16 };

/* A load that becomes copies. */
typedef struct Stream {
    Op *load;
    int dim;              /* along which a thread's elements are contiguous */
    int64_t bytes;        /* of a slot, rounded up */
    const Layout *layout; /* of what is copied: who copies which element */
    MaskEdges edges;      /* of its mask, that may end inside of a copy */
    bool is_filled;       /* where its mask is false with something else than zeros */
    bool is_optional;     /* only what an operand is computed from */
    bool is_late;         /* copies go into the slot that the iteration has read */
    Val *smem;
    /* Where there are no asynchronous copies: */
    bool is_carried; /* from iteration to iteration, in registers: there is no slot */
    Val *loaded;     /* of the last issue */
} Stream;

/* Where an iteration begins its copies. */
typedef enum CopiesAt {
    COPIES_FIRST,
    COPIES_AT_DOT, /* in front of the product whose operand threads have read and computed */
    COPIES_LAST,
} CopiesAt;

/* A loop at work: pipeline.c chooses, pipeline_rewrite.c builds. */
typedef struct Pipe {
    Func *f;
    Comp *c;
    FactTable *facts;
    Op *loop;
    Block *body;
    Stream stream[MAX_STREAMS];
    int n_streams;
    Map slice;     /* Op in the body -> itself: what addresses are made of */
    bool *carried; /* by argument of the body: part of the slice */
    int ahead;     /* iterations between a copy and its use */
    int behind;    /* iterations whose products may still read their slots: 0, 1 */
    CopiesAt copies_at;
    bool is_whole; /* the prologue copies for all iterations, into a slot for each */
    int64_t step;  /* of the loop, a constant > 0; 0: not known */
    int64_t
        invariant; /* bytes of operands in shared memory that the loop does not change */
    int unit;      /* slots are counted in bytes of the largest, log2 */
    bool has_long_turns; /* computes for long in each iteration, without a product */
    bool is_async;       /* has the chip copies that pass registers by? */
} Pipe;

/* Slots of each stream that is late, or that is not. */
static inline int
pipe_slots(const Pipe *p, bool is_late)
{
    return p->is_whole ? p->ahead : p->ahead + 1 + p->behind - is_late;
}

/* pipeline.c */
int64_t pipeline_slot_bytes(const Type *t);
bool pipeline_feeds_dot(const Val *v, int depth); /* depth: 0 */
int pipeline_words(const Type *t); /* registers of a thread that hold a t */
void pipeline_tell(const Pipe *p, const Op *load, const char *why);
/* The slice of all streams; drops streams that are part of it (indices of others). */
void pipeline_find_slice(Pipe *p);

/* pipeline_distance.c */
int64_t pipeline_invariant_bytes(
    Pipe *p); /* that the loop reads already, and all rings' */
int pipeline_distance(Pipe *p,
                      int stages); /* iterations between copy and use; 0: no room */
void pipeline_choose_streams(Pipe *p, int stages);
void pipeline_choose_place(Pipe *p);
bool pipeline_has_rings(const Block *body);
bool pipeline_may_have_one_slot(const Func *f, const Block *body);
void pipeline_keep_in_one_slot(Pipe *p);

/* pipeline_rewrite.c: makes the loop what the head of pipeline.c shows. */
void pipeline_rewrite(Pipe *p);
/* The load o as map has its operands; it happens only if pred. otherwise: what it gives
 * where it does not happen, or NULL. */
Val *pipeline_clone_load(Build *b, const Op *o, const Map *map, Val *pred,
                         Val *otherwise);

/* pipeline_edges.c: how many elements from each on the mask lets through, given that it
 * lets this one through; i32, of operands as map has them. NULL: all that one copy takes. */
Val *pipeline_count(Build *b, const Val *mask, const MaskEdges *e, const Map *map);

/* pipeline_invariant.c: puts operands of dots that do not change into shared memory, where
 * the loop has more in registers than there are. */
void pipeline_share_invariant(Pipe *p);

/* pipeline_slots.c: may o be redone in another layout, as part of a chain? */
bool pipeline_is_link(const Op *o);
/* The layout that a chain's start has when its end has l. */
const Layout *pipeline_pulled_back(Comp *c, const Chain *chain, const Layout *l);
/* Do tensor cores read v where it lies? */
bool pipeline_is_read_in_place(const Val *v);
/* Where the elements of v shall lie, contiguous along dim. */
const Layout *pipeline_slot_layout(Comp *c, const Val *v, int dim);

/* pipeline_bounds.c */
/* Iterations of the loop, if they are known; else at least as many as there may be slots. */
int pipeline_trips(const Op *loop);
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
bool pipeline_may_overtake(Func *f, const Op *loop, const Op *load);
/* Does this launch give the loop its memory through another argument, too, to store there? */
bool pipeline_may_meet(Func *f, const Op *loop, const Op *load);

/* pipeline_steps.c: carries the first step of the loop's dot. false: it has none. */
bool pipeline_steps(const Pipelined *p);
/* The only dot of a loop's body; NULL when there are more, or control flow. */
Op *pipeline_only_dot(const Block *body);

/* pipeline_operand.c: carries what threads read for the loop's product. false: they read nothing. */
bool pipeline_operand(const Pipelined *p);

#endif
