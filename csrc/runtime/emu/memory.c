/* memory: every access of an emulated thread, checked.
 *
 * Shared memory. Two accesses of one byte by different threads, one of them a write, must
 * be ordered: by a barrier, or inside a warp by warp_sync. Equal values written by several
 * threads are no race: code that lets every lane store the same partial result is right.
 * Reading a byte that no thread of this program has written is a fault.
 *
 * Global memory. Each access lies within one of the tensors passed, at the alignment the
 * compiler claimed.
 */
#include "ir/ir.h"
#include "runtime/emu/internal.h"

/* ---- shared ---------------------------------------------------------------------------------- */

static bool
write_is_ordered(const EmuThread *t, const Shadow *s)
{
    const EmuBlock *b = t->b;
    if (s->w_epoch != t->cta->epoch || s->w_thread == t->id)
        return true;
    if (s->w_thread == REMOTE_THREAD)
        return t->sites_seen >> s->w_warp_epoch & 1;
    int warp = s->w_thread >= ATOMIC_WARP ? s->w_thread - ATOMIC_WARP
                                          : s->w_thread / LANES;
    return s->w_thread != ATOMIC_THREAD && warp == t->id / LANES &&
           s->w_warp_epoch != b->warp_epoch[t->id / LANES];
}

static bool
reads_are_ordered(const EmuThread *t, const Shadow *s)
{
    const EmuBlock *b = t->b;
    if (s->r_epoch != t->cta->epoch)
        return true;
    if (s->r_many == 0 && s->r_thread == t->id)
        return true;
    return s->r_many < 2 && s->r_thread / LANES == t->id / LANES &&
           s->r_warp_epoch != b->warp_epoch[t->id / LANES];
}

void
emu_check_shared(EmuThread *t, int32_t offset, int32_t bytes, int32_t align,
                 const EmuPlace *at)
{
    int limit = t->b->grid->run->shared_bytes;
    if (offset < 0 || bytes > limit || offset > limit - bytes)
        emu_fault(t, EMU_BOUNDS, at,
                  "shared memory access of %d bytes at offset %d of %d", bytes, offset,
                  limit);
    if (align > 0 && offset % align)
        emu_fault(t, EMU_MISALIGNED, at,
                  "shared memory offset %d is not a multiple of %d", offset, align);
}

static void
refuse_in_flight(EmuThread *t, const Shadow *s, int32_t offset, const EmuPlace *at)
{
    if (s->in_flight && s->w_epoch >= t->b->first_epoch)
        emu_fault(
            t, EMU_RACE, at,
            "race: thread %d touches shared memory at offset %d, which an asynchronous copy "
            "of thread %d is still to write",
            t->id, offset, s->w_thread);
}

static void
note_read(EmuThread *t, int32_t offset, int32_t bytes, const EmuPlace *at)
{
    EmuBlock *b = t->b;
    uint32_t warp_epoch = b->warp_epoch[t->id / LANES];
    for (int32_t i = offset; i < offset + bytes; i++) {
        Shadow *s = &t->cta->shadow[i];
        refuse_in_flight(t, s, i, at);
        if (s->w_epoch < b->first_epoch)
            emu_fault(
                t, EMU_UNWRITTEN, at,
                "thread %d reads shared memory at offset %d, which nobody has written",
                t->id, i);
        if (!write_is_ordered(t, s))
            emu_fault(
                t, EMU_RACE, at,
                "race: thread %d reads shared memory at offset %d, written by thread %d "
                "since the last barrier",
                t->id, i, s->w_thread);
        /* What this warp alone read before it synchronised is behind all its threads, and
         * another warp's write meets this read as well. */
        bool is_behind = s->r_many < 2 && s->r_thread / LANES == t->id / LANES &&
                         s->r_warp_epoch != warp_epoch;
        if (s->r_epoch != t->cta->epoch || is_behind) {
            s->r_many = 0;
            s->r_thread = (uint16_t)t->id;
        } else if (s->r_thread != t->id) {
            uint8_t many = s->r_thread / LANES == t->id / LANES ? 1 : 2;
            s->r_many = MAX(s->r_many, many);
        }
        s->r_epoch = t->cta->epoch;
        s->r_warp_epoch = warp_epoch;
    }
}

void
emu_note_write(EmuThread *t, int32_t offset, int32_t bytes, const unsigned char *value,
               const EmuPlace *at)
{
    EmuBlock *b = t->b;
    for (int32_t i = 0; i < bytes; i++) {
        Shadow *s = &t->cta->shadow[offset + i];
        refuse_in_flight(t, s, offset + i, at);
        bool same = value && t->cta->shared[offset + i] == value[i];
        if (!write_is_ordered(t, s) && !same)
            emu_fault(
                t, EMU_RACE, at,
                "race: threads %d and %d write different values to shared memory at offset "
                "%d with no barrier between",
                s->w_thread, t->id, offset + i);
        if (!reads_are_ordered(t, s))
            emu_fault(
                t, EMU_RACE, at,
                "race: thread %d writes shared memory at offset %d, read by thread %d since "
                "the last barrier",
                t->id, offset + i, s->r_thread);
        s->w_epoch = t->cta->epoch;
        s->w_warp_epoch = b->warp_epoch[t->id / LANES];
        s->w_thread = (uint16_t)t->id;
    }
}

void
emu_shared_load(EmuThread *t, int32_t offset, int32_t bytes, int32_t align, void *value,
                const EmuPlace *at)
{
    emu_check_shared(t, offset, bytes, align, at);
    note_read(t, offset, bytes, at);
    memcpy(value, t->cta->shared + offset, (size_t)bytes);
}

void
emu_shared_store(EmuThread *t, int32_t offset, int32_t bytes, int32_t align,
                 const void *value, const EmuPlace *at)
{
    emu_check_shared(t, offset, bytes, align, at);
    emu_note_write(t, offset, bytes, value, at);
    memcpy(t->cta->shared + offset, value, (size_t)bytes);
}

int32_t
emu_shared_add(EmuThread *t, int32_t offset, int32_t v, const EmuPlace *at)
{
    EmuBlock *b = t->b;
    emu_check_shared(t, offset, 4, 4, at);
    for (int32_t i = offset; i < offset + 4; i++) {
        Shadow *s = &t->cta->shadow[i];
        refuse_in_flight(t, s, i, at);
        if (s->w_epoch < b->first_epoch)
            emu_fault(t, EMU_UNWRITTEN, at,
                      "thread %d adds to shared memory at offset %d, which "
                      "nobody has written",
                      t->id, i);
        bool is_ordered = write_is_ordered(t, s);
        if (s->w_thread < ATOMIC_WARP && !is_ordered)
            emu_fault(t, EMU_RACE, at,
                      "race: thread %d adds to shared memory at offset %d, written "
                      "by thread %d since the last barrier",
                      t->id, i, s->w_thread);
        if (!reads_are_ordered(t, s))
            emu_fault(t, EMU_RACE, at,
                      "race: thread %d adds to shared memory at offset %d, read by "
                      "thread %d since the last barrier",
                      t->id, i, s->r_thread);
        uint16_t lanes = (uint16_t)(ATOMIC_WARP + t->id / LANES);
        s->w_thread = is_ordered || s->w_thread == lanes ? lanes : ATOMIC_THREAD;
        s->w_epoch = t->cta->epoch;
        s->w_warp_epoch = b->warp_epoch[t->id / LANES];
    }
    int32_t old;
    memcpy(&old, t->cta->shared + offset, 4);
    uint32_t sum = (uint32_t)old + (uint32_t)v;
    memcpy(t->cta->shared + offset, &sum, 4);
    return old;
}

/* One row of an 8x8 matrix of 16-bit elements, for ldmatrix. */
static void
read_row(EmuThread *t, int32_t offset, uint16_t row[8], const EmuPlace *at)
{
    emu_shared_load(t, offset, 16, 16, row, at);
}

void
emu_do_ldmatrix(EmuThread *warp)
{
    int n = warp[0].in;
    bool trans = warp[0].out != 0;
    for (int m = 0; m < n; m++) {
        uint16_t x[8][8];
        for (int r = 0; r < 8; r++)
            read_row(&warp[8 * m + r], warp[8 * m + r].param, x[r], warp[8 * m + r].at);
        for (int l = 0; l < LANES; l++) {
            int i = l / 4, j = l % 4 * 2;
            uint32_t lo = trans ? x[j][i] : x[i][j],
                     hi = trans ? x[j + 1][i] : x[i][j + 1];
            warp[l].d[m] = lo | hi << 16;
        }
    }
}

void
emu_ldmatrix(EmuThread *t, int32_t offset, int32_t n, int32_t trans, uint32_t *out,
             const EmuPlace *at)
{
    t->in = n;
    t->out = trans;
    t->param = offset;
    t->d = out;
    t->at = at;
    emu_warp_op(t, W_LDMATRIX, at);
}

/* Lane 8 m + r is said to have written row r of matrix m: it handed in the address. */
void
emu_do_stmatrix(EmuThread *warp)
{
    int n = warp[0].in;
    bool trans = warp[0].out != 0;
    for (int m = 0; m < n; m++)
        for (int r = 0; r < 8; r++) {
            uint16_t row[8];
            for (int c = 0; c < 8; c++) {
                int i = trans ? c : r, j = trans ? r : c;
                row[c] = (uint16_t)(warp[4 * i + j / 2].a[m] >> 16 * (j % 2));
            }
            EmuThread *t = &warp[8 * m + r];
            emu_shared_store(t, t->param, sizeof row, sizeof row, row, t->at);
        }
}

void
emu_stmatrix(EmuThread *t, int32_t offset, int32_t n, int32_t trans,
             const uint32_t *words, const EmuPlace *at)
{
    t->in = n;
    t->out = trans;
    t->param = offset;
    t->a = words;
    t->at = at;
    emu_warp_op(t, W_STMATRIX, at);
}

/* ---- global ------------------------------------------------------------------------------------ */

static bool
covers(const EmuRegion *r, uint64_t address, int32_t bytes)
{
    return address >= r->start && (uint64_t)bytes <= r->bytes &&
           address - r->start <= r->bytes - (uint64_t)bytes;
}

/* The tensor the address is nearest to, to name in the message. */
static int
nearest(const EmuRun *r, uint64_t address, int64_t *distance)
{
    int best = 0;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < r->n_regions; i++) {
        const EmuRegion *g = &r->regions[i];
        bool below = address < g->start;
        uint64_t d = below ? g->start - address : address - g->start;
        uint64_t gap = below ? d : d - MIN(d, g->bytes);
        if (gap < least) {
            least = gap;
            best = i;
            *distance = below ? -(int64_t)d : (int64_t)d;
        }
    }
    return best;
}

/* The tensor that has these bytes; -1: none. */
static int
region_of(EmuThread *t, uint64_t address, int32_t bytes)
{
    const EmuRun *r = t->b->grid->run;
    if (covers(&r->regions[t->b->last_region], address, bytes))
        return t->b->last_region;
    for (int i = 0; i < r->n_regions; i++)
        if (covers(&r->regions[i], address, bytes))
            return t->b->last_region = i;
    return -1;
}

/* Is there any memory? What was found once may have gone since, as on a GPU. */
static bool
is_memory(EmuThread *t, uint64_t address, int32_t bytes)
{
    uint64_t page = address & -page_bytes();
    if (page && page == t->b->last_page &&
        address + (uint64_t)bytes <= page + page_bytes())
        return true;
    if (!page_is_there(address, (uint64_t)bytes))
        return false;
    t->b->last_page = page;
    return true;
}

bool
emu_is_allowed(EmuThread *t, uint64_t address, int32_t bytes, bool is_write,
               bool is_elsewhere)
{
    const EmuRun *r = t->b->grid->run;
    int found = r->n_regions ? region_of(t, address, bytes) : -1;
    if (found >= 0)
        return !(is_write && r->regions[found].read_only);
    return is_elsewhere ? is_memory(t, address, bytes) : !r->n_regions;
}

void *
emu_global(EmuThread *t, uint64_t address, int32_t bytes, int32_t align,
           int32_t is_write, const EmuPlace *at)
{
    const EmuRun *r = t->b->grid->run;
    if (align > 1 && address % (uint64_t)align)
        emu_fault(t, EMU_MISALIGNED, at, "address %#llx is not a multiple of %d bytes",
                  (unsigned long long)address, align);
    if (emu_is_allowed(t, address, bytes, is_write, at && at->is_elsewhere))
        return (void *)(uintptr_t)address;
    if (at && at->is_elsewhere && !is_memory(t, address, bytes))
        emu_fault(
            t, EMU_BOUNDS, at,
            "out of bounds: %s of %d bytes at %#llx, where no memory is: the pointer "
            "is of no argument",
            is_write ? "store" : "load", bytes, (unsigned long long)address);
    if (r->n_regions) {
        int found = region_of(t, address, bytes);
        if (found < 0) {
            int64_t d = 0;
            const EmuRegion *g = &r->regions[nearest(r, address, &d)];
            emu_fault(
                t, EMU_BOUNDS, at,
                "out of bounds: %s of %d bytes at byte %lld of argument %d, which has %llu",
                is_write ? "store" : "load", bytes, (long long)d, g->param,
                (unsigned long long)g->bytes);
        }
        if (is_write && r->regions[found].read_only)
            emu_fault(t, EMU_READ_ONLY, at, "store to argument %d, which is read-only",
                      r->regions[found].param);
    }
    return (void *)(uintptr_t)address;
}

static uint64_t
load_bits(const void *p, int bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, (size_t)bytes); /* little-endian, as every target we have */
    return v;
}

#define EXCHANGE(T)                                                                    \
    {                                                                                  \
        T seen = (T) * was;                                                            \
        bool ok = __atomic_compare_exchange_n((T *)p, &seen, (T)now, false,            \
                                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);     \
        *was = seen;                                                                   \
        return ok;                                                                     \
    }

/* Puts now where *was stands, or says what does: as assembly's atomics (ptx/atomic.c). */
static bool
exchange(void *p, int bytes, uint64_t *was, uint64_t now)
{
    switch (bytes) {
    case 1: EXCHANGE(uint8_t)
    case 2: EXCHANGE(uint16_t)
    case 4: EXCHANGE(uint32_t)
    default: EXCHANGE(uint64_t)
    }
}

void
emu_atomic(EmuThread *t, int32_t rmw, int32_t elem, int32_t n, uint64_t address,
           const void *value, void *old, const EmuPlace *at)
{
    static const OpCode op_of[] = {
        [RMW_ADD] = OP_ADD, [RMW_MAX] = OP_MAX, [RMW_MIN] = OP_MIN,
        [RMW_AND] = OP_AND, [RMW_OR] = OP_OR,   [RMW_XOR] = OP_XOR,
    };
    Elem e = (Elem)elem;
    int bytes = elem_info[e].bytes;
    char *p = emu_global(t, address, n * bytes, n * bytes, rmw != RMW_LOAD, at);
    emu_order_strong(t);
    if (rmw == RMW_LOAD) {
        uint64_t was = load_bits(p, bytes);
        memcpy(old, &was, (size_t)bytes);
        return;
    }
    for (int at_byte = 0; at_byte < n * bytes; at_byte += bytes) {
        uint64_t with = load_bits((const char *)value + at_byte, bytes), now = with,
                 was = load_bits(p + at_byte, bytes);
        do
            if (rmw != RMW_XCHG && rmw != RMW_STORE)
                ir_eval(op_of[rmw], e, e, (uint64_t[]){was, with}, 2, &now);
        while (!exchange(p + at_byte, bytes, &was, now));
        memcpy((char *)old + at_byte, &was, (size_t)bytes);
    }
}

void
emu_cas(EmuThread *t, int32_t elem, uint64_t address, const void *compare,
        const void *value, void *old, const EmuPlace *at)
{
    int bytes = elem_info[elem].bytes;
    void *p = emu_global(t, address, bytes, bytes, true, at);
    emu_order_strong(t);
    uint64_t was = load_bits(compare, bytes);
    exchange(p, bytes, &was, load_bits(value, bytes));
    memcpy(old, &was, (size_t)bytes);
}
