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
