/* roles: rings of slots, and warps that fill them beside those that compute.
 *
 *     warps 0 .. n-1        the program's own: region 0. They are all that thread numbers,
 *                           layouts and barriers know of
 *     warps n ..            region 1, which one thread of the first of them runs
 *
 * A slot's `full` has one arrival a phase, the thread's that announces how many bytes come.
 * Its `empty` has one of each warpgroup where tensor cores alone read the slot, as those are
 * through with it when the group's own wait has ended; else one of each warp, whose threads meet.
 *
 * A ring with pair=1 (or 2) is of two blocks, which are a cluster. A copy with pair=1 writes to the same slot
 * of both and tells the same `full` of both, so who announces bytes announces those of whole tiles,
 * whoever brings them. `empty` has the arrivals of both: who fills writes to both. They meet before
 * anything is sent, and at the end, as nobody may leave to whom something is sent.
 */
#include "codegen/simt/simt.h"

/* Raises where the machine has no rings. Text may ask for them on any. */
static void
need_rings(Sim *s, const Op *o)
{
    if (!s->m->mbar_init)
        err_at(s->c, o->loc, TARGET, info(o)->text, s->m->name);
}

static Lv
is_number(Sim *s, Lv x, int n)
{
    return LLVMBuildICmp(s->l->b, LLVMIntEQ, x, ll_i32(s->l, n), "");
}

void
sim_ring_alloc(Sim *s, const Op *o)
{
    need_rings(s, o);
    Ll *l = s->l;
    int at = sim_scratch(s, o), n = o->n_results, slots = result(o, 0)->type->slots;
    int blocks = ir_attr(o, ATTR_PAIR) ? 2 : 1;
    if (blocks > 1)
        s->m->pair_open(l);
    for (int i = 0; i < n; i++)
        sim_define(s, result(o, i))[0] = ll_i32(l, at + (int)ring_bytes(o, i));
    LLVMBasicBlockRef init = ll_block(l, "init"), go = ll_block(l, "go");
    ll_if(l, is_number(s, s->setup->tid, 0), init, go);
    s->m->mbar_init(l, at + (int)ring_bytes(o, n - 2), slots, 1);
    s->m->mbar_init(l, at + (int)ring_bytes(o, n - 1), slots,
                    blocks * (int)ir_attr(o, ATTR_ARRIVALS));
    if (ir_attr(o, ATTR_CTAS))
        s->m->mbar_init(l, sim_scatter_mbar(s, o), 1, 1);
    s->m->mbar_init_done(l);
    if (ir_attr(o, ATTR_CLOCKS))
        s->m->keep_open(l, at + (int)ring_bytes(o, n));
    if (ir_attr(o, ATTR_CTAS))
        sim_open_scatter(s, o);
    ll_jump(l, go);
}

/* The mbarrier of a slot. */
static Lv
mbar_of(Sim *s, const Val *mbars, const Val *slot)
{
    Ll *l = s->l;
    Lv at = LLVMBuildShl(l->b, sim_val(s, slot)[0], ll_i32(l, 3), "");
    return LLVMBuildAdd(l->b, at, sim_val(s, mbars)[0], "");
}

void
sim_mbar_wait(Sim *s, const Op *o)
{
    need_rings(s, o);
    s->m->mbar_wait(s->l, mbar_of(s, arg(o, 0), arg(o, 1)), sim_val(s, arg(o, 2))[0],
                    (int)ir_attr(o, ATTR_LOOKS));
}

/* Who arrives, of the program's threads: as many as the ring's owner counts. */
static Lv
arriving(Sim *s, const Op *o)
{
    const Op *ring = arg(o, 0)->def;
    int64_t n = ir_attr(ring, ATTR_ARRIVALS), threads = 32LL << s->log2_warps;
    if (n & (n - 1) || n * 32 > threads)
        err_say(s->c, o->loc, VALUE, "%lld arrivals of %lld threads", (long long)n,
                (long long)threads);
    if (n * 32 == threads)
        s->m->warp_sync(s->l);
    return sim_all_clear(s, (uint32_t)(threads / n - 1));
}

void
sim_mbar_arrive(Sim *s, const Op *o)
{
    need_rings(s, o);
    int bytes = (int)ir_attr(o, ATTR_BYTES);
    Lv pred = bytes ? NULL : arriving(s, o);
    if (o->n_args > 2)
        pred = sim_and(s, pred, sim_val(s, arg(o, 2))[0]);
    Lv at = mbar_of(s, arg(o, 0), arg(o, 1));
    if (!bytes && ir_attr(arg(o, 0)->def, ATTR_PAIR))
        s->m->pair_arrive(s->l, at, pred);
    else
        s->m->mbar_arrive(s->l, at, bytes, pred);
}

void
sim_turn(Sim *s, const Op *o)
{
    need_rings(s, o);
    if (1 << s->log2_warps != 2 * WARPGROUP)
        err_at(s->c, o->loc, VALUE, "turns are for two warpgroups");
    int clocks = (int)ir_attr(o, ATTR_CLOCKS);
    Lv is_first = sim_in_first_group(s);
    if (!o->n_args) {
        s->m->begin_late(s->l, clocks, is_first);
        return;
    }
    Lv behind = ll_i32(s->l, 8 * arg(o, 0)->type->mbars),
       at = LLVMBuildAdd(s->l->b, sim_val(s, arg(o, 0))[0], behind, "");
    s->m->keep_late(s->l, clocks, is_first, sim_all_clear(s, UINT32_MAX), at,
                    sim_val(s, arg(o, 1))[0]);
}

void
sim_tma_load(Sim *s, const Op *o)
{
    need_rings(s, o);
    Lv coords[MAX_TMAP_RANK], to = sim_slot_place(s, o, 1);
    int n = o->n_args - 4, start = (int)ir_attr(o, ATTR_START);
    for (int i = 0; i < n; i++)
        coords[i] = sim_val(s, arg(o, o->n_args - 1 - i))[0];
    if (start)
        to = LLVMBuildAdd(s->l->b, to, ll_i32(s->l, start), "");
    s->m->tma_load(s->l, sim_val(s, arg(o, 0))[0], to, mbar_of(s, arg(o, 3), arg(o, 2)),
                   coords, n, ir_attr(o, ATTR_PAIR));
}

/* ---- roles ----------------------------------------------------------------------- */

static void
produce(Sim *s, const Op *o, Lv warp, LLVMBasicBlockRef after)
{
    Ll *l = s->l;
    int regs = (int)ir_attr(o, ATTR_PRODUCER_REGS);
    if (regs)
        s->m->set_registers(l, regs, false);
    LLVMBasicBlockRef first = ll_block(l, "producer"), one = ll_block(l, "one");
    ll_if(l, is_number(s, warp, 1 << s->log2_warps), first, after);
    ll_if(l, s->m->elect(l), one, after);
    sim_block(s, o->regions[1]);
    LLVMBuildBr(l->b, after);
}

static void
consume(Sim *s, const Op *o, LLVMBasicBlockRef after)
{
    Ll *l = s->l;
    int regs = (int)ir_attr(o, ATTR_REGS);
    if (regs)
        s->m->set_registers(l, regs, true);
    l->team_threads = 32 << s->log2_warps;
    sim_block(s, o->regions[0]);
    sim_end_stages(s, o->regions[0]);
    l->team_threads = 0;
    LLVMBuildBr(l->b, after);
}

/* Maps lie in the launch's parameters, so none is in a cache when the first copy wants it. One thread
 * of those who bring tiles asks for all, while others make the mbarriers ready. */
static void
prefetch_maps(Sim *s)
{
    Ll *l = s->l;
    LLVMBasicBlockRef ask = ll_block(l, "maps"), go = ll_block(l, "go");
    ll_if(l, is_number(s, s->setup->tid, 32 << s->log2_warps), ask, go);
    for (const Op *o = s->f->body->first; o; o = o->next)
        if (o->op == OP_TENSOR_MAP)
            s->m->prefetch_map(l, sim_val(s, result(o, 0))[0]);
    ll_jump(l, go);
}

static bool
has_pairs(const Func *f)
{
    for (const Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_RING_ALLOC && ir_attr(o, ATTR_PAIR))
            return true;
    return false;
}

void
sim_roles(Sim *s, const Op *o)
{
    need_rings(s, o);
    Ll *l = s->l;
    prefetch_maps(s);
    if (has_pairs(s->f))
        s->m->pair_meet(l, true);
    else
        s->m->barrier(l);
    Lv warp = sim_warp_number(s);
    LLVMBasicBlockRef producers = ll_block(l, "producers"), team = ll_block(l, "team"),
                      after = ll_block(l, "over");
    Lv is_team = LLVMBuildICmp(l->b, LLVMIntULT, warp, ll_i32(l, 1 << s->log2_warps),
                               "");
    LLVMBuildCondBr(l->b, is_team, team, producers);
    LLVMPositionBuilderAtEnd(l->b, producers);
    produce(s, o, warp, after);
    LLVMPositionBuilderAtEnd(l->b, team);
    consume(s, o, after);
    LLVMMoveBasicBlockAfter(after, LLVMGetLastBasicBlock(l->fn));
    LLVMPositionBuilderAtEnd(l->b, after);
    if (has_pairs(s->f))
        s->m->pair_meet(l, false);
}
