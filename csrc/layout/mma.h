/* mma.h: the warp-wide matrix instructions, known to code generation and emulator.
 *
 * A word is a register of an operand: kw elements in 32 bits, or one f64. Lane l has
 * g = l / 4 and t = l % 4; N is always 8. With M = 16:
 *     A word r holds row g + 8 * (r % 2), columns kw * t + 4 * kw * (r / 2) + 0..kw-1
 *     B word r holds column g, rows kw * t + 4 * kw * r + 0..kw-1
 *     D word r holds row g + 8 * (r / 2), column 2 * t + r % 2      (one element each)
 * With M = 8 the rows g + 8 are not there: A word r holds row g, columns kw * t + 4 * kw * r
 * + 0..kw-1, and D has two words. So fragments of the large instructions are made of those
 * of the small ones, and one set of layouts (layout_mma_acc, _a, _b) serves all.
 * Source: PTX ISA, "Matrix fragments for mma.m16n8k*", "mma.m8n8k*".
 */
#ifndef TEGULA_MMA_H
#define TEGULA_MMA_H

#include <stdbool.h>

/* clang-format off */
/*           name                A     B     D     M  K   kw  least sm  */
#define MMA_TABLE(MMA)                                                   \
    MMA(F16_M16N8K16,            F16,  F16,  F32,  16, 16, 2, 80)        \
    MMA(F16_M16N8K8,             F16,  F16,  F32,  16,  8, 2, 75)        \
    MMA(BF16_M16N8K16,           BF16, BF16, F32,  16, 16, 2, 80)        \
    MMA(BF16_M16N8K8,            BF16, BF16, F32,  16,  8, 2, 80)        \
    MMA(TF32_M16N8K8,            TF32, TF32, F32,  16,  8, 1, 80)        \
    MMA(TF32_M16N8K4,            TF32, TF32, F32,  16,  4, 1, 80)        \
    MMA(S8_M16N8K32,             S8,   S8,   S32,  16, 32, 4, 80)        \
    MMA(S8_M16N8K16,             S8,   S8,   S32,  16, 16, 4, 80)        \
    MMA(S8_M8N8K16,              S8,   S8,   S32,   8, 16, 4, 75)        \
    MMA(E4M3_M16N8K32,           E4M3, E4M3, F32,  16, 32, 4, 89)        \
    MMA(E4M3_E5M2_M16N8K32,      E4M3, E5M2, F32,  16, 32, 4, 89)        \
    MMA(E5M2_E4M3_M16N8K32,      E5M2, E4M3, F32,  16, 32, 4, 89)        \
    MMA(E5M2_M16N8K32,           E5M2, E5M2, F32,  16, 32, 4, 89)        \
    MMA(F64_M16N8K16,            F64,  F64,  F64,  16, 16, 1, 90)        \
    MMA(F64_M16N8K8,             F64,  F64,  F64,  16,  8, 1, 90)        \
    MMA(F64_M16N8K4,             F64,  F64,  F64,  16,  4, 1, 90)        \
    MMA(F64_M8N8K4,              F64,  F64,  F64,   8,  4, 1, 80)
/* clang-format on */

typedef enum MmaKind {
#define MMA(name, a, b, d, m, k, kw, sm) MMA_##name,
    MMA_TABLE(MMA)
#undef MMA
        N_MMA
} MmaKind;

typedef enum MmaElem {
    MMA_F16,
    MMA_BF16,
    MMA_TF32,
    MMA_S8,
    MMA_E4M3,
    MMA_E5M2,
    MMA_F32,
    MMA_S32,
    MMA_F64
} MmaElem;

enum { MMA_MAX_WORDS = 8 }; /* of an operand */

typedef struct MmaShape {
    MmaElem a, b, d;
    int m, k, kw;               /* rows; depth; elements of a word */
    int a_regs, b_regs, d_regs; /* words a lane */
    int min_sm;
} MmaShape;

static const MmaShape mma_shape[N_MMA] = {
/* In the order of the enum. */
#define MMA(name, a, b, d, m, k, kw, sm)                                               \
    {MMA_##a,        MMA_##b, MMA_##d, m, k, kw, (m) * (k) / (kw) / 32,                \
     (k) / (kw) / 4, (m) / 4, sm},
    MMA_TABLE(MMA)
#undef MMA
};

#endif
