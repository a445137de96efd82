/* kernel: the heap type Kernel, what @jit makes of a Python function.
 *
 *     k = Kernel(fn, do_not_specialize=.., do_not_specialize_on_alignment=.., debug=..)
 *
 * The rest of a kernel's attributes (src, signature, params, ..) is Python over these, in
 * tegula/jit.py: its class JITFunction derives from this one.
 */
#include "module/module.h"

#include <stdlib.h>

/* self as a Kernel that __init__ has been through, else NULL with an exception: a subclass
 * may forget to call it. */
static Kernel *
made(PyObject *self)
{
    Kernel *k = (Kernel *)self;
    if (k->f && k->names && k->truth_mask && k->seen)
        return k;
    return PyErr_SetString(
               PyExc_RuntimeError,
               "this kernel has not been made: Kernel.__init__ did not run"),
           NULL;
}

static int
kernel_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Kernel *k = (Kernel *)self;
    static char *names[] = {
        "fn",    "do_not_specialize", "do_not_specialize_on_alignment",
        "debug", "interpret",         NULL};
    PyObject *fn, *no_spec = Py_None, *no_align = Py_None;
    int debug = 0, interpret = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOpp:Kernel", names, &fn,
                                     &no_spec, &no_align, &debug, &interpret))
        return -1;
    if (k->f)
        return PyErr_SetString(PyExc_TypeError, "a Kernel is made once"), -1;
    FeFunction *f = fe_function_new(fn, no_spec == Py_None ? NULL : no_spec,
                                    no_align == Py_None ? NULL : no_align);
    if (!f)
        return -1;
    if (fe_function_keep_text(f, &k->st->last_text)) {
        fe_function_free(f);
        return -1;
    }
    if (f->n_params > MAX_ARGS) {
        fe_function_free(f);
        return PyErr_Format(PyExc_ValueError,
                            "a kernel has at most %d parameters: pass some of them "
                            "as one tuple, whose elements are x[0], x[1], ..",
                            MAX_ARGS),
               -1;
    }
    k->f = f;
    f->of = self;
    k->names = PyMem_Malloc((size_t)(f->n_params + 1) * sizeof *k->names);
    k->truth_mask = PyMem_Malloc((size_t)(f->n_params + 1) * sizeof *k->truth_mask);
    k->seen = PyMem_Calloc((size_t)f->n_params + 1, sizeof *k->seen);
    if (!k->names || !k->truth_mask || !k->seen)
        return PyErr_NoMemory(), -1;
    for (int i = 0; i < f->n_params; i++) {
        const FeParam *p = &f->params[i];
        /* Interned: keywords at call sites are, so that they compare by address. */
        PyUnicode_InternInPlace(&f->params[i].name);
        k->names[i] = p->name;
        k->truth_mask[i] = NODE_READ_ONLY;
        k->truth_mask[i] |= p->is_constexpr || p->no_specialize ? 0
                            : p->no_align ? FACT_EQ1 | FACT_GE0 | FACT_LARGE
                            : p->has_type ? ALIGN_FACTS | FACT_GE0 | FACT_LARGE
                                          : TRUTH_BITS;
    }
    k->debug = debug;
    k->interpret = interpret;
    return 0;
}

static PyObject *
kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    PyObject *mod = PyType_GetModule(type);
    if (!mod) {
        /* A subclass: the module hangs on the base. */
        PyErr_Clear();
        PyTypeObject *base = PyType_GetSlot(type, Py_tp_base);
        while (base && !mod) {
            mod = PyType_GetModule(base);
            if (!mod)
                PyErr_Clear();
            base = PyType_GetSlot(base, Py_tp_base);
        }
        if (!mod)
            return PyErr_SetString(PyExc_TypeError, "Kernel without its module"), NULL;
    }
    allocfunc alloc = PyType_GetSlot(type, Py_tp_alloc);
    Kernel *k = (Kernel *)alloc(type, 0);
    if (k)
        k->st = PyModule_GetState(mod), k->n_ordered = -1;
    return (PyObject *)k;
}

static int
kernel_traverse(PyObject *self, visitproc visit, void *arg)
{
    Kernel *k = (Kernel *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(k->hooks);
    Py_VISIT(k->last);
    int r = cache_traverse(k, visit, arg);
    for (int i = 0; !r && k->f && k->seen && i < k->f->n_params; i++)
        r = seen_traverse(&k->seen[i], visit, arg);
    return r || !k->f ? r : fe_function_traverse(k->f, visit, arg);
}

static int
kernel_clear(PyObject *self)
{
    Kernel *k = (Kernel *)self;
    Py_CLEAR(k->hooks);
    k->last_launcher = NULL;
    Py_CLEAR(k->last);
    Py_CLEAR(k->last_sides);
    Py_CLEAR(k->ordered);
    k->n_ordered = -1;
    options_forget(k);
    for (int i = 0; k->f && k->seen && i < k->f->n_params; i++)
        seen_clear(&k->seen[i]);
    cache_clear(k);
    return 0;
}

static void
kernel_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Kernel *k = (Kernel *)self;
    PyObject_GC_UnTrack(self);
    kernel_clear(self);
    PyMem_Free(k->seen);
    if (k->f)
        fe_function_free(k->f);
    PyMem_Free(k->names);
    PyMem_Free(k->truth_mask);
    freefunc free_ = PyType_GetSlot(type, Py_tp_free);
    free_(self);
    Py_DECREF(type);
}

/* ---- compiling without a launch ------------------------------------------------------- */

/* What a signature leads to. A Call is too large for the stack under the frontend. */
typedef struct Wish {
    Call call;
    Target target;
    PyObject *keep, *named; /* owned: objects made on the way; keywords but target */
} Wish;

static void
wish_free(Wish *w)
{
    if (w) {
        call_done(&w->call);
        DROP(w->keep, w->named);
        free(w);
    }
}

/* The call that a signature describes; target=".." among the keywords chooses the target.
 * NULL with an exception. */
static Wish *
wish_new(Kernel *k, PyObject *args, PyObject *kwargs)
{
    if (hooks_read_environment() < 0)
        return NULL;
    Wish *w = malloc(sizeof *w);
    if (!w)
        return PyErr_NoMemory(), NULL;
    call_begin(&w->call, k, true);
    w->keep = PyList_New(0);
    w->named = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    if (!w->keep || !w->named)
        goto fail;
    PyObject *key = PyUnicode_InternFromString("target");
    PyObject *text_b = key ? PyDict_GetItemWithError(w->named, key) : NULL;
    Py_XDECREF(key); /* a dict that has it holds it */
    if (text_b) {
        if (parse_target(text_b, &w->target) ||
            PyDict_DelItemString(w->named, "target"))
            goto fail;
        w->call.want = &w->target;
    } else if (PyErr_Occurred())
        goto fail;
    if (call_from_signature(&w->call, args, w->named, w->keep))
        goto fail;
    call_note_target(&w->call);
    return w;
fail:
    wish_free(w);
    return NULL;
}

static PyObject *
kernel_lower(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Wish *w = made(self) ? wish_new((Kernel *)self, args, kwargs) : NULL;
    char *text = w ? cache_lower(&w->call) : NULL;
    PyObject *res = text ? PyUnicode_FromString(text) : NULL;
    free(text);
    wish_free(w);
    return res;
}

static PyObject *
kernel_compile(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Wish *w = made(self) ? wish_new((Kernel *)self, args, kwargs) : NULL;
    Compiled *v = w ? cache_get(&w->call) : NULL;
    PyObject *res = Py_XNewRef((PyObject *)v);
    if (w && !v && !PyErr_Occurred())
        res = Py_NewRef(Py_None); /* a hook forbade it */
    wish_free(w);
    return res;
}

/* ---- launching by name ----------------------------------------------------------------- */

/* Is a keyword this interned text? Written at a call it is interned, too. */
static bool
is_text(PyObject *name, PyObject *text)
{
    return name == text || !PyUnicode_Compare(name, text);
}

typedef enum RunAs { RUN_LAUNCH, RUN_WARMUP, RUN_PREPARE } RunAs;

/* run(), warmup() and prepare() take grid= and warmup= among the keywords. Splits them off and
 * launches with the rest. */
static PyObject *
run(Kernel *k, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames, RunAs as)
{
    Py_ssize_t n_kw = kwnames ? PyTuple_Size(kwnames) : 0, n_kept = 0;
    PyObject *grid_b = NULL, *names = NULL, *res = NULL;
    PyObject **kept = PyMem_Malloc((size_t)(n_args + n_kw + 1) * sizeof *kept);
    bool *is_ours = PyMem_Calloc((size_t)n_kw + 1, sizeof *is_ours);
    if (!kept || !is_ours) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_args; i++)
        kept[i] = args[i];
    for (Py_ssize_t i = 0; i < n_kw; i++) {
        PyObject *name_b = PyTuple_GetItem(kwnames, i), *value_b = args[n_args + i];
        if (is_text(name_b, k->st->str_grid)) {
            grid_b = value_b;
            is_ours[i] = true;
        } else if (is_text(name_b, k->st->str_warmup)) {
            int truth = PyObject_IsTrue(value_b);
            if (truth < 0)
                goto done;
            if (truth && as == RUN_LAUNCH)
                as = RUN_WARMUP;
            is_ours[i] = true;
        } else {
            kept[n_args + n_kept++] = value_b;
        }
    }
    names = PyTuple_New(n_kept);
    if (!names)
        goto done;
    for (Py_ssize_t i = 0, to = 0; i < n_kw; i++)
        if (!is_ours[i])
            PyTuple_SetItem(names, to++, Py_NewRef(PyTuple_GetItem(kwnames, i)));
    if (as == RUN_WARMUP) {
        res = launch(k, NULL, kept, n_args, names, true);
    } else if (!grid_b) {
        PyErr_Format(PyExc_TypeError, "%s.%s() misses grid=", k->f->name,
                     as == RUN_LAUNCH ? "run" : "prepare");
    } else {
        Launcher l;
        if (!launcher_init(&l, k, grid_b))
            res = launch(k, &l, kept, n_args, names, as == RUN_PREPARE);
    }
done:
    PyMem_Free(kept);
    PyMem_Free(is_ours);
    Py_XDECREF(names);
    return res;
}

static PyObject *
kernel_run(PyObject *self, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    return made(self) ? run((Kernel *)self, args, n_args, kwnames, RUN_LAUNCH) : NULL;
}

static PyObject *
kernel_warmup(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
              PyObject *kwnames)
{
    return made(self) ? run((Kernel *)self, args, n_args, kwnames, RUN_WARMUP) : NULL;
}

static PyObject *
kernel_prepare(PyObject *self, PyObject *const *args, Py_ssize_t n_args,
               PyObject *kwnames)
{
    return made(self) ? run((Kernel *)self, args, n_args, kwnames, RUN_PREPARE) : NULL;
}

static PyObject *
kernel_subscript(PyObject *self, PyObject *grid)
{
    return made(self) ? launcher_of_kernel((Kernel *)self, grid) : NULL;
}

static PyObject *
kernel_add_hook(PyObject *self, PyObject *hook)
{
    Kernel *k = (Kernel *)self;
    if (!PyCallable_Check(hook))
        return PyErr_Format(PyExc_TypeError, "a hook must be callable, not %R", hook);
    if (!k->hooks && !(k->hooks = PyList_New(0)))
        return NULL;
    return PyList_Append(k->hooks, hook) ? NULL : Py_NewRef(Py_None);
}

static PyObject *
kernel_set_source(PyObject *self, PyObject *args)
{
    Kernel *k = made(self);
    PyObject *text, *file;
    if (!k || !PyArg_ParseTuple(args, "UU:_set_source", &text, &file))
        return NULL;
    if (k->n_variants || k->pending)
        return PyErr_Format(PyExc_RuntimeError,
                            "%s() has been compiled: its source can be replaced only "
                            "ahead of its first launch",
                            k->f->name);
    return fe_function_set_source(k->f, text, file) ? NULL : Py_NewRef(Py_None);
}

static PyObject *
kernel_forget(PyObject *self, PyObject *none)
{
    (void)none;
    Kernel *k = made(self);
    return !k || cache_retire(k) ? NULL : Py_NewRef(Py_None);
}

/* The variants so far, in the order of their making. */
static PyObject *
kernel_variants(PyObject *self, void *closure)
{
    (void)closure;
    Kernel *k = made(self);
    PyObject *list = k ? PyList_New(0) : NULL;
    for (int i = list ? k->first_variant : 0; list && i < k->n_variants; i++)
        if (PyList_Append(list, (PyObject *)k->variants[i]))
            Py_CLEAR(list);
    return list;
}

/* tl.sigmoid, libdevice.pow: kernels to us, and functions of the language to their users. */
static bool
is_of_language(PyObject *fn)
{
    PyObject *module = PyObject_GetAttrString(fn, "__module__");
    const char *s = module && PyUnicode_Check(module)
                        ? PyUnicode_AsUTF8AndSize(module, NULL)
                        : NULL;
    bool is = s && !strncmp(s, "tegula.language", strlen("tegula.language"));
    Py_XDECREF(module);
    PyErr_Clear();
    return is;
}

static PyObject *
kernel_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    Kernel *k = made(self);
    if (!k)
        return NULL;
    const char *name = k->f->name;
    if (is_of_language(k->f->fn))
        return PyErr_Format(PyExc_RuntimeError,
                            "%s is a function of the kernel language and was called "
                            "outside of a kernel: did you forget @triton.jit (here: "
                            "@tegula.jit) on the caller?",
                            name);
    return PyErr_Format(PyExc_RuntimeError,
                        "%s is a kernel and cannot be called like a function: write "
                        "%s[grid](...), or call it from another kernel",
                        name, name);
}

/* Who has the function may change it: from now on launches look. closure: it is ourselves. */
static PyObject *
kernel_fn(PyObject *self, void *closure)
{
    Kernel *k = made(self);
    if (k && !closure && !k->f->is_open) {
        k->f->is_open = true;
        k->st->n_edits++;
    }
    return k ? Py_NewRef(k->f->fn) : NULL;
}

static PyObject *
kernel_source(PyObject *self, void *closure)
{
    (void)closure;
    Kernel *k = made(self);
    return !k || fe_function_parse(k->f) ? NULL : Py_NewRef(k->f->source);
}

static PyObject *
kernel_arg_names(PyObject *self, void *closure)
{
    (void)closure;
    if (!made(self))
        return NULL;
    FeFunction *f = ((Kernel *)self)->f;
    PyObject *list = PyList_New(f->n_params);
    for (int i = 0; list && i < f->n_params; i++)
        PyList_SetItem(list, i, Py_NewRef(f->params[i].name));
    return list;
}

static PyMethodDef kernel_methods[] = {
    {"run", (PyCFunction)(void (*)(void))kernel_run, METH_FASTCALL | METH_KEYWORDS,
     "run(*args, grid, warmup=False, **kwargs)\n--\n\nThe same as kernel[grid](...)."},
    {"warmup", (PyCFunction)(void (*)(void))kernel_warmup,
     METH_FASTCALL | METH_KEYWORDS,
     "warmup(*args, grid=None, **kwargs)\n--\n\n"
     "Compiles what kernel[grid](...) would run, and does not run it. torch dtypes may\n"
     "stand for tensors. The grid is not looked at."},
    {"prepare", (PyCFunction)(void (*)(void))kernel_prepare,
     METH_FASTCALL | METH_KEYWORDS,
     "prepare(*args, grid, **kwargs)\n--\n\n"
     "warmup() for this grid: a GPU's code may be for so many programs, as a launch's is."},
    {"lower", (PyCFunction)(void (*)(void))kernel_lower, METH_VARARGS | METH_KEYWORDS,
     "lower(*signature, target=None, **constexprs)\n--\n\n"
     "The kernel's tile IR as text, as the frontend makes it for these types.\n\n"
     "Types are text: '*fp32' and '*fp32:16' (a pointer aligned to 16 bytes), 'i32',\n"
     "'i32:16' (divisible), 'i32:1' (known to be 1); '1' is a constant. What is not text\n"
     "is an argument."},
    {"compile", (PyCFunction)(void (*)(void))kernel_compile,
     METH_VARARGS | METH_KEYWORDS,
     "compile(*signature, target=None, **constexprs)\n--\n\n"
     "The variant for these types (see lower), without arguments and without the machine:\n"
     "target is cpu, cuda:sm_NN or emu:sm_NN. Options go by keyword, as in a launch."},
    {"_forget", kernel_forget, METH_NOARGS,
     "_forget()\n--\n\nThe variants so far are found by no launch from now on."},
    {"_set_source", kernel_set_source, METH_VARARGS,
     "_set_source(text, file)\n--\n\n"
     "The text to compile from now on, from def on; file names it in messages."},
    {"add_pre_run_hook", kernel_add_hook, METH_O,
     "add_pre_run_hook(hook)\n--\n\nhook(*args, **kwargs) is called before each launch."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef kernel_getset[] = {
    {"fn", kernel_fn, NULL, "the Python function", NULL},
    {"_fn", kernel_fn, NULL, "the same, for who does not change it", "ours"},
    {"_source", kernel_source, NULL, "its text, from the first decorator on", NULL},
    {"variants", kernel_variants, NULL, "the compiled variants, oldest first", NULL},
    {"arg_names", kernel_arg_names, NULL, "names of the parameters", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot kernel_slots[] = {
    {Py_tp_doc, "What @tegula.jit makes of a function."},
    {Py_tp_new, kernel_new},
    {Py_tp_init, kernel_init},
    {Py_tp_dealloc, kernel_dealloc},
    {Py_tp_traverse, kernel_traverse},
    {Py_tp_clear, kernel_clear},
    {Py_tp_call, kernel_call},
    {Py_mp_subscript, kernel_subscript},
    {Py_tp_methods, kernel_methods},
    {Py_tp_getset, kernel_getset},
    {0, NULL},
};

PyType_Spec kernel_spec = {
    .name = "tegula._core.Kernel",
    .basicsize = sizeof(Kernel),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = kernel_slots,
};
