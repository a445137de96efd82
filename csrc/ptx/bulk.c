/* bulk: cp.async.bulk, cp.reduce.async.bulk: one thread copies many bytes.
 *
 *     cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], n, [bar];
 *     cp.async.bulk.global.shared::cta.bulk_group [to], [from], n;
 *
 * What an instruction asks for becomes a PtxBulk of plain pointers, all of it checked; late.c
 * lets it land (bulk_land) when it must have landed. To several blocks it is one for each. Copies of tiles (.tensor) are made of them: tmap.c.
 */
#include "ptx/async.h"
#include "ptx/engine.h"
#include "ptx/lanes.h"

enum { PIECE = 16, MOST = 1 << 20 }; /* bytes */
enum { TO, FROM, BAR };

typedef struct Form {
    Space to, from;
    int64_t offset[3]; /* of TO, FROM, BAR */
    bool tells;        /* an mbarrier */
    bool to_many;      /* blocks, by a mask: the last operand */
    int8_t op;
    uint8_t type;
} Form;

/* ---- landing --------------------------------------------------------------------- */

static void
reduce(const PtxBulk *b)
{
    uint32_t size = type_info[b->type].bytes;
    for (uint32_t k = 0; k < b->n; k += size) {
        uint64_t x = 0, y = 0;
        memcpy(&x, (uint8_t *)b->to + k, size);
        memcpy(&y, (const uint8_t *)b->from + k, size);
        x = atomic_combined(b->op, (Type)b->type, x, y);
        memcpy((uint8_t *)b->to + k, &x, size);
    }
}

const char *
bulk_land(const PtxBulk *b)
{
    if (b->op < 0)
        memcpy(b->to, b->from, b->n);
    else
        reduce(b);
    if (b->state)
        memset(b->state, BYTE_DEFINED, b->n);
    return b->bar ? mbarrier_count(b->bar, 0, -(int64_t)b->n) : NULL;
}

/* ---- issue ----------------------------------------------------------------------- */

uint8_t *
bulk_bytes(Lanes *w, const Ins *i, int lane, Space space, uint64_t address, uint32_t n,
           bool is_store)
{
    w->how = space == SPACE_GLOBAL ? HOW_PLAIN : HOW_ASYNC;
    uint8_t *p = w->owner->bytes(w, i, lane, space, address, n, is_store);
    w->how = HOW_PLAIN;
    return p;
}

/* n bytes from an address on, all of which may be used. */
static uint8_t *
range(Lanes *w, const Ins *i, int lane, Space space, uint64_t address, uint32_t n,
      bool is_store)
{
    uint8_t *first = NULL;
    if (address % PIECE)
        lanes_fault(w, i, lane,
                    "misaligned: a bulk copy's addresses are multiples of %d", PIECE);
    for (uint32_t k = 0; k < n; k += PIECE) {
        uint8_t *p = bulk_bytes(w, i, lane, space, address + k, PIECE, is_store);
        first = first ? first : p;
    }
    return first;
}

void
bulk_async(Lanes *w, const Ins *i, int lane, Space space, uint64_t address, uint32_t n,
           bool is_store, const void *bar)
{
    const void *group = &warp_of(w)->bulk_groups[lane];
    warp_async(w, i, lane, space, address, n, is_store, bar ? bar : group);
}

uint64_t
bulk_in_block(uint64_t address, int rank)
{
    return (address & ((1u << CLUSTER_SHIFT) - 1)) | (uint64_t)(rank + 1)
                                                         << CLUSTER_SHIFT;
}

typedef struct Place {
    uint64_t to, bar;
} Place;

static void
to_place(Lanes *w, const Ins *i, int lane, PtxBulk *b, Place at)
{
    const Form *f = i->more;
    b->to = range(w, i, lane, f->to, at.to, b->n, true);
    b->state = f->to == SPACE_GLOBAL ? NULL : lanes_states(w, f->to, at.to);
    if (f->tells)
        b->bar = mbarrier_at(w, i, lane, SPACE_CLUSTER, at.bar);
    bulk_async(w, i, lane, f->to, at.to, b->n, true, b->bar);
    late_bulk(w, i, lane, b);
}

static void
bulk_copy(Lanes *w, const Ins *i, uint32_t m)
{
    const Form *f = i->more;
    uint64_t to[LANES], from[LANES], size[LANES], bar[LANES] = {0}, mask[LANES];
    lanes_addresses(w, i, m, to);
    lanes_get(w, i->in[1], from);
    lanes_get(w, i->in[2], size);
    if (f->tells)
        lanes_get(w, i->in[3], bar);
    if (f->to_many)
        lanes_get(w, i->in[4], mask);
    lanes_want_operands(w, i, m);
    for (int l = 0; l < LANES; l++) {
        uint32_t n = (uint32_t)size[l];
        if (!(m >> l & 1))
            continue;
        if (n % PIECE || n > MOST)
            lanes_fault(w, i, l, "a bulk copy of %u bytes", n);
        if (!n)
            continue;
        PtxBulk b = {.n = n, .op = f->op, .type = f->type};
        Place at = {to[l], bar[l] + (uint64_t)f->offset[BAR]};
        uint64_t source = from[l] + (uint64_t)f->offset[FROM];
        b.from = range(w, i, l, f->from, source, n, false);
        if (f->tells && !f->to_many)
            b.bar = mbarrier_at(w, i, l, SPACE_CLUSTER, at.bar);
        bulk_async(w, i, l, f->from, source, n, false, b.bar);
        if (!f->to_many)
            to_place(w, i, l, &b, at);
        for (int rank = 0; f->to_many && rank < 16; rank++)
            if (mask[l] >> rank & 1)
                to_place(w, i, l, &b,
                         (Place){bulk_in_block(at.to, rank),
                                 bulk_in_block(at.bar, rank)});
    }
}

/* ---- rows ------------------------------------------------------------------------ */

Space
bulk_space(Dec *d)
{
    static const struct {
        const char *word;
        Space space;
    } rows[] = {{"global", SPACE_GLOBAL},
                {"shared::cta", SPACE_SHARED},
                {"shared::cluster", SPACE_CLUSTER}};
    for (int k = 0; k < d->n_mods; k++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows && !d->used[k]; r++)
            if (!strcmp(d->mod[k], rows[r].word)) {
                d->used[k] = true;
                return rows[r].space;
            }
    dec_fail(d, "a space is missing");
}

static void
dec_reduction(Dec *d, Form *f)
{
    bool noftz = dec_has(d, "noftz");
    f->op = (int8_t)dec_atomic_op(d);
    Type t = dec_type(d);
    f->type = (uint8_t)t;
    bool is_half = t == T_F16 || t == T_BF16;
    dec_refuse(d, f->op < 0 || t == T_PRED || type_info[t].bytes < 2 ||
                      type_info[t].bytes > 8 || (noftz && !is_half) ||
                      (type_info[t].bytes == 2 && !is_half) ||
                      (f->tells && (is_half || type_info[t].kind == 'f')));
}

static void
dec_bulk_copy(Dec *d, bool is_reduction)
{
    Form *f = dec_more(d, sizeof *f);
    Ins *i = d->ins;
    f->to = bulk_space(d);
    f->from = bulk_space(d);
    f->tells = dec_has(d, "mbarrier::complete_tx::bytes");
    f->to_many = f->tells && dec_has(d, "multicast::cluster");
    bool policy = dec_has(d, "L2::cache_hint"), in_group = dec_has(d, "bulk_group");
    f->op = -1;
    if (is_reduction)
        dec_reduction(d, f);
    bool from_global = f->from == SPACE_GLOBAL, to_global = f->to == SPACE_GLOBAL;
    dec_refuse(d, f->tells == in_group || to_global != in_group ||
                      (to_global && from_global) || (from_global && is_reduction) ||
                      f->from == SPACE_CLUSTER || (f->to_many && !from_global) ||
                      (f->to == SPACE_SHARED && !from_global));
    dec_operands(d, 3 + f->tells + f->to_many + policy);
    i->space = (uint8_t)f->to;
    dec_address(d, 0);
    f->offset[FROM] = dec_offset(d, 1);
    dec_in(d, 2, 4);
    if (f->tells)
        f->offset[BAR] = dec_offset(d, 3);
    if (f->to_many)
        dec_in(d, 4, 2);
    i->run = bulk_copy;
}

void
dec_bulk(Dec *d)
{
    bool is_reduction = !strncmp(d->text, "cp.reduce", 9);
    Ins *i = d->ins;
    dec_refuse(d, is_reduction && !dec_has(d, "bulk"));
    dec_since(d, 90);
    if (dec_has(d, "tensor")) {
        dec_tensor_copy(d, is_reduction);
        return;
    }
    if (dec_has(d, "commit_group")) {
        i->run = late_bulk_commit;
    } else if (dec_has(d, "wait_group")) {
        i->flags = dec_has(d, "read");
        if (!dec_literal(d, 0, &i->imm) || i->imm < 0)
            dec_fail(d, "a number of groups");
        i->run = late_bulk_wait;
    } else if (dec_has(d, "prefetch")) {
        dec_take_all(d);
        i->run = run_nothing;
    } else {
        dec_bulk_copy(d, is_reduction);
    }
}

/* ---- cp.async.mbarrier.arrive ---------------------------------------------------- */

static void
arrive_later(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t address[LANES];
    lanes_addresses(w, i, m, address);
    EACH_LANE_OF(l, m) {
        uint8_t *bar = mbarrier_at(w, i, l, (Space)i->space, address[l]);
        if (!i->flags)
            mbarrier_expect_one(bar);
        late_arrive(w, i, l, bar);
    }
}

/* flags: .noinc, the arrival is one of those that the phase expects. */
void
dec_arrive_later(Dec *d)
{
    Ins *i = d->ins;
    dec_refuse(d, !dec_has(d, "arrive"));
    i->flags = dec_has(d, "noinc");
    i->space = (uint8_t)dec_space(d);
    dec_refuse(d, !dec_has(d, "b64") || d->n_opds != 1);
    dec_address(d, 0);
    i->run = arrive_later;
}
