/* run: the driver of passes. It runs them in order, verifies what they leave, shows it, and
 * stops where it is told to.
 *
 *     TEGULA_DUMP=fold,licm         IR after those passes, on the dump's stream
 *                 all               after every one, and what other stages dump
 *                 softmax:fold,dce  a kernel in front holds for the rest, up to another one
 *     TEGULA_DUMP_DIR=d             d/softmax/00-frontend.tir, 01-spread_hints.tir, ..
 *     TEGULA_STOP=licm              nothing runs after licm
 *
 * A folder per kernel, because a program compiles many and each counts from 00. Without
 * these variables nothing is printed, so nothing is spent.
 *
 * In debug builds the IR is verified after every pass, else once at the end: then it names
 * the last pass, and a build with asserts finds which one it was.
 */
#include "passes/passes.h"

#include <errno.h>
#include <sys/stat.h>

static const PassInfo pass_info[] = {
#define PASS(name, level, doc) {#name, pass_##name, LEVEL_##level, doc},
#include "passes/passes.def"
#undef PASS
};

const PassInfo *
pass_by_name(const char *name)
{
    for (size_t i = 0; i < COUNT(pass_info); i++)
        if (strcmp(pass_info[i].name, name) == 0)
            return &pass_info[i];
    return NULL;
}

/* ---- dumps ----------------------------------------------------------------------------- */

static bool
is_word(const char *s, size_t n, const char *word)
{
    return strlen(word) == n && memcmp(s, word, n) == 0;
}

/* Does TEGULA_DUMP name this stage of this kernel? */
static bool
is_dumped(const Comp *c, const char *stage)
{
    const char *s = c->dump.passes;
    bool here = true; /* the kernel in front of the present item is ours */
    while (s && *s) {
        size_t n = strcspn(s, ",");
        const char *colon = memchr(s, ':', n), *next = s[n] ? s + n + 1 : s + n;
        if (colon) {
            here = c->kernel && is_word(s, (size_t)(colon - s), c->kernel);
            n -= (size_t)(colon + 1 - s);
            s = colon + 1;
        }
        if (here && (is_word(s, n, stage) || is_word(s, n, "all")))
            return true;
        s = next;
    }
    return false;
}

static NORETURN void
cannot_write(Comp *c, const char *path)
{
    err_help(c, "TEGULA_DUMP_DIR must name a folder that can be written to");
    err_say(c, NULL, VALUE, "cannot write %s: %s", path, strerror(errno));
}

static void
make_dir(Comp *c, const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        cannot_write(c, path);
}

static void
write_file(Comp *c, const char *stage, const char *ext, const char *text, size_t n)
{
    const char *dir = c->dump.dir;
    make_dir(c, dir);
    if (c->kernel) {
        dir = str_printf(c->arena, "%s/%s", dir, c->kernel);
        make_dir(c, dir);
    }
    char *path = str_printf(c->arena, "%s/%02d-%s.%s", dir, c->n_dumped, stage, ext);
    FILE *f = fopen(path, "wb");
    if (!f)
        cannot_write(c, path);
    bool ok = fwrite(text, 1, n, f) == n;
    ok = fclose(f) == 0 && ok;
    if (!ok)
        cannot_write(c, path);
}

void
dump_stage(Comp *c, const char *stage, const char *ext, const char *text, size_t n)
{
    if (is_dumped(c, stage)) {
        FILE *out = c->dump.out ? c->dump.out : stderr;
        fprintf(out, "// ---- %s: %s\n", c->kernel ? c->kernel : "kernel", stage);
        fwrite(text, 1, n, out);
        fflush(out);
    }
    if (c->dump.dir)
        write_file(c, stage, ext, text, n);
    c->n_dumped++;
}

/* ---- the driver --------------------------------------------------------------------------- */

bool
passes_run(Func *f, const char *const *names)
{
    Comp *c = f->c;
    const char *last = NULL;
    for (; *names; names++) {
        const PassInfo *p = pass_by_name(*names);
        if (!p)
            unreachable(c);
        comp_poll(c);
        p->run(f);
        last = p->name;
#ifndef NDEBUG
        ir_verify(f, last);
#endif
        if (c->dump.dir || is_dumped(c, last)) {
            const char *text = ir_print(f, false);
            dump_stage(c, last, "tir", text, strlen(text));
        } else {
            c->n_dumped++; /* numbers do not depend on what is shown */
        }
        if (c->dump.stop && strcmp(c->dump.stop, last) == 0)
            return false;
    }
#ifdef NDEBUG
    if (last)
        ir_verify(f, last);
#endif
    return true;
}
