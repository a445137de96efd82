/* builtins_reduce: what combines elements: reductions, scans, histogram, gather.
 *
 * A REDUCE holds its combine function as a region on scalars. The ones everybody uses are
 * built here directly; any other is a jit function, inlined into the region.
 *
 * Types before reducing: sum and cumsum widen integers below 32 bits to (u)int32; max and
 * min widen them to int32 and f16, bf16 to f32; with indices only bf16 is widened.
 */
#include "frontend/fe.h"

/* v: the scalar that is given. */
static NORETURN void
need_block(Fe *f, Value v)
{
    const CallArgs *a = f->args;
    bool is_max = f->callee && !strcmp(f->callee, "max");
    bool is_best = is_max || (f->callee && !strcmp(f->callee, "min"));
    if (is_best && a && a->n > 1 && !is_absent(a->v[1]))
        err_help(f->c, "tl.%s(a, b) compares two values; tl.%s(block, axis) reduces",
                 is_max ? "maximum" : "minimum", is_max ? "max" : "min");
    else
        err_help(f->c,
                 "a scalar is one value already; tl.load of a block of pointers gives "
                 "a block");
    const char *who = v.kind == V_TENSOR ? fe_who(f, v) : "a scalar";
    fail_of(f, v, VALUE, "%s needs a block, not %s", f->callee, who);
}

static Value
first_operand(Fe *f)
{
    return f->args && f->args->n ? f->args->v[0] : (Value){0};
}

/* axis of t, from -rank to rank - 1, made non-negative. */
static int
axis_of(Fe *f, Value v, const Type *t)
{
    if (!t->rank)
        need_block(f, first_operand(f));
    if (v.kind == V_TENSOR && f->callee && f->args && f->args->n > 1 &&
        (!strcmp(f->callee, "max") || !strcmp(f->callee, "min")))
        err_help(f->c, "tl.%simum(a, b) compares two values", f->callee);
    int64_t axis = v_const_int(f, v, "axis");
    if (axis < -t->rank || axis >= t->rank) {
        if (t->rank == 1)
            err_help(f->c, "a block of one dimension has the axis 0 alone");
        else
            err_help(f->c, "its axes are 0 to %d, from the left", t->rank - 1);
        fail_of(f, v, VALUE, "%s: axis %lld is outside the shape %s", f->callee,
                (long long)axis, ty_shape_str(f->a, t));
    }
    return (int)(axis < 0 ? axis + t->rank : axis);
}

/* What a region computes from (acc.., new..): fills out[n]. */
typedef void Combine(Fe *f, int n, Val **acc, Val **now, Val **out, void *data);

/* Is it what targets run for each pair of elements inside of a REDUCE or SCAN: arithmetic
 * on the arguments and on numbers, and choices? */
static bool
is_arithmetic(const Block *region)
{
    EACH_OP(o, region) {
        if (fe_is_mark(o))
            continue;
        for (int i = 0; i < o->n_args; i++) {
            const Val *v = arg(o, i);
            if (!ir_encloses(region, v->block) && (v->type->rank || v->type->is_ptr))
                return false;
        }
        if (o->op == OP_INLINE_ASM_IO || o->op == OP_EXTERN_IO ||
            (o->op == OP_INLINE_ASM && ir_attr(o, ATTR_PACK) > 1))
            return false;
        bool is_elem = op_has(o, OPF_ELEM) &&
                       !(o->n_results && result(o, 0)->type->rank);
        if (!is_elem && o->op != OP_IF && o->op != OP_YIELD && o->op != OP_CONST)
            return false;
    }
    return true;
}

Val *
fe_along(Fe *f, Val *row, int axis, const Type *t)
{
    return fe_splat_to(f, ir_as_dim(&f->b, row, axis, t->rank), t->rank, t->shape);
}

static Val *
row_const(Fe *f, const Val *like, int64_t v)
{
    return ir_const_int(&f->b, like->type, v);
}

/* A combine function that branches, loops, loads, prints or asserts. It runs for whole
 * blocks (widen.c), here for neighbours, pair by pair:
 *
 *     a b c d e  ->  ab cd e  ->  abcd e  ->  abcde
 */
static void
reduce_in_pairs(Fe *f, const Block *plan, const char *what, int n, Val **x, int axis)
{
    Val **args = NEW_N(f->a, Val *, 2 * n), **out = NEW_N(f->a, Val *, n);
    for (int32_t size; (size = x[0]->type->shape[axis]) > 1;) {
        Val *i = ir_arange(&f->b, 0, (size + 1) / 2), *on = NULL;
        Val *left = ir_bin(&f->b, OP_MUL, i, row_const(f, i, 2));
        Val *right = ir_bin(&f->b, OP_ADD, left, row_const(f, i, 1));
        if (size % 2) {
            Val *last = row_const(f, i, size - 1);
            on = ir_bin(&f->b, OP_LE, right, last);
            right = ir_bin(&f->b, OP_MIN, right, last);
        }
        for (int k = 0; k < n; k++) {
            args[k] = ir_pick(&f->b, x[k], axis, left);
            args[n + k] = ir_pick(&f->b, x[k], axis, right);
        }
        on = on ? fe_along(f, on, axis, args[0]->type) : NULL;
        fe_widen(f, plan, what, on, args, out);
        for (int k = 0; k < n; k++)
            x[k] = on ? ir_select(&f->b, on, out[k], args[k]) : out[k];
    }
    for (int k = 0; k < n; k++) {
        const Type *r = ty_without(f->c, x[k]->type, axis);
        x[k] = fe_reshape(f, x[k], r->rank, r->shape);
    }
}

/* The same of a scan: step d combines each element with the one d in front of it. */
static void
scan_in_steps(Fe *f, const Block *plan, const char *what, int n, Val **x, int axis,
              bool reverse)
{
    Val **args = NEW_N(f->a, Val *, 2 * n), **out = NEW_N(f->a, Val *, n);
    int32_t size = x[0]->type->shape[axis];
    for (int32_t d = 1; d < size; d *= 2) {
        Val *i = ir_arange(&f->b, 0, size);
        Val *edge = row_const(f, i, reverse ? size - 1 : 0);
        Val *from = ir_bin(&f->b, reverse ? OP_ADD : OP_SUB, i, row_const(f, i, d));
        Val *on = ir_bin(&f->b, reverse ? OP_LE : OP_GE, from, edge);
        from = ir_bin(&f->b, reverse ? OP_MIN : OP_MAX, from, edge);
        for (int k = 0; k < n; k++) {
            args[k] = ir_pick(&f->b, x[k], axis, from);
            args[n + k] = x[k];
        }
        on = fe_along(f, on, axis, x[0]->type);
        fe_widen(f, plan, what, on, args, out);
        for (int k = 0; k < n; k++)
            x[k] = ir_select(&f->b, on, out[k], x[k]);
    }
}

/* REDUCE or SCAN of n blocks of one shape; fills out[n]. */
static void
combine_op(Fe *f, OpCode code, int n, Val **in, int axis, bool reverse, Combine *fn,
           void *data, Val **out)
{
    const Type **types = NEW_N(f->a, const Type *, n);
    for (int i = 0; i < n; i++) {
        const Type *t = in[i]->type;
        types[i] = code == OP_SCAN ? t : ty_without(f->c, t, axis);
    }
    Op *o = ir_op(&f->b, code, n, in, n, types);
    ir_set_attr(o, ATTR_AXIS, axis);
    if (code == OP_SCAN)
        ir_set_attr(o, ATTR_REVERSE, reverse);
    Block *body = ir_block(f->func, o);
    Val **arg_v = NEW_N(f->a, Val *, 2 * n), **res = NEW_N(f->a, Val *, n);
    for (int i = 0; i < 2 * n; i++)
        arg_v[i] = ir_block_arg(body, ty_element(f->c, in[i % n]->type), NULL);
    Build outer = f->b;
    f->b.block = body;
    f->b.before = NULL;
    f->n_silent++;
    f->n_pairs++;
    fn(f, n, arg_v, arg_v + n, res, data);
    f->n_pairs--;
    f->n_silent--;
    ir_op(&f->b, OP_YIELD, n, res, 0, NULL);
    f->b = outer;
    ir_drop_unused(body, false); /* x + tl.zeros((1,), ..): for its type alone */
    if (!is_arithmetic(body)) {  /* for want of what the marks alone look at? */
        fe_drop_marks(body);
        ir_drop_unused(body, false);
    }
    if (is_arithmetic(body)) {
        for (int i = 0; i < n; i++)
            out[i] = result(o, i);
        return;
    }
    const char *what = str_printf(f->a, "the combine function of %s()", f->callee);
    memcpy(out, in, (size_t)n * sizeof *out);
    if (code == OP_SCAN)
        scan_in_steps(f, body, what, n, out, axis, reverse);
    else
        reduce_in_pairs(f, body, what, n, out, axis);
    ir_erase(o);
}

/* The combine functions of the usual reductions: one op. */
static void
combine_one(Fe *f, int n, Val **acc, Val **now, Val **out, void *data)
{
    (void)n;
    out[0] = ir_bin(&f->b, *(OpCode *)data, acc[0], now[0]);
}

typedef struct ArgCombine {
    bool is_max, tie_left;
} ArgCombine;

/* (value, index): the better value; of equal ones the smaller index when asked. */
static void
combine_arg(Fe *f, int n, Val **acc, Val **now, Val **out, void *data)
{
    const ArgCombine *k = data;
    (void)n;
    Val *better = ir_bin(&f->b, k->is_max ? OP_GT : OP_LT, acc[0], now[0]);
    if (k->tie_left) {
        Val *tie = ir_bin(&f->b, OP_AND, ir_bin(&f->b, OP_EQ, acc[0], now[0]),
                          ir_bin(&f->b, OP_LT, acc[1], now[1]));
        better = ir_bin(&f->b, OP_OR, better, tie);
    }
    for (int i = 0; i < 2; i++)
        out[i] = ir_select(&f->b, better, acc[i], now[i]);
}

/* A jit function. */
static void
combine_fn(Fe *f, int n, Val **acc, Val **now, Val **out, void *data)
{
    Value fn = *(Value *)data, *args = NEW_N(f->a, Value, 2 * n);
    for (int i = 0; i < n; i++) {
        args[i] = v_val(acc[i]);
        args[n + i] = v_val(now[i]);
    }
    const Loc *loc = f->b.loc;
    Value r = fe_decay(f, fe_read(f, fe_call_value(f, fn, 2 * n, args)));
    f->b.loc = loc;
    Value one[1] = {r};
    Value t = r.kind == V_TUPLE ? r : v_tuple(f, 1, one);
    bool ok = t.tuple->n == n;
    for (int i = 0; ok && i < n; i++) {
        ok = t.tuple->at[i].kind == V_TENSOR &&
             t.tuple->at[i].val->type == acc[i]->type;
        out[i] = t.tuple->at[i].val;
    }
    if (!ok) {
        Value want = v_tuple(f, n, args);
        if (r.kind == V_TENSOR && r.val->type->rank)
            err_help(f->c, "it gets single elements; of several blocks, "
                           "tl.reduce((x, y), axis, f) gives it one of each");
        else
            err_help(f->c, "it gets and gives the element types; convert the block "
                           "before");
        fail(f, TYPE, "the combine function of %s returns %s, expected %s", f->callee,
             v_short(f, r), v_short(f, n == 1 ? args[0] : want));
    }
}

/* ---- reduce ----------------------------------------------------------------------------------- */

/* Puts back the reduced dimension (or all of them, for axis -1) as 1. */
static Val *
keep_dim(Fe *f, Val *v, int axis, int rank)
{
    int32_t ones[MAX_RANK];
    for (int i = 0; i < MAX_RANK; i++)
        ones[i] = 1;
    if (axis < 0 || rank == 1)
        return fe_splat_to(f, v, rank, ones);
    return ir_expand(&f->b, v, axis);
}

/* Reduces along axis (absent or None: over all elements), n results in out. */
static void
reduce(Fe *f, int n, Val **in, Value axis_v, bool keep, Combine *fn, void *data,
       Val **out)
{
    bool all = !fe_is_given(axis_v);
    int rank = in[0]->type->rank, axis = 0;
    if (!rank)
        need_block(f, first_operand(f));
    if (all) {
        int32_t size = (int32_t)ty_numel(in[0]->type);
        for (int i = 0; i < n; i++)
            in[i] = fe_reshape(f, in[i], 1, &size);
    } else
        axis = axis_of(f, axis_v, in[0]->type);
    combine_op(f, OP_REDUCE, n, in, axis, false, fn, data, out);
    for (int i = 0; keep && i < n; i++)
        out[i] = keep_dim(f, out[i], all ? -1 : axis, rank);
}

static bool
flag(Fe *f, Value v, bool otherwise, const char *what)
{
    return !fe_is_given(v) ? otherwise : v_const_bool(f, v, what);
}

static Val *
block(Fe *f, Value v)
{
    Val *x = fe_tensor(f, v, str_printf(f->a, "the operand of %s", f->callee));
    if (x->type->is_ptr) {
        err_help(f->c, "tl.load them first");
        fail(f, TYPE, "%s takes numbers, not %s", f->callee, ty_str(f->a, x->type));
    }
    if (!x->type->rank)
        need_block(f, fe_read(f, v));
    return x;
}

static Value
reduce_by(Fe *f, OpCode op, Val *x, Value axis, Value keep)
{
    Val *r;
    reduce(f, 1, &x, axis, flag(f, keep, false, "keep_dims"), combine_one, &op, &r);
    return v_val(r);
}

/* The type sum and cumsum work in. */
static Val *
widen_for_sum(Fe *f, Val *x, Value dtype)
{
    Elem e = x->type->elem;
    if (fe_is_given(dtype))
        return fe_cast(f, x, v_elem(f, dtype, "dtype"), ROUND_RTNE);
    if (elem_is_int(e) && elem_info[e].bits < 32)
        return fe_cast(f, x, elem_is_signed(e) ? E_I32 : E_U32, ROUND_RTNE);
    return x;
}

/* x, which is added up or multiplied along an axis: not float8, which has no arithmetic,
 * unless one element is all there is. */
static Val *
summable(Fe *f, Val *x, Value axis)
{
    const Type *t = x->type;
    if (!elem_is_f8(t->elem))
        return x;
    bool all = !fe_is_given(axis);
    if ((all ? ty_numel(t) : t->shape[axis_of(f, axis, t)]) == 1)
        return x;
    err_help(f->c, "convert to tl.float16 or tl.float32 first");
    fail(f, TYPE, "%s is not available on %s", f->callee, elem_info[t->elem].text);
}

Value
bi_sum(Fe *f, Value *a)
{
    Val *x = summable(f, widen_for_sum(f, block(f, a[0]), a[3]), a[1]);
    return reduce_by(f, OP_ADD, x, a[1], a[2]);
}

/* Values and int32 indices of the best along an axis. */
static void
reduce_arg(Fe *f, bool is_max, Val *x, Value axis_v, bool tie_left, bool keep,
           Val **out)
{
    if (!fe_is_given(axis_v)) {
        err_help(f->c, "axis=0 is the only one of a block of one dimension");
        fail(f, VALUE, "%s with indices needs an axis", f->callee);
    }
    if (x->type->elem == E_BF16)
        x = fe_cast(f, x, E_F32, ROUND_RTNE);
    const Type *t = x->type;
    int axis = axis_of(f, axis_v, t);
    Val *i = fe_along(f, ir_arange(&f->b, 0, t->shape[axis]), axis, t);
    ArgCombine k = {is_max, tie_left};
    reduce(f, 2, (Val *[]){x, i}, axis_v, keep, combine_arg, &k, out);
}

Value
bi_best(Fe *f, Value *a)
{
    bool is_max = f->which;
    Val *x = block(f, a[0]), *out[2];
    Elem e = x->type->elem;
    if (flag(f, a[2], false, "return_indices")) {
        reduce_arg(f, is_max, x, a[1],
                   flag(f, a[3], true, "return_indices_tie_break_left"),
                   flag(f, a[4], false, "keep_dims"), out);
        Value pair[2] = {v_val(out[0]), v_val(out[1])};
        return v_tuple(f, 2, pair);
    }
    if (elem_info[e].bits < 32)
        x = fe_cast(f, x, elem_is_float(e) ? E_F32 : E_I32, ROUND_RTNE);
    return reduce_by(f, is_max ? OP_MAX : OP_MIN, x, a[1], a[4]);
}

Value
bi_arg_best(Fe *f, Value *a)
{
    bool is_max = f->which;
    Val *out[2];
    reduce_arg(f, is_max, block(f, a[0]), a[1], flag(f, a[2], true, "tie_break_left"),
               flag(f, a[3], false, "keep_dims"), out);
    return v_val(out[1]);
}

static Val *
int_block(Fe *f, Value v)
{
    Val *x = block(f, v);
    if (!elem_is_int(x->type->elem)) {
        err_help(f->c, "convert first: x.to(tl.int32)");
        fail(f, TYPE, "%s takes integers, not %s", f->callee, ty_str(f->a, x->type));
    }
    return x;
}

Value
bi_reduce_bits(Fe *f, Value *a)
{
    return reduce_by(f, (OpCode)f->which, int_block(f, a[0]), a[1], a[2]);
}

/* ---- by a function ---------------------------------------------------------------------------- */

enum { MAX_COMBINED = 16 };

/* The operands of reduce and associative_scan: a block, or a tuple of blocks. */
static int
operands(Fe *f, Value v, Val **in)
{
    Value one[1] = {v};
    Value t = v.kind == V_TUPLE ? v : v_tuple(f, 1, one);
    if (t.tuple->n < 1 || t.tuple->n > MAX_COMBINED)
        fail(f, VALUE, "%s takes 1 to %d blocks, not %d", f->callee, MAX_COMBINED,
             t.tuple->n);
    for (int i = 0; i < t.tuple->n; i++) {
        in[i] = block(f, t.tuple->at[i]);
        if (!ty_same_shape(in[i]->type, in[0]->type))
            fe_bad_shapes(f,
                          str_printf(f->a, "%s needs blocks of one shape", f->callee),
                          in[0]->type, in[i]->type);
    }
    return t.tuple->n;
}

static Value
as_operands(Fe *f, Value like, int n, Val *const *v)
{
    if (like.kind != V_TUPLE)
        return v_val(v[0]);
    Value r[MAX_COMBINED];
    for (int i = 0; i < n; i++)
        r[i] = v_val(v[i]);
    return v_tuple(f, n, r);
}

static void
need_function(Fe *f, Value fn, int n)
{
    FeFunction *jit = fe_as_function(f, fn);
    int takes = jit ? jit->n_params : 2 * n;
    if (jit && takes < 2 * n && !fe_tree(f, jit)->has_vararg) {
        fe_blame(f, fn);
        err_at(f->c, f->b.loc, ARGUMENT,
               !strcmp(jit->name, "lambda") ? "this lambda"
                                            : str_printf(f->a, "%s()", jit->name),
               str_printf(f->a,
                          "it combines %d value%s with %d, so it takes %d "
                          "arguments, not %d",
                          n, n == 1 ? "" : "s", n, 2 * n, takes));
    }
    if (jit || (fn.kind == V_OBJ && fe_builtin_name_of(f, fn.obj)))
        return;
    err_help(f->c,
             "lambda a, b: a + b adds, lambda a, b: tl.maximum(a, b) takes the larger");
    fail_of(
        f, fn, TYPE,
        "the combine function of %s must be a function under @jit or a lambda, not %s",
        f->callee, v_describe(f, fn));
}

Value
bi_reduce(Fe *f, Value *a)
{
    Val *in[MAX_COMBINED], *out[MAX_COMBINED];
    int n = operands(f, a[0], in);
    need_function(f, a[2], n);
    reduce(f, n, in, a[1], flag(f, a[3], false, "keep_dims"), combine_fn, &a[2], out);
    return as_operands(f, a[0], n, out);
}

Value
bi_associative_scan(Fe *f, Value *a)
{
    Val *in[MAX_COMBINED], *out[MAX_COMBINED];
    int n = operands(f, a[0], in);
    need_function(f, a[2], n);
    int axis = axis_of(f, a[1], in[0]->type);
    combine_op(f, OP_SCAN, n, in, axis, flag(f, a[3], false, "reverse"), combine_fn,
               &a[2], out);
    return as_operands(f, a[0], n, out);
}

static Value
running(Fe *f, OpCode op, Val *x, Value axis, Value reverse)
{
    Val *r;
    int at = is_absent(axis) ? 0 : axis_of(f, axis, x->type);
    combine_op(f, OP_SCAN, 1, &x, at, flag(f, reverse, false, "reverse"), combine_one,
               &op, &r);
    return v_val(r);
}

static Val *
f32_for_bf16(Fe *f, Val *x)
{
    return x->type->elem == E_BF16 ? fe_cast(f, x, E_F32, ROUND_RTNE) : x;
}

/* The axis of a scan, 0 unless it is given. */
static Value
at_0(Fe *f, Value axis)
{
    return is_absent(axis) ? v_int(f, 0) : axis;
}

/* cumsum, cumprod. */
Value
bi_running(Fe *f, Value *a)
{
    Val *x = widen_for_sum(f, f32_for_bf16(f, block(f, a[0])), a[3]);
    return running(f, (OpCode)f->which, summable(f, x, at_0(f, a[1])), a[1], a[2]);
}

/* ---- histogram, gather --------------------------------------------------------------------------- */

Value
bi_histogram(Fe *f, Value *a)
{
    Val *x = int_block(f, a[0]), *mask = NULL;
    int64_t bins = v_const_int(f, a[1], "num_bins");
    if (x->type->rank != 1)
        fail(f, VALUE, "histogram takes one dimension, not the shape %s",
             ty_shape_str(f->a, x->type));
    if (bins < 1 || bins > MAX_NUMEL)
        fail(f, VALUE, "num_bins must be 1 to %d, not %lld", MAX_NUMEL,
             (long long)bins);
    if (fe_is_given(a[2])) {
        mask = fe_tensor(f, a[2], "mask");
        if (mask->type->is_ptr || mask->type->elem != E_I1)
            fail(f, TYPE, "the mask of histogram must be of int1, not %s",
                 ty_str(f->a, mask->type));
        mask = fe_broadcast_like(f, mask, x->type);
    }
    int32_t n = (int32_t)bins;
    const Type *t = ty_block(f->c, ty_scalar(f->c, E_I32), 1, &n);
    Op *o = ir_op(&f->b, OP_HISTOGRAM, mask ? 2 : 1, (Val *[]){x, mask}, 1, &t);
    ir_set_attr(o, ATTR_BINS, bins);
    return v_val(result(o, 0));
}

Value
bi_gather(Fe *f, Value *a)
{
    Val *src = block(f, a[0]), *index = block(f, a[1]);
    if (!elem_is_int(index->type->elem)) {
        err_help(f->c, "convert: index.to(tl.int32)");
        fail_of(f, a[1], TYPE, "gather needs integer indices, not %s",
                ty_str(f->a, index->type));
    }
    int axis = axis_of(f, a[2], src->type);
    bool ok = src->type->rank == index->type->rank;
    for (int d = 0; ok && d < src->type->rank; d++)
        ok = d == axis || src->type->shape[d] == index->type->shape[d];
    if (!ok) {
        err_help(
            f->c,
            "index has as many dimensions as src, and the same ones but along axis");
        fe_bad_shapes(f, "the index of gather does not fit its source", src->type,
                      index->type);
    }
    const Type *t = ty_with_shape(f->c, src->type, index->type->rank,
                                  index->type->shape);
    Op *o = ir_op(&f->b, OP_GATHER, 2, (Val *[]){src, index}, 1, &t);
    ir_set_attr(o, ATTR_AXIS, axis);
    return v_val(result(o, 0));
}

Value
bi_sorted(Fe *f, Value *a)
{
    Val *x = int_block(f, a[0]);
    int32_t shape[MAX_RANK];
    memcpy(shape, x->type->shape, sizeof shape);
    shape[x->type->rank - 1] = (int32_t)v_const_int(f, a[1], "k");
    const Type *t = ty_with_shape(f->c, x->type, x->type->rank, shape);
    Op *o = ir_op(&f->b, OP_SORT, 1, &x, 1, &t);
    ir_set_attr(o, ATTR_REVERSE, v_const_int(f, a[2], "descending") != 0);
    return v_val(result(o, 0));
}
