/* pipeline_rewrite: builds what the head of pipeline.c shows: slots, the prologue's
 * copies, and a loop that copies ahead and reads its slots.
 */
#include "passes/simt/layouts.h"
#include "passes/simt/pipeline.h"

/* ---- building: copies ------------------------------------------------------------ */

/* rows & broadcast(columns), where the columns are this iteration's: pred joins those, which
 * are fewer. NULL: the mask is not of that kind. */
static Val *
masked_columns(Build *b, const Val *mask, Val *pred)
{
    const Op *o = mask->def;
    if (!o || o->op != OP_AND || o->block != b->block)
        return NULL;
    for (int i = 0; i < 2; i++) {
        const Op *wide = arg(o, i)->def;
        Val *few = wide && wide->op == OP_BROADCAST ? arg(wide, 0) : NULL;
        if (!few || !few->def || few->def->block != b->block)
            continue;
        Val *all = ir_op1(b, OP_SPLAT, 1, &pred, few->type);
        few = ir_bin(b, OP_AND, few, all);
        Val *again = ir_op1(b, OP_BROADCAST, 1, &few, arg(o, i)->type);
        return ir_bin(b, OP_AND, arg(o, 1 - i), again);
    }
    return NULL;
}

/* mask (NULL: all) and the scalar pred, in the type of a mask of t's elements. */
static Val *
masked(Build *b, Val *mask, Val *pred, const Type *t)
{
    const Type *mt = ty_with_elem(b->f->c, t, E_I1);
    Val *columns = mask ? masked_columns(b, mask, pred) : NULL;
    if (columns)
        return columns;
    Val *all = t->rank ? ir_op1(b, OP_SPLAT, 1, &pred, mt) : pred;
    return mask ? ir_bin(b, OP_AND, mask, all) : all;
}

Val *
pipeline_clone_load(Build *b, const Op *o, const Map *map, Val *pred, Val *otherwise)
{
    Val *args[3] = {ir_mapped(map, arg(o, 0)), NULL, otherwise};
    const Type *t = result(o, 0)->type;
    b->loc = o->loc;
    args[1] = masked(b, o->n_args > 1 ? ir_mapped(map, arg(o, 1)) : NULL, pred, t);
    Op *n = ir_op(b, OP_LOAD, otherwise ? 3 : 2, args, 1, &t);
    memcpy(n->attr, o->attr, sizeof n->attr);
    return result(n, 0);
}

/* The last load of the slice, or the first op of the body. */
static const Op *
last_index(const Pipe *p)
{
    const Op *o = p->body->last;
    while (o->prev && !(o->op == OP_LOAD && map_get(&p->slice, o, 0)))
        o = o->prev;
    return o;
}

/* One iteration of the slice, as map has its arguments. Loads happen only if pred. What no load of it wants
 * stands in front of `late`, if there is one. */
static void
clone_slice(Pipe *p, Build *b, Map *map, Val *pred, Op *late)
{
    const Op *last = last_index(p);
    for (Op *o = p->body->first; o; o = o->next) {
        if (late && o->prev == last)
            b->before = late;
        if (!map_get(&p->slice, o, 0))
            continue;
        b->loc = o->loc;
        if (o->op != OP_LOAD) {
            ir_clone(b, o, map);
            continue;
        }
        Val *otherwise = o->n_args > 2 ? ir_mapped(map, arg(o, 2)) : NULL;
        map_put(map, result(o, 0), 0, pipeline_clone_load(b, o, map, pred, otherwise));
    }
}

/* What one iteration wants, on its way: copies into slot[Stream.is_late] and their commit, or loads. */
static void
issue(Pipe *p, Build *b, Map *map, Val *pred, Val *const *slot, Op *late)
{
    clone_slice(p, b, map, pred, late);
    for (int i = 0; i < p->n_streams && !p->is_async; i++) {
        const Op *o = p->stream[i].load;
        b->loc = o->loc;
        Val *other = o->n_args > 2 && !ir_is_zero(arg(o, 2))
                         ? ir_mapped(map, arg(o, 2))
                         : ir_const_bits(b, result(o, 0)->type, 0);
        p->stream[i].loaded = pipeline_clone_load(b, o, map, pred, other);
    }
    if (!p->is_async)
        return;
    for (int i = 0; i < p->n_streams; i++) {
        const Op *o = p->stream[i].load;
        b->loc = o->loc;
        Val *mask = o->n_args > 1 ? ir_mapped(map, arg(o, 1)) : NULL;
        Val *count = mask ? pipeline_count(b, arg(o, 1), &p->stream[i].edges, map)
                          : NULL;
        Val *args[] = {ir_mapped(map, arg(o, 0)), p->stream[i].smem,
                       slot[p->stream[i].is_late],
                       masked(b, mask, pred, result(o, 0)->type), count};
        Op *n = ir_op(b, OP_ASYNC_COPY, count ? 5 : 4, args, 0, NULL);
        ir_set_attr(n, ATTR_CACHE, ir_attr(o, ATTR_CACHE));
        ir_set_attr(n, ATTR_EVICT, ir_attr(o, ATTR_EVICT));
    }
    b->loc = p->loop->loc;
    ir_op(b, OP_ASYNC_COMMIT, 0, NULL, 0, NULL);
}

/* The loads of the last issue, which have come by now, into `slot`. */
static void
land(Pipe *p, Build *b, Val *slot)
{
    for (int i = 0; i < p->n_streams && !p->is_async; i++) {
        const Stream *s = &p->stream[i];
        Val *args[] = {s->smem, slot, s->loaded};
        b->loc = s->load->loc;
        if (!s->is_carried)
            ir_op(b, OP_SHARED_STORE, COUNT(args), args, 0, NULL);
    }
}

/* ---- building: reads ------------------------------------------------------------- */

/* The slot as the end of the chain sees it in layout l, made in front of `before`. */
static Val *
read_slot(Pipe *p, const Stream *s, Val *slot, const Chain *chain, const Layout *l,
          Op *before)
{
    Build b = ir_before(before);
    b.loc = s->load->loc;
    Val *v = ir_op1(&b, OP_SHARED_LOAD, 2, (Val *[]){s->smem, slot},
                    ty_slot(p->c, s->smem->type, pipeline_pulled_back(p->c, chain, l)));
    for (int i = 0; i < chain->n; i++) {
        Chain rest = {.n = chain->n - i - 1};
        memcpy(rest.op, chain->op + i + 1, (size_t)rest.n * sizeof *rest.op);
        const Op *o = chain->op[i];
        Map map = {.a = p->c->arena};
        map_put(&map, arg(o, 0), 0, v);
        v = result(ir_clone(&b, o, &map), 0);
        v->type = ty_with_layout(p->c, v->type, pipeline_pulled_back(p->c, &rest, l));
    }
    return v;
}

/* The slot where it lies, as the end of a chain of transpositions sees it. */
static Val *
view_slot(Pipe *p, const Stream *s, Val *slot, const Chain *chain, Op *before)
{
    Build b = ir_before(before);
    b.loc = s->load->loc;
    int all[MAX_RANK], perm[MAX_RANK], next[MAX_RANK];
    const Type *t = ty_smem(p->c, s->smem->type, 1, s->smem->type->layout);
    for (int d = 0; d < t->rank; d++)
        all[d] = d;
    for (int i = 0; i < chain->n; i++) {
        ir_perm(chain->op[i], perm);
        for (int d = 0; d < t->rank; d++)
            next[d] = all[perm[d]];
        memcpy(all, next, sizeof all);
    }
    int32_t shape[MAX_RANK];
    for (int d = 0; d < t->rank; d++)
        shape[d] = t->shape[all[d]];
    const Layout *l = layout_permute(p->c, t->layout, all);
    t = ty_smem(p->c, ty_with_shape(p->c, t, t->rank, shape), 1, l);
    Val *v = ir_op1(&b, OP_SHARED_VIEW, 2, (Val *[]){s->smem, slot}, t);
    ir_set_attr(v->def, ATTR_PERM, perm_pack(t->rank, all));
    return v;
}

static bool
is_all_trans(const Chain *chain)
{
    for (int i = 0; i < chain->n; i++)
        if (chain->op[i]->op != OP_TRANS)
            return false;
    return true;
}

/* The first user of v in its block; v's own definition when there is none. */
static Op *
first_user(const Val *v)
{
    for (Op *o = v->def->next; o; o = o->next)
        for (int i = 0; i < o->n_args; i++)
            if (arg(o, i) == v)
                return o;
    return v->def;
}

static void
read_uses(Pipe *p, const Stream *s, Val *slot, Val *v, Chain *chain)
{
    for (Use *u = v->uses, *next; u; u = next) {
        next = u->next;
        Op *o = u->user;
        if (o->op == OP_CONVERT) {
            const Layout *l = result(o, 0)->type->layout;
            Val *r = read_slot(p, s, slot, chain, l, first_user(result(o, 0)));
            ir_replace(result(o, 0), r);
            ir_erase(o);
        } else if (o->op == OP_TO_SHARED && is_all_trans(chain)) {
            ir_replace(result(o, 0),
                       view_slot(p, s, slot, chain, first_user(result(o, 0))));
            ir_erase(o);
        } else if (pipeline_is_link(o) && chain->n < MAX_CHAIN) {
            chain->op[chain->n++] = o;
            read_uses(p, s, slot, result(o, 0), chain);
            chain->n--;
            if (!result(o, 0)->uses)
                ir_erase(o);
        }
    }
}

static void
replace_load(Pipe *p, const Stream *s, Val *slot)
{
    Chain none = {.n = 0};
    Val *v = result(s->load, 0);
    if (s->is_filled) {
        Build b = ir_behind(s->load);
        Val *r = read_slot(p, s, slot, &none, v->type->layout, s->load);
        ir_replace(v, ir_select(&b, arg(s->load, 1), r, arg(s->load, 2)));
        ir_erase(s->load);
        return;
    }
    read_uses(p, s, slot, v, &none);
    if (v->uses) /* by ops that take it as it was */
        ir_replace(v, read_slot(p, s, slot, &none, v->type->layout, s->load));
    ir_erase(s->load);
}

/* Moves the reads of v, when views of a slot are all it is, in front of `before`. */
static void
hoist_read(const Block *body, const Val *v, Op *before)
{
    Op *chain[MAX_CHAIN];
    int n = 0;
    for (Op *o = v->def; o && o->block == body && n < MAX_CHAIN; o = arg(o, 0)->def) {
        chain[n++] = o;
        if (o->op == OP_SHARED_LOAD || o->op == OP_SHARED_VIEW)
            break;
        if (!op_has(o, OPF_VIEW))
            return;
    }
    if (!n ||
        (chain[n - 1]->op != OP_SHARED_LOAD && chain[n - 1]->op != OP_SHARED_VIEW))
        return;
    while (n-- > 0)
        ir_move_before(chain[n], before);
}

static void
hoist_operands(const Block *body, const Op *dot, Op *before)
{
    hoist_read(body, arg(dot, 0), before);
    hoist_read(body, arg(dot, 1), before);
}

/* The first dot's operands are read before the copies are issued: the tensor cores need
 * not wait until those are through the same queue. Where a thread would spill they are read
 * right before it: 2 warps of the delta rule's states by 64x64 keep 32 words less over three moves. */
static void
hoist_first_reads(Func *f, const Block *body, Op *before)
{
    enum { MAX_WORDS = 230 }; /* of a thread, beside addresses */
    Op *dot = before;
    while (dot && dot->op != OP_DOT)
        dot = dot->next;
    if (!dot)
        return;
    hoist_operands(body, dot, before);
    if (most_live_words(f) > MAX_WORDS)
        hoist_operands(body, dot, dot);
}

/* ---- building: the loop ---------------------------------------------------------- */

/* What goes round the loop for its slots, [1]: of streams that are late. In units of 1 << Pipe.unit bytes. */
typedef struct Ring {
    Val *first; /* of the first iteration */
    Val *read[2], *write[2];
    Val *next[2]; /* what `read` is in the next iteration */
    Val *one, *n_slots[2];
    Val **now; /* by argument of the loop: of the slice, `ahead` iterations on */
    /* By stream: what was loaded an iteration ago, without asynchronous copies. */
    Val **loaded;
} Ring;

/* Does every thread read what it copied itself, and nothing else? */
static bool
reads_are_own(Pipe *p)
{
    for (int i = 0; i < p->n_streams; i++)
        for (const Use *u = p->stream[i].smem->uses; u; u = u->next)
            if (u->user->op == OP_SHARED_VIEW ||
                (u->user->op == OP_SHARED_LOAD &&
                 result(u->user, 0)->type->layout != p->stream[i].layout))
                return false;
    return true;
}

/* Then its wait is all it needs, and no matrix is read across lanes. */
static void
drop_barrier(Pipe *p, Op *barrier)
{
    for (int i = 0; i < p->n_streams; i++)
        for (const Use *u = p->stream[i].smem->uses; u; u = u->next)
            if (u->user->op == OP_SHARED_LOAD)
                ir_set_attr(u->user, ATTR_OWN, 1);
    ir_erase(barrier);
}

/* Bytes of the largest slot as log2: what is carried round the loop for a slot is then an
 * offset that needs no multiplication, and a shift where slots are smaller. */
static int
largest_slot(const Pipe *p)
{
    int log2 = 0;
    for (int i = 0; i < p->n_streams; i++) {
        const Type *t = result(p->stream[i].load, 0)->type;
        int64_t bytes = ty_numel(t) * elem_info[t->elem].bytes;
        if (!p->stream[i].is_carried)
            log2 = MAX(log2, 63 - __builtin_clzll((unsigned long long)bytes));
    }
    return log2;
}

/* Pointers that nobody but the next iteration wants are advanced when this one's copies are
 * through: in the registers they are in. */
static void
sink(Op *yield, const Val *v)
{
    if (v->type->is_ptr && v->def && v->def->block == yield->block &&
        v->def->op == OP_ADDPTR && ir_has_one_use(v))
        ir_move_before(v->def, yield);
}

/* The slots, in front of the loop. */
static void
allocate_slots(Pipe *p, Build *b)
{
    p->unit = largest_slot(p);
    for (int i = 0; i < p->n_streams; i++) {
        Stream *s = &p->stream[i];
        const Val *v = result(s->load, 0);
        if (s->is_carried)
            continue;
        const Type *t = ty_smem(p->c, v->type, pipe_slots(p, s->is_late),
                                pipeline_slot_layout(p->c, v, s->dim));
        b->loc = s->load->loc;
        s->smem = ir_op1(b, OP_SHARED_ALLOC, 0, NULL, t);
        s->smem->name = result(s->load, 0)->name;
        ir_set_attr(s->smem->def, ATTR_UNIT, p->unit);
    }
    b->loc = p->loop->loc;
}

/* The first copies, in front of the loop. */
static void
build_prologue(Pipe *p, Build *b, Ring *ring)
{
    const Op *loop = p->loop, *yield = p->body->last;
    int n_args = p->body->n_args;
    Val *lb = arg(loop, 0);
    ring->first = ir_const_i32(b, 0);
    ring->now = NEW_N(p->c->arena, Val *, n_args);
    for (int i = 1; i < n_args; i++)
        ring->now[i] = arg(loop, i + 2);
    for (int stage = 0; stage < p->ahead; stage++) {
        Map map = {.a = p->c->arena};
        map_put(&map, p->body->args[0], 0,
                pipeline_iv_after(b, loop, p->step, lb, stage));
        for (int i = 1; i < n_args; i++)
            if (p->carried[i])
                map_put(&map, p->body->args[i], 0, ring->now[i]);
        /* As in the loop, i + stage is never computed: it might wrap. */
        PipeBound end = pipeline_bound(b, loop, p->step, stage);
        Val *slot = stage ? ir_const_i32(b, stage << p->unit) : ring->first;
        issue(p, b, &map, pipeline_is_inside(b, &end, lb), (Val *[]){slot, slot}, NULL);
        land(p, b, ring->first);
        for (int i = 1; i < n_args; i++)
            if (p->carried[i])
                ring->now[i] = ir_mapped(&map, arg(yield, i - 1));
    }
}

/* Are there streams that are late, or that are not? */
static bool
has_streams(const Pipe *p, bool late)
{
    for (int i = 0; i < p->n_streams; i++)
        if (p->stream[i].is_late == late)
            return true;
    return false;
}

/* The loop's new arguments; map: from the slice's to those that run ahead. */
static void
carry_ring(Pipe *p, Ring *ring, Val *slot_ahead, Map *map)
{
    for (int i = 1, n = p->body->n_args; i < n && !p->is_whole; i++)
        if (p->carried[i]) {
            Val *v = p->body->args[i];
            map_put(map, v, 0, ir_carry(p->loop, ring->now[i], v->name));
        }
    for (int late = 0; late < 2; late++) {
        if (!has_streams(p, late))
            continue;
        ring->read[late] = ir_carry(p->loop, ring->first, "read");
        if (!p->is_whole)
            ring->write[late] = late ? ring->read[late]
                                     : ir_carry(p->loop, slot_ahead, "write");
    }
    ring->loaded = NEW_N(p->c->arena, Val *, p->n_streams);
    for (int i = 0; i < p->n_streams; i++) {
        const Stream *s = &p->stream[i];
        if (s->is_carried)
            ring->loaded[i] = ir_carry(p->loop, s->loaded, result(s->load, 0)->name);
    }
}

/* Streams in registers: the loads of this iteration go round to the next. */
static void
rotate_loaded(Pipe *p, const Ring *ring)
{
    for (int i = 0; i < p->n_streams; i++) {
        Stream *s = &p->stream[i];
        if (!s->is_carried)
            continue;
        ir_add_arg(p->body->last, s->loaded);
        ir_replace(result(s->load, 0), ring->loaded[i]);
        ir_erase(s->load);
    }
}

static bool
has_slots(const Pipe *p)
{
    for (int i = 0; i < p->n_streams; i++)
        if (!p->stream[i].is_carried)
            return true;
    return false;
}

/* The slot behind this one. */
static Val *
next_slot(Build *b, Val *slot, Val *one, Val *n_slots, Val *first)
{
    Val *up = ir_bin(b, OP_ADD, slot, one);
    return ir_select(b, ir_bin(b, OP_EQ, up, n_slots), first, up);
}

/* Do tensor cores read slots where they are? */
static bool
is_viewed(const Pipe *p)
{
    for (int i = 0; i < p->n_streams; i++)
        for (const Use *u = p->stream[i].smem ? p->stream[i].smem->uses : NULL; u;
             u = u->next)
            if (u->user->op == OP_SHARED_VIEW)
                return true;
    return false;
}

/* Then what a thread's copies brought is theirs behind a fence of that thread, before all
 * meet; and where products stay open for an iteration, the loop says so. */
static void
fence_slots(Pipe *p, Op *barrier)
{
    Build b = {.f = p->f, .block = p->body, .before = barrier, .loc = p->loop->loc};
    ir_op(&b, OP_FENCE_ASYNC, 0, NULL, 0, NULL);
    if (p->behind)
        ir_set_attr(p->loop, ATTR_LOOP, ir_attr(p->loop, ATTR_LOOP) | LOOP_MMA_BEHIND);
}

/* Goes on to the next iteration's slots. */
static void
turn_ring(Pipe *p, Build *b, Ring *ring)
{
    Op *yield = p->body->last;
    for (int late = 0; late < 2; late++) {
        if (!ring->read[late])
            continue;
        Val *n = ring->n_slots[late], *one = ring->one;
        ring->next[late] = next_slot(b, ring->read[late], one, n, ring->first);
        ir_add_arg(yield, ring->next[late]);
        if (!late && ring->write[0])
            ir_add_arg(yield, p->behind
                                  ? next_slot(b, ring->write[0], one, n, ring->first)
                                  : ring->read[0]);
    }
}

/* A barrier at the end of the iteration, where all threads have read its slots. */
static void
read_by_all(Pipe *p)
{
    Build b = ir_before(p->body->last);
    b.loc = p->loop->loc;
    ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
}

/* The first op behind the body's reads of slots that the copies fill. */
static Op *
behind_late_reads(const Pipe *p)
{
    Op *at = p->body->first;
    for (int i = 0; i < p->n_streams; i++)
        for (const Use *u = p->stream[i].smem->uses; p->stream[i].is_late && u;
             u = u->next) {
            Op *o = u->user->op == OP_ASYNC_COPY ? NULL : ir_op_in(p->body, u->user);
            for (const Op *k = at; o && k; k = k->next)
                if (k == o)
                    at = o->next;
        }
    return at;
}

/* Moves the iteration's copies, which begin with `from`, in front of the product that what was read last is for. */
static void
raise_copies(const Pipe *p, Op *from)
{
    Op *at = behind_late_reads(p);
    while (at != from && at->op != OP_DOT && !at->n_regions)
        at = at->next;
    for (Op *o = from, *next; at != from && o; o = next) {
        next = o->op == OP_ASYNC_COMMIT ? NULL : o->next;
        ir_move_before(o, at);
    }
}

void
pipeline_rewrite(Pipe *p)
{
    Op *loop = p->loop, *yield = p->body->last;
    int n_args = p->body->n_args, ahead = p->ahead;
    Build b = ir_before(loop);
    Ring ring = {0};
    allocate_slots(p, &b);
    build_prologue(p, &b, &ring);
    PipeBound end = pipeline_bound(&b, loop, p->step, ahead);
    Val *slot_ahead = ir_const_i32(&b, ahead << p->unit);
    ring.one = ir_const_i32(&b, 1 << p->unit);
    for (int late = 0; late < 2; late++)
        if (has_streams(p, late))
            ring.n_slots[late] = ir_const_i32(&b, pipe_slots(p, late) << p->unit);
    Map map = {.a = p->c->arena};
    carry_ring(p, &ring, slot_ahead, &map);

    b = (Build){
        .f = p->f, .block = p->body, .before = p->body->first, .loc = loop->loc};
    Op *wait = p->is_async ? ir_op(&b, OP_ASYNC_WAIT, 0, NULL, 0, NULL) : NULL;
    if (wait)
        ir_set_attr(wait, ATTR_PENDING, ahead - 1);
    Op *barrier = ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    Val *iv = p->body->args[0];
    map_put(&map, iv, 0, pipeline_iv_after(&b, loop, p->step, iv, ahead));
    Op *from = yield->prev;
    if (has_streams(p, true))
        read_by_all(p);
    if (p->is_whole)
        ir_op(&b, OP_ASYNC_COMMIT, 0, NULL, 0, NULL);
    else
        issue(p, &b, &map, pipeline_is_inside(&b, &end, iv), ring.write,
              p->copies_at == COPIES_FIRST ? NULL : yield);
    for (int i = 1; i < n_args && !p->is_whole; i++)
        if (p->carried[i]) {
            ir_add_arg(yield, ir_mapped(&map, arg(yield, i - 1)));
            sink(yield, arg(yield, yield->n_args - 1));
        }
    from = from->next;
    for (int i = 0; i < p->n_streams; i++)
        if (!p->stream[i].is_carried)
            replace_load(p, &p->stream[i], ring.read[p->stream[i].is_late]);
    b = (Build){.f = p->f, .block = p->body, .before = barrier->next, .loc = loop->loc};
    turn_ring(p, &b, &ring);
    if (is_viewed(p))
        fence_slots(p, barrier);
    rotate_loaded(p, &ring);

    Pipelined done = {p->f,         loop,         wait,       barrier,
                      ring.read[0], ring.next[0], ring.first, ahead};
    if (!has_slots(p))
        ir_erase(barrier);
    else if (p->is_async && reads_are_own(p))
        drop_barrier(p, barrier);
    else if (p->is_async && p->copies_at == COPIES_FIRST && !pipeline_steps(&done) &&
             !pipeline_operand(&done))
        hoist_first_reads(p->f, p->body, barrier->next);
    if (p->copies_at == COPIES_AT_DOT)
        raise_copies(p, from);
    b.before = yield;
    land(p, &b, ring.write[0]);

    b = (Build){
        .f = p->f, .block = loop->block, .before = loop->next, .loc = loop->loc};
    if (p->is_async)
        ir_op(&b, OP_ASYNC_WAIT, 0, NULL, 0, NULL);
    ir_set_attr(loop, ATTR_STAGES, 1); /* done: not again */
}
