/* runtime.h: kernels at work.
 *
 *     dlpack.c        any tensor -> pointer, dtype, shape, strides, device, stream
 *     nodes.c, key.c  launch arguments -> key of small integers; what is in it is a promise
 *     cache.c         variants in memory, then on disk
 *     launch.c        the hot path: no allocation, no format, no environment, no lock on a hit
 *     driver.c        CUDA through dlopen: driver.def is the table of entry points
 *     jit.c           host object code -> function
 *     pool.c          a grid over CPU threads
 *     emu/            a grid on the emulator
 *
 * Loaded is a Binary made ready on a device. The first section is used without Python.
 */
#ifndef TEGULA_RUNTIME_H
#define TEGULA_RUNTIME_H

#include "codegen/binary.h"

/* Every function here that can fail returns false and writes one line to err. */

/* ---- jit.c ---------------------------------------------------------------------------- */
typedef void HostKernel(const uint64_t *params, const int32_t pid[3],
                        const int32_t grid[3], char *scratch);
typedef struct JitCode JitCode;
/* Links one relocatable object; extern symbols come from the tables of host_symbols
 * and codegen/library/c_library.c. *fn is the function called symbol. */
JitCode *jit_load(const char *obj, size_t n, const char *symbol, void **fn,
                  char err[ERR_TEXT]);
void jit_unload(JitCode *j);
struct PtxCache *jit_assembly(JitCode *j); /* what the code has run so far: ptx/asm.h */

/* ---- pool.c ---------------------------------------------------------------------------- */
typedef struct HostLaunch {
    HostKernel *kernel;
    const char *name;           /* of the kernel; NULL: unknown */
    const char *loads, *stores; /* CrashPlace's */
    const uint64_t *params;
    const int32_t *grid;  /* 3 sides */
    int scratch_bytes;    /* of one program */
    int stack_bytes;      /* Binary.stack */
    int n_threads;        /* 0: as many as CPUs this process may use */
    int64_t stream_bytes; /* see HostRun; 0: the machine's part of the last cache */
    const struct HostSpan *spans; /* the same; NULL: the code does not check */
    int n_spans;
    struct HostStray *stray;  /* the same */
    struct EmuReport *report; /* of a failure that has a place, else EMU_OK; may be NULL
                                    where the code does not check */
    struct PtxCache *assembly; /* jit_assembly's */
    FILE *out;                 /* of device_print; NULL: stdout */
    int64_t *program_ns;   /* in and out: what a program takes; 0: not known. Or NULL */
    int64_t *locked_ns;    /* the same of one thread among many; NULL: no atomics */
    struct Poller *poller; /* poll.h; NULL: nobody looks after signals */
} HostLaunch;
/* Runs all programs of the grid. Blocks until done. Survives fork: a child starts its own
 * threads. */
bool pool_run(const HostLaunch *launch, char err[ERR_TEXT]);

/* ---- driver.c ---------------------------------------------------------------------------- */
typedef struct Cuda Cuda;
typedef struct CudaDevice {
    const char *name; /* as long as the Cuda */
    int sm;           /* 90 */
    int max_shared;   /* bytes a block may have at most */
    int n_multiprocessors;
    int n_registers; /* of 32 bits, a block may have at most */
    int warp_size;
    int clock, memory_clock; /* kHz */
    int bus_width;           /* of the memory, in bits */
} CudaDevice;
/* path NULL: libcuda.so.1. NULL with err: no driver, one too old, or none that starts. */
Cuda *cuda_open(const char *path, char err[ERR_TEXT]);
void cuda_free(Cuda *cu); /* NULL is fine */
int cuda_device_count(const Cuda *cu);
bool cuda_device(const Cuda *cu, int i, CudaDevice *out, char err[ERR_TEXT]);
int cuda_current_device(Cuda *cu); /* 0 when no context is current */
/* Whose memory an address is, as the driver knows it. */
typedef enum CudaMemory {
    CUDA_MEMORY_NONE,   /* none that a GPU reaches by that address */
    CUDA_MEMORY_HOST,   /* pinned */
    CUDA_MEMORY_DEVICE, /* of *device */
} CudaMemory;
CudaMemory cuda_memory(Cuda *cu, uint64_t address, int *device);
/* code: a cubin or PTX. *library is a CUlibrary, *kernel a CUkernel: good on every device. */
bool cuda_code(Cuda *cu, int device, const char *code, const char *symbol,
               void **library, void **kernel, char err[ERR_TEXT]);
void cuda_drop(Cuda *cu, void *library);
typedef struct CudaNeeds {
    int shared, num_ctas; /* in: what a launch will ask */
    int block_warps;      /* in: of a block that is to be counted; 0: none is */
    int max_shared, max_threads, n_regs, n_local; /* out */
    int n_blocks; /* out: that a multiprocessor holds at a time */
} CudaNeeds;
/* Once per kernel and device, before its first launch there. */
bool cuda_prepare(Cuda *cu, int device, void *kernel, CudaNeeds *needs,
                  char err[ERR_TEXT]);
typedef struct CudaStart {
    int32_t grid[3]; /* programs */
    int block_warps, num_ctas, shared;
    bool pdl, cooperative;
    void *stream;
    void **params;
} CudaStart;
bool cuda_start(Cuda *cu, int device, void *kernel, const CudaStart *s,
                char err[ERR_TEXT]);
/* *event: a mark behind all that is on the stream now; NULL: the stream is being captured. */
bool cuda_mark(Cuda *cu, int device, void *stream, void **event, char err[ERR_TEXT]);
bool cuda_has_passed(Cuda *cu, void *event); /* or failed; then the event is gone */

/* What driver.active.utils has for programs that load and launch code themselves. */
/* The CUfunction, of the current device, of a CUkernel; the kernel itself if that fails. */
void *cuda_function(Cuda *cu, void *kernel);
typedef struct CudaModule {
    void *module, *function;           /* CUmodule, CUfunction */
    int n_regs, n_spills, max_threads; /* n_spills: words of 4 bytes */
} CudaModule;
/* shared: bytes of dynamic shared memory that launches will ask for. */
bool cuda_load_module(Cuda *cu, int device, const char *name, const char *code,
                      int shared, CudaModule *out, char err[ERR_TEXT]);
bool cuda_unload_module(Cuda *cu, void *module, char err[ERR_TEXT]);
/* How many clusters of that many blocks of 128 threads run at once. */
bool cuda_max_clusters(Cuda *cu, void *function, int shared, int n_ctas, int *out,
                       char err[ERR_TEXT]);
/* Bytes of what kernels print, until somebody reads it. */
bool cuda_set_printf_size(Cuda *cu, size_t bytes, char err[ERR_TEXT]);
/* A tensor map; dim 0 is the innermost one, strides (bytes) begin with that of dim 1. */
enum { TENSOR_MAP_BYTES = 128, MAX_TENSOR_MAP_RANK = 5 };
typedef struct CudaTensorMap {
    uint64_t address, shape[MAX_TENSOR_MAP_RANK], strides[MAX_TENSOR_MAP_RANK];
    uint32_t box[MAX_TENSOR_MAP_RANK];
    int rank, type, swizzle; /* the driver's enums */
    bool fill_nan;           /* what lies outside; else 0 */
} CudaTensorMap;
bool cuda_tensor_map(Cuda *cu, const CudaTensorMap *m,
                     unsigned char out[TENSOR_MAP_BYTES], char err[ERR_TEXT]);

/* Addresses from low to below high; both 0: none. */
typedef struct Span {
    uint64_t low, high;
} Span;

/* ---- maps.c ------------------------------------------------------------------------------ */
typedef enum MapsMade {
    MAPS_MADE,
    MAPS_UNFIT, /* this launch has none: code without maps does it */
    MAPS_FAILED,
} MapsMade;
/* The tensor maps of b's code for a launch, each 64-byte aligned memory. spans: of the parameters,
 * NULL where nobody knows. err: why not. */
MapsMade maps_make(Cuda *cu, const Binary *b, const uint64_t *params, const Span *spans,
                   const int32_t grid[3], unsigned char (*out)[TENSOR_MAP_BYTES],
                   char err[ERR_TEXT]);
/* The maps of the latest launch: copies for one of the same values, else false. */
typedef struct KeptMaps KeptMaps;
bool maps_kept(const KeptMaps *k, const Binary *b, const uint64_t *params,
               const Span *spans, const int32_t grid[3],
               unsigned char (*out)[TENSOR_MAP_BYTES]);
/* Keeps what maps_make made of the same; *kept is NULL at first, and freed by free(). */
void maps_keep(KeptMaps **kept, const Binary *b, const uint64_t *params,
               const Span *spans, const int32_t grid[3],
               unsigned char (*maps)[TENSOR_MAP_BYTES]);
/* Why a launch can have none of them, in err; NULL: m, of MAX_MAPS, are those that it makes. */
const char *maps_refusal(const Binary *b, const uint64_t *params, const Span *spans,
                         const int32_t grid[3], CudaTensorMap *m, char err[ERR_TEXT]);

#endif
