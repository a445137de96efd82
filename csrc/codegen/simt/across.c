/* across: the steps along an axis, and the slots in shared memory where warps meet. */
#include "codegen/simt/across.h"

static bool
is_commutative(const Op *o)
{
    const Op *f = ir_combine_op(o);
    return f && op_has(f, OPF_COMM);
}

void
across_sort(Across *k, bool by_kind)
{
    for (int i = 1; i < k->n_steps; i++)
        for (int j = i; j > 0; j--) {
            Step a = k->step[j - 1], b = k->step[j];
            if (by_kind && a.in != b.in ? a.in < b.in : a.basis < b.basis)
                break;
            k->step[j - 1] = b;
            k->step[j] = a;
        }
}

Across
across_open(Sim *s, const Op *o)
{
    Across k = {.s = s, .o = o, .l = arg(o, 0)->type->layout, .n = o->n_args};
    int axis = (int)ir_attr(o, ATTR_AXIS);
    k.n_regs = 1 << k.l->n[IN_REG];
    k.is_commutative = is_commutative(o);
    for (int in = IN_REG; in <= IN_WARP; in++) {
        uint32_t moves = layout_moves(k.l, (InDim)in, axis);
        for (int i = 0; i < k.l->n[in]; i++)
            if (moves >> i & 1)
                k.step[k.n_steps++] = (Step){(InDim)in, i, k.l->basis[in][i]};
    }
    k.lane_axis = layout_moves(k.l, IN_LANE, axis);
    k.warp_axis = layout_moves(k.l, IN_WARP, axis);
    k.reg_left = (uint32_t)k.n_regs - 1;
    return k;
}

/* Bases are single bits, registers do not repeat, and along the axis warp bits are one run
 * above the lanes' (assign_layouts chooses such a layout). */
void
across_check(Across *k)
{
    const Layout *l = k->l;
    bool ok = layout_dedup_regs(k->s->c, l) == l;
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++)
            ok = ok && !(l->basis[in][i] & (l->basis[in][i] - 1));
    ok = ok && layout_is_nested(l, (int)ir_attr(k->o, ATTR_AXIS));
    if (!ok)
        sim_bad_layout(k->s, k->o);
}

void
across_copy_operands(Across *k)
{
    k->v = NEW_N(k->s->a, Lv *, k->n);
    for (int i = 0; i < k->n; i++) {
        k->v[i] = NEW_N(k->s->a, Lv, k->n_regs);
        memcpy(k->v[i], sim_val(k->s, arg(k->o, i)), (size_t)k->n_regs * sizeof(Lv));
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
    Lv *args = NEW_N(k->s->a, Lv, 2 * k->n);
    memcpy(args, x, (size_t)k->n * sizeof *x);
    memcpy(args + k->n, y, (size_t)k->n * sizeof *y);
    cg_region(k->s->l, k->o->regions[0], args, 2 * k->n, to, outer, k->s);
}

void
across_get(Across *k, int r, Lv *x)
{
    for (int i = 0; i < k->n; i++)
        x[i] = k->v[i][r];
}

void
across_put(Across *k, int r, Lv *x)
{
    for (int i = 0; i < k->n; i++)
        k->v[i][r] = x[i];
}

bool
across_is_live(const Across *k, int r)
{
    return ((uint32_t)r & ~k->reg_left) == 0;
}

/* ---- slots -------------------------------------------------------------------------------- */

Slots
across_slots(const Across *k)
{
    Slots t = {.log2_which = __builtin_popcount(k->reg_left)};
    for (int i = 0; i < k->l->n[IN_LANE]; i++)
        t.log2_outer += k->l->basis[IN_LANE][i] && !(k->lane_axis >> i & 1);
    for (int i = 0; i < k->l->n[IN_WARP]; i++)
        t.log2_outer += k->l->basis[IN_WARP][i] && !(k->warp_axis >> i & 1);
    if (t.log2_outer) {
        t.log2_vec = t.log2_which;
        for (int i = 0; i < k->n; i++) {
            int bytes = sim_elem_bytes(arg(k->o, i)->type);
            t.log2_vec = MIN(t.log2_vec, __builtin_ctz(16u / (unsigned)bytes));
        }
        t.warp_at = t.log2_vec + t.log2_outer;
    }
    int at = t.log2_vec;
    for (int i = 0; i < k->l->n[IN_LANE]; i++)
        if (k->l->basis[IN_LANE][i] && !(k->lane_axis >> i & 1))
            t.lane[i] = (Col)1 << at++;
    for (int i = 0; i < k->l->n[IN_WARP]; i++)
        if (k->l->basis[IN_WARP][i] && !(k->warp_axis >> i & 1))
            t.warp[i] = (Col)1 << at++;
    for (int i = 0; i < k->n_steps; i++) /* sorted by basis among the warps */
        if (k->step[i].in == IN_WARP)
            t.warp[k->step[i].bit] = (Col)1 << (t.warp_at + t.log2_warps++);
    return t;
}

static int64_t
operand_bytes(const Slots *t, const Type *type)
{
    int64_t bytes = (int64_t)sim_elem_bytes(type)
                    << (t->log2_warps + t->log2_outer + t->log2_which);
    return (bytes + 15) / 16 * 16;
}

int64_t
across_bytes(const Across *k, const Slots *t)
{
    int64_t bytes = 0;
    for (int i = 0; i < k->n; i++)
        bytes += operand_bytes(t, arg(k->o, i)->type);
    return bytes;
}

/* Byte offset of a slot, without the thread's part. */
static int
slot_at(const Slots *t, int which, int warp, int bytes, int base)
{
    int low = which & ((1 << t->log2_vec) - 1), high = which >> t->log2_vec;
    int index = high << (t->log2_vec + t->log2_outer + t->log2_warps);
    return base + (index + (warp << t->warp_at) + low) * bytes;
}

/* Threads that hold what another holds, too, now that the lanes are done. */
static uint32_t
idle_threads(const Across *k)
{
    return k->lane_axis | layout_copies(k->l);
}

int
across_operand_bytes(const Across *k, const Slots *t, int i)
{
    return (int)operand_bytes(t, arg(k->o, i)->type);
}

void
across_store(Across *k, const Slots *t, int base)
{
    Sim *s = k->s;
    Lv index = sim_linear(s, t->lane, LANE_BITS, t->warp, s->log2_warps);
    Lv pred = sim_all_clear(s, idle_threads(k));
    for (int i = 0; i < k->n; i++) {
        const Type *type = arg(k->o, i)->type;
        int bytes = sim_elem_bytes(type), which = 0, vec = 1 << t->log2_vec;
        Lv elems[16];
        for (int r = 0; r < k->n_regs; r++) {
            if (!across_is_live(k, r))
                continue;
            elems[which % vec] = k->v[i][r];
            if (++which % vec)
                continue;
            Lv at = sim_shared_offset(s, index, bytes,
                                      slot_at(t, which - vec, 0, bytes, base));
            s->m->shared_store(s->l, at, sim_pack(s, type, elems, vec), vec * bytes,
                               pred, k->o->loc);
        }
        base += (int)operand_bytes(t, type);
    }
}

/* The thread's part of the index, the warps along the axis left out. */
static Slots
without_axis(const Across *k, const Slots *t)
{
    Slots r = *t;
    for (int i = 0; i < WARP_BITS; i++)
        if (k->warp_axis >> i & 1)
            r.warp[i] = 0;
    return r;
}

/* Vectors of live registers: those of `warps` warps, numbered by the offset or, where that
 * is one, by `index`. */
static void
load_vectors(Across *k, Slots *t, Lv index, int warps, int which, int base, Lv *x)
{
    Sim *s = k->s;
    int vec = 1 << t->log2_vec;
    if (!t->loaded)
        t->loaded = NEW_N(s->a, Lv, k->n * warps * vec);
    for (int i = 0; i < k->n; i++) {
        const Type *type = arg(k->o, i)->type;
        int bytes = sim_elem_bytes(type);
        for (int w = 0; w < warps; w++) {
            Lv *to = t->loaded + (i * warps + w) * vec;
            if (which % vec == 0) {
                Lv at = sim_shared_offset(s, index, bytes,
                                          slot_at(t, which, w, bytes, base));
                Lv packed = s->m->shared_load(s->l, at, sim_packed_type(s, type, vec),
                                              vec * bytes, k->o->loc);
                sim_unpack(s, type, packed, vec, to);
            }
            x[w * k->n + i] = to[which % vec];
        }
        base += (int)operand_bytes(t, type);
    }
}

void
across_load_all(Across *k, Slots *t, int which, int base, Lv *x)
{
    Sim *s = k->s;
    Slots mine = without_axis(k, t);
    Lv index = sim_linear(s, mine.lane, LANE_BITS, mine.warp, s->log2_warps);
    int warps = 1 << t->log2_warps;
    if (t->log2_outer) {
        load_vectors(k, t, index, warps, which, base, x);
        return;
    }
    for (int i = 0; i < k->n; i++) {
        const Type *type = arg(k->o, i)->type;
        int bytes = sim_elem_bytes(type), each = MIN(warps, 16 / bytes);
        Lv elems[16];
        for (int w = 0; w < warps; w += each) {
            Lv at = sim_shared_offset(s, index, bytes,
                                      slot_at(t, which, w, bytes, base));
            Lv packed = s->m->shared_load(s->l, at, sim_packed_type(s, type, each),
                                          each * bytes, k->o->loc);
            sim_unpack(s, type, packed, each, elems);
            for (int e = 0; e < each; e++)
                x[(w + e) * k->n + i] = elems[e];
        }
        base += (int)operand_bytes(t, type);
    }
}

void
across_load_one(Across *k, Slots *t, const int *lane_bit, int which, int base, Lv *x)
{
    Sim *s = k->s;
    Slots mine = without_axis(k, t);
    for (int i = 0; i < t->log2_warps; i++)
        mine.lane[lane_bit[i]] = (Col)1 << (t->warp_at + i);
    Lv index = sim_linear(s, mine.lane, LANE_BITS, mine.warp, s->log2_warps);
    load_vectors(k, t, index, 1, which, base, x);
}

void
across_load_own(Across *k, Slots *t, int which, int base, Lv *x)
{
    Sim *s = k->s;
    Slots mine = without_axis(k, t);
    Lv index = sim_linear(s, mine.lane, LANE_BITS, mine.warp, s->log2_warps);
    load_vectors(k, t, index, 1, which, base, x);
}
