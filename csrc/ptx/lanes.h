/* lanes.h: the shape of an instruction's body: one expression over x, y, z, for every lane.
 *
 *     BINARY(add_u32, uint32_t, uint32_t, x + y)
 *
 * When all lanes take part the loop has no condition, and the C compiler makes vectors of
 * it. A result's register may be an operand's as well: lane by lane that is no hazard,
 * which is what the pragma says.
 */
#ifndef TEGULA_PTX_LANES_H
#define TEGULA_PTX_LANES_H

#include "ptx/ptx.h"

#if defined(__clang__)
#define NO_HAZARD /* it looks at the addresses, and warns where a promise did not help */
#else
#define NO_HAZARD _Pragma("GCC ivdep")
#endif

#define EACH_LANE(m, body)                                                             \
    if ((m) == (uint32_t)FULL) {                                                       \
        NO_HAZARD for (int l = 0; l < LANES; l++)                                      \
        {                                                                              \
            body;                                                                      \
        }                                                                              \
    } else {                                                                           \
        for (int l = 0; l < LANES; l++)                                                \
            if ((m) >> l & 1) {                                                        \
                body;                                                                  \
            }                                                                          \
    }

#define UNARY(name, D, S, expr)                                                        \
    static void name(Lanes *w, const Ins *i, uint32_t m)                               \
    {                                                                                  \
        D *d = LANE(D, w, i->d);                                                       \
        const S *a = LANE(S, w, i->a);                                                 \
        EACH_LANE(m, S x = a[l]; d[l] = (D)(expr))                                     \
    }

#define BINARY2(name, D, S, S2, expr)                                                  \
    static void name(Lanes *w, const Ins *i, uint32_t m)                               \
    {                                                                                  \
        D *d = LANE(D, w, i->d);                                                       \
        const S *a = LANE(S, w, i->a);                                                 \
        const S2 *b = LANE(S2, w, i->b);                                               \
        EACH_LANE(m, S x = a[l]; S2 y = b[l]; d[l] = (D)(expr))                        \
    }
#define BINARY(name, D, S, expr) BINARY2(name, D, S, S, expr)

#define TERNARY3(name, D, S, S2, S3, expr)                                             \
    static void name(Lanes *w, const Ins *i, uint32_t m)                               \
    {                                                                                  \
        D *d = LANE(D, w, i->d);                                                       \
        const S *a = LANE(S, w, i->a);                                                 \
        const S2 *b = LANE(S2, w, i->b);                                               \
        const S3 *c = LANE(S3, w, i->c);                                               \
        EACH_LANE(m, S x = a[l]; S2 y = b[l]; S3 z = c[l]; d[l] = (D)(expr))           \
    }
#define TERNARY(name, D, S, S3, expr) TERNARY3(name, D, S, S, S3, expr)

/* The same of registers of any width: x, y and z are words; operands that are not there are 0. */
#define BY_WORD(name, expr)                                                            \
    static void name(Lanes *w, const Ins *i, uint32_t m)                               \
    {                                                                                  \
        uint64_t room[3][LANES], out[LANES] = {0};                                     \
        const uint64_t *a = lanes_word(w, i, 0, room[0]);                              \
        const uint64_t *b = lanes_word(w, i, 1, room[1]);                              \
        const uint64_t *c = lanes_word(w, i, 2, room[2]);                              \
        EACH_LANE_OF(l, m) {                                                           \
            uint64_t x = a[l], y = b[l], z = c[l];                                     \
            (void)y, (void)z;                                                          \
            out[l] = (expr);                                                           \
        }                                                                              \
        lanes_put(w, i->out[0], m, out);                                               \
    }

static inline uint64_t
bits_reversed(uint64_t x, int bits)
{
    uint64_t r = 0;
    for (int k = 0; k < bits; k++)
        r |= (x >> k & 1) << (bits - 1 - k);
    return r;
}

/* Of instructions that are only read. */
static inline void
run_nothing(Lanes *w, const Ins *i, uint32_t m)
{
    (void)w, (void)i, (void)m;
}

/* A place in i->in or i->out of each. */
static inline void
dec_places(Dec *d)
{
    d->ins->d = d->n_out ? d->out[0].at : 0;
    d->ins->a = d->n_in > 0 ? d->in[0].at : 0;
    d->ins->b = d->n_in > 1 ? d->in[1].at : 0;
    d->ins->c = d->n_in > 2 ? d->in[2].at : 0;
}

/* d, and n operands, all of type t. */
static inline void
dec_same(Dec *d, Type t, int n)
{
    dec_out(d, 0, type_info[t].bytes);
    for (int k = 1; k <= n; k++)
        dec_in_typed(d, k, t);
    dec_operands(d, n + 1);
    dec_places(d);
}

/* Rows of a table by type; the instruction is an error where the row is empty. */
static inline void
dec_run(Dec *d, Run *const table[N_TYPES], Type t)
{
    if (!table[t])
        dec_fail(d, ".%s is not simulated", type_info[t].name);
    d->ins->run = table[t];
}

#endif
