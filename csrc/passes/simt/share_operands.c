/* share_operands: what tensor cores read themselves, and no copy has brought, is stored.
 *
 *     %s = to_shared %x          =>   %a = shared_alloc : smem<1 x ..>
 *                                     shared_store %a, 0, %x
 *                                     fence_async
 *                                     barrier
 *                                     %s = shared_view %a, 0
 *
 * pipeline has turned those that come out of a slot into views of it already. Before the
 * store the place must be free: that is for codegen to see, which deals out places.
 *
 * Where the products of a loop stay open until the next ones have begun (LOOP_MMA_BEHIND), those of the
 * iteration before still read theirs: two places are used in turn.
 *
 *     for i ^(turn) {
 *       barrier                         all have waited for the products before the last
 *       shared_store %a, turn, %x
 *
 * A block is stored once, however many products read it and whichever way round:
 *
 *     %s = to_shared %x              shared_store %a, 0, %x
 *     %t = trans %x              =>  %s = shared_view %a, 0
 *     %u = to_shared %t              %u = shared_view %a, 0 {perm=[1, 0]}
 *     %y = convert_layout %x         ..
 *     %z = add %w, %y                %y = shared_load %a, 0       where it is wanted
 *
 * What loads brought is stored in front of the next product, so that all loads of a straight piece of code are on
 * their way at one time: no load passes a barrier. One barrier is for all that is stored there.
 */
#include "passes/simt/shared.h"

typedef struct Key {
    const Val *block;
    const Layout *layout;
} Key;

typedef struct Share {
    Func *f;
    Map made;     /* the store of a block with such a layout */
    Map stores;   /* the last store of a block */
    Map barriers; /* behind what was stored: one further down makes it needless */
} Share;

/* Does o, or what its regions hold, read a result of def? */
static bool
uses_result(Op *o, const Op *def)
{
    for (const Use *u = result(def, 0)->uses; u; u = u->next)
        if (ir_op_in(o->block, u->user) == o)
            return true;
    return false;
}

static bool
has_barrier_before(const Op *o)
{
    for (; o; o = o->prev)
        if (o->op == OP_BARRIER)
            return true;
    return false;
}

/* The fence behind the store is for all that threads wrote in front of it, and so is the barrier where nobody
 * reads or overwrites in between. */
static void
drop_waits_before(const Share *s, const Op *o)
{
    bool may_drop = true;
    for (Op *p = o->prev, *before; p && p->op != OP_DOT && !p->n_regions; p = before) {
        before = p->prev;
        bool is_own = map_get(&s->barriers, p, 0);
        may_drop &= is_own || p->op == OP_FENCE_ASYNC || p->op == OP_SHARED_VIEW ||
                    is_shared_alloc(p) || p->op == OP_SHARED_STORE ||
                    p->op == OP_LOAD ||
                    (op_has(p, OPF_PURE) && !op_has(p, OPF_SCRATCH));
        if (p->op == OP_FENCE_ASYNC || (is_own && may_drop))
            ir_erase(p);
    }
}

/* Do threads meet behind o before they touch shared memory? Other operands are stored in front of it, too. */
static bool
has_barrier_behind(const Op *o)
{
    for (o = o->next; o && (o->op == OP_TO_SHARED || o->op == OP_SHARED_VIEW ||
                            (op_has(o, OPF_PURE) && !op_has(o, OPF_SCRATCH)));)
        o = o->next;
    return o && o->op == OP_BARRIER;
}

/* Which of two places this iteration's operand has; the loop counts. */
static Val *
take_turns(Op *loop)
{
    Func *f = loop->block->func;
    Block *body = loop->regions[0];
    Build before = {.f = f, .block = loop->block, .before = loop, .loc = loop->loc},
          end = {.f = f, .block = body, .before = body->last, .loc = loop->loc};
    Val *turn = ir_carry(loop, ir_const_i32(&before, 0), NULL);
    ir_add_arg(body->last, ir_bin(&end, OP_XOR, turn, ir_const_i32(&end, 1)));
    return turn;
}

/* What v is a transposition of; perm: dim d of v is its dim perm[d]. */
static Val *
root_of(Val *v, int *perm)
{
    int one[MAX_RANK], all[MAX_RANK];
    for (int d = 0; d < MAX_RANK; d++)
        perm[d] = d;
    for (; v->def && v->def->op == OP_TRANS; v = arg(v->def, 0)) {
        ir_perm(v->def, one);
        for (int d = 0; d < v->type->rank; d++)
            all[d] = one[perm[d]];
        memcpy(perm, all, sizeof(int) * v->type->rank);
    }
    return v;
}

/* The type of what is seen as t, whose dims are perm, where it lies. */
static const Type *
stored_type(Comp *c, const Type *t, const int *perm, int slots)
{
    int32_t shape[MAX_RANK];
    int back[MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
        back[perm[d]] = d;
        shape[perm[d]] = t->shape[d];
    }
    return ty_smem(c, ty_with_shape(c, t, t->rank, shape), slots,
                   layout_permute(c, t->layout, back));
}

/* What loads brought is wanted by the next product at the earliest. */
static void
store_late(Op *o)
{
    Op *at = o->next;
    while (at && at->op != OP_DOT && at->op != OP_BARRIER && !at->n_regions &&
           !op_has(at, OPF_WRITES) && !uses_result(at, o))
        at = at->next;
    if (at)
        ir_move_before(o, at);
}

static void
share(Share *s, Op *o)
{
    Func *f = s->f;
    Op *loop = o->block->owner;
    bool is_open = loop && loop->op == OP_FOR &&
                   ir_attr(loop, ATTR_LOOP) & LOOP_MMA_BEHIND;
    Build b = {.f = f, .block = o->block, .before = o, .loc = o->loc}, at = b;
    int perm[MAX_RANK];
    Val *root = root_of(arg(o, 0), perm), *slot = NULL;
    const Type *t = result(o, 0)->type, *of = stored_type(f->c, t, perm, 1 + is_open);
    Key key = {root, of->layout};
    const Op *store = map_get(&s->made, &key, sizeof key);
    if (!store || is_open || !ir_op_in(store->block, o)) {
        drop_waits_before(s, o);
        if (is_open) {
            at.block = loop->block;
            at.before = loop;
            slot = take_turns(loop);
            if (!has_barrier_before(o))
                ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
        }
        Val *smem = ir_op1(&at, OP_SHARED_ALLOC, 0, NULL, of);
        slot = slot ? slot : ir_const_i32(&b, 0);
        store = ir_op(&b, OP_SHARED_STORE, 3, (Val *[]){smem, slot, root}, 0, NULL);
        ir_op(&b, OP_FENCE_ASYNC, 0, NULL, 0, NULL);
        if (!has_barrier_behind(o)) {
            Op *barrier = ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
            map_put(&s->barriers, barrier, 0, barrier);
        }
        if (!is_open) {
            map_put(&s->made, &key, sizeof key, (Op *)store);
            map_put(&s->stores, root, 0, (Op *)store);
        }
    }
    Op *view = ir_op(&b, OP_SHARED_VIEW, 2, (Val *[]){arg(store, 0), arg(store, 1)}, 1,
                     &t);
    ir_set_attr(view, ATTR_PERM, perm_pack(t->rank, perm));
    ir_replace(result(o, 0), result(view, 0));
    ir_erase(o);
}

/* ---- what lies in shared memory anyway ------------------------------------------------ */

/* The first op of o's block that wants its result, or has a region that does. */
static Op *
first_user(const Op *o)
{
    Op *at = o->next;
    while (at && !uses_result(at, o))
        at = at->next;
    return at;
}

/* Casts go down to who wants them: a block of 16 bits is half of its numbers. */
static void
sink_casts(const Op *o)
{
    for (const Use *u = result(o, 0)->uses, *next; u; u = next) {
        next = u->next;
        Op *user = u->user, *at = user->op == OP_CAST && user->block == o->block
                                      ? first_user(user)
                                      : NULL;
        if (at)
            ir_move_before(user, at);
    }
}

/* May threads read in front of `at` what the store has written? */
static bool
has_come(const Op *store, Op *at)
{
    const Op *end = ir_op_in(store->block, at);
    bool has_barrier = false;
    const Op *o = store->next;
    for (; o && o != end; o = o->next)
        has_barrier |= o->op == OP_BARRIER;
    return o && has_barrier;
}

/* o moves a block that lies in shared memory to other threads, by way of other bytes of it. Words of 32 bits lie
 * along K, as tensor cores want them, where threads that read them meet in banks. */
static void
read_again(Share *s, Op *o)
{
    const Op *store = map_get(&s->stores, arg(o, 0), 0);
    const Type *t = result(o, 0)->type;
    if (!store || ty_bytes(t) > 2 || !scratch_of(s->f, o, INT32_MAX).bytes)
        return;
    sink_casts(o);
    Op *at = first_user(o);
    if (!at || !has_come(store, at))
        return;
    Build b = {.f = s->f, .block = o->block, .before = at, .loc = o->loc};
    const Type *of = arg(store, 0)->type;
    bool is_a = at->op == OP_DOT && arg(at, 1)->type->slots && ty_bytes(t) == 2 &&
                ir_has_one_use(result(o, 0)) && arg(at, 0) == result(o, 0);
    Val *from[] = {arg(store, 0), arg(store, 1)}, *v;
    int perm[MAX_RANK];
    if (is_a)
        v = ir_op1(&b, OP_SHARED_VIEW, 2, from, of);
    else
        v = ir_op1(&b, OP_SHARED_LOAD, 2, from, ty_slot(s->f->c, of, t->layout));
    if (is_a)
        ir_set_attr(v->def, ATTR_PERM, perm_pack(t->rank, (root_of(v, perm), perm)));
    ir_replace(result(o, 0), v);
    ir_erase(o);
}

void
pass_share_operands(Func *f)
{
    Arena *a = f->c->arena;
    Share s = {.f = f, .made.a = a, .stores.a = a, .barriers.a = a};
    VEC(Op *) moves = {0};
    EACH_OP(o, f->body)
        if (o->op == OP_TO_SHARED && comes_from_load(arg(o, 0)))
            PUSH(a, &moves, o);
    for (int i = 0; i < moves.n; i++)
        store_late(moves.at[i]);
    EACH_OP_INSIDE_OUT(o, f->body)
        if (o->op == OP_TO_SHARED)
            share(&s, o);
    EACH_OP_INSIDE_OUT(o, f->body)
        if (o->op == OP_CONVERT)
            read_again(&s, o);
}
