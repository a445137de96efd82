/* record: which program touches what, for the pictures of tegula.viz.
 *
 * Launches of the interpreter on a thread that records keep their accesses. All of one thread,
 * so that others may launch meanwhile.
 */
#include "runtime/stepping.h"

#include <stdlib.h>

/* As viz.py reads it. */
typedef struct Access {
    uint64_t address;
    int32_t bytes, line, is_write, pid[3];
} Access;

enum { MAX_ACCESSES = 1 << 21 }; /* 64 MB */
static _Thread_local struct {
    Access *at;
    size_t n, room;
    bool is_on, is_full;
} record;

static bool
has_room(void)
{
    if (record.n < record.room)
        return true;
    size_t room = record.room ? record.room * 2 : 1024;
    Access *at = room <= MAX_ACCESSES ? realloc(record.at, room * sizeof *at) : NULL;
    record.is_full = !at;
    if (at) {
        record.at = at;
        record.room = room;
    }
    return at != NULL;
}

void
record_access(uint64_t address, int bytes, bool is_write, int line, const int32_t *pid)
{
    if (!record.is_on || record.is_full || !has_room())
        return;
    record.at[record.n++] =
        (Access){address, bytes, line, is_write, {pid[0], pid[1], pid[2]}};
}

PyObject *
record_start(PyObject *mod, PyObject *unused)
{
    (void)mod, (void)unused;
    record.is_on = true;
    Py_RETURN_NONE;
}

PyObject *
record_stop(PyObject *mod, PyObject *unused)
{
    (void)mod, (void)unused;
    PyObject *res = NULL;
    if (record.is_full)
        PyErr_Format(PyExc_ValueError,
                     "the launch touches memory more than %d times: draw a smaller one",
                     (int)MAX_ACCESSES);
    else
        res = PyBytes_FromStringAndSize((const char *)record.at,
                                        (Py_ssize_t)(record.n * sizeof *record.at));
    free(record.at);
    memset(&record, 0, sizeof record);
    return res;
}
