/* driver: libcuda's entry points (runtime/driver.def lists them), as much of each as our
 * run time asks for, with the simulator behind.
 *
 * There is a device for each architecture; device memory is the host's, made known by
 * ptxsim_register. A launch runs before it returns. An error of a kernel has the CUDA
 * number a GPU would give; cuGetErrorString says where it was, and unlike a GPU's
 * the context lives on.
 */
#include "ptx/tmap.h"
#include "tools/ptxsim/ptxsim.h"

#include <cuda.h>
#include <pthread.h>

static const struct {
    int sm, max_shared;
} devices[] = {{80, 163 << 10}, {90, 227 << 10},  {75, 64 << 10},
               {89, 99 << 10},  {100, 227 << 10}, {120, 99 << 10}};
enum { N_DEVICES = sizeof devices / sizeof *devices, PLAIN = 48 << 10 };

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local CUcontext current;
static _Thread_local char last_text[PTX_TEXT]; /* of the last launch that failed */
static _Thread_local int last_error;

/* ---- beside CUDA's --------------------------------------------------------------- */

SIM_EXPORT int ptxsim_register(const void *p, size_t n);
SIM_EXPORT int ptxsim_unregister(const void *p);
SIM_EXPORT const char *ptxsim_error(void);
SIM_EXPORT int ptxsim_keep(uint32_t blocks);
SIM_EXPORT int ptxsim_again(int launch, const char *ptx, uint64_t seed);

/* n bytes at p are device memory: kernels may read and write them. */
int
ptxsim_register(const void *p, size_t n)
{
    pthread_mutex_lock(&one_at_a_time);
    bool ok = region_add(p, n);
    pthread_mutex_unlock(&one_at_a_time);
    return ok;
}

int
ptxsim_unregister(const void *p)
{
    pthread_mutex_lock(&one_at_a_time);
    bool ok = region_remove(p);
    pthread_mutex_unlock(&one_at_a_time);
    return ok;
}

/* What the last failure of this thread was. */
const char *
ptxsim_error(void)
{
    return last_text;
}

/* ---- devices --------------------------------------------------------------------- */

SIM_EXPORT CUresult
cuInit(unsigned flags)
{
    (void)flags;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuDriverGetVersion(int *version)
{
    *version = 13010;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuGetErrorName(CUresult e, const char **text)
{
    static const struct {
        CUresult e;
        const char *name;
    } rows[] = {
#define ROW(x) {x, #x}
        ROW(CUDA_SUCCESS),
        ROW(CUDA_ERROR_INVALID_VALUE),
        ROW(CUDA_ERROR_OUT_OF_MEMORY),
        ROW(CUDA_ERROR_INVALID_DEVICE),
        ROW(CUDA_ERROR_NO_BINARY_FOR_GPU),
        ROW(CUDA_ERROR_INVALID_PTX),
        ROW(CUDA_ERROR_NOT_FOUND),
        ROW(CUDA_ERROR_ILLEGAL_ADDRESS),
        ROW(CUDA_ERROR_MISALIGNED_ADDRESS),
        ROW(CUDA_ERROR_LAUNCH_TIMEOUT),
        ROW(CUDA_ERROR_ASSERT),
        ROW(CUDA_ERROR_LAUNCH_FAILED),
        ROW(CUDA_ERROR_INVALID_CONTEXT),
#undef ROW
    };
    *text = "CUDA_ERROR_UNKNOWN";
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (rows[k].e == e)
            *text = rows[k].name;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuGetErrorString(CUresult e, const char **text)
{
    *text = (int)e == last_error && last_text[0] ? last_text : "ptxsim refuses";
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuDeviceGetCount(int *count)
{
    *count = N_DEVICES;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = ordinal;
    return ordinal < 0 || ordinal >= N_DEVICES ? CUDA_ERROR_INVALID_DEVICE
                                               : CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuDeviceGetName(char *name, int len, CUdevice device)
{
    snprintf(name, (size_t)len, "PTX simulator, sm_%d", devices[device].sm);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice device)
{
    if (device < 0 || device >= N_DEVICES)
        return CUDA_ERROR_INVALID_DEVICE;
    switch (a) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        *value = devices[device].sm / 10;
        break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        *value = devices[device].sm % 10;
        break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
        *value = devices[device].max_shared;
        break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 16; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* A context is its device. */
SIM_EXPORT CUresult
cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = (CUcontext)(uintptr_t)(0x1000 + device);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuCtxSetCurrent(CUcontext context)
{
    current = context;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuCtxGetDevice(CUdevice *device)
{
    *device = current ? (CUdevice)((uintptr_t)current - 0x1000) : 0;
    return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- events: a launch is over when the call returns -------------------------------- */

SIM_EXPORT CUresult
cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    static _Thread_local CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUstreamCaptureMode was = now;
    now = *mode;
    *mode = was;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (CUevent)(uintptr_t)0x6000;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuEventRecord(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuEventQuery(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuEventDestroy_v2(CUevent event)
{
    (void)event;
    return CUDA_SUCCESS;
}

/* ---- code ------------------------------------------------------------------------ */

static CUresult
refuse(CUresult e, const char *text)
{
    snprintf(last_text, sizeof last_text, "%s", text);
    last_error = e;
    return e;
}

static void
register_globals(const Module *m, bool is_new)
{
    for (int k = 0; k < m->n_globals; k++) {
        const void *p = (const void *)(uintptr_t)m->globals[k]->offset;
        if (is_new)
            region_add(p, m->globals[k]->size);
        else
            region_remove(p);
    }
}

SIM_EXPORT CUresult
cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
                  void **jit_values, unsigned n_jit, CUlibraryOption *options,
                  void **values, unsigned n)
{
    char why[PTX_TEXT] = "", err[PTX_TEXT];
    (void)options, (void)values, (void)n;
    if (!memcmp(code, "\177ELF", 4))
        return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                      "ptxsim takes PTX, not machine code (TEGULA_PTXAS=none)");
    pthread_mutex_lock(&one_at_a_time);
    Module *m = module_parse(code, why);
    if (m)
        register_globals(m, true);
    pthread_mutex_unlock(&one_at_a_time);
    *library = (CUlibrary)m;
    if (m)
        return CUDA_SUCCESS;
    snprintf(err, sizeof err, "ptxsim: %.1000s", why);
    for (unsigned k = 0; k + 1 < n_jit; k++)
        if (jit[k] == CU_JIT_ERROR_LOG_BUFFER &&
            jit[k + 1] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            snprintf(jit_values[k], (size_t)(uintptr_t)jit_values[k + 1], "%s", err);
    return refuse(CUDA_ERROR_INVALID_PTX, err);
}

SIM_EXPORT CUresult
cuLibraryUnload(CUlibrary library)
{
    pthread_mutex_lock(&one_at_a_time);
    register_globals((Module *)library, false);
    module_free((Module *)library);
    pthread_mutex_unlock(&one_at_a_time);
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    Func *f = module_kernel((Module *)library, name);
    *kernel = (CUkernel)f;
    return f ? CUDA_SUCCESS : refuse(CUDA_ERROR_NOT_FOUND, name);
}

SIM_EXPORT CUresult
cuKernelGetAttribute(int *value, CUfunction_attribute a, CUkernel kernel,
                     CUdevice device)
{
    const Func *f = (const Func *)kernel;
    (void)device;
    switch (a) {
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = f->max_regs ? f->max_regs : 32; break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)f->local_bytes; break;
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)kernel_shared_bytes(f);
        break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuKernelSetAttribute(CUfunction_attribute a, int value, CUkernel kernel,
                     CUdevice device)
{
    Func *f = (Func *)kernel;
    if (a != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return CUDA_SUCCESS;
    if (value + (int)kernel_shared_bytes(f) > devices[device].max_shared)
        return refuse(CUDA_ERROR_INVALID_VALUE, "more shared memory than there is");
    f->max_dynamic = value;
    return CUDA_SUCCESS;
}

/* ---- modules: the same by their older names; and what programs ask beside launches ------ */

SIM_EXPORT CUresult
cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
    *f = (CUfunction)kernel;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuModuleLoadData(CUmodule *module, const void *code)
{
    return cuLibraryLoadData((CUlibrary *)module, code, NULL, NULL, 0, NULL, NULL, 0);
}

SIM_EXPORT CUresult
cuModuleUnload(CUmodule module)
{
    return cuLibraryUnload((CUlibrary)module);
}

SIM_EXPORT CUresult
cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
    return cuLibraryGetKernel((CUkernel *)f, (CUlibrary)module, name);
}

SIM_EXPORT CUresult
cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f)
{
    return cuKernelGetAttribute(value, a, (CUkernel)f, 0);
}

SIM_EXPORT CUresult
cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value)
{
    CUdevice device = 0;
    cuCtxGetDevice(&device);
    return cuKernelSetAttribute(a, value, (CUkernel)f, device);
}

SIM_EXPORT CUresult
cuPointerGetAttribute(void *value, CUpointer_attribute a, CUdeviceptr p)
{
    pthread_mutex_lock(&one_at_a_time);
    bool is_there = region_has((const void *)(uintptr_t)p, 1);
    pthread_mutex_unlock(&one_at_a_time);
    if (!is_there)
        return CUDA_ERROR_INVALID_VALUE; /* as the driver: no text, nothing failed */
    switch ((int)a) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)value = p;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return cuCtxGetDevice(value);
    default: return refuse(CUDA_ERROR_NOT_SUPPORTED, "an attribute of memory");
    }
}

SIM_EXPORT CUresult
cuCtxGetLimit(size_t *value, CUlimit limit)
{
    (void)value, (void)limit;
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "a simulated GPU has no such limits");
}

SIM_EXPORT CUresult
cuCtxSetLimit(CUlimit limit, size_t value)
{
    (void)value, (void)limit;
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "a simulated GPU has no such limits");
}

SIM_EXPORT CUresult
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int threads,
                                            size_t shared)
{
    (void)f, (void)threads, (void)shared;
    *n = 1;
    return CUDA_SUCCESS;
}

SIM_EXPORT CUresult
cuOccupancyMaxActiveClusters(int *n, CUfunction f, const CUlaunchConfig *config)
{
    (void)n, (void)f, (void)config;
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "one cluster after the other is simulated");
}

SIM_EXPORT CUresult
cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                       void *address, const cuuint64_t *sides,
                       const cuuint64_t *strides, const cuuint32_t *box,
                       const cuuint32_t *steps, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill)
{
    (void)promotion;
    const char *why = tmap_encode((Tmap *)map, (int)type, (int)rank, address, sides,
                                  strides, box, steps, (int)interleave, (int)swizzle,
                                  (int)fill);
    return why ? refuse(CUDA_ERROR_INVALID_VALUE, why) : CUDA_SUCCESS;
}

/* ---- launches -------------------------------------------------------------------- */

static bool
shape_of(const CUlaunchConfig *c, const Func *f, Launch *l)
{
    const unsigned grid[3] = {c->gridDimX, c->gridDimY, c->gridDimZ};
    const unsigned block[3] = {c->blockDimX, c->blockDimY, c->blockDimZ};
    unsigned cluster[3] = {1, 1, 1};
    for (int d = 0; d < 3 && f->cluster[0]; d++)
        cluster[d] = (unsigned)f->cluster[d];
    for (unsigned k = 0; k < c->numAttrs; k++)
        if (c->attrs[k].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            cluster[0] = c->attrs[k].value.clusterDim.x;
            cluster[1] = c->attrs[k].value.clusterDim.y;
            cluster[2] = c->attrs[k].value.clusterDim.z;
        }
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    bool ok = threads > 0 && threads <= LANES * MAX_WARPS;
    for (int d = 0; d < 3; d++) {
        ok &= grid[d] > 0 && cluster[d] > 0 && grid[d] % cluster[d] == 0;
        ok &= !f->reqntid[0] || block[d] == (unsigned)f->reqntid[d];
        ok &= !f->cluster[0] || cluster[d] == (unsigned)f->cluster[d];
        l->grid[d] = (int)grid[d];
        l->block[d] = (int)block[d];
        l->cluster[d] = (int)cluster[d];
    }
    return ok;
}

static bool
has_region(const Launch *l, const Ins *i, const void *p, size_t n)
{
    (void)l, (void)i;
    return region_has(p, n);
}

static void
note_run(const Launch *l, const Ins *i, uint32_t m)
{
    count_run(l->data, i, m);
}

static void
note_access(const Launch *l, const Ins *i, uint32_t m, Space space,
            const uint64_t address[LANES], int bytes, bool is_store)
{
    (void)is_store;
    count_access(l->data, i, m, space, address, bytes);
}

static void
print(const Launch *l, const char *text)
{
    (void)l;
    fputs(text, stdout);
    fflush(stdout);
}

/* As a GPU's driver does. */
static void
print_assertion(const Launch *l)
{
    const EngineReport *r = &l->report;
    const int *side = l->block;
    int tid = LANES * r->warp + r->lane;
    fprintf(stderr,
            "%s:%d: %s: block: [%d,%d,%d], thread: [%d,%d,%d] Assertion `%s` failed.\n",
            r->file, r->line, r->function, r->block[0], r->block[1], r->block[2],
            tid % side[0], tid / side[0] % side[1], tid / side[0] / side[1], r->text);
    fflush(stderr);
}

static const EngineHooks plain = {.has = has_region, .print = print};
static const EngineHooks counting = {
    .has = has_region, .print = print, .run = note_run, .access = note_access};

/* What ended a launch, as the number that a GPU would give and a text with the place. */
static CUresult
refuse_report(const Launch *l)
{
    static const CUresult error_of[] = {
        [FAULT_INVALID] = CUDA_ERROR_INVALID_VALUE,
        [FAULT_ADDRESS] = CUDA_ERROR_ILLEGAL_ADDRESS,
        [FAULT_MISALIGNED] = CUDA_ERROR_MISALIGNED_ADDRESS,
        [FAULT_READ_ONLY] = CUDA_ERROR_ILLEGAL_ADDRESS,
        [FAULT_UNWRITTEN] = CUDA_ERROR_INVALID_VALUE,
        [FAULT_RACE] = CUDA_ERROR_LAUNCH_FAILED,
        [FAULT_TRAP] = CUDA_ERROR_LAUNCH_FAILED,
        [FAULT_BARRIER] = CUDA_ERROR_LAUNCH_FAILED,
        [FAULT_TIMEOUT] = CUDA_ERROR_LAUNCH_TIMEOUT,
        [FAULT_ASSERT] = CUDA_ERROR_ASSERT,
        [FAULT_MEMORY] = CUDA_ERROR_OUT_OF_MEMORY,
    };
    const EngineReport *r = &l->report;
    const Ins *i = r->ins;
    char text[PTX_TEXT], source[256] = "", asserted[256] = "";
    if (r->fault == FAULT_ASSERT) {
        print_assertion(l);
        snprintf(asserted, sizeof asserted, "%s:%d: %s: ", r->file, r->line,
                 r->function);
    }
    if (!i)
        return refuse(error_of[r->fault], r->text);
    const char *file = i->file > 0 && i->file < 64 ? l->f->mod->files[i->file] : NULL;
    if (file)
        snprintf(source, sizeof source, " (%s:%d)", file, i->src);
    snprintf(
        text, sizeof text,
        "%s%.640s; %s at line %d of the PTX%s, in %s(), block (%d, %d, %d), warp %d, "
        "lane %d",
        asserted, r->text, i->words, i->line, source, l->f->name, r->block[0],
        r->block[1], r->block[2], r->warp, r->lane);
    return refuse(error_of[r->fault], text);
}

/* Launches that may be done again: the last, and those before it that were kept. */
typedef struct Kept {
    Launch shape;
    uint8_t *params; /* malloc'ed; NULL: there was no launch */
    uint32_t n_params;
    char name[256];
} Kept;
static struct Last {
    Kept last, *row;
    int n;
} kept;

static void
keep_last(const Launch *l)
{
    uint32_t n = l->f->param_bytes;
    free(kept.last.params);
    if (!(kept.last.params = malloc(n + 1u)))
        return;
    memcpy(kept.last.params, l->params, n);
    kept.last.n_params = n;
    kept.last.shape = *l;
    snprintf(kept.last.name, sizeof kept.last.name, "%s", l->f->name);
}

/* The number of the last launch, for ptxsim_again; -1: there is none. blocks: how many along axis 0 of the
 * grid it is done again with, which kernels whose blocks run programs in turn leave open; 0: as many. */
int
ptxsim_keep(uint32_t blocks)
{
    pthread_mutex_lock(&one_at_a_time);
    int n = kept.n;
    Kept *more = kept.last.params ? realloc(kept.row, (size_t)(n + 1) * sizeof *more)
                                  : NULL;
    if (more) {
        kept.row = more;
        if (blocks)
            kept.last.shape.grid[0] = blocks;
        kept.row[kept.n++] = kept.last;
        kept.last.params = NULL;
    }
    pthread_mutex_unlock(&one_at_a_time);
    return more ? n : -1;
}

SIM_EXPORT CUresult
cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                 void **extra)
{
    const Func *f = (const Func *)function;
    const Module *m = f->mod;
    CUdevice device = 0;
    (void)extra;
    cuCtxGetDevice(&device);
    Launch l = {.f = f, .hooks = &plain, .shared = config->sharedMemBytes};
    if (!shape_of(config, f, &l))
        return refuse(CUDA_ERROR_INVALID_VALUE,
                      "the grid, block or cluster is not one the kernel takes");
    int sm = devices[device].sm;
    if (m->sm > sm || (m->is_accelerated && m->sm != sm))
        return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "PTX of a newer architecture");
    uint32_t most = f->max_dynamic ? (uint32_t)f->max_dynamic
                                   : PLAIN - (uint32_t)kernel_shared_bytes(f);
    if (config->sharedMemBytes > most)
        return refuse(CUDA_ERROR_INVALID_VALUE,
                      "more shared memory than the kernel was allowed");
    uint8_t *buffer = calloc(1, f->param_bytes + 8u);
    if (!buffer)
        return refuse(CUDA_ERROR_OUT_OF_MEMORY, "out of memory");
    for (int k = 0; k < f->n_params; k++)
        memcpy(buffer + f->params[k].offset, params[k], f->params[k].size);
    l.params = buffer;
    pthread_mutex_lock(&one_at_a_time);
    keep_last(&l);
    if ((l.data = count_begin(&l)))
        l.hooks = &counting;
    bool ok = engine_run(&l);
    count_end(l.data, &l);
    pthread_mutex_unlock(&one_at_a_time);
    free(buffer);
    return ok ? CUDA_SUCCESS : refuse_report(&l);
}

/* Runs other code as that launch was run: same grid, same parameters. */
static int
again(const Kept *k, const Func *f, uint64_t seed)
{
    Launch l = k->shape;
    l.f = f;
    l.params = k->params;
    l.seed = seed;
    l.is_checked = true;
    if (!(l.regions = regions_watched(&l.n_regions)))
        return -1;
    bool ok = engine_run(&l);
    CUresult e = ok ? CUDA_SUCCESS : refuse_report(&l);
    regions_unwatch(l.regions, l.n_regions);
    return (int)e;
}

/* A kept launch once more, with other PTX or, where ptx is NULL, with the code that it ran, whose module
 * is loaded still. It is checked as the emulator checks, and the seed shuffles its warps. 0: it ran to its end; above:
 * CUDA's number, and ptxsim_error says why; -1: this is no code for that launch. */
int
ptxsim_again(int launch, const char *ptx, uint64_t seed)
{
    char why[PTX_TEXT] = "";
    pthread_mutex_lock(&one_at_a_time);
    const Kept *k = launch >= 0 && launch < kept.n ? &kept.row[launch] : NULL;
    Module *m = k && ptx ? module_parse(ptx, why) : NULL;
    const Func *f = m ? module_kernel(m, k->name) : k && !ptx ? k->shape.f : NULL;
    int e = -1;
    if (f && f->param_bytes == k->n_params) {
        if (m)
            register_globals(m, true);
        e = again(k, f, seed);
        if (m)
            register_globals(m, false);
    } else {
        refuse(CUDA_ERROR_INVALID_PTX, *why ? why : "no kernel of these parameters");
    }
    module_free(m);
    pthread_mutex_unlock(&one_at_a_time);
    return e;
}
