/* promote_tma: loads through plain pointers that feed products become accesses to tensors.
 *
 *     %a = load %p, %m : f16[128, 64]            pointers and a mask of rows and columns
 * =>
 *     %t = tile_load %base, %M, %K, %stride, %i, %k : f16[128, 64]
 *     launch_test ..                             what the launch must see to be so
 *
 * analysis/tensors.c says which. map_tiles takes over from here; a tensor that it would refuse is
 * not begun. Other loads stay as they are: copies pay where warps of their own (roles) bring them
 * ahead of products, and whether they do is tried on a copy of the function first.
 */
#include "passes/passes.h"
#include "passes/tiles.h"

enum { MAX_DEPTH = 4 };

typedef struct Promote {
    Func *f;
    FactTable *facts;
    OnTop top;
    VEC(Op *) load;
} Promote;

/* Does a product read v, or its transpose or cast? */
static bool
feeds_dot(const Val *v, int depth)
{
    for (const Use *u = v->uses; u && depth < MAX_DEPTH; u = u->next) {
        const Op *o = u->user;
        bool is_factor = o->op == OP_DOT && (arg(o, 0) == v || arg(o, 1) == v);
        bool passes = o->op == OP_TRANS || o->op == OP_CAST;
        if (is_factor || (passes && feeds_dot(result(o, 0), depth + 1)))
            return true;
    }
    return false;
}

static bool
is_candidate(const Op *o)
{
    uint64_t bits;
    return o->op == OP_LOAD && result(o, 0)->type->rank && !ir_attr(o, ATTR_VOLATILE) &&
           ir_attr(o, ATTR_CACHE) <= CACHE_CG && ir_attr(o, ATTR_EVICT) == EVICT_NONE &&
           !result(o, 0)->type->is_ptr &&
           (o->n_args < 3 || (ir_is_const(arg(o, 2), &bits) && !bits)) &&
           feeds_dot(result(o, 0), 0);
}

static void
collect(Promote *p, Block *b)
{
    for (Op *o = b->first; o; o = o->next) {
        if (is_candidate(o))
            PUSH(p->f->c->arena, &p->load, o);
        for (int i = 0; i < o->n_regions; i++)
            collect(p, o->regions[i]);
    }
}

/* ---- sums as code ----------------------------------------------------------------------- */

static Val *
as_elem(Build *b, const Val *v, Elem e)
{
    return ir_cast(b, (Val *)v, e);
}

static Val *
emit_sum(Build *b, const AffSum *s, Elem e)
{
    const Type *t = ty_scalar(b->f->c, e);
    Val *sum = NULL;
    for (int i = 0; i < s->n; i++) {
        const AffTerm *k = &s->term[i];
        Val *x = as_elem(b, k->a, e);
        if (k->b)
            x = ir_bin(b, OP_MUL, x, as_elem(b, k->b, e));
        if (k->factor != 1)
            x = ir_bin(b, OP_MUL, x, ir_const_int(b, t, k->factor));
        sum = sum ? ir_bin(b, OP_ADD, sum, x) : x;
    }
    if (sum && s->c)
        return ir_bin(b, OP_ADD, sum, ir_const_int(b, t, s->c));
    return sum ? sum : ir_const_int(b, t, s->c);
}

/* In 32 bits where no part has more. */
static Val *
emit_coordinate(Build *b, const TensorDim *d)
{
    Elem e = d->coord.c == (int32_t)d->coord.c ? E_I32 : E_I64;
    for (int i = 0; i < d->coord.n; i++) {
        const AffTerm *k = &d->coord.term[i];
        if (k->a->type->elem != E_I32 || (k->b && k->b->type->elem != E_I32))
            e = E_I64;
    }
    if (d->modulus && d->modulus->type->elem != E_I32)
        e = E_I64;
    Val *v = emit_sum(b, &d->coord, e);
    return d->modulus ? ir_bin(b, OP_REM, v, as_elem(b, d->modulus, e)) : v;
}

static Val *
emit_size(Build *b, const TensorDim *d)
{
    if (d->modulus)
        return as_elem(b, d->modulus, E_I64);
    if (!d->is_bounded) /* as many as there are indices */
        return ir_const_int(b, ty_scalar(b->f->c, E_I64), INT32_MAX);
    return emit_sum(b, &d->size, E_I64);
}

/* ---- the change ------------------------------------------------------------------------- */

static Op *
emit_tile(Build *b, const Op *load, const TensorBlock *t)
{
    const Type *block = result(load, 0)->type;
    Val *args[3 * MAX_TMAP_RANK];
    int32_t shape[MAX_RANK];
    int n = 0, rank = 0;
    AffSum none = {0};
    args[n++] = (Val *)t->pointer;
    if (!aff_is_same(&t->offset, &none))
        args[0] = ir_addptr(b, args[0], emit_sum(b, &t->offset, E_I64));
    for (int d = 0; d < t->rank; d++) {
        if (t->dim[d].block_dim >= 0)
            shape[rank++] = block->shape[t->dim[d].block_dim];
        args[n++] = emit_size(b, &t->dim[d]);
    }
    for (int d = 0; d < t->rank - 1; d++)
        args[n++] = emit_sum(b, &t->dim[d].stride, E_I64);
    for (int d = 0; d < t->rank; d++)
        args[n++] = emit_coordinate(b, &t->dim[d]);
    const Type *type = ty_block(b->f->c, ty_element(b->f->c, block), rank, shape);
    return ir_op(b, OP_TILE_LOAD, n, args, 1, &type);
}

/* The tile as the block that was loaded, in its order of dims. */
static Val *
as_block(Build *b, Val *v, const TensorBlock *t, const Type *block)
{
    int perm[MAX_RANK], rank = 0, is_moved = 0;
    for (int d = 0; d < t->rank; d++) {
        int to = t->dim[d].block_dim;
        if (to < 0)
            continue;
        is_moved |= to != rank;
        perm[to] = rank++;
    }
    if (!is_moved)
        return v;
    Op *o = ir_op(b, OP_TRANS, 1, &v, 1, &block);
    ir_set_attr(o, ATTR_PERM, perm_pack(rank, perm));
    return result(o, 0);
}

static void
ask(Promote *p, Val *v, OpCode op, int64_t n)
{
    Build *b = &p->top.b;
    Val *x = on_top(&p->top, v);
    const Type *t = x->type;
    if (op == OP_REM)
        x = ir_bin(b, OP_REM, x, ir_const_int(b, t, n));
    Val *ok = ir_bin(b, op == OP_REM ? OP_EQ : OP_GE, x, ir_const_int(b, t, 0));
    ir_op(b, OP_LAUNCH_TEST, 1, &ok, 0, NULL);
}

static void
ask_all(Promote *p, const TensorBlock *t, const Type *block)
{
    for (int i = 0; i < t->n_not_negative; i++)
        ask(p, (Val *)t->not_negative[i], OP_GE, 0);
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].modulus)
            ask(p, (Val *)t->dim[d].modulus, OP_REM, block->shape[t->dim[d].block_dim]);
}

/* Why the load stays one; NULL: it does not. */
static const char *
promote(Promote *p, Op *load)
{
    TensorBlock t;
    const Type *block = result(load, 0)->type;
    const char *why = tensor_block(p->f, load, &t);
    if (why)
        return why;
    Build b = {.f = p->f, .block = load->block, .before = load, .loc = load->loc};
    Op *tile = emit_tile(&b, load, &t);
    why = tile_refusal(p->f, p->facts, tile);
    if (why) {
        ir_erase(tile);
        return why;
    }
    ask_all(p, &t, block);
    Val *v = as_block(&b, result(tile, 0), &t, block);
    result(tile, 0)->name = v->name = result(load, 0)->name; /* brought() looks for it */
    ir_replace(result(load, 0), v);
    ir_erase(load);
    return NULL;
}

/* ---- is it of use? ---------------------------------------------------------------------- */

enum { MARK = 24 };

static void
mark(char *name, int i)
{
    snprintf(name, MARK, "promoted.%d", i);
}

static void
note_brought(const Func *f, const Block *b, bool *out, int n)
{
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_regions; i++)
            note_brought(f, o->regions[i], out, n);
        const char *name = o->op == OP_MAP_LOAD ? result(o, 0)->name : NULL;
        for (int i = 0; name && i < n; i++) {
            char mine[MARK];
            mark(mine, i);
            if (!strcmp(name, mine) && roles_bring(f, o))
                out[i] = true;
        }
    }
}

static Promote
open_on(Func *f)
{
    Promote p = {.f = f, .facts = facts_new(f), .top = on_top_of(f)};
    collect(&p, f->body);
    return p;
}

/* Which loads warps of their own would bring: tried on a copy. */
static bool *
brought(Func *f, int n)
{
    bool *out = NEW_N(f->c->arena, bool, n + 1);
    Func *copy = ir_parse(f->c, ir_print(f, true));
    Promote p = open_on(copy);
    for (int i = 0; i < p.load.n; i++) {
        char name[MARK];
        mark(name, i);
        result(p.load.at[i], 0)->name = str_intern(f->c, name);
        promote(&p, p.load.at[i]);
    }
    pass_map_tiles(copy);
    if (!roles_refusal(copy))
        note_brought(copy, copy->body, out, n);
    return out;
}

static const char *
not_brought(const Func *f, const Op *load)
{
    TensorBlock t;
    const char *why = tensor_block(f, load, &t);
    return why ? why : "no warps would bring it beside the others";
}

void
pass_promote_tma(Func *f)
{
    HopperPlan plan = hopper_plan(f);
    if (!plan.promotes)
        return;
    Promote p = open_on(f);
    if (!p.load.n)
        return;
    const bool *is_of_use = plan.has_all_maps ? NULL : brought(f, p.load.n);
    for (int i = 0; i < p.load.n; i++) {
        Op *load = p.load.at[i];
        const Loc *at = load->loc;
        const char *why = is_of_use && !is_of_use[i] ? not_brought(f, load)
                                                     : promote(&p, load);
        if (why)
            ir_report(f, at, "tensor map", str_printf(f->c->arena, "none: %s", why));
    }
}
