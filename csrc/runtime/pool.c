/* pool: the programs of a grid over CPU threads.
 *
 *     caller    publishes a job, takes chunks itself, waits for the others
 *     worker    spins a little, then sleeps; takes chunks of the job until none is left
 *
 * Programs are numbered with x fastest and handed out in chunks from one counter, so a
 * slow program or a busy core delays only its own chunk. Threads start at the first run
 * that can use them and stay. One job at a time: a second caller meanwhile runs its grid
 * alone on its own thread, which is also what a kernel launched from a callback gets.
 *
 * The caller attends to signals (attend.h): it takes the GIL in the middle of its job, and
 * Python's handlers run there. So nobody may wait for the end of a job with the GIL in hand,
 * as os.fork() does on any thread:
 *
 *     is_busy     whose job is on. Tried, never waited for
 *     GIL         taken by a caller, is_busy or not, and never with the lock held
 *     lock        held for a moment; nothing is waited for under it, but what gives it back
 *
 * After fork a child has the memory of the pool but none of its threads: the child's
 * handler forgets them, and the next run starts new ones. A job of another thread is half
 * done there, and stays so. One whose own caller forked, in a handler, ends (ATTEND_FORKED).
 */
#include "codegen/host/calls.h"
#include "base/attend.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_THREADS = 256,
    SPINS = 2000, /* tens of us: a launch that follows at once finds us awake */
    CHUNKS_PER_THREAD = 16,
    GUESSED_CACHE = 32 << 20, /* where nobody says how large the last one is */
};

typedef struct Job {
    HostKernel *kernel;
    const uint64_t *params;
    const int32_t *grid;
    int64_t n_programs, chunk;
    size_t scratch_bytes;
    HostRun run;
    int64_t next;         /* atomic: first program nobody has taken */
    int n_helpers;        /* workers that may take part */
    int n_joined, n_left; /* under the lock: workers inside, workers done */
} Job;

typedef struct Scratch {
    char *at;
    size_t size;
} Scratch;

typedef struct Pool {
    int is_busy;          /* atomic: somebody's job is on */
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
    pool.is_busy = 0;
}

/* Bytes of the largest cache that the first CPU has a part in. Not from sysconf: glibc takes
 * all caches of an AMD package for one. */
static int64_t
last_cache(void)
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
    return most ? most : GUESSED_CACHE;
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
    pool.cache_bytes = last_cache();
}

int
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

bool
host_look(HostRun *r, Pace *p)
{
    bool is_caller = pthread_equal(pthread_self(), r->caller);
    if (!attend(is_caller ? r->attendant : NULL, p))
        __atomic_store_n(&r->stop, 1, __ATOMIC_RELEASE);
    return !__atomic_load_n(&r->stop, __ATOMIC_RELAXED);
}

/* Programs i .. end - 1, none of which is looked at. */
static void
run_some(const Job *j, int64_t i, int64_t end, char *scratch)
{
    int64_t nx = j->grid[0], ny = j->grid[1];
    int32_t pid[3] = {(int32_t)(i % nx), (int32_t)(i / nx % ny),
                      (int32_t)(i / nx / ny)};
    for (; i < end && !__atomic_load_n(&j->run.stop, __ATOMIC_RELAXED); i++) {
        j->kernel(j->params, pid, j->grid, scratch);
        if (++pid[0] < nx)
            continue;
        pid[0] = 0;
        if (++pid[1] == ny)
            pid[1] = 0, pid[2]++;
    }
}

static void
run_programs(Job *j, Scratch *s)
{
    Pace pace = {.left = 1}; /* most grids are small: no look before their first */
    for (;;) {
        int64_t i = __atomic_fetch_add(&j->next, j->chunk, __ATOMIC_RELAXED), next;
        int64_t end = MIN(i + j->chunk, j->n_programs);
        for (; i < end; i = next) {
            if (!pace.left && !host_look(&j->run, &pace))
                return;
            next = MIN(i + pace.left, end);
            pace.left -= (int32_t)(next - i);
            run_some(j, i, next, s->at);
        }
        if (end == j->n_programs || __atomic_load_n(&j->run.stop, __ATOMIC_RELAXED))
            return;
    }
}

static void
work(Job *j, Scratch *s)
{
    HostRun *run = &j->run;
    if (!grow(s, j->scratch_bytes)) {
        no_memory(run, j->scratch_bytes);
        return;
    }
    memcpy(s->at, &run, sizeof run);
    run_programs(j, s);
    fence();
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

static void *
worker(void *arg)
{
    Scratch *s = arg;
    unsigned seen = 0;
    for (;;) {
        for (int i = 0;
             i < SPINS && __atomic_load_n(&pool.ticket, __ATOMIC_ACQUIRE) == seen; i++)
            pause_cpu();
        pthread_mutex_lock(&pool.lock);
        while (pool.ticket == seen || !pool.job) {
            seen = pool.ticket; /* a job that came and went */
            pthread_cond_wait(&pool.wake, &pool.lock);
        }
        seen = pool.ticket;
        Job *j = pool.job;
        bool joins = j->n_joined < j->n_helpers;
        j->n_joined += joins;
        pthread_mutex_unlock(&pool.lock);
        if (!joins)
            continue;
        work(j, s);
        pthread_mutex_lock(&pool.lock);
        if (++j->n_left == j->n_joined)
            pthread_cond_signal(&pool.done);
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

/* Has the lock. Fewer threads than wanted is no error. */
static void
start_workers(int n)
{
    while (pool.n_workers < n) {
        pthread_t t;
        if (pthread_create(&t, NULL, worker, &pool.scratch[pool.n_workers + 1]))
            return;
        pthread_detach(t);
        pool.n_workers++;
    }
}

/* Is this the child of a caller that forked? Then its helpers are not here, and the pool is no
 * longer its own. */
static bool
is_orphan(const Job *j)
{
    return j->run.attendant && j->run.attendant->last == ATTEND_FORKED;
}

/* Has the lock, and gives it back. The caller has nothing left to do, and the helpers have. */
static void
wait_for_helpers(Job *j)
{
    HostRun *run = &j->run;
    while (j->n_left < j->n_joined) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += ATTEND_MS / 2 * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
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

static void
run_shared(Job *j)
{
    pthread_mutex_lock(&pool.lock);
    start_workers(j->n_helpers);
    pool.job = j;
    __atomic_fetch_add(&pool.ticket, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    work(j, &pool.scratch[0]);
    if (is_orphan(j))
        return;
    pthread_mutex_lock(&pool.lock);
    pool.job = NULL; /* who has not joined finds nothing left to do */
    wait_for_helpers(j);
}

bool
pool_run(const HostLaunch *launch, char err[ERR_TEXT])
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
    threads = (int)MIN(threads, n);
    *err = 0;
    Job j = {.kernel = launch->kernel,
             .params = launch->params,
             .grid = grid,
             .n_programs = n,
             .chunk = MAX(n / ((int64_t)threads * CHUNKS_PER_THREAD), 1),
             .scratch_bytes = (size_t)MAX(launch->scratch_bytes, 64),
             .run = {.stream_bytes = launch->stream_bytes ? launch->stream_bytes
                                                          : pool.cache_bytes,
                     .err = err,
                     .out = stdout,
                     .spans = launch->spans,
                     .n_spans = launch->n_spans,
                     .report = launch->report,
                     .assembly = launch->assembly,
                     .attendant = launch->attendant,
                     .caller = pthread_self()},
             .n_helpers = threads - 1};
    if (!__atomic_exchange_n(&pool.is_busy, 1, __ATOMIC_ACQUIRE)) {
        if (j.n_helpers)
            run_shared(&j);
        else
            work(&j, &pool.scratch[0]);
        if (!is_orphan(&j))
            __atomic_store_n(&pool.is_busy, 0, __ATOMIC_RELEASE);
    } else {
        Scratch own = {0};
        work(&j, &own);
        free(own.at);
    }
    return !j.run.stop;
}
