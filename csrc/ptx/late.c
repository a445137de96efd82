/* late: copies that land late.
 *
 * A cp.async does nothing but mark its bytes until the thread waits for its group: then,
 * and not before, it reads its source and writes. So what is read too early, or what of
 * the source is overwritten too early, is noticed, whatever a GPU's timing would be.
 */
#include "ptx/engine.h"

static void
keep_copy(Warp *w, const Ins *i, int lane, Copy c)
{
    if (w->n_copies == w->cap_copies) {
        int cap = w->cap_copies ? 2 * w->cap_copies : 256;
        Copy *more = realloc(w->copies, (size_t)cap * sizeof *more);
        if (!more)
            warp_fault(w, i, lane, FAULT_MEMORY, "out of memory");
        w->copies = more;
        w->cap_copies = cap;
    }
    w->copies[w->n_copies++] = c;
}

void
late_copy(Lanes *lanes, const Ins *i, int lane, uint64_t to, uint64_t from, uint32_t n)
{
    Warp *w = warp_of(lanes);
    const uint8_t *src = NULL;
    if (n) {
        src = n == i->bytes ? warp_bytes(w, i, lane, SPACE_GLOBAL, from, n, false)
                            : (const uint8_t *)(uintptr_t)from;
        if (!warp_has(w, src, n))
            warp_fault(w, i, lane, FAULT_ADDRESS,
                       "a copy of %u bytes from %p, where no registered memory is", n,
                       (const void *)src);
    }
    warp_bytes(w, i, lane, SPACE_SHARED, to, i->bytes, true);
    memset(warp_states(w, SPACE_SHARED, to), BYTE_PENDING, i->bytes);
    keep_copy(w, i, lane,
              (Copy){(uint32_t)lane, (uint32_t)(to - SHARED_BASE), i->bytes,
                     w->committed[lane], src, n, i});
}

void
late_commit(Lanes *lanes, uint32_t m)
{
    Warp *w = warp_of(lanes);
    for (int l = 0; l < LANES; l++)
        w->committed[l] += m >> l & 1;
}

void
late_wait(Lanes *lanes, const Ins *i, uint32_t m, int64_t pending)
{
    Warp *w = warp_of(lanes);
    int n = 0;
    (void)i;
    for (int k = 0; k < w->n_copies; k++) {
        Copy c = w->copies[k];
        bool lands = m >> c.lane & 1 && c.group < w->committed[c.lane] - pending;
        if (!lands) {
            w->copies[n++] = c;
            continue;
        }
        uint8_t *to = w->cta->shared + c.to;
        if (c.n_from)
            memcpy(to, c.from, c.n_from);
        memset(to + c.n_from, 0, c.bytes - c.n_from);
        memset(w->cta->state + c.to, BYTE_DEFINED, c.bytes);
        proxy_wrote(w, c.ins, 1u << c.lane, c.to, c.bytes);
    }
    w->n_copies = n;
}
