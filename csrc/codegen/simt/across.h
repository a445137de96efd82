/* across.h: what reduce and scan share. An axis' bits are steps, each of a register bit, a
 * lane bit or a warp bit; partial results of warps meet in shared memory. */
#ifndef TEGULA_ACROSS_H
#define TEGULA_ACROSS_H

#include "codegen/simt/simt.h"

typedef struct Step {
    InDim in;
    int bit;   /* of that input */
    Col basis; /* its distance in the flat index */
} Step;

typedef struct Across {
    Sim *s;
    const Op *o;
    const Layout *l;     /* of all operands */
    int n, n_regs;       /* operands; registers of each */
    bool is_commutative; /* the region is one commutative op */
    Lv **v; /* [n][n_regs]: partial results; dead ones keep what they had */
    uint32_t
        reg_left; /* register bits not combined yet: live registers have only those */
    uint32_t lane_axis, warp_axis; /* masks of the bits along the axis */
    Step step[MAX_BITS];
    int n_steps;
} Across;

/* Steps from the axis' lowest bit up or, if by_kind, registers, then lanes, then warps. */
Across across_open(Sim *s, const Op *o);
void across_sort(Across *k, bool by_kind);
/* Raises when the layout is not fit for it. */
void across_check(Across *k);
void across_copy_operands(Across *k); /* fills v */
/* to = region(x.., y..); x, y and to may be the same arrays of n. */
void across_combine(Across *k, Lv *x, Lv *y, Lv *to);
void across_get(Across *k, int r, Lv *x);
void across_put(Across *k, int r, Lv *x);
bool across_is_live(const Across *k, int r);

/* Where partial results lie, the index of a slot from its highest bits down:
 *     [which] [warp]                    each lane holds the same: a thread reads all warps'
 *                                       partials as vectors
 *     [which] [warp] [outer] [which]    lanes or warps off the axis (outer) hold others: up
 *                                       to 16 bytes of live registers (the lower bits of
 *                                       which) are a vector, and lanes lie side by side,
 *                                       in banks of their own */
typedef struct Slots {
    int log2_warps; /* along the axis */
    int log2_outer, log2_which;
    int log2_vec;                         /* lower bits of which */
    int warp_at;                          /* bit of the warp's number in the index */
    Col lane[LANE_BITS], warp[WARP_BITS]; /* index of a thread's slot */
    Lv *loaded; /* of the last `which` whose lower bits were 0, all its vectors */
} Slots;
Slots across_slots(const Across *k);
int64_t across_bytes(const Across *k, const Slots *t);
void across_store(Across *k, const Slots *t, int base);
/* The warps' partials of live register number `which`: x[warp * n + operand]. In the order of
 * which, from 0 on. */
void across_load_all(Across *k, Slots *t, int which, int base, Lv *x);
/* One of them a lane: lane bit lane_bit[i] stands for bit i of the warp's number. */
void across_load_one(Across *k, Slots *t, const int *lane_bit, int which, int base,
                     Lv *x);

/* The thread's own live register number `which`, as across_store keeps it for the first of
 * the warps. In the order of which. */
void across_load_own(Across *k, Slots *t, int which, int base, Lv *x);
/* Bytes of operand i's slots; they lie one behind the other. */
int across_operand_bytes(const Across *k, const Slots *t, int i);

#endif
