/* ptx_asm: one line of inline assembly under construction.
 *
 * Outputs first, then inputs, then ties: LLVM numbers operands in that order. A packed value
 * (ll_vec of integers) travels as its parts, one register each; bytes travel in 32 bits.
 */
#include "codegen/simt/ptx.h"

Asm
asm_new(Ll *l)
{
    Arena *a = l->c->arena;
    return (Asm){.l = l, .text.a = a, .constraints.a = a};
}

static void
asm_constraint(Asm *a, const char *s)
{
    sb_printf(&a->constraints, "%s%s", a->constraints.n ? "," : "", s);
}

void
asm_text(Asm *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&a->text, fmt, ap);
    va_end(ap);
}

/* The letter of PTX's register class for an LLVM type. */
static char
letter(Ll *l, Lt t)
{
    if (t == l->i1)
        return 'b';
    if (t == l->i16 || t == l->f16)
        return 'h';
    if (t == l->i64 || LLVMGetTypeKind(t) == LLVMPointerTypeKind)
        return 'l';
    return t == l->f32 ? 'f' : t == l->f64 ? 'd' : 'r';
}

int
asm_out(Asm *a, Lt t)
{
    asm_constraint(a, (char[]){'=', letter(a->l, t), 0});
    PUSH(a->l->c->arena, &a->out, t);
    return a->out.n - 1;
}

int
asm_out_early(Asm *a, Lt t)
{
    asm_constraint(a, (char[]){'=', '&', letter(a->l, t), 0});
    PUSH(a->l->c->arena, &a->out, t);
    return a->out.n - 1;
}

int
asm_in(Asm *a, Lv x)
{
    asm_constraint(a, (char[]){letter(a->l, LLVMTypeOf(x)), 0});
    PUSH(a->l->c->arena, &a->in, x);
    return a->out.n + a->in.n - 1;
}

void
asm_tie(Asm *a, int out, Lv x)
{
    char s[12];
    snprintf(s, sizeof s, "%d", out);
    asm_constraint(a, s);
    PUSH(a->l->c->arena, &a->in, x);
}

void
asm_vector(Asm *a, int first, int n)
{
    asm_text(a, "{");
    for (int i = 0; i < n; i++)
        asm_text(a, "%s$%d", i ? ", " : "", first + i);
    asm_text(a, "}");
}

void
asm_list(Asm *a, int first, int n)
{
    if (n > 1)
        asm_vector(a, first, n);
    else
        asm_text(a, "$%d", first);
}

void
asm_inputs(Asm *a, const Lv *x, int n)
{
    int first = a->out.n + a->in.n;
    for (int i = 0; i < n; i++)
        asm_in(a, x[i]);
    asm_vector(a, first, n);
}

/* Many results of one type have a name, %float.128, because LLVM writes their type wherever one of
 * them is taken: without it 4600 of them were 2.1 of the 2.6 MB of an attention's text, and a sixth
 * of the time that it took to compile. */
static Lt
named_struct(Ll *l, const Lt *types, int n)
{
    char name[32], *element = LLVMPrintTypeToString(types[0]);
    snprintf(name, sizeof name, "%s.%d", element, n);
    LLVMDisposeMessage(element);
    Lt t = LLVMGetTypeByName2(l->cx, name);
    if (!t) {
        t = LLVMStructCreateNamed(l->cx, name);
        LLVMStructSetBody(t, (Lt *)types, (unsigned)n, 0);
    }
    return t;
}

static Lt
results(Asm *a)
{
    enum { FEW = 8 };
    Ll *l = a->l;
    int n = a->out.n, n_equal = 0;
    while (n_equal < n && a->out.at[n_equal] == a->out.at[0])
        n_equal++;
    if (n < 2)
        return n ? a->out.at[0] : l->void_;
    return n > FEW && n_equal == n
               ? named_struct(l, a->out.at, n)
               : LLVMStructTypeInContext(l->cx, a->out.at, (unsigned)n, 0);
}

Lv
asm_done(Asm *a, bool touches_memory, bool effects)
{
    Ll *l = a->l;
    if (touches_memory)
        asm_constraint(a, "~{memory}");
    Lt t = results(a);
    sb_put(&a->constraints, ""); /* an instruction may have no operands */
    return ll_asm(l, t, a->text.at, a->constraints.at, a->in.at, a->in.n, effects);
}

static Lv
asm_result(Asm *a, Lv call, int i)
{
    return a->out.n == 1 ? call : LLVMBuildExtractValue(a->l->b, call, (unsigned)i, "");
}

void
asm_done_to(Asm *a, bool touches_memory, bool effects, Lv *out)
{
    Lv call = asm_done(a, touches_memory, effects);
    for (int i = 0; i < a->out.n; i++)
        out[i] = asm_result(a, call, i);
}

void
asm_statement(Ll *l, const char *fmt, ...)
{
    Asm a = asm_new(l);
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&a.text, fmt, ap);
    va_end(ap);
    asm_done(&a, true, true);
}

void
asm_predicate(Asm *a, Lv pred)
{
    if (pred)
        asm_text(a, "@$%d ", asm_in(a, pred));
}

Parts
asm_parts(Ll *l, Lt t)
{
    Parts p = {1, t, t == l->i8};
    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind) {
        p.n = (int)LLVMGetVectorSize(t);
        p.type = LLVMGetElementType(t);
    }
    if (p.is_byte)
        p.type = l->i32;
    return p;
}

void
asm_suffix(Asm *a, const Parts *p)
{
    if (p->n > 1)
        asm_text(a, ".v%d", p->n);
    asm_text(a, p->is_byte ? ".u8 " : ".b%u ", LLVMGetIntTypeWidth(p->type));
}

Lv
asm_part(Ll *l, const Parts *p, Lv value, int i)
{
    if (p->is_byte)
        return LLVMBuildZExt(l->b, value, l->i32, "");
    return p->n > 1 ? LLVMBuildExtractElement(l->b, value, ll_i32(l, i), "") : value;
}

void
asm_packed(Asm *a, const Parts *p, Lv value)
{
    int first = a->out.n + a->in.n;
    for (int i = 0; i < p->n; i++)
        asm_in(a, asm_part(a->l, p, value, i));
    asm_list(a, first, p->n);
}

Lv
asm_done_packed(Asm *a, const Parts *p, Lt t)
{
    Ll *l = a->l;
    Lv call = asm_done(a, true, true), v = LLVMGetPoison(t);
    if (p->is_byte)
        return LLVMBuildTrunc(l->b, call, l->i8, "");
    if (p->n == 1)
        return call;
    for (int i = 0; i < p->n; i++)
        v = LLVMBuildInsertElement(l->b, v, asm_result(a, call, i), ll_i32(l, i), "");
    return v;
}

Lv
ptx_as_bits(Ll *l, Elem e, Lv x)
{
    return LLVMBuildBitCast(l->b, x, LLVMIntTypeInContext(l->cx, elem_info[e].bits),
                            "");
}
