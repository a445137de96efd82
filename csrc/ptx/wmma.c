/* wmma: matrices of a warp, whose elements lie where nobody says.
 *
 *     wmma.load.a.sync.aligned.row.m16n16k16.global.f16   {r0, ..}, [p], stride;
 *     wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32     d, a, b, c;
 *     wmma.store.d.sync.aligned.row.m16n16k16.shared.f32  [p], d, stride;
 *
 * PTX leaves open which lane has which element. Here slot s of lane l, counted from the low
 * bits of the first register on, has element 32 s + l of its matrix, row by row; where there
 * are more slots than elements they begin anew. What a sum is is tensor.h's: exact, rounded once.
 */
#include "ptx/lanes.h"
#include "ptx/tensor.h"

#include <math.h>

enum { MOST_REGS = 8, MOST_ELEMENTS = 1024 };
enum { MATRIX_A, MATRIX_B, MATRIX_C, N_MATRICES };

typedef struct Shape {
    char name[12];
    int m, n, k;
    uint32_t of; /* types of its factors, as bits */
} Shape;

#define OF(t) (1u << FMT_##t)
#define BYTES (OF(S8) | OF(U8))
#define NIBBLES (OF(S4) | OF(U4))
static const Shape shapes[] = {{"m16n16k16", 16, 16, 16, OF(F16) | OF(BF16) | BYTES},
                               {"m32n8k16", 32, 8, 16, OF(F16) | OF(BF16) | BYTES},
                               {"m8n32k16", 8, 32, 16, OF(F16) | OF(BF16) | BYTES},
                               {"m16n16k8", 16, 16, 8, OF(TF32)},
                               {"m8n8k4", 8, 8, 4, OF(F64)},
                               {"m8n8k32", 8, 8, 32, NIBBLES},
                               {"m8n8k128", 8, 8, 128, OF(B1)}};

/* One matrix: rows x columns of a type, in n_regs registers of each lane. */
typedef struct Matrix {
    FloatType type;
    int rows, columns, n_regs, bits; /* of an element */
    bool by_columns;                 /* in memory */
} Matrix;

typedef struct Wmma {
    Matrix a, b, c, d;
    int k;
    bool satfinite, is_and;
} Wmma;

static int
n_elements(const Matrix *x)
{
    return x->rows * x->columns;
}

/* Bytes of a register. */
static int
wide(FloatType t)
{
    return t == FMT_F64 ? 8 : 4;
}

static int
slots_of_register(const Matrix *x)
{
    return 8 * wide(x->type) / x->bits;
}

static uint64_t
low_bits(int n)
{
    return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* ---- registers <-> elements ------------------------------------------------------ */

static void
gather_elements(const Lanes *w, const Matrix *x, const Reg *r, uint64_t *out)
{
    uint64_t v[LANES];
    int each = slots_of_register(x), n = n_elements(x);
    for (int k = 0; k < x->n_regs; k++) {
        lanes_get(w, r[k], v);
        for (int l = 0; l < LANES; l++)
            for (int s = 0; s < each; s++) {
                int at = (k * each + s) * LANES + l;
                if (at < n)
                    out[at] = v[l] >> s * x->bits & low_bits(x->bits);
            }
    }
}

static void
scatter_elements(Lanes *w, const Matrix *x, const Reg *r, const uint64_t *from)
{
    int each = slots_of_register(x), n = n_elements(x);
    for (int k = 0; k < x->n_regs; k++) {
        uint64_t v[LANES] = {0};
        for (int l = 0; l < LANES; l++)
            for (int s = 0; s < each; s++)
                v[l] |= from[((k * each + s) * LANES + l) % n] << s * x->bits;
        lanes_put(w, r[k], (uint32_t)FULL, v);
    }
}

/* ---- memory ---------------------------------------------------------------------- */

/* The bit at which element e of lane l's matrix lies. */
static uint64_t
place_of_element(const Matrix *x, int e, uint64_t stride)
{
    uint64_t row = (uint64_t)(e / x->columns), column = (uint64_t)(e % x->columns);
    return (x->by_columns ? column * stride + row : row * stride + column) * x->bits;
}

static void
place_of_all(Lanes *w, const Ins *i, const Matrix *x, uint64_t *base, uint64_t *stride)
{
    uint64_t address[LANES], s[LANES];
    uint64_t align = (uint64_t)x->n_regs * wide(x->type);
    lanes_addresses(w, i, (uint32_t)FULL, address);
    *base = lanes_same(w, i, address, "address");
    *stride = (uint64_t)(x->by_columns ? x->rows : x->columns);
    if (i->flags) {
        lanes_get(w, i->in[1], s);
        *stride = lanes_same(w, i, s, "stride");
    }
    if (*base % align)
        lanes_fault(w, i, 0, "misaligned: the address is no multiple of %llu",
                    (unsigned long long)align);
}

/* The byte or bytes of an element, and whether one was never written. */
static uint8_t *
element_at(Lanes *w, const Ins *i, int lane, uint64_t base, uint64_t bit, bool is_store,
           const Matrix *x, bool *undef)
{
    uint32_t n = x->bits < 8 ? 1 : x->bits / 8u;
    uint64_t address = base + bit / 8;
    uint8_t *p = w->owner->bytes(w, i, lane, (Space)i->space, address, n, is_store);
    uint8_t *s = lanes_states(w, (Space)i->space, address);
    for (uint32_t k = 0; s && k < n; k++) {
        *undef |= s[k] == BYTE_UNDEF;
        if (is_store)
            s[k] = BYTE_DEFINED;
    }
    return p;
}

static void
wmma_load(Lanes *w, const Ins *i, uint32_t m)
{
    const Matrix *x = i->more;
    uint64_t element[MOST_ELEMENTS], base, stride;
    bool undef = false;
    place_of_all(w, i, x, &base, &stride);
    for (int e = 0; e < n_elements(x); e++) {
        uint64_t bit = place_of_element(x, e, stride), v = 0;
        const uint8_t *p = element_at(w, i, e % LANES, base, bit, false, x, &undef);
        memcpy(&v, p, x->bits < 8 ? 1 : x->bits / 8u);
        element[e] = v >> bit % 8 & low_bits(x->bits);
    }
    scatter_elements(w, x, i->out, element);
    for (int k = 0; k < x->n_regs; k++)
        lanes_set_undef(w, i->out[k], m, undef ? m : 0);
}

static void
wmma_store(Lanes *w, const Ins *i, uint32_t m)
{
    const Matrix *x = i->more;
    const Reg *from = i->in + 1 + i->flags;
    uint64_t element[MOST_ELEMENTS], base, stride;
    bool undef = false;
    place_of_all(w, i, x, &base, &stride);
    for (int k = 0; k < x->n_regs; k++)
        lanes_want(w, i, from[k], m, "stores a register that was never written");
    gather_elements(w, x, from, element);
    for (int e = 0; e < n_elements(x); e++) {
        uint64_t bit = place_of_element(x, e, stride);
        uint8_t *p = element_at(w, i, e % LANES, base, bit, true, x, &undef);
        memcpy(p, &element[e], x->bits / 8u);
    }
}

/* ---- products -------------------------------------------------------------------- */

static double
product(const Wmma *s, uint64_t x, uint64_t y)
{
    return s->a.type == FMT_B1 ? (double)(s->is_and ? x & y : x ^ y)
                               : mma_number(s->a.type, x) * mma_number(s->b.type, y);
}

static uint64_t
sum_of_products(const Wmma *s, const uint64_t *a, const uint64_t *b, uint64_t c)
{
    double with = mma_number(s->c.type, c), sum = 0;
    for (int k = 0; k < s->k; k++, a++, b += s->b.columns)
        if (s->a.type == FMT_F64)
            with = fma(f64_of_bits(*a), f64_of_bits(*b), with);
        else
            sum += product(s, *a, *b);
    return mma_result(s->d.type, s->satfinite,
                      s->a.type == FMT_F64 ? with : sum + with);
}

static void
wmma_mma(Lanes *w, const Ins *i, uint32_t m)
{
    const Wmma *s = i->more;
    uint64_t a[MOST_ELEMENTS], b[MOST_ELEMENTS], c[MOST_ELEMENTS];
    const Reg *in = i->in;
    gather_elements(w, &s->a, in, a);
    gather_elements(w, &s->b, in + s->a.n_regs, b);
    gather_elements(w, &s->c, in + s->a.n_regs + s->b.n_regs, c);
    for (int e = 0; e < n_elements(&s->d); e++) {
        const uint64_t *row = a + e / s->d.columns * s->k,
                       *column = b + e % s->d.columns;
        c[e] = sum_of_products(s, row, column, c[e]);
    }
    lanes_spread_undef(w, i, m);
    scatter_elements(w, &s->d, i->out, c);
}

/* ---- rows ------------------------------------------------------------------------ */

static const Shape *
dec_shape(Dec *d)
{
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (dec_has(d, shapes[k].name))
            return &shapes[k];
    dec_fail(d, "no such shape");
}

static bool
dec_by_columns(Dec *d)
{
    for (int k = 0; k < d->n_mods; k++)
        if (!d->used[k] && (!strcmp(d->mod[k], "row") || !strcmp(d->mod[k], "col"))) {
            d->used[k] = true;
            return d->mod[k][0] == 'c';
        }
    dec_fail(d, ".row or .col is missing");
}

/* Matrix `which` of a shape, once it is known that there is such. f16 has all of its eight
 * registers for a factor, whatever the shape. */
static Matrix
matrix_of(Dec *d, const Shape *s, int which, FloatType t, bool by_columns)
{
    static const uint8_t since[FMT_N_TYPES] = {
        [FMT_F16] = 70, [FMT_F32] = 70, [FMT_BF16] = 80, [FMT_TF32] = 80,
        [FMT_F64] = 80, [FMT_S32] = 72, [FMT_S8] = 72,   [FMT_U8] = 72,
        [FMT_S4] = 75,  [FMT_U4] = 75,  [FMT_B1] = 75};
    bool is_small = s->of & (NIBBLES | OF(B1));
    uint32_t sum = s->of & OF(F64)    ? OF(F64)
                   : s->of & OF(F16)  ? OF(F16) | OF(F32) | OF(S32)
                   : s->of & OF(TF32) ? OF(F32)
                                      : OF(S32);
    dec_refuse(d, t == FMT_N_TYPES || !((which == MATRIX_C ? sum : s->of) >> t & 1));
    dec_since(d, since[t]);
    if (is_small && which != MATRIX_C && by_columns != (which == MATRIX_B))
        dec_fail(d, "these are .row and .col alone");
    Matrix x = {.type = t, .bits = fmt_bits(t), .by_columns = by_columns};
    x.rows = which == MATRIX_B ? s->k : s->m;
    x.columns = which == MATRIX_A ? s->k : s->n;
    x.n_regs = t == FMT_F16 && which != MATRIX_C
                   ? MOST_REGS
                   : n_elements(&x) * x.bits / (8 * wide(t) * LANES);
    x.n_regs = x.n_regs ? x.n_regs : 1;
    return x;
}

static void
dec_matrix(Dec *d, int k, const Matrix *x, bool is_out)
{
    dec_vector(d, k, x->n_regs, wide(x->type), is_out ? dec_out_opd : dec_in_opd);
}

/* flags: a stride is there, which is in[1]. */
static void
dec_memory(Dec *d, bool is_store)
{
    static const char *const names[] = {"a", "b", "c", NULL};
    Ins *i = d->ins;
    int which = is_store ? (dec_has(d, "d") ? MATRIX_C : -1) : dec_one(d, names);
    const Shape *s = dec_shape(d);
    bool by_columns = dec_by_columns(d);
    i->space = (uint8_t)dec_space(d);
    dec_refuse(d, which < 0 || i->space > SPACE_CLUSTER);
    Matrix *x = dec_more(d, sizeof *x);
    *x = matrix_of(d, s, which, dec_format(d), by_columns);
    int at = !is_store;
    if (d->n_opds != 2 && d->n_opds != 3)
        dec_fail(d, "%d operands", d->n_opds);
    dec_address(d, at);
    i->flags = d->n_opds == 3;
    if (i->flags)
        dec_in(d, 2, 4);
    dec_matrix(d, !at, x, !is_store);
    i->run = is_store ? wmma_store : wmma_load;
}

static void
dec_product(Dec *d)
{
    Wmma *s = dec_more(d, sizeof *s);
    bool is_xor = dec_has(d, "xor");
    s->is_and = dec_has(d, "and");
    bool popc = dec_has(d, "popc"), a_columns = dec_by_columns(d),
         b_columns = dec_by_columns(d);
    const Shape *shape = dec_shape(d);
    s->satfinite = dec_has(d, "satfinite");
    dec_has(d, "rn");
    FloatType type[4];
    int n = 0;
    while (n < 4 && (type[n] = dec_format(d)) != FMT_N_TYPES)
        n++;
    dec_refuse(d, n != 2 && n != 4);
    FloatType of_d = type[0], of_c = type[n - 1]; /* f16 as factors are not named */
    FloatType of_a = n == 2 ? FMT_F16 : type[1], of_b = n == 2 ? FMT_F16 : type[2];
    dec_refuse(d, of_a != of_b || (n == 4 && of_a == FMT_F16));
    s->a = matrix_of(d, shape, MATRIX_A, of_a, a_columns);
    s->b = matrix_of(d, shape, MATRIX_B, of_b, b_columns);
    s->c = matrix_of(d, shape, MATRIX_C, of_c, false);
    s->d = matrix_of(d, shape, MATRIX_C, of_d, false);
    s->k = shape->k;
    bool is_whole = fmt_is_integer(of_a), is_b1 = of_a == FMT_B1;
    dec_refuse(d, is_whole != (of_c == FMT_S32) || is_whole != (of_d == FMT_S32) ||
                      (of_a != FMT_F16 && of_c != of_d) ||
                      (s->satfinite && (!is_whole || is_b1)) ||
                      (of_a == FMT_BF16 && of_c != FMT_F32) || is_b1 != popc ||
                      popc != (is_xor || s->is_and) || (is_xor && s->is_and));
    if (s->is_and && dec_sm(d) < 80)
        dec_fail(d, "from sm_80 on");
    dec_operands(d, 4);
    dec_matrix(d, 0, &s->d, true);
    dec_matrix(d, 1, &s->a, false);
    dec_matrix(d, 2, &s->b, false);
    dec_matrix(d, 3, &s->c, false);
    d->ins->run = wmma_mma;
}

static void
dec_wmma(Dec *d)
{
    bool load = dec_has(d, "load"), store = !load && dec_has(d, "store"),
         mma = !load && !store && dec_has(d, "mma");
    dec_refuse(d, !dec_has(d, "sync") || !dec_has(d, "aligned"));
    d->ins->is_aligned = true;
    d->ins->undef = UNDEF_TRACKED;
    if (load || store)
        dec_memory(d, store);
    else if (mma)
        dec_product(d);
    else
        dec_fail(d, "no such form");
}

const OpRow wmma_ops[] = {{"wmma", dec_wmma}, {NULL, NULL}};
