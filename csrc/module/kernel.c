/* kernel: the heap type Kernel, what @jit makes of a Python function.
 *
 *     k = Kernel(fn, do_not_specialize=.., do_not_specialize_on_alignment=.., debug=..,
 *                noinline=..)
 *     k.lower("*fp32:16", "i32", BLOCK=1024)      tile IR as text, fresh from the frontend
 *
 * The rest of a kernel's attributes (src, signature, params, ..) is Python over these, in
 * tegula/jit.py: its class JITFunction derives from this one.
 */
#include "module/module.h"
#include "runtime/launch.h"

/* Not linked yet: present in the frontend's landing. */
#pragma weak fe_function_new
#pragma weak fe_function_free
#pragma weak fe_function_traverse
#pragma weak fe_kernel
#pragma weak ir_print

#include <stdlib.h>

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
    Py_XDECREF(o);      /* obj keeps what it wraps alive */
    return f;
}

bool
kernel_env(State *st, FeEnv *env)
{
    *env = (FeEnv){as_function, st, state_language(st)};
    return env->language != NULL;
}

static int
kernel_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Kernel *k = (Kernel *)self;
    static char *names[] = {"fn", "do_not_specialize", "do_not_specialize_on_alignment",
                            "debug", "noinline", NULL};
    PyObject *fn, *no_spec = Py_None, *no_align = Py_None;
    int debug = 0, noinline = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOpp:Kernel", names, &fn, &no_spec,
                                     &no_align, &debug, &noinline))
        return -1;
    if (k->f)
        return PyErr_SetString(PyExc_TypeError, "a Kernel is made once"), -1;
    if (!fe_function_new)
        return PyErr_SetString(PyExc_RuntimeError, "built without the frontend"), -1;
    FeFunction *f = fe_function_new(fn, no_spec == Py_None ? NULL : no_spec,
                                    no_align == Py_None ? NULL : no_align);
    if (!f)
        return -1;
    if (f->n_params > MAX_ARGS) {
        fe_function_free(f);
        return PyErr_Format(PyExc_ValueError, "a kernel has at most %d parameters",
                            MAX_ARGS), -1;
    }
    f->noinline = noinline;
    k->f = f;
    k->debug = debug;
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
        k->st = PyModule_GetState(mod);
    return (PyObject *)k;
}

static int
kernel_traverse(PyObject *self, visitproc visit, void *arg)
{
    Kernel *k = (Kernel *)self;
    Py_VISIT(Py_TYPE(self));
    return k->f ? fe_function_traverse(k->f, visit, arg) : 0;
}

static int
kernel_clear(PyObject *self)
{
    Kernel *k = (Kernel *)self;
    FeFunction *f = k->f;
    k->f = NULL;
    if (f)
        fe_function_free(f);
    return 0;
}

static void
kernel_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    kernel_clear(self);
    freefunc free_ = PyType_GetSlot(type, Py_tp_free);
    free_(self);
    Py_DECREF(type);
}

/* ---- lower ------------------------------------------------------------------------- */

/* A frontend run: what goes in and what comes out. */
typedef struct Lower {
    const FeEnv *env;
    FeFunction *f;
    const ArgSpec *specs;
    char *text;             /* in the Comp's arena */
} Lower;

static void
run_lower(Comp *c, void *data)
{
    Lower *l = data;
    Func *f = fe_kernel(c, l->env, l->f, l->specs, l->f->n_params);
    l->text = ir_print(f, false);
}

/* Nodes from the items of a signature: positional in args, others in kwargs by name, then
 * defaults. 0, or -1 with an exception. */
static int
bind_signature(Kernel *k, PyObject *args, PyObject *kwargs, PyObject *keep, Call *call)
{
    FeFunction *f = k->f;
    Py_ssize_t n_args = PyTuple_Size(args), n_used = 0;
    if (n_args > f->n_params)
        return PyErr_Format(PyExc_TypeError, "%s() takes %d arguments, got %zd", f->name,
                            f->n_params, n_args), -1;
    call->n = 0;
    for (int i = 0; i < f->n_params; i++) {
        FeParam *p = &f->params[i];
        PyObject *item = kwargs ? PyDict_GetItemWithError(kwargs, p->name) : NULL;
        if (!item && PyErr_Occurred())
            return -1;
        n_used += item != NULL;
        if (i < n_args && item)
            return PyErr_Format(PyExc_TypeError, "%s() got two values for '%U'", f->name,
                                p->name), -1;
        if (i < n_args)
            item = PyTuple_GetItem(args, i);
        if (!item && !p->default_value)
            return PyErr_Format(PyExc_TypeError, "%s() misses argument '%U'", f->name,
                                p->name), -1;
        if (item ? signature_node(call, p, item, keep)
                 : constant_node(call, p->default_value))
            return -1;
    }
    if (kwargs && n_used < PyDict_Size(kwargs)) {
        PyErr_Format(PyExc_KeyError, "%s() has no parameter for one of the keywords %R",
                     f->name, kwargs);
        return -1;
    }
    return 0;
}

static PyObject *
kernel_lower(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Kernel *k = (Kernel *)self;
    PyObject *res = NULL, *keep = PyList_New(0);
    Call *call = malloc(sizeof *call);
    ArgSpec *specs = NULL;
    Comp c;
    bool have_comp = false;
    FeEnv env;
    if (!keep)
        goto done;
    if (!call) {
        PyErr_NoMemory();
        goto done;
    }
    if (!kernel_env(k->st, &env) || bind_signature(k, args, kwargs, keep, call))
        goto done;
    specs = calloc((size_t)MAX(call->n, 1), sizeof *specs);
    have_comp = specs && comp_init(&c);
    if (!have_comp) {
        PyErr_NoMemory();
        goto done;
    }
    if (!fe_kernel || !ir_print) {
        PyErr_SetString(PyExc_RuntimeError, "built without the frontend");
        goto done;
    }
    call_specs(call, k->f, specs);
    c.kernel = k->f->name;
    c.opt = (Options){.target = {.kind = TARGET_CPU},
                      .num_warps = 4,
                      .num_stages = 3,
                      .num_ctas = 1,
                      .enable_fp_fusion = true,
                      .debug = k->debug,
                      .sanitize_overflow = true};
    if (k->st->fail_after)
        arena_fail_after(c.arena, k->st->fail_after);
    Lower l = {&env, k->f, specs, NULL};
    if (comp_run(&c, run_lower, &l))
        res = PyUnicode_FromString(l.text);
    else
        raise_compile_error(k->st, &c);
done:
    if (have_comp)
        comp_done(&c);
    free(specs);
    free(call);
    Py_XDECREF(keep);
    return res;
}

static PyObject *
kernel_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    const char *name = ((Kernel *)self)->f->name;
    return PyErr_Format(PyExc_RuntimeError,
                        "%s is a kernel and cannot be called like a function: write "
                        "%s[grid](...), or call it from another kernel",
                        name, name);
}

static PyObject *
kernel_fn(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef(((Kernel *)self)->f->fn);
}

static PyObject *
kernel_arg_names(PyObject *self, void *closure)
{
    (void)closure;
    FeFunction *f = ((Kernel *)self)->f;
    PyObject *list = PyList_New(f->n_params);
    for (int i = 0; list && i < f->n_params; i++)
        PyList_SetItem(list, i, Py_NewRef(f->params[i].name));
    return list;
}

static PyMethodDef kernel_methods[] = {
    {"lower", (PyCFunction)(void (*)(void))kernel_lower, METH_VARARGS | METH_KEYWORDS,
     "lower(*signature, **constexprs)\n--\n\n"
     "The kernel's tile IR as text, as the frontend makes it for these types.\n\n"
     "Types are text: '*fp32' and '*fp32:16' (a pointer aligned to 16 bytes), 'i32',\n"
     "'i32:16' (divisible), 'i32:1' (known to be 1); '1' or any object is a constant."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef kernel_getset[] = {
    {"fn", kernel_fn, NULL, "the Python function", NULL},
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
