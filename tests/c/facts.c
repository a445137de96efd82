/* facts: claims about random index arithmetic against the values it has.
 *
 * Each case builds a function of random integer ops over blocks, in a loop or not, that
 * stores every value it computes, element by element; the interpreter runs it on arguments
 * that agree with the answers given, and each claim is held against what was stored.
 *
 * The arguments are small, and a case where something grows near the ends of its type is left
 * out: index arithmetic that wraps is assumption A of facts.c. Ranges have a test of their own,
 * on types so narrow that everything wraps.
 */
#include "test.h"

#include "analysis/analysis.h"
#include "interp/interp.h"

#include <inttypes.h>
#include <stdlib.h>

enum { N_CASES = 1500, MAX_VALS = 40, N_INT = 4, MAX_TRIPS = 3, MAX_CELLS = 1 << 15 };

typedef struct Case {
    Test *t;
    Comp *c;
    Func *f;
    Build b;
    Elem e; /* of all integers: i32 or i64 */
    int rank;
    int32_t shape[2];
    Val *pool[MAX_VALS];
    int n;
    Val *out, *step_of; /* where stores go; elements to add in this iteration */
    int64_t cells;      /* of out, handed out so far */
    struct {
        const Val *v;
        int64_t at; /* its first cell */
    } kept[MAX_VALS];
    int n_kept;
    int trips;
    int64_t *memory;
    uint64_t arg[N_INT + 2];
    long n_affine; /* values that had an affine form */
    long strength; /* sum of what was claimed: tests that it is something */
} Case;

static const Type *
block_type(Case *k)
{
    return ty_block(k->c, ty_scalar(k->c, k->e), k->rank, k->shape);
}

static int64_t
numel(const Case *k)
{
    return k->rank == 2 ? k->shape[0] * k->shape[1] : k->shape[0];
}

static Val *
pick(Case *k)
{
    return k->pool[test_below(k->t, k->n)];
}

static void
push(Case *k, Val *v)
{
    if (k->n < MAX_VALS)
        k->pool[k->n++] = v;
}

static Val *
fill(Case *k, int64_t c)
{
    return ir_const_int(&k->b, block_type(k), c);
}

/* 0, 1, .. along dim, as a block. */
static Val *
along(Case *k, int dim)
{
    Val *v = ir_cast(&k->b, ir_arange(&k->b, 0, k->shape[dim]), k->e);
    if (k->rank == 2) {
        v = ir_expand(&k->b, v, 1 - dim);
        v = ir_broadcast(&k->b, v, 2, k->shape);
    }
    return v;
}

static Val *
random_op(Case *k)
{
    static const int64_t consts[] = {0,  1,  2,  3,  4,  7,  8,  12,
                                     16, 24, 31, 32, 64, -1, -8, -16};
    Build *b = &k->b;
    Val *x = pick(k), *y = pick(k);
    Val *arg = k->pool[test_below(k->t, N_INT)]; /* not zero */
    int64_t c = consts[test_below(k->t, COUNT(consts))], pos = c < 0 ? -c : c;
    switch (test_below(k->t, 18)) {
    case 0:
    case 1: return ir_bin(b, OP_ADD, x, y);
    case 2: return ir_bin(b, OP_ADD, x, fill(k, c));
    case 3: return ir_bin(b, OP_SUB, x, test_below(k->t, 2) ? y : fill(k, pos));
    case 4: return ir_bin(b, OP_MUL, x, fill(k, c));
    case 5:
        return ir_bin(b, OP_DIV, x, test_below(k->t, 3) ? fill(k, MAX(pos, 1)) : arg);
    case 6:
    case 7:
        return ir_bin(b, OP_REM, x, test_below(k->t, 3) ? fill(k, MAX(pos, 1)) : arg);
    case 8: return ir_bin(b, OP_AND, x, fill(k, test_below(k->t, 2) ? 15 : -8));
    case 9: return ir_bin(b, OP_OR, x, y);
    case 10: return ir_bin(b, OP_SHL, x, fill(k, test_below(k->t, 4)));
    case 11: return ir_bin(b, OP_SHR, x, fill(k, test_below(k->t, 4)));
    case 12: return ir_bin(b, test_below(k->t, 2) ? OP_MIN : OP_MAX, x, y);
    case 13: {
        OpCode op = OP_LT + test_below(k->t, 4);
        return ir_select(b, ir_bin(b, op, x, y), pick(k), pick(k));
    }
    case 14: {
        OpCode op = OP_LT + test_below(k->t, 4);
        return ir_cast(b, ir_bin(b, op, x, y), k->e);
    }
    case 15: return ir_bin(b, OP_XOR, x, fill(k, pos));
    case 16:
        if (k->rank == 2 && k->shape[0] == k->shape[1]) {
            Op *o = ir_op(b, OP_TRANS, 1, &x, 1, &x->type);
            ir_set_attr(o, ATTR_PERM, perm_pack(2, (int[]){1, 0}));
            return result(o, 0);
        }
        return ir_un(b, OP_NEG, x);
    default: {
        const Type *flat = ty_block(k->c, ty_scalar(k->c, k->e), 1,
                                    (int32_t[]){(int32_t)numel(k)});
        Val *v = result(ir_op(b, OP_RESHAPE, 1, &x, 1, &flat), 0);
        v = ir_bin(b, OP_ADD, v, ir_cast(b, ir_arange(b, 0, numel(k)), k->e));
        const Type *t = x->type;
        return result(ir_op(b, OP_RESHAPE, 1, &v, 1, &t), 0);
    }
    }
}

/* Stores v, so that the test sees it; cell i of iteration j is at + j * numel + i. */
static void
keep(Case *k, Val *v)
{
    int64_t n = ty_numel(v->type);
    if (k->n_kept == MAX_VALS || k->cells + n * k->trips > MAX_CELLS)
        return;
    Build *b = &k->b;
    k->kept[k->n_kept].v = v;
    k->kept[k->n_kept++].at = k->cells;
    Val *at = ir_const_int(b, ty_scalar(k->c, E_I32), k->cells);
    if (k->step_of) {
        Val *size = ir_const_int(b, ty_scalar(k->c, E_I32), n);
        at = ir_bin(b, OP_ADD, at, ir_bin(b, OP_MUL, k->step_of, size));
    }
    k->cells += n * k->trips;
    int32_t flat[1] = {(int32_t)n};
    const Type *t = ty_block(k->c, ty_element(k->c, v->type), 1, flat);
    if (v->type->rank > 1)
        v = result(ir_op(b, OP_RESHAPE, 1, &v, 1, &t), 0);
    v = v->type->is_ptr ? ir_bitcast(b, v, ty_with_elem(k->c, v->type, E_I64))
                        : ir_cast(b, v, E_I64);
    Val *p = ir_addptr(b, k->out, at);
    if (v->type->rank) {
        p = ir_splat(b, p, 1, flat);
        p = ir_addptr(b, p, ir_arange(b, 0, n));
    }
    ir_store(b, p, v, NULL);
}

/* A few ops, each kept. */
static void
grow(Case *k, int n)
{
    for (int i = 0; i < n; i++) {
        Val *v = random_op(k);
        push(k, v);
        keep(k, v);
    }
}

static void
in_loop(Case *k)
{
    Comp *c = k->c;
    const Type *i32 = ty_scalar(c, E_I32), *t = block_type(k);
    k->trips = MAX_TRIPS;
    Val *zero = ir_const_int(&k->b, i32, 0), *one = ir_const_int(&k->b, i32, 1);
    Val *args[] = {zero, ir_const_int(&k->b, i32, k->trips), one, pick(k), pick(k)};
    Op *loop = ir_op(&k->b, OP_FOR, 5, args, 2, (const Type *[]){t, t});
    Block *body = ir_block(k->f, loop);
    k->step_of = ir_block_arg(body, i32, "i");
    Val *x = ir_block_arg(body, t, "x"), *y = ir_block_arg(body, t, "y");
    Build outer = k->b;
    int n = k->n;
    k->b = (Build){.f = k->f, .block = body};
    push(k, x);
    push(k, y);
    keep(k, x);
    keep(k, y);
    grow(k, 4);
    Val *back[] = {ir_bin(&k->b, test_below(k->t, 4) ? OP_ADD : OP_MUL, x, pick(k)),
                   pick(k)};
    if (test_below(k->t, 3) == 0)
        back[0] = y;
    ir_op(&k->b, OP_YIELD, 2, back, 0, NULL);
    k->b = outer;
    k->n = n;
    k->step_of = NULL;
    k->trips = 1;
    push(k, result(loop, 0));
    keep(k, result(loop, 0));
}

static uint16_t
truth_of(int64_t v)
{
    uint16_t bits = (v == 1 ? FACT_EQ1 : 0) | (v < 0 ? 0 : FACT_GE0);
    for (unsigned f = FACT_DIV2; f <= FACT_DIV16; f *= 2)
        if (v % f == 0)
            bits |= (uint16_t)f;
    return bits;
}

static void
build(Case *k)
{
    static const int32_t sides[][3] = {
        {1, 32, 0}, {1, 64, 0}, {2, 8, 16}, {2, 16, 16}, {2, 1, 32}};
    Comp *c = k->c;
    const int32_t *s = sides[test_below(k->t, COUNT(sides))];
    k->rank = s[0], k->shape[0] = s[1], k->shape[1] = s[2];
    k->e = test_below(k->t, 2) ? E_I32 : E_I64;
    k->f = ir_func(c, "f", NULL);
    k->b = (Build){.f = k->f, .block = k->f->body};
    k->f->n_facts = N_INT + 2;
    k->f->facts = NEW_N(c->arena, ArgFacts, N_INT + 2);
    k->out = ir_param(k->f, ty_ptr(c, E_I64, false), "out", 0);
    Val *p = ir_param(k->f, ty_ptr(c, E_F32, false), "p", 1);
    k->arg[0] = (uintptr_t)k->memory;
    k->arg[1] = 4096 * 4 + 4 * (unsigned)test_below(k->t, 8);
    k->trips = 1;
    for (int i = 0; i < N_INT; i++) {
        Val *v = ir_param(k->f, ty_scalar(c, k->e), NULL, 2 + i);
        int step = 1 << test_below(k->t, 6);
        int64_t n = step * (1 + test_below(k->t, 9));
        k->arg[2 + i] = elem_from_int(k->e, test_below(k->t, 4) ? n : -n);
        push(k, ir_splat(&k->b, v, k->rank, k->shape));
    }
    for (int i = 0; i < N_INT + 2; i++)
        k->f->facts[i].truth = truth_of(elem_to_int(i < 2 ? E_I64 : k->e, k->arg[i]));
    for (int d = 0; d < k->rank; d++)
        push(k, along(k, d));
    grow(k, 4);
    if (test_below(k->t, 2))
        in_loop(k);
    grow(k, 6);
    Val *q = ir_splat(&k->b, p, k->rank, k->shape);
    for (int i = 0; i < 2; i++)
        keep(k, ir_addptr(&k->b, q, pick(k)));
    ir_op(&k->b, OP_RETURN, 0, NULL, 0, NULL);
}

/* ---- the claims --------------------------------------------------------------------------- */

static int64_t
cell(const Case *k, const Type *t, int64_t at, const int32_t *i)
{
    int64_t flat = 0;
    for (int d = 0; d < t->rank; d++)
        flat = flat * t->shape[d] + i[d];
    return k->memory[at + flat];
}

/* false on the first element that breaks a claim; *what names it. */
static bool
holds(const Case *k, const Val *v, const Facts *f, int64_t at, const char **what)
{
    const Type *t = v->type;
    int unit = t->is_ptr ? elem_info[t->elem].bytes : 1;
    int32_t i[MAX_RANK] = {0};
    for (int64_t flat = 0; flat < ty_numel(t); flat++) {
        int64_t rest = flat;
        for (int d = t->rank - 1; d >= 0; d--) {
            i[d] = (int32_t)(rest % t->shape[d]);
            rest /= t->shape[d];
        }
        int64_t x = cell(k, t, at, i);
        *what = "range";
        if (!t->is_ptr && (x < f->lo || x > f->hi))
            return false;
        for (int d = 0; d < t->rank; d++) {
            int32_t here = i[d], run = 1 << f->contiguity[d],
                    same = 1 << f->constancy[d];
            i[d] = here / run * run;
            int64_t first = cell(k, t, at, i);
            *what = "contiguity";
            if (x - first != (int64_t)(here - i[d]) * unit)
                return false;
            *what = "divisibility";
            if (first % ((int64_t)1 << f->divisibility[d]))
                return false;
            i[d] = here / same * same;
            *what = "constancy";
            if (cell(k, t, at, i) != x)
                return false;
            i[d] = here;
        }
    }
    return true;
}

/* ---- affine forms ------------------------------------------------------------------------- */

/* The value of a sum; its scalars are parameters in these functions. */
static int64_t
value_of(const Case *k, const AffSum *s)
{
    int64_t sum = s->c;
    for (int i = 0; i < s->n; i++) {
        const AffTerm *m = &s->term[i];
        int64_t a = elem_to_int(k->e, k->arg[m->a->index]);
        sum += m->factor * a * (m->b ? elem_to_int(k->e, k->arg[m->b->index]) : 1);
    }
    return sum;
}

static bool
affine_holds(const Case *k, const Val *v, const Affine *a, int64_t at)
{
    const Type *t = v->type;
    int64_t unit = t->is_ptr ? elem_info[t->elem].bytes : 1;
    int64_t first = k->memory[at];
    if (!a->origin) {
        int64_t p = a->pointer ? (int64_t)k->arg[a->pointer->index] : 0;
        if (first != p + unit * value_of(k, &a->base))
            return false;
    }
    for (int64_t flat = 0; flat < ty_numel(t); flat++) {
        int64_t rest = flat, want = first;
        for (int d = t->rank - 1; d >= 0; d--) {
            want += unit * value_of(k, &a->stride[d]) * (rest % t->shape[d]);
            rest /= t->shape[d];
        }
        if (k->memory[at + flat] != want)
            return false;
    }
    return true;
}

static bool
is_small(const Case *k)
{
    int64_t limit = k->e == E_I32 ? (int64_t)1 << 28 : (int64_t)1 << 58;
    for (int64_t i = 0; i < k->cells; i++)
        if (k->memory[i] > limit || k->memory[i] < -limit)
            return false;
    return true;
}

static void
run_case(Comp *c, void *data)
{
    Case *k = data;
    k->c = c;
    build(k);
    ir_verify(k->f, "building");
    InterpRun run = {.args = k->arg, .grid = {1, 1, 1}};
    ir_interpret(k->f, &run);
    FactTable *table = facts_new(k->f);
    for (int i = 0; i < k->n_kept && is_small(k); i++) {
        const Val *v = k->kept[i].v;
        const Facts *f = facts_of(table, v);
        for (int d = 0; d < v->type->rank; d++)
            k->strength += f->contiguity[d] + f->constancy[d] + f->divisibility[d];
        int trips = v->block == k->f->body ? 1 : MAX_TRIPS;
        Affine a;
        bool is_affine = affine_of(k->f, v, &a);
        k->n_affine += is_affine;
        for (int j = 0; j < trips; j++) {
            const char *what = "affine form";
            int64_t at = k->kept[i].at + j * ty_numel(v->type);
            if ((is_affine && !affine_holds(k, v, &a, at)) ||
                !holds(k, v, f, at, &what)) {
                CHECKF(k->t, false, "%s of kept value %d, iteration %d, in\n%s", what,
                       i, j, ir_print(k->f, false));
                return;
            }
        }
        CHECK(k->t, true);
    }
}

void
test_facts_claims(Test *t)
{
    int64_t *memory = calloc(MAX_CELLS, sizeof *memory);
    long strength = 0, n_affine = 0;
    for (int i = 0; memory && i < N_CASES && t->n_failed < 3; i++) {
        Case k = {.t = t, .memory = memory};
        test_run(t, run_case, &k, "case %d", i);
        strength += k.strength;
        n_affine += k.n_affine;
    }
    free(memory);
    CHECKF(t, strength > 20 * N_CASES, "claims are vacuous: %ld", strength);
    CHECKF(t, n_affine > N_CASES, "only %ld affine forms", n_affine);
}

/* ---- ranges: scalars of narrow types, where everything wraps ------------------------------- */

enum { N_RANGES = 400, N_RUNS = 12, N_OPS = 10 };

typedef struct Ranges {
    Test *t;
    int64_t *memory;
} Ranges;

static Val *
random_scalar(Test *t, Build *b, Val **pool, int n)
{
    static const OpCode ops[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_REM,
                                 OP_MIN, OP_MAX, OP_AND, OP_OR,  OP_XOR,
                                 OP_SHL, OP_SHR, OP_LT,  OP_EQ,  OP_GE};
    static const Elem elems[] = {E_I8, E_U8, E_I16, E_U16, E_I64, E_U64};
    Val *x = pool[test_below(t, n)], *y = pool[test_below(t, n)];
    if (test_below(t, 4) == 0)
        return ir_cast(b, x, elems[test_below(t, COUNT(elems))]);
    if (test_below(t, 8) == 0)
        return ir_un(b, test_below(t, 2) ? OP_NEG : OP_ABS, x);
    if (test_below(t, 2))
        y = ir_const_int(b, x->type, test_below(t, 20) - 4);
    y = ir_cast(b, y, x->type->elem);
    OpCode op = ops[test_below(t, COUNT(ops))];
    if (x->type->elem == E_I1)
        op = OP_XOR;
    return ir_bin(b, op, x, y);
}

static void
run_ranges(Comp *c, void *data)
{
    Ranges *r = data;
    Test *t = r->t;
    Func *f = ir_func(c, "f", NULL);
    Build b = {.f = f, .block = f->body};
    Val *out = ir_param(f, ty_ptr(c, E_I64, false), "out", -1), *pool[N_OPS + 4];
    static const Elem elems[] = {E_I8, E_U8, E_I16, E_U64};
    int n = 0;
    for (; n < 4; n++)
        pool[n] = ir_param(f, ty_scalar(c, elems[n]), NULL, -1);
    for (; n < N_OPS + 4; n++) {
        pool[n] = random_scalar(t, &b, pool, n);
        Val *at = ir_addptr(&b, out, ir_const_int(&b, ty_scalar(c, E_I32), n));
        ir_store(&b, at, ir_cast(&b, pool[n], E_I64), NULL);
    }
    ir_op(&b, OP_RETURN, 0, NULL, 0, NULL);
    ir_verify(f, "building");
    FactTable *table = facts_new(f);
    for (int i = 0; i < N_RUNS; i++) {
        uint64_t args[5] = {(uintptr_t)r->memory};
        for (int j = 0; j < 4; j++) {
            uint64_t x = test_random(t);
            if (i & 1)
                x %= 9;
            args[1 + j] = elem_from_int(elems[j], (int64_t)x);
        }
        InterpRun run = {.args = args, .grid = {1, 1, 1}};
        ir_interpret(f, &run);
        for (int j = 4; j < n; j++) {
            int64_t lo, hi, x = r->memory[j];
            facts_range(table, pool[j], &lo, &hi);
            bool is_open = pool[j]->type->elem == E_U64 && hi == INT64_MAX;
            bool ok = is_open ? x < 0 || x >= lo : x >= lo && x <= hi;
            if (!CHECKF(t, ok,
                        "op %d: %" PRId64 " is outside of %" PRId64 "..%" PRId64
                        " in\n%s",
                        j, x, lo, hi, ok ? "" : ir_print(f, false)))
                return;
        }
    }
}

void
test_facts_ranges(Test *t)
{
    int64_t memory[N_OPS + 4];
    for (int i = 0; i < N_RANGES && t->n_failed < 3; i++) {
        Ranges r = {t, memory};
        test_run(t, run_ranges, &r, "case %d", i);
    }
}
