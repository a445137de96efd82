/* order_simt: what runs for GPUs and their emulator, after the tile level. */
#include "passes/passes.h"

const char *const order_simt[] = {
    "scalar_fills",   /* before scalar_steps, which knows blocks that are numbers */
    "scalar_steps",   /* before layouts: what it leaves has none of its own */
    "assign_layouts", /* early: everything below wants to see layouts */
    "cse",            /* a value made twice in one layout; conversions of one value */
    "defer_sums", /* layouts say what a thread sums by itself; before places are dealt */
    "order_memory", /* after cse: equal pointers are one value; before loops are cut up */
    "pipeline", /* layouts are settled: what is copied and how it is read is known */
    "cse",      /* addresses that the prologue and the loop share */
    "dce",      /* last: values whose every use got another layout; old addresses */
    NULL,
};
