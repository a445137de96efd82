/* barriers: where threads wait for each other because of shared memory.
 *
 *     reduce .. shared(at=0, bytes=16)  =>  reduce .. shared(at=0, bytes=16, wait=written)
 *     reduce .. shared(at=0, bytes=16)  =>  reduce .. shared(at=0, .., wait=free|written)
 *
 * Inside of an op its phases wait (scratch_of says which do). In front of its first write it
 * waits, too, where others may still read the place: that is the op's own wait and no
 * `barrier`, because registers and lanes work first and need none. Only a shared_alloc,
 * which does nothing itself, has a `barrier` in front.
 *
 * What orders the user's memory has its barriers from order_memory, and slots that loops
 * fill have theirs from pipeline: both stand in the text when this pass comes.
 */
#include "passes/simt/shared.h"

static void
wait_in_front(SharedWalk *w, Op *o)
{
    (void)w;
    if (!is_shared_alloc(o)) {
        o->place->waits |= WAIT_FREE;
        return;
    }
    Build b = ir_before(o);
    ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
}

static void
wait_inside(SharedWalk *w, Op *o, const InUse *u)
{
    (void)u;
    if (o->place)
        o->place->waits |= scratch_of(w->f, o, o->place->bytes).waits;
}

/* Behind a load that works in the stage of stores, and what is computed of it, as others may still read when one
 * writes its next piece. */
static void
wait_behind(Op *load)
{
    Op *o = load->next;
    while (!op_has(o, OPF_CONTROL | OPF_TERM | OPF_SCRATCH))
        o = o->next;
    Build b = ir_before(o);
    ir_op(&b, OP_BARRIER, 0, NULL, 0, NULL);
}

void
pass_barriers(Func *f)
{
    SharedWalk w = {.f = f, .visit = wait_inside, .clash = wait_in_front};
    shared_walk(&w);
    EACH_OP(o, f->body)
        if (o->op == OP_MAP_LOAD && sent_from_place(o))
            wait_behind(o);
}
