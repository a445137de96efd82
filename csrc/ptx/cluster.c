/* cluster: addresses in the blocks of a cluster.
 *
 *     31         24 23                0
 *     | rank + 1   |  address         |     0 above: the thread's own block
 */
#include "ptx/engine.h"
#include "ptx/lanes.h"

enum { IN_BLOCK = (1 << CLUSTER_SHIFT) - 1, NO_BLOCK = 255 };

/* mapa: the address of the same byte in another block of the cluster. Of a block that there is
 * not it is an address that nobody may use: lanes may ask and then not do it. */
static uint64_t
in_block(uint64_t address, uint64_t rank)
{
    uint64_t block = rank < NO_BLOCK - 1 ? rank + 1 : NO_BLOCK;
    return (address & (GENERIC_SHARED | IN_BLOCK)) | block << CLUSTER_SHIFT;
}
BY_WORD(mapa, in_block(x, y))

static uint64_t
rank_of(uint64_t address, int own)
{
    uint64_t r = (address & ~GENERIC_SHARED) >> CLUSTER_SHIFT;
    return r ? r - 1 : (uint64_t)own;
}
BY_WORD(getctarank, rank_of(x, warp_of(w)->cta->rank))

/* Of an address: 4 or 8 bytes. */
static int
dec_address_bytes(Dec *d)
{
    dec_space(d);
    Type t = dec_type(d);
    dec_refuse(d, (t != T_U32 && t != T_U64) || dec_sm(d) < 90);
    d->ins->is_threads_own = true;
    return type_info[t].bytes;
}

static void
dec_mapa(Dec *d)
{
    int bytes = dec_address_bytes(d);
    dec_out(d, 0, bytes);
    dec_in(d, 1, bytes);
    dec_in(d, 2, 4);
    dec_operands(d, 3);
    d->ins->run = mapa;
}

static void
dec_getctarank(Dec *d)
{
    int bytes = dec_address_bytes(d);
    dec_out(d, 0, 4);
    dec_in(d, 1, bytes);
    dec_operands(d, 2);
    d->ins->run = getctarank;
}

const OpRow cluster_ops[] = {
    {"mapa", dec_mapa}, {"getctarank", dec_getctarank}, {NULL, NULL}};
