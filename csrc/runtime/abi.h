/* abi.h: layouts of other people's structures that no package of headers carries.
 *
 * NumPy publishes the head of its array object as part of its C ABI; it has been the same
 * since 1.7 and through 2.x. Reading it costs a nanosecond where __array_interface__ builds
 * a dictionary. It is believed only after it has been compared with that dictionary on the
 * first array that is seen (setters.c).
 */
#ifndef TEGULA_ABI_H
#define TEGULA_ABI_H

#include <Python.h>

#include <stdint.h>

typedef struct NumpyDescr {
    PyObject_HEAD PyTypeObject *scalar_type;
    char kind, type_char;
    char byte_order; /* '=' native, '|' does not matter, '<' '>' */
    char former_flags;
    int type_num;
} NumpyDescr;

typedef struct NumpyArray {
    PyObject_HEAD char *data;
    int n_dims;
    int64_t *shape;
    int64_t *strides; /* bytes */
    PyObject *base;
    NumpyDescr *descr;
    int flags;
} NumpyArray;
enum { NUMPY_WRITEABLE = 0x0400 };

_Static_assert(offsetof(NumpyArray, data) == sizeof(PyObject), "data comes first");
_Static_assert(offsetof(NumpyArray, flags) == sizeof(PyObject) + 6 * sizeof(void *),
               "LP64");

#endif
