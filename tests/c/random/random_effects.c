/* random_effects: makers of random.c for memory and control.
 *
 * Loads are from buffers that nobody writes; a store has a buffer of its own; atomics do
 * what gives the same in any order. Loops end: they count to a limit, and what is inside of
 * them is made like the rest.
 */
#include "gen.h"

enum { MAX_CARRIED = 3 };

static Elem
some_f8(Gen *g)
{
    static const Elem f8[] = {E_F8E4M3, E_F8E5M2, E_F8E4B15, E_F8E4B8, E_F8E5B16};
    return f8[rnd_below(g, COUNT(f8))];
}

/* ---- memory --------------------------------------------------------------------- */

static void
make_load(Gen *g)
{
    Elem e = rnd_chance(g, 5) ? some_f8(g) : rnd_some_elem(g);
    Shape s = rnd_some_shape(g);
    Val *i = rnd_some(g, E_I32, s);
    if (rnd_chance(g, 50) && s.rank)
        i = rnd_own_index(g, s);
    i = ir_bin(&g->b, OP_AND, i, rnd_splat_int(g, E_I32, s, g->n_buffer - 1));
    Val *mask = rnd_chance(g, 40) ? rnd_some(g, E_I1, s) : NULL;
    bool has_other = mask && elem_info[e].bits != 8 && rnd_chance(g, 50);
    Val *other = has_other ? rnd_some(g, e, s) : NULL;
    Val *v = ir_load(&g->b, rnd_pointers(g, rnd_input(g, e), i), mask, other);
    rnd_keep(g,
             elem_is_float(e) && elem_info[e].bits == 8 ? ir_cast(&g->b, v, E_F32) : v);
}

/* A matrix as kernels load one: rows times a stride, columns one after another, and a
 * mask of both where there is one. */
static void
make_load_matrix(Gen *g)
{
    Shape s = rnd_some_shape(g);
    int stride = rnd_stride_of(g->spec->seed);
    for (int i = 0; i < 20 && s.rank != 2; i++)
        s = rnd_other_shape(g);
    if (s.rank != 2 || (s.n[0] - 1) * stride + s.n[1] > g->n_buffer)
        return;
    Build *b = &g->b;
    Elem e = rnd_some_elem(g);
    Val *row = ir_expand(b, ir_arange(b, 0, s.n[0]), 1), *limit = g->limit;
    Val *col = ir_expand(b, ir_arange(b, 0, s.n[1]), 0);
    Val *p = ir_splat(b, rnd_input(g, e), 2, row->type->shape);
    p = ir_addptr(b, p,
                  ir_bin(b, OP_MUL, row, ir_splat(b, g->stride, 2, row->type->shape)));
    p = ir_addptr(b, ir_broadcast(b, p, 2, s.n), ir_broadcast(b, col, 2, s.n));
    Val *mask = NULL;
    if (rnd_chance(g, 60)) {
        Val *in_rows = ir_bin(b, OP_LT, row, ir_splat(b, limit, 2, row->type->shape));
        Val *in_cols = ir_bin(b, OP_LT, col, ir_splat(b, limit, 2, col->type->shape));
        mask = ir_bin(b, OP_AND, ir_broadcast(b, in_rows, 2, s.n),
                      ir_broadcast(b, in_cols, 2, s.n));
    }
    rnd_keep(g,
             ir_load(b, p, mask, mask && rnd_chance(g, 50) ? rnd_some(g, e, s) : NULL));
}

/* for (i = 0; i < limit; i++) acc = op(acc, load(p)), p += step; */
static void
make_load_loop(Gen *g)
{
    Shape s = rnd_some_shape(g);
    Elem e = rnd_some_elem(g);
    const Type *i32 = ty_scalar(g->c, E_I32);
    int step = 1 << rnd_below(g, 4);
    Val *i = rnd_own_index(g, s);
    i = ir_bin(&g->b, OP_AND, i, rnd_splat_int(g, E_I32, s, g->n_buffer / 2 - 1));
    Val *args[] = {ir_const_int(&g->b, i32, 0), g->limit, ir_const_int(&g->b, i32, 1),
                   rnd_some(g, e, s), rnd_pointers(g, rnd_input(g, e), i)};
    const Type *types[] = {args[3]->type, args[4]->type};
    Op *o = ir_op(&g->b, OP_FOR, 5, args, 2, types);
    if (rnd_chance(g, 30))
        ir_set_attr(o, ATTR_STAGES, 2 + rnd_below(g, 3));
    Block *body = ir_block(g->f, o);
    ir_block_arg(body, i32, "i");
    Val *acc = ir_block_arg(body, types[0], "acc"),
        *p = ir_block_arg(body, types[1], "p");
    Build b = {.f = g->f, .block = body};
    OpCode op = elem_is_float(e) ? OP_MAX : rnd_chance(g, 50) ? OP_ADD : OP_XOR;
    Val *out[] = {ir_bin(&b, op, acc, ir_load(&b, p, NULL, NULL)),
                  ir_addptr(&b, p, ir_const_int(&b, rnd_type_of(g, E_I32, s), step))};
    ir_op(&b, OP_YIELD, 2, out, 0, NULL);
    rnd_keep(g, result(o, 0));
}

void
rnd_store_value(Gen *g, Val *v)
{
    if (ty_numel(v->type) > g->n_buffer)
        return;
    int n = g->f->body->n_args;
    Val *out = rnd_parameter(g, ty_ptr(g->c, v->type->elem, false),
                             str_printf(g->c->arena, "out%d", n));
    Shape s = rnd_shape_of(v);
    Val *mask = rnd_chance(g, 30) ? rnd_some(g, E_I1, s) : NULL;
    ir_store(&g->b, rnd_pointers(g, out, rnd_own_index(g, s)), v, mask);
}

static void
make_store(Gen *g)
{
    Val *v = rnd_some(g, rnd_some_elem(g), rnd_some_shape(g));
    if (elem_is_float(v->type->elem) && rnd_chance(g, 20))
        v = ir_cast(&g->b, v, some_f8(g));
    rnd_store_value(g, v);
}

/* To a buffer of its own, with an operation whose order does not matter; of narrow floats
 * that means few ones for each element, which lie side by side as in a split sum. */
static void
make_atomic(Gen *g)
{
    static const Elem kinds[] = {E_I32, E_I32, E_U32, E_I64,
                                 E_U64, E_F32, E_F16, E_BF16};
    Elem e = kinds[rnd_below(g, COUNT(kinds))];
    Shape s = rnd_some_shape(g);
    const Type *t = rnd_type_of(g, e, s);
    if (ty_numel(t) > g->n_buffer)
        return;
    bool is_narrow = e == E_F16 || e == E_BF16;
    int n = g->f->body->n_args;
    Val *sums = rnd_parameter(g, ty_ptr(g->c, e, false),
                              str_printf(g->c->arena, "sums%d", n));
    Val *i = is_narrow || rnd_chance(g, 40) ? rnd_own_index(g, s)
                                            : rnd_some(g, E_I32, s);
    i = ir_bin(&g->b, OP_AND, i, rnd_splat_int(g, E_I32, s, 2 * g->n_buffer - 1));
    Val *x = elem_is_float(e) ? rnd_some_small(g, e, s) : rnd_some(g, e, s);
    if (is_narrow)
        x = ir_cast(&g->b, rnd_some(g, E_I1, s), e);
    Val *args[] = {rnd_pointers(g, sums, i), x, rnd_some(g, E_I1, s)};
    Op *o = ir_op(&g->b, OP_ATOMIC_RMW, 2 + rnd_below(g, 2), args, 1, &t);
    ir_set_attr(o, ATTR_RMW,
                e == E_F32 ? RMW_ADD : RMW_ADD + rnd_below(g, e == E_I32 ? 6 : 3));
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
        rnd_keep(g, b->args[i]);
    g->depth++;
    rnd_grow(g, 1 + rnd_below(g, 6));
    g->depth--;
    Val *out[MAX_CARRIED + 1];
    int k = 0;
    if (lead)
        out[k++] = lead;
    for (int i = 0; i < n; i++) {
        Shape s = {types[i]->rank, {0}};
        memcpy(s.n, types[i]->shape, sizeof s.n);
        out[k++] = rnd_some(g, types[i]->elem, s);
    }
    ir_op(&g->b, op, k, out, 0, NULL);
    g->b = outer;
    g->pool.n = scope;
}

static int
some_types(Gen *g, const Type **types, Val **values)
{
    int n = rnd_below(g, MAX_CARRIED);
    for (int i = 0; i < n; i++) {
        values[i] = rnd_some(g, rnd_some_elem(g), rnd_some_shape(g));
        types[i] = values[i]->type;
    }
    return n;
}

static void
keep_results(Gen *g, const Op *o)
{
    for (int i = 0; i < o->n_results; i++)
        rnd_keep(g, result(o, i));
}

static void
make_if(Gen *g)
{
    const Type *types[MAX_CARRIED];
    Val *values[MAX_CARRIED], *cond = rnd_some(g, E_I1, (Shape){0});
    int n = some_types(g, types, values);
    Op *o = ir_op(&g->b, OP_IF, 1, &cond, n, types);
    for (int i = 0; i < (n || rnd_chance(g, 50) ? 2 : 1); i++)
        fill(g, ir_block(g->f, o), OP_YIELD, NULL, n, types);
    keep_results(g, o);
}

static void
make_for(Gen *g)
{
    const Type *types[MAX_CARRIED];
    Val *args[3 + MAX_CARRIED];
    Elem e = rnd_chance(g, 80) ? E_I32 : rnd_chance(g, 50) ? E_I64 : E_U32;
    const Type *t = ty_scalar(g->c, e);
    int step = 1 + rnd_below(g, 3), lb = rnd_below(g, 4);
    bool down = elem_is_signed(e) && rnd_chance(g, 20);
    args[0] = ir_const_int(&g->b, t, down ? lb + 4 : lb);
    args[1] = !down && e == E_I32 && rnd_chance(g, 50)
                  ? g->limit
                  : ir_const_int(&g->b, t, down ? lb : lb + 4);
    args[2] = ir_const_int(&g->b, t, down ? -step : step);
    int n = some_types(g, types, args + 3);
    Op *o = ir_op(&g->b, OP_FOR, 3 + n, args, n, types);
    if (rnd_chance(g, 30))
        ir_set_attr(o, ATTR_UNROLL, 2 + rnd_below(g, 4));
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
                             ir_const_int(&g->b, i32, rnd_below(g, 4)));
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

/* ---- all of them ---- */

const Maker rnd_effects[RND_N_EFFECTS] = {
    {make_load_matrix, 3, false}, {make_load_loop, 3, false}, {make_load, 10, false},
    {make_store, 3, false},       {make_atomic, 2, false},    {make_if, 3, true},
    {make_for, 3, true},          {make_while, 1, true},
};
