/* same: are two constants the same to a kernel, or to a function of constants?
 *
 * == is not enough: 1 == True, 0.0 == -0.0, and a class may say yes to anything. So two objects are of
 * one type, equal where their class has an ==, and equal again in what pickle would write of them.
 * Both functions run code of others. */
#include "frontend/frontend.h"

bool
fe_has_class_of_ours(PyObject *o)
{
    PyObject *lost = NULL;
    bool is = fe_is_from((PyObject *)Py_TYPE(o), "tegula", &lost);
    Py_XDECREF(lost);
    return is;
}

static int same_constant(PyObject *a, PyObject *b, bool is_equal);

static int
same_elements(PyObject *a, PyObject *b, bool is_equal)
{
    Py_ssize_t n = PyTuple_Size(a);
    int r = n == PyTuple_Size(b);
    for (Py_ssize_t i = 0; r == 1 && i < n; i++)
        r = same_constant(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i), is_equal);
    return r;
}

static int
same_dicts(PyObject *a, PyObject *b, bool is_equal)
{
    PyObject *x = PyDict_Items(a), *y = x ? PyDict_Items(b) : NULL;
    PyObject *p = y ? PyList_AsTuple(x) : NULL, *q = p ? PyList_AsTuple(y) : NULL;
    int r = q ? same_elements(p, q, is_equal) : -1;
    DROP(x, y, p, q);
    return r;
}

/* What a list, a set or an iterator gives. */
static int
same_sequences(PyObject *a, PyObject *b, bool is_equal)
{
    PyObject *p = PySequence_Tuple(a), *q = p ? PySequence_Tuple(b) : NULL;
    int r = q ? same_elements(p, q, is_equal) : -1;
    DROP(p, q);
    return r;
}

static int
same_bytes(PyObject *a, PyObject *b)
{
    PyObject *x = fe_bytes_of(a), *y = x ? fe_bytes_of(b) : NULL;
    int r = y ? !strchr(PyBytes_AsString(x), 'O') &&
                    PyObject_RichCompareBool(x, y, Py_EQ) > 0
              : -1;
    DROP(x, y);
    return r;
}

/* Are two objects the same to what can look deeper than ==? By what pickle would write: a function,
 * its arguments, a state, and iterators over elements and items; what cannot be pickled is another
 * one. */
static int
same_state(PyObject *a, PyObject *b, bool is_equal)
{
    PyObject *x = PyObject_CallMethod(a, "__reduce_ex__", "i", 2);
    PyObject *y = x ? PyObject_CallMethod(b, "__reduce_ex__", "i", 2) : NULL;
    int r = !y ? (fe_is_grave() ? -1 : 0)
            : !PyTuple_Check(x) || !PyTuple_Check(y)
                ? same_constant(x, y, is_equal)
                : PyTuple_Size(x) == PyTuple_Size(y);
    for (Py_ssize_t i = 0; r == 1 && PyTuple_Check(x) && i < PyTuple_Size(x); i++) {
        PyObject *p = PyTuple_GetItem(x, i), *q = PyTuple_GetItem(y, i);
        r = i >= 3 && p != Py_None && q != Py_None ? same_sequences(p, q, is_equal)
                                                   : same_constant(p, q, is_equal);
    }
    if (r >= 0)
        PyErr_Clear();
    DROP(x, y);
    return r;
}

/* Objects of any class: where it has an ==, this must say yes, too. is_equal: also object's own, which
 * says so of one object. */
static int
same_objects(PyObject *a, PyObject *b, bool is_equal)
{
    PyObject *is = PyObject_GetAttrString((PyObject *)Py_TYPE(a), "__eq__");
    PyObject *of = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__eq__");
    bool has_eq = is && of && is != of;
    int r = !is || !of ? -1
            : has_eq   ? PyObject_RichCompareBool(a, b, Py_EQ)
                       : !is_equal;
    bool is_simple = PyLong_CheckExact(a) || PyUnicode_CheckExact(a) ||
                     PyBytes_CheckExact(a) || (has_eq && fe_has_class_of_ours(a));
    DROP(is, of);
    return r <= 0 || is_simple ? r : same_state(a, b, is_equal);
}

static int
same_deep(PyObject *a, PyObject *b, bool is_equal)
{
    if (PyTuple_CheckExact(a))
        return same_elements(a, b, is_equal);
    if (PyDict_CheckExact(a))
        return PyDict_Size(a) == PyDict_Size(b) ? same_dicts(a, b, is_equal) : 0;
    if (PyList_CheckExact(a) || Py_IS_TYPE(a, &PySet_Type) ||
        Py_IS_TYPE(a, &PyFrozenSet_Type))
        return same_sequences(a, b, is_equal);
    if (PyObject_CheckBuffer(a) && !PyBytes_Check(a)) {
        int r = same_bytes(a, b);
        if (r >= 0)
            return r;
        PyErr_Clear();
    }
    return PyType_Check(a) ? 0 : same_objects(a, b, is_equal);
}

static int
same_constant(PyObject *a, PyObject *b, bool is_equal)
{
    if (a == b)
        return 1;
    if (Py_TYPE(a) != Py_TYPE(b))
        return 0;
    if (PyFloat_CheckExact(a)) {
        double x = PyFloat_AsDouble(a), y = PyFloat_AsDouble(b);
        return !memcmp(&x, &y, sizeof x);
    }
    if (PyComplex_CheckExact(a)) {
        double x[] = {PyComplex_RealAsDouble(a), PyComplex_ImagAsDouble(a)},
               y[] = {PyComplex_RealAsDouble(b), PyComplex_ImagAsDouble(b)};
        return !memcmp(x, y, sizeof x);
    }
    if (Py_EnterRecursiveCall(" in comparing constants"))
        return -1;
    int r = same_deep(a, b, is_equal);
    Py_LeaveRecursiveCall();
    return r;
}

int
fe_same_constant(PyObject *a, PyObject *b)
{
    return same_constant(a, b, true);
}

int
fe_same_value(PyObject *a, PyObject *b)
{
    return same_constant(a, b, false);
}
