/* regions: the device's memory: what was made known by ptxsim_register. */
#include "tools/ptxsim/ptxsim.h"

static struct Regions { /* of the process: device memory is */
    struct Region {
        uintptr_t from, to;
    } *row; /* by address; they do not overlap */
    size_t n, cap;
} regions;

/* The first that ends behind p. */
static size_t
region_at(uintptr_t p)
{
    size_t low = 0, high = regions.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (regions.row[mid].to > p)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

bool
region_add(const void *p, size_t n)
{
    uintptr_t from = (uintptr_t)p;
    size_t at = region_at(from);
    if (regions.n == regions.cap) {
        size_t cap = 2 * regions.cap + 64;
        struct Region *more = realloc(regions.row, cap * sizeof *more);
        if (!more)
            return false;
        regions.row = more;
        regions.cap = cap;
    }
    memmove(regions.row + at + 1, regions.row + at,
            (regions.n - at) * sizeof *regions.row);
    regions.row[at] = (struct Region){from, from + n};
    regions.n++;
    return true;
}

bool
region_remove(const void *p)
{
    for (size_t i = 0; i < regions.n; i++)
        if (regions.row[i].from == (uintptr_t)p) {
            regions.n--;
            memmove(regions.row + i, regions.row + i + 1,
                    (regions.n - i) * sizeof *regions.row);
            return true;
        }
    return false;
}

bool
region_has(const void *p, size_t n)
{
    uintptr_t at = (uintptr_t)p;
    size_t i = region_at(at);
    return i < regions.n && regions.row[i].from <= at && n <= regions.row[i].to - at;
}

EngineRegion *
regions_watched(int *n)
{
    EngineRegion *g = calloc(regions.n + 1, sizeof *g);
    *n = 0;
    for (size_t i = 0; g && i < regions.n; i++) {
        uint64_t from = regions.row[i].from, bytes = regions.row[i].to - from;
        struct GlobalCells *cells = global_cells_new(from, bytes);
        g[i] = (EngineRegion){.start = from, .bytes = bytes, .cells = cells};
        *n = (int)i + 1;
        if (cells)
            continue;
        regions_unwatch(g, *n);
        return NULL;
    }
    return g;
}

void
regions_unwatch(EngineRegion *g, int n)
{
    for (int i = 0; i < n; i++)
        global_cells_free(g[i].cells);
    free(g);
}
