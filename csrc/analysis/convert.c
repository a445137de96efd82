/* convert: which way values take to other threads. layout_plan says how (layout.h); for 16-bit
 * elements either end of the way through shared memory may be done by matrices:
 *
 *     ldmatrix    each lane hands in the address of a row of 16 bytes, and the rows come
 *                 back dealt out as the fragments want them
 *     stmatrix    the same the other way (sm_90 on): fragments go out as rows, where a
 *                 plain store would write 4 bytes at a time
 *
 * Which lane hands in which row is a layout, too: `rows` below. A buffer that suits a plan
 * from the source to `rows` with 16-byte rows serves ldmatrix without bank conflicts, so
 * the plan is asked for that layout and its second half is not used. For stmatrix the plan
 * starts at the rows of the source; each of its stores is one instruction.
 */
#include "analysis/analysis.h"

const ConvPlan *
convert_plan(Comp *c, const Op *o)
{
    const Type *from = arg(o, 0)->type, *to = result(o, 0)->type;
    return layout_plan(c, from->layout, to->layout, ty_bytes(to) * 8);
}

/* way with ldmatrix at its end, if that can be. */
static void
try_ldmatrix(Comp *c, ConvWay *way, const Layout *from, const Layout *to)
{
    for (int trans = 0; trans < 2 && !way->to.n; trans++) {
        MatrixRows r = layout_matrix_rows(c, to, trans);
        const ConvPlan *p = r.n ? layout_plan(c, from, r.rows, 16) : NULL;
        if (p && p->kind == CONV_SHARED && p->n_reps == 1 && p->log2_load == 3 &&
            layout_rows_fit(p, r.rows))
            *way = (ConvWay){p, {0}, r};
    }
}

/* Instructions that touch the buffer. All ways move the same bytes without conflicts. */
static int
n_accesses(const ConvWay *way, const Layout *to)
{
    const ConvPlan *p = way->plan;
    int loads = way->to.n ? (1 << to->n[IN_REG]) / (2 * way->to.n)
                          : p->n_reps * p->n_loads;
    return p->n_reps * p->n_stores + loads;
}

/* Fragments that are read as they lie beside others of the thread come in another order, and are moved about. */
static bool
is_shorter(const ConvWay *k, const ConvWay *way, const Layout *to)
{
    int n = n_accesses(k, to), least = n_accesses(way, to);
    return n < least || (n == least && k->to.n && !way->to.n);
}

/* way with stmatrix at its start, if that is shorter; the end becomes ldmatrix, or plain. */
static void
try_stmatrix(Comp *c, ConvWay *way, const Layout *from, const Layout *to)
{
    const ConvWay old = *way;
    MatrixRows none = {0};
    for (int i = 0; i < 6; i++) { /* trans or not, of both ends; or this one's */
        MatrixRows r = layout_matrix_rows(c, from, i & 1),
                   at_end = i < 4 ? layout_matrix_rows(c, to, i >> 1) : none;
        ConvWay k = {.from = r, .to = at_end};
        if (!r.n || (i < 4 && !at_end.n))
            continue;
        const Layout *end = k.to.n ? k.to.rows : to;
        const ConvPlan *p = k.plan = layout_plan(c, r.rows, end, 16);
        if (p->kind == CONV_SHARED && p->log2_store == 3 && p->store_ways == 1 &&
            p->n_reps <= old.plan->n_reps && p->load_ways <= old.plan->load_ways &&
            p->warp_local == old.plan->warp_local && layout_rows_fit(p, r.rows) &&
            (!k.to.n || (p->log2_load == 3 && layout_rows_fit(p, end))) &&
            is_shorter(&k, way, to))
            *way = k;
    }
}

ConvWay
convert_way(const Func *f, const Op *o)
{
    Comp *c = f->c;
    const Layout *from = arg(o, 0)->type->layout, *to = result(o, 0)->type->layout;
    ConvWay way = {.plan = convert_plan(c, o)};
    if (way.plan->kind != CONV_SHARED || ty_bytes(result(o, 0)->type) != 2)
        return way;
    try_ldmatrix(c, &way, from, to);
    if (has_stmatrix(&c->opt.target))
        try_stmatrix(c, &way, from, to);
    return way;
}
