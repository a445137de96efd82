/* foreign.h: code of a GPU's library on a host. link.c asks; foreign.c walks over the code,
 * foreign_math.c knows what NVVM's intrinsics and CUDA's libdevice compute. */
#ifndef TEGULA_FOREIGN_H
#define TEGULA_FOREIGN_H

#include "codegen/codegen.h"

enum {
    PTX_KERNEL = 71,
    PTX_DEVICE = 72
}; /* calling conventions, as LLVM counts them */

/* The string attribute of functions that come from code for a GPU. */
#define FOREIGN_GPU "tegula-gpu"

/* What code is made for, as messages call it. */
const char *foreign_target(const Ll *l);
/* Option enable_reflect_ftz: do exp, exp2 and rsqrt of float32 flush subnormal numbers on a
 * GPU, and does a library that asks for "__CUDA_FTZ"? */
bool foreign_flushes(const Ll *l);
/* A function that no library needs to bring along: of C, of libdevice, of CUDA's run time. */
bool foreign_is_known(Ll *l, const char *name);
/* What is reached from fn becomes what this target can run; or it is an error at o. `seen` has
 * the functions that have been looked at. */
void foreign_adapt(Ll *l, Map *seen, const Op *o, Lv fn);

/* ---- foreign_math.c ---- */
/* The value of NVVM's intrinsic ("add.rz.f", without "llvm.nvvm.") on a host; NULL: unknown. The
 * builder stands where it is wanted. */
Lv foreign_nvvm(Ll *l, const char *name, Lt ret, Lv *x, int n);
/* The same of a function of libdevice, "__nv_expf". */
Lv foreign_libdevice(Ll *l, const char *name, Lt ret, Lv *x, int n);
bool foreign_has_libdevice(const char *name);
/* Is it a function of the C library that is called as what it is? */
bool foreign_fits(Ll *l, const char *name, Lt ret, Lv *x, int n);

/* ---- foreign_asm.c ---- */
/* The value of a call of inline PTX, run by csrc/ptx; NULL: *why says why not. */
Lv foreign_assembly(Ll *l, Lv call, const Loc *at, const char **why);

/* ---- runtime/foreign_calls.c ---- */
/* What such code may call on a host, of the C library and of ours: its types, the result's
 * first: T float or double, as *real says by f or d, i and l integers of 32 and 64 bits, p a
 * pointer, v nothing. NULL: unknown. */
const char *foreign_types(const char *name, char *real);

#endif
