/* assembly: PTX that a kernel's author wrote, on the elements of one emulated thread.
 *
 * csrc/ptx runs it; an access is checked as the compiler's own are. A thread does not let
 * others run meanwhile, unless the text says so: it waits for the lanes of a mask at a shuffle
 * or a vote, which the last to come does for all, and at barriers.
 *
 * Shared variables of a text lie in memory of their own, an area for each place in the code, at
 * the same address in all blocks of a cluster, and begin as the compiler's shared memory does:
 * as ones. Races in it are races.c's.
 */
#include "runtime/emu/internal.h"

#include <stdlib.h>

enum { ASM_SHARED = 227 << 10 }; /* bytes, as a block of sm_90 may have */

typedef struct Assembly {
    EmuThread *t;
    const PtxSite *site;
    EmuPlace at;
} Assembly;

static bool
may(const PtxRun *r, const PtxAccess *a)
{
    const Assembly *x = r->data;
    return a->address % (uint64_t)a->bytes == 0 &&
           emu_is_allowed(x->t, a->address, a->bytes, a->is_store,
                          x->site->is_elsewhere);
}

/* ---- threads that meet ---------------------------------------------------------------- */

static EmuThread *
warp_of(const EmuThread *t)
{
    return &t->b->threads[t->id / LANES * LANES];
}

/* The lanes that wait for each other run on, when one of them has done it for all. */
static void
meet_now(EmuThread *warp, uint32_t lanes, int by)
{
    PtxThread *all[LANES] = {NULL};
    for (int l = 0; l < LANES; l++)
        all[l] = lanes >> l & 1 ? warp[l].assembly : NULL;
    if (!strncmp(ptx_stop(all[by]).words, "bar.warp", 8))
        emu_order_lanes(warp, lanes);
    ptx_together(all, lanes, by);
    for (int l = 0; l < LANES; l++)
        if (lanes >> l & 1 && warp[l].state == T_MEET)
            warp[l].state = T_READY;
}

static void
meet(PtxRun *r, PtxThread *me, uint32_t mask)
{
    Assembly *x = r->data;
    EmuThread *t = x->t, *warp = warp_of(t);
    PtxStop stop = ptx_stop(me);
    int lane = t->id % LANES;
    emu_races_settle(t->b);
    uint32_t here = 1u << lane;
    t->assembly = me;
    t->members = mask;
    for (int l = 0; l < LANES; l++) {
        const EmuThread *o = &warp[l];
        if (o->state != T_MEET || !(mask >> l & 1))
            continue;
        PtxStop its = ptx_stop(o->assembly);
        if (o->members == mask && its.ins == stop.ins)
            here |= 1u << l;
        else if (o->members >> lane & 1 && !its.is_loose && !stop.is_loose)
            emu_fault(
                t, EMU_BARRIER, &x->at,
                "the lanes of a warp are at different instructions of the assembly, or "
                "under other masks: lane %d at %.60s in line %d (%#x), lane %d at "
                "%.60s in line %d (%#x)",
                lane, stop.words, stop.line, mask, l, its.words, its.line, o->members);
    }
    if (here == mask)
        meet_now(warp, mask, lane);
    else
        emu_wait(t, T_MEET, &x->at);
}

bool
emu_meet_few(EmuBlock *b)
{
    for (int i = 0; i < b->n; i++) {
        EmuThread *t = &b->threads[i], *warp = warp_of(t);
        if (t->state != T_MEET || !ptx_stop(t->assembly).is_loose)
            continue;
        uint32_t here = 0;
        for (int l = 0; l < LANES; l++)
            here |= (uint32_t)(warp[l].state == T_MEET &&
                               ptx_stop(warp[l].assembly).ins ==
                                   ptx_stop(t->assembly).ins)
                    << l;
        meet_now(warp, here, i % LANES);
        return true;
    }
    return false;
}

static void
barrier(PtxRun *r, PtxThread *me, PtxBarrier *b)
{
    Assembly *x = r->data;
    x->t->assembly = me;
    emu_races_settle(x->t->b);
    emu_barrier_of(x->t, b, &x->at);
}

static const char *
cluster(PtxRun *r, PtxThread *me, bool arrives)
{
    Assembly *x = r->data;
    x->t->assembly = me;
    emu_races_settle(x->t->b);
    return emu_cluster_barrier(x->t, arrives, &x->at);
}

static void
yield(PtxRun *r)
{
    Assembly *x = r->data;
    emu_races_settle(x->t->b);
    emu_wait(x->t, T_READY, &x->at);
}

/* ---- shared memory -------------------------------------------------------------------- */

uint32_t
emu_asm_end(const EmuBlock *b)
{
    const AsmArea *last = b->n_areas ? &b->areas[b->n_areas - 1] : NULL;
    return last ? last->at + last->bytes : 0;
}

static bool
has_room(EmuCta *cta)
{
    if (!cta->asm_shared)
        cta->asm_shared = malloc(ASM_SHARED);
    if (!cta->asm_state)
        cta->asm_state = malloc(ASM_SHARED);
    return cta->asm_shared && cta->asm_state;
}

/* A multiple of 16 bytes, in the same place of each block: the first thread to come makes it. */
static int64_t
place(PtxRun *r, uint64_t bytes)
{
    const Assembly *x = r->data;
    EmuBlock *b = x->t->b;
    uint32_t at = emu_asm_end(b);
    for (int i = 0; i < b->n_areas; i++)
        if (b->areas[i].site == x->site)
            return b->areas[i].at;
    if (bytes > ASM_SHARED - at)
        return -1;
    if (b->n_areas == b->cap_areas) {
        int cap = 2 * b->cap_areas + 4;
        AsmArea *grown = realloc(b->areas, (size_t)cap * sizeof *grown);
        if (!grown)
            return -1;
        b->areas = grown;
        b->cap_areas = cap;
    }
    if (!emu_races_start(b, ASM_SHARED))
        return -1;
    for (int i = 0; i < b->n_ctas; i++) {
        if (!has_room(&b->ctas[i]))
            return -1;
        memset(b->ctas[i].asm_shared + at, 0xff, bytes);
        memset(b->ctas[i].asm_state + at, 0, bytes);
        emu_races_clear(&b->ctas[i], at, (uint32_t)bytes);
    }
    b->areas[b->n_areas++] = (AsmArea){x->site, at, (uint32_t)bytes};
    return at;
}

static bool
has_ended(const EmuBlock *b, const EmuCta *cta)
{
    for (int i = 0; i < b->n; i++)
        if (b->threads[i].cta == cta && b->threads[i].state != T_DONE)
            return false;
    return true;
}

static const char *
shared(PtxRun *r, const PtxShared *s, void **at)
{
    const Assembly *x = r->data;
    EmuThread *t = x->t;
    const EmuBlock *b = t->b;
    uint32_t end = emu_asm_end(b);
    if (s->rank >= b->n_ctas)
        return "of a block that the cluster does not have";
    const EmuCta *cta = s->rank < 0 ? t->cta : &b->ctas[s->rank];
    if (s->offset >= end || s->n > end - s->offset)
        return "outside of the shared memory that assembly has declared";
    if (cta != t->cta && has_ended(b, cta))
        return "shared memory of a block that has ended";
    if (memchr(cta->asm_state + s->offset, 1, s->n))
        return "shared memory that a cp.async is still to write: nobody has waited for it";
    emu_races_access(s->lane < 0 ? t : &warp_of(t)[s->lane], cta, s, &x->at);
    *at = cta->asm_shared + s->offset;
    return NULL;
}

static void
copy(PtxRun *r, const PtxShared *to, uint64_t from, int n)
{
    const Assembly *x = r->data;
    EmuThread *t = x->t;
    emu_queue_copy(t, &(AsyncCopy){.address = n ? from : 0,
                                   .offset = (int32_t)to->offset,
                                   .bytes = (int32_t)to->n,
                                   .read = n,
                                   .is_assembly = true,
                                   .at = x->at});
    memset(t->cta->asm_shared + to->offset, 0xff, to->n);
    memset(t->cta->asm_state + to->offset, 1, to->n);
}

static void
commit(PtxRun *r)
{
    emu_async_commit(((const Assembly *)r->data)->t);
}

static void
wait(PtxRun *r, int pending)
{
    emu_async_wait(((const Assembly *)r->data)->t, pending);
}

static const char *
bulk(PtxRun *r, const PtxBulk *b)
{
    const Assembly *x = r->data;
    return emu_bulk(x->t, b, &x->at);
}

static void
bulk_commit(PtxRun *r)
{
    ((const Assembly *)r->data)->t->bulk_group++;
}

static void
bulk_wait(PtxRun *r, int pending, bool is_read)
{
    emu_bulk_wait(((const Assembly *)r->data)->t, pending, is_read);
}

static void
look(PtxRun *r, void *bar)
{
    emu_bulk_look(((const Assembly *)r->data)->t, bar);
}

static const char *
arrive_later(PtxRun *r, void *bar)
{
    const Assembly *x = r->data;
    return emu_arrive_later(x->t, bar, &x->at);
}

static void
order(PtxRun *r, const void *at, bool acquires)
{
    EmuThread *t = ((const Assembly *)r->data)->t;
    if (!at)
        emu_order_strong(t);
    else if (acquires)
        emu_acquire(t, at);
    else
        emu_release(t, at);
}

static const PtxTeam team = {.meet = meet,
                             .barrier = barrier,
                             .cluster = cluster,
                             .yield = yield,
                             .place = place,
                             .shared = shared,
                             .copy = copy,
                             .commit = commit,
                             .wait = wait,
                             .bulk = bulk,
                             .bulk_commit = bulk_commit,
                             .bulk_wait = bulk_wait,
                             .look = look,
                             .order = order,
                             .arrive_later = arrive_later};

/* ---- all of it ------------------------------------------------------------------------- */

void
emu_assembly(EmuThread *t, const PtxSite *site, void *const *data)
{
    const EmuRun *run = t->b->grid->run;
    PtxBlock block[PTX_MAX_OPERANDS];
    PtxRun r = {0};
    PtxCache own = {0}, *cache = run->assembly ? run->assembly : &own;
    Assembly x = {
        t, site, {site->file, site->func, site->line, site->col, site->is_elsewhere}};
    char err[PTX_ERROR];
    const PtxAsm *a = ptx_cache_get(cache, site->text, site->sm, err);
    bool ok = a != NULL;
    if (ok) {
        ptx_site_run(site, data, block, &r);
        r.pid = t->b->pid;
        r.grid = run->grid;
        r.n_threads = 32 * run->num_warps;
        r.thread = t->id % r.n_threads;
        r.may = may;
        r.rank = (int)(t->cta - t->b->ctas);
        r.n_ranks = t->b->n_ctas;
        r.team = &team;
        r.data = &x;
        ok = ptx_asm_run(a, &r, err);
        if (ok)
            emu_races_settle(t->b);
    }
    ptx_cache_clear(&own);
    if (r.refused.bytes)
        emu_global(t, r.refused.address, r.refused.bytes, r.refused.bytes,
                   r.refused.is_store, &x.at);
    if (!ok)
        emu_fault(t, EMU_ASSERT, &x.at, "in the assembly: %s", err);
}
