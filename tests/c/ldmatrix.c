/* ldmatrix: what layout_ldmatrix claims against the instruction done byte by byte, and
 * swizzled shared memory against the rules it is made by. */
#include "layouts.h"

enum { ROW = 16, LANES = 32 };

/* Byte i of the word of matrix k that lane l gets, as its place among the rows' bytes:
 * row << 4 | byte. Source: PTX ISA, ldmatrix. */
static int
source_of(int elem_bytes, bool trans, int lane, int byte)
{
    if (!trans)
        return lane / 4 * ROW + lane % 4 * 4 + byte;
    int elem = byte /
               elem_bytes; /* 16-bit: element e is row 2 (l % 4) + e, column l / 4 */
    return (lane % 4 * 2 + elem) * ROW + lane / 4 * 2 + byte % elem_bytes;
}

/* Runs the plan for all registers of one warp. */
static void
check_plan(Test *t, const Layout *l, const Col *offset_of, int elem_bytes,
           const LdMatrix *m, uint32_t warp)
{
    int bits = layout_bits(l), n = 1 << m->log2_n, per_word = 4 / elem_bytes;
    uint32_t inside = (uint32_t)per_word - 1;
    CHECK(t, 1 << m->log2_word == per_word);
    for (int i = 0; i < m->log2_n; i++)
        inside |= 1u << m->bit[i];
    Col inverse[MAX_BITS];
    CHECK(t, f2_invert(offset_of, bits, bits, inverse));
    for (uint32_t r = 0; r < 1u << l->n[IN_REG]; r++) {
        if (r & inside)
            continue;
        Col first = f2_mul(offset_of, bits, layout_at(l, r, 0, warp, 0));
        Col row[LANES];
        for (int lane = 0; lane < LANES; lane++)
            row[lane] = first ^ f2_mul(m->row, LANE_BITS, (Col)lane);
        for (int k = 0; k < n; k++)
            for (int lane = 0; lane < LANES; lane++)
                for (int e = 0; e < per_word; e++) {
                    int from = source_of(elem_bytes, m->trans, lane, e * elem_bytes);
                    Col at = row[8 * k + from / ROW];
                    CHECK(t, at * (Col)elem_bytes % ROW == 0);
                    at += (Col)(from % ROW / elem_bytes);
                    uint32_t reg = r | (uint32_t)e;
                    for (int i = 0; i < m->log2_n; i++)
                        reg |= (uint32_t)(k >> i & 1) << m->bit[i];
                    Col want = layout_at(l, reg, (uint32_t)lane, warp, 0);
                    CHECK(t, f2_mul(inverse, bits, at) == want);
                }
    }
}

/* Do 8 rows that an instruction takes together lie in different banks? */
static bool
without_conflicts(const LdMatrix *m, int elem_bytes)
{
    uint32_t seen = 0;
    for (Col lane = 0; lane < 8; lane++)
        seen |= 1u << (f2_mul(m->row, LANE_BITS, lane) * (Col)elem_bytes % 128 / ROW);
    return seen == 0xff;
}

static void
check_operands(Comp *c, void *data)
{
    Test *t = data;
    int n_plain = 0, n_trans = 0;
    for (int log2_m = 4; log2_m <= 7; log2_m++)
        for (int log2_k = 4; log2_k <= 7; log2_k++)
            for (int log2_bytes = 0; log2_bytes < 3; log2_bytes++)
                for (int which = 0; which < 8; which++) {
                    int fastest = which & 1, kw = 4 >> log2_bytes,
                        bytes = 1 << log2_bytes;
                    bool is_a = which & 2;
                    uint8_t shape[2] = {(uint8_t)log2_m, (uint8_t)log2_k};
                    if (!is_a)
                        shape[0] = (uint8_t)log2_k, shape[1] = (uint8_t)log2_m;
                    if (log2_k < 5 && kw == 4)
                        continue;
                    const Layout *l =
                        is_a ? layout_mma_a(c, 2, shape, kw, which >> 2, 1)
                             : layout_mma_b(c, 2, shape, kw, 1, which >> 2);
                    const Layout *smem = layout_swizzled(c, 2, shape, fastest,
                                                         log2_bytes, 0, 0);
                    Col offset_of[MAX_BITS];
                    layout_offsets(smem, offset_of);
                    CHECK(t, layout_is_onto(smem) && layout_is_injective(smem));
                    LdMatrix m;
                    bool along_k = fastest == is_a;
                    bool can = along_k || log2_bytes == 1;
                    CHECK(t, layout_ldmatrix(l, offset_of, 8 * bytes, 0, &m) == can);
                    if (!can)
                        continue;
                    CHECK(t, m.trans == !along_k);
                    n_plain += !m.trans;
                    n_trans += m.trans;
                    check_plan(t, l, offset_of, bytes, &m, 0);
                    check_plan(t, l, offset_of, bytes, &m, 1);
                    if (shape[fastest] + log2_bytes >= 5)
                        CHECK(t, without_conflicts(&m, bytes));
                }
    CHECK(t, n_plain > 100 && n_trans > 20);
}

/* Where stmatrix puts what lane `lane` has in half `half` of word k: the lane whose row it
 * goes to, and the element of that row. Source: PTX ISA, stmatrix. */
static void
target_of(bool trans, int lane, int half, int k, int *row_lane, int *elem)
{
    int row = lane / 4, col = lane % 4 * 2 + half;
    *row_lane = 8 * k + (trans ? col : row);
    *elem = trans ? row : col;
}

/* Every store of p as one stmatrix: each element of each warp lands where p's loads look for
 * it, and 8 rows of a matrix lie in 8 different groups of banks. Returns the number. */
static int
check_stores(Test *t, const Layout *l, const MatrixRows *r, const ConvPlan *p,
             int warps)
{
    int bits = layout_bits(l), n = 0;
    for (int rep = 0; rep < p->n_reps; rep++)
        for (int i = 0; i < p->n_stores; i++)
            for (int warp = 0; warp < warps; warp++, n++) {
                int first = p->src_from[(rep * p->n_stores + i) * 8] / 8 * 2 * r->n;
                Col row[LANES];
                for (int lane = 0; lane < LANES; lane++)
                    row[lane] = f2_mul(p->store_lane, LANE_BITS, (Col)lane) ^
                                f2_mul(p->store_warp, WARP_BITS, (Col)warp) ^
                                p->store_xor[i];
                for (int k = 0; k < r->n; k++) {
                    uint32_t banks = 0;
                    for (int lane = 8 * k; lane < 8 * k + 8; lane++)
                        banks |= 1u << row[lane] * 2 % 128 / ROW;
                    CHECK(t, banks == 0xff);
                    for (int lane = 0; lane < LANES; lane++)
                        for (int half = 0; half < 2; half++) {
                            int to, elem;
                            target_of(r->trans, lane, half, k, &to, &elem);
                            Col has = layout_at(l, (uint32_t)(first + 2 * k + half),
                                                (uint32_t)lane, (uint32_t)warp, 0);
                            CHECK(t, row[to] % 8 == 0);
                            CHECK(t, row[to] + (Col)elem ==
                                         f2_mul(p->offset_of, bits, has));
                        }
                }
            }
    return n;
}

static void
check_epilogues(Comp *c, void *data)
{
    Test *t = data;
    int n_plain = 0, n_trans = 0, n_reps = 0;
    for (int m = 4; m <= 8; m++)
        for (int n = 4; n <= 8; n++)
            for (int w = 0; w < 8; w++) {
                int wm = w & 1, wn = w >> 1 & 1, along_m = w >> 2;
                uint8_t shape[2] = {(uint8_t)m, (uint8_t)n};
                const Layout *acc = layout_mma_acc(c, 2, shape, wm, wn);
                const Layout *row = layout_blocked(
                    c, 2, shape, (const int[]){along_m ? 8 : 1, along_m ? 1 : 8},
                    wm + wn, along_m ? (const int[]){0, 1} : (const int[]){1, 0});
                MatrixRows r = layout_matrix_rows(c, acc, along_m);
                if (!r.n)
                    continue;
                const ConvPlan *p = layout_plan(c, r.rows, row, 16);
                if (p->kind != CONV_SHARED || p->log2_store != 3 ||
                    !layout_rows_fit(p, r.rows))
                    continue;
                check_stores(t, acc, &r, p, 1 << (wm + wn));
                n_plain += !r.trans;
                n_trans += r.trans;
                n_reps += p->n_reps > 1;
            }
    CHECK(t, n_plain > 20 && n_trans > 20 && n_reps > 0);
    /* No rows: lanes that hold copies, a layout that is no fragment. */
    CHECK(
        t,
        !layout_matrix_rows(c, layout_mma_acc(c, 2, (uint8_t[]){2, 4}, 0, 0), false).n);
    const Layout *one = layout_blocked(c, 1, (uint8_t[]){5}, (const int[]){1}, 0,
                                       (const int[]){0});
    CHECK(t, !layout_matrix_rows(c, one, false).n);
}

void
test_stmatrix(Test *t)
{
    RUN(t, check_epilogues, t);
}

void
test_ldmatrix(Test *t)
{
    RUN(t, check_operands, t);
}

/* Bytes of an aligned chunk of 16 stay together; with skip 0 and 128-byte lines the
 * chunk is XORed with the line's number, as TMA does it. */
static void
check_swizzled(Comp *c, void *data)
{
    Test *t = data;
    static const uint8_t shape[2] = {5, 7}; /* 32 rows of 128 */
    const Layout *l = layout_swizzled(c, 2, shape, 1, 1, 0, 0);
    Col offset_of[MAX_BITS];
    layout_offsets(l, offset_of);
    for (Col row = 0; row < 32; row++)
        for (Col col = 0; col < 128; col++) {
            Col byte = col % 64 * 2;
            Col want = col / 64 * (32 * 128) + row * 128 + (byte ^ (row % 8 << 4));
            CHECK(t, f2_mul(offset_of, 12, row << 7 | col) * 2 == want);
        }
}

void
test_swizzled(Test *t)
{
    RUN(t, check_swizzled, t);
}
