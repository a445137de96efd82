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
void asm_tie(Asm *a, int out, Lv x);       /* x is what output `out` holds before */
void asm_vector(Asm *a, int first, int n); /* "{$first, .., $last}" */
void asm_list(Asm *a, int first, int n);   /* the same, or "$first" alone */
void asm_predicate(Asm *a, Lv pred);       /* "@$n "; nothing when NULL */
Lv asm_done(Asm *a, bool touches_memory, bool effects);
Lv asm_result(Asm *a, Lv call, int i);

/* How a packed value travels through asm: its registers and the suffix of the access. */
typedef struct Parts {
    int n;
    Lt type; /* of one register: i16, i32 or i64; bytes travel in i32 */
    bool is_byte;
} Parts;
Parts asm_parts(Ll *l, Lt t);
void asm_suffix(Asm *a, const Parts *p); /* ".v4.b32 " */
Lv asm_part(Ll *l, const Parts *p, Lv value, int i);
Lv ptx_as_bits(Ll *l, Elem e, Lv x); /* an element as an integer register */

/* ---- the rows of machine.h, by file ---------------------------------------------- */
Lv ptx_program_id(Ll *l, int axis);
/* ptx_memory.c */
Lv ptx_load(Ll *l, const Access *x, Lt type, Lv other);
void ptx_store(Ll *l, const Access *x, Lv value);
Lv ptx_shared_address(Ll *l, Lv offset); /* i32, as asm takes it */
Lv ptx_shared_load(Ll *l, Lv offset, Lt type, int align, const Loc *loc);
void ptx_shared_store(Ll *l, Lv offset, Lv value, int align, Lv pred, const Loc *loc);
Lv ptx_shared_atomic_add(Ll *l, Lv offset, Lv value, Lv pred, const Loc *loc);
bool ptx_has_async(Ll *l);
void ptx_async_copy(Ll *l, Lv offset, const Access *x);
void ptx_async_commit(Ll *l);
void ptx_async_wait(Ll *l, int pending);
/* ptx_atomics.c */
Lv ptx_atomic_rmw(Ll *l, const Access *x, Elem e, int rmw, int sem, int scope, Lv value,
                  bool is_used);
Lv ptx_atomic_cas(Ll *l, const Access *x, Elem e, int sem, int scope, Lv compare,
                  Lv value);
void ptx_fence(Ll *l, int scope);
/* ptx_mma.c */
bool ptx_has_mma(Ll *l, MmaKind k);
void ptx_mma(Ll *l, MmaKind k, Lv *d, Lv *a, Lv *b);
Lv ptx_f8_pair(Ll *l, Elem e, Lv word, int i);
Lv ptx_f8_of_pair(Ll *l, Elem e, Lv low, Lv high);
Lv ptx_opaque(Ll *l, Lv x);
void ptx_ldmatrix(Ll *l, Lv offset, int n, bool trans, Lv *out, const Loc *loc);
void ptx_stmatrix(Ll *l, Lv offset, int n, bool trans, Lv *words, const Loc *loc);
/* ptx_wgmma.c */
void ptx_wgmma(Ll *l, const Wgmma *w, Lv *d, Lv (*a)[4]);
void ptx_wgmma_fence(Ll *l, Lv *d, int n, Lv *kept, int n_kept);
void ptx_wgmma_commit(Ll *l);
void ptx_wgmma_wait(Ll *l, int pending, Lv *d, int n, Lv *kept, int n_kept);
void ptx_fence_async(Ll *l);
/* ptx_ring.c */
void ptx_mbar_init(Ll *l, int at, int n, int arrivals);
void ptx_mbar_init_done(Ll *l);
void ptx_mbar_wait(Ll *l, Lv at, Lv phase, int looks);
void ptx_mbar_arrive(Ll *l, Lv at, int bytes, Lv pred);
void ptx_pair_open(Ll *l);
void ptx_pair_arrive(Ll *l, Lv at, Lv pred);
void ptx_pair_meet(Ll *l, bool is_begin);
void ptx_share_program(Ll *l, int blocks);
Lv ptx_cluster_rank(Ll *l);
void ptx_cluster_meet(Ll *l);
Lv ptx_cluster_place(Ll *l, int rank, Lv offset);
void ptx_cluster_push(Ll *l, Lv place, int behind, Lv words[4], Lv mbar);
void ptx_begin_late(Ll *l, int clocks, Lv is_first);
void ptx_keep_open(Ll *l, int at);
void ptx_keep_late(Ll *l, int clocks, Lv is_first, Lv is_one, Lv at, Lv turn);
void ptx_group_barrier(Ll *l, Lv is_first);
void ptx_tma_load(Ll *l, Lv map, Lv to, Lv bar, Lv *coords, int n, bool is_pair);
void ptx_set_registers(Ll *l, int n, bool more);
Lv ptx_elect(Ll *l);
/* ptx_tensor.c */
void ptx_map_param(Ll *l, int param);
Lv ptx_tensor_map(Ll *l, int i);
void ptx_prefetch_map(Ll *l, Lv map);
void ptx_tensor_store(Ll *l, Lv map, Lv from, Lv *coords, int n);
void ptx_tensor_commit(Ll *l);
void ptx_tensor_wait(Ll *l, bool is_read);
Lv ptx_mbar_meet(Ll *l, Lv at, Lv bytes);
void ptx_mbar_await(Ll *l, Lv at, Lv token);
/* ptx_message.c */
void ptx_trap_if(Ll *l, Lv cond, const char *text, const Loc *loc);
void ptx_print(Ll *l, const Op *o, int operand, Lv flat_index, Lv value, Lv pred);
/* ptx_math.c */
extern const ScalarOps ptx_scalar_ops;
/* ptxas_faults.c: between LLVM's passes and its PTX */
void ptx_avoid_faults(Ll *l);

#endif
