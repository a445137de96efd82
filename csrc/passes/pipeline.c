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
 * another way of reading the slot.
 *
 * An operand of a dot that does not change in the loop (the queries of attention) goes
 * to shared memory, too, where registers would not do otherwise: it is stored once
 * before the loop and read again in each iteration.
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
#include "passes/layouts.h"
#include "passes/pipeline.h"

enum {
    MAX_STREAMS = 16,
    SLICE_BUDGET = 512,
    MIN_BYTES = 4,      /* of a copy */
    ALIGN = 1024,       /* of a slot, in bytes */
    MAX_PRESSURE = 200, /* registers of 255 */
};

/* A load that becomes copies. */
typedef struct Stream {
    Op *load;
    int dim;              /* along which a thread's elements are contiguous */
    int64_t bytes;        /* of a slot, rounded up */
    const Layout *layout; /* of what is copied: who copies which element */
    bool is_filled;       /* where its mask is false with something else than zeros */
    Val *smem;
    /* Where there are no asynchronous copies: */
    bool is_carried; /* from iteration to iteration, in registers: there is no slot */
    Val *loaded;     /* of the last issue */
} Stream;

typedef struct Pipe {
    Func *f;
    Comp *c;
    FactTable *facts;
    Op *loop;
    Block *body;
    Stream stream[MAX_STREAMS];
    int n_streams;
    Map slice;      /* Op in the body -> itself: what addresses are made of */
    bool *carried;  /* by argument of the body: part of the slice */
    int ahead;      /* iterations between a copy and its use */
    int64_t step;   /* of the loop, a constant > 0; 0: not known */
    int64_t parked; /* bytes of operands that wait in shared memory */
    int unit;       /* slots are counted in bytes of the largest, log2 */
    bool is_async;  /* has the chip copies that pass registers by? */
} Pipe;

/* ---- which loads ----------------------------------------------------------------- */

static bool
is_operand(const Use *u)
{
    return u->user->op == OP_DOT && u - u->user->args < 2;
}

static bool
feeds_dot(const Val *v, int depth)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        if (is_operand(u))
            return true;
        if (depth < MAX_CHAIN && (o->op == OP_CONVERT || pipeline_is_link(o)) &&
            feeds_dot(result(o, 0), depth + 1))
            return true;
    }
    return false;
}

/* Does v end in tensor cores? Multiply-adds put operands into shared memory themselves. */
static bool
feeds_mma(const Func *f, const Val *v, int depth)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        if (is_operand(u)) {
            DotPlan plan;
            dot_plan(f, o, &plan);
            if (plan.is_mma)
                return true;
        } else if (depth < MAX_CHAIN && (o->op == OP_CONVERT || pipeline_is_link(o)) &&
                   feeds_mma(f, result(o, 0), depth + 1)) {
            return true;
        }
    }
    return false;
}

/* Does each element stand with one thread only? Else copies would race. */
static bool
has_one_owner(const Layout *l)
{
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++)
            if (!l->basis[in][i])
                return false;
    return layout_is_injective(l);
}

static int64_t
slot_bytes(const Type *t)
{
    int64_t bytes = ty_numel(t) * elem_info[t->elem].bytes;
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static bool
is_zero(const Val *v)
{
    uint64_t bits;
    return ir_is_const(v, &bits) && bits == 0;
}

static bool
fits(Pipe *p, Op *o, Stream *s)
{
    const Type *t = result(o, 0)->type;
    if (o->op != OP_LOAD || !t->rank || t->is_ptr || ir_attr(o, ATTR_VOLATILE) ||
        ir_attr(o, ATTR_CACHE) == CACHE_CV || !has_one_owner(t->layout))
        return false;
    int dim = facts_fastest_dim(p->facts, o), bit[MAX_BITS],
        elem = elem_info[t->elem].bytes;
    int run = layout_run(t->layout, dim, __builtin_ctz(16u / (unsigned)elem), bit);
    int vec = facts_access_log2(p->facts, o, dim, elem << run);
    *s = (Stream){.load = o,
                  .dim = dim,
                  .bytes = slot_bytes(t),
                  .layout = t->layout,
                  .is_filled = o->n_args > 2 && !is_zero(arg(o, 2)),
                  .is_carried = !p->is_async && !feeds_mma(p->f, result(o, 0), 0)};
    if (s->is_carried) {
        s->bytes = 0;
        return !s->is_filled;
    }
    return elem << vec >= MIN_BYTES || !p->is_async;
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
static void
find_slice(Pipe *p)
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

static bool
find_streams(Pipe *p, bool all)
{
    for (Op *o = p->body->first; o && p->n_streams < MAX_STREAMS; o = o->next) {
        Stream s;
        Map slice = {.a = p->c->arena};
        if (o->op == OP_LOAD && (all || feeds_dot(result(o, 0), 0)) &&
            pipeline_may_overtake(p->f, p->loop, o) && fits(p, o, &s) &&
            slice_of(p, o, &slice, NEW_N(p->c->arena, bool, p->body->n_args)))
            p->stream[p->n_streams++] = s;
    }
    find_slice(p);
    return p->n_streams > 0;
}

/* ---- how far ahead --------------------------------------------------------------- */

/* Shared memory that the other ops of the loop will want for themselves, at most. */
static int64_t
scratch_bytes(const Block *b)
{
    int64_t most = 0;
    for (const Op *o = b->first; o; o = o->next) {
        int64_t bytes = 0;
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            most = MAX(most, scratch_bytes(o->regions[i]));
        const Type *t = o->n_args ? arg(o, 0)->type : NULL;
        if (o->op == OP_CONVERT && !feeds_dot(result(o, 0), 0))
            bytes = ty_numel(t) * MAX(ty_bits(t) / 8, 1);
        else if (o->op == OP_REDUCE || o->op == OP_SCAN)
            bytes = 4096 * o->n_args;
        else if (o->op == OP_GATHER)
            bytes = ty_numel(t) * MAX(ty_bits(t) / 8, 1);
        most = MAX(most, bytes);
    }
    return most;
}

/* Iterations between copy and use, at most stages - 1; 0: no room for two slots. */
static int
distance(Pipe *p, int stages)
{
    int64_t room = shared_memory_limit(&p->c->opt.target) - scratch_bytes(p->body),
            each = 0;
    room -= p->parked;
    for (int i = 0; i < p->n_streams; i++)
        each += p->stream[i].bytes;
    int ahead = p->is_async ? MIN(stages, MAX_SLOTS) - 1 : 1;
    while (ahead > 0 && (ahead + 1) * each > room)
        ahead--;
    return ahead;
}

/* ---- building: copies ------------------------------------------------------------ */

static Val *
op1(Build *b, OpCode op, int n, Val *const *args, const Type *t)
{
    return result(ir_op(b, op, n, args, 1, &t), 0);
}

static Val *
mapped(const Map *map, Val *v)
{
    Val *to = map_get(map, v, 0);
    return to ? to : v;
}

/* mask (NULL: all) and the scalar pred, in the type of a mask of t's elements. */
static Val *
masked(Build *b, Val *mask, Val *pred, const Type *t)
{
    const Type *mt = ty_with_elem(b->f->c, t, E_I1);
    Val *all = t->rank ? op1(b, OP_SPLAT, 1, &pred, mt) : pred;
    return mask ? ir_bin(b, OP_AND, mask, all) : all;
}

/* The load o as map has its operands; it happens only if pred. otherwise: what it gives
 * where it does not happen, or NULL. */
static Val *
clone_load(Build *b, const Op *o, const Map *map, Val *pred, Val *otherwise)
{
    Val *args[3] = {mapped(map, arg(o, 0)), NULL, otherwise};
    const Type *t = result(o, 0)->type;
    b->loc = o->loc;
    args[1] = masked(b, o->n_args > 1 ? mapped(map, arg(o, 1)) : NULL, pred, t);
    Op *n = ir_op(b, OP_LOAD, otherwise ? 3 : 2, args, 1, &t);
    memcpy(n->attr, o->attr, sizeof n->attr);
    return result(n, 0);
}

/* One iteration of the slice, as map has its arguments. Loads happen only if pred. */
static void
clone_slice(Pipe *p, Build *b, Map *map, Val *pred)
{
    for (Op *o = p->body->first; o; o = o->next) {
        if (!map_get(&p->slice, o, 0))
            continue;
        b->loc = o->loc;
        if (o->op != OP_LOAD) {
            ir_clone(b, o, map);
            continue;
        }
        Val *otherwise = o->n_args > 2 ? mapped(map, arg(o, 2)) : NULL;
        map_put(map, result(o, 0), 0, clone_load(b, o, map, pred, otherwise));
    }
}

/* What one iteration wants, on its way: copies into `slot` and their commit, or loads. */
static void
issue(Pipe *p, Build *b, Map *map, Val *pred, Val *slot)
{
    clone_slice(p, b, map, pred);
    for (int i = 0; i < p->n_streams && !p->is_async; i++) {
        const Op *o = p->stream[i].load;
        b->loc = o->loc;
        Val *zero = ir_const_bits(b, result(o, 0)->type, 0);
        p->stream[i].loaded = clone_load(b, o, map, pred, zero);
    }
    if (!p->is_async)
        return;
    for (int i = 0; i < p->n_streams; i++) {
        const Op *o = p->stream[i].load;
        b->loc = o->loc;
        Val *mask = o->n_args > 1 ? mapped(map, arg(o, 1)) : NULL;
        Val *args[] = {mapped(map, arg(o, 0)), p->stream[i].smem, slot,
                       masked(b, mask, pred, result(o, 0)->type)};
        Op *n = ir_op(b, OP_ASYNC_COPY, COUNT(args), args, 0, NULL);
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

static Val *
const_i32(Build *b, int v)
{
    return ir_const_int(b, ty_scalar(b->f->c, E_I32), v);
}

/* ---- building: reads ------------------------------------------------------------- */

/* The slot as the end of the chain sees it in layout l, made in front of `before`. */
static Val *
read_slot(Pipe *p, const Stream *s, Val *slot, const Chain *chain, const Layout *l,
          Op *before)
{
    Build b = {
        .f = p->f, .block = before->block, .before = before, .loc = s->load->loc};
    const Type *t = ty_slot(p->c, s->smem->type, pipeline_pulled_back(p->c, chain, l));
    Val *v = op1(&b, OP_SHARED_LOAD, 2, (Val *[]){s->smem, slot}, t);
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
        Build b = {.f = p->f,
                   .block = s->load->block,
                   .before = s->load->next,
                   .loc = s->load->loc};
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
        if (o->op == OP_SHARED_LOAD)
            break;
        if (!op_has(o, OPF_VIEW))
            return;
    }
    if (!n || chain[n - 1]->op != OP_SHARED_LOAD)
        return;
    while (n-- > 0)
        ir_move_before(chain[n], before);
}

/* The first dot's operands are read before the copies are issued: the tensor cores need
 * not wait until those are through the same queue. */
static void
hoist_first_reads(const Block *body, Op *before)
{
    for (const Op *o = before; o; o = o->next)
        if (o->op == OP_DOT) {
            hoist_read(body, arg(o, 0), before);
            hoist_read(body, arg(o, 1), before);
            return;
        }
}

/* ---- building: the loop ---------------------------------------------------------- */

/* Does every thread read what it copied itself, and nothing else? */
static bool
reads_are_own(Pipe *p)
{
    for (int i = 0; i < p->n_streams; i++)
        for (const Use *u = p->stream[i].smem->uses; u; u = u->next)
            if (u->user->op == OP_SHARED_LOAD &&
                result(u->user, 0)->type->layout != p->stream[i].layout)
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

/* Another carried value of the loop; its next one is given later. */
static Val *
carry(Pipe *p, Val *init, const char *name)
{
    ir_add_arg(p->loop, init);
    ir_add_result(p->loop, init->type);
    return ir_block_arg(p->body, init->type, name);
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
        v->def->op == OP_ADDPTR && v->uses && !v->uses->next)
        ir_move_before(v->def, yield);
}

static void
rewrite(Pipe *p)
{
    Op *loop = p->loop, *yield = p->body->last;
    int n_args = p->body->n_args, ahead = p->ahead;
    Build b = {.f = p->f, .block = loop->block, .before = loop, .loc = loop->loc};
    p->unit = largest_slot(p);
    for (int i = 0; i < p->n_streams; i++) {
        Stream *s = &p->stream[i];
        const Val *v = result(s->load, 0);
        if (s->is_carried)
            continue;
        const Type *t = ty_smem(p->c, v->type, ahead + 1,
                                pipeline_slot_layout(p->c, v, s->dim));
        b.loc = s->load->loc;
        s->smem = op1(&b, OP_SHARED_ALLOC, 0, NULL, t);
        s->smem->name = result(s->load, 0)->name;
        ir_set_attr(s->smem->def, ATTR_UNIT, p->unit);
    }
    b.loc = loop->loc;

    Val **now = NEW_N(p->c->arena, Val *, n_args); /* of the slice, by argument */
    Val *lb = arg(loop, 0), *slot_0 = const_i32(&b, 0);
    for (int i = 1; i < n_args; i++)
        now[i] = arg(loop, i + 2);
    for (int stage = 0; stage < ahead; stage++) {
        Map map = {.a = p->c->arena};
        map_put(&map, p->body->args[0], 0,
                pipeline_iv_after(&b, loop, p->step, lb, stage));
        for (int i = 1; i < n_args; i++)
            if (p->carried[i])
                map_put(&map, p->body->args[i], 0, now[i]);
        /* As in the loop, i + stage is never computed: it might wrap. */
        PipeBound end = pipeline_bound(&b, loop, p->step, stage);
        issue(p, &b, &map, pipeline_is_inside(&b, &end, lb),
              stage ? const_i32(&b, stage << p->unit) : slot_0);
        land(p, &b, slot_0);
        for (int i = 1; i < n_args; i++)
            if (p->carried[i])
                now[i] = mapped(&map, arg(yield, i - 1));
    }
    PipeBound end = pipeline_bound(&b, loop, p->step, ahead);
    Val *slot_d = const_i32(&b, ahead << p->unit), *one = const_i32(&b, 1 << p->unit),
        *n_slots = const_i32(&b, (ahead + 1) << p->unit);

    Map map = {.a = p->c->arena};
    Val **arg_of = NEW_N(p->c->arena, Val *, n_args);
    for (int i = 1; i < n_args; i++)
        if (p->carried[i]) {
            arg_of[i] = carry(p, now[i], p->body->args[i]->name);
            map_put(&map, p->body->args[i], 0, arg_of[i]);
        }
    Val *read = carry(p, slot_0, "read"), *write = carry(p, slot_d, "write");

    Val **before = NEW_N(p->c->arena, Val *,
                         p->n_streams); /* loaded an iteration ago */
    for (int i = 0; i < p->n_streams; i++)
        if (p->stream[i].is_carried)
            before[i] = carry(p, p->stream[i].loaded,
                              p->stream[i].load->results[0]->name);
    Op *first = p->body->first;
    b = (Build){.f = p->f, .block = p->body, .before = first, .loc = loop->loc};
    Op *wait = p->is_async ? ir_op(&b, OP_ASYNC_WAIT, 0, NULL, 0, NULL) : NULL;
    if (wait)
        ir_set_attr(wait, ATTR_PENDING, ahead - 1);
    Op *barrier = ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    Val *iv = p->body->args[0];
    map_put(&map, iv, 0, pipeline_iv_after(&b, loop, p->step, iv, ahead));
    issue(p, &b, &map, pipeline_is_inside(&b, &end, iv), write);

    for (int i = 1; i < n_args; i++)
        if (p->carried[i]) {
            ir_add_arg(yield, mapped(&map, arg(yield, i - 1)));
            sink(yield, arg(yield, yield->n_args - 1));
        }
    for (int i = 0; i < p->n_streams; i++)
        if (!p->stream[i].is_carried)
            replace_load(p, &p->stream[i], read);
    b = (Build){.f = p->f, .block = p->body, .before = barrier->next, .loc = loop->loc};
    Val *up = ir_bin(&b, OP_ADD, read, one);
    Val *next = ir_select(&b, ir_bin(&b, OP_EQ, up, n_slots), slot_0, up);
    ir_add_arg(yield, next);
    ir_add_arg(yield, read);
    for (int i = 0; i < p->n_streams; i++)
        if (p->stream[i].is_carried) {
            ir_add_arg(yield, p->stream[i].loaded);
            ir_replace(result(p->stream[i].load, 0), before[i]);
            ir_erase(p->stream[i].load);
        }
    bool any_slot = false;
    for (int i = 0; i < p->n_streams; i++)
        any_slot = any_slot || !p->stream[i].is_carried;
    Pipelined done = {p->f, loop, wait, barrier, read, next, slot_0, ahead};
    if (!any_slot)
        ir_erase(barrier);
    else if (p->is_async && reads_are_own(p))
        drop_barrier(p, barrier);
    else if (p->is_async && !pipeline_steps(&done))
        hoist_first_reads(p->body, barrier->next);
    b.before = yield;
    land(p, &b, write);

    b = (Build){
        .f = p->f, .block = loop->block, .before = loop->next, .loc = loop->loc};
    if (p->is_async)
        ir_op(&b, OP_ASYNC_WAIT, 0, NULL, 0, NULL);
    ir_set_attr(loop, ATTR_STAGES, 1); /* done: not again */
}

/* ---- operands that do not change ------------------------------------------------- */

/* The operand of a dot of the loop that comes from outside, in registers, and could as
 * well come out of shared memory: the result of a move. */
static Val *
find_idle(Pipe *p)
{
    for (const Op *o = p->body->first; o; o = o->next)
        for (int i = 0; o->op == OP_DOT && i < 2; i++) {
            Val *v = arg(o, i);
            if (v->def && v->def->op == OP_CONVERT && is_defined_outside(v, p->body) &&
                elem_info[v->type->elem].bytes >= 2)
                return v;
        }
    return NULL;
}

/* Stores what `move` moves, and reads it in front of every dot in a loop below. */
static void
park(Pipe *p, Op *move)
{
    Val *v = result(move, 0), *from = arg(move, 0);
    const Type *t = ty_smem(p->c, from->type, 1,
                            pipeline_slot_layout(p->c, from, from->type->rank - 1));
    Build b = {.f = p->f, .block = move->block, .before = move, .loc = move->loc};
    Val *smem = op1(&b, OP_SHARED_ALLOC, 0, NULL, t), *slot = const_i32(&b, 0);
    ir_op(&b, OP_SHARED_STORE, 3, (Val *[]){smem, slot, from}, 0, NULL);
    ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    for (Use *u = v->uses, *next; u; u = next) {
        next = u->next;
        Op *o = u->user;
        int i = (int)(u - o->args);
        if (o->op != OP_DOT || o->block == move->block)
            continue;
        Build at = {.f = p->f, .block = o->block, .before = o, .loc = o->loc};
        const Type *rt = ty_slot(p->c, t, v->type->layout);
        ir_set_arg(o, i, op1(&at, OP_SHARED_LOAD, 2, (Val *[]){smem, slot}, rt));
    }
    if (!v->uses)
        ir_erase(move);
}

static void
park_idle(Pipe *p)
{
    while (loop_pressure(p->loop) > MAX_PRESSURE) {
        Val *v = find_idle(p);
        if (!v)
            return;
        park(p, v->def);
    }
}

/* Bytes of shared memory that the loop reads already. */
static int64_t
parked_bytes(Pipe *p)
{
    Map seen = {.a = p->c->arena};
    int64_t sum = 0;
    for (Op *o = p->body->first; o; o = o->next) {
        if (o->op != OP_SHARED_LOAD || map_get(&seen, arg(o, 0), 0))
            continue;
        map_put(&seen, arg(o, 0), 0, o);
        sum += slot_bytes(arg(o, 0)->type) * arg(o, 0)->type->slots;
    }
    return sum;
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
    if (stages < 2 || bits < 32 || (!step && bits > 32))
        return;
    Pipe p = {.f = f,
              .c = f->c,
              .facts = facts_new(f),
              .loop = loop,
              .body = loop->regions[0],
              .step = step,
              .is_async = f->c->opt.target.sm >= 80};
    if (!find_streams(&p, asked > 0 && p.is_async))
        return;
    park_idle(&p);
    p.parked = parked_bytes(&p);
    p.ahead = distance(&p, stages);
    if (p.ahead > 0)
        rewrite(&p);
}

static void
walk(Func *f, Block *b)
{
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            walk(f, o->regions[i]);
        if (o->op == OP_FOR)
            try_loop(f, o);
    }
}

void
pass_pipeline(Func *f)
{
    if (f->c->opt.target.kind != TARGET_CPU)
        walk(f, f->body);
}
