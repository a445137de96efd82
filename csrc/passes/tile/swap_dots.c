/* swap_dots: a product that warpgroups take the other way round alone is turned.
 *
 *     %c = dot %a, %b, %acc     =>     %d = dot (trans %b), (trans %a), (trans %acc)
 *                                      %c = trans %d
 *
 * wgmma has 64 rows at least, so 16 rows and 128 columns are better 128 rows and 16 columns. And of
 * 32-bit operands it reads B along K alone, while A may lie either way, since it may come out of
 * registers: a row-major B is A here.
 *
 * A sum that goes round a loop does so turned, and is turned back behind it:
 *
 *     %r = for .. %zero ^(%acc) {            %t = for .. (trans %zero) ^(%acc) {
 *       %x = trans %acc                        %d = dot .., %acc
 *       %d = dot .., %x               =>       yield %d
 *       %c = trans %d                        }
 *       yield %c                             %r = trans %t
 *     }
 *
 * Rule 1: both operands are loaded, and no product feeds another: else what was computed for a
 *         row would have to be moved to where the turned product has it.
 * Rule 2: a trans is another name for the same registers, never a move.
 */
#include "passes/passes.h"

static bool
is_turn(const Op *o)
{
    return o && o->op == OP_TRANS && result(o, 0)->type->rank == 2;
}

static Val *
turned(Build *b, Val *v)
{
    static const int other_way[] = {1, 0};
    const Type *from = v->type,
               *t = ty_with_shape(b->f->c, from, 2,
                                  (int32_t[]){from->shape[1], from->shape[0]});
    uint64_t bits;
    if (is_turn(v->def) && arg(v->def, 0)->type == t)
        return arg(v->def, 0);
    if (ir_is_const(v, &bits))
        return ir_const_bits(b, t, bits);
    Op *o = ir_op(b, OP_TRANS, 1, &v, 1, &t);
    ir_set_attr(o, ATTR_PERM, perm_pack(2, other_way));
    return result(o, 0);
}

/* Who uses v gets it turned, by an op that b builds. */
static void
turn_back(Build *b, Val *v)
{
    Val *back = turned(b, v);
    ir_replace(v, back);
    ir_set_arg(back->def, 0, v);
}

/* Turns the dot, whose result is of type t then. */
static void
give_operands(Op *dot, Val *const *args, const Type *t)
{
    DotSides s = dot_sides(dot);
    for (int i = 0; i < 3; i++)
        ir_set_arg(dot, i, args[i]);
    result(dot, 0)->type = t;
    dot_set_sides(dot, (DotSides){s.n, s.m, s.k});
}

static void
try_dot(Func *f, Op *dot)
{
    DotPlan p = {0};
    Build b = ir_before(dot);
    Val *r = result(dot, 0), *old[] = {arg(dot, 0), arg(dot, 1), arg(dot, 2)}, *new[3];
    const Type *t = r->type;
    if (t->rank != 2 || !comes_from_load(old[0]) || !comes_from_load(old[1]) ||
        !hopper_dot(f, dot, &p))
        return;
    for (int i = 0; i < 3; i++)
        new[i] = turned(&b, old[i == 2 ? 2 : 1 - i]);
    give_operands(dot, new, new[2]->type);
    if (hopper_dot(f, dot, &p)) { /* no better */
        give_operands(dot, old, t);
        for (int i = 0; i < 3; i++)
            if (!new[i]->uses)
                ir_erase(new[i]->def);
        return;
    }
    b.before = dot->next;
    turn_back(&b, r);
}

/* ---- sums that go round ---------------------------------------------------------------------- */

/* The op that turns v where that is v's only use; NULL: there are others. */
static Op *
only_turn(const Val *v)
{
    Op *o = ir_has_one_use(v) ? v->uses->user : NULL;
    return is_turn(o) ? o : NULL;
}

/* Carried value i of the loop is turned before use, and what goes round is turned back. One turn is
 * both where a loop turns the same block in each iteration, and stays. */
static void
carry_turned(Op *loop, int i)
{
    Block *body = loop->regions[0];
    Val *v = body->args[i + 1], *last = arg(body->last, i), *out = result(loop, i);
    Op *turn = only_turn(v), *back = last->def;
    if (!turn || turn == back || !is_turn(back) || back->block != body ||
        arg(back, 0)->type != result(turn, 0)->type)
        return;
    Build b = ir_before(loop);
    ir_set_arg(loop, i + 3, turned(&b, arg(loop, i + 3)));
    ir_set_arg(body->last, i, arg(back, 0));
    out->type = v->type = result(turn, 0)->type;
    ir_replace(result(turn, 0), v);
    ir_erase(turn);
    if (!last->uses)
        ir_erase(back);
    b.before = loop->next;
    turn_back(&b, out);
}

void
pass_swap_dots(Func *f)
{
    if (hopper_plan(f).level < 2 || has_chained_dot(f->body))
        return;
    EACH_OP_INSIDE_OUT(o, f->body) {
        if (o->n_results && result(o, 0)->type->layout)
            continue; /* text from behind assign_layouts */
        if (o->op == OP_DOT) {
            try_dot(f, o);
            continue;
        }
        for (int i = 0; o->op == OP_FOR && i < o->n_results; i++)
            carry_turned(o, i);
    }
}
