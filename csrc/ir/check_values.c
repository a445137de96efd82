/* check_values: what must hold for ops that give values element by element: constants,
 * shapes, arithmetic, casts, hints. check.h says how a check is written.
 */
#include "ir/check.h"

#include <inttypes.h>

/* ---- values and shapes ----------------------------------------------------------- */

const char *
check_const_(const Op *o)
{
    int bits = ty_bits(res(o, 0));
    if (bits < 64 && o->bits >> bits)
        return refuse(o, "0x%" PRIx64 " has more bits than %s", o->bits,
                      type_text(o, res(o, 0)));
    return NULL;
}

const char *
check_arange(const Op *o)
{
    int64_t start = ir_attr(o, ATTR_START), end = ir_attr(o, ATTR_END);
    if (start < 0 || end <= start || end > (int64_t)1 << 32 || end - start > MAX_NUMEL)
        return refuse(o, "bad range %" PRId64 "..%" PRId64, start, end);
    int32_t n = (int32_t)(end - start);
    return want_shape(o, 0, i32(o), 1, &n);
}

const char *
check_splat(const Op *o)
{
    return refuse_change(o, at(o, 0)->rank || !res(o, 0)->rank ||
                                !same_element(at(o, 0), res(o, 0)));
}

const char *
check_axis_i32(const Op *o)
{
    int64_t axis = ir_attr(o, ATTR_AXIS);
    if (axis < 0 || axis > 2)
        return refuse(o, "axis %" PRId64 ", expected 0 to 2", axis);
    return want_result(o, 0, i32(o));
}

const char *
check_i32(const Op *o)
{
    return want_result(o, 0, i32(o));
}

const char *
check_expand(const Op *o)
{
    const Type *t = at(o, 0);
    int64_t axis = ir_attr(o, ATTR_AXIS);
    if (!t->rank || t->rank == MAX_RANK || axis < 0 || axis > t->rank)
        return refuse(o, "axis %" PRId64 " of %s", axis, type_text(o, t));
    int32_t shape[MAX_RANK];
    for (int i = 0; i <= t->rank; i++)
        shape[i] = i == axis ? 1 : t->shape[i - (i > axis)];
    return want_shape(o, 0, t, t->rank + 1, shape);
}

const char *
check_broadcast(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    bool ok = from->rank && from->rank == to->rank && same_element(from, to);
    for (int i = 0; ok && i < from->rank; i++)
        ok = from->shape[i] == to->shape[i] || from->shape[i] == 1;
    return refuse_change(o, !ok);
}

const char *
check_reshape(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    return refuse_change(o, !from->rank || !same_element(from, to) ||
                                ty_numel(from) != ty_numel(to));
}

const char *
check_trans(const Op *o)
{
    const Type *t = at(o, 0);
    int64_t code = ir_attr(o, ATTR_PERM);
    int perm[MAX_RANK];
    int32_t shape[MAX_RANK];
    if (!t->rank || !perm_unpack(t->rank, code, perm))
        return refuse(o, "%" PRId64 " does not permute %d dims", code, t->rank);
    for (int i = 0; i < t->rank; i++)
        shape[i] = t->shape[perm[i]];
    return want_shape(o, 0, t, t->rank, shape);
}

const char *
check_join(const Op *o)
{
    const Type *t = at(o, 0);
    if (at(o, 1) != t)
        return want_arg(o, 1, t);
    if (!t->rank)
        return refuse(o, "operands are scalars, expected blocks");
    if (t->rank == MAX_RANK)
        return refuse(o, "more than %d dims", MAX_RANK);
    int32_t shape[MAX_RANK];
    memcpy(shape, t->shape, sizeof shape);
    shape[t->rank] = 2;
    return want_shape(o, 0, t, t->rank + 1, shape);
}

const char *
check_split(const Op *o)
{
    const Type *t = at(o, 0);
    if (t->rank < 2 || t->shape[t->rank - 1] != 2)
        return refuse(o, "%s is not a block of two or more dims, the last one 2",
                      type_text(o, t));
    return ALL(want_shape(o, 0, t, t->rank - 1, t->shape),
               want_result(o, 1, res(o, 0)));
}

const char *
check_cat(const Op *o)
{
    const Type *t = at(o, 0);
    if (at(o, 1) != t)
        return want_arg(o, 1, t);
    if (t->rank != 1)
        return refuse(o, "operands are %s, expected one dim", type_text(o, t));
    int32_t n = 2 * t->shape[0];
    return want_shape(o, 0, t, 1, &n);
}

const char *
check_resize(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    return OR(refuse_change(o, !from->rank || from->rank != to->rank ||
                                   !same_element(from, to) || from->is_ptr ||
                                   from->layout || to->layout),
              want_arg(o, 1, ty_element(comp(o), from)));
}

const char *
check_convert(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    return refuse_change(o, !from->layout || !to->layout || !ty_same_shape(from, to) ||
                                !same_element(from, to));
}

const char *
check_keep(const Op *o)
{
    if (!at(o, 0)->rank || at(o, 0)->layout)
        return refuse(o, "of %s, expected a block without a layout",
                      type_text(o, at(o, 0)));
    return want_result(o, 0, at(o, 0));
}

/* ---- elementwise ----------------------------------------------------------------- */

const char *
check_arith(const Op *o)
{
    if (at(o, 0)->is_ptr)
        return refuse(o, "operand 0 is a pointer: %s", type_text(o, at(o, 0)));
    for (int i = 1; i < o->n_args; i++)
        if (at(o, i) != at(o, 0))
            return want_arg(o, i, at(o, 0));
    return want_result(o, 0, at(o, 0));
}

const char *
check_float_(const Op *o)
{
    return ty_is_float(at(o, 0)) ? check_arith(o)
                                 : refuse(o, "of %s", type_text(o, at(o, 0)));
}

const char *
check_int_(const Op *o)
{
    return ty_is_int(at(o, 0)) ? check_arith(o)
                               : refuse(o, "of %s", type_text(o, at(o, 0)));
}

const char *
check_math(const Op *o)
{
    if (!is_elem(at(o, 0), E_F32) && !is_elem(at(o, 0), E_F64))
        return refuse(o, "of %s, expected f32 or f64", type_text(o, at(o, 0)));
    return check_arith(o);
}

const char *
check_compare(const Op *o)
{
    if (at(o, 0)->is_ptr)
        return refuse(o, "of pointers");
    if (at(o, 1) != at(o, 0))
        return want_arg(o, 1, at(o, 0));
    return want_result(o, 0, ty_with_elem(comp(o), at(o, 0), E_I1));
}

const char *
check_select(const Op *o)
{
    const Type *t = at(o, 1);
    return ALL(want_mask(o, 0, t), want_arg(o, 2, t), want_result(o, 0, t));
}

const char *
check_cast(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    if (from->is_ptr || to->is_ptr || !same_place(from, to) ||
        (elem_is_f8(from->elem) && ty_is_int(to)) ||
        (ty_is_int(from) && elem_is_f8(to->elem)))
        return refuse(o, "from %s to %s", type_text(o, from), type_text(o, to));
    bool narrows = ty_is_float(from) && ty_is_float(to) && ty_bits(to) < ty_bits(from);
    int64_t rounding = ir_attr(o, ATTR_ROUNDING);
    if (rounding != ROUND_RTNE && (rounding != ROUND_RTZ || !narrows))
        return refuse(o, "rounding is for floats that become narrower");
    return NULL;
}

const char *
check_bitcast(const Op *o)
{
    const Type *from = at(o, 0), *to = res(o, 0);
    return refuse_change(o, !same_place(from, to) || ty_bits(from) != ty_bits(to));
}

const char *
check_addptr(const Op *o)
{
    const Type *p = at(o, 0), *i = at(o, 1);
    if (!p->is_ptr || !ty_is_int(i) || !same_place(p, i))
        return refuse(o, "of %s and %s", type_text(o, p), type_text(o, i));
    return want_result(o, 0, p);
}

const char *
check_hint(const Op *o)
{
    if (ty_is_float(at(o, 0)))
        return refuse(o, "of %s, expected integers or pointers",
                      type_text(o, at(o, 0)));
    return want_result(o, 0, at(o, 0));
}
