/* interp_launch: a grid in the reference interpreter (TEGULA_INTERPRET).
 *
 * The variant has no code, only the frontend's tile IR as text, with the places of the source.
 * It is parsed at each launch: slow on purpose, like interp/interp.c itself. Every access is
 * checked against the tensors of the launch. Debuggers follow it line by line: stepping.c.
 */
#include "runtime/stepping.h"

#include <stdlib.h>

typedef struct Run {
    const Compiled *v;
    const Call *call;
    Session *session;
    EmuRegion region[MAX_NODES]; /* the memory of the tensors */
    int n_regions;
} Run;

/* InterpRun.begin. A text that somebody gave in the place of ours has no marks (stepping.c). */
static void
on_program(void *data, Interp *in)
{
    const Run *r = data;
    r->session->in = in;
}

/* InterpRun.access. Nobody knows how much memory there is behind a pointer that was itself
 * loaded: what lies in no tensor is allowed then, if it is memory. */
static bool
is_inside(void *data, uint64_t address, int bytes, bool is_write, const Op *o)
{
    const Run *r = data;
    for (int i = 0; i < r->n_regions; i++) {
        const EmuRegion *t = &r->region[i];
        if (address >= t->start && address + (uint64_t)bytes <= t->start + t->bytes) {
            record_access(address, bytes, is_write, o && o->loc ? o->loc->line : 0,
                          interp_program(r->session->in));
            return !(is_write && t->read_only);
        }
    }
    return (!r->n_regions || (o && ir_reaches_elsewhere(o))) &&
           page_is_there(address, (uint64_t)bytes);
}

/* Session.tell_access: of which argument, and where. */
static const char *
tell_access(const Session *s)
{
    const Run *r = s->data;
    const InterpFault *f = &s->fault;
    const int32_t *pid = interp_program(s->in);
    Arena *a = s->comp->arena;
    int param = op_is_access(f->op) || op_is_tile(f->op) ? ir_origin(arg(f->op, 0))
                                                         : -1;
    const EmuRegion *of = NULL;
    for (int i = 0; i < r->n_regions; i++)
        if (r->region[i].param == param)
            of = &r->region[i];
    const char *what = f->op->op == OP_LOAD ? "load"
                       : op_is_access(f->op) && f->op->op != OP_STORE
                           ? "atomic operation"
                       : f->is_write ? "store"
                                     : "load";
    const char *program = str_printf(a, "in program (%d, %d, %d)", pid[0], pid[1],
                                     pid[2]);
    if (!of)
        return str_printf(a, "%s of %d bytes at address 0x%llx, in no tensor, %s", what,
                          f->bytes, (unsigned long long)f->address, program);
    bool is_there = f->address >= of->start && f->address < of->start + of->bytes;
    char text[256];
    bounds_text(r->v, r->call, what, param, of->bytes, f->address, text, sizeof text);
    return str_printf(a, "%s%s, %s", text,
                      is_there && of->read_only ? ", which is read-only" : "", program);
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

/* v->externs, where the kernel calls functions of libraries: they alone are machine code. */
static int
load_externs(Compiled *v)
{
    const Stage *obj = binary_stage(&v->bin, "externs");
    char err[ERR_TEXT] = "";
    void *fn = NULL;
    if (!obj || v->jit)
        return 0;
    v->jit = jit_load(obj->data, obj->size, "tegula_externs", &fn, err);
    if (!v->jit)
        return PyErr_SetString(PyExc_RuntimeError, err), -1;
    v->externs = (void (*)(int32_t, int64_t, void *const *))fn;
    return 0;
}

int
interp_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    Run r = {.v = v, .call = c};
    Comp comp;
    Printed printed;
    if (launch_regions(v, c, r.region, &r.n_regions))
        return -1;
    Session *s = calloc(1, sizeof *s); /* session_run owns it */
    if (!s || !comp_init(&comp)) {
        free(s);
        return PyErr_NoMemory(), -1;
    }
    comp.source_line = source_line;
    if (load_externs(v) || printed_begin(&printed, false)) {
        free(s);
        comp_done(&comp);
        return -1;
    }
    InterpRun run = {.args = params,
                     .grid = {g->dim[0], g->dim[1], g->dim[2]},
                     .access = is_inside,
                     .begin = on_program,
                     .externs = v->externs,
                     .data = &r,
                     .out = printed.out};
    r.session = s;
    s->printed = &printed;
    s->kernel = (PyObject *)c->k;
    s->comp = &comp;
    s->run = &run;
    s->tell_access = tell_access;
    s->data = &r;
    s->text = binary_stage(&v->bin, "interp")->data;
    int ended = -1;
    if (call_has_moved(c))
        free(s);
    else
        ended = session_run(s);
    ended = printed_end(&printed, ended);
    comp_done(&comp);
    return ended;
}
