/* group_order: loads that must be over before a write of the same program begins.
 *
 *     v = load p + i                       for 64 by 16:  scratch[0] = load p + i
 *     store p + load q + i, v              for 64 by 16:  store p + (load q + i), scratch[0]
 *
 * A loop nest goes through a store element by element and computes what is stored on the
 * way, loads included. The element that it loads next may be one that it has just written:
 * a permutation or a shift in place. So loads of what the store may write stand in a nest
 * of their own, before it. Nothing is lost where each element is read and written at one
 * place, as in `x += 1`, nor where the two blocks lie side by side: the halves of a rotary
 * embedding.
 *
 * Two arguments are two tensors, unless the launch says otherwise (runtime/share.c): programs
 * give the output in place of an input, and views of one tensor. Where both start at one
 * address they are compared as one pointer would be, and walking through both in one order
 * costs nothing; where they overlap in another way nothing is known. Each is asked about as
 * late as can be, so a launch of tensors that lie apart has the code it always had.
 */
#include "passes/host/group.h"

static const Val *
through(const Val *v)
{
    while (v->def && (v->def->op == OP_HINT || v->def->op == OP_CONVERT))
        v = arg(v->def, 0);
    return v;
}

/* Do the blocks at from and to have no element in common, or each at the same index? Their
 * roots are one address. */
static bool
is_apart(const Func *f, const Val *from, const Val *to)
{
    Affine x, y;
    int64_t span_x, span_y;
    if (!affine_of(f, from, &x) || !affine_of(f, to, &y) ||
        from->type->elem != to->type->elem)
        return false;
    if (x.pointer == pointer_root(f, from) && y.pointer == pointer_root(f, to))
        y.pointer = x.pointer;
    if (ty_same_shape(from->type, to->type) && affine_is_same(&x, &y, to->type))
        return true;
    if (!affine_is_beside(&x, &y) || !affine_span(&x, from->type, &span_x) ||
        !affine_span(&y, to->type, &span_y))
        return false;
    int64_t low_x = affine_low(&x, from->type), low_y = affine_low(&y, to->type);
    return low_x + span_x <= low_y || low_y + span_y <= low_x;
}

/* May writer change, at one index, what load reads at another? */
static bool
meets(Func *f, const Op *load, const Op *writer)
{
    const Val *from = through(arg(load, 0)), *to = through(arg(writer, 0));
    const Val *root = from == to ? NULL : pointer_root(f, from);
    const Val *other = root ? pointer_root(f, to) : NULL;
    if (!other)
        return false;
    if (root != other && ir_ask_both(f, root, other, FACT_OVERLAPS))
        return true;
    return !is_apart(f, from, to) &&
           (root == other || ir_ask_both(f, root, other, FACT_SAME));
}

/* The loads that computing v on demand does, of those that writer may change. */
static void
find_loads(Plan *p, Val *v, const Op *writer, Vals *out)
{
    if (!group_visits(p, v))
        return;
    if (v->def->op == OP_LOAD && meets(p->f, v->def, writer))
        PUSH(p->a, out, v);
    for (int i = 0; i < v->def->n_args; i++)
        find_loads(p, arg(v->def, i), writer, out);
}

void
group_settle_overlaps(Plan *p, Op *writer)
{
    Vals found = {0};
    p->walk++;
    for (int i = 0; p->open && i < p->open->roots.n && !found.n; i++)
        for (int k = 0; k < p->open->roots.at[i]->n_args; k++)
            find_loads(p, arg(p->open->roots.at[i], k), writer, &found);
    if (found.n)
        group_close_open(p, writer);
    found.n = 0;
    p->walk++;
    for (int i = 0; i < writer->n_args; i++)
        find_loads(p, arg(writer, i), writer, &found);
    for (int i = found.n; i-- > 0;) {
        group_keep(p, found.at[i], writer);
        group_close_open(p, writer);
    }
}

void
group_settle_loads(Plan *p, Op *writer)
{
    Vals force = {0}, met = {0};
    if (!p->loads.n)
        return;
    p->walk++;
    for (int i = 0; p->open && i < p->open->roots.n; i++)
        for (int k = 0; k < p->open->roots.at[i]->n_args; k++)
            group_closure(p, arg(p->open->roots.at[i], k), &met);
    for (int i = 0; i < writer->n_args; i++)
        group_closure(p, arg(writer, i), &met);
    int n = 0;
    for (int i = 0; i < p->loads.n; i++) {
        Val *v = p->loads.at[i];
        if (fact(p, v)->seen != p->walk && group_is_live(p, v))
            PUSH(p->a, &force, v);
        else
            p->loads.at[n++] = v;
    }
    p->loads.n = n;
    for (int i = 0; i < force.n; i++)
        group_keep(p, force.at[i], writer);
}
