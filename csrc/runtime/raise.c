/* raise: a Comp's error becomes an exception with filename, line, text and help.
 *
 * The classes live in tegula/errors.py, because what can be raised is part of the Python
 * interface; tegula.errors.compile_error picks one from the row of errors.def.
 */
#include "runtime/state.h"

static PyObject *
errors_module(void)
{
    return PyImport_ImportModule("tegula.errors");
}

/* Raises the exception that making it returned. Steals exc; always NULL. */
static void *
raise_it(PyObject *exc)
{
    if (exc) {
        PyErr_SetObject((PyObject *)Py_TYPE(exc), exc);
        Py_DECREF(exc);
    }
    return NULL;
}

/* where: the place in the source, or NULL. A note, because the text is what others parse. */
static void *
raise_resources_at(int64_t required, int64_t limit, const char *name, const char *where)
{
    PyObject *errors = errors_module();
    if (!errors)
        return NULL;
    PyObject *exc = PyObject_CallMethod(errors, "OutOfResources", "LLs",
                                        (long long)required, (long long)limit, name);
    Py_DECREF(errors);
    if (exc && where) {
        PyObject *done = PyObject_CallMethod(exc, "add_note", "s", where);
        if (!done)
            Py_CLEAR(exc);
        Py_XDECREF(done);
    }
    return raise_it(exc);
}

void *
raise_out_of_resources(int64_t required, int64_t limit, const char *name)
{
    return raise_resources_at(required, limit, name, NULL);
}

void *
raise_error(const char *cls, const char *text)
{
    PyObject *errors = errors_module();
    if (!errors)
        return NULL;
    PyObject *exc = PyObject_CallMethod(errors, cls, "s", text);
    Py_DECREF(errors);
    return raise_it(exc);
}

/* "out of resource: NAME, required: R, limit: L" -> OutOfResources(R, L, NAME), so that an
 * autotuner can tell a configuration that does not fit from a kernel that is wrong. */
static void *
raise_resources(Comp *c, const char *msg)
{
    char name[64];
    long long required, limit;
    if (sscanf(msg, "out of resource: %63[^,], required: %lld, limit: %lld", name,
               &required, &limit) != 3)
        return PyErr_Format(PyExc_SystemError, "malformed error: %s", msg), NULL;
    const char *where = c->err.loc ? err_render(c, &c->err) : NULL;
    return raise_resources_at(required, limit, name, where);
}

static const char *const class_name[] = {
    [CLASS_USER] = "USER",
    [CLASS_LIMIT] = "LIMIT",
    [CLASS_BUG] = "BUG",
};

/* The calls that inlined the place, the innermost first: a list of (function, file, line,
 * offset), the last two from 1. New reference, or NULL with an exception. */
static PyObject *
callers_of(const Loc *l)
{
    PyObject *list = PyList_New(0);
    for (l = l ? l->caller : NULL; list && l; l = l->caller) {
        if (l->is_library)
            continue;
        list_take(&list, Py_BuildValue("(ssii)", l->func ? l->func : "kernel", l->file,
                                       l->line, l->col + 1));
    }
    return list;
}

void *
raise_compile_error(State *st, Comp *c)
{
    (void)st;
    const Error *e = &c->err;
    const ErrInfo *info = &err_info[e->code];
    if (PyErr_Occurred())
        return NULL;
    if (info->cls == CLASS_MEMORY)
        return PyErr_NoMemory();
    if (e->code == ERR_RESOURCES)
        return raise_resources(c, e->msg);
    if (e->code == ERR_PTXAS)
        return raise_error("PTXASError", e->msg);
    const char *text = err_render(c, e);
    if (!text)
        return PyErr_NoMemory();
    PyObject *errors = errors_module();
    if (!errors)
        return NULL;
    const Loc *l = e->loc;
    PyObject *callers = callers_of(l);
    if (!callers)
        return Py_DECREF(errors), NULL;
    PyObject *exc = l ? PyObject_CallMethod(errors, "compile_error", "sss(siiiO)ssiiz",
                                            class_name[info->cls], info->name, text,
                                            l->func ? l->func : "kernel", l->col,
                                            l->end_line, l->end_col, callers, e->msg,
                                            l->file, l->line, l->col + 1, e->help)
                      : PyObject_CallMethod(errors, "compile_error", "sssOsOOOz",
                                            class_name[info->cls], info->name, text,
                                            Py_None, e->msg, Py_None, Py_None, Py_None,
                                            e->help);
    Py_DECREF(callers);
    Py_DECREF(errors);
    return raise_it(exc);
}
