/* tirc_gpu: a compiled function on the first GPU, with buffers of its own there.
 *
 * runtime/driver.c launches. It has no functions that allocate and copy, since the tensors of a
 * launch belong to the user's framework; those functions of the driver are looked up here.
 */
#include "tools/tirc.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

enum { MAX_PARAMS = 256 };

struct Gpu {
    Cuda *cu;
    void *lib;
    CUcontext context;
    CUresult (*alloc)(CUdeviceptr *p, size_t n);
    CUresult (*free)(CUdeviceptr p);
    CUresult (*to_device)(CUdeviceptr to, const void *from, size_t n);
    CUresult (*to_host)(void *to, CUdeviceptr from, size_t n);
    CUresult (*wait)(void);
    CUresult (*retain)(CUcontext *c, CUdevice d);
    CUresult (*enter)(CUcontext c);
};

static bool
fail(CUresult e, const char *doing, char err[ERR_TEXT])
{
    snprintf(err, ERR_TEXT, "CUDA error %d while %s", (int)e, doing);
    return false;
}

/* dlsym gives an object pointer; memcpy makes it one to a function. */
static bool
find_entry(Gpu *g, const char *name, void *entry)
{
    void *p = dlsym(g->lib, name);
    memcpy(entry, &p, sizeof p);
    return p != NULL;
}

Gpu *
gpu_open(char err[ERR_TEXT])
{
    Gpu *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->cu = cuda_open(NULL, err);
    g->lib = g->cu ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    if (g->cu && (!g->lib || !find_entry(g, "cuMemAlloc_v2", &g->alloc) ||
                  !find_entry(g, "cuMemFree_v2", &g->free) ||
                  !find_entry(g, "cuMemcpyHtoD_v2", &g->to_device) ||
                  !find_entry(g, "cuMemcpyDtoH_v2", &g->to_host) ||
                  !find_entry(g, "cuCtxSynchronize", &g->wait) ||
                  !find_entry(g, "cuDevicePrimaryCtxRetain", &g->retain) ||
                  !find_entry(g, "cuCtxSetCurrent", &g->enter)))
        snprintf(err, ERR_TEXT, "libcuda.so.1 lacks an entry");
    else if (g->cu && cuda_device_count(g->cu) == 0)
        snprintf(err, ERR_TEXT, "no GPU");
    else if (g->cu && !g->retain(&g->context, 0) && !g->enter(g->context))
        return g;
    gpu_close(g);
    return NULL;
}

void
gpu_close(Gpu *g)
{
    if (!g)
        return;
    cuda_free(g->cu);
    if (g->lib)
        dlclose(g->lib);
    free(g);
}

static bool
launch(Gpu *g, const Binary *b, const CudaStart *start, char err[ERR_TEXT])
{
    const Stage *code = binary_stage(b, "ptx");
    CudaNeeds needs = {.shared = b->shared,
                       .num_ctas = start->num_ctas,
                       .block_warps = start->block_warps};
    void *library, *kernel;
    if (!code || !cuda_code(g->cu, 0, code->data, b->symbol, &library, &kernel, err))
        return false;
    bool ok = cuda_prepare(g->cu, 0, kernel, &needs, err) &&
              cuda_start(g->cu, 0, kernel, start, err);
    CUresult e = ok ? g->wait() : CUDA_SUCCESS;
    cuda_drop(g->cu, library);
    return ok && (!e || fail(e, "running the kernel", err));
}

bool
gpu_run(Gpu *g, const Binary *b, const CudaStart *start, uint64_t *params, int n_params,
        const GpuBuffer *buffers, int n_buffers, char err[ERR_TEXT])
{
    CUdeviceptr at[MAX_PARAMS];
    void *pointers[MAX_PARAMS + MAX_MAPS + GRID_PARAMS];
    _Alignas(64) unsigned char maps[MAX_MAPS][TENSOR_MAP_BYTES];
    CUresult e = CUDA_SUCCESS;
    int n = 0;
    bool ok = true;
    if (n_params > MAX_PARAMS || n_buffers > MAX_PARAMS)
        return fail(CUDA_ERROR_INVALID_VALUE, "counting parameters", err);
    for (; n < n_buffers && !e; n++) {
        const GpuBuffer *buf = &buffers[n];
        e = g->alloc(&at[n], buf->bytes);
        if (e)
            break;
        params[buf->param] = at[n] + buf->offset;
        e = g->to_device(at[n], buf->start, buf->bytes);
    }
    for (int i = 0; i < n_params; i++)
        pointers[i] = &params[i];
    for (int i = 0; i < b->n_maps; i++)
        pointers[n_params + i] = maps[i];
    CudaStart s = *start;
    for (int i = 0; i < GRID_PARAMS && b->blocks; i++) /* as many blocks as programs */
        pointers[n_params + b->n_maps + i] = (void *)&start->grid[i];
    if (b->blocks == BLOCKS_EVEN)
        s.grid[0] += s.grid[0] % 2;
    if (b->blocks == BLOCKS_IN_STRIPS) /* of the last program of an odd number */
        s.grid[0] += s.grid[0] % 2 * (b->strips - 1);
    s.shared = b->shared;
    s.params = pointers;
    if (e)
        ok = fail(e, "copying to the device", err);
    else if (maps_make(g->cu, b, params, NULL, start->grid, maps, err))
        ok = false;
    else
        ok = launch(g, b, &s, err);
    for (int i = 0; i < n; i++) {
        if (ok && (e = g->to_host(buffers[i].start, at[i], buffers[i].bytes)))
            ok = fail(e, "copying from the device", err);
        g->free(at[i]);
    }
    return ok;
}
