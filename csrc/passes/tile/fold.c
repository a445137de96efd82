/* fold: constants, identities, and the dead ops they leave behind.
 *
 *     %2 = add %1, splat(-0.0)     =>   uses of %2 become %1
 *     %3 = div %x, 8               =>   %3 = shr %x, 3         where %x >= 0
 *     %4 = add splat(a), splat(b)  =>   %4 = splat(a + b)      one sum instead of a block's
 *     %5 = load splat(p)           =>   %5 = splat(load p)
 *     if true { A } else { B }     =>   A
 *     for %i = 5 to 6 { A }        =>   A with %i = 5
 *
 * -0.0, not 0.0: (-0.0) + 0.0 is 0.0, and users compare bits. Ranges come from the facts,
 * which ask nothing of the arguments: folding never makes another variant.
 *
 * Sweeps in program order until one changes nothing. Operands stand above their users, so
 * a sweep carries a constant to the end of the function; another one is for what loops and
 * inlined regions uncovered.
 *
 * Rule 1: a rewrite keeps the type and the layout of the value it replaces.
 * Rule 2: each rewrite takes something away that none gives back (an op, an op on a block
 *         against one on scalars, a link of a chain, a constant on the left), so the sweeps
 *         end. MAX_SWEEPS is a net, not a plan.
 * Rule 3: a value keeps its meaning, so that ranges found before a rewrite still hold.
 */
#include "passes/tile/fold.h"

#include <assert.h>

enum { MAX_SWEEPS = 32, MAX_USES = 64 };

static void sweep_block(Fold *w, Block *b);

/* ---- control flow ------------------------------------------------------------------------ */

static const Op *
end_of(const Block *b)
{
    return b->last;
}

/* Moves the ops of b, less its terminator, in front of o. */
static void
spill(Block *b, Op *o)
{
    while (b->first != b->last)
        ir_move_before(b->first, o);
}

static void
replace_by(Fold *w, Val *old, Val *with)
{
    assert(old->type == with->type);
    if (!with->name && with->def)
        with->name = old->name;
    ir_replace(old, with);
    w->changed = true;
}

/* o becomes the ops of its region b; the terminator's operands from `first` on are results. */
static void
become_region(Fold *w, Op *o, Block *b, int first)
{
    spill(b, o);
    for (int i = 0; i < o->n_results; i++)
        replace_by(w, result(o, i), arg(end_of(b), first + i));
    ir_erase(o);
    w->changed = true;
}

static bool
is_empty(const Op *o, int region)
{
    return o->n_regions <= region ||
           o->regions[region]->first == o->regions[region]->last;
}

/* Both branches yield what is known outside of them. */
static bool
fold_if_results(Fold *w, Op *o)
{
    if (o->n_regions < 2)
        return false;
    bool is_select = is_empty(o, 0) && is_empty(o, 1);
    for (int i = 0; i < o->n_results; i++) {
        Val *x = arg(end_of(o->regions[0]), i), *y = arg(end_of(o->regions[1]), i);
        if (!result(o, i)->uses)
            continue;
        if (x == y)
            replace_by(w, result(o, i), x);
        else if (is_select && x->type->rank == 0)
            replace_by(w, result(o, i), ir_select(&w->b, arg(o, 0), x, y));
    }
    return false;
}

/* Inside of a branch the condition is known. */
static void
fold_if_condition(Fold *w, Op *o)
{
    int budget = MAX_USES;
    for (Use *u = arg(o, 0)->uses, *next; u && budget--; u = next) {
        next = u->next;
        Op *user = u->user;
        for (int r = 0; r < o->n_regions; r++) {
            Block *b = o->regions[r];
            if (!ir_is_inside(user, b))
                continue;
            Build at = {.f = w->f, .block = b, .before = b->first, .loc = user->loc};
            Val *c = ir_const_bits(&at, arg(o, 0)->type, r == 0);
            ir_set_arg(user, (int)(u - user->args), c);
            w->changed = true;
        }
    }
}

/* True when o is gone. */
static bool
fold_if(Fold *w, Op *o)
{
    uint64_t bits;
    if (!ir_is_const(arg(o, 0), &bits)) {
        fold_if_condition(w, o);
        return fold_if_results(w, o);
    }
    int taken = bits & 1 ? 0 : 1;
    if (taken < o->n_regions)
        become_region(w, o, o->regions[taken], 0);
    else
        ir_erase(o);
    w->changed = true;
    return true;
}

/* 0, 1, or 2 for "more, or unknown". */
static int
trip_count(Fold *w, const Op *o)
{
    int64_t lo[3], hi[3];
    for (int i = 0; i < 3; i++) {
        facts_range(w->facts, arg(o, i), &lo[i], &hi[i]);
        if (arg(o, i)->type->elem == E_U64 && hi[i] == INT64_MAX)
            return 2;
    }
    if (lo[2] > 0 ? lo[0] >= hi[1] : hi[2] < 0 && hi[0] <= lo[1])
        return 0;
    if (lo[0] != hi[0] || lo[1] != hi[1] || lo[2] != hi[2] || lo[2] == 0)
        return 2;
    uint64_t span = lo[2] > 0 ? (uint64_t)lo[1] - (uint64_t)lo[0]
                              : (uint64_t)lo[0] - (uint64_t)lo[1];
    uint64_t step = lo[2] > 0 ? (uint64_t)lo[2] : 0 - (uint64_t)lo[2];
    return span <= step ? 1 : 2;
}

/* True when o is gone. */
static bool
fold_for_trips(Fold *w, Op *o)
{
    int n = trip_count(w, o);
    if (n == 2)
        return false;
    if (n == 0) {
        for (int i = 0; i < o->n_results; i++)
            replace_by(w, result(o, i), arg(o, 3 + i));
        ir_erase(o);
        w->changed = true;
        return true;
    }
    Block *b = o->regions[0];
    for (int i = 0; i < b->n_args; i++)
        replace_by(w, b->args[i], i ? arg(o, 2 + i) : arg(o, 0));
    become_region(w, o, b, 0);
    return true;
}

/* What comes round unchanged is the initial value. The slots stay for dce. */
static void
fold_for_carried(Fold *w, Op *o)
{
    Block *b = o->regions[0];
    for (int i = 0; i < o->n_results; i++) {
        Val *init = arg(o, 3 + i), *at = b->args[i + 1], *back = arg(end_of(b), i);
        if (back != at && back != init)
            continue;
        if (at->uses && !(at->uses->user == end_of(b) && !at->uses->next)) {
            replace_by(w, at, init);
            back = arg(end_of(b), i);
        }
        if (result(o, i)->uses)
            replace_by(w, result(o, i), init);
    }
}

/* v is of + *c. */
static bool
is_beyond(const Val *v, const Val *of, int64_t *c)
{
    const Op *o = v->def;
    int64_t from;
    if (v == of || (ir_const_as_int(v, c) && ir_const_as_int(of, &from))) {
        *c = v == of ? 0 : (int64_t)((uint64_t)*c - (uint64_t)from);
        return true;
    }
    if (!o || (o->op != OP_ADD && o->op != OP_SUB) || arg(o, 0) != of ||
        !ir_const_as_int(arg(o, 1), c))
        return false;
    *c = o->op == OP_SUB ? (int64_t)(0 - (uint64_t)*c) : *c;
    return true;
}

static bool
is_same_number(const Val *x, const Val *y)
{
    int64_t a, b;
    return x == y || (ir_const_as_int(x, &a) && ir_const_as_int(y, &b) && a == b);
}

/* What begins a constant, or one step, beside the index and takes the same steps stays that far
 * from it:
 *
 *     for %i = %lb .., %s (%at = %lb - 132) { %next = %at + %s; yield %next }  =>  %at = %i - 132
 *     for %i = %lb .., %s (%at = %lb - %s)  { ..                            }  =>  %next = %i
 */
static void
fold_for_steps(Fold *w, Op *o)
{
    Block *b = o->regions[0];
    for (int i = 0; i < o->n_results; i++) {
        Val *iv = b->args[0], *at = b->args[i + 1], *step = arg(o, 2);
        const Op *next = arg(end_of(b), i)->def, *init = arg(o, 3 + i)->def;
        bool is_step_before = init && init->op == OP_SUB && arg(init, 0) == arg(o, 0) &&
                              arg(init, 1) == step;
        int64_t c = 0;
        if (at->type != iv->type || !next || next->op != OP_ADD || arg(next, 0) != at ||
            !is_same_number(arg(next, 1), step) ||
            !(is_step_before || is_beyond(arg(o, 3 + i), arg(o, 0), &c)))
            continue;
        Build in = {.f = w->f, .block = b, .before = b->first, .loc = o->loc};
        if (is_step_before)
            replace_by(w, result(next, 0), iv);
        replace_by(w, at,
                   is_step_before ? ir_bin(&in, OP_SUB, iv, step)
                   : c ? ir_bin(&in, OP_ADD, iv, ir_const_int(&in, iv->type, c))
                       : iv);
    }
}

/* The condition fails at once: the first region runs, and nothing else. */
static bool
fold_while(Fold *w, Op *o)
{
    Block *b = o->regions[0];
    uint64_t bits;
    if (!ir_is_const(arg(end_of(b), 0), &bits) || bits & 1)
        return false;
    for (int i = 0; i < b->n_args; i++)
        replace_by(w, b->args[i], arg(o, i));
    become_region(w, o, b, 1);
    return true;
}

/* ---- the walk ------------------------------------------------------------------------------ */

/* True when o, which has regions, is gone. */
static bool
fold_control(Fold *w, Op *o)
{
    if (o->op == OP_IF)
        return fold_if(w, o);
    if (o->op == OP_WHILE)
        return fold_while(w, o);
    if (o->op == OP_FOR && fold_for_trips(w, o))
        return true;
    if (o->op == OP_FOR) {
        fold_for_carried(w, o);
        fold_for_steps(w, o);
    }
    return false;
}

static void
fold_op(Fold *w, Op *o)
{
    w->b.before = o;
    w->b.block = o->block;
    w->b.loc = o->loc;
    Val *with = NULL;
    bool stays = true;
    switch (o->op) {
    case OPS(OP_CONST, OPS_GRID): return;
    case OPS(OP_STORE, OPS_RARE_ACCESS, OP_ASSUME, OP_ASSERT):
        stays = fold_masked(w, o, &with);
        break;
    case OP_LOAD:
        stays = fold_masked(w, o, &with);
        if (stays && !ir_attr(o, ATTR_VOLATILE)) /* all from one address: one load */
            with = fold_filled(w, o);
        break;
    case OP_INLINE_ASM: /* an element of it may see its neighbours, and its place */
    case OP_INLINE_ASM_IO:
    case OP_EXTERN: /* nobody here can run it */
    case OP_EXTERN_IO: return;
    case OPS(OP_ARANGE, OP_SPLAT, OPS_SHAPE, OPS_ELEM, OPS_TENSOR, OPS_ACROSS, OPS_FLOW,
             OP_PRINT, OP_DEBUG, OPS_THREADS):
        if (op_has(o, OPF_ELEM))
            with = fold_arith(w, o);
        else if (op_has(o, OPF_PURE) && o->n_regions == 0)
            with = fold_shape(w, o);
    }
    if (with)
        replace_by(w, result(o, 0), with);
    if (with || !stays) {
        ir_erase(o);
        w->changed = true;
    }
}

static void
sweep_block(Fold *w, Block *b)
{
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        if (op_has(o, OPF_PURE) && ir_is_unused(o)) {
            ir_erase(o);
            continue;
        }
        if (!o->n_regions) {
            fold_op(w, o);
            continue;
        }
        w->b.before = o;
        w->b.block = b;
        w->b.loc = o->loc;
        if (fold_control(w, o))
            continue;
        for (int r = 0; r < o->n_regions; r++)
            sweep_block(w, o->regions[r]);
    }
}

void
pass_fold(Func *f)
{
    Fold w = {.f = f, .b = {.f = f}, .facts = facts_new(f), .changed = true};
    for (int i = 0; i < MAX_SWEEPS && w.changed; i++) {
        w.changed = false;
        sweep_block(&w, f->body);
    }
    ir_drop_unused(f->body, false);
}
