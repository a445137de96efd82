/* host_launch: a grid on this machine's CPUs, and on the emulator of the GPU.
 *
 * The GIL is let go while the grid runs: a program may take long, and nobody can tell from
 * outside. It costs some 30 ns when no other thread waits for it. The main thread takes it
 * again now and then, for the handlers of signals (attend.h).
 */
#include "runtime/launch.h"

#include "codegen/host/calls.h"
#include "base/attend.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Links the object code at the first launch. 0, or -1 with an exception. */
int
host_load(Compiled *v)
{
    if (v->jit)
        return 0;
    const Stage *obj = binary_stage(&v->bin, "obj");
    if (!obj)
        return PyErr_SetString(PyExc_SystemError, "a variant without object code"), -1;
    if (hooks_load(v, false))
        return -1;
    if (v->jit) /* the hook launched it */
        return 0;
    char err[ERR_TEXT] = "";
    void *fn = NULL;
    JitCode *jit = jit_load(obj->data, obj->size, v->bin.symbol, &fn, err);
    if (!jit)
        return raise_error("TegulaError", err), -1;
    v->jit = jit;
    if (v->bin.target.kind == TARGET_EMU)
        v->emu = fn;
    else
        v->host = (HostKernel *)fn;
    return hooks_load(v, true);
}

/* ---- faults ---------------------------------------------------------------------------- */

static const char *const fault_name[] = {
    [EMU_OK] = "",
    [EMU_RACE] = "RACE",
    [EMU_UNWRITTEN] = "UNWRITTEN",
    [EMU_BOUNDS] = "BOUNDS",
    [EMU_READ_ONLY] = "READ_ONLY",
    [EMU_BARRIER] = "BARRIER",
    [EMU_ASSERT] = "ASSERT",
    [EMU_MISALIGNED] = "MISALIGNED",
    [EMU_NO_MEMORY] = "MEMORY",
};

static int
raise_report(const Call *c, const EmuReport *r)
{
    if (r->fault == EMU_NO_MEMORY)
        return PyErr_NoMemory(), -1;
    PyObject *errors = PyImport_ImportModule("tegula.errors");
    if (!errors)
        return -1;
    PyObject *exc = PyObject_CallMethod(errors, "emulator_error", "ssszzii(iii)i",
                                        fault_name[r->fault], r->text, c->k->f->name,
                                        r->file, r->func, r->line, r->col + 1,
                                        r->pid[0], r->pid[1], r->pid[2], r->thread);
    Py_DECREF(errors);
    if (exc) {
        PyErr_SetObject((PyObject *)Py_TYPE(exc), exc);
        Py_DECREF(exc);
    }
    return -1;
}

/* ---- signals ------------------------------------------------------------------------------ */

/* Attendant.ask; data: where the state of this thread is, which has let go of the GIL. Other
 * threads than the main one run no handlers, and may end for good where they ask for the GIL of
 * a Python that is ending. */
static Attended
ask_python(void *data)
{
    PyThreadState **thread = data;
    pid_t process = getpid();
    if (syscall(SYS_gettid) != process)
        return ATTEND_GO_ON;
    PyEval_RestoreThread(*thread);
    bool has_raised = PyErr_CheckSignals();
    *thread = PyEval_SaveThread();
    if (getpid() != process)
        return ATTEND_FORKED;
    return has_raised ? ATTEND_STOP : ATTEND_GO_ON;
}

/* What ended a launch, if its attendant did: -1 with that exception; or 0. */
static int
raise_attended(const Attendant *a)
{
    if (a->last == ATTEND_FORKED && !PyErr_Occurred())
        raise_error("TegulaError",
                    "the handler of a signal forked in the midst of this launch, which "
                    "goes on in the parent alone");
    return a->last == ATTEND_GO_ON ? 0 : -1;
}

/* ---- memory ------------------------------------------------------------------------------- */

int
launch_regions(const Compiled *v, const Call *c, EmuRegion *out, int *n)
{
    *n = 0;
    for (int i = 0; i < v->bin.n_params; i++) {
        if (!v->bin.params[i].is_ptr)
            continue;
        EmuRegion r = {.param = i};
        PyObject *x = c->value[v->node[i]];
        int known = x && !PyLong_Check(x)
                        ? tensor_extent(c->k->st, x, &r.start, &r.bytes, &r.read_only)
                        : 0;
        if (known <= 0)
            return *n = 0, known;
        out[(*n)++] = r;
    }
    return 0;
}

/* ---- CPUs -------------------------------------------------------------------------------- */

/* The memory of every parameter, for code that checks bounds. An address that was passed as
 * an integer leads anywhere: then nothing is out of bounds. 0, or -1 with an exception. */
static int
find_spans(const Compiled *v, const Call *c, HostSpan *out)
{
    EmuRegion region[MAX_NODES];
    int n;
    if (launch_regions(v, c, region, &n))
        return -1;
    bool has_pointer = false;
    for (int i = 0; i < v->bin.n_params; i++) {
        has_pointer |= v->bin.params[i].is_ptr;
        out[i] = (HostSpan){0, 0};
    }
    for (int i = 0; i < n; i++)
        out[region[i].param] = (HostSpan){region[i].start, region[i].bytes};
    for (int i = 0; has_pointer && !n && i < v->bin.n_params; i++)
        out[i] = (HostSpan){0, UINT64_MAX};
    return 0;
}

/* OutOfBoundsError. Always -1. */
static int
raise_bounds(const Compiled *v, const Call *c, EmuReport *r, const HostSpan *spans)
{
    PyObject *name_b = r->param < 0
                           ? NULL
                           : c->k->names[cache_param_of_node(c, v->node[r->param])];
    const char *name = name_b ? PyUnicode_AsUTF8AndSize(name_b, NULL) : NULL;
    size_t n = strlen(r->text);
    if (name)
        snprintf(r->text + n, sizeof r->text - n, " of argument '%s', which has %llu",
                 name, (unsigned long long)spans[r->param].bytes);
    PyErr_Clear();
    return raise_report(c, r);
}

int
host_library_fault(Compiled *v)
{
    PtxCache *k = v->jit ? jit_assembly(v->jit) : NULL;
    char *text = k ? __atomic_exchange_n(&k->fault, NULL, __ATOMIC_ACQ_REL) : NULL;
    if (!text)
        return 0;
    raise_error("TegulaError", text);
    free(text);
    return -1;
}

int
host_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    if (!v->host && host_load(v))
        return -1;
    char err[ERR_TEXT];
    const Config *config = &c->k->st->config;
    HostSpan span[MAX_NODES];
    EmuReport report;
    report.fault = EMU_OK;
    HostLaunch launch = {.kernel = v->host,
                         .params = params,
                         .grid = g->dim,
                         .scratch_bytes = v->bin.scratch,
                         .n_threads = config->num_threads,
                         .stream_bytes = config->stream_bytes,
                         .report = &report,
                         .assembly = jit_assembly(v->jit)};
    if (c->opt.flags & OPT_BOUNDS) {
        if (find_spans(v, c, span))
            return -1;
        launch.spans = span;
        launch.n_spans = v->bin.n_params;
    }
    PyThreadState *thread = PyEval_SaveThread();
    Attendant attendant = {.ask = ask_python, .data = &thread};
    launch.attendant = &attendant;
    bool ok = pool_run(&launch, err);
    PyEval_RestoreThread(thread);
    if (raise_attended(&attendant))
        return -1;
    if (ok)
        return host_library_fault(v);
    if (report.fault == EMU_BOUNDS)
        return raise_bounds(v, c, &report, span);
    if (report.fault)
        return raise_report(c, &report);
    return raise_error("TegulaError", err), -1;
}

/* ---- the emulator -------------------------------------------------------------------- */

int
emu_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    EmuRegion region[MAX_ARGS];
    int n_regions;
    if (v->bin.n_params > MAX_ARGS)
        return PyErr_SetString(PyExc_ValueError, "too many parameters to emulate"), -1;
    if (host_load(v) || launch_regions(v, c, region, &n_regions))
        return -1;
    EmuRun run = {
        .kernel = (EmuKernel *)v->emu,
        .params = params,
        .grid = {g->dim[0], g->dim[1], g->dim[2]},
        .num_warps = v->bin.num_warps,
        .num_ctas = v->bin.num_ctas,
        .shared_bytes = v->bin.shared,
        .regions = region,
        .n_regions = n_regions,
        .assembly = jit_assembly(v->jit),
        .seed = c->k->st->config.emu_seed,
        .n_host_threads = c->k->st->config.num_threads ? c->k->st->config.num_threads
                                                       : pool_threads(),
    };
    EmuReport report = {0};
    PyThreadState *thread = PyEval_SaveThread();
    Attendant attendant = {.ask = ask_python, .data = &thread};
    run.attendant = &attendant;
    bool ok = emu_run(&run, &report);
    PyEval_RestoreThread(thread);
    if (raise_attended(&attendant))
        return -1;
    return ok ? host_library_fault(v) : raise_report(c, &report);
}
