/* foreign.h: code of the user's libraries is made to fit the target. link.c asks; foreign.c
 * walks over the code, c_library.c has the functions of the C library that it may call. */
#ifndef TEGULA_FOREIGN_H
#define TEGULA_FOREIGN_H

#include "codegen/codegen.h"

enum { PTX_KERNEL = 71 }; /* a calling convention, as LLVM counts them */

/* What code is made for, as messages call it. */
const char *foreign_target(const Ll *l);
/* Option enable_reflect_ftz: do exp, exp2 and rsqrt of float32 flush subnormal numbers on a
 * GPU, and does a library that asks for "__CUDA_FTZ"? */
bool foreign_flushes(const Ll *l);
/* A function that no library needs to bring along: of C, of CUDA's run time. */
bool foreign_is_known(Ll *l, const char *name);
/* What is reached from fn becomes what this target can run; or it is an error at o. `seen` has
 * the functions that have been looked at. */
void foreign_adapt(Ll *l, Map *seen, const Op *o, Lv fn);

/* ---- c_library.c ---- */
/* The types of a function of the C library, the result's first: T float or double, as *real
 * says by f or d, i and l integers of 32 and 64 bits, p a pointer, v nothing. NULL: unknown. */
const char *foreign_types(const char *name, char *real);
const void *foreign_address(const char *name);

#endif
