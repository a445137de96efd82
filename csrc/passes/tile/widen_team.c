/* widen_team: products of many accumulators get twice the warps that the user asked for.
 *
 *     num_warps=4     dot f32[128, 128], dot f32[128, 64]: 192 words of a thread's 255
 *     8 warps         96 words
 *
 * A warpgroup's accumulators stay in registers while it multiplies, and attention has two of
 * them, beside what it computes. Four warps then spill, or do one product after the other;
 * eight have the registers of one program more, which does not fit beside it anyhow. Of chained
 * products 128 words are as many: 128 x 64 at D = 64 spills by four, and ran on an H200 at 418
 * TFLOP/s, by eight at 468; 128 x 128 x 64 of a product alone has 763 by four and 758 by eight. Sums that threads
 * add to themselves (float8 with scales of blocks) are in registers beside the accumulator.
 *
 * Rule 1: how many warps run a program shows in nothing but time: assembly that has effects or
 *         reads a thread's number, and a kernel that launchers start who know what was asked for
 *         (abi=plain), keep that. Others read how many there are (Binary.num_warps).
 * Rule 2: each warpgroup keeps 64 rows of every product.
 * Rule 3: `maxnreg` says how many registers a thread has, of the threads that were asked for.
 */
#include "passes/passes.h"

enum { MANY_WORDS = 128, ROWS = 64 };

/* Pure assembly knows its elements alone, unless it reads what differs between warps. */
static bool
reads_threads(const Op *assembly)
{
    static const char *const names[] = {"%tid", "%ntid", "%warpid", "%nwarpid"};
    for (size_t i = 0; i < COUNT(names); i++)
        if (strstr(assembly->text, names[i]))
            return true;
    return false;
}

/* Does a block of f say that the warps are to stay as they are? Finds the fewest rows of a
 * product, 0: there is none. */
static bool
may_widen(const Block *b, int *rows)
{
    EACH_OP(o, b) {
        if (o->op == OP_INLINE_ASM_IO || o->op == OP_BARRIER ||
            (o->op == OP_INLINE_ASM && reads_threads(o)))
            return false;
        if (o->op == OP_DOT) {
            const Type *t = result(o, 0)->type;
            if (t->rank != 2)
                return false;
            *rows = *rows ? MIN(*rows, t->shape[0]) : t->shape[0];
        }
    }
    return true;
}

static bool
has_many_words(const Func *f)
{
    int64_t words = acc_words(f->body);
    return words + own_sum_words(f) > MANY_WORDS ||
           (words == MANY_WORDS && has_chained_dot(f->body));
}

void
pass_widen_team(Func *f)
{
    int rows = 0;
    if (f->team_warps != WARPGROUP || f->c->opt.maxnreg || f->c->opt.num_ctas > 1 ||
        !has_many_words(f) || !may_widen(f->body, &rows) || rows < 2 * ROWS)
        return;
    f->team_warps = 2 * WARPGROUP;
    HopperPlan plan = hopper_plan(f);
    if (plan.level < 2 || plan.is_plain)
        f->team_warps = WARPGROUP;
    else
        ir_report(f, f->loc, "warps", "8, not 4: accumulators leave too few registers");
}
