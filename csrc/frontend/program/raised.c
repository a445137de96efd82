/* raised: an exception of Python's, met while a kernel is read, becomes an error of the kernel.
 *
 * The kernel's line is where it happened as its author sees it. A function of constants that
 * raised has a line of its own, which the traceback knows: the help names it.
 */
#include "frontend/fe.h"

#define ROOM 1024
#define LONG (4 * ROOM)

/* Takes o, new or NULL; its text, as far as there is room. */
static void
put_text(char *to, PyObject *o)
{
    PyObject *s = o ? PyObject_Str(o) : NULL;
    const char *text = s ? PyUnicode_AsUTF8AndSize(s, NULL) : NULL;
    snprintf(to, ROOM, "%s", text ? text : "");
    DROP(s, o);
    PyErr_Clear();
}

/* o.a.b, new or NULL. */
static PyObject *
attribute(PyObject *o, const char *a, const char *b)
{
    PyObject *first = PyObject_GetAttrString(o, a);
    PyObject *r = first ? PyObject_GetAttrString(first, b) : NULL;
    Py_XDECREF(first);
    return r;
}

/* Does the entry tb of a traceback stand in Tegula itself, cdiv("a") say? */
static bool
is_inner(PyObject *tb)
{
    PyObject *globals = attribute(tb, "tb_frame", "f_globals");
    PyObject *name = globals ? PyMapping_GetItemString(globals, "__name__") : NULL;
    const char *s = fe_utf8(name);
    bool inner = s && !strncmp(s, "tegula", 6) && (!s[6] || s[6] == '.');
    DROP(name, globals);
    PyErr_Clear();
    return inner;
}

/* The innermost place of the traceback, a new reference or NULL: NULL as well where that is
 * in Tegula, which is not what the user can mend. */
static PyObject *
innermost(PyObject *trace)
{
    PyObject *tb = Py_XNewRef(trace);
    while (tb) {
        PyObject *next = PyObject_GetAttrString(tb, "tb_next");
        if (!next || next == Py_None) {
            Py_XDECREF(next);
            break;
        }
        Py_DECREF(tb);
        tb = next;
    }
    PyErr_Clear();
    if (!tb || !is_inner(tb))
        return tb;
    Py_DECREF(tb);
    return NULL;
}

/* Where the function raised, as a help; without a place: empty. */
static void
put_place(char *to, PyObject *trace)
{
    PyObject *tb = innermost(trace);
    to[0] = 0;
    if (!tb)
        return;
    char file[ROOM], name[ROOM], line[ROOM];
    PyObject *code = attribute(tb, "tb_frame", "f_code");
    put_text(file, code ? PyObject_GetAttrString(code, "co_filename") : NULL);
    put_text(name, code ? PyObject_GetAttrString(code, "co_name") : NULL);
    put_text(line, PyObject_GetAttrString(tb, "tb_lineno"));
    if (*file && *name && *line)
        snprintf(to, LONG, "raised at %s:%s in %s()", file, line, name);
    Py_XDECREF(code);
    Py_DECREF(tb);
    PyErr_Clear();
}

void
fe_raise(Fe *f, const Loc *loc)
{
    PyObject *type, *value, *trace;
    if (!PyErr_Occurred())
        err_at(f->c, loc, VALUE, "a Python call failed without an exception");
    if (fe_is_grave() || f->c->raw_errors)
        err_at(f->c, loc, VALUE, "interrupted"); /* stays set for the module */
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    /* Into buffers of our own: nothing may be held when the arena raises. */
    char kind[ROOM], text[ROOM], msg[LONG], place[LONG];
    put_text(kind, type ? PyObject_GetAttrString(type, "__name__") : NULL);
    put_text(text, Py_XNewRef(value));
    put_place(place, trace);
    snprintf(msg, sizeof msg, "%s: %s", *kind ? kind : "error", text);
    DROP(type, value, trace);
    if (*place)
        err_help(f->c, "%s", place);
    err_at(f->c, loc, VALUE, msg);
}
