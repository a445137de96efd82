/* runs: steps in which quotients stay the same and remainders count up.
 *
 *     y = at // w, x = at % w, of 8 lanes, w = 28      load p + y * stride + x
 *         at 16..23     y = 0, x = 16..23              one row
 *         at 24..31     y = 0 0 0 0 1 1 1 1            lanes one by one
 *         at 32..39     y = 1, x = 4..11               one row
 *
 * Kernels that number the elements of an image, or of a tensor with odd sides, take their places apart like this, and
 * nothing is consecutive in all steps. So the code of a nest stands there twice: for steps in which no quotient
 * changes, which a comparison of scalars tells, and for the others. In the former a quotient is one scalar and
 * a remainder its first lane and a count, so addresses, masks and loads made of them are as of any row.
 *
 * A split is a division, or a bound, that analysis/quotients.c finds, and each step is one register, not several. Which
 * nests have such code is decided here, as lanes and gathers of the CPU decide it. A bound that no lane reaches is its operand.
 *
 * Rule 1: the dividend is looked at, for index arithmetic could wrap.
 */
#include "codegen/host/host.h"

static int
least_divisor(const Host *h, int lanes)
{
    return 2 * MAX(lanes, h->vec_bytes / 4);
}

bool
host_is_split(const Host *h, const Group *g, const Op *o, DimMap map)
{
    Quotients all = {0};
    int64_t step;
    if ((o->op != OP_DIV && o->op != OP_REM && !host_is_bound(o)) ||
        !steps_by_quotients(result(o, 0), map, g->vec, least_divisor(h, g->lanes),
                            &step, h->c->arena, &all))
        return false;
    return all.at[all.n - 1].o == o;
}

static void
add_split(Host *h, Group *g, const Quotient *q)
{
    const Op *o = q->o;
    Split s = {.elem = arg(o, 0)->type->elem,
               .op = o->op == OP_REM ? OP_DIV : o->op,
               .first = host_node(h, g, arg(o, q->up), q->map, true),
               .by = host_node(h, g, arg(o, !q->up), q->map, true)};
    for (int i = 0; i < g->splits.n; i++) {
        const Split *p = &g->splits.at[i];
        if (p->first == s.first && p->by == s.by && p->op == s.op)
            return;
    }
    PUSH(h->c->arena, &g->splits, s);
}

bool
host_steps_in_runs(Host *h, Group *g, const Val *v, DimMap map, int64_t *step)
{
    Quotients all = {0};
    if (!steps_by_quotients(v, map, g->vec, least_divisor(h, g->lanes), step,
                            h->c->arena, &all))
        return false;
    for (int i = 0; g->in_runs && i < all.n; i++)
        add_split(h, g, &all.at[i]);
    return true;
}

bool
host_runs_along(const Host *h, const Val *v, int dim)
{
    return !h->c->opt.check_bounds &&
           runs_by_quotients(v, dim, least_divisor(h, h->vec_bytes / 4));
}

Lv
host_divide_in_run(Host *h, const Split *s, int lanes, Lv *quotient, Lv *rest)
{
    Ll *l = h->l;
    LLVMBuilderRef b = l->b;
    bool is_signed = elem_is_signed(s->elem);
    LLVMIntPredicate le = is_signed ? LLVMIntSLE : LLVMIntULE;
    Lv first = s->first->x, by = s->by->x;
    Lt t = LLVMTypeOf(first);
    unsigned bits = (unsigned)elem_info[s->elem].bits;
    Lv zero = LLVMConstNull(t), n = LLVMConstInt(t, (unsigned)lanes, false),
       most = LLVMConstInt(
           t, (~(uint64_t)0 >> (64 - bits + is_signed)) - (unsigned)lanes, false);
    Lv has_room = LLVMBuildICmp(b, le, n, by, "");
    Lv d = LLVMBuildSelect(b, has_room, by, n, "");
    *quotient = is_signed ? LLVMBuildSDiv(b, first, d, "")
                          : LLVMBuildUDiv(b, first, d, "");
    *rest = LLVMBuildSub(b, first, LLVMBuildMul(b, *quotient, d, ""), "");
    Lv fits = LLVMBuildICmp(b, le, *rest, LLVMBuildSub(b, d, n, ""), "");
    fits = LLVMBuildAnd(b, fits, LLVMBuildICmp(b, le, zero, first, ""), "");
    fits = LLVMBuildAnd(b, fits, LLVMBuildICmp(b, le, first, most, ""), "");
    return LLVMBuildAnd(b, has_room, fits, "");
}

/* i1: does no lane reach the bound? */
static Lv
is_within(Host *h, const Split *s, int lanes)
{
    LLVMBuilderRef b = h->l->b;
    LLVMIntPredicate le = elem_is_signed(s->elem) ? LLVMIntSLE : LLVMIntULE;
    Lv first = s->first->x, by = s->by->x;
    Lv last = LLVMBuildAdd(
        b, first, LLVMConstInt(LLVMTypeOf(first), (unsigned)lanes - 1, false), "");
    Lv is = s->op == OP_MIN ? LLVMBuildICmp(b, le, last, by, "")
                            : LLVMBuildICmp(b, le, by, first, "");
    return LLVMBuildAnd(b, is, LLVMBuildICmp(b, le, first, last, ""), "");
}

Lv
host_is_run(Host *h, const Group *g)
{
    Lv is = NULL;
    for (int i = 0; i < g->splits.n; i++) {
        const Split *s = &g->splits.at[i];
        Lv q, r,
            fits = s->op == OP_DIV ? host_divide_in_run(h, s, g->lanes, &q, &r)
                                   : is_within(h, s, g->lanes);
        is = is ? LLVMBuildAnd(h->l->b, is, fits, "") : fits;
    }
    return is;
}

/* What takes each lane for itself: accesses of more than one place, and divisions. */
static int
n_by_lanes(const Group *g)
{
    int n = 0;
    for (int i = 0; i < g->list.n; i++) {
        const Node *x = g->list.at[i];
        const Op *o = x->v->def;
        n += x->kind == N_LOAD && x->mode == M_GATHER;
        n += x->kind == N_OP_NODE && is_vector(g, x) && elem_is_int(x->v->type->elem) &&
             (o->op == OP_DIV || o->op == OP_REM) && !ir_is_const(arg(o, 1), NULL);
    }
    for (int i = 0; i < g->roots.n; i++)
        n += host_is_access(&g->roots.at[i]) && g->roots.at[i].mode == M_GATHER;
    return n;
}

bool
host_gains_by_runs(const Group *g, const Group *runs)
{
    enum { MOST = 16, DIVISION = 4 }; /* in comparisons */
    int cost = 0;
    for (int i = 0; i < runs->splits.n; i++)
        cost += runs->splits.at[i].op == OP_DIV ? DIVISION : 1;
    return cost && cost <= MOST && n_by_lanes(runs) < n_by_lanes(g);
}
