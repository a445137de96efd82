/* written: which pointer parameters a kernel may store through, and what it reads of them.
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
 *
 * What a parameter held before the launch matters where a load comes before every store through
 * it, so scratch, which a program fills and then reads, does not. The order is that of the text: a
 * `for` counts as run, an `if` does not, and whether the two touch the same elements is not asked.
 * Only what a user is told depends on it.
 *
 * A store is `fresh` where no load can go through a parameter of its pointer: what it writes
 * is of no use to this kernel, and codegen for hosts may keep it out of the caches.
 */
#include "analysis/analysis.h"

struct Written {
    Arena *arena;
    int n_words;         /* 64-bit words of a set */
    uint64_t *set;       /* n_words for each value, by id */
    uint64_t *written;   /* n_words */
    uint64_t *read;      /* n_words */
    uint64_t *stored;    /* n_words: those alone, in the text so far */
    uint64_t *before;    /* n_words: what was there before the launch may be read */
    bool has_atomics;    /* or barriers: programs that may wait for each other */
    bool writes_unknown; /* through pointers that come from no parameter */
    bool grew;
};

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

/* Have the two a parameter in common? b NULL: all parameters. */
static bool
meets(const Written *w, const uint64_t *a, const uint64_t *b)
{
    uint64_t any = 0;
    for (int i = 0; i < w->n_words; i++)
        any |= a[i] & (b ? b[i] : ~UINT64_C(0));
    return any;
}

static void
flow(Written *w, const Val *from, const Val *to)
{
    merge(w, set_of(w, to), set_of(w, from));
}

/* Something reads through ptr. One that is no plain load may read what no store here wrote. */
static void
see_read(Written *w, const Val *ptr, bool is_load)
{
    const uint64_t *set = set_of(w, ptr);
    merge(w, w->read, set);
    for (int i = 0; i < w->n_words; i++)
        w->before[i] |= is_load ? set[i] & ~w->stored[i] : set[i];
}

static void
see_write(Written *w, const Val *ptr)
{
    const uint64_t *set = set_of(w, ptr);
    int n = 0;
    for (int i = 0; i < w->n_words; i++)
        n += __builtin_popcountll(set[i]);
    for (int i = 0; i < w->n_words && n == 1; i++)
        w->stored[i] |= set[i];
    merge(w, w->written, set);
    w->writes_unknown |= n == 0;
}

/* The terminator of one of o's regions hands values to o's results and to the next round. */
static void
leave_region(Written *w, const Op *o, const Op *last)
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

/* Assembly with effects may use any operand as an address, a pointer or not. */
static void
walk_assembly(Written *w, const Op *o)
{
    static const char *const stores[] = {"st.", "red.", "atom.", "cp.", "multimem."};
    bool is_store = false;
    for (size_t k = 0; k < COUNT(stores); k++)
        is_store |= strstr(o->text, stores[k]) != NULL;
    for (int i = 0; i < o->n_args; i++) {
        if (is_store)
            merge(w, w->written, set_of(w, arg(o, i)));
        see_read(w, arg(o, i), false);
    }
    w->has_atomics = true;
}

/* A pure one may still read, and return a pointer that it got. */
static void
walk_extern(Written *w, const Op *o)
{
    for (int i = 0; i < o->n_args; i++) {
        if (o->op == OP_EXTERN_IO)
            merge(w, w->written, set_of(w, arg(o, i)));
        see_read(w, arg(o, i), false);
        flow(w, arg(o, i), result(o, 0));
    }
    w->has_atomics |= o->op == OP_EXTERN_IO;
}

static void
walk_written(Written *w, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        if (op_has(o, OPF_CONTROL)) {
            enter(w, o);
            size_t bytes = (size_t)w->n_words * sizeof *w->stored;
            uint64_t *stored = NEW_N(w->arena, uint64_t, w->n_words);
            memcpy(stored, w->stored, bytes);
            for (int r = 0; r < o->n_regions; r++) {
                walk_written(w, o->regions[r]);
                if (o->op != OP_FOR)
                    memcpy(w->stored, stored, bytes);
                const Op *last = o->regions[r]->last;
                if (last && op_has(last, OPF_TERM))
                    leave_region(w, o, last);
            }
        } else if (o->op == OP_INLINE_ASM_IO) {
            walk_assembly(w, o);
        } else if (op_is_extern(o)) {
            walk_extern(w, o);
        } else if (op_has(o, OPF_READS | OPF_WRITES)) {
            bool is_ptr = o->n_args &&
                          (arg(o, 0)->type->is_ptr || arg(o, 0)->type->is_tmap);
            w->has_atomics |= op_has(o, OPF_READS) && op_has(o, OPF_WRITES);
            bool looks = o->op == OP_ATOMIC_RMW && ir_attr(o, ATTR_RMW) == RMW_LOAD;
            bool writes = op_has(o, OPF_WRITES) && o->op != OP_ASYNC_COPY &&
                          o->op != OP_TMA_LOAD && !looks;
            if (is_ptr && writes)
                see_write(w, arg(o, 0));
            if (is_ptr && op_has(o, OPF_READS))
                see_read(w, arg(o, 0), !writes);
        } else if (op_has(o, OPF_PURE)) {
            for (int i = 0; i < o->n_args; i++)
                for (int k = 0; k < o->n_results; k++)
                    flow(w, arg(o, i), result(o, k));
        }
    }
}

Written *
written_new(const Func *f)
{
    Arena *a = f->c->arena;
    int n = f->body->n_args;
    Written *w = NEW(a, Written);
    *w = (Written){.arena = a, .n_words = (n + 63) / 64, .grew = true};
    w->set = NEW_N(a, uint64_t, (size_t)f->n_vals *(size_t)w->n_words);
    w->written = NEW_N(a, uint64_t, w->n_words);
    w->read = NEW_N(a, uint64_t, w->n_words);
    w->stored = NEW_N(a, uint64_t, w->n_words);
    w->before = NEW_N(a, uint64_t, w->n_words);
    for (int i = 0; i < n; i++)
        if (f->body->args[i]->type->is_ptr)
            set_of(w, f->body->args[i])[i / 64] |= UINT64_C(1) << i % 64;
    while (w->grew) {
        w->grew = w->writes_unknown = false;
        memset(w->stored, 0, (size_t)w->n_words * sizeof *w->stored);
        memset(w->before, 0, (size_t)w->n_words * sizeof *w->before);
        walk_written(w, f->body);
    }
    return w;
}

bool
written_is_fresh(const Written *w, const Op *store)
{
    uint64_t any = 0, read = 0;
    const uint64_t *set = set_of(w, arg(store, 0));
    for (int i = 0; i < w->n_words; i++)
        any |= set[i], read |= set[i] & w->read[i];
    return any && !read && !w->has_atomics;
}

bool
written_is_constant(const Written *w, const Val *ptr)
{
    const uint64_t *set = set_of(w, ptr);
    return meets(w, set, NULL) && !meets(w, set, w->written) && !w->has_atomics &&
           !w->writes_unknown;
}

int
written_origin(const Written *w, const Val *ptr)
{
    const uint64_t *set = set_of(w, ptr);
    for (int i = 0; i < w->n_words; i++)
        if (set[i])
            return 64 * i + __builtin_ctzll(set[i]);
    return 0;
}

void
written_params(const Func *f, bool *written, bool *before)
{
    const Written *w = written_new(f);
    for (int i = 0; i < f->body->n_args; i++) {
        written[i] = w->written[i / 64] >> i % 64 & 1;
        before[i] = w->before[i / 64] >> i % 64 & 1;
    }
}
