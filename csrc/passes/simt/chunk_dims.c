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
 * Rule 2: those of an arange are its highest or leave runs of MIN_RUN numbers, so that threads still load
 *         neighbours.
 */
#include "passes/simt/chunk.h"

enum { MISFIT = -2, SUMMED = -3 };
/* Beside what stays whole a slice is not big itself, unless it is only moved. */
enum { MAX_PART_BITS = 6, MAX_MOVE_BITS = 10 }; /* of registers */
enum { MIN_RUN = 8 };

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
    case OP_CAT: return t->shape[0] >> b > 1 ? b : MISFIT;
    case OP_SPLIT: return b + 1;
    case OP_REDUCE: return moved(r, b, d, t, d + (d >= axis));
    case OP_GATHER: return d == axis ? MISFIT : moved(r, b, d, t, d);
    case OP_TRANS: ir_perm(o, perm); return moved(r, b, d, t, perm[d]);
    case OPS(OP_EXPAND, OP_RESHAPE, OP_SCAN):
    case OPS(OPS_MOVED, OPS_ACCESS, OP_ASSERT): return b;
    case OPS(OP_CONST, OP_ARANGE, OPS_GRID, OP_RESIZE, OPS_ELEM, OPS_TENSOR, OP_DOT,
             OP_HISTOGRAM, OP_SORT, OPS_FOREIGN, OPS_FLOW, OP_ASSUME, OP_PRINT,
             OP_DEBUG, OPS_THREADS):
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
    case OPS(OP_EXPAND, OP_RESHAPE, OP_SCAN, OP_CAT):
    case OPS(OPS_MOVED, OPS_ACCESS, OP_ASSERT): return b;
    case OPS(OPS_VALUES, OP_RESIZE, OPS_ELEM, OPS_TENSOR, OP_DOT, OP_HISTOGRAM, OP_SORT,
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

bool
chunk_is_move(Func *f, const Op *o)
{
    return o->op == OP_CONVERT && convert_plan(f->c, o)->kind > CONV_REGS;
}

bool
chunk_is_simple(const Op *o)
{
    for (const Op *p = o->regions[0]->first; p != o->regions[0]->last; p = p->next)
        if (p->op != OP_CONST && (!chunk_is_plain(p) || p->n_args > 3))
            return false;
    return true;
}

static bool
can_be_cut(const Cut *k, const Op *o)
{
    if (k->slack == SLACK_MOVES)
        return o->op == OP_CONVERT || chunk_is_local(o);
    switch (o->op) {
    case OPS(OP_JOIN, OP_CAT, OPS_MOVED, OPS_ACCESS, OP_SCAN, OP_GATHER, OP_HISTOGRAM,
             OP_ASSERT, OP_INLINE_ASM, OP_INLINE_ASM_IO):
        return true;
    case OP_REDUCE: return chunk_is_simple(o);
    case OPS(OPS_VALUES, OPS_INDEX, OP_SPLIT, OP_RESIZE, OPS_ELEM, OPS_TENSOR, OP_DOT,
             OP_SORT, OP_EXTERN, OP_EXTERN_IO, OPS_FLOW, OP_ASSUME, OP_PRINT, OP_DEBUG,
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
    return !across || (is_same(b, all) && chunk_is_simple(o));
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
    const Layout *part = layout_part(k->c, v->type->layout, m);
    if (!part || part->n[IN_REG] > k->most_bits)
        return false;
    if (v->def && chunk_is_local(v->def) && !is_part(k, b))
        return false;
    if (v->def && v->def->op == OP_SCAN)
        return scan_fits(k, v->def, b);
    Col all = (Col)v->type->shape[0];
    return !v->def || v->def->op != OP_ARANGE || m + (m & -m) == all ||
           !(m & (MIN_RUN - 1));
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
    return op_has(o, OPF_WRITES) || (o->op == OP_LOAD && ir_attr(o, ATTR_VOLATILE));
}

bool
chunk_is_made_anywhere(Func *f, const Val *v)
{
    if (!has_many_registers(v))
        return true;
    const Op *o = v->def;
    bool is_free = o && (op_has(o, OPF_FREE) || o->op == OP_CONVERT);
    if (!o || !(is_free || chunk_is_plain(o)) || chunk_is_move(f, o))
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (!chunk_is_made_anywhere(f, arg(o, i)))
            return false;
    return true;
}

/* Beside blocks that stay whole, what is made anywhere is there as both. */
static bool
is_there_once(const Cut *k, const Val *v)
{
    if (v->def && chunk_runs_once(v->def))
        return true;
    return has_many_registers(v) &&
           !(k->slack >= SLACK_WHOLE && chunk_is_made_anywhere(k->f, v) &&
             !chunk_is_put(v));
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
    only |= is_there_once(k, v);
    if (!is_new && (k->only[v->id] || !only))
        return true;
    PUSH(k->a, &k->claims, ((Claim){v, k->bits[v->id], k->only[v->id]}));
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
    if (!can_be_cut(k, o))
        return false;
    if (o->op == OP_HISTOGRAM || (o->op == OP_REDUCE && is_along(o, b))) {
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
spread_from(Cut *k, Val *first, Bits b)
{
    Todo todo = {0};
    if (!claim(k, &todo, first, b, true))
        return false;
    while (todo.n) {
        Val *v = todo.at[--todo.n];
        Bits at = k->bits[v->id];
        const Op *o = v->def;
        if (!o || !can_be_cut(k, o) || !claim_operands(k, &todo, o, at))
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

/* Claims from n on are taken back, and so are the sums they made. */
static void
take_back(Cut *k, int n, int n_sums)
{
    while (k->claims.n > n) {
        const Claim *c = &k->claims.at[--k->claims.n];
        k->bits[c->v->id] = c->bits;
        k->only[c->v->id] = c->only;
    }
    k->n_sums = n_sums;
}

/* false: first cannot be cut so, and nothing is. */
static bool
spread(Cut *k, Val *first, Bits b)
{
    int n = k->claims.n, n_sums = k->n_sums;
    if (spread_from(k, first, b))
        return true;
    for (int i = n; i < k->claims.n; i++)
        PUSH(k->a, &k->met, k->claims.at[i].v);
    take_back(k, n, n_sums);
    return false;
}

/* ---- choosing ---------------------------------------------------------------------------- */

static bool
cut_one_dim(Cut *k, Val *v)
{
    const Type *t = v->type;
    int best = -1, n = k->claims.n, n_sums = k->n_sums, fewest = INT32_MAX;
    for (int d = 0; d < t->rank; d++) {
        if (!(t->shape[d] >> k->log2) || !spread(k, v, bits_of_dim(k, t, d)))
            continue;
        if (k->n_sums < fewest)
            best = d, fewest = k->n_sums;
        take_back(k, n, n_sums);
    }
    return best >= 0 && spread(k, v, bits_of_dim(k, t, best));
}

/* The highest bits that fit together, of dim d or, where that is `rank`, of all. */
static bool
cut_bits(Cut *k, Val *v, int d)
{
    Bits all = no_bits();
    int n = 0, log2 = k->log2, most = k->most_bits, n_claims = k->claims.n,
        n_sums = k->n_sums;
    for (int b = top_of(v->type, 0); n < log2 && b-- > 0;) {
        Bits more = {.at = {(int8_t)b}};
        memcpy(more.at + 1, all.at, sizeof all.at - sizeof *all.at);
        if (d < v->type->rank && dim_of(v->type, b) != d)
            continue;
        k->log2 = n + 1, k->most_bits = most + log2 - k->log2;
        if (!spread(k, v, more))
            continue;
        all = more;
        if (++n < log2)
            take_back(k, n_claims, n_sums);
    }
    k->log2 = log2, k->most_bits = most;
    return n == log2;
}

static bool
cut_any_bits(Cut *k, Val *v)
{
    for (int d = 0; d <= v->type->rank; d++)
        if (cut_bits(k, v, d))
            return true;
    return false;
}

bool
chunk_dims(Cut *k)
{
    bool in_parts = k->slack >= SLACK_WHOLE, any = false;
    k->most_bits = k->slack == SLACK_MOVES ? MAX_MOVE_BITS
                   : in_parts              ? MAX_PART_BITS
                                           : MAX_BITS;
    k->bits = NEW_N(k->a, Bits, k->f->n_vals);
    k->only = NEW_N(k->a, bool, k->f->n_vals);
    bool *has_failed = NEW_N(k->a, bool, k->f->n_vals); /* by id */
    for (int i = 0; i < k->f->n_vals; i++)
        k->bits[i] = no_bits();
    EACH_CONTROL_VAL(v, k->f->body) {
        if (!has_many_registers(v) || chunk_has_slices(k, v) || has_failed[v->id] ||
            (in_parts && !is_there_once(k, v)))
            continue;
        k->met.n = 0;
        bool is_enough = v->type->layout->n[IN_REG] - k->log2 >= MAX_CHUNK_BITS;
        bool is_cut = v->def && (is_enough || !in_parts) &&
                      (cut_one_dim(k, v) ||
                       (k->slack >= SLACK_BITS && cut_any_bits(k, v)));
        if (!is_cut && !in_parts)
            return false;
        any |= is_cut;
        for (int i = 0; i < k->met.n && !is_cut; i++)
            has_failed[k->met.at[i]->id] = true;
    }
    return any;
}
