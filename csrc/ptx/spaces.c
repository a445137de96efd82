/* spaces: where an address leads, and what is asked of every access.
 *
 * An access is aligned to all its bytes and lies within its space, or the launch ends, as
 * on a GPU. Global memory is what the launcher says (EngineHooks.has): on a GPU a stray access
 * may go unnoticed, here it does not. Shared memory has a state for every byte: one never
 * written makes the loaded register undefined, one that a cp.async not yet waited for will
 * write is an error.
 */
#include "ptx/engine.h"

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

Cta *
warp_cta_of(Warp *w, Space space, uint64_t address, uint32_t *offset)
{
    uint64_t at = 0;
    space = lanes_space(space, &address);
    bool is_shared = space == SPACE_SHARED || space == SPACE_CLUSTER;
    Cta *c = is_shared ? cta_at(w, space, address, &at) : NULL;
    *offset = (uint32_t)at;
    return c && at < c->n_shared ? c : NULL;
}

uint8_t *
warp_states(Lanes *lanes, Space space, uint64_t address)
{
    uint32_t at;
    const Cta *c = warp_cta_of(warp_of(lanes), space, address, &at);
    return c ? c->state + at : NULL;
}

/* The region that has these bytes; NULL: none. */
static EngineRegion *
region_of(Launch *l, uint64_t at, uint32_t n)
{
    for (int k = 0, r = l->last_region; k < l->n_regions; k++, r++) {
        r = r < l->n_regions ? r : 0;
        EngineRegion *g = &l->regions[r];
        if (at - g->start < g->bytes && n <= g->bytes - (at - g->start)) {
            l->last_region = r;
            return g;
        }
    }
    return NULL;
}

static _Noreturn void
refuse_access(Warp *w, const Ins *i, int lane, const uint8_t *p, uint32_t n,
              bool is_store, EngineFault fault)
{
    EngineReport *r = &warp_launch(w)->report;
    r->address = (uintptr_t)p;
    r->bytes = n;
    r->is_store = is_store;
    if (fault == FAULT_READ_ONLY)
        warp_fault(w, i, lane, fault, "a store to memory that is read-only");
    warp_fault(w, i, lane, fault,
               "a %s of %u bytes at %#llx, where no registered memory is",
               is_store ? "store" : "load", n, (unsigned long long)(uintptr_t)p);
}

void
warp_want(Warp *w, const Ins *i, int lane, const uint8_t *p, uint32_t n, bool is_store)
{
    Launch *l = warp_launch(w);
    const EngineRegion *g = region_of(l, (uintptr_t)p, n);
    if (is_store || i->is_of_system)
        l->n_pauses = 0;
    if (!g && !l->hooks->has(l, i, p, n))
        refuse_access(w, i, lane, p, n, is_store, FAULT_ADDRESS);
    if (g && is_store && g->is_read_only)
        refuse_access(w, i, lane, p, n, is_store, FAULT_READ_ONLY);
    if (g && g->cells)
        races_global(w, i, lane, g->cells, (uintptr_t)p, n, is_store);
}

/* In a launch that is checked. Where a kernel's author reads, what nobody has written is ones,
 * as threads may poll: a race is told when the writer comes. */
static void
want_written(Warp *w, const Ins *i, int lane, const Cta *c, uint64_t at, uint32_t n)
{
    const uint8_t *undef = memchr(c->state + at, BYTE_UNDEF, n);
    for (uint32_t k = 0; undef && i->author_line && k < n; k++)
        if (c->state[at + k] == BYTE_UNDEF)
            c->shared[at + k] = 0xff, c->state[at + k] = BYTE_DEFINED;
    if (undef && !i->author_line)
        warp_fault(
            w, i, lane, FAULT_UNWRITTEN,
            "thread %d reads shared memory at offset %d, which nobody has written",
            LANES * w->id + lane, (int)(undef - c->state));
}

uint8_t *
warp_bytes(Lanes *lanes, const Ins *i, int lane, Space space, uint64_t address,
           uint32_t n, bool is_store)
{
    Warp *w = warp_of(lanes);
    const char *what = is_store ? "store" : "load";
    uint64_t asked = address, at = 0;
    space = lanes_space(space, &address);
    if (address & (n - 1))
        warp_fault(w, i, lane, FAULT_MISALIGNED,
                   "misaligned: a %s of %u bytes at %s address %#llx", what, n,
                   space_names[space], (unsigned long long)asked);
    switch (space) {
    case SPACE_GLOBAL:
    case SPACE_CONST: {
        uint8_t *p = (uint8_t *)(uintptr_t)address;
        warp_want(w, i, lane, p, n, is_store);
        return p;
    }
    case SPACE_SHARED:
    case SPACE_CLUSTER: {
        Cta *c = cta_at(w, space, address, &at);
        if (!c)
            warp_fault(
                w, i, lane, FAULT_ADDRESS,
                "a %s of %u bytes at %s address %#llx, of a block that the cluster "
                "does not have: it has %d",
                what, n, space_names[space], (unsigned long long)asked,
                w->cta->cluster->n_ctas);
        if (at >= c->n_shared || n > c->n_shared - at)
            warp_fault(w, i, lane, FAULT_ADDRESS,
                       "a %s of %u bytes at offset %lld of shared memory, which has %u",
                       what, n, (long long)at, w->cta->n_shared);
        if (c->n_gone == c->n_warps)
            warp_fault(w, i, lane, FAULT_ADDRESS,
                       "shared memory of block %d of the cluster, which has ended",
                       c->rank);
        bool is_there = is_defined(c->state + at, n);
        if (!is_there && memchr(c->state + at, BYTE_PENDING, n))
            warp_fault(w, i, lane,
                       warp_launch(w)->is_checked ? FAULT_RACE : FAULT_ADDRESS,
                       "a %s at offset %llu of shared memory, which a %s that nobody "
                       "has waited for is still to write",
                       what, (unsigned long long)at, late_writer(c, at, n));
        if (!is_there && !is_store && warp_launch(w)->is_checked)
            want_written(w, i, lane, c, at, n);
        if (w->lanes.how == HOW_ASYNC)
            return c->shared + at;
        if (warp_launch(w)->is_checked)
            races_shared(w, i, lane, c, (uint32_t)at, n, is_store);
        if (is_store && c == w->cta && w->lanes.how != HOW_MBARRIER)
            proxy_wrote(w, i, 1u << lane, (uint32_t)at, n);
        return c->shared + at;
    }
    case SPACE_LOCAL:
        if (address >= w->f->local_bytes || n > w->f->local_bytes - address)
            warp_fault(w, i, lane, FAULT_ADDRESS,
                       "a %s of %u bytes at offset %lld of local memory, which has %u",
                       what, n, (long long)address, w->f->local_bytes);
        return w->local + (size_t)lane * w->f->local_bytes + address;
    default:
        if (is_store || address >= w->f->param_bytes || n > w->f->param_bytes - address)
            warp_fault(w, i, lane, FAULT_ADDRESS,
                       "a %s of %u bytes at offset %lld of the parameters", what, n,
                       (long long)address);
        return (uint8_t *)(uintptr_t)(warp_launch(w)->params + address);
    }
}

/* Nothing is told here: where something may have to be, each lane is asked for by itself. */
uint8_t *
warp_row(Lanes *lanes, const Ins *i, int lane, int n_lanes, Space space,
         uint64_t address, uint32_t n, bool is_store)
{
    Warp *w = warp_of(lanes);
    Launch *l = warp_launch(w);
    uint32_t all = (uint32_t)n_lanes * n;
    if (lanes->how != HOW_PLAIN || address & (n - 1))
        return NULL;
    if (space == SPACE_GLOBAL) {
        const EngineRegion *g = region_of(l, address, all);
        if (!g || (is_store && g->is_read_only) ||
            (g->cells &&
             !races_global_row(w, i, lane, n_lanes, g->cells, address, n, is_store)))
            return NULL;
        if (is_store || i->is_of_system)
            l->n_pauses = 0;
        return (uint8_t *)(uintptr_t)address;
    }
    const Cta *c = w->cta;
    uint64_t at = address - SHARED_BASE;
    if (space != SPACE_SHARED || at >= c->n_shared || all > c->n_shared - at)
        return NULL;
    uint8_t *state = c->state + at;
    bool is_plain = is_store ? !memchr(state, BYTE_PENDING, all)
                             : is_defined(state, all);
    if (!is_plain || (l->is_checked && !races_shared_row(w, i, lane, n_lanes, c,
                                                         (uint32_t)at, n, is_store)))
        return NULL;
    if (is_store) {
        memset(state, BYTE_DEFINED, all);
        uint32_t of_row = (uint32_t)((UINT64_C(1) << n_lanes) - 1) << lane;
        proxy_wrote(w, i, of_row, (uint32_t)at, all);
    }
    return c->shared + at;
}
