/* roots: what is emitted together, and what must be in scratch before that.
 *
 * A root is an op, or a value to keep, that forces loops; roots of one shape share a group
 * (host.c has the picture). Here are the conditions under which one may join, values of
 * another shape that are computed ahead of a group, and the loads and values that writes
 * and regions make settle.
 */
#include "codegen/host/host.h"

/* ---- groups ------------------------------------------------------------------------------ */

/* Does computing v need something the open group has not made yet? */
static bool
waits(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (!v->type->rank)
        return !host_is_ready(h, v);
    if (s->kind != V_LAZY)
        return s->kind == V_INGROUP;
    if (s->stamp == h->stamp)
        return false; /* seen in this walk */
    s->stamp = h->stamp;
    s->again = false;
    for (int i = 0; i < v->def->n_args; i++)
        if (waits(h, arg(v->def, i)))
            return true;
    return false;
}

static bool
root_waits(Host *h, const Root *r)
{
    h->stamp++;
    for (int i = 0; root_value(r, i); i++)
        if (waits(h, root_value(r, i)))
            return true;
    return false;
}

/* Does computing v on demand load from memory behind position pos? */
static bool
loads_after(Host *h, const Val *v, int pos)
{
    if (!host_visits(h, v))
        return false;
    if (v->def->op == OP_LOAD && host_pos(h, v->def) > pos)
        return true;
    for (int i = 0; i < v->def->n_args; i++)
        if (loads_after(h, arg(v->def, i), pos))
            return true;
    return false;
}

static bool
root_loads_after(Host *h, const Root *r, int pos)
{
    h->stamp++;
    for (int i = 0; root_value(r, i); i++)
        if (loads_after(h, root_value(r, i), pos))
            return true;
    return false;
}

static bool
writes(const Root *r)
{
    return r->kind != R_KEEP && r->kind != R_REDUCE;
}

static int
first_write(const Group *g)
{
    for (int i = 0; i < g->roots.n; i++)
        if (writes(&g->roots.at[i]))
            return g->roots.at[i].pos;
    return INT32_MAX;
}

static bool
can_join(Host *h, const Group *g, const Root *r, const Type *t, int axis)
{
    if (g->rank != t->rank || (axis >= 0 && g->axis >= 0 && axis != g->axis))
        return false;
    if (g->n_rows > 1 || r->dest.group > 1 || g->is_turned || r->side || r->is_down ||
        host_is_turned(t, &r->dest))
        return false; /* the others want to go row by row */
    for (int d = 0; d < t->rank; d++)
        if (g->shape[d] != t->shape[d])
            return false;
    if (root_waits(h, r))
        return false;
    return !g->has_writes || !root_loads_after(h, r, first_write(g));
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
    if (axis >= 0)
        g->axis = axis;
    g->has_writes |= writes(&r);
    if (!r.side)
        g->n_rows = MAX(g->n_rows, r.dest.group);
    PUSH(h->c->arena, &g->roots, r);
    if (r.kind != R_KEEP)
        for (int i = 0; i < r.o->n_results; i++)
            if (result(r.o, i)->type->rank)
                state(h, result(r.o, i))->kind = V_INGROUP;
}

/* ---- values of another shape that are worth computing once --------------------------------- */

typedef VEC(const Val *) Vals;

/* Collects what a nest of t's shape should find in scratch, as pass keep_small says, operands first. */
static void
find_small(Host *h, const Type *t, const Val *v, Vals *out)
{
    if (!host_visits(h, v))
        return;
    const Op *o = v->def;
    bool once = v->is_kept && ty_numel(v->type) < ty_numel(t);
    for (int i = 0; i < o->n_args; i++)
        find_small(h, once ? v->type : t, arg(o, i), out);
    if (once)
        PUSH(h->c->arena, out, v);
}

static void
emit_kept(Host *h, Vals *small)
{
    /* The last group that was opened may be emitted later only if nothing here writes or
     * waits for it. */
    bool flush = h->open && h->open->has_writes;
    h->stamp++;
    for (int i = 0; i < small->n && !flush; i++)
        flush = waits(h, small->at[i]);
    if (flush)
        host_flush(h);
    Group *g = NULL;
    for (int i = 0; i < small->n; i++) {
        const Val *v = small->at[i];
        if (state(h, v)->kind != V_LAZY)
            continue; /* an earlier group of these has kept it */
        Root r = {.kind = R_KEEP, .v = v, .pos = host_pos(h, v->def)};
        if (g && !can_join(h, g, &r, v->type, -1)) {
            host_emit_group(h, g);
            g = NULL;
        }
        if (state(h, v)->kind != V_LAZY)
            continue;
        if (!g)
            g = new_group(h, v->type);
        put_root(h, g, r, v->type, -1);
    }
    if (g)
        host_emit_group(h, g);
}

static void
settle_small(Host *h, const Root *r, const Type *t)
{
    Vals small = {0};
    h->stamp++;
    for (int i = 0; root_value(r, i); i++)
        find_small(h, t, root_value(r, i), &small);
    if (small.n)
        emit_kept(h, &small);
}

void
host_add_root(Host *h, Root r, const Type *t, int axis)
{
    settle_small(h, &r, t);
    r.side = r.kind == R_KEEP ? host_side(h, &r) : 0;
    if (h->open && !can_join(h, h->open, &r, t, axis))
        host_flush(h);
    if (!h->open)
        h->open = new_group(h, t);
    put_root(h, h->open, r, t, axis);
}

/* ---- making ready ------------------------------------------------------------------------------- */

static void
keep_root(Host *h, Root r)
{
    r.kind = R_KEEP;
    r.pos = r.v->def ? host_pos(h, r.v->def) : 0;
    host_add_root(h, r, r.v->type, -1);
}

void
host_materialise(Host *h, const Val *v)
{
    if (state(h, v)->kind == V_INGROUP)
        host_flush(h);
    if (state(h, v)->kind == V_BUFFER)
        return;
    keep_root(h, (Root){.v = v});
    host_flush(h);
}

void
host_materialise_to(Host *h, const Val *v, View dest, bool alone)
{
    if (alone || state(h, v)->kind == V_INGROUP)
        host_flush(h);
    keep_root(h, (Root){.v = v, .dest = dest, .is_forced = true});
    if (alone)
        host_flush(h);
}

void
host_convert_to(Host *h, const Val *v, View dest, Elem e)
{
    if (state(h, v)->kind == V_INGROUP)
        host_flush(h);
    keep_root(
        h,
        (Root){.v = v, .dest = dest, .is_forced = true, .converts = true, .elem = e});
}

void
host_settle_loads(Host *h, const Op *writer)
{
    if (!h->loads.n)
        return;
    h->stamp++;
    for (int i = 0; h->open && i < h->open->roots.n; i++) {
        Root *r = &h->open->roots.at[i];
        for (int k = 0; root_value(r, k); k++)
            host_stamp(h, root_value(r, k));
    }
    for (int i = 0; i < writer->n_args; i++)
        host_stamp(h, arg(writer, i));
    Vals force = {0};
    int n = 0;
    for (int i = 0; i < h->loads.n; i++) {
        const Val *v = result(h->loads.at[i], 0);
        if (state(h, v)->kind != V_LAZY)
            continue;
        h->loads.at[n++] = h->loads.at[i];
        if (state(h, v)->stamp != h->stamp && host_is_live(h, v))
            PUSH(h->c->arena, &force, v);
    }
    h->loads.n = n;
    for (int i = 0; i < force.n; i++)
        if (state(h, force.at[i])->kind == V_LAZY)
            keep_root(h, (Root){.v = force.at[i]});
}

/* Collects what is no cheap arithmetic, or in scratch, operands first. */
static void
find_costly(Host *h, const Val *v, Vals *out)
{
    bool is_there = v->type->rank && state(h, v)->kind != V_LAZY;
    if (!is_there && !host_visits(h, v))
        return;
    if (is_there || !op_is_cheap(v->def)) {
        PUSH(h->c->arena, out, v);
        return;
    }
    for (int i = 0; i < v->def->n_args; i++)
        find_costly(h, arg(v->def, i), out);
}

/* v, whose costly parts are in scratch, is as good as made of scalars. */
static void
make_virtual(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (s->kind != V_LAZY || s->is_virtual)
        return;
    host_remember(h, v);
    s->is_virtual = true;
    for (int i = 0; i < v->def->n_args; i++)
        make_virtual(h, arg(v->def, i));
}

/* v, made of values of fewer elements and cheap arithmetic, is computed on demand from here on:
 * those of them that are costly are put into scratch. Pointers are of twice the bytes of what
 * they are made of. false: nothing was done. */
static bool
settle_index(Host *h, const Val *v)
{
    const Type *t = v->type;
    if (!op_is_cheap(v->def) ||
        (!t->is_ptr && (!elem_is_int(t->elem) || t->elem == E_I1)))
        return false;
    Vals costly = {0};
    h->stamp++;
    find_costly(h, v, &costly);
    for (int i = 0; i < costly.n; i++)
        if (!t->is_ptr && ty_numel(costly.at[i]->type) >= ty_numel(t))
            return false;
    for (int i = 0; i < costly.n; i++)
        if (state(h, costly.at[i])->kind == V_LAZY)
            keep_root(h, (Root){.v = costly.at[i]});
    host_flush(h);
    make_virtual(h, v);
    return true;
}

static bool
is_inside(const Val *v, const Op *o)
{
    for (const Block *b = v->block; b && b->owner; b = b->owner->block)
        if (b->owner == o)
            return true;
    return false;
}

static void
settle_value(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (s->kind == V_INGROUP || (s->kind == V_SCALAR && !s->lv)) {
        host_flush(h);
        return;
    }
    if (s->kind != V_LAZY || s->is_virtual)
        return;
    if (op_is_through(v->def) || v->def->op == OP_SPLAT)
        settle_value(h, arg(v->def, 0));
    else if (!settle_index(h, v))
        keep_root(h, (Root){.v = v});
}

static bool
settle_block(Host *h, const Block *b, const Op *outer)
{
    bool has_writes = false;
    for (const Op *o = b->first; o; o = o->next) {
        has_writes |= op_has(o, OPF_WRITES | OPF_STAYS) || may_change_memory(o);
        for (int i = 0; i < o->n_args; i++)
            if (!is_inside(arg(o, i), outer))
                settle_value(h, arg(o, i));
        for (int i = 0; i < o->n_regions; i++)
            if (o->regions[i])
                has_writes |= settle_block(h, o->regions[i], outer);
    }
    return has_writes;
}

void
host_settle_regions(Host *h, const Op *o)
{
    bool has_writes = false;
    for (int i = 0; i < o->n_regions; i++)
        if (o->regions[i])
            has_writes |= settle_block(h, o->regions[i], o);
    if (has_writes)
        host_settle_loads(h, o);
    host_flush(h);
}
