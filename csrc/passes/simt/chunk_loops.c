/* chunk_loops: what each loop over slices holds, and the loops.
 *
 *     for %i = 0 to 8 step 1 (%sum = -0.0) {
 *       %x = load ..                    a slice of 32 registers
 *       yield add %sum, %x              register by register: threads meet behind the loop
 *     }
 *     %s = reduce %sum
 *     for %i = 0 to 8 step 1 {
 *       %x = load ..                    again: what is cheap is not kept
 *       store .., div %x, splat %s
 *     }
 *
 * What a loop takes from one before it is computed again there or kept in local memory:
 *
 *     %m = local_alloc {at=0} : local<8 x f32[4096]>
 *     .. local_store %m, %i, %x         %x = local_load %m, %i ..
 *
 * A slice is kept where making an element anew takes COST_KEPT or more and where it cannot be made
 * anew: a load that a store has come after, a scan. Values that only other values need are kept in their place where that is less.
 *
 * Rule 1: loops are numbered by levels (chunk_levels.c). What is not cut stands in front of the
 *         loop of its level, in the order of the text.
 * Rule 2: a region without a neutral element takes the first slice as it is.
 */
#include "passes/simt/chunk.h"
#include "passes/simt/layouts.h"

/* Instructions an element, about. A load of 16 bytes has 8 elements of bf16, its address and its
 * mask; local memory is written, read and competes for L1. */
enum { COST_RELOAD = 6, COST_KEPT = 24, COST_NEVER = 1 << 20 };

typedef struct Kept {
    Val *v, *local;
    const Block *block;
    int level; /* of its block */
} Kept;

typedef struct Loop {
    Block *block;
    int level;
    bool *holds; /* by number of a step */
    Op *op;      /* once it is there */
    Val *number; /* of the slice, in its body */
    Map slice;   /* Val -> Val: in its body */
} Loop;

typedef struct Loops {
    Cut *k;
    VEC(Loop *) all; /* users of slices before those who make them */
    VEC(Kept *) kept;
    Map kept_of; /* Val -> Kept */
    int *cost;   /* by number of a step: of an element, in the loop that is looked at */
} Loops;

/* ---- again, or kept? --------------------------------------------------------------------- */

static bool
is_in(const Loop *l, const Step *s)
{
    return s->o->block == l->block && s->level == l->level;
}

static int
own_cost(const Loops *w, const Loop *l, const Step *s)
{
    const Op *o = s->o;
    if (o->op == OP_LOAD || o->op == OP_LOCAL_LOAD)
        return o->block == l->block && !chunk_runs_once(o) &&
                       chunk_loads_again(w->k, s, l->level)
                   ? COST_RELOAD
                   : COST_NEVER;
    switch (o->op) {
    case OPS(OP_JOIN, OP_CAT): return 0;
    case OPS(OP_LOAD, OPS_MOVED, OP_REDUCE, OP_SCAN, OP_GATHER, OP_HISTOGRAM, OP_SORT):
        return COST_NEVER;
    case OPS(OPS_VALUES, OPS_INDEX, OP_SPLIT, OP_RESIZE, OPS_ELEM, OP_STORE,
             OPS_RARE_ACCESS, OPS_TENSOR, OP_DOT, OPS_FOREIGN, OPS_FLOW, OPS_NOTES,
             OPS_THREADS):
        break;
    }
    return op_has(o, OPF_FREE)   ? 0
           : op_has(o, OPF_PURE) ? gpu_element_cost(o)
                                 : COST_NEVER;
}

/* Addresses and masks of what is loaded again are part of COST_RELOAD. */
static int
cost_of_operands(const Loops *w, const Step *s)
{
    const Op *o = s->o;
    int sum = 0, most = 0;
    for (int i = 0; i < o->n_args; i++) {
        const Step *t = chunk_step(w->k, arg(o, i));
        if (!t || !t->is_cut || !chunk_takes_slice(w->k, s, i))
            continue;
        sum = MIN(sum + w->cost[t->number], COST_NEVER);
        most = MAX(most, w->cost[t->number]);
    }
    return o->op == OP_LOAD ? (most >= COST_KEPT ? most : 0) : sum;
}

static void
find_costs(Loops *w, const Loop *l)
{
    for (int i = 0; i < w->k->steps.n; i++) {
        const Step *s = w->k->steps.at[i];
        w->cost[i] = 0;
        if (!s->is_cut || is_in(l, s))
            continue;
        int c = own_cost(w, l, s);
        c = MIN(c + cost_of_operands(w, s), COST_NEVER);
        /* then it is kept, and what is made of it reads that */
        w->cost[i] = c >= COST_KEPT ? COST_KEPT : c;
    }
}

static bool
is_worth_keeping(const Loops *w, const Loop *l, const Step *s)
{
    return !is_in(l, s) && w->cost[s->number] >= COST_KEPT;
}

static void
keep_slice(Loops *w, Val *v, const Step *s)
{
    if (map_get(&w->kept_of, v, 0))
        return;
    Kept *y = NEW(w->k->a, Kept);
    *y = (Kept){.v = v, .block = s->o->block, .level = s->level};
    PUSH(w->k->a, &w->kept, y);
    map_put(&w->kept_of, v, 0, y);
}

static bool
is_root(const Step *s)
{
    return s->is_cut && (!op_has(s->o, OPF_PURE | OPF_READS) ||
                         op_has(s->o, OPF_WRITES) || s->is_sum);
}

/* From the end of the text up: what the loop has to hold. */
static void
fill_from_end(Loops *w, Loop *l)
{
    Cut *k = w->k;
    find_costs(w, l);
    for (int i = k->steps.n; i-- > 0;) {
        const Step *s = k->steps.at[i];
        const Op *o = s->o;
        l->holds[i] |= is_in(l, s) && is_root(s);
        for (int r = 0; r < o->n_results && s->is_cut && is_in(l, s); r++)
            l->holds[i] |= map_get(&w->kept_of, result(o, r), 0) != NULL;
        for (int j = 0; j < o->n_args && l->holds[i]; j++) {
            Step *t = chunk_step(k, arg(o, j));
            if (!t || !t->is_cut || !chunk_takes_slice(k, s, j))
                continue;
            if (is_worth_keeping(w, l, t))
                keep_slice(w, arg(o, j), t);
            else
                l->holds[t->number] = true;
        }
    }
}

static bool
has_level(const Cut *k, const Block *b, int level, int *most)
{
    bool has = false;
    for (const Op *o = b->first; o; o = o->next) {
        const Step *s = map_get(&k->step_of, o, 0);
        has |= s->is_cut && s->level == level;
        *most = MAX(*most, MAX(s->level, s->whole_level));
    }
    return has;
}

static void
find_loops(Loops *w, Block *b)
{
    int most = 0;
    for (const Op *o = b->first; o; o = o->next)
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            find_loops(w, o->regions[r]);
    has_level(w->k, b, 0, &most);
    for (int level = most; level >= 0; level--) {
        if (!has_level(w->k, b, level, &most))
            continue;
        Loop *l = NEW(w->k->a, Loop);
        *l = (Loop){.block = b, .level = level, .slice.a = w->k->a};
        l->holds = NEW_N(w->k->a, bool, w->k->steps.n);
        PUSH(w->k->a, &w->all, l);
        fill_from_end(w, l);
    }
}

static const Type *
local_type(const Cut *k, const Val *v)
{
    return ty_local(k->c, chunk_type(k, v), 1 << k->log2);
}

/* ---- a loop's body ----------------------------------------------------------------------- */

static const Type *
scalar_i32(const Cut *k)
{
    return ty_scalar(k->c, E_I32);
}

/* i's bits where they stand in v's flat index. */
static Val *
own_slice(const Cut *k, Build *b, const Val *v, Val *i)
{
    const Bits *bits = &k->bits[v->id];
    Val *sum = NULL;
    for (int n, at = 0; at < k->log2; at += n) {
        n = 1;
        if (bits->at[at] == NO_BIT)
            continue;
        while (at + n < k->log2 && bits->at[at + n] == bits->at[at] + n)
            n++;
        Val *x = i;
        if (n < k->log2) {
            x = ir_bin(b, OP_SHR, x, ir_const_int(b, i->type, at));
            x = ir_bin(b, OP_AND, x, ir_const_int(b, i->type, (1 << n) - 1));
        }
        x = ir_bin(b, OP_MUL, x, ir_const_int(b, i->type, 1 << bits->at[at]));
        sum = sum ? ir_bin(b, OP_ADD, sum, x) : x;
    }
    return sum;
}

/* x counts from 0 up. The same with the bits of mask left out: from each gap on, a number is larger. */
static Val *
spread_out(Build *b, Val *x, int64_t mask)
{
    Val *sum = x;
    for (int bit = 0, gaps = 0; mask >> bit; bit++) {
        int n = 0;
        while (mask >> (bit + n) & 1)
            n++;
        int kept = bit - gaps;
        if (n && 1 << kept < x->type->shape[0]) {
            Val *high = ir_bin(b, OP_SHR, x, ir_const_int(b, x->type, kept));
            int64_t by = ((int64_t)1 << (bit + n)) - ((int64_t)1 << bit);
            sum = ir_bin(b, OP_ADD, sum,
                         ir_bin(b, OP_MUL, high, ir_const_int(b, x->type, by)));
        }
        bit += n, gaps += n;
    }
    return sum;
}

/* Of the slice that i numbers. */
static Val *
arange(const Cut *k, Build *b, const Op *o, Val *i)
{
    const Type *t = chunk_type(k, result(o, 0));
    int64_t start = ir_attr(o, ATTR_START), mask = chunk_mask(k, result(o, 0));
    Val *v = ir_op1(b, OP_ARANGE, 0, NULL, t);
    bool has_gaps = mask + (mask & -mask) != result(o, 0)->type->shape[0];
    Val *first = own_slice(k, b, result(o, 0), i);
    if (has_gaps && start)
        first = ir_bin(b, OP_ADD, first, ir_const_int(b, i->type, start));
    ir_set_attr(v->def, ATTR_START, has_gaps ? 0 : start);
    ir_set_attr(v->def, ATTR_END, (has_gaps ? 0 : start) + t->shape[0]);
    if (has_gaps)
        v = spread_out(b, v, mask);
    return ir_bin(b, OP_ADD, v, ir_op1(b, OP_SPLAT, 1, &first, t));
}

static Val *
slice_of(Loops *w, Loop *l, Build *b, Val *v)
{
    Val *y = map_get(&l->slice, v, 0);
    if (y)
        return y;
    const Kept *kept = map_get(&w->kept_of, v, 0);
    Val *args[] = {kept->local, l->number};
    y = ir_op1(b, OP_LOCAL_LOAD, 2, args, chunk_type(w->k, v));
    map_put(&l->slice, v, 0, y);
    return y;
}

static void
copy_op(Loops *w, Loop *l, Build *b, const Step *s)
{
    Cut *k = w->k;
    const Op *o = s->o;
    for (int i = 0; i < o->n_args; i++)
        if (chunk_takes_slice(k, s, i))
            slice_of(w, l, b, arg(o, i));
    if (o->op == OP_ARANGE) {
        map_put(&l->slice, result(o, 0), 0, arange(k, b, o, l->number));
        return;
    }
    Op *n = ir_clone(b, o, &l->slice);
    if (chunk_is_local(o)) {
        ir_set_arg(n, 1, l->number);
        ir_set_attr(n, ATTR_PART,
                    chunk_mask(k, o->n_results ? result(o, 0) : arg(o, 2)));
    }
    for (int i = 0; i < n->n_results; i++)
        result(n, i)->type = chunk_type(k, result(o, i));
}

/* ---- sums -------------------------------------------------------------------------------- */

static Val *
filled(Build *b, Val *v, const Type *slice)
{
    return v->type->rank || !slice->rank
               ? v
               : ir_op1(b, OP_SPLAT, 1, &v,
                        ty_with_elem(b->f->c, slice, v->type->elem));
}

/* The region of o on blocks: sums[] and then x[]. */
static void
combine(Build *b, const Op *o, Val *const *sums, Val *const *x, Val **out)
{
    const Block *from = o->regions[0];
    const Type *slice = x[0]->type;
    Map map = {.a = b->f->c->arena};
    Val *args[4];
    for (int i = 0; i < o->n_args; i++) {
        map_put(&map, from->args[i], 0, sums[i]);
        map_put(&map, from->args[o->n_args + i], 0, x[i]);
    }
    for (const Op *p = from->first; p != from->last; p = p->next) {
        const Type *t = ty_with_elem(b->f->c, slice, result(p, 0)->type->elem);
        for (int i = 0; i < p->n_args; i++) {
            Val *v = map_get(&map, arg(p, i), 0);
            args[i] = v ? v : filled(b, arg(p, i), slice);
        }
        Val *y = ir_op1(b, p->op, p->n_args, args, t);
        memcpy(y->def->attr, p->attr, sizeof p->attr);
        y->def->bits = p->bits, y->def->text = p->text;
        map_put(&map, result(p, 0), 0, y);
    }
    for (int i = 0; i < o->n_args; i++) {
        Val *v = map_get(&map, arg(from->last, i), 0);
        out[i] = v ? v : filled(b, arg(from->last, i), slice);
    }
}

static bool
is_neutral(const Op *o)
{
    uint64_t bits;
    for (int i = 0; i < o->n_args; i++)
        if (!neutral_value(o, i, &bits))
            return false;
    return true;
}

/* The same of what came before the slice, if anything did. */
static void
go_on(Loop *l, Build *b, const Op *o, Val *const *sums, Val *const *x, Val **out)
{
    combine(b, o, sums, x, out);
    if (is_neutral(o))
        return;
    Val *i = l->op->regions[0]->args[0];
    Val *is_first = ir_bin(b, OP_EQ, i, ir_const_int(b, i->type, 0));
    for (int j = 0; j < o->n_args; j++)
        out[j] = ir_op1(b, OP_SELECT, 3,
                        (Val *[]){filled(b, is_first, x[j]->type), x[j], out[j]},
                        x[j]->type);
}

/* What a slice's scan gives beside its results. */
static const Type *
total_type(const Cut *k, const Op *o, int i)
{
    const Type *t = chunk_type(k, result(o, i));
    int axis = (int)ir_attr(o, ATTR_AXIS);
    const Type *r = ty_without(k->c, t, axis);
    return r->rank ? ty_with_layout(k->c, r, layouts_slice(k->c, t->layout, axis)) : r;
}

/* A total in front of each element along the axis. */
static Val *
along(Build *b, const Op *o, Val *total, const Type *slice)
{
    Comp *c = b->f->c;
    const Type *t = total->type;
    int axis = (int)ir_attr(o, ATTR_AXIS);
    if (!t->rank)
        return filled(b, total, slice);
    const Layout *l = layout_expand(c, t->layout, axis);
    t = ty_with_layout(c, ty_with_side(c, ty_with_elem(c, slice, t->elem), axis, 1), l);
    Val *x = ir_op1(b, OP_EXPAND, 1, &total, t);
    ir_set_attr(x->def, ATTR_AXIS, axis);
    return ir_op1(b, OP_BROADCAST, 1, &x, slice);
}

/* A slice of o's results, o being a scan along what is cut. */
static void
scan_on(Loops *w, Loop *l, Build *b, const Op *o, Val *const *sums, Val *const *x,
        Val **out)
{
    Cut *k = w->k;
    int n = o->n_args;
    const Type **types = NEW_N(k->a, const Type *, 2 * n);
    Val **before = NEW_N(k->a, Val *, n), **y = NEW_N(k->a, Val *, n);
    for (int i = 0; i < n; i++) {
        types[i] = x[i]->type, types[n + i] = total_type(k, o, i);
        before[i] = along(b, o, sums[i], types[i]);
    }
    Op *s = ir_op(b, OP_SCAN, n, x, 2 * n, types);
    memcpy(s->attr, o->attr, sizeof s->attr);
    ir_clone_region(k->f, s, o, 0, &l->slice);
    go_on(l, b, o, before, s->results, y);
    for (int i = 0; i < n; i++)
        map_put(&l->slice, result(o, i), 0, y[i]);
    go_on(l, b, o, sums, s->results + n, out);
}

/* How many values the loop carries on of s. */
static int
n_carried(const Step *s)
{
    if (s->o->op == OP_HISTOGRAM)
        return s->is_sum;
    return s->is_sum || s->is_carry ? s->o->n_args : 0;
}

static const Type *
carried_type(const Cut *k, const Step *s, int i)
{
    if (s->o->op == OP_HISTOGRAM)
        return result(s->o, 0)->type;
    return s->is_sum ? chunk_type(k, arg(s->o, i)) : total_type(k, s->o, i);
}

/* What the loop carries on of s, whose first sum is argument `first` of the body. */
static void
add_up(Loops *w, Loop *l, Build *b, const Step *s, int first, Val **out)
{
    const Op *o = s->o;
    Val **sums = l->op->regions[0]->args + first,
        **x = NEW_N(w->k->a, Val *, o->n_args);
    for (int i = 0; i < o->n_args; i++)
        x[i] = slice_of(w, l, b, arg(o, i));
    if (o->op == OP_HISTOGRAM)
        out[0] = ir_bin(b, OP_ADD, sums[0], result(ir_clone(b, o, &l->slice), 0));
    else if (s->is_carry)
        scan_on(w, l, b, o, sums, x, out);
    else
        go_on(l, b, o, sums, x, out);
}

/* ---- building ---------------------------------------------------------------------------- */

typedef VEC(Val *) Vals;

static void
open_loop(Loops *w, Loop *l, Build *b)
{
    Cut *k = w->k;
    Vals in = {0};
    VEC(const Type *) types = {0};
    for (int i = 0; i < 3; i++)
        PUSH(k->a, &in,
             ir_const_int(b, scalar_i32(k),
                          i == 0   ? 0
                          : i == 1 ? 1 << k->log2
                                   : 1));
    for (int i = 0; i < k->steps.n; i++) {
        const Step *s = k->steps.at[i];
        const Op *o = s->o;
        uint64_t bits = 0;
        for (int j = 0; l->holds[i] && j < n_carried(s); j++) {
            const Type *t = carried_type(k, s, j);
            if (o->op != OP_HISTOGRAM && is_neutral(o))
                neutral_value(o, j, &bits);
            PUSH(k->a, &in, ir_const_bits(b, t, bits));
            PUSH(k->a, &types, t);
        }
    }
    l->op = ir_op(b, OP_FOR, in.n, in.at, types.n, types.at);
    Block *body = ir_block(k->f, l->op);
    ir_block_arg(body, scalar_i32(k), "slice");
    for (int i = 0; i < types.n; i++)
        ir_block_arg(body, types.at[i], NULL);
}

static void
keep_slices(Loops *w, Loop *l, Build *b, const Step *s)
{
    for (int i = 0; i < s->o->n_results && is_in(l, s); i++) {
        const Kept *y = map_get(&w->kept_of, result(s->o, i), 0);
        Val *args[] = {y ? y->local : NULL, l->number,
                       map_get(&l->slice, result(s->o, i), 0)};
        if (y)
            ir_op(b, OP_LOCAL_STORE, 3, args, 0, NULL);
    }
}

/* A reverse scan goes from the last slice to the first. */
static void
number_slice(const Cut *k, Loop *l, Build *b)
{
    l->number = l->op->regions[0]->args[0];
    for (int i = 0; i < k->steps.n; i++) {
        const Step *s = k->steps.at[i];
        if (!l->holds[i] || !s->is_carry || !ir_attr(s->o, ATTR_REVERSE))
            continue;
        Val *last = ir_const_int(b, l->number->type, (1 << k->log2) - 1);
        l->number = ir_bin(b, OP_SUB, last, l->number);
        return;
    }
}

static void
fill_loop(Loops *w, Loop *l)
{
    Cut *k = w->k;
    Build b = {.f = k->f, .block = l->op->regions[0], .loc = l->op->loc};
    Vals next = {0};
    number_slice(k, l, &b);
    for (int i = 0; i < k->steps.n; i++) {
        const Step *s = k->steps.at[i];
        if (!l->holds[i])
            continue;
        b.loc = s->o->loc;
        if (n_carried(s)) {
            Val **out = NEW_N(k->a, Val *, s->o->n_args);
            add_up(w, l, &b, s, 1 + next.n, out);
            for (int j = 0; j < n_carried(s); j++)
                PUSH(k->a, &next, out[j]);
        } else {
            copy_op(w, l, &b, s);
        }
        if (!s->is_sum)
            keep_slices(w, l, &b, s);
    }
    ir_op(&b, OP_YIELD, next.n, next.at, 0, NULL);
    EACH_OP(o, b.block)
        for (int i = 0; i < o->n_results; i++)
            if (k->slack == SLACK_MOVES && has_many_registers(result(o, i)))
                ir_set_attr(l->op, ATTR_SLICES, true);
}

/* Behind the loop its sums are reduced as the whole block was. */
static void
finish_sums(Loops *w, Loop *l, Op *end)
{
    Cut *k = w->k;
    for (int i = 0, n = 0; i < k->steps.n; i++) {
        Step *s = k->steps.at[i];
        if (!l->holds[i])
            continue;
        if (s->o->op == OP_HISTOGRAM && s->is_sum)
            ir_replace(result(s->o, 0), result(l->op, n));
        for (int j = 0; s->o->op != OP_HISTOGRAM && j < s->o->n_args && s->is_sum; j++)
            ir_set_arg(s->o, j, result(l->op, n + j));
        n += n_carried(s);
        if (s->is_sum)
            ir_move_before(s->o, end);
    }
}

static void
build_loop(Loops *w, Loop *l, Build *b)
{
    Cut *k = w->k;
    for (int i = 0; i < w->kept.n; i++) {
        Kept *y = w->kept.at[i];
        if (y->block == l->block && y->level == l->level)
            y->local = ir_op1(b, OP_LOCAL_ALLOC, 0, NULL, local_type(k, y->v));
    }
    open_loop(w, l, b);
    fill_loop(w, l);
    finish_sums(w, l, b->before);
}

static Loop *
loop_at(const Loops *w, const Block *block, int level)
{
    for (int i = 0; i < w->all.n; i++)
        if (w->all.at[i]->block == block && w->all.at[i]->level == level)
            return w->all.at[i];
    return NULL;
}

static bool
is_empty(const Loops *w, const Loop *l)
{
    for (int i = 0; i < w->k->steps.n; i++)
        if (l->holds[i])
            return false;
    return true;
}

/* The ops of b by levels: those that are not cut, then the loop. */
static void
build_block(Loops *w, Block *b)
{
    Cut *k = w->k;
    int most = 0, first = w->k->steps.n, last = 0;
    has_level(k, b, 0, &most);
    for (int i = 0; i < k->steps.n; i++)
        if (k->steps.at[i]->o->block == b) {
            first = MIN(first, i);
            last = MAX(last, i);
        }
    Op *end = b->last;
    for (int level = 0; level <= most; level++) {
        for (int i = first; i < last; i++) {
            const Step *s = k->steps.at[i];
            if (s->o->block == b && s->is_whole && s->whole_level == level)
                ir_move_before(s->o, end);
        }
        Loop *l = loop_at(w, b, level);
        Build at = {.f = k->f, .block = b, .before = end, .loc = end->loc};
        if (l && !is_empty(w, l)) {
            for (int i = 0; i < k->steps.n; i++)
                if (l->holds[i])
                    at.loc = k->steps.at[i]->o->loc;
            build_loop(w, l, &at);
        }
    }
    for (int i = first; i <= last; i++) {
        const Step *s = k->steps.at[i];
        for (int r = 0; s->o->block == b && r < s->o->n_regions; r++)
            if (op_has(s->o, OPF_CONTROL))
                build_block(w, s->o->regions[r]);
    }
}

void
chunk_loops(Cut *k)
{
    Loops w = {.k = k, .kept_of.a = k->a, .cost = NEW_N(k->a, int, k->steps.n)};
    find_loops(&w, k->f->body);
    build_block(&w, k->f->body);
    for (int i = k->steps.n; i-- > 0;)
        if (k->steps.at[i]->is_cut && !k->steps.at[i]->is_whole &&
            (!k->steps.at[i]->is_sum || k->steps.at[i]->o->op == OP_HISTOGRAM))
            ir_erase(k->steps.at[i]->o);
}
