/* facts_work: how many questions are asked of functions made to have many asked.
 *
 * The walk of looks_negative (analysis/rules.c) goes both ways at every sum. A chain
 *
 *     v1 = max(v0, v0)    v2 = max(v1, v1)    ..    v9 = max(v8, v8)
 *
 * has 2^9 paths to its start, and each division of what it makes by a constant walked all
 * of them, twenty times the work of the rest. Questions are counted, not seconds.
 */
#include "test.h"

#include "analysis/facts_impl.h"

enum { N_DIVISORS = 12, SIDE = 64, PER_OP = 200 };

typedef struct Chain {
    Test *t;
    OpCode op; /* what joins */
    int n;     /* links */
    int depth; /* of loops, each of which carries the sum */
    uint64_t asked;
    int n_ops;
} Chain;

static Val *
joined(Build *b, OpCode op, Val *x)
{
    if (op != OP_SELECT)
        return ir_bin(b, op, x, x);
    return ir_select(b, ir_bin(b, OP_EQ, x, x), x, x);
}

/* The sums, and blocks that count up from the last one, divided. */
static Val *
links(Chain *k, Build *b, Val *x)
{
    for (int i = 0; i < k->n; i++)
        x = joined(b, k->op, x);
    static const int32_t shape[] = {SIDE};
    Val *at = ir_bin(b, OP_ADD, ir_splat(b, x, 1, shape), ir_arange(b, 0, SIDE));
    for (int i = 0; i < N_DIVISORS; i++) {
        Val *c = ir_const_int(b, at->type, 16 * (i + 1));
        ir_bin(b, OP_REM, at, c);
        ir_bin(b, OP_DIV, at, c);
    }
    return x;
}

/* The links inside of loops, which hand the sum on, and with it the one before: facts of
 * either are assumptions until both are known. */
static Val *
nest(Chain *k, Build *b, Val *x, Val *y, int depth)
{
    if (depth == 0)
        return links(k, b, ir_bin(b, k->op == OP_SELECT ? OP_ADD : k->op, x, y));
    const Type *t[] = {x->type, x->type};
    Val *one = ir_const_int(b, t[0], 1), *args[] = {one, y, one, x, y};
    Op *loop = ir_op(b, OP_FOR, 5, args, 2, t);
    Block *body = ir_block(b->f, loop);
    ir_block_arg(body, t[0], "i");
    Val *in = ir_block_arg(body, t[0], "x"), *before = ir_block_arg(body, t[0], "y");
    Build inside = {.f = b->f, .block = body};
    Val *back[] = {nest(k, &inside, in, before, depth - 1), in};
    ir_op(&inside, OP_YIELD, 2, back, 0, NULL);
    return result(loop, 0);
}

static void
ask_all(FactTable *table, const Block *block, int *n_ops)
{
    for (const Op *o = block->first; o; o = o->next, ++*n_ops) {
        for (int i = 0; i < o->n_results; i++)
            facts_of(table, result(o, i));
        for (int i = 0; i < o->n_regions; i++)
            ask_all(table, o->regions[i], n_ops);
    }
}

static void
run(Comp *c, void *data)
{
    Chain *k = data;
    const Type *i32 = ty_scalar(c, E_I32);
    Func *f = ir_func(c, "f", NULL);
    Build b = {.f = f, .block = f->body};
    Val *x = ir_param(f, i32, "x", -1), *n = ir_param(f, i32, "n", -1);
    nest(k, &b, x, n, k->depth);
    ir_op(&b, OP_RETURN, 0, NULL, 0, NULL);
    ir_verify(f, "building");
    FactTable *table = facts_new(f);
    k->n_ops = 0;
    ask_all(table, f->body, &k->n_ops);
    k->asked = table->n_asked;
}

void
test_facts_work(Test *t)
{
    static const OpCode ops[] = {OP_ADD, OP_MUL, OP_MIN, OP_MAX, OP_AND, OP_SELECT};
    for (size_t i = 0; i < COUNT(ops) * 9; i++) {
        static const int lengths[] = {6, 9, 40};
        Chain k = {
            .t = t, .op = ops[i / 9], .n = lengths[i % 3], .depth = (int)(i % 9 / 3)};
        bool ok = test_run(t, run, &k, "case %zu", i);
        CHECKF(t, !ok || k.asked < (uint64_t)k.n_ops * PER_OP,
               "%llu questions about %d ops: %s %d times in %d loops",
               (unsigned long long)k.asked, k.n_ops, op_info[k.op].text, k.n, k.depth);
    }
}
