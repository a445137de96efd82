/* count.h: what a launch did, instruction by instruction. Called by driver.c. */
#ifndef TEGULA_PTXSIM_COUNT_H
#define TEGULA_PTXSIM_COUNT_H

#include "tools/ptxsim/ptxsim.h"

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
