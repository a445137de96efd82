/* scan: inclusive prefixes along an axis.
 *
 * Bits of the axis from the lowest up; before bit k every element knows the prefix x within
 * its run of 1 << k elements, and every thread the run's total t. One step joins two runs:
 *
 *     x of the upper run = combine(t of the lower run, x)
 *     t                  = combine(t lower, t upper)
 *
 * Register bits that follow each other are one step of as many runs as they number: all are in the thread,
 * which goes from one to the next. For lane bits the other total comes by a
 * shuffle, and what goes before the thread's own run is kept in `before` (one a live
 * register) until the lanes and warps are through, and only then put in front of all x. For
 * warp bits the totals of all warps meet in shared memory. A reverse scan is the same with
 * upper and lower exchanged; the region's left operand is what was met first.
 * Totals are results, too, where the scan goes on in the next slice of a block (passes/simt/chunk.c).
 */
#include "codegen/simt/across.h"

typedef struct Scan {
    Across k; /* k.v holds the totals of live registers */
    Lv **x;   /* [n][n_regs]: the prefixes */
    bool reverse;
    Lv **before;   /* [n][n_regs of live]: what precedes the thread's run; or NULL */
    Lv has_before; /* i1: something does, for all registers alike; NULL: nothing */
} Scan;

/* Is this thread's bit in the half that comes second? */
static Lv
is_second(Scan *c, int tid_bit)
{
    Sim *s = c->k.s;
    Lv is_low = sim_all_clear(s, 1u << tid_bit);
    return c->reverse ? is_low : LLVMBuildNot(s->l->b, is_low, "");
}

static void
choose_values(Scan *c, Lv cond, Lv *x, Lv *y, Lv *to)
{
    for (int i = 0; i < c->k.x.n; i++)
        to[i] = LLVMBuildSelect(c->k.s->l->b, cond, x[i], y[i], "");
}

static Lv *
row(Scan *c)
{
    return NEW_N(c->k.s->a, Lv, c->k.x.n);
}

/* t in front of the prefix of register q. */
static void
prepend(Scan *c, Lv *t, int q, Lv cond)
{
    Lv *x = row(c), *y = row(c);
    for (int i = 0; i < c->k.x.n; i++)
        x[i] = c->x[i][q];
    across_combine(&c->k, t, x, y);
    if (cond)
        choose_values(c, cond, y, x, y);
    for (int i = 0; i < c->k.x.n; i++)
        c->x[i][q] = y[i];
}

/* ---- registers ---------------------------------------------------------------------------- */

/* The register that has its number's bits of `n` of the steps from t on as number says. */
static int
step_register(const AxisStep *t, int n, int number)
{
    int r = 0;
    for (int i = 0; i < n; i++)
        r |= (number >> i & 1) << t[i].bit;
    return r;
}

/* Along n register bits, one run behind the other: one step an element, where joining halves of halves
 * takes half a step for each bit, and runs of other rows hide how long one waits for the last. */
static void
scan_registers(Scan *c, const AxisStep *t, int n)
{
    Across *k = &c->k;
    uint32_t had = k->x.reg_left;
    k->x.reg_left &= ~(uint32_t)step_register(t, n, (1 << n) - 1);
    Lv *before = row(c), *total = row(c);
    EACH_LIVE(r, k) {
        for (int i = 0; i < 1 << n; i++) {
            int run = r | step_register(t, n, c->reverse ? (1 << n) - 1 - i : i);
            across_get(k, run, total);
            for (int q = 0; q < k->x.n_regs && i; q++)
                if (((uint32_t)q & had) == (uint32_t)run)
                    prepend(c, before, q, NULL);
            if (i)
                across_combine(k, before, total, total);
            memcpy(before, total, (size_t)k->x.n * sizeof *before);
        }
        across_put(k, r, before);
    }
}

/* ---- lanes, warps ---------------------------------------------------------------------------- */

/* `total` comes between what is in before[r] and what precedes that, where cond holds. */
static void
note_before(Scan *c, int r, Lv *total, Lv cond, Lv had)
{
    Lv *old = row(c), *both = row(c);
    for (int i = 0; i < c->k.x.n; i++)
        old[i] = c->before[i][r] ? c->before[i][r] : total[i];
    if (had) {
        across_combine(&c->k, total, old, both);
        choose_values(c, had, both, total, both);
    } else {
        memcpy(both, total, (size_t)c->k.x.n * sizeof *both);
    }
    choose_values(c, cond, both, old, both);
    for (int i = 0; i < c->k.x.n; i++)
        c->before[i][r] = both[i];
}

static void
also_before(Scan *c, Lv cond)
{
    LLVMBuilderRef b = c->k.s->l->b;
    c->has_before = c->has_before ? LLVMBuildOr(b, c->has_before, cond, "") : cond;
}

static void
scan_lanes(Scan *c, int bit)
{
    Across *k = &c->k;
    Sim *s = k->s;
    Lv second = is_second(c, bit), had = c->has_before;
    Lv *t = row(c), *other = row(c), *x = row(c), *y = row(c);
    EACH_LIVE(r, k) {
        across_get(k, r, t);
        for (int i = 0; i < k->x.n; i++)
            other[i] = sim_shuffle_xor(s, arg(k->x.o, i)->type, t[i], 1 << bit);
        note_before(c, r, other, second, had);
        choose_values(c, second, other, t, x);
        choose_values(c, second, t, other, y);
        across_combine(k, x, y, x);
        across_put(k, r, x);
    }
    also_before(c, second);
}

static void
scan_warps(Scan *c)
{
    Across *k = &c->k;
    Sim *s = k->s;
    AxisSlots t = axis_slots(&k->x);
    int base = sim_scratch(s, k->x.o), which = 0, warps = 1 << t.log2_warps;
    across_store(k, &t, base);
    sim_wait(s, k->x.o, WAIT_WRITTEN);
    Col none[LANE_BITS] = {0}, bits[WARP_BITS] = {0};
    for (int i = 0; i < WARP_BITS; i++)
        if (k->x.warp_axis >> i & 1)
            bits[i] = t.warp[i] >> t.warp_at;
    Lv mine = sim_linear(s, none, LANE_BITS, bits, s->log2_warps), had = c->has_before;
    int first = c->reverse ? warps - 1 : 0;
    Lv any = LLVMBuildICmp(s->l->b, LLVMIntNE, mine, ll_i32(s->l, first), "");
    Lv *all = NEW_N(s->a, Lv, k->x.n * warps), *sum = row(c), *before = row(c);
    EACH_LIVE(r, k) {
        across_load_all(k, &t, which++, base, all);
        for (int w = 0; w < warps; w++) {
            int number = c->reverse ? warps - 1 - w : w;
            Lv *total = all + number * k->x.n;
            if (w == 0) {
                memcpy(sum, total, (size_t)k->x.n * sizeof *sum);
                memcpy(before, sum, (size_t)k->x.n * sizeof *sum);
                continue;
            }
            Lv is_mine = LLVMBuildICmp(s->l->b, LLVMIntEQ, mine, ll_i32(s->l, number),
                                       "");
            choose_values(c, is_mine, sum, before, before);
            across_combine(k, sum, total, sum);
        }
        note_before(c, r, before, any, had);
        across_put(k, r, sum);
    }
    also_before(c, any);
}

/* What lanes and warps found goes in front of the prefixes. */
static void
flush(Scan *c)
{
    Across *k = &c->k;
    if (!c->has_before)
        return;
    Lv *t = row(c);
    for (int q = 0; q < k->x.n_regs; q++) {
        for (int i = 0; i < k->x.n; i++)
            t[i] = c->before[i][(uint32_t)q & k->x.reg_left];
        prepend(c, t, q, c->has_before);
    }
    for (int i = 0; i < k->x.n; i++)
        memset(c->before[i], 0, (size_t)k->x.n_regs * sizeof(Lv));
    c->has_before = NULL;
}

/* x has the operands' registers. */
static void
scan_steps(Scan *c)
{
    Across *k = &c->k;
    for (int i = 0; i < k->x.n; i++) {
        k->v[i] = NEW_N(k->s->a, Lv, k->x.n_regs);
        memcpy(k->v[i], c->x[i], (size_t)k->x.n_regs * sizeof(Lv));
        c->before[i] = NEW_N(k->s->a, Lv, k->x.n_regs);
    }
    bool warps_done = false;
    for (int i = 0; i < k->x.n_steps; i++) {
        const AxisStep *t = &k->x.step[i];
        int n = 0;
        while (i + n < k->x.n_steps && t[n].in == IN_REG)
            n++;
        if (n) {
            flush(c);
            scan_registers(c, t, n);
            i += n - 1;
        } else if (t->in == IN_LANE) {
            scan_lanes(c, t->bit);
        } else if (t->in == IN_WARP && !warps_done) {
            scan_warps(c);
            warps_done = true;
        }
    }
    flush(c);
}

/* ---- the op ------------------------------------------------------------------------------------ */

void
sim_scan(Sim *s, const Op *o)
{
    Scan c = {.k = across_open(s, o, false), .reverse = ir_attr(o, ATTR_REVERSE) != 0};
    Across *k = &c.k;
    across_check(k);
    k->v = NEW_N(s->a, Lv *, k->x.n);
    c.x = NEW_N(s->a, Lv *, k->x.n);
    c.before = NEW_N(s->a, Lv *, k->x.n);
    for (int i = 0; i < k->x.n; i++)
        if (result(o, i)->type->layout != k->x.l)
            sim_bad_layout(s, o);
    across_check_results(k, k->x.n);
    for (int i = 0; i < k->x.n; i++) {
        Lv *x = sim_val(s, arg(o, i));
        c.x[i] = sim_define(s, result(o, i));
        memcpy(c.x[i], x, (size_t)k->x.n_regs * sizeof(Lv));
    }
    scan_steps(&c);
    across_define_results(k, k->x.n);
}
