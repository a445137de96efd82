/* chunks: loops over the registers of big values (local.c), some of them a round.
 *
 * Register r of a chunk is  constant ^ columns of the counter's bits: a linear map, as the
 * layout is, so that elements, other shapes and places in memory are found the same way. An
 * element that has no place is computed, from what it is made of, wherever a body asks for
 * it; a body computes it once (memo).
 */
#include "codegen/simt/local.h"

/* ---- loops ------------------------------------------------------------------------------ */

/* Opens a loop over registers, whose numbers have so many bits. Those of `together` are
 * constants, others from the lowest up. */
static Chunks
open_chunks(Sim *s, int bits, uint32_t together)
{
    Ll *l = s->l;
    Chunks c = {.regs = together, .memo.a = s->a};
    for (int i = 0; i < bits; i++)
        if (__builtin_popcount(c.regs) < s->f->chunk_bits)
            c.regs |= 1u << i;
        else if (!(c.regs >> i & 1))
            c.bit[c.n++] = i;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b);
    c.body = ll_block(l, "chunk");
    ll_jump(l, c.body);
    c.i = ll_phi(l, ll_i32(l, 0), before);
    return c;
}

static void
end_chunks(Sim *s, Chunks *c)
{
    Ll *l = s->l;
    Lv next = LLVMBuildAdd(l->b, c->i, ll_i32(l, 1), "");
    Lv more = LLVMBuildICmp(l->b, LLVMIntULT, next, ll_i32(l, 1 << c->n), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b), after = ll_block(l, "chunks");
    LLVMAddIncoming(c->i, &next, &end, 1);
    Lv branch = LLVMBuildCondBr(l->b, more, c->body, after);
    if (s->f->chunk_bits < MAX_CHUNK_BITS) /* so many loops that none may be unrolled */
        ll_keep_rolled(l, branch);
    LLVMPositionBuilderAtEnd(l->b, after);
}

/* A register of some value: at[0] ^ at[1 + i] for the set bits i of the counter. Padded to a
 * key without gaps. */
typedef struct Place {
    const Val *v;
    Col at[2 + MAX_BITS];
} Place;
_Static_assert(sizeof(Place) == sizeof(Val *) + (2 + MAX_BITS) * sizeof(Col),
               "no gaps");

static Place
place_of(const Chunks *c, const Val *v, uint32_t reg)
{
    Place p = {.v = v, .at = {reg}};
    for (int i = 0; c && i < c->n; i++)
        p.at[1 + i] = (Col)1 << c->bit[i];
    return p;
}

/* XOR of the columns of the counter's set bits. */
static Lv
counted(Sim *s, Chunks *c, const Col *at)
{
    Place key = {0};
    memcpy(key.at + 1, at, (size_t)c->n * sizeof *at);
    Lv v = map_get(&c->memo, &key, sizeof key);
    if (!v) {
        v = sim_xor_columns(s, c->i, at, c->n);
        map_put(&c->memo, &key, sizeof key, v);
    }
    return v;
}

static Col
moving(const Chunks *c, const Col *at)
{
    Col seen = 0;
    for (int i = 0; c && i < c->n; i++)
        seen |= at[i];
    return seen;
}

static Lv eval(Sim *s, Chunks *c, const Place *p);

/* sim_index of register at[0], moved by the counter. */
static Lv
index_at(Sim *s, Chunks *c, const Layout *l, const Col *at)
{
    Col flat[MAX_BITS] = {0}, fixed = layout_at(l, at[0], 0, 0, 0);
    for (int i = 0; c && i < c->n; i++)
        flat[i] = layout_at(l, at[1 + i], 0, 0, 0);
    for (int in = IN_LANE; in <= IN_WARP; in++)
        for (int i = 0; i < l->n[in]; i++)
            fixed |= l->basis[in][i];
    Lv x = sim_index(s, l, (int)at[0]);
    return moving(c, flat)
               ? sim_joined(s, x, fixed, counted(s, c, flat), moving(c, flat))
               : x;
}

static Lv
chunk_index(Sim *s, Chunks *c, const Layout *l, int reg)
{
    Col at[1 + MAX_BITS] = {(Col)reg};
    for (int i = 0; i < c->n; i++)
        at[1 + i] = (Col)1 << c->bit[i];
    return index_at(s, c, l, at);
}

static Lv
arange_at(Sim *s, Chunks *c, const Place *p)
{
    Lv x = index_at(s, c, p->v->type->layout, p->at);
    int32_t start = (int32_t)ir_attr(p->v->def, ATTR_START);
    return start ? LLVMBuildAdd(s->l->b, x, ll_i32(s->l, start), "") : x;
}

/* Bit i of a register of the result is map[i] of the operand's. */
static void
register_map(Sim *s, const Op *o, Col *map)
{
    int n = result(o, 0)->type->layout->n[IN_REG];
    const ConvPlan *p = o->op == OP_CONVERT ? convert_plan(s->c, o) : NULL;
    int bit = o->op == OP_SPLIT ? sim_half_bit(s, o) : 0;
    if (!p && o->op != OP_SPLIT)
        sim_reg_map(s, o, map);
    for (int i = 0; (p || o->op == OP_SPLIT) && i < n; i++)
        map[i] = p && p->kind == CONV_REGS ? (Col)p->dst_from[1 << i]
                 : p                       ? (Col)1 << i
                                           : (Col)1 << (i + (i >= bit));
}

static Lv
renamed_at(Sim *s, Chunks *c, const Place *p)
{
    const Op *o = p->v->def;
    Col map[MAX_BITS];
    Place from = {.v = arg(o, 0)};
    register_map(s, o, map);
    for (int i = 0; i < 1 + (c ? c->n : 0); i++)
        from.at[i] = f2_mul(map, p->v->type->layout->n[IN_REG], p->at[i]);
    if (o->op == OP_SPLIT && p->v == result(o, 1))
        from.at[0] |= (Col)1 << sim_half_bit(s, o);
    return eval(s, c, &from);
}

/* Of a join or cat: one bit of the register says of which operand; it does not count. */
static Lv
joined_at(Sim *s, Chunks *c, const Place *p)
{
    const Op *o = p->v->def;
    int bit = sim_half_bit(s, o);
    Col low = ((Col)1 << bit) - 1;
    Place from = {.v = arg(o, p->at[0] >> bit & 1)};
    for (int i = 0; i < 1 + (c ? c->n : 0); i++)
        from.at[i] = (p->at[i] & low) | (p->at[i] >> (bit + 1) << bit);
    return eval(s, c, &from);
}

/* From an array that is laid out as the value's registers are. */
static Lv
from_array(Sim *s, Chunks *c, const Place *p, Lv array)
{
    Lv at = ll_i32(s->l, (int32_t)p->at[0]);
    if (moving(c, p->at + 1))
        at = sim_joined(s, at, p->at[0], counted(s, c, p->at + 1),
                        moving(c, p->at + 1));
    return sim_local_load(s, p->v->type, array, at);
}

static Lv
compute(Sim *s, Chunks *c, const Place *p)
{
    const Op *o = p->v->def;
    Ll *l = s->l;
    switch (o->op) {
    case OP_CONST:
        return o->results[0]->type->is_ptr
                   ? LLVMConstIntToPtr(ll_i64(l, (int64_t)o->bits), l->gptr)
                   : ll_bits(l, p->v->type->elem, o->bits, 0);
    case OP_ARANGE: return arange_at(s, c, p);
    case OP_SPLAT: return sim_val(s, arg(o, 0))[0];
    case OPS(OPS_INDEX, OP_SPLIT, OP_CONVERT): return renamed_at(s, c, p);
    case OP_JOIN:
    case OP_CAT: return joined_at(s, c, p);
    case OP_LOCAL_LOAD: return from_array(s, c, p, sim_slices(s, arg(o, 0)));
    default: break;
    }
    Lv *x = NEW_N(s->a, Lv, o->n_args + 1);
    for (int i = 0; i < o->n_args; i++) {
        Place from = *p;
        from.v = arg(o, i);
        if (from.v->type->layout != p->v->type->layout)
            sim_bad_layout(s, o);
        x[i] = eval(s, c, &from);
    }
    return cg_elementwise(l, o, x);
}

static Lv
made_or_kept(Sim *s, Chunks *c, const Place *p)
{
    const Val *v = p->v;
    if (sim_is_made_again(s, v))
        return compute(s, c, p);
    if (!v->is_kept)
        err_at(s->c, v->def ? v->def->loc : s->f->loc, VALUE,
               "a block that no loop over chunks computes is not kept: run keep_local");
    return from_array(s, c, p, sim_local_home(s, v));
}

static Lv
eval(Sim *s, Chunks *c, const Place *p)
{
    const Val *v = p->v;
    if (!is_in_registers(v))
        return sim_val(s, v)[0];
    if (s->vals[v->id] && !moving(c, p->at + 1))
        return sim_reg(s, v, (int)p->at[0]);
    Lv x = c ? map_get(&c->memo, p, sizeof *p) : NULL;
    if (x)
        return x;
    x = made_or_kept(s, c, p);
    if (c)
        map_put(&c->memo, p, sizeof *p, x);
    return x;
}

/* v's registers in the body, by their constant part; others are NULL. */
static Lv *
chunk_of(Sim *s, Chunks *c, const Val *v)
{
    Lv *r = NEW_N(s->a, Lv, sim_n_regs(v));
    for (int i = 0; i < sim_n_regs(v); i++) {
        Place p = place_of(c, v, (uint32_t)i);
        if (!((uint32_t)i & ~c->regs))
            r[i] = eval(s, c, &p);
    }
    return r;
}

static void
keep_in(Sim *s, Chunks *c, const Val *v, Lv *r, Lv array)
{
    Place p = place_of(c, v, 0);
    Lv at = counted(s, c, p.at + 1);
    for (int i = 0; i < sim_n_regs(v); i++)
        if (!((uint32_t)i & ~c->regs))
            sim_local_store(
                s, v->type, array,
                sim_joined(s, at, moving(c, p.at + 1), ll_i32(s->l, i), (Col)i), r[i]);
}

static void
keep_chunk(Sim *s, Chunks *c, const Val *v, Lv *r)
{
    keep_in(s, c, v, r, sim_local_home(s, v));
}

void
sim_store_big(Sim *s, const Op *o)
{
    const Val *v = arg(o, 2);
    Chunks c = open_chunks(s, v->type->layout->n[IN_REG], 0);
    keep_in(s, &c, v, chunk_of(s, &c, v), sim_slices(s, arg(o, 0)));
    end_chunks(s, &c);
}

/* ---- whole values ---------------------------------------------------------------------- */

Lv *
sim_whole(Sim *s, const Val *v)
{
    struct Local *k = s->local;
    if (k->n_gathered < s->f->n_vals)
        k->gathered[k->n_gathered++] = v;
    Lv *r = sim_define(s, v);
    Chunks whole = {.memo.a = s->a};
    for (int i = 0; i < sim_n_regs(v); i++) {
        Place p = place_of(&whole, v, (uint32_t)i);
        r[i] = made_or_kept(s, &whole, &p);
    }
    return r;
}

void
sim_compute_big(Sim *s, const Val *v)
{
    const Op *o = v->def;
    bool has_halves = o->op == OP_JOIN || o->op == OP_CAT;
    Chunks c = open_chunks(s, v->type->layout->n[IN_REG],
                           has_halves ? 1u << sim_half_bit(s, o) : 0);
    Lv *r = NEW_N(s->a, Lv, sim_n_regs(v));
    for (int i = 0; i < sim_n_regs(v); i++) {
        Place p = place_of(&c, v, (uint32_t)i);
        if (!((uint32_t)i & ~c.regs))
            r[i] = compute(s, &c, &p);
    }
    keep_chunk(s, &c, v, r);
    end_chunks(s, &c);
}

/* ---- all at once, or chunk by chunk ------------------------------------------------------ */

Pieces
sim_pieces(Sim *s, const Val *v, uint32_t together)
{
    Pieces p = {.c = {.regs = UINT32_MAX}, .is_loop = is_big(s->f, v)};
    if (p.is_loop)
        p.c = open_chunks(s, v->type->layout->n[IN_REG], together);
    return p;
}

void
sim_pieces_end(Sim *s, Pieces *p)
{
    if (p->is_loop)
        end_chunks(s, &p->c);
}

bool
sim_in_piece(const Pieces *p, int reg)
{
    return !((uint32_t)reg & ~p->c.regs);
}

Lv *
sim_piece(Sim *s, Pieces *p, const Val *v)
{
    return p->is_loop ? chunk_of(s, &p->c, v) : sim_val(s, v);
}

Lv
sim_piece_index(Sim *s, Pieces *p, const Layout *l, int reg)
{
    return p->is_loop ? chunk_index(s, &p->c, l, reg) : sim_index(s, l, reg);
}

Lv *
sim_piece_result(Sim *s, const Pieces *p, const Val *v)
{
    return p->is_loop ? NEW_N(s->a, Lv, sim_n_regs(v)) : sim_define(s, v);
}

void
sim_piece_keep(Sim *s, Pieces *p, const Val *v, Lv *regs)
{
    if (p->is_loop)
        keep_chunk(s, &p->c, v, regs);
}
