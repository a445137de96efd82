/* axis: the bits along an axis that is reduced or scanned, as steps; the slots in shared
 * memory through which warps combine partial results; how a big operand is cut along it.
 */
#include "analysis/analysis.h"

enum {
    MAX_DIRECT_BYTES = 32, /* of partial results that each thread reads whole */
    MAX_DIRECT_WORK = 160, /* instructions, about, that all threads may do alike */
    FEW_STEPS = 8,         /* instructions that are as cheap as a branch around them */
    MAX_LOOK = 32,         /* ops behind a result, until it is stored */
};

static bool
is_commutative(const Op *o)
{
    const Op *f = ir_combine_op(o);
    return f && op_has(f, OPF_COMM);
}

/* Do only stores of numbers, which thread 0 does, want v? budget: ops to look at. */
static bool
is_stored_alone(const Val *v, int *budget)
{
    if (v->type->rank)
        return false;
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        bool is_step = op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && o->n_results == 1;
        if (--*budget < 0)
            return false;
        if (o->op == OP_STORE ? arg(o, 0)->type->rank
                              : !is_step || !is_stored_alone(result(o, 0), budget))
            return false;
    }
    return true;
}

static bool
is_for_one(const Op *o)
{
    int budget = MAX_LOOK;
    for (int i = 0; i < o->n_results; i++)
        if (!is_stored_alone(result(o, i), &budget))
            return false;
    return true;
}

void
axis_sort(Axis *k, bool by_kind)
{
    for (int i = 1; i < k->n_steps; i++)
        for (int j = i; j > 0; j--) {
            AxisStep a = k->step[j - 1], b = k->step[j];
            if (by_kind && a.in != b.in ? a.in < b.in : a.basis < b.basis)
                break;
            k->step[j - 1] = b;
            k->step[j] = a;
        }
}

/* The bits of `in` along axis or, if off, those that are not; from the lowest basis up. */
static int
bits_of(const Layout *l, InDim in, int axis, bool off, int *bit)
{
    uint32_t moves = layout_moves(l, in, axis);
    int n = 0;
    for (int i = 0; i < l->n[in]; i++) {
        if (!l->basis[in][i] || (moves >> i & 1) == off)
            continue;
        int at = n++;
        for (; at > 0 && l->basis[in][bit[at - 1]] > l->basis[in][i]; at--)
            bit[at] = bit[at - 1];
        bit[at] = i;
    }
    return n;
}

/* Lane bit lane[i] parts what register bit reg[i] tells apart; how many do. */
static int
parting(const Layout *l, int axis, int *lane, int *reg)
{
    int all[MAX_BITS], n_lanes = bits_of(l, IN_LANE, axis, false, lane),
                       n_regs = bits_of(l, IN_REG, axis, true, all),
                       n = l->n[IN_BLOCK] ? 0 : MIN(n_lanes, n_regs);
    memcpy(reg, all + n_regs - n, (size_t)n * sizeof *reg);
    return n;
}

const Layout *
axis_parted(Comp *c, const Layout *l, int axis)
{
    int lane[MAX_BITS], reg[MAX_BITS], n = parting(l, axis, lane, reg);
    Layout r = *layout_slice(c, l, axis);
    for (int i = 0; i < n; i++) {
        r.basis[IN_LANE][lane[i]] = r.basis[IN_REG][reg[i]];
        r.basis[IN_REG][reg[i]] = 0;
    }
    return n ? layout_dedup_regs(c, layout_intern(c, &r)) : NULL;
}

/* Do o's results lie so? Its steps say then which. */
static void
note_parting(Axis *k, int axis)
{
    Comp *c = k->o->block->func->c;
    const Layout *l = k->o->n_results ? result(k->o, 0)->type->layout : NULL;
    int lane[MAX_BITS], reg[MAX_BITS], n = parting(k->l, axis, lane, reg);
    if (k->o->op != OP_REDUCE || !l || !n || l != axis_parted(c, k->l, axis))
        return;
    for (int i = 0; i < k->n_steps; i++)
        for (int j = 0; j < n && k->step[i].in == IN_LANE; j++)
            if (k->step[i].bit == lane[j]) {
                k->step[i].part = 1 << reg[j];
                k->lane_axis &= ~(1u << lane[j]);
            }
}

Axis
axis_open(const Op *o)
{
    return axis_open_in(o, arg(o, 0)->type->layout);
}

Axis
axis_open_in(const Op *o, const Layout *l)
{
    Axis k = {.o = o, .l = l, .n = o->n_args};
    int axis = (int)ir_attr(o, ATTR_AXIS);
    k.n_regs = 1 << k.l->n[IN_REG];
    k.is_commutative = is_commutative(o);
    k.is_for_one = is_for_one(o);
    for (int in = IN_REG; in <= IN_WARP; in++) {
        uint32_t moves = layout_moves(k.l, (InDim)in, axis);
        for (int i = 0; i < k.l->n[in]; i++)
            if (moves >> i & 1)
                k.step[k.n_steps++] = (AxisStep){(InDim)in, i, k.l->basis[in][i], 0};
    }
    k.lane_axis = layout_moves(k.l, IN_LANE, axis);
    k.warp_axis = layout_moves(k.l, IN_WARP, axis);
    k.reg_left = (uint32_t)k.n_regs - 1;
    note_parting(&k, axis);
    return k;
}

/* ---- slots -------------------------------------------------------------------------------- */

AxisSlots
axis_slots(const Axis *k)
{
    AxisSlots t = {.log2_which = __builtin_popcount(k->reg_left)};
    for (int i = 0; i < k->l->n[IN_LANE]; i++)
        t.log2_outer += k->l->basis[IN_LANE][i] && !(k->lane_axis >> i & 1);
    for (int i = 0; i < k->l->n[IN_WARP]; i++)
        t.log2_outer += k->l->basis[IN_WARP][i] && !(k->warp_axis >> i & 1);
    if (t.log2_outer) {
        t.log2_vec = t.log2_which;
        for (int i = 0; i < k->n; i++) {
            int bytes = ty_bytes(arg(k->o, i)->type);
            t.log2_vec = MIN(t.log2_vec, __builtin_ctz(16u / (unsigned)bytes));
        }
        t.warp_at = t.log2_vec + t.log2_outer;
    }
    int at = t.log2_vec;
    for (int i = 0; i < k->l->n[IN_LANE]; i++)
        if (k->l->basis[IN_LANE][i] && !(k->lane_axis >> i & 1))
            t.lane[i] = (Col)1 << at++;
    for (int i = 0; i < k->l->n[IN_WARP]; i++)
        if (k->l->basis[IN_WARP][i] && !(k->warp_axis >> i & 1))
            t.warp[i] = (Col)1 << at++;
    for (int i = 0; i < k->n_steps; i++) /* sorted by basis among the warps */
        if (k->step[i].in == IN_WARP)
            t.warp[k->step[i].bit] = (Col)1 << (t.warp_at + t.log2_warps++);
    return t;
}

static int64_t
operand_bytes(const AxisSlots *t, const Type *type)
{
    int64_t bytes = (int64_t)ty_bytes(type)
                    << (t->log2_warps + t->log2_outer + t->log2_which);
    return (bytes + 15) / 16 * 16;
}

int64_t
axis_bytes(const Axis *k, const AxisSlots *t)
{
    int64_t bytes = 0;
    for (int i = 0; i < k->n; i++)
        bytes += operand_bytes(t, arg(k->o, i)->type);
    return bytes;
}

int
axis_operand_bytes(const Axis *k, const AxisSlots *t, int i)
{
    return (int)operand_bytes(t, arg(k->o, i)->type);
}

/* ---- who combines what warps found -------------------------------------------------------- */

/* Lanes that hold the same results, enough to read one warp's partial each. */
static bool
lanes_for_warps(const Axis *k, const AxisSlots *t, int *lane_bit)
{
    int n = 0;
    for (int i = 0; i < k->l->n[IN_LANE] && n < t->log2_warps; i++)
        if (!k->l->basis[IN_LANE][i] || k->lane_axis >> i & 1)
            lane_bit[n++] = i;
    return n == t->log2_warps;
}

bool
axis_by_lanes(const Axis *k, const AxisSlots *t, int *lane_bit)
{
    int direct = ty_bytes(arg(k->o, 0)->type) << t->log2_warps;
    return direct > MAX_DIRECT_BYTES && lanes_for_warps(k, t, lane_bit);
}

/* Instructions of the region, about; 0: it is not simple enough to run in a branch. */
static int
region_work(const Op *o)
{
    const Block *b = o->regions[0];
    int work = 0;
    for (const Op *r = b->first; r != b->last; r = r->next) {
        bool ok = r->op == OP_CONST || (op_has(r, OPF_ELEM) && op_has(r, OPF_PURE));
        if (!ok || r->n_regions || op_is_assembly(r))
            return 0;
        for (int i = 0; i < r->n_args; i++) {
            const Val *v = arg(r, i);
            if ((v->def ? v->def->block : v->block) != b)
                return 0;
        }
        work += r->op == OP_CONST ? 0 : element_cost(r);
    }
    return work;
}

bool
axis_by_first(const Axis *k, const AxisSlots *t)
{
    int each = (1 << t->log2_warps) - 1, work = region_work(k->o), lane_bit[LANE_BITS];
    return k->is_for_one && work &&
           (each * work > FEW_STEPS || axis_by_lanes(k, t, lane_bit));
}

bool
axis_is_dealt(const Axis *k, const AxisSlots *t)
{
    int each = (1 << t->log2_which) * ((1 << t->log2_warps) - 1);
    int lane_bit[LANE_BITS];
    return !axis_by_lanes(k, t, lane_bit) && t->log2_outer &&
           each * region_work(k->o) > MAX_DIRECT_WORK;
}
