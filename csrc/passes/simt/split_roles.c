/* split_roles: who fills rings and who reads them become two programs, on warps of their own.
 *
 *     ring_alloc ..                   ring_alloc ..
 *     for k ^(acc, slot, phase) {     roles {
 *       mbar_wait empty ..              for k ^(acc, slot, phase) {
 *       tma_load ..                       mbar_wait full ..
 *       mbar_wait full ..          =>     acc = dot ..
 *       acc = dot ..                      mbar_arrive empty ..
 *       mbar_arrive empty ..            }
 *     }                                 store ..
 *     store ..                        } {
 *                                       for k ^(slot, phase) {
 *                                         mbar_wait empty ..
 *                                         tma_load ..
 *                                       }
 *                                     }
 *
 * Each program has the control flow that it needs, and counts slots and phases itself, so the two
 * communicate by rings alone. Rings, maps and tests of the launch stay in front of both, with the
 * ops that compute their operands.
 *
 * Rule: roles_plan has checked that what fills a ring needs only scalars; both programs compute them.
 */
#include "passes/passes.h"

void
pass_split_roles(Func *f)
{
    if (!ir_has_op(f->body, OP_RING_ALLOC))
        return;
    f->c->hopper.has_roles = true;
    Map front = {.a = f->c->arena};
    stay_in_front(f, &front);
    RolesPlan p = roles_plan(f);
    Op *end = f->body->last;
    Build b = {.f = f, .block = f->body, .before = end, .loc = end->loc};
    Op *roles = ir_op(&b, OP_ROLES, 0, NULL, 0, NULL);
    ir_set_attr(roles, ATTR_PRODUCERS, p.producers);
    ir_set_attr(roles, ATTR_REGS, p.regs);
    ir_set_attr(roles, ATTR_PRODUCER_REGS, p.producer_regs);
    Block *team = ir_block(f, roles), *filler = ir_block(f, roles);
    ir_yield(team, end->loc);
    ir_yield(filler, end->loc);
    Map copy = {.a = f->c->arena};
    Build to = {.f = f, .block = filler, .before = filler->last};
    for (Op *o = f->body->first, *next; o != roles; o = next) {
        next = o->next;
        if (map_get(&front, o, 0))
            continue;
        ir_clone(&to, o, &copy);
        ir_move_before(o, team->last);
    }
    EACH_OP_INSIDE_OUT(o, team)
        if (!o->n_regions && ring_is_filled_by(o))
            ir_erase(o);
    dce_but(f, filler, ring_is_filled_by);
}
