/* promote_tma: loads through plain pointers that feed products become accesses to tensors, and with
 * them stores of what products gave.
 *
 *     %a = load %p, %m : f16[128, 64]            pointers and a mask of rows and columns
 * =>
 *     %t = tile_load %base, %M, %K, %stride, %i, %k : f16[128, 64]
 *     launch_test ..                             what the launch must see to be so
 *
 * analysis/tensors.c says which. map_tiles takes over from here; a tensor that it would refuse is
 * not begun. Other loads stay as they are: copies pay where warps of their own (roles) bring them
 * ahead of products, and whether they do is tried on a copy of the function first. Nor is a loop
 * begun whose blocks would come one by tensor maps, another by a load that nothing runs ahead of.
 */
#include "passes/passes.h"
#include "passes/tile/tiles.h"

enum { MAX_DEPTH = 4 };

typedef struct Promote {
    Func *f;
    FactTable *facts;
    OnTop top;
    VEC(AffSum) asked; /* of launches: not to be negative */
    VEC(Op *) load;
    VEC(Op *) store;
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
    return o->op == OP_LOAD && result(o, 0)->type->rank &&
           !result(o, 0)->type->is_ptr && feeds_dot(result(o, 0), 0);
}

/* What a copy of a tensor cannot do for the load or store; NULL: nothing. Where lines stay in L2 is
 * a hint. */
static const char *
refused_access(const Op *o)
{
    if (o->op == OP_STORE)
        return ir_attr(o, ATTR_CACHE) == CACHE_NONE
                   ? NULL
                   : "its `cache_modifier` is for stores of each thread";
    if (ir_attr(o, ATTR_VOLATILE) || ir_attr(o, ATTR_CACHE) > CACHE_CG)
        return "its `volatile` or `cache_modifier` is for loads of each thread";
    if (o->n_args == 3 && !ir_is_zero(arg(o, 2)))
        return "`other` is not 0";
    return NULL;
}

static const char *
tensor_of(const Func *f, const Op *access, TensorBlock *out)
{
    const char *why = refused_access(access);
    return why ? why : tensor_block(f, access, out);
}

/* Did a product give v, or what v is computed from element by element? */
static bool
is_of_dot(const Val *v, int depth)
{
    const Op *o = v->def;
    if (!o || depth == MAX_DEPTH)
        return false;
    if (o->op == OP_FOR)
        return is_of_dot(arg(o->regions[0]->last, v->index), depth + 1);
    bool is_through = op_has(o, OPF_ELEM) || o->op == OP_TRANS || o->op == OP_HINT;
    for (int i = 0; i < o->n_args && is_through; i++)
        if (is_of_dot(arg(o, i), depth + 1))
            return true;
    return o->op == OP_DOT;
}

/* Threads hold a product's result as tensor cores gave it, and rows only through shared memory. */
static bool
is_stored_product(const Op *o)
{
    return o->op == OP_STORE && arg(o, 1)->type->rank > 1 && !arg(o, 1)->type->is_ptr &&
           is_of_dot(arg(o, 1), 0);
}

static void
collect_loads(Promote *p, Block *b)
{
    EACH_OP(o, b) {
        if (is_candidate(o))
            PUSH(p->f->c->arena, &p->load, o);
        if (is_stored_product(o))
            PUSH(p->f->c->arena, &p->store, o);
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

static bool
fits_32_bits(const AffSum *s)
{
    for (int i = 0; i < s->n; i++) {
        const AffTerm *k = &s->term[i];
        if (k->a->type->elem != E_I32 || (k->b && k->b->type->elem != E_I32))
            return false;
    }
    return s->c == (int32_t)s->c;
}

/* In 32 bits where no part has more. */
static Val *
emit_coordinate(Build *b, const TensorDim *d)
{
    Elem e = fits_32_bits(&d->coord) && fits_32_bits(&d->modulus) ? E_I32 : E_I64;
    Val *v = emit_sum(b, &d->coord, e);
    if (d->is_from_front)
        return ir_bin(b, OP_ADD, v, ir_const_int(b, v->type, TENSOR_FRONT));
    return aff_is_zero(&d->modulus) ? v
                                    : ir_bin(b, OP_REM, v, emit_sum(b, &d->modulus, e));
}

static Val *
emit_size(Build *b, const TensorDim *d)
{
    if (!aff_is_zero(&d->modulus))
        return emit_sum(b, &d->modulus, E_I64);
    if (!d->is_bounded) /* as many as there are indices */
        return ir_const_int(b, ty_scalar(b->f->c, E_I64), MAX_MAP_SIDE);
    Val *v = emit_sum(b, &d->size, E_I64);
    return d->is_from_front
               ? ir_bin(b, OP_ADD, v, ir_const_int(b, v->type, TENSOR_FRONT))
               : v;
}

/* Where the tensor's first index of each dim would be. */
static Val *
emit_base(Build *b, const TensorBlock *t)
{
    Val *front = NULL, *base = (Val *)t->pointer;
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].is_from_front) {
            Val *by = emit_sum(b, &t->dim[d].stride, E_I64);
            front = front ? ir_bin(b, OP_ADD, front, by) : by;
        }
    if (!aff_is_zero(&t->offset))
        base = ir_addptr(b, base, emit_sum(b, &t->offset, E_I64));
    if (!front)
        return base;
    Val *rows = ir_const_int(b, front->type, -(int64_t)TENSOR_FRONT);
    return ir_addptr(b, base, ir_bin(b, OP_MUL, front, rows));
}

/* ---- the change ------------------------------------------------------------------------- */

/* perm[d]: the tile's dim that is dim d of the block. False: they are the same. */
static bool
is_turned(const TensorBlock *t, int *perm)
{
    int rank = 0;
    bool differs = false;
    for (int d = 0; d < t->rank; d++) {
        int to = t->dim[d].block_dim;
        if (to < 0)
            continue;
        differs |= to != rank;
        perm[to] = rank++;
    }
    return differs;
}

/* v with its dims as perm says. */
static Val *
turn(Build *b, Val *v, const int *perm, const Type *t)
{
    Op *o = ir_op(b, OP_TRANS, 1, &v, 1, &t);
    ir_set_attr(o, ATTR_PERM, perm_pack(v->type->rank, perm));
    return result(o, 0);
}

/* Such a map begins where no memory need be, and a copy that lies in front of it altogether is an
 * illegal address on a chip. */
static bool
begins_in_front(const TensorBlock *t)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].is_from_front)
            return true;
    return false;
}

/* value: what a store stores; NULL: it is a load. */
static Op *
emit_tile(Build *b, const Type *block, const TensorBlock *t, Val *value)
{
    Val *args[3 * MAX_TMAP_RANK + 1];
    int32_t shape[MAX_RANK];
    int n = 0, rank = 0;
    args[n++] = emit_base(b, t);
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
    if (!value) {
        Op *o = ir_op(b, OP_TILE_LOAD, n, args, 1, &type);
        ir_set_attr(o, ATTR_PADDING, begins_in_front(t) ? PAD_BEHIND : PAD_ZERO);
        return o;
    }
    int perm[MAX_RANK], back[MAX_RANK];
    if (is_turned(t, perm)) {
        for (int d = 0; d < rank; d++)
            back[perm[d]] = d;
        value = turn(b, value, back, type);
    }
    args[n++] = value;
    return ir_op(b, OP_TILE_STORE, n, args, 0, NULL);
}

/* i1 on top: is v a multiple of n? */
static Val *
is_multiple(Promote *p, Val *v, int64_t n)
{
    Build *b = &p->top.b;
    Val *x = on_top(&p->top, v);
    x = ir_bin(b, OP_REM, x, ir_const_int(b, x->type, n));
    return ir_bin(b, OP_EQ, x, ir_const_int(b, x->type, 0));
}

static Val *
is_not_negative(Promote *p, AffSum sum)
{
    Build *b = &p->top.b;
    for (int i = 0; i < sum.n; i++) {
        AffTerm *t = &sum.term[i];
        t->a = on_top(&p->top, (Val *)t->a);
        t->b = t->b ? on_top(&p->top, (Val *)t->b) : NULL;
    }
    bool is_one = sum.n == 1 && !sum.c && sum.term[0].factor == 1 && !sum.term[0].b;
    Val *x = is_one ? (Val *)sum.term[0].a : emit_sum(b, &sum, E_I64);
    return ir_bin(b, OP_GE, x, ir_const_int(b, x->type, 0));
}

static bool
is_asked(const Promote *p, const AffSum *sum)
{
    for (int i = 0; i < p->asked.n; i++)
        if (aff_is_same(&p->asked.at[i], sum))
            return true;
    return false;
}

/* False: no launch can compute an answer. */
static bool
ask_all(Promote *p, const TensorBlock *t, const Type *block)
{
    Val *ok[MAX_TERMS + MAX_TMAP_RANK];
    HostOp ops[MAX_HOST_OPS];
    int n = 0;
    for (int i = 0; i < t->n_not_negative; i++)
        if (!is_asked(p, &t->not_negative[i]))
            ok[n++] = is_not_negative(p, t->not_negative[i]);
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].modulus.n) /* constants are looked at by tensors.c */
            ok[n++] = is_multiple(p, (Val *)t->dim[d].modulus.term[0].a,
                                  block->shape[t->dim[d].block_dim]);
    for (int i = 0; i < n; i++)
        if (!ir_host_ops(p->f, ok[i], ops))
            return false;
    for (int i = 0; i < n; i++)
        ir_op(&p->top.b, OP_LAUNCH_TEST, 1, &ok[i], 0, NULL);
    for (int i = 0; i < t->n_not_negative; i++)
        PUSH(p->f->c->arena, &p->asked, t->not_negative[i]);
    return true;
}

/* Why the load or store stays one; NULL: it does not. */
static const char *
promote(Promote *p, Op *o)
{
    TensorBlock t;
    int perm[MAX_RANK];
    Val *old = o->n_results ? result(o, 0) : NULL, *value = old ? NULL : arg(o, 1);
    const Type *block = old ? old->type : value->type;
    const char *why = tensor_of(p->f, o, &t);
    if (why)
        return why;
    Build b = ir_before(o);
    Op *tile = emit_tile(&b, block, &t, value);
    why = tile_refusal(p->f, p->facts, tile, o);
    if (!why && !ask_all(p, &t, block))
        why = "a launch cannot compute whether its indices are negative";
    if (why) {
        ir_erase(tile);
        return why;
    }
    if (old) {
        Val *v = result(tile, 0);
        v->name = old->name; /* brought() looks for it */
        ir_replace(old, is_turned(&t, perm) ? turn(&b, v, perm, block) : v);
    }
    ir_erase(o);
    return NULL;
}

/* ---- is it of use? ---------------------------------------------------------------------- */

enum { MARK = 24 };
#define MARKED "promoted."

static void
mark_name(char *name, int i)
{
    snprintf(name, MARK, MARKED "%d", i);
}

/* Which loads warps of their own would bring; why: none of them. */
typedef struct Trial {
    bool *is_brought;
    int n;
    bool has_short, has_long; /* loops */
    const char *why;
} Trial;

/* Is o a load of which the trial has made one of tensors? */
static bool
is_promoted(const Op *o)
{
    const char *name = o->op == OP_MAP_LOAD ? result(o, 0)->name : NULL;
    return name && !strncmp(name, MARKED, strlen(MARKED));
}

static bool
note_tile(Trial *t, Func *f, const Op *o)
{
    const char *name = o->op == OP_MAP_LOAD ? result(o, 0)->name : NULL;
    if (!name || !roles_bring(f, o))
        return false;
    for (int i = 0; i < t->n; i++) {
        char mine[MARK];
        mark_name(mine, i);
        if (!strcmp(name, mine))
            return t->is_brought[i] = true;
    }
    return false;
}

/* A loop whose tiles are all on their way before the first has come. */
static bool
is_short(const Op *loop)
{
    enum { FEW = 3 };
    int64_t first, end, step;
    return loop->op == OP_FOR && ir_const_as_int(arg(loop, 0), &first) &&
           ir_const_as_int(arg(loop, 1), &end) &&
           ir_const_as_int(arg(loop, 2), &step) && step && (end - first) / step < FEW;
}

/* Copies of all threads run ahead for each load of a loop, and warps of their own for tiles alone. Beside
 * these, copies of all threads run ahead for what an operand is made of, and not for a bias of scores: 128x64 by
 * 8 warps, D = 128, on an H100 354 TFLOP/s without such warps, 258 with them. A row of numbers (attention's backward loads two beside each tile) is asked for before the products and read
 * behind them. */
static void
note_brought(Trial *t, Func *f, const Block *b)
{
    bool has_tile = false, has_block = false, runs_ahead = f->c->opt.num_stages > 1;
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_regions; i++)
            note_brought(t, f, o->regions[i]);
        bool is_tile = note_tile(t, f, o);
        has_tile |= is_tile;
        has_block |= (o->op == OP_LOAD || (runs_ahead && is_promoted(o) && !is_tile)) &&
                     result(o, 0)->type->rank > 1;
    }
    if (has_tile && has_block && b->owner && !has_made_operand(f))
        t->why = "its loop loads another block, which no warps would bring";
    if (has_tile && b->owner)
        *(is_short(b->owner) ? &t->has_short : &t->has_long) = true;
}

static Promote
open_on(Func *f)
{
    Promote p = {.f = f, .facts = facts_new(f), .top = on_top_of(f)};
    collect_loads(&p, f->body);
    return p;
}

static Trial
try_on_copy(Func *f, int n)
{
    Trial out = {.is_brought = NEW_N(f->c->arena, bool, n), .n = n};
    Func *copy = trial_copy(f);
    Promote p = open_on(copy);
    for (int i = 0; i < p.load.n; i++) {
        char name[MARK];
        mark_name(name, i);
        result(p.load.at[i], 0)->name = str_intern(f->c, name);
        promote(&p, p.load.at[i]);
    }
    out.why = map_tiles(copy);
    if (!out.why)
        out.why = roles_refusal(copy);
    if (!out.why)
        note_brought(&out, copy, copy->body);
    /* Beside a long loop (causal attention's, beside the diagonal) a short one takes what comes: queries
     * of its backward pass by 64x64, D = 128, on an H100 342 TFLOP/s without maps and 368 with them. */
    if (!out.why && out.has_short && !out.has_long)
        out.why = "its loop has fewer than three turns";
    return out;
}

static const char *
not_brought(const Func *f, const Op *load, const Trial *t)
{
    TensorBlock block;
    const char *why = tensor_of(f, load, &block);
    return why ? why : t->why ? t->why : "no warps would bring it beside the others";
}

/* num_programs of each axis on top, once: tensors.c counts programs down by it. */
static void
put_programs_on_top(Func *f)
{
    Build b = {.f = f, .block = f->body, .before = f->body->first, .loc = f->loc};
    Val *all[3];
    for (int axis = 0; axis < 3; axis++) {
        const Type *t = ty_scalar(f->c, E_I32);
        Op *o = ir_op(&b, OP_NUM_PROGRAMS, 0, NULL, 1, &t);
        ir_set_attr(o, ATTR_AXIS, axis);
        all[axis] = result(o, 0);
    }
    EACH_OP(o, f->body)
        if (o->op == OP_NUM_PROGRAMS && result(o, 0) != all[ir_attr(o, ATTR_AXIS)])
            ir_replace(result(o, 0), all[ir_attr(o, ATTR_AXIS)]);
}

static void
report(Func *f, const Loc *at, const char *why)
{
    if (why)
        ir_report(f, at, "tensor map", str_printf(f->c->arena, "none: %s", why));
}

void
pass_promote_tma(Func *f)
{
    HopperPlan plan = hopper_plan(f);
    if (!plan.has_maps)
        return;
    pass_scalar_steps(f); /* coordinates are scalars */
    Promote p = open_on(f);
    if (!p.load.n)
        return;
    put_programs_on_top(f);
    Trial t = {.why = NULL};
    if (!plan.has_all_maps)
        t = try_on_copy(f, p.load.n);
    bool has_any = false;
    for (int i = 0; i < p.load.n; i++) {
        Op *load = p.load.at[i];
        const Loc *at = load->loc;
        bool is_of_use = plan.has_all_maps || (!t.why && t.is_brought[i]);
        const char *why = is_of_use ? promote(&p, load) : not_brought(f, load, &t);
        has_any |= !why;
        report(f, at, why);
    }
    for (int i = 0; i < p.store.n && has_any; i++) {
        const Loc *at = p.store.at[i]->loc;
        report(f, at, promote(&p, p.store.at[i]));
    }
}
