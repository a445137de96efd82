/* tensor: blocks between tensors and shared memory, by the GPU's own copies (TMA).
 *
 *     load     one thread asks for the boxes;  all meet at an mbarrier, where the bytes are
 *              counted, too;  all read their elements
 *     store    all write their elements, and fence;  barrier;  one thread sends the boxes, and
 *              waits until they have been read
 *
 * Beside warps that bring tiles stores share a stage (shared_stage), so nobody waits behind
 * one: it writes a piece while the one before is being sent, and waits for a place in the stage
 * where it wants it. Two warpgroups that write boxes of their own send them, too, and do not wait for
 * each other. All have been read when the team's code ends (sim_end_stages).
 *
 * The mbarrier is one for the function, since all its threads are at the same op. Who arrives
 * gets a token of the phase it arrived in, so no loop has to count phases.
 *
 * Rule 1: a store waits until the stores before it are in memory, as copies of one thread are in no order: but for those
 *         to other elements (is_behind_others).
 */
#include "codegen/simt/simt.h"

static const Op *
first_load(const Block *b)
{
    EACH_OP(o, b)
        if (o->op == OP_MAP_LOAD)
            return o;
    return NULL;
}

/* An i1, true in one thread of the block or of each of its warpgroups; all ask. */
static Lv
elected(Sim *s, int groups)
{
    Ll *l = s->l;
    Lv warp = sim_warp_number(s);
    if (groups > 1)
        warp = LLVMBuildAnd(l->b, warp, ll_i32(l, WARPGROUP - 1), "");
    Lv is_first = LLVMBuildICmp(l->b, LLVMIntEQ, warp, ll_i32(l, 0), "");
    return LLVMBuildAnd(l->b, is_first, s->m->elect(l), "");
}

/* What one thread of the block does: between these two. */
static LLVMBasicBlockRef
begin_alone(Sim *s, Lv is_one)
{
    Ll *l = s->l;
    LLVMBasicBlockRef alone = ll_block(l, "alone"), all = ll_block(l, "all");
    ll_if(l, is_one, alone, all);
    return all;
}

/* Raises where the machine has no tensor maps. Text may ask for them on any. */
static void
need_maps(Sim *s, const Op *o)
{
    if (!s->m->tensor_map)
        err_at(s->c, o->loc, TARGET, info(o)->text, s->m->name);
}

void
sim_map_open(Sim *s)
{
    const Op *o = first_load(s->f->body);
    if (!o)
        return;
    need_maps(s, o);
    LLVMBasicBlockRef all = begin_alone(s, elected(s, 1));
    s->m->mbar_init(s->l, o->place->mbar, 1, 32 << s->log2_warps);
    s->m->mbar_init_done(s->l);
    ll_jump(s->l, all);
    sim_barrier(s);
}

void
sim_tensor_map(Sim *s, const Op *o)
{
    int i = 0;
    need_maps(s, o);
    for (const Op *p = s->f->body->first; p != o; p = p->next)
        i += p->op == OP_TENSOR_MAP;
    sim_define(s, result(o, 0))[0] = s->m->tensor_map(s->l, i);
}

typedef struct Boxes {
    TileForm form;
    Lv map;
    int at; /* in shared memory */
    Lv first[MAX_TMAP_RANK];
} Boxes;

static Boxes
boxes_of(Sim *s, const Op *o)
{
    Boxes k = {.form = tile_form(o), .map = sim_val(s, arg(o, 0))[0]};
    const Op *map = arg(o, 0)->def;
    if (ir_attr(map, ATTR_BOX) != tile_form_box(&k.form) ||
        ir_attr(map, ATTR_SWIZZLE) != k.form.swizzle)
        err_at(s->c, o->loc, VALUE, "its tensor map is for other boxes");
    for (int d = 0; d < k.form.rank; d++)
        k.first[d] = sim_val(s, arg(o, 1 + d))[0];
    const Val *stage = ir_store_stage(o);
    k.at = sim_scratch(s, stage ? stage->def : o);
    return k;
}

/* Where box i is: in the tensor, innermost first; in shared memory. */
static Lv
box_at(Sim *s, const Boxes *k, int i, Lv *coords)
{
    Ll *l = s->l;
    int32_t at[MAX_RANK];
    int last = k->form.rank - 1;
    tile_form_at(&k->form, i, at);
    for (int d = 0; d <= last; d++)
        coords[last - d] = at[d] ? LLVMBuildAdd(l->b, k->first[d], ll_i32(l, at[d]), "")
                                 : k->first[d];
    return ll_i32(l, k->at + i * k->form.box_bytes);
}

/* One thread waits for what it has sent: until all of it is in memory (rule 1), or has been read. */
static void
wait_for_sent(Sim *s, bool is_in_memory, int groups)
{
    LLVMBasicBlockRef all = begin_alone(s, elected(s, groups));
    s->m->tensor_wait(s->l, !is_in_memory);
    ll_jump(s->l, all);
}

void
sim_map_load(Sim *s, const Op *o)
{
    Ll *l = s->l;
    int groups = sent_from_place(o); /* what is there is sent first */
    if (groups)
        wait_for_sent(s, false, groups);
    Boxes k = boxes_of(s, o);
    Lv coords[MAX_TMAP_RANK], is_one = elected(s, 1), bar = ll_i32(l, o->place->mbar);
    int bytes = k.form.n_boxes * k.form.box_bytes;
    s->m->fence_async(l); /* threads may have written there */
    Lv coming = LLVMBuildSelect(l->b, is_one, ll_i32(l, bytes), ll_i32(l, 0), "");
    Lv token = s->m->mbar_meet(l, bar, coming);
    LLVMBasicBlockRef all = begin_alone(s, is_one);
    for (int i = 0; i < k.form.n_boxes; i++) {
        Lv to = box_at(s, &k, i, coords);
        s->m->tma_load(l, k.map, to, bar, coords, k.form.rank, false);
    }
    ll_jump(s->l, all);
    s->m->mbar_await(l, bar, token);
    sim_read_slot(s, o, k.form.smem, ll_i32(l, k.at));
}

/* Box i in the first group, box i + 1 in the second. */
static Lv
box_of_group(Sim *s, const Boxes *k, int i, Lv *coords)
{
    Ll *l = s->l;
    Lv is_first = sim_in_first_group(s), other[MAX_TMAP_RANK],
       from = box_at(s, k, i, coords), from_other = box_at(s, k, i + 1, other);
    for (int d = 0; d < k->form.rank; d++)
        coords[d] = LLVMBuildSelect(l->b, is_first, coords[d], other[d], "");
    return LLVMBuildSelect(l->b, is_first, from, from_other, "");
}

/* The boxes of a piece, by one thread, or by one of each group. */
static void
send(Sim *s, const Boxes *k, const StoreStage *g, int piece)
{
    Ll *l = s->l;
    Boxes here = *k;
    here.at -= (piece - piece % g->held) * g->boxes * k->form.box_bytes;
    for (int i = piece * g->boxes; i < (piece + 1) * g->boxes; i += g->groups) {
        Lv coords[MAX_TMAP_RANK],
            from = (g->groups > 1 ? box_of_group : box_at)(s, &here, i, coords);
        s->m->tensor_store(l, k->map, from, coords, k->form.rank);
    }
    s->m->tensor_commit(l);
}

/* Barriers of the store's own, which has a place, or of a piece's. */
static void
meet(Sim *s, const Op *o, int groups)
{
    if (groups > 1)
        s->m->group_barrier(s->l, sim_in_first_group(s));
    else if (ir_store_stage(o))
        sim_barrier(s);
    else
        sim_wait(s, o, WAIT_WRITTEN);
}

static void
store_piece(Sim *s, const Op *o, const Boxes *k, const StoreStage *g, bool is_staged,
            int i)
{
    int bytes = g->boxes * k->form.box_bytes;
    bool is_in_order = i == 0 && !is_behind_others(o);
    if (is_staged && g->held == 1) {
        wait_for_sent(s, is_in_order, g->groups);
        meet(s, o, g->groups);
    }
    Lv to = ll_i32(s->l, k->at + i % g->held * bytes);
    sim_write_part(s, arg(o, o->n_args - 1), k->form.smem, to,
                   (SlotPart){i * bytes, bytes, false});
    s->m->fence_async(s->l);
    if (g->held > 1)
        wait_for_sent(s, is_in_order, g->groups);
    meet(s, o, g->groups);
    LLVMBasicBlockRef all = begin_alone(s, elected(s, g->groups));
    if (!is_staged)
        s->m->tensor_wait(s->l, false);
    send(s, k, g, i);
    if (!is_staged)
        s->m->tensor_wait(s->l, true);
    ll_jump(s->l, all);
}

/* The piece that a number says. */
static void
store_one(Sim *s, const Op *o, const Boxes *k)
{
    Ll *l = s->l;
    StoreStage g = store_stage(o);
    Lv piece = sim_val(s, arg(o, o->n_args - 2))[0];
    LLVMBasicBlockRef all = ll_block(l, "stored");
    for (int i = 0; i < g.pieces; i++) {
        LLVMBasicBlockRef it = ll_block(l, "piece"), others = ll_block(l, "others");
        Lv is_it = LLVMBuildICmp(l->b, LLVMIntEQ, piece, ll_i32(l, i), "");
        ll_if(l, is_it, it, others);
        store_piece(s, o, k, &g, true, i);
        LLVMBuildBr(l->b, all);
        LLVMPositionBuilderAtEnd(l->b, others);
    }
    ll_jump(s->l, all);
}

void
sim_map_store(Sim *s, const Op *o)
{
    Boxes k = boxes_of(s, o);
    if (ir_store_stage(o)) {
        store_one(s, o, &k);
        return;
    }
    bool is_staged = has_stage(o);
    StoreStage g = is_staged ? store_stage(o)
                             : (StoreStage){.pieces = 1,
                                            .boxes = k.form.n_boxes,
                                            .held = 1,
                                            .groups = 1};
    if (is_staged)
        k.at += (int)shared_stage(o).at;
    for (int i = 0; i < g.pieces; i++)
        store_piece(s, o, &k, &g, is_staged, i);
}

void
sim_end_stages(Sim *s, const Block *b)
{
    int groups = 0;
    EACH_OP(o, b)
        if (o->op == OP_MAP_STORE)
            groups = MAX(groups,
                         has_stage(o) || ir_store_stage(o) ? store_stage(o).groups : 1);
    if (groups)
        wait_for_sent(s, false, groups);
}
