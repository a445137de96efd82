/* keep_small: which blocks loops over more elements find in scratch, on CPUs.
 *
 *     %e = exp %m : f32[64]                             %e = exp %m : f32[64] kept
 *     %c = expand_dims %e {axis=1} : f32[64, 1]    =>   ..
 *     %b = broadcast %c : f32[64, 128]
 *     %y = mul %x, %b : f32[64, 128]
 *
 * Code for CPUs computes a value in the loops that want it (codegen/host). One of fewer elements than
 * those loops have is either computed there again, or ahead, by a nest of its own, and read from
 * scratch: then it is marked. Marked is what takes more than MOST_AGAIN instructions an element or
 * is used twice. What is made of scalars by cheap arithmetic, addresses and masks, never is.
 *
 * Rule 1: this pass changes no op, and stands behind all that makes some.
 */
#include "passes/passes.h"

enum { MOST_AGAIN = 6, COST_LOAD = 3, MOST_COST = 64 };

typedef struct Small {
    /* by id: */
    int *cost;        /* instructions of one element, of what is computed on demand */
    bool *is_virtual; /* cheap, of scalars alone */
    int64_t
        *widest; /* elements of the largest block that is computed from it on demand */
} Small;

static int
cost_of(const Small *k, const Op *o)
{
    if (op_is_through(o))
        return k->cost[arg(o, 0)->id];
    if (o->op == OP_CONST || o->op == OP_SPLAT || o->op == OP_ARANGE)
        return 0;
    if (o->op == OP_LOAD)
        return COST_LOAD;
    int n = element_cost(o);
    for (int i = 0; i < o->n_args; i++)
        n += k->cost[arg(o, i)->id];
    return MIN(n, MOST_COST);
}

static bool
is_of_scalars(const Small *k, const Op *o)
{
    bool ok = op_is_cheap(o);
    for (int i = 0; ok && i < o->n_args; i++)
        ok = !arg(o, i)->type->rank || k->is_virtual[arg(o, i)->id];
    return ok;
}

static int64_t
widest_of(const Small *k, const Val *v)
{
    int64_t n = ty_numel(v->type);
    for (const Use *u = v->uses; u; u = u->next)
        if (op_is_lazy(u->user))
            n = MAX(n, k->widest[result(u->user, 0)->id]);
    return n;
}

/* Users stand behind what they use: backwards. */
static void
find_widest(Small *k, const Block *b)
{
    for (const Op *o = b->last; o; o = o->prev) {
        for (int r = 0; r < o->n_regions; r++)
            if (o->regions[r])
                find_widest(k, o->regions[r]);
        for (int i = 0; i < o->n_results; i++)
            k->widest[result(o, i)->id] = widest_of(k, result(o, i));
    }
}

static void
mark(Small *k, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        if (op_is_lazy(o)) {
            Val *v = result(o, 0);
            k->cost[v->id] = cost_of(k, o);
            k->is_virtual[v->id] = is_of_scalars(k, o);
            bool twice = v->uses && v->uses->next;
            v->is_kept = !k->is_virtual[v->id] && !op_is_through(o) &&
                         (k->cost[v->id] > MOST_AGAIN || twice) &&
                         k->widest[v->id] > ty_numel(v->type);
        }
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            if (o->regions[r])
                mark(k, o->regions[r]);
    }
}

void
pass_keep_small(Func *f)
{
    Arena *a = f->c->arena;
    Small k = {.cost = NEW_N(a, int, f->n_vals),
               .is_virtual = NEW_N(a, bool, f->n_vals),
               .widest = NEW_N(a, int64_t, f->n_vals)};
    for (int i = 0; i < f->n_vals; i++)
        k.cost[i] = 1;
    find_widest(&k, f->body);
    mark(&k, f->body);
}
