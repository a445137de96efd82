/* codegen/scalar.c against ir/eval.c: every elementwise op, on every type it takes, as one
 * element and as a vector, on values where arithmetic goes wrong. One module, one load.
 *
 *     void caseN(const M *a, const M *b, const M *c, R *out)     M: the memory form
 *
 * What may differ: the payload of a NaN, the sign of a zero from min and max, an integer
 * divided by zero, the last places of what is approximate.
 */
#include "test.h"

#include "codegen/codegen.h"
#include "runtime/runtime.h"

#include <math.h>
#include <stdlib.h>

enum { LANES = 8, MAX_VALUES = 40, MAX_CASES = 2000 };

typedef struct Case {
    const Op *o;
    Elem in, out; /* of the last operand, and the result */
    int lanes;    /* 0: one element */
    int rounding;
} Case;

typedef void CaseFn(const void *a, const void *b, const void *c, void *out);

typedef struct Module {
    Test *t;
    Comp *c;
    Build b;
    Ll *l;
    Case at[MAX_CASES];
    int n;
} Module;

/* ---- making the functions ------------------------------------------------------------- */

static Lt
memory_type(Ll *l, Elem e, int lanes)
{
    return ll_vec(ll_mem(l, e), lanes);
}

static void
add_function(Module *m, const Case *k)
{
    Ll *l = m->l;
    const Op *o = k->o;
    Lt params[] = {l->ptr, l->ptr, l->ptr, l->ptr};
    char name[32];
    snprintf(name, sizeof name, "case%d", m->n);
    l->fn = LLVMAddFunction(l->m, name, LLVMFunctionType(l->void_, params, 4, false));
    LLVMPositionBuilderAtEnd(l->b, ll_block(l, "entry"));
    Lv args[3];
    for (int i = 0; i < o->n_args; i++) {
        Elem e = arg(o, i)->type->elem;
        Lv v = LLVMBuildLoad2(l->b, memory_type(l, e, k->lanes),
                              LLVMGetParam(l->fn, (unsigned)i), "");
        LLVMSetAlignment(v, 1);
        args[i] = cg_from_memory(l, e, v);
    }
    Lv r = cg_to_memory(l, k->out, cg_elementwise(l, o, args));
    LLVMSetAlignment(LLVMBuildStore(l->b, r, LLVMGetParam(l->fn, 3)), 1);
    LLVMBuildRetVoid(l->b);
    m->at[m->n++] = *k;
}

static void
add_case(Module *m, OpCode op, int n_args, const Elem *in, Elem out, int rounding)
{
    Val *args[3];
    for (int i = 0; i < n_args; i++)
        args[i] = ir_block_arg(m->b.block, ty_scalar(m->c, in[i]), NULL);
    const Type *t = ty_scalar(m->c, out);
    Op *o = ir_op(&m->b, op, n_args, args, 1, &t);
    if (op == OP_CAST)
        ir_set_attr(o, ATTR_ROUNDING, rounding);
    Case k = {.o = o, .in = in[n_args - 1], .out = out, .rounding = rounding};
    if (info(o)->check(o))
        return; /* not an op of the language */
    add_function(m, &k);
    k.lanes = LANES;
    add_function(m, &k);
}

static void
add_all(Module *m)
{
    for (int op = 0; op < N_OP; op++) {
        bool is_ours = op == OP_ERF || op == OP_TANH; /* LLVM has no form of them */
        /* Ops of any number of operands are assembly of a GPU. */
        if (!(op_info[op].flags & OPF_ELEM) || op_info[op].n_args < 0 ||
            op == OP_HINT || op == OP_ADDPTR || (is_ours && !scalar_ops_host.math))
            continue;
        for (int e = 0; e < N_ELEM; e++) {
            Elem in[3] = {(Elem)e, (Elem)e, (Elem)e};
            if (op == OP_SELECT)
                in[0] = E_I1;
            if (op != OP_CAST && op != OP_BITCAST) {
                bool compares = op >= OP_EQ && op <= OP_GE;
                add_case(m, (OpCode)op, op_info[op].n_args, in,
                         compares ? E_I1 : (Elem)e, 0);
                continue;
            }
            for (int to = 0; to < N_ELEM; to++) {
                add_case(m, (OpCode)op, 1, in, (Elem)to, ROUND_RTNE);
                if (op == OP_CAST)
                    add_case(m, (OpCode)op, 1, in, (Elem)to, ROUND_RTZ);
            }
        }
    }
}

/* ---- values ------------------------------------------------------------------------------- */

/* The corners of a type and some values between them; a multiple of LANES. */
static int
values_of(Test *t, Elem e, uint64_t *v)
{
    static const double reals[] = {
        0.0,    -0.0, 1,      -1,     0.5,    1.5,   2.5,          -2.5,         3,
        127.5,  255,  256,    -129,   65504,  65520, 2147483648.0, 4294967296.0, 1e-7,
        -1e-40, 1e30, 9.2e18, 1.9e19, -1e300, 448,   460,          57344,        0.1};
    int bits = elem_info[e].bits, n = 0;
    uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    if (elem_is_float(e)) {
        for (size_t i = 0; i < COUNT(reals); i++)
            v[n++] = elem_from_double(e, reals[i]);
        v[n++] = elem_from_double(e, INFINITY);
        v[n++] = elem_from_double(e, -INFINITY);
        v[n++] = elem_from_double(e, NAN);
        v[n++] = 1; /* the smallest subnormal */
    } else {
        static const int64_t ints[] = {0,  1,  -1, 2,  3,  7,   8,
                                       -8, 31, 32, 63, 64, 100, -100};
        for (size_t i = 0; i < COUNT(ints); i++)
            v[n++] = (uint64_t)ints[i] & mask;
        v[n++] = mask >> 1;
        v[n++] = (mask >> 1) + 1;
    }
    while (n < MAX_VALUES)
        v[n++] = test_random(t) & mask;
    return n;
}

/* ---- comparing --------------------------------------------------------------------------------- */

/* Units in the last place that an op may be off. */
static double
ulps(OpCode op)
{
    switch (op) {
    case OP_DIV:
    case OP_SQRT:
    case OP_RSQRT: return 2;
    case OP_EXP:
    case OP_EXP2:
    case OP_LOG:
    case OP_LOG2:
    case OP_SIN:
    case OP_COS:
    case OP_TANH:
    case OP_ERF: return 4;
    default: return 0;
    }
}

static bool
is_same(OpCode op, Elem e, uint64_t got, uint64_t want)
{
    if (got == want)
        return true;
    if (!elem_is_float(e))
        return false;
    double g = elem_to_double(e, got), w = elem_to_double(e, want);
    if (isnan(w))
        return isnan(g) && op != OP_SELECT && op != OP_NEG && op != OP_ABS &&
               op != OP_BITCAST;
    if (g == w)
        return op == OP_MIN || op == OP_MAX || op == OP_MINNAN || op == OP_MAXNAN ||
               ulps(op) > 0;
    double unit = fabs(elem_to_double(e, want + 1) - w); /* the next away from 0 */
    return ulps(op) && isfinite(g) && isfinite(w) && fabs(g - w) <= ulps(op) * unit;
}

static void
put(char *at, Elem e, int i, uint64_t bits)
{
    memcpy(at + i * elem_info[e].bytes, &bits, elem_info[e].bytes);
}

static uint64_t
get(const char *at, Elem e, int i)
{
    uint64_t bits = 0;
    memcpy(&bits, at + i * elem_info[e].bytes, elem_info[e].bytes);
    return bits;
}

/* One call: operand k of lane i is x[k][i]. */
static int
check_call(Module *m, const Case *k, CaseFn *fn, uint64_t x[3][LANES])
{
    char in[3][LANES * 8], out[LANES * 8];
    int n = MAX(k->lanes, 1), n_args = k->o->n_args, bad = 0;
    for (int i = 0; i < n_args; i++)
        for (int j = 0; j < n; j++)
            put(in[i], arg(k->o, i)->type->elem, j, x[i][j]);
    fn(in[0], in[1], in[2], out);
    for (int j = 0; j < n; j++) {
        uint64_t args[] = {x[0][j], x[1][j], x[2][j]}, want, got = get(out, k->out, j);
        bool defined = true;
        if (k->o->op == OP_CAST)
            want = elem_cast(k->in, k->out, args[0], k->rounding);
        else
            defined = ir_eval(k->o->op, k->in, k->out, args, n_args, &want);
        if (!defined || is_same(k->o->op, k->out, got, want))
            continue;
        bad++;
        CHECKF(m->t, false,
               "%s%s of %s to %s, %d lanes: %llx %llx %llx gives %llx, not %llx",
               info(k->o)->text, k->rounding ? " rtz" : "", elem_info[k->in].text,
               elem_info[k->out].text, k->lanes, (unsigned long long)args[0],
               (unsigned long long)(n_args > 1 ? args[1] : 0),
               (unsigned long long)(n_args > 2 ? args[2] : 0), (unsigned long long)got,
               (unsigned long long)want);
    }
    return bad;
}

/* All values, or all pairs, or many triples; a case that fails is left after some calls. */
static void
check_case(Module *m, const Case *k, CaseFn *fn)
{
    uint64_t v[3][MAX_VALUES], x[3][LANES] = {{0}};
    int n[3] = {1, 1, 1}, n_args = k->o->n_args, lane = 0, width = MAX(k->lanes, 1),
        bad = 0;
    for (int i = 0; i < n_args; i++)
        n[i] = values_of(m->t, arg(k->o, i)->type->elem, v[i]);
    int total = n_args == 3 ? 4000 : n[0] * n[1];
    for (int i = 0; i < total && bad < 3; i++) {
        for (int j = 0; j < n_args; j++) {
            int at = n_args == 3 ? test_below(m->t, n[j]) : j ? i / n[0] : i % n[0];
            x[j][lane] = v[j][at];
        }
        if (++lane == width) {
            bad += check_call(m, k, fn, x);
            lane = 0;
        }
    }
    CHECK(m->t, bad == 0);
}

/* ---- all of it ------------------------------------------------------------------------------------ */

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

static void
use_scalar(Comp *c, void *data)
{
    Module *m = NEW(c->arena, Module);
    m->t = data;
    m->c = c;
    Func *f = ir_func(c, "scalar", NULL);
    m->b = (Build){.f = f, .block = f->body};
    m->l = ll_new(c, LL_HOST, "scalar");
    add_all(m);
    CHECKF(m->t, m->n > 500, "%d cases", m->n);
    Binary *out = NEW(c->arena, Binary);
    arena_defer(c->arena, drop_binary, out);
    ll_finish(m->l, "function(instcombine<no-verify-fixpoint>,simplifycfg)", out);
    ll_emit(m->l, LLVMObjectFile, "obj", out);
    const Stage *obj = binary_stage(out, "obj");
    for (int i = 0; i < m->n; i++) {
        char name[32], err[ERR_TEXT] = "";
        void *fn = NULL;
        snprintf(name, sizeof name, "case%d", i);
        JitCode *code = jit_load(obj->data, obj->size, name, &fn, err);
        if (!CHECKF(m->t, code && fn, "%s", err))
            return;
        arena_defer(c->arena, drop_code, code);
        CaseFn *call;
        memcpy(&call, &fn, sizeof call);
        check_case(m, &m->at[i], call);
    }
}

void
test_scalar(Test *t)
{
    RUN(t, use_scalar, t);
}
