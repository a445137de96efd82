/* undef: which bits of a result nobody has defined.
 *
 *     mov.b32 %r1, {%rs1, %rs2};     %rs2 was never written: the low half of %r1 is defined
 *     xor.b32 %r2, %r1, %r9;         so is that of %r2
 *     cvt.s64.s16 %rd1, %r2;         all of %rd1
 *     cvt.s64.s32 %rd2, %r2;         nothing of %rd2
 *
 * LLVM computes in words of which it needs a part, and does not care for the rest. An
 * instruction says by Ins.undef how its results depend on its operands:
 *
 * 1. UNDEF_WHOLE: on all of each, as a division does.
 * 2. UNDEF_BITS: each bit of a result is one of an operand's, or a function of some: masks,
 *    shifts, moves, permutations. The instruction is tried with all ways to fill the operands'
 *    undefined parts, each with zeros or ones; what does not change is defined. This is exact,
 *    also for a register that is an operand twice. How far it shifts, say, stands in operands
 *    behind the first `bitwise`; without these nothing is defined.
 * 3. UNDEF_HALVES: the upper 16 bits on the upper ones, the lower on the lower.
 * 4. UNDEF_CARRIES: on what lies as low or lower, as a sum does.
 * 5. UNDEF_LOW: on the first i->bytes bytes of the operand.
 * 6. UNDEF_TRACKED: run does it.
 *
 * The state of a register is kept by eighths (Lanes.has), so one is undefined where a bit is.
 */
#include "ptx/ptx.h"

enum { MOST_BITWISE = 4, MOST_RESULTS = 4 };
_Static_assert(MOST_RESULTS == 4, "mov.b64 {a, b, c, d}");

static uint32_t
any_undef(const Lanes *w, const Reg *r, int n)
{
    uint32_t u = 0;
    for (int k = 0; k < n; k++)
        u |= w->undef[r[k].id];
    return u;
}

static void
set_all(Lanes *w, const Ins *i, uint32_t m, uint32_t undef)
{
    for (int k = 0; k < i->n_out; k++)
        lanes_set_undef(w, i->out[k], m, undef);
}

/* The bits of part q. A predicate has one bit. */
static uint64_t
part(Reg r, int q)
{
    unsigned bits = r.bytes;
    return r.bytes == 1 ? 1 : ((UINT64_C(1) << bits) - 1) << (unsigned)q * bits;
}

/* The undefined bits of each lane. */
static void
undefined_bits(const Lanes *w, Reg r, uint64_t out[LANES])
{
    memset(out, 0, LANES * sizeof *out);
    for (int q = 0; q < PARTS; q++) {
        uint32_t lacks = lanes_lacks(w, r, q);
        for (; lacks; lacks &= lacks - 1)
            out[__builtin_ctz(lacks)] |= part(r, q);
    }
}

/* What the operands of a trial hold, and what its results were. */
typedef struct Trial {
    uint64_t in[MOST_BITWISE][LANES], unknown[MOST_BITWISE][LANES];
    uint64_t first[MOST_RESULTS][LANES], changed[MOST_RESULTS][LANES];
} Trial;

/* Fills operand k with zeros or ones where it is undefined. */
static void
fill_undef(Lanes *w, const Ins *i, const Trial *t, int k, bool ones)
{
    uint64_t x[LANES];
    for (int l = 0; l < LANES; l++)
        x[l] = ones ? t->in[k][l] | t->unknown[k][l] : t->in[k][l] & ~t->unknown[k][l];
    lanes_put(w, i->in[k], (uint32_t)FULL, x);
}

static void
note_results(const Lanes *w, const Ins *i, Trial *t, bool is_first)
{
    uint64_t x[LANES];
    for (int k = 0; k < i->n_out; k++) {
        lanes_get(w, i->out[k], x);
        for (int l = 0; l < LANES; l++)
            t->changed[k][l] |= is_first ? 0 : x[l] ^ t->first[k][l];
        if (is_first)
            memcpy(t->first[k], x, sizeof x);
    }
}

/* A result's lanes by parts: changed, or left open by an operand that says how far. */
static void
set_changed(Lanes *w, Reg r, uint32_t m, const uint64_t changed[LANES], uint32_t open)
{
    uint32_t lacks[PARTS];
    for (int q = 0; q < PARTS; q++) {
        lacks[q] = open;
        for (int l = 0; l < LANES; l++)
            lacks[q] |= (uint32_t)((changed[l] & part(r, q)) != 0) << l;
    }
    lanes_set_lacks(w, r, m, lacks);
}

/* Results may lie where operands lie, so every run begins with all operands put anew. */
static void
try_fillings(Lanes *w, const Ins *i, uint32_t m)
{
    Trial t = {0};
    int n = i->bitwise;
    uint32_t open = any_undef(w, i->in + n, i->n_in - n);
    for (int k = 0; k < n; k++) {
        lanes_get(w, i->in[k], t.in[k]);
        undefined_bits(w, i->in[k], t.unknown[k]);
    }
    for (int way = 0; way < 1 << n; way++) {
        for (int k = 0; k < n; k++)
            fill_undef(w, i, &t, k, way >> k & 1);
        i->run(w, i, m);
        note_results(w, i, &t, way == 0);
    }
    for (int k = 0; k < n; k++)
        lanes_put(w, i->in[k], (uint32_t)FULL, t.in[k]);
    i->run(w, i, m);
    for (int k = 0; k < i->n_out; k++)
        set_changed(w, i->out[k], m, t.changed[k], open);
}

/* Where part q of an operand is undefined. */
static uint32_t
any_lacks(const Lanes *w, const Ins *i, int q)
{
    uint32_t u = 0;
    for (int k = 0; k < i->n_in; k++)
        u |= lanes_lacks(w, i->in[k], q);
    return u;
}

static void
set_halves(Lanes *w, const Ins *i, uint32_t m)
{
    uint32_t half[2] = {0}, lacks[PARTS];
    for (int q = 0; q < PARTS; q++)
        half[q / (PARTS / 2)] |= any_lacks(w, i, q);
    for (int q = 0; q < PARTS; q++)
        lacks[q] = half[q / (PARTS / 2)];
    lanes_set_lacks(w, i->out[0], m, lacks);
}

static void
set_carries(Lanes *w, const Ins *i, uint32_t m)
{
    uint32_t lacks[PARTS], below = 0;
    for (int q = 0; q < PARTS; q++)
        lacks[q] = below |= any_lacks(w, i, q);
    lanes_set_lacks(w, i->out[0], m, lacks);
}

static void
set_low(Lanes *w, const Ins *i, uint32_t m)
{
    uint32_t undef = 0;
    for (int q = 0; q < PARTS && q * i->in[0].bytes < PARTS * i->bytes; q++)
        undef |= lanes_lacks(w, i->in[0], q);
    set_all(w, i, m, undef);
}

void
lanes_run(Lanes *w, const Ins *i, uint32_t m)
{
    if (i->undef == UNDEF_TRACKED) {
        i->run(w, i, m);
        return;
    }
    uint32_t undef = any_undef(w, i->in, i->n_in) & m;
    if (undef && i->undef == UNDEF_BITS) {
        try_fillings(w, i, m);
        return;
    }
    /* Before run, as a result may be an operand, whose state is asked. */
    if (!undef || i->undef == UNDEF_WHOLE)
        set_all(w, i, m, undef);
    else if (i->undef == UNDEF_HALVES)
        set_halves(w, i, m);
    else if (i->undef == UNDEF_CARRIES)
        set_carries(w, i, m);
    else
        set_low(w, i, m);
    i->run(w, i, m);
}

void
dec_bitwise(Dec *d, int n)
{
    d->ins->undef = UNDEF_BITS;
    d->ins->bitwise = (uint8_t)n;
    if (n > MOST_BITWISE || d->n_out > MOST_RESULTS)
        dec_fail(d, "%d operands", n);
}
