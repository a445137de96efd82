/* signature: argument types written as text, for compiling without arguments.
 *
 *     "*fp32"     pointer to fp32            "*fp32:16"   aligned to 16 bytes
 *     "i32"       a scalar                   "i32:16"     divisible by 16
 *     "i32:1"     an i32 known to be 1       "1" "2.5" "True" "None"   a constant
 *
 * Types go by their signature code (fp32), their name in tegula.language (float32) or their
 * name in tile IR (f32). Anything that is not text is a constant as it is.
 */
#include "runtime/launch.h"

#include <stdlib.h>

static int
find_elem(const char *s, size_t n)
{
    for (int e = 0; e < N_ELEM; e++) {
        const char *const names[] = {elem_info[e].sig, elem_info[e].tl, elem_info[e].text};
        for (size_t k = 0; k < COUNT(names); k++)
            if (strlen(names[k]) == n && !memcmp(names[k], s, n))
                return e;
    }
    return -1;
}

static void
add(Call *call, uint32_t code, uint64_t bits, PyObject *value)
{
    call->code[call->n] = code;
    call->bits[call->n] = bits;
    call->value[call->n] = value;
    call->n++;
}

int
constant_node(Call *call, PyObject *value)
{
    if (call->n >= MAX_NODES)
        return PyErr_Format(PyExc_ValueError, "more than %d arguments", MAX_NODES), -1;
    if (value == Py_None) {
        add(call, CODE(NODE_NONE, 0, 0), 0, value);
    } else if (PyBool_Check(value)) {
        add(call, CODE(NODE_CONST_BOOL, 0, 0), value == Py_True, value);
    } else if (PyLong_CheckExact(value)) {
        int over = 0;
        long long v = PyLong_AsLongLongAndOverflow(value, &over);
        add(call, CODE(over ? NODE_CONST_OBJECT : NODE_CONST_INT, 0, 0),
            over ? 0 : (uint64_t)v, value);
    } else if (PyFloat_CheckExact(value)) {
        double d = PyFloat_AsDouble(value);
        uint64_t bits;
        memcpy(&bits, &d, sizeof bits);
        add(call, CODE(NODE_CONST_FLOAT, 0, 0), bits, value);
    } else {
        add(call, CODE(NODE_CONST_OBJECT, 0, 0), 0, value);
    }
    return 0;
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
    double d = strtod(s, &end);
    return *s && !*end ? PyFloat_FromDouble(d) : NULL;
}

/* "16" or "1" behind the colon, as FACT_* bits; -1: neither. */
static int
parse_hint(const char *s, bool is_ptr)
{
    if (!strcmp(s, "1") && !is_ptr)
        return FACT_EQ1;
    static const int values[] = {2, 4, 8, 16};
    for (size_t i = 0; i < COUNT(values); i++) {
        char text[4];
        snprintf(text, sizeof text, "%d", values[i]);
        if (!strcmp(s, text))
            return truth_of_bits((uint64_t)values[i]);
    }
    return -1;
}

int
signature_node(Call *call, const FeParam *p, PyObject *item, PyObject *keep)
{
    if (!PyUnicode_Check(item))
        return constant_node(call, item);
    const char *s = PyUnicode_AsUTF8AndSize(item, NULL);
    if (!s)
        return -1;
    if (!p->is_constexpr) {
        bool is_ptr = *s == '*';
        const char *name = s + is_ptr;
        bool is_const = is_ptr && *name == 'k';
        name += is_const;
        size_t n = strcspn(name, ":");
        int elem = find_elem(name, n);
        if (elem >= 0) {
            int truth = name[n] ? parse_hint(name + n + 1, is_ptr) : 0;
            if (truth < 0)
                return PyErr_Format(PyExc_ValueError,
                                    "signature '%s' of '%U': after the colon comes 2, 4, 8 "
                                    "or 16 (divisible by)%s",
                                    s, p->name, is_ptr ? "" : ", or 1 (equal to)"), -1;
            if (call->n >= MAX_NODES)
                return PyErr_Format(PyExc_ValueError, "more than %d arguments", MAX_NODES), -1;
            add(call, CODE(is_ptr ? NODE_POINTER : NODE_SCALAR, elem, truth),
                truth & FACT_EQ1 ? 1 : 0, NULL);
            return 0;
        }
        if (is_ptr)
            return PyErr_Format(PyExc_ValueError, "signature '%s' of '%U': unknown type", s,
                                p->name), -1;
    }
    PyObject *v = parse_constant(s);
    if (v) {
        int r = PyList_Append(keep, v) ? -1 : constant_node(call, v);
        Py_DECREF(v);
        return r;
    }
    if (PyErr_Occurred())
        return -1;
    if (p->is_constexpr)
        return constant_node(call, item);
    return PyErr_Format(PyExc_ValueError, "signature '%s' of '%U': unknown type", s, p->name), -1;
}
