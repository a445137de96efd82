/* descriptor: tensor descriptors, a tensor in memory that is read block by block.
 *
 * Like a block pointer (blockptr.c) without offsets: each access says where its block
 * begins. All dims are checked; what is outside reads as 0, or NaN, and is not written.
 * Loads and stores are ops of their own, tile_load and tile_store; the other accesses are
 * masked pointers.
 */
#include <math.h>

#include "frontend/fe.h"

/* A promise about x, a scalar: a multiple of n, a power of two. In debug mode it is checked. */
static Val *
promised(Fe *f, Val *x, int n, const char *what)
{
    if (n <= 1 || ir_is_const(x, NULL))
        return x;
    if (f->c->opt.debug) {
        Val *i = fe_cast(f, x, E_I64, ROUND_RTNE);
        Val *rest = ir_bin(&f->b, OP_AND, i, ir_const_int(&f->b, i->type, n - 1));
        Val *ok = ir_bin(&f->b, OP_EQ, rest, ir_const_int(&f->b, i->type, 0));
        Op *o = ir_op(&f->b, OP_ASSERT, 1, &ok, 0, NULL);
        o->text = str_printf(f->a, "%s is no multiple of 16 bytes", what);
    }
    const Type *t = x->type;
    Op *o = ir_op(&f->b, OP_HINT, 1, &x, 1, &t);
    ir_set_attr(o, ATTR_DIVISIBLE, __builtin_ctz((unsigned)n));
    return result(o, 0);
}

static bool
is_launch_argument(const Val *x)
{
    if (x->def && x->def->op == OP_CAST)
        x = arg(x->def, 0);
    return !x->def && !x->block->owner;
}

/* Triton's descriptors are NVIDIA's, whose address and strides (but for the last, 1) are
 * multiples of 16 bytes. A launch's own arguments are not promised: what they are is part of
 * the variant, so wide accesses are made where they are possible, and others elsewhere. */
static void
promise_alignment(Fe *f, BlockPtr *p)
{
    int bytes = elem_info[p->base->type->elem].bytes;
    if (!is_launch_argument(p->base))
        p->base = promised(f, p->base, 16, "a descriptor's address");
    for (int i = 0; i < p->rank - 1; i++)
        if (!is_launch_argument(p->strides[i]))
            p->strides[i] = promised(f, p->strides[i], 16 / bytes,
                                     "a descriptor's stride");
}

Value
bi_make_tensor_descriptor(Fe *f, Value *a)
{
    BlockPtr *p = fe_new_window(f, a[0], a[1], a[2], a[3]);
    int64_t last;
    p->is_desc = true;
    if (p->rank > 5)
        fail(f, VALUE, "a tensor descriptor has 1 to 5 dimensions, not %d", p->rank);
    if (!ir_const_as_int(p->strides[p->rank - 1], &last) || last != 1) {
        err_help(f->c, "write the constant 1 as the last stride");
        fail_of(f, a[2], VALUE,
                "the last stride of a tensor descriptor must be the constant 1");
    }
    Elem e = p->base->type->elem;
    if (p->block[p->rank - 1] * elem_info[e].bytes < 16) {
        err_help(f->c, "of %s these are %d elements", elem_info[e].tl,
                 16 / elem_info[e].bytes);
        fail_of(f, a[3], VALUE,
                "the last extent of a descriptor's block spans at least 16 bytes");
    }
    const char *pad = fe_is_given(a[4]) ? v_const_str(f, a[4], "padding_option")
                                        : "zero";
    p->nan_pad = !strcmp(pad, "nan");
    if (!p->nan_pad && strcmp(pad, "zero"))
        fail_of(f, a[4], VALUE,
                "padding_option must be \"zero\" or \"nan\", not \"%s\"", pad);
    if (p->nan_pad && elem_is_int(e))
        fail_of(f, a[4], VALUE, "padding_option \"nan\" is for floats, not for %s",
                elem_info[e].text);
    promise_alignment(f, p);
    return (Value){.kind = V_BLOCK_PTR, .bp = p};
}

/* The descriptor a[0] as a window that begins at the offsets a[1]. */
static BlockPtr *
window_at(Fe *f, const Value *a)
{
    if (a[0].kind != V_BLOCK_PTR || !a[0].bp->is_desc)
        fail(f, TYPE, "%s needs a tensor descriptor, not %s", f->callee,
             v_describe(f, a[0]));
    BlockPtr *p = NEW(f->a, BlockPtr);
    *p = *a[0].bp;
    if (a[1].kind != V_TUPLE || a[1].tuple->n != p->rank) {
        fe_blame(f, a[1]);
        if (a[1].kind != V_TUPLE)
            err_help(f->c, "offsets are a list, one for each dimension: [i, j]");
        fail(f, VALUE, "%s needs one offset for each of %d dimension%s, not %s",
             f->callee, p->rank, p->rank == 1 ? "" : "s",
             a[1].kind == V_TUPLE ? v_short(f, a[1]) : v_describe(f, a[1]));
    }
    for (int i = 0; i < p->rank; i++)
        p->offsets[i] = fe_index_scalar(f, a[1], i, E_I32, "offsets");
    return p;
}

static Val *
pointers(Fe *f, const BlockPtr *p, Val **mask)
{
    bool all[MAX_RANK];
    memset(all, true, sizeof all);
    return fe_window(f, p, all, mask);
}

/* float32 as tf32, which lacks the 13 lowest bits: to nearest, ties to even, as the GPU's copies
 * of tensors round. Infinities and NaN stay. */
static Val *
rounded_to_tf32(Fe *f, Val *x)
{
    enum { LOST = 13, EXPONENT = 0x7f800000 };
    Build *b = &f->b;
    const Type *t = ty_with_elem(f->c, x->type, E_U32);
    Val *bits = ir_bitcast(b, x, t);
    Val *exponent = ir_const_int(b, t, EXPONENT);
    Val *odd = ir_bin(b, OP_AND, ir_bin(b, OP_SHR, bits, ir_const_int(b, t, LOST)),
                      ir_const_int(b, t, 1));
    Val *half = ir_bin(b, OP_ADD, odd, ir_const_int(b, t, (1 << (LOST - 1)) - 1));
    Val *near = ir_bin(b, OP_AND, ir_bin(b, OP_ADD, bits, half),
                       ir_const_int(b, t, UINT32_MAX << LOST));
    Val *is_finite = ir_bin(b, OP_NE, ir_bin(b, OP_AND, bits, exponent), exponent);
    return ir_bitcast(b, ir_select(b, is_finite, near, bits), x->type);
}

/* base, shape.., strides.. without the last, offsets..; how many. */
static int
tile_operands(const BlockPtr *p, Val *base, Val **args)
{
    int n = 0;
    args[n++] = base;
    for (int d = 0; d < p->rank; d++)
        args[n++] = p->shape[d];
    for (int d = 0; d < p->rank - 1; d++)
        args[n++] = p->strides[d];
    for (int d = 0; d < p->rank; d++)
        args[n++] = p->offsets[d];
    return n;
}

Value
bi_desc_load(Fe *f, Value *a)
{
    BlockPtr *p = window_at(f, a);
    Elem e = p->base->type->elem;
    Val *args[3 * MAX_RANK], *base = fe_byte_pointer(f, v_val(p->base), false);
    int n = tile_operands(p, base, args);
    const Type *t = ty_block(f->c, ty_scalar(f->c, base->type->elem), p->rank,
                             p->block);
    Op *o = ir_op(&f->b, OP_TILE_LOAD, n, args, 1, &t);
    ir_set_attr(o, ATTR_PADDING, p->nan_pad ? PAD_NAN : PAD_ZERO);
    Val *v = fe_cast(f, result(o, 0), e, ROUND_RTNE);
    return v_val(p->rounds_tf32 ? rounded_to_tf32(f, v) : v);
}

/* The value of a store, of exactly the block's shape. */
static Value
stored(Fe *f, const BlockPtr *p, Value v)
{
    Val *x = fe_tensor(f, v, "the value");
    if (x->type->rank != p->rank ||
        memcmp(x->type->shape, p->block, (size_t)p->rank * sizeof *p->block)) {
        const Type *t = ty_block(f->c, ty_scalar(f->c, E_I8), p->rank, p->block);
        fe_blame(f, v);
        if (ty_numel(x->type) == ty_numel(t))
            err_help(f->c, "tl.reshape(value, desc.block_shape) gives it that shape");
        err_say(f->c, f->b.loc, SHAPE,
                "the value has the shape %s, and the descriptor's block %s",
                ty_shape_str(f->a, x->type), ty_shape_str(f->a, t));
    }
    return v_val(x);
}

Value
bi_desc_store(Fe *f, Value *a)
{
    BlockPtr *p = window_at(f, a);
    Value v = stored(f, p, a[2]);
    Val *args[3 * MAX_RANK + 1], *base = fe_byte_pointer(f, v_val(p->base), true);
    int n = tile_operands(p, base, args);
    args[n++] = fe_stored_value(f, v, p->base->type->elem);
    ir_op(&f->b, OP_TILE_STORE, n, args, 0, NULL);
    return v_obj(Py_None);
}

static Value
desc_atomic(Fe *f, Value *a)
{
    int rmw = f->which;
    BlockPtr *p = window_at(f, a);
    Value v = stored(f, p, a[2]);
    if (v.val->type->elem != p->base->type->elem)
        fail(f, TYPE, "%s needs values of %s, not %s", f->callee,
             elem_info[p->base->type->elem].text, ty_str(f->a, v.val->type));
    Val *mask, *ptrs = pointers(f, p, &mask);
    Value args[5] = {v_val(ptrs), v, v_val(mask)};
    fe_atomic(f, rmw, args, true);
    return v_obj(Py_None);
}

/* Rows picked by a block of indices: pointers and mask of [rows, C]. */
static Val *
picked_rows(Fe *f, const BlockPtr *p, Value rows_v, Value column, Val **mask)
{
    Val *rows = fe_tensor(f, rows_v, "x_offsets");
    if (p->rank != 2 || p->block[0] != 1 || rows->type->rank != 1 ||
        !elem_is_int(rows->type->elem))
        fail(f, VALUE,
             "%s needs a descriptor with the block [1, C] and a block of rows",
             f->callee);
    Value one[1] = {column};
    Val *from = fe_index_scalar(f, v_tuple(f, 1, one), 0, E_I64, "y_offset");
    int32_t shape[2] = {rows->type->shape[0], p->block[1]};
    Val *i = ir_expand(&f->b, fe_cast(f, rows, E_I64, ROUND_RTNE), 1);
    Val *j = fe_cast(f, ir_arange(&f->b, 0, shape[1]), E_I64, ROUND_RTNE);
    j = ir_bin(&f->b, OP_ADD, fe_splat_to(f, from, 1, &shape[1]), j);
    j = ir_expand(&f->b, j, 0);
    Val *at[2] = {i, j}, *sum = NULL;
    *mask = NULL;
    for (int d = 0; d < 2; d++) {
        const Type *t = at[d]->type;
        Val *low = ir_bin(&f->b, OP_GE, at[d], ir_const_int(&f->b, t, 0));
        Val *high = ir_bin(&f->b, OP_LT, at[d],
                           fe_splat_to(f, p->shape[d], 2, t->shape));
        Val *in = fe_splat_to(f, ir_bin(&f->b, OP_AND, low, high), 2, shape);
        *mask = *mask ? ir_bin(&f->b, OP_AND, *mask, in) : in;
        Val *step = fe_splat_to(f, p->strides[d], 2, t->shape);
        Val *k = fe_splat_to(f, ir_bin(&f->b, OP_MUL, at[d], step), 2, shape);
        sum = sum ? ir_bin(&f->b, OP_ADD, sum, k) : k;
    }
    return ir_addptr(&f->b, fe_splat_to(f, p->base, 2, shape), sum);
}

static Value
desc_gather(Fe *f, Value *a)
{
    const BlockPtr *p = a[0].bp;
    Val *mask, *ptrs = picked_rows(f, p, a[1], a[2], &mask);
    Value args[8] = {v_val(ptrs), v_val(mask)};
    if (p->nan_pad)
        args[2] =
            v_val(ir_const_float(&f->b, ty_scalar(f->c, p->base->type->elem), NAN));
    Value v = bi_load(f, args);
    return p->rounds_tf32 ? v_val(rounded_to_tf32(f, fe_tensor(f, v, "the block"))) : v;
}

static Value
desc_scatter(Fe *f, Value *a)
{
    Val *mask, *ptrs = picked_rows(f, a[0].bp, a[2], a[3], &mask);
    Value args[6] = {v_val(ptrs), a[1], v_val(mask)};
    return bi_store(f, args);
}

#define ATOMIC(name, rmw, doc)                                                         \
    {"atomic_" #name, "desc, offsets, value", desc_atomic,                             \
     BI_MEMBER | BI_OF(RMW_##rmw), doc}
static const Builtin methods[] = {
    {"load", "desc, offsets", bi_desc_load, BI_MEMBER, "read the block at offsets"},
    {"store", "desc, offsets, value", bi_desc_store, BI_MEMBER, "write it"},
    {"gather", "desc, x_offsets, y_offset", desc_gather, BI_MEMBER, "read rows"},
    {"scatter", "desc, value, x_offsets, y_offset", desc_scatter, BI_MEMBER,
     "write rows"},
    ATOMIC(add, ADD, "add to it"),
    ATOMIC(max, MAX, "maximum"),
    ATOMIC(min, MIN, "minimum"),
    ATOMIC(and, AND, "bitwise and"),
    ATOMIC(or, OR, "bitwise or"),
    ATOMIC(xor, XOR, "exclusive or"),
};

Value
fe_descriptor_attribute(Fe *f, Value v, const char *name)
{
    const BlockPtr *p = v.bp;
    Value dims[MAX_RANK];
    for (size_t i = 0; i < COUNT(methods); i++)
        if (!strcmp(name, methods[i].name)) {
            MethodValue *m = NEW(f->a, MethodValue);
            *m = (MethodValue){.builtin = &methods[i], .self = v};
            return (Value){.kind = V_METHOD, .method = m};
        }
    if (!strcmp(name, "dtype"))
        return v_dtype(f, p->base->type->elem);
    if (!strcmp(name, "type") || !strcmp(name, "block_type")) {
        PyObject *e = v_dtype(f, p->base->type->elem).obj;
        PyObject *t = fe_block_object(f, e, p->rank, p->block);
        if (!strcmp(name, "block_type"))
            return v_obj(t);
        PyObject *cls =
            fe_own(f, PyObject_GetAttrString(f->core, "tensor_descriptor_type"));
        return v_obj(fe_own(f, PyObject_CallFunctionObjArgs(cls, t, NULL)));
    }
    bool is_shape = !strcmp(name, "shape"), is_block = !strcmp(name, "block_shape");
    if (!is_shape && !is_block && strcmp(name, "strides"))
        return (Value){0};
    for (int i = 0; i < p->rank; i++)
        dims[i] = is_block   ? v_int(f, p->block[i])
                  : is_shape ? v_val(fe_cast(f, p->shape[i], E_I32, ROUND_RTNE))
                             : v_val(p->strides[i]);
    return v_tuple(f, p->rank, dims);
}
