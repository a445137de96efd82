/* reduce: accumulators inside a nest, and scans.
 *
 * A reduction keeps one accumulator a lane (a step may span several registers: that is what
 * hides the latency of the combine), and brings the lanes together behind the loop:
 *
 *     along the vector dim    x0..x31  ->  x0..x15 + x16..x31  ->  ..  ->  one value
 *     along another dim       every lane is an element of the result
 *
 * So the order of combination is not the order of the elements; the language asks for a
 * combine function that does not care. The accumulator starts at the identity where the
 * function is one op that has one: NaN for min and max (a NaN loses), -0.0 for sums (0.0
 * would turn a sum of -0.0 into 0.0). Else the first step replaces it by its input.
 *
 * f16 and bf16 are added up in f32 and rounded once: to round each sum takes five instructions where the
 * sum takes one, and a sum of 4096 ones in bf16 would be 256.
 *
 * A scan keeps the order: inside a vector by log steps, between vectors by a carry.
 */
#include "codegen/host/host.h"

/* x op identity = x, for a region of one op on its two arguments. */
static bool
identity_of(const Op *reduce, Elem e, uint64_t *bits)
{
    const Op *o = ir_combine_op(reduce);
    if (!o || (float_form[e].no_nan && (o->op == OP_MIN || o->op == OP_MAX)))
        return false;
    return ir_neutral(o->op, e, bits);
}

static bool
has_identity(const Op *o)
{
    uint64_t bits;
    return o->n_args == 1 && identity_of(o, arg(o, 0)->type->elem, &bits);
}

/* Of what the accumulator of operand i holds. */
static Elem
acc_elem(const Op *o, int i)
{
    Elem e = arg(o, i)->type->elem;
    return (e == E_F16 || e == E_BF16) && o->op == OP_REDUCE && has_identity(o) &&
                   ir_combine_op(o)->op == OP_ADD
               ? E_F32
               : e;
}

static const Type *
acc_type(Host *h, const Op *o, int i)
{
    const Type *t = arg(o, i)->type;
    Elem e = acc_elem(o, i);
    return ty_element(h->c, e == t->elem ? t : ty_with_elem(h->c, t, e));
}

static bool
is_horizontal(const Group *g)
{
    return g->axis == g->vec && g->lanes > 1;
}

static Lv
outer(void *data, const Val *v)
{
    return host_scalar(data, v);
}

static void
combine(Host *h, const Op *o, Lv *x, Lv *out)
{
    if (acc_elem(o, 0) != arg(o, 0)->type->elem) {
        out[0] = LLVMBuildFAdd(h->l->b, x[0], x[1], "");
        return;
    }
    cg_region(h->l, o->regions[0], x, 2 * o->n_args, out, outer, h);
}

void
host_reduce_begin(Host *h, Group *g, Root *r)
{
    Ll *l = h->l;
    int n = r->o->n_args;
    r->acc = NEW_N(h->c->arena, Lv, n);
    for (int i = 0; i < n; i++) {
        const Type *t = acc_type(h, r->o, i);
        uint64_t bits = 0;
        identity_of(r->o, t->elem, &bits);
        Lv init = host_const(h, t, bits, g->lanes);
        r->acc[i] = host_slot(h, LLVMTypeOf(init));
        LLVMBuildStore(l->b, init, r->acc[i]);
    }
}

void
host_reduce_step(Host *h, Group *g, Root *r, Lv *in)
{
    Ll *l = h->l;
    int n = r->o->n_args;
    Arena *a = h->c->arena;
    Lv *x = NEW_N(a, Lv, 2 * n), *out = NEW_N(a, Lv, n);
    bool known = has_identity(r->o);
    for (int i = 0; i < n; i++) {
        x[n + i] = cg_cast(l, arg(r->o, i)->type->elem, acc_elem(r->o, i), in[i],
                           ROUND_RTNE);
        x[i] = LLVMBuildLoad2(l->b, LLVMTypeOf(x[n + i]), r->acc[i], "");
        if (known)
            cg_mark_quiet(l, x[i]);
    }
    combine(h, r->o, x, out);
    Lv first = LLVMBuildICmp(l->b, LLVMIntEQ, g->index[g->axis], ll_i64(l, 0), "");
    for (int i = 0; i < n; i++) {
        if (!known)
            out[i] = LLVMBuildSelect(l->b, first, in[i], out[i], "");
        LLVMBuildStore(l->b, out[i], r->acc[i]);
    }
}

/* Lanes from, from + step, .. of x, as a vector or (count 1) a scalar. */
static Lv
lanes_of(Host *h, Lv x, int from, int step, int count)
{
    return count == 1 ? LLVMBuildExtractElement(h->l->b, x, ll_i32(h->l, from), "")
                      : ll_some_lanes(h->l, x, NULL, from, step, count);
}

void
host_reduce_end(Host *h, Group *g, Root *r)
{
    Ll *l = h->l;
    const Op *o = r->o;
    int n = o->n_args, lanes = g->lanes;
    Arena *a = h->c->arena;
    Lv *x = NEW_N(a, Lv, 2 * n), *out = NEW_N(a, Lv, n);
    bool halves = has_identity(o);
    for (int i = 0; i < n; i++) {
        const Type *t = acc_type(h, o, i);
        out[i] = LLVMBuildLoad2(l->b, ll_vec(ll_type(l, t), lanes), r->acc[i], "");
        if (halves)
            cg_mark_quiet(l, out[i]);
    }
    /* Halves are cheapest to take; neighbours keep the order of what fits in one step, for
     * a function that prefers its left operand on ties. */
    for (; is_horizontal(g) && lanes > 1; lanes /= 2) {
        for (int i = 0; i < n; i++) {
            x[i] = lanes_of(h, out[i], 0, halves ? 1 : 2, lanes / 2);
            x[n + i] = lanes_of(h, out[i], halves ? lanes / 2 : 1, halves ? 1 : 2,
                                lanes / 2);
        }
        combine(h, o, x, out);
    }
    for (int i = 0; i < n; i++) {
        const Val *v = result(o, i);
        VState *s = state(h, v);
        out[i] = cg_cast(l, acc_elem(o, i), v->type->elem, out[i], ROUND_RTNE);
        if (!v->type->rank) {
            s->lv = out[i];
            continue;
        }
        if (!s->view.buf)
            continue;       /* nobody wants this one */
        Lv index[MAX_RANK]; /* the vector dim is the last that is not 1: dense */
        for (int d = 0, k = 0; d < g->rank; d++)
            if (d != g->axis)
                index[k++] = g->index[d];
        Lv p = host_address(h, v->type, &s->view, index);
        host_write(h, ty_element(h->c, v->type), M_ROW, lanes > 1 ? lanes : 0, p,
                   out[i], NULL);
    }
}

/* ---- scans -------------------------------------------------------------------------------------- */

/* x moved up by n lanes; the lowest n keep their own value (and are not used). */
static Lv
moved_up(Host *h, Lv x, int n, int lanes)
{
    Lv pick[64];
    for (int i = 0; i < lanes; i++)
        pick[i] = ll_i32(h->l, i < n ? i : i - n);
    return LLVMBuildShuffleVector(h->l->b, x, LLVMGetPoison(LLVMTypeOf(x)),
                                  LLVMConstVector(pick, (unsigned)lanes), "");
}

static Lv
reversed(Host *h, Lv x, int lanes)
{
    return lanes < 2 ? x : ll_some_lanes(h->l, x, NULL, lanes - 1, -1, lanes);
}

/* Inclusive scan of the lanes of x[0..n), in place. */
static void
scan_lanes(Host *h, const Op *o, Lv *x, int lanes)
{
    Ll *l = h->l;
    int n = o->n_args;
    Arena *a = h->c->arena;
    Lv *in = NEW_N(a, Lv, 2 * n), *out = NEW_N(a, Lv, n);
    for (int s = 1; s < lanes; s *= 2) {
        Lv keep[64];
        for (int i = 0; i < lanes; i++)
            keep[i] = LLVMConstInt(l->i1, i < s, false);
        Lv low = LLVMConstVector(keep, (unsigned)lanes);
        for (int i = 0; i < n; i++) {
            in[i] = moved_up(h, x[i], s, lanes);
            in[n + i] = x[i];
        }
        combine(h, o, in, out);
        for (int i = 0; i < n; i++)
            x[i] = LLVMBuildSelect(l->b, low, x[i], out[i], "");
    }
}

/* The operands are in scratch; the results go there. Loops over the other dims, and inside
 * them along the axis: by vectors when the axis is the last dim, else element by element
 * with vectors across. */
void
host_scan(Host *h, const Op *o)
{
    Ll *l = h->l;
    Arena *a = h->c->arena;
    int n = o->n_args, axis = (int)ir_attr(o, ATTR_AXIS);
    bool backward = ir_attr(o, ATTR_REVERSE) != 0;
    const Type *t = arg(o, 0)->type;
    int last = t->rank - 1;
    bool along = axis == last;
    int widest = 1;
    for (int i = 0; i < n; i++)
        widest = MAX(widest, ty_bytes(arg(o, i)->type));
    for (int i = 0; i < n; i++)
        state(h, result(o, i))->view = host_new_view(h, result(o, i));
    int lanes = MIN(h->vec_bytes / widest, t->shape[last]);
    Loop loop[MAX_RANK];
    Lv index[MAX_RANK], *carry = NEW_N(a, Lv, n);
    Lv *x = NEW_N(a, Lv, 2 * n), *y = NEW_N(a, Lv, n);
    for (int d = 0; d < t->rank; d++) {
        if (d == axis)
            continue;
        host_loop_open(h, &loop[d], t->shape[d], d == last ? lanes : 1);
        index[d] = loop[d].index;
    }
    int width = along ? 1 : lanes;
    for (int i = 0; i < n; i++) {
        Lt ct = ll_vec(ll_type(l, ty_element(h->c, arg(o, i)->type)), width);
        carry[i] = host_slot(h, ct);
        LLVMBuildStore(l->b, LLVMConstNull(ct), carry[i]);
    }
    int step = along ? lanes : 1;
    host_loop_open(h, &loop[axis], t->shape[axis], step);
    Lv at = loop[axis].index;
    if (backward)
        at = LLVMBuildSub(l->b, ll_i64(l, t->shape[axis] - step), at, "");
    index[axis] = at;
    for (int i = 0; i < n; i++) {
        const Type *et = ty_element(h->c, arg(o, i)->type);
        View *w = &state(h, arg(o, i))->view;
        Lv p = host_address(h, arg(o, i)->type, w, index);
        x[i] = host_read(h, et, M_ROW, lanes > 1 ? lanes : 0, p, NULL, NULL);
        if (along && backward)
            x[i] = reversed(h, x[i], lanes);
    }
    if (along)
        scan_lanes(h, o, x, lanes);
    for (int i = 0; i < n; i++) {
        Lt ct = ll_vec(ll_type(l, ty_element(h->c, arg(o, i)->type)), width);
        x[n + i] = x[i];
        x[i] = LLVMBuildLoad2(l->b, ct, carry[i], "");
        if (along)
            x[i] = ll_splat(l, x[i], lanes);
    }
    combine(h, o, x, y);
    Lv first = LLVMBuildICmp(l->b, LLVMIntEQ, loop[axis].index, ll_i64(l, 0), "");
    for (int i = 0; i < n; i++) {
        const Type *rt = result(o, i)->type;
        Lv v = LLVMBuildSelect(l->b, first, x[n + i], y[i], "");
        Lv end = along && lanes > 1
                     ? LLVMBuildExtractElement(l->b, v, ll_i32(l, lanes - 1), "")
                     : v;
        LLVMBuildStore(l->b, end, carry[i]);
        if (along && backward)
            v = reversed(h, v, lanes);
        Lv p = host_address(h, rt, &state(h, result(o, i))->view, index);
        host_write(h, ty_element(h->c, rt), M_ROW, lanes > 1 ? lanes : 0, p, v, NULL);
    }
    host_loop_close(h, &loop[axis]);
    for (int d = t->rank - 1; d >= 0; d--)
        if (d != axis)
            host_loop_close(h, &loop[d]);
    for (int i = 0; i < n; i++)
        state(h, result(o, i))->kind = V_BUFFER;
}
