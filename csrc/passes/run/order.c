/* order: what runs when, and why there: for every target, and for CPUs behind that. */
#include "passes/passes.h"

const char *const order_tile[] = {
    "widen_team",    /* first: all below counts registers and warps */
    "map_tiles",     /* early: what a descriptor says is still in one place */
    "lower_desc",    /* early: what it leaves is what anybody may write by hand */
    "spread_hints",  /* before anything asks for facts */
    "pad_blocks",    /* early: nothing below knows of other sides than powers of two */
    "inline_consts", /* early: a stride that is 1 changes what everything below sees */
    "fold",          /* what the frontend wrote down literally; dead branches */
    "cse",           /* before licm: fewer ops to move */
    "unroll",        /* on small bodies; step and bounds are constants by now if ever */
    "fold",          /* copies of bodies know their offset; whole loops may be gone */
    "licm",      /* after fold: it moves what is left, not what would have vanished */
    "cse",       /* what licm moved out of two loops, and unrolled copies */
    "fuse_dot",  /* after fold made the zero a constant and cse the operands one */
    "dce",       /* every pass above leaves carried values and loads behind */
    "swap_dots", /* before maps, which ask how products read; loads are loads by now */
    "promote_tma", /* late: strides that are 1, sums and masks are as plain as they get */
    "map_tiles",   /* what that made */
    "lower_desc",  /* and what stays without a map after all */
    "dce",         /* pointers that loops carried for those loads */
    "whole_lines", /* what is left of a loop that multiplies is in sight */
    "persist", /* behind all maps: what they are made of and where products are is settled */
    "dce", /* the programs' own numbers, and narrower maps */
    NULL,
};

const char *const order_host[] = {
    "scalar_steps", /* what it leaves is no block, and needs no scratch */
    "dce",          /* sums that nobody wants while the loop runs */
    "group",        /* last: where each op stands decides what it is computed with */
    NULL,
};
