/* state: what launches take from the State, and new objects of the types it keeps. */
#include "runtime/launch.h"

PyObject *
state_language(State *st)
{
    if (st->language != Py_None)
        return st->language;
    PyObject *m = PyImport_ImportModule("tegula.language");
    if (!m)
        return NULL;
    set_ref(&st->language, m);
    return m;
}

static FeFunction *
as_function(void *data, PyObject *obj)
{
    State *st = data;
    /* Autotuners and heuristics wrap what they decorate as .fn, several deep. */
    enum { DEEPEST = 16 };
    PyObject *o = Py_NewRef(obj);
    FeFunction *f = NULL;
    for (int depth = 0; o && depth < DEEPEST; depth++) {
        if (PyObject_TypeCheck(o, (PyTypeObject *)st->KernelType)) {
            f = ((Kernel *)o)->f;
            break;
        }
        PyObject *inner = PyObject_GetAttr(o, st->str_fn);
        Py_DECREF(o);
        o = inner;
    }
    if (!o)
        PyErr_Clear();
    Py_XDECREF(o); /* obj keeps what it wraps alive */
    return f;
}

bool
kernel_env(State *st, FeEnv *env)
{
    *env = (FeEnv){.as_function = as_function,
                   .data = st,
                   .language = state_language(st),
                   .is_language_open = st->is_language_open,
                   .load_tree = trees_load,
                   .store_tree = trees_store};
    return env->language != NULL;
}

Compiled *
compiled_new(Kernel *k)
{
    Compiled *v = PyObject_GC_New(Compiled, (PyTypeObject *)k->st->CompiledType);
    if (!v)
        return NULL;
    /* All after the head, which PyObject_GC_New filled in. */
    memset((char *)v + sizeof(PyObject), 0, sizeof *v - sizeof(PyObject));
    v->st = k->st;
    v->kernel = (Kernel *)Py_NewRef((PyObject *)k);
    PyObject_GC_Track((PyObject *)v);
    return v;
}
