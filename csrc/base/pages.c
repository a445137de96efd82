/* pages: is there memory at an address? For accesses through pointers of which nobody said
 * what lies behind them: better an error than a signal.
 */
#include "base/base.h"

#include <sys/mman.h>
#include <unistd.h>

uint64_t
page_bytes(void)
{
    return (uint64_t)sysconf(_SC_PAGESIZE);
}

bool
page_is_there(uint64_t address, uint64_t n)
{
    uint64_t page = page_bytes(), at = address & ~(page - 1);
    unsigned char resident;
    if (!n || address + n < address)
        return false;
    for (; at < address + n; at += page)
        if (mincore((void *)(uintptr_t)at, page, &resident))
            return false;
    return true;
}
