/* tensor.h: what a warp does as one, and what floats become: matrix instructions, their
 * loads and stores, conversions between float formats.
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
 *     SimMma m;
 *     if (!sim_mma_decode(&m, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
 *         .. no such instruction here
 *     uint64_t a[SIM_MAX_REGS][32] .. of which m.a_regs are read
 *     sim_mma_run(&m, d, a, b, c);            d may be c
 */
#ifndef TEGULA_PTXSIM_TENSOR_H
#define TEGULA_PTXSIM_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_MAX_REGS = 8 }; /* of a matrix instruction's operand */

/* ---- floats.c: formats and conversions ------------------------------------------- */
typedef enum SimType {
    SIM_F64,
    SIM_F32,
    SIM_TF32, /* the upper 19 bits of 32 */
    SIM_F16,
    SIM_BF16,
    SIM_E4M3,
    SIM_E5M2, /* the last float */
    SIM_S32,
    SIM_S8,
    SIM_U8,
    SIM_S4,
    SIM_U4,
    SIM_N_TYPES
} SimType;

/* "f16" and the like: its type; SIM_N_TYPES when it is none of them. */
SimType sim_type(const char *word, int len);
int sim_type_bits(SimType t); /* in a register: 32 for tf32 */

typedef enum SimRounding {
    SIM_RN,  /* to nearest, ties to even */
    SIM_RNA, /* to nearest, ties away from 0 */
    SIM_RZ,
    SIM_RM, /* down */
    SIM_RP  /* up */
} SimRounding;

/* Any float as a double, exactly. */
double sim_to_double(SimType t, uint64_t bits);
/* A double as a float of that type, rounded once. Overflow is infinity where the format
 * has one and to_finite is not set, else the largest number; infinity goes the same way.
 * NaN is the format's canonical NaN: 0x7fffffff, 0x7fff, 0x7f. */
uint64_t sim_from_double(SimType t, SimRounding r, bool to_finite, double x);

/* cvt from float to float, packed ones as well. Not: integers, .rni and its kin. */
typedef struct SimCvt {
    SimType to, from;
    SimRounding rounding;
    int n;         /* numbers of a result: 1 or 2 */
    int n_sources; /* registers read: 2 when numbers of f32 are packed: a high, b low */
    bool to_finite, relu, sat, ftz;
} SimCvt;
/* "cvt.rn.satfinite.e4m3x2.f32" and the like */
bool sim_cvt_decode(SimCvt *c, const char *opcode);
uint64_t sim_cvt_run(const SimCvt *c, uint64_t a, uint64_t b);

/* ---- tensor.c: matrices ---------------------------------------------------------- */
/* mma.sync: D = A * B + C. A is m x k, B is k x 8, C and D are m x 8.
 *
 * Sums. Products of f16, bf16, tf32 and float8 are exact in double, summed there in the
 * order of k, then C is added and the sum is rounded to nearest once. The hardware keeps
 * fewer bits of small summands and cuts; so on small integers the results are equal, on
 * other data close. f64: a chain of fma in the order of k, as the machine is believed to
 * do. Integers: modulo 2^32, or clamped once with .satfinite. */
typedef struct SimMma {
    int m, k;
    SimType a, b, c, d;
    int a_regs, b_regs, c_regs, d_regs; /* 64 bits wide for f64, else 32 */
    bool satfinite;
    const struct SimMmaRow *row; /* tensor.c's */
} SimMma;
bool sim_mma_decode(SimMma *m, const char *opcode);
void sim_mma_run(const SimMma *m, uint64_t (*d)[32], const uint64_t (*a)[32],
                 const uint64_t (*b)[32], const uint64_t (*c)[32]);

/* ldmatrix and stmatrix: n matrices of 8 x 8 elements of 16 bits. Row r of matrix i is
 * the 16 bytes at row[8 * i + r]: the address that lane 8 * i + r brings. The caller has
 * checked that these 8 * n are aligned and within shared memory; others are not read. */
typedef struct SimMatrix {
    int n; /* 1, 2, 4: matrices, and registers a lane */
    bool trans, is_store;
} SimMatrix;
bool sim_matrix_decode(SimMatrix *m, const char *opcode);
void sim_ldmatrix(const SimMatrix *m, uint64_t (*out)[32],
                  const uint8_t *const row[32]);
void sim_stmatrix(const SimMatrix *m, uint8_t *const row[32], const uint64_t (*in)[32]);

#endif
