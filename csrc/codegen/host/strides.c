/* strides: every second, third or fourth element of memory, or the elements backwards, by whole vectors.
 *
 *     load p + 2 * i, of 4 lanes      row at 0      x0 x1 x2 x3
 *                                     row at 3               x3 x4 x5 x6
 *                                     shuffle       x0    x2    x4    x6
 *
 * Pairs and triples side by side are read so: real and imaginary parts, colours of a pixel, the halves that a rotary
 * embedding turns, every other place of a pooled row. A gather takes a load for each lane, and a scatter a store.
 *
 * Rows overlap so far that none begins before the first lane or ends behind the last one. What lies between two lanes is
 * read and dropped: it is nearer to one of them than a page is long.
 *
 * Stores that take turns, as of both halves of a pair, are whole rows together, written where the last of them stands.
 *
 * Rule 1: a step in which a mask drops lanes gathers, but for one that goes backwards, which is a row.
 * Rule 2: what is between two lanes is never written, for it is somebody else's.
 */
#include "codegen/host/host.h"

enum { LEAST_LANES = 4, SHUFFLED = 16 };

bool
host_is_stride(const Host *h, const Type *t, int lanes, int64_t by)
{
    return lanes >= LEAST_LANES && !t->is_ptr && !h->c->opt.check_bounds &&
           (by == -1 || (by >= 2 && by <= MOST_STRIDE));
}

/* Lanes of a piece: CPUs without AVX-512 shuffle bytes and pairs of them within 16 bytes. */
static int
piece_of(const Host *h, const Type *t, int lanes)
{
    int bytes = ty_bytes(t);
    return MIN(lanes, (bytes >= 4 ? h->vec_bytes : SHUFFLED) / bytes);
}

static Lv
at(Host *h, const Type *t, Lv p, int64_t i)
{
    return ll_element(h->l, host_mem_type(h, t), p, ll_i64(h->l, i));
}

static Lv
addresses(Host *h, const Type *t, int by, int lanes, Lv p)
{
    Ll *l = h->l;
    Lv all[64];
    for (int i = 0; i < lanes; i++)
        all[i] = ll_i64(l, (int64_t)i * by);
    Lv off = LLVMConstVector(all, (unsigned)lanes);
    return ll_element(l, host_mem_type(h, t), ll_splat(l, p, lanes), off);
}

static Lv
backwards(Host *h, Lv x, int lanes)
{
    return x && ll_lanes(x) ? ll_some_lanes(h->l, x, NULL, lanes - 1, -1, lanes) : x;
}

/* Lane i is element i * by, of `by` rows that begin n - 1 elements apart. */
static Lv
read_piece(Host *h, const Type *t, int by, int n, Lv p)
{
    Ll *l = h->l;
    Lv x = host_read(h, t, M_ROW, n, p, NULL, NULL), pick[64];
    for (int k = 1; k < by; k++) {
        for (int i = 0; i < n; i++) {
            int from = i * by, row = MIN(from / (n - 1), by - 1);
            pick[i] = row > k    ? LLVMGetPoison(l->i32)
                      : row == k ? ll_i32(l, n + from - k * (n - 1))
                                 : ll_i32(l, k == 1 ? from : i);
        }
        Lv y = host_read(h, t, M_ROW, n, at(h, t, p, (int64_t)k * (n - 1)), NULL, NULL);
        x = LLVMBuildShuffleVector(l->b, x, y, LLVMConstVector(pick, (unsigned)n), "");
    }
    return x;
}

static Lv
read_pieces(Host *h, const Type *t, int by, int piece, int lanes, Lv p)
{
    if (lanes <= piece)
        return read_piece(h, t, by, lanes, p);
    int half = lanes / 2;
    Lv x = read_pieces(h, t, by, piece, half, p);
    Lv y = read_pieces(h, t, by, piece, half, at(h, t, p, (int64_t)half * by));
    return ll_some_lanes(h->l, x, y, 0, 1, lanes);
}

Lv
host_read_stride(Host *h, const Type *t, int by, int lanes, Lv p, Lv mask, Lv other)
{
    if (by < 0) {
        Lv x = host_read(h, t, M_ROW, lanes, at(h, t, p, 1 - lanes),
                         backwards(h, mask, lanes), backwards(h, other, lanes));
        return backwards(h, x, lanes);
    }
    if (!mask || mask == LLVMConstAllOnes(LLVMTypeOf(mask)))
        return read_pieces(h, t, by, piece_of(h, t, lanes), lanes, p);
    return host_read(h, t, M_GATHER, lanes, addresses(h, t, by, lanes, p), mask, other);
}

/* Lanes of a register, each where it belongs, and a mask that keeps the others. */
static void
write_piece(Host *h, const Type *t, int by, int n, Lv p, Lv x)
{
    Ll *l = h->l;
    for (int k = 0; k < by; k++) {
        Lv pick[64], in[64];
        for (int i = 0; i < n; i++) {
            bool is = (k * n + i) % by == 0;
            pick[i] = is ? ll_i32(l, (k * n + i) / by) : LLVMGetPoison(l->i32);
            in[i] = LLVMConstInt(l->i1, is, false);
        }
        Lv y = LLVMBuildShuffleVector(l->b, x, LLVMGetPoison(LLVMTypeOf(x)),
                                      LLVMConstVector(pick, (unsigned)n), "");
        host_write(h, t, M_ROW, n, at(h, t, p, (int64_t)k * n), y,
                   LLVMConstVector(in, (unsigned)n));
    }
}

void
host_write_stride(Host *h, const Type *t, int by, int lanes, Lv p, Lv x, Lv mask)
{
    Ll *l = h->l;
    if (by < 0) {
        host_write(h, t, M_ROW, lanes, at(h, t, p, 1 - lanes), backwards(h, x, lanes),
                   backwards(h, mask, lanes));
        return;
    }
    if (mask && mask != LLVMConstAllOnes(LLVMTypeOf(mask))) {
        host_write(h, t, M_GATHER, lanes, addresses(h, t, by, lanes, p), x, mask);
        return;
    }
    int n = piece_of(h, t, lanes);
    for (int i = 0; i < lanes && h->has_masks; i += n)
        write_piece(h, t, by, n, at(h, t, p, (int64_t)i * by),
                    ll_some_lanes(l, x, NULL, i, 1, n));
    for (int i = 0; i < lanes && !h->has_masks; i++)
        host_write(h, t, M_ROW, 0, at(h, t, p, (int64_t)i * by),
                   LLVMBuildExtractElement(l->b, x, ll_i32(l, i), ""), NULL);
}

/* ---- fields ------------------------------------------------------------------------------------- */

static bool
is_strided(const Root *r, int by)
{
    return r->kind == R_STORE && r->mode == M_STRIDE && r->by == by && by > 1;
}

/* Is y's place k elements behind x's, under the same mask? */
static bool
is_behind(Host *h, const Root *x, const Root *y, int k)
{
    Affine a, b;
    const Val *p = arg(x->o, 0), *q = arg(y->o, 0);
    if (p->type != q->type || !affine_of(h->f, p, &a) || !affine_of(h->f, q, &b) ||
        op_mask(x->o) != op_mask(y->o))
        return false;
    b.base.c -= k;
    return affine_is_same(&a, &b, p->type);
}

/* Nothing is loaded between the first and the last of them, so they may be written at once. */
static bool
is_at_once(const Group *g, const Root *first, const Root *last)
{
    for (int i = 0; i < g->list.n; i++) {
        const Node *n = g->list.at[i];
        if (n->kind == N_LOAD && n->pos > first->pos && n->pos < last->pos)
            return false;
    }
    return true;
}

void
host_find_fields(Host *h, Group *g)
{
    for (int i = 0; i < g->roots.n; i++) {
        Root *r = &g->roots.at[i];
        int by = r->by, k = 1;
        while (by > 1 && k < by && i + k < g->roots.n && is_strided(r, by) &&
               is_strided(r + k, by) && is_behind(h, r, r + k, k))
            k++;
        if (by < 2 || k < by || !is_at_once(g, r, r + by - 1))
            continue;
        for (int j = 0; j < by; j++)
            r[j].fields = j == by - 1 ? by : -1;
        i += by - 1;
    }
}

/* Register after register. */
void
host_write_fields(Host *h, const Type *t, int by, int lanes, Lv p, Lv *x, Lv mask)
{
    Ll *l = h->l;
    if (mask && mask != LLVMConstAllOnes(LLVMTypeOf(mask))) {
        for (int k = 0; k < by; k++)
            host_write_stride(h, t, by, lanes, at(h, t, p, k), x[k], mask);
        return;
    }
    int n = piece_of(h, t, lanes);
    for (int i = 0; i < lanes * by; i += n) {
        Lv row = NULL, pick[64];
        for (int k = 0; k < by; k++) {
            for (int j = 0; j < n; j++)
                pick[j] = (i + j) % by < k ? ll_i32(l, j)
                          : (i + j) % by == k
                              ? ll_i32(l, (row ? n : 0) + (i + j) / by % n)
                              : LLVMGetPoison(l->i32);
            Lv part = ll_some_lanes(l, x[k], NULL, i / by / n * n, 1, n);
            row = LLVMBuildShuffleVector(l->b, row ? row : part,
                                         row ? part : LLVMGetPoison(LLVMTypeOf(part)),
                                         LLVMConstVector(pick, (unsigned)n), "");
        }
        host_write(h, t, M_ROW, n, at(h, t, p, i), row, NULL);
    }
}
