/* driver: CUDA through dlopen. Nothing of CUDA is linked, and importing needs no GPU: the
 * library is opened when the first launch or inquiry needs it.
 *
 *     cuda_open       libcuda.so.1 -> table of driver.def, cuInit, the devices
 *     cuda_code       cubin or PTX -> CUlibrary, which is good on every device, -> CUkernel
 *     cuda_prepare    what a kernel must be told once per device
 *     cuda_start      one cuLaunchKernelEx, in the context of the device
 *
 * cuLibraryLoadData, never cuLink*: the linker ignores setmaxnreg and serialises wgmma.
 * No Python here: errors are text.
 */
#include "runtime/runtime.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

enum { MAX_DEVICES = 64, LIMIT_PLAIN_SHARED = 48 << 10 };

typedef struct Device {
    CUdevice id;
    CUcontext primary; /* retained at the first launch; NULL until then */
    int sm, max_shared, n_multiprocessors;
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
    } rows[] = {
        {&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&d->max_shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
        {&d->n_multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
    };
    for (size_t k = 0; !e && k < COUNT(rows); k++)
        e = cu->cuDeviceGetAttribute(rows[k].to, rows[k].a, d->id);
    if (!e)
        e = cu->cuDeviceGetName(d->name, sizeof d->name, d->id);
    d->sm = 10 * major + minor;
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
    const Device *d = &cu->device[i];
    *out = (CudaDevice){d->name, d->sm, d->max_shared, d->n_multiprocessors};
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

static void
leave(Cuda *cu, CUcontext restore)
{
    if (restore)
        cu->cuCtxSetCurrent(restore);
}

int
cuda_current_device(Cuda *cu)
{
    CUcontext now = NULL;
    CUdevice device = 0;
    if (cu->cuCtxGetCurrent(&now) || !now || cu->cuCtxGetDevice(&device))
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
    char log[ERR_TEXT / 2] = "";
    /* PTX is assembled by the driver here; its complaints go to log. */
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER,
                             CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {log, (void *)(uintptr_t)sizeof log};
    if (!enter(cu, &cu->device[device], &restore, err))
        return false;
    CUresult e = cu->cuLibraryLoadData(&lib, code, option, value, COUNT(option), NULL,
                                       NULL, 0);
    if (e == CUDA_ERROR_UNSUPPORTED_PTX_VERSION) {
        char *older = ptx_with_version(code, strlen(code), ptx_of_driver(cu->version));
        if (older)
            e = cu->cuLibraryLoadData(&lib, older, option, value, COUNT(option), NULL,
                                      NULL, 0);
        free(older);
    }
    bool ok = e ? fail(cu, e, "loading the code", err) : true;
    if (!ok && log[0])
        snprintf(err + strlen(err), ERR_TEXT - strlen(err), ": %s", log);
    if (ok && (e = cu->cuLibraryGetKernel(&k, lib, symbol))) {
        ok = fail(cu, e, "looking the kernel up", err);
        cu->cuLibraryUnload(lib);
    }
    leave(cu, restore);
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
    if (!enter(cu, d, &restore, err))
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
    needs->max_shared = d->max_shared - fixed_shared;
    if (!e && needs->shared > LIMIT_PLAIN_SHARED && needs->shared <= needs->max_shared)
        e = cu->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     needs->shared, kernel, d->id);
    if (!e && needs->num_ctas > 8)
        e = cu->cuKernelSetAttribute(
            CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel, d->id);
    leave(cu, restore);
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
        .blockDimX = 32 * (unsigned)s->num_warps,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = (unsigned)s->shared,
        .hStream = s->stream,
        .attrs = attr,
        .numAttrs = n,
    };
    CUcontext restore;
    if (!enter(cu, &cu->device[device], &restore, err))
        return false;
    CUresult e = cu->cuLaunchKernelEx(&config, (CUfunction)kernel, s->params, NULL);
    leave(cu, restore);
    return e ? fail(cu, e, "launching the kernel", err) : true;
}
