/* driver: CUDA through dlopen. Nothing of CUDA is linked, and importing needs no GPU: the
 * library is opened when the first launch or inquiry needs it.
 *
 *     cuda_open       libcuda.so.1 -> table of driver.def, cuInit, the devices
 *     cuda_code       cubin or PTX -> CUlibrary, which is good on every device, -> CUkernel
 *     cuda_prepare    what a kernel must be told once per device
 *     cuda_start      one cuLaunchKernelEx, in the context of the device
 *     cuda_load_module ..  what programs ask that launch code themselves
 *
 * cuLibraryLoadData, never cuLink*: the linker ignores setmaxnreg and serialises wgmma.
 * No Python here: errors are text.
 */
#include "ptxas.h"
#include "runtime/runtime.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64, LIMIT_PLAIN_SHARED = 48 << 10 };

typedef struct Device {
    CUdevice id;
    CUcontext primary; /* retained at the first launch; NULL until then */
    CudaDevice facts;
    char name[128];
} Device;

struct Cuda {
    void *lib;   /* of dlopen */
    int version; /* of the driver: 12080 is 12.8 */
    int n_devices;
    Device device[MAX_DEVICES];
#define CU(name, least, params) CUresult(CUDAAPI *name) params;
#include "runtime/driver.def"
#undef CU
};

static bool
fail(const Cuda *cu, CUresult e, const char *doing, char err[ERR_TEXT])
{
    const char *name = NULL, *text = NULL;
    cu->cuGetErrorName(e, &name);
    cu->cuGetErrorString(e, &text);
    snprintf(err, ERR_TEXT, "CUDA error %d %s: %s, %s", (int)e, name ? name : "",
             text ? text : "no description", doing);
    return false;
}

/* ---- opening ------------------------------------------------------------------------ */

static bool
find_entries(Cuda *cu, char err[ERR_TEXT])
{
    static const struct {
        const char *name;
        int least;
        size_t at;
    } rows[] = {
#define CU(name, least, params) {#name, least, offsetof(Cuda, name)},
#include "runtime/driver.def"
#undef CU
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        void *p = dlsym(cu->lib, rows[i].name);
        if (!p) {
            snprintf(
                err, ERR_TEXT,
                "the CUDA driver is too old: it lacks %s, which came with CUDA %d.%d",
                rows[i].name, rows[i].least / 1000, rows[i].least % 1000 / 10);
            return false;
        }
        memcpy((char *)cu + rows[i].at, &p, sizeof p);
    }
    return true;
}

static bool
describe_device(Cuda *cu, int i, char err[ERR_TEXT])
{
    Device *d = &cu->device[i];
    int major = 0, minor = 0;
    CUresult e = cu->cuDeviceGet(&d->id, i);
    const struct {
        int *to;
        CUdevice_attribute a;
    } rows[] =
        {
            {&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
            {&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
            {&d->facts.max_shared,
             CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
            {&d->facts.n_multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        },
      extra[] = {
          {&d->facts.n_registers, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK},
          {&d->facts.warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE},
          {&d->facts.clock, CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
          {&d->facts.memory_clock, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
          {&d->facts.bus_width, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
      };
    for (size_t k = 0; !e && k < COUNT(rows); k++)
        e = cu->cuDeviceGetAttribute(rows[k].to, rows[k].a, d->id);
    for (size_t k = 0; !e && k < COUNT(extra); k++) /* we can do without: 0 */
        if (cu->cuDeviceGetAttribute(extra[k].to, extra[k].a, d->id))
            *extra[k].to = 0;
    if (!e)
        e = cu->cuDeviceGetName(d->name, sizeof d->name, d->id);
    d->facts.sm = 10 * major + minor;
    d->facts.name = d->name;
    return e ? fail(cu, e, "describing a device", err) : true;
}

Cuda *
cuda_open(const char *path, char err[ERR_TEXT])
{
    Cuda *cu = calloc(1, sizeof *cu);
    if (!cu) {
        snprintf(err, ERR_TEXT, "out of memory");
        return NULL;
    }
    cu->lib = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cu->lib) {
        snprintf(err, ERR_TEXT, "there is no CUDA driver: %s", dlerror());
        goto fail;
    }
    if (!find_entries(cu, err))
        goto fail;
    CUresult e = cu->cuInit(0);
    if (!e)
        e = cu->cuDriverGetVersion(&cu->version);
    if (!e)
        e = cu->cuDeviceGetCount(&cu->n_devices);
    if (e) {
        fail(cu, e, "starting the driver", err);
        goto fail;
    }
    cu->n_devices = MIN(cu->n_devices, MAX_DEVICES);
    for (int i = 0; i < cu->n_devices; i++)
        if (!describe_device(cu, i, err))
            goto fail;
    return cu;
fail:
    cuda_free(cu);
    return NULL;
}

void
cuda_free(Cuda *cu)
{
    /* The library stays open and the contexts stay retained: frameworks of this process use
     * them too, and may outlive us. */
    free(cu);
}

bool
cuda_device(const Cuda *cu, int i, CudaDevice *out, char err[ERR_TEXT])
{
    if (i < 0 || i >= cu->n_devices) {
        snprintf(err, ERR_TEXT, "there is no CUDA device %d: the driver sees %d", i,
                 cu->n_devices);
        return false;
    }
    *out = cu->device[i].facts;
    return true;
}

int
cuda_device_count(const Cuda *cu)
{
    return cu->n_devices;
}

/* ---- contexts ----------------------------------------------------------------------- */

/* Makes a context of the device current; *restore is the one to put back, or NULL. Frameworks
 * use the primary context and have it current, so that this is one cheap call. */
static bool
enter(Cuda *cu, Device *d, CUcontext *restore, char err[ERR_TEXT])
{
    CUcontext now = NULL;
    *restore = NULL;
    CUresult e = cu->cuCtxGetCurrent(&now);
    if (!e && now && now == d->primary)
        return true;
    if (!e && !d->primary)
        e = cu->cuDevicePrimaryCtxRetain(&d->primary, d->id);
    if (e)
        return fail(cu, e, "retaining the primary context", err);
    CUdevice of_now = -1;
    if (now == d->primary || (now && !cu->cuCtxGetDevice(&of_now) && of_now == d->id))
        return true; /* a context of the user's own, on the right device */
    e = cu->cuCtxSetCurrent(d->primary);
    if (e)
        return fail(cu, e, "setting the context", err);
    *restore = now;
    return true;
}

/* Makes a device's context current where none is, for what is asked of any: the limits of
 * contexts are of that one. */
static bool
enter_any(Cuda *cu, CUcontext *restore, char err[ERR_TEXT])
{
    CUcontext now = NULL;
    *restore = NULL;
    if (!cu->cuCtxGetCurrent(&now) && now)
        return true;
    return enter(cu, &cu->device[0], restore, err);
}

static void
leave_context(Cuda *cu, CUcontext restore)
{
    if (restore)
        cu->cuCtxSetCurrent(restore);
}

/* enter, and leave, around what loads code. A kernel may be launched first, or by code without
 * tensor maps for the first time, while its thread captures a graph: loading is no work of a
 * stream, but a capture in the mode that is the default refuses it. */
static bool
enter_to_load(Cuda *cu, Device *d, CUcontext *restore, CUstreamCaptureMode *mode,
              char err[ERR_TEXT])
{
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (!enter(cu, d, restore, err))
        return false;
    CUresult e = cu->cuThreadExchangeStreamCaptureMode(mode);
    if (e)
        leave_context(cu, *restore);
    return e ? fail(cu, e, "loading code while a graph is captured", err) : true;
}

static void
leave_loaded(Cuda *cu, CUcontext restore, CUstreamCaptureMode mode)
{
    cu->cuThreadExchangeStreamCaptureMode(&mode);
    leave_context(cu, restore);
}

CudaMemory
cuda_memory(Cuda *cu, uint64_t address, int *device)
{
    CUmemorytype type = 0;
    CUdeviceptr there = 0;
    int ordinal = 0;
    CUcontext restore = NULL;
    char err[ERR_TEXT];
    if (!cu->n_devices || !enter_any(cu, &restore, err))
        return CUDA_MEMORY_NONE;
    CUresult e = cu->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                           address);
    if (!e)
        e = cu->cuPointerGetAttribute(&there, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                      address);
    if (!e && type == CU_MEMORYTYPE_DEVICE)
        e = cu->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                      address);
    leave_context(cu, restore);
    if (e || there != address)
        return CUDA_MEMORY_NONE;
    *device = ordinal;
    return type == CU_MEMORYTYPE_DEVICE ? CUDA_MEMORY_DEVICE : CUDA_MEMORY_HOST;
}

int
cuda_current_device(Cuda *cu)
{
    CUcontext now = NULL;
    CUdevice device = 0;
    if (cu->cuCtxGetCurrent(&now) || !now)
        return 0;
    for (int i = 0; i < cu->n_devices; i++)
        if (cu->device[i].primary == now) /* retained, so no other has its address */
            return i;
    if (cu->cuCtxGetDevice(&device))
        return 0;
    for (int i = 0; i < cu->n_devices; i++)
        if (cu->device[i].id == device)
            return i;
    return 0;
}

/* ---- code --------------------------------------------------------------------------- */

/* The PTX version that came with a CUDA version: 12.0 to 12.5 brought 8.0 to 8.5, 12.6 none,
 * 12.7 to 12.9 brought 8.6 to 8.8, 13.x brings 9.x. */
static int
ptx_of_driver(int cuda)
{
    int major = cuda / 1000, minor = cuda % 1000 / 10;
    if (major >= 13)
        return 90 + 10 * (major - 13) + MIN(minor, 9);
    return 80 + (minor <= 5 ? minor : minor - 1);
}

bool
cuda_code(Cuda *cu, int device, const char *code, const char *symbol, void **library,
          void **kernel, char err[ERR_TEXT])
{
    CUlibrary lib = NULL;
    CUkernel k = NULL;
    CUcontext restore;
    CUstreamCaptureMode mode;
    char log[ERR_TEXT / 2] = "";
    /* PTX is assembled by the driver here; its complaints go to log. */
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER,
                             CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {log, (void *)(uintptr_t)sizeof log};
    if (!enter_to_load(cu, &cu->device[device], &restore, &mode, err))
        return false;
    crash_install();
    const char *assembled = *code == '.' || *code == '/' ? symbol : NULL; /* PTX */
    CrashPlace before =
        crash_enter((CrashPlace){.kernel = assembled, .is_driver = true});
    CUresult e = cu->cuLibraryLoadData(&lib, code, option, value, COUNT(option), NULL,
                                       NULL, 0);
    if (e == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
        char *older = ptx_with_version(code, strlen(code), ptx_of_driver(cu->version));
        if (older)
            e = cu->cuLibraryLoadData(&lib, older, option, value, COUNT(option), NULL,
                                      NULL, 0);
        free(older);
    }
    crash_enter(before);
    bool ok = e ? fail(cu, e, "loading the code", err) : true;
    if (!ok && log[0])
        snprintf(err + strlen(err), ERR_TEXT - strlen(err), ": %s", log);
    if (ok && (e = cu->cuLibraryGetKernel(&k, lib, symbol))) {
        ok = fail(cu, e, "looking the kernel up", err);
        cu->cuLibraryUnload(lib);
    }
    leave_loaded(cu, restore, mode);
    *library = ok ? lib : NULL;
    *kernel = ok ? k : NULL;
    return ok;
}

void
cuda_drop(Cuda *cu, void *library)
{
    /* Fails harmlessly when the driver is shutting down. */
    cu->cuLibraryUnload(library);
}

bool
cuda_prepare(Cuda *cu, int device, void *kernel, CudaNeeds *needs, char err[ERR_TEXT])
{
    Device *d = &cu->device[device];
    CUcontext restore;
    CUstreamCaptureMode mode;
    if (!enter_to_load(cu, d, &restore, &mode, err))
        return false;
    CUresult e = CUDA_SUCCESS;
    int fixed_shared = 0;
    const struct {
        int *to;
        CUfunction_attribute a;
    } rows[] = {
        {&needs->n_regs, CU_FUNC_ATTRIBUTE_NUM_REGS},
        {&needs->n_local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
        {&needs->max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {&fixed_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
    };
    for (size_t i = 0; !e && i < COUNT(rows); i++)
        e = cu->cuKernelGetAttribute(rows[i].to, rows[i].a, kernel, d->id);
    needs->max_shared = d->facts.max_shared - fixed_shared;
    if (!e && needs->shared > LIMIT_PLAIN_SHARED && needs->shared <= needs->max_shared)
        e = cu->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     needs->shared, kernel, d->id);
    if (!e && needs->num_ctas > 8)
        e = cu->cuKernelSetAttribute(
            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel, d->id);
    int threads = 32 * needs->block_warps;
    if (!e && threads && threads <= needs->max_threads &&
        needs->shared <= needs->max_shared)
        e = cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &needs->n_blocks, kernel, threads, (size_t)needs->shared);
    leave_loaded(cu, restore, mode);
    return e ? fail(cu, e, "preparing the kernel", err) : true;
}

bool
cuda_start(Cuda *cu, int device, void *kernel, const CudaStart *s, char err[ERR_TEXT])
{
    CUlaunchAttribute attr[3];
    unsigned n = 0;
    if (s->num_ctas > 1) {
        attr[n].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attr[n].value.clusterDim.x = (unsigned)s->num_ctas;
        attr[n].value.clusterDim.y = 1;
        attr[n].value.clusterDim.z = 1;
        n++;
    }
    if (s->pdl) {
        attr[n].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attr[n].value.programmaticStreamSerializationAllowed = 1;
        n++;
    }
    if (s->cooperative) {
        attr[n].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        attr[n].value.cooperative = 1;
        n++;
    }
    CUlaunchConfig config = {
        .gridDimX = (unsigned)s->grid[0] * (unsigned)s->num_ctas,
        .gridDimY = (unsigned)s->grid[1],
        .gridDimZ = (unsigned)s->grid[2],
        .blockDimX = 32 * (unsigned)s->block_warps,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = (unsigned)s->shared,
        .hStream = s->stream,
        .attrs = attr,
        .numAttrs = n,
    };
    CUcontext restore = NULL, now = NULL;
    bool is_there = !cu->cuCtxGetCurrent(&now) && now &&
                    now == cu->device[device].primary;
    if (!is_there && !enter(cu, &cu->device[device], &restore, err))
        return false;
    CUresult e = cu->cuLaunchKernelEx(&config, (CUfunction)kernel, s->params, NULL);
    leave_context(cu, restore);
    return e ? fail(cu, e, "launching the kernel", err) : true;
}

bool
cuda_mark(Cuda *cu, int device, void *stream, void **event, char err[ERR_TEXT])
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUevent made = NULL;
    CUcontext restore;
    *event = NULL;
    if (!enter(cu, &cu->device[device], &restore, err))
        return false;
    CUresult e = cu->cuStreamIsCapturing(stream, &status);
    if (!e && status == CU_STREAM_CAPTURE_STATUS_NONE) {
        e = cu->cuEventCreate(&made, CU_EVENT_DISABLE_TIMING);
        if (!e)
            e = cu->cuEventRecord(made, stream);
    }
    if (e && made)
        cu->cuEventDestroy_v2(made);
    else
        *event = made;
    leave_context(cu, restore);
    return e ? fail(cu, e, "marking the end of the launch", err) : true;
}

bool
cuda_has_passed(Cuda *cu, void *event)
{
    if (cu->cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        return false;
    cu->cuEventDestroy_v2(event);
    return true;
}

/* ---- for programs that load and launch themselves ------------------------------------ */

void *
cuda_function(Cuda *cu, void *kernel)
{
    CUfunction f = NULL;
    return !cu->cuKernelGetFunction(&f, kernel) && f ? f : kernel;
}

bool
cuda_load_module(Cuda *cu, int device, const char *name, const char *code, int shared,
                 CudaModule *out, char err[ERR_TEXT])
{
    CUmodule module = NULL;
    CUfunction f = NULL;
    CUcontext restore;
    CudaDevice facts;
    int fixed_shared = 0;
    if (!cuda_device(cu, device, &facts, err) ||
        !enter(cu, &cu->device[device], &restore, err))
        return false;
    CUresult e = cu->cuModuleLoadData(&module, code);
    if (!e)
        e = cu->cuModuleGetFunction(&f, module, name);
    const struct {
        int *to;
        CUfunction_attribute a;
    } rows[] = {
        {&out->n_regs, CU_FUNC_ATTRIBUTE_NUM_REGS},
        {&out->n_spills, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
        {&out->max_threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
        {&fixed_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
    };
    for (size_t i = 0; !e && i < COUNT(rows); i++)
        e = cu->cuFuncGetAttribute(rows[i].to, rows[i].a, f);
    if (!e && shared > LIMIT_PLAIN_SHARED && facts.max_shared > LIMIT_PLAIN_SHARED)
        e = cu->cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   facts.max_shared - fixed_shared);
    if (e && module)
        cu->cuModuleUnload(module);
    leave_context(cu, restore);
    out->n_spills /= 4;
    out->module = module;
    out->function = f;
    return e ? fail(cu, e, "loading a binary", err) : true;
}

bool
cuda_unload_module(Cuda *cu, void *module, char err[ERR_TEXT])
{
    CUresult e = cu->cuModuleUnload(module);
    return e ? fail(cu, e, "unloading a module", err) : true;
}

bool
cuda_max_clusters(Cuda *cu, void *function, int shared, int n_ctas, int *out,
                  char err[ERR_TEXT])
{
    CUcontext restore;
    CUlaunchAttribute attr = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    attr.value.clusterDim.x = (unsigned)n_ctas;
    attr.value.clusterDim.y = attr.value.clusterDim.z = 1;
    CUlaunchConfig config = {
        .gridDimX = (unsigned)n_ctas,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = 128,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = (unsigned)shared,
        .attrs = &attr,
        .numAttrs = 1,
    };
    if (!enter_any(cu, &restore, err))
        return false;
    CUresult e = cu->cuFuncSetAttribute(
        function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
    if (!e)
        e = cu->cuFuncSetAttribute(
            function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    if (!e)
        e = cu->cuOccupancyMaxActiveClusters(out, function, &config);
    leave_context(cu, restore);
    return e ? fail(cu, e, "counting clusters", err) : true;
}

bool
cuda_set_printf_size(Cuda *cu, size_t bytes, char err[ERR_TEXT])
{
    CUcontext restore;
    size_t now = 0;
    if (!enter_any(cu, &restore, err))
        return false;
    /* Refused once a kernel has printed, even where it changes nothing. */
    CUresult e = cu->cuCtxGetLimit(&now, CU_LIMIT_PRINTF_FIFO_SIZE);
    if (!e && now != bytes)
        e = cu->cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, bytes);
    leave_context(cu, restore);
    return e ? fail(cu, e, "setting the size of printf's buffer", err) : true;
}

bool
cuda_tensor_map(Cuda *cu, const CudaTensorMap *m, unsigned char out[TENSOR_MAP_BYTES],
                char err[ERR_TEXT])
{
    _Static_assert(sizeof(CUtensorMap) == TENSOR_MAP_BYTES, "the driver's size");
    CUtensorMap map;
    static const cuuint32_t steps[MAX_TENSOR_MAP_RANK] = {1, 1, 1, 1, 1};
    CUresult e = cu->cuTensorMapEncodeTiled(
        &map, (CUtensorMapDataType)m->type, (cuuint32_t)m->rank,
        (void *)(uintptr_t)m->address, (const cuuint64_t *)m->shape,
        (const cuuint64_t *)m->strides, m->box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
        (CUtensorMapSwizzle)m->swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        m->fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                    : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    memcpy(out, &map, sizeof map);
    if (!e)
        return true;
    fail(cu, e, "making a tensor map", err);
    size_t n = strlen(err);
    n += (size_t)snprintf(err + n, ERR_TEXT - n,
                          "; element type %d, swizzle %d, address %#llx", m->type,
                          m->swizzle, (unsigned long long)m->address);
    for (int i = m->rank - 1; i >= 0 && n < ERR_TEXT; i--)
        n += (size_t)snprintf(err + n, ERR_TEXT - n,
                              "; dim %d: %llu elements, box %u, stride %llu bytes",
                              m->rank - 1 - i, (unsigned long long)m->shape[i],
                              m->box[i],
                              i ? (unsigned long long)m->strides[i - 1] : 0ull);
    return false;
}
