/* late_stores: what a program gave is stored while tensor cores work for the next one.
 *
 *     for %t = .. {                    %s = shared_alloc
 *       for k { mma_start .. }         for %t = .. ^(i, j, v, n) {       the program before
 *       %v = ..                          for k ^(p) {                    from n on
 *       map_store M, i, j, %v    =>        mma_start ..
 *     }                                    map_store M, i, j, %s, p, v   piece p of it
 *                                          yield p + 1
 *                                        }
 *                                        for p .. pieces { map_store M, i, j, %s, p, v }
 *                                        %v' = ..
 *                                        yield i', j', %v', 0
 *                                      }
 *                                      for n .. pieces { map_store .. }  the last program's
 *
 * Blocks that run programs in turn (persist) stand still while they store: a piece is written to the
 * stage, sent, and has to be read before its place is free, and no product is on its way. On an H200
 * that is 3,300 clocks of 74,000 of a tile of 128x256 at K = 4096. Here a piece goes out in each of
 * the next program's first iterations, behind the products that the iteration has begun. What is
 * stored stays in registers until then, as few as it was rounded to.
 *
 * Behind the loop the last program's pieces go out beside the products of the block's strip (strips), if it has one.
 *
 * A program that stores nothing, as the store stands in an `if`, leaves `pieces` for n.
 *
 * Rule 1: one block is alone on a multiprocessor. Of two, one multiplies while the other stores.
 * Rule 2: a thread has the registers: accumulators, what is to be stored, and OTHERS.
 * Rule 3: the loop of the products counts up, and nothing else but rings and products is in it.
 * Rule 4: nothing with effects stands behind the store in its program, or it would come before the store.
 */
#include "passes/passes.h"

enum { OTHERS = 40 /* registers of addresses and temporaries */ };

typedef struct Late {
    Func *f;
    Op *programs, *products; /* loops */
    Op *store, *outer;       /* outer: the op of the programs' body that holds it */
    int rank;                /* of the tensor: coordinates */
    StoreStage stage;
} Late;

/* ---- finding ----------------------------------------------------------------------------- */

/* The one FOR of block b; NULL: there is none, or another. */
static Op *
only_loop(const Block *b)
{
    Op *found = NULL;
    for (Op *o = b->first; o; o = o->next) {
        if (o->op == OP_WHILE || (found && o->op == OP_FOR))
            return NULL;
        if (o->op == OP_FOR)
            found = o;
    }
    return found;
}

/* Rule 3. */
static bool
has_products_alone(const Op *loop)
{
    int64_t step;
    int n = 0;
    for (const Op *o = loop->regions[0]->first; o; o = o->next) {
        n += o->op == OP_MMA_START;
        if (op_has(o, OPF_CONTROL) || o->op == OP_BARRIER || o->op == OP_TURN ||
            op_has(o, OPF_SCRATCH))
            return false;
    }
    return n && ir_const_as_int(arg(loop, 2), &step) && step > 0;
}

/* Rule 4. */
static bool
has_effects_behind(const Op *o)
{
    for (o = o->next; !op_has(o, OPF_TERM); o = o->next)
        if (!op_has(o, OPF_PURE))
            return true;
    return false;
}

/* The one store through a stage; in an `if` without results that does nothing else, or in none. */
static bool
find_store(Late *k)
{
    const Block *body = k->programs->regions[0];
    EACH_OP(o, body) {
        if (!op_has(o, OPF_WRITES) || o->op == OP_MBAR_ARRIVE)
            continue;
        if (o->op != OP_MAP_STORE || k->store || !has_stage(o))
            return false;
        k->store = o;
    }
    if (!k->store)
        return false;
    k->outer = k->store;
    if (k->store->block != body) {
        k->outer = k->store->block->owner;
        if (k->outer->block != body || k->outer->op != OP_IF || k->outer->n_results ||
            k->store != k->store->block->first ||
            k->store->next != k->store->block->last)
            return false;
    }
    if (has_effects_behind(k->outer))
        return false;
    const Val *v = arg(k->store, k->store->n_args - 1);
    return v->def && v->def->block == body;
}

static int
words_of(const Type *t)
{
    return (ty_bits(t) << t->layout->n[IN_REG]) / 32;
}

/* Rules 1 and 2. */
static bool
has_room(const Late *k)
{
    RolesPlan plan = roles_plan(k->f);
    const Type *v = arg(k->store, k->store->n_args - 1)->type;
    int threads = 32 * (k->f->team_warps + plan.producers),
        most = plan.regs ? plan.regs : MIN(255, CHIP_REGISTERS / threads);
    int words = words_of(v);
    for (const Op *o = k->products->regions[0]->first; o; o = o->next)
        if (o->op == OP_MMA_START)
            words += words_of(result(o, 0)->type);
    return words + OTHERS <= most;
}

static bool
find_late(Late *k, const Block *team)
{
    k->programs = only_loop(team);
    if (!k->programs || !op_is_programs_loop(k->programs))
        return false;
    k->products = only_loop(k->programs->regions[0]);
    if (!k->products || !has_products_alone(k->products) || !find_store(k) ||
        !has_room(k))
        return false;
    k->rank = k->store->n_args - 2;
    k->stage = store_stage(k->store);
    return true;
}

bool
may_store_late(Func *f, const Block *team)
{
    Late k = {.f = f};
    return find_late(&k, team);
}

/* ---- building ---------------------------------------------------------------------------- */

/* The stage that other stores of the team name (strips); NULL: none does. */
static Val *
find_stage(const Block *team)
{
    EACH_OP(o, team)
        if (ir_store_stage(o))
            return ir_store_stage(o);
    return NULL;
}

Val *
alloc_stage(Op *store, Op *before)
{
    Comp *c = before->block->func->c;
    TileForm form = tile_form(store);
    StoreStage stage = store_stage(store);
    Build b = ir_before(before);
    b.loc = store->loc;
    const Type *block = form.smem;
    if (stage.pieces > 1) {
        const int *box = form.box + form.lead;
        int32_t side[MAX_RANK];
        uint8_t log2_side[MAX_RANK], log2_box[MAX_RANK];
        for (int d = 0; d < block->rank; d++)
            log2_side[d] = log2_box[d] = (uint8_t)log2_of(side[d] = box[d]);
        int32_t second[MAX_RANK]; /* of a piece of two boxes */
        tile_form_at(&form, 1, second);
        for (int d = 0; d < block->rank && stage.boxes > 1; d++)
            if (second[form.lead + d])
                log2_side[d]++, side[d] *= 2;
        block = ty_block(c, ty_element(c, block), block->rank, side);
        int bytes = elem_info[block->elem].bytes;
        block = ty_smem(c, block, stage.held,
                        layout_boxes(c, block->rank, log2_side, log2_box,
                                     log2_of(bytes), form.swizzle));
    }
    return ir_op1(&b, OP_SHARED_ALLOC, 0, NULL, block);
}

/* what: coordinates, then the block. */
static void
store_piece(Build *b, const Op *store, Val *const *what, Val *stage, Val *piece)
{
    Val *args[MAX_TMAP_RANK + 4] = {arg(store, 0)};
    int rank = store->n_args - 2;
    memcpy(args + 1, what, (size_t)rank * sizeof *what);
    args[1 + rank] = stage;
    args[2 + rank] = piece;
    args[3 + rank] = what[rank];
    ir_op(b, OP_MAP_STORE, rank + 4, args, 0, NULL);
}

void
store_pieces(Build *b, const Op *store, Val *const *what, Val *stage, Val *from,
             Val *end)
{
    Val *bounds[] = {from, end, ir_const_i32(b, 1)};
    Op *loop = ir_op(b, OP_FOR, COUNT(bounds), bounds, 0, NULL);
    ir_set_attr(loop, ATTR_STAGES, 1);
    Build in = {.f = b->f, .block = ir_block(b->f, loop), .loc = b->loc};
    store_piece(&in, store, what, stage, ir_block_arg(in.block, from->type, NULL));
    ir_yield(in.block, b->loc);
}

/* The pieces from `from` on. */
static void
store_rest(Build *b, const Late *k, Val *const *what, Val *stage, Val *from)
{
    store_pieces(b, k->store, what, stage, from, ir_const_i32(b, k->stage.pieces));
}

/* A piece in each iteration of `loop`, behind the products that it begins. The piece that comes next. */
static Val *
store_beside_products(const Late *k, Op *loop, Val *const *what, Val *stage, Val *from)
{
    Op *last = NULL;
    for (Op *o = loop->regions[0]->first; o; o = o->next)
        last = o->op == OP_MMA_START ? o : last;
    Val *piece = ir_carry(loop, from, from->name);
    Build b = ir_behind(last);
    b.loc = k->store->loc;
    store_piece(&b, k->store, what, stage, piece);
    ir_add_arg(loop->regions[0]->last, ir_bin(&b, OP_ADD, piece, ir_const_i32(&b, 1)));
    return loop->results[loop->n_results - 1];
}

/* The loop of the products of a strip (strips), which the block may have behind its programs; NULL: there is none. */
static Op *
find_strip(const Op *programs)
{
    for (const Op *o = programs->next; o; o = o->next)
        for (Op *in = o->op == OP_IF ? o->regions[0]->first : NULL; in; in = in->next)
            if (ir_strips(in))
                return in;
    return NULL;
}

/* What the last program gave: beside the products of a strip, if the block has one. */
static void
store_last(const Late *k, Val *const *what, Val *stage, Val *from)
{
    Op *strip = find_strip(k->programs);
    Build b = ir_behind(k->programs);
    b.loc = k->f->loc;
    if (strip) {
        Val *next = store_beside_products(k, strip, what, stage, from);
        Build behind = ir_behind(strip);
        behind.loc = k->f->loc;
        store_rest(&behind, k, what, stage, next);
        const Op *owner = strip->block->owner;
        from = ir_select(&b, arg(owner, 0), ir_const_i32(&b, k->stage.pieces), from);
    }
    store_rest(&b, k, what, stage, from);
}

static void
store_late(Late *k)
{
    Op *programs = k->programs, *end = programs->regions[0]->last;
    Build front = ir_before(programs);
    front.loc = k->f->loc;
    Val *stage = find_stage(programs->block), *what[MAX_TMAP_RANK + 1],
        *old[MAX_TMAP_RANK + 1];
    if (!stage)
        stage = alloc_stage(k->store, programs);
    int n = k->rank + 1;
    for (int i = 0; i < n; i++) {
        what[i] = arg(k->store, i < k->rank ? i + 1 : k->store->n_args - 1);
        old[i] = ir_carry(programs, ir_const_bits(&front, what[i]->type, 0), NULL);
    }
    Val *from = ir_carry(programs, ir_const_i32(&front, k->stage.pieces), NULL);
    Val *next = store_beside_products(k, k->products, old, stage, from);
    Build b = {.f = k->f,
               .block = programs->regions[0],
               .before = k->products->next,
               .loc = k->store->loc};
    store_rest(&b, k, old, stage, next);
    b.before = end;
    Val *begins = ir_const_i32(&b, 0);
    if (k->outer != k->store)
        begins = ir_select(&b, arg(k->outer, 0), begins,
                           ir_const_i32(&b, k->stage.pieces));
    for (int i = 0; i < n; i++)
        ir_add_arg(end, what[i]);
    ir_add_arg(end, begins);
    Val **left = programs->results + programs->n_results - n - 1;
    store_last(k, left, stage, left[n]);
    ir_erase(k->outer);
}

void
pass_late_stores(Func *f)
{
    for (Op *o = f->body->first; o; o = o->next) {
        Late k = {.f = f};
        if (o->op != OP_ROLES || !find_late(&k, o->regions[0]))
            continue;
        const Loc *at = k.store->loc;
        store_late(&k);
        ir_report(f, at, "store", "beside the next program's products, piece by piece");
    }
}
