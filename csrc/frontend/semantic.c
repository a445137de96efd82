/* semantic: types. Literals, promotion, casts, broadcasting, and the operators on them.
 *
 * Promotion, first match wins (kinds: bool < int < float):
 *     a number beside a tensor of its kind or a higher one    the tensor's type
 *     f64 > f32 > f16 > (bf16 with bf16) > bf16 with any other gives f32
 *     / // % compute f16 and bf16 in f32
 *     f8 with the same f8 stays, with another f8 gives f16, with an int is an error
 *     ints: the wider; of equal or larger width the unsigned one
 * f16 is asked for before bf16, so f16 with bf16 is f16.
 *
 * Comparisons, minimum and maximum type their numbers first (fe_tensor), so there a number
 * is not weak: maximum(x_f16, 0.0) is f32. That is how the language is defined.
 *
 * One file past 800 lines, because an operator's rule is read together with the promotion it
 * relies on.
 */
#include <math.h>

#include "frontend/fe.h"

/* ---- constants ------------------------------------------------------------------------- */

/* The type of a number that must become a tensor. */
static Elem
literal_elem(Fe *f, PyObject *o)
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
            fail(f, VALUE, "the integer %s does not fit 64 bits", v_short(f, v_obj(o)));
        }
        return E_U64;
    }
    double d = PyFloat_AsDouble(o), m = fabs(d);
    if (d == 0 || !isfinite(d) || (m >= 0x1p-126 && m <= 0x1.fffffep127))
        return E_F32;
    return E_F64;
}

/* The number o as a constant of t; raises when it is out of the range of an integer t. */
static Val *
number(Fe *f, PyObject *o, const Type *t)
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
        fe_blame(f, v_obj(o));
        err_help(f->c, "convert the other side first: x.to(tl.%s)",
                 elem_info[literal_elem(f, o)].tl);
        fail(f, VALUE, "the number %s is outside the range of %s", v_short(f, v_obj(o)),
             elem_info[t->elem].text);
    }
    return ir_const_int(&f->b, t, i);
}

Val *
fe_tensor(Fe *f, Value v, const char *what)
{
    v = fe_read(f, v);
    if (v.kind == V_TENSOR)
        return v.val;
    if (!is_number(v)) {
        fe_blame(f, v);
        fail(f, TYPE, "%s must be a number or a tensor, not %s", what,
             v_describe(f, v));
    }
    return number(f, v.obj, ty_scalar(f->c, literal_elem(f, v.obj)));
}

Value
fe_decay(Fe *f, Value v)
{
    if (is_number(v))
        v = v_val(fe_tensor(f, v, "the value"));
    if (f->lanes && v.kind == V_TENSOR && !v.val->type->rank)
        return v_val(fe_splat_to(f, v.val, f->lanes->rank, f->lanes->shape));
    if (v.kind != V_TUPLE || v.tuple->is_aggregate)
        return v; /* an aggregate's fields are what its annotations say */
    Value t = v_tuple(f, v.tuple->n, v.tuple->at);
    t.tuple->type = v.tuple->type;
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

static bool
is_f8(Elem e)
{
    return elem_is_float(e) && elem_info[e].bits == 8;
}

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
        if (e != E_I64 && e != E_U64)
            fail(f, TYPE, "a pointer converts to int64 or uint64, not to %s",
                 elem_info[e].tl);
        return ir_bitcast(&f->b, v, ty_with_elem(f->c, v->type, e));
    }
    if (from == e)
        return v;
    if ((is_f8(from) && elem_is_int(e)) || (is_f8(e) && elem_is_int(from))) {
        err_help(f->c, "convert through tl.float32");
        fail(f, TYPE, "there is no conversion from %s to %s", elem_info[from].text,
             elem_info[e].text);
    }
    if (e == E_I1) {
        uint64_t bits;
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
    bool has_round = !is_absent(rounding) && !is_py_none(rounding);
    if (has_round) {
        const char *s = v_const_str(f, rounding, "fp_downcast_rounding");
        if (strcmp(s, "rtne") && strcmp(s, "rtz"))
            fail(f, VALUE,
                 "fp_downcast_rounding must be \"rtne\" or \"rtz\", not \"%s\"", s);
        round = !strcmp(s, "rtz") ? ROUND_RTZ : ROUND_RTNE;
    }
    if (fe_is_instance(f, o, f->cls_pointer)) {
        Elem e = v_elem(f, v_obj(fe_own(f, PyObject_GetAttrString(o, "element_ty"))),
                        "the pointee of a pointer type");
        PyObject *is_const = fe_own(f, PyObject_GetAttrString(o, "const"));
        const Type *t = ty_ptr(f->c, e, PyObject_IsTrue(is_const) == 1);
        if (v->type->rank)
            t = ty_block(f->c, t, v->type->rank, v->type->shape);
        if (t == v->type)
            return v_val(v);
        if (!v->type->is_ptr && !elem_is_int(v->type->elem))
            fail(f, TYPE, "%s does not convert to a pointer", ty_str(f->a, v->type));
        if (!v->type->is_ptr && elem_info[v->type->elem].bits != 64)
            v = fe_cast(f, v, E_I64, ROUND_RTNE);
        return v_val(ir_bitcast(&f->b, v, t));
    }
    Elem e = v_elem(f, v_obj(o), "the dtype"), from = v->type->elem;
    if (!v->type->is_ptr && from == e)
        return v_val(v);
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
    uint64_t bits;
    const Type *t = v->type;
    if (!rank ||
        (t->rank == rank && !memcmp(t->shape, shape, (size_t)rank * sizeof *shape)))
        return v;
    if (ir_is_const(v, &bits))
        return ir_const_bits(&f->b, ty_block(f->c, ty_element(f->c, t), rank, shape),
                             bits);
    if (!t->rank)
        return ir_splat(&f->b, v, rank, shape);
    while (v->type->rank < rank)
        v = ir_expand(&f->b, v, 0);
    if (!memcmp(v->type->shape, shape, (size_t)rank * sizeof *shape))
        return v;
    return ir_broadcast(&f->b, v, rank, shape);
}

/* Says how one operand could be indexed to fit the other: [64] beside [64, 32]. */
static void
help_shapes(Fe *f, const Type *x, const Type *y)
{
    const Type *small = x->rank < y->rank ? x : y, *big = small == x ? y : x;
    if (small->rank == 1 && big->rank == 2 && small->shape[0] == big->shape[0])
        err_help(f->c, "the operand of shape %s becomes [%d, 1] with [:, None]",
                 ty_shape_str(f->a, small), (int)small->shape[0]);
    else if (x->rank == 1 && y->rank == 1)
        err_help(f->c, "extents must be equal or 1; x[:, None] and y[None, :] make an "
                       "outer product");
    else
        err_help(f->c, "extents must be equal or 1, counted from the last dimension");
}

/* The shape both broadcast to; raises SHAPE. */
static int
common_shape(Fe *f, const Type *x, const Type *y, int32_t *shape)
{
    int rank = MAX(x->rank, y->rank);
    for (int i = 0; i < rank; i++) {
        int ix = i - (rank - x->rank), iy = i - (rank - y->rank);
        int32_t nx = ix >= 0 ? x->shape[ix] : 1, ny = iy >= 0 ? y->shape[iy] : 1;
        if (nx != ny && nx != 1 && ny != 1) {
            help_shapes(f, x, y);
            err_at(f->c, f->b.loc, SHAPE, ty_shape_str(f->a, x), ty_shape_str(f->a, y));
        }
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
                 "%s stays as it is: the other one is stretched to it, never the "
                 "reverse",
                 ty_shape_str(f->a, like));
        err_at(f->c, f->b.loc, SHAPE, ty_shape_str(f->a, v->type),
               ty_shape_str(f->a, like));
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
    int64_t code = 0;
    bool identity = true;
    for (int i = 0; i < rank; i++) {
        shape[i] = v->type->shape[perm[i]];
        code |= (int64_t)perm[i] << (4 * i);
        identity = identity && perm[i] == i;
    }
    if (identity)
        return v;
    const Type *t = ty_with_shape(f->c, v->type, rank, shape);
    Op *o = ir_op(&f->b, OP_TRANS, 1, &v, 1, &t);
    ir_set_attr(o, ATTR_PERM, code);
    return result(o, 0);
}

/* ---- promotion ----------------------------------------------------------------------------- */

Elem
fe_promote_elems(Fe *f, Elem a, Elem b, bool is_div, const char *op)
{
    if (a == E_F64 || b == E_F64)
        return E_F64;
    if (a == E_F32 || b == E_F32)
        return E_F32;
    if (a == E_F16 || b == E_F16)
        return is_div ? E_F32 : E_F16;
    if (a == E_BF16 && b == E_BF16)
        return is_div ? E_F32 : E_BF16;
    if (a == E_BF16 || b == E_BF16)
        return E_F32;
    if (is_f8(a) && is_f8(b))
        return a == b ? a : E_F16;
    if (is_f8(a) || is_f8(b)) {
        err_help(f->c, "convert first: x.to(tl.float32)");
        fail(f, TYPE, "'%s' cannot combine %s and %s", op, elem_info[a].text,
             elem_info[b].text);
    }
    if (is_div && elem_is_signed(a) != elem_is_signed(b)) {
        err_help(f->c, "convert one side: x.to(tl.%s)", elem_info[a].tl);
        fail(f, TYPE, "'%s' cannot combine %s and %s: one is signed, the other is not",
             op, elem_info[a].text, elem_info[b].text);
    }
    int wa = elem_info[a].bits, wb = elem_info[b].bits;
    if (elem_is_signed(a) == elem_is_signed(b))
        return wa >= wb ? a : b;
    Elem u = elem_is_signed(a) ? b : a, s = elem_is_signed(a) ? a : b;
    return elem_info[u].bits >= elem_info[s].bits ? u : s;
}

static int
number_kind(PyObject *o)
{
    return PyBool_Check(o) ? 0 : PyLong_Check(o) ? 1 : 2;
}

static int
elem_kind(Elem e)
{
    return e == E_I1 ? 0 : elem_is_int(e) ? 1 : 2;
}

/* Number o beside tensor t: a constant that is weak, or typed by its own rules. */
static Val *
weak(Fe *f, PyObject *o, Val *t, bool is_div, Elem *e)
{
    Elem te = t->type->elem;
    if (t->type->is_ptr || number_kind(o) > elem_kind(te)) {
        Val *v = number(f, o, ty_scalar(f->c, literal_elem(f, o)));
        *e = v->type->elem;
        return v;
    }
    *e = is_div && (te == E_F16 || te == E_BF16) ? E_F32 : te;
    return number(f, o, ty_scalar(f->c, *e));
}

static Val *
operand(Fe *f, Value v, const char *op)
{
    if (v.kind == V_TENSOR)
        return v.val;
    if (v.kind == V_OBJ && v.obj == Py_None)
        err_help(f->c, "test it with 'is not None' first");
    if (!is_number(v)) {
        fe_blame(f, v);
        if (v.kind == V_BLOCK_PTR && !v.bp->is_desc)
            err_help(f->c, "tl.advance(p, offsets) moves a block pointer");
        fail(f, TYPE, "'%s' works on numbers and tensors, not on %s", op,
             v_describe(f, v));
    }
    return NULL;
}

void
fe_promote(Fe *f, Value a, Value b, bool is_div, bool allow_ptr, Val **px, Val **py,
           const char *op)
{
    a = fe_read(f, a);
    b = fe_read(f, b);
    Val *x = operand(f, a, op), *y = operand(f, b, op);
    Elem e = E_I32;
    bool is_weak = false;
    if (!x && !y) {
        x = fe_tensor(f, a, op);
        y = fe_tensor(f, b, op);
    } else if (!x) {
        x = weak(f, a.obj, y, is_div, &e);
        is_weak = number_kind(a.obj) <= elem_kind(y->type->elem) && !y->type->is_ptr;
    } else if (!y) {
        y = weak(f, b.obj, x, is_div, &e);
        is_weak = number_kind(b.obj) <= elem_kind(x->type->elem) && !x->type->is_ptr;
    }
    if (x->type->is_ptr || y->type->is_ptr) {
        if (!allow_ptr || ty_element(f->c, x->type) != ty_element(f->c, y->type)) {
            err_help(f->c, "p.to(tl.int64) gives the address");
            fail(f, TYPE, "'%s' cannot combine %s and %s", op, ty_str(f->a, x->type),
                 ty_str(f->a, y->type));
        }
    } else {
        if (!is_weak)
            e = fe_promote_elems(f, x->type->elem, y->type->elem, is_div, op);
        x = fe_cast(f, x, e, ROUND_RTNE);
        y = fe_cast(f, y, e, ROUND_RTNE);
    }
    fe_broadcast_pair(f, &x, &y);
    *px = x;
    *py = y;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* An operator on two things known now: Python's own. */
static Value
constant_op(Fe *f, Operator o, PyObject *x, PyObject *y)
{
    PyObject *r = NULL;
    switch (o) {
    case OPR_Add: r = PyNumber_Add(x, y); break;
    case OPR_Sub: r = PyNumber_Subtract(x, y); break;
    case OPR_Mult: {
        /* "a" * 10**12 and 7**10**9 would eat the machine, not fail. */
        if (PyUnicode_Check(x) || PyUnicode_Check(y) || PyBytes_Check(x) ||
            PyBytes_Check(y))
            fail(f, TYPE, "a str cannot be multiplied in a kernel");
        r = PyNumber_Multiply(x, y);
        break;
    }
    case OPR_Div: r = PyNumber_TrueDivide(x, y); break;
    case OPR_FloorDiv: r = PyNumber_FloorDivide(x, y); break;
    case OPR_Mod: r = PyNumber_Remainder(x, y); break;
    case OPR_Pow:
        if (PyLong_Check(y)) {
            int overflow;
            long long k = PyLong_AsLongLongAndOverflow(y, &overflow);
            if (overflow || k > 4096 || k < -4096)
                fail(f, VALUE, "the exponent %s is too large", v_short(f, v_obj(y)));
        }
        r = PyNumber_Power(x, y, Py_None);
        break;
    case OPR_LShift:
    case OPR_RShift:
        if (PyLong_Check(y)) {
            int overflow;
            long long k = PyLong_AsLongLongAndOverflow(y, &overflow);
            if (overflow || k > 4096)
                fail(f, VALUE, "the shift count %s is too large", v_short(f, v_obj(y)));
        }
        r = o == OPR_LShift ? PyNumber_Lshift(x, y) : PyNumber_Rshift(x, y);
        break;
    case OPR_BitAnd: r = PyNumber_And(x, y); break;
    case OPR_BitOr: r = PyNumber_Or(x, y); break;
    case OPR_BitXor: r = PyNumber_Xor(x, y); break;
    default: fail(f, TYPE, "'%s' is not available in a kernel", opr_text[o]);
    }
    Value v = v_obj(fe_own(f, r));
    if (PyLong_Check(v.obj)) {
        /* Numbers beyond 64 bits have no use, and their size no bound. */
        PyObject *bits = fe_own(f, PyObject_CallMethod(v.obj, "bit_length", NULL));
        if (PyLong_AsLong(bits) > 65536)
            fail(f, VALUE, "the integer result of '%s' is too large", opr_text[o]);
    }
    return v;
}

static Value
tuple_op(Fe *f, Operator o, Value a, Value b)
{
    if (o == OPR_Add && a.kind == V_TUPLE && b.kind == V_TUPLE) {
        int n = a.tuple->n + b.tuple->n;
        Value *at = NEW_N(f->a, Value, n + 1);
        memcpy(at, a.tuple->at, (size_t)a.tuple->n * sizeof *at);
        memcpy(at + a.tuple->n, b.tuple->at, (size_t)b.tuple->n * sizeof *at);
        return v_tuple(f, n, at);
    }
    Value t = a.kind == V_TUPLE ? a : b, k = a.kind == V_TUPLE ? b : a;
    if (o == OPR_Mult && is_int_obj(k)) {
        int64_t times = MAX(v_const_int(f, k, "the count"), 0);
        if (times * t.tuple->n > 4096)
            fail(f, LIMIT, "a tuple of more than 4096 elements");
        Value *at = NEW_N(f->a, Value, times * t.tuple->n + 1);
        for (int64_t i = 0; i < times * t.tuple->n; i++)
            at[i] = t.tuple->at[i % t.tuple->n];
        return v_tuple(f, (int)(times * t.tuple->n), at);
    }
    fail(f, TYPE, "'%s' cannot combine %s and %s", opr_text[o], v_describe(f, a),
         v_describe(f, b));
}

static bool
is_pointer(Value v)
{
    return v.kind == V_TENSOR && v.val->type->is_ptr;
}

static bool
is_integer(Value v)
{
    if (v.kind == V_TENSOR)
        return !v.val->type->is_ptr && elem_is_int(v.val->type->elem);
    return is_int_obj(v);
}

/* ptr + int, int + ptr, ptr - int. */
static Value
pointer_op(Fe *f, Operator o, Value a, Value b)
{
    if (o == OPR_Add && !is_pointer(a)) {
        Value v = a;
        a = b;
        b = v;
    }
    if (!is_pointer(a) || !is_integer(b) || (o != OPR_Add && o != OPR_Sub)) {
        if (is_pointer(a) && is_pointer(b) && o == OPR_Add)
            err_help(f->c, "an offset is an integer; was a tl.load left out?");
        else if (is_pointer(a) && is_pointer(b))
            err_help(f->c, "subtract addresses: p.to(tl.int64)");
        else
            err_help(f->c,
                     "only integers can be added to or subtracted from a pointer");
        fail(f, TYPE, "'%s' cannot combine %s and %s", opr_text[o], v_describe(f, a),
             v_describe(f, b));
    }
    Val *x = a.val, *y = b.kind == V_TENSOR ? b.val : NULL;
    if (!y)
        y = fe_tensor(f, b, "the offset");
    if (o == OPR_Sub) {
        const Type *t = y->type;
        /* An unsigned offset is widened before it is negated: p - 1u is p - 1. */
        if (!elem_is_signed(t->elem) && elem_info[t->elem].bits < 64)
            y = fe_cast(f, y, E_I64, ROUND_RTNE);
        int64_t k;
        y = ir_const_as_int(y, &k) && k != INT64_MIN &&
                    elem_info[y->type->elem].bits >= 32
                ? ir_const_int(&f->b, y->type, -k)
                : ir_bin(&f->b, OP_SUB, ir_const_int(&f->b, y->type, 0), y);
    }
    fe_broadcast_pair(f, &x, &y);
    return v_val(ir_addptr(&f->b, x, y));
}

/* A logical shift of a signed type or an arithmetic one of an unsigned type. */
static Val *
shift_right(Fe *f, Val *x, Val *y, bool arithmetic)
{
    static const Elem other[N_ELEM] = {
        [E_I8] = E_U8, [E_I16] = E_U16, [E_I32] = E_U32, [E_I64] = E_U64,
        [E_U8] = E_I8, [E_U16] = E_I16, [E_U32] = E_I32, [E_U64] = E_I64,
    };
    const Type *t = x->type;
    if (elem_is_signed(t->elem) == arithmetic || t->elem == E_I1)
        return ir_bin(&f->b, OP_SHR, x, y);
    const Type *as = ty_with_elem(f->c, t, other[t->elem]);
    Val *r = ir_bin(&f->b, OP_SHR, ir_bitcast(&f->b, x, as), ir_bitcast(&f->b, y, as));
    return ir_bitcast(&f->b, r, t);
}

static void
need_ints(Fe *f, Operator o, Val *x)
{
    if (elem_is_int(x->type->elem))
        return;
    if (o == OPR_FloorDiv)
        err_help(f->c, "tl.floor(x / y) rounds a quotient of floats down");
    else
        err_help(
            f->c,
            "x.to(tl.int32) converts; x.to(tl.int32, bitcast=True) keeps the bits");
    fail(f, TYPE, "'%s' works on integers, not on %s", opr_text[o],
         ty_str(f->a, x->type));
}

/* In debug builds: x op y stays within its integer type, which the wider sum tells. */
static void
check_overflow(Fe *f, Operator o, OpCode op, Val *x, Val *y)
{
    const Options *opt = &f->c->opt;
    Elem e = x->type->elem;
    int bits = elem_info[e].bits;
    if (!opt->debug || !opt->sanitize_overflow || !elem_is_int(e) || bits >= 64 ||
        bits == 1 || f->no_overflow_checks)
        return;
    const Type *t = ty_with_elem(f->c, x->type, E_I64);
    Val *wide = ir_bin(&f->b, op, fe_cast(f, x, E_I64, ROUND_RTNE),
                       fe_cast(f, y, E_I64, ROUND_RTNE));
    bool is_signed = elem_is_signed(e);
    int64_t low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
    int64_t high = (INT64_C(1) << (bits - is_signed)) - 1;
    Val *ok = ir_bin(&f->b, OP_AND,
                     ir_bin(&f->b, OP_GE, wide, ir_const_int(&f->b, t, low)),
                     ir_bin(&f->b, OP_LE, wide, ir_const_int(&f->b, t, high)));
    Op *check = ir_op(&f->b, OP_ASSERT, 1, &ok, 0, NULL);
    check->text = str_printf(f->a, "%s overflow detected for operation %s",
                             elem_info[e].tl, opr_text[o]);
}

Value
fe_binary(Fe *f, Operator o, Value a, Value b)
{
    a = fe_read(f, a);
    b = fe_read(f, b);
    if (a.kind == V_TUPLE || b.kind == V_TUPLE)
        return tuple_op(f, o, a, b);
    if (a.kind == V_OBJ && b.kind == V_OBJ) {
        if (a.obj != Py_None && b.obj != Py_None)
            return constant_op(f, o, a.obj, b.obj);
    }
    if (o == OPR_MatMult) {
        err_help(f->c, "tl.dot(a, b) is the matrix product");
        fail(f, TYPE, "'@' is not available on tensors");
    }
    if (o == OPR_Pow) {
        err_help(f->c, "write x * x, or tl.exp2(tl.log2(x) * y)");
        fail(f, TYPE, "'**' is not available on tensors");
    }
    if (is_pointer(a) || is_pointer(b))
        return pointer_op(f, o, a, b);
    bool is_div = o == OPR_Div || o == OPR_FloorDiv || o == OPR_Mod;
    Val *x, *y;
    bool self_signed = true;
    if (o == OPR_RShift) {
        Value self = a.kind == V_TENSOR ? a : b;
        self_signed = self.kind == V_TENSOR && elem_is_signed(self.val->type->elem);
    }
    fe_promote(f, a, b, is_div, false, &x, &y, opr_text[o]);
    OpCode op;
    switch (o) {
    case OPR_Add: op = OP_ADD; break;
    case OPR_Sub: op = OP_SUB; break;
    case OPR_Mult: op = OP_MUL; break;
    case OPR_Div:
        if (elem_is_int(x->type->elem)) {
            x = fe_cast(f, x, E_F32, ROUND_RTNE);
            y = fe_cast(f, y, E_F32, ROUND_RTNE);
        }
        op = OP_DIV;
        break;
    case OPR_Mod: op = OP_REM; break;
    case OPR_FloorDiv:
        need_ints(f, o, x);
        op = OP_DIV;
        break;
    case OPR_BitAnd:
        need_ints(f, o, x);
        op = OP_AND;
        break;
    case OPR_BitOr:
        need_ints(f, o, x);
        op = OP_OR;
        break;
    case OPR_BitXor:
        need_ints(f, o, x);
        op = OP_XOR;
        break;
    case OPR_LShift:
        need_ints(f, o, x);
        op = OP_SHL;
        break;
    case OPR_RShift:
        need_ints(f, o, x);
        return v_val(shift_right(f, x, y, self_signed));
    default: unreachable(f->c);
    }
    if (is_f8(x->type->elem)) {
        err_help(f->c, "convert to tl.float16 or tl.float32 first");
        fail(f, TYPE, "'%s' is not available on %s", opr_text[o],
             elem_info[x->type->elem].text);
    }
    if (o == OPR_Add || o == OPR_Sub || o == OPR_Mult)
        check_overflow(f, o, op, x, y);
    return v_val(ir_bin(&f->b, op, x, y));
}

Value
fe_unary(Fe *f, Operator o, Value a)
{
    a = fe_read(f, a);
    if (a.kind == V_OBJ) {
        if (o == OPR_Not)
            return v_bool(!fe_truth(f, a, "'not'"));
        PyObject *r = o == OPR_USub   ? PyNumber_Negative(a.obj)
                      : o == OPR_UAdd ? PyNumber_Positive(a.obj)
                                      : PyNumber_Invert(a.obj);
        return v_obj(fe_own(f, r));
    }
    if (a.kind != V_TENSOR)
        fail(f, TYPE, "'%s' works on numbers and tensors, not on %s", opr_text[o],
             v_describe(f, a));
    Val *x = a.val;
    Elem e = x->type->elem;
    if (o == OPR_UAdd) {
        err_help(f->c, "leave it out");
        fail(f, TYPE, "unary '+' is not available on tensors");
    }
    if (x->type->is_ptr || (o == OPR_Invert && !elem_is_int(e)))
        fail(f, TYPE, "'%s' is not available on %s", opr_text[o],
             ty_str(f->a, x->type));
    if (o == OPR_USub)
        return v_val(ir_un(&f->b, OP_NEG, x));
    if (o == OPR_Not && e != E_I1) {
        err_help(f->c, "compare with zero: x == 0");
        fail(f, TYPE, "'not' works on int1, not on %s", ty_str(f->a, x->type));
    }
    return v_val(ir_bin(&f->b, OP_XOR, x, ir_const_int(&f->b, x->type, -1)));
}

Value
fe_compare(Fe *f, Operator o, Value a, Value b)
{
    static const OpCode ops[] = {OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE};
    static const int py_ops[] = {Py_EQ, Py_NE, Py_LT, Py_LE, Py_GT, Py_GE};
    a = fe_read(f, a);
    b = fe_read(f, b);
    int at = o - OPR_Eq;
    if (a.kind == V_OBJ && b.kind == V_OBJ)
        return v_from_py(f, fe_own(f, PyObject_RichCompare(a.obj, b.obj, py_ops[at])));
    if (a.kind == V_TUPLE || b.kind == V_TUPLE) {
        if (o != OPR_Eq && o != OPR_NotEq)
            fail(f, TYPE, "'%s' cannot compare %s and %s", opr_text[o],
                 v_describe(f, a), v_describe(f, b));
        bool same = a.kind == V_TUPLE && b.kind == V_TUPLE && a.tuple->n == b.tuple->n;
        for (int i = 0; same && i < a.tuple->n; i++) {
            Value r = fe_compare(f, OPR_Eq, a.tuple->at[i], b.tuple->at[i]);
            if (r.kind != V_OBJ)
                fail(f, TYPE, "tuples of run-time values cannot be compared");
            same = fe_truth(f, r, "==");
        }
        return v_bool(same == (o == OPR_Eq));
    }
    if (is_py_none(a) || is_py_none(b))
        err_help(f->c, "write 'is None' or 'is not None'");
    if (is_pointer(a) || is_pointer(b)) {
        err_help(f->c, "compare addresses: p.to(tl.int64)");
        fail(f, TYPE, "'%s' cannot compare %s and %s", opr_text[o], v_describe(f, a),
             v_describe(f, b));
    }
    Val *x, *y;
    fe_promote(f, v_val(fe_tensor(f, a, "an operand of a comparison")),
               v_val(fe_tensor(f, b, "an operand of a comparison")), false, false, &x,
               &y, opr_text[o]);
    if (is_f8(x->type->elem)) {
        x = fe_cast(f, x, E_F32, ROUND_RTNE);
        y = fe_cast(f, y, E_F32, ROUND_RTNE);
    }
    return v_val(ir_bin(&f->b, ops[at], x, y));
}

Val *
fe_logical(Fe *f, Operator o, Val *x, Val *y)
{
    if (x->type->is_ptr || y->type->is_ptr || x->type->elem != E_I1 ||
        y->type->elem != E_I1) {
        err_help(f->c, "compare first: (x != 0) %s (y != 0)", o == OPR_And ? "&" : "|");
        fail(f, TYPE, "'%s' works on int1, not on %s and %s", opr_text[o],
             ty_str(f->a, x->type), ty_str(f->a, y->type));
    }
    fe_broadcast_pair(f, &x, &y);
    return ir_bin(&f->b, o == OPR_And ? OP_AND : OP_OR, x, y);
}

Val *
fe_condition(Fe *f, Value v, const char *of)
{
    Val *x = fe_tensor(f, v, of);
    if (x->type->rank && !(f->lanes && ty_same_shape(x->type, f->lanes))) {
        if (ty_numel(x->type) != 1) {
            err_help(f->c, "tl.where(condition, a, b) chooses element by element");
            err_at(f->c, f->b.loc, CONDITION,
                   str_printf(f->a, "%s must be a scalar, not a block of shape %s", of,
                              ty_shape_str(f->a, x->type)));
        }
        x = fe_reshape(f, x, 0, NULL);
    }
    return fe_cast(f, x, E_I1, ROUND_RTNE);
}
