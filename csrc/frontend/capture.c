/* capture: which globals a kernel may read, which it read, and whether they still are what
 * they were.
 *
 * Machine code has the values of globals inside. So the walk that names a compile for the
 * disk (hash.c) also notes where each value stood: (dict or cell, name, value). A launch
 * compares addresses, some 10 ns a name; only where one differs do we look closer:
 *
 *     the same constant, made anew    noted in place of the old one: a notebook's cell
 *                                     that ran again
 *     another function or class       the kernel is compiled anew: a helper was redefined
 *     another constant                RuntimeError, as Triton raises: the code at hand is
 *                                     wrong, and a compile for each value of a global
 *                                     would hide what an argument says openly
 *
 * Modules are not noted, nor are the names of our own: nobody rebinds them.
 */
#include <stdlib.h>

#include "frontend/frontend.h"

/* ---- what may be read ------------------------------------------------------------------- */

static bool
is_a(const FeEnv *env, PyObject *o, const char *cls, PyObject **lost)
{
    PyObject *c = PyObject_GetAttrString(env->language, cls);
    int r = c ? PyObject_IsInstance(o, c) : 0;
    fe_clear(lost);
    Py_XDECREF(c);
    return r > 0;
}

bool
fe_may_read(const FeEnv *env, PyObject *o, PyObject **lost)
{
    if (o == Py_None || PyModule_Check(o) || PyCFunction_Check(o))
        return true;
    if (PyTuple_Check(o)) {
        /* constants all the way down cannot change either */
        for (Py_ssize_t i = 0; i < PyTuple_Size(o); i++)
            if (!fe_may_read(env, PyTuple_GetItem(o, i), lost))
                return false;
        return true;
    }
    if (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o))
        return false;
    if (is_a(env, o, "constexpr", lost) || is_a(env, o, "dtype", lost) ||
        env->as_function(env->data, o) || fe_has(o, "__tegula_builtin__", lost) ||
        fe_has(o, "__tegula_constexpr__", lost) ||
        fe_has(o, "__triton_builtin__", lost))
        return true;
    if (PyType_Check(o))
        return fe_has(o, "_fields", lost) || fe_is_from(o, "tegula", lost);
    /* members of our enums */
    return fe_is_from((PyObject *)Py_TYPE(o), "tegula", lost);
}

/* ---- noting ------------------------------------------------------------------------------ */

int
fe_capture(FeCaptures *c, PyObject *home, PyObject *name, PyObject *value, bool is_cell)
{
    for (int i = 0; i < c->n; i++)
        if (c->at[i].home == home &&
            (is_cell || !PyUnicode_Compare(c->at[i].name, name)))
            return 0;
    if (c->n == c->cap) {
        int cap = MAX(8, 2 * c->cap);
        FeCapture *at = realloc(c->at, (size_t)cap * sizeof *at);
        if (!at)
            return PyErr_NoMemory(), -1;
        c->at = at;
        c->cap = cap;
    }
    c->at[c->n++] = (FeCapture){Py_NewRef(home), Py_NewRef(name), Py_NewRef(value),
                                is_cell};
    return 0;
}

int
fe_captures_add(FeCaptures *c, const FeCaptures *more)
{
    for (int i = 0; i < more->n; i++) {
        const FeCapture *x = &more->at[i];
        if (fe_capture(c, x->home, x->name, x->value, x->is_cell))
            return -1;
    }
    return 0;
}

void
fe_captures_free(FeCaptures *c)
{
    FeCaptures old = *c;
    *c = (FeCaptures){0}; /* dropping an object may run code that comes here again */
    for (int i = 0; i < old.n; i++) {
        Py_DECREF(old.at[i].home);
        Py_DECREF(old.at[i].name);
        Py_DECREF(old.at[i].value);
    }
    free(old.at);
}

int
fe_captures_traverse(const FeCaptures *c, visitproc visit, void *arg)
{
    for (int i = 0; i < c->n; i++) {
        Py_VISIT(c->at[i].home);
        Py_VISIT(c->at[i].value);
    }
    return 0;
}

/* ---- comparing --------------------------------------------------------------------------- */

typedef enum Change { SAME, NEW_CODE, NEW_VALUE } Change;

/* What stands where x stood: new reference, or NULL without an exception. */
static PyObject *
now(const FeCapture *x)
{
    PyObject *o = x->is_cell ? PyObject_GetAttrString(x->home, "cell_contents")
                             : Py_XNewRef(PyDict_GetItemWithError(x->home, x->name));
    if (!o)
        PyErr_Clear();
    return o;
}

/* Something that runs: compared by address, and compiled anew when it is another one. */
static bool
is_code(const FeEnv *env, PyObject *o)
{
    return PyType_Check(o) || env->as_function(env->data, o) ||
           PyObject_HasAttrString(o, "__tegula_constexpr__") ||
           PyObject_HasAttrString(o, "__tegula_builtin__") ||
           PyObject_HasAttrString(o, "__code__"); /* of tl.constexpr(function) */
}

/* New reference to what a constexpr wraps, else to o. */
static PyObject *
unwrap(const FeEnv *env, PyObject *o)
{
    PyObject *lost = NULL; /* then it is another constant, at worst */
    bool is = is_a(env, o, "constexpr", &lost);
    PyObject *v = is ? PyObject_GetAttrString(o, "value") : NULL;
    PyErr_Clear();
    Py_XDECREF(lost);
    return v ? v : Py_NewRef(o);
}

static Change
compare(const FeEnv *env, PyObject *was, PyObject *is)
{
    if (was == is)
        return SAME;
    PyObject *a = unwrap(env, was), *b = unwrap(env, is), *ra = NULL, *rb = NULL;
    Change change = NEW_VALUE;
    if (a == b) {
        change = SAME;
    } else if (is_code(env, a) || is_code(env, b)) {
        change = NEW_CODE;
    } else if (Py_TYPE(a) == Py_TYPE(b) && PyTuple_Check(a) &&
               PyTuple_Size(a) == PyTuple_Size(b)) {
        change = SAME;
        for (Py_ssize_t i = 0; i < PyTuple_Size(a) && change != NEW_VALUE; i++) {
            Change c = compare(env, PyTuple_GetItem(a, i), PyTuple_GetItem(b, i));
            change = MAX(change, c);
        }
    } else if (Py_TYPE(a) == Py_TYPE(b)) {
        /* by text, as in the hash: 0.0 is not -0.0, and nan is nan */
        ra = PyObject_Repr(a);
        rb = ra ? PyObject_Repr(b) : NULL;
        if (rb && !PyUnicode_Compare(ra, rb))
            change = SAME;
    }
    PyErr_Clear();
    Py_DECREF(a);
    Py_DECREF(b);
    Py_XDECREF(ra);
    Py_XDECREF(rb);
    return change;
}

/* The RuntimeError for x, which is o now (NULL: it is gone). */
static int
report(const FeEnv *env, const FeCapture *x, PyObject *o, const FeFunction *kernel)
{
    PyObject *was = unwrap(env, x->value), *is = o ? unwrap(env, o) : NULL;
    PyObject *home_b = x->is_cell || x->home == kernel->globals
                           ? NULL
                           : PyDict_GetItemString(x->home, "__name__");
    PyObject *of = home_b && PyUnicode_Check(home_b)
                       ? PyUnicode_FromFormat(" of module %U", home_b)
                       : PyUnicode_FromString("");
    PyObject *is_text = is ? PyUnicode_FromFormat("is %R now", is)
                           : PyUnicode_FromString("is not defined now");
    if (was && of && is_text)
        PyErr_Format(PyExc_RuntimeError,
                     "%s '%U'%U was %R when the kernel %s() was compiled, and %U: a "
                     "compiled kernel keeps the values it read. Pass it as an argument "
                     "(%U: tl.constexpr), or define the kernel again after the change",
                     x->is_cell ? "variable of the enclosing function"
                                : "global variable",
                     x->name, of, was, kernel->name, is_text, x->name);
    Py_XDECREF(was);
    Py_XDECREF(is);
    Py_XDECREF(of);
    Py_XDECREF(is_text);
    return -1;
}

/* Looks closer at c->at[i], which is another object now. Comparing runs code of others, so
 * what c holds is looked at anew afterwards. */
static int
look_closer(const FeEnv *env, FeCaptures *c, int i, const FeFunction *kernel)
{
    int res = 1;
    FeCapture x = c->at[i];
    Py_INCREF(x.home);
    Py_INCREF(x.name);
    Py_INCREF(x.value);
    PyObject *o = now(&x);
    Change change = o ? compare(env, x.value, o) : NEW_VALUE;
    if (change == NEW_CODE)
        res = 0;
    else if (change == NEW_VALUE)
        res = report(env, &x, o, kernel);
    else if (i < c->n && c->at[i].value == x.value) {
        c->at[i].value = o;
        o = x.value; /* dropped twice below: ours and the table's */
    }
    Py_XDECREF(o);
    Py_DECREF(x.value);
    Py_DECREF(x.name);
    Py_DECREF(x.home);
    return res;
}

int
fe_captures_check(const FeEnv *env, FeCaptures *c, const FeFunction *kernel)
{
    int res = 1;
    for (int i = 0; i < c->n && res == 1; i++) {
        const FeCapture *x = &c->at[i];
        if (x->is_cell || PyDict_GetItemWithError(x->home, x->name) != x->value)
            res = look_closer(env, c, i, kernel);
    }
    return res;
}
