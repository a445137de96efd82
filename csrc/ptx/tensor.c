/* tensor: mma.sync, ldmatrix and stmatrix on the registers of a warp.
 *
 * The ISA deals out a matrix like this: a lane's registers of an operand hold elements
 * 0, 1, 2, .. (in a register, low bits first), and a formula for each shape says which
 * row and column element i of lane l is. The formulas below are the ISA's, one function a
 * section, with g = groupID = l / 4 and t = threadID_in_group = l % 4. They are not
 * simplified into one, although they could be: they are to be compared with the book.
 * Source: PTX ISA, "Matrix Fragments for mma.m8n8k4 .. m16n8k64"; "ldmatrix"; "stmatrix".
 */
#include <math.h>
#include <string.h>

#include "ptx/ptx.h"
#include "ptx/tensor.h"

typedef struct Place {
    int row, col;
} Place;
typedef Place PlaceOf(int g, int t, int i);

/* ---- A, by shape and bits of an element ------------------------------------------ */
static Place
a_m8n8k4_64(int g, int t, int i)
{
    (void)i;
    return (Place){g, t};
}

static Place
a_m8n8k16_8(int g, int t, int i)
{
    return (Place){g, t * 4 + i};
}

static Place
a_m8n8k32_4(int g, int t, int i)
{
    return (Place){g, t * 8 + i};
}

static Place
a_m16n8k4_word(int g, int t, int i) /* tf32, f64 */
{
    return (Place){i == 0 ? g : g + 8, t};
}

static Place
a_m16n8k8_16(int g, int t, int i)
{
    return (Place){i == 0 || i == 1 ? g : g + 8, t * 2 + (i & 1)};
}

static Place
a_m16n8k8_word(int g, int t, int i) /* tf32, f64 */
{
    return (Place){i == 0 || i == 2 ? g : g + 8, i == 0 || i == 1 ? t : t + 4};
}

static Place
a_m16n8k16_16(int g, int t, int i)
{
    bool is_upper = (0 <= i && i < 2) || (4 <= i && i < 6);
    return (Place){is_upper ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8)};
}

static Place
a_m16n8k16_64(int g, int t, int i)
{
    return i % 2 == 0 ? (Place){g, i * 2 + t} : (Place){g + 8, i * 2 - 2 + t};
}

static Place
a_m16n8k16_8(int g, int t, int i)
{
    return (Place){i < 4 ? g : g + 8, t * 4 + (i & 3)};
}

static Place
a_m16n8k32_8(int g, int t, int i)
{
    bool is_upper = (0 <= i && i < 4) || (8 <= i && i < 12);
    return (Place){is_upper ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}

static Place
a_m16n8k32_4(int g, int t, int i)
{
    return (Place){i < 8 ? g : g + 8, t * 8 + (i & 7)};
}

static Place
a_m16n8k64_4(int g, int t, int i)
{
    bool is_upper = (0 <= i && i < 8) || (16 <= i && i < 24);
    return (Place){is_upper ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32)};
}

/* ---- B: {row, col} of a k x 8 matrix --------------------------------------------- */
static Place
b_word(int g, int t, int i) /* k4, k8, k16 of tf32 and f64: t, t + 4, t + 8, .. */
{
    return (Place){t + 4 * i, g};
}

static Place
b_16(int g, int t, int i) /* k8; k16: + 8 for b2, b3 */
{
    return (Place){t * 2 + (i & 1) + (i < 2 ? 0 : 8), g};
}

static Place
b_8(int g, int t, int i) /* k16; k32: + 16 for b4 .. b7 */
{
    return (Place){t * 4 + (i & 3) + (i < 4 ? 0 : 16), g};
}

static Place
b_4(int g, int t, int i) /* k32; k64: + 32 for b8 .. b15 */
{
    return (Place){t * 8 + (i & 7) + (i < 8 ? 0 : 32), g};
}

/* ---- C and D: the same for every type -------------------------------------------- */
static Place
c_m8(int g, int t, int i)
{
    return (Place){g, t * 2 + i};
}

static Place
c_m16(int g, int t, int i)
{
    return (Place){i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

/* The instructions there are. `kinds`: the types of A and B, which may differ within a
 * row only where `mixes`. */
typedef struct WarpMmaRow {
    int m, k, bits, sm; /* sm: the first that has it */
    bool mixes;
    FloatType kinds[3]; /* FMT_N_TYPES ends */
    FloatType acc[3];   /* of C and D; may differ: only f16 and f32 do */
    PlaceOf *a, *b, *c;
} Row;

#define END FMT_N_TYPES
/* clang-format off */
static const Row rows[] = {
    { 8,  4, 64, 80, false, {FMT_F64, END},            {FMT_F64, END},          a_m8n8k4_64,    b_word, c_m8},
    {16,  4, 64, 90, false, {FMT_F64, END},            {FMT_F64, END},          a_m16n8k4_word, b_word, c_m16},
    {16,  8, 64, 90, false, {FMT_F64, END},            {FMT_F64, END},          a_m16n8k8_word, b_word, c_m16},
    {16, 16, 64, 90, false, {FMT_F64, END},            {FMT_F64, END},          a_m16n8k16_64,  b_word, c_m16},
    {16,  4, 32, 80, false, {FMT_TF32, END},           {FMT_F32, END},          a_m16n8k4_word, b_word, c_m16},
    {16,  8, 32, 80, false, {FMT_TF32, END},           {FMT_F32, END},          a_m16n8k8_word, b_word, c_m16},
    {16,  8, 16, 75, false, {FMT_F16, END},            {FMT_F32, FMT_F16, END}, a_m16n8k8_16,   b_16,   c_m16},
    {16, 16, 16, 80, false, {FMT_F16, END},            {FMT_F32, FMT_F16, END}, a_m16n8k16_16,  b_16,   c_m16},
    {16,  8, 16, 80, false, {FMT_BF16, END},           {FMT_F32, END},          a_m16n8k8_16,   b_16,   c_m16},
    {16, 16, 16, 80, false, {FMT_BF16, END},           {FMT_F32, END},          a_m16n8k16_16,  b_16,   c_m16},
    {16, 16,  8, 89, true,  {FMT_E4M3, FMT_E5M2, END}, {FMT_F32, FMT_F16, END}, a_m16n8k16_8,   b_8,    c_m16},
    {16, 32,  8, 89, true,  {FMT_E4M3, FMT_E5M2, END}, {FMT_F32, FMT_F16, END}, a_m16n8k32_8,   b_8,    c_m16},
    { 8, 16,  8, 75, true,  {FMT_S8, FMT_U8, END},     {FMT_S32, END},          a_m8n8k16_8,    b_8,    c_m8},
    {16, 16,  8, 80, true,  {FMT_S8, FMT_U8, END},     {FMT_S32, END},          a_m16n8k16_8,   b_8,    c_m16},
    {16, 32,  8, 80, true,  {FMT_S8, FMT_U8, END},     {FMT_S32, END},          a_m16n8k32_8,   b_8,    c_m16},
    { 8, 32,  4, 75, true,  {FMT_S4, FMT_U4, END},     {FMT_S32, END},          a_m8n8k32_4,    b_4,    c_m8},
    {16, 32,  4, 80, true,  {FMT_S4, FMT_U4, END},     {FMT_S32, END},          a_m16n8k32_4,   b_4,    c_m16},
    {16, 64,  4, 80, true,  {FMT_S4, FMT_U4, END},     {FMT_S32, END},          a_m16n8k64_4,   b_4,    c_m16},
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

/* The next word of an opcode, from *at on; moves *at behind it. Length 0 at the end. */
static int
next_word(const char **at, const char **word)
{
    *word = *at;
    int n = (int)strcspn(*at, ".");
    *at += n + ((*at)[n] == '.');
    return n;
}

static bool
is_word(const char *word, int len, const char *what)
{
    return (int)strlen(what) == len && !memcmp(word, what, (size_t)len);
}

/* Is the rest of the opcode this word, then more? Moves behind it. */
static bool
takes(const char **at, const char *what)
{
    const char *word, *was = *at;
    int n = next_word(at, &word);
    if (is_word(word, n, what))
        return true;
    *at = was;
    return false;
}

/* "m16n8k32" */
static bool
read_shape(const char *word, int len, int *m, int *k)
{
    int *to[] = {m, NULL, k}, n = 0, i = 0;
    for (int at = 0; at < 3; at++) {
        if (i == len || word[i] != "mnk"[at])
            return false;
        int x = 0, digits = 0;
        for (i++; i < len && word[i] >= '0' && word[i] <= '9' && digits < 4;
             i++, digits++)
            x = x * 10 + word[i] - '0';
        *(to[at] ? to[at] : &n) = x;
    }
    return i == len && n == 8;
}

bool
warp_mma_decode(WarpMma *m, const char *opcode)
{
    *m = (WarpMma){0};
    const char *at = opcode, *word;
    if (!takes(&at, "mma") || !takes(&at, "sync") || !takes(&at, "aligned"))
        return false;
    bool is_kind = takes(&at, "kind::f8f6f4");
    int n = next_word(&at, &word);
    if (!read_shape(word, n, &m->m, &m->k) || !takes(&at, "row") || !takes(&at, "col"))
        return false;
    m->satfinite = takes(&at, "satfinite");
    FloatType *type[] = {&m->d, &m->a, &m->b, &m->c};
    for (int i = 0; i < 4; i++) {
        n = next_word(&at, &word);
        *type[i] = fmt_named(word, n);
    }
    const Row *r = m->row = *at ? NULL : find_row(m);
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

static bool
is_integer(FloatType t)
{
    return t > FMT_E5M2;
}

double
mma_number(FloatType t, uint64_t bits)
{
    return is_integer(t) ? (double)to_integer(t, bits) : fmt_to_double(t, bits);
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

/* What all lanes have of one type, from a bit of a register on. */
#define NUMBERS(expr)                                                                  \
    for (int l = 0; l < LANES; l++) {                                                  \
        uint32_t x = (uint32_t)(reg[l] >> shift);                                      \
        to[l] = (expr);                                                                \
    }
static void
numbers(FloatType t, const uint64_t reg[LANES], int shift, double to[LANES])
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

/* Where a lane's element 0 lies in a matrix, row by row. Element i of any lane is as far behind it
 * as that of lane 0: each formula is a lane's part plus an element's. */
static void
lane_places(PlaceOf *place, int width, int at[LANES])
{
    for (int l = 0; l < LANES; l++) {
        Place p = place(l / 4, l % 4, 0);
        at[l] = p.row * width + p.col;
    }
}

static int
element_place(PlaceOf *place, int width, int i)
{
    Place p = place(0, 0, i);
    return p.row * width + p.col;
}

/* The matrix that a warp's registers hold. */
static void
gather_matrix(double *to, int width, FloatType t, PlaceOf *place,
              const uint64_t (*reg)[LANES], int n_regs)
{
    int bits = fmt_bits(t), each = bits == 64 ? 1 : 32 / bits, at[LANES];
    double x[LANES];
    lane_places(place, width, at);
    for (int i = 0; i < n_regs * each; i++) {
        double *from = to + element_place(place, width, i);
        numbers(t, reg[i / each], i % each * bits, x);
        for (int l = 0; l < LANES; l++)
            from[at[l]] = x[l];
    }
}

void
warp_mma_run(const WarpMma *m, uint64_t (*d)[LANES], const uint64_t (*a)[LANES],
             const uint64_t (*b)[LANES], const uint64_t (*c)[LANES])
{
    const Row *r = m->row;
    double ma[16 * 64], mb[64 * 8], mc[16 * 8];
    gather_matrix(ma, m->k, m->a, r->a, a, m->a_regs);
    gather_matrix(mb, 8, m->b, r->b, b, m->b_regs);
    gather_matrix(mc, 8, m->c, r->c, c, m->c_regs);
    for (int i = 0; i < m->m; i++) {
        double sum[8] = {0};
        if (m->d == FMT_F64) {
            for (int j = 0; j < 8; j++)
                for (int k = 0; k < m->k; k++)
                    mc[i * 8 + j] = fma(ma[i * m->k + k], mb[k * 8 + j], mc[i * 8 + j]);
            continue;
        }
        for (int k = 0; k < m->k; k++)
            for (int j = 0; j < 8; j++)
                sum[j] += ma[i * m->k + k] * mb[k * 8 + j];
        for (int j = 0; j < 8; j++)
            mc[i * 8 + j] += sum[j];
    }
    int bits = fmt_bits(m->d), each = bits == 16 ? 2 : 1, at[LANES];
    lane_places(r->c, 8, at);
    memset(d, 0, (size_t)m->d_regs * sizeof *d);
    for (int i = 0; i < m->d_regs * each; i++) {
        const double *from = mc + element_place(r->c, 8, i);
        for (int l = 0; l < LANES; l++)
            d[i / each][l] |= mma_result(m->d, m->satfinite, from[at[l]])
                              << i % each * bits;
    }
}

/* "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", also .shared::cta, or no space */
bool
warp_matrix_decode(WarpMatrix *m, const char *opcode)
{
    *m = (WarpMatrix){0};
    const char *at = opcode;
    m->is_store = takes(&at, "stmatrix");
    if ((!m->is_store && !takes(&at, "ldmatrix")) || !takes(&at, "sync") ||
        !takes(&at, "aligned") || !takes(&at, "m8n8"))
        return false;
    m->n = takes(&at, "x1") ? 1 : takes(&at, "x2") ? 2 : takes(&at, "x4") ? 4 : 0;
    m->trans = takes(&at, "trans");
    if (!takes(&at, "shared"))
        takes(&at, "shared::cta");
    return m->n && takes(&at, "b16") && !*at;
}

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
