/* strides: a tensor that is not contiguous, and a kernel that cannot know.
 *
 *     kernel[grid](x.t(), out, 12)
 *     UserWarning: argument 'x' is not contiguous (shape (4, 3), strides (1, 4)) and kernel()
 *     is given none of its strides: x.contiguous(), or pass x.stride(..)
 *
 * Such a launch stays within the memory of x, so no other check sees it. It is looked for where
 * launches are looked at anyway: the first one of new code on a CPU, under CHECK_BOUNDS, in
 * the interpreter and on the emulator; once a kernel. A kernel that has a stride inside, as
 * those of torch.compile have, knows it. Strides of 0 and 1 tell nothing: a row that is repeated is smaller than
 * its shape, so that a kernel which takes it for contiguous leaves its memory.
 *
 * A later launch whose key is known is not looked at: strides are in no key, and to read them cost 117 ns a
 * tensor, more than the launch. TEGULA_CHECK_BOUNDS=1 looks at every launch.
 */
#include "runtime/launch.h"

#include "runtime/abi.h"

typedef struct Dims {
    int n;
    int64_t shape[MAX_DIMS], stride[MAX_DIMS]; /* in elements */
} Dims;

static bool
dims_of_numpy(const NumpyArray *a, int64_t item, Dims *out)
{
    out->n = a->n_dims;
    for (int i = 0; i < a->n_dims && i < MAX_DIMS; i++) {
        out->shape[i] = a->shape[i];
        out->stride[i] = a->strides[i] / item;
    }
    return a->n_dims <= MAX_DIMS;
}

static bool
dims_of_dl(const DLTensor *t, Dims *out)
{
    out->n = t->strides ? t->ndim : 0; /* none: contiguous */
    for (int i = 0; i < out->n && i < MAX_DIMS; i++) {
        out->shape[i] = t->shape[i];
        out->stride[i] = t->strides[i];
    }
    return out->n <= MAX_DIMS;
}

/* False, without an exception: nobody says. item: bytes of an element. */
static bool
dims_of(State *st, PyObject *x, int64_t item, Dims *out)
{
    Setter *s = setter_of(st, x);
    DLManagedTensorVersioned *t = NULL;
    bool known = false;
    if (s && s->kind == SET_NUMPY) {
        known = dims_of_numpy((const NumpyArray *)x, item, out);
    } else if (s && s->kind == SET_EXCHANGE &&
               !s->api->managed_tensor_from_py_object_no_sync(x, &t)) {
        known = dims_of_dl(&t->dl_tensor, out);
        if (t->deleter)
            t->deleter(t);
    }
    PyErr_Clear();
    return known;
}

static bool
is_contiguous(const Dims *d)
{
    int64_t dense = 1;
    bool is = true;
    for (int i = d->n; i-- > 0; dense *= d->shape[i]) {
        if (!d->shape[i])
            return true;
        is &= d->shape[i] == 1 || d->stride[i] == dense;
    }
    return is;
}

static bool
is_given(const Call *c, int64_t stride)
{
    for (int i = 0; i < c->n; i++) {
        NodeKind kind = code_kind(c->code[i]);
        bool is_int = kind == NODE_SCALAR && elem_is_int(code_elem(c->code[i]));
        if ((is_int || kind == NODE_CONST_INT) && (int64_t)c->bits[i] == stride)
            return true;
    }
    return false;
}

/* Does the text of the kernel have it as a number? */
static bool
is_inside(const char *tir, int64_t stride)
{
    char scalar[40], splat[40];
    snprintf(scalar, sizeof scalar, "const %lld :", (long long)stride);
    snprintf(splat, sizeof splat, "const splat(%lld) :", (long long)stride);
    return strstr(tir, scalar) || strstr(tir, splat);
}

static bool
is_known(const Call *c, const char *tir, const Dims *d)
{
    bool can_tell = false;
    for (int i = 0; i < d->n; i++) {
        int64_t stride = d->stride[i];
        bool is_telling = stride != 0 && stride != 1; /* kernels are full of those */
        if (d->shape[i] == 1)
            continue;
        if (is_given(c, stride) || (is_telling && is_inside(tir, stride)))
            return true;
        can_tell |= is_telling;
    }
    return !can_tell;
}

/* "(4, 3)" */
static void
put_tuple(char *to, size_t size, int n, const int64_t *x)
{
    size_t at = (size_t)snprintf(to, size, "(");
    for (int i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(to + at, size - at, "%lld%s", (long long)x[i],
                               i + 1 < n ? ", "
                               : n == 1  ? ","
                                         : "");
    if (at < size)
        snprintf(to + at, size - at, ")");
}

/* 0, or -1 with an exception: warnings may be errors. */
static int
warn(const Call *c, int node, const Dims *d)
{
    char shape[160], strides[160];
    PyObject *name_b = c->k->names[cache_param_of_node(c, node)];
    const char *x = PyUnicode_AsUTF8AndSize(name_b, NULL);
    bool is_numpy = setter_of(c->k->st, c->value[node])->kind == SET_NUMPY;
    if (!x)
        return -1;
    put_tuple(shape, sizeof shape, d->n, d->shape);
    put_tuple(strides, sizeof strides, d->n, d->stride);
    c->k->has_warned_strides = true;
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1,
        is_numpy ? "argument '%s' is not contiguous (shape %s, strides %s) and %s() is "
                   "given none of its strides: numpy.ascontiguousarray(%s), or pass "
                   "%s.strides[..] // %s.itemsize"
                 : "argument '%s' is not contiguous (shape %s, strides %s) and %s() is "
                   "given none of its strides: %s.contiguous(), or pass %s.stride(..)",
        x, shape, strides, c->k->f->name, x, x, x);
}

int
strides_check(const Compiled *v, const Call *c)
{
    const Stage *tir = binary_stage(&v->bin, "tir");
    Dims d;
    for (int i = 0; tir && !c->k->has_warned_strides && i < v->bin.n_params; i++) {
        int node = v->node[i];
        PyObject *x = v->bin.params[i].is_ptr ? c->value[node] : NULL;
        int item = MAX(elem_info[code_elem(c->code[node])].bits / 8, 1);
        if (x && !PyLong_Check(x) && dims_of(c->k->st, x, item, &d) &&
            !is_contiguous(&d) && !is_known(c, tir->data, &d) && warn(c, node, &d))
            return -1;
    }
    return 0;
}
