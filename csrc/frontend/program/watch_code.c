/* watch_code: what a Python function may read, by its bytecode: globals, with the attributes it asks of
 * them at once, cells, defaults, and the same of functions and classes found so (watch.c).
 */
#include "frontend/program/watch.h"

PyObject *
fe_code_of(PyObject *fn)
{
    static const char *const parts[] = {"__code__", "__defaults__", "__kwdefaults__"};
    PyObject *all = PyTuple_New((Py_ssize_t)COUNT(parts));
    for (size_t i = 0; all && i < COUNT(parts); i++) {
        PyObject *v = PyObject_GetAttrString(fn, parts[i]);
        if (!v || PyTuple_SetItem(all, (Py_ssize_t)i, v))
            Py_CLEAR(all);
    }
    return all;
}

typedef struct Code {
    PyObject *names, *globals; /* borrowed */
    const unsigned char *at;
    Py_ssize_t n;
    /* -1: there is none */
    long load_global, load_name, load_attr, load_method, import_name, extended,
        format[3];
} Code;

static long
opcode(Watch *w, const char *name)
{
    PyObject *o_b = PyDict_GetItemString(w->opcodes, name);
    return o_b ? PyLong_AsLong(o_b) : -1;
}

static int
read_opcodes(Watch *w, Code *c)
{
    if (!w->opcodes) {
        PyObject *m = PyImport_ImportModule("opcode");
        w->opcodes = m ? PyObject_GetAttrString(m, "opmap") : NULL;
        Py_XDECREF(m);
        if (!w->opcodes)
            return -1;
    }
    c->load_global = opcode(w, "LOAD_GLOBAL");
    c->load_name = opcode(w, "LOAD_NAME");
    c->import_name = opcode(w, "IMPORT_NAME");
    c->load_attr = opcode(w, "LOAD_ATTR");
    c->load_method = opcode(w, "LOAD_METHOD");
    c->extended = opcode(w, "EXTENDED_ARG");
    c->format[0] = opcode(w, "FORMAT_VALUE"); /* up to 3.12 */
    c->format[1] = opcode(w, "FORMAT_SIMPLE");
    c->format[2] = opcode(w, "FORMAT_WITH_SPEC");
    return 0;
}

/* The instruction behind *i, with its argument; steps over caches, whose code is 0. */
static int
next_op(const Code *c, Py_ssize_t *i, long *arg)
{
    *arg = 0;
    for (; *i + 1 < c->n; *i += 2) {
        *arg = *arg << 8 | c->at[*i + 1];
        if (c->at[*i] == c->extended)
            continue;
        if (c->at[*i]) {
            *i += 2;
            return c->at[*i - 2];
        }
        *arg = 0;
    }
    return -1;
}

/* Is a name that no global has perhaps another object than Python's own? An exec may be given
 * globals with a __missing__, or builtins of its own. */
static bool
has_other_names(const Code *c, PyObject *builtins, PyObject *v)
{
    PyObject *own_b = PyDict_GetItemString(c->globals, "__builtins__");
    return !v || !PyDict_CheckExact(c->globals) ||
           (own_b && own_b != builtins && !PyModule_Check(own_b));
}

/* A name that no global has: Python's own, or one that somebody gave it there. A global of that
 * name may come to be. */
static int
watch_builtin(Watch *w, const Code *c, PyObject *name)
{
    PyObject *dict = PyEval_GetBuiltins();
    PyObject *v_b = dict ? PyDict_GetItemWithError(dict, name) : NULL;
    w->is_opaque |= is_opaque_builtin(name) || has_other_names(c, dict, v_b);
    w->has_text |= !PyUnicode_CompareWithASCIIString(name, "str") ||
                   !PyUnicode_CompareWithASCIIString(name, "repr") ||
                   !PyUnicode_CompareWithASCIIString(name, "format");
    int r = fe_capture(w->to, (FeCapture){WATCH_DICT, c->globals, name, NULL, NULL});
    if (r)
        return r;
    r = dict ? fe_capture(w->to, (FeCapture){WATCH_DICT, dict, name, v_b, NULL}) : 0;
    if (!r && v_b && !is_pure_object(v_b))
        r = watch_contents(w, v_b, name);
    return r ? r : watch_forget();
}

static bool
is_numpy(PyObject *m)
{
    PyObject *name = watch_look(m, "__name__");
    const char *s = fe_utf8(name);
    bool is = s && !strncmp(s, "numpy", strlen("numpy"));
    Py_XDECREF(name);
    return is;
}

/* What Python code finds in a module of a library: v, by its name attr. Only of constants and
 * of what answers by its arguments alone is it known that they stay. */
static bool
is_opaque_of_library(PyObject *m, PyObject *v)
{
    if (PyModule_Check(v) || PyLong_CheckExact(v) || PyFloat_CheckExact(v) ||
        PyUnicode_CheckExact(v) || is_pure_object(m))
        return false;
    if (is_ours_module(m))
        return !PyCallable_Check(v) && !is_our_object((PyObject *)Py_TYPE(v));
    return !is_of(v, is_pure_module, false);
}

/* The name of the attribute that the instruction asks for; NULL: it asks for none. */
static PyObject *
attribute_b(const Code *c, int op, long arg)
{
    bool is_attr = op >= 0 && op == c->load_attr;
    if (!is_attr && (op < 0 || op != c->load_method))
        return NULL;
    return PyTuple_GetItem(c->names,
                           is_attr && Py_Version >= 0x030C0000 ? arg >> 1 : arg);
}

/* The attribute of *v that the code asks for at i, if it asks for one at once: *v becomes it.
 * 1; 0: it asks for none; -1. */
static int
follow(Watch *w, const Code *c, Py_ssize_t *i, PyObject **v)
{
    long arg;
    Py_ssize_t at = *i;
    int op = next_op(c, &at, &arg);
    PyObject *name = attribute_b(c, op, arg);
    if (!name)
        return 0;
    PyObject *next = PyObject_GetAttr(*v, name);
    if (!next) {
        w->is_opaque = true; /* it was not there, and may come to be */
        return watch_forget();
    }
    int r = 1;
    if (is_library(*v)) {
        PyObject *dict_b = PyModule_GetDict(*v);
        PyObject *item_b = PyDict_GetItemWithError(dict_b, name);
        FeCapture x = {WATCH_DICT, dict_b, name, item_b, NULL};
        w->is_opaque |= is_opaque_of_library(*v, next) || is_opaque_of_numpy(name);
        w->has_numpy |= is_numpy(*v);
        r = is_our_dict(dict_b) ? watch_ours(w, dict_b, name, item_b)
                                : fe_capture(w->to, x);
        r = r ? -1 : 1;
    } else
        r = watch_attribute(w, *v, name) ? -1 : 1;
    *i = at;
    Py_DECREF(*v);
    *v = next;
    return r;
}

/* The global that LOAD_GLOBAL loads, and the attributes that are asked of it at once. */
static int
watch_global(Watch *w, const Code *c, PyObject *name, Py_ssize_t i)
{
    PyObject *v = Py_XNewRef(PyDict_GetItemWithError(c->globals, name));
    if (!v)
        return PyErr_Occurred() ? watch_forget() : watch_builtin(w, c, name);
    int r = fe_capture(w->to, (FeCapture){WATCH_DICT, c->globals, name, v, NULL});
    bool is_theirs = false; /* a library's, whose contents are nobody's here */
    for (int more = 1; !r && more && !is_theirs &&
                       (PyModule_Check(v) || PyType_Check(v) || is_function(v));) {
        bool was_library = is_library(v);
        more = follow(w, c, &i, &v);
        r = MIN(more, 0);
        is_theirs = was_library && more && !PyModule_Check(v) &&
                    (is_known_object(v) || !(PyType_Check(v) || is_function(v)));
    }
    if (!r)
        r = watch_forget();
    if (!r && !is_theirs)
        r = watch_contents(w, v, name);
    Py_DECREF(v);
    return r;
}

static int
watch_code(Watch *w, PyObject *code, PyObject *globals)
{
    Code c = {.globals = globals};
    PyObject *bytes = PyObject_GetAttrString(code, "co_code"), *consts = NULL;
    c.names = PyObject_GetAttrString(code, "co_names");
    int r = bytes && c.names ? read_opcodes(w, &c) : -1;
    if (!r) {
        c.at = (const unsigned char *)PyBytes_AsString(bytes);
        c.n = PyBytes_Size(bytes);
    }
    for (Py_ssize_t i = 0; !r;) {
        long arg;
        int op = next_op(&c, &i, &arg);
        if (op < 0)
            break;
        PyObject *attr_b = attribute_b(&c, op, arg);
        w->is_opaque |= op == c.import_name || (attr_b && is_dunder(attr_b));
        w->has_text |= op == c.format[0] || op == c.format[1] || op == c.format[2];
        PyObject *name = op == c.load_global ? PyTuple_GetItem(c.names, arg >> 1)
                         : op == c.load_name ? PyTuple_GetItem(c.names, arg)
                                             : NULL;
        if (name)
            r = watch_global(w, &c, name, i);
    }
    consts = r ? NULL : PyObject_GetAttrString(code, "co_consts");
    for (Py_ssize_t i = 0; consts && !r && i < PyTuple_Size(consts); i++)
        if (Py_IS_TYPE(PyTuple_GetItem(consts, i), Py_TYPE(code)))
            r = watch_code(w, PyTuple_GetItem(consts, i), globals);
    DROP(bytes, c.names, consts);
    return r;
}

static int
watch_cells(Watch *w, PyObject *fn, PyObject *code)
{
    PyObject *cells = watch_look(fn, "__closure__");
    PyObject *names = watch_look(code, "co_freevars");
    Py_ssize_t n = cells && names && PyTuple_Check(cells) ? PyTuple_Size(cells) : 0;
    int r = 0;
    for (Py_ssize_t i = 0; !r && i < n; i++) {
        PyObject *cell = PyTuple_GetItem(cells, i), *name = PyTuple_GetItem(names, i);
        PyObject *v = watch_look(cell, "cell_contents");
        if (!v)
            continue;
        if (!PyModule_Check(v))
            r = fe_capture(w->to, (FeCapture){WATCH_CELL, cell, name, v, NULL});
        if (!r)
            r = watch_contents(w, v, name);
        Py_DECREF(v);
    }
    DROP(cells, names);
    return r ? r : watch_forget();
}

static int
watch_function(Watch *w, PyObject *fn, PyObject *code)
{
    PyObject *globals = watch_look(fn, "__globals__"), *all = fe_code_of(fn);
    PyObject *name = watch_look(fn, "__name__");
    int r = !globals || !all || !name
                ? watch_forget()
                : fe_capture(w->to, (FeCapture){WATCH_CODE, fn, NULL, all, name});
    if (!r && all && globals && name) {
        r = watch_contents(w, PyTuple_GetItem(all, 1), name);
        r = r ? r : watch_contents(w, PyTuple_GetItem(all, 2), name);
        r = r ? r : watch_attributes(w, fn);
        r = r ? r : watch_cells(w, fn, code);
        r = r ? r : watch_code(w, code, globals);
    }
    DROP(globals, all, name);
    return r;
}

/* Does a library's function read more than its arguments? What packages hold is theirs. */
static bool
is_opaque_function(PyObject *o)
{
    PyObject *cells = watch_look(o, "__closure__");
    bool is = is_of(o, is_known_name, false) && !is_our_object(o) &&
              (!is_pure_object(o) || (cells && cells != Py_None));
    Py_XDECREF(cells);
    return is;
}

/* What o, which Python code may call, can read. */
int
watch_callable(Watch *w, PyObject *o)
{
    static const char *const inner[] = {"fn",   "__func__", "__wrapped__", "func",
                                        "fget", "__self__", "args",        "keywords"};
    if (PyCFunction_Check(o))
        return watch_contents(w, o, NULL);
    if (watch_is_enough(w))
        return watch_forget();
    const FeFunction *kernel = w->env->as_function(w->env->data, o);
    if (kernel)
        return watch_attributes(w, o) || watch_attributes(w, kernel->fn) ? -1 : 0;
    if (PyType_Check(o))
        return is_known_object(o) ? 0 : watch_class(w, o);
    int r = watch_is_seen(w, o);
    if (r)
        return MIN(r, 0);
    w->depth++;
    PyObject *code = watch_look(o, "__code__");
    PyObject *label = watch_class_label((PyObject *)Py_TYPE(o));
    if (code && !is_known_object(o))
        r = watch_function(w, o, code);
    else if (code)
        w->is_opaque |= is_opaque_function(o);
    for (size_t i = 0; !r && i < COUNT(inner); i++) {
        PyObject *of = watch_look(o, inner[i]);
        bool is_part = !i || (!code && i >= 3 && i != 5); /* a partial's */
        if (of && label && is_part && !PyModule_Check(of))
            r = watch_part(w, o, inner[i], label);
        if (of && label && i && !r && !PyModule_Check(of) && !PyCFunction_Check(of))
            r = PyCallable_Check(of) ? watch_callable(w, of)
                                     : watch_contents(w, of, label);
        Py_XDECREF(of);
    }
    if (!r && !code)
        r = is_our_object((PyObject *)Py_TYPE(o)) ? watch_attributes(w, o)
                                                  : watch_object(w, o);
    w->depth--;
    DROP(code, label);
    return r ? r : watch_forget();
}
