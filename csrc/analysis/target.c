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
