/* cluster: addresses in the blocks of a cluster.
 *
 *     31         24 23                0
 *     | rank + 1   |  address         |     0 above: the thread's own block
 */
#include "ptx/lanes.h"

enum { IN_BLOCK = (1 << CLUSTER_SHIFT) - 1, NO_BLOCK = 255 };

/* mapa: the address of the same byte in another block of the cluster. Of a block that there is
 * not it is an address that nobody may use: lanes may ask and then not do it. */
static void
mapa(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t a[LANES], rank[LANES];
    lanes_get(w, i->in[0], a);
    lanes_get(w, i->in[1], rank);
    for (int l = 0; l < LANES; l++) {
        uint64_t generic = a[l] & GENERIC_SHARED,
                 block = rank[l] < NO_BLOCK - 1 ? rank[l] + 1 : NO_BLOCK;
        a[l] = generic | block << CLUSTER_SHIFT | (a[l] & IN_BLOCK);
    }
    lanes_put(w, i->out[0], m, a);
}

static void
getctarank(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t a[LANES];
    int own = w->owner->rank(w);
    lanes_get(w, i->in[0], a);
    for (int l = 0; l < LANES; l++) {
        uint64_t r = (a[l] & ~GENERIC_SHARED) >> CLUSTER_SHIFT;
        a[l] = r ? r - 1 : (uint64_t)own;
    }
    lanes_put(w, i->out[0], m, a);
}

/* Of an address: 4 or 8 bytes. */
static int
dec_address_bytes(Dec *d)
{
    dec_space(d);
    Type t = dec_type(d);
    if ((t != T_U32 && t != T_U64) || dec_sm(d) < 90)
        dec_fail(d, "no such form");
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
    if (d->n_opds != 3)
        dec_fail(d, "%d operands", d->n_opds);
    d->ins->run = mapa;
}

static void
dec_getctarank(Dec *d)
{
    int bytes = dec_address_bytes(d);
    dec_out(d, 0, 4);
    dec_in(d, 1, bytes);
    if (d->n_opds != 2)
        dec_fail(d, "%d operands", d->n_opds);
    d->ins->run = getctarank;
}

const OpRow cluster_ops[] = {
    {"mapa", dec_mapa}, {"getctarank", dec_getctarank}, {NULL, NULL}};
