/* layouts.h: what assign_layouts and settle_layouts share (assign_layouts.c). */
#ifndef TEGULA_LAYOUTS_H
#define TEGULA_LAYOUTS_H

#include "passes/passes.h"

/* Layouts as values have them: registers never repeat an element. */
const Layout *layouts_slice(Comp *c, const Layout *l, int axis);
/* What the operand of expand_dims, broadcast, trans, reshape must have for o's result to
 * have layout l without a move; NULL: o is none of these. */
const Layout *layouts_operand(Comp *c, const Op *o, const Layout *l);

#endif
