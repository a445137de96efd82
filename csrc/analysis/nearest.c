/* nearest: along which dim do neighbours lie nearest to each other, where no run is known?
 *
 *     at = pid * 32 + arange           in [:, None]: 0       a picture's pixels: at / w and at % w
 *     x + at / w * row + at % w + c * plane[None, :]         by rows: 0, by columns: 8 + 4
 *
 * A stride that is a parameter may be any number, and one that 16 divides is more often a large one. So
 * lanes go along the pixels: what a warp reads at once then lies in a few sectors, and not in 32. The
 * answer is a guess, which decides about time and never about results.
 */
#include "analysis/facts_impl.h"
#include <stdlib.h>

enum {
    STILL = -1,  /* neighbours are mostly equal */
    SOME = 8,    /* a factor that is not known */
    LOOKS = 128, /* at ops */
    LANES = 5,   /* log2 of a warp's */
    ASKED = 4,   /* log2 of the divisor that is asked for */
};

typedef struct Guess {
    FactTable *t;
    int looks;
} Guess;

static int guess(Guess *g, const Val *v, int dim);

/* log2 of what v, equal along the dim, mostly is. A float is the scale of places, as of a picture that is made
 * larger: near 1. */
static int
size_of(Guess *g, const Val *v)
{
    int64_t c;
    if (elem_is_float(v->type->elem))
        return 0;
    if (ir_const_as_int(v, &c))
        return c ? 63 - __builtin_clzll((unsigned long long)llabs(c)) : 0;
    return SOME + (g->t ? facts_divisibility(g->t, v, ASKED) : 0);
}

static int
guess_product(Guess *g, const Op *o, int dim)
{
    int x = guess(g, arg(o, 0), dim), y = guess(g, arg(o, 1), dim);
    if (x == STILL && y == STILL)
        return STILL;
    if (x != STILL && y != STILL)
        return SCATTERED;
    return x == STILL ? y + size_of(g, arg(o, 0)) : x + size_of(g, arg(o, 1));
}

/* x / y, or x % y: what counts up by less than y steps over a multiple of it now and then. */
static int
guess_quotient(Guess *g, const Op *o, int dim)
{
    int x = guess(g, arg(o, 0), dim);
    int64_t c;
    if (guess(g, arg(o, 1), dim) != STILL)
        return SCATTERED;
    if (o->op == OP_REM || x == STILL)
        return x;
    int y = !ir_const_as_int(arg(o, 1), &c) ? SOME
            : o->op == OP_SHR               ? (int)MIN(MAX(c, 0), 63)
                                            : size_of(g, arg(o, 1));
    if (x >= y)
        return x - y;
    return x + LANES > y ? 0 : STILL; /* a warp has several quotients, or one */
}

static int
guess_all(Guess *g, const Op *o, int first, int dim)
{
    int most = STILL;
    for (int i = first; i < o->n_args; i++) {
        int one = guess(g, arg(o, i), dim);
        most = MAX(most, one);
    }
    return most;
}

static int
guess(Guess *g, const Val *v, int dim)
{
    int64_t c;
    bool is_known;
    v = fact_same_as(v);
    const Op *o = v->def;
    if (!v->type->rank || v->type->shape[dim] == 1)
        return STILL;
    if (--g->looks < 0)
        return SCATTERED;
    if (!o) {
        o = v->block->owner;
        return o && o->op == OP_FOR && v->index > 0
                   ? guess(g, arg(o, 2 + v->index), dim)
                   : SCATTERED;
    }
    if (o->op == OP_CONST || o->op == OP_SPLAT)
        return STILL;
    if (o->op == OP_ARANGE)
        return 0;
    if (o->op == OP_MUL)
        return guess_product(g, o, dim);
    if (o->op == OP_SHL && ir_const_as_int(arg(o, 1), &c))
        return guess(g, arg(o, 0), dim) + (int)MIN(MAX(c, 0), SCATTERED);
    if (o->op == OP_DIV || o->op == OP_REM || o->op == OP_SHR)
        return guess_quotient(g, o, dim);
    if (o->op == OP_SELECT)
        return guess_all(g, o, 1, dim);
    if (o->op == OP_ADD || o->op == OP_ADDPTR || o->op == OP_SUB || o->op == OP_MIN ||
        o->op == OP_MAX || o->op == OP_AND || o->op == OP_OR)
        return guess_all(g, o, 0, dim);
    if (o->op == OP_CAST)
        return guess(g, arg(o, 0), dim);
    if (!o->n_args)
        return SCATTERED;
    int from = fact_source_dim(o, dim, &is_known);
    if (is_known)
        return from < 0 ? STILL : guess(g, arg(o, 0), from);
    return guess_all(g, o, 0, dim) == STILL ? STILL : SCATTERED;
}

int
facts_distance(FactTable *t, const Val *v, int dim)
{
    Guess g = {.t = t, .looks = LOOKS};
    int d = guess(&g, v, dim);
    return d == STILL ? SCATTERED : MIN(d, SCATTERED);
}
