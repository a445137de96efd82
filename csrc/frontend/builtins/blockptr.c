/* blockptr: block pointers, a window of constant shape into a tensor in memory.
 *
 * A value of the frontend alone: base, shape, strides and offsets are scalars that flow
 * through ifs and loops like any others. A load or store spells the addresses out
 * (ir_window): those of the dims in boundary_check are compared with the shape.
 */
#include <math.h>

#include "frontend/fe.h"

/* Entry i of a tuple of integers, as a scalar of type e; I32: or of I64 when it is wide. */
Val *
fe_index_scalar(Fe *f, Value v, int i, Elem e, const char *what)
{
    Val *x = fe_tensor(f, v.tuple->at[i], what);
    if (x->type->rank || x->type->is_ptr || !elem_is_int(x->type->elem))
        fail(f, TYPE, "%s must hold integer scalars, not %s", what,
             ty_str(f->a, x->type));
    int bits = elem_info[x->type->elem].bits;
    bool is_wide = bits == 64 || (bits == 32 && !elem_is_signed(x->type->elem));
    return fe_cast(f, x, e == E_I32 && is_wide ? E_I64 : e, ROUND_RTNE);
}

static Value
need_tuple(Fe *f, Value v, int n, const char *what)
{
    if (v.kind != V_TUPLE)
        fail_of(f, v, TYPE, "%s must be a tuple, not %s", what, v_describe(f, v));
    if (n >= 0 && v.tuple->n != n)
        fail_of(f, v, VALUE, "%s needs %d %s, one for each dimension, not %d", what, n,
                n == 1 ? "entry" : "entries", v.tuple->n);
    return v;
}

BlockPtr *
fe_new_window(Fe *f, Value base, Value shape, Value strides, Value block)
{
    BlockPtr *p = NEW(f->a, BlockPtr);
    p->rank = v_shape(f, need_tuple(f, block, -1, "block_shape"), p->block,
                      "block_shape");
    need_tuple(f, shape, p->rank, "shape");
    need_tuple(f, strides, p->rank, "strides");
    p->base = fe_tensor(f, base, "base");
    if (!p->base->type->is_ptr || p->base->type->rank)
        fail_of(f, base, VALUE, "base must be a scalar pointer, not %s",
                ty_str(f->a, p->base->type));
    if (!p->rank)
        fail(f, VALUE, "a window needs at least one dimension");
    for (int i = 0; i < p->rank; i++) {
        p->shape[i] = fe_index_scalar(f, shape, i, E_I64, "shape");
        p->strides[i] = fe_index_scalar(f, strides, i, E_I64, "strides");
    }
    return p;
}

Value
bi_make_block_ptr(Fe *f, Value *a)
{
    BlockPtr *p = fe_new_window(f, a[0], a[1], a[2], a[4]);
    Value offsets = need_tuple(f, a[3], p->rank, "offsets");
    need_tuple(f, a[5], p->rank, "order");
    int64_t order[MAX_RANK];
    unsigned seen = 0;
    v_int_list(f, a[5], order, MAX_RANK, "order");
    for (int i = 0; i < p->rank; i++) {
        if (order[i] < 0 || order[i] >= p->rank || seen & 1u << order[i])
            fail_of(f, a[5], VALUE, "order must be a permutation of 0..%d, not %s",
                    p->rank - 1, v_short(f, a[5]));
        seen |= 1u << order[i];
        p->offsets[i] = fe_index_scalar(f, offsets, i, E_I32, "offsets");
    }
    return (Value){.kind = V_BLOCK_PTR, .bp = p};
}

Value
bi_advance(Fe *f, Value *a)
{
    if (a[0].kind != V_BLOCK_PTR || a[0].bp->is_desc) {
        err_help(f->c, "p + offset moves a plain pointer");
        fail_of(f, a[0], TYPE, "advance moves a block pointer, not %s",
                v_describe(f, a[0]));
    }
    BlockPtr *p = NEW(f->a, BlockPtr);
    *p = *a[0].bp;
    Value by = need_tuple(f, a[1], p->rank, "offsets");
    for (int i = 0; i < p->rank; i++) {
        int64_t k;
        /* The type stays: a block pointer is carried through loops. */
        Val *d = fe_index_scalar(f, by, i, E_I64, "offsets");
        d = fe_cast(f, d, p->offsets[i]->type->elem, ROUND_RTNE);
        if (!ir_const_as_int(d, &k) || k)
            p->offsets[i] = ir_bin(&f->b, OP_ADD, p->offsets[i], d);
    }
    return (Value){.kind = V_BLOCK_PTR, .bp = p};
}

Val *
fe_window(Fe *f, const BlockPtr *p, const bool *is_checked, Val **mask)
{
    Window w = {.base = p->base, .rank = p->rank};
    memcpy(w.shape, p->shape, sizeof w.shape);
    memcpy(w.strides, p->strides, sizeof w.strides);
    memcpy(w.offsets, p->offsets, sizeof w.offsets);
    memcpy(w.block, p->block, sizeof w.block);
    return ir_window(&f->b, &w, is_checked, mask);
}

/* The dims named by boundary_check. */
static void
checked_dims(Fe *f, const BlockPtr *p, Value check, bool *is_checked)
{
    int64_t dims[MAX_RANK];
    if (!fe_is_given(check))
        return;
    int n = v_int_list(f, check, dims, MAX_RANK, "boundary_check");
    for (int i = 0; i < n; i++) {
        bool is_dim = dims[i] >= 0 && dims[i] < p->rank;
        if (!is_dim || is_checked[dims[i]])
            fe_blame(f, check);
        if (!is_dim)
            fail(f, VALUE,
                 "boundary_check names dimension %lld of the dimensions 0 to %d",
                 (long long)dims[i], p->rank - 1);
        if (is_checked[dims[i]])
            fail(f, VALUE, "boundary_check names dimension %lld twice",
                 (long long)dims[i]);
        is_checked[dims[i]] = true;
    }
}

Value
fe_block_ptr_load(Fe *f, Value *a)
{
    const BlockPtr *p = a[0].bp;
    if (p->is_desc)
        fail(f, TYPE, "write desc.%s(offsets, ..) with a tensor descriptor", f->callee);
    if (fe_is_given(a[1]) || fe_is_given(a[2]))
        fail_of(f, a[fe_is_given(a[1]) ? 1 : 2], VALUE,
                "mask and other are for plain pointers; a block pointer takes "
                "boundary_check and padding_option");
    const char *pad = fe_is_given(a[4]) ? v_const_str(f, a[4], "padding_option") : "";
    if (*pad && strcmp(pad, "zero") && strcmp(pad, "nan"))
        fail_of(f, a[4], VALUE,
                "padding_option must be \"\", \"zero\" or \"nan\", not \"%s\"", pad);
    Elem e = p->base->type->elem;
    bool nan_pad = !strcmp(pad, "nan");
    if (nan_pad && elem_is_int(e))
        fail_of(f, a[4], VALUE, "padding_option \"nan\" is for floats, not for %s",
                elem_info[e].text);
    bool checked[MAX_RANK] = {0};
    checked_dims(f, p, a[3], checked);
    Val *mask, *ptrs = fe_window(f, p, checked, &mask);
    Value args[8] = {v_val(ptrs)};
    if (mask) {
        args[1] = v_val(mask);
        if (nan_pad)
            args[2] = v_val(ir_const_float(&f->b, ty_scalar(f->c, e), NAN));
    }
    args[5] = a[5];
    args[6] = a[6];
    args[7] = a[7];
    return bi_load(f, args);
}

Value
fe_block_ptr_store(Fe *f, Value *a)
{
    const BlockPtr *p = a[0].bp;
    if (p->is_desc)
        fail(f, TYPE, "write desc.%s(offsets, ..) with a tensor descriptor", f->callee);
    if (fe_is_given(a[2]))
        fail_of(f, a[2], VALUE,
                "mask is for plain pointers; a block pointer takes boundary_check");
    bool checked[MAX_RANK] = {0};
    checked_dims(f, p, a[3], checked);
    Val *mask, *ptrs = fe_window(f, p, checked, &mask);
    Value args[6] = {v_val(ptrs), a[1], mask ? v_val(mask) : (Value){0}};
    args[4] = a[4];
    args[5] = a[5];
    return bi_store(f, args);
}
