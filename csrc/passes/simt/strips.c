/* strips: the last programs of a launch are taken by several blocks each, a strip of columns a block.
 *
 *     %id = program_id                    %block = program_id
 *     ..                                  %id, %s = the block's program, and where its strip begins
 *     %r = for k {                        %few = is a strip all of it, or all that is inside?
 *       tma_load A, i, k                  %v = if %few {
 *       tma_load B, k, j                    %r = for k {
 *       tma_load B, k, j + 64      =>         tma_load A, i, k
 *       mma_start [128, 128]                  tma_load B, k, j + %s
 *     }                                       mma_start [128, 64]
 *     %v = mma_wait %r                      }
 *     map_store C, i, j, %v                 %w = mma_wait %r
 *                                           yield %w
 *                                         } else { as on the left }
 *                                         for p .. %pieces { map_store C, i, j + %s, %stage, p, %v }
 *
 * A chip of 132 multiprocessors takes 153 programs in two rounds, and in the second one 111 multiprocessors
 * have nothing to do. By strips of a quarter the second round is 84 blocks. bf16 on an H100 by
 * 128x256x64, us, without strips, with them, cuBLAS (whose tiles have any size): 2304^3 51.6, 41.7, 41.7; 3072^3 98.5,
 * 82.0, 78.0; 4352^3 224, 214, 215; of 32 programs alone, 1024^3 16.4, 11.1, 9.2.
 *
 * Where the hardware deals programs, blocks 0 .. whole - 1 take a program each, and each program behind takes as many blocks as it has
 * strips; how many these are is said by the launch (with_strips in cuda_launch.c). The first block of a
 * program behind has an even number, so neighbours are two whole programs or two strips of one, and
 * may bring tiles for each other (pair_blocks): strips of one program read the same tile of A.
 *
 * Where programs run in turn (persist), the loop ends with the last whole round, and a copy of its body, behind it, is the strip's:
 *
 *     for %t = %block .. %programs step %blocks {     for %t = %block .. %whole step %blocks { .. }
 *       ..                                            if (%block < (%programs - %whole) * n) {
 *     }                                          =>     .. of program %whole + %block / n, strip %block % n
 *                                                     }
 *
 * Its tiles come by the same rings, so they are on their way before the block has stored what its last program gave. If a round
 * has no room for all strips, the loop runs all programs.
 *
 * Rule 1: programs in turn are stored late (late_stores), and a strip's store has the same stage.
 * Rule 2: each column of the product is stored in that column of the tensor and is of no other use, and
 *         nothing that differs from column to column goes into it.
 * Rule 3: B lies along its columns and comes by several boxes, of which a strip is one or more; or it lies along K and
 *         comes by one box, of which a strip is some lines.
 * Rule 4: a program does nothing that anybody could see twice, but for its one store.
 * Rule 5: few programs are left behind whole rounds, or there are few at all, so a launch of others has no such code: at most a quarter of a
 *         round goes by four strips, at most half of one by two.
 */
#include "passes/simt/sums.h"

typedef struct Strips {
    Func *f;
    Block *team, *filler;
    Op *turns
        [2]; /* of the team and the filler: programs in turn; NULL: the hardware deals them */
    Op *loop, *start, *wait, *store; /* the team's */
    Op *last;                        /* of what goes into branches */
    Op *announce;                    /* the filler's, of bytes, in its loop */
    Op *load[MAX_BOXES];             /* of B, in the order of columns */
    int boxes;                       /* of B, loads */
    int dim;                         /* of B's map that counts columns */
    int n, columns;                  /* strips, and of each */
} Strips;

/* ---- finding ----------------------------------------------------------------------------- */

/* Rule 3. */
static bool
find_boxes(Strips *s)
{
    const Op *view = arg(s->start, 1)->def;
    int perm[MAX_RANK];
    if (!view || view->op != OP_SHARED_VIEW)
        return false;
    perm_unpack(2, ir_attr(view, ATTR_PERM), perm);
    EACH_OP(o, s->filler) {
        if (o->op == OP_MBAR_ARRIVE && s->announce)
            return false;
        if (o->op == OP_MBAR_ARRIVE)
            s->announce = o;
        if (o->op != OP_TMA_LOAD || arg(o, 1) != arg(view, 0))
            continue;
        if (s->boxes == MAX_BOXES || !s->announce || o->block != s->announce->block)
            return false;
        s->load[s->boxes++] = o;
    }
    if (!s->boxes || !s->announce->block->owner)
        return false;
    bool is_along_k = perm[0];
    s->dim = s->load[0]->n_args - 4 - (is_along_k ? 2 : 1);
    return is_along_k ? s->boxes == 1 : s->boxes > 1;
}

/* Where a box of B begins. */
static Val *
column_of_load(const Strips *s, const Op *load)
{
    return arg(load, 4 + s->dim);
}

/* How many columns a box of B has. */
static int
box_columns(const Strips *s)
{
    return box_side(ir_attr(arg(s->load[0], 0)->def, ATTR_BOX), s->dim);
}

/* Do the store's first pieces have the first strip? */
static bool
has_pieces(const Strips *s)
{
    if (!may_have_stage(s->store))
        return false;
    TileForm form = tile_form(s->store);
    StoreStage g = store_stage(s->store);
    if (form.rank != 2 || form.lead || g.pieces % s->n)
        return false;
    for (int i = 0; i < form.n_boxes / s->n; i++) {
        int32_t at[MAX_RANK];
        tile_form_at(&form, i, at);
        if (at[1] + form.box[1] > s->columns)
            return false;
    }
    return true;
}

/* A strip is of one box or more. */
static bool
cut(Strips *s, int n)
{
    int all = s->boxes * box_columns(s);
    if (all != result(s->start, 0)->type->shape[1])
        return false;
    s->n = s->boxes > 1 ? MIN(n, s->boxes) : n;
    for (; s->n > 1; s->n /= 2) {
        s->columns = all / s->n;
        if (has_pieces(s))
            return true;
    }
    return false;
}

/* Nothing but the wait's result is of use behind the end. */
static bool
find_end(Strips *s)
{
    s->wait = wait_for_sums(s->loop, &s->last);
    return s->wait && (s->turns[0] || !is_used_behind_sums(s->loop, s->wait, s->last));
}

static Val *
column_of_store(const Strips *s)
{
    return arg(s->store, 2);
}

/* Rules 2 and 4. */
static bool
find_store(Strips *s)
{
    s->store = only_op(s->team, OP_MAP_STORE);
    if (!s->store || ir_store_stage(s->store) || s->store->n_args != 4)
        return false;
    for (const Op *o = s->store; o->block != s->loop->block; o = o->block->owner)
        if (o->block == s->team || o->block->owner->op != OP_IF)
            return false;
    return is_all_that_is_seen(s->store, s->team) &&
           is_of_sums(s->wait, arg(s->store, 3), 0) &&
           is_stored_alone(s->store, result(s->wait, 0), 0) &&
           computes_same(column_of_store(s), column_of_load(s, s->load[0]), 0);
}

/* Rule 1, and may the launch have more blocks than programs? */
static bool
may_deal(const Strips *s)
{
    const Func *f = s->f;
    size_t n = 0;
    const char *asked = option_text(f->c->option_texts, "persistent=", &n);
    if (s->turns[0])
        return s->turns[1] && may_store_late(s->f, s->team);
    return !(n && asked[0] == '0') && ir_shares(f) == 1 &&
           ir_blocks(f) == BLOCKS_AS_PROGRAMS && !f->c->opt.launch_cooperative_grid;
}

/* The loop of programs in turn; NULL: there is none. */
static Op *
find_turns(const Block *role)
{
    for (Op *o = role->first; o; o = o->next)
        if (op_is_programs_loop(o))
            return o;
    return NULL;
}

static bool
find(Strips *s)
{
    Func *f = s->f;
    s->start = only_op(s->team, OP_MMA_START);
    s->turns[0] = find_turns(s->team);
    s->turns[1] = find_turns(s->filler);
    if (!may_deal(s) || !s->start)
        return false;
    const Block *body = s->turns[0] ? s->turns[0]->regions[0] : s->team;
    s->loop = s->start->block->owner;
    uint8_t sides[MAX_RANK];
    const Type *t = result(s->start, 0)->type;
    ty_log2_shape(t, sides);
    return s->loop && s->loop->op == OP_FOR && s->loop->block == body &&
           ir_attr(s->start, ATTR_SIDES) == 0 &&
           t->layout == layout_wgmma_acc(f->c, sides, log2_of(f->team_warps), 0) &&
           find_boxes(s) && find_end(s) && find_store(s);
}

/* ---- building ---------------------------------------------------------------------------- */

static Val *
i32(Build *b, int n)
{
    return ir_const_i32(b, n);
}

/* The program of a block, and where in its tile the block's columns begin; is_strip: they are a strip. */
typedef struct Deal {
    Val *program, *column, *is_strip;
} Deal;

static Deal
deal(Build *b, int n, int columns)
{
    const Type *t = ty_scalar(b->f->c, E_I32);
    Val *block = ir_op1(b, OP_PROGRAM_ID, 0, NULL, t),
        *programs = ir_op1(b, OP_NUM_PROGRAMS, 0, NULL, t),
        *blocks = ir_op1(b, OP_NUM_BLOCKS, 0, NULL, t), *zero = i32(b, 0),
        *strips = i32(b, n), /* blocks are whole + n (programs - whole) */
            *more = ir_bin(b, OP_DIV, ir_bin(b, OP_SUB, blocks, programs),
                           i32(b, n - 1)),
        *whole = ir_bin(b, OP_SUB, programs, more),
        *behind = ir_bin(b, OP_SUB, block, whole);
    Deal d = {.is_strip = ir_bin(b, OP_GE, behind, zero)};
    Val *program = ir_bin(b, OP_ADD, whole, ir_bin(b, OP_DIV, behind, strips)),
        *column = ir_bin(b, OP_MUL, ir_bin(b, OP_REM, behind, strips), i32(b, columns));
    d.program = ir_select(b, d.is_strip, program, block);
    d.column = ir_select(b, d.is_strip, column, zero);
    return d;
}

/* The role takes the programs that the launch has dealt its block. */
static Deal
deal_programs(const Strips *s, Block *role)
{
    Build b = {.f = s->f, .block = role, .before = role->first, .loc = s->f->loc};
    VEC(Op *) old = {0};
    EACH_OP(o, role)
        if (o->op == OP_PROGRAM_ID && !ir_attr(o, ATTR_AXIS))
            PUSH(s->f->c->arena, &old, o);
    Deal d = deal(&b, s->n, s->columns);
    for (int i = 0; i < old.n; i++)
        ir_replace(result(old.at[i], 0), d.program);
    return d;
}

/* v, computed at b. */
static Val *
compute(Build *b, Val *v, Map *copy)
{
    if (!v->def || map_get(copy, v, 0))
        return v->def ? map_get(copy, v, 0) : v;
    for (int i = 0; i < v->def->n_args; i++)
        compute(b, arg(v->def, i), copy);
    return result(ir_clone(b, v->def, copy), v->index);
}

/* i1: is there one strip to do of a tile that begins in column j? */
static Val *
is_few(const Strips *s, Build *b, const Deal *d, Val *j)
{
    Map copy = {.a = s->f->c->arena};
    const Op *map = arg(s->store, 0)->def;
    Val *size = arg(map, map->n_args / 2),
        *from = ir_cast(b, compute(b, j, &copy), E_I64),
        *left = ir_bin(b, OP_SUB, size, from);
    left = ir_bin(b, OP_LE, left, ir_const_int(b, left->type, s->columns));
    return ir_bin(b, OP_OR, d->is_strip, left);
}

/* Fewer bytes come for a strip. */
static void
announce_less(const Strips *s, Op *announce)
{
    const Op *map = arg(s->load[0], 0)->def;
    int64_t tile = s->boxes * elem_info[arg(map, 0)->type->elem].bytes;
    for (int i = 0; i < map->n_args / 2; i++)
        tile *= box_side(ir_attr(map, ATTR_BOX), i);
    ir_set_attr(announce, ATTR_BYTES,
                ir_attr(announce, ATTR_BYTES) - (tile - tile / s->n));
}

/* How many boxes of B a strip has. */
static int
strip_boxes(const Strips *s)
{
    return MAX(s->boxes / s->n, 1);
}

/* The map of B for boxes of a strip at most. */
static Val *
map_of_strip(const Strips *s)
{
    Op *map = arg(s->load[0], 0)->def;
    int box = box_columns(s);
    if (box <= s->columns)
        return result(map, 0);
    Build b = ir_behind(map);
    Map none = {.a = s->f->c->arena};
    map = ir_clone(&b, map, &none);
    ir_set_attr(map, ATTR_BOX,
                ir_attr(map, ATTR_BOX) -
                    ((int64_t)(box - s->columns) << (BOX_BITS * s->dim)));
    return result(map, 0);
}

/* Such a load brings that box of the strip that begins so many columns further on. */
static void
bring_strip(const Strips *s, Build *b, Op *load, Val *column, Val *map)
{
    Val *from = column_of_load(s, load);
    ir_set_arg(load, 4 + s->dim, ir_bin(b, OP_ADD, from, column));
    ir_set_arg(load, 0, map);
}

/* In the filler's loop: slots get what the strip wants, or the whole tile. */
static void
fill_strip(const Strips *s, Val *few, Val *column)
{
    Build b = ir_before(s->announce);
    Op *o = ir_op(&b, OP_IF, 1, &few, 0, NULL);
    Block *strip = ir_block(s->f, o), *all = ir_block(s->f, o);
    ir_yield(all, b.loc);
    b.before = o;
    Build in = {.f = s->f, .block = strip, .loc = b.loc};
    Map copy = {.a = s->f->c->arena};
    Val *map = map_of_strip(s);
    announce_less(s, ir_clone(&in, s->announce, &copy));
    for (int i = 0; i < s->boxes; i++) /* their places may be computed further down */
        for (int d = 4; d < s->load[i]->n_args; d++)
            ir_set_arg(s->load[i], d, compute(&b, arg(s->load[i], d), &copy));
    for (int i = 0; i < strip_boxes(s); i++) {
        Op *load = ir_clone(&in, s->load[i], &copy);
        Build at = ir_before(load);
        bring_strip(s, &at, load, column, map);
    }
    ir_yield(strip, b.loc);
    ir_move_before(s->announce, all->last);
    for (int i = 0; i < s->boxes; i++)
        ir_move_before(s->load[i], all->last);
}

static void
mark_strip(const Strips *s, Op *loop)
{
    ir_set_attr(loop, ATTR_LOOP,
                ir_attr(loop, ATTR_LOOP) | (int64_t)LOOP_STRIPS * s->n);
}

/* The product is of a strip's columns alone. */
static void
narrow(const Strips *s, Op *start)
{
    DotSides sides = dot_sides(start);
    sides.n = s->columns;
    dot_set_sides(start, sides);
}

/* The team multiplies what is there. */
static void
multiply_strip(const Strips *s, Val *few)
{
    Build b = ir_before(s->loop);
    const Type *t = result(s->wait, 0)->type;
    Op *o = ir_op(&b, OP_IF, 1, &few, 1, &t);
    Block *strip = ir_block(s->f, o), *all = ir_block(s->f, o);
    Build in = {.f = s->f, .block = strip, .loc = b.loc},
          other = {.f = s->f, .block = all, .loc = b.loc};
    Map copy = {.a = s->f->c->arena};
    Op *end = s->last->next, *loop = ir_clone(&in, s->loop, &copy);
    for (Op *p = s->loop->next; p != end; p = p->next)
        ir_clone(&in, p, &copy);
    narrow(s, only_op(loop->regions[0], OP_MMA_START));
    mark_strip(s, loop);
    Val *v = result(s->wait, 0), *w = map_get(&copy, v, 0);
    ir_op(&in, OP_YIELD, 1, &w, 0, NULL);
    ir_replace(v, result(o, 0));
    Op *yield = ir_op(&other, OP_YIELD, 1, &v, 0, NULL);
    for (Op *p = s->loop, *next; p != end; p = next) {
        next = p->next;
        ir_move_before(p, yield);
    }
}

/* The first of so many pieces of `store`, where its strip is in the tensor. */
static void
store_strip(const Strips *s, Op *store, Val *pieces, Val *column)
{
    Val *stage = alloc_stage(store, s->team->first);
    Build b = ir_before(store);
    Val *what[] = {arg(store, 1), ir_bin(&b, OP_ADD, arg(store, 2), column),
                   arg(store, 3)};
    store_pieces(&b, store, what, stage, ir_const_i32(&b, 0), pieces);
    ir_erase(store);
}

/* ---- programs in turn -------------------------------------------------------------------- */

/* The filler's copy of a program brings a strip. */
static void
fill_strip_alone(const Strips *s, Block *strip, Val *column)
{
    Op *load[MAX_BOXES];
    int n = 0;
    announce_less(s, only_op(strip, OP_MBAR_ARRIVE));
    EACH_OP(o, strip)
        if (o->op == OP_TMA_LOAD && arg(o, 1) == arg(s->load[0], 1))
            load[n++] = o;
    for (int i = strip_boxes(s); i < n; i++)
        ir_erase(load[i]);
    Val *map = map_of_strip(s);
    for (int i = 0; i < strip_boxes(s); i++) {
        Build b = ir_before(load[i]);
        bring_strip(s, &b, load[i], column, map);
    }
}

/* Takes the programs behind whole rounds out of the loop, if a round holds all their strips, and deals those. */
static Deal
deal_behind(const Strips *s, Op *turns)
{
    Build b = ir_before(turns);
    Val *block = arg(turns, 0), *programs = arg(turns, 1), *blocks = arg(turns, 2),
        *n = i32(&b, s->n), *rest = ir_bin(&b, OP_REM, programs, blocks),
        *strips = ir_bin(&b, OP_MUL, rest, n),
        *fits = ir_bin(&b, OP_LE, strips, blocks),
        *behind = ir_select(&b, fits, rest, i32(&b, 0)),
        *whole = ir_bin(&b, OP_SUB, programs, behind);
    ir_set_arg(turns, 1, whole);
    Val *column = ir_bin(&b, OP_REM, block, n);
    return (Deal){
        .program = ir_bin(&b, OP_ADD, whole, ir_bin(&b, OP_DIV, block, n)),
        .column = ir_bin(&b, OP_MUL, column, i32(&b, s->columns)),
        .is_strip = ir_bin(&b, OP_LT, block, ir_bin(&b, OP_MUL, behind, n)),
    };
}

/* What `turns` does for a program, behind the loop, where this block has a strip. */
static Block *
copy_behind(const Strips *s, Op *turns, const Deal *d)
{
    Build b = ir_behind(turns);
    b.loc = s->f->loc;
    const Block *body = turns->regions[0];
    Map copy = {.a = s->f->c->arena};
    Val *cond = d->is_strip;
    Block *strip = ir_block(s->f, ir_op(&b, OP_IF, 1, &cond, 0, NULL));
    map_put(&copy, body->args[0], 0, d->program);
    for (int i = 0; i < turns->n_results; i++)
        map_put(&copy, body->args[1 + i], 0, result(turns, i));
    Build in = {.f = s->f, .block = strip, .loc = b.loc};
    for (const Op *o = body->first; o != body->last; o = o->next) {
        Op *here = ir_clone(&in, o, &copy);
        if (here->op == OP_FOR)
            mark_strip(s, here);
    }
    ir_yield(strip, b.loc);
    return strip;
}

static void
strips_behind(const Strips *s)
{
    Deal d = deal_behind(s, s->turns[1]);
    fill_strip_alone(s, copy_behind(s, s->turns[1], &d), d.column);
    d = deal_behind(s, s->turns[0]);
    Block *strip = copy_behind(s, s->turns[0], &d);
    narrow(s, only_op(strip, OP_MMA_START));
    Op *store = only_op(strip, OP_MAP_STORE);
    Build b = ir_before(store);
    store_strip(s, store, i32(&b, store_stage(store).pieces / s->n), d.column);
}

/* ---- programs that the hardware deals ---------------------------------------------------- */

static void
strips_dealt(const Strips *s)
{
    Deal d = deal_programs(s, s->filler);
    Build b = ir_before(s->announce->block->owner);
    fill_strip(s, is_few(s, &b, &d, column_of_load(s, s->load[0])), d.column);
    d = deal_programs(s, s->team);
    b = ir_before(s->loop);
    Val *few = is_few(s, &b, &d, column_of_store(s));
    multiply_strip(s, few);
    b = ir_before(s->store);
    int pieces = store_stage(s->store).pieces;
    store_strip(s, s->store,
                ir_select(&b, few, i32(&b, pieces / s->n), i32(&b, pieces)), d.column);
}

static void
by_strips(Func *f, const Op *roles)
{
    Strips s = {.f = f, .team = roles->regions[0], .filler = roles->regions[1]};
    if (!find(&s))
        return;
    if (!s.turns[0] && !hopper_grid_is(f, GRID_ROW))
        return;
    int strips = hopper_grid_is(f, GRID_QUARTER) ? 4
                 : hopper_grid_is(f, GRID_HALF)  ? 2
                                                 : 0;
    if (!strips || !cut(&s, strips))
        return;
    ir_report(f, f->loc, "programs",
              str_printf(f->c->arena,
                         "of the last round by %d strips of %d columns each", s.n,
                         s.columns));
    (s.turns[0] ? strips_behind : strips_dealt)(&s);
}

void
pass_strips(Func *f)
{
    for (Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_ROLES)
            by_strips(f, o);
}
