/* tirc_run: kernels at work: interpreted, or compiled and launched, or one against the
 * other.
 */
#include "interp/interp.h"
#include "runtime/emu/emu.h"
#include "tools/tirc.h"

#include <inttypes.h>

/* The buffer whose elements or red zones hold the address; -1: none. */
static int
buffer_at(const Tirc *t, uint64_t address)
{
    for (int i = 0; i < t->n_args; i++) {
        const Buffer *b = &t->buffer[i];
        uint64_t start = (uintptr_t)b->at - RED_ZONE;
        if (b->at && address - start < (uint64_t)tirc_buffer_bytes(b) + 2 * RED_ZONE)
            return i;
    }
    return -1;
}

static bool
check_access(void *data, uint64_t address, int bytes, bool is_write, const Op *o)
{
    const Tirc *t = data;
    int i = buffer_at(t, address);
    const char *what = is_write ? "write" : "read";
    if (i < 0)
        err_say(t->c, o->loc, VALUE, "%s far from every buffer", what);
    const Buffer *b = &t->buffer[i];
    int64_t at = (int64_t)(address - (uintptr_t)b->at);
    if (at < 0 || at + bytes > tirc_buffer_bytes(b))
        err_say(t->c, o->loc, VALUE,
                "%s at byte %" PRId64 " of ARG %d, which has %" PRId64, what, at, i,
                tirc_buffer_bytes(b));
    return true;
}

static void
interpret(Comp *c, Tirc *t, const Func *f)
{
    tirc_read_args(c, t, f);
    InterpRun run = {.args = t->arg, .access = check_access, .data = t, .out = stdout};
    memcpy(run.grid, t->grid, sizeof run.grid);
    ir_interpret(f, &run);
}

void
tirc_interp(Comp *c, Tirc *t, const Func *f)
{
    interpret(c, t, f);
    tirc_print_buffers(c, t);
}

/* ---- code, on its machine -------------------------------------------------------- */

Binary *
tirc_generate(Func *f)
{
    Binary *out = NEW(f->c->arena, Binary);
    arena_defer(f->c->arena, binary_drop, out);
    if (f->c->opt.target.kind == TARGET_CPU && !has_nests(f))
        pass_group(f);
    if (f->c->opt.target.kind == TARGET_CPU)
        cg_host(f, out);
    else
        cg_simt(f, out);
    cg_maps(f, out);
    return out;
}

static void
drop_emulated(void *code)
{
    emu_unload(code);
}

static void
run_emulated(Comp *c, Tirc *t, const Binary *b)
{
    char err[EMU_ERROR];
    EmuRegion *regions = NEW_N(c->arena, EmuRegion, MAX(t->n_args, 1));
    EmuCode *code = emu_load(binary_stage(b, "ptx")->data, b->symbol, err);
    if (!code)
        err_say(c, NULL, VALUE, "%s", err);
    arena_defer(c->arena, drop_emulated, code);
    EmuRun run = {.code = code,
                  .params = t->arg,
                  .num_warps = b->block_warps,
                  .num_ctas = b->num_ctas,
                  .shared_bytes = b->shared,
                  .regions = regions,
                  .seed = t->order,
                  .out = stdout};
    memcpy(run.grid, t->grid, sizeof run.grid);
    for (int i = 0; i < t->n_args; i++)
        if (t->buffer[i].at)
            regions[run.n_regions++] = (EmuRegion){
                .start = (uintptr_t)t->buffer[i].at,
                .bytes = (uint64_t)tirc_buffer_bytes(&t->buffer[i]),
                .param = i,
            };
    EmuReport r = {0};
    if (emu_run(&run, &r))
        return;
    const Loc *l = NULL;
    if (r.file)
        l = loc_new(c, str_intern(c, r.file), str_intern(c, r.func ? r.func : ""),
                    r.line, r.col, r.line, r.col, NULL);
    err_say(c, l, VALUE, "%s", r.text);
}

static void
run_cuda(Comp *c, Tirc *t, const Binary *b)
{
    char err[ERR_TEXT] = "";
    if (!t->gpu && !(t->gpu = gpu_open(err)))
        err_say(c, NULL, VALUE, "%s", err);
    GpuBuffer buffers[MAX_ARGS];
    uint64_t params[MAX_ARGS];
    int n = 0;
    memcpy(params, t->arg, sizeof params);
    for (int i = 0; i < t->n_args; i++) {
        if (!t->buffer[i].at)
            continue;
        /* With the red zones, and from a place as well aligned as the device's memory. */
        size_t behind = RED_ZONE + (uintptr_t)t->buffer[i].at % 64;
        buffers[n++] = (GpuBuffer){
            .start = t->buffer[i].at - behind,
            .bytes = behind + (size_t)tirc_buffer_bytes(&t->buffer[i]) + RED_ZONE,
            .param = i,
            .offset = behind,
        };
    }
    CudaStart start = {.block_warps = b->block_warps, .num_ctas = b->num_ctas};
    memcpy(start.grid, t->grid, sizeof start.grid);
    if (!gpu_run(t->gpu, b, &start, params, t->n_args, buffers, n, err))
        err_say(c, NULL, VALUE, "%s", err);
}

static void
run_host(Comp *c, Tirc *t, const Binary *b)
{
    char err[ERR_TEXT] = "";
    HostLaunch launch = {.kernel = t->kernel,
                         .params = t->arg,
                         .grid = t->grid,
                         .scratch_bytes = b->scratch,
                         .stack_bytes = b->stack};
    if (!pool_run(&launch, err))
        err_say(c, NULL, VALUE, "%s", err);
}

/* Code has no check of its own: bytes beside the buffers that are not 0 any more. */
static void
check_red_zones(Comp *c, const Tirc *t)
{
    for (int i = 0; i < t->n_args; i++) {
        const Buffer *b = &t->buffer[i];
        for (int64_t k = 0; b->at && k < RED_ZONE; k++)
            if (b->at[k - RED_ZONE] || b->at[tirc_buffer_bytes(b) + k])
                err_say(c, NULL, VALUE, "a write beside ARG %d", i);
    }
}

static void
drop_code(void *j)
{
    jit_unload(j);
}

/* The object code of hosts as a function; there is none where there is PTX. */
static void
load_code(Comp *c, Tirc *t, const Binary *b)
{
    if (c->opt.target.kind != TARGET_CPU)
        return;
    const Stage *obj = binary_stage(b, "obj");
    void *fn;
    char err[ERR_TEXT] = "";
    JitCode *j = jit_load(obj->data, obj->size, b->symbol, &fn, err);
    if (!j)
        err_say(c, NULL, VALUE, "%s", err);
    arena_defer(c->arena, drop_code, j);
    memcpy(&t->kernel, &fn, sizeof fn);
}

/* Compiles f and runs the grid; prints times when asked. */
void
tirc_run(Comp *c, Tirc *t, Func *f, bool is_timed)
{
    static void (*const machine[])(Comp *, Tirc *, const Binary *) = {
        [TARGET_CPU] = run_host,
        [TARGET_CUDA] = run_cuda,
        [TARGET_EMU] = run_emulated,
    };
    double start = clock_ms();
    const Binary *out = tirc_generate(f);
    double compiled = clock_ms();
    load_code(c, t, out);
    double loaded = clock_ms();
    machine[c->opt.target.kind](c, t, out);
    double ran = clock_ms() - loaded;
    for (int i = 0; is_timed && i < 20; i++) {
        double again = clock_ms();
        machine[c->opt.target.kind](c, t, out);
        ran = MIN(ran, clock_ms() - again);
    }
    check_red_zones(c, t);
    if (is_timed)
        printf("// codegen %.2f ms, load %.3f ms, run %.3f ms, scratch %d bytes, "
               "shared %d bytes\n",
               compiled - start, loaded - compiled, ran, out->scratch, out->shared);
}

/* Bit for bit; floats may differ by what another order of a sum and another exp cost. */
static bool
same_elem(const Tirc *t, Elem e, uint64_t x, uint64_t y)
{
    if (x == y)
        return true;
    if (!elem_is_float(e))
        return false;
    double a = elem_to_double(e, x), b = elem_to_double(e, y);
    if (a != a || b != b)
        return a != a && b != b;
    double d = a > b ? a - b : b - a;
    double big = MAX(a > 0 ? a : -a, b > 0 ? b : -b);
    return a == b ||
           d <= t->tolerance * (elem_info[e].bits < 32 ? 1e3 : 1) * MAX(big, 1);
}

void
tirc_check(Comp *c, Tirc *t, Func *f)
{
    interpret(c, t, f);
    Tirc expected = *t;
    tirc_read_args(c, t, f);
    tirc_run(c, t, f, false);
    for (int i = 0; i < t->n_args; i++) {
        const Buffer *b = &t->buffer[i];
        for (int64_t k = 0; b->at && k < b->n; k++) {
            uint64_t x = tirc_get_elem(&expected.buffer[i], k), y = tirc_get_elem(b, k);
            if (!same_elem(t, b->elem->elem, x, y))
                err_say(c, NULL, VALUE,
                        "ARG %d, element %" PRId64 ": interpreter %s, code %s", i, k,
                        elem_str(c->arena, b->elem, x), elem_str(c->arena, b->elem, y));
        }
    }
}
