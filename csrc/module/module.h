/* module.h: the face to Python: types and functions of tegula._core. */
#ifndef TEGULA_MODULE_H
#define TEGULA_MODULE_H

#include "runtime/launch.h"

extern PyType_Spec kernel_spec, launcher_spec, compiled_spec, language_spec;

/* ---- config.c ------------------------------------------------------------------------ */
/* configure(**knobs): what python/tegula/knobs.py tells. */
PyObject *configure(PyObject *mod, PyObject *args, PyObject *kwargs);
/* ---- tuner.c ------------------------------------------------------------------------- */
/* fingerprint(args, kwargs, keys, places): what an autotuner's choice depends on. */
PyObject *fingerprint(PyObject *mod, PyObject *all);

/* ---- cuda_utils.c -------------------------------------------------------------------- */
PyObject *cuda_load_binary(PyObject *mod, PyObject *args);
PyObject *cuda_unload_binary(PyObject *mod, PyObject *args);
PyObject *cuda_count_clusters(PyObject *mod, PyObject *args);
PyObject *cuda_printf_size(PyObject *mod, PyObject *size);
PyObject *cuda_fill_tma(PyObject *mod, PyObject *args);

void config_init(Config *c);
void config_free(Config *c);

/* ---- launcher.c ---------------------------------------------------------------------------------- */
/* kernel[grid] and compiled[grid]: the callable. NULL with an exception. */
PyObject *launcher_of_kernel(Kernel *k, PyObject *grid);
PyObject *launcher_of_variant(Compiled *v, PyObject *grid, bool any_constants);
/* Starts *l, on the stack, for one launch of k: borrows. 0, or -1 with an exception. */
int launcher_init(Launcher *l, Kernel *k, PyObject *grid);

#endif
