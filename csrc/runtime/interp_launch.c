/* interp_launch: a grid in the reference interpreter (TEGULA_INTERPRET).
 *
 * The variant has no code, only the frontend's tile IR as text, with the places of the source.
 * It is parsed at each launch: slow on purpose, like ir/interp.c itself. Every access is
 * checked against the tensors of the launch. Debuggers follow it line by line: stepping.c.
 */
#include "runtime/stepping.h"

#include <stdlib.h>

typedef struct Run {
    EmuRegion region[MAX_ARGS]; /* the memory of the tensors */
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

int
interp_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    Run r = {.n_regions = 0};
    Comp comp;
    if (v->bin.n_params > MAX_ARGS)
        return PyErr_SetString(PyExc_ValueError, "too many parameters to interpret"),
               -1;
    if (launch_regions(v, c, r.region, &r.n_regions))
        return -1;
    Session *s = calloc(1, sizeof *s); /* session_run owns it */
    if (!s || !comp_init(&comp)) {
        free(s);
        return PyErr_NoMemory(), -1;
    }
    comp.source_line = source_line;
    InterpRun run = {.args = params,
                     .grid = {g->dim[0], g->dim[1], g->dim[2]},
                     .access = is_inside,
                     .data = &r};
    s->kernel = (PyObject *)c->k;
    s->comp = &comp;
    s->run = &run;
    s->text = binary_stage(&v->bin, "interp")->data;
    int ended = session_run(s);
    comp_done(&comp);
    return ended;
}
