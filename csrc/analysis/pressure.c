/* pressure: about how many 32-bit registers blocks take from a thread, how much code they
 * are, and what an element costs.
 *
 * Of a loop: only what lives from one iteration to the next or is the work itself:
 * carried blocks, results of dots that go through other ops first, operands of dots that
 * come from outside. Addresses, fragments on their way and temporaries come on top: some
 * forty.
 *
 * Of the function: the most words that live at one time, by the places of definitions and
 * last uses. What is made anew where it is needed takes none: index arithmetic (in the
 * addresses), other shapes and fillings of the same registers, slots of shared memory.
 *
 * Of products alone, before there are layouts: what they gave, what is computed of that element by
 * element, and what becomes the left operand of another. A sum has its accumulator's words.
 *
 * As scheduled: the assembler computes a chain of elementwise ops piece by piece, so that a
 * register of each is alive, and all of what the chain is made of:
 *
 *     %x = load .. : bf16[4096]        16 words of 128 threads
 *     %y = cast %x : f32[4096]         1
 *     %z = exp %y                      1
 *     store %p, %z
 *
 * unless an op that takes all of a block at once (a reduction, a loop) stands between the value
 * and one of its users.
 */
#include "analysis/analysis.h"

int
element_cost(const Op *o)
{
    return op_has(o, OPF_HEAVY) ? COST_HEAVY : op_has(o, OPF_SLOW) ? COST_SLOW : 1;
}

/* Of f32 these are an instruction or two of the special function unit and what scales it. */
int
gpu_element_cost(const Op *o)
{
    enum { COST_SPECIAL = 4 };
    bool is_f32 = o->n_results && result(o, 0)->type->elem == E_F32;
    return is_f32 && op_has(o, OPF_SPECIAL) ? COST_SPECIAL : element_cost(o);
}

static int
words(const Val *v)
{
    const Type *t = v->type;
    if (!t->rank || !t->layout || t->is_ptr || t->slots)
        return 0;
    return MAX((ty_bits(t) << t->layout->n[IN_REG]) / 32, 1);
}

/* Of what is loaded: elements of 1 and 2 bytes whose neighbours other lanes have come one by one, each into a
 * register. */
static int
loaded_into(const Val *v)
{
    const Layout *l = v->type->layout;
    int n = words(v);
    bool is_single = n && v->def->op == OP_LOAD && l->n[IN_LANE] &&
                     l->basis[IN_LANE][0] == 1;
    return is_single ? MAX(n, 1 << l->n[IN_REG]) : n;
}

static bool
is_carried_on(const Val *v, const Block *body)
{
    for (const Use *u = v->uses; u; u = u->next)
        if (u->user == body->last)
            return true;
    return false;
}

int
loop_pressure(const Op *loop)
{
    const Block *b = loop->regions[0];
    int sum = 0;
    for (int i = 1; i < b->n_args; i++)
        sum += words(b->args[i]);
    for (const Op *o = b->first; o; o = o->next) {
        if (o->op != OP_DOT)
            continue;
        sum += is_carried_on(result(o, 0), b) ? 0 : words(result(o, 0));
        for (int i = 0; i < 2; i++)
            sum += is_defined_outside(arg(o, i), b) ? words(arg(o, i)) : 0;
    }
    return sum;
}

/* ---- the whole function ------------------------------------------------------------- */

enum { IN_TEXT = 1, OF_SUMS = 2, LOADS_TOO = 4 };
enum { SUM_BUDGET = 256 }; /* ops looked at to see that a value is of a product */

/* Places count the ops of the text; control flow has one at its beginning and its end. */
typedef struct Lives {
    const Func *f;
    int *from;        /* by id of a value: the place of its definition */
    int *until;       /* by id: the last place where it is used; -1: none */
    bool *is_free;    /* by id: takes no registers of its own */
    bool *is_sum;     /* by id: of products, the only ones that count; NULL: all do */
    bool is_text;     /* ops run in the order of the text, not of the assembler */
    bool is_least;    /* loads are pieces, too */
    int *cuts;        /* by id: ops in front of the value that take all of a block */
    bool *is_whole;   /* by id: such an op stands in front of one of its users, too */
    int *piecewise;   /* by id: until when pieces of it may have to be computed */
    const Op *around; /* the loop that is asked for; NULL: none */
    int begin, end;   /* its places */
    int n_cuts, place;
} Lives;

/* Is the result made of its operand's registers, or of none that live long? */
static bool
is_view(const Op *o)
{
    return op_has(o, OPF_FREE) || o->op == OP_HINT ||
           (o->op == OP_JOIN && arg(o, 0) == arg(o, 1));
}

static bool
is_index(const Lives *l, const Op *o)
{
    if (!op_has(o, OPF_PURE) || !op_has(o, OPF_ELEM))
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->type->rank && !l->is_free[arg(o, i)->id])
            return false;
    return true;
}

/* v is used at `place`; so is what v is only a view of. */
static void
used(Lives *l, const Val *v, int place)
{
    for (; v; v = v->def && is_view(v->def) && v->def->n_args ? arg(v->def, 0) : NULL) {
        l->until[v->id] = MAX(l->until[v->id], place);
        l->is_whole[v->id] |= l->n_cuts > l->cuts[v->id];
    }
}

/* What the block uses from before `start` lives until the loop around it ends. */
static void
keep_alive(Lives *l, const Block *b, int start, int end)
{
    EACH_OP(o, b)
        for (int i = 0; i < o->n_args; i++)
            if (l->from[arg(o, i)->id] < start)
                used(l, arg(o, i), end);
}

/* Is a result of o a product's, or computed of one in its place? */
static bool
gives_sums(const Lives *l, const Op *o)
{
    bool any = false;
    for (int i = 0; i < o->n_args && op_has(o, OPF_ELEM); i++)
        any |= l->is_sum[arg(o, i)->id];
    return any || o->op == OP_DOT;
}

static void
defined(Lives *l, const Op *o, int place)
{
    bool is_free = is_view(o) || is_index(l, o);
    for (int i = 0; i < o->n_results; i++) {
        l->from[result(o, i)->id] = place;
        l->cuts[result(o, i)->id] = l->n_cuts;
        l->is_free[result(o, i)->id] = is_free;
        if (l->is_sum)
            l->is_sum[result(o, i)->id] |= gives_sums(l, o);
    }
}

/* What a loop's iteration hands on is of products if it is computed of one. */
static void
note_carried_sums(const Lives *l, const Op *loop)
{
    const Block *body = loop->regions[0];
    for (int i = 0; l->is_sum && loop->op == OP_FOR && i < loop->n_results; i++) {
        int budget = SUM_BUDGET;
        if (comes_from_dot(arg(body->last, i), &budget))
            l->is_sum[result(loop, i)->id] = l->is_sum[body->args[i + 1]->id] = true;
    }
}

/* A product adds to its accumulator in place, and reads its right operand in shared memory. */
static bool
is_wanted_during(const Lives *l, const Op *o, int i)
{
    return !op_has(o, OPF_ELEM) && !(l->is_sum && o->op == OP_DOT && i > 0);
}

static void
live_block(Lives *l, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        int start = l->place++;
        for (int i = 0; i < o->n_args; i++) { /* a scan needs all of both at once */
            const Val *v = arg(o, i);
            if (o->op == OP_SCAN && v->def && !is_view(v->def)) /* indices, too */
                l->is_free[v->id] = false;
            used(l, v, start + is_wanted_during(l, o, i));
        }
        if (!op_has(o, OPF_CONTROL)) {
            l->place++;
            l->n_cuts += op_has(o, OPF_SCRATCH);
            defined(l, o, start);
            continue;
        }
        l->n_cuts++;
        note_carried_sums(l, o);
        for (int r = 0; r < o->n_regions; r++) {
            for (int i = 0; i < o->regions[r]->n_args; i++) {
                l->from[o->regions[r]->args[i]->id] = start;
                l->cuts[o->regions[r]->args[i]->id] = l->n_cuts;
            }
            live_block(l, o->regions[r]);
        }
        int end = l->place++;
        l->n_cuts++;
        if (o == l->around)
            l->begin = start, l->end = end;
        for (int r = 0; r < o->n_regions && o->op != OP_IF; r++)
            keep_alive(l, o->regions[r], start, end);
        defined(l, o, end);
    }
}

static bool
is_piecewise(const Lives *l, const Val *v)
{
    return !l->is_text && v->def && !l->is_whole[v->id] && !l->is_free[v->id] &&
           (op_has(v->def, OPF_ELEM) || (l->is_least && v->def->op == OP_LOAD));
}

/* What pieces are made of lives until the last of them is computed. */
static void
stretch(Lives *l, const Block *b)
{
    for (const Op *o = b->last; o; o = o->prev) {
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            stretch(l, o->regions[r]);
        if (o->n_results != 1 || !is_piecewise(l, result(o, 0)))
            continue;
        int id = result(o, 0)->id, place = MAX(l->piecewise[id], l->until[id]);
        for (int i = 0; i < o->n_args; i++) {
            int *until = is_piecewise(l, arg(o, i)) ? l->piecewise : l->until;
            until[arg(o, i)->id] = MAX(until[arg(o, i)->id], place);
        }
    }
}

/* Of a product's sum, which has no layout yet. */
static int
sum_words(const Func *f, const Val *v)
{
    int64_t bits = ty_numel(v->type) * ty_bits(v->type);
    return (int)(bits / (32 * 32 * f->team_warps));
}

/* Adds v's words to where its life begins and takes them away where it ends. */
static void
note_life(const Lives *l, const Val *v, int64_t *change)
{
    if (l->is_free[v->id] || l->until[v->id] < 0)
        return;
    int n = l->is_sum               ? (l->is_sum[v->id] ? sum_words(l->f, v) : 0)
            : is_piecewise(l, v)    ? 1
            : l->is_text || !v->def ? words(v)
                                    : loaded_into(v);
    change[l->from[v->id]] += n;
    change[MAX(l->until[v->id], l->from[v->id] + 1)] -= n;
}

static int64_t
live_words(const Func *f, const Op *loop, unsigned how)
{
    Arena *a = f->c->arena;
    int n = 0;
    EACH_OP(o, f->body)
        n += 2;
    Lives l = {.f = f,
               .is_text = how & IN_TEXT,
               .is_least = how & LOADS_TOO,
               .is_sum = how & OF_SUMS ? NEW_N(a, bool, f->n_vals) : NULL,
               .around = loop,
               .end = n + 1,
               .from = NEW_N(a, int, f->n_vals),
               .until = NEW_N(a, int, f->n_vals),
               .is_free = NEW_N(a, bool, f->n_vals),
               .cuts = NEW_N(a, int, f->n_vals),
               .is_whole = NEW_N(a, bool, f->n_vals),
               .piecewise = NEW_N(a, int, f->n_vals)};
    for (int i = 0; i < f->n_vals; i++)
        l.until[i] = -1;
    live_block(&l, f->body);
    stretch(&l, f->body);
    int64_t *change = NEW_N(a, int64_t, n + 2), now = 0, most = 0;
    EACH_CONTROL_VAL(v, f->body)
        note_life(&l, v, change);
    for (int i = 0; i < n + 2; i++) {
        now += change[i];
        if (i >= l.begin && i <= l.end)
            most = MAX(most, now);
    }
    return most;
}

int64_t
most_live_words(const Func *f)
{
    return live_words(f, NULL, IN_TEXT);
}

int64_t
scheduled_words(const Func *f, const Op *loop)
{
    return live_words(f, loop, 0);
}

int64_t
least_words(const Func *f)
{
    return live_words(f, NULL, LOADS_TOO);
}

int64_t
most_sum_words(const Func *f)
{
    return live_words(f, NULL, IN_TEXT | OF_SUMS);
}

int64_t
bytes_in_flight(const Chip *chip)
{
    enum { LATENCY = 900 }; /* ns that a load takes: an H200 was fastest with 32 KB */
    return (int64_t)chip->gbs * LATENCY;
}

int64_t
loaded_words(const Block *b, int64_t *bytes)
{
    int64_t sum = *bytes = 0;
    EACH_OP(o, b)
        if (o->op == OP_LOAD) {
            sum += loaded_into(result(o, 0));
            *bytes += 4 * words(result(o, 0));
        }
    return sum;
}

static int
n_sides(const Type *t)
{
    int n = 0;
    for (int i = 0; i < t->rank; i++)
        n += t->shape[i] > 1;
    return n;
}

int64_t
access_words(const Block *b)
{
    enum { SOME = 6, POINTER = 2, ROWS = 5 };
    int64_t sum = SOME;
    bool has_rows = false;
    EACH_OP(o, b) {
        if (!op_has(o, OPF_READS) && !op_has(o, OPF_WRITES))
            continue;
        sum += POINTER;
        has_rows |= o->n_args && n_sides(arg(o, 0)->type) > 1;
    }
    return sum + has_rows * ROWS;
}

/* ---- how much code ------------------------------------------------------------------- */

static int64_t
registers(const Val *v)
{
    const Type *t = v->type;
    return t->rank && t->layout && !t->slots ? (int64_t)1 << t->layout->n[IN_REG] : 1;
}

static int64_t
dot_steps(Func *f, const Op *o)
{
    DotPlan p;
    dot_plan(f, o, &p);
    const Type *a = arg(o, 0)->type;
    int64_t k = a->shape[a->rank - 1], regs = registers(result(o, 0));
    if (!p.is_mma)
        return regs * MIN(k, 16); /* then it is a loop */
    return MAX(regs / 4, 1) * MAX(k / mma_shape[p.kind].k, 1) * p.n_terms;
}

int64_t
code_size(Func *f, const Block *b, int most)
{
    int64_t sum = 0;
    EACH_CONTROL_OP(o, b) {
        int64_t regs = 1, each = 1;
        for (int i = 0; i < o->n_args; i++)
            regs = MAX(regs, registers(arg(o, i)));
        for (int i = 0; i < o->n_results; i++)
            regs = MAX(regs, registers(result(o, i)));
        regs = MIN(regs, most);
        if (o->op == OP_DOT)
            regs += dot_steps(f, o);
        if (o->n_regions && !op_has(o, OPF_CONTROL))
            each = code_size(f, o->regions[0], most);
        sum += regs * each;
    }
    return sum;
}
