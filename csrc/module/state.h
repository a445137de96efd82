/* state.h: what one import of the module keeps. Two imports give two of these.
 *
 * The Python objects are rows of state.def; what is not Python follows them. A pointer to the
 * State may be kept by any object whose type was made by this module: the type holds the
 * module, the module holds the State.
 */
#ifndef TEGULA_STATE_H
#define TEGULA_STATE_H

#include <Python.h>

#include "base/base.h"

typedef struct State {
#define STATE(name, make) PyObject *name;
#include "module/state.def"
#undef STATE
    PyObject *language;     /* tegula.language; NULL until a compile needs it; owned */
    size_t fail_after;      /* tests: which allocation of the next compiles fails; 0: none */
} State;

/* ---- raise.c ------------------------------------------------------------------------- */
/* Turns what comp_run caught into an exception (unless one is set already: a call into
 * Python failed). Always NULL, so that callers return it. */
void *raise_compile_error(State *st, Comp *c);

/* ---- module.c ------------------------------------------------------------------------ */
/* tegula.language, imported at first use; borrowed, or NULL with an exception. */
PyObject *state_language(State *st);

#endif
