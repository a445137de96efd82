/* tensor.h: what a warp does as one: matrix instructions, their
 * loads and stores.
 *
 * Pure functions of registers, written from the PTX ISA and from nothing else: the
 * compiler's own tables (layout/mma.h, the emulator) must not be used here, because this
 * is the second opinion on them. What has a row in no section below is refused by the
 * decoder, never guessed.
 *
 * Registers. A register of a warp is uint64_t[32], one a lane, its value in the low bits;
 * an operand {%r0, %r1, ..} is an array of them. Bits above the register's width are
 * ignored in inputs and 0 in outputs.
 *
 *     WarpMma m;
 *     if (!warp_mma_decode(&m, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
 *         .. no such instruction here
 *     uint64_t a[MMA_REGS][32] .. of which m.a_regs are read
 *     warp_mma_run(&m, d, a, b, c);            d may be c
 */
#ifndef TEGULA_PTX_TENSOR_H
#define TEGULA_PTX_TENSOR_H

#include "ptx/formats.h"

enum { MMA_REGS = 8 }; /* of a matrix instruction's operand */

/* ---- tensor.c: matrices ---------------------------------------------------------- */
/* mma.sync: D = A * B + C. A is m x k, B is k x 8, C and D are m x 8.
 *
 * Sums. Products of f16, bf16, tf32 and float8 are exact in double, summed there in the
 * order of k, then C is added and the sum is rounded to nearest once. The hardware keeps
 * fewer bits of small summands and cuts; so on small integers the results are equal, on
 * other data close. f64: a chain of fma in the order of k, as the machine is believed to
 * do. Integers: modulo 2^32, or clamped once with .satfinite. */
typedef struct WarpMma {
    int m, k;
    FloatType a, b, c, d;
    int a_regs, b_regs, c_regs, d_regs; /* 64 bits wide for f64, else 32 */
    bool satfinite;
    int sm; /* the first architecture that has it */
} WarpMma;
/* matrices.c: the next modifier that is a type of numbers; FMT_N_TYPES: none is left. */
struct Dec;
FloatType dec_format(struct Dec *d);
bool warp_mma_decode(WarpMma *m, const char *opcode);
void warp_mma_run(const WarpMma *m, uint64_t (*d)[32], const uint64_t (*a)[32],
                  const uint64_t (*b)[32], const uint64_t (*c)[32]);

/* An element as a double, exactly, and a sum as an element of D: rounded to nearest, modulo
 * 2^32, or clamped. */
double mma_number(FloatType t, uint64_t bits);
uint64_t mma_result(FloatType t, bool satfinite, double x);
/* The same for all lanes, from a bit of their registers on; results are put beside what is in `to`. */
void mma_numbers(FloatType t, const uint64_t reg[32], int shift, double to[32]);
void mma_results(FloatType t, bool satfinite, const double x[32], int shift,
                 uint64_t to[32]);
/* sum[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + ..: m rows, n columns (a multiple of 8),
 * n_k products, each once rounded. by_*: from row to row. */
void mma_sums(const double *a, int by_a, const double *b, int by_b, double *sum,
              int by_sum, int m, int n, int n_k);

/* ldmatrix and stmatrix: n matrices of 8 x 8 elements of 16 bits. Row r of matrix i is
 * the 16 bytes at row[8 * i + r]: the address that lane 8 * i + r brings. The caller has
 * checked that these 8 * n are aligned and within shared memory; others are not read. */
typedef struct WarpMatrix {
    int n; /* 1, 2, 4: matrices, and registers a lane */
    bool trans, is_store;
} WarpMatrix;
bool warp_matrix_decode(WarpMatrix *m, const char *opcode);
void warp_ldmatrix(const WarpMatrix *m, uint64_t (*out)[32],
                   const uint8_t *const row[32]);
void warp_stmatrix(const WarpMatrix *m, uint8_t *const row[32],
                   const uint64_t (*in)[32]);

#endif
