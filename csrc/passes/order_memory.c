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
 * twice. Accesses through different arguments are taken to meet nowhere, as are pointers
 * that come from nowhere known; two stores are left to the user: then
 * tl.debug_barrier() says what is meant.
 *
 * Rule 1: the barrier stands before a loop where what conflicts stands before the loop.
 * Rule 2: loop bodies are walked twice, the second time with what the first left pending.
 */
#include "passes/passes.h"

typedef struct Access {
    const Op *op;
    const Val *root; /* the argument its pointers are made of */
} Access;
typedef VEC(Access) Accesses;

typedef struct Order {
    Func *f;
    Accesses pending; /* since the last barrier */
} Order;

static bool
is_held_once(const Type *t)
{
    return t->layout && !layout_copies(t->layout); /* a scalar: every thread has it */
}

/* One reads what the other writes, and not in one thread. */
static bool
conflict(const Access *a, const Op *o, const Val *root)
{
    bool reads = a->op->op == OP_LOAD || o->op == OP_LOAD;
    bool writes = a->op->op != OP_LOAD || o->op != OP_LOAD;
    if (!root || a->root != root || !reads || !writes)
        return false;
    return arg(a->op, 0) != arg(o, 0) || !is_held_once(arg(o, 0)->type);
}

static bool
conflicts(const Order *s, const Op *o)
{
    const Val *root = pointer_root(s->f, arg(o, 0));
    for (int i = 0; i < s->pending.n; i++)
        if (conflict(&s->pending.at[i], o, root))
            return true;
    return false;
}

static bool
conflicts_inside(const Order *s, const Block *b)
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

static void
put_barrier(Order *s, Op *before)
{
    Build b = {.f = s->f, .block = before->block, .before = before, .loc = before->loc};
    ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
    s->pending.n = 0;
}

static void
add(Order *s, const Op *o, const Val *root)
{
    for (int i = 0; i < s->pending.n; i++)
        if (s->pending.at[i].op == o)
            return;
    PUSH(s->f->c->arena, &s->pending, ((Access){o, root}));
}

static Accesses
copy(Order *s)
{
    Accesses r = {0};
    for (int i = 0; i < s->pending.n; i++)
        PUSH(s->f->c->arena, &r, s->pending.at[i]);
    return r;
}

static void
join(Order *s, const Accesses *other)
{
    for (int i = 0; i < other->n; i++)
        add(s, other->at[i].op, other->at[i].root);
}

static void order_block(Order *s, Block *b);

static void
order_loop(Order *s, Op *o)
{
    for (int i = 0; i < o->n_regions; i++)
        if (conflicts_inside(s, o->regions[i])) {
            put_barrier(s, o);
            break;
        }
    for (int pass = 0; pass < 2; pass++) {
        Accesses before = copy(s);
        for (int i = 0; i < o->n_regions; i++)
            order_block(s, o->regions[i]);
        join(s, &before);
    }
}

static void
order_if(Order *s, Op *o)
{
    Accesses before = copy(s), after = {0};
    for (int i = 0; i < o->n_regions; i++) {
        s->pending.n = 0;
        join(s, &before);
        order_block(s, o->regions[i]);
        for (int k = 0; k < s->pending.n; k++)
            PUSH(s->f->c->arena, &after, s->pending.at[k]);
    }
    s->pending.n = 0;
    join(s, &after);
    if (o->n_regions < 2)
        join(s, &before);
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
            s->pending.n = 0;
        else if (op_is_access(o)) {
            if (conflicts(s, o))
                put_barrier(s, o);
            const Val *root = pointer_root(s->f, arg(o, 0));
            if (root)
                add(s, o, root);
        }
    }
}

void
pass_order_memory(Func *f)
{
    Order s = {.f = f};
    order_block(&s, f->body);
}
