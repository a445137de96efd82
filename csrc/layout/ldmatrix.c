/* ldmatrix: may this instruction (or stmatrix, its inverse) fill those registers? And other
 * questions to a buffer in shared memory whose offsets are a linear function of the element.
 *
 * ldmatrix deals out matrices of 8 rows of 16 bytes. Each lane hands in the address of
 * one row (lanes 0-7 of matrix 0, 8-15 of matrix 1, ..) and gets one 32-bit word of
 * every matrix; for 16-bit elements:
 *
 *     plain   lane l has elements 2 (l & 3), + 1 of row l >> 2
 *     .trans  lane l has elements l >> 2 of rows 2 (l & 3), + 1
 *
 * So with O(x) the offset of basis x of the layout to be filled, it is applicable iff
 *
 *     plain   O(reg 0) = 1, O(lane 0) = 2, O(lane 1) = 4      every other basis lands
 *     .trans  O(lane 2) = 1, O(lane 3) = 2, O(lane 4) = 4     on a multiple of 8
 *
 * and the other three of reg 0 and the lanes pick the row. Elements of other widths
 * come plain only: a word is then 4 or 1 of them, a row 16 or 4. Which matrix a word
 * comes from is up to two register bits; it does not matter which.
 */
#include "layout/layout.h"

enum { ROW_BITS = 3 };

/* Do all bases begin rows but those of `row`, whose offsets are 1, 2, 4, ..? */
static bool
are_rows(const Layout *l, const Col *offset_of, const Col *row, int n_row)
{
    int bits = layout_bits(l), seen = 0;
    for (int i = 0; i < n_row; i++)
        if (f2_mul(offset_of, bits, row[i]) != (Col)1 << i)
            return false;
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++) {
            Col at = f2_mul(offset_of, bits, l->basis[in][i]);
            if (at & (((Col)1 << n_row) - 1))
                seen++;
        }
    return seen == n_row;
}

/* Register bits behind those of a word that shall tell matrices apart. */
static void
choose_matrices(const Layout *l, uint32_t avoid, LdMatrix *m)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = m->log2_word; i < l->n[IN_REG] && m->log2_n < 2; i++)
            if ((avoid >> i & 1) == (uint32_t)pass)
                m->bit[m->log2_n++] = i;
}

bool
layout_ldmatrix(const Layout *l, const Col *offset_of, int elem_bits, uint32_t avoid,
                LdMatrix *m)
{
    const Col *reg = l->basis[IN_REG], *lane = l->basis[IN_LANE];
    if (elem_bits < 8 || elem_bits > 32 || l->n[IN_LANE] != LANE_BITS)
        return false;
    *m = (LdMatrix){.log2_word = __builtin_ctz(32u / (unsigned)elem_bits)};
    int n_row = 2 + m->log2_word, bits = layout_bits(l);
    if (l->n[IN_REG] < m->log2_word)
        return false;
    Col plain[4], picks[ROW_BITS] = {lane[2], lane[3], lane[4]};
    memcpy(plain, reg, (size_t)m->log2_word * sizeof *plain);
    memcpy(plain + m->log2_word, lane, 2 * sizeof *plain);
    if (!are_rows(l, offset_of, plain, n_row)) {
        if (elem_bits != 16 || !are_rows(l, offset_of, picks, ROW_BITS))
            return false;
        m->trans = true;
        memcpy(picks, plain, sizeof picks);
    }
    choose_matrices(l, avoid, m);
    for (int i = 0; i < ROW_BITS; i++)
        m->row[i] = f2_mul(offset_of, bits, picks[i]);
    for (int i = 0; i < m->log2_n; i++)
        m->row[ROW_BITS + i] = f2_mul(offset_of, bits, reg[m->bit[i]]);
    return true;
}

void
layout_offsets(const Layout *smem, Col *offset_of)
{
    f2_invert(smem->basis[IN_REG], smem->n[IN_REG], layout_bits(smem), offset_of);
}

int
layout_offset_run(const Layout *l, const Col *offset_of, int max, int *reg_bit)
{
    int bits = layout_bits(l);
    for (int run = 0; run < max; run++) {
        int users = 0, found = -1;
        for (int in = 0; in < N_IN; in++)
            for (int i = 0; i < l->n[in]; i++) {
                Col at = f2_mul(offset_of, bits, l->basis[in][i]);
                users += (at >> run & 1) != 0;
                if (in == IN_REG && at == (Col)1 << run)
                    found = i;
            }
        if (users != 1 || found < 0)
            return run;
        reg_bit[run] = found;
    }
    return max;
}

MatrixRows
layout_matrix_rows(Comp *c, const Layout *l, bool trans)
{
    if (l->n[IN_REG] < 1 || l->n[IN_LANE] != LANE_BITS)
        return (MatrixRows){0};
    for (int i = 0; i < LANE_BITS; i++)
        if (!l->basis[IN_LANE][i])
            return (MatrixRows){0};
    const Col *reg = l->basis[IN_REG], *lane = l->basis[IN_LANE];
    int log2_n = MIN(l->n[IN_REG] - 1, 2);
    Layout r = *l;
    const Col plain_row[ROW_BITS] = {reg[0], lane[0], lane[1]};
    for (int i = 0; i < ROW_BITS; i++) {
        r.basis[IN_REG][i] = trans ? lane[2 + i] : plain_row[i];
        r.basis[IN_LANE][i] = trans ? plain_row[i] : lane[2 + i];
    }
    for (int i = 0; i < 2; i++)
        r.basis[IN_LANE][ROW_BITS + i] = i < log2_n ? reg[1 + i] : 0;
    r.n[IN_REG] = ROW_BITS;
    for (int i = 1 + log2_n; i < l->n[IN_REG]; i++)
        r.basis[IN_REG][r.n[IN_REG]++] = reg[i];
    const Layout *rows = layout_intern(c, &r);
    if (!layout_is_onto(rows))
        return (MatrixRows){0};
    return (MatrixRows){rows, trans, 1 << log2_n};
}

bool
layout_rows_fit(const ConvPlan *p, const Layout *rows)
{
    int bits = layout_bits(rows);
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < rows->n[in]; i++) {
            Col at = f2_mul(p->offset_of, bits, rows->basis[in][i]);
            if (in == IN_REG && i < ROW_BITS ? at != (Col)1 << i : (at & 7) != 0)
                return false;
        }
    return true;
}
