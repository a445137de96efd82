/* share: which arguments of a launch lie in the same memory.
 *
 *     kernel[grid](x, x, n)             FACT_SAME of both
 *     kernel[grid](x[1:], x[:-1], n)    FACT_OVERLAPS of both
 *
 * A load of a block is over before the stores that follow it, whatever pointer these go
 * through. On a CPU the elements go through load and store one after the other
 * (passes/host/group_order.c), and on a GPU the threads do not wait for each other
 * (passes/simt/order_memory.c) and a loop may load for its next iteration before it
 * stores (passes/simt/pipeline_order.c), so it matters whether one may be the other. What
 * is asked of an argument is whether it shares its memory with anybody, not with whom: two
 * pairs may be taken for four of one kind, which is slower and as right.
 *
 * Memory is what the shape and the strides span: two interleaved views overlap. An argument that tells its
 * address alone may reach anywhere on a GPU. On a CPU it has one byte.
 */
#include "runtime/launch.h"

/* Does nobody say how far it reaches? */
static bool
is_endless(const Call *c, const Span *x)
{
    return c->place.type == kDLCUDA && x->high - x->low == 1;
}

static unsigned
relation(const Call *c, int a, int b)
{
    const Span *x = &c->span[a], *y = &c->span[b];
    bool is_there = x->low && y->low;
    bool is_open = is_there && (is_endless(c, x) || is_endless(c, y));
    if (!is_open && (x->low >= y->high || y->low >= x->high))
        return 0;
    return c->bits[a] == c->bits[b] ? FACT_SAME : FACT_OVERLAPS;
}

void
call_note_sharing(Call *c)
{
    int at[MAX_NODES], n = 0;
    for (int i = 0; i < c->n; i++) {
        if (code_kind(c->code[i]) != NODE_POINTER)
            continue;
        for (int k = 0; k < n; k++) {
            unsigned facts = relation(c, at[k], i);
            c->code[at[k]] |= facts;
            c->code[i] |= facts;
        }
        at[n++] = i;
    }
}
