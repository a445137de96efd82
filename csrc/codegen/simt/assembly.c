/* assembly: PTX that a kernel's author wrote.
 *
 * The assembly sees registers as its constraints name them (r f l d h). A thread's elements
 * go through it `pack` at a time, in the order of its registers; elements narrower than 32
 * bits share a 32-bit register, the first in the low bits:
 *
 *     pack 4, an f16 operand, "=r,=r,r,r":   $2 = x1:x0   $3 = x3:x2   ->   $0, $1
 *
 * A thread with fewer than `pack` elements repeats its last one.
 */
#include "codegen/simt/simt.h"
#include "ptx/asm.h"

/* One piece of assembly: what its constraints say. */
typedef struct Form {
    const char *constraints, *text;
    PtxForm form;
    Lt reg[PTX_MAX_OPERANDS]; /* types of $0, $1 .. */
} Form;

static Lt
letter_type(const Ll *l, char c)
{
    switch (c) {
    case 'r': return l->i32;
    case 'f': return l->f32;
    case 'l': return l->i64;
    case 'd': return l->f64;
    case 'h': return l->i16;
    default: return l->i1;
    }
}

static NORETURN void
bad_form(Ll *l, const Op *o, const char *err)
{
    err_at(l->c, o->loc, VALUE, str_printf(l->c->arena, "in the assembly, %s", err));
}

/* Bits an element takes in a register of the assembly. */
static int
packed_bits(const Type *t)
{
    return MAX(8, ty_bits(t));
}

static Form *
read_form(Ll *l, const Op *o)
{
    Form *k = NEW(l->c->arena, Form);
    char err[PTX_ERROR];
    const char *nl = strchr(o->text, '\n');
    k->constraints = str_intern_n(l->c, o->text, (size_t)(nl - o->text));
    k->text = nl + 1;
    if (!ptx_form_read(&k->form, o->text, (size_t)(nl - o->text), err))
        bad_form(l, o, err);
    int *bits = NEW_N(l->c->arena, int, o->n_args + 1);
    for (int i = 0; i < o->n_args; i++)
        bits[i] = packed_bits(arg(o, i)->type);
    if (!ptx_form_fits(&k->form, o->n_args, bits, packed_bits(result(o, 0)->type),
                       (int)ir_attr(o, ATTR_PACK), (int)ir_attr(o, ATTR_START), err))
        bad_form(l, o, err);
    for (int i = 0; i < k->form.n_out + k->form.n_in; i++)
        k->reg[i] = letter_type(l, k->form.letter[i]);
    return k;
}

/* x as an integer of its own width. */
static Lv
as_int(Ll *l, const Type *t, Lv x)
{
    Lt to = LLVMIntTypeInContext(l->cx, (unsigned)packed_bits(t));
    if (t->is_ptr)
        return LLVMBuildPtrToInt(l->b, x, to, "");
    return LLVMBuildBitCast(l->b, cg_to_memory(l, t->elem, x), to, "");
}

static Lv
from_int(Ll *l, const Type *t, Lv x)
{
    if (t->is_ptr)
        return LLVMBuildIntToPtr(l->b, x, l->gptr, "");
    return cg_from_memory(l, t->elem,
                          LLVMBuildBitCast(l->b, x, ll_mem(l, t->elem), ""));
}

static int
width(Lt t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMFloatTypeKind: return 32;
    case LLVMDoubleTypeKind: return 64;
    default: return (int)LLVMGetIntTypeWidth(t);
    }
}

/* The call computes and nothing else, so equal ones are one: there is a call a result. */
static void
mark_pure(Ll *l, Lv call)
{
    static const char *const names[] = {"nounwind", "memory", "willreturn"};
    for (size_t i = 0; i < COUNT(names); i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
        LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                                 LLVMCreateEnumAttribute(l->cx, kind, 0));
    }
}

/* One pack of n elements: those from `at` on. from[i]: of operand i. */
static void
pack_through(Ll *l, const Op *o, const Form *k, int n, Lv *const *from, int at, Lv *to)
{
    const Type *rt = result(o, 0)->type;
    int pack = (int)ir_attr(o, ATTR_PACK), first = (int)ir_attr(o, ATTR_START);
    int n_out = k->form.n_out, n_in = 0;
    Lv in[PTX_MAX_OPERANDS];
    for (int i = 0; i < o->n_args; i++) {
        const Type *t = arg(o, i)->type;
        int bits = packed_bits(t), each = ptx_per_register(bits, pack);
        for (int e = 0; e < pack; e += each) {
            Lt want = k->reg[n_out + n_in];
            Lt word = LLVMIntTypeInContext(l->cx, (unsigned)width(want));
            Lv x = NULL;
            for (int j = 0; j < each && e + j < pack; j++) {
                Lv y = as_int(l, t, from[i][MIN(at + e + j, n - 1)]);
                y = width(want) < bits ? LLVMBuildTrunc(l->b, y, word, "")
                                       : LLVMBuildZExtOrBitCast(l->b, y, word, "");
                if (j)
                    y = LLVMBuildShl(l->b, y,
                                     LLVMConstInt(word, (unsigned)(j * bits), 0), "");
                x = x ? LLVMBuildOr(l->b, x, y, "") : y;
            }
            in[n_in++] = LLVMBuildBitCast(l->b, x, want, "");
        }
    }
    Lt ret = n_out == 1
                 ? k->reg[0]
                 : LLVMStructTypeInContext(l->cx, (Lt *)k->reg, (unsigned)n_out, 0);
    Lv r = ll_asm(l, ret, k->text, k->constraints, in, n_in, o->op == OP_INLINE_ASM_IO);
    if (o->op == OP_INLINE_ASM)
        mark_pure(l, r);
    int bits = packed_bits(rt), each = ptx_per_register(bits, pack);
    for (int e = 0; e < pack && at + e < n; e++) {
        int reg = first + e / each, shift = e % each * bits;
        Lv x = n_out == 1 ? r : LLVMBuildExtractValue(l->b, r, (unsigned)reg, "");
        Lt word = LLVMIntTypeInContext(l->cx, (unsigned)width(k->reg[reg]));
        x = LLVMBuildBitCast(l->b, x, word, "");
        if (shift)
            x = LLVMBuildLShr(l->b, x, LLVMConstInt(word, (unsigned)shift, 0), "");
        Lt narrow = LLVMIntTypeInContext(l->cx, (unsigned)bits);
        x = width(k->reg[reg]) < bits ? LLVMBuildZExt(l->b, x, narrow, "")
                                      : LLVMBuildTruncOrBitCast(l->b, x, narrow, "");
        to[at + e] = from_int(l, rt, x);
    }
}

/* n elements of the thread; from[i]: of operand i. */
static void
through(Ll *l, const Op *o, int n, Lv *const *from, Lv *to)
{
    const Form *k = read_form(l, o);
    int pack = (int)ir_attr(o, ATTR_PACK);
    if (!l->machine->assembly) {
        for (int at = 0; at < n; at += pack)
            pack_through(l, o, k, n, from, at, to);
        return;
    }
    Lv **in = NEW_N(l->c->arena, Lv *, o->n_args + 1);
    for (int i = 0; i < o->n_args; i++) {
        in[i] = NEW_N(l->c->arena, Lv, n);
        for (int e = 0; e < n; e++)
            in[i][e] = as_int(l, arg(o, i)->type, from[i][e]);
    }
    l->machine->assembly(l, o, n, in, to);
    for (int e = 0; e < n; e++)
        to[e] = from_int(l, result(o, 0)->type, to[e]);
}

void
sim_inline_asm(Sim *s, const Op *o)
{
    Lv **from = NEW_N(s->a, Lv *, o->n_args + 1);
    for (int i = 0; i < o->n_args; i++) {
        if (arg(o, i)->type->layout != result(o, 0)->type->layout)
            sim_bad_layout(s, o);
        from[i] = sim_val(s, arg(o, i));
    }
    through(s->l, o, sim_n_regs(result(o, 0)), from, sim_define(s, result(o, 0)));
}

Lv
simt_assembly(Ll *l, const Op *o, Lv *x)
{
    Lv **from = NEW_N(l->c->arena, Lv *, o->n_args + 1), r;
    for (int i = 0; i < o->n_args; i++)
        from[i] = &x[i];
    if (ir_attr(o, ATTR_PACK) != 1 || (o->n_args && ll_lanes(x[0])))
        err_at(l->c, o->loc, LIMIT, "assembly with pack in a reduction or a scan");
    through(l, o, 1, from, &r);
    return r;
}
