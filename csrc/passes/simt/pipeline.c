/* pipeline: loads of a loop become asynchronous copies that run ahead of it.
 *
 *     for i ^(acc, p) {                     s = shared_alloc : smem<3 x ..>
 *       x = load p                          copy p0 -> s[0]; commit     prologue: d = 2
 *       y = convert_layout x                copy p1 -> s[1]; commit
 *       acc = dot y, ..              =>     for i ^(acc, q, read, write) {
 *       p = addptr p, step                    wait {pending=1}; barrier
 *     }                                       copy q -> s[write] if i + 2 is inside
 *                                             commit
 *                                             y = shared_load s[read]
 *                                             acc = dot y, ..
 *                                             q = addptr q, step
 *                                           }
 *                                           wait {pending=0}
 *
 * d = num_stages - 1 iterations lie between a copy and its use, in d + 1 slots. One
 * commit an iteration, so when iteration i waits, the groups of i .. i + d - 1 are out
 * and all but the newest d - 1 must have landed. The barrier behind the wait serves
 * twice: the copies of all threads are there for all, and the slot that is written
 * next, that of iteration i - 1, has been read by all. There is no epilogue: copies
 * beyond the end are switched off by their mask (zeros are written, nothing is read),
 * and so is the whole prologue of a loop that does not run.
 *
 * What an address is made of (the slice: pure ops, carried pointers, loads of indices)
 * is cloned and runs d iterations ahead; dce removes the old one where nobody else
 * needs it.
 *
 * Which loads: those that end in an operand of a dot, through the move to its layout
 * and through casts and other shapes of the same elements; all of them when the user
 * set num_stages on the loop itself. A move to another layout is then no more than
 * another way of reading the slot. Loads that an operand is computed from (weights of four
 * bits, rows that are normalised, a bias of attention) go with them where that costs no
 * block of a multiprocessor, in fewer slots if need be. RMS norm and product of 4096^3 by
 * 128x128x64 on an H100: 1257 us without and 475 us with them.
 *
 * What several threads hold (a scale of each column) is no copy, nor what is computed with a product
 * (the scales of float8's blocks). Such small loads happen an iteration ahead, into registers that the
 * loop carries; where these are short, an iteration begins with them.
 *
 * A loop without products that computes for long, or whose threads wait for each other, has nothing on its way
 * meanwhile. What it loads happens an iteration ahead in registers, too, unless other programs share it. On an H100
 * a recurrence by chunks of 16x128 and four warps takes 238 us so and 398 without, a divergence by 8192 and 8 warps
 * 460 and 497. A loop that only adds is the assembler's, which unrolls it: sums of ragged rows by 64x64 162 and 216.
 *
 * An operand of a dot that does not change in the loop (the queries of attention) goes
 * to shared memory, too, where registers would not do otherwise: it is stored once
 * before the loop and read again in each iteration.
 *
 * Where d + 1 slots leave room for few warps, d are enough for copies that are begun when threads have read what
 * the iteration brought, behind a barrier of their own: pipeline_distance.c.
 *
 * num_stages=1 is one slot, where threads read what products are of: copies fill it again when all have read it. So
 * registers hold nothing that is on its way, and the next iteration's copies begin with this one's end. On an H100 latent
 * attention of 16 heads by 64 keys and 8 warps takes 124 us so and 167 without, linear attention by 32x32 and one warp 200
 * and 345.
 *
 * Where every thread reads only what it has copied itself (streams that feed no dot), the
 * wait is enough, and there is no barrier.
 *
 * Before sm_80 there is no asynchronous copy. There an iteration loads what the next one
 * wants into registers before its products and stores it into the other of two slots
 * behind them; one barrier an iteration serves both slots as above:
 *
 *     barrier; x = load q; acc = dot (shared_load s[read]), ..; shared_store s[write], x
 *
 * Rule 1: a load overtakes stores only where pipeline_order.c says that it may.
 * Rule 2: a copy is at least 4 bytes wide and fills with zeros; another `other` is put in
 *         when the slot is read.
 * Rule 3: facts are asked before anything changes, because they are about values.
 */
#include "passes/simt/layouts.h"
#include "passes/simt/pipeline.h"

enum {
    SLICE_BUDGET = 512,
    MAX_USES = 128,
    MAX_WORDS = 16,     /* of a load that the loop carries in registers */
    MAX_PRESSURE = 200, /* of such a loop */
    MAX_LONG = 112, /* of one without products, beside which others are to have room */
    MAX_LANDED = 144, /* of one whose operands come through registers */
    MIN_BYTES = 4,    /* of a copy */
    ALIGN = 1024,     /* of a slot, in bytes */
};

/* ---- which loads ----------------------------------------------------------------- */

static bool
is_operand(const Use *u)
{
    return u->user->op == OP_DOT && u - u->user->args < 2;
}

/* Does o only say how or where the elements are wanted? */
static bool
is_move(const Op *o)
{
    return o->op == OP_CONVERT || o->op == OP_TO_SHARED;
}

bool
pipeline_feeds_dot(const Val *v, int depth)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        if (is_operand(u))
            return true;
        if (depth < MAX_CHAIN && (is_move(o) || pipeline_is_link(o)) &&
            pipeline_feeds_dot(result(o, 0), depth + 1))
            return true;
    }
    return false;
}

/* Is an operand of a dot computed from v, in this iteration or in the next one, as in a loop that
 * has been rotated? budget: uses to look at. */
static bool
reaches_dot(const Val *v, Map *seen, int *budget)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        const Op *loop = o->op == OP_YIELD ? o->block->owner : NULL;
        if (is_operand(u))
            return true;
        const Val *next = loop && loop->op == OP_FOR ? o->block->args[u - o->args + 1]
                                                     : NULL;
        const void *key = next ? (const void *)next : o;
        if (--*budget < 0 || map_get(seen, key, 0) ||
            !(next || op_has(o, OPF_PURE) || is_move(o) || o->op == OP_REDUCE))
            continue;
        map_put(seen, key, 0, (void *)key);
        if (next && reaches_dot(next, seen, budget))
            return true;
        for (int i = 0; !next && i < o->n_results; i++)
            if (reaches_dot(result(o, i), seen, budget))
                return true;
    }
    return false;
}

static bool
is_computed_from(const Pipe *p, const Op *load)
{
    Map seen = {.a = p->c->arena};
    int budget = MAX_USES;
    return !pipeline_feeds_dot(result(load, 0), 0) &&
           reaches_dot(result(load, 0), &seen, &budget);
}

/* Is what a dot gave computed with v? */
static bool
meets_product(const Val *v, int depth)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        int budget = MAX_USES;
        bool is_same_place = is_move(o) || pipeline_is_link(o) || o->op == OP_EXPAND ||
                             o->op == OP_BROADCAST || o->op == OP_SPLAT ||
                             (op_has(o, OPF_ELEM) && op_has(o, OPF_PURE));
        if (depth == MAX_CHAIN || !is_same_place)
            continue;
        for (int i = 0; i < o->n_args; i++)
            if (arg(o, i) != v && comes_from_dot(arg(o, i), &budget))
                return true;
        if (meets_product(result(o, 0), depth + 1))
            return true;
    }
    return false;
}

/* Does v end in tensor cores? Multiply-adds put operands into shared memory themselves. */
static bool
feeds_mma(Func *f, const Val *v, int depth)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        if (is_operand(u)) {
            DotPlan plan;
            dot_plan(f, o, &plan);
            if (plan.is_mma)
                return true;
        } else if (depth < MAX_CHAIN && (is_move(o) || pipeline_is_link(o)) &&
                   feeds_mma(f, result(o, 0), depth + 1)) {
            return true;
        }
    }
    return false;
}

/* Does each element stand with one thread only? */
static bool
has_one_owner(const Layout *l)
{
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++)
            if (!l->basis[in][i])
                return false;
    return layout_is_injective(l);
}

/* Is it a row that moves to other threads? One thread copies an element. */
static bool
is_moved_row(const Op *load)
{
    const Type *t = result(load, 0)->type;
    const Use *u = result(load, 0)->uses;
    while (u && u->user->op != OP_CONVERT)
        u = u->next;
    return u && t->rank == 1 && ty_numel(t) * ty_bits(t) / 8 <= ALIGN;
}

int64_t
pipeline_slot_bytes(const Type *t)
{
    return round_up(ty_numel(t) * elem_info[t->elem].bytes, ALIGN);
}

/* NULL, and *s; else why it cannot be a copy. */
static const char *
misfit(Pipe *p, Op *o, Stream *s)
{
    const Type *t = result(o, 0)->type;
    if (ir_attr(o, ATTR_VOLATILE) || ir_attr(o, ATTR_CACHE) == CACHE_CV)
        return "it is volatile";
    if (!t->rank || t->is_ptr)
        return "copies are of blocks of numbers";
    if (!has_one_owner(t->layout) && !is_moved_row(o))
        return "several threads hold the same element";
    int dim = facts_fastest_dim(p->facts, o), bit[MAX_BITS],
        elem = elem_info[t->elem].bytes;
    int run = layout_run(t->layout, dim, __builtin_ctz(16u / (unsigned)elem), bit);
    MaskEdges edges;
    int vec = facts_ragged_log2(p->facts, o, dim, elem << run, &edges);
    if (edges.n &&
        (!p->is_async || vec != facts_pointer_log2(p->facts, o, dim, elem << run))) {
        vec = facts_access_log2(p->facts, o, dim, elem << run);
        edges.n = 0;
    }
    *s = (Stream){.load = o,
                  .edges = edges,
                  .dim = dim,
                  .bytes = pipeline_slot_bytes(t),
                  .layout = t->layout,
                  .is_filled = o->n_args > 2 && !ir_is_zero(arg(o, 2)),
                  .is_carried = !p->is_async && !feeds_mma(p->f, result(o, 0), 0)};
    if (s->is_carried) {
        s->bytes = 0;
        return s->is_filled ? "`other` is not 0" : NULL;
    }
    if (elem << vec >= MIN_BYTES || !p->is_async)
        return NULL;
    return str_printf(p->c->arena, "a copy takes %d bytes at least, and this reads %d",
                      MIN_BYTES, elem << vec);
}

/* ---- the slice ------------------------------------------------------------------- */

/* Adds what v is made of; false when it cannot run ahead. */
static bool
add_to_slice(Pipe *p, Map *slice, bool *carried, const Val *v, int *budget)
{
    if (is_defined_outside(v, p->body))
        return true;
    if (--*budget < 0)
        return false;
    if (!v->def) {
        if (v->block != p->body)
            return false;
        if (v->index == 0 || carried[v->index])
            return true;
        carried[v->index] = true;
        return add_to_slice(p, slice, carried, arg(p->body->last, v->index - 1),
                            budget);
    }
    Op *o = v->def;
    if (o->block != p->body || o->op == OP_DOT || o->n_regions ||
        (!op_has(o, OPF_PURE) && (o->op != OP_LOAD || ir_attr(o, ATTR_VOLATILE) ||
                                  !pipeline_may_overtake(p->f, p->loop, o))))
        return false;
    if (map_get(slice, o, 0))
        return true;
    map_put(slice, o, 0, o);
    for (int i = 0; i < o->n_args; i++)
        if (!add_to_slice(p, slice, carried, arg(o, i), budget))
            return false;
    return true;
}

static bool
slice_of(Pipe *p, const Op *load, Map *slice, bool *carried)
{
    int budget = SLICE_BUDGET;
    int n = load->n_args > 2 ? 2 : load->n_args; /* `other` is not copied */
    for (int i = 0; i < n; i++)
        if (!add_to_slice(p, slice, carried, arg(load, i), &budget))
            return false;
    return true;
}

/* The slice of all streams; drops streams that are part of it (indices of others). */
void
pipeline_find_slice(Pipe *p)
{
    for (bool settled = false; !settled;) {
        settled = true;
        p->slice = (Map){.a = p->c->arena};
        p->carried = NEW_N(p->c->arena, bool, p->body->n_args);
        for (int i = 0; i < p->n_streams; i++)
            slice_of(p, p->stream[i].load, &p->slice, p->carried);
        for (int i = 0; i < p->n_streams; i++)
            if (map_get(&p->slice, p->stream[i].load, 0)) {
                p->stream[i] = p->stream[--p->n_streams];
                settled = false;
                break;
            }
    }
}

/* Why the load stays where it is; NULL: it runs ahead, as *s. */
static const char *
not_ahead(Pipe *p, Op *load, Stream *s)
{
    Map slice = {.a = p->c->arena};
    if (!pipeline_may_overtake(p->f, p->loop, load))
        return "the loop may write what it reads";
    const char *why = misfit(p, load, s);
    if (why)
        return why;
    bool *carried = NEW_N(p->c->arena, bool, p->body->n_args);
    return slice_of(p, load, &slice, carried)
               ? NULL
               : "where it reads is known too late: it depends on the loop's results";
}

/* Registers of a thread that hold a t. */
int
pipeline_words(const Type *t)
{
    int bits = t->rank ? ty_bits(t) << t->layout->n[IN_REG] : 32;
    return MAX((bits + 31) / 32, 1);
}

/* Do warps wait for each other in o, or does an element of it cost more than an instruction? */
static bool
takes_long(Func *f, const Op *o)
{
    if (op_has(o, OPF_SCRATCH))
        return scratch_of(f, o, INT32_MAX).bytes;
    return op_has(o, OPF_ELEM) && o->n_results && result(o, 0)->type->rank &&
           gpu_element_cost(o) > 1;
}

/* Has the loop no product, and an iteration that computes for long? */
static bool
has_long_turns(Func *f, const Block *body)
{
    bool is_long = false;
    for (const Op *o = body->first; o; o = o->next) {
        if (o->op == OP_DOT || op_has(o, OPF_CONTROL))
            return false;
        is_long |= takes_long(f, o);
    }
    return is_long;
}

/* Do its elements come one by one, each into a register of its own? */
static bool
comes_in_pieces(Pipe *p, const Op *o)
{
    enum { FEW_PIECES = 2, VECTOR = 16 }; /* log2; bytes */
    const Type *t = result(o, 0)->type;
    int dim = facts_fastest_dim(p->facts, o);
    return t->layout->n[IN_REG] > FEW_PIECES &&
           elem_info[t->elem].bytes << facts_access_log2(p->facts, o, dim, VECTOR) <
               MIN_BYTES;
}

/* Should the loop carry what o loads, because of the products that it meets or there being none? */
static bool
wants_carrying(Pipe *p, const Op *o)
{
    const Type *t = result(o, 0)->type;
    if (p->has_long_turns)
        return t->rank && !comes_in_pieces(p, o) && !is_common_load(o) &&
               !pipeline_may_meet(p->f, p->loop, o);
    bool is_copied = t->rank && (has_one_owner(t->layout) || is_moved_row(o));
    return is_computed_from(p, o) ? !is_copied : meets_product(result(o, 0), 0);
}

/* Words of a thread that o loads; 0: it is none that the loop may carry. *slice: what its address is
 * made of. */
static int
carried_words(Pipe *p, const Op *o, Map *slice)
{
    const Type *t = o->op == OP_LOAD ? result(o, 0)->type : NULL;
    if (!t || t->is_ptr || ir_attr(o, ATTR_VOLATILE) ||
        ir_attr(o, ATTR_CACHE) == CACHE_CV ||
        (o->n_args > 2 && !ir_is_zero(arg(o, 2)) &&
         !(p->has_long_turns && is_defined_outside(arg(o, 2), p->body))) ||
        !pipeline_may_overtake(p->f, p->loop, o) ||
        pipeline_feeds_dot(result(o, 0), 0) || !wants_carrying(p, o))
        return 0;
    bool *carried = NEW_N(p->c->arena, bool, p->body->n_args);
    if (!slice_of(p, o, slice, carried))
        return 0;
    return pipeline_words(t);
}

void
pipeline_tell(const Pipe *p, const Op *load, const char *why)
{
    if (p->is_async)
        ir_report(p->f, load->loc, "load ahead",
                  str_printf(p->c->arena, "none: %s", why));
}

static bool
find_streams(Pipe *p, bool all)
{
    for (Op *o = p->body->first; o && p->n_streams < MAX_STREAMS; o = o->next) {
        Stream s;
        bool is_computed = o->op == OP_LOAD && p->is_async && is_computed_from(p, o);
        if (o->op != OP_LOAD ||
            (!all && !is_computed && !pipeline_feeds_dot(result(o, 0), 0)))
            continue;
        const char *why = not_ahead(p, o, &s);
        Map slice = {.a = p->c->arena};
        int small = why ? carried_words(p, o, &slice) : 0;
        if (why && (!small || small > MAX_WORDS)) /* carry_small has told of those */
            pipeline_tell(p, o, why);
        if (why)
            continue;
        s.is_optional = is_computed && !all;
        p->stream[p->n_streams++] = s;
    }
    pipeline_find_slice(p);
    return p->n_streams > 0;
}

/* ---- small loads ----------------------------------------------------------------- */

/* The iteration begins with the load. */
static void
move_to_top(const Pipe *p, Op *load, const Map *slice)
{
    Op *at = p->body->first;
    for (Op *o = at, *next; o != load; o = next) {
        next = o->next;
        if (o == at && map_get(slice, o, 0))
            at = at->next;
        else if (map_get(slice, o, 0))
            ir_move_before(o, at);
    }
    if (load != at)
        ir_move_before(load, at);
    ir_report(p->f, load->loc, "load ahead", "from the top of the iteration on");
}

/* Small loads that are no copies happen an iteration ahead, where a thread has the registers. Else they
 * are at its top where others bring the tiles: threads that do want registers for addresses. */
static void
carry_small(Pipe p)
{
    bool may_begin = pipeline_has_rings(p.body);
    int pressure = loop_pressure(p.loop), most = MAX_PRESSURE;
    if (p.has_long_turns) {
        pressure = (int)(scheduled_words(p.f, p.loop) + access_words(p.body));
        most = MIN(MAX_LONG, CHIP_REGISTERS / (32 * p.f->team_warps));
    }
    p.is_async = false;
    p.ahead = 1;
    for (Op *o = p.body->first, *next; o && p.n_streams < MAX_STREAMS; o = next) {
        next = o->next;
        Map slice = {.a = p.c->arena};
        int words = carried_words(&p, o, &slice);
        if (!words || words > MAX_WORDS)
            continue;
        if (pressure + words > most) {
            if (may_begin)
                move_to_top(&p, o, &slice);
            continue;
        }
        pressure += words;
        p.stream[p.n_streams++] = (Stream){.load = o, .is_carried = true};
    }
    pipeline_find_slice(&p);
    for (int i = 0; i < p.n_streams; i++)
        ir_report(p.f, p.stream[i].load->loc, "load ahead",
                  "an iteration ahead, in registers");
    if (p.n_streams)
        pipeline_rewrite(&p);
}

/* ---- narrow loads ---------------------------------------------------------------- */

/* Operands of tensor cores that are too narrow for copies are loaded an iteration ahead, as where there
 * are no copies at all, if each thread has the registers: an element has one until it is stored. FlagGems'
 * bmm of 511^3 by 64x64x32 on an H100: 86 us without, 54 with it; conv3d by 512x16x16 79 and 52; mm of
 * 2047^3 by 256x128x64 and 8 warps, which has none left, 217 and 338. */
static bool
land_narrow(Pipe p)
{
    int pressure = loop_pressure(p.loop);
    for (Op *o = p.body->first; o && p.n_streams < MAX_STREAMS; o = o->next) {
        Stream s;
        Map slice = {.a = p.c->arena};
        bool *carried = NEW_N(p.c->arena, bool, p.body->n_args);
        p.is_async = true;
        if (o->op != OP_LOAD || !feeds_mma(p.f, result(o, 0), 0))
            continue;
        if (!misfit(&p, o, &s)) /* two barriers an iteration are too many */
            return false;
        if (!pipeline_may_overtake(p.f, p.loop, o))
            continue;
        p.is_async = false;
        if (misfit(&p, o, &s) || !slice_of(&p, o, &slice, carried))
            continue;
        pressure += 1 << result(o, 0)->type->layout->n[IN_REG];
        p.stream[p.n_streams++] = s;
    }
    p.is_async = false;
    pipeline_find_slice(&p);
    p.invariant = pipeline_invariant_bytes(&p);
    p.ahead = p.n_streams && pressure <= MAX_LANDED && !pipeline_has_rings(p.body)
                  ? pipeline_distance(&p, 2)
                  : 0;
    if (p.ahead < 1)
        return false;
    for (int i = 0; i < p.n_streams; i++)
        ir_report(p.f, p.stream[i].load->loc, "load ahead",
                  "an iteration ahead, through registers into one of two slots");
    pipeline_rewrite(&p);
    return true;
}

/* ---- the pass -------------------------------------------------------------------- */

static void
try_loop(Func *f, Op *loop)
{
    int64_t asked = ir_attr(loop, ATTR_STAGES), step;
    int stages = asked ? (int)MIN(asked, MAX_SLOTS) : f->c->opt.num_stages;
    int bits = elem_info[arg(loop, 0)->type->elem].bits;
    if (!ir_const_as_int(arg(loop, 2), &step) || step < 1 || step > INT32_MAX)
        step = 0;
    bool has_one = stages == 1 && !asked &&
                   pipeline_may_have_one_slot(f, loop->regions[0]);
    if ((stages < 2 && !has_one) || bits < 32 || (!step && bits > 32))
        return;
    Pipe p = {.f = f,
              .c = f->c,
              .facts = facts_new(f),
              .loop = loop,
              .body = loop->regions[0],
              .step = step,
              .has_long_turns = !asked && has_long_turns(f, loop->regions[0]),
              .is_async = f->c->opt.target.sm >= 80};
    if (p.is_async && !has_one) {
        carry_small(p);
        p.facts = facts_new(f);
        if (land_narrow(p))
            return;
        p.facts = facts_new(f);
    }
    if (!find_streams(&p, asked > 0 && p.is_async))
        return;
    if (has_one)
        pipeline_keep_in_one_slot(&p);
    pipeline_share_invariant(&p);
    p.invariant = pipeline_invariant_bytes(&p);
    pipeline_choose_streams(&p, MAX(stages, 2));
    if (!p.n_streams) /* all were optional */
        return;
    if (!has_one)
        pipeline_choose_place(&p);
    if (p.ahead > 0)
        pipeline_rewrite(&p);
    else
        for (int i = 0; i < p.n_streams; i++)
            pipeline_tell(&p, p.stream[i].load,
                          "shared memory has no room for two of it");
}

void
pass_pipeline(Func *f)
{
    if (f->c->opt.target.kind != TARGET_CPU)
        EACH_OP_INSIDE_OUT(o, f->body)
            if (o->op == OP_FOR)
                try_loop(f, o);
}
