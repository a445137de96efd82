/* host: scalars that a launch can compute before the kernel runs.
 *
 *     %0 = add %n, 127            param n, number 127, add, number 128, div, grid 0, mul
 *     %1 = div %0, 128
 *     %2 = num_programs {axis=0}
 *     %3 = mul %1, %2
 *
 * They are trees of elementwise ops over parameters, constants and num_programs. ir_eval says what
 * an op gives, so a launch and the kernel agree to the last bit.
 */
#include "ir/ir.h"

typedef struct Program {
    const Func *f;
    HostOp *op;
    int n;
} Program;

static bool
push(Program *p, HostOp o)
{
    if (p->n == MAX_HOST_OPS)
        return false;
    p->op[p->n++] = o;
    return true;
}

static bool
push_param(Program *p, const Val *v)
{
    bool is_param = v->block == p->f->body;
    return is_param && (v->type->is_ptr || elem_is_int(v->type->elem)) &&
           push(p, (HostOp){.kind = HOST_PARAM,
                            .out = (uint8_t)ty_evaluated(v->type),
                            .value = v->index});
}

static bool push_value(Program *p, const Val *v);

/* Of integers and pointers; a cast of integers rounds nothing. */
static bool
push_op(Program *p, const Op *o)
{
    bool ok = op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && !op_is_assembly(o) &&
              !op_is_extern(o) && o->n_args && o->n_args <= 3;
    if (!ok)
        return false;
    const Type *in = arg(o, o->op == OP_SELECT || o->op == OP_ADDPTR)->type,
               *out = result(o, 0)->type;
    for (int i = 0; ok && i < o->n_args; i++) {
        const Type *t = arg(o, i)->type;
        ok = (t->is_ptr || elem_is_int(t->elem)) && push_value(p, arg(o, i));
    }
    if (!ok || (!out->is_ptr && !elem_is_int(out->elem)))
        return false;
    if (o->op == OP_HINT || (o->op == OP_BITCAST && ty_bits(in) == ty_bits(out)))
        return true;
    Elem to = o->op == OP_ADDPTR ? out->elem : ty_evaluated(out);
    return push(p, (HostOp){.kind = HOST_OP,
                            .op = (uint8_t)o->op,
                            .n_args = (uint8_t)o->n_args,
                            .in = (uint8_t)ty_evaluated(in),
                            .out = (uint8_t)to});
}

static bool
push_value(Program *p, const Val *v)
{
    const Op *o = v->def;
    if (v->type->rank || v->type->is_tmap)
        return false;
    if (!o)
        return push_param(p, v);
    if (o->op == OP_CONST)
        return push(p, (HostOp){.kind = HOST_NUMBER, .value = (int64_t)o->bits});
    if (o->op == OP_NUM_PROGRAMS)
        return push(p, (HostOp){.kind = HOST_GRID, .value = ir_attr(o, ATTR_AXIS)});
    return push_op(p, o);
}

int
ir_host_ops(const Func *f, const Val *v, HostOp ops[MAX_HOST_OPS])
{
    Program p = {.f = f, .op = ops};
    return push_value(&p, v) ? p.n : 0;
}

static uint64_t
low_bits(Elem e, uint64_t v)
{
    int n = elem_info[e].bits;
    return n < 64 ? v & ((UINT64_C(1) << n) - 1) : v;
}

uint64_t
ir_host_value(const HostOp *ops, int n, const uint64_t *params, const int32_t grid[3])
{
    uint64_t stack[MAX_HOST_OPS], *top = stack;
    for (const HostOp *o = ops; o < ops + n; o++) {
        uint64_t r = (uint64_t)o->value;
        if (o->kind == HOST_PARAM)
            r = low_bits((Elem)o->out, params[o->value]);
        else if (o->kind == HOST_GRID)
            r = (uint32_t)grid[o->value];
        else if (o->kind == HOST_OP) {
            top -= o->n_args;
            if (o->op == OP_CAST)
                r = elem_cast((Elem)o->in, (Elem)o->out, top[0], ROUND_RTNE);
            else if (!ir_eval((OpCode)o->op, (Elem)o->in, (Elem)o->out, top, o->n_args,
                              &r))
                r = 0;
        }
        *top++ = r;
    }
    return n ? top[-1] : 0;
}
