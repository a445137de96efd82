/* start_dots: a product by warpgroups is begun as early, and waited for as late, as it may be.
 *
 *     barrier                          barrier
 *     async_copy ..                    %d = mma_start %a, %b, %acc : async
 *     %c = dot %a, %b, %acc     =>     async_copy ..
 *     %e = mul %c, %s                  %c = mma_wait %d {pending=0}
 *                                      %e = mul %c, %s
 *
 * A product moves up over copies and whatever computes nothing that it wants, as far as the
 * last barrier. Its wait stands before the first op that wants the result, or that threads
 * do together: a barrier, in the open or inside of a reduction, may be what allows somebody
 * to overwrite what the product still reads.
 *
 * In a loop whose slots are free only two iterations later (LOOP_MMA_BEHIND), a sum stays
 * open from one iteration to the next, and the wait is for the product before:
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
 * A in registers is an operand of the wait too: until then nobody else may have them.
 */
#include "passes/passes.h"

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

/* May a product be open while o runs, which does not want its result? */
static bool
passes_open(const Op *o)
{
    switch (o->op) {
    case OP_ASYNC_COPY:
    case OP_ASYNC_COMMIT:
    case OP_SHARED_VIEW:
    case OP_CONST:
    case OP_ARANGE:
    case OP_SPLAT:
    case OP_PROGRAM_ID:
    case OP_NUM_PROGRAMS:
    case OP_EXPAND:
    case OP_BROADCAST: return true;
    default: return op_has(o, OPF_ELEM) && op_has(o, OPF_PURE);
    }
}

static bool
is_zero_block(const Val *v)
{
    uint64_t bits;
    return ir_is_const(v, &bits) && bits == 0;
}

static Op *
start(Func *f, Op *dot)
{
    Op *at = dot;
    while (at->prev && passes_open(at->prev) && !uses_result_of(dot, at->prev))
        at = at->prev;
    Build b = {.f = f, .block = dot->block, .before = at, .loc = dot->loc};
    const Type *t = ty_with_async(f->c, result(dot, 0)->type, true);
    return ir_op(&b, OP_MMA_START, is_zero_block(arg(dot, 2)) ? 2 : 3,
                 (Val *[]){arg(dot, 0), arg(dot, 1), arg(dot, 2)}, 1, &t);
}

/* The op that the wait must stand in front of. */
static Op *
last_moment(Op *first, const Op *dot)
{
    Op *o = first;
    while (o == dot || (passes_open(o) && !uses_result_of(o, dot)))
        o = o->next;
    return o;
}

static void
start_and_wait(Func *f, Op *dot)
{
    Op *begun = start(f, dot), *until = last_moment(begun->next, dot);
    Build b = {.f = f, .block = dot->block, .before = until, .loc = dot->loc};
    bool holds_a = !arg(dot, 0)->type->slots;
    Op *wait = ir_op(&b, OP_MMA_WAIT, 1 + holds_a,
                     (Val *[]){result(begun, 0), arg(dot, 0)}, 1,
                     &result(dot, 0)->type);
    ir_replace(result(dot, 0), result(wait, 0));
    ir_erase(dot);
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

/* The carried sum of a loop stays open. */
static void
keep_open(Func *f, Op *loop, Op *dot)
{
    Val *acc = arg(dot, 2); /* carried, so no constant */
    int i = acc->index;
    Op *begun = start(f, dot);
    const Type *plain = acc->type, *open = result(begun, 0)->type;
    ir_replace(result(dot, 0), result(begun, 0));
    ir_erase(dot);
    Build b = {.f = f, .block = loop->block, .before = loop, .loc = loop->loc};
    Val *in = arg(loop, i + 2);
    ir_set_arg(loop, i + 2, result(ir_op(&b, OP_MMA_OPEN, 1, &in, 1, &open), 0));
    acc->type = open;
    Val *out = result(loop, i - 1);
    out->type = open;
    b.before = loop->next;
    Op *wait = ir_op(&b, OP_MMA_WAIT, 0, NULL, 1, &plain);
    ir_replace(out, result(wait, 0));
    ir_add_arg(wait, out);
}

/* What became of a dot on a chip that has wgmma, for compiled.report. */
static void
report(Func *f, const Op *dot, bool is_behind)
{
    DotPlan p;
    const char *why_not = hopper_plan(f).why_not;
    if (is_group_dot(dot))
        ir_report(f, dot->loc, "dot",
                  is_behind
                      ? "level 2: wgmma, open until the next iteration's has begun"
                  : f->c->hopper.no_open
                      ? str_printf(f->c->arena,
                                   "level 2: wgmma, waited for within the iteration: "
                                   "left open, %s",
                                   f->c->hopper.why)
                      : "level 2: wgmma, waited for within the iteration");
    else if (why_not ||
             (hopper_plan(f).level > 1 && (why_not = hopper_dot(f, dot, &p))))
        ir_report(f, dot->loc, "dot",
                  str_printf(f->c->arena, "level 1, no wgmma: %s", why_not));
}

static void
start_block(Func *f, Block *b)
{
    bool is_behind = b->owner && b->owner->op == OP_FOR &&
                     ir_attr(b->owner, ATTR_LOOP) & LOOP_MMA_BEHIND;
    int n_open = 0;
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            start_block(f, o->regions[i]);
        bool stays_open = is_behind && o->op == OP_DOT &&
                          outlasts(arg(o, 0), b->owner) &&
                          outlasts(arg(o, 1), b->owner);
        if (o->op == OP_DOT)
            report(f, o, stays_open);
        if (!is_group_dot(o))
            continue;
        f->c->hopper.has_groups = true;
        f->c->hopper.has_open |= stays_open;
        if (stays_open) {
            keep_open(f, b->owner, o);
            n_open++;
        } else {
            start_and_wait(f, o);
        }
    }
    if (!n_open)
        return;
    Build at = {.f = f, .block = b, .before = b->last, .loc = b->owner->loc};
    Op *wait = ir_op(&at, OP_MMA_WAIT, 0, NULL, 0, NULL);
    ir_set_attr(wait, ATTR_PENDING, n_open);
}

void
pass_start_dots(Func *f)
{
    start_block(f, f->body);
}
