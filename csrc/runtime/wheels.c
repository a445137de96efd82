/* wheels: files of NVIDIA's Python packages.
 *
 *     <a folder of sys.path>/nvidia/cuda_nvcc/bin/ptxas      up to CUDA 12
 *     <a folder of sys.path>/nvidia/cu13/bin/ptxas           from 13 on
 *
 * `nvidia` is a namespace package, and importlib would find the same folders; its search
 * takes longer than all the rest of a first launch does. Hooks in sys.meta_path are not asked.
 */
#include "runtime/launch.h"

#include <dirent.h>
#include <sys/stat.h>

static bool
is_file(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode);
}

/* The file below the last of the folders cu* that has it, in the order of their names. */
static bool
search(const char *root, const char *name, char found[PATH_MAX])
{
    char path[PATH_MAX];
    DIR *d = opendir(root);
    found[0] = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strncmp(e->d_name, "cu", 2) != 0)
            continue;
        int n = snprintf(path, sizeof path, "%s/%s/%s", root, e->d_name, name);
        if (n < (int)sizeof path && is_file(path) && strcmp(path, found) > 0)
            strcpy(found, path);
    }
    if (d)
        closedir(d);
    return found[0];
}

bool
wheels_find(const char *name, char found[PATH_MAX])
{
    char root[PATH_MAX];
    PyObject *path_b = PySys_GetObject("path");
    Py_ssize_t n = path_b && PyList_Check(path_b) ? PyList_Size(path_b) : 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *entry_b = PyList_GetItem(path_b, i);
        PyObject *bytes = PyUnicode_Check(entry_b) ? PyUnicode_EncodeFSDefault(entry_b)
                                                   : NULL;
        const char *folder = bytes ? PyBytes_AsString(bytes) : NULL;
        bool fits = folder && snprintf(root, sizeof root, "%s/nvidia",
                                       *folder ? folder : ".") < (int)sizeof root;
        Py_XDECREF(bytes);
        PyErr_Clear();
        if (fits && search(root, name, found))
            return true;
    }
    return false;
}
