/* tmap.h: tensor maps: what a copy of a tile knows of its tensor.
 *
 * NVIDIA's 128 bytes are the driver's and the chip's secret; these are ours, made by
 * tmap_encode and read by cp.async.bulk.tensor (tmap.c).
 */
#ifndef TEGULA_PTX_TMAP_H
#define TEGULA_PTX_TMAP_H

#include <stdbool.h>
#include <stdint.h>

enum { TMAP_RANK = 5, TMAP_BYTES = 128 };

typedef struct Tmap {
    uint32_t magic;
    uint8_t rank, type; /* type: CUtensorMapDataType */
    uint8_t
        swizzle; /* chunks of 16 bytes whose places a line's number turns: 1, 2, 4, 8 */
    bool fills_nan; /* elements outside are NaN and not 0 */
    uint64_t base;
    uint64_t size[TMAP_RANK];   /* elements, the innermost dim first */
    uint64_t stride[TMAP_RANK]; /* bytes; [0]: of an element */
    uint16_t box[TMAP_RANK];    /* elements */
    uint8_t unused[22];
} Tmap;
_Static_assert(sizeof(Tmap) == TMAP_BYTES, "as large as the driver's");

/* The arguments of cuTensorMapEncodeTiled, in its order; strides of the outer dims alone.
 * NULL: done. Else why the driver would refuse it, or why it is not simulated. */
const char *tmap_encode(Tmap *out, int type, int rank, const void *base,
                        const uint64_t *sizes, const uint64_t *strides,
                        const uint32_t *box, const uint32_t *steps, int interleave,
                        int swizzle, int fill);

#endif
