/* local.h: loops over big values, a chunk of registers at a time. */
#ifndef TEGULA_LOCAL_H
#define TEGULA_LOCAL_H

#include "codegen/simt/simt.h"

/* A loop; its body has some register bits as constants, the others count. */
typedef struct Chunks {
    uint32_t regs;     /* the bits that are constants in the body */
    int bit[MAX_BITS]; /* register bit that bit i of the counter stands for */
    int n;
    Lv i; /* the counter */
    LLVMBasicBlockRef body;
    Map memo; /* Place -> Lv: what the body has computed */
} Chunks;

/* Opens a loop over registers, whose numbers have so many bits. Those of `together` are
 * constants, others from the lowest up, those of `first` before the rest; what counts does
 * so in that order, too. */
Chunks sim_chunks(Sim *s, int bits, uint32_t together, uint32_t first);
void sim_chunks_end(Sim *s, Chunks *c);
/* v's registers in the body, by their constant part; others are NULL. */
Lv *sim_chunk(Sim *s, Chunks *c, const Val *v);
void sim_chunk_keep(Sim *s, Chunks *c, const Val *v, Lv *regs); /* to v's place */

/* Room for n elements in the thread's memory, for all of the kernel. */
Lv sim_local_array(Sim *s, const Type *t, int n);
Lv sim_local_load(Sim *s, const Type *t, Lv array, Lv at);
void sim_local_store(Sim *s, const Type *t, Lv array, Lv at, Lv x);

#endif
