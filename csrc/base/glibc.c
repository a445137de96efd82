/* glibc: the C library's functions by the versions that old ones have, for wheels.
 *
 * A function whose version was renewed (glibc 2.29 to 2.36) would bind the wheel to the C
 * library it was linked on. So each such name is defined here, hidden, and forwards to the
 * version of 2.28 or older, which every later C library keeps. LLVM and the C++ runtime in
 * this file's company call these as well: their archives are linked after it.
 *
 * Rule 1: what is defined here is all that csrc/tools/check_wheel.py would complain of.
 * Rule 2: nothing here keeps state, and each function does what its namesake does.
 *
 * Only for release builds on x86-64; elsewhere the wheel's tag says what it needs.
 */
#include "base/base.h"

#if defined TEGULA_OLD_GLIBC && defined __x86_64__ && defined __GLIBC__
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>

/* gcc 12 takes the second parameter of pthread_setspecific, which nobody reads through, for a
 * variable without a value. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

/* ret name(params) calls name@version with args. The declaration of our own is for
 * -Wmissing-prototypes. */
#define OLD(version, ret, name, params, args)                                          \
    extern ret old_##name params;                                                      \
    __asm__(".symver old_" #name ", " #name "@" version);                              \
    ret name params;                                                                   \
    ret name params                                                                    \
    {                                                                                  \
        return old_##name args;                                                        \
    }
#define V "GLIBC_2.2.5"

/* clang-format off */
OLD(V, double, exp, (double x), (x))
OLD(V, double, exp2, (double x), (x))
OLD(V, double, log, (double x), (x))
OLD(V, double, log2, (double x), (x))
OLD(V, double, pow, (double x, double y), (x, y))
OLD(V, double, hypot, (double x, double y), (x, y))
OLD(V, float, hypotf, (float x, float y), (x, y))
OLD(V, int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))
OLD(V, int, __pthread_key_create, (pthread_key_t *k, void (*drop)(void *)), (k, drop))
OLD(V, int, pthread_key_create, (pthread_key_t *k, void (*drop)(void *)), (k, drop))
OLD(V, int, pthread_setspecific, (pthread_key_t k, const void *x), (k, x))
OLD(V, int, pthread_create, (pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x), (t, a, f, x))
OLD(V, int, pthread_detach, (pthread_t t), (t))
OLD(V, int, pthread_join, (pthread_t t, void **r), (t, r))
OLD(V, int, pthread_getattr_np, (pthread_t t, pthread_attr_t *a), (t, a))
OLD(V, int, pthread_attr_getstack, (const pthread_attr_t *a, void **at, size_t *n), (a, at, n))
OLD(V, int, pthread_attr_setstacksize, (pthread_attr_t *a, size_t n), (a, n))
OLD(V, int, pthread_once, (pthread_once_t *o, void (*f)(void)), (o, f))
OLD(V, int, pthread_rwlock_rdlock, (pthread_rwlock_t *l), (l))
OLD(V, int, pthread_rwlock_wrlock, (pthread_rwlock_t *l), (l))
OLD(V, int, pthread_rwlock_unlock, (pthread_rwlock_t *l), (l))
OLD("GLIBC_2.3.3", int, pthread_timedjoin_np, (pthread_t t, void **r, const struct timespec *s), (t, r, s))
OLD(V, void *, dlopen, (const char *file, int mode), (file, mode))
OLD(V, void *, dlsym, (void *h, const char *name), (h, name))
OLD(V, int, dlclose, (void *h), (h))
OLD(V, char *, dlerror, (void), ())
OLD(V, int, dladdr, (const void *at, Dl_info *i), (at, i))
/* clang-format on */

/* ---- functions that were inline once --------------------------------------------------------- */

enum { STAT_VERSION = 1 }; /* of struct stat, on x86-64 */
int __xstat(int version, const char *file, struct stat *s);
int __fxstat(int version, int fd, struct stat *s);
int __lxstat(int version, const char *file, struct stat *s);
__asm__(".symver __xstat, __xstat@" V);
__asm__(".symver __fxstat, __fxstat@" V);
int __fxstatat(int version, int fd, const char *file, struct stat *s, int flags);
__asm__(".symver __lxstat, __lxstat@" V);
__asm__(".symver __fxstatat, __fxstatat@GLIBC_2.4");

int
stat(const char *file, struct stat *s)
{
    return __xstat(STAT_VERSION, file, s);
}
int
lstat(const char *file, struct stat *s)
{
    return __lxstat(STAT_VERSION, file, s);
}
int
fstat(int fd, struct stat *s)
{
    return __fxstat(STAT_VERSION, fd, s);
}
int
fstatat(int fd, const char *file, struct stat *s, int flags)
{
    return __fxstatat(STAT_VERSION, fd, file, s, flags);
}
int stat64(const char *file, struct stat64 *s) __attribute__((alias("stat")));
int fstat64(int fd, struct stat64 *s) __attribute__((alias("fstat")));
int fstatat64(int fd, const char *file, struct stat64 *s, int flags)
    __attribute__((alias("fstatat")));

/* ---- what is new since --------------------------------------------------------------------- */

/* May threads be assumed away? libstdc++ asks, and no is always right. */
extern const char __libc_single_threaded;
const char __libc_single_threaded = 0;

/* What LLVM's statistics show, in the numbers of before 2.33. */
struct mallinfo2
mallinfo2(void)
{
    return (struct mallinfo2){0};
}

uint32_t
arc4random(void)
{
    uint32_t x;
    while (getrandom(&x, sizeof x, 0) != sizeof x)
        ;
    return x;
}

/* Looks for the object of pc, whose unwinding table C++ exceptions are to use. */
static int
find_object(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    struct dl_find_object *out = data;
    uintptr_t pc = (uintptr_t)out->dlfo_map_start, first = UINTPTR_MAX, last = 0;
    const void *table = NULL;
    bool is_here = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_GNU_EH_FRAME)
            table = (const void *)at;
        if (p->p_type != PT_LOAD)
            continue;
        first = MIN(first, at);
        last = MAX(last, at + p->p_memsz);
        is_here |= pc >= at && pc < at + p->p_memsz;
    }
    if (!is_here || !table)
        return 0;
    *out = (struct dl_find_object){.dlfo_map_start = (void *)first,
                                   .dlfo_map_end = (void *)last,
                                   .dlfo_eh_frame = (void *)table};
    return 1;
}

int
_dl_find_object(void *pc, struct dl_find_object *out)
{
    struct dl_find_object found = {.dlfo_map_start = pc};
    if (!dl_iterate_phdr(find_object, &found))
        return -1;
    *out = found;
    return 0;
}
#endif
