/* cuda_launch: a grid on a GPU, on the current stream of the framework that owns the tensors.
 *
 * Nothing here synchronises or allocates on the device, so a launch can be captured in a
 * CUDA graph. The GIL is let go around the driver's call: it blocks when a queue is full.
 */
#include "runtime/launch.h"

#include <stdlib.h>

enum { MAX_GRID_YZ = 65535 };

/* The driver, opened when it is first needed. NULL with an exception. */
Cuda *
cuda_of(State *st)
{
    char err[ERR_TEXT];
    if (st->cuda)
        return st->cuda;
    err[0] = 0; /* not all of it, at each launch */
    if (!(st->cuda = cuda_open(st->config.libcuda, err)))
        PyErr_SetString(PyExc_RuntimeError, err);
    return st->cuda;
}

Cuda *
cuda_if_any(State *st)
{
    char err[ERR_TEXT];
    if (!st->cuda && !st->lacks_cuda) {
        st->cuda = cuda_open(st->config.libcuda, err);
        st->lacks_cuda = !st->cuda;
    }
    return st->cuda;
}

/* Is driver.active CUDA's? 1, 0, or -1 with an exception. */
static int
is_cuda_active(State *st)
{
    if (st->active == DRIVER_UNKNOWN) {
        PyObject *mod = PyImport_ImportModule("tegula.compat.driver");
        PyObject *r = mod ? PyObject_CallMethod(mod, "is_cuda", NULL) : NULL;
        int truth = r ? PyObject_IsTrue(r) : -1;
        DROP(mod, r);
        if (truth < 0)
            return -1;
        st->active = truth ? DRIVER_CUDA : DRIVER_HOST;
    }
    return st->active == DRIVER_CUDA;
}

int
cuda_default_place(State *st, Place *out)
{
    int is_cuda = cuda_if_any(st) ? is_cuda_active(st) : 0;
    *out = is_cuda > 0 ? (Place){kDLCUDA, cuda_current_device(st->cuda)}
                       : (Place){0, 0};
    return is_cuda < 0 ? -1 : 0;
}

int
cuda_target(State *st, int device, Target *out)
{
    Cuda *cu = cuda_of(st);
    CudaDevice d;
    char err[ERR_TEXT];
    if (!cu)
        return -1;
    if (!cuda_device(cu, device, &d, err))
        return PyErr_SetString(PyExc_RuntimeError, err), -1;
    /* From 9.0 on, what is new in an architecture hides behind the "a". */
    *out = (Target){.kind = TARGET_CUDA, .sm = d.sm, .accelerated = d.sm >= 90};
    return 0;
}

/* Machine code runs on its own generation only, from its version on, and with an "a" on
 * that version alone. PTX for an older one is the driver's to compile. */
static bool
runs_on(const Target *t, int sm)
{
    return t->sm / 10 == sm / 10 && (t->accelerated ? t->sm == sm : t->sm <= sm);
}

/* Gives the code to the driver. 0, or -1 with an exception. */
static int
load_code(Compiled *v, Cuda *cu, int device, int sm)
{
    const Stage *code = NULL;
    if (runs_on(&v->bin.target, sm))
        code = binary_stage(&v->bin, "cubin");
    if (!code)
        code = binary_stage(&v->bin, "ptx");
    if (!code)
        return PyErr_SetString(PyExc_SystemError, "a variant without code"), -1;
    if (hooks_load(v, false))
        return -1;
    char err[ERR_TEXT] = "";
    void *library = NULL, *kernel = NULL;
    PyThreadState *thread = PyEval_SaveThread();
    bool ok = cuda_code(cu, device, code->data, v->bin.symbol, &library, &kernel, err);
    PyEval_RestoreThread(thread);
    if (!ok)
        return PyErr_Format(PyExc_RuntimeError, "%s(): %s", v->kernel->f->name, err),
               -1;
    if (v->library) { /* another thread was first */
        cuda_drop(cu, library);
        return 0;
    }
    v->cu_kernel = kernel;
    v->library = library;
    return hooks_load(v, true);
}

int
cuda_load(Compiled *v, int device)
{
    Cuda *cu = cuda_of(v->st);
    if (!cu)
        return -1;
    if (device < 0)
        device = cuda_current_device(cu);
    CudaDevice d;
    char err[ERR_TEXT] = "";
    if (!cuda_device(cu, device, &d, err))
        return PyErr_SetString(PyExc_RuntimeError, err), -1;
    if (!v->library && load_code(v, cu, device, d.sm))
        return -1;
    CudaNeeds needs = {.shared = v->bin.shared,
                       .num_ctas = v->bin.num_ctas,
                       .block_warps = v->bin.blocks == BLOCKS_IN_TURN ||
                                              v->bin.blocks == BLOCKS_IN_STRIPS
                                          ? v->bin.block_warps
                                          : 0};
    if (!cuda_prepare(cu, device, v->cu_kernel, &needs, err))
        return PyErr_Format(PyExc_RuntimeError, "%s(): %s", v->kernel->f->name, err),
               -1;
    if (needs.shared > needs.max_shared)
        return raise_out_of_resources(needs.shared, needs.max_shared, "shared memory"),
               -1;
    if (32 * v->bin.block_warps > needs.max_threads)
        return raise_out_of_resources(32 * v->bin.block_warps, needs.max_threads,
                                      "threads"),
               -1;
    if (v->bin.n_regs < 0)
        v->bin.n_regs = needs.n_regs;
    if (v->bin.n_spills < 0)
        v->bin.n_spills = needs.n_local;
    v->resident = needs.n_blocks;
    v->prepared |= UINT64_C(1) << device;
    return 0;
}

void
cuda_unload(Compiled *v)
{
    if (v->st->cuda && v->library)
        cuda_drop(v->st->cuda, v->library);
    v->library = NULL;
}

/* 0, or -1 with GridError: the driver would refuse it, with fewer words. */
static int
check_grid(const Compiled *v, const Grid *g)
{
    char text[ERR_TEXT];
    const int32_t *n = g->dim;
    if (n[1] > MAX_GRID_YZ || n[2] > MAX_GRID_YZ)
        snprintf(text, sizeof text,
                 "grid (%d, %d, %d): on CUDA the second and third side are at most %d",
                 n[0], n[1], n[2], MAX_GRID_YZ);
    else if ((int64_t)n[0] * v->bin.num_ctas > INT32_MAX)
        snprintf(text, sizeof text,
                 "grid (%d, %d, %d) in clusters of %d is more than CUDA takes", n[0],
                 n[1], n[2], v->bin.num_ctas);
    else
        return 0;
    return raise_error("GridError", text), -1;
}

/* ---- what a launch that goes on must keep ---------------------------------------------- */

/* The capsules of a launch, until its stream has come to the mark behind it. Looked at by every
 * launch on a GPU while there are any; the GIL guards the list. */
typedef struct Held {
    struct Held *next;
    void *event; /* NULL: the launch is in a graph, which may run again at any time */
    PyObject *capsules;
} Held;

static void
drop_passed(State *st, Cuda *cu)
{
    Held *passed = NULL;
    for (Held **at = &st->held; *at;) {
        Held *h = *at;
        if (!h->event || !cuda_has_passed(cu, h->event)) {
            at = &h->next;
            continue;
        }
        *at = h->next;
        h->next = passed;
        passed = h;
    }
    while (passed) { /* runs their destructors, which may launch */
        Held *next = passed->next;
        capsule_drop(passed->capsules);
        free(passed);
        passed = next;
    }
}

/* Moves the capsules of c, whose launch is on the stream, to the list. Out of memory they stay
 * for good: nobody can tell when they may go. */
static int
hold_capsules(State *st, Cuda *cu, Call *c, int device, void *stream)
{
    char err[ERR_TEXT] = "";
    Held *h = calloc(1, sizeof *h);
    PyObject *capsules = c->held;
    c->held = NULL;
    if (!h)
        return PyErr_NoMemory(), -1;
    *h = (Held){st->held, NULL, capsules};
    bool ok = cuda_mark(cu, device, stream, &h->event, err);
    st->held = h;
    return ok ? 0
              : (PyErr_Format(PyExc_RuntimeError, "%s(): %s", c->k->f->name, err), -1);
}

/* The grid of a persistent kernel: the blocks that the chip holds at a time, at most the programs,
 * which are fewer than 2^31 (a test of the launch's). */
static void
fill_chip(const Compiled *v, int device, const Grid *g, int32_t grid[3])
{
    CudaDevice d;
    char err[ERR_TEXT];
    int64_t programs = (int64_t)g->dim[0] * g->dim[1] * g->dim[2], resident = 1;
    if (cuda_device(v->st->cuda, device, &d, err))
        resident = (int64_t)MAX(v->resident, 1) * d.n_multiprocessors;
    resident -= resident > 1 && resident % 2; /* neighbours may be pairs */
    grid[0] = (int32_t)MIN(programs, resident);
    grid[1] = grid[2] = 1;
}

/* How many blocks a kernel whose last programs go by strips (passes/simt/strips.c) has along axis 0. The programs
 * behind whole rounds go by strips where these are one round at most. As neighbours may be pairs, so does the last one
 * of a number that would be odd. */
static int32_t
with_strips(const Compiled *v, int device, const Grid *g)
{
    CudaDevice d;
    char err[ERR_TEXT];
    int32_t n = g->dim[0], strips = v->bin.strips, round = 0, more = 0;
    if (g->dim[1] == 1 && g->dim[2] == 1 && cuda_device(v->st->cuda, device, &d, err))
        round = d.n_multiprocessors * MAX(v->resident, 1) & ~1;
    if (round)
        more = n % round;
    if (more > round / strips)
        more = 0;
    more += (n - more) % 2;
    return n + more * (strips - 1);
}

unsigned
cuda_grid_facts(Cuda *cu, int device, const Grid *g)
{
    enum { LONG = 16 };
    CudaDevice d;
    char err[ERR_TEXT];
    int64_t layer = (int64_t)g->dim[0] * g->dim[1],
            chip = cuda_device(cu, device, &d, err) ? d.n_multiprocessors : 0;
    bool is_long = g->dim[0] >= LONG && g->dim[0] < INT32_MAX;
    unsigned facts = layer <= chip / MAX(g->dim[2], 1) ? GRID_FEW : 0;
    for (unsigned fact = GRID_2, k = 2; fact <= GRID_16; fact <<= 1, k <<= 1)
        facts |= layer <= k * chip / MAX(g->dim[2], 1) ? fact : 0;
    facts |= layer <= chip / 8 / MAX(g->dim[2], 1) ? GRID_EIGHTH : 0;
    facts |= layer <= chip / 16 / MAX(g->dim[2], 1) ? GRID_SIXTEENTH : 0;
    bool is_row = g->dim[1] == 1 && g->dim[2] == 1 && layer <= INT32_MAX / 2;
    int64_t rest = chip ? layer % chip * g->dim[2] % chip : 0;
    if (rest)
        facts |= rest <= chip / 4 ? GRID_QUARTER : rest <= chip / 2 ? GRID_HALF : 0;
    return facts | (is_row ? GRID_ROW : 0) | (g->dim[0] % 2 ? 0 : GRID_EVEN) |
           (is_long ? GRID_LONG : 0);
}

Compiled *
cuda_for_grid(Compiled *v, Call *c, const Grid *g)
{
    Cuda *cu = cuda_of(v->st);
    if (!cu)
        return NULL;
    if (!g->dim[0] || !g->dim[1] || !g->dim[2]) /* runs nothing */
        return v;
    bool has_device = c->place.type == kDLCUDA;
    int device = has_device ? c->place.index : cuda_current_device(cu);
    c->grid_facts = cuda_grid_facts(cu, device, g);
    return binary_is_for(&v->bin, c->grid_facts) ? v
                                                 : cache_otherwise(v, c, v->no_maps);
}

/* The launch, whose arguments fit no tensor map, by code without. */
static int
launch_otherwise(Compiled *v, Call *c, const Grid *g)
{
    uint64_t params[MAX_NODES];
    Compiled *w = cache_otherwise(v, c, true);
    if (!w)
        return PyErr_Occurred() ? -1 : 0; /* a hook forbade the compile */
    for (int i = 0; i < w->bin.n_params; i++)
        params[i] = c->bits[w->node[i]];
    Py_INCREF((PyObject *)w);
    int r = cuda_launch(w, c, params, g);
    Py_DECREF((PyObject *)w);
    return r;
}

static MapsMade
make_maps(Compiled *v, const Call *c, const uint64_t *params, const Grid *g,
          unsigned char (*out)[TENSOR_MAP_BYTES], char err[ERR_TEXT])
{
    Span spans[MAX_NODES];
    for (int i = 0; i < v->bin.n_params; i++)
        spans[i] = v->bin.params[i].is_ptr ? c->span[v->node[i]] : (Span){0, 0};
    if (maps_kept(v->maps, &v->bin, params, spans, g->dim, out))
        return MAPS_MADE;
    MapsMade made = maps_make(v->st->cuda, &v->bin, params, spans, g->dim, out, err);
    if (made == MAPS_MADE)
        maps_keep(&v->maps, &v->bin, params, spans, g->dim, out);
    return made;
}

/* The device that c runs on: its tensors', else the current one. -1: an exception. */
static int
device_of(State *st, const Call *c)
{
    if (c->place.type == kDLCUDA)
        return c->place.index;
    Cuda *cu = cuda_of(st); /* no tensors, or managed ones */
    return cu ? cuda_current_device(cu) : -1;
}

/* The caller's stream, which then waits for what other streams do to its tensors. */
static int
stream_of(State *st, Call *c, void **stream)
{
    bool is_asked = !c->stream && c->api && c->api->current_work_stream;
    if (is_asked ? c->api->current_work_stream(kDLCUDA, c->place.index, stream)
                 : tensor_stream(st, c, stream))
        return -1;
    return c->held && tensors_wait(st, c, *stream) ? -1 : 0;
}

typedef unsigned char TensorMap[TENSOR_MAP_BYTES];

/* Pointers to all parameters of the code, as the driver wants them. */
static void
point_to(const Compiled *v, const uint64_t *params, TensorMap *maps, const Grid *g,
         void **to)
{
    /* PTX from a file may have more parameters than the kernel: override.c. */
    static const uint64_t none = 0;
    for (int i = 0; i < v->bin.n_params; i++)
        *to++ = (void *)&params[i];
    for (int i = 0; i < v->bin.n_maps; i++)
        *to++ = maps[i];
    for (int i = 0; i < GRID_PARAMS && v->bin.blocks; i++)
        *to++ = (void *)&g->dim[i];
    for (int i = 0; i < MAX_SCRATCH_PARAMS; i++)
        *to++ = (void *)&none;
}

int
cuda_launch(Compiled *v, Call *c, const uint64_t *params, const Grid *g)
{
    State *st = v->st;
    int device = device_of(st, c);
    bool is_new = device >= 0 && !(v->prepared >> device & 1);
    if (device < 0 || (is_new && (call_leave(c) || cuda_load(v, device))) ||
        check_grid(v, g))
        return -1;
    void *stream = NULL;
    if (stream_of(st, c, &stream) || call_has_moved(c))
        return -1;
    void *pointers[MAX_NODES + MAX_MAPS + GRID_PARAMS + MAX_SCRATCH_PARAMS];
    _Alignas(64) TensorMap maps[MAX_MAPS];
    point_to(v, params, maps, g, pointers);
    char err[ERR_TEXT];
    MapsMade made = v->bin.n_maps ? make_maps(v, c, params, g, maps, err) : MAPS_MADE;
    if (made == MAPS_UNFIT)
        return launch_otherwise(v, c, g);
    if (made == MAPS_FAILED)
        return PyErr_Format(PyExc_RuntimeError, "%s(): %s", c->k->f->name, err), -1;
    CudaStart start = {
        .grid = {g->dim[0], g->dim[1], g->dim[2]},
        .block_warps = v->bin.block_warps,
        .num_ctas = v->bin.num_ctas,
        .shared = v->bin.shared,
        .pdl = c->opt.flags & OPT_PDL,
        .cooperative = c->opt.flags & OPT_COOPERATIVE,
        .stream = stream,
        .params = pointers,
    };
    if (v->bin.blocks == BLOCKS_IN_TURN)
        fill_chip(v, device, g, start.grid);
    else if (v->bin.blocks == BLOCKS_EVEN)
        start.grid[0] += start.grid[0] % 2;
    else if (v->bin.blocks == BLOCKS_IN_STRIPS)
        start.grid[0] = with_strips(v, device, g);
    PyThreadState *thread = PyEval_SaveThread();
    bool ok = cuda_start(st->cuda, device, v->cu_kernel, &start, err);
    PyEval_RestoreThread(thread);
    if (!ok)
        return PyErr_Format(PyExc_RuntimeError, "%s(): %s", c->k->f->name, err), -1;
    if (c->held && hold_capsules(st, st->cuda, c, device, stream))
        return -1;
    if (st->held)
        drop_passed(st, st->cuda);
    return 0;
}
