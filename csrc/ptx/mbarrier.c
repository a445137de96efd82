/* mbarrier: barriers in shared memory that count arrivals, and bytes that are to come.
 *
 * Its 64 bits, from the low end: bytes expected (signed, 22), arrivals pending (21), arrivals a
 * phase expects (20), phase (1). All ones is no mbarrier: memory that nobody wrote. Waiting is
 * polling: whoever runs the lanes lets others run (FLOW_YIELD).
 */
#include "ptx/lanes.h"

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

static uint64_t
mb_bits(const Mbarrier *b)
{
    return ((uint64_t)b->tx & 0x3fffff) | b->pending << 22 | b->expected << 43 |
           b->phase << 63;
}

static uint8_t *
mb_at(Lanes *w, const Ins *i, int lane, Space space, uint64_t address)
{
    uint8_t *p = w->owner->bytes(w, i, lane, space, address, 8, true);
    const uint8_t *s = lanes_states(w, space, address);
    static const uint8_t poison[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    if (s ? s[0] != BYTE_DEFINED : !memcmp(p, poison, sizeof poison))
        lanes_fault(w, i, lane, "an mbarrier that was never initialised");
    return p;
}

/* Arrivals and bytes that came (tx < 0) or will come (tx > 0). */
void
mbarrier_update(Lanes *w, const Ins *i, int lane, Space space, uint64_t address,
                uint64_t arrivals, int64_t tx)
{
    uint8_t *p = mb_at(w, i, lane, space, address);
    Mbarrier b = mb_of(p);
    if (arrivals > b.pending)
        lanes_fault(w, i, lane, "more arrivals at an mbarrier than its phase expects");
    b.pending -= arrivals;
    b.tx += tx;
    if (!b.pending && !b.tx) {
        b.phase ^= 1;
        b.pending = b.expected;
    }
    uint64_t v = mb_bits(&b);
    memcpy(p, &v, sizeof v);
}

static void
mb_state(Lanes *w, Space space, uint64_t address, int state)
{
    uint8_t *s = lanes_states(w, space, address);
    if (s)
        memset(s, state, 8);
}

enum { MB_INIT, MB_INVAL, MB_ARRIVE, MB_EXPECT, MB_COMPLETE, MB_TEST };

static void
mbarrier(Lanes *w, const Ins *i, uint32_t m)
{
    uint64_t address[LANES], v[LANES] = {0}, out[LANES] = {0};
    Space space = (Space)i->space;
    lanes_addresses(w, i, m, address);
    if (i->n_in > 1)
        lanes_get(w, i->in[1], v);
    for (int l = 0; l < LANES; l++) {
        if (!(m >> l & 1))
            continue;
        switch (i->op) {
        case MB_INIT: {
            uint8_t *p = w->owner->bytes(w, i, l, space, address[l], 8, true);
            Mbarrier b = {0, v[l], v[l], 0};
            if (v[l] == 0 || v[l] > 0xfffff)
                lanes_fault(w, i, l, "a count of %llu", (unsigned long long)v[l]);
            uint64_t bits = mb_bits(&b);
            memcpy(p, &bits, sizeof bits);
            mb_state(w, space, address[l], BYTE_DEFINED);
            break;
        }
        case MB_INVAL:
            memset(mb_at(w, i, l, space, address[l]), 0xff, 8);
            mb_state(w, space, address[l], BYTE_UNDEF);
            break;
        case MB_ARRIVE:
            memcpy(&out[l], mb_at(w, i, l, space, address[l]), 8);
            mbarrier_update(w, i, l, space, address[l],
                            i->flags      ? 1
                            : i->n_in > 1 ? v[l]
                                          : 1,
                            i->flags ? (int64_t)(int32_t)v[l] : 0);
            break;
        case MB_EXPECT:
            mbarrier_update(w, i, l, space, address[l], 0, (int64_t)(int32_t)v[l]);
            break;
        case MB_COMPLETE:
            mbarrier_update(w, i, l, space, address[l], 0, -(int64_t)(int32_t)v[l]);
            break;
        default: { /* the phase v (its parity, or the state of an arrival) is over */
            Mbarrier b = mb_of(mb_at(w, i, l, space, address[l]));
            out[l] = b.phase != (i->flags ? v[l] & 1 : v[l] >> 63);
        }
        }
    }
    if (i->n_out)
        lanes_put(w, i->out[0], m, out);
}

static void
dec_mbarrier(Dec *d)
{
    static const char *const words[] = {"init",      "inval",       "arrive",
                                        "expect_tx", "complete_tx", "test_wait",
                                        "try_wait",  NULL};
    Ins *i = d->ins;
    const Sym *sym;
    bool with_tx = d->n_mods > 1 && !strcmp(d->mod[0], "arrive") &&
                   dec_has(d, "expect_tx");
    int op = dec_one(d, words);
    dec_take_hints(d);
    bool parity = dec_has(d, "parity");
    i->space = (uint8_t)dec_space(d);
    if (op < 0 || i->space == SPACE_GLOBAL || i->space == SPACE_LOCAL ||
        !dec_has(d, "b64"))
        dec_fail(d, "this form is not simulated");
    i->op = (uint8_t)(op > MB_TEST ? MB_TEST : op);
    bool has_out = op == MB_ARRIVE || op >= MB_TEST;
    dec_address(d, has_out, &sym);
    if (i->space == SPACE_GENERIC && sym)
        i->space = (uint8_t)sym->space;
    if (has_out && !(d->opd[0].name && !strcmp(d->opd[0].name, "_")))
        dec_out(d, 0, op == MB_ARRIVE ? 8 : 1);
    int at = has_out + 1;
    if (op == MB_INIT || op == MB_EXPECT || op == MB_COMPLETE ||
        (op == MB_ARRIVE && (with_tx || d->n_opds > at)))
        dec_in(d, at, 4);
    if (op >= MB_TEST)
        dec_in(d, at, parity ? 4 : 8);
    i->flags = parity || with_tx;
    i->is_threads_own = true;
    i->flow = op >= MB_TEST ? FLOW_YIELD : FLOW_NEXT;
    i->run = mbarrier;
}

const OpRow mbarrier_ops[] = {{"mbarrier", dec_mbarrier}, {NULL, NULL}};
