/* cuda_utils: what driver.active.utils has on a GPU, over the table of the driver.
 *
 * For programs that load machine code and make tensor maps themselves; our own launches go
 * through runtime/cuda_launch.c. Python over it: CudaUtils of tegula/compat/driver.py. Handles of
 * the driver are ints.
 */
#include "module/module.h"

static PyObject *
failed(const char *err)
{
    return PyErr_SetString(PyExc_RuntimeError, err), NULL;
}

PyObject *
cuda_load_binary(PyObject *mod, PyObject *args)
{
    const char *name, *code;
    Py_ssize_t size;
    int shared, device;
    if (!PyArg_ParseTuple(args, "ss#ii:load_binary", &name, &code, &size, &shared,
                          &device))
        return NULL;
    Cuda *cu = cuda_of(PyModule_GetState(mod));
    if (!cu)
        return NULL;
    CudaModule m = {0};
    char err[ERR_TEXT];
    PyThreadState *thread = PyEval_SaveThread();
    bool ok = cuda_load_module(cu, device, name, code, shared, &m, err);
    PyEval_RestoreThread(thread);
    if (!ok)
        return failed(err);
    return Py_BuildValue("(KKiii)", (unsigned long long)(uintptr_t)m.module,
                         (unsigned long long)(uintptr_t)m.function, m.n_regs,
                         m.n_spills, m.max_threads);
}

PyObject *
cuda_unload_binary(PyObject *mod, PyObject *args)
{
    unsigned long long module;
    char err[ERR_TEXT];
    if (!PyArg_ParseTuple(args, "K:unload_module", &module))
        return NULL;
    Cuda *cu = cuda_of(PyModule_GetState(mod));
    if (!cu)
        return NULL;
    if (!cuda_unload_module(cu, (void *)(uintptr_t)module, err))
        return failed(err);
    return Py_NewRef(Py_None);
}

PyObject *
cuda_count_clusters(PyObject *mod, PyObject *args)
{
    unsigned long long function;
    int shared, n_ctas, n = 0;
    char err[ERR_TEXT];
    if (!PyArg_ParseTuple(args, "Kii:cuOccupancyMaxActiveClusters", &function, &shared,
                          &n_ctas))
        return NULL;
    Cuda *cu = cuda_of(PyModule_GetState(mod));
    if (!cu)
        return NULL;
    if (!cuda_max_clusters(cu, (void *)(uintptr_t)function, shared, n_ctas, &n, err))
        return failed(err);
    return PyLong_FromLong(n);
}

PyObject *
cuda_printf_size(PyObject *mod, PyObject *size)
{
    char err[ERR_TEXT];
    long n = PyLong_AsLong(size);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    if (n < 0)
        return PyErr_SetString(PyExc_ValueError, "fifo size must be non-negative"),
               NULL;
    Cuda *cu = cuda_of(PyModule_GetState(mod));
    if (!cu)
        return NULL;
    if (!cuda_set_printf_size(cu, (size_t)n, err))
        return failed(err);
    return Py_NewRef(Py_None);
}

/* The integers of a sequence, back to front. Their number, or -1 with an exception. */
static int
read_sides(PyObject *list, const char *what, uint64_t out[MAX_TENSOR_MAP_RANK])
{
    Py_ssize_t n = PySequence_Size(list);
    if (n < 0)
        return -1;
    if (n < 1 || n > MAX_TENSOR_MAP_RANK)
        return PyErr_Format(PyExc_ValueError, "%s has %zd dims; 1 to %d are possible",
                            what, n, MAX_TENSOR_MAP_RANK),
               -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        bool is_int = item && PyLong_Check(item);
        uint64_t v = is_int ? PyLong_AsUnsignedLongLong(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            return -1;
        if (!is_int)
            return PyErr_Format(PyExc_TypeError, "%s must be of ints", what), -1;
        out[n - 1 - i] = v;
    }
    return (int)n;
}

PyObject *
cuda_fill_tma(PyObject *mod, PyObject *args)
{
    unsigned long long address;
    int swizzle, bytes, type, padding;
    PyObject *block, *shape, *strides;
    if (!PyArg_ParseTuple(args, "KiiiOOOi:fill_tma_descriptor", &address, &swizzle,
                          &bytes, &type, &block, &shape, &strides, &padding))
        return NULL;
    CudaTensorMap m = {
        .address = address, .type = type, .swizzle = swizzle, .fill_nan = padding == 1};
    uint64_t box[MAX_TENSOR_MAP_RANK], step[MAX_TENSOR_MAP_RANK];
    m.rank = read_sides(block, "blockSize", box);
    int n = m.rank < 0 ? -1 : read_sides(shape, "shape", m.shape);
    int n_steps = n < 0 ? -1 : read_sides(strides, "strides", step);
    if (n_steps < 0)
        return NULL;
    if (n != m.rank || n_steps != m.rank)
        return PyErr_Format(PyExc_RuntimeError,
                            "Rank mismatch: %d dims of blockSize, %d of shape, %d of "
                            "strides",
                            m.rank, n, n_steps),
               NULL;
    for (int i = 0; i < n; i++)
        m.box[i] = (uint32_t)MIN(box[i], UINT32_MAX);
    for (int i = 0; i + 1 < n; i++)
        m.strides[i] = (uint64_t)bytes * step[i + 1];
    m.strides[n - 1] = m.shape[n - 1] * (n > 1 ? m.strides[n - 2] : (uint64_t)bytes);
    Cuda *cu = cuda_of(PyModule_GetState(mod));
    char err[ERR_TEXT];
    unsigned char map[TENSOR_MAP_BYTES];
    if (!cu)
        return NULL;
    if (!cuda_tensor_map(cu, &m, map, err))
        return failed(err);
    return PyBytes_FromStringAndSize((char *)map, sizeof map);
}
