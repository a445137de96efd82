/* chunk_dims: along which dims each big value is cut, and what must be cut with it.
 *
 *     f32[64, 1024]   cut along dim 0 in 8:   f32[8, 1024]     reductions along dim 1 stay whole
 *                     cut along dim 1 in 8:   f32[64, 128]     they are summed up over the slices
 *                     along both, in 4:       f32[32, 512]     as a transposition needs it
 *
 * A slice's number has its bits from the value's flat index. From a big value the choice of those spreads through
 * the ops that it meets: to operands always, since a slice is made of slices; to users only where nobody can have
 * the whole value. Of the dims that fit everywhere the one with the fewest sums over slices is
 * taken; where none does, as many bits of any dims as fit.
 *
 * Rule 1: each bit that numbers slices is a bit of the register's number. So a slice is a block of the
 *         same layout with fewer registers, and no element moves to another thread.
 * Rule 2: those of an arange are its highest, so that a slice counts on by one.
 */
#include "passes/simt/chunk.h"

enum { MISFIT = -2, SUMMED = -3 };

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

static int
dim_of(const Type *t, int bit)
{
    int d = t->rank - 1;
    while (bit >= top_of(t, d))
        d--;
    return d;
}

/* What is bit `bit` of t, along dim d of it, in u, whose dim e is that dim? */
static int
moved(const Type *t, int bit, int d, const Type *u, int e)
{
    return bit - top_of(t, d + 1) + top_of(u, e + 1);
}

/* The bit of operand i that is bit b of o's results. */
static int
operand_bit(const Op *o, int i, int b)
{
    int axis = (int)ir_attr(o, ATTR_AXIS), perm[MAX_RANK];
    const Type *t = arg(o, i)->type, *r = o->n_results ? result(o, 0)->type : t;
    if (chunk_is_local(o))
        return i == 2 ? b : NO_BIT;
    int d = dim_of(r, b);
    switch (o->op) {
    case OP_SPLAT: return NO_BIT;
    case OP_BROADCAST: return t->shape[d] == 1 ? NO_BIT : moved(r, b, d, t, d);
    case OP_JOIN: return b ? b - 1 : MISFIT;
    case OP_SPLIT: return b + 1;
    case OP_REDUCE: return moved(r, b, d, t, d + (d >= axis));
    case OP_GATHER: return d == axis ? MISFIT : moved(r, b, d, t, d);
    case OP_TRANS: ir_perm(o, perm); return moved(r, b, d, t, perm[d]);
    case OPS(OP_EXPAND, OP_RESHAPE, OP_SCAN):
    case OPS(OPS_MOVED, OPS_ACCESS, OP_ASSERT): return b;
    case OPS(OP_CONST, OP_ARANGE, OPS_GRID, OP_CAT, OP_RESIZE, OPS_ELEM, OPS_TENSOR,
             OP_DOT, OP_HISTOGRAM, OPS_FOREIGN, OPS_FLOW, OP_ASSUME, OP_PRINT, OP_DEBUG,
             OPS_THREADS):
        break;
    }
    return op_has(o, OPF_ELEM) ? b : MISFIT;
}

/* The bit of o's results that is bit b of operand i. */
static int
result_bit(const Op *o, int i, int b)
{
    int axis = (int)ir_attr(o, ATTR_AXIS), perm[MAX_RANK];
    const Type *t = arg(o, i)->type, *r = o->n_results ? result(o, 0)->type : t;
    int d = dim_of(t, b);
    switch (o->op) {
    case OP_BROADCAST: return moved(t, b, d, r, d);
    case OP_JOIN: return b + 1;
    case OP_SPLIT: return b ? b - 1 : MISFIT;
    case OP_REDUCE: return d == axis ? SUMMED : moved(t, b, d, r, d - (d > axis));
    case OP_GATHER: return d == axis ? MISFIT : moved(t, b, d, r, d);
    case OP_TRANS:
        ir_perm(o, perm);
        for (int e = 0; e < r->rank; e++)
            if (perm[e] == d)
                return moved(t, b, d, r, e);
        return MISFIT;
    case OPS(OP_EXPAND, OP_RESHAPE, OP_SCAN):
    case OPS(OPS_MOVED, OPS_ACCESS, OP_ASSERT): return b;
    case OPS(OPS_VALUES, OP_CAT, OP_RESIZE, OPS_ELEM, OPS_TENSOR, OP_DOT, OP_HISTOGRAM,
             OPS_FOREIGN, OPS_FLOW, OP_ASSUME, OP_PRINT, OP_DEBUG, OPS_THREADS):
        break;
    }
    return op_has(o, OPF_ELEM) || chunk_is_local(o) ? b : MISFIT;
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

static Bits
no_bits(void)
{
    Bits b;
    memset(b.at, NO_BIT, sizeof b.at);
    return b;
}

static bool
has_bits(Bits b)
{
    for (int i = 0; i < LOG2_SLICES; i++)
        if (b.at[i] != NO_BIT)
            return true;
    return false;
}

static bool
is_same(Bits x, Bits y)
{
    return !memcmp(&x, &y, sizeof x);
}

bool
chunk_has_slices(const Cut *k, const Val *v)
{
    return has_bits(k->bits[v->id]);
}

bool
chunk_is_cut_alike(const Cut *k, const Val *x, const Val *y)
{
    return is_same(k->bits[x->id], k->bits[y->id]);
}

/* Bits of the results of o, or of operand i of it, by those of the other; false: it has none such. */
static bool
map_bits(const Op *o, int i, int (*bit)(const Op *, int, int), Bits from, Bits *to)
{
    *to = no_bits();
    for (int j = 0; j < LOG2_SLICES; j++) {
        int b = from.at[j] == NO_BIT ? NO_BIT : bit(o, i, from.at[j]);
        if (b < NO_BIT)
            return false;
        to->at[j] = (int8_t)b;
    }
    return true;
}

bool
chunk_takes_slices(const Cut *k, const Op *o, int i)
{
    Bits b;
    return map_bits(o, i, operand_bit, k->bits[result(o, 0)->id], &b) && has_bits(b);
}

/* The highest of dim d. */
static Bits
bits_of_dim(const Cut *k, const Type *t, int d)
{
    Bits b = no_bits();
    for (int i = 0; i < k->log2; i++)
        b.at[i] = (int8_t)(top_of(t, d) - k->log2 + i);
    return b;
}

static bool
is_across(const Op *o, int bit)
{
    return bit != NO_BIT && dim_of(arg(o, 0)->type, bit) == (int)ir_attr(o, ATTR_AXIS);
}

static bool
is_along(const Op *o, Bits b)
{
    for (int i = 0; i < LOG2_SLICES; i++)
        if (b.at[i] != NO_BIT && !is_across(o, b.at[i]))
            return false;
    return has_bits(b);
}

bool
chunk_is_along(const Cut *k, const Op *o)
{
    return is_along(o, k->bits[arg(o, 0)->id]);
}

/* One slice behind the other goes along the axis, or no slice does. */
static bool
scan_fits(const Cut *k, const Op *o, Bits b)
{
    Bits all = bits_of_dim(k, arg(o, 0)->type, (int)ir_attr(o, ATTR_AXIS));
    bool across = false;
    for (int i = 0; i < LOG2_SLICES; i++)
        across |= is_across(o, b.at[i]);
    return !across || (is_same(b, all) && is_simple_region(o));
}

static Col
mask_of(Bits b)
{
    Col m = 0;
    for (int i = 0; i < LOG2_SLICES; i++)
        m |= b.at[i] == NO_BIT ? 0 : (Col)1 << b.at[i];
    return m;
}

/* Are slices parts of v, as local_load and local_store number them? */
static bool
is_part(const Cut *k, Bits b)
{
    for (int i = 0; i < k->log2; i++)
        if (b.at[i] <= (i ? b.at[i - 1] : NO_BIT))
            return false;
    return true;
}

static bool
fits(const Cut *k, const Val *v, Bits b)
{
    Col m = mask_of(b);
    if (!layout_part(k->c, v->type->layout, m))
        return false;
    if (v->def && chunk_is_local(v->def) && !is_part(k, b))
        return false;
    if (v->def && v->def->op == OP_SCAN)
        return scan_fits(k, v->def, b);
    return !v->def || v->def->op != OP_ARANGE || m + (m & -m) == (Col)v->type->shape[0];
}

int64_t
chunk_mask(const Cut *k, const Val *v)
{
    return mask_of(k->bits[v->id]);
}

const Type *
chunk_type(const Cut *k, const Val *v)
{
    return ty_part(k->c, v->type, mask_of(k->bits[v->id]));
}

/* May o not be there both as slices and as a whole? It would be computed twice. */
bool
chunk_runs_once(const Op *o)
{
    return op_has(o, OPF_WRITES);
}

/* ---- spreading --------------------------------------------------------------------------- */

static bool
claim(Cut *k, Todo *todo, Val *v, Bits b, bool only)
{
    if (!has_bits(b))
        return true;
    bool is_new = !chunk_has_slices(k, v);
    if (!v->type->rank || (!is_new && !is_same(k->bits[v->id], b)))
        return false;
    only |= has_many_registers(v) || (v->def && chunk_runs_once(v->def));
    if (!is_new && (k->only[v->id] || !only))
        return true;
    k->bits[v->id] = b;
    k->only[v->id] |= only;
    PUSH(k->a, todo, v);
    return fits(k, v, b);
}

static bool
claim_operands(Cut *k, Todo *todo, const Op *o, Bits r)
{
    Bits b;
    for (int i = 0; i < o->n_args; i++)
        if (!map_bits(o, i, operand_bit, r, &b) || !claim(k, todo, arg(o, i), b, false))
            return false;
    return true;
}

/* A user of something that only slices of are there. */
static bool
claim_user(Cut *k, Todo *todo, const Op *o, int i, Bits b)
{
    Bits r;
    if (!can_be_cut(o))
        return false;
    if (o->op == OP_REDUCE && is_along(o, b)) {
        k->n_sums++;
        for (int j = 0; j < o->n_args; j++)
            if (!claim(k, todo, arg(o, j), b, false))
                return false;
        return true;
    }
    if (!map_bits(o, i, result_bit, b, &r))
        return false;
    for (int j = 0; j < o->n_results; j++)
        if (!claim(k, todo, result(o, j), r, true))
            return false;
    if (o->op == OP_LOCAL_STORE && !is_part(k, b))
        return false;
    return o->n_results || claim_operands(k, todo, o, r);
}

static bool
spread(Cut *k, Val *first, Bits b)
{
    Todo todo = {0};
    if (!claim(k, &todo, first, b, true))
        return false;
    while (todo.n) {
        Val *v = todo.at[--todo.n];
        Bits at = k->bits[v->id];
        const Op *o = v->def;
        if (!o || !can_be_cut(o) || !claim_operands(k, &todo, o, at))
            return false;
        k->n_sums += o->op == OP_SCAN && is_along(o, at);
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
    y.bits = NEW_N(k->a, Bits, n);
    y.only = NEW_N(k->a, bool, n);
    memcpy(y.bits, k->bits, n * sizeof *y.bits);
    memcpy(y.only, k->only, n * sizeof *y.only);
    return y;
}

static bool
cut_one_dim(Cut *k, Val *v)
{
    const Type *t = v->type;
    Cut best = {0};
    for (int d = 0; d < t->rank; d++) {
        Cut y = copy_of(k);
        if (t->shape[d] >> k->log2 && spread(&y, v, bits_of_dim(k, t, d)) &&
            (!best.f || y.n_sums < best.n_sums))
            best = y;
    }
    if (best.f)
        *k = best;
    return best.f != NULL;
}

/* The highest bits that fit together, of dim d or, where that is `rank`, of all. */
static bool
cut_bits(Cut *k, Val *v, int d)
{
    Cut best = {0};
    Bits all = no_bits();
    int n = 0;
    for (int b = top_of(v->type, 0); n < k->log2 && b-- > 0;) {
        Bits more = {.at = {(int8_t)b}};
        memcpy(more.at + 1, all.at, sizeof all.at - sizeof *all.at);
        Cut y = copy_of(k);
        y.log2 = n + 1;
        if ((d < v->type->rank && dim_of(v->type, b) != d) || !spread(&y, v, more))
            continue;
        all = more, best = y, n++;
    }
    if (n == k->log2)
        *k = best;
    return n == k->log2;
}

static bool
cut_any_bits(Cut *k, Val *v)
{
    for (int d = 0; d <= v->type->rank; d++)
        if (cut_bits(k, v, d))
            return true;
    return false;
}

static bool
may_be_whole(const Val *v)
{
    for (const Use *u = v->uses; u; u = u->next)
        if (u->user->op == OP_SCAN)
            return false;
    return !v->def || v->def->op != OP_SCAN;
}

static bool
cut_anyhow(Cut *k, Val *v, Slack slack)
{
    return cut_one_dim(k, v) || (slack >= SLACK_BITS && cut_any_bits(k, v)) ||
           (slack == SLACK_WHOLE && may_be_whole(v));
}

bool
chunk_dims(Cut *k, Slack slack)
{
    k->bits = NEW_N(k->a, Bits, k->f->n_vals);
    k->only = NEW_N(k->a, bool, k->f->n_vals);
    for (int i = 0; i < k->f->n_vals; i++)
        k->bits[i] = no_bits();
    EACH_CONTROL_VAL(v, k->f->body)
        if (has_many_registers(v) && !chunk_has_slices(k, v) &&
            (v->def || slack < SLACK_WHOLE) && !(v->def && cut_anyhow(k, v, slack)))
            return false;
    return true;
}
