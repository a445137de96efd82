/* raise: a Comp's error becomes an exception with filename, line, text and help.
 *
 * The classes live in tegula/errors.py, because what can be raised is part of the Python
 * interface; tegula.errors.compile_error picks one from the row of errors.def.
 */
#define PY_SSIZE_T_CLEAN
#include "module/state.h"

#include <stdlib.h>

/* "out of resource: NAME, required: R, limit: L" -> OutOfResources(R, L, NAME), so that an
 * autotuner can tell a configuration that does not fit from a kernel that is wrong. */
static PyObject *
out_of_resources(PyObject *errors, const char *msg)
{
    const char *name = strchr(msg, ':'), *req = strstr(msg, ", required: "),
               *limit = strstr(msg, ", limit: ");
    if (!name || !req || !limit || name + 2 > req)
        return PyErr_Format(PyExc_SystemError, "malformed resource error: %s", msg), NULL;
    return PyObject_CallMethod(errors, "OutOfResources", "LLs#",
                               strtoll(req + strlen(", required: "), NULL, 10),
                               strtoll(limit + strlen(", limit: "), NULL, 10), name + 2,
                               (Py_ssize_t)(req - (name + 2)));
}

static const char *const class_name[] = {
    [CLASS_USER] = "USER",
    [CLASS_LIMIT] = "LIMIT",
    [CLASS_BUG] = "BUG",
};

static PyObject *
compile_error(PyObject *errors, Comp *c)
{
    const Error *e = &c->err;
    const char *text = err_render(c, e);
    if (!text)
        return PyErr_NoMemory();
    const char *file = e->loc ? e->loc->file : NULL;
    if (!file)
        return PyObject_CallMethod(errors, "compile_error", "ssssOOOz",
                                   class_name[err_info[e->code].cls],
                                   err_info[e->code].name, text, e->msg, Py_None, Py_None,
                                   Py_None, e->help);
    return PyObject_CallMethod(errors, "compile_error", "sssssiiz",
                               class_name[err_info[e->code].cls],
                               err_info[e->code].name, text, e->msg, file, e->loc->line,
                               e->loc->col + 1, e->help);
}

void *
raise_compile_error(State *st, Comp *c)
{
    (void)st;
    if (PyErr_Occurred())
        return NULL;
    if (err_info[c->err.code].cls == CLASS_MEMORY)
        return PyErr_NoMemory();
    PyObject *errors = PyImport_ImportModule("tegula.errors");
    if (!errors)
        return NULL;
    PyObject *exc = c->err.code == ERR_RESOURCES ? out_of_resources(errors, c->err.msg)
                                                 : compile_error(errors, c);
    Py_DECREF(errors);
    if (exc) {
        PyErr_SetObject((PyObject *)Py_TYPE(exc), exc);
        Py_DECREF(exc);
    }
    return NULL;
}
