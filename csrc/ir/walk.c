/* walk: the ops of a block and of the regions in it, in the order of the text or inside out.
 *
 *     EACH_OP(o, f->body)
 *         if (o->op == OP_DOT)
 *             return true;
 *
 * No recursion is needed for a question to every op, so walks are loops of whoever asks.
 */
#include "ir/ir.h"

/* The first op of o's regions from the one numbered r on; NULL: they have none. */
static Op *
first_inside(const Op *o, int r)
{
    for (; r < o->n_regions; r++)
        if (o->regions[r] && o->regions[r]->first)
            return o->regions[r]->first;
    return NULL;
}

/* The first op of the regions that follow o's own in their owner; NULL: o's is the last. */
static Op *
first_beside(const Op *o)
{
    const Op *owner = o->block->owner;
    int r = 0;
    while (owner->regions[r] != o->block)
        r++;
    return first_inside(owner, r + 1);
}

static Op *
next_outside(const Op *o, const Block *top)
{
    Op *in = NULL;
    while (!in && !o->next && o->block != top) {
        in = first_beside(o);
        o = o->block->owner;
    }
    return in ? in : o->next;
}

bool
ir_encloses(const Block *outer, const Block *b)
{
    while (b && b != outer)
        b = b->owner ? b->owner->block : NULL;
    return b != NULL;
}

Op *
ir_op_in(const Block *b, Op *o)
{
    while (o->block != b)
        o = o->block->owner;
    return o;
}

Op *
ir_next_op(const Op *o, const Block *top)
{
    Op *in = first_inside(o, 0);
    return in ? in : next_outside(o, top);
}

Op *
ir_next_control(const Op *o, const Block *top)
{
    Op *in = op_has(o, OPF_CONTROL) ? first_inside(o, 0) : NULL;
    return in ? in : next_outside(o, top);
}

const Loc *
ir_loc_of(const Val *v)
{
    const Op *o = v->def ? v->def : v->block->owner;
    return o ? o->loc : v->block->func->loc;
}

/* The first value from op o on. */
static Val *
first_from(const Op *o, const Block *top, bool is_control)
{
    for (; o; o = is_control ? ir_next_control(o, top) : ir_next_op(o, top)) {
        const Block *b = o->block;
        if (o == b->first && b != top && b->n_args)
            return b->args[0];
        if (o->n_results)
            return result(o, 0);
    }
    return NULL;
}

Val *
ir_first_val(const Block *top, bool is_control)
{
    return top->n_args ? top->args[0] : first_from(top->first, top, is_control);
}

Val *
ir_next_val(const Val *v, const Block *top, bool is_control)
{
    const Op *o = v->def;
    if (!o && v->index + 1 < v->block->n_args)
        return v->block->args[v->index + 1];
    if (!o && (o = v->block->first) && o->n_results)
        return result(o, 0);
    if (o && o == v->def && v->index + 1 < o->n_results)
        return result(o, v->index + 1);
    return o ? first_from(is_control ? ir_next_control(o, top) : ir_next_op(o, top),
                          top, is_control)
             : NULL;
}

static Op *
innermost(Op *o)
{
    for (Op *in = o; in; in = first_inside(o, 0))
        o = in;
    return o;
}

Op *
ir_first_inside(const Block *top)
{
    return innermost(top->first);
}

Op *
ir_next_inside(const Op *o, const Block *top)
{
    if (o->next || o->block == top)
        return innermost(o->next);
    Op *in = first_beside(o);
    return in ? innermost(in) : o->block->owner;
}

bool
ir_has_op(const Block *b, OpCode op)
{
    for (const Op *o = b->first; o; o = o->next)
        if (o->op == op)
            return true;
    return false;
}

bool
ir_holds(const Block *b, bool (*is)(const Op *))
{
    EACH_OP(o, b)
        if (is(o))
            return true;
    return false;
}

bool
ir_is_or_holds(const Op *o, bool (*is)(const Op *))
{
    for (int r = 0; r < o->n_regions; r++)
        if (ir_holds(o->regions[r], is))
            return true;
    return is(o);
}

bool
ir_is_unused(const Op *o)
{
    for (int i = 0; i < o->n_results; i++)
        if (result(o, i)->uses)
            return false;
    return true;
}

void
ir_drop_unused(Block *b, bool loads)
{
    for (Op *o = b->last, *prev; o; o = prev) {
        prev = o->prev;
        bool can_go = op_has(o, OPF_PURE) ||
                      (loads && o->op == OP_LOAD && !ir_attr(o, ATTR_VOLATILE));
        if (can_go && ir_is_unused(o)) {
            ir_erase(o);
            continue;
        }
        for (int r = 0; r < o->n_regions; r++)
            ir_drop_unused(o->regions[r], loads);
    }
}

static bool
is_below(const Val *v, const Op *o)
{
    const Op *at = v->block->owner;
    while (at && at != o)
        at = at->block->owner;
    return at != NULL;
}

void
ir_each_outer(const Op *o, void (*see)(void *data, const Val *v), void *data)
{
    for (int r = 0; r < o->n_regions; r++)
        EACH_OP(p, o->regions[r])
            for (int i = 0; i < p->n_args; i++)
                if (!is_below(arg(p, i), o))
                    see(data, arg(p, i));
}
