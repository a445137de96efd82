/* raise_loads: a load begins before threads wait for something else, where it takes no registers for that.
 *
 *     %x = load %p                               %x = load %p
 *     %s = reduce %x      threads wait           %r = addptr %q, %i
 *     %r = addptr %q, %i                    =>   %y = load %r
 *     %y = load %r                               %s = reduce %x
 *     %z = add %y, %s                            %z = add %y, %s
 *
 * Neither the assembler nor the chip takes a load over a barrier, so that in straight code each wait between
 * loads costs memory's whole latency once more, as blocks of few warps have nothing else to do meanwhile.
 *
 * Rule 1: nothing that may change memory is passed, and no control flow.
 * Rule 2: a load goes as far up as the function's fullest place allows: registers that are taken there anyway
 *         are free everywhere else. A function that has more there than a thread keeps its order: what is in
 *         excess waits in local memory, and a load that comes early is one more to put there.
 * Rule 3: without products a block has fewer than four warps, or four and a loop. Of others, other blocks load, and what is
 *         counted is more than the assembler takes where values follow one another: a layer norm by 8 warps has 61
 *         registers, and 104 with the weights ahead of its sums, so two blocks and not four.
 * Rule 4: without products what all programs load stays where it is: it is in L1 or L2, and would take registers.
 */
#include "passes/passes.h"

enum {
    MAX_PLACES = 8,   /* of one load that are tried */
    MAX_TRIES = 64,   /* of a function: each counts what lives in all of it */
    MAX_WORDS = 230,  /* of a thread, beside addresses */
    ALWAYS_FREE = 40, /* words with which as many threads fit as hide anything */
};

/* Where a load may go, from below upwards, and what has to go along. */
typedef struct Way {
    VEC(Op *) ops; /* what makes its address and mask, the load first */
    struct {
        Op *before;
        int n_ops; /* so many of ops stand below it */
    } place[MAX_PLACES];
    int n_places;
} Way;

/* Do threads wait for each other in it? */
static bool
waits(Func *f, const Op *o)
{
    return op_has(o, OPF_SCRATCH) && scratch_of(f, o, INT32_MAX).bytes;
}

static bool
goes_along(const Op *o)
{
    return op_has(o, OPF_PURE) && !op_has(o, OPF_SCRATCH | OPF_SHARED) && !o->n_regions;
}

static void
find_way(Func *f, Op *load, Way *w)
{
    Map ops = {.a = f->c->arena};
    map_put(&ops, load, 0, load);
    PUSH(f->c->arena, &w->ops, load);
    for (Op *o = load->prev; o && w->n_places < MAX_PLACES; o = o->prev) {
        if (may_change_memory(o) || op_has(o, OPF_CONTROL | OPF_SHARED))
            return;
        if (has_user_in(o, &ops)) {
            if (!goes_along(o))
                return;
            map_put(&ops, o, 0, o);
            PUSH(f->c->arena, &w->ops, o);
        } else if (waits(f, o)) {
            w->place[w->n_places].before = o;
            w->place[w->n_places++].n_ops = w->ops.n;
        }
    }
}

/* As far up as there is room. What makes the address stays up there: it is made anew where it is needed. */
static void
raise(Func *f, Op *load, int64_t room, int *tries)
{
    Way w = {0};
    Op *next = load->next;
    find_way(f, load, &w);
    while (w.n_places-- && (*tries)++ < MAX_TRIES) {
        for (int i = w.place[w.n_places].n_ops; i--;)
            ir_move_before(w.ops.at[i], w.place[w.n_places].before);
        if (most_live_words(f) <= room)
            return;
    }
    ir_move_before(load, next);
}

/* Rule 3. */
static bool
may_wait_long(const Func *f, bool has_dot)
{
    bool has_loop = false;
    EACH_OP(o, f->body)
        has_loop |= o->op == OP_FOR || o->op == OP_WHILE;
    return has_dot || f->team_warps < WARPGROUP + has_loop;
}

void
pass_raise_loads(Func *f)
{
    int tries = 0;
    bool has_dot = false;
    EACH_OP(o, f->body)
        has_dot |= o->op == OP_DOT || o->op == OP_MMA_START;
    int64_t room = MAX(most_live_words(f), ALWAYS_FREE);
    if (room > MAX_WORDS || !may_wait_long(f, has_dot))
        return;
    VEC(Op *) loads = {0};
    EACH_CONTROL_OP(o, f->body)
        if (o->op == OP_LOAD && result(o, 0)->type->rank && !may_change_memory(o) &&
            (has_dot || !is_common_load(o)))
            PUSH(f->c->arena, &loads, o);
    for (int i = 0; i < loads.n; i++)
        raise(f, loads.at[i], room, &tries);
}
