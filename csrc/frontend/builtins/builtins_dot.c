/* builtins_dot: the matrix product.
 *
 *     operands            result
 *     int8, int8          int32
 *     bf16, f32           f32
 *     f64                 f64
 *     f16, f8             out_dtype: f32, or f16
 *
 * acc has the result's type; without out_dtype acc decides. More than one batch dimension
 * is flattened to one and restored.
 */
#include "frontend/fe.h"

static Val *
dot_operand(Fe *f, Value v, const char *what)
{
    Val *x = fe_tensor(f, v, what);
    if (x->type->is_ptr || x->type->rank < 2) {
        if (x->type->is_ptr)
            err_help(f->c, "tl.load it first");
        else if (x->type->rank == 1)
            err_help(f->c, "of two vectors it is tl.sum(a * b), of a matrix and a "
                           "vector tl.sum(a * v[None, :], axis=1)");
        else
            err_help(f->c, "a block times a number is a * x");
        fail_of(f, v, VALUE,
                "%s of dot must be a block of two or more dimensions, not %s", what,
                ty_str(f->a, x->type));
    }
    return x;
}

static void
check_shapes(Fe *f, const Value *v, const Type *a, const Type *b)
{
    int r = a->rank;
    bool ok = r == b->rank && a->shape[r - 1] == b->shape[r - 2];
    for (int d = 0; ok && d < r - 2; d++)
        ok = a->shape[d] == b->shape[d];
    if (ok)
        return;
    if (r == 2 && b->rank == 2 && a->shape[1] == b->shape[1])
        err_help(f->c, "[M, K] @ [K, N]; tl.trans(b) swaps the dims of the second");
    else
        err_help(f->c, "[M, K] @ [K, N], with equal batch dimensions in front");
    const char *x = fe_written(f, v[0]), *y = fe_written(f, v[1]);
    bool inner = b->rank == r && a->shape[r - 1] != b->shape[r - 2];
    err_at(f->c, f->b.loc, SHAPE,
           str_printf(f->a, "dot of %s%s%s %s and %s%s%s %s: %s", x ? "'" : "",
                      x ? x : "a block", x ? "'" : "", ty_str(f->a, a), y ? "'" : "",
                      y ? y : "a block", y ? "'" : "", ty_str(f->a, b),
                      inner ? str_printf(f->a,
                                         "the first has %d columns, the second %d rows",
                                         (int)a->shape[r - 1], (int)b->shape[r - 2])
                            : "their other dimensions differ"));
}

static void
check_elems(Fe *f, const Type *a, const Type *b)
{
    Elem x = a->elem, y = b->elem;
    bool known = x == E_I8 || x == E_F16 || x == E_BF16 || x == E_F32 || x == E_F64;
    if ((x == y && known) || (elem_is_f8(x) && elem_is_f8(y)))
        return;
    if (x != y)
        err_help(f->c, "convert one: b.to(a.dtype)");
    else
        err_help(f->c,
                 "convert both; or tl.sum(a[:, :, None] * b[None, :, :], axis=1)");
    fail(f, TYPE,
         "dot of %s and %s; both must be int8, float16, bfloat16, float32, float64 "
         "or float8",
         elem_info[x].text, elem_info[y].text);
}

/* The type of the result; out_dtype and acc may each be absent. */
static Elem
result_elem(Fe *f, Elem in, Value out_dtype, const Val *acc)
{
    bool given = fe_is_given(out_dtype);
    Elem out = given ? v_elem(f, out_dtype, "out_dtype")
               : acc ? acc->type->elem
                     : E_F32;
    if (given && out == E_BF16 &&
        in != E_I8) /* which is int32, whatever is asked for */
        fail(f, VALUE,
             "out_dtype=bfloat16 is unsupported: use float32 and convert after");
    if (given && (in == E_F16 || elem_is_f8(in)) && out != E_F16 && out != E_F32) {
        err_help(f->c, "out_dtype=tl.float32, and .to(tl.%s) after", elem_info[out].tl);
        fail(f, VALUE, "dot of %s with out_dtype=%s", elem_info[in].text,
             elem_info[out].tl);
    }
    Elem e = in == E_I8 ? E_I32 : in == E_F64 ? E_F64 : E_F32;
    if (out == E_F16 && (in == E_F16 || elem_is_f8(in)))
        e = E_F16;
    if (given && out != e)
        fe_warn(f, PyExc_UserWarning,
                "a dot of %s is %s, whatever out_dtype says: .to(tl.%s) converts it",
                elem_info[in].tl, elem_info[e].tl, elem_info[out].tl);
    if (acc && acc->type->elem != e) {
        Elem own = acc->type->elem; /* can it be summed in? */
        if (given && (own == E_F16 || own == E_F32) && (in == E_F16 || elem_is_f8(in)))
            err_help(f->c,
                     "pass out_dtype=tl.%s to add into this acc, or make acc of "
                     "tl.%s",
                     elem_info[own].tl, elem_info[e].tl);
        else
            err_help(f->c, "make acc of tl.%s: tl.zeros((M, N), dtype=tl.%s)",
                     elem_info[e].tl, elem_info[e].tl);
        fail(f, TYPE, "dot of %s accumulates in %s, but acc is %s", elem_info[in].text,
             elem_info[e].text, ty_str(f->a, acc->type));
    }
    return e;
}

static int
precision(Fe *f, Value name, Value allow_tf32)
{
    static const char *const words[] = {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"};
    bool by_name = fe_is_given(name);
    const char *s = "tf32", *option;
    size_t len = 0;
    if (fe_is_given(allow_tf32)) {
        if (by_name)
            fail(f, VALUE, "only one of input_precision and allow_tf32 can be given");
        s = v_const_bool(f, allow_tf32, "allow_tf32") ? "tf32" : "ieee";
    } else if (by_name) {
        if (!PyUnicode_Check(v_to_py(f, name, "input_precision")))
            err_help(f->c, "the fourth argument says how float32 is multiplied, "
                           "\"tf32\" or \"ieee\": name the others, "
                           "allow_tf32=False, out_dtype=tl.float32");
        s = v_const_str(f, name, "input_precision");
    } else if ((option = option_text(f->c->option_texts,
                                     "default_dot_input_precision=", &len)))
        s = str_intern_n(f->c, option, len);
    else {
        PyObject *knob = fe_knob(f, "language", "fp32_default");
        if (knob != Py_None)
            s = v_const_str(f, v_obj(knob), "the knob language.fp32_default");
    }
    for (int i = 0; i < (int)COUNT(words); i++)
        if (!strcmp(s, words[i])) {
            if (!option_lists(f->c->option_texts, "allowed_dot_input_precisions=", s))
                fail(f, VALUE,
                     "input_precision \"%s\" is not among the option "
                     "allowed_dot_input_precisions of this launch",
                     s);
            return i;
        }
    err_help(f->c, "\"ieee\" multiplies float32 as it is");
    fail(f, VALUE,
         "input_precision must be one of tf32, tf32x3, ieee, bf16x3, bf16x6, not "
         "\"%s\"",
         s);
}

/* The leading dims of a rank above 3 as one. */
static Val *
flatten_batch(Fe *f, Val *v)
{
    const Type *t = v->type;
    if (t->rank <= 3)
        return v;
    int32_t shape[3] = {1, t->shape[t->rank - 2], t->shape[t->rank - 1]};
    for (int d = 0; d < t->rank - 2; d++)
        shape[0] *= t->shape[d];
    return fe_reshape(f, v, 3, shape);
}

/* max_num_imprecise_acc: how many elements along k are summed by themselves before the sum
 * joins the accumulator; 1: as few as an instruction takes. 0: nobody asks. */
static int64_t
partial_k(Fe *f, Value given, const Type *a)
{
    int k = a->shape[a->rank - 1], by_option = f->c->opt.imprecise;
    if (!fe_is_given(given)) {
        int n = by_option * IMPRECISE_EACH;
        return elem_is_f8(a->elem) && by_option < IMPRECISE_MOST && n <= k ? n : 0;
    }
    int64_t n = v_const_int(f, given, "max_num_imprecise_acc");
    if (n < 0 || (elem_is_f8(a->elem) && n > k))
        fail(f, VALUE, "max_num_imprecise_acc (%lld) must be <= K (%d)", (long long)n,
             k);
    return elem_is_f8(a->elem) ? MAX(n, 1) : 0;
}

/* Is a dot of it one that the launch, or the machine, would rather not have? */
static bool
is_deprecated(Fe *f, Elem e)
{
    static const char option[] = "deprecated_fp8_dot_operand_dtypes=";
    size_t n;
    const Target *t = &f->c->opt.target;
    if (option_text(f->c->option_texts, option, &n))
        return option_lists(f->c->option_texts, option, elem_info[e].sig);
    return e == E_F8E4B15 && t->kind != TARGET_CPU && t->sm >= 90;
}

static void
warn_deprecated(Fe *f, Elem e)
{
    if (!is_deprecated(f, e))
        return;
    if (e == E_F8E4B15)
        fe_warn(f, PyExc_UserWarning,
                "dot of tl.float8e4b15 is deprecated from sm_90 on, which has "
                "instructions for tl.float8e4nv and tl.float8e5");
    else
        fe_warn(f, PyExc_UserWarning,
                "dot of tl.%s is deprecated by the option "
                "deprecated_fp8_dot_operand_dtypes",
                elem_info[e].tl);
}

Value
bi_dot(Fe *f, Value *v)
{
    Val *a = dot_operand(f, v[0], "the first operand"),
        *b = dot_operand(f, v[1], "the second operand");
    Val *acc = NULL;
    check_elems(f, a->type, b->type);
    check_shapes(f, v, a->type, b->type);
    warn_deprecated(f, a->type->elem);
    warn_deprecated(f, b->type->elem);
    int r = a->type->rank;
    int32_t shape[MAX_RANK];
    memcpy(shape, a->type->shape, sizeof shape);
    shape[r - 1] = b->type->shape[r - 1];
    if (fe_is_given(v[2])) {
        acc = fe_tensor(f, v[2], "acc");
        if (acc->type->is_ptr || acc->type->rank != r ||
            memcmp(acc->type->shape, shape, (size_t)r * sizeof *shape)) {
            err_help(f->c, "acc = tl.zeros(%s, tl.float32)",
                     ty_shape_str(f->a, ty_with_shape(f->c, a->type, r, shape)));
            fe_blame(f, v[2]);
            err_at(
                f->c, f->b.loc, SHAPE,
                str_printf(f->a, "acc of dot has the shape %s, and the product %s",
                           ty_shape_str(f->a, acc->type),
                           ty_shape_str(f->a, ty_with_shape(f->c, a->type, r, shape))));
        }
    }
    Elem e = result_elem(f, a->type->elem, v[6], acc);
    fe_check_shape(f, r, shape);
    int prec = precision(f, v[3], v[4]);
    int64_t imprecise = partial_k(f, v[5], a->type);
    if (!acc)
        acc = ir_const_bits(&f->b, ty_block(f->c, ty_scalar(f->c, e), r, shape), 0);
    Val *in[3] = {flatten_batch(f, a), flatten_batch(f, b), flatten_batch(f, acc)};
    Op *o = ir_op(&f->b, OP_DOT, 3, in, 1, (const Type *[]){in[2]->type});
    ir_set_attr(o, ATTR_PRECISION, prec);
    ir_set_attr(o, ATTR_IMPRECISE, imprecise);
    return v_val(fe_reshape(f, result(o, 0), r, shape));
}
