/* map_tiles: what descriptors access becomes copies of tensors (TMA), where the chip has them.
 *
 *     %x = tile_load %p, %m, %n, %s, %i, %j : f16[64, 64]
 * =>
 *     %t = tensor_map %p, %m, %n, %s {box=[64, 64], swizzle=128} : tmap       on top
 *     ..
 *     %x = map_load %t, %i, %j : f16[64, 64]
 *
 * Without warps of their own that begin them (roles), such copies run ahead of nothing: a function in
 * which there would be none keeps its accesses, for asynchronous copies of all threads.
 *
 * Rule 1: all accesses to one tensor go one way or the other: tile_refusal looks at the function
 *         as it is before the first of them changes.
 * Rule 2: a map's operands are computed again on top, of the function's parameters alone.
 * Rule 3: a coordinate beyond 32 bits is MAX_MAP_SIDE, behind the end of each tensor that launches
 *         have maps of, or the first that fits, in front of it.
 */
#include "passes/passes.h"
#include "passes/tile/tiles.h"

typedef struct MapTiles {
    Func *f;
    FactTable *facts;
    OnTop top;
    VEC(Op *) tile;
    VEC(Op *) map; /* TENSOR_MAPs, each once */
    Map stays;     /* the argument of a tensor that is stored otherwise -> itself */
} MapTiles;

static void
collect_tiles(MapTiles *m, Block *b)
{
    EACH_OP(o, b)
        if (op_is_tile(o))
            PUSH(m->f->c->arena, &m->tile, o);
}

OnTop
on_top_of(Func *f)
{
    return (OnTop){.b = {.f = f, .block = f->body, .before = f->body->first},
                   .made.a = f->c->arena};
}

Val *
on_top(OnTop *t, Val *v)
{
    Val *known = map_get(&t->made, v, 0);
    if (!v->def || known)
        return v->def ? known : v;
    for (int i = 0; i < v->def->n_args; i++)
        on_top(t, arg(v->def, i));
    ir_clone(&t->b, v->def, &t->made);
    return map_get(&t->made, v, 0);
}

static bool
is_same_map(const Op *a, const Op *b)
{
    bool same = a->n_args == b->n_args && result(a, 0)->type == result(b, 0)->type &&
                !memcmp(a->attr, b->attr, sizeof a->attr);
    for (int i = 0; same && i < a->n_args; i++)
        same = arg(a, i) == arg(b, i);
    return same;
}

/* The map, or the same one that was made before. */
static Val *
keep_map(MapTiles *m, Op *map)
{
    for (int i = 0; i < m->map.n; i++)
        if (is_same_map(m->map.at[i], map)) {
            ir_erase(map);
            return result(m->map.at[i], 0);
        }
    PUSH(m->f->c->arena, &m->map, map);
    return result(map, 0);
}

static Val *
tensor_map(MapTiles *m, const Op *o, const TileForm *form)
{
    Window w = ir_tile(o);
    Val *args[2 * MAX_TMAP_RANK];
    int n = 0;
    m->top.b.loc = o->loc;
    args[n++] = on_top(&m->top, w.base);
    for (int d = 0; d < w.rank; d++)
        args[n++] = on_top(&m->top, w.shape[d]);
    for (int d = 0; d < w.rank - 1; d++)
        args[n++] = on_top(&m->top, w.strides[d]);
    const Type *t = ty_tmap(m->f->c);
    Op *map = ir_op(&m->top.b, OP_TENSOR_MAP, n, args, 1, &t);
    ir_set_attr(map, ATTR_BOX, tile_form_box(form));
    ir_set_attr(map, ATTR_SWIZZLE, form->swizzle);
    ir_set_attr(map, ATTR_PADDING, ir_attr(o, ATTR_PADDING));
    return keep_map(m, map);
}

static Val *
coordinate(Build *b, Val *v)
{
    const Type *t = v->type;
    if (t->elem == E_I32)
        return v;
    v = ir_bin(b, OP_MIN, v, ir_const_int(b, t, MAX_MAP_SIDE));
    v = ir_bin(b, OP_MAX, v, ir_const_int(b, t, INT32_MIN));
    return ir_cast(b, v, E_I32);
}

/* i1: is none of them negative? NULL: they never are. */
static Val *
is_in_front_of_none(Build *b, Val *const *coordinates, int n)
{
    Val *all = NULL;
    for (int d = 0; d < n; d++) {
        int64_t c;
        if (ir_const_as_int(coordinates[d], &c) && c >= 0)
            continue;
        Val *ok = ir_bin(b, OP_GE, coordinates[d],
                         ir_const_int(b, coordinates[d]->type, 0));
        all = all ? ir_bin(b, OP_AND, all, ok) : ok;
    }
    return all;
}

/* Does a block that begins in front of the tensor end there, too? */
static bool
begins_at_whole_blocks(const MapTiles *m, const Window *w)
{
    for (int d = 0; d < w->rank; d++) {
        int64_t c, log2 = log2_of(w->block[d]);
        bool is_number = ir_const_as_int(w->offsets[d], &c);
        if (is_number ? c < 0
                      : facts_divisibility(m->facts, w->offsets[d], (int)log2) < log2)
            return false;
    }
    return true;
}

/* A copy to memory must not begin in front of the tensor (an illegal instruction; one from memory
 * may), so such a store stays what it is, where there is any of it:
 *
 *     if %i >= 0 and %j >= 0 { map_store .. } else { tile_store .. }
 */
static void
store_by_copy(MapTiles *m, Build *b, Op *o, Val *const *args, int n)
{
    Window w = ir_tile(o);
    bool is_whole = begins_at_whole_blocks(m, &w);
    Val *ok = is_in_front_of_none(b, args + 1, n - 2);
    if (!ok) {
        ir_op(b, OP_MAP_STORE, n, args, 0, NULL);
        ir_erase(o);
        return;
    }
    Op *branch = ir_op(b, OP_IF, 1, &ok, 0, NULL);
    Block *copies = ir_block(m->f, branch);
    Build in = {.f = m->f, .block = copies, .loc = o->loc};
    ir_op(&in, OP_MAP_STORE, n, args, 0, NULL);
    ir_yield(copies, o->loc);
    if (is_whole) {
        ir_erase(o);
        return;
    }
    Block *plain = ir_block(m->f, branch);
    ir_yield(plain, o->loc);
    ir_move_before(o, plain->last);
}

static void
replace(MapTiles *m, Op *o)
{
    Comp *c = m->f->c;
    Build b = ir_before(o);
    Window w = ir_tile(o);
    const Type *block = ty_block(c, ty_scalar(c, w.base->type->elem), w.rank - w.lead,
                                 w.block + w.lead);
    TileForm form = tile_form(o);
    Val *args[2 + MAX_TMAP_RANK] = {tensor_map(m, o, &form)};
    for (int d = 0; d < w.rank; d++)
        args[1 + d] = coordinate(&b, w.offsets[d]);
    if (o->op == OP_TILE_LOAD) {
        Op *n = ir_op(&b, OP_MAP_LOAD, 1 + w.rank, args, 1, &block);
        result(n, 0)->name = result(o, 0)->name;
        ir_replace(result(o, 0), result(n, 0));
        ir_erase(o);
    } else {
        args[1 + w.rank] = arg(o, o->n_args - 1);
        store_by_copy(m, &b, o, args, 2 + w.rank);
    }
}

/* Notes the tensors some store to which is no copy: then none is (rule 1). */
static void
ask(MapTiles *m, Op **o)
{
    const char *why = tile_refusal(m->f, m->facts, *o, NULL);
    if (!why)
        return;
    ir_report(m->f, (*o)->loc, "tensor map",
              str_printf(m->f->c->arena, "none: %s", why));
    const Val *root = pointer_root(m->f, arg(*o, 0));
    if ((*o)->op == OP_TILE_STORE && root)
        map_put(&m->stays, root, 0, (void *)root);
    *o = NULL;
}

static bool
stays(const MapTiles *m, const Op *o)
{
    const Val *root = pointer_root(m->f, arg(o, 0));
    return o->op == OP_TILE_STORE && map_get(&m->stays, root, 0);
}

/* Do both access blocks of one shape in one tensor? */
static bool
is_same_tensor(const Op *a, const Op *b)
{
    Window v = ir_tile(a), w = ir_tile(b);
    bool same = v.rank == w.rank && !memcmp(v.block, w.block, sizeof v.block) &&
                ir_attr(a, ATTR_PADDING) == ir_attr(b, ATTR_PADDING);
    for (int i = 0; same && i < 2 * v.rank; i++)
        same = arg(a, i) == arg(b, i);
    return same;
}

/* More tensors than a launch makes maps of. */
static bool
are_too_many(const MapTiles *m)
{
    int n = 0;
    for (int i = 0; i < m->tile.n && n <= MAX_MAPS; i++) {
        bool is_new = m->tile.at[i] != NULL;
        for (int k = 0; is_new && k < i; k++)
            is_new = !m->tile.at[k] || !is_same_tensor(m->tile.at[k], m->tile.at[i]);
        n += is_new;
    }
    return n > MAX_MAPS;
}

static void
map_all(Func *f)
{
    MapTiles m = {.f = f, .facts = facts_new(f), .stays.a = f->c->arena};
    collect_tiles(&m, f->body);
    for (int i = 0; i < m.tile.n; i++)
        ask(&m, &m.tile.at[i]);
    if (are_too_many(&m)) {
        ir_report(f, f->loc, "tensor map", "none: they would be more than 16");
        return;
    }
    m.top = on_top_of(f);
    for (int i = 0; i < m.tile.n; i++)
        if (m.tile.at[i] && !stays(&m, m.tile.at[i]))
            replace(&m, m.tile.at[i]);
}

Func *
trial_copy(const Func *f)
{
    Func *copy = ir_parse(f->c, ir_print(f, true));
    copy->team_warps = f->team_warps; /* which no text says */
    return copy;
}

/* Why no warps of their own would bring any of the tiles: tried on a copy. */
static const char *
not_brought(const Func *f)
{
    Func *copy = trial_copy(f);
    map_all(copy);
    return roles_refusal(copy);
}

const char *
map_tiles(Func *f)
{
    HopperPlan plan = hopper_plan(f);
    if (!ir_holds(f->body, op_is_tile) || !(plan.has_maps || plan.no_maps))
        return NULL;
    const char *why = plan.is_asked ? NULL : not_brought(f);
    if (why)
        ir_report(f, f->loc, "roles", str_printf(f->c->arena, "none: %s", why));
    else
        map_all(f);
    return why;
}

void
pass_map_tiles(Func *f)
{
    map_tiles(f);
}
