/* maps: what a launch makes for the function besides its arguments. A tensor map is numbers that
 * are known here and programs that compute the others from the arguments; the grid may be a parameter.
 */
#include "codegen/codegen.h"

#include <stdlib.h>

typedef struct Maps {
    const Func *f;
    VEC(MapPlan) map;
    VEC(HostValue) test;
    VEC(HostOp) op;
} Maps;

static HostValue
value(Maps *m, const Op *o, const Val *v)
{
    Comp *c = m->f->c;
    HostOp ops[MAX_HOST_OPS];
    int n = ir_host_ops(m->f, v, ops);
    if (!n || m->op.n + n > UINT16_MAX)
        err_at(c, o->loc, VALUE, "no launch can compute what is asked of it here");
    HostValue r = {.first = (uint16_t)m->op.n, .n = (uint16_t)n};
    for (int i = 0; i < n; i++)
        PUSH(c->arena, &m->op, ops[i]);
    return r;
}

static bool
has_stores(const Val *map)
{
    for (const Use *u = map->uses; u; u = u->next)
        if (op_has(u->user, OPF_WRITES) && !op_has(u->user, OPF_READS))
            return true;
    return false;
}

static void
add_map(Maps *m, const Op *o)
{
    int rank = o->n_args / 2;
    MapPlan p = {.elem = (uint8_t)arg(o, 0)->type->elem,
                 .rank = (uint8_t)rank,
                 .swizzle = (uint8_t)ir_attr(o, ATTR_SWIZZLE),
                 .fills_nan = ir_attr(o, ATTR_PADDING) == PAD_NAN,
                 .is_written = has_stores(result(o, 0)),
                 .param = (int16_t)ir_origin(arg(o, 0))};
    p.base = value(m, o, arg(o, 0));
    for (int d = 0; d < rank; d++) {
        p.box[d] = (uint16_t)box_side(ir_attr(o, ATTR_BOX), d);
        p.size[d] = value(m, o, arg(o, 1 + d));
        if (d < rank - 1)
            p.stride[d] = value(m, o, arg(o, 1 + rank + d));
    }
    PUSH(m->f->c->arena, &m->map, p);
}

void
cg_maps(const Func *f, Binary *out)
{
    Maps m = {.f = f};
    for (const Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_TENSOR_MAP)
            add_map(&m, o);
        else if (o->op == OP_LAUNCH_TEST)
            PUSH(f->c->arena, &m.test, value(&m, o, arg(o, 0)));
    out->blocks = ir_blocks(f);
    out->strips = ir_all_strips(f);
    out->tests = binary_copy(f->c, m.test.at, (size_t)m.test.n * sizeof *m.test.at);
    out->n_tests = m.test.n;
    out->maps = binary_copy(f->c, m.map.at, (size_t)m.map.n * sizeof *m.map.at);
    out->n_maps = m.map.n;
    out->host_ops = binary_copy(f->c, m.op.at, (size_t)m.op.n * sizeof *m.op.at);
    out->n_host_ops = m.op.n;
}
