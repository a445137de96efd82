/* assembly: PTX that a kernel's author wrote.
 *
 * The assembly sees registers as its constraints name them (r f l d h). A thread's elements
 * go through it `pack` at a time, in the order of its registers; elements narrower than 32
 * bits share a 32-bit register, the first in the low bits:
 *
 *     pack 4, an f16 operand, "=r,=r,r,r":   $2 = x1:x0   $3 = x3:x2   ->   $0, $1
 *
 * A thread with fewer than `pack` elements repeats its last one.
 *
 * Assembly that does more than compute runs once for each pack: by the threads that own the
 * elements (sim_owner), whose results go to the other holders through shared memory. Two
 * exceptions, both Triton's: scalars go through it in every thread, and so do all copies of
 * a block where threads meet in the text (bar.sync, shfl, ..), which wants all of them.
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

static Form *
read_form(Ll *l, const Op *o)
{
    Form *k = NEW(l->c->arena, Form);
    const char *nl = strchr(o->text, '\n');
    k->constraints = str_intern_n(l->c, o->text, (size_t)(nl - o->text));
    k->text = nl + 1;
    cg_asm_check(l, o, PTX_SPELLING); /* text IR brings what no frontend has read */
    if (l->c->opt.target.kind == TARGET_EMU) /* faults count the author's lines */
        k->text = str_printf(l->c->arena, "//" PTX_AUTHOR "\n%s", k->text);
    cg_asm_form(l, o, &k->form);
    for (int i = 0; i < k->form.n_out + k->form.n_in; i++)
        k->reg[i] = letter_type(l, k->form.letter[i]);
    return k;
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

/* ---- one pack -------------------------------------------------------------------------- */

/* A pack of o: the n elements from `at` on that the thread has. */
typedef struct Pack {
    Ll *l;
    const Op *o;
    const Form *form;
    Lv *const *from; /* of operand i */
    const Lv *mask;  /* NULL: all are on */
    int n, at;
} Pack;

static Lv
either(Ll *l, Lv a, Lv b)
{
    return a && a != b ? LLVMBuildOr(l->b, a, b, "") : b;
}

/* Is any of its elements on? NULL: yes. */
static Lv
pack_runs(const Pack *p)
{
    Lv any = NULL;
    int pack = (int)ir_attr(p->o, ATTR_PACK);
    for (int e = 0; p->mask && e < pack && p->at + e < p->n; e++)
        any = either(p->l, any, p->mask[p->at + e]);
    return any;
}

/* The operands' elements, the pack's own; one that is off is as the first that is on. */
static Lv *
pack_elements(const Pack *p, int i)
{
    Ll *l = p->l;
    int pack = (int)ir_attr(p->o, ATTR_PACK);
    Lv *x = NEW_N(l->c->arena, Lv, pack), lead = NULL;
    for (int e = pack - 1; e >= 0; e--) {
        int at = MIN(p->at + e, p->n - 1);
        x[e] = sim_to_int(l, arg(p->o, i)->type, p->from[i][at]);
        if (p->mask && pack > 1)
            lead = lead ? LLVMBuildSelect(l->b, p->mask[at], x[e], lead, "") : x[e];
    }
    for (int e = 0; lead && e < pack; e++)
        x[e] = LLVMBuildSelect(l->b, p->mask[MIN(p->at + e, p->n - 1)], x[e], lead, "");
    return x;
}

/* The assembly itself: its registers, one or a struct. */
static Lv
pack_call(const Pack *p)
{
    Ll *l = p->l;
    const Op *o = p->o;
    const Form *k = p->form;
    int pack = (int)ir_attr(o, ATTR_PACK), n_out = k->form.n_out, n_in = 0;
    Lv in[PTX_MAX_OPERANDS];
    for (int i = 0; i < ir_n_values(o); i++) {
        int bits = cg_asm_bits(arg(o, i)->type), each = ptx_per_register(bits, pack);
        Lv *y = pack_elements(p, i);
        for (int e = 0; e < pack; e += each) {
            Lt want = k->reg[n_out + n_in];
            Lt word = LLVMIntTypeInContext(l->cx, (unsigned)width(want));
            Lv x = NULL;
            for (int j = 0; j < each && e + j < pack; j++) {
                Lv z = width(want) < bits
                           ? LLVMBuildTrunc(l->b, y[e + j], word, "")
                           : LLVMBuildZExtOrBitCast(l->b, y[e + j], word, "");
                if (j)
                    z = LLVMBuildShl(l->b, z,
                                     LLVMConstInt(word, (unsigned)(j * bits), 0), "");
                x = x ? LLVMBuildOr(l->b, x, z, "") : z;
            }
            in[n_in++] = LLVMBuildBitCast(l->b, x, want, "");
        }
    }
    Lt ret = n_out == 1
                 ? k->reg[0]
                 : LLVMStructTypeInContext(l->cx, (Lt *)k->reg, (unsigned)n_out, 0);
    Lv r = ll_asm(l, ret, k->text, k->constraints, in, n_in, o->op == OP_INLINE_ASM_IO);
    if (o->op == OP_INLINE_ASM)
        ll_mark_pure(l, r);
    return r;
}

/* The results' elements out of r, its registers. */
static void
pack_results(const Pack *p, Lv r, Lv **to)
{
    Ll *l = p->l;
    const Form *k = p->form;
    int pack = (int)ir_attr(p->o, ATTR_PACK), first = 0;
    for (int i = 0; i < p->o->n_results; i++) {
        const Type *t = result(p->o, i)->type;
        int bits = cg_asm_bits(t), each = ptx_per_register(bits, pack);
        Lt narrow = LLVMIntTypeInContext(l->cx, (unsigned)bits);
        for (int e = 0; e < pack && p->at + e < p->n; e++) {
            int reg = first + e / each, shift = e % each * bits;
            Lv x = k->form.n_out == 1
                       ? r
                       : LLVMBuildExtractValue(l->b, r, (unsigned)reg, "");
            Lt word = LLVMIntTypeInContext(l->cx, (unsigned)width(k->reg[reg]));
            x = LLVMBuildBitCast(l->b, x, word, "");
            if (shift)
                x = LLVMBuildLShr(l->b, x, LLVMConstInt(word, (unsigned)shift, 0), "");
            x = width(k->reg[reg]) < bits
                    ? LLVMBuildZExt(l->b, x, narrow, "")
                    : LLVMBuildTruncOrBitCast(l->b, x, narrow, "");
            to[i][p->at + e] = sim_from_int(l, t, x);
        }
        first += ptx_registers(bits, pack);
    }
}

/* Elements that are off get 0: those of a pack that did not run, from the block `skipped`, and
 * single ones of a pack that did. */
static void
join_pack(const Pack *p, LLVMBasicBlockRef ran, LLVMBasicBlockRef skipped, Lv **to)
{
    Ll *l = p->l;
    int pack = (int)ir_attr(p->o, ATTR_PACK);
    for (int i = 0; i < p->o->n_results; i++)
        for (int e = p->at; e < p->at + pack && e < p->n; e++) {
            Lv x = to[i][e], zero = LLVMConstNull(LLVMTypeOf(x));
            to[i][e] = ll_join(l, x, ran, zero, skipped);
        }
    for (int i = 0; pack > 1 && i < p->o->n_results; i++)
        for (int e = p->at; e < p->at + pack && e < p->n; e++)
            to[i][e] = LLVMBuildSelect(l->b, p->mask[e], to[i][e],
                                       LLVMConstNull(LLVMTypeOf(to[i][e])), "");
}

static void
run_pack(const Pack *p, Lv **to)
{
    Ll *l = p->l;
    Lv runs = pack_runs(p);
    if (!runs) {
        pack_results(p, pack_call(p), to);
        return;
    }
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b), run = ll_block(l, "assembly"),
                      on = ll_block(l, "assembled");
    ll_if(l, runs, run, on);
    pack_results(p, pack_call(p), to);
    ll_jump(l, on);
    join_pack(p, run, before, to);
}

/* n elements of the thread. */
static void
through(Ll *l, const Op *o, int n, Lv *const *from, Lv *mask, Lv **to)
{
    Pack p = {l, o, read_form(l, o), from, mask, n, 0};
    for (; p.at < n; p.at += (int)ir_attr(o, ATTR_PACK))
        run_pack(&p, to);
}

/* ---- ops ------------------------------------------------------------------------------- */

void
sim_inline_asm(Sim *s, const Op *o)
{
    const Val *first = result(o, 0);
    int n_in = ir_n_values(o), n = sim_n_regs(first);
    Lv **from = NEW_N(s->a, Lv *, n_in + 1), **to = NEW_N(s->a, Lv *, o->n_results);
    for (int i = 0; i < o->n_args; i++)
        if (arg(o, i)->type->layout != first->type->layout)
            sim_bad_layout(s, o);
    for (int i = 0; i < n_in; i++)
        from[i] = sim_val(s, arg(o, i));
    Lv *mask = NULL, *given = n_in < o->n_args ? sim_val(s, arg(o, n_in)) : NULL,
       owner = asm_by_owners(o) ? sim_owner(s, first->type->layout) : NULL;
    if (given || owner) {
        mask = NEW_N(s->a, Lv, n);
        for (int e = 0; e < n; e++)
            mask[e] = sim_and(s, owner, given ? given[e] : NULL);
    }
    for (int i = 0; i < o->n_results; i++) {
        if (result(o, i)->type->layout != first->type->layout)
            sim_bad_layout(s, o);
        to[i] = sim_define(s, result(o, i));
    }
    through(s->l, o, n, from, mask, to);
    if (owner)
        sim_share_results(s, o);
}

void
simt_assembly(Ll *l, const Op *o, Lv *x, Lv *out)
{
    Lv **from = NEW_N(l->c->arena, Lv *, o->n_args + 1),
       **to = NEW_N(l->c->arena, Lv *, o->n_results);
    for (int i = 0; i < o->n_args; i++)
        from[i] = &x[i];
    for (int i = 0; i < o->n_results; i++)
        to[i] = &out[i];
    if (ir_attr(o, ATTR_PACK) != 1 || (o->n_args && ll_lanes(x[0])))
        err_at(l->c, o->loc, LIMIT, "assembly with pack in a reduction or a scan");
    through(l, o, 1, from, NULL, to);
}
