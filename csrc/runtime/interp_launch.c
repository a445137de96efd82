/* interp_launch: a grid in the reference interpreter (TEGULA_INTERPRET).
 *
 * The variant has no code, only the frontend's tile IR as text, with the places of the source.
 * It is parsed at each launch: slow on purpose, like ir/interp.c itself. Every access is
 * checked against the tensors of the launch. breakpoint() and print() call Python, where
 * tegula/debugger.py shows what is in sight.
 */
#include "runtime/launch.h"

typedef struct Run {
    const Compiled *v;
    PyObject *kernel;      /* borrowed */
    PyThreadState *thread; /* ours, while the interpreter runs without the GIL */
    InterpRun run;
    const EmuRegion *region;
    int n_regions;
} Run;

static bool
is_inside(void *data, uint64_t address, int bytes, bool is_write, const Loc *loc)
{
    (void)loc;
    const Run *r = data;
    for (int i = 0; i < r->n_regions; i++) {
        const EmuRegion *t = &r->region[i];
        if (address >= t->start && address + (uint64_t)bytes <= t->start + t->bytes)
            return !(is_write && t->read_only);
    }
    return r->n_regions == 0;
}

/* Comp.source_line: from the file itself. A kernel without one gets no caret. */
static const char *
source_line(Comp *c, const char *file, int line)
{
    char text[1024];
    FILE *f = fopen(file, "re");
    const char *found = NULL;
    for (int n = 1; f && fgets(text, sizeof text, f); n += strchr(text, '\n') != NULL)
        if (n == line) {
            found = str_intern(c, text);
            break;
        }
    if (f)
        fclose(f);
    return found;
}

/* ---- breakpoint() and print() -------------------------------------------------------- */

/* (type, shape, bytes), as tegula/debugger.py takes it: new ref, or NULL. Floats that NumPy
 * lacks are widened. */
static PyObject *
leaf(const Val *v, const uint64_t *bits)
{
    const Type *t = v->type;
    Elem e = t->is_ptr ? E_U64 : t->elem;
    bool widen = !t->is_ptr && elem_is_float(e) && e != E_F16 && elem_info[e].bits < 32;
    Elem to = widen ? E_F32 : e;
    int64_t n = ty_numel(t), size = elem_info[to].bytes;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * size));
    PyObject *shape = PyTuple_New(t->rank), *res = NULL;
    char *at = bytes ? PyBytes_AsString(bytes) : NULL;
    if (!bytes || !shape)
        goto done;
    for (int64_t i = 0; i < n; i++) {
        uint64_t w = widen ? elem_cast(e, to, bits[i], ROUND_RTNE) : bits[i];
        memcpy(at + i * size, &w, (size_t)size); /* little endian */
    }
    for (int d = 0; d < t->rank; d++)
        if (PyTuple_SetItem(shape, d, PyLong_FromLong(t->shape[d])))
            goto done;
    res = Py_BuildValue("(sOO)", elem_info[to].text, shape, bytes);
done:
    Py_XDECREF(bytes);
    Py_XDECREF(shape);
    return res;
}

static bool
show(const Run *r, const Op *o, const uint64_t *const *values, const int32_t *pid)
{
    PyObject *module = PyImport_ImportModule("tegula.debugger");
    PyObject *leaves = PyList_New(0), *what = NULL, *done = NULL;
    bool ok = module && leaves;
    for (int i = 0; ok && i < o->n_args; i++) {
        PyObject *one = leaf(arg(o, i), values[i]);
        ok = one && !PyList_Append(leaves, one);
        Py_XDECREF(one);
    }
    if (ok)
        what = PyObject_CallMethod(module, "act", "OsO(iii)", r->kernel, o->text,
                                   leaves, (int)pid[0], (int)pid[1], (int)pid[2]);
    /* Called from here, so that no frame of ours stands between theirs. */
    if (what)
        done = what == Py_None ? Py_NewRef(what) : PyObject_CallNoArgs(what);
    ok = done != NULL;
    Py_XDECREF(done);
    Py_XDECREF(what);
    Py_XDECREF(leaves);
    Py_XDECREF(module);
    return ok;
}

/* InterpRun.debug. An exception stays set in our thread's state, for interp_launch. */
static bool
debug(void *data, const Op *o, const uint64_t *const *values, const int32_t *pid)
{
    Run *r = data;
    PyEval_RestoreThread(r->thread);
    bool ok = show(r, o, values, pid);
    r->thread = PyEval_SaveThread();
    return ok;
}

static void
interpret(Comp *c, void *data)
{
    Run *r = data;
    c->source_line = source_line;
    const Func *f = ir_parse(c, binary_stage(&r->v->bin, "interp")->data);
    ir_verify(f, "parse");
    ir_interpret(f, &r->run);
}

int
interp_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    EmuRegion region[MAX_ARGS];
    int n_regions;
    Comp comp;
    if (v->bin.n_params > MAX_ARGS)
        return PyErr_SetString(PyExc_ValueError, "too many parameters to interpret"),
               -1;
    if (launch_regions(v, c, region, &n_regions))
        return -1;
    if (!comp_init(&comp))
        return PyErr_NoMemory(), -1;
    Run r = {
        .v = v,
        .kernel = (PyObject *)c->k,
        .run = {.args = params,
                .grid = {g->dim[0], g->dim[1], g->dim[2]},
                .access = is_inside,
                .debug = debug,
                .data = &r},
        .region = region,
        .n_regions = n_regions,
    };
    r.thread = PyEval_SaveThread();
    bool ok = comp_run(&comp, interpret, &r);
    PyEval_RestoreThread(r.thread);
    if (PyErr_Occurred()) {
        ok = false; /* theirs: of a debugger that quits, a print that fails */
    } else if (!ok && comp.err.code == ERR_MEMORY) {
        PyErr_NoMemory();
    } else if (!ok) {
        const char *text = err_render(&comp, &comp.err);
        raise_error("InterpreterError", text ? text : comp.err.msg);
    }
    comp_done(&comp);
    return ok ? 0 : -1;
}
