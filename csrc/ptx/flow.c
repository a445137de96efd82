/* flow: branches, waiting, giving up. Who runs the lanes does what Ins.flow says. */
#include "ptx/ptx.h"

void
turns_choose(Turns *t, uint32_t among)
{
    EACH_LANE_OF(l, t->mask)
        t->lane_pc[l] = t->pc;
    t->pc = t->wait_pc = INT32_MAX;
    t->mask = 0;
    EACH_LANE_OF(l, among) {
        int pc = t->lane_pc[l];
        if (pc < t->pc)
            t->wait_pc = t->pc, t->pc = pc, t->mask = 0;
        else if (pc > t->pc && pc < t->wait_pc)
            t->wait_pc = pc;
        t->mask |= (uint32_t)(pc == t->pc) << l;
    }
}

void
turns_branch(Turns *t, int target, uint32_t m)
{
    if (m == t->mask) {
        t->pc = target;
        return;
    }
    t->pc++;
    EACH_LANE_OF(l, m)
        t->lane_pc[l] = target;
    t->mask &= ~m;
    if (m && target < t->wait_pc)
        t->wait_pc = target;
}

static void
dec_bra(Dec *d)
{
    dec_has(d, "uni");
    if (d->n_opds != 1 || d->opd[0].kind != OPD_NAME)
        dec_fail(d, "no label");
    dec_label(d, d->opd[0].name);
    d->ins->flow = FLOW_BRA;
}

static void
trap(Lanes *w, const Ins *i, uint32_t m)
{
    lanes_fault(w, i, __builtin_ctz(m), "trap");
}

static void
dec_trap(Dec *d)
{
    d->ins->run = trap;
}

static void
dec_nanosleep(Dec *d)
{
    dec_refuse(d, dec_type(d) != T_U32);
    dec_in(d, 0, 4);
    d->ins->flow = FLOW_YIELD;
}

const OpRow flow_ops[] = {
    {"bra", dec_bra}, {"nanosleep", dec_nanosleep}, {"trap", dec_trap}, {NULL, NULL}};
