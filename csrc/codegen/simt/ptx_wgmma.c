/* ptx_wgmma: the instructions of a warpgroup, and the descriptors of what they read.
 *
 *     bits 0-13   address / 16      16-29  LBO / 16     32-45  SBO / 16
 *     bits 62-63  swizzle: 1 = 128 bytes, 2 = 64, 3 = 32
 *
 * Accumulators are tied from the operand to the result of every instruction, and of the wait
 * that retires them, so that LLVM moves nothing in between. An accumulator that the product
 * overwrites goes in undefined, and the predicate scale-d is false: zeros that are moved into
 * it while other products are open would make ptxas wait for those.
 */
#include "codegen/simt/ptx.h"

static Lv
descriptor(Ll *l, const WgmmaOperand *w, Lv first, int offset)
{
    enum { ADDRESS_BITS = 14 };
    uint64_t mode = w->line == 128 ? 1 : w->line == 64 ? 2 : 3;
    uint64_t lbo = w->lbo ? (uint64_t)w->lbo / 16 : 1, sbo = (uint64_t)w->sbo / 16;
    Lv at = LLVMBuildLShr(l->b, ptx_shared_address(l, first), ll_i32(l, 4), "");
    if (ptx_state(l)->is_pair) /* from bit 24 on the address has the block's rank */
        at = LLVMBuildAnd(l->b, at, ll_i32(l, (1 << ADDRESS_BITS) - 1), "");
    at = LLVMBuildZExt(l->b, at, l->i64, "");
    Lv fixed = LLVMConstInt(l->i64, lbo << 16 | sbo << 32 | mode << 62, 0);
    at = LLVMBuildOr(l->b, at, fixed, "");
    return offset ? LLVMBuildAdd(l->b, at,
                                 LLVMConstInt(l->i64, (uint64_t)offset / 16, 0), "")
                  : at;
}

static const char *
type_text(Elem e)
{
    return e == E_BF16     ? "bf16"
           : e == E_F16    ? "f16"
           : e == E_F8E4M3 ? "e4m3"
           : e == E_F8E5M2 ? "e5m2"
           : e == E_I8     ? "s8"
                           : "tf32";
}

/* The instruction of one step; a: its words of A, NULL: A is in shared memory. Of 16 bits alone
 * operands may be transposed, and integers have no sign to turn. */
static void
add_step(Asm *x, const Wgmma *w, int step, const Lv *a)
{
    Ll *l = x->l;
    int bytes = elem_info[w->elem].bytes;
    bool is_integer = w->sum == E_I32;
    asm_text(x, "%swgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s ",
             step ? "\n\t" : "", w->columns, 32 / bytes,
             is_integer        ? "s32"
             : w->sum == E_F16 ? "f16"
                               : "f32",
             type_text(w->elem), type_text(w->elem_b));
    asm_vector(x, 0, w->n_sums);
    /* LLVM numbers what is tied as operands of its own, behind the others. */
    if (a) {
        asm_text(x, ", ");
        asm_inputs(x, a, 4);
    } else {
        Lv from = descriptor(l, &w->a, w->a_first, w->a_offset[step]);
        asm_text(x, ", $%d", asm_in(x, from));
    }
    Lv from = descriptor(l, &w->b, w->b_first, w->b_offset[step]);
    asm_text(x, ", $%d, %d", asm_in(x, from), step || !w->is_first);
    if (!is_integer)
        asm_text(x, ", 1, 1");
    if (!a && bytes == 2)
        asm_text(x, ", %d", w->a.is_mn_major);
    if (bytes == 2)
        asm_text(x, ", %d", w->b.is_mn_major);
    asm_text(x, ";");
}

/* All steps are one statement of assembly: LLVM's time goes with the operands of statements, and the
 * accumulators are most of them. */
void
ptx_wgmma(Ll *l, const Wgmma *w, Lv *d, Lv (*a)[4])
{
    int n = w->n_sums;
    Asm x = asm_new(l);
    for (int i = 0; i < n; i++)
        asm_out_early(&x, w->sum == E_F32 ? l->f32 : l->i32);
    for (int i = 0; i < w->n_steps; i++)
        add_step(&x, w, i, a ? a[i] : NULL);
    for (int i = 0; i < n; i++)
        asm_tie(&x, i, d[i]);
    asm_done_to(&x, false, true, d);
}

/* Statement of assembly `text` behind all that d, n registers, and `kept` are made of. */
static void
hold(Ll *l, const char *text, Lv *d, int n, const Lv *kept, int n_kept)
{
    Asm x = asm_new(l);
    for (int i = 0; i < n; i++)
        asm_out(&x, LLVMTypeOf(d[i]));
    asm_text(&x, "%s", text);
    for (int i = 0; i < n_kept; i++)
        asm_in(&x, kept[i]);
    for (int i = 0; i < n; i++)
        asm_tie(&x, i, d[i]);
    asm_done_to(&x, true, true, d);
}

void
ptx_wgmma_fence(Ll *l, Lv *d, int n, Lv *kept, int n_kept)
{
    hold(l, "wgmma.fence.sync.aligned;", d, n, kept, n_kept);
}

void
ptx_wgmma_commit(Ll *l)
{
    asm_statement(l, "wgmma.commit_group.sync.aligned;");
}

void
ptx_wgmma_wait(Ll *l, int pending, Lv *d, int n, Lv *kept, int n_kept)
{
    const char *text = str_printf(l->c->arena, "wgmma.wait_group.sync.aligned %d;",
                                  pending);
    hold(l, text, d, n, kept, n_kept);
}

void
ptx_fence_async(Ll *l)
{
    asm_statement(l, "fence.proxy.async.shared::cta;");
}
