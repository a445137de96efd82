/* reduce_scatter: blocks of a cluster that share a program add what each has of the tile.
 *
 *     rank 0      a0 a1 a2 a3 |  write          | 0 1 2 3 of a0    add, in the order of ranks
 *     rank 1      b0 b1 b2 b3 |  to each rank   | 0 1 2 3 of ..1
 *     rank 2      ..          |  its columns    |
 *     all meet: rings are read                    all bytes have come
 *
 * A block is sent words (st.async) when all have come to the end of their loops, and knows by an mbarrier that they are
 * there: so no thread waits until its own have arrived.
 *
 * Threads of one number in all blocks hold the same elements, so a thread adds what its like have written,
 * 16 bytes at a time, side by side, and no layout changes.
 *
 * Registers go by [columns inside of a rank's | rank | rows] from low to high (layout_wgmma_acc), so a
 * rank's are picked by bits in the middle.
 *
 * Rule: the order of the sum is that of ranks in each element, whichever block adds it and whoever comes first.
 */
#include "codegen/simt/simt.h"

enum { WORDS = 4 }; /* of a write */

typedef struct Scatter {
    Sim *s;
    const Op *o;
    int n, regs; /* blocks; registers of a rank's columns */
    int low;     /* register bits below those of the rank */
    int stride;  /* of a register of all threads, bytes */
    Lv base;     /* where the block gets what others have, in bytes */
} Scatter;

/* Which register of the tile register r of a rank's columns is. */
static int
reg_of(const Scatter *k, int rank, int r)
{
    int below = r & ((1 << k->low) - 1);
    return below | rank << k->low | (r - below) * k->n;
}

static void
check_layouts(const Scatter *k)
{
    const Layout *all = arg(k->o, 0)->type->layout,
                 *own = result(k->o, 0)->type->layout;
    uint8_t sides[MAX_RANK];
    ty_log2_shape(arg(k->o, 0)->type, sides);
    bool ok = all == layout_wgmma_acc(k->s->c, sides, k->s->log2_warps, 0);
    ty_log2_shape(result(k->o, 0)->type, sides);
    if (!ok || k->low < 2 ||
        own != layout_wgmma_acc(k->s->c, sides, k->s->log2_warps, 0))
        sim_bad_layout(k->s, k->o);
}

/* Where a rank's words for this thread begin, and how far behind each WORDS registers are. */
static Lv
place(const Scatter *k, Lv rank)
{
    Ll *l = k->s->l;
    Lv at = LLVMBuildMul(l->b, rank, ll_i32(l, k->regs * k->stride), ""),
       own = LLVMBuildMul(l->b, k->s->setup->tid, ll_i32(l, 4 * WORDS), "");
    return LLVMBuildAdd(l->b, LLVMBuildAdd(l->b, at, k->base, ""), own, "");
}

int
sim_scatter_mbar(Sim *s, const Op *ring)
{
    int64_t behind = ring_bytes(ring, ring->n_results);
    return sim_scratch(s, ring) + (int)behind + (ir_attr(ring, ATTR_CLOCKS) ? 8 : 0);
}

void
sim_open_scatter(Sim *s, const Op *ring)
{
    int64_t bytes = 0, n = ir_attr(ring, ATTR_CTAS);
    for (const Use *u = result(ring, 0)->uses; u; u = u->next)
        if (u->user->op == OP_REDUCE_SCATTER)
            bytes += 4 * ty_numel(arg(u->user, 0)->type);
    s->m->mbar_arrive(s->l, ll_i32(s->l, sim_scatter_mbar(s, ring)),
                      (int)(bytes / n * (n - 1)), NULL);
}

/* WORDS registers of a rank's columns, from r on, as words. */
static void
words_of(const Scatter *k, const Lv *tile, int rank, int r, Lv words[WORDS])
{
    Ll *l = k->s->l;
    for (int i = 0; i < WORDS; i++)
        words[i] = LLVMBuildBitCast(l->b, tile[reg_of(k, rank, r + i)], l->i32, "");
}

/* What a thread has for its own block stays there. */
static void
keep(const Scatter *k, const Lv *tile, int rank, Lv own)
{
    Ll *l = k->s->l;
    for (int r = 0; r < k->regs; r += WORDS) {
        Lv words[WORDS], all = LLVMGetUndef(LLVMVectorType(l->i32, WORDS));
        words_of(k, tile, rank, r, words);
        for (int i = 0; i < WORDS; i++)
            all = LLVMBuildInsertElement(l->b, all, words[i], ll_i32(l, i), "");
        Lv at = LLVMBuildAdd(l->b, own, ll_i32(l, r * k->stride), "");
        k->s->m->shared_store(l, at, all, 4 * WORDS, NULL);
    }
}

static void
push(const Scatter *k, const Lv *tile, int rank, Lv own)
{
    Sim *s = k->s;
    Lv bar = ll_i32(s->l, sim_scatter_mbar(s, arg(k->o, 1)->def)),
       there = s->m->cluster_place(s->l, rank, own),
       mbar = s->m->cluster_place(s->l, rank, bar);
    for (int r = 0; r < k->regs; r += WORDS) {
        Lv words[WORDS];
        words_of(k, tile, rank, r, words);
        s->m->cluster_push(s->l, there, r * k->stride, words, mbar);
    }
}

static void
write(const Scatter *k, const Lv *tile)
{
    Ll *l = k->s->l;
    Lv rank = k->s->m->cluster_rank(l), own = place(k, rank);
    for (int to = 0; to < k->n; to++) {
        LLVMBasicBlockRef here = ll_block(l, "own"), there = ll_block(l, "push"),
                          next = ll_block(l, "next");
        Lv is_own = LLVMBuildICmp(l->b, LLVMIntEQ, rank, ll_i32(l, to), "");
        LLVMBuildCondBr(l->b, is_own, here, there);
        LLVMPositionBuilderAtEnd(l->b, there);
        push(k, tile, to, own);
        LLVMBuildBr(l->b, next);
        LLVMPositionBuilderAtEnd(l->b, here);
        keep(k, tile, to, own);
        ll_jump(l, next);
    }
}

/* Register r and those behind it, summed. */
static void
add(const Scatter *k, int r, Lv *sum)
{
    Ll *l = k->s->l;
    Lt four = LLVMVectorType(l->i32, WORDS),
       type = ll_elem(l, result(k->o, 0)->type->elem);
    bool is_float = result(k->o, 0)->type->elem == E_F32;
    for (int rank = 0; rank < k->n; rank++) {
        Lv at = LLVMBuildAdd(l->b, place(k, ll_i32(l, rank)), ll_i32(l, r * k->stride),
                             ""),
           words = k->s->m->shared_load(l, at, four, 4 * WORDS);
        for (int i = 0; i < WORDS; i++) {
            Lv x = LLVMBuildExtractElement(l->b, words, ll_i32(l, i), "");
            x = LLVMBuildBitCast(l->b, x, type, "");
            sum[i] = !rank      ? x
                     : is_float ? LLVMBuildFAdd(l->b, sum[i], x, "")
                                : LLVMBuildAdd(l->b, sum[i], x, "");
        }
    }
}

void
sim_reduce_scatter(Sim *s, const Op *o)
{
    if (!s->m->cluster_push)
        err_at(s->c, o->loc, TARGET, info(o)->text, s->m->name);
    const Type *all = arg(o, 0)->type, *own = result(o, 0)->type;
    Scatter k = {.s = s,
                 .o = o,
                 .n = all->shape[1] / own->shape[1],
                 .regs = sim_n_regs(result(o, 0)),
                 .low = log2_of(own->shape[1]) - 1,
                 .stride = 4 * 32 << s->log2_warps,
                 .base = sim_val(s, arg(o, 1))[0]};
    check_layouts(&k);
    const Lv *tile = sim_val(s, arg(o, 0));
    s->m->cluster_meet(s->l);
    write(&k, tile);
    Lv bar = ll_i32(s->l, sim_scatter_mbar(s, arg(o, 1)->def));
    s->m->mbar_wait(s->l, bar, ll_i32(s->l, 0), 0);
    Lv *sum = sim_define(s, result(o, 0));
    for (int r = 0; r < k.regs; r += WORDS)
        add(&k, r, sum + r);
}
