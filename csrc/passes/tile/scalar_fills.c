/* scalar_fills: blocks filled with one number, that a loop carries, are that number.
 *
 *     %zeros = const splat(0.0)                     for .. (%w = 0.0) {
 *     for .. (%w = %zeros) {                          %m = add %w, 1.0
 *       %m = add %w, splat(1.0)             =>        %ms = splat %m
 *       %q = div %d, %m                               %q = div %d, %ms
 *       yield %m                                      yield %m
 *     }                                             }
 *
 * Running means count what they have seen like this, once an element (torch.compile writes
 * Welford's so): of 16 elements a thread, 16 registers, additions and reciprocals, where one
 * will do. A number that is the same in all elements before an iteration is after it, if
 * what makes it is elementwise and of such numbers; all carried blocks are taken to be so at
 * first, those for which it does not follow are dropped, until it follows for the rest.
 *
 * Rule 1: the same op on the same numbers, so the same bits.
 * Rule 2: no pointers: what copies of the pipeline add to is one register each.
 */
#include "passes/passes.h"

enum { BUDGET = 64 };

typedef struct Fills {
    Func *f;
    Op *loop;
    Block *body;
    bool *carried; /* by result of the loop: is it filled? */
} Fills;

static bool
is_fill(const Val *v)
{
    return v->type->rank && !v->type->is_ptr &&
           ((v->def && v->def->op == OP_SPLAT) || ir_is_const(v, NULL));
}

static bool
keeps_fills(const Op *o)
{
    return o->n_results == 1 && o->n_args && !o->n_regions && op_has(o, OPF_ELEM) &&
           op_has(o, OPF_PURE) && !op_is_assembly(o) && result(o, 0)->type->rank &&
           !result(o, 0)->type->is_ptr;
}

static bool
is_filled(const Fills *w, const Val *v, int *budget)
{
    if (is_fill(v))
        return true;
    const Op *o = v->def;
    if (!o)
        return v->block == w->body && v->index > 0 && w->carried[v->index - 1];
    if (o->block != w->body || !keeps_fills(o) || --*budget < 0)
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (!is_filled(w, arg(o, i), budget))
            return false;
    return true;
}

static bool
find_carried(Fills *w)
{
    bool any = false, fell = true;
    for (int i = 0; i < w->loop->n_results; i++)
        w->carried[i] = is_fill(arg(w->loop, 3 + i));
    while (fell) {
        fell = any = false;
        for (int i = 0; i < w->loop->n_results; i++) {
            int budget = BUDGET;
            bool stays = w->carried[i] && is_filled(w, arg(w->body->last, i), &budget);
            fell = fell || stays != w->carried[i];
            w->carried[i] = stays;
            any = any || stays;
        }
    }
    return any;
}

/* The number in v, which is_fill; constants are made at b. */
static Val *
number_of(Build *b, const Val *v)
{
    uint64_t bits;
    if (v->def && v->def->op == OP_SPLAT)
        return arg(v->def, 0);
    ir_is_const(v, &bits);
    return ir_const_bits(b, ty_scalar(b->f->c, v->type->elem), bits);
}

/* Who reads v, a number by now, as a block of type t reads a splat of it. */
static void
spread_fill(Build b, Val *v, const Type *t)
{
    Val *block = ir_splat(&b, v, t->rank, t->shape);
    ir_replace(v, block);
    ir_set_arg(block->def, 0, v);
}

/* o, of numbers alone, on one of them. */
static void
narrow(Func *f, Op *o)
{
    Val *args[8], *r = result(o, 0);
    const Type *t = ty_scalar(f->c, r->type->elem);
    Build b = ir_before(o);
    for (int i = 0; i < o->n_args; i++)
        args[i] = number_of(&b, arg(o, i));
    Op *one = ir_op(&b, o->op, o->n_args, args, 1, &t);
    memcpy(one->attr, o->attr, sizeof one->attr);
    ir_replace(r, ir_splat(&b, result(one, 0), r->type->rank, r->type->shape));
}

static bool
is_of_fills(const Op *o)
{
    bool ok = keeps_fills(o) && o->n_args <= 8 && !is_fill(result(o, 0));
    for (int i = 0; ok && i < o->n_args; i++)
        ok = is_fill(arg(o, i));
    return ok;
}

static void
carry_numbers(Func *f, Op *loop)
{
    Fills w = {.f = f,
               .loop = loop,
               .body = loop->regions[0],
               .carried = NEW_N(f->c->arena, bool, loop->n_results + 1)};
    if (!find_carried(&w))
        return;
    Op *yield = w.body->last;
    Build before = ir_before(loop);
    Build behind = before, start = before, end = before;
    behind.before = loop->next;
    start.block = end.block = w.body;
    start.before = w.body->first;
    end.before = yield;
    for (int i = 0; i < loop->n_results; i++) {
        if (!w.carried[i])
            continue;
        Val *at = w.body->args[i + 1], *r = result(loop, i);
        const Type *t = at->type;
        at->type = r->type = ty_scalar(f->c, t->elem);
        ir_set_arg(loop, 3 + i, number_of(&before, arg(loop, 3 + i)));
        spread_fill(start, at, t);
        if (r->uses)
            spread_fill(behind, r, t);
    }
    for (Op *o = w.body->first; o; o = o->next)
        if (is_of_fills(o))
            narrow(f, o);
    for (int i = 0; i < loop->n_results; i++)
        if (w.carried[i])
            ir_set_arg(yield, i, number_of(&end, arg(yield, i)));
}

void
pass_scalar_fills(Func *f)
{
    EACH_OP_INSIDE_OUT(o, f->body)
        if (o->op == OP_FOR)
            carry_numbers(f, o);
}
