/* layout: the algebra of maps from (register, lane, warp, block) to elements.
 *
 * Every operation here is a relabelling of output bits applied to each basis, or a
 * choice of which input bits exist; none looks at elements. Two views of a column are
 * used: the flat index, in which the last dim has the low bits, and one coordinate per
 * dim.
 *
 *     shape [4, 8], column 13 = 01|101        coordinates (1, 5)
 */
#include "layout/layout.h"

#include <assert.h>

int
layout_dim_shift(const Layout *l, int dim)
{
    int s = 0;
    for (int d = dim + 1; d < l->rank; d++)
        s += l->log2_shape[d];
    return s;
}

int
layout_bits(const Layout *l)
{
    return layout_dim_shift(l, -1);
}

int
layout_n_in(const Layout *l)
{
    return l->n[IN_REG] + l->n[IN_LANE] + l->n[IN_WARP] + l->n[IN_BLOCK];
}

/* All bases in the order reg, lane, warp, block; returns the count. */
static int
columns(const Layout *l, Col out[N_IN * MAX_BITS])
{
    int k = 0;
    for (int d = 0; d < N_IN; d++)
        for (int i = 0; i < l->n[d]; i++)
            out[k++] = l->basis[d][i];
    return k;
}

Col
layout_at(const Layout *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t block)
{
    return f2_mul(l->basis[IN_REG], l->n[IN_REG], reg) ^
           f2_mul(l->basis[IN_LANE], l->n[IN_LANE], lane) ^
           f2_mul(l->basis[IN_WARP], l->n[IN_WARP], warp) ^
           f2_mul(l->basis[IN_BLOCK], l->n[IN_BLOCK], block);
}

static int
layout_rank(const Layout *l)
{
    Col m[N_IN * MAX_BITS];
    return f2_rank(m, columns(l, m));
}

bool
layout_is_onto(const Layout *l)
{
    return layout_rank(l) == layout_bits(l);
}

bool
layout_is_injective(const Layout *l)
{
    return layout_rank(l) == layout_n_in(l);
}

uint32_t
layout_moves(const Layout *l, InDim in, int dim)
{
    Col along = (((Col)1 << l->log2_shape[dim]) - 1) << layout_dim_shift(l, dim);
    uint32_t mask = 0;
    for (int i = 0; i < l->n[in]; i++)
        if (l->basis[in][i] & along)
            mask |= 1u << i;
    return mask;
}

uint32_t
layout_copies(const Layout *l)
{
    uint32_t mask = 0;
    for (int i = 0; i < MIN(l->n[IN_LANE], LANE_BITS); i++)
        mask |= (uint32_t)!l->basis[IN_LANE][i] << i;
    for (int i = 0; i < MIN(l->n[IN_WARP], WARP_BITS); i++)
        mask |= (uint32_t)!l->basis[IN_WARP][i] << (LANE_BITS + i);
    return mask;
}

bool
layout_is_nested(const Layout *l, int dim)
{
    Col lanes = 0, warps = 0,
        along = (((Col)1 << l->log2_shape[dim]) - 1) << layout_dim_shift(l, dim);
    for (int i = 0; i < l->n[IN_LANE]; i++)
        lanes |= l->basis[IN_LANE][i] & along;
    for (int i = 0; i < l->n[IN_WARP]; i++)
        warps |= l->basis[IN_WARP][i] & along;
    if (!warps)
        return true;
    Col low = warps & -warps; /* a run plus its lowest bit has no bit of the run */
    return lanes < low && !((warps + low) & warps);
}

int
layout_run(const Layout *l, int dim, int max, int *reg_bit)
{
    Col m[N_IN * MAX_BITS];
    int n = columns(l, m), shift = layout_dim_shift(l, dim);
    max = MIN(max, l->log2_shape[dim]);
    for (int v = 0; v < max; v++) {
        Col want = (Col)1 << (shift + v);
        int users = 0, found = -1;
        for (int i = 0; i < n; i++) {
            users += (m[i] & want) != 0;
            if (i < l->n[IN_REG] && m[i] == want)
                found = i;
        }
        if (users != 1 || found < 0)
            return v;
        reg_bit[v] = found;
    }
    return max;
}

/* ---- interning ------------------------------------------------------------------- */

const Layout *
layout_intern(Comp *c, const Layout *l)
{
    /* The key has what n says and no padding; unused bases may hold anything. */
    uint32_t key[MAX_RANK + N_IN + 1 + N_IN * MAX_BITS];
    int k = 0;
    assert(l->rank <= MAX_RANK && layout_bits(l) <= MAX_BITS);
    key[k++] = l->rank;
    for (int d = 0; d < l->rank; d++)
        key[k++] = l->log2_shape[d];
    for (int d = 0; d < N_IN; d++) {
        assert(l->n[d] <= MAX_BITS);
        key[k++] = l->n[d];
        for (int i = 0; i < l->n[d]; i++) {
            assert(l->basis[d][i] >> layout_bits(l) == 0);
            key[k++] = l->basis[d][i];
        }
    }
    size_t len = (size_t)k * sizeof *key;
    const Layout *old = map_get(&c->layouts, key, len);
    if (old)
        return old;
    Layout *kept = NEW(c->arena, Layout);
    kept->rank = l->rank;
    memcpy(kept->log2_shape, l->log2_shape, l->rank);
    for (int d = 0; d < N_IN; d++) {
        kept->n[d] = l->n[d];
        memcpy(kept->basis[d], l->basis[d], l->n[d] * sizeof(Col));
    }
    map_put(&c->layouts, key, len, kept);
    return kept;
}

/* ---- shapes ---------------------------------------------------------------------- */

static void
coords_of(const Layout *l, Col v, Col *at)
{
    for (int d = l->rank - 1; d >= 0; d--) {
        at[d] = v & (((Col)1 << l->log2_shape[d]) - 1);
        v >>= l->log2_shape[d];
    }
}

static Col
flat_of(const Layout *l, const Col *at)
{
    Col v = 0;
    for (int d = 0; d < l->rank; d++)
        v = v << l->log2_shape[d] | at[d];
    return v;
}

/* l's inputs over another shape: dim i of the result is dim from[i], or new (< 0). */
static Layout
relabel(const Layout *l, int rank, const uint8_t *log2_shape, const int *from)
{
    Layout r = {.rank = (uint8_t)rank};
    assert(rank <= MAX_RANK);
    memcpy(r.log2_shape, log2_shape, (size_t)rank);
    for (int d = 0; d < N_IN; d++) {
        r.n[d] = l->n[d];
        for (int i = 0; i < l->n[d]; i++) {
            Col old[MAX_RANK], new[MAX_RANK] = {0};
            coords_of(l, l->basis[d][i], old);
            for (int k = 0; k < rank; k++)
                if (from[k] >= 0)
                    new[k] = old[from[k]];
            r.basis[d][i] = flat_of(&r, new);
        }
    }
    return r;
}

const Layout *
layout_expand(Comp *c, const Layout *l, int axis)
{
    uint8_t shape[MAX_RANK] = {0};
    int from[MAX_RANK];
    assert(l->rank < MAX_RANK && axis >= 0 && axis <= l->rank);
    for (int d = 0; d <= l->rank; d++) {
        from[d] = d == axis ? -1 : d - (d > axis);
        shape[d] = d == axis ? 0 : l->log2_shape[from[d]];
    }
    Layout r = relabel(l, l->rank + 1, shape, from);
    return layout_intern(c, &r);
}

const Layout *
layout_slice(Comp *c, const Layout *l, int axis)
{
    uint8_t shape[MAX_RANK];
    int from[MAX_RANK];
    assert(axis >= 0 && axis < l->rank);
    for (int d = 0; d < l->rank - 1; d++) {
        from[d] = d + (d >= axis);
        shape[d] = l->log2_shape[from[d]];
    }
    Layout r = relabel(l, l->rank - 1, shape, from);
    return layout_intern(c, &r);
}

static Col
without(Col bits, Col c)
{
    Col y = 0;
    for (int i = 0, n = 0; c >> i; i++)
        if (!(bits >> i & 1))
            y |= (c >> i & 1) << n++;
    return y;
}

const Layout *
layout_part(Comp *c, const Layout *l, Col bits)
{
    Layout y = {.rank = l->rank};
    Col seen = 0;
    for (int d = 0; d < l->rank; d++) {
        Col of_dim = ((Col)1 << l->log2_shape[d]) - 1;
        int n = __builtin_popcount(bits & of_dim << layout_dim_shift(l, d));
        y.log2_shape[d] = (uint8_t)(l->log2_shape[d] - n);
    }
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++) {
            Col b = l->basis[in][i];
            bool is_cut = in == IN_REG && b & bits;
            if (b & bits && (!is_cut || b & (b - 1) || b & seen))
                return NULL;
            if (is_cut)
                seen |= b;
            else
                y.basis[in][y.n[in]++] = without(bits, b);
        }
    return seen == bits ? layout_intern(c, &y) : NULL;
}

const Layout *
layout_permute(Comp *c, const Layout *l, const int *perm)
{
    uint8_t shape[MAX_RANK];
    for (int d = 0; d < l->rank; d++)
        shape[d] = l->log2_shape[perm[d]];
    Layout r = relabel(l, l->rank, shape, perm);
    return layout_intern(c, &r);
}

const Layout *
layout_reshape(Comp *c, const Layout *l, int rank, const uint8_t *log2_shape)
{
    Layout r = *l; /* the flat index stays */
    r.rank = (uint8_t)rank;
    memcpy(r.log2_shape, log2_shape, (size_t)rank);
    assert(layout_bits(&r) == layout_bits(l));
    return layout_intern(c, &r);
}

/* Lets an input bit that replicates hold b; makes a register bit if there is none. */
static void
add_basis(Layout *l, Col b)
{
    static const InDim order[] = {IN_LANE, IN_WARP, IN_REG};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < l->n[order[k]]; i++)
            if (!l->basis[order[k]][i]) {
                l->basis[order[k]][i] = b;
                return;
            }
    assert(l->n[IN_REG] < MAX_BITS);
    l->basis[IN_REG][l->n[IN_REG]++] = b;
}

const Layout *
layout_broadcast(Comp *c, const Layout *l, const uint8_t *log2_shape)
{
    int from[MAX_RANK] = {0};
    for (int d = 0; d < l->rank; d++) {
        assert(l->log2_shape[d] == log2_shape[d] || !l->log2_shape[d]);
        from[d] = d;
    }
    Layout r = relabel(l, l->rank, log2_shape, from);
    for (int d = l->rank - 1; d >= 0; d--)
        for (int b = l->log2_shape[d]; b < log2_shape[d]; b++)
            add_basis(&r, (Col)1 << (layout_dim_shift(&r, d) + b));
    return layout_intern(c, &r);
}

const Layout *
layout_join(Comp *c, const Layout *l)
{
    Layout r = *l;
    assert(l->rank < MAX_RANK && l->n[IN_REG] < MAX_BITS);
    r.log2_shape[r.rank++] = 1;
    r.n[IN_REG]++;
    r.basis[IN_REG][0] = 1;
    for (int d = 0; d < N_IN; d++)
        for (int i = 0; i < l->n[d]; i++)
            r.basis[d][d == IN_REG ? i + 1 : i] = l->basis[d][i] << 1;
    return layout_intern(c, &r);
}

int
layout_split_bit(const Layout *l)
{
    int bit;
    if (!l->rank || l->log2_shape[l->rank - 1] != 1)
        return -1;
    return layout_run(l, l->rank - 1, 1, &bit) ? bit : -1;
}

const Layout *
layout_split(Comp *c, const Layout *l)
{
    int bit = layout_split_bit(l);
    if (bit < 0)
        return NULL;
    Layout r = {.rank = (uint8_t)(l->rank - 1)};
    memcpy(r.log2_shape, l->log2_shape, r.rank);
    for (int d = 0; d < N_IN; d++)
        for (int i = 0; i < l->n[d]; i++)
            if (d != IN_REG || i != bit)
                r.basis[d][r.n[d]++] = l->basis[d][i] >> 1;
    return layout_intern(c, &r);
}

const Layout *
layout_dedup_regs(Comp *c, const Layout *l)
{
    Layout r = *l;
    r.n[IN_REG] = 0;
    for (int i = 0; i < l->n[IN_REG]; i++)
        if (l->basis[IN_REG][i])
            r.basis[IN_REG][r.n[IN_REG]++] = l->basis[IN_REG][i];
    return layout_intern(c, &r);
}

/* ---- text ------------------------------------------------------------------------ */

static const char *const in_names[N_IN] = {"reg", "lane", "warp", "block"};

char *
layout_str(Arena *a, const Layout *l)
{
    Sb sb = {.a = a};
    for (int d = 0; d < N_IN; d++) {
        if (d == IN_BLOCK && !l->n[d])
            continue;
        sb_printf(&sb, "%s%s [", d ? " " : "", in_names[d]);
        for (int i = 0; i < l->n[d]; i++)
            sb_printf(&sb, "%s%u", i ? " " : "", l->basis[d][i]);
        sb_put(&sb, "]");
    }
    return sb.at;
}

static const char *
skip_blanks(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

/* "name [1 2 4]" at *text into bases below limit; else false and *text unmoved. */
static bool
parse_bases(const char **text, const char *name, uint64_t limit, uint8_t *n, Col *basis)
{
    const char *s = skip_blanks(*text);
    size_t len = strlen(name);
    *n = 0;
    if (strncmp(s, name, len))
        return false;
    s = skip_blanks(s + len);
    if (*s++ != '[')
        return false;
    for (s = skip_blanks(s); *s != ']'; s = skip_blanks(s)) {
        uint64_t v = 0;
        const char *digits = s;
        for (; *s >= '0' && *s <= '9' && v < limit; s++)
            v = v * 10 + (uint64_t)(*s - '0');
        if (s == digits || v >= limit || *n == MAX_BITS)
            return false;
        basis[(*n)++] = (Col)v;
    }
    *text = s + 1;
    return true;
}

const Layout *
layout_parse(Comp *c, int rank, const uint8_t *log2_shape, const char **text)
{
    Layout l = {.rank = (uint8_t)rank};
    const char *s = *text;
    memcpy(l.log2_shape, log2_shape, (size_t)rank);
    uint64_t limit = (uint64_t)1 << layout_bits(&l);
    for (int d = 0; d < N_IN; d++)
        if (!parse_bases(&s, in_names[d], limit, &l.n[d], l.basis[d])) {
            if (d != IN_BLOCK)
                return NULL;
            l.n[d] = 0; /* block may be left out */
        }
    if (l.n[IN_LANE] > LANE_BITS || l.n[IN_WARP] > WARP_BITS || layout_n_in(&l) > 32)
        return NULL;
    *text = s;
    return layout_intern(c, &l);
}
