/* scalar_steps: indices that a loop moves by one step everywhere carry the step alone.
 *
 *     for .. (%offs = %first) {                  for .. (%way = 0) {
 *       ..                                         %offs = add %first, splat %way
 *       %next = add %offs, splat %s       =>       ..
 *       yield %next                                %w = add %way, %s
 *     }                                            yield %w
 *
 * GPUs: %first is made of aranges, so %offs can be made in whatever layout it is wanted now; a
 * carried block has one, and takes moving through shared memory to all others, each time
 * round. Libraries step their rows and columns like this (FlexAttention does).
 *
 * CPUs: a carried block lies in scratch, and each turn writes it. %offs is computed where loops
 * over its elements want it, %first too, or is read where that costs more.
 *
 * Rule 1: integers wrap, so the sums are the same. GPUs leave pointers alone: what copies of
 *         the pipeline add to is one register each. CPUs count how far pointers have moved, in i64.
 * Rule 2: GPUs only where the first value is cheap; a loaded one would have to stay besides.
 * Rule 3: loops inside go first, for what they move is a step of the loop around them.
 */
#include "passes/passes.h"

enum { MAX_STEPS = 4, MAX_DEPTH = 12 };

static bool
is_cheap(const Val *v, int depth)
{
    const Op *o = v->def;
    if (!v->type->rank)
        return true;
    if (!o || depth == 0)
        return false;
    bool ok = (op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && !op_has(o, OPF_HEAVY)) ||
              o->op == OP_ARANGE || o->op == OP_CONST || o->op == OP_SPLAT ||
              o->op == OP_EXPAND || o->op == OP_BROADCAST;
    for (int i = 0; ok && i < o->n_args; i++)
        ok = is_cheap(arg(o, i), depth - 1);
    return ok;
}

/* What fills the step v, of type t. It is made in front of the loop where it is known there. */
static Val *
filling(Build *before, Build *end, const Val *v, const Type *t)
{
    int64_t c;
    if (ir_const_as_int(v, &c))
        return ir_const_int(before, t, c);
    Val *s = arg(v->def, 0);
    return ir_cast(is_defined_outside(s, end->block) ? before : end, s, t->elem);
}

/* v is at + steps, added in the loop's own block; how many, 0: it is not. */
static int
find_steps(const Val *v, const Val *at, const Block *body, Val *step[MAX_STEPS])
{
    int n = 0;
    int64_t c;
    OpCode sum = at->type->is_ptr ? OP_ADDPTR : OP_ADD;
    while (v != at) {
        const Op *o = v->def;
        if (!o || o->op != sum || o->block != body || n == MAX_STEPS)
            return 0;
        int i = at->type->is_ptr;
        for (; i < 2; i++) {
            const Val *s = arg(o, i);
            if ((s->def && s->def->op == OP_SPLAT) || ir_const_as_int(s, &c))
                break;
        }
        if (i == 2)
            return 0;
        step[n++] = arg(o, i);
        v = arg(o, 1 - i);
    }
    return n;
}

/* Everybody who used the block v reads first + splat v, where v is a scalar by now. */
static void
spread_step(Build b, Val *v, Val *first, const Type *t)
{
    Val *way = ir_splat(&b, v, t->rank, t->shape);
    Val *sum = t->is_ptr ? ir_addptr(&b, first, way) : ir_bin(&b, OP_ADD, first, way);
    ir_replace(v, sum);
    ir_set_arg(way->def, 0, v);
}

static bool
may_carry_step(const Func *f, const Val *at, const Val *first)
{
    const Type *t = at->type;
    if (!t->rank || (!t->is_ptr && (!elem_is_int(t->elem) || t->elem == E_I1)))
        return false;
    return f->c->opt.target.kind == TARGET_CPU ||
           (!t->is_ptr && is_cheap(first, MAX_DEPTH));
}

static void
carry_scalar(Op *loop, int i)
{
    Block *body = loop->regions[0];
    Func *f = body->func;
    Val *at = body->args[i + 1], *first = arg(loop, 3 + i), *r = result(loop, i);
    const Type *t = at->type;
    Val *step[MAX_STEPS];
    Op *yield = body->last;
    int n = may_carry_step(f, at, first) ? find_steps(arg(yield, i), at, body, step)
                                         : 0;
    if (!n)
        return;
    const Type *scalar = ty_scalar(f->c, t->is_ptr ? E_I64 : t->elem);
    Build before = ir_before(loop);
    Build behind = before, start = before, end = before;
    behind.before = loop->next;
    start.block = end.block = body;
    start.before = body->first;
    end.before = yield;
    at->type = r->type = scalar;
    spread_step(start, at, first, t);
    Val *sum = at;
    for (int k = n - 1; k >= 0; k--)
        sum = ir_bin(&end, OP_ADD, sum, filling(&before, &end, step[k], scalar));
    ir_set_arg(yield, i, sum);
    ir_set_arg(loop, 3 + i, ir_const_int(&before, scalar, 0));
    if (r->uses)
        spread_step(behind, r, first, t);
}

void
pass_scalar_steps(Func *f)
{
    EACH_OP_INSIDE_OUT(o, f->body)
        for (int i = 0; o->op == OP_FOR && i < o->n_results; i++)
            carry_scalar(o, i);
}
