/* quotients: what counts up, or stays the same, as long as quotients of indices do not change.
 *
 *     y = at // w, x = at % w, of 8 lanes, w = 28      p + y * stride + x
 *         at 16..23     y = 0, x = 16..23              consecutive
 *         at 24..31     y = 0 0 0 0 1 1 1 1            two runs
 *         at 32..39     y = 1, x = 4..11               consecutive
 *
 * Kernels that number the elements of an image, or of a tensor with odd sides, take their places apart like this. The
 * quotients that matter are divisions of what counts up by 1 along a dim, by what is the same along it.
 *
 * A bound is such a place, too: `min(max(x - 1, 0), w - 1)`, by which filters stay within an image, counts up but at its
 * edges. It is a "quotient" here: a minimum, or a maximum, of what counts up by 1 and of what is the same.
 *
 * Rule 1: index arithmetic does not wrap within a block, as in affine.c.
 * Rule 2: a divisor that is known to be small makes no such quotient: it would change in most steps.
 * Rule 3: one KEEP is seen through, and none inside of it: what that one was made from may be gone.
 */
#include "analysis/analysis.h"

enum { MAX_VISITS = 128 };

typedef struct Walk {
    int along, least;
    Arena *a;
    Quotients *all;
    bool is_kept; /* inside of what a KEEP has put into scratch */
    bool has_any;
    int visits;
} Walk;

static bool step_of(Walk *w, const Val *v, DimMap map, int64_t *step);

/* Of the first two operands of o. */
static bool
steps_of(Walk *w, const Op *o, DimMap map, int64_t *a, int64_t *b)
{
    return step_of(w, arg(o, 0), map, a) && step_of(w, arg(o, 1), map, b);
}

static bool
step_of_product(Walk *w, const Op *o, DimMap map, int64_t *step)
{
    int64_t a, b;
    uint64_t bits;
    if (!steps_of(w, o, map, &a, &b) || (a && b))
        return false;
    *step = a + b;
    if (!*step)
        return true;
    const Val *by = arg(o, a ? 1 : 0);
    if (!ir_is_const(by, &bits) || (int32_t)bits != (int64_t)bits || *step > INT32_MAX)
        return false;
    *step *= (int64_t)bits;
    return true;
}

static bool
step_of_quotient(Walk *w, const Op *o, DimMap map, int64_t *step)
{
    int64_t a, b;
    uint64_t bits;
    if (!steps_of(w, o, map, &a, &b) || b || a > 1 || a < 0)
        return false;
    *step = a && o->op == OP_REM;
    if (!a)
        return true;
    if (ir_is_const(arg(o, 1), &bits) && (int64_t)bits < w->least)
        return false;
    w->has_any = true;
    if (w->all)
        PUSH(w->a, w->all, ((Quotient){o, map, 0}));
    return true;
}

static bool
step_of_bound(Walk *w, const Op *o, DimMap map, int64_t *step)
{
    int64_t a, b;
    if (!steps_of(w, o, map, &a, &b) || (a && b) || (a + b) >> 1)
        return false;
    *step = a + b;
    if (!*step)
        return true;
    w->has_any = true;
    if (w->all)
        PUSH(w->a, w->all, ((Quotient){o, map, b != 0}));
    return true;
}

/* The same along the dim, if all that o takes is. */
static bool
is_same(Walk *w, const Op *o, DimMap map)
{
    int64_t step;
    if (!op_has(o, OPF_ELEM) || !op_has(o, OPF_PURE) || o->n_results != 1 ||
        op_is_assembly(o) || op_is_extern(o))
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (!step_of(w, arg(o, i), map, &step) || step)
            return false;
    return true;
}

static bool
step_of_op(Walk *w, const Op *o, DimMap map, int64_t *step)
{
    const Type *t = result(o, 0)->type;
    bool is_index = t->is_ptr || elem_is_int(t->elem);
    *step = o->op == OP_ARANGE;
    if (o->op == OP_CONST || o->op == OP_SPLAT || o->op == OP_ARANGE)
        return true;
    if (is_index && (o->op == OP_ADD || o->op == OP_SUB || o->op == OP_ADDPTR)) {
        int64_t a, b;
        if (!steps_of(w, o, map, &a, &b))
            return false;
        *step = o->op == OP_SUB ? a - b : a + b;
        return true;
    }
    if (is_index && o->op == OP_MUL)
        return step_of_product(w, o, map, step);
    if (is_index && (o->op == OP_DIV || o->op == OP_REM))
        return step_of_quotient(w, o, map, step);
    if (is_index && (o->op == OP_MIN || o->op == OP_MAX))
        return step_of_bound(w, o, map, step);
    if (is_index && o->op == OP_CAST) {
        Elem from = arg(o, 0)->type->elem;
        if (elem_is_int(from) && elem_info[t->elem].bits >= elem_info[from].bits)
            return step_of(w, arg(o, 0), map, step);
    }
    return is_same(w, o, map);
}

static bool
step_of(Walk *w, const Val *v, DimMap map, int64_t *step)
{
    const Op *o = v->def;
    int n = 0;
    for (int d = 0; d < v->type->rank; d++)
        n += map.at[d] == w->along && v->type->shape[d] > 1;
    *step = 0;
    if (!n)
        return true;
    if (!o || n > 1 || w->visits++ > MAX_VISITS)
        return false;
    if (is_kept_index(v)) {
        if (w->is_kept)
            return false;
        w->is_kept = true;
        bool ok = step_of(w, arg(o, 0), map, step);
        w->is_kept = false;
        return ok;
    }
    if (!op_is_lazy(o))
        return false;
    if (op_is_through(o))
        return step_of(w, arg(o, 0), op_through_map(o, map), step);
    return step_of_op(w, o, map, step);
}

bool
steps_by_quotients(const Val *v, DimMap map, int along, int least, int64_t *step,
                   Arena *a, Quotients *all)
{
    Walk w = {.along = along, .least = least, .a = a, .all = all};
    int n = all ? all->n : 0;
    if (step_of(&w, v, map, step) && w.has_any)
        return true;
    if (all)
        all->n = n;
    return false;
}

static bool
runs_along(const Val *v, int dim, int least)
{
    DimMap map = {{0}};
    int64_t step;
    for (int d = 0; d < v->type->rank; d++)
        map.at[d] = (uint8_t)d;
    return steps_by_quotients(v, map, dim, least, &step, NULL, NULL) && step == 1;
}

bool
runs_by_quotients(const Val *v, int dim, int least)
{
    if (!runs_along(v, dim, least))
        return false;
    for (int d = 0; d < v->type->rank; d++)
        if (d != dim && runs_along(v, d, least))
            return false;
    return true;
}
