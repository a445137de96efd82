/* Relocations of AArch64: fields inside of instructions.
 *
 * Data is reached in two steps: `adrp` gives the page of 4096 bytes relative to its own,
 * then an `add` or the offset of a load adds the 12 bits within the page. A load's offset
 * counts in units of what it loads. Names and meanings: ELF for the Arm 64-bit
 * Architecture (AArch64), section "Relocation".
 */
#include "runtime/reloc.h"

#if defined __aarch64__

RelocKind
reloc_kind(uint32_t type)
{
    switch (type) {
    case R_AARCH64_NONE: return (RelocKind){RELOC_NOTHING, 0};
    case R_AARCH64_ABS64:
    case R_AARCH64_PREL64: return (RelocKind){RELOC_SYMBOL, 8};
    case R_AARCH64_PREL32:
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
    case R_AARCH64_ADR_PREL_PG_HI21:
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
    case R_AARCH64_LDST16_ABS_LO12_NC:
    case R_AARCH64_LDST32_ABS_LO12_NC:
    case R_AARCH64_LDST64_ABS_LO12_NC:
    case R_AARCH64_LDST128_ABS_LO12_NC: return (RelocKind){RELOC_SYMBOL, 4};
    case R_AARCH64_ADR_GOT_PAGE:
    case R_AARCH64_LD64_GOT_LO12_NC: return (RelocKind){RELOC_GOT, 4};
    default: return (RelocKind){RELOC_UNKNOWN, 0};
    }
}

/* Put the low n_bits of value into the instruction at `at`, from bit on. */
static void
set_field(char *at, int bit, int n_bits, uint64_t value)
{
    uint32_t word, mask = (((uint32_t)1 << n_bits) - 1) << bit;
    memcpy(&word, at, sizeof word);
    word = (word & ~mask) | ((uint32_t)(value << bit) & mask);
    memcpy(at, &word, sizeof word);
}

static bool
fits_bits(int64_t v, int n_bits)
{
    return v >= -((int64_t)1 << (n_bits - 1)) && v < (int64_t)1 << (n_bits - 1);
}

/* Bits 0 to 11 of an address, for an access to 2^log2_size bytes: in such units. */
static bool
set_low12(char *at, uint64_t value, int log2_size)
{
    uint64_t low = value & 0xfff;
    if (low & (((uint64_t)1 << log2_size) - 1))
        return false;
    set_field(at, 10, 12, low >> log2_size);
    return true;
}

bool
reloc_apply(uint32_t type, char *at, uint64_t value)
{
    uint64_t here = (uint64_t)(uintptr_t)at;
    int64_t distance = (int64_t)(value - here);
    switch (type) {
    case R_AARCH64_ABS64: memcpy(at, &value, 8); return true;
    case R_AARCH64_PREL64: memcpy(at, &distance, 8); return true;
    case R_AARCH64_PREL32:
        memcpy(at, &distance, 4); /* the low half: little endian */
        return fits_bits(distance, 32);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
        set_field(at, 0, 26, (uint64_t)distance >> 2);
        return fits_bits(distance, 28) && distance % 4 == 0;
    case R_AARCH64_ADR_PREL_PG_HI21:
    case R_AARCH64_ADR_GOT_PAGE: {
        int64_t pages =
            (int64_t)((value & ~(uint64_t)0xfff) - (here & ~(uint64_t)0xfff));
        set_field(at, 29, 2, (uint64_t)pages >> 12);
        set_field(at, 5, 19, (uint64_t)pages >> 14);
        return fits_bits(pages, 33);
    }
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return set_low12(at, value, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return set_low12(at, value, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return set_low12(at, value, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
    case R_AARCH64_LD64_GOT_LO12_NC: return set_low12(at, value, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return set_low12(at, value, 4);
    default: return false;
    }
}

void
reloc_write_stub(char *at, void *to)
{
    /* ldr x16, .+8; br x16; the address. x16 is the linker's to use. */
    static const uint32_t jump[RELOC_ENTRY / 4] = {0x58000050, 0xd61f0200};
    memcpy(at, jump, sizeof jump);
    memcpy(at + RELOC_ENTRY, &to, sizeof to);
}

#endif
