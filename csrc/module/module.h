/* module.h: the face to Python: types and functions of tegula._core. */
#ifndef TEGULA_MODULE_H
#define TEGULA_MODULE_H

#include "module/state.h"

/* ---- kernel.c ------------------------------------------------------------------------ */
extern PyType_Spec kernel_spec;

#endif
