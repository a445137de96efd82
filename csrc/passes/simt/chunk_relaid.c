/* chunk_relaid: rows that lie in lanes beside a block whose rows are registers.
 *
 *     %w = load .. : f32[128] #lanes          %w = load .. : f32[128] #rows
 *     .. convert_layout %w : #rows ..    =>   .. %w ..
 *
 *     %r = reduce .. : f32[128] #rows         %r = reduce .. : f32[128] #rows
 *     %c = convert_layout %r : #lanes
 *     store %p, %c                            store %q, %r
 *
 * A slice has some rows of the block, and no slice of #lanes has those. In #rows every lane holds all of them, so
 * the access takes more instructions than with one row a lane; the block beside it has many times as many.
 *
 * Rule 1: an op's copy stands right behind it, so that a load stays in front of the same stores.
 */
#include "passes/simt/chunk.h"

typedef struct Relay {
    Func *f;
    const Layout *to;
    Map made; /* Val -> the same in that layout */
} Relay;

static bool
is_in_all_lanes(const Val *v)
{
    const Layout *l = v->type->layout;
    for (int i = 0; is_in_registers(v) && i < l->n[IN_LANE]; i++)
        if (l->basis[IN_LANE][i])
            return false;
    return is_in_registers(v) && l->n[IN_REG];
}

static bool
can_be_copied(const Op *o)
{
    return o->op == OP_CONST || o->op == OP_ARANGE || o->op == OP_SPLAT ||
           (o->op == OP_LOAD && !ir_attr(o, ATTR_VOLATILE)) || chunk_is_plain(o);
}

/* v in the layout that is asked for; NULL: only a move would give it. */
static Val *
relaid(Relay *w, Val *v)
{
    if (!v->type->rank || v->type->layout == w->to)
        return v;
    Op *o = v->def;
    if (o && o->op == OP_CONVERT)
        return relaid(w, arg(o, 0));
    if (map_get(&w->made, v, 0) || !o || !can_be_copied(o))
        return map_get(&w->made, v, 0);
    Map map = {.a = w->f->c->arena};
    for (int i = 0; i < o->n_args; i++) {
        Val *x = relaid(w, arg(o, i));
        if (!x)
            return NULL;
        map_put(&map, arg(o, i), 0, x);
    }
    Build b = ir_behind(o);
    Val *y = result(ir_clone(&b, o, &map), 0);
    y->type = ty_with_layout(w->f->c, v->type, w->to);
    map_put(&w->made, v, 0, y);
    return y;
}

/* What o stores, if it comes from rows in all lanes. */
static bool
relay_store(Func *f, Op *o)
{
    const Op *move = o->op == OP_STORE ? arg(o, 1)->def : NULL;
    if (!move || move->op != OP_CONVERT || !is_in_all_lanes(arg(move, 0)))
        return false;
    Relay w = {f, arg(move, 0)->type->layout, {.a = f->c->arena}};
    Val *x[3] = {0};
    for (int i = 0; i < o->n_args; i++)
        if (!(x[i] = relaid(&w, arg(o, i))))
            return false;
    for (int i = 0; i < o->n_args; i++)
        ir_set_arg(o, i, x[i]);
    return true;
}

static bool
relay_move(Func *f, Op *o)
{
    if (o->op != OP_CONVERT || !is_in_all_lanes(result(o, 0)))
        return false;
    Relay w = {f, result(o, 0)->type->layout, {.a = f->c->arena}};
    Val *x = relaid(&w, arg(o, 0));
    if (x)
        ir_replace(result(o, 0), x);
    return x != NULL;
}

bool
chunk_relaid(Func *f)
{
    bool any = false;
    EACH_CONTROL_OP(o, f->body)
        any |= relay_store(f, o) || relay_move(f, o);
    ir_drop_unused(f->body, true);
    return any;
}
