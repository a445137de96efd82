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

/* v's registers as they travel; they are packed here, in front of the jump. */
static Lv *
parts_of(Sim *s, const Val *v)
{
    int per = per_phi(v), n = sim_n_regs(v) / per;
    Lv *regs = sim_val(s, v), *part = NEW_N(s->a, Lv, n);
    for (int i = 0; i < n; i++)
        part[i] = per > 1 ? sim_pack_word(s, v->type, regs + i * per, per) : regs[i];
    return part;
}

static void
add_incoming(const Val *v, Lv *phi, Lv *part, LLVMBasicBlockRef from)
{
    for (int i = 0; i < sim_n_regs(v) / per_phi(v); i++)
        LLVMAddIncoming(phi[i], &part[i], &from, 1);
}

/* Phis for v in the current block, each with its first incoming value. v itself is defined
 * by close_phis, when all phis of the block are there. */
static Lv *
open_phis(Sim *s, const Val *v, Lv *part, LLVMBasicBlockRef from)
{
    int n = sim_n_regs(v) / per_phi(v);
    Lv *phi = NEW_N(s->a, Lv, n);
    for (int i = 0; i < n; i++)
        phi[i] = LLVMBuildPhi(s->l->b, LLVMTypeOf(part[i]), "");
    add_incoming(v, phi, part, from);
    return phi;
}

static void
close_phis(Sim *s, const Val *v, Lv *phi)
{
    int per = per_phi(v);
    Lv *regs = sim_define(s, v);
    for (int i = 0; i < sim_n_regs(v) / per; i++) {
        if (per > 1)
            sim_unpack_word(s, v->type, phi[i], per, regs + i * per);
        else
            regs[i] = phi[i];
    }
}

/* For each of the n operands of o from `first` on: parts_of. */
static Lv **
all_parts(Sim *s, const Op *o, int first, int n)
{
    Lv **parts = NEW_N(s->a, Lv *, n + 1);
    for (int i = 0; i < n; i++)
        parts[i] = parts_of(s, arg(o, first + i));
    return parts;
}

/* Phis for the n values `to`, which begin as `parts` when coming from `from`. */
static Lv **
open_all(Sim *s, Val *const *to, int n, Lv **parts, LLVMBasicBlockRef from)
{
    Lv **phis = NEW_N(s->a, Lv *, n + 1);
    for (int i = 0; i < n; i++)
        phis[i] = open_phis(s, to[i], parts[i], from);
    return phis;
}

static void
add_all(Val *const *to, int n, Lv **phis, Lv **parts, LLVMBasicBlockRef from)
{
    for (int i = 0; i < n; i++)
        add_incoming(to[i], phis[i], parts[i], from);
}

static void
close_all(Sim *s, Val *const *to, int n, Lv **phis)
{
    for (int i = 0; i < n; i++)
        close_phis(s, to[i], phis[i]);
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
keep_pointers(Sim *s, const Block *b, Lv **phis, Lv **parts)
{
    if (!s->m->opaque || !ir_has_op(b, OP_ASYNC_COPY))
        return;
    for (int i = 0; i < b->last->n_args; i++) {
        const Val *v = arg(b->last, i);
        for (int r = 0; phis[i] && v->type->is_ptr && r < sim_n_regs(v); r++) {
            LLVMUseRef u = LLVMGetFirstUse(phis[i][r]);
            if (u && LLVMGetNextUse(u))
                parts[i][r] = s->m->opaque(s->l, parts[i][r]);
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
    Lv **init = all_parts(s, o, 3, n);
    LLVMBasicBlockRef before = here(s), body = ll_block(l, "for"),
                      after = ll_block(l, "done");
    ll_if(l, enters(s, o, &d, lb, ub), body, after);
    Lv iv = sim_define(s, b->args[0])[0] = ll_phi(l, lb, before);
    Lv **phis = open_all(s, carried, n, init, before);
    close_all(s, carried, n, phis);
    sim_block(s, b);
    Lv more = goes_on(s, &d, iv, ub), next = LLVMBuildAdd(l->b, iv, step, "");
    Lv **yielded = all_parts(s, b->last, 0, n);
    keep_pointers(s, b, phis, yielded);
    LLVMBasicBlockRef end = here(s);
    LLVMAddIncoming(iv, &next, &end, 1);
    add_all(carried, n, phis, yielded, end);
    Lv branch = LLVMBuildCondBr(l->b, more, body, after);
    if (ir_attr(o, ATTR_UNROLL) == 1)
        ll_keep_rolled(l, branch);

    LLVMMoveBasicBlockAfter(after, end);
    LLVMPositionBuilderAtEnd(l->b, after);
    phis = open_all(s, o->results, n, init, before);
    add_all(o->results, n, phis, yielded, end);
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
    Lv **init = all_parts(s, o, 0, n);
    ll_jump(l, head);
    Lv **phis = open_all(s, test->args, n, init, before);
    close_all(s, test->args, n, phis);
    sim_block(s, test);
    ll_if(l, sim_val(s, arg(test->last, 0))[0], body, after);
    for (int i = 0; i < b->n_args; i++)
        same_registers(s, b->args[i], arg(test->last, i + 1));
    sim_block(s, b);
    Lv **yielded = all_parts(s, b->last, 0, n);
    LLVMBasicBlockRef end = here(s);
    add_all(test->args, n, phis, yielded, end);
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
    Lv **parts[2];
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
    Lv **phis = open_all(s, o->results, o->n_results, parts[0], end[0]);
    add_all(o->results, o->n_results, phis, parts[1], end[1]);
    close_all(s, o->results, o->n_results, phis);
}
