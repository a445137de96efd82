/* dlpack: any framework's tensor -> address, element type, place.
 *
 *     reader              who                              what it costs
 *     torch's functions   torch >= 2.10                    ~15 ns: torch.c, after the exchange API
 *     exchange API        torch >= 2.10, tvm-ffi           ~40 ns: a C function
 *     NumPy's struct      numpy.ndarray and subclasses     ~2 ns: loads
 *     CUDA interface      CuPy, Numba                      ~1 us: a dictionary
 *     data_ptr()          older torch, stand-ins           ~1 us: Python calls
 *     __dlpack__          JAX and the rest                 ~2 us: a capsule
 *     array interface     whatever looks like an array     ~2 us: a dictionary
 *
 * Which of them a type has is found out once (setters.c).
 *
 * No reader copies the tensor. The caller's arguments hold it during the launch; a capsule is
 * held by the Call (call_done), because a __dlpack__ may make the memory it gives.
 *
 * A tensor whose memory does not hold its values (a negated view, a FakeTensor) is refused
 * here; one that must not be written is marked, and refused by cache_check_writes where the
 * kernel writes it.
 */
#include "runtime/launch.h"

#include "runtime/abi.h"

#include <stdlib.h>

/* ---- element types ------------------------------------------------------------------ */

/* DLPack's (code, bits) -> Elem, or -1. Sub-byte and vector types are not ours. */
static int
elem_of_dl(DLDataType t)
{
    /* By the logarithm of the bits: one look instead of a walk over all types. */
    static const int8_t common[][8] = {
        [kDLInt] = {[3] = E_I8, [4] = E_I16, [5] = E_I32, [6] = E_I64},
        [kDLUInt] = {[3] = E_U8, [4] = E_U16, [5] = E_U32, [6] = E_U64},
        [kDLFloat] = {[4] = E_F16, [5] = E_F32, [6] = E_F64},
        [kDLBfloat] = {[4] = E_BF16},
    };
    if (t.lanes != 1 || t.code == 255) /* types.def: of no type of DLPack's */
        return -1;
    if (t.code < COUNT(common) && t.bits && !(t.bits & (t.bits - 1))) {
        int e = common[t.code][__builtin_ctz(t.bits)];
        if (e)
            return e;
    }
    for (int e = 0; e < N_ELEM; e++)
        if (elem_info[e].dl_code == t.code && elem_info[e].dl_bits == t.bits)
            return e;
    return -1;
}

/* "<f4" of the array interfaces. */
static int
elem_of_typestr(const char *s)
{
    static const struct {
        char kind;
        char bytes;
        Elem e;
    } rows[] = {
        {'b', '1', E_I1},  {'i', '1', E_I8},  {'i', '2', E_I16}, {'i', '4', E_I32},
        {'i', '8', E_I64}, {'u', '1', E_U8},  {'u', '2', E_U16}, {'u', '4', E_U32},
        {'u', '8', E_U64}, {'f', '2', E_F16}, {'f', '4', E_F32}, {'f', '8', E_F64},
    };
    if (strlen(s) != 3 || s[0] == '>')
        return -1;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].kind == s[1] && rows[i].bytes == s[2])
            return (int)rows[i].e;
    return -1;
}

/* "torch.float32", "float32", "fp32", "bfloat16", "float8_e4m3fn", "bool" .. */
static int
elem_of_name(const char *s)
{
    static const struct {
        const char *name;
        Elem e;
    } rows[] = {
        {"bool", E_I1},
        {"half", E_F16},
        {"float", E_F32},
        {"double", E_F64},
        {"float8_e4m3fn", E_F8E4M3},
        {"float8_e5m2", E_F8E5M2},
        {"float8_e4m3fnuz", E_F8E4B8},
        {"float8_e5m2fnuz", E_F8E5B16},
    };
    const char *dot = strrchr(s, '.');
    if (dot)
        s = dot + 1;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strcmp(rows[i].name, s))
            return (int)rows[i].e;
    for (int e = 0; e < N_ELEM; e++)
        if (!strcmp(elem_info[e].tl, s) || !strcmp(elem_info[e].sig, s))
            return e;
    return -1;
}

/* TypeError for the element type of that name. Always -1. */
static int
bad_elem(const char *name)
{
    bool is_complex = strstr(name, "complex") ||
                      (!strncmp(name, "<c", 2) && strncmp(name, "<class", 6));
    const char *instead =
        is_complex       ? ": pass the real numbers it is made of, by "
                           "torch.view_as_real(x) or x.view(numpy.float32), where real "
                           "and imaginary parts take turns"
        : name[0] == '>' ? ": its bytes are in the other order, and "
                           "x.astype(x.dtype.newbyteorder('=')) turns "
                           "them"
        : strstr(name, "datetime") || strstr(name, "timedelta")
            ? ": x.view(numpy.int64) has its numbers"
        : strstr(name, "float128") || strstr(name, "longdouble")
            ? ": x.astype(numpy.float64) is the widest there is"
        : !strncmp(name, "[(", 2) ? ": x['field'] is an array of one of its fields"
        : !strcmp(name, "object") || strstr(name, "<U") || strstr(name, "|S")
            ? ": kernels compute with numbers, and x.astype(numpy.float32) makes them of "
              "what can be read as such"
            : "";
    PyErr_Format(PyExc_TypeError, "element type %s is not supported%s", name, instead);
    return -1;
}

/* The same for a DLPack type, by the name that frameworks give it. */
static int
bad_dl(DLDataType t)
{
    static const char *const kinds[] = {"int",    "uint",    "float", "opaque",
                                        "bfloat", "complex", "bool"};
    static const char *const small[] = {
        "float8_e3m4",     "float8_e4m3",   "float8_e4m3b11fnuz", "float8_e4m3fn",
        "float8_e4m3fnuz", "float8_e5m2",   "float8_e5m2fnuz",    "float8_e8m0fnu",
        "float6_e2m3fn",   "float6_e3m2fn", "float4_e2m1fn"};
    char name[64];
    size_t code = t.code;
    if (code < COUNT(kinds))
        snprintf(name, sizeof name, "%s%d", kinds[code], t.bits);
    else if (code - COUNT(kinds) < COUNT(small))
        snprintf(name, sizeof name, "%s", small[code - COUNT(kinds)]);
    else
        snprintf(name, sizeof name, "of %d bits (DLPack code %d)", t.bits, t.code);
    if (t.lanes != 1)
        snprintf(name + strlen(name), sizeof name - strlen(name), "x%d", t.lanes);
    return bad_elem(name);
}

static int
elem_of_object(PyObject *dtype)
{
    PyObject *text = PyObject_Str(dtype);
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    int e = s ? elem_of_name(s) : -1;
    if (s && e < 0)
        bad_elem(s);
    Py_XDECREF(text);
    return e;
}

int
dtype_elem(PyObject *dtype, Elem *out)
{
    int e = elem_of_object(dtype);
    *out = (Elem)e;
    return e < 0 ? -1 : 0;
}

/* ---- what cannot be read --------------------------------------------------------------- */

/* Can there be such a tensor? *out: its memory, {0, 0} where it has no elements. */
static bool
is_possible(const DLTensor *t, Span *out)
{
    uint64_t least, most;
    int64_t step = (t->dtype.bits * t->dtype.lanes + 7) / 8, unit = step, reach;
    *out = (Span){0, 0};
    if (t->ndim < 0 || t->ndim > MAX_DIMS || (t->ndim && !t->shape) ||
        __builtin_add_overflow((uint64_t)(uintptr_t)t->data, t->byte_offset, &most))
        return false;
    least = most;
    for (int i = t->ndim; i-- > 0;) {
        int64_t side = t->shape[i];
        if (side <= 0)
            return !side;
        if ((t->strides && __builtin_mul_overflow(t->strides[i], unit, &step)) ||
            __builtin_mul_overflow(side - 1, step, &reach) ||
            (reach < 0 ? __builtin_sub_overflow(least, 0 - (uint64_t)reach, &least)
                       : __builtin_add_overflow(most, (uint64_t)reach, &most)) ||
            (!t->strides && __builtin_mul_overflow(step, side, &step)))
            return false;
    }
    *out = (Span){least, most + (uint64_t)unit};
    return most >> 63 == 0; /* machines of ours have no addresses up there */
}

/* Nothing is mapped in the first page, nor where x86 has no addresses; the highest byte of others may be
 * a tag. */
static bool
is_nowhere(uint64_t address)
{
#ifdef __x86_64__
    if (address >> 57)
        return true;
#endif
    return address < 4096;
}

/* Not so: torch's FakeTensor, which has a shape but no memory, and what DLPack's fields
 * cannot mean. *out: its memory, as is_possible says, where we know what memory that is. 0, or
 * -1 with TypeError. */
static int
check_tensor(const DLTensor *t, Span *out)
{
    bool is_known = t->device.device_type == kDLCPU || t->device.device_type == kDLCUDA;
    if (!is_possible(t, out))
        PyErr_SetString(PyExc_TypeError, "its DLPack describes no tensor: a shape, "
                                         "strides or an offset that memory has no "
                                         "room for");
    else if (is_nowhere((uint64_t)(uintptr_t)t->data) && out->low < out->high)
        PyErr_SetString(PyExc_TypeError,
                        "it has a shape but no memory, like a FakeTensor or a wrapper");
    else
        return *out = is_known ? *out : (Span){0, 0}, 0;
    return -1;
}

/* The imaginary part of a conjugate is negated, and that is every second element: who has an odd
 * stride need not be asked at every launch (it costs as much as all the rest of reading a
 * tensor). What other views there are is asked where a launch looks for its variant. */
static bool
may_be_negated(const DLTensor *t)
{
    if (t->dtype.code != kDLFloat)
        return false;
    for (int i = t->ndim - 1; i >= 0 && t->strides; i--)
        if (t->strides[i] % 2 && t->shape[i] > 1)
            return false;
    return true;
}

int
tensor_check_negation(State *st, PyObject *x)
{
    PyObject *is = PyObject_CallMethodObjArgs(x, st->str_is_neg, NULL);
    if (is == Py_True)
        PyErr_SetString(PyExc_TypeError,
                        "it is a view that negates its memory; pass x.resolve_neg()");
    int r = is && is != Py_True ? 0 : -1;
    Py_XDECREF(is);
    return r;
}

/* Memory around address: n sides, strides (NULL: dense) in units of so many bytes. */
static inline Span
span_of(uint64_t address, int n, const int64_t *shape, const int64_t *strides,
        int64_t unit, int64_t item)
{
    int64_t low = 0, high = 0, dense = 1;
    for (int i = n; i-- > 0;) {
        int64_t reach = (shape[i] - 1) * (strides ? strides[i] : dense);
        if (shape[i] <= 0)
            return (Span){0, 0};
        *(reach < 0 ? &low : &high) += reach;
        dense *= shape[i];
    }
    return (Span){address + (uint64_t)(low * unit),
                  address + (uint64_t)(high * unit + item)};
}

/* Of a tensor of which nobody says how far it reaches. */
static Span
span_of_one(uint64_t address)
{
    return (Span){address, address ? address + 1 : 0};
}

/* ---- readers: each 0, or -1 with an exception ------------------------------------------ */

int
tensor_from_dl(State *st, const Setter *s, PyObject *x, const DLTensor *t, Tensor *out)
{
    bool is_ours = t->device.device_type == kDLCPU || t->device.device_type == kDLCUDA;
    bool is_ordinary = is_ours && t->dtype.lanes == 1 && span_quickly(t, &out->span);
    if (!is_ordinary && check_tensor(t, &out->span))
        return -1;
    if (s->has_negation && may_be_negated(t) && tensor_check_negation(st, x))
        return -1;
    int elem = elem_of_dl(t->dtype);
    out->address = (uint64_t)(uintptr_t)t->data + t->byte_offset;
    out->elem = (Elem)elem;
    out->place = (Place){(int32_t)t->device.device_type, t->device.device_id};
    return elem < 0 ? bad_dl(t->dtype) : 0;
}

/* Of a framework that has only the form which is to be deleted. */
static int
read_managed(State *st, const Setter *s, PyObject *x, Tensor *out)
{
    DLManagedTensorVersioned *owner = NULL;
    if (s->api->managed_tensor_from_py_object_no_sync(x, &owner))
        return -1;
    out->read_only = (owner->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
    int r = tensor_from_dl(st, s, x, &owner->dl_tensor, out);
    if (owner->deleter)
        owner->deleter(owner);
    return r;
}

static inline int
read_exchange(State *st, const Setter *s, PyObject *x, Tensor *out)
{
    DLTensor t;
    if (!s->api->dltensor_from_py_object_no_sync)
        return read_managed(st, s, x, out);
    return s->api->dltensor_from_py_object_no_sync(x, &t)
               ? -1
               : tensor_from_dl(st, s, x, &t, out);
}

/* Type numbers of NumPy's C API (long is 64 bits where we run). */
static const int8_t numpy_elem[] = {
    [0] = E_I1,   [1] = E_I8,  [2] = E_U8,  [3] = E_I16, [4] = E_U16,  [5] = E_I32,
    [6] = E_U32,  [7] = E_I64, [8] = E_U64, [9] = E_I64, [10] = E_U64, [11] = E_F32,
    [12] = E_F64, [13] = -1,   [14] = -1,   [15] = -1,   [16] = -1,    [17] = -1,
    [18] = -1,    [19] = -1,   [20] = -1,   [21] = -1,   [22] = -1,    [23] = E_F16,
};
_Static_assert(sizeof(long) == 8, "numpy_elem takes C's long for 64 bits");

/* Types of other packages (ml_dtypes) have no number known in advance. */
static int
numpy_other(const NumpyDescr *d)
{
    PyObject *name = NULL;
    int e = -1;
    if (d->byte_order != '>' && d->type_num > 255 && d->scalar_type)
        name = PyObject_GetAttrString((PyObject *)d->scalar_type, "__name__");
    if (name) {
        const char *s = PyUnicode_AsUTF8AndSize(name, NULL);
        e = s ? elem_of_name(s) : -1;
        Py_DECREF(name);
    }
    PyErr_Clear();
    if (e < 0) {
        PyObject *text = PyObject_Str((PyObject *)d);
        const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
        if (s)
            bad_elem(s);
        Py_XDECREF(text);
    }
    return e;
}

static int
read_numpy(PyObject *x, Tensor *out)
{
    const NumpyArray *a = (const NumpyArray *)x;
    const NumpyDescr *d = a->descr;
    int e = (unsigned)d->type_num < COUNT(numpy_elem) && d->byte_order != '>'
                ? numpy_elem[d->type_num]
                : -1;
    if (e < 0 && (e = numpy_other(d)) < 0)
        return -1;
    uint64_t address = (uint64_t)(uintptr_t)a->data;
    *out = (Tensor){address,
                    (Elem)e,
                    {kDLCPU, 0},
                    !(a->flags & NUMPY_WRITEABLE),
                    span_of(address, a->n_dims, a->shape, a->strides, 1,
                            (elem_info[e].bits + 7) / 8),
                    NULL};
    return 0;
}

/* CuPy and others: x.device.id says which GPU; without it, the first. 0 or -1. */
static int
device_id(PyObject *x, int32_t *out)
{
    *out = 0;
    PyObject *device = PyObject_GetAttrString(x, "device");
    PyObject *id = device ? PyObject_GetAttrString(device, "id") : NULL;
    if (id && PyLong_Check(id))
        *out = (int32_t)PyLong_AsLong(id);
    DROP(device, id);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return PyErr_Occurred() ? -1 : 0;
}

/* Elements that are said to be where nothing is are a lie, which would end the process. shape: a tuple; of another object nobody knows whether it is empty. 0, or
 * -1 with an exception. */
static int
check_address(uint64_t address, PyObject *shape)
{
    if (!is_nowhere(address) || !shape || !PyTuple_Check(shape))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_Size(shape); i++) {
        PyObject *side_b = PyTuple_GetItem(shape, i);
        if (PyLong_Check(side_b) && PyLong_AsLongLong(side_b) <= 0)
            return PyErr_Occurred() ? -1 : 0;
    }
    return PyErr_Format(
               PyExc_ValueError,
               "its elements are said to be at address %llu, where no memory is",
               (unsigned long long)address),
           -1;
}

/* The dictionaries __array_interface__ and __cuda_array_interface__. */
static int
read_interface(PyObject *x, const char *attr, int place, Tensor *out)
{
    int r = -1;
    PyObject *d = PyObject_GetAttrString(x, attr);
    PyObject *data_b = d ? PyDict_GetItemString(d, "data") : NULL;
    PyObject *type_b = d ? PyDict_GetItemString(d, "typestr") : NULL;
    if (data_b && type_b && PyTuple_Check(data_b) && PyUnicode_Check(type_b)) {
        PyObject *address_b = PyTuple_GetItem(data_b, 0);
        out->read_only = PyTuple_Size(data_b) == 2 &&
                         PyTuple_GetItem(data_b, 1) == Py_True;
        out->address = address_b ? PyLong_AsUnsignedLongLong(address_b) : 0;
        out->span = span_of_one(out->address);
        if (!PyErr_Occurred())
            check_address(out->address, PyDict_GetItemString(d, "shape"));
        const char *s = PyErr_Occurred() ? NULL : PyUnicode_AsUTF8AndSize(type_b, NULL);
        int e = s ? elem_of_typestr(s) : -1;
        if (!PyErr_Occurred() && e < 0)
            bad_elem(s);
        out->elem = (Elem)MAX(e, 0);
        out->place = (Place){place, 0};
        r = PyErr_Occurred() || (place == kDLCUDA && device_id(x, &out->place.index))
                ? -1
                : 0;
    } else if (d) {
        PyErr_Format(PyExc_TypeError, "malformed %s", attr);
    }
    Py_XDECREF(d);
    return r;
}

/* "cuda:1", "cpu" -> Place. None: a stand-in that lives nowhere. */
static int
place_of_text(PyObject *device, Place *out)
{
    *out = (Place){0, 0};
    if (device == Py_None)
        return 0;
    PyObject *text = PyObject_Str(device);
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    int r = s ? 0 : -1;
    if (s && !strncmp(s, "cpu", 3)) {
        *out = (Place){kDLCPU, 0};
    } else if (s && !strncmp(s, "cuda", 4)) {
        *out = (Place){kDLCUDA, s[4] == ':' ? atoi(s + 5) : 0};
    } else if (s) {
        PyErr_Format(PyExc_ValueError, "device %s is not supported", s);
        r = -1;
    }
    Py_XDECREF(text);
    return r;
}

/* Of what has a data_ptr(): a stand-in for a compile has a device of None, or no shape. */
static int
check_shape_of(PyObject *x, uint64_t address)
{
    PyObject *shape = PyObject_GetAttrString(x, "shape");
    if (!shape && !PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    int r = check_address(address, shape);
    Py_XDECREF(shape);
    return r;
}

enum { SIDES = 8 };

/* The integers of a tuple; -1: it is none, or has others, or such that what they span may overflow. */
static int
ints_of(PyObject *tuple, int64_t *out)
{
    const int64_t large = 1 << 28;
    Py_ssize_t n = tuple && PyTuple_Check(tuple) ? PyTuple_Size(tuple) : -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x_b = PyTuple_GetItem(tuple, i);
        if (n > SIDES || !PyLong_Check(x_b))
            return -1;
        out[i] = PyLong_AsLongLong(x_b);
        if (out[i] < -large || out[i] > large)
            return -1;
    }
    return PyErr_Occurred() ? -1 : (int)n;
}

/* Of what has a data_ptr(): x.shape and x.stride() say how far it reaches, if it has them. */
static Span
span_of_object(PyObject *x, uint64_t address, int item)
{
    int64_t shape[SIDES], strides[SIDES];
    PyObject *shape_of = PyObject_GetAttrString(x, "shape");
    PyObject *strides_of = shape_of ? PyObject_CallMethod(x, "stride", NULL) : NULL;
    int n = ints_of(shape_of, shape);
    bool is_known = n >= 0 && n == ints_of(strides_of, strides);
    DROP(strides_of, shape_of);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    return is_known && address ? span_of(address, n, shape, strides, item, item)
                               : span_of_one(address);
}

static int
read_data_ptr(State *st, const Setter *s, PyObject *x, Tensor *out)
{
    int r = -1;
    if (s->has_negation && tensor_check_negation(st, x))
        return -1;
    PyObject *p = PyObject_CallMethod(x, "data_ptr", NULL);
    PyObject *t = p ? PyObject_GetAttrString(x, "dtype") : NULL;
    PyObject *d = t ? PyObject_GetAttrString(x, "device") : NULL;
    if (t && !d && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        d = Py_NewRef(Py_None);
    }
    if (d) {
        out->address = PyLong_AsUnsignedLongLong(p);
        int e = PyErr_Occurred() ? -1 : elem_of_object(t);
        out->elem = (Elem)e;
        if (e >= 0)
            out->span = span_of_object(x, out->address, (elem_info[e].bits + 7) / 8);
        r = e < 0 || PyErr_Occurred() ? -1 : place_of_text(d, &out->place);
        if (!r && is_nowhere(out->address) && out->place.type)
            r = check_shape_of(x, out->address);
    }
    DROP(p, t, d);
    return r;
}

/* x.__dlpack__(max_version=..): with a version it may say that it is read-only. Producers
 * older than that argument are asked without, from their second tensor on at once. */
PyObject *
tensor_capsule(State *st, PyObject *x)
{
    Setter *s = setter_of(st, x);
    if (!s)
        return NULL;
    PyObject *capsule = NULL;
    if (!s->is_unversioned) {
        PyObject *fn = PyObject_GetAttrString(x, "__dlpack__");
        PyObject *none = fn ? PyTuple_New(0) : NULL;
        PyObject *kw = none ? Py_BuildValue("{s:(ii)}", "max_version",
                                            DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION)
                            : NULL;
        if (kw)
            capsule = PyObject_Call(fn, none, kw);
        DROP(fn, none, kw);
        if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError))
            return capsule;
        PyErr_Clear();
    }
    capsule = PyObject_CallMethod(x, "__dlpack__", NULL);
    if (capsule && (s = setter_of(st, x))) /* the call may have moved it */
        s->is_unversioned = true;
    return capsule;
}

void
capsule_drop(PyObject *capsule)
{
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Py_XDECREF(capsule);
    PyErr_Restore(type, value, trace);
}

const DLTensor *
capsule_tensor(PyObject *capsule, uint64_t *flags)
{
    *flags = 0;
    if (PyCapsule_IsValid(capsule, "dltensor"))
        return &((DLManagedTensor *)PyCapsule_GetPointer(capsule, "dltensor"))
                    ->dl_tensor;
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned"))
        return PyErr_SetString(PyExc_TypeError,
                               "__dlpack__ returned no DLPack capsule"),
               NULL;
    const DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule,
                                                             "dltensor_versioned");
    if (m->version.major != DLPACK_MAJOR_VERSION)
        return PyErr_Format(PyExc_TypeError, "its DLPack is of version %u, ours of %d",
                            m->version.major, DLPACK_MAJOR_VERSION),
               NULL;
    *flags = m->flags;
    return &m->dl_tensor;
}

static int
read_capsule(State *st, PyObject *x, Tensor *out)
{
    int r = -1;
    uint64_t flags;
    PyObject *capsule = tensor_capsule(st, x);
    const DLTensor *t = capsule ? capsule_tensor(capsule, &flags) : NULL;
    if (t && flags & DLPACK_FLAG_BITMASK_IS_COPIED) {
        /* What the kernel writes there nobody would see. */
        PyErr_SetString(PyExc_TypeError, "its __dlpack__ gives a copy");
    } else if (t && !check_tensor(t, &out->span)) {
        int e = elem_of_dl(t->dtype);
        out->address = (uint64_t)(uintptr_t)t->data + t->byte_offset;
        out->elem = (Elem)e;
        out->place = (Place){(int32_t)t->device.device_type, t->device.device_id};
        out->read_only = (flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
        r = e < 0 ? -1 : 0;
        if (r)
            bad_dl(t->dtype);
    }
    if (!r)
        out->capsule = capsule; /* x may have made the memory for it */
    else
        capsule_drop(capsule);
    return r;
}

int
tensor_read(State *st, const Setter *s, PyObject *x, Tensor *out)
{
    out->read_only = false;
    out->capsule = NULL;
    switch (s->kind) {
    case SET_EXCHANGE: return read_exchange(st, s, x, out);
    case SET_NUMPY: return read_numpy(x, out);
    case SET_CUDA_INTERFACE:
        return read_interface(x, "__cuda_array_interface__", kDLCUDA, out);
    case SET_DATA_PTR: return read_data_ptr(st, s, x, out);
    case SET_DLPACK: {
        bool immutable = s->is_immutable; /* s may move under the call */
        int r = read_capsule(st, x, out);
        out->read_only |= immutable;
        return r;
    }
    case SET_ARRAY_INTERFACE:
        return read_interface(x, "__array_interface__", kDLCPU, out);
    default: return PyErr_SetString(PyExc_SystemError, "not a tensor"), -1;
    }
}
