/* barriers: threads of a block, or of a cluster, that wait for each other.
 *
 * A block has 16 barriers, of all its threads or of as many as an instruction says; the
 * compiler's is number 0 and of all. They count warps, as the hardware does: the lanes of one
 * wait for each other first (T_GATHER), then for other warps (T_BARRIER).
 */
#include "runtime/emu/internal.h"

static int
block_threads(const EmuThread *t)
{
    return t->b->n / t->b->n_ctas;
}

static int
expected_by(const EmuThread *t, const PtxBarrier *a)
{
    return a->n_threads ? a->n_threads : block_threads(t);
}

/* Do all lanes of the warp mean the same? */
static void
check_warp(EmuThread *t, const EmuThread *warp, const EmuPlace *at)
{
    const PtxBarrier *a = t->arrival;
    for (int l = 0; l < LANES; l++) {
        const PtxBarrier *o = warp[l].arrival;
        if (o->id != a->id || o->n_threads != a->n_threads || o->red != a->red ||
            o->arrives != a->arrives)
            emu_fault(
                t, EMU_BARRIER, at,
                "lane %d is at barrier %d, in another way than lane %d at barrier "
                "%d: a warp comes as one",
                t->id % LANES, a->id, l, o->id);
    }
}

/* All have come: those who wait run on. */
static void
release(EmuThread *t, EmuBarrier *k)
{
    EmuBlock *b = t->b;
    for (int i = 0; i < b->n; i++) {
        EmuThread *o = &b->threads[i];
        if (o->cta != t->cta || o->state != T_BARRIER ||
            o->arrival->id != t->arrival->id)
            continue;
        o->state = T_READY;
        emu_acquire(o, k);
        o->arrival->result = k->red == 'p'   ? (uint32_t)k->n_true
                             : k->red == 'a' ? k->n_true == k->n
                                             : k->n_true != 0;
    }
    emu_forget_post(b, k);
    if (k->n == block_threads(t))
        t->cta->epoch++;
    *k = (EmuBarrier){0};
}

/* The warp of t, whose last lane this is. */
static void
arrive(EmuThread *t, EmuThread *warp, const EmuPlace *at)
{
    const PtxBarrier *a = t->arrival;
    EmuBarrier *k = &t->cta->barrier[a->id];
    int expected = expected_by(t, a);
    if (k->n && k->expected != expected)
        emu_fault(t, EMU_BARRIER, at,
                  "barrier %d of %d threads, of %d where others arrived", a->id,
                  expected, k->expected);
    if (k->n && k->red != a->red)
        emu_fault(t, EMU_BARRIER, at,
                  "barrier %d with another reduction than where others arrived", a->id);
    k->expected = expected;
    k->red = a->red;
    k->n += LANES;
    for (int l = 0; l < LANES; l++) {
        k->n_true += warp[l].arrival->holds;
        emu_release(&warp[l], k);
        warp[l].state = a->arrives ? T_READY : T_BARRIER;
    }
    if (k->n >= expected)
        release(t, k);
}

void
emu_barrier_of(EmuThread *t, PtxBarrier *b, const EmuPlace *at)
{
    int w = t->id / LANES;
    EmuThread *warp = &t->b->threads[w * LANES];
    t->arrival = b;
    if (++t->b->at_barrier[w] < LANES) {
        emu_wait(t, T_GATHER, at);
        return;
    }
    t->b->at_barrier[w] = 0;
    check_warp(t, warp, at);
    arrive(t, warp, at);
    if (t->state == T_BARRIER)
        emu_wait(t, T_BARRIER, at);
}

void
emu_barrier(EmuThread *t, const EmuPlace *at)
{
    PtxBarrier all = {0};
    emu_barrier_of(t, &all, at);
}

int
emu_at_barrier(const EmuThread *t, int *expected)
{
    int n = 0;
    *expected = expected_by(t, t->arrival);
    for (int i = 0; i < t->b->n; i++) {
        const EmuThread *o = &t->b->threads[i];
        n += o->cta == t->cta && (o->state == T_GATHER || o->state == T_BARRIER) &&
             o->arrival->id == t->arrival->id;
    }
    return n;
}

/* ---- of a cluster --------------------------------------------------------------------- */

/* Of the thread's phase: nobody is two phases ahead of it. What an even one left from before is
 * known to all who come to the next. */
static const void *
cluster_post(const EmuThread *t)
{
    return &t->b->ctas[0].barrier[t->cluster_phase & 1].red;
}

static void
arrive_at_cluster(EmuThread *t)
{
    EmuBlock *b = t->b;
    t->has_arrived = true;
    t->cluster_phase = b->cluster_phase;
    emu_release(t, cluster_post(t));
    if (++b->n_at_cluster < b->n)
        return;
    b->n_at_cluster = 0;
    b->cluster_phase++;
    for (int i = 0; i < b->n_ctas; i++)
        b->ctas[i].epoch++;
    for (int i = 0; i < b->n; i++)
        if (b->threads[i].state == T_CLUSTER_BARRIER)
            b->threads[i].state = T_READY;
}

const char *
emu_cluster_barrier(EmuThread *t, bool arrives, const EmuPlace *at)
{
    if (arrives && t->has_arrived)
        return "the thread has arrived already, and not waited";
    if (!arrives && !t->has_arrived)
        return "the thread waits, and has not arrived";
    if (arrives) {
        arrive_at_cluster(t);
        return NULL;
    }
    t->has_arrived = false;
    if (t->cluster_phase == t->b->cluster_phase)
        emu_wait(t, T_CLUSTER_BARRIER, at);
    emu_acquire(t, cluster_post(t));
    return NULL;
}
