/* tracing: what debuggers, coverage tools and sys.settrace see of our own Python, which is nothing
 * where a person steps from their code into their kernel. */
#include "frontend/frontend.h"

#include <dlfcn.h>

/* PyThreadState_EnterTracing and LeaveTracing are public since 3.11, but not in the limited
 * API. Without them debuggers see our functions: a nuisance, no fault. */
static void
call_tracing(const char *name)
{
    void (*fn)(PyThreadState *);
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(&fn, &symbol, sizeof fn);
    if (fn)
        fn(PyThreadState_Get());
}

void
tracing_pause(void)
{
    call_tracing("PyThreadState_EnterTracing");
}

void
tracing_resume(void)
{
    call_tracing("PyThreadState_LeaveTracing");
}

/* Is sys.NAME(..) something else than None? */
static bool
answers(PyObject *of, const char *name, const char *format, int arg)
{
    PyObject *fn = of ? PyObject_GetAttrString(of, name) : NULL;
    PyObject *r = fn ? PyObject_CallFunction(fn, format, arg) : NULL;
    bool yes = r && r != Py_None;
    PyErr_Clear();
    DROP(r, fn);
    return yes;
}

bool
tracing_is_on(void)
{
    enum { DEBUGGER_ID = 0 }; /* sys.monitoring's */
    PyObject *gettrace_b = PySys_GetObject("gettrace"), *traced;
    if (gettrace_b && (traced = PyObject_CallNoArgs(gettrace_b))) {
        Py_DECREF(traced);
        if (traced != Py_None)
            return true;
    }
    PyErr_Clear();
    if (answers(PySys_GetObject("monitoring"), "get_tool", "(i)", DEBUGGER_ID))
        return true;
    /* VS Code's puts its breakpoints into code, and may trace nothing. */
    return PyDict_GetItemString(PyImport_GetModuleDict(), "pydevd") != NULL;
}
