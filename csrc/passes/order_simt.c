/* order_simt: what runs for GPUs and their emulator, after the tile level. */
#include "passes/passes.h"

const char *const order_simt[] = {
    "assign_layouts",   /* first: everything below wants to see layouts */
    "cse",              /* a value made twice in one layout; conversions of one value */
    "dce",              /* last: values whose every use got another layout */
    NULL,
};
