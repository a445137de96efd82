/* halves: half of what the special unit computes goes behind the wait for the product beside it.
 *
 *     %s = mma_wait ..                         %s = mma_wait ..
 *     %p = exp2 %x                             %x0, %x1 = split ..      the lower columns, and the others
 *     %t = reduce %p ..                        %p0 = exp2 %x0
 *     mbar_wait .. {looks=16}                  %t0 = reduce %p0 ..
 *     %o = mma_wait %acc, %before       =>     mbar_wait .. {looks=16}
 *     %a = mul %o, %f                          %o = mma_wait %acc, %before
 *     %c = cast %p                             %p1 = exp2 %x1
 *                                              %t = add %t0, reduce %p1 ..
 *                                              %a = mul %o, %f
 *                                              %c = cast join %p0, %p1
 *
 * The special unit takes eight clocks for a register of a warp, and there a rotated loop (rotate.c) spends most of the
 * time of its threads. Behind the wait they scale the sum and cast the operand, which leaves that unit idle, and the
 * assembler moves nothing over the wait (start_dots.c). With half of the exponentials there, both are done at one time.
 * On an H100 attention by 128x128 and 8 warps, 16 heads of 8192 keys, of cuDNN, without and with a quarter, a half,
 * three quarters and all of them behind the wait, by edited PTX:
 *
 *     D = 64    0.998  0.975  1.075  0.986  0.957        causal  1.049  1.068  1.087  1.010  0.964
 *     D = 128   1.058  1.076  1.097  1.098  1.069        causal  1.132  1.160  1.190  1.186  1.162
 *
 * Both groups must begin apart (turns.c): side by side they were at 0.97 and 1.03, 1.09 and 1.02 with half.
 *
 * Rule 1: what is made of the late half goes behind the wait too, so it is pure.
 * Rule 2: a thread tells the halves of its columns apart by one bit of a register's number: splitting them and
 *         joining them takes no instruction.
 * Rule 3: products take as long as the special unit, or threads hardly wait for them: with D = 32 1.19 would become 1.28, but
 *         causal 1.25 1.16, and with a division for each score, D = 64, 0.51 0.50.
 */
#include "passes/passes.h"

enum { LEAST = 4 /* log2 of a thread's registers: few take no time */ };

typedef struct Halves {
    Func *f;
    Op *special, *wait;
    Map late;    /* ops between both that the special one's result reaches */
    Map part[2]; /* what is known by halves -> its half */
} Halves;

/* ---- finding --------------------------------------------------------------------- */

static const Type *
reshaped(Comp *c, const Type *t, int rank, const int32_t *shape)
{
    uint8_t log2_shape[MAX_RANK];
    const Type *to = ty_with_shape(c, t, rank, shape);
    ty_log2_shape(to, log2_shape);
    return ty_with_layout(c, to, layout_reshape(c, t->layout, rank, log2_shape));
}

/* [M, N] as [M, 2, N / 2]. */
static const Type *
type_apart(Comp *c, const Type *t)
{
    return reshaped(c, t, 3, (int32_t[]){t->shape[0], 2, t->shape[1] / 2});
}

static const int apart_to_last[] = {0, 2, 1}; /* its own inverse */

/* [M, 2, N / 2] as [M, N / 2, 2]. */
static const Type *
type_turned(Comp *c, const Type *t)
{
    int32_t shape[] = {t->shape[0], t->shape[2], t->shape[1]};
    return ty_with_layout(c, ty_with_shape(c, t, 3, shape),
                          layout_permute(c, t->layout, apart_to_last));
}

static bool
is_long(const Op *o)
{
    const Type *t = op_has(o, OPF_SPECIAL) ? result(o, 0)->type : NULL;
    return t && t->rank && t->elem == E_F32 && t->layout->n[IN_REG] >= LEAST;
}

/* Rule 2. */
static bool
may_be_halved(Comp *c, const Op *o)
{
    const Type *t = is_long(o) ? result(o, 0)->type : NULL;
    return t && o->n_args == 1 && t->rank == 2 && t->shape[1] > 1 &&
           layout_split(c, type_turned(c, type_apart(c, t))->layout);
}

static bool
is_late(const Halves *h, const Op *o)
{
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->def &&
            (arg(o, i)->def == h->special || map_get(&h->late, arg(o, i)->def, 0)))
            return true;
    return false;
}

/* Rule 1. */
static bool
find_late(Halves *h)
{
    for (Op *o = h->special->next; o != h->wait; o = o->next) {
        if (!is_late(h, o))
            continue;
        if (!op_has(o, OPF_PURE))
            return false;
        map_put(&h->late, o, 0, o);
    }
    return !is_late(h, h->wait);
}

/* Clocks that the special unit takes in the block; a division or a root keeps others busy as long. */
static int64_t
special_clocks(const Block *b)
{
    enum { RESULTS = 16 /* in a clock */ };
    int64_t n = 0;
    for (const Op *o = b->first; o; o = o->next)
        if (is_long(o))
            n += ty_numel(result(o, 0)->type) * (op_has(o, OPF_SLOW) ? 2 : 1);
    return n / RESULTS;
}

/* The last op of those that may be halved, and the wait behind it, which is not the loop's first: before that one
 * there is no product's result. */
static bool
find(Halves *h, const Block *body)
{
    bool has_result = false;
    for (Op *o = body->first; o; o = o->next) {
        if (o->op == OP_MMA_WAIT && h->special) {
            h->wait = o;
            return find_late(h);
        }
        has_result |= o->op == OP_MMA_WAIT;
        if (has_result && may_be_halved(h->f->c, o))
            h->special = o;
    }
    return false;
}

/* ---- building -------------------------------------------------------------------- */

static Val *
turned(Build *b, Val *v, const Type *t)
{
    Op *o = ir_op(b, OP_TRANS, 1, &v, 1, &t);
    ir_set_attr(o, ATTR_PERM, perm_pack(3, apart_to_last));
    return result(o, 0);
}

/* Behind what is released behind the wait. */
static Op *
behind(const Op *wait)
{
    Op *o = wait->next;
    while (o->op == OP_MBAR_ARRIVE)
        o = o->next;
    return o;
}

/* What half of o's result is, of half of its operand; NULL: columns do not stay apart. */
static const Type *
type_of_half(Comp *c, const Op *o, const Type *in)
{
    const Type *t = result(o, 0)->type;
    int32_t shape[MAX_RANK];
    for (int d = 0; d < t->rank; d++)
        shape[d] = d == 1 ? t->shape[d] / 2 : t->shape[d];
    if (o->op == OP_RESHAPE && t->rank > 1 && t->shape[0] == in->shape[0] &&
        t->shape[1] > 1)
        return reshaped(c, in, t->rank, shape);
    if (o->op != OP_REDUCE || o->n_results != 1 || !ir_combine_op(o))
        return NULL;
    int axis = (int)ir_attr(o, ATTR_AXIS);
    if (layout_moves(in->layout, IN_LANE, axis) ||
        layout_moves(in->layout, IN_WARP, axis))
        return NULL;
    const Layout *l = layout_dedup_regs(c, layout_slice(c, in->layout, axis));
    if (axis == 1)
        return l == t->layout ? t : NULL;
    return axis ? ty_with_layout(c, ty_with_shape(c, t, t->rank, shape), l) : NULL;
}

/* Where o's operand is known by halves, so is its result, or the columns' reduction, which joins them. What o gave
 * whole is dead then, unless somebody else wants it. */
static void
do_by_halves(Halves *h, Op *o, Op *at)
{
    Val *half[2] = {o->n_args == 1 ? map_get(&h->part[0], arg(o, 0), 0) : NULL};
    const Type *t = half[0] ? type_of_half(h->f->c, o, half[0]->type) : NULL;
    if (!t)
        return;
    Build b = {.f = h->f, .block = o->block, .before = o, .loc = o->loc};
    for (int i = 0; i < 2; i++) {
        half[i] = result(ir_clone(&b, o, &h->part[i]), 0);
        half[i]->type = t;
        b.before = at;
    }
    if (t != result(o, 0)->type)
        return;
    ir_replace(result(o, 0), ir_bin(&b, ir_combine_op(o)->op, half[0], half[1]));
    for (int i = 0; i < 2; i++)
        map_put(&h->part[i], result(o, 0), 0, NULL);
}

/* v from its halves, the late one in front of b. */
static Val *
joined(Build *b, Val *p[2], const Type *last, const Type *t)
{
    Comp *c = b->f->c;
    Val *v = turned(b, ir_op1(b, OP_JOIN, 2, p, last), type_apart(c, t));
    return ir_op1(b, OP_RESHAPE, 1, &v, t);
}

static void
halve(Halves *h)
{
    Comp *c = h->f->c;
    Op *o = h->special, *at = behind(h->wait);
    const Type *apart = type_apart(c, arg(o, 0)->type), *last = type_turned(c, apart),
               *half = ty_with_layout(c, ty_with_shape(c, last, 2, last->shape),
                                      layout_split(c, last->layout));
    Build b = {.f = h->f, .block = o->block, .before = o, .loc = o->loc};
    Val *in = arg(o, 0), *x = turned(&b, ir_op1(&b, OP_RESHAPE, 1, &in, apart), last),
        *p[2];
    Op *split = ir_op(&b, OP_SPLIT, 1, &x, 2, (const Type *[]){half, half});
    for (int i = 0; i < 2; i++) {
        p[i] = ir_op1(&b, o->op, 1, &split->results[i], half);
        map_put(&h->part[i], result(o, 0), 0, p[i]);
        b.before = at;
    }
    Val *whole = joined(&b, p, last, result(o, 0)->type);
    for (Op *q = o->next, *next; q != h->wait; q = next) {
        next = q->next;
        if (!map_get(&h->late, q, 0))
            continue;
        do_by_halves(h, q, at);
        ir_move_before(q, at);
    }
    ir_replace(result(o, 0), whole);
    ir_report(h->f, o->loc, op_info[o->op].text,
              "half of it is computed behind the wait for a product");
    ir_erase(o);
}

void
pass_halves(Func *f)
{
    EACH_OP_INSIDE_OUT(o, f->body) {
        Map none = {.a = f->c->arena};
        Halves h = {.f = f, .late = none, .part = {none, none}};
        if (o->op == OP_FOR && ir_attr(o, ATTR_LOOP) & LOOP_MMA_ROUND &&
            special_clocks(o->regions[0]) <= product_clocks(o->regions[0]) &&
            find(&h, o->regions[0]))
            halve(&h);
    }
}
