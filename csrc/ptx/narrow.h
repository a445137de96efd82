/* narrow.h: forms of add, min, max and cvt whose numbers are narrower than their register. */
#ifndef TEGULA_PTX_NARROW_H
#define TEGULA_PTX_NARROW_H

#include "ptx/ptx.h"

typedef enum PairOp { PAIR_ADD, PAIR_MIN, PAIR_MAX } PairOp;
/* Is it .u16x2, .s16x2, or has it .relu? Then it is decoded. */
bool dec_pairs(Dec *d, PairOp op);
/* cvt.pack, and cvt.rs: random.c */
void dec_pack(Dec *d);
void dec_random(Dec *d);

#endif
