/* poll: when to look, and whom to ask. See poll.h. */
#include "base/poll.h"

#include <signal.h>
#include <time.h>

/* Looks are some 10 ms apart, whatever a step takes, and no step is far from one: the next may
 * take a thousand times as long. */
enum { SHORT_MS = 8, LONG_MS = 32, MAX_STEPS = 256 };

/* A few nanoseconds, and as fine as the kernel's tick. */
static int64_t
now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
pace_on(Pace *p, int64_t now)
{
    int64_t passed = p->seen ? now - p->seen : 0;
    if (passed < SHORT_MS)
        p->step = MIN(2 * p->step + 1, MAX_STEPS);
    else if (passed > LONG_MS)
        p->step = MAX(p->step / 4, 1);
    p->seen = now;
    p->left = p->step;
}

bool
poll_signals(Poller *a, Pace *p)
{
    int64_t now = now_ms();
    pace_on(p, now);
    if (!a)
        return true;
    if (!a->due)
        a->due = now + POLL_MS;
    if (now >= a->due && a->last == POLL_GO_ON) {
        a->last = a->ask(a->data);
        a->due = now_ms() + POLL_MS;
    }
    return a->last == POLL_GO_ON;
}

/* ---- compiles ---------------------------------------------------------------------------- */

void
halt_init(Halt *h)
{
    *h = (Halt){0};
    pthread_mutex_init(&h->lock, NULL);
}

void
halt_done(Halt *h)
{
    pthread_mutex_destroy(&h->lock);
}

/* Has the lock. */
static void
kill_child(const Halt *h)
{
    if (h->child && __atomic_load_n(&h->stop, __ATOMIC_RELAXED))
        kill(h->child, SIGKILL);
}

void
halt(Halt *h)
{
    __atomic_store_n(&h->stop, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&h->lock);
    kill_child(h);
    pthread_mutex_unlock(&h->lock);
}

void
halt_child(Halt *h, int child)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->child = child;
    kill_child(h);
    pthread_mutex_unlock(&h->lock);
}

bool
halt_files(Halt *h, bool has)
{
    if (!h)
        return true;
    pthread_mutex_lock(&h->lock);
    bool may = !has || !__atomic_load_n(&h->stop, __ATOMIC_RELAXED);
    if (may)
        h->has_files = has;
    pthread_mutex_unlock(&h->lock);
    return may;
}

bool
halt_has_files(Halt *h)
{
    pthread_mutex_lock(&h->lock);
    bool r = h->has_files;
    pthread_mutex_unlock(&h->lock);
    return r;
}

void
comp_poll(Comp *c)
{
    if (!c->halt || !__atomic_load_n(&c->halt->stop, __ATOMIC_RELAXED))
        return;
    c->halt = NULL; /* what is raised is written into the arena, which asks */
    err_at(c, NULL, LIMIT, "nobody waits for this compile any more");
}
