/* passes: the driver (dumps, numbers, stops) and memory that runs out in the middle. */
#include "test.h"

#include "passes/passes.h"
#include "random/random.h"

#include <stdlib.h>
#include <unistd.h>

static const char text[] = "func @f(%p: ptr<i32>, %n: i32) {\n"
                           "  %c = const 0 : i32\n"
                           "  %x = add %n, %c : i32\n"
                           "  %y = add %n, %c : i32\n"
                           "  %z = add %x, %y : i32\n"
                           "  store %p, %z\n"
                           "  return\n"
                           "}\n";

typedef struct Drive {
    bool finished;
} Drive;

static void
drive(Comp *c, void *data)
{
    Drive *d = data;
    d->finished = passes_run(ir_parse(c, text), order_tile);
}

/* What TEGULA_DUMP=passes prints for kernel `kernel`; the stage's names only. */
static void
dumped(Test *t, const char *passes, const char *kernel, const char *want)
{
    char got[512] = "", *buffer = NULL;
    size_t size = 0;
    Comp c;
    if (!comp_init(&c))
        return;
    FILE *out = open_memstream(&buffer, &size);
    c.dump = (DumpConfig){.passes = passes, .out = out};
    c.kernel = kernel;
    Drive d;
    CHECK(t, comp_run(&c, drive, &d) && d.finished);
    fclose(out);
    for (char *s = buffer; (s = strstr(s, "// ---- ")) != NULL; s++) {
        char name[32];
        if (sscanf(s, "// ---- %*s %31s", name) == 1 && strlen(got) + 40 < sizeof got)
            strcat(strcat(got, name), " ");
    }
    CHECK_STR(t, got, want);
    free(buffer);
    comp_done(&c);
}

void
test_passes_dump(Test *t)
{
    const char *all =
        "widen_team map_tiles lower_desc spread_hints pad_blocks inline_consts fold cse "
        "unroll fold licm cse fuse_dot dce swap_dots promote_tma map_tiles lower_desc dce "
        "whole_lines persist dce ";
    dumped(t, NULL, "f", "");
    dumped(t, "all", "f", all);
    dumped(t, "cse,dce", "f", "cse cse dce dce dce ");
    dumped(t, "f:dce", "f", "dce dce dce ");
    dumped(t, "g:dce", "f", "");
    dumped(t, "g:dce,cse,f:licm", "f", "licm ");
    dumped(t, "f:licm,dce", "f", "licm dce dce dce ");
    dumped(t, "ds,c", "f", "");
}

void
test_passes_dump_dir(Test *t)
{
    static const char *const want[] = {"00-widen_team.tir", "01-map_tiles.tir",
                                       "02-lower_desc.tir", "03-spread_hints.tir",
                                       "04-pad_blocks.tir", "05-inline_consts.tir",
                                       "06-fold.tir",       "07-cse.tir",
                                       "08-unroll.tir",     "09-fold.tir"};
    char dir[] = "/tmp/tegula-dump-XXXXXX", kernel[64];
    Comp c;
    Drive d = {true};
    if (!CHECK(t, mkdtemp(dir) != NULL) || !comp_init(&c))
        return;
    c.dump = (DumpConfig){.dir = dir, .stop = "unroll"};
    c.kernel = "f";
    CHECKF(t, comp_run(&c, drive, &d), "%s", c.err.msg ? c.err.msg : "");
    CHECK(t, !d.finished);
    snprintf(kernel, sizeof kernel, "%s/f", dir);
    for (size_t i = 0; i < COUNT(want); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", kernel, want[i]);
        bool is_there = access(path, R_OK) == 0;
        CHECKF(t, is_there == (i < 9), "%s", want[i]);
        unlink(path);
    }
    CHECK(t, rmdir(kernel) == 0 && rmdir(dir) == 0);
    comp_done(&c);

    if (!comp_init(&c))
        return;
    c.dump = (DumpConfig){.dir = "/dev/null/no"};
    CHECK(t, !comp_run(&c, drive, &d) && c.err.code == ERR_VALUE);
    comp_done(&c);
}

static void
compile_random(Comp *c, void *data)
{
    (void)data;
    passes_run(ir_random(c, &(RandomSpec){.seed = 5, .n_ops = 60, .odd_sides = true}),
               order_tile);
}

/* Whichever allocation fails, the answer is ERR_MEMORY and nothing else. */
void
test_passes_out_of_memory(Test *t)
{
    size_t n = 1;
    for (bool ok = false; !ok; n += 1 + n / 50) {
        Comp c;
        if (!comp_init(&c))
            return;
        arena_fail_after(c.arena, n);
        ok = comp_run(&c, compile_random, NULL);
        CHECKF(t, ok || c.err.code == ERR_MEMORY, "allocation %zu: %s", n, c.err.msg);
        comp_done(&c);
    }
    CHECKF(t, n > 500, "only %zu allocations", n);
}
