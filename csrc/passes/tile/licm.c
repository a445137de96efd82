/* licm: move what does not change out of loops.
 *
 *     for %k = .. {                              %1 = expand_dims %offs
 *       %1 = expand_dims %offs                   for %k = .. {
 *       %2 = load %p_fixed               =>        %2 = load %p_fixed
 *       ...                                        ...
 *
 * Inner loops go first, so that one pass hoists an op out of all loops that it can leave.
 *
 * Rule 1: a loop may run zero times, and then nothing may go wrong that did not before. An
 *         integer division moves when its divisor cannot be 0 or -1 (it may trap), or when
 *         the op would have run anyway.
 * Rule 2: a load moves only out of a `for` that certainly runs and writes nothing, through whatever argument. Out of a
 *         `while` never: it may be waiting for what another program writes.
 * Rule 3: nothing leaves a loop that the user has marked LOOP_NO_LICM.
 */
#include "passes/passes.h"

typedef struct Licm {
    Func *f;
    FactTable *facts;
} Licm;

/* Is every value that o reads, in its regions as well, from outside of the loop? */
static bool
is_invariant(const Op *o, const Op *loop, const Op *top)
{
    for (int i = 0; i < o->n_args; i++) {
        const Val *v = arg(o, i);
        bool inside = false;
        for (int r = 0; r < loop->n_regions && !inside; r++)
            inside = !is_defined_outside(v, loop->regions[r]);
        if (!inside)
            continue;
        /* A combine region reads its own values, too. */
        bool own = false;
        for (int r = 0; o != top && r < top->n_regions && !own; r++)
            own = !is_defined_outside(v, top->regions[r]);
        if (!own)
            return false;
    }
    for (int r = 0; r < o->n_regions; r++)
        for (const Op *p = o->regions[r]->first; p; p = p->next)
            if (!is_invariant(p, loop, top))
                return false;
    return true;
}

static bool
certainly_runs(Licm *w, const Op *loop)
{
    if (loop->op != OP_FOR)
        return false;
    int64_t lo[3], hi[3];
    for (int i = 0; i < 3; i++) {
        facts_range(w->facts, arg(loop, i), &lo[i], &hi[i]);
        if (arg(loop, i)->type->elem == E_U64 && hi[i] == INT64_MAX)
            return false;
    }
    return lo[2] > 0 ? hi[0] < lo[1] : hi[2] < 0 && lo[0] > hi[1];
}

/* May o run where it would not have? */
static bool
is_harmless(Licm *w, const Op *o)
{
    int64_t lo, hi;
    if (!op_has(o, OPF_TRAPS))
        return true;
    if (o->op != OP_DIV && o->op != OP_REM)
        return false;
    if (elem_is_float(result(o, 0)->type->elem))
        return true;
    facts_range(w->facts, arg(o, 1), &lo, &hi);
    return lo > 0;
}

static bool
may_move(Licm *w, const Op *o, const Op *loop, const Block *region, bool runs)
{
    if (o->op == OP_LOAD)
        return runs && !ir_attr(o, ATTR_VOLATILE) && is_invariant(o, loop, o) &&
               !ir_holds(region, may_change_memory);
    if (!op_has(o, OPF_PURE) || !is_invariant(o, loop, o))
        return false;
    /* The first region of a while always runs. */
    return runs || (loop->op == OP_WHILE && region == loop->regions[0]) ||
           is_harmless(w, o);
}

static void
hoist_from(Licm *w, Op *loop)
{
    bool runs = certainly_runs(w, loop);
    for (int r = 0; r < loop->n_regions; r++) {
        Block *region = loop->regions[r];
        for (Op *o = region->first, *next; o; o = next) {
            next = o->next;
            if (may_move(w, o, loop, region, runs))
                ir_move_before(o, loop);
        }
    }
}

void
pass_licm(Func *f)
{
    Licm w = {f, facts_new(f)};
    EACH_OP_INSIDE_OUT(o, f->body) {
        bool is_loop = o->op == OP_FOR || o->op == OP_WHILE;
        if (is_loop && !(ir_attr(o, ATTR_LOOP) & LOOP_NO_LICM))
            hoist_from(&w, o);
    }
}
