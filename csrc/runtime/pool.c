/* pool: the programs of a grid over CPU threads.
 *
 *     caller    publishes a job, takes chunks itself, waits for those who have begun
 *     worker    spins a little, then sleeps; takes chunks of the job until none is left
 *
 * To wake a worker takes some 50 us, and milliseconds where the CPUs are busy. So the caller
 * wakes as many as the work is worth by what a program took last time, and more when it finds that
 * it has worked for long; a grid that is over before that wakes nobody. Who still spins
 * takes part in any case.
 *
 * Programs are numbered with x fastest and handed out in chunks from one counter, so a
 * slow program or a busy core delays only its own chunk. Threads start at the first run
 * that can use them and stay. One job at a time: a second caller meanwhile runs its grid
 * alone on its own thread, which is also what a kernel launched from a callback gets.
 *
 * The caller polls for signals (poll.h): it takes the GIL in the middle of its job, and
 * Python's handlers run there. So nobody may wait for the end of a job with the GIL in hand,
 * as os.fork() does on any thread:
 *
 *     is_busy     whose job is on. Tried, never waited for
 *     GIL         taken by a caller, is_busy or not, and never with the lock held
 *     lock        held for a moment; nothing is waited for under it, but what gives it back
 *
 * Alone: as long as one thread launches, a job without helpers is the only one that writes, and its atomics are
 * loads and stores. The first launch of a second thread ends that for good: it says so and waits until who is
 * alone has seen it, between two programs or where a program looks up. At most one job is alone, so a handler that
 * launches finds the one below it not alone.
 *
 * A job with helpers and atomics begins alone, too: for the first WAKE_NS nobody would be woken. Then its own pace is
 * compared with that of a thread among many, which an earlier launch has measured: locks and lines that go to and
 * fro cost more than a few threads bring. Each launch that stays alone believes that number a little less.
 *
 * A program's frame may be larger than what is left of its thread's stack, which Python lets have 32 KB. Such
 * a launch has a thread of its own, and its caller waits and polls:
 *
 *     caller    pool_run      guest_wait: asks the poller, and writes down what it said
 *     guest     guest_run     its poller reads that
 *
 * After fork a child has the memory of the pool but none of its threads: the child's
 * handler forgets them, and the next run starts new ones. A job of another thread is half
 * done there, and stays so. One whose own caller forked, in a handler, ends (POLL_FORKED).
 */
#include "codegen/host/calls.h"
#include "base/poll.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 256,
    SPIN_NS = 50000,  /* a launch that follows at once finds us awake */
    WAKE_NS = 100000, /* work that wakes nobody */
    SHARE_NS = 25000, /* work that is worth one more thread */
    CHUNKS_PER_THREAD = 16,
    CACHE_OF_CPU = 4 << 20,   /* of the last cache, that a CPU may count on */
    GUESSED_CACHE = 32 << 20, /* where nobody says how large the last one is */
    SMALL_FRAME = 4 << 10,    /* fits in what launch() asks of every stack */
    CALLS_STACK =
        32 << 10, /* of the pool, of what a program calls, of handlers of signals */
    WORKER_STACK = 8 << 20, /* address space; programs with more do without helpers */
    OWN_STACK = 1 << 20,    /* of a thread for one launch, beside its frame */
};

typedef struct Job {
    HostKernel *kernel;
    const uint64_t *params;
    const int32_t *grid;
    int64_t n_programs, chunk;
    size_t scratch_bytes;
    HostRun run;
    CrashPlace place;           /* but for the program */
    int64_t next;               /* atomic: first program nobody has taken */
    int64_t began;              /* now_ns() of the caller */
    int n_helpers;              /* workers that may take part */
    int n_asleep;               /* of these the caller has not woken; the caller's */
    bool may_be_alone;          /* no helpers, so far */
    int64_t *locked_ns;         /* HostLaunch's; NULL: no atomics */
    int64_t n_own;              /* programs of the caller, so far */
    int64_t shared_at, n_alone; /* ns, and n_own, when helpers came in late; 0 */
    int n_joined, n_left;       /* under the lock: workers inside, workers done */
} Job;

typedef struct Scratch {
    char *at;
    size_t size;
} Scratch;

typedef struct Pool {
    int is_busy;          /* atomic: somebody's job is on */
    int has_many;         /* atomic: a second thread has launched */
    int is_alone;         /* atomic: a job whose atomics take no lock runs programs */
    uintptr_t first;      /* atomic: the thread that launched first; 0: none has */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake, done;
    Job *job;        /* NULL: none */
    unsigned ticket; /* atomic: counts jobs; a worker joins each at most once */
    int n_workers;
    Scratch scratch[MAX_THREADS]; /* 0: the caller's; i: worker i's own */
    int64_t cache_bytes;          /* of the last cache; set once */
} Pool;

/* One for the process: threads are the process's. */
static Pool pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
    .done = PTHREAD_COND_INITIALIZER,
};
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;
static int pool_size; /* threads of a run that names no number; set once */

/* ---- the process ---------------------------------------------------------------------- */

static void
before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
}

static void
after_fork_parent(void)
{
    pthread_mutex_unlock(&pool.lock);
}

static void
after_fork_child(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.wake, NULL);
    pthread_cond_init(&pool.done, NULL);
    pool.n_workers = 0;
    pool.job = NULL;
    if (pool.is_busy) /* scratch of a job that may still be left here, or was being grown */
        memset(pool.scratch, 0, sizeof pool.scratch);
    pool.is_busy = pool.has_many = pool.is_alone = 0;
    pool.first = 0;
}

/* Bytes of the largest cache that the first CPU has a part in. Not from sysconf: glibc takes
 * all caches of an AMD package for one. A virtual machine of few CPUs names the whole cache of its host, of which
 * others have the most: on two CPUs of a Xeon that names 480 MB stores past the caches paid from 8 MB on. */
static int64_t
last_cache(int n_cpus)
{
    int64_t most = 0;
    for (int i = 0; i < 8; i++) {
        char path[80], unit = 0;
        long long size = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size",
                 i);
        FILE *f = fopen(path, "r");
        if (!f)
            break;
        if (fscanf(f, "%lld%c", &size, &unit) == 2)
            most = MAX(most, unit == 'M'   ? size << 20
                             : unit == 'K' ? size << 10
                                           : size);
        fclose(f);
    }
    return most ? MIN(most, (int64_t)n_cpus * CACHE_OF_CPU) : GUESSED_CACHE;
}

static void
set_up(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
    int n = 0;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    if (n < 1)
        n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    pool_size = MIN(MAX(n, 1), MAX_THREADS);
    pool.cache_bytes = last_cache((int)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1));
}

static int
pool_threads(void)
{
    pthread_once(&pool_once, set_up);
    return pool_size;
}

/* ---- work -------------------------------------------------------------------------------- */

static bool
grow(Scratch *s, size_t size)
{
    if (s->size >= size)
        return true;
    free(s->at);
    size = (size + 4095) / 4096 * 4096;
    s->at = aligned_alloc(4096, size);
    s->size = s->at ? size : 0;
    return s->at;
}

static void
no_memory(HostRun *r, size_t bytes)
{
    if (!__atomic_exchange_n(&r->stop, 1, __ATOMIC_ACQ_REL))
        snprintf(r->err, ERR_TEXT, "out of memory: %zu bytes of scratch a thread",
                 bytes);
}

/* Stores past the caches are ordered by nothing else. */
static void
fence(void)
{
#if defined __x86_64__
    __builtin_ia32_sfence();
#endif
}

/* ---- alone ------------------------------------------------------------------------------ */

/* Each side writes its own flag and then reads the other's: one of them sees the other. */
static void
be_alone(Job *j)
{
    if (!j->may_be_alone)
        return;
    __atomic_store_n(&pool.is_alone, 1, __ATOMIC_SEQ_CST);
    j->run.is_alone = !__atomic_load_n(&pool.has_many, __ATOMIC_SEQ_CST);
    if (!j->run.is_alone)
        __atomic_store_n(&pool.is_alone, 0, __ATOMIC_RELEASE);
}

static void
be_one_of_many(Job *j)
{
    if (!j->run.is_alone)
        return;
    j->run.is_alone = 0;
    __atomic_store_n(&pool.is_alone, 0, __ATOMIC_RELEASE);
}

/* Before the first program of a launch, without the GIL. */
static void
say_who_launches(void)
{
    uintptr_t me = (uintptr_t)pthread_self(), first = 0;
    if (__atomic_load_n(&pool.first, __ATOMIC_RELAXED) == me ||
        __atomic_compare_exchange_n(&pool.first, &first, me, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST))
        return;
    __atomic_store_n(&pool.has_many, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&pool.is_alone, __ATOMIC_SEQ_CST))
        sched_yield();
}

/* Programs i .. end - 1, none of which is looked at. */
static void
run_some(Job *j, int64_t i, int64_t end, char *scratch)
{
    int64_t nx = j->grid[0], ny = j->grid[1];
    int32_t pid[3] = {(int32_t)(i % nx), (int32_t)(i / nx % ny),
                      (int32_t)(i / nx / ny)};
    CrashPlace place = j->place;
    place.pid = pid;
    CrashPlace before = crash_enter(place);
    for (; i < end && !__atomic_load_n(&j->run.stop, __ATOMIC_RELAXED); i++) {
        if (__atomic_load_n(&pool.has_many, __ATOMIC_RELAXED))
            be_one_of_many(j);
        j->kernel(j->params, pid, j->grid, scratch);
        if (++pid[0] < nx)
            continue;
        pid[0] = 0;
        if (++pid[1] == ny)
            pid[1] = 0, pid[2]++;
    }
    crash_enter(before);
}

static void *worker(void *arg);

static int64_t
now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Has the lock. */
static void
wake(Job *j, int n)
{
    j->n_asleep -= n;
    if (n >= pool.n_workers)
        pthread_cond_broadcast(&pool.wake);
    else
        for (int i = 0; i < n; i++)
            pthread_cond_signal(&pool.wake);
}

/* Has the lock. Fewer threads than wanted is no error. */
static void
start_workers(int n)
{
    while (pool.n_workers < n) {
        pthread_t t;
        if (!stack_thread(&t, WORKER_STACK, worker, &pool.scratch[pool.n_workers + 1]))
            return;
        pthread_detach(t);
        pool.n_workers++;
    }
}

/* For all to see, of whom n are woken. */
static void
publish(Job *j, int n)
{
    pthread_mutex_lock(&pool.lock);
    start_workers(j->n_helpers);
    pool.job = j;
    __atomic_fetch_add(&pool.ticket, 1, __ATOMIC_RELEASE);
    wake(j, n);
    pthread_mutex_unlock(&pool.lock);
}

/* Is a job that began alone to end so? One that waits for a program that nobody has begun slows down. */
static bool
stays_alone(Job *j)
{
    int64_t ns = now_ns() - j->began, n = j->n_own,
            locked = __atomic_load_n(j->locked_ns, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&pool.has_many, __ATOMIC_RELAXED) &&
        (ns < WAKE_NS || (n && locked / (j->n_helpers + 1) >= ns / n)))
        return true;
    be_one_of_many(j);
    j->may_be_alone = false;
    j->shared_at = j->began + ns, j->n_alone = n;
    publish(j, j->n_helpers);
    return false;
}

static bool
starts_alone(Job *j)
{
    return j->may_be_alone && j->n_helpers && stays_alone(j);
}

/* The caller, between two chunks and in loops: it takes long, so all that may help are to. */
static void
wake_late(Job *j)
{
    if (!j->n_asleep || now_ns() - j->began < WAKE_NS)
        return;
    pthread_mutex_lock(&pool.lock);
    wake(j, j->n_asleep);
    pthread_mutex_unlock(&pool.lock);
}

/* A program that looks may be waiting for another one, which nobody has begun. */
bool
host_look(HostRun *r, Pace *p)
{
    bool is_caller = pthread_equal(pthread_self(), r->caller);
    Job *j = (Job *)((char *)r - offsetof(Job, run));
    be_one_of_many(j);
    if (is_caller) { /* in a job that is not shared nobody is asleep */
        if (!starts_alone(j))
            wake_late(j);
    }
    if (!poll_signals(is_caller ? r->poller : NULL, p))
        __atomic_store_n(&r->stop, 1, __ATOMIC_RELEASE);
    be_alone(j);
    return !__atomic_load_n(&r->stop, __ATOMIC_RELAXED);
}

/* The number of the programs that this thread ran. */
static int64_t
run_programs(Job *j, Scratch *s, bool is_caller)
{
    int64_t n = 0;
    Pace pace = {.left = 1}; /* most grids are small: no look before their first */
    for (;;) {
        int64_t i = __atomic_fetch_add(&j->next, j->chunk, __ATOMIC_RELAXED), next;
        int64_t end = MIN(i + j->chunk, j->n_programs);
        for (; i < end; i = next) {
            if (!pace.left && !host_look(&j->run, &pace))
                return n;
            next = MIN(i + pace.left, end);
            pace.left -= (int32_t)(next - i);
            run_some(j, i, next, s->at);
            n += next - i;
            if (is_caller)
                j->n_own = n;
        }
        if (end == j->n_programs || __atomic_load_n(&j->run.stop, __ATOMIC_RELAXED))
            return n;
        if (is_caller && !starts_alone(j))
            wake_late(j);
    }
}

static int64_t
work(Job *j, Scratch *s, bool is_caller)
{
    HostRun *run = &j->run;
    if (!grow(s, j->scratch_bytes)) {
        no_memory(run, j->scratch_bytes);
        return 0;
    }
    memcpy(s->at, &run, sizeof run);
    memset(s->at + sizeof run, 0, sizeof(int64_t)); /* kept.c: nothing is, yet */
    Manners was = manners_begin();
    be_alone(j);
    int64_t n = run_programs(j, s, is_caller);
    be_one_of_many(j);
    manners_end(was);
    fence();
    return n;
}

static void
pause_cpu(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

/* Looks for a job for a while. Reads the clock now and then: it takes as long as a pause. */
static void
spin(unsigned seen)
{
    enum { PAUSES = 32 };
    int64_t until = now_ns() + SPIN_NS;
    do
        for (int i = 0; i < PAUSES; i++) {
            if (__atomic_load_n(&pool.ticket, __ATOMIC_ACQUIRE) != seen)
                return;
            pause_cpu();
        }
    while (now_ns() < until);
}

static void *
worker(void *arg)
{
    Scratch *s = arg;
    unsigned seen = 0;
    for (;;) {
        spin(seen);
        pthread_mutex_lock(&pool.lock);
        while (pool.ticket == seen || !pool.job) {
            seen = pool.ticket; /* a job that came and went */
            pthread_cond_wait(&pool.wake, &pool.lock);
        }
        seen = pool.ticket;
        Job *j = pool.job;
        bool joins = j->n_joined < j->n_helpers &&
                     __atomic_load_n(&j->next, __ATOMIC_RELAXED) < j->n_programs;
        j->n_joined += joins;
        pthread_mutex_unlock(&pool.lock);
        if (!joins)
            continue;
        work(j, s, false);
        pthread_mutex_lock(&pool.lock);
        if (++j->n_left == j->n_joined)
            pthread_cond_signal(&pool.done);
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

/* Is this the child of a caller that forked? Then its helpers are not here, and the pool is no
 * longer its own. */
static bool
is_orphan(const Job *j)
{
    return j->run.poller && j->run.poller->last == POLL_FORKED;
}

/* When who waits looks after signals again. */
static struct timespec
soon(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += POLL_MS / 2 * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Has the lock, and gives it back. The caller has nothing left to do, and the helpers have. */
static void
wait_for_helpers(Job *j)
{
    HostRun *run = &j->run;
    while (j->n_left < j->n_joined) {
        struct timespec until = soon();
        if (pthread_cond_timedwait(&pool.done, &pool.lock, &until) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&pool.lock);
        host_look(run, &(Pace){0});
        if (is_orphan(j))
            return;
        pthread_mutex_lock(&pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
}

/* How many helpers the whole grid is worth; program_ns: 0 where no launch has measured it. */
static int
helpers_worth(const Job *j, int64_t program_ns)
{
    if (!program_ns)
        return j->n_helpers;
    double all = (double)program_ns * (double)j->n_programs;
    return all < WAKE_NS ? 0 : (int)MIN(all / SHARE_NS, j->n_helpers);
}

/* What a program took is at most twice what it took last time: the caller may have waited for a
 * CPU meanwhile. */
static void
measured(const Job *j, int64_t n_own, int64_t *program_ns)
{
    int64_t ns = MAX((now_ns() - j->began) / n_own, 1),
            last = __atomic_load_n(program_ns, __ATOMIC_RELAXED);
    __atomic_store_n(program_ns, last ? MIN(ns, 2 * last) : ns, __ATOMIC_RELAXED);
}

/* What a program took this thread among others. */
static void
measure_locks(const Job *j, int64_t n_own)
{
    int64_t n = n_own - j->n_alone,
            ns = __atomic_load_n(j->locked_ns, __ATOMIC_RELAXED);
    if (j->may_be_alone)
        ns -= ns / 64;
    else if (j->shared_at && n > 0)
        ns = MAX((now_ns() - j->shared_at) / n, 1);
    __atomic_store_n(j->locked_ns, ns, __ATOMIC_RELAXED);
}

/* program_ns: what a program takes; relaxed atomic. */
static void
run_shared(Job *j, int64_t *program_ns)
{
    j->began = now_ns();
    j->n_asleep = j->n_helpers;
    j->may_be_alone = j->locked_ns &&
                      !__atomic_load_n(&pool.has_many, __ATOMIC_RELAXED);
    if (!j->may_be_alone)
        publish(j, helpers_worth(j, __atomic_load_n(program_ns, __ATOMIC_RELAXED)));
    int64_t n_own = work(j, &pool.scratch[0], true);
    if (is_orphan(j))
        return;
    if (n_own)
        measured(j, n_own, program_ns);
    if (j->locked_ns)
        measure_locks(j, n_own);
    pthread_mutex_lock(&pool.lock);
    pool.job = NULL; /* who has not joined finds nothing left to do */
    wait_for_helpers(j);
}

static bool
run_here(const HostLaunch *launch, char err[ERR_TEXT])
{
    const int32_t *grid = launch->grid;
    int64_t n = (int64_t)grid[0] * grid[1];
    if (grid[0] < 0 || grid[1] < 0 || grid[2] < 0 ||
        (grid[2] && n > INT64_MAX / 4 / grid[2])) {
        snprintf(err, ERR_TEXT, "grid (%d, %d, %d) is negative or too large", grid[0],
                 grid[1], grid[2]);
        return false;
    }
    n *= grid[2];
    if (!n)
        return true;
    int most = pool_threads(); /* the handlers of fork, before the first lock */
    int threads = launch->n_threads > 0 ? MIN(launch->n_threads, MAX_THREADS) : most;
    if (launch->stack_bytes > WORKER_STACK - CALLS_STACK)
        threads = 1;
    threads = (int)MIN(threads, n);
    *err = 0;
    int64_t unknown = 0;
    Job j = {.kernel = launch->kernel,
             .params = launch->params,
             .grid = grid,
             .n_programs = n,
             .chunk = MAX(n / ((int64_t)threads * CHUNKS_PER_THREAD), 1),
             .scratch_bytes = (size_t)MAX(launch->scratch_bytes, 64),
             .run = {.stream_bytes = launch->stream_bytes ? launch->stream_bytes
                                                          : pool.cache_bytes,
                     .err = err,
                     .out = launch->out ? launch->out : stdout,
                     .spans = launch->spans,
                     .n_spans = launch->n_spans,
                     .stray = launch->stray,
                     .report = launch->report,
                     .assembly = launch->assembly,
                     .poller = launch->poller,
                     .caller = pthread_self()},
             .place = {.kernel = launch->name,
                       .loads = launch->loads,
                       .stores = launch->stores},
             .n_helpers = threads - 1,
             .locked_ns = launch->locked_ns,
             .may_be_alone = threads == 1};
    say_who_launches();
    if (!__atomic_exchange_n(&pool.is_busy, 1, __ATOMIC_ACQUIRE)) {
        if (j.n_helpers)
            run_shared(&j, launch->program_ns ? launch->program_ns : &unknown);
        else
            work(&j, &pool.scratch[0], false);
        if (!is_orphan(&j))
            __atomic_store_n(&pool.is_busy, 0, __ATOMIC_RELEASE);
    } else {
        Scratch own = {0};
        j.may_be_alone =
            false; /* a handler's launch, inside of one that may have helpers */
        work(&j, &own, false);
        free(own.at);
    }
    return !j.run.stop;
}

/* ---- stacks ---------------------------------------------------------------------------- */

/* A launch on a thread of its own. */
typedef struct Guest {
    const HostLaunch *launch;
    char *err;
    bool is_ok;
    int said; /* atomic: Polled, of the caller's poller */
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done; /* under the lock */
} Guest;

/* Poller.ask */
static Polled
what_caller_said(void *data)
{
    Guest *g = data;
    return (Polled)__atomic_load_n(&g->said, __ATOMIC_RELAXED);
}

static void *
guest_run(void *arg)
{
    Guest *g = arg;
    HostLaunch launch = *g->launch;
    Poller poller = {.ask = what_caller_said, .data = g};
    launch.poller = &poller;
    g->is_ok = run_here(&launch, g->err);
    pthread_mutex_lock(&g->lock);
    g->is_done = true;
    pthread_cond_signal(&g->done);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* False: this is a child, which has no guest. */
static bool
guest_wait(Guest *g)
{
    Poller *poller = g->launch->poller;
    pthread_mutex_lock(&g->lock);
    while (!g->is_done) {
        struct timespec until = soon();
        if (pthread_cond_timedwait(&g->done, &g->lock, &until) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&g->lock);
        poll_signals(poller, &(Pace){0});
        if (poller && poller->last == POLL_FORKED)
            return false;
        if (poller)
            __atomic_store_n(&g->said, (int)poller->last, __ATOMIC_RELAXED);
        pthread_mutex_lock(&g->lock);
    }
    pthread_mutex_unlock(&g->lock);
    return true;
}

static bool
run_as_guest(const HostLaunch *launch, char err[ERR_TEXT])
{
    Guest g = {.launch = launch,
               .err = err,
               .lock = PTHREAD_MUTEX_INITIALIZER,
               .done = PTHREAD_COND_INITIALIZER};
    size_t stack = (size_t)launch->stack_bytes + OWN_STACK;
    pthread_t t;
    if (!stack_thread(&t, stack, guest_run, &g)) {
        snprintf(err, ERR_TEXT, "out of memory: %zu bytes for a stack", stack);
        return false;
    }
    if (!guest_wait(&g)) {
        *err = 0;
        return false;
    }
    pthread_join(t, NULL);
    return g.is_ok;
}

bool
pool_run(const HostLaunch *launch, char err[ERR_TEXT])
{
    bool has_stack = launch->stack_bytes <= SMALL_FRAME ||
                     stack_left() >= (size_t)launch->stack_bytes + CALLS_STACK;
    return has_stack ? run_here(launch, err) : run_as_guest(launch, err);
}
