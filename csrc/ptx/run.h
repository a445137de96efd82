/* run.h: assembly that was read (asm.c), as run.c runs it. */
#ifndef TEGULA_PTX_RUN_H
#define TEGULA_PTX_RUN_H

#include "ptx/asm.h"
#include "ptx/parse.h"

struct PtxAsm {
    Pool *pool; /* holds all of it */
    PtxForm form;
    Reg *reg; /* of $0, $1 .. */
    const Func *func;
    uint8_t *image; /* the registers at the start: constants, else 0 */
    bool meets;     /* threads do, or have shared memory: one pack at a time */
};

#endif
