/* layouts: who holds what is known of every block, for just the kernel's threads. Text may
 * say otherwise: whatever an author of tile IR wrote ends here. Inside of a reduction are
 * only scalars.
 */
#include "analysis/analysis.h"

static void
check_warps(const Func *f)
{
    int warps = f->team_warps;
    if (warps < 1 || warps & (warps - 1))
        err_say(f->c, f->loc, VALUE, "num_warps must be a power of two, not %d", warps);
    if (warps > 32)
        err_at(f->c, f->loc, RESOURCES, "threads", warps * 32LL, 1024LL);
}

/* Of the threads of a program: those of all blocks that share it. */
static int
log2_warps(const Func *f)
{
    return __builtin_ctz((unsigned)f->team_warps) + f->log2_ctas;
}

static void
check_layout(const Func *f, const Val *v, const Loc *loc)
{
    const Type *t = v->type;
    const Layout *l = t->layout;
    if (!t->rank || (t->slots && !t->is_local))
        return;
    if (!l)
        err_say(f->c, loc, VALUE, "%s has no layout: run simt before this",
                ty_str(f->c->arena, t));
    if (l->n[IN_LANE] != LANE_BITS || l->n[IN_WARP] + l->n[IN_BLOCK] != log2_warps(f) ||
        !layout_is_onto(l))
        err_say(f->c, loc, VALUE, "%s: this layout is not one of %d warps",
                ty_str(f->c->arena, t), 1 << log2_warps(f));
}

void
check_threads(const Func *f)
{
    check_warps(f);
    EACH_VAL(v, f->body)
        check_layout(f, v, ir_loc_of(v));
}
