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
    static const char *const word[] = {
        [MMA_F16] = "f16", [MMA_BF16] = "bf16", [MMA_TF32] = "tf32",
        [MMA_S8] = "s8",   [MMA_E4M3] = "e4m3", [MMA_E5M2] = "e5m2",
        [MMA_F32] = "f32", [MMA_S32] = "s32",   [MMA_F64] = "f64",
    };
    const MmaShape *s = &mma_shape[k];
    Asm x = asm_new(l);
    for (int i = 0; i < s->d_regs; i++)
        asm_out(&x, LLVMTypeOf(d[i]));
    asm_text(&x, "mma.sync.aligned.m%dn8k%d.row.col.%s.%s.%s.%s ", s->m, s->k,
             word[s->d], word[s->a], word[s->b], word[s->d]);
    asm_vector(&x, 0, s->d_regs);
    asm_text(&x, ", ");
    asm_inputs(&x, a, s->a_regs);
    asm_text(&x, ", ");
    asm_inputs(&x, b, s->b_regs);
    asm_text(&x, ", ");
    asm_vector(&x, 0, s->d_regs);
    asm_text(&x, ";");
    for (int i = 0; i < s->d_regs; i++)
        asm_tie(&x, i, d[i]);
    asm_done_to(&x, false, true, d);
}

Lv
ptx_opaque(Ll *l, Lv x)
{
    Lt t = LLVMTypeOf(x);
    if (t == l->i16)
        return ll_asm(l, t, "mov.b16 $0, $1;", "=h,h", &x, 1, false);
    if (t == l->i32)
        return ll_asm(l, t, "mov.b32 $0, $1;", "=r,r", &x, 1, false);
    return ll_asm(l, t, "mov.b64 $0, $1;", "=l,l", &x, 1, false);
}

void
ptx_ldmatrix(Ll *l, Lv offset, int n, bool trans, Lv *out)
{
    Asm a = asm_new(l);
    for (int i = 0; i < n; i++)
        asm_out(&a, l->i32);
    asm_text(&a, "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 ", n,
             trans ? ".trans" : "");
    asm_vector(&a, 0, n);
    asm_text(&a, ", [$%d];", asm_in(&a, ptx_shared_address(l, offset)));
    asm_done_to(&a, true, true, out);
}

void
ptx_stmatrix(Ll *l, Lv offset, int n, bool trans, Lv *words)
{
    Asm a = asm_new(l);
    asm_text(&a, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [$%d], ", n,
             trans ? ".trans" : "", asm_in(&a, ptx_shared_address(l, offset)));
    asm_inputs(&a, words, n);
    asm_text(&a, ";");
    asm_done(&a, true, true);
}
