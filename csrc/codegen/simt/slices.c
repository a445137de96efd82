/* slices: blocks that the pass chunk keeps in the thread's own memory, slice by slice.
 *
 * The text says where each begins (local_alloc {at=64}), and a thread's registers of a slice lie side
 * by side there, so that 16 bytes of them are one access.
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

/* Bytes of a slice of t in one thread. */
static int
slice_bytes(const Type *t)
{
    return ty_bytes(t) << t->layout->n[IN_REG];
}

/* Of the slice that operand 1 numbers. */
static Lv
slice_of(Sim *s, const Op *o)
{
    Ll *l = s->l;
    const Val *local = arg(o, 0);
    Lv i = LLVMBuildMul(l->b, sim_val(s, arg(o, 1))[0],
                        ll_i32(l, slice_bytes(local->type)), "");
    Lv at = LLVMBuildAdd(l->b, i, ll_i32(l, (int32_t)ir_attr(local->def, ATTR_AT)), "");
    Lv index = LLVMBuildZExt(l->b, at, l->i64, "");
    return LLVMBuildInBoundsGEP2(l->b, l->i8, all_slices(s), &index, 1, "");
}

static Lv
behind(Sim *s, Lv slice, int bytes)
{
    Lv index = ll_i64(s->l, bytes);
    return LLVMBuildInBoundsGEP2(s->l->b, s->l->i8, slice, &index, 1, "");
}

static int
per_access(const Type *t)
{
    return MIN(SLICE_ALIGN / ty_bytes(t), 1 << t->layout->n[IN_REG]);
}

void
sim_slice_load(Sim *s, const Op *o)
{
    const Val *v = result(o, 0);
    int n = per_access(v->type), bytes = ty_bytes(v->type);
    Lv slice = slice_of(s, o), *r = sim_define(s, v);
    for (int i = 0; i < sim_n_regs(v); i += n) {
        Lv x = LLVMBuildLoad2(s->l->b, sim_packed_type(s, v->type, n),
                              behind(s, slice, i * bytes), "");
        LLVMSetAlignment(x, (unsigned)(n * bytes));
        sim_unpack(s, v->type, x, n, r + i);
    }
}

void
sim_slice_store(Sim *s, const Op *o)
{
    const Val *v = arg(o, 2);
    int n = per_access(v->type), bytes = ty_bytes(v->type);
    Lv slice = slice_of(s, o), *r = sim_val(s, v);
    for (int i = 0; i < sim_n_regs(v); i += n) {
        Lv x = LLVMBuildStore(s->l->b, sim_pack(s, v->type, r + i, n),
                              behind(s, slice, i * bytes));
        LLVMSetAlignment(x, (unsigned)(n * bytes));
    }
}
