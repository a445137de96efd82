/* convert_warp: conversions that rename registers, or move them between the lanes of a
 * warp. Names are those of convert.c.
 *
 * If each column of D is in the span of S's registers and lanes (for warps: the
 * difference of the two), element D(r, l, w) lies in the same warp, at
 *
 *     lane      l' = Qr r + Ql l + Qw w
 *     register  r' = Pr r + Pl l + Pw w
 *
 * A shuffle hands over one register per lane and round, chosen by the sender, so in
 * round k lanes that read from one lane must want one register. Let lane l receive in
 * round k its register r = k + G l, and T = Ql + Qr G. Then l' = T l + Qr k + Qw w, and
 * if there is an H with H T = Pl + Pr G, the sender m = l' knows what to send:
 *
 *     r' = (Pr + H Qr) k  +  H m  +  (Pw + H Qw) w
 *           word_of[k]      pre_lane    pre_warp
 *
 * and post_lane is G. H exists iff T v = 0 implies (Pl + Pr G) v = 0. So for each v
 * with Ql v = 0 but Pl v != 0 (two lanes want different registers of one lane) G, or
 * the freedom of S to hold an element twice, must lead v out of the image of Ql. For
 * bit permutations this is the three-step exchange of "Linear Layouts" (arXiv
 * 2505.23819), section 5; here any linear map and any replication will do.
 *
 *     src reg: a b  lane: c d e ..        dst reg: a c  lane: b d e ..
 *     Ql lane0 = 0, Pl lane0 = b; Qr maps register bit 1 to lane 0: G lane0 = bit 1
 */
#include "layout/convert.h"

#include <assert.h>

/* More words than this cost more in code and registers than the buffer does. */
enum { MAX_SHUFFLE_WORDS = 32 };

/* In issue slots of an SM quarter: a shuffle, or 4 bytes per lane of shared memory, is
 * one wavefront of a unit that the four quarters share; a barrier is mostly latency. */
enum { SHUFFLE_COST = 4, SELECT_COST = 1, SHARED_COST = 8 };

typedef struct Warp {
    /* Where elements are: columns over src register bits (p) and lane bits (q). */
    Col pr[MAX_BITS], qr[MAX_BITS]; /* by position in dreg */
    Col pl[LANE_BITS], ql[LANE_BITS];
    Col pw[WARP_BITS], qw[WARP_BITS];
    Col g[LANE_BITS]; /* over positions in dreg */
    Col h[LANE_BITS]; /* over src register bits */
} Warp;

/* Registers p and lanes q of src whose bases sum to y; registers alone if that is
 * possible. Linear in y only within one of the two cases, which is enough: any solution
 * is right. */
static bool
find_bases(const Conv *v, Col y, Col *p, Col *q)
{
    const Layout *s = v->src;
    Col m[MAX_BITS + LANE_BITS], x;
    int nr = s->n[IN_REG], nl = s->n[IN_LANE];
    memcpy(m, s->basis[IN_REG], (size_t)nr * sizeof(Col));
    memcpy(m + nr, s->basis[IN_LANE], (size_t)nl * sizeof(Col));
    if (!f2_solve(m, nr, y, &x) && !f2_solve(m, nr + nl, y, &x))
        return false;
    *p = x & (((Col)1 << nr) - 1);
    *q = x >> nr;
    return true;
}

/* Fills p and q; false when an element is in another warp. */
static bool
locate(const Conv *v, Warp *t)
{
    const Layout *s = v->src, *d = v->dst;
    for (int k = 0; k < v->n_dreg; k++)
        if (!find_bases(v, d->basis[IN_REG][v->dreg[k]], &t->pr[k], &t->qr[k]))
            return false;
    for (int i = 0; i < LANE_BITS; i++) {
        Col y = basis(d, IN_LANE, i), own = basis(s, IN_LANE, i);
        if (f2_solve(s->basis[IN_REG], s->n[IN_REG], y ^ own, &t->pl[i]))
            t->ql[i] = (Col)1 << i; /* best: the lane has it itself */
        else if (!find_bases(v, y, &t->pl[i], &t->ql[i]))
            return false;
    }
    for (int i = 0; i < WARP_BITS; i++)
        if (!find_bases(v, basis(d, IN_WARP, i) ^ basis(s, IN_WARP, i), &t->pw[i],
                        &t->qw[i]))
            return false;
    return true;
}

/* One way to move a lane's demand to another source lane: by waiting for another round
 * (reg >= 0), or by reading another copy (p, q with S (p, q) = 0). */
typedef struct Detour {
    Col p, q;
    int reg; /* position in dreg, or -1 */
} Detour;

static int
detours(const Conv *v, const Warp *t, Detour *out)
{
    const Layout *s = v->src;
    int n = 0, nr = s->n[IN_REG];
    Col m[MAX_BITS + LANE_BITS], x;
    memcpy(m, s->basis[IN_REG], (size_t)nr * sizeof(Col));
    for (int i = 0; i < LANE_BITS; i++) {
        m[nr + i] = basis(s, IN_LANE, i);
        if (f2_solve(m, nr + i, m[nr + i], &x))
            out[n++] = (Detour){x & (((Col)1 << nr) - 1), x >> nr | (Col)1 << i, -1};
    }
    for (int k = 0; k < v->n_dreg; k++)
        if (t->qr[k])
            out[n++] = (Detour){t->pr[k], t->qr[k], k};
    return n;
}

/* Chooses G, or other copies, for lane bits whose demand collides; false if none is. */
static bool
spread_lanes(const Conv *v, Warp *t)
{
    Detour way[LANE_BITS + MAX_BITS];
    int n_ways = detours(v, t, way);
    Col span[2 * LANE_BITS], v_dep[LANE_BITS];
    int n_span = LANE_BITS, todo[LANE_BITS], n_todo = 0;
    memcpy(span, t->ql, sizeof t->ql);
    for (int i = 0; i < LANE_BITS; i++)
        if (f2_solve(t->ql, i, t->ql[i], &v_dep[i]) &&
            f2_mul(t->pl, i, v_dep[i]) != t->pl[i])
            todo[n_todo++] = i;
    /* First detours that let the lane read from itself, then any. */
    for (int any = 0; any < 2; any++)
        for (int k = 0; k < n_todo; k++) {
            int i = todo[k];
            for (int j = 0; i >= 0 && j < n_ways; j++) {
                Col q = t->ql[i] ^ way[j].q;
                if (!any && q != (Col)1 << i)
                    continue;
                span[n_span] = way[j].q;
                if (f2_rank(span, n_span + 1) == f2_rank(span, n_span))
                    continue;
                n_span++;
                t->ql[i] = q;
                t->pl[i] ^= way[j].p;
                if (way[j].reg >= 0)
                    t->g[i] = (Col)1 << way[j].reg;
                i = todo[k] = -1;
            }
        }
    for (int k = 0; k < n_todo; k++)
        if (todo[k] >= 0)
            return false;
    return true;
}

/* H with H ql = pl on what ql reaches, 0 beside it. */
static void
invert_lanes(Warp *t)
{
    Col m[2 * LANE_BITS], inv[LANE_BITS];
    for (int i = 0; i < LANE_BITS; i++) {
        m[i] = t->ql[i];
        m[LANE_BITS + i] = (Col)1 << i;
    }
    bool ok = f2_invert(m, 2 * LANE_BITS, LANE_BITS, inv);
    assert(ok);
    (void)ok;
    for (int j = 0; j < LANE_BITS; j++)
        t->h[j] = f2_mul(t->pl, LANE_BITS, inv[j]);
}

/* Elements of a word that travel together: dst register bit k takes src register bit j
 * unchanged. Returns their number; positions in dreg and src register bits. */
static int
packable(const Conv *v, const ConvPlan *p, const Col *word_col, const Warp *t, int *pos,
         int *src_bit)
{
    int n = 0;
    Col pre = 0; /* post_lane has no such k: spread takes only k with qr[k] */
    for (int i = 0; i < LANE_BITS; i++)
        pre |= p->pre_lane[i];
    for (int i = 0; i < WARP_BITS; i++)
        pre |= p->pre_warp[i];
    for (int k = 0; k < v->n_dreg && v->elem_bits << n < 32; k++) {
        Col bit = word_col[k];
        bool alone = bit && !(bit & (bit - 1)) && !t->qr[k] && !(pre & bit);
        for (int j = 0; alone && j < v->n_dreg; j++)
            alone = j == k || !(word_col[j] & bit);
        if (alone) {
            pos[n] = k;
            src_bit[n++] = __builtin_ctz(bit);
        }
    }
    return n;
}

/* The bits of all that are not among taken. */
static int
without(Col all, const int *taken, int n, int *out)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        all &= ~((Col)1 << taken[i]);
    for (; all; all &= all - 1)
        out[k++] = __builtin_ctz(all);
    return k;
}

/* From matrices over register bits to tables over words. */
static void
fill_words(const Conv *v, const Warp *t, const Col *word_col, ConvPlan *p)
{
    int pack_pos[2], pack_src[2], src_bit[MAX_BITS], pos[MAX_BITS];
    int n_pack = packable(v, p, word_col, t, pack_pos, pack_src);
    Col used = 0; /* src register bits that anything asks for */
    for (int k = 0; k < v->n_dreg; k++)
        used |= word_col[k];
    for (int i = 0; i < LANE_BITS; i++)
        used |= p->pre_lane[i];
    for (int i = 0; i < WARP_BITS; i++)
        used |= p->pre_warp[i];
    int n_src = without(used, pack_src, n_pack, src_bit);
    int n_pos = without(((Col)1 << v->n_dreg) - 1, pack_pos, n_pack, pos);
    p->log2_pack = n_pack;
    p->n_words_src = 1 << n_src;
    p->n_words_dst = 1 << n_pos;
    for (int i = 0; i < LANE_BITS; i++) {
        p->pre_lane[i] = gather(p->pre_lane[i], src_bit, n_src);
        p->post_lane[i] = gather(p->post_lane[i], pos, n_pos);
    }
    for (int i = 0; i < WARP_BITS; i++)
        p->pre_warp[i] = gather(p->pre_warp[i], src_bit, n_src);

    int *src_from = NEW_N(v->c->arena, int, p->n_words_src << n_pack);
    int *word_of = NEW_N(v->c->arena, int, p->n_words_dst);
    int *lane_xor = NEW_N(v->c->arena, int, p->n_words_dst);
    int *dst_from = NEW_N(v->c->arena, int, p->n_dst);
    for (int j = 0; j < p->n_words_src; j++)
        for (int e = 0; e < 1 << n_pack; e++)
            src_from[j << n_pack | e] = (int)(scatter((Col)j, src_bit, n_src) |
                                              scatter((Col)e, pack_src, n_pack));
    for (int k = 0; k < p->n_words_dst; k++) {
        Col r = scatter((Col)k, pos, n_pos);
        word_of[k] = (int)gather(f2_mul(word_col, v->n_dreg, r), src_bit, n_src);
        lane_xor[k] = (int)f2_mul(t->qr, v->n_dreg, r);
        p->n_shuffles += !p->same_lane || lane_xor[k];
    }
    for (int r = 0; r < p->n_dst; r++) {
        Col kept = f2_mul(v->dst_kept, v->dst->n[IN_REG], (Col)r);
        dst_from[r] = (int)(gather(kept, pos, n_pos) << n_pack |
                            gather(kept, pack_pos, n_pack));
    }
    p->src_from = src_from, p->dst_from = dst_from;
    p->word_of = word_of, p->lane_xor = lane_xor;
}

/* Selects that are left when those nobody asks for are gone. */
static int
n_selects(const ConvPlan *p)
{
    Col need[MAX_BITS + LANE_BITS + WARP_BITS];
    int n = 0, n_need = 0;
    for (int i = 0; i < LANE_BITS; i++)
        n += p->post_lane[i] ? p->n_words_dst : 0;
    for (int k = 1; k < p->n_words_dst; k *= 2)
        need[n_need++] = (Col)p->word_of[k];
    /* Backwards: a step computes what is needed after it from that and its partners. */
    for (int i = WARP_BITS + LANE_BITS - 1; i >= 0; i--) {
        Col pre = i < LANE_BITS ? p->pre_lane[i] : p->pre_warp[i - LANE_BITS];
        if (pre) {
            n += 1 << f2_rank(need, n_need);
            need[n_need++] = pre;
        }
    }
    return n;
}

bool
convert_plan_warp(const Conv *v, ConvPlan *p)
{
    Warp t = {0};
    Col word_col[MAX_BITS];
    if (!locate(v, &t) || !spread_lanes(v, &t))
        return false;
    invert_lanes(&t);
    for (int k = 0; k < v->n_dreg; k++)
        word_col[k] = t.pr[k] ^ f2_mul(t.h, LANE_BITS, t.qr[k]);
    p->same_lane = true;
    bool moves = false;
    for (int i = 0; i < LANE_BITS; i++) {
        p->pre_lane[i] = t.h[i], p->post_lane[i] = t.g[i], p->lane_of[i] = t.ql[i];
        p->same_lane &= t.ql[i] == (Col)1 << i;
        moves |= t.h[i] || t.g[i];
    }
    for (int i = 0; i < WARP_BITS; i++) {
        p->pre_warp[i] = t.pw[i] ^ f2_mul(t.h, LANE_BITS, t.qw[i]);
        p->warp_of[i] = t.qw[i];
        p->same_lane &= !t.qw[i];
        moves |= p->pre_warp[i] != 0;
    }
    fill_words(v, &t, word_col, p);
    if (!moves && !p->n_shuffles) {
        int *from = NEW_N(v->c->arena, int, p->n_dst);
        for (int r = 0; r < p->n_dst; r++) {
            int word = p->dst_from[r] >> p->log2_pack;
            int e = p->dst_from[r] & ((1 << p->log2_pack) - 1);
            from[r] = p->src_from[p->word_of[word] << p->log2_pack | e];
        }
        *p = (ConvPlan){
            .kind = CONV_REGS, .n_src = p->n_src, .n_dst = p->n_dst, .dst_from = from};
        return true;
    }
    p->kind = CONV_SHUFFLE;
    int wide = v->elem_bits == 64 ? 2 : 1, words = p->n_words_dst * wide;
    p->cost = (p->n_shuffles * SHUFFLE_COST + n_selects(p) * SELECT_COST) * wide;
    return words <= MAX_SHUFFLE_WORDS && p->cost <= words * SHARED_COST + BARRIER_COST;
}
