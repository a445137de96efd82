/* half.h: what the files of arithmetic share: f16 and bf16, alone and packed; rows of floats and
 * of narrow integers that have the name of an integer's. */
#ifndef TEGULA_PTX_HALF_H
#define TEGULA_PTX_HALF_H

#include "ptx/ptx.h"

typedef enum HalfOp { /* the first four in the order of float.c's */
                      HALF_ADD,
                      HALF_SUB,
                      HALF_MUL,
                      HALF_FMA,
                      HALF_NEG,
                      HALF_ABS,
                      HALF_MIN,
                      HALF_MAX,
                      HALF_MIN_NAN,
                      HALF_MAX_NAN,
                      HALF_EX2,
                      HALF_TANH
} HalfOp;

/* Operands and the function for n operands of type t, which may be packed. */
void dec_half(Dec *d, Type t, HalfOp op, int n, bool ftz, bool sat, bool relu);
/* Of min and max: of the sizes, with the sign that a product would have. */
void dec_half_xorsign(Dec *d);
/* T_F16 or T_BF16, exactly. */
double half_value(Type t, uint64_t bits);
uint64_t half_bits(Type t, double x); /* to nearest even; NaN is 0x7fff */
double lane_float(Type t, uint64_t bits, bool ftz);
float flushed(float x);

/* float.c */
void dec_float(Dec *d, HalfOp op); /* HALF_ADD to HALF_FMA, of any floats */
void dec_float_div(Dec *d);
void dec_float_minmax(Dec *d, bool is_max);
void dec_float_sign(Dec *d, bool is_neg);

/* narrow.c: integers narrower than their register. */
typedef enum PairOp { PAIR_ADD, PAIR_MIN, PAIR_MAX } PairOp;
/* Is it .u16x2, .s16x2, or has it .relu? Then it is decoded. */
bool dec_pairs(Dec *d, PairOp op);
/* cvt.pack, and cvt.rs: random.c */
void dec_pack(Dec *d);
void dec_random(Dec *d);

#endif
