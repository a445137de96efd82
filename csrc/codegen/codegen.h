/* codegen.h: tile IR -> LLVM, through the C API.
 *
 *     llvm.c      contexts, target machines, optimise, verify, emit; every LLVMDispose
 *     disasm.c    object code -> text
 *     scalar.c    elementwise ops on one element or on a vector of them; both targets
 *     cast.c      the same for casts
 *     math.c      exp, log, sin, .. as polynomials, for host code and the emulator
 *     simt/       one thread's program: distribute, memory, reduce, convert, dot
 *     host/       tile loops, jit
 *
 * How elements live in LLVM: i1 is i1 in registers and i8 in memory; f16 is half; bf16 is
 * i16 and fp8 is i8 in memory AND in registers (arithmetic on 16- and 8-bit floats is done
 * in float and rounded); pointers are ptr (address space 1 for PTX, 0 on hosts).
 */
#ifndef TEGULA_CODEGEN_H
#define TEGULA_CODEGEN_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "analysis/analysis.h"
#include "codegen/binary.h"

typedef LLVMValueRef Lv;
typedef LLVMTypeRef Lt;

typedef struct Ll Ll;

/* What elementwise code asks of a target. Arguments may be vectors of any width. */
typedef struct ScalarOps {
    /* exp exp2 log .. ceil, div, rsqrt, fma, min, max of floats: returns NULL for "use the generic
     * LLVM form". x is float or double (or a vector). */
    Lv (*math)(Ll *l, OpCode op, Elem e, Lv *x);
    /* Storage form <-> float for bf16 and fp8; rounding is ROUND_*. NULL: bit tricks. */
    Lv (*to_float)(Ll *l, Elem e, Lv x);
    Lv (*from_float)(Ll *l, Elem e, Lv x, int rounding);
    /* float or double to integers of 16 bits or more, cut off and saturated, NaN 0. NULL:
     * LLVM's form. May be NULL itself. */
    Lv (*to_int)(Ll *l, Elem to, Lv x);
    /* Inline assembly with pack 1, on scalars or vectors of the registers, in a region: its
     * results. */
    void (*assembly)(Ll *l, const Op *o, Lv *x, Lv *out);
    /* Of narrow floats in storage form, rounded once; NULL: by way of float. May be NULL itself. */
    Lv (*narrow)(Ll *l, OpCode op, Elem e, Lv *x);
} ScalarOps;

struct Ll {
    Comp *c;
    LLVMContextRef cx;
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMTargetMachineRef tm;
    Lv fn;                                               /* the function being filled */
    Lt void_, i1, i8, i16, i32, i64, f16, f32, f64, ptr; /* ptr: address space 0 */
    Lt gptr;         /* a tensor's pointer: address space 1 for PTX, else ptr */
    bool contract;   /* mul + add may become fma */
    bool has_halves; /* host: arithmetic of f16, see cast.c */
    bool has_bf16;   /* host: AVX512-BF16's rounding, see cast.c */
    bool has_scalef; /* host: AVX-512's x * 2^n, see math.c */
    bool
        has_range; /* host: AVX512-DQ's min and max by the order of numbers, see extremes.c */
    const ScalarOps *ops;
    /* ll_call_extern, or NULL: the module has no EXTERN but in loops of its own. By pointer, as
     * library/ stands on what is here. */
    Lv (*call_extern)(Ll *l, const Op *o, Lv *x);
    const struct Machine *machine; /* simt only; see simt/machine.h */
    void *machine_data;
    int log2_ctas;    /* simt only: blocks of a cluster that share a program */
    int team_threads; /* simt only: who meets at barriers, in roles; 0: all of the block */
    struct PtxTurns *turns;    /* PTX only: of sines; ptx_math.c */
    struct SimCosts *costs;    /* simt only: what has been asked of the machine */
    struct LlExterns *externs; /* functions of the user's libraries: link.c */
    struct LlLines *lines;     /* of the source, for PTX: lines.c; NULL: none */
};

static inline bool
ll_is_host(const Ll *l)
{
    return l->gptr == l->ptr; /* PTX has another address space */
}

/* ---- llvm.c ----------------------------------------------------------------------------- */
typedef enum LlTarget { LL_HOST, LL_NVPTX } LlTarget;
/* A module for the target in opt.target; disposed with the Comp's arena. While LLVM runs,
 * its fatal errors arrive as ERR_LLVM at the Comp's escape and leak the context. */
Ll *ll_new(Comp *c, LlTarget t, const char *name);
/* Before ll_finish, of code for a CPU: where it is long, its instructions are chosen without
 * optimisation, in time that is linear in their number. True: it is. */
bool ll_quicken(Ll *l);
/* What the CPU that host code is for can do, as LLVM lists it ("+avx2,-avx512f,.."). */
const char *ll_host_features(Comp *c);
/* masked_bits.c: gives every instruction of the module to `change`, which may replace it. */
void ll_each_instruction(Ll *l, void (*change)(Ll *l, Lv o));
/* keeps LLVM from an instruction of AVX-512 that it gets wrong. */
void ll_part_masked_bits(Ll *l);
void ll_store_one_lane(Ll *l); /* one_lane.c */
/* zero_signs.c: keeps LLVM from minima that give another zero than a selection does. */
void ll_keep_zero_signs(Ll *l);
void ll_hide_counts(Ll *l); /* wide_products.c */
/* piecewise.c: the PTX of the module, one element computed after the other; the module is as it was. */
const char *ll_emit_piecewise(Ll *l);
void ll_keep_wide_counts(Ll *l);   /* wide_shifts.c */
void ll_select_signed_bits(Ll *l); /* signed_bits.c */
/* A message of LLVM's, which the compile owns from here on; NULL: "no reason". */
const char *ll_message(Comp *c, char *message);
const char *ll_shown(Comp *c, const char *name); /* with ? for what cannot be printed */
Lt ll_elem(Ll *l, Elem e);                       /* the register form */
Lt ll_mem(Ll *l, Elem e);                        /* the memory form: i8 for i1 */
Lt ll_type(Ll *l, const Type *t);                /* of one element: ll_elem or gptr */
Lt ll_vec(Lt t, int lanes);                      /* lanes 0 or 1: t itself */
int ll_lanes(Lv v);                              /* 0: not a vector */
/* n lanes from `first` on, each `step` behind the one before, of x and y side by side; NULL: of x. */
Lv ll_some_lanes(Ll *l, Lv x, Lv y, int first, int step, int n);
Lv ll_constant(Ll *l, Lv value, const char *name); /* a global of this module alone */
Lv ll_i32(Ll *l, int32_t v);
Lv ll_i64(Ll *l, int64_t v);
/* The address of element i of those at p, and what is there. */
Lv ll_element(Ll *l, Lt elem, Lv p, Lv i);
Lv ll_load_element(Ll *l, Lt elem, Lv p, Lv i);
Lv ll_byte_at(Ll *l, Lv p, Lv i);
/* A constant of the register form. */
Lv ll_bits(Ll *l, Elem e, uint64_t bits, int lanes);
Lv ll_splat(Ll *l, Lv x, int lanes);
/* name is an overloaded intrinsic ("llvm.fma"); types pick the overload. */
Lv ll_intrinsic(Ll *l, const char *name, Lt *types, int n_types, Lv *args, int n_args);
/* A C function of ours, declared on first use. */
Lv ll_call_c(Ll *l, const char *symbol, Lt ret, Lv *args, int n);
/* effects: sideeffect and convergent, with a memory clobber by the constraint string. */
Lv ll_asm(Ll *l, Lt ret, const char *text, const char *constraints, Lv *args, int n,
          bool effects);
/* The call computes and nothing else, so equal ones are one. */
void ll_mark_pure(Ll *l, Lv call);
/* String attribute. */
LLVMAttributeRef ll_attribute(Ll *l, const char *name, uint64_t value);
void ll_fn_attr(Ll *l, Lv fn, const char *name, const char *value);
void ll_param_attr(Ll *l, Lv fn, int param, const char *enum_name, uint64_t value);
LLVMBasicBlockRef ll_block(Ll *l, const char *name);
/* A branch to a block, whose code comes next; ll_if: that of `yes`. */
void ll_jump(Ll *l, LLVMBasicBlockRef to);
void ll_if(Ll *l, Lv cond, LLVMBasicBlockRef yes, LLVMBasicBlockRef no);
/* Here x is what comes from a block, and y from another; ll_phi: what comes from others is added. */
Lv ll_phi(Ll *l, Lv x, LLVMBasicBlockRef from);
Lv ll_join(Ll *l, Lv x, LLVMBasicBlockRef x_from, Lv y, LLVMBasicBlockRef y_from);
void ll_keep_rolled(Ll *l,
                    Lv branch); /* which closes a loop that nobody shall unroll */
/* Verifies (BUG on failure), optimises with the pass list ("function(sroa,instcombine)"),
 * adds the text to out as "llir". */
void ll_finish(Ll *l, const char *passes, Binary *out);
/* What is wrong with the file, bitcode or text; NULL: LLVM can read it. Asked in a process of
 * its own: damaged bitcode may end LLVM. */
const char *ll_unreadable(Comp *c, const char *path);
/* Runs fn(l, data) where LLVM's fatal errors and diagnostics become ours. */
void ll_guarded(Ll *l, void (*fn)(Ll *l, void *data), void *data);
/* ---- lines.c: .loc ------------------------------------------------------------------------ */
void ll_lines_open(Ll *l, const Loc *kernel); /* of l->fn */
/* What is built from here on; is_elsewhere: ir_reaches_elsewhere. */
void ll_lines_at(Ll *l, const Loc *loc, bool is_elsewhere);
/* Back to the end of a block, and to its line, after something was built elsewhere. */
void ll_go_on(Ll *l, LLVMBasicBlockRef here);
Lv ll_slot(Ll *l, Lt t); /* memory of the function's own, made where it begins */
void ll_lines_close(Ll *l);

/* ---- assembly.c: inline assembly where no assembler will see it ---- */
/* A constant PtxSite: o on n elements, with instructions of that architecture. */
Lv cg_asm_site(Ll *l, const Op *o, int64_t n, int sm, bool is_masked, bool is_checked);
/* Of an operand's or a result's element in a register of the assembly. */
int cg_asm_bits(const Type *t);
/* What the constraints say; raises unless operands and results fit. */
struct PtxForm;
void cg_asm_form(Ll *l, const Op *o, struct PtxForm *form);
void cg_asm_check(Ll *l, const Op *o, int sm); /* an error unless it can be run */
/* ScalarOps.assembly for hosts. */
void cg_asm_elements(Ll *l, const Op *o, Lv *x, Lv *out);

/* ---- override.c: files in the place of stages ---- */
/* The function that the rest is made of: f, or that of the user's file. */
Func *override_func(Func *f, const char *stage);
/* Puts the user's module in the place of l->m, and its text into out; by ll_finish. */
void ll_override(Ll *l, Binary *out);
/* Puts the user's PTX into out, which is complete but for machine code. */
void override_ptx(Comp *c, Binary *out);

/* ---- link.c: functions of the user's bitcode ---- */
/* Calls the function that o, an EXTERN, names, and remembers to link its file. */
Lv ll_call_extern(Ll *l, const Op *o, Lv *x);
/* void f(i64 n, ptr data): that of n elements, one after the other. data[i] is where operand i's
 * are, data[n_args] the result's, in ll_mem form, or, is_wide, in 8 bytes each. */
Lv ll_extern_loop(Ll *l, const Op *o, bool is_wide);
/* Notes the files it has inside, when all are linked: stage linked of out. Nothing where there
 * are none. Its lines:
 *     libdevice <path>              CUDA's own, as it was found; no path: it was not
 *     <hash> <bytes> <path>         one that was read: hash_bytes in hex */
void ll_note_libraries(Ll *l, Binary *out);
/* For the interpreter: stage externs of out, a host object with
 *     void tegula_externs(i32 index, i64 n, ptr data)
 * as InterpRun.externs has it. Nothing where f has no EXTERN. */
void cg_externs(const Func *f, Binary *out);
/* Links those files and makes them fit the target; the passes to run ahead of `passes` are in front of the result. */
const char *ll_link(Ll *l, const char *passes);
/* kind: LLVMAssemblyFile or LLVMObjectFile; adds it to out under `stage`. */
void ll_emit(Ll *l, LLVMCodeGenFileType kind, const char *stage, Binary *out);
/* ---- disasm.c --------------------------------------------------------------------------- */
/* Stage asm from stage obj. */
void ll_disassemble(Ll *l, Binary *out);

/* ---- scalar.c ----------------------------------------------------------------------------- */
/* The value of an OPF_ELEM op (not HINT), given its operands as scalars or as vectors of equal width.
 * Types come from o; pointers too (ADDPTR, BITCAST, SELECT, EQ ..). */
Lv cg_elementwise(Ll *l, const Op *o, Lv *args);
/* The scalars `args` through a reduce/scan/map region; fills out with the yielded values. The region
 * holds only scalar elementwise ops, ifs are selects. outer(data, v) has the scalars around it. */
void cg_region(Ll *l, const Block *region, Lv *args, int n_args, Lv *out,
               Lv (*outer)(void *data, const Val *v), void *data);

/* ---- extremes.c --------------------------------------------------------------------------- */
/* min, max, minnan, maxnan on a CPU, of f32 or f64: -0.0 is below 0.0. */
Lv cg_extreme(Ll *l, OpCode op, Lv a, Lv b);
/* x is not a signaling NaN: a load of what we have computed. */
Lv cg_mark_quiet(Ll *l, Lv x);

/* ---- cast.c -------------------------------------------------------------------------------- */
Lv cg_cast(Ll *l, Elem from, Elem to, Lv x, int rounding);
Lv cg_to_memory(Ll *l, Elem e, Lv x); /* i1 -> i8; others unchanged */
Lv cg_from_memory(Ll *l, Elem e, Lv x);

/* ---- rem.c ---------------------------------------------------------------------------------- */
/* C's fmod of floats or doubles, or of vectors of them; exact. */
Lv cg_float_rem(Ll *l, Lv x, Lv y);

/* ---- quotient.c ----------------------------------------------------------------------------- */
/* Of integers of up to 32 bits on GPUs: the quotient or the remainder; by 0 it is 0. */
Lv cg_quotient(Ll *l, Elem e, Lv a, Lv b, bool want_rem);

/* ---- math.c --------------------------------------------------------------------------------- */
/* ScalarOps.math for hosts: straight-line polynomials with a stated ulp bound, any vector width. */
extern const ScalarOps scalar_ops_host;

/* ---- host/ ------------------------------------------------------------------------------------ */
/* Fills out->stage obj (and llir, asm), symbol, scratch. The function is
 *     void symbol(const uint64_t *params, const int32_t pid[3], const int32_t grid[3], char *scratch)
 * with one 8-byte slot a parameter (pointers as addresses, scalars by their bits). */
void cg_host(Func *f, Binary *out);

/* ---- maps.c --------------------------------------------------------------------------------- */
/* The TENSOR_MAPs of f in order, as a launch makes them, into out. */
void cg_maps(const Func *f, Binary *out);

/* ---- simt/ -------------------------------------------------------------------------------------- */
/* The func has layouts. Stage ptx; for EMU with the lines of the kernel. Fills shared, symbol. */
void cg_simt(Func *f, Binary *out);

#endif
