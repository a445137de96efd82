/* convert: plan the way from one layout to another.
 *
 * The registers of a value are renamed, or move between the lanes of a warp
 * (convert_warp.c), or go through shared memory (convert_shared.c), which is always
 * possible. layout.h says what a plan holds and how it is carried out; the two files why
 * that is right. There S and D are src and dst; r, l, w are registers, lanes, warps; +
 * is XOR.
 *
 * Rule: a plan depends on nothing but its arguments.
 */
#include "layout/convert.h"

#include <assert.h>

/* Fills dreg and dst_kept. */
static void
keep_dst_regs(Conv *v)
{
    const Layout *d = v->dst;
    Col kept[MAX_BITS], x;
    for (int i = 0; i < d->n[IN_REG]; i++)
        if (f2_solve(kept, v->n_dreg, d->basis[IN_REG][i], &x)) {
            v->dst_kept[i] = x;
        } else {
            kept[v->n_dreg] = d->basis[IN_REG][i];
            v->dst_kept[i] = (Col)1 << v->n_dreg;
            v->dreg[v->n_dreg++] = i;
        }
}

/* Of the wavefronts of a warp. Lanes that read the same bytes read them at once: a value that one lane has,
 * and all want, takes a shuffle, and of shared memory four come by one access. */
static int
shared_cost(const ConvPlan *p)
{
    enum { WAVE = 128, SLOTS = 4 };
    int writers = LANE_BITS - __builtin_popcount(p->store_lane_skip),
        readers = f2_rank(p->load_lane, LANE_BITS),
        store = (1 << (writers + p->log2_store + p->log2_elem_bytes)) / WAVE,
        load = (1 << (readers + p->log2_load + p->log2_elem_bytes)) / WAVE,
        waves = p->n_stores * MAX(store, 1) + p->n_loads * MAX(load, 1);
    return p->n_reps *
           (waves * SLOTS + (p->warp_local ? WARP_BARRIER_COST : BARRIER_COST));
}

const ConvPlan *
layout_plan(Comp *c, const Layout *src, const Layout *dst, int elem_bits)
{
    ConvPlan *p = NEW(c->arena, ConvPlan);
    Conv v = {.c = c, .src = src, .dst = dst, .elem_bits = MAX(elem_bits, 8)};
    assert(layout_bits(src) == layout_bits(dst));
    ConvPlan empty = {.n_src = 1 << src->n[IN_REG], .n_dst = 1 << dst->n[IN_REG]};
    *p = empty;
    if (src == dst)
        return p;
    keep_dst_regs(&v);
    bool same_blocks = true;
    for (int i = 0; i < MAX_BITS; i++)
        same_blocks &= basis(src, IN_BLOCK, i) == basis(dst, IN_BLOCK, i);
    if (same_blocks && convert_plan_warp(&v, p))
        return p;
    *p = empty;
    convert_plan_shared(&v, p);
    p->cost = shared_cost(p);
    return p;
}

int64_t
layout_plan_bytes(const ConvPlan *p)
{
    return p->kind == CONV_SHARED ? (int64_t)1 << (p->log2_buffer + p->log2_elem_bytes)
                                  : 0;
}
