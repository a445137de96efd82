/* dot.h: what the two ways of doing a dot share. */
#ifndef TEGULA_DOT_H
#define TEGULA_DOT_H

#include "codegen/simt/simt.h"

/* dot.c: what is summed in; the accumulator's registers as that, and back. */
Elem sim_work_elem(Elem acc);
Lv *sim_open_acc(Sim *s, const Op *o);
void sim_close_acc(Sim *s, const Op *o, Lv *acc);
/* dot_fma.c */
void sim_fma_dot(Sim *s, const Op *o);

#endif
