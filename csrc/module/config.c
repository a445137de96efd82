/* config: the knobs that C reads. python/tegula/knobs.py reads the environment and tells them
 * here: at import, when one is assigned, and ahead of each compile, so that no launch of what
 * is compiled looks anywhere else.
 */
#include "module/module.h"

#include <stdlib.h>

/* Knobs that are a field of Config and no more. */
typedef struct Knob {
    const char *name;
    size_t at;
} Knob;
#define KNOB(name) {#name, offsetof(Config, name)}
/* clang-format off */
static const Knob flags[] = {
    KNOB(debug), KNOB(interpret), KNOB(check_bounds), KNOB(line_info),
    KNOB(no_fp_fusion), KNOB(fp_fusion), KNOB(always_compile), KNOB(override),
    KNOB(dump_ir), KNOB(dump_nvptx), KNOB(dump_ptxas_log), KNOB(front_end_debugging),
    KNOB(disable_ptxas_opt), KNOB(tma)};
/* clang-format on */
static const Knob numbers[] = {KNOB(stream_bytes), KNOB(cache_max_bytes),
                               KNOB(emu_seed)};
static const Knob texts[] = {KNOB(dump),         KNOB(dump_dir), KNOB(stop),
                             KNOB(cache_dir),    KNOB(ptxas),    KNOB(libcuda),
                             KNOB(ptxas_options)};

void
config_init(Config *c)
{
    *c = (Config){
        .fp_fusion = true, .check_first = true, .cache_max_bytes = INT64_C(2) << 30};
}

void
config_free(Config *c)
{
    for (size_t i = 0; i < COUNT(texts); i++)
        free(*(char **)(void *)((char *)c + texts[i].at));
    *c = (Config){0};
}

/* Replaces a string by a copy of value's (None or "": NULL). 0, or -1 with an exception. */
static int
set_text(char **at, PyObject *value)
{
    char *copy = NULL;
    if (value != Py_None) {
        PyObject *path = PyOS_FSPath(value);
        PyObject *bytes = path ? PyUnicode_EncodeFSDefault(path) : NULL;
        const char *s = bytes ? PyBytes_AsString(bytes) : NULL;
        if (s && *s && !(copy = strdup(s)))
            PyErr_NoMemory();
        DROP(path, bytes);
        if (PyErr_Occurred())
            return -1;
    }
    free(*at);
    *at = copy;
    return 0;
}

static int
set_flag(bool *at, PyObject *value)
{
    int truth = PyObject_IsTrue(value);
    if (truth < 0)
        return -1;
    *at = truth;
    return 0;
}

static int
set_int64(int64_t *at, PyObject *value)
{
    long long v = PyLong_AsLongLong(value);
    if (v == -1 && PyErr_Occurred())
        return -1;
    *at = v;
    return 0;
}

static int
set_target(Config *c, PyObject *value)
{
    Target t = {0};
    bool is_given = value != Py_None &&
                    (!PyUnicode_Check(value) || PyUnicode_GetLength(value));
    if (is_given && parse_target(value, &t))
        return -1;
    c->has_target = is_given;
    c->target = t;
    return 0;
}

static int
set_threads(Config *c, PyObject *value)
{
    int64_t n;
    if (set_int64(&n, value))
        return -1;
    if (n < 0 || n > 4096)
        return PyErr_Format(PyExc_ValueError,
                            "num_threads must be from 0 to 4096, not %R", value),
               -1;
    c->num_threads = (int)n;
    return 0;
}

/* The field of that name, which has a row; NULL: it has none. */
static void *
field_of(Config *c, const Knob *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, rows[i].name))
            return (char *)c + rows[i].at;
    return NULL;
}

static int
set_knob(Config *c, const char *name, PyObject *value)
{
    if (!strcmp(name, "target"))
        return set_target(c, value);
    if (!strcmp(name, "num_threads"))
        return set_threads(c, value);
    if (!strcmp(name, "check_bounds"))
        c->check_first = value == Py_None;
    bool *flag = field_of(c, flags, COUNT(flags), name);
    if (flag)
        return set_flag(flag, value);
    int64_t *number = field_of(c, numbers, COUNT(numbers), name);
    if (number)
        return set_int64(number, value);
    char **text = field_of(c, texts, COUNT(texts), name);
    if (text)
        return set_text(text, value);
    return PyErr_Format(PyExc_TypeError, "configure() knows no '%s'", name), -1;
}

PyObject *
configure(PyObject *mod, PyObject *args, PyObject *kwargs)
{
    State *st = PyModule_GetState(mod);
    if (PyTuple_Size(args))
        return PyErr_SetString(PyExc_TypeError, "configure() takes keywords only"),
               NULL;
    st->n_configs++; /* also where a knob is refused: those before it are set */
    PyObject *key, *value;
    for (Py_ssize_t at = 0; kwargs && PyDict_Next(kwargs, &at, &key, &value);) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (!name)
            return NULL;
        PyObject **hook = !strcmp(name, "launch_hook")    ? &st->launch_hook
                          : !strcmp(name, "compile_hook") ? &st->compile_hook
                          : !strcmp(name, "load_hook")    ? &st->load_hook
                          : !strcmp(name, "unload_hook")  ? &st->unload_hook
                                                          : NULL;
        if (hook)
            set_ref(hook, Py_NewRef(value));
        else if (!strcmp(name, "driver")) /* of compat.driver, which is asked again */
            st->active = DRIVER_UNKNOWN;
        else if (set_knob(&st->config, name, value))
            return NULL;
        if (!strcmp(name, "libcuda")) /* it may be there */
            st->lacks_cuda = false;
    }
    return Py_NewRef(Py_None);
}
