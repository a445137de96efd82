/* random: cvt.rs, which rounds up as often as random bits say so.
 *
 *     cvt.rs.f16x2.f32             d, a, b, r        a above b
 *     cvt.rs.satfinite.e4m3x4.f32  d, {a, b, e, f}, r    a in the highest byte
 *
 * Each number has bits of r, which are added to the highest bits of what it loses. Two numbers
 * of four share 16 of them, and the first has them in reverse order. Which bits these are is
 * what others measured on a B200 (bf16, f16, e4m3, e5m2, e2m1); those of 6 bits are taken as
 * those of 8 are, which nobody has seen.
 */
#include "ptx/lanes.h"
#include "ptx/half.h"

typedef struct Random {
    FloatType to;
    int n; /* numbers */
    bool relu, to_finite;
} Random;

/* The bits of number k, the lowest is 0; *n of them. */
static uint32_t
share(const Random *s, uint32_t r, int k, int *n)
{
    *n = s->to == FMT_F16 ? 13 : 16;
    if (s->n == 2)
        return r >> 16 * k & ((1u << *n) - 1);
    int half = k / 2;
    uint32_t two = s->to == FMT_E2M1
                       ? (r >> (16 + 8 * half) & 255) << 8 | (r >> 8 * half & 255)
                       : r >> 16 * half & 0xffff;
    return k % 2 ? (uint32_t)bits_reversed(two, 16) : two;
}

static void
round_randomly(Lanes *w, const Ins *i, uint32_t m)
{
    const Random *s = i->more;
    uint64_t from[4][LANES], by[LANES], out[LANES] = {0};
    int bits = fmt_bits(s->to), n;
    for (int k = 0; k < s->n; k++)
        lanes_get(w, i->in[s->n - 1 - k], from[k]);
    lanes_get(w, i->in[s->n], by);
    for (int l = 0; l < LANES; l++)
        for (int k = 0; k < s->n; k++) {
            double x = fmt_to_double(FMT_F32, from[k][l]);
            uint32_t r = share(s, (uint32_t)by[l], k, &n);
            x = s->relu && x <= 0 ? 0 : x;
            out[l] |= fmt_from_random(s->to, r, n, s->to_finite, x) << k * bits;
        }
    lanes_put(w, i->out[0], m, out);
}

void
dec_random(Dec *d)
{
    static const struct {
        const char *name;
        FloatType to;
        int n;
    } rows[] = {{"f16x2", FMT_F16, 2},   {"bf16x2", FMT_BF16, 2},
                {"e4m3x4", FMT_E4M3, 4}, {"e5m2x4", FMT_E5M2, 4},
                {"e2m3x4", FMT_E2M3, 4}, {"e3m2x4", FMT_E3M2, 4},
                {"e2m1x4", FMT_E2M1, 4}};
    Random *s = dec_more(d, sizeof *s);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!s->n && dec_has(d, rows[k].name))
            s->to = rows[k].to, s->n = rows[k].n;
    s->relu = dec_has(d, "relu");
    s->to_finite = dec_has(d, "satfinite");
    Opd *v = &d->opd[1];
    bool is_four = s->n == 4;
    dec_refuse(d, !s->n || !dec_has(d, "f32") || (is_four && !s->to_finite) ||
                      d->n_opds != (is_four ? 3 : 4) ||
                      (is_four && (v->kind != OPD_VEC || v->n_parts != 4)));
    if (dec_sm(d) != 100 && dec_sm(d) != 103 && dec_sm(d) != PTX_NEWEST)
        dec_fail(d, "of sm_100a and sm_103a alone");
    dec_out(d, 0, s->n * fmt_bits(s->to) / 8);
    for (int k = 0; k < s->n; k++)
        is_four ? dec_in_opd(d, &v->part[k], 4) : dec_in_typed(d, k + 1, T_F32);
    dec_in(d, d->n_opds - 1, 4);
    d->ins->run = round_randomly;
}
