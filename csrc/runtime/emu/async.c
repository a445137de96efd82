/* async: cp.async. A copy is queued when issued and done when waited for.
 *
 * Issuing claims the bytes as a write of this thread does and poisons them; waiting writes
 * them, again as this thread. So others need a barrier after the wait, as on the machine,
 * and whoever looks between issue and wait is told. So is who writes what a copy is still
 * reading: the machine may have read it before or after. Copies of a kernel's own assembly are
 * in the same queue and groups, as they are on the machine.
 */
#include "runtime/emu/internal.h"

#include <stdlib.h>

void
emu_queue_copy(EmuThread *t, const AsyncCopy *k)
{
    if (t->n_copies == t->cap_copies) {
        int cap = MAX(16, 2 * t->cap_copies);
        AsyncCopy *grown = realloc(t->copies, (size_t)cap * sizeof *grown);
        if (!grown)
            emu_fault(t, EMU_NO_MEMORY, &k->at, "no memory for %d asynchronous copies",
                      cap);
        t->copies = grown;
        t->cap_copies = cap;
    }
    AsyncCopy *mine = &t->copies[t->n_copies++];
    *mine = *k;
    mine->group = t->group;
    if (mine->address)
        memcpy(mine->seen, (const void *)(uintptr_t)mine->address, (size_t)mine->read);
}

void
emu_async_copy(EmuThread *t, int32_t offset, uint64_t address, int32_t bytes,
               int32_t read, const EmuPlace *at)
{
    emu_check_shared(t, offset, bytes, bytes, at);
    if (read)
        emu_global(t, address, read, bytes, false, at);
    emu_note_write(t, offset, bytes, NULL, at);
    emu_queue_copy(t, &(AsyncCopy){.address = read ? address : 0,
                                   .offset = offset,
                                   .bytes = bytes,
                                   .read = read,
                                   .at = at ? *at : (EmuPlace){0}});
    memset(t->cta->shared + offset, 0xff, (size_t)bytes);
    for (int32_t i = offset; i < offset + bytes; i++)
        t->cta->shadow[i].in_flight = true;
}

void
emu_async_commit(EmuThread *t)
{
    t->group++;
}

/* Where it lands, and nothing is awaited there any more. */
static unsigned char *
landing(EmuThread *t, const AsyncCopy *k)
{
    if (k->is_assembly) {
        memset(t->cta->asm_state + k->offset, 0, (size_t)k->bytes);
        return t->cta->asm_shared + k->offset;
    }
    for (int32_t i = k->offset; i < k->offset + k->bytes; i++)
        t->cta->shadow[i].in_flight = false;
    emu_note_write(t, k->offset, k->bytes, NULL, &k->at);
    return t->cta->shared + k->offset;
}

void
emu_async_land(EmuThread *t, int n)
{
    for (int i = 0; i < n; i++) {
        const AsyncCopy *k = &t->copies[i];
        unsigned char *to = landing(t, k);
        const void *from = (const void *)(uintptr_t)k->address;
        if (from && memcmp(k->seen, from, (size_t)k->read) != 0)
            emu_fault(t, EMU_RACE, &k->at,
                      "race: memory was written while an asynchronous copy of it was "
                      "under way");
        if (from)
            memcpy(to, from, (size_t)k->read);
        memset(to + k->read, 0, (size_t)(k->bytes - k->read));
    }
    t->n_copies -= n;
    t->n_landed += n;
    memmove(t->copies, t->copies + n, (size_t)t->n_copies * sizeof *t->copies);
}

void
emu_async_wait(EmuThread *t, int32_t pending)
{
    int done = 0;
    while (done < t->n_copies && t->copies[done].group < t->group - pending)
        done++;
    emu_async_land(t, done);
}
