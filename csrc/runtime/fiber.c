/* fiber: stacks for the emulator's threads.
 *
 * A switch saves the callee-saved registers on the stack it leaves and takes them from the
 * one it enters; everything else is dead across a call by the platform's ABI. A fresh stack
 * is laid out as if it had been left by a switch that returns into fiber_start.
 */
#include "runtime/fiber.h"

#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

enum { GUARD = 1 << 14 }; /* a multiple of every page size in use */

/* tegula_fiber_swap(save, load): pushes the callee-saved registers, stores sp to *save, takes
 * sp from load, pops. tegula_fiber_start: the first return of a fresh stack lands here with
 * the Fiber in a callee-saved register. */
void tegula_fiber_swap(void **save, void *load);
void tegula_fiber_start(void);
NORETURN void tegula_fiber_enter(Fiber *f);

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl tegula_fiber_swap\n.hidden tegula_fiber_swap\n"
        ".type tegula_fiber_swap,@function\n"
        "tegula_fiber_swap:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n"
        "  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n"
        "  popq %rbx\n  popq %rbp\n"
        "  ret\n"
        ".size tegula_fiber_swap,.-tegula_fiber_swap\n"
        ".globl tegula_fiber_start\n.hidden tegula_fiber_start\n"
        ".type tegula_fiber_start,@function\n"
        "tegula_fiber_start:\n"
        "  movq %rbx, %rdi\n"
        "  call tegula_fiber_enter\n"
        "  ud2\n"
        ".size tegula_fiber_start,.-tegula_fiber_start\n");
enum { SAVED_FIBER = 4, SAVED_RETURN = 6, FRAME = 7 }; /* rbx is slot 4 */
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl tegula_fiber_swap\n.hidden tegula_fiber_swap\n"
        ".type tegula_fiber_swap,%function\n"
        "tegula_fiber_swap:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n"
        "  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n"
        "  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".size tegula_fiber_swap,.-tegula_fiber_swap\n"
        ".globl tegula_fiber_start\n.hidden tegula_fiber_start\n"
        ".type tegula_fiber_start,%function\n"
        "tegula_fiber_start:\n"
        "  mov x0, x19\n"
        "  bl tegula_fiber_enter\n"
        "  brk #0\n"
        ".size tegula_fiber_start,.-tegula_fiber_start\n");
enum { SAVED_FIBER = 0, SAVED_RETURN = 11, FRAME = 20 };
#else
#error "the emulator needs tegula_fiber_swap for this machine"
#endif

static void
entered(Fiber *f)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(f->sanitizer, NULL, NULL);
#else
    (void)f;
#endif
}

void
tegula_fiber_enter(Fiber *f)
{
    entered(f);
    f->entry(f->data);
    abort(); /* entry never returns: the emulator's own promise, not the user's input */
}

bool
fiber_alloc(Fiber *f, size_t bytes)
{
    memset(f, 0, sizeof *f);
    void *p = mmap(NULL, bytes + GUARD, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    mprotect(p, GUARD, PROT_NONE);
    f->stack = (char *)p + GUARD;
    f->bytes = bytes;
#if defined(__SANITIZE_THREAD__)
    f->sanitizer = __tsan_create_fiber(0);
#endif
    return true;
}

void
fiber_free(Fiber *f)
{
    if (!f->stack)
        return;
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(f->sanitizer);
#endif
#if defined(__SANITIZE_ADDRESS__)
    /* Frames left their marks in the shadow; the next mapping may stand here. */
    __asan_unpoison_memory_region(f->stack - GUARD, f->bytes + GUARD);
#endif
    munmap(f->stack - GUARD, f->bytes + GUARD);
    f->stack = NULL;
}

void
fiber_reset(Fiber *f, void (*entry)(void *), void *data)
{
    f->entry = entry;
    f->data = data;
#if defined(__SANITIZE_ADDRESS__)
    f->sanitizer = NULL;
#endif
    /* Aligned to 16 where fiber_start stands, as at a call. */
    void **top = (void **)(f->stack + f->bytes - 64);
    void **frame = top - FRAME;
    memset(frame, 0, FRAME * sizeof *frame);
    frame[SAVED_FIBER] = f;
    frame[SAVED_RETURN] = (void *)(uintptr_t)tegula_fiber_start;
    f->sp = frame;
}

void
fiber_here(Fiber *f)
{
    memset(f, 0, sizeof *f);
#if defined(__SANITIZE_ADDRESS__)
    /* ASan wants to know the stack it returns to; fiber_free must not unmap it. */
    pthread_attr_t attr;
    void *low = NULL;
    if (!pthread_getattr_np(pthread_self(), &attr)) {
        pthread_attr_getstack(&attr, &low, &f->bytes);
        pthread_attr_destroy(&attr);
    }
    f->stack = low;
#elif defined(__SANITIZE_THREAD__)
    f->sanitizer = __tsan_get_current_fiber();
#endif
}

void
fiber_switch(Fiber *from, Fiber *to)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from->sanitizer, to->stack, to->bytes);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to->sanitizer, 0);
#endif
    tegula_fiber_swap(&from->sp, to->sp);
    entered(from);
}
