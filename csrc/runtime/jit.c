/* jit: one relocatable object -> a function in memory.
 *
 * A small linker instead of LLVM's: our objects hold one function, its constants and calls
 * to a short list of C functions, and a load must cost microseconds.
 *
 *     [ .text | .rodata .. | GOT and jump stubs ]      one mapping, each part on its pages
 *       r-x     r--           r-x
 *
 * Code is position independent, so its distances stay short inside of the mapping; what
 * is outside is reached through the last part: 8 bytes of address for a GOT entry, which
 * a stub jumps through. What a machine's relocations mean is reloc.h's.
 *
 * Reads the object as untrusted bytes (it may come from the disk cache): every offset is
 * checked against the size, and an unknown relocation is an error.
 */
#include "codegen/host/calls.h"
#include "codegen/library/foreign.h"
#include "ptx/asm.h"
#include "runtime/reloc.h"
#include "runtime/runtime.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Section {
    size_t at; /* in the mapping; SIZE_MAX: not loaded */
} Section;

struct JitCode {
    char *base;
    size_t size;
    PtxCache assembly;
};

typedef struct Linker {
    const char *obj;
    size_t n;
    const Elf64_Ehdr *eh;
    const Elf64_Shdr *sh;
    Section *sec;
    const Elf64_Sym *sym;
    size_t n_sym;
    const char *names;
    size_t names_size;
    char *base;
    size_t size;                              /* of the mapping */
    size_t text_end, data_end, variables_end; /* page boundaries */
    size_t *stub; /* by symbol: offset of its stub; 0: none yet */
    size_t next_stub;
    char *err;
} Linker;

static bool
fail(Linker *k, const char *what, const char *name)
{
    snprintf(k->err, ERR_TEXT, "cannot load the compiled kernel: %s%s", what, name);
    return false;
}

static bool
in_file(const Linker *k, size_t offset, size_t size)
{
    return offset <= k->n && size <= k->n - offset;
}

static const char *
symbol_name(const Linker *k, const Elf64_Sym *s)
{
    if (s->st_name >= k->names_size)
        return "?";
    const char *name = k->names + s->st_name;
    return memchr(name, 0, k->names_size - s->st_name) ? name : "?";
}

static bool
read_headers(Linker *k)
{
    if (!in_file(k, 0, sizeof *k->eh) || memcmp(k->obj, ELFMAG, SELFMAG))
        return fail(k, "not an ELF object", "");
    if ((uintptr_t)k->obj % _Alignof(Elf64_Shdr))
        return fail(k, "the object is not aligned", "");
    k->eh = (const Elf64_Ehdr *)k->obj;
    if (k->eh->e_ident[EI_CLASS] != ELFCLASS64 || k->eh->e_machine != RELOC_MACHINE)
        return fail(k, "it is for another machine", "");
    size_t n = k->eh->e_shnum;
    if (k->eh->e_shoff % _Alignof(Elf64_Shdr) ||
        k->eh->e_shentsize != sizeof(Elf64_Shdr) ||
        !in_file(k, k->eh->e_shoff, n * sizeof(Elf64_Shdr)))
        return fail(k, "bad section table", "");
    k->sh = (const Elf64_Shdr *)(k->obj + k->eh->e_shoff);
    for (size_t i = 0; i < n; i++) {
        const Elf64_Shdr *s = &k->sh[i];
        if (s->sh_type != SHT_NOBITS && !in_file(k, s->sh_offset, s->sh_size))
            return fail(k, "bad section", "");
        if (s->sh_size > (size_t)1 << 30 || s->sh_addralign > 4096)
            return fail(k, "section too large", "");
        if (s->sh_type != SHT_SYMTAB)
            continue;
        if (s->sh_link >= n || s->sh_offset % _Alignof(Elf64_Sym) ||
            !in_file(k, k->sh[s->sh_link].sh_offset, k->sh[s->sh_link].sh_size))
            return fail(k, "bad symbol table", "");
        k->sym = (const Elf64_Sym *)(k->obj + s->sh_offset);
        k->n_sym = s->sh_size / sizeof(Elf64_Sym);
        k->names = k->obj + k->sh[s->sh_link].sh_offset;
        k->names_size = k->sh[s->sh_link].sh_size;
    }
    return k->sym ? true : fail(k, "no symbols", "");
}

typedef enum Kind { CODE, CONSTANTS, VARIABLES } Kind;

static Kind
kind_of(const Elf64_Shdr *s)
{
    return s->sh_flags & SHF_EXECINSTR ? CODE
           : s->sh_flags & SHF_WRITE   ? VARIABLES
                                       : CONSTANTS;
}

/* Sections of one kind behind one another. */
static void
place_sections(Linker *k, Kind kind, size_t *at)
{
    for (size_t i = 0; i < k->eh->e_shnum; i++) {
        const Elf64_Shdr *s = &k->sh[i];
        if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size || kind_of(s) != kind)
            continue;
        size_t align = MAX(s->sh_addralign, 1);
        *at = (*at + align - 1) / align * align;
        k->sec[i].at = *at;
        *at += s->sh_size;
    }
}

static size_t
to_page(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (n + page - 1) / page * page;
}

static bool
map_sections(Linker *k)
{
    for (size_t i = 0; i < k->eh->e_shnum; i++)
        k->sec[i].at = SIZE_MAX;
    size_t at = 0;
    place_sections(k, CODE, &at);
    at = k->text_end = to_page(at);
    place_sections(k, CONSTANTS, &at);
    at = k->data_end = to_page(at);
    place_sections(k, VARIABLES, &at); /* of a user's library */
    at = k->variables_end = to_page(at);
    k->next_stub = at;
    k->size = at + to_page(k->n_sym * RELOC_STUB + RELOC_STUB);
    void *p = mmap(NULL, k->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    if (p == MAP_FAILED)
        return fail(k, "no memory to map", "");
    k->base = p;
    for (size_t i = 0; i < k->eh->e_shnum; i++)
        if (k->sec[i].at != SIZE_MAX && k->sh[i].sh_type != SHT_NOBITS)
            memcpy(k->base + k->sec[i].at, k->obj + k->sh[i].sh_offset,
                   k->sh[i].sh_size);
    return true;
}

static void *
extern_address(const char *name)
{
    for (int i = 0; i < n_host_symbols; i++)
        if (!strcmp(host_symbols[i].name, name))
            return host_symbols[i].address;
    return (void *)(uintptr_t)foreign_address(name);
}

/* Address of a symbol, NULL where the object does not define it. */
static char *
defined_at(const Linker *k, const Elf64_Sym *s)
{
    if (s->st_shndx == SHN_UNDEF || s->st_shndx >= k->eh->e_shnum ||
        k->sec[s->st_shndx].at == SIZE_MAX || s->st_value > k->sh[s->st_shndx].sh_size)
        return NULL;
    return k->base + k->sec[s->st_shndx].at + s->st_value;
}

static char *
stub_of(Linker *k, size_t index)
{
    if (k->stub[index])
        return k->base + k->stub[index];
    const Elf64_Sym *s = &k->sym[index];
    void *to = defined_at(k, s);
    if (!to)
        to = extern_address(symbol_name(k, s));
    if (!to) {
        fail(k, "it calls an unknown function: ", symbol_name(k, s));
        return NULL;
    }
    char *p = k->base + k->next_stub;
    reloc_write_stub(p, to);
    k->stub[index] = k->next_stub;
    k->next_stub += RELOC_STUB;
    return p;
}

static bool
relocate_one(Linker *k, const Elf64_Rela *r, char *section, size_t size)
{
    size_t index = ELF64_R_SYM(r->r_info);
    uint32_t type = ELF64_R_TYPE(r->r_info);
    RelocKind kind = reloc_kind(type);
    if (kind.target == RELOC_UNKNOWN) {
        char text[16];
        snprintf(text, sizeof text, "%u", type);
        return fail(k, "unknown relocation ", text);
    }
    if (kind.target == RELOC_NOTHING)
        return true;
    if (index >= k->n_sym || r->r_offset > size || kind.width > size - r->r_offset)
        return fail(k, "bad relocation", "");
    char *to = kind.target == RELOC_SYMBOL ? defined_at(k, &k->sym[index]) : NULL;
    if (!to) {
        to = stub_of(k, index);
        if (!to)
            return false;
        if (kind.target == RELOC_GOT)
            to += RELOC_ENTRY;
    }
    uint64_t v = (uint64_t)(uintptr_t)to + (uint64_t)r->r_addend;
    if (!reloc_apply(type, section + r->r_offset, v))
        return fail(k, "a relocation is out of range", "");
    return true;
}

static bool
relocate(Linker *k)
{
    for (size_t i = 0; i < k->eh->e_shnum; i++) {
        const Elf64_Shdr *s = &k->sh[i];
        if (s->sh_type != SHT_RELA || s->sh_info >= k->eh->e_shnum ||
            k->sec[s->sh_info].at == SIZE_MAX)
            continue;
        if (s->sh_offset % _Alignof(Elf64_Rela))
            return fail(k, "bad relocations", "");
        const Elf64_Rela *r = (const Elf64_Rela *)(k->obj + s->sh_offset);
        for (size_t j = 0; j < s->sh_size / sizeof *r; j++)
            if (!relocate_one(k, &r[j], k->base + k->sec[s->sh_info].at,
                              k->sh[s->sh_info].sh_size))
                return false;
    }
    return true;
}

static bool
link_object(Linker *k, const char *symbol, void **fn)
{
    if (!map_sections(k) || !relocate(k))
        return false;
    *fn = NULL;
    for (size_t i = 0; i < k->n_sym; i++)
        if (!strcmp(symbol_name(k, &k->sym[i]), symbol))
            *fn = defined_at(k, &k->sym[i]);
    if (!*fn)
        return fail(k, "it has no function ", symbol);
    size_t code = k->text_end, data = k->data_end, stubs = k->variables_end;
    /* Nothing on x86; elsewhere instructions are fetched past the data's cache. */
    __builtin___clear_cache(k->base, k->base + code);
    __builtin___clear_cache(k->base + stubs, k->base + k->size);
    if ((code && mprotect(k->base, code, PROT_READ | PROT_EXEC)) ||
        (data > code && mprotect(k->base + code, data - code, PROT_READ)) ||
        mprotect(k->base + stubs, k->size - stubs, PROT_READ | PROT_EXEC))
        return fail(k, "the system forbids executable memory", "");
    return true;
}

JitCode *
jit_load(const char *obj, size_t n, const char *symbol, void **fn, char err[ERR_TEXT])
{
    Linker k = {.obj = obj, .n = n, .err = err};
    JitCode *j = calloc(1, sizeof *j);
    bool ok = j && read_headers(&k);
    if (ok) {
        k.sec = calloc((size_t)k.eh->e_shnum + 1, sizeof *k.sec);
        k.stub = calloc(k.n_sym + 1, sizeof *k.stub);
        ok = k.sec && k.stub ? link_object(&k, symbol, fn)
                             : fail(&k, "out of memory", "");
    } else if (!j) {
        fail(&k, "out of memory", "");
    }
    free(k.sec);
    free(k.stub);
    if (!ok) {
        if (k.base)
            munmap(k.base, k.size);
        free(j);
        return NULL;
    }
    j->base = k.base;
    j->size = k.size;
    return j;
}

void
jit_unload(JitCode *j)
{
    if (!j)
        return;
    ptx_cache_clear(&j->assembly);
    munmap(j->base, j->size);
    free(j);
}

PtxCache *
jit_assembly(JitCode *j)
{
    return &j->assembly;
}
