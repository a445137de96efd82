/* convert: the same values, held by other threads. layout_plan says how (layout.h), and the code
 * for its three forms is made here. analysis/convert.c says whether values go into shared memory by
 * stmatrix, and whether they come out by ldmatrix.
 */
#include "codegen/simt/simt.h"

enum { MAX_WORD = 4, MAX_VEC = SIM_MAX_VECTOR };

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
    int wide = ty_bytes(t) == 8 ? 2 : 1, per_word = 1 << p->log2_pack;
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

/* Byte offset of access i: (at ^ xor) elements, then at bytes `base`. What meets no bit of a thread's is the
 * address's constant, so that few numbers differ by more. */
static Lv
access_offset(Sim *s, const ConvPlan *p, Lv at, Col moving, Col by, int base)
{
    Lv index = sim_xor(s, at, moving, by & moving);
    int more = (int)(by & ~moving) << p->log2_elem_bytes;
    return sim_shared_offset(s, index, 1 << p->log2_elem_bytes, base + more);
}

static void
store_vectors(Sim *s, const Op *o, const ConvPlan *p, int rep, int base)
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
        sim_shared_put(s, t, offset, elems, n, pred);
    }
}

/* Registers of `rows` are 8 of a row, then those of the fragments that no instruction
 * takes together: so a row's number there is that of an instruction. */
static void
store_matrices(Sim *s, const Op *o, const ConvWay *way, int rep, int base)
{
    enum { ROW = 8 };
    const ConvPlan *p = way->plan;
    const Type *t = result(o, 0)->type;
    Lv *src = sim_val(s, arg(o, 0)), words[4];
    Lv at = sim_linear(s, p->store_lane, LANE_BITS, p->store_warp, s->log2_warps);
    for (int i = 0; i < p->n_stores; i++) {
        int row = p->src_from[(rep * p->n_stores + i) * ROW] / ROW;
        Lv *first = src + row * 2 * way->from.n;
        for (int k = 0; k < way->from.n; k++)
            words[k] = sim_pack_word(s, t, first + 2 * k, 2);
        Lv offset = access_offset(s, p, at, p->store_moving, p->store_xor[i], base);
        s->m->stmatrix(s->l, offset, way->from.n, way->from.trans, words);
    }
}

static void
store_rep(Sim *s, const Op *o, const ConvWay *way, int rep, int base)
{
    if (way->from.n)
        store_matrices(s, o, way, rep, base);
    else
        store_vectors(s, o, way->plan, rep, base);
}

static void
through_shared(Sim *s, const Op *o, const ConvWay *way)
{
    const ConvPlan *p = way->plan;
    const Type *t = result(o, 0)->type;
    Lv *dst = sim_define(s, result(o, 0));
    int base = sim_scratch(s, o), n = 1 << p->log2_load;
    Lv *value = NEW_N(s->a, Lv, (p->n_reps * p->n_loads) << p->log2_load);
    Lv at = sim_linear(s, p->load_lane, LANE_BITS, p->load_warp, s->log2_warps);
    for (int rep = 0; rep < p->n_reps; rep++) {
        if (rep)
            sim_wait(s, o, WAIT_READ);
        store_rep(s, o, way, rep, base);
        sim_wait(s, o, WAIT_WRITTEN);
        for (int i = 0; i < p->n_loads; i++) {
            Lv offset = access_offset(s, p, at, p->load_moving, p->load_xor[i], base);
            sim_shared_get(s, t, offset, n,
                           value + ((rep * p->n_loads + i) << p->log2_load));
        }
    }
    for (int r = 0; r < p->n_dst; r++)
        dst[r] = value[p->dst_from[r]];
}

static void
through_ldmatrix(Sim *s, const Op *o, const ConvWay *way)
{
    const Type *t = result(o, 0)->type;
    const Layout *dst = t->layout;
    const ConvPlan *p = way->plan;
    int base = sim_scratch(s, o), bits = layout_bits(dst), n = way->to.n;
    store_rep(s, o, way, 0, base);
    sim_wait(s, o, WAIT_WRITTEN);
    Lv at = sim_linear(s, p->load_lane, LANE_BITS, p->load_warp, s->log2_warps);
    Lv *regs = sim_define(s, result(o, 0)), words[4];
    for (int first = 0; first < sim_n_regs(result(o, 0)); first += 2 * n) {
        Col flat = layout_at(dst, (uint32_t)first, 0, 0, 0);
        Lv offset = access_offset(s, p, at, p->load_moving,
                                  f2_mul(p->offset_of, bits, flat), base);
        s->m->ldmatrix(s->l, offset, n, way->to.trans, words);
        for (int k = 0; k < n; k++)
            sim_unpack_word(s, t, words[k], 2, regs + first + 2 * k);
    }
}

static Lv *
rounded(Sim *s, const Val *v)
{
    Lv *from = sim_val(s, v), *to = NEW_N(s->a, Lv, sim_n_regs(v));
    for (int r = 0; r < sim_n_regs(v); r++)
        to[r] = sim_round_tf32(s, from[r]);
    return to;
}

static void
move(Sim *s, const Op *o)
{
    ConvWay way = convert_way(s->f, o);
    const ConvPlan *p = way.plan;
    switch (p->kind) {
    case CONV_NONE: s->vals[result(o, 0)->id] = sim_val(s, arg(o, 0)); return;
    case CONV_REGS: {
        Lv *src = sim_val(s, arg(o, 0)), *dst = sim_define(s, result(o, 0));
        for (int r = 0; r < p->n_dst; r++)
            dst[r] = src[p->dst_from[r]];
        return;
    }
    case CONV_SHUFFLE: through_shuffles(s, o, p); return;
    case CONV_SHARED:
        if (way.to.n)
            through_ldmatrix(s, o, &way);
        else
            through_shared(s, o, &way);
        return;
    }
}

void
sim_convert(Sim *s, const Op *o)
{
    const Val *v = arg(o, 0);
    if (!sim_rounds_move(s, o)) {
        move(s, o);
        return;
    }
    Lv *plain = sim_val(s, v);
    s->vals[v->id] = rounded(s, v);
    move(s, o);
    s->vals[v->id] = plain;
}
