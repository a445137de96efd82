/* start_dots: a product by warpgroups is begun as early, and waited for as late, as it may be.
 *
 *     barrier                          barrier
 *     async_copy ..                    %d = mma_start %a, %b, %acc : async
 *     %c = dot %a, %b, %acc     =>     async_copy ..
 *     %e = mul %c, %s                  %c = mma_wait %d {pending=0}
 *                                      %e = mul %c, %s
 *
 * A product moves up over copies and whatever computes nothing that it wants, as far as the
 * last barrier. Moves between threads that it does not want stand behind it then (of each row's and
 * column's scale), and happen while it runs. Its wait stands before the first op that wants the result, or that threads
 * do together: a barrier, in the open or inside of a reduction, may be what allows somebody
 * to overwrite what the product still reads.
 *
 * In a loop whose slots are free only two iterations later (LOOP_MMA_BEHIND), sums stay
 * open from one iteration to the next, and the wait is for the products before:
 *
 *     for i ^(acc: async) {                   acc goes in by mma_open
 *       %d = mma_start %a, %b, %acc
 *       mma_wait {pending=1}
 *       yield %d
 *     }
 *     %c = mma_wait %r {pending=0}
 *
 * Only operands in slots from outside of the loop may stay open: what an iteration stores
 * itself (share_operands), the next one overwrites.
 *
 * Where both operands have places that outlast the iteration, or registers, a product may also
 * be open while the next one begins and while threads reduce. Its wait then leaves the younger
 * ones open: `mma_wait %s {pending=1}` (attention that `rotate` has turned). In such a loop
 * (LOOP_MMA_ROUND) a product that is only yielded is waited for by the first op of the next
 * iteration, in front of the barrier behind which its slots are overwritten.
 *
 * Where a rotated loop scales the product's sum and casts its operand at the end of an iteration,
 * the wait stands there, behind one for what the product has read, which has come already:
 * ptxas would move the wait up to the top of what it is to run beside, but not over a loop.
 *
 * Slots of a ring are released behind the wait that ends their last read; of open products in
 * the next iteration.
 *
 * A in registers is an operand of the wait too: until then nobody else may have them.
 *
 * Of several products in a loop, one that wants no other's result goes up to the iteration's first, with
 * what fills and awaits its slots (attention's backward pass: dO V beside Q K), where a thread has the
 * registers for both. There a sum that goes round, with A in registers and B in a ring, stays open until
 * the next iteration waits for its first product: what is left of the iteration would wait for nothing else.
 * One wait is for both, since groups end in the order in which they began:
 *
 *     for i ^(acc: async, p, slot) {
 *       %s = mma_start ..                          this iteration's
 *       %s1, %acc1 = mma_wait %s, acc, p           what the sum before has read is p's registers
 *       mbar_arrive empty, slot                    and the slot
 *       yield mma_start(f(%s1), %v, %acc1), f(%s1), ..
 *     }
 */
#include "passes/passes.h"

enum { MAX_PRESSURE = 215 }; /* words of a loop whose products run beside each other */

static bool
is_group_dot(const Op *o)
{
    return o->op == OP_DOT && arg(o, 1)->type->slots;
}

static bool
uses_result_of(const Op *o, const Op *def)
{
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->def == def)
            return true;
    return false;
}

static bool
is_plain_load(const Op *o)
{
    return o->op == OP_LOAD && !ir_attr(o, ATTR_VOLATILE);
}

/* May a product be open while o runs, which does not want its result? */
static bool
passes_open(const Op *o)
{
    return o->op == OP_ASYNC_COPY || o->op == OP_ASYNC_COMMIT ||
           o->op == OP_SHARED_VIEW || o->op == OP_SHARED_LOAD || o->op == OP_EXPAND ||
           o->op == OP_BROADCAST || is_plain_load(o) ||
           (op_has(o, OPF_PURE) &&
            (op_has(o, OPF_ELEM) || !o->n_args || o->op == OP_SPLAT));
}

/* May o change places with a product whose operands last, and with moves? What fills rings is another
 * role's soon. */
static bool
may_swap(const Op *o)
{
    return o->op == OP_CONVERT || is_plain_load(o) || o->op == OP_SHARED_VIEW ||
           is_of_ring(o) || (op_has(o, OPF_PURE) && !o->n_regions);
}

static bool
uses_one_of(const Op *o, const Map *ops)
{
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->def && map_get(ops, arg(o, i)->def, 0))
            return true;
    return false;
}

/* Do the next iteration, and what is in `late`, alone use o? */
static bool
only_late(const Op *o, const Map *late)
{
    bool any = false;
    for (int i = 0; i < o->n_results; i++)
        for (const Use *u = result(o, i)->uses; u; u = u->next) {
            if (u->user != o->block->last && !map_get(late, u->user, 0))
                return false;
            any |= is_plain_load(o) || u->user != o->block->last;
        }
    return any;
}

/* Moves to other threads, and what is made of them, go behind the dot unless it wants them. So do loads of
 * the next iteration, and what computes their addresses alone: a quotient takes a hundred clocks. Other
 * loads stay: the earlier they begin the better. */
static void
let_others_follow(Func *f, Op *dot)
{
    Map wanted = {.a = f->c->arena}, sunk = {.a = f->c->arena};
    map_put(&wanted, dot, 0, dot);
    Op *o = dot, *behind = dot->next, *next;
    for (; o->prev && may_swap(o->prev); o = o->prev)
        if (has_user_in(o->prev, &wanted) || is_of_ring(o->prev))
            map_put(&wanted, o->prev, 0, o->prev);
        else if (o->prev->op != OP_SHARED_VIEW && only_late(o->prev, &sunk))
            map_put(&sunk, o->prev, 0, o->prev);
    for (; o != dot; o = next) {
        next = o->next;
        if (map_get(&wanted, o, 0) ||
            !(o->op == OP_CONVERT || map_get(&sunk, o, 0) || uses_one_of(o, &sunk)))
            continue;
        map_put(&sunk, o, 0, o);
        ir_move_before(o, behind);
    }
}

static Op *
start(Func *f, Op *dot)
{
    Op *at = dot;
    while (at->prev && passes_open(at->prev) && !uses_result_of(dot, at->prev))
        at = at->prev;
    Build b = {.f = f, .block = dot->block, .before = at, .loc = dot->loc};
    const Type *t = ty_with_async(f->c, result(dot, 0)->type, true);
    Op *o = ir_op(&b, OP_MMA_START, ir_is_zero(arg(dot, 2)) ? 2 : 3,
                  (Val *[]){arg(dot, 0), arg(dot, 1), arg(dot, 2)}, 1, &t);
    ir_set_attr(o, ATTR_SIDES, ir_attr(dot, ATTR_SIDES));
    return o;
}

/* Does the loop read v where something outside of it has its place? */
static bool
outlasts(const Val *v, const Op *loop)
{
    if (!v->def || v->def->op != OP_SHARED_VIEW)
        return false;
    const Val *place = arg(v->def, 0);
    return place->def && place->def->block != loop->regions[0];
}

/* Does nothing in the iteration overwrite what the dot reads? */
static bool
operands_last(const Op *dot)
{
    const Op *loop = dot->block->owner;
    const Val *a = arg(dot, 0);
    return loop && loop->op == OP_FOR && (!a->type->slots || outlasts(a, loop)) &&
           outlasts(arg(dot, 1), loop);
}

const Op *
ring_of(const Val *v)
{
    const Op *view = v->def && v->def->op == OP_SHARED_VIEW ? v->def : NULL;
    const Op *place = view ? arg(view, 0)->def : NULL;
    return place && place->op == OP_RING_ALLOC ? place : NULL;
}

/* The release of the slot of operand i that the dot is the last to read; NULL: it reads none, or
 * another is. */
static Op *
release_of(const Op *dot, int i)
{
    const Op *ring = ring_of(arg(dot, i));
    for (Op *o = dot->next; ring && o; o = o->next) {
        if (o->op == OP_MBAR_ARRIVE && !ir_attr(o, ATTR_BYTES) &&
            arg(o, 0)->def == ring && o->n_args == 2)
            return o;
        if (o->n_regions || (is_group_dot(o) && (ring_of(arg(o, 0)) == ring ||
                                                 ring_of(arg(o, 1)) == ring)))
            return NULL;
    }
    return NULL;
}

/* Does o want what a product gives that begins behind the one that is looked at? Those in front have begun. */
static bool
uses_younger(const Op *o)
{
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->def && arg(o, i)->def->block == o->block &&
            is_group_dot(arg(o, i)->def))
            return true;
    return false;
}

/* Does o order what all threads do with other slots than those of rings? */
static bool
is_of_all(const Op *o)
{
    return o->op == OP_BARRIER || o->op == OP_ASYNC_WAIT;
}

/* The op that the wait must stand in front of. n_younger: the products that have begun by
 * then. An operand that lasts may be read while threads meet, or wait for another product; but the wait for
 * a younger one ends this one, too. */
static Op *
last_moment(Op *first, const Op *dot, int *n_younger)
{
    bool lasts = operands_last(dot),
         is_of_rings = lasts && ring_of(arg(dot, 1)) &&
                       (!arg(dot, 0)->type->slots || ring_of(arg(dot, 0)));
    *n_younger = 0;
    Op *o = first;
    for (; !uses_result_of(o, dot); o = o->next) {
        bool is_younger = lasts && o != dot && is_group_dot(o) && operands_last(o),
             passes = lasts &&
                      (o->op == OP_REDUCE || o->op == OP_MMA_WAIT ||
                       o->op == OP_CONVERT || (is_of_rings && is_of_all(o)) ||
                       /* for other slots, and releases, which go behind this wait */
                       is_of_ring(o) || op_has(o, OPF_VIEW));
        if (o != dot &&
            ((!is_younger && !passes && !passes_open(o)) || uses_younger(o)))
            break;
        *n_younger += is_younger;
    }
    return o;
}

/* Does the dot run beside what a rotated loop computes, its operand brought by a ring? */
static bool
runs_beside(const Op *dot)
{
    const Op *loop = dot->block->owner;
    return loop && loop->op == OP_FOR && ir_attr(loop, ATTR_LOOP) & LOOP_MMA_ROUND &&
           !arg(dot, 0)->type->slots && ring_of(arg(dot, 1));
}

/* Looks once more at what has come already: ptxas moves the wait for a product up over
 * arithmetic, but not over a loop. It must not wait. One thread of a warpgroup gives the slot
 * back for all once the product is over, so another may come here when the slot is filled
 * anew, and the phase that it would wait for is two behind. */
static void
hold_back(Build *b, const Op *dot)
{
    enum { LOOKS = 16 }; /* the first sees it; few enough would be unrolled */
    const Op *view = arg(dot, 1)->def;
    const Op *ring = arg(view, 0)->def, *o = dot->prev;
    while (o && (o->op != OP_MBAR_WAIT || arg(o, 0)->def != ring ||
                 arg(o, 1) != arg(view, 1)))
        o = o->prev;
    if (!o)
        return;
    Op *look = ir_op(b, OP_MBAR_WAIT, 3, (Val *[]){arg(o, 0), arg(o, 1), arg(o, 2)}, 0,
                     NULL);
    ir_set_attr(look, ATTR_LOOKS, LOOKS);
}

static void
start_and_wait(Func *f, Op *dot)
{
    int n_younger;
    /* One of both where they share a ring. */
    Op *of_a = release_of(dot, 0), *of_b = release_of(dot, 1);
    if (operands_last(dot))
        let_others_follow(f, dot);
    Op *begun = start(f, dot), *until = last_moment(begun->next, dot, &n_younger);
    Build b = {.f = f, .block = dot->block, .before = until, .loc = dot->loc};
    bool holds_a = !arg(dot, 0)->type->slots;
    if (runs_beside(dot))
        hold_back(&b, dot);
    Op *wait = ir_op(&b, OP_MMA_WAIT, 1 + holds_a,
                     (Val *[]){result(begun, 0), arg(dot, 0)}, 1,
                     &result(dot, 0)->type);
    ir_set_attr(wait, ATTR_PENDING, n_younger);
    ir_replace(result(dot, 0), result(wait, 0));
    ir_erase(dot);
    if (of_a)
        ir_move_before(of_a, wait->next);
    if (of_b && of_b != of_a)
        ir_move_before(of_b, wait->next);
}

/* The carried sum of a loop stays open. One wait behind the loop is for all of them: *wait, or NULL
 * where this is the first. */
static void
keep_open(Func *f, Op *loop, Op *dot, Op **wait)
{
    Val *acc = arg(dot, 2); /* carried, so no constant */
    int i = acc->index;
    Op *begun = start(f, dot);
    const Type *plain = acc->type, *open = result(begun, 0)->type;
    ir_replace(result(dot, 0), result(begun, 0));
    ir_erase(dot);
    Build b = ir_before(loop);
    Val *in = arg(loop, i + 2);
    ir_set_arg(loop, i + 2, ir_op1(&b, OP_MMA_OPEN, 1, &in, open));
    acc->type = open;
    Val *out = result(loop, i - 1);
    out->type = open;
    b.before = loop->next;
    if (!*wait)
        *wait = ir_op(&b, OP_MMA_WAIT, 0, NULL, 0, NULL);
    ir_replace(out, ir_add_result(*wait, plain));
    ir_add_arg(*wait, out);
}

/* Behind what is released behind the wait: in the order in which who fills waits for it. */
static Op *
behind_releases(const Op *wait)
{
    Op *at = wait->next;
    for (Op *o = at; o && (o->op == OP_MBAR_ARRIVE || op_has(o, OPF_PURE)); o = o->next)
        if (o->op == OP_MBAR_ARRIVE)
            at = o->next;
    return at;
}

/* The slot that open products read is free when they have been waited for. So each iteration
 * releases that of the one before, in front of `at`, and the last is released behind the
 * loop. */
static void
release_late(Func *f, Op *loop, Op *arrive, Op *at)
{
    Block *body = loop->regions[0];
    Val *ring = arg(arrive, 0), *slot = arg(arrive, 1);
    Build b = ir_before(loop);
    Val *zero = ir_const_int(&b, slot->type, 0);
    ir_add_arg(loop, ir_const_int(&b, slot->type, -1));
    Val *before = ir_block_arg(body, slot->type, NULL),
        *last = ir_add_result(loop, slot->type);
    ir_add_arg(body->last, slot);
    ir_erase(arrive);
    Build in = {.f = f, .block = body, .before = at, .loc = loop->loc};
    Val *any = ir_bin(&in, OP_GE, before, zero);
    ir_op(&in, OP_MBAR_ARRIVE, 3, (Val *[]){ring, before, any}, 0, NULL);
    b.before = behind_releases(loop->next); /* the wait that keep_open put there */
    any = ir_bin(&b, OP_GE, last, zero);
    ir_op(&b, OP_MBAR_ARRIVE, 3, (Val *[]){ring, last, any}, 0, NULL);
}

/* May the sum stay open until the next iteration waits for its first product? Its slot is free then, so
 * one is on its way, one is read, and one is read still. */
static bool
is_open_sum(const Op *dot)
{
    enum { MIN_SLOTS = 3 };
    const Op *ring = ring_of(arg(dot, 1));
    return is_group_dot(dot) && only_goes_round(dot->block, dot) &&
           !arg(dot, 0)->type->slots && ring &&
           result(ring, 0)->type->slots >= MIN_SLOTS;
}

/* Is o made, element by element, of the results of products in `made`? */
static bool
is_made_of(const Op *o, const Map *made)
{
    bool moves = o->op == OP_CONVERT || o->op == OP_TRANS || o->op == OP_RESHAPE;
    return (moves || op_has(o, OPF_ELEM)) && uses_one_of(o, made);
}

/* Has a thread registers for the open sums' operands beside those of the next iteration? Is each made of a
 * product ahead? Then it comes behind that one's wait, which ends the sum of the iteration before; else it
 * would be written over what that sum still reads. */
static bool
may_stay_open(const Op *loop)
{
    Map made = {.a = loop->block->func->c->arena};
    int words = loop_pressure(loop);
    for (Op *o = loop->regions[0]->first; o; o = o->next) {
        if (is_made_of(o, &made) || (is_group_dot(o) && !is_open_sum(o)))
            map_put(&made, o, 0, o);
        if (!is_group_dot(o) || !is_open_sum(o))
            continue;
        const Val *a = arg(o, 0);
        if (!a->def || !map_get(&made, a->def, 0))
            return false;
        words += 2 * (int)(ty_numel(a->type) * ty_bits(a->type) /
                           (32 * 32 * loop->block->func->team_warps));
    }
    return words <= MAX_PRESSURE && !loop->block->func->c->hopper.no_open;
}

/* Is the dot's result the next iteration's business alone? Which carried value it is, or -1. */
static int
goes_round(const Op *dot, bool stays_open)
{
    const Val *v = result(dot, 0);
    const Op *loop = dot->block->owner;
    bool may =
        loop && loop->op == OP_FOR && operands_last(dot) && !arg(dot, 0)->type->slots &&
        ir_has_one_use(v) && v->uses->user == dot->block->last &&
        (ir_attr(loop, ATTR_LOOP) & LOOP_MMA_ROUND || (stays_open && is_open_sum(dot)));
    return may ? (int)(v->uses - v->uses->user->args) : -1;
}

/* Waits for the open sum, of which `kept` is an operand, in front of `at`; where that is a wait, by the
 * same one: what it leaves open is younger. */
static Op *
wait_for(Func *f, Block *block, Op *at, const Type *plain, Val *sum, Val *kept)
{
    Build b = {.f = f, .block = block, .before = at, .loc = at->loc};
    Op *wait = ir_op(&b, OP_MMA_WAIT, 0, NULL, 0, NULL),
       *old = at->op == OP_MMA_WAIT ? at : NULL;
    int n = old ? old->n_results : 0;
    for (int i = 0; i < n; i++)
        ir_replace(result(old, i), ir_add_result(wait, result(old, i)->type));
    ir_replace(sum, ir_add_result(wait, plain));
    for (int i = 0; i < n; i++)
        ir_add_arg(wait, arg(old, i));
    ir_add_arg(wait, sum);
    for (int i = n; old && i < old->n_args; i++)
        ir_add_arg(wait, arg(old, i));
    ir_add_arg(wait, kept);
    if (old) {
        ir_set_attr(wait, ATTR_PENDING, ir_attr(old, ATTR_PENDING));
        ir_erase(old);
    }
    return wait;
}

/* The dot's result i stays open to the top of the next iteration, or to the first wait there; so does its
 * operand. */
static void
wait_at_top(Func *f, Op *loop, Op *dot, int i)
{
    Block *body = loop->regions[0];
    Op *release = release_of(dot, 1), *begun = start(f, dot);
    Val *acc = body->args[i + 1], *a = arg(dot, 0), *out = result(loop, i);
    const Type *plain = acc->type, *open = result(begun, 0)->type;
    ir_replace(result(dot, 0), result(begun, 0));
    ir_erase(dot);
    Build b = {.f = f, .block = loop->block, .before = loop, .loc = begun->loc};
    Val *in = arg(loop, i + 3);
    ir_set_arg(loop, i + 3, ir_op1(&b, OP_MMA_OPEN, 1, &in, open));
    ir_add_arg(loop, ir_const_bits(&b, a->type, 0));
    Val *last = ir_add_result(loop, a->type), *held = ir_block_arg(body, a->type, NULL);
    ir_add_arg(body->last, a);
    acc->type = out->type = open;

    wait_for(f, loop->block, loop->next, plain, out, last);
    /* Of a rotated loop at the top. */
    Op *at = body->first;
    while (!(ir_attr(loop, ATTR_LOOP) & LOOP_MMA_ROUND) && at->op != OP_MMA_WAIT)
        at = at->next;
    f->c->hopper.has_open = true;
    Op *wait = wait_for(f, body, at, plain, acc, held);
    if (release)
        release_late(f, loop, release, behind_releases(wait));
}

static void
release_all_late(Func *f, Block *b)
{
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        if (o->op == OP_MBAR_ARRIVE && !ir_attr(o, ATTR_BYTES) && o->n_args == 2)
            release_late(f, b->owner, o, b->last);
    }
}

/* ---- products that wait for nothing ---------------------------------------------------------- */

enum { MAX_DEPTH = 16 };

static bool
stands_behind(const Op *o, const Op *at)
{
    if (o->block != at->block)
        return false;
    while (at && at != o)
        at = at->next;
    return at;
}

/* Is o what may stand in front of `at`, as all that it is made of? */
static bool
may_go_up(const Op *o, const Op *at, int depth)
{
    if (!stands_behind(o, at))
        return true;
    if (depth == MAX_DEPTH || o->n_regions || o->op == OP_DOT ||
        (!op_has(o, OPF_PURE) && o->op != OP_SHARED_VIEW && !is_of_ring(o)))
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->def && !may_go_up(arg(o, i)->def, at, depth + 1))
            return false;
    return true;
}

static void
go_up(Op *o, Op *at)
{
    if (!stands_behind(o, at))
        return;
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->def)
            go_up(arg(o, i)->def, at);
    ir_move_before(o, at);
}

/* Does o, in front of the dot, fill or await a slot that the dot reads? */
static bool
brings_operand(const Op *o, const Op *dot)
{
    const Op *a = ring_of(arg(dot, 0)), *b = ring_of(arg(dot, 1));
    bool is_release = o->op == OP_MBAR_ARRIVE && !ir_attr(o, ATTR_BYTES);
    return is_of_ring(o) && !is_release &&
           ((a && uses_result_of(o, a)) || (b && uses_result_of(o, b)));
}

/* Does the dot go up to `first`, behind `last`? Nothing that it is made of comes from between. */
static bool
begin_beside(Op *dot, Op *first, Op *last)
{
    for (int i = 0; i < dot->n_args; i++)
        if (arg(dot, i)->def && !may_go_up(arg(dot, i)->def, first, 0))
            return false;
    for (const Op *o = first; o != dot; o = o->next)
        if (brings_operand(o, dot) && !may_go_up(o, first, 0))
            return false;
    for (Op *o = first, *next; o != dot; o = next) {
        next = o->next;
        if (brings_operand(o, dot))
            go_up(o, first);
    }
    for (int i = 0; i < dot->n_args; i++)
        if (arg(dot, i)->def)
            go_up(arg(dot, i)->def, first);
    if (last->next != dot)
        ir_move_before(dot, last->next);
    return true;
}

/* The accumulators of all are in registers at once then. */
static void
begin_together(Block *body)
{
    if (loop_pressure(body->owner) + address_words(body) > MAX_PRESSURE)
        return;
    Op *first = body->first;
    while (first && !is_group_dot(first))
        first = first->next;
    Op *last = first;
    for (Op *o = first ? first->next : NULL, *next; o; o = next) {
        next = o->next;
        if (is_group_dot(o) && operands_last(o) && begin_beside(o, first, last))
            last = o;
    }
}

static const char *
group_text(Func *f, const Op *dot, bool is_behind)
{
    const char *level =
                   ring_of(arg(dot, 0)) || ring_of(arg(dot, 1))
                       ? "level 3: wgmma, what it reads is brought by other warps; "
                       : "level 2: wgmma, ",
               *when = is_behind ? "open until the next iteration's has begun"
                                 : "waited for within the iteration";
    if (!is_behind && f->c->hopper.no_open)
        return str_printf(f->c->arena, "%s%s: left open, %s", level, when,
                          f->c->hopper.why);
    return str_printf(f->c->arena, "%s%s", level, when);
}

static void
start_block(Func *f, Block *b)
{
    bool is_behind = b->owner && b->owner->op == OP_FOR &&
                     ir_attr(b->owner, ATTR_LOOP) & LOOP_MMA_BEHIND;
    int n_open = 0;
    Op *at_end = NULL;
    bool may_open = false;
    if (b->owner && b->owner->op == OP_FOR &&
        !(ir_attr(b->owner, ATTR_LOOP) & (LOOP_MMA_BEHIND | LOOP_MMA_ROUND))) {
        begin_together(b);
        may_open = may_stay_open(b->owner);
    }
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            start_block(f, o->regions[i]);
        bool stays_open = is_behind && o->op == OP_DOT &&
                          outlasts(arg(o, 0), b->owner) &&
                          outlasts(arg(o, 1), b->owner);
        if (!is_group_dot(o))
            continue;
        ir_report(f, o->loc, "dot", group_text(f, o, stays_open));
        /* It goes elsewhere, and all that follows it would be missed. */
        while (next && (next == release_of(o, 0) || next == release_of(o, 1)))
            next = next->next;
        f->c->hopper.has_groups = true;
        f->c->hopper.has_open |= stays_open;
        if (stays_open) {
            keep_open(f, b->owner, o, &at_end);
            n_open++;
        } else if (goes_round(o, may_open) >= 0) {
            wait_at_top(f, b->owner, o, goes_round(o, may_open));
        } else {
            start_and_wait(f, o);
        }
    }
    if (!n_open)
        return;
    Build at = {.f = f, .block = b, .before = b->last, .loc = b->owner->loc};
    Op *wait = ir_op(&at, OP_MMA_WAIT, 0, NULL, 0, NULL);
    ir_set_attr(wait, ATTR_PENDING, n_open);
    release_all_late(f, b);
}

void
pass_start_dots(Func *f)
{
    start_block(f, f->body);
}
