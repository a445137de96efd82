/* local.h: big values.
 *
 *     local.c     where they lie, and until when
 *     chunks.c    loops over them, a chunk of registers at a time
 */
#ifndef TEGULA_LOCAL_H
#define TEGULA_LOCAL_H

#include "codegen/simt/simt.h"

/* A piece of the thread's memory; values that do not meet share it. */
typedef struct LocalArray {
    Lv at;
    int64_t bytes;
    bool is_free;
} LocalArray;
typedef VEC(const Val *) Values;

struct Local {
    Lv *home; /* by id, of values that are kept: the place; NULL: none yet */
    VEC(LocalArray) arrays;
    Map dies;             /* Op -> Values: nobody asks for their places after it */
    const Block **seen;   /* by id: of find_deaths */
    const Val **gathered; /* big values that sim_val has read for the current op */
    int n_gathered;
};

/* Does a loop that asks for v compute it from v's operands? */
bool sim_is_made_again(const Sim *s, const Val *v);

/* A loop; its body has some register bits as constants, the others count. */
typedef struct Chunks {
    uint32_t regs;     /* the bits that are constants in the body */
    int bit[MAX_BITS]; /* register bit that bit i of the counter stands for */
    int n;
    Lv i; /* the counter, from 0 up */
    LLVMBasicBlockRef body;
    Map memo; /* Place -> Lv: what the body has computed */
} Chunks;

/* A loop over the registers of a value or, where that is not big, all of them at once. */
typedef struct Pieces {
    Chunks c; /* regs alone, if there is no loop */
    bool is_loop;
} Pieces;
Pieces sim_pieces(Sim *s, const Val *v, uint32_t together);
void sim_pieces_end(Sim *s, Pieces *p);
bool sim_in_piece(const Pieces *p, int reg);
Lv *sim_piece(Sim *s, Pieces *p, const Val *v); /* v's registers */
/* sim_index of that register or, in a loop, of what it stands for. */
Lv sim_piece_index(Sim *s, Pieces *p, const Layout *l, int reg);
/* Room for the registers of a result, which are kept when they are there. */
Lv *sim_piece_result(Sim *s, const Pieces *p, const Val *v);
void sim_piece_keep(Sim *s, Pieces *p, const Val *v, Lv *regs);

void sim_compute_big(Sim *s, const Val *v); /* element by element, into its place */
void sim_store_big(Sim *s, const Op *o);    /* the LOCAL_STORE of a big value */
/* v's place; of what has one. */
Lv sim_local_home(Sim *s, const Val *v);
Lv sim_local_load(Sim *s, const Type *t, Lv array, Lv at);
void sim_local_store(Sim *s, const Type *t, Lv array, Lv at, Lv x);

#endif
