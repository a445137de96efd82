/* assign_layouts: gives every block a layout, and converts where two disagree.
 *
 * First look: what layout would each value like to have?
 *     load, atomic    coalesced: a vector along the fastest dim, then lanes, then warps;
 *                     one choice for all accesses of a shape and order: the widest, or
 *                     less where one of them takes every second element (count_lines); what
 *                     moves anyhow, to a product or from one to an atomic, chooses by its type
 *     dot             the accumulator fragments of the tensor core, else blocked
 *     reduce          the operand's, sliced;  shape ops: through the algebra
 *     elementwise     the first operand's that has a wish; a product's sum goes first where
 *                     the result becomes a factor of another product
 *     cheap           none: constants, splats, aranges and what is computed of them
 *     carried by a loop   the initial value's; if the body yields another, that one, until
 *                     it settles; cheap all around: what the accesses want that it reaches
 *
 *     %p = addptr %splat, %arange            cheap: will be made in whatever layout
 *     %x = load %p                           blocked, 16 bytes a thread
 *     %m = reduce %x {axis=1}                slice of it
 *     %b = broadcast (expand_dims %m)        ... weak: gives way to %x
 *     %y = sub %x, %b                        as %x
 *
 * Then change: each op demands its operands in a layout. A cheap value is made again in
 * that layout (a clone after its definition); expand_dims, broadcast and widening casts
 * pass the demand on to their smaller operand; addresses, masks and what else is computed
 * of rows and columns alone is computed again of them (wishes_is_spread, is_of_broadcasts);
 * a short row is loaded again, with little arithmetic on it; anything else gets a
 * convert_layout after its definition, so in no loop that the value is not in. A store
 * takes its data as it lies unless rows would be cut to pieces (see store_layout).
 *
 * The first look is wish_layouts.c; here is the change.
 *
 * Rule 1: what this pass makes has no wish; origin says what it was made of. Whoever asks an
 *         operand's wish asks that (wishing): operands are replaced before their users look.
 * Rule 2: registers of a layout never repeat an element (layout_dedup_regs), so that
 *         equal layouts are the same pointer.
 */
#include "passes/simt/layouts.h"

#include <assert.h>

enum {
    MAX_RELOADED = 16 << 10, /* bytes of a row that is loaded twice rather than moved */
    ROW_BUDGET = 4,          /* ops on it that are done again besides */
};

typedef struct Assign {
    Func *f;
    Comp *c;
    Wishes *wishes;
    Map made;           /* {Val, Layout} -> Val */
    Map origin;         /* what was made -> the value it was made of */
    const Op *dot;      /* whose operand is demanded */
    const Block *asked; /* multiplies has been asked of it last .. */
    bool is_product;    /* .. and said this */
} Assign;

typedef struct MadeKey {
    const Val *v;
    const Layout *l;
} MadeKey;

static void
set_layout(Assign *s, Val *v, const Layout *l)
{
    if (is_block(v))
        v->type = ty_with_layout(s->c, v->type, l);
}

/* A builder right behind the definition of v. */
static Build
behind(Assign *s, const Val *v)
{
    Build b = {.f = s->f, .block = v->block, .loc = v->def ? v->def->loc : s->f->loc};
    b.before = v->def ? v->def->next : v->block->first;
    return b;
}

static Val *demand(Assign *s, Val *v, const Layout *l);

static void
demand_arg(Assign *s, Op *o, int i, const Layout *l)
{
    Val *v = arg(o, i);
    if (!is_block(v))
        return;
    Val *d = demand(s, v, l);
    if (d != v)
        ir_set_arg(o, i, d);
}

/* The layout that operand i of the cheap (or shape) op o must have for a result in l. */
static const Layout *
operand_layout(Assign *s, const Op *o, const Layout *l)
{
    const Layout *below = layouts_operand(s->c, o, l);
    return below ? below : l;
}

/* Does o compute its one result of what stands in the same places, and nothing else? */
static bool
is_simple(const Op *o)
{
    return op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && o->n_results == 1;
}

/* v, or what it was made of here: that has the wish. */
static const Val *
wishing(Assign *s, const Val *v)
{
    const Val *origin = map_get(&s->origin, v, 0);
    return origin ? origin : v;
}

/* Do a loop's iterations load rows such as this one by one, in l, and more than a few numbers of each thread? They
 * go to the threads by way of shared memory in fewer steps, and a load that runs ahead takes one register. The gradient
 * of forgetting attention's keys has three rows of 64, one of each head: 48 loads an iteration, 625 us on an H100, and
 * 421 moved. One row of 64 is loaded: path attention's dq takes 203 us so, and 220 where 4 warps wait for it. */
static bool
is_picked_up(Assign *s, const Op *load, const Layout *l)
{
    enum { FEW = 16 };
    const Op *owner = load->block->owner;
    const Accesses *a = wishes_accesses(s->wishes);
    int n = 0;
    while (owner && owner->op == OP_IF)
        owner = owner->block->owner;
    for (const Op *o = load->block->first; o && owner; o = o->next)
        if (o->op == OP_LOAD && accesses_is_scattered(a, o) &&
            result(o, 0)->type->rank == 1)
            n += result(o, 0)->type->shape[0] == result(load, 0)->type->shape[0];
    return n << l->n[IN_REG] > FEW && accesses_is_scattered(a, load);
}

/* A row or column that is loaded and can be again in l, little arithmetic included: the lines are
 * in the cache, and moving the values would cost a barrier. */
static bool
is_cheap_row(Assign *s, const Val *v, const Layout *l, int *budget)
{
    v = wishing(s, v);
    const Op *o = v->def;
    const Type *t = v->type;
    int n_long = 0;
    for (int d = 0; d < t->rank; d++)
        n_long += t->shape[d] > 1;
    if (wishes_any(s->wishes, v) || !is_block(v))
        return true;
    if (!o || !wishes_of(s->wishes, v) || n_long > 1 ||
        ty_numel(t) * ty_bits(t) / 8 > MAX_RELOADED)
        return false;
    if (o->op == OP_LOAD ? ir_attr(o, ATTR_VOLATILE) || is_picked_up(s, o, l)
                         : !is_simple(o))
        return false;
    if (o->op != OP_LOAD && (*budget -= wishes_weight(o)) < 0)
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (o->op == OP_LOAD ? !wishes_any(s->wishes, wishing(s, arg(o, i)))
                             : !is_cheap_row(s, arg(o, i), l, budget))
            return false;
    return true;
}

/* Would v lie in l instead of where it wants to, and not as well? Then its definition is done no more
 * often, where no more threads do it. */
static bool
would_move(Assign *s, const Val *v, const Layout *l)
{
    return v->uses && !v->uses->next &&
           l->n[IN_REG] <= wishes_of(s->wishes, v)->n[IN_REG];
}

/* Is v computed of broadcasts alone, floats included, and has no other reason to lie as it
 * does? Then each op on the way is done again in another layout, and only what is small is
 * moved. l: the layout, where everything on the way there would move; else NULL. */
static bool
is_of_broadcasts(Assign *s, const Val *v, const Layout *l, int *budget)
{
    v = wishing(s, v);
    const Op *o = v->def;
    if (!is_block(v) || wishes_any(s->wishes, v))
        return true;
    if (!o || !wishes_of(s->wishes, v))
        return false;
    if (o->op == OP_EXPAND || o->op == OP_BROADCAST)
        return true;
    if (!is_simple(o) || !wishes_gives_way(s->wishes, v))
        return false;
    if (l && !would_move(s, v, l))
        l = NULL;
    if (!l && (*budget -= wishes_weight(o)) < 0)
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (!is_of_broadcasts(s, arg(o, i), l, budget))
            return false;
    return true;
}

/* Would a thread load more elements in a row than come at once? Those of a warp then lie far apart. */
static bool
is_loaded_apart(const Op *o, const Layout *l)
{
    int bit[MAX_BITS], dim = result(o, 0)->type->rank - 1;
    return o->op == OP_LOAD &&
           ty_bits(result(o, 0)->type) / 8 << layout_run(l, dim, MAX_BITS, bit) > 32;
}

/* Has b a product? */
static bool
multiplies(Assign *s, const Block *b)
{
    if (s->asked == b)
        return s->is_product;
    const Op *o = b->first;
    while (o && o->op != OP_DOT)
        o = o->next;
    s->asked = b;
    return s->is_product = o != NULL;
}

/* Will the pass pipeline look at o, a load of a product's loop? Threads then read its slot in any layout: a mask of
 * attention's scores, which are 8 bits, two by two. */
static bool
runs_ahead(Assign *s, const Op *o)
{
    int min_bits = s->dot ? 16 : 8;
    const Op *loop = o->block->owner;
    if (s->c->opt.target.sm < 80 || !loop || loop->op != OP_FOR ||
        (s->dot ? o->block != s->dot->block : !multiplies(s, o->block)) ||
        ir_attr(o, ATTR_VOLATILE))
        return false;
    int64_t asked = ir_attr(loop, ATTR_STAGES);
    return (asked ? asked : s->c->opt.num_stages) > 1 &&
           ty_bits(result(o, 0)->type) >= min_bits;
}

/* Are its elements wide enough for copies? */
static bool
is_copied(Assign *s, const Op *o)
{
    enum { MIN_COPY = 4 };
    int bit[MAX_BITS], run = 0;
    const Type *t = result(o, 0)->type;
    const Layout *l = wishes_of(s->wishes, result(o, 0));
    for (int dim = 0; dim < t->rank; dim++)
        run = MAX(run, layout_run(l, dim, MAX_BITS, bit));
    return runs_ahead(s, o) && ty_bits(t) / 8 << run >= MIN_COPY;
}

/* Does a copy bring it to shared memory, where words of l lie together? Threads then read it in l. */
static bool
is_brought(const Op *o, const Layout *l)
{
    enum { WORD = 4 };
    int bit[MAX_BITS];
    const Type *t = o->n_results ? result(o, 0)->type : NULL;
    return o->op == OP_MAP_LOAD &&
           ty_bits(t) / 8 << layout_run(l, t->rank - 1, MAX_BITS, bit) >= WORD;
}

/* Is v, which is wanted in l, computed of copies that nobody else reads? Each thread then reads and computes
 * what it needs. As the loads lie it would read 16 bytes, write 16, wait for the others and read 16. */
static bool
is_of_copies(Assign *s, const Val *v, const Layout *l, int *budget, bool *is_any)
{
    v = wishing(s, v);
    const Op *o = v->def;
    int row_budget = ROW_BUDGET;
    if (!is_block(v) || wishes_any(s->wishes, v))
        return true;
    if (!o || !wishes_of(s->wishes, v))
        return false;
    if (o->op == OP_EXPAND || o->op == OP_BROADCAST ||
        is_cheap_row(s, v, l, &row_budget))
        return true;
    if (!ir_has_one_use(v))
        return false;
    if (o->op == OP_LOAD || o->op == OP_MAP_LOAD)
        return (o->op == OP_LOAD ? is_copied(s, o) : is_brought(o, l)) &&
               (*is_any = true);
    if (!is_simple(o) || (!would_move(s, v, l) && (*budget -= wishes_weight(o)) < 0))
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (!is_of_copies(s, arg(o, i), l, budget, is_any))
            return false;
    return true;
}

/* The layout in which copies bring v, a row of the product's loop that is wanted in l, for others to read; NULL: it
 * is none. */
static const Layout *
copied_row(Assign *s, const Val *v, const Layout *l)
{
    enum { MAX_ROW = 1024 };
    const Op *o = v->def;
    int budget = ROW_BUDGET;
    bool is_row = s->dot && o && o->op == OP_LOAD && v->type->rank == 1 &&
                  ty_numel(v->type) * ty_bits(v->type) / 8 <= MAX_ROW &&
                  is_cheap_row(s, v, l, &budget);
    return is_row && runs_ahead(s, o)
               ? accesses_copied_layout(wishes_accesses(s->wishes), o)
               : NULL;
}

/* Threads of several warps may multiply an element, and each would compute it. */
static bool
is_made_where_wanted(Assign *s, const Val *v, const Layout *l)
{
    int budget = 16;
    bool is_any = false;
    for (int i = 0; i < l->n[IN_WARP]; i++)
        if (!l->basis[IN_WARP][i])
            budget /= 4;
    return v->def->op != OP_LOAD && is_of_copies(s, v, l, &budget, &is_any) && is_any;
}

/* Does a product want v in l? */
static bool
is_wanted_as_operand(Assign *s, const Val *v, const Layout *l)
{
    uint8_t shape[MAX_RANK];
    for (const Use *u = v->uses; u; u = u->next) {
        DotPlan p;
        int i = (int)(u - u->user->args);
        if (u->user->op != OP_DOT || i > 1)
            continue;
        dot_plan(s->f, u->user, &p);
        if (!p.is_mma || p.is_wgmma || p.operand[i] != v->type->elem)
            continue;
        ty_log2_shape(v->type, shape);
        if (l == (i ? layout_mma_b : layout_mma_a)(s->c, v->type->rank, shape, p.kw,
                                                   p.log2_warps_m, p.log2_warps_n))
            return true;
    }
    return false;
}

/* Is v, which nobody else reads, made of what is cheap and of one block that moves to l anyhow, for another product?
 * Inverses of triangles multiply x by x and out by 1 + x. */
static bool
is_of_moved(Assign *s, const Val *v, const Layout *l)
{
    const Op *o = v->def;
    const Val *moved = NULL;
    if (!s->dot || !is_simple(o) || !ir_has_one_use(v) ||
        wishes_weight(o) >= WISHES_CHEAP)
        return false;
    for (int i = 0; i < o->n_args; i++) {
        const Val *x = wishing(s, arg(o, i));
        if (!is_block(x) || wishes_any(s->wishes, x))
            continue;
        if (moved || !is_wanted_as_operand(s, x, l))
            return false;
        moved = x;
    }
    return moved != NULL;
}

/* Is it less work to do v's definition again in layout l than to move v? Where the
 * operand is smaller than the result, moving that is less. */
static bool
is_remade(Assign *s, const Val *v, const Layout *l)
{
    const Op *o = v->def;
    if (!o || !wishes_of(s->wishes, v) || is_loaded_apart(o, l))
        return false;
    bool is_repeated = o->op == OP_RESHAPE && arg(o, 0)->def &&
                       arg(o, 0)->def->op == OP_BROADCAST; /* narrow_loads */
    if (wishes_any(s->wishes, v) || o->op == OP_EXPAND || o->op == OP_BROADCAST ||
        is_repeated)
        return true;
    if (o->op == OP_CAST && ty_bits(arg(o, 0)->type) < ty_bits(v->type))
        return true;
    int spread_budget = WISHES_CHEAP, row_budget = ROW_BUDGET;
    return is_cheap_row(s, v, l, &row_budget) || wishes_is_spread(s->wishes, v) ||
           is_of_broadcasts(s, v, l, &spread_budget) || is_made_where_wanted(s, v, l) ||
           is_of_moved(s, v, l);
}

static Val *
remake(Assign *s, Val *v, const Layout *l)
{
    Op *o = v->def;
    const Layout *below = operand_layout(s, o, l);
    if (wishes_any(s->wishes, v) && !v->type->layout) { /* the first demand: in place */
        for (int i = 0; i < o->n_args; i++)
            demand_arg(s, o, i, below);
        set_layout(s, v, l);
        return v;
    }
    Map map = {.a = s->c->arena};
    for (int i = 0; i < o->n_args; i++)
        if (is_block(arg(o, i)))
            map_put(&map, arg(o, i), 0, demand(s, arg(o, i), below));
    Build b = behind(s, v);
    Val *r = ir_clone(&b, o, &map)->results[0];
    set_layout(s, r, l);
    return r;
}

/* v with layout l: v itself, made again, or converted. */
static Val *
demand(Assign *s, Val *v, const Layout *l)
{
    if (v->type->layout == l)
        return v;
    Val *origin = map_get(&s->origin, v, 0);
    if (origin)
        return demand(s, origin, l);
    MadeKey k;
    memset(&k, 0, sizeof k);
    k.v = v;
    k.l = l;
    Val *r = map_get(&s->made, &k, sizeof k);
    if (r)
        return r;
    const Layout *copied = copied_row(s, v, l);
    if (copied && copied != l) {
        r = demand(s, v, copied);
        Build b = behind(s, r);
        r = ir_op1(&b, OP_CONVERT, 1, &r, ty_with_layout(s->c, v->type, l));
    } else if (is_remade(s, v, l)) {
        r = remake(s, v, l);
    } else {
        assert(v->type->layout);
        Build b = behind(s, v);
        r = ir_op1(&b, OP_CONVERT, 1, &v, ty_with_layout(s->c, v->type, l));
    }
    map_put(&s->made, &k, sizeof k, r);
    if (r != v)
        map_put(&s->origin, r, 0, v);
    return r;
}

static void change_block(Assign *s, Block *b);

static void
demand_values(Assign *s, Op *o, int first, Val *const *like)
{
    for (int i = first; i < o->n_args; i++)
        if (is_block(arg(o, i)))
            demand_arg(s, o, i, like[i - first]->type->layout);
}

static void
give_wishes(Assign *s, Val *const *v, int n)
{
    for (int i = 0; i < n; i++)
        if (is_block(v[i])) {
            assert(!wishes_any(s->wishes, v[i]));
            set_layout(s, v[i], wishes_of(s->wishes, v[i]));
        }
}

static void
demand_all(Assign *s, Op *o, const Layout *l)
{
    for (int i = 0; i < o->n_args; i++)
        demand_arg(s, o, i, l);
}

static void
cast_operand(Assign *s, Op *o, int i, Elem e)
{
    Val *v = arg(o, i);
    if (v->type->elem == e)
        return;
    Build b = ir_before(o);
    const Layout *l = v->type->layout;
    if (!l) /* cheap, and nobody has asked yet */
        v = demand(s, v, wishes_default(s->wishes, v->type));
    ir_set_arg(o, i, ir_op1(&b, OP_CAST, 1, &v, ty_with_elem(s->c, v->type, e)));
}

/* The dim along which v's elements lie in memory, if loads are all it is; else the one
 * along which a thread has more of them. */
static int
longest_run(Assign *s, const Val *v)
{
    const Op *o = v->def;
    if (o && o->op == OP_TRANS) {
        int perm[MAX_RANK], dim = longest_run(s, arg(o, 0));
        ir_perm(o, perm);
        return perm[0] == dim ? 0 : 1;
    }
    int bit[MAX_BITS];
    return layout_run(v->type->layout, 0, MAX_BITS, bit) >
                   layout_run(v->type->layout, 1, MAX_BITS, bit)
               ? 0
               : 1;
}

/* What threads store costs the less the fewer of them meet in a bank. */
static int
cheapest_run(Assign *s, const Val *v)
{
    int run = longest_run(s, v), cost[2];
    uint8_t shape[MAX_RANK];
    ty_log2_shape(v->type, shape);
    if (comes_from_load(v))
        return run;
    for (int d = 0; d < 2; d++) {
        Col offset_of[MAX_BITS];
        layout_offsets(layout_swizzled(s->c, 2, shape, d, 1, 0, 0), offset_of);
        cost[d] = layouts_access_cost(v->type->layout, offset_of, 16);
    }
    return cost[1 - run] < cost[run] ? 1 - run : run;
}

/* Operand i of o, which reads shared memory, goes there right behind its definition. */
static void
share_operand(Assign *s, Op *o, int i, const DotPlan *p)
{
    Val *v = arg(o, i);
    if (!v->type->layout)
        v = demand(s, v, wishes_default(s->wishes, v->type));
    uint8_t shape[MAX_RANK];
    ty_log2_shape(v->type, shape);
    int bytes = elem_info[v->type->elem].bytes;
    bool is_words = i == 0 && p->is_a_words;
    int fastest = bytes == 2 ? cheapest_run(s, v)
                  : is_words ? longest_run(s, v)
                             : 1 - i; /* else along K */
    const Layout *l = layout_swizzled(s->c, 2, shape, fastest, log2_of(bytes), 0, 0);
    if (i == 1 && p->is_a_regs && p->kw > 4 / bytes)
        l = layout_wgmma_paired(s->c, l);
    const Type *t = ty_smem(s->c, v->type, 1, l);
    Val *shared = map_get(&s->made, &(MadeKey){v, t->layout}, sizeof(MadeKey));
    if (!shared) {
        Build b = behind(s, v);
        shared = ir_op1(&b, OP_TO_SHARED, 1, &v, t);
        map_put(&s->made, &(MadeKey){v, t->layout}, sizeof(MadeKey), shared);
    }
    ir_set_arg(o, i, shared);
}

static void
demand_operand(Assign *s, Op *dot, int i, const Layout *l)
{
    s->dot = dot;
    demand_arg(s, dot, i, l);
    s->dot = NULL;
}

static void
change_wgmma(Assign *s, Op *o, const DotPlan *p)
{
    uint8_t shape[MAX_RANK];
    ty_log2_shape(arg(o, 0)->type, shape);
    if (p->is_a_regs)
        demand_operand(s, o, 0,
                       layout_wgmma_a(s->c, shape, p->kw, p->log2_warps_m,
                                      p->log2_warps_n));
    else
        share_operand(s, o, 0, p);
    share_operand(s, o, 1, p);
}

/* Says for compiled.report why a dot is none of warpgroups, on a chip that has them. */
static void
report_level_1(Func *f, const Op *dot)
{
    DotPlan p;
    HopperPlan plan = hopper_plan(f);
    const char *why = plan.level > 1 ? hopper_dot(f, dot, &p) : plan.why_not;
    if (why)
        ir_report(f, dot->loc, "dot",
                  str_printf(f->c->arena, "level 1, no wgmma: %s", why));
}

static void
change_dot(Assign *s, Op *o)
{
    DotPlan p;
    dot_plan(s->f, o, &p);
    if (!p.is_wgmma) /* while the operands are of their own types */
        report_level_1(s->f, o);
    give_wishes(s, o->results, 1);
    demand_arg(s, o, 2, o->results[0]->type->layout);
    if (p.is_wgmma) {
        change_wgmma(s, o, &p);
        return;
    }
    if (p.is_mma && p.kw != mma_shape[p.kind].kw)
        ir_set_attr(o, ATTR_KW, p.kw);
    for (int i = 0; i < 2; i++) {
        Val *v = arg(o, i);
        if (!p.is_mma) { /* through shared memory: any layout will do */
            if (!v->type->layout)
                demand_arg(s, o, i, wishes_default(s->wishes, v->type));
            continue;
        }
        cast_operand(s, o, i, p.operand[i]);
        uint8_t shape[MAX_RANK];
        ty_log2_shape(v->type, shape);
        demand_operand(s, o, i,
                       (i ? layout_mma_b : layout_mma_a)(s->c, v->type->rank, shape,
                                                         p.kw, p.log2_warps_m,
                                                         p.log2_warps_n));
    }
}

static void
change_op(Assign *s, Op *o)
{
    const Layout *l = wishes_of_op(s->wishes, o);
    switch (o->op) {
    case OP_FOR:
        give_wishes(s, o->regions[0]->args, o->regions[0]->n_args);
        give_wishes(s, o->results, o->n_results);
        demand_values(s, o, 3, o->results);
        change_block(s, o->regions[0]);
        return;
    case OP_WHILE:
        for (int i = 0; i < 2; i++)
            give_wishes(s, o->regions[i]->args, o->regions[i]->n_args);
        give_wishes(s, o->results, o->n_results);
        demand_values(s, o, 0, o->regions[0]->args);
        change_block(s, o->regions[0]);
        change_block(s, o->regions[1]);
        return;
    case OP_IF:
        give_wishes(s, o->results, o->n_results);
        for (int i = 0; i < o->n_regions; i++)
            change_block(s, o->regions[i]);
        return;
    case OP_YIELD: {
        const Op *owner = o->block->owner;
        demand_values(s, o, 0,
                      owner->op == OP_WHILE ? owner->regions[0]->args : owner->results);
        return;
    }
    case OP_CONDITION: demand_values(s, o, 1, o->block->owner->results); return;
    case OP_DOT: change_dot(s, o); return;
    case OP_GATHER:
        give_wishes(s, o->results, 1);
        demand_arg(s, o, 0, l);
        demand_arg(s, o, 1, o->results[0]->type->layout);
        return;
    case OP_PRINT:
        if (ir_attr(o, ATTR_MASKED))
            break;
        for (int i = 0; i < o->n_args; i++)
            if (is_block(arg(o, i)) && !arg(o, i)->type->layout)
                demand_arg(s, o, i, wishes_default(s->wishes, arg(o, i)->type));
        return;
    case OPS(OPS_VALUES, OPS_SHAPE, OPS_ELEM, OPS_ACCESS, OPS_TENSOR, OP_REDUCE,
             OP_SCAN, OP_HISTOGRAM, OP_SORT, OPS_FOREIGN, OP_RETURN, OP_ASSUME,
             OP_ASSERT, OP_DEBUG, OPS_THREADS):
        break;
    }
    if (l) { /* works in one layout */
        demand_all(s, o, l);
        give_wishes(s, o->results, o->n_results);
        return;
    }
    if (o->op == OP_RESHAPE && !is_block(o->results[0]) && !arg(o, 0)->type->layout)
        demand_arg(s, o, 0, wishes_default(s->wishes, arg(o, 0)->type));
    if (!o->n_results || !is_block(o->results[0]) ||
        wishes_any(s->wishes, o->results[0]))
        return;
    give_wishes(s, o->results, o->n_results);
    demand_all(s, o, operand_layout(s, o, o->results[0]->type->layout));
}

static void
change_block(Assign *s, Block *b)
{
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next; /* what is inserted behind o needs no change */
        change_op(s, o);
    }
}

/* Layouts are given once, to blocks whose sides are powers of two. Text may have others. */
static void
check_ready(const Block *b)
{
    Comp *c = b->func->c;
    EACH_OP(o, b)
        for (int i = 0; i < o->n_results; i++) {
            const Type *t = o->results[i]->type;
            if (t->layout)
                err_at(c, o->loc, VALUE, "this block has a layout already");
            for (int d = 0; d < t->rank; d++)
                if (ty_padded_side(t->shape[d]) != t->shape[d])
                    err_say(c, o->loc, VALUE, "%s: run pad_blocks before this",
                            ty_str(c->arena, t));
        }
}

void
pass_assign_layouts(Func *f)
{
    Arena *a = f->c->arena;
    check_ready(f->body);
    ir_drop_unused(f->body, true);
    f->log2_ctas = cluster_log2_ctas(f);
    Assign s = {.f = f, .c = f->c, .wishes = wishes_new(f), .made.a = a, .origin.a = a};
    change_block(&s, f->body);
    ir_drop_unused(f->body,
                   true); /* cheap values nobody demanded, and what was made again */
}
