/* races.h: what order.c and races.c share: who knows of whom. Private to them. */
#ifndef TEGULA_PTX_RACES_H
#define TEGULA_PTX_RACES_H

#include "ptx/engine.h"

enum { AGENTS = 64 }; /* of a block; what more of them do is not looked at */

/* Programs of which others are known, up to a tick. */
typedef struct Known {
    uint64_t *bits; /* NULL: none */
    uint32_t tick;
} Known;

typedef struct Order {
    int n, per_cta; /* threads and agents; threads */
    int n_threads;
    const void *agent[16 * AGENTS]; /* from n_threads on: who stands for it */
    int n_agents;
    uint32_t base;      /* times up to here are of programs before */
    uint32_t *own;      /* time of each thread */
    uint32_t *floor;    /* of each block */
    uint32_t *known;    /* n of each thread, beyond the floor; NULL: nothing */
    bool is_wide;       /* of threads of other warps, too */
    struct Post *posts; /* what threads left somewhere */
    int n_posts, cap_posts;
    Known knows, pending; /* pending: read by what is relaxed, known after a fence */
    uint32_t fenced;      /* the tick of the last fence; 0: none */
} Order;

struct Posts {
    struct Place *row; /* of global memory, where programs released */
    size_t n, cap;
    uint32_t tick;
    size_t words; /* of a set */
};

/* n of that size, zeroed; ends the launch where there is no memory. */
static inline void *
room(const Cluster *k, size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p)
        warp_fault(&k->ctas[0].warps[0], NULL, 0, FAULT_MEMORY, "out of memory");
    return p;
}

static inline Order *
order_of(const Warp *w)
{
    return w->cta->cluster->order;
}

static inline int
thread_of(const Warp *w, int lane)
{
    return w->cta->rank * order_of(w)->per_cta + LANES * w->id + lane;
}

/* Does a thread know what another did at that time? */
static inline bool
knows(const Order *o, int thread, int other, uint32_t time)
{
    int cta = thread / o->per_cta;
    return thread == other || time <= o->base ||
           (time <= o->floor[cta] && other / o->per_cta == cta) ||
           (o->known && time <= o->known[(size_t)thread * (size_t)o->n + other]);
}

/* In a large grid some programs share a bit: a race between these may be missed. */
static inline uint64_t *
word_of(const Launch *l, const Known *k, uint32_t program, uint64_t *bit)
{
    uint64_t at = (program - 1) % (64 * l->posts->words);
    *bit = UINT64_C(1) << at % 64;
    return &k->bits[at / 64];
}

static inline bool
has_program(const Launch *l, const Known *k, uint32_t program, uint32_t tick)
{
    uint64_t bit;
    return k->bits && tick < k->tick && *word_of(l, k, program, &bit) & bit;
}

/* ---- order.c ------------------------------------------------------------------------------ */
/* An agent's number; -1: it has none, or, who makes one, there are too many. */
int order_agent(Order *o, const void *who, bool makes);
/* A product's column in a clock: of the warpgroup of a thread; -1: it has begun none. */
int order_products(const Cluster *k, int thread);
/* What threads have left there. */
uint32_t *order_clock(Cluster *k, const void *at);
/* A lane's access that orders who does it (HOW_STRONG); address: of global memory, else 0. */
void order_strong(Warp *w, const Ins *i, int lane, uint64_t address, bool is_store);
bool order_begin(Launch *l); /* of a launch that is checked; false: out of memory */
void order_end(Launch *l);
void order_cluster_begin(Cluster *k); /* it becomes another of the grid */
void order_cluster_free(Cluster *k);

#endif
