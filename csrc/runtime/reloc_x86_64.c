/* Relocations of x86-64: fields of 4 or 8 bytes, most of them relative to themselves. */
#include "runtime/reloc.h"

#if defined __x86_64__

RelocKind
reloc_kind(uint32_t type)
{
    switch (type) {
    case R_X86_64_NONE: return (RelocKind){RELOC_NOTHING, 0};
    case R_X86_64_64:
    case R_X86_64_PC64: return (RelocKind){RELOC_SYMBOL, 8};
    case R_X86_64_PC32:
    case R_X86_64_PLT32: return (RelocKind){RELOC_SYMBOL, 4};
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: return (RelocKind){RELOC_GOT, 4};
    default: return (RelocKind){RELOC_UNKNOWN, 0};
    }
}

bool
reloc_apply(uint32_t type, char *at, uint64_t value)
{
    if (type != R_X86_64_64)
        value -= (uint64_t)(uintptr_t)at;
    size_t width = reloc_kind(type).width;
    if (width == 4 && (int64_t)value != (int32_t)value)
        return false;
    memcpy(at, &value, width); /* little endian */
    return true;
}

void
reloc_write_stub(char *at, void *to)
{
    /* jmp *2(%rip); int3; int3; the address */
    static const unsigned char jump[RELOC_ENTRY] = {0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc};
    memcpy(at, jump, sizeof jump);
    memcpy(at + RELOC_ENTRY, &to, sizeof to);
}

#endif
