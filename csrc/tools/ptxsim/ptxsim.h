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

/* count.c: what a launch did, instruction by instruction. */
typedef struct Counts Counts;

/* Of a launch that is to be counted; NULL when nobody asked. */
Counts *count_begin(const Launch *l);
/* A warp ran an instruction, with the lanes of m that its guard let through. */
void count_run(Counts *c, const Ins *i, uint32_t m);
/* Before every access of a warp: lanes of m, `bytes` each. */
void count_access(Counts *c, const Ins *i, uint32_t m, Space space,
                  const uint64_t address[LANES], int bytes);
/* The launch is over: what ptxsim_profiled() will tell. Frees c. */
void count_end(Counts *c, const Launch *l);

#endif
