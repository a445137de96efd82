/* control: for, while, if as LLVM blocks; a phi for every register of a carried value.
 *
 * Conditions and bounds are scalars, the same in all threads, so every thread of a program
 * takes the same way and barriers inside are safe.
 */
#include "codegen/simt/simt.h"

/* ---- phis ------------------------------------------------------------------------------ */

/* How many elements one phi carries: narrow ones travel as words, so that fragments which
 * go round a loop need not be taken apart. */
static int
per_phi(const Val *v)
{
    const Type *t = v->type;
    int bytes = ty_bytes(t), n = sim_n_regs(v);
    return t->rank && t->elem != E_I1 && bytes < 4 && n % (4 / bytes) == 0 ? 4 / bytes
                                                                           : 1;
}

static int
n_parts(const Val *v)
{
    return sim_n_regs(v) / per_phi(v);
}

/* What travels at once: the parts of several values, one behind the other. */
typedef struct Parts {
    Lv *at;
    int n;
} Parts;

/* Of the n operands of o from `first` on; they are packed here, in front of the jump. */
static Parts
all_parts(Sim *s, const Op *o, int first, int n)
{
    Parts p = {0};
    for (int i = first; i < first + n; i++)
        p.n += n_parts(arg(o, i));
    Lv *to = p.at = NEW_N(s->a, Lv, p.n + 1);
    for (int i = first; i < first + n; i++) {
        const Val *v = arg(o, i);
        int per = per_phi(v);
        Lv *regs = sim_val(s, v);
        for (int r = 0; r < sim_n_regs(v); r += per)
            *to++ = per > 1 ? sim_pack_word(s, v->type, regs + r, per) : regs[r];
    }
    return p;
}

/* Phis in the current block, each with its first incoming value; close_all defines their values, when
 * all phis of the block are there. */
static Lv *
open_all(Sim *s, Parts p, LLVMBasicBlockRef from)
{
    Lv *phis = NEW_N(s->a, Lv, p.n + 1);
    for (int i = 0; i < p.n; i++)
        phis[i] = ll_phi(s->l, p.at[i], from);
    return phis;
}

static void
add_all(Lv *phis, Parts p, LLVMBasicBlockRef from)
{
    for (int i = 0; i < p.n; i++)
        LLVMAddIncoming(phis[i], &p.at[i], &from, 1);
}

static void
close_all(Sim *s, Val *const *to, int n, Lv *phi)
{
    for (int i = 0; i < n; i++) {
        int per = per_phi(to[i]);
        Lv *regs = sim_define(s, to[i]);
        for (int r = 0; r < sim_n_regs(to[i]); r += per, phi++) {
            if (per > 1)
                sim_unpack_word(s, to[i]->type, *phi, per, regs + r);
            else
                regs[r] = *phi;
        }
    }
}

static void
same_registers(Sim *s, const Val *to, const Val *from)
{
    s->vals[to->id] = sim_val(s, from);
}

static LLVMBasicBlockRef
here(Sim *s)
{
    return LLVMGetInsertBlock(s->l->b);
}

/* ---- for --------------------------------------------------------------------------------- */

/* Which way the loop goes, and how far a step takes it. */
typedef struct Direction {
    Lv is_down; /* i1; NULL: known, see down */
    bool down;
    Lv distance; /* |step| */
} Direction;

static Direction
direction(Sim *s, const Op *o, Lv step)
{
    Ll *l = s->l;
    Direction d = {.distance = step};
    int64_t by;
    if (!elem_is_signed(arg(o, 0)->type->elem))
        return d;
    if (ir_const_as_int(arg(o, 2), &by)) {
        d.down = by < 0;
        if (d.down)
            d.distance = LLVMBuildNeg(l->b, step, "");
        return d;
    }
    d.is_down = LLVMBuildICmp(l->b, LLVMIntSLT, step, LLVMConstNull(LLVMTypeOf(step)),
                              "");
    d.distance = LLVMBuildSelect(l->b, d.is_down, LLVMBuildNeg(l->b, step, ""), step,
                                 "");
    return d;
}

/* up, down, or which of them is_down says. */
static Lv
either(Sim *s, const Direction *d, Lv up, Lv down)
{
    if (d->is_down)
        return LLVMBuildSelect(s->l->b, d->is_down, down, up, "");
    return d->down ? down : up;
}

static Lv
enters(Sim *s, const Op *o, const Direction *d, Lv lb, Lv ub)
{
    bool is_signed = elem_is_signed(arg(o, 0)->type->elem);
    LLVMBuilderRef b = s->l->b;
    return either(s, d,
                  LLVMBuildICmp(b, is_signed ? LLVMIntSLT : LLVMIntULT, lb, ub, ""),
                  LLVMBuildICmp(b, LLVMIntSGT, lb, ub, ""));
}

/* Is there another step before ub? By what is left and not by iv + step, which could leave
 * the type. iv is before ub, so what is left is a positive number without a sign. */
static Lv
goes_on(Sim *s, const Direction *d, Lv iv, Lv ub)
{
    LLVMBuilderRef b = s->l->b;
    Lv left = either(s, d, LLVMBuildSub(b, ub, iv, ""), LLVMBuildSub(b, iv, ub, ""));
    return LLVMBuildICmp(b, LLVMIntUGT, left, d->distance, "");
}

/* Pointers of copies that run ahead go round the loop each by itself. LLVM would keep them
 * all as what they began with, and add one running offset to each before its use: as many
 * additions, and twice the registers. What is added to a phi and used nowhere else stays
 * as it is, so that it is seen to be dead. */
static void
keep_pointers(Sim *s, const Block *b, const Lv *phi, Lv *part)
{
    if (!s->m->opaque || !ir_has_op(b, OP_ASYNC_COPY))
        return;
    for (int i = 0; i < b->last->n_args; i++) {
        const Val *v = arg(b->last, i);
        for (int r = 0; r < n_parts(v); r++, phi++, part++) {
            LLVMUseRef u = v->type->is_ptr ? LLVMGetFirstUse(*phi) : NULL;
            if (u && LLVMGetNextUse(u))
                *part = s->m->opaque(s->l, *part);
        }
    }
}

/* A guard, then the body with its test below: LICM needs no other form. */
void
sim_for(Sim *s, const Op *o)
{
    Ll *l = s->l;
    const Block *b = o->regions[0];
    Lv lb = sim_val(s, arg(o, 0))[0], ub = sim_val(s, arg(o, 1))[0],
       step = sim_val(s, arg(o, 2))[0];
    Direction d = direction(s, o, step);
    int n = o->n_results;
    Val *const *carried = b->args + 1;
    Parts init = all_parts(s, o, 3, n);
    LLVMBasicBlockRef before = here(s), body = ll_block(l, "for"),
                      after = ll_block(l, "done");
    ll_if(l, enters(s, o, &d, lb, ub), body, after);
    Lv iv = sim_define(s, b->args[0])[0] = ll_phi(l, lb, before);
    Lv *phis = open_all(s, init, before);
    close_all(s, carried, n, phis);
    sim_block(s, b);
    Lv more = goes_on(s, &d, iv, ub), next = LLVMBuildAdd(l->b, iv, step, "");
    Parts yielded = all_parts(s, b->last, 0, n);
    keep_pointers(s, b, phis, yielded.at);
    LLVMBasicBlockRef end = here(s);
    LLVMAddIncoming(iv, &next, &end, 1);
    add_all(phis, yielded, end);
    Lv branch = LLVMBuildCondBr(l->b, more, body, after);
    if (ir_attr(o, ATTR_UNROLL) == 1)
        ll_keep_rolled(l, branch);

    LLVMMoveBasicBlockAfter(after, end);
    LLVMPositionBuilderAtEnd(l->b, after);
    phis = open_all(s, init, before);
    add_all(phis, yielded, end);
    close_all(s, o->results, n, phis);
    if (l->team_threads && ir_has_op(b, OP_MMA_START)) /* alone on a multiprocessor */
        sim_begin_anew(s);
}

/* ---- while ---------------------------------------------------------------------------------- */

void
sim_while(Sim *s, const Op *o)
{
    Ll *l = s->l;
    const Block *test = o->regions[0], *b = o->regions[1];
    LLVMBasicBlockRef before = here(s), head = ll_block(l, "while"),
                      body = ll_block(l, "do"), after = ll_block(l, "done");
    int n = test->n_args;
    Parts init = all_parts(s, o, 0, n);
    ll_jump(l, head);
    Lv *phis = open_all(s, init, before);
    close_all(s, test->args, n, phis);
    sim_block(s, test);
    ll_if(l, sim_val(s, arg(test->last, 0))[0], body, after);
    for (int i = 0; i < b->n_args; i++)
        same_registers(s, b->args[i], arg(test->last, i + 1));
    sim_block(s, b);
    Parts yielded = all_parts(s, b->last, 0, n);
    LLVMBasicBlockRef end = here(s);
    add_all(phis, yielded, end);
    LLVMBuildBr(l->b, head);

    LLVMMoveBasicBlockAfter(after, end);
    LLVMPositionBuilderAtEnd(l->b, after);
    for (int i = 0; i < o->n_results; i++)
        same_registers(s, result(o, i), arg(test->last, i + 1));
}

/* ---- if --------------------------------------------------------------------------------------- */

void
sim_if(Sim *s, const Op *o)
{
    Ll *l = s->l;
    LLVMBasicBlockRef way[2], end[2], after = ll_block(l, "fi");
    way[0] = ll_block(l, "then");
    way[1] = o->n_regions > 1 ? ll_block(l, "else") : after;
    LLVMBuildCondBr(l->b, sim_val(s, arg(o, 0))[0], way[0], way[1]);
    Parts parts[2];
    for (int k = 0; k < o->n_regions; k++) {
        LLVMPositionBuilderAtEnd(l->b, way[k]);
        sim_block(s, o->regions[k]);
        parts[k] = all_parts(s, o->regions[k]->last, 0, o->n_results);
        LLVMBuildBr(l->b, after);
        end[k] = here(s);
    }
    LLVMMoveBasicBlockAfter(after, end[o->n_regions - 1]);
    LLVMPositionBuilderAtEnd(l->b, after);
    if (!o->n_results)
        return;
    Lv *phis = open_all(s, parts[0], end[0]);
    add_all(phis, parts[1], end[1]);
    close_all(s, o->results, o->n_results, phis);
}
