/* f2: linear algebra over the field of two elements, where + is XOR.
 *
 * A matrix is an array of columns, a column is a word, bit i of it is row i:
 *
 *     m = {1, 6, 4}       1 0 0
 *                         0 1 0       m (1,1,0) = 1 ^ 6 = 7
 *                         0 1 1
 *
 * Everything rests on one table, the echelon: for each leading bit at most one vector
 * that has it, together with the columns whose XOR it is. Reducing y by the table
 * leaves 0 when y is in the image, and the columns used on the way solve m x = y. The
 * solution is a linear function of y (the same columns for the same pivots), which
 * convert_*.c need.
 */
#include "layout/layout.h"

#include <assert.h>

typedef struct Echelon {
    Col vec[32];  /* vec[b] has leading bit b, or is 0 */
    Col comb[32]; /* vec[b] = m comb[b] */
} Echelon;

static int
leading_bit(Col v)
{
    return 31 - __builtin_clz(v);
}

/* What is left of v, and in *comb the columns that were added. */
static Col
reduce(const Echelon *e, Col v, Col *comb)
{
    Col rest = 0;
    while (v) {
        int b = leading_bit(v);
        if (e->vec[b]) {
            v ^= e->vec[b];
            *comb ^= e->comb[b];
        } else {
            rest |= (Col)1 << b;
            v ^= (Col)1 << b;
        }
    }
    return rest;
}

/* Adds v = m comb; false when v was in the span already. */
static bool
extend(Echelon *e, Col v, Col comb)
{
    v = reduce(e, v, &comb);
    if (!v)
        return false;
    int b = leading_bit(v);
    e->vec[b] = v;
    e->comb[b] = comb;
    return true;
}

static int
echelon(Echelon *e, const Col *m, int n)
{
    int rank = 0;
    assert(n <= 32);
    memset(e, 0, sizeof *e);
    for (int i = 0; i < n; i++)
        rank += extend(e, m[i], (Col)1 << i);
    return rank;
}

Col
f2_mul(const Col *m, int n, Col v)
{
    Col y = 0;
    for (int i = 0; i < n; i++)
        if (v >> i & 1)
            y ^= m[i];
    return y;
}

int
f2_rank(const Col *m, int n)
{
    Echelon e;
    return echelon(&e, m, n);
}

bool
f2_solve(const Col *m, int n, Col y, Col *x)
{
    Echelon e;
    echelon(&e, m, n);
    Col comb = 0;
    if (reduce(&e, y, &comb))
        return false;
    *x = comb;
    return true;
}

bool
f2_invert(const Col *m, int n, int bits, Col *inv)
{
    Echelon e;
    echelon(&e, m, n);
    for (int j = 0; j < bits; j++) {
        inv[j] = 0;
        if (reduce(&e, (Col)1 << j, &inv[j]))
            return false;
    }
    return true;
}

int
f2_complement(const Col *m, int n, int bits, Col *out)
{
    Echelon e;
    int k = 0;
    echelon(&e, m, n);
    for (int j = 0; j < bits; j++)
        if (extend(&e, (Col)1 << j, 0))
            out[k++] = (Col)1 << j;
    return k;
}

int
f2_extend(const Col *m, int n, const Col *from, int n_from, Col *out)
{
    Echelon e;
    int k = 0;
    echelon(&e, m, n);
    for (int j = 0; j < n_from; j++)
        if (extend(&e, from[j], 0))
            out[k++] = from[j];
    return k;
}
