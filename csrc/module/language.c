/* language: the class of the modules tegula.language and below, which sees that their names change.
 *
 *     tl.minimum = mine                 counted: kernels look whether they read that name
 *     vars(tl)["minimum"] = mine        who has the dict changes it unseen: from then on every
 *                                       launch looks at the names that its kernel has read
 *
 * So a launch asks one number of the State, and not for the six names that a kernel reads at
 * 6 ns each (runtime/cache.c).
 */
#include "module/module.h"

/* NULL: of a module of a subclass, whose author sees to it himself. */
static State *
state_of(PyObject *self)
{
    State *st = PyType_GetModuleState(Py_TYPE(self));
    if (!st)
        PyErr_Clear();
    return st;
}

static int
language_setattro(PyObject *self, PyObject *name, PyObject *value)
{
    State *st = state_of(self);
    if (st)
        st->n_edits++;
    return PyObject_GenericSetAttr(self, name, value);
}

static PyObject *
language_dict(PyObject *self, void *closure)
{
    (void)closure;
    State *st = state_of(self);
    if (st && !st->is_language_open) {
        st->is_language_open = true;
        st->n_edits++;
    }
    return Py_NewRef(PyModule_GetDict(self));
}

/* dir(tl) asks a module for its dict, and changes nothing. */
static PyObject *
language_dir(PyObject *self, PyObject *none)
{
    (void)none;
    return PyDict_Keys(PyModule_GetDict(self));
}

static PyMethodDef language_methods[] = {
    {"__dir__", language_dir, METH_NOARGS, "__dir__()\n--\n\nThe names it has."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef language_getset[] = {
    {"__dict__", language_dict, NULL, "the names it has, and what they mean", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot language_slots[] = {
    {Py_tp_doc,
     "A module of the kernel language: kernels notice when its names change."},
    {Py_tp_setattro, language_setattro},
    {Py_tp_methods, language_methods},
    {Py_tp_getset, language_getset},
    {0, NULL},
};

PyType_Spec language_spec = {
    .name = "tegula._core.LanguageModule",
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = language_slots,
};
