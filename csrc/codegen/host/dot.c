/* dot: acc + a @ b as a register-tiled product.
 *
 *     a, b      in scratch, converted to the type of the arithmetic (f16, bf16, f8 -> f32;
 *               i8 -> i32) on their way from wherever they are: a row-major, b by panels where
 *               it is read more than once (panels.c)
 *     result    in scratch, in the place of acc when nobody needs acc any more: a loop that
 *               accumulates runs in place
 *
 *     for j: NR columns            for i: MR rows
 *         c[MR][NR] = 0            registers: MR x NR / lanes vectors
 *         for k:                   one vector row of b, MR broadcast elements of a
 *             c += a[i.., k] * b[k, j..]
 *         acc += c                 the error grows with K and the number of blocks, not with their
 *                                  product; and nothing waits for acc
 *
 * Of a padded product (pad_blocks) only the tiles with true rows and columns are computed,
 * and k ends where it ends.
 *
 * A transposed a costs nothing (its elements are broadcast one by one), whether the kernel turned
 * it or loads it by strides (has_columns); a transposed b is turned on its way into scratch. With AVX-512 the tile is 6 x 64: a step reads
 * 10 values for 24 FMAs, and 8 x 32, which narrower or lower products get, read as many for 16. With 16 registers it is
 * 6 x 16: 4 x 16 read 6 values for 8 FMAs, and each sum waited for the last one.
 *
 * Where the CPU adds up several products of narrow elements at a time, they stay narrow: two
 * of bf16 (AVX512-BF16, vdpbf16ps), four of i8 (AVX512-VNNI, vpdpbusd). Then so many rows of b
 * stand side by side in its panels, and a is broadcast a group at a time. Where the CPU has AMX,
 * tiles.c does it all.
 *
 * vpdpbusd takes one side unsigned. That is a, 128 larger than it is; 128 times the sums of
 * b's columns is taken away in the end.
 */
#include "codegen/host/dot.h"

static Elem
arithmetic_of(Elem e)
{
    if (elem_is_float(e))
        return e == E_F64 ? E_F64 : E_F32;
    return E_I32;
}

/* Is a matrix loaded whose columns are consecutive, and are they long enough for vectors? */
static bool
has_columns(Host *h, const Val *v)
{
    int rank = v->type->rank;
    while (state(h, v)->kind == V_LAZY && v->def->op == OP_CAST)
        v = arg(v->def, 0);
    Affine a;
    int64_t c;
    if (state(h, v)->kind != V_LAZY || v->def->op != OP_LOAD ||
        v->type->shape[rank - 2] < h->vec_bytes / 4)
        return false;
    const Val *p = arg(v->def, 0);
    if (affine_of(h->f, p, &a))
        return affine_const_stride(&a, rank - 2, &c) && c == 1 &&
               !(affine_const_stride(&a, rank - 1, &c) && c == 1);
    return host_runs_along(h, p, rank - 2);
}

/* v in scratch with elements e; strides as v's dims. */
static View
dot_operand(Host *h, const Product *p, int i, Elem e, bool may_turn)
{
    const Val *v = arg(p->o, i);
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
        w = host_view(t, NULL);
        if (may_turn && has_columns(h, from))
            w.stride[rank - 2] = 1, w.stride[rank - 1] = t->shape[rank - 2];
        w = host_put_operand(h, p, i, from, perm[rank - (i ? 1 : 2)], t, w);
    }
    View r = w;
    for (int d = 0; d < rank; d++)
        r.stride[d] = w.stride[perm[d]];
    return r;
}

/* A second operand that is read once, or lies in scratch and leaves half of a first cache free,
 * stays as it is. */
static int
panel_width(Host *h, const Product *p)
{
    enum { SMALL = 16 << 10 };
    const Val *v = arg(p->o, 1);
    const Type *t = v->type;
    int width = p->has_tiles ? host_tile_cols(p->o) : p->t.lanes * p->t.nv;
    if (p->group > 1)
        return width;
    bool is_there = state(h, v)->kind == V_BUFFER && t->elem == p->t.e &&
                    ty_numel(t) * elem_info[p->t.e].bytes <= SMALL;
    return is_there || result(p->o, 0)->type->shape[t->rank - 2] <= p->t.mr ||
                   t->shape[t->rank - 1] <= width || p->t.lanes == 1
               ? 0
               : width;
}

/* The second operand, by panels where that is worth it. */
static View
second_operand(Host *h, const Product *p, Elem e)
{
    const Val *v = arg(p->o, 1);
    int width = panel_width(h, p);
    if (!width)
        return dot_operand(h, p, 1, e, false);
    const Type *t = ty_with_elem(h->c, v->type, e);
    return host_put_operand(h, p, 1, v, t->rank - 1, t,
                            host_panels(t, NULL, width, p->group));
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
                       !host_is_read_behind(h, v, o)
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

/* ---- groups along k -------------------------------------------------------------- */

/* Elements along k that one instruction adds up; 1: there is none that does. */
static int
group_of(const Host *h, const Op *o)
{
    const Type *a = arg(o, 0)->type, *r = result(o, 0)->type;
    Elem e = a->elem;
    if (host_is_for_tiles(h, o))
        return e == E_BF16 ? 2 : 4;
    int group = e == E_BF16 && h->has_bf16_pairs ? 2 : e == E_I8 && h->has_vnni ? 4 : 1;
    return arg(o, 1)->type->elem == e && a->shape[a->rank - 1] % group == 0 &&
                   r->shape[r->rank - 1] >= GROUP_LANES
               ? group
               : 1;
}

/* n bytes of scratch, as they are. */
static Lv
load_bytes(Host *h, int n, Lv p)
{
    Lv x = LLVMBuildLoad2(h->l->b, LLVMVectorType(h->l->i8, (unsigned)n), p, "");
    LLVMSetAlignment(x, 1);
    return x;
}

/* c += a * b, of groups: vectors of 64 bytes. */
static Lv
add_groups(Host *h, int group, Lv a, Lv b, Lv c)
{
    Ll *l = h->l;
    const char *name = group == 2 ? "llvm.x86.avx512bf16.dpbf16ps.512"
                                  : "llvm.x86.avx512.vpdpbusd.512";
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    Lt takes[3] = {0}; /* LLVM's versions differ in what they call the 64 bytes */
    LLVMGetParamTypes(LLVMIntrinsicGetType(l->cx, id, NULL, 0), takes);
    return ll_intrinsic(l, name, NULL, 0,
                        (Lv[]){c, LLVMBuildBitCast(l->b, a, takes[1], ""),
                               LLVMBuildBitCast(l->b, b, takes[2], "")},
                        3);
}

/* ---- the product ----------------------------------------------------------------- */

static Lv
multiply_add(Host *h, Elem e, Lv a, Lv b, Lv c)
{
    Ll *l = h->l;
    Lt t = LLVMTypeOf(c);
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
                      host_tile_address(h, at, acc, batch, row, col), NULL, NULL);
    else
        x = host_const(h, ty_element(h->c, at), arg(o, 2)->def->bits, t.lanes);
    return cg_cast(h->l, at->elem, t.e, x, ROUND_RTNE);
}

/* Is the first operand taken without a sign, 128 larger than it is? */
static bool
is_offset(const Product *p)
{
    return p->group == 4 && !p->has_tiles;
}

static const Type *
sums_type(Host *h, const Product *p)
{
    const Type *t = arg(p->o, 1)->type;
    return ty_with_side(h->c, ty_with_elem(h->c, t, E_I32), t->rank - 2, 1);
}

/* From row k, which begins a group. */
static Lv
load_b(Host *h, const Product *p, Lv batch, Lv k, Lv col)
{
    Tile t = p->t;
    Lv at = host_tile_address(h, p->bt, &p->b, batch, k, col);
    if (p->group == 1)
        return host_read(h, ty_scalar(h->c, t.e), M_ROW, t.lanes > 1 ? t.lanes : 0, at,
                         NULL, NULL);
    return load_bytes(h, 4 * GROUP_LANES, at);
}

/* p->sums of what is packed. */
static void
sum_columns(Host *h, Product *p)
{
    Ll *l = h->l;
    const Type *st = sums_type(h, p);
    int r = p->bt->rank;
    p->sums = host_view(st, host_buf(h, ty_numel(st) * 4, host_pos(h, p->o)));
    Lt sums = LLVMVectorType(l->i32, GROUP_LANES);
    Lv slot = host_slot(h, sums);
    Loop batch, col, k;
    host_loop_open(h, &batch, r == 3 ? p->bt->shape[0] : 1, 1);
    host_loop_open(h, &col, p->bt->shape[r - 1], GROUP_LANES);
    LLVMBuildStore(l->b, LLVMConstNull(sums), slot);
    host_loop_open(h, &k, in_steps(dot_sides(p->o).k, p->group), p->group);
    Lv all = ll_splat(l, LLVMConstInt(l->i8, 128, false), 64);
    Lv x = load_b(h, p, batch.index, k.index, col.index);
    LLVMBuildStore(
        l->b, add_groups(h, p->group, all, x, LLVMBuildLoad2(l->b, sums, slot, "")),
        slot);
    host_loop_close(h, &k);
    host_write(h, ty_element(h->c, st), M_ROW, GROUP_LANES,
               host_tile_address(h, st, &p->sums, batch.index, NULL, col.index),
               LLVMBuildLoad2(l->b, sums, slot, ""), NULL);
    host_loop_close(h, &col);
    host_loop_close(h, &batch);
}

/* In every lane. */
static Lv
load_a(Host *h, const Product *p, Lv batch, Lv row, Lv k)
{
    Ll *l = h->l;
    Tile t = p->t;
    if (p->group == 1) {
        Lv x = host_read(h, ty_scalar(h->c, t.e), M_ROW, 0,
                         host_tile_address(h, p->at, &p->a, batch, row, k), NULL, NULL);
        return ll_splat(l, x, t.lanes);
    }
    Lv x = LLVMBuildLoad2(l->b, l->i32,
                          host_tile_address(h, p->at, &p->a, batch, row, k), "");
    LLVMSetAlignment(x, 1);
    if (is_offset(p))
        x = LLVMBuildXor(l->b, x, LLVMConstInt(l->i32, 0x80808080, false), "");
    return ll_splat(l, x, GROUP_LANES);
}

static Lv
add_product(Host *h, const Product *p, Lv a, Lv b, Lv c)
{
    return p->group > 1 ? add_groups(h, p->group, a, b, c)
                        : multiply_add(h, p->t.e, a, b, c);
}

/* A loop that carries the sums of a tile. */
typedef struct Sums {
    Loop loop;
    int n;
    Lv *c, *phi; /* c: those of now */
} Sums;

/* Behind the loop's head. */
static void
carry_sums(Host *h, Sums *s, LLVMBasicBlockRef before)
{
    s->phi = NEW_N(h->c->arena, Lv, s->n);
    for (int i = 0; s->loop.head && i < s->n; i++) {
        s->phi[i] = ll_phi(h->l, s->c[i], before);
        s->c[i] = s->phi[i];
    }
}

static void
sums_open(Host *h, Sums *s, int n, int step, Lv end)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(h->l->b);
    host_steps_open(h, &s->loop, n, step, end);
    carry_sums(h, s, before);
}

static void
sums_open_to(Host *h, Sums *s, Lv end)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(h->l->b);
    host_loop_open_to(h, &s->loop, end);
    carry_sums(h, s, before);
}

static void
sums_close(Host *h, Sums *s)
{
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(h->l->b);
    for (int i = 0; s->loop.head && i < s->n; i++)
        LLVMAddIncoming(s->phi[i], &s->c[i], &latch, 1);
    host_loop_close(h, &s->loop);
}

static int64_t
n_tiles(const Product *p)
{
    const Type *rt = result(p->o, 0)->type;
    DotSides sides = dot_sides(p->o);
    int cols = p->t.lanes * p->t.nv;
    return (int64_t)(rt->rank == 3 ? rt->shape[0] : 1) * in_steps(sides.n, cols) /
           cols * (in_steps(p->rows, p->t.mr) / p->t.mr);
}

/* Elements of K between two visits to the lines that are fetched meanwhile: as many as let a visit
 * fetch one line. */
static int
strip_of(const Host *h, const Product *p)
{
    int side = in_steps(dot_sides(p->o).k, p->group), strip = side;
    int64_t lines = host_ahead_lines(h);
    while (lines && strip % (2 * p->group) == 0 && n_tiles(p) * (side / strip) < lines)
        strip /= 2;
    return strip;
}

static void
tile(Host *h, const Product *product, Lv batch, Lv i0, Lv j0, int n_rows)
{
    Ll *l = h->l;
    Product own = *product, *p = &own;
    Tile t = p->t;
    t.mr = n_rows;
    int n = t.mr * t.nv;
    Arena *arena = h->c->arena;
    Lv *c = NEW_N(arena, Lv, n), *rows = NEW_N(arena, Lv, t.mr),
       *b = NEW_N(arena, Lv, t.nv);
    Lv *cols = NEW_N(arena, Lv, t.nv);
    for (int i = 0; i < t.mr; i++)
        rows[i] = LLVMBuildAdd(l->b, i0, ll_i64(l, i), "");
    for (int j = 0; j < t.nv; j++)
        cols[j] = LLVMBuildAdd(l->b, j0, ll_i64(l, j * t.lanes), "");
    bool has_acc = p->acc.buf;
    Lv none = elem_is_float(t.e) ? LLVMConstReal(ll_elem(l, t.e), -0.0)
                                 : LLVMConstNull(ll_elem(l, t.e));
    for (int i = 0; i < n; i++)
        c[i] = has_acc ? ll_splat(l, none, t.lanes)
                       : load_acc(h, p->o, &p->acc, t, batch, rows[0], cols[0]);

    int side = in_steps(dot_sides(p->o).k, p->group), strip = strip_of(h, p);
    Sums turn = {.n = n, .c = c}, outer = turn, inner = turn;
    if (p->late.turns > 1)
        sums_open_to(h, &turn, p->late.waiting), host_take_late(h, p, turn.loop.index);
    sums_open(h, &outer, side, strip, p->k);
    if (host_ahead_lines(h))
        host_fetch_ahead(h, n_tiles(p) * (side / strip), p->late.turns);
    Lv left = p->k ? LLVMBuildSub(l->b, p->k, outer.loop.index, "") : NULL;
    if (left && strip < side)
        left = ll_intrinsic(l, "llvm.smin", &l->i64, 1, (Lv[]){left, ll_i64(l, strip)},
                            2);
    sums_open(h, &inner, strip, p->group, left);
    Lv k = LLVMBuildAdd(l->b, outer.loop.index, inner.loop.index, "");
    for (int j = 0; j < t.nv; j++)
        b[j] = load_b(h, p, batch, k, cols[j]);
    for (int i = 0; i < t.mr; i++) {
        Lv a = load_a(h, p, batch, rows[i], k);
        for (int j = 0; j < t.nv; j++)
            c[i * t.nv + j] = add_product(h, p, a, b[j], c[i * t.nv + j]);
    }
    sums_close(h, &inner);
    sums_close(h, &outer);
    if (p->late.turns > 1)
        sums_close(h, &turn);
    for (int i = 0; has_acc && i < n; i++) {
        Lv old = load_acc(h, p->o, &p->acc, t, batch, rows[i / t.nv], cols[i % t.nv]);
        c[i] = elem_is_float(t.e) ? LLVMBuildFAdd(l->b, old, c[i], "")
                                  : LLVMBuildAdd(l->b, old, c[i], "");
    }

    const Type *rt = result(p->o, 0)->type;
    for (int j = 0; is_offset(p) && j < t.nv; j++) {
        const Type *st = sums_type(h, p);
        Lv sum = host_read(h, ty_element(h->c, st), M_ROW, t.lanes,
                           host_tile_address(h, st, &p->sums, batch, NULL, cols[j]),
                           NULL, NULL);
        for (int i = 0; i < t.mr; i++)
            c[i * t.nv + j] = LLVMBuildSub(l->b, c[i * t.nv + j], sum, "");
    }
    for (int i = 0; i < n; i++)
        host_write(h, ty_element(h->c, rt), M_ROW, t.lanes > 1 ? t.lanes : 0,
                   host_tile_address(h, rt, &p->out, batch, rows[i / t.nv],
                                     cols[i % t.nv]),
                   cg_cast(l, t.e, rt->elem, c[i], ROUND_RTNE), NULL);
}

/* Where the result goes, and where the accumulator is read: in p->out and p->acc. */
static void
place_result(Host *h, const Op *o, Product *p)
{
    const Val *r = result(o, 0), *acc = arg(o, 2);
    VState *s = state(h, acc);
    const Val *old = find_reusable(h, acc, o);
    if (old && host_reads(h, acc, state(h, old)->view.buf) == 2)
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
        host_materialise_to(h, acc, p->out);
        p->acc = p->out;
    }
}

/* Why one instruction does not add up several of these products; NULL: none could. */
static const char *
why_alone(const Host *h, const Op *o)
{
    const Type *a = arg(o, 0)->type, *r = result(o, 0)->type;
    Elem e = a->elem;
    int n = r->shape[r->rank - 1], k = a->shape[a->rank - 1];
    if (e == E_F32 || e == E_F64 || e == E_I32)
        return NULL;
    if (e == E_F16)
        return "for sums in f32 this CPU adds up pairs of bf16, if any, not of f16";
    if (e != E_BF16 && e != E_I8)
        return "no CPU multiplies this type";
    if (!(e == E_BF16 ? h->has_bf16_pairs : h->has_vnni))
        return e == E_BF16 ? "the CPU has no AVX512-BF16"
                           : "the CPU has no AVX512-VNNI";
    if (n < GROUP_LANES)
        return "fewer than 16 columns";
    return k % (e == E_BF16 ? 2 : 4) ? "K does not divide into groups"
                                     : "the sides differ in type";
}

/* What the product became, for the report. */
static void
note_product(Host *h, const Product *p)
{
    Arena *a = h->c->arena;
    const Tile *t = &p->t;
    Elem from = arg(p->o, 0)->type->elem;
    const char *tile = str_printf(a, "tiles of %d x %d", t->mr, t->nv * t->lanes),
               *what;
    const char *why = why_alone(h, p->o);
    if (p->has_tiles)
        what = str_printf(a, "%s: matrices of 16 x 16 %s, tiles of %d x %d",
                          p->group == 2 ? "tdpbf16ps" : "tdpbssd", elem_info[from].text,
                          host_tile_rows(p->o), host_tile_cols(p->o));
    else if (p->group > 1)
        what = str_printf(a, "%s: %d products of %s added at a time, %s",
                          p->group == 2 ? "vdpbf16ps" : "vpdpbusd", p->group,
                          elem_info[from].text, tile);
    else
        what = str_printf(a, "%s of %s in vectors of %d, %s%s%s",
                          elem_is_float(t->e) ? "fused multiply-adds"
                                              : "multiplications and additions",
                          elem_info[t->e].text, t->lanes, tile,
                          why ? "; one product at a time: " : "", why ? why : "");
    if (host_ahead_lines(h))
        what = str_printf(a, "%s; the next turn's operands are fetched meanwhile",
                          what);
    if (p->late.turns > 1)
        what = str_printf(a, "%s; products of %d turns at a time", what, p->late.turns);
    if (p->m || p->n || p->k)
        what = str_printf(a, "%s;%s%s%s that masks drop are not computed", what,
                          p->m ? " rows" : "",
                          p->n ? p->m ? ", columns" : " columns" : "",
                          p->k ? p->m || p->n ? ", K" : " K" : "");
    bool keeps_a = p->a.buf->is_kept, keeps_b = p->b.buf->is_kept;
    if (keeps_a || keeps_b)
        what = str_printf(a, "%s; a thread keeps %s for programs with the same", what,
                          !keeps_b   ? "the first side"
                          : !keeps_a ? "the second side"
                                     : "both sides");
    host_note_text(h, p->o, what);
}

/* Of p->m rows those that tiles compute: all, or but a few behind the last tile that they fill. */
static Lv
rows_by_tiles(Host *h, const Product *p)
{
    enum { FEW = 3 };
    Ll *l = h->l;
    int m = dot_sides(p->o).m, mr = p->t.mr;
    Lv rest = LLVMBuildURem(l->b, p->m, ll_i64(l, mr), "");
    Lv full = LLVMBuildSub(l->b, p->m, rest, "");
    Lv more = LLVMBuildAdd(l->b, full, ll_i64(l, mr), "");
    Lv fits = LLVMBuildICmp(l->b, LLVMIntULE, more, ll_i64(l, m - m % mr), "");
    Lv many = LLVMBuildICmp(l->b, LLVMIntUGT, rest, ll_i64(l, FEW), "");
    return LLVMBuildSelect(l->b, LLVMBuildAnd(l->b, many, fits, ""), more, full, "");
}

/* A column of tiles; a lower one where all rows are computed. */
static void
multiply_down(Host *h, const Product *p, Lv batch, Lv col)
{
    Ll *l = h->l;
    int m = dot_sides(p->o).m, rest = m % p->t.mr;
    Lv end = p->m ? rows_by_tiles(h, p) : NULL;
    Loop row;
    When w;
    if (m > rest) {
        if (end)
            host_when_open(h, &w,
                           LLVMBuildICmp(l->b, LLVMIntNE, end, ll_i64(l, 0), ""));
        host_steps_open(h, &row, m - rest, p->t.mr, end);
        tile(h, p, batch, row.index, col, p->t.mr);
        host_loop_close(h, &row);
        if (end)
            host_when_close(h, &w);
    }
    if (!rest)
        return;
    if (end)
        host_when_open(h, &w, LLVMBuildICmp(l->b, LLVMIntEQ, p->m, ll_i64(l, m), ""));
    tile(h, p, batch, ll_i64(l, m - rest), col, rest);
    if (end)
        host_when_close(h, &w);
}

/* The few rows that no tile has computed, one by one, over as many columns as make enough sums. One row of 16 as a tile
 * took six times its products. */
static void
multiply_rows(Host *h, const Product *p, Lv batch)
{
    enum { SUMS = 8 };
    Ll *l = h->l;
    DotSides sides = dot_sides(p->o);
    int n = result(p->o, 0)->type->shape[p->at->rank - 1];
    Product own = *p;
    own.rows = own.t.mr = 1;
    while (own.t.nv < SUMS && n % (2 * own.t.nv * own.t.lanes) == 0)
        own.t.nv *= 2;
    int cols = own.t.nv * own.t.lanes;
    Lv first = rows_by_tiles(h, p), rest = LLVMBuildSub(l->b, p->m, first, "");
    Lv any = LLVMBuildICmp(l->b, LLVMIntSGT, rest, ll_i64(l, 0), "");
    Lv ends = LLVMBuildICmp(l->b, LLVMIntNE, p->m, ll_i64(l, sides.m), "");
    Loop row, col;
    When w;
    host_when_open(h, &w, LLVMBuildAnd(l->b, any, ends, ""));
    host_loop_open_to(h, &row, rest);
    host_steps_open(h, &col, in_steps(sides.n, cols), cols, p->n);
    tile(h, &own, batch, LLVMBuildAdd(l->b, first, row.index, ""), col.index, 1);
    host_loop_close(h, &col);
    host_loop_close(h, &row);
    host_when_close(h, &w);
}

/* Of p->n columns the last ones by tiles one vector wide: 36 take 48, not 64. So few sums need as many rows. */
static void
multiply_to(Host *h, const Product *p, Lv batch)
{
    enum { ROWS = 12 };
    Ll *l = h->l;
    int lanes = p->t.lanes, cols = lanes * p->t.nv;
    Lv none = ll_i64(l, 0), n = p->n;
    Lv whole = LLVMBuildAnd(l->b, LLVMBuildAdd(l->b, n, ll_i64(l, lanes), ""),
                            ll_i64(l, -(int64_t)cols), "");
    Loop col;
    When w;
    host_when_open(h, &w, LLVMBuildICmp(l->b, LLVMIntSGT, whole, none, ""));
    host_steps_open(h, &col, dot_sides(p->o).n, cols, whole);
    multiply_down(h, p, batch, col.index);
    host_loop_close(h, &col);
    host_when_close(h, &w);
    Product own = *p;
    own.t.nv = 1;
    own.t.mr = p->m ? p->t.mr : MIN(ROWS, dot_sides(p->o).m);
    host_when_open(h, &w, LLVMBuildICmp(l->b, LLVMIntSLT, whole, n, ""));
    host_steps_open(h, &col, cols, lanes, LLVMBuildSub(l->b, n, whole, ""));
    multiply_down(h, &own, batch, LLVMBuildAdd(l->b, whole, col.index, ""));
    host_loop_close(h, &col);
    host_when_close(h, &w);
}

/* Tiles over the result, by vectors. */
static void
multiply(Host *h, const Product *p)
{
    const Type *rt = result(p->o, 0)->type;
    int cols = p->t.lanes * p->t.nv;
    Loop batch, col;
    host_start_ahead(h);
    host_loop_open(h, &batch, rt->rank == 3 ? rt->shape[0] : 1, 1);
    if (p->n && p->t.nv > 1 && !is_offset(p)) {
        multiply_to(h, p, batch.index);
    } else {
        host_steps_open(h, &col, in_steps(dot_sides(p->o).n, cols), cols, p->n);
        multiply_down(h, p, batch.index, col.index);
        host_loop_close(h, &col);
    }
    if (p->m && p->t.mr > 1)
        multiply_rows(h, p, batch.index);
    host_loop_close(h, &batch);
}

static Product
plan(Host *h, const Op *o)
{
    Product p = {.o = o, .has_tiles = host_is_for_tiles(h, o)};
    const Type *rt = result(o, 0)->type;
    int m = rt->shape[rt->rank - 2], n = rt->shape[rt->rank - 1];
    p.t.e = arithmetic_of(arg(o, 0)->type->elem);
    p.t.lanes = MIN(h->vec_bytes / elem_info[p.t.e].bytes, n);
    bool is_wide = h->vec_bytes == 64 && n >= 4 * p.t.lanes && m >= 6;
    p.t.nv = is_wide ? 4 : MIN(2, n / p.t.lanes);
    p.t.mr = MIN(h->vec_bytes == 64 && !is_wide ? 8 : 6, m);
    p.rows = dot_sides(o).m;
    p.group = group_of(h, o);
    Elem e = p.group > 1 ? arg(o, 0)->type->elem : p.t.e; /* in scratch */
    p.at = ty_with_elem(h->c, arg(o, 0)->type, e);
    p.bt = ty_with_elem(h->c, arg(o, 1)->type, e);
    return p;
}

/* Does acc, a constant that is not in scratch, have to be there all the same? */
static bool
wants_acc(const Product *p)
{
    const Type *rt = result(p->o, 0)->type;
    DotSides sides = dot_sides(p->o);
    if (p->acc.buf)
        return false;
    return sides.m < rt->shape[rt->rank - 2] ||
           sides.n < rt->shape[rt->rank - 1] || /* what no tile writes is read, too */
           (p->has_tiles && arg(p->o, 2)->def->bits);
}

void
host_dot(Host *h, const Op *o)
{
    host_free_before(h, host_pos(h, o));
    Product p = plan(h, o);
    host_find_ends(h, &p);
    host_plan_late(h, &p);
    if (!p.has_tiles)
        host_look_ahead(h, o);
    p.a = dot_operand(h, &p, 0, p.at->elem, p.group == 1);
    p.b = second_operand(h, &p, p.bt->elem);
    place_result(h, o, &p);
    if (wants_acc(&p)) {
        host_materialise_to(h, arg(o, 2), p.out);
        p.acc = p.out;
    }
    host_flush(h);
    note_product(h, &p);
    if (is_offset(&p))
        sum_columns(h, &p);
    host_late_open(h, &p);
    if (p.has_tiles)
        host_multiply_tiles(h, &p);
    else
        multiply(h, &p);
    host_late_close(h, &p);
    h->ahead.n = 0;
    VState *s = state(h, result(o, 0));
    s->kind = V_BUFFER;
    s->view = p.out;
}
