/* big: blocks of more registers than a thread should hold at once. Where a kernel has many
 * such (pass chunk decides it), ops take them by loops over chunks of registers.
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

static bool
is_slice(const Val *v)
{
    const Op *loop = (v->def ? v->def->block : v->block)->owner;
    return loop && loop->op == OP_FOR && ir_attr(loop, ATTR_SLICES);
}

bool
is_big(const Func *f, const Val *v)
{
    return f->chunk_bits && has_many_registers(v) && !is_slice(v);
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

/* A big value is no more code than one of BIG_REGS. */
int64_t
kernel_code_size(Func *f)
{
    return code_size(f, f->body, f->chunk_bits ? BIG_REGS : INT32_MAX);
}

const Op *
only_store(const Val *v)
{
    const Op *o = v->uses && !v->uses->next ? v->uses->user : NULL;
    if (!o || !v->def || o->op != OP_LOCAL_STORE || arg(o, 2) != v ||
        ir_attr(o, ATTR_PART) || o->block != v->def->block ||
        arg(o, 0)->def->block != o->block || arg(o, 0)->type->slots != 1)
        return NULL;
    for (const Use *u = arg(o, 0)->uses; u; u = u->next)
        if (u->user->op == OP_LOCAL_STORE && u->user != o)
            return NULL;
    return o;
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
