/* nest: one group of roots becomes one loop nest over register-sized vectors.
 *
 *     %7 = addptr %p, %off        for (i = 0; i < 64; i++) {              level 1
 *     %8 = load %7, %mask            s = row scalars
 *     %9 = reduce max %8 axis=1      for (j = 0; j < 1024; j += 32) {     level 2
 *                                        x = load <32 x f32> row + j
 *                                        acc = max(acc, x)
 *                                    }
 *                                    max of acc's lanes -> %9[i]
 *                                 }
 *
 * A node (nodes.c) is computed at the level of the innermost loop it changes with, in
 * program order there; at lane 0 only where that is all one wants: a row's address, an
 * index that is the same for all.
 *
 * Rule 1: roots and nodes of one iteration run in program order, so a load before a store
 *         of the same element stays before it. Elements of different indices are not
 *         ordered by the language without a barrier.
 * Rule 2: nothing outside of the innermost loop writes memory that a node may read, for a
 *         node may be computed further out than its op stood.
 */
#include "codegen/host/host.h"

#include <math.h>

/* ---- emission ------------------------------------------------------------------------------------ */

static Lv
iota(Host *h, Lt t, int lanes, int64_t first, int64_t step)
{
    Lv all[64];
    for (int i = 0; i < lanes; i++)
        all[i] = LLVMConstInt(t, (uint64_t)(first + i * step), true);
    (void)h;
    return lanes > 1 ? LLVMConstVector(all, (unsigned)lanes) : all[0];
}

static Lv
as_vector(Host *h, Group *g, Node *n)
{
    if (is_vector(g, n) || g->lanes == 1)
        return n->x;
    if (!n->vec)
        n->vec = ll_splat(h->l, n->x, g->lanes);
    return n->vec;
}

static Lv
index_of(Host *h, Group *g, const Node *n, int d)
{
    int m = n->map.at[d];
    return m == NO_DIM ? ll_i64(h->l, 0) : g->index[m];
}

static Lv
arange(Host *h, Group *g, Node *n)
{
    Ll *l = h->l;
    int64_t start = ir_attr(n->v->def, ATTR_START);
    Lv x = LLVMBuildTrunc(l->b, index_of(h, g, n, 0), l->i32, "");
    if (!is_vector(g, n))
        return LLVMBuildAdd(l->b, x, ll_i32(l, (int32_t)start), "");
    return LLVMBuildAdd(l->b, ll_splat(l, x, g->lanes),
                        iota(h, l->i32, g->lanes, start, 1), "");
}

/* From the first lane on, counting up by n->run. */
static Lv
counted(Host *h, Group *g, const Node *n, Lv first)
{
    return LLVMBuildAdd(h->l->b, ll_splat(h->l, first, g->lanes),
                        iota(h, LLVMTypeOf(first), g->lanes, 0, n->run), "");
}

static Lv
read_buffer(Host *h, Group *g, Node *n)
{
    Ll *l = h->l;
    const Type *t = n->v->type;
    VState *s = state(h, n->v);
    Lv index[MAX_RANK];
    int64_t step = 0; /* elements from lane to lane */
    for (int d = 0; d < t->rank; d++) {
        index[d] = index_of(h, g, n, d);
        if (n->map.at[d] == g->vec)
            step += s->view.stride[d];
    }
    Lv p = host_address(h, t, &s->view, index);
    if (!is_vector(g, n))
        return host_read(h, t, M_ROW, 0, p, NULL, NULL);
    if (n->run)
        return counted(h, g, n, host_read(h, t, M_ROW, 0, p, NULL, NULL));
    if (step == 1)
        return host_read(h, t, M_ROW, g->lanes, p, NULL, NULL);
    Lv off = iota(h, l->i64, g->lanes, 0, step);
    p = ll_element(l, host_mem_type(h, t), ll_splat(l, p, g->lanes), off);
    return host_read(h, t, M_GATHER, g->lanes, p, NULL, NULL);
}

/* Where any lane is in, the one element that all of them have. */
static Lv
load_same(Host *h, Group *g, Node *n, Lv mask, Lv other)
{
    Ll *l = h->l;
    const Type *t = ty_pointee(h->c, arg(n->v->def, 0)->type);
    Lv p = n->in[0]->x, any = mask ? host_any(h, mask) : NULL;
    host_guard(h, n->v->def, M_ROW, 0, p, any);
    Lv x = ll_splat(l, host_read(h, t, M_ROW, 0, p, any, NULL), g->lanes);
    if (!mask)
        return x;
    return LLVMBuildSelect(l->b, mask, x, other ? other : LLVMConstNull(LLVMTypeOf(x)),
                           "");
}

static Lv
emit_load(Host *h, Group *g, Node *n)
{
    const Type *t = ty_pointee(h->c, arg(n->v->def, 0)->type);
    if (!is_vector(g, n)) {
        Lv mask = n->n_in > 1 ? n->in[1]->x : NULL,
           other = n->n_in > 2 ? n->in[2]->x : NULL;
        host_guard(h, n->v->def, M_ROW, 0, n->in[0]->x, mask);
        return host_read(h, t, M_ROW, 0, n->in[0]->x, mask, other);
    }
    Lv mask = n->n_in > 1 ? as_vector(h, g, n->in[1]) : NULL;
    Lv other = n->n_in > 2 ? as_vector(h, g, n->in[2]) : NULL;
    if (n->mode == M_SAME)
        return load_same(h, g, n, mask, other);
    Lv p = n->mode == M_GATHER ? as_vector(h, g, n->in[0]) : n->in[0]->x;
    host_guard(h, n->v->def, (Mode)n->mode, g->lanes, p, mask);
    if (n->mode == M_STRIDE)
        return host_read_stride(h, t, n->by, g->lanes, p, mask, other);
    host_note_row(h, g, n, p);
    return host_read(h, t, (Mode)n->mode, g->lanes, p, mask, other);
}

/* q, a product x * r that is x / d within an ulp or two, rounded as the division is: the rest
 * x - q * d is exact in an fma, and q + rest * r rounds once. Where there is no such rest, q
 * is the quotient: infinite, NaN, or a zero, whose sign it would lose. Below |x| of 2^-102
 * the rest may be lost: an ulp. minus: -d. */
static Lv
correct(Ll *l, Lv q, Lv x, Lv minus, Lv r, int lanes)
{
    LLVMBuilderRef b = l->b;
    Lt t = LLVMTypeOf(q),
       ti = lanes > 1 ? LLVMVectorType(l->i32, (unsigned)lanes) : l->i32;
    Lv rest = ll_intrinsic(l, "llvm.fma", &t, 1, (Lv[]){q, minus, x}, 3);
    Lv exact = ll_intrinsic(l, "llvm.fma", &t, 1, (Lv[]){rest, r, q}, 3);
    Lv size = ll_intrinsic(l, "llvm.fabs", &t, 1, &q, 1);
    Lv one = ll_splat(l, LLVMConstInt(l->i32, 1, false), lanes);
    Lv end = ll_splat(l, LLVMConstInt(l->i32, 0x7f7fffff, false),
                      lanes); /* FLT_MAX's */
    Lv bits = LLVMBuildSub(b, LLVMBuildBitCast(b, size, ti, ""), one, "");
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, bits, end, ""), exact, q,
                           "");
}

/* x / d for a d that all lanes share: x times its reciprocal, within the 2 ulp that `div`
 * asks for. Where floats become integers or float8, an ulp may be a step of those, and users
 * compare steps with other programs' (a quantised x on a tie): there, the quotient is rounded
 * as the division is. c keeps the reciprocal away from subnormals and infinity; where it is
 * not 1, what x * c loses is beyond what the quotient can hold. */
static Lv
divide_by_scalar(Host *h, Lv x, Lv d, int lanes)
{
    Ll *l = h->l;
    LLVMBuilderRef b = l->b;
    Lv a = ll_intrinsic(l, "llvm.fabs", &l->f32, 1, &d, 1);
    Lv big = LLVMBuildFCmp(b, LLVMRealOGT, a, LLVMConstReal(l->f32, 0x1p125), "");
    Lv small = LLVMBuildFCmp(b, LLVMRealOLT, a, LLVMConstReal(l->f32, 0x1p-125), "");
    Lv c = LLVMBuildSelect(b, big, LLVMConstReal(l->f32, 0x1p-32),
                           LLVMConstReal(l->f32, 1), "");
    c = LLVMBuildSelect(b, small, LLVMConstReal(l->f32, 0x1p32), c, "");
    d = LLVMBuildFMul(b, d, c, "");
    Lv r = ll_splat(l, LLVMBuildFDiv(b, LLVMConstReal(l->f32, 1), d, ""), lanes);
    x = LLVMBuildFMul(b, x, ll_splat(l, c, lanes), "");
    Lv q = LLVMBuildFMul(b, x, r, "");
    if (!h->takes_steps)
        return q;
    /* of an infinite d: 0 * inf would be NaN */
    Lv finite = LLVMBuildFCmp(b, LLVMRealOLT, a, LLVMConstReal(l->f32, INFINITY), "");
    Lv minus = LLVMBuildSelect(b, finite, LLVMBuildFNeg(b, d, ""),
                               LLVMConstReal(l->f32, 0), "");
    return correct(l, q, x, ll_splat(l, minus, lanes), r, lanes);
}

/* A quotient, or a remainder, of a split, or a bound. */
static Lv
emit_split(Host *h, Group *g, const Node *n)
{
    const Op *o = n->v->def;
    Split s = {arg(o, 0)->type->elem, OP_DIV, n->in[0], n->in[1]};
    Lv quotient, rest, x;
    if (host_is_bound(o)) {
        x = cg_elementwise(h->l, o, (Lv[]){n->in[0]->x, n->in[1]->x});
    } else {
        host_divide_in_run(h, &s, g->lanes, &quotient, &rest);
        x = n->kind == N_QUOTIENT ? quotient : rest;
    }
    return n->run ? counted(h, g, n, x) : x;
}

static void
emit_node(Host *h, Group *g, Node *n)
{
    Ll *l = h->l;
    n->vec = NULL; /* of an earlier copy of this body */
    switch ((NodeKind)n->kind) {
    case N_SCALAR: n->x = host_scalar(h, n->v); break;
    case N_CONST: n->x = host_const(h, n->v->type, n->v->def->bits, 0); break;
    case N_ARANGE: n->x = arange(h, g, n); break;
    case N_BUFFER: n->x = read_buffer(h, g, n); break;
    case N_LOAD: n->x = emit_load(h, g, n); break;
    case N_QUOTIENT:
    case N_REST: n->x = emit_split(h, g, n); break;
    case N_OP_NODE: {
        Lv *x = NEW_N(h->c->arena, Lv, n->n_in + 1);
        bool vec = is_vector(g, n);
        if (vec && n->v->def->op == OP_DIV && n->v->type->elem == E_F32 &&
            !is_vector(g, n->in[1]) && is_vector(g, n->in[0])) {
            n->x = divide_by_scalar(h, n->in[0]->x, n->in[1]->x, g->lanes);
            break;
        }
        for (int i = 0; i < n->n_in; i++)
            x[i] = vec ? as_vector(h, g, n->in[i]) : n->in[i]->x;
        n->x = cg_elementwise(l, n->v->def, x);
        break;
    }
    }
    if (n->want_vec && g->lanes > 1)
        as_vector(h, g, n);
}

static Lv
root_in(Host *h, Group *g, Root *r, int i)
{
    return r->in[i] ? as_vector(h, g, r->in[i]) : NULL;
}

/* Of what a KEEP puts into scratch. */
static const Type *
kept_type(Host *h, const Root *r)
{
    return r->converts ? ty_with_elem(h->c, r->v->type, r->elem) : r->v->type;
}

static void
emit_keep(Host *h, Group *g, Root *r)
{
    Ll *l = h->l;
    const Type *t = kept_type(h, r);
    Lv x = root_in(h, g, r, 0);
    if (r->converts)
        x = cg_cast(l, r->v->type->elem, r->elem, x, ROUND_RTNE);
    if (host_fills_square(g, r)) {
        host_keep_column(h, t, r, g, x);
        return;
    }
    if (r->dest.group > 1) {
        host_keep_row(h, t, r, g->row, x, g->index);
        return;
    }
    Lv p = host_address(h, t, &r->dest, g->index);
    int64_t step = r->dest.stride[g->vec];
    if (g->lanes > 1 && step != 1) {
        Lv off = iota(h, l->i64, g->lanes, 0, step);
        p = ll_element(l, host_mem_type(h, t), ll_splat(l, p, g->lanes), off);
        host_write(h, t, M_GATHER, g->lanes, p, x, NULL);
        return;
    }
    host_write(h, t, M_ROW, g->lanes > 1 ? g->lanes : 0, p, x, NULL);
}

/* Where the elements of this step stand in the block, row-major: i64, of the first lane. */
static Lv
flat_index(Host *h, Group *g)
{
    Ll *l = h->l;
    Lv flat = ll_i64(l, 0);
    for (int d = 0; d < g->rank; d++)
        flat = LLVMBuildAdd(l->b, LLVMBuildMul(l->b, flat, ll_i64(l, g->shape[d]), ""),
                            g->index[d], "");
    return flat;
}

/* A store of lanes that stand apart, or the last of some that are rows together. */
static void
emit_stride(Host *h, Group *g, Root *r, Lv *x)
{
    const Type *t = ty_pointee(h->c, arg(r->o, 0)->type);
    host_guard(h, r->o, M_STRIDE, g->lanes, x[0], x[2]);
    if (!r->fields)
        host_write_stride(h, t, r->by, g->lanes, x[0], x[1], x[2]);
    if (r->fields <= 0)
        return;
    Lv all[MOST_STRIDE];
    const Root *first = r + 1 - r->fields;
    for (int i = 0; i < r->fields; i++)
        all[i] = as_vector(h, g, first[i].in[1]);
    host_write_fields(h, t, r->by, g->lanes, first->in[0]->x, all, x[2]);
}

static void
emit_root(Host *h, Group *g, Root *r)
{
    const Op *o = r->o;
    int lanes = g->lanes > 1 ? g->lanes : 0;
    switch (r->kind) {
    case R_KEEP: emit_keep(h, g, r); return;
    case R_STORE: {
        Lv x[3] = {host_is_by_first(r) ? r->in[0]->x : root_in(h, g, r, 0)};
        for (int i = 1; i < o->n_args; i++)
            x[i] = root_in(h, g, r, i);
        if (r->mode == M_STRIDE) {
            emit_stride(h, g, r, x);
            return;
        }
        host_act(h, o, (Mode)r->mode, lanes, x);
        return;
    }
    case R_REDUCE: {
        Lv *x = NEW_N(h->c->arena, Lv, o->n_args);
        for (int i = 0; i < o->n_args; i++)
            x[i] = root_in(h, g, r, i);
        host_reduce_step(h, g, r, x);
        return;
    }
    case R_ATOMIC: {
        Lv x[4] = {r->mode == M_ROW ? r->in[0]->x : root_in(h, g, r, 0)};
        for (int i = 1; i < o->n_args; i++)
            x[i] = root_in(h, g, r, i);
        Lv old = host_act(h, o, (Mode)r->mode, lanes, x);
        const Type *t = result(o, 0)->type;
        View *w = &state(h, result(o, 0))->view;
        if (w->buf)
            host_write(h, t, M_ROW, lanes, host_address(h, t, w, g->index), old, NULL);
        return;
    }
    case R_CHECK:
        host_check(h, o, lanes, flat_index(h, g), root_in(h, g, r, 0),
                   o->n_args > 1 ? root_in(h, g, r, 1) : NULL);
        return;
    case R_PRINT:
        host_print(h, o, r->mode, lanes, flat_index(h, g), root_in(h, g, r, r->mode),
                   ir_attr(o, ATTR_MASKED) ? root_in(h, g, r, 1) : NULL);
        return;
    }
}

/* ---- full vectors and the rest ---------------------------------------------------------- */

enum { MAX_MASKS = 16 };

typedef struct Masks {
    Node *at[MAX_MASKS];
    int n;
} Masks;

static void
add_mask(Masks *m, Node *n)
{
    for (int i = 0; i < m->n; i++)
        if (m->at[i] == n)
            return;
    if (m->n < MAX_MASKS && n->kind != N_CONST)
        m->at[m->n++] = n;
}

/* The masks of consecutive accesses in the innermost loop that steps are told apart by. A load by a mask that only
 * vectors tell is no better for that where the CPU has masks: the test costs what it saves, and is mispredicted. */
static Masks
find_masks(Host *h, Group *g)
{
    Masks m = {.n = 0};
    for (int i = 0; i < g->list.n; i++) {
        Node *n = g->list.at[i];
        if (n->kind == N_LOAD && n->level == g->rank && n->n_in > 1 &&
            n->mode != M_GATHER && is_vector(g, n) &&
            (!h->has_masks || n->in[1]->by_ends || !is_vector(g, n->in[1])))
            add_mask(&m, n->in[1]);
    }
    for (int i = 0; i < g->roots.n; i++) {
        Root *r = &g->roots.at[i];
        if (host_is_by_first(r) && op_mask(r->o))
            add_mask(&m, r->in[op_mask_at(r->o)]);
    }
    return m;
}

/* Marks what must be there before n can be, in the innermost loop; false where that loads
 * from memory, and so has its place among the roots. */
static bool
mark_early(Group *g, Node *n)
{
    if (n->level != g->rank || n->is_early)
        return true;
    if (n->kind == N_LOAD)
        return false;
    n->is_early = true;
    for (int i = 0; i < n->n_in; i++)
        if (!mark_early(g, n->in[i]))
            return false;
    return true;
}

/* The same for the test of a mask: of its ends, or of all lanes. */
static bool
mark_test(Group *g, Node *n)
{
    if (!n->by_ends)
        return mark_early(g, n);
    if (n->first)
        return mark_early(g, n->first) && mark_early(g, n->in[!is_vector(g, n->in[1])]);
    return mark_test(g, n->in[0]) && mark_test(g, n->in[1]);
}

static void
emit_body(Host *h, Group *g)
{
    int r = 0;
    for (int i = 0; i < g->list.n; i++) {
        Node *n = g->list.at[i];
        if (n->level != g->rank || n->is_early)
            continue;
        for (; r < g->roots.n && g->roots.at[r].pos < n->pos; r++)
            emit_root(h, g, &g->roots.at[r]);
        emit_node(h, g, n);
    }
    for (; r < g->roots.n; r++)
        emit_root(h, g, &g->roots.at[r]);
}

/* a and b, either of which may be NULL: nothing to say. */
static Lv
both(Ll *l, Lv a, Lv b)
{
    return !a ? b : !b ? a : LLVMBuildAnd(l->b, a, b, "");
}

/* A comparison by_ends of the lane that is the first to be in (is_first) or to be out, as one i1; whether the
 * operand that counts up wraps within the step, where neither lane says anything of the others. */
static Lv
end_lane(Host *h, Group *g, const Node *n, bool is_first, Lv *has_wrapped)
{
    Ll *l = h->l;
    const Op *o = n->v->def;
    bool is_left = is_vector(g, n->in[0]),
         is_below = (o->op == OP_LT || o->op == OP_LE) == is_left;
    Lv first = n->first->x, bound = n->in[is_left]->x,
       last = LLVMBuildAdd(
           l->b, first,
           LLVMConstInt(LLVMTypeOf(first), (uint64_t)(g->lanes - 1), false), ""),
       end = is_below == is_first ? first : last;
    bool is_signed = elem_is_signed(arg(o, 0)->type->elem);
    *has_wrapped = LLVMBuildICmp(l->b, is_signed ? LLVMIntSGT : LLVMIntUGT, first, last,
                                 "");
    Lv x[] = {is_left ? end : bound, is_left ? bound : end};
    return cg_elementwise(l, o, x);
}

/* All lanes of a mask by_ends, as one i1: a comparison of scalars, which leaves the units for
 * vectors to the body. A sum that has wrapped says no. */
static Lv
all_by_ends(Host *h, Group *g, const Node *n)
{
    Ll *l = h->l;
    if (!is_vector(g, n))
        return n->x;
    if (!n->first)
        return both(l, all_by_ends(h, g, n->in[0]), all_by_ends(h, g, n->in[1]));
    Lv has_wrapped, last = end_lane(h, g, n, false, &has_wrapped);
    return both(l, LLVMBuildNot(l->b, has_wrapped, ""), last);
}

/* No lane of a mask by_ends, as one i1. */
static Lv
none_by_ends(Host *h, Group *g, const Node *n)
{
    Ll *l = h->l;
    if (!is_vector(g, n))
        return LLVMBuildNot(l->b, n->x, "");
    if (!n->first)
        return LLVMBuildOr(l->b, none_by_ends(h, g, n->in[0]),
                           none_by_ends(h, g, n->in[1]), "");
    Lv has_wrapped, first = end_lane(h, g, n, true, &has_wrapped);
    return LLVMBuildNot(l->b, LLVMBuildOr(l->b, has_wrapped, first, ""), "");
}

/* All lanes of all masks, as one i1. */
static Lv
all_full(Host *h, Group *g, const Masks *m)
{
    Ll *l = h->l;
    Lv full = NULL, vec = NULL;
    for (int i = 0; i < m->n; i++) {
        const Node *n = m->at[i];
        if (is_vector(g, n) && !n->by_ends)
            vec = both(l, vec, n->x);
        else
            full = both(l, full, all_by_ends(h, g, n));
    }
    return both(l, vec ? host_all(h, vec) : NULL, full);
}

/* No lane of any mask, as one i1. */
static Lv
all_empty(Host *h, Group *g, const Masks *m)
{
    Ll *l = h->l;
    Lv empty = NULL;
    for (int i = 0; i < m->n; i++) {
        const Node *n = m->at[i];
        Lv none = is_vector(g, n) && !n->by_ends
                      ? LLVMBuildNot(l->b, host_any(h, n->x), "")
                      : none_by_ends(h, g, n);
        empty = both(l, empty, none);
    }
    return empty;
}

/* The body for a step in which all lanes of all masks are in, or none is. */
static void
emit_uniform(Host *h, Group *g, const Masks *m, bool in)
{
    Ll *l = h->l;
    Node kept[MAX_MASKS];
    for (int i = 0; i < m->n; i++) {
        Node *n = m->at[i];
        Lt vec = ll_vec(l->i1, g->lanes);
        kept[i] = *n;
        n->vec = in ? LLVMConstAllOnes(vec) : LLVMConstNull(vec);
        n->x = is_vector(g, n) ? n->vec : LLVMConstInt(l->i1, in, false);
        n->is_early = true;
    }
    emit_body(h, g);
    for (int i = 0; i < m->n; i++)
        *m->at[i] = kept[i];
}

/* May whole steps be masked out? A block of two steps has one that is in, or another block would do. */
static bool
has_empty_steps(const Group *g)
{
    return g->shape[g->vec] > 2 * g->lanes && (!g->end || g->end_dim != g->vec);
}

static void
emit_early(Host *h, Group *g)
{
    for (int i = 0; i < g->list.n; i++)
        if (g->list.at[i]->is_early)
            emit_node(h, g, g->list.at[i]);
}

/* The body of the innermost loop. Where it has masks, it stands there for steps whose lanes are all in,
 * with plain loads and stores (and selects by the masks gone), for those in which none is, where loads
 * and stores are gone as well, and for the others. */
static void
emit_by_masks(Host *h, Group *g)
{
    Ll *l = h->l;
    Masks m = find_masks(h, g);
    bool twice = m.n > 0 && g->lanes > 1;
    for (int i = 0; i < m.n && twice; i++)
        twice = mark_test(g, m.at[i]);
    if (!twice) {
        for (int i = 0; i < g->list.n; i++)
            g->list.at[i]->is_early = false;
        emit_body(h, g);
        return;
    }
    emit_early(h, g);
    LLVMBasicBlockRef full = ll_block(l, "full"), rest = ll_block(l, "rest"),
                      after = ll_block(l, "next");
    ll_if(l, all_full(h, g, &m), full, rest);
    emit_uniform(h, g, &m, true);
    LLVMBuildBr(l->b, after);
    LLVMPositionBuilderAtEnd(l->b, rest);
    if (has_empty_steps(g)) {
        LLVMBasicBlockRef none = ll_block(l, "none"), part = ll_block(l, "part");
        ll_if(l, all_empty(h, g, &m), none, part);
        emit_uniform(h, g, &m, false);
        LLVMBuildBr(l->b, after);
        LLVMPositionBuilderAtEnd(l->b, part);
    }
    emit_body(h, g);
    ll_jump(l, after);
}

/* What loops, reductions and panels have come to in g is r's, too, and the reverse. */
static void
share(const Group *g, Group *r)
{
    memcpy(r->index, g->index, sizeof r->index);
    r->row = g->row, r->column = g->column;
    r->end = g->end, r->end_dim = g->end_dim;
    for (int i = 0; i < g->roots.n; i++) {
        r->roots.at[i].dest = g->roots.at[i].dest;
        r->roots.at[i].acc = g->roots.at[i].acc;
    }
}

/* The innermost loop's body: twice, where some steps are runs. */
static void
emit_step(Host *h, Group *g)
{
    Ll *l = h->l;
    Group *r = g->runs;
    if (!r) {
        emit_by_masks(h, g);
        return;
    }
    share(g, r);
    for (int i = 0; i < r->splits.n; i++)
        if (!mark_early(r, r->splits.at[i].first) || !mark_early(r, r->splits.at[i].by))
            unreachable(h->c); /* runs.c sees nothing in what is loaded */
    emit_early(h, r);
    LLVMBasicBlockRef run = ll_block(l, "run"), apart = ll_block(l, "apart"),
                      after = ll_block(l, "stepped");
    ll_if(l, host_is_run(h, r), run, apart);
    emit_by_masks(h, r);
    share(r, g);
    LLVMBuildBr(l->b, after);
    LLVMPositionBuilderAtEnd(l->b, apart);
    emit_by_masks(h, g);
    ll_jump(l, after);
}

/* The rows of a group of a root by panels one after the other: with the last one, all are there. */
static void
emit_innermost(Host *h, Group *g)
{
    Ll *l = h->l;
    int d = MAX(g->rank - 2, 0);
    Lv first = g->index[d];
    for (g->row = 0; g->row < g->n_rows; g->row++) {
        if (g->row)
            g->index[d] = LLVMBuildAdd(l->b, first, ll_i64(l, g->row), "");
        emit_step(h, g);
    }
    g->index[d] = first;
}

/* The columns of a square, in a loop, and then what they make. */
static void
emit_square(Host *h, Group *g)
{
    int d = host_other_dim(g);
    Lv first = g->index[d];
    Loop loop;
    host_loop_open(h, &loop, g->side, 1);
    g->column = loop.index;
    g->index[d] = LLVMBuildAdd(h->l->b, first, loop.index, "");
    emit_step(h, g);
    host_loop_close(h, &loop);
    g->index[d] = first;
    for (int i = 0; i < g->roots.n; i++) {
        Root *r = &g->roots.at[i];
        if (host_fills_square(g, r))
            host_keep_square(h, kept_type(h, r), r, g);
    }
}

static void
emit_nodes_at(Host *h, Group *g, int level)
{
    for (int i = 0; i < g->list.n; i++)
        if (g->list.at[i]->level == level)
            emit_node(h, g, g->list.at[i]);
}

static void
emit_level(Host *h, Group *g, int k)
{
    if (k == g->rank) {
        (g->side ? emit_square : emit_innermost)(h, g);
        return;
    }
    emit_nodes_at(h, g, k);
    if (g->runs) {
        share(g, g->runs);
        emit_nodes_at(h, g->runs, k);
    }
    int d = g->order[k];
    bool reduces = k == g->rank - 1 && g->axis >= 0;
    for (int i = 0; reduces && i < g->roots.n; i++)
        if (g->roots.at[i].kind == R_REDUCE)
            host_reduce_begin(h, g, &g->roots.at[i]);
    Loop loop;
    host_steps_open(h, &loop, g->shape[d],
                    d == g->vec                         ? g->lanes
                    : g->side && d == host_other_dim(g) ? g->side
                    : d == g->rank - 2                  ? g->n_rows
                                                        : 1,
                    d == g->end_dim ? g->end : NULL);
    g->index[d] = loop.index;
    emit_level(h, g, k + 1);
    host_loop_close(h, &loop);
    for (int i = 0; reduces && i < g->roots.n; i++)
        if (g->roots.at[i].kind == R_REDUCE)
            host_reduce_end(h, g, &g->roots.at[i]);
}

/* ---- the group as a whole ------------------------------------------------------------------ */

static int
first_pos(const Group *g)
{
    int p = INT32_MAX;
    for (int i = 0; g && i < g->roots.n; i++)
        p = MIN(p, g->roots.at[i].pos);
    return p;
}

static void
choose_destinations(Host *h, Group *g)
{
    int first = first_pos(g);
    for (int i = 0; i < h->begun.n; i++)
        first = MIN(first, first_pos(h->begun.at[i]));
    host_free_before(h, first);
    for (int i = 0; i < g->roots.n; i++) {
        Root *r = &g->roots.at[i];
        if (r->kind == R_KEEP) {
            if (r->o)
                r->dest = host_new_view(h, result(r->o, 0));
            continue;
        }
        for (int k = 0; k < r->o->n_results; k++)
            if (result(r->o, k)->type->rank && result(r->o, k)->uses)
                state(h, result(r->o, k))->view = host_new_view(h, result(r->o, k));
    }
}

void
host_emit_group(Host *h, Group *g)
{
    choose_destinations(h, g);
    host_build_nodes(h, g);
    host_find_end(h, g);
    emit_level(h, g, 0);
    for (int i = 0; i < g->roots.n; i++) {
        Root *r = &g->roots.at[i];
        for (int k = 0; r->o && k < r->o->n_results; k++)
            if (result(r->o, k)->type->rank) {
                state(h, result(r->o, k))->kind = V_BUFFER;
                if (r->kind == R_KEEP)
                    state(h, result(r->o, k))->view = r->dest;
            }
    }
}
