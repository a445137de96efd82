/* shape_layouts: what ops that only rename elements do to a layout, in both directions. */
#include "passes/simt/layouts.h"

const Layout *
layouts_slice(Comp *c, const Layout *l, int axis)
{
    return layout_dedup_regs(c, layout_slice(c, l, axis));
}

/* l with the dims of t that are 1 (and larger in l) projected away. */
static const Layout *
narrowed(Comp *c, const Layout *l, const Type *t)
{
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] == 1 && l->log2_shape[d])
            l = layout_expand(c, layout_slice(c, l, d), d);
    return layout_dedup_regs(c, l);
}

const Layout *
layouts_operand(Comp *c, const Op *o, const Layout *l)
{
    uint8_t shape[MAX_RANK];
    int perm[MAX_RANK], back[MAX_RANK];
    if (o->op == OP_EXPAND)
        return layouts_slice(c, l, (int)ir_attr(o, ATTR_AXIS));
    if (o->op == OP_BROADCAST)
        return narrowed(c, l, arg(o, 0)->type);
    if (o->op == OP_RESHAPE) {
        ty_log2_shape(arg(o, 0)->type, shape);
        return layout_reshape(c, l, arg(o, 0)->type->rank, shape);
    }
    if (o->op != OP_TRANS)
        return NULL;
    ir_perm(o, perm);
    for (int d = 0; d < arg(o, 0)->type->rank; d++)
        back[perm[d]] = d;
    return layout_permute(c, l, back);
}

const Layout *
layouts_result(Comp *c, const Op *o, const Layout *l)
{
    const Type *t = o->results[0]->type;
    uint8_t shape[MAX_RANK];
    int perm[MAX_RANK];
    ty_log2_shape(t, shape);
    if (o->op == OP_EXPAND)
        return layout_expand(c, l, (int)ir_attr(o, ATTR_AXIS));
    if (o->op == OP_BROADCAST)
        return layout_dedup_regs(c, layout_broadcast(c, l, shape));
    if (o->op == OP_RESHAPE)
        return layout_reshape(c, l, t->rank, shape);
    ir_perm(o, perm); /* trans */
    return layout_permute(c, l, perm);
}

const Layout *
layouts_cat(Comp *c, const Layout *l)
{
    Layout r = *l;
    r.basis[IN_REG][r.n[IN_REG]++] = (Col)1 << l->log2_shape[0];
    r.log2_shape[0]++;
    return layout_intern(c, &r);
}

int
layouts_access_cost(const Layout *l, const Col *offset_of, int elem_bits)
{
    int bit[MAX_BITS],
        regs = 1 << l->n[IN_REG],
        vec = layout_offset_run(l, offset_of, __builtin_ctz(128u / (unsigned)elem_bits),
                                bit),
        words = MAX(elem_bits << vec, 32) / 32;
    return (regs >> vec) * words * layout_bank_ways(l, offset_of, vec, elem_bits);
}
