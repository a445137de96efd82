/* host_launch: a grid on this machine's CPUs, and on the emulator of the GPU.
 *
 * The GIL is let go while the grid runs: a program may take long, and nobody can tell from
 * outside. It costs some 30 ns when no other thread waits for it. The main thread takes it
 * again now and then, for the handlers of signals (poll.h).
 */
#include "runtime/launch.h"

#include "codegen/host/calls.h"
#include "base/poll.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Links the object code. 0, or -1 with an exception. */
static int
link_object(Compiled *v)
{
    const Stage *obj = binary_stage(&v->bin, "obj");
    char err[ERR_TEXT] = "";
    void *fn = NULL;
    if (!obj)
        return PyErr_SetString(PyExc_SystemError, "a variant without object code"), -1;
    JitCode *jit = jit_load(obj->data, obj->size, v->bin.symbol, &fn, err);
    if (!jit)
        return raise_error("TegulaError", err), -1;
    v->host = (HostKernel *)fn;
    v->jit = jit;
    const Stage *tir = binary_stage(&v->bin, "tir");
    static const char atomic[] = "= atomic_rmw ";
    v->has_atomics = tir && memmem(tir->data, tir->size, atomic, sizeof atomic - 1);
    return 0;
}

/* Reads the PTX, for the emulator. 0, or -1 with an exception. */
static int
read_ptx(Compiled *v)
{
    const Stage *ptx = binary_stage(&v->bin, "ptx");
    char err[EMU_ERROR] = "";
    if (!ptx)
        return PyErr_SetString(PyExc_SystemError, "a variant without PTX"), -1;
    Manners was = manners_begin();
    v->emu = emu_load(ptx->data, v->bin.symbol, err);
    manners_end(was);
    return v->emu ? 0 : (raise_error("TegulaError", err), -1);
}

int
host_load(Compiled *v)
{
    if (v->jit || v->emu)
        return 0;
    if (hooks_load(v, false))
        return -1;
    if (v->jit || v->emu) /* the hook launched it */
        return 0;
    if (v->bin.target.kind == TARGET_EMU ? read_ptx(v) : link_object(v))
        return -1;
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

/* Of a thread that has let go of the GIL. */
typedef struct Away {
    PyThreadState *thread;
    Printed *printed; /* NULL: the kernel prints nothing */
} Away;

/* Poller.ask; data: an Away. Other threads than the main one run no handlers, and may end for good
 * where they ask for the GIL of a Python that is ending. */
static Polled
ask_python(void *data)
{
    Away *a = data;
    pid_t process = getpid();
    if (syscall(SYS_gettid) != process)
        return POLL_GO_ON;
    PyEval_RestoreThread(a->thread);
    bool has_raised = PyErr_CheckSignals() || (a->printed && printed_more(a->printed));
    a->thread = PyEval_SaveThread();
    if (getpid() != process)
        return POLL_FORKED;
    return has_raised ? POLL_STOP : POLL_GO_ON;
}

/* What ended a launch, if its poller did: -1 with that exception; or 0. */
static int
raise_polled(const Poller *a)
{
    if (a->last == POLL_FORKED && !PyErr_Occurred())
        raise_error("TegulaError",
                    "the handler of a signal forked in the midst of this launch, which "
                    "goes on in the parent alone");
    return a->last == POLL_GO_ON ? 0 : -1;
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
        Setter *s = x && !PyLong_Check(x) ? setter_of(c->k->st, x) : NULL;
        if (s && s->kind == SET_DLPACK) { /* asked again, it may make other memory */
            const Span *span = &c->span[v->node[i]];
            r.start = span->low ? span->low : c->bits[v->node[i]];
            r.bytes = span->high - span->low;
            r.read_only = code_truth(c->code[v->node[i]]) & NODE_READ_ONLY;
            r.bytes = bytes_there(r.start, r.bytes);
            out[(*n)++] = r;
            continue;
        }
        int known = x && !PyLong_Check(x)
                        ? tensor_extent(c->k->st, x, &r.start, &r.bytes, &r.read_only)
                        : 0;
        if (known <= 0)
            return *n = 0, known;
        r.bytes = bytes_there(r.start, r.bytes);
        out[(*n)++] = r;
    }
    return 0;
}

/* ---- CPUs -------------------------------------------------------------------------------- */

/* The memory of every parameter, for code that checks bounds. An address that was passed as
 * an integer leads anywhere: then nothing is out of bounds. Where storages count, they are what
 * views of NumPy reach as well, and nothing is out of a capsule of DLPack, which tells of a view alone. 0, or -1 with an exception. */
static int
find_spans(const Compiled *v, const Call *c, bool of_storages, HostSpan *out)
{
    EmuRegion region[MAX_NODES];
    int n = 0;
    if (!(of_storages && c->held) && launch_regions(v, c, region, &n))
        return -1;
    bool has_pointer = false;
    for (int i = 0; i < v->bin.n_params; i++) {
        has_pointer |= v->bin.params[i].is_ptr;
        out[i] = (HostSpan){0, 0};
    }
    for (int i = 0; i < n; i++) {
        EmuRegion *r = &region[i];
        if (of_storages)
            tensor_widen(c->k->st, c->value[v->node[r->param]], &r->start, &r->bytes);
        out[r->param] = (HostSpan){r->start, bytes_there(r->start, r->bytes)};
    }
    for (int i = 0; has_pointer && !n && i < v->bin.n_params; i++)
        out[i] = (HostSpan){0, UINT64_MAX};
    return 0;
}

void
bounds_text(const Compiled *v, const Call *c, const char *did, int param,
            uint64_t bytes, uint64_t address, char *text, size_t size)
{
    char verb[24], memory[48] = "", count[48] = "";
    snprintf(verb, sizeof verb, "%s", did); /* it may be in text */
    int node = v->node[param];
    PyObject *name_b = c->k->names[cache_param_of_node(c, node)], *x = c->value[node];
    const char *name = PyUnicode_AsUTF8AndSize(name_b, NULL);
    Elem e = code_elem(c->code[node]);
    int item = MAX(elem_info[e].bits / 8, 1);
    int64_t off = (int64_t)(address - c->bits[node]);
    int64_t n = x ? tensor_count(c->k->st, x) : -1;
    bool is_whole = off % item == 0;
    if (n >= 0) {
        if (bytes / (uint64_t)item > (uint64_t)n)
            snprintf(memory, sizeof memory, ", in a memory of %llu",
                     (unsigned long long)bytes / (unsigned long long)item);
        snprintf(count, sizeof count, ", %lld element%s", (long long)n,
                 n == 1 ? "" : "s");
    }
    PyErr_Clear();
    bool is_cut = off >= 0 && off / item < n && !page_is_there(address, 1);
    snprintf(text, size, "%s of %s %lld of '%s' (%s%s%s)%s", verb,
             is_whole ? "element" : "byte", (long long)(is_whole ? off / item : off),
             name ? name : "?", elem_info[e].tl, count, memory,
             is_cut ? ", where no memory is: was its file cut?" : "");
}

static bool
prints(Compiled *v)
{
    static const char op[] = "print \"";
    const Stage *tir = v->prints ? NULL : binary_stage(&v->bin, "tir");
    if (!v->prints)
        v->prints = tir && memmem(tir->data, tir->size, op, sizeof op - 1) ? 1 : -1;
    return v->prints > 0;
}

int
host_run(Compiled *v, Call *c, const HostCode *code, const uint64_t *params,
         const Grid *g, HostStray *stray)
{
    char err[ERR_TEXT];
    const Config *config = &c->k->st->config;
    HostSpan span[MAX_NODES];
    EmuReport report;
    report.fault = EMU_OK;
    HostLaunch launch = {.kernel = code->host,
                         .name = v->kernel->f->name,
                         .loads = v->loads,
                         .stores = v->stores,
                         .params = params,
                         .grid = g->dim,
                         .scratch_bytes = code->scratch,
                         .stack_bytes = code->stack,
                         .n_threads = config->num_threads,
                         .stream_bytes = config->stream_bytes,
                         .stray = stray,
                         .report = &report,
                         .program_ns = &v->program_ns,
                         .locked_ns = v->has_atomics ? &v->locked_ns : NULL,
                         .assembly = jit_assembly(code->jit)};
    if (stray) {
        if (find_spans(v, c, stray->loads_are_fine, span))
            return -1;
        launch.spans = span;
        launch.n_spans = v->bin.n_params;
    }
    Printed printed;
    Away away = {.printed = prints(v) ? &printed : NULL};
    if (away.printed && (call_leave(c) || printed_begin(&printed, true)))
        return -1;
    if (call_has_moved(c))
        return away.printed ? printed_end(&printed, -1) : -1;
    launch.out = away.printed ? printed.out : NULL;
    crash_install();
    crash_launched(v->kernel->f->name);
    away.thread = PyEval_SaveThread();
    Poller poller = {.ask = ask_python, .data = &away};
    launch.poller = &poller;
    bool ok = pool_run(&launch, err);
    PyEval_RestoreThread(away.thread);
    int failed = raise_polled(&poller);
    if (away.printed)
        failed = printed_end(&printed, failed);
    if (failed || ok)
        return failed;
    if (report.fault == EMU_BOUNDS && report.param >= 0)
        bounds_text(v, c, report.text, report.param, span[report.param].bytes,
                    stray->fault_at, report.text, sizeof report.text);
    if (report.fault)
        return raise_report(c, &report);
    return raise_error("TegulaError", err), -1;
}

int
host_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    if (!v->host && (call_leave(c) || host_load(v)))
        return -1;
    HostCode code = {v->jit, v->host, v->bin.scratch, v->bin.stack};
    if (!(c->opt.flags & OPT_BOUNDS))
        return host_run(v, c, &code, params, g, NULL);
    HostStray stray = {.loads_are_fine = false};
    return host_run(v, c, &code, params, g, &stray);
}

/* ---- the emulator -------------------------------------------------------------------- */

/* An access to a tensor: by its name. */
static void
name_tensor(const Compiled *v, const Call *c, const EmuRun *run, EmuReport *r)
{
    if (r->param < 0 || (r->fault != EMU_BOUNDS && r->fault != EMU_RACE))
        return;
    for (int i = 0; i < run->n_regions; i++) {
        const EmuRegion *g = &run->regions[i];
        if (g->param != r->param)
            continue;
        bounds_text(v, c, r->did, r->param, g->bytes, r->address, r->text,
                    sizeof r->text);
        size_t n = strlen(r->text);
        snprintf(r->text + n, sizeof r->text - n, "%s", r->tail);
    }
}

int
emu_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    EmuRegion region[MAX_NODES];
    int n_regions;
    if (host_load(v) || launch_regions(v, c, region, &n_regions))
        return -1;
    EmuRun run = {
        .code = v->emu,
        .params = params,
        .grid = {g->dim[0], g->dim[1], g->dim[2]},
        .num_warps = v->bin.block_warps,
        .num_ctas = v->bin.num_ctas,
        .shared_bytes = v->bin.shared,
        .regions = region,
        .n_regions = n_regions,
        .seed = c->k->st->config.emu_seed,
    };
    EmuReport report = {0};
    Printed printed;
    if (printed_begin(&printed, true))
        return -1;
    if (call_has_moved(c))
        return printed_end(&printed, -1);
    run.out = printed.out;
    Away away = {PyEval_SaveThread(), &printed};
    Poller poller = {.ask = ask_python, .data = &away};
    run.poller = &poller;
    Manners was = manners_begin();
    bool ok = emu_run(&run, &report);
    manners_end(was);
    PyEval_RestoreThread(away.thread);
    int failed = printed_end(&printed, raise_polled(&poller));
    if (failed || ok)
        return failed;
    name_tensor(v, c, &run, &report);
    return raise_report(c, &report);
}
