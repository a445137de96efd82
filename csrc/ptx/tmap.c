/* tmap: cp.async.bulk.tensor: one thread copies a tile of a tensor.
 *
 *     cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
 *         [to], [map, {x, y}], [bar];
 *     cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [map, {x, y}], [from];
 *     cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [map, {x, y}], [from];
 *
 * A tile lies in shared memory without gaps, the innermost dim first, in chunks of 16 bytes.
 * A swizzle turns a chunk's place by the number of its line of 128 bytes: bits 4-6 of the
 * address are XORed with bits 7-9, as many of them as the swizzle has. Elements outside of
 * the tensor arrive as 0 or NaN, count as bytes that came, and are not stored.
 *
 * Each chunk is a bulk copy of its own (bulk.c), so it lands when those do. Source: PTX ISA,
 * "Tensors", "cp.async.bulk.tensor"; CUDA Driver API, cuTensorMapEncodeTiled.
 */
#include "ptx/tmap.h"
#include "ptx/async.h"
#include "ptx/engine.h"

enum { CHUNK = 16, MAGIC = 0x70616d54, MAX_BOX = 256, LINE = 128 };

/* By CUtensorMapDataType. Those that round or flush on the way are not here: no chip has been
 * asked how. */
static const uint8_t types[] = {
    [0] = T_U8,  [1] = T_U16, [2] = T_U32, [3] = T_S32, [4] = T_U64,
    [5] = T_S64, [6] = T_F16, [7] = T_F32, [8] = T_F64, [9] = T_BF16,
};

/* ---- maps ------------------------------------------------------------------------ */

static const char *
refused_shape(int rank, const uint64_t *sizes, const uint64_t *strides,
              const uint32_t *box, const uint32_t *steps)
{
    for (int d = 0; d < rank; d++) {
        if (!sizes[d] || sizes[d] > UINT64_C(1) << 32)
            return "a size of a tensor map is 1 to 2^32";
        if (!box[d] || box[d] > MAX_BOX)
            return "a side of a tensor map's box is 1 to 256";
        if (d && (strides[d - 1] % CHUNK || strides[d - 1] >= UINT64_C(1) << 40))
            return "a stride of a tensor map is a multiple of 16 bytes below 2^40";
        if (steps[d] != 1)
            return "tensor maps that skip elements are not simulated";
    }
    return NULL;
}

const char *
tmap_encode(Tmap *out, int type, int rank, const void *base, const uint64_t *sizes,
            const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
            int interleave, int swizzle, int fill)
{
    *out = (Tmap){0};
    if (type < 0 || type >= (int)(sizeof types))
        return "this type of a tensor map is not simulated";
    if (rank < 1 || rank > TMAP_RANK)
        return "a tensor map has 1 to 5 dims";
    if ((uintptr_t)base % CHUNK)
        return "a tensor map's base is a multiple of 16 bytes";
    if (interleave)
        return "interleaved tensor maps are not simulated";
    if (swizzle < 0 || swizzle > 3)
        return "this swizzle of a tensor map is not simulated";
    const char *why = refused_shape(rank, sizes, strides, box, steps);
    if (why)
        return why;
    uint32_t elem = type_info[types[type]].bytes, inner = box[0] * elem;
    if (inner % CHUNK)
        return "the innermost side of a tensor map's box is a multiple of 16 bytes";
    if (swizzle && inner > (uint32_t)CHUNK << swizzle)
        return "the innermost side of a tensor map's box exceeds its swizzle";
    if (swizzle && inner < (uint32_t)CHUNK << swizzle)
        return "a box narrower than its swizzle is not simulated";
    if (fill && type_info[types[type]].kind != 'f')
        return "only types of floating point can be filled with NaN";
    *out = (Tmap){.magic = MAGIC,
                  .rank = (uint8_t)rank,
                  .type = (uint8_t)type,
                  .swizzle = (uint8_t)(1 << swizzle),
                  .fills_nan = fill,
                  .base = (uint64_t)(uintptr_t)base};
    for (int d = 0; d < rank; d++) {
        out->size[d] = sizes[d];
        out->stride[d] = d ? strides[d - 1] : elem;
        out->box[d] = (uint16_t)box[d];
    }
    return NULL;
}

static void
read_map(Lanes *w, const Ins *i, int lane, uint64_t address, Tmap *m)
{
    enum { HALF = TMAP_BYTES / 2 }; /* what its address is a multiple of */
    uint8_t *to = (uint8_t *)m;
    for (unsigned at = 0; at < TMAP_BYTES; at += HALF)
        memcpy(to + at,
               w->owner->bytes(w, i, lane, SPACE_GENERIC, address + at, HALF, false),
               HALF);
    if (m->magic != MAGIC)
        lanes_fault(w, i, lane, "no tensor map is at %#llx",
                    (unsigned long long)address);
}

/* ---- one tile -------------------------------------------------------------------- */

typedef struct Form {
    int rank;
    bool is_load, to_many;
    int8_t op; /* -1: a copy */
    Space space;
    int64_t map_offset, other_offset, bar_offset; /* other: the source of a store */
} Form;

typedef struct Tile {
    Lanes *w;
    const Ins *i;
    int lane;
    Tmap map;
    int64_t at[TMAP_RANK];
    uint64_t shared, bar; /* addresses */
} Tile;

static const uint8_t *
fill_of(const Tile *t)
{
    static const uint8_t zero[8],
        nan[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}; /* its last bytes */
    return t->map.fills_nan ? nan + sizeof nan - t->map.stride[0] : zero;
}

/* The address of the tensor's element k of the box; 0: it is outside. */
static uint64_t
global_address(const Tile *t, uint64_t k)
{
    uint64_t address = t->map.base;
    for (int d = 0; d < t->map.rank; d++) {
        int64_t x = t->at[d] + (int64_t)(k % t->map.box[d]);
        if (x < 0 || (uint64_t)x >= t->map.size[d])
            return 0;
        address += (uint64_t)x * t->map.stride[d];
        k /= t->map.box[d];
    }
    return address;
}

static uint64_t
chunk_address(const Tile *t, uint64_t chunk)
{
    uint64_t at = t->shared + chunk * CHUNK;
    return at ^ (at / LINE & (uint64_t)(t->map.swizzle - 1)) * CHUNK;
}

static void
want_written(const Tile *t, uint64_t address, uint32_t n)
{
    const uint8_t *state = lanes_states(t->w, SPACE_SHARED, address);
    for (uint32_t b = 0; state && b < n; b++)
        if (state[b] != BYTE_DEFINED)
            lanes_fault(t->w, t->i, t->lane,
                        "stores what nobody wrote, at %#llx of shared memory",
                        (unsigned long long)address + b);
}

/* n bytes between shared memory and one place of the tensor; there 0: outside. */
static void
copy_piece(const Tile *t, uint64_t shared, uint64_t there, uint32_t n)
{
    const Form *f = t->i->more;
    const Owner *o = t->w->owner;
    uint32_t elem = (uint32_t)t->map.stride[0];
    PtxBulk b = {.n = n, .op = f->op, .type = types[t->map.type]};
    uint8_t *first = NULL;
    for (uint32_t k = 0; there && k < n; k += elem) {
        uint8_t *p = o->bytes(t->w, t->i, t->lane, SPACE_GLOBAL, there + k, elem,
                              !f->is_load);
        first = first ? first : p;
    }
    uint8_t *here = bulk_bytes(t->w, t->i, t->lane, f->space, shared, n, f->is_load);
    if (f->is_load)
        b.bar = mbarrier_at(t->w, t->i, t->lane, SPACE_CLUSTER, t->bar);
    if (f->is_load || first)
        bulk_async(t->w, t->i, t->lane, f->space, shared, n, f->is_load, b.bar);
    if (f->is_load) {
        b.to = here;
        b.state = lanes_states(t->w, f->space, shared);
        b.from = first ? first : fill_of(t);
    } else {
        if (!first)
            return;
        want_written(t, shared, n);
        b.to = first;
        b.from = here;
    }
    late_bulk(t->w, t->i, t->lane, &b);
}

/* As an H200 has it: other coordinates are illegal instructions there. */
static void
check_coordinates(const Tile *t)
{
    const Form *f = t->i->more;
    if (t->at[0] * (int64_t)t->map.stride[0] % CHUNK)
        lanes_fault(t->w, t->i, t->lane,
                    "the innermost coordinate, %lld, is no multiple of 16 bytes",
                    (long long)t->at[0]);
    for (int d = 0; d < t->map.rank && !f->is_load; d++)
        if (t->at[d] < 0)
            lanes_fault(t->w, t->i, t->lane,
                        "what is stored begins in front of the tensor, at %lld of its "
                        "dim %d from the innermost",
                        (long long)t->at[d], d);
}

/* As an H200 has it: where all of a box is outside, what it looks at is the tensor's address, and
 * that is illegal where no memory is. */
static void
check_base(const Tile *t)
{
    bool is_outside = false;
    for (int d = 0; d < t->map.rank; d++)
        is_outside |= t->at[d] + (int64_t)t->map.box[d] <= 0 ||
                      t->at[d] >= (int64_t)t->map.size[d];
    if (is_outside)
        t->w->owner->bytes(t->w, t->i, t->lane, SPACE_GLOBAL, t->map.base,
                           (uint32_t)t->map.stride[0], false);
}

static void
copy_tile(const Tile *t)
{
    const Form *f = t->i->more;
    uint32_t elem = (uint32_t)t->map.stride[0], each = CHUNK / elem;
    uint64_t n = 1;
    check_coordinates(t);
    if (f->is_load)
        check_base(t);
    for (int d = 0; d < t->map.rank; d++)
        n *= t->map.box[d];
    if (t->shared % LINE || t->shared % (uint64_t)(LINE * t->map.swizzle))
        lanes_fault(t->w, t->i, t->lane,
                    "a tile of this swizzle begins at a multiple of %d bytes",
                    LINE * t->map.swizzle);
    for (uint64_t k = 0; k < n; k += each) {
        uint64_t shared = chunk_address(t, k / each), first = global_address(t, k);
        if (first && global_address(t, k + each - 1)) {
            copy_piece(t, shared, first, CHUNK);
            continue;
        }
        for (uint64_t e = 0; e < each; e++)
            copy_piece(t, shared + e * elem, global_address(t, k + e), elem);
    }
}

static void
copy_tiles(Lanes *w, const Ins *i, uint32_t m)
{
    const Form *f = i->more;
    int at_map = f->is_load, at_rest = at_map + 1 + f->rank;
    uint64_t first[LANES], map[LANES], x[TMAP_RANK][LANES], rest[2][LANES] = {{0}};
    lanes_addresses(w, i, m, first);
    lanes_get(w, i->in[at_map], map);
    for (int d = 0; d < f->rank; d++)
        lanes_get(w, i->in[at_map + 1 + d], x[d]);
    for (int k = 0; at_rest + k < i->n_in; k++)
        lanes_get(w, i->in[at_rest + k], rest[k]);
    lanes_want_operands(w, i, m);
    EACH_LANE_OF(l, m) {
        Tile t = {.w = w, .i = i, .lane = l};
        read_map(w, i, l, f->is_load ? map[l] + (uint64_t)f->map_offset : first[l],
                 &t.map);
        if (t.map.rank != f->rank)
            lanes_fault(w, i, l, "the tensor map has %d dims", t.map.rank);
        for (int d = 0; d < f->rank; d++)
            t.at[d] = (int32_t)x[d][l];
        if (!f->is_load) {
            t.shared = rest[0][l] + (uint64_t)f->other_offset;
            copy_tile(&t);
            continue;
        }
        uint64_t to = first[l], bar = rest[0][l] + (uint64_t)f->bar_offset;
        for (int rank = 0; rank < 16; rank++) {
            if (f->to_many ? !(rest[1][l] >> rank & 1) : rank > 0)
                continue;
            t.shared = f->to_many ? bulk_in_block(to, rank) : to;
            t.bar = f->to_many ? bulk_in_block(bar, rank) : bar;
            copy_tile(&t);
        }
    }
}

/* ---- rows ------------------------------------------------------------------------ */

/* [map, {x, y, ..}]: the base is a row of in[] and its offset is returned; then the rank
 * coordinates. */
static int64_t
dec_map(Dec *d, int k, int rank, bool is_first)
{
    Opd *o = k < d->n_opds ? &d->opd[k] : NULL;
    int64_t offset = 0;
    if (!o || o->kind != OPD_MEM || o->n_parts != 1 || o->part->kind != OPD_VEC ||
        o->part->n_parts != rank)
        dec_fail(d, "operand %d is no tensor map with %d coordinates", k + 1, rank);
    o->n_parts = 0;
    if (is_first)
        dec_address(d, k);
    else
        offset = dec_offset(d, k);
    o->n_parts = 1;
    for (int c = 0; c < rank; c++)
        dec_in_opd(d, &o->part->part[c], 4);
    return offset;
}

static int
dec_rank(Dec *d)
{
    static const char *const words[] = {"1d", "2d", "3d", "4d", "5d", NULL};
    int rank = dec_one(d, words) + 1;
    if (!rank)
        dec_fail(d, "the number of dims is missing");
    return rank;
}

void
dec_tensor_copy(Dec *d, bool is_reduction)
{
    Form *f = dec_more(d, sizeof *f);
    Ins *i = d->ins;
    if (!dec_in_module(d)) /* who could have made its map? */
        dec_unknown(d, "copies of tensors are not simulated");
    if (dec_has(d, "prefetch")) {
        dec_take_all(d);
        return;
    }
    f->rank = dec_rank(d);
    Space to = bulk_space(d), from = bulk_space(d);
    f->is_load = to != SPACE_GLOBAL;
    f->space = f->is_load ? to : from;
    bool tells = dec_has(d, "mbarrier::complete_tx::bytes"),
         in_group = dec_has(d, "bulk_group"), policy = dec_has(d, "L2::cache_hint");
    f->to_many = f->is_load && dec_has(d, "multicast::cluster");
    dec_has(d, "tile");
    f->op = is_reduction ? (int8_t)dec_atomic_op(d) : -1;
    dec_refuse(d, tells != f->is_load || in_group == f->is_load ||
                      (is_reduction && f->op < 0) || (is_reduction && f->is_load) ||
                      (f->is_load ? from != SPACE_GLOBAL : from != SPACE_SHARED));
    dec_operands(d, 2 + f->is_load + f->to_many + policy);
    if (f->is_load) {
        i->space = (uint8_t)to;
        dec_address(d, 0);
        f->map_offset = dec_map(d, 1, f->rank, false);
        f->bar_offset = dec_offset(d, 2);
        if (f->to_many)
            dec_in(d, 3, 2);
    } else {
        dec_map(d, 0, f->rank, true);
        f->other_offset = dec_offset(d, 1);
    }
    i->run = copy_tiles;
}
