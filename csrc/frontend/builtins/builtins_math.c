/* builtins_math: elementwise functions and selection. */
#include "frontend/fe.h"

/* ---- of one operand ------------------------------------------------------------------------ */

/* The functions take f32 and f64. As methods (x.exp()) they take any float: a narrower one
 * is computed in f32 and rounded back. */
static Value
unary(Fe *f, OpCode op, Value a)
{
    bool only_f32 = op == OP_SQRT_RN, is_method = f->is_method;
    Val *x = fe_tensor(f, a, str_printf(f->a, "the operand of %s", f->callee));
    Elem e = x->type->elem;
    bool is_float = !x->type->is_ptr && elem_is_float(e);
    if (is_float && is_method && elem_info[e].bits < 32) {
        x = fe_cast(f, x, E_F32, ROUND_RTNE);
        return v_val(fe_cast(f, ir_un(&f->b, op, x), e, ROUND_RTNE));
    }
    if (x->type->is_ptr || (e != E_F32 && (e != E_F64 || only_f32))) {
        fe_help_float(f, fe_read(f, a));
        fail(f, TYPE, "%s takes %s, not %s", f->callee,
             only_f32 ? "float32" : "float32 or float64", ty_str(f->a, x->type));
    }
    return v_val(ir_un(&f->b, op, x));
}

Value
bi_unary(Fe *f, Value *a)
{
    return unary(f, (OpCode)f->which, a[0]);
}

Value
bi_abs(Fe *f, Value *a)
{
    if (is_number(a[0]))
        return v_obj(fe_own(f, PyNumber_Absolute(a[0].obj)));
    Val *x = fe_tensor(f, a[0], "the operand of abs");
    if (x->type->is_ptr) {
        err_help(f->c, "tl.load it first");
        fail(f, TYPE, "abs is not available on %s", v_describe(f, v_val(x)));
    }
    if (elem_info[x->type->elem].kind == KIND_U)
        return v_val(x);
    return v_val(ir_un(&f->b, OP_ABS, x));
}

Value
bi_sigmoid(Fe *f, Value *a)
{
    Val *x = fe_tensor(f, a[0], "the operand of sigmoid");
    Value one = v_int(f, 1), neg = fe_unary(f, OPR_USub, v_val(x));
    Value e = unary(f, OP_EXP, neg);
    return fe_binary(f, OPR_Div, one, fe_binary(f, OPR_Add, one, e));
}

/* ---- of two and three ---------------------------------------------------------------------- */

/* The operators as functions, which may wrap in debug builds too. */
Value
bi_operation(Fe *f, Value *a)
{
    Operator o = (Operator)f->which;
    bool outer = f->no_overflow_checks;
    f->no_overflow_checks = fe_is_given(a[2]) &&
                            !v_const_bool(f, a[2], "sanitize_overflow");
    Value r = fe_decay(f, fe_binary(f, o, a[0], a[1]));
    f->no_overflow_checks = outer;
    return r;
}

Value
bi_logical(Fe *f, Value *a)
{
    Operator o = (Operator)f->which;
    return v_val(fe_logical(f, o, fe_tensor(f, a[0], "x"), fe_tensor(f, a[1], "y")));
}

/* (x + (div - 1)) // div, in the types the operators give. */
Value
bi_cdiv(Fe *f, Value *a)
{
    Value less = fe_binary(f, OPR_Sub, a[1], v_int(f, 1));
    Value up = fe_binary(f, OPR_Add, a[0], less);
    return fe_decay(f, fe_binary(f, OPR_FloorDiv, up, a[1]));
}

/* Both as an operator takes them: of one type and shape. semantic is Triton's compiler. */
Value
bi_binary_op_type_legalization(Fe *f, Value *a)
{
    Val *x, *y;
    fe_promote(f, a[0], a[1], false, false, &x, &y, f->callee);
    Value pair[2] = {v_val(x), v_val(y)};
    return v_tuple(f, 2, pair);
}

/* Both as tensors of one type and shape; literals are typed before they promote. */
static void
typed_pair(Fe *f, Value a, Value b, Val **x, Val **y)
{
    fe_promote(f, v_val(fe_tensor(f, a, "an operand")),
               v_val(fe_tensor(f, b, "an operand")), false, false, x, y, f->callee);
}

static bool
is_float(const Val *v)
{
    return !v->type->is_ptr && elem_is_float(v->type->elem);
}

Value
bi_fma(Fe *f, Value *a)
{
    Val *x, *y, *z;
    typed_pair(f, a[0], a[1], &x, &y);
    typed_pair(f, v_val(x), a[2], &x, &z);
    typed_pair(f, v_val(y), v_val(z), &y, &z);
    if (!is_float(x)) {
        fe_help_float(f, a[0]);
        fail(f, TYPE, "fma takes floats, not %s", ty_str(f->a, x->type));
    }
    fe_broadcast_pair(f, &x, &y);
    return v_val(ir_op1(&f->b, OP_FMA, 3, (Val *[]){x, y, z}, x->type));
}

/* By Horner. The coefficients are exact in x's type: as literals of an expression they
 * would be float32 first. */
Value
bi_polynomial(Fe *f, Value *a)
{
    Val *x = fe_tensor(f, a[0], "x");
    Value c = fe_elements(f, fe_read(f, a[1]), "the coefficients of a polynomial");
    if (!is_float(x) || elem_info[x->type->elem].bits < 32) {
        fe_help_float(f, a[0]);
        fail(f, TYPE, "polynomial takes float32 or float64, not %s",
             ty_str(f->a, x->type));
    }
    if (c.tuple->n < 1)
        fail(f, VALUE, "a polynomial needs a coefficient");
    Val *p = NULL;
    for (int i = c.tuple->n - 1; i >= 0; i--) {
        if (!is_number(c.tuple->at[i]))
            fail(f, TYPE, "a coefficient of a polynomial must be a constant number");
        double v = PyFloat_AsDouble(c.tuple->at[i].obj);
        if (PyErr_Occurred())
            fe_raise(f, f->b.loc);
        Val *k = ir_const_float(&f->b, x->type, v);
        p = p ? ir_op1(&f->b, OP_FMA, 3, (Val *[]){p, x, k}, x->type) : k;
    }
    return v_val(p);
}

Value
bi_fdiv(Fe *f, Value *a)
{
    Val *x = fe_tensor(f, a[0], "x"), *y = fe_tensor(f, a[1], "y");
    if (!is_float(x) || !is_float(y) || x->type->elem != y->type->elem) {
        err_help(f->c, "convert first: x.to(tl.float32)");
        fail(f, TYPE, "fdiv takes two floats of one type, not %s and %s",
             ty_str(f->a, x->type), ty_str(f->a, y->type));
    }
    bool ieee = !is_absent(a[2]) && v_const_bool(f, a[2], "ieee_rounding");
    bool approx = !is_absent(a[3]) && v_const_bool(f, a[3], "approx");
    if (ieee && approx)
        fail(f, VALUE, "fdiv is ieee_rounding or approx, not both");
    if (approx && x->type->elem != E_F32)
        fail(f, TYPE, "fdiv with approx=True takes float32, not %s",
             ty_str(f->a, x->type));
    fe_broadcast_pair(f, &x, &y);
    OpCode op = ieee ? OP_DIV_RN : approx ? OP_DIV_APPROX : OP_DIV;
    return v_val(ir_bin(&f->b, op, x, y));
}

Value
bi_div_rn(Fe *f, Value *a)
{
    Val *x, *y;
    typed_pair(f, a[0], a[1], &x, &y);
    if (!is_float(x) || x->type->elem != E_F32) {
        fe_help_float(f, a[0]);
        fail(f, TYPE, "div_rn takes float32, not %s", ty_str(f->a, x->type));
    }
    return v_val(ir_bin(&f->b, OP_DIV_RN, x, y));
}

Value
bi_umulhi(Fe *f, Value *a)
{
    Val *x, *y;
    typed_pair(f, a[0], a[1], &x, &y);
    if (is_float(x) || elem_info[x->type->elem].bits < 32)
        fail(f, TYPE, "umulhi takes integers of 32 or 64 bits, not %s",
             ty_str(f->a, x->type));
    return v_val(ir_bin(&f->b, OP_UMULHI, x, y));
}

/* Is it PropagateNan.ALL? */
static bool
nan_wins(Fe *f, Value v)
{
    if (is_absent(v))
        return false;
    PyObject *o = v_to_py(f, v, "propagate_nan");
    PyObject *cls = fe_own(f, PyObject_GetAttrString(f->core, "PropagateNan"));
    if (!fe_is_instance(f, o, cls)) {
        if ((PyLong_Check(o) && !PyBool_Check(o)) || PyFloat_Check(o))
            err_help(f->c, "two values at a time: tl.minimum(tl.minimum(a, b), c)");
        fail(f, VALUE, "propagate_nan must be tl.PropagateNan.NONE or .ALL, not %s",
             v_short(f, v));
    }
    PyObject *all = fe_own(f, PyObject_GetAttrString(cls, "ALL"));
    return o == all;
}

/* bfloat16 is compared as float32, and beside float16 that decides the type. */
static Value
without_bf16(Fe *f, Value v)
{
    Val *x = fe_tensor(f, v, "an operand");
    bool narrow = !x->type->is_ptr && x->type->elem == E_BF16;
    return v_val(narrow ? fe_cast(f, x, E_F32, ROUND_RTNE) : x);
}

static Value
extreme(Fe *f, bool is_max, Value a, Value b, Value propagate)
{
    Val *x, *y;
    bool nan = nan_wins(f, propagate);
    typed_pair(f, without_bf16(f, a), without_bf16(f, b), &x, &y);
    OpCode op = nan && is_float(x) ? (is_max ? OP_MAXNAN : OP_MINNAN)
                                   : (is_max ? OP_MAX : OP_MIN);
    return v_val(ir_bin(&f->b, op, x, y));
}

Value
bi_extreme(Fe *f, Value *a)
{
    return extreme(f, f->which, a[0], a[1], a[2]);
}

/* Among constants alone: the order of -0.0 and 0.0, and of NaN and anything, would decide. */
static void
check_ordered(Fe *f, bool is_max, const TupleValue *t)
{
    for (int i = 0; i < t->n; i++)
        if (fe_read(f, t->at[i]).kind != V_OBJ)
            return;
    for (int i = 0; i < t->n; i++) {
        PyObject *o = fe_read(f, t->at[i]).obj;
        double d = PyFloat_Check(o) ? PyFloat_AsDouble(o) : 1;
        if (isnan(d) || (d == 0 && signbit(d))) {
            err_help(f->c, "say which of two equal ones: a if a %s b else b",
                     is_max ? ">=" : "<=");
            fail(f, VALUE, "%s of constants takes no %s", f->callee,
                 isnan(d) ? "NaN" : "-0.0");
        }
    }
}

/* Python's min and max: constants stay constants, anything else is minimum, maximum. */
Value
bi_py_extreme(Fe *f, Value *a)
{
    bool is_max = f->which;
    Value args = a[0];
    if (args.kind == V_TUPLE && args.tuple->n == 1) {
        Value v = fe_read(f, args.tuple->at[0]);
        if (v.kind == V_TENSOR) {
            err_help(f->c, "tl.%s(x) reduces a block", f->callee);
            err_at(f->c, f->b.loc, ARGUMENT, is_max ? "max()" : "min()",
                   "it takes two or more values");
        }
        args = fe_elements(f, v, "what min and max run over");
    }
    if (args.kind != V_TUPLE || args.tuple->n < 1)
        err_at(f->c, f->b.loc, ARGUMENT, is_max ? "max()" : "min()",
               "it takes two or more values");
    Value r = fe_read(f, args.tuple->at[0]);
    check_ordered(f, is_max, args.tuple);
    for (int i = 1; i < args.tuple->n; i++) {
        Value v = fe_read(f, args.tuple->at[i]);
        if (r.kind == V_OBJ && v.kind == V_OBJ) {
            if (fe_truth(f, fe_compare(f, is_max ? OPR_Gt : OPR_Lt, v, r),
                         "a comparison"))
                r = v;
        } else
            r = extreme(f, is_max, r, v, (Value){0});
    }
    if (r.kind == V_TENSOR && r.val->type->rank)
        fe_warn(f, PyExc_DeprecationWarning, "%s of blocks is written tl.%simum",
                is_max ? "max" : "min", is_max ? "max" : "min");
    return r;
}

Value
bi_clamp(Fe *f, Value *a)
{
    /* The bounds agree on a type first: between 0 and 2.5 an integer is a float. */
    Val *x, *low, *high;
    typed_pair(f, without_bf16(f, a[1]), without_bf16(f, a[2]), &low, &high);
    typed_pair(f, without_bf16(f, a[0]), v_val(low), &x, &low);
    if (!is_float(x)) {
        err_help(f->c, "tl.minimum(tl.maximum(x, low), high) works on integers");
        fail(f, TYPE, "clamp takes floats, not %s", ty_str(f->a, x->type));
    }
    Value lower = extreme(f, true, v_val(x), v_val(low), a[3]);
    return extreme(f, false, lower, v_val(high), a[3]);
}

Value
bi_where(Fe *f, Value *a)
{
    Val *c = fe_tensor(f, a[0], "the condition of where"), *x, *y;
    if (c->type->elem != E_I1 && a[0].kind == V_TENSOR)
        fe_warn(f, PyExc_UserWarning,
                "tl.where chooses by a condition of int1, not of %s: compare with != 0",
                ty_str(f->a, c->type));
    c = fe_cast(f, c, E_I1, ROUND_RTNE);
    fe_promote(f, a[1], a[2], false, true, &x, &y, "where");
    fe_broadcast_pair(f, &c, &x);
    fe_broadcast_pair(f, &x, &y);
    fe_broadcast_pair(f, &c, &x);
    return v_val(ir_select(&f->b, c, x, y));
}
