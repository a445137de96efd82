/* assembly: PTX that a kernel's author wrote, on the elements of one emulated thread.
 *
 * csrc/ptx runs it; an access is checked as the compiler's own are. The thread does not let
 * others run meanwhile.
 */
#include "runtime/emu/internal.h"

typedef struct Refused { /* the access that was not allowed */
    EmuThread *t;
    uint64_t address;
    int bytes;
    bool is_write;
} Refused;

static bool
may(PtxRun *r, uint64_t address, int n, bool is_store)
{
    Refused *x = r->data;
    if (address % (uint64_t)n == 0 && emu_is_allowed(x->t, address, n, is_store))
        return true;
    x->address = address, x->bytes = n, x->is_write = is_store;
    return false;
}

void
emu_assembly(EmuThread *t, const PtxSite *site, void *const *data)
{
    const EmuRun *run = t->b->grid->run;
    PtxBlock in[PTX_MAX_OPERANDS];
    PtxRun r;
    Refused refused = {.t = t};
    PtxCache own = {0}, *cache = run->assembly ? run->assembly : &own;
    const EmuPlace at = {site->file, site->func, site->line, site->col};
    char err[PTX_ERROR];
    const PtxAsm *a = ptx_cache_get(cache, site->text, site->sm, err);
    bool ok = a != NULL;
    if (ok) {
        ptx_site_run(site, data, in, &r);
        r.pid = t->b->pid;
        r.grid = run->grid;
        r.n_threads = 32 * run->num_warps;
        r.thread = t->id % r.n_threads;
        r.may = may;
        r.data = &refused;
        ok = ptx_asm_run(a, &r, err);
    }
    ptx_cache_clear(&own);
    if (!ok && refused.bytes)
        emu_global(t, refused.address, refused.bytes, refused.bytes, refused.is_write,
                   &at);
    if (!ok)
        emu_fault(t, EMU_ASSERT, &at, "in the assembly: %s", err);
}
