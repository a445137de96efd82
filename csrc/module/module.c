/* module: PyInit__core, the one symbol this library shows, and the module's state.
 *
 * Multi-phase initialisation, heap types, one State per import: nothing of Python is kept in
 * a static variable, so two interpreters (or two imports) do not know of each other.
 */
#include "module/module.h"
#include "runtime/aside.h"
#include "runtime/stepping.h"

#include <llvm/Config/llvm-config.h>
#include <time.h>

static PyObject *
fail_after(PyObject *mod, PyObject *arg)
{
    State *st = PyModule_GetState(mod);
    size_t n = PyLong_AsSize_t(arg);
    if (PyErr_Occurred())
        return NULL;
    st->fail_after = n;
    return Py_NewRef(Py_None);
}

/* hash_bytes(bytes): the checksum of files in the cache. */
static PyObject *
checksum(PyObject *mod, PyObject *arg)
{
    (void)mod;
    char *p;
    Py_ssize_t n;
    if (PyBytes_AsStringAndSize(arg, &p, &n))
        return NULL;
    return PyLong_FromUnsignedLongLong(hash_bytes(p, (size_t)n));
}

/* find_in_wheels(name): the file's path, or None. */
static PyObject *
find_in_wheels(PyObject *mod, PyObject *arg)
{
    (void)mod;
    char path[PATH_MAX];
    const char *name = PyUnicode_AsUTF8AndSize(arg, NULL);
    if (!name)
        return NULL;
    return wheels_find(name, path) ? PyUnicode_DecodeFSDefault(path)
                                   : Py_NewRef(Py_None);
}

/* build_id(): of this library. */
static PyObject *
build_id(PyObject *mod, PyObject *none)
{
    (void)mod, (void)none;
    unsigned char id[BUILD_ID_BYTES];
    char hex[2 * BUILD_ID_BYTES + 1] = "";
    for (int i = 0; disk_build_id(id) && i < BUILD_ID_BYTES; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    return PyUnicode_FromString(hex);
}

static PyObject *
prune_cache(PyObject *mod, PyObject *args)
{
    (void)mod;
    const char *dir;
    long long max_bytes;
    if (!PyArg_ParseTuple(args, "sL:prune_cache", &dir, &max_bytes))
        return NULL;
    return PyLong_FromLongLong(disk_prune(dir, max_bytes));
}

/* One dictionary for each GPU; RuntimeError when there is no driver. */
static PyObject *
cuda_devices(PyObject *mod, PyObject *unused)
{
    (void)unused;
    Cuda *cu = cuda_of(PyModule_GetState(mod));
    PyObject *list = cu ? PyList_New(0) : NULL;
    char err[ERR_TEXT];
    CudaDevice d;
    for (int i = 0; list && i < cuda_device_count(cu) && cuda_device(cu, i, &d, err);
         i++) {
        PyObject *row = Py_BuildValue("{s:s,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i}", "name",
                                      d.name, "sm", d.sm, "max_shared_mem",
                                      d.max_shared, "max_num_regs", d.n_registers,
                                      "multiprocessor_count", d.n_multiprocessors,
                                      "warpSize", d.warp_size, "sm_clock_rate", d.clock,
                                      "mem_clock_rate", d.memory_clock, "mem_bus_width",
                                      d.bus_width);
        list_take(&list, row);
    }
    return list;
}

/* At Python's exit (jit.py): nobody waits for what still compiles. */
static PyObject *
stop_compiles(PyObject *mod, PyObject *unused)
{
    (void)mod, (void)unused;
    aside_stop_all();
    return Py_NewRef(Py_None);
}

static PyObject *
option_names(PyObject *mod, PyObject *unused)
{
    (void)mod, (void)unused;
    const char *const *names = option_list();
    PyObject *list = PyList_New(0);
    for (; list && *names; names++)
        list_take(&list, PyUnicode_FromString(*names));
    return list;
}

static PyObject *
chip_row(PyObject *mod, PyObject *sm)
{
    (void)mod;
    long n = PyLong_AsLong(sm);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    const Chip *k = chip_of((int)MIN(MAX(n, 0), INT_MAX));
    return Py_BuildValue("{sisisisisisi}", "sm", k->sm, "shared", k->block_kb << 10,
                         "threads", k->threads, "tensor", k->tensor, "simd32",
                         k->simd32, "simd16", k->simd16);
}

static PyObject *
chip_n_blocks(PyObject *mod, PyObject *args)
{
    (void)mod;
    int sm, threads, registers, shared;
    if (!PyArg_ParseTuple(args, "iiii:_chip_blocks", &sm, &threads, &registers,
                          &shared))
        return NULL;
    return PyLong_FromLongLong(
        chip_blocks(chip_of(sm), MAX(threads, 1), MAX(registers, 1), MAX(shared, 0)));
}

static PyObject *
n_edits(PyObject *mod, PyObject *unused)
{
    (void)unused;
    State *st = PyModule_GetState(mod);
    return PyLong_FromUnsignedLongLong(st->n_edits);
}

static PyMethodDef mod_methods[] = {
    {"hash_bytes", checksum, METH_O,
     "hash_bytes(data)\n--\n\nThe checksum of files in the cache."},
    {"find_in_wheels", find_in_wheels, METH_O,
     "find_in_wheels(name)\n--\n\n"
     "Where a file like bin/ptxas of the nvidia-* packages is, or None."},
    {"build_id", build_id, METH_NOARGS,
     "build_id()\n--\n\nThe linker's hash of the compiler, in hex; '' without one."},
    {"fingerprint", fingerprint, METH_VARARGS,
     "fingerprint(args, kwargs, keys, places)\n--\n\n"
     "What an autotuner's choice depends on, as a tuple: module/tuner.c."},
    {"prune_cache", prune_cache, METH_VARARGS,
     "prune_cache(dir, max_bytes)\n--\n\nDrops what was not used for longest; bytes freed."},
    {"cuda_devices", cuda_devices, METH_NOARGS,
     "cuda_devices()\n--\n\nOne dict for each GPU; RuntimeError without a driver."},
    {"_cuda_load_binary", cuda_load_binary, METH_VARARGS,
     "_cuda_load_binary(name, code, shared, device)\n--\n\nSee driver.py."},
    {"_cuda_unload_binary", cuda_unload_binary, METH_VARARGS,
     "_cuda_unload_binary(module)\n--\n\nSee driver.py."},
    {"_cuda_count_clusters", cuda_count_clusters, METH_VARARGS,
     "_cuda_count_clusters(function, shared, num_ctas)\n--\n\nSee driver.py."},
    {"_cuda_printf_size", cuda_printf_size, METH_O,
     "_cuda_printf_size(bytes)\n--\n\nSee driver.py."},
    {"_cuda_fill_tma", cuda_fill_tma, METH_VARARGS,
     "_cuda_fill_tma(address, swizzle, elem_bytes, elem_type, block, shape, strides,\n"
     "padding)\n--\n\nSee driver.py."},
    {"_chip", chip_row, METH_O,
     "_chip(sm)\n--\n\nThe row of csrc/base/chips.def for this chip, or for the one before."},
    {"_chip_blocks", chip_n_blocks, METH_VARARGS,
     "_chip_blocks(sm, threads, registers, shared)\n--\n\n"
     "Thread blocks of so many threads that a multiprocessor holds at a time, of so many registers\n"
     "a thread and bytes a block."},
    {"configure", (PyCFunction)(void (*)(void))configure, METH_VARARGS | METH_KEYWORDS,
     "configure(**knobs)\n--\n\nTells C the knobs; python/tegula/knobs.py calls it."},
    {"_stop_compiles", stop_compiles, METH_NOARGS,
     "_stop_compiles()\n--\n\nEnds the compiles of other threads, as far as they can be ended."},
    {"_n_edits", n_edits, METH_NOARGS,
     "_n_edits()\n--\n\nTests: what made launches look at the names of the language again."},
    {"_option_names", option_names, METH_NOARGS,
     "_option_names()\n--\n\nWhat a launch takes besides the kernel's parameters."},
    {"_debug_step", debug_step, METH_O, "_debug_step(line)\n--\n\nSee debugger.py."},
    {"_debug_below", debug_below, METH_O, "_debug_below(line)\n--\n\nSee debugger.py."},
    {"_debug_value", debug_value, METH_NOARGS,
     "_debug_value()\n--\n\nSee debugger.py."},
    {"_debug_spec", debug_spec, METH_VARARGS,
     "_debug_spec(handle, level, serial)\n--\n\nSee debugger.py."},
    {"_debug_read", debug_read, METH_VARARGS,
     "_debug_read(handle, level, serial, i)\n--\n\nSee debugger.py."},
    {"_debug_write", debug_write, METH_VARARGS,
     "_debug_write(handle, level, serial, i, data)\n--\n\nSee debugger.py."},
    {"_debug_load", debug_load, METH_VARARGS,
     "_debug_load(kind, addresses)\n--\n\nSee debug_prompt.py."},
    {"_debug_grid", debug_grid, METH_NOARGS,
     "_debug_grid()\n--\n\nSee debug_prompt.py."},
    {"_record_start", record_start, METH_NOARGS, "_record_start()\n--\n\nSee viz.py."},
    {"_record_stop", record_stop, METH_NOARGS, "_record_stop()\n--\n\nSee viz.py."},
    {"_fail_after", fail_after, METH_O,
     "_fail_after(n)\n--\n\nTests: allocation number n of each compile fails; 0: none."},
    {NULL, NULL, 0, NULL},
};

static int
mod_exec(PyObject *mod)
{
    State *st = PyModule_GetState(mod);
    config_init(&st->config);
    st->n_configs = 1;
    launch_note_stack(st);
    if (setters_new(st) || option_names_new(st))
        return -1;
#define STATE(name, make)                                                              \
    if (!(st->name = (make)))                                                          \
        return -1;
#include "runtime/state.def"
#undef STATE
    if (PyModule_AddObjectRef(mod, "Kernel", st->KernelType) ||
        PyModule_AddObjectRef(mod, "CompiledKernel", st->CompiledType) ||
        PyModule_AddObjectRef(mod, "LanguageModule", st->LanguageType))
        return -1;
    /* Benchmarks and bug reports must know whether asserts were on. */
    if (PyModule_AddStringConstant(mod, "build", TEGULA_BUILD))
        return -1;
    return PyModule_AddStringConstant(mod, "llvm", LLVM_VERSION_STRING);
}

static int
mod_traverse(PyObject *mod, visitproc visit, void *arg)
{
    State *st = PyModule_GetState(mod);
    if (!st)
        return 0;
#define STATE(name, make) Py_VISIT(st->name);
#include "runtime/state.def"
#undef STATE
    return setters_traverse(st, visit, arg);
}

static int
mod_clear(PyObject *mod)
{
    State *st = PyModule_GetState(mod);
    if (!st)
        return 0;
#define STATE(name, make) Py_CLEAR(st->name);
#include "runtime/state.def"
#undef STATE
    return 0;
}

static void
mod_free(void *mod)
{
    State *st = PyModule_GetState(mod);
    mod_clear(mod);
    if (!st)
        return;
    setters_free(st);
    option_names_free(st);
    cuda_free(st->cuda);
    config_free(&st->config);
}

static PyModuleDef_Slot mod_slots[] = {
    {Py_mod_exec, mod_exec},
    {0, NULL},
};

static PyModuleDef mod_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tegula._core",
    .m_doc = "The compiler and the launcher behind tegula.",
    .m_size = sizeof(State),
    .m_methods = mod_methods,
    .m_slots = mod_slots,
    .m_traverse = mod_traverse,
    .m_clear = mod_clear,
    .m_free = mod_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&mod_def);
}
