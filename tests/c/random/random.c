/* random: functions nobody would write, for tests of everything that reads tile IR.
 *
 * What comes out is valid, ends, stays inside of its buffers and has one right answer:
 *
 *     loads       only from buffers that are never stored to, at indices & (n - 1)
 *     stores      each op has a buffer and gives every element an address of its own
 *     atomics     such that their order does not matter, result unused, each to a
 *                 buffer of its own
 *     loops       over small ranges; while loops count
 *     division    by something odd and positive
 *     floats      ops that are rounded the same everywhere; sums (dot) of whole
 *                 numbers; nothing that shows the bits of a NaN. `approximate` adds exp
 *                 and friends, which targets compute to a bound.
 *
 * The generator keeps a pool of values in scope and draws operands from it by type;
 * what is missing is made: by a cast, a splat, a load or a constant.
 *
 * The makers, one for every kind of op, and their weights are in random_values.c (what only
 * computes) and random_effects.c (memory, control).
 */
#include "gen.h"

static const Shape shapes[] = {
    {0, {0}},     {1, {32}},     {1, {64}},      {1, {256}},
    {1, {1}},     {2, {16, 16}}, {2, {4, 16}},   {2, {8, 2}},
    {2, {1, 64}}, {2, {32, 1}},  {3, {2, 4, 8}}, {3, {4, 1, 2}},
    {1, {1024}},  {2, {64, 32}}, {2, {8, 128}},  {3, {2, 16, 32}},
};
enum { N_SMALL = 12 }; /* shapes of functions with small buffers come first */
static const Shape odd_shapes[] = {
    {1, {3}},       {1, {24}},      {1, {100}},    {2, {5, 6}},
    {2, {1, 7}},    {2, {7, 1}},    {2, {6, 4}},   {2, {4, 6}},
    {3, {2, 3, 5}}, {3, {3, 4, 2}}, {2, {12, 16}},
};

/* Of the values in random functions; f8 types have no arithmetic of their own. */
static const Elem elems[] = {
    E_I1,  E_I8,  E_I16, E_I32, E_I32,  E_I32, E_I64, E_U8,
    E_U16, E_U32, E_U64, E_F16, E_BF16, E_F32, E_F32, E_F64,
};

/* ---- chance --------------------------------------------------------------------- */

uint64_t
random_bits(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

int
rnd_below(Gen *g, int n)
{
    return (int)(random_bits(&g->rng) % (uint64_t)n);
}

bool
rnd_chance(Gen *g, int percent)
{
    return rnd_below(g, 100) < percent;
}

Elem
rnd_some_elem(Gen *g)
{
    return elems[rnd_below(g, COUNT(elems))];
}

/* Any shape that this function may have. */
Shape
rnd_other_shape(Gen *g)
{
    if (g->spec->odd_sides && rnd_chance(g, 60))
        return odd_shapes[rnd_below(g, COUNT(odd_shapes))];
    return shapes[rnd_below(g, g->n_shapes)];
}

Shape
rnd_some_shape(Gen *g)
{
    return rnd_chance(g, 80) ? g->home[rnd_below(g, COUNT(g->home))]
                             : rnd_other_shape(g);
}

const Type *
rnd_type_of(Gen *g, Elem e, Shape s)
{
    return ty_block(g->c, ty_scalar(g->c, e), s.rank, s.n);
}

Shape
rnd_shape_of(const Val *v)
{
    Shape s = {v->type->rank, {0}};
    memcpy(s.n, v->type->shape, sizeof s.n);
    return s;
}

/* Every fourth function has large blocks. */
bool
rnd_is_large(uint64_t seed)
{
    return seed % 4 == 3;
}

static int
buffer_size(uint64_t seed)
{
    return rnd_is_large(seed) ? 2048 : 256;
}

int
rnd_stride_of(uint64_t seed)
{
    return rnd_is_large(seed) ? 32 : 16;
}

/* ---- values --------------------------------------------------------------------- */

Val *
rnd_keep(Gen *g, Val *v)
{
    PUSH(g->c->arena, &g->pool, v);
    return v;
}

Val *
rnd_constant(Gen *g, const Type *t)
{
    if (elem_is_float(t->elem) && rnd_chance(g, 30)) {
        static const double odd[] = {0.0, -0.0, 0.5, -1.5, 1e-3, 3e4, 1e30, -1e-30};
        return ir_const_float(&g->b, t, odd[rnd_below(g, COUNT(odd))]);
    }
    if (rnd_chance(g, 20) && elem_is_int(t->elem))
        return ir_const_bits(&g->b, t, random_bits(&g->rng));
    return ir_const_int(&g->b, t, rnd_below(g, 19) - 9);
}

/* Any value of the shape and element type from the pool; NULL: none. */
static Val *
pooled(Gen *g, const Type *t)
{
    int n = 0;
    Val *found = NULL;
    for (int i = 0; i < g->pool.n; i++)
        if (g->pool.at[i]->type == t && rnd_below(g, ++n) == 0)
            found = g->pool.at[i];
    return found;
}

static Val *
pooled_shape(Gen *g, Shape s)
{
    int n = 0;
    Val *found = NULL;
    const Type *like = rnd_type_of(g, E_I32, s);
    for (int i = 0; i < g->pool.n; i++)
        if (!g->pool.at[i]->type->is_ptr && ty_same_shape(g->pool.at[i]->type, like) &&
            rnd_below(g, ++n) == 0)
            found = g->pool.at[i];
    return found;
}

Val *
rnd_splat_int(Gen *g, Elem e, Shape s, int64_t v)
{
    return ir_const_int(&g->b, rnd_type_of(g, e, s), v);
}

Val *
rnd_parameter(Gen *g, const Type *t, const char *name)
{
    return ir_param(g->f, t, name, g->f->body->n_args);
}

Val *
rnd_with_shape(Gen *g, OpCode op, int n_args, Val *const *args, Shape s)
{
    const Type *t = ty_with_shape(g->c, args[0]->type, s.rank, s.n);
    return result(ir_op(&g->b, op, n_args, args, 1, &t), 0);
}

Val *
rnd_pointers(Gen *g, Val *base, Val *index)
{
    Shape s = rnd_shape_of(index);
    return ir_addptr(&g->b, ir_splat(&g->b, base, s.rank, s.n), index);
}

/* An index of every element of its own: its place in row-major order, behind those
 * of the programs before. */
Val *
rnd_own_index(Gen *g, Shape s)
{
    int32_t n = (int32_t)ty_numel(rnd_type_of(g, E_I32, s));
    const Type *t = ty_scalar(g->c, E_I32);
    Val *pid = result(ir_op(&g->b, OP_PROGRAM_ID, 0, NULL, 1, &t), 0);
    Val *base = ir_bin(&g->b, OP_MUL, pid, ir_const_int(&g->b, t, g->n_buffer));
    if (!s.rank)
        return base;
    Val *i = ir_arange(&g->b, 0, n);
    if (s.rank > 1)
        i = rnd_with_shape(g, OP_RESHAPE, 1, &i, s);
    return ir_bin(&g->b, OP_ADD, ir_splat(&g->b, base, s.rank, s.n), i);
}

/* The buffer to load elements e from. */
Val *
rnd_input(Gen *g, Elem e)
{
    if (!g->input[e])
        g->input[e] =
            rnd_parameter(g, ty_ptr(g->c, e, rnd_chance(g, 50)),
                          str_printf(g->c->arena, "in_%s", elem_info[e].text));
    return g->input[e];
}

/* What the lanes of this program find there. */
static Val *
loaded(Gen *g, Elem e, Shape s)
{
    Val *i = rnd_own_index(g, s);
    i = ir_bin(&g->b, OP_AND, i, rnd_splat_int(g, E_I32, s, g->n_buffer - 1));
    return ir_load(&g->b, rnd_pointers(g, rnd_input(g, e), i), NULL, NULL);
}

/* A value of this type: from the pool, or made of what is there. */
Val *
rnd_some(Gen *g, Elem e, Shape s)
{
    const Type *t = rnd_type_of(g, e, s);
    Val *v = rnd_chance(g, 85) ? pooled(g, t) : NULL;
    if (v)
        return v;
    Val *like = rnd_chance(g, 60) ? pooled_shape(g, s) : NULL;
    if (like && like->type != t)
        return rnd_keep(g, ir_cast(&g->b, like, e));
    Val *scalar = rnd_chance(g, 30) && s.rank ? pooled(g, ty_scalar(g->c, e)) : NULL;
    if (scalar)
        return rnd_keep(g, ir_splat(&g->b, scalar, s.rank, s.n));
    return rnd_keep(g, rnd_chance(g, 65) ? loaded(g, e, s) : rnd_constant(g, t));
}

/* Small whole numbers of a type that holds them: sums of 16 products stay exact. */
Val *
rnd_some_small(Gen *g, Elem e, Shape s)
{
    Val *v = ir_bin(&g->b, OP_AND, rnd_some(g, E_I8, s), rnd_splat_int(g, E_I8, s, 7));
    if (elem_info[e].bits == 8 && elem_is_float(e)) /* by way of another float */
        v = ir_cast(&g->b, v, E_F16);
    return ir_cast(&g->b, v, e);
}

Val *
rnd_block_of(Gen *g)
{
    Shape s = rnd_some_shape(g);
    while (!s.rank)
        s = rnd_other_shape(g);
    return rnd_some(g, rnd_some_elem(g), s);
}

/* ---- the function --------------------------------------------------------------- */

/* Up to n more ops (and what they need) at g->b. */
void
rnd_grow(Gen *g, int n)
{
    const Maker *all[RND_N_MAKERS];
    int total = 0;
    for (int i = 0; i < RND_N_MAKERS; i++) {
        all[i] = i < RND_N_VALUES ? rnd_values + i : rnd_effects + i - RND_N_VALUES;
        total += all[i]->weight;
    }
    for (; n > 0 && g->left > 0; n--) {
        int pick = rnd_below(g, total);
        int at = 0;
        for (; pick >= all[at]->weight; at++)
            pick -= all[at]->weight;
        if (all[at]->nests && g->depth == MAX_NEST)
            at = 0;
        g->left--;
        all[at]->make(g);
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
        if (rnd_chance(g, 40))
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
             .n_shapes = rnd_is_large(spec->seed) ? COUNT(shapes) : N_SMALL};
    g.f = ir_func(c, "random", NULL);
    g.b = (Build){.f = g.f, .block = g.f->body};
    for (size_t i = 0; i < COUNT(g.home); i++)
        g.home[i] = rnd_other_shape(&g);
    g.limit = rnd_keep(&g, rnd_parameter(&g, ty_scalar(c, E_I32), "limit"));
    g.stride = rnd_keep(&g, rnd_parameter(&g, ty_scalar(c, E_I32), "stride"));
    rnd_keep(&g, rnd_parameter(&g, ty_scalar(c, E_I32), "unit"));
    static const Elem scalar[] = {E_I64, E_F32, E_U8, E_F16};
    for (size_t i = 0; i < COUNT(scalar); i++)
        if (rnd_chance(&g, 40))
            rnd_keep(&g, rnd_parameter(&g, ty_scalar(c, scalar[i]), NULL));
    rnd_grow(&g, g.left);
    /* The last values made, and many others, are seen. */
    for (int i = 0; i < 4 + spec->n_ops / 5; i++) {
        int last = g.pool.n - 1;
        rnd_store_value(&g,
                        g.pool.at[i < 3 ? MAX(last - i, 0) : rnd_below(&g, last + 1)]);
    }
    ir_op(&g.b, OP_RETURN, 0, NULL, 0, NULL);
    add_facts(&g);
    return g.f;
}

static int
scalar_value(const Val *v, uint64_t seed)
{
    if (v->name && !strcmp(v->name, "stride"))
        return rnd_stride_of(seed);
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
