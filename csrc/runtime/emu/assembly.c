/* assembly: PTX that a kernel's author wrote, on the elements of one emulated thread.
 *
 * csrc/ptx runs it; an access is checked as the compiler's own are. The thread does not let
 * others run meanwhile.
 */
#include "runtime/emu/internal.h"

typedef struct Assembly {
    EmuThread *t;
    const PtxSite *site;
} Assembly;

static bool
may(const PtxRun *r, const PtxAccess *a)
{
    const Assembly *x = r->data;
    return a->address % (uint64_t)a->bytes == 0 &&
           emu_is_allowed(x->t, a->address, a->bytes, a->is_store,
                          x->site->is_elsewhere);
}

void
emu_assembly(EmuThread *t, const PtxSite *site, void *const *data)
{
    const EmuRun *run = t->b->grid->run;
    PtxBlock block[PTX_MAX_OPERANDS];
    PtxRun r = {0};
    PtxCache own = {0}, *cache = run->assembly ? run->assembly : &own;
    const EmuPlace at = {site->file, site->func, site->line, site->col,
                         site->is_elsewhere};
    Assembly data_of_may = {t, site};
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
        r.data = &data_of_may;
        ok = ptx_asm_run(a, &r, err);
    }
    ptx_cache_clear(&own);
    if (r.refused.bytes)
        emu_global(t, r.refused.address, r.refused.bytes, r.refused.bytes,
                   r.refused.is_store, &at);
    if (!ok)
        emu_fault(t, EMU_ASSERT, &at, "in the assembly: %s", err);
}
