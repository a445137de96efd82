/* bulk: cp.async.bulk, and mbarriers that are told of copies.
 *
 * A bulk copy lands when somebody looks at its mbarrier, or its thread waits for its group: as
 * late as it may. Until then the bytes it goes to are nobody's, and the bytes it reads must stay
 * as they were. Whoever ends before is told: the shared memory is another block's by then.
 */
#include "runtime/emu/internal.h"

#include <stdlib.h>

struct BulkCopy {
    PtxBulk copy;        /* n is 0 for an arrival that waits for copies of cp.async */
    unsigned char *seen; /* what stood in its source; malloc'ed */
    EmuThread *of;
    int64_t until; /* of an arrival: so many copies of its thread have landed */
    int32_t group;
    bool is_read; /* its source is free */
    EmuPlace at;
};

/* Where the state of these bytes stands, if they are assembly's shared memory. */
static unsigned char *
state_of(const EmuBlock *b, const void *at)
{
    for (int i = 0; i < b->n_ctas; i++) {
        const EmuCta *cta = &b->ctas[i];
        uintptr_t from = (uintptr_t)cta->asm_shared, p = (uintptr_t)at;
        if (from && p >= from && p < from + emu_asm_end(b))
            return cta->asm_state + (p - from);
    }
    return NULL;
}

static BulkCopy *
more_room(EmuBlock *b)
{
    if (b->n_bulk == b->cap_bulk) {
        int cap = 2 * b->cap_bulk + 4;
        BulkCopy *grown = realloc(b->bulk, (size_t)cap * sizeof *grown);
        if (!grown)
            return NULL;
        b->bulk = grown;
        b->cap_bulk = cap;
    }
    return &b->bulk[b->n_bulk];
}

const char *
emu_bulk(EmuThread *t, const PtxBulk *copy, const EmuPlace *at)
{
    EmuBlock *b = t->b;
    BulkCopy *k = more_room(b);
    unsigned char *seen = k ? malloc(copy->n) : NULL, *state;
    if (!seen)
        return "out of memory";
    memcpy(seen, copy->from, copy->n);
    *k = (BulkCopy){
        .copy = *copy, .seen = seen, .of = t, .group = t->bulk_group, .at = *at};
    b->n_bulk++;
    if ((state = state_of(b, copy->to))) {
        if (copy->op < 0)
            memset(copy->to, 0xff, copy->n);
        memset(state, 1, copy->n);
    }
    return NULL;
}

const char *
emu_arrive_later(EmuThread *t, void *bar, const EmuPlace *at)
{
    BulkCopy *k = more_room(t->b);
    if (!k)
        return "out of memory";
    *k = (BulkCopy){.copy = {.bar = bar},
                    .of = t,
                    .until = t->n_landed + t->n_copies,
                    .is_read = true,
                    .at = *at};
    t->b->n_bulk++;
    return NULL;
}

/* Its source has been read: until here it was to stay as it was. */
static void
read_source(BulkCopy *k)
{
    if (!k->is_read && memcmp(k->seen, k->copy.from, k->copy.n) != 0)
        emu_fault(k->of, EMU_RACE, &k->at,
                  "race: memory was written while a bulk copy of it was under way");
    k->is_read = true;
}

static void
land(EmuBlock *b, BulkCopy *k)
{
    const char *why;
    if (k->copy.n) {
        unsigned char *state = state_of(b, k->copy.to);
        read_source(k);
        k->copy.from = k->seen;
        if (state)
            memset(state, 0, k->copy.n);
        why = ptx_bulk_land(&k->copy);
    } else {
        if (k->until > k->of->n_landed)
            emu_async_land(k->of, (int)(k->until - k->of->n_landed));
        why = ptx_bulk_arrive(k->copy.bar);
    }
    free(k->seen);
    k->seen = NULL;
    if (why)
        emu_fault(k->of, EMU_ASSERT, &k->at, "in the assembly: %s", why);
}

void
emu_bulk_look(EmuThread *t, const void *bar)
{
    EmuBlock *b = t->b;
    int left = 0;
    for (int i = 0; i < b->n_bulk; i++) {
        if (b->bulk[i].copy.bar == bar)
            land(b, &b->bulk[i]);
        else
            b->bulk[left++] = b->bulk[i];
    }
    b->n_bulk = left;
}

void
emu_bulk_wait(EmuThread *t, int pending, bool is_read)
{
    EmuBlock *b = t->b;
    int left = 0;
    for (int i = 0; i < b->n_bulk; i++) {
        BulkCopy *k = &b->bulk[i];
        bool is_over = !k->copy.bar && k->of == t && k->group < t->bulk_group - pending;
        if (is_over && is_read)
            read_source(k);
        if (is_over && !is_read)
            land(b, k);
        else
            b->bulk[left++] = *k;
    }
    b->n_bulk = left;
}

void
emu_bulk_end(EmuThread *t)
{
    EmuBlock *b = t->b;
    bool is_last = b->n_done + 1 == b->n;
    for (int i = 0; i < b->n_bulk; i++) {
        const BulkCopy *k = &b->bulk[i];
        if (!k->copy.bar && k->of == t && !k->is_read)
            emu_fault(t, EMU_RACE, &k->at,
                      "a thread ends while a bulk copy of its shared memory is under "
                      "way: nobody waited for its group");
        if (is_last && k->copy.bar && k->copy.n)
            emu_fault(t, EMU_RACE, &k->at,
                      "a program ends while a bulk copy to its shared memory is under "
                      "way: nobody waited at its mbarrier");
    }
    emu_bulk_wait(t, -1, false);
}

void
emu_bulk_clear(EmuBlock *b)
{
    for (int i = 0; i < b->n_bulk; i++)
        free(b->bulk[i].seen);
    b->n_bulk = 0;
}
