/* pipeline_order: may a load run ahead of what else its loop does?
 *
 * It may where nothing in the loop orders threads or memory (barriers but those in front of
 * a release, assembly, atomics that acquire and whose result is used), and every store and
 * atomic goes elsewhere. What fills, waits for and releases a ring's slots is of shared memory
 * alone: numbers, rows and columns pass it (a row's statistics, in attention's backward pass), as do
 * loads of operands that threads make. Of other blocks nobody has measured it.
 *
 *     through another argument     unless the launch gives both arguments memory that overlaps (a
 *                                  launcher that is not asked is taken to give them none)
 *     to the same place, in place  x = load p; store p, f(x); p += n, where p moves on by
 *                                  at least what a block covers, so that the load of a
 *                                  later iteration reads what no earlier one has written
 *
 * A pointer that comes from nowhere known may be any.
 */
#include "passes/simt/pipeline.h"

enum { MAX_DEPTH = 16 };

/* ---- how far an address moves an iteration ---------------------------------------------- */

/* v = slope * iv + what does not change in the loop. */
static bool
slope_of(const Val *v, const Block *body, int depth, int64_t *slope)
{
    int64_t x, y, c;
    *slope = 0;
    if (v == body->args[0])
        return *slope = 1, true;
    if (is_defined_outside(v, body))
        return true;
    const Op *o = v->def;
    if (!o || depth == MAX_DEPTH || !op_has(o, OPF_ELEM) || o->n_args > 2)
        return false;
    if (o->op == OP_CAST)
        return ty_bits(arg(o, 0)->type) <= ty_bits(v->type) &&
               elem_is_int(arg(o, 0)->type->elem) &&
               slope_of(arg(o, 0), body, depth + 1, slope);
    if (o->op == OP_MUL && ir_const_as_int(arg(o, 1), &c)) {
        bool ok = slope_of(arg(o, 0), body, depth + 1, &x);
        return ok && !__builtin_mul_overflow(x, c, slope);
    }
    if (o->op != OP_ADD && o->op != OP_SUB)
        return false;
    if (!slope_of(arg(o, 0), body, depth + 1, &x) ||
        !slope_of(arg(o, 1), body, depth + 1, &y))
        return false;
    return o->op == OP_ADD ? !__builtin_add_overflow(x, y, slope)
                           : !__builtin_sub_overflow(x, y, slope);
}

/* How many elements the sum grows by when iv does by step. */
static bool
growth(const AffSum *s, const Block *body, int64_t step, int64_t *by)
{
    int64_t sum = 0;
    for (int i = 0; i < s->n; i++) {
        int64_t slope, moves;
        const AffTerm *t = &s->term[i];
        if (t->b &&
            (!is_defined_outside(t->a, body) || !is_defined_outside(t->b, body)))
            return false;
        if (t->b)
            continue;
        if (!slope_of(t->a, body, 0, &slope) ||
            __builtin_mul_overflow(slope, t->factor, &moves) ||
            __builtin_mul_overflow(moves, step, &moves) ||
            __builtin_add_overflow(sum, moves, &sum))
            return false;
    }
    *by = sum;
    return true;
}

/* Do both access the same block, which in each iteration lies beyond those before? */
static bool
moves_on(const Func *f, const Op *loop, const Val *load, const Val *store)
{
    const Block *body = loop->regions[0];
    const Type *t = load->type;
    Affine x, y, next;
    int64_t span, span_y, step, by;
    if (!ty_same_shape(t, store->type) || !ir_const_as_int(arg(loop, 2), &step) ||
        !affine_of(f, load, &x) || !affine_of(f, store, &y) ||
        !affine_span(&x, t, &span) || !affine_span(&y, t, &span_y) ||
        !affine_is_same(&x, &y, t))
        return false;
    if (!growth(&x.base, body, step, &by))
        return false;
    if (x.pointer && !is_defined_outside(x.pointer, body))
        return false;
    if (x.origin && !is_defined_outside(x.origin, body)) {
        /* A carried pointer: by what it comes round. */
        const Val *v = x.origin;
        if (v->def || v->block != body || v->index == 0 || by)
            return false;
        const Val *round = arg(body->last, v->index - 1);
        if (!affine_of(f, round, &next) || next.origin != v || next.base.n ||
            next.pointer)
            return false;
        by = next.base.c;
    }
    return by >= span || -by >= span;
}

/* ---- what stands in the way ---------------------------------------------------------------- */

/* May the launch have given both arguments one memory? What is written is asked first: a product of a
 * tensor with itself then has the code of any other. */
static bool
may_be_one(Func *f, const Val *to, const Val *from)
{
    return ir_ask_both(f, to, from, FACT_SAME) ||
           ir_ask_both(f, to, from, FACT_OVERLAPS);
}

static bool
orders_memory(const Op *o)
{
    int64_t sem = ir_attr(o, ATTR_SEM);
    return (sem == SEM_ACQUIRE || sem == SEM_ACQ_REL) && result(o, 0)->uses;
}

/* May the load go before o of an earlier iteration? */
static bool
may_pass(Func *f, const Op *loop, const Op *load, const Op *o)
{
    bool is_atomic = op_is_atomic(o);
    if (!may_change_memory(o) || (o->op == OP_BARRIER && ir_attr(o, ATTR_RELEASE)) ||
        (is_of_ring(o) && (result(load, 0)->type->rank < 2 || has_made_operand(f))))
        return true;
    if ((o->op != OP_STORE && !is_atomic) || (is_atomic && orders_memory(o)))
        return false;
    const Val *from = pointer_root(f, arg(load, 0)), *to = pointer_root(f, arg(o, 0));
    if (!from || !to)
        return false;
    if (from != to)
        return !may_be_one(f, to, from);
    return !is_atomic && o->block == loop->regions[0] &&
           moves_on(f, loop, arg(load, 0), arg(o, 0));
}

static bool
may_pass_all(Func *f, const Op *loop, const Op *load, const Block *b)
{
    EACH_OP(o, b)
        if (!may_pass(f, loop, load, o))
            return false;
    return true;
}

bool
pipeline_may_meet(Func *f, const Op *loop, const Op *load)
{
    const Val *from = pointer_root(f, arg(load, 0));
    EACH_OP(o, loop->regions[0]) {
        const Val *to = op_has(o, OPF_WRITES) ? pointer_root(f, arg(o, 0)) : NULL;
        if (to && to != from && (launcher_is_plain(f->c) || may_be_one(f, to, from)))
            return true;
    }
    return false;
}

bool
pipeline_may_overtake(Func *f, const Op *loop, const Op *load)
{
    return may_pass_all(f, loop, load, loop->regions[0]);
}
