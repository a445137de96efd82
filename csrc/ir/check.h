/* check.h: how the checks of ops.def are written; for ops.c and check*.c alone.
 *
 * A check returns NULL or what is wrong in words. It looks at one op: types of operands
 * and results, attributes, arguments and yields of regions. It may trust what
 * verify.c's walk has seen before: counts that are not -1, linked blocks with a
 * terminator, types of values.
 */
#ifndef TEGULA_IR_CHECK_H
#define TEGULA_IR_CHECK_H

#include "ir/ir.h"

/* Rows may share a check, which is then declared twice. */
#define OP(name, text, args, res, reg, flags, check, attrs, doc)                       \
    const char *check_##check(const Op *o);
#include "ir/ops.def"
#undef OP

static inline Comp *
comp(const Op *o)
{
    return o->block->func->c;
}

static inline const Type *
at(const Op *o, int i)
{
    return arg(o, i)->type;
}

static inline const Type *
res(const Op *o, int i)
{
    return result(o, i)->type;
}

static inline const Type *
i32(const Op *o)
{
    return ty_scalar(comp(o), E_I32);
}

static inline bool
is_elem(const Type *t, Elem e)
{
    return !t->is_ptr && t->elem == e;
}

/* One element of the same kind, whatever the shape. */
static inline bool
same_element(const Type *a, const Type *b)
{
    return a->elem == b->elem && a->is_ptr == b->is_ptr && a->is_const == b->is_const;
}

static inline bool
same_place(const Type *a, const Type *b)
{
    return ty_same_shape(a, b) && a->layout == b->layout;
}

/* A check's answer: the op's word, a colon, and the text. */
const char *refuse(const Op *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* The answer where it is wrong to make a value of the result's type of operand 0. */
const char *refuse_change(const Op *o, bool is_wrong);

/* Of some checks the first answer that is not NULL: those behind it are not made. */
#define ALL(...)                                                                       \
    ALL_NAMED(__VA_ARGS__, ALL_7, ALL_6, ALL_5, ALL_4, ALL_3, OR)(__VA_ARGS__)
#define ALL_NAMED(a, b, c, d, e, f, g, name, ...) name
#define ALL_3(a, ...) OR(a, OR(__VA_ARGS__))
#define ALL_4(a, ...) OR(a, ALL_3(__VA_ARGS__))
#define ALL_5(a, ...) OR(a, ALL_4(__VA_ARGS__))
#define ALL_6(a, ...) OR(a, ALL_5(__VA_ARGS__))
#define ALL_7(a, ...) OR(a, ALL_6(__VA_ARGS__))

/* t as text, with its layout. */
const char *type_text(const Op *o, const Type *t);

/* Each of these: NULL when o is as asked, else the answer of a check. */

/* Result or operand i is of type t. */
const char *want_result(const Op *o, int i, const Type *t);
const char *want_arg(const Op *o, int i, const Type *t);

/* Result i has this shape and the elements of `elem`; its layout is free. */
const char *want_shape(const Op *o, int i, const Type *elem, int rank,
                       const int32_t *shape);

/* As many operands, for ops whose row says -1. */
const char *want_count(const Op *o, int least, int most);

/* Operand i, when it is there, masks a block (or scalar) of type t. */
const char *want_mask(const Op *o, int i, const Type *t);

/* The attribute's number is in first..last. */
const char *want_word(const Op *o, Attr a, int64_t first, int64_t last);

#endif
