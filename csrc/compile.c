/* compile: the one screen that is the compiler.
 *
 *     A   with the GIL       fe_kernel       AST -> tile IR               frontend/
 *     B   without it         order_tile      fold, cse, licm, ..          passes/
 *         CPU                order_host      what loops carry and keep    passes/
 *                            cg_host         tile loops -> object code    codegen/host/
 *         CUDA, emulator     order_simt      layouts                      passes/
 *                            cg_simt         PTX                          codegen/simt/
 *         CUDA               compile_ptx     PTX -> cubin                 assemble.c
 *     C   with the GIL       the caller keeps the Binary, or raises the error
 *
 * Between A and B the caller may find the variant on disk, by what A made: runtime/cache.c.
 *
 * A and B are comp_runs of their own, so that no jump crosses the change of the GIL. The caller
 * says how B is run: on a thread of its own, which it may leave (runtime/aside.h).
 */
#include <Python.h>

#include "codegen/codegen.h"
#include "compile.h"
#include "frontend/frontend.h"
#include "passes/passes.h"

#include <stdlib.h>

typedef struct Job {
    const FeEnv *env;
    FeFunction *f;
    const ArgSpec *args;
    const char *text; /* of compile_text */
    bool with_places;
    Lowered *lowered;  /* out of A, into B */
    Binary *out;       /* of B */
    struct Job *aside; /* B's own, in the Comp's arena */
} Job;

/* ---- B ------------------------------------------------------------------------------ */

static void
run_passes(Func *f, const char *const *order)
{
    if (!passes_run(f, order))
        err_say(f->c, f->loc, VALUE,
                "compiled up to '%s', where TEGULA_STOP asks to stop", f->c->dump.stop);
}

/* What a launch must know of the function: filled when the last question has been asked. */
static void
describe(const Func *f, Binary *out)
{
    Comp *c = f->c;
    out->target = c->opt.target;
    out->num_warps = f->team_warps; /* launchers of others go by it */
    out->num_stages = c->opt.num_stages;
    out->num_ctas = ir_num_ctas(f);
    out->facts = binary_copy(c, f->facts, (size_t)f->n_facts * sizeof *f->facts);
    out->n_facts = f->n_facts;
    int n = f->body->n_args;
    ParamAbi *params = NEW_N(c->arena, ParamAbi, n);
    bool *written = NEW_N(c->arena, bool, n);
    bool *read = NEW_N(c->arena, bool, n);
    written_params(f, written, read);
    for (int i = 0; i < n; i++) {
        const Type *t = f->body->args[i]->type;
        params[i] = (ParamAbi){.elem = t->elem,
                               .is_ptr = t->is_ptr,
                               .is_written = written[i],
                               .is_read = read[i],
                               .slot = (int16_t)f->slot[i]};
    }
    cg_maps(f, out);
    out->asked = (int)c->hopper.asked;
    out->grid = (int)(c->hopper.grid & c->hopper.asked);
    out->params = binary_copy(c, params, (size_t)n * sizeof *params);
    out->n_params = n;
}

static void
keep_stage(Comp *c, Binary *out, const char *stage, const char *data, size_t n)
{
    if (!binary_add(out, stage, data, n))
        err_at(c, NULL, MEMORY);
}

/* TEGULA_INTERPRET: the frontend's IR itself is what runs, places in the source included. */
static void
interpretable(Func *f, Binary *out)
{
    f = override_func(f, "tir");
    if (f->c->n_overrides && !comp_override(f->c, "tir"))
        err_at(f->c, NULL, TARGET, "ir_override with another file than tile IR",
               "the interpreter");
    ir_verify(f, "frontend");
    const char *tir = ir_print(f, false), *located = ir_print(f, true);
    keep_stage(f->c, out, "tir", tir, strlen(tir));
    keep_stage(f->c, out, "interp", located, strlen(located));
    out->symbol = binary_copy(f->c, f->name, strlen(f->name) + 1);
    cg_externs(f, out);
    describe(f, out);
}

/* The texts of codegen, where TEGULA_DUMP or TEGULA_DUMP_DIR ask for them: "emit". */
static void
dump_emitted(Comp *c, const Binary *out)
{
    static const char *const ext[][2] = {{"llir", "ll"}, {"ptx", "ptx"}, {"asm", "s"}};
    for (size_t i = 0; i < COUNT(ext); i++) {
        const Stage *s = binary_stage(out, ext[i][0]);
        if (s && (c->dump.dir || c->dump.passes))
            dump_stage(c, "emit", ext[i][1], s->data, s->size);
    }
}

static bool
is_loop(const Op *o)
{
    return o->op == OP_FOR || o->op == OP_WHILE;
}

/* passes/simt/occupancy.c counts words, and ptxas what else it wants: predicates of eight masks, addresses.
 * Without a number it finds registers of which none is spilled: Welford's means of rows of 4099 bf16 by 1024
 * and four warps run at 551 GB/s with 40 registers of which it spills, and at 1178 with its own 54.
 *
 * Of a few words that it spills, a block less has room: 4-bit weights by 128x16 and 4 warps take 61 us as 5 blocks, and
 * 65 as 6 that spill 16 bytes. By itself ptxas may spill many where registers are left: one_hot by 32x512 and 4 warps takes
 * 47 us with 140, and 67 with 80 and 232 bytes spilled; dropout by 4096 and 8 warps, on the other hand, 191 us with 80 and
 * 24 bytes spilled, and 201 with 111.
 *
 * It may have taken some too many for one block more: a norm with dropout of 4096 bf16 by
 * 8 warps runs at 2600 GB/s with 70 registers and at 2777 with 64, a scan of 16 rows of 256 by 8 warps at 1606 with
 * 134, alone on a multiprocessor, and at 2029 with 128 and 8 bytes spilled (H100). A block that is alone loads nothing
 * while its warps wait for each other, so it gives a fifth for a second one, and spills 8 words. The first step of
 * LAMB by 4096 and 4 warps takes 223 us with 177 registers and 190 with 168. Where occupancy chose for a loop, another
 * block's rows may push these out of L2 before the next loop reads them: RMS norm of 32768 by blocks of 8192 and 8 warps
 * takes 238 us as 3 blocks, and 263 as 4.
 *
 * Of products it does not know how many blocks shared memory has room for: attention in f16 by 64x64 and four warps got
 * 128 registers on sm_86, of four blocks, and spilled 16 bytes, where two have room, of 194. On sm_100a four have room,
 * and it spilled 8 bytes; of three, with 146, none. sm_90 has levels to choose from instead (try_levels). Where
 * nothing spills there, and nothing does with a fifth fewer registers, these are a block more's: latent attention of 16 heads
 * by 32 keys and 8 warps took 164 us on an H100 with 146 registers, alone, and 130 with 128. */
static void
deal_again(Func *f, Binary *out)
{
    enum { FEW_SPILLED = 16, SPILLED_ALONE = 64, FEW_BLOCKS = 3, MANY_THREADS = 1024 };
    enum { ALONE = 5, BESIDE = 8 }; /* parts of registers that are too many */
    enum { MOST_REGS = 255 };
    Comp *c = f->c;
    int warps = block_warps(f), regs = out->n_regs, spilled = out->n_spills, n = 0;
    if (regs <= 0 || out->n_lowered || c->opt.maxnreg)
        return;
    int fit = hopper_blocks_of(f, warps, regs, ir_shared_bytes(f));
    if (acc_words(f->body) && c->opt.target.sm == 90) {
        n = fit + 1;
        if (spilled > 0 || f->min_blocks > 1 || c->hopper.has_roles || n > FEW_BLOCKS ||
            n > hopper_blocks_of(f, warps, regs - regs / ALONE, ir_shared_bytes(f)))
            return;
        spilled = 0;
    } else if (acc_words(f->body)) {
        n = chip_blocks_by_registers(32 * warps, regs) > fit ? fit : fit - 1;
        if (f->min_blocks || spilled <= 0 || !n)
            return;
        spilled = 0;
    } else if (regs < MOST_REGS &&
               (f->min_blocks ? spilled > 0 && spilled <= FEW_SPILLED
                              : spilled / 4 > regs / BESIDE)) {
        n = hopper_blocks_of(f, warps, regs + spilled / 4, ir_shared_bytes(f));
        spilled = 0;
    } else if (!f->min_blocks || (!spilled && !ir_holds(f->body, is_loop))) {
        int fewer = regs - regs / (fit == 1 ? ALONE : BESIDE);
        n = hopper_blocks_of(f, warps, fewer, ir_shared_bytes(f));
        if (n == fit || fit > FEW_BLOCKS || fit * 32 * warps > MANY_THREADS)
            return;
        n = fit + 1;
        spilled = fit == 1 && !f->min_blocks ? SPILLED_ALONE : spilled;
    } else if (spilled-- <= FEW_SPILLED) {
        return;
    }
    if (!compile_for_blocks(c, out, n, spilled))
        return;
    ir_report(f, f->loc, "occupancy",
              n ? str_printf(c->arena,
                             "ptxas took %d registers, %s for %d blocks on a "
                             "multiprocessor: they are dealt for these",
                             regs, n > fit ? "a few too many" : "and spilled,", n)
                : str_printf(c->arena,
                             "but so ptxas spills %d bytes: it deals registers as it "
                             "likes, and spills %d",
                             spilled + 1, out->n_spills));
    if (!binary_put(out, "report", f->report.at, (size_t)f->report.n))
        err_at(c, NULL, MEMORY);
    if (!n && !acc_words(f->body)) {
        f->min_blocks = 0;
        deal_again(f, out);
    }
}

/* What spills is computed element by element, if less spills then. */
static void
order_again(Func *f, Binary *out)
{
    enum { FEW_SPILLED = 16 };
    int spilled = out->n_spills;
    if (!f->c->piecewise || spilled <= FEW_SPILLED ||
        !assemble_other(f->c, out, f->c->piecewise, spilled - spilled / 8))
        return;
    ir_report(
        f, f->loc, "order",
        str_printf(f->c->arena,
                   "ptxas spilled %d bytes, and spills %d with one element computed "
                   "after the other",
                   spilled, out->n_spills));
    if (!binary_put(out, "report", f->report.at, (size_t)f->report.n))
        err_at(f->c, NULL, MEMORY);
}

/* B of one function, from the tile IR to machine code. False: ptxas does one wgmma after the
 * other. */
static bool
back_end(Func *f, Binary *out)
{
    Comp *c = f->c;
    double start = clock_ms();
    run_passes(f, order_tile);
    if (c->opt.target.kind == TARGET_CPU)
        run_passes(f, order_host);
    out->ms[TIME_PASSES] = clock_ms() - start;
    f = override_func(f, "tir");
    if (c->opt.target.kind == TARGET_CPU && !has_nests(f))
        pass_group(f); /* of what was overridden */
    const char *tir = ir_print(f, false);
    keep_stage(c, out, "tir", tir, strlen(tir));
    if (c->opt.target.kind != TARGET_CPU) {
        start = clock_ms();
        run_passes(f, order_simt);
        f = override_func(f, "simt");
        out->ms[TIME_PASSES] += clock_ms() - start;
        const char *simt = ir_print(f, false);
        keep_stage(c, out, "simt", simt, strlen(simt));
    }
    start = clock_ms();
    if (c->opt.target.kind == TARGET_CPU)
        cg_host(f, out);
    else
        cg_simt(f, out);
    if (f->report.n)
        keep_stage(c, out, "report", f->report.at, (size_t)f->report.n);
    out->ms[TIME_CODEGEN] = clock_ms() - start - out->ms[TIME_LLVM];
    describe(f, out);
    if (c->opt.target.kind != TARGET_CPU)
        override_ptx(c, out);
    dump_emitted(c, out);
    if (c->opt.target.kind != TARGET_CUDA)
        return true;
    start = clock_ms();
    bool is_parallel = compile_ptx(f, out);
    order_again(f, out);
    deal_again(f, out);
    out->ms[TIME_PTXAS] = clock_ms() - start;
    return is_parallel;
}

/* ---- levels --------------------------------------------------------------------------
 * hopper.c plans products by warpgroups before ptxas has seen the code. Where ptxas runs them
 * one after the other, refuses the code or spills registers, the next lower level is compiled,
 * too: with a block fewer on a multiprocessor where those deal out few registers, then without a second block
 * that takes some, then without roles, then without products open across iterations, then without
 * warpgroups. The best is kept. */

typedef struct Attempt {
    Func *func;
    Binary *out;
    bool is_parallel, has_roles, has_pair, has_groups;
} Attempt;

static void
run_attempt(Comp *c, void *data)
{
    Attempt *a = data;
    a->is_parallel = back_end(a->func, a->out);
    a->has_roles = c->hopper.has_roles;
    a->has_pair = c->hopper.has_pair;
    a->has_groups = c->hopper.has_groups;
}

/* 0: nothing to find fault with; the higher, the worse: bytes that ptxas spills, and how many of them what
 * it made of the products is worth (H100, us):
 *
 *     bytes spilled by        mma.sync       wgmma        roles       one wgmma after the other
 *     attention, dk and dv    244: 1640      444: 1299    544: 804
 *     forgetting attention    364: 1841      724: 1400    952: 1260
 *     path attention          56: 1110       232: 903
 *     path attention, fwd     536: 1617                               132: 1187
 *     inverse of 128x128      1780: 2664                              392: 780
 *     ttt, 16 rows at a time  1968: 1675     2404: 1976
 *     path attention, q, k    3252: 437      4188: 591
 *
 * A second block is worth a few: keys' and values' gradients by 32x128, D = 64, took 2213 us with 48 bytes, and
 * 2734 alone. */
static int
faults(bool is_done, const Attempt *a)
{
    enum { OF_MMA = 400, OF_SERIES = 600, OF_ROLES = -400, OF_PAIR = -64 };
    enum { OF_LOWERED = 1 << 20 }; /* ptxas died of it: any other code is better */
    if (!is_done)
        return INT_MAX;
    int worth = a->has_roles    ? OF_ROLES
                : a->has_pair   ? OF_PAIR
                : a->has_groups ? 0
                                : OF_MMA;
    return MAX(a->out->n_spills + worth, 0) + (a->is_parallel ? 0 : OF_SERIES) +
           (a->out->n_lowered ? OF_LOWERED : 0);
}

static const char *
fault_text(Comp *c, bool is_done, const Attempt *a)
{
    return !is_done            ? "ptxas refuses the code"
           : a->out->n_lowered ? "ptxas dies of the code"
           : !a->is_parallel
               ? "ptxas does one wgmma after the other"
               : str_printf(c->arena, "ptxas spills %d bytes", a->out->n_spills);
}

/* The next lower level of what there was; false: there is none. */
static bool
lower_level(HopperTrial *h, bool has_spills, const char *why)
{
    HopperTrial next = {.no_maps = h->no_maps,
                        .no_pair = h->no_pair,
                        .no_open = h->no_open,
                        .no_groups = h->no_groups,
                        .most_blocks = h->most_blocks,
                        .grid = h->grid,
                        .asked = h->asked,
                        .why = h->why};
    if (has_spills && h->n_blocks > 1) {
        next.most_blocks = h->n_blocks - 1;
        *h = next;
        return true;
    }
    if (!h->has_groups)
        return false;
    next.no_maps |= h->has_roles;
    next.no_pair |= h->has_pair;
    next.no_open = next.no_groups = false;
    next.why = why;
    if (!h->has_roles && !h->has_pair) {
        next.no_open = true;
        next.no_groups = !h->has_open;
    }
    *h = next;
    return true;
}

static void
try_levels(Comp *c, Func *f, Binary *out)
{
    const char *text = ir_print(f, true);
    Attempt first = {.func = f, .out = out};
    bool is_done = comp_run(c, run_attempt, &first);
    Error err = c->err;
    bool has_spills = is_done && out->n_spills > 0;
    int n = faults(is_done, &first), best = n;
    const char *why = fault_text(c, is_done, &first);
    bool may_go_on = is_done || err.code == ERR_PTXAS || err.code == ERR_RESOURCES;
    while (may_go_on && n && lower_level(&c->hopper, has_spills, why)) {
        Attempt next = {.func = ir_parse(c, text), .out = NEW(c->arena, Binary)};
        arena_defer(c->arena, binary_drop, next.out);
        next.out->n_regs = next.out->n_spills = -1;
        is_done = comp_run(c, run_attempt, &next);
        err = c->err;
        n = faults(is_done, &next);
        has_spills = is_done && next.out->n_spills > 0;
        why = fault_text(c, is_done, &next);
        for (int i = 0; i < N_TIME; i++) /* the time is spent, whoever is kept */
            out->ms[i] = next.out->ms[i] += out->ms[i];
        if (n < best) {
            Binary worse = *out;
            *out = *next.out;
            *next.out = worse;
            best = n;
        }
    }
    if (best < INT_MAX)
        return;
    if (err.help)
        err_help(c, "%s", err.help);
    err_raise(c, err.loc, err.code, "%s", err.msg);
}

static void
phase_b(Comp *c, void *data)
{
    Job *j = data;
    Func *f = j->lowered->func;
    Binary *out = j->out;
    f->c = c; /* it may have moved: CompRun */
    out->ms[TIME_FRONTEND] = j->lowered->ms;
    out->n_regs = out->n_spills = -1;
    size_t n;
    if (c->opt.interpret)
        interpretable(f, out);
    else if (c->opt.target.sm == 90 && acc_words(f->body) && !c->n_overrides &&
             !option_text(c->option_texts, "hopper=", &n))
        try_levels(c, f, out); /* of 4 warps widen_team may make warpgroups */
    else
        back_end(f, out);
}

/* ---- A ------------------------------------------------------------------------------ */

/* The function as the rest of the compile sees it: of the facts about the arguments those that
 * the frontend has asked about, as what the passes will ask is not known yet. */
static const char *
identity(const Func *f, bool with_places)
{
    Func known = *f;
    known.facts = NEW_N(f->c->arena, ArgFacts, f->n_facts + 1);
    for (int i = 0; i < f->n_facts; i++)
        known.facts[i] = (ArgFacts){.truth = f->facts[i].truth & f->facts[i].asked,
                                    .asked = f->facts[i].asked};
    return str_printf(f->c->arena, "%s\n%d arguments\n%s", f->name, f->n_facts,
                      ir_print(&known, with_places));
}

/* Passes recurse over regions, and the parser of tile IR, which the first launch on a CPU goes
 * through, takes a hundred in each other. */
static void
refuse_deep(Comp *c, const Block *b, int depth)
{
    enum { DEEPEST = 90 };
    for (const Op *o = b->first; o; o = o->next)
        for (int i = 0; i < o->n_regions; i++) {
            if (depth == DEEPEST)
                err_at(c, o->loc, LIMIT, "loops and branches nest deeper than 90");
            refuse_deep(c, o->regions[i], depth + 1);
        }
}

static void
phase_a(Comp *c, void *data)
{
    Job *j = data;
    Lowered *out = j->lowered;
    double start = clock_ms();
    out->func = fe_kernel(c, j->env, j->f, j->args, j->f->n_params);
    refuse_deep(c, out->func->body, 0);
    out->identity = identity(out->func, j->with_places);
    out->ms = clock_ms() - start;
    if (c->dump.dir || c->dump.passes) {
        const char *text = ir_print(out->func, false);
        dump_stage(c, "frontend", "tir", text, strlen(text));
    }
}

bool
compile_front(Comp *c, const FeEnv *env, FeFunction *f, const ArgSpec *args,
              Lowered *out)
{
    Job j = {.env = env,
             .f = f,
             .args = args,
             .with_places = env->has_places,
             .lowered = out};
    return comp_run(c, phase_a, &j);
}

static const char *
own(Comp *c, const char *s)
{
    return s ? str_intern(c, s) : NULL;
}

/* B may outlive its caller: what it reads is the Comp's own from here on, its Job
 * included. */
static void
phase_own(Comp *c, void *data)
{
    Job *j = data;
    c->kernel = own(c, c->kernel);
    c->symbol = own(c, c->symbol);
    c->ptxas = own(c, c->ptxas);
    c->ptxas_options = own(c, c->ptxas_options);
    c->libdevice = own(c, c->libdevice);
    c->option_texts = own(c, c->option_texts);
    c->dump.passes = own(c, c->dump.passes);
    c->dump.dir = own(c, c->dump.dir);
    c->dump.stop = own(c, c->dump.stop);
    Override *files = NEW_N(c->arena, Override, c->n_overrides + 1);
    for (int i = 0; i < c->n_overrides; i++) {
        const Override *o = &c->overrides[i];
        files[i] = (Override){.stage = own(c, o->stage),
                              .path = str_printf(c->arena, "%s", o->path),
                              .data = NEW_N(c->arena, char, o->size + 1),
                              .size = o->size};
        memcpy(files[i].data, o->data, o->size);
    }
    c->overrides = files;
    j->aside = NEW(c->arena, Job);
    j->aside->lowered = NEW(c->arena, Lowered);
    *j->aside->lowered = *j->lowered;
    j->aside->out = NEW(c->arena, Binary);
    arena_defer(c->arena, binary_drop, j->aside->out);
}

bool
compile_back(Comp *c, Lowered *lowered, CompRun *run, Binary *out)
{
    Job j = {.lowered = lowered};
    if (!comp_run(c, phase_own, &j) || !run(c, phase_b, j.aside))
        return false;
    *out = *j.aside->out;
    *j.aside->out = (Binary){0};
    lowered->func->c = c;
    return true;
}

static void
read_lowered(Comp *c, void *data)
{
    Job *j = data;
    j->lowered->func = ir_parse(c, j->text);
}

bool
compile_text(Comp *c, const char *text, CompRun *run, Binary *out)
{
    Lowered lowered = {0};
    Job j = {.lowered = &lowered, .text = text};
    return comp_run(c, read_lowered, &j) && compile_back(c, &lowered, run, out);
}

static void
print_places(Comp *c, void *data)
{
    (void)c;
    Lowered *l = data;
    l->identity = ir_print(l->func, true);
}

const char *
lowered_text(Comp *c, const Lowered *lowered)
{
    Lowered shown = *lowered;
    return comp_run(c, print_places, &shown) ? shown.identity : NULL;
}

static void
print_lowered(Comp *c, void *data)
{
    (void)c;
    Lowered *l = data;
    l->identity = ir_print(l->func, false);
}

const char *
compile_lower(Comp *c, const FeEnv *env, FeFunction *f, const ArgSpec *args)
{
    Lowered l;
    return compile_front(c, env, f, args, &l) && comp_run(c, print_lowered, &l)
               ? l.identity
               : NULL;
}
