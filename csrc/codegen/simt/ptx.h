/* ptx.h: what the files of machine_ptx share. Private to them. */
#ifndef TEGULA_PTX_H
#define TEGULA_PTX_H

#include "codegen/simt/machine.h"

enum { AS_GLOBAL = 1, AS_SHARED = 3 }; /* LLVM's address spaces */

typedef struct PtxMachine {
    Lv smem;               /* the kernel's dynamic shared memory; NULL until used */
    int first_map;         /* parameter */
    int first_grid;        /* parameter of a persistent kernel; -1: the launch's grid */
    int barriers_at;       /* of a cluster's exchanges, in shared memory */
    bool is_cluster_ready; /* somewhere above all blocks were waited for */
    bool is_pair;          /* a program's block is one of two in a cluster */
    int log2_cluster;      /* blocks that share a program, whatever they share of it */
} PtxMachine;

static inline PtxMachine *
ptx_state(Ll *l)
{
    return l->machine_data;
}

static inline bool
ptx_sm_at_least(const Ll *l, int sm)
{
    return l->c->opt.target.sm >= sm;
}

/* ---- ptx_asm.c ------------------------------------------------------------------- */
typedef struct Asm {
    Ll *l;
    Sb text, constraints;
    VEC(Lt) out;
    VEC(Lv) in;
} Asm;
Asm asm_new(Ll *l);

void asm_text(Asm *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Outputs come before inputs; both return the operand's number. */
int asm_out(Asm *a, Lt t);
int asm_out_early(Asm *a, Lt t); /* written before all inputs are read */
int asm_in(Asm *a, Lv x);
void asm_tie(Asm *a, int out, Lv x);         /* x is what output `out` holds before */
void asm_vector(Asm *a, int first, int n);   /* "{$first, .., $last}" */
void asm_list(Asm *a, int first, int n);     /* the same, or "$first" alone */
void asm_inputs(Asm *a, const Lv *x, int n); /* n inputs as a vector */
void asm_predicate(Asm *a, Lv pred);         /* "@$n "; nothing when NULL */
Lv asm_done(Asm *a, bool touches_memory, bool effects);
/* The same; its results go to out. */
void asm_done_to(Asm *a, bool touches_memory, bool effects, Lv *out);
/* One that has no operands, touches memory and has effects. */
void asm_statement(Ll *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* How a packed value travels through asm: its registers and the suffix of the access. */
typedef struct Parts {
    int n;
    Lt type; /* of one register: i16, i32 or i64; bytes travel in i32 */
    bool is_byte;
} Parts;
Parts asm_parts(Ll *l, Lt t);
void asm_suffix(Asm *a, const Parts *p); /* ".v4.b32 " */
Lv asm_part(Ll *l, const Parts *p, Lv value, int i);
void asm_packed(Asm *a, const Parts *p, Lv value); /* inputs, as asm_list has them */
/* asm_done of what touches memory, whose outputs are the parts of a value of type t. */
Lv asm_done_packed(Asm *a, const Parts *p, Lt t);
Lv ptx_as_bits(Ll *l, Elem e, Lv x); /* an element as an integer register */

/* ---- the slots of machine.def ---------------------------------------------------- */
#define SLOT(type, name, params) type ptx_##name params;
#include "codegen/simt/machine.def"

/* ---- beside them, by file -------------------------------------------------------- */
Lv ptx_shared_address(Ll *l, Lv offset);   /* ptx_memory.c: i32, as asm takes it */
void ptx_share_program(Ll *l, int blocks); /* ptx_ring.c */
void ptx_map_param(Ll *l, int param);      /* ptx_tensor.c */
extern const ScalarOps ptx_scalar_ops;     /* ptx_math.c */
/* ptxas_faults.c: between LLVM's passes and its PTX */
void ptx_avoid_faults(Ll *l);

#endif
