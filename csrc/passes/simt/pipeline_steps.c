/* pipeline_steps: the second half of pipeline: fragments, too, are read ahead.
 *
 * The barrier at the head of a pipelined loop stops all warps at once, and then all of
 * them wait for their first fragments. In a loop that is one dot from two slots, the
 * dot is cut into steps along k as deep as the instruction, and the first step of the
 * next iteration is read beside the last products of this one:
 *
 *     wait; barrier                        for (.., a0, b0):
 *     a = shared_load s[read]                a1, b1 = shared_load s[read], step 1
 *     b = shared_load t[read]                copies
 *     copies                         =>      acc = dot a0, b0, acc
 *     acc = dot a, b, acc                    wait; barrier
 *                                            a0', b0' = shared_load s[next], step 0
 *                                            acc = dot a1, b1, acc
 *
 * So the barrier moves by most of an iteration. What it promises stays: the group of
 * the next iteration has landed for all, and everybody has read the last of the slot
 * that the next iteration's copies fill. The wait comes earlier, though, by one step
 * less than an iteration, so this is done only where a copy has more than one
 * iteration's time. Products of three terms have enough to do between their loads, and sum more than one
 * step from zero.
 */
#include "passes/simt/layouts.h"
#include "passes/simt/pipeline.h"

enum { MAX_TURNS = 4, MAX_PRESSURE = 224 }; /* registers of 255 */

/* How one operand of the dot comes out of its slot: a load and transpositions. */
typedef struct Source {
    Op *load;
    Op *turn[MAX_TURNS]; /* the last first */
    int n_turns;
    const Type *type; /* of one step of the operand */
} Source;

static bool
find_source(const Block *body, const Val *v, Source *s)
{
    *s = (Source){.n_turns = 0};
    for (Op *o = v->def; o && o->block == body; o = arg(o, 0)->def) {
        const Use *u = result(o, 0)->uses;
        if (!u || u->next) /* somebody else wants the whole of it */
            return false;
        if (o->op == OP_SHARED_LOAD) {
            s->load = o;
            return ty_same_shape(result(o, 0)->type, arg(o, 0)->type);
        }
        if (o->op != OP_TRANS || s->n_turns == MAX_TURNS)
            return false;
        s->turn[s->n_turns++] = o;
    }
    return false;
}

Op *
pipeline_only_dot(const Block *body)
{
    Op *dot = NULL;
    for (Op *o = body->first; o; o = o->next) {
        if (op_has(o, OPF_CONTROL) || (o->op == OP_DOT && dot))
            return NULL;
        if (o->op == OP_DOT)
            dot = o;
    }
    return dot;
}

static int
words(const Val *v)
{
    return (ty_bits(v->type) << v->type->layout->n[IN_REG]) / 32;
}

int
address_words(const Block *body)
{
    int sum = 0;
    for (const Op *o = body->first; o; o = o->next)
        if (o->op == OP_ASYNC_COPY) {
            const Type *t = arg(o, 0)->type;
            int bytes = elem_info[t->elem].bytes << t->layout->n[IN_REG];
            sum += 2 * MAX(bytes / 16, 1);
        }
    return sum;
}

/* One step of operand `which`, with the layout of the fragments. */
static const Type *
step_type(Comp *c, const Op *dot, int which, const DotPlan *plan)
{
    const Type *t = arg(dot, which)->type;
    uint8_t log2_shape[MAX_RANK];
    t = ty_with_side(c, t, which ? 0 : 1, mma_shape[plan->kind].k);
    ty_log2_shape(t, log2_shape);
    return ty_with_layout(
        c, t,
        (which ? layout_mma_b : layout_mma_a)(c, 2, log2_shape, plan->kw,
                                              plan->log2_warps_m, plan->log2_warps_n));
}

/* The type of operand 0 of a transposition whose result is t. */
static const Type *
before_turn(Comp *c, const Op *turn, const Type *t)
{
    int32_t shape[MAX_RANK];
    int perm[MAX_RANK];
    const Layout *l = layouts_operand(c, turn, t->layout);
    ir_perm(turn, perm);
    for (int d = 0; d < t->rank; d++)
        shape[perm[d]] = t->shape[d];
    return ty_with_layout(c, ty_with_shape(c, t, t->rank, shape), l);
}

/* Reads step number `step` of the operand out of `slot`. */
static Val *
read_step(Build *b, const Source *s, int which, int step, Val *slot)
{
    Comp *c = b->f->c;
    const Type *type[MAX_TURNS + 1] = {s->type};
    int axis = which ? 0 : 1, start = step * s->type->shape[axis];
    for (int i = 0; i < s->n_turns; i++) {
        type[i + 1] = before_turn(c, s->turn[i], type[i]);
        int perm[MAX_RANK];
        ir_perm(s->turn[i], perm);
        axis = perm[axis];
    }
    b->loc = s->load->loc;
    Op *load = ir_op(b, OP_SHARED_LOAD, 2, (Val *[]){arg(s->load, 0), slot}, 1,
                     &type[s->n_turns]);
    ir_set_attr(load, ATTR_AXIS, axis);
    ir_set_attr(load, ATTR_START, start);
    Val *v = result(load, 0);
    for (int i = s->n_turns; i-- > 0;) {
        Op *turn = ir_op(b, OP_TRANS, 1, &v, 1, &type[i]);
        ir_set_attr(turn, ATTR_PERM, ir_attr(s->turn[i], ATTR_PERM));
        v = result(turn, 0);
    }
    return v;
}

static void
read_both(Build *b, const Source *s, int step, Val *slot, Val *out[2])
{
    for (int i = 0; i < 2; i++)
        out[i] = read_step(b, &s[i], i, step, slot);
}

static void
erase_source(const Source *s)
{
    for (int i = 0; i < s->n_turns; i++)
        ir_erase(s->turn[i]);
    ir_erase(s->load);
}

static void
rewrite(const Pipelined *p, Op *dot, const Source *s, int n_steps)
{
    Block *body = p->loop->regions[0];
    Build out = ir_before(p->loop);
    Map none = {.a = p->f->c->arena};
    ir_clone(&out, p->wait, &none);
    ir_clone(&out, p->barrier, &none);
    Val *now[2], *later[2], *first[2];
    read_both(&out, s, 0, p->first_slot, first);
    for (int i = 0; i < 2; i++) {
        ir_add_arg(p->loop, first[i]);
        ir_add_result(p->loop, first[i]->type);
        now[i] = ir_block_arg(body, first[i]->type, NULL);
    }
    Build top = {.f = p->f, .block = body, .before = p->barrier->next};
    read_both(&top, s, 1, p->read, later);

    Build at = {.f = p->f, .block = body, .before = dot};
    Val *acc = arg(dot, 2);
    DotSides sides = dot_sides(dot);
    for (int step = 0; step < n_steps; step++) {
        if (step && step + 1 < n_steps)
            read_both(&at, s, step + 1, p->read, later);
        if (step + 1 == n_steps) {
            ir_move_before(p->wait, dot);
            ir_move_before(p->barrier, dot);
            read_both(&at, s, 0, p->next_read, later);
        }
        at.loc = dot->loc;
        int k = now[0]->type->shape[1]; /* of a step */
        if (step * k < sides.k) {       /* else there is padding alone */
            Op *part = ir_op(&at, OP_DOT, 3, (Val *[]){now[0], now[1], acc}, 1,
                             &result(dot, 0)->type);
            memcpy(part->attr, dot->attr, sizeof part->attr);
            dot_set_sides(part, (DotSides){sides.m, sides.n, k});
            acc = result(part, 0);
        }
        memcpy(now, later, sizeof now);
    }
    ir_add_arg(body->last, now[0]);
    ir_add_arg(body->last, now[1]);
    ir_replace(result(dot, 0), acc);
    ir_erase(dot);
    erase_source(&s[0]);
    erase_source(&s[1]);
}

bool
pipeline_steps(const Pipelined *p)
{
    Comp *c = p->f->c;
    Block *body = p->loop->regions[0];
    Op *dot = pipeline_only_dot(body);
    Source s[2];
    DotPlan plan;
    if (p->ahead < 2 || !dot || result(dot, 0)->type->rank != 2 ||
        !find_source(body, arg(dot, 0), &s[0]) ||
        !find_source(body, arg(dot, 1), &s[1]))
        return false;
    dot_plan(p->f, dot, &plan);
    if (!plan.is_mma || plan.n_terms > 1 || plan.operand[0] != arg(dot, 0)->type->elem)
        return false;
    int n_steps = arg(dot, 0)->type->shape[1] / mma_shape[plan.kind].k;
    if (n_steps < 2)
        return false;
    int each = (words(arg(dot, 0)) + words(arg(dot, 1))) / n_steps;
    if (loop_pressure(p->loop) + 2 * each + address_words(body) > MAX_PRESSURE)
        return false;
    for (int i = 0; i < 2; i++)
        s[i].type = step_type(c, dot, i, &plan);
    rewrite(p, dot, s, n_steps);
    return true;
}
