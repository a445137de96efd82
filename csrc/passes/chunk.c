/* chunk: whether big blocks are loops over chunks of registers, and how large those are.
 *
 * A kernel that wants many hundreds of registers would be one instruction a register, tens
 * of thousands in a row, all alive at once: ptxas takes minutes to spill them. So where a
 * kernel wants MAX_WORDS words or more (and nowhere else) a value with many registers never is
 * in registers as a whole (is_big):
 *
 *     func @f(..) {    =>    func @f(..) chunks 32 {
 *
 * The loops themselves are codegen's (codegen/simt/local.c).
 */
#include "passes/passes.h"

enum {
    MAX_WORDS = 1 << 9,          /* from here on: see codegen/simt/README.md */
    MAX_DOT_WORDS = 1 << 11,     /* the same of what has products: accumulators stay */
    MAX_STRAIGHT_CODE = 1 << 17, /* sorts: few words live, and thousands are made */
    MIN_CHUNK_BITS = 3,
    MUCH_CODE = 1 << 14, /* from here on chunks are smaller */
};

static bool
has_dot(const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        if (o->op == OP_DOT || o->op == OP_MMA_START)
            return true;
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            if (has_dot(o->regions[r]))
                return true;
    }
    return false;
}

/* Ops on values with many registers. */
static int
count_big(const Block *b)
{
    int n = 0;
    for (const Op *o = b->first; o; o = o->next) {
        bool is_big = false;
        for (int i = 0; i < o->n_results; i++)
            is_big |= has_many_registers(result(o, i));
        for (int i = 0; i < o->n_args; i++)
            is_big |= has_many_registers(arg(o, i));
        n += is_big;
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            n += count_big(o->regions[r]);
    }
    return n;
}

/* A network that sorts is a thousand ops, and each of them a loop. Chunks are smaller then,
 * and ptxas is asked not to unroll: a sort of 32768 by 4 warps takes it 2 s instead of 5. */
static int
bits_for(int n_ops)
{
    int bits = MAX_CHUNK_BITS;
    while (bits > MIN_CHUNK_BITS && (int64_t)n_ops << bits > MUCH_CODE)
        bits--;
    return bits;
}

void
pass_chunk(Func *f)
{
    check_threads(f);
    bool has_acc = has_dot(f->body);
    if (most_live_words(f) >= (has_acc ? MAX_DOT_WORDS : MAX_WORDS) ||
        kernel_code_size(f) >= (has_acc ? MAX_CODE : MAX_STRAIGHT_CODE))
        f->chunk_bits = bits_for(count_big(f->body));
}
