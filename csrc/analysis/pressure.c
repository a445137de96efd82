/* pressure: about how many 32-bit registers the big values of a loop take from a
 * thread.
 *
 * Only what lives from one iteration to the next or is the work itself: carried blocks,
 * results of dots that go through other ops first, operands of dots that come from
 * outside. Addresses, fragments on their way and temporaries come on top: some forty.
 */
#include "analysis/analysis.h"

static int
words(const Val *v)
{
    const Type *t = v->type;
    if (!t->rank || !t->layout || t->is_ptr || t->slots)
        return 0;
    return MAX((ty_bits(t) << t->layout->n[IN_REG]) / 32, 1);
}

static bool
is_carried_on(const Val *v, const Block *body)
{
    for (const Use *u = v->uses; u; u = u->next)
        if (u->user == body->last)
            return true;
    return false;
}

int
loop_pressure(const Op *loop)
{
    const Block *b = loop->regions[0];
    int sum = 0;
    for (int i = 1; i < b->n_args; i++)
        sum += words(b->args[i]);
    for (const Op *o = b->first; o; o = o->next) {
        if (o->op != OP_DOT)
            continue;
        sum += is_carried_on(result(o, 0), b) ? 0 : words(result(o, 0));
        for (int i = 0; i < 2; i++)
            sum += is_defined_outside(arg(o, i), b) ? words(arg(o, i)) : 0;
    }
    return sum;
}
