/* stack: how much of a thread's stack is left.
 *
 * A thread may have 64 KB (threading.stack_size). What recurses asks at each step, and raises
 * instead of running over the end. LLVM does not fit there: compiles have a thread of their own
 * (runtime/aside.h).
 */
#include "base/base.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The stack of this thread; both NULL: not asked yet. */
typedef struct Bounds {
    char *low, *high;
} Bounds;
static _Thread_local Bounds stack_bounds;

/* pthread_getattr_np would read /proc/self/maps, which takes half a millisecond in a process
 * that has loaded much. The kernel puts the path of the program at the stack's top, and keeps
 * 128 MB below free whatever the limit is, of which the random offset takes some. */
bool
stack_of_first_thread(char **low, char **high)
{
    const rlim_t sure = 64 << 20;
    struct rlimit limit;
    char *path = (char *)getauxval(AT_EXECFN);
    if (!path || getrlimit(RLIMIT_STACK, &limit))
        return false;
    *high = path + strlen(path) + 1;
    *low = *high - MIN(limit.rlim_cur, sure);
    return true;
}

/* False: this is another thread. */
static bool
ask_first_thread(const char *here, Bounds *b)
{
    Bounds first;
    if (syscall(SYS_gettid) != getpid() ||
        !stack_of_first_thread(&first.low, &first.high) || here <= first.low ||
        here > first.high) /* in a child of fork, of what was another thread */
        return false;
    *b = first;
    return true;
}

static void
ask(const char *here, Bounds *b)
{
    if (ask_first_thread(here, b))
        return;
    pthread_attr_t attr;
    void *low;
    size_t size;
    b->low = b->high = (char *)1; /* unknown */
    if (pthread_getattr_np(pthread_self(), &attr))
        return;
    if (!pthread_attr_getstack(&attr, &low, &size))
        b->low = low, b->high = b->low + size;
    pthread_attr_destroy(&attr);
}

bool
stack_thread(pthread_t *t, size_t bytes, void *(*fn)(void *), void *data)
{
    pthread_attr_t attr;
    if (pthread_attr_init(&attr))
        return false;
    bool ok = !pthread_attr_setstacksize(&attr, bytes) &&
              !pthread_create(t, &attr, fn, data);
    pthread_attr_destroy(&attr);
    return ok;
}

size_t
stack_left(void)
{
    Bounds *b = &stack_bounds;
    char *here = __builtin_frame_address(0);
    if (!b->low)
        ask(here, b);
    /* Elsewhere: a fiber, of whose stack nobody knows the size. */
    return here > b->low && here <= b->high ? (size_t)(here - b->low) : SIZE_MAX;
}
