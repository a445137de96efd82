/* layout: F2 algebra over all small matrices, and each law of the algebra against a
 * walk over every (register, lane, warp). */
#include "layout/mma.h"
#include "layouts.h"

/* ---- f2 -------------------------------------------------------------------------- */

/* One n-column matrix of `bits` rows against enumeration of its image. */
static void
check_matrix(Test *t, const Col *m, int n, int bits)
{
    bool image[16] = {false};
    int size = 0, rank = 0;
    for (Col x = 0; x < 1u << n; x++) {
        Col y = 0;
        for (int i = 0; i < n; i++)
            y ^= x >> i & 1 ? m[i] : 0;
        CHECK(t, y == f2_mul(m, n, x));
        size += !image[y];
        image[y] = true;
    }
    while (1 << rank < size)
        rank++;
    CHECK(t, f2_rank(m, n) == rank);

    Col sol[16], inv[4], unit[4];
    for (Col y = 0; y < 1u << bits; y++) {
        CHECK(t, f2_solve(m, n, y, &sol[y]) == image[y]);
        CHECK(t, !image[y] || f2_mul(m, n, sol[y]) == y);
    }
    for (Col y = 0; y < 1u << bits; y++) /* the solution is linear */
        for (Col z = 0; z < y; z++)
            CHECK(t, !image[y] || !image[z] || (sol[y] ^ sol[z]) == sol[y ^ z]);
    for (int i = 0; i < n; i++) /* dependent columns stay free */
        if (f2_rank(m, i) == f2_rank(m, i + 1))
            for (Col y = 0; y < 1u << bits; y++)
                CHECK(t, !image[y] || !(sol[y] >> i & 1));

    CHECK(t, f2_invert(m, n, bits, inv) == (rank == bits));
    for (int j = 0; rank == bits && j < bits; j++)
        CHECK(t, f2_mul(m, n, inv[j]) == (Col)1 << j);

    Col all[8];
    memcpy(all, m, (size_t)n * sizeof(Col));
    int k = f2_complement(m, n, bits, unit);
    memcpy(all + n, unit, (size_t)k * sizeof(Col));
    CHECK(t, k == bits - rank && f2_rank(all, n + k) == bits);
    for (int i = 0; i < k; i++)
        CHECK(t, unit[i] && !(unit[i] & (unit[i] - 1)));

    int half = n / 2, rest = f2_extend(m, half, m + half, n - half, unit);
    memcpy(all + half, unit, (size_t)rest * sizeof(Col));
    CHECK(t, rest == rank - f2_rank(m, half) && f2_rank(all, half + rest) == rank);
}

void
test_f2(Test *t)
{
    for (int bits = 0; bits <= 3; bits++)
        for (int n = 0; n <= 4; n++)
            for (uint32_t code = 0; code < 1u << (bits * n); code++) {
                Col m[4];
                for (int i = 0; i < n; i++)
                    m[i] = code >> (bits * i) & ((1u << bits) - 1);
                check_matrix(t, m, n, bits);
            }
    for (int k = 0; k < 2000; k++) {
        Col m[4];
        int n = test_below(t, 5);
        for (int i = 0; i < n; i++)
            m[i] = (Col)test_below(t, 16);
        check_matrix(t, m, n, 4);
    }
}

/* ---- laws ------------------------------------------------------------------------ */

static void
coords(const Layout *l, Col v, Col *at)
{
    for (int d = l->rank - 1; d >= 0; d--) {
        at[d] = v & ((1u << l->log2_shape[d]) - 1);
        v >>= l->log2_shape[d];
    }
}

/* What an operation does to (register, coordinates): got[] of the result's element
 * against want[] from the operand's. */
typedef enum LawKind { EXPAND, SLICE, PERMUTE, BROADCAST, JOIN } LawKind;
typedef struct Law {
    LawKind kind;
    const Layout *from, *to;
    const int *perm; /* permute */
    int axis;        /* expand, slice */
} Law;

static bool
holds(const Law *w, uint32_t r, const Col *got, const Col *want)
{
    const Layout *from = w->from, *to = w->to;
    bool ok = true;
    switch (w->kind) {
    case EXPAND:
        ok = got[w->axis] == 0;
        for (int d = 0; d < from->rank; d++)
            ok &= got[d + (d >= w->axis)] == want[d];
        break;
    case SLICE:
        for (int d = 0; d < to->rank; d++)
            ok &= got[d] == want[d + (d >= w->axis)];
        break;
    case PERMUTE:
        for (int d = 0; d < to->rank; d++)
            ok &= got[d] == want[w->perm[d]];
        break;
    case BROADCAST:
        for (int d = 0; d < to->rank; d++)
            ok &= from->log2_shape[d] != to->log2_shape[d] || got[d] == want[d];
        break;
    case JOIN: /* register 2r + i is half i of register r */
        ok = got[to->rank - 1] == (r & 1);
        for (int d = 0; d < from->rank; d++)
            ok &= got[d] == want[d];
        break;
    }
    return ok;
}

static void
check_law(Test *t, const Law *w)
{
    const Layout *a = w->from, *b = w->to;
    bool join = w->kind == JOIN, ok = true;
    ok &= b->n[IN_LANE] == a->n[IN_LANE] && b->n[IN_WARP] == a->n[IN_WARP];
    for (uint32_t r = 0; r < 1u << b->n[IN_REG]; r++)
        for (uint32_t l = 0; l < 32; l++)
            for (uint32_t x = 0; x < 1u << b->n[IN_WARP]; x++) {
                Col got[MAX_RANK], want[MAX_RANK];
                coords(b, layout_at(b, r, l, x, 0), got);
                coords(a, layout_at(a, join ? r >> 1 : r, l, x, 0), want);
                ok &= holds(w, r, got, want);
            }
    CHECKF(t, ok, "law %d", w->kind);
    CHECKF(t, layout_is_onto(b), "law %d: the result is not onto", w->kind);
}

/* Onto and injective by counting. */
static void
check_counts(Test *t, const Layout *l)
{
    static int seen[1 << 13];
    int bits = layout_bits(l), most = 0, least = 1 << 30;
    memset(seen, 0, sizeof seen);
    for (uint32_t r = 0; r < 1u << l->n[IN_REG]; r++)
        for (uint32_t i = 0; i < 1u << l->n[IN_LANE]; i++)
            for (uint32_t w = 0; w < 1u << l->n[IN_WARP]; w++)
                seen[layout_at(l, r, i, w, 0)]++;
    for (int i = 0; i < 1 << bits; i++) {
        most = MAX(most, seen[i]);
        least = MIN(least, seen[i]);
    }
    CHECK(t, layout_is_onto(l) == (least > 0));
    CHECK(t, layout_is_injective(l) == (most == 1));
}

static void
check_runs(Test *t, const Layout *a)
{
    int reg_bit[4], n = layout_run(a, a->rank - 1, 4, reg_bit);
    for (int k = 0; k < 50; k++) {
        uint32_t r = (uint32_t)test_random(t) & ((1u << a->n[0]) - 1);
        uint32_t l = (uint32_t)test_below(t, 32), base = r, full = r;
        for (int i = 0; i < n; i++)
            base &= ~(1u << reg_bit[i]), full |= 1u << reg_bit[i];
        CHECK(t, layout_at(a, full, l, 0, 0) - layout_at(a, base, l, 0, 0) ==
                     (1u << n) - 1);
        CHECK(t, layout_at(a, base, l, 0, 0) % (1u << n) == 0);
    }
}

static void
check_laws(Comp *c, void *data)
{
    Test *t = data;
    uint8_t shape[MAX_RANK], grown[MAX_RANK], one[MAX_RANK] = {0};
    int rank, perm[MAX_RANK] = {0, 1, 2};
    random_shape(t, test_below(t, 9), &rank, shape);
    const Layout *l = random_layout(t, c, rank, shape, test_below(t, 4));
    CHECK(t, layout_intern(c, l) == l);
    CHECK(t, layout_reshape(c, l, rank, shape) == l);
    check_counts(t, l);
    check_runs(t, l);

    int axis = test_below(t, rank + 1);
    const Layout *e = layout_expand(c, l, axis);
    check_law(t, &(Law){.kind = EXPAND, .from = l, .to = e, .axis = axis});
    CHECK(t, layout_slice(c, e, axis) == l);
    memcpy(grown, e->log2_shape, MAX_RANK);
    grown[axis] = (uint8_t)test_below(t, 5);
    const Layout *wide = layout_broadcast(c, e, grown);
    check_law(t, &(Law){.kind = BROADCAST, .from = e, .to = wide});
    check_law(t, &(Law){.kind = SLICE,
                        .from = wide,
                        .to = layout_slice(c, wide, axis),
                        .axis = axis});

    int k = test_below(t, rank), kept = perm[0];
    perm[0] = perm[k], perm[k] = kept;
    check_law(t, &(Law){.kind = PERMUTE,
                        .from = l,
                        .to = layout_permute(c, l, perm),
                        .perm = perm});
    one[0] = (uint8_t)layout_bits(l);
    const Layout *flat = layout_reshape(c, l, 1, one);
    CHECK(t,
          layout_at(flat, 0, 21, 0, 0) == layout_at(l, 0, 21, 0, 0) && flat->rank == 1);

    const Layout *j = layout_join(c, l);
    check_law(t, &(Law){.kind = JOIN, .from = l, .to = j});
    CHECK(t, layout_split(c, j) == l && layout_split_bit(j) == 0);
    CHECK(t, l->log2_shape[rank - 1] == 1 || !layout_split(c, l));

    const Layout *d = layout_dedup_regs(c, l);
    CHECK(t, layout_is_onto(d));
    for (int i = 0; i < d->n[IN_REG]; i++)
        CHECK(t, d->basis[IN_REG][i] != 0);
    for (int a = 0; a < rank; a++)
        for (int i = 0; i < l->n[IN_LANE]; i++) {
            Col at[MAX_RANK];
            coords(l, layout_at(l, 0, 1u << i, 0, 0), at);
            CHECK(t, (layout_moves(l, IN_LANE, a) >> i & 1) == (at[a] != 0));
        }
    for (int i = 0; i < LANE_BITS + WARP_BITS; i++) {
        bool is_lane = i < LANE_BITS;
        bool is_there = is_lane ? i < l->n[IN_LANE] : i - LANE_BITS < l->n[IN_WARP];
        Col at = is_lane ? layout_at(l, 0, 1u << i, 0, 0)
                         : layout_at(l, 0, 0, 1u << (i - LANE_BITS), 0);
        CHECK(t, (layout_copies(l) >> i & 1) == (is_there && !at));
    }
}

void
test_layout_laws(Test *t)
{
    for (int k = 0; k < 300; k++) {
        RUN(t, check_laws, t);
    }
}

static void
check_text(Comp *c, void *data)
{
    Test *t = data;
    static const uint8_t s44[MAX_RANK] = {2, 2}, s21[MAX_RANK] = {2, 1};
    const char *s = " reg [4 1] lane [2 8 0 0 0]\n  warp[] , rest", *at = s;
    const Layout *l = layout_parse(c, 2, s44, &at);
    CHECK(t, l && !strcmp(at, " , rest"));
    CHECK_STR(t, layout_str(c->arena, l), "reg [4 1] lane [2 8 0 0 0] warp []");
    at = "reg [] lane [1] warp [2] block [4 8]";
    CHECK_STR(t, layout_str(c->arena, layout_parse(c, 2, s44, &at)),
              "reg [] lane [1] warp [2] block [4 8]");
    static const char *const wrong[] = {
        "",
        "reg",
        "reg [1 2",
        "reg [1] lane [16] warp []",
        "reg [1] lane [2]",
        "reg [1] lane [-1] warp []",
        "reg [1] lane [2 x] warp []",
        "reg [99999999999999999999] lane [] warp []",
        "lane [1] reg [2] warp []",
        "reg [] lane [1 1 1 1 1 1] warp []",
        "reg [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0] lane [] warp []",
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        at = wrong[i];
        CHECKF(t, !layout_parse(c, 2, s44, &at) && at == wrong[i], "%s", wrong[i]);
    }
    /* A split whose register bit is not the lowest, and one whose half is in a lane. */
    at = "reg [4 1] lane [2 0 0 0 0] warp []";
    l = layout_parse(c, 2, s21, &at);
    CHECK(t, layout_split_bit(l) == 1);
    CHECK_STR(t, layout_str(c->arena, layout_split(c, l)),
              "reg [2] lane [1 0 0 0 0] warp []");
    at = "reg [4] lane [2 1 0 0 0] warp []";
    CHECK(t, !layout_split(c, layout_parse(c, 2, s21, &at)));

    for (int k = 0; k < 300; k++) {
        uint8_t shape[MAX_RANK];
        int rank;
        random_shape(t, test_below(t, 13), &rank, shape);
        l = random_layout(t, c, rank, shape, test_below(t, 4));
        at = layout_str(c->arena, l);
        CHECK(t, layout_parse(c, rank, shape, &at) == l && !*at);
    }
}

void
test_layout_text(Test *t)
{
    RUN(t, check_text, t);
}

/* ---- catalog --------------------------------------------------------------------- */

/* Every instruction of mma.h, its words as the PTX ISA spells them, against the layouts of
 * a block of 16 x k, k x 8: those of 8 rows are the upper and the lower half of it. */
static void
check_instructions(Test *t, Comp *c)
{
    for (int kind = 0; kind < N_MMA; kind++) {
        const MmaShape *s = &mma_shape[kind];
        uint8_t log2_k = (uint8_t)__builtin_ctz((unsigned)s->k);
        const Layout *a = layout_mma_a(c, 2, (uint8_t[]){4, log2_k}, s->kw, 0, 0);
        const Layout *b = layout_mma_b(c, 2, (uint8_t[]){log2_k, 3}, s->kw, 0, 0);
        const Layout *d = layout_mma_acc(c, 2, (uint8_t[]){4, 3}, 0, 0);
        uint32_t halves = (uint32_t)s->m / 8, kw = (uint32_t)s->kw, k = (uint32_t)s->k;
        CHECK(t, s->a_regs * s->kw * 32 == s->m * s->k);
        CHECK(t, s->b_regs * s->kw * 32 == s->k * 8);
        CHECK(t, s->d_regs * 32 == s->m * 8);
        CHECK(t, s->a_regs <= MMA_MAX_WORDS && s->b_regs <= MMA_MAX_WORDS);
        Col r;
        for (uint32_t l = 0; l < 32; l++) {
            uint32_t g = l / 4, at = l % 4;
            for (uint32_t low = 0; low < 16; low += 8 * halves)
                for (uint32_t i = 0; i < (uint32_t)s->a_regs * kw; i++) {
                    uint32_t word = i / kw, row = low + g + 8 * (word % halves),
                             col = kw * at + 4 * kw * (word / halves) + i % kw;
                    Col base = layout_at(a, 0, l, 0, 0);
                    CHECK(t, f2_solve(a->basis[IN_REG], a->n[IN_REG],
                                      base ^ (row * k + col), &r));
                }
            for (uint32_t i = 0; i < (uint32_t)s->b_regs * kw; i++) {
                uint32_t row = kw * at + 4 * kw * (i / kw) + i % kw;
                CHECK(t, f2_solve(b->basis[IN_REG], b->n[IN_REG],
                                  layout_at(b, 0, l, 0, 0) ^ (row * 8 + g), &r));
            }
            for (uint32_t low = 0; low < 16; low += 8 * halves)
                for (uint32_t i = 0; i < (uint32_t)s->d_regs; i++)
                    CHECK(t, layout_at(d, i | (low ? 2 : 0), l, 0, 0) ==
                                 (low + g + 8 * (i / 2)) * 8 + 2 * at + i % 2);
        }
    }
    /* Smaller than an instruction: lanes hold copies, no element is missing. */
    for (uint8_t m = 0; m < 5; m++)
        for (uint8_t n = 0; n < 5; n++)
            for (int kw = 1; kw <= 4; kw *= 2) {
                const Layout *all[] = {layout_mma_acc(c, 2, (uint8_t[]){m, n}, 1, 1),
                                       layout_mma_a(c, 2, (uint8_t[]){m, n}, kw, 1, 1),
                                       layout_mma_b(c, 2, (uint8_t[]){m, n}, kw, 1, 1)};
                for (size_t i = 0; i < COUNT(all); i++)
                    CHECK(t, layout_is_onto(all[i]) && all[i]->n[IN_LANE] == 5 &&
                                 all[i]->n[IN_WARP] == 2);
            }
    CHECK_STR(t, layout_str(c->arena, layout_mma_acc(c, 2, (uint8_t[]){0, 2}, 0, 0)),
              "reg [1] lane [2 0 0 0 0] warp []");
    CHECK_STR(t, layout_str(c->arena, layout_mma_a(c, 2, (uint8_t[]){2, 2}, 2, 0, 0)),
              "reg [1] lane [2 0 4 8 0] warp []");
}

/* Fragments as the PTX ISA spells them: lane / 4 and lane % 4, element i. */
/* tf32 of which A's words are pairs along k: D lies as A does, and B has the element of each instruction's k
 * that A's word stands for. */
static void
check_pairs(Test *t, Comp *c)
{
    const uint8_t shape[] = {6, 5};
    CHECK(t, layout_wgmma_a(c, shape, 2, 2, 0) == layout_wgmma_acc(c, shape, 2, 0));
    const Layout *b = layout_swizzled(c, 2, (const uint8_t[]){5, 6}, 0, 2, 0, 0),
                 *p = layout_wgmma_paired(c, b);
    for (uint32_t r = 0; r < 1u << 11; r++) {
        Col flat = layout_at(b, r, 0, 0, 0), k = flat / 64, step = k % 8;
        Col paired = k - step + step % 4 * 2 + step / 4;
        CHECK(t, layout_at(p, r, 0, 0, 0) == paired * 64 + flat % 64);
    }
    CHECK(t, layout_wgmma_paired(c, layout_wgmma_paired(c, p)) == b);
}

/* wgmma's A and D with the rows of those who read A out of swizzled lines that run along M: each
 * element once, the same rows in both, two of them side by side for a thread, and no lane of an
 * access wants another's bank, which a slot that is read row by row does not give. */
static void
check_words(Test *t, Comp *c)
{
    static const uint32_t m_of_row[] = {2, 16, 4, 1, 8, 32, 64};
    for (int warps_m = 2; warps_m <= 3; warps_m++) {
        const Layout *plain = layout_wgmma_a(c, (const uint8_t[]){7, 5}, 1, warps_m, 0);
        const Layout *a = layout_wgmma_by_words(c, plain),
                     *d = layout_wgmma_by_words(
                         c, layout_wgmma_acc(c, (const uint8_t[]){7, 6}, warps_m, 0));
        CHECK(t, layout_is_injective(a) && layout_is_onto(a));
        CHECK(t, layout_is_injective(d) && layout_is_onto(d));
        for (uint32_t w = 0; w < 1u << warps_m; w++)
            for (uint32_t l = 0; l < 32; l++)
                for (uint32_t i = 0; i < 4; i++) {
                    uint32_t row = w * 16 + l / 4 + 8 * (i & 1), m = 0;
                    for (int k = 0; k < 7; k++)
                        m += (row >> k & 1) * m_of_row[k];
                    CHECK(t, layout_at(a, i, l, w, 0) == m * 32 + l % 4 + 4 * (i >> 1));
                    row = w * 16 + l / 4 + 8 * (i >> 1), m = 0;
                    for (int k = 0; k < 7; k++)
                        m += (row >> k & 1) * m_of_row[k];
                    CHECK(t, layout_at(d, i, l, w, 0) == m * 64 + l % 4 * 2 + (i & 1));
                }
        const Layout *slot = layout_swizzled(c, 2, (const uint8_t[]){7, 5}, 0, 2, 0, 0);
        Col offset_of[MAX_BITS];
        int bit[MAX_BITS];
        layout_offsets(slot, offset_of);
        CHECK(t, layout_offset_run(a, offset_of, 2, bit) == 1 && bit[0] == 0);
        CHECK(t, layout_bank_ways(a, offset_of, 1, 32) == 1);
        CHECK(t, layout_offset_run(plain, offset_of, 2, bit) == 0);
        CHECK(t, layout_bank_ways(plain, offset_of, 0, 32) == 2);
    }
}

static void
check_fragments(Comp *c, void *data)
{
    Test *t = data;
    enum { K = 32, N = 16 };
    const Layout *acc = layout_mma_acc(c, 2, (const uint8_t[]){4, 3}, 0, 0);
    for (uint32_t l = 0; l < 32; l++)
        for (uint32_t i = 0; i < 4; i++)
            CHECK(t, layout_at(acc, i, l, 0, 0) ==
                         (l / 4 + 8 * (i >= 2)) * 8 + l % 4 * 2 + (i & 1));
    for (uint32_t kw = 1; kw <= 4; kw *= 2) {
        uint32_t k = 8 * kw; /* of one instruction; the block is twice as deep */
        uint8_t ab[] = {4, (uint8_t)(4 + kw / 2)}, bb[] = {(uint8_t)(4 + kw / 2), 3};
        const Layout *a = layout_mma_a(c, 2, ab, (int)kw, 0, 0);
        const Layout *b = layout_mma_b(c, 2, bb, (int)kw, 0, 0);
        CHECK(t, a->n[IN_REG] == 3 + kw / 2 && b->n[IN_REG] == 2 + kw / 2);
        for (uint32_t l = 0; l < 32; l++) {
            for (uint32_t i = 0; i < 8 * kw; i++) { /* word i / kw of 4 per k step */
                uint32_t word = i / kw % 4, step = i / kw / 4;
                uint32_t row = l / 4 + 8 * (word & 1);
                uint32_t col = l % 4 * kw + i % kw + 4 * kw * (word >> 1) + step * k;
                CHECK(t, layout_at(a, i, l, 0, 0) == row * 2 * k + col);
            }
            for (uint32_t i = 0; i < 4 * kw; i++) { /* 2 words per k step */
                uint32_t word = i / kw % 2, step = i / kw / 2;
                uint32_t row = l % 4 * kw + i % kw + 4 * kw * word + step * k;
                CHECK(t, layout_at(b, i, l, 0, 0) == row * 8 + l / 4);
            }
        }
    }
    check_instructions(t, c);
    const Layout *wg = layout_wgmma_acc(c, (const uint8_t[]){7, 7}, 2, 1);
    CHECK(t, wg->n[IN_REG] == 6 && layout_is_injective(wg) && layout_is_onto(wg));
    for (uint32_t w = 0; w < 8; w++)
        for (uint32_t l = 0; l < 32; l++)
            for (uint32_t i = 0; i < 64; i++) {
                uint32_t row = w % 4 * 16 + l / 4 + 8 * (i >> 1 & 1) + (i >> 5) * 64;
                uint32_t col = w / 4 * 64 + (i >> 2 & 7) * 8 + l % 4 * 2 + (i & 1);
                CHECK(t, layout_at(wg, i, l, w, 0) == row * 128 + col);
            }
    check_pairs(t, c);
    check_words(t, c);
    /* Tiling: warps over n are the low bits; the rest of n, then m, are registers. */
    acc = layout_mma_acc(c, 3, (const uint8_t[]){1, 6, 5}, 1, 1);
    CHECK_STR(t, layout_str(c->arena, acc),
              "reg [1 256 16 1024 2048] lane [2 4 32 64 128] warp [8 512]");
    CHECK_STR(
        t, layout_str(c->arena, layout_mma_a(c, 2, (const uint8_t[]){5, 4}, 2, 1, 1)),
        "reg [1 128 8] lane [2 4 16 32 64] warp [0 256]");
    CHECK_STR(
        t, layout_str(c->arena, layout_mma_b(c, 2, (const uint8_t[]){4, 5}, 2, 1, 1)),
        "reg [32 256 16] lane [64 128 1 2 4] warp [8 0]");
    CHECK_STR(t,
              layout_str(c->arena,
                         layout_blocked(c, 2, (const uint8_t[]){2, 4},
                                        (const int[]){1, 4}, 1, (const int[]){1, 0})),
              "reg [1 2] lane [4 8 16 32 0] warp [0]");
    CHECK_STR(t,
              layout_str(c->arena,
                         layout_blocked(c, 1, (const uint8_t[]){11}, (const int[]){8},
                                        2, (const int[]){0})),
              "reg [1 2 4 1024] lane [8 16 32 64 128] warp [256 512]");
    /* 64 rows of 256 bytes in lines of 64: a warp has 8 rows of a line */
    CHECK_STR(t,
              layout_str(c->arena, layout_blocked_lines(c, 2, (const uint8_t[]){6, 8},
                                                        (const int[]){1, 16}, 3,
                                                        (const int[]){1, 0}, 6)),
              "reg [1 2 4 8 64 128] lane [16 32 256 512 1024] warp [2048 4096 8192]");
}

void
test_layout_catalog(Test *t)
{
    RUN(t, check_fragments, t);
}
