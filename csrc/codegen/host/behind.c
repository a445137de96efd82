/* behind: a nest takes no steps of which nobody sees anything.
 *
 *     x = load p, c < n, -inf       a row of n = 20000 in a block of 32768
 *     m = max x                     ends at 20001
 *     e = exp(x - m)
 *     s = sum e                     ends at 20001 if exp(-inf - m) is 0, which the program knows by then
 *     store e / s, c < n            ends at 20000
 *
 * All masks of a nest have to end at one index of its innermost loop, and no root may care for what is behind it:
 *
 *     a store          is masked there
 *     a block kept     is seen by masked stores alone (analysis rows.c)
 *     a reduction      combines elements that are all the same there, and more of them change nothing:
 *                      min, max, and, or of anything, a sum of zeros
 *
 * Rule 1: one element behind the end is among those that are combined. -0.0 and 0.0 are 0.0, a NaN and -inf are -inf: what a
 *         second one changes, the first one has changed.
 * Rule 2: where bounds are checked, all that the kernel loads is, so there a nest goes to its end.
 */
#include "codegen/host/host.h"

enum { DEPTH = 16 };

typedef struct Behind {
    Host *h;
    AffSum end;
    bool has_end, takes_one;
    const Block *scope; /* the terms of end are known there */
    Lv neutral;         /* i1: sums are of zeros; NULL: there are none */
} Behind;

static bool
is_same_end(Behind *w, const AffSum *end)
{
    if (!w->has_end)
        w->end = *end, w->has_end = true;
    return aff_is_same(&w->end, end);
}

static bool
ends(Behind *w, const Val *mask, int dim)
{
    AffSum end;
    return mask_end(w->h->f, mask, dim, &end) && is_same_end(w, &end);
}

/* Are the elements of v behind the end the same along dim? *x: what they are, where that is one scalar; NULL where it is not. */
static bool is_one(Behind *w, const Val *v, int dim, int depth, Lv *x);

static bool
is_one_of_op(Behind *w, const Op *o, int dim, int depth, Lv *x)
{
    if (!op_has(o, OPF_ELEM) || !op_has(o, OPF_PURE) || o->n_results != 1 ||
        op_is_assembly(o) || op_is_extern(o))
        return false;
    Lv *in = NEW_N(w->h->c->arena, Lv, o->n_args + 1);
    bool is_known = true;
    for (int i = 0; i < o->n_args; i++) {
        if (!is_one(w, arg(o, i), dim, depth, &in[i]))
            return false;
        is_known = is_known && in[i];
    }
    *x = is_known ? cg_elementwise(w->h->l, o, in) : NULL;
    return true;
}

static bool
is_one(Behind *w, const Val *v, int dim, int depth, Lv *x)
{
    Host *h = w->h;
    const Op *o = v->def;
    *x = NULL;
    if (!v->type->rank) {
        *x = host_is_ready(h, v) ? host_scalar(h, v) : NULL;
        return true;
    }
    if (o && o->op == OP_CONST) {
        *x = host_const(h, ty_element(h->c, v->type), o->bits, 0);
        return true;
    }
    if (v->type->shape[dim] == 1)
        return true;
    if (!o || !depth--)
        return false;
    if (o->op == OP_EXPAND)
        return is_one(w, arg(o, 0), dim - (dim > ir_attr(o, ATTR_AXIS)), depth, x);
    if (o->op == OP_SPLAT || o->op == OP_BROADCAST || o->op == OP_KEEP)
        return is_one(w, arg(o, 0), dim, depth, x);
    if (o->op == OP_SELECT && ends(w, arg(o, 0), dim))
        return is_one(w, arg(o, 2), dim, depth, x);
    if (o->op != OP_LOAD)
        return is_one_of_op(w, o, dim, depth, x);
    if (o->n_args < 2 || !ends(w, arg(o, 1), dim))
        return false;
    if (o->n_args > 2)
        return is_one(w, arg(o, 2), dim, depth, x);
    *x = host_const(h, ty_element(h->c, v->type), 0, 0);
    return true;
}

static bool
reduces_one(Behind *w, const Op *o, int dim)
{
    Ll *l = w->h->l;
    const Op *combine = ir_combine_op(o);
    Lv x;
    if (!combine || o->n_args != 1 || ir_attr(o, ATTR_AXIS) != dim ||
        !is_one(w, arg(o, 0), dim, DEPTH, &x))
        return false;
    w->takes_one = true;
    OpCode op = combine->op;
    if (op != OP_ADD)
        return op == OP_MIN || op == OP_MAX || op == OP_AND || op == OP_OR;
    if (!x)
        return false;
    Elem e = arg(o, 0)->type->elem;
    if (elem_is_narrow_float(e))
        x = cg_cast(l, e, E_F32, x, ROUND_RTNE);
    Lv zero = LLVMConstNull(LLVMTypeOf(x));
    Lv is_zero = elem_is_float(e) ? LLVMBuildFCmp(l->b, LLVMRealOEQ, x, zero, "")
                                  : LLVMBuildICmp(l->b, LLVMIntEQ, x, zero, "");
    w->neutral = w->neutral ? LLVMBuildAnd(l->b, w->neutral, is_zero, "") : is_zero;
    return true;
}

static bool
keeps_unseen(Behind *w, const Root *r, int dim)
{
    AffSum end;
    const Block *scope;
    if (!r->o || !rows_end(w->h->f, result(r->o, 0), dim, &end, &scope) ||
        !is_same_end(w, &end))
        return false;
    if (ir_encloses(scope, w->scope))
        w->scope = scope;
    return true;
}

static bool
is_unseen(Behind *w, const Root *r, int dim)
{
    switch (r->kind) {
    case R_STORE: return op_mask(r->o) && ends(w, op_mask(r->o), dim);
    case R_REDUCE: return reduces_one(w, r->o, dim);
    case R_KEEP: return keeps_unseen(w, r, dim);
    case R_ATOMIC:
    case R_CHECK:
    case R_PRINT: return false;
    }
    unreachable(w->h->c);
}

void
host_find_end(Host *h, Group *g)
{
    Ll *l = h->l;
    int dim = g->rank ? g->order[g->rank - 1] : 0, n = g->rank ? g->shape[dim] : 0;
    if (g->end || g->side || g->n_rows > 1 || h->c->opt.check_bounds ||
        n <= 2 * (dim == g->vec ? g->lanes : 1) || (g->axis >= 0 && g->axis != dim))
        return;
    Behind w = {.h = h, .scope = h->f->body};
    for (int i = 0; i < g->roots.n; i++) {
        const Root *r = &g->roots.at[i];
        if (!i && r->o)
            w.scope = r->o->block;
        if (!is_unseen(&w, r, dim))
            return;
    }
    Lv end = w.has_end ? host_count_of(h, &w.end, w.scope, n) : NULL;
    if (!end)
        return;
    Lv all = ll_i64(l, n);
    if (w.takes_one)
        end = ll_intrinsic(l, "llvm.umin", &l->i64, 1,
                           (Lv[]){LLVMBuildAdd(l->b, end, ll_i64(l, 1), ""), all}, 2);
    g->end = w.neutral ? LLVMBuildSelect(l->b, w.neutral, end, all, "") : end;
    g->end_dim = dim;
}
