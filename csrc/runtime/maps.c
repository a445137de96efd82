/* maps: the tensor maps that a launch hands to the kernel.
 *
 * A map is made of the launch's arguments alone (Binary.maps), so a captured launch has its
 * own, as it has its own addresses. The driver's encoder takes 0.06 us and calls no GPU.
 *
 * The maps of the latest launch are kept with all that they were made of. A launch of the same
 * values takes a copy of them: three maps cost 4400 instructions to make and 200 to copy.
 *
 * What it would refuse, and what copies would not do as loads and stores do, is found here
 * first: the caller has other code for such launches.
 */
#include "runtime/runtime.h"

#include <cuda.h>

enum { ALIGN = 16 };
static const uint64_t max_stride = UINT64_C(1) << 40; /* bytes; below it */
static const uint64_t max_size = MAX_MAP_SIDE;
static const uint64_t max_address = UINT64_MAX / 2; /* the driver refuses others */

static int
type_of(Elem e)
{
    switch (e) {
    case E_F16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case E_BF16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case E_F32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case E_F64: return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    default: break;
    }
    static const int by_bytes[] = {[1] = CU_TENSOR_MAP_DATA_TYPE_UINT8,
                                   [2] = CU_TENSOR_MAP_DATA_TYPE_UINT16,
                                   [4] = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                                   [8] = CU_TENSOR_MAP_DATA_TYPE_UINT64};
    return by_bytes[elem_info[e].bytes];
}

static int
swizzle_of(int bytes)
{
    return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
           : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
           : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                         : CU_TENSOR_MAP_SWIZZLE_NONE;
}

typedef struct Launch {
    const Binary *b;
    const uint64_t *params;
    const Span *spans; /* of the parameters, or NULL */
    const int32_t *grid;
} Launch;

static uint64_t
value(const Launch *l, HostValue v)
{
    return ir_host_value(l->b->host_ops + v.first, v.n, l->params, l->grid);
}

/* The driver's form of a map: its first dim is our last. */
static CudaTensorMap
map_of(const Launch *l, const MapPlan *p)
{
    int bytes = elem_info[p->elem].bytes;
    CudaTensorMap m = {.address = value(l, p->base),
                       .rank = p->rank,
                       .type = type_of((Elem)p->elem),
                       .swizzle = swizzle_of(p->swizzle),
                       .fill_nan = p->fills_nan};
    for (int d = 0; d < p->rank; d++) {
        int to = p->rank - 1 - d;
        m.shape[to] = value(l, p->size[d]);
        m.box[to] = p->box[d];
        if (to)
            m.strides[to - 1] = value(l, p->stride[d]) * (uint64_t)bytes;
    }
    return m;
}

static const char *
unfit_map(const CudaTensorMap *m)
{
    if (m->address % ALIGN)
        return "its address is no multiple of 16 bytes";
    if (m->address > max_address)
        return "it would begin in front of address 0";
    for (int d = 0; d < m->rank; d++) {
        if (!m->shape[d] || m->shape[d] > max_size)
            return "a side of the tensor is none of 1 to 2^31 - 256";
        if (d && (m->strides[d - 1] % ALIGN || m->strides[d - 1] >= max_stride))
            return "a stride is no multiple of 16 bytes below 2^40";
    }
    return NULL;
}

/* Behind the last byte that is known to be the tensor's: dims without a size have that. */
static uint64_t
end_of(const CudaTensorMap *m, int elem_bytes)
{
    uint64_t end = m->address + (uint64_t)elem_bytes;
    for (int d = 0; d < m->rank; d++)
        if (m->shape[d] < max_size)
            end += (m->shape[d] - 1) * (d ? m->strides[d - 1] : (uint64_t)elem_bytes);
    return end;
}

/* The memory of parameter p's tensor, or where that begins. */
static Span
span_of_param(const Launch *l, int p)
{
    Span s = l->spans ? l->spans[p] : (Span){0, 0};
    return s.low < s.high ? s : (Span){l->params[p], l->params[p] + 1};
}

static bool
meet(Span x, Span y)
{
    return x.low < y.high && y.low < x.high;
}

static Span
span_of_map(const Launch *l, int i, const CudaTensorMap *m)
{
    return (Span){m[i].address, end_of(&m[i], elem_info[l->b->maps[i].elem].bytes)};
}

/* Copies do not see what else the kernel stores, so the tensors that it loads by them lie
 * where none is that it writes, as far as their frameworks say how far they reach. A map may
 * begin far in front of its tensor (analysis/tensors.c), so its own reach is asked where no
 * framework has said more. */
static bool
is_written_too(const Launch *l, int i, const CudaTensorMap *m)
{
    const Binary *b = l->b;
    if (b->maps[i].is_written)
        return false;
    Span read = span_of_param(l, b->maps[i].param);
    bool is_known = read.high - read.low > 1;
    if (!is_known)
        read = span_of_map(l, i, m);
    for (int p = 0; p < b->n_params; p++)
        if (b->params[p].is_ptr && b->params[p].is_written &&
            meet(span_of_param(l, p), read))
            return true;
    for (int k = 0; k < b->n_maps; k++)
        if (b->maps[k].is_written && meet(span_of_map(l, k, m), read))
            return true;
    return false;
}

/* ---- the latest ones --------------------------------------------------------------------- */

/* One allocation. What stands in params, spans and grid decides every bit of the maps, and that
 * there are some. */
struct KeptMaps {
    int32_t grid[3];
    unsigned char (*map)[TENSOR_MAP_BYTES];
    uint64_t *params;
    Span spans[]; /* then the params, then the maps */
};

bool
maps_kept(const KeptMaps *k, const Binary *b, const uint64_t *params, const Span *spans,
          const int32_t grid[3], unsigned char (*out)[TENSOR_MAP_BYTES])
{
    size_t n = (size_t)b->n_params;
    if (!k || memcmp(k->params, params, n * sizeof *params) ||
        memcmp(k->spans, spans, n * sizeof *spans) ||
        memcmp(k->grid, grid, sizeof k->grid))
        return false;
    memcpy(out, k->map, (size_t)b->n_maps * sizeof *out);
    return true;
}

static KeptMaps *
kept_new(const Binary *b)
{
    size_t n = (size_t)b->n_params;
    KeptMaps *k = malloc(sizeof *k + n * (sizeof *k->spans + sizeof *k->params) +
                         (size_t)b->n_maps * sizeof *k->map);
    if (!k)
        return NULL;
    k->params = (uint64_t *)(k->spans + n);
    k->map = (unsigned char (*)[TENSOR_MAP_BYTES])(k->params + n);
    return k;
}

/* Without memory nothing is kept, and the next launch makes its own. */
void
maps_keep(KeptMaps **kept, const Binary *b, const uint64_t *params, const Span *spans,
          const int32_t grid[3], unsigned char (*maps)[TENSOR_MAP_BYTES])
{
    size_t n = (size_t)b->n_params;
    if (!*kept && !(*kept = kept_new(b)))
        return;
    memcpy((*kept)->params, params, n * sizeof *params);
    memcpy((*kept)->spans, spans, n * sizeof *spans);
    memcpy((*kept)->grid, grid, sizeof(*kept)->grid);
    memcpy((*kept)->map, maps, (size_t)b->n_maps * sizeof *maps);
}

/* ---- new ones ---------------------------------------------------------------------------- */

const char *
maps_refusal(const Binary *b, const uint64_t *params, const Span *spans,
             const int32_t grid[3], CudaTensorMap *m, char err[ERR_TEXT])
{
    Launch l = {b, params, spans, grid};
    for (int i = 0; i < b->n_tests; i++)
        if (!value(&l, b->tests[i]))
            return snprintf(err, ERR_TEXT, "no tensor maps: test %d", i), err;
    for (int i = 0; i < b->n_maps; i++) {
        m[i] = map_of(&l, &b->maps[i]);
        const char *why = unfit_map(&m[i]);
        if (!why)
            continue;
        snprintf(err, ERR_TEXT, "no tensor map of parameter %d: %s", b->maps[i].param,
                 why);
        return err;
    }
    for (int i = 0; i < b->n_maps; i++)
        if (is_written_too(&l, i, m)) {
            snprintf(err, ERR_TEXT,
                     "no tensor map of parameter %d: the kernel also writes there",
                     b->maps[i].param);
            return err;
        }
    return NULL;
}

MapsMade
maps_make(Cuda *cu, const Binary *b, const uint64_t *params, const Span *spans,
          const int32_t grid[3], unsigned char (*out)[TENSOR_MAP_BYTES],
          char err[ERR_TEXT])
{
    CudaTensorMap m[MAX_MAPS];
    if (maps_refusal(b, params, spans, grid, m, err))
        return MAPS_UNFIT;
    for (int i = 0; i < b->n_maps; i++)
        if (!cuda_tensor_map(cu, &m[i], out[i], err))
            return MAPS_FAILED;
    return MAPS_MADE;
}
