/* asm.h: assembly in a kernel: read, checked, run over blocks of elements on the CPU.
 *
 *     "=r,r,r"  constraints: what $0, $1, $2 are: results first          form.c
 *     "lop3.b32 $0, $1, $2, 7, 0xc0;"                                    asm.c
 *
 * Elements go through the assembly `pack` at a time, in row-major order; those narrower
 * than 32 bits share 32-bit registers, the first in the low bits. 32 packs are run at once,
 * each in a lane of its own, so a lane is not a lane of a GPU: instructions in which lanes
 * meet are errors, and all lanes are the same thread to %tid and %laneid.
 *
 * For a GPU, the emulator's too, assembly is part of the kernel's PTX: with PTX_THREADS its text
 * is only read, so that errors are found at the user's line, and never runs by itself.
 *
 * Nothing here is the compiler's or Python's. A PtxAsm never changes: threads share it.
 */
#ifndef TEGULA_PTX_ASM_H
#define TEGULA_PTX_ASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTX_MAX_OPERANDS = 256, PTX_ERROR = 1024 };
/* An architecture that has what any has. */
enum { PTX_NEWEST = 999 };
/* Added to an architecture. THREADS: there are threads that meet; what is made cannot run where
 * they would. SPELLING: only constraints
 * and the use of operands are looked at; LLVM and an assembler read the rest, and what is made
 * cannot run. */
enum { PTX_THREADS = 1 << 16, PTX_SPELLING = 1 << 17 };

/* A comment in front of the text that a kernel's author wrote, or who wrote a library that the
 * kernel calls: faults count its lines. */
#define PTX_AUTHOR " the author's"
#define PTX_LIBRARY PTX_AUTHOR ", of a library"
/* Added to the column of a .loc: the access may lead to memory of no argument. */
enum { PTX_ELSEWHERE = 1 << 15 };

/* ---- form.c: constraints --------------------------------------------------------- */
typedef struct PtxForm {
    int n_out, n_in;
    char letter[PTX_MAX_OPERANDS]; /* r f l d h b; results first, tied: its result's */
    /* Of an operand: the result whose register it has; -1: none. */
    int16_t tied[PTX_MAX_OPERANDS];
} PtxForm;

/* err: one line, without a place. */
bool ptx_form_read(PtxForm *f, const char *constraints, size_t n, char err[PTX_ERROR]);
/* Elements of so many bits that share a register, of pack; and the registers of a pack. */
int ptx_per_register(int bits, int pack);
int ptx_registers(int bits, int pack);
/* Do these operands and results fit? bits: of an element, 8 and more; the operands' first. */
bool ptx_form_fits(const PtxForm *f, int n_in, int n_out, const int *bits, int pack,
                   char err[PTX_ERROR]);

/* ---- asm.c: the text ------------------------------------------------------------- */
typedef struct PtxAsm PtxAsm;
typedef enum PtxStatus {
    PTX_OK,
    PTX_BAD,     /* err says what and in which line */
    PTX_UNKNOWN, /* the instruction in err has no meaning here */
    PTX_NO_MEMORY
} PtxStatus;
/* text: the constraints, a newline, the assembly. sm: of the architecture whose instructions
 * may be used. */
PtxStatus ptx_asm_new(const char *text, int sm, PtxAsm **out, char err[PTX_ERROR]);
void ptx_asm_free(PtxAsm *a);
/* Is there an instruction in the text that lanes or warps do together, or shared memory? */
bool ptx_asm_meets(const char *text);

/* ---- run.c: elements through it -------------------------------------------------- */
typedef struct PtxBlock {
    void *data;
    int bits; /* of an element: 8, 16, 32, 64; 1: a byte, of which 0 and 1 come back */
    int stride; /* bytes from one element to the next */
} PtxBlock;

typedef struct PtxAccess {
    uint64_t address;
    int bytes; /* 0: there was none */
    bool is_store;
} PtxAccess;

typedef struct PtxRun PtxRun;
struct PtxRun {
    int64_t n; /* elements */
    int pack, n_in, n_out;
    const PtxBlock *in, *out; /* out: may be an operand's memory, of its stride */
    /* A pack none of whose elements is on here does not run. Elements that are off give 0; in
     * a pack that runs they go in as its first that is on. data NULL: all are on. */
    PtxBlock mask;
    const int32_t *pid, *grid;
    int64_t most; /* instructions, of 32 packs each; 0: 2^28 */
    /* May it be touched? NULL: everything may. The address may not be a multiple of the
     * bytes: that is found wrong behind it. */
    bool (*may)(const PtxRun *r, const PtxAccess *a);
    void *data;        /* may's */
    PtxAccess refused; /* where the run ended, because `may` said no */
};
/* false: err says why, or r->refused has bytes (then err is empty). */
bool ptx_asm_run(const PtxAsm *a, PtxRun *r, char err[PTX_ERROR]);
/* ---- cache: what compiled code has run so far ------------------------------------ */
/* Belongs to the code: a text's address is its key. Threads may ask at once. */
typedef struct PtxCache {
    struct PtxCached *first; /* atomic */
} PtxCache;
/* NULL: err says why. */
const PtxAsm *ptx_cache_get(PtxCache *c, const char *text, int sm, char err[PTX_ERROR]);
void ptx_cache_clear(PtxCache *c);

/* An op in compiled code: constants beside it. */
typedef struct PtxSite {
    const char *text; /* of ptx_asm_new */
    const char *file, *func;
    const int32_t *bits; /* of the operands' elements, then the results'; 1: an i1 */
    int64_t n;           /* elements */
    int32_t line, col;
    int32_t n_in, n_out, pack, sm;
    int32_t is_masked;
    int32_t is_checked;   /* accesses lie in the tensors of the launch */
    int32_t is_elsewhere; /* or anywhere there is memory: its pointers were loaded */
} PtxSite;
/* The run of a site whose elements lie densely: data has the operands, the results, the mask. */
void ptx_site_run(const PtxSite *s, void *const *data, PtxBlock block[PTX_MAX_OPERANDS],
                  PtxRun *out);

#endif
