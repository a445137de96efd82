/* matrices: matrix instructions of a warp, and loads and stores of their fragments. */
#include "ptx/lanes.h"
#include "tools/ptxsim/ptxsim.h"
#include "tools/ptxsim/tensor.h"

#include <cuda.h>

static void
get_many(const Warp *w, const Reg *r, int n, uint64_t (*out)[LANES])
{
    for (int k = 0; k < n; k++)
        lanes_get(&w->lanes, r[k], out[k]);
}

static void
mma(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    const SimMma *s = i->more;
    uint64_t a[SIM_MAX_REGS][LANES], b[SIM_MAX_REGS][LANES], c[SIM_MAX_REGS][LANES],
        d[SIM_MAX_REGS][LANES];
    const Reg *in = i->in;
    get_many(w, in, s->a_regs, a);
    get_many(w, in + s->a_regs, s->b_regs, b);
    get_many(w, in + s->a_regs + s->b_regs, s->c_regs, c);
    sim_mma_run(s, d, (const uint64_t (*)[LANES])a, (const uint64_t (*)[LANES])b,
                (const uint64_t (*)[LANES])c);
    lanes_spread_undef(&w->lanes, i, m);
    for (int k = 0; k < s->d_regs; k++)
        lanes_put(&w->lanes, i->out[k], m, d[k]);
}

/* The registers of a vector operand, which may be one alone. */
static void
dec_vector(Dec *d, int k, int n, int bytes, bool is_out)
{
    Opd *o = &d->opd[k];
    if (k >= d->n_opds || (o->kind == OPD_VEC ? o->n_parts != n : n != 1))
        dec_fail(d, "operand %d has not %d registers", k + 1, n);
    for (int e = 0; e < n; e++) {
        Opd *part = o->kind == OPD_VEC ? &o->part[e] : o;
        if (is_out)
            dec_out_opd(d, part, bytes);
        else
            dec_in_opd(d, part, bytes);
    }
}

static void
dec_mma(Dec *d)
{
    SimMma *s = dec_more(d, sizeof *s);
    if (!sim_mma_decode(s, d->text))
        dec_fail(d, "this matrix instruction is not simulated");
    dec_take_all(d);
    dec_vector(d, 0, s->d_regs, s->d == FMT_F64 ? 8 : 4, true);
    dec_vector(d, 1, s->a_regs, s->a == FMT_F64 ? 8 : 4, false);
    dec_vector(d, 2, s->b_regs, s->b == FMT_F64 ? 8 : 4, false);
    dec_vector(d, 3, s->c_regs, s->c == FMT_F64 ? 8 : 4, false);
    d->ins->is_aligned = true;
    d->ins->tracks = true;
    d->ins->run = mma;
}

static void
ldmatrix(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    const SimMatrix *s = i->more;
    uint64_t address[LANES], v[4][LANES], known[4][LANES];
    const uint8_t *row[LANES] = {0}, *state[LANES] = {0};
    uint32_t used = 8 * s->n == LANES ? (uint32_t)FULL : (1u << 8 * s->n) - 1;
    lanes_addresses(&w->lanes, i, used, address);
    sim_access(&w->lanes, i, used, SPACE_SHARED, address, 16, false);
    for (int l = 0; l < 8 * s->n; l++) {
        row[l] = sim_bytes(w, i, l, (Space)i->space, address[l], 16, false);
        state[l] = sim_states(w, (Space)i->space, address[l]);
        if (!state[l])
            sim_fault(w, i, l, CUDA_ERROR_ILLEGAL_ADDRESS, "not of shared memory");
    }
    sim_ldmatrix(s, v, row);
    sim_ldmatrix(s, known, state); /* the states go where the bytes go */
    for (int k = 0; k < s->n; k++) {
        uint32_t undef = 0;
        for (int l = 0; l < LANES; l++)
            undef |= (uint32_t)((known[k][l] & 0x01010101) != 0x01010101) << l;
        w->lanes.undef[i->out[k].id] = undef & m;
        lanes_put(&w->lanes, i->out[k], m, v[k]);
    }
}

static void
stmatrix(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    const SimMatrix *s = i->more;
    uint64_t address[LANES], v[4][LANES];
    uint8_t *row[LANES] = {0};
    uint32_t used = 8 * s->n == LANES ? (uint32_t)FULL : (1u << 8 * s->n) - 1;
    lanes_addresses(&w->lanes, i, used, address);
    sim_access(&w->lanes, i, used, SPACE_SHARED, address, 16, true);
    get_many(w, i->in + 1, s->n, v);
    for (int k = 0; k < s->n; k++)
        if (w->lanes.undef[i->in[1 + k].id] & m)
            sim_fault(w, i, __builtin_ctz(w->lanes.undef[i->in[1 + k].id] & m),
                      CUDA_ERROR_INVALID_VALUE,
                      "stores a register that was never written");
    for (int l = 0; l < 8 * s->n; l++) {
        row[l] = sim_bytes(w, i, l, (Space)i->space, address[l], 16, true);
        uint8_t *state = sim_states(w, (Space)i->space, address[l]);
        if (!state)
            sim_fault(w, i, l, CUDA_ERROR_ILLEGAL_ADDRESS, "not of shared memory");
        memset(state, BYTE_DEFINED, 16);
    }
    sim_stmatrix(s, row, (const uint64_t (*)[LANES])v);
}

static void
dec_matrix(Dec *d)
{
    SimMatrix *s = dec_more(d, sizeof *s);
    const Sym *sym;
    if (!sim_matrix_decode(s, d->text))
        dec_fail(d, "this form is not simulated");
    d->ins->space = (uint8_t)dec_space(d);
    dec_take_all(d);
    dec_address(d, !s->is_store, &sym);
    dec_vector(d, s->is_store, s->n, 4, !s->is_store);
    if (s->is_store && dec_sm(d) < 90)
        dec_fail(d, "from sm_90 on");
    d->ins->is_aligned = true;
    d->ins->tracks = true;
    d->ins->run = s->is_store ? stmatrix : ldmatrix;
}

const OpRow matrix_ops[] = {
    {"mma", dec_mma},
    {"ldmatrix", dec_matrix},
    {"stmatrix", dec_matrix},
    {NULL, NULL},
};
