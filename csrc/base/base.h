/* base.h: the vocabulary of every file. Knows nothing of tensors or of Python.
 *
 *     Arena   one per compilation; nothing is freed singly            arena.c
 *     Map     hash map from interned pointers or bytes to pointers     map.c
 *     Str     interned strings, string builder                         str.c
 *     Loc     a place in the user's source, with its call chain        error.c
 *     Comp    one compilation: arena, options, the error it ended with error.c
 */
#ifndef TEGULA_BASE_H
#define TEGULA_BASE_H

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN _Noreturn

/* Of a power of two. */
static inline int
log2_of(int64_t n)
{
    return __builtin_ctzll((unsigned long long)n);
}

typedef struct Comp Comp;

/* ---- arena.c ---------------------------------------------------------------------
 * Memory of one compilation. alloc returns zeroed memory and never NULL: when the
 * system has none, it raises ERR_MEMORY through the arena's Comp, which is why an arena
 * may be used only inside comp_run. */
typedef struct Arena Arena;

Arena *arena_new(Comp *c); /* NULL when out of memory */
/* Runs the deferred drops last-first; NULL is fine. */
void arena_free(Arena *a);
void *arena_alloc(Arena *a, size_t size, size_t align);
/* Ties obj to the arena: drop(obj) runs at arena_free. Owns obj from its first line,
 * even when it runs out of memory itself. */
void arena_defer(Arena *a, void (*drop)(void *obj), void *obj);
/* Tests: the nth allocation from now fails (0: never). */
void arena_fail_after(Arena *a, size_t n);
size_t arena_bytes(const Arena *a);
void arena_belongs(Arena *a, Comp *c); /* who hears of errors from now on */

#define NEW(a, T) ((T *)arena_alloc((a), sizeof(T), _Alignof(T)))
#define NEW_N(a, T, n) ((T *)arena_alloc_n((a), (size_t)(n), sizeof(T), _Alignof(T)))
/* Checks n * size. */
void *arena_alloc_n(Arena *a, size_t n, size_t size, size_t align);

/* A growable array: struct { T *at; int n, cap; } declared with VEC(T). x is evaluated
 * after the array has moved, so it may not be a pointer into it: copy first. */
#define VEC(T)                                                                         \
    struct {                                                                           \
        T *at;                                                                         \
        int n, cap;                                                                    \
    }
#define PUSH(a, v, x)                                                                  \
    (vec_grow((a), &(v)->at, (v)->n, 1, &(v)->cap, sizeof *(v)->at),                   \
     (v)->at[(v)->n++] = (x))
/* Grows the array at *(T **)at, n of whose *cap elements are used, so that `more` fit. */
void vec_grow(Arena *a, void *at, int n, size_t more, int *cap, size_t size);

/* ---- str.c -----------------------------------------------------------------------
 * Interned strings live as long as the Comp; equal text is the same pointer. */
const char *str_intern(Comp *c, const char *s);
const char *str_intern_n(Comp *c, const char *s, size_t n);
char *str_printf(Arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
char *str_vprintf(Arena *a, const char *fmt, va_list ap);

/* A string under construction: Sb sb = {.a = arena}. */
typedef struct Sb {
    Arena *a;
    char *at;   /* NULL until the first put, even of ""; then ends with a NUL */
    int n, cap; /* bytes without the NUL; bytes that fit */
} Sb;
void sb_put(Sb *sb, const char *s);
void sb_putn(Sb *sb, const char *s, size_t n);
void sb_printf(Sb *sb, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sb_vprintf(Sb *sb, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

/* ---- map.c -----------------------------------------------------------------------
 * Open addressing; Map m = {.a = arena}. Iterate over slot[0..n): insertion order, so
 * nothing depends on addresses. Nothing is ever removed. */
typedef struct MapSlot {
    const void *key;
    size_t len;
    uint64_t hash;
    void *val;
} MapSlot;
typedef struct Map {
    Arena *a;
    MapSlot *slot;
    int32_t *index; /* hash table of positions in slot, -1 = empty */
    int n, cap, index_cap;
} Map;
/* len 0: the key is a pointer compared by address; else len bytes compared by content
 * (copied into the arena, with a NUL behind them). Beware of padding in struct keys. */
void *map_get(const Map *m, const void *key, size_t len); /* NULL when absent */
/* Replaces the value, keeps the first key. The slot is valid until the next put. */
MapSlot *map_put(Map *m, const void *key, size_t len, void *val);
uint64_t hash_bytes(const void *p, size_t n);

/* ---- sha256.c -------------------------------------------------------------------- */
void sha256(const void *data, size_t n, unsigned char out[32]);

/* ---- cpu.c ----------------------------------------------------------------------- */
enum { CPU_WORDS = 64 };
/* What this CPU can do, as so many words; 0: this machine's cannot be asked so. */
int cpu_words(uint32_t out[CPU_WORDS]);
/* Asks the system for AMX's registers, for all threads of this process, from now on; false: this
 * CPU has none, or the system keeps them. As often as one likes. */
bool cpu_allows_tiles(void);

/* ---- manners.c ------------------------------------------------------------------- */
typedef struct Manners {
    uint64_t floats; /* a register */
    locale_t locale; /* 0: has a point where C has one */
} Manners;
/* For this thread, until manners_end with what is returned. Within each other, too. */
Manners manners_begin(void);
void manners_end(Manners was);

/* ---- file.c ---------------------------------------------------------------------- */
/* As many of n bytes as there are; -1 with errno: an error. */
ssize_t file_read(int fd, void *to, size_t n);
/* All n bytes; false with errno: an error. */
bool file_write(int fd, const void *from, size_t n);
/* A whole file of n bytes with a NUL behind them, malloc'ed; NULL with errno: unreadable. */
char *file_whole(const char *path, size_t *n);

/* ---- pages.c --------------------------------------------------------------------- */
uint64_t page_bytes(void); /* of a page */
/* Is there memory at all n bytes from address on? A system call a page. */
bool page_is_there(uint64_t address, uint64_t n);
/* Of n bytes at address: how many, from the first on, have memory. */
uint64_t bytes_there(uint64_t address, uint64_t n);

/* ---- stack.c --------------------------------------------------------------------- */
size_t stack_left(void); /* bytes of this thread's stack; SIZE_MAX: unknown */
/* Starts a thread with so many bytes of stack. False: no memory. */
bool stack_thread(pthread_t *t, size_t bytes, void *(*fn)(void *), void *data);
/* That of the process's first thread, which no other thread's ever is in. False: unknown. */
bool stack_of_first_thread(char **low, char **high);

/* ---- crash.c --------------------------------------------------------------------- */
typedef struct CrashPlace {
    const char *kernel; /* that this thread runs or compiles; NULL: none */
    const int32_t *pid; /* the program; NULL: it is compiled */
    bool is_driver;     /* by the driver, from PTX */
    const char *loads,
        *stores; /* "k.py:12 or 15": where it reads, writes; NULL: unknown */
} CrashPlace;
void crash_install(void);                /* the handlers, once */
CrashPlace crash_enter(CrashPlace p);    /* where it was before, to be entered again */
void crash_launched(const char *kernel); /* remembered for what happens later */

/* ---- error.c ---------------------------------------------------------------------
 * Where, what, whose fault. Only comp_run has a setjmp; err_at never returns. */
typedef struct Loc Loc;
struct Loc {
    const char *file; /* as Python names it; interned */
    const char *func; /* the function around the place; interned */
    int line, col;    /* line from 1 in the file; col from 0 in UTF-8 bytes */
    int end_line, end_col;
    const Loc *caller; /* the call that inlined func, or NULL */
    bool is_library; /* func is part of the language: errors are shown at its caller */
};

typedef enum ErrClass { CLASS_USER, CLASS_LIMIT, CLASS_BUG, CLASS_MEMORY } ErrClass;

typedef enum ErrCode {
    ERR_NONE,
#define ERR(name, cls, fmt) ERR_##name,
#include "base/errors.def"
#undef ERR
    N_ERR
} ErrCode;

/* Visible initialisers, so that -Wformat checks the arguments of err_at. */
#define ERR(name, cls, fmt)                                                            \
    __attribute__((unused)) static const char fmt_##name[] = fmt;
#include "base/errors.def"
#undef ERR

typedef struct ErrInfo {
    const char *name;
    ErrClass cls;
    const char *fmt;
} ErrInfo;
extern const ErrInfo err_info[N_ERR];

typedef struct Error {
    ErrCode code;         /* ERR_NONE: no error */
    const Loc *loc;       /* may be NULL */
    const char *msg;      /* one line, in the Comp's arena */
    const char *help;     /* what to write instead, or NULL */
    const char *shown_as; /* the class, where it is not the compiler's; or NULL */
} Error;

/* Which machine the code is for. */
typedef enum TargetKind { TARGET_CPU, TARGET_CUDA, TARGET_EMU } TargetKind;
typedef struct Target {
    TargetKind kind;
    int sm;           /* 75..121 for CUDA and EMU; 0 for CPU */
    bool accelerated; /* the "a" suffix: sm_90a */
} Target;

/* What a launch may choose besides the kernel's own arguments. Part of the cache key. */
enum { IMPRECISE_EACH = 32, IMPRECISE_MOST = 255 };
enum { MAX_REGISTERS = 255 }; /* that a thread of a GPU can have */
typedef struct Options {
    Target target;
    int num_warps, num_stages, num_ctas, maxnreg; /* maxnreg 0: no cap */
    /* max_num_imprecise_acc of float8 dots that do not say it, in the 32 elements that an
     * instruction takes, rounded down; 0: not given; IMPRECISE_MOST: that or more. */
    int imprecise;
    bool enable_fp_fusion; /* contract mul + add to fma */
    bool debug;            /* device_assert and overflow checks are live */
    bool sanitize_overflow;
    bool launch_pdl, launch_cooperative_grid;
    bool interpret;    /* no code is made: interp/interp.c runs the tile IR */
    bool check_bounds; /* CPU: accesses outside of the tensors are errors */
    bool line_info;    /* PTX says which line an instruction is for */
} Options;

/* TEGULA_DUMP, TEGULA_DUMP_DIR, TEGULA_STOP, read once at import. */
typedef struct DumpConfig {
    const char *passes;  /* "fold,coalesce", "all", "kernel:fold" or NULL */
    const char *dir;     /* or NULL */
    const char *stop;    /* pass after which the compile stops, or NULL */
    FILE *out;           /* where TEGULA_DUMP prints; stderr when NULL */
    bool ptx, ptxas_log; /* to stdout: the PTX, and what ptxas says */
} DumpConfig;

/* A file of the user's in the place of what a compile makes: option ir_override. */
typedef struct Override {
    const char *stage; /* tir simt llir ptx cubin */
    char *path, *data; /* owned by whoever made the list; data ends with a NUL */
    size_t size;
} Override;

/* ---- chips.c --------------------------------------------------------------------- */
typedef struct Chip { /* chips.def says what each column is */
    int sm;
    bool has_a;
    int ptx, block_kb, sm_kb, threads, tensor, simd32, simd16, gbs;
} Chip;
/* The row of sm; the row before where it has none: an emulator may be of any number. */
const Chip *chip_of(int sm);
enum {
    CHIP_REGISTERS = 64 << 10, /* of a multiprocessor, on every chip there is */
    CHIP_BLOCK_SHARED =
        1
        << 10, /* bytes of shared memory that each block costs besides its own, from sm_80 on */
};
/* Thread blocks that a multiprocessor holds at a time as far as registers, of each thread, go; shared
 * memory, of each block; and both beside the threads there are. */
int64_t chip_blocks_by_registers(int threads, int64_t registers);
int64_t chip_blocks_by_shared(const Chip *c, int64_t bytes);
int64_t chip_blocks(const Chip *c, int threads, int64_t registers, int64_t shared);

/* What a compile may ask of a launch's grid. */
enum {
    GRID_FEW = 1,  /* each multiprocessor gets one program at most */
    GRID_EVEN = 2, /* its first side is */
    GRID_LONG = 4, /* its first side is 16 at least: one program more costs little */
    GRID_2 = 8, /* each multiprocessor gets 2 programs at most; GRID_2 << 1: 4; 8; 16 */
    GRID_16 = GRID_2 << 3,
    GRID_QUARTER = GRID_16 << 1,   /* whole rounds leave at most a quarter of one */
    GRID_HALF = GRID_QUARTER << 1, /* they leave more, and at most a half */
    GRID_ROW = GRID_HALF << 1,     /* it has one axis */
    GRID_EIGHTH = GRID_ROW << 1,   /* its programs are an eighth of the chip at most */
    GRID_SIXTEENTH = GRID_EIGHTH << 1, /* a sixteenth */
};

/* What ptxas has made of this kernel's products by warpgroups, and what was in the code that it
 * saw. compile.c tries again with less of it. */
typedef struct HopperTrial {
    bool no_open;   /* no product stays open across iterations */
    bool no_groups; /* no warpgroups at all */
    bool no_maps;   /* no tensor maps, and so no roles */
    bool no_pair; /* no two blocks on a multiprocessor of what has few registers then */
    int most_blocks; /* on a multiprocessor, of what adds products to sums of its own; 0: any */
    unsigned grid;  /* GRID_* that hold of the launch's */
    unsigned asked; /* GRID_* that what the passes made is for, as they are in grid */
    const char
        *why; /* for compiled.report; NULL with no_maps: a launch could make none */
    bool has_roles, has_groups, has_open,
        has_pair,      /* what the passes made: split_roles, start_dots, rings */
        has_few_slots; /* a ring waits for every tile */
    int n_blocks; /* that occupancy has dealt registers for, because of such sums; or 0 */
} HopperTrial;

struct Comp {
    Arena *arena;
    Options opt;
    HopperTrial hopper;
    const Override *overrides;
    int n_overrides;
    bool raw_errors; /* what Python raises while compiling is raised as it is */
    DumpConfig dump;
    const char *ptxas; /* the assembler the user asked for; NULL: look for one */
    /* Of a compile that has no option ptx_options; NULL: none. */
    const char *ptxas_options;
    bool no_ptxas_opt;  /* the assembler leaves the code as it is */
    const char *cpu;    /* make host code for x86-64-v2, -v3 or -v4; NULL: this CPU */
    const char *kernel; /* name of what is compiled, for dumps and messages */
    const char *symbol; /* what the code is called, by @jit(repr=); NULL: as kernel */
    const char *libdevice;    /* CUDA's library, where the frontend looked for it and
                                 found it; else NULL */
    const char *option_texts; /* "library\tpath\n" for each of the option extern_libs,
                                 "option=\tvalue\n" of others; NULL: none */
    const char *piecewise; /* its PTX once more, for where ptxas spills; NULL: none. See
                                 codegen/piecewise.c */
    struct Halt *halt;     /* poll.h; NULL: nobody will tell it to end */
    Error err;             /* what comp_run caught */
    const char *pending_help;
    jmp_buf *escape;             /* NULL outside comp_run */
    Map strings, types, layouts; /* intern tables */
    int n_dumped;                /* number of the next stage file */
    /* The text of a source file for carets; NULL: read no text. Set by the frontend. */
    const char *(*source_line)(Comp *c, const char *file, int line);
    void *source_data;
};

/* str.c: bytes that are read from the front. */
typedef struct Cursor {
    const char *start, *at, *end;
    bool failed; /* they did not suffice, or were not what they should be */
} Cursor;
const char *cursor_take(Cursor *r,
                        size_t n); /* the next n, where they lie; NULL: failed */

/* What texts, as Comp.option_texts, say of name: *n bytes; NULL: nothing. */
const char *option_text(const char *texts, const char *name, size_t *n);

/* The file that replaces a stage; NULL: none does. */
const Override *comp_override(const Comp *c, const char *stage);

/* Is the word in the list "a,b,c" that texts have for name? Without a list every word is. */
bool option_lists(const char *texts, const char *name, const char *word);

bool comp_init(Comp *c); /* false: out of memory. Zeroes *c first. */
void comp_done(Comp *c);
/* Everything of from becomes to's, which is not initialised; from has nothing left. Outside of
 * comp_run. Who keeps a pointer to the Comp must be told: a Func. */
void comp_move(Comp *to, Comp *from);
/* poll.c: raises when nobody waits for the compile any more. */
void comp_poll(Comp *c);
/* Runs fn(c, data); false when it raised, with c->err filled in; true clears c->err. Runs
 * may nest (each restores the outer escape). Raising, and so allocating, outside of every
 * comp_run is a programming error: it ends the process with a message. */
bool comp_run(Comp *c, void (*fn)(Comp *c, void *data), void *data);

/* Bytes of the line that a function writes to err which has no Comp to raise through. */
enum { ERR_TEXT = 1024 };
NORETURN void err_raise(Comp *c, const Loc *loc, ErrCode code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
/* Help for the next err_at of this Comp. */
void err_help(Comp *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
#define err_at(c, loc, code, ...)                                                      \
    err_raise((c), (loc), ERR_##code, fmt_##code, ##__VA_ARGS__)
/* The same of a row whose text is "%s" alone, with the message's own format instead of it. */
#define err_say(c, loc, code, ...)                                                     \
    ((void)sizeof(char[sizeof fmt_##code == sizeof "%s" ? 1 : -1]),                    \
     err_raise((c), (loc), ERR_##code, __VA_ARGS__))
/* "file:line:col: CompileError[CODE]: msg" + source line + caret + help + call chain; no
 * newline at the end. May be called outside comp_run and leaves c->err alone; NULL when
 * out of memory. */
char *err_render(Comp *c, const Error *e);

const Loc *loc_new(Comp *c, const char *file, const char *func, int line, int col,
                   int end_line, int end_col, const Loc *caller);
/* The place in the user's source: for code of the language's own, its call. */
const Loc *loc_user(const Loc *loc);

/* The least multiple of step from n on. */
static inline int64_t
round_up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

/* a, or b where a is 0 or NULL: then b alone is computed. */
#define OR(a, b) ((a) ?: (b))

/* An impossible switch arm: BUG, not undefined behaviour. */
#define unreachable(c) err_at((c), NULL, UNREACHABLE, __FILE__, __LINE__)

#endif
