/* pair_blocks: two neighbouring programs bring a tile that both read by halves, each for both.
 *
 *     ring_alloc                      ring_alloc {pair=1}
 *     roles { .. } {                  roles { .. } {
 *       for k {                         %same = eq %n, (%n of the program whose number is %id ^ 1)
 *         mbar_wait empty               for k {
 *         mbar_arrive full {bytes}        mbar_wait empty             both programs are through
 *         tma_load A, m, k                mbar_arrive full {bytes}    of the whole tiles
 *         tma_load B, n, k                tma_load A, m, k
 *         tma_load B, n + 64, k     =>    if %same {
 *       }                                   if %second { tma_load B, n + 64, k {pair=1} }
 *     }                                     else { tma_load B, n, k {pair=1} }
 *                                         } else { tma_load B, n, k   tma_load B, n + 64, k }
 *                                       }
 *                                     }
 *
 * The thread blocks of programs 2 i and 2 i + 1 are a cluster then (roles.c). It saves reads of L2,
 * which is what products wait for where rows do not begin at lines of the cache: each line of a box lies
 * in two. bf16 by 64x128x64 on an H100: 1000^3 13.9 us without, 11.3 with (cuBLAS 11.6); 2040^3 70.8 and 51.0;
 * 1024^3, whose rows do, takes as long. Clusters of four and eight, of two by two and of four by two programs
 * were built and measured, and are no better: a chip of 132 multiprocessors holds fewer than 128 blocks of such
 * clusters, so 1000^3 took 15.5 us by four; 4104^3 by 128x256x64, which has more, 305 us by pairs and by four.
 *
 * Whether both want the same tile, each computes in front of its loops: where the tile lies for itself
 * and, from the neighbour's number, for the neighbour. A pair that wants two waits for each other all the
 * same, as its rings are a pair's, and each brings the whole of its own.
 *
 * Rule 1: all that decides how often slots are filled is the same in both programs, or one of a pair
 *         would wait for good.
 * Rule 2: a tile is shared where its place is the same for all programs along axis 0, or goes by
 *         quotients of their number alone: neighbours have the same quotient but where it steps. Of programs in turn
 *         that is the number of the one whose turn it is, and of strips behind them the block's.
 *         B's column is one in the order of groups (pid % (G * n) // rows), and A's row is one where
 *         programs go along rows (pid // n). Remainders differ. Where strips are dealt to blocks, strips of
 *         one program read the same rows of A, so each tile may be the same.
 * Rule 3: a tile of one box comes in two of half its lines, at least as many as a swizzle's period.
 * Rule 4: each program has a neighbour: the grid's first side is even, which the launch is asked. Then blocks that run
 *         programs in turn have as many as their neighbours, and as many strips. A launch that deals strips sees to it.
 *         Where the side is odd, the launch adds a spare block, which does what the last program does but for all
 *         that anybody could see:
 *
 *     %pid = program_id                 %block = program_id
 *                                  =>   %pid = min %block, (num_programs - 1)
 *     store ..                          if (lt %block, num_programs) { store .. }
 *
 *         That is written where what a program does to memory stands behind its products, and where
 *         one more along the first side costs little. num_programs stays the user's.
 */
#include "passes/passes.h"

enum { PERIOD = 8 /* lines */, MAX_STEPS = 256, OTHER_AXES = 2 | 4 };

/* One tile: the copies of its boxes, in order, which bring it to a slot. */
typedef struct Tile {
    Op *load[MAX_BOXES];
    int n;
} Tile;

typedef struct Pairs {
    Func *f;
    Block *filler;
    VEC(Tile *) tile; /* that pairs share */
    bool differs;     /* rule 1 is not kept */
    int pair;         /* what rings say: 2 with a spare block */
} Pairs;

/* ---- which tiles ------------------------------------------------------------------------- */

/* Is v the number of a program along axis 0, or of the block, whose neighbour has another one? */
static bool
is_program(const Val *v)
{
    const Op *o = v->def;
    return o ? o->op == OP_BLOCK_ID ||
                   (o->op == OP_PROGRAM_ID && !ir_attr(o, ATTR_AXIS))
             : is_programs_number(v);
}

typedef struct Slice {
    Map seen[2]; /* by is_quotient */
    int n;
    bool is_bad;
} Slice;

/* Looks whether v is computed of plain numbers, and of the program's number along axis 0 through
 * quotients alone. */
static void
need_quotients(Slice *s, const Val *v, bool is_quotient)
{
    const Op *o = v->def;
    if (!o) {
        s->is_bad |= v->block->owner && !(is_program(v) && is_quotient);
        return;
    }
    if (s->is_bad || map_get(&s->seen[is_quotient], o, 0))
        return;
    map_put(&s->seen[is_quotient], o, 0, (void *)o);
    s->is_bad = (is_program(v) && !is_quotient) || o->n_regions ||
                !op_has(o, OPF_PURE) || ++s->n > MAX_STEPS;
    for (int i = 0; i < o->n_args; i++)
        need_quotients(s, arg(o, i),
                       is_quotient || (!i && (o->op == OP_DIV || o->op == OP_SHR)));
}

/* Is v the same in all programs along axis 0? */
static bool
is_same(Arena *a, const Val *v)
{
    Same s = {.seen = {.a = a}, .axes = OTHER_AXES};
    need_same(&s, v);
    return !s.differs;
}

/* Rule 2, of a coordinate. Where it lies is computed in front of the loops (want_same), also of strips, whose programs'
 * numbers may go into it as they are. */
static bool
may_be_same(const Pairs *p, const Val *v)
{
    Arena *a = p->f->c->arena;
    if (is_same(a, v))
        return true;
    Slice s = {.seen = {{.a = a}, {.a = a}}};
    need_quotients(&s, v, ir_all_strips(p->f) && ir_blocks(p->f) != BLOCKS_IN_TURN);
    return !s.is_bad;
}

/* Where the lines of a box are counted: of the tensor's dims the last but one. */
static int
dim_of_lines(const Op *load)
{
    return load->n_args - 4 - 2;
}

/* Rule 3. */
static bool
can_halve(const Op *load)
{
    const Op *map = arg(load, 0)->def;
    return box_side(ir_attr(map, ATTR_BOX), dim_of_lines(load)) >= 2 * PERIOD;
}

static bool
can_share(const Pairs *p, const Tile *t)
{
    const Op *o = t->load[0];
    bool ok = t->n % 2 == 0 || can_halve(o);
    for (int i = 4; ok && i < o->n_args; i++)
        ok = may_be_same(p, arg(o, i));
    return ok;
}

/* The copies from `first` on that bring one tile. */
static Tile
tile_from(Op *first)
{
    Tile t = {0};
    for (Op *o = first; o && t.n < MAX_BOXES; o = o->next) {
        bool is_load = o->op == OP_TMA_LOAD;
        if (is_load && (arg(o, 1) != arg(first, 1) || arg(o, 2) != arg(first, 2)))
            break;
        if (is_load)
            t.load[t.n++] = o;
        else if (!op_has(o, OPF_PURE))
            break;
    }
    return t;
}

static void
find_tiles(Pairs *p, Block *b)
{
    for (Op *o = b->first; o && !p->differs; o = o->next) {
        for (int i = 0; i < o->n_regions; i++)
            find_tiles(p, o->regions[i]);
        if (o->op != OP_TMA_LOAD)
            continue;
        Same s = {.seen = {.a = p->f->c->arena}, .axes = OTHER_AXES};
        need_same_around(&s, b);
        p->differs = s.differs;
        Tile *t = NEW(p->f->c->arena, Tile);
        *t = tile_from(o);
        if (can_share(p, t))
            PUSH(p->f->c->arena, &p->tile, t);
        o = t->load[t->n - 1];
    }
}

/* ---- is it worth it? --------------------------------------------------------------------- */

static bool
has_one_product(const Block *b)
{
    int n = 0;
    EACH_OP(o, b)
        n += o->op == OP_MMA_START && !ir_strips(o->block->owner);
    return n == 1;
}

static bool
pays(Pairs *p, const Block *team)
{
    bool is_split = false;
    FactTable *facts = facts_new(p->f);
    for (int i = 0; i < p->tile.n; i++)
        is_split |= map_splits_lines(facts, arg(p->tile.at[i]->load[0], 0)->def);
    return is_split && has_one_product(team);
}

/* ---- building ---------------------------------------------------------------------------- */

/* v, computed again, as this program does it or as the other of the pair does. */
static Val *
compute(Build *b, Val *v, bool is_peer, Map *copy)
{
    Op *o = v->def;
    if (map_get(copy, v, 0) || (!o && !is_programs_number(v)))
        return o || is_programs_number(v) ? map_get(copy, v, 0) : v;
    for (int i = 0; o && i < o->n_args; i++)
        compute(b, arg(o, i), is_peer, copy);
    Val *n = o ? result(ir_clone(b, o, copy), v->index) : v;
    if (is_peer && is_program(v)) {
        n = ir_bin(b, OP_XOR, n, ir_const_int(b, n->type, 1));
        map_put(copy, v, 0, n);
    }
    return n;
}

/* Do both want the tile at the same place? NULL: they always do. */
static Val *
want_same(Build *b, const Tile *t)
{
    Val *all = NULL;
    Arena *a = b->f->c->arena;
    Map mine = {.a = a}, peers = {.a = a};
    for (int i = 4; i < t->load[0]->n_args; i++) {
        Val *v = arg(t->load[0], i);
        if (is_same(a, v))
            continue;
        Val *eq = ir_bin(b, OP_EQ, compute(b, v, false, &mine),
                         compute(b, v, true, &peers));
        all = all ? ir_bin(b, OP_AND, all, eq) : eq;
    }
    return all;
}

/* Along axis 0, of a spare block, too. */
static Val *
block_number(Build *b)
{
    OpCode op = ir_blocks(b->f) == BLOCKS_IN_TURN ? OP_BLOCK_ID : OP_PROGRAM_ID;
    return ir_op1(b, op, 0, NULL, ty_scalar(b->f->c, E_I32));
}

/* Is this program the second of its pair? */
static Val *
is_second(Build *b)
{
    Val *id = block_number(b), *one = ir_const_int(b, id->type, 1);
    return ir_bin(b, OP_EQ, ir_bin(b, OP_AND, id, one), one);
}

/* Makes two copies of half the lines of the one. */
static void
halve(Tile *t)
{
    Op *load = t->load[0], *map = arg(load, 0)->def;
    Map none = {.a = map->block->func->c->arena};
    if (result(map, 0)->uses->next) { /* others want boxes of its size */
        Build behind = ir_behind(map);
        map = ir_clone(&behind, map, &none);
        ir_set_arg(load, 0, result(map, 0));
    }
    int d = dim_of_lines(load), bytes = elem_info[arg(map, 0)->type->elem].bytes;
    int64_t box = ir_attr(map, ATTR_BOX);
    int half = box_side(box, d) / 2;
    ir_set_attr(map, ATTR_BOX, box - ((int64_t)half << (BOX_BITS * d)));
    for (int i = 0; i < map->n_args / 2; i++)
        bytes *= box_side(ir_attr(map, ATTR_BOX), i);
    Build b = ir_behind(load);
    Val *row = arg(load, 4 + d);
    row = ir_bin(&b, OP_ADD, row, ir_const_int(&b, row->type, half));
    none = (Map){.a = b.f->c->arena};
    Op *second = ir_clone(&b, load, &none);
    ir_set_arg(second, 4 + d, row);
    ir_set_attr(second, ATTR_START, ir_attr(load, ATTR_START) + bytes);
    t->load[t->n++] = second;
}

/* An `if` at b; its two blocks end in yields. */
static Op *
branch(Build *b, Val *cond)
{
    Op *o = ir_op(b, OP_IF, 1, &cond, 0, NULL);
    for (int i = 0; i < 2; i++)
        ir_yield(ir_block(b->f, o), b->loc);
    return o;
}

/* At b, every second of the boxes for both programs: which, is_second says. */
static void
bring_half(Build *b, const Tile *t, Val *second)
{
    Op *o = branch(b, second);
    Map none = {.a = b->f->c->arena};
    for (int i = 0; i < t->n; i++) {
        Block *to = o->regions[i % 2 ? 0 : 1];
        Build in = {.f = b->f, .block = to, .before = to->last, .loc = b->loc};
        ir_set_attr(ir_clone(&in, t->load[i], &none), ATTR_PAIR, 1);
    }
}

/* Does block b stand for a program: the filler, one in its turn, or a strip behind those? */
static bool
is_of_program(const Pairs *p, const Block *b)
{
    const Op *o = b->owner;
    return b == p->filler ||
           (o->block == p->filler && (o->op == OP_IF || op_is_programs_loop(o)));
}

static void
share(Pairs *p, Tile *t)
{
    Op *outer = t->load[0];
    while (!is_of_program(p, outer->block))
        outer = outer->block->owner;
    if (t->n % 2)
        halve(t);
    Build b = {
        .f = p->f, .block = outer->block, .before = outer, .loc = t->load[0]->loc};
    Val *same = want_same(&b, t), *second = is_second(&b);
    Op *last = t->load[t->n - 1];
    Build at = {.f = p->f, .block = last->block, .before = last->next, .loc = b.loc};
    ir_set_attr(arg(last, 3)->def, ATTR_PAIR, p->pair);
    if (!same) {
        bring_half(&at, t, second);
        for (int i = 0; i < t->n; i++)
            ir_erase(t->load[i]);
        return;
    }
    Op *o = branch(&at, same);
    Block *yes = o->regions[0];
    at = (Build){.f = p->f, .block = yes, .before = yes->last, .loc = b.loc};
    bring_half(&at, t, second);
    for (int i = 0; i < t->n; i++)
        ir_move_before(t->load[i], o->regions[1]->last);
}

/* ---- the spare block --------------------------------------------------------------------- */

/* How many programs there are along axis 0. */
static Val *
num_programs(Build *b)
{
    return ir_op1(b, OP_NUM_PROGRAMS, 0, NULL, ty_scalar(b->f->c, E_I32));
}

static void
make_spare(Pairs *p, Block *team)
{
    Func *f = p->f;
    p->pair = 2;
    Op *end = after_products(team);
    EACH_OP(o, f->body) {
        if (o->op != OP_PROGRAM_ID || ir_attr(o, ATTR_AXIS))
            continue;
        Build b = ir_before(o);
        Val *n = num_programs(&b),
            *last = ir_bin(&b, OP_SUB, n, ir_const_int(&b, n->type, 1)),
            *block = block_number(&b);
        ir_replace(result(o, 0), ir_bin(&b, OP_MIN, block, last));
    }
    Build b = {.f = f, .block = team, .before = end, .loc = end->loc};
    Val *block = block_number(&b);
    Op *o = ir_op(&b, OP_IF, 1, (Val *[]){ir_bin(&b, OP_LT, block, num_programs(&b))},
                  0, NULL);
    Block *in = ir_block(f, o);
    ir_yield(in, b.loc);
    while (o->next != team->last)
        ir_move_before(o->next, in->last);
}

/* ---- the pass ---------------------------------------------------------------------------- */

static void
pair(Func *f, const Op *roles)
{
    size_t n = 0;
    const char *asked = option_text(f->c->option_texts, "multicast=", &n);
    Pairs p = {.f = f, .filler = roles->regions[1], .pair = 1};
    bool in_turn = ir_blocks(f) == BLOCKS_IN_TURN;
    if ((n && asked[0] == '0') || ir_shares(f) > 1 ||
        f->c->opt.launch_cooperative_grid ||
        (in_turn && !has_one_product(roles->regions[0])))
        return;
    find_tiles(&p, p.filler);
    if (!p.tile.n || p.differs || (!n && !pays(&p, roles->regions[0])) ||
        (in_turn ? !hopper_grid_is(f, GRID_EVEN)
                 : !all_have_neighbours(f, roles->regions[0])))
        return;
    if (!in_turn && !ir_all_strips(f) && !hopper_grid_is(f, GRID_EVEN))
        make_spare(&p, roles->regions[0]);
    for (int i = 0; i < p.tile.n; i++) {
        ir_report(f, p.tile.at[i]->load[0]->loc, "tile",
                  "brought by halves, where the neighbouring program reads it, too");
        share(&p, p.tile.at[i]);
    }
}

void
pass_pair_blocks(Func *f)
{
    for (Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_ROLES)
            pair(f, o);
}
