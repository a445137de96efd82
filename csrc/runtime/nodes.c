/* nodes: the arguments of a launch as nodes.
 *
 *     arg     x        n        BLOCK         bound by bind.c
 *     node    pointer  scalar   const int     classified by Py_TYPE
 *     key     f32,16   i32,8    64            key.c
 *
 * This is the hot path: it allocates nothing.
 */
#include "ptx/formats.h"
#include "runtime/launch.h"

int
call_too_many(void)
{
    PyErr_Format(PyExc_ValueError,
                 "a kernel takes at most %d values, those in tuples "
                 "included",
                 MAX_NODES);
    return -1;
}

int
constant_node(Call *c, PyObject *value)
{
    if (c->n >= MAX_NODES)
        return call_too_many();
    if (value == Py_None) {
        call_add(c, CODE(NODE_NONE, 0, 0), 0, value);
    } else if (PyLong_CheckExact(value)) {
        int over;
        long long v = PyLong_AsLongLongAndOverflow(value, &over);
        call_add(c, CODE(over ? NODE_CONST_OBJECT : NODE_CONST_INT, 0, 0),
                 over ? 0 : (uint64_t)v, value);
    } else if (PyBool_Check(value)) {
        call_add(c, CODE(NODE_CONST_BOOL, 0, 0), value == Py_True, value);
    } else if (PyFloat_CheckExact(value)) {
        uint64_t bits = bits_of_f64(PyFloat_AsDouble(value));
        call_add(c, CODE(NODE_CONST_FLOAT, 0, 0), bits, value);
    } else {
        Setter *s = setter_of(c->k->st, value);
        if (!s)
            return -1;
        if (s->kind == SET_CONSTEXPR) {
            PyObject *inner = PyObject_GetAttrString(value, "value");
            if (!inner)
                return -1;
            /* value keeps it where it is an attribute of the instance, and no property's. */
            bool is_kept = Py_REFCNT(inner) > 1;
            Py_DECREF(inner);
            if (!is_kept)
                return PyErr_SetString(PyExc_TypeError,
                                       "a constexpr makes its value each time it is "
                                       "asked: it must have the value"),
                       -1;
            if (Py_EnterRecursiveCall(" in the value of a constexpr"))
                return -1;
            int r = constant_node(c, inner);
            Py_LeaveRecursiveCall();
            return r;
        }
        call_add(c, CODE(NODE_CONST_OBJECT, 0, 0), 0, value);
    }
    return 0;
}

static int
float_node(Call *c, const FeParam *p, PyObject *x)
{
    double d = PyFloat_AsDouble(x);
    if (d == -1.0 && PyErr_Occurred())
        return -1;
    if (p->has_type && (p->is_pointer || elem_is_int(p->elem)))
        return PyErr_Format(PyExc_TypeError, "argument '%U' must be %s%s, not a float",
                            p->name, p->is_pointer ? "a pointer to " : "",
                            elem_info[p->elem].tl),
               -1;
    Elem e = p->has_type ? p->elem : E_F32;
    uint64_t bits = e == E_F32   ? bits_of_f32((float)d)
                    : e == E_F64 ? bits_of_f64(d)
                                 : elem_from_double(e, d);
    call_add(c, CODE(NODE_SCALAR, e, 0), bits, x);
    return 0;
}

/* An integer for a parameter whose annotation names its type. */
static int
typed_int(Call *c, const FeParam *p, PyObject *x, uint64_t v, bool is_negative)
{
    Elem e = p->elem;
    if (p->is_pointer) {
        c->span[c->n] = (Span){v, v + 1};
        call_add(c, CODE(NODE_POINTER, e, truth_of_bits(v)), v, x);
        return 0;
    }
    if (elem_is_float(e))
        return float_node(c, p, x);
    int bits = elem_info[e].bits;
    if (e == E_I1) {
        v = v != 0;
    } else {
        bool fits = elem_is_signed(e)
                        ? (is_negative ? (int64_t)v >= INT64_MIN >> (64 - bits)
                                       : v >> (bits - 1) == 0)
                        : !is_negative && (bits == 64 || v >> bits == 0);
        if (!fits)
            return PyErr_Format(PyExc_OverflowError,
                                "argument '%U': %R does not fit %s", p->name, x,
                                elem_info[e].tl),
                   -1;
    }
    call_add(c, CODE(NODE_SCALAR, e, e == E_I1 ? 0 : truth_of_int(v, is_negative)), v,
             x);
    return 0;
}

/* An integer for a parameter that names a type, or beyond 64 bits with a sign. */
static int
unusual_int(Call *c, const FeParam *p, PyObject *x)
{
    int over;
    long long s = PyLong_AsLongLongAndOverflow(x, &over);
    uint64_t v = (uint64_t)s;
    if (over) {
        v = over > 0 ? PyLong_AsUnsignedLongLong(x) : 0;
        if (over < 0 || PyErr_Occurred()) {
            PyErr_Clear();
            return PyErr_Format(PyExc_OverflowError,
                                "argument '%U': %R does not fit 64 bits", p->name, x),
                   -1;
        }
    }
    if (p->has_type)
        return typed_int(c, p, x, v, s < 0 && !over);
    call_add(c, CODE(NODE_SCALAR, E_U64, truth_of_int(v, false)), v, x);
    return 0;
}

int
call_int(Call *c, const FeParam *p, PyObject *x)
{
    int over;
    long long s = PyLong_AsLongLongAndOverflow(x, &over);
    if (over || p->has_type)
        return unusual_int(c, p, x);
    uint64_t v = (uint64_t)s;
    Elem e = s == (int32_t)s ? E_I32 : E_I64;
    unsigned truth = truth_of_int(v, s < 0) | (v == 1 ? FACT_EQ1 : 0u);
    call_add(c, CODE(NODE_SCALAR, e, truth), v, x);
    return 0;
}

static int
bool_node(Call *c, const FeParam *p, PyObject *x)
{
    if (p->has_type && (p->is_pointer || p->elem != E_I1))
        return typed_int(c, p, x, x == Py_True, false);
    call_add(c, CODE(NODE_SCALAR, E_I1, 0), x == Py_True, x);
    return 0;
}

static const char *
place_name(int type)
{
    switch (type) {
    case kDLCPU: return "CPU";
    case kDLCUDA: return "CUDA";
    case kDLCUDAHost: return "pinned CPU";
    case kDLCUDAManaged: return "managed";
    case kDLOpenCL: return "OpenCL";
    case kDLVulkan: return "Vulkan";
    case kDLMetal: return "Metal";
    case kDLROCM: return "ROCm";
    case kDLROCMHost: return "pinned ROCm";
    case kDLOneAPI: return "oneAPI";
    default: return "foreign";
    }
}

/* A CPU tensor beside CUDA ones may be pinned, which torch does not say, and an object that
 * has an address and no device may be anybody's: the driver knows. */
static Place
known_place(const Call *c, Place place, uint64_t address)
{
    bool is_mixed = place.type == kDLCPU && c->place.type == kDLCUDA;
    int device = 0;
    Cuda *cu = address && (is_mixed || !place.type) ? cuda_if_any(c->k->st) : NULL;
    if (cu)
        switch (cuda_memory(cu, address, &device)) {
        case CUDA_MEMORY_NONE: break;
        case CUDA_MEMORY_HOST: return (Place){kDLCUDAHost, 0};
        case CUDA_MEMORY_DEVICE: return (Place){kDLCUDA, device};
        }
    return place;
}

/* Are the tensors so far, CPU tensors, all pinned? */
static bool
are_pinned(const Call *c)
{
    Cuda *cu = cuda_if_any(c->k->st);
    int device;
    for (int i = 0; cu && i < c->n; i++)
        if (code_kind(c->code[i]) == NODE_POINTER && c->bits[i] &&
            cuda_memory(cu, c->bits[i], &device) != CUDA_MEMORY_HOST)
            return false;
    return cu;
}

/* Tensors of several places: pinned and managed memory goes with either side. */
static int
merge_place(Call *c, const FeParam *p, PyObject *x, Place place,
            const DLPackExchangeAPI *api)
{
    if (!place.type)
        return 0;
    if (place.type == kDLCUDA && c->place.type == kDLCPU && are_pinned(c))
        c->place.type = kDLCUDAHost;
    bool is_host = place.type == kDLCPU || place.type == kDLCUDAHost,
         is_cuda = place.type == kDLCUDA || place.type == kDLCUDAManaged;
    if (!is_host && !is_cuda)
        return PyErr_Format(
                   PyExc_ValueError,
                   "argument '%U' is on a %s device (DLPack type %d), and kernels "
                   "run on CPUs and CUDA devices only",
                   p->name, place_name(place.type), place.type),
               -1;
    if (!c->place.type || (place.type == kDLCUDA && c->place.type == kDLCUDAManaged) ||
        (place.type == kDLCUDA && c->place.type == kDLCUDAHost) ||
        (place.type == kDLCPU && c->place.type == kDLCUDAHost)) {
        c->place = place, c->api = api, c->tensor = x;
        return 0;
    }
    if (c->place.type == place.type && c->place.index == place.index)
        return 0;
    if (place.type == kDLCUDAHost || place.type == kDLCUDAManaged ||
        c->place.type == kDLCUDAManaged)
        return 0;
    for (int i = 0; i < c->k->f->n_params; i++)
        if (c->arg[i] == c->tensor) {
            if (c->place.type == place.type)
                return PyErr_Format(
                           PyExc_ValueError,
                           "arguments '%U' and '%U' are on different GPUs (%d and "
                           "%d)",
                           c->k->names[i], p->name, c->place.index, place.index),
                       -1;
            return PyErr_Format(
                       PyExc_ValueError,
                       "argument '%U' is a %s tensor and argument '%U' a %s "
                       "tensor: all tensors of a launch must be on one device. "
                       "x.cuda() copies one, and a number goes as x.item()",
                       c->k->names[i], place_name(c->place.type), p->name,
                       place_name(place.type)),
                   -1;
        }
    return PyErr_Format(
               PyExc_ValueError,
               "argument '%U' is a %s tensor and another a %s tensor: all tensors "
               "of a launch must be on one device",
               p->name, place_name(place.type), place_name(c->place.type)),
           -1;
}

/* What x is, by its class, in buf: "a list", "an ndarray" (read as "en-d-array"). */
static const char *
type_with_article(PyObject *x, char *buf, size_t size)
{
    PyObject *name = PyType_GetName(Py_TYPE(x));
    const char *s = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    bool vowel = s && (strchr("aeioAEIO", s[0]) || !strcmp(s, "ndarray"));
    snprintf(buf, size, "%s %s", vowel ? "an" : "a", s ? s : "?");
    PyErr_Clear();
    Py_XDECREF(name);
    return buf;
}

/* How torch makes a tensor with memory of its own of what has none, or not its numbers there: by an
 * attribute that is true, or a method. */
static const char *
readable_of(PyObject *x)
{
    static const char *const rows[][2] = {
        {"is_sparse", ". It is sparse: x.to_dense(), or x.indices() and x.values()"},
        {"is_sparse_csr", ". It is sparse: x.to_dense(), or x.crow_indices(), "
                          "x.col_indices() and x.values()"},
        {"is_mkldnn", ". x.to_dense() has the numbers in their order"},
        {"is_nested", ". x.values() are the numbers of a jagged one, x.offsets() the "
                      "ends of its parts"},
        {"to_local", ". x.to_local() is the part of it that is here"},
        {"is_meta", ". It has a shape and no memory: make it on a real device"},
        {"is_quantized", ". x.int_repr() has its integers, x.dequantize() its numbers"},
    };
    const char *text = "";
    for (size_t i = 0; i < COUNT(rows); i++) {
        PyObject *is = PyObject_GetAttrString(x, rows[i][0]);
        if (is == Py_True || (is && PyCallable_Check(is)))
            text = rows[i][1];
        Py_XDECREF(is);
        PyErr_Clear();
    }
    return text;
}

/* A tensor could not be read, and an exception says why: it becomes one that names the
 * argument, without the stack of the library that the tensor is from. Always -1. */
static int
unreadable(const FeParam *p, PyObject *x)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception) ||
        PyErr_ExceptionMatches(PyExc_MemoryError) ||
        PyErr_ExceptionMatches(PyExc_RecursionError))
        return -1;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    char name[80], line[300];
    const char *more = readable_of(x);
    if (s && !*more && strstr(s, "data pointer of Tensor")) {
        s = "it has a shape and no memory";
        more =
            ", as all tensors have inside of torch.vmap and torch.func, and while "
            "torch.compile or torch.export looks: tegula.torch.custom_op makes an op "
            "of a launch";
    }
    int n = s ? (int)strcspn(s, "\n") : 1;
    n -= *more == '.' && n && s && s[n - 1] == '.';
    snprintf(line, sizeof line, "%.*s", n, s ? s : "?");
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "argument '%U' is %s that kernels cannot read: %s%s",
                 p->name, type_with_article(x, name, sizeof name), line, more);
    DROP(text, type, value, trace);
    return -1;
}

int
call_check_values(const Call *c)
{
    for (int i = 0; i < c->n; i++) {
        PyObject *x = code_kind(c->code[i]) == NODE_POINTER ? c->value[i] : NULL;
        const Setter *s = x ? setter_of(c->k->st, x) : NULL;
        if (x && !s)
            return -1;
        if (s && s->kind == SET_EXCHANGE && s->has_negation &&
            tensor_check_negation(c->k->st, x))
            return unreadable(&c->k->f->params[cache_param_of_node(c, i)], x);
    }
    return 0;
}

static int
pin(Call *c)
{
    if (!c->pinned && !(c->pinned = PyList_New(0)))
        return -1;
    for (; c->n_pinned < c->n; c->n_pinned++) {
        PyObject *x = c->value[c->n_pinned];
        if (x && PyList_Append(c->pinned, x))
            return -1;
    }
    return 0;
}

int
call_leave(Call *c)
{
    c->has_left = true;
    return pin(c);
}

/* Is x read by code in Python? By C: nothing can happen meanwhile. A capsule keeps its memory. */
static bool
is_read_by(const Setter *s, bool by_python)
{
    switch (s->kind) {
    case SET_NUMPY: return !by_python;
    case SET_EXCHANGE: return !by_python && s->api->dltensor_from_py_object_no_sync;
    case SET_CUDA_INTERFACE:
    case SET_DATA_PTR:
    case SET_ARRAY_INTERFACE: return by_python;
    default: return false;
    }
}

static int
check_place(const Call *c, int i, bool by_python)
{
    PyObject *x = code_kind(c->code[i]) == NODE_POINTER ? c->value[i] : NULL;
    Setter *s = x && !PyLong_Check(x) ? setter_of(c->k->st, x) : NULL;
    Tensor t;
    if (!s || !is_read_by(s, by_python))
        return PyErr_Occurred() ? -1 : 0;
    if (tensor_read(c->k->st, s, x, &t))
        return -1;
    const Span *was = &c->span[i];
    if (t.address == c->bits[i] && t.span.low <= was->low && t.span.high >= was->high)
        return 0;
    return PyErr_Format(
               PyExc_RuntimeError,
               "the memory of argument '%U' was moved or resized while %s() was "
               "launched: by a hook, by another argument, or by another thread",
               c->k->names[cache_param_of_node(c, i)], c->k->f->name),
           -1;
}

int
call_check_places(const Call *c)
{
    for (int by_python = c->has_left; by_python >= 0; by_python--)
        for (int i = 0; i < c->n; i++)
            if (check_place(c, i, by_python))
                return -1;
    return 0;
}

/* Keeps a capsule for the launch; takes it for itself. 0, or -1 with an exception. */
static int
hold(Call *c, PyObject *capsule)
{
    if (!c->held)
        c->held = PyList_New(0);
    int r = c->held ? PyList_Append(c->held, capsule) : -1;
    capsule_drop(capsule);
    return r;
}

/* What quick_tensor takes for known. */
static void
note_tensor(State *st, PyObject *x, const Tensor *t)
{
    Setter *s = setter_known(st, x);
    if (!s || s->kind != SET_EXCHANGE || !s->api->dltensor_from_py_object_no_sync)
        return;
    s->is_quick = true;
    s->elem = t->elem;
    s->dtype = (DLDataType){(uint8_t)elem_info[t->elem].dl_code,
                            (uint8_t)elem_info[t->elem].dl_bits, 1};
    if (s->has_negation)
        torch_learn(st, x, t);
}

/* known: what the framework said of x already, or NULL. */
static int
tensor_node(Call *c, const FeParam *p, PyObject *x, const Setter *s,
            const DLTensor *known)
{
    Tensor t = {.capsule = NULL};
    SetterKind kind = s->kind; /* s may move while the tensor is asked */
    const DLPackExchangeAPI *api = s->api;
    if (known ? tensor_from_dl(c->k->st, s, x, known, &t)
              : tensor_read(c->k->st, s, x, &t)) {
        bool is_plain = kind == SET_DATA_PTR &&
                        !PyErr_ExceptionMatches(PyExc_TypeError) &&
                        !PyErr_ExceptionMatches(PyExc_ValueError);
        return is_plain ? -1
                        : unreadable(p, x); /* an exception of the user's own method */
    }
    if (t.capsule && hold(c, t.capsule))
        return -1;
    if (kind == SET_EXCHANGE)
        note_tensor(c->k->st, x, &t);
    if (p->has_type) {
        if (!p->is_pointer)
            return PyErr_Format(PyExc_TypeError,
                                "argument '%U' must be %s, not a tensor (%s)", p->name,
                                elem_info[p->elem].tl, elem_info[t.elem].tl),
                   -1;
        t.elem = p->elem;
    }
    if (t.place.type == kDLCPU)
        t.place.index = 0; /* JAX counts its CPU devices; their memory is one */
    if (!t.place.type || t.place.type != c->place.type ||
        t.place.index != c->place.index) {
        t.place = known_place(c, t.place, t.address);
        if (merge_place(c, p, x, t.place, api))
            return -1;
    }
    unsigned truth = truth_of_bits(t.address) | (t.read_only ? NODE_READ_ONLY : 0);
    c->span[c->n] = t.span;
    call_add(c, CODE(NODE_POINTER, t.elem, truth), t.address, x);
    return 0;
}

/* By the exchange API. A few steps tell that most are sound; of the others tensor_node knows. */
static int
exchange_tensor(Call *c, const FeParam *p, PyObject *x, const Setter *s)
{
    DLTensor t;
    Span span;
    DLDataType dtype = s->dtype; /* s may move while the tensor is asked */
    Elem elem = s->elem;
    const DLPackExchangeAPI *api = s->api;
    if (api->dltensor_from_py_object_no_sync(x, &t))
        return unreadable(p, x);
    Place place = {(int32_t)t.device.device_type, t.device.device_id};
    if (!memcmp(&t.dtype, &dtype, sizeof dtype) && span_quickly(&t, &span) && t.ndim &&
        t.shape[t.ndim - 1] > 1 && t.strides[t.ndim - 1] & 1 &&
        pointer_node(c, x, elem, place, span.low, &span, api))
        return 0;
    s = setter_of(c->k->st, x);
    return s ? tensor_node(c, p, x, s, &t) : -1;
}

/* A tensor whose framework is_quick, for a parameter that takes any. Most are of an element type that was seen
 * and in the place of the one before, and no view that may be negated. */
static inline int
quick_tensor(Call *c, const FeParam *p, PyObject *x, const Setter *s)
{
    bool may_be_negated;
    if (!s->torch.handle_at || !torch_node(c, s, x, &may_be_negated))
        return exchange_tensor(c, p, x, s);
    bool is_negated = may_be_negated && tensor_check_negation(c->k->st, x);
    return is_negated ? unreadable(p, x) : 0;
}

int
call_tuple(Call *c, PyObject *x)
{
    Py_ssize_t n = PyTuple_Size(x);
    if (n > MAX_NODES || c->n + n + 1 > MAX_NODES)
        return call_too_many();
    call_add(c, CODE(NODE_TUPLE, n, 0), 0, x);
    return 0;
}

static int
tuple_node(Call *c, const FeParam *p, PyObject *x)
{
    if (call_tuple(c, x))
        return -1;
    for (Py_ssize_t i = 0, n = PyTuple_Size(x); i < n; i++)
        if (call_argument(c, p, PyTuple_GetItem(x, i)))
            return -1;
    return 0;
}

/* An argument that a standard type stands behind: numpy's scalars. */
static int
converted_node(Call *c, const FeParam *p, PyObject *x, const Setter *s)
{
    PyObject *plain = s->kind == SET_INDEX ? PyNumber_Index(x)
                                           : PyObject_CallMethod(x, "item", NULL);
    char name[80];
    if (!plain)
        return -1;
    int r = PyBool_Check(plain)    ? bool_node(c, p, plain)
            : PyLong_Check(plain)  ? call_int(c, p, plain)
            : PyFloat_Check(plain) ? float_node(c, p, plain)
                                   : -2;
    if (r == -2)
        PyErr_Format(PyExc_TypeError, "argument '%U': %s cannot be passed to a kernel",
                     p->name, type_with_article(x, name, sizeof name));
    else if (!r)
        c->value[c->n - 1] = x; /* plain goes; its value is in bits */
    Py_DECREF(plain);
    return r ? -1 : 0;
}

/* torch.float32 in place of a tensor: warmup. */
static int
dtype_node(Call *c, const FeParam *p, PyObject *x)
{
    Elem e;
    if (dtype_elem(x, &e))
        return -1;
    if (p->has_type && p->is_pointer)
        e = p->elem;
    c->span[c->n] = (Span){0, 0};
    call_add(c, CODE(NODE_POINTER, e, ALIGN_FACTS), 0, x);
    return 0;
}

/* What to do about an object that is no argument: the end of the message. */
static const char *
instead_of(PyObject *x)
{
    if (PyComplex_Check(x))
        return ". Pass its parts, x.real and x.imag";
    if (PyObject_HasAttrString(x, "as_integer_ratio"))
        return ". float(x) is a number";
    if (PyList_Check(x) || PyRange_Check(x) || PyAnySet_Check(x) || PyIter_Check(x))
        return ". Make it a tuple, or a tensor when it is data";
    if (PyDict_Check(x))
        return ". Make each of its values an argument, or a NamedTuple of them";
    if (PyObject_HasAttrString(x, "__code__"))
        return ". Put it under @jit, and annotate the parameter tl.constexpr";
    if (PyObject_HasAttrString(x, "to_numpy"))
        return ". x.to_numpy() is an array of its values";
    if (is_masked_array(Py_TYPE(x)))
        return ". x.filled(0) has a number in each place, and x.mask is an array of its own";
    if (PyCFunction_Check(x))
        return ". It is a function: call it, x.numel()";
    if (PyUnicode_Check(x))
        return ". For a compile-time value annotate it tl.constexpr";
    if (PyObject_CheckBuffer(x) && !PyBytes_Check(x))
        return ". numpy.asarray() makes an array of its memory, without a copy";
    if (immutable_library(Py_TYPE(x)))
        return ". A kernel runs on arrays that exist: launch it outside of jit";
    if (PyObject_HasAttrString(x, "__dict__"))
        return ". Pass its numbers and tensors one by one, or in a NamedTuple";
    return "";
}

/* Does it take methods of a class to read what s is of? NumPy's scalars have none. */
static bool
may_run_python(const Setter *s)
{
    static const bool may[SET_UNKNOWN + 1] = {
        [SET_CUDA_INTERFACE] = true,  [SET_DATA_PTR] = true, [SET_DLPACK] = true,
        [SET_ARRAY_INTERFACE] = true, [SET_INDEX] = true,    [SET_REAL] = true};
    return may[s->kind] && PyType_GetFlags(s->type) & Py_TPFLAGS_HEAPTYPE;
}

int
call_argument(Call *c, const FeParam *p, PyObject *x)
{
    if (c->n >= MAX_NODES)
        return call_too_many();
    Setter *s = setter_of(c->k->st, x);
    if (s && may_run_python(s) && (pin(c) || !(s = setter_of(c->k->st, x))))
        return -1;
    if (!s)
        return -1;
    if (s->is_quick && !p->has_type)
        return quick_tensor(c, p, x, s);
    switch (s->kind) {
    case SET_EXCHANGE:
    case SET_NUMPY:
    case SET_CUDA_INTERFACE:
    case SET_DATA_PTR:
    case SET_DLPACK:
    case SET_ARRAY_INTERFACE: return tensor_node(c, p, x, s, NULL);
    case SET_INT: return call_int(c, p, x);
    case SET_FLOAT: return float_node(c, p, x);
    case SET_BOOL: return bool_node(c, p, x);
    case SET_NONE:
    case SET_CONSTEXPR:
    case SET_OBJECT: return constant_node(c, x);
    case SET_TUPLE: return tuple_node(c, p, x);
    case SET_DESCRIPTOR: return call_descriptor(c, p, x, s, NULL);
    case SET_INDEX:
    case SET_REAL: return converted_node(c, p, x, s);
    case SET_TORCH_DTYPE:
        if (c->types_only)
            return dtype_node(c, p, x);
        break;
    case SET_NEW:
    case SET_UNKNOWN: break;
    }
    char name[80];
    return PyErr_Format(
               PyExc_TypeError,
               "argument '%U': %s cannot be passed to a kernel; parameters take "
               "tensors, int, float, bool, None and tuples of them%s",
               p->name, type_with_article(x, name, sizeof name), instead_of(x)),
           -1;
}

int
call_classify(Call *c, int i)
{
    const FeParam *p = &c->k->f->params[i];
    int at = c->n;
    if (p->is_constexpr)
        return constant_node(c, c->arg[i]);
    if (call_argument(c, p, c->arg[i]))
        return -1;
    if (code_kind(c->code[at]) != NODE_TUPLE)
        c->code[at] &= ~(uint32_t)TRUTH_BITS | c->k->truth_mask[i];
    return 0;
}

/* What is_plain, for parameter i: it is kept with its node. */
static int
fresh_node(Call *c, int i, PyObject *x, Seen *seen)
{
    bool is_any = Py_TYPE(x) == &PyLong_Type && c->k->truth_mask[i] == TRUTH_BITS;
    if (is_any ? call_int(c, &c->k->f->params[i], x) : call_classify(c, i))
        return -1;
    PyObject *old = seen->x;
    seen->x = Py_NewRef(x);
    seen->bits = c->bits[c->n - 1];
    seen->code = c->code[c->n - 1];
    Py_XDECREF(old);
    return 0;
}

int
call_nodes(Call *c)
{
    const FeParam *p = c->k->f->params;
    const uint16_t *mask = c->k->truth_mask;
    Seen *seen = c->k->seen;
    for (int i = 0, n = c->k->f->n_params; i < n; i++, p++) {
        PyObject *x = c->arg[i];
        Setter *s;
        int r;
        if (c->n >= MAX_NODES)
            r = call_too_many();
        else if (x == seen[i].x)
            r = 0, call_add(c, seen[i].code, seen[i].bits, x);
        else if (!(s = setter_of(c->k->st, x)))
            r = -1;
        else if (s->is_plain)
            r = fresh_node(c, i, x, &seen[i]);
        else if (mask[i] != TRUTH_BITS)
            r = call_classify(c, i);
        else
            r = s->is_quick                 ? quick_tensor(c, p, x, s)
                : s->kind == SET_DESCRIPTOR ? call_descriptor(c, p, x, s, &seen[i])
                                            : call_classify(c, i);
        if (r)
            return -1;
    }
    if (c->place.type)
        call_note_sharing(c);
    return call_has_moved(c);
}
