/* random_product: random kernels that multiply blocks of tensors, for the word `copies`.
 *
 *     for k in range(0, K, BK):
 *         a = load(a_ptr + batch + (u + r) * stride + ..., u + r < M and k + c < K)
 *         acc = dot(a, b, acc)
 *     store(c_ptr + ..., acc, u + r < M and v + c < N)
 *
 * What can be written in several ways is: where a term of an index is added (to the pointer, the
 * rows, the block), in how many bits, who carries it round the loop, how a bound is compared. Most
 * kernels are such as people write; some are wrong in one place, where a mask bounds
 * another index than the pointer has, two strides are equal, or programs meet in an atomic.
 *
 * Names of parameters say what a launch may give (tirc_copies.c): the first letter is the kind.
 * No two arguments of a call draw or build, so that a seed is the same kernel from every compiler.
 * It is one file because the parts of a kernel, from top to bottom, are made of those above.
 */
#include "random.h"

#include <math.h>

enum { M, N, K, Z, N_AXES }; /* rows, columns, what is summed; products side by side */

typedef struct Make {
    Comp *c;
    Func *f;
    Build b;
    uint64_t rng;
    Elem e;       /* of the factors */
    bool is_deep; /* products side by side: blocks have three dims */
    int side[N_AXES];
    Val *outer;         /* the turn of a loop around the loop; NULL: there is none */
    Val *start[N_AXES]; /* of the block along the axis; NULL: at 0 */
} Make;

/* One factor, or the result. */
typedef struct Side {
    char letter;
    Elem e;
    int rank, axis[3];
    Val *base, *stride[3];
    Val *start[3]; /* NULL: at 0, or the pointer says */
    bool is_store;
    bool wraps[3]; /* its index is a remainder: people bound it no more */
} Side;

/* ---- chance and arithmetic ---------------------------------------------------------- */

static int
below(Make *m, int n)
{
    return (int)(random_bits(&m->rng) % (uint64_t)n);
}

static bool
chance(Make *m, int percent)
{
    return below(m, 100) < percent;
}

static Val *
number(Make *m, Elem e, int64_t v)
{
    return ir_const_int(&m->b, ty_scalar(m->c, e), v);
}

/* Of scalars and blocks of one rank, in the wider type. */
static Val *
calc(Make *m, OpCode op, Val *x, Val *y)
{
    int32_t shape[MAX_RANK];
    int rank = MAX(x->type->rank, y->type->rank);
    Elem e = ty_bits(x->type) >= ty_bits(y->type) ? x->type->elem : y->type->elem;
    for (int d = 0; d < rank; d++)
        shape[d] = MAX(x->type->rank ? x->type->shape[d] : 1,
                       y->type->rank ? y->type->shape[d] : 1);
    x = ir_stretch(&m->b, ir_cast(&m->b, x, e), rank, shape);
    return ir_bin(&m->b, op, x, ir_stretch(&m->b, ir_cast(&m->b, y, e), rank, shape));
}

static Val *
calc_int(Make *m, OpCode op, Val *x, int64_t v)
{
    return calc(m, op, x, number(m, x->type->elem, v));
}

static Val *
param(Make *m, const Type *t, const char *name)
{
    for (int i = 0; i < m->f->body->n_args; i++)
        if (!strcmp(m->f->body->args[i]->name, name))
            return m->f->body->args[i];
    return ir_param(m->f, t, str_intern(m->c, name), m->f->body->n_args);
}

static Val *
scalar_param(Make *m, const char *name)
{
    return param(m, ty_scalar(m->c, chance(m, 88) ? E_I32 : E_I64), name);
}

static Val *
asked(Make *m, OpCode op, int axis)
{
    const Type *t = ty_scalar(m->c, E_I32);
    Op *o = ir_op(&m->b, op, 0, NULL, 1, &t);
    ir_set_attr(o, ATTR_AXIS, axis);
    return result(o, 0);
}

/* counts[i] */
static Val *
counted(Make *m, Val *i)
{
    Val *p = param(m, ty_ptr(m->c, E_I32, false), "counts");
    return ir_load(&m->b, ir_addptr(&m->b, p, i), NULL, NULL);
}

static Val *
bound_of(Make *m, int axis)
{
    static const char *const name[] = {"bound_m", "bound_n", "bound_k", "bound_z"};
    return scalar_param(m, name[axis]);
}

/* ---- where a block begins ------------------------------------------------------------ */

/* The tutorial's order of programs. */
static Val *
grouped(Make *m, Val *pid, int grid_axis)
{
    Val *w = scalar_param(m, "width");
    Val *first = calc_int(m, OP_MUL, calc(m, OP_DIV, pid, w), 2);
    Val *rest = calc(m, OP_SUB, asked(m, OP_NUM_PROGRAMS, grid_axis), first);
    return calc(m, OP_ADD, first, calc(m, OP_REM, pid, calc_int(m, OP_MIN, rest, 2)));
}

static Val *
some_start(Make *m, int axis)
{
    int grid_axis = axis == Z ? 2 : axis, side = m->side[axis], way = below(m, 100);
    Val *pid = asked(m, OP_PROGRAM_ID, grid_axis), *u = calc_int(m, OP_MUL, pid, side);
    Val *w = way < 69 && way >= 55 ? scalar_param(m, "width") : NULL;
    Val *shift = way >= 80 && way < 83 ? scalar_param(m, "shift") : NULL;
    if (chance(m, 4))
        pid = calc(m, OP_ADD, pid, scalar_param(m, "shift"));
    if (w)
        u = calc_int(m, OP_MUL, calc(m, way < 62 ? OP_DIV : OP_REM, pid, w), side);
    else if (way >= 69 && way < 74)
        u = calc_int(m, OP_MUL,
                     calc(m, OP_SUB,
                          calc_int(m, OP_SUB, asked(m, OP_NUM_PROGRAMS, grid_axis), 1),
                          pid),
                     side);
    else if (way >= 74 && way < 77)
        u = chance(m, 50) ? counted(m, pid)
                          : calc_int(m, OP_MUL, counted(m, pid), side);
    else if (way >= 77 && way < 80)
        u = calc_int(m, OP_MAX, calc_int(m, OP_SUB, u, below(m, 20)), 0);
    else if (way >= 80 && way < 83)
        u = calc(m, way == 80 ? OP_MAX : OP_MIN, calc_int(m, OP_MUL, pid, side), shift);
    else if (way >= 83 && way < 87)
        u = NULL;
    else if (way >= 87 && way < 89)
        u = scalar_param(m, "shift");
    else if (way >= 89 && way < 93)
        u = calc_int(m, OP_MUL, grouped(m, pid, grid_axis), side);
    else if (way >= 93 && way < 96)
        u = calc(m, OP_MUL, pid, scalar_param(m, chance(m, 50) ? "shift" : "bound_x"));
    OpCode op = chance(m, 80) ? OP_ADD : OP_SUB;
    if (u && chance(m, 10))
        u = calc(m, op, u, scalar_param(m, "shift"));
    if (u && chance(m, 6))
        u = calc_int(m, OP_ADD, u, chance(m, 50) ? side : below(m, 40) - 10);
    return u && chance(m, 8) ? ir_cast(&m->b, u, E_I64) : u;
}

/* ---- pointers --------------------------------------------------------------------------- */

/* v, of one dim, as dim d of so many. */
static Val *
as_dim(Make *m, Val *v, int d, int rank)
{
    for (int i = 0; i < d; i++)
        v = ir_expand(&m->b, v, 0);
    for (int i = d + 1; i < rank; i++)
        v = ir_expand(&m->b, v, i);
    return v;
}

static Val *
range_of(Make *m, int axis)
{
    return ir_arange(&m->b, 0, m->side[axis]);
}

static Val *
move(Make *m, Val *p, Val *by)
{
    int rank = by->type->rank;
    int32_t shape[MAX_RANK];
    for (int d = 0; d < rank; d++)
        shape[d] = MAX(p->type->rank ? p->type->shape[d] : 1, by->type->shape[d]);
    if (!rank)
        by = ir_stretch(&m->b, by, p->type->rank, p->type->shape);
    else {
        p = ir_stretch(&m->b, p, rank, shape);
        by = ir_stretch(&m->b, by, rank, shape);
    }
    return ir_addptr(&m->b, p, by);
}

static bool
is_one(const Val *v)
{
    int64_t c;
    return ir_const_as_int(v, &c) && c == 1;
}

static Val *
times(Make *m, Val *x, Val *stride)
{
    return is_one(stride) && chance(m, 70) ? x : calc(m, OP_MUL, x, stride);
}

/* What goes to the tensor's address: one of many tensors, or a place in it. */
static Val *
some_offset(Make *m, char letter)
{
    char name[] = "batch_?";
    name[6] = letter;
    Val *z = m->outer ? m->outer : asked(m, OP_PROGRAM_ID, 2);
    Val *by = scalar_param(m, name);
    switch (below(m, 9)) {
    case 0: return number(m, E_I32, below(m, 3) ? 16 * below(m, 9) : below(m, 99) - 20);
    case 1: return by;
    case 2: return calc(m, OP_MUL, counted(m, z), by);
    case 3: return counted(m, z);
    case 4: {
        Val *w = scalar_param(m, "width");
        Val *x = calc(m, OP_MUL, calc(m, OP_DIV, z, w), by), *y = calc(m, OP_REM, z, w);
        return calc(m, OP_ADD, x, calc(m, OP_MUL, y, scalar_param(m, "batch_x")));
    }
    case 5: return calc(m, OP_MUL, ir_cast(&m->b, z, E_I64), by);
    default: return calc(m, OP_MUL, z, by);
    }
}

/* Along dim d of the block; what does not depend on the place in it may go to *p or *rest. */
static Val *
index_along(Make *m, Side *s, int d, Val **p, Val **rest)
{
    Val *i = range_of(m, s->axis[d]), *u = s->start[d];
    int way = u ? below(m, 10) : 0;
    if (u && way == 9) {
        Val *by = times(m, u, s->stride[d]);
        *rest = *rest ? calc(m, OP_ADD, *rest, by) : by;
    } else if (u && way >= 7) {
        *p = move(m, *p, calc(m, OP_MUL, u, s->stride[d]));
    } else if (u) {
        i = chance(m, 50) ? calc(m, OP_ADD, u, i) : calc(m, OP_ADD, i, u);
        s->wraps[d] = chance(m, s->axis[d] == K ? 2 : 14);
        if (s->wraps[d])
            i = calc(m, OP_REM, i, bound_of(m, s->axis[d]));
    }
    return i;
}

/* Sums of indices times strides, in one of many orders. */
static Val *
pointers(Make *m, Side *s)
{
    Val *p = s->base, *rest = NULL, *sum = NULL, *term[3];
    bool is_wide = chance(m, 20), is_summed = chance(m, 40);
    if (chance(m, 35))
        p = move(m, p, some_offset(m, s->letter));
    for (int d = 0; d < s->rank; d++) {
        Val *i = index_along(m, s, d, &p, &rest);
        if (is_wide)
            i = ir_cast(&m->b, i, E_I64);
        if (chance(m, 30))
            i = times(m, i, s->stride[d]), term[d] = as_dim(m, i, d, s->rank);
        else
            term[d] = times(m, as_dim(m, i, d, s->rank), s->stride[d]);
    }
    for (int k = 0; k < s->rank; k++) {
        int d = is_summed ? k : s->rank - 1 - k;
        if (is_summed)
            sum = sum ? calc(m, OP_ADD, sum, term[d]) : term[d];
        else
            p = move(m, p, term[d]);
    }
    if (sum && rest && chance(m, 50))
        sum = calc(m, OP_ADD, rest, sum), rest = NULL;
    if (sum)
        p = move(m, p, sum);
    return rest ? move(m, p, rest) : p;
}

/* ---- masks ------------------------------------------------------------------------------ */

static Val *
some_bound(Make *m, int axis)
{
    int way = below(m, 100);
    if (way < 4)
        return number(m, E_I32, below(m, 40));
    if (way < 6)
        return counted(m, asked(m, OP_PROGRAM_ID, 0));
    Val *b = bound_of(m, axis);
    return way < 9 ? calc(m, OP_MIN, b, scalar_param(m, "bound_x")) : b;
}

/* v + r < b, in a dim of its own. */
static Val *
below_bound(Make *m, Val *v, Val *r, Val *b)
{
    Val *i = v ? calc(m, OP_ADD, v, r) : r;
    switch (below(m, 10)) {
    case 9:
        if (!chance(m, 20))
            return calc(m, OP_LT, i, b);
        i = ir_cast(&m->b, i, E_U32);
        return calc(m, OP_LT, i, ir_cast(&m->b, b, E_U32));
    case 0: return calc(m, OP_LE, i, calc_int(m, OP_SUB, b, 1));
    case 1: return calc(m, OP_GT, b, i);
    case 2: return calc(m, OP_GE, calc_int(m, OP_SUB, b, 1), i);
    case 3:
    case 4: return calc(m, OP_LT, r, v ? calc(m, OP_SUB, b, v) : b);
    default: return calc(m, OP_LT, i, b);
    }
}

/* v + r >= 0 */
static Val *
above_zero(Make *m, Val *v, Val *r)
{
    Val *i = v ? calc(m, OP_ADD, v, r) : r;
    switch (below(m, 4)) {
    case 0: return calc(m, OP_GT, i, number(m, E_I32, -1));
    case 1: return calc(m, OP_LE, number(m, E_I32, 0), i);
    case 2:
        return v ? calc(m, OP_GE, r, ir_un(&m->b, OP_NEG, v))
                 : calc_int(m, OP_GE, r, 0);
    default: return calc(m, OP_GE, i, number(m, E_I32, 0));
    }
}

static Val *
and_also(Make *m, Val *x, Val *y)
{
    return x ? calc(m, OP_AND, x, y) : y;
}

/* at: where the mask says that the block begins; mostly where it does. NULL: no mask. */
static Val *
some_mask(Make *m, const Side *s, Val *const *at)
{
    Val *all = NULL, *row = as_dim(m, range_of(m, s->axis[0]), 0, s->rank);
    for (int d = 0; d < s->rank; d++) {
        Val *r = as_dim(m, range_of(m, s->axis[d]), d, s->rank), *v = at[d];
        if (chance(m, 3))
            v = v ? calc_int(m, OP_ADD, v, below(m, 9) - 4) : scalar_param(m, "shift");
        if (chance(m, 8))
            all = and_also(m, all, above_zero(m, v, r));
        if (chance(m, s->wraps[d] ? 10 : s->is_store ? 85 : 70))
            all = and_also(m, all, below_bound(m, v, r, some_bound(m, s->axis[d])));
        if (chance(m, 2))
            all = and_also(m, all, below_bound(m, v, r, some_bound(m, s->axis[d])));
    }
    if (chance(m, 2)) {
        Val *pid = asked(m, OP_PROGRAM_ID, 0), *n = scalar_param(m, "bound_x");
        all = and_also(m, calc(m, OP_LT, pid, n), all ? all : above_zero(m, NULL, row));
    }
    return all;
}

/* As a mask of a whole block. */
static Val *
whole(Make *m, const Side *s, Val *mask)
{
    int32_t shape[3];
    for (int d = 0; d < s->rank; d++)
        shape[d] = m->side[s->axis[d]];
    return mask ? ir_stretch(&m->b, mask, s->rank, shape) : NULL;
}

/* ---- accesses --------------------------------------------------------------------------- */

static Val *
some_other(Make *m, const Type *t)
{
    int way = below(m, 100);
    if (way < 2 && elem_is_float(t->elem) && elem_info[t->elem].bits > 8)
        return ir_const_float(&m->b, t, way ? 1.0 : (double)NAN);
    return way < 40   ? ir_const_bits(&m->b, t, 0)
           : way < 42 ? ir_const_int(&m->b, t, 1)
                      : NULL;
}

static Val *
as_i64(Make *m, Val *v)
{
    return v ? ir_cast(&m->b, v, E_I64) : number(m, E_I64, 0);
}

/* The block as a descriptor gives it, or stores it. Of a tensor whose last dim is dense. */
static Val *
by_descriptor(Make *m, const Side *s, Val *const *at, Val *value)
{
    Val *args[3 * MAX_RANK + 1];
    int n = 0, rank = s->rank;
    int32_t shape[3];
    args[n++] = s->base;
    for (int d = 0; d < rank; d++) {
        args[n++] = as_i64(m, some_bound(m, s->axis[d]));
        shape[d] = m->side[s->axis[d]];
    }
    for (int d = 0; d < rank - 1; d++)
        args[n++] = as_i64(m, s->stride[d]);
    for (int d = 0; d < rank; d++)
        args[n++] = at[d] ? at[d] : number(m, E_I32, 0);
    if (value) {
        args[n++] = value;
        ir_op(&m->b, OP_TILE_STORE, n, args, 0, NULL);
        return NULL;
    }
    const Type *t = ty_block(m->c, ty_scalar(m->c, s->e), rank, shape);
    Op *o = ir_op(&m->b, OP_TILE_LOAD, n, args, 1, &t);
    if (elem_is_float(s->e) && chance(m, 10))
        ir_set_attr(o, ATTR_PADDING, PAD_NAN);
    return result(o, 0);
}

/* Pointers and mask as a block pointer spells them out. */
static Val *
block_pointer(Make *m, const Side *s, Val *const *at, Val **mask)
{
    Window w = {.base = s->base, .rank = s->rank};
    bool is_checked[MAX_RANK];
    for (int d = 0; d < s->rank; d++) {
        w.shape[d] = as_i64(m, some_bound(m, s->axis[d]));
        w.strides[d] = is_one(s->stride[d]) ? NULL : as_i64(m, s->stride[d]);
        w.offsets[d] = at[d] ? at[d] : number(m, E_I32, 0);
        w.block[d] = m->side[s->axis[d]];
        is_checked[d] = chance(m, 80);
    }
    return ir_window(&m->b, &w, is_checked, mask);
}

static Val *
load(Make *m, Val *p, Val *mask)
{
    Val *v = ir_load(&m->b, p, mask,
                     mask ? some_other(m, ty_pointee(m->c, p->type)) : NULL);
    if (chance(m, 6))
        ir_set_attr(v->def, ATTR_CACHE,
                    chance(m, 80) ? CACHE_CA + below(m, 2) : CACHE_CS);
    if (chance(m, 5))
        ir_set_attr(v->def, ATTR_EVICT, EVICT_FIRST + below(m, 2));
    if (chance(m, 1))
        ir_set_attr(v->def, ATTR_VOLATILE, 1);
    return v;
}

/* ---- the factors ------------------------------------------------------------------------- */

static Val *
some_stride(Make *m, const Side *s, int d, bool is_near)
{
    char name[] = "far_??";
    name[4] = s->letter;
    name[5] = (char)('0' + d);
    if (is_near && chance(m, 55))
        return number(m, E_I32, 1);
    if (is_near)
        memcpy(name, "one", 3), name[3] = '_';
    if (!is_near && chance(m, 10))
        return number(m, E_I32, 16 << below(m, 3));
    if (!is_near && s->axis[d] == Z)
        return scalar_param(m, s->letter == 'a' ? "batch_a" : "batch_b");
    return scalar_param(m, name);
}

static Side
some_side(Make *m, char letter, int row, int column)
{
    bool is_turned = chance(m, 40) && letter != 'c';
    Side s = {.letter = letter, .e = m->e, .is_store = letter == 'c'};
    const char name[] = {letter, 0};
    if (m->is_deep)
        s.axis[s.rank++] = Z;
    s.axis[s.rank++] = is_turned ? column : row;
    s.axis[s.rank++] = is_turned ? row : column;
    if (letter == 'c')
        s.e = elem_is_int(m->e)                            ? E_I32
              : m->e == E_F64                              ? E_F64
              : elem_info[m->e].bits < 32 && chance(m, 50) ? E_F16
                                                           : E_F32;
    s.base = param(m, ty_ptr(m->c, s.e, letter != 'c' && chance(m, 50)),
                   str_intern(m->c, name));
    /* Mostly what a descriptor has, too: the last dim is dense. */
    int near = chance(m, 80) ? s.rank - 1 : s.rank - 2;
    for (int d = 0; d < s.rank; d++) {
        s.stride[d] = some_stride(m, &s, d, d == near);
        s.start[d] = m->start[s.axis[d]];
    }
    if (chance(m, 1)) /* a diagonal */
        s.stride[s.rank - 2] = s.stride[s.rank - 1];
    return s;
}

static bool
is_turned(const Side *s)
{
    return s->axis[s->rank - 1] == M || (s->letter == 'b' && s->axis[s->rank - 1] == K);
}

/* v as a product takes it. */
static Val *
turn(Make *m, const Side *s, Val *v)
{
    int perm[3] = {0, 1, 2};
    if (!is_turned(s))
        return v;
    perm[s->rank - 1] = s->rank - 2;
    perm[s->rank - 2] = s->rank - 1;
    int32_t shape[3];
    for (int d = 0; d < s->rank; d++)
        shape[d] = v->type->shape[perm[d]];
    const Type *t = ty_with_shape(m->c, v->type, s->rank, shape);
    Op *o = ir_op(&m->b, OP_TRANS, 1, &v, 1, &t);
    ir_set_attr(o, ATTR_PERM, perm_pack(s->rank, perm));
    return result(o, 0);
}

/* How a factor comes to each turn of the loop. */
typedef struct Way {
    Side side;
    enum { COMPUTED, CARRIED, DESCRIPTOR, BLOCK_POINTER } kind;
    Val *p;    /* CARRIED: in front of the loop, then in it */
    int index; /* among what the loop carries */
} Way;

static int
k_dim(const Side *s)
{
    return s->axis[s->rank - 1] == K ? s->rank - 1 : s->rank - 2;
}

static Way
some_way(Make *m, char letter, bool is_loop)
{
    Way w = {
        .side = some_side(m, letter, letter == 'a' ? M : K, letter == 'a' ? K : N)};
    int way = below(m, 100);
    bool is_dense = is_one(w.side.stride[w.side.rank - 1]);
    w.kind = way < 12 && is_dense  ? DESCRIPTOR
             : way < 22            ? BLOCK_POINTER
             : way < 50 && is_loop ? CARRIED
                                   : COMPUTED;
    if (w.kind == CARRIED)
        w.p = pointers(m, &w.side); /* K begins at 0, or at m->start[K] */
    return w;
}

/* at_k: where the block begins along K, in this turn. */
static Val *
factor(Make *m, Way *w, Val *at_k)
{
    Side s = w->side;
    Val *at[3], *mask = NULL, *v;
    for (int d = 0; d < s.rank; d++)
        at[d] = d == k_dim(&s) ? at_k : s.start[d];
    s.start[k_dim(&s)] = at_k;
    if (w->kind == DESCRIPTOR)
        return turn(m, &s, by_descriptor(m, &s, at, NULL));
    if (w->kind == BLOCK_POINTER) {
        Val *p = block_pointer(m, &s, at, &mask);
        v = load(m, p, mask);
    } else {
        Val *p = w->kind == CARRIED ? w->p : pointers(m, &s);
        mask = whole(m, &s, some_mask(m, &s, at));
        v = load(m, p, mask);
    }
    return turn(m, &s, v);
}

static Val *
product(Make *m, Val *x, Val *y, Val *acc)
{
    Val *args[] = {x, y, acc};
    return result(ir_op(&m->b, OP_DOT, 3, args, 1, &acc->type), 0);
}

/* ---- what else there may be ------------------------------------------------------------- */

/* Others whom copies have to keep an order with, or none. */
static void
disturb(Make *m, Val *pid)
{
    Val *counts = param(m, ty_ptr(m->c, E_I32, false), "counts");
    Val *d = param(m, ty_ptr(m->c, E_I32, false), "d");
    switch (below(m, 6)) {
    case 5: { /* to a factor, or in front of it */
        Val *a = param(m, ty_ptr(m->c, m->e, false), "a");
        if (!a->type->is_const)
            ir_store(&m->b, ir_addptr(&m->b, a, pid),
                     ir_const_int(&m->b, ty_scalar(m->c, m->e), 3), NULL);
        break;
    }
    case 0: {
        Val *args[] = {ir_addptr(&m->b, d, pid), NULL};
        args[1] = number(m, E_I32, 1);
        ir_op(&m->b, OP_ATOMIC_RMW, 2, args, 1, &args[1]->type);
        break;
    }
    case 1: {
        Val *v = ir_load(&m->b, ir_addptr(&m->b, counts, pid), NULL, NULL);
        ir_set_attr(v->def, ATTR_VOLATILE, 1);
        ir_store(&m->b, ir_addptr(&m->b, d, pid), v, NULL);
        break;
    }
    default: { /* a block of its own */
        Val *i = range_of(m, M);
        Val *v = ir_load(&m->b, move(m, counts, i), NULL, NULL);
        ir_store(&m->b, move(m, d, calc(m, OP_ADD, pid, i)), v, NULL);
    }
    }
}

/* What has been stored is read again. */
static void
read_again(Make *m)
{
    const Block *b = m->f->body;
    Val *c = b->args[b->n_args - 1], *i = range_of(m, N);
    for (int k = 0; k < b->n_args; k++)
        if (!strcmp(b->args[k]->name, "c"))
            c = b->args[k];
    if (!c->type->is_ptr)
        return;
    Val *v = ir_load(&m->b, move(m, c, i), NULL, NULL);
    ir_store(&m->b, move(m, param(m, c->type, "e_c"), i), v, NULL);
}

/* The factor is used in another way, too. */
static void
use_again(Make *m, Val *v)
{
    Val *e = param(m, ty_ptr(m->c, v->type->elem, false), "e");
    int64_t step = 1;
    for (int d = v->type->rank - 1; d >= 0; step *= v->type->shape[d--]) {
        Val *i = as_dim(m, ir_arange(&m->b, 0, v->type->shape[d]), d, v->type->rank);
        e = move(m, e, calc_int(m, OP_MUL, i, step));
    }
    ir_store(&m->b, e, v, NULL);
}

/* ---- the loop ----------------------------------------------------------------------------- */

typedef struct Turns {
    Val *lb, *ub, *step;
    enum { NONE, BY_ELEMENTS, BY_BLOCKS, COUNTED, DOWN } kind;
} Turns;

static Turns
some_turns(Make *m)
{
    int way = below(m, 100), side = m->side[K];
    Turns t = {.kind = way < 15   ? NONE
                       : way < 52 ? BY_ELEMENTS
                       : way < 86 ? BY_BLOCKS
                       : way < 96 ? COUNTED
                                  : DOWN};
    if (t.kind == NONE)
        return t;
    Val *k = bound_of(m, K), *zero = number(m, k->type->elem, 0);
    Val *n = calc_int(m, OP_DIV, calc_int(m, OP_ADD, k, side - 1), side);
    t.lb = zero;
    t.ub = t.kind == BY_ELEMENTS ? k : n;
    t.step = number(m, k->type->elem, t.kind == BY_ELEMENTS ? side : 1);
    if (t.kind == DOWN) {
        t.ub = t.step = number(m, k->type->elem, -1);
        t.lb = calc(m, OP_ADD, n, t.step);
    } else if (chance(m, 6)) {
        t.lb = chance(m, 50)
                   ? t.step
                   : ir_cast(&m->b, asked(m, OP_PROGRAM_ID, 2), k->type->elem);
    }
    return t;
}

/* What a carried pointer goes on by. */
static Val *
step_of(Make *m, const Side *s)
{
    int side = m->side[K];
    Val *stride = s->stride[k_dim(s)];
    if (chance(m, 3))
        side += 8;
    return is_one(stride) ? number(m, E_I32, side) : calc_int(m, OP_MUL, stride, side);
}

static Val *
turn_start(Make *m, const Turns *t, Val *iv, Val *counter)
{
    return t->kind == BY_ELEMENTS ? iv
           : t->kind == COUNTED   ? counter
                                  : calc_int(m, OP_MUL, iv, m->side[K]);
}

static Val *
one_turn(Make *m, Way *a, Way *b, Val *at_k, Val *acc)
{
    Val *x = factor(m, a, at_k), *y = factor(m, b, at_k);
    if (chance(m, 4))
        use_again(m, x);
    if (chance(m, 2))
        disturb(m, asked(m, OP_PROGRAM_ID, 0));
    return product(m, x, y, acc);
}

static Val *
loop(Make *m, const Turns *t, Way *a, Way *b, Val *acc)
{
    Val *args[8] = {t->lb, t->ub, t->step, acc}, *out[8];
    Way *way[] = {a, b};
    int n = 4;
    for (int i = 0; i < 2; i++)
        if (way[i]->kind == CARRIED) {
            way[i]->index = n - 3;
            args[n++] = way[i]->p;
        }
    int counter = n - 3;
    if (t->kind == COUNTED)
        args[n++] = number(m, E_I32, chance(m, 80) ? 0 : m->side[K]);
    const Type *types[8];
    for (int i = 3; i < n; i++)
        types[i - 3] = args[i]->type;
    Op *o = ir_op(&m->b, OP_FOR, n, args, n - 3, types);
    Block *body = ir_block(m->f, o);
    Val *iv = ir_block_arg(body, t->lb->type, "k");
    for (int i = 0; i < n - 3; i++)
        ir_block_arg(body, types[i], NULL);
    Build outside = m->b;
    m->b = (Build){.f = m->f, .block = body};
    Val *last = body->args[1 + (t->kind == COUNTED ? counter : 0)];
    Val *at_k = turn_start(m, t, iv, last);
    for (int i = 0; i < 2; i++)
        if (way[i]->kind == CARRIED)
            way[i]->p = body->args[1 + way[i]->index];
    out[0] = one_turn(m, a, b, at_k, body->args[1]);
    for (int i = 0; i < 2; i++)
        if (way[i]->kind == CARRIED)
            out[way[i]->index] = move(m, way[i]->p, step_of(m, &way[i]->side));
    if (a->kind == CARRIED && b->kind == CARRIED && a->p->type == b->p->type &&
        chance(m, 6)) {
        Val *turned = out[a->index];
        out[a->index] = out[b->index], out[b->index] = turned;
    }
    if (t->kind == COUNTED)
        out[counter] = calc_int(m, OP_ADD, last, m->side[K]);
    ir_op(&m->b, OP_YIELD, n - 3, out, 0, NULL);
    m->b = outside;
    return result(o, 0);
}

/* All turns of the loop, or the one. */
static Val *
products(Make *m, Val *acc)
{
    Turns t = some_turns(m);
    Way a = some_way(m, 'a', t.kind != NONE), b = some_way(m, 'b', t.kind != NONE);
    if (t.kind != NONE)
        return loop(m, &t, &a, &b, acc);
    return one_turn(m, &a, &b, chance(m, 80) ? NULL : scalar_param(m, "shift"), acc);
}

/* The loop in a loop. */
static Val *
nest(Make *m, Val *acc)
{
    Val *args[] = {NULL, NULL, NULL, acc};
    args[0] = number(m, E_I32, chance(m, 80) ? 0 : below(m, 3) - 1);
    args[1] = ir_cast(&m->b, scalar_param(m, "width"), E_I32);
    args[2] = number(m, E_I32, 1);
    Op *o = ir_op(&m->b, OP_FOR, 4, args, 1, &acc->type);
    Block *body = ir_block(m->f, o);
    m->outer = ir_block_arg(body, args[0]->type, "z");
    ir_block_arg(body, acc->type, NULL);
    Build outside = m->b;
    m->b = (Build){.f = m->f, .block = body};
    Val *out = products(m, body->args[1]);
    ir_op(&m->b, OP_YIELD, 1, &out, 0, NULL);
    m->b = outside;
    m->outer = NULL;
    return result(o, 0);
}

static void
store(Make *m, Val *acc)
{
    Side s = some_side(m, 'c', M, N);
    Val *v = ir_cast(&m->b, acc, s.e);
    if (chance(m, 10) && is_one(s.stride[s.rank - 1])) {
        by_descriptor(m, &s, s.start, v);
        return;
    }
    Val *p = pointers(m, &s);
    ir_store(&m->b, p, v, whole(m, &s, some_mask(m, &s, s.start)));
}

/* ---- the kernel ------------------------------------------------------------------------- */

static Elem
some_elem(Make *m)
{
    static const Elem all[] = {E_F16, E_F16, E_F16, E_F16, E_BF16, E_BF16,   E_F32,
                               E_F32, E_F32, E_I8,  E_I8,  E_F64,  E_F8E4M3, E_F8E5M2};
    return all[below(m, COUNT(all))];
}

static void
some_sides(Make *m)
{
    int least = MAX(16 / elem_info[m->e].bytes, 8); /* of a row that copies take */
    static const int side[] = {8, 8, 8, 8, 8, 8, 16, 16, 32};
    for (int i = 0; i < Z; i++)
        m->side[i] = MAX(side[below(m, COUNT(side))], least);
    m->side[Z] = 2;
}

Func *
random_product(Comp *c, uint64_t seed)
{
    Make m = {.c = c, .rng = seed};
    m.f = ir_func(c, "product", NULL);
    m.b = (Build){.f = m.f, .block = m.f->body};
    m.e = some_elem(&m);
    m.is_deep = chance(&m, 8);
    some_sides(&m);
    for (int axis = 0; axis < N_AXES; axis++)
        if (axis != K && (axis != Z || m.is_deep))
            m.start[axis] = some_start(&m, axis);
    if (chance(&m, 2))
        disturb(&m, asked(&m, OP_PROGRAM_ID, 0));
    int32_t shape[3] = {m.side[Z], m.side[M], m.side[N]};
    Elem to = elem_is_int(m.e) ? E_I32 : m.e == E_F64 ? E_F64 : E_F32;
    const Type *type = ty_block(c, ty_scalar(c, to), 2 + m.is_deep, shape + !m.is_deep);
    Val *acc = ir_const_bits(&m.b, type, 0);
    acc = (chance(&m, 12) ? nest : products)(&m, acc);
    store(&m, acc);
    if (chance(&m, 3))
        read_again(&m);
    if (chance(&m, 2))
        disturb(&m, asked(&m, OP_PROGRAM_ID, 0));
    ir_op(&m.b, OP_RETURN, 0, NULL, 0, NULL);
    m.f->n_facts = m.f->body->n_args;
    m.f->facts = NEW_N(c->arena, ArgFacts, m.f->n_facts);
    return m.f;
}
