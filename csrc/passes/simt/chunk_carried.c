/* chunk_carried: big blocks that loops carry, or that come out of an if, lie in local memory.
 *
 *     %y = for .. %x (%a) {          %m = local_alloc : local<1 x f32[32768]>
 *       .. f(%a) ..                  local_store %m, 0, %x
 *       yield %b               =>    for .. {
 *     }                                .. f(local_load %m, 0) ..
 *     g(%y)                            local_store %m, 0, %b
 *                                    }
 *                                    g(local_load %m, 0)
 *
 * A load or a store of a whole block is cut like any other access, slice by slice. Blocks of few registers lie there
 * only where nothing could be cut else: rows' maxima beside blocks whose rows are registers.
 *
 * Beside an op of which no slices can be made, others are cut by themselves: what moves, reductions and scans take and
 * give is stored and loaded by parts (chunk_apart). What a loop then stores and loads again stays in registers
 * (chunk_forward), so a sort's steps between registers that no slice's number has are one loop.
 *
 * Rule 1: each block of the text that asks for a value loads it, at its top or behind the op that gives it,
 *         and what is carried is stored at the end of a body. So `yield %b, %a` reads both before it writes one.
 */
#include "passes/simt/chunk.h"

typedef struct Carried {
    Func *f;
    Arena *a;
    bool all; /* blocks of few registers, too */
    int n_places;
} Carried;

/* Not what tensor cores still add to, and no places, of which nobody knows behind a load how they lie. */
static bool
lies(const Carried *w, const Val *v)
{
    return !v->type->is_async && !v->type->is_ptr &&
           (has_many_registers(v) || (w->all && is_in_registers(v)));
}

static Val *
new_place(Carried *w, Op *before, const Type *t)
{
    Build b = ir_before(before);
    Val *m = ir_op1(&b, OP_LOCAL_ALLOC, 0, NULL, ty_local(w->f->c, t, 1));
    w->n_places++;
    return m;
}

/* Not where v is what the place holds anyway. */
static void
put(Val *m, Op *before, Val *v)
{
    Build b = ir_before(before);
    if (v->def && v->def->op == OP_LOCAL_LOAD && arg(v->def, 0) == m)
        return;
    Val *args[] = {m, ir_const_i32(&b, 0), v};
    ir_op(&b, OP_LOCAL_STORE, 3, args, 0, NULL);
}

static Val *
get(Val *m, Op *before, const Type *t)
{
    Build b = ir_before(before);
    return ir_op1(&b, OP_LOCAL_LOAD, 2, (Val *[]){m, ir_const_i32(&b, 0)}, t);
}

/* Whoever asks for v loads it from m. */
static void
load_instead(Carried *w, Val *v, Val *m)
{
    Map loads = {.a = w->a}; /* Block -> Val */
    while (v->uses) {
        Use *u = v->uses;
        Block *b = u->user->block;
        Val *x = map_get(&loads, b, 0);
        if (!x) {
            bool is_behind = v->def && b == v->def->block;
            x = get(m, is_behind ? v->def->next : b->first, v->type);
            map_put(&loads, b, 0, x);
        }
        ir_set_arg(u->user, (int)(u - u->user->args), x);
    }
}

/* What goes round: `inside` begins as init and becomes operand i of end. */
static Val *
carry(Carried *w, Op *o, Val *init, Val *inside, Op *end, int i)
{
    Val *m = new_place(w, o, inside->type);
    put(m, o, init);
    load_instead(w, inside, m);
    put(m, end, arg(end, i));
    return m;
}

static void
carry_for(Carried *w, Op *o)
{
    Block *b = o->regions[0];
    for (int i = o->n_results; i-- > 0;)
        if (lies(w, result(o, i)))
            load_instead(w, result(o, i),
                         carry(w, o, arg(o, 3 + i), b->args[1 + i], b->last, i));
}

static void
carry_while(Carried *w, Op *o)
{
    Block *test = o->regions[0], *body = o->regions[1];
    for (int i = test->n_args; i-- > 0;)
        if (lies(w, test->args[i]))
            carry(w, o, arg(o, i), test->args[i], body->last, i);
    for (int i = o->n_results; i-- > 0;) {
        Val *v = arg(test->last, 1 + i);
        if (!lies(w, v))
            continue;
        bool is_there = v->def && v->def->op == OP_LOCAL_LOAD && v->def->block == test;
        Val *m = is_there ? arg(v->def, 0) : new_place(w, o, v->type);
        put(m, test->last, v);
        load_instead(w, body->args[i], m);
        load_instead(w, result(o, i), m);
    }
}

static void
carry_if(Carried *w, Op *o)
{
    for (int i = o->n_results; i-- > 0;) {
        if (!lies(w, result(o, i)))
            continue;
        Val *m = new_place(w, o, result(o, i)->type);
        for (int r = 0; r < o->n_regions; r++)
            put(m, o->regions[r]->last, arg(o->regions[r]->last, i));
        load_instead(w, result(o, i), m);
    }
}

/* Whoever asks for x loads it from a place, which is given. */
static Val *
place_of(Carried *w, Val *x)
{
    if (x->def->op == OP_LOCAL_LOAD)
        return arg(x->def, 0);
    Val *m = new_place(w, x->def, x->type);
    load_instead(w, x, m);
    put(m, x->def->next, x);
    return m;
}

/* The same of x, which is made where it is asked for: of a copy, as others go on making theirs. */
static Val *
place_of_copy(Carried *w, Val *x, Map *places)
{
    Val *m = map_get(places, x, 0);
    if (m)
        return m;
    Build b = ir_behind(x->def);
    m = place_of(w, result(ir_clone(&b, x->def, &(Map){.a = w->a}), 0));
    map_put(places, x, 0, m);
    return m;
}

void
chunk_apart(Func *f, bool (*is_apart)(Func *f, const Op *o), bool alone)
{
    Carried w = {.f = f, .a = f->c->arena};
    Map places = {.a = w.a}; /* Val -> Val: of copies */
    EACH_CONTROL_OP(o, f->body) {
        if (!is_apart(f, o))
            continue;
        for (int i = 0; i < o->n_args; i++) {
            Val *x = arg(o, i);
            bool is_made = lies(&w, x) && x->def && chunk_is_made_anywhere(f, x);
            if (!lies(&w, x) || !x->def || (is_made && !is_streamed(o)))
                continue;
            Val *m = is_made ? place_of_copy(&w, x, &places) : place_of(&w, x);
            if (alone)
                ir_set_arg(o, i, get(m, o, x->type));
        }
        for (int i = 0; i < o->n_results && alone; i++)
            if (lies(&w, result(o, i)) && !chunk_is_put(result(o, i)))
                place_of(&w, result(o, i));
    }
}

bool
chunk_is_put(const Val *v)
{
    return v->uses && !v->uses->next && v->uses->user->op == OP_LOCAL_STORE;
}

bool
chunk_carried(Func *f, bool all)
{
    Carried w = {.f = f, .a = f->c->arena, .all = all};
    EACH_OP_INSIDE_OUT(o, f->body) {
        if (o->op == OP_FOR)
            carry_for(&w, o);
        if (o->op == OP_WHILE)
            carry_while(&w, o);
        if (o->op == OP_IF)
            carry_if(&w, o);
    }
    if (w.n_places)
        pass_dce(f); /* what they carried, or gave */
    return w.n_places > 0;
}

/* ---- what a loop has in registers -------------------------------------------------------- */

static bool
is_same_slice(const Op *x, const Op *y)
{
    return arg(x, 0) == arg(y, 0) && arg(x, 1) == arg(y, 1) &&
           ir_attr(x, ATTR_PART) == ir_attr(y, ATTR_PART);
}

static bool
stores_to(const Op *o, const Val *place)
{
    for (int r = 0; r < o->n_regions; r++)
        EACH_OP(p, o->regions[r])
            if (p->op == OP_LOCAL_STORE && arg(p, 0) == place)
                return true;
    return o->op == OP_LOCAL_STORE && arg(o, 0) == place;
}

/* The slice that o loads, where its block has loaded or stored it already. */
static Val *
slice_there(const Op *o)
{
    for (const Op *p = o->prev; p; p = p->prev) {
        if (chunk_is_local(p) && p->n_args && is_same_slice(p, o))
            return p->n_results ? result(p, 0) : arg(p, 2);
        if (stores_to(p, arg(o, 0)))
            return NULL;
    }
    return NULL;
}

static bool
is_only_stored(const Val *place)
{
    for (const Use *u = place->uses; u; u = u->next)
        if (u->user->op != OP_LOCAL_STORE)
            return false;
    return true;
}

void
chunk_forward(Func *f)
{
    pass_dce(f); /* whole blocks that only slices are left of */
    EACH_OP_INSIDE_OUT(o, f->body) {
        if (o->op != OP_LOCAL_LOAD || has_many_registers(result(o, 0)))
            continue;
        Val *x = slice_there(o);
        if (x)
            ir_replace(result(o, 0), x);
        if (x)
            ir_erase(o);
    }
    EACH_CONTROL_OP(o, f->body)
        while (o->op == OP_LOCAL_ALLOC && result(o, 0)->uses &&
               is_only_stored(result(o, 0)))
            ir_erase(result(o, 0)->uses->user);
    EACH_OP_INSIDE_OUT(o, f->body)
        if (o->op == OP_LOCAL_ALLOC && !result(o, 0)->uses)
            ir_erase(o);
    pass_dce(f);
}
