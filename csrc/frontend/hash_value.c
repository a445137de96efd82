/* hash_value: the values that a kernel names, as the hash has them.
 *
 * Constants by class and repr, all the way down; classes by their fields and methods; a function
 * that runs with the compiler by its code. Functions of our own library count by name.
 */
#include "frontend/hash.h"

static int put_constants(Hash *h, PyObject *code);

/* What runs of a Python function: its code and names, without positions. */
static int
put_code(Hash *h, PyObject *code)
{
    static const char *const parts[] = {"co_code", "co_names", "co_varnames"};
    int bad = 0;
    for (size_t i = 0; !bad && i < COUNT(parts); i++) {
        PyObject *v = PyObject_GetAttrString(code, parts[i]);
        bad = !v || hash_put_repr(h, v);
        Py_XDECREF(v);
    }
    return bad || put_constants(h, code);
}

/* Of some code: the code of functions inside of it is among them. */
static int
put_constants(Hash *h, PyObject *code)
{
    PyObject *all = PyObject_GetAttrString(code, "co_consts");
    int bad = !all;
    for (Py_ssize_t i = 0; !bad && i < PyTuple_Size(all); i++) {
        PyObject *c = PyTuple_GetItem(all, i);
        bad = Py_IS_TYPE(c, Py_TYPE(code)) ? put_code(h, c) : hash_put_repr(h, c);
    }
    Py_XDECREF(all);
    return bad;
}

/* The functions that a decorator's wrapper holds in its closure. */
static int
put_wrapped(Hash *h, PyObject *fn)
{
    PyObject *cells = PyObject_GetAttrString(fn, "__closure__");
    Py_ssize_t n = cells && PyTuple_Check(cells) ? PyTuple_Size(cells) : 0;
    int bad = 0;
    fe_clear(&h->lost);
    for (Py_ssize_t i = 0; !bad && i < n; i++) {
        PyObject *of = PyObject_GetAttrString(PyTuple_GetItem(cells, i),
                                              "cell_contents");
        PyObject *code = of ? PyObject_GetAttrString(of, "__code__") : NULL;
        fe_clear(&h->lost);
        bad = code && put_code(h, code);
        Py_XDECREF(code);
        Py_XDECREF(of);
    }
    Py_XDECREF(cells);
    return bad;
}

/* The values of a class's fields that are left out. */
static int
put_field_defaults(Hash *h, PyObject *cls)
{
    PyObject *of = PyObject_GetAttrString(cls, "_field_defaults");
    PyObject *items = of ? PyMapping_Items(of) : NULL;
    int bad = 0;
    fe_clear(&h->lost); /* aggregates have none */
    for (Py_ssize_t i = 0; items && !bad && i < PyList_Size(items); i++)
        bad = hash_put_value(h, PyList_GetItem(items, i));
    Py_XDECREF(of);
    Py_XDECREF(items);
    return bad;
}

/* What stands in a class under some name, if it is a function. */
static int
put_method(Hash *h, PyObject *v)
{
    PyObject *inner = PyObject_GetAttrString(v, "__func__"); /* a staticmethod's */
    fe_clear(&h->lost);
    v = inner ? inner : v;
    PyObject *code = PyObject_GetAttrString(v, "__code__");
    fe_clear(&h->lost);
    int bad = 0;
    if (code)
        bad = put_code(h, code);
    else if (h->env->as_function(h->env->data, v) ||
             fe_has(v, "__tegula_constexpr__", &h->lost))
        bad = hash_put_value(h, v);
    Py_XDECREF(code);
    Py_XDECREF(inner);
    return bad;
}

static int
put_methods(Hash *h, PyObject *cls)
{
    PyObject *dict = PyObject_GetAttrString(cls, "__dict__");
    PyObject *items = dict ? PyMapping_Items(dict) : NULL;
    int bad = !items;
    for (Py_ssize_t i = 0; !bad && i < PyList_Size(items); i++)
        bad = put_method(h, PyTuple_GetItem(PyList_GetItem(items, i), 1));
    Py_XDECREF(items);
    Py_XDECREF(dict);
    return bad;
}

/* A class of tuples or an aggregate: its fields, and its methods, which may be inlined. */
static int
put_class(Hash *h, PyObject *cls)
{
    PyObject *mro = PyObject_GetAttrString(cls, "__mro__");
    PyObject *fields = PyObject_GetAttrString(cls, "_fields");
    int bad = !mro || !fields || hash_put_repr(h, cls) || hash_put_repr(h, fields) ||
              put_field_defaults(h, cls);
    Py_XDECREF(fields);
    for (Py_ssize_t i = 0; !bad && i < PyTuple_Size(mro); i++) {
        PyObject *base = PyTuple_GetItem(mro, i);
        if (base != (PyObject *)&PyTuple_Type && base != (PyObject *)&PyBaseObject_Type)
            bad = put_methods(h, base);
    }
    Py_XDECREF(mro);
    return bad;
}

static bool
has(Hash *h, PyObject *o, const char *attr)
{
    return fe_has(o, attr, &h->lost);
}

static bool
is_constexpr(Hash *h, PyObject *o)
{
    PyObject *cls = PyObject_GetAttrString(h->env->language, "constexpr");
    bool is = cls && PyObject_IsInstance(o, cls) > 0;
    fe_clear(&h->lost);
    Py_XDECREF(cls);
    return is;
}

static int
put_constexpr(Hash *h, PyObject *o)
{
    PyObject *v = PyObject_GetAttrString(o, "value");
    int bad = !v || hash_put(h, "constexpr") || hash_put_value(h, v);
    Py_XDECREF(v);
    return bad;
}

/* Functions may be in it. */
static int
put_tuple(Hash *h, PyObject *o)
{
    PyObject *name = PyType_GetName(Py_TYPE(o));
    int bad = !name || hash_put_str(h, name) || hash_put(h, "(");
    Py_XDECREF(name);
    for (Py_ssize_t i = 0; !bad && i < PyTuple_Size(o); i++)
        bad = hash_put_value(h, PyTuple_GetItem(o, i));
    return bad || hash_put(h, ")");
}

static int
put_module(Hash *h, PyObject *o)
{
    PyObject *name = PyModule_GetNameObject(o);
    int bad = !name || hash_put(h, "module") || hash_put_str(h, name);
    Py_XDECREF(name);
    return bad;
}

static int
put_builtin(Hash *h, PyObject *o)
{
    PyObject *name = PyObject_GetAttrString(o, "__name__");
    int bad = !name || hash_put_str(h, name);
    Py_XDECREF(name);
    return bad;
}

static int
put_constexpr_function(Hash *h, PyObject *o)
{
    PyObject *inner = PyObject_GetAttrString(o, "fn");
    fe_clear(&h->lost);
    PyObject *code = PyObject_GetAttrString(inner ? inner : o, "__code__");
    fe_clear(&h->lost);
    int bad = code ? put_code(h, code) : hash_put_repr(h, o);
    Py_XDECREF(inner);
    Py_XDECREF(code);
    return bad;
}

/* Of tl.constexpr(function), or nothing that we know. */
static int
put_object(Hash *h, PyObject *o)
{
    PyObject *code = PyObject_GetAttrString(o, "__code__");
    fe_clear(&h->lost);
    int bad = code ? put_code(h, code) || put_wrapped(h, o) : hash_put_repr(h, o);
    Py_XDECREF(code);
    return bad;
}

static int
put_function(Hash *h, FeFunction *fn)
{
    if (fe_is_from(fn->fn, "tegula.language", &h->lost))
        return hash_put(h, fn->name);
    return hash_put_function(h, fn);
}

int
hash_put_value(Hash *h, PyObject *o)
{
    if (is_constexpr(h, o))
        return put_constexpr(h, o);
    if (PyTuple_Check(o))
        return put_tuple(h, o);
    if (PyType_Check(o) && has(h, o, "_fields"))
        return put_class(h, o);
    if (PyModule_Check(o))
        return put_module(h, o);
    FeFunction *fn = h->env->as_function(h->env->data, o);
    if (fn)
        return put_function(h, fn);
    if (has(h, o, "__tegula_builtin__"))
        return put_builtin(h, o);
    if (has(h, o, "__tegula_constexpr__"))
        return put_constexpr_function(h, o);
    return put_object(h, o);
}
