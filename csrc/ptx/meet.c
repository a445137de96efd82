/* meet: a thread at an instruction that is not its alone: it asks its PtxTeam.
 *
 *     thread       0    1    2   ..           file of the warp
 *     %r1 lane 0   a    b    c   ..   --->    %r1   a b c ..    ---> the instruction, once
 */
#include "ptx/run.h"

enum {
    POLL = 256,     /* instructions that letting others run counts as */
    MEETING = 4096, /* that meeting them does */
    MOST_THREADS = 1024
};

typedef struct PtxThread Exec;

static uint32_t
number(const Exec *x, Reg r)
{
    return *LANE(uint32_t, &x->lanes, r.at);
}

static void
wait_at_barrier(Exec *x, const Ins *i)
{
    static const char reds[] = "pao"; /* as decoded: popc, and, or */
    bool red = i->flags & BAR_RED;
    uint32_t id = number(x, i->in[0]), n = i->n_in > 1 + red ? number(x, i->in[1]) : 0;
    if (id >= N_BARRIERS)
        lanes_fault(&x->lanes, i, 0, "barrier %u: there are %d", id, N_BARRIERS);
    if (i->n_in > 1 + red && (!n || n % LANES || n > MOST_THREADS))
        lanes_fault(&x->lanes, i, 0, "a barrier of %u threads", n);
    PtxBarrier b = {.id = (int)id,
                    .n_threads = (int)n,
                    .arrives = i->flags & BAR_ARRIVE,
                    .red = red ? reds[i->op] : 0};
    if (red)
        b.holds = (lanes_true(&x->lanes, i->in[i->n_in - 1]) & 1) != (i->imm != 0);
    x->r->team->barrier(x->r, x, &b);
    uint64_t v[LANES] = {b.result};
    if (red)
        lanes_put(&x->lanes, i->out[0], 1, v);
}

/* A thread at an instruction that is not its alone. */
void
ptx_with_others(PtxThread *x, const Ins *i)
{
    const PtxTeam *team = x->r->team;
    uint32_t mask = (uint32_t)FULL;
    const char *why;
    x->at = i;
    x->n_left -= i->flow == FLOW_YIELD ? POLL : MEETING;
    switch (i->flow) {
    case FLOW_BARRIER: wait_at_barrier(x, i); break;
    case FLOW_CLUSTER:
        if ((why = team->cluster(x->r, x, i->flags & BAR_ARRIVE)))
            lanes_fault(&x->lanes, i, 0, "%s", why);
        break;
    case FLOW_YIELD:
        if (i->run)
            i->run(&x->lanes, i, 1);
        team->yield(x->r);
        break;
    default:
        if (i->members)
            mask = number(x, i->in[i->members - 1]);
        if (!(mask >> x->r->thread % LANES & 1))
            lanes_fault(&x->lanes, i, 0, "the lane is not in its own mask %#x", mask);
        team->meet(x->r, x, mask);
    }
}

PtxStop
ptx_stop(const PtxThread *t)
{
    return (PtxStop){t->at, t->at->words, t->at->line, t->at->is_loose};
}

/* A register of each thread's lane 0 <-> lanes of one file. */
static void
gather(Exec *const all[LANES], uint32_t m, uint8_t *file, Reg r, bool is_back)
{
    for (int l = 0; l < LANES; l++) {
        if (!(m >> l & 1))
            continue;
        uint8_t *own = LANE(uint8_t, &all[l]->lanes, r.at),
                *here = file + r.at + (size_t)l * r.bytes;
        memcpy(is_back ? own : here, is_back ? here : own, r.bytes);
    }
}

/* What came from a lane of no mask is as memory that nobody wrote: ones. */
static void
poison(Lanes *w, Reg r)
{
    uint64_t ones[LANES];
    memset(ones, r.bytes == 1 ? 1 : 0xff, sizeof ones);
    lanes_put(w, r, w->undef[r.id], ones);
    w->undef[r.id] = 0;
}

void
ptx_together(PtxThread *const all[LANES], uint32_t mask, int by)
{
    Exec *me = all[by], both = *me;
    const Ins *i = me->at;
    both.lanes.file = NULL;
    both.lanes.alive = mask;
    if (posix_memalign((void **)&both.lanes.file, 64, me->f->file_bytes + 64))
        lanes_fault(&me->lanes, i, 0, "out of memory");
    uint8_t *volatile file = both.lanes.file;
    jmp_buf stop;
    both.stop = &stop;
    if (setjmp(stop)) {
        free(file);
        longjmp(*me->stop, 1);
    }
    memset(file, 0, me->f->file_bytes);
    for (int k = 0; k < i->n_in; k++)
        gather(all, mask, file, i->in[k], false);
    for (int k = 0; k < i->n_out; k++)
        gather(all, mask, file, i->out[k], false);
    i->run(&both.lanes, i, mask);
    for (int k = 0; k < i->n_out; k++) {
        poison(&both.lanes, i->out[k]);
        gather(all, mask, file, i->out[k], true);
    }
    free(file);
}
