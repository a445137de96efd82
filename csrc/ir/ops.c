/* ops: the op table, and for each row what must hold for such an op. The checks are
 * static here and the table names them, so a row of ops.def without its check_* does
 * not compile.
 *
 * A check returns NULL or what is wrong in words. It looks at one op: types of operands
 * and results, attributes, arguments and yields of regions. It may trust what
 * verify.c's walk has seen before: counts that are not -1, linked blocks with a
 * terminator, types of values.
 *
 * Long because it is one table: the checks are its cells, one after another as in ops.def.
 */
#include "ir/ir.h"

#include <inttypes.h>

static const char *say(const Op *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

static const char *
say(const Op *o, const char *fmt, ...)
{
    Arena *a = o->block->func->c->arena;
    va_list ap;
    va_start(ap, fmt);
    const char *text = str_vprintf(a, fmt, ap);
    va_end(ap);
    return str_printf(a, "%s: %s", info(o)->text, text);
}

/* ---- helpers: types ------------------------------------------------------------- */

static Comp *
comp(const Op *o)
{
    return o->block->func->c;
}

static const char *
str(const Op *o, const Type *t)
{
    const char *s = ty_str(comp(o)->arena, t);
    if (t->layout)
        s = str_printf(comp(o)->arena, "%s (%s)", s,
                       layout_str(comp(o)->arena, t->layout));
    return s;
}

static const Type *
at(const Op *o, int i)
{
    return arg(o, i)->type;
}

static const Type *
res(const Op *o, int i)
{
    return result(o, i)->type;
}

static bool
is_elem(const Type *t, Elem e)
{
    return !t->is_ptr && t->elem == e;
}

static bool
is_int(const Type *t)
{
    return !t->is_ptr && elem_is_int(t->elem);
}

static bool
is_float(const Type *t)
{
    return !t->is_ptr && elem_is_float(t->elem);
}

static bool
is_f8(const Type *t)
{
    return is_float(t) && elem_info[t->elem].bits == 8;
}

/* One element of the same kind, whatever the shape. */
static bool
same_element(const Type *a, const Type *b)
{
    return a->elem == b->elem && a->is_ptr == b->is_ptr && a->is_const == b->is_const;
}

static bool
same_place(const Type *a, const Type *b)
{
    return ty_same_shape(a, b) && a->layout == b->layout;
}

static const char *
want_result(const Op *o, int i, const Type *t)
{
    if (res(o, i) == t)
        return NULL;
    return say(o, "result %d is %s, expected %s", i, str(o, res(o, i)), str(o, t));
}

static const char *
want_arg(const Op *o, int i, const Type *t)
{
    if (at(o, i) == t)
        return NULL;
    return say(o, "operand %d is %s, expected %s", i, str(o, at(o, i)), str(o, t));
}

/* A result of the given shape and o's element type e; its layout is free. */
static const char *
want_shape(const Op *o, int i, const Type *elem, int rank, const int32_t *shape)
{
    const Type *t = ty_with_shape(comp(o), elem, rank, shape);
    if (same_element(res(o, i), t) && ty_same_shape(res(o, i), t))
        return NULL;
    return say(o, "result %d is %s, expected %s", i, str(o, res(o, i)), str(o, t));
}

static const char *
want_count(const Op *o, int least, int most)
{
    if (o->n_args >= least && o->n_args <= most)
        return NULL;
    return say(o, "%d operands, expected %d to %d", o->n_args, least, most);
}

/* Operand i, when it is there, masks a block (or scalar) of type t. */
static const char *
want_mask(const Op *o, int i, const Type *t)
{
    if (i >= o->n_args)
        return NULL;
    return want_arg(o, i, ty_with_elem(comp(o), t, E_I1));
}

/* All operands and the result are of one type that is no pointer. */
static const char *
all_same(const Op *o)
{
    if (at(o, 0)->is_ptr)
        return say(o, "operand 0 is a pointer: %s", str(o, at(o, 0)));
    for (int i = 1; i < o->n_args; i++)
        if (at(o, i) != at(o, 0))
            return want_arg(o, i, at(o, 0));
    return want_result(o, 0, at(o, 0));
}

/* ---- values and shapes ---------------------------------------------------------- */

static const char *
check_const_(const Op *o)
{
    int bits = ty_bits(res(o, 0));
    if (bits < 64 && o->bits >> bits)
        return say(o, "0x%" PRIx64 " has more bits than %s", o->bits,
                   str(o, res(o, 0)));
    return NULL;
}

static const char *
check_arange(const Op *o)
{
    int64_t start = ir_attr(o, ATTR_START), end = ir_attr(o, ATTR_END);
    if (start < 0 || end <= start || end > (int64_t)1 << 32 || end - start > MAX_NUMEL)
        return say(o, "bad range %" PRId64 "..%" PRId64, start, end);
    int32_t n = (int32_t)(end - start);
    return want_shape(o, 0, ty_scalar(comp(o), E_I32), 1, &n);
}

static const char *
check_splat(const Op *o)
{
    if (at(o, 0)->rank || !res(o, 0)->rank || !same_element(at(o, 0), res(o, 0)))
        return say(o, "from %s to %s", str(o, at(o, 0)), str(o, res(o, 0)));
    return NULL;
}

static const char *
check_axis_i32(const Op *o)
{
    int64_t axis = ir_attr(o, ATTR_AXIS);
    if (axis < 0 || axis > 2)
        return say(o, "axis %" PRId64 ", expected 0 to 2", axis);
    return want_result(o, 0, ty_scalar(comp(o), E_I32));
}

static const char *
check_expand(const Op *o)
{
    const Type *t = at(o, 0);
    int64_t axis = ir_attr(o, ATTR_AXIS);
    if (!t->rank || t->rank == MAX_RANK || axis < 0 || axis > t->rank)
        return say(o, "axis %" PRId64 " of %s", axis, str(o, t));
    int32_t shape[MAX_RANK];
    for (int i = 0; i <= t->rank; i++)
        shape[i] = i == axis ? 1 : t->shape[i - (i > axis)];
    return want_shape(o, 0, t, t->rank + 1, shape);
}

static const char *
check_broadcast(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    bool ok = from->rank && from->rank == to->rank && same_element(from, to);
    for (int i = 0; ok && i < from->rank; i++)
        ok = from->shape[i] == to->shape[i] || from->shape[i] == 1;
    return ok ? NULL : say(o, "from %s to %s", str(o, from), str(o, to));
}

static const char *
check_reshape(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    if (!from->rank || !same_element(from, to) || ty_numel(from) != ty_numel(to))
        return say(o, "from %s to %s", str(o, from), str(o, to));
    return NULL;
}

static const char *
check_trans(const Op *o)
{
    const Type *t = at(o, 0);
    uint64_t perm = (uint64_t)ir_attr(o, ATTR_PERM);
    unsigned seen = 0;
    int32_t shape[MAX_RANK];
    for (int i = 0; i < t->rank; i++) {
        unsigned d = perm >> (4 * i) & 15;
        if (d >= t->rank || seen & 1u << d)
            return say(o, "0x%" PRIx64 " does not permute %d dims", perm, t->rank);
        seen |= 1u << d;
        shape[i] = t->shape[d];
    }
    if (!t->rank || perm >> (4 * t->rank))
        return say(o, "0x%" PRIx64 " does not permute %d dims", perm, t->rank);
    return want_shape(o, 0, t, t->rank, shape);
}

static const char *
check_join(const Op *o)
{
    const Type *t = at(o, 0);
    if (at(o, 1) != t)
        return want_arg(o, 1, t);
    if (!t->rank)
        return say(o, "operands are scalars, expected blocks");
    if (t->rank == MAX_RANK)
        return say(o, "more than %d dims", MAX_RANK);
    int32_t shape[MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    shape[t->rank] = 2;
    return want_shape(o, 0, t, t->rank + 1, shape);
}

static const char *
check_split(const Op *o)
{
    const Type *t = at(o, 0);
    if (t->rank < 2 || t->shape[t->rank - 1] != 2)
        return say(o, "%s is not a block of two or more dims, the last one 2",
                   str(o, t));
    const char *err = want_shape(o, 0, t, t->rank - 1, t->shape);
    return err ? err : want_result(o, 1, res(o, 0));
}

static const char *
check_cat(const Op *o)
{
    const Type *t = at(o, 0);
    if (at(o, 1) != t)
        return want_arg(o, 1, t);
    if (t->rank != 1)
        return say(o, "operands are %s, expected one dim", str(o, t));
    int32_t n = 2 * t->shape[0];
    return want_shape(o, 0, t, 1, &n);
}

static const char *
check_resize(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    if (!from->rank || from->rank != to->rank || !same_element(from, to) ||
        from->is_ptr || from->layout || to->layout)
        return say(o, "from %s to %s", str(o, from), str(o, to));
    return want_arg(o, 1, ty_element(comp(o), from));
}

static const char *
check_convert(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    if (!from->layout || !to->layout || !ty_same_shape(from, to) ||
        !same_element(from, to))
        return say(o, "from %s to %s", str(o, from), str(o, to));
    return NULL;
}

/* ---- elementwise ---------------------------------------------------------------- */

static const char *
check_arith(const Op *o)
{
    return all_same(o);
}

static const char *
check_float_(const Op *o)
{
    return is_float(at(o, 0)) ? all_same(o) : say(o, "of %s", str(o, at(o, 0)));
}

static const char *
check_int_(const Op *o)
{
    return is_int(at(o, 0)) ? all_same(o) : say(o, "of %s", str(o, at(o, 0)));
}

static const char *
check_math(const Op *o)
{
    if (!is_elem(at(o, 0), E_F32) && !is_elem(at(o, 0), E_F64))
        return say(o, "of %s, expected f32 or f64", str(o, at(o, 0)));
    return all_same(o);
}

static const char *
check_compare(const Op *o)
{
    if (at(o, 0)->is_ptr)
        return say(o, "of pointers");
    if (at(o, 1) != at(o, 0))
        return want_arg(o, 1, at(o, 0));
    return want_result(o, 0, ty_with_elem(comp(o), at(o, 0), E_I1));
}

static const char *
check_select(const Op *o)
{
    const Type *t = at(o, 1);
    const char *err = want_mask(o, 0, t);
    if (!err)
        err = want_arg(o, 2, t);
    return err ? err : want_result(o, 0, t);
}

static const char *
check_cast(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    if (from->is_ptr || to->is_ptr || !same_place(from, to) ||
        (is_f8(from) && is_int(to)) || (is_int(from) && is_f8(to)))
        return say(o, "from %s to %s", str(o, from), str(o, to));
    bool narrows = is_float(from) && is_float(to) && ty_bits(to) < ty_bits(from);
    int64_t rounding = ir_attr(o, ATTR_ROUNDING);
    if (rounding != ROUND_RTNE && (rounding != ROUND_RTZ || !narrows))
        return say(o, "rounding is for floats that become narrower");
    return NULL;
}

static const char *
check_bitcast(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    if (!same_place(from, to) || ty_bits(from) != ty_bits(to))
        return say(o, "from %s to %s", str(o, from), str(o, to));
    return NULL;
}

static const char *
check_addptr(const Op *o)
{
    const Type *p = at(o, 0), *i = at(o, 1);
    if (!p->is_ptr || !is_int(i) || !same_place(p, i))
        return say(o, "of %s and %s", str(o, p), str(o, i));
    return want_result(o, 0, p);
}

static const char *
check_hint(const Op *o)
{
    if (is_float(at(o, 0)))
        return say(o, "of %s, expected integers or pointers", str(o, at(o, 0)));
    return want_result(o, 0, at(o, 0));
}

/* ---- memory --------------------------------------------------------------------- */

/* Operand 0 is a pointer, and one that may be written when asked. */
static const char *
want_pointer(const Op *o, bool writes)
{
    if (!at(o, 0)->is_ptr)
        return say(o, "operand 0 is %s, expected a pointer", str(o, at(o, 0)));
    if (writes && at(o, 0)->is_const)
        return say(o, "through a const pointer");
    return NULL;
}

static const char *
want_word(const Op *o, Attr a, int64_t first, int64_t last)
{
    int64_t v = ir_attr(o, a);
    if (v >= first && v <= last)
        return NULL;
    return say(o, "%s is %" PRId64, attr_info[a].text, v);
}

static const char *
check_load(const Op *o)
{
    const char *err = want_count(o, 1, 3);
    if (!err)
        err = want_pointer(o, false);
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    err = want_mask(o, 1, t);
    if (!err && o->n_args > 2)
        err = want_arg(o, 2, t);
    if (!err)
        err = want_word(o, ATTR_CACHE, CACHE_NONE, CACHE_CV);
    if (!err)
        err = want_word(o, ATTR_EVICT, EVICT_NONE, EVICT_LAST);
    return err ? err : want_result(o, 0, t);
}

static const char *
check_store(const Op *o)
{
    const char *err = want_count(o, 2, 3);
    if (!err)
        err = want_pointer(o, true);
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    err = want_arg(o, 1, t);
    if (!err)
        err = want_mask(o, 2, t);
    if (!err)
        err = want_word(o, ATTR_CACHE, CACHE_NONE, CACHE_WT);
    return err ? err : want_word(o, ATTR_EVICT, EVICT_NONE, EVICT_LAST);
}

static const char *
want_order(const Op *o)
{
    const char *err = want_word(o, ATTR_SEM, SEM_ACQ_REL, SEM_RELAXED);
    return err ? err : want_word(o, ATTR_SCOPE, SCOPE_GPU, SCOPE_SYS);
}

static const char *
check_atomic(const Op *o)
{
    const char *err = want_count(o, 2, 3);
    if (!err)
        err = want_pointer(o, true);
    if (!err)
        err = want_order(o);
    if (!err)
        err = want_word(o, ATTR_RMW, RMW_ADD, RMW_XCHG);
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    int64_t rmw = ir_attr(o, ATTR_RMW);
    bool wide = ty_bits(t) >= 32, narrow_float = is_float(t) && ty_bits(t) == 16;
    bool bitwise = rmw == RMW_AND || rmw == RMW_OR || rmw == RMW_XOR;
    if (!(wide || (narrow_float && rmw == RMW_ADD)) || (bitwise && is_float(t)))
        return say(o, "not for %s", str(o, t));
    err = want_arg(o, 1, t);
    if (!err)
        err = want_mask(o, 2, t);
    return err ? err : want_result(o, 0, t);
}

static const char *
check_cas(const Op *o)
{
    const char *err = want_count(o, 3, 4);
    if (!err)
        err = want_pointer(o, true);
    if (!err)
        err = want_order(o);
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    if (ty_bits(t) < 16)
        return say(o, "not for %s", str(o, t));
    err = want_arg(o, 1, t);
    if (!err)
        err = want_arg(o, 2, t);
    if (!err)
        err = want_mask(o, 3, t);
    return err ? err : want_result(o, 0, t);
}

/* ---- across elements ------------------------------------------------------------ */

/* The region's arguments are 2 n scalars and it yields n of the operands' elements. */
static const char *
check_combine(const Op *o)
{
    Comp *c = comp(o);
    const Block *b = o->regions[0];
    int n = o->n_args;
    int64_t axis = ir_attr(o, ATTR_AXIS);
    if (n < 1 || o->n_results != n || b->n_args != 2 * n)
        return say(o, "%d operands, %d results, %d arguments of the region", n,
                   o->n_results, b->n_args);
    if (axis < 0 || axis >= at(o, 0)->rank)
        return say(o, "axis %" PRId64 " of %s", axis, str(o, at(o, 0)));
    const Op *y = b->last;
    if (y->op != OP_YIELD || y->n_args != n)
        return say(o, "the region must yield %d values", n);
    for (int i = 0; i < n; i++) {
        const Type *elem = ty_element(c, at(o, i));
        if (elem->is_ptr || !same_place(at(o, i), at(o, 0)))
            return say(o, "operand %d is %s", i, str(o, at(o, i)));
        if (b->args[i]->type != elem || b->args[n + i]->type != elem ||
            at(y, i) != elem)
            return say(o, "value %d of the region is not %s everywhere", i,
                       str(o, elem));
    }
    return NULL;
}

static const char *
check_reduce(const Op *o)
{
    const char *err = check_combine(o);
    for (int i = 0; !err && i < o->n_args; i++) {
        const Type *t = at(o, i);
        int64_t axis = ir_attr(o, ATTR_AXIS);
        int32_t shape[MAX_RANK] = {0};
        for (int d = 0, n = 0; d < t->rank; d++)
            if (d != axis)
                shape[n++] = t->shape[d];
        err = want_shape(o, i, t, t->rank - 1, shape);
    }
    return err;
}

static const char *
check_scan(const Op *o)
{
    const char *err = check_combine(o);
    if (!err)
        err = want_word(o, ATTR_REVERSE, 0, 1);
    for (int i = 0; !err && i < o->n_args; i++)
        err = want_result(o, i, at(o, i));
    return err;
}

static bool
dot_elements_fit(const Type *a, const Type *b, const Type *acc)
{
    if (is_f8(a) && is_f8(b))
        return is_elem(acc, E_F32) || is_elem(acc, E_F16);
    if (!same_element(a, b) || a->is_ptr)
        return false;
    switch (a->elem) {
    case E_I8: return is_elem(acc, E_I32);
    case E_F16: return is_elem(acc, E_F32) || is_elem(acc, E_F16);
    case E_BF16:
    case E_F32: return is_elem(acc, E_F32);
    case E_F64: return is_elem(acc, E_F64);
    default: return false;
    }
}

static const char *
check_dot(const Op *o)
{
    const Type *a = at(o, 0), *b = at(o, 1), *acc = at(o, 2);
    int r = acc->rank;
    bool ok =
        (r == 2 || r == 3) && a->rank == r && b->rank == r &&
        a->shape[r - 1] == b->shape[r - 2] && a->shape[r - 2] == acc->shape[r - 2] &&
        b->shape[r - 1] == acc->shape[r - 1] &&
        (r == 2 || (a->shape[0] == acc->shape[0] && b->shape[0] == acc->shape[0]));
    if (!ok || !dot_elements_fit(a, b, acc))
        return say(o, "%s @ %s + %s", str(o, a), str(o, b), str(o, acc));
    const char *err = want_word(o, ATTR_PRECISION, PREC_TF32, PREC_BF16X6);
    int64_t sides = ir_attr(o, ATTR_SIDES); /* M - 1, N - 1, K - 1: dot_sides */
    const int32_t most[3] = {acc->shape[r - 2], acc->shape[r - 1], a->shape[r - 1]};
    for (int i = 0; i < 3 && !err; i++)
        if (sides < 0 || (sides >> (20 * i) & 0xfffff) >= most[i])
            err = say(o, "sides %" PRId64, sides);
    return err ? err : want_result(o, 0, acc);
}

static const char *
check_gather(const Op *o)
{
    const Type *src = at(o, 0), *index = at(o, 1);
    int64_t axis = ir_attr(o, ATTR_AXIS);
    bool ok = src->rank && src->rank == index->rank && is_int(index) && axis >= 0 &&
              axis < src->rank;
    for (int d = 0; ok && d < src->rank; d++)
        ok = d == axis || src->shape[d] == index->shape[d];
    if (!ok)
        return say(o, "%s by %s along %" PRId64, str(o, src), str(o, index), axis);
    return want_shape(o, 0, src, index->rank, index->shape);
}

static const char *
check_histogram(const Op *o)
{
    const char *err = want_count(o, 1, 2);
    if (err)
        return err;
    int64_t bins = ir_attr(o, ATTR_BINS);
    if (at(o, 0)->rank != 1 || !is_int(at(o, 0)) || bins < 1 || bins > MAX_NUMEL)
        return say(o, "of %s into %" PRId64 " bins", str(o, at(o, 0)), bins);
    err = want_mask(o, 1, at(o, 0));
    int32_t n = (int32_t)bins;
    return err ? err : want_shape(o, 0, ty_scalar(comp(o), E_I32), 1, &n);
}

/* ---- control -------------------------------------------------------------------- */

/* Are the n values from *v on (as operands) of the types of the block arguments from
 * `first`? */
static const char *
want_block_args(const Op *o, const Block *b, int first, const Op *from, int from_first)
{
    int n = from->n_args - from_first;
    if (n < 0 || b->n_args - first != n)
        return say(o, "the region has %d arguments for %d values of %s",
                   b->n_args - first, n, info(from)->text);
    for (int i = 0; i < n; i++)
        if (b->args[first + i]->type != at(from, from_first + i))
            return say(o, "argument %d of the region is %s, %s gives %s", first + i,
                       str(o, b->args[first + i]->type), info(from)->text,
                       str(o, at(from, from_first + i)));
    return NULL;
}

/* Are the operands of `from`, from from_first on, the results of o? */
static const char *
want_results(const Op *o, const Op *from, int from_first)
{
    int n = from->n_args - from_first;
    if (n != o->n_results)
        return say(o, "%d results, %s gives %d", o->n_results, info(from)->text, n);
    for (int i = 0; i < n; i++)
        if (res(o, i) != at(from, from_first + i))
            return say(o, "result %d is %s, %s gives %s", i, str(o, res(o, i)),
                       info(from)->text, str(o, at(from, from_first + i)));
    return NULL;
}

static const char *
check_for_(const Op *o)
{
    if (o->n_args < 3)
        return say(o, "%d operands, expected lower, upper, step", o->n_args);
    const Type *t = at(o, 0);
    if (t->rank || !is_int(t) || at(o, 1) != t || at(o, 2) != t)
        return say(o, "from %s to %s by %s", str(o, t), str(o, at(o, 1)),
                   str(o, at(o, 2)));
    const Block *b = o->regions[0];
    if (b->n_args < 1 || b->args[0]->type != t)
        return say(o, "the first argument of the region must be %s", str(o, t));
    if (b->last->op != OP_YIELD)
        return say(o, "the region must end in yield");
    const char *err = want_block_args(o, b, 1, o, 3);
    if (!err)
        err = want_block_args(o, b, 1, b->last, 0);
    return err ? err : want_results(o, o, 3);
}

static const char *
check_while_(const Op *o)
{
    const Block *before = o->regions[0], *body = o->regions[1];
    const Op *cond = before->last, *y = body->last;
    if (cond->op != OP_CONDITION || cond->n_args < 1 || y->op != OP_YIELD)
        return say(o, "region 0 must end in condition, region 1 in yield");
    const char *err = want_block_args(o, before, 0, o, 0);
    if (!err)
        err = want_block_args(o, before, 0, y, 0);
    if (!err)
        err = want_block_args(o, body, 0, cond, 1);
    return err ? err : want_results(o, cond, 1);
}

static const char *
check_if_(const Op *o)
{
    const char *err = want_arg(o, 0, ty_scalar(comp(o), E_I1));
    if (!err && o->n_regions == 1 && o->n_results)
        err = say(o, "results need a second region");
    for (int i = 0; !err && i < o->n_regions; i++) {
        const Block *b = o->regions[i];
        if (b->n_args)
            err = say(o, "region %d has arguments", i);
        else if (b->last->op != OP_YIELD)
            err = say(o, "region %d must end in yield", i);
        else
            err = want_results(o, b->last, 0);
    }
    return err;
}

static const char *
check_yield(const Op *o)
{
    return o->block->owner ? NULL : say(o, "outside of a region");
}

static const char *
check_condition(const Op *o)
{
    const Op *owner = o->block->owner;
    if (!owner || owner->op != OP_WHILE || owner->regions[0] != o->block)
        return say(o, "belongs at the end of a while's region 0");
    if (o->n_args < 1)
        return say(o, "without operands");
    return want_arg(o, 0, ty_scalar(comp(o), E_I1));
}

static const char *
check_return_(const Op *o)
{
    return o->block->owner ? say(o, "inside of a region") : NULL;
}

/* ---- shared memory ----------------------------------------------------------------- */

/* The type of one slot of operand i, which must be shared memory, in layout l. */
static const Type *
slot_type(const Op *o, int i, const Layout *l)
{
    return ty_slot(comp(o), at(o, i), l);
}

static const char *
want_slot(const Op *o, int smem)
{
    if (!at(o, smem)->slots)
        return say(o, "operand %d is %s, expected smem", smem, str(o, at(o, smem)));
    return want_arg(o, smem + 1, ty_scalar(comp(o), E_I32));
}

static const char *
check_shared_alloc(const Op *o)
{
    const Type *t = res(o, 0);
    const Layout *l = t->layout;
    bool ok = t->slots && t->rank && !t->is_ptr && l &&
              l->n[IN_REG] == layout_n_in(l) && l->n[IN_REG] == layout_bits(l) &&
              layout_is_onto(l);
    return ok ? NULL : say(o, "of %s: no map of offsets to elements", str(o, t));
}

static const char *
check_shared_load(const Op *o)
{
    const char *err = want_slot(o, 0);
    const Type *whole = at(o, 0), *t = res(o, 0);
    int64_t axis = ir_attr(o, ATTR_AXIS), start = ir_attr(o, ATTR_START);
    if (err)
        return err;
    if (!t->layout)
        return say(o, "result 0 has no layout");
    bool ok = t->rank == whole->rank && axis >= 0 && axis < t->rank && start >= 0;
    for (int d = 0; ok && d < t->rank; d++)
        ok = d == axis
                 ? start % t->shape[d] == 0 && start + t->shape[d] <= whole->shape[d]
                 : t->shape[d] == whole->shape[d];
    if (!ok || !same_element(t, ty_slot(comp(o), whole, NULL)))
        return say(o, "%s from %s", str(o, t), str(o, whole));
    return NULL;
}

static const char *
check_shared_store(const Op *o)
{
    const char *err = want_slot(o, 0);
    if (!err && !at(o, 2)->layout)
        err = say(o, "operand 2 has no layout");
    return err ? err : want_arg(o, 2, slot_type(o, 0, at(o, 2)->layout));
}

static const char *
check_async_copy(const Op *o)
{
    const char *err = want_count(o, 3, 4);
    if (!err)
        err = want_pointer(o, false);
    if (!err)
        err = want_slot(o, 1);
    if (err)
        return err;
    const Type *t = ty_pointee(comp(o), at(o, 0));
    if (!t->layout || slot_type(o, 1, t->layout) != t)
        return say(o, "from %s to %s", str(o, at(o, 0)), str(o, at(o, 1)));
    err = want_mask(o, 3, t);
    if (!err)
        err = want_word(o, ATTR_CACHE, CACHE_NONE, CACHE_CV);
    return err ? err : want_word(o, ATTR_EVICT, EVICT_NONE, EVICT_LAST);
}

static const char *
check_pending(const Op *o)
{
    return want_word(o, ATTR_PENDING, 0, MAX_SLOTS);
}

/* ---- hints and debugging -------------------------------------------------------- */

static const char *
check_i1_scalar(const Op *o)
{
    return want_arg(o, 0, ty_scalar(comp(o), E_I1));
}

/* The sides of a padded block are those of operand 0, which has the room. */
static const char *
want_sides(const Op *o)
{
    int64_t sides = ir_attr(o, ATTR_SIDES);
    if (!sides)
        return NULL;
    int bits = 0;
    for (int d = 0; o->n_args && d < at(o, 0)->rank; d++)
        bits += 31 - __builtin_clz((unsigned)at(o, 0)->shape[d]);
    if (sides > 0 && sides >> bits == 0)
        return NULL;
    return say(o, "sides %" PRId64, sides);
}

static const char *
check_assert_(const Op *o)
{
    const char *err = want_count(o, 1, 2);
    if (err)
        return err;
    if (!is_elem(at(o, 0), E_I1))
        return say(o, "of %s, expected i1", str(o, at(o, 0)));
    if (!o->text)
        return say(o, "without a text");
    err = want_sides(o);
    return err ? err : want_mask(o, 1, at(o, 0));
}

static const char *
check_print(const Op *o)
{
    if (!o->text)
        return say(o, "without a text");
    const char *err = want_sides(o);
    return err ? err : want_word(o, ATTR_HEX, 0, 1);
}

static const char *
check_debug(const Op *o)
{
    return o->text ? NULL : say(o, "without a text");
}

static const char *
check_inline_asm(const Op *o)
{
    int64_t pack = ir_attr(o, ATTR_PACK);
    if (!o->text || !strchr(o->text, '\n'))
        return say(o, "without constraints and assembly");
    if (pack < 1 || pack > 64 || ir_attr(o, ATTR_START) < 0)
        return say(o, "pack %" PRId64 ", start %" PRId64, pack, ir_attr(o, ATTR_START));
    for (int i = 0; i < o->n_args; i++)
        if (!ty_same_shape(at(o, i), result(o, 0)->type))
            return say(o, "of %s, result %s", str(o, at(o, i)),
                       str(o, result(o, 0)->type));
    return NULL;
}

static const char *
check_extern_(const Op *o)
{
    if (!o->text || !strchr(o->text, '\n') || o->n_args < 1 || o->n_args > 4)
        return say(o, "without a symbol and a file, or not of 1 to 4 operands");
    for (int i = 0; i < o->n_args; i++)
        if (at(o, i)->is_ptr || !ty_same_shape(at(o, i), result(o, 0)->type))
            return say(o, "of %s, result %s", str(o, at(o, i)),
                       str(o, result(o, 0)->type));
    return NULL;
}

static const char *
check_none(const Op *o)
{
    (void)o;
    return NULL;
}

/* ---- the tables ----------------------------------------------------------------- */

#define PURE OPF_PURE
#define ELEM OPF_ELEM
#define COMM OPF_COMM
#define READS OPF_READS
#define WRITES OPF_WRITES
#define TERM OPF_TERM
#define SYNC OPF_SYNC
#define CHEAP OPF_CHEAP
#define CONTROL OPF_CONTROL
#define SHARED OPF_SHARED
#define A0() 0, {0}
#define A1(a)                                                                          \
    1,                                                                                 \
    {                                                                                  \
        ATTR_##a                                                                       \
    }
#define A2(a, b)                                                                       \
    2,                                                                                 \
    {                                                                                  \
        ATTR_##a, ATTR_##b                                                             \
    }
#define A3(a, b, c)                                                                    \
    3,                                                                                 \
    {                                                                                  \
        ATTR_##a, ATTR_##b, ATTR_##c                                                   \
    }

const OpInfo op_info[N_OP] = {
#define OP(name, text, args, res, reg, flags, check, attrs, doc)                       \
    [OP_##name] = {text, args, res, reg, flags, attrs, check_##check, doc},
#include "ir/ops.def"
#undef OP
};

const AttrInfo attr_info[N_ATTR] = {
#define ATTR(name, text, words) [ATTR_##name] = {text, words},
#include "ir/attrs.def"
#undef ATTR
};
