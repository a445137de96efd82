/* mock_cuda: a driver without a GPU. Takes the calls of csrc/runtime/driver.c, writes each
 * down as a line of text, and fails where it was told to. Tests load it by TEGULA_LIBCUDA and
 * read the lines through ctypes.
 */
#include <cuda.h>

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <dlpack/dlpack.h>

enum { N_DEVICES = 2, MAX_SHARED = 227 << 10, STATIC_SHARED = 1 << 10 };

static char text[1 << 16];
static size_t n_text;
static char failing[64]; /* the entry that fails next, and every time */
static int n_params;     /* of the kernel that is launched: the driver knows, we ask */
static CUcontext current;
static CUdevice current_device; /* that current belongs to */
static void *work_stream = (void *)0x5000;

static void
note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (n_text < sizeof text - 1) {
        int n = vsnprintf(text + n_text, sizeof text - n_text, fmt, ap);
        n_text += (size_t)n < sizeof text - n_text ? (size_t)n : 0;
    }
    va_end(ap);
}

static CUresult
done(const char *name)
{
    return strcmp(failing, name) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

/* ---- for the tests ---- */
const char *
mock_log(void)
{
    return text;
}

void
mock_reset(void)
{
    n_text = 0, text[0] = 0, failing[0] = 0;
}

void
mock_fail(const char *name)
{
    snprintf(failing, sizeof failing, "%s", name);
}

void
mock_params(int n)
{
    n_params = n;
}

void
mock_current(unsigned long context, int device)
{
    current = (CUcontext)context;
    current_device = device;
}

/* ---- the driver ---- */
CUresult
cuInit(unsigned flags)
{
    note("cuInit(%u)\n", flags);
    return done("cuInit");
}

CUresult
cuDriverGetVersion(int *version)
{
    *version = 12080;
    return CUDA_SUCCESS;
}

CUresult
cuGetErrorName(CUresult e, const char **out)
{
    *out = e == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_MOCK";
    return CUDA_SUCCESS;
}

CUresult
cuGetErrorString(CUresult e, const char **out)
{
    (void)e;
    *out = "the mock was told to fail";
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGetCount(int *count)
{
    *count = N_DEVICES;
    return done("cuDeviceGetCount");
}

CUresult
cuDeviceGet(CUdevice *device, int ordinal)
{
    *device = 10 + ordinal;
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGetName(char *name, int len, CUdevice device)
{
    snprintf(name, (size_t)len, "Mock %d", device - 10);
    return CUDA_SUCCESS;
}

CUresult
cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice device)
{
    (void)device;
    if (a == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
        return CUDA_ERROR_INVALID_VALUE;
    *value = a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? 9
             : a == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR          ? 0
             : a == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? MAX_SHARED
             : a == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT              ? 132
             : a == CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK           ? 65536
             : a == CU_DEVICE_ATTRIBUTE_WARP_SIZE                         ? 32
             : a == CU_DEVICE_ATTRIBUTE_CLOCK_RATE                        ? 1980000
             : a == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE                 ? 3201000
                                                                          : -1;
    return CUDA_SUCCESS;
}

CUresult
cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = (CUcontext)(0x1000ul + (unsigned long)device);
    note("retain(%d)\n", device - 10);
    return done("cuDevicePrimaryCtxRetain");
}

CUresult
cuCtxGetCurrent(CUcontext *context)
{
    *context = current;
    return CUDA_SUCCESS;
}

CUresult
cuCtxSetCurrent(CUcontext context)
{
    note("current(%#lx)\n", (unsigned long)context);
    current = context;
    current_device = (CUdevice)((unsigned long)context - 0x1000ul);
    return done("cuCtxSetCurrent");
}

CUresult
cuCtxGetDevice(CUdevice *device)
{
    *device = current_device;
    return CUDA_SUCCESS;
}

static int is_busy, is_capturing;
static CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

void
mock_busy(int busy, int capturing)
{
    is_busy = busy, is_capturing = capturing;
}

CUresult
cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode was = capture_mode;
    capture_mode = *mode;
    *mode = was;
    return CUDA_SUCCESS;
}

/* ---- events: reached when the test says so ---- */
static int n_events;

int
mock_events(void)
{
    return n_events;
}

CUresult
cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    (void)stream;
    *status = is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                           : CU_STREAM_CAPTURE_STATUS_NONE;
    return done("cuStreamIsCapturing");
}

CUresult
cuEventCreate(CUevent *event, unsigned flags)
{
    (void)flags;
    *event = (CUevent)(uintptr_t)(0x6000 + ++n_events);
    return done("cuEventCreate");
}

CUresult
cuEventRecord(CUevent event, CUstream stream)
{
    (void)event, (void)stream;
    return done("cuEventRecord");
}

CUresult
cuEventQuery(CUevent event)
{
    (void)event;
    return is_busy ? CUDA_ERROR_NOT_READY : done("cuEventQuery");
}

#undef cuEventDestroy_v2
CUresult
cuEventDestroy_v2(CUevent event)
{
    (void)event;
    n_events--;
    return done("cuEventDestroy");
}

CUresult
cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit,
                  void **values, unsigned n_jit, CUlibraryOption *options,
                  void **option_values, unsigned n)
{
    (void)options, (void)option_values, (void)n;
    const char *c = code;
    note("load(%s)\n", c[0] == 0x7f ? "cubin" : "ptx");
    if (is_capturing && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    for (unsigned i = 0; i < n_jit; i++)
        if (jit[i] == CU_JIT_ERROR_LOG_BUFFER && !strcmp(failing, "cuLibraryLoadData"))
            strcpy(values[i], "line 7: mock refuses");
    if (!strcmp(failing, "death"))
        raise(SIGSEGV);
    if (!strcmp(failing, "version") && c[0] != 0x7f) {
        const char *v = strstr(c, ".version ");
        note("version(%.3s)\n", v + 9);
        if (strncmp(v + 9, "8.7", 3)) /* the mock is CUDA 12.8 */
            return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    *library = (CUlibrary)0x2000ul;
    return done("cuLibraryLoadData");
}

CUresult
cuLibraryUnload(CUlibrary library)
{
    note("unload(%#lx)\n", (unsigned long)library);
    return CUDA_SUCCESS;
}

CUresult
cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    (void)library;
    note("kernel(%s)\n", name);
    *kernel = (CUkernel)0x3000ul;
    return done("cuLibraryGetKernel");
}

CUresult
cuKernelGetAttribute(int *value, CUfunction_attribute a, CUkernel kernel,
                     CUdevice device)
{
    (void)kernel, (void)device;
    *value = a == CU_FUNC_ATTRIBUTE_NUM_REGS                ? 42
             : a == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES      ? 8
             : a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 512
             : a == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES     ? STATIC_SHARED
                                                            : -1;
    return CUDA_SUCCESS;
}

CUresult
cuKernelSetAttribute(CUfunction_attribute a, int value, CUkernel kernel,
                     CUdevice device)
{
    (void)kernel;
    note("set(%s, %d, device %d)\n",
         a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? "shared" : "cluster",
         value, device - 10);
    return done("cuKernelSetAttribute");
}

CUresult
cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
    (void)kernel;
    *f = (CUfunction)0x3800ul;
    return done("cuKernelGetFunction");
}

CUresult
cuModuleLoadData(CUmodule *module, const void *code)
{
    note("module(%.4s, context %#lx)\n", (const char *)code, (unsigned long)current);
    *module = (CUmodule)0x4000ul;
    return done("cuModuleLoadData");
}

CUresult
cuModuleUnload(CUmodule module)
{
    note("unload(%#lx)\n", (unsigned long)module);
    return done("cuModuleUnload");
}

CUresult
cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
    (void)module;
    note("function(%s)\n", name);
    *f = (CUfunction)0x4800ul;
    return done("cuModuleGetFunction");
}

CUresult
cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction f)
{
    (void)f;
    return cuKernelGetAttribute(value, a, NULL, 0);
}

CUresult
cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int value)
{
    note("set(%#lx, %s, %d)\n", (unsigned long)f,
         a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? "shared" : "cluster",
         value);
    return done("cuFuncSetAttribute");
}

static size_t printf_size = 1 << 20;

/* 0x7000 and up is memory of GPU 0, 0x40000000 and up pinned; the rest nobody knows. */
CUresult
cuPointerGetAttribute(void *value, CUpointer_attribute a, CUdeviceptr p)
{
    int is_device = p >= 0x7000 && p < 0x8000, is_pinned = p >> 28 == 4;
    if (!is_device && !is_pinned)
        return CUDA_ERROR_INVALID_VALUE;
    if (a == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
        *(unsigned *)value = is_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    else if (a == CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
        *(CUdeviceptr *)value = p;
    else
        *(int *)value = 0;
    return done("cuPointerGetAttribute");
}

CUresult
cuCtxGetLimit(size_t *value, CUlimit limit)
{
    (void)limit;
    *value = printf_size;
    return done("cuCtxGetLimit");
}

CUresult
cuCtxSetLimit(CUlimit limit, size_t value)
{
    note("limit(%d, %zu)\n", (int)limit, value);
    printf_size = value;
    return done("cuCtxSetLimit");
}

CUresult
cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int threads,
                                            size_t shared)
{
    note("blocks(%#lx, %d threads, shared %zu)\n", (unsigned long)f, threads, shared);
    *n = 2;
    return done("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

CUresult
cuOccupancyMaxActiveClusters(int *n, CUfunction f, const CUlaunchConfig *c)
{
    note("clusters(%#lx, %u of %u, shared %u)\n", (unsigned long)f,
         c->attrs[0].value.clusterDim.x, c->blockDimX, c->sharedMemBytes);
    *n = 66;
    return done("cuOccupancyMaxActiveClusters");
}

CUresult
cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                       void *address, const cuuint64_t *shape,
                       const cuuint64_t *strides, const cuuint32_t *box,
                       const cuuint32_t *steps, CUtensorMapInterleave interleave,
                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                       CUtensorMapFloatOOBfill fill)
{
    (void)interleave, (void)promotion;
    note("map(type %d, %p, swizzle %d, fill %d", (int)type, address, (int)swizzle,
         (int)fill);
    for (unsigned i = 0; i < rank; i++)
        note(", %llu/%u/%llu by %u", (unsigned long long)shape[i], box[i],
             i ? (unsigned long long)strides[i - 1] : 0ull, steps[i]);
    note(")\n");
    memset(map, 0x5a, sizeof *map);
    return done("cuTensorMapEncodeTiled");
}

CUresult
cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    (void)f, (void)extra;
    note("launch(grid %u %u %u, block %u, shared %u, stream %#lx, context %#lx",
         c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->sharedMemBytes,
         (unsigned long)c->hStream, (unsigned long)current);
    for (unsigned i = 0; i < c->numAttrs; i++)
        note(", %s",
             c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION ? "cluster"
             : c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE     ? "cooperative"
             : c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
                 ? "pdl"
                 : "?");
    for (int i = 0; i < n_params; i++)
        note(", %#llx", *(unsigned long long *)params[i]);
    note(")\n");
    return done("cuLaunchKernelEx");
}

/* ---- a framework with DLPack's exchange API: any Python object is a CUDA tensor ---- */
static int
no_sync(void *x, DLTensor *out)
{
    static int64_t shape[] = {16}, strides[] = {1};
    (void)x;
    *out = (DLTensor){.data = (void *)0x7000,
                      .device = {kDLCUDA, 1},
                      .ndim = 1,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = shape,
                      .strides = strides};
    return 0;
}

static int
stream_of(DLDeviceType type, int32_t device, void **out)
{
    (void)type, (void)device;
    *out = work_stream;
    return 0;
}

const DLPackExchangeAPI mock_exchange = {
    .header = {{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, NULL},
    .dltensor_from_py_object_no_sync = no_sync,
    .current_work_stream = stream_of,
};
