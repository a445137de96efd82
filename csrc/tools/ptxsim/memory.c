/* memory: where an address leads, and what is asked of every access.
 *
 * An access is aligned to all its bytes and lies within its space, or the launch ends, as
 * on a GPU. Global memory is what was registered (region_add): on a GPU a stray access
 * may go unnoticed, here it does not. Shared memory has a state for every byte: one never
 * written makes the loaded register undefined, one that a cp.async not yet waited for will
 * write is an error.
 */
#include "ptx/lanes.h"
#include "tools/ptxsim/ptxsim.h"

#include <cuda.h>

/* ---- registered memory ----------------------------------------------------------- */

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

/* ---- addresses ------------------------------------------------------------------- */

static const char *const space_names[] = {
    [SPACE_GENERIC] = "generic", [SPACE_GLOBAL] = "global",
    [SPACE_SHARED] = "shared",   [SPACE_CLUSTER] = "the cluster's shared",
    [SPACE_LOCAL] = "local",     [SPACE_PARAM] = "parameter",
    [SPACE_CONST] = "constant"};

/* The block whose shared memory an address is of, and the offset there; NULL: none. */
static Cta *
cta_at(const Warp *w, Space space, uint64_t address, uint64_t *offset)
{
    Cta *c = w->cta;
    uint64_t rank = address >> CLUSTER_SHIFT;
    if (space == SPACE_CLUSTER && rank) {
        if (rank > (uint64_t)c->cluster->n_ctas)
            return NULL;
        c = &c->cluster->ctas[rank - 1];
        address &= (1u << CLUSTER_SHIFT) - 1;
    }
    *offset = address - SHARED_BASE;
    return c;
}

uint8_t *
sim_states(Warp *w, Space space, uint64_t address)
{
    uint64_t at;
    space = lanes_space(space, &address);
    if (space != SPACE_SHARED && space != SPACE_CLUSTER)
        return NULL;
    Cta *c = cta_at(w, space, address, &at);
    return c && at < c->n_shared ? c->state + at : NULL;
}

uint8_t *
sim_bytes(Warp *w, const Ins *i, int lane, Space space, uint64_t address, uint32_t n,
          bool is_store)
{
    const char *what = is_store ? "store" : "load";
    uint64_t asked = address, at = 0;
    space = lanes_space(space, &address);
    if (address & (n - 1))
        sim_fault(w, i, lane, CUDA_ERROR_MISALIGNED_ADDRESS,
                  "misaligned: a %s of %u bytes at %s address %#llx", what, n,
                  space_names[space], (unsigned long long)asked);
    switch (space) {
    case SPACE_GLOBAL:
    case SPACE_CONST: {
        uint8_t *p = (uint8_t *)(uintptr_t)address;
        if (!region_has(p, n))
            sim_fault(w, i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                      "a %s of %u bytes at %#llx, where no registered memory is", what,
                      n, (unsigned long long)asked);
        return p;
    }
    case SPACE_SHARED:
    case SPACE_CLUSTER: {
        Cta *c = cta_at(w, space, address, &at);
        if (!c || at >= c->n_shared || n > c->n_shared - at)
            sim_fault(w, i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                      "a %s of %u bytes at offset %lld of shared memory, which has %u",
                      what, n, (long long)at, w->cta->n_shared);
        if (c->n_gone == c->n_warps)
            sim_fault(w, i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                      "shared memory of block %d of the cluster, which has ended",
                      c->rank);
        for (uint32_t k = 0; k < n; k++)
            if (c->state[at + k] == BYTE_PENDING)
                sim_fault(w, i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                          "a %s at offset %llu of shared memory, which a cp.async "
                          "that nobody has waited for will write",
                          what, (unsigned long long)(at + k));
        return c->shared + at;
    }
    case SPACE_LOCAL:
        if (address >= w->f->local_bytes || n > w->f->local_bytes - address)
            sim_fault(w, i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                      "a %s of %u bytes at offset %lld of local memory, which has %u",
                      what, n, (long long)address, w->f->local_bytes);
        return w->local + (size_t)lane * w->f->local_bytes + address;
    default:
        if (is_store || address >= w->f->param_bytes || n > w->f->param_bytes - address)
            sim_fault(w, i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
                      "a %s of %u bytes at offset %lld of the parameters", what, n,
                      (long long)address);
        return (uint8_t *)(uintptr_t)(warp_launch(w)->params + address);
    }
}
