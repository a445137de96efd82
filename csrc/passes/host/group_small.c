/* group_small: what loops over more elements find in scratch.
 *
 *     %e = exp %m : f32[64]                        %e = exp %m : f32[64]
 *     %c = expand_dims %e {axis=1}                 %k = keep %e {nest=2}
 *     %b = broadcast %c : f32[64, 128]      =>     %c = expand_dims %k {axis=1}
 *     %y = mul %x, %b : f32[64, 128]               ..
 *     store %p, %y                                 store %p, %y {nest=1}
 *
 * A value of fewer elements than the loops have that want it is computed there again, or by a nest of
 * its own in front: so if it takes more than MOST_AGAIN instructions an element, as a gather for each row does, or is used twice. What is made of
 * scalars by cheap arithmetic, addresses and masks, never is. Such nests do not end the open one, unless
 * they wait for it.
 */
#include "passes/host/group.h"

enum { MOST_AGAIN = 6, COST_LOAD = 3, COST_GATHER = 16, MOST_COST = 64 };

/* Does the last dim of v become the last one of more elements, whose loops would compute a row of v for each row? */
static bool
is_every_row(const Val *v, int depth)
{
    enum { MOST_DEPTH = 4 };
    int rank = v->type->rank;
    if (!rank || v->type->shape[rank - 1] == 1 || depth == MOST_DEPTH)
        return false;
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        if (op_is_lazy(o) && o->op != OP_TRANS &&
            (o->op == OP_BROADCAST || is_every_row(result(o, 0), depth + 1)))
            return true;
    }
    return false;
}

/* Is an element of o, a load, a lane of its own wherever loops over more elements compute it? */
static bool
gathers_every_row(Plan *p, const Op *o)
{
    const Val *ptr = arg(o, 0);
    Affine a;
    int64_t c;
    if (!is_every_row(result(o, 0), 0))
        return false;
    return !affine_of(p->f, ptr, &a) ||
           !affine_const_stride(&a, ptr->type->rank - 1, &c) || c > 1 || c < -1;
}

static int
cost_of(Plan *p, const Op *o)
{
    if (op_is_through(o))
        return fact(p, arg(o, 0))->cost;
    if (o->op == OP_CONST || o->op == OP_SPLAT || o->op == OP_ARANGE)
        return 0;
    if (o->op == OP_LOAD)
        return gathers_every_row(p, o) ? COST_GATHER : COST_LOAD;
    int n = element_cost(o);
    for (int i = 0; i < o->n_args; i++)
        n += fact(p, arg(o, i))->cost;
    return MIN(n, MOST_COST);
}

/* Users stand behind what they use: backwards. */
static void
find_widest(Plan *p, const Block *b)
{
    for (const Op *o = b->last; o; o = o->prev) {
        for (int r = 0; r < o->n_regions; r++)
            if (o->regions[r])
                find_widest(p, o->regions[r]);
        for (int i = 0; i < o->n_results; i++) {
            const Val *v = result(o, i);
            int64_t n = ty_numel(v->type);
            for (const Use *u = v->uses; u; u = u->next)
                if (op_is_lazy(u->user))
                    n = MAX(n, fact(p, result(u->user, 0))->widest);
            fact(p, v)->widest = n;
        }
    }
}

void
group_small_start(Plan *p)
{
    find_widest(p, p->f->body);
}

void
group_note_small(Plan *p, const Op *o)
{
    const Val *v = result(o, 0);
    int cost = cost_of(p, o);
    Fact *s = fact(p, v);
    s->cost = cost;
    s->is_small = !s->is_virtual && !op_is_through(o) &&
                  (cost > MOST_AGAIN || (v->uses && v->uses->next)) &&
                  s->widest > ty_numel(v->type);
}

static void
find_small(Plan *p, const Type *t, Val *v, Vals *out)
{
    if (!group_visits(p, v))
        return;
    const Op *o = v->def;
    bool once = fact(p, v)->is_small && ty_numel(v->type) < ty_numel(t);
    for (int i = 0; i < o->n_args; i++)
        find_small(p, once ? v->type : t, arg(o, i), out);
    if (once)
        PUSH(p->a, out, v);
}

static void
find_all(Plan *p, const Op *o, Val *v, const Type *t, Vals *out)
{
    out->n = 0;
    p->walk++;
    for (int i = 0; taken(o, v, i); i++)
        find_small(p, t, taken(o, v, i), out);
}

/* The open nest keeps what it has the shape of, and ends, as something waits for that. */
static bool
joins_open(Plan *p, const Vals *small, Op *before)
{
    bool joins = false;
    for (int i = 0; p->open && i < small->n; i++) {
        Val *x = small->at[i];
        if (!group_can_join(p, p->open, NULL, x, x->type, -1))
            continue;
        group_new_keep(p, p->open, x, before);
        joins = true;
    }
    if (joins)
        group_close_open(p, before);
    return joins;
}

void
group_settle_small(Plan *p, const Op *o, Val *v, const Type *t, Op *before)
{
    Vals small = {0};
    find_all(p, o, v, t, &small);
    if (joins_open(p, &small, before))
        find_all(p, o, v, t, &small);
    bool ends = small.n && p->open && p->open->first_write < INT32_MAX;
    p->walk++;
    for (int i = 0; i < small.n && p->open && !ends; i++)
        ends = group_waits(p, small.at[i]);
    if (ends) {
        group_close_open(p, before);
        find_all(p, o, v, t, &small);
    }
    Nest *g = NULL;
    for (int i = 0; i < small.n; i++) {
        Val *x = small.at[i];
        if (g && !ty_same_shape(g->type, x->type)) {
            group_close(p, g, before);
            g = NULL;
        }
        p->walk++;
        if (!group_is_live(p, x))
            continue; /* an earlier nest of these has kept it */
        if (!g)
            g = group_nest(p, x->type, -1);
        group_new_keep(p, g, x, before);
    }
    if (g)
        group_close(p, g, before);
}
