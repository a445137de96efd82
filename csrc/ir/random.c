/* random: functions nobody would write, for tests of everything that reads tile IR.
 *
 * What comes out is valid, ends, stays inside of its buffers and has one right answer:
 *
 *     loads       only from buffers that are never stored to, at indices & (n - 1)
 *     stores      each op has a buffer and gives every element an address of its own
 *     atomics     integer add, result unused, to a buffer nobody reads
 *     loops       over small ranges; while loops count
 *     division    by something odd and positive
 *     floats      ops that are rounded the same everywhere; sums (dot) of whole
 *                 numbers; nothing that shows the bits of a NaN. `approximate` adds exp
 *                 and friends, which targets compute to a bound.
 *
 * The generator keeps a pool of values in scope and draws operands from it by type;
 * what is missing is made: by a cast, a splat, a load or a constant.
 *
 * Long because it is one table, too: a maker for every kind of op, static, and their
 * weights at the end.
 */
#include "ir/ir.h"

enum {
    MAX_NEST = 3, /* regions inside of each other */
    MAX_CARRIED = 3,
    LIMIT = 5, /* value of the parameter of that name */
    DIV_ALL = FACT_DIV2 | FACT_DIV4 | FACT_DIV8 | FACT_DIV16,
};

typedef struct Shape {
    int rank;
    int32_t n[MAX_RANK];
} Shape;

static const Shape shapes[] = {
    {0, {0}},     {1, {32}},     {1, {64}},      {1, {256}},
    {1, {1}},     {2, {16, 16}}, {2, {4, 16}},   {2, {8, 2}},
    {2, {1, 64}}, {2, {32, 1}},  {3, {2, 4, 8}}, {3, {4, 1, 2}},
    {1, {1024}},  {2, {64, 32}}, {2, {8, 128}},  {3, {2, 16, 32}},
};
enum { N_SMALL = 12 }; /* shapes of functions with small buffers come first */

/* Of the values in random functions; f8 types have no arithmetic of their own. */
static const Elem elems[] = {
    E_I1,  E_I8,  E_I16, E_I32, E_I32,  E_I32, E_I64, E_U8,
    E_U16, E_U32, E_U64, E_F16, E_BF16, E_F32, E_F32, E_F64,
};

typedef struct Gen {
    Comp *c;
    Func *f;
    Build b;
    const RandomSpec *spec;
    uint64_t rng;
    VEC(Val *) pool;    /* in scope */
    Val *input[N_ELEM]; /* parameter, a buffer to load from; NULL: not made yet */
    Val *sums;          /* parameter, the buffer of atomics */
    Val *limit;         /* parameter, LIMIT */
    Val *stride;        /* parameter, of the rows of matrices to load */
    int n_buffer;       /* elements of a buffer, and the most of a block */
    int n_shapes;
    int left; /* ops to make */
    int depth;
    Shape home[3]; /* shapes this function likes */
} Gen;

static void grow(Gen *g, int n);

/* ---- chance --------------------------------------------------------------------- */

static uint64_t
draw(Gen *g)
{
    uint64_t x = g->rng += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static int
below(Gen *g, int n)
{
    return (int)(draw(g) % (uint64_t)n);
}

static bool
chance(Gen *g, int percent)
{
    return below(g, 100) < percent;
}

static Elem
some_elem(Gen *g)
{
    return elems[below(g, COUNT(elems))];
}

static Shape
some_shape(Gen *g)
{
    return chance(g, 80) ? g->home[below(g, COUNT(g->home))]
                         : shapes[below(g, g->n_shapes)];
}

static const Type *
type_of(Gen *g, Elem e, Shape s)
{
    return ty_block(g->c, ty_scalar(g->c, e), s.rank, s.n);
}

static Shape
shape_of(const Val *v)
{
    Shape s = {v->type->rank, {0}};
    memcpy(s.n, v->type->shape, sizeof s.n);
    return s;
}

/* Every fourth function has large blocks. */
static bool
is_large(uint64_t seed)
{
    return seed % 4 == 3;
}

static int
buffer_size(uint64_t seed)
{
    return is_large(seed) ? 2048 : 256;
}

static int
stride_of(uint64_t seed)
{
    return is_large(seed) ? 32 : 16;
}

/* ---- values --------------------------------------------------------------------- */

static Val *
keep(Gen *g, Val *v)
{
    PUSH(g->c->arena, &g->pool, v);
    return v;
}

static Val *
constant(Gen *g, const Type *t)
{
    if (elem_is_float(t->elem) && chance(g, 30)) {
        static const double odd[] = {0.0, -0.0, 0.5, -1.5, 1e-3, 3e4, 1e30, -1e-30};
        return ir_const_float(&g->b, t, odd[below(g, COUNT(odd))]);
    }
    if (chance(g, 20) && elem_is_int(t->elem))
        return ir_const_bits(&g->b, t, draw(g));
    return ir_const_int(&g->b, t, below(g, 19) - 9);
}

/* Any value of the shape and element type from the pool; NULL: none. */
static Val *
pooled(Gen *g, const Type *t)
{
    int n = 0;
    Val *found = NULL;
    for (int i = 0; i < g->pool.n; i++)
        if (g->pool.at[i]->type == t && below(g, ++n) == 0)
            found = g->pool.at[i];
    return found;
}

static Val *
pooled_shape(Gen *g, Shape s)
{
    int n = 0;
    Val *found = NULL;
    const Type *like = type_of(g, E_I32, s);
    for (int i = 0; i < g->pool.n; i++)
        if (!g->pool.at[i]->type->is_ptr && ty_same_shape(g->pool.at[i]->type, like) &&
            below(g, ++n) == 0)
            found = g->pool.at[i];
    return found;
}

static Val *
splat_int(Gen *g, Elem e, Shape s, int64_t v)
{
    return ir_const_int(&g->b, type_of(g, e, s), v);
}

static Val *
parameter(Gen *g, const Type *t, const char *name)
{
    return ir_param(g->f, t, name, g->f->body->n_args);
}

static Val *
with_shape(Gen *g, OpCode op, int n_args, Val *const *args, Shape s)
{
    const Type *t = ty_with_shape(g->c, args[0]->type, s.rank, s.n);
    return result(ir_op(&g->b, op, n_args, args, 1, &t), 0);
}

static Val *
pointers(Gen *g, Val *base, Val *index)
{
    Shape s = shape_of(index);
    return ir_addptr(&g->b, ir_splat(&g->b, base, s.rank, s.n), index);
}

/* An index of every element of its own: its place in row-major order, behind those
 * of the programs before. */
static Val *
own_index(Gen *g, Shape s)
{
    int32_t n = (int32_t)ty_numel(type_of(g, E_I32, s));
    const Type *t = ty_scalar(g->c, E_I32);
    Val *pid = result(ir_op(&g->b, OP_PROGRAM_ID, 0, NULL, 1, &t), 0);
    Val *base = ir_bin(&g->b, OP_MUL, pid, ir_const_int(&g->b, t, g->n_buffer));
    if (!s.rank)
        return base;
    Val *i = ir_arange(&g->b, 0, n);
    if (s.rank > 1)
        i = with_shape(g, OP_RESHAPE, 1, &i, s);
    return ir_bin(&g->b, OP_ADD, ir_splat(&g->b, base, s.rank, s.n), i);
}

/* The buffer to load elements e from. */
static Val *
input(Gen *g, Elem e)
{
    if (!g->input[e])
        g->input[e] = parameter(g, ty_ptr(g->c, e, chance(g, 50)),
                                str_printf(g->c->arena, "in_%s", elem_info[e].text));
    return g->input[e];
}

/* What the lanes of this program find there. */
static Val *
loaded(Gen *g, Elem e, Shape s)
{
    Val *i = own_index(g, s);
    i = ir_bin(&g->b, OP_AND, i, splat_int(g, E_I32, s, g->n_buffer - 1));
    return ir_load(&g->b, pointers(g, input(g, e), i), NULL, NULL);
}

/* A value of this type: from the pool, or made of what is there. */
static Val *
some(Gen *g, Elem e, Shape s)
{
    const Type *t = type_of(g, e, s);
    Val *v = chance(g, 85) ? pooled(g, t) : NULL;
    if (v)
        return v;
    Val *like = chance(g, 60) ? pooled_shape(g, s) : NULL;
    if (like && like->type != t)
        return keep(g, ir_cast(&g->b, like, e));
    Val *scalar = chance(g, 30) && s.rank ? pooled(g, ty_scalar(g->c, e)) : NULL;
    if (scalar)
        return keep(g, ir_splat(&g->b, scalar, s.rank, s.n));
    return keep(g, chance(g, 65) ? loaded(g, e, s) : constant(g, t));
}

/* Small whole numbers of a type that holds them: sums of 16 products stay exact. */
static Val *
small(Gen *g, Elem e, Shape s)
{
    Val *v = ir_bin(&g->b, OP_AND, some(g, E_I8, s), splat_int(g, E_I8, s, 7));
    return ir_cast(&g->b, v, e);
}

/* ---- elementwise ---------------------------------------------------------------- */

static void
make_binary(Gen *g)
{
    static const OpCode ints[] = {OP_ADD,    OP_SUB, OP_MUL, OP_MIN, OP_MAX,
                                  OP_UMULHI, OP_AND, OP_OR,  OP_XOR, OP_SHL,
                                  OP_SHR,    OP_DIV, OP_REM};
    static const OpCode floats[] = {OP_ADD, OP_SUB,    OP_MUL,    OP_MIN,
                                    OP_MAX, OP_MINNAN, OP_MAXNAN, OP_DIV_RN};
    Elem e = some_elem(g);
    Shape s = some_shape(g);
    Val *x = some(g, e, s), *y = some(g, e, s);
    OpCode op = elem_is_float(e) ? floats[below(g, COUNT(floats))]
                                 : ints[below(g, COUNT(ints))];
    if (op == OP_DIV || op == OP_REM) {
        y = ir_bin(&g->b, OP_AND, y, splat_int(g, e, s, 7));
        y = ir_bin(&g->b, OP_OR, y, splat_int(g, e, s, 1));
    }
    keep(g, ir_bin(&g->b, op, x, y));
}

static void
make_unary(Gen *g)
{
    static const OpCode exact[] = {OP_SQRT_RN, OP_FLOOR, OP_CEIL};
    static const OpCode bounded[] = {OP_EXP, OP_EXP2, OP_LOG, OP_LOG2, OP_SIN,
                                     OP_COS, OP_TANH, OP_ERF, OP_SQRT, OP_RSQRT};
    Elem e = some_elem(g);
    bool wide = e == E_F32 || e == E_F64;
    OpCode op = chance(g, 50) ? OP_NEG : OP_ABS;
    if (wide && chance(g, 60))
        op = exact[below(g, COUNT(exact))];
    if (wide && g->spec->approximate && chance(g, 50))
        op = bounded[below(g, COUNT(bounded))];
    keep(g, ir_un(&g->b, op, some(g, e, some_shape(g))));
}

static void
make_compare(Gen *g)
{
    Elem e = some_elem(g);
    Shape s = some_shape(g);
    Val *x = some(g, e, s), *y = some(g, e, s);
    keep(g, ir_bin(&g->b, (OpCode)(OP_EQ + below(g, OP_GE - OP_EQ + 1)), x, y));
}

static void
make_select(Gen *g)
{
    Elem e = some_elem(g);
    Shape s = some_shape(g);
    Val *cond = some(g, E_I1, s), *x = some(g, e, s), *y = some(g, e, s);
    keep(g, ir_select(&g->b, cond, x, y));
}

static void
make_cast(Gen *g)
{
    Shape s = some_shape(g);
    Val *x = some(g, some_elem(g), s);
    Elem to = some_elem(g), from = x->type->elem;
    bool same_bits = elem_info[from].bits == elem_info[to].bits;
    if (same_bits && from != to && elem_is_int(from) && elem_is_int(to) &&
        chance(g, 50)) {
        keep(g, ir_bitcast(&g->b, x, type_of(g, to, s)));
        return;
    }
    Val *v = keep(g, ir_cast(&g->b, x, to));
    if (elem_is_float(from) && elem_is_float(to) &&
        elem_info[to].bits < elem_info[from].bits && chance(g, 20))
        ir_set_attr(v->def, ATTR_ROUNDING, ROUND_RTZ);
}

static void
make_fma(Gen *g)
{
    Elem e = chance(g, 70) ? E_F32 : E_F64;
    Shape s = some_shape(g);
    Val *args[] = {some(g, e, s), some(g, e, s), some(g, e, s)};
    keep(g, result(ir_op(&g->b, OP_FMA, 3, args, 1, &args[0]->type), 0));
}

/* ---- shapes --------------------------------------------------------------------- */

static Val *
block_of(Gen *g)
{
    Shape s = some_shape(g);
    while (!s.rank)
        s = shapes[below(g, g->n_shapes)];
    return some(g, some_elem(g), s);
}

static void
make_reshape(Gen *g)
{
    Val *x = block_of(g);
    Shape s = shapes[below(g, g->n_shapes)];
    int64_t n = ty_numel(x->type);
    for (int i = 0; i < 20 && ty_numel(type_of(g, E_I32, s)) != n; i++)
        s = shapes[below(g, g->n_shapes)];
    if (ty_numel(type_of(g, E_I32, s)) == n)
        keep(g, with_shape(g, OP_RESHAPE, 1, &x, s));
}

static void
make_trans(Gen *g)
{
    Val *x = block_of(g);
    Shape s = shape_of(x), to = s;
    int perm[MAX_RANK];
    int64_t packed = 0;
    for (int i = 0; i < s.rank; i++)
        perm[i] = i;
    for (int i = s.rank - 1; i >= 0; i--) {
        int k = below(g, i + 1), d = perm[k];
        perm[k] = perm[i];
        packed |= (int64_t)d << (4 * i);
        to.n[i] = s.n[d];
    }
    ir_set_attr(keep(g, with_shape(g, OP_TRANS, 1, &x, to))->def, ATTR_PERM, packed);
}

static void
make_broadcast(Gen *g)
{
    Val *x = block_of(g);
    if (x->type->rank < 3)
        x = keep(g, ir_expand(&g->b, x, below(g, x->type->rank + 1)));
    Shape s = shape_of(x);
    int64_t numel = ty_numel(x->type);
    for (int d = 0; d < s.rank; d++)
        if (s.n[d] == 1 && numel * 4 <= g->n_buffer) {
            s.n[d] = 4;
            numel *= 4;
        }
    keep(g, ir_broadcast(&g->b, x, s.rank, s.n));
}

static void
make_join_split(Gen *g)
{
    Val *x = block_of(g);
    Shape s = shape_of(x);
    if (chance(g, 30) && s.rank == 1 && s.n[0] < g->n_buffer) {
        s.n[0] *= 2;
        keep(g, with_shape(g, OP_CAT, 2,
                           (Val *[]){x, some(g, x->type->elem, shape_of(x))}, s));
    } else if (s.rank > 1 && s.n[s.rank - 1] == 2) {
        const Type *t = ty_with_shape(g->c, x->type, s.rank - 1, s.n);
        Op *o = ir_op(&g->b, OP_SPLIT, 1, &x, 2, (const Type *[]){t, t});
        keep(g, result(o, 0));
        keep(g, result(o, 1));
    } else if (ty_numel(x->type) < g->n_buffer && s.rank < 4) {
        s.n[s.rank++] = 2;
        keep(g, with_shape(g, OP_JOIN, 2,
                           (Val *[]){x, some(g, x->type->elem, shape_of(x))}, s));
    }
}

static void
make_source(Gen *g)
{
    int n = 1 << below(g, 9);
    switch (below(g, 3)) {
    case 0: keep(g, ir_arange(&g->b, 0, n)); break;
    case 1: keep(g, constant(g, type_of(g, some_elem(g), some_shape(g)))); break;
    default: {
        const Type *t = ty_scalar(g->c, E_I32);
        OpCode op = chance(g, 70) ? OP_PROGRAM_ID : OP_NUM_PROGRAMS;
        ir_set_attr(keep(g, result(ir_op(&g->b, op, 0, NULL, 1, &t), 0))->def,
                    ATTR_AXIS, below(g, 3));
    }
    }
}

/* ---- across elements ------------------------------------------------------------ */

static OpCode
combining_op(Gen *g, Elem e)
{
    static const OpCode ops[] = {OP_MAX, OP_MIN, OP_ADD, OP_XOR, OP_AND, OP_OR};
    return ops[below(g, elem_is_float(e) ? 2 : (int)COUNT(ops))];
}

/* The largest (or smallest) with its index, the smaller index on ties. */
static void
combine_with_index(Gen *g, Block *r)
{
    OpCode cmp = chance(g, 50) ? OP_GT : OP_LT;
    Val **v = r->args;
    Val *wins = ir_bin(&g->b, cmp, v[2], v[0]), *eq = ir_bin(&g->b, OP_EQ, v[2], v[0]);
    Val *first = ir_bin(&g->b, OP_AND, eq, ir_bin(&g->b, OP_LT, v[3], v[1]));
    wins = ir_bin(&g->b, OP_OR, wins, first);
    Val *out[] = {ir_select(&g->b, wins, v[2], v[0]),
                  ir_select(&g->b, wins, v[3], v[1])};
    ir_op(&g->b, OP_YIELD, 2, out, 0, NULL);
}

static void
make_reduce(Gen *g)
{
    Val *x = block_of(g), *args[2] = {x, NULL};
    Elem e = x->type->elem;
    int n = 1, axis = below(g, x->type->rank);
    bool scans = chance(g, 30);
    if (!scans && elem_is_int(e) && chance(g, 30)) {
        Shape s = shape_of(x), line = {1, {s.n[axis]}};
        Val *i = ir_arange(&g->b, 0, line.n[0]);
        for (int d = 0; d < s.rank; d++)
            if (d != axis)
                i = ir_expand(&g->b, i, d);
        args[n++] = ir_broadcast(&g->b, i, s.rank, s.n);
    }
    const Type *types[2];
    Shape to = shape_of(x);
    for (int d = axis; d + 1 < to.rank; d++)
        to.n[d] = to.n[d + 1];
    to.rank--;
    for (int i = 0; i < n; i++)
        types[i] = scans ? args[i]->type
                         : ty_with_shape(g->c, args[i]->type, to.rank, to.n);
    Op *o = ir_op(&g->b, scans ? OP_SCAN : OP_REDUCE, n, args, n, types);
    ir_set_attr(o, ATTR_AXIS, axis);
    if (scans)
        ir_set_attr(o, ATTR_REVERSE, below(g, 2));
    Block *r = ir_block(g->f, o);
    for (int i = 0; i < 2 * n; i++)
        ir_block_arg(r, ty_element(g->c, args[i % n]->type), NULL);
    Build outer = g->b;
    g->b = (Build){.f = g->f, .block = r};
    if (n == 2) {
        combine_with_index(g, r);
    } else {
        Val *v = ir_bin(&g->b, combining_op(g, e), r->args[0], r->args[1]);
        ir_op(&g->b, OP_YIELD, 1, &v, 0, NULL);
    }
    g->b = outer;
    for (int i = 0; i < n; i++)
        keep(g, result(o, i));
}

static void
make_dot(Gen *g)
{
    static const struct {
        Elem in, out;
    } kind[] = {
        {E_I8, E_I32},  {E_F16, E_F32}, {E_BF16, E_F32},
        {E_F32, E_F32}, {E_F64, E_F64}, {E_F16, E_F16},
    };
    static const int sizes[][3] = {
        {16, 16, 16}, {16, 8, 32}, {32, 16, 16}, {64, 32, 32}};
    int k = below(g, COUNT(kind));
    const int *n = sizes[below(g, is_large(g->spec->seed) ? 4 : 2)];
    Shape sa = {2, {n[0], n[2]}}, sb = {2, {n[2], n[1]}}, sc = {2, {n[0], n[1]}};
    if (chance(g, 20) && !is_large(g->spec->seed)) { /* a batch of two */
        sa = sb = sc = (Shape){3, {2, 16, 16}};
    }
    Val *args[] = {small(g, kind[k].in, sa), small(g, kind[k].in, sb),
                   small(g, kind[k].out, sc)};
    Op *o = ir_op(&g->b, OP_DOT, 3, args, 1, &args[2]->type);
    ir_set_attr(o, ATTR_PRECISION, PREC_IEEE);
    keep(g, result(o, 0));
}

static void
make_gather(Gen *g)
{
    Val *x = block_of(g);
    Shape s = shape_of(x);
    int axis = below(g, s.rank);
    Val *i = some(g, E_I32, s);
    i = ir_bin(&g->b, OP_AND, i, splat_int(g, E_I32, s, s.n[axis] - 1));
    Op *o = ir_op(&g->b, OP_GATHER, 2, (Val *[]){x, i}, 1, &x->type);
    ir_set_attr(o, ATTR_AXIS, axis);
    keep(g, result(o, 0));
}

static void
make_histogram(Gen *g)
{
    int32_t bins = 1 << below(g, 7);
    Shape s = {1, {64}};
    Val *args[] = {some(g, E_I32, s), some(g, E_I1, s)};
    args[0] = ir_bin(&g->b, OP_AND, args[0], splat_int(g, E_I32, s, bins - 1));
    const Type *t = ty_block(g->c, ty_scalar(g->c, E_I32), 1, &bins);
    Op *o = ir_op(&g->b, OP_HISTOGRAM, 1 + below(g, 2), args, 1, &t);
    ir_set_attr(o, ATTR_BINS, bins);
    keep(g, result(o, 0));
}

/* ---- memory --------------------------------------------------------------------- */

static void
make_load(Gen *g)
{
    static const Elem f8[] = {E_F8E4M3, E_F8E5M2};
    Elem e = chance(g, 5) ? f8[below(g, 2)] : some_elem(g);
    Shape s = some_shape(g);
    Val *i = some(g, E_I32, s);
    if (chance(g, 50) && s.rank)
        i = own_index(g, s);
    i = ir_bin(&g->b, OP_AND, i, splat_int(g, E_I32, s, g->n_buffer - 1));
    Val *mask = chance(g, 40) ? some(g, E_I1, s) : NULL;
    bool has_other = mask && elem_info[e].bits != 8 && chance(g, 50);
    Val *other = has_other ? some(g, e, s) : NULL;
    Val *v = ir_load(&g->b, pointers(g, input(g, e), i), mask, other);
    keep(g, elem_is_float(e) && elem_info[e].bits == 8 ? ir_cast(&g->b, v, E_F32) : v);
}

/* A matrix as kernels load one: rows times a stride, columns one after another, and a
 * mask of both where there is one. */
static void
make_load_matrix(Gen *g)
{
    Shape s = some_shape(g);
    int stride = stride_of(g->spec->seed);
    for (int i = 0; i < 20 && s.rank != 2; i++)
        s = shapes[below(g, g->n_shapes)];
    if (s.rank != 2 || (s.n[0] - 1) * stride + s.n[1] > g->n_buffer)
        return;
    Build *b = &g->b;
    Elem e = some_elem(g);
    Val *row = ir_expand(b, ir_arange(b, 0, s.n[0]), 1), *limit = g->limit;
    Val *col = ir_expand(b, ir_arange(b, 0, s.n[1]), 0);
    Val *p = ir_splat(b, input(g, e), 2, row->type->shape);
    p = ir_addptr(b, p,
                  ir_bin(b, OP_MUL, row, ir_splat(b, g->stride, 2, row->type->shape)));
    p = ir_addptr(b, ir_broadcast(b, p, 2, s.n), ir_broadcast(b, col, 2, s.n));
    Val *mask = NULL;
    if (chance(g, 60)) {
        Val *in_rows = ir_bin(b, OP_LT, row, ir_splat(b, limit, 2, row->type->shape));
        Val *in_cols = ir_bin(b, OP_LT, col, ir_splat(b, limit, 2, col->type->shape));
        mask = ir_bin(b, OP_AND, ir_broadcast(b, in_rows, 2, s.n),
                      ir_broadcast(b, in_cols, 2, s.n));
    }
    keep(g, ir_load(b, p, mask, mask && chance(g, 50) ? some(g, e, s) : NULL));
}

/* for (i = 0; i < limit; i++) acc = op(acc, load(p)), p += step; */
static void
make_load_loop(Gen *g)
{
    Shape s = some_shape(g);
    Elem e = some_elem(g);
    const Type *i32 = ty_scalar(g->c, E_I32);
    int step = 1 << below(g, 4);
    Val *i = own_index(g, s);
    i = ir_bin(&g->b, OP_AND, i, splat_int(g, E_I32, s, g->n_buffer / 2 - 1));
    Val *args[] = {ir_const_int(&g->b, i32, 0), g->limit, ir_const_int(&g->b, i32, 1),
                   some(g, e, s), pointers(g, input(g, e), i)};
    const Type *types[] = {args[3]->type, args[4]->type};
    Op *o = ir_op(&g->b, OP_FOR, 5, args, 2, types);
    if (chance(g, 30))
        ir_set_attr(o, ATTR_STAGES, 2 + below(g, 3));
    Block *body = ir_block(g->f, o);
    ir_block_arg(body, i32, "i");
    Val *acc = ir_block_arg(body, types[0], "acc"),
        *p = ir_block_arg(body, types[1], "p");
    Build b = {.f = g->f, .block = body};
    OpCode op = elem_is_float(e) ? OP_MAX : chance(g, 50) ? OP_ADD : OP_XOR;
    Val *out[] = {ir_bin(&b, op, acc, ir_load(&b, p, NULL, NULL)),
                  ir_addptr(&b, p, ir_const_int(&b, type_of(g, E_I32, s), step))};
    ir_op(&b, OP_YIELD, 2, out, 0, NULL);
    keep(g, result(o, 0));
}

static void
store_value(Gen *g, Val *v)
{
    if (ty_numel(v->type) > g->n_buffer)
        return;
    int n = g->f->body->n_args;
    Val *out = parameter(g, ty_ptr(g->c, v->type->elem, false),
                         str_printf(g->c->arena, "out%d", n));
    Shape s = shape_of(v);
    Val *mask = chance(g, 30) ? some(g, E_I1, s) : NULL;
    ir_store(&g->b, pointers(g, out, own_index(g, s)), v, mask);
}

static void
make_store(Gen *g)
{
    Val *v = some(g, some_elem(g), some_shape(g));
    if (elem_is_float(v->type->elem) && chance(g, 20))
        v = ir_cast(&g->b, v, chance(g, 50) ? E_F8E4M3 : E_F8E5M2);
    store_value(g, v);
}

static void
make_atomic(Gen *g)
{
    if (!g->sums)
        g->sums = parameter(g, ty_ptr(g->c, E_I32, false), "sums");
    Shape s = some_shape(g);
    Val *i = some(g, E_I32, s);
    i = ir_bin(&g->b, OP_AND, i, splat_int(g, E_I32, s, g->n_buffer - 1));
    Val *args[] = {pointers(g, g->sums, i), some(g, E_I32, s), some(g, E_I1, s)};
    const Type *t = type_of(g, E_I32, s);
    ir_op(&g->b, OP_ATOMIC_RMW, 2 + below(g, 2), args, 1, &t);
}

/* ---- control -------------------------------------------------------------------- */

/* Fills the block with a few ops and ends it with `op` of values of the given types;
 * lead: further operands in front, may be NULL. */
static void
fill(Gen *g, Block *b, OpCode op, Val *lead, int n, const Type *const *types)
{
    Build outer = g->b;
    int scope = g->pool.n;
    g->b = (Build){.f = g->f, .block = b};
    for (int i = 0; i < b->n_args; i++)
        keep(g, b->args[i]);
    g->depth++;
    grow(g, 1 + below(g, 6));
    g->depth--;
    Val *out[MAX_CARRIED + 1];
    int k = 0;
    if (lead)
        out[k++] = lead;
    for (int i = 0; i < n; i++) {
        Shape s = {types[i]->rank, {0}};
        memcpy(s.n, types[i]->shape, sizeof s.n);
        out[k++] = some(g, types[i]->elem, s);
    }
    ir_op(&g->b, op, k, out, 0, NULL);
    g->b = outer;
    g->pool.n = scope;
}

static int
some_types(Gen *g, const Type **types, Val **values)
{
    int n = below(g, MAX_CARRIED);
    for (int i = 0; i < n; i++) {
        values[i] = some(g, some_elem(g), some_shape(g));
        types[i] = values[i]->type;
    }
    return n;
}

static void
keep_results(Gen *g, const Op *o)
{
    for (int i = 0; i < o->n_results; i++)
        keep(g, result(o, i));
}

static void
make_if(Gen *g)
{
    const Type *types[MAX_CARRIED];
    Val *values[MAX_CARRIED], *cond = some(g, E_I1, shapes[0]);
    int n = some_types(g, types, values);
    Op *o = ir_op(&g->b, OP_IF, 1, &cond, n, types);
    for (int i = 0; i < (n || chance(g, 50) ? 2 : 1); i++)
        fill(g, ir_block(g->f, o), OP_YIELD, NULL, n, types);
    keep_results(g, o);
}

static void
make_for(Gen *g)
{
    const Type *types[MAX_CARRIED];
    Val *args[3 + MAX_CARRIED];
    Elem e = chance(g, 80) ? E_I32 : chance(g, 50) ? E_I64 : E_U32;
    const Type *t = ty_scalar(g->c, e);
    int step = 1 + below(g, 3), lb = below(g, 4);
    bool down = elem_is_signed(e) && chance(g, 20);
    args[0] = ir_const_int(&g->b, t, down ? lb + 4 : lb);
    args[1] = !down && e == E_I32 && chance(g, 50)
                  ? g->limit
                  : ir_const_int(&g->b, t, down ? lb : lb + 4);
    args[2] = ir_const_int(&g->b, t, down ? -step : step);
    int n = some_types(g, types, args + 3);
    Op *o = ir_op(&g->b, OP_FOR, 3 + n, args, n, types);
    if (chance(g, 30))
        ir_set_attr(o, ATTR_UNROLL, 2 + below(g, 4));
    Block *b = ir_block(g->f, o);
    ir_block_arg(b, t, "i");
    for (int i = 0; i < n; i++)
        ir_block_arg(b, types[i], NULL);
    fill(g, b, OP_YIELD, NULL, n, types);
    keep_results(g, o);
}

/* Counts its first value up to a limit below 4; the others change as they like. */
static void
make_while(Gen *g)
{
    const Type *i32 = ty_scalar(g->c, E_I32), *types[1 + MAX_CARRIED] = {i32};
    Val *args[1 + MAX_CARRIED] = {ir_const_int(&g->b, i32, 0)};
    int n = 1 + some_types(g, types + 1, args + 1);
    Op *o = ir_op(&g->b, OP_WHILE, n, args, n, types);
    Build outer = g->b;
    for (int r = 0; r < 2; r++) {
        Block *b = ir_block(g->f, o);
        for (int i = 0; i < n; i++)
            ir_block_arg(b, types[i], NULL);
        g->b = (Build){.f = g->f, .block = b};
        if (r == 0) {
            Val *go = ir_bin(&g->b, OP_LT, b->args[0],
                             ir_const_int(&g->b, i32, below(g, 4)));
            Val *out[2 + MAX_CARRIED] = {go};
            memcpy(out + 1, b->args, (size_t)n * sizeof(Val *));
            ir_op(&g->b, OP_CONDITION, 1 + n, out, 0, NULL);
        } else {
            Val *next = ir_bin(&g->b, OP_ADD, b->args[0], ir_const_int(&g->b, i32, 1));
            fill(g, b, OP_YIELD, next, n - 1, types + 1);
        }
    }
    g->b = outer;
    keep_results(g, o);
}

/* ---- the function --------------------------------------------------------------- */

typedef struct Maker {
    void (*make)(Gen *g);
    int weight;
    bool nests;
} Maker;

static const Maker makers[] = {
    {make_binary, 30, false},   {make_unary, 8, false},
    {make_compare, 8, false},   {make_select, 8, false},
    {make_cast, 10, false},     {make_fma, 3, false},
    {make_reshape, 4, false},   {make_trans, 4, false},
    {make_broadcast, 5, false}, {make_join_split, 4, false},
    {make_source, 5, false},    {make_reduce, 6, false},
    {make_dot, 2, false},       {make_gather, 2, false},
    {make_histogram, 1, false}, {make_load_matrix, 3, false},
    {make_load_loop, 3, false}, {make_load, 10, false},
    {make_store, 3, false},     {make_atomic, 2, false},
    {make_if, 3, true},         {make_for, 3, true},
    {make_while, 1, true},
};

/* Up to n more ops (and what they need) at g->b. */
static void
grow(Gen *g, int n)
{
    int total = 0;
    for (size_t i = 0; i < COUNT(makers); i++)
        total += makers[i].weight;
    for (; n > 0 && g->left > 0; n--) {
        int pick = below(g, total);
        const Maker *m = makers;
        for (; pick >= m->weight; m++)
            pick -= m->weight;
        if (m->nests && g->depth == MAX_NEST)
            m = makers;
        g->left--;
        m->make(g);
    }
}

/* Some of what is true of the arguments. tirc gives a buffer no better alignment than the
 * facts say. */
static void
add_facts(Gen *g)
{
    Func *f = g->f;
    f->n_facts = f->body->n_args;
    f->facts = NEW_N(g->c->arena, ArgFacts, f->n_facts);
    for (int i = 0; i < f->n_facts; i++) {
        const Val *v = f->body->args[i];
        if (chance(g, 40))
            continue;
        if (v->type->is_ptr || v == g->stride)
            f->facts[i].truth = DIV_ALL;
        else if (v->name && !strcmp(v->name, "unit"))
            f->facts[i].truth = FACT_EQ1;
    }
}

Func *
ir_random(Comp *c, const RandomSpec *spec)
{
    Gen g = {.c = c,
             .spec = spec,
             .rng = spec->seed,
             .left = MAX(spec->n_ops, 1),
             .n_buffer = buffer_size(spec->seed),
             .n_shapes = is_large(spec->seed) ? COUNT(shapes) : N_SMALL};
    g.f = ir_func(c, "random", NULL);
    g.b = (Build){.f = g.f, .block = g.f->body};
    for (size_t i = 0; i < COUNT(g.home); i++)
        g.home[i] = shapes[below(&g, g.n_shapes)];
    g.limit = keep(&g, parameter(&g, ty_scalar(c, E_I32), "limit"));
    g.stride = keep(&g, parameter(&g, ty_scalar(c, E_I32), "stride"));
    keep(&g, parameter(&g, ty_scalar(c, E_I32), "unit"));
    static const Elem scalar[] = {E_I64, E_F32, E_U8, E_F16};
    for (size_t i = 0; i < COUNT(scalar); i++)
        if (chance(&g, 40))
            keep(&g, parameter(&g, ty_scalar(c, scalar[i]), NULL));
    grow(&g, g.left);
    /* The last values made, and many others, are seen. */
    for (int i = 0; i < 4 + spec->n_ops / 5; i++) {
        int last = g.pool.n - 1;
        store_value(&g, g.pool.at[i < 3 ? MAX(last - i, 0) : below(&g, last + 1)]);
    }
    ir_op(&g.b, OP_RETURN, 0, NULL, 0, NULL);
    add_facts(&g);
    return g.f;
}

static int
scalar_value(const Val *v, uint64_t seed)
{
    if (v->name && !strcmp(v->name, "stride"))
        return stride_of(seed);
    return v->name && !strcmp(v->name, "unit") ? 1 : LIMIT;
}

/* Grid of 2 programs; buffers that are stored to hold the elements of both. */
char *
ir_random_args(const Func *f, uint64_t seed)
{
    Sb sb = {.a = f->c->arena};
    int n = buffer_size(seed);
    sb_put(&sb, "// GRID: 2\n");
    for (int i = 0; i < f->body->n_args; i++) {
        const Val *v = f->body->args[i];
        const Type *t = v->type;
        if (t->is_ptr && !strncmp(v->name, "in_", 3))
            sb_printf(&sb, "// ARG: [random %d %llu]\n", n,
                      (unsigned long long)(seed + (uint64_t)i));
        else if (t->is_ptr)
            sb_printf(&sb, "// ARG: [%s x %d]\n",
                      elem_str(f->c->arena, ty_pointee(f->c, t), 0), 2 * n);
        else
            sb_printf(&sb, "// ARG: %s\n",
                      elem_str(f->c->arena, t,
                               elem_from_int(t->elem, scalar_value(v, seed))));
    }
    return sb.at;
}
