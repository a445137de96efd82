/* wgmma: products by warpgroups, four warps each.
 *
 * Whoever begins one (mma_start) cuts it into instructions: 64 rows by up to 256 columns by
 * 32 bytes of k. A warpgroup's share of M and N is said by the accumulator's layout
 * (layout_wgmma_acc), whose registers are those of the instructions one after the other:
 *
 *     f32[256, 128], 8 warps      group 0   rows   0 ..  63, 128 .. 191
 *                                 group 1   rows  64 .. 127, 192 .. 255
 *     registers of a thread       tile 0: 64 columns' words, then tile 1
 *
 * An operand in shared memory is a descriptor: constants that layout_wgmma found, and the
 * address, of which a warpgroup's part is computed once and the rest of the steps added. An
 * operand A in registers is the fragment of mma m16n8k16 (tf32: m16n8k8, 8 bits: m16n8k32), a
 * warp's 16 rows. Of tf32 it may have k in the order that a sum has its columns in, where threads
 * store B in the same order (layout_wgmma_paired): what one product gave is the next one's A.
 *
 * 32-bit elements that run along M are no operand as they lie. Their words are read out of shared
 * memory into two sets of registers in turn, a part of the steps each:
 *
 *     read part 0;  fence;  wgmma ..;  commit;  wait {pending=1}      of the product before: its last
 *     read part 1;  fence;  wgmma ..;  commit;  wait {pending=1}      part 0's
 *     read part 2 ..                                                  into the registers of part 0
 *
 * so one part is multiplied while the next is read, and who comes behind finds one group open, as
 * of any product. Row r of a tile is another one of M then (layout_wgmma_by_words).
 *
 * mma_start fences first: registers that ordinary code wrote are seen by the tensor cores
 * behind it. The fence takes the accumulators and A's words as operands: else LLVM would compute or
 * copy them behind it, where the product uses them. Between mma_start and mma_wait nothing may touch
 * the accumulators, and nothing does: they are asynchronous values. A word of a sum in f16 has two
 * neighbours of a row, and is taken apart and put together again by what LLVM removes.
 */
#include "codegen/simt/simt.h"

enum { MAX_COLUMNS = 256, ROWS = 64, GROUP_BITS = 2 };

typedef struct Product {
    Sim *s;
    const Op *o;
    int m, n, k;
    int log2_m, log2_n;     /* warps along M and N */
    int elem_bytes, step;   /* along k, elements */
    int per_word;           /* elements of the sum */
    int tile_rows, columns; /* from tile to tile; of an instruction */
    int n_chunks;           /* instructions that a group's columns take */
    int tile_words;         /* of a thread's sum, from tile to tile */
    bool is_by_words;       /* A is read out of shared memory word by word */
    bool is_paired;         /* two words of A are neighbours along k, in registers */
} Product;

/* The accumulator's layout as warps are dealt, or NULL. */
static const Layout *
acc_of(Sim *s, const uint8_t *shape, int wm, int wn, bool is_by_words)
{
    if (shape[1] < 3 + wn)
        return NULL;
    const Layout *l = layout_wgmma_acc(s->c, shape, wm, wn);
    return is_by_words ? layout_wgmma_by_words(s->c, l) : l;
}

/* That of operand A, kw elements along k side by side. */
static const Layout *
layout_of_a(const Product *p, int kw)
{
    uint8_t shape[MAX_RANK];
    ty_log2_shape(arg(p->o, 0)->type, shape);
    return layout_wgmma_a(p->s->c, shape, kw, p->log2_m, p->log2_n);
}

/* The least number of columns with n that instructions make. */
static int
whole_columns(const Product *p, int n)
{
    int columns = 16; /* of integers, too */
    while (columns < n && columns < p->n)
        columns *= 2;
    return columns;
}

static Product
product_of(Sim *s, const Op *o)
{
    const Type *t = result(o, 0)->type, *a = arg(o, 0)->type;
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    Product p = {.s = s,
                 .o = o,
                 .m = t->shape[0],
                 .n = t->shape[1],
                 .k = a->shape[1],
                 .elem_bytes = elem_info[a->elem].bytes,
                 .per_word = 4 / elem_info[t->elem].bytes};
    for (int wm = GROUP_BITS; wm <= s->log2_warps && wm <= shape[0] - 4; wm++)
        for (int words = 0; words < 2; words++) {
            int wn = s->log2_warps - wm;
            if (acc_of(s, shape, wm, wn, words) == t->layout)
                p.log2_m = wm, p.log2_n = wn, p.is_by_words = words;
        }
    if (!p.log2_m)
        sim_bad_layout(s, o);
    int share = p.n >> p.log2_n;
    p.is_paired = p.elem_bytes == 4 && !a->slots && a->layout == layout_of_a(&p, 2);
    p.step = 32 / p.elem_bytes;
    p.tile_rows = ROWS << (p.log2_m - GROUP_BITS);
    p.tile_words = share / 2 / p.per_word;
    if (!p.log2_n) /* what is behind the user's side is nobody's */
        share = MIN(share, whole_columns(&p, dot_sides(o).n));
    p.columns = MIN(share, MAX_COLUMNS);
    p.n_chunks = share / p.columns;
    return p;
}

/* ---- operands -------------------------------------------------------------------- */

/* One in shared memory. */
typedef struct Shared {
    WgmmaOperand w;
    Col offset_of[MAX_BITS];
    int bits, mn_shift, k_shift, elem_bytes;
    Lv first; /* of this warpgroup, bytes */
} Shared;

static Col
shared_offset(const Shared *h, int mn, int k)
{
    Col flat = (Col)mn << h->mn_shift | (Col)k << h->k_shift;
    return f2_mul(h->offset_of, h->bits, flat) * (Col)h->elem_bytes;
}

/* Operand `which`, of which an instruction takes `mn` rows or columns; the warps' bits from
 * `from` on, n of them, pick `apart` of those times powers of two. */
static Shared
open_shared(const Product *p, int which, int mn, int from, int n, int apart)
{
    Sim *s = p->s;
    const Val *v = arg(p->o, which);
    const Layout *l = v->type->layout;
    for (int i = 0; i < 2 && p->is_paired; i++) /* B lies in the instructions' order */
        l = layout_wgmma_paired(s->c, l);
    Shared h = {.bits = layout_bits(l),
                .mn_shift = layout_dim_shift(l, which),
                .k_shift = layout_dim_shift(l, 1 - which),
                .elem_bytes = p->elem_bytes,
                .first = sim_val(s, v)[0]};
    if (!layout_wgmma(l, which, mn, p->elem_bytes, &h.w))
        sim_bad_layout(s, p->o);
    layout_offsets(l, h.offset_of);
    Col warp[WARP_BITS] = {0};
    for (int i = 0; i < n; i++)
        warp[from + i] = shared_offset(&h, apart << i, 0);
    if (n)
        h.first = LLVMBuildAdd(
            s->l->b, h.first,
            sim_xor_columns(s, sim_warp_number(s), warp, s->log2_warps), "");
    return h;
}

/* ---- A in registers -------------------------------------------------------------- */

/* The register in which a layout of A has word i of the tile of rows from `row` on and the step at
 * depth k; of 16 bits, its first element. */
static int
register_of(const Product *p, const Layout *l, int row, int k, int i)
{
    int half = (p->is_paired ? 1 : p->step / 2) * (i >> 1);
    Col flat = (Col)((row + 8 * (i & 1)) * p->k + k + half), r;
    if (!f2_solve(l->basis[IN_REG], l->n[IN_REG], flat, &r))
        sim_bad_layout(p->s, p->o);
    return (int)r;
}

/* The word that the elements of v in the registers from `first` on make. */
static Lv
packed_word(Sim *s, const Val *v, int first)
{
    int each = 4 / elem_info[v->type->elem].bytes;
    Lv elem[4];
    for (int e = 0; e < each; e++)
        elem[e] = sim_reg(s, v, first + e);
    return sim_pack_word(s, v->type, elem, each);
}

/* ---- sums ------------------------------------------------------------------------ */

static int
n_sum_words(const Val *v)
{
    return sim_n_regs(v) * elem_info[v->type->elem].bytes / 4;
}

/* The words of the sum v, to word; how many. */
static int
take_sum(Sim *s, const Val *v, Lv *word)
{
    int each = 4 / elem_info[v->type->elem].bytes, n = n_sum_words(v);
    for (int i = 0; i < n; i++)
        word[i] = each == 1 ? sim_reg(s, v, i) : packed_word(s, v, i * each);
    return n;
}

/* v from its words. */
static void
give_sum(Sim *s, const Val *v, const Lv *word)
{
    int each = 4 / elem_info[v->type->elem].bytes, n = n_sum_words(v);
    Lv *to = sim_define(s, v);
    for (int i = 0; i < n; i++)
        if (each == 1)
            to[i] = word[i];
        else
            sim_unpack_word(s, v->type, word[i], each, to + i * each);
}

static Lv
nearest_tf32(Sim *s, Lv x)
{
    return LLVMBuildBitCast(s->l->b, sim_round_tf32(s, x), s->l->i32, "");
}

/* Those of an operand in registers: neighbours along k are a layout's first bits. Pairs may be those
 * of another product's sum. Rounded, they have registers of their own, without which ptxas did one
 * product of a chain after the other. */
static void
register_words(const Product *p, int row, int k, Lv word[4])
{
    Sim *s = p->s;
    const Val *v = arg(p->o, 0);
    for (int i = 0; i < 4; i++) {
        word[i] = packed_word(s, v, register_of(p, v->type->layout, row, k, i));
        /* What LLVM knows, as the zeros of a padded product, it would write behind the fence. */
        if (LLVMIsConstant(word[i]) || ir_attr(p->o, ATTR_SIDES))
            word[i] = s->m->opaque(s->l, word[i]);
        if (p->is_paired)
            word[i] = nearest_tf32(s,
                                   LLVMBuildBitCast(s->l->b, word[i], s->l->f32, ""));
    }
}

/* Those of one in shared memory, the nearest tf32. */
static void
slot_words(const Product *p, SharedRead *from, const Layout *l, int row, int k,
           Lv word[4])
{
    Sim *s = p->s;
    for (int i = 0; i < 4; i++) {
        Lv x = sim_slot_reg(s, from, register_of(p, l, row, k, i));
        word[i] = nearest_tf32(s, x);
    }
}

/* ---- the ops --------------------------------------------------------------------- */

/* What goes into the instructions of a product. */
typedef struct Operands {
    Wgmma w;
    Shared a, b;
    Lv *acc;        /* in and out */
    Lv (*words)[4]; /* of A, by tile and step; NULL: it is in shared memory */
    bool is_first;  /* there is no sum yet */
    int computed;   /* registers of acc that go through the fence */
} Operands;

/* Of the tile of rows from `row` on, from depth k on; NULL: A is in shared memory. */
static Lv (*words_at(const Product *p, const Operands *x, int row, int k))[4]
{
    int steps = p->k / p->step;
    return x->words ? x->words + row / p->tile_rows * steps + k / p->step : NULL;
}

/* The fence in front of them: what ordinary code makes of the sum, and of A's words, stands before it. */
static void
fence(const Product *p, Operands *x, int k, int end)
{
    Sim *s = p->s;
    int n = 0;
    Lv *kept = NEW_N(s->a, Lv, 4 * p->m / p->tile_rows * (end - k) / p->step + 1);
    for (int row = 0; x->words && row < p->m; row += p->tile_rows)
        for (int at = k; at < end; at += p->step, n += 4)
            memcpy(kept + n, *words_at(p, x, row, at), 4 * sizeof *kept);
    s->m->wgmma_fence(s->l, x->acc, k ? 0 : x->computed, kept, n);
}

/* The instructions for depths k .. end, as one group. */
static void
multiply(const Product *p, Operands *x, int n_regs, int k, int end)
{
    Sim *s = p->s;
    int each = p->columns / 2 / p->per_word, n = p->n_chunks * each;
    Wgmma *w = &x->w;
    w->is_first = x->is_first && k == 0;
    w->n_steps = (end - k) / p->step;
    fence(p, x, k, end);
    for (int i = 0; i < n_regs / p->tile_words * n; i += each) {
        int row = i / n * p->tile_rows, column = i % n / each * p->columns,
            r = i / n * p->tile_words + i % n;
        for (int t = 0; t < w->n_steps; t++) {
            int at = k + t * p->step;
            w->a_offset[t] = x->words ? 0 : (int)shared_offset(&x->a, row, at);
            w->b_offset[t] = (int)shared_offset(&x->b, column, at);
        }
        s->m->wgmma(s->l, w, x->acc + r, words_at(p, x, row, k));
    }
    s->m->wgmma_commit(s->l);
}

/* Steps whose words are in registers at once: half of all, so that the last part of a product and
 * the first of the next are in different ones. */
static int
steps_at_once(const Product *p)
{
    enum { MOST_WORDS = 16 };
    int each = 4 * p->m / p->tile_rows, all = p->k / p->step;
    return MAX(MIN(all / 2, MOST_WORDS / each), 1);
}

static void
multiply_by_words(const Product *p, Operands *x, int n_regs)
{
    Sim *s = p->s;
    const Val *v = arg(p->o, 0);
    const Layout *l = layout_of_a(p, 1);
    SharedRead *from = sim_open_slot(s, v->type, sim_val(s, v)[0],
                                     layout_wgmma_by_words(s->c, l));
    int depth = steps_at_once(p) * p->step;
    if (depth == p->k) /* there is no other set */
        s->m->wgmma_wait(s->l, 0, NULL, 0, NULL, 0);
    for (int k = 0; k < p->k; k += depth) {
        for (int row = 0; row < p->m; row += p->tile_rows)
            for (int at = k; at < k + depth; at += p->step)
                slot_words(p, from, l, row, at, *words_at(p, x, row, at));
        multiply(p, x, n_regs, k, k + depth);
        s->m->wgmma_wait(s->l, 1, NULL, 0, NULL, 0);
    }
}

void
sim_mma_start(Sim *s, const Op *o)
{
    Product p = product_of(s, o);
    const Type *t = arg(o, 0)->type;
    Elem sum = result(o, 0)->type->elem;
    LLVMTypeRef word = sum == E_F32 ? s->l->f32 : s->l->i32;
    int n_regs = n_sum_words(result(o, 0));
    Operands x = {.b = open_shared(&p, 1, p.columns, p.log2_m, p.log2_n,
                                   p.n >> p.log2_n),
                  .acc = NEW_N(s->a, Lv, n_regs),
                  .is_first = o->n_args < 3};
    for (int r = 0; x.is_first && r < n_regs; r++)
        x.acc[r] = LLVMGetPoison(word);
    if (!x.is_first)
        take_sum(s, arg(o, 2), x.acc);
    if (!x.is_first && !arg(o, 2)->type->is_async)
        x.computed = n_regs;
    if (!t->slots || p.is_by_words)
        x.words = arena_alloc_n(s->a, (size_t)(p.m / p.tile_rows * p.k / p.step),
                                sizeof *x.words, _Alignof(Lv));
    else
        x.a = open_shared(&p, 0, ROWS, GROUP_BITS, p.log2_m - GROUP_BITS, ROWS);
    x.w = (Wgmma){.elem = t->elem,
                  .elem_b = arg(o, 1)->type->elem,
                  .sum = sum,
                  .columns = p.columns,
                  .n_sums = p.columns / 2 / p.per_word,
                  .a = x.a.w,
                  .b = x.b.w,
                  .a_first = x.a.first,
                  .b_first = x.b.first,
                  .a_offset = NEW_N(s->a, int, p.k / p.step),
                  .b_offset = NEW_N(s->a, int, p.k / p.step)};
    if (p.is_by_words) {
        multiply_by_words(&p, &x, n_regs);
        give_sum(s, result(o, 0), x.acc);
        return;
    }
    if (x.words && t->layout != layout_of_a(&p, p.is_paired ? 2 : 4 / p.elem_bytes))
        sim_bad_layout(s, o);
    for (int row = 0; x.words && row < p.m; row += p.tile_rows) /* before the fence */
        for (int k = 0; k < p.k; k += p.step)
            register_words(&p, row, k, *words_at(&p, &x, row, k));
    multiply(&p, &x, n_regs, 0, p.k);
    give_sum(s, result(o, 0), x.acc);
}

void
sim_mma_wait(Sim *s, const Op *o)
{
    int n = 0, n_kept = 0;
    for (int i = 0; i < o->n_args; i++)
        *(i < o->n_results ? &n : &n_kept) += sim_n_regs(arg(o, i));
    Lv *all = NEW_N(s->a, Lv, n + n_kept + 1), *at = all;
    for (int i = 0; i < o->n_results; i++)
        at += take_sum(s, arg(o, i), at);
    n = (int)(at - all);
    n_kept = 0;
    for (int i = o->n_results; i < o->n_args; i++) {
        const Val *v = arg(o, i);
        int each = 4 / elem_info[v->type->elem].bytes;
        for (int r = 0; r < sim_n_regs(v); r += each) /* as mma_start packed them */
            at[n_kept++] = packed_word(s, v, r);
    }
    s->m->wgmma_wait(s->l, (int)ir_attr(o, ATTR_PENDING), all, n, at, n_kept);
    at = all;
    for (int i = 0; i < o->n_results; i++) {
        give_sum(s, result(o, i), at);
        at += n_sum_words(result(o, i));
    }
}

void
sim_mma_open(Sim *s, const Op *o)
{
    Lv *to = sim_define(s, result(o, 0)), *from = sim_val(s, arg(o, 0));
    memcpy(to, from, (size_t)sim_n_regs(result(o, 0)) * sizeof *to);
}
