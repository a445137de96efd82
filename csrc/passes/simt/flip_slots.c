/* flip_slots: addresses of swizzled slots that take no register of their own.
 *
 *     %k = shared_load %ks, %slot           =>   %k = shared_load %ks, %slot {flips=1}
 *     .. dot, dot ..                              .. dot, dot ..
 *
 * A thread's part of an address in a swizzled slot is the same for every slot, and a register holds it
 * for each swizzle. With {flips=1} the swizzled bits are turned over in the whole address instead: an XOR more
 * and a register less. Where several products share a loop (attention), registers are worth more.
 *
 * Rule 1: products that are steps of one sum count once: their operands are read alike.
 */
#include "passes/passes.h"

static bool
reads_slots(const Op *o)
{
    return o->op == OP_SHARED_LOAD || o->op == OP_SHARED_STORE ||
           o->op == OP_ASYNC_COPY;
}

static void
flip_in(Block *b)
{
    int n = 0;
    for (const Op *o = b->first; o; o = o->next) {
        const Op *acc = o->op == OP_DOT ? arg(o, 2)->def : NULL;
        n += o->op == OP_DOT && !(acc && acc->op == OP_DOT); /* no step of another */
    }
    for (Op *o = b->first; o; o = o->next) {
        if (n > 1 && reads_slots(o))
            ir_set_attr(o, ATTR_FLIPS, 1);
        for (int i = 0; i < o->n_regions; i++)
            if (o->regions[i])
                flip_in(o->regions[i]);
    }
}

void
pass_flip_slots(Func *f)
{
    flip_in(f->body);
}
