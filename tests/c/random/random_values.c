/* random_values: makers of random.c for ops that only compute: element by element, of shapes,
 * across elements. Each adds what it made to the pool.
 */
#include "gen.h"

/* ---- elementwise ---------------------------------------------------------------- */

static void
make_binary(Gen *g)
{
    static const OpCode ints[] = {OP_ADD,    OP_SUB, OP_MUL, OP_MIN, OP_MAX,
                                  OP_UMULHI, OP_AND, OP_OR,  OP_XOR, OP_SHL,
                                  OP_SHR,    OP_DIV, OP_REM};
    static const OpCode floats[] = {OP_ADD, OP_SUB,    OP_MUL,    OP_MIN,
                                    OP_MAX, OP_MINNAN, OP_MAXNAN, OP_DIV_RN};
    Elem e = rnd_some_elem(g);
    Shape s = rnd_some_shape(g);
    Val *x = rnd_some(g, e, s), *y = rnd_some(g, e, s);
    OpCode op = elem_is_float(e) ? floats[rnd_below(g, COUNT(floats))]
                                 : ints[rnd_below(g, COUNT(ints))];
    if (op == OP_DIV || op == OP_REM) {
        y = ir_bin(&g->b, OP_AND, y, rnd_splat_int(g, e, s, 7));
        y = ir_bin(&g->b, OP_OR, y, rnd_splat_int(g, e, s, 1));
    }
    rnd_keep(g, ir_bin(&g->b, op, x, y));
}

static void
make_unary(Gen *g)
{
    enum { N_STEPS = OP_HINT - OP_FLOOR };
    static const OpCode bounded[] = {OP_EXP, OP_EXP2, OP_LOG, OP_LOG2, OP_SIN,
                                     OP_COS, OP_TANH, OP_ERF, OP_SQRT, OP_RSQRT};
    Elem e = rnd_some_elem(g);
    bool wide = e == E_F32 || e == E_F64;
    OpCode op = rnd_chance(g, 50) ? OP_NEG : OP_ABS;
    if (wide && rnd_chance(g, 60))
        op = rnd_chance(g, 33) ? OP_SQRT_RN
                               : (OpCode)(OP_FLOOR + rnd_below(g, N_STEPS));
    if (wide && g->spec->approximate && rnd_chance(g, 50))
        op = bounded[rnd_below(g, COUNT(bounded))];
    rnd_keep(g, ir_un(&g->b, op, rnd_some(g, e, rnd_some_shape(g))));
}

static void
make_compare(Gen *g)
{
    Elem e = rnd_some_elem(g);
    Shape s = rnd_some_shape(g);
    Val *x = rnd_some(g, e, s), *y = rnd_some(g, e, s);
    rnd_keep(g, ir_bin(&g->b, (OpCode)(OP_EQ + rnd_below(g, OP_GE - OP_EQ + 1)), x, y));
}

static void
make_select(Gen *g)
{
    Elem e = rnd_some_elem(g);
    Shape s = rnd_some_shape(g);
    Val *cond = rnd_some(g, E_I1, s), *x = rnd_some(g, e, s), *y = rnd_some(g, e, s);
    rnd_keep(g, ir_select(&g->b, cond, x, y));
}

static void
make_cast(Gen *g)
{
    Shape s = rnd_some_shape(g);
    Val *x = rnd_some(g, rnd_some_elem(g), s);
    Elem to = rnd_some_elem(g), from = x->type->elem;
    bool same_bits = elem_info[from].bits == elem_info[to].bits;
    if (same_bits && from != to && elem_is_int(from) && elem_is_int(to) &&
        rnd_chance(g, 50)) {
        rnd_keep(g, ir_bitcast(&g->b, x, rnd_type_of(g, to, s)));
        return;
    }
    Val *v = rnd_keep(g, ir_cast(&g->b, x, to));
    if (elem_is_float(from) && elem_is_float(to) &&
        elem_info[to].bits < elem_info[from].bits && rnd_chance(g, 20))
        ir_set_attr(v->def, ATTR_ROUNDING, ROUND_RTZ);
}

static void
make_fma(Gen *g)
{
    Elem e = rnd_chance(g, 70) ? E_F32 : E_F64;
    Shape s = rnd_some_shape(g);
    Val *args[] = {rnd_some(g, e, s), rnd_some(g, e, s), rnd_some(g, e, s)};
    rnd_keep(g, result(ir_op(&g->b, OP_FMA, 3, args, 1, &args[0]->type), 0));
}

/* ---- shapes --------------------------------------------------------------------- */

static void
make_reshape(Gen *g)
{
    Val *x = rnd_block_of(g);
    Shape s = rnd_other_shape(g);
    int64_t n = ty_numel(x->type);
    for (int i = 0; i < 20 && ty_numel(rnd_type_of(g, E_I32, s)) != n; i++)
        s = rnd_other_shape(g);
    if (ty_numel(rnd_type_of(g, E_I32, s)) == n)
        rnd_keep(g, rnd_with_shape(g, OP_RESHAPE, 1, &x, s));
    else if (g->spec->odd_sides && s.rank == x->type->rank)
        rnd_keep(g, rnd_with_shape(g, OP_RESIZE, 2,
                                   (Val *[]){x, rnd_some(g, x->type->elem, (Shape){0})},
                                   s));
}

static void
make_trans(Gen *g)
{
    Val *x = rnd_block_of(g);
    Shape s = rnd_shape_of(x), to = s;
    int perm[MAX_RANK];
    for (int i = 0; i < s.rank; i++)
        perm[i] = i;
    for (int i = s.rank - 1; i >= 0; i--) {
        int k = rnd_below(g, i + 1), d = perm[k];
        perm[k] = perm[i];
        perm[i] = d;
        to.n[i] = s.n[d];
    }
    ir_set_attr(rnd_keep(g, rnd_with_shape(g, OP_TRANS, 1, &x, to))->def, ATTR_PERM,
                perm_pack(s.rank, perm));
}

static void
make_broadcast(Gen *g)
{
    Val *x = rnd_block_of(g);
    if (x->type->rank < 3)
        x = rnd_keep(g, ir_expand(&g->b, x, rnd_below(g, x->type->rank + 1)));
    Shape s = rnd_shape_of(x);
    int64_t numel = ty_numel(x->type);
    for (int d = 0; d < s.rank; d++)
        if (s.n[d] == 1 && numel * 4 <= g->n_buffer) {
            s.n[d] = 4;
            numel *= 4;
        }
    rnd_keep(g, ir_broadcast(&g->b, x, s.rank, s.n));
}

static void
make_join_split(Gen *g)
{
    Val *x = rnd_block_of(g);
    Shape s = rnd_shape_of(x);
    if (rnd_chance(g, 30) && s.rank == 1 && s.n[0] < g->n_buffer) {
        s.n[0] *= 2;
        rnd_keep(g, rnd_with_shape(
                        g, OP_CAT, 2,
                        (Val *[]){x, rnd_some(g, x->type->elem, rnd_shape_of(x))}, s));
    } else if (s.rank > 1 && s.n[s.rank - 1] == 2) {
        const Type *t = ty_with_shape(g->c, x->type, s.rank - 1, s.n);
        Op *o = ir_op(&g->b, OP_SPLIT, 1, &x, 2, (const Type *[]){t, t});
        rnd_keep(g, result(o, 0));
        rnd_keep(g, result(o, 1));
    } else if (ty_numel(x->type) < g->n_buffer && s.rank < 4) {
        s.n[s.rank++] = 2;
        rnd_keep(g, rnd_with_shape(
                        g, OP_JOIN, 2,
                        (Val *[]){x, rnd_some(g, x->type->elem, rnd_shape_of(x))}, s));
    }
}

static void
make_source(Gen *g)
{
    int n = 1 << rnd_below(g, 9);
    if (g->spec->odd_sides && rnd_chance(g, 50))
        n -= n / 4;
    switch (rnd_below(g, 3)) {
    case 0: rnd_keep(g, ir_arange(&g->b, 0, n)); break;
    case 1:
        rnd_keep(g,
                 rnd_constant(g, rnd_type_of(g, rnd_some_elem(g), rnd_some_shape(g))));
        break;
    default: {
        const Type *t = ty_scalar(g->c, E_I32);
        OpCode op = rnd_chance(g, 70) ? OP_PROGRAM_ID : OP_NUM_PROGRAMS;
        ir_set_attr(rnd_keep(g, result(ir_op(&g->b, op, 0, NULL, 1, &t), 0))->def,
                    ATTR_AXIS, rnd_below(g, 3));
    }
    }
}

/* ---- across elements ------------------------------------------------------------ */

static OpCode
combining_op(Gen *g, Elem e)
{
    static const OpCode ops[] = {OP_MAX, OP_MIN, OP_ADD, OP_XOR, OP_AND, OP_OR};
    return ops[rnd_below(g, elem_is_float(e) ? 2 : (int)COUNT(ops))];
}

/* The largest (or smallest) with its index, the smaller index on ties. */
static void
combine_with_index(Gen *g, Block *r)
{
    OpCode cmp = rnd_chance(g, 50) ? OP_GT : OP_LT;
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
    Val *x = rnd_block_of(g), *args[2] = {x, NULL};
    Elem e = x->type->elem;
    int n = 1, axis = rnd_below(g, x->type->rank);
    bool scans = rnd_chance(g, 30);
    if (!scans && elem_is_int(e) && rnd_chance(g, 30)) {
        Shape s = rnd_shape_of(x), line = {1, {s.n[axis]}};
        Val *i = ir_arange(&g->b, 0, line.n[0]);
        for (int d = 0; d < s.rank; d++)
            if (d != axis)
                i = ir_expand(&g->b, i, d);
        args[n++] = ir_broadcast(&g->b, i, s.rank, s.n);
    }
    const Type *types[2];
    Shape to = rnd_shape_of(x);
    for (int d = axis; d + 1 < to.rank; d++)
        to.n[d] = to.n[d + 1];
    to.rank--;
    for (int i = 0; i < n; i++)
        types[i] = scans ? args[i]->type
                         : ty_with_shape(g->c, args[i]->type, to.rank, to.n);
    Op *o = ir_op(&g->b, scans ? OP_SCAN : OP_REDUCE, n, args, n, types);
    ir_set_attr(o, ATTR_AXIS, axis);
    if (scans)
        ir_set_attr(o, ATTR_REVERSE, rnd_below(g, 2));
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
        rnd_keep(g, result(o, i));
}

static void
make_dot(Gen *g)
{
    static const struct {
        Elem in, out;
    } kind[] = {
        {E_I8, E_I32},      {E_F16, E_F32},    {E_BF16, E_F32},    {E_F32, E_F32},
        {E_F64, E_F64},     {E_F16, E_F16},    {E_F8E5M2, E_F32},  {E_F8E4M3, E_F32},
        {E_F8E4B15, E_F32}, {E_F8E4B8, E_F32}, {E_F8E5B16, E_F32},
    };
    static const int sizes[][3] = {{16, 16, 16}, {16, 8, 32},  {8, 16, 32},
                                   {1, 16, 16},  {2, 4, 32},   {16, 1, 16},
                                   {32, 16, 16}, {64, 32, 32}, {32, 8, 64},
                                   {8, 64, 32}};
    int k = rnd_below(g, COUNT(kind));
    static const int odd[][3] = {{3, 5, 7}, {24, 4, 12}, {16, 6, 20}, {12, 16, 16}};
    const int *n = sizes[rnd_below(g, rnd_is_large(g->spec->seed) ? COUNT(sizes) : 6)];
    if (g->spec->odd_sides && rnd_chance(g, 70))
        n = odd[rnd_below(g, COUNT(odd))];
    Shape sa = {2, {n[0], n[2]}}, sb = {2, {n[2], n[1]}}, sc = {2, {n[0], n[1]}};
    if (rnd_chance(g, 20) && !rnd_is_large(g->spec->seed)) { /* a batch of two */
        sa = sb = sc = (Shape){3, {2, 16, 16}};
    }
    Val *args[] = {rnd_some_small(g, kind[k].in, sa), rnd_some_small(g, kind[k].in, sb),
                   rnd_some_small(g, kind[k].out, sc)};
    Op *o = ir_op(&g->b, OP_DOT, 3, args, 1, &args[2]->type);
    /* Small whole numbers are exact in tf32 as well. */
    bool short_f32 = kind[k].in == E_F32 && rnd_chance(g, 50);
    ir_set_attr(o, ATTR_PRECISION, short_f32 ? PREC_TF32 : PREC_IEEE);
    rnd_keep(g, result(o, 0));
}

static void
make_gather(Gen *g)
{
    Val *x = rnd_block_of(g);
    Shape s = rnd_shape_of(x);
    int axis = rnd_below(g, s.rank);
    Val *i = rnd_some(g, E_I32, s);
    int side = s.n[axis];
    bool is_power = ty_padded_side(side) == side;
    i = ir_bin(&g->b, OP_AND, i,
               rnd_splat_int(g, E_I32, s, is_power ? side - 1 : 8191));
    if (!is_power)
        i = ir_bin(&g->b, OP_REM, i, rnd_splat_int(g, E_I32, s, side));
    Op *o = ir_op(&g->b, OP_GATHER, 2, (Val *[]){x, i}, 1, &x->type);
    ir_set_attr(o, ATTR_AXIS, axis);
    rnd_keep(g, result(o, 0));
}

static void
make_histogram(Gen *g)
{
    int32_t bins = 1 << rnd_below(g, 7);
    Shape s = {1, {64}};
    Val *args[] = {rnd_some(g, E_I32, s), rnd_some(g, E_I1, s)};
    args[0] = ir_bin(&g->b, OP_AND, args[0], rnd_splat_int(g, E_I32, s, bins - 1));
    const Type *t = ty_block(g->c, ty_scalar(g->c, E_I32), 1, &bins);
    Op *o = ir_op(&g->b, OP_HISTOGRAM, 1 + rnd_below(g, 2), args, 1, &t);
    ir_set_attr(o, ATTR_BINS, bins);
    rnd_keep(g, result(o, 0));
}

/* ---- all of them ---- */

const Maker rnd_values[RND_N_VALUES] = {
    {make_binary, 30, false},    {make_unary, 8, false},  {make_compare, 8, false},
    {make_select, 8, false},     {make_cast, 10, false},  {make_fma, 3, false},
    {make_reshape, 4, false},    {make_trans, 4, false},  {make_broadcast, 5, false},
    {make_join_split, 4, false}, {make_source, 5, false}, {make_reduce, 6, false},
    {make_dot, 2, false},        {make_gather, 2, false}, {make_histogram, 1, false},
};
