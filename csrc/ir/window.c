/* window: the block of a tensor that begins at some coordinates, as pointers and a mask.
 *
 *     index[d]  = offsets[d] + arange(block[d])          i64, along dim d
 *     pointers  = base + index[0] * strides[0] + ..
 *     mask      = 0 <= index[d] < shape[d]               for each d that is checked
 *
 * A block may have fewer dims than its tensor: it has one index of each dim in front of them.
 */
#include "ir/ir.h"

/* An integer as another, folded when it is a constant. */
static Val *
as_elem(Build *b, Val *v, Elem e)
{
    uint64_t bits;
    if (v->type->elem == e || !ir_is_const(v, &bits))
        return ir_cast(b, v, e);
    return ir_const_bits(b, ty_with_elem(b->f->c, v->type, e),
                         elem_cast(v->type->elem, e, bits, ROUND_RTNE));
}

/* offsets[d] + arange(block[d]), of type e, as a block of the window's shape except for
 * 1s; a scalar where d is in front of the block's dims. */
static Val *
index_along(Build *b, const Window *w, int d, Elem e)
{
    Val *at = as_elem(b, w->offsets[d], e);
    if (d < w->lead)
        return at;
    Val *i = as_elem(b, ir_arange(b, 0, w->block[d]), e);
    i = ir_bin(b, OP_ADD, ir_stretch(b, at, 1, &w->block[d]), i);
    return ir_as_dim(b, i, d - w->lead, w->rank - w->lead);
}

/* v, an i64, as the i32 that it is; NULL where it may be more. */
static Val *
as_i32(Build *b, Val *v)
{
    int64_t n;
    if (ir_const_as_int(v, &n))
        return n == (int32_t)n ? ir_const_int(b, ty_scalar(b->f->c, E_I32), n) : NULL;
    const Op *o = v->def;
    bool widens = o && o->op == OP_CAST && arg(o, 0)->type->elem == E_I32;
    return widens ? arg(o, 0) : NULL;
}

/* 0 <= index < shape[d]. In 32 bits where offset and end have no more: an index that wraps
 * is negative, and lies behind every end. */
static Val *
is_inside(Build *b, const Window *w, int d)
{
    Val *end = w->offsets[d]->type->elem == E_I32 ? as_i32(b, w->shape[d]) : NULL;
    Val *i = index_along(b, w, d, end ? E_I32 : E_I64);
    const Type *t = i->type;
    end = ir_stretch(b, end ? end : w->shape[d], t->rank, t->shape);
    return ir_bin(b, OP_AND, ir_bin(b, OP_GE, i, ir_const_int(b, t, 0)),
                  ir_bin(b, OP_LT, i, end));
}

Val *
ir_window(Build *b, const Window *w, const bool *is_checked, Val **mask)
{
    Val *sum = NULL, *base = w->base;
    int rank = w->rank - w->lead;
    const int32_t *shape = w->block + w->lead;
    *mask = NULL;
    for (int d = 0; d < w->rank; d++) {
        Val *i = index_along(b, w, d, E_I64);
        const Type *t = i->type;
        if (is_checked[d]) {
            Val *in = ir_stretch(b, is_inside(b, w, d), rank, shape);
            *mask = *mask ? ir_bin(b, OP_AND, *mask, in) : in;
        }
        int64_t stride = 1;
        if (w->strides[d] && (!ir_const_as_int(w->strides[d], &stride) || stride != 1))
            i = ir_bin(b, OP_MUL, i, ir_stretch(b, w->strides[d], t->rank, t->shape));
        if (d < w->lead) {
            base = ir_addptr(b, base, i);
            continue;
        }
        i = ir_stretch(b, i, rank, shape);
        sum = sum ? ir_bin(b, OP_ADD, sum, i) : i;
    }
    return ir_addptr(b, ir_stretch(b, base, rank, shape), sum);
}

/* Of a MAP_LOAD or MAP_STORE, whose tensor the map knows. */
static Window
mapped(const Op *o)
{
    const Op *map = arg(o, 0)->def;
    Window w = {.base = arg(map, 0), .rank = map->n_args / 2};
    for (int d = 0; d < w.rank; d++) {
        w.shape[d] = arg(map, 1 + d);
        w.strides[d] = d < w.rank - 1 ? arg(map, 1 + w.rank + d) : NULL;
        w.offsets[d] = arg(o, 1 + d);
    }
    return w;
}

Val *
ir_store_stage(const Op *o)
{
    const Op *map = o->op == OP_MAP_STORE ? arg(o, 0)->def : NULL;
    bool has_one = map && map->op == OP_TENSOR_MAP && o->n_args == map->n_args / 2 + 4;
    return has_one ? arg(o, o->n_args - 3) : NULL;
}

static Window
spelled(const Op *o)
{
    Window w = {.base = arg(o, 0), .rank = o->n_args / 3};
    for (int d = 0; d < w.rank; d++) {
        w.shape[d] = arg(o, 1 + d);
        w.strides[d] = d < w.rank - 1 ? arg(o, 1 + w.rank + d) : NULL;
        w.offsets[d] = arg(o, 2 * w.rank + d);
    }
    return w;
}

Window
ir_tile(const Op *o)
{
    const Type *t = o->n_results ? result(o, 0)->type : arg(o, o->n_args - 1)->type;
    Window w = op_is_tile(o) ? spelled(o) : mapped(o);
    w.lead = w.rank - t->rank;
    for (int d = 0; d < w.rank; d++)
        w.block[d] = d < w.lead ? 1 : t->shape[d - w.lead];
    return w;
}
