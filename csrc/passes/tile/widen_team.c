/* widen_team: products of many accumulators get more warps than the user asked for.
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
 *     num_warps=2     dot f32[128, 128]: 256 words of a thread's 255
 *     4 warps         128 words
 *
 * Fewer warps than a warpgroup have no wgmma. Where a sum takes half of their registers they are four: 2048^3 in
 * bf16 by 128x128x64 and 2 warps took 238 us on an H100 and takes 30 by four, 64x64x64 of tf32x3 by one warp
 * 163 and 47. Where it takes a quarter they are four if each product fills a warpgroup: 64x64x64 by 2 warps 54 and
 * 51, with sums of K in four parts 50 and 34. Less than that runs no faster: 32x64x64 by 2 warps 83 and 90.
 *
 * Rule 1: how many warps run a program shows in nothing but time: assembly that has effects or
 *         reads a thread's number, and a kernel that launchers start who know what was asked for
 *         (abi=plain), keep that. Others read how many there are (Binary.num_warps).
 * Rule 2: each warpgroup keeps 64 rows of every product.
 * Rule 3: `maxnreg` says how many registers a thread has, of the threads that were asked for.
 */
#include "passes/passes.h"

enum { MANY_WORDS = 128, SOME_WORDS = 64, ROWS = 64, COLUMNS = 16 };

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

/* Products of a block may lie one behind the other, with no accumulator that outlives the next ones: the ten of an
 * inverse (`x = x @ x, out = out @ (1 + x)`, 32x32 by two warps) have 160 words, of which 48 live together. */
static int64_t
sum_words(const Func *f)
{
    return MIN(acc_words(f->body), most_sum_words(f));
}

static bool
has_many_words(const Func *f)
{
    int64_t words = sum_words(f);
    return words + own_sum_words(f) > MANY_WORDS ||
           (words == MANY_WORDS && has_chained_dot(f->body));
}

/* Has each product work for four warps? */
static bool
has_work(const Func *f)
{
    EACH_OP(o, f->body) {
        const Type *t = o->op == OP_DOT ? result(o, 0)->type : NULL;
        if (t && t->shape[0] * t->shape[1] < ROWS * COLUMNS)
            return false;
    }
    return true;
}

/* Does each product fill a warpgroup, perhaps turned (swap_dots)? Four warps wait for each other longer than few
 * multiply-adds take: on an H100 covariances by 64x32x16 and one warp take 150 us by four and 102 by one, gradients of
 * ragged groups' weights by 32x64x16 275 and 83. */
static bool
fills_groups(Func *f)
{
    enum { FEW = 64 * 32 * 32 };
    EACH_OP(o, f->body) {
        DotPlan p = {0};
        const Type *t = o->op == OP_DOT ? result(o, 0)->type : NULL;
        if (t && ty_numel(t) * arg(o, 0)->type->shape[1] <= FEW)
            return false;
        if (t && hopper_dot(f, o, &p) &&
            (t->shape[1] < ROWS || t->shape[0] >= ROWS || !comes_from_load(arg(o, 0)) ||
             !comes_from_load(arg(o, 1))))
            return false;
    }
    return true;
}

/* A warpgroup for fewer warps, else two for one. */
static int
wider(Func *f)
{
    int rows = 0, is_few = f->team_warps < WARPGROUP;
    if (f->team_warps > WARPGROUP || f->c->opt.maxnreg || f->c->opt.num_ctas > 1 ||
        !may_widen(f->body, &rows))
        return 0;
    if (is_few)
        return sum_words(f) >= SOME_WORDS && has_work(f) ? WARPGROUP : 0;
    return has_many_words(f) && rows >= 2 * ROWS ? 2 * WARPGROUP : 0;
}

void
pass_widen_team(Func *f)
{
    int asked = f->team_warps, warps = wider(f);
    bool is_some = asked < WARPGROUP && sum_words(f) < MANY_WORDS;
    if (!warps || (is_some && has_chained_dot(f->body)))
        return;
    f->team_warps = warps;
    HopperPlan plan = hopper_plan(f);
    if (plan.level < 2 || plan.is_plain || (is_some && !fills_groups(f)))
        f->team_warps = asked;
    else
        ir_report(f, f->loc, "warps",
                  str_printf(f->c->arena,
                             "%d, not %d: accumulators leave too few registers", warps,
                             asked));
}
