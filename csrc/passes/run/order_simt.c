/* order_simt: what runs for GPUs and their emulator, after the tile level. */
#include "passes/passes.h"

const char *const order_simt[] = {
    "scalar_steps",   /* before layouts: what it leaves has none of its own */
    "narrow_loads",   /* behind scalar_steps, whose sums are made of aranges again */
    "cse",            /* what two loads are narrowed by */
    "assign_layouts", /* early: everything below wants to see layouts */
    "cse",            /* a value made twice in one layout; conversions of one value */
    "defer_sums", /* layouts say what a thread sums by itself; before places are dealt */
    "order_memory", /* after cse: equal pointers are one value; before loops are cut up */
    "rotate", /* behind defer_sums, whose partial sums it carries; before copies run ahead */
    "rings",    /* behind assign_layouts, which says who reads shared memory itself */
    "pipeline", /* layouts are settled: what is copied and how it is read is known */
    "raise_loads", /* behind pipeline: it takes the loads of loops; no operand is shared yet */
    "share_operands", /* behind pipeline, whose slots are shared memory already */
    "start_dots",     /* where copies and barriers stand is settled */
    "split_roles",    /* behind start_dots: when slots are free is settled */
    "split_k", /* behind split_roles: as strips, which leaves alone what this one takes */
    "strips",      /* behind split_roles: loops of both roles change, each in its way */
    "pair_blocks", /* behind split_roles: of what the filling role computes alone */
    "halves",      /* behind start_dots, which places waits */
    "turns",       /* behind split_roles: of the program's own warps alone */
    "late_stores", /* behind split_roles: the team's loops are as they run */
    "cse",         /* addresses that the prologue and the loop share */
    "dce",   /* after all: values whose every use got another layout; old addresses */
    "chunk", /* what is there now is what threads hold */
    "cse",   /* addresses and masks of one slice */
    "dce",   /* whole blocks that only slices are left of */
    "cast_again",   /* what is live where is settled */
    "sink_moves",   /* behind all that makes or merges moves; before barriers */
    "flip_slots",   /* behind all that makes accesses to slots, or merges them */
    "place_local",  /* behind all that makes, merges or drops places */
    "place_shared", /* behind all that makes, merges or drops ops with a place */
    "occupancy",    /* it counts the registers and the shared memory of what is left */
    "barriers",     /* last: what is emitted is what stands here, in this order */
    NULL,
};
