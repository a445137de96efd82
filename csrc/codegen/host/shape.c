/* shape: reshape, join, split, cat, gather, histogram. Operands and results are in scratch,
 * dense and row-major, so most of these are copies of runs. */
#include "codegen/host/host.h"

static View *
made(Host *h, const Op *o, int i)
{
    VState *s = state(h, result(o, i));
    s->kind = V_BUFFER;
    s->view = host_new_view(h, result(o, i));
    return &s->view;
}

/* Address of element `at` (i64) counted from the start of v's scratch. */
static Lv
flat(Host *h, const Val *v, Lv at)
{
    Lv p = host_address(h, v->type, &state(h, v)->view, NULL);
    return ll_element(h->l, host_mem_type(h, v->type), p, at);
}

static Lv
read_flat(Host *h, const Val *v, Lv at, int lanes)
{
    return host_read(h, ty_element(h->c, v->type), M_ROW, lanes > 1 ? lanes : 0,
                     flat(h, v, at), NULL, NULL);
}

static void
write_flat(Host *h, const Val *v, Lv at, Lv x, int lanes)
{
    host_write(h, ty_element(h->c, v->type), M_ROW, lanes > 1 ? lanes : 0,
               flat(h, v, at), x, NULL);
}

static int
flat_lanes(Host *h, const Val *v)
{
    return (int)MIN(h->vec_bytes / ty_bytes(v->type), ty_numel(v->type));
}

/* Lanes of x and y in turn, n of them. */
static Lv
interleaved(Ll *l, Lv x, Lv y, int n)
{
    Lv at[128];
    for (int i = 0; i < n; i++)
        at[i] = ll_i32(l, i / 2 + i % 2 * (n / 2));
    return LLVMBuildShuffleVector(l->b, x, y, LLVMConstVector(at, (unsigned)n), "");
}

static void
host_join(Host *h, const Op *o)
{
    Ll *l = h->l;
    const Val *a = arg(o, 0), *b = arg(o, 1), *r = result(o, 0);
    int lanes = MIN(flat_lanes(h, a), 64);
    Loop loop;
    host_loop_open(h, &loop, ty_numel(a->type), lanes);
    Lv x = read_flat(h, a, loop.index, lanes), y = read_flat(h, b, loop.index, lanes);
    Lv at = LLVMBuildMul(l->b, loop.index, ll_i64(l, 2), "");
    if (lanes > 1) {
        write_flat(h, r, at, interleaved(l, x, y, 2 * lanes), 2 * lanes);
    } else {
        write_flat(h, r, at, x, 1);
        write_flat(h, r, LLVMBuildAdd(l->b, at, ll_i64(l, 1), ""), y, 1);
    }
    host_loop_close(h, &loop);
}

static void
split(Host *h, const Op *o)
{
    Ll *l = h->l;
    const Val *a = arg(o, 0);
    int lanes = (int)MIN(flat_lanes(h, a), ty_numel(a->type) / 2);
    Loop loop;
    host_loop_open(h, &loop, ty_numel(a->type) / 2, lanes);
    Lv at = LLVMBuildMul(l->b, loop.index, ll_i64(l, 2), "");
    if (lanes > 1) {
        Lv x = read_flat(h, a, at, 2 * lanes);
        for (int i = 0; i < 2; i++)
            write_flat(h, result(o, i), loop.index,
                       ll_some_lanes(l, x, NULL, i, 2, lanes), lanes);
    } else {
        write_flat(h, result(o, 0), loop.index, read_flat(h, a, at, 1), 1);
        at = LLVMBuildAdd(l->b, at, ll_i64(l, 1), "");
        write_flat(h, result(o, 1), loop.index, read_flat(h, a, at, 1), 1);
    }
    host_loop_close(h, &loop);
}

static void
cat(Host *h, const Op *o)
{
    int64_t at = 0;
    for (int i = 0; i < 2; i++) {
        const Type *t = arg(o, i)->type;
        Lv to = flat(h, result(o, 0), ll_i64(h->l, at));
        int64_t bytes = ty_numel(t) * ty_bytes(t);
        LLVMBuildMemCpy(h->l->b, to, (unsigned)ty_bytes(t),
                        flat(h, arg(o, i), ll_i64(h->l, 0)), 64, ll_i64(h->l, bytes));
        at += ty_numel(t);
    }
}

/* 0, 1, .. of lanes i32; a 0 where there are no lanes. */
static Lv
count_up(Ll *l, int lanes)
{
    Lv at[64];
    for (int i = 0; i < MAX(lanes, 1); i++)
        at[i] = ll_i32(l, i);
    return lanes > 1 ? LLVMConstVector(at, (unsigned)lanes) : at[0];
}

/* What a row of up to two registers of words gives at x (i32, below its length): a table stays in registers, and
 * lanes are permuted. */
static Lv
from_table(Host *h, const Val *src, Lv x, int lanes)
{
    Ll *l = h->l;
    LLVMBuilderRef b = l->b;
    const Type *t = src->type;
    int n = (int)ty_numel(t);
    Lt word = LLVMIntTypeInContext(l->cx, (unsigned)ty_bytes(t) * 8);
    Lv row = host_to_mem(h, ty_element(h->c, t), read_flat(h, src, ll_i64(l, 0), n));
    row = LLVMBuildZExt(b, LLVMBuildBitCast(b, row, ll_vec(word, n), ""),
                        ll_vec(l->i32, n), "");
    Lv low = ll_some_lanes(l, row, row, 0, 1, lanes),
       high = n > lanes ? ll_some_lanes(l, row, NULL, lanes, 1, lanes) : NULL;
    x = high ? ll_intrinsic(l, "llvm.x86.avx512.vpermi2var.d.512", NULL, 0,
                            (Lv[]){low, x, high}, 3)
        : lanes == 16
            ? ll_intrinsic(l, "llvm.x86.avx512.permvar.si.512", NULL, 0, (Lv[]){low, x},
                           2)
            : ll_intrinsic(l, "llvm.x86.avx2.permd", NULL, 0, (Lv[]){low, x}, 2);
    x = LLVMBuildTrunc(b, x, ll_vec(word, lanes), "");
    x = LLVMBuildBitCast(b, x, ll_vec(host_mem_type(h, t), lanes), "");
    return host_from_mem(h, ty_element(h->c, t), x);
}

static bool
is_table(const Host *h, const Type *src, int lanes)
{
    int64_t n = ty_numel(src), most = h->has_masks ? 2 * lanes : lanes;
    return h->has_gather && ty_bytes(src) <= 4 && n == src->shape[src->rank - 1] &&
           lanes / 2 <= n && n <= most;
}

/* An index outside of the source gives 0, whatever the source: as a mask where that costs nothing, else as another
 * index and a selection, as a branch an element costs more. */
static void
gather_block(Host *h, const Op *o)
{
    Ll *l = h->l;
    LLVMBuilderRef b = l->b;
    const Val *src = arg(o, 0), *index = arg(o, 1), *r = result(o, 0);
    const Type *t = r->type, *st = ty_element(h->c, src->type);
    int axis = (int)ir_attr(o, ATTR_AXIS), last = t->rank - 1;
    int words = h->vec_bytes / 4, size = MAX(ty_bytes(st), ty_bytes(index->type));
    bool has_table = axis == last && words <= t->shape[last] &&
                     is_table(h, src->type, words);
    int lanes = has_table ? words
                : h->has_gather && !st->is_ptr
                    ? MIN(words * 4 / MAX(4, size), t->shape[last])
                    : 1;
    Loop loop[MAX_RANK];
    Lv at[MAX_RANK];
    for (int d = 0; d < t->rank; d++) {
        host_loop_open(h, &loop[d], t->shape[d], d == last ? lanes : 1);
        at[d] = loop[d].index;
    }
    Elem e = index->type->elem;
    int n = lanes > 1 ? lanes : 0;
    Lv x = host_read(h, ty_element(h->c, index->type), M_ROW, n,
                     host_address(h, index->type, &state(h, index)->view, at), NULL,
                     NULL);
    x = cg_cast(l, e, E_I64, x, ROUND_RTNE);
    Lv ok = LLVMBuildICmp(b, LLVMIntULT, x,
                          ll_splat(l, ll_i64(l, src->type->shape[axis]), n), "");
    x = LLVMBuildTrunc(b, x, ll_vec(l->i32, n), "");
    bool is_masked = n && h->has_masks;
    if (!is_masked)
        x = LLVMBuildSelect(b, ok, x, LLVMConstNull(LLVMTypeOf(x)), "");
    Lv from = ll_splat(l, ll_i32(l, 0), n); /* a block has fewer than 2^31 elements */
    for (int d = 0; d < t->rank; d++) {
        Lv side = ll_splat(l, ll_i32(l, src->type->shape[d]), n);
        Lv i = ll_splat(l, LLVMBuildTrunc(b, at[d], l->i32, ""), n);
        if (d == last)
            i = LLVMBuildAdd(b, i, count_up(l, n), "");
        from = LLVMBuildAdd(b, LLVMBuildMul(b, from, side, ""), d == axis ? x : i, "");
    }
    Lv v = has_table ? from_table(h, src, x, lanes)
                     : host_read(h, st, n ? M_GATHER : M_ROW, n, flat(h, src, from),
                                 is_masked ? ok : NULL, NULL);
    if (!is_masked || has_table)
        v = LLVMBuildSelect(b, ok, v, LLVMConstNull(LLVMTypeOf(v)), "");
    host_write(h, ty_element(h->c, t), M_ROW, n,
               host_address(h, t, &state(h, r)->view, at), v, NULL);
    for (int d = t->rank - 1; d >= 0; d--)
        host_loop_close(h, &loop[d]);
}

static void
histogram(Host *h, const Op *o)
{
    Ll *l = h->l;
    const Val *x = arg(o, 0), *r = result(o, 0);
    int64_t bins = ir_attr(o, ATTR_BINS);
    LLVMBuildMemSet(l->b, flat(h, r, ll_i64(l, 0)), LLVMConstNull(l->i8),
                    ll_i64(l, 4 * ty_numel(r->type)), 64);
    Loop loop;
    host_loop_open(h, &loop, ty_numel(x->type), 1);
    Lv v = cg_cast(l, x->type->elem, E_I64, read_flat(h, x, loop.index, 1), ROUND_RTNE);
    Lv ok = LLVMBuildICmp(l->b, LLVMIntULT, v, ll_i64(l, bins), "");
    if (o->n_args > 1)
        ok = LLVMBuildAnd(l->b, ok, read_flat(h, arg(o, 1), loop.index, 1), "");
    When w;
    host_when_open(h, &w, ok);
    Lv n = LLVMBuildAdd(l->b, read_flat(h, r, v, 1), ll_i32(l, 1), "");
    write_flat(h, r, v, n, 1);
    host_when_close(h, &w);
    host_loop_close(h, &loop);
}

static void
reshape(Host *h, const Op *o)
{
    const Val *a = arg(o, 0), *r = result(o, 0);
    VState *s = state(h, r);
    if (!a->type->rank) { /* a scalar in a block of one */
        View *w = made(h, o, 0);
        host_write(h, a->type, M_ROW, 0, host_address(h, r->type, w, NULL),
                   host_scalar(h, a), NULL);
        return;
    }
    if (!r->type->rank) {
        *s = (VState){.kind = V_SCALAR, .lv = read_flat(h, a, ll_i64(h->l, 0), 1)};
        return;
    }
    s->kind = V_BUFFER; /* the same scratch, other strides */
    s->view = host_view(r->type, state(h, a)->view.buf);
}

void
host_shape_op(Host *h, const Op *o)
{
    host_free_before(h, host_pos(h, o));
    if (o->op == OP_RESHAPE) {
        reshape(h, o);
        return;
    }
    for (int i = 0; i < o->n_results; i++)
        made(h, o, i);
    switch (o->op) {
    case OP_JOIN: host_join(h, o); break;
    case OP_SPLIT: split(h, o); break;
    case OP_CAT: cat(h, o); break;
    case OP_GATHER: gather_block(h, o); break;
    case OP_HISTOGRAM: histogram(h, o); break;
    case OP_SORT: host_sort(h, o); break;
    default: err_at(h->c, o->loc, TARGET, info(o)->text, "the CPU");
    }
}
