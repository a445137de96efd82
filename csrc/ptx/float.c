/* float: arithmetic on f32 and f64, and what is approximate in f32.
 *
 * Rounding to nearest without flags is a loop that the C compiler vectorises; any other rounding,
 * .ftz and .sat go through one function with the processor's rounding mode set. A NaN that an
 * instruction of f32 returns is 0x7fffffff, as on the hardware. Approximate functions are computed
 * in double and rounded, which is more accurate than what PTX promises. So a test of accuracy that
 * passes here says nothing about a GPU.
 */
#include "ptx/half.h"
#include "ptx/lanes.h"

#include <fenv.h>
#include <math.h>

static inline float
canon(float x)
{
    return x == x ? x : __builtin_nanf("0x3fffff");
}

BINARY(add_f32, float, float, canon(x + y))
BINARY(sub_f32, float, float, canon(x - y))
BINARY(mul_f32, float, float, canon(x *y))
BINARY(div_f32, float, float, canon(x / y))
TERNARY(fma_f32, float, float, float, canon(fmaf(x, y, z)))
UNARY(rcp_f32, float, float, canon(1.0f / x))
UNARY(sqrt_f32, float, float, canon(sqrtf(x)))
BINARY(add_f64, double, double, x + y)
BINARY(sub_f64, double, double, x - y)
BINARY(mul_f64, double, double, x *y)
BINARY(div_f64, double, double, x / y)
TERNARY(fma_f64, double, double, double, fma(x, y, z))
UNARY(rcp_f64, double, double, 1.0 / x)
UNARY(sqrt_f64, double, double, sqrt(x))
/* A NaN has no sign to change: the hardware's own comes out. */
#define IS_NAN_F32(x) (((x) & 0x7fffffffu) > 0x7f800000u)
#define IS_NAN_F64(x) (((x) & INT64_MAX) > UINT64_C(0x7ff0000000000000))
UNARY(neg_f32, uint32_t, uint32_t, IS_NAN_F32(x) ? 0x7fffffffu : x ^ 0x80000000u)
UNARY(abs_f32, uint32_t, uint32_t, IS_NAN_F32(x) ? 0x7fffffffu : x & 0x7fffffffu)
#define FLUSHED_BITS(x) ((x) & 0x7f800000u ? (x) : (x) & 0x80000000u)
UNARY(neg_ftz_f32, uint32_t, uint32_t,
      IS_NAN_F32(x) ? 0x7fffffffu : FLUSHED_BITS(x) ^ 0x80000000u)
UNARY(abs_ftz_f32, uint32_t, uint32_t,
      IS_NAN_F32(x) ? 0x7fffffffu : FLUSHED_BITS(x) & 0x7fffffffu)
UNARY(neg_f64, uint64_t, uint64_t, IS_NAN_F64(x) ? x : x ^ UINT64_C(1) << 63)
UNARY(abs_f64, uint64_t, uint64_t, x &INT64_MAX)
BINARY(copysign_f32, uint32_t, uint32_t, (x & 0x80000000u) | (y & 0x7fffffffu))
BINARY(copysign_f64, uint64_t, uint64_t,
       (x & UINT64_C(1) << 63) | (y & UINT64_C(0x7fffffffffffffff)))

/* By the processor's instruction, where it has one: fmaf and fma are a call for each lane. */
#if defined(__x86_64__)
#define FUSED __attribute__((target("fma,avx2"), flatten))
#define HAS_FUSED (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
#else
#define FUSED
#define HAS_FUSED false
#endif

FUSED static void
fused_f32(Lanes *w, const Ins *i, uint32_t m)
{
    fma_f32(w, i, m);
}

FUSED static void
fused_f64(Lanes *w, const Ins *i, uint32_t m)
{
    fma_f64(w, i, m);
}

/* ---- with flags ------------------------------------------------------------------ */

enum { ADD, SUB, MUL, FMA, DIV, RCP, SQRT, N_OPS };
enum { FTZ = 1, SAT = 2 };
static const int host_mode[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

static Run *const nearest[N_OPS][2] = {
    [ADD] = {add_f32, add_f64},   [SUB] = {sub_f32, sub_f64},
    [MUL] = {mul_f32, mul_f64},   [FMA] = {fma_f32, fma_f64},
    [DIV] = {div_f32, div_f64},   [RCP] = {rcp_f32, rcp_f64},
    [SQRT] = {sqrt_f32, sqrt_f64}};

/* Noinline and volatile: nothing is moved across the change of the rounding mode. */
#define OP(name, T, fma_of, sqrt_of)                                                   \
    static __attribute__((noinline)) T name(int op, T a, T b, T c)                     \
    {                                                                                  \
        volatile T x = a, y = b, z = c;                                                \
        switch (op) {                                                                  \
        case ADD: return x + y;                                                        \
        case SUB: return x - y;                                                        \
        case MUL: return x * y;                                                        \
        case FMA: return fma_of(x, y, z);                                              \
        case DIV: return x / y;                                                        \
        case RCP: return 1 / x;                                                        \
        default: return sqrt_of(x);                                                    \
        }                                                                              \
    }
OP(op_f32, float, fmaf, sqrtf)
OP(op_f64, double, fma, sqrt)

float
flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static float
saturated(float x)
{
    return !(x > 0) ? 0 : x > 1 ? 1 : x;
}

/* With the rounding mode set: .ftz of operands and result, .sat. */
static float
flagged_one(const Ins *i, int op, float a, float b, float c)
{
    bool ftz = i->flags & FTZ;
    float r = ftz ? flushed(op_f32(op, flushed(a), flushed(b), flushed(c)))
                  : op_f32(op, a, b, c);
    return i->flags & SAT ? saturated(canon(r)) : canon(r);
}

static void
flagged_f32(Lanes *w, const Ins *i, uint32_t m)
{
    float *d = LANE(float, w, i->d);
    const float *a = LANE(float, w, i->a), *b = i->n_in > 1 ? LANE(float, w, i->b) : a,
                *c = i->n_in > 2 ? LANE(float, w, i->c) : a;
    fesetround(host_mode[i->bytes]);
    EACH_LANE_OF(l, m)
        d[l] = flagged_one(i, i->op, a[l], b[l], c[l]);
    fesetround(FE_TONEAREST);
}

static void
flagged_f64(Lanes *w, const Ins *i, uint32_t m)
{
    double *d = LANE(double, w, i->d);
    const double *a = LANE(double, w, i->a),
                 *b = i->n_in > 1 ? LANE(double, w, i->b) : a,
                 *c = i->n_in > 2 ? LANE(double, w, i->c) : a;
    fesetround(host_mode[i->bytes]);
    EACH_LANE_OF(l, m)
        d[l] = op_f64(i->op, a[l], b[l], c[l]);
    fesetround(FE_TONEAREST);
}

/* Two f32 in 64 bits. */
static void
pair_f32(Lanes *w, const Ins *i, uint32_t m)
{
    float *d = LANE(float, w, i->d);
    const float *a = LANE(float, w, i->a), *b = LANE(float, w, i->b),
                *c = i->n_in > 2 ? LANE(float, w, i->c) : a;
    fesetround(host_mode[i->bytes]);
    for (int k = 0; k < 2 * LANES; k++)
        if (m >> k / 2 & 1)
            d[k] = flagged_one(i, i->op, a[k], b[k], c[k]);
    fesetround(FE_TONEAREST);
}

/* f32 += a half: the type of one operand (two, of fma) differs. */
static void
mixed(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t room[3][LANES];
    float *d = LANE(float, w, i->d);
    const uint64_t *a = lanes_word(w, i, 0, room[0]), *b = lanes_word(w, i, 1, room[1]),
                   *c = lanes_word(w, i, 2, room[2]);
    fesetround(host_mode[i->bytes]);
    EACH_LANE_OF(l, m) {
        float x = (float)half_value((Type)i->type, a[l]);
        float z = f32_of_bits((uint32_t)(i->n_in > 2 ? c[l] : b[l]));
        float r = i->n_in > 2
                      ? op_f32(FMA, x, (float)half_value((Type)i->type, b[l]), z)
                      : op_f32(i->op, x, z, 0);
        r = canon(r);
        d[l] = i->flags & SAT ? saturated(r) : r;
    }
    fesetround(FE_TONEAREST);
}

/* ---- min and max ----------------------------------------------------------------- */

/* Numbers are in the order of their bits, but for the sign: -0 is less than 0. Without a branch, so
 * that lanes are vectors. */
#define MINMAX(name, T, I, bits_of, is_max, nan)                                       \
    static inline T name##_one(T x, T y)                                               \
    {                                                                                  \
        const I rest = (I)(UINT64_MAX >> (65 - 8 * sizeof(I))); /* but the sign */     \
        I a = (I)bits_of(x), b = (I)bits_of(y);                                        \
        a ^= a < 0 ? rest : 0;                                                         \
        b ^= b < 0 ? rest : 0;                                                         \
        T r = (a < b) != is_max ? x : y;                                               \
        r = y != y ? x : r;                                                            \
        r = x != x ? y : r;                                                            \
        return r != r ? nan : r;                                                       \
    }                                                                                  \
    BINARY(name, T, T, name##_one(x, y))
MINMAX(min_f32, float, int32_t, bits_of_f32, false, __builtin_nanf("0x3fffff"))
MINMAX(max_f32, float, int32_t, bits_of_f32, true, __builtin_nanf("0x3fffff"))
MINMAX(min_f64, double, int64_t, bits_of_f64, false, (double)NAN)
MINMAX(max_f64, double, int64_t, bits_of_f64, true, (double)NAN)

enum { MM_NAN = 4, MM_XORSIGN = 8 };

static void
flagged_minmax(Lanes *w, const Ins *i, uint32_t m)
{
    float *d = LANE(float, w, i->d);
    const float *a = LANE(float, w, i->a), *b = LANE(float, w, i->b);
    EACH_LANE_OF(l, m) {
        float x = a[l], y = b[l];
        if (i->flags & FTZ)
            x = flushed(x), y = flushed(y);
        bool sign = signbit(x) ^ signbit(y);
        if (i->flags & MM_XORSIGN)
            x = fabsf(x), y = fabsf(y);
        float r = i->op ? max_f32_one(x, y) : min_f32_one(x, y);
        if (i->flags & MM_NAN && (x != x || y != y))
            r = canon(NAN);
        else if (i->flags & MM_XORSIGN)
            r = sign ? -r : r;
        d[l] = r;
    }
}

/* Of three, from sm_100 on: the second instruction's operands are the first's result and c. */
static void
minmax_of_three(Lanes *w, const Ins *i, uint32_t m)
{
    float *d = LANE(float, w, i->d);
    const float *a = LANE(float, w, i->a), *b = LANE(float, w, i->b),
                *c = LANE(float, w, i->c);
    EACH_LANE_OF(l, m) {
        float x[3] = {a[l], b[l], c[l]}, r = x[0];
        bool nan = r != r;
        for (int k = 0; k < 3 && i->flags & FTZ; k++)
            x[k] = flushed(x[k]);
        for (int k = 1; k < 3; k++) {
            nan |= x[k] != x[k];
            r = i->op ? max_f32_one(k == 1 ? x[0] : r, x[k])
                      : min_f32_one(k == 1 ? x[0] : r, x[k]);
        }
        d[l] = nan && i->flags & MM_NAN ? canon(NAN) : r;
    }
}

/* ---- approximations -------------------------------------------------------------- */

enum { EX2, LG2, SIN, COS, TANH, RSQRT, SQRT_APPROX, RCP_APPROX, DIV_APPROX, DIV_FULL };

static float
approx_one(int op, float x, float y)
{
    switch (op) {
    case EX2: return (float)exp2((double)x);
    case LG2: return (float)log2((double)x);
    case SIN: return (float)sin((double)x);
    case COS: return (float)cos((double)x);
    case TANH: return (float)tanh((double)x);
    case RSQRT: return (float)(1 / sqrt((double)x));
    case SQRT_APPROX: return sqrtf(x);
    case RCP_APPROX: return (float)(1 / (double)x);
    case DIV_APPROX: /* by 2^126 and more: 0, and NaN of infinity */
        if (fabsf(y) > 0x1p126f && fabsf(y) < INFINITY)
            return isinf(x) ? NAN : copysignf(0, x) * copysignf(1, y);
        return x / y;
    default: return x / y;
    }
}

static void
approx(Lanes *w, const Ins *i, uint32_t m)
{
    float *d = LANE(float, w, i->d);
    const float *a = LANE(float, w, i->a), *b = i->n_in > 1 ? LANE(float, w, i->b) : a;
    bool ftz = i->flags & FTZ;
    EACH_LANE_OF(l, m) {
        float r = approx_one(i->op, ftz ? flushed(a[l]) : a[l],
                             ftz ? flushed(b[l]) : b[l]);
        d[l] = canon(ftz ? flushed(r) : r);
    }
}

static double
upper_half(double x)
{
    return f64_of_bits(bits_of_f64(x) & ~UINT64_C(0xffffffff));
}

/* rcp.approx.ftz.f64 and rsqrt's: the upper 32 bits of operand and result alone. */
static void
approx_f64(Lanes *w, const Ins *i, uint32_t m)
{
    double *d = LANE(double, w, i->d);
    const double *a = LANE(double, w, i->a);
    for (int l = 0; l < LANES; l++) {
        double x = a[l];
        if (i->op == RCP_APPROX)
            x = upper_half(x);
        if (i->flags & FTZ && fabs(x) < 0x1p-1022)
            x = copysign(0, x);
        x = i->op == RCP_APPROX ? 1 / x : 1 / sqrt(x);
        if (i->flags & FTZ && fabs(x) < 0x1p-1022)
            x = copysign(0, x);
        if (m >> l & 1)
            d[l] = upper_half(x);
    }
}

/* ---- testp ----------------------------------------------------------------------- */

static const char *const testp_words[] = {"finite", "infinite",  "number", "notanumber",
                                          "normal", "subnormal", NULL};

static bool
is_of_class(int c, int word)
{
    const bool by[] = {
        c != FP_NAN && c != FP_INFINITE, c == FP_INFINITE, c != FP_NAN, c == FP_NAN,
        c == FP_NORMAL || c == FP_ZERO,  c == FP_SUBNORMAL};
    return by[word];
}
BY_WORD(testp, is_of_class(i->in[0].bytes == 4 ? fpclassify(f32_of_bits((uint32_t)x))
                                               : fpclassify(f64_of_bits(x)),
                           i->op))

/* ---- rows ------------------------------------------------------------------------ */

static const char *const round_words[] = {"rn", "rz", "rm", "rp", NULL};

static int
dec_rounding(Dec *d)
{
    int r = dec_one(d, round_words);
    d->ins->bytes = (uint8_t)(r < 0 ? 0 : r);
    return r;
}

static void
dec_arithmetic(Dec *d, int op, int n)
{
    Ins *i = d->ins;
    bool has_rounding = dec_rounding(d) >= 0;
    bool ftz = dec_has(d, "ftz"), sat = dec_has(d, "sat"), relu = dec_has(d, "relu"),
         noftz = dec_has(d, "noftz");
    if (dec_has(d, "f32x2")) {
        dec_since(d, 100);
        dec_refuse(d, op > FMA || (op == FMA && !has_rounding) || sat || relu);
        i->op = (uint8_t)op;
        i->flags = ftz ? FTZ : 0;
        dec_same(d, T_B64, n);
        i->run = pair_f32;
        return;
    }
    Type t = dec_type(d), other = dec_maybe_type(d);
    (void)noftz;
    dec_refuse(d, type_info[t].kind != 'f');
    if (op >= FMA && !has_rounding)
        dec_fail(d, "no rounding");
    dec_refuse(d, (relu && (op != FMA || sat)) || (sat && op > FMA));
    i->op = (uint8_t)op;
    i->flags = (uint16_t)((ftz ? FTZ : 0) | (sat ? SAT : 0));
    if (other) { /* add.f32.f16 d, a, c: a is a half */
        dec_refuse(d, t != T_F32 || (other != T_F16 && other != T_BF16) || op == DIV ||
                          dec_sm(d) < 100);
        dec_out(d, 0, 4);
        for (int k = 1; k < n; k++)
            dec_in_typed(d, k, other);
        dec_in_typed(d, n, T_F32);
        dec_places(d);
        i->type = (uint8_t)other;
        i->run = mixed;
        return;
    }
    if (type_info[t].bytes == 2 || t == T_F16X2 || t == T_BF16X2) {
        dec_refuse(d, op > FMA || i->bytes);
        dec_half(d, t, (HalfOp)(HALF_ADD + op), n, ftz, sat, relu);
        return;
    }
    dec_refuse(d, relu || (t == T_F64 && (ftz || sat)));
    dec_same(d, t, n);
    i->run = i->bytes || i->flags ? (t == T_F32 ? flagged_f32 : flagged_f64)
                                  : nearest[op][t == T_F64];
    if (HAS_FUSED && i->run == fma_f32)
        i->run = fused_f32;
    if (HAS_FUSED && i->run == fma_f64)
        i->run = fused_f64;
}

static void
dec_approx(Dec *d, int op, int n)
{
    bool ftz = dec_has(d, "ftz");
    Type t = dec_type(d);
    d->ins->op = (uint8_t)op;
    d->ins->flags = ftz ? FTZ : 0;
    if ((t == T_F16 || t == T_F16X2 || t == T_BF16 || t == T_BF16X2) &&
        (op == EX2 || op == TANH)) {
        dec_refuse(d, ftz != (op == EX2 && type_info[t].name[0] == 'b'));
        dec_half(d, t, op == EX2 ? HALF_EX2 : HALF_TANH, 1,
                 ftz && type_info[t].name[0] == 'f', false, false);
        return;
    }
    if (t == T_F64 && ((op == RCP_APPROX && ftz) || op == RSQRT)) {
        dec_same(d, t, 1);
        d->ins->run = approx_f64;
        return;
    }
    dec_refuse(d, t != T_F32 || (op == TANH && ftz));
    dec_same(d, t, n);
    d->ins->run = approx;
}

void
dec_float(Dec *d, HalfOp op)
{
    dec_arithmetic(d, ADD + (int)(op - HALF_ADD), op == HALF_FMA ? 3 : 2);
}

static void
dec_fma(Dec *d)
{
    dec_float(d, HALF_FMA);
}

void
dec_float_div(Dec *d)
{
    if (dec_has(d, "approx"))
        dec_approx(d, DIV_APPROX, 2);
    else if (dec_has(d, "full"))
        dec_approx(d, DIV_FULL, 2);
    else
        dec_arithmetic(d, DIV, 2);
}

/* Functions of one operand; exact: N_OPS where there is only the approximation. */
static void
dec_function(Dec *d)
{
    static const struct {
        const char *name;
        int approx, exact;
    } rows[] = {{"rcp", RCP_APPROX, RCP}, {"sqrt", SQRT_APPROX, SQRT},
                {"rsqrt", RSQRT, N_OPS},  {"sin", SIN, N_OPS},
                {"cos", COS, N_OPS},      {"lg2", LG2, N_OPS},
                {"ex2", EX2, N_OPS},      {"tanh", TANH, N_OPS}};
    int k = 0;
    while (strcmp(rows[k].name, d->op) != 0)
        k++;
    if (dec_has(d, "approx"))
        dec_approx(d, rows[k].approx, 1);
    else if (rows[k].exact < N_OPS)
        dec_arithmetic(d, rows[k].exact, 1);
    else
        dec_fail(d, ".approx is missing");
}

void
dec_float_sign(Dec *d, bool is_neg)
{
    bool ftz = dec_has(d, "ftz");
    Type t = dec_type(d);
    if (type_info[t].bytes == 2 || t == T_F16X2 || t == T_BF16X2) {
        dec_half(d, t, is_neg ? HALF_NEG : HALF_ABS, 1, ftz, false, false);
        return;
    }
    dec_refuse(d, ftz && t != T_F32);
    dec_same(d, t, 1);
    d->ins->run = ftz          ? (is_neg ? neg_ftz_f32 : abs_ftz_f32)
                  : t == T_F32 ? (is_neg ? neg_f32 : abs_f32)
                               : (is_neg ? neg_f64 : abs_f64);
}

void
dec_float_minmax(Dec *d, bool is_max)
{
    bool ftz = dec_has(d, "ftz"), nan = dec_has(d, "NaN"), xor = dec_has(d, "xorsign");
    if (xor && !dec_has(d, "abs"))
        dec_fail(d, ".abs is missing");
    Type t = dec_type(d);
    if (type_info[t].bytes == 2 || t == T_F16X2 || t == T_BF16X2) {
        dec_half(d, t,
                 is_max ? (nan ? HALF_MAX_NAN : HALF_MAX)
                        : (nan ? HALF_MIN_NAN : HALF_MIN),
                 2, ftz, false, false);
        if (xor)
            dec_half_xorsign(d);
        return;
    }
    if (xor && dec_sm(d) < 86)
        dec_fail(d, ".xorsign is of sm_86 on");
    dec_refuse(d, t == T_F64 && (ftz || nan || xor));
    bool three = d->n_opds == 4 && t == T_F32 && !xor && dec_sm(d) >= 100;
    dec_same(d, t, three ? 3 : 2);
    d->ins->op = is_max;
    d->ins->flags = (uint16_t)((ftz ? FTZ : 0) | (nan ? MM_NAN : 0) |
                               (xor ? MM_XORSIGN : 0));
    if (three) {
        d->ins->run = minmax_of_three;
        return;
    }
    d->ins->run = d->ins->flags ? flagged_minmax
                  : t == T_F32  ? (is_max ? max_f32 : min_f32)
                                : (is_max ? max_f64 : min_f64);
}

static void
dec_copysign(Dec *d)
{
    Type t = dec_type(d);
    static Run *const run[N_TYPES] = {[T_F32] = copysign_f32, [T_F64] = copysign_f64};
    dec_run(d, run, t);
    dec_same(d, t, 2);
}

static void
dec_testp(Dec *d)
{
    int op = dec_one(d, testp_words);
    Type t = dec_type(d);
    dec_refuse(d, op < 0 || (t != T_F32 && t != T_F64));
    d->ins->op = (uint8_t)op;
    d->ins->run = testp;
    dec_out(d, 0, 1);
    dec_in_typed(d, 1, t);
}

const OpRow float_ops[] = {
    {"fma", dec_fma},        {"rcp", dec_function},      {"sqrt", dec_function},
    {"rsqrt", dec_function}, {"sin", dec_function},      {"cos", dec_function},
    {"lg2", dec_function},   {"ex2", dec_function},      {"tanh", dec_function},
    {"testp", dec_testp},    {"copysign", dec_copysign}, {NULL, NULL},
};
