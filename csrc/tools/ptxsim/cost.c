/* cost: sectors of global memory, wavefronts of shared memory.
 *
 * Global memory comes in sectors of 32 bytes. A warp's access asks for each sector once,
 * however many of its lanes want a piece of it. 128 neighbouring bytes are 4 sectors, 32
 * lanes a column of a matrix apart are 32.
 *
 * Shared memory is 32 banks of 4-byte words: word w is in bank w % 32. A wavefront serves
 * any number of lanes as long as each bank is asked for one word only; another word of the
 * same bank is another wavefront, a bank conflict. As a wavefront moves at most 128 bytes,
 * wide accesses go in phases, each with its own wavefronts:
 *
 *     up to 4 bytes     all 32 lanes at once
 *     8 bytes           lanes 0-15, then 16-31
 *     16 bytes          lanes 0-7, 8-15, 16-23, 24-31; ldmatrix: a matrix each
 *
 * The machine may join phases in which lanes ask for the same bytes; that is not modelled
 * (it is undocumented), so broadcasts of wide words are counted high, conflicts are not.
 */
#include "tools/ptxsim/cost.h"

/* Different pieces of memory that were touched: their numbers, which of their bytes. */
typedef struct Pieces {
    int n;
    uint64_t at[64];
    uint32_t mask[64];
} Pieces;

/* Bytes [from, from + n) of piece `at`, which are within it. */
static void
touch(Pieces *p, uint64_t at, unsigned from, unsigned n)
{
    uint32_t mask = (uint32_t)((((uint64_t)1 << n) - 1) << from);
    for (int i = 0; i < p->n; i++)
        if (p->at[i] == at) {
            p->mask[i] |= mask;
            return;
        }
    p->at[p->n] = at;
    p->mask[p->n++] = mask;
}

static int
bytes_of(const Pieces *p)
{
    int n = 0;
    for (int i = 0; i < p->n; i++)
        n += __builtin_popcount(p->mask[i]);
    return n;
}

/* All sectors of an access. It need not be aligned: then it may touch two. */
static void
touch_sectors(Pieces *p, uint32_t m, const uint64_t address[32], int bytes)
{
    for (int lane = 0; lane < 32; lane++) {
        if (!(m >> lane & 1))
            continue;
        unsigned from = address[lane] % 32, n = (unsigned)bytes;
        unsigned here = from + n > 32 ? 32 - from : n;
        touch(p, address[lane] / 32, from, here);
        if (here < n)
            touch(p, address[lane] / 32 + 1, 0, n - here);
    }
}

GlobalCost
cost_global(uint32_t m, const uint64_t address[32], int bytes)
{
    Pieces p = {.n = 0};
    touch_sectors(&p, m, address, bytes);
    return (GlobalCost){.bytes = bytes_of(&p), .sectors = p.n};
}

static SharedCost
shared_cost(uint32_t m, const uint64_t address[32], int bytes, int is_atomic)
{
    int words = bytes > 4 ? bytes / 4 : 1, lanes = 32 / words;
    SharedCost c = {0};
    Pieces all = {.n = 0};
    touch_sectors(&all, m, address, bytes);
    c.bytes = bytes_of(&all);
    for (int first = 0; first < 32; first += lanes) {
        uint64_t word[32];
        int n = 0, asked[32] = {0}, most = 0;
        for (int lane = first; lane < first + lanes; lane++) {
            if (!(m >> lane & 1))
                continue;
            for (int j = 0; j < words; j++) {
                uint64_t w = address[lane] / 4 + (uint64_t)j;
                int i = is_atomic ? n : 0;
                while (i < n && word[i] != w)
                    i++;
                if (i < n)
                    continue;
                word[n++] = w;
                if (++asked[w % 32] > most)
                    most = asked[w % 32];
            }
        }
        c.phases += most > 0;
        c.wavefronts += most;
    }
    return c;
}

SharedCost
cost_shared(uint32_t m, const uint64_t address[32], int bytes)
{
    return shared_cost(m, address, bytes, 0);
}

SharedCost
cost_shared_atomic(uint32_t m, const uint64_t address[32], int bytes)
{
    return shared_cost(m, address, bytes, 1);
}
