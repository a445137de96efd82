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
 * Rule 1: each block of the text that asks for a value loads it, at its top or behind the op that gives it,
 *         and what is carried is stored at the end of a body. So `yield %b, %a` reads both before it writes one.
 */
#include "passes/simt/chunk.h"

typedef struct Carried {
    Func *f;
    Arena *a;
    bool all;    /* blocks of few registers, too */
    int64_t end; /* bytes of local memory that are taken */
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
    ir_set_attr(m->def, ATTR_AT, w->end);
    w->end += round_up(slices_bytes(m->type), LOCAL_ALIGN);
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

static Carried
open_carried(Func *f, bool all)
{
    return (Carried){.f = f,
                     .a = f->c->arena,
                     .all = all,
                     .end = round_up(local_bytes(f), LOCAL_ALIGN)};
}

bool
chunk_scans(Func *f)
{
    Carried w = open_carried(f, false);
    Map placed = {.a = w.a}; /* Val -> Val */
    EACH_CONTROL_OP(o, f->body)
        for (int i = 0; o->op == OP_SCAN && i < o->n_args; i++) {
            Val *x = arg(o, i), *y = result(o, i);
            if (!lies(&w, x))
                continue;
            bool is_there = x->def && x->def->op == OP_LOCAL_LOAD;
            Val *m = is_there ? arg(x->def, 0) : map_get(&placed, x, 0);
            if (!is_there && (!m || m->def->block != o->block)) {
                m = new_place(&w, o, x->type);
                put(m, o, x);
                map_put(&placed, x, 0, m);
            }
            ir_set_arg(o, i, get(m, o, x->type));
            m = new_place(&w, o, y->type);
            load_instead(&w, y, m);
            put(m, o->next, y);
        }
    return w.n_places > 0;
}

bool
chunk_carried(Func *f, bool all)
{
    Carried w = open_carried(f, all);
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
