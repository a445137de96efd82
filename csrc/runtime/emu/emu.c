/* emu: a launch of PTX on the CPU: parameters, regions, and what a fault is called. */
#include "runtime/emu/emu.h"

#include <stdlib.h>

#include "base/poll.h"
#include "ptx/engine.h"

struct EmuCode {
    Module *module;
    const Func *kernel;
    EngineRegion *globals; /* variables and constants of the code */
    int n_globals;
};

typedef struct Emu {
    const EmuRun *run;
    Pace pace;
    uint64_t last_page; /* that was found to be there, of no tensor */
} Emu;

/* ---- code ------------------------------------------------------------------------------ */

void
emu_unload(EmuCode *c)
{
    if (!c)
        return;
    module_free(c->module);
    free(c->globals);
    free(c);
}

EmuCode *
emu_load(const char *ptx, const char *symbol, char err[EMU_ERROR])
{
    char why[PTX_TEXT] = "out of memory";
    EmuCode *c = calloc(1, sizeof *c);
    if (c)
        c->module = module_parse(ptx, why);
    if (c && c->module) {
        int n = c->module->n_globals;
        c->kernel = module_kernel(c->module, symbol);
        c->globals = calloc((size_t)MAX(n, 1), sizeof *c->globals);
        for (int i = 0; c->globals && i < n; i++)
            c->globals[i] = (EngineRegion){.start = c->module->globals[i]->offset,
                                           .bytes = c->module->globals[i]->size};
        c->n_globals = n;
        if (c->kernel && c->globals)
            return c;
        snprintf(why, sizeof why, "%s", c->kernel ? "out of memory" : "no such kernel");
    }
    snprintf(err, EMU_ERROR, "cannot emulate the compiled kernel: %.900s", why);
    emu_unload(c);
    return NULL;
}

/* ---- hooks ----------------------------------------------------------------------------- */

/* A pointer that was loaded, or is a number, leads to memory that nobody told us of: it is only
 * asked whether there is any. What was found once may have gone since, as on a GPU. */
static bool
is_memory(const Launch *l, const Ins *i, const void *p, size_t n)
{
    Emu *e = l->data;
    uint64_t at = (uintptr_t)p, page = at & -page_bytes();
    if (e->run->n_regions && !(i->col & PTX_ELSEWHERE))
        return false;
    if (page && page == e->last_page && at + n <= page + page_bytes())
        return true;
    if (!page_is_there(at, n))
        return false;
    e->last_page = page;
    return true;
}

static bool
turn(const Launch *l)
{
    Emu *e = l->data;
    return --e->pace.left >= 0 || poll_signals(e->run->poller, &e->pace);
}

static void
print(const Launch *l, const char *text)
{
    const Emu *e = l->data;
    fputs(text, e->run->out ? e->run->out : stdout);
}

/* ---- reports --------------------------------------------------------------------------- */

static const EmuFault fault_of[] = {
    [FAULT_INVALID] = EMU_ASSERT,        [FAULT_ADDRESS] = EMU_BOUNDS,
    [FAULT_MISALIGNED] = EMU_MISALIGNED, [FAULT_READ_ONLY] = EMU_READ_ONLY,
    [FAULT_UNWRITTEN] = EMU_UNWRITTEN,   [FAULT_RACE] = EMU_RACE,
    [FAULT_TRAP] = EMU_ASSERT,           [FAULT_BARRIER] = EMU_BARRIER,
    [FAULT_TIMEOUT] = EMU_BARRIER,       [FAULT_ASSERT] = EMU_ASSERT,
    [FAULT_MEMORY] = EMU_NO_MEMORY,
};

static void
program_of(const EmuRun *r, uint64_t index, int32_t pid[3])
{
    pid[0] = (int32_t)(index % (uint64_t)r->grid[0]);
    pid[1] = (int32_t)(index / (uint64_t)r->grid[0] % (uint64_t)r->grid[1]);
    pid[2] = (int32_t)(index / (uint64_t)r->grid[0] / (uint64_t)r->grid[1]);
}

/* The region that an address is nearest to; -1: there are none. */
static int
nearest(const EmuRun *r, uint64_t address)
{
    int best = -1;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < r->n_regions; i++) {
        const EmuRegion *g = &r->regions[i];
        uint64_t end = g->start + g->bytes, gap = address < g->start
                                                      ? g->start - address
                                                  : address >= end ? address - end + 1
                                                                   : 0;
        if (gap < least)
            least = gap, best = i;
    }
    return best;
}

/* ", which program (0, 0, 0) has written in line 7, and nothing orders these" */
static void
tail_of(const EmuRun *r, const EngineReport *from, EmuReport *to)
{
    int32_t pid[3];
    uint32_t mine =
        (uint32_t)((to->pid[2] * r->grid[1] + to->pid[1]) * r->grid[0] + to->pid[0]);
    char who[64];
    program_of(r, from->other_program - 1, pid);
    snprintf(who, sizeof who, "program (%d, %d, %d)", pid[0], pid[1], pid[2]);
    snprintf(to->tail, sizeof to->tail,
             ", which %s has %s in line %d, and nothing orders these",
             from->other_program - 1 == mine ? "another thread of its program" : who,
             from->other_is_store ? "written" : "read", from->other->src);
}

/* The text of an access that went wrong, for who knows no names: tensors are arguments. */
static void
access_text(const EmuRun *r, const EngineReport *from, EmuReport *to)
{
    const char *what = from->is_store ? "store" : "load";
    int k = nearest(r, from->address);
    bool is_elsewhere = from->ins->col & PTX_ELSEWHERE && to->fault == EMU_BOUNDS;
    to->address = from->address;
    to->param = k < 0 || is_elsewhere ? -1 : r->regions[k].param;
    snprintf(to->did, sizeof to->did, "%s: %s",
             to->fault == EMU_RACE ? "race" : "out of bounds", what);
    if (to->fault == EMU_RACE)
        tail_of(r, from, to);
    if (to->fault == EMU_READ_ONLY)
        snprintf(to->text, sizeof to->text, "store to argument %d, which is read-only",
                 to->param);
    else if (to->param < 0)
        snprintf(to->text, sizeof to->text,
                 "%s of %u bytes at %#llx, where no memory is%s", to->did, from->bytes,
                 (unsigned long long)from->address,
                 is_elsewhere ? ": the pointer is of no argument" : "");
    else
        snprintf(to->text, sizeof to->text,
                 "%s of %u bytes at byte %lld of argument %d, which has %llu%s",
                 to->did, from->bytes, (long long)(from->address - r->regions[k].start),
                 to->param, (unsigned long long)r->regions[k].bytes, to->tail);
}

static void
report_of(const EmuRun *r, const Launch *l, EmuReport *to)
{
    const EngineReport *from = &l->report;
    const Ins *i = from->ins;
    int ctas = MAX(r->num_ctas, 1);
    to->fault = fault_of[from->fault];
    snprintf(to->text, sizeof to->text, "%.400s", from->text);
    to->pid[0] = from->block[0] / ctas;
    to->pid[1] = from->block[1];
    to->pid[2] = from->block[2];
    to->thread = (from->block[0] % ctas * r->num_warps + from->warp) * LANES +
                 from->lane;
    to->param = -1;
    if (!i)
        return;
    if (i->file > 0 && i->file < (int)COUNT(l->f->mod->files))
        to->file = l->f->mod->files[i->file];
    to->line = i->src;
    to->col = MAX((i->col & ~PTX_ELSEWHERE) - 1, 0);
    if (from->fault == FAULT_ASSERT) {
        to->file = from->file;
        to->func = from->function;
        to->line = from->line;
    }
    if (from->bytes)
        access_text(r, from, to);
    if (i->author_line) {
        size_t n = strlen(to->text);
        snprintf(to->text + n, sizeof to->text - n, "; %s in line %d of the assembly%s",
                 i->words, i->author_line, i->is_library ? " of a library" : "");
    }
}

/* ---- launches -------------------------------------------------------------------------- */

/* Regions that overlap have one account of who touched them. */
static bool
open_cells(const EmuRun *r, EngineRegion *g)
{
    for (int i = 0; i < r->n_regions; i++) {
        uint64_t start = g[i].start, end = start + g[i].bytes;
        if (g[i].cells || !g[i].bytes)
            continue;
        for (bool grows = true; grows;) {
            grows = false;
            for (int k = 0; k < r->n_regions; k++) {
                uint64_t low = g[k].start, high = low + g[k].bytes;
                if (low >= end || high <= start || (low >= start && high <= end))
                    continue;
                start = MIN(start, low), end = MAX(end, high);
                grows = true;
            }
        }
        struct GlobalCells *cells = global_cells_new(start, end - start);
        if (!cells)
            return false;
        for (int k = 0; k < r->n_regions; k++)
            if (g[k].start >= start && g[k].start + g[k].bytes <= end)
                g[k].cells = cells;
    }
    return true;
}

static void
close_cells(EngineRegion *g, int n)
{
    for (int i = 0; i < n; i++) {
        struct GlobalCells *cells = g[i].cells;
        global_cells_free(cells);
        for (int k = i; k < n; k++)
            if (g[k].cells == cells)
                g[k].cells = NULL;
    }
}

static void
run(const EmuRun *r, uint8_t *params, EngineRegion *g, EmuReport *report)
{
    static const EngineHooks hooks = {.has = is_memory, .turn = turn, .print = print};
    const Func *f = r->code->kernel;
    Emu e = {.run = r};
    int ctas = MAX(r->num_ctas, 1);
    Launch l = {.f = f,
                .grid = {r->grid[0] * ctas, r->grid[1], r->grid[2]},
                .block = {LANES * r->num_warps, 1, 1},
                .cluster = {ctas, 1, 1},
                .shared = (uint32_t)r->shared_bytes,
                .params = params,
                .hooks = &hooks,
                .data = &e,
                .regions = g,
                .n_regions = r->n_regions + r->code->n_globals,
                .seed = r->seed,
                .is_checked = true,
                .is_endless = true};
    for (int i = 0; i < f->n_params; i++)
        memcpy(params + f->params[i].offset, &r->params[i], MIN(f->params[i].size, 8));
    for (int i = 0; i < r->n_regions; i++)
        g[i] = (EngineRegion){.start = r->regions[i].start,
                              .bytes = r->regions[i].bytes,
                              .is_read_only = r->regions[i].read_only};
    memcpy(g + r->n_regions, r->code->globals, (size_t)r->code->n_globals * sizeof *g);
    if (!open_cells(r, g)) {
        report->fault = EMU_NO_MEMORY;
    } else if (!engine_run(&l) && l.report.fault != FAULT_STOPPED) {
        report_of(r, &l, report);
    }
    close_cells(g, r->n_regions);
    fflush(r->out ? r->out : stdout);
}

bool
emu_run(const EmuRun *r, EmuReport *report)
{
    *report = (EmuReport){.param = -1};
    if (!r->grid[0] || !r->grid[1] || !r->grid[2])
        return true;
    uint8_t *params = calloc(1, r->code->kernel->param_bytes + 8u);
    EngineRegion *g = calloc((size_t)(r->n_regions + r->code->n_globals + 1),
                             sizeof *g);
    if (params && g)
        run(r, params, g, report);
    else
        report->fault = EMU_NO_MEMORY;
    free(params);
    free(g);
    return report->fault == EMU_OK;
}
