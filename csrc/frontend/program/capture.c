/* capture: which globals a kernel may read, what it read, and whether that still is what it was.
 *
 * Machine code has the values of globals inside. So the frontend notes where each value stood
 * that it read (watch.c): (dict or cell, name, value) for most. A launch compares addresses,
 * some 10 ns a name; only where one differs do we look closer:
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

/* Of calls: each the same object. */
static bool
same_arguments(PyObject *a, PyObject *b)
{
    PyObject *p = PyTuple_GetItem(a, 0), *q = PyTuple_GetItem(b, 0);
    bool same = PyTuple_Size(p) == PyTuple_Size(q) &&
                PyTuple_GetItem(a, 1) == PyTuple_GetItem(b, 1);
    for (Py_ssize_t i = 0; same && i < PyTuple_Size(p); i++)
        same = PyTuple_GetItem(p, i) == PyTuple_GetItem(q, i);
    return same;
}

static bool
same_place(const FeCapture *a, const FeCapture *b)
{
    FeWatch kind = a->kind & ~WATCH_IDLE;
    return a->home == b->home && kind == (b->kind & ~WATCH_IDLE) &&
           (a->name == b->name || kind == WATCH_CELL ||
            (a->name && b->name && PyUnicode_Check(a->name) &&
             PyUnicode_Check(b->name) && !PyUnicode_Compare(a->name, b->name)) ||
            (kind == WATCH_CALL && same_arguments(a->name, b->name)));
}

/* Equal for the same places. A name's hash is that of its text, also where its class has another. */
static size_t
hash_place(const FeCapture *x)
{
    FeWatch kind = x->kind & ~WATCH_IDLE;
    uint64_t key[3] = {(uintptr_t)x->home, (uint64_t)kind, 0};
    if (x->name && PyUnicode_Check(x->name)) {
        hashfunc of = (hashfunc)PyType_GetSlot(&PyUnicode_Type, Py_tp_hash);
        key[2] = (uint64_t)of(x->name);
    } else if (kind != WATCH_CALL)
        key[2] = (uintptr_t)x->name;
    if (kind == WATCH_CELL)
        key[2] = 0;
    return (size_t)hash_bytes(key, sizeof key);
}

/* The slot of c->index that has the place of x, or the free one for it. */
static int *
slot_of(const FeCaptures *c, const FeCapture *x)
{
    size_t last = (size_t)c->n_slots - 1, i = hash_place(x) & last;
    while (c->index[i] >= 0 && !same_place(&c->at[c->index[i]], x))
        i = (i + 1) & last;
    return &c->index[i];
}

/* Makes the index anew, with room for as many again. A program may have thousands of places. */
static bool
make_index(FeCaptures *c)
{
    int n = 16;
    while (n < 4 * c->n)
        n *= 2;
    int *index = realloc(c->index, (size_t)n * sizeof *index);
    if (!index)
        return false;
    c->index = index;
    c->n_slots = n;
    for (int i = 0; i < n; i++)
        index[i] = -1;
    for (int i = 0; i < c->n; i++)
        *slot_of(c, &c->at[i]) = i;
    return true;
}

static void
hold(const FeCapture *x)
{
    Py_INCREF(x->home);
    Py_XINCREF(x->name);
    Py_XINCREF(x->value);
    Py_XINCREF(x->label);
}

int
fe_capture(FeCaptures *c, FeCapture x)
{
    if (2 * c->n >= c->n_slots && !make_index(c))
        return PyErr_NoMemory(), -1;
    int *slot = slot_of(c, &x);
    if (*slot >= 0) {
        FeCapture *old = &c->at[*slot];
        bool is_met = c->is_of_call && old->kind & WATCH_IDLE;
        c->has_met_idle |= is_met;
        if (!is_met)
            old->kind &= x.kind;
        return 0;
    }
    if (c->n == c->cap) {
        int cap = MAX(8, 2 * c->cap);
        FeCapture *at = realloc(c->at, (size_t)cap * sizeof *at);
        if (!at)
            return PyErr_NoMemory(), -1;
        c->at = at;
        c->cap = cap;
    }
    hold(&x);
    *slot = c->n;
    c->at[c->n++] = x;
    return 0;
}

static void
drop_capture(FeCapture x)
{
    Py_DECREF(x.home);
    DROP(x.name, x.value, x.label);
}

int
fe_captures_add(FeCaptures *c, const FeCaptures *more)
{
    for (int i = 0; i < more->n; i++)
        if (!(more->at[i].kind & WATCH_IDLE) && fe_capture(c, more->at[i]))
            return -1;
    return 0;
}

void
fe_captures_free(FeCaptures *c)
{
    FeCaptures old = *c;
    *c = (FeCaptures){0}; /* dropping an object may run code that comes here again */
    for (int i = 0; i < old.n; i++)
        drop_capture(old.at[i]);
    free(old.at);
    free(old.index);
}

int
fe_captures_traverse(const FeCaptures *c, visitproc visit, void *arg)
{
    for (int i = 0; i < c->n; i++) {
        Py_VISIT(c->at[i].home);
        Py_VISIT(c->at[i].name);
        Py_VISIT(c->at[i].value);
    }
    return 0;
}

/* ---- the quick look ---------------------------------------------------------------------- */

/* Are the items of the dict was where they were? */
static bool
has_items(PyObject *home, PyObject *was)
{
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(was, &at, &key, &value);)
        if (PyDict_GetItemWithError(home, key) != value)
            return false;
    return true;
}

static bool
has_elements(PyObject *list, PyObject *was)
{
    Py_ssize_t n = PyTuple_Size(was);
    for (Py_ssize_t i = 0; i < n; i++)
        if (i >= PyList_Size(list) ||
            PyList_GetItem(list, i) != PyTuple_GetItem(was, i))
            return false;
    return PyList_Size(list) == n;
}

/* The same objects as keys and values in the same order? */
static bool
is_same_dict(PyObject *home, PyObject *was)
{
    PyObject *k0, *v0, *k1, *v1;
    for (Py_ssize_t i = 0, j = 0;;) {
        int a = PyDict_Next(home, &i, &k0, &v0), b = PyDict_Next(was, &j, &k1, &v1);
        if (!a || !b)
            return !a && !b;
        if (k0 != k1 || v0 != v1)
            return false;
    }
}

/* The very objects of the tuple was? {1} == {True}. */
static bool
has_members(PyObject *set, PyObject *was)
{
    PyObject *is = PySequence_Tuple(set);
    bool same = is && PyTuple_Size(is) == PyTuple_Size(was);
    for (Py_ssize_t i = 0; same && i < PyTuple_Size(was); i++)
        same = PyTuple_GetItem(is, i) == PyTuple_GetItem(was, i);
    Py_XDECREF(is);
    return same;
}

static bool
has_class(PyObject *o, PyObject *cls, PyObject *dict)
{
    if ((PyObject *)Py_TYPE(o) != cls || !dict)
        return (PyObject *)Py_TYPE(o) == cls;
    PyObject *is = PyObject_GenericGetDict(o, NULL);
    Py_XDECREF(is);
    return is == dict;
}

/* What Python code answers must be held: it may launch, and that may free the table. */
static bool
has_attribute(PyObject *o, PyObject *name, PyObject *was)
{
    Py_INCREF(o);
    Py_INCREF(name);
    PyObject *is = PyObject_GetAttr(o, name);
    Py_DECREF(o);
    Py_DECREF(name);
    if (!is && !was)
        PyErr_Clear();
    Py_XDECREF(is);
    return is == was;
}

/* What home(*name[0], **name[1]) gives. A debugger does not step into it. */
static PyObject *
ask_again(PyObject *fn, PyObject *args)
{
    Py_INCREF(fn);
    Py_INCREF(args);
    PyObject *named = PyTuple_GetItem(args, 1);
    tracing_pause();
    PyObject *r = PyObject_Call(fn, PyTuple_GetItem(args, 0),
                                named == Py_None ? NULL : named);
    tracing_resume();
    Py_DECREF(fn);
    Py_DECREF(args);
    return r;
}

static bool
has_result(PyObject *fn, PyObject *args, PyObject *was)
{
    Py_INCREF(was);
    PyObject *is = ask_again(fn, args);
    bool same = is && fe_same_value(is, was) > 0;
    Py_XDECREF(is);
    Py_DECREF(was);
    return same;
}

static bool
has_bytes(PyObject *o, PyObject *was)
{
    PyObject *is = fe_bytes_of(o);
    bool same = is && PyObject_RichCompareBool(is, was, Py_EQ) > 0;
    Py_XDECREF(is);
    return same;
}

static bool
has_code(PyObject *fn, PyObject *was)
{
    PyObject *is = fe_code_of(fn);
    bool same = is;
    for (Py_ssize_t i = 0; same && i < PyTuple_Size(was); i++)
        same = PyTuple_GetItem(is, i) == PyTuple_GetItem(was, i);
    Py_XDECREF(is);
    return same;
}

/* Is a dict what it was when it was copied? Where it was none: the same object. */
static bool
is_copied(PyObject *is, PyObject *was)
{
    return PyDict_Check(was)
               ? PyDict_Check(is) && PyDict_Size(is) == PyDict_Size(was) &&
                     has_items(is, was)
               : is == was;
}

/* Has the function the same pointers to code, defaults and dicts as in its image? What they point to is
 * held by `was`, so no other can have their addresses. false: nobody knows. */
static bool
has_image(PyObject *fn, PyObject *image)
{
    size_t n = (size_t)PyByteArray_Size(image);
    return n && !memcmp(PyByteArray_AsString(image), (char *)fn + sizeof(PyObject), n);
}

/* Asks for the attributes. Where they are the same objects, another part of fn is new, as its
 * __dict__ is at first sight: the image becomes what it is now. */

static bool
has_parts(PyObject *fn, PyObject *was)
{
    bool same = true, is_live = true;
    for (int i = 0; same && i < MADE_PARTS; i++) {
        PyObject *is = PyObject_GetAttr(fn, PyTuple_GetItem(was, MADE_NAMES + i));
        int live = MADE_LIVE + i - (MADE_PARTS - 2);
        same = is && is_copied(is, PyTuple_GetItem(was, i));
        is_live &= is == PyTuple_GetItem(was, live >= MADE_LIVE ? live : i);
        Py_XDECREF(is);
    }
    PyObject *image = PyTuple_GetItem(was, MADE_IMAGE);
    if (same && is_live)
        memcpy(PyByteArray_AsString(image), (char *)fn + sizeof(PyObject),
               (size_t)PyByteArray_Size(image));
    return same;
}

/* Of an open function at every launch: 10 ns instead of the 180 that four attributes cost. */
static bool
has_made(PyObject *fn, PyObject *was)
{
    if (!has_image(fn, PyTuple_GetItem(was, MADE_IMAGE)))
        return has_parts(fn, was);
    for (int i = 0; i < 2; i++)
        if (!is_copied(PyTuple_GetItem(was, MADE_LIVE + i),
                       PyTuple_GetItem(was, MADE_PARTS - 2 + i)))
            return false;
    return true;
}

static PyObject *
cell_value(PyObject *cell)
{
    return PyObject_GetAttrString(cell, "cell_contents");
}

static bool
has_contents(PyObject *cell, PyObject *was)
{
    PyObject *is = cell_value(cell);
    Py_XDECREF(is);
    return is == was;
}

/* Is it what it was, as far as addresses tell? Leaves an exception where looking failed. */
static bool
looks_same(const FeCapture *x)
{
    switch (x->kind) {
    case WATCH_DICT: return PyDict_GetItemWithError(x->home, x->name) == x->value;
    case WATCH_MAP: return is_same_dict(x->home, x->value);
    case WATCH_PART:
        return PyDict_Size(x->home) == PyLong_AsSsize_t(x->name) &&
               has_items(x->home, x->value);
    case WATCH_LIST: return has_elements(x->home, x->value);
    case WATCH_CODE: return has_code(x->home, x->value);
    case WATCH_MADE: return has_made(x->home, x->value);
    case WATCH_SET: return has_members(x->home, x->name);
    case WATCH_BYTES: return has_bytes(x->home, x->value);
    case WATCH_CELL: return has_contents(x->home, x->value);
    case WATCH_ATTR: return has_attribute(x->home, x->name, x->value);
    case WATCH_CLASS: return has_class(x->home, x->value, x->name);
    case WATCH_CALL: return has_result(x->home, x->name, x->value);
    case WATCH_IDLE: break;
    }
    return false;
}

/* "table['a']", or of an object's or class's dict "Cfg.N". New reference. */
static PyObject *
item_label(const FeCapture *x, PyObject *key)
{
    Py_ssize_t n = PyUnicode_GetLength(x->label);
    bool is_object = n && PyUnicode_ReadChar(x->label, n - 1) == '.';
    return PyUnicode_FromFormat(is_object ? "%U%S" : "%U[%R]", x->label, key);
}

/* Of a dict that has changed: the items that have not. */
static int
note_items(FeCaptures *c, const FeCapture *x)
{
    PyObject *key, *value;
    int r = 0;
    for (Py_ssize_t at = 0; !r && PyDict_Next(x->value, &at, &key, &value);) {
        if (PyDict_GetItemWithError(x->home, key) != value)
            continue;
        PyObject *label = item_label(x, key);
        r = label ? fe_capture(c, (FeCapture){WATCH_DICT, x->home, key, value, label})
                  : -1;
        Py_XDECREF(label);
    }
    return r;
}

int
fe_captures_settle(FeCaptures *c, int from, bool is_last)
{
    int r = 0;
    bool was_before = false;
    for (int i = c->n; i-- > 0 && r >= 0;) {
        /* A call was asked twice; what a decorator has read is no function's notes. */
        if (c->at[i].kind == WATCH_CALL || c->at[i].kind == WATCH_MADE ||
            c->at[i].kind & WATCH_IDLE)
            continue;
        bool same = looks_same(&c->at[i]);
        PyErr_Clear();
        if (same || i >= c->n)
            continue;
        FeCapture x = c->at[i];
        was_before |= i < from;
        bool has_items = x.kind == WATCH_MAP || x.kind == WATCH_PART;
        r = has_items && (is_last || i < from) && note_items(c, &x) ? -1 : 1;
        if (is_last) {
            c->at[i].kind |= WATCH_IDLE;
            continue;
        }
        memmove(c->at + i, c->at + i + 1, (size_t)(c->n - i - 1) * sizeof x);
        c->n--;
        c->n_slots = 0; /* numbers have changed */
        drop_capture(x);
    }
    for (int i = 0; was_before && i < MIN(from, c->n); i++)
        if (c->at[i].kind == (WATCH_CALL | WATCH_IDLE))
            c->at[i].kind = WATCH_CALL;
    return r;
}

/* ---- comparing --------------------------------------------------------------------------- */

typedef enum Change { SAME, NEW_CODE, NEW_VALUE } Change;

/* Something that runs: compared by address, and compiled anew when it is another one. */
static bool
is_code(const FeEnv *env, PyObject *o)
{
    return PyType_Check(o) || PyModule_Check(o) || env->as_function(env->data, o) ||
           PyObject_HasAttrString(o, "__tegula_constexpr__") ||
           PyObject_HasAttrString(o, "__tegula_builtin__") ||
           PyObject_HasAttrString(o, "__code__"); /* of tl.constexpr(function) */
}

static bool
is_constexpr(const FeEnv *env, PyObject *o)
{
    PyObject *lost = NULL; /* then it is another constant, at worst */
    bool is = is_a(env, o, "constexpr", &lost);
    Py_XDECREF(lost);
    return is;
}

/* New reference to what a constexpr wraps, else to o. */
static PyObject *
unwrap(const FeEnv *env, PyObject *o)
{
    PyObject *v = is_constexpr(env, o) ? PyObject_GetAttrString(o, "value") : NULL;
    PyErr_Clear();
    return v ? v : Py_NewRef(o);
}

/* Does it never change? Of ours a constexpr does. */
static bool
is_atom(const FeEnv *env, PyObject *o)
{
    if (is_constexpr(env, o))
        return false;
    return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) ||
           PyFloat_CheckExact(o) || PyComplex_CheckExact(o) ||
           PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || fe_has_class_of_ours(o);
}

static Change compare(const FeEnv *env, PyObject *was, PyObject *is);

/* What may change later is watched from a compile on: equal, but another, is new code. */
static Change
compare_tuples(const FeEnv *env, PyObject *a, PyObject *b)
{
    Change change = PyTuple_CheckExact(a) ? SAME : NEW_CODE;
    for (Py_ssize_t i = 0; i < PyTuple_Size(a) && change != NEW_VALUE; i++) {
        PyObject *x = PyTuple_GetItem(a, i), *y = PyTuple_GetItem(b, i);
        Change c = compare(env, x, y);
        if (c == SAME && x != y && !is_atom(env, x) && !PyTuple_CheckExact(x))
            c = NEW_CODE;
        change = MAX(change, c);
    }
    return change;
}

static Change
compare(const FeEnv *env, PyObject *was, PyObject *is)
{
    if (was == is)
        return SAME;
    PyObject *a = unwrap(env, was), *b = unwrap(env, is);
    Change change = NEW_VALUE;
    if (a == b)
        change = SAME;
    else if (is_code(env, a) || is_code(env, b))
        change = NEW_CODE;
    else if (Py_TYPE(a) == Py_TYPE(b) && PyTuple_Check(a) &&
             PyTuple_Size(a) == PyTuple_Size(b))
        change = compare_tuples(env, a, b);
    else if (fe_same_value(a, b) > 0)
        change = is_atom(env, a) ? SAME : NEW_CODE;
    PyErr_Clear();
    Py_DECREF(a);
    Py_DECREF(b);
    return change;
}

/* The RuntimeError: what `label` names was, and is (NULL: it is gone). name: of a variable, or
 * NULL. Always -1. */
static int
report(const FeEnv *env, const FeFunction *kernel, PyObject *name, PyObject *label,
       PyObject *was, PyObject *is)
{
    PyObject *a = unwrap(env, was), *b = is ? unwrap(env, is) : NULL;
    PyObject *now = b ? PyUnicode_FromFormat("is %.300R now", b)
                      : PyUnicode_FromString("is not defined now");
    PyObject *how = name ? PyUnicode_FromFormat("%U: tl.constexpr", name)
                         : PyUnicode_FromString("annotated tl.constexpr");
    if (now && how)
        PyErr_Format(PyExc_RuntimeError,
                     "%U was %.300R when the kernel %s() was compiled, and %U: a "
                     "compiled kernel keeps the values it read. Pass it as an argument "
                     "(%U), or define the kernel again after the change",
                     label, a, kernel->name, now, how);
    Py_XDECREF(how);
    Py_DECREF(a);
    DROP(b, now);
    return -1;
}

/* What messages call x: new reference, or NULL with an exception. */
static PyObject *
label_of(const FeCapture *x, const FeFunction *kernel)
{
    if (x->label)
        return PyUnicode_FromFormat("'%U'", x->label);
    if (!x->name)
        return PyObject_Repr((PyObject *)Py_TYPE(x->home));
    if (x->kind == WATCH_CELL)
        return PyUnicode_FromFormat("variable of the enclosing function '%U'", x->name);
    PyObject *home_b = x->home == kernel->globals || !PyDict_Check(x->home)
                           ? NULL
                           : PyDict_GetItemString(x->home, "__name__");
    PyErr_Clear();
    if (home_b && PyUnicode_Check(home_b))
        return PyUnicode_FromFormat("global variable '%U' of module %U", x->name,
                                    home_b);
    return PyUnicode_FromFormat("global variable '%U'", x->name);
}

/* One value of a capture: SAME may store the new object in place of the old. is: borrowed. */
static int
judge(const FeEnv *env, const FeFunction *kernel, PyObject *name, PyObject *label,
      PyObject *was, PyObject *is)
{
    Change change = !was ? NEW_CODE : !is ? NEW_VALUE : compare(env, was, is);
    return change == SAME       ? 1
           : change == NEW_CODE ? 0
                                : report(env, kernel, name, label, was, is);
}

/* Of a dict: key by key. */
static int
judge_items(const FeEnv *env, const FeFunction *kernel, const FeCapture *x)
{
    PyObject *key, *was, *keys = PyDict_Keys(x->value);
    int res = keys ? 1 : -1;
    for (Py_ssize_t i = 0; res == 1 && i < PyList_Size(keys); i++) {
        key = PyList_GetItem(keys, i);
        was = Py_XNewRef(PyDict_GetItemWithError(x->value, key));
        PyObject *is = Py_XNewRef(PyDict_GetItemWithError(x->home, key));
        if (was && is != was) {
            PyObject *part = item_label(x, key);
            PyObject *label = part ? PyUnicode_FromFormat("'%U'", part) : NULL;
            res = label ? judge(env, kernel, NULL, label, was, is) : -1;
            if (res == 1 && !is_atom(env, is) && !PyTuple_CheckExact(is))
                res = 0;
            if (res == 1 && PyDict_SetItem(x->value, key, is))
                res = -1;
            DROP(part, label);
        }
        DROP(was, is);
    }
    Py_XDECREF(keys);
    /* More items than there were: who asks for one that was not there may find it. The same in
     * another order: who asks for the first one finds another. */
    bool is_same = x->kind == WATCH_MAP
                       ? is_same_dict(x->home, x->value)
                       : PyDict_Size(x->home) == PyLong_AsSsize_t(x->name);
    return res == 1 && !is_same ? 0 : res;
}

/* Of a decorated function: what was read of it stays, whatever it is now. name: the function's;
 * kernel: whose launch or compile it is. 1, or -1 with an exception. */
static int
judge_made(const FeEnv *env, const FeFunction *kernel, PyObject *fn, PyObject *was,
           PyObject *name)
{
    PyObject *now = fe_made_of(fn);
    int res = now ? 1 : -1;
    for (int i = 0; res == 1 && i < MADE_PARTS; i++) {
        PyObject *was_b = PyTuple_GetItem(was, i), *is_b = PyTuple_GetItem(now, i);
        if (compare(env, was_b, is_b) == SAME)
            continue;
        PyObject *label = PyUnicode_FromFormat("'%U.%U'", name,
                                               PyTuple_GetItem(was, MADE_NAMES + i));
        res = label ? report(env, kernel, NULL, label, was_b, is_b) : -1;
        Py_XDECREF(label);
    }
    Py_XDECREF(now);
    return res;
}

int
fe_is_made(const FeEnv *env, const FeFunction *fn)
{
    if (has_made(fn->fn, fn->made))
        return 1;
    PyErr_Clear();
    PyObject *name = PyUnicode_FromString(fn->name);
    int r = name ? judge_made(env, fn, fn->fn, fn->made, name) : -1;
    Py_XDECREF(name);
    return r;
}

/* What stands there now: a new reference, or NULL without an exception. */
static PyObject *
now(const FeCapture *x)
{
    PyObject *o = NULL;
    switch (x->kind) {
    case WATCH_DICT: o = Py_XNewRef(PyDict_GetItemWithError(x->home, x->name)); break;
    case WATCH_LIST: o = PyList_AsTuple(x->home); break;
    case WATCH_BYTES: o = fe_bytes_of(x->home); break;
    case WATCH_CELL: o = cell_value(x->home); break;
    case WATCH_ATTR: o = PyObject_GetAttr(x->home, x->name); break;
    case WATCH_CALL: o = ask_again(x->home, x->name); break;
    default: o = Py_NewRef(x->home); break;
    }
    PyErr_Clear();
    return o;
}

/* A constexpr was made anew, and is what it was: its value is watched where it is now. */
static void
rehome(FeCaptures *c, PyObject *was, PyObject *is)
{
    PyObject *from = PyObject_GenericGetDict(was, NULL);
    PyObject *to = from ? PyObject_GenericGetDict(is, NULL) : NULL;
    for (int i = 0; to && i < c->n; i++) {
        FeCapture *x = &c->at[i], old = *x;
        PyObject *value_b = x->home == from && x->kind == WATCH_DICT
                                ? PyDict_GetItemWithError(to, x->name)
                                : NULL;
        if (!value_b)
            continue;
        x->home = Py_NewRef(to);
        c->n_slots = 0;
        x->value = Py_NewRef(value_b);
        Py_DECREF(old.home);
        Py_XDECREF(old.value);
    }
    PyErr_Clear();
    DROP(from, to);
}

/* Looks closer at c->at[i], which is another object now. Comparing runs code of others, so
 * what c holds is looked at anew afterwards. */
static int
look_closer(const FeEnv *env, FeCaptures *c, int i, const FeFunction *kernel)
{
    FeCapture x = c->at[i];
    if (x.kind == WATCH_CODE || x.kind == WATCH_CLASS)
        return 0;
    hold(&x);
    PyObject *o = now(&x), *label = label_of(&x, kernel);
    int res = !label                 ? -1
              : x.kind == WATCH_MADE ? judge_made(env, kernel, x.home, x.value, x.label)
              : x.kind == WATCH_MAP || x.kind == WATCH_PART
                  ? judge_items(env, kernel, &x)
                  : judge(env, kernel, x.label ? NULL : x.name, label, x.value, o);
    if (res == 1 && o && x.value && is_constexpr(env, o))
        rehome(c, x.value, o);
    bool is_one = x.kind != WATCH_MADE && x.kind != WATCH_MAP && x.kind != WATCH_PART;
    if (res == 1 && x.kind == WATCH_SET) /* it reads the same, and is not */
        res = 0;
    if (res == 1 && is_one && i < c->n && c->at[i].value == x.value &&
        c->at[i].home == x.home) {
        c->at[i].value = o;
        o = x.value; /* dropped twice below: ours and the table's */
    }
    DROP(o, label);
    drop_capture(x);
    return res;
}

int
fe_captures_check(const FeEnv *env, FeCaptures *c, const FeFunction *kernel)
{
    int res = 1;
    for (int i = 0; i < c->n && res == 1; i++) {
        const FeCapture *x = &c->at[i];
        bool is_same = x->kind == WATCH_DICT /* most are */
                           ? PyDict_GetItemWithError(x->home, x->name) == x->value
                           : looks_same(x);
        if (!is_same) {
            PyErr_Clear();
            if (i < c->n)
                res = look_closer(env, c, i, kernel);
        }
    }
    return res;
}

int
fe_captures_wake(const FeEnv *env, FeCaptures *c, FeCaptures *quiet,
                 const FeFunction *kernel)
{
    int res = fe_captures_check(env, quiet, kernel);
    for (int i = 0; i < quiet->n && res == 1; i++) {
        const FeCapture *x = &quiet->at[i];
        bool is_open = x->kind != WATCH_MADE
                           ? env->is_language_open
                           : env->as_function(env->data, x->name)->is_open;
        if (is_open && fe_capture(c, *x))
            res = -1;
    }
    return res;
}
