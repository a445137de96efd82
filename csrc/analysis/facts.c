/* facts: contiguity, divisibility, constancy and ranges, on demand.
 *
 *     facts_access_log2(load)
 *         RUN  %ptrs  along 1?          -> 2^7, from arange
 *         DIV  %ptrs  at multiples of 4, up to 16 bytes?
 *              index first: 1000 * row + arange  -> asks stride % 8: yes
 *              then the pointer                  -> asks x % 16: yes
 *         CON  %mask  along 1, up to 4? -> offs < n: asks n % 4
 *
 * A question is (kind, value, dim, run); its answer is remembered. `want` bounds what an
 * answer is good for, so that a launch argument is asked only about the alignment somebody
 * uses: a float kernel that can load four at a time asks n % 4, never n % 16, and has one
 * variant for n = 1004 and n = 1024. DIV speaks of "the elements at multiples of 1 << run
 * along dim", which needs no case for products of runs: with run 0 it is every element.
 *
 * Loops. A loop-carried value is what enters or what comes round. Its answer is first
 * assumed to be that of the initial value; all assumptions are then checked against what
 * comes round, lowered where they fail, and checked again until they hold together. What
 * holds before the first iteration and is kept by each is true of all.
 *
 *     ASSUMED    a carried value's answer while it is being sought
 *     TENTATIVE  computed from assumptions; void once one of them has changed (epoch)
 *     FINAL      true
 *
 * Two assumptions about kernels are made here and nowhere else (rules.c cites them):
 *   A. index arithmetic that reaches a pointer does not wrap: the halves of a run would lie
 *      2^32 elements apart, and a sum of what is not negative would be negative;
 *   B. what divides in the making of a dividend, and is computed, is no negative number.
 * Ranges make neither: they are exact, wrapping included. Other signs are not assumed: the
 * dividend of / and % that cuts runs is not negative by its sums, and a launch is asked for the
 * signs of the parameters among them (FACT_GE0).
 */
#include "analysis/facts_impl.h"
#include <limits.h>

/* How deep questions may nest before the answer is "nothing known". Asking about accesses
 * in program order keeps even long unrolled chains shallow: each finds the last one's. */
enum { MAX_DEPTH = 400, MAX_ROUNDS = 8 };

typedef enum State { TENTATIVE, ASSUMED, FINAL } State;

struct Entry {
    const Val *v;
    Answer answer;
    unsigned epoch;
    uint8_t kind, dim, run, want;
    uint8_t state; /* State */
};

int
fact_log2(int64_t n)
{
    int k = 0;
    while (((int64_t)2 << k) <= n && k < 62)
        k++;
    return k;
}

int
fact_trailing_zeros(uint64_t n)
{
    int k = 0;
    while (k < MAX_LOG2 && !(n >> k & 1))
        k++;
    return k;
}

/* ---- where values come from across regions -------------------------------------------- */

/* The value that v always equals: results of loops and the second region of while. */
const Val *
fact_same_as(const Val *v)
{
    for (;;) {
        const Op *o = v->def ? v->def : v->block->owner;
        if (!o)
            return v;
        if (v->def && o->op == OP_FOR)
            v = o->regions[0]->args[v->index + 1];
        else if (o->op == OP_WHILE && (v->def || v->block == o->regions[1]))
            v = fact_yielded(o, 0, v->index + 1);
        else
            return v;
    }
}

/* Is v carried round a loop? Then what it is at first and what comes round. */
static bool
is_carried(const Val *v, const Val **init, const Val **back)
{
    const Op *o = v->def ? NULL : v->block->owner;
    if (!o)
        return false;
    if (o->op == OP_FOR && v->index > 0) {
        *init = arg(o, 2 + v->index);
        *back = fact_yielded(o, 0, v->index - 1);
        return true;
    }
    if (o->op == OP_WHILE && v->block == o->regions[0]) {
        *init = arg(o, v->index);
        *back = fact_yielded(o, 1, v->index);
        return true;
    }
    return false;
}

/* ---- the lattice ------------------------------------------------------------------------ */

static Answer
bottom(FactKind kind, const Val *v)
{
    return kind == ASK_RANGE ? range_of_type(v->type) : (Answer){0, 0};
}

/* Weakens *a so that it covers b as well. A range that grows once goes all the way: a
 * counter would climb to its limit in steps of one. */
static bool
weaken(const Entry *e, Answer *a, Answer b)
{
    Answer old = *a;
    if (e->kind == ASK_RANGE) {
        Answer all = range_of_type(e->v->type);
        if (b.lo < a->lo)
            a->lo = all.lo;
        if (b.hi > a->hi)
            a->hi = all.hi;
        return a->lo != old.lo || a->hi != old.hi;
    }
    a->lo = MIN(a->lo, b.lo);
    return a->lo != old.lo;
}

static Answer
apply_rule(FactTable *t, FactKind kind, const Val *v, int dim, int run, int want)
{
    switch (kind) {
    case ASK_RUN: return (Answer){rule_run(t, v, dim, want), 0};
    case ASK_CON: return (Answer){rule_con(t, v, dim, want), 0};
    case ASK_DIV: return (Answer){rule_div(t, v, dim, run, want), 0};
    case ASK_RANGE: return rule_range(t, v);
    }
    unreachable(t->f->c);
}

/* ---- memo -------------------------------------------------------------------------------- */

static uint64_t
pack(FactKind kind, const Val *v, int dim, int run)
{
    return (uint64_t)(uint32_t)v->id << 16 | (uint64_t)kind << 12 | (uint64_t)dim << 8 |
           (uint64_t)run;
}

static bool
is_usable(const FactTable *t, const Entry *e, int want)
{
    if (e->state == ASSUMED)
        return true;
    if (e->state == TENTATIVE && e->epoch != t->epoch)
        return false;
    /* Exact, or proven as far as is wanted now. */
    return e->kind == ASK_RANGE || e->answer.lo < e->want || e->want >= want;
}

static void
settle(FactTable *t, Entry *e, Answer a, int want)
{
    e->answer = a;
    e->want = (uint8_t)want;
    e->state = FINAL;
    if (t->assumed.n) {
        e->state = TENTATIVE;
        e->epoch = t->epoch;
        PUSH(t->f->c->arena, &t->trail, e);
    }
}

/* ---- loops -------------------------------------------------------------------------------- */

/* Checks every assumption, new ones that turn up meanwhile included; false when one fell. */
static bool
check_assumptions(FactTable *t, bool give_up)
{
    bool held = true;
    t->epoch++;
    t->trail.n = 0;
    for (int i = 0; i < t->assumed.n; i++) {
        Entry *e = t->assumed.at[i];
        const Val *init, *back;
        is_carried(e->v, &init, &back);
        Answer a = e->answer;
        bool fell = weaken(e, &a, fact_ask(t, e->kind, init, e->dim, e->run, e->want));
        if (weaken(e, &a, fact_ask(t, e->kind, back, e->dim, e->run, e->want)))
            fell = true;
        if (fell) {
            e->answer = give_up ? bottom(e->kind, e->v) : a;
            held = false;
        }
    }
    return held;
}

static Answer
ask_carried(FactTable *t, Entry *e, const Val *init, int want)
{
    Answer a = fact_ask(t, e->kind, init, e->dim, e->run, want);
    if (e->state != TENTATIVE) /* the initial value led back here: an outer loop */
        return e->answer;
    if (e->kind != ASK_RANGE && a.lo == 0) {
        settle(t, e, a, want);
        return a;
    }
    bool is_first = t->assumed.n == 0;
    e->answer = a;
    e->want = (uint8_t)want;
    e->state = ASSUMED;
    PUSH(t->f->c->arena, &t->assumed, e);
    if (!is_first)
        return a; /* the first one's rounds will check it */
    for (int round = 0; !check_assumptions(t, round >= MAX_ROUNDS); round++)
        ;
    for (int i = 0; i < t->trail.n; i++)
        t->trail.at[i]->state = FINAL;
    for (int i = 0; i < t->assumed.n; i++)
        t->assumed.at[i]->state = FINAL;
    t->trail.n = t->assumed.n = 0;
    return e->answer;
}

/* ---- asking -------------------------------------------------------------------------------- */

Answer
fact_ask(FactTable *t, FactKind kind, const Val *v, int dim, int run, int want)
{
    t->n_asked++;
    v = fact_same_as(v);
    int rank = v->type->rank;
    if (rank == 0 && kind == ASK_RUN)
        return (Answer){0, 0};
    if (rank == 0 && kind == ASK_CON)
        return (Answer){MAX_LOG2, 0};
    if (kind == ASK_DIV && run == 0)
        dim = 0; /* every element: the dim says nothing */
    if (kind == ASK_RANGE || rank == 0)
        dim = run = 0;
    want = MIN(want, MAX_LOG2);
    if (kind == ASK_CON || kind == ASK_RUN)
        want = MIN(want, fact_log2(v->type->shape[dim]));
    if (want <= 0 && kind != ASK_RANGE)
        return (Answer){0, 0};

    uint64_t key = pack(kind, v, dim, run);
    Entry *e = map_get(&t->memo, &key, sizeof key);
    if (e && is_usable(t, e, want)) {
        Answer a = e->answer;
        if (kind != ASK_RANGE)
            a.lo = MIN(a.lo, want);
        return a;
    }
    if (t->depth >= MAX_DEPTH)
        return bottom(kind, v);
    if (!e) {
        e = NEW(t->f->c->arena, Entry);
        *e = (Entry){.v = v, .kind = kind, .dim = (uint8_t)dim, .run = (uint8_t)run};
        map_put(&t->memo, &key, sizeof key, e);
    }
    e->state = TENTATIVE;
    e->epoch = 0; /* of no epoch: not usable yet */
    t->depth++;
    const Val *init, *back;
    Answer a;
    if (is_carried(v, &init, &back)) {
        a = ask_carried(t, e, init, want);
    } else {
        a = apply_rule(t, kind, v, dim, run, want);
        settle(t, e, a, want);
    }
    t->depth--;
    return a;
}

FactTable *
facts_new(Func *f)
{
    FactTable *t = NEW(f->c->arena, FactTable);
    t->f = f;
    t->memo.a = t->whole.a = f->c->arena;
    t->epoch = 1;
    t->max_hint = MAX_LOG2;
    return t;
}

void
facts_ask_16(FactTable *t)
{
    t->asks_16 = true;
}

void
facts_trust_hints(FactTable *t, int log2_run)
{
    t->max_hint = log2_run;
}

int
facts_contiguity(FactTable *t, const Val *v, int dim, int want)
{
    return fact_run(t, v, dim, want);
}

int
facts_constancy(FactTable *t, const Val *v, int dim, int want)
{
    return (int)fact_ask(t, ASK_CON, v, dim, 0, want).lo;
}

int
facts_divisibility(FactTable *t, const Val *v, int want)
{
    return fact_div(t, v, 0, 0, want);
}

void
facts_range(FactTable *t, const Val *v, int64_t *lo, int64_t *hi)
{
    Answer a = {INT64_MIN, INT64_MAX};
    if (!v->type->is_ptr && elem_is_int(v->type->elem))
        a = fact_ask(t, ASK_RANGE, v, 0, 0, MAX_LOG2);
    *lo = a.lo;
    *hi = a.hi;
}

const Facts *
facts_of(FactTable *t, const Val *v)
{
    Facts *f = map_get(&t->whole, v, 0);
    if (f)
        return f;
    f = NEW(t->f->c->arena, Facts);
    for (int d = 0; d < v->type->rank; d++) {
        int run = facts_contiguity(t, v, d, MAX_LOG2);
        f->contiguity[d] = (uint8_t)run;
        f->divisibility[d] = (uint8_t)fact_div(t, v, d, run, MAX_LOG2);
        f->constancy[d] = (uint8_t)facts_constancy(t, v, d, MAX_LOG2);
    }
    if (v->type->rank == 0)
        f->scalar_div = (uint8_t)fact_div(t, v, 0, 0, MAX_LOG2);
    facts_range(t, v, &f->lo, &f->hi);
    map_put(&t->whole, v, 0, f);
    return f;
}

/* ---- accesses -------------------------------------------------------------------------------- */

int
facts_pointer_log2(FactTable *t, const Op *access, int dim, int max_bytes)
{
    const Val *p = arg(access, 0);
    int size = fact_log2(elem_info[p->type->elem].bytes);
    int w = fact_log2(max_bytes) - size;
    if (p->type->rank == 0 || w <= 0)
        return 0;
    w = fact_run(t, p, dim, w);
    if (w == 0)
        return 0;
    /* Shorter runs inside a run that starts at an address divisible by 1 << a start at
     * multiples of their own size up to that, so cutting w to a - size is enough. */
    int a = fact_div(t, p, dim, w, w + size);
    return MAX(MIN(w, a - size), 0);
}

int
facts_access_log2(FactTable *t, const Op *access, int dim, int max_bytes)
{
    const Val *mask = op_mask(access);
    int w = facts_pointer_log2(t, access, dim, max_bytes);
    return mask && w ? facts_constancy(t, mask, dim, w) : w;
}

/* Has a thread so few elements of a row that a branch costs more than it saves? Sums of bf16 by blocks of 256 and
 * four warps, of any n, take 179 us on an H100 with accesses of two, and 165 of one; by 1024 136 of eight and 141. */
static bool
is_short(const FactTable *t, const Val *mask)
{
    enum { FEW = 4 };
    return mask->type->rank < 2 && ty_numel(mask->type) < FEW * 32LL * t->f->team_warps;
}

int
facts_ragged_log2(FactTable *t, const Op *access, int dim, int max_bytes, MaskEdges *e)
{
    const Val *mask = op_mask(access);
    int w = facts_pointer_log2(t, access, dim, max_bytes), budget = MASK_BUDGET;
    e->n = 0;
    if (!mask || !w)
        return w;
    int g = facts_constancy(t, mask, dim, w);
    if (g == w || is_short(t, mask))
        return g;
    int r = rule_ragged(t, mask, dim, w, e, &budget);
    if (r > g)
        return r;
    e->n = 0;
    return g;
}

/* Along which dim neighbours lie nearest, by guess; the last one on ties. */
static int
nearest_dim(FactTable *t, const Val *p)
{
    int best = p->type->rank - 1, least = INT_MAX;
    for (int d = best; d >= 0; d--) {
        int distance = facts_distance(t, p, d);
        if (distance < least) {
            best = d;
            least = distance;
        }
    }
    return best;
}

int
facts_fastest_dim(FactTable *t, const Op *access)
{
    const Val *p = arg(access, 0);
    int best = MAX(p->type->rank - 1, 0), best_run = -1;
    int enough = 4 - fact_log2(elem_info[p->type->elem].bytes); /* 16 bytes */
    for (int d = p->type->rank - 1; d >= 0; d--) {
        int run = fact_run(t, p, d, enough);
        if (run > best_run) {
            best = d;
            best_run = run;
        }
    }
    return best_run || p->type->rank < 2 ? best : nearest_dim(t, p);
}

AtomicRun
facts_atomic_run(FactTable *t, const Op *o)
{
    AtomicRun r = {0};
    const Val *v = result(o, 0);
    if (o->op == OP_ATOMIC_CAS || !v->type->layout)
        return r;
    int most = atomic_log2(&t->f->c->opt.target, v->type->elem,
                           (int)ir_attr(o, ATTR_RMW));
    if (!most)
        return r;
    int dim = facts_fastest_dim(t, o), size = ty_bytes(v->type);
    int run = layout_run(v->type->layout, dim, most, r.bit);
    r.log2 = run ? facts_access_log2(t, o, dim, size << run) : 0;
    if (run && !r.log2 && size == 2 && op_mask(o)) {
        r.log2 = facts_pointer_log2(t, o, dim, 2 * size);
        r.is_split = r.log2 > 0;
    }
    r.log2 = MIN(r.log2, run);
    return r;
}
