/* assembly: PTX that a kernel's author wrote, on the elements of one emulated thread.
 *
 * csrc/ptx runs it; an access is checked as the compiler's own are. A thread does not let
 * others run meanwhile, unless the text says so: it waits for its warp at a shuffle or a
 * vote, which the last to come does for all, and for its block at bar.sync.
 *
 * Shared variables of a text lie in memory of their own, an area for each place in the code,
 * and begin as the compiler's shared memory does: as ones. Races in it are not looked for.
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

static void
meet(PtxRun *r, PtxThread *me)
{
    Assembly *x = r->data;
    x->t->assembly = me;
    x->t->at = &x->at;
    emu_warp_op(x->t, W_ASSEMBLY, &x->at);
}

void
emu_do_assembly(EmuThread *warp, EmuThread *by)
{
    PtxThread *all[LANES];
    for (int i = 0; i < LANES; i++)
        all[i] = warp[i].assembly;
    if (!ptx_together(all, by->id % LANES))
        emu_fault(by, EMU_BARRIER, by->at,
                  "the lanes of a warp are at different instructions of the assembly");
}

static void
barrier(PtxRun *r)
{
    Assembly *x = r->data;
    emu_barrier(x->t, &x->at);
}

static void
yield(PtxRun *r)
{
    Assembly *x = r->data;
    emu_wait(x->t, T_READY, &x->at);
}

/* Of the block, a multiple of 16 bytes: the first thread to come makes it. */
static int64_t
place(PtxRun *r, uint64_t bytes)
{
    const Assembly *x = r->data;
    EmuCta *cta = x->t->cta;
    uint32_t at = 0;
    for (int i = 0; i < cta->n_areas; i++) {
        if (cta->areas[i].site == x->site)
            return cta->areas[i].at;
        at = cta->areas[i].at + cta->areas[i].bytes;
    }
    if (bytes > ASM_SHARED - at)
        return -1;
    if (!cta->asm_shared && !(cta->asm_shared = malloc(ASM_SHARED)))
        return -1;
    if (cta->n_areas == cta->cap_areas) {
        int cap = 2 * cta->cap_areas + 4;
        AsmArea *grown = realloc(cta->areas, (size_t)cap * sizeof *grown);
        if (!grown)
            return -1;
        cta->areas = grown;
        cta->cap_areas = cap;
    }
    cta->areas[cta->n_areas++] = (AsmArea){x->site, at, (uint32_t)bytes};
    memset(cta->asm_shared + at, 0xff, bytes);
    return at;
}

static void *
shared(PtxRun *r, uint64_t offset, uint32_t n)
{
    const EmuCta *cta = ((const Assembly *)r->data)->t->cta;
    uint32_t end = 0;
    if (cta->n_areas)
        end = cta->areas[cta->n_areas - 1].at + cta->areas[cta->n_areas - 1].bytes;
    return offset < end && n <= end - offset ? cta->asm_shared + offset : NULL;
}

static const PtxTeam team = {meet, barrier, yield, place, shared};

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
        r.team = &team;
        r.data = &x;
        ok = ptx_asm_run(a, &r, err);
    }
    ptx_cache_clear(&own);
    if (r.refused.bytes)
        emu_global(t, r.refused.address, r.refused.bytes, r.refused.bytes,
                   r.refused.is_store, &x.at);
    if (!ok)
        emu_fault(t, EMU_ASSERT, &x.at, "in the assembly: %s", err);
}
