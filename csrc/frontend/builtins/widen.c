/* widen: code for one element becomes code for all elements of a block.
 *
 * A function of map_elementwise, and a combine function that does more than arithmetic, is
 * lowered for scalars into a block of ops that never runs: the plan. Here the plan is written
 * out again at the place where it is used, every value that differs between elements being
 * a block now, as a GPU or ispc would run it:
 *
 *     if c: a else: b       a for the elements of `active` with c, b for the others of
 *                           `active`; a select merges what the two computed
 *     while c: a            as long as c holds for any element; those that have left keep
 *                           their values
 *     load, store, print    for the elements of `active`: it joins the op's mask
 *
 * What is the same for all elements stays as it is: numbers from outside, loops with common
 * bounds, whole blocks that no element has a part in. Arithmetic needs no mask: what it
 * gives elsewhere is not chosen, and no op traps.
 *
 * `active` is NULL where all elements are.
 */
#include "frontend/fe.h"

typedef struct Wide {
    Fe *f;
    const Type *shape; /* any type of the shape of the elements */
    Map map;           /* value of the plan -> what it is now */
    Map differs;       /* of those: the ones that are blocks, an element for each */
    const char *what;  /* "a function of map_elementwise", for messages */
} Wide;

static void wide_block(Wide *w, const Block *b, Val *active, Val **out);

/* ---- values ----------------------------------------------------------------------------- */

static Val *
now(const Wide *w, const Val *v)
{
    Val *n = map_get(&w->map, v, 0);
    return n ? n : (Val *)v;
}

static bool
differs(const Wide *w, const Val *v)
{
    return map_get(&w->differs, now(w, v), 0) != NULL;
}

/* v of the plan is x; a block x that has an element for each of ours. */
static void
becomes(Wide *w, const Val *v, Val *x, bool for_each)
{
    if (!x->name)
        x->name = v->name;
    map_put(&w->map, v, 0, x);
    if (for_each)
        map_put(&w->differs, x, 0, x);
}

static const Type *
wide_type(Wide *w, const Type *t)
{
    if (t->rank) {
        err_help(w->f->c, "it gets single elements and computes single ones from them; "
                          "what works on blocks is called outside of it");
        fail(w->f, TYPE, "%s makes a block, %s, for each element", w->what,
             ty_str(w->f->a, t));
    }
    return ty_block(w->f->c, t, w->shape->rank, w->shape->shape);
}

static Val *
splat(Wide *w, Val *x)
{
    if (map_get(&w->differs, x, 0))
        return x;
    wide_type(w, x->type);
    x = ir_splat(&w->f->b, x, w->shape->rank, w->shape->shape);
    map_put(&w->differs, x, 0, x);
    return x;
}

/* As a block with an element for each. */
static Val *
each(Wide *w, const Val *v)
{
    return splat(w, now(w, v));
}

static Val *
both(Wide *w, Val *x, Val *y)
{
    return x && y ? ir_bin(&w->f->b, OP_AND, x, y) : x ? x : y;
}

static Val *
not_(Wide *w, Val *x)
{
    Val *one = ir_const_int(&w->f->b, x->type, 1);
    return ir_bin(&w->f->b, OP_XOR, x, one);
}

/* A scalar: is mask true anywhere? */
static Val *
any(Wide *w, Val *mask)
{
    Fe *f = w->f;
    int32_t n = (int32_t)ty_numel(mask->type);
    const Type *i1 = ty_scalar(f->c, E_I1);
    Val *flat = fe_reshape(f, mask, 1, &n);
    Op *o = ir_op(&f->b, OP_REDUCE, 1, &flat, 1, &i1);
    ir_set_attr(o, ATTR_AXIS, 0);
    Block *body = ir_block(f->func, o);
    Val *x = ir_block_arg(body, i1, NULL), *y = ir_block_arg(body, i1, NULL);
    Build b = {.f = f->func, .block = body, .loc = f->b.loc};
    Val *r = ir_bin(&b, OP_OR, x, y);
    ir_op(&b, OP_YIELD, 1, &r, 0, NULL);
    return result(o, 0);
}

/* ---- what is the same for all ----------------------------------------------------------------- */

typedef struct Look {
    Wide *w;
    bool differs;
} Look;

static void
look_at_operand(void *data, const Val *v)
{
    Look *l = data;
    l->differs |= differs(l->w, v);
}

/* May o run once for all, whoever is active? */
static bool
is_harmless(const Op *o, const Val *active)
{
    bool is_load = o->op == OP_TILE_LOAD ||
                   (o->op == OP_LOAD && !ir_attr(o, ATTR_VOLATILE));
    if (active && (is_load || o->op == OP_WHILE)) /* which need not end for nobody */
        return false;
    if (!op_has(o, OPF_PURE | OPF_CONTROL | OPF_TERM) && !is_load &&
        o->op != OP_BARRIER)
        return false;
    for (int r = 0; r < o->n_regions; r++)
        for (const Op *p = o->regions[r]->first; p; p = p->next)
            if (!is_harmless(p, active))
                return false;
    return true;
}

static bool
is_common(Wide *w, const Op *o)
{
    Look l = {w, false};
    for (int i = 0; i < o->n_args; i++)
        look_at_operand(&l, arg(o, i));
    ir_each_outer(o, look_at_operand, &l);
    return !l.differs;
}

static Op *
copy_op(Wide *w, const Op *o)
{
    return ir_clone(&w->f->b, o, &w->map);
}

/* An op without results, once, if any element gets to it. */
static void
once(Wide *w, const Op *o, Val *active)
{
    Fe *f = w->f;
    if (!active) {
        copy_op(w, o);
        return;
    }
    Block *outer = f->b.block;
    Val *c = any(w, active);
    Op *i = ir_op(&f->b, OP_IF, 1, &c, 0, NULL);
    for (int k = 0; k < 2; k++) {
        fe_build_in(f, ir_block(f->func, i));
        if (!k)
            copy_op(w, o);
        ir_op(&f->b, OP_YIELD, 0, NULL, 0, NULL);
    }
    fe_build_in(f, outer);
}

/* ---- what differs ------------------------------------------------------------------------------- */

/* o, its operands from `from` on being blocks, with a mask behind its n_fixed others. */
static void
wide_op(Wide *w, const Op *o, int n_fixed, Val *active)
{
    Fe *f = w->f;
    Val **args = NEW_N(f->a, Val *, o->n_args + 2);
    const Type **types = NEW_N(f->a, const Type *, o->n_results + 1);
    int n = o->n_args;
    for (int i = 0; i < n; i++)
        args[i] = each(w, arg(o, i));
    if (active && n_fixed >= 0) {
        if (n > n_fixed)
            args[n_fixed] = both(w, args[n_fixed], active);
        else
            args[n++] = active;
    }
    for (int i = 0; i < o->n_results; i++)
        types[i] = wide_type(w, result(o, i)->type);
    Op *p = ir_op(&f->b, o->op, n, args, o->n_results, types);
    memcpy(p->attr, o->attr, sizeof p->attr);
    p->text = o->text;
    for (int i = 0; i < o->n_results; i++)
        becomes(w, result(o, i), result(p, i), true);
}

/* Not for an element that does not get here, or a pack of them: nobody knows what it does. */
static void
wide_foreign(Wide *w, const Op *o, Val *active)
{
    int n = ir_n_values(o);
    wide_op(w, o, n, active);
    Op *p = now(w, result(o, 0))->def;
    ir_set_attr(p, ATTR_MASKED, p->n_args > n);
}

/* Element by element, so an op for each operand. */
static void
wide_print(Wide *w, const Op *o, Val *active)
{
    Fe *f = w->f;
    if (!o->n_args)
        once(w, o, active);
    for (int i = 0; i < o->n_args; i++) {
        Val *x[2] = {each(w, arg(o, i)), active};
        Op *p = ir_op(&f->b, OP_PRINT, active ? 2 : 1, x, 0, NULL);
        p->text = o->n_args == 1 ? o->text
                                 : str_printf(f->a, "%s(operand %d) ", o->text, i);
        ir_set_attr(p, ATTR_HEX, ir_attr(o, ATTR_HEX));
        ir_set_attr(p, ATTR_MASKED, active != NULL);
    }
}

static Val **
room(Wide *w, int n)
{
    return NEW_N(w->f->a, Val *, n + 1);
}

/* ---- control --------------------------------------------------------------------------------------- */

static void
wide_if(Wide *w, const Op *o, Val *active)
{
    Fe *f = w->f;
    Block *outer = f->b.block;
    int n = o->n_results;
    Val **v[2] = {room(w, n), room(w, n)}, *c = now(w, arg(o, 0));
    if (differs(w, arg(o, 0))) {
        for (int k = 0; k < o->n_regions; k++)
            wide_block(w, o->regions[k], both(w, k ? not_(w, c) : c, active), v[k]);
        for (int i = 0; i < n; i++) {
            Val *x = splat(w, v[0][i]), *y = splat(w, v[1][i]);
            becomes(w, result(o, i), x == y ? x : ir_select(&f->b, c, x, y), true);
        }
        return;
    }
    Op *p = ir_op(&f->b, OP_IF, 1, &c, 0, NULL);
    for (int k = 0; k < o->n_regions; k++) {
        fe_build_in(f, ir_block(f->func, p));
        wide_block(w, o->regions[k], active, v[k]);
        for (int i = 0; i < n; i++)
            v[k][i] = splat(w, v[k][i]);
        ir_op(&f->b, OP_YIELD, n, v[k], 0, NULL);
    }
    fe_build_in(f, outer);
    for (int i = 0; i < n; i++)
        becomes(w, result(o, i), ir_add_result(p, v[0][i]->type), true);
}

/* Block arguments for the values of from, as blocks. */
static void
wide_args(Wide *w, Block *b, const Block *from, int first)
{
    for (int i = first; i < from->n_args; i++) {
        const Type *t = wide_type(w, from->args[i]->type);
        becomes(w, from->args[i], ir_block_arg(b, t, from->args[i]->name), true);
    }
}

/* The bounds are the same for all. */
static void
common_for(Wide *w, const Op *o, Val *active)
{
    Fe *f = w->f;
    Block *outer = f->b.block, *body = ir_block(f->func, NULL);
    const Block *from = o->regions[0];
    int n = o->n_results;
    Val **args = room(w, o->n_args), **next = room(w, n);
    const Type **types = NEW_N(f->a, const Type *, n + 1);
    for (int i = 0; i < o->n_args; i++)
        args[i] = i < 3 ? now(w, arg(o, i)) : each(w, arg(o, i));
    for (int i = 0; i < n; i++)
        types[i] = args[3 + i]->type;
    Val *iv = ir_block_arg(body, from->args[0]->type, from->args[0]->name);
    becomes(w, from->args[0], iv, false);
    wide_args(w, body, from, 1);
    fe_build_in(f, body);
    wide_block(w, from, active, next);
    for (int i = 0; i < n; i++)
        next[i] = splat(w, next[i]);
    ir_op(&f->b, OP_YIELD, n, next, 0, NULL);
    fe_build_in(f, outer);
    Op *p = ir_op(&f->b, OP_FOR, 3 + n, args, n, types);
    memcpy(p->attr, o->attr, sizeof p->attr);
    ir_set_region(p, 0, body);
    for (int i = 0; i < n; i++)
        becomes(w, result(o, i), result(p, i), true);
}

/* A while whose elements leave one by one: what it carries is `n` blocks and, behind them,
 * who is still in it. test and body fill in what their values become, for the elements of
 * the mask they are given; test gives the condition, a block. */
typedef struct Lanes {
    Wide *w;
    int n;
    Block *test, *body;
    Val *in; /* who is in the loop: of test, then of body */
} Lanes;

/* Opens the loop's region `test`; its n arguments, then the mask. */
static void
open_test(Lanes *l, Val *const *first)
{
    Fe *f = l->w->f;
    l->test = ir_block(f->func, NULL);
    for (int i = 0; i < l->n; i++) {
        Val *v = ir_block_arg(l->test, first[i]->type, first[i]->name);
        map_put(&l->w->differs, v, 0, v);
    }
    l->in = ir_block_arg(l->test, ty_with_elem(f->c, l->w->shape, E_I1), NULL);
    fe_build_in(f, l->test);
}

/* cond of those who are in; pass: what they take along. The others keep what they have. */
static void
close_test(Lanes *l, Val *cond, Val *const *pass)
{
    Fe *f = l->w->f;
    Val **out = room(l->w, l->n + 2), *stay = both(l->w, l->in, cond);
    out[0] = any(l->w, stay);
    for (int i = 0; i < l->n; i++)
        out[1 + i] = pass[i] == l->test->args[i]
                         ? pass[i]
                         : ir_select(&f->b, l->in, pass[i], l->test->args[i]);
    out[1 + l->n] = stay;
    ir_op(&f->b, OP_CONDITION, l->n + 2, out, 0, NULL);
    l->body = ir_block(f->func, NULL);
    for (int i = 0; i < l->n; i++) {
        Val *v = ir_block_arg(l->body, pass[i]->type, pass[i]->name);
        map_put(&l->w->differs, v, 0, v);
    }
    l->in = ir_block_arg(l->body, stay->type, NULL);
    fe_build_in(f, l->body);
}

/* The whole loop, into outer. */
static Op *
close_body(Lanes *l, Block *outer, Val *const *first, Val *const *next, Val *active)
{
    Fe *f = l->w->f;
    int n = l->n;
    Val **out = room(l->w, n + 1), **args = room(l->w, n + 1);
    const Type **types = NEW_N(f->a, const Type *, n + 1);
    for (int i = 0; i < n; i++)
        out[i] = ir_select(&f->b, l->in, next[i], l->body->args[i]);
    out[n] = l->in;
    ir_op(&f->b, OP_YIELD, n + 1, out, 0, NULL);
    fe_build_in(f, outer);
    for (int i = 0; i < n; i++)
        args[i] = first[i];
    const Type *i1 = l->in->type;
    args[n] = active ? active : ir_const_int(&f->b, i1, 1);
    for (int i = 0; i <= n; i++)
        types[i] = args[i]->type;
    Op *p = ir_op(&f->b, OP_WHILE, n + 1, args, n + 1, types);
    ir_set_region(p, 0, l->test);
    ir_set_region(p, 1, l->body);
    return p;
}

/* The bounds differ: the index is carried in front. */
static void
lanes_for(Wide *w, const Op *o, Val *active)
{
    Fe *f = w->f;
    Block *outer = f->b.block;
    const Block *from = o->regions[0];
    int n = o->n_results;
    Val *end = each(w, arg(o, 1)), *step = each(w, arg(o, 2));
    Val **first = room(w, n + 1), **next = room(w, n + 1);
    first[0] = each(w, arg(o, 0));
    for (int i = 0; i < n; i++)
        first[1 + i] = each(w, arg(o, 3 + i));
    Lanes l = {.w = w, .n = n + 1};
    open_test(&l, first);
    Val *up = ir_bin(&f->b, OP_LT, l.test->args[0], end);
    Val *down = ir_bin(&f->b, OP_GT, l.test->args[0], end);
    Val *rises = ir_bin(&f->b, OP_GT, step, ir_const_int(&f->b, step->type, 0));
    close_test(&l, ir_select(&f->b, rises, up, down), l.test->args);
    for (int i = 0; i <= n; i++)
        becomes(w, from->args[i], l.body->args[i], true);
    wide_block(w, from, l.in, next + 1);
    next[0] = ir_bin(&f->b, OP_ADD, l.body->args[0], step);
    for (int i = 1; i <= n; i++)
        next[i] = splat(w, next[i]);
    Op *p = close_body(&l, outer, first, next, active);
    for (int i = 0; i < n; i++)
        becomes(w, result(o, i), result(p, 1 + i), true);
}

static void
lanes_while(Wide *w, const Op *o, Val *active)
{
    Fe *f = w->f;
    Block *outer = f->b.block;
    const Block *test = o->regions[0], *body = o->regions[1];
    int n = o->n_args;
    Val **first = room(w, n), **pass = room(w, n + 1), **next = room(w, n);
    for (int i = 0; i < n; i++)
        first[i] = each(w, arg(o, i));
    Lanes l = {.w = w, .n = n};
    open_test(&l, first);
    for (int i = 0; i < n; i++)
        becomes(w, test->args[i], l.test->args[i], true);
    wide_block(w, test, l.in, pass);
    for (int i = 0; i <= n; i++)
        pass[i] = splat(w, pass[i]);
    close_test(&l, pass[0], pass + 1);
    for (int i = 0; i < n; i++)
        becomes(w, body->args[i], l.body->args[i], true);
    wide_block(w, body, l.in, next);
    for (int i = 0; i < n; i++)
        next[i] = splat(w, next[i]);
    Op *p = close_body(&l, outer, first, next, active);
    for (int i = 0; i < n; i++)
        becomes(w, result(o, i), result(p, i), true);
}

/* ---- the walk ------------------------------------------------------------------------------------ */

static void
wide_any(Wide *w, const Op *o, Val *active)
{
    bool common = is_common(w, o);
    if (common && is_harmless(o, active)) {
        copy_op(w, o);
        return;
    }
    switch (o->op) {
    case OPS(OPS_ACCESS, OP_ASSERT): wide_op(w, o, op_mask_at(o), active); return;
    case OP_PRINT: wide_print(w, o, active); return;
    case OP_DEBUG: once(w, o, active); return;
    case OP_ASSUME: return; /* of elements that need not get here */
    case OP_IF: wide_if(w, o, active); return;
    case OP_WHILE: lanes_while(w, o, active); return;
    case OP_FOR:
        if (differs(w, arg(o, 0)) || differs(w, arg(o, 1)) || differs(w, arg(o, 2)))
            lanes_for(w, o, active);
        else
            common_for(w, o, active);
        return;
    case OP_HINT: becomes(w, result(o, 0), now(w, arg(o, 0)), false); return;
    case OP_INLINE_ASM_IO:
    case OP_EXTERN:
    case OP_EXTERN_IO: wide_foreign(w, o, active); return;
    default: wide_op(w, o, -1, NULL);
    }
}

/* The ops of b, here; out: what its last one gives. */
static void
wide_block(Wide *w, const Block *b, Val *active, Val **out)
{
    for (const Op *o = b->first; o; o = o->next) {
        w->f->b.loc = o->loc;
        if (!op_has(o, OPF_TERM)) {
            wide_any(w, o, active);
            continue;
        }
        for (int i = 0; i < o->n_args; i++)
            out[i] = now(w, arg(o, i));
    }
}

void
fe_widen(Fe *f, const Block *plan, const char *what, Val *active, Val *const *args,
         Val **out)
{
    Wide w = {.f = f, .shape = args[0]->type, .what = what};
    w.map.a = w.differs.a = f->a;
    const Loc *loc = f->b.loc;
    for (int i = 0; i < plan->n_args; i++)
        becomes(&w, plan->args[i], args[i], true);
    wide_block(&w, plan, active, out);
    const Op *last = plan->last;
    for (int i = 0; i < last->n_args; i++)
        out[i] = splat(&w, out[i]);
    f->b.loc = loc;
}
