/* whole_lines: a loop over tiles of half a line takes two of them at once.
 *
 *     for %k = 0 .. %n step 32 ^(%acc) {              for %k = 0 .. %n step 64 ^(%acc) {
 *       %a = map_load %A, %m, %k : f16[128, 32]         %a = map_load %A', %m, %k : f16[128, 64]
 *       %b = map_load %B, %k, %j : f16[32, 128]    =>   %b = map_load %B', %k, %j : f16[64, 128]
 *       %acc = dot %a, %b, %acc                         %acc = dot %a, %b, %acc
 *     }                                               }
 *
 * A copy by tensor map takes as long for a row of 64 bytes as for one of 128, the line of L2, and so
 * a multiprocessor waits for tiles that warps could load in time. bf16 of 2048^3 by 128x128x32 and 4
 * warps, TFLOP/s: one tile at a time 399 and Triton 575 on an H200; two 578 and Triton 557 on an H100.
 *
 * The last turn may take a tile too much. So both maps end where the loop did: what is behind that is
 * zero in both operands.
 *
 * Rule 1: the loop does nothing else than products, each of which adds to what it gave an iteration ago,
 *         and the sums are the same ones in the same order.
 * Rule 2: its bounds are the launch's, since maps are.
 * Rule 3: all tiles step by their own side along K, so all products have as many of them.
 */
#include "passes/passes.h"
#include "passes/tile/tiles.h"

enum { LINE = 128, MOST_AT_ONCE = 4, MAX_DOTS = 4, MAX_TILES = 2 * MAX_DOTS };

typedef struct Tile {
    Op *load;
    int k;        /* the dim of its block that runs along K */
    Val *at;      /* where it begins along K */
    int64_t from; /* of the first iteration's: at is from + the counter * a constant */
} Tile;

typedef struct Loop {
    Op *op, *dot[MAX_DOTS];
    int64_t begin, step; /* of the counter */
    Tile tile[MAX_TILES];
    int n_dots, n_tiles;
} Loop;

/* ---- which loops ------------------------------------------------------------------------- */

/* Is v, a scalar of the loop's body or around it, another one in each iteration? */
static bool
varies(const Block *body, const Val *v)
{
    const Op *o = v->def;
    if (!o || o->block != body)
        return !o && v->block == body;
    bool any = !op_has(o, OPF_PURE);
    for (int i = 0; i < o->n_args && !any; i++)
        any = varies(body, arg(o, i));
    return any;
}

/* Fills t->from where a step of the loop moves the tile by its own side. */
static bool
steps_by_tiles(const Loop *l, Tile *t)
{
    Affine a;
    AffineWraps wraps = {0};
    const Val *counter = l->op->regions[0]->args[0];
    int64_t side = result(t->load, 0)->type->shape[t->k];
    if (!affine_deep(t->at, &a, &wraps) || wraps.n || a.pointer || a.origin ||
        a.base.n != 1)
        return false;
    const AffTerm *x = &a.base.term[0];
    t->from = a.base.c + x->factor * l->begin;
    return x->a == counter && !x->b && x->factor * l->step == side;
}

/* Notes the load under v, dim k of which is along K. */
static bool
find_tile(Loop *l, Val *v, int k)
{
    const Block *body = l->op->regions[0];
    while (v->def && v->def->op == OP_TRANS) {
        int perm[MAX_RANK];
        ir_perm(v->def, perm);
        k = perm[k];
        v = arg(v->def, 0);
    }
    for (int i = 0; i < l->n_tiles; i++)
        if (l->tile[i].load == v->def)
            return l->tile[i].k == k;
    if (!v->def || v->def->op != OP_MAP_LOAD || v->def->block != body ||
        !roles_bring(body->func, v->def))
        return false;
    Tile *t = &l->tile[l->n_tiles++];
    *t = (Tile){.load = v->def, .k = k};
    int lead = v->def->n_args - 1 - v->type->rank;
    for (int i = 1; i < v->def->n_args; i++)
        if (i != 1 + lead + k && varies(body, arg(v->def, i)))
            return false;
    t->at = arg(v->def, 1 + lead + k);
    return steps_by_tiles(l, t);
}

/* Is o nothing but a number that says where tiles lie? */
static bool
is_number(const Op *o)
{
    return op_has(o, OPF_PURE) && !o->n_regions && o->n_results == 1 &&
           !result(o, 0)->type->rank;
}

static bool
find_loop(Op *o, Loop *l)
{
    *l = (Loop){.op = o};
    if (o->op != OP_FOR || !ir_const_as_int(arg(o, 0), &l->begin) ||
        !ir_const_as_int(arg(o, 2), &l->step) || l->step <= 0)
        return false;
    const Block *body = o->regions[0];
    for (Op *p = body->first; p != body->last; p = p->next) {
        if (p->op == OP_MAP_LOAD || p->op == OP_TRANS || is_number(p))
            continue;
        if (p->op != OP_DOT || l->n_dots == MAX_DOTS || !only_goes_round(body, p) ||
            dot_sides(p).k != arg(p, 0)->type->shape[1] ||
            !find_tile(l, arg(p, 0), 1) || !find_tile(l, arg(p, 1), 0))
            return false;
        l->dot[l->n_dots++] = p;
    }
    return l->n_dots && o->n_results == l->n_dots;
}

/* How many tiles make rows that are whole lines. */
static int64_t
tiles_at_once(const Loop *l)
{
    int64_t n = 1;
    for (int i = 0; i < l->n_tiles; i++) {
        const Type *t = result(l->tile[i].load, 0)->type;
        int64_t row = (int64_t)t->shape[t->rank - 1] * ty_bytes(t);
        if (l->tile[i].k == t->rank - 1 && row < LINE)
            n = MAX(n, MIN(LINE / row, MOST_AT_ONCE));
    }
    return n;
}

/* ---- maps that end where the loop does ------------------------------------------------------ */

static Val *
number(Build *b, int64_t n)
{
    return ir_const_int(b, ty_scalar(b->f->c, E_I64), n);
}

/* The size along K of what the loop has read of t's tensor, at most `size`. */
static Val *
size_of_loop(OnTop *top, const Loop *l, const Tile *t, Val *size)
{
    Build *b = &top->b;
    Val *n = ir_cast(b, on_top(top, arg(l->op, 1)), E_I64);
    int64_t side = result(t->load, 0)->type->shape[t->k], add = l->step - 1 - l->begin;
    if (add)
        n = ir_bin(b, OP_ADD, n, number(b, add));
    if (l->step > 1)
        n = ir_bin(b, OP_DIV, n, number(b, l->step));
    n = ir_bin(b, OP_MUL, n, number(b, side));
    if (t->from)
        n = ir_bin(b, OP_ADD, n, number(b, t->from));
    n = ir_bin(b, OP_MAX, n, number(b, 1)); /* of none there is no map */
    return ir_bin(b, OP_MIN, n, size);
}

/* The map of a tile that is `n` times as long; NULL: no launch can make it. */
static Val *
longer_map(Func *f, const Loop *l, const Tile *t)
{
    OnTop top = on_top_of(f);
    const Op *old = arg(t->load, 0)->def;
    Val *args[2 * MAX_TMAP_RANK];
    HostOp ops[MAX_HOST_OPS];
    for (int i = 0; i < old->n_args; i++)
        args[i] = on_top(&top, arg(old, i));
    int dim = t->load->n_args - 1 - result(t->load, 0)->type->rank + t->k;
    args[1 + dim] = size_of_loop(&top, l, t, args[1 + dim]);
    if (!ir_host_ops(f, args[1 + dim], ops))
        return NULL;
    top.b.loc = old->loc;
    Op *map = ir_op(&top.b, OP_TENSOR_MAP, old->n_args, args, 1, &result(old, 0)->type);
    ir_set_attr(map, ATTR_PADDING, ir_attr(old, ATTR_PADDING));
    return result(map, 0);
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* v, dim k of which is n times as long now, and what is made of it by trans. */
static void
lengthen(Comp *c, Val *v, int k, int64_t n)
{
    v->type = ty_with_side(c, v->type, k, (int32_t)n * v->type->shape[k]);
    for (const Use *u = v->uses; u; u = u->next) {
        int perm[MAX_RANK], to = 0;
        if (u->user->op != OP_TRANS)
            continue;
        ir_perm(u->user, perm);
        while (perm[to] != k)
            to++;
        lengthen(c, result(u->user, 0), to, n);
    }
}

static void
take(Func *f, Loop *l, int64_t n)
{
    Val *map[MAX_TILES];
    for (int i = 0; i < l->n_tiles; i++)
        if (!(map[i] = longer_map(f, l, &l->tile[i])))
            return; /* dce takes what was made on top */
    DotSides sides[MAX_DOTS];
    for (int i = 0; i < l->n_dots; i++)
        sides[i] = dot_sides(l->dot[i]);
    for (int i = 0; i < l->n_tiles; i++) {
        Op *load = l->tile[i].load;
        lengthen(f->c, result(load, 0), l->tile[i].k, n);
        ir_set_arg(load, 0, map[i]);
        TileForm form = tile_form(load);
        ir_set_attr(map[i]->def, ATTR_BOX, tile_form_box(&form));
        ir_set_attr(map[i]->def, ATTR_SWIZZLE, form.swizzle);
    }
    for (int i = 0; i < l->n_dots; i++) {
        sides[i].k *= (int)n;
        dot_set_sides(l->dot[i], sides[i]);
    }
    Build b = ir_before(l->op);
    const Type *t = arg(l->op, 2)->type;
    ir_set_arg(l->op, 2, ir_const_int(&b, t, n * l->step));
    ir_report(f, l->dot[0]->loc, "tiles",
              str_printf(f->c->arena, "%d at once, so that rows are lines of %d bytes",
                         (int)n, LINE));
}

void
pass_whole_lines(Func *f)
{
    if (!hopper_plan(f).has_maps || roles_refusal(f))
        return;
    EACH_OP_INSIDE_OUT(o, f->body) {
        Loop l;
        if (find_loop(o, &l) && tiles_at_once(&l) > 1)
            take(f, &l, tiles_at_once(&l));
    }
}
