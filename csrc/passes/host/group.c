/* group: which ops of a CPU's code share a loop nest, and which blocks lie in scratch.
 *
 *     %x = load %p                             nest 1:  loads, maximum; x goes to scratch
 *     %m = reduce %x {nest=1}
 *     %k = keep %x {nest=1}
 *     %e = exp %d                              nest 2:  reads x, e goes to scratch
 *     %s = reduce %e {nest=2}
 *     %l = keep %e {nest=2}
 *     %y = div %l, %b
 *     store %q, %y {nest=3}                    nest 3
 *
 * Ops that are pure per element, and loads, are lazy: each nest that wants one computes it. Roots are what must
 * happen: stores, atomics, reductions, and KEEPs, whose results lie in scratch. Roots of one shape share the
 * open nest until one cannot join it. Code stands where the last root of a nest does; small nests in front
 * of an open one have a number of their own (group_small.c). A root without a number, an op that takes whole blocks, and what
 * a loop or a branch carries have loops of their own.
 *
 * Rule 1: a load is never moved behind something that writes memory: group_order.c.
 * Rule 2: a block that an op takes as a whole is a KEEP's. A product puts its operands where it wants them itself, as
 *         carried blocks are put into their scratch.
 * Rule 3: a value of an outer block that is kept inside a region is so for that region alone.
 * Rule 4: what regions read from outside is kept, or made of scalars and kept indices.
 * Rule 5: no pass behind this one moves ops.
 */
#include "passes/host/group.h"

/* ---- what is computed on demand --------------------------------------------------------- */

static bool
is_of_scalars(Plan *p, const Op *o)
{
    bool ok = op_is_cheap(o);
    for (int i = 0; ok && i < o->n_args; i++) {
        const Val *v = arg(o, i);
        ok = !v->type->rank || (is_lazy(p, v) && fact(p, v)->is_virtual) ||
             is_kept_index(v);
    }
    return ok;
}

void
group_set_lazy(Plan *p, Op *o)
{
    bool is_virtual = is_of_scalars(p, o);
    Fact *s = fact(p, result(o, 0));
    s->made = IS_LAZY;
    s->is_virtual = is_virtual;
    s->pos = ++p->n_pos;
}

bool
group_visits(Plan *p, const Val *v)
{
    Fact *s = fact(p, v);
    if (s->made != IS_LAZY || s->is_virtual || s->seen == p->walk)
        return false;
    s->seen = p->walk;
    s->again = false;
    return true;
}

bool
group_waits(Plan *p, const Val *v)
{
    Fact *s = fact(p, v);
    if (s->made != IS_LAZY || s->seen == p->walk)
        return s->made == IS_AWAITED;
    s->seen = p->walk;
    s->again = false;
    for (int i = 0; i < v->def->n_args; i++)
        if (group_waits(p, arg(v->def, i)))
            return true;
    return false;
}

/* ---- joining -------------------------------------------------------------------------------- */

/* Does computing v load from memory behind position pos? */
static bool
loads_after(Plan *p, const Val *v, int pos)
{
    if (!group_visits(p, v))
        return false;
    if (v->def->op == OP_LOAD && fact(p, v)->pos > pos)
        return true;
    for (int i = 0; i < v->def->n_args; i++)
        if (loads_after(p, arg(v->def, i), pos))
            return true;
    return false;
}

bool
group_can_join(Plan *p, const Nest *g, const Op *o, Val *v, const Type *t, int axis)
{
    if (g->is_alone || !ty_same_shape(g->type, t) ||
        (axis >= 0 && g->axis >= 0 && axis != g->axis))
        return false;
    p->walk++;
    for (int i = 0; taken(o, v, i); i++)
        if (group_waits(p, taken(o, v, i)))
            return false;
    p->walk++;
    for (int i = 0; g->first_write < INT32_MAX && taken(o, v, i); i++)
        if (loads_after(p, taken(o, v, i), g->first_write))
            return false;
    return true;
}

Nest *
group_nest(Plan *p, const Type *t, int axis)
{
    Nest *g = NEW(p->a, Nest);
    g->number = ++p->n_nests;
    g->type = t;
    g->axis = axis;
    g->first_write = INT32_MAX;
    return g;
}

/* The open nest is one that the root o, or a KEEP of v where o is NULL, may join. */
static void
make_room(Plan *p, const Op *o, Val *v, const Type *t, int axis, bool is_alone,
          Op *before)
{
    group_settle_small(p, o, v, t, before);
    if (p->open && (is_alone || !group_can_join(p, p->open, o, v, t, axis)))
        group_close_open(p, before);
    if (!p->open)
        p->open = group_nest(p, t, axis);
    p->open->is_alone = is_alone;
    p->open->axis = MAX(p->open->axis, axis);
}

static void
await(Plan *p, Val *v)
{
    fact(p, v)->made = IS_AWAITED;
    PUSH(p->a, &p->open->awaited, v);
}

static void
add_root(Plan *p, Op *o, const Type *t, int axis)
{
    make_room(p, o, NULL, t, axis, false, o);
    Nest *g = p->open;
    ir_set_attr(o, ATTR_NEST, g->number);
    PUSH(p->a, &g->roots, o);
    map_put(&p->done, o, 0, o);
    if (o->op != OP_REDUCE)
        g->first_write = MIN(g->first_write, ++p->n_pos);
    for (int i = 0; i < o->n_results; i++)
        await(p, result(o, i));
}

/* ---- blocks that are turned ------------------------------------------------------------------- */

/* Are elements consecutive down the columns of the block at ptr? */
static bool
runs_down(Plan *p, const Val *ptr)
{
    const Type *t = ptr->type;
    Affine a;
    int64_t c;
    if (t->rank < 2 || t->shape[t->rank - 2] == 1)
        return false;
    return affine_of(p->f, ptr, &a) && affine_const_stride(&a, t->rank - 2, &c) &&
           c == 1;
}

/* The same of those of a store, but for places where a quotient of an index changes. */
static bool
stores_down(Plan *p, const Val *ptr)
{
    enum { LEAST = 16 }; /* lanes of a register of f32 at most */
    const Type *t = ptr->type;
    return runs_down(p, ptr) || (t->rank > 1 && t->shape[t->rank - 2] >= LEAST &&
                                 runs_by_quotients(ptr, t->rank - 2, 2 * LEAST));
}

/* May computing v go along columns of memory? */
static bool
goes_down(Plan *p, const Val *v)
{
    if (!group_visits(p, v))
        return false;
    const Op *o = v->def;
    if (o->op == OP_TRANS || (o->op == OP_LOAD && runs_down(p, arg(o, 0))))
        return true;
    for (int i = 0; i < o->n_args; i++)
        if (goes_down(p, arg(o, i)))
            return true;
    return false;
}

/* Squares of such blocks may be turned in registers (codegen/host/turn.c), and nothing else shares those loops. */
static bool
may_turn(Plan *p, const Val *v)
{
    p->walk++;
    return v->type->rank > 1 && goes_down(p, v);
}

void
group_keep(Plan *p, Val *v, Op *before)
{
    if (!is_lazy(p, v))
        return;
    for (int i = 0; p->open && i < p->open->roots.n; i++) {
        const Op *r = p->open->roots.at[i];
        if (r->op == OP_KEEP && arg(r, 0) == v)
            return;
    }
    make_room(p, NULL, v, v->type, -1, may_turn(p, v), before);
    p->walk++;
    if (group_is_live(p, v)) /* what was closed may have kept it */
        group_new_keep(p, p->open, v, before);
    else if (!p->open->roots.n)
        p->open = NULL;
}

/* ---- what regions read ---------------------------------------------------------------------- */

/* Collects what is no cheap arithmetic, or in scratch, operands first. */
static void
find_costly(Plan *p, Val *v, Vals *out)
{
    bool is_there = v->type->rank && !is_lazy(p, v);
    if (!is_there && !group_visits(p, v))
        return;
    if (is_there || !op_is_cheap(v->def)) {
        PUSH(p->a, out, v);
        return;
    }
    for (int i = 0; i < v->def->n_args; i++)
        find_costly(p, arg(v->def, i), out);
}

/* v, made of values of fewer elements and cheap arithmetic, is computed in the region: those of them that are
 * costly are kept. Pointers are of twice the bytes of what they are made of. false: nothing was done. */
static bool
settle_index(Plan *p, Val *v, Op *before)
{
    const Type *t = v->type;
    if (!op_is_cheap(v->def) ||
        (!t->is_ptr && (!elem_is_int(t->elem) || t->elem == E_I1)))
        return false;
    Vals costly = {0};
    p->walk++;
    find_costly(p, v, &costly);
    for (int i = 0; i < costly.n; i++)
        if (!t->is_ptr && ty_numel(costly.at[i]->type) >= ty_numel(t))
            return false;
    for (int i = 0; i < costly.n; i++)
        group_keep(p, costly.at[i], before);
    return true;
}

static void
settle_value(Plan *p, Val *v, Op *before)
{
    if (fact(p, v)->made == IS_AWAITED)
        group_close_open(p, before);
    if (!is_lazy(p, v) || fact(p, v)->is_virtual)
        return;
    if (op_is_through(v->def) || v->def->op == OP_SPLAT)
        settle_value(p, arg(v->def, 0), before);
    else if (!settle_index(p, v, before))
        group_keep(p, v, before);
}

typedef struct Outer {
    Plan *p;
    Vals all;
} Outer;

static void
see_outer(void *data, const Val *v)
{
    Outer *x = data;
    PUSH(x->p->a, &x->all, (Val *)v);
}

static void
settle_regions(Plan *p, Op *o)
{
    enum { ROUNDS = 3 }; /* what is computed again is another value */
    for (int i = 0, n = -1; i < ROUNDS && n != p->n_nests; i++) {
        Outer x = {.p = p};
        n = p->n_nests;
        ir_each_outer(o, see_outer, &x);
        for (int k = 0; k < x.all.n; k++)
            settle_value(p, x.all.at[k], o);
        group_close_open(p, o);
    }
    bool writes = false;
    for (int i = 0; i < o->n_regions; i++)
        for (const Op *w = o->regions[i] ? o->regions[i]->first : NULL; w && !writes;
             w = ir_next_op(w, o->regions[i]))
            writes = op_has(w, OPF_WRITES | OPF_STAYS) || may_change_memory(w);
    if (writes)
        group_settle_loads(p, o);
    group_close_open(p, o);
}

/* ---- the walk --------------------------------------------------------------------------------- */

static void walk(Plan *p, Block *b);

/* Scalars that the region of a REDUCE or SCAN reads are there. */
static void
settle_outer(Plan *p, Op *o)
{
    Outer x = {.p = p};
    ir_each_outer(o, see_outer, &x);
    for (int i = 0; i < x.all.n; i++)
        if (fact(p, x.all.at[i])->made == IS_AWAITED)
            group_close_open(p, o);
}

/* o takes blocks as they lie in scratch. A nest that is closed for one of them may give o another op to read, which is
 * computed again of what the nest has kept: then that one is to be kept. */
static void
whole_op(Plan *p, Op *o)
{
    for (int i = 0; i < o->n_args; i++)
        for (const Val *v = NULL; arg(o, i)->type->rank && v != arg(o, i);) {
            v = arg(o, i);
            group_keep(p, arg(o, i), o);
        }
    group_close_open(p, o);
}

static void
scalar_op(Plan *p, Op *o)
{
    for (int i = 0; i < o->n_args; i++)
        if (fact(p, arg(o, i))->made == IS_AWAITED) {
            await(p, result(o, 0));
            return;
        }
}

static void
lazy_op(Plan *p, Op *o)
{
    group_set_lazy(p, o);
    group_note_small(p, o);
    if (o->op == OP_LOAD)
        PUSH(p->a, &p->loads, result(o, 0));
}

static void
scalar_access(Plan *p, Op *o)
{
    bool ends = p->open && p->open->first_write < INT32_MAX;
    for (int i = 0; i < o->n_args; i++)
        ends |= fact(p, arg(o, i))->made == IS_AWAITED;
    if (o->op != OP_LOAD || ir_attr(o, ATTR_VOLATILE)) {
        group_settle_loads(p, o);
        ends = true;
    }
    if (ends)
        group_close_open(p, o);
}

static void
access_op(Plan *p, Op *o)
{
    if (!arg(o, 0)->type->rank) {
        scalar_access(p, o);
        return;
    }
    group_settle_loads(p, o);
    if (o->op != OP_LOAD)
        group_settle_overlaps(p, o);
    bool is_down = o->op == OP_STORE && stores_down(p, arg(o, 0));
    if (o->op == OP_LOAD || is_down || (o->op == OP_STORE && may_turn(p, arg(o, 1)))) {
        group_close_open(p, o);
        group_demand(p, o);
    } else {
        add_root(p, o, arg(o, 0)->type, -1);
    }
}

static void
control_op(Plan *p, Op *o)
{
    settle_regions(p, o);
    if (o->op != OP_IF)
        group_demand(p, o);
    Vals loads = p->loads;
    for (int i = 0; i < o->n_regions; i++) {
        p->loads = (Vals){0};
        if (o->regions[i])
            walk(p, o->regions[i]);
    }
    p->loads = loads;
}

static void
visit(Plan *p, Op *o)
{
    if (op_is_scalar(o)) {
        scalar_op(p, o);
        return;
    }
    if (op_is_lazy(o)) {
        lazy_op(p, o);
        return;
    }
    switch (o->op) {
    case OPS_ACCESS: access_op(p, o); break;
    case OP_REDUCE:
        settle_outer(p, o);
        add_root(p, o, arg(o, 0)->type, (int)ir_attr(o, ATTR_AXIS));
        break;
    case OPS(OP_BARRIER, OP_ASSERT, OP_PRINT):
        group_settle_loads(p, o);
        group_close_open(p, o);
        group_demand(p, o);
        break;
    case OP_ASSUME: break;
    case OPS(OP_DOT, OPS_ENDS):
        group_close_open(p, o);
        group_demand(p, o);
        break;
    case OPS(OP_FOR, OP_WHILE, OP_IF): control_op(p, o); break;
    case OPS(OPS_VALUES, OPS_SHAPE, OPS_ELEM, OPS_TENSOR, OP_SCAN, OP_GATHER,
             OP_HISTOGRAM, OP_SORT, OPS_FOREIGN, OP_DEBUG, OP_SHARED_ALLOC, OPS_SLOTS,
             OP_RING_ALLOC, OPS_RINGS):
        if (o->op == OP_SCAN)
            settle_outer(p, o);
        if (op_has(o, OPF_WRITES))
            group_settle_loads(p, o);
        whole_op(p, o);
    }
    map_put(&p->done, o, 0, o);
}

static void
walk(Plan *p, Block *b)
{
    for (Op *o = b->first; o; o = o->next)
        visit(p, o);
}

/* What nothing computes is no text, either: it may stand in front of what it reads, which was moved (group_close). */
static void
erase_unused(Func *f)
{
    for (bool any = true; any;) {
        any = false;
        EACH_OP_INSIDE_OUT(o, f->body)
            if (op_is_lazy(o) && !result(o, 0)->uses) {
                ir_erase(o);
                any = true;
            }
    }
}

bool
has_nests(const Func *f)
{
    EACH_OP(o, f->body)
        if (ir_attr(o, ATTR_NEST))
            return true;
    return false;
}

void
pass_group(Func *f)
{
    Plan p = {.f = f, .a = f->c->arena, .done.a = f->c->arena};
    EACH_OP_INSIDE_OUT(o, f->body)
        if (o->op == OP_KEEP) {
            ir_replace(result(o, 0), arg(o, 0));
            ir_erase(o);
        }
    group_small_start(&p);
    walk(&p, f->body);
    erase_unused(f);
}
