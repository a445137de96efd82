/* late: copies that land late.
 *
 * A cp.async does nothing but mark its bytes until the thread waits for its group: then,
 * and not before, it reads its source and writes. A bulk copy lands when somebody looks at its
 * mbarrier, no more of them than the phase asks for, or its thread waits for its group. So what is read too early, or what of
 * the source is overwritten too early, is noticed, whatever a GPU's timing would be. Whoever ends
 * before a bulk copy has landed is told: the shared memory is another block's by then.
 */
#include "ptx/async.h"
#include "ptx/engine.h"

/* ---- cp.async -------------------------------------------------------------------- */

void
late_copy(Lanes *lanes, const Ins *i, int lane, uint64_t to, uint64_t from, uint32_t n)
{
    Warp *w = warp_of(lanes);
    Copy c = {.i = i,
              .lane = (uint32_t)lane,
              .to = (uint32_t)(to - SHARED_BASE),
              .bytes = i->bytes,
              .group = w->committed[lane],
              .number = ++w->n_issued[lane],
              .n_from = n};
    if (n) {
        c.from = n == i->bytes
                     ? warp_bytes(&w->lanes, i, lane, SPACE_GLOBAL, from, n, false)
                     : (const uint8_t *)(uintptr_t)from;
        if (n != i->bytes)
            warp_want(w, i, lane, c.from, n, false);
        memcpy(c.seen, c.from, n);
    }
    warp_bytes(&w->lanes, i, lane, SPACE_SHARED, to, i->bytes, true);
    memset(warp_states(&w->lanes, SPACE_SHARED, to), BYTE_PENDING, i->bytes);
    w->copies = warp_room(w, w->copies, w->n_copies, &w->cap_copies, sizeof *w->copies);
    w->copies[w->n_copies++] = c;
}

void
late_commit(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    (void)i;
    for (int l = 0; l < LANES; l++)
        w->committed[l] += m >> l & 1;
}

static void
land_copy(Warp *w, const Copy *c)
{
    uint8_t *to = w->cta->shared + c->to;
    if (c->n_from && warp_launch(w)->is_checked &&
        memcmp(c->seen, c->from, c->n_from) != 0)
        warp_fault(
            w, c->i, (int)c->lane, FAULT_RACE,
            "race: memory was written while an asynchronous copy of it was under "
            "way");
    if (c->n_from)
        memcpy(to, c->from, c->n_from);
    memset(to + c->n_from, 0, c->bytes - c->n_from);
    memset(w->cta->state + c->to, BYTE_DEFINED, c->bytes);
    proxy_wrote(w, c->i, 1u << c->lane, c->to, c->bytes);
}

/* Of the lanes of m: all but the newest `pending` groups, and all up to number `until`. */
static void
land_copies(Warp *w, uint32_t m, int64_t pending, int64_t until)
{
    int n = 0;
    for (int k = 0; k < w->n_copies; k++) {
        const Copy *c = &w->copies[k];
        bool is_over = c->group < w->committed[c->lane] - pending || c->number <= until;
        if (m >> c->lane & 1 && is_over)
            land_copy(w, c);
        else
            w->copies[n++] = *c;
    }
    w->n_copies = n;
}

void
late_wait(Lanes *w, const Ins *i, uint32_t m)
{
    land_copies(warp_of(w), m, i->imm, 0);
}

/* ---- bulk copies ----------------------------------------------------------------- */

static void
keep_bulk(Warp *w, Bulk b)
{
    Cluster *k = w->cta->cluster;
    k->bulk = warp_room(w, k->bulk, k->n_bulk, &k->cap_bulk, sizeof *k->bulk);
    k->bulk[k->n_bulk++] = b;
}

void
late_bulk(Lanes *lanes, const Ins *i, int lane, const PtxBulk *b)
{
    Warp *w = warp_of(lanes);
    if (b->bar)
        warp_order(lanes, i, lane, b->bar, HAND_LEAVE);
    uint8_t *seen = malloc(b->n);
    if (!seen)
        warp_fault(w, i, lane, FAULT_MEMORY, "out of memory");
    memcpy(seen, b->from, b->n);
    keep_bulk(w, (Bulk){.copy = *b,
                        .seen = seen,
                        .of = w,
                        .i = i,
                        .lane = lane,
                        .group = w->bulk_groups[lane]});
    if (b->state)
        memset(b->state, BYTE_PENDING, b->n);
}

void
late_bulk_commit(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    (void)i;
    for (int l = 0; l < LANES; l++)
        w->bulk_groups[l] += m >> l & 1;
}

void
late_arrive(Lanes *lanes, const Ins *i, int lane, uint8_t *bar)
{
    Warp *w = warp_of(lanes);
    warp_order(lanes, i, lane, bar, HAND_LEAVE);
    keep_bulk(w, (Bulk){.copy = {.bar = bar},
                        .of = w,
                        .i = i,
                        .lane = lane,
                        .until = w->n_issued[lane],
                        .is_read = true});
}

/* Its source has been read: until here it was to stay as it was. */
static void
read_source(Bulk *k)
{
    if (!k->is_read && memcmp(k->seen, k->copy.from, k->copy.n) != 0)
        warp_fault(k->of, k->i, k->lane, FAULT_RACE,
                   "race: memory was written while a bulk copy of it was under way");
    k->is_read = true;
}

static void
land(Bulk *k)
{
    const char *why;
    if (k->copy.n) {
        read_source(k);
        k->copy.from = k->seen;
        why = bulk_land(&k->copy);
    } else {
        land_copies(k->of, 1u << k->lane, INT64_MAX, k->until);
        why = mbarrier_count(k->copy.bar, 1, 0);
    }
    free(k->seen);
    k->seen = NULL;
    if (why)
        warp_fault(k->of, k->i, k->lane, FAULT_INVALID, "%s", why);
    k->of = NULL;
}

/* Drops what has landed. While copies land, none changes its place: a fault ends that anywhere, and what is
 * there twice would be freed twice. */
static void
drop_landed(Cluster *c)
{
    int left = 0;
    for (int n = 0; n < c->n_bulk; n++)
        if (c->bulk[n].of)
            c->bulk[left++] = c->bulk[n];
    c->n_bulk = left;
}

void
late_look(Lanes *lanes, uint8_t *bar)
{
    Cluster *c = warp_of(lanes)->cta->cluster;
    uint64_t before, now;
    memcpy(&before, bar, sizeof before);
    now = before;
    for (int k = 0; k < c->n_bulk; k++)
        if (c->bulk[k].copy.bar == bar && now >> 63 == before >> 63) {
            land(&c->bulk[k]);
            memcpy(&now, bar, sizeof now);
        }
    drop_landed(c);
}

static void
wait_for_bulk(Warp *w, uint32_t m, int64_t pending, bool is_read)
{
    Cluster *c = w->cta->cluster;
    EACH_LANE_OF(l, m)
        order_wait(w, 1u << l, &w->bulk_groups[l], w->bulk_groups[l] - pending);
    for (int n = 0; n < c->n_bulk; n++) {
        Bulk *k = &c->bulk[n];
        bool is_over = !k->copy.bar && k->of == w && m >> k->lane & 1 &&
                       k->group < w->bulk_groups[k->lane] - pending;
        if (is_over && is_read)
            read_source(k);
        else if (is_over)
            land(k);
    }
    drop_landed(c);
}

void
late_bulk_wait(Lanes *w, const Ins *i, uint32_t m)
{
    wait_for_bulk(warp_of(w), m, i->imm, i->flags);
}

void
late_leave(Warp *w, uint32_t m, bool is_last)
{
    Cluster *c = w->cta->cluster;
    for (int n = 0; n < c->n_bulk; n++) {
        const Bulk *k = &c->bulk[n];
        if (!k->copy.bar && k->of == w && m >> k->lane & 1 && !k->is_read)
            warp_fault(w, k->i, k->lane, FAULT_RACE,
                       "a thread ends while a bulk copy of its shared memory is under "
                       "way: nobody waited for its group");
        if (is_last && k->copy.bar && k->copy.n)
            warp_fault(w, k->i, k->lane, FAULT_RACE,
                       "a program ends while a bulk copy to its shared memory is under "
                       "way: nobody waited at its mbarrier");
    }
    wait_for_bulk(w, m, -1, false);
}

const char *
late_writer(const Cta *c, uint64_t at, uint32_t n)
{
    for (int k = 0; k < c->n_warps; k++)
        for (int j = 0; j < c->warps[k].n_copies; j++) {
            const Copy *y = &c->warps[k].copies[j];
            if (y->to < at + n && at < y->to + y->bytes)
                return "cp.async";
        }
    return "cp.async.bulk";
}

void
late_clear(Cluster *c)
{
    for (int k = 0; k < c->n_bulk; k++)
        free(c->bulk[k].seen);
    c->n_bulk = 0;
}
