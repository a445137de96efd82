/* target: what a program may use of the machine it is compiled for. */
#include "analysis/analysis.h"

int
block_warps(const Func *f)
{
    int n = f->team_warps;
    for (const Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_ROLES)
            n += (int)ir_attr(o, ATTR_PRODUCERS);
    return n;
}

int
shared_memory_limit(const Target *t)
{
    return chip_of(t->sm)->block_kb << 10;
}

bool
has_stmatrix(const Target *t)
{
    return t->sm >= 90;
}

/* Vectors of floats came with sm_90; before, f16 has pairs, and bf16 as a loop on 32 bits.
 * So have the extremes of both, on every chip. */
int
atomic_log2(const Target *t, Elem e, int rmw)
{
    bool is_half = e == E_F16 || e == E_BF16;
    if (is_half && (rmw == RMW_MAX || rmw == RMW_MIN))
        return 1;
    if (rmw != RMW_ADD || (e != E_F32 && !is_half))
        return 0;
    if (t->sm < 90)
        return is_half ? 1 : 0;
    return is_half ? 3 : 2;
}
