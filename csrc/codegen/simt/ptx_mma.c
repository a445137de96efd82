/* ptx_mma: tensor cores, and the instructions that deal out matrices to lanes.
 */
#include "codegen/simt/ptx.h"

bool
ptx_has_mma(Ll *l, MmaKind k)
{
    return ptx_sm_at_least(l, mma_shape[k].min_sm);
}

/* A vector of n inputs; their numbers follow those of the outputs. */
static void
put_operand(Asm *x, Lv *word, int n)
{
    int first = x->out.n + x->in.n;
    for (int i = 0; i < n; i++)
        asm_in(x, word[i]);
    asm_vector(x, first, n);
    asm_text(x, ", ");
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
    put_operand(&x, a, s->a_regs);
    put_operand(&x, b, s->b_regs);
    asm_vector(&x, 0, s->d_regs);
    asm_text(&x, ";");
    for (int i = 0; i < s->d_regs; i++)
        asm_tie(&x, i, d[i]);
    Lv call = asm_done(&x, false, true);
    for (int i = 0; i < s->d_regs; i++)
        d[i] = asm_result(&x, call, i);
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
    Lv call = asm_done(&a, true, true);
    for (int i = 0; i < n; i++)
        out[i] = asm_result(&a, call, i);
}

void
ptx_stmatrix(Ll *l, Lv offset, int n, bool trans, Lv *words)
{
    Asm a = asm_new(l);
    asm_text(&a, "stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [$%d], ", n,
             trans ? ".trans" : "", asm_in(&a, ptx_shared_address(l, offset)));
    int first = a.in.n;
    for (int i = 0; i < n; i++)
        asm_in(&a, words[i]);
    asm_vector(&a, first, n);
    asm_text(&a, ";");
    asm_done(&a, true, true);
}
