/* control: for, while and if.
 *
 * Scalars that a loop carries are phis. Blocks it carries live in scratch: the next value is
 * written over the old one. Blocks that each turn moves by a scalar are none of these any more
 * (passes/tile/scalar_steps.c).
 *
 * A yielded value is computed right into the carried buffer when all that is still to be
 * computed from the old one is computed in that same nest at the same index; else it goes
 * through scratch of its own. The results of an if are buffers that each branch fills.
 */
#include "codegen/host/host.h"
#include "base/poll.h"

/* ---- values that leave a region --------------------------------------------------------- */

/* One block value that leaves a region, and where to. */
typedef struct Move {
    const Val *v;
    View to;
    View via;      /* buf NULL: straight to `to` */
    bool is_there; /* v is in `to` already */
} Move;

/* One question of host_reads(). */
typedef struct Reads {
    const Buf *buf;
    Map seen; /* Val -> turned, a bool: what is used twice is walked once, not 2^depth times */
    int worst; /* so far */
} Reads;

static void
reads_more(Host *h, Reads *r, const Val *v, bool turned)
{
    VState *s = state(h, v);
    if (s->kind == V_BUFFER && s->view.buf == r->buf)
        r->worst = MAX(r->worst, turned ? 2 : 1);
    const bool *was_turned = map_get(&r->seen, v, 0);
    if (s->kind != V_LAZY || (was_turned && *was_turned >= turned))
        return;
    bool *kept = NEW(h->c->arena, bool);
    *kept = turned;
    map_put(&r->seen, v, 0, kept);
    turned |= op_is_through(v->def);
    for (int i = 0; i < v->def->n_args && r->worst < 2; i++)
        reads_more(h, r, arg(v->def, i), turned);
}

int
host_reads(Host *h, const Val *v, const Buf *buf)
{
    Reads r = {.buf = buf, .seen = {.a = h->c->arena}};
    reads_more(h, &r, v, false);
    return r.worst;
}

static bool
goes_straight(Host *h, const Move *m, int n, int i)
{
    if (state(h, m[i].v)->kind == V_BUFFER)
        return true; /* a copy at the end, unless somebody writes over it: below */
    for (int k = 0; k < n; k++) {
        int how = m[k].is_there ? 0 : host_reads(h, m[k].v, m[i].to.buf);
        if (how && (k != i || how == 2))
            return false;
    }
    return true;
}

static bool
is_target(const Move *m, int n, const Buf *b)
{
    for (int i = 0; i < n; i++)
        if (m[i].to.buf == b)
            return true;
    return false;
}

static void
copy_block(Host *h, const Type *t, const View *to, const View *from)
{
    Ll *l = h->l;
    uint64_t bytes = (uint64_t)ty_numel(t) * (uint64_t)ty_bytes(t);
    LLVMBuildMemCpy(l->b, host_address(h, t, to, NULL), 64,
                    host_address(h, t, from, NULL), 64, ll_i64(l, (int64_t)bytes));
}

/* Parallel assignment: what computes from old values does so before they are gone. */
static void
move_all(Host *h, Move *m, int n)
{
    for (int i = 0; i < n; i++) {
        VState *s = state(h, m[i].v);
        m[i].is_there = s->kind == V_BUFFER && s->view.buf == m[i].to.buf;
    }
    for (int i = 0; i < n; i++) {
        if (m[i].is_there)
            continue;
        VState *s = state(h, m[i].v);
        bool from_target = s->kind == V_BUFFER && is_target(m, n, s->view.buf);
        if (s->kind == V_BUFFER && !from_target) {
            m[i].via = s->view;
            continue;
        }
        if (!from_target && goes_straight(h, m, n, i))
            continue;
        int64_t bytes = ty_numel(m[i].v->type) * ty_bytes(m[i].v->type);
        m[i].via = host_view(m[i].v->type, host_buf(h, bytes, m[i].to.buf->free_at));
    }
    for (int i = 0; i < n; i++) {
        if (m[i].is_there)
            continue;
        VState *s = state(h, m[i].v);
        if (s->kind != V_BUFFER)
            host_materialise_to(h, m[i].v, m[i].via.buf ? m[i].via : m[i].to);
        else if (!m[i].via.buf)
            m[i].via = s->view; /* twice the same value: the first one has made it */
        else if (m[i].via.buf != s->view.buf)
            copy_block(h, m[i].v->type, &m[i].via, &s->view);
    }
    host_flush(h);
    for (int i = 0; i < n; i++)
        if (!m[i].is_there && m[i].via.buf)
            copy_block(h, m[i].v->type, &m[i].to, &m[i].via);
}

/* Where v, a control op's result, is read last, at least its end. */
static int
until(Host *h, const Val *v)
{
    return MAX(host_pos(h, v->def), host_last_use(h, v));
}

static View
buffer_for(Host *h, const Val *v, int free_at)
{
    int64_t bytes = ty_numel(v->type) * ty_bytes(v->type);
    return host_view(v->type, host_buf(h, bytes, free_at));
}

static void
set_buffer(Host *h, const Val *v, View w)
{
    *state(h, v) = (VState){.kind = V_BUFFER, .view = w};
}

static void
set_scalar(Host *h, const Val *v, Lv x)
{
    *state(h, v) = (VState){.kind = V_SCALAR, .lv = x};
}

/* v is where x is. */
static void
set_same(Host *h, const Val *v, const Val *x)
{
    *state(h, v) = *state(h, x);
    state(h, v)->last_use = 0;
}

/* Scalars that a terminator hands on. NULL where v is a buffer. */
static void
scalars_of(Host *h, const Op *term, int first, int n, Lv *out)
{
    for (int i = 0; i < n; i++) {
        const Val *v = arg(term, first + i);
        out[i] = v->type->rank ? NULL : host_scalar(h, v);
    }
}

/* The block values that a terminator hands on to the buffers of `to`. */
static void
buffers_of(Host *h, const Op *term, int first, int n, const Val *const *to)
{
    Move *m = NEW_N(h->c->arena, Move, n + 1);
    int k = 0;
    for (int i = 0; i < n; i++)
        if (to[i]->type->rank && state(h, to[i])->kind == V_BUFFER)
            m[k++] = (Move){.v = arg(term, first + i), .to = state(h, to[i])->view};
    move_all(h, m, k);
}

static void
add_incoming(Lv *phi, Lv *x, int n, LLVMBasicBlockRef from)
{
    for (int i = 0; i < n; i++)
        if (phi[i])
            LLVMAddIncoming(phi[i], &x[i], &from, 1);
}

/* ---- looking up ---------------------------------------------------------------------------- */

enum {
    UNSEEN = 32,         /* turns that nobody looks at: most loops have no more */
    MOST_WORK = 1 << 22, /* element operations: a few milliseconds */
};

/* The slot of the Pace of all loops of the program that are looked at, zeroed. */
static Lv
pace_slot(Host *h)
{
    Ll *l = h->l;
    if (h->pace)
        return h->pace;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    Lt t = LLVMArrayType2(l->i64, (sizeof(Pace) + 7) / 8);
    h->pace = host_slot(h, t);
    LLVMPositionBuilderBefore(l->b, LLVMGetBasicBlockTerminator(h->entry));
    LLVMBuildStore(l->b, LLVMConstNull(t), h->pace);
    LLVMPositionBuilderAtEnd(l->b, here);
    return h->pace;
}

/* A turn of a loop: one without an end is left when its launch is to end (base/poll.h). At
 * its start, so that what it carries in scratch can become registers.
 * left: turns until the next look, in a register. The same, for the next turn. Handlers may
 * write to tensors, as other threads may: nothing that the code keeps in registers is theirs. */
static Lv
poll(Host *h, Lv left)
{
    enum {
        OWN_MEMORY = 0xf
    }; /* LLVM: of its arguments, and what the code does not see */
    Ll *l = h->l;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b), look = ll_block(l, "poll"),
                      on = ll_block(l, "on");
    Lv less = LLVMBuildSub(l->b, left, ll_i32(l, 1), ""), zero = ll_i32(l, 0);
    ll_if(l, LLVMBuildICmp(l->b, LLVMIntEQ, less, zero, ""), look, on);
    Lv args[] = {LLVMBuildLoad2(l->b, l->ptr, h->scratch, ""), pace_slot(h)};
    Lv fresh = ll_call_c(l, "tegula_poll", l->i32, args, COUNT(args));
    LLVMAddCallSiteAttribute(fresh, LLVMAttributeFunctionIndex,
                             ll_attribute(l, "memory", OWN_MEMORY));
    LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntEQ, fresh, zero, ""), h->leave,
                    on);
    LLVMPositionBuilderAtEnd(l->b, on);
    Lv next = LLVMBuildPhi(l->b, l->i32, "left");
    LLVMAddIncoming(next, (Lv[]){less, fresh}, (LLVMBasicBlockRef[]){from, look}, 2);
    return next;
}

/* Element operations of a run of b, as far as nothing in it looks up by itself. */
static int64_t
work_of(const Block *b)
{
    int64_t sum = 0;
    for (const Op *o = b->first; o && sum < MOST_WORK; o = o->next) {
        int64_t n = 1, times = 1, lb, ub, step;
        for (int i = 0; i < o->n_args; i++)
            n = MAX(n, ty_numel(arg(o, i)->type));
        for (int i = 0; i < o->n_results; i++)
            n = MAX(n, ty_numel(result(o, i)->type));
        if (o->op == OP_DOT)
            n *= arg(o, 0)->type->shape[1];
        if (o->op == OP_FOR && ir_const_as_int(arg(o, 0), &lb) &&
            ir_const_as_int(arg(o, 1), &ub) && ir_const_as_int(arg(o, 2), &step) &&
            step)
            times = MAX((int64_t)(((double)ub - (double)lb) / (double)step), 1);
        for (int i = 0; i < o->n_regions; i++)
            if (o->regions[i])
                n += work_of(o->regions[i]);
        sum += MIN(times, MOST_WORK) * MIN(n, MOST_WORK);
    }
    return MIN(sum, MOST_WORK);
}

/* Is a loop of so many turns over before anybody could wait for it? */
static bool
is_short(Lv count, const Block *body)
{
    if (!LLVMIsAConstantInt(count))
        return false;
    uint64_t n = LLVMConstIntGetZExtValue(count);
    return n < MOST_WORK && (int64_t)n * work_of(body) < MOST_WORK;
}

/* ---- for ------------------------------------------------------------------------------------- */

/* Does a `for` around this loop carry v for this loop alone? */
static bool
is_carried_on(Host *h, const Val *v)
{
    const Op *owner = v->block->owner;
    return !v->def && owner && owner->op == OP_FOR && ir_has_one_use(v) &&
           state(h, v)->kind == V_BUFFER;
}

/* Prepares what the loop carries: buffers are filled; init[i] is the scalar, or NULL. What a
 * `while` carries is kept as long as what its condition hands on may be: the same scratch. */
static void
start_carried(Host *h, const Op *o, int first_arg, const Val *const *carried, int n,
              Lv *init)
{
    int all = host_pos(h, o);
    for (int i = 0; i < o->n_results; i++)
        all = MAX(all, host_last_use(h, result(o, i)));
    for (int i = 0; i < n; i++) {
        const Val *v = carried[i], *from = arg(o, first_arg + i);
        if (!v->type->rank) {
            init[i] = host_scalar(h, from);
            continue;
        }
        if (o->op == OP_FOR && is_carried_on(h, from)) {
            set_same(h, v, from);
            continue;
        }
        View w = buffer_for(h, v, o->op == OP_WHILE ? all : until(h, result(o, i)));
        host_materialise_to(h, from, w);
        set_buffer(h, v, w);
    }
    host_flush(h);
}

/* How often the body runs, as Python's range counts: i64. Counting down to 0 instead of
 * comparing with the bound, so that a range may end at the last number of its type. A step
 * of 0 runs it never. */
static Lv
trip_count(Host *h, Elem e, Lv lb, Lv ub, Lv step)
{
    Ll *l = h->l;
    LLVMBuilderRef b = l->b;
    bool is_signed = elem_is_signed(e);
    Lv zero = LLVMConstNull(LLVMTypeOf(lb)),
       one = LLVMConstInt(LLVMTypeOf(lb), 1, false);
    Lv lo = lb, hi = ub, s = step;
    if (is_signed) {
        Lv down = LLVMBuildICmp(b, LLVMIntSLT, step, zero, "");
        lo = LLVMBuildSelect(b, down, ub, lb, "");
        hi = LLVMBuildSelect(b, down, lb, ub, "");
        s = LLVMBuildSelect(b, down, LLVMBuildNeg(b, step, ""), step, "");
    }
    Lv stands = LLVMBuildICmp(b, LLVMIntEQ, s, zero, "");
    Lv enters = LLVMBuildICmp(b, is_signed ? LLVMIntSLT : LLVMIntULT, lo, hi, "");
    enters = LLVMBuildAnd(b, enters, LLVMBuildNot(b, stands, ""), "");
    s = LLVMBuildSelect(b, stands, one, s, "");
    Lv n = LLVMBuildSub(b, LLVMBuildSub(b, hi, lo, ""), one, "");
    n = cg_cast(l, e, E_I64, LLVMBuildUDiv(b, n, s, ""), ROUND_RTNE);
    if (is_signed && elem_info[e].bits < 64) /* an unsigned number of that width */
        n = LLVMBuildAnd(
            b, n, ll_i64(l, (int64_t)(((uint64_t)1 << elem_info[e].bits) - 1)), "");
    n = LLVMBuildAdd(b, n, ll_i64(l, 1), "");
    return LLVMBuildSelect(b, enters, n, ll_i64(l, 0), "");
}

void
host_for(Host *h, const Op *o)
{
    Ll *l = h->l;
    Arena *a = h->c->arena;
    const Block *body = o->regions[0];
    int n = o->n_results;
    const Val *const *carried = (const Val *const *)body->args + 1;
    Elem e = body->args[0]->type->elem;
    host_free_before(h, host_pos(h, body->first));
    Lv *init = NEW_N(a, Lv, n + 1), *phi = NEW_N(a, Lv, n + 1),
       *next = NEW_N(a, Lv, n + 1);
    start_carried(h, o, 3, carried, n, init);
    Lv lb = host_scalar(h, arg(o, 0)), ub = host_scalar(h, arg(o, 1));
    Lv step = host_scalar(h, arg(o, 2));

    Lv count = trip_count(h, e, lb, ub, step);

    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b), head = ll_block(l, "for"),
                      start = ll_block(l, "body"), after = ll_block(l, "end");
    ll_jump(l, head);
    Lv left = ll_phi(l, count, before), iv = ll_phi(l, lb, before);
    for (int i = 0; i < n; i++) {
        if (!init[i])
            continue;
        phi[i] = ll_phi(l, init[i], before);
        set_scalar(h, carried[i], phi[i]);
    }
    bool looks = !is_short(count, body);
    Lv unseen = looks ? ll_phi(l, ll_i32(l, UNSEEN), before) : NULL;
    Lv more = LLVMBuildICmp(l->b, LLVMIntNE, left, ll_i64(l, 0), "");
    ll_if(l, more, start, after);

    Lv unseen_next = looks ? poll(h, unseen) : NULL;
    set_scalar(h, body->args[0], iv);
    Lv outer = h->turns_left;
    h->turns_left = left;
    host_walk(h, body);
    h->turns_left = outer;
    buffers_of(h, body->last, 0, n, carried);
    scalars_of(h, body->last, 0, n, next);
    Lv iv_next = LLVMBuildAdd(l->b, iv, step, "");
    Lv fewer = LLVMBuildSub(l->b, left, ll_i64(l, 1), "");
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(l->b);
    LLVMAddIncoming(iv, &iv_next, &latch, 1);
    LLVMAddIncoming(left, &fewer, &latch, 1);
    add_incoming(&unseen, &unseen_next, 1, latch);
    add_incoming(phi, next, n, latch);
    LLVMBuildBr(l->b, head);
    LLVMPositionBuilderAtEnd(l->b, after);
    for (int i = 0; i < n; i++)
        set_same(h, result(o, i), carried[i]);
}

/* ---- while ------------------------------------------------------------------------------------- */

void
host_while(Host *h, const Op *o)
{
    Ll *l = h->l;
    Arena *a = h->c->arena;
    const Block *test = o->regions[0], *body = o->regions[1];
    int n_in = test->n_args, n = o->n_results;
    const Val *const *in = (const Val *const *)test->args;
    const Val *const *mid = (const Val *const *)body->args;
    host_free_before(h, host_pos(h, test->first));
    Lv *init = NEW_N(a, Lv, n_in + 1), *phi = NEW_N(a, Lv, n_in + 1);
    Lv *next = NEW_N(a, Lv, n_in + 1), *out = NEW_N(a, Lv, n + 1);
    start_carried(h, o, 0, in, n_in, init);
    for (int i = 0; i < n; i++) {
        if (!mid[i]->type->rank)
            continue;
        const Val *v = arg(test->last, i + 1);
        if (v->block == test && !v->def) /* handed on as it came: no copy */
            set_buffer(h, mid[i], state(h, v)->view);
        else
            set_buffer(h, mid[i], buffer_for(h, mid[i], until(h, result(o, i))));
    }
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b), head = ll_block(l, "while"),
                      start = ll_block(l, "body"), after = ll_block(l, "end");
    ll_jump(l, head);
    for (int i = 0; i < n_in; i++)
        if (init[i]) {
            phi[i] = ll_phi(l, init[i], before);
            set_scalar(h, in[i], phi[i]);
        }
    Lv left = ll_phi(l, ll_i32(l, UNSEEN), before);
    host_walk(h, test);
    buffers_of(h, test->last, 1, n, mid);
    Lv more = host_scalar(h, arg(test->last, 0));
    scalars_of(h, test->last, 1, n, out);
    ll_if(l, more, start, after);
    next[n_in] = poll(h, left);
    for (int i = 0; i < n; i++)
        if (out[i])
            set_scalar(h, mid[i], out[i]);
    host_walk(h, body);
    buffers_of(h, body->last, 0, n_in, in);
    scalars_of(h, body->last, 0, n_in, next);
    phi[n_in] = left;
    add_incoming(phi, next, n_in + 1, LLVMGetInsertBlock(l->b));
    LLVMBuildBr(l->b, head);
    LLVMPositionBuilderAtEnd(l->b, after);
    for (int i = 0; i < n; i++)
        set_same(h, result(o, i), mid[i]);
}

/* ---- if ------------------------------------------------------------------------------------------ */

static LLVMBasicBlockRef
branch(Host *h, const Op *o, const Block *b, LLVMBasicBlockRef at,
       LLVMBasicBlockRef after, Lv *out)
{
    Ll *l = h->l;
    LLVMPositionBuilderAtEnd(l->b, at);
    if (b && b->first) {
        host_walk(h, b);
        const Val *const *to = (const Val *const *)o->results;
        buffers_of(h, b->last, 0, o->n_results, to);
        scalars_of(h, b->last, 0, o->n_results, out);
    }
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b);
    LLVMBuildBr(l->b, after);
    return end;
}

void
host_if(Host *h, const Op *o)
{
    Ll *l = h->l;
    Arena *a = h->c->arena;
    int n = o->n_results;
    Lv cond = host_scalar(h, arg(o, 0));
    host_free_before(h, o->regions[0]->first ? host_pos(h, o->regions[0]->first) : 0);
    for (int i = 0; i < n; i++)
        if (result(o, i)->type->rank)
            set_buffer(h, result(o, i),
                       buffer_for(h, result(o, i), until(h, result(o, i))));
    LLVMBasicBlockRef yes = ll_block(l, "if"), no = ll_block(l, "else"),
                      after = ll_block(l, "end");
    LLVMBuildCondBr(l->b, cond, yes, no);
    Lv *x = NEW_N(a, Lv, n + 1), *y = NEW_N(a, Lv, n + 1);
    LLVMBasicBlockRef from[2];
    from[0] = branch(h, o, o->regions[0], yes, after, x);
    from[1] = branch(h, o, o->regions[1], no, after, y);
    LLVMPositionBuilderAtEnd(l->b, after);
    for (int i = 0; i < n; i++)
        if (!result(o, i)->type->rank) {
            Lv p = ll_join(l, x[i], from[0], y[i], from[1]);
            set_scalar(h, result(o, i), p);
        }
}
