/* tirc: the compiler without Python. Tile IR in, named passes, tile IR out.
 *
 *     tirc fold,cse kernel.tir            what the passes make of it, on stdout
 *     tirc -t cuda:80 -w 8 settle_layouts 07-licm.tir
 *     tirc verify -                       reads stdin; the text as tirc prints it
 *     tirc interp kernel.tir              runs it, see below
 *     tirc --random 42 print              a random kernel with its ARG lines
 *     tirc -t cpu --random 0..99 tile,check    a hundred of them; errors name the seed
 *     tirc -t cpu --odd 0..99 tile,check       the same with sides as 3, 24, 100 among them
 *
 * Words are passes of passes.def, or: print (changes nothing), locs (prints locations
 * from here on), verify (always done after reading and after each pass), tile (every
 * pass of that level, in order), simt, facts, access, interp, run, check, time, llir, asm,
 * ptx. The result is printed at the end, unless the last word prints something else.
 * Errors go to stderr, with status 1.
 *
 *     interp            runs it, prints what the kernel prints, then its buffers
 *     run               the same with compiled code: -t cpu, emu:80, cuda:90 (first GPU)
 *     check             both must agree; -e is how far floats may be off (1e-5); -o 7
 *                       shuffles the emulator's threads by that seed
 *                       -m x86-64-v3 makes host code for a lesser CPU
 *     time              what codegen, loading and the best of 21 runs take
 *     llir asm ptx      print the code, optimised
 *
 * Code for GPUs and the emulator is made from a function with layouts (word simt). A
 * random kernel is compiled without fused multiply-adds, which have another answer.
 *
 * facts prints what is known of each integer and pointer: contiguity, divisibility and
 * constancy per dim, range. access prints how wide each load and store may be along its
 * fastest dim; the parameters then show which questions that took ("?div8").
 *
 * interp, run, check and time take the grid and the arguments from comment lines of the
 * file, one line for each parameter, in order; a buffer is of the pointer's element type:
 *
 *     // GRID: 2, 1, 1                    missing: 1, 1, 1
 *     // ARG: 12                          a scalar
 *     // ARG: [1.0, nan, -0.0 x 6]        a buffer of 8 elements: x repeats
 *     // ARG: [0..127]                    counts up, ends included
 *     // ARG: [random 64 7]               64 elements from seed 7: small whole numbers
 *
 * interp and the emulator check every access against the buffers; after run, what stands
 * beside the buffers must be untouched.
 */
#include "codegen/codegen.h"
#include "passes/passes.h"
#include "runtime/emu/emu.h"
#include "tools/tirc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

enum {
    MAX_ARGS = 256,
    MAX_BUFFER = 1 << 22, /* elements */
    RED_ZONE = 4096,      /* bytes beside a buffer that belong to none */
};

typedef struct Buffer {
    const Type *elem; /* scalar */
    char *at;         /* NULL: the argument is a scalar */
    int64_t n;        /* elements */
} Buffer;

typedef VEC(uint64_t) Bits;

typedef struct Tirc {
    const char *words; /* passes, comma-separated */
    const char *file;  /* name, for messages */
    const char *text;
    bool with_locs;
    bool is_random;           /* no text: a function from seed */
    bool is_odd;              /* ... with sides that are no powers of two, too */
    uint64_t seed, last_seed; /* of the random functions still to make */
    int n_ops;
    Gpu *gpu; /* opened by the first run on it */
    Comp *c;
    Buffer buffer[MAX_ARGS];
    uint64_t arg[MAX_ARGS];
    int n_args;
    int32_t grid[3];
    const char *cpu;  /* of Comp; NULL: this one */
    double tolerance; /* of check: relative, of f32 and f64 */
    uint64_t order;   /* of the emulator's threads: EmuRun.seed */
} Tirc;

/* ---- arguments of interp -------------------------------------------------------- */

static NORETURN void
bad_arg(Comp *c, int i, const char *what)
{
    err_at(c, NULL, VALUE, str_printf(c->arena, "ARG %d: %s", i, what));
}

static int64_t
buffer_bytes(const Buffer *b)
{
    return b->n * elem_info[b->elem->elem].bytes;
}

static void
put_elem(Buffer *b, int64_t i, uint64_t bits)
{
    int n = elem_info[b->elem->elem].bytes;
    memcpy(b->at + i * n, &bits, (size_t)n);
}

static uint64_t
get_elem(const Buffer *b, int64_t i)
{
    uint64_t bits = 0;
    int n = elem_info[b->elem->elem].bytes;
    memcpy(&bits, b->at + i * n, (size_t)n);
    return b->elem->elem == E_I1 ? bits != 0 : bits;
}

/* Whole numbers, so that sums are exact in every float type. */
static uint64_t
random_elem(Elem e, uint64_t *rng)
{
    uint64_t x = *rng += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    if (e == E_I1)
        return x & 1;
    bool is_signed = elem_is_float(e) || elem_is_signed(e);
    return elem_from_int(e, (int64_t)(x % 15) - (is_signed ? 7 : 0));
}

/* One item of a buffer's list. */
static void
add_item(Comp *c, int i, const Type *t, char *s, Bits *v)
{
    long long first, last, n = 1;
    unsigned long long seed;
    int end = 0;
    uint64_t bits;
    if (sscanf(s, "random %lld %llu%n", &n, &seed, &end) == 2 && end && !s[end]) {
        if (n < 0 || n > MAX_BUFFER)
            bad_arg(c, i, "too long");
        for (uint64_t rng = seed; n > 0; n--)
            PUSH(c->arena, v, random_elem(t->elem, &rng));
        return;
    }
    end = 0;
    if (sscanf(s, "%lld..%lld%n", &first, &last, &end) == 2 && end && !s[end]) {
        if (last < first || last - first >= MAX_BUFFER)
            bad_arg(c, i, "bad range");
        for (; first <= last; first++)
            PUSH(c->arena, v, elem_from_int(t->elem, first));
        return;
    }
    char *times = strstr(s, " x ");
    n = 1;
    if (times) {
        n = atoll(times + 3);
        *times = 0;
    }
    if (n < 0 || n > MAX_BUFFER || !elem_parse(t, s, &bits))
        bad_arg(c, i,
                str_printf(c->arena, "'%s' is no item of %s", s, ty_str(c->arena, t)));
    for (; n > 0; n--)
        PUSH(c->arena, v, bits);
}

/* "[1, 2 x 3]" or "5": the text of ARG line i. */
static void
set_arg(Comp *c, Tirc *t, const Type *type, ArgFacts facts, char *s)
{
    int i = t->n_args++;
    Buffer *b = &t->buffer[i];
    *b = (Buffer){0};
    if (type->is_ptr != (*s == '['))
        bad_arg(c, i, type->is_ptr ? "expected a buffer: [..]" : "expected one value");
    if (!type->is_ptr) {
        if (!elem_parse(type, s, &t->arg[i]))
            bad_arg(c, i,
                    str_printf(c->arena, "'%s' is no %s", s, ty_str(c->arena, type)));
        return;
    }
    Bits v = {0};
    b->elem = ty_scalar(c, type->elem);
    for (s++; *s && *s != ']';) {
        s += strspn(s, " ");
        size_t n = strcspn(s, ",]");
        char *item = str_printf(c->arena, "%.*s", (int)n, s);
        if (n)
            add_item(c, i, b->elem, item, &v);
        s += n + (s[n] == ',');
    }
    b->n = v.n;
    /* No better aligned than the facts say: code must not count on more. */
    int offset = elem_info[type->elem].bytes;
    for (int d = FACT_DIV2; d < FACT_DIV16; d <<= 1)
        if (facts.truth & d)
            offset = MAX(offset, d);
    if (facts.truth & FACT_DIV16)
        offset = 0;
    size_t size = (size_t)buffer_bytes(b) + 2 * RED_ZONE + (size_t)offset;
    b->at = (char *)arena_alloc(c->arena, size, 64) + RED_ZONE + offset;
    t->arg[i] = (uintptr_t)b->at;
    for (int k = 0; k < v.n; k++)
        put_elem(b, k, v.at[k]);
}

/* The GRID and ARG lines of the text. */
static void
read_args(Comp *c, Tirc *t, const Func *f)
{
    t->n_args = 0;
    t->grid[0] = t->grid[1] = t->grid[2] = 1;
    for (const char *s = t->text; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        size_t n = strcspn(s, "\r\n");
        char *line = str_printf(c->arena, "%.*s", (int)n, s);
        while (n && line[n - 1] == ' ')
            line[--n] = 0;
        if (!strncmp(line, "// GRID:", 8)) {
            sscanf(line + 8, "%d, %d, %d", &t->grid[0], &t->grid[1], &t->grid[2]);
        } else if (!strncmp(line, "// ARG:", 7)) {
            if (t->n_args == f->body->n_args || t->n_args == MAX_ARGS)
                bad_arg(c, t->n_args, "more than the function has parameters");
            char *value = line + 7 + strspn(line + 7, " ");
            int slot = f->slot[t->n_args];
            ArgFacts facts = {0};
            if (slot >= 0 && slot < f->n_facts)
                facts = f->facts[slot];
            set_arg(c, t, f->body->args[t->n_args]->type, facts, value);
        }
    }
    if (t->n_args != f->body->n_args)
        bad_arg(c, t->n_args, "no ARG line for this parameter");
}

/* ---- interp --------------------------------------------------------------------- */

/* The buffer whose elements or red zones hold the address; -1: none. */
static int
buffer_at(const Tirc *t, uint64_t address)
{
    for (int i = 0; i < t->n_args; i++) {
        const Buffer *b = &t->buffer[i];
        uint64_t start = (uintptr_t)b->at - RED_ZONE;
        if (b->at && address - start < (uint64_t)buffer_bytes(b) + 2 * RED_ZONE)
            return i;
    }
    return -1;
}

static bool
check_access(void *data, uint64_t address, int bytes, bool is_write, const Loc *loc)
{
    const Tirc *t = data;
    int i = buffer_at(t, address);
    const char *what = is_write ? "write" : "read";
    if (i < 0)
        err_at(t->c, loc, VALUE,
               str_printf(t->c->arena, "%s far from every buffer", what));
    const Buffer *b = &t->buffer[i];
    int64_t at = (int64_t)(address - (uintptr_t)b->at);
    if (at < 0 || at + bytes > buffer_bytes(b))
        err_at(t->c, loc, VALUE,
               str_printf(t->c->arena,
                          "%s at byte %" PRId64 " of ARG %d, which has %" PRId64, what,
                          at, i, buffer_bytes(b)));
    return true;
}

/* Every NaN is "nan": which one a machine makes is its own habit. */
static const char *
item_str(Comp *c, const Type *t, uint64_t bits)
{
    if (elem_is_float(t->elem) && isnan(elem_to_double(t->elem, bits)))
        return "nan";
    return elem_str(c->arena, t, bits);
}

static void
print_buffer(Comp *c, int i, const Buffer *b)
{
    printf("// ARG %d: %s [", i, ty_str(c->arena, b->elem));
    for (int64_t k = 0, n; k < b->n; k += n) {
        uint64_t bits = get_elem(b, k);
        for (n = 1; k + n < b->n && get_elem(b, k + n) == bits; n++)
            ;
        n = n < 3 ? 1 : n;
        printf("%s%s", k ? ", " : "", item_str(c, b->elem, bits));
        if (n > 1)
            printf(" x %" PRId64, n);
    }
    printf("]\n");
}

static void
print_buffers(Comp *c, const Tirc *t)
{
    for (int i = 0; i < t->n_args; i++)
        if (t->buffer[i].at)
            print_buffer(c, i, &t->buffer[i]);
}

static void
drop_binary(void *b)
{
    binary_free(b);
}

static void
drop_code(void *j)
{
    jit_unload(j);
}

/* What codegen makes of the function; for GPUs it has layouts by now. */
static Binary *
generate(Func *f)
{
    Binary *out = NEW(f->c->arena, Binary);
    arena_defer(f->c->arena, drop_binary, out);
    if (f->c->opt.target.kind == TARGET_CPU)
        cg_host(f, out);
    else
        cg_simt(f, out);
    return out;
}

static void
interp(Comp *c, Tirc *t, const Func *f)
{
    read_args(c, t, f);
    InterpRun run = {.args = t->arg, .access = check_access, .data = t, .out = stdout};
    memcpy(run.grid, t->grid, sizeof run.grid);
    ir_interpret(f, &run);
    print_buffers(c, t);
}

/* ---- run, check, time ------------------------------------------------------------ */

static void
run_emulated(Comp *c, Tirc *t, const Binary *b, void *fn)
{
    EmuRegion *regions = NEW_N(c->arena, EmuRegion, MAX(t->n_args, 1));
    EmuRun run = {.params = t->arg,
                  .num_warps = b->num_warps,
                  .num_ctas = b->num_ctas,
                  .shared_bytes = b->shared,
                  .regions = regions,
                  .n_host_threads = 1,
                  .seed = t->order,
                  .out = stdout};
    memcpy(&run.kernel, &fn, sizeof fn);
    memcpy(run.grid, t->grid, sizeof run.grid);
    for (int i = 0; i < t->n_args; i++)
        if (t->buffer[i].at)
            regions[run.n_regions++] = (EmuRegion){
                .start = (uintptr_t)t->buffer[i].at,
                .bytes = (uint64_t)buffer_bytes(&t->buffer[i]),
                .param = i,
            };
    EmuReport r = {0};
    if (emu_run(&run, &r))
        return;
    const Loc *l = NULL;
    if (r.file)
        l = loc_new(c, r.file, r.func, r.line, r.col, r.line, r.col, NULL);
    err_at(c, l, VALUE, str_printf(c->arena, "%s", r.text));
}

static void
run_cuda(Comp *c, Tirc *t, const Binary *b, void *fn)
{
    char err[ERR_TEXT] = "";
    (void)fn;
    if (!t->gpu && !(t->gpu = gpu_open(err)))
        err_at(c, NULL, VALUE, str_printf(c->arena, "%s", err));
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
            .bytes = behind + (size_t)buffer_bytes(&t->buffer[i]) + RED_ZONE,
            .param = i,
            .offset = behind,
        };
    }
    CudaStart start = {.num_warps = b->num_warps, .num_ctas = b->num_ctas};
    memcpy(start.grid, t->grid, sizeof start.grid);
    if (!gpu_run(t->gpu, b, &start, params, t->n_args, buffers, n, err))
        err_at(c, NULL, VALUE, str_printf(c->arena, "%s", err));
}

static void
run_host(Comp *c, Tirc *t, const Binary *b, void *fn)
{
    char err[ERR_TEXT] = "";
    HostKernel *k;
    memcpy(&k, &fn, sizeof k);
    HostLaunch launch = {
        .kernel = k, .params = t->arg, .grid = t->grid, .scratch_bytes = b->scratch};
    if (!pool_run(&launch, err))
        err_at(c, NULL, VALUE, str_printf(c->arena, "%s", err));
}

/* Code has no check of its own: bytes beside the buffers that are not 0 any more. */
static void
check_red_zones(Comp *c, const Tirc *t)
{
    for (int i = 0; i < t->n_args; i++) {
        const Buffer *b = &t->buffer[i];
        for (int64_t k = 0; b->at && k < RED_ZONE; k++)
            if (b->at[k - RED_ZONE] || b->at[buffer_bytes(b) + k])
                err_at(c, NULL, VALUE,
                       str_printf(c->arena, "a write beside ARG %d", i));
    }
}

/* The object code of hosts and the emulator as a function; NULL on a GPU. */
static void *
load_code(Comp *c, const Binary *b)
{
    if (c->opt.target.kind == TARGET_CUDA)
        return NULL;
    const Stage *obj = binary_stage(b, "obj");
    void *fn;
    char err[ERR_TEXT] = "";
    JitCode *j = jit_load(obj->data, obj->size, b->symbol, &fn, err);
    if (!j)
        err_at(c, NULL, VALUE, str_printf(c->arena, "%s", err));
    arena_defer(c->arena, drop_code, j);
    return fn;
}

/* Compiles f and runs the grid; prints times when asked. */
static void
run_code(Comp *c, Tirc *t, Func *f, bool is_timed)
{
    static void (*const machine[])(Comp *, Tirc *, const Binary *, void *) = {
        [TARGET_CPU] = run_host,
        [TARGET_CUDA] = run_cuda,
        [TARGET_EMU] = run_emulated,
    };
    double start = clock_ms();
    const Binary *out = generate(f);
    double compiled = clock_ms();
    void *fn = load_code(c, out);
    double loaded = clock_ms();
    machine[c->opt.target.kind](c, t, out, fn);
    double ran = clock_ms() - loaded;
    for (int i = 0; is_timed && i < 20; i++) {
        double again = clock_ms();
        machine[c->opt.target.kind](c, t, out, fn);
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

/* The interpreter and the code must agree about every buffer. */
static void
check(Comp *c, Tirc *t, Func *f)
{
    read_args(c, t, f);
    InterpRun run = {.args = t->arg, .access = check_access, .data = t, .out = stdout};
    memcpy(run.grid, t->grid, sizeof run.grid);
    ir_interpret(f, &run);
    Tirc expected = *t;
    read_args(c, t, f);
    run_code(c, t, f, false);
    for (int i = 0; i < t->n_args; i++) {
        const Buffer *b = &t->buffer[i];
        for (int64_t k = 0; b->at && k < b->n; k++) {
            uint64_t x = get_elem(&expected.buffer[i], k), y = get_elem(b, k);
            if (!same_elem(t, b->elem->elem, x, y))
                err_at(c, NULL, VALUE,
                       str_printf(c->arena,
                                  "ARG %d, element %" PRId64
                                  ": interpreter %s, code %s",
                                  i, k, elem_str(c->arena, b->elem, x),
                                  elem_str(c->arena, b->elem, y)));
        }
    }
}

/* ---- facts and accesses --------------------------------------------------------- */

static const char *
name_of(Comp *c, const Val *v)
{
    return v->name ? str_printf(c->arena, "%%%s", v->name) : "%-";
}

static void
print_facts(Comp *c, FactTable *t, const Val *v)
{
    if (!v->type->is_ptr && elem_is_float(v->type->elem))
        return;
    const Facts *f = facts_of(t, v);
    printf("// %s : %s", name_of(c, v), ty_str(c->arena, v->type));
    for (int d = 0; d < v->type->rank; d++)
        printf("  C%d D%d K%d", 1 << f->contiguity[d], 1 << f->divisibility[d],
               1 << f->constancy[d]);
    if (!v->type->rank)
        printf("  D%d", 1 << f->scalar_div);
    if (!v->type->is_ptr)
        printf("  %" PRId64 "..%" PRId64, f->lo, f->hi);
    printf("\n");
}

static void
print_access(Comp *c, FactTable *t, const Op *o)
{
    int dim = facts_fastest_dim(t, o);
    int w = facts_access_log2(t, o, dim, 16);
    printf("// %s %s: dim %d, %d elements\n", info(o)->text, name_of(c, arg(o, 0)), dim,
           1 << w);
}

static void
print_block_facts(Comp *c, FactTable *t, const Block *b, bool accesses)
{
    for (int i = 0; i < b->n_args && !accesses; i++)
        print_facts(c, t, b->args[i]);
    for (const Op *o = b->first; o; o = o->next) {
        bool is_access = o->op == OP_LOAD || o->op == OP_STORE ||
                         o->op == OP_ATOMIC_RMW;
        if (accesses && is_access && arg(o, 0)->type->rank)
            print_access(c, t, o);
        for (int i = 0; i < o->n_results && !accesses; i++)
            print_facts(c, t, result(o, i));
        for (int r = 0; r < o->n_regions; r++)
            print_block_facts(c, t, o->regions[r], accesses);
    }
}

/* ---- code ------------------------------------------------------------------------ */

static void
print_code(Func *f, const char *stage)
{
    const Stage *s = binary_stage(generate(f), stage);
    if (!s)
        err_at(f->c, NULL, ARGUMENT, stage, "this target has no such stage");
    fwrite(s->data, 1, s->size, stdout);
}

/* ---- words ---------------------------------------------------------------------- */

/* Runs one word; returns false when the function need not be printed after it. */
static bool
run_word(Comp *c, Tirc *t, Func *f, const char *w)
{
    const PassInfo *pass = pass_by_name(w);
    if (!strcmp(w, "interp")) {
        interp(c, t, f);
        return false;
    }
    if (!strcmp(w, "run") || !strcmp(w, "time")) {
        read_args(c, t, f);
        run_code(c, t, f, *w == 't');
        if (*w == 'r')
            print_buffers(c, t);
        return false;
    }
    if (!strcmp(w, "check")) {
        check(c, t, f);
        return false;
    }
    if (!strcmp(w, "llir") || !strcmp(w, "asm") || !strcmp(w, "ptx")) {
        print_code(f, w);
        return false;
    }
    if (pass)
        pass->run(f);
    else if (!strcmp(w, "tile"))
        passes_run(f, order_tile);
    else if (!strcmp(w, "simt"))
        passes_run(f, order_simt);
    else if (!strcmp(w, "facts") || !strcmp(w, "access"))
        print_block_facts(c, facts_new(f), f->body, *w == 'a');
    else if (!strcmp(w, "locs"))
        t->with_locs = true;
    else if (strcmp(w, "print") != 0 && strcmp(w, "verify") != 0)
        err_at(c, NULL, ARGUMENT, "tirc",
               str_printf(c->arena, "no pass is named '%s'", w));
    ir_verify(f, w);
    return true;
}

static const char *
source_line(Comp *c, const char *file, int line)
{
    const Tirc *t = c->source_data;
    const char *s = t->text;
    if (strcmp(file, "tir") != 0)
        return NULL;
    for (; line > 1 && *s; line--) {
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    return s;
}

static void
compile(Comp *c, void *data)
{
    Tirc *t = data;
    Func *f;
    if (t->is_random) {
        f = ir_random(c, &(RandomSpec){.seed = t->seed,
                                       .n_ops = t->n_ops,
                                       .odd_sides = t->is_odd});
        t->text = ir_random_args(f, t->seed);
    } else {
        f = ir_parse(c, t->text);
    }
    ir_verify(f, "reading");
    bool wants_text = true;
    for (const char *s = t->words; *s; s += *s == ',') {
        size_t n = strcspn(s, ",");
        wants_text = run_word(c, t, f, str_printf(c->arena, "%.*s", (int)n, s));
        s += n;
    }
    if (wants_text && t->is_random)
        fputs(t->text, stdout);
    if (wants_text)
        fputs(ir_print(f, t->with_locs), stdout);
}

/* ---- the command line ----------------------------------------------------------- */

/* cpu, cuda:80, emu:sm_90a; sm_ may be missing. */
static bool
parse_target(const char *s, Target *t)
{
    *t = (Target){.kind = TARGET_CPU};
    if (!strcmp(s, "cpu"))
        return true;
    t->kind = !strncmp(s, "cuda:", 5) ? TARGET_CUDA : TARGET_EMU;
    if (t->kind == TARGET_EMU && strncmp(s, "emu:", 4) != 0)
        return false;
    s = strchr(s, ':') + 1;
    s += !strncmp(s, "sm_", 3) ? 3 : 0;
    char *end;
    t->sm = (int)strtol(s, &end, 10);
    t->accelerated = !strcmp(end, "a");
    return end != s && (!*end || t->accelerated);
}

static char *
read_all(const char *file)
{
    FILE *in = !strcmp(file, "-") ? stdin : fopen(file, "rb");
    if (!in) {
        perror(file);
        return NULL;
    }
    size_t n = 0, cap = 1 << 16, got;
    char *text = malloc(cap + 1);
    while (text && (got = fread(text + n, 1, cap - n, in)) > 0) {
        n += got;
        if (n == cap) {
            char *more = realloc(text, (cap *= 2) + 1);
            if (!more)
                free(text);
            text = more;
        }
    }
    if (text)
        text[n] = 0;
    if (in != stdin)
        fclose(in);
    return text;
}

static int
usage(void)
{
    fputs(
        "usage: tirc [-t cpu|cuda:80|emu:90a] [-w warps] [-s stages] [-m cpu] [-e tolerance]\n"
        "            [-o order] [--random|--odd seed[..seed] [-n ops]] word[,word] [file]\n"
        "words: the passes of passes.def, tile, simt, print, locs, verify, facts, access,\n"
        "       interp, run, check, time, llir, asm, ptx\n",
        stderr);
    return 2;
}

/* 42 or 0..99, ends included. */
static bool
parse_seeds(const char *s, Tirc *t)
{
    char *end;
    t->seed = t->last_seed = strtoull(s, &end, 0);
    if (!strncmp(end, "..", 2))
        t->last_seed = strtoull(end + 2, &end, 0);
    return end != s && !*end && t->last_seed >= t->seed;
}

/* One function, in a Comp of its own; returns the exit status. */
static int
compile_one(Tirc *t, const Options *opt, const char *text, bool names_seed)
{
    Comp c;
    if (!comp_init(&c)) {
        fputs("out of memory\n", stderr);
        return 1;
    }
    t->text = text;
    t->c = &c;
    c.opt = *opt;
    c.cpu = t->cpu;
    c.source_line = source_line;
    c.source_data = t;
    bool ok = comp_run(&c, compile, t);
    fflush(stdout);
    if (!ok) {
        char *msg = err_render(&c, &c.err);
        if (names_seed)
            fprintf(stderr, "seed %" PRIu64 ": ", t->seed);
        fprintf(stderr, "%s\n", msg ? msg : "out of memory");
    }
    comp_done(&c);
    return !ok;
}

int
main(int argc, char **argv)
{
    static const Options defaults = {
        .num_warps = 4, .num_stages = 3, .num_ctas = 1, .enable_fp_fusion = true};
    Options opt = defaults;
    Tirc t = {.file = "-", .n_ops = 40, .tolerance = 1e-5};
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-' && argv[i][1]; i += 2) {
        if (!strcmp(argv[i], "-t") && parse_target(argv[i + 1], &opt.target))
            continue;
        if (!strcmp(argv[i], "-w") && (opt.num_warps = atoi(argv[i + 1])) > 0)
            continue;
        if (!strcmp(argv[i], "-s") && (opt.num_stages = atoi(argv[i + 1])) > 0)
            continue;
        if (!strcmp(argv[i], "-o") && (t.order = strtoull(argv[i + 1], NULL, 0)) > 0)
            continue;
        if (!strcmp(argv[i], "-e") && (t.tolerance = atof(argv[i + 1])) >= 0)
            continue;
        if (!strcmp(argv[i], "-m") && (t.cpu = argv[i + 1]))
            continue;
        if (!strcmp(argv[i], "-n") && (t.n_ops = atoi(argv[i + 1])) > 0)
            continue;
        t.is_odd = !strcmp(argv[i], "--odd");
        if ((strcmp(argv[i], "--random") && !t.is_odd) || !parse_seeds(argv[i + 1], &t))
            return usage();
        t.is_random = true;
        opt.enable_fp_fusion = false; /* one right answer */
    }
    if (i == argc || i + 2 < argc)
        return usage();
    t.words = argv[i];
    if (i + 1 < argc)
        t.file = argv[i + 1];
    char *text = t.is_random ? calloc(1, 1) : read_all(t.file);
    if (!text)
        return 1;
    int status = 0;
    bool many = t.last_seed > t.seed;
    for (; t.seed <= t.last_seed; t.seed++)
        status |= compile_one(&t, &opt, text, many);
    gpu_close(t.gpu);
    free(text);
    return status;
}
