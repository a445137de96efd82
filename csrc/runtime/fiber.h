/* fiber.h: a second stack to run on, and the switch between two of them.
 * Assembly for x86-64 and AArch64, a few nanoseconds a switch. AddressSanitizer and
 * ThreadSanitizer are told of every switch. */
#ifndef TEGULA_FIBER_H
#define TEGULA_FIBER_H

#include "base/base.h"

typedef struct Fiber {
    void *sp;    /* where it stopped */
    char *stack; /* NULL: the OS thread's own */
    size_t bytes;
    void *sanitizer; /* ASan's fake stack, TSan's fiber */
    void (*entry)(void *);
    void *data;
} Fiber;

/* Reserves a stack with a guard page below; false when there is no memory. */
bool fiber_alloc(Fiber *f, size_t bytes);
void fiber_free(Fiber *f);
/* (Re)starts f at entry(data) on the next switch. entry must never return. */
void fiber_reset(Fiber *f, void (*entry)(void *), void *data);
/* The calling OS thread as a fiber, so that others can switch back to it. Not for
 * fiber_free. */
void fiber_here(Fiber *f);
void fiber_switch(Fiber *from, Fiber *to);

#endif
