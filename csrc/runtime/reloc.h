/* reloc: what the relocations of this machine's objects mean; jit.c does the rest.
 *
 * A file per machine defines these, and is empty on the others: reloc_x86_64.c,
 * reloc_aarch64.c. A new one needs its relocations of position independent code of the
 * small code model, a stub, and a case in tests/c/host.c.
 */
#ifndef TEGULA_RUNTIME_RELOC_H
#define TEGULA_RUNTIME_RELOC_H

#include "base/base.h"

#include <elf.h>

#if defined __x86_64__
#define RELOC_MACHINE EM_X86_64
#elif defined __aarch64__
#define RELOC_MACHINE EM_AARCH64
#else
#error "csrc/runtime/reloc.h: no host code for this machine yet"
#endif

/* A stub jumps to the address in its last 8 bytes, which are the symbol's GOT entry. */
enum { RELOC_STUB = 16, RELOC_ENTRY = 8 };

typedef enum RelocTarget {
    RELOC_UNKNOWN, /* an error: the object was not made by us */
    RELOC_NOTHING, /* no change */
    RELOC_SYMBOL,  /* the symbol, or its stub where the object does not define it */
    RELOC_GOT,     /* the 8 bytes that hold the symbol's address */
} RelocTarget;

typedef struct RelocKind {
    RelocTarget target;
    uint8_t width; /* bytes that change */
} RelocKind;

RelocKind reloc_kind(uint32_t type);

/* Make what stands at `at` refer to value: an address with the addend added. False where
 * it is out of the instruction's reach. */
bool reloc_apply(uint32_t type, char *at, uint64_t value);

/* RELOC_STUB bytes at `at`, which is aligned to them. */
void reloc_write_stub(char *at, void *to);

#endif
