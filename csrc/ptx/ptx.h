/* ptx.h: PTX's text -> instructions -> lanes. What the library's own files and ptxsim share;
 * others want asm.h.
 *
 *     text --text.c--> tokens --decode.c--> Ins --integer.c ..--> registers of 32 lanes
 *
 * Registers lie in one file, register by register, 32 lanes side by side: a lane is
 * 1 byte for predicates (0 or 1), else as wide as the register. Constants, symbols'
 * addresses and special registers are registers too, set before the first instruction, so
 * every operand of every instruction is an offset into the file:
 *
 *     add.s32 %r3, %r1, 7;     d = at(%r3), a = at(%r1), b = at(constant 7)
 *
 * Beside each register stands a mask of the lanes that hold nothing defined. It travels as
 * the value does; who runs the lanes says where it matters.
 */
#ifndef TEGULA_PTX_H
#define TEGULA_PTX_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/asm.h"
#include "ptx/formats.h"

#if defined(__GNUC__)
#define PTX_PRINTF(a, b) __attribute__((format(printf, a, b)))
#else
#error "GNU C, please"
#endif

enum { LANES = 32, FULL = -1, PTX_TEXT = 1024 };
/* The lanes of a mask, which is looked at again for each. */
#define EACH_LANE_OF(l, mask)                                                          \
    for (int l = 0; l < LANES; l++)                                                    \
        if ((mask) >> l & 1)

/* ---- memory of a module, freed as one (base.c) ----------------------------------- */
typedef struct Pool Pool;
Pool *pool_new(void);
void pool_free(Pool *p);
void *pool_alloc(Pool *p, size_t n); /* zeroed; without memory it jumps to pool_stop */
jmp_buf *pool_stop(Pool *p);
char *pool_text(Pool *p, const char *s, size_t n);
#define POOL_NEW(p, T, n) ((T *)pool_alloc(p, sizeof(T) * (size_t)(n)))

typedef struct Names Names; /* text -> pointer */
Names *names_new(Pool *p);
void *names_get(const Names *m, const char *key);
void names_set(Names *m, const char *key, void *value);

/* ---- types ----------------------------------------------------------------------- */
typedef enum Type {
    T_NONE,
    T_PRED,
    T_U8,
    T_U16,
    T_U32,
    T_U64,
    T_S8,
    T_S16,
    T_S32,
    T_S64,
    T_B8,
    T_B16,
    T_B32,
    T_B64,
    T_B128,
    T_F16,
    T_F16X2,
    T_BF16,
    T_BF16X2,
    T_F32,
    T_F64,
    N_TYPES
} Type;
extern const struct TypeInfo {
    const char *name;
    uint8_t bytes, log2;
    char kind; /* u s b f p */
} type_info[N_TYPES];
Type type_named(const char *word); /* T_NONE: no such type */

typedef enum Space {
    SPACE_GENERIC,
    SPACE_GLOBAL,
    SPACE_SHARED,  /* of this block; a 32-bit address from SHARED_BASE */
    SPACE_CLUSTER, /* of a block of the cluster: (rank + 1) << 24 | address */
    SPACE_LOCAL,
    SPACE_PARAM,
    SPACE_CONST
} Space;
/* Generic addresses: global ones are the host's, the others have one of these bits. */
#define GENERIC_SHARED (UINT64_C(1) << 62)
#define GENERIC_LOCAL (UINT64_C(1) << 61)
#define GENERIC_PARAM (UINT64_C(1) << 60)
enum { SHARED_BASE = 1024, CLUSTER_SHIFT = 24 };

/* ---- code ------------------------------------------------------------------------ */
typedef struct Lanes Lanes;
typedef struct Ins Ins;
typedef void Run(Lanes *w, const Ins *i, uint32_t m); /* m: lanes that take part */

typedef struct Reg {
    uint32_t at;   /* of lane 0 in the file, in bytes */
    uint32_t id;   /* of its mask in Lanes.undef; 0: always defined */
    uint8_t bytes; /* of a lane */
} Reg;

typedef enum Flow {
    FLOW_NEXT,
    FLOW_BRA,     /* to target */
    FLOW_BARRIER, /* bar.*: the warp may have to wait */
    FLOW_CLUSTER, /* barrier.cluster.wait */
    FLOW_YIELD,   /* polls: another warp's turn */
    FLOW_EXIT, /* ret of a kernel, exit; from here on the next pc is not this one's + 1 */
    FLOW_CALL,
    FLOW_RET
} Flow;

/* Others see what stood before a release when they have acquired what it wrote. */
enum { ORDER_ACQUIRE = 1, ORDER_RELEASE = 2 };
enum { BAR_ARRIVE = 1, BAR_RED = 2 }; /* flags of a barrier */
/* undef.c has the meaning of each. */
enum { UNDEF_WHOLE, UNDEF_BITS, UNDEF_HALVES, UNDEF_CARRIES, UNDEF_LOW, UNDEF_TRACKED };
enum { N_BARRIERS = 16 };

struct Ins {
    Run *run;            /* NULL: only flow */
    uint32_t d, a, b, c; /* file offsets of the first result and the first operands */
    uint8_t flow;
    bool has_guard, guard_not;
    bool is_aligned; /* all lanes that have not left must be here */
    bool is_wgmma;
    bool is_library;     /* the author whose line it has wrote a library */
    bool meets;          /* the lanes of a warp wait here for each other */
    bool is_call;        /* more is a Call */
    bool is_threads_own; /* what it does or gives is one thread's: groups, ranks */
    uint8_t undef;       /* UNDEF_*: how its results depend on what is undefined */
    uint8_t bitwise;  /* of UNDEF_BITS: so many operands are bits, others say how far */
    bool is_volatile; /* ld.volatile, polls */
    bool is_strong;   /* an access that is volatile or has an order */
    bool is_of_system;             /* .. that sees what other processes write */
    uint8_t space, type, n, bytes; /* of an access: n elements of `bytes` */
    uint8_t op;                    /* of atomics, votes, .. */
    uint8_t order;                 /* ORDER_* of what is strong, and of fences */
    uint8_t members; /* where it meets: in[members - 1] is the mask; 0: all lanes */
    uint16_t flags;
    Reg guard;
    int64_t imm; /* added to the address; a table; .. */
    const Reg *out, *in;
    uint8_t n_out, n_in;
    int target;         /* of a branch: index of an instruction */
    const void *more;   /* what only this instruction knows */
    int line;           /* in the text */
    int file, src, col; /* .loc: which file, its line and column; 0: none */
    int author_line;    /* of the assembly that the kernel's author wrote; 0: of none */
    const char *words;  /* the opcode */
};

/* A name in the text: a register, a variable, a parameter, a label or a function. */
typedef struct Sym {
    enum { SYM_REG, SYM_VAR, SYM_LABEL, SYM_FUNC } kind;
    const char *name;
    Reg reg;
    Type type;
    Space space;
    uint64_t offset; /* in its space; of a global variable, the host's address */
    uint64_t size;   /* bytes */
    uint32_t align;
    bool
        is_extern; /* .extern .shared: behind all others, as large as the launch says */
    bool
        is_sreg_live; /* %clock and its kin: changes, so reading it is an instruction */
    int target;       /* of a label: index of an instruction; -1 until met */
    struct Func *func;
} Sym;

typedef struct Const { /* a register that is set when a warp starts */
    Reg reg;
    uint64_t value;
    const Sym *sym; /* its address is added */
} Const;

typedef struct Param {
    uint32_t offset, size;
} Param;

typedef struct Func {
    const char *name;
    struct Module *mod;
    bool is_entry, has_body;
    Ins *code;
    int n_code, cap_code;
    Const *consts;
    int n_consts, cap_consts;
    struct SpecialReg {
        Reg reg;
        int which;
    } *specials;
    int n_specials, cap_specials;
    Param *params;
    int n_params, cap_params;
    Param result; /* of a function, in its local memory; size 0: none */
    uint32_t param_bytes;
    uint32_t file_bytes;  /* of the registers of a warp */
    uint32_t n_regs;      /* masks */
    uint32_t local_bytes; /* of one thread */
    int reqntid[3];       /* 0: not given */
    int maxntid[3];
    int cluster[3];
    int max_regs;    /* .maxnreg; 0: none */
    int max_dynamic; /* bytes of shared memory that a launch may ask for */
} Func;

typedef struct Module {
    Pool *pool;
    int version, sm; /* 87 is 8.7; 0: of assembly; 80 is sm_80 */
    bool is_accelerated;
    bool has_author; /* a kernel's author wrote some of it */
    Names *names;
    Func **funcs;
    int n_funcs, cap_funcs;
    const char *files[64]; /* of .file */
    uint32_t shared_bytes; /* of the variables of fixed size, from SHARED_BASE */
    uint32_t shared_align;
    Sym **globals; /* to be registered and freed */
    int n_globals, cap_globals;
} Module;

/* ---- decoding (decode.c), for the files that have instructions ------------------- */
typedef enum OpdKind {
    OPD_NONE,
    OPD_NAME,
    OPD_INT,
    OPD_F32,
    OPD_F64,
    OPD_VEC,
    OPD_MEM,
    OPD_LIST
} OpdKind;
typedef struct Opd {
    OpdKind kind;
    bool is_not;        /* !p */
    const char *name;   /* OPD_NAME, and the base of OPD_MEM */
    const char *second; /* p|q */
    uint64_t value;     /* bits of a literal; the offset of OPD_MEM and of name+7 */
    struct Opd *part;   /* of OPD_VEC and OPD_LIST */
    int n_parts;
} Opd;

enum { MAX_MODS = 24, MAX_OPDS = 12, MAX_REGS = 144 };
typedef struct Parser Parser;
typedef struct Dec { /* an instruction being decoded */
    Parser *p;
    Ins *ins;
    const char *text; /* the whole opcode */
    char op[24];      /* before the first dot */
    const char *mod[MAX_MODS];
    bool used[MAX_MODS];
    int n_mods;
    Opd opd[MAX_OPDS];
    int n_opds;
    Reg out[MAX_REGS], in[MAX_REGS];
    int n_out, n_in;
} Dec;

_Noreturn void dec_fail(Dec *d, const char *fmt, ...) PTX_PRINTF(2, 3);
/* The whole instruction is not there, whatever its operands. */
_Noreturn void dec_unknown(Dec *d, const char *why);
/* Errors: PTX has no such form; it is of a later architecture; the operands are not n. */
void dec_refuse(Dec *d, bool is_bad);
void dec_since(Dec *d, int sm);
void dec_operands(Dec *d, int n);
bool dec_has(Dec *d, const char *word); /* takes the modifier */
/* undef.c: each bit of the results is a function of bits of the first n operands. */
void dec_bitwise(Dec *d, int n);
/* Takes the first modifier there is of words, a NULL-terminated list: its place, or -1. */
int dec_one(Dec *d, const char *const *words);
Type dec_type(Dec *d); /* takes the next type; an error when there is none */
Type dec_maybe_type(Dec *d);
void dec_take_all(Dec *d); /* another decoder reads them */
/* Operand k as a source of so many bytes: its place, and a row of in[]. */
Reg dec_in(Dec *d, int k, int bytes);
Reg dec_in_opd(Dec *d, Opd *o, int bytes);
Reg dec_in_wide(Dec *d, Opd *o, int least); /* its register may be wider */
Reg dec_in_typed(Dec *d, int k, Type t);    /* literals are read as that type */
Reg dec_out(Dec *d, int k, int bytes);
Reg dec_out_opd(Dec *d, Opd *o, int bytes); /* "_" is a register nobody reads */
Reg dec_out_wide(Dec *d, Opd *o, int least);
void dec_out_and_truth(Dec *d, int bytes); /* the first operand: a, or a|p */
/* n registers, or one alone, each by dec_in_opd or the like; an error where they are not so many. */
void dec_vector(Dec *d, int k, int n, int bytes,
                Reg (*take)(Dec *d, Opd *o, int bytes));
/* Operand k as [base + imm]: the base is a row of in[]. A variable's space is the instruction's
 * where the text has none; the variable, or NULL. */
const Sym *dec_address(Dec *d, int k);
Sym *dec_sym(Dec *d, const char *name); /* NULL: none of that name */
int dec_literal(Dec *d, int k, int64_t *value);
void dec_label(Dec *d, const char *name); /* becomes the target */
void *dec_more(Dec *d, size_t n);         /* memory that lives with the module */
Space dec_space(Dec *d);
int dec_vector_size(Dec *d); /* of .v2, .v4, .v8; 1: none of them */
void dec_take_hints(Dec *d); /* caches, orders, scopes */
bool is_one_word(const char *words, const char *word); /* of "a|b|c" */
void dec_st(Dec *d);
int dec_sm(const Dec *d);
bool dec_in_kernel(const Dec *d);
bool dec_in_module(const Dec *d); /* false: in assembly of a kernel's author */

typedef void Decode(Dec *d);
typedef struct OpRow {
    const char *name;
    Decode *decode;
} OpRow;
/* Each file's instructions; the last row has no name. */
extern const OpRow integer_ops[], narrow_ops[], logic_ops[], compare_ops[], float_ops[],
    convert_ops[], memory_ops[], atomic_ops[], flow_ops[], warp_ops[], mbarrier_ops[],
    matrix_ops[], wmma_ops[], wgmma_ops[], async_ops[], cluster_ops[];

/* ---- running --------------------------------------------------------------------- */
/* What lanes ask of whoever runs them. */
typedef struct Owner {
    /* The bytes behind an address of a lane, checked: aligned, within its space. Does not
     * come back where they are not. */
    uint8_t *(*bytes)(Lanes *w, const Ins *i, int lane, Space space, uint64_t address,
                      uint32_t n, bool is_store);
    /* The same for n_lanes lanes whose bytes lie side by side, n each, which are defined where they
     * are read; NULL: each is to be asked for by itself. May be absent. */
    uint8_t *(*row)(Lanes *w, const Ins *i, int lane, int n_lanes, Space space,
                    uint64_t address, uint32_t n, bool is_store);
    /* A state for each of these bytes, BYTE_*; NULL: all are defined. May be absent. */
    uint8_t *(*states)(Lanes *w, Space space, uint64_t address);
    /* Called before every access of the lanes in m. May be absent. */
    void (*access)(const Lanes *w, const Ins *i, uint32_t m, Space space,
                   const uint64_t address[LANES], int bytes, bool is_store);
    uint64_t (*clock)(Lanes *w); /* grows */
    /* Lanes of m: a fence; fence.proxy.async. May be absent. */
    void (*fence)(Lanes *w, uint32_t m);
    void (*fence_async)(Lanes *w, uint32_t m);
    void (*fault)(Lanes *w, const Ins *i, int lane, const char *text)
        __attribute__((noreturn));
} Owner;

/* Accesses: as others are; atomically; so that they order who does them, as atomics and what is
 * volatile or has an order do; to an mbarrier; by the async proxy, which has a call of its
 * own (warp_async). */
enum { HOW_PLAIN, HOW_ATOMIC, HOW_STRONG, HOW_MBARRIER, HOW_ASYNC };
/* Of each byte of shared memory. */
enum { BYTE_UNDEF, BYTE_DEFINED, BYTE_PENDING };
/* Is each of n bytes, which one lane accesses, defined? Mostly so. */
static inline bool
is_defined(const uint8_t *state, uint32_t n)
{
    uint64_t word, all = 1;
    uint32_t k = 0;
    for (; k + 8 <= n; k += 8) {
        memcpy(&word, state + k, 8);
        all &= word == UINT64_C(0x0101010101010101);
    }
    for (; k < n; k++)
        all &= state[k] == BYTE_DEFINED;
    return all;
}

/* What of a register may be defined by itself: bytes of a long one, half bytes of a word. */
enum { PARTS = 8 };

struct Lanes {
    uint8_t *file;
    uint32_t *undef;        /* lanes, by register */
    uint32_t (*has)[PARTS]; /* of those: whose k-th part is defined, low first */
    uint32_t carry;         /* CC.CF */
    uint32_t alive;         /* lanes that have not left: who may be waited for */
    uint8_t how;            /* the owner is asked for bytes: HOW_* */
    const Owner *owner;
};

/* An error where a lane in m has the register undefined. */
void lanes_want(Lanes *w, const Ins *i, Reg r, uint32_t m, const char *why);
/* What all lanes have: an error where they differ. */
uint64_t lanes_same(Lanes *w, const Ins *i, const uint64_t v[LANES], const char *what);
_Noreturn void lanes_fault(Lanes *w, const Ins *i, int lane, const char *fmt, ...)
    PTX_PRINTF(4, 5);
#define LANE(T, w, offset) ((T *)(void *)((w)->file + (offset)))
/* A register's lanes as numbers without a sign, and back. */
void lanes_get(const Lanes *w, Reg r, uint64_t out[LANES]);
/* Operand k of an instruction, 0 where it is not there; room: where it may be put. */
const uint64_t *lanes_word(const Lanes *w, const Ins *i, int k, uint64_t room[LANES]);
void lanes_put(Lanes *w, Reg r, uint32_t m, const uint64_t in[LANES]);
/* The lanes whose predicate holds: bytes of 0 or 1 -> bits. */
uint32_t lanes_true(const Lanes *w, Reg r);
/* [base + imm] of every lane in m; undefined ones are an error. */
void lanes_addresses(Lanes *w, const Ins *i, uint32_t m, uint64_t out[LANES]);
/* flow.c: the lanes that take turns: those with the lowest pc run. */
typedef struct Turns {
    uint32_t mask;   /* that run now */
    int pc, wait_pc; /* theirs; the lowest of the others, INT32_MAX: there are none */
    int lane_pc[LANES]; /* of the others */
} Turns;
void turns_choose(Turns *t, uint32_t among);
/* Those of m go there, the others on. */
void turns_branch(Turns *t, int target, uint32_t m);
/* The owner's, where it has them. */
void lanes_access(const Lanes *w, const Ins *i, uint32_t m, Space space,
                  const uint64_t address[LANES], int bytes, bool is_store);
uint8_t *lanes_states(Lanes *w, Space space, uint64_t address);
/* Where part k of a register is undefined. */
static inline uint32_t
lanes_lacks(const Lanes *w, Reg r, int k)
{
    return w->undef[r.id] & ~w->has[r.id][k];
}
/* The lanes in m of a register are undefined where a part is. */
void lanes_set_lacks(Lanes *w, Reg r, uint32_t m, const uint32_t lacks[PARTS]);
/* The same wholly; nobody asks what a defined one has. */
static inline void
lanes_set_undef(Lanes *w, Reg r, uint32_t m, uint32_t undef)
{
    w->undef[r.id] = (w->undef[r.id] & ~m) | (undef & m);
    for (int k = 0; k < PARTS && undef & m; k++)
        w->has[r.id][k] &= ~(undef & m);
}
/* A bit for each byte of a lane of which something is undefined. */
uint32_t lanes_undef_bytes(const Lanes *w, Reg r, int lane);
void lanes_set_undef_bytes(Lanes *w, Reg r, uint32_t m, const uint8_t bytes[LANES]);
/* undef.c: runs the instruction, and says what of its results is undefined. */
void lanes_run(Lanes *w, const Ins *i, uint32_t m);
/* One undefined lane of an operand makes the results of all undefined. */
void lanes_spread_undef(Lanes *w, const Ins *i, uint32_t m);
/* mbarrier.c: arrivals, and bytes that came (tx < 0) or will come (tx > 0). */
void mbarrier_update(Lanes *w, const Ins *i, int lane, Space space, uint64_t address,
                     uint64_t arrivals, int64_t tx);
/* A generic address in its own space. */
Space lanes_space(Space space, uint64_t *address);

#endif
