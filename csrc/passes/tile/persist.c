/* persist: blocks of threads that fill the chip run a kernel's programs in turn.
 *
 *     %m = program_id {axis=0}           for %t = block_id .. %programs step num_blocks {
 *     %n = program_id {axis=1}             %m = %t % %width
 *     for k { .. dot .. }           =>     %n = %t / %width
 *     map_store ..                         for k { .. dot .. }
 *                                          map_store ..
 *                                        }
 *
 * The warps that bring tiles are then a program ahead: they fill the ring for the next one while the
 * others store, and no program waits for a block to begin. %programs is of the user's grid, which
 * becomes a parameter (Binary.blocks); the launch's own is as many blocks as the chip holds.
 *
 * Rule 1: programs wait for nothing of each other: a function with tensor maps has no such access
 *         (tile_refusal).
 * Rule 2: all programs take about as long, or of chained products as long as a straight line over axis 0 says
 *         (causal attention). Else the hardware deals programs better than turns do.
 * Rule 3: products take few bytes for their time. Those of small tiles wait for L2, and blocks in turns
 *         drift apart and share less of what is there. bf16 of 8192^3 on an H200, in turns and without, by
 *         bytes a clock that the products would take: 64x64 (128) 313 and 336 TFLOP/s, 128x64 (96)
 *         430 and 443; of 4096^3, 64x128 (96) 638 and 500. A block that is alone on its multiprocessor takes turns all
 *         the same, as nobody else's loads run while it stores: 64x256x64 of 4096^3 by a factor of 64
 *         columns, of Triton, 1.41 and 0.97.
 * Rule 4: there are more programs than multiprocessors. 64x128x64 of 1024^3, 128 programs: 11.9 us
 *         and 10.4.
 * Rule 5: tiles of rows that begin amid lines of L2 are better brought by neighbours, each half of one
 *         for both. bf16 of 2040^3 on an H100, in turns and by neighbours, us: 128x128x64 50.3 and
 *         40.9, 64x128x64 70.8 and 51.0. Neighbours that are both in turn are better still, but that asks for a first side that
 *         is even: by 128x256x64 3000^3 94.9 and 90.0, 4088^3 188.8 and 185.1. It is no gain for tiles of more bytes: 64x128x64
 *         (96 a clock) of 4088^3 340 and 350, of 3000^3 157 and 152.
 *
 * Rule 6: of chained products a block is alone on its multiprocessor. Where two are, one's products run while the other
 *         begins and stores. Attention by 128x128 and 8 warps on an H100, of cuDNN in turn and without, 16 heads of 8192
 *         keys and 256 heads of 512: D = 64 1.11 and 1.07, 1.10 and 0.83; causal 1.19 and 1.10, 0.96 and 0.85; D = 128
 *         1.09 and 1.09, 0.99 and 0.85; causal 1.25 and 1.15, 0.88 and 0.89.
 *
 * Where one tile goes by axis 0 of the grid and the other by axis 1, turns go in bands of BAND programs along
 * axis 0: those that run at a time read fewer tiles, as in groups that a kernel makes itself
 * (8192^3 by 128x128: 132 programs read 64 + 3 tiles of a step along axis 0, 8 + 17 in bands; of e4m3 1130 and
 * 1485 TFLOP/s on an H100).
 *
 * Where time goes by axis 0, a block takes programs in pairs, one from each end of a row, which take as long as any
 * other pair, row by row, so that those which run at a time share what they read. The last rows are left for
 * the end, where programs go by themselves, the longest first, in rounds that turn round: a pair
 * too much would keep the others waiting. Counted for 111 grids of causal attention (4 to 128 programs by 8 to 256
 * rows, 132 blocks), the last block ends at 1.03 of the mean (at most 1.14); by the hardware, which takes the
 * programs in their order, at 1.18 (at most 1.71).
 */
#include "passes/passes.h"

enum { AXES = 3, BAND = 8 /* programs */ };

/* ---- is it worth it? --------------------------------------------------------------------- */

static void
need_same_products(Same *s, const Block *b)
{
    EACH_OP(o, b)
        if (o->op == OP_DOT)
            need_same_around(s, o->block);
}

/* Does a loop's product take more bytes of tiles than so many a clock of a multiprocessor? */
static bool
takes_more(Func *f, const Block *b, int fast)
{
    int64_t bytes = 0;
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_regions; i++)
            if (takes_more(f, o->regions[i], fast))
                return true;
        if (roles_bring(f, o))
            bytes += ty_numel(result(o, 0)->type) * ty_bytes(result(o, 0)->type);
    }
    return bytes > fast * product_clocks(b) && b->owner;
}

/* Do neighbours bring tiles by halves (pair_blocks.c), which each in its turn does not? */
static bool
bring_halves(Func *f)
{
    /* Bytes of tiles a clock; less is there in time, though rows begin amid lines. 4104^3 by
     * 128x256x64, 48 bytes a clock, on an H100: 332 us in turn, 305 by halves. */
    enum { SPLIT = 45 };
    size_t n = 0;
    int n_dots = 0;
    bool are_split = true;
    FactTable *facts = facts_new(f);
    const char *asked = option_text(f->c->option_texts, "multicast=", &n);
    if ((n && asked[0] == '0') || !takes_more(f, f->body, SPLIT))
        return false;
    EACH_OP(o, f->body) {
        n_dots += o->op == OP_DOT;
        are_split &= !roles_bring(f, o) || map_splits_lines(facts, arg(o, 0)->def);
    }
    return are_split && n_dots == 1 && all_have_neighbours(f, f->body);
}

/* Do products take as long in every program, up to the number along these axes? */
static bool
take_as_long(Func *f, unsigned axes)
{
    Same s = {.seen = {.a = f->c->arena}, .axes = axes};
    need_same_products(&s, f->body);
    return !s.differs;
}

enum { ANY = 2 }; /* slopes are -1, 0, 1, or that */

static int
both(int a, int b)
{
    return !b || a == b ? a : a ? ANY : b;
}

static int
against(int a)
{
    return a == ANY ? ANY : -a;
}

/* Does v grow with the program's number along axis 0, or shrink? */
static int
slope_of(const Val *v, int depth)
{
    enum { DEPTH = 24 };
    const Op *o = v->def;
    int64_t c;
    if (!o)
        return v->block->owner ? ANY : 0;
    if (o->op == OP_PROGRAM_ID)
        return ir_attr(o, ATTR_AXIS) == 0;
    if (depth == DEPTH || o->n_regions || !op_has(o, OPF_PURE))
        return ANY;
    int all = 0, at[2] = {0};
    for (int i = 0; i < o->n_args; i++) {
        int s = slope_of(arg(o, i), depth + 1);
        if (i < 2)
            at[i] = s;
        all = both(all, s);
    }
    if (o->op == OP_ADD || o->op == OP_MIN || o->op == OP_MAX || o->op == OP_CAST)
        return all;
    if (o->op == OP_SUB)
        return both(at[0], against(at[1]));
    if ((o->op == OP_MUL || o->op == OP_DIV) && !at[1] &&
        ir_const_as_int(arg(o, 1), &c))
        return c > 0 ? at[0] : against(at[0]);
    return all ? ANY : 0;
}

/* The same of how often loops around products run. Loops whose both ends move are as long everywhere. */
static int
slope_of_products(const Func *f)
{
    int slope = 0;
    EACH_OP(o, f->body)
        for (const Op *l = o->op == OP_DOT ? o->block->owner : NULL; l;
             l = l->block->owner) {
            int low = l->op == OP_FOR ? slope_of(arg(l, 0), 0) : ANY,
                high = low == ANY ? ANY : slope_of(arg(l, 1), 0);
            slope = both(slope, low == high && low != ANY ? 0 : low ? ANY : high);
        }
    return slope;
}

/* Why the launch's grid is the user's; NULL: blocks run programs in turn. */
static const char *
refusal(Func *f)
{
    enum { FAST = 100 /* L2 gives no more */, FAST_BY_HALVES = 80 };
    size_t n = 0;
    const char *asked = option_text(f->c->option_texts, "persistent=", &n);
    if (n && asked[0] == '0')
        return "persistent=0";
    if (!n && has_chained_dot(f->body) && roles_blocks(f).with > 1)
        return "its products are chained, and a second block's run while one begins or ends";
    if (!take_as_long(f, 0) && !(has_chained_dot(f->body) && take_as_long(f, 1) &&
                                 slope_of_products(f) != ANY))
        return "how long a product takes depends on the program";
    if (!n && takes_more(f, f->body, FAST) && roles_leave_room(f))
        return "its tiles are small, and L2 is faster for blocks that the hardware deals";
    if (!n && bring_halves(f) &&
        (takes_more(f, f->body, FAST_BY_HALVES) || !hopper_grid_is(f, GRID_EVEN)))
        return "neighbours bring tiles by halves, as rows do not begin at lines of L2";
    return !n && hopper_grid_is(f, GRID_FEW)
               ? "the launch has a multiprocessor for every program"
               : NULL;
}

/* ---- the order -------------------------------------------------------------------------- */

/* Does where a tile lies depend on a program's number along `axis` and axis 2 alone? */
static bool
goes_by(Func *f, const Op *load, int axis)
{
    Same s = {.seen = {.a = f->c->arena}, .axes = 1U << axis | 1U << 2};
    for (int i = 1; i < load->n_args; i++)
        need_same(&s, arg(load, i));
    return !s.differs;
}

/* Does each tile go by axis 0 or by axis 1, and one by each? */
static bool
is_plane(Func *f)
{
    int n[2] = {0};
    EACH_OP(o, f->body) {
        if (!roles_bring(f, o))
            continue;
        bool by_first = goes_by(f, o, 0), by_second = goes_by(f, o, 1);
        if (!by_first && !by_second)
            return false;
        n[0] += by_first && !by_second;
        n[1] += by_second && !by_first;
    }
    return n[0] && n[1];
}

/* ---- the loop ---------------------------------------------------------------------------- */

static void
stay(Map *front, const Op *o)
{
    if (map_get(front, o, 0))
        return;
    map_put(front, o, 0, (void *)o);
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->def)
            stay(front, arg(o, i)->def);
}

void
stay_in_front(const Func *f, Map *front)
{
    for (const Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_RING_ALLOC || o->op == OP_TENSOR_MAP || o->op == OP_LAUNCH_TEST)
            stay(front, o);
}

static Val *
number_of(Build *b, OpCode op, int axis)
{
    const Type *t = ty_scalar(b->f->c, E_I32);
    Op *o = ir_op(b, op, 0, NULL, 1, &t);
    if (op == OP_NUM_PROGRAMS)
        ir_set_attr(o, ATTR_AXIS, axis);
    return result(o, 0);
}

/* How many programs there are. Steps of a loop beyond the last stay below 2^31, too: no launch has
 * as many blocks as that leaves. */
static Val *
count_programs(Build *b, Val *const side[AXES])
{
    enum { MOST = INT32_MAX - (1 << 20) };
    Val *all = ir_cast(b, side[0], E_I64);
    for (int i = 1; i < AXES; i++)
        all = ir_bin(b, OP_MUL, all, ir_cast(b, side[i], E_I64));
    Val *ok = ir_bin(b, OP_LE, all, ir_const_int(b, all->type, MOST));
    ir_op(b, OP_LAUNCH_TEST, 1, &ok, 0, NULL);
    return ir_cast(b, all, E_I32);
}

static void
replace_ids(Block *b, Val *const id[AXES])
{
    EACH_OP(o, b)
        if (o->op == OP_PROGRAM_ID)
            ir_replace(result(o, 0), id[ir_attr(o, ATTR_AXIS)]);
}

/* Moves what does not stay in front, from op `first` on, into the loop's body. */
static void
move_into(Op *loop, Op *first, const Map *front)
{
    for (Op *o = first, *next; o != loop; o = next) {
        next = o->next;
        if (!map_get(front, o, 0))
            ir_move_before(o, loop->regions[0]->last);
    }
}

/* The same in bands of so many along axis 0, which are as long as axis 1. */
static void
divide_in_bands(Build *b, Val *t, Val *const side[AXES], Val *id[AXES])
{
    Val *band = ir_const_int(b, t->type, BAND),
        *plane = ir_bin(b, OP_MUL, side[0], side[1]),
        *whole = ir_bin(b, OP_MUL, band, side[1]), *at = ir_bin(b, OP_REM, t, plane);
    id[2] = ir_bin(b, OP_DIV, t, plane);
    Val *first = ir_bin(b, OP_MUL, ir_bin(b, OP_DIV, at, whole), band),
        *width = ir_bin(b, OP_MIN, ir_bin(b, OP_SUB, side[0], first), band);
    at = ir_bin(b, OP_REM, at, whole);
    id[0] = ir_bin(b, OP_ADD, first, ir_bin(b, OP_REM, at, width));
    id[1] = ir_bin(b, OP_DIV, at, width);
}

/* The program's number along each axis, of its number t among all. */
static void
divide(Build *b, Val *t, Val *const side[AXES], Val *id[AXES])
{
    Val *rest = ir_bin(b, OP_DIV, t, side[0]);
    id[0] = ir_bin(b, OP_REM, t, side[0]);
    id[1] = ir_bin(b, OP_REM, rest, side[1]);
    id[2] = ir_bin(b, OP_DIV, rest, side[1]);
}

/* The numbers that deal programs whose time goes by axis 0, with `side` programs along it, `rows` beside. */
typedef struct Deal {
    Val *half, *is_odd;   /* pairs of a row; its middle is left over */
    Val *first, *singles; /* rows whose programs go by pairs, and by themselves */
    Val *pairs, *mine;    /* of all, of this block */
    Val *round;           /* the first one with singles */
    Val *steps;           /* of this block */
} Deal;

static Val *
number(Build *b, int n)
{
    return ir_const_i32(b, n);
}

/* Where this block stands in the round: from the second round of singles on it turns round each time. */
static Val *
place_in_round(Build *b, const Deal *d, Val *const block[2], Val *round)
{
    Val *one = number(b, 1), *behind = ir_bin(b, OP_SUB, round, d->round),
        *odd = ir_bin(b, OP_AND, behind, one), *last = ir_bin(b, OP_SUB, block[1], one),
        *turned = ir_bin(b, OP_SUB, last, block[0]);
    return ir_select(b, ir_bin(b, OP_EQ, odd, one), turned, block[0]);
}

static Deal
deal_by_time(Build *b, Val *side, Val *rows, Val *const block[2])
{
    enum { ROUNDS = 4 /* of singles */ };
    Deal d;
    Val *one = number(b, 1), *zero = number(b, 0);
    d.half = ir_bin(b, OP_DIV, side, number(b, 2));
    d.is_odd = ir_bin(b, OP_AND, side, one);
    Val *some = ir_bin(b, OP_MUL, block[1], number(b, ROUNDS)),
        *up = ir_bin(b, OP_SUB, ir_bin(b, OP_ADD, some, side), one);
    d.singles = ir_bin(b, OP_MIN, rows,
                       ir_bin(b, OP_DIV, up, ir_bin(b, OP_MAX, side, one)));
    d.first = ir_bin(b, OP_SUB, rows, d.singles);
    d.pairs = ir_bin(b, OP_MUL, d.first, d.half);
    up = ir_bin(b, OP_ADD, d.pairs, block[1]);
    up = ir_bin(b, OP_SUB, up, ir_bin(b, OP_ADD, block[0], one));
    d.mine = ir_bin(b, OP_DIV, up, block[1]);
    d.round = ir_bin(b, OP_DIV, d.pairs, block[1]);
    Val *middles = ir_bin(b, OP_MUL, d.is_odd, rows),
        *both = ir_bin(b, OP_MUL, d.half, number(b, 2)),
        *many = ir_bin(b, OP_MUL, d.singles, both),
        *others = ir_bin(b, OP_ADD, d.pairs, middles),
        *all = ir_bin(b, OP_ADD, many, others),
        *whole = ir_bin(b, OP_DIV, all, block[1]),
        *rest = ir_bin(b, OP_REM, all, block[1]),
        *is_there = ir_bin(b, OP_LT, place_in_round(b, &d, block, whole), rest),
        *rounds = ir_bin(b, OP_ADD, whole, ir_select(b, is_there, one, zero));
    d.steps = ir_bin(b, OP_ADD, d.mine, rounds);
    return d;
}

/* The program of step t: along axis 0, and its row. */
static void
program_of(Build *b, const Deal *d, Val *t, Val *side, Val *rows, Val *const block[2],
           Val *id[2])
{
    Val *one = number(b, 1), *half = ir_bin(b, OP_MAX, d->half, one);
    Val *pair = ir_bin(b, OP_ADD,
                       ir_bin(b, OP_MUL, ir_bin(b, OP_DIV, t, number(b, 2)), block[1]),
                       block[0]),
        *i = ir_bin(b, OP_REM, pair, half),
        *other = ir_bin(b, OP_SUB, ir_bin(b, OP_SUB, side, one), i),
        *is_other = ir_bin(b, OP_EQ, ir_bin(b, OP_AND, t, one), one);
    Val *of_pair[2], *single[2];
    of_pair[0] = ir_select(b, is_other, other, i);
    of_pair[1] = ir_bin(b, OP_DIV, pair, half);
    Val *round = ir_bin(b, OP_SUB, t, d->mine),
        *place = place_in_round(b, d, block, round),
        *at = ir_bin(b, OP_ADD, ir_bin(b, OP_MUL, round, block[1]), place);
    at = ir_bin(b, OP_SUB, at, d->pairs);
    Val *many = ir_bin(b, OP_MUL, d->singles, d->half),
        *middles = ir_bin(b, OP_MUL, d->is_odd, rows),
        *past = ir_bin(b, OP_SUB, at, many), *behind = ir_bin(b, OP_SUB, past, middles),
        *is_early = ir_bin(b, OP_LT, at, many),
        *is_middle = ir_bin(b, OP_LT, past, middles),
        *here = ir_select(b, is_early, at, behind),
        *step = ir_bin(b, OP_DIV, here, d->singles),
        *row = ir_bin(b, OP_ADD, d->first, ir_bin(b, OP_REM, here, d->singles)),
        *late = ir_bin(b, OP_ADD, ir_bin(b, OP_SUB, side, d->half), step);
    single[0] = ir_select(b, is_early, step, ir_select(b, is_middle, d->half, late));
    single[1] = ir_select(b, is_early, row, ir_select(b, is_middle, past, row));
    Val *is_pair = ir_bin(b, OP_LT, t, ir_bin(b, OP_MUL, d->mine, number(b, 2)));
    for (int k = 0; k < 2; k++)
        id[k] = ir_select(b, is_pair, of_pair[k], single[k]);
}

/* A loop over bounds, the first, the end and the step; b goes on inside of it. Gives its index. */
static Val *
open_loop(Build *b, Val **bounds, Op **loop)
{
    Func *f = b->f;
    *loop = ir_op(b, OP_FOR, 3, bounds, 0, NULL);
    ir_set_attr(*loop, ATTR_STAGES, 1);
    *b = (Build){.f = f, .block = ir_block(f, *loop), .loc = f->loc};
    return ir_block_arg(b->block, bounds[0]->type, NULL);
}

static void
run_by_time(Func *f, bool is_last_long)
{
    Op *first = f->body->first, *end = f->body->last;
    Map front = {.a = f->c->arena};
    stay_in_front(f, &front);
    Build b = {.f = f, .block = f->body, .before = first, .loc = f->loc};
    Val *side[AXES], *id[AXES];
    for (int i = 0; i < AXES; i++)
        side[i] = number_of(&b, OP_NUM_PROGRAMS, i);
    (void)count_programs(&b, side);
    Val *block[] = {number_of(&b, OP_BLOCK_ID, 0), number_of(&b, OP_NUM_BLOCKS, 0)};
    Val *rows = ir_bin(&b, OP_MUL, side[1], side[2]);
    Deal d = deal_by_time(&b, side[0], rows, block);
    Val *bounds[] = {block[0], ir_bin(&b, OP_MUL, d.steps, block[1]), block[1]};
    b.before = end; /* behind what stays in front */
    Op *loop;
    Val *t = open_loop(&b, bounds, &loop), *at[2];
    program_of(&b, &d, ir_bin(&b, OP_DIV, t, block[1]), side[0], rows, block, at);
    id[0] = at[0];
    if (is_last_long)
        id[0] = ir_bin(&b, OP_SUB, ir_bin(&b, OP_SUB, side[0], number(&b, 1)), at[0]);
    id[1] = ir_bin(&b, OP_REM, at[1], side[1]);
    id[2] = ir_bin(&b, OP_DIV, at[1], side[1]);
    ir_yield(b.block, f->loc);
    move_into(loop, first, &front);
    replace_ids(b.block, id);
}

static void
run_in_turn(Func *f, bool in_bands)
{
    Op *first = f->body->first, *end = f->body->last;
    Map front = {.a = f->c->arena};
    stay_in_front(f, &front);
    Build b = {.f = f, .block = f->body, .before = first, .loc = f->loc};
    Val *side[AXES], *id[AXES];
    for (int i = 0; i < AXES; i++)
        side[i] = number_of(&b, OP_NUM_PROGRAMS, i);
    Val *bounds[] = {number_of(&b, OP_BLOCK_ID, 0), count_programs(&b, side),
                     number_of(&b, OP_NUM_BLOCKS, 0)};
    b.before = end; /* behind what stays in front */
    Op *loop;
    Val *t = open_loop(&b, bounds, &loop);
    (in_bands ? divide_in_bands : divide)(&b, t, side, id);
    ir_yield(b.block, f->loc);
    move_into(loop, first, &front);
    replace_ids(b.block, id);
}

void
pass_persist(Func *f)
{
    if (!hopper_plan(f).has_maps || roles_refusal(f))
        return;
    RolesBlocks blocks = roles_blocks(f);
    ir_report(f, f->loc, "blocks",
              str_printf(f->c->arena, "%d with warps that bring tiles, %d without",
                         blocks.with, blocks.without));
    const char *why = refusal(f);
    bool by_time = !why && !take_as_long(f, 0),
         in_bands = !why && !by_time && is_plane(f);
    if (by_time)
        run_by_time(f, slope_of_products(f) > 0);
    else if (!why)
        run_in_turn(f, in_bands);
    ir_report(f, f->loc, "programs",
              why ? str_printf(f->c->arena, "not in turn: %s", why)
                  : str_printf(f->c->arena,
                               "in turn, on as many blocks as the chip holds%s",
                               in_bands  ? ", in bands of 8 along axis 0"
                               : by_time ? ", a long one and a short one"
                                         : ""));
}
