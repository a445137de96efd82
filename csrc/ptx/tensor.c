/* tensor: mma.sync, ldmatrix and stmatrix on the registers of a warp.
 *
 * The ISA deals out a matrix like this: a lane's registers of an operand hold elements
 * 0, 1, 2, .. (in a register, low bits first), and a formula for each shape says which
 * row and column element i of lane l is, with g = groupID = l / 4 and t = threadID_in_group
 * = l % 4. All of them are one for each operand here; the book's own, a formula a shape, are in
 * tests/ptxsim/test_ptxsim_units.py, which compares them.
 * Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 .. m16n8k64"; "ldmatrix"; "stmatrix".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ptx/lanes.h"
#include "ptx/tensor.h"

enum { IN_A, IN_B, IN_C };

/* How far element i of a lane lies behind its first in a matrix of `width` columns, row by row;
 * `each` are in a register of 32 bits, or one of 64. Those of A and B are neighbours along k; then
 * come, of 16 rows of A, the lower half, and what lies behind along k. */
static int
behind_first(int in, int height, int width, int each, int i)
{
    int r = i / each, halves = in == IN_A ? height / 8 : 1;
    if (in == IN_C)
        return i / 2 * 8 * width + i % 2;
    int k = r / halves * 4 * each + i % each;
    return in == IN_A ? r % halves * 8 * width + k : k * width;
}

/* Where element 0 of each lane lies. */
static void
firsts(int in, int width, int each, int at[LANES])
{
    for (int l = 0; l < LANES; l++) {
        int g = l / 4, t = l % 4;
        at[l] = in == IN_A   ? g * width + t * each
                : in == IN_B ? t * each * width + g
                             : g * width + 2 * t;
    }
}

/* The instructions there are. `kinds`: the types of A and B, which may differ within a
 * row only where `mixes`. */
typedef struct WarpMmaRow {
    int m, k, bits, sm; /* sm: the first that has it */
    bool mixes;
    FloatType kinds[3]; /* FMT_N_TYPES ends */
    FloatType acc[3];   /* of C and D; may differ: only f16 and f32 do */
} Row;

#define END FMT_N_TYPES
/* clang-format off */
static const Row rows[] = {
    { 8,  4, 64, 80, false, {FMT_F64, END},             {FMT_F64, END}},
    {16,  4, 64, 90, false, {FMT_F64, END},             {FMT_F64, END}},
    {16,  8, 64, 90, false, {FMT_F64, END},             {FMT_F64, END}},
    {16, 16, 64, 90, false, {FMT_F64, END},             {FMT_F64, END}},
    {16,  4, 32, 80, false, {FMT_TF32, END},            {FMT_F32, END}},
    {16,  8, 32, 80, false, {FMT_TF32, END},            {FMT_F32, END}},
    {16,  8, 16, 75, false, {FMT_F16, END},             {FMT_F32, FMT_F16, END}},
    {16, 16, 16, 80, false, {FMT_F16, END},             {FMT_F32, FMT_F16, END}},
    {16,  8, 16, 80, false, {FMT_BF16, END},            {FMT_F32, END}},
    {16, 16, 16, 80, false, {FMT_BF16, END},            {FMT_F32, END}},
    {16, 16,  8, 89, true,  {FMT_E4M3, FMT_E5M2, END},  {FMT_F32, FMT_F16, END}},
    {16, 32,  8, 89, true,  {FMT_E4M3, FMT_E5M2, END},  {FMT_F32, FMT_F16, END}},
    { 8, 16,  8, 75, true,  {FMT_S8, FMT_U8, END},      {FMT_S32, END}},
    {16, 16,  8, 80, true,  {FMT_S8, FMT_U8, END},      {FMT_S32, END}},
    {16, 32,  8, 80, true,  {FMT_S8, FMT_U8, END},      {FMT_S32, END}},
    { 8, 32,  4, 75, true,  {FMT_S4, FMT_U4, END},      {FMT_S32, END}},
    {16, 32,  4, 80, true,  {FMT_S4, FMT_U4, END},      {FMT_S32, END}},
    {16, 64,  4, 80, true,  {FMT_S4, FMT_U4, END},      {FMT_S32, END}},
};
/* clang-format on */
#undef END

static bool
is_among(const FloatType *list, FloatType t)
{
    while (*list != FMT_N_TYPES && *list != t)
        list++;
    return *list == t && t != FMT_N_TYPES;
}

static const Row *
find_row(const WarpMma *m)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const Row *r = &rows[i];
        if (r->m == m->m && r->k == m->k && is_among(r->kinds, m->a) &&
            is_among(r->kinds, m->b) && (r->mixes || m->a == m->b) &&
            is_among(r->acc, m->c) && is_among(r->acc, m->d))
            return r;
    }
    return NULL;
}

/* Does the rest of the opcode begin so? Moves behind that. */
static bool
takes(const char **at, const char *what)
{
    size_t n = strlen(what);
    bool is = !strncmp(*at, what, n);
    *at += is ? n : 0;
    return is;
}

static FloatType
take_type(const char **at)
{
    int n = (int)strcspn(*at, ".");
    FloatType t = fmt_named(*at, n);
    *at += n + ((*at)[n] == '.');
    return t;
}

bool
warp_mma_decode(WarpMma *m, const char *opcode)
{
    *m = (WarpMma){0};
    int n = 0;
    const char *at = opcode;
    if (!takes(&at, "mma.sync.aligned."))
        return false;
    bool is_kind = takes(&at, "kind::f8f6f4.");
    if (sscanf(at, "m%4dn8k%4d.row.col.%n", &m->m, &m->k, &n) != 2 || !n)
        return false;
    at += n;
    m->satfinite = takes(&at, "satfinite.");
    m->d = take_type(&at), m->a = take_type(&at), m->b = take_type(&at);
    m->c = take_type(&at);
    const Row *r = *at ? NULL : find_row(m);
    if (!r || (m->satfinite && m->d != FMT_S32))
        return false;
    if (is_kind && (m->k != 32 || (m->a != FMT_E4M3 && m->a != FMT_E5M2)))
        return false;
    int reg = r->bits == 64 ? 64 : 32;
    m->sm = r->sm;
    m->a_regs = m->m * m->k * r->bits / reg / 32;
    m->b_regs = m->k * 8 * r->bits / reg / 32;
    m->c_regs = m->m * 8 * fmt_bits(m->c) / reg / 32;
    m->d_regs = m->m * 8 * fmt_bits(m->d) / reg / 32;
    return true;
}

static int64_t
to_integer(FloatType t, uint64_t bits)
{
    switch (t) {
    case FMT_S32: return (int32_t)bits;
    case FMT_S8: return (int8_t)bits;
    case FMT_S4: return (int64_t)(bits & 15) - (bits & 8 ? 16 : 0);
    case FMT_U8: return (int64_t)(bits & 255);
    default: return (int64_t)(bits & 15);
    }
}

double
mma_number(FloatType t, uint64_t bits)
{
    return fmt_is_integer(t) ? (double)to_integer(t, bits) : fmt_to_double(t, bits);
}

uint64_t
mma_result(FloatType t, bool satfinite, double x)
{
    if (t == FMT_F32)
        return x != x ? 0x7fffffff : bits_of_f32((float)x);
    if (t != FMT_S32)
        return fmt_from_double(t, FMT_RN, false, x);
    if (satfinite)
        x = x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : x;
    return (uint32_t)(int64_t)x;
}

#define NUMBERS(expr)                                                                  \
    NO_HAZARD for (int l = 0; l < LANES; l++)                                          \
    {                                                                                  \
        uint32_t x = (uint32_t)(reg[l] >> shift);                                      \
        to[l] = (expr);                                                                \
    }
void
mma_numbers(FloatType t, const uint64_t reg[LANES], int shift, double to[LANES])
{
    switch (t) {
    case FMT_F16: NUMBERS(f16_of_bits(x)) break;
    case FMT_BF16: NUMBERS(f32_of_bits(x << 16)) break;
    case FMT_F32: NUMBERS(f32_of_bits(x)) break;
    case FMT_TF32: NUMBERS(f32_of_bits(x & 0xffffe000)) break;
    default:
        for (int l = 0; l < LANES; l++)
            to[l] = mma_number(t, reg[l] >> shift);
    }
}

static int
slots(FloatType t)
{
    return fmt_bits(t) == 64 ? 1 : 32 / fmt_bits(t);
}

/* The matrix that a warp's registers hold. */
static void
gather_matrix(double *to, int in, int height, int width, FloatType t,
              const uint64_t (*reg)[LANES], int n_regs)
{
    int each = slots(t), at[LANES];
    double x[LANES];
    firsts(in, width, each, at);
    for (int i = 0; i < n_regs * each; i++) {
        double *from = to + behind_first(in, height, width, each, i);
        mma_numbers(t, reg[i / each], i % each * fmt_bits(t), x);
        for (int l = 0; l < LANES; l++)
            from[at[l]] = x[l];
    }
}

/* Columns side by side, so that their sums are vectors; each is in the order of k. */
typedef double Columns __attribute__((vector_size(32), aligned(8)));
static inline __attribute__((always_inline)) void
sum_rows(const double *a, int by_a, const double *b, int by_b, double *sum, int by_sum,
         int m, int n, int n_k)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j += 8) {
            Columns s[2] = {{0}}, *to = (Columns *)&sum[i * by_sum + j];
            for (int k = 0; k < n_k; k++) {
                const Columns *from = (const Columns *)&b[k * by_b + j];
                s[0] += a[i * by_a + k] * from[0];
                s[1] += a[i * by_a + k] * from[1];
            }
            to[0] = s[0], to[1] = s[1];
        }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void
sum_rows_avx2(const double *a, int by_a, const double *b, int by_b, double *sum,
              int by_sum, int m, int n, int n_k)
{
    sum_rows(a, by_a, b, by_b, sum, by_sum, m, n, n_k);
}
#endif

void
mma_sums(const double *a, int by_a, const double *b, int by_b, double *sum, int by_sum,
         int m, int n, int n_k)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        sum_rows_avx2(a, by_a, b, by_b, sum, by_sum, m, n, n_k);
        return;
    }
#endif
    sum_rows(a, by_a, b, by_b, sum, by_sum, m, n, n_k);
}

void
mma_results(FloatType t, bool satfinite, const double x[LANES], int shift,
            uint64_t to[LANES])
{
    for (int l = 0; l < LANES && t == FMT_F32; l++)
        to[l] = x[l] != x[l] ? 0x7fffffff : bits_of_f32((float)x[l]);
    for (int l = 0; l < LANES && t != FMT_F32; l++)
        to[l] |= mma_result(t, satfinite, x[l]) << shift;
}

void
warp_mma_run(const WarpMma *m, uint64_t (*d)[LANES], const uint64_t (*a)[LANES],
             const uint64_t (*b)[LANES], const uint64_t (*c)[LANES])
{
    double ma[16 * 64], mb[64 * 8], mc[16 * 8], sum[16 * 8];
    gather_matrix(ma, IN_A, m->m, m->k, m->a, a, m->a_regs);
    gather_matrix(mb, IN_B, m->m, 8, m->b, b, m->b_regs);
    gather_matrix(mc, IN_C, m->m, 8, m->c, c, m->c_regs);
    if (m->d == FMT_F64) {
        for (int i = 0; i < m->m; i++)
            for (int k = 0; k < m->k; k++)
                for (int j = 0; j < 8; j++)
                    mc[i * 8 + j] = fma(ma[i * m->k + k], mb[k * 8 + j], mc[i * 8 + j]);
    } else {
        mma_sums(ma, m->k, mb, 8, sum, 8, m->m, 8, m->k);
        for (int i = 0; i < m->m * 8; i++)
            mc[i] += sum[i];
    }
    int each = slots(m->d), at[LANES];
    firsts(IN_C, 8, each, at);
    memset(d, 0, (size_t)m->d_regs * sizeof *d);
    for (int i = 0; i < m->d_regs * each; i++) {
        const double *from = mc + behind_first(IN_C, m->m, 8, each, i);
        double x[LANES];
        for (int l = 0; l < LANES; l++)
            x[l] = from[at[l]];
        mma_results(m->d, m->satfinite, x, i % each * fmt_bits(m->d), d[i / each]);
    }
}

/* "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", also .shared::cta, or no space */
bool
warp_matrix_decode(WarpMatrix *m, const char *opcode)
{
    *m = (WarpMatrix){0};
    const char *at = opcode;
    m->is_store = takes(&at, "stmatrix.");
    if ((!m->is_store && !takes(&at, "ldmatrix.")) || !takes(&at, "sync.aligned.m8n8."))
        return false;
    m->n = takes(&at, "x1") ? 1 : takes(&at, "x2") ? 2 : takes(&at, "x4") ? 4 : 0;
    m->trans = takes(&at, ".trans");
    if (!takes(&at, ".shared::cta"))
        takes(&at, ".shared");
    return m->n && !strcmp(at, ".b16");
}

typedef struct Place {
    int row, col;
} Place;

/* Lane l holds elements 2 * (l % 4) and the next of row l / 4; transposed: of column l / 4.
 * Where element j of the lane is, in bytes from the start of its row. */
static Place
matrix_place(const WarpMatrix *m, int lane, int j)
{
    int g = lane / 4, e = lane % 4 * 2 + j;
    return m->trans ? (Place){e, 2 * g} : (Place){g, 2 * e};
}

void
warp_ldmatrix(const WarpMatrix *m, uint64_t (*out)[32], const uint8_t *const row[32])
{
    for (int i = 0; i < m->n; i++)
        for (int lane = 0; lane < 32; lane++) {
            uint16_t half[2];
            for (int j = 0; j < 2; j++) {
                Place p = matrix_place(m, lane, j);
                memcpy(&half[j], row[8 * i + p.row] + p.col, 2);
            }
            out[i][lane] = half[0] | (uint32_t)half[1] << 16;
        }
}

void
warp_stmatrix(const WarpMatrix *m, uint8_t *const row[32], const uint64_t (*in)[32])
{
    for (int i = 0; i < m->n; i++)
        for (int lane = 0; lane < 32; lane++)
            for (int j = 0; j < 2; j++) {
                Place p = matrix_place(m, lane, j);
                uint16_t half = (uint16_t)(in[i][lane] >> 16 * j);
                memcpy(row[8 * i + p.row] + p.col, &half, 2);
            }
}
