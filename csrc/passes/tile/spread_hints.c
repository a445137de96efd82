/* spread_hints: what a hint says of a value holds for everything below it.
 *
 *     %h = hint %p {divisible}            %h = hint %p {divisible}
 *     %x = load %p                  =>    %x = load %h
 *
 * Users write tl.multiple_of(p, 16) as a statement and go on with p. Facts are about values,
 * so those who come later in the block, and in the regions there, take the hint's result.
 * Who came before does not: there the promise may not hold yet.
 */
#include "passes/passes.h"

typedef struct Spread {
    Comp *c;
    Map hinted; /* value -> the result of the innermost hint about it */
    VEC(Val *) known;
} Spread;

static Val *
latest(const Spread *w, Val *v)
{
    for (Val *h; (h = map_get(&w->hinted, v, 0));)
        v = h;
    return v;
}

static void
spread_block(Spread *w, Block *b)
{
    int outer = w->known.n;
    for (Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_args; i++) {
            Val *v = latest(w, arg(o, i));
            if (v != arg(o, i))
                ir_set_arg(o, i, v);
        }
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            spread_block(w, o->regions[i]);
        if (o->op == OP_HINT) {
            PUSH(w->c->arena, &w->known, arg(o, 0));
            map_put(&w->hinted, arg(o, 0), 0, result(o, 0));
        }
    }
    while (w->known.n > outer)
        map_put(&w->hinted, w->known.at[--w->known.n], 0, NULL);
}

void
pass_spread_hints(Func *f)
{
    Spread w = {.c = f->c, .hinted = {.a = f->c->arena}};
    spread_block(&w, f->body);
}
