/* tiles.h: what promote_tma and map_tiles share. */
#ifndef TEGULA_PASSES_TILES_H
#define TEGULA_PASSES_TILES_H

#include "ir/ir.h"

/* Values of the launch, computed again in front of all else of a function. */
typedef struct OnTop {
    Build b;
    Map made; /* a value -> the same on top */
} OnTop;
OnTop on_top_of(Func *f);
Val *on_top(OnTop *t, Val *v); /* v, of parameters and constants alone */

/* A copy of f, to see what a change would lead to. */
Func *trial_copy(const Func *f);

/* map_tiles.c: does what the pass does. Why no tile is mapped, where warps of their own would bring none; else
 * NULL. */
const char *map_tiles(Func *f);

#endif
