/* mbarrier: barriers in shared memory that count arrivals, and bytes that are to come.
 *
 * Its 64 bits, from the low end: bytes expected (signed, 22), arrivals pending (21), arrivals a
 * phase expects (20), phase (1). All ones is no mbarrier: memory that nobody wrote. Waiting is
 * polling: whoever runs the lanes lets others run (FLOW_YIELD).
 */
#include "ptx/async.h"
#include "ptx/engine.h"
#include "ptx/lanes.h"

enum { MOST_TX = (1 << 20) - 1 }; /* bytes, either way */

typedef struct Mbarrier {
    int64_t tx;
    uint64_t pending, expected, phase;
} Mbarrier;

static Mbarrier
mb_of(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return (Mbarrier){(int64_t)(v << 42) >> 42, v >> 22 & 0x1fffff, v >> 43 & 0xfffff,
                      v >> 63};
}

static void
mb_put(uint8_t *p, Mbarrier b)
{
    uint64_t v = ((uint64_t)b.tx & 0x3fffff) | b.pending << 22 | b.expected << 43 |
                 b.phase << 63;
    memcpy(p, &v, sizeof v);
}

uint8_t *
mbarrier_at(Lanes *w, const Ins *i, int lane, Space space, uint64_t address)
{
    w->how = HOW_MBARRIER;
    uint8_t *p = w->owner->bytes(w, i, lane, space, address, 8, true);
    w->how = HOW_PLAIN;
    const uint8_t *s = lanes_states(w, space, address);
    static const uint8_t poison[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    if (s ? s[0] != BYTE_DEFINED : !memcmp(p, poison, sizeof poison))
        lanes_fault(w, i, lane, "an mbarrier that was never initialised");
    return p;
}

void
mbarrier_expect_one(uint8_t *p)
{
    Mbarrier b = mb_of(p);
    b.pending++;
    mb_put(p, b);
}

const char *
mbarrier_count(uint8_t *p, uint64_t arrivals, int64_t tx)
{
    Mbarrier b = mb_of(p);
    if (arrivals > b.pending)
        return "more arrivals at an mbarrier than its phase expects";
    b.pending -= arrivals;
    b.tx += tx;
    if (b.tx < -MOST_TX || b.tx > MOST_TX)
        return "more bytes at an mbarrier than it can count";
    if (!b.pending && !b.tx) {
        b.phase ^= 1;
        b.pending = b.expected;
    }
    mb_put(p, b);
    return NULL;
}

void
mbarrier_update(Lanes *w, const Ins *i, int lane, Space space, uint64_t address,
                uint64_t arrivals, int64_t tx)
{
    uint8_t *p = mbarrier_at(w, i, lane, space, address);
    const char *why = mbarrier_count(p, arrivals, tx);
    if (why)
        lanes_fault(w, i, lane, "%s", why);
    warp_order(w, i, lane, p, HAND_LEAVE);
}

/* arrive_drop: one fewer from the next phase on. */
static void
drop(Lanes *w, const Ins *i, int lane, uint64_t address, uint64_t arrivals)
{
    uint8_t *p = mbarrier_at(w, i, lane, (Space)i->space, address);
    Mbarrier b = mb_of(p);
    if (arrivals > b.expected)
        lanes_fault(w, i, lane, "more arrivals dropped than an mbarrier expects");
    b.expected -= arrivals;
    mb_put(p, b);
}

/* .noComplete promises that the phase goes on. */
static void
want_incomplete(Lanes *w, const Ins *i, int lane, uint64_t address, uint64_t arrivals)
{
    Mbarrier b = mb_of(mbarrier_at(w, i, lane, (Space)i->space, address));
    if (arrivals >= b.pending)
        lanes_fault(w, i, lane, "arrivals with .noComplete complete the phase");
}

static void
mb_state(Lanes *w, Space space, uint64_t address, int state)
{
    uint8_t *s = lanes_states(w, space, address);
    if (s)
        memset(s, state, 8);
}

enum {
    MB_INIT,
    MB_INVAL,
    MB_ARRIVE,
    MB_DROP,
    MB_EXPECT,
    MB_COMPLETE,
    MB_COUNT,
    MB_TEST
};
enum {
    WITH_TX = 1,
    NO_COMPLETE = 2,
    BY_PARITY = 1,
    WAITS = 2
}; /* flags: of arrivals; of tests */

static void
mbarrier(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t address[LANES], v[LANES] = {0}, out[LANES] = {0};
    Space space = (Space)i->space;
    lanes_addresses(w, i, m, address);
    if (i->n_in > 1)
        lanes_get(w, i->in[1], v);
    EACH_LANE_OF(l, m) {
        switch (i->op) {
        case MB_INIT: {
            uint8_t *p = w->owner->bytes(w, i, l, space, address[l], 8, true);
            if (v[l] == 0 || v[l] > 0xfffff)
                lanes_fault(w, i, l, "a count of %llu", (unsigned long long)v[l]);
            mb_put(p, (Mbarrier){0, v[l], v[l], 0});
            mb_state(w, space, address[l], BYTE_DEFINED);
            break;
        }
        case MB_INVAL:
            memset(mbarrier_at(w, i, l, space, address[l]), 0xff, 8);
            mb_state(w, space, address[l], BYTE_UNDEF);
            break;
        case MB_ARRIVE:
        case MB_DROP: {
            bool with_tx = i->flags & WITH_TX;
            uint64_t n = with_tx || i->n_in == 1 ? 1 : v[l];
            memcpy(&out[l], mbarrier_at(w, i, l, space, address[l]), 8);
            if (i->flags & NO_COMPLETE)
                want_incomplete(w, i, l, address[l], n);
            if (i->op == MB_DROP)
                drop(w, i, l, address[l], n);
            mbarrier_update(w, i, l, space, address[l], n,
                            with_tx ? (int64_t)(int32_t)v[l] : 0);
            break;
        }
        case MB_EXPECT:
            mbarrier_update(w, i, l, space, address[l], 0, (int64_t)(int32_t)v[l]);
            break;
        case MB_COMPLETE:
            mbarrier_update(w, i, l, space, address[l], 0, -(int64_t)(int32_t)v[l]);
            break;
        default: { /* the phase v (its parity, or the state of an arrival) is over */
            uint8_t *p = mbarrier_at(w, i, l, space, address[l]);
            uint64_t phase = i->flags & BY_PARITY ? v[l] & 1 : v[l] >> 63;
            if (mb_of(p).phase == phase)
                late_look(w, p);
            out[l] = mb_of(p).phase != phase;
            if (out[l])
                warp_order(w, i, l, p, i->flags & WAITS ? HAND_WAIT : HAND_TAKE);
            else
                warp_goes_on(w, i);
        }
        }
    }
    if (i->n_out)
        lanes_put(w, i->out[0], m, out);
}

/* Of the state that an arrival gave. */
BY_WORD(pending_count, x >> 22 & 0x1fffff)

static void
dec_pending_count(Dec *d)
{
    dec_refuse(d, !dec_has(d, "b64") || d->n_opds != 2);
    dec_out(d, 0, 4);
    dec_in(d, 1, 8);
    d->ins->run = pending_count;
}

static void
dec_mbarrier(Dec *d)
{
    static const char *const words[] = {
        "init",        "inval",         "arrive",    "arrive_drop", "expect_tx",
        "complete_tx", "pending_count", "test_wait", "try_wait",    NULL};
    Ins *i = d->ins;
    bool with_tx = d->n_mods > 1 && !strncmp(d->mod[0], "arrive", 6) &&
                   dec_has(d, "expect_tx");
    int op = dec_one(d, words);
    bool arrives = op == MB_ARRIVE || op == MB_DROP;
    if (op == MB_COUNT) {
        dec_pending_count(d);
        return;
    }
    dec_take_hints(d);
    bool parity = dec_has(d, "parity"),
         incomplete = arrives && dec_has(d, "noComplete");
    i->space = (uint8_t)dec_space(d);
    if (op < 0 || i->space == SPACE_GLOBAL || i->space == SPACE_LOCAL ||
        !dec_has(d, "b64"))
        dec_fail(d, "this form is not simulated");
    i->op = (uint8_t)(op > MB_TEST ? MB_TEST : op);
    bool has_out = arrives || op >= MB_TEST;
    dec_address(d, has_out);
    if (has_out && !(d->opd[0].name && !strcmp(d->opd[0].name, "_")))
        dec_out(d, 0, arrives ? 8 : 1);
    int at = has_out + 1;
    if (op == MB_INIT || op == MB_EXPECT || op == MB_COMPLETE ||
        (arrives && (with_tx || incomplete || d->n_opds > at)))
        dec_in(d, at, 4);
    if (op >= MB_TEST)
        dec_in(d, at, parity ? 4 : 8);
    bool counts = arrives && !with_tx && !incomplete && d->n_opds > at;
    if (counts && dec_sm(d) < 90)
        dec_fail(d, "a count without .noComplete is of sm_90 on");
    bool waits = op > MB_TEST;
    i->flags = (uint16_t)((parity ? BY_PARITY : 0) | (with_tx ? WITH_TX : 0) |
                          (waits ? WAITS : 0) | (incomplete ? NO_COMPLETE : 0));
    i->is_threads_own = true;
    i->flow = op >= MB_TEST ? FLOW_YIELD : FLOW_NEXT;
    i->run = mbarrier;
}

const OpRow mbarrier_ops[] = {{"mbarrier", dec_mbarrier}, {NULL, NULL}};
