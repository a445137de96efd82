/* build: creates, inserts, replaces, erases: the only writer of the lists.
 *
 *     Val.uses -> Use -> Use -> NULL      a Use is an operand slot of its user, so
 *                  |      |               removing one is O(1) and nothing is searched
 *                 user   user
 *
 * Arrays that grow (operands, results, block arguments, slots) keep no capacity: there
 * is always room for the next power of two at or above their count, so one is moved
 * only when it stands at a power of two.
 *
 * Rule 1: a Val never moves and its id is never given to another one.
 * Rule 2: an operand array that moves relinks its Uses; nobody keeps a Use * over
 *         ir_add_arg.
 */
#include "ir/ir.h"

#include <assert.h>

/* ---- arrays --------------------------------------------------------------------- */

static size_t
rounded_up(int n)
{
    size_t cap = 1;
    while (cap < (size_t)n)
        cap *= 2;
    return cap;
}

/* Room for one more than n elements of size bytes at *(T **)at. Not for Uses: see
 * ir_add_arg. */
static void
make_room(Arena *a, void *at, int n, size_t size)
{
    if (n & (n - 1))
        return; /* not a power of two: the one above has room */
    void *old,
        *new = arena_alloc_n(a, n ? (size_t)n * 2 : 1, size, _Alignof(max_align_t));
    memcpy(&old, at, sizeof old);
    if (n)
        memcpy(new, old, (size_t)n * size);
    memcpy(at, &new, sizeof new);
}

/* ---- uses ----------------------------------------------------------------------- */

static void
link_use(Use *u, Val *v)
{
    u->v = v;
    u->next = v->uses;
    u->prev = &v->uses;
    if (v->uses)
        v->uses->prev = &u->next;
    v->uses = u;
}

static void
unlink_use(Use *u)
{
    *u->prev = u->next;
    if (u->next)
        u->next->prev = u->prev;
    u->v = NULL;
    u->next = NULL;
    u->prev = NULL;
}

/* The neighbours of a Use that was copied to another place learn of it. */
static void
relink_use(Use *u)
{
    *u->prev = u;
    if (u->next)
        u->next->prev = &u->next;
}

/* ---- functions, blocks, values -------------------------------------------------- */

Func *
ir_func(Comp *c, const char *name, const Loc *loc)
{
    Func *f = NEW(c->arena, Func);
    f->c = c;
    f->name = str_intern(c, name);
    f->loc = loc;
    f->team_warps = c->opt.num_warps;
    f->body = ir_block(f, NULL);
    return f;
}

Val *
ir_param(Func *f, const Type *t, const char *name, int slot)
{
    make_room(f->c->arena, &f->slot, f->body->n_args, sizeof *f->slot);
    f->slot[f->body->n_args] = slot;
    return ir_block_arg(f->body, t, name);
}

Block *
ir_block(Func *f, Op *owner)
{
    Block *b = NEW(f->c->arena, Block);
    b->func = f;
    b->owner = owner;
    if (owner && owner->n_regions < info(owner)->n_regions)
        ir_set_region(owner, owner->n_regions, b);
    return b;
}

static Val *
new_val(Func *f, const Type *t, Op *def, Block *b, int index)
{
    assert(t);
    Val *v = NEW(f->c->arena, Val);
    v->type = t;
    v->def = def;
    v->block = b;
    v->index = index;
    v->id = f->n_vals++;
    return v;
}

Val *
ir_block_arg(Block *b, const Type *t, const char *name)
{
    Func *f = b->func;
    Val *v = new_val(f, t, NULL, b, b->n_args);
    v->name = name ? str_intern(f->c, name) : NULL;
    make_room(f->c->arena, &b->args, b->n_args, sizeof(Val *));
    b->args[b->n_args++] = v;
    return v;
}

/* ---- ops ------------------------------------------------------------------------ */

static void
unlink_op(Op *o)
{
    Block *b = o->block;
    if (!b)
        return;
    *(o->prev ? &o->prev->next : &b->first) = o->next;
    *(o->next ? &o->next->prev : &b->last) = o->prev;
    o->prev = o->next = NULL;
    o->block = NULL;
}

/* before NULL: at the end of b. */
static void
link_op(Op *o, Block *b, Op *before)
{
    o->block = b;
    o->next = before;
    o->prev = before ? before->prev : b->last;
    *(o->prev ? &o->prev->next : &b->first) = o;
    *(before ? &before->prev : &b->last) = o;
    for (int i = 0; i < o->n_results; i++)
        o->results[i]->block = b;
}

static Func *
func_of(const Op *o)
{
    assert(o->block);
    return o->block->func;
}

Op *
ir_op(Build *b, OpCode op, int n_args, Val *const *args, int n_results,
      const Type *const *types)
{
    Arena *a = b->f->c->arena;
    Op *o = NEW(a, Op);
    o->op = op;
    o->loc = b->loc;
    o->args = NEW_N(a, Use, rounded_up(n_args));
    for (int i = 0; i < n_args; i++) {
        o->args[i].user = o;
        link_use(&o->args[i], args[i]);
    }
    o->n_args = n_args;
    o->results = NEW_N(a, Val *, rounded_up(n_results));
    for (int i = 0; i < n_results; i++)
        o->results[i] = new_val(b->f, types[i], o, NULL, i);
    o->n_results = n_results;
    link_op(o, b->before ? b->before->block : b->block, b->before);
    return o;
}

void
ir_set_region(Op *o, int i, Block *b)
{
    assert(i >= 0 && i < MAX_REGION);
    o->regions[i] = b;
    b->owner = o;
    o->n_regions = MAX(o->n_regions, i + 1);
}

static int
attr_place(const Op *o, Attr a)
{
    const OpInfo *in = info(o);
    for (int i = 0; i < in->n_attrs; i++)
        if (in->attrs[i] == a)
            return i;
    return -1;
}

void
ir_set_attr(Op *o, Attr a, int64_t v)
{
    int i = attr_place(o, a);
    assert(i >= 0);
    o->attr[i] = v;
}

int64_t
ir_attr(const Op *o, Attr a)
{
    int i = attr_place(o, a);
    return i < 0 ? 0 : o->attr[i];
}

void
ir_add_arg(Op *o, Val *v)
{
    if (!(o->n_args & (o->n_args - 1))) {
        Use *to = NEW_N(func_of(o)->c->arena, Use, MAX(2 * o->n_args, 1));
        for (int i = 0; i < o->n_args; i++) { /* one by one: they may be neighbours */
            to[i] = o->args[i];
            relink_use(&to[i]);
        }
        o->args = to;
    }
    Use *u = &o->args[o->n_args++];
    u->user = o;
    link_use(u, v);
}

Val *
ir_add_result(Op *o, const Type *t)
{
    Func *f = func_of(o);
    make_room(f->c->arena, &o->results, o->n_results, sizeof(Val *));
    Val *v = new_val(f, t, o, o->block, o->n_results);
    return o->results[o->n_results++] = v;
}

void
ir_set_arg(Op *o, int i, Val *v)
{
    assert(i >= 0 && i < o->n_args);
    if (o->args[i].v == v)
        return;
    unlink_use(&o->args[i]);
    link_use(&o->args[i], v);
}

void
ir_drop_args(Op *o, int first, int count)
{
    assert(first >= 0 && count >= 0 && first + count <= o->n_args);
    for (int i = first; i < first + count; i++)
        unlink_use(&o->args[i]);
    for (int i = first; i + count < o->n_args; i++) {
        o->args[i] = o->args[i + count];
        relink_use(&o->args[i]);
    }
    o->n_args -= count;
}

void
ir_drop_result(Op *o, int i)
{
    assert(i >= 0 && i < o->n_results && !o->results[i]->uses);
    o->n_results--;
    for (; i < o->n_results; i++) {
        o->results[i] = o->results[i + 1];
        o->results[i]->index = i;
    }
}

void
ir_drop_block_arg(Block *b, int i)
{
    assert(i >= 0 && i < b->n_args && !b->args[i]->uses);
    b->n_args--;
    for (; i < b->n_args; i++) {
        b->args[i] = b->args[i + 1];
        b->args[i]->index = i;
        if (b == b->func->body)
            b->func->slot[i] = b->func->slot[i + 1];
    }
}

void
ir_replace(Val *old, Val *with)
{
    if (old == with)
        return;
    while (old->uses) {
        Use *u = old->uses;
        unlink_use(u);
        link_use(u, with);
    }
}

/* Everything o and its regions read is used no more. Recursion is as deep as the
 * nesting. */
static void
drop_uses(Op *o)
{
    for (int r = 0; r < o->n_regions; r++)
        for (Op *p = o->regions[r]->first; p; p = p->next)
            drop_uses(p);
    for (int i = 0; i < o->n_args; i++)
        unlink_use(&o->args[i]);
    o->n_args = 0;
}

void
ir_erase(Op *o)
{
    drop_uses(o); /* first: a region may read a result of its own ops */
    for (int i = 0; i < o->n_results; i++)
        assert(!o->results[i]->uses);
    unlink_op(o);
}

void
ir_move_before(Op *o, Op *before)
{
    if (o == before)
        return;
    unlink_op(o);
    link_op(o, before->block, before);
}

Val *
ir_mapped(const Map *map, Val *v)
{
    Val *to = map_get(map, v, 0);
    return to ? to : v;
}

void
ir_clone_region(Func *f, Op *o, const Op *of, int r, Map *map)
{
    const Block *from = of->regions[r];
    Block *to = ir_block(f, NULL);
    ir_set_region(o, r, to);
    for (int i = 0; i < from->n_args; i++) {
        Val *v = ir_block_arg(to, from->args[i]->type, from->args[i]->name);
        map_put(map, from->args[i], 0, v);
    }
    Build inner = {.f = f, .block = to, .loc = of->loc};
    for (const Op *p = from->first; p; p = p->next)
        ir_clone(&inner, p, map);
}

Op *
ir_clone(Build *b, const Op *o, Map *map)
{
    Func *f = b->f;
    Arena *a = f->c->arena;
    Val **args = NEW_N(a, Val *, MAX(o->n_args, 1));
    const Type **types = NEW_N(a, const Type *, MAX(o->n_results, 1));
    for (int i = 0; i < o->n_args; i++)
        args[i] = ir_mapped(map, arg(o, i));
    for (int i = 0; i < o->n_results; i++)
        types[i] = result(o, i)->type;
    Op *n = ir_op(b, o->op, o->n_args, args, o->n_results, types);
    n->loc = o->loc;
    memcpy(n->attr, o->attr, sizeof n->attr);
    n->bits = o->bits;
    n->text = o->text;
    if (o->place) {
        n->place = NEW(a, SharedPlace);
        *n->place = *o->place;
    }
    for (int i = 0; i < o->n_results; i++) {
        result(n, i)->name = result(o, i)->name;
        map_put(map, result(o, i), 0, result(n, i));
    }
    for (int r = 0; r < o->n_regions; r++)
        ir_clone_region(f, n, o, r, map);
    return n;
}

int
ir_n_values(const Op *o)
{
    return o->n_args - (int)ir_attr(o, ATTR_MASKED);
}

/* Counts EXTERNs into *n; true when o has been met. */
static bool
count_externs(const Block *b, const Op *o, int *n)
{
    EACH_OP(p, b) {
        if (p == o)
            return true;
        *n += op_is_extern(p);
    }
    return false;
}

int
ir_extern_index(const Op *o)
{
    int n = 0;
    return count_externs(o->block->func->body, o, &n) ? n : -1;
}

bool
ir_is_inside(const Op *o, const Block *b)
{
    return o && ir_encloses(b, o->block);
}

void
ir_yield(Block *b, const Loc *loc)
{
    Build at = {.f = b->func, .block = b, .loc = loc};
    ir_op(&at, OP_YIELD, 0, NULL, 0, NULL);
}

int
ir_strips(const Op *loop)
{
    return loop->op == OP_FOR ? (int)(ir_attr(loop, ATTR_LOOP) / LOOP_STRIPS) : 0;
}

int
ir_all_strips(const Func *f)
{
    int n = 0;
    EACH_OP(o, f->body)
        n = n ? n : ir_strips(o);
    return n;
}

int
ir_shares(const Func *f)
{
    int64_t n = 1;
    for (const Op *o = f->body->first; o; o = o->next)
        if (o->op == OP_RING_ALLOC)
            n = MAX(n, ir_attr(o, ATTR_CTAS));
    return (int)n;
}

int
ir_num_ctas(const Func *f)
{
    return ir_shares(f) << f->log2_ctas;
}

int
ir_blocks(const Func *f)
{
    enum { HAS_SPARE = 2 };
    bool has_spare = false;
    EACH_OP(o, f->body)
        if (o->op == OP_BLOCK_ID)
            return BLOCKS_IN_TURN;
        else
            has_spare |= o->op == OP_RING_ALLOC && ir_attr(o, ATTR_PAIR) == HAS_SPARE;
    return ir_all_strips(f) ? BLOCKS_IN_STRIPS
           : has_spare      ? BLOCKS_EVEN
                            : BLOCKS_AS_PROGRAMS;
}

uint32_t
ir_block_number(const int32_t pid[3], const int32_t grid[3])
{
    return (uint32_t)pid[0] +
           (uint32_t)grid[0] *
               ((uint32_t)pid[1] + (uint32_t)grid[1] * (uint32_t)pid[2]);
}

uint32_t
ir_block_count(const int32_t grid[3])
{
    return (uint32_t)grid[0] * (uint32_t)grid[1] * (uint32_t)grid[2];
}

/* ---- typed shorthands ----------------------------------------------------------- */

Val *
ir_op1(Build *b, OpCode op, int n_args, Val *const *args, const Type *t)
{
    return result(ir_op(b, op, n_args, args, 1, &t), 0);
}

Val *
ir_const_bits(Build *b, const Type *t, uint64_t bits)
{
    Val *v = ir_op1(b, OP_CONST, 0, NULL, t);
    int n = ty_bits(t);
    v->def->bits = n < 64 ? bits & (((uint64_t)1 << n) - 1) : bits;
    return v;
}

Val *
ir_const_int(Build *b, const Type *t, int64_t v)
{
    return ir_const_bits(b, t, t->is_ptr ? (uint64_t)v : elem_from_int(t->elem, v));
}

Val *
ir_const_float(Build *b, const Type *t, double v)
{
    assert(!t->is_ptr);
    return ir_const_bits(b, t, elem_from_double(t->elem, v));
}

Val *
ir_un(Build *b, OpCode op, Val *x)
{
    return ir_op1(b, op, 1, &x, x->type);
}

Val *
ir_bin(Build *b, OpCode op, Val *x, Val *y)
{
    assert(x->type == y->type);
    bool compares = op >= OP_EQ && op <= OP_GE;
    return ir_op1(b, op, 2, (Val *[]){x, y},
                  compares ? ty_with_elem(b->f->c, x->type, E_I1) : x->type);
}

Val *
ir_select(Build *b, Val *cond, Val *x, Val *y)
{
    assert(x->type == y->type && ty_same_shape(cond->type, x->type));
    return ir_op1(b, OP_SELECT, 3, (Val *[]){cond, x, y}, x->type);
}

Val *
ir_cast(Build *b, Val *x, Elem e)
{
    if (!x->type->is_ptr && x->type->elem == e)
        return x;
    return ir_op1(b, OP_CAST, 1, &x, ty_with_elem(b->f->c, x->type, e));
}

Val *
ir_bitcast(Build *b, Val *x, const Type *t)
{
    return x->type == t ? x : ir_op1(b, OP_BITCAST, 1, &x, t);
}

Val *
ir_splat(Build *b, Val *x, int rank, const int32_t *shape)
{
    assert(x->type->rank == 0);
    if (rank == 0)
        return x;
    return ir_op1(b, OP_SPLAT, 1, &x, ty_block(b->f->c, x->type, rank, shape));
}

Val *
ir_arange(Build *b, int64_t start, int64_t end)
{
    Comp *c = b->f->c;
    int32_t n = (int32_t)(end - start);
    Val *v = ir_op1(b, OP_ARANGE, 0, NULL, ty_block(c, ty_scalar(c, E_I32), 1, &n));
    ir_set_attr(v->def, ATTR_START, start);
    ir_set_attr(v->def, ATTR_END, end);
    return v;
}

Val *
ir_expand(Build *b, Val *x, int axis)
{
    const Type *t = x->type;
    assert(axis >= 0 && axis <= t->rank && t->rank < MAX_RANK);
    int32_t shape[MAX_RANK];
    for (int i = 0; i <= t->rank; i++)
        shape[i] = i == axis ? 1 : t->shape[i - (i > axis)];
    if (t->rank == 0)
        return ir_splat(b, x, 1, shape);
    Val *v = ir_op1(b, OP_EXPAND, 1, &x, ty_with_shape(b->f->c, t, t->rank + 1, shape));
    ir_set_attr(v->def, ATTR_AXIS, axis);
    return v;
}

Val *
ir_const_i32(Build *b, int64_t n)
{
    return ir_const_int(b, ty_scalar(b->f->c, E_I32), n);
}

Val *
ir_carry(Op *loop, Val *init, const char *name)
{
    ir_add_arg(loop, init);
    ir_add_result(loop, init->type);
    return ir_block_arg(loop->regions[0], init->type, name);
}

Val *
ir_broadcast(Build *b, Val *x, int rank, const int32_t *shape)
{
    assert(rank == x->type->rank);
    const Type *t = ty_with_shape(b->f->c, x->type, rank, shape);
    if (ty_same_shape(t, x->type))
        return x;
    return ir_op1(b, OP_BROADCAST, 1, &x, t);
}

Val *
ir_stretch(Build *b, Val *x, int rank, const int32_t *shape)
{
    uint64_t bits;
    const Type *t = x->type;
    if (!rank ||
        (t->rank == rank && !memcmp(t->shape, shape, (size_t)rank * sizeof *shape)))
        return x;
    if (ir_is_const(x, &bits))
        return ir_const_bits(b, ty_block(b->f->c, ty_element(b->f->c, t), rank, shape),
                             bits);
    if (!t->rank)
        return ir_splat(b, x, rank, shape);
    while (x->type->rank < rank)
        x = ir_expand(b, x, 0);
    return ir_broadcast(b, x, rank, shape);
}

Val *
ir_as_dim(Build *b, Val *x, int dim, int rank)
{
    for (int d = 0; d < dim; d++)
        x = ir_expand(b, x, 0);
    for (int d = dim + 1; d < rank; d++)
        x = ir_expand(b, x, d);
    return x;
}

Val *
ir_pick(Build *b, Val *v, int dim, Val *index)
{
    const Type *t = v->type,
               *some = ty_with_side(b->f->c, t, dim, index->type->shape[0]);
    index = ir_stretch(b, ir_as_dim(b, index, dim, t->rank), t->rank, some->shape);
    const Type *bare = t->is_ptr ? ty_with_elem(b->f->c, t, E_I64) : t;
    const Type *r = ty_with_shape(b->f->c, bare, t->rank, some->shape);
    v = ir_bitcast(b, v, bare); /* pointers are picked as numbers */
    Op *o = ir_op(b, OP_GATHER, 2, (Val *[]){v, index}, 1, &r);
    ir_set_attr(o, ATTR_AXIS, dim);
    return ir_bitcast(b, result(o, 0), some);
}

Val *
ir_addptr(Build *b, Val *p, Val *i)
{
    assert(p->type->is_ptr && ty_same_shape(p->type, i->type));
    return ir_op1(b, OP_ADDPTR, 2, (Val *[]){p, i}, p->type);
}

Val *
ir_load(Build *b, Val *p, Val *mask, Val *other)
{
    assert(mask || !other);
    int n = 1 + (mask != NULL) + (other != NULL);
    return ir_op1(b, OP_LOAD, n, (Val *[]){p, mask, other},
                  ty_pointee(b->f->c, p->type));
}

Op *
ir_store(Build *b, Val *p, Val *v, Val *mask)
{
    return ir_op(b, OP_STORE, 2 + (mask != NULL), (Val *[]){p, v, mask}, 0, NULL);
}

bool
ir_is_const(const Val *v, uint64_t *bits)
{
    if (!v->def || v->def->op != OP_CONST)
        return false;
    if (bits)
        *bits = v->def->bits;
    return true;
}

bool
ir_is_zero(const Val *v)
{
    uint64_t bits;
    return ir_is_const(v, &bits) && bits == 0;
}

bool
ir_const_as_int(const Val *v, int64_t *i)
{
    uint64_t bits;
    if (!ir_is_const(v, &bits) || (!v->type->is_ptr && !elem_is_int(v->type->elem)))
        return false;
    if (i)
        *i = v->type->is_ptr ? (int64_t)bits : elem_to_int(v->type->elem, bits);
    return true;
}

const char *
ir_print_prefix(Comp *c, const char *text, bool has_values)
{
    size_t n = strlen(text);
    while (has_values && n && text[n - 1] == ' ')
        n--;
    if (has_values && n && text[n - 1] == ':')
        n--;
    const char *space = n && *text != ' ' ? " " : "", *colon = has_values ? ": " : "";
    return str_printf(c->arena, "%s%.*s%s", space, (int)n, text, colon);
}

/* ---- facts of arguments --------------------------------------------------------- */

bool
ir_ask(Func *f, const Val *param, unsigned fact)
{
    if (param->def || param->block != f->body)
        return false;
    int slot = f->slot[param->index];
    if (slot < 0 || slot >= f->n_facts)
        return false;
    ArgFacts *a = &f->facts[slot];
    a->asked |= (uint16_t)fact;
    return (a->truth & fact) == fact;
}

bool
ir_ask_both(Func *f, const Val *x, const Val *y, unsigned fact)
{
    return ir_ask(f, x, fact) && ir_ask(f, y, fact);
}

const Op *
ir_combine_op(const Op *o)
{
    const Block *r = o->regions[0];
    const Op *f = r->first;
    if (r->n_args != 2 || f->next != r->last || f->n_args != 2 ||
        arg(r->last, 0) != result(f, 0))
        return NULL;
    const Val *a = r->args[0], *b = r->args[1];
    bool both = (arg(f, 0) == a && arg(f, 1) == b) ||
                (arg(f, 0) == b && arg(f, 1) == a);
    return both ? f : NULL;
}
