/* scan: inclusive prefixes along an axis.
 *
 * Bits of the axis from the lowest up; before bit k every element knows the prefix x within
 * its run of 1 << k elements, and every thread the run's total t. One step joins two runs:
 *
 *     x of the upper run = combine(t of the lower run, x)
 *     t                  = combine(t lower, t upper)
 *
 * For a register bit both runs are in the thread. For lane bits the other total comes by a
 * shuffle, and what goes before the thread's own run is kept in `before` (one a live
 * register) until the lanes and warps are through, and only then put in front of all x. For
 * warp bits the totals of all warps meet in shared memory. A reverse scan is the same with
 * upper and lower exchanged; the region's left operand is what was met first.
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
choose(Scan *c, Lv cond, Lv *x, Lv *y, Lv *to)
{
    for (int i = 0; i < c->k.n; i++)
        to[i] = LLVMBuildSelect(c->k.s->l->b, cond, x[i], y[i], "");
}

static Lv *
row(Scan *c)
{
    return NEW_N(c->k.s->a, Lv, c->k.n);
}

/* t in front of the prefix of register q. */
static void
prepend(Scan *c, Lv *t, int q, Lv cond)
{
    Lv *x = row(c), *y = row(c);
    for (int i = 0; i < c->k.n; i++)
        x[i] = c->x[i][q];
    across_combine(&c->k, t, x, y);
    if (cond)
        choose(c, cond, y, x, y);
    for (int i = 0; i < c->k.n; i++)
        c->x[i][q] = y[i];
}

/* ---- registers ---------------------------------------------------------------------------- */

static void
scan_registers(Scan *c, int bit)
{
    Across *k = &c->k;
    uint32_t left = k->reg_left & ~(1u << bit);
    Lv *first = row(c), *second = row(c);
    for (int r = 0; r < k->n_regs; r++) {
        if ((uint32_t)r & ~left)
            continue;
        int upper = r | 1 << bit;
        across_get(k, c->reverse ? upper : r, first);
        across_get(k, c->reverse ? r : upper, second);
        uint32_t second_half = (uint32_t)(c->reverse ? r : upper);
        for (int q = 0; q < k->n_regs; q++)
            if (((uint32_t)q & k->reg_left) == second_half)
                prepend(c, first, q, NULL);
        across_combine(k, first, second, first);
        across_put(k, r, first);
    }
    k->reg_left = left;
}

/* ---- lanes, warps ---------------------------------------------------------------------------- */

/* `total` comes between what is in before[r] and what precedes that, where cond holds. */
static void
note_before(Scan *c, int r, Lv *total, Lv cond, Lv had)
{
    Lv *old = row(c), *both = row(c);
    for (int i = 0; i < c->k.n; i++)
        old[i] = c->before[i][r] ? c->before[i][r] : total[i];
    if (had) {
        across_combine(&c->k, total, old, both);
        choose(c, had, both, total, both);
    } else {
        memcpy(both, total, (size_t)c->k.n * sizeof *both);
    }
    choose(c, cond, both, old, both);
    for (int i = 0; i < c->k.n; i++)
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
    for (int r = 0; r < k->n_regs; r++) {
        if (!across_is_live(k, r))
            continue;
        across_get(k, r, t);
        for (int i = 0; i < k->n; i++)
            other[i] = sim_shuffle_xor(s, arg(k->o, i)->type, t[i], 1 << bit);
        note_before(c, r, other, second, had);
        choose(c, second, other, t, x);
        choose(c, second, t, other, y);
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
    Slots t = across_slots(k);
    int base = sim_scratch(s, k->o), which = 0, warps = 1 << t.log2_warps;
    across_store(k, &t, base);
    sim_barrier(s, k->o->loc);
    Col none[LANE_BITS] = {0}, bits[WARP_BITS] = {0};
    for (int i = 0; i < WARP_BITS; i++)
        if (k->warp_axis >> i & 1)
            bits[i] = t.warp[i] >> t.warp_at;
    Lv mine = sim_linear(s, none, LANE_BITS, bits, s->log2_warps), had = c->has_before;
    int first = c->reverse ? warps - 1 : 0;
    Lv any = LLVMBuildICmp(s->l->b, LLVMIntNE, mine, ll_i32(s->l, first), "");
    Lv *all = NEW_N(s->a, Lv, k->n * warps), *sum = row(c), *before = row(c);
    for (int r = 0; r < k->n_regs; r++) {
        if (!across_is_live(k, r))
            continue;
        across_load_all(k, &t, which++, base, all);
        for (int w = 0; w < warps; w++) {
            int number = c->reverse ? warps - 1 - w : w;
            Lv *total = all + number * k->n;
            if (w == 0) {
                memcpy(sum, total, (size_t)k->n * sizeof *sum);
                memcpy(before, sum, (size_t)k->n * sizeof *sum);
                continue;
            }
            Lv is_mine = LLVMBuildICmp(s->l->b, LLVMIntEQ, mine, ll_i32(s->l, number),
                                       "");
            choose(c, is_mine, sum, before, before);
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
    for (int q = 0; q < k->n_regs; q++) {
        for (int i = 0; i < k->n; i++)
            t[i] = c->before[i][(uint32_t)q & k->reg_left];
        prepend(c, t, q, c->has_before);
    }
    for (int i = 0; i < k->n; i++)
        memset(c->before[i], 0, (size_t)k->n_regs * sizeof(Lv));
    c->has_before = NULL;
}

/* ---- the op ------------------------------------------------------------------------------------ */

int64_t
sim_scan_bytes(Sim *s, const Op *o)
{
    Across k = across_open(s, o);
    across_sort(&k, false);
    if (!k.warp_axis)
        return 0;
    for (int i = 0; k.step[i].in != IN_WARP; i++)
        if (k.step[i].in == IN_REG)
            k.reg_left &= ~(1u << k.step[i].bit);
    Slots t = across_slots(&k);
    return across_bytes(&k, &t);
}

void
sim_scan(Sim *s, const Op *o)
{
    Scan c = {.k = across_open(s, o), .reverse = ir_attr(o, ATTR_REVERSE) != 0};
    Across *k = &c.k;
    across_sort(k, false);
    across_check(k);
    across_copy_operands(k);
    c.x = NEW_N(s->a, Lv *, k->n);
    c.before = NEW_N(s->a, Lv *, k->n);
    for (int i = 0; i < k->n; i++) {
        if (result(o, i)->type->layout != k->l)
            sim_bad_layout(s, o);
        c.x[i] = sim_define(s, result(o, i));
        memcpy(c.x[i], k->v[i], (size_t)k->n_regs * sizeof(Lv));
        c.before[i] = NEW_N(s->a, Lv, k->n_regs);
    }
    bool warps_done = false;
    for (int i = 0; i < k->n_steps; i++) {
        const Step *t = &k->step[i];
        if (t->in == IN_REG) {
            flush(&c);
            scan_registers(&c, t->bit);
        } else if (t->in == IN_LANE) {
            scan_lanes(&c, t->bit);
        } else if (!warps_done) {
            scan_warps(&c);
            warps_done = true;
        }
    }
    flush(&c);
}
