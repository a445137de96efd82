/* pipeline_distance: how far ahead copies run, and in how many slots.
 *
 * Slots are shared memory, and more of them may leave room for fewer blocks of a multiprocessor. So each of these is asked in
 * turn: may products still read a slot when copies overwrite it (behind)? How many iterations ahead do copies run
 * (distance)? Do optional streams cost a block? Does one slot less make room for one?
 */
#include "passes/simt/pipeline.h"

/* ---- how far ahead --------------------------------------------------------------- */

/* Is it another way of reading what was loaded, and so the slot? */
static bool
reads_a_load(const Val *v)
{
    while (v->def && (v->def->op == OP_CONVERT || pipeline_is_link(v->def)))
        v = arg(v->def, 0);
    return v->def && (v->def->op == OP_LOAD || v->def->op == OP_SHARED_LOAD);
}

/* Do threads store what to gives for tensor cores (passes/simt/share_operands.c)? */
static bool
is_made(const Op *to)
{
    return to && to->op == OP_TO_SHARED && !comes_from_load(arg(to, 0));
}

/* Of one place of each operand that threads store in the loop. */
static int64_t
made_bytes(const Block *b)
{
    int64_t sum = 0;
    for (const Op *o = b->first; o; o = o->next)
        if (is_made(o))
            sum += pipeline_slot_bytes(result(o, 0)->type);
    return sum;
}

/* Does o move what a stream brings? Who reads the slot reads it so. */
static bool
moves_stream(const Pipe *p, const Op *o)
{
    const Op *load = o->op == OP_CONVERT ? arg(o, 0)->def : NULL;
    for (int i = 0; load && i < p->n_streams; i++)
        if (p->stream[i].load == load)
            return true;
    return false;
}

/* Shared memory that the other ops of the loop will want for themselves, at most. */
static int64_t
scratch_bytes(const Pipe *p)
{
    const Block *b = p->body;
    int64_t most = 0;
    EACH_CONTROL_OP(o, b) {
        int64_t bytes = 0;
        const Type *t = o->n_args ? arg(o, 0)->type : NULL;
        if (is_made(o))
            bytes = pipeline_slot_bytes(t);
        else if (moves_stream(p, o))
            bytes = 0;
        else if (o->op == OP_CONVERT && !pipeline_feeds_dot(result(o, 0), 0))
            bytes = ty_numel(t) * MAX(ty_bits(t) / 8, 1);
        else if (o->op == OP_CONVERT && !reads_a_load(result(o, 0)))
            bytes = layout_plan_bytes(layout_plan(
                b->func->c, t->layout, result(o, 0)->type->layout, ty_bits(t)));
        else if (o->op == OP_REDUCE || o->op == OP_SCAN)
            bytes = 4096 * o->n_args;
        else if (o->op == OP_GATHER)
            bytes = ty_numel(t) * MAX(ty_bits(t) / 8, 1);
        most = MAX(most, bytes);
    }
    return most;
}

/* Bytes of shared memory that the loop reads already, and all rings'. */
int64_t
pipeline_invariant_bytes(Pipe *p)
{
    Map seen = {.a = p->c->arena};
    int64_t sum = 0;
    for (const Op *o = p->f->body->first; o; o = o->next)
        for (int i = 0; o->op == OP_RING_ALLOC && i < o->n_results - 2; i++)
            sum += pipeline_slot_bytes(result(o, i)->type) * result(o, i)->type->slots;
    for (Op *o = p->body->first; o; o = o->next) {
        for (int i = 0; o->op == OP_DOT && i < 2; i++) {
            const Val *v = arg(o, i);
            if (v->type->slots && is_defined_outside(v, p->body) &&
                !map_get(&seen, v, 0)) {
                map_put(&seen, v, 0, o);
                sum += pipeline_slot_bytes(v->type);
            }
        }
        if (o->op != OP_SHARED_LOAD || map_get(&seen, arg(o, 0), 0))
            continue;
        map_put(&seen, arg(o, 0), 0, o);
        sum += pipeline_slot_bytes(arg(o, 0)->type) * arg(o, 0)->type->slots;
    }
    return sum;
}

/* Bytes of one slot of each stream. */
static int64_t
all_slots(const Pipe *p)
{
    int64_t each = 0;
    for (int i = 0; i < p->n_streams; i++)
        each += p->stream[i].bytes;
    return each;
}

/* Iterations between copy and use, at most stages - 1, and no more than there are: slots that nobody fills would
 * leave room for fewer blocks. 0: no room for two slots. */
int
pipeline_distance(Pipe *p, int stages)
{
    int64_t room = shared_memory_limit(&p->c->opt.target) - scratch_bytes(p),
            each = all_slots(p);
    room -= p->invariant;
    if (p->behind || ir_attr(p->loop, ATTR_LOOP) & LOOP_MMA_BEHIND)
        room -= 2 * made_bytes(p->body);
    int is_late = p->copies_at == COPIES_LAST;
    int ahead = p->is_async ? MIN(MIN(stages, MAX_SLOTS) - 1, pipeline_trips(p->loop))
                            : 1;
    while (ahead > 0 && (ahead + 1 + p->behind - is_late) * each > room)
        ahead--;
    return ahead;
}

/* ---- how far behind -------------------------------------------------------------- */

/* Would a slot more let fewer blocks share a multiprocessor? Measured on an H200, 128x128x64
 * by 4 warps: 694 TFLOP/s with 3 slots and no product behind, 518 with 4 and one. */
static bool
slot_costs_blocks(const Pipe *p, int stages)
{
    int words = loop_pressure(p->loop);
    int64_t made = made_bytes(p->body),
            bytes = p->invariant + made + stages * all_slots(p);
    return hopper_holds_fewer(
        p->f, hopper_blocks(p->f, p->f->team_warps, words, bytes + made + all_slots(p)),
        hopper_blocks(p->f, p->f->team_warps, words, bytes));
}

/* Would copies come nearer to their use for a slot more, beside the two places of what threads make? Right operand cast
 * from float32, 2048^3 by 128x128x64 and 8 warps on an H100: 69 us with products open and copies an iteration
 * ahead, 55 with products waited for and copies two iterations ahead. */
static bool
slot_costs_distance(const Pipe *p, int stages)
{
    Pipe open = *p, closed = *p;
    open.behind = 1;
    closed.behind = 0;
    return made_bytes(p->body) &&
           pipeline_distance(&open, stages) < pipeline_distance(&closed, stages);
}

/* The products of how many iterations may still read their slots when copies begin to
 * overwrite them. */
static int
behind(const Pipe *p, int stages)
{
    bool any = false;
    if (!hopper_plan(p->f).is_forced &&
        (slot_costs_blocks(p, stages) || slot_costs_distance(p, stages)))
        return 0;
    for (const Op *o = p->body->first; o; o = o->next) {
        if (o->op != OP_DOT)
            continue;
        if (!is_running_sum(p->body, o))
            return 0;
        for (int i = 0; i < 2; i++) { /* each in a slot as it was copied, or stored */
            const Op *to = arg(o, i)->def;
            if (!to || to->op != OP_TO_SHARED || to->block != p->body)
                return 0;
            if (is_made(to))
                continue;
            const Val *v = arg(to, 0);
            while (v->def && v->def->op == OP_TRANS)
                v = arg(v->def, 0);
            bool is_stream = false;
            for (int k = 0; k < p->n_streams; k++)
                is_stream = is_stream ||
                            (p->stream[k].load == v->def && !p->stream[k].is_filled);
            if (!is_stream)
                return 0;
        }
        any = true;
    }
    return any ? hopper_plan(p->f).behind : 0;
}

/* ---- what is optional ------------------------------------------------------------ */

/* Words of a thread that optional streams load where they are no copies. */
static int
optional_words(const Pipe *p)
{
    int sum = 0;
    for (int i = 0; i < p->n_streams; i++)
        if (p->stream[i].is_optional)
            sum += pipeline_words(result(p->stream[i].load, 0)->type);
    return sum;
}

/* words: that a thread holds beside what the loop carries and multiplies. */
static int
blocks_of(Pipe *p, int words)
{
    int64_t slots = 0;
    for (int i = 0; i < p->n_streams; i++)
        slots += p->stream[i].bytes * pipe_slots(p, p->stream[i].is_late);
    return hopper_blocks(p->f, p->f->team_warps, loop_pressure(p->loop) + words,
                         p->invariant + scratch_bytes(p) + slots);
}

static void
choose_distance(Pipe *p, int stages)
{
    int trips = pipeline_trips(p->loop);
    p->behind = behind(p, stages);
    p->ahead = pipeline_distance(p, stages);
    p->is_whole = p->is_async && p->ahead > 0 && trips <= p->ahead + 1 &&
                  p->copies_at == COPIES_FIRST;
    if (p->is_whole)
        p->ahead = trips;
}

/* Optional streams stay where a multiprocessor holds as many of the launch's programs then, and as far
 * ahead as that allows. Without copies what they load is in registers. Less than a warpgroup has too few warps to hide what it waits for: half of the blocks with copies
 * are faster. A product of 2048^3 by 64x64x64 and 1 warp, whose left operand is scaled, on an H100: 205 us
 * with 8 blocks, Triton 82 with 4. */
void
pipeline_choose_streams(Pipe *p, int stages)
{
    Pipe must = *p;
    must.n_streams = 0;
    for (int i = 0; i < p->n_streams; i++)
        if (!p->stream[i].is_optional)
            must.stream[must.n_streams++] = p->stream[i];
    choose_distance(p, stages);
    if (must.n_streams == p->n_streams)
        return;
    choose_distance(&must, stages);
    int blocks = blocks_of(&must, optional_words(p));
    if (p->f->team_warps < WARPGROUP)
        blocks = (blocks + 1) / 2;
    while (p->ahead > 0 && hopper_holds_fewer(p->f, blocks_of(p, 0), blocks)) {
        p->ahead--;
        p->is_whole = false;
    }
    if (p->ahead > 0)
        return;
    for (int i = 0; i < p->n_streams; i++)
        if (p->stream[i].is_optional)
            pipeline_tell(p, p->stream[i].load,
                          "its slots would leave room for fewer blocks");
    *p = must;
    pipeline_find_slice(p);
}

/* ---- one slot less --------------------------------------------------------------- */

static bool
holds_op(const Block *body, OpCode op)
{
    const Op *o = body->first;
    while (o && o->op != op)
        o = o->next;
    return o != NULL;
}

bool
pipeline_has_rings(const Block *body)
{
    for (const Op *o = body->first; o; o = o->next)
        if (is_of_ring(o))
            return true;
    return false;
}

/* May copies of s go into the slot that the iteration has read? Not where products of warpgroups read it as it lies. */
static bool
may_be_late(const Stream *s)
{
    return s->is_filled || !pipeline_is_read_in_place(result(s->load, 0));
}

/* Do threads read all operands of its products? */
bool
pipeline_may_have_one_slot(const Func *f, const Block *body)
{
    return f->c->opt.target.sm >= 80 && holds_op(body, OP_DOT) &&
           !holds_op(body, OP_TO_SHARED) && !pipeline_has_rings(body);
}

/* One stage is one slot, which is filled again when an iteration has read it: no registers hold what is on its way, and
 * another block multiplies meanwhile. */
void
pipeline_keep_in_one_slot(Pipe *p)
{
    int n = 0;
    for (int i = 0; i < p->n_streams; i++)
        if (!p->stream[i].is_optional && may_be_late(&p->stream[i])) {
            p->stream[n] = p->stream[i];
            p->stream[n++].is_late = true;
        }
    p->n_streams = n;
    p->copies_at = COPIES_LAST;
    pipeline_find_slice(p);
}

enum { FEW_WARPS = 8 };

/* Where a multiprocessor has fewer than two warps for each scheduler, and fewer slots make room for another block, copies
 * two iterations ahead are enough. On an H100 chunks' products by 128x64x64 and 4 warps take 51 us with four slots and 73
 * with six, a gate by 16x64x128 and 2 warps 203 with copies two iterations ahead, 248 with copies where it has read. */
static bool
comes_nearer(Pipe *p)
{
    enum { ENOUGH = 2 };
    Pipe q = *p;
    int blocks = blocks_of(p, 0);
    if (blocks * p->f->team_warps >= FEW_WARPS)
        return false;
    for (q.ahead--; q.ahead >= ENOUGH; q.ahead--)
        if (hopper_holds_fewer(p->f, blocks, blocks_of(&q, 0))) {
            p->ahead = q.ahead;
            return true;
        }
    return false;
}

/* Where a multiprocessor has fewer than two warps for each scheduler, and one slot less makes room for another block,
 * copies go where this iteration has read: its products run beside the other block's copies. On an H100, with and
 * without: SGLang's latent attention of 16 heads by 4 warps 81 and 95 us, a gathered product by 64x128x64
 * and 2 warps 119 and 151. What warpgroups' products read where it lies keeps its slots, as it would have to be
 * waited for; what threads read and compute an operand of is read before the product begins. A product of
 * 1024x4096x2048 by 128x64x64 and 4 warps, whose left operand is cast from float32: 56 and 82 us. No product stays
 * open then: 2048^3 by 64x128x64 and 4 warps, whose right operand is cast, 73 us by two blocks, 91 by one.
 *
 * Where no third block has a product meanwhile, those of computed operands begin before the copies: by 128x128x64 and
 * 8 warps 48 us, and 58. Of four blocks the copies do: 2048^3 by 64x64x64 and 4 warps, A scaled, 59 us, and 65. */
void
pipeline_choose_place(Pipe *p)
{
    enum { FEW_BLOCKS = 2 };
    if (!p->is_async || p->ahead < 1 || p->is_whole ||
        ir_attr(p->loop, ATTR_LOOP) & LOOP_MMA_BEHIND || !holds_op(p->body, OP_DOT) ||
        comes_nearer(p))
        return;
    Pipe late = *p;
    late.behind = 0;
    bool by_groups = holds_op(p->body, OP_TO_SHARED), any = false;
    late.copies_at = by_groups ? COPIES_AT_DOT : COPIES_LAST;
    for (int i = 0; i < p->n_streams; i++) {
        Stream *s = &late.stream[i];
        s->is_late = may_be_late(s);
        any |= s->is_late;
    }
    int blocks = blocks_of(p, 0);
    if (by_groups && any && blocks <= FEW_BLOCKS && !p->behind)
        p->copies_at = COPIES_AT_DOT;
    if (!any || blocks * p->f->team_warps >= FEW_WARPS ||
        !hopper_holds_fewer(p->f, blocks, blocks_of(&late, 0)))
        return;
    *p = late;
    for (int i = 0; i < p->n_streams; i++)
        if (p->stream[i].is_late)
            ir_report(p->f, p->stream[i].load->loc, "load ahead",
                      "into its own slot, so that another block has room");
}
