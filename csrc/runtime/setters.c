/* setters: how the objects of a Python type are read.
 *
 *     first sight of a type      what its objects offer, kept in State.setters
 *     every launch after         one comparison of Py_TYPE(x), then the reader
 *
 * Libraries whose arrays never change without saying so are in the table `immutable`.
 */
#include "runtime/launch.h"

#include "runtime/abi.h"

#include <stdlib.h>

/* 1, 0, or -1 with an exception: of Ctrl-C or an exit in the midst of a property. */
static int
has(PyObject *x, const char *attr)
{
    PyObject *a = PyObject_GetAttrString(x, attr);
    if (!a && (fe_is_grave() || !PyErr_ExceptionMatches(PyExc_Exception)))
        return -1;
    if (!a)
        PyErr_Clear();
    Py_XDECREF(a);
    return a != NULL;
}

/* What choose_setter() gives where has() said r. */
static int
chosen(Setter *s, int r, SetterKind kind)
{
    if (r > 0)
        s->kind = kind;
    return MIN(r, 0);
}

const DLPackExchangeAPI *
exchange_api(PyTypeObject *t)
{
    PyObject *a = PyObject_GetAttrString((PyObject *)t, "__dlpack_c_exchange_api__");
    const DLPackExchangeAPI *api = NULL;
    if (a && PyCapsule_IsValid(a, "dlpack_exchange_api"))
        api = PyCapsule_GetPointer(a, "dlpack_exchange_api");
    Py_XDECREF(a);
    PyErr_Clear();
    while (api && api->header.version.major != DLPACK_MAJOR_VERSION)
        api = (const DLPackExchangeAPI *)api->header.prev_api;
    return api;
}

int
object_find(PyObject *x, const void *word)
{
    PyObject *size = PyObject_GetAttrString((PyObject *)Py_TYPE(x), "__basicsize__");
    size_t n = size ? PyLong_AsSize_t(size) : 0, at = 0, n_found = 0;
    Py_XDECREF(size);
    if (PyErr_Occurred())
        return -1;
    for (size_t i = sizeof(PyObject); i + sizeof word <= MIN(n, UINT16_MAX);
         i += sizeof word)
        if (!memcmp((char *)x + i, &word, sizeof word))
            at = i, n_found++;
    return n_found == 1 ? (int)at : 0;
}

bool
type_derives_from(PyTypeObject *t, const char *module, const char *name)
{
    PyObject *mro = PyObject_GetAttrString((PyObject *)t, "__mro__");
    bool found = false;
    for (Py_ssize_t i = 0; mro && i < PyTuple_Size(mro) && !found; i++) {
        PyObject *base_b = PyTuple_GetItem(mro, i);
        PyObject *m = PyObject_GetAttrString(base_b, "__module__");
        PyObject *n = m ? PyObject_GetAttrString(base_b, "__name__") : NULL;
        found = n && PyUnicode_Check(m) && PyUnicode_Check(n) &&
                !PyUnicode_CompareWithASCIIString(m, module) &&
                !PyUnicode_CompareWithASCIIString(n, name);
        DROP(m, n);
    }
    Py_XDECREF(mro);
    PyErr_Clear();
    return found;
}

/* Does the class, or one of its bases, come from a module of this package? */
static bool
is_of_package(PyTypeObject *t, const char *package)
{
    PyObject *mro = PyObject_GetAttrString((PyObject *)t, "__mro__"), *lost = NULL;
    bool found = false;
    for (Py_ssize_t i = 0; mro && i < PyTuple_Size(mro) && !found; i++)
        found = fe_is_from(PyTuple_GetItem(mro, i), package, &lost);
    DROP(mro, lost);
    PyErr_Clear();
    return found;
}

/* Arrays that never change, from libraries whose DLPack has no way of saying so yet (theirs
 * is older than 1.0, where the flag READ_ONLY came): package -> the name people know. */
static const struct {
    const char *package, *name;
} immutable[] = {{"jax", "JAX"}, {"jaxlib", "JAX"}, {"tensorflow", "TensorFlow"}};

const char *
immutable_library(PyTypeObject *t)
{
    for (size_t i = 0; i < COUNT(immutable); i++)
        if (is_of_package(t, immutable[i].package))
            return immutable[i].name;
    return NULL;
}

bool
is_masked_array(PyTypeObject *t)
{
    return type_derives_from(t, "numpy.ma", "MaskedArray") ||
           type_derives_from(t, "numpy.ma.core", "MaskedArray"); /* before NumPy 2.3 */
}

/* Does the struct of abi.h say what __array_interface__ says of this array? */
static bool
numpy_struct_holds(PyObject *x)
{
    const NumpyArray *a = (const NumpyArray *)x;
    PyObject *d = PyObject_GetAttrString(x, "__array_interface__");
    PyObject *data_b = d && PyDict_Check(d) ? PyDict_GetItemString(d, "data") : NULL;
    PyObject *shape_b = data_b ? PyDict_GetItemString(d, "shape") : NULL;
    bool ok = shape_b && PyTuple_Check(data_b) && PyTuple_Size(data_b) == 2 &&
              PyTuple_Check(shape_b) &&
              PyLong_AsVoidPtr(PyTuple_GetItem(data_b, 0)) == a->data &&
              PyTuple_Size(shape_b) == a->n_dims &&
              (PyTuple_GetItem(data_b, 1) == Py_True) == !(a->flags & NUMPY_WRITEABLE);
    for (int i = 0; ok && i < a->n_dims; i++)
        ok = PyLong_AsSsize_t(PyTuple_GetItem(shape_b, i)) == a->shape[i];
    Py_XDECREF(d);
    PyErr_Clear();
    return ok;
}

static bool
is_language_type(PyTypeObject *t, PyObject *cls)
{
    return PyType_Check(cls) && PyType_IsSubtype(t, (PyTypeObject *)cls);
}

/* language.constexpr and language.dtype, once. 0, or -1 with an exception. */
static int
language_types(State *st)
{
    if (st->dtype_type != Py_None)
        return 0;
    PyObject *lang = state_language(st);
    PyObject *c = lang ? PyObject_GetAttrString(lang, "constexpr") : NULL;
    PyObject *d = c ? PyObject_GetAttrString(lang, "dtype") : NULL;
    if (!d) {
        Py_XDECREF(c);
        return -1;
    }
    set_ref(&st->constexpr_type, c);
    set_ref(&st->dtype_type, d);
    return 0;
}

static int
choose_setter(State *st, PyObject *x, Setter *s)
{
    PyTypeObject *t = s->type;
    s->api = NULL;
    s->is_plain = x == Py_None || t == &PyBool_Type || t == &PyLong_Type ||
                  t == &PyFloat_Type || t == &PyUnicode_Type;
    if (x == Py_None)
        return s->kind = SET_NONE, 0;
    if (PyBool_Check(x))
        return s->kind = SET_BOOL, 0;
    if (PyLong_Check(x))
        return s->kind = SET_INT, 0;
    if (PyFloat_Check(x))
        return s->kind = SET_FLOAT, 0;
    if (PyTuple_Check(x))
        return s->kind = SET_TUPLE, 0;
    if (PyUnicode_Check(x) || PyBytes_Check(x) || PyList_Check(x) || PyDict_Check(x) ||
        PyType_Check(x))
        return s->kind = SET_UNKNOWN, 0;
    s->has_negation = type_derives_from(t, "torch", "Tensor") ||
                      type_derives_from(t, "torch._C", "TensorBase");
    if ((s->api = exchange_api(t)))
        return s->kind = SET_EXCHANGE, 0;
    if (is_masked_array(t)) /* a kernel would read what its mask hides */
        return s->kind = SET_UNKNOWN, 0;
    if (type_derives_from(t, "numpy", "ndarray"))
        return s->kind = numpy_struct_holds(x) ? SET_NUMPY : SET_ARRAY_INTERFACE, 0;
    if (type_derives_from(t, "numpy", "generic"))
        return s->kind = PyIndex_Check(x) ? SET_INDEX : SET_REAL, 0;
    int r = has(x, "__tegula_descriptor__");
    if (r > 0)
        return s->kind = SET_DESCRIPTOR, descriptor_slots(st, x, s->field_at);
    if (r)
        return r;
    /* JAX: of one class wherever they live, so what an array on a GPU has may not decide. */
    s->is_immutable = immutable_library(t);
    if (s->is_immutable && (r = has(x, "__dlpack__")))
        return chosen(s, r, SET_DLPACK);
    if ((r = has(x, "__cuda_array_interface__")))
        return chosen(s, r, SET_CUDA_INTERFACE);
    if ((r = has(x, "data_ptr")) && (r < 0 || (r = has(x, "dtype"))))
        return chosen(s, r, SET_DATA_PTR);
    if ((r = has(x, "__dlpack__")))
        return chosen(s, r, SET_DLPACK);
    if ((r = has(x, "__array_interface__")))
        return chosen(s, r, SET_ARRAY_INTERFACE);
    if (type_derives_from(t, "torch", "dtype"))
        return s->kind = SET_TORCH_DTYPE, 0;
    FeEnv env = {0};
    if (language_types(st) || !kernel_env(st, &env))
        return -1;
    if (is_language_type(t, st->constexpr_type))
        return s->kind = SET_CONSTEXPR, 0;
    if (is_language_type(t, st->dtype_type) || env.as_function(env.data, x))
        return s->kind = SET_OBJECT, 0;
    if (PyIndex_Check(x))
        return s->kind = SET_INDEX, 0;
    return s->kind = SET_UNKNOWN, 0;
}

/* How many slots from its home on a type may stand in. */
enum { N_WAYS = 8 };

/* The slot of t, or where it is to stand: a free one, or where all are taken, its home. */
static Setter *
slot_of(State *st, const PyTypeObject *t)
{
    size_t home = setter_home(t);
    Setter *slot = NULL;
    for (size_t i = 0; i < N_WAYS; i++) {
        Setter *s = &st->setters[(home + i) % N_SETTERS];
        if (s->type == t)
            return s;
        if (!slot && !s->type)
            slot = s;
    }
    return slot ? slot : &st->setters[home];
}

Setter *
setter_known(State *st, PyObject *x)
{
    Setter *s = slot_of(st, Py_TYPE(x));
    return s->type == Py_TYPE(x) ? s : NULL;
}

Setter *
setter_find(State *st, PyObject *x)
{
    PyTypeObject *t = Py_TYPE(x);
    Setter *s = slot_of(st, t);
    if (s->type == t)
        return s;
    Setter fresh = {.type = t};
    if (choose_setter(st, x, &fresh))
        return NULL;
    s = slot_of(st, t); /* what x offers may be code that launches */
    PyTypeObject *old = s->type;
    Py_INCREF((PyObject *)t);
    *s = fresh;
    Py_XDECREF((PyObject *)old);
    return s;
}

int
setters_new(State *st)
{
    st->setters = calloc(N_SETTERS, sizeof *st->setters);
    return st->setters ? 0 : (PyErr_NoMemory(), -1);
}

void
setters_free(State *st)
{
    for (int i = 0; st->setters && i < N_SETTERS; i++)
        Py_XDECREF((PyObject *)st->setters[i].type);
    free(st->setters);
    st->setters = NULL;
    free(st->torch_calls);
    st->torch_calls = NULL;
}

int
setters_traverse(State *st, visitproc visit, void *arg)
{
    for (int i = 0; st->setters && i < N_SETTERS; i++)
        Py_VISIT(st->setters[i].type);
    return 0;
}
