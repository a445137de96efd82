/* host: code for the CPU against the definitions: elementwise ops against ir_eval on every
 * kind of bit pattern, math functions against libm within their bounds, the object loader
 * against broken objects, the pool against its promises. Whole kernels are compared by
 * tirc check (tests/test_host.py). */
#include "test.h"

#include "codegen/codegen.h"
#include "passes/passes.h"
#include "runtime/runtime.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Kernel {
    Comp c;
    const char *text; /* tile IR */
    Binary bin;
    JitCode *jit;
    HostKernel *run;
} Kernel;

static void
compile(Comp *c, void *data)
{
    Kernel *k = data;
    Func *f = ir_parse(c, k->text);
    ir_verify(f, "reading");
    pass_group(f);
    cg_host(f, &k->bin);
}

static bool
load(Kernel *k, char err[ERR_TEXT])
{
    const Stage *obj = binary_stage(&k->bin, "obj");
    void *fn;
    k->jit = jit_load(obj->data, obj->size, k->bin.symbol, &fn, err);
    if (k->jit)
        memcpy(&k->run, &fn, sizeof fn);
    return k->jit;
}

static bool
build_for(Test *t, Kernel *k, const char *text, const char *cpu)
{
    *k = (Kernel){.text = text};
    if (!comp_init(&k->c))
        return CHECK(t, !"out of memory");
    k->text = text;
    k->c.opt.enable_fp_fusion = true;
    k->c.cpu = cpu;
    char err[ERR_TEXT] = "";
    bool ok = comp_run(&k->c, compile, k);
    if (!CHECKF(t, ok, "%s\n%s", ok ? "" : err_render(&k->c, &k->c.err), text))
        return false;
    return CHECKF(t, load(k, err), "%s", err);
}

static bool
build(Test *t, Kernel *k, const char *text)
{
    return build_for(t, k, text, NULL);
}

static void
drop(Kernel *k)
{
    jit_unload(k->jit);
    binary_free(&k->bin);
    comp_done(&k->c);
}

static bool
run(Test *t, Kernel *k, int n_programs, const void *a, const void *b, const void *c,
    void *out)
{
    uint64_t params[] = {(uintptr_t)a, (uintptr_t)b, (uintptr_t)c, (uintptr_t)out};
    int32_t grid[3] = {n_programs, 1, 1};
    char err[ERR_TEXT] = "";
    HostLaunch launch = {.kernel = k->run,
                         .params = params,
                         .grid = grid,
                         .scratch_bytes = k->bin.scratch};
    return CHECKF(t, pool_run(&launch, err), "%s", err);
}

/* ---- elementwise ops ---------------------------------------------------------------- */

/* One op on blocks of n elements; params a, b, c, out. */
static char *
op_text(char *out, size_t size, OpCode op, const char *attrs, const char *in[3],
        int n_args, const char *res, int n)
{
    char *p = out, *end = out + size;
    p += snprintf(p, size,
                  "func @f(%%a: ptr<%s>, %%b: ptr<%s>, %%c: ptr<%s>, %%o: ptr<%s>) {\n",
                  in[0], in[1], in[2], res);
    p += snprintf(p, (size_t)(end - p),
                  "  %%pid = program_id {axis=0} : i32\n  %%n = const %d : i32\n"
                  "  %%base = mul %%pid, %%n : i32\n  %%bs = splat %%base : i32[%d]\n"
                  "  %%r = arange {start=0, end=%d} : i32[%d]\n"
                  "  %%i = add %%bs, %%r : i32[%d]\n",
                  n, n, n, n, n);
    for (int k = 0; k < n_args; k++)
        p += snprintf(p, (size_t)(end - p),
                      "  %%s%d = splat %%%c : ptr<%s>[%d]\n"
                      "  %%p%d = addptr %%s%d, %%i : ptr<%s>[%d]\n"
                      "  %%x%d = load %%p%d : %s[%d]\n",
                      k, 'a' + k, in[k], n, k, k, in[k], n, k, k, in[k], n);
    p += snprintf(p, (size_t)(end - p), "  %%v = %s %%x0", op_info[op].text);
    for (int k = 1; k < n_args; k++)
        p += snprintf(p, (size_t)(end - p), ", %%x%d", k);
    snprintf(
        p, (size_t)(end - p),
        "%s : %s[%d]\n  %%so = splat %%o : ptr<%s>[%d]\n"
        "  %%po = addptr %%so, %%i : ptr<%s>[%d]\n  store %%po, %%v\n  return\n}\n",
        attrs, res, n, res, n, res, n);
    return out;
}

/* Bit patterns where things go wrong, then random ones. */
static uint64_t
pattern(Test *t, Elem e, int i)
{
    int bits = elem_info[e].bits;
    uint64_t ones = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    uint64_t sign = (uint64_t)1 << (bits - 1), r = test_random(t);
    static const double values[] = {0,    1,     -1,    0.5,  2,    3,
                                    -2.5, 1e-40, 65504, 1e10, -3e9, 447};
    switch (i % 16) {
    case 0: return 0;
    case 1: return ones;
    case 2: return sign & ones;
    case 3: return (sign - 1) & ones;
    case 4: return 1;
    case 5: return r % 70;
    case 6: return elem_is_float(e) ? elem_from_double(e, INFINITY) : ones - r % 9;
    case 7: return elem_is_float(e) ? elem_from_double(e, NAN) : r & 0xff & ones;
    case 8:
    case 9: return elem_from_double(e, values[r % COUNT(values)]);
    case 10: return elem_from_double(e, (double)(int64_t)(r % 2000) - 1000);
    default: return r & ones;
    }
}

static uint64_t
get(const char *p, Elem e, int i)
{
    uint64_t v = 0;
    memcpy(&v, p + i * elem_info[e].bytes, elem_info[e].bytes);
    return v;
}

static void
put(char *p, Elem e, int i, uint64_t v)
{
    memcpy(p + i * elem_info[e].bytes, &v, elem_info[e].bytes);
}

static bool
is_nan(Elem e, uint64_t v)
{
    return elem_is_float(e) && isnan(elem_to_double(e, v));
}

/* frem and the like are exact. */
static bool
same(Elem e, uint64_t x, uint64_t y)
{
    return x == y || (is_nan(e, x) && is_nan(e, y));
}

enum { N = 512 };

static void
check_op(Test *t, OpCode op, Elem in, Elem res, const char *attrs, int rounding,
         int block)
{
    int n_args = op_info[op].n_args;
    Elem e[3] = {in, in, in};
    if (op == OP_SELECT)
        e[0] = E_I1;
    const char *names[3];
    for (int k = 0; k < 3; k++)
        names[k] = elem_info[e[k]].text;
    char text[4096];
    Kernel k;
    static _Alignas(64) char data[4][N * 8];
    if (build(t, &k,
              op_text(text, sizeof text, op, attrs, names, n_args, elem_info[res].text,
                      block))) {
        for (int i = 0; i < N; i++)
            for (int a = 0; a < 3; a++)
                put(data[a], e[a], i,
                    pattern(t, e[a], a == 0 ? i : (int)test_random(t)) &
                        (e[a] == E_I1 ? 1 : UINT64_MAX));
        run(t, &k, N / block, data[0], data[1], data[2], data[3]);
        for (int i = 0; i < N; i++) {
            uint64_t x[3], want, got = get(data[3], res, i);
            for (int a = 0; a < 3; a++)
                x[a] = get(data[a], e[a], i);
            bool defined = op == OP_CAST
                               ? (want = elem_cast(in, res, x[0], rounding), true)
                               : ir_eval(op, in, res, x, n_args, &want);
            if (defined)
                CHECKF(t, same(res, want, got),
                       "%s %s -> %s%s: (%llx, %llx, %llx) is %llx, not %llx",
                       op_info[op].text, elem_info[in].text, elem_info[res].text, attrs,
                       (unsigned long long)x[0], (unsigned long long)x[1],
                       (unsigned long long)x[2], (unsigned long long)want,
                       (unsigned long long)got);
        }
    }
    drop(&k);
}

/* c: what the one operand is; "": a second one is loaded. */
static void
check_extreme(Test *t, const char *cpu, OpCode op, Elem e, const char *c, bool is_left,
              int block)
{
    char text[4096], op_line[64], constant[64] = "";
    const char *name = elem_info[e].text;
    op_text(text, sizeof text, op, "", (const char *[]){name, name, name}, 2, name,
            block);
    if (*c) {
        char was[64], *at;
        snprintf(was, sizeof was, "%%v = %s %%x0, %%x1", op_info[op].text);
        snprintf(constant, sizeof constant, "%%c0 = const splat(%s) : %s[%d]\n  ", c,
                 name, block);
        snprintf(op_line, sizeof op_line, "%%v = %s %s, %s", op_info[op].text,
                 is_left ? "%c0" : "%x0", is_left ? "%x0" : "%c0");
        at = strstr(text, was);
        char rest[2048];
        snprintf(rest, sizeof rest, "%s", at + strlen(was));
        snprintf(at, sizeof text - (size_t)(at - text), "%s%s%s", constant, op_line,
                 rest);
    }
    Kernel k;
    if (!build_for(t, &k, text, cpu))
        return;
    enum { SIDE = 16 };
    int bits = elem_info[e].bits;
    uint64_t inf = elem_from_double(e, INFINITY), sign = (uint64_t)1 << (bits - 1);
    uint64_t v[SIDE] = {0,
                        1,
                        inf,
                        inf - 1,
                        inf + 1,
                        elem_from_double(e, NAN),
                        elem_from_double(e, 1),
                        elem_from_double(e, 2.5)};
    for (int i = 0; i < SIDE / 2; i++)
        v[SIDE / 2 + i] = v[i] | sign;
    static _Alignas(64) char data[3][SIDE * SIDE * 8];
    for (int i = 0; i < SIDE * SIDE; i++) {
        put(data[0], e, i, v[i / SIDE]);
        put(data[1], e, i, v[i % SIDE]);
    }
    run(t, &k, SIDE * SIDE / block, data[0], data[1], NULL, data[2]);
    for (int i = 0; i < SIDE * SIDE; i++) {
        uint64_t constant_bits = *c ? elem_from_double(e, strtod(c, NULL)) : 0;
        uint64_t x[2] = {v[i / SIDE], *c ? constant_bits : v[i % SIDE]}, want;
        uint64_t got = get(data[2], e, i);
        ir_eval(op, e, e, x, 2, &want);
        CHECKF(t, same(e, want, got),
               "%s: %s %s by %d of (%llx, %llx%s) is %llx, not %llx",
               cpu ? cpu : "this CPU", op_info[op].text, name, block,
               (unsigned long long)x[0], (unsigned long long)x[1], *c ? " const" : "",
               (unsigned long long)want, (unsigned long long)got);
    }
    drop(&k);
}

static bool
is_math(OpCode op)
{
    return op >= OP_EXP && op <= OP_ERF;
}

static bool
takes(OpCode op, Elem e)
{
    bool f = elem_is_float(e), narrow = elem_info[e].bits < 32;
    switch (op) {
    case OP_HINT:
    case OP_CAST:
    case OP_BITCAST:
    case OP_ADDPTR: return false;
    case OP_UMULHI:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR: return !f;
    case OP_DIV_RN:
    case OP_DIV_APPROX:
    case OP_MINNAN:
    case OP_MAXNAN: return f;
    case OP_FMA: return f && elem_info[e].bits > 8;
    case OPS(OPS_MATH): return f && !narrow;
    case OP_REM:
    case OP_DIV: return !f || !narrow;
    default:
        return e != E_I1 || (op != OP_NEG && op != OP_ABS && op != OP_ADD &&
                             op != OP_SUB && op != OP_MUL);
    }
}

void
test_host_elementwise(Test *t)
{
    for (int op = 0; op < N_OP; op++) {
        if (!(op_info[op].flags & OPF_ELEM) || op_info[op].n_args < 0 ||
            is_math((OpCode)op))
            continue;
        for (int e = 0; e < N_ELEM; e++) {
            if (!takes((OpCode)op, (Elem)e))
                continue;
            bool compares = op >= OP_EQ && op <= OP_GE;
            Elem res = compares ? E_I1 : (Elem)e;
            /* rsqrt is not exact, by half a step */
            if (op != OP_RSQRT)
                check_op(t, (OpCode)op, (Elem)e, res, "", 0, e % 2 ? 64 : 32);
        }
        check_op(t, OP_SUB, E_F32, E_F32, "", 0, 1);
    }
}

/* Zeros, NaNs of both kinds and others, each beside each; and beside constants, which are known
 * when the code is made. For this CPU and for lesser ones. */
void
test_host_extremes(Test *t)
{
    static const char *const cpus[] = {NULL, "x86-64-v3", "x86-64-v2"};
    static const char *const constants[] = {"", "0.0", "-0.0", "1.0", "-2.5", "nan"};
    static const Elem elems[] = {E_F16, E_BF16, E_F32, E_F64};
    static const OpCode ops[] = {OP_MIN, OP_MAX, OP_MINNAN, OP_MAXNAN};
    static const int blocks[] = {1, 2, 8, 128};
#if defined __x86_64__
    int n_cpus = COUNT(cpus);
#else
    int n_cpus = 1;
#endif
    int n = n_cpus * COUNT(constants) * COUNT(elems) * COUNT(ops) * 2;
    for (int i = 0; i < n; i++) {
        int k = i;
        bool is_left = k % 2;
        OpCode op = ops[(k /= 2) % COUNT(ops)];
        Elem e = elems[(k /= COUNT(ops)) % COUNT(elems)];
        const char *c = constants[(k /= COUNT(elems)) % COUNT(constants)];
        const char *cpu = cpus[k / COUNT(constants)];
        if (!*c && is_left)
            continue;
        check_extreme(t, cpu, op, e, c, is_left, blocks[i / 2 % COUNT(blocks)]);
    }
}

void
test_host_casts(Test *t)
{
    for (int a = 0; a < N_ELEM; a++)
        for (int b = 0; b < N_ELEM; b++) {
            bool fp8 = (float_form[a].saturates && elem_is_int((Elem)b)) ||
                       (float_form[b].saturates && elem_is_int((Elem)a));
            if (a == b || fp8)
                continue;
            check_op(t, OP_CAST, (Elem)a, (Elem)b, "", ROUND_RTNE, 64);
            if (elem_is_float((Elem)a) && elem_is_float((Elem)b) &&
                elem_info[a].bits > elem_info[b].bits)
                check_op(t, OP_CAST, (Elem)a, (Elem)b, " {rounding=rtz}", ROUND_RTZ,
                         64);
        }
}

/* ---- math ------------------------------------------------------------------------------- */

enum { N_MATH = 1 << 19, BLOCK = 1024 };

/* In units of the last place of a result; want is right to a good part of one. */
static double
ulps(Elem e, double got, long double want)
{
    bool is_wide = e == E_F64;
    double near = is_wide ? (double)want : (double)(float)want,
           large = is_wide ? 1.79e308 : 3.4e38;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(near) || isinf(got))
        return near == got                                ? 0
               : fabs(got) > large && fabsl(want) > large ? 1
                                                          : INFINITY;
    int exp;
    frexpl(want, &exp);
    exp = is_wide ? MAX(exp - 53, -1074) : MAX(exp - 24, -149);
    return (double)(fabsl((long double)got - want) / ldexpl(1, exp));
}

static long double
libm(OpCode op, long double x)
{
    switch (op) {
    case OP_EXP: return expl(x);
    case OP_EXP2: return exp2l(x);
    case OP_LOG: return logl(x);
    case OP_LOG2: return log2l(x);
    case OP_SIN: return sinl(x);
    case OP_COS: return cosl(x);
    case OP_TANH: return tanhl(x);
    case OP_ERF: return erfl(x);
    default: return 1 / sqrtl(x);
    }
}

/* What inputs are made of: of four, number i has the bits of mask[i] at random, and above base[i]. */
typedef struct Inputs {
    uint64_t mask[4], base[4];
} Inputs;

static void
make_inputs(Test *t, Elem e, const Inputs *in, char *x, int n)
{
    uint64_t sign = (uint64_t)1 << (elem_info[e].bits - 1);
    const uint64_t corner[] = {0,
                               sign,
                               elem_from_double(e, INFINITY),
                               elem_from_double(e, -INFINITY),
                               elem_from_double(e, NAN),
                               1,
                               elem_from_double(e, 1),
                               sign | 1};
    for (int i = 0; i < n; i++) {
        uint64_t u = test_random(t) ^ test_random(t) << 32;
        put(x, e, i,
            i < (int)COUNT(corner) ? corner[i]
                                   : (u & in->mask[i % 4]) + in->base[i % 4]);
    }
}

/* Is a result as far off as it may be? f32's sines of large numbers have a bound of their own. */
static double
off_by(OpCode op, Elem e, double x, double got, long double want)
{
    bool is_large = e == E_F32 && fabs(x) > 0x1p30;
    if (is_large && (op == OP_SIN || op == OP_COS) &&
        (fabsl((long double)got - want) <= 0x1p-24L || isinf(x)))
        return 0;
    return ulps(e, got, want);
}

static void
check_math(Test *t, Elem e, OpCode op, double bound, const Inputs *in, char *x, char *y,
           int n)
{
    Kernel kernel;
    char text[4096];
    const char *name = elem_info[e].text;
    make_inputs(t, e, in, x, n);
    if (build(t, &kernel,
              op_text(text, sizeof text, op, "", (const char *[]){name, name, name}, 1,
                      name, BLOCK))) {
        run(t, &kernel, n / BLOCK, x, x, x, y);
        double worst = 0;
        for (int i = 0; i < n; i++) {
            double a = elem_to_double(e, get(x, e, i)),
                   got = elem_to_double(e, get(y, e, i));
            long double want = libm(op, (long double)a);
            double off = off_by(op, e, a, got, want);
            worst = MAX(worst, off);
            CHECKF(t, off <= bound && (want != 0 || !signbit(want) == !signbit(got)),
                   "%s(%a) of %s is %La, not %a: %.2f ulp", op_info[op].text, a, name,
                   want, got, off);
        }
        if (getenv("TEGULA_TEST_SHOW"))
            printf("  %-6s %.3f ulp\n", op_info[op].text, worst);
    }
    drop(&kernel);
}

static void
check_all_math(Test *t, Elem e, const Inputs *in, double of_rsqrt, int n)
{
    static const struct {
        OpCode op;
        double ulp;
    } bound[] = {{OP_EXP, 2}, {OP_EXP2, 2}, {OP_LOG, 2},  {OP_LOG2, 2},
                 {OP_SIN, 2}, {OP_COS, 2},  {OP_TANH, 3}, {OP_ERF, 3}};
    char *x = malloc((size_t)n * 8), *y = malloc((size_t)n * 8);
    for (size_t k = 0; x && y && k < COUNT(bound); k++)
        check_math(t, e, bound[k].op, bound[k].ulp, in, x, y, n);
    if (x && y)
        check_math(t, e, OP_RSQRT, of_rsqrt, in, x, y, n);
    free(x);
    free(y);
}

/* Every exponent and sign; near 0 and 1 more closely. */
void
test_host_math(Test *t)
{
    static const Inputs in = {
        .mask = {UINT32_MAX, 0x80ffffff, 0x81ffffff, UINT32_MAX},
        .base = {0, 0x3e800000, 0x40000000, 0},
    };
    check_all_math(t, E_F32, &in, 1.5, N_MATH);
}

/* Every exponent and sign; 2^-24 .. 2^8 and 1/4 .. 4 more closely. */
void
test_host_math_f64(Test *t)
{
    static const Inputs in = {
        .mask = {UINT64_MAX, 0x81ffffffffffffff, 0x803fffffffffffff,
                 0x803fffffffffffff},
        .base = {0, 0x3e70000000000000, 0x3fd0000000000000, 0x3fd0000000000000},
    };
    check_all_math(t, E_F64, &in, 2, N_MATH / 4);
}

/* ---- the loader ---------------------------------------------------------------------------- */

static const char add_one[] =
    "func @f(%a: ptr<f32>, %b: ptr<f32>, %c: ptr<f32>, %o: ptr<f32>) {\n"
    "  %x = load %a : f32\n  %y = rem %x, %x : f32\n  %z = exp %y : f32\n"
    "  store %o, %z\n  return\n}\n";

/* Any truncation and any changed byte of the headers is an error or harmless: never run,
 * only linked. */
void
test_host_broken_object(Test *t)
{
    Kernel k;
    if (build(t, &k, add_one)) {
        const Stage *obj = binary_stage(&k.bin, "obj");
        char err[ERR_TEXT], *copy = malloc(obj->size);
        void *fn;
        for (size_t n = 0; copy && n < obj->size; n += 1 + n / 64) {
            memcpy(copy, obj->data, n);
            JitCode *j = jit_load(copy, n, k.bin.symbol, &fn, err);
            CHECKF(t, !j || n > obj->size / 2, "%zu of %zu bytes", n, obj->size);
            jit_unload(j);
        }
        for (int i = 0; copy && i < 20000; i++) {
            memcpy(copy, obj->data, obj->size);
            for (int b = 0; b < 3; b++)
                copy[test_random(t) % obj->size] = (char)test_random(t);
            jit_unload(jit_load(copy, obj->size, k.bin.symbol, &fn, err));
            t->n_checks++;
        }
        JitCode *j = jit_load(obj->data, obj->size, "other", &fn, err);
        CHECK(t, !j && strstr(err, "other"));
        free(copy);
    }
    drop(&k);
}

/* ---- the pool --------------------------------------------------------------------------------- */

static void
count_one(const uint64_t *params, const int32_t pid[3], const int32_t grid[3],
          char *scratch)
{
    int *seen = (int *)(uintptr_t)params[0];
    int64_t at = pid[0] + (int64_t)grid[0] * (pid[1] + (int64_t)grid[1] * pid[2]);
    __atomic_fetch_add(&seen[at], 1, __ATOMIC_RELAXED);
    memset(scratch + 64, 1, 1000);
}

static bool
runs_all_once(int gx, int gy, int gz, int n_threads)
{
    int n = gx * gy * gz;
    int *seen = calloc((size_t)n + 1, sizeof *seen);
    uint64_t params[] = {(uintptr_t)seen};
    char err[ERR_TEXT];
    int32_t grid[3] = {gx, gy, gz};
    HostLaunch launch = {.kernel = count_one,
                         .params = params,
                         .grid = grid,
                         .scratch_bytes = 2000,
                         .n_threads = n_threads};
    bool ok = seen && pool_run(&launch, err);
    for (int i = 0; ok && i < n; i++)
        ok = seen[i] == 1;
    free(seen);
    return ok;
}

static void *
many_runs(void *ok)
{
    for (int i = 0; i < 200; i++)
        if (!runs_all_once(1 + i % 40, 1 + i % 3, 1 + i % 2, i % 5))
            *(bool *)ok = false;
    return NULL;
}

void
test_host_pool(Test *t)
{
    char err[ERR_TEXT];
    int32_t grids[3][3] = {{0, 5, 5}, {-1, 1, 1}, {INT32_MAX, INT32_MAX, 9}};
    for (int i = 0; i < 3; i++) {
        HostLaunch launch = {
            .kernel = count_one, .grid = grids[i], .scratch_bytes = 64};
        CHECK(t, pool_run(&launch, err) == (i == 0));
    }
    for (int n = 0; n < 6; n++)
        CHECK(t, runs_all_once(1, 1, 1, n) && runs_all_once(1000, 1, 1, n) &&
                     runs_all_once(7, 5, 3, n));
    pthread_t thread[4];
    bool ok[4] = {true, true, true, true};
    int n_started = 0;
    for (; n_started < 4; n_started++)
        if (pthread_create(&thread[n_started], NULL, many_runs, &ok[n_started]))
            break;
    for (int i = 0; i < n_started; i++) {
        pthread_join(thread[i], NULL);
        CHECK(t, ok[i]);
    }
    pid_t child = fork();
    if (child == 0)
        _exit(runs_all_once(500, 2, 1, 3) && runs_all_once(500, 2, 1, 3) ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(t, WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(t, runs_all_once(500, 2, 1, 3));
}

/* ---- out of memory --------------------------------------------------------------------------- */

static const char row_max[] =
    "func @f(%a: ptr<f32>, %b: ptr<f32>, %c: ptr<f32>, %o: ptr<f32>) {\n"
    "  %i = arange {start=0, end=64} : i32[64]\n"
    "  %s = splat %a : ptr<f32>[64]\n"
    "  %p = addptr %s, %i : ptr<f32>[64]\n"
    "  %x = load %p : f32[64]\n"
    "  %m = reduce %x {axis=0} : f32 ^(%u: f32, %v: f32) {\n"
    "    %t = max %u, %v : f32\n    yield %t\n  }\n"
    "  %ms = splat %m : f32[64]\n"
    "  %d = sub %x, %ms : f32[64]\n"
    "  %so = splat %o : ptr<f32>[64]\n"
    "  %po = addptr %so, %i : ptr<f32>[64]\n"
    "  store %po, %d\n  return\n}\n";

/* The n-th allocation fails, for many n until the compile succeeds. */
void
test_host_out_of_memory(Test *t)
{
    bool ok = false;
    for (size_t n = 1; !ok && n < 100000; n += 1 + n / 8) {
        Kernel k = {.text = row_max};
        if (!comp_init(&k.c))
            return;
        arena_fail_after(k.c.arena, n);
        ok = comp_run(&k.c, compile, &k);
        CHECK(t, ok || k.c.err.code == ERR_MEMORY);
        binary_free(&k.bin);
        comp_done(&k.c);
    }
    CHECK(t, ok);
}
