/* sums: what strips and split_k ask of a program that stores the sums of one loop. */
#include "passes/simt/sums.h"

enum { MAX_DEPTH = 24 };

Op *
only_op(const Block *b, OpCode op)
{
    Op *found = NULL;
    EACH_OP(o, b) {
        if (o->op == op && found)
            return NULL;
        if (o->op == op)
            found = o;
    }
    return found;
}

Op *
wait_for_sums(const Op *loop, Op **last)
{
    Op *wait = NULL;
    for (Op *o = loop->next; o; o = o->next) {
        if (o->op == OP_MMA_WAIT && o->n_results == 1 && !wait &&
            arg(o, 0)->def == loop)
            wait = *last = o;
        else if (o->op == OP_MBAR_ARRIVE)
            *last = o;
        else if (!op_has(o, OPF_PURE) || o->n_regions)
            break;
    }
    return wait;
}

/* Of what o gives. */
static bool
is_result_used_behind(const Op *o, Op *loop, const Op *last)
{
    for (int i = 0; i < o->n_results; i++)
        for (const Use *u = result(o, i)->uses; u; u = u->next) {
            const Op *user = ir_op_in(loop->block, u->user), *in = loop;
            while (in != last->next && in != user)
                in = in->next;
            if (in == last->next)
                return true;
        }
    return false;
}

bool
is_used_behind_sums(Op *loop, const Op *wait, const Op *last)
{
    for (const Op *o = loop; o != last->next; o = o->next)
        if (o != wait && is_result_used_behind(o, loop, last))
            return true;
    return false;
}

bool
is_of_sums(const Op *wait, const Val *v, int depth)
{
    const Op *o = v->def;
    if (o == wait || !v->type->rank)
        return true;
    if (!o || depth == MAX_DEPTH || !(op_has(o, OPF_ELEM) || o->op == OP_SPLAT) ||
        !op_has(o, OPF_PURE) || o->n_results > 1)
        return o && o->op == OP_CONST;
    for (int i = 0; i < o->n_args; i++)
        if (!is_of_sums(wait, arg(o, i), depth + 1))
            return false;
    return true;
}

bool
is_stored_alone(const Op *store, const Val *v, int depth)
{
    for (const Use *u = v->uses; u; u = u->next)
        if (u->user != store &&
            (depth == MAX_DEPTH || !op_has(u->user, OPF_ELEM) ||
             !is_stored_alone(store, result(u->user, 0), depth + 1)))
            return false;
    return true;
}

bool
is_all_that_is_seen(const Op *store, const Block *role)
{
    EACH_OP(o, role)
        if (o != store &&
            (op_has(o, OPF_STAYS) || (op_has(o, OPF_WRITES) && !op_has(o, OPF_SHARED))))
            return false;
    return true;
}

bool
computes_same(const Val *x, const Val *y, int depth)
{
    const Op *a = x->def, *b = y->def;
    if (is_programs_number(x) && is_programs_number(y))
        return true;
    if (x == y && !a)
        return !x->block->owner;
    if (!a || !b || depth == MAX_DEPTH || a->op != b->op || a->n_args != b->n_args ||
        a->n_regions || !op_has(a, OPF_PURE) || x->type != y->type ||
        a->bits != b->bits || memcmp(a->attr, b->attr, sizeof a->attr))
        return false;
    for (int i = 0; i < a->n_args; i++)
        if (!computes_same(arg(a, i), arg(b, i), depth + 1))
            return false;
    return true;
}
