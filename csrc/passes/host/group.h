/* group.h: inside pass group. group.c walks and joins, group_keep.c decides what nests keep,
 * group_small.c what stands in a nest ahead, group_order.c what writes have to wait for. */
#ifndef TEGULA_GROUP_H
#define TEGULA_GROUP_H

#include "passes/passes.h"

typedef VEC(Val *) Vals;

typedef enum Made {
    IS_THERE,   /* a scalar that has been computed, a block in scratch */
    IS_LAZY,    /* computed by the nests that want it */
    IS_AWAITED, /* a result of the open nest, or a scalar made of one */
} Made;

typedef struct Fact {
    uint8_t made;     /* Made */
    bool is_virtual;  /* cheap arithmetic on scalars and kept indices: never kept */
    bool is_small;    /* nests of more elements find it in scratch */
    bool is_computed; /* by a nest that is closed */
    bool again; /* computed in the nest at hand or before, and again by later ones */
    int cost;   /* instructions of one element, of what is computed on demand */
    int pos;    /* when its op was walked; 0: not yet */
    int seen, live; /* the walk over operands, over users, that met it last */
    int64_t
        widest; /* elements of the largest block that is computed from it on demand */
} Fact;

/* Roots that share loops. */
typedef struct Nest {
    int number; /* ATTR_NEST */
    const Type *type;
    int axis;        /* of its reductions; -1: none */
    bool is_alone;   /* nothing joins */
    int first_write; /* pos of; INT32_MAX: none */
    VEC(Op *) roots;
    Vals awaited; /* what is there when it is closed */
} Nest;

typedef struct Plan {
    Func *f;
    Arena *a;
    VEC(Fact) by_id;
    Map done;   /* ops that are no longer waited for: roots of nests, what was walked */
    Nest *open; /* or NULL */
    Vals loads; /* of the region that is walked, which may still be computed later */
    const Op *taken; /* its operands are being computed: it is no user */
    int n_nests, n_pos, walk, live_walk;
} Plan;

static inline Fact *
fact(Plan *p, const Val *v)
{
    while (p->by_id.n <= v->id)
        PUSH(p->a, &p->by_id, ((Fact){.cost = 1}));
    return &p->by_id.at[v->id];
}

static inline bool
is_lazy(Plan *p, const Val *v)
{
    return fact(p, v)->made == IS_LAZY;
}

/* ---- group.c ------------------------------------------------------------------------ */
/* What o, a lazy op, is: where it stands now. */
void group_set_lazy(Plan *p, Op *o);
Nest *group_nest(Plan *p, const Type *t, int axis);
/* May the root o, or a KEEP of v where o is NULL, share the loops of g? */
bool group_can_join(Plan *p, const Nest *g, const Op *o, Val *v, const Type *t,
                    int axis);
/* Is v computed on demand, not virtual, and met for the first time in this walk? */
bool group_visits(Plan *p, const Val *v);
/* Does computing v need what the open nest has not made yet? */
bool group_waits(Plan *p, const Val *v);
/* v into scratch in front of `before`, for all that is behind. */
void group_keep(Plan *p, Val *v, Op *before);

/* ---- group_keep.c ----------------------------------------------------------------------- */
/* Adds what computing v on demand computes, operands first, as far as the walk has not met it. */
void group_closure(Plan *p, Val *v, Vals *out);
/* Does an op that is not done yet need v, but for what this walk has met? */
bool group_is_live(Plan *p, const Val *v);
/* A root of the nest that keeps v. */
Op *group_new_keep(Plan *p, Nest *g, Val *v, Op *before);
/* No root joins any more: later users of what the nest has computed find it in scratch, or compute it
 * again. */
void group_close(Plan *p, Nest *g, Op *before);
void group_close_open(Plan *p, Op *before);
/* o has loops of its own for each operand: what they compute and others want is kept in front of it. */
void group_demand(Plan *p, Op *o);

/* ---- group_small.c ---------------------------------------------------------------------- */
void group_small_start(Plan *p);
void group_note_small(Plan *p, const Op *o); /* o is lazy */
/* What loops over the elements of t that compute o's operands, or v where o is NULL, should find in
 * scratch is there. */
void group_settle_small(Plan *p, const Op *o, Val *v, const Type *t, Op *before);

/* ---- group_order.c ---------------------------------------------------------------------- */
/* Loads that something behind `writer` still wants stand in front of it. */
void group_settle_loads(Plan *p, Op *writer);
/* Loads of elements that `writer` writes, at other indices, stand in nests in front of it. */
void group_settle_overlaps(Plan *p, Op *writer);

/* Operand i of o, or v where o is NULL; behind the last one: NULL. */
static inline Val *
taken(const Op *o, Val *v, int i)
{
    if (!o)
        return i ? NULL : v;
    return i < o->n_args ? arg(o, i) : NULL;
}

#endif
