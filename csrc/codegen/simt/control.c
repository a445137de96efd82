/* control: for, while, if as LLVM blocks; a phi for every register of a carried value.
 *
 * Conditions and bounds are scalars, the same in all threads, so every thread of a program
 * takes the same way and barriers inside are safe.
 */
#include "codegen/simt/simt.h"

/* ---- phis ------------------------------------------------------------------------------ */

/* Phis of v's registers in the current block, each with its first incoming value. */
static void
open_phis(Sim *s, const Val *v, const Val *init, LLVMBasicBlockRef from)
{
    Lv *first = sim_val(s, init), *phi = sim_define(s, v);
    for (int i = 0; i < sim_n_regs(v); i++) {
        phi[i] = LLVMBuildPhi(s->l->b, LLVMTypeOf(first[i]), "");
        LLVMAddIncoming(phi[i], &first[i], &from, 1);
    }
}

static void
add_incoming(Sim *s, const Val *v, const Val *next, LLVMBasicBlockRef from)
{
    Lv *phi = sim_val(s, v), *value = sim_val(s, next);
    for (int i = 0; i < sim_n_regs(v); i++)
        LLVMAddIncoming(phi[i], &value[i], &from, 1);
}

static void
same_registers(Sim *s, const Val *to, const Val *from)
{
    s->vals[to->id] = s->vals[from->id];
}

static LLVMBasicBlockRef
here(Sim *s)
{
    return LLVMGetInsertBlock(s->l->b);
}

/* ---- for --------------------------------------------------------------------------------- */

/* Which way the loop goes, and how far a step takes it. */
typedef struct Direction {
    Lv is_down;             /* i1; NULL: known, see down */
    bool down;
    Lv distance;            /* |step| */
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
    d.is_down = LLVMBuildICmp(l->b, LLVMIntSLT, step, LLVMConstNull(LLVMTypeOf(step)), "");
    d.distance = LLVMBuildSelect(l->b, d.is_down, LLVMBuildNeg(l->b, step, ""), step, "");
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
    return either(s, d, LLVMBuildICmp(b, is_signed ? LLVMIntSLT : LLVMIntULT, lb, ub, ""),
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

/* A guard, then the body with its test below: LICM needs no other form. */
void
sim_for(Sim *s, const Op *o)
{
    Ll *l = s->l;
    const Block *b = o->regions[0];
    Lv lb = sim_val(s, arg(o, 0))[0], ub = sim_val(s, arg(o, 1))[0],
       step = sim_val(s, arg(o, 2))[0];
    Direction d = direction(s, o, step);
    LLVMBasicBlockRef before = here(s), body = ll_block(l, "for"), after = ll_block(l, "done");
    LLVMBuildCondBr(l->b, enters(s, o, &d, lb, ub), body, after);

    LLVMPositionBuilderAtEnd(l->b, body);
    open_phis(s, b->args[0], arg(o, 0), before);
    for (int i = 0; i < o->n_results; i++)
        open_phis(s, b->args[i + 1], arg(o, i + 3), before);
    Lv iv = sim_val(s, b->args[0])[0];
    sim_block(s, b);
    Lv more = goes_on(s, &d, iv, ub), next = LLVMBuildAdd(l->b, iv, step, "");
    LLVMBasicBlockRef end = here(s);
    LLVMAddIncoming(iv, &next, &end, 1);
    for (int i = 0; i < o->n_results; i++)
        add_incoming(s, b->args[i + 1], arg(b->last, i), end);
    LLVMBuildCondBr(l->b, more, body, after);

    LLVMMoveBasicBlockAfter(after, end);
    LLVMPositionBuilderAtEnd(l->b, after);
    for (int i = 0; i < o->n_results; i++) {
        open_phis(s, result(o, i), arg(o, i + 3), before);
        add_incoming(s, result(o, i), arg(b->last, i), end);
    }
}

/* ---- while ---------------------------------------------------------------------------------- */

void
sim_while(Sim *s, const Op *o)
{
    Ll *l = s->l;
    const Block *test = o->regions[0], *b = o->regions[1];
    LLVMBasicBlockRef before = here(s), head = ll_block(l, "while"), body = ll_block(l, "do"),
                      after = ll_block(l, "done");
    LLVMBuildBr(l->b, head);
    LLVMPositionBuilderAtEnd(l->b, head);
    for (int i = 0; i < test->n_args; i++)
        open_phis(s, test->args[i], arg(o, i), before);
    sim_block(s, test);
    LLVMBuildCondBr(l->b, sim_val(s, arg(test->last, 0))[0], body, after);

    LLVMPositionBuilderAtEnd(l->b, body);
    for (int i = 0; i < b->n_args; i++)
        same_registers(s, b->args[i], arg(test->last, i + 1));
    sim_block(s, b);
    LLVMBasicBlockRef end = here(s);
    for (int i = 0; i < test->n_args; i++)
        add_incoming(s, test->args[i], arg(b->last, i), end);
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
    for (int k = 0; k < o->n_regions; k++) {
        LLVMPositionBuilderAtEnd(l->b, way[k]);
        sim_block(s, o->regions[k]);
        LLVMBuildBr(l->b, after);
        end[k] = here(s);
    }
    LLVMMoveBasicBlockAfter(after, end[o->n_regions - 1]);
    LLVMPositionBuilderAtEnd(l->b, after);
    for (int i = 0; i < o->n_results; i++) {
        open_phis(s, result(o, i), arg(o->regions[0]->last, i), end[0]);
        add_incoming(s, result(o, i), arg(o->regions[1]->last, i), end[1]);
    }
}
