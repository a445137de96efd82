/* target: what a program may use of the machine it is compiled for. */
#include "analysis/analysis.h"

int
shared_memory_limit(const Target *t)
{
    switch (t->sm) {
    case 75: return 64 << 10;
    case 80:
    case 87: return 163 << 10;
    case 86:
    case 88:
    case 89:
    case 120:
    case 121: return 99 << 10;
    default: return 227 << 10; /* 90, 100, 103, 110 */
    }
}

bool
has_stmatrix(const Target *t)
{
    return t->sm >= 90;
}
