/* narrow_loads: what a load brings several times it brings once.
 *
 *     %row = shr %k, 3                              k: 0 .. 63, so each row stands eight times
 *     %p = .. broadcast(%row * N) + ..              words of eight numbers of four bits
 *     %w = load %p : i32[64, 64]
 * =>
 *     %q = .. broadcast(%few * N) + ..              %few = arange 0 .. 7
 *     %v = load %q : i32[8, 64]
 *     %w = reshape (broadcast (expand_dims %v {axis=1}))
 *
 * Threads hold the copies of a word side by side then, where that suits: one load, and shifts that
 * are constants. An asynchronous copy has an eighth of the bytes. Kernels of GPTQ and AWQ index their
 * weights, scales and zeros so.
 *
 *     %s = load %p : f16[64, 64]                    64 rows of one group of 128
 * =>
 *     %v = load %q : f16[1, 64]
 *     %s = broadcast %v
 *
 * What is computed of %s and of nothing else that differs by rows is computed of %v.
 *
 * The scale of a block of float8 is one number for all columns of a tile, or one for many. Threads have the
 * columns of a product's result in many registers, so what it is multiplied by is narrowed, too: a row whose
 * elements are all one number is loaded as that number.
 *
 * Rule 1: every 2^k-th element of a value is computed again, of ops that threads do alike and of what
 *         loops carry. Nothing is loaded twice.
 * Rule 2: a part of a side is narrowed only where an operand of a product is computed from the load, or a row
 *         meets a product's result: others lie as their neighbours do, and copies of them would have to be
 *         moved. What loops carry as a row of several numbers would be moved to a result, too. A
 *         whole side is narrowed for all: any layout of a broadcast is one of its operand, too.
 */
#include "passes/passes.h"

enum { MAX_DEPTH = 24, MAX_USES = 64 };

/* Of each 1 << log2 neighbours along a dim the first. */
typedef struct Narrow {
    Func *f;
    FactTable *facts;
    Map made; /* Part -> the new value */
    int log2;
    bool is_number; /* all elements are one, which is a scalar then */
} Narrow;

typedef struct Part {
    const Val *v;
    int64_t dim;
} Part;

static const Type *
part_type(const Narrow *n, const Type *t, int dim)
{
    return n->is_number ? ty_element(n->f->c, t)
                        : ty_with_side(n->f->c, t, dim, t->shape[dim] >> n->log2);
}

/* The loop that carries v; NULL: none does. */
static Op *
carrier(const Val *v)
{
    Op *o = v->def ? NULL : v->block->owner;
    return o && o->op == OP_FOR && v->index ? o : NULL;
}

static bool
is_alike(const Op *o)
{
    return op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && o->n_results == 1 &&
           !o->n_regions && !op_is_assembly(o);
}

/* The dim of o's operand that dim of its result is. */
static int
operand_dim(const Op *o, int dim)
{
    int perm[MAX_RANK];
    if (o->op == OP_EXPAND)
        return dim - (dim > (int)ir_attr(o, ATTR_AXIS));
    if (o->op != OP_TRANS)
        return dim;
    ir_perm(o, perm);
    return perm[dim];
}

static bool
is_view(const Op *o)
{
    return o->op == OP_EXPAND || o->op == OP_TRANS || o->op == OP_BROADCAST;
}

static bool
can_narrow(const Val *v, int dim, int depth, Map *seen)
{
    const Op *o = v->def, *loop = carrier(v);
    Part part = {v, dim};
    if (!depth || map_get(seen, &part, sizeof part))
        return depth;
    map_put(seen, &part, sizeof part, (void *)v);
    if (loop)
        return can_narrow(arg(loop, 2 + v->index), dim, depth - 1, seen) &&
               can_narrow(arg(v->block->last, v->index - 1), dim, depth - 1, seen);
    if (!o)
        return false;
    if (o->op == OP_CONST || o->op == OP_SPLAT || o->op == OP_ARANGE)
        return true;
    if (!is_view(o) && !is_alike(o))
        return false;
    int of = operand_dim(o, dim);
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->type->rank && arg(o, i)->type->shape[of] > 1 &&
            !can_narrow(arg(o, i), of, depth - 1, seen))
            return false;
    return true;
}

static Val *narrow(Narrow *n, Val *v, int dim);

static Val *
narrow_arange(Narrow *n, Build *b, const Op *o)
{
    Val *few = ir_arange(b, 0, result(o, 0)->type->shape[0] >> n->log2);
    int64_t start = ir_attr(o, ATTR_START);
    if (n->is_number)
        return ir_const_int(b, part_type(n, result(o, 0)->type, 0), start);
    Val *x = ir_bin(b, OP_MUL, few, ir_const_int(b, few->type, 1LL << n->log2));
    return start ? ir_bin(b, OP_ADD, x, ir_const_int(b, x->type, start)) : x;
}

/* k for which o shifts by k or divides by 2^k; else 0. */
static int
shift_of(const Op *o)
{
    int64_t c;
    if ((o->op != OP_SHR && o->op != OP_DIV) || !ir_const_as_int(arg(o, 1), &c) ||
        c < 1)
        return 0;
    return o->op == OP_SHR ? (int)MIN(c, MAX_LOG2) : c & (c - 1) ? 0 : log2_of(c);
}

/* (a + arange) >> k is (a >> k) + arange, where runs begin at multiples of 2^k: so all know that the
 * numbers follow each other. NULL: o is nothing like that. */
static Val *
narrow_shift(Narrow *n, Build *b, const Op *o)
{
    const Val *x = arg(o, 0), *from = NULL;
    const Op *expand = x->def && x->def->op == OP_EXPAND ? x->def : NULL;
    x = expand ? arg(expand, 0) : x;
    for (int i = 0; i < 2 && x->def && x->def->op == OP_ADD && !from; i++)
        if (arg(x->def, i)->def && arg(x->def, i)->def->op == OP_SPLAT) {
            from = arg(arg(x->def, i)->def, 0);
            x = arg(x->def, 1 - i);
        }
    if (!x->def || x->def->op != OP_ARANGE || n->log2 != shift_of(o) ||
        ir_attr(x->def, ATTR_START) ||
        (from && facts_divisibility(n->facts, from, n->log2) < n->log2))
        return NULL;
    Val *few = ir_arange(b, 0, x->type->shape[0] >> n->log2);
    if (from) {
        Val *first = ir_bin(b, o->op, (Val *)from,
                            ir_const_int(b, from->type,
                                         o->op == OP_SHR ? n->log2 : 1LL << n->log2));
        few = ir_bin(b, OP_ADD, ir_splat(b, first, 1, few->type->shape), few);
    }
    return expand ? ir_expand(b, few, (int)ir_attr(expand, ATTR_AXIS)) : few;
}

static Val *
narrow_carried(Narrow *n, Op *loop, Val *v, int dim)
{
    Val *more = ir_carry(loop, narrow(n, arg(loop, 2 + v->index), dim), v->name);
    Part part = {v, dim};
    map_put(&n->made, &part, sizeof part, more);
    ir_add_arg(v->block->last, narrow(n, arg(v->block->last, v->index - 1), dim));
    return more;
}

static Val *
narrow_op(Narrow *n, Op *o, int dim)
{
    Build b = ir_before(o);
    const Type *t = part_type(n, result(o, 0)->type, dim);
    uint64_t bits;
    if (ir_is_const(result(o, 0), &bits))
        return ir_const_bits(&b, t, bits);
    if (o->op == OP_SPLAT)
        return n->is_number ? arg(o, 0) : ir_splat(&b, arg(o, 0), t->rank, t->shape);
    if (n->is_number && is_view(o))
        return narrow(n, arg(o, 0), operand_dim(o, dim));
    if (o->op == OP_ARANGE)
        return narrow_arange(n, &b, o);
    Val *shifted = n->is_number ? NULL : narrow_shift(n, &b, o);
    if (shifted)
        return shifted;
    Map parts = {.a = n->f->c->arena};
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->type->rank)
            map_put(&parts, arg(o, i), 0, narrow(n, arg(o, i), operand_dim(o, dim)));
    Val *part = result(ir_clone(&b, o, &parts), 0);
    part->type = t;
    return part;
}

static Val *
narrow(Narrow *n, Val *v, int dim)
{
    Part part = {v, dim};
    Val *known = map_get(&n->made, &part, sizeof part);
    if (known || (v->type->shape[dim] == 1 && !n->is_number))
        return known ? known : v;
    Op *loop = carrier(v);
    if (loop)
        return narrow_carried(n, loop, v, dim);
    Val *few = narrow_op(n, v->def, dim);
    map_put(&n->made, &part, sizeof part, few);
    return few;
}

/* v with each element 1 << log2 times along dim. */
static Val *
repeat(Build *b, Val *v, int dim, const Type *t)
{
    int32_t times = t->shape[dim] / v->type->shape[dim];
    if (v->type->shape[dim] == 1)
        return ir_broadcast(b, v, t->rank, t->shape);
    Val *wide = ir_expand(b, v, dim + 1);
    const Type *all = ty_with_side(b->f->c, wide->type, dim + 1, times);
    wide = ir_broadcast(b, wide, all->rank, all->shape);
    return ir_op1(b, OP_RESHAPE, 1, &wide, t);
}

/* ---- which loads --------------------------------------------------------------------- */

/* Is an operand of a product computed from v? */
static bool
reaches_dot(const Val *v, int depth, int *budget)
{
    for (const Use *u = v->uses; u && depth; u = u->next) {
        const Op *o = u->user;
        if (o->op == OP_DOT && u - o->args < 2)
            return true;
        if (--*budget >= 0 && op_has(o, OPF_PURE) && o->n_results == 1 &&
            reaches_dot(result(o, 0), depth - 1, budget))
            return true;
    }
    return false;
}

/* Is v a product's result, or computed of one? */
static bool
is_of_product(const Val *v, int depth)
{
    const Op *o = v->def;
    if (!o || !depth)
        return false;
    bool is_it = o->op == OP_DOT;
    for (int i = 0; i < o->n_args && !is_it && is_alike(o); i++)
        is_it = is_of_product(arg(o, i), depth - 1);
    return is_it;
}

/* Is something elementwise computed of v and of a product's result? */
static bool
meets_product(const Val *v, int depth, int *budget)
{
    enum { NEAR = 4 };
    for (const Use *u = v->uses; u && depth && --*budget >= 0; u = u->next) {
        const Op *o = u->user;
        if (!is_view(o) && !is_alike(o))
            continue;
        for (int i = 0; i < o->n_args; i++)
            if (arg(o, i) != v && is_of_product(arg(o, i), NEAR))
                return true;
        if (meets_product(result(o, 0), depth - 1, budget))
            return true;
    }
    return false;
}

/* Does a loop carry what v is computed of? */
static bool
is_carried(const Val *v, int *budget)
{
    const Op *o = v->def;
    if (!v->type->rank)
        return false;
    bool is_it = !o || --*budget < 0;
    for (int i = 0; !is_it && i < o->n_args; i++)
        is_it = is_carried(arg(o, i), budget);
    return is_it;
}

/* log2 of how often each element stands along dim, as its pointer and mask say; 0 as well
 * where has_runs is false and not all along dim are the same. */
static int
log2_copies(FactTable *facts, const Op *o, int dim, bool has_runs)
{
    int all = log2_of(result(o, 0)->type->shape[dim]), log2 = all;
    for (int i = 0; i < o->n_args && log2; i++) {
        Map seen = {.a = o->block->func->c->arena};
        log2 = can_narrow(arg(o, i), dim, MAX_DEPTH, &seen)
                   ? facts_constancy(facts, arg(o, i), dim, log2)
                   : 0;
        log2 = has_runs || log2 == all ? log2 : 0;
    }
    return log2;
}

static Op *
narrow_load(FactTable *facts, Map *wide, Op *o, int dim, int log2, bool is_number)
{
    Func *f = o->block->func;
    Build b = ir_before(o);
    Narrow n = {.f = f,
                .facts = facts,
                .log2 = log2,
                .made = {.a = f->c->arena},
                .is_number = is_number};
    Val *args[3], *old = result(o, 0);
    for (int i = 0; i < o->n_args; i++)
        args[i] = narrow(&n, arg(o, i), dim);
    const Type *t = part_type(&n, old->type, dim);
    Op *few = ir_op(&b, OP_LOAD, o->n_args, args, 1, &t);
    memcpy(few->attr, o->attr, sizeof few->attr);
    result(few, 0)->name = old->name;
    Val *v = result(few, 0);
    Val *all = is_number ? ir_splat(&b, v, 1, old->type->shape)
                         : repeat(&b, v, dim, old->type);
    if (!is_number && t->shape[dim] == 1)
        map_put(wide, all, 0, all);
    ir_replace(old, all);
    ir_erase(o);
    return few;
}

/* ---- what is computed of them -------------------------------------------------------------- */

/* The dim along which all of v are the same, as v is a broadcast that stands in `wide`; -1: none. */
static int
filled_dim(Map *wide, const Val *v)
{
    if (!map_get(wide, v, 0))
        return -1;
    int dim = 0;
    while (arg(v->def, 0)->type->shape[dim] == v->type->shape[dim])
        dim++;
    return dim;
}

static bool
is_filled(const Val *v, int dim)
{
    const Op *o = v->def;
    return !v->type->rank || v->type->shape[dim] == 1 ||
           (o && (o->op == OP_CONST || o->op == OP_SPLAT ||
                  (o->op == OP_BROADCAST && arg(o, 0)->type->shape[dim] == 1)));
}

/* Does the result's dim belong to that of the operands alone? */
static bool
keeps_dim(const Op *o, int dim)
{
    const Type *from = arg(o, 0)->type, *to = result(o, 0)->type;
    if (o->op != OP_RESHAPE)
        return is_alike(o) || o->op == OP_JOIN;
    for (int d = 0; d <= dim; d++)
        if (d >= to->rank || from->shape[d] != to->shape[d])
            return false;
    return true;
}

/* One of all along dim. */
static Val *
one_of(Narrow *n, Build *b, Val *v, int dim)
{
    const Type *t = v->type;
    uint64_t bits;
    if (!t->rank || t->shape[dim] == 1)
        return v;
    t = part_type(n, t, dim);
    if (ir_is_const(v, &bits))
        return ir_const_bits(b, t, bits);
    return v->def->op == OP_SPLAT ? ir_splat(b, arg(v->def, 0), t->rank, t->shape)
                                  : ir_broadcast(b, arg(v->def, 0), t->rank, t->shape);
}

/* What is computed of such a load and of what is the same along its dim is computed once, and
 * spread behind that. */
static void
spread_later(Func *f, Map *wide, Op *o)
{
    int dim = -1;
    for (int i = 0; i < o->n_args && dim < 0; i++)
        dim = filled_dim(wide, arg(o, i));
    if (dim < 0 || o->n_results != 1 || !keeps_dim(o, dim))
        return;
    for (int i = 0; i < o->n_args; i++)
        if (!is_filled(arg(o, i), dim))
            return;
    Val *old = result(o, 0);
    Narrow n = {.f = f, .log2 = log2_of(old->type->shape[dim])};
    Build b = ir_before(o);
    Map parts = {.a = f->c->arena};
    for (int i = 0; i < o->n_args; i++)
        map_put(&parts, arg(o, i), 0, one_of(&n, &b, arg(o, i), dim));
    Val *one = result(ir_clone(&b, o, &parts), 0);
    one->type = part_type(&n, old->type, dim);
    Val *all = ir_broadcast(&b, one, old->type->rank, old->type->shape);
    map_put(wide, all, 0, all);
    ir_replace(old, all);
    ir_erase(o);
}

/* A row that a product's result is multiplied by, or the like. False: it stays for the rule of all loads. */
static bool
narrow_row(Func *f, Map *wide, Op *o)
{
    enum { FAR = 8 };
    int uses = MAX_USES, steps = MAX_USES;
    const Type *t = result(o, 0)->type;
    if (t->rank != 1 || !meets_product(result(o, 0), FAR, &uses))
        return false;
    FactTable *facts = facts_new(f);
    int log2 = log2_copies(facts, o, 0, true);
    bool is_number = log2 && log2 == log2_of(t->shape[0]);
    if (!is_number && (!log2 || is_carried(arg(o, 0), &steps)))
        return false;
    narrow_load(facts, wide, o, 0, log2, is_number);
    return true;
}

void
pass_narrow_loads(Func *f)
{
    Map wide = {.a = f->c->arena}; /* broadcasts of loads of which all were the same */
    EACH_OP_INSIDE_OUT(o, f->body) {
        int budget = MAX_USES;
        if (o->op != OP_LOAD) {
            spread_later(f, &wide, o);
            continue;
        }
        int rank = result(o, 0)->type->rank;
        if (!rank || rank == MAX_RANK || ir_attr(o, ATTR_VOLATILE))
            continue;
        Op *load = o;
        bool has_runs = reaches_dot(result(o, 0), MAX_DEPTH, &budget);
        if (!has_runs && narrow_row(f, &wide, o))
            continue;
        for (int dim = 0; dim < rank; dim++) {
            FactTable *facts = facts_new(f);
            int log2 = log2_copies(facts, load, dim, has_runs);
            if (log2)
                load = narrow_load(facts, &wide, load, dim, log2, false);
        }
    }
}
