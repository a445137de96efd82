/* hash: what a compile depends on, as a name for files on disk.
 *
 * Into SHA-256 go: the function's syntax tree (classes, identifiers and constants; no
 * positions, no docstring, no decorators), the values of the globals, closure variables
 * and defaults it names, and the same of every @jit function among those. Functions of our
 * own library count by name: they change with the compiler's version, which the cache
 * knows. A global whose repr holds an address makes a new name each time: a miss, never a
 * wrong hit.
 */
#include "frontend/frontend.h"

enum { MAX_DEPTH = 400 };

typedef struct Hash {
    const FeEnv *env;
    FeFunction *fn; /* the one being walked */
    PyObject *sha;
    PyObject *seen; /* set of FeFunction addresses */
    char buf[4096];
    size_t n;
    int depth;
} Hash;

static int
flush(Hash *h)
{
    if (!h->n)
        return 0;
    PyObject *bytes = PyBytes_FromStringAndSize(h->buf, (Py_ssize_t)h->n);
    PyObject *r = bytes ? PyObject_CallMethod(h->sha, "update", "O", bytes) : NULL;
    h->n = 0;
    Py_XDECREF(bytes);
    Py_XDECREF(r);
    return r ? 0 : -1;
}

static int
put_n(Hash *h, const char *s, size_t n)
{
    while (n) {
        size_t k = MIN(n, sizeof h->buf - h->n);
        memcpy(h->buf + h->n, s, k);
        h->n += k;
        s += k;
        n -= k;
        if (h->n == sizeof h->buf && flush(h))
            return -1;
    }
    return 0;
}

/* With its length in front, so that no two sequences of texts look alike. */
static int
put_text(Hash *h, const char *s, size_t n)
{
    char len[32];
    int k = snprintf(len, sizeof len, "%zu:", n);
    return put_n(h, len, (size_t)k) || put_n(h, s, n) ? -1 : 0;
}

static int
put(Hash *h, const char *s)
{
    return put_text(h, s, strlen(s));
}

static int
put_str(Hash *h, PyObject *s)
{
    Py_ssize_t n;
    const char *u = PyUnicode_AsUTF8AndSize(s, &n);
    if (u)
        return put_text(h, u, (size_t)n);
    /* lone surrogates: their repr is ASCII */
    PyErr_Clear();
    PyObject *r = PyObject_ASCII(s);
    u = r ? PyUnicode_AsUTF8AndSize(r, &n) : NULL;
    int bad = !u || put_text(h, u, (size_t)n);
    Py_XDECREF(r);
    return bad ? -1 : 0;
}

/* The class's name and the repr. */
static int
put_repr(Hash *h, PyObject *o)
{
    PyObject *name = PyType_GetName(Py_TYPE(o)), *r = name ? PyObject_Repr(o) : NULL;
    int bad = !r || put_str(h, name) || put_str(h, r);
    Py_XDECREF(name);
    Py_XDECREF(r);
    return bad ? -1 : 0;
}

static int put_function(Hash *h, FeFunction *fn);

static bool
is_ours(PyObject *o)
{
    PyObject *mod = PyObject_GetAttrString(o, "__module__");
    const char *s = mod && PyUnicode_Check(mod) ? PyUnicode_AsUTF8AndSize(mod, NULL)
                                                : NULL;
    bool ours = s && !strncmp(s, "tegula.language", 15);
    PyErr_Clear();
    Py_XDECREF(mod);
    return ours;
}

/* What runs of a Python function: its code and names, without positions. */
static int
put_code(Hash *h, PyObject *code)
{
    static const char *const parts[] = {"co_code", "co_names", "co_varnames",
                                        "co_consts"};
    for (size_t i = 0; i < COUNT(parts); i++) {
        PyObject *v = PyObject_GetAttrString(code, parts[i]);
        int bad = !v;
        if (v && i == 3 && PyTuple_Check(v)) {
            for (Py_ssize_t k = 0; !bad && k < PyTuple_Size(v); k++) {
                PyObject *c = PyTuple_GetItem(v, k);
                bad = !c ||
                      (Py_IS_TYPE(c, Py_TYPE(code)) ? put_code(h, c) : put_repr(h, c));
            }
        } else if (v)
            bad = put_repr(h, v);
        Py_XDECREF(v);
        if (bad)
            return -1;
    }
    return 0;
}

static int put_value(Hash *h, PyObject *o);

/* A class of tuples or an aggregate: its methods may be inlined. */
static int
put_class(Hash *h, PyObject *cls)
{
    PyObject *mro = PyObject_GetAttrString(cls, "__mro__");
    int bad = !mro || put_repr(h, cls);
    for (Py_ssize_t i = 0; !bad && i < PyTuple_Size(mro); i++) {
        PyObject *base = PyTuple_GetItem(mro, i), *dict = NULL, *items = NULL;
        if (base == (PyObject *)&PyTuple_Type || base == (PyObject *)&PyBaseObject_Type)
            continue;
        dict = PyObject_GetAttrString(base, "__dict__");
        items = dict ? PyMapping_Items(dict) : NULL;
        bad = !items;
        for (Py_ssize_t k = 0; !bad && k < PyList_Size(items); k++) {
            PyObject *item = PyList_GetItem(items, k), *v = PyTuple_GetItem(item, 1);
            PyObject *code = PyObject_GetAttrString(v, "__code__");
            PyErr_Clear();
            if (code)
                bad = put_code(h, code);
            else if (h->env->as_function(h->env->data, v) ||
                     PyObject_HasAttrString(v, "__tegula_constexpr__"))
                bad = put_value(h, v);
            Py_XDECREF(code);
        }
        Py_XDECREF(items);
        Py_XDECREF(dict);
    }
    Py_XDECREF(mro);
    return bad ? -1 : 0;
}

/* A value that a kernel may have used. */
static int
put_value(Hash *h, PyObject *o)
{
    if (PyType_Check(o) && PyObject_HasAttrString(o, "_fields"))
        return put_class(h, o);
    if (PyModule_Check(o)) {
        PyObject *name = PyModule_GetNameObject(o);
        int bad = !name || put(h, "module") || put_str(h, name);
        Py_XDECREF(name);
        return bad ? -1 : 0;
    }
    FeFunction *fn = h->env->as_function(h->env->data, o);
    if (fn && !is_ours(fn->fn))
        return put_function(h, fn);
    if (fn)
        return put(h, fn->name);
    if (PyObject_HasAttrString(o, "__tegula_builtin__")) {
        PyObject *name = PyObject_GetAttrString(o, "__name__");
        int bad = !name || put_str(h, name);
        Py_XDECREF(name);
        return bad ? -1 : 0;
    }
    if (PyObject_HasAttrString(o, "__tegula_constexpr__")) {
        PyObject *inner = PyObject_GetAttrString(o, "fn");
        if (!inner) {
            PyErr_Clear();
            inner = Py_NewRef(o);
        }
        PyObject *code = PyObject_GetAttrString(inner, "__code__");
        int bad = code ? put_code(h, code) : put_repr(h, o);
        PyErr_Clear();
        Py_DECREF(inner);
        Py_XDECREF(code);
        return bad;
    }
    return put_repr(h, o);
}

/* What expression o names: new ref, or NULL without an exception when it is not a name, or
 * an attribute of a module. */
static PyObject *
resolve(Hash *h, PyObject *o)
{
    PyObject *res = NULL, *key = PyObject_GetAttrString(o, "id");
    if (key) {
        PyObject *v = NULL;
        if (h->fn->closure)
            v = PyDict_GetItemWithError(h->fn->closure, key);
        if (!v)
            v = PyDict_GetItemWithError(h->fn->globals, key);
        res = Py_XNewRef(v);
    } else {
        PyErr_Clear();
        key = PyObject_GetAttrString(o, "attr");
        PyObject *of = key ? PyObject_GetAttrString(o, "value") : NULL;
        PyObject *base = of ? resolve(h, of) : NULL;
        if (base && PyModule_Check(base))
            res = PyObject_GetAttr(base, key);
        Py_XDECREF(base);
        Py_XDECREF(of);
    }
    PyErr_Clear();
    Py_XDECREF(key);
    return res;
}

static int put_tree(Hash *h, PyObject *o);

static int
put_list(Hash *h, PyObject *list, Py_ssize_t first)
{
    if (put(h, "["))
        return -1;
    for (Py_ssize_t i = first; i < PyList_Size(list); i++)
        if (put_tree(h, PyList_GetItem(list, i)))
            return -1;
    return put(h, "]");
}

/* Is the first statement of a body a text that nobody reads? */
static bool
has_docstring(PyObject *body)
{
    PyObject *first = PyList_Size(body) ? PyList_GetItem(body, 0) : NULL;
    PyObject *v = first ? PyObject_GetAttrString(first, "value") : NULL;
    PyObject *name = first ? PyType_GetName(Py_TYPE(first)) : NULL;
    PyObject *text = v ? PyObject_GetAttrString(v, "value") : NULL;
    bool is = name && !PyUnicode_CompareWithASCIIString(name, "Expr") && text &&
              PyUnicode_Check(text);
    PyErr_Clear();
    Py_XDECREF(v);
    Py_XDECREF(name);
    Py_XDECREF(text);
    return is;
}

/* A node of ast, a list of them, or a constant. */
static int
put_tree(Hash *h, PyObject *o)
{
    int bad = -1;
    if (PyList_Check(o))
        return put_list(h, o, 0);
    PyObject *fields = PyObject_GetAttrString(o, "_fields");
    if (!fields) {
        PyErr_Clear();
        return put_repr(h, o);
    }
    if (++h->depth > MAX_DEPTH) {
        Py_DECREF(fields);
        PyErr_SetString(PyExc_RecursionError, "a kernel is nested too deeply");
        return -1;
    }
    PyObject *name = PyType_GetName(Py_TYPE(o)), *named = NULL;
    if (!name || put_str(h, name))
        goto done;
    for (Py_ssize_t i = 0; i < PyTuple_Size(fields); i++) {
        PyObject *key = PyTuple_GetItem(fields, i), *v;
        if (!PyUnicode_CompareWithASCIIString(key, "ctx") ||
            !PyUnicode_CompareWithASCIIString(key, "kind") ||
            !PyUnicode_CompareWithASCIIString(key, "decorator_list") ||
            !PyUnicode_CompareWithASCIIString(key, "type_comment"))
            continue;
        v = PyObject_GetAttr(o, key);
        bool is_body = !PyUnicode_CompareWithASCIIString(key, "body");
        int failed = !v ||
                     (is_body && PyList_Check(v) ? put_list(h, v, has_docstring(v))
                                                 : put_tree(h, v));
        Py_XDECREF(v);
        if (failed)
            goto done;
    }
    bad = 0;
    bool is_name = !PyUnicode_CompareWithASCIIString(name, "Name");
    if (is_name || !PyUnicode_CompareWithASCIIString(name, "Attribute"))
        named = resolve(h, o);
    if (named)
        bad = put_value(h, named);
done:
    h->depth--;
    Py_DECREF(fields);
    Py_XDECREF(name);
    Py_XDECREF(named);
    return bad;
}

static int
put_function(Hash *h, FeFunction *fn)
{
    PyObject *key = PyLong_FromVoidPtr(fn);
    int known = key ? PySet_Contains(h->seen, key) : -1;
    if (known || PySet_Add(h->seen, key)) {
        Py_XDECREF(key);
        return known > 0 ? put(h, fn->name) : -1;
    }
    Py_DECREF(key);
    if (fe_function_parse(fn))
        return -1;
    if (++h->depth > MAX_DEPTH) {
        PyErr_SetString(PyExc_RecursionError, "functions call each other too deeply");
        return -1;
    }
    FeFunction *outer = h->fn;
    h->fn = fn;
    int bad = put_tree(h, fn->ast);
    for (int i = 0; !bad && i < fn->n_params; i++) {
        const FeParam *p = &fn->params[i];
        char flags[8] = {'0' + p->is_constexpr, '0' + p->is_const, '0' + p->has_type,
                         '0' + p->no_specialize};
        bad = put(h, flags) || (p->default_value && put_value(h, p->default_value));
    }
    h->fn = outer;
    h->depth--;
    return bad ? -1 : 0;
}

PyObject *
fe_sha256(void)
{
    static const char *const modules[] = {"_sha2", "_sha256", "hashlib"};
    for (size_t i = 0; i < COUNT(modules); i++) {
        PyObject *m = PyImport_ImportModule(modules[i]);
        if (m) {
            PyObject *sha = PyObject_CallMethod(m, "sha256", NULL);
            Py_DECREF(m);
            return sha;
        }
        if (i + 1 < COUNT(modules))
            PyErr_Clear();
    }
    return NULL;
}

/* The knob that the frontend bakes into a kernel. */
static int
put_knobs(Hash *h)
{
    PyObject *knobs = PyImport_ImportModule("tegula.knobs");
    PyObject *group = knobs ? PyObject_GetAttrString(knobs, "language") : NULL;
    PyObject *value = group ? PyObject_GetAttrString(group, "fp32_default") : NULL;
    int bad = !value || put_repr(h, value);
    Py_XDECREF(knobs);
    Py_XDECREF(group);
    Py_XDECREF(value);
    return bad;
}

PyObject *
fe_function_hash(const FeEnv *env, FeFunction *fn)
{
    Hash h = {.env = env, .sha = fe_sha256(), .seen = PySet_New(NULL)};
    PyObject *res = NULL;
    if (h.sha && h.seen && !put_function(&h, fn) && !put_knobs(&h) && !flush(&h))
        res = PyObject_CallMethod(h.sha, "digest", NULL);
    Py_XDECREF(h.sha);
    Py_XDECREF(h.seen);
    return res;
}
