/* reduced_layouts: who holds the results of a reduction.
 *
 *     %s = reduce %x {axis=1}      32 rows in a thread's registers, a warp's lanes along the axis
 *
 *     sliced     each lane has all 32 sums: 5 shuffles for each, 160
 *     parted     each lane has one of them: 16 + 8 + 4 + 2 + 1 shuffles, 31 (axis_parted)
 *
 * Who stores the sums, or computes with them alone, takes them as they are parted, with less to do
 * for each thread. Who wants all of them in each lane, as a broadcast does, moves them: 32 shuffles more.
 */
#include "passes/simt/layouts.h"

enum {
    MAX_LOOK = 64,  /* values behind a result */
    MAX_REGS = 256, /* of an operand: what has more is taken chunk by chunk (chunk.c) */
    SHUFFLE = 4,    /* as in layout/convert_warp.c */
    SHARED = 8,
    BARRIER = 64,
};

/* May all that want v take it in whatever layout? seen: values that were looked at. */
static bool
is_taken(const Val *v, Map *seen)
{
    if (map_get(seen, v, 0))
        return true;
    map_put(seen, v, 0, (void *)v);
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user, *owner = o->block->owner;
        int i = (int)(u - o->args);
        if (seen->n > MAX_LOOK)
            return false;
        if (o->op == OP_STORE || op_is_atomic(o))
            continue;
        if (o->op == OP_YIELD && owner->op != OP_WHILE) {
            bool is_loop = owner->op == OP_FOR;
            if (!is_taken(result(owner, i), seen) ||
                (is_loop && !is_taken(owner->regions[0]->args[i + 1], seen)))
                return false;
            continue;
        }
        bool is_plain = op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && o->n_results == 1;
        if (!(is_plain || o->op == OP_EXPAND) || !is_taken(result(o, 0), seen))
            return false;
    }
    return true;
}

/* Does a loop add v to a total of its own that it scales, each row by a factor? Then threads carry parts of
 * the total (defer_sums), and want the factors of all rows. */
static bool
is_scaled_sum(const Val *v)
{
    const Op *add = ir_has_one_use(v) ? v->uses->user : NULL;
    for (int i = 0; add && add->op == OP_ADD && i < 2; i++) {
        const Op *mul = arg(add, i)->def;
        for (int k = 0; mul && mul->op == OP_MUL && k < 2; k++)
            if (!arg(mul, k)->def && arg(mul, k)->block == add->block)
                return true;
    }
    return false;
}

static int
words_of(const Type *t)
{
    return (ty_bytes(t) + 3) / 4;
}

const Layout *
layouts_reduced(Comp *c, const Op *o, const Layout *l)
{
    int axis = (int)ir_attr(o, ATTR_AXIS);
    const Layout *sliced = layouts_slice(c, l, axis),
                 *parted = is_block(result(o, 0)) ? axis_parted(c, l, axis) : NULL;
    if (!parted || 1 << l->n[IN_REG] > MAX_REGS || is_scaled_sum(result(o, 0)))
        return sliced;
    int all = 1 << sliced->n[IN_REG], left = 1 << parted->n[IN_REG],
        n_lanes = __builtin_popcount(layout_moves(l, IN_LANE, axis)),
        n_parts = sliced->n[IN_REG] - parted->n[IN_REG], back = 0, words = 0,
        selects = ir_combine_op(o) ? 2 : 4;
    Map seen = {.a = c->arena};
    for (int i = 0; i < o->n_results; i++) {
        const Val *v = result(o, i);
        words += words_of(v->type);
        back += is_taken(v, &seen)
                    ? 0
                    : layout_plan(c, parted, sliced, ty_bits(v->type))->cost;
    }
    int step = SHUFFLE * words + 1, was = all * n_lanes * step,
        now = (all - left + left * (n_lanes - n_parts)) * step +
              (all - left) * selects * words + back;
    return back ? (2 * now <= was ? parted : sliced) : now < was ? parted : sliced;
}
