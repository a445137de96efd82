/* crash: which kernel a process dies of.
 *
 *     SIGSEGV or SIGBUS    in a kernel      its name, the program, the lines that can have done
 *                                           it, and what to do
 *                          in a compile     whose; the driver's, too
 *                          elsewhere        which kernel ran last: it may have written where the
 *                                           others' memory is
 *     then                 whoever had the signal before: faulthandler, a sanitizer, the system
 *
 * The handler is put in when the first kernel is loaded, and runs on an alternate stack, as the
 * thread's own may be what is at its end. It formats by hand: nothing that it calls may take a
 * lock. A name is read where a thread says it is, and the last one is a copy.
 */
#include "base/base.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK = 64 << 10, NAME = 64, LINE = 512 };

static const int signals[] = {SIGSEGV, SIGBUS};
/* One for the process: signals are the process's. */
static struct {
    pthread_once_t once;
    pthread_key_t stack; /* of a thread, to be freed with it */
    struct sigaction before[COUNT(signals)];
    int has_told;    /* atomic */
    char last[NAME]; /* kernel; ends with NUL at any time */
} crash = {.once = PTHREAD_ONCE_INIT};
static _Thread_local CrashPlace crash_place;
static _Thread_local bool crash_has_stack;

/* ---- text ----------------------------------------------------------------------------- */

typedef struct Text {
    char at[LINE];
    size_t n;
} Text;

static void
put_text(Text *t, const char *s)
{
    while (*s && t->n < sizeof t->at)
        t->at[t->n++] = *s++;
}

static void
put_number(Text *t, uint64_t v, unsigned base)
{
    char digits[32];
    int i = sizeof digits;
    digits[--i] = 0;
    do
        digits[--i] = "0123456789abcdef"[v % base];
    while ((v /= base));
    put_text(t, &digits[i]);
}

typedef enum Fault { FAULT_UNKNOWN, FAULT_LOAD, FAULT_STORE } Fault;

/* What the instruction did. An address that no page could have is no page fault. */
static Fault
fault_of(const void *context)
{
#if defined __x86_64__
    enum { PAGE_FAULT = 14, BY_WRITE = 2 };
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    if (r[REG_TRAPNO] == PAGE_FAULT)
        return r[REG_ERR] & BY_WRITE ? FAULT_STORE : FAULT_LOAD;
#else
    (void)context;
#endif
    return FAULT_UNKNOWN;
}

/* ": a store in k.py:12, outside of its tensors". */
static void
put_access(Text *t, const CrashPlace *p, Fault which)
{
    const char *loads = which == FAULT_STORE ? NULL : p->loads,
               *stores = which == FAULT_LOAD ? NULL : p->stores;
    if (!loads && !stores) {
        put_text(t, ": an access outside of its tensors");
        return;
    }
    put_text(t, loads ? ": a load in " : ": a store in ");
    put_text(t, loads ? loads : stores);
    if (loads && stores) {
        put_text(t, ", or a store in ");
        put_text(t, stores);
    }
    put_text(t, ", outside of its tensors");
}

/* " in kernel k(), program (1, 0, 0)." and what may be done. */
static void
put_place(Text *t, const CrashPlace *p, Fault which)
{
    if (p->kernel && p->pid) {
        put_text(t, " in kernel ");
        put_text(t, p->kernel);
        for (int i = 0; i < 3; i++) {
            put_text(t, i ? ", " : "(), program (");
            put_number(t, (uint32_t)p->pid[i], 10);
        }
        put_text(t, ")");
        put_access(t, p, which);
        put_text(t, ". Run again with TEGULA_CHECK_BOUNDS=1 to see what it was");
    } else if (p->kernel && p->is_driver) {
        put_text(t, " while the driver assembled kernel ");
        put_text(t, p->kernel);
        put_text(t, "(). Where there is ptxas (TEGULA_PTXAS), the process lives on");
    } else if (p->kernel) {
        put_text(t, " while kernel ");
        put_text(t, p->kernel);
        put_text(t, "() was compiled");
    } else {
        put_text(t, ". Kernel ");
        put_text(t, crash.last);
        put_text(t,
                 "() was launched before this; where it wrote outside of its tensors, "
                 "TEGULA_CHECK_BOUNDS=1 says so");
    }
}

/* ---- the handler ------------------------------------------------------------------------ */

static void
hand_on(int which, int sig, siginfo_t *info, void *context)
{
    const struct sigaction *old = &crash.before[which];
    if (old->sa_flags & SA_SIGINFO) {
        old->sa_sigaction(sig, info, context);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(sig);
    } else {
        signal(sig,
               SIG_DFL); /* the access comes again behind this, and ends the process */
        if (info->si_code <= 0)
            raise(sig);
    }
}

static void
on_signal(int sig, siginfo_t *info, void *context)
{
    int which = sig == SIGBUS;
    if ((crash_place.kernel || *crash.last) &&
        !__atomic_exchange_n(&crash.has_told, 1, __ATOMIC_ACQ_REL)) {
        Text t = {.n = 0};
        put_text(&t, sig == SIGBUS ? "tegula: SIGBUS" : "tegula: SIGSEGV");
        if (info->si_code > 0) {
            put_text(&t, " at address 0x");
            put_number(&t, (uint64_t)(uintptr_t)info->si_addr, 16);
        }
        put_place(&t, &crash_place, fault_of(context));
        put_text(&t, "\n");
        ssize_t unused = write(STDERR_FILENO, t.at, t.n);
        (void)unused;
    }
    hand_on(which, sig, info, context);
}

/* ---- who runs ------------------------------------------------------------------------------ */

static void
drop_stack(void *at)
{
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    free(at);
}

static void
install(void)
{
    struct sigaction a = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    a.sa_sigaction = on_signal;
    sigemptyset(&a.sa_mask);
    if (pthread_key_create(&crash.stack, drop_stack))
        return;
    for (size_t i = 0; i < COUNT(signals); i++)
        sigaction(signals[i], &a, &crash.before[i]);
}

void
crash_install(void)
{
    pthread_once(&crash.once, install);
}

/* Gives this thread an alternate stack, unless it has one: faulthandler's. */
static void
find_stack(void)
{
    stack_t old, s = {.ss_size = STACK};
    crash_has_stack = true;
    if (sigaltstack(NULL, &old) || !(old.ss_flags & SS_DISABLE) ||
        !(s.ss_sp = malloc(STACK)))
        return;
    if (sigaltstack(&s, NULL) || pthread_setspecific(crash.stack, s.ss_sp))
        free(s.ss_sp);
}

CrashPlace
crash_enter(CrashPlace p)
{
    CrashPlace old = crash_place;
    if (!crash_has_stack && p.pid)
        find_stack();
    crash_place = p;
    return old;
}

void
crash_launched(const char *kernel)
{
    for (size_t i = 0; i < NAME - 1; i++)
        if (!(crash.last[i] = kernel[i]))
            return;
}
