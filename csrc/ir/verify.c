/* verify: what every pass may rely on.
 *
 *     walk        lists, ids, owners, counts, scoping, terminators, shapes and layouts
 *     check_*.c   one op: the check of its row
 *
 * Rule 1: nothing here trusts what it has not looked at: a walk over broken lists must
 *         end with a message and not with a crash, because it runs on parsed text, too.
 * Rule 2: a value may be used in its block below its definition, and in every region
 *         there. Regions of reduce and scan see outer scalars, too, and compute on
 *         scalars only.
 */
#include "ir/ir.h"

enum { MAX_DEPTH = 200 }; /* of regions */
enum { UNSEEN, IN_SCOPE, LEFT };

typedef struct Walk {
    const Func *f;
    const char *after;
    uint8_t *state; /* by Val.id */
    int depth;
    const Layout *good; /* seen last; NULL: none */
} Walk;

#define refuse(w, loc, ...)                                                            \
    refuse_text(w, loc, str_printf((w)->f->c->arena, __VA_ARGS__))

static NORETURN void
refuse_text(Walk *w, const Loc *loc, const char *why)
{
    if (!w->after) /* a user's text */
        err_at(w->f->c, loc, PARSE_IR, why);
    err_at(w->f->c, loc, VERIFY, w->after, why);
}

static void
check_type(Walk *w, const Type *t, const Loc *loc)
{
    bool ok = t->rank <= MAX_RANK && (!t->layout || t->layout->rank == t->rank);
    int64_t numel = 1;
    for (int i = 0; ok && i < t->rank; i++) {
        int32_t n = t->shape[i]; /* a power of two once there is a layout */
        ok = n > 0 && n <= MAX_NUMEL &&
             (!t->layout || (int64_t)1 << t->layout->log2_shape[i] == n);
        numel *= ok ? ty_padded_side(n) : 1;
        ok = ok && numel <= MAX_NUMEL;
    }
    /* A block is held as a whole. */
    if (ok && t->layout && !t->slots && t->layout != w->good) {
        ok = layout_is_onto(t->layout);
        w->good = t->layout;
    }
    if (!ok)
        refuse(w, loc, "%s is no type of a value", ty_str(w->f->c->arena, t));
}

static void
enter_scope(Walk *w, const Val *v, const Loc *loc)
{
    if (v->id < 0 || v->id >= w->f->n_vals || w->state[v->id] != UNSEEN)
        refuse(w, loc, "two values share id %d", v->id);
    w->state[v->id] = IN_SCOPE;
    check_type(w, v->type, loc);
    for (const Use *u = v->uses; u; u = u->next)
        if (u->v != v || *u->prev != u)
            refuse(w, loc, "the uses of value %d are not linked", v->id);
}

static void
check_counts(Walk *w, const Op *o)
{
    const OpInfo *in = info(o);
    if (in->n_args >= 0 && o->n_args != in->n_args)
        refuse(w, o->loc, "%s: %d operands, expected %d", in->text, o->n_args,
               in->n_args);
    if (in->n_results >= 0 && o->n_results != in->n_results)
        refuse(w, o->loc, "%s: %d results, expected %d", in->text, o->n_results,
               in->n_results);
    if (o->n_regions != in->n_regions && !(o->op == OP_IF && o->n_regions == 1))
        refuse(w, o->loc, "%s: %d regions, expected %d", in->text, o->n_regions,
               in->n_regions);
}

static void
check_operands(Walk *w, const Op *o)
{
    for (int i = 0; i < o->n_args; i++) {
        const Val *v = arg(o, i);
        if (!v || o->args[i].user != o || *o->args[i].prev != &o->args[i])
            refuse(w, o->loc, "%s: operand %d is not linked", info(o)->text, i);
        if (v->id < 0 || v->id >= w->f->n_vals || w->state[v->id] != IN_SCOPE)
            refuse(w, o->loc, "%s: operand %d is not defined here", info(o)->text, i);
    }
}

/* Inside of a reduce or scan: scalars, and nothing that touches memory. A debugger may look. */
static void
check_in_combine(Walk *w, const Op *o)
{
    if (op_has(o, OPF_READS | OPF_WRITES | OPF_SYNC | OPF_STAYS) && o->op != OP_DEBUG)
        refuse(w, o->loc, "%s inside of a reduce or scan", info(o)->text);
    for (int i = 0; i < o->n_results; i++)
        if (result(o, i)->type->rank)
            refuse(w, o->loc, "%s: a block inside of a reduce or scan", info(o)->text);
}

static const char *
what_is(const Type *t)
{
    return t->is_tmap    ? "a tensor map"
           : t->mbars    ? "mbarriers"
           : t->is_local ? "local memory"
                         : "shared memory";
}

/* Shared and local memory, mbarriers and maps are named by the op that made them: they are not carried,
 * selected or computed with. */
static void
check_shared(Walk *w, const Op *o)
{
    if (op_has(o, OPF_SHARED | OPF_MAPS))
        return;
    for (int i = 0; i < o->n_args; i++)
        if (ty_is_named(arg(o, i)->type))
            refuse(w, o->loc, "%s: operand %d is %s", info(o)->text, i,
                   what_is(arg(o, i)->type));
    for (int i = 0; i < o->n_results; i++)
        if (ty_is_named(result(o, i)->type))
            refuse(w, o->loc, "%s: result %d is %s", info(o)->text, i,
                   what_is(result(o, i)->type));
}

static void
check_place(Walk *w, const Op *o)
{
    const SharedPlace *k = o->place;
    if (!op_has(o, OPF_SCRATCH))
        refuse(w, o->loc, "%s takes no shared memory of its own", info(o)->text);
    if (k->at < 0 || k->bytes <= 0 || k->bytes > INT32_MAX - k->at || k->mbar < -1)
        refuse(w, o->loc, "%s: no place in shared memory is at %d, %d bytes",
               info(o)->text, k->at, k->bytes);
}

/* What tensor cores may still be adding to is nobody's to read before mma_wait. */
static void
check_async(Walk *w, const Op *o)
{
    if (o->op == OP_MMA_START || o->op == OP_MMA_WAIT ||
        op_has(o, OPF_CONTROL | OPF_TERM))
        return;
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->type->is_async)
            refuse(w, o->loc, "%s: operand %d is in flight", info(o)->text, i);
}

static void walk_block(Walk *w, const Block *b, const Op *owner, bool in_combine);

static void
walk_op(Walk *w, const Op *o, bool in_combine)
{
    if ((unsigned)o->op >= N_OP)
        refuse(w, o->loc, "op %d does not exist", (int)o->op);
    check_counts(w, o);
    check_operands(w, o);
    check_shared(w, o);
    if (o->place)
        check_place(w, o);
    check_async(w, o);
    if (in_combine)
        check_in_combine(w, o);
    if (op_has(o, OPF_TERM) != !o->next)
        refuse(w, o->loc, "%s %s", info(o)->text,
               o->next ? "is not the last of its block" : "does not end a block");
    bool combines = in_combine || o->op == OP_REDUCE || o->op == OP_SCAN;
    for (int i = 0; i < o->n_regions; i++)
        walk_block(w, o->regions[i], o, combines);
    for (int i = 0; i < o->n_results; i++) {
        const Val *v = result(o, i);
        if (v->def != o || v->index != i || v->block != o->block)
            refuse(w, o->loc, "%s: result %d is not linked", info(o)->text, i);
        enter_scope(w, v, o->loc);
    }
    const char *err = info(o)->check(o);
    if (err)
        refuse(w, o->loc, "%s", err);
}

static void
walk_block(Walk *w, const Block *b, const Op *owner, bool in_combine)
{
    const Loc *loc = owner ? owner->loc : w->f->loc;
    if (!b || b->owner != owner || b->func != w->f)
        refuse(w, loc, "a block is not linked to its owner");
    if (++w->depth > MAX_DEPTH)
        refuse(w, loc, "regions nest deeper than %d", MAX_DEPTH);
    for (int i = 0; i < b->n_args; i++) {
        const Val *v = b->args[i];
        if (v->def || v->index != i || v->block != b)
            refuse(w, loc, "argument %d of a block is not linked", i);
        if (ty_is_named(v->type))
            refuse(w, loc, "argument %d of a block is %s", i, what_is(v->type));
        enter_scope(w, v, loc);
    }
    if (!b->first)
        refuse(w, loc, "an empty block");
    const Op *prev = NULL;
    for (const Op *o = b->first; o; prev = o, o = o->next) {
        if (o->block != b || o->prev != prev)
            refuse(w, o->loc, "the ops of a block are not linked");
        walk_op(w, o, in_combine);
    }
    if (b->last != prev)
        refuse(w, loc, "the ops of a block are not linked");
    for (int i = 0; i < b->n_args; i++)
        w->state[b->args[i]->id] = LEFT;
    for (const Op *o = b->first; o; o = o->next)
        for (int i = 0; i < o->n_results; i++)
            w->state[result(o, i)->id] = LEFT;
    w->depth--;
}

void
ir_verify(const Func *f, const char *after)
{
    Walk w = {.f = f,
              .after = after,
              .state = NEW_N(f->c->arena, uint8_t, MAX(f->n_vals, 1))};
    for (int i = 0; i < f->body->n_args; i++)
        if (f->body->args[i]->type->rank)
            refuse(&w, f->loc, "parameter %d is a block", i);
    walk_block(&w, f->body, NULL, false);
    if (f->body->last->op != OP_RETURN)
        refuse(&w, f->body->last->loc, "the body must end in return");
}
