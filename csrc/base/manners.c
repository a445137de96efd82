/* manners: what a program has set for its threads, and no kernel may depend on.
 *
 *     torch.set_flush_denormal, fesetround, traps     how floats round: MXCSR, or FPCR
 *     setlocale, of each window of Qt or GTK          the decimal point of printf and strtod
 *
 * New threads inherit the first. Constants that are folded then would be in the cache on disk for
 * everybody, threads of a launch would differ, and IR that is text could not be read. So whoever
 * compiles or runs a kernel sets them for its thread, and sets them back.
 */
#include "base/base.h"

#include <langinfo.h>

#if defined __x86_64__
enum { PLAIN = 0x1f80, FLAGS = 0x3f }; /* of MXCSR; flags say what has happened */

static uint64_t
mode_of_floats(void)
{
    return __builtin_ia32_stmxcsr() & ~(unsigned)FLAGS;
}

static void
set_mode_of_floats(uint64_t mode)
{
    __builtin_ia32_ldmxcsr((unsigned)mode);
}
#else
enum { PLAIN = 0 }; /* of FPCR */

static uint64_t
mode_of_floats(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static void
set_mode_of_floats(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(mode));
}
#endif

/* The C library has one for C that needs no memory. */
static locale_t
plain_locale(void)
{
    return *nl_langinfo(RADIXCHAR) == '.'
               ? (locale_t)0
               : uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

Manners
manners_begin(void)
{
    Manners was = {mode_of_floats(), plain_locale()};
    if (was.floats != PLAIN)
        set_mode_of_floats(PLAIN);
    return was;
}

void
manners_end(Manners was)
{
    if (was.floats != PLAIN)
        set_mode_of_floats(was.floats);
    if (was.locale)
        uselocale(was.locale);
}
