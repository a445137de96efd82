/* tirc.h: what the files of tirc share. */
#ifndef TEGULA_TIRC_H
#define TEGULA_TIRC_H

#include "runtime/runtime.h"

/* ---- tirc_gpu.c: a compiled function on the first GPU ---------------------------- */
typedef struct Gpu Gpu;

/* Memory of the host from start on, copied to the device and back. */
typedef struct GpuBuffer {
    char *start;
    size_t bytes;
    int param;     /* which parameter points into it .. */
    size_t offset; /* .. and how far behind start */
} GpuBuffer;

Gpu *gpu_open(char err[ERR_TEXT]); /* NULL: no GPU */
void gpu_close(Gpu *g);            /* NULL is fine */
/* Runs the grid and waits for it. params: 8 bytes each, those of buffers are set here. */
bool gpu_run(Gpu *g, const Binary *b, const CudaStart *launch, uint64_t *params,
             int n_params, const GpuBuffer *buffers, int n_buffers, char err[ERR_TEXT]);

#endif
