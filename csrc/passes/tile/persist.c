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
 * Rule 2: all programs take about as long. Where a loop around a product depends on the program, as
 *         in causal attention, the hardware deals programs better than turns do.
 * Rule 3: products take few bytes for their time. Those of small tiles wait for L2, and blocks in turns
 *         drift apart and share less of what is there. bf16 of 8192^3 on an H200, in turns and without, by
 *         bytes a clock that the products would take: 64x64 (128) 313 and 336 TFLOP/s, 128x64 (96)
 *         430 and 443; of 4096^3, 64x128 (96) 638 and 500.
 * Rule 4: there are more programs than multiprocessors. 64x128x64 of 1024^3, 128 programs: 11.9 us
 *         and 10.4.
 * Rule 5: tiles of rows that begin amid lines of L2 are better brought by neighbours, each half of one
 *         for both. bf16 of 2040^3 on an H100, in turns and by neighbours, us: 128x128x64 50.3 and
 *         40.9, 64x128x64 70.8 and 51.0.
 *
 * Where one tile goes by axis 0 of the grid and the other by axis 1, turns go in bands of BAND programs along
 * axis 0: those that run at a time read fewer tiles, as in groups that a kernel makes itself
 * (8192^3 by 128x128: 132 programs read 64 + 3 tiles of a step along axis 0, 8 + 17 in bands; of e4m3 1130 and
 * 1485 TFLOP/s on an H100).
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

/* Why the launch's grid is the user's; NULL: blocks run programs in turn. */
static const char *
refusal(Func *f)
{
    enum { FAST = 100 }; /* L2 gives no more */
    size_t n = 0;
    const char *asked = option_text(f->c->option_texts, "persistent=", &n);
    if (n && asked[0] == '0')
        return "persistent=0";
    if (!n && has_chained_dot(f->body))
        return "programs of chained products are better dealt by the hardware";
    Same s = {.seen = {.a = f->c->arena}};
    need_same_products(&s, f->body);
    if (s.differs)
        return "how long a product takes depends on the program";
    if (!n && takes_more(f, f->body, FAST))
        return "its tiles are small, and L2 is faster for blocks that the hardware deals";
    if (!n && bring_halves(f))
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
    Op *loop = ir_op(&b, OP_FOR, COUNT(bounds), bounds, 0, NULL);
    ir_set_attr(loop, ATTR_STAGES, 1);
    b = (Build){.f = f, .block = ir_block(f, loop), .loc = f->loc};
    Val *t = ir_block_arg(b.block, bounds[0]->type, NULL);
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
    bool in_bands = !why && is_plane(f);
    if (!why)
        run_in_turn(f, in_bands);
    ir_report(f, f->loc, "programs",
              why ? str_printf(f->c->arena, "not in turn: %s", why)
                  : str_printf(f->c->arena,
                               "in turn, on as many blocks as the chip holds%s",
                               in_bands ? ", in bands of 8 along axis 0" : ""));
}
