/* watch: what of a program a compile reads, and may find changed at a later launch (capture.c).
 *
 *     a name                    the module's dict or the cell where it stands, and the
 *                               elements of a list
 *     module.N, Cfg.N, obj.N    the dict it was found in, and that it is in none before that
 *     d["a"]                    the item; of other objects that Python works on, all they hold
 *     f(3), f Python's          f's code and defaults, and what the code names: globals, as
 *                               its bytecode loads them, with the attributes it asks of them
 *                               at once; the cells; the same of functions and classes found so
 *
 * What a function of constants does to its own notes (a counter, a table of results) is no
 * reason to compile again: what a call has changed is forgotten (fe_captures_settle).
 * Functions of Python's own library, of ours, and of installed packages are not looked into,
 * nor are objects of installed packages' classes: what such code holds is its own, as the
 * fixtures that pytest's assertions lead to. All functions: 0, or -1 with an exception.
 */
#include "frontend/frontend.h"

enum {
    DEEPEST = 50,
    MOST_OBJECTS = 4096, /* that one call may have looked into: programs are large */
};

typedef struct Watch {
    const FeEnv *env;
    FeCaptures *to;
    PyObject *seen;    /* set of addresses of what was looked into */
    PyObject *opcodes; /* opcode.opmap; NULL until some code is read */
    int depth;
    bool is_whole; /* Python code may do anything with what it finds */
} Watch;

static int watch_contents(Watch *w, PyObject *o, PyObject *label);
static int watch_callable(Watch *w, PyObject *o);
static int watch_object(Watch *w, PyObject *o);

/* An exception that says "there is no such thing" is cleared: 0. */
static int
forget(void)
{
    if (fe_is_grave())
        return -1;
    PyErr_Clear();
    return 0;
}

/* o.name, or NULL: without an exception where there is none. */
static PyObject *
attribute(PyObject *o, const char *name)
{
    PyObject *v = PyObject_GetAttrString(o, name);
    if (!v)
        forget();
    return v;
}

/* 1: seen before; 0: noted now. */
static int
is_seen(Watch *w, PyObject *o)
{
    PyObject *key = PyLong_FromVoidPtr(o);
    int r = key ? PySet_Contains(w->seen, key) : -1;
    if (!r)
        r = PySet_Add(w->seen, key);
    Py_XDECREF(key);
    return r;
}

static bool
is_enough(const Watch *w)
{
    return w->depth > DEEPEST || PySet_Size(w->seen) > MOST_OBJECTS;
}

/* Is the module's name, or what it is a part of, one whose code nobody edits? */
static bool
is_known_name(PyObject *name)
{
    static const char *const known[] = {"tegula", "triton", "numpy", "torch", "jax"};
    Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, PyUnicode_GetLength(name), 1);
    PyObject *first = dot > 0 ? PyUnicode_Substring(name, 0, dot) : Py_NewRef(name);
    PyObject *library_b = PySys_GetObject("stdlib_module_names");
    bool is = first && library_b && PySequence_Contains(library_b, first) > 0;
    for (size_t i = 0; first && !is && i < COUNT(known); i++)
        is = !PyUnicode_CompareWithASCIIString(first, known[i]);
    Py_XDECREF(first);
    return is;
}

/* Was the module installed by a package manager? */
static bool
is_installed_name(PyObject *name)
{
    PyObject *modules_b = PyImport_GetModuleDict();
    PyObject *m_b = modules_b ? PyDict_GetItemWithError(modules_b, name) : NULL;
    PyObject *file = m_b ? attribute(m_b, "__file__") : NULL;
    const char *s = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8AndSize(file, NULL)
                                                  : NULL;
    bool is = s && (strstr(s, "/site-packages/") || strstr(s, "/dist-packages/"));
    Py_XDECREF(file);
    forget();
    return is;
}

/* Is o, a function, class or module, of a module for which `is` holds? is_odd: has it none? */
static bool
is_of(PyObject *o, bool (*is)(PyObject *name), bool is_odd)
{
    PyObject *name = attribute(o, PyModule_Check(o) ? "__name__" : "__module__");
    bool r = name && PyUnicode_Check(name) ? is(name) : is_odd;
    Py_XDECREF(name);
    return r;
}

static bool
is_known(PyObject *o)
{
    return is_of(o, is_known_name, true) || is_of(o, is_installed_name, true);
}

static bool
is_our_dict(PyObject *dict)
{
    PyObject *name_b = PyDict_GetItemString(dict, "__name__");
    const char *s = name_b && PyUnicode_Check(name_b)
                        ? PyUnicode_AsUTF8AndSize(name_b, NULL)
                        : NULL;
    PyErr_Clear();
    return s && !strncmp(s, "tegula.", strlen("tegula."));
}

static bool
is_ours(PyObject *o)
{
    PyObject *lost = NULL;
    bool is = fe_is_from(o, "tegula", &lost);
    if (lost)
        PyErr_SetNone(lost);
    Py_XDECREF(lost);
    return is || lost;
}

/* The dict of an object or of a class that was made by a class statement; new reference, or
 * NULL. Of a class it is the dict itself, not the proxy that __dict__ gives. */
static PyObject *
dict_of(PyObject *o)
{
    if (PyType_Check(o) && !(PyType_GetFlags((PyTypeObject *)o) & Py_TPFLAGS_HEAPTYPE))
        return NULL;
    PyObject *d = PyObject_GenericGetDict(o, NULL);
    if (!d)
        forget();
    if (d && !PyDict_Check(d))
        Py_CLEAR(d);
    return d;
}

/* "Cfg.": of a class, or of the class of an object; NULL: it has no name. */
static PyObject *
class_label(PyObject *cls)
{
    PyObject *name = attribute(cls, "__name__");
    PyObject *label = name ? PyUnicode_FromFormat("%S.", name) : NULL;
    Py_XDECREF(name);
    return label;
}

/* "Cfg.N": of a class, and of an object of one. */
static PyObject *
attribute_label(PyObject *o, PyObject *name)
{
    PyObject *of = attribute(PyType_Check(o) ? o : (PyObject *)Py_TYPE(o), "__name__");
    PyObject *label = of && PyUnicode_Check(of)
                          ? PyUnicode_FromFormat("%U.%U", of, name)
                          : NULL;
    Py_XDECREF(of);
    return label;
}

/* ---- contents ------------------------------------------------------------------------------ */

PyObject *
fe_bytes_of(PyObject *o)
{
    Py_buffer view;
    if (PyObject_GetBuffer(o, &view, PyBUF_FULL_RO))
        return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, view.len);
    if (bytes && PyBuffer_ToContiguous(PyBytes_AsString(bytes), &view, view.len, 'C'))
        Py_CLEAR(bytes);
    PyBuffer_Release(&view);
    return bytes;
}

/* Notes a copy, whose reference it takes. */
static int
note_copy(Watch *w, FeWatch kind, PyObject *home, PyObject *copy, PyObject *label)
{
    int r = copy ? fe_capture(w->to, (FeCapture){kind, home, NULL, copy, label})
                 : forget();
    Py_XDECREF(copy);
    return r;
}

static int
watch_dict(Watch *w, PyObject *dict, PyObject *label)
{
    PyObject *values = PyDict_Values(dict);
    int r = values ? note_copy(w, WATCH_MAP, dict, PyDict_Copy(dict), label) : -1;
    for (Py_ssize_t i = 0; !r && i < PyList_Size(values); i++)
        r = watch_contents(w, PyList_GetItem(values, i), label);
    Py_XDECREF(values);
    return r;
}

static int
watch_elements(Watch *w, PyObject *list, PyObject *label)
{
    PyObject *copy = PySequence_Tuple(list);
    int r = copy ? 0 : -1;
    if (!r && PyList_Check(list))
        r = fe_capture(w->to, (FeCapture){WATCH_LIST, list, NULL, copy, label});
    for (Py_ssize_t i = 0; !r && i < PyTuple_Size(copy); i++)
        r = watch_contents(w, PyTuple_GetItem(copy, i), label);
    Py_XDECREF(copy);
    return r;
}

/* What a class's own dict has under that name, with a double underscore, that no launch needs
 * to look at. */
static bool
is_idle(PyObject *name)
{
    static const char *const words[] = {
        "__repr__",       "__eq__",      "__hash__",      "__doc__",
        "__module__",     "__dict__",    "__weakref__",   "__annotations__",
        "__getnewargs__", "__replace__", "__reduce_ex__", "__getstate__",
        "__setstate__",
    };
    for (size_t i = 0; i < COUNT(words); i++)
        if (!PyUnicode_CompareWithASCIIString(name, words[i]))
            return true;
    return false;
}

/* What a class statement made: its functions, and the constants among them. */
static int
watch_class_items(Watch *w, PyObject *dict, PyObject *label)
{
    PyObject *part = PyDict_New(), *items = PyDict_Items(dict);
    int r = part && items ? 0 : -1;
    for (Py_ssize_t i = 0; !r && i < PyList_Size(items); i++) {
        PyObject *pair = PyList_GetItem(items, i);
        PyObject *key = PyTuple_GetItem(pair, 0), *v = PyTuple_GetItem(pair, 1);
        const char *s = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, NULL)
                                             : NULL;
        PyObject *code = s ? attribute(v, "__code__") : NULL;
        bool is_dunder = s && s[0] == '_' && s[1] == '_';
        if (s && !is_idle(key) && (code || !is_dunder))
            r = PyDict_SetItem(part, key, v) ? -1 : watch_callable(w, v);
        if (!r && s && !is_dunder && !code)
            r = watch_contents(w, v, label);
        Py_XDECREF(code);
    }
    if (!r)
        r = fe_capture(w->to, (FeCapture){WATCH_PART, dict, NULL, part, label});
    Py_XDECREF(part);
    Py_XDECREF(items);
    return r;
}

static int
watch_class(Watch *w, PyObject *cls)
{
    PyObject *mro = attribute(cls, "__mro__"), *name = class_label(cls);
    int r = !mro || !name ? forget() : is_seen(w, cls);
    for (Py_ssize_t i = 0; mro && name && !r && i < PyTuple_Size(mro); i++) {
        PyObject *base = PyTuple_GetItem(mro, i);
        PyObject *dict = is_known(base) ? NULL : dict_of(base);
        if (dict)
            r = watch_class_items(w, dict, name);
        Py_XDECREF(dict);
    }
    Py_XDECREF(mro);
    Py_XDECREF(name);
    return MIN(r, 0);
}

/* The attributes of an object without a dict. */
static int
watch_slots(Watch *w, PyObject *o, PyObject *label)
{
    PyObject *names = attribute((PyObject *)Py_TYPE(o), "__slots__"), *all = NULL;
    int r = 0;
    if (names && !PyUnicode_Check(names))
        all = PySequence_Tuple(names);
    for (Py_ssize_t i = 0; all && !r && i < PyTuple_Size(all); i++) {
        PyObject *name = PyTuple_GetItem(all, i), *v = PyObject_GetAttr(o, name);
        PyObject *of = v ? attribute_label(o, name) : NULL;
        if (v)
            r = of ? fe_capture(w->to, (FeCapture){WATCH_ATTR, o, name, v, of}) : -1;
        if (v && !r)
            r = watch_contents(w, v, label);
        if (!v)
            r = forget();
        Py_XDECREF(of);
        Py_XDECREF(v);
    }
    Py_XDECREF(names);
    Py_XDECREF(all);
    return r ? r : forget();
}

static int
watch_object(Watch *w, PyObject *o)
{
    PyObject *cls = (PyObject *)Py_TYPE(o);
    if (w->env->as_function(w->env->data, o) || is_ours(cls))
        return forget();
    if (PyObject_CheckBuffer(o))
        return PyBytes_CheckExact(o)
                   ? 0
                   : note_copy(w, WATCH_BYTES, o, fe_bytes_of(o), NULL);
    if (is_of(cls, is_installed_name, false))
        return 0;
    PyObject *dict = dict_of(o), *name = class_label(cls);
    int r = !name ? forget() : dict ? watch_dict(w, dict, name) : 0;
    if (!r && name)
        r = watch_slots(w, o, name);
    if (!r && !is_known(cls)) /* its operators */
        r = watch_class(w, cls);
    Py_XDECREF(dict);
    Py_XDECREF(name);
    return r;
}

/* o.name, which o holds, and its contents. */
static int
watch_part(Watch *w, PyObject *o, const char *name, PyObject *label)
{
    PyObject *key = PyUnicode_InternFromString(name), *dict = dict_of(o);
    PyObject *v = key ? PyObject_GetAttr(o, key) : NULL;
    bool is_item = v && dict && PyDict_GetItemWithError(dict, key) == v;
    FeCapture x = {is_item ? WATCH_DICT : WATCH_ATTR, is_item ? dict : o, key, v,
                   label};
    int r = !v ? forget() : fe_capture(w->to, x);
    if (v && !r)
        r = watch_contents(w, v, label);
    Py_XDECREF(key);
    Py_XDECREF(dict);
    Py_XDECREF(v);
    return r;
}

/* What o holds that may change in place. A kernel that has read a dict or an object will say
 * what it wants of it; a list it has read whole. */
static int
watch_contents(Watch *w, PyObject *o, PyObject *label)
{
    if (o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
        PyBool_Check(o) || PyUnicode_CheckExact(o) || PyModule_Check(o) ||
        PyCFunction_Check(o))
        return 0;
    if (w->is_whole && (PyType_Check(o) || PyCallable_Check(o)))
        return watch_callable(w, o);
    if (PyType_Check(o) || is_enough(w))
        return 0;
    int r = is_seen(w, o);
    if (r)
        return MIN(r, 0);
    w->depth++;
    PyObject *cls = attribute(w->env->language, "constexpr");
    if (cls && PyObject_IsInstance(o, cls) > 0) {
        r = watch_part(w, o, "value", label);
    } else if (PyTuple_Check(o) || PyList_Check(o))
        r = watch_elements(w, o, label);
    else if (!w->is_whole)
        r = 0;
    else if (PyDict_Check(o))
        r = watch_dict(w, o, label);
    else if (PySet_Check(o))
        r = note_copy(w, WATCH_EQUAL, o, PySet_New(o), label);
    else
        r = watch_object(w, o);
    w->depth--;
    Py_XDECREF(cls);
    return r ? r : forget();
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* A property runs code. */
static int
watch_getter(Watch *w, PyObject *found, PyObject *o)
{
    PyObject *get = attribute(found, "fget");
    if (!get)
        return forget();
    bool outer = w->is_whole;
    w->is_whole = true;
    int r = watch_callable(w, get);
    w->is_whole = outer;
    if (!r && !PyType_Check(o))
        r = watch_object(w, o);
    Py_DECREF(get);
    return r;
}

/* Where an attribute of o is found: in the class, or one of its bases. */
static int
watch_mro(Watch *w, PyObject *o, PyObject *name, PyObject *label)
{
    PyObject *cls = PyType_Check(o) ? o : (PyObject *)Py_TYPE(o);
    PyObject *mro = attribute(cls, "__mro__");
    int r = mro ? 0 : forget();
    bool found = false;
    for (Py_ssize_t i = 0; mro && !r && !found && i < PyTuple_Size(mro); i++) {
        PyObject *base = PyTuple_GetItem(mro, i), *dict = dict_of(base);
        PyObject *v = dict ? Py_XNewRef(PyDict_GetItemWithError(dict, name)) : NULL;
        found = v;
        if (dict && !is_known(base))
            r = fe_capture(w->to, (FeCapture){WATCH_DICT, dict, name, v, label});
        const char *kind = "member_descriptor"; /* of __slots__ */
        PyObject *of = v && !r ? PyType_GetName(Py_TYPE(v)) : NULL;
        if (of && !PyType_Check(o) && !PyUnicode_CompareWithASCIIString(of, kind)) {
            PyObject *is = PyObject_GetAttr(o, name);
            r = is ? fe_capture(w->to, (FeCapture){WATCH_ATTR, o, name, is, label})
                   : forget();
            Py_XDECREF(is);
        } else if (v && !r && !(r = watch_getter(w, v, o)))
            r = watch_contents(w, v, label);
        Py_XDECREF(of);
        Py_XDECREF(v);
        Py_XDECREF(dict);
    }
    Py_XDECREF(mro);
    return r;
}

static int
watch_attribute(Watch *w, PyObject *o, PyObject *name)
{
    if (PyModule_Check(o)) {
        PyObject *dict_b = PyModule_GetDict(o), *v_b;
        if (!dict_b || is_our_dict(dict_b) ||
            !(v_b = PyDict_GetItemWithError(dict_b, name)) || PyModule_Check(v_b))
            return forget();
        int r = fe_capture(w->to, (FeCapture){WATCH_DICT, dict_b, name, v_b, NULL});
        return r ? r : watch_contents(w, v_b, name);
    }
    if (PyTuple_CheckExact(o) || PyLong_CheckExact(o) || PyUnicode_CheckExact(o) ||
        is_ours(PyType_Check(o) ? o : (PyObject *)Py_TYPE(o)))
        return forget();
    PyObject *label = attribute_label(o, name), *dict = NULL, *v = NULL;
    int r = label ? 0 : forget();
    if (label && !PyType_Check(o) && (dict = dict_of(o))) {
        v = Py_XNewRef(PyDict_GetItemWithError(dict, name));
        r = fe_capture(w->to, (FeCapture){WATCH_DICT, dict, name, v, label});
        if (v && !r)
            r = watch_contents(w, v, label);
    }
    if (label && !r && !v)
        r = watch_mro(w, o, name, label);
    Py_XDECREF(label);
    Py_XDECREF(dict);
    Py_XDECREF(v);
    return r;
}

/* ---- code ------------------------------------------------------------------------------------ */

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
    long load_global, load_attr, load_method, extended; /* -1: there is none */
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
    c->load_attr = opcode(w, "LOAD_ATTR");
    c->load_method = opcode(w, "LOAD_METHOD");
    c->extended = opcode(w, "EXTENDED_ARG");
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

/* The global that LOAD_GLOBAL loads, and the attributes that are asked of it at once. */
static int
watch_global(Watch *w, const Code *c, PyObject *name, Py_ssize_t i)
{
    PyObject *v = Py_XNewRef(PyDict_GetItemWithError(c->globals, name));
    if (!v)
        return forget(); /* one of Python's own */
    int r = PyModule_Check(v)
                ? 0
                : fe_capture(w->to, (FeCapture){WATCH_DICT, c->globals, name, v, NULL});
    while (!r && (PyModule_Check(v) || PyType_Check(v))) {
        long arg;
        int op = next_op(c, &i, &arg);
        bool is_attr = op >= 0 && op == c->load_attr;
        if (!is_attr && (op < 0 || op != c->load_method))
            break;
        PyObject *attr = PyTuple_GetItem(
            c->names, is_attr && Py_Version >= 0x030C0000 ? arg >> 1 : arg);
        if (!attr || (PyModule_Check(v) && is_known(v)))
            break;
        r = watch_attribute(w, v, attr);
        PyObject *next = r ? NULL : PyObject_GetAttr(v, attr);
        if (!next)
            break;
        Py_DECREF(v);
        v = next;
    }
    if (!r)
        r = forget();
    if (!r)
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
        PyObject *name = op == c.load_global ? PyTuple_GetItem(c.names, arg >> 1)
                                             : NULL;
        if (name)
            r = watch_global(w, &c, name, i);
    }
    consts = r ? NULL : PyObject_GetAttrString(code, "co_consts");
    for (Py_ssize_t i = 0; consts && !r && i < PyTuple_Size(consts); i++)
        if (Py_IS_TYPE(PyTuple_GetItem(consts, i), Py_TYPE(code)))
            r = watch_code(w, PyTuple_GetItem(consts, i), globals);
    Py_XDECREF(bytes);
    Py_XDECREF(c.names);
    Py_XDECREF(consts);
    return r;
}

static int
watch_cells(Watch *w, PyObject *fn, PyObject *code)
{
    PyObject *cells = attribute(fn, "__closure__");
    PyObject *names = attribute(code, "co_freevars");
    Py_ssize_t n = cells && names && PyTuple_Check(cells) ? PyTuple_Size(cells) : 0;
    int r = 0;
    for (Py_ssize_t i = 0; !r && i < n; i++) {
        PyObject *cell = PyTuple_GetItem(cells, i), *name = PyTuple_GetItem(names, i);
        PyObject *v = attribute(cell, "cell_contents");
        if (!v)
            continue;
        if (!PyModule_Check(v))
            r = fe_capture(w->to, (FeCapture){WATCH_CELL, cell, name, v, NULL});
        if (!r)
            r = watch_contents(w, v, name);
        Py_DECREF(v);
    }
    Py_XDECREF(cells);
    Py_XDECREF(names);
    return r ? r : forget();
}

static int
watch_function(Watch *w, PyObject *fn, PyObject *code)
{
    PyObject *globals = attribute(fn, "__globals__"), *all = fe_code_of(fn);
    PyObject *name = attribute(fn, "__name__");
    int r = !globals || !all || !name
                ? forget()
                : fe_capture(w->to, (FeCapture){WATCH_CODE, fn, NULL, all, name});
    if (!r && all && globals && name) {
        r = watch_contents(w, PyTuple_GetItem(all, 1), name);
        r = r ? r : watch_contents(w, PyTuple_GetItem(all, 2), name);
        r = r ? r : watch_cells(w, fn, code);
        r = r ? r : watch_code(w, code, globals);
    }
    Py_XDECREF(globals);
    Py_XDECREF(all);
    Py_XDECREF(name);
    return r;
}

/* What o, which Python code may call, can read. */
static int
watch_callable(Watch *w, PyObject *o)
{
    static const char *const inner[] = {"fn",   "__func__", "__wrapped__",
                                        "func", "fget",     "__self__"};
    if (PyCFunction_Check(o) || is_enough(w) || w->env->as_function(w->env->data, o))
        return forget();
    if (PyType_Check(o))
        return is_known(o) ? 0 : watch_class(w, o);
    int r = is_seen(w, o);
    if (r)
        return MIN(r, 0);
    w->depth++;
    PyObject *code = attribute(o, "__code__");
    PyObject *label = class_label((PyObject *)Py_TYPE(o));
    if (code && !is_known(o))
        r = watch_function(w, o, code);
    for (size_t i = 0; !r && i < COUNT(inner); i++) {
        PyObject *of = attribute(o, inner[i]);
        if (of && label && !PyModule_Check(of) && !PyCFunction_Check(of))
            r = i ? (PyCallable_Check(of) ? watch_callable(w, of)
                                          : watch_contents(w, of, label))
                  : watch_part(w, o, inner[i], label);
        Py_XDECREF(of);
    }
    if (!r && !code)
        r = watch_object(w, o);
    w->depth--;
    Py_XDECREF(code);
    Py_XDECREF(label);
    return r ? r : forget();
}

/* ---- the frontend's doors -------------------------------------------------------------------- */

/* Ends a walk; what look-ups lost is grave. */
static int
done(Watch *w, int r)
{
    Py_XDECREF(w->seen);
    Py_XDECREF(w->opcodes);
    return r || PyErr_Occurred() ? -1 : 0;
}

static bool
begin(Watch *w, const FeEnv *env, bool is_whole)
{
    *w = (Watch){
        .env = env, .to = env->captures, .seen = PySet_New(NULL), .is_whole = is_whole};
    return w->seen;
}

int
fe_watch_name(const FeEnv *env, PyObject *home, PyObject *name, PyObject *value,
              bool is_cell)
{
    Watch w;
    if (!env->captures || PyModule_Check(value) || (!is_cell && is_our_dict(home)))
        return 0;
    FeCapture x = {is_cell ? WATCH_CELL : WATCH_DICT, home, name, value, NULL};
    if (fe_capture(env->captures, x))
        return -1;
    return begin(&w, env, false) ? done(&w, watch_contents(&w, value, name)) : -1;
}

int
fe_watch_attribute(const FeEnv *env, PyObject *o, PyObject *name)
{
    Watch w;
    if (!env->captures)
        return 0;
    return begin(&w, env, false) ? done(&w, watch_attribute(&w, o, name)) : -1;
}

int
fe_watch_item(const FeEnv *env, PyObject *o, PyObject *key)
{
    if (!env->captures)
        return 0;
    if (!PyDict_CheckExact(o))
        return fe_watch_value(env, o);
    PyObject *label = PyUnicode_FromFormat("[%R]", key);
    PyObject *v_b = label ? PyDict_GetItemWithError(o, key) : NULL;
    FeCapture x = {WATCH_DICT, o, key, v_b, label};
    int r = forget(); /* a key that cannot be one: looking it up will say so */
    if (!r)
        r = label ? fe_capture(env->captures, x) : -1;
    Py_XDECREF(label);
    return r;
}

int
fe_watch_call(const FeEnv *env, PyObject *o)
{
    Watch w;
    if (!env->captures || PyCFunction_Check(o))
        return 0;
    return begin(&w, env, true) ? done(&w, watch_callable(&w, o)) : -1;
}

int
fe_watch_value(const FeEnv *env, PyObject *o)
{
    Watch w;
    if (!env->captures || o == Py_None || PyUnicode_CheckExact(o) || PyBool_Check(o))
        return 0;
    PyObject *label = class_label((PyObject *)Py_TYPE(o));
    int r = label && begin(&w, env, true) ? done(&w, watch_contents(&w, o, label)) : -1;
    Py_XDECREF(label);
    return r;
}
