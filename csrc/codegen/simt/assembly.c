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

enum { MAX_ASM = 256 };

/* One piece of assembly: what its constraints say. */
typedef struct Form {
    const char *constraints, *text;
    Lt out[MAX_ASM], in[MAX_ASM];
    int n_out, n_in;
} Form;

static Lt
letter_type(Sim *s, const Op *o, char c, const Form *k)
{
    Ll *l = s->l;
    switch (c) {
    case 'r': return l->i32;
    case 'f': return l->f32;
    case 'l': return l->i64;
    case 'd': return l->f64;
    case 'h': return l->i16;
    case 'b': return l->i1;
    case '0': return k->n_out ? k->out[0] : l->i32;
    default:
        err_help(s->c, "constraints are =r =f =l =d =h for results, without = for "
                       "operands, separated by commas");
        err_at(s->c, o->loc, VALUE,
               str_printf(s->a,
                          "inline assembly: the constraint '%c' is none of "
                          "NVIDIA's",
                          c));
    }
}

static void
read_form(Sim *s, const Op *o, Form *k)
{
    const char *nl = strchr(o->text, '\n');
    k->constraints = str_intern_n(s->c, o->text, (size_t)(nl - o->text));
    k->text = nl + 1;
    for (const char *p = k->constraints; *p;) {
        size_t n = strcspn(p, ",");
        bool is_out = *p == '=';
        const char *q = p + is_out;
        while (q < p + n && (*q == '&' || *q == ' '))
            q++;
        if (k->n_in == MAX_ASM || k->n_out == MAX_ASM)
            err_at(s->c, o->loc, LIMIT, "inline assembly with that many operands");
        if (q < p + n && *p != '~') {
            if (is_out)
                k->out[k->n_out++] = letter_type(s, o, *q, k);
            else
                k->in[k->n_in++] = letter_type(s, o, *q, k);
        }
        p += n + (p[n] == ',');
    }
}

/* Bits an element takes in a register of the assembly. */
static int
packed_bits(const Type *t)
{
    return MAX(8, ty_bits(t));
}

/* x as an integer of its own width. */
static Lv
as_int(Sim *s, const Type *t, Lv x)
{
    Ll *l = s->l;
    Lt to = LLVMIntTypeInContext(l->cx, (unsigned)packed_bits(t));
    if (t->is_ptr)
        return LLVMBuildPtrToInt(l->b, x, to, "");
    return LLVMBuildBitCast(l->b, cg_to_memory(l, t->elem, x), to, "");
}

static Lv
from_int(Sim *s, const Type *t, Lv x)
{
    Ll *l = s->l;
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

static NORETURN void
bad_form(Sim *s, const Op *o, const char *what, int have, int want)
{
    err_help(s->c, "pack elements of less than 32 bits share 32-bit registers");
    err_at(s->c, o->loc, VALUE,
           str_printf(s->a,
                      "inline assembly: the constraints name %d %s, the %s take %d",
                      have, what, what, want));
}

/* Registers that pack elements of t take. */
static int
n_packed(const Type *t, int pack)
{
    int bits = packed_bits(t);
    return bits < 32 ? MAX(1, pack * bits / 32) : pack;
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

void
sim_inline_asm(Sim *s, const Op *o)
{
    Ll *l = s->l;
    if (l->machine != &machine_ptx)
        err_at(s->c, o->loc, TARGET, "inline assembly", l->machine->name);
    Form *k = NEW(s->a, Form);
    read_form(s, o, k);
    const Type *rt = result(o, 0)->type;
    int pack = (int)ir_attr(o, ATTR_PACK), first = (int)ir_attr(o, ATTR_START);
    int n = sim_n_regs(result(o, 0)), want = 0;
    for (int i = 0; i < o->n_args; i++) {
        if (arg(o, i)->type->layout != rt->layout)
            sim_bad_layout(s, o);
        want += n_packed(arg(o, i)->type, pack);
    }
    if (want != k->n_in)
        bad_form(s, o, "operands", k->n_in, want);
    if (first + n_packed(rt, pack) > k->n_out)
        bad_form(s, o, "results", k->n_out, first + n_packed(rt, pack));
    Lt ret = k->n_out == 1
                 ? k->out[0]
                 : LLVMStructTypeInContext(l->cx, k->out, (unsigned)k->n_out, 0);
    Lv *to = sim_define(s, result(o, 0));
    for (int at = 0; at < n; at += pack) {
        Lv in[MAX_ASM];
        int n_in = 0;
        for (int i = 0; i < o->n_args; i++) {
            const Type *t = arg(o, i)->type;
            Lv *from = sim_val(s, arg(o, i));
            int bits = packed_bits(t), each = bits < 32 ? MIN(pack, 32 / bits) : 1;
            for (int e = 0; e < pack; e += each) {
                Lt want_t = k->in[n_in];
                Lt word = LLVMIntTypeInContext(l->cx, (unsigned)width(want_t));
                Lv x = NULL;
                for (int j = 0; j < each; j++) {
                    Lv y = as_int(s, t, from[MIN(at + e + j, n - 1)]);
                    if (width(want_t) < bits)
                        bad_form(s, o, "bits of an operand", width(want_t), bits);
                    if (j * bits >= width(want_t))
                        break;
                    y = LLVMBuildZExtOrBitCast(l->b, y, word, "");
                    if (j)
                        y = LLVMBuildShl(
                            l->b, y, LLVMConstInt(word, (unsigned)(j * bits), 0), "");
                    x = x ? LLVMBuildOr(l->b, x, y, "") : y;
                }
                in[n_in++] = LLVMBuildBitCast(l->b, x, want_t, "");
            }
        }
        Lv r = ll_asm(l, ret, k->text, k->constraints, in, n_in,
                      o->op == OP_INLINE_ASM_IO);
        if (o->op == OP_INLINE_ASM)
            mark_pure(l, r);
        int bits = packed_bits(rt), each = bits < 32 ? MIN(pack, 32 / bits) : 1;
        for (int e = 0; e < pack && at + e < n; e++) {
            int reg = first + e / each;
            Lv x = k->n_out == 1 ? r
                                 : LLVMBuildExtractValue(l->b, r, (unsigned)reg, "");
            Lt word = LLVMIntTypeInContext(l->cx, (unsigned)width(k->out[reg]));
            x = LLVMBuildBitCast(l->b, x, word, "");
            int shift = e % each * bits;
            if (width(k->out[reg]) < shift + bits)
                bad_form(s, o, "bits of a result", width(k->out[reg]), shift + bits);
            if (shift)
                x = LLVMBuildLShr(l->b, x, LLVMConstInt(word, (unsigned)shift, 0), "");
            Lt narrow = LLVMIntTypeInContext(l->cx, (unsigned)bits);
            to[at + e] = from_int(s, rt, LLVMBuildTruncOrBitCast(l->b, x, narrow, ""));
        }
    }
}
