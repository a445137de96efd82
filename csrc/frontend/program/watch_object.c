/* watch_object: what an object or a class holds, when Python code may do anything with it (watch.c).
 *
 *     an array        a copy of its bytes, with format, shape and strides; with addresses in it,
 *                     it is opaque
 *     an object       its dict, that this is its dict, its class, the slots of the class and its bases
 *     a class         its own items, those of its bases, and which bases it has
 *     a function      what somebody has set of it
 */
#include "frontend/program/watch.h"

PyObject *
fe_bytes_of(PyObject *o)
{
    Py_buffer view;
    if (PyObject_GetBuffer(o, &view, PyBUF_FULL_RO))
        return NULL;
    size_t n_format = strlen(view.format ? view.format : "") + 1;
    size_t n_shape = (size_t)view.ndim * sizeof *view.shape;
    size_t n_head = n_format + 1 + 2 * n_shape;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n_head + view.len);
    char *to = bytes ? PyBytes_AsString(bytes) : NULL;
    if (to) {
        memcpy(to, view.format ? view.format : "", n_format);
        to[n_format] = (char)view.readonly;
        if (n_shape) {
            memcpy(to + n_format + 1, view.shape, n_shape);
            memset(to + n_format + 1 + n_shape, 0, n_shape);
            if (view.strides)
                memcpy(to + n_format + 1 + n_shape, view.strides, n_shape);
        }
        if (PyBuffer_ToContiguous(to + n_head, &view, view.len, 'C'))
            Py_CLEAR(bytes);
    }
    PyBuffer_Release(&view);
    return bytes;
}

/* What a class's own dict has under that name, with a double underscore, that no launch needs
 * to look at: what asks for it by its name is opaque (is_dunder). */
static bool
is_idle(PyObject *name)
{
    /* clang-format off */
    static const char *const words[] = {
        "__repr__", "__eq__", "__hash__", "__doc__", "__module__", "__dict__",
        "__weakref__", "__annotations__", "__getnewargs__", "__replace__",
        "__reduce_ex__", "__getstate__", "__setstate__", "__slots__",
        "__qualname__", "__parameters__", "__orig_bases__", "__dataclass_fields__",
        "__dataclass_params__", "__firstlineno__", "__static_attributes__",
        "__classdictcell__", "__annotate_func__", "__annotations_cache__",
        "__abstractmethods__"};
    /* clang-format on */
    for (size_t i = 0; i < COUNT(words); i++)
        if (!PyUnicode_CompareWithASCIIString(name, words[i]))
            return true;
    return false;
}

/* Was the code written by dataclasses or namedtuple? NULL: there is none, so it was. */
static bool
is_generated(PyObject *code)
{
    PyObject *file = code ? watch_look(code, "co_filename") : NULL;
    const char *s = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8AndSize(file, NULL)
                                                  : "<";
    bool is = !s || (*s == '<' && strncmp(s, "<ipython", strlen("<ipython")));
    Py_XDECREF(file);
    return is;
}

/* What a class statement made: its functions, and the constants among them. */
static int
watch_class_items(Watch *w, PyObject *dict, PyObject *label)
{
    PyObject *part = PyDict_New(), *items = PyDict_Items(dict);
    bool outer = w->is_whole;
    int r = part && items ? 0 : -1;
    w->is_whole = true;
    for (Py_ssize_t i = 0; !r && i < PyList_Size(items); i++) {
        PyObject *pair = PyList_GetItem(items, i);
        PyObject *key = PyTuple_GetItem(pair, 0), *v = PyTuple_GetItem(pair, 1);
        const char *s = fe_utf8(key);
        PyObject *code = s ? watch_look(v, "__code__") : NULL;
        if (s && !code) /* of a class method */
            code = watch_look(v, "__func__");
        if (s && !(is_idle(key) && is_generated(code)))
            r = PyDict_SetItem(part, key, v) ? -1
                : code                       ? watch_callable(w, v)
                                             : watch_contents(w, v, label);
        Py_XDECREF(code);
    }
    w->is_whole = outer;
    PyObject *n = PyLong_FromSsize_t(PyDict_Size(dict));
    if (!r)
        r = n ? fe_capture(w->to, (FeCapture){WATCH_PART, dict, n, part, label}) : -1;
    DROP(n, part, items);
    return r;
}

int
watch_bases(Watch *w, PyObject *cls, PyObject *mro, PyObject *label)
{
    PyObject *name = PyTuple_Size(mro) > 2 ? PyUnicode_InternFromString("__mro__")
                                           : NULL;
    FeCapture x = {WATCH_ATTR, cls, name, mro, label};
    int r = name ? fe_capture(w->to, x) : 0;
    Py_XDECREF(name);
    return r ? r : watch_forget();
}

int
watch_class(Watch *w, PyObject *cls)
{
    PyObject *mro = watch_look(cls, "__mro__"), *name = watch_class_label(cls);
    int r = !mro || !name ? watch_forget() : watch_is_seen(w, cls);
    w->is_opaque |= !PyType_CheckExact(cls) && !is_enum((PyObject *)Py_TYPE(cls));
    if (mro && name && !r)
        r = watch_bases(w, cls, mro, name);
    for (Py_ssize_t i = 0; mro && name && !r && i < PyTuple_Size(mro); i++) {
        PyObject *base = PyTuple_GetItem(mro, i);
        PyObject *dict = is_known_object(base) ? NULL : watch_dict_of(base);
        if (dict)
            r = watch_class_items(w, dict, name);
        Py_XDECREF(dict);
    }
    DROP(mro, name);
    return MIN(r, 0);
}

bool
watch_is_slot(PyObject *found)
{
    PyObject *of = PyType_GetName(Py_TYPE(found));
    bool is = of && !PyUnicode_CompareWithASCIIString(of, "member_descriptor");
    Py_XDECREF(of);
    return is;
}

/* A slot of an object, which may be empty. */
int
watch_slot(Watch *w, PyObject *o, PyObject *name, PyObject *label)
{
    PyObject *v = PyObject_GetAttr(o, name);
    int r = v ? 0 : watch_forget();
    if (!r)
        r = fe_capture(w->to, (FeCapture){WATCH_ATTR, o, name, v, label});
    if (v && !r)
        r = watch_contents(w, v, label);
    Py_XDECREF(v);
    return r;
}

/* The slots that the object's class and its bases have: its attributes without a dict. */
static int
watch_slots(Watch *w, PyObject *o)
{
    PyObject *mro = watch_look((PyObject *)Py_TYPE(o), "__mro__"), *name, *found;
    int r = mro ? 0 : watch_forget();
    for (Py_ssize_t i = 0; mro && !r && i < PyTuple_Size(mro); i++) {
        PyObject *base = PyTuple_GetItem(mro, i);
        PyObject *dict = is_known_object(base) ? NULL : watch_dict_of(base);
        PyObject *items = dict ? PyDict_Items(dict) : NULL;
        for (Py_ssize_t j = 0; items && !r && j < PyList_Size(items); j++) {
            name = PyTuple_GetItem(PyList_GetItem(items, j), 0);
            found = PyTuple_GetItem(PyList_GetItem(items, j), 1);
            if (!watch_is_slot(found) || !PyUnicode_Check(name))
                continue;
            PyObject *of = watch_attribute_label(o, name);
            r = of ? watch_slot(w, o, name, of) : watch_forget();
            Py_XDECREF(of);
        }
        DROP(dict, items);
    }
    Py_XDECREF(mro);
    return r ? r : watch_forget();
}

/* Are there addresses or objects in what a buffer of that format holds? Complex numbers are Zd. */
static bool
has_addresses(const char *format)
{
    const char *z = strchr(format, 'Z');
    return strpbrk(format, "O&PXz") || (z && !strchr("dfg", z[1]));
}

/* The bytes of an array; addresses say nothing of what is there. */
static int
watch_buffer(Watch *w, PyObject *o)
{
    PyObject *bytes = fe_bytes_of(o);
    const char *s = bytes ? PyBytes_AsString(bytes) : NULL;
    w->is_opaque |= s && has_addresses(s); /* its format stands first */
    return watch_copy(w, WATCH_BYTES, o, bytes, NULL);
}

/* The dict of an object, and that it is the object's. */
static int
watch_own(Watch *w, PyObject *o, PyObject *label)
{
    PyObject *dict = watch_dict_of(o), *cls = (PyObject *)Py_TYPE(o);
    int r = dict ? watch_dict(w, dict, label) : 0;
    if (!r && (dict || !is_known_object(cls)))
        r = fe_capture(w->to, (FeCapture){WATCH_CLASS, o, dict, cls, label});
    Py_XDECREF(dict);
    return r;
}

/* Has somebody set an attribute? A function of constants has some of its own. */
static bool
has_more(PyObject *dict)
{
    PyObject *key, *value;
    for (Py_ssize_t at = 0; dict && PyDict_Next(dict, &at, &key, &value);)
        if (!is_dunder(key) && PyUnicode_Check(key) &&
            PyUnicode_CompareWithASCIIString(key, "fn"))
            return true;
    return false;
}

int
watch_attributes(Watch *w, PyObject *o)
{
    PyObject *dict = watch_dict_of(o),
             *label = watch_class_label((PyObject *)Py_TYPE(o));
    int r = label && has_more(dict) ? watch_own(w, o, label) : watch_forget();
    DROP(dict, label);
    return r;
}

int
watch_object(Watch *w, PyObject *o)
{
    PyObject *cls = (PyObject *)Py_TYPE(o);
    if (w->env->as_function(w->env->data, o) || is_our_object(cls))
        return watch_forget();
    bool is_buffer = PyObject_CheckBuffer(o);
    int r = is_buffer && !PyBytes_Check(o) ? watch_buffer(w, o) : 0;
    if (r || PyBytes_CheckExact(o))
        return r;
    bool is_installed = !is_buffer && is_of(cls, is_installed_name, false);
    w->is_opaque |= is_installed ||
                    (!is_buffer && (is_opaque_class(cls) ||
                                    (is_known_object(cls) && !is_pure_object(cls))));
    if (is_installed)
        return 0;
    PyObject *name = watch_class_label(cls);
    r = name ? watch_own(w, o, name) : watch_forget();
    if (!r && name)
        r = watch_slots(w, o);
    if (!r && !is_known_object(cls)) /* its operators */
        r = watch_class(w, cls);
    Py_XDECREF(name);
    return r;
}
