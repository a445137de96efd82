/* test.h: what the C tests share. One binary: build/ctest [name ...] runs the tests
 * whose names start so, or all; TEGULA_SEED=n changes the random cases and is printed
 * on failure.
 */
#ifndef TEGULA_TEST_H
#define TEGULA_TEST_H

#include "base/base.h"

typedef struct Test {
    const char *name;
    uint64_t seed; /* of this run */
    uint64_t rng;  /* splitmix64 state; each test starts from seed */
    long n_checks;
    int n_failed;
} Test;

/* Counts and goes on: a failed check never hides the next. Returns cond. */
bool test_check(Test *t, bool cond, const char *file, int line, const char *fmt, ...)
    PRINTF_LIKE(5, 6);
#define CHECK(t, cond) test_check((t), (cond), __FILE__, __LINE__, "%s", #cond)
#define CHECKF(t, cond, ...) test_check((t), (cond), __FILE__, __LINE__, __VA_ARGS__)
bool test_check_str(Test *t, const char *got, const char *want, const char *file,
                    int line);
#define CHECK_STR(t, got, want) test_check_str((t), (got), (want), __FILE__, __LINE__)

/* Runs fn in a Comp of its own, which must not end with an error; the text says what it was. */
bool test_run(Test *t, void (*fn)(Comp *c, void *data), void *data, const char *fmt,
              ...) PRINTF_LIKE(4, 5);
#define RUN(t, fn, data) test_run((t), (fn), (data), "%s", #fn)

uint64_t test_random(Test *t);
int test_below(Test *t, int n); /* 0 .. n - 1 */

#define TEST(name) void test_##name(Test *t);
#include "tests.def"
#undef TEST

#endif
