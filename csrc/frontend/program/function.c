/* function: what the decorator keeps of a Python function: its parameters, their defaults
 * and what their annotations say. Cheap: its text is read with the first compile (source.c).
 */
#include <stdlib.h>

#include "frontend/frontend.h"

char *
fe_copy_utf8(PyObject *s)
{
    Py_ssize_t n;
    const char *u = PyUnicode_AsUTF8AndSize(s, &n);
    if (!u)
        return NULL;
    char *r = malloc((size_t)n + 1);
    if (!r) {
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(r, u, (size_t)n + 1);
    return r;
}

/* ---- annotations --------------------------------------------------------------------- */

/* tl.int64, int64, i32, fp16, int, float, bool -> the element type. */
static bool
elem_named(const char *s, Elem *e)
{
    static const struct {
        const char *name;
        Elem e;
    } python[] = {
        {"int", E_I32}, {"float", E_F32},  {"bool", E_I1},  {"B", E_I1},
        {"u1", E_I1},   {"double", E_F64}, {"uint1", E_I1},
    };
    const char *dot = strrchr(s, '.');
    if (dot)
        s = dot + 1;
    for (size_t i = 0; i < COUNT(python); i++)
        if (!strcmp(s, python[i].name)) {
            *e = python[i].e;
            return true;
        }
    for (int i = 0; i < N_ELEM; i++)
        if (!strcmp(s, elem_info[i].tl) || !strcmp(s, elem_info[i].sig)) {
            *e = (Elem)i;
            return true;
        }
    return false;
}

/* Fills p from the annotation's text; quotes of "'*fp32'" are stripped. */
static void
annotation_text(FeParam *p, const char *s)
{
    char buf[64];
    size_t n = strlen(s);
    if (n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n - 1] == s[0] && n < sizeof buf) {
        memcpy(buf, s + 1, n - 2);
        buf[n - 2] = 0;
        s = buf;
    }
    const char *dot = strrchr(s, '.');
    const char *last = dot ? dot + 1 : s;
    if (strstr(s, "constexpr"))
        p->is_constexpr = true;
    else if (!strcmp(last, "const"))
        p->is_const = true;
    else if (s[0] == '*') {
        const char *of = s[1] == 'k' ? s + 2 : s + 1;
        if (elem_named(of, &p->elem)) {
            p->has_type = p->is_pointer = true;
            p->is_const = s[1] == 'k';
        }
    } else
        p->has_type = elem_named(s, &p->elem);
}

/* Reads what an annotation object says; 0, or -1 with an exception set. */
static int
annotation(FeParam *p, PyObject *ann)
{
    PyObject *text = NULL, *pointee;
    if (PyUnicode_Check(ann)) {
        text = Py_NewRef(ann);
    } else if (PyType_Check(ann)) {
        text = PyObject_GetAttrString(ann, "__name__");
    } else if ((pointee = PyObject_GetAttrString(ann, "element_ty"))) {
        PyObject *name = PyObject_GetAttrString(pointee, "name");
        Py_DECREF(pointee);
        const char *s = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        if (s && elem_named(s, &p->elem))
            p->has_type = p->is_pointer = true;
        Py_XDECREF(name);
        PyErr_Clear();
        return 0;
    } else {
        PyErr_Clear();
        text = PyObject_GetAttrString(ann, "name"); /* a tl.dtype */
        if (!text || !PyUnicode_Check(text)) {
            PyErr_Clear();
            Py_XDECREF(text);
            text = PyObject_Str(ann);
        }
    }
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    if (s)
        annotation_text(p, s);
    Py_XDECREF(text);
    return s ? 0 : -1;
}

/* ---- parameters ---------------------------------------------------------------------- */

/* Marks the parameters that list (names or indices) picks; 0, or -1 with an exception.
 * One that is no parameter is a warning: libraries leave the names of parameters that they
 * removed in their decorators. Frames above: __init__, jit's make, the kernel's file. */
static int
mark_params(FeFunction *f, PyObject *list, size_t offset, const char *option)
{
    if (!list || list == Py_None)
        return 0;
    Py_ssize_t n = PySequence_Size(list);
    if (n < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        if (!item)
            return -1;
        int at = -1;
        if (PyLong_Check(item)) {
            long k = PyLong_AsLong(item);
            PyErr_Clear();
            if (k >= 0 && k < f->n_params)
                at = (int)k;
        } else {
            for (int k = 0; k < f->n_params && at < 0; k++) {
                int eq = PyObject_RichCompareBool(item, f->params[k].name, Py_EQ);
                if (eq < 0) {
                    Py_DECREF(item);
                    return -1;
                }
                if (eq)
                    at = k;
            }
        }
        if (at < 0) {
            int bad = PyErr_WarnFormat(PyExc_UserWarning, 3,
                                       "%s(): %s names %R, which is no parameter",
                                       f->name, option, item);
            Py_DECREF(item);
            if (bad)
                return -1;
            continue;
        }
        Py_DECREF(item);
        *(bool *)((char *)&f->params[at] + offset) = true;
    }
    return 0;
}

/* The i-th of n_defaults values for the last of n parameters; borrowed or NULL. */
static PyObject *
default_b(PyObject *defaults, int i, int n)
{
    if (!defaults || defaults == Py_None)
        return NULL;
    Py_ssize_t first = n - PyTuple_Size(defaults);
    return i >= first ? PyTuple_GetItem(defaults, i - first) : NULL;
}

/* fn.__annotations__; from Python 3.14 on reading them runs code, which fails when a name
 * in one is not defined: then their text. New ref, or NULL with an exception. */
static PyObject *
read_annotations(PyObject *fn)
{
    PyObject *ann = PyObject_GetAttrString(fn, "__annotations__"), *lib, *format, *get;
    if (ann || !PyErr_ExceptionMatches(PyExc_NameError))
        return ann;
    PyErr_Clear();
    lib = PyImport_ImportModule("annotationlib");
    if (!lib)
        return NULL;
    format = PyObject_GetAttrString(lib, "Format");
    get = format ? PyObject_GetAttrString(format, "STRING") : NULL;
    if (get) {
        PyObject *args = Py_BuildValue("(O)", fn),
                 *kw = Py_BuildValue("{sO}", "format", get);
        PyObject *call = PyObject_GetAttrString(lib, "get_annotations");
        if (args && kw && call)
            ann = PyObject_Call(call, args, kw);
        DROP(args, kw, call);
    }
    Py_DECREF(lib);
    DROP(format, get);
    return ann;
}

/* One inspect.Parameter; empty is its mark for what is not given. 0, or -1. */
static int
read_parameter(FeParam *p, PyObject *from, PyObject *empty)
{
    p->name = PyObject_GetAttrString(from, "name");
    PyObject *value = PyObject_GetAttrString(from, "default");
    PyObject *ann = PyObject_GetAttrString(from, "annotation");
    long kind = fe_get_long(from, "kind");
    int r = p->name && value && ann && !PyErr_Occurred() ? 0 : -1;
    p->keyword_only = kind == 3; /* inspect.Parameter.KEYWORD_ONLY */
    if (!r && value != empty)
        p->default_value = Py_NewRef(value);
    if (!r && ann != empty)
        r = annotation(p, ann);
    DROP(value, ann);
    return r;
}

/* Libraries that write kernels at run time give a function without parameters the signature
 * of the source that _set_source is about to bring. 1: f->params are filled from it; 0: fn
 * has none, or one of as many parameters as its code; -1 with an exception. */
static int
read_signature(FeFunction *f, long n_of_code)
{
    PyObject *sig = PyObject_GetAttrString(f->fn, "__signature__");
    if (!sig)
        return PyErr_Clear(), 0;
    PyObject *by_name = PyObject_GetAttrString(sig, "parameters");
    PyObject *empty = PyObject_GetAttrString(sig, "empty");
    PyObject *list = by_name && empty ? PyMapping_Values(by_name) : NULL;
    int r = list ? 0 : -1;
    if (list && PyList_Size(list) != n_of_code) {
        f->n_params = (int)PyList_Size(list);
        f->params = calloc((size_t)f->n_params + 1, sizeof *f->params);
        if (!f->params)
            PyErr_NoMemory();
        r = f->params ? 1 : -1;
        for (int i = 0; r > 0 && i < f->n_params; i++)
            if (read_parameter(&f->params[i], PyList_GetItem(list, i), empty))
                r = -1;
    }
    Py_DECREF(sig);
    DROP(by_name, empty, list);
    return r;
}

/* Fills f->params from code, defaults and annotations; 0, or -1 with an exception. */
static int
read_params(FeFunction *f, PyObject *code)
{
    int res = -1;
    PyObject *names = NULL, *defaults = NULL, *kw_defaults = NULL, *annotations = NULL;
    long n_pos = fe_get_long(code, "co_argcount");
    long n_kw = fe_get_long(code, "co_kwonlyargcount");
    if (PyErr_Occurred())
        goto done;
    int from_signature = read_signature(f, n_pos + n_kw);
    if (from_signature)
        return from_signature > 0 ? 0 : -1;
    names = PyObject_GetAttrString(code, "co_varnames");
    defaults = PyObject_GetAttrString(f->fn, "__defaults__");
    kw_defaults = PyObject_GetAttrString(f->fn, "__kwdefaults__");
    annotations = read_annotations(f->fn);
    if (!names || !defaults || !kw_defaults || !annotations)
        goto done;
    f->n_params = (int)(n_pos + n_kw);
    f->params = calloc((size_t)f->n_params + 1, sizeof *f->params);
    if (!f->params) {
        PyErr_NoMemory();
        goto done;
    }
    for (int i = 0; i < f->n_params; i++) {
        FeParam *p = &f->params[i];
        PyObject *name_b = PyTuple_GetItem(names, i);
        if (!name_b)
            goto done;
        p->name = Py_NewRef(name_b);
        p->keyword_only = i >= n_pos;
        PyObject *value_b = NULL;
        if (!p->keyword_only)
            value_b = default_b(defaults, i, (int)n_pos);
        else if (kw_defaults != Py_None)
            value_b = PyDict_GetItemWithError(kw_defaults, name_b);
        if (!value_b && PyErr_Occurred())
            goto done;
        p->default_value = Py_XNewRef(value_b);
        PyObject *ann_b = PyDict_GetItemWithError(annotations, name_b);
        if (!ann_b && PyErr_Occurred())
            goto done;
        if (ann_b && annotation(p, ann_b))
            goto done;
    }
    res = 0;
done:
    DROP(names, defaults, kw_defaults, annotations);
    return res;
}

/* A bytearray: all but the head of a function's object, whose size its class tells. Empty: of what
 * is none of Python's functions. */
static PyObject *
image_of(PyObject *fn)
{
    PyObject *cls = (PyObject *)Py_TYPE(fn);
    bool is_plain = PyType_GetFlags(Py_TYPE(fn)) & Py_TPFLAGS_IMMUTABLETYPE;
    long size = is_plain ? fe_get_long(cls, "__basicsize__") : 0;
    if (size == -1)
        return NULL;
    Py_ssize_t head = sizeof(PyObject);
    return PyByteArray_FromStringAndSize((char *)fn + head, MAX(size - head, 0));
}

PyObject *
fe_made_of(PyObject *fn)
{
    static const char *const names[MADE_PARTS] = {"__code__", "__defaults__",
                                                  "__kwdefaults__", "__annotations__"};
    PyObject *made = PyTuple_New(MADE_ALL);
    for (int i = 0; made && i < MADE_PARTS; i++) {
        PyObject *name = PyUnicode_InternFromString(names[i]), *copy = NULL;
        PyObject *v = !name                 ? NULL
                      : i == MADE_PARTS - 1 ? read_annotations(fn)
                                            : PyObject_GetAttr(fn, name);
        if (v)
            copy = PyDict_Check(v) ? PyDict_Copy(v) : Py_NewRef(v);
        if (name && copy) {
            PyTuple_SetItem(made, i, copy);
            PyTuple_SetItem(made, MADE_NAMES + i, name);
            if (i >= MADE_PARTS - 2)
                PyTuple_SetItem(made, MADE_LIVE + i - (MADE_PARTS - 2), Py_NewRef(v));
            Py_XDECREF(v);
        } else {
            DROP(v, name);
            Py_CLEAR(made);
        }
    }
    /* Last, as a function's annotations are made when they are asked for. */
    PyObject *image = made ? image_of(fn) : NULL;
    if (!image)
        Py_CLEAR(made);
    else
        PyTuple_SetItem(made, MADE_IMAGE, image);
    return made;
}

FeFunction *
fe_function_new(PyObject *fn, PyObject *no_specialize, PyObject *no_align)
{
    PyObject *code = PyObject_GetAttrString(fn, "__code__"), *s = NULL;
    if (!code) {
        if (!fe_is_grave())
            PyErr_Format(PyExc_TypeError, "@jit needs a Python function, not %R", fn);
        return NULL;
    }
    FeFunction *f = calloc(1, sizeof *f);
    if (!f) {
        Py_DECREF(code);
        PyErr_NoMemory();
        return NULL;
    }
    f->fn = Py_NewRef(fn);
    s = PyObject_GetAttrString(code, "co_filename");
    if (!s || !(f->file = fe_copy_utf8(s)))
        goto fail;
    Py_DECREF(s);
    s = PyObject_GetAttrString(fn, "__name__");
    if (!s || !(f->name = fe_copy_utf8(s)))
        goto fail;
    if (!strcmp(f->name, "<lambda>"))
        strcpy(f->name, "lambda"); /* a word that no other function is called */
    Py_CLEAR(s);
    f->globals = PyObject_GetAttrString(fn, "__globals__");
    if (!f->globals)
        goto fail;
    f->first_line = (int)fe_get_long(code, "co_firstlineno");
    if (PyErr_Occurred() || read_params(f, code) || !(f->made = fe_made_of(fn)))
        goto fail;
    if (mark_params(f, no_specialize, offsetof(FeParam, no_specialize),
                    "do_not_specialize") ||
        mark_params(f, no_align, offsetof(FeParam, no_align),
                    "do_not_specialize_on_alignment"))
        goto fail;
    Py_DECREF(code);
    return f;
fail:
    Py_XDECREF(s);
    Py_DECREF(code);
    fe_function_free(f);
    return NULL;
}

void
fe_function_free(FeFunction *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->n_params && f->params; i++) {
        DROP(f->params[i].name, f->params[i].default_value);
    }
    free(f->params);
    free(f->packed);
    DROP(f->fn, f->made, f->ast, f->globals, f->closure, f->source, f->text);
    free(f->file);
    free(f->name);
    free(f);
}

int
fe_function_traverse(FeFunction *f, visitproc visit, void *arg)
{
    if (!f)
        return 0;
    for (int i = 0; i < f->n_params && f->params; i++)
        Py_VISIT(f->params[i].default_value);
    Py_VISIT(f->fn);
    Py_VISIT(f->made);
    Py_VISIT(f->globals);
    Py_VISIT(f->closure);
    return 0;
}
