/* convert: plans, carried out on arrays exactly as layout.h tells codegen to. */
#include "layouts.h"

#include <stdlib.h>

enum { MAX_WARPS = 8, LANES = 32, NOTHING = -1 };

/* What every thread holds: regs[(w * 32 + l) * n + r] is a flat index. */
typedef struct Value {
    const Layout *l;
    int n, n_warps;
    int *regs;
} Value;

static int *
thread_of(const Value *v, int w, int l)
{
    return v->regs + (w * LANES + l) * v->n;
}

static Value
value_new(Arena *a, const Layout *l, uint32_t block, bool fill)
{
    Value v = {l, 1 << l->n[IN_REG], 1 << l->n[IN_WARP], NULL};
    v.regs = NEW_N(a, int, MAX_WARPS * LANES * v.n);
    for (int w = 0; w < MAX_WARPS; w++)
        for (int i = 0; i < LANES; i++)
            for (int r = 0; r < v.n; r++)
                thread_of(&v, w, i)[r] = fill ? (int)layout_at(l, (uint32_t)r,
                                                               (uint32_t)i, (uint32_t)w,
                                                               block)
                                              : NOTHING;
    return v;
}

static void
run_regs(const ConvPlan *p, const Value *s, const Value *d)
{
    for (int w = 0; w < d->n_warps; w++)
        for (int l = 0; l < LANES; l++)
            for (int r = 0; r < p->n_dst; r++)
                thread_of(d, w, l)[r] = thread_of(s, w, l)[p->dst_from[r]];
}

/* ---- shuffle --------------------------------------------------------------------- */

/* words[l][j][e] of one warp. */
typedef struct Words {
    int n, pack;
    int *at;
} Words;

static int *
word(const Words *x, int l, int j)
{
    return x->at + ((l * x->n) + j) * x->pack;
}

static Words
words_new(Arena *a, int n, int pack)
{
    return (Words){n, pack, NEW_N(a, int, LANES * n * pack)};
}

/* word[j] = word[j ^ by] for all j of lane l at once. */
static void
select_words(Arena *a, const Words *x, int l, Col by)
{
    size_t bytes = (size_t)(x->n * x->pack) * sizeof(int);
    int *old = NEW_N(a, int, x->n * x->pack);
    memcpy(old, word(x, l, 0), bytes);
    for (int j = 0; j < x->n; j++)
        memcpy(word(x, l, j), old + (j ^ (int)by) * x->pack,
               (size_t)x->pack * sizeof(int));
}

static void
run_shuffle(Test *t, Arena *a, const ConvPlan *p, const Value *s, const Value *d)
{
    int pack = 1 << p->log2_pack, n_shuffles = 0;
    for (int w = 0; w < d->n_warps; w++) {
        Words x = words_new(a, p->n_words_src, pack),
              y = words_new(a, p->n_words_dst, pack);
        for (int l = 0; l < LANES; l++) {
            for (int j = 0; j < p->n_words_src; j++)
                for (int e = 0; e < pack; e++)
                    word(&x, l,
                         j)[e] = thread_of(s, w, l)[p->src_from[j << p->log2_pack | e]];
            for (int i = 0; i < LANE_BITS; i++)
                if (p->pre_lane[i] && l >> i & 1)
                    select_words(a, &x, l, p->pre_lane[i]);
            for (int i = 0; i < WARP_BITS; i++)
                if (p->pre_warp[i] && w >> i & 1)
                    select_words(a, &x, l, p->pre_warp[i]);
        }
        for (int l = 0; l < LANES; l++) {
            Col at = f2_mul(p->lane_of, LANE_BITS, (Col)l) ^
                     f2_mul(p->warp_of, WARP_BITS, (Col)w);
            for (int k = 0; k < p->n_words_dst; k++) {
                int from = (int)at ^ p->lane_xor[k];
                bool own = p->same_lane && !p->lane_xor[k];
                if (!CHECK(t, from >= 0 && from < LANES && (!own || from == l)))
                    return;
                n_shuffles += l == 0 && w == 0 && !own;
                memcpy(word(&y, l, k), word(&x, from, p->word_of[k]),
                       (size_t)pack * sizeof(int));
            }
        }
        for (int l = 0; l < LANES; l++) {
            for (int i = 0; i < LANE_BITS; i++)
                if (p->post_lane[i] && l >> i & 1)
                    select_words(a, &y, l, p->post_lane[i]);
            for (int r = 0; r < p->n_dst; r++)
                thread_of(d, w, l)[r] = word(
                    &y, l, p->dst_from[r] >> p->log2_pack)[p->dst_from[r] & (pack - 1)];
        }
    }
    CHECK(t, n_shuffles == p->n_shuffles);
}

/* ---- shared ---------------------------------------------------------------------- */

/* The worst bank of any phase when lane l touches [offset[l], + vec) elements. */
static int
count_ways(const int *offset, int log2_vec, int log2_elem)
{
    int bytes = 1 << (log2_vec + log2_elem), lanes = MIN(LANES, 128 / bytes), worst = 1;
    for (int first = 0; first < LANES; first += lanes) {
        int rows[32][LANES], n_rows[32] = {0}; /* distinct rows wanted of each bank */
        for (int l = first; l < first + lanes; l++) {
            int start = offset[l] << log2_elem;
            for (int b = start & ~3; b < start + bytes; b += 4) {
                int bank = b / 4 % 32, row = b / 128, k = 0;
                while (k < n_rows[bank] && rows[bank][k] != row)
                    k++;
                if (k == n_rows[bank])
                    rows[bank][n_rows[bank]++] = row;
                worst = MAX(worst, n_rows[bank]);
            }
        }
    }
    return worst;
}

typedef struct Cell {
    int val, warp, n_writes;
} Cell;

/* skip: threads that hold copies do not store; else they do, with the same values. */
static void
run_shared(Test *t, Arena *a, const ConvPlan *p, const Value *s, const Value *d,
           bool skip)
{
    int size = 1 << p->log2_buffer, vec = 1 << p->log2_store,
        n_load = 1 << p->log2_load;
    int n_values = p->n_reps * p->n_loads * n_load, store_ways = 1, load_ways = 1;
    int *value = NEW_N(a, int, MAX_WARPS * LANES * n_values);
    Cell *cell = NEW_N(a, Cell, size);
    for (int rep = 0; rep < p->n_reps; rep++) {
        for (int i = 0; i < size; i++)
            cell[i] = (Cell){NOTHING, NOTHING, 0};
        for (int w = 0; w < s->n_warps; w++)
            for (int i = 0; i < p->n_stores; i++) {
                int at[LANES];
                for (int l = 0; l < LANES; l++) {
                    Col base = f2_mul(p->store_lane, LANE_BITS, (Col)l) ^
                               f2_mul(p->store_warp, WARP_BITS, (Col)w);
                    at[l] = (int)(base ^ p->store_xor[i]);
                    CHECK(t, (base & ~p->store_moving) == 0);
                    if (!CHECK(t, at[l] % vec == 0 && at[l] + vec <= size))
                        return;
                    if (skip && ((uint32_t)l & p->store_lane_skip ||
                                 (uint32_t)w & p->store_warp_skip))
                        continue;
                    for (int e = 0; e < vec; e++) {
                        Cell *to = &cell[at[l] + e];
                        int from =
                            p->src_from[(rep * p->n_stores + i) << p->log2_store | e];
                        int val = thread_of(s, w, l)[from];
                        CHECK(t, to->val == NOTHING || to->val == val);
                        *to = (Cell){val, w, to->n_writes + 1};
                    }
                }
                store_ways = MAX(store_ways,
                                 count_ways(at, p->log2_store, p->log2_elem_bytes));
            }
        for (int i = 0; skip && i < size; i++) /* all of it, and once */
            CHECK(t, cell[i].n_writes == 1);
        for (int w = 0; w < d->n_warps; w++)
            for (int i = 0; i < p->n_loads; i++) {
                int at[LANES];
                for (int l = 0; l < LANES; l++) {
                    Col base = f2_mul(p->load_lane, LANE_BITS, (Col)l) ^
                               f2_mul(p->load_warp, WARP_BITS, (Col)w);
                    at[l] = (int)(base ^ p->load_xor[i]);
                    CHECK(t, (base & ~p->load_moving) == 0);
                    if (!CHECK(t, at[l] % n_load == 0 && at[l] + n_load <= size))
                        return;
                    for (int e = 0; e < n_load; e++) {
                        const Cell *from = &cell[at[l] + e];
                        int k = (rep * p->n_loads + i) << p->log2_load | e;
                        value[(w * LANES + l) * n_values + k] = from->val;
                        CHECK(t, !p->warp_local || from->warp == w);
                    }
                }
                load_ways = MAX(load_ways,
                                count_ways(at, p->log2_load, p->log2_elem_bytes));
            }
    }
    for (int w = 0; w < d->n_warps; w++)
        for (int l = 0; l < LANES; l++)
            for (int r = 0; r < p->n_dst; r++)
                thread_of(d, w,
                          l)[r] = value[(w * LANES + l) * n_values + p->dst_from[r]];
    CHECKF(t, p->store_ways == store_ways && p->load_ways == load_ways,
           "ways: plan %d %d, counted %d %d", p->store_ways, p->load_ways, store_ways,
           load_ways);
}

static const char *
describe(Arena *a, const ConvPlan *p, const Layout *s, const Layout *d, int elem_bits)
{
    Sb sb = {.a = a};
    sb_printf(&sb, "kind %d, %d bits, shape", p->kind, elem_bits);
    for (int i = 0; i < s->rank; i++)
        sb_printf(&sb, " %d", 1 << s->log2_shape[i]);
    sb_printf(&sb, "\n    %s\n    %s", layout_str(a, s), layout_str(a, d));
    return sb.at;
}

/* Plans s -> d, carries it out in every block, compares every register. */
static const ConvPlan *
check_plan(Test *t, Comp *c, const Layout *s, const Layout *d, int elem_bits)
{
    const ConvPlan *p = layout_plan(c, s, d, elem_bits);
    int failed = t->n_failed;
    for (uint32_t block = 0; block < 1u << d->n[IN_BLOCK]; block++)
        for (int skip = 0; skip < 2; skip++) {
            Value src = value_new(c->arena, s, block, true);
            Value dst = value_new(c->arena, d, block, false);
            Value want = value_new(c->arena, d, block, true);
            switch (p->kind) {
            case CONV_NONE:
                CHECK(t, s == d);
                dst = src;
                break;
            case CONV_REGS: run_regs(p, &src, &dst); break;
            case CONV_SHUFFLE: run_shuffle(t, c->arena, p, &src, &dst); break;
            case CONV_SHARED: run_shared(t, c->arena, p, &src, &dst, skip); break;
            }
            CHECK(t, p->n_src == src.n && p->n_dst == dst.n);
            size_t n = (size_t)(want.n_warps * LANES * want.n);
            CHECK(t, !memcmp(dst.regs, want.regs, n * sizeof(int)));
        }
    if (p->kind == CONV_SHARED) {
        int bits = MAX(elem_bits, 8);
        CHECK(t, p->store_ways == 1 && p->load_ways == 1);
        CHECK(t, bits << p->log2_store <= 128 && bits << p->log2_load <= 128);
        CHECK(t, layout_plan_bytes(p) <= (int64_t)bits / 8 << layout_bits(s));
    }
    if (t->n_failed > failed)
        fprintf(stderr, "  in %s\n", describe(c->arena, p, s, d, elem_bits));
    return p;
}

/* ---- named cases ----------------------------------------------------------------- */

static const Layout *
parse(Comp *c, int rank, const uint8_t *shape, const char *text)
{
    return layout_parse(c, rank, shape, &text);
}

static void
cases(Comp *c, void *data)
{
    Test *t = data;
    static const int order10[] = {1, 0}, order01[] = {0, 1};
    static const uint8_t s66[] = {6, 6}, s44[] = {4, 4}, s77[] = {7, 7}, s55[] = {5, 5};

    /* Transposes and epilogues at 8, 16 and 32 bits: no conflicts (checked by
     * check_plan), vectors where both sides have them. */
    for (int bits = 8; bits <= 64; bits *= 2) {
        int e = MAX(128 / bits, 2);
        const Layout *row = layout_blocked(c, 2, s66, (const int[]){1, e}, 2, order10);
        const Layout *col = layout_blocked(c, 2, s66, (const int[]){e, 1}, 2, order01);
        const Layout *acc = layout_mma_acc(c, 2, s66, 2, 0);
        CHECK(t, check_plan(t, c, row, col, bits)->kind == CONV_SHARED);
        CHECK(t, check_plan(t, c, acc, col, bits)->kind == CONV_SHARED);
        const ConvPlan *p = check_plan(t, c, acc, row, bits);
        CHECK(t, p->kind == CONV_SHARED && p->log2_store >= 1 && p->log2_load >= 1);
    }

    /* S = QK' feeds the next dot: the accumulator is the A operand, at most renamed. */
    const Layout *acc = layout_mma_acc(c, 2, s44, 0, 0);
    const Layout *a = layout_mma_a(c, 2, s44, 2, 0, 0);
    CHECK(t, acc == a && check_plan(t, c, acc, a, 16)->kind == CONV_NONE);
    const Layout *wg = layout_wgmma_acc(c, s66, 2, 0);
    CHECK(t, wg == layout_mma_a(c, 2, s66, 2, 2, 0));
    const char *renamed = "reg [8 128 1] lane [2 4 16 32 64] warp []";
    CHECK(t, check_plan(t, c, acc, parse(c, 2, s44, renamed), 16)->kind == CONV_REGS);
    renamed = "reg [8 0 128 1 9] lane [2 4 16 32 64] warp []"; /* with copies */
    CHECK(t, check_plan(t, c, acc, parse(c, 2, s44, renamed), 16)->kind == CONV_REGS);
    const Layout *acc8 = layout_mma_acc(c, 2, s55, 1, 0);
    const Layout *a8 = layout_mma_a(c, 2, s55, 4, 1, 0); /* 8 bits: across the quad */
    CHECK(t, check_plan(t, c, acc8, a8, 8)->kind == CONV_SHUFFLE);

    /* One register bit against one lane bit: half the words stay, pairs are packed. */
    const uint8_t s8[] = {8};
    const ConvPlan *p =
        check_plan(t, c, parse(c, 1, s8, "reg [1 2 4] lane [8 16 32 64 128] warp []"),
                   parse(c, 1, s8, "reg [1 2 8] lane [4 16 32 64 128] warp []"), 16);
    CHECK(t, p->kind == CONV_SHUFFLE && p->log2_pack == 1 && p->same_lane);
    CHECK(t, p->n_words_dst == 4 && p->n_shuffles == 2);

    /* Each lane has everything and keeps one: selects, no shuffles. */
    const uint8_t s5[] = {5};
    p = check_plan(t, c, parse(c, 1, s5, "reg [1 2 4 8 16] lane [0 0 0 0 0] warp []"),
                   parse(c, 1, s5, "reg [] lane [1 2 4 8 16] warp []"), 32);
    CHECK(t, p->kind == CONV_SHUFFLE && p->n_shuffles == 0);
    /* Each warp has everything and keeps its part: nothing crosses warps. */
    p = check_plan(t, c,
                   parse(c, 1, s8, "reg [1 2 4] lane [8 16 32 64 128] warp [0 0]"),
                   parse(c, 1, s8, "reg [1] lane [8 16 32 64 128] warp [2 4]"), 32);
    CHECK(t, p->kind == CONV_SHUFFLE && p->n_shuffles == 0);
    /* A factor of each column, one a thread, to a product's threads: what is one register each
     * is taken from shared memory by fours. */
    const Layout *each = parse(c, 1, (const uint8_t[]){7},
                               "reg [] lane [1 2 4 8 16] warp [32 64]");
    const Layout *cols = layout_slice(c, layout_wgmma_acc(c, s77, 2, 0), 0);
    p = check_plan(t, c, each, cols, 32);
    CHECK(t, p->kind == CONV_SHARED && p->log2_store == 0 && p->log2_load == 2);
    p = check_plan(t, c, each, cols, 16);
    CHECK(t, p->kind == CONV_SHARED && p->log2_load >= 2);
    /* Slices back to a blocked vector: 16 lanes of copies store once. */
    const Layout *rows = layout_slice(c, layout_mma_acc(c, 2, s66, 2, 0), 1);
    const Layout *vec = layout_blocked(c, 1, (const uint8_t[]){6}, (const int[]){1}, 2,
                                       (const int[]){0});
    p = check_plan(t, c, rows, vec, 32);
    CHECK(t, p->kind == CONV_SHARED && p->store_lane_skip == 3 && p->log2_buffer == 6);
    p = check_plan(t, c, vec, rows, 32);
    CHECK(t, p->kind == CONV_SHARED && p->store_warp_skip == 2);

    /* 64 KB in two passes; a transpose within each warp needs no block barrier. */
    const Layout *big = layout_mma_acc(c, 2, s77, 2, 1);
    const Layout *row = layout_blocked(c, 2, s77, (const int[]){1, 4}, 3, order10);
    p = check_plan(t, c, big, row, 32);
    CHECK(t, p->n_reps == 2 && layout_plan_bytes(p) == 32 << 10 && !p->warp_local);
    static const uint8_t s78[] = {7, 8}; /* passes at the cost of narrower vectors */
    big = layout_mma_acc(c, 2, s78, 2, 1);
    row = layout_blocked(c, 2, s78, (const int[]){1, 8}, 3, order10);
    p = check_plan(t, c, big, row, 16);
    CHECK(t, p->n_reps == 2 && p->log2_store == 2 && layout_plan_bytes(p) == 32 << 10);
    const uint8_t s12[] = {12};
    p = check_plan(
        t, c,
        parse(c, 1, s12, "reg [1 2 4 8 16 32] lane [64 128 256 512 1024] warp [2048]"),
        parse(c, 1, s12, "reg [64 128 256 512 1024 32] lane [1 2 4 8 16] warp [2048]"),
        32);
    CHECK(t, p->kind == CONV_SHARED && p->warp_local);

    /* Blocks of a cluster: the same ones keep the buffer small, others are refused. */
    const uint8_t s9[] = {9};
    p = check_plan(
        t, c, parse(c, 1, s9, "reg [1] lane [2 4 8 16 32] warp [64 128] block [256]"),
        parse(c, 1, s9, "reg [64] lane [32 1 2 4 8] warp [16 128] block [256]"), 16);
    CHECK(t, p->kind == CONV_SHARED && p->log2_buffer == 8);
}

static void
cross_blocks(Comp *c, void *data)
{
    static const uint8_t s6[] = {6};
    (void)data;
    layout_plan(c, parse(c, 1, s6, "reg [] lane [1 2 4 8 16] warp [] block [32]"),
                parse(c, 1, s6, "reg [] lane [32 2 4 8 16] warp [] block [1]"), 32);
}

void
test_convert_cases(Test *t)
{
    Comp c;
    CHECK(t, comp_init(&c));
    CHECK(t, comp_run(&c, cases, t));
    CHECK(t, !comp_run(&c, cross_blocks, NULL) && c.err.code == ERR_LIMIT);
    comp_done(&c);
}

/* ---- random ---------------------------------------------------------------------- */

typedef struct Tally {
    Test *t;
    int n[CONV_SHARED + 1];
} Tally;

static void
random_case(Comp *c, void *data)
{
    static const int widths[] = {1, 8, 16, 32, 64};
    Tally *y = data;
    uint8_t shape[MAX_RANK];
    int rank, log2_warps = test_below(y->t, 4);
    random_shape(y->t, test_below(y->t, 13), &rank, shape);
    const Layout *s = random_layout(y->t, c, rank, shape, log2_warps);
    const Layout *d = random_layout(y->t, c, rank, shape, log2_warps);
    y->n[check_plan(y->t, c, s, d, widths[test_below(y->t, 5)])->kind]++;
}

void
test_convert_random(Test *t)
{
    const char *more = getenv("TEGULA_CASES");
    Tally y = {.t = t};
    for (int k = 0, n = more ? atoi(more) : 600; k < n; k++) {
        RUN(t, random_case, &y);
    }
    for (int k = CONV_REGS; k <= CONV_SHARED; k++) /* each kind was really met */
        CHECKF(t, y.n[k] >= 20, "kind %d came only %d times", k, y.n[k]);
}
