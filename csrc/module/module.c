/* module: PyInit__core, the one symbol this library shows. */
#include <Python.h>

static int
mod_exec(PyObject *mod)
{
    /* Benchmarks and bug reports must know whether asserts were on. */
    return PyModule_AddStringConstant(mod, "build", TEGULA_BUILD);
}

static PyModuleDef_Slot mod_slots[] = {
    {Py_mod_exec, mod_exec},
    {0, NULL},
};

static PyModuleDef mod_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tegula._core",
    .m_doc = "The compiler and the launcher behind tegula.",
    .m_slots = mod_slots,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC
PyInit__core(void)
{
    return PyModuleDef_Init(&mod_def);
}
