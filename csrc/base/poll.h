/* poll: the thread that launched looks after its process now and then.
 *
 * Python runs the handlers of signals on its main thread alone, and only when that asks. So the
 * thread that launched a grid asks every POLL_MS: between programs, at the turns of
 * their loops, and while it waits for its helpers. A handler that raises, as that of Ctrl-C does,
 * ends the launch.
 *
 *     Pace        how many programs, or turns of a loop, until the clock is read again
 *     Poller   whom to ask, and when next
 *
 * Handlers are any Python: they launch kernels, and they fork. What that asks of locks stands on
 * top of pool.c. A compile runs on a thread of its own (runtime/aside.h), which is left, and Halt
 * tells it so.
 */
#ifndef TEGULA_POLL_H
#define TEGULA_POLL_H

#include "base/base.h"

#include <pthread.h>

enum { POLL_MS = 50 };

typedef enum Polled {
    POLL_GO_ON,
    POLL_STOP,   /* the launch is to end */
    POLL_FORKED, /* the same; and this is a child, where its helpers are missing */
} Polled;

typedef struct Poller {
    Polled (*ask)(void *data);
    void *data;
    int64_t due; /* on the clock of poll.c; 0: nobody has looked yet */
    Polled last; /* answer; after another than POLL_GO_ON nobody is asked again */
} Poller;

/* Zeroed: the first step is looked at. Compiled code counts `left` down: codegen/host/control.c. */
typedef struct Pace {
    int32_t left; /* steps until the next look */
    int32_t step;
    int64_t seen; /* when the last one was */
} Pace;

/* A look: p has its next steps. a is asked when it is time; NULL: nobody is. false: the launch
 * is to end. */
bool poll_signals(Poller *a, Pace *p);

/* How a compile is told to end: passes and the arena ask (comp_poll), a process that it
 * waits for is killed. */
typedef struct Halt {
    int stop; /* atomic */
    pthread_mutex_t lock;
    int child;      /* under the lock: process to kill, not yet waited for; 0: none */
    bool has_files; /* under the lock: the compile has files to remove */
} Halt;

void halt_init(Halt *h);
void halt_done(Halt *h);
void halt(Halt *h);
/* h may be NULL. The process to kill; 0: there is none any more, and waitpid may follow. */
void halt_child(Halt *h, int child);
/* The compile makes files, or has removed them. False: it has been told to end, and makes none. */
bool halt_files(Halt *h, bool has);
bool halt_has_files(Halt *h);

#endif
