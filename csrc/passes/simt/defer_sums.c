/* defer_sums: sums that a loop adds up are taken across threads once, behind it.
 *
 *     for (.., t):                              for (.., u = zeros [128, 4]):
 *       s = reduce add x {axis=1}                 p = what each thread adds up by itself
 *       t' = t * c + s                   =>       u' = u * c + p
 *                                               t = reduce add u {axis=1}
 *
 * The axis is cut where the layout of x changes hands: bits of registers are summed in the
 * loop, bits of lanes and warps become the carried value's own dims and are summed behind
 * it. So attention's sum of probabilities costs no shuffle, and a loop over a row no
 * barrier, in any iteration.
 *
 *     x [128, 64]    n bit 0 register, 1 2 lanes, 3 4 5 registers
 *     reshape [128, 8, 4, 2] -> sums over axes 3 and 1 -> [128, 4]
 *
 * What an unrolled loop adds up several times an iteration, t + s0 + s1, is one sum, of x0 + x1.
 *
 * Rule 1: c reaches every part instead of the whole. What is the same for whole numbers is,
 *         for floats, a matter of rounding only as long as c is finite: an infinity would
 *         make 0 * inf of an empty part. So c is a constant, or e ** (a - max(a, b)).
 * Rule 2: in the loop the total is its own business: it goes nowhere but into its next one.
 */
#include "passes/simt/layouts.h"

enum { MAX_GROUPS = 4, MAX_MORE = 15 };

/* Neighbouring bits of the axis that the same kind of thing tells apart. */
typedef struct Group {
    int log2;
    bool in_thread; /* registers */
} Group;

typedef struct Sum {
    Func *f;
    Comp *c;
    Op *loop;
    int carried;            /* which value the loop carries */
    Op *add, *mul, *reduce; /* mul: NULL without a factor */
    Op *more[MAX_MORE];     /* additions behind add, the last one first */
    int n_more;
    Val *factor;
    int axis;
    Group group[MAX_GROUPS]; /* low bits first */
    int n_groups;
    bool spans_threads;
} Sum;

/* ---- finding --------------------------------------------------------------------- */

/* A reduction whose region adds two values, and does nothing else. */
static bool
is_sum(const Op *o)
{
    if (o->op != OP_REDUCE || o->n_results != 1)
        return false;
    const Op *add = ir_combine_op(o);
    return add && add->op == OP_ADD;
}

/* Rule 1. */
static bool
is_finite(const Val *c)
{
    uint64_t bits;
    Elem e = c->type->elem;
    if (elem_is_int(e))
        return true;
    if (ir_is_const(c, &bits)) {
        double x = elem_to_double(e, bits);
        return x - x == 0;
    }
    const Op *o = c->def;
    if (!o || (o->op != OP_EXP && o->op != OP_EXP2) || !arg(o, 0)->def)
        return false;
    const Op *sub = arg(o, 0)->def;
    if (sub->op != OP_SUB)
        return false;
    const Op *max = arg(sub, 1)->def;
    return max && max->op == OP_MAX &&
           (arg(max, 0) == arg(sub, 0) || arg(max, 1) == arg(sub, 0));
}

/* Is v a sum that add alone wants? */
static bool
is_own_sum(const Op *add, const Val *v)
{
    return v->def && is_sum(v->def) && ir_has_one_use(v) && v->def->block == add->block;
}

/* The sum that an addition behind another one adds. */
static Op *
sum_of_more(const Op *add)
{
    return arg(add, is_own_sum(add, arg(add, 0)) ? 0 : 1)->def;
}

/* From (t + s0) + s1 to t + s0. */
static void
find_more(Sum *s)
{
    for (int i = 0; i < 2 && s->n_more < MAX_MORE; i++) {
        const Val *rest = arg(s->add, i);
        if (!is_own_sum(s->add, arg(s->add, 1 - i)) || !rest->def ||
            rest->def->op != OP_ADD || rest->def->block != s->add->block ||
            !ir_has_one_use(rest))
            continue;
        s->more[s->n_more++] = s->add;
        s->add = rest->def;
        i = -1;
    }
}

/* Are all of them along the same axis, of blocks that lie alike? */
static bool
are_alike(const Sum *s)
{
    for (int i = 0; i < s->n_more; i++) {
        const Op *o = sum_of_more(s->more[i]);
        if (arg(o, 0)->type != arg(s->reduce, 0)->type ||
            ir_attr(o, ATTR_AXIS) != ir_attr(s->reduce, ATTR_AXIS))
            return false;
    }
    return true;
}

/* total + s, or total * c + s, with arguments in any order. */
static bool
find_terms(Sum *s, const Val *total)
{
    for (int i = 0; i < 2; i++) {
        Val *mine = arg(s->add, i), *other = arg(s->add, 1 - i);
        if (!is_own_sum(s->add, other))
            continue;
        s->reduce = other->def;
        if (mine == total)
            return true;
        s->mul = mine->def;
        if (!s->mul || s->mul->op != OP_MUL || !ir_has_one_use(mine))
            continue;
        for (int k = 0; k < 2; k++)
            if (arg(s->mul, k) == total && arg(s->mul, 1 - k) != total) {
                s->factor = arg(s->mul, 1 - k);
                return is_finite(s->factor);
            }
    }
    return false;
}

/* Cuts the axis of x into groups; false when its layout is no simple one. */
static bool
cut_axis(Sum *s)
{
    const Layout *l = arg(s->reduce, 0)->type->layout;
    int shift = layout_dim_shift(l, s->axis);
    for (int bit = 0; bit < l->log2_shape[s->axis]; bit++) {
        int owners = 0;
        bool in_thread = false;
        for (int in = 0; in < N_IN; in++)
            for (int i = 0; i < l->n[in]; i++)
                if (l->basis[in][i] >> (shift + bit) & 1) {
                    owners++;
                    in_thread = in == IN_REG;
                    if (l->basis[in][i] != (Col)1 << (shift + bit))
                        return false;
                }
        if (owners != 1)
            return false;
        s->spans_threads = s->spans_threads || !in_thread;
        if (!s->n_groups || s->group[s->n_groups - 1].in_thread != in_thread) {
            if (s->n_groups == MAX_GROUPS)
                return false;
            s->group[s->n_groups++] = (Group){0, in_thread};
        }
        s->group[s->n_groups - 1].log2++;
    }
    return s->spans_threads && l->rank + s->n_groups - 1 <= MAX_RANK;
}

static bool
find_sum(Sum *s)
{
    const Block *body = s->loop->regions[0];
    const Val *total = body->args[s->carried + 1];
    const Val *next = arg(body->last, s->carried);
    Elem e = total->type->elem;
    uint64_t start;
    bool is_wide = elem_info[e].bits >= 32 && !total->type->is_ptr;
    if (!is_wide || !ir_has_one_use(total) || !next->def || !ir_has_one_use(next) ||
        !s->loop->results[s->carried]->uses ||
        !ir_is_const(arg(s->loop, s->carried + 3), &start) || start != 0)
        return false;
    s->add = next->def;
    if (s->add->op != OP_ADD || s->add->block != body)
        return false;
    find_more(s);
    if (!find_terms(s, total) || !are_alike(s))
        return false;
    s->axis = (int)ir_attr(s->reduce, ATTR_AXIS);
    return result(s->reduce, 0)->type == total->type && cut_axis(s);
}

/* ---- building -------------------------------------------------------------------- */

/* The axis of v as one dim a group, the low bits last. */
static Val *
apart(Sum *s, Build *b, Val *v)
{
    const Type *t = v->type;
    int32_t shape[MAX_RANK];
    uint8_t log2_shape[MAX_RANK];
    int rank = t->rank + s->n_groups - 1;
    for (int d = 0; d < rank; d++) {
        int g = s->n_groups - 1 - (d - s->axis);
        shape[d] = d < s->axis                 ? t->shape[d]
                   : d < s->axis + s->n_groups ? 1 << s->group[g].log2
                                               : t->shape[d - s->n_groups + 1];
    }
    const Type *to = ty_with_shape(s->c, t, rank, shape);
    ty_log2_shape(to, log2_shape);
    to = ty_with_layout(s->c, to, layout_reshape(s->c, t->layout, rank, log2_shape));
    return ir_op1(b, OP_RESHAPE, 1, &v, to);
}

/* The sum of v along axis, as s->reduce sums. */
static Val *
sum_along(Sum *s, Build *b, Val *v, int axis)
{
    Map map = {.a = s->c->arena};
    map_put(&map, arg(s->reduce, 0), 0, v);
    Op *o = ir_clone(b, s->reduce, &map);
    ir_set_attr(o, ATTR_AXIS, axis);
    const Type *r = ty_without(s->c, v->type, axis);
    if (r->rank)
        r = ty_with_layout(s->c, r, layouts_slice(s->c, v->type->layout, axis));
    o->results[0]->type = r;
    return o->results[0];
}

/* The groups of one kind, from the last dim to the first. */
static Val *
sum_groups(Sum *s, Build *b, Val *v, bool in_thread)
{
    int dim = s->axis;
    for (int g = 0; g < s->n_groups; g++) /* the dims that v has left */
        dim += in_thread || !s->group[g].in_thread;
    for (int g = 0; g < s->n_groups; g++) {
        if (!in_thread && s->group[g].in_thread)
            continue;
        dim--;
        if (s->group[g].in_thread == in_thread)
            v = sum_along(s, b, v, dim);
    }
    return v;
}

/* total, whose last lanes part it where it is to lie so. */
static Val *
parted_as(Sum *s, Val *total, const Layout *l)
{
    const Op *last = total->def;
    const Layout *x = arg(last, 0)->type->layout;
    if (total->type->rank && axis_parted(s->c, x, (int)ir_attr(last, ATTR_AXIS)) == l)
        total->type = ty_with_layout(s->c, total->type, l);
    return total;
}

/* v, moved if it does not lie as l says. */
static Val *
moved(Sum *s, Build *b, Val *v, const Layout *l)
{
    const Type *t = v->type;
    return !t->rank || t->layout == l
               ? v
               : ir_op1(b, OP_CONVERT, 1, &v, ty_with_layout(s->c, t, l));
}

/* c, of the total's shape, in the shape and layout of its parts. */
static Val *
spread_part(Sum *s, Build *b, Val *c, const Type *parts)
{
    const Type *t = ty_with_elem(s->c, parts, c->type->elem);
    if (!c->type->rank)
        return ir_op1(b, OP_SPLAT, 1, &c, t);
    int n = t->rank - c->type->rank;
    c = moved(s, b, c, layouts_slice(s->c, arg(s->reduce, 0)->type->layout, s->axis));
    for (int i = 0; i < n; i++) {
        int32_t shape[MAX_RANK];
        const Type *was = c->type;
        for (int d = 0; d <= was->rank; d++)
            shape[d] = d == s->axis ? 1 : was->shape[d - (d > s->axis)];
        const Type *to = ty_with_layout(s->c,
                                        ty_with_shape(s->c, was, was->rank + 1, shape),
                                        layout_expand(s->c, was->layout, s->axis));
        Op *o = ir_op(b, OP_EXPAND, 1, &c, 1, &to);
        ir_set_attr(o, ATTR_AXIS, s->axis);
        c = result(o, 0);
    }
    return ir_op1(b, OP_BROADCAST, 1, &c, t);
}

/* What a thread's layout has along dims that were only expanded is no move: the lanes of
 * parts must agree with those of the total, or part it. */
static bool
lanes_agree(Sum *s, const Type *total)
{
    const Layout *x = arg(s->reduce, 0)->type->layout;
    return !total->rank || total->layout == layouts_slice(s->c, x, s->axis) ||
           total->layout == axis_parted(s->c, x, s->axis);
}

static void
rewrite(Sum *s)
{
    Op *loop = s->loop;
    Block *body = loop->regions[0];
    Val *carried = body->args[s->carried + 1], *whole = loop->results[s->carried];
    const Layout *wanted = whole->type->layout;
    Op *last = s->n_more ? s->more[0] : s->add;
    Build b = {.f = s->f, .block = body, .before = last, .loc = s->reduce->loc};
    Val *x = arg(s->reduce, 0);
    for (int i = s->n_more; i--;)
        x = ir_bin(&b, OP_ADD, x, arg(sum_of_more(s->more[i]), 0));
    Val *p = sum_groups(s, &b, apart(s, &b, x), true);
    const Type *parts = p->type;
    carried->type = whole->type = parts;
    Val *sum = carried;
    if (s->mul) {
        b.loc = s->mul->loc;
        sum = ir_bin(&b, OP_MUL, carried, spread_part(s, &b, s->factor, parts));
    }
    b.loc = s->add->loc;
    ir_set_arg(body->last, s->carried, ir_bin(&b, OP_ADD, sum, p));
    for (int i = 0; i < s->n_more; i++) {
        Op *o = sum_of_more(s->more[i]);
        ir_erase(s->more[i]);
        ir_erase(o);
    }
    ir_erase(s->add);
    if (s->mul)
        ir_erase(s->mul);

    Build before = ir_before(loop);
    ir_set_arg(loop, s->carried + 3, ir_const_bits(&before, parts, 0));
    Build after = ir_behind(loop);
    after.loc = s->reduce->loc;
    Use *uses = whole->uses; /* those of now: the newest come first */
    Val *total = sum_groups(s, &after, whole, false);
    total = moved(s, &after, parted_as(s, total, wanted), wanted);
    for (Use *u = uses, *next; u; u = next) {
        next = u->next;
        ir_set_arg(u->user, (int)(u - u->user->args), total);
    }
    ir_erase(s->reduce);
}

void
pass_defer_sums(Func *f)
{
    if (!f->log2_ctas)
        EACH_OP_INSIDE_OUT(o, f->body)
            for (int i = 0; o->op == OP_FOR && i < o->n_results; i++) {
                Sum s = {.f = f, .c = f->c, .loop = o, .carried = i};
                if (find_sum(&s) && lanes_agree(&s, o->results[i]->type))
                    rewrite(&s);
            }
}
