/* ptxsim.h: what the files of ptxsim share.
 *
 *     text --parse.c--> Module --decode.c--> Ins of Func --exec.c--> lanes of warps
 *
 * A warp's registers lie in one file, register by register, 32 lanes side by side: a lane is
 * 1 byte for predicates (0 or 1), else as wide as the register. Constants, symbols'
 * addresses and special registers are registers too, set when a warp starts, so every
 * operand of every instruction is an offset into the file:
 *
 *     add.s32 %r3, %r1, 7;     d = at(%r3), a = at(%r1), b = at(constant 7)
 *
 * Beside each register stands a mask of the lanes that hold nothing defined. It travels as
 * the value does, through registers and shared memory, and is an error where it would
 * matter: in an address, a branch, a predicate, a store to global memory.
 */
#ifndef TEGULA_PTXSIM_H
#define TEGULA_PTXSIM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define SIM_PRINTF(a, b) __attribute__((format(printf, a, b)))
#define SIM_EXPORT __attribute__((visibility("default")))
#else
#error "GNU C, please"
#endif

enum { LANES = 32, FULL = -1, SIM_TEXT = 1024, MAX_WARPS = 32, N_BARRIERS = 16 };

/* ---- memory of a module, freed as one (base.c) ----------------------------------- */
typedef struct Pool Pool;
Pool *pool_new(void);
void pool_free(Pool *p);
void *pool_alloc(Pool *p, size_t n); /* zeroed; without memory it jumps to pool_stop */
jmp_buf *pool_stop(Pool *p);
char *pool_text(Pool *p, const char *s, size_t n);
#define POOL_NEW(p, T, n) ((T *)pool_alloc(p, sizeof(T) * (size_t)(n)))

typedef struct Map Map; /* text -> pointer */
Map *map_new(Pool *p);
void *map_get(const Map *m, const char *key);
void map_set(Map *m, const char *key, void *value);

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
enum { SHARED_BASE = 1024, CLUSTER_SHIFT = 24 };

/* ---- code ------------------------------------------------------------------------ */
typedef struct Warp Warp;
typedef struct Ins Ins;
typedef void Run(Warp *w, const Ins *i, uint32_t m); /* m: lanes that take part */

typedef struct Reg {
    uint32_t at;   /* of lane 0 in the file, in bytes */
    uint32_t id;   /* of its mask in Warp.undef; 0: always defined */
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

enum { BAR_ARRIVE = 1, BAR_RED = 2 }; /* flags of a barrier */

struct Ins {
    Run *run;            /* NULL: only flow */
    uint32_t d, a, b, c; /* file offsets of the first result and the first operands */
    uint8_t flow;
    bool has_guard, guard_not;
    bool is_aligned;               /* all lanes that have not left must be here */
    bool meets;                    /* the lanes of a warp wait here for each other */
    bool is_call;                  /* more is a Call */
    bool tracks;                   /* sets the undefined lanes of its results itself */
    bool is_volatile;              /* ld.volatile, polls */
    uint8_t space, type, n, bytes; /* of an access: n elements of `bytes` */
    uint8_t op;                    /* of atomics, votes, .. */
    uint16_t flags;
    Reg guard;
    int64_t imm; /* added to the address; a table; .. */
    const Reg *out, *in;
    uint8_t n_out, n_in;
    int target;        /* of a branch: index of an instruction */
    const void *more;  /* what only this instruction knows */
    int line;          /* in the text */
    int file, src;     /* .loc: which file, its line; 0: none */
    const char *words; /* the opcode */
};

enum { MAX_ARGS = 16, MAX_DEPTH = 8 };
typedef struct Call {
    const char *name;
    uint32_t arg[MAX_ARGS]; /* places in local memory */
    int n_args;
    int64_t result; /* its place; -1: none */
    /* link.c, when the function is no other's than the text's: */
    const struct Func *callee;
    uint32_t local; /* its frame */
    int entry;
} Call;

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
    int version, sm; /* 87 is 8.7; 80 is sm_80 */
    bool is_accelerated;
    Map *names;
    Func **funcs;
    int n_funcs, cap_funcs;
    const char *files[64]; /* of .file */
    uint32_t shared_bytes; /* of the variables of fixed size, from SHARED_BASE */
    uint32_t shared_align;
    Sym **globals; /* to be registered and freed */
    int n_globals, cap_globals;
} Module;

/* Reads text. NULL: err says where and why. */
Module *module_parse(const char *text, char err[SIM_TEXT]);
void module_free(Module *m);
bool link_kernel(Module *m, Func *kernel, char err[SIM_TEXT]);
Func *module_kernel(const Module *m, const char *name);

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

enum { MAX_MODS = 24, MAX_OPDS = 12, MAX_REGS = 48 };
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

_Noreturn void dec_fail(Dec *d, const char *fmt, ...) SIM_PRINTF(2, 3);
bool dec_has(Dec *d, const char *word); /* takes the modifier */
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
/* Operand k as [base + imm]: the base is a row of in[]; its space where the text has none. */
Reg dec_address(Dec *d, int k, const Sym **sym);
Sym *dec_sym(Dec *d, const char *name); /* NULL: none of that name */
int dec_literal(Dec *d, int k, int64_t *value);
void dec_label(Dec *d, const char *name); /* becomes the target */
void *dec_more(Dec *d, size_t n);         /* memory that lives with the module */
Space dec_space(Dec *d);
void dec_take_hints(Dec *d); /* caches, orders, scopes */
void dec_st_async(Dec *d);
int dec_sm(const Dec *d);
bool dec_in_kernel(const Dec *d);

typedef void Decode(Dec *d);
typedef struct OpRow {
    const char *name;
    Decode *decode;
} OpRow;
/* Each file's instructions; the last row has no name. */
extern const OpRow integer_ops[], logic_ops[], float_ops[], convert_ops[], memory_ops[],
    atomic_ops[], async_ops[], warp_ops[], control_ops[];

/* ---- running --------------------------------------------------------------------- */
typedef struct Copy { /* of cp.async, that has not landed */
    uint32_t lane, to, bytes;
    int64_t group; /* of the lane */
    const uint8_t *from;
    uint32_t n_from; /* the rest are zeros */
} Copy;

enum { WARP_RUNS, WARP_AT_BARRIER, WARP_AT_CLUSTER, WARP_DONE };
struct Warp {
    uint8_t *file;
    uint32_t *undef;              /* lanes, by register */
    uint32_t *has_low, *has_high; /* of those: with a defined half (logic.c, pack) */
    const Func *f;
    struct Cta *cta;
    int id;         /* in the block */
    int state;      /* WARP_* */
    uint32_t mask;  /* lanes that run now */
    uint32_t alive; /* lanes that have not left */
    int pc;
    int wait_pc; /* the lowest pc of the lanes that wait; INT32_MAX: none do */
    int lane_pc[LANES];
    int depth[LANES];              /* of calls */
    int returns[LANES][MAX_DEPTH]; /* the calls */
    uint32_t carry;                /* CC.CF */
    uint32_t parked;  /* lanes that wait for others to come where they are */
    bool is_last;     /* nobody else will: the next instruction runs, or is an error */
    const Ins *at;    /* where it waits */
    bool has_arrived; /* at the cluster's barrier, whose phase is not over */
    uint8_t *local;   /* of 32 threads, one behind the other */
    Copy *copies;
    int n_copies, cap_copies;
    int64_t committed[LANES]; /* groups of cp.async */
    uint64_t n_run;           /* instructions so far */
};

typedef struct Barrier {
    int n_threads;    /* that have arrived */
    int expected;     /* 0: all of the block */
    uint32_t waiting; /* warps */
    uint32_t n_true;  /* of bar.red: threads whose predicate holds */
} Barrier;

/* Of each byte of shared memory. */
enum { BYTE_UNDEF, BYTE_DEFINED, BYTE_PENDING };

typedef struct Cta {
    struct Cluster *cluster;
    int id[3];
    int rank;
    int n_warps;
    Warp *warps;
    uint8_t *shared, *state; /* from SHARED_BASE on */
    uint32_t n_shared;
    Barrier barrier[N_BARRIERS];
    int n_gone; /* warps that have ended */
} Cta;

typedef struct Cluster {
    struct Launch *launch;
    Cta *ctas;
    int n_ctas;
    int n_slices;  /* it has run without coming to its end */
    bool is_ended; /* and no other took its place */
} Cluster;

typedef struct Launch {
    const Func *f;
    int grid[3], block[3], cluster[3];
    uint32_t shared; /* dynamic */
    const uint8_t *params;
    int device;
    jmp_buf stop;
    int error; /* a CUresult */
    char text[SIM_TEXT];
    uint64_t n_run, n_lanes; /* instructions of warps, of lanes */
    struct Counts *counts;   /* count.c's; NULL: nobody asked */
} Launch;

/* Runs a grid: 0 or a CUresult with l->text. */
int sim_launch(Launch *l);
uint32_t sim_shared_bytes(const Func *f); /* of fixed size */
/* Ends the launch; names the instruction, its line and the thread. */
_Noreturn void sim_fault(Warp *w, const Ins *i, int lane, int error, const char *fmt,
                         ...) SIM_PRINTF(5, 6);
Launch *warp_launch(const Warp *w);

/* Registered memory: what kernels may touch. */
bool region_add(const void *p, size_t n);
bool region_remove(const void *p);
bool region_has(const void *p, size_t n);

/* Where an access goes: called before every one of a warp (the counters' hook). address[l]
 * of the lanes in m; `bytes` for each. */
void sim_access(const Warp *w, const Ins *i, uint32_t m, Space space,
                const uint64_t address[LANES], int bytes, bool is_store);

/* The bytes behind an address of a lane, checked: aligned, within its space. */
uint8_t *sim_bytes(Warp *w, const Ins *i, int lane, Space space, uint64_t address,
                   uint32_t n, bool is_store);
/* The states of bytes of shared memory that sim_bytes gave; NULL: other memory. */
uint8_t *sim_states(Warp *w, Space space, uint64_t address);
/* [base + imm] of every lane in m; undefined ones are an error. */
void sim_addresses(Warp *w, const Ins *i, uint32_t m, uint64_t out[LANES]);

#define LANE(T, w, offset) ((T *)(void *)((w)->file + (offset)))
/* A register's lanes as numbers without a sign, and back. */
void lanes_get(const Warp *w, Reg r, uint64_t out[LANES]);
void lanes_put(Warp *w, Reg r, uint32_t m, const uint64_t in[LANES]);

#endif
