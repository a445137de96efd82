/* setup: what depends on the thread's index alone, computed once.
 *
 * The block of setup ends in a branch, before which all that is wanted later is inserted: an
 * index's part that a layout's lanes and warps give, predicates, swizzled addresses. Behind a
 * loop of products by warpgroups, where others bring what they read, setup begins anew
 * (sim_begin_anew): the loop needs every register, and what the end of a kernel wants of the
 * thread's index is cheap to compute again.
 *
 * Rule 1: the block of setup dominates what follows in its block of IR, so its end is the end of
 *         what setup knows: sim_block goes back to the setup around.
 * Rule 2: the index that a new setup begins with is hidden from the optimiser, or LLVM would
 *         take what the first setup computed.
 */
#include "codegen/simt/simt.h"

static LLVMBasicBlockRef
enter_setup(Sim *s)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(s->l->b);
    if (s->setup->end) /* else the block is being made */
        LLVMPositionBuilderBefore(s->l->b, s->setup->end);
    return here;
}

static void
leave_setup(Sim *s, LLVMBasicBlockRef here)
{
    ll_go_on(s->l, here);
}

static Setup *
new_setup(Sim *s, Lv tid)
{
    Setup *n = NEW(s->a, Setup);
    *n = (Setup){.tid = tid, .linear.a = s->a, .flipped.a = s->a, .owners.a = s->a};
    return n;
}

void
sim_open_setup(Sim *s)
{
    s->setup = new_setup(s, s->m->thread_id(s->l));
}

void
sim_end_setup(Sim *s, const char *then)
{
    LLVMBasicBlockRef go_on = ll_block(s->l, then);
    s->setup->end = LLVMBuildBr(s->l->b, go_on);
    LLVMPositionBuilderAtEnd(s->l->b, go_on);
}

void
sim_begin_anew(Sim *s)
{
    if (!s->m->opaque)
        return;
    s->setup = new_setup(s, s->m->opaque(s->l, s->setup->tid));
    sim_end_setup(s, "anew");
}

/* The tid bits that go up by `by` (down when negative). */
static uint32_t
diagonal(const Col *col, int n, int by)
{
    uint32_t mask = 0;
    for (int i = 0; i < n; i++)
        if (i + by >= 0 && i + by < 32 && col[i] >> (i + by) & 1)
            mask |= 1u << i;
    return mask;
}

Lv
sim_xor_columns(Sim *s, Lv from, const Col *col, int n)
{
    Ll *l = s->l;
    Lv sum = NULL;
    uint32_t seen = 0, all = (1u << n) - 1;
    for (int by = -(n - 1); by < 32; by++) {
        uint32_t mask = diagonal(col, n, by);
        if (!mask)
            continue;
        Lv part = from;
        if (mask != all)
            part = LLVMBuildAnd(l->b, part, ll_i32(l, (int32_t)mask), "");
        if (by > 0)
            part = LLVMBuildShl(l->b, part, ll_i32(l, by), "");
        if (by < 0)
            part = LLVMBuildLShr(l->b, part, ll_i32(l, -by), "");
        uint32_t bits = by < 0 ? mask >> -by : mask << by;
        if (!sum)
            sum = part;
        else if (seen & bits)
            sum = LLVMBuildXor(l->b, sum, part, "");
        else
            sum = LLVMBuildOr(l->b, sum, part, "");
        seen |= bits;
    }
    return sum ? sum : ll_i32(l, 0);
}

typedef struct Columns {
    Col col[LANE_BITS + WARP_BITS];
} Columns;

Lv
sim_linear(Sim *s, const Col *lane, int n_lane, const Col *warp, int n_warp)
{
    Columns k = {{0}};
    memcpy(k.col, lane, (size_t)n_lane * sizeof *lane);
    memcpy(k.col + LANE_BITS, warp, (size_t)MIN(n_warp, s->log2_warps) * sizeof *warp);
    Lv v = map_get(&s->setup->linear, &k, sizeof k);
    if (v)
        return v;
    LLVMBasicBlockRef here = enter_setup(s);
    v = sim_xor_columns(s, s->setup->tid, k.col, LANE_BITS + s->log2_warps);
    leave_setup(s, here);
    map_put(&s->setup->linear, &k, sizeof k, v);
    return v;
}

Lv
sim_flipped(Sim *s, Lv linear, Col k)
{
    struct {
        Lv v;
        uint64_t k; /* as wide as a pointer: no padding */
    } key = {linear, k};
    Lv v = map_get(&s->setup->flipped, &key, sizeof key);
    if (v)
        return v;
    LLVMBasicBlockRef here = enter_setup(s);
    v = k ? LLVMBuildXor(s->l->b, linear, ll_i32(s->l, (int32_t)k), "") : linear;
    if (s->m->opaque)
        v = s->m->opaque(s->l, v);
    leave_setup(s, here);
    map_put(&s->setup->flipped, &key, sizeof key, v);
    return v;
}

Lv
sim_xor(Sim *s, Lv a, Col can_have, Col k)
{
    if (!k)
        return a;
    Lv c = ll_i32(s->l, (int32_t)k);
    if (can_have & k)
        return LLVMBuildXor(s->l->b, a, c, "");
    Lv v = LLVMBuildAdd(s->l->b, a, c, "");
    if (LLVMIsAInstruction(v)) {
        LLVMSetNUW(v, 1);
        LLVMSetNSW(v, 1);
    }
    return v;
}

Lv
sim_joined(Sim *s, Lv a, Col a_bits, Lv b, Col b_bits)
{
    return a_bits & b_bits ? LLVMBuildXor(s->l->b, a, b, "")
                           : LLVMBuildNUWAdd(s->l->b, a, b, "");
}

/* The bits that this thread's part of an index in l can have. */
static Col
thread_bits(const Layout *l)
{
    Col seen = 0;
    for (int in = IN_LANE; in <= IN_WARP; in++)
        for (int i = 0; i < l->n[in]; i++)
            seen |= l->basis[in][i];
    return seen;
}

Lv
sim_index(Sim *s, const Layout *l, int reg)
{
    Lv part = sim_linear(s, l->basis[IN_LANE], l->n[IN_LANE], l->basis[IN_WARP],
                         l->n[IN_WARP]);
    return sim_xor(s, part, thread_bits(l), layout_at(l, (uint32_t)reg, 0, 0, 0));
}

Lv
sim_warp_number(Sim *s)
{
    Ll *l = s->l;
    if (s->setup->warp)
        return s->setup->warp;
    LLVMBasicBlockRef here = enter_setup(s);
    Lv warp = LLVMBuildLShr(l->b, s->setup->tid, ll_i32(l, LANE_BITS), "");
    /* The machine that does not count: the shuffle is of no line, and in no loop. */
    s->setup->warp = l->machine->shuffle_idx(l, warp, ll_i32(l, 0));
    leave_setup(s, here);
    return s->setup->warp;
}

Lv
sim_in_first_group(Sim *s)
{
    Ll *l = s->l;
    Lv group = LLVMBuildAnd(l->b, sim_warp_number(s), ll_i32(l, WARPGROUP), "");
    return LLVMBuildICmp(l->b, LLVMIntEQ, group, ll_i32(l, 0), "");
}

Lv
sim_all_clear(Sim *s, uint32_t tid_mask)
{
    tid_mask &= (1u << (LANE_BITS + s->log2_warps)) - 1;
    if (!tid_mask)
        return NULL;
    Lv v = map_get(&s->setup->owners, &tid_mask, sizeof tid_mask);
    if (v)
        return v;
    Ll *l = s->l;
    LLVMBasicBlockRef here = enter_setup(s);
    v = LLVMBuildAnd(l->b, s->setup->tid, ll_i32(l, (int32_t)tid_mask), "");
    v = LLVMBuildICmp(l->b, LLVMIntEQ, v, ll_i32(l, 0), "");
    leave_setup(s, here);
    map_put(&s->setup->owners, &tid_mask, sizeof tid_mask, v);
    return v;
}

Lv
sim_owner(Sim *s, const Layout *l)
{
    return sim_all_clear(s, l ? layout_copies(l) : UINT32_MAX); /* a scalar: thread 0 */
}

Lv
sim_and(Sim *s, Lv a, Lv b)
{
    if (!a || !b)
        return a ? a : b;
    return LLVMBuildAnd(s->l->b, a, b, "");
}
