/* scratch: the places that ops have in shared memory, and their waits, as code.
 *
 * Both are in the IR (SharedPlace, ir.h): the passes place_shared and barriers have decided them.
 */
#include "codegen/simt/simt.h"

/* What a place must be for the op to stay inside of it. Text may say otherwise. */
static void
check_place(Sim *s, const Op *o)
{
    Scratch k = scratch_of(s->f, o, o->place ? o->place->bytes : 0);
    const char *wrong = NULL;
    if (k.bytes && !o->place)
        wrong = "there is none: run place_shared and barriers";
    else if (o->place && o->place->bytes < k.bytes)
        wrong = str_printf(s->a, "it wants %lld bytes", (long long)k.bytes);
    else if (o->place && o->place->at % k.align)
        wrong = str_printf(s->a, "it must begin at a multiple of %d", k.align);
    else if ((o->place && o->place->mbar >= 0) != (k.is_exchange || k.meets) ||
             (ir_attr(o, ATTR_DEALT) && !k.is_dealt))
        wrong = "mbar and dealt do not go with these layouts";
    if (!wrong && k.is_exchange && o->block != s->f->body)
        wrong = "exchanges of a cluster stand in no loop and no if";
    if (wrong)
        err_say(s->c, o->loc, VALUE, "the place of %s in shared memory: %s",
                info(o)->text, wrong);
}

void
sim_check_places(Sim *s)
{
    int limit = shared_memory_limit(&s->c->opt.target);
    EACH_OP(o, s->f->body)
        if (op_has(o, OPF_SCRATCH))
            check_place(s, o);
    if (s->shared_bytes > limit)
        err_at(s->c, s->f->loc, RESOURCES, "shared memory", (long long)s->shared_bytes,
               (long long)limit);
}

int
sim_scratch(Sim *s, const Op *o)
{
    if (!o->place)
        unreachable(s->c);
    if (op_has(o, OPF_MAPS) && o->place->waits & WAIT_FREE)
        s->m->fence_async(s->l); /* what was written there, before copies write it */
    sim_wait(s, o, WAIT_FREE);
    return o->place->at;
}

int
sim_site(Sim *s, const Op *o)
{
    return (o->place->mbar - s->first_mbar) / 8;
}

void
sim_wait(Sim *s, const Op *o, int which)
{
    if (!(o->place->waits & which))
        return;
    if (o->place->by_warp && which != WAIT_FREE)
        s->m->warp_sync(s->l);
    else
        sim_barrier(s);
}

void
sim_barrier(Sim *s)
{
    if (s->log2_warps)
        s->m->barrier(s->l);
    else
        s->m->warp_sync(s->l);
}

Lv
sim_shared_offset(Sim *s, Lv index, int elem_bytes, int at)
{
    Ll *l = s->l;
    if (elem_bytes > 1)
        index = LLVMBuildMul(l->b, index, ll_i32(l, elem_bytes), "");
    return at ? LLVMBuildAdd(l->b, index, ll_i32(l, at), "") : index;
}
