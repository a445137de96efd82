/* check_across: what must hold for ops that combine elements of a block: reductions,
 * scans, dots, gathers. check.h says how a check is written.
 */
#include "ir/check.h"

#include <inttypes.h>

/* The region's arguments are 2 n scalars and it yields n of the operands' elements. */
static const char *
check_combine(const Op *o)
{
    Comp *c = comp(o);
    const Block *b = o->regions[0];
    int n = o->n_args;
    int64_t axis = ir_attr(o, ATTR_AXIS);
    bool has_totals = o->op == OP_SCAN && o->n_results == 2 * n;
    if (n < 1 || (o->n_results != n && !has_totals) || b->n_args != 2 * n)
        return refuse(o, "%d operands, %d results, %d arguments of the region", n,
                      o->n_results, b->n_args);
    if (axis < 0 || axis >= at(o, 0)->rank)
        return refuse(o, "axis %" PRId64 " of %s", axis, type_text(o, at(o, 0)));
    const Op *y = b->last;
    if (y->op != OP_YIELD || y->n_args != n)
        return refuse(o, "the region must yield %d values", n);
    for (int i = 0; i < n; i++) {
        const Type *elem = ty_element(c, at(o, i));
        if (elem->is_ptr || !same_place(at(o, i), at(o, 0)))
            return refuse(o, "operand %d is %s", i, type_text(o, at(o, i)));
        if (b->args[i]->type != elem || b->args[n + i]->type != elem ||
            at(y, i) != elem)
            return refuse(o, "value %d of the region is not %s everywhere", i,
                          type_text(o, elem));
    }
    return NULL;
}

/* Result `first` and those behind it are of the operands without the axis. */
static const char *
want_totals(const Op *o, int first)
{
    const char *err = NULL;
    for (int i = first; !err && i < o->n_results; i++) {
        const Type *t = at(o, i - first);
        const Type *r = ty_without(comp(o), t, (int)ir_attr(o, ATTR_AXIS));
        err = want_shape(o, i, t, r->rank, r->shape);
    }
    return err;
}

const char *
check_reduce(const Op *o)
{
    const char *err = check_combine(o);
    return err ? err : want_totals(o, 0);
}

const char *
check_scan(const Op *o)
{
    const char *err = check_combine(o);
    if (!err)
        err = want_word(o, ATTR_REVERSE, 0, 1);
    for (int i = 0; !err && i < o->n_args; i++)
        err = want_result(o, i, at(o, i));
    return err ? err : want_totals(o, o->n_args);
}

static bool
dot_elements_fit(const Type *a, const Type *b, const Type *acc)
{
    if (!a->is_ptr && !b->is_ptr && elem_is_f8(a->elem) && elem_is_f8(b->elem))
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

const char *
check_dot(const Op *o)
{
    const Type *a = at(o, 0), *b = at(o, 1), *acc = at(o, 2);
    int r = acc->rank;
    bool ok =
        (r == 2 || r == 3) && a->rank == r && b->rank == r && !acc->slots &&
        a->shape[r - 1] == b->shape[r - 2] && a->shape[r - 2] == acc->shape[r - 2] &&
        b->shape[r - 1] == acc->shape[r - 1] &&
        (r == 2 || (a->shape[0] == acc->shape[0] && b->shape[0] == acc->shape[0]));
    if (!ok || !dot_elements_fit(a, b, acc))
        return refuse(o, "%s @ %s + %s", type_text(o, a), type_text(o, b),
                      type_text(o, acc));
    const char *err = want_word(o, ATTR_PRECISION, PREC_TF32, PREC_BF16X6);
    int64_t sides = ir_attr(o, ATTR_SIDES); /* M - 1, N - 1, K - 1: dot_sides */
    const int32_t most[3] = {acc->shape[r - 2], acc->shape[r - 1], a->shape[r - 1]};
    for (int i = 0; i < 3 && !err; i++)
        if (sides < 0 || (sides >> (20 * i) & 0xfffff) >= most[i])
            err = refuse(o, "sides %" PRId64, sides);
    return err ? err : want_result(o, 0, acc);
}

const char *
check_mma_start(const Op *o)
{
    const char *err = want_count(o, 2, 3);
    if (err)
        return err;
    const Type *a = at(o, 0), *b = at(o, 1), *acc = res(o, 0);
    bool ok = a->rank == 2 && b->rank == 2 && acc->rank == 2 && b->slots == 1 &&
              a->slots < 2 && a->shape[1] == b->shape[0] &&
              a->shape[0] == acc->shape[0] && b->shape[1] == acc->shape[1] &&
              acc->is_async &&
              (is_elem(acc, E_F32) || is_elem(acc, E_I32) || is_elem(acc, E_F16)) &&
              dot_elements_fit(a, b, acc);
    if (!ok)
        return refuse(o, "%s @ %s to %s", type_text(o, a), type_text(o, b),
                      type_text(o, acc));
    if (o->n_args == 2)
        return NULL;
    return want_arg(o, 2, ty_with_async(comp(o), acc, at(o, 2)->is_async));
}

const char *
check_mma_open(const Op *o)
{
    return want_result(o, 0, ty_with_async(comp(o), at(o, 0), true));
}

const char *
check_mma_wait(const Op *o)
{
    int64_t pending = ir_attr(o, ATTR_PENDING);
    if (pending < 0 || pending > 7)
        return refuse(o, "pending %" PRId64, pending);
    if (o->n_results > o->n_args)
        return refuse(o, "%d results of %d operands", o->n_results, o->n_args);
    for (int i = 0; i < o->n_args; i++) {
        const char *err = NULL;
        bool is_waited = i < o->n_results;
        if (at(o, i)->is_async != is_waited)
            return refuse(o, "operand %d is %s", i, type_text(o, at(o, i)));
        if (is_waited)
            err = want_result(o, i, ty_with_async(comp(o), at(o, i), false));
        if (err)
            return err;
    }
    return NULL;
}

const char *
check_gather(const Op *o)
{
    const Type *src = at(o, 0), *index = at(o, 1);
    int64_t axis = ir_attr(o, ATTR_AXIS);
    bool ok = src->rank && src->rank == index->rank && ty_is_int(index) && axis >= 0 &&
              axis < src->rank;
    for (int d = 0; ok && d < src->rank; d++)
        ok = d == axis || src->shape[d] == index->shape[d];
    if (!ok)
        return refuse(o, "%s by %s along %" PRId64, type_text(o, src),
                      type_text(o, index), axis);
    return want_shape(o, 0, src, index->rank, index->shape);
}

const char *
check_sort(const Op *o)
{
    const Type *x = at(o, 0);
    int last = x->rank - 1;
    int32_t shape[MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    int n = last >= 0 ? x->shape[last] : 0,
        k = last >= 0 && result(o, 0)->type->rank == x->rank
                ? result(o, 0)->type->shape[last]
                : 0;
    if (!ty_is_int(x) || k < 1 || k > n || n & (n - 1) || k & (k - 1))
        return refuse(o, "of %s, the first %d", type_text(o, x), k);
    shape[last] = k;
    return want_shape(o, 0, x, x->rank, shape);
}

const char *
check_histogram(const Op *o)
{
    const char *err = want_count(o, 1, 2);
    if (err)
        return err;
    int64_t bins = ir_attr(o, ATTR_BINS);
    if (at(o, 0)->rank != 1 || !ty_is_int(at(o, 0)) || bins < 1 || bins > MAX_NUMEL)
        return refuse(o, "of %s into %" PRId64 " bins", type_text(o, at(o, 0)), bins);
    err = want_mask(o, 1, at(o, 0));
    int32_t n = (int32_t)bins;
    return err ? err : want_shape(o, 0, i32(o), 1, &n);
}
