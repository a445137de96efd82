/* wish_layouts: the first look of assign_layouts: what layout would each value like? It is one file,
 * as a value's wish is asked of its operands, its users and its loop.
 *
 * The rules stand at the top of assign_layouts.c; nothing is changed here. A value's wish
 * is found forward, from its operands; only cheap values carried by a loop look at what
 * they are used for (hinted).
 *
 * Rule 1: facts are asked of the function as it is, before anything changes.
 * Rule 2: a wish without a value is &layouts_any; NULL means scalar, or not seen yet.
 */
#include "passes/simt/layouts.h"

#include <assert.h>
#include <stdlib.h>

enum {
    MAX_ROUNDS = 3, /* over a loop's body until its carried layouts settle */
    CHEAP_BUDGET = WISHES_CHEAP,
    SPREAD_BUDGET = 48, /* ops looked at to see that a value is made of rows */
    SPREAD_SHRINK = 4,  /* by what a row must be smaller than what it is spread over */
    HINT_BUDGET = 64,
    USES_BUDGET = 32,   /* of what a row feeds */
    MIN_STORE_RUN = 32, /* bytes: a sector of memory */
};

static const Layout layouts_any; /* the wish of a cheap value */

typedef struct Wish {
    const Layout *layout; /* NULL, &layouts_any, or interned */
    bool gives_way;       /* made by broadcast: gives way to any other */
    int cost;             /* of making a cheap value again */
    bool is_sum;          /* a product's sum lies so */
} Wish;

struct Wishes {
    Func *f;
    Comp *c;
    FactTable *facts;
    Accesses *accesses;
    int log2_warps;
    Wish *wish; /* by value id; values made later have none */
    int n_wish;
    Map op_layout; /* Op -> Layout of the operands it works on */
};

/* ---- layouts ------------------------------------------------------------------------- */

static const Layout *
blocked(Wishes *s, const Type *t, int fastest, int log2_vec)
{
    return layouts_blocked(s->c, s->log2_warps, t, fastest, log2_vec, -1, MAX_BITS);
}

const Layout *
wishes_default(Wishes *s, const Type *t)
{
    return blocked(s, t, t->rank - 1, 2);
}

/* A block that is read out of shared memory as it lies in its tensor. */
static const Layout *
lines_of(Wishes *s, const Val *v)
{
    const Type *t = v->type;
    return blocked(s, t, t->rank - 1,
                   log2_of(MAX_VEC_BYTES / elem_info[t->elem].bytes));
}

/* The accumulator of a dot by multiply-adds: a square patch a thread, so that operands
 * read from shared memory are used as often as possible. */
static const Layout *
fma_acc_layout(Wishes *s, const Type *t)
{
    int per_thread[MAX_RANK], order[MAX_RANK];
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    for (int d = 0; d < t->rank; d++)
        per_thread[d] = 1;
    int m = t->rank - 2, n = t->rank - 1;
    int left = MAX(shape[m] + shape[n] - LANE_BITS - s->log2_warps, 0);
    int along_n = MIN(MIN((left + 1) / 2, 2), (int)shape[n]);
    int along_m = MIN(MIN(left - along_n, 2), (int)shape[m]);
    per_thread[n] = 1 << along_n;
    per_thread[m] = 1 << along_m;
    layouts_order(t->rank, n, order);
    return layout_dedup_regs(s->c, layout_blocked(s->c, t->rank, shape, per_thread,
                                                  s->log2_warps, order));
}

static const Layout *
acc_layout(Wishes *s, const Op *dot)
{
    DotPlan p;
    dot_plan(s->f, dot, &p);
    const Type *t = dot->results[0]->type;
    if (!p.is_mma)
        return fma_acc_layout(s, t);
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    if (p.is_wgmma) {
        const Layout *l = layout_wgmma_acc(s->c, shape, p.log2_warps_m, p.log2_warps_n);
        return p.is_a_words ? layout_wgmma_by_words(s->c, l) : l;
    }
    return layout_mma_acc(s->c, t->rank, shape, p.log2_warps_m, p.log2_warps_n);
}

/* Every basis is one bit or none: an input bit moves along one dim. */
static bool
has_unit_bases(const Layout *l)
{
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++)
            if (l->basis[in][i] & (l->basis[in][i] - 1))
                return false;
    return true;
}

/* ---- first look: wishes ------------------------------------------------------------------- */

static Wish *
wish(Wishes *s, const Val *v)
{
    assert(v->id < s->n_wish);
    return &s->wish[v->id];
}

const Accesses *
wishes_accesses(const Wishes *s)
{
    return s->accesses;
}

bool
wishes_any(const Wishes *s, const Val *v)
{
    return v->id < s->n_wish && s->wish[v->id].layout == &layouts_any;
}

/* Is v computed of rows and columns alone: addresses and masks of rows that were loaded?
 *
 *     %p = addptr %e, (add (broadcast %row), (broadcast %column))      128 x 256 pointers
 *
 * Moving %row, 128 numbers, and computing %p again is far less than moving %p. Integers
 * and pointers only: their arithmetic is one instruction, and exact. */
static bool
is_spread(const Wishes *s, const Val *v, int *budget)
{
    if (!is_block(v) || wishes_any(s, v))
        return true;
    const Op *o = v->def;
    if (!o || --*budget < 0 || (elem_is_float(v->type->elem) && !v->type->is_ptr))
        return false;
    if (o->op == OP_BROADCAST)
        return ty_numel(arg(o, 0)->type) * SPREAD_SHRINK <= ty_numel(v->type);
    if (!op_has(o, OPF_ELEM) || !op_has(o, OPF_PURE) || o->n_results != 1 ||
        op_has(o, OPF_SLOW | OPF_HEAVY) || o->n_regions)
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (!is_spread(s, arg(o, i), budget))
            return false;
    return true;
}

bool
wishes_is_spread(const Wishes *s, const Val *v)
{
    int budget = SPREAD_BUDGET;
    return is_spread(s, v, &budget);
}

bool
wishes_gives_way(const Wishes *s, const Val *v)
{
    return v->id < s->n_wish && s->wish[v->id].gives_way;
}

static void
set_wish(Wishes *s, const Val *v, const Layout *l, bool gives_way)
{
    *wish(s, v) = (Wish){.layout = is_block(v) ? l : NULL, .gives_way = gives_way};
}

/* Of all results. */
static void
set_wishes(Wishes *s, const Op *o, const Layout *l)
{
    for (int i = 0; i < o->n_results; i++)
        set_wish(s, o->results[i], l, false);
}

int
wishes_weight(const Op *o)
{
    if (!op_has(o, OPF_SLOW | OPF_HEAVY))
        return 1;
    return elem_is_float(arg(o, 0)->type->elem) ? CHEAP_BUDGET : 8;
}

/* Is v a product's result, perhaps cast? */
static bool
is_product(const Val *v)
{
    const Op *o = v->def;
    return o && (o->op == OP_DOT || (o->op == OP_CAST && is_product(arg(o, 0))));
}

/* The layout of v in which it meets a product's result under its indices; NULL: none is known. */
static const Layout *
beside_product(Wishes *s, const Val *v, int *budget)
{
    for (const Use *u = v->uses; u && --*budget >= 0; u = u->next) {
        const Op *o = u->user;
        bool is_view = op_has(o, OPF_VIEW) || o->op == OP_BROADCAST,
             is_plain = op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && o->n_results == 1;
        for (int i = 0; i < o->n_args && is_plain; i++)
            if (is_product(arg(o, i)))
                return wish(s, arg(o, i))->layout;
        const Layout *l = is_view || is_plain ? beside_product(s, result(o, 0), budget)
                                              : NULL;
        l = l && is_view ? layouts_operand(s->c, o, l) : l;
        if (l)
            return l;
    }
    return NULL;
}

/* A row of which a thread wants a few numbers beside a product's result, and which comes number by number,
 * is loaded by who wants it: the scales of rows of float8. */
static const Layout *
row_layout(Wishes *s, const Op *load)
{
    enum { FEW = 2 }; /* log2 */
    int budget = USES_BUDGET;
    const Layout *l = load->op == OP_LOAD && result(load, 0)->type->rank == 1 &&
                              accesses_is_scattered(s->accesses, load)
                          ? beside_product(s, result(load, 0), &budget)
                          : NULL;
    return l && l->n[IN_REG] <= FEW ? l : NULL;
}

static const Layout *hint_of(Wishes *s, const Val *v, int *budget);

static const Layout *
hint_of_use(Wishes *s, const Use *u, int *budget)
{
    const Op *o = u->user;
    int i = (int)(u - o->args);
    if (op_has_pointers(o)) {
        const Layout *row = i ? NULL : row_layout(s, o);
        return row ? row : accesses_layout(s->accesses, o);
    }
    if (op_has(o, OPF_ELEM))
        return hint_of(s, o->results[0], budget);
    const Layout *l = NULL;
    if (op_has(o, OPF_VIEW) || o->op == OP_BROADCAST) {
        l = hint_of(s, o->results[0], budget);
        return l ? layouts_operand(s->c, o, l) : NULL;
    }
    if (o->op == OP_FOR && i >= 3) {
        l = hint_of(s, o->regions[0]->args[i - 2], budget);
        return l ? l : hint_of(s, o->results[i - 3], budget);
    }
    if (o->op == OP_WHILE)
        return hint_of(s, o->regions[0]->args[i], budget);
    if (o->op == OP_CONDITION && i >= 1) {
        l = hint_of(s, o->block->owner->regions[1]->args[i - 1], budget);
        return l ? l : hint_of(s, o->block->owner->results[i - 1], budget);
    }
    if (o->op == OP_YIELD && o->block->owner->op == OP_IF)
        return hint_of(s, o->block->owner->results[i], budget);
    return NULL;
}

/* The layout that the accesses want which v reaches; NULL: none found. */
static const Layout *
hint_of(Wishes *s, const Val *v, int *budget)
{
    if (v->id < s->n_wish && s->wish[v->id].layout && !wishes_any(s, v))
        return s->wish[v->id].layout;
    const Layout *found = NULL;
    int oldest = INT32_MAX;
    for (const Use *u = v->uses; u; u = u->next) {
        if (--*budget < 0)
            break;
        const Layout *l = hint_of_use(s, u, budget);
        /* The list of uses is newest first; take the earliest access. */
        int id = u->user->n_results ? u->user->results[0]->id : INT32_MAX - 1;
        if (l && id < oldest) {
            found = l;
            oldest = id;
        }
    }
    return found;
}

/* A layout for a value nobody upstream has an opinion on. */
static const Layout *
hinted(Wishes *s, const Val *v)
{
    int budget = HINT_BUDGET;
    const Layout *l = hint_of(s, v, &budget);
    return l ? l : wishes_default(s, v->type);
}

/* The wish of the first block operand from `first` on that has one; NULL: all cheap. */
static const Wish *
first_wish(Wishes *s, const Op *o, int first)
{
    const Wish *weak = NULL;
    for (int i = first; i < o->n_args; i++) {
        const Wish *w = wish(s, arg(o, i));
        if (!w->layout || w->layout == &layouts_any)
            continue;
        if (!w->gives_way)
            return w;
        if (!weak)
            weak = w;
    }
    return weak;
}

/* Is v, perhaps after some arithmetic, a factor of a product, or what a loop carries on? */
static bool
is_factor(const Val *v, int *budget)
{
    for (const Use *u = v->uses; u && --*budget >= 0; u = u->next) {
        const Op *o = u->user, *loop = o->block->owner;
        int i = (int)(u - o->args);
        const Val *next = NULL;
        if (op_has(o, OPF_ELEM) && o->n_results == 1)
            next = result(o, 0);
        if ((o->op == OP_YIELD && loop->op == OP_FOR) || (o->op == OP_DOT && i < 2) ||
            (next && is_factor(next, budget)))
            return true;
    }
    return false;
}

/* Are o's operands that lie elsewhere than the sum made of fewer bytes, which move before they are cast? */
static bool
meets_narrow(Wishes *s, const Op *o, const Wish *sum)
{
    for (int i = 0; i < o->n_args; i++) {
        const Val *v = arg(o, i);
        const Layout *l = wish(s, v)->layout;
        if (l && l != &layouts_any && l != sum->layout &&
            !(v->def && v->def->op == OP_CAST &&
              ty_bits(arg(v->def, 0)->type) < ty_bits(v->type)))
            return false;
    }
    return true;
}

/* Is v a row that is loaded, perhaps cast? */
static bool
is_loaded_row(const Val *v)
{
    while (v->def && v->def->op == OP_CAST)
        v = arg(v->def, 0);
    return v->def && v->def->op == OP_LOAD && v->type->rank == 1;
}

/* What a reduction of the same iteration leaves in few registers of all threads, where o takes it and a row that is loaded:
 * the row is loaded as it lies. LoRA's product by vectors adds 32 sums to y in each turn, and waited twice for the
 * other warp: 43 us on an H100, and 28 since. */
static const Wish *
reduced_wish(Wishes *s, const Op *o, const Wish *w)
{
    enum { FEW_BITS = 1 }; /* of registers */
    const Op *loop = o->block->owner;
    const Wish *reduced = NULL;
    for (int i = 0; i < o->n_args; i++) {
        const Val *v = arg(o, i);
        const Wish *x = wish(s, v);
        if (v->def && v->def->op == OP_REDUCE && x->layout &&
            x->layout != &layouts_any && x->layout->n[IN_REG] <= FEW_BITS)
            reduced = x;
        else if (x->layout && x->layout != &layouts_any && !is_loaded_row(v))
            return w;
    }
    return reduced && loop && loop->op == OP_FOR ? reduced : w;
}

/* In a chain of products, and in a loop that adds to what was loaded, what meets their sums lies as they do: it
 * moves once, and not each sum. So does what has fewer bytes, where the sum is wanted for something else, too. */
static const Wish *
elementwise_wish(Wishes *s, const Op *o)
{
    const Wish *w = first_wish(s, o, 0);
    for (int i = 0; i < o->n_args; i++) {
        const Wish *sum = wish(s, arg(o, i));
        int budget = HINT_BUDGET;
        if (sum->is_sum && w->layout != sum->layout &&
            (is_factor(result(o, 0), &budget) ||
             (!ir_has_one_use(arg(o, i)) && meets_narrow(s, o, sum))))
            return sum;
    }
    return reduced_wish(s, o, w);
}

static void
wish_elementwise(Wishes *s, const Op *o)
{
    const Val *r = o->results[0];
    const Wish *w = elementwise_wish(s, o);
    if (w) {
        set_wish(s, r, w->layout, w->gives_way);
        wish(s, r)->is_sum = w->is_sum;
        return;
    }
    int cost = wishes_weight(o);
    for (int i = 0; i < o->n_args; i++)
        cost += wish(s, arg(o, i))->cost;
    if (cost >= CHEAP_BUDGET)
        set_wish(s, r, hinted(s, r), false);
    else
        *wish(s, r) = (Wish){.layout = &layouts_any, .cost = cost};
}

/* The layout an op works in, taken from its operands. */
static const Layout *
working_layout(Wishes *s, const Op *o)
{
    const Wish *w = first_wish(s, o, 0);
    return w ? w->layout
             : wishes_default(s, (o->n_args ? arg(o, 0) : result(o, 0))->type);
}

/* With effects it runs even if nobody wants what it gives, so it is never cheap; nor is it
 * with several results, all of which lie as one does. */
static void
wish_assembly(Wishes *s, const Op *o)
{
    if (o->op == OP_INLINE_ASM && o->n_results == 1) {
        wish_elementwise(s, o);
        return;
    }
    set_wishes(s, o, working_layout(s, o));
}

static void
wish_shape_op(Wishes *s, const Op *o)
{
    const Wish *w = wish(s, arg(o, 0));
    if (!is_block(o->results[0]))
        return; /* a reshape to a scalar */
    if (w->layout == &layouts_any)
        *wish(s, o->results[0]) = (Wish){.layout = &layouts_any, .cost = w->cost};
    else
        set_wish(s, o->results[0], layouts_result(s->c, o, w->layout),
                 w->gives_way || o->op == OP_BROADCAST);
}

static const Layout *
map_store_layout(Wishes *s, const Op *o)
{
    const Val *v = arg(o, o->n_args - 1);
    const Wish *w = wish(s, v);
    return w->layout == &layouts_any ? lines_of(s, v) : w->layout;
}

/* The same for reduce and scan, which go along an axis bit by bit. */
static const Layout *
axis_layout(Wishes *s, const Op *o)
{
    const Layout *l = working_layout(s, o);
    if (has_unit_bases(l) && layout_is_nested(l, (int)ir_attr(o, ATTR_AXIS)))
        return l;
    return wishes_default(s, arg(o, 0)->type);
}

/* Threads have elements in a row along the axis, lanes take the other dims. */
static const Layout *
along_scan(Wishes *s, const Op *o)
{
    const Type *t = arg(o, 0)->type;
    int axis = (int)ir_attr(o, ATTR_AXIS), last = t->rank - 1;
    return layouts_blocked(s->c, s->log2_warps, t, axis == last ? last - 1 : last, 0,
                           axis, MAX_BITS);
}

/* What rows and columns are made into lies as its scan likes, for other users, too. NULL: something else says how it
 * lies. Ranks of 256 tokens among 64 experts, by rows that are 1 at the token's expert, by 8 warps: 382 shuffles where
 * lanes scanned each column, 194 us on an H100, and 81 (Triton 120). */
static const Layout *
broadcasts_scan_layout(Wishes *s, const Op *o)
{
    const Type *t = arg(o, 0)->type;
    const Wish *w = first_wish(s, o, 0);
    if (t->rank < 2 || s->f->log2_ctas || (w && !w->gives_way))
        return NULL;
    const Layout *l = along_scan(s, o);
    for (int i = 0; i < o->n_args; i++)
        if (wish(s, arg(o, i))->gives_way)
            set_wish(s, arg(o, i), l, true);
    return l;
}

/* l, or what the scan likes. Where warps part rows that lie side by side, each of a thread's elements
 * is a total that warps tell each other, and all of them together are the block: it may have no room. */
static const Layout *
layout_with_room(Wishes *s, const Op *o, const Layout *l)
{
    const Type *t = arg(o, 0)->type;
    bool has_room = scratch_of_scan(o, l) <= shared_memory_limit(&s->c->opt.target);
    return s->f->log2_ctas || t->rank < 2 || has_room ? l : along_scan(s, o);
}

/* Lanes scan by five steps for each run of a thread's elements; a thread that has all of its elements in a row
 * scans those alone, and lanes scan once. Moves there and back wait for shared memory: sums of columns of 1024
 * by 4 warps lose by them (394 us without, 535 with them on an H100), cummax wins (67 us without, 35 with them).
 * cummax of 4096 by 4 warps, whose rows are not aligned: 320 shuffles before and 10 then. */
static const Layout *
scan_layout(Wishes *s, const Op *o)
{
    enum { MOVE = 14, MOST_EACH = 6 }; /* larger blocks are cut */
    const Layout *of_broadcasts = broadcasts_scan_layout(s, o),
                 *l = of_broadcasts ? of_broadcasts
                                    : layout_with_room(s, o, axis_layout(s, o));
    const Type *t = arg(o, 0)->type;
    int each = log2_of(ty_numel(t)) - LANE_BITS - s->log2_warps, bit[MAX_BITS],
        work = 0;
    if (t->rank != 1 || each < 1 || each > MOST_EACH || s->f->log2_ctas)
        return l;
    int run = layout_run(l, 0, MAX_BITS, bit);
    EACH_OP(r, o->regions[0])
        work += element_cost(r);
    int by_lanes = (LANE_BITS * (2 * o->n_args + work)) << (each - MIN(run, each)),
        by_moves = (MOVE * 2 * o->n_args) << each;
    return by_moves < by_lanes ? blocked(s, t, 0, each) : l;
}

static void
work_in(Wishes *s, const Op *o, const Layout *l)
{
    map_put(&s->op_layout, o, 0, (void *)l);
}

const Layout *
wishes_of_op(const Wishes *s, const Op *o)
{
    return map_get(&s->op_layout, o, 0);
}

/* Pointers that lie as they do for no better reason than that their rows were loaded. They
 * are made again in another layout for little, so they have no say where a warp would
 * reach more of a row. */
static bool
is_row_address(Wishes *s, const Op *o)
{
    const Wish *p = wish(s, arg(o, 0));
    int dim = facts_fastest_dim(s->facts, o),
        bytes = elem_info[arg(o, 0)->type->elem].bytes;
    return p->layout != &layouts_any && wishes_is_spread(s, arg(o, 0)) &&
           accesses_run_bytes(p->layout, dim, bytes) <
               accesses_run_bytes(accesses_layout(s->accesses, o), dim, bytes);
}

static const Layout *
load_wish(Wishes *s, const Op *o)
{
    const Wish *p = wish(s, arg(o, 0));
    if (p->layout != &layouts_any && accesses_is_scattered(s->accesses, o) &&
        !is_row_address(s, o))
        return p->layout; /* moving pointers costs more than it gives */
    return accesses_layout(s->accesses, o);
}

/* As the operands lie, unless several elements go at a time and a warp's access would cover less than a line in
 * a row. What a product sums lies in pieces of 16 and 32 bytes, and if it was turned (swap_dots) across: sums of
 * bf16 by 32x128 in 8 programs a block took 971 us on an H100, one element an atomic, and 77 moved. */
static const Layout *
atomic_wish(Wishes *s, const Op *o)
{
    const Wish *w = first_wish(s, o, 0);
    const Layout *best = accesses_layout(s->accesses, o);
    int dim = facts_fastest_dim(s->facts, o),
        bytes = elem_info[arg(o, 0)->type->elem].bytes;
    if (!w)
        return best;
    if (result(o, 0)->uses || !accesses_atomic_width(s->accesses, o, dim))
        return w->layout;
    int run = accesses_run_bytes(w->layout, dim, bytes);
    return run < LINE && run < accesses_run_bytes(best, dim, bytes) ? best : w->layout;
}

/* Where scattered pointers lie, or the data, unless that gives way, or a warp's access would then cover less
 * than a sector in a row and the coalesced layout covers more. A row that is broadcast and stored has the
 * load's layout, in which each thread stores one column, element by element. */
static const Layout *
store_layout(Wishes *s, const Op *o)
{
    const Wish *p = wish(s, arg(o, 0));
    const Layout *best = accesses_layout(s->accesses, o);
    if (p->layout != &layouts_any && !is_row_address(s, o))
        return p->layout;
    if (op_mask_at(o) < 2) /* no data */
        return best;
    const Wish *v = wish(s, arg(o, 1));
    if (v->layout == &layouts_any || v->gives_way)
        return best;
    int dim = facts_fastest_dim(s->facts, o),
        bytes = elem_info[arg(o, 0)->type->elem].bytes;
    int run = accesses_run_bytes(v->layout, dim, bytes);
    if (run >= MIN_STORE_RUN || run >= accesses_run_bytes(best, dim, bytes))
        return v->layout;
    return best;
}

/* The layout for split's operand: halves in one register bit. */
static const Layout *
split_layout(Wishes *s, const Op *o)
{
    const Layout *l = working_layout(s, o);
    if (layout_split(s->c, l))
        return l;
    return layout_join(s->c, wishes_default(s, o->results[0]->type));
}

static void look_at(Wishes *s, const Block *b);

/* Carried values take new layouts from what the body yields; true if one changed. */
static bool
take_wishes(Wishes *s, Val *const *args, const Op *yield, int first)
{
    bool changed = false;
    for (int i = first; i < yield->n_args; i++) {
        Wish *old = wish(s, args[i - first]);
        const Wish *new = wish(s, arg(yield, i));
        if (!old->layout || new->layout == &layouts_any || new->layout == old->layout)
            continue;
        if (new->gives_way && !old->gives_way && old->layout != &layouts_any)
            continue;
        *old = *new;
        changed = true;
    }
    return changed;
}

/* The layout of another block of v's shape that the loop carries; NULL: none has one. Both mostly meet behind the loop, as
 * a count does the mean that it is of. */
static const Layout *
carried_beside(Wishes *s, Val *const *args, int n, const Val *v)
{
    for (int i = 0; i < n; i++)
        if (is_block(args[i]) && wish(s, args[i])->layout && !wishes_any(s, args[i]) &&
            args[i]->type->rank == v->type->rank &&
            !memcmp(args[i]->type->shape, v->type->shape, sizeof v->type->shape))
            return wish(s, args[i])->layout;
    return NULL;
}

/* Carried values that are cheap all around get a layout now. */
static bool
fix_wishes(Wishes *s, Val *const *args, int n)
{
    bool changed = false;
    for (int i = 0; i < n; i++)
        if (wishes_any(s, args[i])) {
            int budget = HINT_BUDGET;
            const Layout *l = hint_of(s, args[i], &budget);
            if (!l)
                l = carried_beside(s, args, n, args[i]);
            set_wish(s, args[i], l ? l : wishes_default(s, args[i]->type), false);
            changed = true;
        }
    return changed;
}

/* What a loop carries starts as what enters. Addresses of rows that were loaded have no
 * opinion: they enter in whatever layout the accesses inside want. A row gives way to what the loop makes of it, as it
 * enters once: maxima of attention's scores that begin with a sink of each head. */
static void
copy_wishes(Wishes *s, Val *const *to, const Op *from, int first)
{
    for (int i = first; i < from->n_args; i++) {
        const Val *v = arg(from, i);
        Wish *w = wish(s, to[i - first]);
        *w = is_block(v) && wishes_is_spread(s, v)
                 ? (Wish){.layout = &layouts_any, .cost = wish(s, v)->cost}
                 : *wish(s, v);
        w->gives_way |= is_block(v) && v->type->rank == 1 && w->layout != &layouts_any;
    }
}

static void
wish_for(Wishes *s, const Op *o)
{
    const Block *b = o->regions[0];
    Val *const *carried = b->args + 1;
    copy_wishes(s, carried, o, 3);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        look_at(s, b);
        if (!take_wishes(s, carried, b->last, 0))
            break;
    }
    if (fix_wishes(s, carried, b->n_args - 1)) {
        look_at(s, b);
        if (take_wishes(s, carried, b->last, 0))
            look_at(s, b);
    }
    for (int i = 0; i < o->n_results; i++)
        *wish(s, o->results[i]) = *wish(s, carried[i]);
}

static void
wish_while(Wishes *s, const Op *o)
{
    const Block *before = o->regions[0], *body = o->regions[1];
    copy_wishes(s, before->args, o, 0);
    for (int round = 0; round <= MAX_ROUNDS; round++) {
        if (round == MAX_ROUNDS)
            fix_wishes(s, before->args, before->n_args);
        look_at(s, before);
        copy_wishes(s, body->args, before->last, 1);
        fix_wishes(s, body->args, body->n_args);
        look_at(s, body);
        if (!take_wishes(s, before->args, body->last, 0) && round < MAX_ROUNDS)
            round = MAX_ROUNDS - 1;
    }
    for (int i = 0; i < o->n_results; i++)
        *wish(s, o->results[i]) = *wish(s, body->args[i]);
}

static void
wish_if(Wishes *s, const Op *o)
{
    for (int i = 0; i < o->n_regions; i++)
        look_at(s, o->regions[i]);
    for (int i = 0; i < o->n_results; i++) {
        const Wish *x = wish(s, arg(o->regions[0]->last, i)),
                   *y = wish(s, arg(o->regions[1]->last, i));
        const Wish *w = x->layout == &layouts_any ||
                                (x->gives_way && y->layout != &layouts_any)
                            ? y
                            : x;
        if (w->layout == &layouts_any)
            set_wish(s, o->results[i], hinted(s, o->results[i]), false);
        else
            *wish(s, o->results[i]) = *w;
    }
}

static void
look_at_op(Wishes *s, const Op *o)
{
    const Layout *l = NULL;
    switch (o->op) {
    case OPS(OP_CONST, OP_ARANGE, OP_SPLAT):
        if (is_block(o->results[0]))
            *wish(s, o->results[0]) = (Wish){.layout = &layouts_any, .cost = 1};
        return;
    case OPS_INDEX: wish_shape_op(s, o); return;
    case OP_JOIN:
        work_in(s, o, l = working_layout(s, o));
        set_wish(s, o->results[0], layout_join(s->c, l), false);
        return;
    case OP_SPLIT:
        work_in(s, o, l = split_layout(s, o));
        set_wishes(s, o, layout_dedup_regs(s->c, layout_split(s->c, l)));
        return;
    case OP_CAT:
        work_in(s, o, l = working_layout(s, o));
        set_wish(s, o->results[0], layouts_cat(s->c, l), false);
        return;
    case OP_LOAD:
        if (is_block(o->results[0]))
            set_wish(s, o->results[0], load_wish(s, o), false);
        return;
    case OP_MAP_LOAD:
        set_wish(s, o->results[0], lines_of(s, o->results[0]), false);
        return;
    case OP_MAP_STORE: work_in(s, o, map_store_layout(s, o)); return;
    case OPS(OP_STORE, OPS_RARE_ACCESS):
        if (is_block(arg(o, 0)) && o->n_results)
            set_wish(s, o->results[0], atomic_wish(s, o), false);
        else if (is_block(arg(o, 0)))
            work_in(s, o, store_layout(s, o));
        return;
    case OP_REDUCE:
        work_in(s, o, l = axis_layout(s, o));
        set_wishes(s, o, layouts_reduced(s->c, o, l));
        return;
    case OP_SCAN:
        work_in(s, o, l = scan_layout(s, o));
        set_wishes(s, o, l);
        return;
    case OP_DOT:
        set_wish(s, o->results[0], acc_layout(s, o), false);
        wish(s, o->results[0])->is_sum = true;
        return;
    case OP_GATHER:
        l = wish(s, arg(o, 1))->layout;
        set_wishes(s, o, l == &layouts_any ? wishes_default(s, arg(o, 1)->type) : l);
        l = wish(s, arg(o, 0))->layout;
        work_in(s, o, l == &layouts_any ? wishes_default(s, arg(o, 0)->type) : l);
        return;
    case OP_HISTOGRAM:
        work_in(s, o, working_layout(s, o));
        set_wish(s, o->results[0], wishes_default(s, o->results[0]->type), false);
        return;
    case OP_ASSERT:
    case OP_PRINT:
        if (o->n_args && is_block(arg(o, 0)) &&
            (o->op == OP_ASSERT || ir_attr(o, ATTR_MASKED)))
            work_in(s, o, working_layout(s, o));
        return;
    case OP_INLINE_ASM:
    case OP_INLINE_ASM_IO:
        if (is_block(o->results[0]))
            wish_assembly(s, o);
        return;
    case OP_EXTERN_IO: /* runs even if nobody wants what it gives, so it is never cheap */
        if (is_block(o->results[0]))
            set_wishes(s, o, working_layout(s, o));
        return;
    case OP_FOR: wish_for(s, o); return;
    case OP_WHILE: wish_while(s, o); return;
    case OP_IF: wish_if(s, o); return;
    case OP_TILE_LOAD: /* of text that skips lower_desc; codegen refuses it */
        set_wish(s, o->results[0], wishes_default(s, o->results[0]->type), false);
        return;
    case OPS(OPS_GRID, OP_RESIZE, OPS_MOVED, OPS_ELEM, OP_TILE_STORE, OP_TENSOR_MAP,
             OP_LAUNCH_TEST, OP_SORT, OP_EXTERN, OPS_ENDS, OP_ASSUME, OP_DEBUG,
             OPS_THREADS):
        if (op_has(o, OPF_ELEM) && is_block(o->results[0]))
            wish_elementwise(s, o);
        return;
    }
}

static void
look_at(Wishes *s, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next)
        look_at_op(s, o);
}

const Layout *
wishes_of(const Wishes *s, const Val *v)
{
    return v->id < s->n_wish ? s->wish[v->id].layout : NULL;
}

Wishes *
wishes_new(Func *f)
{
    Arena *a = f->c->arena;
    Wishes *s = NEW(a, Wishes);
    s->f = f;
    s->c = f->c;
    s->facts = facts_new(f);
    s->accesses = accesses_new(f, s->facts);
    s->log2_warps = log2_of(f->team_warps) + f->log2_ctas;
    s->n_wish = f->n_vals;
    s->wish = NEW_N(a, Wish, f->n_vals);
    s->op_layout.a = a;
    look_at(s, f->body);
    return s;
}
