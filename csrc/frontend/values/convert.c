/* convert: what a constant becomes when it must be a tensor, casts, and shapes that are made
 * to agree.
 */
#include <math.h>

#include "frontend/fe.h"

/* ---- constants ------------------------------------------------------------------------- */

Elem
fe_literal_elem(Fe *f, PyObject *o)
{
    if (PyBool_Check(o))
        return E_I1;
    if (PyLong_Check(o)) {
        int overflow;
        long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (!overflow) {
            if (i >= INT32_MIN && i <= INT32_MAX)
                return E_I32;
            return i > 0 && i <= UINT32_MAX ? E_U32 : E_I64;
        }
        PyLong_AsUnsignedLongLong(o);
        if (overflow < 0 || PyErr_Occurred()) {
            PyErr_Clear();
            err_help(f->c, "integers reach from -2**63 to 2**64 - 1; a float reaches "
                           "further: float(..)");
            fail_of(f, v_obj(o), VALUE, "the integer %s does not fit 64 bits",
                    v_short(f, v_obj(o)));
        }
        return E_U64;
    }
    double d = PyFloat_AsDouble(o), m = fabs(d);
    if (d == 0 || !isfinite(d) || (m >= 0x1p-126 && m <= 0x1.fffffep127))
        return E_F32;
    return E_F64;
}

Val *
fe_number(Fe *f, PyObject *o, const Type *t)
{
    if (elem_is_float(t->elem)) {
        double d = PyFloat_AsDouble(o);
        if (d == -1 && PyErr_Occurred())
            fe_raise(f, f->b.loc);
        return ir_const_float(&f->b, t, d);
    }
    if (PyFloat_Check(o))
        unreachable(f->c);
    if (t->elem == E_I1)
        return ir_const_int(&f->b, t, PyObject_IsTrue(o));
    int overflow, bits = elem_info[t->elem].bits;
    bool is_signed = elem_is_signed(t->elem), fits;
    long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) {
        unsigned long long u = PyLong_AsUnsignedLongLong(o);
        fits = !PyErr_Occurred() && !is_signed && bits == 64;
        PyErr_Clear();
        i = (long long)u;
    } else if (is_signed)
        fits = bits == 64 || (i >= -(1LL << (bits - 1)) && i < 1LL << (bits - 1));
    else
        fits = i >= 0 && (bits == 64 || i < 1LL << bits);
    if (!fits) {
        err_help(f->c, "convert the other side first: x.to(tl.%s)",
                 elem_info[fe_literal_elem(f, o)].tl);
        fail_of(f, v_obj(o), VALUE, "the number %s is outside the range of %s",
                v_short(f, v_obj(o)), elem_info[t->elem].text);
    }
    return ir_const_int(&f->b, t, i);
}

/* Is it a text that float() makes a number of, which no literal says: "inf"? */
static bool
is_inf_or_nan(Value v)
{
    if (v.kind != V_OBJ || !PyUnicode_Check(v.obj))
        return false;
    const char *s = PyUnicode_AsUTF8AndSize(v.obj, NULL);
    PyErr_Clear();
    if (s && *s == '-')
        s++;
    return s && (!strcmp(s, "inf") || !strcmp(s, "nan"));
}

Val *
fe_tensor(Fe *f, Value v, const char *what)
{
    v = fe_read(f, v);
    if (v.kind == V_TENSOR)
        return v.val;
    if (!is_number(v)) {
        if (is_py_none(v) && !f->c->pending_help)
            err_help(f->c, "None is what tl.store and functions without a return give");
        const char *who = fe_who(f, v), *text = fe_written(f, v);
        if (v.kind == V_TUPLE && !v.tuple->is_aggregate && !f->c->pending_help)
            err_help(f->c, "a, b = t unpacks a tuple, t[0] is its first element");
        if (text && !f->c->pending_help &&
            (v.kind == V_METHOD || v.kind == V_CLOSURE ||
             (v.kind == V_OBJ && PyCallable_Check(v.obj) && !PyType_Check(v.obj))))
            err_help(f->c, "call it: %s(..)", text);
        if (is_inf_or_nan(v))
            err_help(f->c, "float(\"inf\") and float(\"nan\") are numbers");
        fail_of(f, v, TYPE, "%s must be a number or a tensor, not %s", what, who);
    }
    return fe_number(f, v.obj, ty_scalar(f->c, fe_literal_elem(f, v.obj)));
}

Value
fe_decay(Fe *f, Value v)
{
    if (is_number(v))
        v = v_val(fe_tensor(f, v, "the value"));
    if (v.kind != V_TUPLE || v.tuple->is_aggregate)
        return v; /* an aggregate's fields are what its annotations say */
    Value t = v_tuple_like(f, v.tuple);
    for (int i = 0; i < t.tuple->n; i++)
        t.tuple->at[i] = fe_decay(f, t.tuple->at[i]);
    return t;
}

Val *
fe_const_int(Fe *f, const Type *t, int64_t v)
{
    return ir_const_int(&f->b, t, v);
}

/* ---- casts ------------------------------------------------------------------------------- */

/* One CAST, folded when v is a constant. */
static Val *
cast_once(Fe *f, Val *v, Elem e, int rounding)
{
    uint64_t bits;
    if (v->type->elem == e)
        return v;
    if (ir_is_const(v, &bits))
        return ir_const_bits(&f->b, ty_with_elem(f->c, v->type, e),
                             elem_cast(v->type->elem, e, bits, rounding));
    Val *r = ir_cast(&f->b, v, e);
    if (rounding != ROUND_RTNE)
        ir_set_attr(r->def, ATTR_ROUNDING, rounding);
    return r;
}

Val *
fe_cast(Fe *f, Val *v, Elem e, int rounding)
{
    Elem from = v->type->elem;
    if (v->type->is_ptr) {
        if (e == E_I1) {
            const Type *t = ty_with_elem(f->c, v->type, E_I64);
            return ir_bin(&f->b, OP_NE, ir_bitcast(&f->b, v, t), fe_const_int(f, t, 0));
        }
        if (e != E_I64 && e != E_U64) {
            err_help(
                f->c,
                "x.to(tl.pointer_type(tl.%s)) points to another type; tl.load(x) is "
                "the value",
                elem_info[e].tl);
            fail(f, TYPE, "a pointer converts to int64 or uint64, not to %s",
                 elem_info[e].tl);
        }
        return ir_bitcast(&f->b, v, ty_with_elem(f->c, v->type, e));
    }
    uint64_t bits;
    if (from == e)
        return v;
    if (elem_is_f8(e) && elem_is_int(from) && ir_is_const(v, &bits)) {
        v = cast_once(f, v, E_F32, ROUND_RTNE); /* `other=0`, which is a number */
        from = E_F32;
    }
    if ((elem_is_f8(from) && elem_is_int(e)) || (elem_is_f8(e) && elem_is_int(from))) {
        err_help(f->c, "convert through tl.float32");
        fail(f, TYPE, "there is no conversion from %s to %s", elem_info[from].text,
             elem_info[e].text);
    }
    if (e == E_I1) {
        if (ir_is_const(v, &bits))
            return cast_once(f, v, e, ROUND_RTNE);
        return ir_bin(&f->b, OP_NE, v, ir_const_int(&f->b, v->type, 0));
    }
    if ((from == E_F16 || from == E_BF16) && e != E_F32)
        v = cast_once(f, v, E_F32, ROUND_RTNE);
    return cast_once(f, v, e, rounding);
}

Value
fe_cast_value(Fe *f, Value in, Value dtype, Value rounding, bool bitcast)
{
    Val *v = fe_tensor(f, in, "the value to convert");
    PyObject *o = v_to_py(f, dtype, "the dtype");
    if (fe_is_instance(f, o, f->cls_block))
        o = fe_own(f, PyObject_GetAttrString(o, "element_ty"));
    int round = ROUND_RTNE;
    bool is_pointer = fe_is_instance(f, o, f->cls_pointer);
    if (!is_pointer && !v->type->is_ptr &&
        v->type->elem == v_elem(f, v_obj(o), "the dtype"))
        return v_val(v); /* whatever else is asked */
    bool has_round = fe_is_given(rounding);
    if (has_round) {
        const char *s = v_const_str(f, rounding, "fp_downcast_rounding");
        if (strcmp(s, "rtne") && strcmp(s, "rtz"))
            fail(f, VALUE,
                 "fp_downcast_rounding must be \"rtne\" or \"rtz\", not \"%s\"", s);
        round = !strcmp(s, "rtz") ? ROUND_RTZ : ROUND_RTNE;
    }
    if (is_pointer) {
        Elem e = v_elem(f, v_obj(fe_own(f, PyObject_GetAttrString(o, "element_ty"))),
                        "the pointee of a pointer type");
        PyObject *is_const = fe_own(f, PyObject_GetAttrString(o, "const"));
        const Type *t = ty_ptr(f->c, e, PyObject_IsTrue(is_const) == 1);
        if (v->type->rank)
            t = ty_block(f->c, t, v->type->rank, v->type->shape);
        if (t == v->type)
            return v_val(v);
        if (!v->type->is_ptr && !elem_is_int(v->type->elem)) {
            err_help(f->c, "p.dtype.element_ty is the type of what p points to");
            fail(f, TYPE, "%s does not convert to a pointer", ty_str(f->a, v->type));
        }
        if (!v->type->is_ptr && elem_info[v->type->elem].bits != 64)
            v = fe_cast(f, v, E_I64, ROUND_RTNE);
        return v_val(ir_bitcast(&f->b, v, t));
    }
    Elem e = v_elem(f, v_obj(o), "the dtype"), from = v->type->elem;
    if (has_round && (v->type->is_ptr || !elem_is_float(from) || !elem_is_float(e) ||
                      elem_info[from].bits <= elem_info[e].bits))
        fail(
            f, VALUE,
            "fp_downcast_rounding is only for floats to narrower floats, not for %s to %s",
            ty_str(f->a, v->type), elem_info[e].text);
    if (bitcast && !v->type->is_ptr) {
        if (elem_info[from].bits != elem_info[e].bits)
            fail(f, VALUE, "bitcast from %s to %s: the widths differ",
                 elem_info[from].text, elem_info[e].text);
        return v_val(ir_bitcast(&f->b, v, ty_with_elem(f->c, v->type, e)));
    }
    return v_val(fe_cast(f, v, e, round));
}

/* ---- shapes ------------------------------------------------------------------------------- */

Val *
fe_splat_to(Fe *f, Val *v, int rank, const int32_t *shape)
{
    return ir_stretch(&f->b, v, rank, shape);
}

/* The shape both broadcast to; raises SHAPE. */
static int
common_shape(Fe *f, const Type *x, const Type *y, int32_t *shape)
{
    int rank = MAX(x->rank, y->rank);
    for (int i = 0; i < rank; i++) {
        int ix = i - (rank - x->rank), iy = i - (rank - y->rank);
        int32_t nx = ix >= 0 ? x->shape[ix] : 1, ny = iy >= 0 ? y->shape[iy] : 1;
        if (nx != ny && nx != 1 && ny != 1)
            fe_cannot_broadcast(f, x, y);
        shape[i] = MAX(nx, ny);
    }
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    if (n > MAX_NUMEL)
        fe_check_shape(f, rank, shape);
    return rank;
}

void
fe_broadcast_pair(Fe *f, Val **x, Val **y)
{
    int32_t shape[MAX_RANK];
    if (ty_same_shape((*x)->type, (*y)->type))
        return;
    int rank = common_shape(f, (*x)->type, (*y)->type, shape);
    *x = fe_splat_to(f, *x, rank, shape);
    *y = fe_splat_to(f, *y, rank, shape);
}

Val *
fe_broadcast_like(Fe *f, Val *v, const Type *like)
{
    int32_t shape[MAX_RANK];
    if (ty_same_shape(v->type, like))
        return v;
    int rank = common_shape(f, v->type, like, shape);
    if (rank != like->rank ||
        memcmp(shape, like->shape, (size_t)rank * sizeof *shape)) {
        err_help(f->c,
                 "the second keeps its shape %s; [:, None] and [None, :] add "
                 "dimensions to it",
                 ty_shape_str(f->a, like));
        fe_bad_shapes(f, "the first has to stretch to the second", v->type, like);
    }
    return fe_splat_to(f, v, rank, shape);
}

Val *
fe_reshape(Fe *f, Val *v, int rank, const int32_t *shape)
{
    const Type *to = ty_with_shape(f->c, v->type, rank, shape);
    if (to == v->type)
        return v;
    uint64_t bits;
    if (ir_is_const(v, &bits))
        return ir_const_bits(&f->b, to, bits);
    if (!v->type->rank)
        return ir_splat(&f->b, v, rank, shape);
    Op *o = ir_op(&f->b, OP_RESHAPE, 1, &v, 1, &to);
    return result(o, 0);
}

Val *
fe_trans(Fe *f, Val *v, const int *perm)
{
    int rank = v->type->rank;
    int32_t shape[MAX_RANK];
    bool identity = true;
    for (int i = 0; i < rank; i++) {
        shape[i] = v->type->shape[perm[i]];
        identity = identity && perm[i] == i;
    }
    if (identity)
        return v;
    const Type *t = ty_with_shape(f->c, v->type, rank, shape);
    Op *o = ir_op(&f->b, OP_TRANS, 1, &v, 1, &t);
    ir_set_attr(o, ATTR_PERM, perm_pack(rank, perm));
    return result(o, 0);
}
