/* unroll: copy the bodies of loops that ask for it (tl.range(.., loop_unroll_factor=n)).
 *
 *     for %i = %lb to %ub step 2 {unroll=4} (%a = %x) { A }
 *  =>
 *     %n = max(%ub, %lb) - %lb                          unsigned: it may exceed the signed half
 *     %mid = %lb + (%n - %n % 8)
 *     %y = for %i = %lb to %mid step 8 (%a = %x) { A(%i) A(%i + 2) A(%i + 4) A(%i + 6) }
 *     for %i = %mid to %ub step 2 (%a = %y) { A }        the rest, at most 3 times
 *
 * With constant bounds %mid is a constant, and fold drops a rest that never runs and inlines
 * a loop that runs once: that is what full unrolling is.
 *
 * Rule 1: only a constant positive step; without one the hint is not taken. Nor is it where
 *         step * factor leaves the type, or the copies would be more than MAX_COPIES ops.
 */
#include "passes/passes.h"

enum { MAX_COPIES = 1 << 16 };

static int
count_ops(const Block *b)
{
    int n = 0;
    for (const Op *o = b->first; o; o = o->next) {
        n++;
        for (int r = 0; r < o->n_regions; r++)
            n += count_ops(o->regions[r]);
    }
    return n;
}

static int64_t
largest(const Type *t)
{
    int bits = elem_info[t->elem].bits - elem_is_signed(t->elem);
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

/* The largest bound that whole groups of `span` values reach from lb. */
static Val *
middle(Build *b, Val *lb, Val *ub, int64_t span)
{
    static const Elem unsigned_of[N_ELEM] = {
        [E_I8] = E_U8,
        [E_I16] = E_U16,
        [E_I32] = E_U32,
        [E_I64] = E_U64,
    };
    const Type *t = lb->type;
    int64_t c_lb, c_ub;
    if (ir_const_as_int(lb, &c_lb) && ir_const_as_int(ub, &c_ub) &&
        (elem_is_signed(t->elem) || (c_lb >= 0 && c_ub >= 0))) {
        uint64_t n = c_ub > c_lb ? (uint64_t)c_ub - (uint64_t)c_lb : 0;
        return ir_const_int(b, t, (int64_t)((uint64_t)c_lb + (n - n % (uint64_t)span)));
    }
    Elem u = elem_is_signed(t->elem) ? unsigned_of[t->elem] : t->elem;
    const Type *ut = ty_scalar(b->f->c, u);
    Val *n = ir_bin(b, OP_SUB, ir_bin(b, OP_MAX, ub, lb), lb);
    n = ir_bitcast(b, n, ut);
    n = ir_bin(b, OP_SUB, n, ir_bin(b, OP_REM, n, ir_const_int(b, ut, span)));
    return ir_bin(b, OP_ADD, lb, ir_bitcast(b, n, t));
}

/* A `for` like o from lb to ub by span, with an empty body. */
static Op *
empty_like(Build *b, const Op *o, Val *ub, int64_t span)
{
    Arena *a = b->f->c->arena;
    Val **args = NEW_N(a, Val *, o->n_args);
    const Type **types = NEW_N(a, const Type *, MAX(o->n_results, 1));
    for (int i = 0; i < o->n_args; i++)
        args[i] = arg(o, i);
    for (int i = 0; i < o->n_results; i++)
        types[i] = result(o, i)->type;
    args[1] = ub;
    args[2] = ir_const_int(b, arg(o, 2)->type, span);
    Op *n = ir_op(b, OP_FOR, o->n_args, args, o->n_results, types);
    memcpy(n->attr, o->attr, sizeof n->attr);
    ir_set_attr(n, ATTR_UNROLL, 0);
    const Block *from = o->regions[0];
    Block *to = ir_block(b->f, n);
    for (int i = 0; i < from->n_args; i++)
        ir_block_arg(to, from->args[i]->type, from->args[i]->name);
    return n;
}

/* k copies of o's body into the body of n, each fed by the one before. */
static void
copy_bodies(Op *n, const Op *o, int k, int64_t step)
{
    const Block *from = o->regions[0];
    Block *to = n->regions[0];
    Arena *a = to->func->c->arena;
    Build b = {.f = to->func, .block = to, .loc = o->loc};
    Map map = {.a = a};
    Val *iv = to->args[0], **carried = NEW_N(a, Val *, from->n_args);
    for (int i = 1; i < from->n_args; i++)
        carried[i] = to->args[i];
    for (int j = 0; j < k; j++) {
        Val *at = j ? ir_bin(&b, OP_ADD, iv, ir_const_int(&b, iv->type, j * step)) : iv;
        map_put(&map, from->args[0], 0, at);
        for (int i = 1; i < from->n_args; i++)
            map_put(&map, from->args[i], 0, carried[i]);
        for (const Op *p = from->first; p != from->last; p = p->next)
            ir_clone(&b, p, &map);
        for (int i = 1; i < from->n_args; i++) {
            Val *yielded = arg(from->last, i - 1), *copy = map_get(&map, yielded, 0);
            carried[i] = copy ? copy : yielded;
        }
    }
    ir_clone(&b, from->last, &map);
}

static void
unroll(Op *o)
{
    int64_t k = ir_attr(o, ATTR_UNROLL), step;
    ir_set_attr(o, ATTR_UNROLL, 0);
    const Type *t = arg(o, 0)->type;
    if (k < 2 || !ir_const_as_int(arg(o, 2), &step) || step <= 0 ||
        k > MAX_COPIES / count_ops(o->regions[0]) || step > largest(t) / k)
        return;
    Build b = {.f = o->block->func, .before = o, .loc = o->loc};
    Val *mid = middle(&b, arg(o, 0), arg(o, 1), step * k);
    Op *n = empty_like(&b, o, mid, step * k);
    copy_bodies(n, o, (int)k, step);
    ir_set_arg(o, 0, mid);
    for (int i = 0; i < o->n_results; i++)
        ir_set_arg(o, 3 + i, result(n, i));
}

static void
walk(Block *b)
{
    for (Op *o = b->first; o; o = o->next) {
        for (int r = 0; r < o->n_regions; r++)
            walk(o->regions[r]);
        if (o->op == OP_FOR && ir_attr(o, ATTR_UNROLL))
            unroll(o);
    }
}

void
pass_unroll(Func *f)
{
    walk(f->body);
}
