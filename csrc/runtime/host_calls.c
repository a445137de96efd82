/* host_calls: what compiled CPU code calls; see codegen/host/calls.h. */
#include "codegen/host/calls.h"
#include "ir/ir.h"
#include "runtime/runtime.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static HostRun *
run_of(char *scratch)
{
    HostRun *r;
    memcpy(&r, scratch, sizeof r);
    return r;
}

/* "3, 14" of element `flat`, so that the columns of a listing stand under each other; false
 * where the element is padding. */
static bool
index_text(char *out, size_t size, const int32_t *what, int64_t flat)
{
    int32_t at[MAX_RANK];
    const int32_t *shape = what + PRINT_SHAPE, *sides = shape + what[PRINT_RANK];
    size_t n = 0;
    *out = 0;
    for (int d = what[PRINT_RANK] - 1; d >= 0; d--) {
        at[d] = (int32_t)(flat % shape[d]);
        flat /= shape[d];
    }
    for (int d = 0; d < what[PRINT_RANK] && n < size; d++) {
        int width = snprintf(NULL, 0, "%d", sides[d] - 1);
        if (at[d] >= sides[d])
            return false;
        n += (size_t)snprintf(out + n, size - n, "%s%*d", d ? ", " : "", width, at[d]);
    }
    return true;
}

static EmuReport
report_at(const HostAccess *at, EmuFault fault, const int32_t *pid)
{
    return (EmuReport){.fault = fault,
                       .file = at->file,
                       .func = at->func,
                       .line = at->line,
                       .col = at->col,
                       .pid = {pid[0], pid[1], pid[2]},
                       .thread = -1,
                       .param = -1};
}

void
tegula_assert(char *scratch, const int32_t *pid, const HostAccess *at, const char *text,
              const int32_t *what, int64_t flat)
{
    HostRun *r = run_of(scratch);
    if (__atomic_exchange_n(&r->stop, 1, __ATOMIC_ACQ_REL))
        return; /* another program failed first */
    char index[128];
    const char *element = what[PRINT_RANK] ? ", element " : "";
    index_text(index, sizeof index, what, flat);
    snprintf(r->err, ERR_TEXT,
             "%s:%d: assertion failed: %s in program (%d, %d, %d)%s%s", at->file,
             at->line, text, pid[0], pid[1], pid[2], element, index);
    if (!r->report)
        return;
    *r->report = report_at(at, EMU_ASSERT, pid);
    snprintf(r->report->text, sizeof r->report->text, "%s%s%s", text, element, index);
}

void
tegula_print(char *scratch, const int32_t *pid, const char *text, const int32_t *what,
             int64_t flat, uint64_t bits)
{
    FILE *out = run_of(scratch)->out;
    Elem e = (Elem)what[PRINT_ELEM];
    char index[128];
    if (!index_text(index, sizeof index, what, flat))
        return;
    flockfile(out); /* programs run side by side: a line stays one line */
    fprintf(out, "pid (%d, %d, %d) idx (%s)%s", pid[0], pid[1], pid[2], index, text);
    if (what[PRINT_N_OPERANDS] > 1)
        fprintf(out, "(operand %d) ", what[PRINT_OPERAND]);
    if (!what[PRINT_N_OPERANDS])
        ;
    else if (what[PRINT_HEX])
        fprintf(out, "0x%0*" PRIx64, MAX(elem_info[e].bits / 4, 1), bits);
    else if (elem_is_float(e))
        fprintf(out, "%f", elem_to_double(e, bits));
    else if (elem_is_signed(e))
        fprintf(out, "%" PRId64, elem_to_int(e, bits));
    else
        fprintf(out, "%" PRIu64, bits);
    fputc('\n', out);
    funlockfile(out);
}

#ifdef __FLT16_MANT_DIG__
/* What LLVM calls on an x86 without F16C; halves travel in SSE registers. */
static _Float16
float_to_half(float x)
{
    uint16_t bits = (uint16_t)elem_from_double(E_F16, (double)x);
    _Float16 h;
    memcpy(&h, &bits, sizeof h);
    return h;
}

static float
half_to_float(_Float16 h)
{
    uint16_t bits;
    memcpy(&bits, &h, sizeof bits);
    return (float)elem_to_double(E_F16, bits);
}
#endif

#define SYMBOL(f) {#f, (void *)(uintptr_t)(f)}
/* What LLVM may call for an op it has no instructions for, and our own calls. */
/* The span the address is nearest to; *off is its distance from the start of that. */
static int
nearest(const HostRun *r, uint64_t address, int64_t *off)
{
    int best = -1;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < r->n_spans; i++) {
        const HostSpan *s = &r->spans[i];
        bool below = address < s->start;
        uint64_t d = below ? s->start - address : address - s->start;
        uint64_t gap = below ? d : d - MIN(d, s->bytes);
        if ((s->start || s->bytes) && (best < 0 || gap < least)) {
            least = gap;
            best = i;
            *off = below ? -(int64_t)d : (int64_t)d;
        }
    }
    return best;
}

static bool
is_inside(const HostRun *r, uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < r->n_spans; i++) {
        uint64_t off = address - r->spans[i].start;
        if (off <= r->spans[i].bytes && r->spans[i].bytes - off >= bytes)
            return true;
    }
    return false;
}

/* Is this load one that may be done, and is noted? It must not end the process, so its memory
 * has to be there; loops read one page over and over, which is asked about once. */
static bool
is_noted_load(HostRun *r, const HostAccess *what, const int32_t *pid, uint64_t address)
{
    HostStray *s = r->stray;
    uint64_t bytes = (uint64_t)what->bytes, page = address & ~(page_bytes() - 1);
    if (what->is_write || !s || !s->loads_are_fine)
        return false;
    if (page != __atomic_load_n(&s->page, __ATOMIC_RELAXED) ||
        ((address + bytes - 1) ^ address) >= page_bytes()) {
        if (!page_is_there(address, bytes))
            return false;
        __atomic_store_n(&s->page, page, __ATOMIC_RELAXED);
    }
    if (__atomic_exchange_n(&s->is_noted, 1, __ATOMIC_ACQ_REL))
        return true;
    int64_t off;
    s->note = report_at(what, EMU_BOUNDS, pid);
    s->note.param = nearest(r, address, &off);
    s->noted_at = address;
    s->noted_in = s->note.param < 0 ? 0 : r->spans[s->note.param].bytes;
    return true;
}

int32_t
tegula_bounds(char *scratch, const int32_t *pid, const HostAccess *what, uint64_t first,
              const uint64_t *each, uint64_t mask)
{
    HostRun *r = run_of(scratch);
    uint64_t address = 0;
    int i = 0;
    for (; i < what->lanes; i++) {
        address = each ? each[i] : first + (uint64_t)i * (uint64_t)what->bytes;
        if (!(mask >> i & 1) || is_inside(r, address, (uint64_t)what->bytes))
            continue;
        if (what->is_elsewhere ? !page_is_there(address, (uint64_t)what->bytes)
                               : !is_noted_load(r, what, pid, address))
            break;
    }
    if (i == what->lanes)
        return 0;
    if (__atomic_exchange_n(&r->stop, 1, __ATOMIC_ACQ_REL))
        return 1; /* another program failed first */
    int64_t off = 0;
    EmuReport *e = r->report;
    *e = report_at(what, EMU_BOUNDS, pid);
    e->param = what->is_elsewhere ? -1 : nearest(r, address, &off);
    r->stray->fault_at = address;
    snprintf(e->text, sizeof e->text, what->is_write ? "store" : "load");
    if (what->is_elsewhere)
        snprintf(e->text, sizeof e->text,
                 "%s of %d bytes at %#" PRIx64 ", where no memory is",
                 what->is_write ? "store" : "load", what->bytes, address);
    return 1;
}

int32_t
tegula_poll(HostRun *run, Pace *pace)
{
    return host_look(run, pace) ? pace->left : 0;
}

/* ---- assembly ---------------------------------------------------------------------- */

typedef struct Launched {
    HostRun *run;
    const PtxSite *site;
    const int32_t *pid;
} Launched;

static bool
may(const PtxRun *r, const PtxAccess *a)
{
    const Launched *x = r->data;
    return is_inside(x->run, a->address, (uint64_t)a->bytes) ||
           (x->site->is_elsewhere && page_is_there(a->address, (uint64_t)a->bytes)) ||
           is_noted_load(x->run,
                         &(HostAccess){.file = x->site->file,
                                       .func = x->site->func,
                                       .line = x->site->line,
                                       .col = x->site->col,
                                       .bytes = a->bytes,
                                       .is_write = a->is_store},
                         x->pid, a->address);
}

int32_t
tegula_assembly(char *scratch, const int32_t *pid, const int32_t *grid,
                const PtxSite *site, void *const *data)
{
    HostRun *run = run_of(scratch);
    PtxBlock block[PTX_MAX_OPERANDS];
    PtxRun r = {0};
    Launched data_of_may = {run, site, pid};
    PtxCache own = {0}, *cache = run->assembly ? run->assembly : &own;
    char err[PTX_ERROR];
    const PtxAsm *a = ptx_cache_get(cache, site->text, site->sm, err);
    bool ok = a != NULL;
    if (ok) {
        ptx_site_run(site, data, block, &r);
        r.pid = pid;
        r.grid = grid;
        r.may = site->is_checked ? may : NULL;
        r.data = &data_of_may;
        ok = ptx_asm_run(a, &r, err);
    }
    ptx_cache_clear(&own);
    if (ok)
        return 0;
    if (r.refused.bytes) {
        HostAccess access = {.file = site->file,
                             .func = site->func,
                             .line = site->line,
                             .col = site->col,
                             .bytes = r.refused.bytes,
                             .lanes = 1,
                             .is_write = r.refused.is_store,
                             .is_elsewhere = site->is_elsewhere};
        return tegula_bounds(scratch, pid, &access, r.refused.address, NULL, 1);
    }
    if (!__atomic_exchange_n(&run->stop, 1, __ATOMIC_ACQ_REL))
        snprintf(run->err, ERR_TEXT, "%.300s:%d: in the assembly: %.600s", site->file,
                 site->line, err);
    return 1;
}

const HostSymbol host_symbols[] = {
    SYMBOL(tegula_print),
    SYMBOL(tegula_assert),
    SYMBOL(tegula_bounds),
    SYMBOL(tegula_poll),
    SYMBOL(tegula_assembly),
#ifdef __FLT16_MANT_DIG__
    {"__truncsfhf2", (void *)(uintptr_t)float_to_half},
    {"__extendhfsf2", (void *)(uintptr_t)half_to_float},
#endif
    SYMBOL(memcpy),
    SYMBOL(memmove),
    SYMBOL(memset),
    SYMBOL(fmod),
    SYMBOL(fmodf),
    SYMBOL(fma),
    SYMBOL(fmaf),
#define OP(...)
#define MATH(name, fn, ...) SYMBOL(fn), SYMBOL(fn##f),
#include "ir/ops.def"
#undef OP
    SYMBOL(erf),
    SYMBOL(erff),
    SYMBOL(fmin),
    SYMBOL(fminf),
    SYMBOL(fmax),
    SYMBOL(fmaxf),
};
const int n_host_symbols = COUNT(host_symbols);
