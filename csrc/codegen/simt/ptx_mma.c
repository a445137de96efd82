/* ptx_mma: tensor cores, and the instructions that deal out matrices to lanes.
 */
#include "codegen/simt/ptx.h"

bool
ptx_has_mma(Ll *l, MmaKind k)
{
    return ptx_sm_at_least(l, mma_shape[k].min_sm);
}

void
ptx_mma(Ll *l, MmaKind k, Lv *d, Lv *a, Lv *b)
{
    static const char *const types[N_MMA] = {
        [MMA_F16_M16N8K16] = "f32.f16.f16.f32",
        [MMA_BF16_M16N8K16] = "f32.bf16.bf16.f32",
        [MMA_TF32_M16N8K8] = "f32.tf32.tf32.f32",
        [MMA_S8_M16N8K32] = "s32.s8.s8.s32",
        [MMA_F16_M16N8K8] = "f32.f16.f16.f32",
        [MMA_E4M3_M16N8K32] = "f32.e4m3.e4m3.f32",
        [MMA_E5M2_M16N8K32] = "f32.e5m2.e5m2.f32",
    };
    const MmaShape *s = &mma_shape[k];
    Asm x = {.l = l};
    for (int i = 0; i < 4; i++)
        asm_out(&x, LLVMTypeOf(d[i]));
    asm_text(&x, "mma.sync.aligned.m16n8k%d.row.col.%s ", s->k, types[k]);
    asm_vector(&x, 0, 4);
    asm_text(&x, ", ");
    for (int i = 0; i < s->a_regs; i++)
        asm_in(&x, a[i]);
    asm_vector(&x, 4, s->a_regs);
    asm_text(&x, ", ");
    for (int i = 0; i < s->b_regs; i++)
        asm_in(&x, b[i]);
    asm_vector(&x, 4 + s->a_regs, s->b_regs);
    asm_text(&x, ", ");
    asm_vector(&x, 0, 4);
    asm_text(&x, ";");
    for (int i = 0; i < 4; i++)
        asm_tie(&x, i, d[i]);
    Lv call = asm_done(&x, false, true);
    for (int i = 0; i < 4; i++)
        d[i] = asm_result(&x, call, i);
}

Lv
ptx_round_tf32(Ll *l, Lv x)
{
    if (!ptx_sm_at_least(l, 80))
        unreachable(l->c);
    Lv w = ll_asm(l, l->i32, "cvt.rna.tf32.f32 $0, $1;", "=r,f", &x, 1, false);
    return LLVMBuildBitCast(l->b, w, l->f32, "");
}

void
ptx_ldmatrix(Ll *l, Lv offset, int n, bool trans, Lv *out, const Loc *loc)
{
    (void)loc;
    Asm a = {.l = l};
    for (int i = 0; i < n; i++)
        asm_out(&a, l->i32);
    asm_text(&a, "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 ", n,
             trans ? ".trans" : "");
    asm_vector(&a, 0, n);
    asm_text(&a, ", [$%d];", asm_in(&a, ptx_shared_address(l, offset)));
    Lv call = asm_done(&a, true, true);
    for (int i = 0; i < n; i++)
        out[i] = asm_result(&a, call, i);
}
