/* group_keep: kept or computed again?
 *
 *     %x = load %p                             %x = load %p
 *     %m = reduce %x {nest=1}                  %m = reduce %x {nest=1}
 *     %d = sub %x, %ms                  =>     %k = keep %x {nest=1}
 *     %e = exp %d                              %d = sub %k, %ms
 *     %s = reduce %e {nest=2}                  %e = exp %d
 *
 * What a nest has computed and a later one wants is kept, unless computing it again costs no more than reading
 * it: shapes, what is virtual, and an op that is not slow and reads at most one block of scratch. That is said of users
 * before what they use, for what a user is made of is wanted no more where the user is kept. What is computed
 * again, of something that is kept, is another op: it reads the KEEP.
 */
#include "passes/host/group.h"

void
group_closure(Plan *p, Val *v, Vals *out)
{
    Fact *s = fact(p, v);
    if (s->made != IS_LAZY || s->seen == p->walk)
        return;
    s->seen = p->walk;
    s->again = false;
    for (int i = 0; i < v->def->n_args; i++)
        group_closure(p, arg(v->def, i), out);
    PUSH(p->a, out, v);
}

/* Paths from a value to its last users may be as many as 2^users: each value is seen once. */
static bool
is_live(Plan *p, const Val *v)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *w = ir_op_in(v->block, u->user);
        if (w != u->user || !op_is_lazy(w)) {
            if (w != p->taken && !map_get(&p->done, w, 0))
                return true;
            continue;
        }
        Fact *s = fact(p, result(w, 0));
        if ((s->seen == p->walk && !s->again) || s->live == p->live_walk)
            continue;
        s->live = p->live_walk;
        if (is_live(p, result(w, 0)))
            return true;
    }
    return false;
}

bool
group_is_live(Plan *p, const Val *v)
{
    p->live_walk++;
    return is_live(p, v);
}

static bool
is_cheap_again(Plan *p, const Val *v)
{
    const Op *o = v->def;
    if (op_is_through(o) || fact(p, v)->is_virtual)
        return true;
    if (!op_has(o, OPF_ELEM) || element_cost(o) >= COST_SLOW)
        return false;
    int n_reads = 0;
    for (int i = 0; i < o->n_args; i++) {
        const Fact *s = fact(p, arg(o, i));
        if (!arg(o, i)->type->rank || (s->made == IS_LAZY && s->is_virtual))
            continue;
        if (s->made != IS_THERE || ++n_reads > 1)
            return false;
    }
    return true;
}

Op *
group_new_keep(Plan *p, Nest *g, Val *v, Op *before)
{
    Build b = {.f = p->f, .block = before->block, .before = before, .loc = v->def->loc};
    Op *k = ir_op(&b, OP_KEEP, 1, &v, 1, &v->type);
    ir_set_attr(k, ATTR_NEST, g->number);
    PUSH(p->a, &g->roots, k);
    map_put(&p->done, k, 0, k);
    return k;
}

/* ---- who reads what instead ------------------------------------------------------------- */

typedef VEC(Op *) Ops;

/* Is w an op that stands in front of `before` and has been walked, but that no nest has computed? */
static bool
is_left(Plan *p, const Op *w, const Op *before)
{
    if (!op_is_lazy(w) || w->block != before->block)
        return false;
    const Fact *s = fact(p, result(w, 0));
    return s->pos && s->seen != p->walk && !s->is_computed;
}

/* w, which nests have computed, reads something that is elsewhere by now: whoever computes it again needs another
 * op, if there is somebody. */
static void
take_again(Plan *p, const Op *w, Vals *all)
{
    Val *v = result(w, 0);
    if (fact(p, v)->seen == p->walk || !group_is_live(p, v))
        return;
    Fact *s = fact(p, v);
    s->seen = p->walk;
    s->again = true;
    PUSH(p->a, all, v);
}

/* Users of v that are not computed yet read x. Those that stand in front of `before` are left for later. */
static void
hand_on(Plan *p, Val *v, Val *x, Op *before, Ops *left, Vals *all)
{
    for (Use *u = v->uses, *next; u; u = next) {
        next = u->next;
        Op *w = u->user;
        if (w == x->def || !ir_encloses(before->block, w->block) ||
            map_get(&p->done, ir_op_in(before->block, w), 0))
            continue;
        bool is_behind = !op_is_lazy(w) || !fact(p, result(w, 0))->pos;
        if (!is_behind && !is_left(p, w, before)) {
            take_again(p, w, all);
            continue;
        }
        if (!is_behind)
            PUSH(p->a, left, w);
        ir_set_arg(w, (int)(u - w->args), x);
    }
}

/* In front of `before`, behind what it is made of. */
static void
move_one(Plan *p, Op *o, Map *left, Op *before)
{
    map_put(left, o, 0, NULL);
    for (int i = 0; i < o->n_args; i++) {
        Op *def = arg(o, i)->def;
        if (def && map_get(left, def, 0))
            move_one(p, def, left, before);
    }
    ir_move_before(o, before);
    group_set_lazy(p, o);
}

/* Ops that read now what stands in front of `before`, and their users, are moved behind that. */
static void
move_left(Plan *p, Ops *left, Op *before)
{
    Map seen = {.a = p->a};
    for (int i = 0; i < left->n; i++) {
        Op *o = left->at[i];
        if (map_get(&seen, o, 0))
            continue;
        map_put(&seen, o, 0, o);
        for (const Use *u = result(o, 0)->uses; u; u = u->next)
            if (is_left(p, u->user, before))
                PUSH(p->a, left, u->user);
    }
    for (int i = 0; i < left->n; i++)
        if (map_get(&seen, left->at[i], 0))
            move_one(p, left->at[i], &seen, before);
}

static bool
reads_other(const Map *other, const Op *o)
{
    for (int i = 0; i < o->n_args; i++)
        if (map_get(other, arg(o, i), 0))
            return true;
    return false;
}

static Val *
clone(Plan *p, Val *v, Map *other, Op *before)
{
    Build b = {.f = p->f, .block = before->block, .before = before, .loc = v->def->loc};
    Val *x = result(ir_clone(&b, v->def, other), 0);
    bool is_small = fact(p, v)->is_small;
    int64_t widest = fact(p, v)->widest;
    group_set_lazy(p, x->def);
    Fact *s = fact(p, x);
    s->is_small = is_small, s->widest = widest, s->cost = fact(p, v)->cost;
    if (x->def->op == OP_LOAD)
        PUSH(p->a, &p->loads, x);
    return x;
}

void
group_close(Plan *p, Nest *g, Op *before)
{
    Vals all = {0};
    Map other = {.a = p->a}, kept = {.a = p->a};
    Ops left = {0};
    p->walk++;
    for (int i = 0; i < g->roots.n; i++)
        for (int k = 0; k < g->roots.at[i]->n_args; k++)
            group_closure(p, arg(g->roots.at[i], k), &all);
    int n_own = all.n;
    for (int i = 0; i < n_own; i++)
        fact(p, all.at[i])->is_computed = true;
    for (int i = 0; i < g->roots.n; i++)
        if (g->roots.at[i]->op == OP_KEEP)
            map_put(&other, arg(g->roots.at[i], 0), 0, result(g->roots.at[i], 0));
    for (int i = 0; p->open && p->open != g && i < p->open->roots.n; i++)
        for (int k = 0; k < p->open->roots.at[i]->n_args; k++)
            group_closure(p, arg(p->open->roots.at[i], k), &all);
    for (int i = all.n - 1; i >= 0; i--) {
        Val *v = all.at[i];
        if (map_get(&other, v, 0) || !group_is_live(p, v))
            continue;
        if (i >= n_own || is_cheap_again(p, v) || !ty_same_shape(v->type, g->type))
            fact(p, v)->again = true;
        else
            map_put(&kept, v, 0, v);
    }
    for (int i = 0; i < all.n; i++) {
        Val *v = all.at[i], *x = map_get(&other, v, 0);
        if (map_get(&kept, v, 0))
            map_put(&other, v, 0, x = result(group_new_keep(p, g, v, before), 0));
        else if (!x && fact(p, v)->again && reads_other(&other, v->def))
            x = clone(p, v, &other, before);
        if (x)
            hand_on(p, v, x, before, &left, &all);
    }
    move_left(p, &left, before);
    for (int i = 0; i < g->awaited.n; i++)
        fact(p, g->awaited.at[i])->made = IS_THERE;
}

void
group_close_open(Plan *p, Op *before)
{
    Nest *g = p->open;
    p->open = NULL;
    if (g)
        group_close(p, g, before);
}

/* Adds what computing v takes of what the loops of the operand `other` compute, too. */
static void
find_shared(Plan *p, Val *v, const Map *of, const Use *other, Vals *out)
{
    if (!group_visits(p, v))
        return;
    if (map_get(of, v, 0) == other) {
        if (!is_cheap_again(p, v))
            PUSH(p->a, out, v);
        return;
    }
    for (int i = 0; i < v->def->n_args; i++)
        find_shared(p, arg(v->def, i), of, other, out);
}

void
group_demand(Plan *p, Op *o)
{
    Vals all = {0}, kept = {0};
    Map of = {.a = p->a}; /* value -> the operand whose loops compute it */
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->type->rank)
            group_settle_small(p, NULL, arg(o, i), arg(o, i)->type, o);
    p->walk++;
    for (int i = 0; i < o->n_args; i++) {
        int n = all.n;
        group_closure(p, arg(o, i), &all);
        for (; n < all.n; n++)
            map_put(&of, all.at[n], 0, o->args + i);
    }
    p->taken = o;
    for (int i = all.n - 1; i >= 0; i--) {
        Val *v = all.at[i];
        const Use *operand = map_get(&of, v, 0);
        if (!group_is_live(p, v))
            continue;
        if (is_cheap_again(p, v) || !ty_same_shape(v->type, operand->v->type))
            fact(p, v)->again = true;
        else
            PUSH(p->a, &kept, v);
    }
    p->taken = NULL;
    p->walk++;
    if (o->op == OP_DOT)
        find_shared(p, arg(o, 1), &of, o->args, &kept);
    while (kept.n)
        group_keep(p, kept.at[--kept.n], o);
    group_close_open(p, o);
    Vals own = {0};
    p->walk++;
    for (int i = 0; i < o->n_args; i++)
        group_closure(p, arg(o, i), &own);
    for (int i = 0; i < own.n; i++)
        fact(p, own.at[i])->is_computed = true;
}
