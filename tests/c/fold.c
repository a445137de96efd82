/* fold: every elementwise op beside every special constant, and chains of them.
 *
 * One function per op and type computes x op c and c op x for all special values c, and the
 * chains around it; it is interpreted for all special x before and after the pass, and the
 * bits must agree (NaNs count as equal: their payload is nobody's promise). The interpreter
 * gives 0 for integer division by 0, where fold may do what it likes: those are left out.
 */
#include "test.h"

#include "interp/interp.h"
#include "passes/passes.h"

enum { MAX_SPECIAL = 16, MAX_OUT = 256, N_CHAINS = 120, N_ROUNDS = 6 };

typedef struct Job {
    Test *t;
    OpCode op; /* of the table test; N_OP: chains */
    Elem e;
    Func *f;
    Build b;
    Val *x, *y, *out;
    int n_out;
    uint64_t *memory;
} Job;

static int
specials(Elem e, uint64_t *v)
{
    int n = 0, bits = elem_info[e].bits;
    if (elem_is_float(e)) {
        static const double d[] = {0.0, -0.0,  1.0, -1.0,  2.0,    0.5,
                                   4.0, -0.25, 3.0, 1e-40, 65504.0};
        for (size_t i = 0; i < COUNT(d); i++)
            v[n++] = elem_from_double(e, d[i]);
        v[n++] = elem_from_double(e, 1.0 / 0.0);
        v[n++] = elem_from_double(e, -1.0 / 0.0);
        v[n++] = elem_from_double(e, 0.0 / 0.0);
        v[n++] = 1; /* the smallest subnormal */
        return n;
    }
    static const int64_t c[] = {0, 1, 2, 3, 4, 7, 8, -1, -2, -8};
    for (size_t i = 0; i < (bits == 1 ? 2 : COUNT(c)); i++)
        v[n++] = elem_from_int(e, c[i]);
    if (bits > 1) {
        v[n++] = elem_from_int(e, INT64_MIN >> (64 - bits));
        v[n++] = elem_from_int(e, ~(INT64_MIN >> (64 - bits)));
        v[n++] = elem_from_int(e, 100);
    }
    return n;
}

static bool
is_nan(Elem e, uint64_t bits)
{
    double d = elem_is_float(e) ? elem_to_double(e, bits) : 0;
    return d != d;
}

/* Stores v (as its own bits) where the next result goes. */
static void
put(Job *j, Val *v)
{
    if (j->n_out == MAX_OUT)
        return;
    Comp *c = j->f->c;
    Val *at = ir_const_int(&j->b, ty_scalar(c, E_I32), j->n_out++);
    Val *p = ir_bitcast(&j->b, ir_addptr(&j->b, j->out, at),
                        ty_ptr(c, v->type->elem, false));
    ir_store(&j->b, p, v, NULL);
}

static bool
applies(OpCode op, Elem e)
{
    bool is_float = elem_is_float(e);
    switch (op) {
    case OP_DIV_RN:
    case OP_DIV_APPROX:
    case OP_MINNAN:
    case OP_MAXNAN: return is_float;
    case OP_UMULHI:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
    case OP_SHL:
    case OP_SHR: return !is_float;
    default: return op_info[op].n_args == 2 && op >= OP_ADD && op <= OP_GE;
    }
}

static bool
may_trap(OpCode op, const Val *y)
{
    uint64_t bits;
    return (op == OP_DIV || op == OP_REM) && !elem_is_float(y->type->elem) &&
           (!ir_is_const(y, &bits) || bits == 0);
}

static void
build_table(Job *j)
{
    uint64_t v[MAX_SPECIAL];
    int n = specials(j->e, v);
    for (int i = 0; i < n; i++) {
        Val *c = ir_const_bits(&j->b, j->x->type, v[i]);
        if (!may_trap(j->op, c)) {
            Val *r = ir_bin(&j->b, j->op, j->x, c);
            put(j, r);
            if (r->type == c->type && !may_trap(j->op, c))
                put(j, ir_bin(&j->b, j->op, r,
                              ir_const_bits(&j->b, c->type, v[(i + 3) % n] | 1)));
        }
        if (!may_trap(j->op, j->x))
            put(j, ir_bin(&j->b, j->op, c, j->x));
    }
    if (!may_trap(j->op, j->x))
        put(j, ir_bin(&j->b, j->op, j->x, j->x));
}

static void
build_chains(Job *j)
{
    static const Elem elems[] = {E_I1,  E_I8,  E_U8,  E_I16,  E_I32, E_U32,
                                 E_I64, E_U64, E_F16, E_BF16, E_F32, E_F64};
    Val *pool[N_CHAINS + 2] = {j->x, j->y};
    uint64_t special[MAX_SPECIAL];
    for (int i = 2; i < N_CHAINS + 2; i++) {
        Val *x = pool[test_below(j->t, i)], *y = pool[test_below(j->t, i)], *r = NULL;
        Elem e = x->type->elem;
        int n = specials(e, special);
        Val *c = ir_const_bits(&j->b, x->type, special[test_below(j->t, n)]);
        if (y->type != x->type || test_below(j->t, 2))
            y = c;
        int what = test_below(j->t, 10);
        OpCode op = OP_ADD + test_below(j->t, OP_GE - OP_ADD + 1);
        if (what == 0 && e != E_I1)
            r = ir_un(&j->b, test_below(j->t, 2) ? OP_NEG : OP_ABS, x);
        else if (what <= 2)
            r = ir_cast(&j->b, x, elems[test_below(j->t, COUNT(elems))]);
        else if (what == 3 && e == E_I1)
            r = ir_select(&j->b, x, y, c);
        else if (e == E_I1)
            r = ir_bin(&j->b, OP_AND + test_below(j->t, 3), x, y);
        else if (applies(op, e) && !may_trap(op, y))
            r = ir_bin(&j->b, op, x, y);
        else
            r = ir_bin(&j->b, OP_LT, x, y);
        pool[i] = r;
        put(j, r);
    }
}

static void
interpret(Job *j, uint64_t x, uint64_t y, uint64_t *to)
{
    memset(to, 0, MAX_OUT * sizeof *to);
    InterpRun run = {.args = (uint64_t[]){(uintptr_t)to, x, y}, .grid = {1, 1, 1}};
    ir_interpret(j->f, &run);
}

static void
run_job(Comp *c, void *data)
{
    Job *j = data;
    Func *f = j->f = ir_func(c, "f", NULL);
    const Type *t = ty_scalar(c, j->e);
    j->b = (Build){.f = f, .block = f->body};
    j->out = ir_param(f, ty_ptr(c, E_U64, false), "out", -1);
    j->x = ir_param(f, t, "x", -1);
    j->y = ir_param(f, t, "y", -1);
    j->n_out = 0;
    if (j->op == N_OP)
        build_chains(j);
    else
        build_table(j);
    ir_op(&j->b, OP_RETURN, 0, NULL, 0, NULL);
    ir_verify(f, "building");
    Elem kind[MAX_OUT];
    int k = 0;
    for (const Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_STORE)
            kind[k++] = arg(o, 1)->type->elem;
    uint64_t v[MAX_SPECIAL];
    int n = specials(j->e, v);
    const char *before = ir_print(f, false);
    uint64_t *want = NEW_N(c->arena, uint64_t, n *MAX_OUT);
    for (int i = 0; i < n; i++)
        interpret(j, v[i], v[(i + 5) % n], want + i * MAX_OUT);
    pass_fold(f);
    ir_verify(f, "fold");
    for (int i = 0; i < n; i++) {
        interpret(j, v[i], v[(i + 5) % n], j->memory);
        for (int m = 0; m < j->n_out; m++) {
            uint64_t a = want[i * MAX_OUT + m], b = j->memory[m];
            bool ok = a == b || (is_nan(kind[m], a) && is_nan(kind[m], b));
            if (!CHECKF(j->t, ok,
                        "result %d of %s at x = 0x%llx: 0x%llx, folded 0x%llx\n%s", m,
                        elem_info[j->e].text, (unsigned long long)v[i],
                        (unsigned long long)a, (unsigned long long)b, ok ? "" : before))
                return;
        }
    }
}

static void
run_one(Test *t, OpCode op, Elem e, uint64_t *memory)
{
    Job j = {.t = t, .op = op, .e = e, .memory = memory};
    test_run(t, run_job, &j, "%s %s", op < N_OP ? op_info[op].text : "chain",
             elem_info[e].text);
}

void
test_fold_table(Test *t)
{
    uint64_t memory[MAX_OUT];
    for (OpCode op = OP_ADD; op <= OP_GE; op++)
        for (Elem e = E_I8; e <= E_F64; e++)
            if (applies(op, e) && t->n_failed < 5)
                run_one(t, op, e, memory);
}

void
test_fold_chains(Test *t)
{
    uint64_t memory[MAX_OUT];
    for (int i = 0; i < N_ROUNDS; i++)
        for (Elem e = E_I1; e <= E_F64 && t->n_failed < 5; e++)
            run_one(t, N_OP, e, memory);
}
