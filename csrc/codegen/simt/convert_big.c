/* convert_big: another layout for a value with more registers than a thread.
 *
 * The way through shared memory of convert.c, with loops where that has one piece of code a
 * register:
 *
 *     for each pass of the plan:              its register bits, common to both sides
 *         for chunks of what is left:         vectors from the operand's place to the buffer
 *         wait
 *         for chunks of what is left:         vectors from the buffer to the result's place
 *         wait
 *
 * A register bit of either side is one of the plan's vector, of its passes, or of the rest;
 * where an element lies in the buffer is linear in all of them.
 */
#include "codegen/simt/local.h"

/* One side's register bits by what the plan does with them. */
typedef struct Side {
    const Layout *l;
    int n_vec, vec[MAX_BITS], n_rep, rep[MAX_BITS], n_rest, rest[MAX_BITS];
} Side;

static int
bit_of(int n)
{
    return __builtin_ctz((unsigned)n);
}

static Side
source(const Op *o, const ConvPlan *p)
{
    Side k = {.l = arg(o, 0)->type->layout, .n_vec = p->log2_store};
    for (int i = 0; i < k.n_vec; i++)
        k.vec[i] = bit_of(p->src_from[1 << i]);
    for (int n = p->log2_store; 1 << k.n_rest < p->n_stores; k.n_rest++)
        k.rest[k.n_rest] = bit_of(p->src_from[1 << (n + k.n_rest)]);
    for (int n = p->log2_store + k.n_rest; 1 << k.n_rep < p->n_reps; k.n_rep++)
        k.rep[k.n_rep] = bit_of(p->src_from[1 << (n + k.n_rep)]);
    return k;
}

static Side
destination(const Op *o, const ConvPlan *p)
{
    Side k = {.l = result(o, 0)->type->layout, .n_vec = p->log2_load};
    k.n_rest = bit_of(p->n_loads), k.n_rep = bit_of(p->n_reps);
    for (int i = 0; i < k.l->n[IN_REG]; i++) {
        int part = bit_of(p->dst_from[1 << i]);
        int *to = part < k.n_vec              ? &k.vec[part]
                  : part < k.n_vec + k.n_rest ? &k.rest[part - k.n_vec]
                                              : &k.rep[part - k.n_vec - k.n_rest];
        *to = i;
    }
    return k;
}

/* ---- code ------------------------------------------------------------------------------- */

/* What loops over one side's accesses, inside of a pass. */
typedef struct Walk {
    Chunks c;
    SimVector vec;
    Lv at;    /* element offset of the thread and the counter */
    Col bits; /* that it can have */
    const ConvPlan *p;
    const Layout *l;
} Walk;

static Col
offset_of(const Walk *w, uint32_t reg)
{
    return f2_mul(w->p->offset_of, layout_bits(w->l), layout_at(w->l, reg, 0, 0, 0));
}

static Walk
open_walk(Sim *s, const Side *k, const ConvPlan *p, const Chunks *pass, const Col *lane,
          const Col *warp, Col moving)
{
    Walk w = {.vec = sim_vector(k->vec, k->n_vec), .p = p, .l = k->l, .bits = moving};
    int n = MIN(k->n_rest, MAX(s->f->chunk_bits - k->n_vec, 0));
    uint32_t regs = w.vec.mask;
    for (int i = 0; i < n; i++)
        regs |= 1u << k->rest[i];
    Chunks outer = *pass;
    memcpy(outer.bit, k->rep, sizeof outer.bit);
    w.c = sim_rounds(s, &outer, regs, k->rest + n, k->n_rest - n);
    Col col[MAX_BITS];
    for (int i = 0; i < w.c.n; i++)
        w.bits |= col[i] = offset_of(&w, 1u << w.c.bit[i]);
    w.at = sim_linear(s, lane, LANE_BITS, warp, s->log2_warps);
    if (w.c.n)
        w.at = LLVMBuildXor(s->l->b, w.at, sim_counted(s, &w.c, col), "");
    return w;
}

/* Byte offset of the vector that begins at register r, from `base` on. */
static Lv
vector_offset(Sim *s, const Walk *w, int r, int base)
{
    Lv index = sim_xor(s, w->at, w->bits, offset_of(w, (uint32_t)r));
    return sim_shared_offset(s, index, 1 << w->p->log2_elem_bytes, base);
}

static bool
begins_vector(const Walk *w, int r)
{
    return !((uint32_t)r & (w->vec.mask | ~w->c.regs));
}

static void
store_all(Sim *s, const Op *o, const ConvPlan *p, const Chunks *pass, int base)
{
    const Val *v = arg(o, 0);
    Side k = source(o, p);
    Walk w = open_walk(s, &k, p, pass, p->store_lane, p->store_warp, p->store_moving);
    Lv pred = sim_all_clear(s, p->store_lane_skip | p->store_warp_skip << LANE_BITS);
    Lv *regs = sim_chunk(s, &w.c, v), elems[SIM_MAX_VECTOR];
    int n = 1 << w.vec.log2;
    for (int r = 0; r < sim_n_regs(v); r++) {
        if (!begins_vector(&w, r))
            continue;
        for (int e = 0; e < n; e++)
            elems[e] = regs[r | w.vec.reg[e]];
        s->m->shared_store(s->l, vector_offset(s, &w, r, base),
                           sim_pack(s, v->type, elems, n), n << p->log2_elem_bytes,
                           pred, o->loc);
    }
    sim_chunks_end(s, &w.c);
}

static void
load_all(Sim *s, const Op *o, const ConvPlan *p, const Chunks *pass, int base)
{
    const Val *v = result(o, 0);
    Side k = destination(o, p);
    Walk w = open_walk(s, &k, p, pass, p->load_lane, p->load_warp, p->load_moving);
    Lv *regs = NEW_N(s->a, Lv, sim_n_regs(v)), elems[SIM_MAX_VECTOR];
    int n = 1 << w.vec.log2;
    for (int r = 0; r < sim_n_regs(v); r++) {
        if (!begins_vector(&w, r))
            continue;
        Lv x = s->m->shared_load(s->l, vector_offset(s, &w, r, base),
                                 sim_packed_type(s, v->type, n),
                                 n << p->log2_elem_bytes, o->loc);
        sim_unpack(s, v->type, x, n, elems);
        for (int e = 0; e < n; e++)
            regs[r | w.vec.reg[e]] = elems[e];
    }
    sim_chunk_keep(s, &w.c, v, regs);
    sim_chunks_end(s, &w.c);
}

void
sim_convert_big(Sim *s, const Op *o, const ConvPlan *p)
{
    int base = sim_scratch(s, o);
    Side k = source(o, p);
    Chunks pass = {0};
    if (k.n_rep)
        pass = sim_rounds(s, NULL, 0, k.rep, k.n_rep);
    store_all(s, o, p, &pass, base);
    sim_wait(s, o, WAIT_WRITTEN);
    load_all(s, o, p, &pass, base);
    if (!k.n_rep)
        return;
    sim_wait(s, o, WAIT_READ);
    sim_chunks_end(s, &pass);
}
