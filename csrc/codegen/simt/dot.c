/* dot: acc + a @ b.
 *
 * On tensor cores when the layouts are those of the fragments (assign_layouts): each warp
 * multiplies tiles of 16 x 8, all in registers. The registers of a tile are found by asking
 * the layouts which register has an element; nothing here knows their order. An instruction
 * of 8 rows does a tile in two.
 *
 * Blocks smaller than the instruction need no copy. Where M or N end early, several rows or
 * columns of the tile are the same one: lanes hold copies, and so does the result. Along k
 * nothing may count twice: what lies behind its end is zero, in both operands, so that no
 * infinity of one meets a zero of the other.
 *
 *     K = 4, kw = 2:     t = 0: k 0 1    t = 1: k 2 3    t = 2, 3: copies -> zero
 *
 * Otherwise by multiply-adds (dot_fma.c).
 *
 * Of a padded product (pad_blocks) the tiles and steps that lie in the padding alone are
 * left out: those whose first element, wherever the warp stands, is behind a true side.
 *
 * f32 as tf32: rounded to nearest first, the hardware would cut. Every lane
 * rounds what it holds once a dot; a loop's invariant operand is rounded ahead of the loop. What moves
 * from threads that hold an element once to threads that hold copies is rounded before it moves.
 *
 * Three terms: x = hi + lo, both tf32; hi hi + hi lo + lo hi has nearly the precision of f32. The
 * instruction does not round its sum but cuts it, so a few steps along k are summed from zero and join the
 * accumulator by f32's addition. The mixed terms come first; a sum of them that is not finite becomes 0, as lo of
 * what is infinite is no number: what comes of it comes of hi hi, as without a split.
 */
#include "codegen/simt/simt.h"

#include <math.h>

Elem
sim_work_elem(Elem acc)
{
    return acc == E_F16 ? E_F32 : acc;
}

Lv *
sim_open_acc(Sim *s, const Op *o)
{
    const Val *v = result(o, 0);
    Lv *from = sim_val(s, arg(o, 2)), *acc = NEW_N(s->a, Lv, sim_n_regs(v));
    if (arg(o, 2)->type->layout != v->type->layout)
        sim_bad_layout(s, o);
    for (int i = 0; i < sim_n_regs(v); i++)
        acc[i] = cg_cast(s->l, v->type->elem, sim_work_elem(v->type->elem), from[i],
                         ROUND_RTNE);
    return acc;
}

void
sim_close_acc(Sim *s, const Op *o, Lv *acc)
{
    const Val *v = result(o, 0);
    Lv *to = sim_define(s, v);
    for (int i = 0; i < sim_n_regs(v); i++)
        to[i] = cg_cast(s->l, sim_work_elem(v->type->elem), v->type->elem, acc[i],
                        ROUND_RTNE);
}

/* ---- operands -------------------------------------------------------------------- */

enum { HIGH, LOW, N_TERM }; /* of an f32; other words have HIGH alone */

enum {
    SPLIT_STEPS = 2
}; /* along k, summed from zero: deeper ones have more words alive */

/* One operand: its words in the instruction's order, made when first wanted. */
typedef struct Fragments {
    Sim *s;
    const Op *o;
    const Val *v;
    bool is_a;
    int depth;                             /* k ends here */
    int k_stride, mn_stride, batch_stride; /* of the flat index */
    const MmaShape *shape;
    int kw; /* of the layout; a multiple of the instruction's */
    int n_terms;
    bool is_rounded; /* to tf32, before it was moved here */
    Lv inside; /* is this lane's part of a word in front of k's end? NULL: always */
    Lv (*word)[N_TERM]; /* by first register */
} Fragments;

static Fragments
open_fragments(Sim *s, const Op *o, int which, const DotPlan *p)
{
    const Val *v = arg(o, which);
    const Type *t = v->type;
    int r = t->rank, rows = t->shape[r - 2], cols = t->shape[r - 1];
    Fragments f = {.s = s,
                   .o = o,
                   .v = v,
                   .is_a = which == 0,
                   .depth = which ? rows : cols,
                   .k_stride = which ? cols : 1,
                   .mn_stride = which ? 1 : cols,
                   .batch_stride = rows * cols,
                   .shape = &mma_shape[p->kind],
                   .kw = p->kw,
                   .n_terms = p->n_terms,
                   .is_rounded = v->def && sim_rounds_move(s, v->def)};
    uint32_t idle = 0; /* bits of t beyond k */
    for (int i = 0; i < 2; i++)
        if (f.depth <= f.shape->kw << i)
            idle |= 1u << i;
    f.inside = sim_all_clear(s, idle);
    f.word = arena_alloc_n(s->a, (size_t)sim_n_regs(v), sizeof *f.word, _Alignof(Lv));
    return f;
}

/* Where the words of the step that begins at k stand along k. A lane's words count on
 * through the steps; in the layout, those that lie side by side come first:
 *     kw = 4, instruction's 2:     step 0  k 4t, 4t + 2     step 1  k 4t + 16, 4t + 18
 */
static int
place_along_k(const MmaShape *shape, int kw, int k, int word)
{
    int i = k / (4 * shape->kw) + word, each = kw / shape->kw;
    return 4 * kw * (i / each) + shape->kw * (i % each);
}

/* The register of the element that is by that much away from the thread's first. */
static int
register_of(Fragments *f, int batch, int mn, int k)
{
    const Layout *l = f->v->type->layout;
    Col flat = (Col)(batch * f->batch_stride + mn * f->mn_stride + k * f->k_stride), r;
    if (!f2_solve(l->basis[IN_REG], l->n[IN_REG], flat, &r))
        sim_bad_layout(f->s, f->o);
    return (int)r;
}

/* x with what instructions read of it rounded: half of tf32's last place is added, with x's sign, and
 * the instruction cuts the rest off. Two instructions, where cvt.rna.tf32 takes three and a predicate;
 * infinities and NaNs stay, and subnormals are cut. */
Lv
sim_round_tf32(Sim *s, Lv x)
{
    Ll *l = s->l;
    Lv power = LLVMBuildAnd(l->b, LLVMBuildBitCast(l->b, x, l->i32, ""),
                            ll_i32(l, (int32_t)0xff800000), ""); /* +-2^e, or 0 */
    Lv half = LLVMConstReal(l->f32, 0x1p-11),
       arg[3] = {LLVMBuildBitCast(l->b, power, l->f32, ""), half, x};
    return ll_intrinsic(l, "llvm.fma", &l->f32, 1, arg, 3);
}

bool
sim_rounds_move(Sim *s, const Op *o)
{
    if (o->op != OP_CONVERT || result(o, 0)->type->elem != E_F32 ||
        sim_n_regs(arg(o, 0)) > sim_n_regs(result(o, 0)))
        return false;
    for (const Use *u = result(o, 0)->uses; u; u = u->next) {
        DotPlan p = {0};
        if (u->user->op == OP_DOT && u - u->user->args < 2)
            dot_plan(s->f, u->user, &p);
        if (!p.is_mma || p.n_terms > 1)
            return false;
    }
    return true;
}

/* A word's type when it holds one wide element. */
static Lt
word_type(Sim *s, const Fragments *f)
{
    return f->shape->a == MMA_F64 ? s->l->f64 : s->l->i32;
}

static Lv
before_the_end(Sim *s, const Fragments *f, Lv word)
{
    if (!f->inside)
        return word;
    Lv zero = LLVMConstNull(word_type(s, f));
    return LLVMBuildSelect(s->l->b, f->inside, word, zero, "");
}

/* kw elements along k from (mn, k) on, side by side. */
static Lv
packed_word(Fragments *f, int batch, int mn, int k)
{
    Sim *s = f->s;
    const Type *t = f->v->type;
    Lv elems[4];
    for (int e = 0; e < f->shape->kw; e++)
        elems[e] = e < f->depth ? sim_reg(s, f->v, register_of(f, batch, mn, k + e))
                                : LLVMConstNull(LLVMTypeOf(elems[0]));
    return sim_pack_word(s, t, elems, f->shape->kw);
}

/* x = high + low, to instructions that cut both. */
static void
split_tf32(Sim *s, Lv x, bool is_split, Lv *term)
{
    LLVMBuilderRef b = s->l->b;
    Lv hi = sim_round_tf32(s, x);
    term[HIGH] = LLVMBuildBitCast(b, hi, s->l->i32, "");
    if (!is_split)
        return;
    hi = LLVMBuildAnd(b, term[HIGH], ll_i32(s->l, ~0x1fff), "");
    hi = LLVMBuildBitCast(b, hi, s->l->f32, "");
    term[LOW] = LLVMBuildBitCast(b, LLVMBuildFSub(b, x, hi, ""), s->l->i32, "");
}

/* The word whose first element is at (mn, k). */
static Lv
fragment_word(Fragments *f, int batch, int mn, int k, int term)
{
    Sim *s = f->s;
    if (k >= f->depth)
        return LLVMConstNull(word_type(s, f));
    int first = register_of(f, batch, mn, k);
    Lv *have = f->word[first];
    if (have[term])
        return have[term];
    if (f->shape->a != MMA_TF32) {
        Lv word = f->shape->a == MMA_F64 ? sim_reg(s, f->v, first)
                                         : packed_word(f, batch, mn, k);
        return have[HIGH] = before_the_end(s, f, word);
    }
    Lv x = before_the_end(
        s, f, LLVMBuildBitCast(s->l->b, sim_reg(s, f->v, first), s->l->i32, ""));
    if (f->is_rounded)
        return have[HIGH] = x;
    x = LLVMBuildBitCast(s->l->b, x, s->l->f32, "");
    split_tf32(s, x, f->n_terms > 1, have);
    return have[term];
}

/* All words for the instruction at (mn, k). */
static void
fragment(Fragments *f, int batch, int mn, int k, int term, Lv *out)
{
    int n = f->is_a ? f->shape->a_regs : f->shape->b_regs;
    int halves = f->is_a ? f->shape->m / 8 : 1; /* rows g, and g + 8 */
    int rows = f->v->type->shape[f->v->type->rank - 2];
    for (int j = 0; j < n; j++) {
        int row = f->is_a ? (mn + 8 * (j % halves)) & (rows - 1) : mn;
        int at = place_along_k(f->shape, f->kw, k, j / halves);
        out[j] = fragment_word(f, batch, row, at, term);
    }
}

/* ---- tiles ----------------------------------------------------------------------- */

static bool
are_fragments(Sim *s, const Op *o, const DotPlan *p)
{
    uint8_t shape[MAX_RANK];
    int kw = p->kw;
    for (int wm = 0; wm <= s->log2_warps; wm++) {
        const Layout *want[3];
        for (int i = 0; i < 3; i++) {
            const Type *t = arg(o, i)->type;
            int wn = s->log2_warps - wm;
            ty_log2_shape(t, shape);
            want[i] = i == 0   ? layout_mma_a(s->c, t->rank, shape, kw, wm, wn)
                      : i == 1 ? layout_mma_b(s->c, t->rank, shape, kw, wm, wn)
                               : layout_mma_acc(s->c, t->rank, shape, wm, wn);
        }
        if (arg(o, 0)->type->layout == want[0] && arg(o, 1)->type->layout == want[1] &&
            arg(o, 2)->type->layout == want[2])
            return true;
    }
    return false;
}

/* What a thread's accumulators are to the instructions. */
typedef struct Tiles {
    const Op *o;
    const DotPlan *p;
    Fragments a, b;
    int rows, cols, step;
    DotSides sides; /* of what is worth computing */
    int n_bit,
        m_bit; /* register bits inside a tile: n + 1, m + 8; 0 in smaller blocks */
} Tiles;

static Tiles
open_tiles(Sim *s, const Op *o, const DotPlan *p)
{
    const Type *t = result(o, 0)->type;
    const Layout *l = t->layout;
    Tiles k = {.o = o,
               .p = p,
               .a = open_fragments(s, o, 0, p),
               .b = open_fragments(s, o, 1, p),
               .rows = t->shape[t->rank - 2],
               .cols = t->shape[t->rank - 1],
               .sides = dot_sides(o),
               .step = mma_shape[p->kind].k};
    for (int i = 0; i < l->n[IN_REG]; i++) {
        if (l->basis[IN_REG][i] == 1 && k.cols > 1)
            k.n_bit = 1 << i;
        if (l->basis[IN_REG][i] == (Col)(8 * k.cols) && k.rows > 8)
            k.m_bit = 1 << i;
    }
    return k;
}

typedef struct Spot { /* the upper left corner of a tile, and of its instructions */
    int batch, row, col;
} Spot;

static Spot
spot_of(const Tiles *k, int r)
{
    int flat = (int)layout_at(result(k->o, 0)->type->layout, (uint32_t)r, 0, 0, 0);
    return (Spot){flat / (k->cols * k->rows), flat / k->cols % k->rows, flat % k->cols};
}

/* Does register r begin a tile that has elements? */
static bool
begins_tile(const Tiles *k, int r)
{
    Spot at = spot_of(k, r);
    return !(r & (k->n_bit | k->m_bit)) && at.row < k->sides.m && at.col < k->sides.n;
}

/* d: of the whole tile; an instruction of 8 rows takes one half after the other. */
static void
multiply_tile(Sim *s, Tiles *k, int r, int depth, int term_a, int term_b, Lv *d)
{
    const MmaShape *shape = &mma_shape[k->p->kind];
    Spot at = spot_of(k, r);
    int halves = k->m_bit ? 16 / shape->m : 1;
    for (int half = 0; half < halves; half++) {
        Lv wa[MMA_MAX_WORDS], wb[MMA_MAX_WORDS];
        fragment(&k->a, at.batch, at.row + 8 * half, depth, term_a, wa);
        fragment(&k->b, at.batch, at.col, depth, term_b, wb);
        s->m->mma(s->l, k->p->kind, d + 2 * half, wa, wb);
    }
}

/* Makes the words of all tiles for one step along k. */
static void
fetch_step(Tiles *k, int n_regs, int depth)
{
    Lv words[MMA_MAX_WORDS];
    for (int r = 0; r < n_regs; r++) {
        if (!begins_tile(k, r))
            continue;
        Spot at = spot_of(k, r);
        fragment(&k->a, at.batch, at.row, depth, HIGH, words);
        fragment(&k->b, at.batch, at.col, depth, HIGH, words);
    }
}

/* Is there anything but padding in the step at that depth? */
static bool
has_step(const Tiles *k, int depth)
{
    return place_along_k(&mma_shape[k->p->kind], k->p->kw, depth, 0) < k->sides.k;
}

/* Elements along k after which partial sums join the accumulators; 0: there are none.
 * Only instructions of float8 may keep few bits of a sum: of the others' nobody asks. */
static int
partial_depth(const Op *o, const DotPlan *p)
{
    bool is_f8 = elem_is_f8(p->operand[0]);
    if (!is_f8 || result(o, 0)->type->elem != E_F32)
        return 0;
    int each = (int)ir_attr(o, ATTR_IMPRECISE), step = mma_shape[p->kind].k;
    return each ? MAX(each / step, 1) * step : 0;
}

static void
join_parts(Sim *s, Lv *acc, Lv *part, int n)
{
    for (int r = 0; r < n; r++) {
        if (!LLVMIsConstant(part[r])) /* no product reached it */
            acc[r] = LLVMBuildFAdd(s->l->b, acc[r], part[r], "");
        part[r] = LLVMConstNull(s->l->f32);
    }
}

/* x, or 0 where it is infinite or no number. */
static Lv
finite_or_zero(Ll *l, Lv x)
{
    Lv size = ll_intrinsic(l, "llvm.fabs", &l->f32, 1, &x, 1);
    Lv infinity = LLVMConstReal(l->f32, INFINITY);
    Lv is_finite = LLVMBuildFCmp(l->b, LLVMRealOLT, size, infinity, "");
    return LLVMBuildSelect(l->b, is_finite, x, LLVMConstNull(l->f32), "");
}

/* Three terms of a tile, of SPLIT_STEPS steps from depth on, into d. */
static void
split_tile(Sim *s, Tiles *k, int r, int depth, Lv d[4])
{
    static const int terms[3][2] = {{HIGH, LOW}, {LOW, HIGH}, {HIGH, HIGH}};
    int end = depth + SPLIT_STEPS * k->step;
    for (int i = 0; i < 4; i++)
        d[i] = LLVMConstNull(s->l->f32);
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < 4 && t == 2; i++)
            d[i] = finite_or_zero(s->l, d[i]);
        for (int at = depth; at < end && has_step(k, at); at += k->step)
            multiply_tile(s, k, r, at, terms[t][0], terms[t][1], d);
    }
}

static void
split_dot(Sim *s, const Op *o, const DotPlan *p)
{
    Tiles k = open_tiles(s, o, p);
    Lv *acc = sim_open_acc(s, o), d[4];
    int n_done = k.m_bit ? 4 : mma_shape[p->kind].d_regs;
    for (int depth = 0; has_step(&k, depth); depth += SPLIT_STEPS * k.step)
        for (int r = 0; r < sim_n_regs(result(o, 0)); r++) {
            if (!begins_tile(&k, r))
                continue;
            int reg[4] = {r, r | k.n_bit, r | k.m_bit, r | k.n_bit | k.m_bit};
            split_tile(s, &k, r, depth, d);
            /* In smaller blocks two of them are one register. */
            for (int i = 0; i < n_done; i++)
                d[i] = LLVMBuildFAdd(s->l->b, acc[reg[i]], d[i], "");
            for (int i = 0; i < n_done; i++)
                acc[reg[i]] = d[i];
        }
    sim_close_acc(s, o, acc);
}

static void
mma_dot(Sim *s, const Op *o, const DotPlan *p)
{
    Tiles k = open_tiles(s, o, p);
    Lv *total = sim_open_acc(s, o), *acc = total;
    int n_regs = sim_n_regs(result(o, 0)), each = partial_depth(o, p);
    if (each) {
        acc = NEW_N(s->a, Lv, n_regs);
        for (int r = 0; r < n_regs; r++)
            acc[r] = LLVMConstNull(s->l->f32);
    }
    int n_done = k.m_bit ? 4 : mma_shape[p->kind].d_regs;
    bool ahead = sim_reads_ahead(s, o);
    for (int depth = 0; has_step(&k, depth); depth += k.step) {
        if (ahead && has_step(&k, depth + k.step))
            fetch_step(&k, n_regs, depth + k.step);
        for (int r = 0; r < n_regs; r++) {
            if (!begins_tile(&k, r))
                continue;
            int reg[4] = {r, r | k.n_bit, r | k.m_bit, r | k.n_bit | k.m_bit};
            Lv d[4];
            for (int i = 0; i < 4; i++)
                d[i] = acc[reg[i]];
            multiply_tile(s, &k, r, depth, HIGH, HIGH, d);
            for (int i = 0; i < n_done; i++)
                acc[reg[i]] = d[i];
        }
        bool is_full = each && (depth + k.step) % each == 0;
        if (each && (is_full || !has_step(&k, depth + k.step)))
            join_parts(s, total, acc, n_regs);
    }
    sim_close_acc(s, o, total);
}

/* ---- the op ---------------------------------------------------------------------- */

void
sim_dot(Sim *s, const Op *o)
{
    DotPlan p;
    dot_plan(s->f, o, &p);
    if (!p.is_mma) {
        sim_fma_dot(s, o);
        return;
    }
    if (!s->m->has_mma(s->l, p.kind) || p.operand[0] != arg(o, 0)->type->elem ||
        p.operand[1] != arg(o, 1)->type->elem || !are_fragments(s, o, &p))
        sim_bad_layout(s, o);
    if (p.n_terms > 1)
        split_dot(s, o, &p);
    else
        mma_dot(s, o, &p);
}
