/* async: cp.async. A copy is queued when issued and done when waited for.
 *
 * Issuing claims the bytes as a write of this thread does and poisons them; waiting writes
 * them, again as this thread. So others need a barrier after the wait, as on the machine,
 * and whoever looks between issue and wait is told. So is who writes what a copy is still
 * reading: the machine may have read it before or after.
 */
#include "runtime/emu/internal.h"

#include <stdlib.h>

void
emu_async_copy(EmuThread *t, int32_t offset, uint64_t address, int32_t bytes,
               int32_t read, const EmuPlace *at)
{
    emu_check_shared(t, offset, bytes, bytes, at);
    if (read)
        emu_global(t, address, read, bytes, false, at);
    emu_note_write(t, offset, bytes, NULL, at);
    if (t->n_copies == t->cap_copies) {
        int cap = MAX(16, 2 * t->cap_copies);
        AsyncCopy *grown = realloc(t->copies, (size_t)cap * sizeof *grown);
        if (!grown)
            emu_fault(t, EMU_NO_MEMORY, at, "no memory for %d asynchronous copies",
                      cap);
        t->copies = grown;
        t->cap_copies = cap;
    }
    AsyncCopy *k = &t->copies[t->n_copies++];
    *k = (AsyncCopy){read ? address : 0, offset, bytes, read, t->group, at, {0}};
    if (k->address)
        memcpy(k->seen, (const void *)(uintptr_t)address, (size_t)read);
    memset(t->cta->shared + offset, 0xff, (size_t)bytes);
    for (int32_t i = offset; i < offset + bytes; i++)
        t->cta->shadow[i].in_flight = true;
}

void
emu_async_commit(EmuThread *t)
{
    t->group++;
}

void
emu_async_wait(EmuThread *t, int32_t pending)
{
    int done = 0;
    while (done < t->n_copies && t->copies[done].group < t->group - pending) {
        const AsyncCopy *k = &t->copies[done++];
        for (int32_t i = k->offset; i < k->offset + k->bytes; i++)
            t->cta->shadow[i].in_flight = false;
        emu_note_write(t, k->offset, k->bytes, NULL, k->at);
        if (k->address &&
            memcmp(k->seen, (const void *)(uintptr_t)k->address, (size_t)k->read) != 0)
            emu_fault(t, EMU_RACE, k->at,
                      "race: memory was written while an asynchronous copy of it was "
                      "under way");
        if (k->address)
            memcpy(t->cta->shared + k->offset, (const void *)(uintptr_t)k->address,
                   (size_t)k->read);
        memset(t->cta->shared + k->offset + k->read, 0, (size_t)(k->bytes - k->read));
    }
    t->n_copies -= done;
    memmove(t->copies, t->copies + done, (size_t)t->n_copies * sizeof *t->copies);
}
