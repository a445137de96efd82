/* convert_shared: conversions through shared memory. Names are those of convert.c.
 *
 * All work is done in coordinates x of S's own inputs (registers, lanes, warps without
 * the redundant ones), where S's columns are unit vectors. A matrix
 *
 *     M = [ vector | bank | row | rep ]       offset bits -> x
 *
 * has as vector the registers that both sides have, up to 16 bytes (extended to the 4
 * bytes of a bank by whatever there is, and beyond by registers of one side, widen). Words whose
 * neighbour in the result comes from another lane have that one first (choose_neighbours). Rep are further common registers, taken out
 * when the buffer would be too large: each of their values is a pass of its own. With U
 * (and W) the span of vector, rep and the lanes that one phase of a store (load)
 * serves, a phase is free of conflicts iff span(row) meets U (W) in 0 only. Let C
 * complete U + W to all, A (B) complete W (U) to U + W. C and the sums a_i + b_i have
 * that property:
 *     sum(c) + sum(a + b) in U  =>  no c, sum(b) in U  =>  no b,   same for W.
 * They are n - max(dim U, dim W) many, and a row of banks needs no more than that many
 * row bits, since dim U <= vector + rep + bank. So no plan has conflicts.
 *
 * Rule: vector and rep are unit vectors of x that no other column of S or D contains,
 *       and bank and row do not contain them: then every address is a multiple of the
 *       vector, and every pass is complete in itself.
 */
#include "layout/convert.h"

#include <assert.h>

/* A buffer above this is filled and emptied in passes where registers allow it. Two
 * blocks of 128 x 128 f32 in flight would otherwise take all of shared memory. */
enum { MAX_BUFFER_BYTES = 32 << 10 };

typedef struct Shared {
    int m;             /* coordinates x: independent inputs of src */
    Col key[MAX_BITS]; /* their bases */
    int n_sreg;        /* the first of them are these src register bits */
    int sreg[MAX_BITS];
    Col s_lane[LANE_BITS], s_warp[WARP_BITS]; /* all columns in coordinates x */
    Col d_reg[MAX_BITS], d_lane[LANE_BITS], d_warp[WARP_BITS];
    int n_unit, unit[MAX_BITS]; /* vector: common, then up to a bank's 4 bytes */
    int n_rep, rep[MAX_BITS];
    Col taken;         /* coordinates of unit and rep */
    Col inv[MAX_BITS]; /* offset of coordinate i; rep has none */
} Shared;

static Col
coord(Comp *c, const Shared *h, Col index)
{
    Col x;
    if (!f2_solve(h->key, h->m, index, &x))
        err_at(c, NULL, LIMIT,
               "moving a value between the blocks of a cluster is not supported");
    return x;
}

/* Chooses the coordinates x: lanes and warps before registers, so that what a register
 * has in common with them need not be stored. */
static void
choose_coords(const Conv *v, Shared *h, ConvPlan *p)
{
    const Layout *s = v->src, *d = v->dst;
    Col thread[LANE_BITS + WARP_BITS], span[MAX_BITS + LANE_BITS + WARP_BITS], x;
    int n_thread = 0, n_span = 0;
    for (int i = 0; i < s->n[IN_LANE]; i++)
        if (f2_solve(thread, n_thread, s->basis[IN_LANE][i], &x))
            p->store_lane_skip |= 1u << i;
        else
            thread[n_thread++] = s->basis[IN_LANE][i];
    for (int i = 0; i < s->n[IN_WARP]; i++)
        if (f2_solve(thread, n_thread, s->basis[IN_WARP][i], &x))
            p->store_warp_skip |= 1u << i;
        else
            thread[n_thread++] = s->basis[IN_WARP][i];
    memcpy(span, thread, (size_t)n_thread * sizeof(Col));
    n_span = n_thread;
    for (int i = 0; i < s->n[IN_REG]; i++)
        if (!f2_solve(span, n_span, s->basis[IN_REG][i], &x)) {
            span[n_span++] = h->key[h->m++] = s->basis[IN_REG][i];
            h->sreg[h->n_sreg++] = i;
        }
    memcpy(h->key + h->m, thread, (size_t)n_thread * sizeof(Col));
    h->m += n_thread;
    for (int i = 0; i < MAX_BITS; i++)
        if (basis(s, IN_BLOCK, i) != basis(d, IN_BLOCK, i))
            err_at(v->c, NULL, LIMIT,
                   "moving a value between the blocks of a cluster is not supported");
    for (int i = 0; i < LANE_BITS; i++) {
        h->s_lane[i] = coord(v->c, h, basis(s, IN_LANE, i));
        h->d_lane[i] = coord(v->c, h, basis(d, IN_LANE, i));
    }
    for (int i = 0; i < WARP_BITS; i++) {
        h->s_warp[i] = coord(v->c, h, basis(s, IN_WARP, i));
        h->d_warp[i] = coord(v->c, h, basis(d, IN_WARP, i));
    }
    for (int k = 0; k < v->n_dreg; k++)
        h->d_reg[k] = coord(v->c, h, d->basis[IN_REG][v->dreg[k]]);
}

/* Is coordinate j a register of src? Lanes and warps came first, so none contains it. */
static bool
is_src_reg(const Shared *h, int j)
{
    return j < h->n_sreg;
}

/* The position in dreg of the register of dst that is coordinate j, if no other column
 * of dst contains it; or -1. */
static int
only_dst_reg(const Conv *v, const Shared *h, int j)
{
    Col others = 0;
    int found = -1;
    for (int i = 0; i < LANE_BITS; i++)
        others |= h->d_lane[i];
    for (int i = 0; i < WARP_BITS; i++)
        others |= h->d_warp[i];
    for (int k = 0; k < v->n_dreg; k++)
        if (h->d_reg[k] == (Col)1 << j && found < 0)
            found = k;
        else
            others |= h->d_reg[k];
    return others >> j & 1 ? -1 : found;
}

static bool
is_common(const Conv *v, const Shared *h, int j)
{
    return is_src_reg(h, j) && only_dst_reg(v, h, j) >= 0;
}

static bool
is_taken(const Shared *h, int j)
{
    return h->taken >> j & 1;
}

static void
take_unit(Shared *h, int j)
{
    h->unit[h->n_unit++] = j;
    h->taken |= (Col)1 << j;
}

static bool
is_too_large(const Conv *v, const Shared *h)
{
    return (int64_t)(v->elem_bits / 8) << (h->m - h->n_rep) > MAX_BUFFER_BYTES;
}

static int
log2_bytes(const Conv *v, int n)
{
    return MAX(__builtin_ctz((unsigned)v->elem_bits) - 3 + n, 2);
}

/* Lanes that one phase of an access of so many bytes serves. */
static int
log2_phase(int log2_bytes)
{
    return 7 - log2_bytes;
}

static bool
is_of_phase(const Col *lane, int n, int j)
{
    for (int i = 0; i < n; i++)
        if (lane[i] == (Col)1 << j)
            return true;
    return false;
}

/* How many of the vector's coordinates are registers of src. */
static int
n_stored(const Shared *h)
{
    int n = 0;
    while (n < h->n_unit && is_src_reg(h, h->unit[n]))
        n++;
    return n;
}

static int
n_loaded(const Conv *v, const Shared *h)
{
    int n = 0;
    while (n < h->n_unit && only_dst_reg(v, h, h->unit[n]) >= 0)
        n++;
    return n;
}

/* Is coordinate j a register of one side, and of the lanes of a phase of the other? */
static bool
is_of_one_side(const Conv *v, const Shared *h, int j, bool is_store)
{
    int log2 = log2_bytes(v, is_store ? n_loaded(v, h) : n_stored(h));
    bool is_reg = is_store ? is_src_reg(h, j) : only_dst_reg(v, h, j) >= 0;
    return is_reg && is_of_phase(is_store ? h->d_lane : h->s_lane, log2_phase(log2), j);
}

/* Neighbours in the result's registers come by one load, if they are words: tensor cores and wide stores take them
 * as they lie then. Other registers that both sides have would be one access of each side, of words that
 * go apart again, by a move each. */
static void
choose_neighbours(const Conv *v, Shared *h)
{
    for (int j = 0; j < h->m && v->elem_bits == 32; j++)
        if (only_dst_reg(v, h, j) == 0 && !is_src_reg(h, j) &&
            is_of_one_side(v, h, j, false))
            take_unit(h, j);
}

/* Vector, rep, and what fills the vector up to 4 bytes. */
static void
choose_units(const Conv *v, Shared *h)
{
    choose_neighbours(v, h);
    bool is_common_first = !h->n_unit;
    for (int j = 0; j < h->n_sreg && is_common_first; j++)
        if (v->elem_bits << h->n_unit < 128 && is_common(v, h, j))
            take_unit(h, j);
    for (int j = h->n_sreg - 1; j >= 0; j--)
        if (!is_taken(h, j) && is_common(v, h, j) && is_too_large(v, h)) {
            h->rep[h->n_rep++] = j;
            h->taken |= (Col)1 << j;
        }
    /* Narrower accesses move as many bytes a cycle, down to 4 each. */
    while (v->elem_bits << h->n_unit > 32 && h->n_unit && is_too_large(v, h))
        h->rep[h->n_rep++] = h->unit[--h->n_unit];
    /* A store of 4 bytes saves as much as a load of 4 bytes; failing both, anything. */
    for (int want = 0; want < 3; want++)
        for (int j = 0; j < h->m && v->elem_bits << h->n_unit < 32; j++)
            if (!is_taken(h, j) && (want == 2 || (want == 0 && is_src_reg(h, j)) ||
                                    (want == 1 && only_dst_reg(v, h, j) >= 0)))
                take_unit(h, j);
}

/* The vector of one side, up to 16 bytes, by registers that lanes of the other have: as many
 * bytes a cycle, by fewer instructions. Of loads, or else of stores. A phase of the other side
 * has them among its lanes, so they are in U and W. */
static void
widen(const Conv *v, Shared *h)
{
    int n = h->n_unit;
    for (int is_store = 0; is_store < 2 && h->n_unit == n; is_store++) {
        bool fits = true;
        for (int k = 0; k < n; k++)
            fits = fits && (is_common(v, h, h->unit[k]) ||
                            is_of_one_side(v, h, h->unit[k], is_store));
        for (int j = 0; fits && j < h->m && v->elem_bits << h->n_unit < 128; j++)
            if (!is_taken(h, j) && is_of_one_side(v, h, j, is_store))
                take_unit(h, j);
    }
}

/* Fills inv: the matrix M of the essay, inverted. */
static void
swizzle(const Conv *v, Shared *h)
{
    Col mat[2 * MAX_BITS], u[MAX_BITS + LANE_BITS], w[MAX_BITS + LANE_BITS];
    Col both[2 * MAX_BITS], a[LANE_BITS], b[LANE_BITS], row[MAX_BITS];
    int n = 0;
    for (int k = 0; k < h->n_unit; k++)
        mat[n++] = (Col)1 << h->unit[k];
    for (int k = 0; k < h->n_rep; k++)
        mat[n++] = (Col)1 << h->rep[k];
    int n_bank = MIN(7 - log2_bytes(v, h->n_unit), h->m - n), n_row = h->m - n - n_bank;
    int n_store = log2_phase(log2_bytes(v, n_stored(h))),
        n_load = log2_phase(log2_bytes(v, n_loaded(v, h)));
    memcpy(u, mat, (size_t)n * sizeof(Col));
    memcpy(w, mat, (size_t)n * sizeof(Col));
    memcpy(u + n, h->s_lane, (size_t)n_store * sizeof(Col));
    memcpy(w + n, h->d_lane, (size_t)n_load * sizeof(Col));
    memcpy(both, u, (size_t)(n + n_store) * sizeof(Col));
    memcpy(both + n + n_store, h->d_lane, (size_t)n_load * sizeof(Col));

    int n_c = f2_complement(both, n + n_store + n_load, h->m, row);
    int n_a = f2_extend(w, n + n_load, h->s_lane, n_store, a);
    int n_b = f2_extend(u, n + n_store, h->d_lane, n_load, b);
    for (int k = 0; k < MIN(n_a, n_b); k++)
        row[n_c + k] = (a[k] ^ b[k]) & ~h->taken; /* taken is in U and W: as good */
    assert(n_c + MIN(n_a, n_b) >= n_row);

    /* [unit | bank | row | rep]: banks are what the rest leaves. */
    Col rest[MAX_BITS];
    memcpy(mat + n, row, (size_t)n_row * sizeof(Col));
    int found = f2_complement(mat, n + n_row, h->m, rest);
    assert(found == n_bank);
    (void)found;
    memcpy(mat + h->n_unit, rest, (size_t)n_bank * sizeof(Col));
    memcpy(mat + h->n_unit + n_bank, row, (size_t)n_row * sizeof(Col));
    for (int k = 0; k < h->n_rep; k++)
        mat[h->m - h->n_rep + k] = (Col)1 << h->rep[k];
    bool ok = f2_invert(mat, h->m, h->m, h->inv);
    assert(ok);
    (void)ok;
    for (int j = 0; j < h->m; j++)
        h->inv[j] &= ((Col)1 << (h->m - h->n_rep)) - 1;
}

static Col
offset(const Shared *h, Col x)
{
    return f2_mul(h->inv, h->m, x);
}

static void
fill_threads(const Shared *h, ConvPlan *p)
{
    for (int i = 0; i < LANE_BITS; i++) {
        p->store_moving |= p->store_lane[i] = offset(h, h->s_lane[i]);
        p->load_moving |= p->load_lane[i] = offset(h, h->d_lane[i]);
    }
    for (int i = 0; i < WARP_BITS; i++) {
        p->store_moving |= p->store_warp[i] = offset(h, h->s_warp[i]);
        p->load_moving |= p->load_warp[i] = offset(h, h->d_warp[i]);
    }
}

static void
fill_stores(const Conv *v, const Shared *h, ConvPlan *p)
{
    int vec[MAX_BITS], rep[MAX_BITS], rest[MAX_BITS], n_rest = 0, n = n_stored(h);
    for (int k = 0; k < n; k++)
        vec[k] = h->sreg[h->unit[k]];
    p->log2_store = n;
    for (int k = 0; k < h->n_rep; k++)
        rep[k] = h->sreg[h->rep[k]];
    Col skip = h->taken, xor[MAX_BITS];
    for (int k = n; k < h->n_unit; k++)
        skip &= ~((Col)1 << h->unit[k]);
    for (int j = 0; j < h->n_sreg; j++)
        if (!(skip >> j & 1)) {
            xor[n_rest] = h->inv[j];
            rest[n_rest++] = h->sreg[j];
        }
    p->n_stores = 1 << n_rest;
    int *from = NEW_N(v->c->arena, int, p->n_reps * p->n_stores << n);
    Col *at = NEW_N(v->c->arena, Col, p->n_stores);
    for (int i = 0; i < p->n_stores; i++)
        at[i] = f2_mul(xor, n_rest, (Col)i);
    for (int k = 0; k < p->n_reps * p->n_stores << n; k++) {
        int e = k & ((1 << n) - 1), i = k >> n & (p->n_stores - 1),
            r = k >> n >> n_rest;
        from[k] = (int)(scatter((Col)e, vec, n) | scatter((Col)i, rest, n_rest) |
                        scatter((Col)r, rep, h->n_rep));
    }
    p->src_from = from, p->store_xor = at;
}

static void
fill_loads(const Conv *v, const Shared *h, ConvPlan *p)
{
    int vec[MAX_BITS], rep[MAX_BITS], rest[MAX_BITS], n_rest = 0, n = n_loaded(v, h);
    Col skip = 0, xor[MAX_BITS];
    for (int k = 0; k < n; k++) {
        vec[k] = only_dst_reg(v, h, h->unit[k]);
        skip |= (Col)1 << vec[k];
    }
    p->log2_load = n;
    for (int k = 0; k < h->n_rep; k++) {
        rep[k] = only_dst_reg(v, h, h->rep[k]);
        skip |= (Col)1 << rep[k];
    }
    for (int k = 0; k < v->n_dreg; k++)
        if (!(skip >> k & 1)) {
            xor[n_rest] = offset(h, h->d_reg[k]);
            rest[n_rest++] = k;
        }
    p->n_loads = 1 << n_rest;
    Col *at = NEW_N(v->c->arena, Col, p->n_loads);
    for (int i = 0; i < p->n_loads; i++)
        at[i] = f2_mul(xor, n_rest, (Col)i);
    int *from = NEW_N(v->c->arena, int, p->n_dst);
    for (int r = 0; r < p->n_dst; r++) {
        Col kept = f2_mul(v->dst_kept, v->dst->n[IN_REG], (Col)r);
        Col access = gather(kept, rep, h->n_rep) << n_rest | gather(kept, rest, n_rest);
        from[r] = (int)(access << n | gather(kept, vec, n));
    }
    p->dst_from = from, p->load_xor = at;
}

/* No element changes warps, and no two warps store the same. */
static bool
is_warp_local(const Shared *h, const Conv *v, const ConvPlan *p)
{
    Col warps = 0, moved = 0;
    for (int i = 0; i < WARP_BITS; i++) {
        if (basis(v->src, IN_WARP, i) != basis(v->dst, IN_WARP, i))
            return false;
        warps |= h->s_warp[i];
    }
    for (int i = 0; i < LANE_BITS; i++)
        moved |= h->s_lane[i] | h->d_lane[i];
    for (int k = 0; k < v->n_dreg; k++)
        moved |= h->d_reg[k];
    return !p->store_warp_skip && !(warps & moved);
}

/* offset_of: the coordinates of each bit of the flat index, as far as it has any. */
static void
fill_offsets(const Conv *v, const Shared *h, ConvPlan *p)
{
    int bits = layout_bits(v->src), n = h->m;
    Col m[2 * MAX_BITS], x[MAX_BITS];
    memcpy(m, h->key, (size_t)n * sizeof(Col));
    n += f2_extend(m, n, v->src->basis[IN_BLOCK], v->src->n[IN_BLOCK], m + n);
    n += f2_complement(m, n, bits, m + n);
    bool ok = f2_invert(m, n, bits, x);
    assert(ok);
    (void)ok;
    for (int b = 0; b < bits; b++)
        p->offset_of[b] = offset(h, x[b] & (((Col)1 << h->m) - 1));
}

void
convert_plan_shared(const Conv *v, ConvPlan *p)
{
    Shared h = {0};
    choose_coords(v, &h, p);
    choose_units(v, &h);
    widen(v, &h);
    swizzle(v, &h);
    p->kind = CONV_SHARED;
    p->log2_buffer = h.m - h.n_rep;
    p->log2_elem_bytes = __builtin_ctz((unsigned)v->elem_bits) - 3;
    p->n_reps = 1 << h.n_rep;
    fill_threads(&h, p);
    fill_stores(v, &h, p);
    fill_loads(v, &h, p);
    fill_offsets(v, &h, p);
    p->warp_local = is_warp_local(&h, v, p);
    p->store_ways = layout_bank_ways(v->src, p->offset_of, p->log2_store, v->elem_bits);
    p->load_ways = layout_bank_ways(v->dst, p->offset_of, p->log2_load, v->elem_bits);
}
