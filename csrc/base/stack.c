/* stack: how much of a thread's stack is left.
 *
 * A thread may have 64 KB (threading.stack_size). What recurses asks at each step, and raises
 * instead of running over the end. LLVM does not fit there: compiles have a thread of their own
 * (runtime/aside.h).
 */
#include "base/base.h"

#include <pthread.h>

/* The stack of this thread; both NULL: not asked yet. Asking reads a file on the first thread
 * of a process, and looking at what it said costs a nanosecond. */
typedef struct Bounds {
    char *low, *high;
} Bounds;
static _Thread_local Bounds stack_bounds;

static void
ask(Bounds *b)
{
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

size_t
stack_left(void)
{
    Bounds *b = &stack_bounds;
    char *here = __builtin_frame_address(0);
    if (!b->low)
        ask(b);
    /* Elsewhere: a fiber, of whose stack nobody knows the size. */
    return here > b->low && here <= b->high ? (size_t)(here - b->low) : SIZE_MAX;
}
