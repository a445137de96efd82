/* across: reductions, scans, products of matrices, histograms.
 *
 * A reduction combines neighbours, then neighbours of those: sums of many numbers are as good
 * as on targets, which do it in some such order, too. A scan goes from one end to the other.
 * An element of a dot sums its products in order, each added with one rounding.
 */
#include "interp/impl.h"

#include <math.h>
#include <stdlib.h>

/* ---- reduce and scan ------------------------------------------------------------ */

/* One REDUCE or SCAN. An element is one word for each operand. */
typedef struct Combine {
    Interp *in;
    const Op *o;
    const Op *only; /* the one op that its region is; or NULL */
    bool swapped;   /* its operands are */
} Combine;

static Combine
combine_of(Interp *in, const Op *o)
{
    const Op *f = ir_combine_op(o);
    if (f && (!op_has(f, OPF_ELEM) || op_is_extern(f)))
        f = NULL;
    return (Combine){in, o, f, f && arg(f, 0) != o->regions[0]->args[0]};
}

/* res = a combined with b; res may be a. */
static void
combine(const Combine *c, const uint64_t *a, const uint64_t *b, uint64_t *res)
{
    const Block *r = c->o->regions[0];
    int n = c->o->n_args;
    if (c->only) {
        Elem e = arg(c->only, 0)->type->elem, to = result(c->only, 0)->type->elem;
        const uint64_t x[2] = {c->swapped ? b[0] : a[0], c->swapped ? a[0] : b[0]};
        if (!ir_eval(c->only->op, e, to, x, 2, res))
            *res = 0;
        return;
    }
    for (int k = 0; k < n; k++) {
        place(c->in, r->args[k])[0] = a[k];
        place(c->in, r->args[n + k])[0] = b[k];
    }
    const Op *last = interp_block(c->in, r);
    for (int k = 0; k < n; k++)
        res[k] = operand(c->in, last, k)[0];
}

/* Both take every line along the axis out, and put back what it became. */
void
interp_combine(Interp *in, const Op *o)
{
    const Type *t = arg(o, 0)->type;
    Combine c = combine_of(in, o);
    int n = o->n_args;
    int64_t axis = ir_attr(o, ATTR_AXIS), len = t->shape[axis], inner = 1;
    for (int d = (int)axis + 1; d < t->rank; d++)
        inner *= t->shape[d];
    uint64_t *at = interp_scratch(in, &in->line, len * n);
    int64_t n_lines = ty_numel(t) / len;
    for (int64_t line = 0; line < n_lines; line++) {
        int64_t first = line / inner * inner * len + line % inner, step = inner;
        if (o->op == OP_SCAN && ir_attr(o, ATTR_REVERSE)) {
            first += (len - 1) * inner;
            step = -inner;
        }
        for (int k = 0; k < n; k++)
            for (int64_t i = 0; i < len; i++)
                at[i * n + k] = operand(in, o, k)[first + i * step];
        if (o->op == OP_SCAN) {
            for (int64_t i = 1; i < len; i++)
                combine(&c, at + (i - 1) * n, at + i * n, at + i * n);
            for (int k = 0; k < n; k++)
                for (int64_t i = 0; i < len; i++)
                    place(in, result(o, k))[first + i * step] = at[i * n + k];
            for (int k = n; k < o->n_results; k++)
                place(in, result(o, k))[line] = at[len * n + k - 2 * n];
            continue;
        }
        for (int64_t left = len; left > 1; left = (left + 1) / 2) {
            for (int64_t i = 0; i < left / 2; i++)
                combine(&c, at + 2 * i * n, at + (2 * i + 1) * n, at + i * n);
            if (left % 2)
                memmove(at + left / 2 * n, at + (left - 1) * n, (size_t)n * 8);
        }
        for (int k = 0; k < n; k++)
            place(in, result(o, k))[line] = at[k];
    }
}

/* ---- dot ------------------------------------------------------------------------- */

/* One row: sum[j] += a[i] * b[i][j], i after i, each with one rounding. Where the machine has
 * no such instruction, fmaf is a function that computes the same. */
static void
add_row(float *sum, const float *a, const float *b, int64_t k, int64_t n)
{
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++)
            sum[j] = __builtin_fmaf(a[i], b[i * n + j], sum[j]);
}

#if defined(__x86_64__)
__attribute__((target("fma"))) static void
add_row_fma(float *sum, const float *a, const float *b, int64_t k, int64_t n)
{
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < n; j++)
            sum[j] = __builtin_fmaf(a[i], b[i * n + j], sum[j]);
}
#endif

static void
dot_floats(const float *a, const float *b, float *sum, int64_t k, int64_t n)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma")) {
        add_row_fma(sum, a, b, k, n);
        return;
    }
#endif
    add_row(sum, a, b, k, n);
}

static uint64_t
dot_element(const Op *o, uint64_t acc, const uint64_t *a, const uint64_t *b, int64_t k,
            int64_t b_step)
{
    Elem ea = arg(o, 0)->type->elem, eb = arg(o, 1)->type->elem;
    Elem er = result(o, 0)->type->elem;
    if (elem_is_int(er)) {
        for (int64_t i = 0; i < k; i++)
            acc += (uint64_t)elem_to_int(ea, a[i]) *
                   (uint64_t)elem_to_int(eb, b[i * b_step]);
        return elem_from_int(er, (int64_t)acc);
    }
    double sum = elem_to_double(er, acc);
    for (int64_t i = 0; i < k; i++)
        sum = fma(elem_to_double(ea, a[i]), elem_to_double(eb, b[i * b_step]), sum);
    return elem_from_double(er, sum);
}

static void
to_floats(Elem e, const uint64_t *from, float *to, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)elem_to_double(e, from[i]);
}

void
interp_dot(Interp *in, const Op *o)
{
    const Type *at = arg(o, 0)->type, *rt = result(o, 0)->type;
    uint64_t *r = place(in, result(o, 0));
    const uint64_t *a = operand(in, o, 0), *b = operand(in, o, 1),
                   *acc = o->n_args > 2 ? operand(in, o, 2) : NULL;
    int64_t m = rt->shape[rt->rank - 2], n = rt->shape[rt->rank - 1];
    int64_t k = at->shape[at->rank - 1], batches = rt->rank == 3 ? rt->shape[0] : 1;
    bool in_floats = elem_is_float(rt->elem) && rt->elem != E_F64;
    float *fa = (float *)(void *)interp_scratch(in, &in->factors, m * k + k * n + n);
    float *fb = fa + m * k, *sum = fb + k * n;
    for (int64_t i = 0; i < batches; i++) {
        const uint64_t *ai = a + i * m * k, *bi = b + i * k * n;
        if (in_floats) {
            to_floats(at->elem, ai, fa, m * k);
            to_floats(arg(o, 1)->type->elem, bi, fb, k * n);
        }
        for (int64_t row = 0; row < m; row++) {
            int64_t to = (i * m + row) * n;
            if (!in_floats) {
                for (int64_t j = 0; j < n; j++)
                    r[to + j] = dot_element(o, acc[to + j], ai + row * k, bi + j, k, n);
                continue;
            }
            memset(sum, 0, (size_t)n * sizeof *sum);
            if (acc)
                to_floats(rt->elem, acc + to, sum, n);
            dot_floats(fa + row * k, fb, sum, k, n);
            for (int64_t j = 0; j < n; j++)
                r[to + j] = elem_from_double(rt->elem, sum[j]);
        }
    }
}

/* ---- histogram ------------------------------------------------------------------- */

void
interp_histogram(Interp *in, const Op *o)
{
    const Val *x = arg(o, 0);
    uint64_t *r = place(in, result(o, 0));
    int64_t bins = ir_attr(o, ATTR_BINS), n = numel(x);
    memset(r, 0, (size_t)bins * 8);
    for (int64_t i = 0; i < n; i++) {
        int64_t bin = elem_to_int(x->type->elem, operand(in, o, 0)[i]);
        if (bin >= 0 && bin < bins && !interp_is_off(in, o, 1, i))
            r[bin]++;
    }
}

/* ---- sort ------------------------------------------------------------------------ */

static int
by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Numbers are moved to where unsigned ones have the order that is wanted, and back. */
void
interp_sort(Interp *in, const Op *o)
{
    const Type *t = arg(o, 0)->type;
    const uint64_t *x = operand(in, o, 0);
    uint64_t *r = place(in, result(o, 0));
    int64_t n = t->shape[t->rank - 1],
            k = result(o, 0)->type->shape[result(o, 0)->type->rank - 1];
    uint64_t move = elem_is_signed(t->elem) ? (uint64_t)1 << 63 : 0;
    if (ir_attr(o, ATTR_REVERSE))
        move = ~move;
    uint64_t *row = NEW_N(in->c->arena, uint64_t, n);
    for (int64_t i = 0; i < ty_numel(t); i += n, r += k) {
        for (int64_t j = 0; j < n; j++)
            row[j] = (uint64_t)elem_to_int(t->elem, x[i + j]) ^ move;
        qsort(row, (size_t)n, sizeof *row, by_number);
        for (int64_t j = 0; j < k; j++)
            r[j] = elem_from_int(t->elem, (int64_t)(row[j] ^ move));
    }
}
