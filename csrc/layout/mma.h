/* mma.h: the warp-wide matrix instructions m16n8, known to code generation and emulator.
 *
 * kw elements share a 32-bit register. Lane l has g = l / 4 and t = l % 4:
 *     A register r holds row g + 8 * (r % 2), columns kw * t + 4 * kw * (r / 2) + 0..kw-1
 *     B register r holds column g, rows kw * t + 4 * kw * r + 0..kw-1
 *     C register r holds row g + 8 * (r / 2), column 2 * t + r % 2      (one element each)
 * Source: PTX ISA, "Matrix fragments for mma.m16n8k*".
 */
#ifndef TEGULA_MMA_H
#define TEGULA_MMA_H

typedef enum MmaKind {
    MMA_F16_M16N8K16,
    MMA_BF16_M16N8K16,
    MMA_TF32_M16N8K8,
    MMA_S8_M16N8K32,
    MMA_F16_M16N8K8, /* all that sm_75 has */
    MMA_E4M3_M16N8K32,
    MMA_E5M2_M16N8K32,
    N_MMA
} MmaKind;

typedef struct MmaShape {
    int k, kw;          /* depth; elements per 32-bit register */
    int a_regs, b_regs; /* C has 4 */
    int min_sm;
} MmaShape;

static const MmaShape mma_shape[N_MMA] = {
    [MMA_F16_M16N8K16] = {16, 2, 4, 2, 80},  [MMA_BF16_M16N8K16] = {16, 2, 4, 2, 80},
    [MMA_TF32_M16N8K8] = {8, 1, 4, 2, 80},   [MMA_S8_M16N8K32] = {32, 4, 4, 2, 80},
    [MMA_F16_M16N8K8] = {8, 2, 2, 1, 75},    [MMA_E4M3_M16N8K32] = {32, 4, 4, 2, 89},
    [MMA_E5M2_M16N8K32] = {32, 4, 4, 2, 89},
};

#endif
