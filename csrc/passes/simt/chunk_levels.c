/* chunk_levels: which loop over slices each op belongs to.
 *
 *     level 0   x = load(..)    s = sum(x)          one loop: load, add to the sum
 *     level 1   y = x / s       store(.., y)        the next one
 *
 * Ops of one level stand in one loop, in the order of the text. A level ends where something
 * needs all slices: the result of a reduction along the dim that is cut, a use by an op that
 * is not cut, or an access to memory that may meet other elements of one before it.
 *
 * Rule 1: what an op takes comes from its own loop or from one before it.
 * Rule 2: two accesses, one of which writes, stay in order: slice by slice in one loop if they go
 *         through different arguments, which either meet nowhere or element by element, or
 *         through the same elements; else in two loops.
 */
#include "passes/simt/chunk.h"

typedef enum Effect { NOTHING, READS, WRITES, FENCES } Effect;

Step *
chunk_step(const Cut *k, const Val *v)
{
    return v->def ? map_get(&k->step_of, v->def, 0) : NULL;
}

static bool
takes_slices_alone(const Cut *k, const Op *o)
{
    for (int i = 0; i < o->n_args; i++)
        if (k->only[arg(o, i)->id])
            return true;
    return false;
}

bool
chunk_takes_slice(const Cut *k, const Step *s, int i)
{
    const Op *o = s->o;
    return is_in_registers(arg(o, i)) && chunk_has_slices(k, arg(o, i)) &&
           (!o->n_results || s->is_sum || chunk_takes_slices(k, o, i));
}

/* ---- memory ------------------------------------------------------------------------------ */

static Effect effect_within(const Op *o, const Val *place);

/* On a place in local memory; NULL: on all memory that other threads see. */
static Effect
effect_of(const Op *o, const Val *place)
{
    if (chunk_is_local(o) && o->n_args)
        return arg(o, 0) != place ? NOTHING : o->n_results ? READS : WRITES;
    if (op_has(o, OPF_CONTROL))
        return effect_within(o, place);
    if (place || o->op == OP_LOCAL_ALLOC)
        return NOTHING;
    switch (o->op) {
    case OPS(OP_LAUNCH_TEST, OP_ASSUME, OP_ASSERT): return NOTHING;
    case OP_LOAD: return ir_attr(o, ATTR_VOLATILE) ? FENCES : READS;
    case OP_STORE: return WRITES;
    case OPS_RARE_ACCESS:
        if (!op_has(o, OPF_WRITES))
            return NOTHING;
        return arg(o, 0)->type->rank ? WRITES : FENCES;
    case OPS(OPS_VALUES, OPS_SHAPE, OPS_ELEM, OP_TILE_LOAD, OP_TILE_STORE,
             OP_TENSOR_MAP, OP_MAP_LOAD, OP_MAP_STORE, OPS_ACROSS, OPS_FOREIGN,
             OPS_FLOW, OP_PRINT, OP_DEBUG, OPS_THREADS):
        break;
    }
    return op_has(o, OPF_READS | OPF_WRITES | OPF_SYNC | OPF_STAYS) ? FENCES : NOTHING;
}

/* Of a loop or an if: what writes in there is in no order with single accesses outside. */
static Effect
effect_within(const Op *o, const Val *place)
{
    Effect most = NOTHING;
    for (int r = 0; r < o->n_regions; r++)
        for (const Op *p = o->regions[r]->first; p; p = p->next) {
            Effect e = effect_of(p, place);
            most = MAX(most, e == WRITES ? FENCES : e);
        }
    return most;
}

static bool
is_plain(const Op *o)
{
    return o->op == OP_LOAD || o->op == OP_STORE ||
           (o->op == OP_ATOMIC_RMW && ir_attr(o, ATTR_SEM) == SEM_RELAXED);
}

static const Val *
moved_by(const Op *local)
{
    return local->n_results ? result(local, 0) : arg(local, 2);
}

/* May slices of one go before later slices of the other? */
static bool
may_take_turns(const Cut *k, const Op *x, const Op *y)
{
    const Val *p = arg(x, 0), *q = arg(y, 0);
    if (chunk_is_local(x) && p == q)
        return chunk_is_cut_alike(k, moved_by(x), moved_by(y));
    const Val *root = pointer_root(k->f, p), *other = pointer_root(k->f, q);
    if (!is_plain(x) || !is_plain(y) || !root || !other)
        return false;
    if (root != other)
        return true;
    Affine a, b;
    return p->type == q->type && chunk_is_cut_alike(k, p, q) &&
           affine_of(k->f, p, &a) && affine_of(k->f, q, &b) &&
           affine_is_same(&a, &b, p->type) && x->op != OP_ATOMIC_RMW &&
           y->op != OP_ATOMIC_RMW;
}

static const Val *
place_of(const Op *o)
{
    return chunk_is_local(o) && o->n_args ? arg(o, 0) : NULL;
}

/* How many levels at least y, in slices or not, is above x that stands before it; -1: any. */
static int
levels_between(const Cut *k, const Op *x, bool x_cut, const Op *y, bool y_cut)
{
    bool both = op_has(x, OPF_CONTROL) && op_has(y, OPF_CONTROL);
    const Val *place = place_of(chunk_is_local(x) ? x : y);
    Effect e = effect_of(x, place), f = effect_of(y, place);
    if (both) /* either may touch what the other does in any memory */
        return 0;
    if (e == NOTHING || f == NOTHING || (e == READS && f == READS))
        return -1;
    if (!x_cut)
        return 0;
    bool in_turns = y_cut && e != FENCES && f != FENCES && may_take_turns(k, x, y);
    return !in_turns;
}

/* ---- levels ------------------------------------------------------------------------------ */

static void
note_steps(Cut *k, Block *b)
{
    EACH_CONTROL_OP(o, b) {
        Step *s = NEW(k->a, Step);
        *s = (Step){.o = o, .number = k->steps.n};
        bool gives_slices = false;
        for (int i = 0; i < o->n_results; i++)
            gives_slices |= chunk_has_slices(k, result(o, i));
        bool alone = o->op != OP_LOCAL_ALLOC &&
                     (takes_slices_alone(k, o) || (gives_slices && chunk_runs_once(o)));
        s->is_cut = o->op != OP_LOCAL_ALLOC && (alone || gives_slices);
        s->is_whole = !alone;
        s->is_sum = alone && (o->op == OP_HISTOGRAM ||
                              (o->op == OP_REDUCE && chunk_is_along(k, o)));
        s->is_carry = o->op == OP_SCAN && chunk_is_along(k, o);
        PUSH(k->a, &k->steps, s);
        map_put(&k->step_of, o, 0, s);
    }
}

/* The level in front of whose loop all of v is there; b: the block that asks. */
static int
level_of_whole(const Cut *k, const Block *b, const Val *v)
{
    const Step *s = chunk_step(k, v);
    if (!s || s->o->block != b)
        return 0;
    return s->is_whole ? s->whole_level : s->level + 1;
}

/* Of all that ops in o's regions read. */
static int
level_of_regions(const Cut *k, const Op *o)
{
    int level = 0;
    for (int r = 0; r < o->n_regions; r++)
        EACH_OP(p, o->regions[r])
            for (int i = 0; i < p->n_args; i++)
                level = MAX(level, level_of_whole(k, o->block, arg(p, i)));
    return level;
}

/* What o takes as a whole, also in regions. */
static int
level_of_operands(const Cut *k, const Op *o)
{
    int level = level_of_regions(k, o);
    for (int i = 0; i < o->n_args; i++)
        level = MAX(level, level_of_whole(k, o->block, arg(o, i)));
    return level;
}

/* The same where slices of operands are enough. */
static int
level_of_slices(const Cut *k, const Step *of)
{
    const Op *o = of->o;
    int level = level_of_regions(k, o);
    for (int i = 0; i < o->n_args; i++) {
        const Step *s = chunk_step(k, arg(o, i));
        if (!chunk_takes_slice(k, of, i))
            level = MAX(level, level_of_whole(k, o->block, arg(o, i)));
        else if (s && s->o->block == o->block)
            level = MAX(level, s->level);
    }
    return level;
}

static int
after_accesses(const Cut *k, const Step *s, bool is_cut)
{
    int level = 0;
    if (!chunk_is_local(s->o) && !op_has(s->o, OPF_CONTROL) &&
        effect_of(s->o, NULL) == NOTHING)
        return 0;
    for (const Op *o = s->o->block->first; o != s->o; o = o->next) {
        const Step *t = map_get(&k->step_of, o, 0);
        int cut = t->is_cut ? levels_between(k, o, true, s->o, is_cut) : -1,
            whole = t->is_whole ? levels_between(k, o, false, s->o, is_cut) : -1;
        level = MAX(level, cut < 0 ? 0 : t->level + cut);
        level = MAX(level, whole < 0 ? 0 : t->whole_level + whole);
    }
    return level;
}

/* A loop goes one way. */
static int
after_scans(const Cut *k, const Step *s)
{
    int level = s->level;
    for (int i = 0; i < s->number && s->is_carry; i++) {
        const Step *t = k->steps.at[i];
        if (t->is_carry && t->o->block == s->o->block && t->level == level &&
            ir_attr(t->o, ATTR_REVERSE) != ir_attr(s->o, ATTR_REVERSE))
            level++, i = -1;
    }
    return level;
}

void
chunk_levels(Cut *k)
{
    k->steps.n = 0;
    note_steps(k, k->f->body);
    for (int i = 0; i < k->steps.n; i++) {
        Step *s = k->steps.at[i];
        if (s->is_cut)
            s->level = MAX(level_of_slices(k, s), after_accesses(k, s, true));
        s->level = after_scans(k, s);
        if (s->is_whole)
            s->whole_level = MAX(level_of_operands(k, s->o),
                                 after_accesses(k, s, false));
    }
}

/* Of another argument, and no block that could be the load's element by element? */
static bool
is_elsewhere(const Cut *k, const Step *load, const Step *s)
{
    const Val *root = pointer_root(k->f, arg(load->o, 0)),
              *other = s->o->op == OP_STORE ? pointer_root(k->f, arg(s->o, 0)) : NULL;
    return !s->is_cut && !chunk_is_local(load->o) && root && other && root != other;
}

bool
chunk_loads_again(const Cut *k, const Step *load, int level)
{
    for (const Op *o = load->o->next; o; o = o->next) {
        const Step *t = map_get(&k->step_of, o, 0);
        int between = levels_between(k, load->o, true, o, t->is_cut);
        if (between < 0 || is_elsewhere(k, load, t))
            continue;
        if (t->is_whole ? t->whole_level <= level : t->level < level + between)
            return false;
    }
    return true;
}
