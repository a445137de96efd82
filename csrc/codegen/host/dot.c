/* dot: acc + a @ b as a register-tiled product.
 *
 *     a, b      row-major in scratch, converted to the type of the arithmetic (f16, bf16,
 *               f8 -> f32; i8 -> i32) on their way from wherever they are
 *     result    in scratch, in the place of acc when nobody needs acc any more: a loop that
 *               accumulates runs in place
 *
 *     for j: NR columns            for i: MR rows
 *         c[MR][NR] = acc          registers: MR x NR / lanes vectors
 *         for k:                   one vector row of b, MR broadcast elements of a
 *             c += a[i.., k] * b[k, j..]
 *
 * Of a padded product (pad_blocks) only the tiles with true rows and columns are computed,
 * and k ends where it ends.
 *
 * A transposed a costs nothing (its elements are broadcast one by one); a transposed b is
 * turned on its way into scratch. With AVX-512 the tile is 8 x 32: 16 accumulators hide the
 * latency of two FMA units, and a step reads 10 values for 16 FMAs.
 *
 * With AVX512-BF16 products of bf16 stay bf16: vdpbf16ps adds two of them to each sum, k and
 * k + 1. So b is packed, [K / 2][N][2], and a is broadcast two elements at a time:
 *
 *     row k      b0 b1 b2 ..
 *     row k + 1  c0 c1 c2 ..       =>   b0 c0 b1 c1 b2 c2 ..
 */
#include "codegen/host/host.h"

typedef struct Tile {
    int mr, nv, lanes; /* rows; vectors across; elements of a vector */
    Elem e;            /* of the arithmetic */
} Tile;

static Elem
arithmetic_of(Elem e)
{
    if (elem_is_float(e))
        return e == E_F64 ? E_F64 : E_F32;
    return E_I32;
}

/* v in scratch with elements e; strides as v's dims. */
static View
operand(Host *h, const Op *o, int i, Elem e, bool may_turn)
{
    const Val *v = arg(o, i);
    if (state(h, v)->kind == V_INGROUP)
        host_flush(h);
    VState *s = state(h, v);
    if (s->kind == V_BUFFER && v->type->elem == e)
        return s->view;
    const Val *from = v;
    int rank = v->type->rank;
    int perm[MAX_RANK];
    for (int d = 0; d < rank; d++)
        perm[d] = d;
    while (may_turn && state(h, from)->kind == V_LAZY && from->def->op == OP_TRANS) {
        /* Elements are taken one by one: keep what stands behind, look at it sideways. */
        int turn[MAX_RANK];
        ir_perm(from->def, turn);
        for (int d = 0; d < rank; d++)
            perm[d] = turn[perm[d]];
        from = arg(from->def, 0);
    }
    View w;
    s = state(h, from);
    if (s->kind == V_BUFFER && from->type->elem == e) {
        w = s->view;
    } else {
        const Type *t = ty_with_elem(h->c, from->type, e);
        w = host_view(t, host_buf(h, ty_numel(t) * elem_info[e].bytes, host_pos(h, o)));
        host_convert_to(h, from, w, e);
    }
    View r = w;
    for (int d = 0; d < rank; d++)
        r.stride[d] = w.stride[perm[d]];
    return r;
}

/* A value whose scratch the result may take over: read at the same index by whatever acc
 * still has to compute, and needed by nobody else. */
static const Val *
find_reusable(Host *h, const Val *v, const Op *o)
{
    VState *s = state(h, v);
    if (s->kind == V_BUFFER)
        return v->block == o->block && ty_same_shape(v->type, result(o, 0)->type) &&
                       v->type->elem == result(o, 0)->type->elem && !v->type->is_ptr &&
                       !host_may_be_read(h, v)
                   ? v
                   : NULL;
    if (s->kind != V_LAZY || !op_has(v->def, OPF_ELEM))
        return NULL;
    for (int i = 0; i < v->def->n_args; i++) {
        const Val *r = find_reusable(h, arg(v->def, i), o);
        if (r)
            return r;
    }
    return NULL;
}

/* Reads `buf` through other indices than v's own? Then it cannot be written meanwhile. */
static bool
reads_turned(Host *h, const Val *v, const Buf *buf, bool turned)
{
    VState *s = state(h, v);
    if (s->kind == V_BUFFER)
        return turned && s->view.buf == buf;
    if (s->kind != V_LAZY || s->is_virtual)
        return false;
    turned |= host_is_through(v->def);
    for (int i = 0; i < v->def->n_args; i++)
        if (reads_turned(h, arg(v->def, i), buf, turned))
            return true;
    return false;
}

static Lv
tile_address(Host *h, const Type *t, const View *w, Lv batch, Lv row, Lv col)
{
    Lv index[3] = {batch, row, col};
    return host_address(h, t, w, t->rank == 3 ? index : index + 1);
}

/* ---- pairs of bf16 --------------------------------------------------------------- */

enum { PAIR_LANES = 16 }; /* sums of a register */

/* Elements of two bytes in scratch, as they are. */
static Lv
load_raw(Host *h, Lt t, Lv p)
{
    Lv x = LLVMBuildLoad2(h->l->b, t, p, "");
    LLVMSetAlignment(x, 2);
    return x;
}

static bool
goes_by_pairs(const Host *h, const Op *o)
{
    const Type *a = arg(o, 0)->type, *r = result(o, 0)->type;
    return h->has_bf16_pairs && a->elem == E_BF16 && arg(o, 1)->type->elem == E_BF16 &&
           a->shape[a->rank - 1] % 2 == 0 && r->shape[r->rank - 1] >= PAIR_LANES;
}

/* b with the elements of two rows side by side; *t becomes its type. */
static View
pack_pairs(Host *h, const Op *o, const Type **t, View b, int n_k)
{
    Ll *l = h->l;
    const Type *bt = *t;
    int r = bt->rank, n = bt->shape[r - 1];
    int32_t shape[MAX_RANK];
    memcpy(shape, bt->shape, sizeof shape);
    shape[r - 2] /= 2;
    shape[r - 1] *= 2;
    *t = ty_with_shape(h->c, bt, r, shape);
    View w = host_view(*t, host_buf(h, ty_numel(bt) * 2, host_pos(h, o)));
    Lv pick[2 * PAIR_LANES];
    for (int i = 0; i < 2 * PAIR_LANES; i++)
        pick[i] = ll_i32(l, i / 2 + i % 2 * PAIR_LANES);
    Loop batch, pair, col;
    host_loop_open(h, &batch, r == 3 ? shape[0] : 1, 1);
    host_loop_open(h, &pair, (n_k + 1) / 2, 1);
    host_loop_open(h, &col, n, PAIR_LANES);
    Lv row = LLVMBuildMul(l->b, pair.index, ll_i64(l, 2), ""),
       next = LLVMBuildAdd(l->b, row, ll_i64(l, 1), ""),
       twice = LLVMBuildMul(l->b, col.index, ll_i64(l, 2), "");
    Lt half = LLVMVectorType(l->i16, PAIR_LANES);
    Lv x = load_raw(h, half, tile_address(h, bt, &b, batch.index, row, col.index)),
       y = load_raw(h, half, tile_address(h, bt, &b, batch.index, next, col.index));
    x = LLVMBuildShuffleVector(l->b, x, y, LLVMConstVector(pick, 2 * PAIR_LANES), "");
    Lv to = tile_address(h, *t, &w, batch.index, pair.index, twice);
    LLVMSetAlignment(LLVMBuildStore(l->b, x, to), 2);
    host_loop_close(h, &col);
    host_loop_close(h, &pair);
    host_loop_close(h, &batch);
    return w;
}

/* ---- the product ----------------------------------------------------------------- */

static Lv
multiply_add(Host *h, Elem e, Lv a, Lv b, Lv c)
{
    Ll *l = h->l;
    Lt t = LLVMTypeOf(c);
    if (LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(b))) == LLVMBFloatTypeKind)
        return ll_intrinsic(l, "llvm.x86.avx512bf16.dpbf16ps.512", NULL, 0,
                            (Lv[]){c, a, b}, 3);
    if (elem_is_float(e))
        return ll_intrinsic(l, "llvm.fma", &t, 1, (Lv[]){a, b, c}, 3);
    return LLVMBuildAdd(l->b, LLVMBuildMul(l->b, a, b, ""), c, "");
}

/* Vector v of row i of the accumulator tile: from acc's scratch or the constant. */
static Lv
load_acc(Host *h, const Op *o, const View *acc, Tile t, Lv batch, Lv row, Lv col)
{
    const Type *at = arg(o, 2)->type;
    Lv x;
    if (acc->buf)
        x = host_read(h, ty_element(h->c, at), M_ROW, t.lanes > 1 ? t.lanes : 0,
                      tile_address(h, at, acc, batch, row, col), NULL, NULL);
    else
        x = host_const(h, ty_element(h->c, at), arg(o, 2)->def->bits, t.lanes);
    return cg_cast(h->l, at->elem, t.e, x, ROUND_RTNE);
}

typedef struct Product {
    const Op *o;
    Tile t;
    View a, b, acc, out;
    const Type *at, *bt; /* of the operands in scratch */
    bool by_pairs;       /* along k, of bf16 */
} Product;

static Lv
load_b(Host *h, const Product *p, Lv batch, Lv k, Lv col)
{
    Ll *l = h->l;
    Tile t = p->t;
    if (!p->by_pairs)
        return host_read(h, ty_scalar(h->c, t.e), M_ROW, t.lanes > 1 ? t.lanes : 0,
                         tile_address(h, p->bt, &p->b, batch, k, col), NULL, NULL);
    Lv twice = LLVMBuildMul(l->b, col, ll_i64(l, 2), "");
    return load_raw(h, LLVMVectorType(LLVMBFloatTypeInContext(l->cx), 2 * PAIR_LANES),
                    tile_address(h, p->bt, &p->b, batch, k, twice));
}

/* In every lane. */
static Lv
load_a(Host *h, const Product *p, Lv batch, Lv row, Lv k)
{
    Ll *l = h->l;
    Tile t = p->t;
    if (!p->by_pairs)
        return ll_splat(l,
                        host_read(h, ty_scalar(h->c, t.e), M_ROW, 0,
                                  tile_address(h, p->at, &p->a, batch, row, k), NULL,
                                  NULL),
                        t.lanes);
    Lv twice = LLVMBuildMul(l->b, k, ll_i64(l, 2), "");
    Lv x = load_raw(h, l->i32, tile_address(h, p->at, &p->a, batch, row, twice));
    return LLVMBuildBitCast(
        l->b, ll_splat(l, x, PAIR_LANES),
        LLVMVectorType(LLVMBFloatTypeInContext(l->cx), 2 * PAIR_LANES), "");
}

static void
tile(Host *h, const Product *p, Lv batch, Lv i0, Lv j0, int n_k)
{
    Ll *l = h->l;
    Tile t = p->t;
    int n = t.mr * t.nv;
    Arena *arena = h->c->arena;
    Lv *c = NEW_N(arena, Lv, n), *rows = NEW_N(arena, Lv, t.mr),
       *b = NEW_N(arena, Lv, t.nv);
    Lv *cols = NEW_N(arena, Lv, t.nv);
    for (int i = 0; i < t.mr; i++)
        rows[i] = LLVMBuildAdd(l->b, i0, ll_i64(l, i), "");
    for (int j = 0; j < t.nv; j++)
        cols[j] = LLVMBuildAdd(l->b, j0, ll_i64(l, j * t.lanes), "");
    for (int i = 0; i < n; i++)
        c[i] = load_acc(h, p->o, &p->acc, t, batch, rows[i / t.nv], cols[i % t.nv]);

    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b);
    Loop loop;
    host_loop_open(h, &loop, p->by_pairs ? (n_k + 1) / 2 : n_k, 1);
    Lv *phi = NEW_N(arena, Lv, n);
    for (int i = 0; i < n; i++) {
        if (loop.head) {
            phi[i] = LLVMBuildPhi(l->b, LLVMTypeOf(c[i]), "");
            LLVMAddIncoming(phi[i], &c[i], &before, 1);
            c[i] = phi[i];
        }
    }
    for (int j = 0; j < t.nv; j++)
        b[j] = load_b(h, p, batch, loop.index, cols[j]);
    for (int i = 0; i < t.mr; i++) {
        Lv a = load_a(h, p, batch, rows[i], loop.index);
        for (int j = 0; j < t.nv; j++)
            c[i * t.nv + j] = multiply_add(h, t.e, a, b[j], c[i * t.nv + j]);
    }
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(l->b);
    for (int i = 0; loop.head && i < n; i++)
        LLVMAddIncoming(phi[i], &c[i], &latch, 1);
    host_loop_close(h, &loop);

    const Type *rt = result(p->o, 0)->type;
    for (int i = 0; i < n; i++)
        host_write(h, ty_element(h->c, rt), M_ROW, t.lanes > 1 ? t.lanes : 0,
                   tile_address(h, rt, &p->out, batch, rows[i / t.nv], cols[i % t.nv]),
                   cg_cast(l, t.e, rt->elem, c[i], ROUND_RTNE), NULL);
}

/* Where the result goes, and where the accumulator is read: in p->out and p->acc. */
static void
place_result(Host *h, const Op *o, Product *p)
{
    const Val *r = result(o, 0), *acc = arg(o, 2);
    if (state(h, acc)->kind == V_INGROUP)
        host_flush(h);
    VState *s = state(h, acc);
    h->stamp++;
    host_stamp(h, acc);
    const Val *old = find_reusable(h, acc, o);
    if (old && reads_turned(h, acc, state(h, old)->view.buf, false))
        old = NULL;
    if (old) {
        p->out = state(h, old)->view;
        p->out.buf->free_at = MAX(p->out.buf->free_at, host_last_use(h, r));
    } else {
        p->out = host_new_view(h, r);
    }
    if (s->kind == V_BUFFER) {
        p->acc = s->view;
    } else if (acc->def && acc->def->op == OP_CONST && s->kind == V_LAZY) {
        p->acc = (View){0};
    } else {
        host_materialise_to(h, acc, p->out, false);
        p->acc = p->out;
    }
}

/* The least multiple of step from n on. */
static int
in_steps(int n, int step)
{
    return (n + step - 1) / step * step;
}

void
host_dot(Host *h, const Op *o)
{
    Product p = {.o = o};
    const Type *rt = result(o, 0)->type;
    int m = rt->shape[rt->rank - 2], n = rt->shape[rt->rank - 1];
    DotSides sides = dot_sides(o);
    p.t.e = arithmetic_of(arg(o, 0)->type->elem);
    host_flush(h);
    h->done[host_pos(h, o)] = true;
    host_free_before(h, host_pos(h, o));
    p.by_pairs = goes_by_pairs(h, o);
    Elem e = p.by_pairs ? E_BF16 : p.t.e; /* in scratch */
    p.a = operand(h, o, 0, e, !p.by_pairs);
    p.b = operand(h, o, 1, e, false);
    place_result(h, o, &p);
    if (!p.acc.buf && (sides.m < m || sides.n < n)) {
        /* What no tile writes is read all the same. */
        host_materialise_to(h, arg(o, 2), p.out, false);
        p.acc = p.out;
    }
    host_flush(h);
    p.at = ty_with_elem(h->c, arg(o, 0)->type, e);
    p.bt = ty_with_elem(h->c, arg(o, 1)->type, e);
    if (p.by_pairs)
        p.b = pack_pairs(h, o, &p.bt, p.b, sides.k);

    int lanes = h->vec_bytes / elem_info[p.t.e].bytes;
    p.t.lanes = MIN(lanes, n);
    p.t.nv = MIN(2, n / p.t.lanes);
    p.t.mr = MIN(h->vec_bytes == 64 ? 8 : 4, m);
    Loop batch, row, col;
    host_loop_open(h, &batch, rt->rank == 3 ? rt->shape[0] : 1, 1);
    host_loop_open(h, &col, in_steps(sides.n, p.t.lanes * p.t.nv), p.t.lanes * p.t.nv);
    host_loop_open(h, &row, in_steps(sides.m, p.t.mr), p.t.mr);
    tile(h, &p, batch.index, row.index, col.index, sides.k);
    host_loop_close(h, &row);
    host_loop_close(h, &col);
    host_loop_close(h, &batch);
    VState *s = state(h, result(o, 0));
    s->kind = V_BUFFER;
    s->view = p.out;
}
