/* proxy: has what the async proxy reads been fenced?
 *
 * wgmma and bulk copies read shared memory by the async proxy. What threads wrote there by
 * ordinary stores, or by cp.async, it sees only behind a fence.proxy.async that stands between
 * the write and the read, in the writer or in whoever the writer has synchronised with:
 *
 *     st.shared [x]         warp u writes at time t
 *     fence.proxy.async     warp u knows its writes up to t to be fenced
 *     bar.sync 0            .. and all others now know it, too
 *     wgmma [x]             fine. Without the fence: an error that names both lines
 *
 * A warp has a clock, and knows of every warp how far its writes happened before (known) and
 * how far they are fenced (fenced). A barrier hands both on, an mbarrier does from arrivals to
 * waits. Each byte has the warp and the time of its last ordinary write. A fence of some lanes
 * counts when they are all that wrote since the warp's last fence.
 *
 * Kernels without such readers have none of this. Source: PTX ISA, "Memory Consistency Model",
 * proxies; "Async proxy".
 */
#include "ptx/engine.h"

enum { WARP_SHIFT = 27, PIECE = 16 }; /* of a tag: the warp, then the time */

typedef struct Clocks {
    uint32_t known[MAX_WARPS], fenced[MAX_WARPS];
} Clocks;

typedef struct Mark { /* what an mbarrier hands on */
    uint32_t at;
    Clocks clocks;
} Mark;

struct Proxy {
    Clocks warp[MAX_WARPS], barrier[N_BARRIERS], cluster;
    uint32_t clock[MAX_WARPS];
    uint32_t wrote[MAX_WARPS]; /* lanes, since the warp's last fence */
    Mark *marks;
    int n_marks, cap_marks;
    uint32_t
        *tag; /* of each byte; 0: no ordinary write, or one of the async proxy since */
    const Ins **by; /* of each 16 bytes: the last ordinary write */
    uint32_t n_bytes;
};

bool
proxy_is_asked(const Func *f)
{
    static const char *const readers[] = {"wgmma.mma", "cp.async.bulk", "cp.reduce"};
    for (int k = 0; k < f->n_code; k++)
        for (size_t r = 0; r < sizeof readers / sizeof *readers; r++)
            if (!strncmp(f->code[k].words, readers[r], strlen(readers[r])))
                return true;
    return false;
}

struct Proxy *
proxy_new(uint32_t n_bytes)
{
    struct Proxy *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->n_bytes = n_bytes;
    p->tag = calloc(n_bytes + 1u, sizeof *p->tag);
    p->by = calloc(n_bytes / PIECE + 1u, sizeof(const Ins *));
    if (p->tag && p->by)
        return p;
    proxy_free(p);
    return NULL;
}

void
proxy_free(struct Proxy *p)
{
    if (!p)
        return;
    free(p->tag);
    free((void *)p->by);
    free(p->marks);
    free(p);
}

/* The block's memory is another's now. */
void
proxy_reset(struct Proxy *p)
{
    if (!p)
        return;
    memset(p->warp, 0, sizeof p->warp);
    memset(p->barrier, 0, sizeof p->barrier);
    memset(&p->cluster, 0, sizeof p->cluster);
    memset(p->wrote, 0, sizeof p->wrote);
    memset(p->tag, 0, p->n_bytes * sizeof *p->tag);
    p->n_marks = 0;
    for (int w = 0; w < MAX_WARPS; w++)
        p->clock[w] = 1;
}

/* ---- what warps do --------------------------------------------------------------- */

void
proxy_wrote(Warp *w, const Ins *i, uint32_t lanes, uint32_t at, uint32_t n)
{
    struct Proxy *p = w->cta->proxy;
    if (!p)
        return;
    uint32_t tag = (uint32_t)w->id << WARP_SHIFT | p->clock[w->id];
    p->wrote[w->id] |= lanes;
    for (uint32_t k = at; k < at + n; k++) {
        p->tag[k] = tag;
        p->by[k / PIECE] = i;
    }
}

void
proxy_fence(Warp *w, uint32_t lanes)
{
    struct Proxy *p = w->cta->proxy;
    if (!p || p->wrote[w->id] & ~lanes)
        return;
    Clocks *c = &p->warp[w->id];
    c->known[w->id] = p->clock[w->id];
    for (int u = 0; u < MAX_WARPS; u++)
        if (c->fenced[u] < c->known[u])
            c->fenced[u] = c->known[u];
    p->clock[w->id]++;
    p->wrote[w->id] = 0;
}

static _Noreturn void
unfenced(Warp *w, const Ins *i, int lane, uint32_t at, uint32_t from, const Ins *by,
         bool is_store)
{
    bool is_checked = warp_launch(w)->is_checked &&
                      by->src; /* has the kernel's lines */
    warp_fault(w, i, lane, is_checked ? FAULT_RACE : FAULT_INVALID,
               "%s%s by the async proxy what warp %u wrote at offset %u of shared "
               "memory (%s %s %d%s) without a fence.proxy.async in between",
               is_checked ? "race: " : "", is_store ? "overwrites" : "reads", from, at,
               by->words, is_checked ? "in line" : "at line",
               is_checked ? by->src : by->line, is_checked ? "" : " of the PTX");
}

void
proxy_access(Warp *w, const Ins *i, int lane, uint32_t at, uint32_t n, bool is_store)
{
    struct Proxy *p = w->cta->proxy;
    uint32_t seen = 0, any = 0;
    for (uint32_t k = at; p && k < at + n; k++)
        any |= p->tag[k];
    for (uint32_t k = at; any && k < at + n; k++) {
        uint32_t tag = p->tag[k];
        if (!tag || tag == seen)
            continue;
        seen = tag;
        uint32_t from = tag >> WARP_SHIFT;
        if ((tag & ((1u << WARP_SHIFT) - 1)) > p->warp[w->id].fenced[from])
            unfenced(w, i, lane, k, from, p->by[k / PIECE], is_store);
    }
    if (p && is_store)
        memset(p->tag + at, 0, n * sizeof *p->tag);
}

/* Bytes that come count at the mbarrier by the async proxy: it was made ready before. */
void
proxy_bar(Warp *w, const Ins *i, int lane, const void *mbarrier)
{
    const Cta *c = w->cta;
    const uint8_t *at = mbarrier;
    if (at >= c->shared && at < c->shared + c->n_shared)
        proxy_access(w, i, lane, (uint32_t)(at - c->shared), 8, false);
}

/* ---- what hands it on ------------------------------------------------------------ */

static void
join_proxy_clocks(Clocks *to, const Clocks *from)
{
    for (int u = 0; u < MAX_WARPS; u++) {
        if (to->known[u] < from->known[u])
            to->known[u] = from->known[u];
        if (to->fenced[u] < from->fenced[u])
            to->fenced[u] = from->fenced[u];
    }
}

static void
leave_at(struct Proxy *p, int warp, Clocks *to)
{
    p->warp[warp].known[warp] = p->clock[warp]++;
    join_proxy_clocks(to, &p->warp[warp]);
}

void
proxy_arrive(Warp *w, int barrier)
{
    struct Proxy *p = w->cta->proxy;
    if (p)
        leave_at(p, w->id, barrier < 0 ? &p->cluster : &p->barrier[barrier]);
}

void
proxy_pass(Warp *w, int barrier)
{
    struct Proxy *p = w->cta->proxy;
    if (p)
        join_proxy_clocks(&p->warp[w->id],
                          barrier < 0 ? &p->cluster : &p->barrier[barrier]);
}

/* The mark of the mbarrier at an offset. */
static Clocks *
mark_at(Warp *w, struct Proxy *p, uint32_t at)
{
    for (int k = 0; k < p->n_marks; k++)
        if (p->marks[k].at == at)
            return &p->marks[k].clocks;
    p->marks = warp_room(w, p->marks, p->n_marks, &p->cap_marks, sizeof *p->marks);
    p->marks[p->n_marks] = (Mark){.at = at};
    return &p->marks[p->n_marks++].clocks;
}

void
proxy_order(Warp *w, const void *mbarrier, bool acquires)
{
    const Cta *c = w->cta;
    struct Proxy *p = c->proxy;
    const uint8_t *at = mbarrier;
    if (!p || at < c->shared || at >= c->shared + c->n_shared)
        return; /* of another block: nobody here reads what it wrote */
    Clocks *m = mark_at(w, p, (uint32_t)(at - c->shared));
    if (acquires)
        join_proxy_clocks(&p->warp[w->id], m);
    else
        leave_at(p, w->id, m);
}
