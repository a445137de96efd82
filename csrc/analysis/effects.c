/* effects: what must stay, what may change under a load, where a value comes from.
 *
 * Nothing is assumed of aliasing: two pointer arguments may point to the same memory, so any
 * store may change any load. A `while` that reads memory may be waiting for another program
 * to write it, so it stays even when nobody uses its results. A volatile load reads what others
 * write: what is read behind it is not what was read before. */
#include "analysis/analysis.h"

bool
may_change_memory(const Op *o)
{
    if (o->op == OP_LOAD)
        return ir_attr(o, ATTR_VOLATILE); /* others write what it waits for */
    return op_has(o, OPF_WRITES | OPF_SYNC);
}

static bool
any_reads(const Block *b)
{
    EACH_OP(o, b)
        if (op_has(o, OPF_READS))
            return true;
    return false;
}

bool
has_side_effects(const Op *o)
{
    if (op_has(o, OPF_WRITES | OPF_SYNC | OPF_STAYS) ||
        (o->op == OP_LOAD && ir_attr(o, ATTR_VOLATILE)))
        return true;
    for (int r = 0; r < o->n_regions; r++) {
        if (o->op == OP_WHILE && any_reads(o->regions[r]))
            return true;
        for (const Op *p = o->regions[r]->first; p; p = p->next)
            if (has_side_effects(p))
                return true;
    }
    return false;
}

bool
is_defined_outside(const Val *v, const Block *b)
{
    return !ir_encloses(b, v->block);
}

bool
has_user_in(const Op *o, const Map *ops)
{
    for (int i = 0; i < o->n_results; i++)
        for (const Use *u = result(o, i)->uses; u; u = u->next)
            if (map_get(ops, u->user, 0))
                return true;
    return false;
}

enum { MAX_STEPS = 256 };

/* Is the result made of the pointers that operand 0 is? */
static bool
passes_pointer_on(const Op *o)
{
    return o->op == OP_ADDPTR || o->op == OP_SPLAT || o->op == OP_BROADCAST ||
           o->op == OP_CONVERT || o->op == OP_KEEP || o->op == OP_HINT ||
           op_has(o, OPF_VIEW) || (o->op == OP_BITCAST && arg(o, 0)->type->is_ptr);
}

const Val *
pointer_root(const Func *f, const Val *v)
{
    for (int i = 0; i < MAX_STEPS && v->type->is_ptr; i++) {
        if (v->def && v->def->op == OP_FOR)
            v = arg(v->def, v->index + 3);
        else if (v->def && passes_pointer_on(v->def))
            v = arg(v->def, 0);
        else if (v->def)
            return NULL;
        else if (v->block == f->body)
            return v;
        else if (v->block->owner->op == OP_FOR && v->index > 0)
            v = arg(v->block->owner, v->index + 2);
        else
            return NULL;
    }
    return NULL;
}
