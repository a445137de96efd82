/* mma: the matrix instructions of one warp, element by element.
 *
 * f64 is bit for bit: every element of D is a chain of fused multiply-adds along k, from
 * k = 0 up, each rounded to nearest even. All else is exact in double and summed there; the
 * sum is rounded once to the accumulator. Hardware rounds more often, within the tolerance
 * tests allow. tf32 operands lose their low 13 bits first, as the tensor cores read them.
 */
#include "layout/mma.h"

#include <math.h>

#include "ir/ir.h"
#include "runtime/emu/internal.h"

enum { M = 16, N = 8, K = 32 }; /* the largest */

static double
element(MmaElem e, uint32_t word, int i)
{
    switch (e) {
    case MMA_F16: return elem_to_double(E_F16, word >> 16 * i & 0xffff);
    case MMA_BF16: return elem_to_double(E_BF16, word >> 16 * i & 0xffff);
    case MMA_TF32: return elem_to_double(E_F32, word & ~0x1fffu);
    case MMA_S8: return (int8_t)(word >> 8 * i & 0xff);
    case MMA_E4M3: return elem_to_double(E_F8E4M3, word >> 8 * i & 0xff);
    case MMA_E5M2: return elem_to_double(E_F8E5M2, word >> 8 * i & 0xff);
    case MMA_F32:
    case MMA_S32:
    case MMA_F64: break;
    }
    return 0;
}

/* Element i of word r; words of f64 are pairs of 32 bits. */
static double
operand(MmaElem e, const uint32_t *words, int r, int i)
{
    double x;
    if (e != MMA_F64)
        return element(e, words[r], i);
    memcpy(&x, words + 2 * r, sizeof x);
    return x;
}

static void
accumulate(const MmaShape *s, uint32_t *d, int r, const double *a, double (*b)[N],
           int n)
{
    double sum = 0, wide;
    float acc;
    if (s->d == MMA_F64) {
        memcpy(&wide, d + 2 * r, sizeof wide);
        for (int k = 0; k < s->k; k++)
            wide = fma(a[k], b[k][n], wide);
        memcpy(d + 2 * r, &wide, sizeof wide);
        return;
    }
    for (int k = 0; k < s->k; k++)
        sum += a[k] * b[k][n];
    if (s->d == MMA_S32) {
        d[r] += (uint32_t)(int32_t)sum; /* below 2^20: exact */
        return;
    }
    memcpy(&acc, &d[r], sizeof acc);
    acc = (float)((double)acc + sum);
    memcpy(&d[r], &acc, sizeof acc);
}

void
emu_do_mma(EmuThread *warp)
{
    const MmaShape *s = &mma_shape[warp[0].param];
    int halves = s->m / 8; /* rows g, and g + 8 */
    double a[M][K], b[K][N];
    for (int l = 0; l < LANES; l++) {
        int g = l / 4, t = l % 4;
        for (int r = 0; r < s->a_regs; r++)
            for (int i = 0; i < s->kw; i++)
                a[g + 8 * (r % halves)][s->kw * t + 4 * s->kw * (r / halves) + i] =
                    operand(s->a, warp[l].a, r, i);
        for (int r = 0; r < s->b_regs; r++)
            for (int i = 0; i < s->kw; i++)
                b[s->kw * t + 4 * s->kw * r + i][g] = operand(s->b, warp[l].bb, r, i);
    }
    for (int l = 0; l < LANES; l++)
        for (int r = 0; r < s->d_regs; r++)
            accumulate(s, warp[l].d, r, a[l / 4 + 8 * (r / 2)], b, l % 4 * 2 + r % 2);
}

void
emu_mma(EmuThread *t, int32_t kind, uint32_t *d, const uint32_t *a, const uint32_t *b)
{
    t->param = kind;
    t->d = d;
    t->a = a;
    t->bb = b;
    emu_warp_op(t, W_MMA, NULL);
}
