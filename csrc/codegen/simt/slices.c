/* slices: blocks that the pass chunk keeps in the thread's own memory, slice by slice.
 *
 * The text says where each begins (local_alloc {at=64}), and a thread's registers of a slice lie side
 * by side there, so that 16 bytes of them are one access. Parts of a block that lies there whole have its registers
 * where these are.
 */
#include "codegen/simt/simt.h"

enum { SLICE_ALIGN = 16 };

static Lv
all_slices(Sim *s)
{
    Ll *l = s->l;
    if (s->slices)
        return s->slices;
    s->slices = ll_slot(l, LLVMArrayType2(l->i8, (unsigned)local_bytes(s->f)));
    LLVMSetAlignment(s->slices, SLICE_ALIGN);
    return s->slices;
}

Lv
sim_slices(Sim *s, const Val *local)
{
    Lv at = ll_i64(s->l, ir_attr(local->def, ATTR_AT));
    return LLVMBuildInBoundsGEP2(s->l->b, s->l->i8, all_slices(s), &at, 1, "");
}

/* Where a slice's registers are in its slot, or a part's in the only one. */
typedef struct Slice {
    Lv begin;
    int reg[MAX_BITS]; /* the slot's bit for each bit of a register's number */
    int log2_vec;      /* of registers that lie side by side */
} Slice;

/* Of type t, by operands 0 and 1. */
static Slice
slice_of(Sim *s, const Op *o, const Type *t)
{
    Ll *l = s->l;
    const Val *local = arg(o, 0);
    const Layout *all = local->type->layout;
    Col bits = (Col)ir_attr(o, ATTR_PART), col[MAX_BITS] = {0};
    Slice y = {0};
    int n = 0, n_col = bits ? __builtin_popcount(bits) : log2_of(local->type->slots);
    int bytes = ty_bytes(t);
    for (int i = 0; i < n_col && !bits; i++)
        col[i] = (Col)bytes << (all->n[IN_REG] + i);
    for (int i = 0; i < all->n[IN_REG]; i++)
        if (all->basis[IN_REG][i] & bits)
            col[__builtin_popcount(bits & (all->basis[IN_REG][i] - 1))] = (Col)bytes
                                                                          << i;
        else
            y.reg[n++] = i;
    while (y.log2_vec < n && y.reg[y.log2_vec] == y.log2_vec &&
           bytes << y.log2_vec < SLICE_ALIGN)
        y.log2_vec++;
    Lv i = sim_xor_columns(s, sim_val(s, arg(o, 1))[0], col, n_col);
    Lv at = LLVMBuildAdd(l->b, i, ll_i32(l, (int32_t)ir_attr(local->def, ATTR_AT)), "");
    Lv index = LLVMBuildZExt(l->b, at, l->i64, "");
    y.begin = LLVMBuildInBoundsGEP2(l->b, l->i8, all_slices(s), &index, 1, "");
    return y;
}

static Lv
register_at(Sim *s, const Slice *k, int r, int bytes)
{
    int64_t at = 0;
    for (int i = 0; r >> i; i++)
        at |= (int64_t)(r >> i & 1) << k->reg[i];
    Lv index = ll_i64(s->l, at * bytes);
    return LLVMBuildInBoundsGEP2(s->l->b, s->l->i8, k->begin, &index, 1, "");
}

void
sim_slice_load(Sim *s, const Op *o)
{
    const Val *v = result(o, 0);
    if (streamed_from(v)) /* pieces.c */
        return;
    Slice k = slice_of(s, o, v->type);
    int n = 1 << k.log2_vec, bytes = ty_bytes(v->type);
    Lv *r = sim_define(s, v);
    for (int i = 0; i < sim_n_regs(v); i += n) {
        Lv x = LLVMBuildLoad2(s->l->b, sim_packed_type(s, v->type, n),
                              register_at(s, &k, i, bytes), "");
        LLVMSetAlignment(x, (unsigned)(n * bytes));
        sim_unpack(s, v->type, x, n, r + i);
    }
}

void
sim_slice_store(Sim *s, const Op *o)
{
    const Val *v = arg(o, 2);
    if (streamed_to(v)) /* pieces.c */
        return;
    Slice k = slice_of(s, o, v->type);
    int n = 1 << k.log2_vec, bytes = ty_bytes(v->type);
    Lv *r = sim_val(s, v);
    for (int i = 0; i < sim_n_regs(v); i += n) {
        Lv x = LLVMBuildStore(s->l->b, sim_pack(s, v->type, r + i, n),
                              register_at(s, &k, i, bytes));
        LLVMSetAlignment(x, (unsigned)(n * bytes));
    }
}
