/* override: files of the user's in the place of what a compile makes.
 *
 *     ir_override="k.ptx"         one file; its suffix says which stage it replaces
 *     knobs.compilation.override  <cache.override_dir>/<hash>/<kernel>.<suffix>, as many as
 *                                 there are; then ir_override is not looked at
 *
 * The stages ahead of a replaced one are made all the same: what a launch must know of the
 * kernel (parameters, what was asked of them, shared memory) comes from there. Files are read
 * here, where Python can say why one is not readable; what is in them is compile.c's and
 * codegen's to judge. A variant made of such a file is not kept on disk.
 */
#include "runtime/launch.h"

#include <stdlib.h>

/* What stands behind the dot, the stage it is, and the machines that have such a stage. */
static const struct {
    const char *suffix, *stage;
    unsigned machines; /* bits of TargetKind */
} forms[] = {
    {"tir", "tir", 1u << TARGET_CPU | 1u << TARGET_EMU | 1u << TARGET_CUDA},
    {"simt", "simt", 1u << TARGET_EMU | 1u << TARGET_CUDA},
    {"llir", "llir", 1u << TARGET_CPU | 1u << TARGET_EMU | 1u << TARGET_CUDA},
    {"ll", "llir", 1u << TARGET_CPU | 1u << TARGET_EMU | 1u << TARGET_CUDA},
    {"bc", "llir", 1u << TARGET_CPU | 1u << TARGET_EMU | 1u << TARGET_CUDA},
    {"ptx", "ptx", 1u << TARGET_EMU | 1u << TARGET_CUDA},
    {"cubin", "cubin", 1u << TARGET_CUDA},
};

void
overrides_free(Overrides *all)
{
    for (int i = 0; i < all->n; i++) {
        free(all->at[i].path);
        free(all->at[i].data);
    }
    all->n = 0;
}

static int
bad_suffix(const char *path, const char *suffix, Target t)
{
    if (!strcmp(suffix, "ttir") || !strcmp(suffix, "ttgir"))
        return PyErr_Format(
                   PyExc_ValueError,
                   "ir_override '%s': this is MLIR, and the compiler has none; "
                   "change what compiled.asm[\"%s\"] has, in a file *.%s",
                   path, strcmp(suffix, "ttir") ? "simt" : "tir",
                   strcmp(suffix, "ttir") ? "simt" : "tir"),
               -1;
    char known[128] = "", name[TARGET_TEXT];
    for (size_t i = 0, n = 0; i < COUNT(forms); i++)
        if (forms[i].machines >> t.kind & 1)
            n += (size_t)snprintf(known + n, sizeof known - n, "%s.%s", n ? ", " : "",
                                  forms[i].suffix);
    return PyErr_Format(PyExc_ValueError,
                        "ir_override '%s': a file of this kind replaces nothing on %s; "
                        "%s do",
                        path, target_text(t, name), known),
           -1;
}

static int
add_file(Overrides *all, const char *path, Target t)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    const char *suffix = dot && (!slash || dot > slash) ? dot + 1 : "", *stage = NULL;
    for (size_t i = 0; i < COUNT(forms); i++)
        if (!strcmp(forms[i].suffix, suffix) && forms[i].machines >> t.kind & 1)
            stage = forms[i].stage;
    if (!stage)
        return bad_suffix(path, suffix, t);
    Override *o = &all->at[all->n];
    *o = (Override){.stage = stage, .path = strdup(path)};
    if (!o->path)
        return PyErr_NoMemory(), -1;
    all->n++;
    o->data = file_whole(path, &o->size);
    if (!o->data)
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
    return o->data ? 0 : -1;
}

/* Those of the directory: tegula.compat.hooks knows where it is. */
static int
add_directory(Overrides *all, const char *kernel, const char *hash, Target t)
{
    PyObject *hooks = PyImport_ImportModule("tegula.compat.hooks");
    PyObject *list = NULL;
    int r = -1;
    list = hooks ? PyObject_CallMethod(hooks, "override_files", "ss", kernel, hash)
                 : NULL;
    Py_ssize_t n = list ? PyList_Size(list) : -1;
    if (n < 0)
        goto done;
    r = 0;
    for (Py_ssize_t i = 0; !r && i < n && all->n < MAX_OVERRIDES; i++) {
        const char *path = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), NULL);
        r = path ? add_file(all, path, t) : -1;
    }
done:
    DROP(hooks, list);
    return r;
}

int
overrides_read(const Call *c, Target t, const char *kernel, const char *hash,
               Overrides *all)
{
    all->n = 0;
    if (c->k->st->config.override)
        return add_directory(all, kernel, hash, t);
    size_t n;
    const char *path = option_text(call_option_texts(c), "ir_override=", &n);
    if (!path)
        return 0;
    char *copy = strndup(path, n);
    if (!copy)
        return PyErr_NoMemory(), -1;
    int r = add_file(all, copy, t);
    free(copy);
    return r;
}
