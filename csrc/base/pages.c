/* pages: is there memory at an address? For accesses through pointers of which nobody said
 * what lies behind them: better an error than a signal.
 *
 * mincore would say yes to pages that nobody may read: behind every thread's stack, and what
 * malloc has reserved for later. The kernel is asked to read them instead: it wants the new set
 * of rt_sigprocmask before it looks at what is to be done with it, which here is nothing. Null
 * would be no set, so of the first page, where nobody has memory, it is not asked.
 */
#include "base/base.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SET_BYTES = 8, NO_HOW = -1 }; /* of the kernel's sigset_t */

uint64_t
page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

bool
page_is_there(uint64_t address, uint64_t n)
{
    uint64_t page = page_bytes(), at = address & ~(page - 1);
    if (!n || !at || address + n < address)
        return false;
    for (; at < address + n; at += page)
        if (syscall(SYS_rt_sigprocmask, NO_HOW, (void *)(uintptr_t)at, NULL,
                    (size_t)SET_BYTES) &&
            errno == EFAULT)
            return false;
    return true;
}

/* A file that was cut ends its mapping's memory; what a hole in the midst hides is not seen. */
uint64_t
bytes_there(uint64_t address, uint64_t n)
{
    uint64_t page = page_bytes(), first = address & ~(page - 1);
    if (!n || page_is_there(address + n - 1, 1))
        return n;
    uint64_t there = 0, missing = (address + n - 1 - first) / page; /* pages */
    while (there < missing) {
        uint64_t middle = there + (missing - there) / 2;
        if (page_is_there(first + middle * page, 1))
            there = middle + 1;
        else
            missing = middle;
    }
    return there ? first + there * page - address : 0;
}
