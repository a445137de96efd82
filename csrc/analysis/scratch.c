/* scratch: how many bytes of shared memory an op works through, and where its threads wait
 * for each other on the way. Where those bytes lie is place_shared's business.
 */
#include "analysis/analysis.h"
#include "ptx/asm.h"

enum {
    PLACE_ALIGN = 16,
    MAX_PANELS = 48 << 10, /* bytes of both operands of a dot, if it has them */
};

/* ---- along an axis ------------------------------------------------------------------------ */

/* Registers are combined before warps meet. */
static void
combine_registers(Axis *k)
{
    for (int i = 0; k->step[i].in != IN_WARP; i++)
        if (k->step[i].in == IN_REG)
            k->reg_left &= ~(1u << k->step[i].bit);
        else
            k->reg_left &= ~(uint32_t)k->step[i].part;
}

static int
words_of(const Axis *k)
{
    int n = 0;
    for (int i = 0; i < k->n; i++)
        n += (ty_bytes(arg(k->o, i)->type) + 3) / 4;
    return n;
}

static void
want_reduce(const Func *f, const Op *o, Scratch *w)
{
    Axis k = axis_open(o);
    axis_sort(&k, true);
    if (!k.warp_axis)
        return;
    combine_registers(&k);
    AxisSlots t = axis_slots(&k);
    if (f->log2_ctas) {
        int log2_warps = k.l->n[IN_WARP] + k.l->n[IN_BLOCK];
        w->bytes = (int64_t)(4 * words_of(&k)) << (t.log2_which + log2_warps);
        w->is_exchange = true;
        return;
    }
    w->bytes = axis_bytes(&k, &t);
    w->is_dealt = axis_is_dealt(&k, &t);
    w->waits |= WAIT_WRITTEN | (w->is_dealt ? WAIT_COMBINED : 0);
}

int64_t
scratch_of_scan(const Op *o, const Layout *l)
{
    Axis k = axis_open_in(o, l);
    axis_sort(&k, false);
    if (!k.warp_axis)
        return 0;
    combine_registers(&k);
    AxisSlots t = axis_slots(&k);
    return axis_bytes(&k, &t);
}

static void
want_scan(const Op *o, Scratch *w)
{
    w->bytes = scratch_of_scan(o, arg(o, 0)->type->layout);
    w->waits = w->bytes ? WAIT_WRITTEN : 0;
}

/* ---- other layouts ------------------------------------------------------------------------- */

static void
want_convert(const Func *f, const Op *o, Scratch *w)
{
    const ConvPlan *p = convert_way(f, o).plan;
    if (p->kind != CONV_SHARED)
        return;
    w->bytes = layout_plan_bytes(p);
    w->waits = WAIT_WRITTEN | (p->n_reps > 1 ? WAIT_READ : 0);
    w->by_warp = p->warp_local;
}

/* ---- products by multiply-adds ----------------------------------------------------------- */

DotPanels
dot_panels(const Op *o, int room)
{
    const Type *a = arg(o, 0)->type, *b = arg(o, 1)->type;
    int r = a->rank, batch = r > 2 ? a->shape[0] : 1;
    int64_t rows = (int64_t)batch * a->shape[r - 2],
            cols = (int64_t)batch * b->shape[r - 1];
    DotPanels p = {.k = a->shape[r - 1]};
    for (;; p.k /= 2) {
        p.bytes[0] = round_up(rows * p.k * ty_bytes(a), PLACE_ALIGN);
        p.bytes[1] = round_up(cols * p.k * ty_bytes(b), PLACE_ALIGN);
        if (p.k == 1 || p.bytes[0] + p.bytes[1] <= MIN(room, MAX_PANELS))
            return p;
    }
}

static void
want_dot(Func *f, const Op *o, int room, Scratch *w)
{
    DotPlan plan;
    dot_plan(f, o, &plan);
    if (plan.is_mma)
        return;
    DotPanels p = dot_panels(o, room);
    w->bytes = p.bytes[0] + p.bytes[1];
    w->waits = WAIT_WRITTEN | (dot_sides(o).k > p.k ? WAIT_READ : 0);
}

/* ---- what owners computed ------------------------------------------------------------------ */

int64_t
shared_result_bytes(const Val *v)
{
    const Layout *l = v->type->layout;
    if (!v->uses || (l && !layout_copies(l)))
        return 0;
    return ty_numel(v->type) * ty_bytes(v->type);
}

bool
asm_by_owners(const Op *o)
{
    return o->op == OP_INLINE_ASM_IO && result(o, 0)->type->rank &&
           !ptx_asm_meets(o->text);
}

static void
want_results(const Op *o, Scratch *w)
{
    for (int k = 0; k < o->n_results; k++)
        w->bytes = round_up(w->bytes, PLACE_ALIGN) + shared_result_bytes(result(o, k));
    w->waits = WAIT_WRITTEN;
}

/* ---- rings --------------------------------------------------------------------------------- */

int64_t
ring_bytes(const Op *o, int i)
{
    int64_t at = 0;
    for (int k = 0; k < i; k++) {
        const Type *t = result(o, k)->type;
        at += t->mbars ? 8 * t->mbars
                       : round_up(ty_numel(t) * ty_bytes(t) * t->slots, SHARED_ALIGN);
    }
    return at;
}

static void
want_ring(const Op *o, Scratch *w)
{
    w->bytes = ring_bytes(o, o->n_results) + (ir_attr(o, ATTR_CLOCKS) ? 8 : 0) +
               (ir_attr(o, ATTR_CTAS) ? 8 : 0);
    w->align = SHARED_ALIGN;
}

/* ---- copies of tensors ----------------------------------------------------------------------- */

/* Threads meet at an mbarrier, with the bytes of a load; a store is their own. */
static void
want_tile(const Op *o, Scratch *w)
{
    const Type *t = o->n_results ? result(o, 0)->type : arg(o, o->n_args - 1)->type;
    if (ir_store_stage(o))
        return;
    w->bytes = has_stage(o) ? shared_stage(o).bytes : ty_numel(t) * ty_bytes(t);
    w->align = SHARED_ALIGN;
    w->meets = o->op == OP_MAP_LOAD;
    w->waits = !w->meets ? WAIT_WRITTEN : sent_from_place(o) ? WAIT_FREE : 0;
}

/* ---- the question ---------------------------------------------------------------------------- */

Scratch
scratch_of(Func *f, const Op *o, int room)
{
    Scratch w = {.align = PLACE_ALIGN};
    switch (o->op) {
    case OP_SHARED_ALLOC: {
        const Type *t = result(o, 0)->type;
        w.bytes = ty_numel(t) * ty_bytes(t) * t->slots;
        w.align = SHARED_ALIGN;
        break;
    }
    case OP_RING_ALLOC: want_ring(o, &w); break;
    case OP_MAP_LOAD:
    case OP_MAP_STORE: want_tile(o, &w); break;
    case OP_CONVERT: want_convert(f, o, &w); break;
    case OP_REDUCE: want_reduce(f, o, &w); break;
    case OP_SCAN: want_scan(o, &w); break;
    case OP_DOT: want_dot(f, o, room, &w); break;
    case OP_GATHER:
        w.bytes = ty_numel(arg(o, 0)->type) * ty_bytes(arg(o, 0)->type);
        w.waits = WAIT_WRITTEN;
        break;
    case OP_HISTOGRAM:
        w.bytes = 4 * ir_attr(o, ATTR_BINS);
        w.waits = WAIT_WRITTEN | WAIT_COMBINED;
        break;
    case OPS(OPS_RARE_ACCESS, OP_EXTERN_IO): want_results(o, &w); break;
    case OP_INLINE_ASM_IO:
        if (asm_by_owners(o))
            want_results(o, &w);
        break;
    case OPS(OPS_VALUES, OPS_INDEX, OP_JOIN, OP_SPLIT, OP_CAT, OP_RESIZE, OP_KEEP,
             OPS_ELEM, OP_LOAD, OP_STORE, OP_TILE_LOAD, OP_TILE_STORE, OP_TENSOR_MAP,
             OP_LAUNCH_TEST, OP_SORT, OP_INLINE_ASM, OP_EXTERN, OPS_FLOW, OPS_NOTES,
             OP_BARRIER, OPS_SLOTS, OPS_RINGS):
        if (op_has(o, OPF_SCRATCH))
            unreachable(f->c);
    }
    if (!w.bytes)
        w.waits = 0;
    return w;
}
