/* dce: drop what nobody uses: ops, results of ifs, values carried round loops.
 *
 *     %r:2 = for %i = .. carried (%a = %x, %b = %y) {      %r = for %i = .. (%a = %x) {
 *       %1 = add %a, 1                                       %1 = add %a, 1
 *       %2 = add %b, 1                                =>
 *       yield %1, %2                                         yield %1
 *     }                        only %r#0 is used           }
 *
 * Mark, then sweep. Marking starts at ops that must stay and follows operands; a carried
 * value is marked when its result or its argument is, and then what enters and what comes
 * round is marked, too. %b above is used, but only by itself, so nothing marks it.
 *
 * A loop without effects and without a used result goes as a whole: `for` always ends, and
 * a `while` that reads memory counts as an effect (effects.c). Reads that turn out to be
 * dead may leave a `while` without any, so functions that have one are looked at again.
 */
#include "passes/passes.h"

typedef struct Dce {
    Func *f;
    bool *live;      /* by Val.id */
    VEC(Val *) todo; /* marked, what they need is not yet */
    bool has_while, erased;
    bool (*stays)(const Op *o); /* with its regions, whatever becomes of results */
} Dce;

enum { MAX_ROUNDS = 8 };

static void
mark_value(Dce *w, Val *v)
{
    if (w->live[v->id])
        return;
    w->live[v->id] = true;
    PUSH(w->f->c->arena, &w->todo, v);
}

static void
mark_args(Dce *w, const Op *o, int first, int n)
{
    for (int i = first; i < first + n; i++)
        mark_value(w, arg(o, i));
}

/* What a control op needs to run at all. Also marks the ops around it. */
static void
mark_control(Dce *w, const Op *o)
{
    for (; o && op_has(o, OPF_CONTROL); o = o->block->owner) {
        if (o->op == OP_WHILE)
            mark_args(w, o->regions[0]->last, 0, 1);
        else
            mark_args(w, o, 0, o->op == OP_FOR ? 3 : o->op == OP_IF ? 1 : 0);
    }
}

/* A combine region is needed whole. */
static void
mark_combine(Dce *w, const Block *b)
{
    EACH_OP(o, b)
        mark_args(w, o, 0, o->n_args);
}

/* Slot i of what a loop carries, or of what a condition passes on. */
static void
mark_for_slot(Dce *w, const Op *o, int i)
{
    mark_value(w, arg(o, 3 + i));
    mark_value(w, arg(o->regions[0]->last, i));
    mark_value(w, o->regions[0]->args[1 + i]);
}

static void
mark_result(Dce *w, const Op *o, int i)
{
    mark_control(w, o);
    switch (o->op) {
    case OP_FOR: mark_for_slot(w, o, i); break;
    case OP_WHILE:
        mark_value(w, arg(o->regions[0]->last, 1 + i));
        mark_value(w, o->regions[1]->args[i]);
        break;
    case OP_IF:
        for (int r = 0; r < o->n_regions; r++)
            mark_value(w, arg(o->regions[r]->last, i));
        break;
    case OPS(OPS_VALUES, OPS_SHAPE, OPS_ELEM, OPS_ACCESS, OPS_TENSOR, OPS_ACROSS,
             OPS_FOREIGN, OPS_ENDS, OPS_NOTES, OPS_THREADS):
        mark_args(w, o, 0, o->n_args);
        for (int r = 0; r < o->n_regions; r++)
            mark_combine(w, o->regions[r]);
        for (Op *p = o->block->owner; p; p = p->block->owner)
            if (op_has(p, OPF_CONTROL)) {
                mark_control(w, p);
                break;
            }
    }
}

static void
mark_block_arg(Dce *w, const Val *v)
{
    const Op *o = v->block->owner;
    if (!o)
        return;
    mark_control(w, o);
    if (o->op == OP_FOR && v->index > 0) {
        mark_for_slot(w, o, v->index - 1);
    } else if (o->op == OP_WHILE && v->block == o->regions[0]) {
        mark_value(w, arg(o, v->index));
        mark_value(w, arg(o->regions[1]->last, v->index));
    } else if (o->op == OP_WHILE) {
        mark_value(w, arg(o->regions[0]->last, 1 + v->index));
    }
}

static void
mark_roots(Dce *w, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        for (int r = 0; r < o->n_regions; r++)
            if (op_has(o, OPF_CONTROL))
                mark_roots(w, o->regions[r]);
        if (o->n_regions || !w->stays(o)) {
            /* A while that may be waiting stays, whatever is in it. */
            if (o->op == OP_WHILE && w->stays(o))
                mark_control(w, o);
            continue;
        }
        mark_args(w, o, 0, o->n_args);
        mark_control(w, o->block->owner);
    }
}

/* ---- sweep -------------------------------------------------------------------------------- */

static bool
any_live(const Dce *w, Val *const *v, int n)
{
    for (int i = 0; i < n; i++)
        if (w->live[v[i]->id])
            return true;
    return false;
}

/* An if whose results nobody wants may still be wanted for its effects. */
static bool
stays(const Dce *w, const Op *o)
{
    return op_has(o, OPF_TERM) || any_live(w, o->results, o->n_results) || w->stays(o);
}

static void
drop_if_results(const Dce *w, Op *o)
{
    for (int i = o->n_results - 1; i >= 0; i--) {
        if (w->live[result(o, i)->id])
            continue;
        for (int r = 0; r < o->n_regions; r++)
            ir_drop_args(o->regions[r]->last, i, 1);
        ir_drop_result(o, i);
    }
}

static void
drop_for_slots(const Dce *w, Op *o)
{
    Block *b = o->regions[0];
    for (int i = o->n_results - 1; i >= 0; i--) {
        if (w->live[b->args[i + 1]->id])
            continue;
        ir_drop_args(b->last, i, 1);
        ir_drop_args(o, 3 + i, 1);
        ir_drop_result(o, i);
    }
}

static void
drop_while_slots(const Dce *w, Op *o)
{
    Block *test = o->regions[0], *body = o->regions[1];
    for (int i = o->n_results - 1; i >= 0; i--) {
        if (w->live[body->args[i]->id])
            continue;
        ir_drop_args(test->last, 1 + i, 1);
        ir_drop_result(o, i);
    }
    for (int i = test->n_args - 1; i >= 0; i--) {
        if (w->live[test->args[i]->id])
            continue;
        ir_drop_args(body->last, i, 1);
        ir_drop_args(o, i, 1);
    }
}

/* Arguments whose slot is gone: by now their users are, too. */
static void
drop_block_args(const Dce *w, Block *b, int first)
{
    for (int i = b->n_args - 1; i >= first; i--)
        if (!w->live[b->args[i]->id] && !b->args[i]->uses)
            ir_drop_block_arg(b, i);
}

/* Backwards: users go before what they use. */
static void
sweep(Dce *w, Block *b)
{
    for (Op *o = b->last, *prev; o; o = prev) {
        prev = o->prev;
        if (!stays(w, o)) {
            ir_erase(o);
            w->erased = true;
            continue;
        }
        if (!op_has(o, OPF_CONTROL))
            continue;
        w->has_while |= o->op == OP_WHILE;
        if (o->op == OP_IF)
            drop_if_results(w, o);
        if (o->op == OP_FOR)
            drop_for_slots(w, o);
        if (o->op == OP_WHILE)
            drop_while_slots(w, o);
        for (int r = o->n_regions - 1; r >= 0; r--)
            sweep(w, o->regions[r]);
        if (o->op == OP_FOR)
            drop_block_args(w, o->regions[0], 1);
        if (o->op == OP_WHILE)
            for (int r = 0; r < 2; r++)
                drop_block_args(w, o->regions[r], 0);
    }
}

static void
round_of(Dce *w, Block *b)
{
    w->has_while = w->erased = false;
    w->live = NEW_N(w->f->c->arena, bool, w->f->n_vals + 1);
    mark_roots(w, b);
    while (w->todo.n) {
        Val *v = w->todo.at[--w->todo.n];
        if (v->def)
            mark_result(w, v->def, v->index);
        else
            mark_block_arg(w, v);
    }
    sweep(w, b);
}

void
dce_but(Func *f, Block *b, bool (*keeps)(const Op *o))
{
    Dce w = {.f = f, .stays = keeps};
    round_of(&w, b);
}

void
pass_dce(Func *f)
{
    Dce w = {.f = f, .stays = has_side_effects};
    int rounds = 0;
    do
        round_of(&w, f->body);
    while (w.has_while && w.erased && ++rounds < MAX_ROUNDS);
}
