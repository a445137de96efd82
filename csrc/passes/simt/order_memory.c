/* order_memory: what one thread wrote another may read, in the order of the program.
 *
 * A kernel is read as one thread doing one thing after another. On a GPU many do it, so a
 * value that thread 0 stored and all load, or a row stored in one layout and loaded in
 * another, needs a barrier between:
 *
 *     store %p, %s            thread 0                  store %p, %s
 *     %t = load %p            all threads       =>      barrier
 *                                                       %t = load %p
 *
 * and so does a load before the store that changes what it reads. No barrier is needed
 * where the same thread does both: the same pointers in the same layout, nothing held
 * twice, and no loop moves a row by less than its length. Two arguments are two tensors, unless
 * the launch says otherwise (runtime/share.c): where both start at one address they are compared
 * as one pointer would be, and where they overlap in another way nothing is known. A launch of
 * tensors that lie apart has the code it always had. Pointers that come from nowhere known are
 * taken to meet nowhere; two stores are left to the user: then tl.debug_barrier() says what is
 * meant.
 *
 * An atomic that releases is for the whole program: what other threads did before it must have
 * happened. One of one element, a flag or a counter, waits for all accesses; one of a block
 * for stores alone, as such are sums rather than signs. A load that the flag is made of, as in
 * the sum of a row, is over by then. One that acquires holds back what
 * follows, where its result is looked at: without that nobody knows what was acquired.
 *
 *     store %p, %block        all threads               store %p, %block
 *     atomic_rmw %flag, %c1   thread 0          =>      barrier
 *                                                       atomic_rmw %flag, %c1
 *
 * An atomic that orders and takes many instructions of a thread costs less as relaxed ones between two
 * fences than with a fence inside of each: {fences=1} says so.
 *
 * Rule 1: the barrier stands before a loop where what conflicts stands before the loop.
 * Rule 2: loop bodies are walked twice, the second time with what the first left pending.
 */
#include "passes/passes.h"

#include <stdlib.h>

enum { MAX_PLAIN = 8 }; /* ops between a load and a store, one behind the other */

typedef struct Access {
    const Op *op;
    const Val *root; /* the argument its pointers are made of; NULL: not known */
    bool is_over; /* a load in the sum that an atomic took: all threads have done it */
} Access;
typedef VEC(Access) Accesses;

typedef struct Order {
    Func *f;
    Accesses pending; /* since the last barrier */
    Map place;        /* op -> where it stood in pending when it was added, + 1 */
    int n_barriers;   /* met so far: each begins a new array of pending */
    FactTable *facts;
    Map affine; /* block of pointers -> Affine; without a pointer: it is none */
} Order;

static bool
is_held_once(const Type *t)
{
    return t->layout && !layout_copies(t->layout); /* a scalar: every thread has it */
}

static bool
is_block(const Op *o)
{
    return arg(o, 0)->type->rank;
}

/* Is all that is made of v, in the layout that it has, the data of stores? Threads that hold a copy store nothing,
 * so they may have read whatever. */
static bool
is_only_stored(const Val *v, int depth)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        bool is_plain = op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && o->n_results == 1;
        if (o->op == OP_STORE
                ? u != &o->args[1]
                : !is_plain || !depth || !is_only_stored(result(o, 0), depth - 1))
            return false;
    }
    return true;
}

/* Where the block of pointers v lies, if that is a sum; found once. */
static const Affine *
place_of(Order *s, const Val *v)
{
    Affine *a = map_get(&s->affine, v, 0);
    if (a)
        return a->pointer ? a : NULL;
    AffineWraps none = {.n = MAX_WRAPS}; /* no remainders */
    a = NEW(s->f->c->arena, Affine);
    if (!affine_deep(v, a, &none) || a->origin)
        a->pointer = NULL;
    map_put(&s->affine, v, 0, a);
    return a->pointer ? a : NULL;
}

static int64_t
common_divisor(int64_t x, int64_t y)
{
    for (int64_t rest; x; x = rest)
        rest = y % x, y = x;
    return y;
}

static bool
is_still(const Val *v)
{
    int64_t c;
    return !v->block->owner || ir_const_as_int(v, &c);
}

/* The counter of a loop by constant steps. */
static bool
is_counter(const Val *v, int64_t *step)
{
    const Op *o = v->block->owner;
    return o && o->op == OP_FOR && v == o->regions[0]->args[0] &&
           ir_const_as_int(arg(o, 2), step);
}

/* What v differs by from one iteration to another is a multiple of this; 0: it does not differ. */
static int64_t
step_of(const Val *v)
{
    int64_t c;
    if (is_still(v))
        return 0;
    if (!is_counter(v, &c))
        return 1;
    const Val *begin = arg(v->block->owner, 0); /* an outer loop may move it */
    return common_divisor(llabs(c), step_of(begin));
}

/* The same of a sum. */
static int64_t
common_step(const AffSum *sum)
{
    int64_t step = 0;
    for (int i = 0; i < sum->n; i++) {
        const AffTerm *t = &sum->term[i];
        int64_t a = step_of(t->a), b = t->b ? step_of(t->b) : 0;
        if (a || b)
            step = common_divisor(llabs(t->factor) * (t->b ? 1 : a), step);
    }
    return step;
}

/* Where the block of pointers y lies, if that is a constant beside a, where x lies: their roots, where they are
 * two, are one address. room is for a copy. */
static const Affine *
place_beside(Order *s, const Affine *a, const Val *x, const Val *y, Affine *room)
{
    const Affine *b = place_of(s, y);
    if (!a || !b || x->type->elem != y->type->elem)
        return NULL;
    if (a->pointer != b->pointer && a->pointer == pointer_root(s->f, x) &&
        b->pointer == pointer_root(s->f, y)) {
        *room = *b;
        room->pointer = a->pointer;
        b = room;
    }
    return affine_is_beside(a, b) ? b : NULL;
}

/* Has each thread the same elements at x and at y? */
static bool
is_one_place(Order *s, const Val *x, const Val *y)
{
    Affine room;
    if (x == y || x->type != y->type)
        return x == y;
    const Affine *a = place_of(s, x), *b = place_beside(s, a, x, y, &room);
    return b && affine_is_same(a, b, x->type);
}

/* Have the blocks of pointers x and y no element in common, whatever the iterations of both? */
static bool
is_apart(Order *s, const Val *x, const Val *y)
{
    Affine room;
    const Affine *a = place_of(s, x), *b = place_beside(s, a, x, y, &room);
    int64_t span_a, span_b;
    if (!b || a->pointer->block->owner || !affine_span(a, x->type, &span_a) ||
        !affine_span(b, y->type, &span_b))
        return false;
    int64_t gap = affine_low(b, y->type) - affine_low(a, x->type),
            step = common_step(&a->base);
    if (!step)
        return gap >= span_a || -gap >= span_b;
    gap = (gap % step + step) % step;
    return gap >= span_a && step - gap >= span_b;
}

/* Does a row of pointers come to elements where other threads had them an iteration before? Only where its steps are
 * known: a barrier would cost rows that lie apart more than those that do not are worth. */
static bool
meets_itself(Order *s, const Val *v)
{
    const Affine *a = place_of(s, v);
    int64_t span, step;
    if (!a || v->type->rank != 1 || !affine_span(a, v->type, &span))
        return false;
    for (int i = 0; i < a->base.n; i++) {
        const AffTerm *t = &a->base.term[i];
        if (!is_still(t->a) && (t->b || !is_counter(t->a, &step)))
            return false;
    }
    step = common_step(&a->base);
    return step && step < span;
}

static bool
acquires(const Op *o)
{
    return op_is_atomic(o) && result(o, 0)->uses &&
           (ir_attr(o, ATTR_SEM) == SEM_ACQUIRE || ir_attr(o, ATTR_SEM) == SEM_ACQ_REL);
}

static bool
releases(const Op *o)
{
    return op_is_atomic(o) &&
           (ir_attr(o, ATTR_SEM) == SEM_RELEASE || ir_attr(o, ATTR_SEM) == SEM_ACQ_REL);
}

/* Adds the ops that v is made of. Within a function, and as far as regions hand values on. */
static void
add_makers(Map *ops, Map *seen, const Val *v)
{
    const Op *o = v->def ? v->def : v->block->owner;
    if (!o || map_get(seen, v, 0))
        return;
    map_put(seen, v, 0, (void *)v);
    map_put(ops, o, 0, (void *)o);
    if (op_has(o, OPF_CONTROL)) {
        int i = v->def ? v->index : v->index - 1;
        if (o->op == OP_FOR && i >= 0)
            add_makers(ops, seen, arg(o->regions[0]->last, i));
        return;
    }
    for (int i = 0; v->def && i < o->n_args; i++)
        add_makers(ops, seen, arg(o, i));
}

/* Has a to be over in all threads before one does o? Stores and atomics of one element are one
 * thread's. */
static bool
is_ordered(const Op *a, const Op *o)
{
    if (releases(o) && is_block(o))
        return a->op == OP_STORE;
    if (releases(o))
        return (is_block(a) || a->op == OP_LOAD);
    return acquires(a) && o->op == OP_LOAD;
}

/* May a thread come to an element at o that another had at a? The roots of both are one address. */
static bool
meets_as_one(Order *s, const Op *a, const Op *o)
{
    const Val *x = arg(a, 0), *y = arg(o, 0);
    if (!is_one_place(s, x, y))
        return !is_apart(s, x, y);
    if (meets_itself(s, y))
        return true;
    const Op *load = o->op == OP_LOAD ? o : a;
    return !is_held_once(y->type) && !is_only_stored(result(load, 0), MAX_PLAIN);
}

/* Does one read what the other writes, and not in one thread? */
static bool
meets(Order *s, const Access *a, const Op *o, const Val *root)
{
    bool is_read = o->op == OP_LOAD;
    const Val *from = is_read ? root : a->root, *to = is_read ? a->root : root;
    if (!from || !to || is_read == (a->op->op == OP_LOAD))
        return false;
    if (from != to && ir_ask_both(s->f, to, from, FACT_OVERLAPS))
        return true;
    return meets_as_one(s, a->op, o) &&
           (from == to || ir_ask_both(s->f, to, from, FACT_SAME));
}

typedef enum Conflict {
    CONFLICT_NONE,
    CONFLICT_RELEASE, /* o releases: what comes behind it need not wait */
    CONFLICT_ORDER,
} Conflict;

static Conflict
conflicts(Order *s, const Op *o)
{
    Conflict worst = CONFLICT_NONE;
    const Val *root = pointer_root(s->f, arg(o, 0));
    for (int i = 0; i < s->pending.n; i++) {
        const Access *a = &s->pending.at[i];
        bool is_held = !a->is_over && is_ordered(a->op, o);
        if (meets(s, a, o, root) || (is_held && !releases(o)))
            return CONFLICT_ORDER;
        if (is_held)
            worst = CONFLICT_RELEASE;
    }
    return worst;
}

static bool
conflicts_inside(Order *s, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        if (o->op == OP_BARRIER)
            return false;
        if (op_is_access(o) && conflicts(s, o))
            return true;
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            if (conflicts_inside(s, o->regions[i]))
                return true;
    }
    return false;
}

/* A new array: what was pending in front of a branch stays as it is for the other branch. */
static void
end_pending(Order *s)
{
    s->pending = (Accesses){0};
    s->n_barriers++;
}

static void
put_barrier(Order *s, Op *before, Conflict why)
{
    Build b = ir_before(before);
    Op *barrier = ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    ir_set_attr(barrier, ATTR_RELEASE, why == CONFLICT_RELEASE);
    end_pending(s);
}

/* o comes, of one element: what it is made of has been read. */
static void
end_loads(Order *s, const Op *o)
{
    if (!op_is_atomic(o) || is_block(o) || !s->pending.n)
        return;
    Map ops = {.a = s->f->c->arena}, seen = {.a = s->f->c->arena};
    for (int i = 0; i < o->n_args; i++)
        add_makers(&ops, &seen, arg(o, i));
    for (int i = 0; i < s->pending.n; i++) {
        Access *a = &s->pending.at[i];
        a->is_over |= a->op->op == OP_LOAD && map_get(&ops, a->op, 0);
    }
}

static bool
is_pending(const Order *s, const Op *o)
{
    size_t place = (size_t)map_get(&s->place, o, 0);
    if (!place)
        return false;
    if (place <= (size_t)s->pending.n && s->pending.at[place - 1].op == o)
        return true;
    for (int i = 0; i < s->pending.n; i++) /* of an array before a barrier */
        if (s->pending.at[i].op == o)
            return true;
    return false;
}

static void
add_access(Order *s, const Op *o, const Val *root)
{
    if (is_pending(s, o))
        return;
    PUSH(s->f->c->arena, &s->pending, ((Access){.op = o, .root = root}));
    map_put(&s->place, o, 0, (void *)(size_t)s->pending.n);
}

static void
join_orders(Order *s, const Accesses *other)
{
    for (int i = 0; i < other->n; i++)
        add_access(s, other->at[i].op, other->at[i].root);
}

/* Instructions of one thread from which on fences around all of them cost less. */
enum { MANY_ACCESSES = 3 };

static void
set_fences(Order *s, Op *o)
{
    const Layout *l = result(o, 0)->type->layout;
    if (!l || ir_attr(o, ATTR_SEM) == SEM_RELAXED || 1 << l->n[IN_REG] < MANY_ACCESSES)
        return;
    int n = 1 << l->n[IN_REG] >> facts_atomic_run(s->facts, o).log2;
    ir_set_attr(o, ATTR_FENCES, n >= MANY_ACCESSES);
}

static void order_block(Order *s, Block *b);

static void
order_loop(Order *s, Op *o)
{
    for (int i = 0; i < o->n_regions; i++)
        if (conflicts_inside(s, o->regions[i])) {
            put_barrier(s, o, CONFLICT_ORDER);
            break;
        }
    for (int pass = 0; pass < 2; pass++) {
        Accesses before = s->pending;
        int n_barriers = s->n_barriers;
        for (int i = 0; i < o->n_regions; i++)
            order_block(s, o->regions[i]);
        if (s->n_barriers != n_barriers) /* else it is what pending begins with */
            join_orders(s, &before);
    }
}

static void
forget_ends(Order *s)
{
    for (int i = 0; i < s->pending.n; i++)
        s->pending.at[i].is_over = false;
}

/* The accesses from n on, in memory of their own. */
static Accesses
tail(const Order *s, int n)
{
    Accesses r = {0};
    for (int i = n; i < s->pending.n; i++)
        PUSH(s->f->c->arena, &r, s->pending.at[i]);
    return r;
}

/* Both branches begin with what was pending, which is not copied: a kernel may have thousands of
 * branches. A branch adds behind it, or leaves it alone from its first barrier on. */
static void
order_if(Order *s, Op *o)
{
    int n_barriers = s->n_barriers;
    forget_ends(s);
    Accesses before = s->pending;
    order_block(s, o->regions[0]);
    bool is_kept = s->n_barriers == n_barriers;
    Accesses then = tail(s, is_kept ? before.n : 0);
    if (is_kept)
        s->pending.n = before.n;
    else
        s->pending = before;
    n_barriers = s->n_barriers;
    forget_ends(s);
    if (o->n_regions > 1)
        order_block(s, o->regions[1]);
    if (s->n_barriers != n_barriers && is_kept)
        join_orders(s, &before);
    join_orders(s, &then);
    forget_ends(s);
}

static void
order_block(Order *s, Block *b)
{
    for (Op *o = b->first; o; o = o->next) {
        if (o->op == OP_FOR || o->op == OP_WHILE)
            order_loop(s, o);
        else if (o->op == OP_IF)
            order_if(s, o);
        else if (o->op == OP_BARRIER)
            end_pending(s);
        else if (op_is_access(o)) {
            if (op_is_atomic(o))
                set_fences(s, o);
            end_loads(s, o);
            Conflict why = conflicts(s, o);
            if (why)
                put_barrier(s, o, why);
            if (acquires(o) && !is_block(o)) /* all get its result behind a barrier */
                end_pending(s);
            else
                add_access(s, o, pointer_root(s->f, arg(o, 0)));
        }
    }
}

void
pass_order_memory(Func *f)
{
    Order s = {.f = f,
               .place = {.a = f->c->arena},
               .affine = {.a = f->c->arena},
               .facts = facts_new(f)};
    order_block(&s, f->body);
}
