/* tirc_copies: do copies of tensors read and write what pointers would?
 *
 *     tirc --products 0..999999 copies        a table of what became of so many kernels
 *     tirc --products 42 print                one of them
 *     tirc --products 42 promoted,print       what it becomes
 *
 * A random kernel (tests/c/random) is interpreted as it was written, and as the tile passes leave it,
 * with the very tensors that a launch makes for its maps (runtime/maps.c) in place of what their
 * operands say. Both must leave the same bytes. A copy must read no byte that the kernel as written
 * does not, and none that the kernel stores, as it may come before the store or behind it; what a copy
 * stores may not be read again.
 *
 * The memory of arguments lies in regions of their own, whose pointers begin in the middle, so that
 * indices may be negative; between them is nothing. A launch that goes there proves nothing, nor
 * does one that a test of the launch gives other code, nor one for which the kernel would be
 * compiled again. All three are counted.
 */
#include "interp/interp.h"
#include "tools/tirc.h"

#include <stdlib.h>

enum {
    REGION = 1 << 18, /* bytes; behind each as many that are nobody's */
    N_REGIONS = 6,
    WORLD = 2 * N_REGIONS * REGION,
    COMPARED = 2, /* launches of a kernel, at most, .. */
    DRAWN = 6,    /* .. of so many that are drawn */
    MAX_ACCESSES = 1 << 20,
    N_WHYS = 64,
};

/* What happened to a byte in this launch: in the kernel as written, in the code. */
enum {
    WAS_READ = 1,
    WAS_WRITTEN = 2,
    IS_COPIED = 4,
    IS_WRITTEN = 8,
    IS_COPIED_TO = 16
};
typedef struct Byte {
    uint8_t seen, reader, writer; /* programs from 1 on, the last of them */
    uint32_t store;               /* the last: Launch.access */
} Byte;

typedef struct Reason {
    char *why; /* malloc'ed */
    int64_t n;
} Reason;

struct Copies {
    char *world[N_ELEM],
        *fresh[N_ELEM]; /* by the factors' type: memory, and as it is before */
    char *kept;         /* what the kernel as written leaves */
    Byte *bytes;        /* of the world */
    int64_t n_kernels, n_promoted,
        n_proven;             /* with copies; of which a launch was compared */
    int64_t n_loads_promoted; /* through pointers, of factors */
    int64_t n_launches, n_same, n_wild, n_racing, n_wrapping, n_other;
    int64_t n_failed;
    Reason of_load[N_WHYS], of_launch[N_WHYS];
};

/* Bytes from low to below high of the world; none: high is 0. */
typedef struct Range {
    int64_t low, high;
} Range;

typedef struct Launch {
    Copies *k;
    char *world;
    const Func *f;
    uint64_t args[MAX_ARGS];
    Span spans[MAX_ARGS];
    int32_t grid[3];
    bool is_promoted, is_racing;
    uint8_t program;
    uint32_t access; /* of how many ops, one behind the other */
    const Op *last;
    int64_t n;
    bool wraps;
    Range touched[N_REGIONS], written[N_REGIONS];
    const char *wrong;
} Launch;

/* ---- memory ------------------------------------------------------------------------- */

static void *
need(size_t n)
{
    void *p = calloc(1, n);
    if (!p)
        abort();
    return p;
}

static void
fill_bytes(char *at, Elem e, int64_t bytes)
{
    uint64_t rng = 7;
    int n = elem_info[e].bytes;
    int most = elem_info[e].bits == 8 && elem_is_float(e) ? 7 : 60;
    for (int64_t i = 0; i < bytes; i += n) {
        int64_t v = (int64_t)(random_bits(&rng) % (uint64_t)(2 * most + 1)) - most;
        uint64_t bits = elem_from_int(e, v);
        memcpy(at + i, &bits, (size_t)n);
    }
}

enum { AT_A, AT_B, AT_C, AT_D, AT_E, AT_COUNTS };

static void
make_world(Copies *k, Elem e)
{
    if (k->world[e])
        return;
    char *w = k->fresh[e] = need(WORLD);
    fill_bytes(w + 2 * AT_A * REGION, e, REGION);
    fill_bytes(w + 2 * AT_B * REGION, e, REGION);
    memset(w + 2 * AT_C * REGION, 0x55, 2 * REGION);
    for (int64_t i = 0; i < REGION; i += 4) /* small, of either sign now and then */
        memcpy(w + 2 * AT_COUNTS * REGION + i,
               &(int32_t){(int32_t)(i / 4 * 7 % 19) - 2}, 4);
    k->world[e] = need(WORLD);
    memcpy(k->world[e], w, WORLD);
    if (!k->bytes) {
        k->bytes = need(WORLD * sizeof *k->bytes);
        k->kept = need(WORLD);
    }
}

static void
widen(Range *r, int64_t at, int bytes)
{
    r->low = r->high ? MIN(r->low, at) : at;
    r->high = MAX(r->high, at + bytes);
}

/* ---- a run ----------------------------------------------------------------------------- */

static const char *
wrong_access(const Launch *l, const Byte *b, bool is_write, bool is_copy)
{
    if (!is_write && !(b->seen & WAS_READ))
        return is_copy ? "a copy reads what the kernel does not"
                       : "the code reads what the kernel does not";
    if (is_write && !(b->seen & WAS_WRITTEN))
        return "the code writes where the kernel does not";
    if (is_copy && !is_write && b->seen & IS_WRITTEN)
        return "a copy reads what was stored";
    if (is_write && b->seen & IS_COPIED)
        return "a store writes what a copy reads";
    if (!is_write && b->seen & IS_COPIED_TO && b->writer == l->program)
        return "what a copy has stored is read";
    return NULL;
}

/* One byte of an access. */
static void
note_byte(Launch *l, Byte *b, bool is_write, bool is_copy)
{
    const char *wrong = l->is_promoted ? wrong_access(l, b, is_write, is_copy) : NULL;
    if (wrong && !l->wrong)
        l->wrong = wrong;
    if (l->is_promoted)
        b->seen |= is_write  ? IS_WRITTEN | (is_copy ? IS_COPIED_TO : 0)
                   : is_copy ? IS_COPIED
                             : 0;
    else {
        b->seen |= is_write ? WAS_WRITTEN : WAS_READ;
        l->is_racing |= (b->writer && b->writer != l->program && !is_write) ||
                        (b->reader && b->reader != l->program && is_write) ||
                        (is_write && b->store == l->access);
        b->store = is_write ? l->access : b->store;
    }
    *(is_write ? &b->writer : &b->reader) = l->program;
}

static void
note_program(void *data, Interp *in)
{
    (void)in;
    Launch *l = data;
    l->program++;
    l->last = NULL;
}

static bool
note_access(void *data, uint64_t address, int bytes, bool is_write, const Op *o)
{
    Launch *l = data;
    uint64_t at = address - (uintptr_t)l->world;
    bool is_copy = o->op == OP_MAP_LOAD || o->op == OP_MAP_STORE;
    if (at >= WORLD || at % (2 * REGION) + (uint64_t)bytes > REGION ||
        ++l->n > MAX_ACCESSES)
        return false;
    l->access += o != l->last;
    l->last = o;
    for (int i = 0; i < bytes; i++)
        note_byte(l, l->k->bytes + at + i, is_write, is_copy);
    widen(&l->touched[at / (2 * REGION)], (int64_t)at, bytes);
    if (is_write)
        widen(&l->written[at / (2 * REGION)], (int64_t)at, bytes);
    return true;
}

static void
interpret(Comp *c, void *data)
{
    Launch *l = data;
    (void)c;
    InterpRun run = {
        .args = l->args, .access = note_access, .begin = note_program, .data = l};
    run.wraps = l->is_promoted ? NULL : &l->wraps;
    memcpy(run.grid, l->grid, sizeof run.grid);
    ir_interpret(l->f, &run);
}

/* ---- arguments ------------------------------------------------------------------------- */

static int
below(uint64_t *rng, int n)
{
    return (int)(random_bits(rng) % (uint64_t)n);
}

/* Any of the numbers. */
#define ONE_OF(rng, ...)                                                               \
    ((const int[]){__VA_ARGS__})[below(rng, COUNT(((const int[]){__VA_ARGS__})))]

/* Strides: mostly what maps take. unit: elements of 16 bytes. */
static int64_t
some_far(uint64_t *rng, int unit)
{
    int64_t far = unit * (int64_t)(1 + below(rng, 96 / unit));
    if (below(rng, 100) < 92)
        return far;
    return ONE_OF(rng, (int)far + 1, (int)-far, 0, 1, 3, unit);
}

static int64_t
some_number(uint64_t *rng, const char *name, int unit, Elem e)
{
    bool is_huge = below(rng, 200) == 0, is_long = e == E_I64 && below(rng, 2);
    int64_t huge = is_long ? INT64_C(1) << (32 + below(rng, 30)) : INT32_MAX;
    int rest = ONE_OF(rng, 0, 1, 8, 16, 5, 15);
    huge -= below(rng, 40);
    switch (*name) {
    case 'b':
        if (!strncmp(name, "batch", 5))
            return below(rng, 100) < 80 ? unit * (int64_t)below(rng, 200 / unit + 2)
                                        : below(rng, 400) - 40;
        if (is_huge && !strcmp(name, "bound_m"))
            return huge;
        return below(rng, 30) ? 16 * below(rng, name[6] == 'k' ? 3 : 4) + rest
                              : below(rng, 20) - 10;
    case 'f': return some_far(rng, unit);
    case 'o': return below(rng, 100) < 93 ? 1 : ONE_OF(rng, 2, -1, 0, unit);
    case 'w': return 1 + below(rng, 3);
    default: /* shift */
        if (is_huge)
            return below(rng, 2) ? huge : -huge;
        return ONE_OF(rng, 0, 0, 16, 32, 48, 64, 8, unit, 3, 1, -2, -16, -unit, -32);
    }
}

static uint64_t
some_pointer(Launch *l, uint64_t *rng, int i, const Type *t)
{
    static const char name[] = "abcde";
    const char *s = l->f->body->args[i]->name, *at = strchr(name, *s);
    int region = !strcmp(s, "counts") ? AT_COUNTS : (int)(at - name);
    int bytes = elem_info[t->elem].bytes, from = REGION / 2;
    bool is_shared = region > AT_B && region < AT_COUNTS && below(rng, 16) == 0;
    if (is_shared) /* in place, or beside */
        region = below(rng, region == AT_C ? 2 : 3);
    if (is_shared)
        from += 16 * below(rng, 2048) - (1 << 14);
    if (below(rng, 12) == 0)
        from += below(rng, 2) ? 16 * below(rng, 9) : bytes * below(rng, 9);
    uint64_t start = (uintptr_t)l->world + (uint64_t)(2 * region) * REGION;
    l->spans[i] = (Span){start, start + REGION};
    return start + (uint64_t)from;
}

static void
draw_launch(Launch *l, uint64_t *rng, Elem e)
{
    int unit = MAX(16 / elem_info[e].bytes, 1), most = 4;
    for (int i = 2; i >= 0; i--) { /* at most four programs */
        int n = 1 + (i < 2) + below(rng, 2);
        l->grid[i] = 1 + below(rng, MIN(most, n));
        most /= l->grid[i];
    }
    for (int i = 0; i < l->f->body->n_args; i++) {
        const Val *v = l->f->body->args[i];
        if (v->type->is_ptr)
            l->args[i] = some_pointer(l, rng, i, v->type);
        else
            l->args[i] = elem_from_int(v->type->elem,
                                       some_number(rng, v->name, unit, v->type->elem));
    }
}

static unsigned
truth_of(const Launch *l, int i)
{
    const Type *t = l->f->body->args[i]->type;
    uint64_t bits = l->args[i];
    unsigned truth = 0;
    int64_t v = t->is_ptr ? (int64_t)bits : elem_to_int(t->elem, bits);
    for (int k = 1; k <= 4; k++)
        if (v % (1 << k) == 0)
            truth |= FACT_DIV2 << (k - 1);
    if (!t->is_ptr)
        truth |= (v == 1 ? FACT_EQ1 : 0) | (v >= 0 ? FACT_GE0 : 0) |
                 (v >= LARGE_INTEGER ? FACT_LARGE : 0);
    return truth;
}

static bool
is_other_variant(const Launch *l, const Func *code)
{
    for (int i = 0; i < l->f->body->n_args; i++)
        if ((truth_of(l, i) ^ code->facts[i].truth) & code->facts[i].asked)
            return true;
    return false;
}

/* Another launch, mostly of the same variant. */
static void
draw_again(Launch *l, const Func *code, uint64_t *rng, Elem e)
{
    Launch first = *l;
    draw_launch(l, rng, e);
    for (int i = 0; i < l->f->body->n_args; i++)
        if ((truth_of(l, i) ^ code->facts[i].truth) & code->facts[i].asked &&
            below(rng, 16)) {
            l->args[i] = first.args[i];
            l->spans[i] = first.spans[i];
        }
}

/* ---- the code ----------------------------------------------------------------------------- */

void
tirc_promote(Func *f)
{
    const char *names[64];
    int n = 0;
    for (; order_tile[n] && strcmp(order_tile[n], "persist") != 0; n++)
        names[n] = order_tile[n];
    names[n] = "dce";
    names[n + 1] = NULL;
    passes_run(f, names);
}

/* What a launch must know, as compile.c describes it. */
static void
describe(const Func *f, Binary *b)
{
    Comp *c = f->c;
    int n = b->n_params = f->body->n_args;
    bool *written = NEW_N(c->arena, bool, n), *read = NEW_N(c->arena, bool, n);
    written_params(f, written, read);
    b->params = calloc((size_t)n, sizeof *b->params);
    for (int i = 0; b->params && i < n; i++)
        b->params[i] = (ParamAbi){.elem = f->body->args[i]->type->elem,
                                  .is_ptr = f->body->args[i]->type->is_ptr,
                                  .is_written = written[i]};
    cg_maps(f, b);
}

/* The operands of each map are what the launch has made. */
static void
set_maps(Func *f, const CudaTensorMap *m)
{
    Build b = {.f = f, .block = f->body, .before = f->body->first};
    const Type *i64 = ty_scalar(f->c, E_I64);
    int i = 0;
    for (Op *o = f->body->first; o; o = o->next) {
        if (o->op != OP_TENSOR_MAP)
            continue;
        int rank = m[i].rank, bytes = elem_info[arg(o, 0)->type->elem].bytes;
        const Type *t = ty_ptr(f->c, arg(o, 0)->type->elem, arg(o, 0)->type->is_const);
        Val *base = ir_const_bits(&b, i64, m[i].address);
        ir_set_arg(o, 0, ir_bitcast(&b, base, t));
        for (int d = 0; d < rank; d++) {
            uint64_t stride = d < rank - 1 ? m[i].strides[rank - 2 - d] : 0;
            ir_set_arg(o, 1 + d, ir_const_bits(&b, i64, m[i].shape[rank - 1 - d]));
            if (d < rank - 1)
                ir_set_arg(o, 1 + rank + d,
                           ir_const_bits(&b, i64, stride / (uint64_t)bytes));
        }
        i++;
    }
}

static int
count_ops(const Func *f, OpCode op)
{
    int n = 0;
    EACH_OP(o, f->body)
        n += o->op == op;
    return n;
}

/* ---- what becomes of it ------------------------------------------------------------------ */

static void
note_reason(Reason *r, const char *why, size_t n)
{
    for (int i = 0; i < N_WHYS; i++, r++) {
        if (!r->why && !(r->why = strndup(why, n)))
            abort();
        if (strlen(r->why) == n && !memcmp(r->why, why, n)) {
            r->n++;
            return;
        }
    }
}

/* Of the lines of the report: "line 0  tensor map   none: why". */
static void
note_report(Copies *k, const Func *f)
{
    static const char none[] = "none: ";
    const char *s = f->report.at;
    for (; s && (s = strstr(s, "tensor map")); s += strcspn(s, "\n")) {
        const char *why = strstr(s, none);
        if (why)
            note_reason(k->of_load, why + strlen(none),
                        strcspn(why, "\n") - strlen(none));
    }
}

static void
fail(Comp *c, const Launch *l, const Func *code, const char *what)
{
    Sb sb = {.a = c->arena};
    sb_printf(&sb, "%s\ngrid %d %d %d\n", what, l->grid[0], l->grid[1], l->grid[2]);
    for (int i = 0; i < l->f->body->n_args; i++) {
        const Val *v = l->f->body->args[i];
        int64_t at = (int64_t)(l->args[i] - (uintptr_t)l->world);
        sb_printf(
            &sb, "%s = %lld\n", v->name,
            (long long)(v->type->is_ptr ? at : elem_to_int(v->type->elem, l->args[i])));
    }
    sb_printf(&sb, "%s\n%s", ir_print(l->f, false), ir_print(code, false));
    l->k->n_failed++;
    err_at(c, NULL, VALUE, sb.at);
}

static void
copy_ranges(char *to, const char *from, const Range *r)
{
    for (int i = 0; i < N_REGIONS; i++)
        if (r[i].high)
            memcpy(to + r[i].low, from + r[i].low, (size_t)(r[i].high - r[i].low));
}

static bool
are_same(const Launch *l, const Range *r)
{
    bool same = !memcmp(r, l->written, sizeof l->written);
    for (int i = 0; i < N_REGIONS && same; i++)
        same = !memcmp(l->k->kept + r[i].low, l->world + r[i].low,
                       (size_t)(r[i].high - r[i].low));
    return same;
}

/* Everything as it was before the launch. */
static void
restore(Launch *l, Elem e)
{
    copy_ranges(l->world, l->k->fresh[e], l->touched);
    for (int i = 0; i < N_REGIONS; i++)
        memset(l->k->bytes + l->touched[i].low, 0,
               (size_t)(l->touched[i].high - l->touched[i].low) * sizeof(Byte));
}

/* NULL: both leave the same. */
static const char *
compare(Comp *c, Launch *l, const Func *code, Elem e)
{
    const Func *written = l->f;
    Range r[N_REGIONS];
    memcpy(r, l->written, sizeof r);
    memset(l->written, 0, sizeof r);
    copy_ranges(l->k->kept, l->world, r);
    copy_ranges(l->world, l->k->fresh[e], r);
    l->is_promoted = true;
    l->n = l->program = 0;
    l->f = code;
    bool ok = comp_run(c, interpret, l);
    l->f = written;
    if (!ok)
        return str_printf(c->arena, "the code stops: %s", err_render(c, &c->err));
    return l->wrong ? l->wrong : are_same(l, r) ? NULL : "other bytes are stored";
}

static void
begin_launch(Launch *l)
{
    memset(l->touched, 0, sizeof l->touched);
    memset(l->written, 0, sizeof l->written);
    l->is_promoted = l->is_racing = l->wraps = false;
    l->n = l->program = 0;
    l->access = 0;
    l->last = NULL;
    l->wrong = NULL;
}

/* True: the launch was compared. */
static bool
run_launch(Comp *c, Launch *l, Func *code, const Binary *b, Elem e)
{
    CudaTensorMap m[MAX_MAPS];
    char err[ERR_TEXT];
    l->k->n_launches++;
    if (is_other_variant(l, code)) {
        l->k->n_other++;
        return false;
    }
    const char *why = maps_refusal(b, l->args, l->spans, l->grid, m, err);
    if (why) {
        why = strrchr(why, ':') + 2;
        note_reason(l->k->of_launch, why, strncmp(why, "test", 4) ? strlen(why) : 4);
        return false;
    }
    begin_launch(l);
    bool is_wild = !comp_run(c, interpret, l), is_proof = !is_wild && !l->is_racing;
    const char *wrong = NULL;
    if (is_proof) {
        set_maps(code, m);
        wrong = compare(c, l, code, e);
    }
    restore(l, e);
    if (wrong && l->wraps) { /* assumption A of analysis/facts.c */
        is_proof = false;
        l->k->n_wrapping++;
    }
    l->k->n_wild += is_wild;
    l->k->n_racing += !is_wild && l->is_racing;
    l->k->n_same += is_proof && !wrong;
    if (is_proof && wrong)
        fail(c, l, code, wrong);
    return is_proof;
}

void
tirc_copies(Comp *c, Tirc *t, const Func *f)
{
    Copies *k = t->copies ? t->copies : (t->copies = need(sizeof *t->copies));
    uint64_t rng = t->seed ^ 0x5eed;
    Elem e = E_F16;
    for (int i = 0; i < f->body->n_args; i++)
        if (*f->body->args[i]->name == 'a')
            e = f->body->args[i]->type->elem;
    make_world(k, e);
    Launch *l = NEW(c->arena, Launch);
    *l = (Launch){.k = k, .world = k->world[e], .f = f};
    Func *code = random_product(c, t->seed);
    draw_launch(l, &rng, e);
    for (int i = 0; i < f->body->n_args; i++)
        code->facts[i].truth = (uint16_t)truth_of(l, i);
    tirc_promote(code);
    note_report(k, code);
    k->n_kernels++;
    int n_maps = count_ops(code, OP_MAP_LOAD);
    k->n_loads_promoted += n_maps;
    if (!n_maps)
        return;
    k->n_promoted++;
    Binary *b = NEW(c->arena, Binary);
    arena_defer(c->arena, binary_drop, b);
    describe(code, b);
    int n = 0, most = 1 + below(&rng, COMPARED);
    for (int i = 0; i < DRAWN && n < most; i++) {
        if (i)
            draw_again(l, code, &rng, e);
        n += run_launch(c, l, code, b, e);
    }
    k->n_proven += n > 0;
}

static void
print_reasons(const char *what, const Reason *r)
{
    for (int i = 0; i < N_WHYS && r[i].why; i++)
        printf("%10lld  %s %s\n", (long long)r[i].n, what, r[i].why);
}

void
tirc_copies_end(Copies *k)
{
    if (!k)
        return;
    printf(
        "%10lld  kernels\n%10lld  with copies\n%10lld  with copies and a launch that was "
        "compared\n%10lld  loads by copies\n",
        (long long)k->n_kernels, (long long)k->n_promoted, (long long)k->n_proven,
        (long long)k->n_loads_promoted);
    print_reasons("accesses:", k->of_load);
    printf("%10lld  launches\n%10lld  the same\n%10lld  of other variants\n"
           "%10lld  beside their memory\n%10lld  with stores that race\n"
           "%10lld  other, as an index wraps\n",
           (long long)k->n_launches, (long long)k->n_same, (long long)k->n_other,
           (long long)k->n_wild, (long long)k->n_racing, (long long)k->n_wrapping);
    print_reasons("launches:", k->of_launch);
    printf("%10lld  failed\n", (long long)k->n_failed);
}
