/* ptxsim.h: what the files of ptxsim share; kernels are run by csrc/ptx, whose engine.h comes
 * first. */
#ifndef TEGULA_PTXSIM_H
#define TEGULA_PTXSIM_H

#include "ptx/engine.h"

#define SIM_EXPORT __attribute__((visibility("default")))

/* Registered memory: what kernels may touch. */
bool region_add(const void *p, size_t n);
bool region_remove(const void *p);
bool region_has(const void *p, size_t n);
/* All of it, as a checked launch wants it: with who touched what. NULL: out of memory. */
EngineRegion *regions_watched(int *n);
void regions_unwatch(EngineRegion *g, int n);

#endif
