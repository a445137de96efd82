/* mma: the matrix instructions m16n8 of one warp, element by element.
 *
 * Products are exact in double and summed there; the sum is rounded once to the
 * accumulator. Hardware rounds more often, within the tolerance tests allow. tf32 operands
 * lose their low 13 bits first, as the tensor cores read them.
 */
#include "layout/mma.h"
#include "ir/ir.h"
#include "runtime/emu/internal.h"

static double
element(int kind, uint32_t word, int i)
{
    switch ((MmaKind)kind) {
    case MMA_F16_M16N8K16:
    case MMA_F16_M16N8K8: return elem_to_double(E_F16, word >> 16 * i & 0xffff);
    case MMA_BF16_M16N8K16: return elem_to_double(E_BF16, word >> 16 * i & 0xffff);
    case MMA_TF32_M16N8K8: return elem_to_double(E_F32, word & ~0x1fffu);
    case MMA_S8_M16N8K32: return (int8_t)(word >> 8 * i & 0xff);
    case MMA_E4M3_M16N8K32: return elem_to_double(E_F8E4M3, word >> 8 * i & 0xff);
    case MMA_E5M2_M16N8K32: return elem_to_double(E_F8E5M2, word >> 8 * i & 0xff);
    case N_MMA: break;
    }
    return 0;
}

void
emu_do_mma(EmuThread *warp)
{
    int kind = warp[0].param;
    const MmaShape *s = &mma_shape[kind];
    double a[16][32], b[32][8];
    for (int l = 0; l < LANES; l++) {
        int g = l / 4, t = l % 4;
        for (int r = 0; r < s->a_regs; r++)
            for (int i = 0; i < s->kw; i++)
                a[g + 8 * (r % 2)][s->kw * t + 4 * s->kw * (r / 2) + i] =
                    element(kind, warp[l].a[r], i);
        for (int r = 0; r < s->b_regs; r++)
            for (int i = 0; i < s->kw; i++)
                b[s->kw * t + 4 * s->kw * r + i][g] = element(kind, warp[l].bb[r], i);
    }
    for (int l = 0; l < LANES; l++)
        for (int r = 0; r < 4; r++) {
            int m = l / 4 + 8 * (r / 2), n = l % 4 * 2 + r % 2;
            double sum = 0;
            for (int k = 0; k < s->k; k++)
                sum += a[m][k] * b[k][n];
            uint32_t *d = &warp[l].d[r];
            if (kind == MMA_S8_M16N8K32) {
                *d += (uint32_t)(int32_t)sum; /* below 2^20: exact */
            } else {
                float acc;
                memcpy(&acc, d, 4);
                acc = (float)((double)acc + sum);
                memcpy(d, &acc, 4);
            }
        }
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
