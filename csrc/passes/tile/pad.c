/* pad_blocks: blocks whose sides are no powers of two become blocks that are.
 *
 *     %i = arange {start=0, end=96} : i32[96]        %i = arange {start=0, end=128} : i32[128]
 *     ..                                             ..
 *     %x = load %p : f32[96]                    =>   %in = lt (arange 0 .. 128), 96
 *     %s = reduce %x by add                          %x = load %p, %in : f32[128]
 *                                                    %s = reduce (select %in, %x, -0.0) by add
 *
 * Everything below this pass (layouts are matrices over bits) knows powers of two alone, and
 * everything above it, the user and the interpreter included, knows the true sides. Every
 * value gets its sides rounded up, its elements at the beginning of each dim; what stands
 * behind them is padding. So most ops are as they were, and a function without such blocks
 * is left alone after one look at its types.
 *
 * Rule 1: padding holds anything. Who combines elements along a padded dim puts in what
 *         cannot be seen (pad_combine.c; zeros along K for a dot), unless it is known to be
 *         there: a masked-off load gives zeros, and pad_fill knows.
 * Rule 2: padding does nothing: memory is not touched, no assertion fails, nothing is printed
 *         or counted.
 * Rule 3: padding does not trap: division by 0 gives 0, an index of a gather stays inside
 *         of its source. It may be infinite, NaN or overflow.
 * Rule 4: the order of elements inside of a padded block is the row-major order of the true
 *         ones with gaps. Who counts on there being no gaps moves the elements: pad_shape.c.
 *
 * First of all passes: no other has to know, and what it makes is folded with the rest.
 */
#include "passes/tile/pad.h"

enum {
    MAX_LOOK = 16,  /* shapes behind a value that is_real follows */
    MAX_FILL = 256, /* definitions behind a value that pad_fill looks at */
};

/* ---- types ------------------------------------------------------------------------------ */

const Type *
pad_type(const Pad *p, const Val *v)
{
    const Type *t = map_get(&p->sides, v, 0);
    return t ? t : v->type;
}

/* Does v have padding along dim? */
static bool
pads(const Pad *p, const Val *v, int dim)
{
    return pad_type(p, v)->shape[dim] != v->type->shape[dim];
}

static bool
is_padded(const Pad *p, const Val *v)
{
    return map_get(&p->sides, v, 0) != NULL;
}

static void
widen(Pad *p, Val *v)
{
    const Type *t = ty_padded(p->c, v->type);
    if (t == v->type)
        return;
    map_put(&p->sides, v, 0, (void *)(uintptr_t)v->type);
    v->type = t;
}

static void
widen_block(Pad *p, Block *b)
{
    EACH_VAL(v, b) {
        widen(p, v);
        p->is_needed = p->is_needed || (v->def && v->def->op == OP_RESIZE);
    }
}

void
pad_replace(Pad *p, Val *old, Val *v)
{
    void *sides = map_get(&p->sides, old, 0);
    if (sides)
        map_put(&p->sides, v, 0, sides);
    if (!v->name)
        v->name = old->name;
    ir_replace(old, v);
}

/* ---- the report --------------------------------------------------------------------------- */

void
pad_note(Pad *p, const Op *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *what = str_vprintf(p->c->arena, fmt, ap);
    va_end(ap);
    const Loc *at = loc_user(o->loc);
    const char *key = str_printf(p->c->arena, "%s:%d: %s", at ? at->file : "?",
                                 at ? at->line : 0, what);
    if (map_get(&p->noted, key, strlen(key)))
        return;
    map_put(&p->noted, key, strlen(key), p);
    ir_report(p->f, o->loc, "padding", what);
}

/* A shape is mentioned where it is seen first; dims of 1 make no other shape of it. */
static void
note_shape(Pad *p, const Op *o, const Val *v)
{
    const Type *t = pad_type(p, v);
    const char *from = ty_shape_str(p->c->arena, t);
    int32_t key[MAX_RANK + 1] = {0};
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] > 1)
            key[++key[0]] = t->shape[d];
    if (map_get(&p->noted, key, sizeof key))
        return;
    map_put(&p->noted, key, sizeof key, p);
    double waste = 100.0 - 100.0 * (double)ty_numel(t) / (double)ty_numel(v->type);
    pad_note(p, o, "blocks of %s are padded to %s: %.0f%% of the elements are unused",
             from, ty_shape_str(p->c->arena, v->type), waste);
}

/* ---- masks and values of padding ------------------------------------------------------------ */

Val *
pad_inside(Build *b, int rank, const int32_t *shape, const int32_t *limit)
{
    Val *all = NULL;
    for (int d = 0; d < rank; d++) {
        if (limit[d] >= shape[d])
            continue;
        Val *i = ir_arange(b, 0, shape[d]);
        Val *in = ir_bin(b, OP_LT, i, ir_const_int(b, i->type, limit[d]));
        in = ir_broadcast(b, ir_as_dim(b, in, d, rank), rank, shape);
        all = all ? ir_bin(b, OP_AND, all, in) : in;
    }
    return all;
}

Val *
pad_valid(const Pad *p, Build *b, const Val *v, unsigned dims)
{
    const Type *t = pad_type(p, v);
    int32_t limit[MAX_RANK];
    for (int d = 0; d < t->rank; d++)
        limit[d] = dims >> d & 1 ? t->shape[d] : v->type->shape[d];
    return pad_inside(b, t->rank, v->type->shape, limit);
}

static bool find_fill(const Val *v, int dim, int32_t from, uint64_t *bits, int look);

/* Of an elementwise op: from what its operands have there. */
static bool
fill_elementwise(const Op *o, int dim, int32_t from, uint64_t *bits, int look)
{
    uint64_t x[3], c;
    const Type *t = result(o, 0)->type;
    int64_t limit;
    if (o->n_args > 3 || t->is_ptr || arg(o, 0)->type->is_ptr)
        return false;
    const Op *i = arg(o, 0)->def;
    if (o->op == OP_LT && i && i->op == OP_ARANGE && ir_const_as_int(arg(o, 1), &limit))
        if (limit <= ir_attr(i, ATTR_START) + from) {
            *bits = 0; /* no index so far behind is below the limit */
            return true;
        }
    if (o->op == OP_AND)
        for (int k = 0; k < 2; k++)
            if (find_fill(arg(o, k), dim, from, &c, look) && !c) {
                *bits = 0;
                return true;
            }
    if (o->op == OP_SELECT && find_fill(arg(o, 0), dim, from, &c, look))
        return find_fill(arg(o, c ? 1 : 2), dim, from, bits, look);
    for (int k = 0; k < o->n_args; k++)
        if (arg(o, k)->type->is_ptr || !find_fill(arg(o, k), dim, from, &x[k], look))
            return false;
    if (o->op == OP_CAST) {
        *bits = elem_cast(arg(o, 0)->type->elem, t->elem, x[0],
                          (int)ir_attr(o, ATTR_ROUNDING));
        return true;
    }
    return ir_eval(o->op, arg(o, 0)->type->elem, t->elem, x, o->n_args, bits);
}

static bool
find_fill(const Val *v, int dim, int32_t from, uint64_t *bits, int look)
{
    const Op *o = v->def;
    uint64_t mask;
    if (!o || look <= 0 || v->type->is_ptr)
        return false;
    look /= 1 + (o->n_args > 1);
    switch (o->op) {
    case OP_CONST: return ir_is_const(v, bits);
    case OP_SPLAT: return ir_is_const(arg(o, 0), bits);
    case OP_EXPAND: {
        int axis = (int)ir_attr(o, ATTR_AXIS);
        return dim != axis &&
               find_fill(arg(o, 0), dim - (dim > axis), from, bits, look - 1);
    }
    case OP_BROADCAST:
        return arg(o, 0)->type->shape[dim] == v->type->shape[dim] &&
               find_fill(arg(o, 0), dim, from, bits, look - 1);
    case OP_TRANS: {
        int perm[MAX_RANK];
        ir_perm(o, perm);
        return find_fill(arg(o, 0), perm[dim], from, bits, look - 1);
    }
    case OP_LOAD:
        if (o->n_args < 2 || !find_fill(arg(o, 1), dim, from, &mask, look - 1) || mask)
            return false;
        *bits = 0;
        return o->n_args < 3 || find_fill(arg(o, 2), dim, from, bits, look - 1);
    case OPS(OP_ARANGE, OPS_GRID, OP_RESHAPE, OP_JOIN, OP_SPLIT, OP_CAT, OP_RESIZE,
             OPS_MOVED, OPS_ELEM, OP_STORE, OPS_RARE_ACCESS, OPS_TENSOR, OPS_ACROSS,
             OPS_FOREIGN, OPS_FLOW, OPS_NOTES, OPS_THREADS):
        break;
    }
    return op_has(o, OPF_ELEM) && !op_is_assembly(o) && !op_is_extern(o) &&
           fill_elementwise(o, dim, from, bits, look - 1);
}

bool
pad_fill(const Val *v, int dim, int32_t from, uint64_t *bits)
{
    return find_fill(v, dim, from, bits, MAX_FILL);
}

/* v with that value in its padding along dim. */
static Val *
filled(const Pad *p, Build *b, Val *v, int dim, uint64_t bits)
{
    uint64_t there;
    if (!pads(p, v, dim) ||
        (pad_fill(v, dim, pad_type(p, v)->shape[dim], &there) && there == bits))
        return v;
    Val *in = pad_valid(p, b, v, 1u << dim);
    return ir_select(b, in, v, ir_const_bits(b, v->type, bits));
}

/* ---- what padding must not do ----------------------------------------------------------------- */

/* Is what stands in v's padding also among its elements? Then it does what they do. */
static bool
is_real(const Pad *p, const Val *v, int look)
{
    const Op *o = v->def;
    if (!is_padded(p, v) && v->type->rank)
        return true;
    if (!o || look <= 0)
        return false;
    if (o->op == OP_CONST || o->op == OP_SPLAT)
        return true;
    if (o->op != OP_EXPAND && o->op != OP_BROADCAST && o->op != OP_CAST &&
        o->op != OP_BITCAST)
        return false;
    return is_real(p, arg(o, 0), look - 1);
}

/* Operand `at`, the mask of an op on blocks like that one, becomes false in padding. */
static void
mask_like(Pad *p, Op *o, const Val *like, int at)
{
    unsigned dims = 0;
    for (int d = 0; d < like->type->rank; d++) {
        uint64_t bits;
        bool is_off = at < o->n_args &&
                      pad_fill(arg(o, at), d, pad_type(p, like)->shape[d], &bits) &&
                      !bits;
        if (!is_off)
            dims |= 1u << d;
    }
    Build b = ir_before(o);
    Val *in = is_padded(p, like) ? pad_valid(p, &b, like, dims) : NULL;
    if (in && at < o->n_args)
        ir_set_arg(o, at, ir_bin(&b, OP_AND, arg(o, at), in));
    else if (in)
        ir_add_arg(o, in);
}

static void
mask_op(Pad *p, Op *o)
{
    mask_like(p, o, arg(o, 0), op_mask_at(o));
}

static void
pad_arange(Pad *p, Op *o)
{
    int64_t start = ir_attr(o, ATTR_START), n = result(o, 0)->type->shape[0];
    if (start + n <= (int64_t)1 << 32) {
        ir_set_attr(o, ATTR_END, start + n);
        return;
    }
    Build b = ir_before(o);
    Val *i = ir_arange(&b, 0, n);
    pad_replace(p, result(o, 0),
                ir_bin(&b, OP_ADD, i, ir_const_int(&b, i->type, start)));
    ir_erase(o);
}

static void
pad_gather(Pad *p, Op *o)
{
    Val *i = arg(o, 1);
    int32_t n = arg(o, 0)->type->shape[ir_attr(o, ATTR_AXIS)];
    if (!is_padded(p, i) || is_real(p, i, MAX_LOOK))
        return;
    Build b = ir_before(o);
    if (elem_info[i->type->elem].bits < 32)
        i = ir_cast(&b, i, E_I32);
    ir_set_arg(o, 1, ir_bin(&b, OP_AND, i, ir_const_int(&b, i->type, n - 1)));
}

/* Along K both operands are 0: whatever stood there, and 0 * NaN is no 0. */
static void
pad_dot(Pad *p, Op *o)
{
    Build b = ir_before(o);
    int r = result(o, 0)->type->rank;
    for (int i = 0; i < 2; i++) {
        int k = i ? r - 2 : r - 1;
        Val *v = filled(p, &b, arg(o, i), k, 0);
        if (v != arg(o, i))
            ir_set_arg(o, i, v);
    }
    const Type *ta = pad_type(p, arg(o, 0)), *tb = pad_type(p, arg(o, 1));
    if (ta == arg(o, 0)->type && tb == arg(o, 1)->type)
        return;
    dot_set_sides(o, (DotSides){ta->shape[r - 2], tb->shape[r - 1], ta->shape[r - 1]});
    Arena *a = p->c->arena;
    pad_note(
        p, o,
        "dot of %s and %s is padded to %s and %s: where a whole tile is padding, it "
        "is left out",
        ty_shape_str(a, ta), ty_shape_str(a, tb), ty_shape_str(a, arg(o, 0)->type),
        ty_shape_str(a, arg(o, 1)->type));
}

/* Each operand has sides of its own: an op for each. */
static void
pad_print(Pad *p, Op *o)
{
    bool any = false;
    for (int i = 0; i < o->n_args; i++)
        any = any || is_padded(p, arg(o, i));
    if (!any)
        return;
    Build b = ir_before(o);
    int n = ir_n_values(o), n_mask = o->n_args - n;
    for (int i = 0; i < n; i++) {
        Val *x[2] = {arg(o, i), n_mask ? arg(o, n) : NULL};
        Op *one = ir_op(&b, OP_PRINT, 1 + n_mask, x, 0, NULL);
        ir_set_attr(one, ATTR_MASKED, n_mask);
        one->text = n == 1 ? o->text
                           : str_printf(p->c->arena, "%s(operand %d) ", o->text, i);
        ir_set_attr(one, ATTR_HEX, ir_attr(o, ATTR_HEX));
        ir_set_attr(one, ATTR_SIDES, ty_pack_sides(pad_type(p, arg(o, i))));
    }
    ir_erase(o);
}

static void
pad_histogram(Pad *p, Op *o)
{
    mask_op(p, o);
    ir_set_attr(o, ATTR_BINS, result(o, 0)->type->shape[0]);
}

/* It must not run for elements that are not there: it may have effects, and the function of a
 * library may loop, trap, or follow a pointer. */
static void
pad_foreign(Pad *p, Op *o)
{
    int n = ir_n_values(o);
    mask_like(p, o, result(o, 0), n);
    ir_set_attr(o, ATTR_MASKED, o->n_args > n);
}

/* ---- the walk ------------------------------------------------------------------------------------ */

static void pad_block(Pad *p, Block *b);

/* Is what its operands have in their padding in that of its results, and nowhere else? */
static bool
keeps_padding(const Op *o)
{
    return op_has(o, OPF_ELEM | OPF_VIEW | OPF_CONTROL | OPF_TERM) ||
           o->op == OP_CONST || o->op == OP_SPLAT || o->op == OP_BROADCAST ||
           o->op == OP_JOIN || o->op == OP_SPLIT || o->op == OP_SORT;
}

static bool
meets_padding(const Pad *p, const Op *o)
{
    bool meets = false;
    for (int i = 0; i < o->n_args; i++)
        meets |= is_padded(p, arg(o, i));
    for (int i = 0; i < o->n_results; i++)
        meets |= is_padded(p, result(o, i));
    return meets;
}

static void
pad_op(Pad *p, Op *o)
{
    for (int i = 0; i < o->n_results; i++)
        if (is_padded(p, result(o, i)))
            note_shape(p, o, result(o, i));
    switch (o->op) {
    case OP_ARANGE:
        if (is_padded(p, result(o, 0)))
            pad_arange(p, o);
        return;
    case OP_ASSERT:
        ir_set_attr(o, ATTR_SIDES, ty_pack_sides(pad_type(p, arg(o, 0))));
        mask_op(p, o);
        return;
    case OP_PRINT: pad_print(p, o); return;
    case OP_HISTOGRAM: pad_histogram(p, o); return;
    case OP_GATHER: pad_gather(p, o); return;
    case OP_DOT: pad_dot(p, o); return;
    case OP_RESHAPE: pad_reshape(p, o); return;
    case OP_CAT: pad_cat(p, o); return;
    case OP_RESIZE: pad_resize(p, o); return;
    case OP_REDUCE:
    case OP_SCAN: pad_combine(p, o); return;
    case OPS(OP_INLINE_ASM_IO, OP_EXTERN, OP_EXTERN_IO): pad_foreign(p, o); return;
    case OPS(OP_CONST, OP_SPLAT, OPS_GRID, OP_EXPAND, OP_BROADCAST, OP_TRANS, OP_JOIN,
             OP_SPLIT, OPS_MOVED, OPS_ELEM, OPS_ACCESS, OPS_TENSOR, OP_SORT,
             OP_INLINE_ASM, OPS_FLOW, OP_ASSUME, OP_DEBUG, OPS_THREADS):
        if (op_mask_at(o))
            mask_op(p, o);
        else if (!keeps_padding(o) && meets_padding(p, o))
            unreachable(p->f->c);
    }
    for (int i = 0; i < o->n_regions; i++)
        pad_block(p, o->regions[i]);
}

static void
pad_block(Pad *p, Block *b)
{
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        pad_op(p, o);
    }
}

void
pass_pad_blocks(Func *f)
{
    Arena *a = f->c->arena;
    Pad p = {.f = f, .c = f->c, .sides.a = a, .whole.a = a, .noted.a = a};
    widen_block(&p, f->body);
    if (p.sides.n || p.is_needed)
        pad_block(&p, f->body);
}
