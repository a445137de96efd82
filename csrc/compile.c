/* compile: the one screen that is the compiler.
 *
 *     A   with the GIL       fe_kernel       AST -> tile IR               frontend/
 *     B   without it         order_tile      fold, cse, licm, ..          passes/
 *         CPU                cg_host         tile loops -> object code    codegen/host/
 *         CUDA, emulator     order_simt      layouts                      passes/
 *                            cg_simt         PTX, or host object code     codegen/simt/
 *         CUDA               compile_ptx     PTX -> cubin                 assemble.c
 *     C   with the GIL       the caller keeps the Binary, or raises the error
 *
 * A and B are comp_runs of their own, so that no jump crosses the change of the GIL.
 */
#include <Python.h>

#include "codegen/codegen.h"
#include "compile.h"
#include "frontend/frontend.h"
#include "passes/passes.h"
#include "runtime/runtime.h"

#include <stdlib.h>

typedef struct Job {
    const FeEnv *env;
    FeFunction *f;
    const ArgSpec *args;
    Func *func; /* out of A, into B; in the Comp's arena */
    char *text; /* of compile_lower */
    Binary *out;
} Job;

/* ---- B ------------------------------------------------------------------------------ */

static void
run_passes(Func *f, const char *const *order)
{
    if (!passes_run(f, order))
        err_at(f->c, f->loc, VALUE,
               str_printf(f->c->arena,
                          "compiled up to '%s', where TEGULA_STOP asks to stop",
                          f->c->dump.stop));
}

static void *
copy(Comp *c, const void *p, size_t n)
{
    void *q = malloc(MAX(n, 1));
    if (!q)
        err_at(c, NULL, MEMORY);
    return n ? memcpy(q, p, n) : q;
}

/* What a launch must know of the function: filled when the last question has been asked. */
static void
describe(const Func *f, Binary *out)
{
    Comp *c = f->c;
    out->target = c->opt.target;
    out->num_warps = c->opt.num_warps;
    out->num_stages = c->opt.num_stages;
    out->num_ctas = 1 << f->log2_ctas;
    out->facts = copy(c, f->facts, (size_t)f->n_facts * sizeof *f->facts);
    out->n_facts = f->n_facts;
    int n = f->body->n_args;
    ParamAbi *params = NEW_N(c->arena, ParamAbi, n);
    bool *written = NEW_N(c->arena, bool, n);
    written_params(f, written);
    for (int i = 0; i < n; i++) {
        const Type *t = f->body->args[i]->type;
        params[i] = (ParamAbi){.elem = t->elem,
                               .is_ptr = t->is_ptr,
                               .is_const = t->is_const,
                               .is_written = written[i],
                               .slot = (int16_t)f->slot[i]};
    }
    out->params = copy(c, params, (size_t)n * sizeof *params);
    out->n_params = n;
}

static void
keep(Comp *c, Binary *out, const char *stage, const char *data, size_t n)
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
    keep(f->c, out, "tir", tir, strlen(tir));
    keep(f->c, out, "interp", located, strlen(located));
    out->symbol = copy(f->c, f->name, strlen(f->name) + 1);
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

static void
phase_b(Comp *c, void *data)
{
    Job *j = data;
    Func *f = j->func;
    Binary *out = j->out;
    out->n_regs = out->n_spills = -1;
    if (c->opt.interpret) {
        interpretable(f, out);
        return;
    }
    double start = clock_ms();
    run_passes(f, order_tile);
    out->ms[TIME_PASSES] = clock_ms() - start;
    f = override_func(f, "tir");
    const char *tir = ir_print(f, false);
    keep(c, out, "tir", tir, strlen(tir));
    if (c->opt.target.kind != TARGET_CPU) {
        start = clock_ms();
        run_passes(f, order_simt);
        f = override_func(f, "simt");
        out->ms[TIME_PASSES] += clock_ms() - start;
        const char *simt = ir_print(f, false);
        keep(c, out, "simt", simt, strlen(simt));
    }
    start = clock_ms();
    if (c->opt.target.kind == TARGET_CPU)
        cg_host(f, out);
    else
        cg_simt(f, out);
    if (f->report.n)
        keep(c, out, "report", f->report.at, (size_t)f->report.n);
    out->ms[TIME_CODEGEN] = clock_ms() - start - out->ms[TIME_LLVM];
    describe(f, out);
    if (c->opt.target.kind == TARGET_CUDA)
        override_ptx(c, out);
    dump_emitted(c, out);
    if (c->opt.target.kind == TARGET_CUDA) {
        start = clock_ms();
        compile_ptx(c, out);
        out->ms[TIME_PTXAS] = clock_ms() - start;
    }
}

/* ---- A ------------------------------------------------------------------------------ */

static void
phase_a(Comp *c, void *data)
{
    Job *j = data;
    double start = clock_ms();
    j->func = fe_kernel(c, j->env, j->f, j->args, j->f->n_params);
    if (j->out)
        j->out->ms[TIME_FRONTEND] = clock_ms() - start;
    if (c->dump.dir || c->dump.passes) {
        const char *text = ir_print(j->func, false);
        dump_stage(c, "frontend", "tir", text, strlen(text));
    }
}

bool
compile_kernel(Comp *c, const FeEnv *env, FeFunction *f, const ArgSpec *args,
               Binary *out)
{
    Job j = {.env = env, .f = f, .args = args, .out = out};
    if (!comp_run(c, phase_a, &j))
        return false;
    PyThreadState *thread = PyEval_SaveThread();
    bool ok = comp_run(c, phase_b, &j);
    PyEval_RestoreThread(thread);
    return ok;
}

static void
phase_a_text(Comp *c, void *data)
{
    Job *j = data;
    phase_a(c, j);
    j->text = ir_print(j->func, false);
}

char *
compile_lower(Comp *c, const FeEnv *env, FeFunction *f, const ArgSpec *args)
{
    Job j = {.env = env, .f = f, .args = args};
    return comp_run(c, phase_a_text, &j) ? j.text : NULL;
}
