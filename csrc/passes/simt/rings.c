/* rings: tiles that products of warpgroups read come through slots that are used in turn.
 *
 *     for k ^(acc) {                      for k ^(acc, slot, phase) {
 *       a = map_load A, m, k                mbar_wait empty, slot, phase ^ 1      who fills
 *       b = map_load B, n, k                mbar_arrive full, slot {bytes}
 *       acc = dot a, trans b, acc    =>     tma_load A, slot_a, slot, full, m, k
 *     }                                     tma_load B, slot_b, slot, full, n, k
 *                                           mbar_wait full, slot, phase           who reads
 *                                           acc = dot (view slot_a), (view slot_b), acc
 *                                           mbar_arrive empty, slot
 *                                           slot, phase = next
 *                                         }
 *
 * The text is right as one program, and split_roles makes two of it. Slot and phase go round
 * all loops around, and through ifs, so a ring serves nested loops, and what is filled is in
 * the order of what is read.
 *
 * Tiles with the same first and last reader share a ring: one announcement, one wait. So do those of
 * products that stay open, whose slots become free together. Sites in different blocks whose tiles are
 * alike share one, too, where neither is filled while the other is being read.
 *
 * Rule 1: a slot is released behind its last reader, by those who have waited for it.
 * Rule 2: a tile that a loop further in reads again and again has one slot, and a second one where
 *         programs run in turn and there is room. So has a tile that no loop reads.
 *
 * It is one file, as how many slots a ring has, and what goes through them, is asked of the same sites.
 */
#include "passes/passes.h"

enum {
    MAX_TILES = 4,
    MBARS = 1 << 10 /* of a ring, with what aligns the next one */,
    OPEN_SLOTS = 4
};

/* Where slots are filled and read. */
typedef struct Site {
    Block *b;
    Op *load[MAX_TILES]; /* in order; what fills comes behind the last */
    int n;
    Op *first, *last; /* ops of b that read, or hold who does */
    struct Ring *ring;
} Site;

typedef struct Ring {
    const Site *like;  /* its first site */
    int slots, bytes;  /* of a slot, all tiles */
    bool has_one_slot; /* or two where programs run in turn */
    bool of_warps;     /* each of which gives a slot back */
    Val *smem[MAX_TILES], *full, *empty;
} Ring;

typedef struct Rings {
    Func *f;
    VEC(Site *) site;
    VEC(Ring *) ring;
} Rings;

typedef struct Turn {
    Val *slot, *phase;
} Turn;

/* ---- sites ----------------------------------------------------------------------- */

static bool
comes_before(const Op *a, const Op *b)
{
    for (; a; a = a->next)
        if (a == b)
            return true;
    return false;
}

/* The first and the last op of block b that hold a product which reads v. */
static void
find_readers(const Val *v, const Block *b, Op **first, Op **last)
{
    for (const Use *u = v->uses; u; u = u->next) {
        if (u->user->op != OP_DOT) {
            find_readers(result(u->user, 0), b, first, last);
            continue;
        }
        Op *o = ir_op_in(b, u->user);
        if (!*first || comes_before(o, *first))
            *first = o;
        if (!*last || comes_before(*last, o))
            *last = o;
    }
}

/* Do threads store it for tensor cores in the loop's body? */
static bool
is_made_in(const Block *body, const Val *v)
{
    return v->def && v->def->op == OP_TO_SHARED && v->def->block == body &&
           !comes_from_load(arg(v->def, 0));
}

static bool may_stay_open(Func *f, const Block *b);

/* What pipeline will want for the loads beside tiles in their loops, and for operands that threads make
 * of them. */
static int64_t
copied_bytes(Func *f, const Block *b)
{
    enum { SLOT = 1 << 10 }; /* is a multiple of it */
    int64_t own = 0, most = 0;
    int places = may_stay_open(f, b) ? 2 : 1;
    bool has_tiles = false;
    for (Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++) {
            int64_t inside = copied_bytes(f, o->regions[i]);
            most = MAX(most, inside);
        }
        const Type *t = o->n_results ? result(o, 0)->type : NULL;
        has_tiles |= roles_bring(f, o);
        bool is_load = o->op == OP_LOAD && t->rank;
        if (is_load || (o->op == OP_TO_SHARED && !comes_from_load(arg(o, 0))))
            own += (ty_numel(t) * ty_bytes(t) + SLOT - 1) / SLOT * SLOT *
                   (is_load ? f->c->opt.num_stages : places);
    }
    return MAX(most, has_tiles && b->owner ? own : 0);
}

/* Is it a tile of a ring, or of a loop around, or stored in two places in turn? What copies of all threads
 * bring, they overwrite. */
static bool
is_kept(Func *f, const Block *body, const Val *v)
{
    if (is_made_in(body, v))
        return true;
    while (v->def && (v->def->op == OP_TRANS || v->def->op == OP_TO_SHARED))
        v = arg(v->def, 0);
    return is_defined_outside(v, body) || (v->def && roles_bring(f, v->def));
}

/* Has shared memory room for the slots that an iteration's tiles want where its products stay open?
 * 64 x 256 x 64 of a gated layer, whose tiles take 72 KB, on an H100: 376 TFLOP/s open, and 628 where
 * each tile has a ring of its own. */
static bool
has_room_to_stay_open(Func *f, const Block *b)
{
    int64_t bytes = 0;
    for (const Op *o = b->first; o; o = o->next)
        bytes += roles_bring(f, o) ? tile_bytes(o) : 0;
    return OPEN_SLOTS * bytes <= shared_memory_limit(&f->c->opt.target);
}

/* Are the products of a loop's body sums that go round it, so that they may stay open until the next
 * ones have begun? */
static bool
may_stay_open(Func *f, const Block *b)
{
    int n = 0;
    if (!b->owner || b->owner->op != OP_FOR || !hopper_plan(f).behind)
        return false;
    for (const Op *o = b->first; o; o = o->next) {
        if (o->n_regions)
            return false;
        if (o->op != OP_DOT)
            continue;
        if (!is_running_sum(b, o) || !is_kept(f, b, arg(o, 0)) ||
            !is_kept(f, b, arg(o, 1)))
            return false;
        n++;
    }
    return n == 1 || (n && has_room_to_stay_open(f, b));
}

/* Such products may all stand behind whatever any of them reads. */
static void
gather_products(Block *b)
{
    Op *at = NULL;
    for (Op *o = b->last, *before; o; o = before) {
        before = o->prev;
        if (o->op != OP_DOT)
            continue;
        if (at)
            ir_move_before(o, at);
        at = o;
    }
}

static void
add_load(Rings *w, Op *o)
{
    Site s = {.b = o->block, .load = {o}, .n = 1};
    find_readers(result(o, 0), s.b, &s.first, &s.last);
    for (int i = 0; i < w->site.n; i++) {
        Site *t = w->site.at[i];
        if (t->b == s.b && t->n < MAX_TILES &&
            ((t->first == s.first && t->last == s.last) || may_stay_open(w->f, s.b))) {
            if (comes_before(s.first, t->first))
                t->first = s.first;
            if (comes_before(t->last, s.last))
                t->last = s.last;
            t->load[t->n++] = o;
            return;
        }
    }
    Site *new = NEW(w->f->c->arena, Site);
    *new = s;
    PUSH(w->f->c->arena, &w->site, new);
}

static void
find_sites(Rings *w, Block *b)
{
    EACH_OP(o, b)
        if (o->op == OP_FOR && may_stay_open(w->f, o->regions[0]))
            gather_products(o->regions[0]);
    EACH_OP_INSIDE_OUT(o, b)
        if (roles_bring(w->f, o))
            add_load(w, o);
}

/* ---- rings ----------------------------------------------------------------------- */

static const Type *
slot_of(const Op *load)
{
    return tile_form(load).smem;
}

/* Is the loop around that of programs in turn? There the second slot is filled while others still read
 * the first, so neither of two warpgroups waits for the other and then for the tile. */
static bool
runs_in_turn(const Block *b)
{
    return b->owner && op_is_programs_loop(b->owner);
}

static bool
is_in_loop(const Block *b)
{
    const Op *o = b->owner;
    while (o && o->op != OP_FOR)
        o = o->block->owner;
    return o;
}

/* Do loops or branches of b read tiles of their own? */
static bool
has_deeper_site(const Rings *w, const Block *b)
{
    for (int i = 0; i < w->site.n; i++)
        if (w->site.at[i]->b != b && ir_encloses(b, w->site.at[i]->b))
            return true;
    return false;
}

/* Does a loop further in read it again and again? */
static bool
is_read_again(const Site *s)
{
    return s->first->n_regions;
}

/* A slot would only be filled early for the next turn of a loop around, or for the next program, if there is one. The
 * factor of a low rank behind the loop (64x256 by 64 columns, bf16, 4096^3 on an H100): four slots of 32 KB left 0.74 of
 * Triton. With one such slot the loop's ring has eight, and the ratio is 0.97; by 128x256x64 it was 1.23 and is 1.76. */
static bool
wants_one_slot(const Rings *w, const Site *s)
{
    return is_read_again(s) || !is_in_loop(s->b) ||
           (runs_in_turn(s->b) && has_deeper_site(w, s->b));
}

/* Is t in the block of s, or deeper, and filled while s has not been read? */
static bool
is_amid(const Site *t, const Site *s)
{
    if (!ir_encloses(s->b, t->b))
        return false;
    const Op *o = ir_op_in(s->b, t->load[0]);
    return comes_before(s->load[0], o) && comes_before(o, s->last);
}

static bool
can_share(const Rings *w, const Ring *r, const Site *s)
{
    if (r->like->n != s->n || is_read_again(r->like) != is_read_again(s))
        return false;
    for (int i = 0; i < s->n; i++)
        if (slot_of(r->like->load[i]) != slot_of(s->load[i]))
            return false;
    for (int i = 0; i < w->site.n; i++) {
        const Site *t = w->site.at[i];
        if (t->ring == r && (t->b == s->b || is_amid(t, s) || is_amid(s, t)))
            return false;
    }
    return true;
}

/* May threads give the slot back that no product has held together, as a loop of none and a branch do? If one
 * thread spoke for all of its warpgroup, another would still wait for the slot, which is filled anew, and
 * for ever if it is filled twice. So each warp speaks for itself. */
static bool
may_be_unread(const Site *s)
{
    return s->last->n_regions && s->b->owner;
}

static void
deal_rings(Rings *w)
{
    Arena *a = w->f->c->arena;
    for (int i = 0; i < w->site.n; i++) {
        Site *s = w->site.at[i];
        for (int k = 0; k < w->ring.n && !s->ring; k++)
            if (can_share(w, w->ring.at[k], s))
                s->ring = w->ring.at[k];
        if (s->ring) {
            s->ring->has_one_slot &= wants_one_slot(w, s);
            s->ring->of_warps |= may_be_unread(s);
            continue;
        }
        Ring *r = s->ring = NEW(a, Ring);
        r->like = s;
        r->has_one_slot = wants_one_slot(w, s);
        r->of_warps = may_be_unread(s);
        for (int k = 0; k < s->n; k++)
            r->bytes += (int)tile_bytes(s->load[k]);
        PUSH(a, &w->ring, r);
    }
}

/* Does a store in front of o share its stage? */
static bool
has_stage_already(const Op *o)
{
    EACH_OP(p, o->block->func->body) {
        if (p == o)
            break;
        if (may_have_stage(p) && share_stage(p, o))
            return true;
    }
    return false;
}

/* What stores have for themselves, and loads between them. */
static int64_t
stage_bytes(Func *f)
{
    int64_t sum = 0;
    EACH_OP(o, f->body)
        if (may_have_stage(o) && !has_stage_already(o))
            sum += shared_stage(o).bytes;
    EACH_OP(o, f->body)
        if (may_lie_in_stage(o) && !roles_bring(f, o))
            sum = MAX(sum, scratch_of(f, o, 0).bytes);
    return sum;
}

/* Is it a move of what copies will have brought? Threads read their slot as they want it; if there are no copies, the
 * move has the room of their slots. Left operand cast from float32, 4096^3 by 128x256x64 and 8 warps in 4 stages on an
 * H100: 401 us with one slot for the other operand, 244 with two. */
static bool
is_of_copies(Func *f, const Op *o)
{
    const Op *load = o->op == OP_CONVERT ? arg(o, 0)->def : NULL;
    return load && load->op == OP_LOAD && f->c->opt.num_stages > 1 &&
           has_made_operand(f) && copied_bytes(f, load->block);
}

/* The most that one of the others works through. */
static int64_t
scratch_bytes(Func *f, const Block *b)
{
    enum { ROOM = 48 << 10 };
    int64_t most = 0;
    EACH_CONTROL_OP(o, b)
        if (op_has(o, OPF_SCRATCH) && !may_have_stage(o) && !may_lie_in_stage(o) &&
            !roles_bring(f, o) && !is_of_copies(f, o))
            most = MAX(most, scratch_of(f, o, ROOM).bytes);
    return most;
}

/* Slots without which a block waits for every tile: one on its way, one being read, and one
 * that an open product may still read. */
static int
slots_needed(const Rings *w, const Ring *r)
{
    return may_stay_open(w->f, r->like->b) ? OPEN_SLOTS : 3;
}

/* What one block alone on a multiprocessor wants: the products that read the slots on their way
 * take as long as a tile. bf16, 128x128x64, 2 warpgroups, 8192^3 on an H200: 3 slots 520 TFLOP/s,
 * 4 648, 5 657, 8 660. */
static int
slots_alone(const Rings *w, const Ring *r)
{
    enum { LATENCY = 1536, IN_HAND = 2, MANY = 8 };
    (void)w;
    int64_t clocks = product_clocks(r->like->b);
    return (int)MIN(IN_HAND + (LATENCY + clocks - 1) / clocks, MANY);
}

static void
deal(Rings *w, int (*wanted)(const Rings *, const Ring *))
{
    for (int i = 0; i < w->ring.n; i++) {
        Ring *r = w->ring.at[i];
        r->slots = !r->has_one_slot           ? wanted(w, r)
                   : runs_in_turn(r->like->b) ? LEAST_SLOTS
                                              : 1;
    }
}

static int64_t
slot_bytes(const Rings *w)
{
    int64_t n = 0;
    for (int i = 0; i < w->ring.n; i++)
        n += (int64_t)w->ring.at[i]->slots * w->ring.at[i]->bytes;
    return n;
}

static int
slots_asked(const Rings *w, const Ring *r)
{
    (void)r;
    return hopper_plan(w->f).slots;
}

/* One on its way, one being read, and one that an open product may still read. */
static int
slots_of_two_blocks(const Rings *w, const Ring *r)
{
    (void)w, (void)r;
    return OPEN_SLOTS - 1;
}

static int
slots_least(const Rings *w, const Ring *r)
{
    (void)w, (void)r;
    return LEAST_SLOTS;
}

/* What is stored lies where others have worked. */
static int
blocks_of(const Rings *w, int64_t others)
{
    Func *f = w->f;
    return hopper_blocks(f, f->team_warps, (int)acc_words(f->body),
                         slot_bytes(w) + others);
}

/* Bytes on their way to a multiprocessor that holds n blocks, while one slot of each ring is read and an open product
 * may still read another. */
static int64_t
bytes_on_their_way(const Rings *w, int n)
{
    int64_t sum = 0;
    for (int i = 0; i < w->ring.n; i++) {
        const Ring *r = w->ring.at[i];
        int idle = may_stay_open(w->f, r->like->b) ? 2 : 1;
        if (!r->has_one_slot)
            sum += (int64_t)n * MAX(r->slots - idle, 0) * r->bytes;
    }
    return sum;
}

/* Gives small tiles slots until enough of them is on its way, as far as that costs no block: 64x256x64 by 16 columns
 * (4096^3, bf16, 10 KB a slot) on an H100, of Triton, 0.90 with four slots and 1.01 with seven. */
static void
give_slots(Rings *w, int64_t others)
{
    enum { ENOUGH = 96 << 10, MANY = 8 };
    int n = blocks_of(w, others);
    for (bool is_done = false; !is_done && bytes_on_their_way(w, n) < ENOUGH;) {
        is_done = true;
        for (int i = 0; i < w->ring.n; i++) {
            Ring *r = w->ring.at[i];
            if (r->has_one_slot || r->slots >= MANY)
                continue;
            r->slots++;
            if (blocks_of(w, others) < n)
                r->slots--;
            else
                is_done = false;
        }
    }
}

/* Takes one slot from those that have the most. False: nobody has more than `least`. */
static bool
take_a_slot(Rings *w, int least)
{
    int most = least;
    for (int i = 0; i < w->ring.n; i++)
        most = MAX(most, w->ring.at[i]->slots);
    for (int i = 0; most > least && i < w->ring.n; i++)
        if (w->ring.at[i]->slots == most)
            w->ring.at[i]->slots--;
    return most > least;
}

/* Does a product read what becomes of another one, in the same iteration or (rotate) the next? */
static bool
is_chained(const Func *f)
{
    EACH_OP(o, f->body)
        if (o->op == OP_FOR && ir_attr(o, ATTR_LOOP) & LOOP_MMA_ROUND)
            return true;
    return has_chained_dot(f->body);
}

/* Are products as long as the copies of what they read? Else what counts is how much is on its way. */
static bool
are_dense(const Rings *w)
{
    enum { BYTES = 128 }; /* a clock */
    for (int i = 0; i < w->ring.n; i++) {
        const Ring *r = w->ring.at[i];
        if (r->bytes > BYTES * product_clocks(r->like->b))
            return false;
    }
    return true;
}

/* Does a block run the launch's programs in turn (persist)? Its warps that bring tiles go on with the next one's
 * while others store. */
static bool
takes_turns(const Func *f)
{
    return ir_has_op(f->body, OP_NUM_BLOCKS);
}

/* Time decides, and room; num_stages is for copies of all threads. Blocks that are resident together
 * hide each other's waits, so the slots that each needs are enough (of chained products the least): where two fit, and the launch has as many, they get no more. 64x128x64 by one warpgroup on an
 * H200: of 2048^3 4 slots (2 blocks) 525 TFLOP/s, 6 (1 block) 461; of 1024^3, 128 programs, 4 slots 204 and
 * 9 243. Where the hardware deals programs, a second block begins while the first one stores, and three slots that
 * leave room for it are enough: 4096x4096x1024 by 64x64x128 on an H100 128 us with one, 111 with two. 16x256x64, whose
 * copies take longer than its products, 86 and 98. */
static void
deal_slots(Rings *w)
{
    enum { LEAST_ON_THEIR_WAY = 48 << 10 };
    Func *f = w->f;
    int64_t stage = stage_bytes(f), scratch = scratch_bytes(f, f->body),
            others = MBARS * w->ring.n + MAX(stage, scratch) +
                     (has_made_operand(f) ? copied_bytes(f, f->body) : 0),
            room = shared_memory_limit(&f->c->opt.target) - others -
                   MIN(stage, scratch);
    bool is_alone = roles_plan(f).regs, is_pair = !is_alone && is_chained(f);
    deal(w, slots_needed);
    if (is_pair && blocks_of(w, others) < 2)
        deal(w, slots_least);
    else if (!is_alone && !is_pair && !takes_turns(f) && are_dense(w) &&
             blocks_of(w, others) < 2) {
        deal(w, slots_of_two_blocks);
        if (blocks_of(w, others) < 2 || bytes_on_their_way(w, 2) < LEAST_ON_THEIR_WAY)
            deal(w, slots_needed);
    }
    if (hopper_plan(f).slots) {
        deal(w, slots_asked);
    } else if (is_alone || !hopper_holds_fewer(f, 1, blocks_of(w, others))) {
        deal(w, slots_alone);
    } else if (is_pair && !f->c->opt.maxnreg) {
        f->min_blocks = 2;
        ir_report(
            f, f->loc, "occupancy",
            "two blocks on a multiprocessor: one multiplies while the other computes");
    } else if (!is_pair) {
        give_slots(w, others);
    }
    while (slot_bytes(w) > room && take_a_slot(w, LEAST_SLOTS)) {}
    for (int i = 0; slot_bytes(w) > room && i < w->ring.n; i++)
        if (w->ring.at[i]->has_one_slot)
            w->ring.at[i]->slots = 1;
    while (slot_bytes(w) > room && take_a_slot(w, 1)) {}
    for (int i = 0; i < w->ring.n; i++)
        f->c->hopper.has_few_slots |= !w->ring.at[i]->has_one_slot &&
                                      w->ring.at[i]->slots <= LEAST_SLOTS;
}

static void
alloc_ring(Rings *w, Ring *r)
{
    Func *f = w->f;
    Build b = {.f = f,
               .block = f->body,
               .before = f->body->first,
               .loc = r->like->load[0]->loc};
    const Type *t[MAX_TILES + 2];
    int n = r->like->n;
    for (int i = 0; i < n; i++) {
        const Type *slot = slot_of(r->like->load[i]);
        t[i] = ty_smem(f->c, ty_with_layout(f->c, slot, NULL), r->slots, slot->layout);
    }
    t[n] = t[n + 1] = ty_mbar(f->c, r->slots);
    Op *o = ir_op(&b, OP_RING_ALLOC, 0, NULL, n + 2, t);
    ir_set_attr(o, ATTR_ARRIVALS,
                r->of_warps ? f->team_warps : f->team_warps / WARPGROUP);
    for (int i = 0; i < n; i++)
        r->smem[i] = result(o, i);
    r->full = result(o, n);
    r->empty = result(o, n + 1);
}

/* ---- one site -------------------------------------------------------------------- */

static void
copy_tile(Build *b, const Site *s, int i, const Turn *at)
{
    const Op *load = s->load[i];
    TileForm form = tile_form(load);
    for (int k = 0; k < form.n_boxes; k++) {
        int32_t from[MAX_RANK];
        Val *args[4 + MAX_TMAP_RANK] = {arg(load, 0), s->ring->smem[i], at->slot,
                                        s->ring->full};
        tile_form_at(&form, k, from);
        for (int d = 0; d < form.rank; d++) {
            Val *c = arg(load, 1 + d);
            args[4 + d] = from[d] ? ir_bin(b, OP_ADD, c, ir_const_i32(b, from[d])) : c;
        }
        Op *o = ir_op(b, OP_TMA_LOAD, 4 + form.rank, args, 0, NULL);
        ir_set_attr(o, ATTR_START, k * form.box_bytes);
    }
}

static void
fill_slot(Build *b, const Site *s, const Turn *at)
{
    Val *other = ir_bin(b, OP_XOR, at->phase, ir_const_i32(b, 1));
    ir_op(b, OP_MBAR_WAIT, 3, (Val *[]){s->ring->empty, at->slot, other}, 0, NULL);
    Op *says = ir_op(b, OP_MBAR_ARRIVE, 2, (Val *[]){s->ring->full, at->slot}, 0, NULL);
    ir_set_attr(says, ATTR_BYTES, s->ring->bytes);
    for (int i = 0; i < s->n; i++)
        copy_tile(b, s, i, at);
}

/* Products read v out of the slot; perm: how v's dims are the slot's. */
static void
view(Build *b, Val *v, Val *smem, Val *slot, const int *perm)
{
    for (Use *u = v->uses, *next; u; u = next) {
        next = u->next;
        Op *o = u->user;
        if (o->op == OP_TRANS) {
            int mine[MAX_RANK], both[MAX_RANK];
            ir_perm(o, mine);
            for (int d = 0; d < v->type->rank; d++)
                both[d] = perm[mine[d]];
            view(b, result(o, 0), smem, slot, both);
        } else {
            Comp *c = b->f->c;
            const Type *t = ty_smem(c, ty_with_layout(c, v->type, NULL), 1,
                                    layout_permute(c, smem->type->layout, perm));
            Op *n = ir_op(b, OP_SHARED_VIEW, 2, (Val *[]){smem, slot}, 1, &t);
            ir_set_attr(n, ATTR_PERM, perm_pack(v->type->rank, perm));
            ir_replace(result(o, 0), result(n, 0));
        }
    }
}

static void
read(Build *b, const Site *s, const Turn *at)
{
    int same[MAX_RANK];
    for (int d = 0; d < MAX_RANK; d++)
        same[d] = d;
    ir_op(b, OP_MBAR_WAIT, 3, (Val *[]){s->ring->full, at->slot, at->phase}, 0, NULL);
    for (int i = 0; i < s->n; i++)
        view(b, result(s->load[i], 0), s->ring->smem[i], at->slot, same);
}

static Turn
next_turn(Build *b, const Site *s, const Turn *at)
{
    Val *one = ir_const_i32(b, 1), *zero = ir_const_i32(b, 0);
    if (s->ring->slots == 1)
        return (Turn){at->slot, ir_bin(b, OP_XOR, at->phase, one)};
    Val *up = ir_bin(b, OP_ADD, at->slot, one),
        *wraps = ir_bin(b, OP_EQ, up, ir_const_i32(b, s->ring->slots)),
        *other = ir_bin(b, OP_XOR, at->phase, one);
    return (Turn){ir_select(b, wraps, zero, up), ir_select(b, wraps, other, at->phase)};
}

static Turn
use_slot(Rings *w, const Site *s, Turn at)
{
    Op *load = s->load[s->n - 1];
    Build b = {.f = w->f, .block = s->b, .before = load, .loc = load->loc};
    fill_slot(&b, s, &at);
    Turn next = next_turn(&b, s, &at);
    b.before = s->first;
    read(&b, s, &at);
    b.before = s->last->next;
    ir_op(&b, OP_MBAR_ARRIVE, 2, (Val *[]){s->ring->empty, at.slot}, 0, NULL);
    return next;
}

/* ---- turns go round loops -------------------------------------------------------- */

static Turn turn_through(Rings *w, const Ring *r, Block *b, Turn at);

static bool
has_site(const Rings *w, const Ring *r, const Op *o)
{
    for (int i = 0; i < w->site.n; i++)
        for (int k = 0; k < o->n_regions && w->site.at[i]->ring == r; k++)
            if (ir_encloses(o->regions[k], w->site.at[i]->b))
                return true;
    return false;
}

static void
add_to_end(const Block *b, Turn at)
{
    ir_add_arg(b->last, at.slot);
    ir_add_arg(b->last, at.phase);
}

static Turn
add_results(Op *o)
{
    const Type *t = ty_scalar(o->block->func->c, E_I32);
    Val *slot = ir_add_result(o, t);
    return (Turn){slot, ir_add_result(o, t)};
}

static Turn
through_for(Rings *w, const Ring *r, Op *o, Turn at)
{
    Block *b = o->regions[0];
    ir_add_arg(o, at.slot);
    ir_add_arg(o, at.phase);
    Val *slot = ir_block_arg(b, at.slot->type, NULL),
        *phase = ir_block_arg(b, at.phase->type, NULL);
    add_to_end(b, turn_through(w, r, b, (Turn){slot, phase}));
    return add_results(o);
}

static Turn
through_if(Rings *w, const Ring *r, Op *o, Turn at)
{
    if (o->n_regions == 1)
        ir_yield(ir_block(w->f, o), o->loc);
    for (int i = 0; i < 2; i++)
        add_to_end(o->regions[i], turn_through(w, r, o->regions[i], at));
    return add_results(o);
}

static const Site *
site_at(const Rings *w, const Ring *r, const Op *o)
{
    for (int i = 0; i < w->site.n; i++) {
        const Site *s = w->site.at[i];
        if (s->ring == r && s->load[s->n - 1] == o)
            return s;
    }
    return NULL;
}

static Turn
turn_through(Rings *w, const Ring *r, Block *b, Turn at)
{
    for (Op *o = b->first; o; o = o->next) {
        const Site *s = site_at(w, r, o);
        if (s)
            at = use_slot(w, s, at);
        else if (has_site(w, r, o))
            at = o->op == OP_FOR ? through_for(w, r, o, at) : through_if(w, r, o, at);
    }
    return at;
}

/* ---- the pass -------------------------------------------------------------------- */

/* The op, and what was made of its result for those who read the slot now. */
static void
erase(Op *o)
{
    for (Use *u = o->n_results ? result(o, 0)->uses : NULL; u; u = result(o, 0)->uses)
        erase(u->user);
    ir_erase(o);
}

/* Slots that wait one more turn may be read by open products. */
static void
let_stay_open(const Rings *w, const Block *b)
{
    for (int i = 0; i < w->site.n; i++)
        if (w->site.at[i]->b == b && w->site.at[i]->ring->slots < 2)
            return;
    if (may_stay_open(w->f, b))
        ir_set_attr(b->owner, ATTR_LOOP,
                    ir_attr(b->owner, ATTR_LOOP) | LOOP_MMA_BEHIND);
}

bool
is_of_ring(const Op *o)
{
    return o->op == OP_MBAR_WAIT || o->op == OP_MBAR_ARRIVE || o->op == OP_TMA_LOAD;
}

bool
ring_is_filled_by(const Op *o)
{
    for (int r = 0; r < o->n_regions; r++)
        for (const Op *p = o->regions[r]->first; p; p = p->next)
            if (ring_is_filled_by(p))
                return true;
    if (o->op == OP_MBAR_WAIT) {
        const Op *ring = arg(o, 0)->def;
        return arg(o, 0)->index == ring->n_results - 1;
    }
    return o->op == OP_TMA_LOAD || (o->op == OP_MBAR_ARRIVE && ir_attr(o, ATTR_BYTES));
}

/* Two blocks of two warpgroups without roles, where their registers suffice: occupancy.c looks whether shared
 * memory does. */
static void
wish_for_pair(Func *f)
{
    f->c->hopper.has_pair = is_chained(f) && roles_pair(f);
}

void
pass_rings(Func *f)
{
    if (roles_refusal(f)) {
        wish_for_pair(f);
        return;
    }
    Rings w = {.f = f};
    find_sites(&w, f->body);
    deal_rings(&w);
    deal_slots(&w);
    for (int i = 0; i < w.site.n; i++)
        let_stay_open(&w, w.site.at[i]->b);
    for (int i = 0; i < w.ring.n; i++) {
        Ring *r = w.ring.at[i];
        alloc_ring(&w, r);
        Build b = {
            .f = f, .block = f->body, .before = r->smem[0]->def->next, .loc = f->loc};
        turn_through(&w, r, f->body, (Turn){ir_const_i32(&b, 0), ir_const_i32(&b, 0)});
    }
    for (int i = 0; i < w.site.n; i++)
        for (int k = 0; k < w.site.at[i]->n; k++)
            erase(w.site.at[i]->load[k]);
}
