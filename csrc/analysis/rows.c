/* rows: may what is in the rows of a block behind the last one of a tensor be anything?
 *
 *     x = load (pid * 128 + r) % M             rows behind M are those in front again
 *     store dot(x, y), pid * 128 + r < M       ... and nobody stores what was made of them
 *
 * Forward from the load with the dim that the rows are: an elementwise op, a product's own side
 * and a sum along another dim leave them where they are; a store must mask them. Whatever else sees
 * them, an address above all, wants them as they are.
 */
#include "analysis/analysis.h"

enum { BUDGET = 256 };

typedef struct Rows {
    const Func *f;
    const AffSum *coord, *size;
    Map seen; /* a value -> its dim + 1 */
    int budget;
    bool ok;
} Rows;

static void follow(Rows *w, const Val *v, int dim);

/* What a loop or an if makes of operand i of its terminator, or of its own. */
static void
follow_carried(Rows *w, const Op *o, int i, int dim)
{
    if (o->op == OP_FOR)
        follow(w, o->regions[0]->args[1 + i], dim);
    else if (o->op != OP_IF)
        w->ok = false;
    if (w->ok)
        follow(w, result(o, i), dim);
}

static void
follow_dot(Rows *w, const Op *o, int i, int dim)
{
    int rank = result(o, 0)->type->rank, along_k = i == 0 ? rank - 1 : rank - 2;
    if (i < 2 && dim == along_k)
        w->ok = false;
    else
        follow(w, result(o, 0), dim);
}

static void
follow_elementwise(Rows *w, const Op *o, int dim)
{
    w->ok = w->ok && !op_is_assembly(o) && !op_is_extern(o) && o->n_results == 1 &&
            !result(o, 0)->type->is_ptr;
    if (w->ok)
        follow(w, result(o, 0), dim);
}

static bool
is_masked(const Rows *w, const Op *store, int i, int dim)
{
    AffSum coord, size;
    return i == 1 && store->n_args > 2 &&
           mask_bound(w->f, arg(store, 2), dim, &coord, &size) &&
           aff_is_same(&coord, w->coord) && aff_is_same(&size, w->size);
}

static void
follow_use(Rows *w, const Use *u, int dim)
{
    const Op *o = u->user;
    int i = (int)(u - o->args), perm[MAX_RANK], axis = (int)ir_attr(o, ATTR_AXIS);
    switch (o->op) {
    case OP_EXPAND: follow(w, result(o, 0), dim + (dim >= axis)); return;
    case OPS(OP_BROADCAST, OPS_MOVED): follow(w, result(o, 0), dim); return;
    case OP_TRANS:
        ir_perm(o, perm);
        for (int d = 0; d < result(o, 0)->type->rank; d++)
            if (perm[d] == dim)
                follow(w, result(o, 0), d);
        return;
    case OP_REDUCE:
        for (int k = 0; k < o->n_results && axis != dim; k++)
            follow(w, result(o, k), dim - (dim > axis));
        w->ok = w->ok && axis != dim;
        return;
    case OP_DOT: follow_dot(w, o, i, dim); return;
    case OP_FOR: follow_carried(w, o, i - 3, dim); return;
    case OP_YIELD: follow_carried(w, o->block->owner, i, dim); return;
    case OP_STORE: w->ok = w->ok && is_masked(w, o, i, dim); return;
    case OPS(OPS_VALUES, OP_RESHAPE, OP_JOIN, OP_SPLIT, OP_CAT, OP_RESIZE, OPS_ELEM,
             OP_LOAD, OP_ATOMIC_RMW, OP_ATOMIC_CAS, OPS_TENSOR, OP_SCAN, OP_GATHER,
             OP_HISTOGRAM, OPS_FOREIGN, OP_WHILE, OP_IF, OP_CONDITION, OP_RETURN,
             OPS_NOTES, OPS_THREADS):
        w->ok = w->ok && op_has(o, OPF_ELEM) && op_has(o, OPF_PURE);
        if (w->ok)
            follow_elementwise(w, o, dim);
    }
}

static void
follow(Rows *w, const Val *v, int dim)
{
    uintptr_t known = (uintptr_t)map_get(&w->seen, v, 0);
    w->ok = w->ok && (!known || known == (uintptr_t)dim + 1) && --w->budget >= 0;
    if (known || !w->ok)
        return;
    map_put(&w->seen, v, 0, (void *)((uintptr_t)dim + 1));
    for (const Use *u = v->uses; u && w->ok; u = u->next)
        follow_use(w, u, dim);
}

bool
rows_are_dropped(const Func *f, const Val *v, int dim, const AffSum *coord,
                 const AffSum *size)
{
    Rows w = {.f = f, .coord = coord, .size = size, .budget = BUDGET, .ok = true};
    w.seen.a = f->c->arena;
    follow(&w, v, dim);
    return w.ok;
}
