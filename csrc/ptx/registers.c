/* registers: a register's lanes, read and written whatever its width; faults. */
#include "ptx/ptx.h"

#include <stdarg.h>

void
lanes_get(const Lanes *w, Reg r, uint64_t out[LANES])
{
    const uint8_t *at = w->file + r.at;
    switch (r.bytes) {
    case 1:
        for (int l = 0; l < LANES; l++)
            out[l] = at[l];
        break;
    case 2:
        for (int l = 0; l < LANES; l++)
            out[l] = ((const uint16_t *)(const void *)at)[l];
        break;
    case 4:
        for (int l = 0; l < LANES; l++)
            out[l] = ((const uint32_t *)(const void *)at)[l];
        break;
    default: memcpy(out, at, 8 * LANES);
    }
}

const uint64_t *
lanes_word(const Lanes *w, const Ins *i, int k, uint64_t room[LANES])
{
    static const uint64_t zeros[LANES];
    if (k >= i->n_in)
        return zeros;
    lanes_get(w, i->in[k], room);
    return room;
}

#define PUT(T)                                                                         \
    do {                                                                               \
        T *to = (T *)(void *)at;                                                       \
        if (m == (uint32_t)FULL)                                                       \
            for (int l = 0; l < LANES; l++)                                            \
                to[l] = (T)in[l];                                                      \
        else                                                                           \
            for (int l = 0; l < LANES; l++)                                            \
                to[l] = m >> l & 1 ? (T)in[l] : to[l];                                 \
    } while (0)

void
lanes_put(Lanes *w, Reg r, uint32_t m, const uint64_t in[LANES])
{
    uint8_t *at = w->file + r.at;
    switch (r.bytes) {
    case 1: PUT(uint8_t); break;
    case 2: PUT(uint16_t); break;
    case 4: PUT(uint32_t); break;
    default: PUT(uint64_t);
    }
}

/* The lanes whose predicate holds: bytes of 0 or 1 -> bits. */
uint32_t
lanes_true(const Lanes *w, Reg r)
{
    const uint8_t *p = w->file + r.at;
    uint32_t m = 0;
    for (int k = 0; k < 4; k++) {
        uint64_t x;
        memcpy(&x, p + 8 * k, 8);
        m |= (uint32_t)(x * UINT64_C(0x0102040810204080) >> 56) << 8 * k;
    }
    return m;
}

void
lanes_fault(Lanes *w, const Ins *i, int lane, const char *fmt, ...)
{
    char text[PTX_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    w->owner->fault(w, i, lane, text);
}

void
lanes_want(Lanes *w, const Ins *i, Reg r, uint32_t m, const char *why)
{
    if (w->undef[r.id] & m)
        lanes_fault(w, i, __builtin_ctz(w->undef[r.id] & m), "%s", why);
}

uint64_t
lanes_same(Lanes *w, const Ins *i, const uint64_t v[LANES], const char *what)
{
    for (int l = 1; l < LANES; l++)
        if (v[l] != v[0])
            lanes_fault(w, i, l, "the lanes have not the same %s", what);
    return v[0];
}

void
lanes_set_lacks(Lanes *w, Reg r, uint32_t m, const uint32_t lacks[PARTS])
{
    uint32_t undef = 0;
    for (int k = 0; k < PARTS; k++)
        undef |= lacks[k];
    w->undef[r.id] = (w->undef[r.id] & ~m) | (undef & m);
    for (int k = 0; k < PARTS; k++)
        w->has[r.id][k] = (w->has[r.id][k] & ~m) | (m & ~lacks[k]);
}

/* A bit for each byte that part q has bits of. */
static uint32_t
bytes_of_part(Reg r, int q)
{
    int from = q * r.bytes / PARTS, to = ((q + 1) * r.bytes + PARTS - 1) / PARTS;
    return (1u << to) - (1u << from);
}

uint32_t
lanes_undef_bytes(const Lanes *w, Reg r, int lane)
{
    uint32_t bytes = 0;
    for (int q = 0; q < PARTS && w->undef[r.id] >> lane & 1; q++)
        if (lanes_lacks(w, r, q) >> lane & 1)
            bytes |= bytes_of_part(r, q);
    return bytes;
}

void
lanes_set_undef_bytes(Lanes *w, Reg r, uint32_t m, const uint8_t bytes[LANES])
{
    uint32_t lacks[PARTS] = {0};
    for (int q = 0; q < PARTS; q++)
        for (int l = 0; l < LANES; l++)
            lacks[q] |= (uint32_t)((bytes[l] & bytes_of_part(r, q)) != 0) << l;
    lanes_set_lacks(w, r, m, lacks);
}

void
lanes_spread_undef(Lanes *w, const Ins *i, uint32_t m)
{
    uint32_t u = 0;
    for (int k = 0; k < i->n_in; k++)
        u |= w->undef[i->in[k].id] & m;
    for (int k = 0; k < i->n_out; k++)
        lanes_set_undef(w, i->out[k], m, u ? m : 0);
}

void
lanes_access(const Lanes *w, const Ins *i, uint32_t m, Space space,
             const uint64_t address[LANES], int bytes, bool is_store)
{
    if (w->owner->access)
        w->owner->access(w, i, m, space, address, bytes, is_store);
}

uint8_t *
lanes_states(Lanes *w, Space space, uint64_t address)
{
    return w->owner->states ? w->owner->states(w, space, address) : NULL;
}
