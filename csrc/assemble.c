/* assemble: the last step for CUDA, PTX -> cubin, and the options that are about it.
 *
 *     ptx_version      the version the text says it is of
 *     ptx_options      words for ptxas (ptxas.c), beside ours
 *     ir_override      *.cubin: nothing is assembled
 *
 * Without ptxas the PTX stays as it is, and the driver assembles it at the first launch. What
 * ptxas refuses is a PTXASError, and a tuner skips a configuration that raises one. Where ptxas
 * dies of a signal, it is asked again for code that it optimises less.
 */
#include "codegen/codegen.h"
#include "compile.h"
#include "ptxas.h"

#include <stdlib.h>

/* Option ptx_version: what the text says it is. True: the option is there. */
static bool
set_ptx_version(Comp *c, Binary *out)
{
    size_t n;
    const char *text = option_text(c->option_texts, "ptx_version=", &n);
    if (!text)
        return false;
    int version = atoi(text), least = chip_of(c->opt.target.sm)->ptx;
    if (version < least)
        err_at(c, NULL, PTXAS, /* what Triton raises: tuners go on to the next one */
               str_printf(c->arena,
                          "ptx_version=%d: PTX for sm_%d is of version %d or newer",
                          version, c->opt.target.sm, least));
    const Stage *ptx = binary_stage(out, "ptx");
    char *copy = ptx_with_version(ptx->data, ptx->size, version);
    bool kept = copy && binary_put(out, "ptx", copy, strlen(copy));
    free(copy);
    if (!kept)
        err_at(c, NULL, MEMORY);
    return true;
}

/* The user's options for the assembler; NULL: none. */
static const char *
ptxas_options(Comp *c)
{
    size_t n;
    const char *s = option_text(c->option_texts, "ptx_options=", &n);
    s = s ? str_printf(c->arena, "%.*s", (int)n, s) : c->ptxas_options;
    return !c->no_ptxas_opt ? s : str_printf(c->arena, "-O0 %s", s ? s : "");
}

/* Levels of optimisation below ptxas's own, -O3, in the order in which they are tried. */
static const char *const lower_levels[] = {"-O1", "-O0"};

const char *
binary_lower_level(const Binary *b)
{
    return b->n_lowered ? lower_levels[b->n_lowered - 1] : NULL;
}

static bool
names_level(const char *options)
{
    return options && (!strncmp(options, "-O", 2) || strstr(options, " -O") ||
                       strstr(options, "-opt-level"));
}

/* ptxas as in says, and at lower levels where it dies; out->n_lowered of them. */
static bool
run_until_it_lives(Comp *c, Assembly *in, Binary *out, Assembled *a, bool *found,
                   char why[ERR_TEXT])
{
    const char *options = in->options;
    bool ok = ptxas_run(c->ptxas, in, a, found, why);
    for (size_t i = 0; a->died_of && i < COUNT(lower_levels) && !names_level(options);
         i++) {
        in->options = str_printf(c->arena, "%s %s", lower_levels[i],
                                 options ? options : "");
        free(a->log);
        ok = ptxas_run(c->ptxas, in, a, found, why);
        out->n_lowered = (int)i + 1;
    }
    in->options = options;
    return ok;
}

/* The report's line of a level that is lower. */
static void
report_level(Func *f, Binary *out)
{
    const char *level = binary_lower_level(out);
    if (!level)
        return;
    ir_report(f, f->loc, "assembler",
              str_printf(f->c->arena,
                         "ptxas died of this kernel, which is assembled with %s and is "
                         "slower than it could be. TEGULA_PTXAS names another ptxas",
                         level));
    if (!binary_put(out, "report", f->report.at, (size_t)f->report.n))
        err_at(f->c, NULL, MEMORY);
}

/* ptxas refused. Where the user gave it more than the kernel, it may be that. */
static NORETURN void
refused(Comp *c, const Assembly *in, bool is_dead, const char *why)
{
    const Override *o = comp_override(c, "ptx");
    if (o)
        why = str_printf(c->arena, "of ir_override '%s': %s", o->path, why);
    else if (in->options)
        why = str_printf(c->arena, "with the options '%s': %s", in->options, why);
    else if (in->keep_version)
        why = str_printf(c->arena, "of PTX of the version asked for: %s", why);
    if (is_dead)
        why = str_printf(
            c->arena,
            "it dies of kernel %s()%s: %s\nTEGULA_PTXAS names another ptxas, and "
            "a smaller kernel, or other block sizes, may be spared",
            c->kernel,
            names_level(in->options) ? "" : ", and of less optimised code, too", why);
    err_at(c, NULL, PTXAS, why);
}

/* The PTX with registers dealt for n blocks of a multiprocessor, whatever it said; 0: it says nothing of them. NULL:
 * nor of its threads. */
static const char *
with_blocks(Comp *c, const char *ptx, int n)
{
    static const char word[] = "\n.minnctapersm ";
    const char *at = strstr(ptx, "\n.reqntid ");
    if (!at)
        return NULL;
    at += 1 + strcspn(at + 1, "\n");
    bool is_said = !strncmp(at, word, sizeof word - 1);
    return str_printf(c->arena, "%.*s%s%s", (int)(at - ptx), ptx,
                      n ? str_printf(c->arena, "%s%d", word, n) : "",
                      is_said ? at + 1 + strcspn(at + 1, "\n") : at);
}

/* Assembles `text` in place of out's PTX. False: out is as it was, because this one spills more, or runs one wgmma
 * after the other. */
static bool
assemble_again(Comp *c, Binary *out, const char *text, int most_spilled)
{
    if (!text || comp_override(c, "ptx") || comp_override(c, "cubin"))
        return false;
    Assembly in = {.target = c->opt.target,
                   .ptx = text,
                   .n = strlen(text),
                   .options = ptxas_options(c),
                   .halt = c->halt};
    Assembled a = {0};
    bool found;
    char why[ERR_TEXT];
    bool is_better = ptxas_run(c->ptxas, &in, &a, &found, why) && found &&
                     !a.is_serial && a.n_spills >= 0 && a.n_spills <= most_spilled;
    bool kept = !is_better || (binary_put(out, "ptx", text, in.n) &&
                               binary_put(out, "cubin", a.cubin, a.size));
    if (is_better)
        out->n_regs = a.n_regs, out->n_spills = a.n_spills;
    free(a.cubin);
    free(a.log);
    if (!kept)
        err_at(c, NULL, MEMORY);
    return is_better;
}

bool
assemble_other(Comp *c, Binary *out, const char *ptx, int most_spilled)
{
    size_t n;
    bool is_of_version = option_text(c->option_texts, "ptx_version=", &n);
    return !is_of_version && assemble_again(c, out, ptx, most_spilled);
}

bool
compile_for_blocks(Comp *c, Binary *out, int n, int most_spilled)
{
    return assemble_again(c, out, with_blocks(c, binary_stage(out, "ptx")->data, n),
                          most_spilled);
}

/* The PTX with the end of a basic block behind each wait for all products. ptxas 13.0 says (C7514) that sums are
 * read while products run, and runs one product after the other, where sums are read in the block of such a wait
 * and in no loop behind it. A trap that no thread meets, as no grid has 0 programs, ends the block.
 *
 *     wgmma.wait_group 0;                wgmma.wait_group 0;
 *     cvt.rn.bf16.f32 h, sum;            @none trap;
 *                                        cvt.rn.bf16.f32 h, sum;
 *
 * A^T @ A of 4x768x768 takes 11.7 us so, and 30.8 without warps that bring tiles (H100). Where those have two slots,
 * a lower level with its third stage is the faster one: 208 us beside 228, 16384x3072x768 by 128x256x64.
 */
static const char *
with_traps(Comp *c, const char *ptx)
{
    static const char wait[] = "wgmma.wait_group.sync.aligned 0;",
                      trap[] = "\n\t{\n\t.reg .b32 programs;\n\t.reg .pred none;\n"
                               "\tmov.u32 programs, %nctaid.x;\n"
                               "\tsetp.eq.u32 none, programs, 0;\n"
                               "\t@none trap;\n\t}";
    Sb text = {.a = c->arena};
    for (const char *at; (at = strstr(ptx, wait)); ptx = at) {
        at += sizeof wait - 1;
        sb_putn(&text, ptx, (size_t)(at - ptx));
        sb_put(&text, trap);
    }
    sb_put(&text, ptx);
    return text.at;
}

bool
compile_ptx(Func *f, Binary *out)
{
    Comp *c = f->c;
    const Stage *ptx = binary_stage(out, "ptx");
    Assembly in = {
        .target = c->opt.target, .options = ptxas_options(c), .halt = c->halt};
    in.keep_version = !comp_override(c, "ptx") && set_ptx_version(c, out);
    in.ptx = ptx->data, in.n = ptx->size;
    if (c->dump.ptx) {
        printf("// ---- PTX of %s\n%s\n", c->kernel, in.ptx);
        fflush(stdout);
    }
    const Override *cubin = comp_override(c, "cubin");
    if (cubin) {
        if (!binary_put(out, "cubin", cubin->data, cubin->size))
            err_at(c, NULL, MEMORY);
        return true;
    }
    Assembled a = {0};
    bool found = false;
    char why[ERR_TEXT] = "";
    bool ok = run_until_it_lives(c, &in, out, &a, &found, why);
    bool kept = ok && found && binary_add(out, "cubin", a.cubin, a.size);
    if (kept)
        out->n_regs = a.n_regs, out->n_spills = a.n_spills;
    if (c->dump.ptxas_log && a.log) {
        fputs(a.log, stdout);
        fflush(stdout);
    }
    bool is_serial = a.is_serial, reads_early = a.reads_early;
    bool is_dead = a.died_of || out->n_lowered;
    free(a.cubin);
    free(a.log);
    if (!ok)
        refused(c, &in, is_dead, why);
    if (found && !kept)
        err_at(c, NULL, MEMORY);
    if (!found && in.options)
        err_at(c, NULL, VALUE,
               "ptx_options are ptxas's, and there is no ptxas: the driver assembles");
    report_level(f, out);
    return !is_serial ||
           (reads_early && !c->hopper.has_few_slots &&
            assemble_again(c, out, with_traps(c, ptx->data), out->n_spills));
}
