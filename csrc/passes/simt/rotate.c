/* rotate: a product that waits for another one runs beside that of the next iteration.
 *
 *     for i = lb to ub step c ^(acc) {      for t = -1 to n ^(acc, p, f) {    n iterations
 *       s = dot q, K[i]                       s = dot q, K[t + 1]             if t + 1 < n
 *       p = softmax s; f = ..          =>     acc = dot cast p, V[t], acc * f if t >= 0
 *       acc = dot cast p, V[i], acc * f       p' = softmax s; f' = ..
 *     }                                       yield acc, p', f'
 *                                           }
 *
 * Attention's second product needs what becomes of the first, so tensor cores and the other
 * units would take turns. Here the second product of one iteration and the first one of the
 * next are on their way while threads compute: start_dots waits for each where it is wanted.
 * The first stage of the original iteration t + 1 and the second stage of iteration t share
 * an iteration, so there is one iteration more. Its loads are switched off where an iteration
 * does not exist: the second stage of iteration -1 adds 0 @ 0 to acc * 1, and what the first
 * stage of iteration n computes is dropped, because the value before is carried, too. A tile that
 * warps of their own bring (split_roles) is switched off by rows in front of its tensor, which
 * are 0.
 *
 * Where warps of their own bring all tiles (split_roles), loads need not stay in one loop to run
 * ahead: the first iteration's first stage stands in front, the last one's second behind, in an
 * `if` that asks whether there are any. The sum is scaled and the operand cast at the end of an
 * iteration (clone_ready), so that both go round and not what they are made of: 96 registers
 * for 128x128 at D = 128 instead of 128, and no instruction between the products.
 *
 * Else the second product is waited for at the top of the next iteration (LOOP_MMA_ROUND): ptxas
 * moves a wait up over arithmetic, but not into another block. The sum is scaled and the
 * operand cast behind that wait, for ptxas does one product after the other where
 * other instructions write an accumulator between two products.
 *
 * Rule 1: all ops of the loop are pure or loads, and only the second product and the scaling
 *         of its sum look at that sum. So an iteration that does not exist leaves no trace.
 * Rule 2: s, acc and the second product's operand are in registers together.
 * Rule 3: a multiprocessor has room for two warpgroups of the kernel at most. Of more, some
 *         compute while others multiply, and the registers that this takes cost blocks
 *         (H200, D = 64: 453 TFLOP/s as it was, 356 rotated; D = 128: 500 and 557).
 * Rule 4: t is counted in 32 bits, so a step of 1 wants a bound that is known to be positive.
 */
#include "passes/simt/pipeline.h"

enum { OTHERS = 40 /* registers of addresses and temporaries */ };

typedef struct Rotation {
    Func *f;
    Comp *c;
    Op *loop;
    Block *body;
    int64_t step;
    bool has_roles;     /* tiles are brought by warps of their own */
    bool must_exist;    /* one of them cannot be switched off */
    Op *second, *scale; /* scale: of the second product's sum; NULL: none */
    int sum;            /* which carried value that is */
    Val *factor;        /* of scale, as narrow as it is */
    Val *operand;       /* what the second product's first operand is cast from */
    Map of_dot;         /* ops that depend on a dot of the body -> themselves */
    Map late;           /* ops that the second product's loaded operand is made of */
    Map spread;         /* ops that make the factor as wide as the sum */
    Map casts;          /* of the operand */
    Map first, early; /* ops of the first stage; those that its products are made of */
    bool *wanted;     /* by carried value: the second stage wants it */
    bool *before;     /* by carried value: the second stage, or who comes behind the
                           loop, wants what it was an iteration before */
} Rotation;

/* ---- finding --------------------------------------------------------------------- */

static Op *
def_in(const Rotation *r, const Val *v)
{
    return v->def && v->def->block == r->body ? v->def : NULL;
}

static bool
is_carried(const Rotation *r, const Val *v)
{
    return !v->def && v->block == r->body && v->index > 0;
}

static bool
is_in(const Map *m, const Op *o)
{
    return map_get(m, o, 0) != NULL;
}

static void
put(Map *m, Op *o)
{
    map_put(m, o, 0, o);
}

/* A tile whose elements in front of the tensor are 0, so that it can be switched off. */
static bool
is_zero_tile(const Op *o)
{
    return o->op == OP_MAP_LOAD && ir_attr(arg(o, 0)->def, ATTR_PADDING) == PAD_ZERO;
}

/* Rule 1, but for the sum; which ops depend on dots. */
static bool
leaves_no_trace(Rotation *r)
{
    for (Op *o = r->body->first; o != r->body->last; o = o->next) {
        bool is_tile = r->has_roles && roles_bring(r->f, o),
             is_load = is_tile || (o->op == OP_LOAD && !ir_attr(o, ATTR_VOLATILE));
        r->must_exist |= is_tile && !is_zero_tile(o);
        if (op_has(o, OPF_CONTROL) || (!op_has(o, OPF_PURE) && !is_load))
            return false;
        bool depends = o->op == OP_DOT;
        for (int i = 0; i < o->n_args && !depends; i++)
            depends = def_in(r, arg(o, i)) && is_in(&r->of_dot, arg(o, i)->def);
        if (depends)
            put(&r->of_dot, o);
    }
    return true;
}

static bool
depends_on_dot(const Rotation *r, const Val *v)
{
    return def_in(r, v) && is_in(&r->of_dot, v->def);
}

/* The one dot whose operand is made of another one's result, by warpgroups both. */
static bool
find_second(Rotation *r)
{
    int n_first = 0;
    for (Op *o = r->body->first; o; o = o->next) {
        if (o->op != OP_DOT)
            continue;
        if (!arg(o, 1)->type->slots || depends_on_dot(r, arg(o, 1)))
            return false;
        if (!depends_on_dot(r, arg(o, 0))) {
            n_first++;
            continue;
        }
        if (r->second || arg(o, 0)->type->slots)
            return false;
        r->second = o;
    }
    return r->second && n_first;
}

/* acc, or acc * factor, with arguments in any order. */
static bool
find_sum(Rotation *r)
{
    Val *v = arg(r->second, 2), *end = result(r->second, 0);
    if (!is_carried(r, v)) {
        r->scale = def_in(r, v);
        if (!r->scale || r->scale->op != OP_MUL || !ir_has_one_use(v))
            return false;
        int i = is_carried(r, arg(r->scale, 0)) ? 0 : 1;
        v = arg(r->scale, i);
        r->factor = arg(r->scale, 1 - i);
        if (!is_carried(r, v) || r->factor == v)
            return false;
    }
    r->sum = v->index - 1;
    return ir_has_one_use(v) && ir_has_one_use(end) &&
           end->uses->user == r->body->last &&
           end->uses - r->body->last->args == r->sum;
}

/* Adds what v is made of to the second stage: it may be made again there. */
static bool
add_late(Rotation *r, Val *v)
{
    Op *o = def_in(r, v);
    if (is_carried(r, v)) {
        r->before[v->index - 1] = true;
        return v->index - 1 != r->sum;
    }
    if (!o || is_in(&r->late, o))
        return true;
    if (is_in(&r->of_dot, o) ||
        (o->op == OP_LOAD && o->n_args > 2 && !ir_is_const(arg(o, 2), &(uint64_t){0})))
        return false;
    put(&r->late, o);
    for (int i = 0; i < o->n_args; i++)
        if (!add_late(r, arg(o, i)))
            return false;
    return true;
}

/* The factor before it was spread over the sum's columns. */
static void
narrow_factor(Rotation *r)
{
    for (Op *o; r->factor && (o = def_in(r, r->factor)); r->factor = arg(o, 0)) {
        if (o->op != OP_EXPAND && o->op != OP_BROADCAST && o->op != OP_SPLAT)
            return;
        put(&r->spread, o);
    }
}

/* The second product's operand as it was computed, in front of its casts. */
static void
find_operand(Rotation *r)
{
    Val *v = arg(r->second, 0);
    for (; ir_has_one_use(v) && def_in(r, v); v = arg(v->def, 0)) {
        if (v->def->op != OP_CAST && v->def->op != OP_CONVERT)
            break;
        put(&r->casts, v->def);
    }
    r->operand = v;
}

static void
add_first(Rotation *r, Map *m, const Val *v)
{
    Op *o = def_in(r, v);
    if (!o || is_in(m, o))
        return;
    put(m, o);
    for (int i = 0; i < o->n_args; i++)
        add_first(r, m, arg(o, i));
}

/* What carried values, the operand and the factor are made of; products and theirs first. */
static void
find_first(Rotation *r)
{
    for (int i = 0; i < r->loop->n_results; i++)
        if (i != r->sum)
            add_first(r, &r->first, arg(r->body->last, i));
    add_first(r, &r->first, r->operand);
    if (r->factor)
        add_first(r, &r->first, r->factor);
    for (const Op *o = r->body->first; o; o = o->next)
        if (o->op == OP_DOT && o != r->second && is_in(&r->first, o))
            add_first(r, &r->early, result(o, 0));
}

/* Rule 2. */
static bool
has_registers(const Rotation *r)
{
    int threads = 32 * r->f->team_warps,
        most = MIN(255, (int)(CHIP_REGISTERS / threads));
    const Type *p = arg(r->second, 0)->type;
    int words = (ty_bits(p) << p->layout->n[IN_REG]) / 32;
    return loop_pressure(r->loop) + words + OTHERS <= most;
}

/* Bytes of shared memory that the products' operands take, each loaded `stages` times. */
static int64_t
operand_bytes(const Rotation *r)
{
    int64_t stages = ir_attr(r->loop, ATTR_STAGES), sum = 0;
    if (!stages)
        stages = r->c->opt.num_stages;
    for (const Op *o = r->body->first; o; o = o->next)
        for (int i = 0; o->op == OP_DOT && i < 2; i++) {
            const Type *t = arg(o, i)->type;
            int64_t bytes = ty_numel(t) * elem_info[t->elem].bytes;
            if (t->slots)
                sum += is_defined_outside(arg(o, i), r->body) ? bytes
                                                              : bytes * MAX(stages, 1);
        }
    return sum;
}

/* Rule 3. Rings have as many slots as time and room decide (rings.c), and not num_stages. Blocks that are told to
 * leave room for each other are not alone. Unrotated, a thread of attention's dq by 128x32, D = 64 and 4 warps has 38 words
 * beside its products: three blocks took 1404 us on an H100, and two rotated ones 1505. */
static bool
is_alone(const Rotation *r)
{
    int blocks = r->has_roles ? roles_blocks(r->f).with
                              : hopper_blocks_of(r->f, r->f->team_warps,
                                                 loop_pressure(r->loop) + OTHERS,
                                                 operand_bytes(r));
    return blocks * r->f->team_warps <= 2 * WARPGROUP && !roles_pair(r->f);
}

/* Rule 4. */
static bool
is_countable(Rotation *r)
{
    int64_t lb;
    const Type *t = arg(r->loop, 0)->type;
    return elem_info[t->elem].bits == 32 &&
           ir_const_as_int(arg(r->loop, 2), &r->step) &&
           (r->step > 1 || (r->step == 1 && elem_is_signed(t->elem) &&
                            ir_const_as_int(arg(r->loop, 0), &lb) && lb >= 0));
}

/* No iteration is added, so no load is switched off. */
static bool
is_whole(const Rotation *r)
{
    return r->has_roles && r->scale;
}

static bool
find_rotation(Rotation *r)
{
    r->before = NEW_N(r->c->arena, bool, r->loop->n_results);
    r->wanted = NEW_N(r->c->arena, bool, r->loop->n_results);
    if (!is_countable(r) || !leaves_no_trace(r) || !find_second(r) || !find_sum(r) ||
        !has_registers(r) || !is_alone(r) || !add_late(r, arg(r->second, 1)))
        return false;
    narrow_factor(r);
    find_operand(r);
    memcpy(r->wanted, r->before, (size_t)r->loop->n_results);
    for (int i = 0; i < r->loop->n_results; i++)
        if (i != r->sum && r->loop->results[i]->uses)
            r->before[i] = true;
    find_first(r);
    return !is_in(&r->first, r->second) && (is_whole(r) || !r->must_exist);
}

/* ---- building -------------------------------------------------------------------- */

/* ceil((ub - lb) / step), 0 where the loop does not run; i32. */
static Val *
trips(const Rotation *r, Build *b)
{
    Val *lb = ir_cast(b, arg(r->loop, 0), E_I64),
        *ub = ir_cast(b, arg(r->loop, 1), E_I64);
    const Type *t = lb->type;
    Val *way = ir_bin(b, OP_SUB, ir_bin(b, OP_MAX, ub, lb), lb);
    way = ir_bin(b, OP_ADD, way, ir_const_int(b, t, r->step - 1));
    return ir_cast(b, ir_bin(b, OP_DIV, way, ir_const_int(b, t, r->step)), E_I32);
}

/* The induction variable of the original iteration t. */
static Val *
original(const Rotation *r, Build *b, Val *t)
{
    const Type *type = arg(r->loop, 0)->type;
    Val *i = ir_bitcast(b, t, type);
    if (r->step > 1)
        i = ir_bin(b, OP_MUL, i, ir_const_int(b, type, r->step));
    return ir_bin(b, OP_ADD, arg(r->loop, 0), i);
}

/* Rows that the tensor does not have are 0: where the iteration does not exist, all of the tile's
 * lie in front of it. */
static void
clone_tile(Build *b, const Op *o, Map *map, Val *exists)
{
    Op *n = ir_clone(b, o, map);
    const Type *t = result(o, 0)->type;
    Build at = {.f = b->f, .block = b->block, .before = n, .loc = o->loc};
    Val *outside = ir_const_int(&at, arg(n, 1)->type, -t->shape[0]);
    ir_set_arg(n, 1, ir_select(&at, exists, arg(n, 1), outside));
}

/* exists: of the iteration, or NULL where all do. */
static void
clone(Build *b, const Op *o, Map *map, Val *exists, bool fills)
{
    b->loc = o->loc;
    if (o->op == OP_MAP_LOAD && exists) {
        clone_tile(b, o, map, exists);
        return;
    }
    if (o->op != OP_LOAD || !exists) {
        ir_clone(b, o, map);
        return;
    }
    Val *otherwise = o->n_args > 2 ? ir_mapped(map, arg(o, 2)) : NULL;
    if (!otherwise && fills)
        otherwise = ir_const_bits(b, result(o, 0)->type, 0);
    map_put(map, result(o, 0), 0, pipeline_clone_load(b, o, map, exists, otherwise));
}

static void
clone_first(const Rotation *r, Build *b, Map *map, Val *exists, bool is_early)
{
    for (const Op *o = r->body->first; o; o = o->next)
        if (is_in(&r->first, o) && is_in(&r->early, o) == is_early)
            clone(b, o, map, exists, false);
}

static void
clone_second(const Rotation *r, Build *b, Map *map, Val *exists)
{
    for (const Op *o = r->body->first; o; o = o->next)
        if (is_in(&r->late, o))
            clone(b, o, map, exists, true);
    clone(b, r->second, map, exists, false);
}

/* What the second product takes: the sum by the factor, and the operand cast. */
static void
clone_operands(const Rotation *r, Build *b, Map *map)
{
    for (const Op *o = r->body->first; o; o = o->next)
        if (is_in(&r->spread, o) || is_in(&r->casts, o) || o == r->scale)
            clone(b, o, map, NULL, false);
}

static void
build(Rotation *r)
{
    Op *old = r->loop;
    int n = old->n_results;
    Build at = ir_before(old);
    const Type *i32 = ty_scalar(r->c, E_I32);
    Val *count = trips(r, &at), *one = ir_const_int(&at, i32, 1),
        *minus = ir_const_int(&at, i32, -1);
    Op *loop = ir_op(&at, OP_FOR, 3, (Val *[]){minus, count, one}, 0, NULL);
    memcpy(loop->attr, old->attr, sizeof loop->attr);
    ir_set_attr(loop, ATTR_LOOP, ir_attr(old, ATTR_LOOP) | LOOP_MMA_ROUND);
    at.before = loop;
    Block *body = ir_block(r->f, loop);
    Val *t = ir_block_arg(body, i32, r->body->args[0]->name);
    Map now = {.a = r->c->arena}, next = {.a = r->c->arena};
    for (int i = 0; i < n; i++) {
        Val *v = r->body->args[i + 1];
        map_put(i == r->sum ? &now : &next, v, 0,
                ir_carry(loop, arg(old, i + 3), v->name));
    }
    Val *p = r->operand, *f = r->factor;
    map_put(&now, p, 0, ir_carry(loop, ir_const_bits(&at, p->type, 0), p->name));
    if (f)
        map_put(&now, f, 0, ir_carry(loop, ir_const_float(&at, f->type, 1), f->name));
    for (int i = 0; i < n; i++)
        if (r->before[i])
            map_put(&now, r->body->args[i + 1], 0,
                    ir_carry(loop, arg(old, i + 3), r->body->args[i + 1]->name));

    Build b = {.f = r->f, .block = body, .loc = old->loc};
    clone_operands(r, &b, &now);
    Val *after = ir_bin(&b, OP_ADD, t, one);
    Val *has_first = ir_bin(&b, OP_LT, after, count),
        *has_second = ir_bin(&b, OP_NE, t, minus);
    map_put(&now, r->body->args[0], 0, original(r, &b, t));
    map_put(&next, r->body->args[0], 0, original(r, &b, after));
    clone_first(r, &b, &next, has_first, true);
    clone_second(r, &b, &now, has_second);
    clone_first(r, &b, &next, has_first, false);

    b.loc = r->body->last->loc;
    Op *yield = ir_op(&b, OP_YIELD, 0, NULL, 0, NULL);
    for (int i = 0; i < n; i++)
        ir_add_arg(yield, ir_mapped(i == r->sum ? &now : &next, arg(r->body->last, i)));
    ir_add_arg(yield, ir_mapped(&next, p));
    if (f)
        ir_add_arg(yield, ir_mapped(&next, f));
    for (int i = 0, k = yield->n_args; i < n; i++) {
        Val *end = loop->results[i];
        if (r->before[i]) {
            ir_add_arg(yield, ir_mapped(&next, r->body->args[i + 1]));
            end = loop->results[k++];
        }
        ir_replace(result(old, i), end);
    }
    ir_erase(old);
}

/* ---- building, where warps of their own bring tiles ---------------------------------- */

/* What the next second product takes: the sum by the factor, and behind it the operand. Its
 * registers are those that the product before reads until the sum is there. */
static void
clone_ready(const Rotation *r, Build *b, Map *map)
{
    for (const Op *o = r->body->first; o; o = o->next)
        if (is_in(&r->spread, o) || o == r->scale)
            clone(b, o, map, NULL, false);
    for (const Op *o = r->body->first; o; o = o->next)
        if (is_in(&r->casts, o))
            clone(b, o, map, NULL, false);
}

static void
stands_for(const Rotation *r, Map *map, int i, Val *v)
{
    map_put(map, r->body->args[i + 1], 0, v);
}

static Val *
yielded(const Rotation *r, const Map *map, int i)
{
    return ir_mapped(map, arg(r->body->last, i));
}

/* The first iteration's first stage, in front of the loop. */
static void
build_begin(const Rotation *r, Build *b, Map *map)
{
    map_put(map, r->body->args[0], 0, arg(r->loop, 0));
    for (int i = 0; i < r->loop->n_results; i++)
        stands_for(r, map, i, arg(r->loop, i + 3));
    clone_first(r, b, map, NULL, true);
    clone_first(r, b, map, NULL, false);
    clone_ready(r, b, map);
}

static Op *
open_loop(const Rotation *r, Build *at, Val *count)
{
    const Type *i32 = ty_scalar(r->c, E_I32);
    Val *one = ir_const_int(at, i32, 1);
    Op *loop = ir_op(at, OP_FOR, 3, (Val *[]){one, count, one}, 0, NULL);
    memcpy(loop->attr, r->loop->attr, sizeof loop->attr);
    ir_set_attr(loop, ATTR_LOOP, ir_attr(r->loop, ATTR_LOOP) | LOOP_MMA_ROUND);
    ir_block_arg(ir_block(r->f, loop), i32, r->body->args[0]->name);
    return loop;
}

/* Carries what crosses from the first iteration's map into the loop: now and next are the maps
 * of the two iterations whose stages share one. */
static void
carry_all(const Rotation *r, Op *loop, const Map *begin, Map *now, Map *next)
{
    Val *sum = arg(r->second, 2), *p = arg(r->second, 0);
    map_put(now, sum, 0, ir_carry(loop, ir_mapped(begin, sum), sum->name));
    map_put(now, p, 0, ir_carry(loop, ir_mapped(begin, p), p->name));
    for (int i = 0; i < r->loop->n_results; i++) {
        const char *name = r->body->args[i + 1]->name;
        if (i == r->sum)
            continue;
        stands_for(r, next, i, ir_carry(loop, yielded(r, begin, i), name));
        if (r->wanted[i])
            stands_for(r, now, i, ir_carry(loop, arg(r->loop, i + 3), name));
    }
}

/* In the order of carry_all. */
static void
yield_all(const Rotation *r, Build *b, const Map *next)
{
    b->loc = r->body->last->loc;
    Op *yield = ir_op(b, OP_YIELD, 0, NULL, 0, NULL);
    ir_add_arg(yield, ir_mapped(next, arg(r->second, 2)));
    ir_add_arg(yield, ir_mapped(next, arg(r->second, 0)));
    for (int i = 0; i < r->loop->n_results; i++) {
        if (i == r->sum)
            continue;
        ir_add_arg(yield, yielded(r, next, i));
        if (r->wanted[i])
            ir_add_arg(yield, ir_mapped(next, r->body->args[i + 1]));
    }
}

static void
build_turned(const Rotation *r, Op *loop, const Map *begin)
{
    Map now = {.a = r->c->arena}, next = {.a = r->c->arena};
    carry_all(r, loop, begin, &now, &next);
    Block *body = loop->regions[0];
    Build b = {.f = r->f, .block = body, .loc = r->loop->loc};
    Val *t = body->args[0];
    Val *before = ir_bin(&b, OP_SUB, t, ir_const_int(&b, t->type, 1));
    map_put(&now, r->body->args[0], 0, original(r, &b, before));
    map_put(&next, r->body->args[0], 0, original(r, &b, t));
    clone_first(r, &b, &next, NULL, true);
    clone_second(r, &b, &now, NULL);
    clone_first(r, &b, &next, NULL, false);
    stands_for(r, &next, r->sum, ir_mapped(&now, result(r->second, 0)));
    clone_ready(r, &b, &next);
    yield_all(r, &b, &next);
}

/* The last iteration's second stage, behind the loop; yields what the old loop gave. */
static void
build_end(const Rotation *r, Build *b, Op *loop, Val *count)
{
    Map last = {.a = r->c->arena};
    Val **ends = NEW_N(r->c->arena, Val *, r->loop->n_results);
    Val *one = ir_const_int(b, count->type, 1);
    map_put(&last, r->body->args[0], 0, original(r, b, ir_bin(b, OP_SUB, count, one)));
    int k = 0;
    map_put(&last, arg(r->second, 2), 0, result(loop, k++));
    map_put(&last, arg(r->second, 0), 0, result(loop, k++));
    for (int i = 0; i < r->loop->n_results; i++) {
        if (i == r->sum)
            continue;
        ends[i] = result(loop, k++);
        if (r->wanted[i])
            stands_for(r, &last, i, result(loop, k++));
    }
    clone_second(r, b, &last, NULL);
    ends[r->sum] = ir_mapped(&last, result(r->second, 0));
    ir_op(b, OP_YIELD, r->loop->n_results, ends, 0, NULL);
}

/* Where loads need not run ahead by themselves, the first and the last iteration's stages stand
 * in front of the loop and behind it, where it runs at all. */
static void
build_whole(Rotation *r)
{
    Op *old = r->loop;
    int n = old->n_results;
    Build at = ir_before(old);
    Val *count = trips(r, &at),
        *runs = ir_bin(&at, OP_GT, count, ir_const_int(&at, count->type, 0));
    Op *either = ir_op(&at, OP_IF, 1, &runs, 0, NULL);
    for (int i = 0; i < n; i++)
        ir_add_result(either, result(old, i)->type);
    Build b = {.f = r->f, .block = ir_block(r->f, either), .loc = old->loc};
    Map begin = {.a = r->c->arena};
    build_begin(r, &b, &begin);
    Op *loop = open_loop(r, &b, count);
    build_turned(r, loop, &begin);
    build_end(r, &b, loop, count);
    b.block = ir_block(r->f, either);
    ir_op(&b, OP_YIELD, 0, NULL, 0, NULL);
    for (int i = 0; i < n; i++) {
        ir_add_arg(b.block->last, arg(old, i + 3));
        ir_replace(result(old, i), result(either, i));
    }
    ir_erase(old);
}

static void
rotate_all(Func *f, bool has_roles)
{
    EACH_OP_INSIDE_OUT(o, f->body) {
        if (o->op != OP_FOR)
            continue;
        Map none = {.a = f->c->arena};
        Rotation r = {.f = f,
                      .c = f->c,
                      .loop = o,
                      .body = o->regions[0],
                      .has_roles = has_roles,
                      .of_dot = none,
                      .late = none,
                      .spread = none,
                      .casts = none,
                      .first = none,
                      .early = none};
        if (find_rotation(&r)) {
            ir_report(f, r.second->loc, "dot",
                      "rotated: it runs beside the next iteration's first product");
            if (is_whole(&r))
                build_whole(&r);
            else
                build(&r);
            f->c->hopper.has_open = true;
        }
    }
}

void
pass_rotate(Func *f)
{
    HopperPlan plan = hopper_plan(f);
    if (plan.level >= 2 && !plan.is_forced && !f->c->hopper.no_open)
        rotate_all(f, !roles_refusal(f));
}
