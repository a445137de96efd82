/* tensor: what only some launches ask of a tensor: the memory it spans, its stream.
 */
#include "runtime/launch.h"

#include "runtime/abi.h"

/* ---- memory ------------------------------------------------------------------------------ */

/* Elements n_dims x (shape, stride in bytes) around address -> the bytes they touch. */
static void
extent(uint64_t address, int n_dims, const int64_t *shape, const int64_t *stride,
       int64_t item, uint64_t *start, uint64_t *bytes)
{
    int64_t low = 0, high = item;
    for (int i = 0; i < n_dims; i++) {
        if (shape[i] == 0)
            low = 0, high = 0;
        if (shape[i] <= 0)
            break;
        int64_t reach = (shape[i] - 1) * stride[i];
        *(reach < 0 ? &low : &high) += reach;
    }
    *start = address + (uint64_t)low;
    *bytes = (uint64_t)(high - low);
}

static int
extent_of_dl(const DLTensor *t, uint64_t *start, uint64_t *bytes)
{
    int64_t stride[MAX_DIMS], item = (t->dtype.bits * t->dtype.lanes + 7) / 8,
                              dense = item;
    if (t->ndim > MAX_DIMS)
        return 0;
    for (int i = t->ndim - 1; i >= 0; i--) {
        stride[i] = t->strides ? t->strides[i] * item : dense;
        dense *= t->shape[i];
    }
    extent((uint64_t)(uintptr_t)t->data + t->byte_offset, t->ndim, t->shape, stride,
           item, start, bytes);
    return 1;
}

static int
extent_of_numpy(const NumpyArray *a, uint64_t *start, uint64_t *bytes, bool *read_only)
{
    int64_t shape[MAX_DIMS], stride[MAX_DIMS];
    PyObject *size = PyObject_GetAttrString((PyObject *)a, "itemsize");
    long long item = size ? PyLong_AsLongLong(size) : -1;
    Py_XDECREF(size);
    if (PyErr_Occurred())
        return -1;
    if (a->n_dims > MAX_DIMS)
        return 0;
    for (int i = 0; i < a->n_dims; i++)
        shape[i] = a->shape[i], stride[i] = a->strides[i];
    extent((uint64_t)(uintptr_t)a->data, a->n_dims, shape, stride, item, start, bytes);
    *read_only = !(a->flags & NUMPY_WRITEABLE);
    return 1;
}

/* Of a NumPy array all that its bases have, which views share: x[:1000] of 4096 elements.
 * A base may be any object: arrays, torch tensors, what wraps another and says `base`, and
 * what gives its bytes by the buffer protocol. */
void
tensor_widen(State *st, PyObject *x, uint64_t *start, uint64_t *bytes)
{
    enum { DEEPEST = 8 };
    Setter *of = setter_of(st, x);
    if (!of || of->kind != SET_NUMPY) /* torch's are storages anyway */
        return PyErr_Clear();
    PyObject *base = PyObject_GetAttrString(x, "base");
    for (int i = 0; i < DEEPEST && base && base != Py_None; i++) {
        uint64_t first = 0, size = 0;
        bool unused;
        Setter *s = setter_of(st, base);
        Py_buffer b;
        if (s && s->kind == SET_NUMPY)
            extent_of_numpy((const NumpyArray *)base, &first, &size, &unused);
        else if (s && s->kind == SET_EXCHANGE)
            tensor_extent(st, base, &first, &size, &unused);
        else if (PyObject_CheckBuffer(base) &&
                 !PyObject_GetBuffer(base, &b, PyBUF_SIMPLE)) {
            first = (uint64_t)(uintptr_t)b.buf, size = (uint64_t)b.len;
            PyBuffer_Release(&b);
        }
        PyErr_Clear();
        if (first <= *start && *start + *bytes <= first + size)
            *start = first, *bytes = size;
        set_ref(&base, PyObject_GetAttrString(base, "base"));
    }
    Py_XDECREF(base);
    PyErr_Clear();
}

/* Of a torch tensor its storage, which views share: kernels are given crow[:-1] and read one
 * element more of each row, or a tensor restrided to stand still along a dim. As it was where
 * x has no storage. */
static void
widen_to_storage(PyObject *x, uint64_t *start, uint64_t *bytes)
{
    PyObject *storage = PyObject_CallMethod(x, "untyped_storage", NULL);
    PyObject *at = storage ? PyObject_CallMethod(storage, "data_ptr", NULL) : NULL;
    PyObject *n = at ? PyObject_CallMethod(storage, "nbytes", NULL) : NULL;
    uint64_t first = n ? PyLong_AsUnsignedLongLong(at) : 0;
    uint64_t size = n ? PyLong_AsUnsignedLongLong(n) : 0;
    if (PyErr_Occurred())
        PyErr_Clear();
    else if (first <= *start && *start + *bytes <= first + size)
        *start = first, *bytes = size;
    DROP(n, at, storage);
}

/* What reinterpret() made (tegula/tensors.py) lies where its base does. Of what else only has
 * a data_ptr() nobody knows how far it reaches. */
static int
extent_of_base(State *st, PyObject *x, uint64_t *start, uint64_t *bytes,
               bool *read_only)
{
    PyObject *base = PyObject_GetAttrString(x, "base");
    if (!base)
        return PyErr_Clear(), 0;
    int r = base == x || base == Py_None
                ? 0
                : tensor_extent(st, base, start, bytes, read_only);
    Py_DECREF(base);
    return r;
}

int
tensor_extent(State *st, PyObject *x, uint64_t *start, uint64_t *bytes, bool *read_only)
{
    *read_only = false;
    Setter *s = setter_of(st, x);
    if (!s)
        return -1;
    if (s->kind == SET_NUMPY)
        return extent_of_numpy((const NumpyArray *)x, start, bytes, read_only);
    if (s->kind == SET_EXCHANGE) {
        DLManagedTensorVersioned *t = NULL;
        if (s->api->managed_tensor_from_py_object_no_sync(x, &t))
            return -1;
        int r = extent_of_dl(&t->dl_tensor, start, bytes);
        *read_only = (t->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
        if (t->deleter)
            t->deleter(t);
        if (r > 0 && s->has_negation)
            widen_to_storage(x, start, bytes);
        return r;
    }
    if (s->kind == SET_DLPACK) {
        uint64_t flags;
        bool immutable = s->is_immutable;
        PyObject *capsule = tensor_capsule(st, x);
        const DLTensor *t = capsule ? capsule_tensor(capsule, &flags) : NULL;
        int r = t ? extent_of_dl(t, start, bytes) : -1;
        *read_only = immutable || (t && flags & DLPACK_FLAG_BITMASK_READ_ONLY);
        capsule_drop(capsule);
        return r;
    }
    if (s->kind == SET_DATA_PTR &&
        type_derives_from(s->type, "tegula.tensors", "TensorWrapper"))
        return extent_of_base(st, x, start, bytes, read_only);
    return 0;
}

static int64_t
product(int n, const int64_t *shape)
{
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        p *= shape[i];
    return p;
}

int64_t
tensor_count(State *st, PyObject *x)
{
    Setter *s = setter_of(st, x);
    DLManagedTensorVersioned *t = NULL;
    int64_t shape[MAX_DIMS], n = -1;
    if (s && s->kind == SET_NUMPY) {
        const NumpyArray *a = (const NumpyArray *)x;
        for (int i = 0; i < a->n_dims && i < MAX_DIMS; i++)
            shape[i] = a->shape[i];
        return a->n_dims <= MAX_DIMS ? product(a->n_dims, shape) : -1;
    }
    if (s && s->kind == SET_EXCHANGE &&
        !s->api->managed_tensor_from_py_object_no_sync(x, &t)) {
        n = product(t->dl_tensor.ndim, t->dl_tensor.shape);
        if (t->deleter)
            t->deleter(t);
        return n;
    }
    PyErr_Clear();
    if (s && s->kind == SET_DATA_PTR &&
        type_derives_from(s->type, "tegula.tensors", "TensorWrapper")) {
        PyObject *base = PyObject_GetAttrString(x, "base");
        n = base && base != x ? tensor_count(st, base) : -1;
        Py_XDECREF(base);
        PyErr_Clear();
    }
    return n;
}

/* ---- streams ----------------------------------------------------------------------------- */

/* An imported module, borrowed, or NULL without an exception: nothing is imported here. */
static PyObject *
imported(PyObject *module)
{
    PyObject *modules_b = PyImport_GetModuleDict();
    return modules_b ? PyDict_GetItem(modules_b, module) : NULL;
}

/* Takes r, a stream as an integer. 1: in *out; 0: r is None, or has no such attribute; -1. */
static int
stream_of_object(PyObject *r, void **out)
{
    if (!r && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear(); /* a build of the framework without CUDA */
        return 0;
    }
    int known = r ? r != Py_None : -1;
    if (known > 0) {
        *out = PyLong_AsVoidPtr(r);
        known = PyErr_Occurred() ? -1 : 1;
    }
    Py_XDECREF(r);
    return known;
}

/* The stream this thread has chosen for the device. */
static int
cupy_stream(const State *st, int device, void **out)
{
    PyObject *mod_b = imported(st->str_cupy_cuda);
    if (!mod_b)
        return 0;
    PyObject *r = PyObject_CallMethod(mod_b, "get_current_stream", "i", device);
    if (!r && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* before CuPy 10: of the current device */
        r = PyObject_CallMethod(mod_b, "get_current_stream", NULL);
    }
    if (r)
        set_ref(&r, PyObject_GetAttrString(r, "ptr"));
    return stream_of_object(r, out);
}

/* torch's exchange API, if torch is there and has one: asked once. */
static const DLPackExchangeAPI *
torch_api(State *st)
{
    PyObject *torch_b = st->has_asked_torch ? NULL : imported(st->str_torch);
    PyObject *type = torch_b ? PyObject_GetAttrString(torch_b, "Tensor") : NULL;
    PyErr_Clear(); /* torch is being imported */
    if (type && PyType_Check(type)) {
        st->has_asked_torch = true;
        st->torch_api = exchange_api((PyTypeObject *)type);
    }
    Py_XDECREF(type);
    return st->torch_api;
}

/* Before version 2.10 torch says it through Python, which takes twenty times as long. */
static int
torch_stream(State *st, int device, void **out)
{
    const DLPackExchangeAPI *api = torch_api(st);
    if (api && api->current_work_stream)
        return api->current_work_stream(kDLCUDA, device, out) ? -1 : 1;
    PyObject *mod_b = imported(st->str_torch_c);
    if (!mod_b)
        return 0;
    return stream_of_object(
        PyObject_CallMethod(mod_b, "_cuda_getCurrentRawStream", "i", device), out);
}

/* Numba and others: the stream that the tensor's last work is on, if it says so. 1 and 2
 * are the driver's own names of the two default streams. */
static int
interface_stream(PyObject *x, void **out)
{
    PyObject *d = PyObject_GetAttrString(x, "__cuda_array_interface__");
    PyObject *stream_b = d && PyDict_Check(d) ? PyDict_GetItemString(d, "stream")
                                              : NULL;
    int r = !d ? -1 : stream_b ? stream_of_object(Py_NewRef(stream_b), out) : 0;
    Py_XDECREF(d);
    return r;
}

/* 1: *out is the stream of x's framework; 0: it has none; -1 with an exception. */
static int
stream_of(State *st, PyObject *x, int device, void **out)
{
    Setter *s = setter_of(st, x);
    if (!s)
        return -1;
    switch (s->kind) {
    case SET_EXCHANGE:
        if (!s->api->current_work_stream)
            return 0;
        return s->api->current_work_stream(kDLCUDA, device, out) ? -1 : 1;
    case SET_CUDA_INTERFACE:
        return type_derives_from(s->type, "cupy", "ndarray")
                   ? cupy_stream(st, device, out)
                   : interface_stream(x, out);
    case SET_DATA_PTR: return torch_stream(st, device, out);
    default: return 0;
    }
}

/* The tensor that set the place has the first word, which cuda_launch asks itself where that has
 * an exchange API. Where its framework has no current
 * stream (JAX), the next one that has decides: the memory a kernel writes is of that one.
 * Without any tensor it is torch's stream, where torch is there. */
int
tensor_stream(State *st, const Call *c, void **out)
{
    *out = NULL; /* the default stream */
    if (c->stream) {
        *out = PyLong_AsVoidPtr(c->stream);
        return !*out && PyErr_Occurred() ? -1 : 0;
    }
    int known = c->tensor ? stream_of(st, c->tensor, c->place.index, out)
                          : torch_stream(st, c->place.index, out);
    for (int i = 0; i < c->n && !known; i++)
        if (code_kind(c->code[i]) == NODE_POINTER && c->value[i] &&
            c->value[i] != c->tensor)
            known = stream_of(st, c->value[i], c->place.index, out);
    return known < 0 ? -1 : 0;
}

/* The capsules that the tensors were read from were asked for without a stream: by the
 * protocol that means ready on the default stream (JAX: ready, it waits). Any other stream
 * has to be told to the producer. */
int
tensors_wait(State *st, const Call *c, void *stream)
{
    for (int i = 0; stream && i < c->n; i++) {
        PyObject *x = code_kind(c->code[i]) == NODE_POINTER ? c->value[i] : NULL;
        Setter *s = x && !PyLong_Check(x) ? setter_of(st, x) : NULL;
        if (!s && PyErr_Occurred())
            return -1;
        if (!s || s->kind != SET_DLPACK)
            continue;
        PyObject *fn = PyObject_GetAttrString(x, "__dlpack__");
        PyObject *none = fn ? PyTuple_New(0) : NULL;
        PyObject *kw = none ? Py_BuildValue("{s:n}", "stream", (Py_ssize_t)stream)
                            : NULL;
        PyObject *capsule = kw ? PyObject_Call(fn, none, kw) : NULL;
        DROP(fn, none, kw);
        if (!capsule)
            return -1;
        Py_DECREF(capsule);
    }
    return 0;
}
