/* bank: how often an access to shared memory must be repeated.
 *
 * Shared memory has 32 banks of 4 bytes. A warp's access is served in phases of 128
 * bytes: 32 lanes with up to 4 bytes each, 16 lanes with 8, 8 lanes with 16. Within a
 * phase two lanes conflict when they want different rows of 128 bytes in one bank:
 *
 *     offset    [ row | bank | inside the unit ]       unit = max(vector, 4 bytes)
 *
 * As everything is linear, the lanes of a phase reach 2^rank([row bank]) units in
 * 2^rank([bank]) banks, the same number in each bank: no enumeration is needed. Tested
 * against one.
 */
#include "layout/layout.h"

#include <assert.h>

int
layout_bank_ways(const Layout *l, const Col *offset_of, int log2_vec, int elem_bits)
{
    int log2_elem = elem_bits <= 8 ? 0 : __builtin_ctz((unsigned)elem_bits) - 3;
    int log2_unit = MAX(log2_vec + log2_elem, 2), bits = layout_bits(l);
    assert(log2_unit <= 4);
    int n_lane = MIN(LANE_BITS - (log2_unit - 2), l->n[IN_LANE]);
    Col row_bank[LANE_BITS], bank[LANE_BITS];
    for (int i = 0; i < n_lane; i++) {
        Col byte = f2_mul(offset_of, bits, l->basis[IN_LANE][i]) << log2_elem;
        row_bank[i] = byte >> log2_unit;
        bank[i] = (byte & 127) >> log2_unit;
    }
    return 1 << (f2_rank(row_bank, n_lane) - f2_rank(bank, n_lane));
}
