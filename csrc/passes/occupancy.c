/* occupancy: how many thread blocks a multiprocessor is to hold, for the assembler.
 *
 *     func @column_sum(..) {            =>      func @column_sum(..) blocks 4 {
 *
 * ptxas weighs registers against resident blocks by itself, and decides badly in two cases.
 * A loop that adds up what it loads gets 44 registers and one load in flight, because each
 * load is sunk to its use; told that four blocks are enough, the same PTX keeps all loads of
 * an iteration in flight and is unrolled. A kernel that needs more registers than there are
 * may be given 32 and spill the rest. Measured on an H200 beside Triton with the same
 * configuration: 133 configurations with such loops run at 1.23 of Triton's speed instead
 * of 1.04 (benchmarks/configurations.py).
 *
 * A loop needs its live words twice, because the next iteration's loads are in flight beside
 * them, and some words for addresses. More blocks than that give each too few registers;
 * more threads than ENOUGH_THREADS gain nothing, as loads in flight take their place.
 *
 * Rule 1: straight code keeps the assembler's choice: all its loads stand at its top, and
 *         with room for more registers it holds fewer blocks, which was slower.
 * Rule 2: products keep it, too: accumulators decide there, and no number changed them.
 * Rule 3: the user's maxnreg wins.
 * Rule 4: roles that deal out registers are one block's: setmaxnreg is for a known number.
 */
#include "passes/passes.h"

enum {
    ENOUGH_THREADS = 512,
    ADDRESS_WORDS = 24,
    MANY_WORDS = 192, /* of a thread, from which on ptxas may give up and spill */
};

static bool
is_block_load(const Op *o)
{
    return o->op == OP_LOAD && result(o, 0)->type->rank;
}

/* Does b, or a region in it, hold an op for which `is` holds? */
static bool
holds(const Block *b, bool (*is)(const Op *))
{
    EACH_OP(o, b)
        if (is(o))
            return true;
    return false;
}

static bool
is_dot(const Op *o)
{
    return o->op == OP_DOT || o->op == OP_MMA_START;
}

static bool
is_loop_of_loads(const Op *o)
{
    if (o->op != OP_FOR && o->op != OP_WHILE)
        return false;
    for (int r = 0; r < o->n_regions; r++)
        if (holds(o->regions[r], is_block_load))
            return true;
    return false;
}

/* Do roles? Then the assembler must know how many each thread begins with. */
static bool
deals_registers(const Func *f)
{
    for (const Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_ROLES && ir_attr(o, ATTR_REGS))
            return true;
    return false;
}

/* 0: the assembler's choice. */
static int
blocks_wanted(const Func *f)
{
    int64_t words = most_live_words(f), threads = 32LL * f->team_warps;
    if (f->c->opt.maxnreg)
        return 0;
    if (deals_registers(f))
        return 1;
    if (words > MANY_WORDS)
        return 1;
    if (!holds(f->body, is_loop_of_loads) || holds(f->body, is_dot))
        return 0;
    int64_t fit = CHIP_REGISTERS / (threads * (2 * words + ADDRESS_WORDS));
    return (int)MAX(MIN(fit, ENOUGH_THREADS / threads), 1);
}

void
pass_occupancy(Func *f)
{
    f->min_blocks = blocks_wanted(f);
    if (f->min_blocks && !deals_registers(f))
        ir_report(f, f->loc, "occupancy",
                  str_printf(f->c->arena,
                             "registers are dealt for %d block%s on a "
                             "multiprocessor, so that loads stay in flight",
                             f->min_blocks, f->min_blocks > 1 ? "s" : ""));
}
