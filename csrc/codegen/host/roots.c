/* roots: what is emitted together.
 *
 * A root is an op, or a value to put into scratch, that forces loops. Roots of one nest have its number
 * (passes/host/group.c), and the nest is emitted with the last one. What a product, a loop or a branch wants in a
 * place of its own has no number: such roots share a group where they follow one another and have one shape.
 */
#include "codegen/host/host.h"

static bool
has_shape(const Group *g, const Type *t)
{
    return g->rank == t->rank &&
           !memcmp(g->shape, t->shape, (size_t)t->rank * sizeof *t->shape);
}

static bool
can_join(const Group *g, const Root *r, const Type *t)
{
    return has_shape(g, t) && g->n_rows == 1 && !g->end && !r->end &&
           r->dest.group <= 1 && !g->is_turned && !r->side && !r->is_down &&
           !host_is_turned(t, &r->dest); /* the others want to go row by row */
}

static Group *
new_group(Host *h, const Type *t)
{
    Group *g = NEW(h->c->arena, Group);
    g->rank = t->rank;
    memcpy(g->shape, t->shape, sizeof g->shape);
    g->axis = -1;
    g->n_rows = 1;
    return g;
}

static void
put_root(Host *h, Group *g, Root r, const Type *t, int axis)
{
    g->is_turned = r.is_down || host_is_turned(t, &r.dest) != (r.side > 0);
    g->side = r.side;
    g->end = r.end, g->end_dim = r.end_dim;
    if (axis >= 0)
        g->axis = axis;
    if (!r.side)
        g->n_rows = MAX(g->n_rows, r.dest.group);
    PUSH(h->c->arena, &g->roots, r);
}

void
host_add_root(Host *h, Root r, const Type *t)
{
    r.side = r.kind == R_KEEP ? host_side(h, &r) : 0;
    if (h->open && !can_join(h->open, &r, t))
        host_flush(h);
    if (!h->open)
        h->open = new_group(h, t);
    put_root(h, h->open, r, t, -1);
}

static bool
is_all_kept(const Group *g)
{
    for (int i = 0; i < g->roots.n; i++)
        if (g->roots.at[i].kind != R_KEEP)
            return false;
    return true;
}

void
host_add_to_nest(Host *h, Root r, const Type *t, int axis)
{
    Nest *n = map_get(&h->nests, (void *)(intptr_t)ir_attr(r.o, ATTR_NEST), 0);
    if (!n || (n->g && (!has_shape(n->g, t) ||
                        (axis >= 0 && n->g->axis >= 0 && axis != n->g->axis))))
        unreachable(h->c); /* pass group gives such roots no number of theirs */
    if (!n->g) {
        n->g = new_group(h, t);
        PUSH(h->c->arena, &h->begun, n->g);
    }
    Group *g = n->g;
    put_root(h, g, r, t, axis);
    if (--n->n_left)
        return;
    int k = 0;
    for (int i = 0; i < h->begun.n; i++)
        if (h->begun.at[i] != g)
            h->begun.at[k++] = h->begun.at[i];
    h->begun.n = k;
    g->side = is_all_kept(g) ? host_side(h, &g->roots.at[0]) : 0;
    g->is_turned = g->side > 0;
    host_emit_group(h, g);
    host_emit_deferred(h);
}

void
host_materialise_to(Host *h, const Val *v, View dest)
{
    host_convert_to(h, v, dest, v->type->elem, 0, NULL);
}

void
host_convert_to(Host *h, const Val *v, View dest, Elem e, int dim, Lv end)
{
    Root r = {.kind = R_KEEP,
              .v = v,
              .dest = dest,
              .converts = e != v->type->elem,
              .elem = e,
              .end = end,
              .end_dim = dim,
              .pos = v->def ? host_pos(h, v->def) : 0};
    host_add_root(h, r, v->type);
}
