/* launcher: kernel[grid], a builtin function whose self knows the kernel and the grid.
 *
 * A builtin function made with METH_FASTCALL | METH_KEYWORDS is called by vectorcall, which
 * the Limited API of 3.11 gives to no type of our own: no tuple of arguments and no
 * dictionary is made for a launch.
 */
#include "module/module.h"

/* Are n positional arguments all that a variant takes but its constants? */
static bool
lacks_constants(const Launcher *l, Py_ssize_t n, PyObject *kwnames)
{
    const FeFunction *f = l->kernel->f;
    if (n >= f->n_params || (kwnames && PyTuple_Size(kwnames)))
        return false;
    for (int i = 0; i < f->n_params; i++)
        n -= !f->params[i].is_constexpr;
    return !n;
}

static PyObject *
call_completed(const Launcher *l, PyObject *const *args)
{
    PyObject *all[MAX_ARGS];
    int n = l->kernel->f->n_params;
    if (fixed_complete(l->fixed, args, all))
        return NULL;
    PyObject *res = launch(l->kernel, l, all, n, NULL, false);
    for (int i = 0; i < n; i++)
        Py_DECREF(all[i]);
    return res;
}

/* compiled[grid](.., stream=s): the launch goes to that stream. The rest as without it. */
static PyObject *
call_on_stream(const Launcher *l, PyObject *const *args, Py_ssize_t n_args,
               PyObject *kwnames, Py_ssize_t at)
{
    Launcher on = *l;
    Py_ssize_t n_kw = PyTuple_Size(kwnames);
    PyObject *stream_b = args[n_args + at], *res = NULL;
    PyObject **rest = PyMem_Malloc((size_t)(n_args + n_kw) * sizeof *rest);
    PyObject *names = PyTuple_New(n_kw - 1);
    if (!rest || !names) {
        PyErr_NoMemory();
        goto done;
    }
    if (stream_b != Py_None && !PyLong_Check(stream_b)) {
        PyErr_Format(PyExc_TypeError, "a stream is an integer, not %R", stream_b);
        goto done;
    }
    on.stream = stream_b == Py_None ? NULL : stream_b;
    for (Py_ssize_t i = 0, to = 0; i < n_args + n_kw; i++)
        if (i != n_args + at)
            rest[to++] = args[i];
    for (Py_ssize_t i = 0, to = 0; i < n_kw; i++)
        if (i != at)
            PyTuple_SetItem(names, to++, Py_NewRef(PyTuple_GetItem(kwnames, i)));
    res = lacks_constants(l, n_args, names)
              ? call_completed(&on, rest)
              : launch(l->kernel, &on, rest, n_args, names, false);
done:
    PyMem_Free(rest);
    Py_XDECREF(names);
    return res;
}

static PyObject *
launcher_call(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames)
{
    Launcher *l = (Launcher *)self;
    if (!l->fixed)
        return launch(l->kernel, l, args, n_args, kwnames, false);
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_Size(kwnames); i++)
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GetItem(kwnames, i), "stream"))
            return call_on_stream(l, args, n_args, kwnames, i);
    if (lacks_constants(l, n_args, kwnames))
        return call_completed(l, args);
    return launch(l->kernel, l, args, n_args, kwnames, false);
}

static PyMethodDef launch_methods[] = {
    {"launch", (PyCFunction)(void (*)(void))launcher_call,
     METH_FASTCALL | METH_KEYWORDS,
     "Runs the kernel on its grid; returns the compiled variant."},
    {NULL, NULL, 0, NULL},
};

int
launcher_init(Launcher *l, Kernel *k, PyObject *grid)
{
    bool is_fn = !PyTuple_Check(grid) && PyCallable_Check(grid);
    l->kernel = k;
    l->fixed = NULL;
    l->any_constants = false;
    l->stream = NULL;
    l->fn = is_fn ? grid : NULL;
    l->grid = (Grid){{0, 0, 0}};
    return is_fn ? 0 : grid_from(grid, &l->grid);
}

/* The callable around a copy of *from, whose references it takes for itself. */
static PyObject *
wrap(const Launcher *from, PyObject *type, Launcher **out)
{
    Launcher *l = PyObject_GC_New(Launcher, (PyTypeObject *)type);
    if (!l)
        return NULL;
    l->kernel = (Kernel *)Py_NewRef((PyObject *)from->kernel);
    l->fixed = (Compiled *)Py_XNewRef((PyObject *)from->fixed);
    l->any_constants = from->any_constants;
    l->fn = Py_XNewRef(from->fn);
    l->stream = NULL;
    l->grid = from->grid;
    PyObject_GC_Track((PyObject *)l);
    PyObject *f = PyCFunction_NewEx(&launch_methods[0], (PyObject *)l, NULL);
    Py_DECREF((PyObject *)l);
    *out = l;
    return f;
}

/* Notes that grid is what k->last is for, if it cannot change. */
static void
keep_sides(Kernel *k, PyObject *grid)
{
    bool is_plain = PyLong_CheckExact(grid) || PyTuple_CheckExact(grid);
    Py_ssize_t n = PyTuple_CheckExact(grid) ? PyTuple_Size(grid) : 0;
    for (Py_ssize_t i = 0; i < n && is_plain; i++)
        is_plain = PyLong_CheckExact(PyTuple_GetItem(grid, i));
    set_ref(&k->last_sides, is_plain ? Py_NewRef(grid) : NULL);
}

PyObject *
launcher_of_kernel(Kernel *k, PyObject *grid)
{
    Launcher now, *last = k->last_launcher;
    if (last && grid == k->last_sides) /* (1024,) written in a loop */
        return Py_NewRef(k->last);
    if (launcher_init(&now, k, grid))
        return NULL;
    if (last && !now.fn && !memcmp(&now.grid, &last->grid, sizeof now.grid)) {
        keep_sides(k, grid); /* of another place in the source */
        return Py_NewRef(k->last);
    }
    PyObject *f = wrap(&now, k->st->LauncherType, &last);
    if (f && !now.fn) { /* a grid function may hold tensors: it is not ours to keep */
        k->last_launcher = last;
        set_ref(&k->last, Py_NewRef(f));
        keep_sides(k, grid);
    }
    return f;
}

PyObject *
launcher_of_variant(Compiled *v, PyObject *grid, bool any_constants)
{
    Launcher now, *unused;
    if (launcher_init(&now, v->kernel, grid))
        return NULL;
    now.fixed = v;
    now.any_constants = any_constants;
    return wrap(&now, v->st->LauncherType, &unused);
}

static int
launcher_traverse(PyObject *self, visitproc visit, void *arg)
{
    Launcher *l = (Launcher *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)l->kernel);
    Py_VISIT((PyObject *)l->fixed);
    Py_VISIT(l->fn);
    return 0;
}

/* No tp_clear: a launcher holds what it was made with, so a cycle through it passes through
 * an object that can be cleared (the grid's closure, the kernel). */
static void
launcher_dealloc(PyObject *self)
{
    Launcher *l = (Launcher *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    DROP((PyObject *)l->kernel, (PyObject *)l->fixed, l->fn);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot launcher_slots[] = {
    {Py_tp_doc, "A kernel and a grid."},
    {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_traverse, launcher_traverse},
    {0, NULL},
};

PyType_Spec launcher_spec = {
    .name = "tegula._core.Launcher",
    .basicsize = sizeof(Launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = launcher_slots,
};
