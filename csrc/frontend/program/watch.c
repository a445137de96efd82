/* watch: what of a program a compile reads, and may find changed at a later launch (capture.c).
 *
 *     a name                    the module's dict or the cell where it stands, and the
 *                               elements of a list
 *     module.N, Cfg.N, obj.N    the dict it was found in, and that it is in none before that
 *     d["a"]                    the item; of other objects that Python works on, all they hold
 *     f(3), f Python's          f's code and defaults, and what the code names: globals, as
 *                               its bytecode loads them, with the attributes it asks of them
 *                               at once; the cells; the same of functions and classes found so
 *
 * What a function of constants does to its own notes (a counter, a table of results) is no
 * reason to compile again: what a call has changed is forgotten (fe_captures_settle), and the
 * call is made once more, for what it reads with such notes.
 * What cannot be followed is noted by its outcome: opaque.c. Code is read in watch_code.c.
 * Functions of Python's own library, of ours, and of installed packages are not looked into,
 * nor are objects of installed packages' classes: what such code holds is its own, as the
 * fixtures that pytest's assertions lead to. All functions: 0, or -1 with an exception.
 */
#include "frontend/program/watch.h"

enum {
    DEEPEST = 50,
    MOST_OBJECTS = 4096, /* that one call may have looked into: programs are large */
};

/* An exception that says "there is no such thing" is cleared: 0. */
int
watch_forget(void)
{
    if (fe_is_grave())
        return -1;
    PyErr_Clear();
    return 0;
}

/* o.name, or NULL: without an exception where there is none. Behind a Ctrl-C that came in a
 * look-up before, it looks no more: another exception would take that one's place. */
PyObject *
watch_look(PyObject *o, const char *name)
{
    PyObject *v = fe_is_grave() ? NULL : PyObject_GetAttrString(o, name);
    if (!v)
        watch_forget();
    return v;
}

/* 1: seen before; 0: noted now. */
int
watch_is_seen(Watch *w, PyObject *o)
{
    PyObject *key = PyLong_FromVoidPtr(o);
    int r = key ? PySet_Contains(w->seen, key) : -1;
    if (!r)
        r = PySet_Add(w->seen, key);
    Py_XDECREF(key);
    return r;
}

bool
watch_is_enough(Watch *w)
{
    bool is = w->depth > DEEPEST || PySet_Size(w->seen) > MOST_OBJECTS;
    w->is_opaque |= is;
    return is;
}

/* The dict of an object or of a class that was made by a class statement; new reference, or
 * NULL. Of a class it is the dict itself, not the proxy that __dict__ gives. */
PyObject *
watch_dict_of(PyObject *o)
{
    if (PyType_Check(o) && !(PyType_GetFlags((PyTypeObject *)o) & Py_TPFLAGS_HEAPTYPE))
        return NULL;
    PyObject *d = PyObject_GenericGetDict(o, NULL);
    if (!d)
        watch_forget();
    if (d && !PyDict_Check(d))
        Py_CLEAR(d);
    return d;
}

/* "Cfg.": of a class, or of the class of an object; NULL: it has no name. */
PyObject *
watch_class_label(PyObject *cls)
{
    PyObject *name = watch_look(cls, "__name__");
    PyObject *label = name ? PyUnicode_FromFormat("%S.", name) : NULL;
    Py_XDECREF(name);
    return label;
}

/* "Cfg.N": of a class, and of an object of one. */
PyObject *
watch_attribute_label(PyObject *o, PyObject *name)
{
    PyObject *of = watch_look(PyType_Check(o) ? o : (PyObject *)Py_TYPE(o), "__name__");
    PyObject *label = of && PyUnicode_Check(of)
                          ? PyUnicode_FromFormat("%U.%U", of, name)
                          : NULL;
    Py_XDECREF(of);
    return label;
}

/* ---- contents ------------------------------------------------------------------------------ */

/* Notes a copy, whose reference it takes. */
int
watch_copy(Watch *w, FeWatch kind, PyObject *home, PyObject *copy, PyObject *label)
{
    int r = copy ? fe_capture(w->to, (FeCapture){kind, home, NULL, copy, label})
                 : watch_forget();
    Py_XDECREF(copy);
    return r;
}

int
watch_dict(Watch *w, PyObject *dict, PyObject *label)
{
    PyObject *values = PyDict_Values(dict);
    int r = values ? watch_copy(w, WATCH_MAP, dict, PyDict_Copy(dict), label) : -1;
    for (Py_ssize_t i = 0; !r && i < PyList_Size(values); i++)
        r = watch_contents(w, PyList_GetItem(values, i), label);
    Py_XDECREF(values);
    return r;
}

static int
watch_elements(Watch *w, PyObject *list, PyObject *label)
{
    PyObject *copy = PySequence_Tuple(list);
    int r = copy ? 0 : -1;
    if (!r && PyList_Check(list))
        r = fe_capture(w->to, (FeCapture){WATCH_LIST, list, NULL, copy, label});
    for (Py_ssize_t i = 0; !r && i < PyTuple_Size(copy); i++)
        r = watch_contents(w, PyTuple_GetItem(copy, i), label);
    Py_XDECREF(copy);
    return r;
}

/* What they are, and what they hold. */
static int
watch_set(Watch *w, PyObject *set, PyObject *label)
{
    PyObject *copy = PySet_New(set), *all = PySequence_Tuple(set);
    int r = copy && all
                ? fe_capture(w->to, (FeCapture){WATCH_SET, set, all, copy, label})
                : watch_forget();
    for (Py_ssize_t i = 0; all && !r && i < PyTuple_Size(all); i++)
        r = watch_contents(w, PyTuple_GetItem(all, i), label);
    DROP(copy, all);
    return r;
}

/* o.name, which o holds, and its contents. */
int
watch_part(Watch *w, PyObject *o, const char *name, PyObject *label)
{
    PyObject *key = PyUnicode_InternFromString(name), *dict = watch_dict_of(o);
    PyObject *v = key ? PyObject_GetAttr(o, key) : NULL;
    bool is_item = v && dict && PyDict_GetItemWithError(dict, key) == v;
    FeCapture x = {is_item ? WATCH_DICT : WATCH_ATTR, is_item ? dict : o, key, v,
                   label};
    int r = !v ? watch_forget() : fe_capture(w->to, x);
    if (v && !r)
        r = watch_contents(w, v, label);
    DROP(key, dict, v);
    return r;
}

/* A named tuple has methods, a class derived from list or dict operators of its own. */
static bool
is_subclass_of_container(PyObject *o)
{
    return (PyTuple_Check(o) && !PyTuple_CheckExact(o)) ||
           (PyList_Check(o) && !PyList_CheckExact(o)) ||
           (PyDict_Check(o) && !PyDict_CheckExact(o)) ||
           (PySet_Check(o) && !Py_IS_TYPE(o, &PySet_Type));
}

static bool
is_a_constexpr(Watch *w, PyObject *o)
{
    PyObject *cls = watch_look(w->env->language, "constexpr");
    bool is = cls && PyObject_IsInstance(o, cls) > 0;
    Py_XDECREF(cls);
    return is;
}

static int
watch_slice(Watch *w, PyObject *o, PyObject *label)
{
    static const char *const parts[] = {"start", "stop", "step"};
    int r = 0;
    for (size_t i = 0; !r && i < COUNT(parts); i++) {
        PyObject *v = watch_look(o, parts[i]);
        r = v ? watch_contents(w, v, label) : watch_forget();
        Py_XDECREF(v);
    }
    return r;
}

/* What o holds that may change in place. A kernel that has read a dict or an object will say
 * what it wants of it; a list it has read whole. */
int
watch_contents(Watch *w, PyObject *o, PyObject *label)
{
    if (o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
        PyBool_Check(o) || PyUnicode_CheckExact(o))
        return 0;
    if (PyModule_Check(o) || PyCFunction_Check(o)) {
        w->is_opaque |= PyModule_Check(o) ? !is_pure_object(o) && !is_ours_module(o)
                                          : is_opaque_cfunction(o);
        return watch_forget();
    }
    bool is_constexpr = is_a_constexpr(w, o);
    if (w->is_whole && !is_constexpr &&
        (PyType_Check(o) || PyCallable_Check(o) || Py_IS_TYPE(o, &PyProperty_Type)))
        return watch_callable(w, o);
    if (PyType_Check(o) || watch_is_enough(w))
        return 0;
    int r = watch_is_seen(w, o);
    if (r)
        return MIN(r, 0);
    w->depth++;
    if (is_constexpr)
        r = watch_part(w, o, "value", label);
    else if (PyTuple_Check(o) || PyList_Check(o) || Py_IS_TYPE(o, &PyFrozenSet_Type))
        r = watch_elements(w, o, label);
    else if (!w->is_whole)
        r = 0;
    else if (PyDict_Check(o))
        r = watch_dict(w, o, label);
    else if (PySet_Check(o))
        r = watch_set(w, o, label);
    else
        r = watch_object(w, o);
    if (!r && w->is_whole && is_subclass_of_container(o))
        r = watch_object(w, o);
    if (!r && Py_IS_TYPE(o, &PySlice_Type))
        r = watch_slice(w, o, label);
    w->depth--;
    return r ? r : watch_forget();
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* A property runs code. */
static int
watch_getter(Watch *w, PyObject *found, PyObject *o)
{
    PyObject *get = watch_look(found, "fget");
    if (!get) {
        /* Another descriptor; functions are C's, and slots are read below. */
        PyTypeObject *cls = Py_TYPE(found);
        w->is_opaque |= !(PyType_GetFlags(cls) & Py_TPFLAGS_IMMUTABLETYPE) &&
                        PyObject_HasAttrString((PyObject *)cls, "__get__") &&
                        !is_our_object((PyObject *)cls);
        return watch_forget();
    }
    PyObject *label = watch_class_label((PyObject *)Py_TYPE(found));
    bool outer = w->is_whole;
    w->is_whole = true;
    int r = label ? watch_part(w, found, "fget", label) : watch_forget();
    w->is_whole = outer;
    if (!r && !PyType_Check(o))
        r = watch_object(w, o);
    Py_DECREF(get);
    Py_XDECREF(label);
    return r;
}

/* Where an attribute of o is found: in the class, or one of its bases. */
static int
watch_mro(Watch *w, PyObject *o, PyObject *name, PyObject *label)
{
    PyObject *cls = PyType_Check(o) ? o : (PyObject *)Py_TYPE(o);
    PyObject *mro = watch_look(cls, "__mro__");
    int r = mro ? watch_bases(w, cls, mro, label) : watch_forget();
    bool found = false;
    for (Py_ssize_t i = 0; mro && !r && !found && i < PyTuple_Size(mro); i++) {
        PyObject *base = PyTuple_GetItem(mro, i), *dict = watch_dict_of(base);
        PyObject *v = dict ? Py_XNewRef(PyDict_GetItemWithError(dict, name)) : NULL;
        found = v;
        if (dict && !is_known_object(base))
            r = fe_capture(w->to, (FeCapture){WATCH_DICT, dict, name, v, label});
        if (v && !r && !PyType_Check(o) && watch_is_slot(v))
            r = watch_slot(w, o, name, label);
        else if (v && !r && !(r = watch_getter(w, v, o)))
            r = watch_contents(w, v, label);
        DROP(v, dict);
    }
    Py_XDECREF(mro);
    return r;
}

/* What o has of its own, a property of its class would hide. */
static int
watch_hidden(Watch *w, PyObject *o, PyObject *name, PyObject *label)
{
    PyObject *mro = watch_look((PyObject *)Py_TYPE(o), "__mro__");
    int r = 0;
    for (Py_ssize_t i = 0; mro && !r && i < PyTuple_Size(mro); i++) {
        PyObject *base = PyTuple_GetItem(mro, i);
        PyObject *dict = is_known_object(base) ? NULL : watch_dict_of(base);
        if (dict)
            r = fe_capture(w->to,
                           (FeCapture){WATCH_DICT, dict, name,
                                       PyDict_GetItemWithError(dict, name), label});
        Py_XDECREF(dict);
    }
    Py_XDECREF(mro);
    return r ? r : watch_forget();
}

/* Does the class of o find attributes by a function of its own? */
static bool
has_own_lookup(PyObject *o)
{
    PyObject *cls = (PyObject *)Py_TYPE(o);
    if (PyType_Check(o))
        return !PyType_CheckExact(o) && !is_known_object(cls);
    PyObject *get = watch_look(cls, "__getattribute__");
    PyObject *of = get ? watch_look(get, "__objclass__") : NULL; /* of C's */
    bool is = !of || PyObject_HasAttrString(cls, "__getattr__");
    DROP(get, of);
    return is;
}

/* A name of one of our modules; what it holds is ours. */
int
watch_ours(Watch *w, PyObject *dict, PyObject *name, PyObject *v)
{
    int r = fe_capture(w->env->is_language_open ? w->to : w->env->quiet,
                       (FeCapture){WATCH_DICT, dict, name, v, NULL});
    return r ? r : watch_forget();
}

int
watch_attribute(Watch *w, PyObject *o, PyObject *name)
{
    if (PyModule_Check(o)) {
        PyObject *dict_b = PyModule_GetDict(o), *v_b;
        if (!dict_b)
            return watch_forget();
        v_b = PyDict_GetItemWithError(dict_b, name);
        if (is_our_dict(dict_b))
            return watch_ours(w, dict_b, name, v_b);
        w->is_opaque |= !v_b; /* by its __getattr__ */
        int r = fe_capture(w->to, (FeCapture){WATCH_CLASS, o, NULL,
                                              (PyObject *)Py_TYPE(o), name});
        if (r || (v_b && PyModule_Check(v_b) && is_known_object(v_b)))
            return r ? r : watch_forget();
        r = fe_capture(w->to, (FeCapture){WATCH_DICT, dict_b, name, v_b, NULL});
        return r ? r : v_b ? watch_contents(w, v_b, name) : watch_forget();
    }
    if (PyTuple_CheckExact(o) || PyLong_CheckExact(o) || PyUnicode_CheckExact(o) ||
        is_our_object(PyType_Check(o) ? o : (PyObject *)Py_TYPE(o)))
        return watch_forget();
    PyObject *label = watch_attribute_label(o, name), *dict = NULL, *v = NULL;
    int r = label ? 0 : watch_forget();
    w->is_opaque |= has_own_lookup(o) || is_dunder(name);
    if (label && !r && !PyType_Check(o))
        dict = watch_dict_of(o);
    if (label && !r && !PyType_Check(o) &&
        (dict || !is_known_object((PyObject *)Py_TYPE(o))))
        r = fe_capture(w->to, (FeCapture){WATCH_CLASS, o, dict, (PyObject *)Py_TYPE(o),
                                          label});
    if (label && !r && dict) {
        v = Py_XNewRef(PyDict_GetItemWithError(dict, name));
        r = fe_capture(w->to, (FeCapture){WATCH_DICT, dict, name, v, label});
        if (v && !r)
            r = watch_contents(w, v, label);
        if (v && !r)
            r = watch_hidden(w, o, name, label);
    }
    if (label && !r && !v)
        r = watch_mro(w, o, name, label);
    DROP(label, dict, v);
    return r;
}

/* ---- the frontend's doors -------------------------------------------------------------------- */

/* Ends a walk; what look-ups lost is grave. */
static int
done(Watch *w, int r)
{
    DROP(w->seen, w->opcodes);
    return r || PyErr_Occurred() ? -1 : 0;
}

static bool
begin(Watch *w, const FeEnv *env, bool is_whole)
{
    *w = (Watch){
        .env = env, .to = env->captures, .seen = PySet_New(NULL), .is_whole = is_whole};
    return w->seen;
}

int
fe_watch_name(const FeEnv *env, PyObject *home, PyObject *name, PyObject *value,
              bool is_cell)
{
    Watch w;
    if (!env->captures)
        return watch_forget();
    bool is_ours = !is_cell && is_our_dict(home);
    FeCapture x = {is_cell ? WATCH_CELL : WATCH_DICT, home, name, value, NULL};
    if (fe_capture(is_ours && !env->is_language_open ? env->quiet : env->captures, x))
        return -1;
    if (!value || is_ours || is_library(value))
        return watch_forget();
    return begin(&w, env, false) ? done(&w, watch_contents(&w, value, name)) : -1;
}

int
fe_watch_parameter(const FeEnv *env, const FeFunction *fn, PyObject *name,
                   PyObject *value)
{
    Watch w;
    if (!env->captures || (fn && is_our_dict(fn->globals)))
        return 0;
    return begin(&w, env, false) ? done(&w, watch_contents(&w, value, name)) : -1;
}

/* What getattr gives, where nobody knows how it comes to be. */
static int
watch_outcome(Watch *w, PyObject *o, PyObject *name)
{
    PyObject *v = PyObject_GetAttr(o, name), *label = NULL;
    int r = v ? 0 : watch_forget();
    label = !r && !PyModule_Check(o) ? watch_attribute_label(o, name) : NULL;
    if (!r)
        r = fe_capture(w->to, (FeCapture){WATCH_ATTR, o, name, v, label});
    if (v && !r)
        r = watch_contents(w, v, name);
    DROP(v, label);
    return r;
}

int
fe_watch_function(const FeEnv *env, FeFunction *fn)
{
    if (!env->captures || !fn->made)
        return 0;
    if (!fn->is_judged) /* only f->fn has the function of a decorator's line */
        fn->is_open |= (uint32_t)Py_REFCNT(fn->fn) > 1;
    fn->is_judged = true;
    if (fn->is_open && fe_is_made(env, fn) < 0)
        return -1;
    PyObject *label = PyUnicode_FromString(fn->name);
    FeCapture x = {WATCH_MADE, fn->fn, fn->of, fn->made, label};
    int r = label ? fe_capture(fn->is_open ? env->captures : env->quiet, x) : -1;
    Py_XDECREF(label);
    return r;
}

int
fe_watch_wrapper(const FeEnv *env, PyObject *o, const FeFunction *fn)
{
    int r = 0;
    PyObject *key = env->captures ? PyUnicode_InternFromString("fn") : NULL;
    for (Py_INCREF(o); key && !r && o && o != fn->of;) {
        PyObject *inner = PyObject_GetAttr(o, key);
        if (inner)
            r = fe_capture(env->captures, (FeCapture){WATCH_ATTR, o, key, inner, key});
        Py_DECREF(o);
        o = inner;
    }
    DROP(o, key);
    return r ? r : watch_forget();
}

int
fe_watch_attribute(const FeEnv *env, PyObject *o, PyObject *name)
{
    Watch w;
    if (!env->captures)
        return 0;
    if (!begin(&w, env, false))
        return -1;
    int r = watch_attribute(&w, o, name);
    if (!r && w.is_opaque)
        r = watch_outcome(&w, o, name);
    return done(&w, r);
}

int
fe_watch_item(const FeEnv *env, PyObject *o, PyObject *key)
{
    if (!env->captures)
        return 0;
    if (!PyDict_CheckExact(o))
        return fe_watch_value(env, o, NULL);
    PyObject *label = PyUnicode_FromFormat("[%R]", key);
    PyObject *v_b = label ? PyDict_GetItemWithError(o, key) : NULL;
    FeCapture x = {WATCH_DICT, o, key, v_b, label};
    Watch w;
    int r = watch_forget(); /* a key that cannot be one: looking it up will say so */
    if (!r)
        r = label ? fe_capture(env->captures, x) : -1;
    if (!r && v_b)
        r = begin(&w, env, false) ? done(&w, watch_contents(&w, v_b, label)) : -1;
    Py_XDECREF(label);
    return r;
}

int
fe_watch_call(const FeEnv *env, PyObject *o, bool *is_opaque)
{
    Watch w;
    if (!env->captures || PyCFunction_Check(o))
        return 0;
    if (!begin(&w, env, true))
        return -1;
    int r = watch_callable(&w, o);
    if (is_opaque)
        *is_opaque |= w.is_opaque || (w.has_numpy && w.has_text);
    return done(&w, r);
}

int
fe_watch_value(const FeEnv *env, PyObject *o, bool *is_opaque)
{
    Watch w;
    if (!env->captures || o == Py_None || PyUnicode_CheckExact(o) || PyBool_Check(o))
        return 0;
    PyObject *label = watch_class_label((PyObject *)Py_TYPE(o));
    int r = label && begin(&w, env, true) ? watch_contents(&w, o, label) : -1;
    if (label && is_opaque)
        *is_opaque |= w.is_opaque || (w.has_numpy && w.has_text);
    Py_XDECREF(label);
    return label ? done(&w, r) : -1;
}

int
fe_watch_result(const FeEnv *env, PyObject *o, PyObject *pos, PyObject *named,
                PyObject *result, PyObject *name, bool is_known)
{
    PyObject *again = is_known ? Py_NewRef(result) : PyObject_Call(o, pos, named);
    if (!again)
        return watch_forget();
    PyObject *args = PyTuple_Pack(2, pos, named ? named : Py_None);
    PyObject *label = PyUnicode_FromFormat("%U()", name);
    int same = fe_same_value(result, again);
    Py_DECREF(again);
    FeWatch kind = is_known ? WATCH_CALL | WATCH_IDLE : WATCH_CALL;
    FeCapture x = {kind, o, args, result, label};
    int r = !args || !label ? -1
            : same > 0      ? fe_capture(env->captures, x)
                            : watch_forget();
    DROP(args, label);
    return r;
}
