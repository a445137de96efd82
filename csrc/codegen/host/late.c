/* late: a loop's products are made several turns at a time.
 *
 *     for k:                                      for k:
 *         acc += a[k] @ b[k]            =>            list[waiting++] = a[k], b[k] in scratch
 *                                                     if waiting == turns or this turn is the last:
 *                                                         acc += sum of all a @ b of the list
 *                                                         waiting = 0
 *
 * A block of 64 x 64 with 32 of K is read and written once for 32 products of an element: by AMX
 * eight tiles go to scratch and back for four products of tiles. So the operands of some turns wait,
 * each in a place of its own, until they are DEEP together, as if the kernel's block had been so deep.
 *
 * Rule 1: nobody but the product reads the sum in the loop, or what is not yet in it would miss.
 * Rule 2: what waits lies where nothing else does (host_own_buf), or is not written in the loop at all.
 * Rule 3: nothing waits behind the last turn. A loop that a signal ends leaves the whole program.
 */
#include "codegen/host/dot.h"

enum {
    DEEP = 512, /* bytes of K, by AMX */
    DEEP_ALONE =
        256, /* by vectors, to which a longer panel comes from the second cache */
    ROOM =
        512 << 10, /* of all operands that wait: a quarter of a second cache of today */
    FIRST_CACHE = 48 << 10,
};

/* Is the sum carried by the loop of the product, and by nobody else? */
static bool
only_adds_up(const Op *o)
{
    const Val *acc = arg(o, 2), *r = result(o, 0);
    const Op *loop = o->block->owner;
    if (!loop || loop->op != OP_FOR || acc->def || acc->block != o->block ||
        acc->uses->next || !r->uses || r->uses->next)
        return false;
    return r->uses->user == o->block->last && arg(o->block->last, acc->index - 1) == r;
}

/* Is an operand put into scratch by the product itself, or the same in all turns? */
static bool
may_wait(Host *h, const Op *o, const Val *v)
{
    return v->block != o->block || state(h, v)->kind == V_LAZY;
}

static int64_t
bytes_of(const Type *t)
{
    return ty_numel(t) * elem_info[t->elem].bytes;
}

/* Vectors read and write a sum in the first cache at little cost, and want their operands there.
 * Bytes have sums of columns beside them (dot.c), for which there is one place. */
static bool
is_worth_it(const Product *p)
{
    return p->has_tiles ||
           (p->group < 4 && bytes_of(result(p->o, 0)->type) > FIRST_CACHE);
}

void
host_plan_late(Host *h, Product *p)
{
    Ll *l = h->l;
    const Op *o = p->o;
    Late *w = &p->late;
    w->turns = 1;
    int64_t deep = p->at->shape[p->at->rank - 1] * elem_info[p->at->elem].bytes;
    int64_t room = bytes_of(p->at) + bytes_of(p->bt);
    int64_t most = p->has_tiles ? DEEP : DEEP_ALONE;
    if (!is_worth_it(p) || !only_adds_up(o) || !may_wait(h, o, arg(o, 0)) ||
        !may_wait(h, o, arg(o, 1)))
        return;
    while (deep * w->turns * 2 <= most && room * w->turns * 2 <= ROOM)
        w->turns *= 2;
    if (w->turns == 1)
        return;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    w->slot = host_slot(h, l->i64);
    LLVMPositionBuilderBefore(l->b, LLVMGetBasicBlockTerminator(h->entry));
    LLVMBuildStore(l->b, ll_i64(l, 0), w->slot);
    LLVMPositionBuilderAtEnd(l->b, here);
    w->waiting = LLVMBuildLoad2(l->b, l->i64, w->slot, "");
    w->list = host_own_buf(h, (int64_t)3 * w->turns * 8, host_pos(h, o->block->owner));
}

Lv
host_late_offset(Host *h, const Product *p, int64_t bytes)
{
    return p->late.turns > 1
               ? LLVMBuildMul(h->l->b, p->late.waiting, ll_i64(h->l, bytes), "")
               : ll_i64(h->l, 0);
}

Buf *
host_late_buf(Host *h, const Product *p, int64_t bytes)
{
    if (p->late.turns == 1)
        return host_buf(h, bytes, host_pos(h, p->o));
    Buf *all = host_own_buf(h, p->late.turns * bytes, host_pos(h, p->o->block->owner));
    Buf *b = NEW(h->c->arena, Buf);
    b->at = ll_byte_at(h->l, ll_byte_at(h->l, h->scratch, ll_i64(h->l, all->offset)),
                       host_late_offset(h, p, bytes));
    b->is_fixed = true;
    return b;
}

/* Of operand i of a turn in the list; 2: of its number of products. */
static Lv
place(Host *h, const Product *p, int i, Lv turn)
{
    Ll *l = h->l;
    Lv n = LLVMBuildAdd(l->b, turn, ll_i64(l, (int64_t)i * p->late.turns), "");
    Lv at = LLVMBuildMul(l->b, n, ll_i64(l, 8), "");
    return ll_byte_at(
        h->l, ll_byte_at(h->l, h->scratch, ll_i64(l, p->late.list->offset)), at);
}

void
host_late_open(Host *h, Product *p)
{
    Ll *l = h->l;
    Late *w = &p->late;
    if (w->turns == 1)
        return;
    const View *side[] = {&p->a, &p->b};
    bool waits = p->out.buf == p->acc.buf;
    for (int i = 0; i < 2; i++) {
        const Buf *b = side[i]->buf;
        waits &= b->is_fixed || arg(p->o, i)->block != p->o->block;
        Lv at = ll_byte_at(h->l, b->at ? b->at : h->scratch, ll_i64(l, b->offset));
        LLVMBuildStore(l->b, at, place(h, p, i, w->waiting));
    }
    if (p->k)
        LLVMBuildStore(l->b, p->k, place(h, p, 2, w->waiting));
    Lv all = LLVMBuildAdd(l->b, w->waiting, ll_i64(l, 1), "");
    Lv is_full = LLVMBuildICmp(l->b, LLVMIntEQ, all, ll_i64(l, waits ? w->turns : 1),
                               "");
    Lv is_last = LLVMBuildICmp(l->b, LLVMIntEQ, h->turns_left, ll_i64(l, 1), "");
    Lv now = LLVMBuildOr(l->b, is_full, is_last, "");
    LLVMBuildStore(l->b, LLVMBuildSelect(l->b, now, ll_i64(l, 0), all, ""), w->slot);
    w->waiting = all;
    host_when_open(h, &w->when, now);
}

void
host_late_close(Host *h, Product *p)
{
    if (p->late.turns > 1)
        host_when_close(h, &p->late.when);
}

void
host_take_late(Host *h, Product *p, Lv turn)
{
    if (p->late.turns == 1)
        return;
    View *side[] = {&p->a, &p->b};
    for (int i = 0; i < 2; i++) {
        Buf *b = NEW(h->c->arena, Buf);
        b->at = LLVMBuildLoad2(h->l->b, h->l->ptr, place(h, p, i, turn), "");
        side[i]->buf = b;
    }
    if (p->k)
        p->k = LLVMBuildLoad2(h->l->b, h->l->i64, place(h, p, 2, turn), "");
}
