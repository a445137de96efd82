/* panels: the second operand of a product in scratch, in the order in which it is read.
 *
 *     [K, N]  ->  [N / width][K / group][width][group]
 *
 * A panel is what one column of tiles reads, from the first byte to the last. Row-major, a tile of
 * 32 columns would read two lines of every row, which in a block of 256 columns share 8 of the
 * 64 sets of a cache. `group` rows stand side by side where an instruction adds up so many
 * products at a time:
 *
 *     row k      b0 b1 b2 ..
 *     row k + 1  c0 c1 c2 ..       =>   b0 c0 b1 c1 b2 c2 ..
 *
 * The nest that computes the operand writes it so: it takes the rows of a group together
 * (Group.n_rows), each waits in a slot, which LLVM makes a register, and the last one writes all.
 */
#include "codegen/host/dot.h"

View
host_panels(const Type *t, Buf *b, int width, int group)
{
    View w = host_view(t, b);
    w.width = width, w.group = group;
    return w;
}

/* `group` rows of n elements of `bytes`, as bytes, side by side. */
static Lv
interleave(Host *h, int group, int n, int bytes, Lv *row)
{
    Ll *l = h->l;
    Lv *pick = NEW_N(h->c->arena, Lv, n * bytes * group);
    for (int width = bytes; group > 1; group /= 2, width *= 2) {
        int size = n * width; /* of a row so far, in pieces of `width` bytes */
        for (int i = 0; i < 2 * size; i++)
            pick[i] =
                ll_i32(l, i / width % 2 * size + i / (2 * width) * width + i % width);
        Lv mask = LLVMConstVector(pick, (unsigned)(2 * size));
        for (int i = 0; i < group / 2; i++)
            row[i] = LLVMBuildShuffleVector(l->b, row[2 * i], row[2 * i + 1], mask, "");
    }
    return row[0];
}

void
host_keep_row(Host *h, const Type *t, Root *r, int row, Lv x, const Lv *index)
{
    Ll *l = h->l;
    int group = r->dest.group, bytes = ty_bytes(t);
    x = host_to_mem(h, t, x);
    int n = MAX(ll_lanes(x), 1);
    Lt as_bytes = LLVMVectorType(l->i8, (unsigned)(n * bytes));
    if (!r->acc)
        r->acc = NEW_N(h->c->arena, Lv, group);
    if (!r->acc[row])
        r->acc[row] = host_slot(h, as_bytes);
    LLVMBuildStore(l->b, LLVMBuildBitCast(l->b, x, as_bytes, ""), r->acc[row]);
    if (row < group - 1)
        return;
    Lv rows[MAX_GROUP];
    for (int i = 0; i < group; i++)
        rows[i] = LLVMBuildLoad2(l->b, as_bytes, r->acc[i], "");
    host_store_bytes(h, interleave(h, group, n, bytes, rows),
                     host_address(h, t, &r->dest, index));
}
