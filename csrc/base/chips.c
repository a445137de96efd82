/* chips: the rows of chips.def. */
#include "base/base.h"

static const Chip chips[] = {
#define CHIP(...) {__VA_ARGS__},
#include "base/chips.def"
#undef CHIP
};

const Chip *
chip_of(int sm)
{
    const Chip *found = &chips[0];
    for (size_t i = 0; i < COUNT(chips); i++)
        if (chips[i].sm <= sm)
            found = &chips[i];
    return found;
}

/* A multiprocessor has four parts, each with a quarter of the registers, and deals them to warps eight a
 * thread at a time. */
int64_t
chip_blocks_by_registers(int threads, int64_t registers)
{
    enum { PARTS = 4, UNIT = 8 };
    int64_t of_warp = (registers + UNIT - 1) / UNIT * UNIT * 32;
    return CHIP_REGISTERS / PARTS / of_warp * PARTS * 32 / threads;
}

int64_t
chip_blocks_by_shared(const Chip *c, int64_t bytes)
{
    int64_t each = bytes + (c->sm < 80 ? 0 : CHIP_BLOCK_SHARED);
    return ((int64_t)c->sm_kb << 10) / MAX(each, 1);
}

int64_t
chip_blocks(const Chip *c, int threads, int64_t registers, int64_t shared)
{
    int64_t n = MIN(c->threads / threads, chip_blocks_by_registers(threads, registers)),
            by_shared = chip_blocks_by_shared(c, shared);
    return MIN(n, by_shared);
}
