/* interp_launch: a grid in the reference interpreter (TEGULA_INTERPRET).
 *
 * The variant has no code, only the frontend's tile IR as text, with the places of the source.
 * It is parsed at each launch: slow on purpose, like ir/interp.c itself. Every access is
 * checked against the tensors of the launch.
 */
#include "runtime/launch.h"

typedef struct Run {
    const Compiled *v;
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
        .run = {.args = params,
                .grid = {g->dim[0], g->dim[1], g->dim[2]},
                .access = is_inside,
                .data = &r},
        .region = region,
        .n_regions = n_regions,
    };
    PyThreadState *thread = PyEval_SaveThread();
    bool ok = comp_run(&comp, interpret, &r);
    PyEval_RestoreThread(thread);
    if (!ok && comp.err.code == ERR_MEMORY) {
        PyErr_NoMemory();
    } else if (!ok) {
        const char *text = err_render(&comp, &comp.err);
        raise_error("InterpreterError", text ? text : comp.err.msg);
    }
    comp_done(&comp);
    return ok ? 0 : -1;
}
