/* fuse_dot: acc + dot(a, b, 0) is dot(a, b, acc).
 *
 *     %1 = dot %a, %b, splat(0)
 *     %2 = add %acc, %1             =>   %2 = dot %a, %b, %acc
 *
 * The dot goes down to the sum, where acc is known. This is the one place where floats are
 * summed in another order than written: the order inside of a dot is the target's anyway.
 *
 * Rule 1: both in one block, and the dot used by the sum alone: it is never done twice.
 * Rule 2: not where the user asks for partial sums (max_num_imprecise_acc).
 * Rule 3: float8 that warpgroups multiply is summed in fewer bits than float32 has, so what the
 *         user adds in float32 stays an addition. Where registers do not hold both sums, the
 *         product is left to level 1, which is exact.
 */
#include "passes/passes.h"

static bool
is_fusable(const Val *v, const Op *sum)
{
    const Op *d = v->def;
    return d && d->op == OP_DOT && d->block == sum->block && ir_has_one_use(v) &&
           !ir_attr(d, ATTR_IMPRECISE) && ir_is_zero(arg(d, 2));
}

/* Do warpgroups sum what the dot adds up in fewer bits than float32 has? */
static bool
is_short_sum(Func *f, const Op *dot)
{
    DotPlan p = {0};
    return elem_is_f8(arg(dot, 0)->type->elem) && !hopper_dot(f, dot, &p);
}

/* Do registers hold its sum and the one that it is added to? */
static bool
both_fit(const Func *f, const Op *dot)
{
    enum { MAX_BOTH = 192 }; /* words of a thread */
    return 2 * ty_numel(result(dot, 0)->type) / (32 * f->team_warps) <= MAX_BOTH;
}

void
pass_fuse_dot(Func *f)
{
    EACH_OP_INSIDE_OUT(o, f->body) {
        if (o->op != OP_ADD)
            continue;
        int i = is_fusable(arg(o, 1), o) ? 1 : 0;
        if (!is_fusable(arg(o, i), o))
            continue;
        Op *dot = arg(o, i)->def;
        if (is_short_sum(f, dot)) {
            if (both_fit(f, dot))
                continue;
            ir_set_attr(dot, ATTR_IMPRECISE, arg(dot, 0)->type->shape[1]);
        }
        ir_move_before(dot, o);
        ir_set_arg(dot, 2, arg(o, 1 - i));
        if (!result(dot, 0)->name)
            result(dot, 0)->name = result(o, 0)->name;
        ir_replace(result(o, 0), result(dot, 0));
        ir_erase(o);
    }
}
