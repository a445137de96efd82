/* compiled: the heap type CompiledKernel, one variant of a kernel.
 *
 *     c = kernel[grid](x, y, n, BLOCK=1024)
 *     c.asm["tir"], c.asm["llir"], c.asm["ptx"], ..       stages, as text or bytes
 *     c.metadata.shared, c.n_regs, c.n_spills             what it costs
 *     c.timings                                           what its compile cost, in ms
 *     c.report                                            what each line costs, in words
 *     c[grid](x, y, n, 1024)                              again, without looking it up
 *
 * `metadata` and the disassembly are Python, in tegula/compiled.py, over what stands here.
 */
#include "module/module.h"
#include "analysis/analysis.h"

#include <stdlib.h>

static int
compiled_traverse(PyObject *self, visitproc visit, void *arg)
{
    Compiled *v = (Compiled *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)v->kernel);
    Py_VISIT(v->asm_);
    Py_VISIT((PyObject *)v->otherwise);
    return key_traverse(v->key, visit, arg);
}

static int
compiled_clear(PyObject *self)
{
    /* The key stays: a launch may be comparing with it. It goes with the object. */
    Py_CLEAR(((Compiled *)self)->asm_);
    Py_CLEAR(((Compiled *)self)->otherwise);
    return 0;
}

static void
compiled_dealloc(PyObject *self)
{
    Compiled *v = (Compiled *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    compiled_clear(self);
    if (v->jit || v->emu || v->library || v->was_tried)
        hooks_unload(v);
    if (v->jit)
        jit_unload(v->jit);
    emu_unload(v->emu);
    trial_free(v);
    if (v->library)
        cuda_unload(v);
    key_free(v->key);
    free(v->symbol);
    free(v->loads);
    free(v->stores);
    free(v->asked);
    free(v->node);
    free(v->last_params);
    free(v->maps);
    binary_free(&v->bin);
    Py_XDECREF((PyObject *)v->kernel);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* ---- attributes --------------------------------------------------------------------- */

/* "cubin" and "obj" are bytes, the rest is text. */
static PyObject *
stage_object(const Stage *s)
{
    if (!strcmp(s->name, "cubin") || !strcmp(s->name, "obj"))
        return PyBytes_FromStringAndSize(s->data, (Py_ssize_t)s->size);
    return PyUnicode_DecodeUTF8(s->data, (Py_ssize_t)s->size, "replace");
}

/* The same as list_take, for a dict. */
static void
dict_take(PyObject **dict, const char *key, PyObject *x)
{
    if (*dict && (!x || PyDict_SetItemString(*dict, key, x)))
        set_ref(dict, NULL);
    Py_XDECREF(x);
}

static PyObject *
get_stages(PyObject *self, void *closure)
{
    (void)closure;
    Compiled *v = (Compiled *)self;
    if (v->asm_)
        return Py_NewRef(v->asm_);
    PyObject *d = PyDict_New();
    for (int i = 0; d && i < v->bin.n_stages; i++) {
        if (!strcmp(v->bin.stage[i].name, "report") ||
            !strcmp(v->bin.stage[i].name, "linked") ||
            !strcmp(v->bin.stage[i].name, PLACES_STAGE) ||
            !strcmp(v->bin.stage[i].name, TRIAL_STAGE))
            continue;
        dict_take(&d, v->bin.stage[i].name, stage_object(&v->bin.stage[i]));
    }
    v->asm_ = Py_XNewRef(d);
    return d;
}

/* The rows of the report, which tegula.kernel_report makes a text of. */
static PyObject *
get_costs(PyObject *self, void *closure)
{
    (void)closure;
    const Stage *s = binary_stage(&((Compiled *)self)->bin, "report");
    return s ? stage_object(s) : PyUnicode_FromString("");
}

static PyObject *
get_target(PyObject *self, void *closure)
{
    (void)closure;
    char text[TARGET_TEXT];
    return PyUnicode_FromString(target_text(((Compiled *)self)->bin.target, text));
}

static PyObject *
get_name(PyObject *self, void *closure)
{
    (void)closure;
    Compiled *v = (Compiled *)self;
    return PyUnicode_FromString(v->symbol ? v->symbol : v->kernel->f->name);
}

static PyObject *
get_hash(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(((Compiled *)self)->hash);
}

static PyObject *
get_kernel_object(PyObject *self, void *closure)
{
    (void)closure;
    return Py_NewRef((PyObject *)((Compiled *)self)->kernel);
}

/* The questions of this variant: list of (parameter path by node, asked, truth). */
static PyObject *
get_answers(PyObject *self, void *closure)
{
    (void)closure;
    Compiled *v = (Compiled *)self;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && v->key && i < v->key->n; i++) {
        if (!v->asked[i])
            continue;
        list_take(&list, Py_BuildValue("(iii)", i, v->asked[i],
                                       code_truth(v->key->code[i]) & v->asked[i]));
    }
    return list;
}

/* The parameters of the machine code: list of (node of the arguments, type, is it a pointer,
 * is it stored through, is it loaded through). */
static PyObject *
get_params(PyObject *self, void *closure)
{
    (void)closure;
    Compiled *v = (Compiled *)self;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < v->bin.n_params; i++) {
        const ParamAbi *p = &v->bin.params[i];
        list_take(&list,
                  Py_BuildValue("(isOOO)", (int)v->node[i], elem_info[p->elem].sig,
                                p->is_ptr ? Py_True : Py_False,
                                p->is_written ? Py_True : Py_False,
                                p->is_read ? Py_True : Py_False));
    }
    return list;
}

/* What is Python over this object: function `name` of tegula.compiled, called with it. */
static PyObject *
get_by_python(PyObject *self, void *name)
{
    PyObject *mod = PyImport_ImportModule("tegula.compiled");
    PyObject *r = mod ? PyObject_CallMethod(mod, name, "O", self) : NULL;
    Py_XDECREF(mod);
    return r;
}

/* The driver's handle of the loaded code: a CUlibrary. */
static PyObject *
get_module(PyObject *self, void *closure)
{
    (void)closure;
    Compiled *v = (Compiled *)self;
    return v->library ? PyLong_FromVoidPtr(v->library) : Py_NewRef(Py_None);
}

/* Numbers of the GPUs that this variant was made for, or has run on. */
static PyObject *
get_devices(PyObject *self, void *closure)
{
    (void)closure;
    const Compiled *v = (Compiled *)self;
    uint64_t on = v->prepared;
    if ((v->key->target >> 8 & 0xff) == kDLCUDA)
        on |= UINT64_C(1) << (v->key->target & 63);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < 64; i++) {
        PyObject *n = on >> i & 1 ? PyLong_FromLong(i) : NULL;
        if (n ? PyList_Append(list, n) : PyErr_Occurred() != NULL)
            Py_CLEAR(list);
        Py_XDECREF(n);
    }
    return list;
}

/* The machine code: cubin (or PTX, when the driver assembles), object code on hosts. */
static PyObject *
get_kernel(PyObject *self, void *closure)
{
    (void)closure;
    const Binary *b = &((Compiled *)self)->bin;
    static const char *const names[] = {"cubin", "ptx", "obj"};
    for (size_t i = 0; i < COUNT(names); i++) {
        const Stage *s = binary_stage(b, names[i]);
        if (s)
            return PyBytes_FromStringAndSize(s->data, (Py_ssize_t)s->size);
    }
    return Py_NewRef(Py_None);
}

/* Dictionary of numbers; tegula/compiled.py makes the named tuple of it. */
static PyObject *
get_facts(PyObject *self, void *closure)
{
    (void)closure;
    const Compiled *v = (Compiled *)self;
    const Binary *b = &v->bin;
    OptWord o = v->key->opt;
    return Py_BuildValue("{s:i,s:i,s:i,s:i,s:i,s:i,s:O,s:O,s:O,s:O,s:O,s:O}",
                         "num_warps", b->num_warps, "num_stages", b->num_stages,
                         "num_ctas", b->num_ctas, "shared", b->shared, "scratch",
                         b->scratch, "maxnreg", (int)o.maxnreg, "enable_fp_fusion",
                         o.flags & OPT_FUSION ? Py_True : Py_False, "debug",
                         o.flags & OPT_DEBUG ? Py_True : Py_False, "sanitize_overflow",
                         o.flags & OPT_SANITIZE ? Py_True : Py_False, "launch_pdl",
                         o.flags & OPT_PDL ? Py_True : Py_False,
                         "launch_cooperative_grid",
                         o.flags & OPT_COOPERATIVE ? Py_True : Py_False, "from_disk",
                         v->from_disk ? Py_True : Py_False);
}

static PyObject *
get_timings(PyObject *self, void *closure)
{
    (void)closure;
    static const char *const names[] = {
#define X(name, text) text,
        TIMES(X)
#undef X
    };
    const Compiled *v = (Compiled *)self;
    PyObject *d = PyDict_New();
    for (int i = 0; d && !v->from_disk && i < N_TIME; i++)
        dict_take(&d, names[i], PyFloat_FromDouble(v->bin.ms[i]));
    return d;
}

static PyObject *
get_n_regs(PyObject *self, void *closure)
{
    (void)closure;
    const Compiled *v = (Compiled *)self;
    /* Programs divide by it to fill a machine. Elsewhere than on a GPU nothing is won by a
     * small number, so it is the machine's: vector registers of a CPU; the cap of a GPU. */
    int cap = v->key->opt.maxnreg ? v->key->opt.maxnreg : MAX_REGISTERS;
    int n = v->bin.n_regs >= 0                 ? v->bin.n_regs
            : v->bin.target.kind == TARGET_CPU ? 32
            : v->bin.target.kind == TARGET_EMU ? cap
                                               : -1;
    return PyLong_FromLong(n);
}

static PyObject *
get_n_spills(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(((Compiled *)self)->bin.n_spills);
}

/* GPU code is made for one number of threads, and the driver refuses others. Where there are no
 * threads, no number of warps is too large: it is the largest of a GPU. */
static PyObject *
get_n_max_threads(PyObject *self, void *closure)
{
    (void)closure;
    const Binary *bin = &((Compiled *)self)->bin;
    bool is_cpu = bin->target.kind == TARGET_CPU;
    return PyLong_FromLong(is_cpu ? 1024 : bin->block_warps * 32);
}

static PyObject *
get_function(PyObject *self, void *closure)
{
    (void)closure;
    Compiled *v = (Compiled *)self;
    if (!v->cu_kernel)
        return Py_NewRef(Py_None);
    return PyLong_FromVoidPtr(cuda_function(v->st->cuda, v->cu_kernel));
}

/* Loads the code now instead of at the first launch. */
static PyObject *
init_handles(PyObject *self, PyObject *unused)
{
    (void)unused;
    Compiled *v = (Compiled *)self;
    if (binary_stage(&v->bin, "interp")) /* there is no code */
        return Py_NewRef(Py_None);
    int r = v->bin.target.kind == TARGET_CUDA ? cuda_load(v, -1) : host_load(v);
    return r ? NULL : Py_NewRef(Py_None);
}

static PyObject *
compiled_subscript(PyObject *self, PyObject *grid)
{
    return launcher_of_variant((Compiled *)self, grid, false);
}

static PyObject *
loose_launcher(PyObject *self, PyObject *grid)
{
    return launcher_of_variant((Compiled *)self, grid, true);
}

static PyObject *
compiled_repr(PyObject *self)
{
    Compiled *v = (Compiled *)self;
    char text[TARGET_TEXT];
    return PyUnicode_FromFormat("CompiledKernel(%s for %s)", v->kernel->f->name,
                                target_text(v->bin.target, text));
}

typedef struct Counting {
    const char *tir;
    const uint64_t *params;
    Grid grid;
    Traffic found;
} Counting;

static void
count_traffic(Comp *c, void *data)
{
    Counting *k = data;
    traffic_of(ir_parse(c, k->tir), k->params, k->grid.dim, &k->found);
}

static PyObject *
traffic_dict(const Traffic *t, const Grid *g)
{
    double programs = (double)g->dim[0] * g->dim[1] * g->dim[2];
    return Py_BuildValue("{sdsdsdsdsdsdsdsO}", "programs", programs, "loaded",
                         t->loaded, "stored", t->stored, "atomic", t->atomic, "touched",
                         t->touched, "dot_flops", t->dot_flops, "flops", t->flops,
                         "is_bound", t->is_bound ? Py_True : Py_False);
}

/* Of the latest launch; None: there was none. */
static PyObject *
get_traffic(PyObject *self, PyObject *unused)
{
    (void)unused;
    const Compiled *v = (const Compiled *)self;
    const Stage *tir = binary_stage(&v->bin, "tir");
    if (!tir || !v->last_grid.dim[0])
        return Py_NewRef(Py_None);
    Counting k = {.tir = tir->data, .params = v->last_params, .grid = v->last_grid};
    Comp comp;
    if (!comp_init(&comp))
        return PyErr_NoMemory();
    bool ok = comp_run(&comp, count_traffic, &k);
    PyObject *r = ok ? traffic_dict(&k.found, &k.grid)
                     : PyErr_Format(PyExc_RuntimeError, "%s", comp.err.msg);
    comp_done(&comp);
    return r;
}

/* What _traffic depends on: the grid and the numbers of the latest launch. */
static PyObject *
get_launched(PyObject *self, void *closure)
{
    (void)closure;
    const Compiled *v = (const Compiled *)self;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < 3 + v->bin.n_params; i++) {
        if (i >= 3 && v->bin.params[i - 3].is_ptr)
            continue;
        list_take(&list, i < 3 ? PyLong_FromLong(v->last_grid.dim[i])
                               : PyLong_FromUnsignedLongLong(v->last_params[i - 3]));
    }
    PyObject *r = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return r;
}

static PyMethodDef compiled_methods[] = {
    {"_traffic", get_traffic, METH_NOARGS,
     "_traffic()\n--\n\nBytes and operations of the latest launch, a dict; None: none yet."},
    {"_init_handles", init_handles, METH_NOARGS,
     "_init_handles()\n--\n\nLoads the code now instead of at the first launch."},
    {"_loosely", loose_launcher, METH_O,
     "_loosely(grid)\n--\n\nAs compiled[grid], but what was constant is not looked at."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef compiled_getset[] = {
    {"asm", get_by_python, NULL,
     "mapping of the stages: tir, simt, llir, ptx, cubin, asm, ..", "stages"},
    {"metadata", get_by_python, NULL, "named tuple: shared, num_warps, name, hash, ..",
     "metadata"},
    {"packed_metadata", get_by_python, NULL, "(num_warps, num_ctas, shared)",
     "packed_metadata"},
    {"run", get_by_python, NULL,
     "run(gx, gy, gz, stream, function, packed_metadata, launch_metadata, enter_hook,\n"
     "exit_hook, *args): Triton's launcher; args are all of the kernel's.",
     "runner"},
    {"launch_metadata", get_by_python, NULL,
     "launch_metadata(grid, stream, *args): what launch hooks get, or None.",
     "launch_metadata"},
    {"metadata_group", get_by_python, NULL, "dict: a name for each stage",
     "metadata_group"},
    {"module", get_module, NULL,
     "The driver's handle of the code, a CUlibrary, as an int; None until it is loaded.",
     NULL},
    {"kernel", get_kernel, NULL, "the machine code, as bytes", NULL},
    {"_devices", get_devices, NULL, "list of the GPUs it was made for or has run on",
     NULL},
    {"_stages", get_stages, NULL, "dict of the stages", NULL},
    {"_facts", get_facts, NULL, "dict of numbers for metadata", NULL},
    {"_params", get_params, NULL,
     "of the code: (node, type, is it a pointer, is it stored through)", NULL},
    {"_answers", get_answers, NULL,
     "what was asked of the arguments: (node, asked, truth)", NULL},
    {"target", get_target, NULL, "cpu, cuda:sm_90a, emu:sm_80", NULL},
    {"name", get_name, NULL, "of the kernel", NULL},
    {"hash", get_hash, NULL, "key on disk, without the answers; '' if it is not kept",
     NULL},
    {"src", get_by_python, NULL, "what it was made of: .fn is the kernel", "source"},
    {"_kernel", get_kernel_object, NULL, "the kernel this is a variant of", NULL},
    {"timings", get_timings, NULL,
     "dict of milliseconds: frontend, passes, codegen, llvm, ptxas; empty if from disk",
     NULL},
    {"_costs", get_costs, NULL, NULL, NULL},
    {"_launched", get_launched, NULL,
     "sides of the grid and numbers of the latest launch", NULL},
    {"report", get_by_python, NULL,
     "text: what lines of the kernel cost, such as shuffles, barriers and padding; ''\n"
     "where there is nothing to say. On a GPU the numbers are one thread's.",
     "report"},
    {"n_regs", get_n_regs, NULL,
     "registers of a thread, or as many as it may use; -1: unknown", NULL},
    {"function", get_function, NULL,
     "The driver's handle, a CUfunction of the current device, as an int; None until the\n"
     "code is loaded.",
     NULL},
    {"n_spills", get_n_spills, NULL, "bytes of spilled registers; -1: unknown", NULL},
    {"n_max_threads", get_n_max_threads, NULL,
     "threads that a block of it may have: on a GPU those that it is made for", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot compiled_slots[] = {
    {Py_tp_doc,
     "A compiled variant of a kernel: asm has its stages as text, report what its\n"
     "lines cost, timings what compiling it took; metadata, n_regs, n_spills.\n\n"
     ">>> @tegula.jit\n"
     "... def double(x_ptr):\n"
     "...     tl.store(x_ptr, tl.load(x_ptr) * 2)\n"
     ">>> compiled = double.compile(\"*fp32\", target=\"cuda:sm_80\")\n"
     ">>> \"ld.global\" in compiled.asm[\"ptx\"], compiled.metadata.shared\n"
     "(True, 0)"},
    {Py_tp_dealloc, compiled_dealloc},
    {Py_tp_traverse, compiled_traverse},
    {Py_tp_clear, compiled_clear},
    {Py_tp_repr, compiled_repr},
    {Py_tp_methods, compiled_methods},
    {Py_tp_getset, compiled_getset},
    {Py_mp_subscript, compiled_subscript},
    {0, NULL},
};

PyType_Spec compiled_spec = {
    .name = "tegula._core.CompiledKernel",
    .basicsize = sizeof(Compiled),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_BASETYPE,
    .slots = compiled_slots,
};
