/* lazy: ops of which one element needs only the same element of what they take, or another one that
 * their shapes tell. Code for CPUs computes those in the loops that want them (codegen/host).
 */
#include "analysis/analysis.h"

static bool
is_trivial_reshape(const Op *o)
{
    const Type *a = arg(o, 0)->type, *b = result(o, 0)->type;
    int i = 0, j = 0;
    for (;;) {
        while (i < a->rank && a->shape[i] == 1)
            i++;
        while (j < b->rank && b->shape[j] == 1)
            j++;
        if (i == a->rank || j == b->rank)
            return i == a->rank && j == b->rank;
        if (a->shape[i++] != b->shape[j++])
            return false;
    }
}

bool
op_is_through(const Op *o)
{
    if (o->op == OP_RESHAPE)
        return arg(o, 0)->type->rank && is_trivial_reshape(o);
    return o->op == OP_EXPAND || o->op == OP_BROADCAST || o->op == OP_TRANS ||
           o->op == OP_CONVERT || o->op == OP_HINT;
}

bool
op_is_cheap(const Op *o)
{
    return o->op == OP_CONST || o->op == OP_SPLAT || o->op == OP_ARANGE ||
           op_is_through(o) ||
           (op_has(o, OPF_ELEM) && !op_has(o, OPF_SLOW | OPF_HEAVY));
}

bool
op_is_lazy(const Op *o)
{
    if (o->n_results != 1 || !result(o, 0)->type->rank || op_is_assembly(o) ||
        o->op == OP_EXTERN_IO)
        return false;
    if (o->op == OP_LOAD)
        return !ir_attr(o, ATTR_VOLATILE);
    return op_is_cheap(o) || op_has(o, OPF_ELEM);
}

bool
is_kept_index(const Val *v)
{
    return v->def && v->def->op == OP_KEEP &&
           (v->type->is_ptr || (elem_is_int(v->type->elem) && v->type->elem != E_I1));
}

bool
op_is_scalar(const Op *o)
{
    if (o->n_results != 1 || result(o, 0)->type->rank || op_is_assembly(o) ||
        o->op == OP_EXTERN_IO)
        return false;
    return o->op == OP_CONST || o->op == OP_PROGRAM_ID || o->op == OP_NUM_PROGRAMS ||
           op_has(o, OPF_ELEM);
}

DimMap
op_through_map(const Op *o, DimMap map)
{
    const Type *t = arg(o, 0)->type, *r = result(o, 0)->type;
    DimMap m = {{0}};
    int axis = (int)ir_attr(o, ATTR_AXIS), perm[MAX_RANK], j = 0;
    if (o->op == OP_TRANS) {
        ir_perm(o, perm);
        for (int d = 0; d < t->rank; d++)
            m.at[perm[d]] = map.at[d];
        return m;
    }
    for (int d = 0; d < t->rank; d++) {
        bool is_one = t->shape[d] == 1;
        if (o->op == OP_RESHAPE) { /* the dims that are not 1 keep their order */
            while (!is_one && r->shape[j] == 1)
                j++;
            m.at[d] = is_one ? NO_DIM : map.at[j++];
        } else if (o->op == OP_EXPAND) {
            m.at[d] = map.at[d < axis ? d : d + 1];
        } else {
            m.at[d] = o->op == OP_BROADCAST && is_one ? NO_DIM : map.at[d];
        }
    }
    return m;
}
