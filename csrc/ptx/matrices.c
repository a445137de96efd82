/* matrices: matrix instructions of a warp, loads and stores of their fragments.
 *
 * What they compute is tensor.c's. A fragment is dealt out to 32 lanes, so all of them are here
 * (Ins.is_aligned), or it is an error.
 */
#include "ptx/lanes.h"
#include "ptx/tensor.h"

static void
get_many(const Lanes *w, const Reg *r, int n, uint64_t (*out)[LANES])
{
    for (int k = 0; k < n; k++)
        lanes_get(w, r[k], out[k]);
}

FloatType
dec_format(Dec *d)
{
    for (int k = 0; k < d->n_mods; k++) {
        FloatType t = fmt_named(d->mod[k], (int)strlen(d->mod[k]));
        if (!d->used[k] && t != FMT_N_TYPES) {
            d->used[k] = true;
            return t;
        }
    }
    return FMT_N_TYPES;
}

static void
dec_whole_warp(Dec *d, int n_opds, Run *run)
{
    dec_operands(d, n_opds);
    d->ins->is_aligned = true;
    d->ins->undef = UNDEF_TRACKED;
    d->ins->run = run;
}

/* ---- mma ------------------------------------------------------------------------- */

static void
mma(Lanes *w, const Ins *i, uint32_t m)
{
    const WarpMma *s = i->more;
    uint64_t a[MMA_REGS][LANES], b[MMA_REGS][LANES], c[MMA_REGS][LANES],
        d[MMA_REGS][LANES];
    const Reg *in = i->in;
    get_many(w, in, s->a_regs, a);
    get_many(w, in + s->a_regs, s->b_regs, b);
    get_many(w, in + s->a_regs + s->b_regs, s->c_regs, c);
    warp_mma_run(s, d, (const uint64_t (*)[LANES])a, (const uint64_t (*)[LANES])b,
                 (const uint64_t (*)[LANES])c);
    lanes_spread_undef(w, i, m);
    for (int k = 0; k < s->d_regs; k++)
        lanes_put(w, i->out[k], m, d[k]);
}

static void
dec_mma(Dec *d)
{
    WarpMma *s = dec_more(d, sizeof *s);
    if (!warp_mma_decode(s, d->text))
        dec_unknown(d, "this matrix instruction is not simulated");
    dec_since(d, s->sm);
    dec_take_all(d);
    dec_vector(d, 0, s->d_regs, s->d == FMT_F64 ? 8 : 4, dec_out_opd);
    dec_vector(d, 1, s->a_regs, s->a == FMT_F64 ? 8 : 4, dec_in_opd);
    dec_vector(d, 2, s->b_regs, s->b == FMT_F64 ? 8 : 4, dec_in_opd);
    dec_vector(d, 3, s->c_regs, s->c == FMT_F64 ? 8 : 4, dec_in_opd);
    dec_whole_warp(d, 4, mma);
}

/* ---- ldmatrix, stmatrix, movmatrix ----------------------------------------------- */

/* The lanes whose addresses are rows: 8 for each matrix. */
static uint32_t
row_lanes(const WarpMatrix *s)
{
    return 8 * s->n == LANES ? (uint32_t)FULL : (1u << 8 * s->n) - 1;
}

/* The row at a lane's address: 16 bytes of shared memory. */
static uint8_t *
row_of(Lanes *w, const Ins *i, int lane, uint64_t address, bool is_store)
{
    uint64_t at = address;
    Space s = lanes_space((Space)i->space, &at);
    if (s != SPACE_SHARED && s != SPACE_CLUSTER)
        lanes_fault(w, i, lane, "not of shared memory");
    return w->owner->bytes(w, i, lane, (Space)i->space, address, 16, is_store);
}

static void
ldmatrix(Lanes *w, const Ins *i, uint32_t m)
{
    static const uint8_t defined[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    _Static_assert(BYTE_DEFINED == 1, "the rows of memory that has no states");
    const WarpMatrix *s = i->more;
    uint64_t address[LANES], v[4][LANES], known[4][LANES];
    const uint8_t *row[LANES] = {0}, *state[LANES] = {0};
    uint32_t used = row_lanes(s);
    bool all = true;
    lanes_addresses(w, i, used, address);
    lanes_access(w, i, used, SPACE_SHARED, address, 16, false);
    for (int l = 0; l < 8 * s->n; l++) {
        row[l] = row_of(w, i, l, address[l], false);
        state[l] = lanes_states(w, (Space)i->space, address[l]);
        state[l] = state[l] ? state[l] : defined;
        all &= is_defined(state[l], 16);
    }
    warp_ldmatrix(s, v, row);
    for (int k = 0; all && k < s->n; k++) {
        lanes_set_undef(w, i->out[k], m, 0);
        lanes_put(w, i->out[k], m, v[k]);
    }
    if (all)
        return;
    warp_ldmatrix(s, known, state); /* the states go where the bytes go */
    for (int k = 0; k < s->n; k++) {
        uint32_t lacks[PARTS] = {0};
        for (int q = 0; q < PARTS; q++)
            for (int l = 0; l < LANES; l++)
                lacks[q] |= (uint32_t)(!(known[k][l] >> q / 2 * 8 & 1)) << l;
        lanes_set_lacks(w, i->out[k], m, lacks);
        lanes_put(w, i->out[k], m, v[k]);
    }
}

static void
stmatrix(Lanes *w, const Ins *i, uint32_t m)
{
    const WarpMatrix *s = i->more;
    uint64_t address[LANES], v[4][LANES];
    uint8_t *row[LANES] = {0};
    uint32_t used = row_lanes(s);
    lanes_addresses(w, i, used, address);
    lanes_access(w, i, used, SPACE_SHARED, address, 16, true);
    get_many(w, i->in + 1, s->n, v);
    for (int k = 0; k < s->n; k++)
        lanes_want(w, i, i->in[1 + k], m, "stores a register that was never written");
    for (int l = 0; l < 8 * s->n; l++) {
        row[l] = row_of(w, i, l, address[l], true);
        uint8_t *state = lanes_states(w, (Space)i->space, address[l]);
        if (state)
            memset(state, BYTE_DEFINED, 16);
    }
    warp_stmatrix(s, row, (const uint64_t (*)[LANES])v);
}

static void
dec_matrix(Dec *d)
{
    WarpMatrix *s = dec_more(d, sizeof *s);
    if (!warp_matrix_decode(s, d->text))
        dec_unknown(d, "this form is not simulated");
    if (s->is_store && dec_sm(d) < 90)
        dec_fail(d, "from sm_90 on");
    d->ins->space = (uint8_t)dec_space(d);
    dec_take_all(d);
    dec_address(d, !s->is_store);
    dec_vector(d, s->is_store, s->n, 4, s->is_store ? dec_in_opd : dec_out_opd);
    dec_whole_warp(d, 2, s->is_store ? stmatrix : ldmatrix);
}

/* Out and in again: the fragment lies as ldmatrix deals it out, its transpose comes back. */
static void
movmatrix(Lanes *w, const Ins *i, uint32_t m)
{
    static const WarpMatrix from = {.n = 1}, to = {.n = 1, .trans = true};
    uint8_t rows[8][16], *row[LANES] = {0};
    uint64_t v[1][LANES];
    for (int l = 0; l < 8; l++)
        row[l] = rows[l];
    get_many(w, i->in, 1, v);
    warp_stmatrix(&from, row, (const uint64_t (*)[LANES])v);
    warp_ldmatrix(&to, v, (const uint8_t *const *)row);
    lanes_spread_undef(w, i, m);
    lanes_put(w, i->out[0], m, v[0]);
}

static void
dec_movmatrix(Dec *d)
{
    dec_refuse(d, strcmp(d->text, "movmatrix.sync.aligned.m8n8.trans.b16") != 0);
    dec_take_all(d);
    dec_out(d, 0, 4);
    dec_in(d, 1, 4);
    dec_whole_warp(d, 2, movmatrix);
}

const OpRow matrix_ops[] = {
    {"mma", dec_mma},
    {"ldmatrix", dec_matrix},
    {"stmatrix", dec_matrix},
    {"movmatrix", dec_movmatrix},
    {NULL, NULL},
};
