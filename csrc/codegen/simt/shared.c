/* shared: shared memory as a value: slots, asynchronous copies into them, reads.
 *
 * The type says where an element is in its slot (offset bits -> flat index), the
 * layouts of what is copied or read which elements a thread has. An address is
 * therefore
 *
 *     at + slot * bytes       the same for all threads: a uniform register
 *     + (thread ^ swizzle)    of lane and warp bits, with those of the register's constant
 *                             that it can have itself (a swizzled chunk of 16 bytes)
 *                             turned over: computed once a kernel (sim_flipped)
 *     + register              the rest of that constant: an immediate
 *
 * A read is made of ldmatrix where the layouts allow it (layout_ldmatrix), else of
 * vectors. When all that wants the block are dots of the same straight piece of code,
 * nothing is read but the fragments of the first step along k (the first two, if there
 * are registers for them) until a dot asks: so those of one step are loaded beside the
 * products of another and not all at once. Views in between pass the question on.
 */
#include "codegen/simt/simt.h"

enum { MAX_VEC = 16 };

/* ---- addresses ------------------------------------------------------------------- */

typedef struct Place {
    Lv slot, thread; /* bytes */
    Lv both;         /* their sum, in which swizzles are turned over; NULL: in thread */
    Col can_have;    /* bits of the thread's part */
    Col below;       /* bits below this are 0 in the slot's part */
} Place;

Lv
sim_slot_place(Sim *s, const Op *o, int smem)
{
    Ll *b = s->l;
    const Val *v = arg(o, smem);
    int each = log2_of((int)(ty_numel(v->type) * ty_bytes(v->type))),
        unit = (int)ir_attr(v->def, ATTR_UNIT);
    Lv slot = sim_val(s, arg(o, smem + 1))[0];
    if (unit > each)
        slot = LLVMBuildLShr(b->b, slot, ll_i32(b, unit - each), "");
    else if (unit < each)
        slot = LLVMBuildShl(b->b, slot, ll_i32(b, each - unit), "");
    return LLVMBuildAdd(b->b, slot, sim_val(s, v)[0], "");
}

/* The slot of type t that begins at `slot`, for threads that hold elements as l says. */
static Place
place_in(Sim *s, const Type *t, Lv slot, bool in_place, const Col *lane,
         const Layout *l, const Col *offset_of)
{
    int bits = layout_bits(l), bytes = ty_bytes(t);
    Col lanes[LANE_BITS] = {0}, warps[WARP_BITS] = {0};
    Place p = {0};
    for (int i = 0; i < LANE_BITS; i++)
        p.can_have |= lanes[i] = lane[i] * (Col)bytes;
    for (int i = 0; i < l->n[IN_WARP]; i++)
        p.can_have |= warps[i] = f2_mul(offset_of, bits, l->basis[IN_WARP][i]) *
                                 (Col)bytes;
    p.thread = sim_linear(s, lanes, LANE_BITS, warps, s->log2_warps);
    int each = log2_of((int)(ty_numel(t) * bytes));
    p.slot = slot;
    if (in_place)
        p.both = LLVMBuildAdd(s->l->b, p.slot, p.thread, "");
    p.below = MIN((Col)1 << each, (Col)SHARED_ALIGN);
    return p;
}

static Place
place_of(Sim *s, const Op *o, int smem, const Col *lane, const Layout *l,
         const Col *offset_of)
{
    return place_in(s, arg(o, smem)->type, sim_slot_place(s, o, smem),
                    ir_attr(o, ATTR_FLIPS) != 0, lane, l, offset_of);
}

static Lv
address(Sim *s, const Place *p, Col by)
{
    Ll *l = s->l;
    Col clash = by & p->can_have;
    Lv at;
    if (p->both && clash < p->below)
        at = clash ? LLVMBuildXor(l->b, p->both, ll_i32(l, (int)clash), "") : p->both;
    else
        at = LLVMBuildAdd(l->b, p->slot, sim_flipped(s, p->thread, clash), "");
    by ^= clash;
    return by ? LLVMBuildAdd(l->b, at, ll_i32(l, (int)by), "") : at;
}

/* The offsets of l's lanes. */
static void
lane_offsets(const Layout *l, const Col *offset_of, Col *lane)
{
    for (int i = 0; i < LANE_BITS; i++)
        lane[i] = i < l->n[IN_LANE]
                      ? f2_mul(offset_of, layout_bits(l), l->basis[IN_LANE][i])
                      : 0;
}

/* ---- alloc, store, copy ---------------------------------------------------------- */

void
sim_shared_alloc(Sim *s, const Op *o)
{
    sim_define(s, result(o, 0))[0] = ll_i32(s->l, sim_scratch(s, o));
}

/* Registers of l that lie side by side in a slot, at most `max` (log2). */
static SimVector
neighbours(const Layout *l, const Col *offset_of, int max)
{
    int bit[MAX_BITS], run = layout_offset_run(l, offset_of, max, bit);
    return sim_vector(bit, run);
}

void
sim_write_part(Sim *s, const Val *v, const Type *smem, Lv slot, SlotPart part)
{
    const Layout *l = v->type->layout;
    Col offset_of[MAX_BITS], lane[LANE_BITS];
    layout_offsets(smem->layout, offset_of);
    lane_offsets(l, offset_of, lane);
    Place p = place_in(s, smem, slot, part.in_place, lane, l, offset_of);
    int bytes = ty_bytes(v->type);
    SimVector vec = neighbours(l, offset_of, log2_of(16 / bytes));
    Lv *regs = sim_val(s, v), elems[MAX_VEC];
    for (int r = 0; r < sim_n_regs(v); r++) {
        Col flat = layout_at(l, (uint32_t)r, 0, 0, 0),
            by = f2_mul(offset_of, layout_bits(l), flat) * (Col)bytes - (Col)part.from;
        if ((uint32_t)r & vec.mask || by >= (Col)part.bytes)
            continue;
        for (int e = 0; e < 1 << vec.log2; e++)
            elems[e] = regs[r | vec.reg[e]];
        Lv at = address(s, &p, by);
        sim_shared_put(s, v->type, at, elems, 1 << vec.log2, sim_owner(s, l));
    }
}

void
sim_shared_store(Sim *s, const Op *o)
{
    const Val *v = arg(o, 2);
    SlotPart all = {0, (int)ty_numel(v->type) * ty_bytes(v->type),
                    ir_attr(o, ATTR_FLIPS) != 0};
    sim_write_part(s, v, arg(o, 0)->type, sim_slot_place(s, o, 0), all);
}

/* What is contiguous along the pointers and along the offsets in the slot. */
static SimVector
common_vector(Sim *s, const Op *o, const Layout *l, const Col *offset_of)
{
    SimVector memory = sim_copy_vector(s, o);
    SimVector slot = neighbours(l, offset_of, memory.log2);
    while (slot.log2 &&
           memcmp(slot.reg, memory.reg, sizeof *slot.reg << slot.log2) != 0)
        slot = neighbours(l, offset_of, slot.log2 - 1);
    return slot;
}

/* The bytes of n elements, at most those of a vector. */
static Lv
bytes_of_count(Sim *s, Lv n, int log2, int bytes)
{
    Ll *l = s->l;
    Lv all = ll_i32(l, 1 << log2);
    n = LLVMBuildSelect(l->b, LLVMBuildICmp(l->b, LLVMIntULT, n, all, ""), n, all, "");
    return LLVMBuildMul(l->b, n, ll_i32(l, bytes >> log2), "");
}

void
sim_async_copy(Sim *s, const Op *o)
{
    const Type *t = arg(o, 0)->type;
    const Layout *l = t->layout;
    Col offset_of[MAX_BITS], lane[LANE_BITS];
    layout_offsets(arg(o, 1)->type->layout, offset_of);
    lane_offsets(l, offset_of, lane);
    SimVector vec = common_vector(s, o, l, offset_of);
    const Type *elem = ty_pointee(s->c, t);
    int bytes = ty_bytes(elem) << vec.log2;
    bool is_async = bytes >= 4 && s->m->has_async(s->l);
    if (!is_async) /* pipeline makes no such copies */
        err_at(s->c, o->loc, TARGET, info(o)->text, s->m->name);
    Place p = place_of(s, o, 1, lane, l, offset_of);
    Lv *ptr = sim_val(s, arg(o, 0)),
       *mask = o->n_args > 3 ? sim_val(s, arg(o, 3)) : NULL,
       *count = o->n_args > 4 ? sim_val(s, arg(o, 4)) : NULL;
    Access a = {.bytes = bytes,
                .align = bytes,
                .owner = sim_owner(s, l),
                .cache = (int)ir_attr(o, ATTR_CACHE),
                .evict = (int)ir_attr(o, ATTR_EVICT)};
    for (int r = 0; r < sim_n_regs(arg(o, 0)); r++) {
        if ((uint32_t)r & vec.mask)
            continue;
        a.ptr = ptr[r];
        a.pred = mask ? mask[r] : NULL;
        a.count = count ? bytes_of_count(s, count[r], vec.log2, bytes) : NULL;
        Col flat = layout_at(l, (uint32_t)r, 0, 0, 0);
        Col by = f2_mul(offset_of, layout_bits(l), flat) * (Col)ty_bytes(elem);
        s->m->async_copy(s->l, address(s, &p, by), &a);
    }
}

void
sim_shared_view(Sim *s, const Op *o)
{
    sim_define(s, result(o, 0))[0] = sim_slot_place(s, o, 0);
}

/* ---- reads ----------------------------------------------------------------------- */

struct SharedRead {
    const Type *t; /* of what is read, with its layout */
    Lv *regs;      /* what has been read of it */
    Place p;
    Col offset_of[MAX_BITS], first; /* of the part that is read */
    bool is_ldmatrix;
    LdMatrix m;
    SimVector vec; /* else */
};

/* Registers that an ldmatrix beginning with r fills. */
static void
read_matrices(Sim *s, const SharedRead *k, int r, Lv at)
{
    Lv word[4];
    s->m->ldmatrix(s->l, at, 1 << k->m.log2_n, k->m.trans, word);
    for (int i = 0; i < 1 << k->m.log2_n; i++) {
        int first = r;
        for (int j = 0; j < k->m.log2_n; j++)
            first |= (i >> j & 1) << k->m.bit[j];
        sim_unpack_word(s, k->t, word[i], 1 << k->m.log2_word, k->regs + first);
    }
}

static void
read_register(Sim *s, void *data, int r)
{
    const SharedRead *k = data;
    const Layout *l = k->t->layout;
    uint32_t inside = k->vec.mask;
    if (k->is_ldmatrix) {
        inside = (1u << k->m.log2_word) - 1;
        for (int j = 0; j < k->m.log2_n; j++)
            inside |= 1u << k->m.bit[j];
    }
    r &= (int)~inside;
    int bytes = ty_bytes(k->t);
    Col flat = layout_at(l, (uint32_t)r, 0, 0, 0);
    Col by = f2_mul(k->offset_of, layout_bits(l), flat) ^ k->first;
    Lv at = address(s, &k->p, by * (Col)bytes);
    if (k->is_ldmatrix) {
        read_matrices(s, k, r, at);
        return;
    }
    int n = 1 << k->vec.log2;
    Lv elems[MAX_VEC];
    sim_shared_get(s, k->t, at, n, elems);
    for (int e = 0; e < n; e++)
        k->regs[r | k->vec.reg[e]] = elems[e];
}

SharedRead *
sim_open_slot(Sim *s, const Type *smem, Lv slot, const Layout *l)
{
    Col lane[LANE_BITS];
    SharedRead *k = NEW(s->a, SharedRead);
    *k = (SharedRead){.t = ty_slot(s->c, smem, l),
                      .regs = NEW_N(s->a, Lv, 1 << l->n[IN_REG])};
    layout_offsets(smem->layout, k->offset_of);
    lane_offsets(l, k->offset_of, lane);
    k->vec = neighbours(l, k->offset_of, log2_of(16 / ty_bytes(smem)));
    k->p = place_in(s, smem, slot, false, lane, l, k->offset_of);
    return k;
}

Lv
sim_slot_reg(Sim *s, SharedRead *k, int r)
{
    if (!k->regs[r])
        read_register(s, k, r);
    return k->regs[r];
}

void
sim_read_slot(Sim *s, const Op *o, const Type *smem, Lv slot)
{
    const Val *v = result(o, 0);
    SharedRead *k = sim_open_slot(s, smem, slot, v->type->layout);
    Lv *to = sim_define(s, v);
    for (int r = 0; r < sim_n_regs(v); r++)
        to[r] = sim_slot_reg(s, k, r);
}

/* Has o bytes of its own where those of the slots are? Their place lived to its last read as the text has it. */
static bool
takes_place_of(const Op *o, const Op *slots)
{
    const SharedPlace *k = o->place, *old = slots ? slots->place : NULL;
    return k && old && k->at < old->at + old->bytes && old->at < k->at + k->bytes;
}

/* Is the slot that o reads still what it was when `user` asks? A copy or store in
 * between goes elsewhere, or threads would race, unless a barrier stands before it: what moves elements by
 * shuffles has no place and no barrier. */
static bool
stays_until(const Op *o, const Op *user)
{
    bool barrier = false;
    const Op *slots = arg(o, 0)->def;
    for (o = o->next; o != user; o = o->next) {
        if (!o || o->n_regions || o->op == OP_SHARED_STORE || o->op == OP_ASYNC_WAIT ||
            takes_place_of(o, slots))
            return false;
        if (o->op == OP_ASYNC_COPY && barrier)
            return false;
        if (o->op == OP_ASYNC_COPY)
            continue;
        barrier = barrier || o->op == OP_BARRIER || o->op == OP_DOT || o->place ||
                  op_has(o, OPF_WRITES | OPF_STAYS);
    }
    return true;
}

/* Are all users of v, which is read by o, dots in the same straight piece of code? */
static bool
can_wait(const Op *o, const Val *v)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *user = u->user;
        bool ok = user->block == o->block;
        if (ok && op_has(user, OPF_VIEW))
            ok = can_wait(o, result(user, 0));
        else if (ok)
            ok = user->op == OP_DOT && stays_until(o, user);
        if (!ok)
            return false;
    }
    return true;
}

/* The dot that v reaches first, through views; NULL: none. *which: its operand. */
static const Op *
dot_of(const Val *v, int *which)
{
    for (const Use *u = v->uses; u; u = u->next) {
        /* A view keeps the registers' order where it keeps their number. */
        const Op *o = u->user, *d = o->op == OP_DOT ? o : NULL;
        if (d)
            *which = (int)(u - o->args);
        else if (op_has(o, OPF_VIEW) && sim_n_regs(result(o, 0)) == sim_n_regs(v))
            d = dot_of(result(o, 0), which);
        if (d)
            return d;
    }
    return NULL;
}

/* Register bits of v that move along k by n steps of the dot or more. */
static uint32_t
far_along_k(Sim *s, const Val *v, int n)
{
    int which = 0;
    uint32_t mask = 0;
    const Op *dot = dot_of(v, &which);
    if (!dot)
        return 0;
    DotPlan plan;
    dot_plan(s->f, dot, &plan);
    const Layout *l = arg(dot, which)->type->layout;
    int dim = which ? l->rank - 2 : l->rank - 1;
    for (int i = 0; plan.is_mma && i < l->n[IN_REG]; i++) {
        Col k = l->basis[IN_REG][i] >> layout_dim_shift(l, dim) &
                (((Col)1 << l->log2_shape[dim]) - 1);
        if (k >= (Col)(n * mma_shape[plan.kind].k))
            mask |= 1u << i;
    }
    return mask;
}

static int
step_words(const Val *v, int steps)
{
    return ((ty_bits(v->type) << v->type->layout->n[IN_REG]) / 32 + steps - 1) / steps;
}

bool
sim_reads_ahead(Sim *s, const Op *dot)
{
    enum { ROOM = 200 }; /* of 255 registers; addresses take the rest */
    const Op *loop = dot->block->owner;
    DotPlan plan;
    dot_plan(s->f, dot, &plan);
    if (!plan.is_mma || !loop || loop->op != OP_FOR)
        return false;
    const Type *a = arg(dot, 0)->type;
    int steps = MAX(a->shape[a->rank - 1] / mma_shape[plan.kind].k, 1), both = 0;
    for (int i = 0; i < 2; i++)
        both += step_words(arg(dot, i), steps);
    return loop_pressure(loop) + 2 * both <= ROOM;
}

/* offset_of and first for the part of the slot that o reads: bits of the part's flat
 * index are bits of the slot's. */
static void
part_offsets(const Op *o, SharedRead *k)
{
    const Layout *slot = arg(o, 0)->type->layout, *part = result(o, 0)->type->layout;
    Col whole[MAX_BITS];
    layout_offsets(slot, whole);
    for (int d = 0; d < part->rank; d++)
        for (int i = 0; i < part->log2_shape[d]; i++)
            k->offset_of[layout_dim_shift(part, d) + i] =
                whole[layout_dim_shift(slot, d) + i];
    Col start = (Col)ir_attr(o, ATTR_START)
                << layout_dim_shift(slot, (int)ir_attr(o, ATTR_AXIS));
    k->first = f2_mul(whole, layout_bits(slot), start);
}

void
sim_shared_load(Sim *s, const Op *o)
{
    const Val *v = result(o, 0);
    const Layout *l = v->type->layout;
    Col lane[LANE_BITS];
    SharedRead *k = NEW(s->a, SharedRead);
    k->t = v->type;
    part_offsets(o, k);
    lane_offsets(l, k->offset_of, lane);
    int bytes = ty_bytes(v->type);
    uint32_t far = far_along_k(s, v, 1);
    k->is_ldmatrix = !ir_attr(o, ATTR_OWN) &&
                     layout_ldmatrix(l, k->offset_of, bytes * 8, far, &k->m);
    if (k->is_ldmatrix)
        memcpy(lane, k->m.row, sizeof lane);
    else
        k->vec = neighbours(l, k->offset_of, log2_of(16 / bytes));
    k->p = place_of(s, o, 0, lane, l, k->offset_of);
    sim_define_lazily(s, v, read_register, k);
    k->regs = s->vals[v->id];
    if (!can_wait(o, v)) {
        sim_val(s, v);
        return;
    }
    int which = 0, steps = sim_reads_ahead(s, dot_of(v, &which)) ? 2 : 1;
    for (int n = 1; n <= steps; n++) { /* the first steps begin here */
        far = far_along_k(s, v, n);
        for (int r = 0; r < sim_n_regs(v); r++)
            if (!((uint32_t)r & far))
                sim_reg(s, v, r);
    }
}
