/* wgmma: products of a warpgroup, which run while its warps go on.
 *
 * A warp has its 16 rows of the 64, so it computes them alone. It does so as late as it may:
 * when the group is waited for, A in registers and both matrices in shared memory are read as
 * they are then, and the sums are written. Until then the accumulators are undefined, so who
 * reads them too early, or overwrites what is still read, gets a wrong result or an error:
 *
 *     wgmma.mma_async d   d is undefined       kept: the instruction, its descriptors
 *     wgmma.commit_group                       .. and the group it belongs to
 *     wgmma.wait_group n  d = a * b + d        of all groups but the newest n
 *
 * Matrices in shared memory are found by their descriptors alone. The forms are the book's
 * table, written down and not derived, since the compiler's own (layout/wgmma.c) are checked
 * against them. T is the elements of 16 bytes, W the chunks of a swizzled line (8, 4, 2; 1
 * without a swizzle), all in 16-byte chunks; then the address's bits 4-6 are XORed with bits
 * 7-9, as many of them as W has.
 *
 *     K-major,  swizzled   ((8, m), (T, 2))     ((W, SBO), (elem, 1))
 *     K-major,  none       ((8, m), (T, 2))     ((1, SBO), (elem, LBO))
 *     MN-major, swizzled   ((T, W, m), (8, k))  ((elem, 1, LBO), (W, SBO))
 *     MN-major, none       ((T, 1, m), (8, k))  ((elem, -, SBO), (1, LBO))
 *
 * A product is the warpgroup's: it is over for all four warps or for none, so a wait lets those
 * behind begin their part first, and one thread may tell others that a slot is free. What it
 * reads of shared memory is there when it begins, and stays until somebody has waited.
 *
 * Registers that anything else has read or written are the product's behind a wgmma.fence.
 *
 * Products are exact in double and a sum is rounded once. The hardware keeps fewer bits: some
 * 14 of a sum of float8. Sums of integers are modulo 2^32, or clamped once with .satfinite.
 * Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"; CUTLASS's canonical
 * layouts.
 */
#include "ptx/engine.h"
#include "ptx/lanes.h"
#include "ptx/tensor.h"

enum {
    CHUNK = 16, /* bytes */
    ROWS = 16,  /* of a warp */
    MAX_N = 256,
    MAX_K = 32,
    A_REGS = 4,
    MAX_OPEN = 256,
    GROUP = 4 /* warps */
};

typedef struct Form {
    int n, k;
    FloatType a, b, d;
    int elem; /* bytes of A's and B's */
    bool is_a_regs, trans_a, trans_b, neg_a, neg_b, satfinite;
} Form;

/* One that has begun. */
struct OpenMma {
    const Ins *i;
    int64_t group;
    uint64_t a, b;                /* descriptors */
    bool adds;                    /* scale-d */
    uint64_t regs[A_REGS][LANES]; /* A when it began */
};

/* ---- descriptors ----------------------------------------------------------------- */

typedef struct Descriptor {
    uint64_t start, lbo, sbo; /* bytes */
    int w;                    /* chunks of a line: 8, 4, 2, 1 */
} Descriptor;

static Descriptor
descriptor(Lanes *w, const Ins *i, uint64_t bits)
{
    static const uint8_t chunks[] = {1, 8, 4, 2};
    Descriptor d = {.start = (bits & 0x3fff) * CHUNK,
                    .lbo = (bits >> 16 & 0x3fff) * CHUNK,
                    .sbo = (bits >> 32 & 0x3fff) * CHUNK,
                    .w = chunks[bits >> 62]};
    if (bits >> 49 & 7)
        lanes_fault(w, i, 0, "a descriptor with a base offset is not simulated");
    if (d.start & (uint64_t)(128 * d.w - 128)) /* its swizzle begins in between */
        lanes_fault(w, i, 0,
                    "a matrix of this swizzle begins at a multiple of %d bytes",
                    128 * d.w);
    return d;
}

/* The address of the chunk that has element (mn, k) as its first. */
static uint64_t
chunk_address(const Descriptor *d, const Form *f, bool is_mn_major, int mn, int k)
{
    int t = CHUNK / f->elem, w = d->w;
    uint64_t at = d->start;
    if (!is_mn_major)
        at += (uint64_t)(mn % 8 * w * CHUNK) + (uint64_t)(mn / 8) * d->sbo +
              (uint64_t)(k / t) * (w > 1 ? CHUNK : d->lbo);
    else if (w > 1)
        at += (uint64_t)(mn / t % w * CHUNK) + (uint64_t)(mn / t / w) * d->lbo +
              (uint64_t)(k % 8 * w * CHUNK) + (uint64_t)(k / 8) * d->sbo;
    else
        at += (uint64_t)(mn / t) * d->sbo + (uint64_t)(k % 8 * CHUNK) +
              (uint64_t)(k / 8) * d->lbo;
    return at ^ ((at >> 7 & (uint64_t)(w - 1)) << 4);
}

/* n numbers that lie side by side. */
static void
read_numbers(FloatType t, const uint8_t *p, int n, double *to)
{
    uint16_t half[CHUNK / 2];
    size_t size = (size_t)fmt_bits(t) / 8;
    for (int e = 0; e < n && t != FMT_F16; e++) {
        uint32_t bits = 0;
        memcpy(&bits, p + (size_t)e * size, size);
        to[e] = mma_number(t, bits);
    }
    if (t == FMT_F16)
        memcpy(half, p, (size_t)n * size);
    NO_HAZARD for (int e = 0; e < n && t == FMT_F16; e++) to[e] = f16_of_bits(half[e]);
}

/* A chunk of shared memory, all of which has been written. */
static const uint8_t *
async_bytes(Lanes *w, const Ins *i, uint64_t at)
{
    w->how = HOW_ASYNC;
    const uint8_t *p = w->owner->bytes(w, i, 0, SPACE_SHARED, at, CHUNK, false),
                  *state = lanes_states(w, SPACE_SHARED, at);
    w->how = HOW_PLAIN;
    for (int b = 0; state && !is_defined(state, CHUNK) && b < CHUNK; b++)
        if (state[b] != BYTE_DEFINED)
            lanes_fault(w, i, 0, "reads %#llx, where nobody wrote",
                        (unsigned long long)at + (unsigned)b);
    return p;
}

/* n rows (or columns) from `first` on of a matrix in shared memory: element (mn, k) goes to
 * out[k * by_k + mn * by_mn]. Eight chunks of successive lines are a core matrix, which the
 * hardware reads at a time: in this order they are counted as one phase. */
static void
read_matrix(Lanes *w, const Ins *i, const Form *f, FloatType type, uint64_t bits,
            bool is_mn_major, int first, int n, double *out, int by_mn, int by_k)
{
    Descriptor d = descriptor(w, i, bits);
    int t = CHUNK / f->elem, n_lines = is_mn_major ? f->k : n,
        n_rest = is_mn_major ? n : f->k;
    uint64_t address[LANES];
    int lane = 0;
    for (int rest = 0; rest < n_rest; rest += t)
        for (int line = 0; line < n_lines; line++) {
            int mn = is_mn_major ? rest : line, k = is_mn_major ? line : rest;
            uint64_t at = address[lane] = chunk_address(&d, f, is_mn_major, first + mn,
                                                        k);
            const uint8_t *p = async_bytes(w, i, at);
            double *to = out + mn * by_mn + k * by_k;
            double x[CHUNK];
            read_numbers(type, p, t, x);
            for (int e = 0; e < t; e++)
                to[e * (is_mn_major ? by_mn : by_k)] = x[e];
            if (++lane == LANES) {
                lanes_access(w, i, (uint32_t)FULL, SPACE_SHARED, address, CHUNK, false);
                lane = 0;
            }
        }
    if (lane)
        lanes_access(w, i, (1u << lane) - 1, SPACE_SHARED, address, CHUNK, false);
}

/* ---- products -------------------------------------------------------------------- */

/* Register r of A, lane l: rows g and g + 8, then the second half of k. */
static void
read_registers(const Form *f, const uint64_t (*regs)[LANES], double (*out)[MAX_K])
{
    int each = 4 / f->elem;
    double x[LANES];
    for (int r = 0; r < A_REGS; r++)
        for (int e = 0; e < each; e++) {
            double *to = &out[8 * (r & 1)][e + f->k / 2 * (r >> 1)];
            mma_numbers(f->a, regs[r], e * 8 * f->elem, x);
            for (int l = 0; l < LANES; l++)
                to[l / 4 * MAX_K + l % 4 * each] = x[l];
        }
}

static void
multiply(Lanes *w, const struct OpenMma *p)
{
    const Ins *i = p->i;
    const Form *f = i->more;
    double a[ROWS][MAX_K], b[MAX_K][MAX_N], sum[ROWS][MAX_N];
    int rows = warp_of(w)->id % GROUP * ROWS;
    if (f->is_a_regs)
        read_registers(f, p->regs, a);
    else
        read_matrix(w, i, f, f->a, p->a, f->trans_a, rows, ROWS, *a, MAX_K, 1);
    read_matrix(w, i, f, f->b, p->b, f->trans_b, 0, f->n, *b, 1, MAX_N);
    mma_sums(*a, MAX_K, *b, MAX_N, *sum, MAX_N, ROWS, f->n, f->k);
    double sign = f->neg_a == f->neg_b ? 1 : -1;
    int bits = fmt_bits(f->d), each = 32 / bits;
    for (int r = 0; r < i->n_out; r++) {
        uint64_t d[LANES], sums[LANES] = {0};
        double x[LANES];
        lanes_get(w, i->out[r], d);
        for (int at = r * each; at < (r + 1) * each; at++) {
            int shift = at % each * bits;
            const double *from = &sum[8 * (at >> 1 & 1)][at / 4 * 8 + (at & 1)];
            if (p->adds)
                mma_numbers(f->d, d, shift, x);
            for (int l = 0; l < LANES; l++) {
                double y = sign * from[l / 4 * MAX_N + l % 4 * 2];
                x[l] = p->adds ? y + x[l] : y;
            }
            mma_results(f->d, f->satfinite, x, shift, sums);
        }
        lanes_put(w, i->out[r], (uint32_t)FULL, sums);
    }
}

/* Is register r an accumulator of one that is open? */
static bool
is_open(const Warp *w, Reg r)
{
    for (int k = 0; k < w->n_mma; k++) {
        const Ins *i = w->mma[k].i;
        for (int e = 0; e < i->n_out; e++)
            if (i->out[e].at == r.at)
                return true;
    }
    return false;
}

/* What all lanes have in a register. */
static uint64_t
same_in_all(Lanes *w, const Ins *i, Reg r, const char *what)
{
    uint64_t v[LANES];
    lanes_get(w, r, v);
    if (w->undef[r.id])
        lanes_fault(w, i, 0, "the %s was never written", what);
    return lanes_same(w, i, v, what);
}

static void
set_undefined(Lanes *w, const Ins *i, uint32_t lanes)
{
    for (int r = 0; r < i->n_out; r++)
        lanes_set_undef(w, i->out[r], (uint32_t)FULL, lanes);
}

static void
check_untouched(Lanes *w, const Ins *i)
{
    for (int r = 0; r < i->n_out; r++)
        if (w->undef[i->out[r].id] != (uint32_t)FULL)
            lanes_fault(w, i, 0, "an accumulator was written before it was waited for");
}

static void
check_kept(Lanes *w, const struct OpenMma *p)
{
    const Form *f = p->i->more;
    check_untouched(w, p->i);
    for (int r = 0; f->is_a_regs && r < A_REGS; r++) {
        uint64_t now[LANES];
        lanes_get(w, p->i->in[r], now);
        if (memcmp(now, p->regs[r], sizeof now) != 0)
            lanes_fault(w, p->i, 0, "its A was overwritten before it was waited for");
    }
}

static Warp *
first_of_group(const Warp *w)
{
    return &w->cta->warps[w->id / GROUP * GROUP];
}

/* Its bytes are read when it is waited for; that they are there, in order and fenced, must hold
 * when it begins. */
static void
check_there(Warp *w, const Ins *i, const Form *f, uint64_t bits, bool is_mn_major,
            int first, int n)
{
    Descriptor d = descriptor(&w->lanes, i, bits);
    int t = CHUNK / f->elem;
    for (int mn = 0; mn < n; mn += is_mn_major ? t : 1)
        for (int k = 0; k < f->k; k += is_mn_major ? 1 : t) {
            uint64_t at = chunk_address(&d, f, is_mn_major, first + mn, k);
            async_bytes(&w->lanes, i, at);
            warp_async(&w->lanes, i, 0, SPACE_SHARED, at, CHUNK, false,
                       first_of_group(w));
        }
}

static void
check_registers(Warp *w, const Ins *i, const Reg *r, int n, const char *what)
{
    for (int k = 0; k < n; k++)
        if (w->touched[r[k].id] == w->n_fences)
            lanes_fault(&w->lanes, i, 0,
                        "no wgmma.fence stands between it and others that use %s",
                        what);
}

bool
wgmma_is_asked(const Func *f)
{
    for (int k = 0; k < f->n_code; k++)
        if (f->code[k].is_wgmma)
            return true;
    return false;
}

void
wgmma_touch(Warp *w, const Ins *i)
{
    for (int k = 0; k < i->n_in; k++)
        w->touched[i->in[k].id] = w->n_fences;
    for (int k = 0; k < i->n_out; k++)
        w->touched[i->out[k].id] = w->n_fences;
}

static void
mma_async(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    const Form *f = i->more;
    int n_a = f->is_a_regs ? A_REGS : 1;
    (void)m;
    if (w->n_mma == MAX_OPEN)
        lanes_fault(lanes, i, 0, "more than %d products are open", MAX_OPEN);
    if (!w->mma && !(w->mma = malloc(MAX_OPEN * sizeof *w->mma)))
        lanes_fault(lanes, i, 0, "out of memory");
    struct OpenMma *p = &w->mma[w->n_mma];
    *p = (struct OpenMma){.i = i, .group = w->mma_groups};
    for (int r = 0; f->is_a_regs && r < A_REGS; r++) {
        if (lanes->undef[i->in[r].id])
            lanes_fault(lanes, i, 0, "a register of A was never written");
        lanes_get(lanes, i->in[r], p->regs[r]);
    }
    if (!f->is_a_regs)
        p->a = same_in_all(lanes, i, i->in[0], "descriptor");
    p->b = same_in_all(lanes, i, i->in[n_a], "descriptor");
    p->adds = same_in_all(lanes, i, i->in[n_a + 1], "scale-d") != 0;
    for (int r = 0; r < i->n_out; r++) {
        Reg d = i->out[r];
        if (p->adds && lanes->undef[d.id] && !is_open(w, d))
            lanes_fault(lanes, i, __builtin_ctz(lanes->undef[d.id]),
                        "adds to a register that was never written");
    }
    check_registers(w, i, i->out, i->n_out, "its accumulators");
    if (f->is_a_regs)
        check_registers(w, i, i->in, A_REGS, "its A");
    else
        check_there(w, i, f, p->a, f->trans_a, w->id % GROUP * ROWS, ROWS);
    check_there(w, i, f, p->b, f->trans_b, 0, f->n);
    set_undefined(lanes, i, (uint32_t)FULL);
    w->n_mma++;
}

static void
fence(Lanes *lanes, const Ins *i, uint32_t m)
{
    (void)i;
    (void)m;
    warp_of(lanes)->n_fences++;
}

static void
commit_group(Lanes *lanes, const Ins *i, uint32_t m)
{
    (void)i;
    (void)m;
    warp_of(lanes)->mma_groups++;
}

static void wait_group(Lanes *lanes, const Ins *i, uint32_t m);

bool
wgmma_must_wait(const Warp *w, const Ins *i)
{
    const Cta *c = w->cta;
    int first = w->id / GROUP * GROUP;
    for (int k = first; i->run == wait_group && k < first + GROUP && k < c->n_warps;
         k++)
        if (c->warps[k].mma_groups < w->mma_groups - i->imm)
            return true;
    return false;
}

/* Computes what a warp has begun of the first so many groups; to the warp itself it is undefined
 * until it has waited. */
static void
finish(Warp *w, int64_t groups)
{
    for (; w->n_done < w->n_mma && w->mma[w->n_done].group < groups; w->n_done++) {
        check_untouched(&w->lanes, w->mma[w->n_done].i);
        multiply(&w->lanes, &w->mma[w->n_done]);
    }
}

static void
wait_group(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes), *first = first_of_group(w);
    int64_t groups = w->mma_groups - i->imm;
    for (int k = 0; k < GROUP && first->id + k < w->cta->n_warps; k++)
        finish(first + k, groups);
    order_wait(w, m, first, groups);
    int n = 0; /* that end: groups end in order */
    while (n < w->n_mma && w->mma[n].group < groups)
        check_kept(lanes, &w->mma[n++]);
    for (int k = 0; k < n; k++)
        set_undefined(lanes, w->mma[k].i, 0);
    w->n_mma -= n;
    w->n_done -= n;
    if (n && w->n_mma) /* before the first product there is no array */
        memmove(w->mma, w->mma + n, (size_t)w->n_mma * sizeof *w->mma);
    for (int k = 0; k < w->n_mma; k++) /* others may add to the same */
        set_undefined(lanes, w->mma[k].i, (uint32_t)FULL);
}

/* ---- rows ------------------------------------------------------------------------ */

/* A literal that is one of two: is it the second? */
static bool
dec_choice(Dec *d, int k, int first, int second)
{
    int64_t v;
    if (!dec_literal(d, k, &v) || (v != first && v != second))
        dec_fail(d, "operand %d is neither %d nor %d", k + 1, first, second);
    return v == second;
}

/* What may be multiplied: A and B are of one row's types, D is of its sums. */
typedef struct Kind {
    FloatType of[2], sums[2]; /* the same twice: there is one */
    bool may_trans;
} Kind;

static const Kind kinds[] = {
    {{FMT_F16, FMT_F16}, {FMT_F32, FMT_F16}, true},
    {{FMT_BF16, FMT_BF16}, {FMT_F32, FMT_F32}, true},
    {{FMT_TF32, FMT_TF32}, {FMT_F32, FMT_F32}, false},
    {{FMT_E4M3, FMT_E5M2}, {FMT_F32, FMT_F16}, false},
    {{FMT_S8, FMT_U8}, {FMT_S32, FMT_S32}, false},
};

static const Kind *
find_kind(const Form *f)
{
    for (size_t r = 0; r < sizeof kinds / sizeof *kinds; r++) {
        const FloatType *of = kinds[r].of, *sums = kinds[r].sums;
        if ((f->a == of[0] || f->a == of[1]) && (f->b == of[0] || f->b == of[1]) &&
            (f->d == sums[0] || f->d == sums[1]))
            return &kinds[r];
    }
    return NULL;
}

static void
dec_shape(Dec *d, Form *f)
{
    char shape[24];
    for (int n = 8; n <= MAX_N && !f->n; n += 8)
        for (int k = 8; k <= MAX_K; k += 8) {
            snprintf(shape, sizeof shape, "m64n%dk%d", n, k);
            if (dec_has(d, shape))
                f->n = n, f->k = k;
        }
}

static void
dec_mma_async(Dec *d)
{
    Form *f = dec_more(d, sizeof *f);
    dec_shape(d, f);
    f->d = dec_format(d), f->a = dec_format(d), f->b = dec_format(d);
    const Kind *kind = find_kind(f);
    if (!f->n || !kind)
        dec_unknown(d, "this product is not simulated");
    bool is_integer = f->d == FMT_S32;
    f->elem = fmt_bits(f->a) / 8;
    f->satfinite = is_integer && dec_has(d, "satfinite");
    dec_refuse(d, f->k * f->elem != 2 * CHUNK);
    if (is_integer && f->n % 16 && f->n != 8 && f->n != 24)
        dec_fail(d, "a product of integers has 8, 24 or a multiple of 16 columns");
    f->is_a_regs = d->opd[1].kind == OPD_VEC;
    int scales = is_integer ? 0 : 2, trans = !kind->may_trans ? 0
                                             : f->is_a_regs   ? 1
                                                              : 2;
    dec_operands(d, 4 + scales + trans);
    dec_vector(d, 0, f->n * fmt_bits(f->d) / 64, 4, dec_out_opd);
    if (f->is_a_regs)
        dec_vector(d, 1, A_REGS, 4, dec_in_opd);
    else
        dec_in(d, 1, 8);
    dec_in(d, 2, 8);
    dec_in(d, 3, 1);
    if (scales) {
        f->neg_a = dec_choice(d, 4, 1, -1);
        f->neg_b = dec_choice(d, 5, 1, -1);
    }
    if (trans)
        f->trans_b = dec_choice(d, 5 + trans, 0, 1);
    if (trans == 2)
        f->trans_a = dec_choice(d, 6, 0, 1);
    d->ins->run = mma_async;
}

static void
dec_wgmma(Dec *d)
{
    bool is_mma = dec_has(d, "mma_async"), is_fence = dec_has(d, "fence"),
         is_commit = dec_has(d, "commit_group"), is_wait = dec_has(d, "wait_group");
    Ins *i = d->ins;
    dec_refuse(d, !dec_has(d, "sync") || !dec_has(d, "aligned") || dec_sm(d) != 90);
    i->is_aligned = i->is_wgmma = true;
    i->undef = UNDEF_TRACKED;
    if (is_mma)
        dec_mma_async(d);
    else if (is_commit && !d->n_opds)
        i->run = commit_group;
    else if (is_wait && d->n_opds == 1 && dec_literal(d, 0, &i->imm) && i->imm >= 0)
        i->run = wait_group;
    else if (is_fence && !d->n_opds)
        i->run = fence;
    else
        dec_fail(d, "no such form");
}

const OpRow wgmma_ops[] = {{"wgmma", dec_wgmma}, {NULL, NULL}};
