/* assign_layouts: gives every block a layout, and converts where two disagree.
 *
 * First look: what layout would each value like to have?
 *     load, atomic    coalesced: a vector along the fastest dim, then lanes, then warps;
 *                     one choice for all accesses of a shape and order, the widest
 *     dot             the accumulator fragments of the tensor core, else blocked
 *     reduce          the operand's, sliced;  shape ops: through the algebra
 *     elementwise     the first operand's that has a wish
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
 * pass the demand on to their smaller operand; a short row is loaded again; anything else
 * gets a convert_layout after its definition, so in no loop that the value is not in. A
 * store takes its data as it lies unless rows would be cut to pieces (see store_layout).
 *
 * Rule 1: facts are asked before anything changes, because they are about values.
 * Rule 2: a wish without a value is &any; NULL means scalar (or not seen yet).
 * Rule 3: registers of a layout never repeat an element (layout_dedup_regs), so that
 *         equal layouts are the same pointer.
 *
 * Long, and one thing: the wish of every op and its demand are two halves of one decision.
 */
#include "passes/layouts.h"

#include <assert.h>

enum {
    MAX_ROUNDS = 3,         /* over a loop's body until its carried layouts settle */
    CHEAP_BUDGET = 48,      /* ops (weighted) that may be done again rather than moved */
    HINT_BUDGET = 64,
    MIN_STORE_RUN = 32,     /* bytes: a sector of memory */
    MAX_VEC_BYTES = 16,
    MAX_RELOADED = 16 << 10,    /* bytes of a row that is loaded twice rather than moved */
};

static const Layout any;    /* the wish of a cheap value */

typedef struct Wish {
    const Layout *layout;   /* NULL, &any, or interned */
    bool is_weak;           /* made by broadcast: gives way to any other */
    int cost;               /* of making a cheap value again */
} Wish;

typedef struct Assign {
    Func *f;
    Comp *c;
    FactTable *facts;
    int log2_warps;
    Wish *wish;             /* by value id; values made by this pass have none */
    int n_wish;
    Map vec;                /* access class -> VecChoice */
    Map op_layout;          /* Op -> Layout of the operands it works on */
    Map access;             /* Op (load, store, atomic) -> its coalesced Layout */
    Map made;               /* {Val, Layout} -> Val */
    Map origin;             /* what was made -> the value it was made of */
} Assign;

/* ---- layouts ------------------------------------------------------------------------- */

static int
log2_of(int64_t n)
{
    return __builtin_ctzll((unsigned long long)n);
}

const Layout *
layouts_slice(Comp *c, const Layout *l, int axis)
{
    return layout_dedup_regs(c, layout_slice(c, l, axis));
}

/* l with the dims of t that are 1 (and larger in l) projected away. */
static const Layout *
narrowed(Comp *c, const Layout *l, const Type *t)
{
    for (int d = 0; d < t->rank; d++)
        if (t->shape[d] == 1 && l->log2_shape[d])
            l = layout_expand(c, layout_slice(c, l, d), d);
    return layout_dedup_regs(c, l);
}

const Layout *
layouts_operand(Comp *c, const Op *o, const Layout *l)
{
    uint8_t shape[MAX_RANK];
    int perm[MAX_RANK];
    switch (o->op) {
    case OP_EXPAND: return layouts_slice(c, l, (int)ir_attr(o, ATTR_AXIS));
    case OP_BROADCAST: return narrowed(c, l, arg(o, 0)->type);
    case OP_RESHAPE:
        ty_log2_shape(arg(o, 0)->type, shape);
        return layout_reshape(c, l, arg(o, 0)->type->rank, shape);
    case OP_TRANS:
        for (int d = 0; d < arg(o, 0)->type->rank; d++)
            perm[(uint64_t)ir_attr(o, ATTR_PERM) >> (4 * d) & 15] = d;
        return layout_permute(c, l, perm);
    default: return NULL;
    }
}

/* The other direction: the result's layout when the operand has l. */
static const Layout *
result_of(Comp *c, const Op *o, const Layout *l)
{
    const Type *t = o->results[0]->type;
    uint8_t shape[MAX_RANK];
    int perm[MAX_RANK];
    ty_log2_shape(t, shape);
    switch (o->op) {
    case OP_EXPAND: return layout_expand(c, l, (int)ir_attr(o, ATTR_AXIS));
    case OP_BROADCAST: return layout_dedup_regs(c, layout_broadcast(c, l, shape));
    case OP_RESHAPE: return layout_reshape(c, l, t->rank, shape);
    case OP_TRANS:
        for (int d = 0; d < t->rank; d++)
            perm[d] = (int)((uint64_t)ir_attr(o, ATTR_PERM) >> (4 * d) & 15);
        return layout_permute(c, l, perm);
    default: unreachable(c);
    }
}

static bool
is_block(const Val *v)
{
    return v->type->rank > 0;
}

/* Fastest first: `first`, then the others from the last to the first. */
static void
fill_order(int rank, int first, int *order)
{
    int n = 0;
    order[n++] = first;
    for (int d = rank - 1; d >= 0; d--)
        if (d != first)
            order[n++] = d;
}

/* 1 << log2_vec elements a thread along `fastest`; never so many that threads go idle. */
static const Layout *
blocked(Assign *s, const Type *t, int fastest, int log2_vec)
{
    int per_thread[MAX_RANK], order[MAX_RANK];
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    int log2_each = log2_of(ty_numel(t)) - LANE_BITS - s->log2_warps;
    log2_vec = MIN(log2_vec, MIN((int)shape[fastest], MAX(log2_each, 0)));
    for (int d = 0; d < t->rank; d++)
        per_thread[d] = d == fastest ? 1 << log2_vec : 1;
    fill_order(t->rank, fastest, order);
    return layout_dedup_regs(
        s->c, layout_blocked(s->c, t->rank, shape, per_thread, s->log2_warps, order));
}

static const Layout *
default_layout(Assign *s, const Type *t)
{
    return blocked(s, t, t->rank - 1, 2);
}

/* The accumulator of a dot by multiply-adds: a square patch a thread, so that operands
 * read from shared memory are used as often as possible. */
static const Layout *
fma_acc_layout(Assign *s, const Type *t)
{
    int per_thread[MAX_RANK], order[MAX_RANK];
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    for (int d = 0; d < t->rank; d++)
        per_thread[d] = 1;
    int m = t->rank - 2, n = t->rank - 1;
    int left = MAX(shape[m] + shape[n] - LANE_BITS - s->log2_warps, 0);
    int along_n = MIN(MIN((left + 1) / 2, 2), (int)shape[n]);
    int along_m = MIN(MIN(left - along_n, 2), (int)shape[m]);
    per_thread[n] = 1 << along_n;
    per_thread[m] = 1 << along_m;
    fill_order(t->rank, n, order);
    return layout_dedup_regs(
        s->c, layout_blocked(s->c, t->rank, shape, per_thread, s->log2_warps, order));
}

static const Layout *
acc_layout(Assign *s, const Op *dot)
{
    DotPlan p;
    dot_plan(s->f, dot, &p);
    const Type *t = dot->results[0]->type;
    if (!p.is_mma)
        return fma_acc_layout(s, t);
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    return layout_mma_acc(s->c, t->rank, shape, p.log2_warps_m, p.log2_warps_n);
}

/* Every basis is one bit or none: an input bit moves along one dim. */
static bool
has_unit_bases(const Layout *l)
{
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++)
            if (l->basis[in][i] & (l->basis[in][i] - 1))
                return false;
    return true;
}

/* Bytes that one access of a warp covers without a gap along dim. */
static int
run_bytes(const Layout *l, int dim, int elem_bytes)
{
    int bit[MAX_BITS], shift = layout_dim_shift(l, dim);
    Col seen = ((Col)1 << layout_run(l, dim, log2_of(MAX_VEC_BYTES / elem_bytes), bit)) - 1;
    for (int i = 0; i < l->n[IN_LANE]; i++)
        seen |= l->basis[IN_LANE][i] >> shift;
    int run = 0;
    while (run < l->log2_shape[dim] && seen >> run & 1)
        run++;
    return elem_bytes << run;
}

/* ---- accesses --------------------------------------------------------------------------- */

static bool
is_access(const Op *o)
{
    return o->op == OP_LOAD || o->op == OP_STORE || o->op == OP_ATOMIC_RMW ||
           o->op == OP_ATOMIC_CAS;
}

static int
pointee_bytes(const Type *ptr)
{
    return elem_info[ptr->elem].bytes;
}

typedef struct AccessClass {
    int32_t rank, fastest, shape[MAX_RANK];
} AccessClass;

static AccessClass
class_of(Assign *s, const Op *o)
{
    AccessClass k;
    memset(&k, 0, sizeof k);
    const Type *t = arg(o, 0)->type;
    k.rank = t->rank;
    k.fastest = facts_fastest_dim(s->facts, o);
    memcpy(k.shape, t->shape, sizeof k.shape);
    return k;
}

/* Both walks over the accesses: the widest vector of each class, then the layouts. */
static void
scan_accesses(Assign *s, const Block *b, bool assign)
{
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            scan_accesses(s, o->regions[i], assign);
        if (!is_access(o) || !is_block(arg(o, 0)))
            continue;
        AccessClass k = class_of(s, o);
        int *widest = map_get(&s->vec, &k, sizeof k);
        if (!widest) {
            widest = NEW(s->c->arena, int);
            map_put(&s->vec, &k, sizeof k, widest);
        }
        if (assign) {
            map_put(&s->access, o, 0, (void *)blocked(s, arg(o, 0)->type, k.fastest, *widest));
        } else if (o->op == OP_LOAD || o->op == OP_STORE) {
            int vec = facts_access_log2(s->facts, o, k.fastest, MAX_VEC_BYTES);
            *widest = MAX(*widest, vec);
        }
    }
}

static const Layout *
access_layout(Assign *s, const Op *o)
{
    return map_get(&s->access, o, 0);
}

static bool
is_scattered(Assign *s, const Op *o)
{
    return facts_access_log2(s->facts, o, facts_fastest_dim(s->facts, o), MAX_VEC_BYTES) == 0;
}

/* ---- first look: wishes ------------------------------------------------------------------- */

static Wish *
wish(Assign *s, const Val *v)
{
    assert(v->id < s->n_wish);
    return &s->wish[v->id];
}

static bool
is_any(Assign *s, const Val *v)
{
    return v->id < s->n_wish && s->wish[v->id].layout == &any;
}

static void
set_wish(Assign *s, const Val *v, const Layout *l, bool is_weak)
{
    *wish(s, v) = (Wish){is_block(v) ? l : NULL, is_weak, 0};
}

/* How dear it is to do an elementwise op again; CHEAP_BUDGET: too dear. */
static int
weight(const Op *o)
{
    switch (o->op) {
    case OP_DIV:
    case OP_REM: return elem_is_float(arg(o, 0)->type->elem) ? CHEAP_BUDGET : 8;
    case OP_DIV_RN:
    case OP_EXP:
    case OP_EXP2:
    case OP_LOG:
    case OP_LOG2:
    case OP_SIN:
    case OP_COS:
    case OP_TANH:
    case OP_ERF:
    case OP_SQRT:
    case OP_SQRT_RN:
    case OP_RSQRT: return CHEAP_BUDGET;
    default: return 1;
    }
}

static const Layout *hint_of(Assign *s, const Val *v, int *budget);

static const Layout *
hint_of_use(Assign *s, const Use *u, int *budget)
{
    const Op *o = u->user;
    int i = (int)(u - o->args);
    if (is_access(o))
        return access_layout(s, o);
    if (op_has(o, OPF_ELEM))
        return hint_of(s, o->results[0], budget);
    const Layout *l = NULL;
    if (o->op == OP_EXPAND || o->op == OP_BROADCAST || o->op == OP_TRANS || o->op == OP_RESHAPE) {
        l = hint_of(s, o->results[0], budget);
        return l ? layouts_operand(s->c, o, l) : NULL;
    }
    if (o->op == OP_FOR && i >= 3) {
        l = hint_of(s, o->regions[0]->args[i - 2], budget);
        return l ? l : hint_of(s, o->results[i - 3], budget);
    }
    if (o->op == OP_WHILE)
        return hint_of(s, o->regions[0]->args[i], budget);
    if (o->op == OP_CONDITION && i >= 1) {
        l = hint_of(s, o->block->owner->regions[1]->args[i - 1], budget);
        return l ? l : hint_of(s, o->block->owner->results[i - 1], budget);
    }
    if (o->op == OP_YIELD && o->block->owner->op == OP_IF)
        return hint_of(s, o->block->owner->results[i], budget);
    return NULL;
}

/* The layout that the accesses want which v reaches; NULL: none found. */
static const Layout *
hint_of(Assign *s, const Val *v, int *budget)
{
    if (v->id < s->n_wish && s->wish[v->id].layout && !is_any(s, v))
        return s->wish[v->id].layout;
    const Layout *found = NULL;
    int oldest = INT32_MAX;
    for (const Use *u = v->uses; u; u = u->next) {
        if (--*budget < 0)
            break;
        const Layout *l = hint_of_use(s, u, budget);
        /* The list of uses is newest first; take the earliest access. */
        int id = u->user->n_results ? u->user->results[0]->id : INT32_MAX - 1;
        if (l && id < oldest) {
            found = l;
            oldest = id;
        }
    }
    return found;
}

/* A layout for a value nobody upstream has an opinion on. */
static const Layout *
hinted(Assign *s, const Val *v)
{
    int budget = HINT_BUDGET;
    const Layout *l = hint_of(s, v, &budget);
    return l ? l : default_layout(s, v->type);
}

/* The wish of the first block operand from `first` on that has one; NULL: all cheap. */
static const Wish *
first_wish(Assign *s, const Op *o, int first)
{
    const Wish *weak = NULL;
    for (int i = first; i < o->n_args; i++) {
        const Wish *w = wish(s, arg(o, i));
        if (!w->layout || w->layout == &any)
            continue;
        if (!w->is_weak)
            return w;
        if (!weak)
            weak = w;
    }
    return weak;
}

static void
wish_elementwise(Assign *s, const Op *o)
{
    const Val *r = o->results[0];
    const Wish *w = first_wish(s, o, 0);
    if (w) {
        set_wish(s, r, w->layout, w->is_weak);
        return;
    }
    int cost = weight(o);
    for (int i = 0; i < o->n_args; i++)
        cost += wish(s, arg(o, i))->cost;
    if (cost >= CHEAP_BUDGET)
        set_wish(s, r, hinted(s, r), false);
    else
        *wish(s, r) = (Wish){&any, false, cost};
}

static void
wish_shape_op(Assign *s, const Op *o)
{
    const Wish *w = wish(s, arg(o, 0));
    if (!is_block(o->results[0]))
        return;             /* a reshape to a scalar */
    if (w->layout == &any)
        *wish(s, o->results[0]) = (Wish){&any, false, w->cost};
    else
        set_wish(s, o->results[0], result_of(s->c, o, w->layout),
                 w->is_weak || o->op == OP_BROADCAST);
}

/* The layout an op works in, taken from its operands. */
static const Layout *
working_layout(Assign *s, const Op *o)
{
    const Wish *w = first_wish(s, o, 0);
    return w ? w->layout : default_layout(s, arg(o, 0)->type);
}

/* The same for reduce and scan, which go along an axis bit by bit. */
static const Layout *
axis_layout(Assign *s, const Op *o)
{
    const Layout *l = working_layout(s, o);
    if (has_unit_bases(l) && layout_is_nested(l, (int)ir_attr(o, ATTR_AXIS)))
        return l;
    return default_layout(s, arg(o, 0)->type);
}

static void
work_in(Assign *s, const Op *o, const Layout *l)
{
    map_put(&s->op_layout, o, 0, (void *)l);
}

static const Layout *
op_layout(Assign *s, const Op *o)
{
    return map_get(&s->op_layout, o, 0);
}

static const Layout *
load_wish(Assign *s, const Op *o)
{
    const Wish *p = wish(s, arg(o, 0));
    if (p->layout != &any && is_scattered(s, o))
        return p->layout;       /* moving pointers costs more than it gives */
    return access_layout(s, o);
}

static const Layout *
atomic_wish(Assign *s, const Op *o)
{
    const Wish *w = first_wish(s, o, 0);
    return w ? w->layout : access_layout(s, o);
}

/* Where the data lies, unless a warp's access would then cover less than a sector in a row
 * and the coalesced layout covers more. */
static const Layout *
store_layout(Assign *s, const Op *o)
{
    const Wish *p = wish(s, arg(o, 0)), *v = wish(s, arg(o, 1));
    const Layout *best = access_layout(s, o);
    if (p->layout != &any)
        return p->layout;
    if (v->layout == &any || v->layout == best)
        return best;
    int dim = facts_fastest_dim(s->facts, o), bytes = pointee_bytes(arg(o, 0)->type);
    int run = run_bytes(v->layout, dim, bytes);
    if (run >= MIN_STORE_RUN || run >= run_bytes(best, dim, bytes))
        return v->layout;
    return best;
}

/* a and b side by side: b in a new high register bit. */
static const Layout *
cat_layout(Comp *c, const Layout *l)
{
    Layout r = *l;
    r.basis[IN_REG][r.n[IN_REG]++] = (Col)1 << l->log2_shape[0];
    r.log2_shape[0]++;
    return layout_intern(c, &r);
}

/* The layout for split's operand: halves in one register bit. */
static const Layout *
split_layout(Assign *s, const Op *o)
{
    const Layout *l = working_layout(s, o);
    if (layout_split(s->c, l))
        return l;
    return layout_join(s->c, default_layout(s, o->results[0]->type));
}

static void look_at(Assign *s, const Block *b);

/* Carried values take new layouts from what the body yields; true if one changed. */
static bool
take_wishes(Assign *s, Val *const *args, const Op *yield, int first)
{
    bool changed = false;
    for (int i = first; i < yield->n_args; i++) {
        Wish *old = wish(s, args[i - first]);
        const Wish *new = wish(s, arg(yield, i));
        if (!old->layout || new->layout == &any || new->layout == old->layout)
            continue;
        if (new->is_weak && !old->is_weak && old->layout != &any)
            continue;
        *old = *new;
        changed = true;
    }
    return changed;
}

/* Carried values that are cheap all around get a layout now. */
static bool
fix_wishes(Assign *s, Val *const *args, int n)
{
    bool changed = false;
    for (int i = 0; i < n; i++)
        if (is_any(s, args[i])) {
            set_wish(s, args[i], hinted(s, args[i]), false);
            changed = true;
        }
    return changed;
}

static void
copy_wishes(Assign *s, Val *const *to, const Op *from, int first)
{
    for (int i = first; i < from->n_args; i++)
        *wish(s, to[i - first]) = *wish(s, arg(from, i));
}

static void
wish_for(Assign *s, const Op *o)
{
    const Block *b = o->regions[0];
    Val *const *carried = b->args + 1;
    copy_wishes(s, carried, o, 3);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        look_at(s, b);
        if (!take_wishes(s, carried, b->last, 0))
            break;
    }
    if (fix_wishes(s, carried, b->n_args - 1)) {
        look_at(s, b);
        if (take_wishes(s, carried, b->last, 0))
            look_at(s, b);
    }
    for (int i = 0; i < o->n_results; i++)
        *wish(s, o->results[i]) = *wish(s, carried[i]);
}

static void
wish_while(Assign *s, const Op *o)
{
    const Block *before = o->regions[0], *body = o->regions[1];
    copy_wishes(s, before->args, o, 0);
    for (int round = 0; round <= MAX_ROUNDS; round++) {
        if (round == MAX_ROUNDS)
            fix_wishes(s, before->args, before->n_args);
        look_at(s, before);
        copy_wishes(s, body->args, before->last, 1);
        fix_wishes(s, body->args, body->n_args);
        look_at(s, body);
        if (!take_wishes(s, before->args, body->last, 0) && round < MAX_ROUNDS)
            round = MAX_ROUNDS - 1;
    }
    for (int i = 0; i < o->n_results; i++)
        *wish(s, o->results[i]) = *wish(s, body->args[i]);
}

static void
wish_if(Assign *s, const Op *o)
{
    for (int i = 0; i < o->n_regions; i++)
        look_at(s, o->regions[i]);
    for (int i = 0; i < o->n_results; i++) {
        const Wish *x = wish(s, arg(o->regions[0]->last, i)),
                   *y = wish(s, arg(o->regions[1]->last, i));
        const Wish *w = x->layout == &any || (x->is_weak && y->layout != &any) ? y : x;
        if (w->layout == &any)
            set_wish(s, o->results[i], hinted(s, o->results[i]), false);
        else
            *wish(s, o->results[i]) = *w;
    }
}

static void
look_at_op(Assign *s, const Op *o)
{
    const Layout *l = NULL;
    switch (o->op) {
    case OP_CONST:
    case OP_ARANGE:
    case OP_SPLAT:
        if (is_block(o->results[0]))
            *wish(s, o->results[0]) = (Wish){&any, false, 1};
        return;
    case OP_EXPAND:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS: wish_shape_op(s, o); return;
    case OP_JOIN:
        work_in(s, o, l = working_layout(s, o));
        set_wish(s, o->results[0], layout_join(s->c, l), false);
        return;
    case OP_SPLIT:
        work_in(s, o, l = split_layout(s, o));
        for (int i = 0; i < 2; i++)
            set_wish(s, o->results[i], layout_dedup_regs(s->c, layout_split(s->c, l)), false);
        return;
    case OP_CAT:
        work_in(s, o, l = working_layout(s, o));
        set_wish(s, o->results[0], cat_layout(s->c, l), false);
        return;
    case OP_LOAD:
        if (is_block(o->results[0]))
            set_wish(s, o->results[0], load_wish(s, o), false);
        return;
    case OP_ATOMIC_RMW:
    case OP_ATOMIC_CAS:
        if (is_block(o->results[0]))
            set_wish(s, o->results[0], atomic_wish(s, o), false);
        return;
    case OP_STORE:
        if (is_block(arg(o, 0)))
            work_in(s, o, store_layout(s, o));
        return;
    case OP_REDUCE:
        work_in(s, o, l = axis_layout(s, o));
        for (int i = 0; i < o->n_results; i++)
            set_wish(s, o->results[i],
                     layouts_slice(s->c, l, (int)ir_attr(o, ATTR_AXIS)), false);
        return;
    case OP_SCAN:
        work_in(s, o, l = axis_layout(s, o));
        for (int i = 0; i < o->n_results; i++)
            set_wish(s, o->results[i], l, false);
        return;
    case OP_DOT: set_wish(s, o->results[0], acc_layout(s, o), false); return;
    case OP_GATHER:
        l = wish(s, arg(o, 1))->layout;
        if (l == &any)
            l = default_layout(s, arg(o, 1)->type);
        set_wish(s, o->results[0], l, false);
        l = wish(s, arg(o, 0))->layout;
        work_in(s, o, l == &any ? default_layout(s, arg(o, 0)->type) : l);
        return;
    case OP_HISTOGRAM:
        work_in(s, o, working_layout(s, o));
        set_wish(s, o->results[0], default_layout(s, o->results[0]->type), false);
        return;
    case OP_ASSERT:
        if (is_block(arg(o, 0)))
            work_in(s, o, working_layout(s, o));
        return;
    case OP_FOR: wish_for(s, o); return;
    case OP_WHILE: wish_while(s, o); return;
    case OP_IF: wish_if(s, o); return;
    default:
        if (op_has(o, OPF_ELEM) && is_block(o->results[0]))
            wish_elementwise(s, o);
        return;
    }
}

static void
look_at(Assign *s, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next)
        look_at_op(s, o);
}

/* ---- then change ---------------------------------------------------------------------------- */

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

/* A load of one row or column that can be done again: the lines are in the cache, and
 * moving the values would cost a barrier. */
static bool
is_cheap_load(Assign *s, const Op *o)
{
    if (o->op != OP_LOAD || ir_attr(o, ATTR_VOLATILE))
        return false;
    int n_long = 0;
    const Type *t = o->results[0]->type;
    for (int d = 0; d < t->rank; d++)
        n_long += t->shape[d] > 1;
    for (int i = 0; i < o->n_args; i++)
        if (!is_any(s, arg(o, i)))
            return false;
    return n_long <= 1 && ty_numel(t) * ty_bits(t) / 8 <= MAX_RELOADED;
}

/* Is it less work to do v's definition again in another layout than to move v? Where the
 * operand is smaller than the result, moving that is less. */
static bool
is_remade(Assign *s, const Val *v)
{
    const Op *o = v->def;
    if (!o || v->id >= s->n_wish)
        return false;
    if (is_any(s, v) || o->op == OP_EXPAND || o->op == OP_BROADCAST)
        return true;
    if (o->op == OP_CAST)
        return ty_bits(arg(o, 0)->type) < ty_bits(v->type);
    return is_cheap_load(s, o);
}

static Val *
remake(Assign *s, Val *v, const Layout *l)
{
    Op *o = v->def;
    const Layout *below = operand_layout(s, o, l);
    if (is_any(s, v) && !v->type->layout) {     /* the first demand: in place */
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
    if (is_remade(s, v)) {
        r = remake(s, v, l);
    } else {
        assert(v->type->layout);
        Build b = behind(s, v);
        const Type *t = ty_with_layout(s->c, v->type, l);
        r = result(ir_op(&b, OP_CONVERT, 1, &v, 1, &t), 0);
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
            assert(!is_any(s, v[i]));
            set_layout(s, v[i], wish(s, v[i])->layout);
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
    Build b = {.f = s->f, .block = o->block, .before = o, .loc = o->loc};
    const Layout *l = v->type->layout;
    if (!l)                     /* cheap, and nobody has asked yet */
        v = demand(s, v, default_layout(s, v->type));
    const Type *t = ty_with_elem(s->c, v->type, e);
    ir_set_arg(o, i, result(ir_op(&b, OP_CAST, 1, &v, 1, &t), 0));
}

static void
change_dot(Assign *s, Op *o)
{
    DotPlan p;
    dot_plan(s->f, o, &p);
    give_wishes(s, o->results, 1);
    demand_arg(s, o, 2, o->results[0]->type->layout);
    for (int i = 0; i < 2; i++) {
        Val *v = arg(o, i);
        if (!p.is_mma) {        /* through shared memory: any layout will do */
            if (!v->type->layout)
                demand_arg(s, o, i, default_layout(s, v->type));
            continue;
        }
        cast_operand(s, o, i, p.operand);
        uint8_t shape[MAX_RANK];
        ty_log2_shape(v->type, shape);
        int kw = mma_shape[p.kind].kw;
        demand_arg(s, o, i,
                   (i ? layout_mma_b : layout_mma_a)(s->c, v->type->rank, shape, kw,
                                                     p.log2_warps_m, p.log2_warps_n));
    }
}

static void
change_op(Assign *s, Op *o)
{
    const Layout *l = op_layout(s, o);
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
        for (int i = 0; i < o->n_args; i++)
            if (is_block(arg(o, i)) && !arg(o, i)->type->layout)
                demand_arg(s, o, i, default_layout(s, arg(o, i)->type));
        return;
    default: break;
    }
    if (l) {                /* works in one layout */
        demand_all(s, o, l);
        give_wishes(s, o->results, o->n_results);
        return;
    }
    if (o->op == OP_RESHAPE && !is_block(o->results[0]) && !arg(o, 0)->type->layout)
        demand_arg(s, o, 0, default_layout(s, arg(o, 0)->type));
    if (!o->n_results || !is_block(o->results[0]) || is_any(s, o->results[0]))
        return;
    give_wishes(s, o->results, o->n_results);
    demand_all(s, o, operand_layout(s, o, o->results[0]->type->layout));
}

static void
change_block(Assign *s, Block *b)
{
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;         /* what is inserted behind o needs no change */
        change_op(s, o);
    }
}

/* Cheap values nobody demanded, and what was made again for everybody. */
static void
sweep(Block *b)
{
    for (Op *o = b->last, *prev; o; o = prev) {
        prev = o->prev;
        for (int i = 0; i < o->n_regions && op_has(o, OPF_CONTROL); i++)
            sweep(o->regions[i]);
        bool can_go = op_has(o, OPF_PURE) || (o->op == OP_LOAD && !ir_attr(o, ATTR_VOLATILE));
        bool is_unused = can_go && o->n_results;
        for (int i = 0; i < o->n_results; i++)
            is_unused = is_unused && !o->results[i]->uses;
        if (is_unused)
            ir_erase(o);
    }
}

void
pass_assign_layouts(Func *f)
{
    Arena *a = f->c->arena;
    Assign s = {.f = f, .c = f->c, .facts = facts_new(f), .n_wish = f->n_vals,
                .vec.a = a, .op_layout.a = a, .access.a = a, .made.a = a, .origin.a = a};
    f->log2_ctas = cluster_log2_ctas(f);
    s.log2_warps = log2_of(f->c->opt.num_warps) + f->log2_ctas;
    s.wish = NEW_N(a, Wish, f->n_vals);
    sweep(f->body);
    scan_accesses(&s, f->body, false);
    scan_accesses(&s, f->body, true);
    look_at(&s, f->body);
    change_block(&s, f->body);
    sweep(f->body);
}
