/* wgmma: may a warpgroup's product read a matrix where it lies in shared memory?
 *
 * The instruction finds an operand by a descriptor: where its first element is, how rows of
 * 16-byte chunks are swizzled, and two distances. With W the bytes of a line (128, 64 or 32:
 * the swizzle has its name) and `line` the number of a line, counted from an address that is
 * a multiple of eight of them, element (mn, k) lies
 *
 *     K-major     line mn,  k along it:    (mn % 8) W + (mn / 8) SBO + k elem
 *     MN-major    line k,   mn along it:   mn % (W / elem) elem + mn / (W / elem) LBO
 *                                          + (k % 8) W + (k / 8) SBO
 *
 * bytes behind the first, with bits 4-6 of the address XORed with bits 7-9, as many of them
 * as the swizzle has. (PTX ISA, "Matrix descriptor" and "Strides"; CUTLASS's canonical
 * layouts say the same.) What layout_swizzled gives with skip and from 0 is of that form.
 *
 * Rule: everything here is linear over F2, so a matrix is right if each bit of mn and k is.
 */
#include "layout/layout.h"

enum { LINES = 8, CHUNK = 16 };

/* The address bits that are turned over at byte `at` of lines of so many bytes. */
static Col
swizzled(Col at, int line)
{
    return at ^ ((at >> 7 & (Col)(line / CHUNK - 1)) << 4);
}

typedef struct Matrix {
    Col offset_of[MAX_BITS];
    int bits, mn_shift, k_shift; /* of flat indices */
    int log2_mn, log2_k, log2_elem;
} Matrix;

static Col
byte_of(const Matrix *m, Col mn, Col k)
{
    Col flat = mn << m->mn_shift | k << m->k_shift;
    return f2_mul(m->offset_of, m->bits, flat) << m->log2_elem;
}

/* Where the descriptor says that the element lies. */
static Col
described(const Matrix *m, const WgmmaOperand *w, Col mn, Col k)
{
    Col along = w->is_mn_major ? mn : k, across = w->is_mn_major ? k : mn;
    Col n = (Col)w->line >> m->log2_elem; /* elements of a line */
    Col at = (along % n << m->log2_elem) + along / n * (Col)w->lbo +
             across % LINES * (Col)w->line + across / LINES * (Col)w->sbo;
    return swizzled(at, w->line);
}

/* Does the descriptor hold for what one instruction reads, and does each instruction begin
 * at a multiple of eight lines, or within its first one? */
static bool
holds(const Matrix *m, const WgmmaOperand *w, int log2_mn, int log2_k)
{
    Col chunks = swizzled((Col)(w->line / CHUNK - 1) << 7, w->line);
    for (int i = 0; i < m->log2_mn; i++) {
        Col at = byte_of(m, (Col)1 << i, 0);
        if (i < log2_mn ? at != described(m, w, (Col)1 << i, 0)
                        : (at & chunks & ~(Col)0x7f) != 0)
            return false;
    }
    for (int i = 0; i < m->log2_k; i++) {
        Col at = byte_of(m, 0, (Col)1 << i);
        if (i < log2_k ? at != described(m, w, 0, (Col)1 << i)
                       : (at & chunks & ~(Col)0x7f) != 0)
            return false;
    }
    return true;
}

bool
layout_wgmma(const Layout *smem, int mn_dim, int mn, int elem_bytes, WgmmaOperand *w)
{
    if (smem->rank != 2 || elem_bytes > 4)
        return false;
    Matrix m = {.bits = layout_bits(smem),
                .mn_shift = layout_dim_shift(smem, mn_dim),
                .k_shift = layout_dim_shift(smem, 1 - mn_dim),
                .log2_mn = smem->log2_shape[mn_dim],
                .log2_k = smem->log2_shape[1 - mn_dim],
                .log2_elem = log2_of(elem_bytes)};
    int log2_mn = log2_of(mn), log2_k = log2_of(2 * CHUNK / elem_bytes);
    if (m.log2_mn < log2_mn || m.log2_k < log2_k)
        return false;
    layout_offsets(smem, m.offset_of);
    for (int major = 0; major < (elem_bytes == 2 ? 2 : 1); major++)
        for (int line = 128; line >= 32; line /= 2) {
            Col along = (Col)(line / elem_bytes), eight = LINES;
            *w = (WgmmaOperand){.line = line, .is_mn_major = major};
            if (major && along < (Col)mn)
                w->lbo = (int)byte_of(&m, along, 0);
            bool is_past = major ? log2_k > 3 : log2_mn > 3;
            if (is_past)
                w->sbo = (int)byte_of(&m, major ? 0 : eight, major ? eight : 0);
            if (holds(&m, w, log2_mn, log2_k))
                return true;
        }
    return false;
}
