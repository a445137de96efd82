/* chunk_dims: along which dim each big value is cut, and what must be cut with it.
 *
 *     f32[64, 1024]   cut along dim 0 in 8:   f32[8, 1024]     reductions along dim 1 stay whole
 *                     cut along dim 1 in 8:   f32[64, 128]     they are summed up over the slices
 *
 * From a big value the choice spreads through the ops that it meets: to operands always, since a
 * slice is made of slices; to users only where nobody can have the whole value. Of the dims
 * that fit everywhere the one with the fewest sums over slices is taken.
 *
 * Rule 1: the bits of a dim that number its slices are its highest, and each is a bit of the
 *         register's number. So a slice is a block of the same layout with fewer registers, and
 *         no element moves to another thread.
 */
#include "passes/simt/chunk.h"

enum { WHOLE = -1, MISFIT = -2, SUMMED = -3 };

typedef VEC(Val *) Todo;

/* ---- from operands to results and back ----------------------------------------------- */

/* log2 of the elements that dims from d on have together. */
static int
top_of(const Type *t, int d)
{
    int n = 0;
    for (; d < t->rank; d++)
        n += log2_of(t->shape[d]);
    return n;
}

/* The dim of `to` whose highest bit is that of dim d of `from`. */
static int
reshaped(const Type *from, int d, const Type *to)
{
    for (int r = 0; r < to->rank; r++)
        if (to->shape[r] > 1 && top_of(to, r) == top_of(from, d))
            return r;
    return MISFIT;
}

int
chunk_operand_dim(const Op *o, int i, int r)
{
    int axis = (int)ir_attr(o, ATTR_AXIS), perm[MAX_RANK];
    const Type *t = arg(o, i)->type;
    if (chunk_is_local(o))
        return i == 1 ? WHOLE : r;
    switch (o->op) {
    case OP_SPLAT: return WHOLE;
    case OP_EXPAND: return r == axis ? MISFIT : r - (r > axis);
    case OP_BROADCAST: return t->shape[r] == 1 ? WHOLE : r;
    case OP_RESHAPE: return reshaped(result(o, 0)->type, r, t);
    case OP_JOIN: return r == t->rank ? MISFIT : r;
    case OP_REDUCE: return r + (r >= axis);
    case OP_SCAN:
    case OP_GATHER: return r == axis ? MISFIT : r;
    case OP_TRANS: ir_perm(o, perm); return perm[r];
    case OPS(OP_SPLIT, OPS_MOVED, OPS_ACCESS, OP_ASSERT): return r;
    case OPS(OP_CONST, OP_ARANGE, OPS_GRID, OP_CAT, OP_RESIZE, OPS_ELEM, OPS_TENSOR,
             OP_DOT, OP_HISTOGRAM, OPS_FOREIGN, OPS_FLOW, OP_ASSUME, OP_PRINT, OP_DEBUG,
             OPS_THREADS):
        break;
    }
    return op_has(o, OPF_ELEM) ? r : MISFIT;
}

/* The dim of o's results that is cut where dim d of operand i is. */
static int
result_dim(const Op *o, int i, int d)
{
    int axis = (int)ir_attr(o, ATTR_AXIS), perm[MAX_RANK];
    const Type *t = arg(o, i)->type;
    if (chunk_is_local(o))
        return d;
    switch (o->op) {
    case OP_EXPAND: return d + (d >= axis);
    case OP_RESHAPE: return reshaped(t, d, result(o, 0)->type);
    case OP_SPLIT: return d == t->rank - 1 ? MISFIT : d;
    case OP_REDUCE: return d == axis ? SUMMED : d - (d > axis);
    case OP_SCAN:
    case OP_GATHER: return d == axis ? MISFIT : d;
    case OP_TRANS:
        ir_perm(o, perm);
        for (int r = 0; r < t->rank; r++)
            if (perm[r] == d)
                return r;
        return MISFIT;
    case OPS(OP_BROADCAST, OP_JOIN, OPS_MOVED, OPS_ACCESS, OP_ASSERT): return d;
    case OPS(OPS_VALUES, OP_CAT, OP_RESIZE, OPS_ELEM, OPS_TENSOR, OP_DOT, OP_HISTOGRAM,
             OPS_FOREIGN, OPS_FLOW, OP_ASSUME, OP_PRINT, OP_DEBUG, OPS_THREADS):
        break;
    }
    return op_has(o, OPF_ELEM) ? d : MISFIT;
}

bool
chunk_is_plain(const Op *o)
{
    return op_has(o, OPF_PURE) && op_has(o, OPF_ELEM) && o->n_results == 1 &&
           !op_is_assembly(o);
}

/* May slices be combined element by element as the region of o combines elements? */
static bool
is_simple_region(const Op *o)
{
    for (const Op *p = o->regions[0]->first; p != o->regions[0]->last; p = p->next)
        if (p->op != OP_CONST && (!chunk_is_plain(p) || p->n_args > 3))
            return false;
    return true;
}

static bool
can_be_cut(const Op *o)
{
    switch (o->op) {
    case OPS(OP_JOIN, OPS_MOVED, OP_STORE, OPS_RARE_ACCESS, OP_SCAN, OP_GATHER,
             OP_ASSERT):
        return true;
    case OP_LOAD: return !ir_attr(o, ATTR_VOLATILE);
    case OP_REDUCE: return is_simple_region(o);
    case OPS(OPS_VALUES, OPS_INDEX, OP_SPLIT, OP_CAT, OP_RESIZE, OPS_ELEM, OPS_TENSOR,
             OP_DOT, OP_HISTOGRAM, OPS_FOREIGN, OPS_FLOW, OP_ASSUME, OP_PRINT, OP_DEBUG,
             OPS_THREADS):
        break;
    }
    return op_has(o, OPF_FREE) || chunk_is_plain(o) || chunk_is_local(o);
}

/* ---- slices ------------------------------------------------------------------------------ */

/* Bits of the flat index that number slices of v: from the lowest on, Cut.log2 of them. */
static int
lowest_cut_bit(const Cut *k, const Val *v)
{
    const Type *t = v->type;
    return top_of(t, k->dim[v->id]) - k->log2;
}

static bool
is_register_bit(const Layout *l, int bit)
{
    int n = 0;
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++)
            if (l->basis[in][i] >> bit & 1)
                n += in == IN_REG && l->basis[in][i] == (Col)1 << bit ? 1 : 2;
    return n == 1;
}

static bool
fits_dim(const Cut *k, const Val *v)
{
    if (v->type->shape[k->dim[v->id]] >> k->log2 == 0)
        return false;
    int from = lowest_cut_bit(k, v);
    for (int i = 0; i < k->log2; i++)
        if (!is_register_bit(v->type->layout, from + i))
            return false;
    return true;
}

const Type *
chunk_type(const Cut *k, const Val *v)
{
    const Type *t = v->type;
    const Layout *l = t->layout;
    int d = k->dim[v->id], from = lowest_cut_bit(k, v);
    int32_t shape[MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    shape[d] >>= k->log2;
    Layout y = *l;
    y.log2_shape[d] = (uint8_t)(y.log2_shape[d] - k->log2);
    y.n[IN_REG] = 0;
    Col low = ((Col)1 << from) - 1, cut = (((Col)1 << k->log2) - 1) << from;
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++) {
            Col c = l->basis[in][i];
            if (in == IN_REG && c & cut)
                continue;
            int to = in == IN_REG ? y.n[IN_REG]++ : i;
            y.basis[in][to] = (c & low) | (c & ~low) >> k->log2;
        }
    for (int i = y.n[IN_REG]; i < l->n[IN_REG]; i++)
        y.basis[IN_REG][i] = 0;
    return ty_with_layout(k->c, ty_with_shape(k->c, t, t->rank, shape),
                          layout_intern(k->c, &y));
}

/* May o not be there both as slices and as a whole? It would be computed twice. */
bool
chunk_runs_once(const Op *o)
{
    return op_has(o, OPF_WRITES);
}

/* ---- spreading --------------------------------------------------------------------------- */

static bool
claim(Cut *k, Todo *todo, Val *v, int d, bool only)
{
    if (d == WHOLE)
        return true;
    if (d == MISFIT || !v->type->rank || (k->dim[v->id] >= 0 && k->dim[v->id] != d))
        return false;
    only |= has_many_registers(v) || (v->def && chunk_runs_once(v->def));
    if (k->dim[v->id] == d && (k->only[v->id] || !only))
        return true;
    k->dim[v->id] = (int8_t)d;
    k->only[v->id] |= only;
    PUSH(k->a, todo, v);
    return fits_dim(k, v);
}

static bool
claim_operands(Cut *k, Todo *todo, const Op *o, int r)
{
    for (int i = 0; i < o->n_args; i++)
        if (!claim(k, todo, arg(o, i), chunk_operand_dim(o, i, r), false))
            return false;
    return true;
}

/* A user of something that only slices of are there. */
static bool
claim_user(Cut *k, Todo *todo, const Op *o, int i, int d)
{
    if (!can_be_cut(o))
        return false;
    int r = result_dim(o, i, d);
    if (r == SUMMED) {
        k->n_sums++;
        for (int j = 0; j < o->n_args; j++)
            if (!claim(k, todo, arg(o, j), d, false))
                return false;
        return true;
    }
    for (int j = 0; j < o->n_results; j++)
        if (!claim(k, todo, result(o, j), r, true))
            return false;
    return o->n_results || (r >= 0 && claim_operands(k, todo, o, r));
}

static bool
spread_dim(Cut *k, Val *first, int d)
{
    Todo todo = {0};
    if (!claim(k, &todo, first, d, true))
        return false;
    while (todo.n) {
        Val *v = todo.at[--todo.n];
        int at = k->dim[v->id];
        const Op *o = v->def;
        if (!o || !can_be_cut(o) || !claim_operands(k, &todo, o, at))
            return false;
        for (int i = 0; i < o->n_results; i++)
            if (!claim(k, &todo, result(o, i), at, k->only[v->id]))
                return false;
        for (const Use *u = v->uses; u && k->only[v->id]; u = u->next)
            if (!claim_user(k, &todo, u->user, (int)(u - u->user->args), at))
                return false;
    }
    return true;
}

/* ---- choosing ---------------------------------------------------------------------------- */

static Cut
copy_of(const Cut *k)
{
    Cut y = *k;
    size_t n = (size_t)k->f->n_vals;
    y.dim = NEW_N(k->a, int8_t, n);
    y.only = NEW_N(k->a, bool, n);
    memcpy(y.dim, k->dim, n * sizeof *y.dim);
    memcpy(y.only, k->only, n * sizeof *y.only);
    return y;
}

static bool
choose_dim(Cut *k, Val *v)
{
    Cut best = {0};
    if (v->type->rank == 1) /* no choice, and nothing to go back to */
        return spread_dim(k, v, 0);
    for (int d = 0; d < v->type->rank; d++) {
        Cut y = copy_of(k);
        if (v->type->shape[d] > 1 && spread_dim(&y, v, d) &&
            (!best.f || y.n_sums < best.n_sums))
            best = y;
    }
    if (best.f)
        *k = best;
    return best.f != NULL;
}

static bool
choose_dims(Cut *k, const Block *b)
{
    EACH_CONTROL_VAL(v, b)
        if (has_many_registers(v) &&
            (!v->def || (k->dim[v->id] < 0 && !choose_dim(k, v))))
            return false;
    return true;
}

bool
chunk_dims(Cut *k)
{
    k->dim = NEW_N(k->a, int8_t, k->f->n_vals);
    k->only = NEW_N(k->a, bool, k->f->n_vals);
    memset(k->dim, WHOLE, (size_t)k->f->n_vals);
    return choose_dims(k, k->f->body);
}
