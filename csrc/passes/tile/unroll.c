/* unroll: copy the bodies of loops that ask for it (tl.range(.., loop_unroll_factor=n)), and
 * of small ones for GPUs: all of a few trips, and two or four at a time where the body loads
 * so little that a thread would wait for memory most of the time.
 *
 *     for %i = %lb to %ub step 2 {unroll=4} (%a = %x) { A }
 *  =>
 *     %n = max(%ub, %lb) - %lb                          unsigned: it may exceed the signed half
 *     %mid = %lb + (%n - %n % 8)
 *     %y = for %i = %lb to %mid step 8 (%a = %x) { A(%i) A(%i + 2) A(%i + 4) A(%i + 6) }
 *     for %i = %mid to %ub step 2 (%a = %y) { A }        the rest, at most 3 times
 *
 * With constant bounds %mid is a constant, and fold drops a rest that never runs and inlines
 * a loop that runs once: that is what full unrolling is.
 *
 * Loops of the second kind have constant bounds, or bounds a constant apart as those of a group of heads, no loop or
 * dot inside and no hint of the user's. Their loads are on their way together then; a small `if` between them (Welford's
 * first step) is computed on both sides, since loads do not pass a branch. So is one of a few cheap ops outside of
 * loops, which gives a block: threads would hold all of the block at the branch, and a loss of 65536 bf16 by 32 warps
 * spilled. So may sums have any
 * bounds, where the launch has too few programs to fill memory's queue by one iteration each; the
 * rest keeps {unroll=1}, for which no assembler copies it.
 *
 * Rule 1: only a constant positive step; without one the hint is not taken. Nor is it where
 *         step * factor leaves the type, or the copies would be more than MAX_COPIES ops.
 */
#include "passes/passes.h"

enum {
    MAX_COPIES = 1 << 16,
    FEW_TRIPS = 4,
    FEW_OPS = 160,   /* of all copies */
    IN_FLIGHT = 64,  /* bytes of loads that a thread had better have on their way */
    SIMPLE_OPS = 24, /* of an `if` that is better computed on both sides */
    CHEAP_OPS = 8,   /* the same, outside of loops, where no load waits for it */
};

static int
count_ops(const Block *b)
{
    int n = 0;
    EACH_OP(o, b)
        n++;
    return n;
}

static bool
is_plain(const Block *b)
{
    EACH_OP(o, b)
        if (o->op == OP_FOR || o->op == OP_WHILE || o->op == OP_DOT)
            return false;
    return true;
}

/* What a thread loads in b, in bytes; 0 where b writes memory, which loads do not pass. */
static int64_t
bytes_loaded(const Func *f, const Block *b)
{
    int64_t sum = 0;
    for (const Op *o = b->first; o; o = o->next) {
        bool is_load = o->op == OP_LOAD || o->op == OP_MAP_LOAD;
        if (!op_has(o, OPF_PURE) && !is_load && o != b->last && o->op != OP_IF)
            return 0;
        if (is_load && result(o, 0)->type->rank) {
            const Type *t = result(o, 0)->type;
            sum += MAX(ty_numel(t) / (32 * f->team_warps), 1) * ty_bits(t) / 8;
        }
    }
    return sum;
}

/* Words that a thread carries from one iteration to the next. */
static int64_t
carried_words(const Op *o)
{
    int64_t sum = 0;
    for (int i = 0; i < o->n_results; i++) {
        const Type *t = result(o, i)->type;
        if (t->rank)
            sum += ty_numel(t) * ty_bits(t) / 32 / (32 * o->block->func->team_warps);
    }
    return sum;
}

static bool
only_adds(const Block *b)
{
    EACH_OP(o, b)
        if (op_has(o, OPF_CONTROL | OPF_SCRATCH) ||
            (op_has(o, OPF_ELEM) && o->n_results && result(o, 0)->type->rank &&
             gpu_element_cost(o) > 1))
            return o == b->last;
    return true;
}

/* Of a loop that only adds, and carries too much for the assembler to unroll it: as many as fill memory's queue
 * where the launch has few programs. Sums down columns of bf16 by 64x64 and 8 warps had 8 KB on their way. Who carries
 * more than a word for each byte computes longer than it loads: counts of 16 bins took 403 us for 35. */
static int
copies_in_flight(const Op *o)
{
    enum { MANY_CARRIED = 16, MOST = 4, MOST_BYTES = 256 };
    const Block *b = o->regions[0];
    int64_t bytes = bytes_loaded(b->func, b), carried = carried_words(o), step;
    if (carried < MANY_CARRIED || carried > bytes || !is_plain(b) || !only_adds(b) ||
        !ir_const_as_int(arg(o, 2), &step) || step <= 0)
        return 0;
    int64_t needed = bytes_in_flight(chip_of(b->func->c->opt.target.sm)) * 3 / 4,
            each = bytes * 32 * b->func->team_warps; /* of a multiprocessor */
    unsigned fact = GRID_FEW;
    for (; each < needed && !hopper_grid_is(b->func, fact); each *= 2) {
        if (fact == GRID_16)
            return 0;
        fact = fact == GRID_FEW ? GRID_2 : fact << 1;
    }
    int k = 1;
    while (k < MOST && 2 * k * bytes <= MOST_BYTES && k * each < needed)
        k *= 2;
    return k > 1 && k * count_ops(b) <= FEW_OPS ? k : 0;
}

/* to - from, where that is a constant. */
static bool
distance(const Val *from, const Val *to, int64_t *d)
{
    AffineWraps none = {.n = MAX_WRAPS}; /* no remainders */
    Affine x, y;
    if (!affine_deep(from, &x, &none) || !affine_deep(to, &y, &none) ||
        !affine_is_beside(&x, &y))
        return false;
    *d = y.base.c - x.base.c;
    return true;
}

/* From lb to lb + a constant, or to the end of a row if that is less: so many trips at most; 0: not known. */
static int64_t
most_trips(const Op *o, int64_t step)
{
    const Val *lb = arg(o, 0), *ub = arg(o, 1);
    bool is_least = ub->def && ub->def->op == OP_MIN;
    int64_t d;
    for (int i = 0; i < (is_least ? 2 : 1); i++)
        if (distance(lb, is_least ? arg(ub->def, i) : ub, &d) && d > 0)
            return (d + step - 1) / step;
    return 0;
}

/* All trips of a loop of few, whose number is not known. */
static int
copies_of_few(const Op *o)
{
    const Block *b = o->regions[0];
    int64_t step;
    if (!ir_const_as_int(arg(o, 2), &step) || step <= 0 || !is_plain(b))
        return 0;
    int64_t n = most_trips(o, step);
    return n > 1 && n <= FEW_TRIPS && n * count_ops(b) <= FEW_OPS ? (int)n : 0;
}

/* How many copies of a body are better than one though nobody asks; 0: none. */
static int
wanted_copies(const Op *o)
{
    int64_t lb, ub, step;
    if (ir_attr(o, ATTR_STAGES))
        return 0;
    if (!ir_const_as_int(arg(o, 0), &lb) || !ir_const_as_int(arg(o, 1), &ub)) {
        int few = copies_of_few(o);
        return few ? few : copies_in_flight(o);
    }
    if (!ir_const_as_int(arg(o, 2), &step) || step <= 0 || ub <= lb)
        return 0;
    uint64_t way = (uint64_t)ub - (uint64_t)lb - 1, n = way / (uint64_t)step + 1;
    const Block *b = o->regions[0];
    if (!is_plain(b))
        return 0;
    int ops = count_ops(b);
    if (n <= FEW_TRIPS)
        return (int)n * ops <= FEW_OPS ? (int)n : 0;
    int64_t bytes = bytes_loaded(b->func, b);
    for (int k = 4; bytes && k > 1; k /= 2)
        if (n % (uint64_t)k == 0 && k * bytes <= IN_FLIGHT && k * ops <= FEW_OPS)
            return k;
    return 0;
}

static bool
is_simple(const Block *b)
{
    for (const Op *o = b->first; o && o != b->last; o = o->next) {
        bool moves = op_has(o, OPF_ELEM | OPF_VIEW) || o->op == OP_CONST ||
                     o->op == OP_SPLAT || o->op == OP_BROADCAST;
        bool may_trap = op_has(o, OPF_SLOW | OPF_HEAVY) &&
                        !elem_is_float(result(o, 0)->type->elem);
        if (!op_has(o, OPF_PURE) || !moves || may_trap || o->n_regions)
            return false;
    }
    return true;
}

/* if %c { x } else { y } => select %c, x, y: loads of the next copy do not wait for it. */
static void
flatten(Op *o)
{
    if (o->n_regions != 2 || !o->n_results || !is_simple(o->regions[0]) ||
        !is_simple(o->regions[1]) ||
        count_ops(o->regions[0]) + count_ops(o->regions[1]) > SIMPLE_OPS)
        return;
    for (int r = 0; r < 2; r++)
        for (Op *p = o->regions[r]->first, *next; p != o->regions[r]->last; p = next) {
            next = p->next;
            ir_move_before(p, o);
        }
    Build b = ir_before(o);
    for (int i = 0; i < o->n_results; i++) {
        const Type *t = result(o, i)->type;
        Val *c = t->rank ? ir_splat(&b, arg(o, 0), t->rank, t->shape) : arg(o, 0);
        Val *x = arg(o->regions[0]->last, i), *y = arg(o->regions[1]->last, i);
        ir_replace(result(o, i), ir_select(&b, c, x, y));
    }
    ir_erase(o);
}

static void
flatten_all(Block *b)
{
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        if (o->op == OP_IF)
            flatten(o);
    }
}

static int64_t
largest(const Type *t)
{
    int bits = elem_info[t->elem].bits - elem_is_signed(t->elem);
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

/* The largest bound that whole groups of `span` values reach from lb. */
static Val *
middle(Build *b, Val *lb, Val *ub, int64_t span)
{
    static const Elem unsigned_of[N_ELEM] = {
        [E_I8] = E_U8,
        [E_I16] = E_U16,
        [E_I32] = E_U32,
        [E_I64] = E_U64,
    };
    const Type *t = lb->type;
    int64_t c_lb, c_ub;
    if (ir_const_as_int(lb, &c_lb) && ir_const_as_int(ub, &c_ub) &&
        (elem_is_signed(t->elem) || (c_lb >= 0 && c_ub >= 0))) {
        uint64_t n = c_ub > c_lb ? (uint64_t)c_ub - (uint64_t)c_lb : 0;
        return ir_const_int(b, t, (int64_t)((uint64_t)c_lb + (n - n % (uint64_t)span)));
    }
    Elem u = elem_is_signed(t->elem) ? unsigned_of[t->elem] : t->elem;
    const Type *ut = ty_scalar(b->f->c, u);
    Val *n = ir_bin(b, OP_SUB, ir_bin(b, OP_MAX, ub, lb), lb);
    n = ir_bitcast(b, n, ut);
    n = ir_bin(b, OP_SUB, n, ir_bin(b, OP_REM, n, ir_const_int(b, ut, span)));
    return ir_bin(b, OP_ADD, lb, ir_bitcast(b, n, t));
}

/* A `for` like o from lb to ub by span, with an empty body. */
static Op *
empty_like(Build *b, const Op *o, Val *ub, int64_t span)
{
    Arena *a = b->f->c->arena;
    Val **args = NEW_N(a, Val *, o->n_args);
    const Type **types = NEW_N(a, const Type *, MAX(o->n_results, 1));
    for (int i = 0; i < o->n_args; i++)
        args[i] = arg(o, i);
    for (int i = 0; i < o->n_results; i++)
        types[i] = result(o, i)->type;
    args[1] = ub;
    args[2] = ir_const_int(b, arg(o, 2)->type, span);
    Op *n = ir_op(b, OP_FOR, o->n_args, args, o->n_results, types);
    memcpy(n->attr, o->attr, sizeof n->attr);
    ir_set_attr(n, ATTR_UNROLL, 0);
    const Block *from = o->regions[0];
    Block *to = ir_block(b->f, n);
    for (int i = 0; i < from->n_args; i++)
        ir_block_arg(to, from->args[i]->type, from->args[i]->name);
    return n;
}

/* k copies of o's body into the body of n, each fed by the one before. */
static void
copy_bodies(Op *n, const Op *o, int k, int64_t step)
{
    const Block *from = o->regions[0];
    Block *to = n->regions[0];
    Arena *a = to->func->c->arena;
    Build b = {.f = to->func, .block = to, .loc = o->loc};
    Map map = {.a = a};
    Val *iv = to->args[0], **carried = NEW_N(a, Val *, from->n_args);
    for (int i = 1; i < from->n_args; i++)
        carried[i] = to->args[i];
    for (int j = 0; j < k; j++) {
        Val *at = j ? ir_bin(&b, OP_ADD, iv, ir_const_int(&b, iv->type, j * step)) : iv;
        map_put(&map, from->args[0], 0, at);
        for (int i = 1; i < from->n_args; i++)
            map_put(&map, from->args[i], 0, carried[i]);
        for (const Op *p = from->first; p != from->last; p = p->next)
            ir_clone(&b, p, &map);
        for (int i = 1; i < from->n_args; i++) {
            Val *yielded = arg(from->last, i - 1), *copy = map_get(&map, yielded, 0);
            carried[i] = copy ? copy : yielded;
        }
    }
    ir_clone(&b, from->last, &map);
}

static void
unroll(Op *o)
{
    int64_t k = ir_attr(o, ATTR_UNROLL), step;
    ir_set_attr(o, ATTR_UNROLL, 0);
    const Type *t = arg(o, 0)->type;
    if (k < 2 || !ir_const_as_int(arg(o, 2), &step) || step <= 0 ||
        k > MAX_COPIES / count_ops(o->regions[0]) || step > largest(t) / k)
        return;
    Build b = {.f = o->block->func, .before = o, .loc = o->loc};
    Val *mid = middle(&b, arg(o, 0), arg(o, 1), step * k);
    Op *n = empty_like(&b, o, mid, step * k);
    copy_bodies(n, o, (int)k, step);
    ir_set_arg(o, 0, mid);
    for (int i = 0; i < o->n_results; i++)
        ir_set_arg(o, 3 + i, result(n, i));
}

/* Outside of loops: does o give blocks that take a few cheap ops? */
static bool
is_cheap_choice(const Op *o)
{
    int n = 0, n_blocks = 0;
    if (o->block->owner)
        return false;
    for (int i = 0; i < o->n_results; i++)
        n_blocks += result(o, i)->type->rank > 0;
    EACH_OP(p, (Block *)o->regions[0])
        n += gpu_element_cost(p);
    if (o->n_regions > 1)
        EACH_OP(p, (Block *)o->regions[1])
            n += gpu_element_cost(p);
    return n_blocks && n <= CHEAP_OPS;
}

static void
unroll_loop(Op *o, bool is_gpu)
{
    int64_t ub;
    int n = is_gpu && !ir_attr(o, ATTR_UNROLL) ? wanted_copies(o) : 0;
    if (n > 1) {
        flatten_all(o->regions[0]);
        ir_set_attr(o, ATTR_UNROLL, n);
    }
    if (ir_attr(o, ATTR_UNROLL))
        unroll(o);
    if (n > 1 && !ir_const_as_int(arg(o, 1), &ub))
        ir_set_attr(o, ATTR_UNROLL, 1); /* the rest stays rolled */
}

void
pass_unroll(Func *f)
{
    bool is_gpu = f->c->opt.target.kind != TARGET_CPU;
    EACH_OP_INSIDE_OUT(o, f->body)
        if (o->op == OP_IF && is_gpu && is_cheap_choice(o))
            flatten(o);
        else if (o->op == OP_FOR)
            unroll_loop(o, is_gpu);
}
