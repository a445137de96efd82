/* lookup: gather and histogram. Both go through shared memory, in the row-major order of
 * the tensor, because which thread meets which element is known only at run time.
 */
#include "codegen/simt/pieces.h"

/* Every element of v at its flat index, stored once; neighbours as vectors. */
static void
store_all(Sim *s, const Val *v, int base)
{
    const Layout *l = v->type->layout;
    Lv owner = sim_owner(s, l);
    int bytes = ty_bytes(v->type), bit[MAX_BITS];
    int run = layout_run(l, v->type->rank - 1, __builtin_ctz(16u / (unsigned)bytes),
                         bit);
    SimVector vec = sim_vector(bit, run);
    Pieces p = sim_pieces(s, v, NULL, vec.mask);
    Lv *x = sim_piece(s, &p, v);
    for (int r = 0; r < sim_n_regs(v); r++) {
        if (!sim_in_piece(&p, r) || (uint32_t)r & vec.mask)
            continue;
        Lv elems[SIM_MAX_VECTOR],
            at = sim_shared_offset(s, sim_piece_index(s, &p, l, r), bytes, base);
        for (int e = 0; e < 1 << run; e++)
            elems[e] = x[r | vec.reg[e]];
        sim_shared_put(s, v->type, at, elems, 1 << run, owner);
    }
    sim_pieces_end(s, &p);
}

/* ---- gather ------------------------------------------------------------------------------ */

/* The flat index in the source of what wants, at flat index `flat`, number i. */
static Lv
source_index(Sim *s, const Op *o, Lv flat, Lv i)
{
    Ll *l = s->l;
    int axis = (int)ir_attr(o, ATTR_AXIS);
    const Type *src = arg(o, 0)->type, *dst = result(o, 0)->type;
    int below = layout_dim_shift(dst->layout, axis); /* the same on both sides */
    int from_bits = src->layout->log2_shape[axis],
        to_bits = dst->layout->log2_shape[axis];
    Elem e = arg(o, 1)->type->elem;
    i = cg_cast(l, e, elem_is_signed(e) ? E_I32 : E_U32, i, ROUND_RTNE);
    i = LLVMBuildAnd(l->b, i, ll_i32(l, (1 << from_bits) - 1), ""); /* stay inside */
    Lv at = LLVMBuildShl(l->b, i, ll_i32(l, below), "");
    Lv low = LLVMBuildAnd(l->b, flat, ll_i32(l, (1 << below) - 1), "");
    Lv high = LLVMBuildLShr(l->b, flat, ll_i32(l, below + to_bits), "");
    high = LLVMBuildShl(l->b, high, ll_i32(l, below + from_bits), "");
    return LLVMBuildOr(l->b, LLVMBuildOr(l->b, high, at, ""), low, "");
}

void
sim_gather(Sim *s, const Op *o)
{
    const Val *v = result(o, 0);
    int base = sim_scratch(s, o), bytes = ty_bytes(v->type);
    if (arg(o, 1)->type->layout != v->type->layout)
        sim_bad_layout(s, o);
    store_all(s, arg(o, 0), base);
    sim_wait(s, o, WAIT_WRITTEN);
    Pieces p = sim_pieces(s, v, arg(o, 1), 0);
    Lv *to = sim_piece_result(s, &p, v), *wants = sim_piece(s, &p, arg(o, 1));
    for (int r = 0; r < sim_n_regs(v); r++) {
        if (!sim_in_piece(&p, r))
            continue;
        Lv from = source_index(s, o, sim_piece_index(s, &p, v->type->layout, r),
                               wants[r]);
        Lv at = sim_shared_offset(s, from, bytes, base);
        sim_shared_get(s, v->type, at, 1, &to[r]);
    }
    sim_piece_keep(s, &p, v, to);
    sim_pieces_end(s, &p);
}

/* ---- histogram ----------------------------------------------------------------------------- */

void
sim_histogram(Sim *s, const Op *o)
{
    Ll *l = s->l;
    const Val *from = arg(o, 0), *v = result(o, 0);
    const Layout *to = v->type->layout;
    Elem e = from->type->elem;
    int base = sim_scratch(s, o);
    int64_t bins = ir_attr(o, ATTR_BINS);
    Lv zero = ll_i32(l, 0);
    for (int r = 0; r < sim_n_regs(v); r++)
        s->m->shared_store(l, sim_shared_offset(s, sim_index(s, to, r), 4, base), zero,
                           4, sim_owner(s, to));
    sim_wait(s, o, WAIT_WRITTEN);
    Lv *x = sim_val(s, from), *mask = o->n_args > 1 ? sim_val(s, arg(o, 1)) : NULL;
    for (int r = 0; r < sim_n_regs(from); r++) {
        /* As 64 bits without a sign, so that what is negative is no bin either. */
        Lv bin = cg_cast(l, e, elem_is_signed(e) ? E_I64 : E_U64, x[r], ROUND_RTNE);
        Lv pred = LLVMBuildICmp(l->b, LLVMIntULT, bin, ll_i64(l, bins), "");
        pred = sim_and(s, pred, sim_owner(s, from->type->layout));
        pred = sim_and(s, pred, mask ? mask[r] : NULL);
        bin = LLVMBuildTrunc(l->b, bin, l->i32, "");
        s->m->shared_atomic_add(l, sim_shared_offset(s, bin, 4, base), ll_i32(l, 1),
                                pred);
    }
    sim_wait(s, o, WAIT_COMBINED);
    Lv *count = sim_define(s, v);
    for (int r = 0; r < sim_n_regs(v); r++)
        count[r] = s->m->shared_load(
            l, sim_shared_offset(s, sim_index(s, to, r), 4, base), l->i32, 4);
}
