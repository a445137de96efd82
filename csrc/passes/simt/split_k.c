/* split_k: blocks of a cluster share a program's loop over K, each an equal part of its iterations.
 *
 *     ring_alloc                       ring_alloc {ctas=4}
 *     for k = 0 .. n {                 for k = n * rank / 4 .. n * (rank + 1) / 4 {
 *       tma_load A, i, k                 tma_load A, i, k
 *       tma_load B, k, j                 tma_load B, k, j
 *       mma_start [128, 128]     =>      mma_start [128, 128]
 *     }                                }
 *     %v = mma_wait                    %w = mma_wait
 *                                      %v = reduce_scatter %w, ring       [128, 32]
 *     map_store C, i, j, cast %v       map_store C, i, j + 32 * rank, cast %v
 *
 * Programs that are few leave most multiprocessors without work. By strips (strips.c) each block would bring all rows
 * of A for few columns; by parts of K each brings what it alone reads.
 *
 * What a block has at the end of its loop it writes into the shared memory of those who add: rank r gets the columns of
 * its part of the tile from all, in the ring's slots, which nobody fills any more (reduce_scatter.c). The sum is in the
 * order of ranks, so a launch gives the same bits each time; they are others than those of one block.
 *
 * Rule 1: the loop does nothing but multiply tiles and add; what it carries besides are slots, and steps of the
 *         places of tiles, which begin anew where the block's part does.
 * Rule 2: what the product goes through before it is stored is computed element by element, of numbers.
 * Rule 3: a program does nothing that anybody could see twice, but for its one store.
 * Rule 4: slots have room for a tile of sums.
 */
#include "passes/simt/sums.h"

enum { MAX_DEPTH = 24, LEAST_COLUMNS = 16 };

typedef struct Split {
    Func *f;
    Block *team, *filler;
    Op *loop, *fill; /* the team's, the filler's */
    Op *start, *wait, *store, *ring;
    Op *last; /* of what has to do with slots, behind the loop */
    int n;    /* blocks of a program */
} Split;

/* ---- finding ----------------------------------------------------------------------------- */

/* Is o one that a loop of products, or of those who bring tiles, may have? */
static bool
is_of_products(const Op *o)
{
    if (o->op == OP_LOAD)
        return !result(o, 0)->type->rank;
    return is_of_ring(o) || o->op == OP_SHARED_VIEW || o->op == OP_MMA_START ||
           o->op == OP_MMA_WAIT ||
           (!o->n_regions && (op_has(o, OPF_PURE) || op_has(o, OPF_TERM)));
}

static bool
has_products_alone(const Op *loop)
{
    int64_t step;
    for (const Op *o = loop->regions[0]->first; o; o = o->next)
        if (!is_of_products(o))
            return false;
    return loop->regions[0]->args[0]->type == ty_scalar(loop->block->func->c, E_I32) &&
           ir_const_as_int(arg(loop, 2), &step) && step > 0;
}

/* Which of what a loop counts and carries goes into values. */
typedef struct Reach {
    const Block *body;
    Map seen;
} Reach;

static void
reach(Reach *r, const Val *v)
{
    if (map_get(&r->seen, v, 0))
        return;
    map_put(&r->seen, v, 0, (void *)v);
    const Op *o = v->def;
    if (o && o->block == r->body)
        for (int i = 0; i < o->n_args; i++)
            reach(r, arg(o, i));
    if (!o && v->block == r->body && v->index)
        reach(r, arg(r->body->last, v->index - 1));
}

static bool
has_reached(const Reach *r, const Val *v)
{
    return map_get(&r->seen, v, 0) != NULL;
}

/* What slots are named by, and where tiles are. */
static void
reach_all(Block *body, Reach *slots, Reach *places)
{
    *slots = *places = (Reach){.body = body, .seen = {.a = body->func->c->arena}};
    for (const Op *o = body->first; o; o = o->next)
        for (int i = 0; i < o->n_args && is_of_ring(o); i++)
            reach(o->op == OP_TMA_LOAD && i >= 4 ? places : slots, arg(o, i));
}

/* By how much a loop's carried value grows in each iteration; NULL: not by the same. */
static Val *
step_of(const Block *body, const Val *v)
{
    const Op *o = arg(body->last, v->index - 1)->def;
    for (int i = 0; o && o->op == OP_ADD && i < 2; i++)
        if (arg(o, i) == v && is_defined_outside(arg(o, !i), body))
            return arg(o, !i);
    return NULL;
}

/* Rule 1. Who knows which iteration it is names tiles alone, and what is carried names either slots or tiles. */
static bool
may_begin_anew(const Op *loop)
{
    Reach slots, places;
    Block *body = loop->regions[0];
    reach_all(body, &slots, &places);
    for (int i = 0; i < body->n_args; i++) {
        const Val *v = body->args[i];
        bool is_place = has_reached(&places, v), is_slot = has_reached(&slots, v);
        if (i && is_place && !step_of(body, v))
            return false;
        if (is_slot && (is_place || !i))
            return false;
    }
    return true;
}

/* Do sums begin at zero, and is nothing else carried that is a block? */
static bool
begins_at_zero(const Split *s)
{
    const Block *body = s->loop->regions[0];
    int n = 0;
    for (int i = 1; i < body->n_args; i++) {
        const Val *v = arg(s->loop, 2 + i);
        if (!v->type->rank)
            continue;
        while (v->def && v->def->op == OP_MMA_OPEN)
            v = arg(v->def, 0);
        if (!ir_is_zero(v))
            return false;
        n++;
    }
    return n == 1;
}

static bool
find_end(Split *s)
{
    s->wait = wait_for_sums(s->loop, &s->last);
    return s->wait && !is_used_behind_sums(s->loop, s->wait, s->last);
}

/* Rules 2 and 3. */
static bool
find_store(Split *s)
{
    s->store = only_op(s->team, OP_MAP_STORE);
    if (!s->store || ir_store_stage(s->store))
        return false;
    for (const Op *o = s->store; o->block != s->team; o = o->block->owner)
        if (o->block->owner->op != OP_IF || o->block->owner->n_regions > 1)
            return false;
    return is_all_that_is_seen(s->store, s->team) && tile_form(s->store).lead == 0 &&
           is_of_sums(s->wait, arg(s->store, s->store->n_args - 1), 0) &&
           is_stored_alone(s->store, result(s->wait, 0), 0);
}

/* The loop that holds all that brings tiles. */
static bool
find_fill(Split *s)
{
    EACH_OP(o, s->filler)
        if (is_of_ring(o)) {
            s->fill = s->fill ? s->fill : o->block->owner;
            if (o->block->owner != s->fill)
                return false;
        }
    if (!s->fill || s->fill->op != OP_FOR || s->fill->block != s->filler ||
        !has_products_alone(s->fill) || !may_begin_anew(s->fill))
        return false;
    for (int i = 0; i < 3; i++)
        if (!computes_same(arg(s->fill, i), arg(s->loop, i), 0))
            return false;
    return true;
}

/* Are all slots the loop's, and is there room for the sums (rule 4)? */
static bool
find_ring(Split *s)
{
    s->ring = only_op(s->f->body, OP_RING_ALLOC);
    const Type *t = result(s->wait, 0)->type;
    if (!s->ring || ring_bytes(s->ring, s->ring->n_results - 2) < 4 * ty_numel(t))
        return false;
    EACH_OP(o, s->team) {
        bool is_in = o->block == s->loop->regions[0] || o->block == s->team;
        if ((is_of_ring(o) || o->op == OP_SHARED_VIEW || o->op == OP_MMA_START) &&
            !is_in)
            return false;
    }
    return true;
}

static bool
find(Split *s)
{
    Func *f = s->f;
    size_t n = 0;
    const char *asked = option_text(f->c->option_texts, "persistent=", &n);
    s->start = only_op(s->team, OP_MMA_START);
    if ((n && asked[0] == '0') || ir_blocks(f) != BLOCKS_AS_PROGRAMS ||
        f->c->opt.launch_cooperative_grid || !s->start)
        return false;
    s->loop = s->start->block->owner;
    if (!s->loop || s->loop->op != OP_FOR || s->loop->block != s->team ||
        !has_products_alone(s->loop) || !may_begin_anew(s->loop) ||
        !begins_at_zero(s) || !find_end(s) || !find_store(s) || !find_fill(s) ||
        !find_ring(s))
        return false;
    uint8_t sides[MAX_RANK];
    const Type *t = result(s->wait, 0)->type;
    ty_log2_shape(t, sides);
    return (t->elem == E_F32 || t->elem == E_I32) &&
           t->layout == layout_wgmma_acc(f->c, sides, log2_of(f->team_warps), 0);
}

/* ---- how many ---------------------------------------------------------------------------- */

/* As the option says; 0: it does not. */
static int
shares_asked(const Func *f)
{
    size_t n = 0;
    const char *asked = option_text(f->c->option_texts, "split_k=", &n);
    int k = n == 1 ? asked[0] - '0' : 0;
    return k == 1 || k == 2 || k == 4 || k == MAX_SHARES ? k : 0;
}

/* What v is at least, by what is known of the launch; -1: nothing is. No sum is taken to wrap. */
static int64_t
least(Func *f, const Val *v, int depth)
{
    const Op *o = v->def;
    int64_t x, y;
    if (ir_const_as_int(v, &x))
        return MAX(x, -1);
    if (!o)
        return !v->block->owner && ir_ask(f, v, FACT_LARGE) ? LARGE_INTEGER : -1;
    if (depth == MAX_DEPTH || !o->n_args || o->n_args > 2 || !op_has(o, OPF_PURE) ||
        o->n_regions)
        return -1;
    x = least(f, arg(o, 0), depth + 1);
    y = o->n_args > 1 && x >= 0 ? least(f, arg(o, 1), depth + 1) : 0;
    bool is_by_const = o->n_args > 1 && arg(o, 1)->def &&
                       arg(o, 1)->def->op == OP_CONST;
    if (x < 0 || y < 0)
        return -1;
    if (o->op == OP_CAST)
        return x;
    if (o->op == OP_ADD)
        return x + y;
    if (o->op == OP_MUL)
        return x * y;
    if (o->op == OP_MIN)
        return MIN(x, y);
    if (o->op == OP_MAX)
        return MAX(x, y);
    if (o->op == OP_SUB && is_by_const)
        return MAX(x - y, 0);
    return o->op == OP_DIV && is_by_const && y > 0 ? x / y : -1;
}

/* Where each program has so many blocks, do these fill more than half of the chip? */
static bool
fills_chip(const Split *s, int blocks)
{
    return hopper_grid_is(s->f, GRID_HALF)
               ? blocks >= 2
               : !hopper_grid_is(s->f, GRID_EIGHTH) && blocks >= 4;
}

/* Of an iteration with a strip of the columns: what tensor cores take, or L2, which gives a multiprocessor fewer bytes
 * in a clock where all ask. */
static int64_t
clocks_of(const Split *s, int strips, int blocks)
{
    enum { L2_BYTES = 44, L2_BYTES_OF_ALL = 28 };
    int64_t bytes = 0;
    for (const Op *o = s->loop->regions[0]->first; o; o = o->next)
        for (int i = 0; o->op == OP_MMA_START && i < 2; i++) {
            const Type *t = arg(o, i)->type;
            bytes += ty_numel(t) * ty_bytes(t) / (i ? strips : 1);
        }
    int64_t products = product_clocks(s->loop->regions[0]) / strips;
    return MAX(products, bytes / (fills_chip(s, blocks) ? L2_BYTES_OF_ALL : L2_BYTES));
}

/* What the blocks of a program take behind their loops, in clocks. Measured on an H100: 128x128 by two, four and eight
 * blocks 1000, 2400 and 3600, 128x256 by eight 7800. */
static int64_t
exchange_clocks(const Split *s, int log2_blocks)
{
    enum {
        MEET = 600,
        BYTES = 100 /* of a tile in a clock, each time blocks double */
    };
    return log2_blocks * (MEET + 4 * ty_numel(result(s->wait, 0)->type) / BYTES);
}

/* Into how many the tile's columns may be cut instead (strips.c): by whole lines of B. */
static int
most_strips(const Split *s)
{
    enum { LINE = 128 };
    const Type *b = arg(s->start, 1)->type;
    return MAX(b->shape[1] * ty_bytes(b) / LINE, 1);
}

/* By count. More programs than these leave no room for clusters of so many: chips have parts of 16 to 18
 * multiprocessors, each of which holds whole clusters. */
static int
best_shares(const Split *s)
{
    static const unsigned room[] = {GRID_FEW, GRID_HALF | GRID_QUARTER, GRID_EIGHTH,
                                    GRID_SIXTEENTH};
    Func *f = s->f;
    if (!hopper_grid_is(f, GRID_FEW) || !hopper_grid_is(f, GRID_HALF | GRID_QUARTER))
        return 1;
    int64_t step = 1, from = 0;
    ir_const_as_int(arg(s->loop, 2), &step);
    if (!ir_const_as_int(arg(s->loop, 0), &from))
        return 1;
    int64_t times = (least(f, arg(s->loop, 1), 0) - from) / step;
    int strips = MIN(hopper_grid_is(f, GRID_QUARTER) ? 4 : 2, most_strips(s)), best = 1;
    int64_t fewest = times * clocks_of(s, strips, strips);
    for (int i = 1; i < (int)COUNT(room) && times > 0; i++) {
        int n = 1 << i;
        int64_t clocks = times * clocks_of(s, 1, n) / n + exchange_clocks(s, i);
        if (clocks < fewest && hopper_grid_is(f, room[i]))
            fewest = clocks, best = n;
    }
    return best;
}

/* 1: nobody shares. */
static int
shares(Split *s)
{
    int asked = shares_asked(s->f), columns = result(s->wait, 0)->type->shape[1],
        n = asked ? asked : best_shares(s);
    while (n > 1 && columns / n < LEAST_COLUMNS)
        n /= 2;
    return n;
}

/* ---- building ---------------------------------------------------------------------------- */

static Val *
i32(Build *b, int n)
{
    return ir_const_i32(b, n);
}

static Val *
rank_of_block(Build *b)
{
    return ir_op1(b, OP_CLUSTER_RANK, 0, NULL, ty_scalar(b->f->c, E_I32));
}

/* How many iterations a loop has, as i64. */
static Val *
count_iterations(Build *b, const Op *loop)
{
    Val *from = ir_cast(b, arg(loop, 0), E_I64), *to = ir_cast(b, arg(loop, 1), E_I64),
        *step = ir_cast(b, arg(loop, 2), E_I64), *one = ir_const_int(b, from->type, 1),
        *zero = ir_const_int(b, from->type, 0),
        *behind = ir_bin(b, OP_SUB, ir_bin(b, OP_SUB, to, from), one),
        *n = ir_bin(b, OP_ADD, ir_bin(b, OP_DIV, behind, step), one);
    return ir_select(b, ir_bin(b, OP_LT, from, to), n, zero);
}

/* The loop does its block's part of the iterations. The first ranks have one more where parts are not equal. Products
 * with the step wrap as the loop's own counter does; its end alone may be out of range. */
static void
take_part(const Split *s, Op *loop)
{
    Build b = ir_before(loop);
    Val *from = arg(loop, 0), *to = arg(loop, 1), *step = arg(loop, 2),
        *all = count_iterations(&b, loop),
        *rank = ir_cast(&b, rank_of_block(&b), E_I64),
        *n = ir_const_int(&b, rank->type, s->n), *one = ir_const_int(&b, rank->type, 1),
        *zero = ir_const_int(&b, rank->type, 0), *each = ir_bin(&b, OP_DIV, all, n),
        *more = ir_bin(&b, OP_REM, all, n),
        *begin = ir_bin(&b, OP_ADD, ir_bin(&b, OP_MUL, rank, each),
                        ir_bin(&b, OP_MIN, rank, more)),
        *has_more = ir_bin(&b, OP_LT, rank, more),
        *end = ir_bin(&b, OP_ADD, begin,
                      ir_bin(&b, OP_ADD, each, ir_select(&b, has_more, one, zero))),
        *is_last = ir_bin(&b, OP_EQ, end, all);
    Reach slots, places;
    Block *body = loop->regions[0];
    reach_all(body, &slots, &places);
    for (int i = 1; i < body->n_args; i++) {
        if (!has_reached(&places, body->args[i]))
            continue;
        Val *v = arg(loop, 2 + i), *by = step_of(body, body->args[i]),
            *times = ir_cast(&b, begin, v->type->elem);
        ir_set_arg(loop, 2 + i, ir_bin(&b, OP_ADD, v, ir_bin(&b, OP_MUL, times, by)));
    }
    begin = ir_bin(&b, OP_MUL, ir_cast(&b, begin, E_I32), step);
    end = ir_bin(&b, OP_MUL, ir_cast(&b, end, E_I32), step);
    ir_set_arg(loop, 0, ir_bin(&b, OP_ADD, from, begin));
    ir_set_arg(loop, 1, ir_select(&b, is_last, to, ir_bin(&b, OP_ADD, from, end)));
}

static const Type *
narrow_type(const Split *s, const Type *t)
{
    Comp *c = s->f->c;
    int32_t shape[] = {t->shape[0], t->shape[1] / s->n};
    uint8_t sides[MAX_RANK];
    const Type *r = ty_block(c, ty_element(c, t), 2, shape);
    ty_log2_shape(r, sides);
    return ty_with_layout(c, r,
                          layout_wgmma_acc(c, sides, log2_of(s->f->team_warps), 0));
}

/* What is computed of the product, of a rank's columns. */
static Val *
narrow(const Split *s, Build *b, Val *v, Map *copy)
{
    Val *known = map_get(copy, v, 0);
    if (known || !v->type->rank)
        return known ? known : v;
    for (int i = 0; i < v->def->n_args; i++)
        narrow(s, b, arg(v->def, i), copy);
    Val *r = result(ir_clone(b, v->def, copy), 0);
    r->type = narrow_type(s, v->type);
    return r;
}

/* A map of boxes that the store of fewer columns makes. */
static void
fit_map(Op *store)
{
    Op *map = arg(store, 0)->def;
    Build b = ir_behind(map);
    Map none = {.a = b.f->c->arena};
    map = ir_clone(&b, map, &none);
    ir_set_arg(store, 0, result(map, 0));
    TileForm form = tile_form(store);
    ir_set_attr(map, ATTR_BOX, tile_form_box(&form));
    ir_set_attr(map, ATTR_SWIZZLE, form.swizzle);
}

static void
split(const Split *s)
{
    ir_set_attr(s->ring, ATTR_CTAS, s->n);
    take_part(s, s->loop);
    take_part(s, s->fill);
    Build b = ir_behind(s->last);
    b.loc = s->start->loc;
    Val *all = result(s->wait, 0);
    Val *own = ir_op1(&b, OP_REDUCE_SCATTER, 2, (Val *[]){all, result(s->ring, 0)},
                      narrow_type(s, all->type));
    Map copy = {.a = s->f->c->arena};
    map_put(&copy, all, 0, own);
    b = ir_before(s->store);
    int last = s->store->n_args - 1;
    Val *v = arg(s->store, last);
    Val *column = ir_bin(&b, OP_MUL, rank_of_block(&b),
                         i32(&b, v->type->shape[1] / s->n));
    ir_set_arg(s->store, last - 1, ir_bin(&b, OP_ADD, arg(s->store, last - 1), column));
    ir_set_arg(s->store, last, narrow(s, &b, v, &copy));
    fit_map(s->store);
}

void
pass_split_k(Func *f)
{
    for (Op *o = f->body->first; o; o = o->next) {
        Split s = {.f = f};
        if (o->op != OP_ROLES)
            continue;
        s.team = o->regions[0];
        s.filler = o->regions[1];
        if (!find(&s))
            continue;
        s.n = shares(&s);
        if (s.n == 1)
            continue;
        ir_report(f, f->loc, "programs",
                  str_printf(f->c->arena, "of %d blocks each, which share its K", s.n));
        split(&s);
    }
}
