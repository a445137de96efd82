/* across: the steps along an axis, and the slots in shared memory where warps meet. */
#include "codegen/simt/across.h"

Across
across_open(Sim *s, const Op *o, bool by_kind)
{
    Across k = {.x = axis_open(o), .s = s};
    axis_sort(&k.x, by_kind);
    return k;
}

/* Bases are single bits, registers do not repeat, and along the axis warp bits are one run
 * above the lanes' (assign_layouts chooses such a layout). */
void
across_check(Across *k)
{
    const Layout *l = k->x.l;
    bool ok = layout_dedup_regs(k->s->c, l) == l;
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++)
            ok = ok && !(l->basis[in][i] & (l->basis[in][i] - 1));
    ok = ok && layout_is_nested(l, (int)ir_attr(k->x.o, ATTR_AXIS));
    if (!ok)
        sim_bad_layout(k->s, k->x.o);
}

void
across_copy_operands(Across *k)
{
    k->v = NEW_N(k->s->a, Lv *, k->x.n);
    for (int i = 0; i < k->x.n; i++) {
        k->v[i] = NEW_N(k->s->a, Lv, k->x.n_regs);
        memcpy(k->v[i], sim_val(k->s, arg(k->x.o, i)),
               (size_t)k->x.n_regs * sizeof(Lv));
    }
}

static Lv
outer(void *data, const Val *v)
{
    return sim_val(data, v)[0];
}

void
across_combine(Across *k, Lv *x, Lv *y, Lv *to)
{
    Lv *args = NEW_N(k->s->a, Lv, 2 * k->x.n);
    memcpy(args, x, (size_t)k->x.n * sizeof *x);
    memcpy(args + k->x.n, y, (size_t)k->x.n * sizeof *y);
    cg_region(k->s->l, k->x.o->regions[0], args, 2 * k->x.n, to, outer, k->s);
}

void
across_get(Across *k, int r, Lv *x)
{
    for (int i = 0; i < k->x.n; i++)
        x[i] = k->v[i][r];
}

void
across_put(Across *k, int r, Lv *x)
{
    for (int i = 0; i < k->x.n; i++)
        k->v[i][r] = x[i];
}

bool
across_is_live(const Across *k, int r)
{
    return ((uint32_t)r & ~k->x.reg_left) == 0;
}

void
across_check_results(Across *k, int first)
{
    const Op *o = k->x.o;
    int axis = (int)ir_attr(o, ATTR_AXIS);
    const Layout *sliced = layout_dedup_regs(k->s->c,
                                             layout_slice(k->s->c, k->x.l, axis)),
                 *parted = first ? NULL : axis_parted(k->s->c, k->x.l, axis);
    for (int i = first; i < o->n_results; i++) {
        const Type *t = result(o, i)->type;
        if (t->rank && ((t->layout != sliced && t->layout != parted) ||
                        t->layout != result(o, first)->type->layout))
            sim_bad_layout(k->s, o);
    }
}

void
across_define_results(Across *k, int first)
{
    for (int i = 0; first + i < k->x.o->n_results; i++) {
        Lv *to = sim_define(k->s, result(k->x.o, first + i));
        EACH_LIVE(r, k)
            *to++ = k->v[i][r];
    }
}

/* ---- slots -------------------------------------------------------------------------------- */

/* Byte offset of a slot, without the thread's part. */
static int
slot_at(const AxisSlots *t, int which, int warp, int bytes, int base)
{
    int low = which & ((1 << t->log2_vec) - 1), high = which >> t->log2_vec;
    int index = high << (t->log2_vec + t->log2_outer + t->log2_warps);
    return base + (index + (warp << t->warp_at) + low) * bytes;
}

/* Threads that hold what another holds, too, now that the lanes are done. */
static uint32_t
idle_threads(const Across *k)
{
    return k->x.lane_axis | layout_copies(k->x.l);
}

void
across_store(Across *k, const AxisSlots *t, int base)
{
    Sim *s = k->s;
    Lv index = sim_linear(s, t->lane, LANE_BITS, t->warp, s->log2_warps);
    Lv pred = sim_all_clear(s, idle_threads(k));
    for (int i = 0; i < k->x.n; i++) {
        const Type *type = arg(k->x.o, i)->type;
        int bytes = ty_bytes(type), which = 0, vec = 1 << t->log2_vec;
        Lv elems[16];
        EACH_LIVE(r, k) {
            elems[which % vec] = k->v[i][r];
            if (++which % vec)
                continue;
            Lv at = sim_shared_offset(s, index, bytes,
                                      slot_at(t, which - vec, 0, bytes, base));
            sim_shared_put(s, type, at, elems, vec, pred);
        }
        base += axis_operand_bytes(&k->x, t, i);
    }
}

/* The thread's part of the index, the warps along the axis left out. */
static AxisSlots
without_axis(const Across *k, const AxisSlots *t)
{
    AxisSlots r = *t;
    for (int i = 0; i < WARP_BITS; i++)
        if (k->x.warp_axis >> i & 1)
            r.warp[i] = 0;
    return r;
}

/* Vectors of live registers: those of `warps` warps, numbered by the offset or, where that
 * is one, by `index`. */
static void
load_vectors(Across *k, AxisSlots *t, Lv index, int warps, int which, int base, Lv *x)
{
    Sim *s = k->s;
    int vec = 1 << t->log2_vec;
    if (which == 0)
        k->loaded = NEW_N(s->a, Lv, k->x.n * warps * vec);
    for (int i = 0; i < k->x.n; i++) {
        const Type *type = arg(k->x.o, i)->type;
        int bytes = ty_bytes(type);
        for (int w = 0; w < warps; w++) {
            Lv *to = k->loaded + (i * warps + w) * vec;
            if (which % vec == 0) {
                Lv at = sim_shared_offset(s, index, bytes,
                                          slot_at(t, which, w, bytes, base));
                sim_shared_get(s, type, at, vec, to);
            }
            x[w * k->x.n + i] = to[which % vec];
        }
        base += axis_operand_bytes(&k->x, t, i);
    }
}

void
across_load_all(Across *k, AxisSlots *t, int which, int base, Lv *x)
{
    Sim *s = k->s;
    AxisSlots mine = without_axis(k, t);
    Lv index = sim_linear(s, mine.lane, LANE_BITS, mine.warp, s->log2_warps);
    int warps = 1 << t->log2_warps;
    if (t->log2_outer) {
        load_vectors(k, t, index, warps, which, base, x);
        return;
    }
    for (int i = 0; i < k->x.n; i++) {
        const Type *type = arg(k->x.o, i)->type;
        int bytes = ty_bytes(type), each = MIN(warps, 16 / bytes);
        Lv elems[16];
        for (int w = 0; w < warps; w += each) {
            Lv at = sim_shared_offset(s, index, bytes,
                                      slot_at(t, which, w, bytes, base));
            sim_shared_get(s, type, at, each, elems);
            for (int e = 0; e < each; e++)
                x[(w + e) * k->x.n + i] = elems[e];
        }
        base += axis_operand_bytes(&k->x, t, i);
    }
}

void
across_load_one(Across *k, AxisSlots *t, const int *lane_bit, int which, int base,
                Lv *x)
{
    Sim *s = k->s;
    AxisSlots mine = without_axis(k, t);
    for (int i = 0; lane_bit && i < t->log2_warps; i++)
        mine.lane[lane_bit[i]] = (Col)1 << (t->warp_at + i);
    Lv index = sim_linear(s, mine.lane, LANE_BITS, mine.warp, s->log2_warps);
    load_vectors(k, t, index, 1, which, base, x);
}
