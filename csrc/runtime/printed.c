/* printed: what a kernel prints goes where print() goes, and stands behind what went there before.
 *
 *     sys.stdout is file 1           C's stdout writes as the kernel runs, between two flushes
 *     a notebook, redirect_stdout,   the lines are kept in memory; the thread that launched hands
 *     doctest, pytest                them on as it looks after signals, and at the end
 *
 * Programs run without the GIL on threads that Python does not know, so none of them can call a
 * write() of Python's.
 */
#include "runtime/launch.h"

#include <stdlib.h>
#include <unistd.h>

/* Is sys.stdout, once it is flushed, the file that C writes to? -1 with an exception. */
static int
is_same_file(void)
{
    PyObject *to_b = PySys_GetObject("stdout");
    if (!to_b || to_b == Py_None)
        return 1;
    PyObject *to = Py_NewRef(to_b), *done = PyObject_CallMethod(to, "flush", NULL);
    bool is = done && PyObject_AsFileDescriptor(to) == STDOUT_FILENO;
    Py_XDECREF(done);
    Py_DECREF(to);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Clear(); /* of an object that has neither */
    return is;
}

int
printed_begin(Printed *p, bool is_live)
{
    int is_same = is_same_file();
    *p = (Printed){.out = stdout};
    if (is_same < 0)
        return -1;
    if (is_live && is_same)
        return 0;
    p->out = open_memstream(&p->text, &p->size);
    return p->out ? 0 : (PyErr_NoMemory(), -1);
}

int
printed_more(Printed *p)
{
    if (p->out == stdout)
        return fflush(stdout), 0;
    flockfile(p->out); /* programs go on */
    fflush(p->out);
    PyObject *text = p->size
                         ? PyUnicode_DecodeUTF8(p->text, (Py_ssize_t)p->size, "replace")
                         : NULL;
    rewind(p->out);
    funlockfile(p->out);
    PyObject *to = text ? Py_XNewRef(PySys_GetObject("stdout")) : NULL;
    if (to && to != Py_None)
        Py_XDECREF(PyObject_CallMethod(to, "write", "O", text));
    DROP(to, text);
    return PyErr_Occurred() ? -1 : 0;
}

int
printed_end(Printed *p, int failed)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    int r = printed_more(p);
    if (failed) {
        PyErr_Clear();
        PyErr_Restore(type, value, trace);
    }
    if (p->out != stdout) {
        fclose(p->out);
        free(p->text);
    }
    return failed ? failed : r;
}
