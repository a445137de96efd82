/* hooks: calls into Python around a launch and around a compile.
 *
 *     pre-run hooks   add_pre_run_hook(f): f(*args, **kwargs), before anything else
 *     launch hook     h(variant, grid, arguments, stream) -> None, or what to call afterwards
 *     load hook       h(variant, is_done): before its code is loaded, and after
 *     unload hook     h(module, function, name, stages, hash): before the code goes
 *     compile hook    h(kernel, key, target, options, arguments, warmup, variant or None);
 *                     before a compile (variant None) a true result forbids it
 *
 * So is the question to knobs.py whether the environment has changed.
 *
 * The hooks are one object each, made by tegula/compat/hooks.py out of what stands in
 * knobs.runtime, and None while nothing stands there: a launch without hooks compares one
 * pointer.
 */
#include "runtime/launch.h"

#include <ctype.h>

int
hooks_pre_run(Kernel *k, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames)
{
    Py_ssize_t n_kw = kwnames ? PyTuple_Size(kwnames) : 0;
    PyObject *positional = PyTuple_New(n_args), *named = PyDict_New();
    int r = positional && named ? 0 : -1;
    for (Py_ssize_t i = 0; !r && i < n_args; i++)
        r = PyTuple_SetItem(positional, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; !r && i < n_kw; i++)
        r = PyDict_SetItem(named, PyTuple_GetItem(kwnames, i), args[n_args + i]);
    for (Py_ssize_t i = 0; !r && i < PyList_Size(k->hooks); i++) {
        PyObject *hook = Py_NewRef(PyList_GetItem(k->hooks, i));
        PyObject *res = PyObject_Call(hook, positional, named);
        Py_DECREF(hook);
        Py_XDECREF(res);
        r = res ? 0 : -1;
    }
    DROP(positional, named);
    return r;
}

PyObject *
hooks_enter(Compiled *v, const Call *c, const Grid *g)
{
    void *stream = NULL;
    if (v->bin.target.kind == TARGET_CUDA && tensor_stream(v->st, c, &stream))
        return NULL;
    PyObject *hook = Py_NewRef(v->st->launch_hook), *res = NULL;
    PyObject *meta = call_meta(c);
    if (meta)
        res = PyObject_CallFunction(hook, "O(iii)OK", (PyObject *)v, (int)g->dim[0],
                                    (int)g->dim[1], (int)g->dim[2], meta,
                                    (unsigned long long)(uintptr_t)stream);
    Py_XDECREF(meta);
    Py_DECREF(hook);
    return res;
}

int
hooks_exit(PyObject *after)
{
    PyObject *res = after == Py_None ? Py_NewRef(Py_None) : PyObject_CallNoArgs(after);
    Py_DECREF(after);
    Py_XDECREF(res);
    return res ? 0 : -1;
}

int
hooks_compile(const Call *c, Target target, const char *key, const Compiled *v)
{
    State *st = c->k->st;
    if (st->compile_hook == Py_None)
        return 1;
    char text[TARGET_TEXT];
    OptWord o = c->opt;
    PyObject *hook = Py_NewRef(st->compile_hook), *meta = call_meta(c), *res = NULL;
    PyObject *opt = Py_BuildValue("{s:i,s:i,s:i,s:O,s:O}", "num_warps",
                                  (int)o.num_warps, "num_stages", (int)o.num_stages,
                                  "num_ctas", (int)o.num_ctas, "enable_fp_fusion",
                                  o.flags & OPT_FUSION ? Py_True : Py_False,
                                  "launch_cooperative_grid",
                                  o.flags & OPT_COOPERATIVE ? Py_True : Py_False);
    if (meta && opt)
        res = PyObject_CallFunction(hook, "OssOOOO", (PyObject *)c->k, key,
                                    target_text(target, text), opt, meta,
                                    c->types_only ? Py_True : Py_False,
                                    v ? (PyObject *)v : Py_None);
    int forbidden = res ? PyObject_IsTrue(res) : -1;
    DROP(meta, opt, res);
    Py_DECREF(hook);
    return forbidden < 0 ? -1 : v || !forbidden;
}

int
hooks_load(Compiled *v, bool is_done)
{
    if (v->st->load_hook == Py_None)
        return 0;
    PyObject *hook = Py_NewRef(v->st->load_hook);
    PyObject *res = PyObject_CallFunction(hook, "OO", (PyObject *)v,
                                          is_done ? Py_True : Py_False);
    Py_DECREF(hook);
    Py_XDECREF(res);
    return res ? 0 : -1;
}

void
hooks_unload(const Compiled *v)
{
    if (!v->st->unload_hook || v->st->unload_hook == Py_None)
        return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *hook = Py_NewRef(v->st->unload_hook);
    PyObject *stages = PyList_New(0), *res = NULL;
    for (int i = 0; stages && i < v->bin.n_stages; i++) {
        if (!strcmp(v->bin.stage[i].name, PLACES_STAGE) || /* the report's alone */
            !strcmp(v->bin.stage[i].name, TRIAL_STAGE))
            continue;
        list_take(&stages, PyUnicode_FromString(v->bin.stage[i].name));
    }
    const char *name = v->symbol ? v->symbol : v->kernel->f->name;
    if (stages)
        res = PyObject_CallFunction(hook, "KKsOs",
                                    (unsigned long long)(uintptr_t)v->library,
                                    (unsigned long long)(uintptr_t)v->cu_kernel, name,
                                    stages, v->hash);
    if (!res)
        PyErr_WriteUnraisable(hook);
    DROP(res, stages);
    Py_DECREF(hook);
    PyErr_Restore(type, value, trace);
}

int
hooks_dump(Compiled *v)
{
    if (!v->st->config.dump_ir)
        return 0;
    PyObject *hooks = PyImport_ImportModule("tegula.compat.hooks");
    PyObject *res = hooks
                        ? PyObject_CallMethod(hooks, "dump_stages", "O", (PyObject *)v)
                        : NULL;
    DROP(hooks, res);
    return res ? 0 : -1;
}

int
hooks_symbol(const Call *c, char **out)
{
    *out = NULL;
    PyObject *self = (PyObject *)c->k, *repr = PyObject_GetAttrString(self, "_repr");
    if (!repr || repr == Py_None) { /* a Kernel without the Python around it has none */
        PyErr_Clear();
        Py_XDECREF(repr);
        return 0;
    }
    PyObject *meta = call_meta(c),
             *hooks = PyImport_ImportModule("tegula.compat.hooks");
    PyObject *name = meta && hooks
                         ? PyObject_CallMethod(hooks, "variant_name", "OO", self, meta)
                         : NULL;
    const char *s = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (s && !(*out = strdup(s)))
        PyErr_NoMemory();
    for (char *p = *out; p && *p; p++)
        if (!isalnum((unsigned char)*p) || (unsigned char)*p >= 128)
            *p = '_';
    Py_DECREF(repr);
    DROP(meta, hooks, name);
    return *out ? 0 : -1;
}

int
hooks_read_environment(void)
{
    tracing_pause();
    PyObject *knobs = PyImport_ImportModule("tegula.knobs");
    PyObject *r = knobs ? PyObject_CallMethod(knobs, "_sync_environment", NULL) : NULL;
    int changed = r ? PyObject_IsTrue(r) : -1;
    tracing_resume();
    DROP(knobs, r);
    return changed;
}
