/* pieces.h: blocks that an op reads from local memory, or writes to it, in a loop over registers; see pieces.c. */
#ifndef TEGULA_PIECES_H
#define TEGULA_PIECES_H

#include "codegen/simt/simt.h"

/* A loop over a block's registers or, where that does not lie in local memory, all of them at once. */
typedef struct Pieces {
    uint32_t regs; /* the bits of a register's number that are constants in the body */
    int bit[MAX_BITS]; /* the one that bit i of the counter stands for */
    int n;             /* 0: no loop */
    Lv i;              /* the counter, from 0 up */
    LLVMBasicBlockRef body;
} Pieces;

/* Of v and, unless NULL, of `beside`. Bits of `together` are constants. */
Pieces sim_pieces(Sim *s, const Val *v, const Val *beside, uint32_t together);
void sim_pieces_end(Sim *s, Pieces *p);
bool sim_in_piece(const Pieces *p, int reg);
Lv *sim_piece(Sim *s, Pieces *p, const Val *v); /* v's registers, those of the piece */
/* sim_index of that register or, in a loop, of what it stands for. */
Lv sim_piece_index(Sim *s, Pieces *p, const Layout *l, int reg);
/* Room for the registers of a result, which are kept when they are there. */
Lv *sim_piece_result(Sim *s, const Pieces *p, const Val *v);
void sim_piece_keep(Sim *s, Pieces *p, const Val *v, Lv *regs);

#endif
