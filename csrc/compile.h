/* compile.h: what goes into a compile and what comes out.
 *
 *     A  with the GIL       frontend: AST -> tile IR             (comp_run of its own)
 *     B  without it         passes, codegen, LLVM: IR -> Binary  (comp_run of its own)
 *     C  with it            the cache keeps the Binary, or the error is raised
 */
#ifndef TEGULA_COMPILE_H
#define TEGULA_COMPILE_H

#include "codegen/binary.h"

/* What the frontend made of a kernel, in the Comp's arena. */
typedef struct Lowered {
    struct Func *func;
    const char *identity; /* equal texts, options and answers: equal code */
    double ms;
} Lowered;

/* comp_run itself, or what does the same elsewhere: runtime/aside.h lets go of the GIL and runs
 * it on a thread of its own. fn may get another Comp than c; what it reads lives in c's arena. */
typedef bool CompRun(Comp *c, void (*fn)(Comp *c, void *data), void *data);

/* Phases A and B of compile.c, each in a comp_run of its own, of which B's is `run`. c has
 * its options and dump; args as fe_kernel takes them (frontend/frontend.h); *out of B is zeroed
 * by the caller. False: c->err says why (or a Python exception is set, and then B may have left
 * c empty). */
struct FeEnv;
struct FeFunction;
struct ArgSpec;
bool compile_front(Comp *c, const struct FeEnv *env, struct FeFunction *f,
                   const struct ArgSpec *args, Lowered *out);
bool compile_back(Comp *c, Lowered *lowered, CompRun *run, Binary *out);
/* B of what was kept as text: the frontend's tile IR with its places (lowered_text). */
bool compile_text(Comp *c, const char *text, CompRun *run, Binary *out);
/* That text, in c's arena; NULL: c->err says why. To be asked for before B changes the IR. */
const char *lowered_text(Comp *c, const Lowered *lowered);
/* Phase A alone: the frontend's tile IR as text in c's arena; NULL: as above. */
const char *compile_lower(Comp *c, const struct FeEnv *env, struct FeFunction *f,
                          const struct ArgSpec *args);

/* assemble.c: adds the machine code of out's PTX, where there is an assembler. False: that
 * runs one wgmma after the other. */
bool compile_ptx(struct Func *f, Binary *out);
/* The level of optimisation, "-O0", at which ptxas did not die of it; NULL: its own, or the one asked for. */
const char *binary_lower_level(const Binary *b);
/* Assembles other PTX of the same; false: out is as it was, because this one spills more. */
bool assemble_other(Comp *c, Binary *out, const char *ptx, int most_spilled);
/* The same PTX with registers dealt for n blocks of a multiprocessor; 0: as ptxas likes. True: it spills no
 * more than so many bytes, and is kept. */
bool compile_for_blocks(Comp *c, Binary *out, int n, int most_spilled);

#endif
