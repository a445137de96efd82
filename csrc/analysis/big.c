/* big: blocks of more registers than a thread should hold at once. Where a kernel has many
 * such (pass chunk decides it), they lie in local memory, and ops take slices of them. A gather, a histogram and a print
 * take what no slices are made of: code reads its registers from where the block lies, piece by piece.
 */
#include "analysis/analysis.h"

enum { BIG_REGS = 64 };

bool
is_in_registers(const Val *v)
{
    return v->type->rank && v->type->layout && !v->type->slots;
}

bool
has_many_registers(const Val *v)
{
    return is_in_registers(v) && 1 << v->type->layout->n[IN_REG] > BIG_REGS;
}

bool
moves_registers(Comp *c, const Op *o)
{
    return op_has(o, OPF_FREE) || o->op == OP_LOCAL_LOAD ||
           (o->op == OP_CONVERT && convert_plan(c, o)->kind <= CONV_REGS);
}

bool
is_by_register(Comp *c, const Op *o)
{
    bool is_elementwise = op_has(o, OPF_PURE) && op_has(o, OPF_ELEM) &&
                          !op_is_assembly(o);
    return (is_elementwise && o->n_results == 1) || moves_registers(c, o);
}

/* ---- piece by piece ---- */

bool
is_streamed(const Op *o)
{
    return o->op == OP_GATHER || o->op == OP_HISTOGRAM || o->op == OP_PRINT;
}

/* Does nothing from the ops behind o up to `end` write the place, or another block run? */
static bool
is_untouched(const Op *o, const Op *end, const Val *place)
{
    for (o = o->next; o && o != end; o = o->next)
        if (op_has(o, OPF_CONTROL) || (o->op == OP_LOCAL_STORE && arg(o, 0) == place))
            return false;
    return o == end;
}

static bool
is_whole(const Op *local)
{
    return !ir_attr(local, ATTR_PART) && arg(local, 0)->type->slots == 1;
}

const Val *
streamed_from(const Val *v)
{
    const Op *o = v->def, *user = v->uses && !v->uses->next ? v->uses->user : NULL;
    if (!o || o->op != OP_LOCAL_LOAD || !has_many_registers(v) || !is_whole(o))
        return NULL;
    return user && is_streamed(user) && is_untouched(o, user, arg(o, 0)) ? arg(o, 0)
                                                                         : NULL;
}

const Val *
streamed_to(const Val *v)
{
    const Op *o = v->def, *user = v->uses && !v->uses->next ? v->uses->user : NULL;
    if (!o || o->op != OP_GATHER || !has_many_registers(v) || !user ||
        user->op != OP_LOCAL_STORE || !is_whole(user))
        return NULL;
    for (const Op *p = o->next; p && p != user; p = p->next)
        if (p->op == OP_LOCAL_LOAD)
            return NULL;
    return is_untouched(o, user, arg(user, 0)) ? arg(user, 0) : NULL;
}

int64_t
slices_bytes(const Type *t)
{
    return (int64_t)ty_bytes(t) * t->slots << t->layout->n[IN_REG];
}

static int64_t
end_of_locals(const Block *b)
{
    int64_t end = 0;
    EACH_OP(o, b)
        if (o->op == OP_LOCAL_ALLOC)
            end = MAX(end, ir_attr(o, ATTR_AT) + slices_bytes(result(o, 0)->type));
    return end;
}

int64_t
local_bytes(const Func *f)
{
    return end_of_locals(f->body);
}
