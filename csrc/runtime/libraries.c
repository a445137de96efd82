/* libraries: are the files of LLVM code that a variant on disk has inside still what they were?
 *
 * Which files a kernel links is known when its code is made, and a variant from the disk is to
 * be had without that. So the variant brings the list (stage linked: the place, the
 * size and a hash of the bytes), and is of use as long as every file has these bytes, and
 * CUDA's own library is found where it was. Where the search for the files went is a function
 * of what the key has already: options and tile IR.
 *
 * A file is read once for each state of it (State.library_files): device, inode, size and
 * times. What changed within the last second is not remembered, as a change to come might have
 * the same time.
 */
#include "runtime/launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file's state, and what it had then. Compared as bytes: no gaps. */
typedef struct FileState {
    uint64_t device, inode, n_bytes;
    int64_t modified[2], changed[2]; /* seconds and nanoseconds since 1970 */
    uint64_t hash;                   /* of the bytes; the last field */
} FileState;
_Static_assert(sizeof(FileState) == 8 * sizeof(uint64_t), "no gaps");

static bool
state_of(const struct stat *s, FileState *out)
{
    *out = (FileState){.device = (uint64_t)s->st_dev,
                       .inode = (uint64_t)s->st_ino,
                       .n_bytes = (uint64_t)s->st_size,
                       .modified = {s->st_mtim.tv_sec, s->st_mtim.tv_nsec},
                       .changed = {s->st_ctim.tv_sec, s->st_ctim.tv_nsec}};
    return S_ISREG(s->st_mode);
}

static bool
is_same_state(const FileState *a, const FileState *b)
{
    return !memcmp(a, b, offsetof(FileState, hash));
}

static bool
is_settled(const FileState *s)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return s->changed[0] + 1 < now.tv_sec && s->modified[0] + 1 < now.tv_sec;
}

/* Hashes the file, unless it changes meanwhile. */
static bool
hash_file(const char *path, FileState *s)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    struct stat before, after;
    FileState then;
    bool ok = !fstat(fd, &before) && state_of(&before, s);
    char *data = ok ? malloc(MAX(s->n_bytes, 1)) : NULL;
    ok = data && file_read(fd, data, s->n_bytes) == (ssize_t)s->n_bytes &&
         !fstat(fd, &after) && state_of(&after, &then) && is_same_state(s, &then);
    if (ok)
        s->hash = hash_bytes(data, s->n_bytes);
    free(data);
    close(fd);
    return ok;
}

/* What is remembered of the path, if the file is in that state: sets s->hash. */
static bool
recall(PyObject *files, const char *path, FileState *s)
{
    PyObject *bytes_b = PyDict_GetItemString(files, path);
    if (!bytes_b || PyBytes_Size(bytes_b) != sizeof *s)
        return false;
    FileState known;
    memcpy(&known, PyBytes_AsString(bytes_b), sizeof known);
    if (!is_same_state(&known, s))
        return false;
    s->hash = known.hash;
    return true;
}

static void
remember(PyObject *files, const char *path, const FileState *s)
{
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)s, sizeof *s);
    if (!bytes || PyDict_SetItemString(files, path, bytes))
        PyErr_Clear(); /* it will be read again */
    Py_XDECREF(bytes);
}

/* The hash of the file as it is now, and its size. */
static bool
file_now(State *st, const char *path, FileState *s)
{
    struct stat now;
    if (stat(path, &now) || !state_of(&now, s))
        return false;
    if (recall(st->library_files, path, s))
        return true;
    if (!hash_file(path, s))
        return false;
    if (is_settled(s))
        remember(st->library_files, path, s);
    return true;
}

/* Is CUDA's library found where it was? path "": it was not found. */
static bool
finds_libdevice(const char *path)
{
    PyObject *tools = PyImport_ImportModule("tegula.toolchain");
    PyObject *now = tools ? PyObject_CallMethod(tools, "find_libdevice", NULL) : NULL;
    const char *s = now == Py_None ? ""
                    : now          ? PyUnicode_AsUTF8AndSize(now, NULL)
                                   : NULL;
    bool same = s && !strcmp(s, path);
    PyErr_Clear();
    DROP(tools, now);
    return same;
}

static bool
is_line_true(State *st, const char *line)
{
    static const char libdevice[] = "libdevice ";
    if (!strncmp(line, libdevice, strlen(libdevice)))
        return finds_libdevice(line + strlen(libdevice));
    unsigned long long hash, n_bytes;
    int at = 0;
    FileState now;
    return sscanf(line, "%llx %llu%n", &hash, &n_bytes, &at) == 2 && line[at] == ' ' &&
           file_now(st, line + at + 1, &now) && now.hash == hash &&
           now.n_bytes == n_bytes;
}

bool
libraries_unchanged(State *st, const Binary *bin)
{
    const Stage *list = binary_stage(bin, "linked");
    if (!list)
        return true;
    char *lines = strdup(list->data), *rest = lines;
    bool ok = lines;
    for (char *line; ok && (line = strsep(&rest, "\n")) && *line;)
        ok = is_line_true(st, line);
    free(lines);
    return ok;
}
