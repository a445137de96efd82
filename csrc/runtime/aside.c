/* aside: compiles that can be left. See aside.h.
 *
 * The GIL guards the list of them. The lock of an Aside guards is_done and is_left, of which
 * one comes first and decides who frees it. A forked child has the list but no helpers: what
 * they had is never freed there.
 */
#include <Python.h>

#include "runtime/aside.h"
#include "base/poll.h"
#include "runtime/state.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_BYTES = 64 << 20, /* address space: LLVM recurses over what a kernel nests */
    LEAST_STACK =
        1 << 20, /* most kernels were measured to need less than a quarter of it */
    FAREWELL_MS = 200,
    FAREWELL_FILES_MS =
        5000, /* to those that remove files: a moment, if the machine is free */
};

typedef struct Aside Aside;
struct Aside {
    Aside *next;
    Comp comp;
    Halt halt;
    void (*fn)(Comp *c, void *data);
    void *data;
    bool is_ok; /* what comp_run said */
    pid_t pid;
    pthread_t thread;
    bool is_done, is_left;
    bool is_last; /* the process ends: who waits for it waits on */
    pthread_mutex_t lock;
    pthread_cond_t done;
};

static Aside *asides;  /* all of the process, under the GIL */
static bool is_ending; /* the process, under the GIL */

/* ---- the helper ------------------------------------------------------------------------- */

static void *
helper(void *arg)
{
    Aside *a = arg;
    a->is_ok = comp_run(&a->comp, a->fn, a->data);
    pthread_mutex_lock(&a->lock);
    a->is_done = true;
    pthread_cond_signal(&a->done);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* Signals are for the threads of Python. */
static bool
start(Aside *a)
{
    pthread_attr_t attr;
    sigset_t own, all;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    for (size_t i = 0; i < COUNT(faults); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &own);
    bool ok = !pthread_create(&a->thread, &attr, helper, a);
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

/* ---- the list --------------------------------------------------------------------------- */

static void
aside_free(Aside *a)
{
    comp_done(&a->comp);
    pthread_cond_destroy(&a->done);
    pthread_mutex_destroy(&a->lock);
    halt_done(&a->halt);
    free(a);
}

static void
take_out(Aside *a)
{
    for (Aside **at = &asides; *at; at = &(*at)->next)
        if (*at == a) {
            *at = a->next;
            return;
        }
}

static bool
is_done(Aside *a)
{
    pthread_mutex_lock(&a->lock);
    bool r = a->is_done;
    pthread_mutex_unlock(&a->lock);
    return r;
}

/* What nobody waits for. Dropping it runs code of Python's, which may compile: each is out of
 * the list first. */
static void
free_left(void)
{
    for (Aside *a = asides; a;) {
        Aside *next = a->next;
        if (a->pid == getpid() && a->is_left && is_done(a)) {
            pthread_join(a->thread, NULL);
            take_out(a);
            aside_free(a);
            next = asides;
        }
        a = next;
    }
}

static Aside *
aside_new(Comp *c, void (*fn)(Comp *c, void *data), void *data)
{
    Aside *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->done, NULL);
    halt_init(&a->halt);
    a->fn = fn, a->data = data;
    a->pid = getpid();
    comp_move(&a->comp, c);
    a->comp.halt = &a->halt;
    a->next = asides;
    asides = a;
    return a;
}

/* ---- the caller --------------------------------------------------------------------------- */

/* ms 0: without an end. Without the GIL. Is the helper done? */
static bool
wait_for(Aside *a, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&a->lock);
    for (int r = 0; (!a->is_done || a->is_last) && r != ETIMEDOUT;)
        r = ms ? pthread_cond_timedwait(&a->done, &a->lock, &until)
               : pthread_cond_wait(&a->done, &a->lock);
    bool is_done = a->is_done && !a->is_last;
    pthread_mutex_unlock(&a->lock);
    return is_done;
}

/* Goes, unless the helper has just ended. */
static bool
leave_helper(Aside *a)
{
    pthread_mutex_lock(&a->lock);
    bool leaves = !a->is_done;
    a->is_left = leaves;
    pthread_mutex_unlock(&a->lock);
    if (leaves)
        halt(&a->halt);
    return leaves;
}

/* Has the GIL, and has it again at the end. True: the helper is done; false: it was left, with
 * an exception, or this is a child without it. Only the main thread has handlers to run. */
static bool
wait_or_leave(Aside *a)
{
    bool is_main = syscall(SYS_gettid) == getpid();
    for (;;) {
        PyThreadState *thread = PyEval_SaveThread();
        bool is_over = wait_for(a, is_main ? POLL_MS : 0);
        PyEval_RestoreThread(thread);
        if (is_over)
            return true;
        bool has_raised = PyErr_CheckSignals();
        if (getpid() != a->pid) {
            if (!has_raised)
                raise_error("TegulaError",
                            "the handler of a signal forked in the midst of this "
                            "compile, which goes on in the parent alone");
            return false;
        }
        if (has_raised)
            return !leave_helper(a);
    }
}

static void
no_stack(Comp *c, void *data)
{
    (void)data;
    err_at(c, NULL, MEMORY);
}

/* When the process ends, the other threads that are left are daemons. One that would begin a
 * compile then waits for the end instead. */
static NORETURN void
wait_for_the_end(void)
{
    PyEval_SaveThread();
    for (;;)
        pause();
}

bool
aside_run(Comp *c, void (*fn)(Comp *c, void *data), void *data)
{
    free_left();
    if (is_ending && syscall(SYS_gettid) != getpid())
        wait_for_the_end();
    Aside *a = aside_new(c, fn, data);
    if (!a) {
        PyErr_NoMemory();
        return false;
    }
    if (!start(a)) { /* no memory for a stack: then on this one, to its end */
        if (stack_left() < LEAST_STACK)
            a->fn = no_stack;
        PyThreadState *thread = PyEval_SaveThread();
        a->is_ok = comp_run(&a->comp, a->fn, data);
        PyEval_RestoreThread(thread);
    } else {
        if (!wait_or_leave(a))
            return false;
        pthread_join(a->thread, NULL);
    }
    take_out(a);
    a->comp.halt = NULL;
    comp_move(c, &a->comp);
    /* Ctrl-C of a terminal ends ptxas as well: what it has to say is not the reason then. */
    bool is_ok = a->is_ok && !PyErr_Occurred();
    if (!is_ok && !PyErr_Occurred())
        PyErr_CheckSignals();
    aside_free(a);
    return is_ok;
}

void
aside_stop_all(void)
{
    int n = 0;
    is_ending = true;
    for (Aside *a = asides; a; a = a->next)
        if (a->pid == getpid()) {
            pthread_mutex_lock(&a->lock);
            a->is_last = true;
            pthread_mutex_unlock(&a->lock);
            halt(&a->halt);
            n++;
        }
    for (int ms = 0; n && ms < FAREWELL_FILES_MS; ms += 5) {
        n = 0;
        for (Aside *a = asides; a; a = a->next)
            n += a->pid == getpid() && !is_done(a) &&
                 (ms < FAREWELL_MS || halt_has_files(&a->halt));
        Py_BEGIN_ALLOW_THREADS;
        nanosleep(&(struct timespec){.tv_nsec = n ? 5 * 1000 * 1000 : 0}, NULL);
        Py_END_ALLOW_THREADS;
    }
}
