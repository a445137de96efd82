/* launch: the hot path.
 *
 *     kernel[grid]          kernel.c makes a Launcher and a builtin function around it
 *     (x, y, n, BLOCK=64)   launch(): a vectorcall lands here, no tuple, no dictionary
 *         call_bind_names   options, an object for each parameter  bind.c
 *         note_grid         a grid that is a function
 *         call_nodes        Py_TYPEs -> nodes                      nodes.c, torch.c, dlpack.c
 *         cache_find        the key of the launch before, or one look-up   cache.c
 *         launch_run        parameters in an array, and go         host_launch.c, cuda_launch.c
 *
 * On a hit nothing here allocates, formats, reads the environment or takes a lock. The cost
 * is measured by benchmarks/launch.py and written down in README.md.
 */
#include "runtime/launch.h"

static int
grid_side(PyObject *item, int32_t *out)
{
    PyObject *index = PyNumber_Index(item);
    if (!index) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return -1;
        PyErr_Clear();
        if (PyObject_HasAttrString(item, "shape"))
            return PyErr_SetString(PyExc_TypeError,
                                   "a grid is made of integers, not of an array: "
                                   "(cdiv(n, BLOCK),), or tuple(x) of what is short"),
                   -1;
        return PyErr_Format(
                   PyExc_TypeError, "the sides of a grid must be integers, not %R%s",
                   item,
                   PyFloat_Check(item) ? ": cdiv(n, BLOCK) divides and rounds up" : ""),
               -1;
    }
    int over;
    long v = PyLong_AsLongAndOverflow(index, &over);
    Py_DECREF(index);
    if (over || v < 0 || v > INT32_MAX)
        return PyErr_Format(PyExc_ValueError,
                            "the sides of a grid must be from 0 to 2**31 - 1, not %R",
                            item),
               -1;
    *out = (int32_t)v;
    return 0;
}

int
grid_from(PyObject *obj, Grid *g)
{
    *g = (Grid){{1, 1, 1}};
    if (PyIndex_Check(obj))
        return grid_side(obj, &g->dim[0]);
    bool is_tuple = PyTuple_Check(obj), is_list = !is_tuple && PyList_Check(obj);
    if (!is_tuple && !is_list)
        return PyErr_Format(
                   PyExc_TypeError,
                   "a grid is an integer, a tuple of 1 to 3 of them, or a function of "
                   "the kernel's arguments that returns one, not %R",
                   obj),
               -1;
    Py_ssize_t n = is_tuple ? PyTuple_Size(obj) : PyList_Size(obj);
    if (n == 0)
        return PyErr_SetString(PyExc_IndexError, "a grid has 1 to 3 sides, not none"),
               -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int32_t more = 1; /* Triton does not look at what follows the third side */
        PyObject *item = Py_XNewRef(is_tuple ? PyTuple_GetItem(obj, i)
                                             : PyList_GetItem(obj, i));
        int r = item ? grid_side(item, i < 3 ? &g->dim[i] : &more)
                     : -1; /* an __index__ took it away */
        Py_XDECREF(item);
        if (r)
            return -1;
        if (more != 1)
            return PyErr_Format(PyExc_ValueError, "a grid has 1 to 3 sides, not %zd",
                                n),
                   -1;
    }
    return 0;
}

/* Says with the exception that is set what a grid function is given. */
static void
grid_note(const Call *c)
{
    if (!PyErr_ExceptionMatches(PyExc_KeyError) &&
        !PyErr_ExceptionMatches(PyExc_AttributeError) &&
        !PyErr_ExceptionMatches(PyExc_TypeError))
        return;
    PyObject *type, *value, *trace, *names = PyUnicode_FromString("");
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    for (int i = 0; names && i < c->k->f->n_params; i++) {
        PyObject *more = PyUnicode_FromFormat("%U%s%U", names, i ? ", " : "",
                                              c->k->names[i]);
        Py_DECREF(names);
        names = more;
    }
    PyObject *note = names
                         ? PyUnicode_FromFormat(
                               "the grid of %s() is a function of a dict, lambda meta: "
                               "(.., ), of its parameters: %U",
                               c->k->f->name, names)
                         : NULL;
    PyObject *done = note && value ? PyObject_CallMethod(value, "add_note", "O", note)
                                   : NULL;
    DROP(done, note, names);
    PyErr_Restore(type, value, trace); /* in the place of what went wrong here */
}

/* kernel[lambda meta: ..]: the grid is a function of the arguments. */
static int
grid_call(PyObject *fn, const Call *c, Grid *g)
{
    PyObject *meta = call_meta(c);
    if (!meta)
        return -1;
    PyObject *dims = PyObject_CallFunctionObjArgs(fn, meta, NULL);
    Py_DECREF(meta);
    if (!dims)
        return grid_note(c), -1;
    int r = grid_from(dims, g);
    Py_DECREF(dims);
    return r;
}

/* Where the launch is looked at: on CPUs, or by who checks. 0, or -1 with an exception. */
static int
launch_elsewhere(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    bool is_tried = trial_is_on(v, c),
         is_watched = c->opt.flags & (OPT_INTERPRET | OPT_BOUNDS) || is_tried ||
                      v->bin.target.kind == TARGET_EMU;
    if (is_watched && (call_leave(c) || call_check_values(c) || strides_check(v, c)))
        return -1;
    if (c->opt.flags & OPT_INTERPRET)
        return interp_launch(v, c, params, g);
    switch (v->bin.target.kind) {
    case TARGET_CPU: return (is_tried ? trial_launch : host_launch)(v, c, params, g);
    case TARGET_EMU: return emu_launch(v, c, params, g);
    case TARGET_CUDA: return cuda_launch(v, c, params, g);
    }
    return 0;
}

/* Runs a variant with the parameters of a call. 0, or -1 with an exception. */
static int
launch_run(Compiled *v, Call *c, const Grid *g)
{
    uint64_t gathered[MAX_NODES], *params = v->in_order ? c->bits : gathered;
    if (!g->dim[0] || !g->dim[1] || !g->dim[2])
        return 0;
    for (int i = 0; !v->in_order && i < v->bin.n_params; i++)
        params[i] = c->bits[v->node[i]];
    if (v->bin.n_params)
        memcpy(v->last_params, params, (size_t)v->bin.n_params * sizeof *params);
    v->last_grid = *g;
    bool is_plain = v->bin.target.kind == TARGET_CUDA &&
                    !(c->opt.flags & (OPT_INTERPRET | OPT_BOUNDS));
    return is_plain ? cuda_launch(v, c, params, g) : launch_elsewhere(v, c, params, g);
}

/* The same, between the hooks of knobs.runtime. */
static int
launch_hooked(Compiled *v, Call *c, const Grid *g)
{
    if (!g->dim[0] || !g->dim[1] || !g->dim[2])
        return 0;
    PyObject *after = call_leave(c) ? NULL : hooks_enter(v, c, g);
    if (!after)
        return -1;
    if (!launch_run(v, c, g))
        return hooks_exit(after);
    Py_DECREF(after);
    return -1;
}

/* Where a launch without tensors runs, and whose stream it is on. 0, or -1 with an exception. */
static int
bind_anywhere(Call *c)
{
    if (cuda_default_place(c->k->st, &c->place))
        return -1;
    if (c->place.type == kDLCUDA)
        c->api = c->k->st->torch_api; /* NULL: tensor_stream looks for it */
    return 0;
}

/* Notes the grid, once a launch. 0, or -1 with an exception. */
static int
note_grid(Call *c, const Launcher *l)
{
    if (c->has_grid)
        return 0;
    c->grid = l->grid;
    if (l->fn && grid_call(l->fn, c, &c->grid))
        return -1;
    c->has_grid = true;
    return 0;
}

/* What a grid function raised: a compile comes first with what is wrong with it. */
typedef struct Late {
    PyObject *type, *value, *trace;
} Late;

/* A grid function comes before anything of a tensor is read, since it may move the memory of
 * one; it is called once. 0, or -1 with an exception that nothing comes before. */
static int
call_grid_function(Call *c, const Launcher *l, Late *late)
{
    if (!note_grid(c, l))
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return -1;
    PyErr_Fetch(&late->type, &late->value, &late->trace);
    c->grid = (Grid){{1, 1, 1}};
    c->has_grid = true;
    return 0;
}

/* The arguments as a call with a key. 0, or -1 with an exception. */
static inline int
call_begin_bound(Call *c, Kernel *k, const Launcher *l, PyObject *const *args,
                 Py_ssize_t n_args, PyObject *kwnames, bool warmup, Late *late)
{
    Grid grid = c->grid;
    bool has_grid = c->has_grid;
    call_begin(c, k, warmup);
    c->grid = grid;
    c->has_grid = has_grid;
    c->stream = l ? l->stream : NULL;
    if (!call_bind_again(c, args, n_args, kwnames) &&
        call_bind_names(c, args, n_args, kwnames))
        return -1;
    if (l && l->fn && call_grid_function(c, l, late))
        return -1;
    if (k->f->n_params && call_nodes(c))
        return -1;
    bool is_anywhere = !c->place.type && !c->want && !(c->opt.flags & OPT_INTERPRET);
    if (is_anywhere && !(l && l->fixed) && bind_anywhere(c))
        return -1;
    call_note_target(c);
    return 0;
}

/* What a launch takes, with what the readers of its arguments run in Python. */
enum { LAUNCH_STACK = 64 << 10 };

void
launch_note_stack(State *st)
{
    if (stack_of_first_thread(&st->stack_low, &st->stack_high))
        st->stack_low += LAUNCH_STACK;
}

/* The thread's own bounds are asked where it is not the first one. */
static inline bool
has_stack(const State *st)
{
    char *here = __builtin_frame_address(0);
    return (here > st->stack_low && here <= st->stack_high) ||
           stack_left() >= LAUNCH_STACK;
}

static PyObject *
no_stack(const Kernel *k)
{
    return PyErr_Format(PyExc_RecursionError,
                        "no stack is left to launch %s(): either a launch leads to "
                        "itself, by a __dlpack__, a grid or a hook, or its thread has "
                        "a small stack (threading.stack_size)",
                        k->f->name);
}

/* Notes what a compile, which begins now, may ask of the grid. 0, or -1 with an exception. */
static int
note_grid_facts(Call *c, const Launcher *l)
{
    if (!l || c->place.type != kDLCUDA)
        return 0;
    if (note_grid(c, l))
        return -1;
    Cuda *cu = cuda_if_any(c->k->st);
    c->grid_facts = cu ? cuda_grid_facts(cu, c->place.index, &c->grid) : 0;
    return 0;
}

/* The variant of the launch before, where this one has its key and nothing inside can have changed;
 * NULL: cache_find knows. */
static inline Compiled *
find_again(const Call *c)
{
    const Kernel *k = c->k;
    bool is_quiet = !k->captures.n && k->n_edits == k->st->n_edits;
    return is_quiet && k->recent.key && call_is(c, k->recent.key) ? k->recent.variant
                                                                  : NULL;
}

/* The variant for a call, borrowed. NULL with an exception, because a hook forbade it, or with *is_other:
 * knobs have changed in os.environ, so that it is another call. */
static inline Compiled *
launch_variant(Call *c, const Launcher *l, bool *is_other)
{
    if (l && l->fixed)
        return fixed_variant(l, c);
    Compiled *v = find_again(c);
    if (v || (v = cache_find(c)) || PyErr_Occurred())
        return v;
    int changed = hooks_read_environment();
    if (!changed)
        return note_grid_facts(c, l) ? NULL : cache_get(c);
    *is_other = changed > 0;
    return NULL;
}

/* Notes the grid of l, and *v becomes the code for so many programs: NULL without an exception where
 * a hook forbade its compile. 0, or -1 with an exception. */
static int
launch_for_grid(Compiled **v, Call *c, const Launcher *l)
{
    if (note_grid(c, l))
        return -1;
    if (!(*v)->bin.asked || (*v)->bin.target.kind != TARGET_CUDA)
        return 0;
    Compiled *w = cuda_for_grid(*v, c, &c->grid);
    if (!w && PyErr_Occurred())
        return -1;
    Py_XINCREF((PyObject *)w);
    Py_DECREF((PyObject *)*v);
    *v = w;
    return 0;
}

PyObject *
launch(Kernel *k, const Launcher *l, PyObject *const *args, Py_ssize_t n_args,
       PyObject *kwnames, bool warmup)
{
    Call c;
    if (!has_stack(k->st))
        return no_stack(k);
    if (k->hooks && hooks_pre_run(k, args, n_args, kwnames))
        return NULL;
    Compiled *v = NULL;
    bool is_other;
    Late late = {NULL, NULL, NULL};
    c.grid = (Grid){{1, 1, 1}};
    c.has_grid = false;
    do {
        is_other = false;
        if (!call_begin_bound(&c, k, l, args, n_args, kwnames, warmup, &late))
            v = launch_variant(&c, l, &is_other);
        if (is_other)
            call_done(&c);
    } while (is_other);
    Py_XINCREF((PyObject *)v);
    bool is_late = late.type && !PyErr_Occurred();
    if (is_late)
        PyErr_Restore(late.type, late.value, late.trace);
    else if (late.type)
        DROP(late.type, late.value, late.trace);
    int failed = is_late || (v && l && launch_for_grid(&v, &c, l));
    if (v && !failed && !warmup)
        failed = c.k->st->launch_hook != Py_None ? launch_hooked(v, &c, &c.grid)
                                                 : launch_run(v, &c, &c.grid);
    call_done(&c);
    if (failed)
        Py_CLEAR(v);
    else if (!v && !PyErr_Occurred()) /* a hook forbade the compile */
        return Py_NewRef(Py_None);
    return (PyObject *)v;
}
