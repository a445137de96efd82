/* check_control: what must hold for ops with regions, for the ends of blocks, and for ops
 * that carry a text: asserts, prints, assembly. check.h says how a check is written.
 */
#include "ir/check.h"

#include <inttypes.h>

/* ---- control --------------------------------------------------------------------- */

/* Are the n values from *v on (as operands) of the types of the block arguments from
 * `first`? */
static const char *
want_block_args(const Op *o, const Block *b, int first, const Op *from, int from_first)
{
    int n = from->n_args - from_first;
    if (n < 0 || b->n_args - first != n)
        return refuse(o, "the region has %d arguments for %d values of %s",
                      b->n_args - first, n, info(from)->text);
    for (int i = 0; i < n; i++)
        if (b->args[first + i]->type != at(from, from_first + i))
            return refuse(o, "argument %d of the region is %s, %s gives %s", first + i,
                          type_text(o, b->args[first + i]->type), info(from)->text,
                          type_text(o, at(from, from_first + i)));
    return NULL;
}

/* Are the operands of `from`, from from_first on, the results of o? */
static const char *
want_results(const Op *o, const Op *from, int from_first)
{
    int n = from->n_args - from_first;
    if (n != o->n_results)
        return refuse(o, "%d results, %s gives %d", o->n_results, info(from)->text, n);
    for (int i = 0; i < n; i++)
        if (res(o, i) != at(from, from_first + i))
            return refuse(o, "result %d is %s, %s gives %s", i, type_text(o, res(o, i)),
                          info(from)->text, type_text(o, at(from, from_first + i)));
    return NULL;
}

const char *
check_for_(const Op *o)
{
    if (o->n_args < 3)
        return refuse(o, "%d operands, expected lower, upper, step", o->n_args);
    const Type *t = at(o, 0);
    if (t->rank || !ty_is_int(t) || at(o, 1) != t || at(o, 2) != t)
        return refuse(o, "from %s to %s by %s", type_text(o, t), type_text(o, at(o, 1)),
                      type_text(o, at(o, 2)));
    const Block *b = o->regions[0];
    if (b->n_args < 1 || b->args[0]->type != t)
        return refuse(o, "the first argument of the region must be %s",
                      type_text(o, t));
    if (b->last->op != OP_YIELD)
        return refuse(o, "the region must end in yield");
    return ALL(want_block_args(o, b, 1, o, 3), want_block_args(o, b, 1, b->last, 0),
               want_results(o, o, 3));
}

const char *
check_while_(const Op *o)
{
    const Block *before = o->regions[0], *body = o->regions[1];
    const Op *cond = before->last, *y = body->last;
    if (cond->op != OP_CONDITION || cond->n_args < 1 || y->op != OP_YIELD)
        return refuse(o, "region 0 must end in condition, region 1 in yield");
    return ALL(want_block_args(o, before, 0, o, 0), want_block_args(o, before, 0, y, 0),
               want_block_args(o, body, 0, cond, 1), want_results(o, cond, 1));
}

const char *
check_if_(const Op *o)
{
    const char *err = want_arg(o, 0, ty_scalar(comp(o), E_I1));
    if (!err && o->n_regions == 1 && o->n_results)
        err = refuse(o, "results need a second region");
    for (int i = 0; !err && i < o->n_regions; i++) {
        const Block *b = o->regions[i];
        if (b->n_args)
            err = refuse(o, "region %d has arguments", i);
        else if (b->last->op != OP_YIELD)
            err = refuse(o, "region %d must end in yield", i);
        else
            err = want_results(o, b->last, 0);
    }
    return err;
}

/* Registers of a thread as setmaxnreg takes them; 0: none are said. */
static bool
is_registers(int64_t n)
{
    return n == 0 || (n >= 24 && n <= 256 && n % 8 == 0);
}

const char *
check_roles(const Op *o)
{
    int64_t regs = ir_attr(o, ATTR_REGS), fewer = ir_attr(o, ATTR_PRODUCER_REGS),
            warps = ir_attr(o, ATTR_PRODUCERS);
    for (int i = 0; i < 2; i++) {
        const Block *b = o->regions[i];
        if (b->n_args || b->last->op != OP_YIELD || b->last->n_args)
            return refuse(o, "region %d has arguments or results", i);
    }
    if (o->block->owner)
        return refuse(o, "inside of a region");
    for (const Op *p = o->prev; p; p = p->prev)
        if (p->op == OP_ROLES)
            return refuse(o, "a second time");
    if (!is_registers(regs) || !is_registers(fewer) || !regs != !fewer)
        return refuse(o, "registers %" PRId64 " and %" PRId64, regs, fewer);
    if (warps < 1 || warps > WARPGROUP || (regs && warps != WARPGROUP))
        return refuse(o, "%" PRId64 " producers", warps);
    return NULL;
}

const char *
check_yield(const Op *o)
{
    return o->block->owner ? NULL : refuse(o, "outside of a region");
}

const char *
check_condition(const Op *o)
{
    const Op *owner = o->block->owner;
    if (!owner || owner->op != OP_WHILE || owner->regions[0] != o->block)
        return refuse(o, "belongs at the end of a while's region 0");
    if (o->n_args < 1)
        return refuse(o, "without operands");
    return want_arg(o, 0, ty_scalar(comp(o), E_I1));
}

const char *
check_return_(const Op *o)
{
    return o->block->owner ? refuse(o, "inside of a region") : NULL;
}

/* ---- hints and debugging --------------------------------------------------------- */

const char *
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
    return refuse(o, "sides %" PRId64, sides);
}

const char *
check_assert_(const Op *o)
{
    const char *err = want_count(o, 1, 2);
    if (err)
        return err;
    if (!is_elem(at(o, 0), E_I1))
        return refuse(o, "of %s, expected i1", type_text(o, at(o, 0)));
    if (!o->text)
        return refuse(o, "without a text");
    return ALL(want_sides(o), want_mask(o, 1, at(o, 0)));
}

const char *
check_print(const Op *o)
{
    if (!o->text)
        return refuse(o, "without a text");
    const char *err = want_sides(o);
    if (!err)
        err = want_word(o, ATTR_HEX, 0, 1);
    if (!err)
        err = want_word(o, ATTR_MASKED, 0, 1);
    if (!err && ir_attr(o, ATTR_MASKED)) {
        err = want_count(o, 2, 2);
        if (!err)
            err = want_mask(o, 1, at(o, 0));
    }
    return err;
}

const char *
check_debug(const Op *o)
{
    return o->text ? NULL : refuse(o, "without a text");
}

const char *
check_inline_asm(const Op *o)
{
    int64_t pack = ir_attr(o, ATTR_PACK);
    if (!o->text || !strchr(o->text, '\n'))
        return refuse(o, "without constraints and assembly");
    if (pack < 1 || pack > 64 || !o->n_results)
        return refuse(o, "pack %" PRId64 ", %d results", pack, o->n_results);
    for (int i = 0; i < o->n_args + o->n_results; i++) {
        const Type *t = i < o->n_args ? at(o, i) : result(o, i - o->n_args)->type;
        if (!ty_same_shape(t, result(o, 0)->type))
            return refuse(o, "of %s, result %s", type_text(o, t),
                          type_text(o, result(o, 0)->type));
    }
    if (o->op == OP_INLINE_ASM)
        return NULL;
    if (ir_attr(o, ATTR_MASKED) == 1 && !o->n_args)
        return refuse(o, "without its mask");
    return ALL(want_word(o, ATTR_MASKED, 0, 1),
               ir_attr(o, ATTR_MASKED) ? want_mask(o, o->n_args - 1, result(o, 0)->type)
                                       : NULL);
}

const char *
check_extern_(const Op *o)
{
    const Type *r = result(o, 0)->type;
    if (!o->text || !strchr(o->text, '\n'))
        return refuse(o, "without a symbol and files");
    const char *err = want_word(o, ATTR_MASKED, 0, 1);
    if (err)
        return err;
    int n = ir_n_values(o);
    if (n < 0 || (!n && o->op == OP_EXTERN))
        return refuse(o, "without operands");
    for (int i = 0; i < o->n_args; i++)
        if (!ty_same_shape(at(o, i), r))
            return refuse(o, "of %s, result %s", type_text(o, at(o, i)),
                          type_text(o, r));
    if (n < o->n_args && (at(o, n)->is_ptr || at(o, n)->elem != E_I1))
        return refuse(o, "with a mask of %s", type_text(o, at(o, n)));
    return NULL;
}

const char *
check_none(const Op *o)
{
    (void)o;
    return NULL;
}
