/* wgmma: what layout_wgmma says of a matrix in shared memory, against the table of the book
 * element by element, with divisions and remainders where it has bits. How many blocks' registers fit. */
#include "layouts.h"

enum { CHUNK = 16 };

/* The byte that the descriptor names for element (mn, k), counted from the operand's first,
 * before bits of the address are turned over. Source: PTX ISA, "Strides". */
static uint32_t
named(const WgmmaOperand *w, uint32_t elem, uint32_t mn, uint32_t k)
{
    uint32_t t = CHUNK / elem, chunks = (uint32_t)w->line / CHUNK;
    if (!w->is_mn_major)
        return k * elem + mn % 8 * (uint32_t)w->line + mn / 8 * (uint32_t)w->sbo;
    return mn % t * elem + mn / t % chunks * CHUNK +
           mn / (t * chunks) * (uint32_t)w->lbo + k % 8 * (uint32_t)w->line +
           k / 8 * (uint32_t)w->sbo;
}

/* Every instruction's operand in a block of that shape, as layout_swizzled puts it. */
static int
check_block(Test *t, Comp *c, int mn_dim, int fastest, uint8_t log2_mn, uint8_t log2_k,
            int elem, int skip, int from)
{
    uint8_t shape[2];
    shape[mn_dim] = log2_mn;
    shape[1 - mn_dim] = log2_k;
    const Layout *l = layout_swizzled(c, 2, shape, fastest, log2_of(elem), skip, from);
    Col offset_of[MAX_BITS];
    layout_offsets(l, offset_of);
    int n_found = 0, bits = layout_bits(l);
    for (uint32_t n = 16; n <= MIN(256u, 1u << log2_mn); n *= 2) {
        WgmmaOperand w;
        if (!layout_wgmma(l, mn_dim, (int)n, elem, &w))
            continue;
        n_found++;
        CHECK(t, w.is_mn_major == (fastest == mn_dim));
        uint32_t depth = 32 / (uint32_t)elem;
        for (uint32_t mn0 = 0; mn0 < 1u << log2_mn; mn0 += n)
            for (uint32_t k0 = 0; k0 < 1u << log2_k; k0 += depth) {
                Col start = mn0 << layout_dim_shift(l, mn_dim) |
                            k0 << layout_dim_shift(l, 1 - mn_dim);
                uint32_t first = f2_mul(offset_of, bits, start) * (uint32_t)elem,
                         bad = 0;
                for (uint32_t mn = 0; mn < n; mn++)
                    for (uint32_t k = 0; k < depth; k++) {
                        Col flat = (mn0 + mn) << layout_dim_shift(l, mn_dim) |
                                   (k0 + k) << layout_dim_shift(l, 1 - mn_dim);
                        uint32_t at = first + named(&w, (uint32_t)elem, mn, k);
                        at ^= at / 128 % ((uint32_t)w.line / CHUNK) * CHUNK;
                        bad += f2_mul(offset_of, bits, flat) * (uint32_t)elem != at;
                    }
                CHECK(t, bad == 0);
            }
    }
    return n_found;
}

static void
check_all(Comp *c, void *data)
{
    Test *t = data;
    for (int i = 0; i < 4 * 6 * 5 * 9; i++) {
        int mn_dim = i & 1, fastest = i >> 1 & 1, mn = 4 + i / 4 % 6,
            k = 4 + i / 24 % 5;
        int kind = i / 120, skip = kind % 3, from = kind / 3;
        int n = check_block(t, c, mn_dim, fastest, (uint8_t)mn, (uint8_t)k, 2, skip,
                            from);
        CHECK(t, kind || n == MIN(mn, 8) - 3); /* what the compiler makes is found */
        n = check_block(t, c, mn_dim, fastest, (uint8_t)mn, (uint8_t)k, 4, skip, from);
        CHECK(t, n == 0 || fastest != mn_dim); /* tf32 is K-major */
    }
}

void
test_wgmma(Test *t)
{
    RUN(t, check_all, t);
}

/* Warps of block after block go where the most registers are free, eight a thread at a time. */
static int
blocks_dealt(int warps, int words)
{
    enum { PARTS = 4 };
    int of_warp = (words + 7) / 8 * 8 * 32, free[PARTS], n = 0;
    for (int i = 0; i < PARTS; i++)
        free[i] = CHIP_REGISTERS / PARTS;
    for (;; n++)
        for (int w = 0; w < warps; w++) {
            int most = 0;
            for (int i = 1; i < PARTS; i++)
                most = free[i] > free[most] ? i : most;
            if (free[most] < of_warp)
                return n;
            free[most] -= of_warp;
        }
}

void
test_resident_blocks(Test *t)
{
    for (int warps = 1; warps <= 32; warps++)
        for (int words = 16; words < 256; words++)
            CHECK(t, chip_blocks_by_registers(32 * warps, words) ==
                         blocks_dealt(warps, words));
    CHECK(t, chip_blocks_by_registers(160, 168) == 2 &&
                 chip_blocks_by_registers(160, 169) == 1);
}
