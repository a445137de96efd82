/* torch: a tensor of torch's by the C functions that torch promises to keep.
 *
 *     by the exchange API (dlpack.c)   457 instructions: pybind11 unpacks the object and takes the
 *                                      GIL, which the thread has, before the tensor is looked at
 *     here                             160
 *
 * The functions (torch/csrc/stable/c/shim.h and inductor/aoti_torch/c/shim.h) take the address of an
 * at::Tensor. That is a word of the Python object; which one is found by x._cdata, which says what
 * stands in it.
 *
 * 1. torch's numbers of element types and devices mean what the exchange API said of a tensor that had
 *    them, and its address was the same. What nothing was learned of is asked of the exchange API.
 * 2. Nothing is kept of a tensor: x.data = y, resize_() and set_() change what it is.
 */
#include "runtime/launch.h"

#include <dlfcn.h>
#include <stdlib.h>

/* Each 0, or the number of an error, whose text torch writes to its log. */
struct TorchCalls {
    int (*data)(void *tensor, void **out);
    int (*dtype)(void *tensor, int32_t *out);
    int (*device_type)(void *tensor, int32_t *out);
    int (*device_index)(void *tensor, int32_t *out);
    int (*is_dense)(void *tensor, bool *out);
    int (*count)(void *tensor, int64_t *out);
    int (*dim)(void *tensor, int64_t *out);
    int (*sizes)(void *tensor, int64_t **out);
    int (*strides)(void *tensor, int64_t **out);
};

static const char *const names[] = {
    "torch_get_mutable_data_ptr", "aoti_torch_get_dtype",
    "aoti_torch_get_device_type", "aoti_torch_get_device_index",
    "aoti_torch_is_contiguous",   "aoti_torch_get_numel",
    "aoti_torch_get_dim",         "aoti_torch_get_sizes",
    "aoti_torch_get_strides",
};
_Static_assert(sizeof(struct TorchCalls) == COUNT(names) * sizeof(void *),
               "names are the functions in their order");

/* Of the torch that this process has; NULL where it lacks one of them. Asked once. */
static const TorchCalls *
calls_of(State *st)
{
    if (st->has_asked_calls)
        return st->torch_calls;
    st->has_asked_calls = true;
    void *lib = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD),
         *found[COUNT(names)];
    for (size_t i = 0; i < COUNT(names); i++)
        if (!lib || !(found[i] = dlsym(lib, names[i])))
            return NULL;
    if ((st->torch_calls = malloc(sizeof *st->torch_calls)))
        memcpy(st->torch_calls, found, sizeof found);
    return st->torch_calls;
}

/* Which word of x the at::Tensor is: the one with what _cdata says; 0: none. */
static uint16_t
find_handle(PyObject *x)
{
    PyObject *cdata = PyObject_GetAttrString(x, "_cdata");
    void *impl = cdata && PyLong_Check(cdata) ? PyLong_AsVoidPtr(cdata) : NULL;
    int at = impl ? object_find(x, impl) : 0;
    PyErr_Clear();
    Py_XDECREF(cdata);
    return (uint16_t)MAX(at, 0);
}

/* What torch says of its number of x's element type and of x's device, if it is known. */
static inline bool
kinds_of(const TorchCalls *f, const TorchType *known, void *handle, int32_t *dtype,
         int32_t *device)
{
    return !f->dtype(handle, dtype) && (uint32_t)*dtype < COUNT(known->elem) &&
           !f->device_type(handle, device) && (uint32_t)*device < COUNT(known->place);
}

void
torch_learn(State *st, PyObject *x, const Tensor *t)
{
    const TorchCalls *f = calls_of(st);
    Setter *s = f ? setter_known(st, x) : NULL;
    uint16_t at = !s ? 0 : s->torch.handle_at ? s->torch.handle_at : find_handle(x);
    void *handle = (char *)x + at, *data;
    int32_t dtype, device;
    if (at && kinds_of(f, &s->torch, handle, &dtype, &device) &&
        !f->data(handle, &data) && (uint64_t)(uintptr_t)data == t->address &&
        (s = setter_known(st, x))) { /* x may run Python, when it is asked */
        s->torch.handle_at = at;
        s->torch.elem[dtype] = (uint8_t)(1 + t->elem);
        s->torch.place[device] = (uint8_t)t->place.type;
    }
    PyErr_Clear();
}

/* The memory of an ordinary view. *is_second: it may be every second element of another. */
static bool
span_of_view(const TorchCalls *f, void *handle, uint64_t address, Elem elem, Span *out,
             bool *is_second)
{
    DLTensor v = {.data = (void *)(uintptr_t)address,
                  .dtype.bits = (uint8_t)(8 * elem_info[elem].bytes)};
    int64_t n;
    if (f->dim(handle, &n) || f->sizes(handle, &v.shape) ||
        f->strides(handle, &v.strides))
        return PyErr_Clear(), false;
    v.ndim = (int32_t)MIN(n, MAX_DIMS + 1);
    *is_second = true;
    for (int i = 0; i < v.ndim && v.ndim <= MAX_DIMS; i++)
        *is_second &= !(v.strides[i] % 2 && v.shape[i] > 1);
    return span_quickly(&v, out);
}

bool
torch_node(Call *c, const Setter *s, PyObject *x, bool *may_be_negated)
{
    enum { FIRST = 4096, ADDRESS_BITS = 57, SIDE_BITS = 40 };
    const TorchCalls *f = c->k->st->torch_calls;
    void *handle = (char *)x + s->torch.handle_at, *data;
    int32_t dtype, device, index;
    int64_t n;
    bool is_dense;
    if (!kinds_of(f, &s->torch, handle, &dtype, &device) || !s->torch.elem[dtype] ||
        !s->torch.place[device] || f->device_index(handle, &index) ||
        f->data(handle, &data) || f->is_dense(handle, &is_dense) ||
        f->count(handle, &n))
        return PyErr_Clear(), false;
    Elem elem = (Elem)(s->torch.elem[dtype] - 1);
    /* -1 where there is no other */
    Place place = {s->torch.place[device], MAX(index, 0)};
    uint64_t address = (uint64_t)(uintptr_t)data;
    if (address < FIRST || address >> ADDRESS_BITS || n <= 0 || n >> SIDE_BITS)
        return false;
    bool is_second = n == 1;
    Span span = {address, address + (uint64_t)n * (uint64_t)elem_info[elem].bytes};
    if (!is_dense && !span_of_view(f, handle, address, elem, &span, &is_second))
        return false;
    *may_be_negated = is_second && elem_info[elem].dl_code == kDLFloat;
    return pointer_node(c, x, elem, place, address, &span, s->api);
}
