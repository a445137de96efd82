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
 * A scan keeps the order: inside a vector by log steps, between vectors by a carry, which is a vector, too. Where the
 * function is one op it takes in the last lane of what those steps gave, so one combine is all that a vector waits for
 * of the one before; of another function a second combine would cost more than the wait.
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

/* x moved by n lanes, up or (backward) down. Those that nothing moves into are id, and where there is none (NULL)
 * their own. */
static Lv
moved(Host *h, Lv x, Lv id, int n, int lanes, bool backward)
{
    Lv pick[64];
    for (int i = 0; i < lanes; i++) {
        int from = backward ? i + n : i - n;
        int own = id ? lanes + i : i;
        pick[i] = ll_i32(h->l, from < 0 || from >= lanes ? own : from);
    }
    return LLVMBuildShuffleVector(h->l->b, x, id ? id : x,
                                  LLVMConstVector(pick, (unsigned)lanes), "");
}

/* Inclusive scan of the lanes of x[0..n), in place; id: the identity of what has one. */
static void
scan_lanes(Host *h, const Op *o, Lv *x, Lv id, int lanes, bool backward)
{
    Ll *l = h->l;
    int n = o->n_args;
    Arena *a = h->c->arena;
    Lv *in = NEW_N(a, Lv, 2 * n), *out = NEW_N(a, Lv, n);
    for (int s = 1; s < lanes; s *= 2) {
        Lv keep[64];
        for (int i = 0; i < lanes; i++)
            keep[i] = LLVMConstInt(l->i1, (backward ? lanes - 1 - i : i) < s, false);
        Lv edge = LLVMConstVector(keep, (unsigned)lanes);
        for (int i = 0; i < n; i++) {
            in[i] = moved(h, x[i], id, s, lanes, backward);
            in[n + i] = x[i];
        }
        combine(h, o, in, out);
        for (int i = 0; i < n; i++)
            x[i] = id ? out[i] : LLVMBuildSelect(l->b, edge, x[i], out[i], "");
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
    const Type *et = ty_element(h->c, arg(o, 0)->type);
    uint64_t bits;
    Lv id = n == 1 && identity_of(o, et->elem, &bits) ? host_const(h, et, bits, lanes)
                                                      : NULL;
    for (int i = 0; i < n; i++) {
        Lt ct = ll_vec(ll_type(l, ty_element(h->c, arg(o, i)->type)), lanes);
        carry[i] = host_slot(h, ct);
        LLVMBuildStore(l->b, id ? id : LLVMConstNull(ct), carry[i]);
    }
    int step = along ? lanes : 1;
    host_loop_open(h, &loop[axis], t->shape[axis], step);
    Lv at = loop[axis].index;
    if (backward)
        at = LLVMBuildSub(l->b, ll_i64(l, t->shape[axis] - step), at, "");
    index[axis] = at;
    for (int i = 0; i < n; i++) {
        View *w = &state(h, arg(o, i))->view;
        Lv p = host_address(h, arg(o, i)->type, w, index);
        x[n + i] = host_read(h, ty_element(h->c, arg(o, i)->type), M_ROW,
                             lanes > 1 ? lanes : 0, p, NULL, NULL);
    }
    if (along)
        scan_lanes(h, o, x + n, id, lanes, backward);
    for (int i = 0; i < n; i++)
        x[i] = LLVMBuildLoad2(l->b, LLVMTypeOf(x[n + i]), carry[i], "");
    combine(h, o, x, y);
    Lv first = LLVMBuildICmp(l->b, LLVMIntEQ, loop[axis].index, ll_i64(l, 0), "");
    int end = backward ? 0 : lanes - 1;
    for (int i = 0; i < n; i++) {
        const Type *rt = result(o, i)->type;
        y[i] = id ? y[i] : LLVMBuildSelect(l->b, first, x[n + i], y[i], "");
        Lv p = host_address(h, rt, &state(h, result(o, i))->view, index);
        host_write(h, ty_element(h->c, rt), M_ROW, lanes > 1 ? lanes : 0, p, y[i],
                   NULL);
        if (along && lanes > 1 && id)
            x[n + i] = ll_some_lanes(l, x[n + i], NULL, end, 0, lanes);
        else if (along && lanes > 1)
            y[i] = ll_some_lanes(l, y[i], NULL, end, 0, lanes);
    }
    if (along && lanes > 1 && id)
        combine(h, o, x, y);
    for (int i = 0; i < n; i++)
        LLVMBuildStore(l->b, y[i], carry[i]);
    host_loop_close(h, &loop[axis]);
    for (int d = t->rank - 1; d >= 0; d--)
        if (d != axis)
            host_loop_close(h, &loop[d]);
    for (int i = 0; i < n; i++)
        state(h, result(o, i))->kind = V_BUFFER;
}
