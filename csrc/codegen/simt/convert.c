/* convert: the same values, held by other threads. layout_plan says how (layout.h); here
 * its three forms become code. For tensor-core operands there is a fourth:
 *
 *     ldmatrix    each lane hands in the address of a row of 16 bytes, and the rows come
 *                 back dealt out as the fragments want them
 *
 * Which lane hands in which row is a layout, too: `rows` below. A buffer that suits a plan
 * from the source to `rows` with 16-byte rows serves ldmatrix without bank conflicts, so
 * the plan is asked for that layout and its second half is not used.
 */
#include "codegen/simt/simt.h"

enum { MAX_WORD = 4, MAX_VEC = 16 };

/* ---- ldmatrix -------------------------------------------------------------------------- */

typedef struct Rows {
    const ConvPlan *plan; /* from the source to the rows; NULL: no ldmatrix here */
    const Layout *rows;
    bool trans;
    int n; /* matrices an instruction: 1, 2, 4 */
} Rows;

/* The layout in which each lane has its row of 8 elements for ldmatrix(.trans) into dst:
 * registers along the row; lanes 0-2 pick the row of a matrix, lanes 3, 4 the matrix. */
static const Layout *
rows_of(Comp *c, const Layout *dst, bool trans, int log2_n)
{
    const Col *reg = dst->basis[IN_REG], *lane = dst->basis[IN_LANE];
    Layout r = *dst;
    const Col plain_row[3] = {reg[0], lane[0], lane[1]};
    for (int i = 0; i < 3; i++) {
        r.basis[IN_REG][i] = trans ? lane[2 + i] : plain_row[i];
        r.basis[IN_LANE][i] = trans ? plain_row[i] : lane[2 + i];
    }
    for (int i = 0; i < 2; i++)
        r.basis[IN_LANE][3 + i] = i < log2_n ? reg[1 + i] : 0;
    r.n[IN_REG] = 3;
    for (int i = 1 + log2_n; i < dst->n[IN_REG]; i++)
        r.basis[IN_REG][r.n[IN_REG]++] = reg[i];
    return layout_intern(c, &r);
}

/* Do the rows lie in the buffer as ldmatrix reads them? */
static bool
suits(const ConvPlan *p, const Layout *rows)
{
    if (p->kind != CONV_SHARED || p->n_reps != 1 || p->log2_load != 3)
        return false;
    int bits = layout_bits(rows);
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < rows->n[in]; i++) {
            Col at = f2_mul(p->offset_of, bits, rows->basis[in][i]);
            if (in == IN_REG && i < 3 ? at != (Col)1 << i : (at & 7) != 0)
                return false;
        }
    return true;
}

static Rows
find_rows(Sim *s, const Type *from, const Type *to)
{
    const Layout *dst = to->layout;
    Rows r = {0};
    if (sim_elem_bytes(to) != 2 || dst->n[IN_REG] < 1 || dst->n[IN_LANE] != LANE_BITS)
        return r;
    for (int i = 0; i < LANE_BITS; i++)
        if (!dst->basis[IN_LANE][i])
            return r;
    int log2_n = MIN(dst->n[IN_REG] - 1, 2);
    for (int trans = 0; trans < 2; trans++) {
        const Layout *rows = rows_of(s->c, dst, trans, log2_n);
        if (!layout_is_onto(rows))
            continue;
        const ConvPlan *p = layout_plan(s->c, from->layout, rows, 16);
        if (suits(p, rows))
            return (Rows){p, rows, trans, 1 << log2_n};
    }
    return r;
}

/* ---- the plan of an op -------------------------------------------------------------------- */

static const ConvPlan *
plan_of(Sim *s, const Op *o)
{
    const Type *from = arg(o, 0)->type, *to = result(o, 0)->type;
    return layout_plan(s->c, from->layout, to->layout, sim_elem_bytes(to) * 8);
}

int64_t
sim_convert_bytes(Sim *s, const Op *o, bool *warp_local)
{
    const ConvPlan *p = plan_of(s, o);
    if (p->kind != CONV_SHARED)
        return 0;
    Rows r = find_rows(s, arg(o, 0)->type, result(o, 0)->type);
    if (r.plan)
        p = r.plan;
    *warp_local = p->warp_local;
    return layout_plan_bytes(p);
}

/* ---- shuffles ------------------------------------------------------------------------------ */

/* x for threads whose tid bit is clear, y where it is set. */
static Lv
choose_by_bit(Sim *s, int bit, Lv x, Lv y)
{
    Lv is_clear = sim_all_clear(s, 1u << bit);
    return is_clear ? LLVMBuildSelect(s->l->b, is_clear, x, y, "") : x;
}

/* word[k] = tid bit ? word[k ^ by] : word[k], all at once. */
static void
swap_by_bit(Sim *s, int bit, Col by, Lv *word, int n)
{
    Lv *old = NEW_N(s->a, Lv, n);
    memcpy(old, word, (size_t)n * sizeof *old);
    for (int k = 0; k < n; k++)
        word[k] = choose_by_bit(s, bit, old[k], old[k ^ (int)by]);
}

static void
through_shuffles(Sim *s, const Op *o, const ConvPlan *p)
{
    const Type *t = result(o, 0)->type;
    Lv *src = sim_val(s, arg(o, 0)), *dst = sim_define(s, result(o, 0));
    int wide = sim_elem_bytes(t) == 8 ? 2 : 1, per_word = 1 << p->log2_pack;
    Lv at = sim_linear(s, p->lane_of, LANE_BITS, p->warp_of, s->log2_warps);
    for (int half = 0; half < wide; half++) {
        Lv *word = NEW_N(s->a, Lv, p->n_words_src),
           *got = NEW_N(s->a, Lv, p->n_words_dst);
        for (int j = 0; j < p->n_words_src; j++) {
            Lv part[MAX_WORD], w[2];
            for (int e = 0; e < per_word; e++)
                part[e] = src[p->src_from[j << p->log2_pack | e]];
            if (p->log2_pack) {
                word[j] = sim_pack_word(s, t, part, per_word);
            } else {
                sim_to_words(s, t, part[0], w);
                word[j] = w[half];
            }
        }
        for (int i = 0; i < LANE_BITS; i++)
            if (p->pre_lane[i])
                swap_by_bit(s, i, p->pre_lane[i], word, p->n_words_src);
        for (int i = 0; i < s->log2_warps; i++)
            if (p->pre_warp[i])
                swap_by_bit(s, LANE_BITS + i, p->pre_warp[i], word, p->n_words_src);
        for (int k = 0; k < p->n_words_dst; k++) {
            Lv w = word[p->word_of[k]];
            if (!p->same_lane || p->lane_xor[k]) {
                Lv from = at;
                if (p->lane_xor[k])
                    from = LLVMBuildXor(s->l->b, at, ll_i32(s->l, p->lane_xor[k]), "");
                w = s->m->shuffle_idx(s->l, w, from);
            }
            got[k] = w;
        }
        for (int i = 0; i < LANE_BITS; i++)
            if (p->post_lane[i])
                swap_by_bit(s, i, p->post_lane[i], got, p->n_words_dst);
        for (int r = 0; r < p->n_dst; r++) {
            int k = p->dst_from[r] >> p->log2_pack;
            Lv elems[MAX_WORD];
            if (p->log2_pack) {
                sim_unpack_word(s, t, got[k], per_word, elems);
                dst[r] = elems[p->dst_from[r] & (per_word - 1)];
            } else if (wide == 1) {
                dst[r] = sim_from_words(s, t, &got[k]);
            } else if (half == 0) {
                dst[r] = got[k]; /* the low word waits for the high one */
            } else {
                dst[r] = sim_from_words(s, t, (Lv[]){dst[r], got[k]});
            }
        }
    }
}

/* ---- shared memory --------------------------------------------------------------------------- */

static void
wait(Sim *s, const Op *o, const ConvPlan *p)
{
    if (p->warp_local)
        s->m->warp_sync(s->l, o->loc);
    else
        sim_barrier(s, o->loc);
}

/* Byte offset of access i: (at ^ xor) elements, then at bytes `base`. */
static Lv
access_offset(Sim *s, const ConvPlan *p, Lv at, Col moving, Col by, int base)
{
    Lv index = sim_xor(s, at, moving, by);
    return sim_shared_offset(s, index, 1 << p->log2_elem_bytes, base);
}

static void
store_rep(Sim *s, const Op *o, const ConvPlan *p, int rep, int base)
{
    const Type *t = result(o, 0)->type;
    Lv *src = sim_val(s, arg(o, 0)), elems[MAX_VEC];
    Lv at = sim_linear(s, p->store_lane, LANE_BITS, p->store_warp, s->log2_warps);
    Lv pred = sim_all_clear(s, p->store_lane_skip | p->store_warp_skip << LANE_BITS);
    int n = 1 << p->log2_store;
    for (int i = 0; i < p->n_stores; i++) {
        for (int e = 0; e < n; e++)
            elems[e] = src[p->src_from[(rep * p->n_stores + i) << p->log2_store | e]];
        Lv offset = access_offset(s, p, at, p->store_moving, p->store_xor[i], base);
        s->m->shared_store(s->l, offset, sim_pack(s, t, elems, n),
                           n << p->log2_elem_bytes, pred, o->loc);
    }
}

static void
through_shared(Sim *s, const Op *o, const ConvPlan *p)
{
    const Type *t = result(o, 0)->type;
    Lv *dst = sim_define(s, result(o, 0));
    int base = sim_scratch(s, o), n = 1 << p->log2_load;
    Lv *value = NEW_N(s->a, Lv, (p->n_reps * p->n_loads) << p->log2_load);
    Lv at = sim_linear(s, p->load_lane, LANE_BITS, p->load_warp, s->log2_warps);
    for (int rep = 0; rep < p->n_reps; rep++) {
        if (rep)
            wait(s, o, p);
        store_rep(s, o, p, rep, base);
        wait(s, o, p);
        for (int i = 0; i < p->n_loads; i++) {
            Lv offset = access_offset(s, p, at, p->load_moving, p->load_xor[i], base);
            Lv x = s->m->shared_load(s->l, offset, sim_packed_type(s, t, n),
                                     n << p->log2_elem_bytes, o->loc);
            sim_unpack(s, t, x, n, value + ((rep * p->n_loads + i) << p->log2_load));
        }
    }
    for (int r = 0; r < p->n_dst; r++)
        dst[r] = value[p->dst_from[r]];
}

static void
through_ldmatrix(Sim *s, const Op *o, const Rows *r)
{
    const Type *t = result(o, 0)->type;
    const Layout *dst = t->layout;
    const ConvPlan *p = r->plan;
    int base = sim_scratch(s, o), bits = layout_bits(dst);
    store_rep(s, o, p, 0, base);
    wait(s, o, p);
    Lv at = sim_linear(s, p->load_lane, LANE_BITS, p->load_warp, s->log2_warps);
    Lv *regs = sim_define(s, result(o, 0)), words[4];
    for (int first = 0; first < sim_n_regs(result(o, 0)); first += 2 * r->n) {
        Col flat = layout_at(dst, (uint32_t)first, 0, 0, 0);
        Lv offset = access_offset(s, p, at, p->load_moving,
                                  f2_mul(p->offset_of, bits, flat), base);
        s->m->ldmatrix(s->l, offset, r->n, r->trans, words, o->loc);
        for (int k = 0; k < r->n; k++)
            sim_unpack_word(s, t, words[k], 2, regs + first + 2 * k);
    }
}

void
sim_convert(Sim *s, const Op *o)
{
    const ConvPlan *p = plan_of(s, o);
    switch (p->kind) {
    case CONV_NONE: s->vals[result(o, 0)->id] = sim_val(s, arg(o, 0)); return;
    case CONV_REGS: {
        Lv *src = sim_val(s, arg(o, 0)), *dst = sim_define(s, result(o, 0));
        for (int r = 0; r < p->n_dst; r++)
            dst[r] = src[p->dst_from[r]];
        return;
    }
    case CONV_SHUFFLE: through_shuffles(s, o, p); return;
    case CONV_SHARED: {
        Rows r = find_rows(s, arg(o, 0)->type, result(o, 0)->type);
        if (r.plan)
            through_ldmatrix(s, o, &r);
        else
            through_shared(s, o, p);
        return;
    }
    }
}
