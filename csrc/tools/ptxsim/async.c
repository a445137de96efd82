/* async: copies that land late, and stores that tell the mbarriers (csrc/ptx) of them.
 *
 * A cp.async does nothing but mark its bytes until the thread waits for its group: then,
 * and not before, it reads its source and writes. So what is read too early, or what of
 * the source is overwritten too early, is noticed, whatever a GPU's timing would be.
 */
#include "ptx/lanes.h"
#include "tools/ptxsim/ptxsim.h"

#include <cuda.h>

/* ---- cp.async -------------------------------------------------------------------- */

enum { BY_SIZE = 1, BY_PREDICATE = 2 }; /* flags: what the fourth operand is */

static void
keep_copy(Warp *w, const Ins *i, int lane, Copy c)
{
    if (w->n_copies == w->cap_copies) {
        int cap = w->cap_copies ? 2 * w->cap_copies : 256;
        Copy *more = realloc(w->copies, (size_t)cap * sizeof *more);
        if (!more)
            sim_fault(w, i, lane, CUDA_ERROR_OUT_OF_MEMORY, "out of memory");
        w->copies = more;
        w->cap_copies = cap;
    }
    w->copies[w->n_copies++] = c;
}

static void
cp_async(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    uint64_t to[LANES], from[LANES], size[LANES];
    lanes_addresses(&w->lanes, i, m, to);
    lanes_get(&w->lanes, i->in[1], from);
    if (i->n_in > 2)
        lanes_get(&w->lanes, i->in[2], size);
    for (int k = 1; k < i->n_in; k++) {
        uint32_t bad = w->lanes.undef[i->in[k].id] & m;
        if (bad)
            sim_fault(w, i, __builtin_ctz(bad), CUDA_ERROR_INVALID_VALUE,
                      "an operand was never written");
    }
    uint32_t reads = 0;
    for (int l = 0; l < LANES; l++) {
        if (!(m >> l & 1))
            continue;
        uint32_t n = i->flags == BY_SIZE        ? (uint32_t)size[l]
                     : i->flags == BY_PREDICATE ? (size[l] ? 0 : i->bytes)
                                                : i->bytes;
        if (n > i->bytes)
            sim_fault(w, i, l, CUDA_ERROR_INVALID_VALUE, "src-size is %u", n);
        from[l] += (uint64_t)*(const int64_t *)i->more;
        const uint8_t *src = NULL;
        if (n) {
            reads |= 1u << l;
            if (from[l] & (i->bytes - 1u))
                sim_bytes(w, i, l, SPACE_GLOBAL, from[l], i->bytes, false);
            src = n == i->bytes ? sim_bytes(w, i, l, SPACE_GLOBAL, from[l], n, false)
                                : (const uint8_t *)(uintptr_t)from[l];
            if (!region_has(src, n))
                sim_fault(w, i, l, CUDA_ERROR_ILLEGAL_ADDRESS,
                          "a copy of %u bytes from %p, where no registered memory is",
                          n, (const void *)src);
        }
        sim_bytes(w, i, l, SPACE_SHARED, to[l], i->bytes, true);
        memset(sim_states(w, SPACE_SHARED, to[l]), BYTE_PENDING, i->bytes);
        keep_copy(w, i, l,
                  (Copy){(uint32_t)l, (uint32_t)(to[l] - SHARED_BASE), i->bytes,
                         w->committed[l], src, n});
    }
    sim_access(&w->lanes, i, reads, SPACE_GLOBAL, from, i->bytes, false);
    sim_access(&w->lanes, i, m, SPACE_SHARED, to, i->bytes, true);
}

/* All but the newest `pending` groups of the lanes in m land; -1: what has no group too. */
static void
sim_copies_land(Warp *w, uint32_t m, int64_t pending)
{
    int n = 0;
    for (int k = 0; k < w->n_copies; k++) {
        Copy c = w->copies[k];
        bool lands = m >> c.lane & 1 && c.group < w->committed[c.lane] - pending;
        if (!lands) {
            w->copies[n++] = c;
            continue;
        }
        uint8_t *to = w->cta->shared + c.to;
        if (c.n_from)
            memcpy(to, c.from, c.n_from);
        memset(to + c.n_from, 0, c.bytes - c.n_from);
        memset(w->cta->state + c.to, BYTE_DEFINED, c.bytes);
    }
    w->n_copies = n;
}

static void
commit(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    (void)i;
    for (int l = 0; l < LANES; l++)
        w->committed[l] += m >> l & 1;
}

static void
wait_group(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    sim_copies_land(w, m, i->imm);
}

/* ---- st.async -------------------------------------------------------------------- */

/* st.async: stores, and tells the mbarrier how many bytes came. */
static void
st_async(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    uint64_t address[LANES], bar[LANES], v[4][LANES];
    lanes_addresses(&w->lanes, i, m, address);
    lanes_get(&w->lanes, i->in[1], bar);
    for (int k = 1; k < i->n_in; k++) {
        uint32_t bad = w->lanes.undef[i->in[k].id] & m;
        if (bad)
            sim_fault(w, i, __builtin_ctz(bad), CUDA_ERROR_INVALID_VALUE,
                      "an operand was never written");
    }
    for (int k = 0; k < i->n; k++)
        lanes_get(&w->lanes, i->in[2 + k], v[k]);
    uint32_t n = (uint32_t)i->n * i->bytes;
    sim_access(&w->lanes, i, m, SPACE_CLUSTER, address, (int)n, true);
    for (int l = 0; l < LANES; l++) {
        if (!(m >> l & 1))
            continue;
        uint8_t *p = sim_bytes(w, i, l, SPACE_CLUSTER, address[l], n, true);
        for (int k = 0; k < i->n; k++)
            memcpy(p + k * i->bytes, &v[k][l], i->bytes);
        memset(sim_states(w, SPACE_CLUSTER, address[l]), BYTE_DEFINED, n);
        mbarrier_update(&w->lanes, i, l, SPACE_CLUSTER,
                        bar[l] + (uint64_t)*(const int64_t *)i->more, 0, -(int64_t)n);
    }
}

/* ---- rows ------------------------------------------------------------------------ */

/* A second address: its base is a row of in[], its offset in more. */
static void
dec_second_address(Dec *d, int k)
{
    const Sym *sym;
    int64_t first = d->ins->imm;
    d->ins->imm = 0;
    dec_address(d, k, &sym);
    int64_t *more = dec_more(d, sizeof *more);
    *more = d->ins->imm;
    d->ins->imm = first;
}

static void
dec_copy(Dec *d)
{
    Ins *i = d->ins;
    const Sym *sym;
    int64_t bytes;
    bool is_cg = dec_has(d, "cg");
    if (!is_cg && !dec_has(d, "ca"))
        dec_fail(d, "this copy is not simulated");
    if ((!dec_has(d, "shared") && !dec_has(d, "shared::cta")) || !dec_has(d, "global"))
        dec_fail(d, "no such form");
    dec_take_hints(d);
    bool policy = dec_has(d, "L2::cache_hint");
    if (!dec_literal(d, 2, &bytes) ||
        (bytes != 16 && (is_cg || (bytes != 4 && bytes != 8))))
        dec_fail(d, "a copy of that many bytes");
    i->bytes = (uint8_t)bytes;
    dec_address(d, 0, &sym);
    dec_second_address(d, 1);
    if (d->n_opds - policy > 3) {
        Opd *o = &d->opd[3];
        Sym *s = o->kind == OPD_NAME ? dec_sym(d, o->name) : NULL;
        bool is_pred = s && s->type == T_PRED;
        i->flags = is_pred ? BY_PREDICATE : BY_SIZE;
        dec_in_opd(d, o, is_pred ? 1 : 4);
    }
    if (d->n_opds > 4 + policy)
        dec_fail(d, "%d operands", d->n_opds);
    i->run = cp_async;
}

static void
dec_cp(Dec *d)
{
    if (!dec_has(d, "async"))
        dec_fail(d, "this copy is not simulated");
    if (dec_has(d, "commit_group")) {
        d->ins->run = commit;
    } else if (dec_has(d, "wait_all")) {
        d->ins->imm = -1;
        d->ins->run = wait_group;
    } else if (dec_has(d, "wait_group")) {
        if (!dec_literal(d, 0, &d->ins->imm) || d->ins->imm < 0)
            dec_fail(d, "a number of groups");
        d->ins->run = wait_group;
    } else {
        dec_copy(d);
    }
}

static void
dec_st_async(Dec *d)
{
    static const char *const vectors[] = {"v2", "v4", NULL};
    Ins *i = d->ins;
    const Sym *sym;
    dec_take_hints(d);
    if (dec_space(d) != SPACE_CLUSTER || !dec_has(d, "mbarrier::complete_tx::bytes"))
        dec_fail(d, "this form is not simulated");
    int v = dec_one(d, vectors);
    i->type = (uint8_t)dec_type(d);
    i->n = (uint8_t)(v < 0 ? 1 : 2 << v);
    i->bytes = type_info[i->type].bytes;
    if (i->bytes != 4 && i->bytes != 8)
        dec_fail(d, "no such form");
    dec_address(d, 0, &sym);
    dec_second_address(d, 2);
    Opd *o = &d->opd[1];
    if (o->kind == OPD_VEC ? o->n_parts != i->n : i->n != 1)
        dec_fail(d, "%d elements", o->n_parts);
    for (int k = 0; k < i->n; k++)
        dec_in_opd(d, o->kind == OPD_VEC ? &o->part[k] : o, i->bytes);
    i->run = st_async;
}

static void
dec_st_or_async(Dec *d)
{
    if (dec_has(d, "async"))
        dec_st_async(d);
    else
        dec_st(d);
}

/* Found before memory.c's st. */
const OpRow async_ops[] = {{"cp", dec_cp}, {"st", dec_st_or_async}, {NULL, NULL}};
