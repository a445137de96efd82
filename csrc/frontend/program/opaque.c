/* opaque: what Python code may read although watch.c cannot follow it there.
 *
 *     os.environ, contextvars, locks    state that C code or the system keeps
 *     import m, globals(), getattr      names that no instruction spells out
 *     q = m; q.N                        a module that is handed about
 *
 * The result of a function of constants that meets such a thing is noted as a whole: each launch
 * asks the function again (WATCH_CALL). An attribute that is found by such a thing is noted as
 * what getattr gives (WATCH_ATTR).
 */
#include "frontend/program/watch.h"

static bool
is_among(const char *s, const char *const *words)
{
    while (*words && strcmp(*words, s))
        words++;
    return *words;
}

/* The words of s up to the first dot, without the underscore of a module's half in C. */
static bool
is_first_word_among(const char *s, const char *const *words)
{
    char first[64];
    s += *s == '_' && s[1] != '_';
    size_t n = strcspn(s, ".");
    if (n >= sizeof first)
        return false;
    memcpy(first, s, n);
    first[n] = 0;
    return is_among(first, words);
}

/* Does a function of that module, of Python's library or NumPy, answer by its arguments alone? */
bool
is_pure_module(PyObject *name)
{
    static const char *const pure[] = {
        "builtins",   "math",  "cmath",       "operator", "functools",   "itertools",
        "enum",       "types", "dataclasses", "abc",      "collections", "numbers",
        "numpy",      "re",    "string",      "bisect",   "heapq",       "struct",
        "statistics", "json",  "textwrap",    "sre",      NULL};
    const char *s = fe_utf8(name);
    return s && is_first_word_among(s, pure) && !strstr(s, "numpy.random");
}

/* One of Python's own functions that finds what it is not given. */
bool
is_opaque_builtin(PyObject *name)
{
    static const char *const words[] = {"getattr", "hasattr", "vars",       "globals",
                                        "locals",  "eval",    "__import__", "exec",
                                        "dir",     "open",    "next",       "input",
                                        NULL};
    const char *s = PyUnicode_AsUTF8AndSize(name, NULL);
    return s && is_among(s, words);
}

bool
is_opaque_of_numpy(PyObject *name)
{
    static const char *const words[] = {
        "load",         "loadtxt",    "genfromtxt",       "fromfile",
        "fromregex",    "memmap",     "get_printoptions", "array2string",
        "printoptions", "array_str",  "array_repr",       "geterr",
        "geterrcall",   "errstate",   "getbufsize",       "datetime64",
        "lib",          "DataSource", "show_config",      NULL};
    const char *s = PyUnicode_AsUTF8AndSize(name, NULL);
    return s && is_among(s, words);
}

bool
is_dunder(PyObject *name)
{
    /* Of a class's dict, or watched. */
    static const char *const words[] = {"__init__", "__new__", "__class__", NULL};
    const char *s = fe_utf8(name);
    size_t n = s ? strlen(s) : 0;
    return n > 4 && s[0] == '_' && s[1] == '_' && s[n - 1] == '_' && s[n - 2] == '_' &&
           !is_among(s, words);
}

bool
is_enum(PyObject *cls)
{
    PyObject *module = watch_look(cls, "__module__");
    const char *s = fe_utf8(module);
    bool is = s && !strcmp(s, "enum");
    Py_XDECREF(module);
    return is;
}

/* Is cls, a class that C made, one whose objects never change, or hold what watch.c reads? */
static bool
is_plain_class(PyObject *cls)
{
    /* clang-format off */
    static const char *const plain[] = {
        "object", "int", "float", "complex", "bool", "str", "bytes", "tuple",
        "list", "dict", "set", "frozenset", "range", "slice", "type", "ellipsis",
        "property", "function", "method", "classmethod", "staticmethod",
        "SimpleNamespace", "partial", "member_descriptor", "getset_descriptor",
        "wrapper_descriptor", "method_descriptor", "dtype", "code", "generic",
        "NoneType", NULL};
    /* clang-format on */
    PyObject *name = PyType_GetName((PyTypeObject *)cls);
    const char *s = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    size_t n = s ? strlen(s) : 0;
    bool is = s && (is_among(s, plain) || (n > 5 && !strcmp(s + n - 5, "DType")));
    Py_XDECREF(name);
    return is;
}

/* Has an object of the class state that is neither in its dict nor in slots? */
bool
is_opaque_class(PyObject *cls)
{
    PyObject *mro = PyObject_GetAttrString(cls, "__mro__");
    bool is = !mro;
    for (Py_ssize_t i = 0; mro && !is && i < PyTuple_Size(mro); i++) {
        PyObject *base = PyTuple_GetItem(mro, i);
        bool is_of_c = PyType_GetFlags((PyTypeObject *)base) & Py_TPFLAGS_IMMUTABLETYPE;
        is = is_of_c && !is_plain_class(base);
    }
    Py_XDECREF(mro);
    return is;
}

/* A function of C's: does it read more than its arguments? A method of an object does. */
bool
is_opaque_cfunction(PyObject *o)
{
    PyObject *self = PyObject_GetAttrString(o, "__self__");
    PyObject *home = self ? PyObject_GetAttrString(o, "__module__") : NULL;
    bool is = self && !PyType_Check(self) && self != Py_None &&
              !(PyModule_Check(self) && home && is_pure_module(home));
    DROP(self, home);
    return is;
}

/* ---- whose it is ---------------------------------------------------------------------------- */

/* Is the module's name, or what it is a part of, one whose code nobody edits? */
bool
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
bool
is_installed_name(PyObject *name)
{
    PyObject *modules_b = PyImport_GetModuleDict();
    PyObject *m_b = modules_b ? PyDict_GetItemWithError(modules_b, name) : NULL;
    PyObject *file = m_b ? watch_look(m_b, "__file__") : NULL;
    const char *s = fe_utf8(file);
    bool is = s && (strstr(s, "/site-packages/") || strstr(s, "/dist-packages/"));
    Py_XDECREF(file);
    watch_forget();
    return is;
}

/* Is it called as a library that is a folder of modules? */
static bool
is_folders_name(PyObject *name)
{
    static const char *const folders[] = {"numpy", "torch", "jax"};
    for (size_t i = 0; i < COUNT(folders); i++)
        if (!PyUnicode_CompareWithASCIIString(name, folders[i]))
            return true;
    return false;
}

/* Does the file of m, called as a module of Python's library, lie where os does, and is a library's
 * folder one? code.py and torch.py may be somebody's own. */
static bool
is_not_hiding(PyObject *m, PyObject *name)
{
    PyObject *library_b = PySys_GetObject("stdlib_module_names");
    PyObject *os_b = PyDict_GetItemString(PyImport_GetModuleDict(), "os");
    if (is_folders_name(name)) {
        PyObject *path = watch_look(m, "__path__");
        Py_XDECREF(path);
        return path;
    }
    if (!library_b || !os_b || PySequence_Contains(library_b, name) <= 0)
        return true;
    PyObject *file = watch_look(m, "__file__"), *of_os = watch_look(os_b, "__file__");
    const char *f = fe_utf8(file);
    const char *o = fe_utf8(of_os);
    const char *end = o ? strrchr(o, '/') : NULL;
    bool is = !f || !end || !strncmp(f, o, (size_t)(end - o) + 1);
    DROP(file, of_os);
    return is;
}

/* Is o, which says that it is of the module of this name? Code that an exec made has any name, or
 * none, and functools.wraps gives a function another one's. */
static bool
is_at_home(PyObject *o, PyObject *name)
{
    PyObject *modules_b = PyImport_GetModuleDict();
    PyObject *m_b = modules_b ? PyDict_GetItemWithError(modules_b, name) : NULL;
    if (!m_b || !PyModule_Check(m_b) || !is_not_hiding(m_b, name))
        return watch_forget(),
               false; /* the name may be a str's subclass, which raises */
    if (PyModule_Check(o))
        return m_b == o;
    PyObject *dict_b = PyModule_GetDict(m_b), *globals = watch_look(o, "__globals__");
    bool is = true;
    if (globals)
        is = globals == dict_b;
    else if (PyType_Check(o) &&
             !(PyType_GetFlags((PyTypeObject *)o) & Py_TPFLAGS_IMMUTABLETYPE)) {
        PyObject *path = watch_look(o, "__qualname__");
        Py_ssize_t n = path ? PyUnicode_GetLength(path) : 0;
        Py_ssize_t dot = path ? PyUnicode_FindChar(path, '.', 0, n, 1) : -1;
        PyObject *first = dot < 0 ? Py_XNewRef(path)
                                  : PyUnicode_Substring(path, 0, dot);
        PyObject *v_b = first ? PyDict_GetItemWithError(dict_b, first) : NULL;
        is = v_b && (dot >= 0 || v_b == o);
        DROP(path, first);
    }
    Py_XDECREF(globals);
    watch_forget();
    return is;
}

/* Is o, a function, class or module, of a module for which `is` holds? is_odd: has it none? */
bool
is_of(PyObject *o, bool (*is)(PyObject *name), bool is_odd)
{
    /* A module has none, and may have a __getattr__ that is asked each time. */
    PyObject *globals = PyModule_Check(o) ? NULL : watch_look(o, "__globals__"), *name;
    if (globals && PyDict_Check(globals))
        name = Py_XNewRef(PyDict_GetItemString(globals, "__name__"));
    else
        name = watch_look(o, PyModule_Check(o) ? "__name__" : "__module__");
    bool r = name && PyUnicode_Check(name) ? is(name) && is_at_home(o, name)
                                           : is_odd && !globals && !PyType_Check(o);
    DROP(globals, name);
    return r;
}

bool
is_known_object(PyObject *o)
{
    return is_of(o, is_known_name, true) || is_of(o, is_installed_name, true);
}

/* A module whose functions read nothing but their arguments: one of ours, NumPy, math. */
bool
is_pure_object(PyObject *o)
{
    return is_of(o, is_pure_module, false);
}

bool
is_our_dict(PyObject *dict)
{
    PyObject *name_b = PyDict_GetItemString(dict, "__name__");
    const char *s = fe_utf8(name_b);
    PyErr_Clear();
    if (!s || strncmp(s, "tegula.", strlen("tegula.")) != 0)
        return false;
    PyObject *m_b = PyDict_GetItemString(PyImport_GetModuleDict(), s);
    return m_b && PyModule_Check(m_b) && PyModule_GetDict(m_b) == dict;
}

static bool
is_any_name(PyObject *name)
{
    return name;
}

/* Types of C are not all in their module. */
bool
is_our_object(PyObject *o)
{
    PyObject *lost = NULL;
    bool is = fe_is_from(o, "tegula._core", &lost) ||
              (fe_is_from(o, "tegula", &lost) && is_of(o, is_any_name, false));
    if (lost)
        PyErr_SetNone(lost);
    Py_XDECREF(lost);
    return is || lost;
}

bool
is_ours_module(PyObject *o)
{
    PyObject *dict_b = PyModule_GetDict(o);
    return dict_b && is_our_dict(dict_b);
}

/* A module whose names nobody here rebinds. */
bool
is_library(PyObject *o)
{
    return PyModule_Check(o) && (is_known_object(o) || is_ours_module(o));
}

bool
is_function(PyObject *o)
{
    return PyObject_HasAttrString(o, "__code__");
}
