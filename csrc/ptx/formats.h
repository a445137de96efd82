/* formats.h: every float format of PTX, what a double is in each, conversions between them. */
#ifndef TEGULA_PTX_FORMATS_H
#define TEGULA_PTX_FORMATS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- floats as bits -------------------------------------------------------------- */
static inline float
f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint32_t
bits_of_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline double
f64_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint64_t
bits_of_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* An f16, exactly: no denormal of f32 is met on the way, whatever the processor does with them.
 * Bits are chosen by a mask, so that a loop over lanes has no branch. */
static inline float
f16_of_bits(uint32_t h)
{
    uint32_t code = h & 0x7fff, bits = (code << 13) + 0x38000000;
    uint32_t small = bits_of_f32((float)(int32_t)code * 0x1p-24f);
    uint32_t is_small = -(uint32_t)(code < 0x400);
    bits += code >= 0x7c00 ? 0x38000000 : 0;
    return f32_of_bits((small & is_small) | (bits & ~is_small) | (h & 0x8000) << 16);
}

typedef enum FloatType {
    FMT_F64,
    FMT_F32,
    FMT_TF32, /* the upper 19 bits of 32 */
    FMT_F16,
    FMT_BF16,
    FMT_E2M1, /* 4 bits; these four are finite alone, and NaN is their largest number .. */
    FMT_E2M3, /* 6 bits in 8 */
    FMT_E3M2,
    FMT_UE8M0, /* .. but here: a power of two without a sign */
    FMT_E4M3,
    FMT_E5M2, /* the last float */
    FMT_S32,
    FMT_S8,
    FMT_U8,
    FMT_S4,
    FMT_U4,
    FMT_B1,
    FMT_N_TYPES
} FloatType;

/* "f16" and the like: its type; FMT_N_TYPES when it is none of them. */
FloatType fmt_named(const char *word, int len);
int fmt_bits(FloatType t); /* in a register: 32 for tf32 */
static inline bool
fmt_is_integer(FloatType t)
{
    return t > FMT_E5M2;
}

typedef enum FmtRounding {
    FMT_RN,  /* to nearest, ties to even */
    FMT_RNA, /* to nearest, ties away from 0 */
    FMT_RZ,
    FMT_RM, /* down */
    FMT_RP, /* up */
    FMT_RS  /* up where what is cut and random bits carry */
} FmtRounding;

/* Any float as a double, exactly. */
double fmt_to_double(FloatType t, uint64_t bits);
/* A double as a float of that type, rounded once. Overflow is infinity where the format
 * has one and to_finite is not set, else the largest number; infinity goes the same way.
 * NaN is the format's canonical NaN: 0x7fffffff, 0x7fff, 0x7f. */
uint64_t fmt_from_double(FloatType t, FmtRounding r, bool to_finite, double x);
/* The same by FMT_RS: n bits are added to the highest of what is cut. */
uint64_t fmt_from_random(FloatType t, uint32_t bits, int n, bool to_finite, double x);

/* cvt from float to float, packed ones as well. Not: integers, .rni and its kin. */
typedef struct FmtCvt {
    FloatType to, from;
    FmtRounding rounding;
    int n;         /* numbers of a result: 1 or 2 */
    int n_sources; /* registers read: 2 when numbers of f32 are packed: a high, b low */
    bool to_finite, relu, sat, ftz;
} FmtCvt;
/* "cvt.rn.satfinite.e4m3x2.f32" and the like */
bool fmt_cvt_decode(FmtCvt *c, const char *opcode);
uint64_t fmt_cvt_run(const FmtCvt *c, uint64_t a, uint64_t b);

#endif
