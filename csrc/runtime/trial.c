/* trial: the first launch of new code on a CPU checks bounds, and so do some with smaller tensors.
 *
 *     compile     the code, and with it the frontend's tile IR as text: TRIAL_STAGE
 *     launch 1    that text once more, as code that checks every access; it runs
 *                     a stray store, a stray load where no memory is    OutOfBoundsError
 *                     another stray load                                a warning, once a kernel; the
 *                                                                       disk gets the code
 *                     nothing                                           the disk gets the code, with
 *                                                                       the bytes of each tensor
 *     launch 2    the code; or, where a tensor is smaller than any that was tried, as launch 1
 *
 * So a forgotten mask is an error with its line, and not the end of the process some time
 * later; and what is launched again and again is as fast as ever. A stray load is no error,
 * because libraries read past their ends, and use nothing of it.
 *
 * A kernel without a mask is right as long as its tensors are whole blocks: that is why a smaller one
 * is looked at. A process does so SMALLER_LAUNCHES times a variant, so that sizes which go down
 * step by step do not cost a trial each.
 *
 * Code from the disk was tried by whoever wrote it, and says how small its tensors were. What was compiled
 * without a launch (warmup) says nothing, and whoever launches it first tries it. So it is with what strays: whose
 * program runs again may have missed the warning, and gets it again.
 *
 * A launch whose number is 0, as the length of an empty array, may have met no access: what it
 * runs stays on trial for up to EMPTY_LAUNCHES such launches of the process. The disk has the
 * code by then, since a number may be 0 in all launches there are.
 *
 * Both codes are of one text, so the questions of the variant are those of the code that stays.
 * Other grids and larger numbers than those of the first launch are not looked at: TEGULA_CHECK_BOUNDS=1 is for that.
 */
#include "codegen/host/calls.h"
#include "runtime/aside.h"
#include "runtime/launch.h"

#include <stdlib.h>

enum { EMPTY_LAUNCHES = 8, SMALLER_LAUNCHES = 8 };

typedef struct Trial {
    Binary bin; /* that checks */
    HostCode code;
    DiskKey disk;    /* where the code goes that has passed */
    int n_running;   /* launches in it: threads */
    int n_compiling; /* of those, in compile(): they read the stage */
    int n_empty;     /* launches that may have met no access */
    int n_passed;    /* launches without fault */
    bool is_over, has_strayed;
} Trial;

bool
trial_is_due(const Config *config, const Options *o)
{
    return config->check_first && o->target.kind == TARGET_CPU && !o->check_bounds &&
           !o->interpret;
}

int
trial_begin(Compiled *v, const DiskKey *disk)
{
    if (!binary_stage(&v->bin, TRIAL_STAGE) || !v->st->config.check_first)
        return 1;
    v->trial = calloc(1, sizeof *v->trial);
    if (!v->trial)
        return PyErr_NoMemory(), -1;
    v->has_passed = v->bin.n_tried > 0;
    v->trial->disk = *disk;
    v->trial->disk.dir = disk->dir ? strdup(disk->dir) : NULL;
    return 1;
}

static void
drop_trial(Trial *t)
{
    if (t->code.jit)
        jit_unload(t->code.jit);
    binary_free(&t->bin);
    disk_key_done(&t->disk);
    free(t);
}

void
trial_free(Compiled *v)
{
    if (v->trial)
        drop_trial(v->trial);
    v->trial = NULL;
}

/* The code that checks. 0, or -1 with an exception. */
static int
compile(Compiled *v, const Call *c, Trial *t)
{
    const Stage *s = binary_stage(&v->bin, TRIAL_STAGE), *obj;
    char err[ERR_TEXT] = "";
    void *fn = NULL;
    Comp comp;
    Binary bin = {0};
    if (!comp_init(&comp))
        return PyErr_NoMemory(), -1;
    comp.opt = cache_options(v);
    comp.opt.check_bounds = true;
    comp.kernel = v->kernel->f->name;
    comp.symbol = v->symbol;
    comp.option_texts = call_option_texts(c);
    t->n_compiling++;
    bool ok = compile_text(&comp, s->data, aside_run, &bin);
    t->n_compiling--;
    if (!ok)
        raise_compile_error(v->st, &comp);
    comp_done(&comp);
    if (t->code.jit) { /* another thread was first */
        binary_free(&bin);
        return ok ? 0 : -1;
    }
    t->bin = bin;
    obj = ok ? binary_stage(&bin, "obj") : NULL;
    if (!obj)
        return -1;
    t->code.jit = jit_load(obj->data, obj->size, bin.symbol, &fn, err);
    if (!t->code.jit)
        return raise_error("TegulaError", err), -1;
    t->code.host = (HostKernel *)fn;
    t->code.scratch = bin.scratch;
    t->code.stack = bin.stack;
    v->was_tried = true;
    return 0;
}

/* Of the stray load. 0, or -1 with an exception: warnings may be errors. */
static int
warn(Compiled *v, const Call *c, const HostStray *s)
{
    char text[512];
    if (v->kernel->has_warned)
        return 0;
    v->kernel->has_warned = true;
    bounds_text(v, c, "load", s->note.param, s->noted_in, s->noted_at, text,
                sizeof text);
    return PyErr_WarnFormat(PyExc_UserWarning, 1,
                            "%s:%d: %s in program (%d, %d, %d) of %s(): a mask may be "
                            "missing. TEGULA_CHECK_BOUNDS=1 makes it an error",
                            s->note.file, s->note.line, text, s->note.pid[0],
                            s->note.pid[1], s->note.pid[2], v->kernel->f->name);
}

/* k[4, 128], as in CUDA, makes 128 programs do the same where a kernel does not ask for axis 1.
 * What is added up, printed or done by assembly may be meant. 0, or -1 with an exception. */
static int
warn_same(const Compiled *v, const Grid *g)
{
    static const char *const meant[] = {"atomic", "print", "asm"};
    const char *tir = (const char *)binary_stage(&v->bin, TRIAL_STAGE)->data;
    for (size_t i = 0; i < COUNT(meant); i++)
        if (strstr(tir, meant[i]))
            return 0;
    for (int axis = 0; axis < 3 && strstr(tir, "store "); axis++) {
        char asks[] = "program_id {axis=0";
        asks[sizeof asks - 2] = (char)('0' + axis);
        if (g->dim[axis] > 1 && !strstr(tir, asks))
            return PyErr_WarnFormat(
                PyExc_UserWarning, 1,
                "%d programs do the same: the grid has axis %d, and %s() does not ask "
                "for tl.program_id(%d)%s",
                (int)g->dim[axis], axis, v->kernel->f->name, axis,
                axis ? "; the threads of one are num_warps=" : "");
    }
    return 0;
}

static bool
may_be_empty(const Compiled *v, const uint64_t *params)
{
    for (int i = 0; i < v->bin.n_params; i++)
        if (!v->bin.params[i].is_ptr && !params[i])
            return true;
    return false;
}

/* Room for how small tensors were, of which none was tried. False: no memory, or no tensors. */
static bool
make_tried(Compiled *v)
{
    Binary *b = &v->bin;
    int n = 0;
    for (int i = 0; i < b->n_params; i++)
        n += b->params[i].is_ptr;
    b->tried = n ? calloc((size_t)n, sizeof *b->tried) : NULL;
    for (int i = 0; b->tried && i < b->n_params; i++)
        if (b->params[i].is_ptr)
            b->tried[b->n_tried++] = (Tried){.bytes = UINT64_MAX, .node = v->node[i]};
    return b->tried;
}

/* Addresses in integers and capsules are not judged. */
static bool
is_judged(const Compiled *v, const Call *c)
{
    for (int i = 0; i < v->bin.n_tried; i++) {
        PyObject *x = c->value[v->bin.tried[i].node];
        if (x && PyLong_Check(x))
            return false;
    }
    return !c->held;
}

/* Notes the tensors of a launch. Is any smaller than those before? */
static bool
note_sizes(Compiled *v, const Call *c)
{
    bool is_smaller = false;
    for (int i = 0; is_judged(v, c) && i < v->bin.n_tried; i++) {
        Tried *t = &v->bin.tried[i];
        const Span *s = &c->span[t->node];
        uint64_t bytes = s->high - s->low;
        is_smaller |= bytes ? bytes < t->bytes : !t->is_empty;
        t->is_empty |= !bytes;
        t->bytes = bytes ? MIN(bytes, t->bytes) : t->bytes;
    }
    return is_smaller;
}

static void
keep(const Compiled *v, const Trial *t)
{
    if (t->disk.dir)
        disk_store(&v->st->config, &t->disk, v->kernel->f->name, &v->bin);
}

/* The code has run without fault: it may stay. */
static void
pass(Compiled *v, const Call *c, Trial *t, const uint64_t *params)
{
    bool may_have_met_none = may_be_empty(v, params) && ++t->n_empty < EMPTY_LAUNCHES,
         is_first = !t->n_passed++ && !v->has_passed;
    if (is_first && t->has_strayed)
        keep(v, t); /* as what nobody has tried */
    bool has_tensors = v->bin.n_tried || make_tried(v),
         is_news = (!may_have_met_none && note_sizes(v, c)) || is_first,
         is_over = !may_have_met_none &&
                   (!has_tensors || t->n_passed > SMALLER_LAUNCHES);
    v->has_passed |= !may_have_met_none;
    if (!has_tensors)
        binary_remove(&v->bin, TRIAL_STAGE);
    if (is_news && !t->has_strayed)
        keep(v, t);
    if (!is_over)
        return;
    binary_remove(&v->bin, TRIAL_STAGE);
    t->is_over = true;
    v->trial = NULL;
}

int
trial_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    Trial *t = v->trial;
    HostStray stray = {.loads_are_fine = true};
    if (!t) /* over, by what Python has done since it was on */
        return host_launch(v, c, params, g);
    t->n_running++; /* under the GIL, as all here but the run */
    int r = t->n_passed || v->has_passed ? 0 : warn_same(v, g);
    /* Whoever listens to loads is told ahead of the first launch, though another code runs in it. */
    if (!r && !v->host && v->st->load_hook != Py_None)
        r = host_load(v);
    if (!r && !t->code.jit)
        r = compile(v, c, t);
    if (!r)
        r = host_run(v, c, &t->code, params, g, &stray);
    if (!r && stray.is_noted && stray.note.param >= 0)
        r = warn(v, c, &stray);
    t->has_strayed |= stray.is_noted;
    if (!r && !t->is_over && !t->n_compiling)
        pass(v, c, t, params);
    if (!--t->n_running && t->is_over)
        drop_trial(t);
    return r;
}
