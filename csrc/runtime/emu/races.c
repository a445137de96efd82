/* races: in the shared memory that a kernel's own assembly has.
 *
 * Its threads meet in ways of their own (barriers of some threads, mbarriers, clusters, masks of
 * lanes), so each has a clock of all threads: how far it knows of each. Who releases leaves its
 * clock at a barrier, who acquires takes it from there. Two accesses of a byte, one of them a
 * write, by threads of which the later does not know of the earlier are a race.
 *
 *     thread 0   st [a]      arrive bar: bar = (1, 0)
 *     thread 1   wait bar: knows (1, 1)          ld [a]     written at 1 of thread 0: known
 *
 * Atomics, and loads and stores that are volatile or have an order, are no race among themselves,
 * and order whoever does them: flags that threads pass to each other may do so, and it is not
 * looked at how. Equal values that are written are no race, as elsewhere in the emulator. Of many
 * readers two are remembered.
 */
#include "runtime/emu/internal.h"

#include <stdlib.h>

enum { READERS = 2, WIDEST = 32 }; /* threads; bytes of an access */

typedef struct Byte {
    uint32_t w_clock, r_clock[READERS]; /* of the thread, then; 0: never */
    uint16_t w_thread, r_thread[READERS];
    bool is_atomic; /* the write */
} Byte;

/* What threads left somewhere, and others take. */
typedef struct Post {
    const void *at;
    uint32_t *clock;
} Post;

struct Races {
    int n;            /* threads */
    uint32_t *clocks; /* n of each */
    Post *posts;
    int n_posts, cap_posts;
    /* A write that is a race if it changes anything: looked at when it has been done. */
    struct {
        const unsigned char *at;
        unsigned char was[WIDEST];
        uint32_t n;
        EmuThread *of;
        int by; /* the other thread */
        PtxShared access;
        EmuPlace place;
    } suspect;
};

static uint32_t *
clock_of(const EmuThread *t)
{
    const Races *r = t->b->races;
    return r->clocks + (size_t)t->id * (size_t)r->n;
}

static void
join(uint32_t *to, const uint32_t *from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = MAX(to[i], from[i]);
}

/* ---- order ----------------------------------------------------------------------------- */

static Post *
post_at(Races *r, const void *at)
{
    for (int i = 0; i < r->n_posts; i++)
        if (r->posts[i].at == at)
            return &r->posts[i];
    return NULL;
}

static Post *
new_post(EmuThread *t, const void *at)
{
    Races *r = t->b->races;
    if (r->n_posts == r->cap_posts) {
        int cap = 2 * r->cap_posts + 16;
        Post *grown = realloc(r->posts, (size_t)cap * sizeof *grown);
        if (!grown)
            emu_fault(t, EMU_NO_MEMORY, t->at, "no memory to look for races");
        r->posts = grown;
        r->cap_posts = cap;
    }
    uint32_t *clock = calloc((size_t)r->n, sizeof *clock);
    if (!clock)
        emu_fault(t, EMU_NO_MEMORY, t->at, "no memory to look for races");
    r->posts[r->n_posts] = (Post){at, clock};
    return &r->posts[r->n_posts++];
}

void
emu_release(EmuThread *t, const void *at)
{
    Races *r = t->b->races;
    if (!r)
        return;
    Post *p = post_at(r, at);
    p = p ? p : new_post(t, at);
    join(p->clock, clock_of(t), r->n);
    clock_of(t)[t->id]++;
}

void
emu_acquire(EmuThread *t, const void *at)
{
    Races *r = t->b->races;
    const Post *p = r ? post_at(r, at) : NULL;
    if (p)
        join(clock_of(t), p->clock, r->n);
}

void
emu_forget_post(EmuBlock *b, const void *at)
{
    Post *p = b->races ? post_at(b->races, at) : NULL;
    if (!p)
        return;
    free(p->clock);
    *p = b->races->posts[--b->races->n_posts];
}

void
emu_order_lanes(EmuThread *warp, uint32_t lanes)
{
    for (int l = 0; l < LANES; l++)
        if (lanes >> l & 1)
            emu_release(&warp[l], warp);
    for (int l = 0; l < LANES; l++)
        if (lanes >> l & 1)
            emu_acquire(&warp[l], warp);
    emu_forget_post(warp->b, warp);
}

void
emu_order_strong(EmuThread *t)
{
    emu_acquire(t, t->b);
    emu_release(t, t->b);
}

/* ---- accesses -------------------------------------------------------------------------- */

/* Has the thread not heard of what another did at this time? */
static bool
is_news(const EmuThread *t, int thread, uint32_t clock)
{
    return clock && thread != t->id && clock > clock_of(t)[thread];
}

static NORETURN void
race(EmuThread *t, const PtxShared *s, int other, const char *does, const char *did,
     const EmuPlace *at)
{
    emu_fault(t, EMU_RACE, at,
              "race: thread %d %s shared memory that thread %d has %s, and nothing "
              "orders them; %s in line %d of the assembly",
              t->id, does, other, did, s->words, s->line);
}

void
emu_races_settle(EmuBlock *b)
{
    Races *r = b->races;
    if (!r || !r->suspect.n)
        return;
    uint32_t n = r->suspect.n;
    r->suspect.n = 0;
    if (memcmp(r->suspect.at, r->suspect.was, n) != 0)
        race(r->suspect.of, &r->suspect.access, r->suspect.by, "writes", "written",
             &r->suspect.place);
}

static void
suspect(EmuThread *t, const PtxShared *s, const unsigned char *at, int other,
        const EmuPlace *place)
{
    Races *r = t->b->races;
    if (r->suspect.n || s->n > WIDEST)
        return;
    memcpy(r->suspect.was, at, s->n);
    r->suspect.at = at;
    r->suspect.n = s->n;
    r->suspect.of = t;
    r->suspect.by = other;
    r->suspect.access = *s;
    r->suspect.place = *place;
}

/* A slot whose read the thread knows of, or its own, or the oldest. */
static void
note_read(const EmuThread *t, Byte *y)
{
    int k = 0;
    while (k < READERS - 1 && y->r_thread[k] != t->id &&
           is_news(t, y->r_thread[k], y->r_clock[k]))
        k++;
    y->r_thread[k] = (uint16_t)t->id;
    y->r_clock[k] = clock_of(t)[t->id];
}

void
emu_races_access(EmuThread *t, const EmuCta *cta, const PtxShared *s,
                 const EmuPlace *at)
{
    Byte *bytes = cta->asm_bytes;
    bool is_read = s->access == PTX_READ || s->access == PTX_ATOMIC_READ,
         is_atomic = s->access == PTX_ATOMIC || s->access == PTX_ATOMIC_READ;
    if (!t->b->races)
        return;
    emu_races_settle(t->b);
    for (uint32_t i = s->offset; i < s->offset + s->n; i++) {
        Byte *y = &bytes[i];
        bool is_new = is_news(t, y->w_thread, y->w_clock) &&
                      !(is_atomic && y->is_atomic);
        if (is_new && s->access == PTX_WRITE && !y->is_atomic)
            suspect(t, s, cta->asm_shared + s->offset, y->w_thread, at);
        else if (is_new)
            race(t, s, y->w_thread, is_read ? "reads" : "writes", "written", at);
        for (int k = 0; k < READERS && !is_read; k++)
            if (is_news(t, y->r_thread[k], y->r_clock[k]))
                race(t, s, y->r_thread[k], "writes", "read", at);
        if (is_read && !is_atomic)
            note_read(t, y);
        if (is_read)
            continue;
        y->w_thread = (uint16_t)t->id;
        y->w_clock = clock_of(t)[t->id];
        y->is_atomic = is_atomic;
    }
}

/* ---- programs -------------------------------------------------------------------------- */

bool
emu_races_start(EmuBlock *b, uint32_t n_bytes)
{
    if (b->races)
        return true;
    Races *r = calloc(1, sizeof *r);
    if (!r)
        return false;
    b->races = r;
    r->n = b->n;
    r->clocks = calloc((size_t)b->n * (size_t)b->n, sizeof *r->clocks);
    if (!r->clocks)
        return false;
    for (int i = 0; i < b->n; i++)
        r->clocks[(size_t)i * (size_t)b->n + (size_t)i] = 1;
    for (int i = 0; i < b->n_ctas; i++) {
        EmuCta *cta = &b->ctas[i];
        if (!cta->asm_bytes && !(cta->asm_bytes = calloc(n_bytes, sizeof(Byte))))
            return false;
    }
    return true;
}

void
emu_races_clear(EmuCta *cta, uint32_t offset, uint32_t n)
{
    memset(cta->asm_bytes + offset, 0, n * sizeof(Byte));
}

void
emu_races_end(EmuBlock *b)
{
    Races *r = b->races;
    if (!r)
        return;
    for (int i = 0; i < r->n_posts; i++)
        free(r->posts[i].clock);
    free(r->posts);
    free(r->clocks);
    free(r);
    b->races = NULL;
}
