/* even_masks: neighbours whose masks end together have one predicate.
 *
 *     %m = lt %rows, %n : i1[32, 1]         16 divides %n and what %rows begins with
 * =>
 *     %c = and %rows, -16
 *     %m = lt %c, %n : i1[32, 1]
 *
 * A thread that holds eight rows of a tile compares each of them, and has seven predicates: the assembler loads some
 * of the rows when others are done with. What stands here tells it that rows 0 to 15 are there or are not.
 *
 * Rule 1: a launch is asked for multiples of 16 alone, as which sizes that have a factor mostly come.
 * Rule 2: products keep their masks: it was not measured there.
 * Rule 3: only what varies along one dim, and behind everything that looks at how masks end.
 */
#include "passes/passes.h"

enum { MOST = 4 }; /* log2 of what is ever known to divide an argument */

/* The only dim with more than one element; -1: there are more, or none. */
static int
only_dim(const Type *t)
{
    int dim = -1;
    for (int i = 0; i < t->rank; i++) {
        if (t->shape[i] > 1 && dim >= 0)
            return -1;
        dim = t->shape[i] > 1 ? i : dim;
    }
    return dim;
}

static bool
is_order(const Op *o)
{
    return o->op == OP_LT || o->op == OP_LE || o->op == OP_GT || o->op == OP_GE;
}

/* Does a thread hold several elements of v whose numbers differ below 1 << log2 alone, but not side by side? Those that are
 * side by side are accessed together, by one mask. */
static bool
has_neighbours(const Val *v, int log2)
{
    const Layout *l = v->type->layout;
    bool any = false;
    for (int i = 0; l && i < l->n[IN_REG]; i++)
        if (l->basis[IN_REG][i] == 1)
            return false;
        else
            any |= l->basis[IN_REG][i] && l->basis[IN_REG][i] < (Col)1 << log2;
    return any;
}

static void
make_even(FactTable *facts, Op *o)
{
    int dim = only_dim(result(o, 0)->type);
    if (dim < 0 || !has_neighbours(result(o, 0), MOST))
        return;
    int log2 = facts_constancy(facts, result(o, 0), dim, MOST);
    for (int i = 0; i < 2 && log2; i++) {
        Val *x = arg(o, i);
        if (elem_is_float(x->type->elem) || !has_neighbours(x, log2) ||
            facts_contiguity(facts, x, dim, log2) < log2)
            continue;
        Build b = ir_before(o);
        ir_set_arg(o, i,
                   ir_bin(&b, OP_AND, x,
                          ir_const_int(&b, x->type, -(INT64_C(1) << log2))));
    }
}

void
pass_even_masks(Func *f)
{
    EACH_OP(o, f->body)
        if (o->op == OP_DOT || o->op == OP_MMA_START)
            return;
    FactTable *facts = facts_new(f);
    facts_ask_16(facts);
    EACH_OP(o, f->body)
        if (is_order(o) && result(o, 0)->type->rank)
            make_even(facts, o);
}
