/* written: which pointer parameters a kernel may store through.
 *
 * Each value carries the set of parameters it may have been computed from; a store, an
 * atomic or whatever else writes marks the set of its pointer. Sets only grow, so the walk is
 * repeated until nothing does: once more for each level of loops that pass pointers around.
 *
 *     %p = addptr %x, %i        {x}
 *     %q = select %c, %p, %y    {x, y}
 *     store %q, %v              x and y are written
 *
 * What memory holds is in no set: a pointer that was loaded belongs to no parameter.
 */
#include "analysis/analysis.h"

typedef struct Written {
    const Func *f;
    int n_words;       /* 64-bit words of a set */
    uint64_t *set;     /* n_words for each value, by id */
    uint64_t *written; /* n_words */
    bool grew;
} Written;

static uint64_t *
set_of(const Written *w, const Val *v)
{
    return w->set + (size_t)v->id * (size_t)w->n_words;
}

static void
merge(Written *w, uint64_t *into, const uint64_t *from)
{
    for (int i = 0; i < w->n_words; i++) {
        w->grew |= (from[i] & ~into[i]) != 0;
        into[i] |= from[i];
    }
}

static void
flow(Written *w, const Val *from, const Val *to)
{
    merge(w, set_of(w, to), set_of(w, from));
}

/* The terminator of one of o's regions hands values to o's results and to the next round. */
static void
leave(Written *w, const Op *o, const Op *last)
{
    int skip = last->op == OP_CONDITION; /* operand 0 is the condition */
    for (int i = skip; i < last->n_args; i++) {
        const Val *v = arg(last, i);
        int k = i - skip;
        if (o->op == OP_WHILE && skip) {
            flow(w, v, o->regions[1]->args[k]);
            flow(w, v, result(o, k));
        } else if (o->op == OP_WHILE) {
            flow(w, v, o->regions[0]->args[k]);
        } else {
            if (o->op == OP_FOR)
                flow(w, v, o->regions[0]->args[1 + k]);
            flow(w, v, result(o, k));
        }
    }
}

static void
enter(Written *w, const Op *o)
{
    enum { FOR_BOUNDS = 3 }; /* lb, ub, step; the block's first argument is the index */
    if (o->op == OP_FOR)
        for (int i = FOR_BOUNDS; i < o->n_args; i++) {
            flow(w, arg(o, i), o->regions[0]->args[1 + i - FOR_BOUNDS]);
            flow(w, arg(o, i), result(o, i - FOR_BOUNDS));
        }
    else if (o->op == OP_WHILE)
        for (int i = 0; i < o->n_args; i++)
            flow(w, arg(o, i), o->regions[0]->args[i]);
}

static void
walk(Written *w, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        if (op_has(o, OPF_CONTROL)) {
            enter(w, o);
            for (int r = 0; r < o->n_regions; r++) {
                walk(w, o->regions[r]);
                const Op *last = o->regions[r]->last;
                if (last && op_has(last, OPF_TERM))
                    leave(w, o, last);
            }
        } else if (op_has(o, OPF_WRITES)) {
            if (o->n_args && arg(o, 0)->type->is_ptr && o->op != OP_ASYNC_COPY)
                merge(w, w->written, set_of(w, arg(o, 0)));
        } else if (op_has(o, OPF_PURE)) {
            for (int i = 0; i < o->n_args; i++)
                for (int k = 0; k < o->n_results; k++)
                    flow(w, arg(o, i), result(o, k));
        }
    }
}

void
written_params(const Func *f, bool *written)
{
    Arena *a = f->c->arena;
    int n = f->body->n_args;
    Written w = {.f = f, .n_words = (n + 63) / 64, .grew = true};
    w.set = NEW_N(a, uint64_t, (size_t)f->n_vals *(size_t)w.n_words);
    w.written = NEW_N(a, uint64_t, w.n_words);
    for (int i = 0; i < n; i++)
        if (f->body->args[i]->type->is_ptr)
            set_of(&w, f->body->args[i])[i / 64] |= UINT64_C(1) << i % 64;
    while (w.grew) {
        w.grew = false;
        walk(&w, f->body);
    }
    for (int i = 0; i < n; i++)
        written[i] = w.written[i / 64] >> i % 64 & 1;
}
