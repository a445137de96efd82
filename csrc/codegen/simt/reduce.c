/* reduce: combine along an axis.
 *
 * The axis' bits lie in registers, lanes and warps. Each bit is one step that halves what
 * is left; warp bits are one step together:
 *
 *     register bit    combine(v[r], v[r | bit])               in the thread
 *     lane bit        combine(v, shuffle_xor(v, bit))         all lanes get the result; where the
 *                     region is no commutative op, that of the lowest is dealt to them in the end
 *                     A bit that parts results hands over half of them: the lanes with 0 go on
 *                     with the lower registers, the others with the higher (axis_parted)
 *     warp bits       one element a warp to shared memory; one barrier; every warp then
 *                     combines all of them by itself, so that no second barrier is needed.
 *                     The first warp does it alone for a number that is only stored.
 *                     Where it is much work (a long function, results in many registers)
 *                     each result is one thread's, and a second barrier brings it to all
 *
 * Order. Registers, then lanes, then warps is cheapest: what lies in the higher registers of a
 * thread would cost shuffles of its own if its turn were the last. The language asks for
 * regions that are associative and commutative (Triton, too, combines in whatever order),
 * so that is what is done. Where a region is not one commutative op, the lower half of a
 * step is its left operand all the same: a block that a thread holds without gaps is
 * combined by position.
 */
#include "codegen/simt/across.h"

static void
reduce_registers(Across *k, int bit, Lv *x, Lv *y)
{
    k->x.reg_left &= ~(1u << bit);
    EACH_LIVE(r, k) {
        across_get(k, r, x);
        across_get(k, r | 1 << bit, y);
        across_combine(k, x, y, x);
        across_put(k, r, x);
    }
}

/* x = combine of x over lanes that differ in the bit: in the lower lane of the two, its own is the
 * left operand. */
static void
reduce_lane_bit(Across *k, int bit, Lv *x, Lv *y)
{
    for (int i = 0; i < k->x.n; i++)
        y[i] = sim_shuffle_xor(k->s, arg(k->x.o, i)->type, x[i], 1 << bit);
    across_combine(k, x, y, x);
}

/* Each of two lanes hands over the results that the other goes on with. */
static void
part_lane_bit(Across *k, const AxisStep *step, Lv *x, Lv *y)
{
    Sim *s = k->s;
    Ll *l = s->l;
    Lv is_low = sim_all_clear(s, 1u << step->bit);
    k->x.reg_left &= ~(uint32_t)step->part;
    EACH_LIVE(r, k) {
        for (int i = 0; i < k->x.n; i++) {
            Lv low = k->v[i][r], high = k->v[i][r | step->part];
            Lv mine = LLVMBuildSelect(l->b, is_low, low, high, ""),
               give = LLVMBuildSelect(l->b, is_low, high, low, ""),
               got = sim_shuffle_xor(s, arg(k->x.o, i)->type, give, 1 << step->bit);
            bool any = k->x.is_commutative;
            x[i] = any ? mine : LLVMBuildSelect(l->b, is_low, mine, got, "");
            y[i] = any ? got : LLVMBuildSelect(l->b, is_low, got, mine, "");
        }
        across_combine(k, x, y, x);
        across_put(k, r, x);
    }
}

/* Lanes that differ in the bits take x of the lowest among them: each of them had another left
 * operand, and a region that is not commutative by itself (two NaNs) may tell them apart. */
static void
agree(Across *k, uint32_t bits, Lv *x)
{
    Sim *s = k->s;
    if (k->x.is_commutative || !bits || (k->x.is_for_one && !s->f->log2_ctas))
        return;
    Lv lowest = LLVMBuildAnd(s->l->b, s->setup->tid,
                             ll_i32(s->l, (int32_t)(31 & ~bits)), "");
    for (int i = 0; i < k->x.n; i++)
        x[i] = sim_shuffle_idx(s, arg(k->x.o, i)->type, x[i], lowest);
}

static bool
crosses_warps(const Across *k)
{
    return k->x.warp_axis && !k->s->f->log2_ctas;
}

/* Of what goes on to other warps the lowest lane alone is heard: there lanes need not agree. */
static void
reduce_lanes(Across *k, Lv *x, Lv *y)
{
    for (int i = 0; i < k->x.n_steps; i++) {
        const AxisStep *step = &k->x.step[i];
        if (step->part)
            part_lane_bit(k, step, x, y);
        for (int r = 0; r < k->x.n_regs && step->in == IN_LANE && !step->part; r++)
            if (across_is_live(k, r)) {
                across_get(k, r, x);
                reduce_lane_bit(k, step->bit, x, y);
                across_put(k, r, x);
            }
    }
    for (int r = 0; r < k->x.n_regs && !crosses_warps(k); r++)
        if (across_is_live(k, r)) {
            across_get(k, r, x);
            agree(k, k->x.lane_axis, x);
            across_put(k, r, x);
        }
}

/* ---- results dealt to threads ---- */

/* Bits of a slot's index that number the results: those below and above the warps'. */
static Col
result_bit(const AxisSlots *t, int i)
{
    return (Col)1 << (i < t->warp_at ? i : i + t->log2_warps);
}

/* The slots of the warps' partials of one result, at `at` bytes: combined into the first,
 * from the lowest warp up. */
static void
combine_slots(Across *k, const AxisSlots *t, Lv index, int slot, int base)
{
    Sim *s = k->s;
    int warps = 1 << t->log2_warps;
    Lv *x = NEW_N(s->a, Lv, k->x.n * warps), *first = NEW_N(s->a, Lv, k->x.n);
    for (int i = 0; i < k->x.n; i++) {
        const Type *type = arg(k->x.o, i)->type;
        int bytes = ty_bytes(type);
        for (int w = 0; w < warps; w++) {
            int at = base + (slot + (w << t->warp_at)) * bytes;
            Lv from = sim_shared_offset(s, index, bytes, at);
            sim_shared_get(s, type, from, 1, &x[w * k->x.n + i]);
            if (!w)
                first[i] = from;
        }
        base += axis_operand_bytes(&k->x, t, i);
    }
    for (int step = 1; step < warps; step *= 2)
        for (int w = 0; w < warps; w += 2 * step)
            across_combine(k, x + w * k->x.n, x + (w + step) * k->x.n, x + w * k->x.n);
    for (int i = 0; i < k->x.n; i++) {
        sim_shared_put(s, arg(k->x.o, i)->type, first[i], &x[i], 1, NULL);
    }
}

/* Thread i combines results i, i + threads, .. */
static void
reduce_dealt(Across *k, const AxisSlots *t, int base)
{
    Sim *s = k->s;
    Ll *l = s->l;
    int bits = t->log2_which + t->log2_outer, all = LANE_BITS + s->log2_warps,
        mine = MIN(bits, all);
    Col lane[LANE_BITS] = {0}, warp[WARP_BITS] = {0};
    for (int i = 0; i < mine; i++)
        *(i < LANE_BITS ? &lane[i] : &warp[i - LANE_BITS]) = result_bit(t, i);
    Lv index = sim_linear(s, lane, LANE_BITS, warp, s->log2_warps);
    LLVMBasicBlockRef some = ll_block(l, "dealt"), after = ll_block(l, "combined");
    Lv is_mine = mine < all ? LLVMBuildICmp(l->b, LLVMIntULT, s->setup->tid,
                                            ll_i32(l, 1 << mine), "")
                            : LLVMConstInt(l->i1, 1, false);
    ll_if(l, is_mine, some, after);
    for (int more = 0; more < 1 << (bits - mine); more++) {
        int slot = 0;
        for (int i = mine; i < bits; i++)
            slot += more >> (i - mine) & 1 ? (int)result_bit(t, i) : 0;
        combine_slots(k, t, index, slot, base);
    }
    LLVMMoveBasicBlockAfter(after, LLVMGetInsertBlock(l->b));
    ll_jump(l, after);
    sim_wait(s, k->x.o, WAIT_COMBINED);
    AxisSlots own = *t;
    Lv *x = NEW_N(s->a, Lv, k->x.n);
    for (int r = 0, which = 0; r < k->x.n_regs; r++)
        if (across_is_live(k, r)) {
            across_load_one(k, &own, NULL, which++, base, x);
            across_put(k, r, x);
        }
}

/* What follows is the first warp's alone; the end of the block it leaves is `before`. */
static LLVMBasicBlockRef
first_warp(Sim *s, LLVMBasicBlockRef *before)
{
    Ll *l = s->l;
    LLVMBasicBlockRef some = ll_block(l, "first"), after = ll_block(l, "stored");
    *before = LLVMGetInsertBlock(l->b);
    Lv is_first = LLVMBuildICmp(l->b, LLVMIntULT, s->setup->tid, ll_i32(l, 32), "");
    ll_if(l, is_first, some, after);
    return after;
}

/* The others have 0, which nobody looks at. */
static void
first_warp_end(Across *k, LLVMBasicBlockRef before, LLVMBasicBlockRef after)
{
    Ll *l = k->s->l;
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b);
    LLVMMoveBasicBlockAfter(after, end);
    ll_jump(l, after);
    for (int i = 0; i < k->x.n; i++) {
        Lv x = k->v[i][0];
        k->v[i][0] = ll_join(l, x, end, LLVMConstNull(LLVMTypeOf(x)), before);
    }
}

static void
reduce_warps(Across *k, int base)
{
    Sim *s = k->s;
    AxisSlots t = axis_slots(&k->x);
    int lane_bit[LANE_BITS], which = 0, warps = 1 << t.log2_warps;
    across_store(k, &t, base);
    sim_wait(s, k->x.o, WAIT_WRITTEN);
    if (ir_attr(k->x.o, ATTR_DEALT)) {
        reduce_dealt(k, &t, base);
        return;
    }
    bool by_lanes = axis_by_lanes(&k->x, &t, lane_bit);
    LLVMBasicBlockRef before, after = NULL;
    if (axis_by_first(&k->x, &t))
        after = first_warp(s, &before);
    Lv *x = NEW_N(s->a, Lv, k->x.n * warps), *y = NEW_N(s->a, Lv, k->x.n);
    EACH_LIVE(r, k) {
        if (by_lanes) {
            across_load_one(k, &t, lane_bit, which, base, x);
            uint32_t bits = 0;
            for (int i = 0; i < t.log2_warps; i++) {
                reduce_lane_bit(k, lane_bit[i], x, y);
                bits |= 1u << lane_bit[i];
            }
            agree(k, bits, x);
        } else {
            across_load_all(k, &t, which, base, x);
            for (int step = 1; step < warps; step *= 2)
                for (int w = 0; w < warps; w += 2 * step)
                    across_combine(k, x + w * k->x.n, x + (w + step) * k->x.n,
                                   x + w * k->x.n);
        }
        across_put(k, r, x);
        which++;
    }
    if (after)
        first_warp_end(k, before, after);
}

/* ---- across a cluster ----
 * Every warp sends its partial result to every block: lane i to block i. When all have come, each
 * lane takes one of them and the warp combines. Slots are words: [register][word][warp]. */

static Lv
word_at(Across *k, Lv warp, int slot, int base)
{
    return sim_shared_offset(k->s, warp, 4, base + (4 * slot << k->s->log2_warps));
}

static void
send_partials(Across *k, int base, int site)
{
    Sim *s = k->s;
    Ll *l = s->l;
    AxisSlots t = axis_slots(&k->x);
    static const Col none[LANE_BITS];
    Lv warp = sim_linear(s, none, LANE_BITS, t.warp, s->log2_warps);
    Lv lane = LLVMBuildAnd(l->b, s->setup->tid, ll_i32(l, 31), "");
    Lv pred = LLVMBuildICmp(l->b, LLVMIntULT, lane, ll_i32(l, 1 << s->f->log2_ctas),
                            "");
    int slot = 0;
    for (int r = 0; r < k->x.n_regs; r++)
        for (int i = 0; i < k->x.n && across_is_live(k, r); i++) {
            Lv word[2];
            int n = sim_to_words(s, arg(k->x.o, i)->type, k->v[i][r], word);
            for (int w = 0; w < n; w++)
                s->m->cluster_send(l, site, word_at(k, warp, slot++, base), word[w],
                                   lane, pred);
        }
}

static void
reduce_cluster(Across *k)
{
    Sim *s = k->s;
    int base = sim_scratch(s, k->x.o), site = sim_site(s, k->x.o), slot = 0;
    send_partials(k, base, site);
    s->m->cluster_wait(s->l, site);
    Col lane[LANE_BITS] = {0};
    for (int i = 0; i < s->log2_warps; i++)
        lane[i] = (Col)1 << i;
    static const Col none[WARP_BITS];
    Lv mine = sim_linear(s, lane, LANE_BITS, none, s->log2_warps);
    Lv *x = NEW_N(s->a, Lv, k->x.n), *y = NEW_N(s->a, Lv, k->x.n);
    EACH_LIVE(r, k) {
        for (int i = 0; i < k->x.n; i++) {
            const Type *t = arg(k->x.o, i)->type;
            Lv word[2];
            for (int w = 0; w < (ty_bytes(t) + 3) / 4; w++)
                word[w] = s->m->shared_load(s->l, word_at(k, mine, slot++, base),
                                            s->l->i32, 4);
            x[i] = sim_from_words(s, t, word);
        }
        for (int i = 0; i < s->log2_warps; i++)
            reduce_lane_bit(k, i, x, y);
        agree(k, (1u << s->log2_warps) - 1, x);
        across_put(k, r, x);
    }
}

/* ---- the op ---- */

void
sim_reduce(Sim *s, const Op *o)
{
    Across k = across_open(s, o, true);
    across_check(&k);
    across_check_results(&k, 0);
    across_copy_operands(&k);
    Lv *x = NEW_N(s->a, Lv, k.x.n), *y = NEW_N(s->a, Lv, k.x.n);
    for (int i = 0; i < k.x.n_steps; i++)
        if (k.x.step[i].in == IN_REG)
            reduce_registers(&k, k.x.step[i].bit, x, y);
    reduce_lanes(&k, x, y);
    if (crosses_warps(&k))
        reduce_warps(&k, sim_scratch(s, o));
    else if (k.x.warp_axis && s->f->log2_ctas)
        reduce_cluster(&k);
    across_define_results(&k, 0);
}
