/* convert: plan the way from one layout to another.
 *
 * The registers of a value are renamed, or move between the lanes of a warp, or go
 * through shared memory. layout.h says what a plan holds and how it is carried out;
 * here is why it is right. S and D are src and dst; r, l, w are registers, lanes,
 * warps; + is XOR.
 *
 * Within a warp. If each column of D is in the span of S's registers and lanes (for
 * warps: the difference of the two), element D(r, l, w) lies in the same warp, at
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
 *
 * Through shared memory. All work is done in coordinates x of S's own inputs
 * (registers, lanes, warps without the redundant ones), where S's columns are unit
 * vectors. A matrix
 *
 *     M = [ vector | bank | row | rep ]       offset bits -> x
 *
 * has as vector the registers that both sides have, up to 16 bytes (extended to the 4
 * bytes of a bank by whatever there is). Rep are further common registers, taken out
 * when the buffer would be too large: each of their values is a pass of its own. With U
 * (and W) the span of vector, rep and the lanes that one phase of a store (load)
 * serves, a phase is free of conflicts iff span(row) meets U (W) in 0 only. Let C
 * complete U + W to all, A (B) complete W (U) to U + W. C and the sums a_i + b_i have
 * that property:
 *     sum(c) + sum(a + b) in U  =>  no c, sum(b) in U  =>  no b,   same for W.
 * They are n - max(dim U, dim W) many, and a row of banks needs no more than that many
 * row bits, since dim U <= vector + rep + bank. So no plan has conflicts.
 *
 * Rule 1: vector and rep are unit vectors of x that no other column of S or D contains,
 *         and bank and row do not contain them: then every address is a multiple of the
 *         vector, and every pass is complete in itself.
 * Rule 2: a plan depends on nothing but its arguments.
 */
#include "layout/layout.h"

#include <assert.h>

/* A buffer above this is filled and emptied in passes where registers allow it. Two
 * blocks of 128 x 128 f32 in flight would otherwise take all of shared memory. */
enum { MAX_BUFFER_BYTES = 32 << 10 };

/* More words than this cost more in code and registers than the buffer does. */
enum { MAX_SHUFFLE_WORDS = 32 };

/* In issue slots of an SM quarter: a shuffle, or 4 bytes per lane of shared memory, is
 * one wavefront of a unit that the four quarters share; a barrier is mostly latency. */
enum { SHUFFLE_COST = 4, SELECT_COST = 1, SHARED_COST = 8, BARRIER_COST = 64 };

typedef struct Conv {
    Comp *c;
    const Layout *src, *dst;
    int elem_bits;      /* as stored: 8, 16, 32 or 64 */
    int n_dreg;         /* register bits of dst that are no XOR of earlier ones ... */
    int dreg[MAX_BITS]; /* ... which they are ... */
    Col dst_kept[MAX_BITS]; /* ... and each of its bits as a sum of positions in dreg */
} Conv;

/* Basis i of an input, 0 where the layout has fewer bits: replicated. */
static Col
basis(const Layout *l, InDim in, int i)
{
    return i < l->n[in] ? l->basis[in][i] : 0;
}

/* Bit k of the result is bit at[k] of v. */
static Col
gather(Col v, const int *at, int n)
{
    Col g = 0;
    for (int k = 0; k < n; k++)
        g |= (v >> at[k] & 1) << k;
    return g;
}

/* The inverse: bit at[k] of the result is bit k of v. */
static Col
scatter(Col v, const int *at, int n)
{
    Col s = 0;
    for (int k = 0; k < n; k++)
        s |= (v >> k & 1) << at[k];
    return s;
}

/* ---- within a warp --------------------------------------------------------------- */

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
find(const Conv *v, Col y, Col *p, Col *q)
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
        if (!find(v, d->basis[IN_REG][v->dreg[k]], &t->pr[k], &t->qr[k]))
            return false;
    for (int i = 0; i < LANE_BITS; i++) {
        Col y = basis(d, IN_LANE, i), own = basis(s, IN_LANE, i);
        if (f2_solve(s->basis[IN_REG], s->n[IN_REG], y ^ own, &t->pl[i]))
            t->ql[i] = (Col)1 << i; /* best: the lane has it itself */
        else if (!find(v, y, &t->pl[i], &t->ql[i]))
            return false;
    }
    for (int i = 0; i < WARP_BITS; i++)
        if (!find(v, basis(d, IN_WARP, i) ^ basis(s, IN_WARP, i), &t->pw[i], &t->qw[i]))
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
spread(const Conv *v, Warp *t)
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

/* Registers or shuffles; false when that cannot be or costs more than shared memory. */
static bool
plan_warp(const Conv *v, ConvPlan *p)
{
    Warp t = {0};
    Col word_col[MAX_BITS];
    if (!locate(v, &t) || !spread(v, &t))
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
    int cost = (p->n_shuffles * SHUFFLE_COST + n_selects(p) * SELECT_COST) * wide;
    return words <= MAX_SHUFFLE_WORDS && cost <= words * SHARED_COST + BARRIER_COST;
}

/* ---- through shared memory ------------------------------------------------------- */

typedef struct Shared {
    int m;             /* coordinates x: independent inputs of src */
    Col key[MAX_BITS]; /* their bases */
    int n_sreg;        /* the first of them are these src register bits */
    int sreg[MAX_BITS];
    Col s_lane[LANE_BITS], s_warp[WARP_BITS]; /* all columns in coordinates x */
    Col d_reg[MAX_BITS], d_lane[LANE_BITS], d_warp[WARP_BITS];
    int n_unit, unit[MAX_BITS]; /* vector: common, then up to a bank's 4 bytes */
    int n_rep, rep[MAX_BITS];
    Col taken;         /* coordinates of unit and rep */
    Col inv[MAX_BITS]; /* offset of coordinate i; rep has none */
} Shared;

static Col
coord(Comp *c, const Shared *h, Col index)
{
    Col x;
    if (!f2_solve(h->key, h->m, index, &x))
        err_at(c, NULL, LIMIT,
               "moving a value between the blocks of a cluster is not supported");
    return x;
}

/* Chooses the coordinates x: lanes and warps before registers, so that what a register
 * has in common with them need not be stored. */
static void
choose_coords(const Conv *v, Shared *h, ConvPlan *p)
{
    const Layout *s = v->src, *d = v->dst;
    Col thread[LANE_BITS + WARP_BITS], span[MAX_BITS + LANE_BITS + WARP_BITS], x;
    int n_thread = 0, n_span = 0;
    for (int i = 0; i < s->n[IN_LANE]; i++)
        if (f2_solve(thread, n_thread, s->basis[IN_LANE][i], &x))
            p->store_lane_skip |= 1u << i;
        else
            thread[n_thread++] = s->basis[IN_LANE][i];
    for (int i = 0; i < s->n[IN_WARP]; i++)
        if (f2_solve(thread, n_thread, s->basis[IN_WARP][i], &x))
            p->store_warp_skip |= 1u << i;
        else
            thread[n_thread++] = s->basis[IN_WARP][i];
    memcpy(span, thread, (size_t)n_thread * sizeof(Col));
    n_span = n_thread;
    for (int i = 0; i < s->n[IN_REG]; i++)
        if (!f2_solve(span, n_span, s->basis[IN_REG][i], &x)) {
            span[n_span++] = h->key[h->m++] = s->basis[IN_REG][i];
            h->sreg[h->n_sreg++] = i;
        }
    memcpy(h->key + h->m, thread, (size_t)n_thread * sizeof(Col));
    h->m += n_thread;
    for (int i = 0; i < MAX_BITS; i++)
        if (basis(s, IN_BLOCK, i) != basis(d, IN_BLOCK, i))
            err_at(v->c, NULL, LIMIT,
                   "moving a value between the blocks of a cluster is not supported");
    for (int i = 0; i < LANE_BITS; i++) {
        h->s_lane[i] = coord(v->c, h, basis(s, IN_LANE, i));
        h->d_lane[i] = coord(v->c, h, basis(d, IN_LANE, i));
    }
    for (int i = 0; i < WARP_BITS; i++) {
        h->s_warp[i] = coord(v->c, h, basis(s, IN_WARP, i));
        h->d_warp[i] = coord(v->c, h, basis(d, IN_WARP, i));
    }
    for (int k = 0; k < v->n_dreg; k++)
        h->d_reg[k] = coord(v->c, h, d->basis[IN_REG][v->dreg[k]]);
}

/* Is coordinate j a register of src? Lanes and warps came first, so none contains it. */
static bool
is_src_reg(const Shared *h, int j)
{
    return j < h->n_sreg;
}

/* The position in dreg of the register of dst that is coordinate j, if no other column
 * of dst contains it; or -1. */
static int
only_dst_reg(const Conv *v, const Shared *h, int j)
{
    Col others = 0;
    int found = -1;
    for (int i = 0; i < LANE_BITS; i++)
        others |= h->d_lane[i];
    for (int i = 0; i < WARP_BITS; i++)
        others |= h->d_warp[i];
    for (int k = 0; k < v->n_dreg; k++)
        if (h->d_reg[k] == (Col)1 << j && found < 0)
            found = k;
        else
            others |= h->d_reg[k];
    return others >> j & 1 ? -1 : found;
}

static bool
is_common(const Conv *v, const Shared *h, int j)
{
    return is_src_reg(h, j) && only_dst_reg(v, h, j) >= 0;
}

static bool
is_taken(const Shared *h, int j)
{
    return h->taken >> j & 1;
}

static void
take_unit(Shared *h, int j)
{
    h->unit[h->n_unit++] = j;
    h->taken |= (Col)1 << j;
}

static bool
is_too_large(const Conv *v, const Shared *h)
{
    return (int64_t)(v->elem_bits / 8) << (h->m - h->n_rep) > MAX_BUFFER_BYTES;
}

/* Vector, rep, and what fills the vector up to 4 bytes. */
static void
choose_units(const Conv *v, Shared *h)
{
    for (int j = 0; j < h->n_sreg; j++)
        if (v->elem_bits << h->n_unit < 128 && is_common(v, h, j))
            take_unit(h, j);
    for (int j = h->n_sreg - 1; j >= 0; j--)
        if (!is_taken(h, j) && is_common(v, h, j) && is_too_large(v, h)) {
            h->rep[h->n_rep++] = j;
            h->taken |= (Col)1 << j;
        }
    /* Narrower accesses move as many bytes a cycle, down to 4 each. */
    while (v->elem_bits << h->n_unit > 32 && h->n_unit && is_too_large(v, h))
        h->rep[h->n_rep++] = h->unit[--h->n_unit];
    /* A store of 4 bytes saves as much as a load of 4 bytes; failing both, anything. */
    for (int want = 0; want < 3; want++)
        for (int j = 0; j < h->m && v->elem_bits << h->n_unit < 32; j++)
            if (!is_taken(h, j) && (want == 2 || (want == 0 && is_src_reg(h, j)) ||
                                    (want == 1 && only_dst_reg(v, h, j) >= 0)))
                take_unit(h, j);
}

/* Fills inv: the matrix M of the essay, inverted. */
static void
swizzle(const Conv *v, Shared *h)
{
    Col mat[2 * MAX_BITS], u[MAX_BITS + LANE_BITS], w[MAX_BITS + LANE_BITS];
    Col both[2 * MAX_BITS], a[LANE_BITS], b[LANE_BITS], row[MAX_BITS];
    int n = 0;
    for (int k = 0; k < h->n_unit; k++)
        mat[n++] = (Col)1 << h->unit[k];
    for (int k = 0; k < h->n_rep; k++)
        mat[n++] = (Col)1 << h->rep[k];
    int log2_unit = MAX(__builtin_ctz((unsigned)v->elem_bits) - 3 + h->n_unit, 2);
    int n_bank = MIN(7 - log2_unit, h->m - n), n_row = h->m - n - n_bank;
    int n_lane = 7 - log2_unit;
    memcpy(u, mat, (size_t)n * sizeof(Col));
    memcpy(w, mat, (size_t)n * sizeof(Col));
    memcpy(u + n, h->s_lane, (size_t)n_lane * sizeof(Col));
    memcpy(w + n, h->d_lane, (size_t)n_lane * sizeof(Col));
    memcpy(both, u, (size_t)(n + n_lane) * sizeof(Col));
    memcpy(both + n + n_lane, h->d_lane, (size_t)n_lane * sizeof(Col));

    int n_c = f2_complement(both, n + 2 * n_lane, h->m, row);
    int n_a = f2_extend(w, n + n_lane, h->s_lane, n_lane, a);
    int n_b = f2_extend(u, n + n_lane, h->d_lane, n_lane, b);
    for (int k = 0; k < MIN(n_a, n_b); k++)
        row[n_c + k] = (a[k] ^ b[k]) & ~h->taken; /* taken is in U and W: as good */
    assert(n_c + MIN(n_a, n_b) >= n_row);

    /* [unit | bank | row | rep]: banks are what the rest leaves. */
    Col rest[MAX_BITS];
    memcpy(mat + n, row, (size_t)n_row * sizeof(Col));
    int found = f2_complement(mat, n + n_row, h->m, rest);
    assert(found == n_bank);
    (void)found;
    memcpy(mat + h->n_unit, rest, (size_t)n_bank * sizeof(Col));
    memcpy(mat + h->n_unit + n_bank, row, (size_t)n_row * sizeof(Col));
    for (int k = 0; k < h->n_rep; k++)
        mat[h->m - h->n_rep + k] = (Col)1 << h->rep[k];
    bool ok = f2_invert(mat, h->m, h->m, h->inv);
    assert(ok);
    (void)ok;
    for (int j = 0; j < h->m; j++)
        h->inv[j] &= ((Col)1 << (h->m - h->n_rep)) - 1;
}

static Col
offset(const Shared *h, Col x)
{
    return f2_mul(h->inv, h->m, x);
}

static void
fill_threads(const Shared *h, ConvPlan *p)
{
    for (int i = 0; i < LANE_BITS; i++) {
        p->store_moving |= p->store_lane[i] = offset(h, h->s_lane[i]);
        p->load_moving |= p->load_lane[i] = offset(h, h->d_lane[i]);
    }
    for (int i = 0; i < WARP_BITS; i++) {
        p->store_moving |= p->store_warp[i] = offset(h, h->s_warp[i]);
        p->load_moving |= p->load_warp[i] = offset(h, h->d_warp[i]);
    }
}

static void
fill_stores(const Conv *v, const Shared *h, ConvPlan *p)
{
    int vec[MAX_BITS], rep[MAX_BITS], rest[MAX_BITS], n_rest = 0, n = 0;
    while (n < h->n_unit && is_src_reg(h, h->unit[n])) {
        vec[n] = h->sreg[h->unit[n]];
        n++;
    }
    p->log2_store = n;
    for (int k = 0; k < h->n_rep; k++)
        rep[k] = h->sreg[h->rep[k]];
    Col skip = h->taken, xor[MAX_BITS];
    for (int k = n; k < h->n_unit; k++)
        skip &= ~((Col)1 << h->unit[k]);
    for (int j = 0; j < h->n_sreg; j++)
        if (!(skip >> j & 1)) {
            xor[n_rest] = h->inv[j];
            rest[n_rest++] = h->sreg[j];
        }
    p->n_stores = 1 << n_rest;
    int *from = NEW_N(v->c->arena, int, p->n_reps * p->n_stores << n);
    Col *at = NEW_N(v->c->arena, Col, p->n_stores);
    for (int i = 0; i < p->n_stores; i++)
        at[i] = f2_mul(xor, n_rest, (Col)i);
    for (int k = 0; k < p->n_reps * p->n_stores << n; k++) {
        int e = k & ((1 << n) - 1), i = k >> n & (p->n_stores - 1),
            r = k >> n >> n_rest;
        from[k] = (int)(scatter((Col)e, vec, n) | scatter((Col)i, rest, n_rest) |
                        scatter((Col)r, rep, h->n_rep));
    }
    p->src_from = from, p->store_xor = at;
}

static void
fill_loads(const Conv *v, const Shared *h, ConvPlan *p)
{
    int vec[MAX_BITS], rep[MAX_BITS], rest[MAX_BITS], n_rest = 0, n = 0;
    Col skip = 0, xor[MAX_BITS];
    while (n < h->n_unit && (vec[n] = only_dst_reg(v, h, h->unit[n])) >= 0)
        skip |= (Col)1 << vec[n++];
    p->log2_load = n;
    for (int k = 0; k < h->n_rep; k++) {
        rep[k] = only_dst_reg(v, h, h->rep[k]);
        skip |= (Col)1 << rep[k];
    }
    for (int k = 0; k < v->n_dreg; k++)
        if (!(skip >> k & 1)) {
            xor[n_rest] = offset(h, h->d_reg[k]);
            rest[n_rest++] = k;
        }
    p->n_loads = 1 << n_rest;
    Col *at = NEW_N(v->c->arena, Col, p->n_loads);
    for (int i = 0; i < p->n_loads; i++)
        at[i] = f2_mul(xor, n_rest, (Col)i);
    int *from = NEW_N(v->c->arena, int, p->n_dst);
    for (int r = 0; r < p->n_dst; r++) {
        Col kept = f2_mul(v->dst_kept, v->dst->n[IN_REG], (Col)r);
        Col access = gather(kept, rep, h->n_rep) << n_rest | gather(kept, rest, n_rest);
        from[r] = (int)(access << n | gather(kept, vec, n));
    }
    p->dst_from = from, p->load_xor = at;
}

/* No element changes warps, and no two warps store the same. */
static bool
is_warp_local(const Shared *h, const Conv *v, const ConvPlan *p)
{
    Col warps = 0, moved = 0;
    for (int i = 0; i < WARP_BITS; i++) {
        if (basis(v->src, IN_WARP, i) != basis(v->dst, IN_WARP, i))
            return false;
        warps |= h->s_warp[i];
    }
    for (int i = 0; i < LANE_BITS; i++)
        moved |= h->s_lane[i] | h->d_lane[i];
    for (int k = 0; k < v->n_dreg; k++)
        moved |= h->d_reg[k];
    return !p->store_warp_skip && !(warps & moved);
}

/* offset_of: the coordinates of each bit of the flat index, as far as it has any. */
static void
fill_offsets(const Conv *v, const Shared *h, ConvPlan *p)
{
    int bits = layout_bits(v->src), n = h->m;
    Col m[2 * MAX_BITS], x[MAX_BITS];
    memcpy(m, h->key, (size_t)n * sizeof(Col));
    n += f2_extend(m, n, v->src->basis[IN_BLOCK], v->src->n[IN_BLOCK], m + n);
    n += f2_complement(m, n, bits, m + n);
    bool ok = f2_invert(m, n, bits, x);
    assert(ok);
    (void)ok;
    for (int b = 0; b < bits; b++)
        p->offset_of[b] = offset(h, x[b] & (((Col)1 << h->m) - 1));
}

static void
plan_shared(const Conv *v, ConvPlan *p)
{
    Shared h = {0};
    choose_coords(v, &h, p);
    choose_units(v, &h);
    swizzle(v, &h);
    p->kind = CONV_SHARED;
    p->log2_buffer = h.m - h.n_rep;
    p->log2_elem_bytes = __builtin_ctz((unsigned)v->elem_bits) - 3;
    p->n_reps = 1 << h.n_rep;
    fill_threads(&h, p);
    fill_stores(v, &h, p);
    fill_loads(v, &h, p);
    fill_offsets(v, &h, p);
    p->warp_local = is_warp_local(&h, v, p);
    p->store_ways = layout_bank_ways(v->src, p->offset_of, p->log2_store, v->elem_bits);
    p->load_ways = layout_bank_ways(v->dst, p->offset_of, p->log2_load, v->elem_bits);
}

/* ---- entry ----------------------------------------------------------------------- */

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
    if (same_blocks && plan_warp(&v, p))
        return p;
    *p = empty;
    plan_shared(&v, p);
    return p;
}

int64_t
layout_plan_bytes(const ConvPlan *p)
{
    return p->kind == CONV_SHARED ? (int64_t)1 << (p->log2_buffer + p->log2_elem_bytes)
                                  : 0;
}
