/* signature: argument types written as text, for compiling without arguments.
 *
 *     "*fp32"     pointer to fp32            "*fp32:16"   aligned to 16 bytes
 *     "i32"       a scalar                   "i32:16"     divisible by 16
 *     "i32:1"     an i32 known to be 1       "1" "2.5" "True" "None"   a constant
 *     ("*fp32", "i32")    a tuple            "tensordesc<fp16[64, 64]>"   a TensorDescriptor
 *
 * Types go by their signature code (fp32), their name in tegula.language (float32) or their
 * name in tile IR (f32). What is not text is an argument as a launch would get it.
 */
#include "runtime/launch.h"

#include <stdlib.h>

static int
find_elem(const char *s, size_t n)
{
    if ((n == 2 && !memcmp(s, "u1", 2)) || (n == 1 && *s == 'B'))
        return E_I1; /* Triton's other codes of it */
    for (int e = 0; e < N_ELEM; e++) {
        const char *const names[] = {elem_info[e].sig, elem_info[e].tl,
                                     elem_info[e].text};
        for (size_t k = 0; k < COUNT(names); k++)
            if (strlen(names[k]) == n && !memcmp(names[k], s, n))
                return e;
    }
    return -1;
}

/* The constant that text stands for, new; NULL without an exception when it is none. */
static PyObject *
parse_constant(const char *s)
{
    if (!strcmp(s, "None"))
        return Py_NewRef(Py_None);
    if (!strcmp(s, "True"))
        return Py_NewRef(Py_True);
    if (!strcmp(s, "False"))
        return Py_NewRef(Py_False);
    char *end;
    PyObject *v = PyLong_FromString(s, &end, 0);
    if (v && !*end)
        return v;
    Py_XDECREF(v);
    PyErr_Clear();
    double d = PyOS_string_to_double(s, &end, NULL); /* of any locale */
    PyErr_Clear();
    return *s && !*end ? PyFloat_FromDouble(d) : NULL;
}

/* "16" or "1" behind the colon, as FACT_* bits; -1: neither. */
static int
parse_hint(const char *s, bool is_ptr)
{
    static const char *const values[] = {"2", "4", "8", "16"};
    if (!strcmp(s, "1") && !is_ptr)
        return FACT_EQ1;
    for (size_t i = 0; i < COUNT(values); i++)
        if (!strcmp(s, values[i]))
            return truth_of_bits(UINT64_C(2) << i);
    return -1;
}

/* Adds the node of parameter p for the text s. 1: done; 0: s is no type; -1. */
static int
type_node(Call *c, const FeParam *p, const char *s)
{
    bool is_ptr = *s == '*';
    const char *name = s + is_ptr;
    name += is_ptr && *name == 'k'; /* *kfp32: const; the annotation says it too */
    size_t n = strcspn(name, ":");
    int elem = find_elem(name, n);
    if (elem < 0)
        return 0;
    int truth = name[n] ? parse_hint(name + n + 1, is_ptr) : 0;
    if (truth < 0)
        return PyErr_Format(
                   PyExc_ValueError,
                   "signature '%s' of '%U': after the colon comes 2, 4, 8 or 16 "
                   "(divisible by)%s",
                   s, p->name, is_ptr ? "" : ", or 1 (equal to)"),
               -1;
    c->code[c->n] = CODE(is_ptr ? NODE_POINTER : NODE_SCALAR, elem, truth);
    c->bits[c->n] = 0;
    c->value[c->n] = NULL;
    c->n++;
    return 1;
}

/* "tensordesc<fp16[64, 64]>": the nodes of a descriptor of no tensor, which Python makes. */
static int
descriptor_type(Call *c, const FeParam *p, const char *s, PyObject *keep)
{
    PyObject *mod = PyImport_ImportModule("tegula.tools.tensor_descriptor");
    PyObject *d = mod ? PyObject_CallMethod(mod, "of_signature", "s", s) : NULL;
    int r = d && !PyList_Append(keep, d) ? call_argument(c, p, d) : -1;
    DROP(mod, d);
    return r;
}

static int signature_item(Call *c, const FeParam *p, PyObject *item, PyObject *keep);

static int
signature_tuple(Call *c, const FeParam *p, PyObject *items, PyObject *keep)
{
    if (call_tuple(c, items))
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_Size(items); i++)
        if (signature_item(c, p, PyTuple_GetItem(items, i), keep))
            return -1;
    return 0;
}

/* An element of the signature: a type as text, a tuple of them, or an argument. */
static int
signature_item(Call *c, const FeParam *p, PyObject *item, PyObject *keep)
{
    if (PyTuple_Check(item))
        return signature_tuple(c, p, item, keep);
    if (!PyUnicode_Check(item))
        return call_argument(c, p, item);
    const char *s = PyUnicode_AsUTF8AndSize(item, NULL);
    if (!s)
        return -1;
    if (!p->is_constexpr && !strncmp(s, "tensordesc<", 11))
        return descriptor_type(c, p, s, keep);
    int r = p->is_constexpr ? 0 : type_node(c, p, s);
    if (r)
        return r < 0 ? -1 : 0;
    PyObject *v = parse_constant(s);
    if (v) {
        r = PyList_Append(keep, v) ? -1 : constant_node(c, v);
        Py_DECREF(v);
        return r;
    }
    if (PyErr_Occurred())
        return -1;
    if (p->is_constexpr)
        return constant_node(c, item);
    return PyErr_Format(PyExc_ValueError,
                        "signature '%s' of '%U': unknown type: \"*fp32\" is a "
                        "pointer, \"i32\" a number",
                        s, p->name),
           -1;
}

static int
signature_node(Call *c, int i, PyObject *keep)
{
    const FeParam *p = &c->k->f->params[i];
    PyObject *item = c->arg[i];
    bool is_text = PyUnicode_Check(item) || (PyTuple_Check(item) && !p->is_constexpr);
    if (!is_text || item == p->default_value)
        return call_classify(c, i);
    return signature_item(c, p, item, keep);
}

int
call_from_signature(Call *c, PyObject *args, PyObject *kwargs, PyObject *keep)
{
    Py_ssize_t n = PyTuple_Size(args), n_kw = kwargs ? PyDict_Size(kwargs) : 0;
    PyObject *names = PyTuple_New(n_kw);
    PyObject **flat = malloc((size_t)(n + n_kw + 1) * sizeof *flat);
    int r = -1;
    if (!names || !flat) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        flat[i] = PyTuple_GetItem(args, i);
    PyObject *key, *value;
    for (Py_ssize_t at = 0, i = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);
         i++) {
        flat[n + i] = value;
        PyTuple_SetItem(names, i, Py_NewRef(key));
    }
    r = call_bind_names(c, flat, n, names);
    if (!r && c->arg == flat) /* which is about to go */
        c->arg = memcpy(c->bound, flat, (size_t)(n + n_kw) * sizeof *flat);
    for (int i = 0; !r && i < c->k->f->n_params; i++)
        r = signature_node(c, i, keep);
done:
    free(flat);
    Py_XDECREF(names);
    return r;
}
