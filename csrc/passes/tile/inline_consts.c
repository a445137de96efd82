/* inline_consts: each constant once in its block, at the top; arguments that are 1.
 *
 *     %a = mul %offs, splat(%stride)      =>   %a = mul %offs, splat(1)
 *                                              where %stride is 1 in this launch
 *
 * A stride of 1 is what makes a row contiguous, so it is worth a variant of its own; any
 * other integer is not. Asked about are only integers that scale a block index. (An
 * unannotated argument that is 1 is a constant already in the frontend; this finds the
 * annotated ones, and those of a .tir file.)
 *
 * Rule 1: constants stay in their block: a combine region keeps its own.
 */
#include "passes/passes.h"

enum { WALK_BUDGET = 64 };

/* Does v, splatted or widened perhaps, multiply a block? */
static bool
scales_block(const Val *v, int *budget)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        if (--*budget < 0)
            return false;
        if (o->op == OP_MUL && result(o, 0)->type->rank)
            return true;
        if ((o->op == OP_SPLAT || o->op == OP_EXPAND || o->op == OP_BROADCAST ||
             o->op == OP_CAST) &&
            scales_block(result(o, 0), budget))
            return true;
    }
    return false;
}

static void
inline_ones(Func *f)
{
    Build b = {.f = f, .block = f->body, .before = f->body->first, .loc = f->loc};
    for (int i = 0; i < f->body->n_args; i++) {
        Val *v = f->body->args[i];
        int budget = WALK_BUDGET;
        if (v->type->is_ptr || !elem_is_int(v->type->elem) || v->type->elem == E_I1 ||
            !scales_block(v, &budget) || !ir_ask(f, v, FACT_EQ1))
            continue;
        ir_replace(v, ir_const_int(&b, v->type, 1));
    }
}

/* One constant per (type, bits) of the block; they go to its top in order of appearance. */
static void
gather_consts(Block *b)
{
    Map seen = {.a = b->func->c->arena};
    Op *top = b->first;
    while (top && top->op == OP_CONST && !map_get(&seen, top, 0)) {
        map_put(&seen, top, 0,
                top); /* those at the top stay: no moves on a second run */
        top = top->next;
    }
    Map by_value = {.a = b->func->c->arena};
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        for (int r = 0; r < o->n_regions; r++)
            gather_consts(o->regions[r]);
        if (o->op != OP_CONST)
            continue;
        uint64_t key[2] = {(uintptr_t)result(o, 0)->type, o->bits};
        Val *first = map_get(&by_value, key, sizeof key);
        if (first) {
            if (!first->name)
                first->name = result(o, 0)->name;
            ir_replace(result(o, 0), first);
            ir_erase(o);
            continue;
        }
        map_put(&by_value, key, sizeof key, result(o, 0));
        if (!map_get(&seen, o, 0) && top)
            ir_move_before(o, top);
    }
}

void
pass_inline_consts(Func *f)
{
    inline_ones(f);
    gather_consts(f->body);
}
