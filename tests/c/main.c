/* main: runs the rows of tests.def. Exit status 1 when a check failed. */
#include "random/random.h"
#include "test.h"

#include <stdlib.h>

enum { MAX_SHOWN = 10 }; /* failures printed per test */

bool
test_check(Test *t, bool cond, const char *file, int line, const char *fmt, ...)
{
    t->n_checks++;
    if (cond)
        return true;
    if (t->n_failed++ < MAX_SHOWN) {
        va_list ap;
        va_start(ap, fmt);
        fprintf(stderr, "%s:%d: %s (TEGULA_SEED=%llu): ", file, line, t->name,
                (unsigned long long)t->seed);
        vfprintf(stderr, fmt, ap);
        fputc('\n', stderr);
        va_end(ap);
    }
    return false;
}

bool
test_check_str(Test *t, const char *got, const char *want, const char *file, int line)
{
    if (!got)
        got = "(null)";
    return test_check(t, !strcmp(got, want), file, line,
                      "\n--- got\n%s\n--- want\n%s\n---", got, want);
}

bool
test_run(Test *t, void (*fn)(Comp *c, void *data), void *data, const char *fmt, ...)
{
    Comp c;
    char what[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (!CHECK(t, comp_init(&c)))
        return false;
    bool ok = comp_run(&c, fn, data);
    CHECKF(t, ok, "%s: %s", what, ok ? "" : c.err.msg);
    comp_done(&c);
    return ok;
}

uint64_t
test_random(Test *t)
{
    return random_bits(&t->rng);
}

int
test_below(Test *t, int n)
{
    return (int)(test_random(t) % (uint64_t)n);
}

static const struct {
    const char *name;
    void (*run)(Test *t);
} tests[] = {
#define TEST(name) {#name, test_##name},
#include "tests.def"
#undef TEST
};

static bool
is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strncmp(name, argv[i], strlen(argv[i])))
            return true;
    return argc == 1;
}

int
main(int argc, char **argv)
{
    const char *seed = getenv("TEGULA_SEED");
    int n_failed = 0, n_run = 0;
    for (size_t i = 0; i < COUNT(tests); i++) {
        if (!is_wanted(tests[i].name, argc, argv))
            continue;
        Test t = {.name = tests[i].name, .seed = seed ? strtoull(seed, NULL, 0) : 1};
        t.rng = t.seed;
        tests[i].run(&t);
        n_run++;
        n_failed += t.n_failed > 0;
        printf("%-24s %s  %ld checks", t.name, t.n_failed ? "FAILED" : "ok",
               t.n_checks);
        printf(t.n_failed ? ", %d failed\n" : "\n", t.n_failed);
    }
    if (!n_run)
        fprintf(stderr, "no test of that name\n");
    return n_failed || !n_run;
}
