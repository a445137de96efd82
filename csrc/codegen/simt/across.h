/* across.h: what reduce and scan share. An axis' bits are steps, each of a register bit, a
 * lane bit or a warp bit; partial results of warps meet in shared memory. */
#ifndef TEGULA_ACROSS_H
#define TEGULA_ACROSS_H

#include "codegen/simt/simt.h"

typedef struct Across {
    Axis x;
    Sim *s;
    Lv **v;     /* [n][n_regs]: partial results; dead ones keep what they had */
    Lv *loaded; /* of the last `which` whose lower bits were 0, all its vectors */
} Across;

Across across_open(Sim *s, const Op *o, bool by_kind);
/* Raises when the layout is not fit for it. */
void across_check(Across *k);
void across_copy_operands(Across *k); /* fills v */
/* to = region(x.., y..); x, y and to may be the same arrays of n. */
void across_combine(Across *k, Lv *x, Lv *y, Lv *to);
void across_get(Across *k, int r, Lv *x);
void across_put(Across *k, int r, Lv *x);
bool across_is_live(const Across *k, int r);
#define EACH_LIVE(r, k)                                                                \
    for (int r = 0; r < (k)->x.n_regs; r++)                                            \
        if (across_is_live((k), r))
/* The op's results from `first` on are what live registers hold, and have a layout for that. */
void across_check_results(Across *k, int first);
void across_define_results(Across *k, int first);

void across_store(Across *k, const AxisSlots *t, int base);
/* The warps' partials of live register number `which`: x[warp * n + operand]. In the order of
 * which, from 0 on. */
void across_load_all(Across *k, AxisSlots *t, int which, int base, Lv *x);
/* One of them a lane: lane bit lane_bit[i] stands for bit i of the warp's number. NULL: the thread's
 * own, as across_store keeps it for the first of the warps. */
void across_load_one(Across *k, AxisSlots *t, const int *lane_bit, int which, int base,
                     Lv *x);

#endif
