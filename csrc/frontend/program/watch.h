/* watch.h: what watch.c, watch_object.c, watch_code.c and opaque.c share. All functions of type int: 0, or -1 with an
 * exception. */
#ifndef TEGULA_WATCH_H
#define TEGULA_WATCH_H

#include "frontend/frontend.h"

typedef struct Watch {
    const FeEnv *env;
    FeCaptures *to;
    PyObject *seen;    /* set of addresses of what was looked into */
    PyObject *opcodes; /* opcode.opmap; NULL until some code is read */
    int depth;
    bool is_whole;            /* Python code may do anything with what it finds */
    bool has_numpy, has_text; /* prints arrays, maybe: as NumPy is set to */
    bool is_opaque;           /* and reads what cannot be watched: opaque.c */
} Watch;

/* ---- watch.c ------------------------------------------------------------------------------- */
/* An exception that says "there is no such thing" is cleared: 0. */
int watch_forget(void);
/* o.name, or NULL: without an exception where there is none. */
PyObject *watch_look(PyObject *o, const char *name);
/* 1: seen before; 0: noted now. */
int watch_is_seen(Watch *w, PyObject *o);
bool watch_is_enough(Watch *w);
/* The dict of an object or of a class that was made by a class statement; new reference, or NULL. Of a
 * class it is the dict itself, not the proxy that __dict__ gives. */
PyObject *watch_dict_of(PyObject *o);
/* "Cfg.N": of a class, and of an object of one. */
PyObject *watch_attribute_label(PyObject *o, PyObject *name);
/* Notes a copy, whose reference it takes. */
int watch_copy(Watch *w, FeWatch kind, PyObject *home, PyObject *copy, PyObject *label);
int watch_dict(Watch *w, PyObject *dict, PyObject *label);
/* "Cfg.": of a class; NULL: it has no name. */
PyObject *watch_class_label(PyObject *cls);
/* What o holds that may change in place. */
int watch_contents(Watch *w, PyObject *o, PyObject *label);
int watch_part(Watch *w, PyObject *o, const char *name, PyObject *label);
/* A name of one of our modules. */
int watch_ours(Watch *w, PyObject *dict, PyObject *name, PyObject *v);
int watch_attribute(Watch *w, PyObject *o, PyObject *name);

/* ---- watch_object.c ------------------------------------------------------------------------ */
/* The bases of a class that has some but object. */
int watch_bases(Watch *w, PyObject *cls, PyObject *mro, PyObject *label);
int watch_class(Watch *w, PyObject *cls);
/* Is it what a class has for a name of its __slots__? */
bool watch_is_slot(PyObject *found);
int watch_slot(Watch *w, PyObject *o, PyObject *name, PyObject *label);
/* What somebody has set of a function, a kernel or the like. */
int watch_attributes(Watch *w, PyObject *o);
int watch_object(Watch *w, PyObject *o);

/* ---- watch_code.c -------------------------------------------------------------------------- */
/* What o, which Python code may call, can read. */
int watch_callable(Watch *w, PyObject *o);

/* ---- opaque.c ------------------------------------------------------------------------------ */
/* Is o, a function, class or module, of a module for which `is` holds? is_odd: has it none? */
bool is_of(PyObject *o, bool (*is)(PyObject *name), bool is_odd);
bool is_known_name(PyObject *name);
bool is_installed_name(PyObject *name);
/* Of Python's library, of a package, or of no module: nobody edits it. */
bool is_known_object(PyObject *o);
/* Do the functions of its module answer by their arguments alone? */
bool is_pure_object(PyObject *o);
bool is_our_object(PyObject *o);
bool is_our_dict(PyObject *dict);
bool is_ours_module(PyObject *o);
/* A module whose names nobody here rebinds. */
bool is_library(PyObject *o);
bool is_function(PyObject *o);
/* Does a function of that module, of Python's library or NumPy, answer by its arguments alone? */
bool is_pure_module(PyObject *name);
/* The metaclass of enums, whose answers follow from the members? */
bool is_enum(PyObject *cls);
/* __name__, __doc__, ..: kept by C where no dict has it. */
bool is_dunder(PyObject *name);
/* Does a function of NumPy's read files, or what somebody has set? */
bool is_opaque_of_numpy(PyObject *name);
/* Is the name one of Python's own functions that find what they are not given? */
bool is_opaque_builtin(PyObject *name);
/* Has an object of the class state that is neither in its dict nor in slots? */
bool is_opaque_class(PyObject *cls);
/* A function of C's: does it read more than its arguments? */
bool is_opaque_cfunction(PyObject *o);

#endif
