/* cpu: what this CPU can do, as words that tell it from others.
 *
 * Code made for one CPU may not run on another one that shares its home directory, so the
 * answer is part of a name on disk. In a virtual machine each CPUID costs microseconds, and
 * LLVM's functions for a CPU's name and features ask some forty times. Here each leaf that
 * they look at is asked once, and copied: who decides from equal words decides equally.
 *
 * The registers of AMX belong to a process that has asked for them. So the last word is asked, not
 * read: code from the disk that needs them is found by who has them, and by nobody else.
 */
#include "base/base.h"

#if defined __x86_64__ && defined __linux__

#include <sys/syscall.h>
#include <unistd.h>

bool
cpu_allows_tiles(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, of asm/prctl.h */
    return !syscall(SYS_arch_prctl, REQUEST, TILE_DATA);
}

#else

bool
cpu_allows_tiles(void)
{
    return false;
}

#endif

#if defined __x86_64__

#include <cpuid.h>

enum { A = 1, B = 2, C = 4, D = 8, ALL = 15 };
/* The registers that count: B of leaf 1 says which of the CPUs answered. */
static const struct {
    uint32_t leaf, below, registers;
} leaves[] = {
    {0, 0, ALL},        {1, 0, A | C | D}, {7, 0, ALL},        {7, 1, ALL},
    {0xd, 1, A},        {0x14, 0, B},      {0x19, 0, B},       {0x1e, 1, A},
    {0x24, 0, B},       {0x29, 0, B},      {0x80000000, 0, A}, {0x80000001, 0, C | D},
    {0x80000008, 0, B},
};
_Static_assert(COUNT(leaves) * 4 + 3 <= CPU_WORDS, "all fit");

/* Which registers the system saves: AVX, AVX-512, AMX. */
static uint64_t
saved_state(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low | (uint64_t)high << 32;
}

int
cpu_words(uint32_t out[CPU_WORDS])
{
    enum { SAVES_STATE = 1 << 27 };
    uint32_t last[2] = {0, 0}, r[4];
    bool has_state = false;
    int n = 0;
    for (size_t i = 0; i < COUNT(leaves); i++) {
        bool extended = leaves[i].leaf >> 31;
        if (i && leaves[i].leaf != 0x80000000 && leaves[i].leaf > last[extended])
            continue;
        __cpuid_count(leaves[i].leaf, leaves[i].below, r[0], r[1], r[2], r[3]);
        if (!(leaves[i].leaf & 0x7fffffff))
            last[extended] = r[0];
        has_state |= leaves[i].leaf == 1 && r[2] & SAVES_STATE;
        for (int k = 0; k < 4; k++)
            if (leaves[i].registers >> k & 1)
                out[n++] = r[k];
    }
    uint64_t state = has_state ? saved_state() : 0;
    out[n++] = (uint32_t)state;
    out[n++] = (uint32_t)(state >> 32);
    out[n++] = cpu_allows_tiles();
    return n;
}

#else

int
cpu_words(uint32_t out[CPU_WORDS])
{
    (void)out;
    return 0;
}

#endif
