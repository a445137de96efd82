/* cost.h: what one access of a warp costs the memory system, from its addresses. */
#ifndef TEGULA_PTXSIM_COST_H
#define TEGULA_PTXSIM_COST_H

#include <stdint.h>

/* Lanes of m access `bytes` (a power of two up to 16) at address[lane]. */
typedef struct GlobalCost {
    int bytes;   /* different ones: what lanes share counts once */
    int sectors; /* aligned pieces of 32 bytes that hold them; what memory moves */
} GlobalCost;
GlobalCost cost_global(uint32_t m, const uint64_t address[32], int bytes);

typedef struct SharedCost {
    int bytes;      /* different ones */
    int phases;     /* wavefronts there would be without conflicts */
    int wavefronts; /* that there are: phases, and the conflicts */
} SharedCost;
SharedCost cost_shared(uint32_t m, const uint64_t address[32], int bytes);
/* Atomics: lanes at one word wait for each other. */
SharedCost cost_shared_atomic(uint32_t m, const uint64_t address[32], int bytes);

#endif
