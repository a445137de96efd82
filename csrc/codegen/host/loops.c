/* loops: what all code of a nest is built of: loops, branches, slots on the stack, a mask's answer for all
 * lanes.
 */
#include "codegen/host/host.h"

void
host_loop_open(Host *h, Loop *p, int64_t n, int64_t step)
{
    Ll *l = h->l;
    p->n = n, p->step = step, p->end = NULL;
    if (n <= step) { /* one iteration: no loop */
        p->head = NULL;
        p->index = ll_i64(l, 0);
        return;
    }
    p->before = LLVMGetInsertBlock(l->b);
    p->head = ll_block(l, "loop");
    ll_jump(l, p->head);
    p->index = LLVMBuildPhi(l->b, l->i64, "i");
    LLVMAddIncoming(p->index, (Lv[]){ll_i64(l, 0)}, &p->before, 1);
}

void
host_loop_open_to(Host *h, Loop *p, Lv end)
{
    host_loop_open(h, p, INT64_MAX, 1);
    p->end = end;
}

void
host_steps_open(Host *h, Loop *p, int64_t n, int64_t step, Lv end)
{
    host_loop_open(h, p, n, step);
    if (p->head)
        p->end = end;
}

void
host_loop_close(Host *h, Loop *p)
{
    Ll *l = h->l;
    if (!p->head)
        return;
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(l->b), after = ll_block(l, "done");
    Lv next = LLVMBuildNUWAdd(l->b, p->index, ll_i64(l, p->step), "");
    LLVMAddIncoming(p->index, &next, &latch, 1);
    Lv more = LLVMBuildICmp(l->b, LLVMIntULT, next, p->end ? p->end : ll_i64(l, p->n),
                            "");
    LLVMBuildCondBr(l->b, more, p->head, after);
    LLVMPositionBuilderAtEnd(l->b, after);
}

void
host_when_open(Host *h, When *w, Lv cond)
{
    Ll *l = h->l;
    w->before = LLVMGetInsertBlock(l->b);
    w->then = ll_block(l, "then");
    w->after = ll_block(l, "after");
    ll_if(l, cond, w->then, w->after);
}

void
host_when_close(Host *h, When *w)
{
    Ll *l = h->l;
    w->then = LLVMGetInsertBlock(l->b);
    ll_jump(l, w->after);
}

/* ---- the stack, and masks ---------------------------------------------------------------- */

Lv
host_slot(Host *h, Lt t)
{
    Ll *l = h->l;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    LLVMPositionBuilderBefore(l->b, LLVMGetBasicBlockTerminator(h->entry));
    Lv p = LLVMBuildAlloca(l->b, t, "");
    LLVMPositionBuilderAtEnd(l->b, here);
    return p;
}

/* Spreads a vector to the stack as an array of elem (i1 vectors as bytes). */
Lv
host_spill(Host *h, Lv x)
{
    Ll *l = h->l;
    if (LLVMTypeOf(x) == ll_vec(l->i1, ll_lanes(x)))
        x = LLVMBuildZExt(l->b, x, ll_vec(l->i8, ll_lanes(x)), "");
    Lv p = host_slot(h, LLVMTypeOf(x));
    LLVMBuildStore(l->b, x, p);
    return p;
}

Lv
host_bits(Host *h, Lv mask)
{
    Ll *l = h->l;
    Lt bits = LLVMIntTypeInContext(l->cx, (unsigned)MAX(ll_lanes(mask), 1));
    Lv x = LLVMBuildBitCast(l->b, mask, bits, "");
    return bits == l->i64 ? x : LLVMBuildZExt(l->b, x, l->i64, "");
}

Lv
host_any(Host *h, Lv mask)
{
    Ll *l = h->l;
    int lanes = ll_lanes(mask);
    if (!lanes)
        return mask;
    Lt bits = LLVMIntTypeInContext(l->cx, (unsigned)lanes);
    Lv w = LLVMBuildBitCast(l->b, mask, bits, "");
    return LLVMBuildICmp(l->b, LLVMIntNE, w, LLVMConstNull(bits), "");
}

Lv
host_all(Host *h, Lv mask)
{
    Ll *l = h->l;
    if (!ll_lanes(mask))
        return mask;
    Lt bits = LLVMIntTypeInContext(l->cx, (unsigned)ll_lanes(mask));
    Lv w = LLVMBuildBitCast(l->b, mask, bits, "");
    return LLVMBuildICmp(l->b, LLVMIntEQ, w, LLVMConstAllOnes(bits), "");
}
