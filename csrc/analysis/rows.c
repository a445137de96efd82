/* rows: may what is in the rows of a block behind the last one of a tensor be anything?
 *
 *     x = load (pid * 128 + r) % M             rows behind M are those in front again
 *     store dot(x, y), pid * 128 + r < M       ... and nobody stores what was made of them
 *
 * Forward from the load with the dim that the rows are: an elementwise op, a product's own side
 * and a sum along another dim leave them where they are; a store, or an atomic, must mask them. Whatever else sees
 * them, an address above all, wants them as they are.
 *
 * The same walk finds where the rows end that somebody wants: by the mask of the first store that it
 * comes to, if all others have that one, too. What it goes through from turn to turn of a loop is
 * stored by a mask of another turn, so such an end must be known outside of the loop: its scope.
 */
#include "analysis/analysis.h"

enum { BUDGET = 256 };

typedef struct Rows {
    const Func *f;
    const AffSum *coord, *size; /* NULL: asked is where they end */
    AffSum end;
    bool has_end;
    const Block *scope; /* of the end */
    Map seen;           /* a value -> its dim + 1 */
    int budget;
    bool ok;
} Rows;

static void follow(Rows *w, const Val *v, int dim);

/* ---- the end of a mask ---------------------------------------------------------------- */

/* Is the element of v at r of dim, whatever the other indices, that of sum at 0 plus r * stride? */
static bool
counts_up(const Func *f, const Val *v, int dim, int64_t stride, AffSum *first)
{
    Affine a;
    int64_t c;
    if (!affine_of(f, v, &a) || a.pointer || a.origin)
        return false;
    for (int d = 0; d < v->type->rank; d++)
        if (v->type->shape[d] > 1 &&
            (!affine_const_stride(&a, d, &c) || c != (d == dim ? stride : 0)))
            return false;
    *first = a.base;
    return true;
}

/* Where does a comparison end along dim: x + r < y, for r from 0 on? */
static bool
comparison_end(const Func *f, const Op *o, int dim, AffSum *end)
{
    if (!elem_is_int(arg(o, 0)->type->elem) || arg(o, 0)->type->is_ptr)
        return false;
    bool is_left = o->op == OP_LT || o->op == OP_LE,
         or_equal = o->op == OP_LE || o->op == OP_GE;
    AffSum first;
    if (!counts_up(f, arg(o, !is_left), dim, 1, &first) ||
        !counts_up(f, arg(o, is_left), dim, 0, end) || !aff_add(end, &first, -1))
        return false;
    end->c += or_equal;
    return true;
}

bool
mask_end(const Func *f, const Val *mask, int dim, AffSum *end)
{
    const Op *o = mask->def;
    int perm[MAX_RANK], axis;
    if (!o || mask->type->shape[dim] == 1)
        return false;
    if (o->op == OP_AND)
        return mask_end(f, arg(o, 0), dim, end) || mask_end(f, arg(o, 1), dim, end);
    if (o->op >= OP_LT && o->op <= OP_GE)
        return comparison_end(f, o, dim, end);
    if (o->op == OP_BROADCAST || o->op == OP_HINT || o->op == OP_CONVERT ||
        o->op == OP_KEEP)
        return mask_end(f, arg(o, 0), dim, end);
    if (o->op == OP_EXPAND) {
        axis = (int)ir_attr(o, ATTR_AXIS);
        return dim != axis && mask_end(f, arg(o, 0), dim - (dim > axis), end);
    }
    if (o->op != OP_TRANS)
        return false;
    ir_perm(o, perm);
    return mask_end(f, arg(o, 0), perm[dim], end);
}

/* ---- who sees the rows --------------------------------------------------------------------- */

/* What a loop or an if makes of operand i of its terminator, or of its own. */
static void
follow_carried(Rows *w, const Op *o, int i, int dim)
{
    if (o->op == OP_FOR) {
        if (ir_encloses(o->regions[0], w->scope))
            w->scope = o->block;
        follow(w, o->regions[0]->args[1 + i], dim);
    } else if (o->op != OP_IF) {
        w->ok = false;
    }
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
is_masked(Rows *w, const Op *store, int i, int dim)
{
    AffSum coord, size;
    if (i != 1 || store->n_args < 3)
        return false;
    if (!w->coord) {
        AffSum end;
        if (!mask_end(w->f, arg(store, 2), dim, &end))
            return false;
        if (!w->has_end)
            w->end = end, w->has_end = true;
        return aff_is_same(&w->end, &end);
    }
    return mask_bound(w->f, arg(store, 2), dim, &coord, &size) &&
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
    case OP_ATOMIC_RMW:
        w->ok = w->ok && is_masked(w, o, i, dim) && !result(o, 0)->uses;
        return;
    case OPS(OPS_VALUES, OP_RESHAPE, OP_JOIN, OP_SPLIT, OP_CAT, OP_RESIZE, OPS_ELEM,
             OP_LOAD, OP_ATOMIC_CAS, OP_PREFETCH, OPS_TENSOR, OP_SCAN, OP_GATHER,
             OP_HISTOGRAM, OP_SORT, OPS_FOREIGN, OP_WHILE, OP_IF, OP_CONDITION,
             OP_RETURN, OPS_NOTES, OPS_THREADS):
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
    Rows w = {.f = f,
              .coord = coord,
              .size = size,
              .scope = v->block,
              .budget = BUDGET,
              .ok = true};
    w.seen.a = f->c->arena;
    follow(&w, v, dim);
    return w.ok;
}

bool
rows_end(const Func *f, const Val *v, int dim, AffSum *end, const Block **scope)
{
    Rows w = {.f = f, .scope = v->block, .budget = BUDGET, .ok = true};
    w.seen.a = f->c->arena;
    follow(&w, v, dim);
    *end = w.end;
    *scope = w.scope;
    return w.ok && w.has_end;
}
