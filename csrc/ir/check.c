/* check: what all checks of ops.def ask of types, counts and attributes. */
#include "ir/check.h"

#include <inttypes.h>

const char *
refuse(const Op *o, const char *fmt, ...)
{
    Arena *a = comp(o)->arena;
    va_list ap;
    va_start(ap, fmt);
    const char *text = str_vprintf(a, fmt, ap);
    va_end(ap);
    return str_printf(a, "%s: %s", info(o)->text, text);
}

const char *
type_text(const Op *o, const Type *t)
{
    const char *s = ty_str(comp(o)->arena, t);
    if (t->layout)
        s = str_printf(comp(o)->arena, "%s (%s)", s,
                       layout_str(comp(o)->arena, t->layout));
    return s;
}

const char *
refuse_change(const Op *o, bool is_wrong)
{
    return is_wrong ? refuse(o, "from %s to %s", type_text(o, at(o, 0)),
                             type_text(o, res(o, 0)))
                    : NULL;
}

const char *
want_result(const Op *o, int i, const Type *t)
{
    if (res(o, i) == t)
        return NULL;
    return refuse(o, "result %d is %s, expected %s", i, type_text(o, res(o, i)),
                  type_text(o, t));
}

const char *
want_arg(const Op *o, int i, const Type *t)
{
    if (at(o, i) == t)
        return NULL;
    return refuse(o, "operand %d is %s, expected %s", i, type_text(o, at(o, i)),
                  type_text(o, t));
}

const char *
want_shape(const Op *o, int i, const Type *elem, int rank, const int32_t *shape)
{
    const Type *t = ty_with_shape(comp(o), elem, rank, shape);
    if (same_element(res(o, i), t) && ty_same_shape(res(o, i), t))
        return NULL;
    return refuse(o, "result %d is %s, expected %s", i, type_text(o, res(o, i)),
                  type_text(o, t));
}

const char *
want_count(const Op *o, int least, int most)
{
    if (o->n_args >= least && o->n_args <= most)
        return NULL;
    return refuse(o, "%d operands, expected %d to %d", o->n_args, least, most);
}

const char *
want_mask(const Op *o, int i, const Type *t)
{
    if (i >= o->n_args)
        return NULL;
    return want_arg(o, i, ty_with_elem(comp(o), t, E_I1));
}

const char *
want_word(const Op *o, Attr a, int64_t first, int64_t last)
{
    int64_t v = ir_attr(o, a);
    if (v >= first && v <= last)
        return NULL;
    return refuse(o, "%s is %" PRId64, attr_info[a].text, v);
}
