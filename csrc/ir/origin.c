/* origin: which argument a pointer was computed from.
 *
 *     %p = addptr %x, %i                        of %x
 *     %t = load %table        %q = addptr %t, %i   of none: how much memory there is behind
 *     %q = bitcast %number : ptr<f32>             it nobody said
 *
 * Who checks accesses asks: those of the second kind may lie outside of the tensors of the
 * launch, as the tensors whose addresses a kernel gets in a table do.
 */
#include "ir/ir.h"

/* What argument `index` of a loop's block begins as. */
static const Val *
begins_as(const Block *b, int index)
{
    const Op *o = b->owner;
    if (o && o->op == OP_FOR && index > 0)
        return arg(o, 2 + index);
    if (o && o->op == OP_WHILE && b == o->regions[0])
        return arg(o, index);
    return o && o->op == OP_WHILE ? arg(o->regions[0]->last, 1 + index) : NULL;
}

int
ir_origin(const Val *v)
{
    for (int steps = 0; v && steps < 1000; steps++) {
        const Op *o = v->def;
        if (!o && !v->block->owner)
            return v->index;
        if (!o)
            v = begins_as(v->block, v->index);
        else if (o->op == OP_FOR)
            v = arg(o, 3 + v->index);
        else if (o->op == OP_WHILE)
            v = arg(o, v->index);
        else if (o->op == OP_IF)
            v = arg(o->regions[0]->last, v->index);
        else if (o->op == OP_SELECT)
            v = arg(o, 1);
        else if (op_has(o, OPF_PURE) && o->n_args && arg(o, 0)->type->is_ptr)
            v = arg(o, 0);
        else
            return -1;
    }
    return -1;
}

/* ---- is it an argument's memory? -------------------------------------------------- */

enum { BUDGET = 2000 }; /* values looked at; after that nothing is an argument's */

static bool is_arguments(const Val *v, int *budget);

/* Both ways into o's result. */
static bool
are_arguments(const Val *a, const Val *b, int *budget)
{
    return is_arguments(a, budget) && is_arguments(b, budget);
}

/* Of an address that was made a number: any of the operands. */
static bool
any_is_arguments(const Op *o, int *budget)
{
    for (int i = 0; i < o->n_args; i++)
        if (is_arguments(arg(o, i), budget))
            return true;
    return false;
}

/* Is the pointer v, or the number that becomes one, computed from a pointer argument,
 * whichever way it came? Loops are followed to what they begin with. */
static bool
is_arguments(const Val *v, int *budget)
{
    const Op *o = v->def;
    if (--*budget < 0)
        return false;
    if (!o && !v->block->owner)
        return v->type->is_ptr;
    if (!o) {
        const Val *first = begins_as(v->block, v->index);
        return first && is_arguments(first, budget);
    }
    switch (o->op) {
    case OP_FOR: return is_arguments(arg(o, 3 + v->index), budget);
    case OP_WHILE: return is_arguments(arg(o, v->index), budget);
    case OP_IF:
        return are_arguments(arg(o->regions[0]->last, v->index),
                             arg(o->regions[1]->last, v->index), budget);
    case OP_SELECT: return are_arguments(arg(o, 1), arg(o, 2), budget);
    case OP_ADDPTR: return is_arguments(arg(o, 0), budget);
    default: return op_has(o, OPF_PURE) && any_is_arguments(o, budget);
    }
}

static bool
points_elsewhere(const Val *v)
{
    int budget = BUDGET;
    return !is_arguments(v, &budget);
}

/* Of assembly: as one of its pointers does, or, where there are none, of its addresses. */
bool
ir_reaches_elsewhere(const Op *o)
{
    if (!op_is_assembly(o)) {
        for (int i = 0; i < o->n_args; i++)
            if (arg(o, i)->type->is_ptr) /* the first is where it goes */
                return points_elsewhere(arg(o, i));
        return false;
    }
    bool has_pointers = false;
    for (int i = 0; i < o->n_args; i++)
        has_pointers |= arg(o, i)->type->is_ptr;
    for (int i = 0; i < o->n_args; i++) {
        const Type *t = arg(o, i)->type;
        if ((has_pointers ? t->is_ptr : ty_bits(t) == 64) &&
            points_elsewhere(arg(o, i)))
            return true;
    }
    return false;
}
