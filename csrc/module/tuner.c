/* tuner: what a launch of an autotuner costs above one of the kernel.
 *
 *     fingerprint(args, kwargs, keys, places) -> tuple
 *
 * tells apart any two calls for which the tuner may choose different configurations: the
 * values of the arguments in its key, and the types of all tensors. tegula/autotune.py looks
 * the tuple up in a dict; only when it is not there a key is made for people to read.
 */
#include "module/module.h"

/* x's element type, for what may be a tensor; None for the others. New ref, or NULL. */
static PyObject *
dtype_of(State *st, PyObject *x)
{
    if (PyLong_CheckExact(x) || PyFloat_CheckExact(x) || PyBool_Check(x) ||
        x == Py_None || PyUnicode_CheckExact(x))
        return Py_NewRef(Py_None);
    PyObject *d = PyObject_GetAttr(x, st->str_dtype);
    if (d || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return d;
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

static bool
is_of_launch(State *st, PyObject *name)
{
    return name == st->str_grid || name == st->str_warmup;
}

/* Puts o at *n of the tuple and takes it; false when o is NULL. */
static bool
put_item(PyObject *tuple, Py_ssize_t *n, PyObject *o)
{
    return o && !PyTuple_SetItem(tuple, (*n)++, o);
}

/* args, kwargs: of the call. keys: names in the tuner's key; places: the position of each
 * among the parameters, -1 for no parameter. */
PyObject *
fingerprint(PyObject *mod, PyObject *all)
{
    State *st = PyModule_GetState(mod);
    PyObject *args, *kwargs, *keys, *places, *name, *value;
    if (!PyArg_ParseTuple(all, "O!O!O!O!:fingerprint", &PyTuple_Type, &args,
                          &PyDict_Type, &kwargs, &PyTuple_Type, &keys, &PyTuple_Type,
                          &places))
        return NULL;
    Py_ssize_t n_args = PyTuple_Size(args), n_keys = PyTuple_Size(keys), n_kw = 0,
               n = 0;
    for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &name, &value);)
        n_kw += !is_of_launch(st, name);
    if (PyTuple_Size(places) != n_keys)
        return PyErr_SetString(PyExc_ValueError, "a place for each key"), NULL;
    PyObject *res = PyTuple_New(n_args + n_keys + 2 * n_kw + 1);
    if (!res || !put_item(res, &n, PyLong_FromSsize_t(n_args)))
        goto fail;
    for (Py_ssize_t i = 0; i < n_args; i++)
        if (!put_item(res, &n, dtype_of(st, PyTuple_GetItem(args, i))))
            goto fail;
    for (Py_ssize_t i = 0; i < n_keys; i++) {
        Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GetItem(places, i));
        if (at == -1 && PyErr_Occurred())
            goto fail;
        PyObject *key_b = PyTuple_GetItem(keys, i), *value_b;
        value_b = at >= 0 && at < n_args ? PyTuple_GetItem(args, at)
                                         : PyDict_GetItemWithError(kwargs, key_b);
        if (!value_b && PyErr_Occurred())
            goto fail;
        /* One that is not given; no value of a kernel is the module. */
        if (!put_item(res, &n, Py_NewRef(value_b ? value_b : mod)))
            goto fail;
    }
    for (Py_ssize_t at = 0; PyDict_Next(kwargs, &at, &name, &value);)
        if (!is_of_launch(st, name) && (!put_item(res, &n, Py_NewRef(name)) ||
                                        !put_item(res, &n, dtype_of(st, value))))
            goto fail;
    return res;
fail:
    Py_XDECREF(res);
    return NULL;
}
