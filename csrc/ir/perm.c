/* perm: permutations of dims as one number, so that an attribute holds them.
 *
 * Digit i counts what stands in front of place i and is larger, 0 .. i, and weighs i!:
 *
 *     [0, 1, 2]    0          [1, 0, 2]    1 * 1!         [0, 2, 1]    1 * 2!
 *     [2, 0, 1]    1 * 1! + 1 * 2!                        [2, 1, 0]    1 * 1! + 2 * 2!
 *
 * The identity is 0, a number is that of n dims when it is below n!, and places behind the
 * last that moves add nothing. 20! is below 2^63.
 */
#include "ir/ir.h"

_Static_assert(MAX_RANK <= 20, "21! does not fit an attribute");

static uint64_t
factorial(int n)
{
    uint64_t f = 1;
    for (int i = 2; i <= n; i++)
        f *= (uint64_t)i;
    return f;
}

int64_t
perm_pack(int rank, const int *perm)
{
    uint64_t code = 0;
    for (int i = 0; i < rank; i++) {
        uint64_t larger = 0;
        for (int j = 0; j < i; j++) {
            if (perm[j] == perm[i])
                return -1;
            larger += perm[j] > perm[i];
        }
        if (perm[i] < 0 || perm[i] >= rank)
            return -1;
        code += larger * factorial(i);
    }
    return (int64_t)code;
}

bool
perm_unpack(int rank, int64_t code, int *perm)
{
    if (rank < 0 || rank > MAX_RANK || code < 0 || (uint64_t)code >= factorial(rank))
        return false;
    int left[MAX_RANK];
    for (int i = 0; i < rank; i++)
        left[i] = i;
    for (int i = rank - 1; i >= 0; i--) {
        int at = i - (int)((uint64_t)code / factorial(i) % (uint64_t)(i + 1));
        perm[i] = left[at];
        memmove(left + at, left + at + 1, (size_t)(i - at) * sizeof *left);
    }
    return true;
}

void
ir_perm(const Op *o, int *perm)
{
    int rank = arg(o, 0)->type->rank;
    if (!perm_unpack(rank, ir_attr(o, ATTR_PERM), perm))
        for (int i = 0; i < rank; i++)
            perm[i] = i; /* no op that was checked */
}
