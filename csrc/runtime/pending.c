/* pending: one thread compiles, the others wait.
 *
 * A compile releases the GIL. So it has an entry in Kernel.pending, and a second thread that needs
 * the same variant waits for it. The GIL guards the list and the count; the lock of an entry guards
 * is_done, which a waiting thread reads without the GIL.
 */
#include "runtime/launch.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct Pending {
    Pending *next;
    Key *key; /* owned */
    pthread_t thread;
    pid_t pid;     /* a forked child has the entry but not the thread */
    int n_waiting; /* plus one for the compiling thread; the last one frees it */
    bool is_done;
    pthread_mutex_t lock;
    pthread_cond_t cond;
};

static void
pending_drop(Pending *p)
{
    if (--p->n_waiting)
        return;
    pthread_cond_destroy(&p->cond);
    pthread_mutex_destroy(&p->lock);
    key_free(p->key);
    free(p);
}

Pending *
pending_begin(Call *c)
{
    Pending *p = calloc(1, sizeof *p);
    if (!p)
        return PyErr_NoMemory(), NULL;
    if (!(p->key = key_new(c))) {
        free(p);
        return NULL;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->cond, NULL);
    p->thread = pthread_self();
    p->pid = getpid();
    p->n_waiting = 1;
    p->next = c->k->pending;
    c->k->pending = p;
    return p;
}

void
pending_end(Kernel *k, Pending *p)
{
    for (Pending **at = &k->pending; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    pthread_mutex_lock(&p->lock);
    p->is_done = true;
    pthread_cond_broadcast(&p->cond);
    pthread_mutex_unlock(&p->lock);
    pending_drop(p);
}

int
pending_wait(Pending *p)
{
    int r = 0;
    p->n_waiting++;
    while (!p->is_done && !r) {
        Py_BEGIN_ALLOW_THREADS struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&p->lock);
        if (!p->is_done)
            pthread_cond_timedwait(&p->cond, &p->lock, &until);
        pthread_mutex_unlock(&p->lock);
        Py_END_ALLOW_THREADS r = PyErr_CheckSignals();
    }
    pending_drop(p);
    return r;
}

Pending *
pending_find(const Call *c)
{
    for (Pending *p = c->k->pending; p; p = p->next) {
        int r = p->pid == getpid() ? call_equals(c, p->key) : 0;
        if (r < 0)
            return NULL;
        if (r && pthread_equal(p->thread, pthread_self()))
            return PyErr_Format(PyExc_RuntimeError,
                                "compiling %s() launches %s() with the same arguments",
                                c->k->f->name, c->k->f->name),
                   NULL;
        if (r)
            return p;
    }
    return NULL;
}
