/* run.h: assembly that was read (asm.c), and a run of it. */
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

/* One run of it. */
typedef struct PtxThread {
    Lanes lanes; /* first */
    PtxRun *r;
    char *err;
    int64_t n_left; /* instructions */
    /* Under a mask: of each lane's pack, the first element that is on. */
    int64_t first_on[LANES];
    jmp_buf *stop;
} PtxThread;

/* owner.c */
extern const Owner ptx_owner;
uint64_t ptx_special(const PtxRun *r, int which); /* the value of a special register */

#endif
