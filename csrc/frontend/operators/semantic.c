/* semantic: promotion, and the operators on what it gives. Casts are in convert.c.
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
 */
#include "frontend/fe.h"

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
    if (elem_is_f8(a) && elem_is_f8(b))
        return a == b ? a : E_F16;
    if (elem_is_f8(a) || elem_is_f8(b)) {
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
        Val *v = fe_number(f, o, ty_scalar(f->c, fe_literal_elem(f, o)));
        *e = v->type->elem;
        return v;
    }
    *e = is_div && (te == E_F16 || te == E_BF16) ? E_F32 : te;
    return fe_number(f, o, ty_scalar(f->c, *e));
}

static Val *
check_operand(Fe *f, Value v, const char *op)
{
    if (v.kind == V_TENSOR)
        return v.val;
    if (v.kind == V_OBJ && v.obj == Py_None)
        err_help(f->c, "an argument that may be None is tested with 'is not None'; "
                       "tl.store and functions without a return give None");
    if (!is_number(v)) {
        fe_blame(f, v);
        if (v.kind == V_BLOCK_PTR && !v.bp->is_desc)
            err_help(f->c, "tl.advance(p, offsets) moves a block pointer");
        else if (v.kind == V_BLOCK_PTR)
            err_help(f->c, "d.load([i, j]) says where the block starts");
        else if (v.kind == V_OBJ && PyObject_HasAttrString(v.obj, "item"))
            err_help(f->c, "a constexpr parameter takes a number: pass x.item()");
        else if (v.kind == V_TUPLE)
            err_help(f->c, "t[0] is the first of a tuple's elements");
        else if (v.kind == V_OBJ && PyUnicode_Check(v.obj) && !strcmp(op, "%"))
            err_help(f->c,
                     "tl.device_print(\"x\", x) shows run-time values, an f-string "
                     "those that are known when the kernel is compiled");
        else if (v.kind == V_OBJ && PyUnicode_Check(v.obj) && fe_written(f, v))
            err_help(f->c, "%s is a text: pass a number", fe_written(f, v));
        else if (v.kind == V_OBJ && PyUnicode_Check(v.obj))
            err_help(f->c, "tl.device_print(\"text\", x) shows a run-time value beside "
                           "a text");
        const char *text = v.kind == V_OBJ && v.obj == Py_None ? fe_written(f, v)
                                                               : NULL;
        if (text)
            fail(f, TYPE, "'%s' works on numbers and tensors, and '%s' is None", op,
                 text);
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
    Val *x = check_operand(f, a, op), *y = check_operand(f, b, op);
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
            if (x->type->is_ptr && y->type->is_ptr)
                err_help(f->c, "p.to(tl.int64) gives the address");
            else
                err_help(f->c,
                         "tl.load(p) reads what is there, p.to(tl.int64) gives the "
                         "address");
            fail(f, TYPE, "'%s' cannot combine %s and %s", op, ty_str(f->a, x->type),
                 ty_str(f->a, y->type));
        }
    } else {
        if (!is_weak)
            e = fe_promote_elems(f, x->type->elem, y->type->elem, is_div, op);
        x = fe_cast(f, x, e, ROUND_RTNE);
        y = fe_cast(f, y, e, ROUND_RTNE);
    }
    fe_warn_row(f, x, y);
    fe_warn_row(f, y, x);
    fe_broadcast_pair(f, &x, &y);
    *px = x;
    *py = y;
}

/* ---- operators ------------------------------------------------------------------------------- */

enum { MOST_BITS = 65536, MOST_TEXT = 1 << 20 }; /* of constants */

static long
bits_of(Fe *f, PyObject *x)
{
    return PyLong_AsLong(fe_own(f, PyObject_CallMethod(x, "bit_length", NULL)));
}

/* "%1000000000d" % 3, "{:>1000000000}".format(3): a gigabyte of spaces. mark: '%' or '{', from where
 * on numbers are widths, for as long as the characters are among `more`. */
static void
check_format(Fe *f, PyObject *x, char mark, const char *more)
{
    const char *s = fe_utf8(x);
    if (PyBytes_Check(x))
        s = PyBytes_AsString(x);
    fe_forget(f);
    while (s && (s = strchr(s, mark))) {
        s++;
        const char *end = s + strspn(s, more);
        for (size_t n; s < end; s += MAX(n, 1)) {
            n = strspn(s, "0123456789");
            if (n > 5 || *s == '*')
                fail(f, VALUE, "the width or precision %.*s is too large",
                     (int)MIN(MAX(n, 1), 20), s);
        }
    }
}

static bool
is_text(PyObject *x)
{
    return PyUnicode_Check(x) || PyBytes_Check(x);
}

/* A text that doubles with each turn of a loop would eat the machine. */
static void
check_text(Fe *f, PyObject *r, const char *what)
{
    if (is_text(r) && PyObject_Size(r) > MOST_TEXT)
        fail(f, VALUE, "the text that '%s' makes has more than %d characters", what,
             MOST_TEXT);
}

void
fe_check_text_method(Fe *f, PyObject *o, PyObject *pos, PyObject *result)
{
    PyObject *self = PyCFunction_Check(o) ? PyObject_GetAttrString(o, "__self__")
                                          : NULL;
    fe_forget(f);
    bool is = self && is_text(self);
    Py_XDECREF(self); /* o keeps it */
    if (!is)
        return;
    if (result) {
        check_text(f, result, "a method");
        return;
    }
    PyObject *name = fe_own(f, PyObject_GetAttrString(o, "__name__"));
    if (!PyUnicode_CompareWithASCIIString(name, "format"))
        check_format(f, self, '{',
                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
                     ".,:!=<>^+-# []%{");
    for (Py_ssize_t i = 0; i < PyTuple_Size(pos); i++) {
        PyObject *x = PyTuple_GetItem(pos, i);
        int over = 0;
        if (PyLong_Check(x) && PyLong_AsLongLongAndOverflow(x, &over) <= MOST_TEXT &&
            over <= 0)
            continue;
        if (PyLong_Check(x))
            fail(f, VALUE, "%s is too large for a method of a text",
                 v_short(f, v_obj(x)));
    }
}

static void
check_size(Fe *f, PyObject *r, Operator o)
{
    check_text(f, r, opr_text[o]);
    /* Numbers beyond 64 bits have no use, and their size no bound. */
    if (PyLong_Check(r) && bits_of(f, r) > MOST_BITS)
        fail(f, VALUE, "the integer result of '%s' is too large", opr_text[o]);
}

/* tl.program_id * B: Python's words for it name a function, not what is missing. */
static void
help_to_call(Fe *f, PyObject *x)
{
    if (PyCallable_Check(x) && !PyType_Check(x) && fe_has_attr(f, x, "__name__")) {
        PyObject *name = fe_own(f, PyObject_GetAttrString(x, "__name__"));
        err_help(f->c, "call it: %s(..)", v_const_str(f, v_obj(name), "a name"));
    }
}

/* An operator on two things known now: Python's own. */
static Value
constant_op(Fe *f, Operator o, PyObject *x, PyObject *y)
{
    PyObject *r = NULL;
    fe_watch_operand(f, v_obj(x));
    fe_watch_operand(f, v_obj(y));
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
    case OPR_Mod:
        if (is_text(x))
            check_format(f, x, '%', "-+ #.*0123456789");
        r = PyNumber_Remainder(x, y);
        break;
    case OPR_Pow:
        if (PyLong_Check(y)) {
            int overflow;
            long long k = PyLong_AsLongLongAndOverflow(y, &overflow);
            if (overflow || k > 4096 || k < -4096)
                fail(f, VALUE, "the exponent %s is too large", v_short(f, v_obj(y)));
            /* 65536 bits to the 4096th take minutes */
            if (PyLong_Check(x) && k > 0 && (bits_of(f, x) - 1) * k > MOST_BITS)
                fail(f, VALUE, "the integer result of '%s' is too large", opr_text[o]);
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
    if (!r) {
        PyObject *type, *why, *trace;
        PyErr_Fetch(&type, &why, &trace);
        help_to_call(f, x);
        help_to_call(f, y);
        PyErr_Restore(type, why, trace);
    }
    Value v = v_obj(fe_own(f, r));
    check_size(f, v.obj, o);
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
    if (a.kind != b.kind)
        err_help(f->c, "t[0] is the first of a tuple's elements");
    fail(f, TYPE, "'%s' cannot combine %s and %s", opr_text[o], fe_who(f, a),
         fe_who(f, b));
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
        else if (is_pointer(a) && b.kind == V_TENSOR && (o == OPR_Add || o == OPR_Sub))
            err_help(f->c,
                     "offsets are integers: '//' divides them, and x.to(tl.int32) "
                     "converts a float");
        else if (a.kind == V_RANGE || b.kind == V_RANGE)
            err_help(f->c, "a range is what a for runs over; tl.arange(0, N) is a "
                           "block of offsets");
        else
            err_help(f->c,
                     "only integers can be added to or subtracted from a pointer; "
                     "tl.load(p) is the value that it points to");
        fail(f, TYPE, "'%s' cannot combine %s and %s", opr_text[o], fe_who(f, a),
             fe_who(f, b));
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
    else if (o == OPR_BitXor)
        err_help(f->c, "a power is x * x, or tl.exp2(y * tl.log2(x)); of bits, "
                       "x.to(tl.int32, bitcast=True)");
    else
        err_help(
            f->c,
            "x.to(tl.int32) converts; x.to(tl.int32, bitcast=True) keeps the bits");
    fail(f, TYPE, "'%s' works on integers, not on %s", opr_text[o],
         ty_str(f->a, x->type));
}

/* Is v the integer 0 everywhere, through what only changes its type and shape? */
static bool
is_zero(const Val *v)
{
    while (v->def && (v->def->op == OP_CAST || v->def->op == OP_SPLAT))
        v = arg(v->def, 0);
    return ir_is_zero(v);
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
    if (o != OPR_Mult && is_zero(y)) /* x + zeros((1,), ..): promotion, not a sum */
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

/* x // y or x % y of integers, y by a constant 0 of the user's: at run time both are 0. */
static void
check_divisor(Fe *f, Operator o, Value b, const Val *y)
{
    uint64_t bits;
    if (b.kind == V_TENSOR || !elem_is_int(y->type->elem) || !ir_is_const(y, &bits) ||
        bits)
        return;
    fail_of(f, b, VALUE, "'%s' by the constant 0", opr_text[o]);
}

/* x << 40 of 32 bits: the language leaves open what that is; here it is 0, or the sign. */
static void
warn_shift(Fe *f, Operator o, Elem e, Value by)
{
    if (!is_int_obj(by))
        return;
    int64_t n = v_const_int(f, by, "the count of a shift");
    if (n >= elem_info[e].bits || n < 0)
        fe_warn(f, PyExc_UserWarning, "'%s' by %lld of %d bits moves all of them out",
                opr_text[o], (long long)n, elem_info[e].bits);
}

typedef VEC(const Val *) DeadVals;

static void
refuse_op(Fe *f, const Refused *r)
{
    err_help(f->c, "convert to tl.float16 or tl.float32 first");
    err_at(f->c, r->loc, TYPE, r->what);
}

/* Is there a user of v that stays? Those that go as well are added to todo. What goes round
 * a loop counts as needed. */
static bool
has_live_user(Fe *f, const Val *v, bool *seen, DeadVals *todo)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        if (o->op == OP_DEBUG) /* a debugger may look */
            continue;
        if (!op_has(o, OPF_PURE) || o->n_regions)
            return true;
        for (int i = 0; i < o->n_results; i++)
            if (!seen[o->results[i]->id]) {
                seen[o->results[i]->id] = true;
                PUSH(f->a, todo, o->results[i]);
            }
    }
    return false;
}

void
fe_check_refused(Fe *f)
{
    if (!f->refused.n)
        return;
    bool *seen = NEW_N(f->a, bool, f->func->n_vals);
    for (int i = 0; i < f->refused.n; i++) {
        DeadVals todo = {0};
        PUSH(f->a, &todo, f->refused.at[i].v);
        while (todo.n)
            if (has_live_user(f, todo.at[--todo.n], seen, &todo))
                refuse_op(f, &f->refused.at[i]);
    }
}

/* Arithmetic of float8. Triton has it no more than we do, but notices late: what nobody
 * uses compiles, and x - 0 is x. A combine function may be copied (widen.c), and says no
 * at once. */
static Val *
f8_op(Fe *f, Operator o, OpCode op, Val *x, Val *y)
{
    uint64_t bits;
    if (o == OPR_Sub && ir_is_const(y, &bits) && !bits)
        return x;
    Elem e = x->type->elem;
    Val *wide = ir_bin(&f->b, op, fe_cast(f, x, E_F32, ROUND_RTNE),
                       fe_cast(f, y, E_F32, ROUND_RTNE));
    Val *v = fe_cast(f, wide, e, ROUND_RTNE);
    Refused r = {v, f->b.loc,
                 str_printf(f->a, "'%s' is not available on %s", opr_text[o],
                            elem_info[e].text)};
    if (f->n_silent)
        refuse_op(f, &r);
    PUSH(f->a, &f->refused, r);
    return v;
}

static void
refuse_operator(Fe *f, Operator o)
{
    if (o == OPR_MatMult) {
        err_help(f->c, "tl.dot(a, b) is the matrix product");
        fail(f, TYPE, "'@' is not available on tensors");
    }
    if (o == OPR_Pow) {
        err_help(f->c, "write x * x, or tl.exp2(tl.log2(x) * y)");
        fail(f, TYPE, "'**' is not available on tensors");
    }
}

/* What all operators but shifts to the right are, on numbers of one type. */
static Value
arithmetic_op(Fe *f, Operator o, Val *x, Val *y)
{
    static const OpCode op_of[] = {[OPR_Add] = OP_ADD,      [OPR_Sub] = OP_SUB,
                                   [OPR_Mult] = OP_MUL,     [OPR_Div] = OP_DIV,
                                   [OPR_FloorDiv] = OP_DIV, [OPR_Mod] = OP_REM,
                                   [OPR_BitAnd] = OP_AND,   [OPR_BitOr] = OP_OR,
                                   [OPR_BitXor] = OP_XOR,   [OPR_LShift] = OP_SHL};
    if ((size_t)o >= COUNT(op_of))
        unreachable(f->c);
    OpCode op = op_of[o];
    if (o == OPR_Div && elem_is_int(x->type->elem)) {
        x = fe_cast(f, x, E_F32, ROUND_RTNE);
        y = fe_cast(f, y, E_F32, ROUND_RTNE);
    }
    if (elem_is_f8(x->type->elem))
        return v_val(f8_op(f, o, op, x, y));
    if (o == OPR_Add || o == OPR_Sub || o == OPR_Mult)
        check_overflow(f, o, op, x, y);
    return v_val(ir_bin(&f->b, op, x, y));
}

Value
fe_binary(Fe *f, Operator o, Value a, Value b)
{
    a = fe_read(f, a);
    b = fe_read(f, b);
    Value r;
    if (fe_aggregate_operator(f, o, a, b, &r))
        return r;
    if (a.kind == V_TUPLE || b.kind == V_TUPLE)
        return tuple_op(f, o, a, b);
    if (a.kind == V_OBJ && b.kind == V_OBJ && a.obj != Py_None && b.obj != Py_None)
        return constant_op(f, o, a.obj, b.obj);
    refuse_operator(f, o);
    if (is_pointer(a) || is_pointer(b))
        return pointer_op(f, o, a, b);
    bool is_shift = o == OPR_LShift || o == OPR_RShift;
    bool is_rest = o == OPR_FloorDiv || o == OPR_Mod;
    Value self = a.kind == V_TENSOR ? a : b;
    bool self_signed = self.kind == V_TENSOR && elem_is_signed(self.val->type->elem);
    Val *x, *y;
    fe_promote(f, a, b, is_rest || o == OPR_Div, false, &x, &y, opr_text[o]);
    if (is_shift || o == OPR_FloorDiv || o == OPR_BitAnd || o == OPR_BitOr ||
        o == OPR_BitXor)
        need_ints(f, o, x);
    if (is_rest)
        check_divisor(f, o, b, y);
    if (is_shift)
        warn_shift(f, o, x->type->elem, b);
    if (o == OPR_RShift)
        return v_val(shift_right(f, x, y, self_signed));
    return arithmetic_op(f, o, x, y);
}

Value
fe_unary(Fe *f, Operator o, Value a)
{
    a = fe_read(f, a);
    Value r;
    if (fe_aggregate_operator(f, o, a, (Value){0}, &r))
        return r;
    if (a.kind == V_OBJ) {
        if (o == OPR_Not)
            return v_bool(!fe_truth(f, a, "'not'"));
        fe_watch_operand(f, a);
        if (o == OPR_Invert && PyFloat_Check(a.obj))
            err_help(f->c, "'~' turns the bits of an int or a mask around; -x changes "
                           "the sign");
        PyObject *of = o == OPR_USub   ? PyNumber_Negative(a.obj)
                       : o == OPR_UAdd ? PyNumber_Positive(a.obj)
                                       : PyNumber_Invert(a.obj);
        return v_obj(fe_own(f, of));
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
    if (x->type->is_ptr || (o == OPR_Invert && !elem_is_int(e))) {
        if (x->type->is_ptr)
            err_help(f->c, "tl.load reads what it points to");
        else
            err_help(f->c,
                     "x == 0 asks whether it is zero; x.to(tl.int%d, bitcast=True) "
                     "has its bits",
                     elem_info[e].bits);
        fail(f, TYPE, "'%s' is not available on %s", opr_text[o],
             v_describe(f, v_val(x)));
    }
    if (o == OPR_USub && e == E_I1)
        fe_warn(f, PyExc_UserWarning,
                "'-' leaves an int1 as it is: '~' turns True and False around");
    if (o == OPR_USub)
        return v_val(ir_un(&f->b, OP_NEG, x));
    if (o == OPR_Not && e != E_I1) {
        err_help(f->c, "compare with zero: x == 0");
        fail(f, TYPE, "'not' works on int1, not on %s", ty_str(f->a, x->type));
    }
    return v_val(ir_bin(&f->b, OP_XOR, x, ir_const_int(&f->b, x->type, -1)));
}

/* A dtype is equal to dtypes alone, and that of a pointer to those of pointers. */
static void
warn_dtype(Fe *f, PyObject *a, PyObject *b)
{
    bool is_swapped = !fe_is_instance(f, a, f->cls_dtype);
    PyObject *dtype = is_swapped ? b : a, *other = is_swapped ? a : b;
    if (!fe_is_instance(f, dtype, f->cls_dtype) || other == Py_None)
        return;
    if (!fe_is_instance(f, other, f->cls_dtype))
        fe_warn(f, PyExc_UserWarning,
                "a dtype is never equal to %s: compare it with one such as tl.float32",
                v_describe(f, v_obj(other)));
    else if (fe_is_instance(f, dtype, f->cls_pointer) !=
             fe_is_instance(f, other, f->cls_pointer))
        fe_warn(f, PyExc_UserWarning,
                "the dtype of a pointer is never equal to that of a number: compare "
                "p.dtype.element_ty");
}

Value
fe_compare(Fe *f, Operator o, Value a, Value b)
{
    static const OpCode ops[] = {OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE};
    static const int py_ops[] = {Py_EQ, Py_NE, Py_LT, Py_LE, Py_GT, Py_GE};
    a = fe_read(f, a);
    b = fe_read(f, b);
    int at = o - OPR_Eq;
    Value r;
    if (fe_aggregate_operator(f, o, a, b, &r))
        return r;
    fe_watch_operand(f, a);
    fe_watch_operand(f, b);
    if (a.kind == V_OBJ && b.kind == V_OBJ) {
        warn_dtype(f, a.obj, b.obj);
        return v_from_py(f, fe_own(f, PyObject_RichCompare(a.obj, b.obj, py_ops[at])));
    }
    if (a.kind == V_TUPLE || b.kind == V_TUPLE) {
        if (o != OPR_Eq && o != OPR_NotEq) {
            err_help(f->c, "t[0] is the first of a tuple's elements");
            fail(f, TYPE, "'%s' cannot compare %s and %s", opr_text[o], fe_who(f, a),
                 fe_who(f, b));
        }
        bool same = a.kind == V_TUPLE && b.kind == V_TUPLE && a.tuple->n == b.tuple->n;
        for (int i = 0; same && i < a.tuple->n; i++) {
            r = fe_compare(f, OPR_Eq, a.tuple->at[i], b.tuple->at[i]);
            if (r.kind != V_OBJ)
                fail(f, TYPE, "tuples of run-time values cannot be compared");
            same = fe_truth(f, r, "==");
        }
        return v_bool(same == (o == OPR_Eq));
    }
    if (is_py_none(a) || is_py_none(b))
        err_help(f->c, "write 'is None' or 'is not None'");
    if (is_pointer(a) || is_pointer(b)) {
        if (is_pointer(a) != is_pointer(b) && !is_py_none(a) && !is_py_none(b))
            err_help(f->c, "a tensor that is passed to a kernel is an address: tl.load "
                           "reads the number there; or pass the number, x.item()");
        else if (!is_py_none(a) && !is_py_none(b))
            err_help(f->c, "compare addresses: p.to(tl.int64)");
        fail(f, TYPE, "'%s' cannot compare %s and %s", opr_text[o], fe_who(f, a),
             fe_who(f, b));
    }
    Val *x, *y;
    fe_promote(f, v_val(fe_tensor(f, a, "an operand of a comparison")),
               v_val(fe_tensor(f, b, "an operand of a comparison")), false, false, &x,
               &y, opr_text[o]);
    if (elem_is_f8(x->type->elem)) {
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
    if (x->type->rank) {
        if (ty_numel(x->type) != 1) {
            if (!f->c->pending_help)
                err_help(f->c,
                         strstr(of, "while")
                             ? "tl.max(condition.to(tl.int32), 0) != 0 asks whether "
                               "any of them is true"
                             : "tl.where(condition, a, b) chooses element by element, "
                               "mask= of tl.load and tl.store leaves elements out");
            err_at(f->c, f->b.loc, CONDITION,
                   str_printf(f->a, "%s must be a scalar, not a block of shape %s", of,
                              ty_shape_str(f->a, x->type)));
        }
        fe_warn(f, PyExc_UserWarning,
                "%s is a block of one element, %s: take the scalar, x.item()", of,
                ty_str(f->a, x->type));
        x = fe_reshape(f, x, 0, NULL);
    }
    return fe_cast(f, x, E_I1, ROUND_RTNE);
}
