/* cluster: exchanges between the blocks that share a program.
 *
 * A site is armed with the bytes a block expects, gets them from all blocks, and is waited
 * for: as an mbarrier whose transactions st.async completes. A word that has come may be read
 * by a thread that has waited for its site, and by no other.
 */
#include "runtime/emu/internal.h"

static void
wake(EmuThread *t, EmuCta *cta, int site)
{
    EmuBlock *b = t->b;
    for (int i = 0; i < b->n; i++) {
        EmuThread *w = &b->threads[i];
        if (w->cta == cta && w->state == T_CLUSTER && w->site == site)
            w->state = T_READY;
    }
}

void
emu_cluster_open(EmuThread *t, int32_t site, int32_t bytes)
{
    EmuCta *cta = t->cta;
    if (cta->opened >> site & 1)
        return; /* another thread of the block did it */
    cta->opened |= 1u << site;
    cta->to_come[site] += bytes;
    if (!cta->to_come[site])
        wake(t, cta, site);
}

void
emu_cluster_send(EmuThread *t, int32_t site, int32_t offset, int32_t word, int32_t rank,
                 const EmuPlace *at)
{
    EmuBlock *b = t->b;
    emu_check_shared(t, offset, 4, 4, at);
    if (rank < 0 || rank >= b->n_ctas)
        emu_fault(t, EMU_BOUNDS, at, "block %d of a cluster of %d", rank, b->n_ctas);
    EmuCta *cta = &b->ctas[rank];
    emu_order_strong(t);
    for (int32_t i = offset; i < offset + 4; i++) {
        Shadow *s = &cta->shadow[i];
        if (s->w_epoch >= b->first_epoch || s->r_epoch >= b->first_epoch)
            emu_fault(
                t, EMU_RACE, at,
                "race: thread %d sends to shared memory of block %d at offset %d, which is "
                "in use",
                t->id, rank, i);
        s->w_epoch = cta->epoch;
        s->w_thread = REMOTE_THREAD;
        s->w_warp_epoch = (uint32_t)site;
    }
    memcpy(cta->shared + offset, &word, 4);
    cta->to_come[site] -= 4;
    if (!cta->to_come[site] && cta->opened >> site & 1)
        wake(t, cta, site);
}

void
emu_cluster_wait(EmuThread *t, int32_t site, const EmuPlace *at)
{
    EmuCta *cta = t->cta;
    t->site = site;
    if (cta->to_come[site] || !(cta->opened >> site & 1))
        emu_wait(t, T_CLUSTER, at);
    t->sites_seen |= 1u << site;
    emu_order_strong(t);
}
