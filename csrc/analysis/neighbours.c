/* neighbours: what programs side by side on the grid have in common.
 *
 * Whether they run in turn on one block, or bring tiles for each other, is decided by passes; both ask
 * whether control flow and places are the same for all of them, whether rows that begin amid lines of
 * L2 make it worth it, and whether each has a neighbour at all.
 */
#include "analysis/analysis.h"

enum { MAX_STEPS = 256 };

/* What a loop carries as v, from its begin and from one iteration to the next. */
static void
need_same_carried(Same *s, const Val *v)
{
    const Op *loop = v->block->owner;
    s->differs |= is_programs_number(v);
    if (!loop || !v->index || map_get(&s->seen, v, 0))
        return;
    map_put(&s->seen, v, 0, (void *)v);
    s->differs |= loop->op != OP_FOR;
    if (s->differs)
        return;
    need_same(s, arg(loop, 2 + v->index));
    need_same(s, arg(loop->regions[0]->last, v->index - 1));
}

void
need_same(Same *s, const Val *v)
{
    const Op *o = v->def;
    if (!o)
        need_same_carried(s, v);
    if (!o || s->differs || map_get(&s->seen, o, 0))
        return;
    map_put(&s->seen, o, 0, (void *)o);
    bool is_other = o->op == OP_BLOCK_ID || o->op == OP_CLUSTER_RANK ||
                    (o->op == OP_PROGRAM_ID && !(s->axes >> ir_attr(o, ATTR_AXIS) & 1));
    s->differs = is_other || o->n_regions || !op_has(o, OPF_PURE) ||
                 s->seen.n > MAX_STEPS;
    for (int i = 0; i < o->n_args; i++)
        need_same(s, arg(o, i));
}

/* Does o fill a slot, whichever branch it takes? */
static bool
always_fills(const Op *o)
{
    int n = 0;
    for (int i = 0; i < o->n_regions && o->op == OP_IF; i++)
        for (const Op *in = o->regions[i]->first; in; in = in->next)
            n += in->op == OP_MBAR_ARRIVE && ir_attr(in, ATTR_BYTES);
    return n == 2;
}

/* Is it the loop of programs in turn, or the strip behind it that a block may have? Of both a pair of blocks has
 * as many. */
static bool
is_dealt(const Op *o)
{
    bool is_strip = false;
    if (o->op == OP_IF && o->n_regions == 1)
        for (const Op *in = o->regions[0]->first; in; in = in->next)
            is_strip |= ir_strips(in) > 0;
    return is_strip || op_is_programs_loop(o);
}

void
need_same_around(Same *s, const Block *b)
{
    for (const Op *o = b->owner; o && !s->differs; o = o->block->owner)
        if (is_dealt(o))
            continue;
        else if (o->op == OP_FOR || (o->op == OP_IF && !always_fills(o)))
            for (int i = 0; i < (o->op == OP_FOR ? 3 : 1); i++)
                need_same(s, arg(o, i));
        else
            s->differs |= o->op != OP_ROLES && o->op != OP_IF;
}

bool
is_common_load(const Op *o)
{
    Same s = {.seen = {.a = o->block->func->c->arena}};
    need_same(&s, arg(o, 0));
    return !s.differs;
}

bool
map_splits_lines(FactTable *facts, const Op *map)
{
    enum { LINE = 128, MOST_KNOWN = 4 };
    int rank = map->n_args / 2;
    const Val *stride = arg(map, 2 * rank - 1);
    int64_t n, line = LINE / elem_info[arg(map, 0)->type->elem].bytes;
    if (ir_const_as_int(stride, &n))
        return n % line != 0;
    return facts_divisibility(facts, stride, MOST_KNOWN) < MOST_KNOWN;
}

/* Can others see what it does? */
static bool
is_seen(const Op *o)
{
    return op_has(o, OPF_WRITES) && !op_has(o, OPF_SHARED);
}

/* Or may it be left out, as nobody waits for it? */
static bool
is_waited_for(const Op *o)
{
    return op_has(o, OPF_SHARED) || o->op == OP_MAP_LOAD || o->op == OP_DOT ||
           o->op == OP_MMA_WAIT;
}

Op *
after_products(const Block *program)
{
    Op *end = program->first;
    for (Op *o = end; o; o = o->next)
        if (ir_is_or_holds(o, is_waited_for))
            end = o->next;
    for (const Op *o = program->first; o != end; o = o->next)
        if (ir_is_or_holds(o, is_seen))
            return NULL;
    return end;
}

bool
all_have_neighbours(Func *f, const Block *program)
{
    return ir_all_strips(f) || hopper_grid_is(f, GRID_EVEN) ||
           (after_products(program) && hopper_grid_is(f, GRID_LONG));
}
