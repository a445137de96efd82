/* pieces: a block of more registers than a thread has, read from local memory by the op that takes it.
 *
 *     %x = local_load %m, 0        for i < 16:  32 registers from %m, to shared memory
 *     %i = local_load %k, 0    =>
 *     %y = gather %x, %i           for i < 16:  32 numbers from %k, 32 elements from shared memory, to %n
 *     local_store %n, 0, %y
 *
 * Of a gather and a print no slices are made (passes/simt/chunk.c): which elements they meet is known at
 * run time, or they name each by its index in the whole. Register r of a piece is  constant + bits of the counter.
 *
 * Rule 1: streamed_from and streamed_to say which loads and stores have no code of their own. Where one block
 *         of a loop lies elsewhere, there is no loop, and all registers are read and written here at once.
 */
#include "codegen/simt/pieces.h"

enum { LOG2_PIECE = 5 };

static const Val *
place_of(const Val *v)
{
    const Val *from = streamed_from(v);
    return from ? from : streamed_to(v);
}

Pieces
sim_pieces(Sim *s, const Val *v, const Val *beside, uint32_t together)
{
    Ll *l = s->l;
    Pieces p = {.regs = UINT32_MAX};
    if (!place_of(v) || (beside && !place_of(beside)))
        return p;
    p.regs = together;
    for (int i = 0; i < v->type->layout->n[IN_REG]; i++)
        if (__builtin_popcount(p.regs) < LOG2_PIECE)
            p.regs |= 1u << i;
        else if (!(p.regs >> i & 1))
            p.bit[p.n++] = i;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b);
    p.body = ll_block(l, "piece");
    ll_jump(l, p.body);
    p.i = ll_phi(l, ll_i32(l, 0), before);
    return p;
}

void
sim_pieces_end(Sim *s, Pieces *p)
{
    Ll *l = s->l;
    if (!p->n)
        return;
    Lv next = LLVMBuildAdd(l->b, p->i, ll_i32(l, 1), "");
    Lv more = LLVMBuildICmp(l->b, LLVMIntULT, next, ll_i32(l, 1 << p->n), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b), after = ll_block(l, "pieces");
    LLVMAddIncoming(p->i, &next, &end, 1);
    LLVMBuildCondBr(l->b, more, p->body, after);
    LLVMPositionBuilderAtEnd(l->b, after);
}

bool
sim_in_piece(const Pieces *p, int reg)
{
    return !((uint32_t)reg & ~p->regs);
}

/* What the counter adds to a number that has col[i] for its bit i. */
static Lv
counted(Sim *s, const Pieces *p, Col *col, Lv x, Col x_bits)
{
    Col all = 0;
    for (int i = 0; i < p->n; i++)
        all |= col[i];
    return all ? sim_joined(s, x, x_bits, sim_xor_columns(s, p->i, col, p->n), all) : x;
}

Lv
sim_piece_index(Sim *s, Pieces *p, const Layout *l, int reg)
{
    Col col[MAX_BITS], x = layout_at(l, (Col)reg, 0, 0, 0);
    for (int i = 0; i < p->n; i++)
        col[i] = l->basis[IN_REG][p->bit[i]];
    for (int in = IN_LANE; in <= IN_WARP; in++)
        for (int i = 0; i < l->n[in]; i++)
            x |= l->basis[in][i];
    return counted(s, p, col, sim_index(s, l, reg), x);
}

static Lv
address(Sim *s, const Pieces *p, const Val *v, int reg)
{
    Col col[MAX_BITS];
    int bytes = ty_bytes(v->type);
    for (int i = 0; i < p->n; i++)
        col[i] = (Col)bytes << p->bit[i];
    Lv at = ll_i32(s->l, reg * bytes);
    at = LLVMBuildZExt(s->l->b, counted(s, p, col, at, (Col)(reg * bytes)), s->l->i64,
                       "");
    return LLVMBuildInBoundsGEP2(s->l->b, s->l->i8, sim_slices(s, place_of(v)), &at, 1,
                                 "");
}

Lv *
sim_piece(Sim *s, Pieces *p, const Val *v)
{
    if (!streamed_from(v))
        return sim_val(s, v);
    Lv *r = NEW_N(s->a, Lv, sim_n_regs(v));
    for (int i = 0; i < sim_n_regs(v); i++) {
        if (!sim_in_piece(p, i))
            continue;
        Lv x = LLVMBuildLoad2(s->l->b, sim_packed_type(s, v->type, 1),
                              address(s, p, v, i), "");
        sim_unpack(s, v->type, x, 1, &r[i]);
    }
    return r;
}

Lv *
sim_piece_result(Sim *s, const Pieces *p, const Val *v)
{
    return p->n ? NEW_N(s->a, Lv, sim_n_regs(v)) : sim_define(s, v);
}

void
sim_piece_keep(Sim *s, Pieces *p, const Val *v, Lv *regs)
{
    for (int i = 0; i < sim_n_regs(v) && streamed_to(v); i++)
        if (sim_in_piece(p, i))
            LLVMBuildStore(s->l->b, sim_pack(s, v->type, &regs[i], 1),
                           address(s, p, v, i));
}
