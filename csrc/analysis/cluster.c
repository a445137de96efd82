/* cluster: how many thread blocks share one program.
 *
 * A row that does not fit the registers of one block at a good size is held by the blocks of a
 * cluster: to the layouts they are just more warps of the program. What blocks cannot share
 * is shared memory and barriers, so this is for programs that only load, compute, reduce
 * and store: softmax, norms, losses. A reduction sends its warps' partial results to every
 * block of the cluster (reduce.c).
 *
 *     32768 x bf16, 8 warps     256 bytes a thread     4 blocks, 64 bytes a thread each
 *      4096 x bf16, 1 warp      256 bytes a thread     1 block: 8 KB of it are few
 *
 * num_ctas of the launch asks for a number of blocks; by itself the compiler takes clusters
 * where a block would hold more than GOOD_BLOCK_BYTES of a row in one straight line of code,
 * or a thread more than MAX_BYTES. Blocks of one or two warps that share a row hold so few
 * bytes that they wait for each other most of the time: on an H200, rows of 4096 bf16 by
 * one warp run at 1.09 of Triton's speed in one block and at 0.60 in four. A program that is
 * not of this kind runs in one block, whatever is asked: what it computes is the same.
 *
 * Rule 1: block values are 1-D, all of one size, so no value ever changes its layout.
 * Rule 2: reductions stand outside loops and branches: each has a barrier that is used once.
 * Rule 3: no scalar is read through an argument that is also stored through: the store is
 *         another block's, and nothing puts the two in order.
 */
#include "analysis/analysis.h"

enum {
    GOOD_BLOCK_BYTES =
        32 << 10, /* of one row or two in the registers of one block .. */
    MOST_ROWS = 2,
    GOOD_BYTES = 64, /* .. but not less than so many a thread */
    MAX_BYTES = 256, /* of a row in a thread's registers */
    MIN_BYTES =
        16, /* asked for: each block still has a whole vector for every thread */
    LOG2_MAX_WARPS = 5, /* of all blocks: one partial result a lane */
    LOG2_MAX_CTAS = 3,  /* what every machine with clusters takes */
    MAX_REDUCES = 32,
    MAX_ROOTS = 16,
};

typedef struct Look {
    int64_t numel; /* of the blocks; 0: none seen */
    int row_bytes; /* of the widest element in memory, in bytes */
    int n_rows;    /* that are loaded, without those which all programs load */
    int n_reduces;
    bool has_loop;
    const Val *stored[MAX_ROOTS], *read[MAX_ROOTS]; /* arguments; read: by scalars */
    int n_stored, n_read;
    bool fits;
} Look;

static bool
shapes_fit(Look *k, const Type *t)
{
    if (!t->rank)
        return true;
    if (t->rank > 1 || (k->numel && k->numel != t->shape[0]))
        return false;
    k->numel = t->shape[0];
    return true;
}

/* The argument a pointer is made of; NULL: not plain to see. */
static const Val *
root_of(const Val *v)
{
    while (v->type->is_ptr && v->def && v->def->n_args)
        v = arg(v->def, 0);
    return v->type->is_ptr && !v->def && !v->block->owner ? v : NULL;
}

static void
note_pointer(Look *k, const Val **at, int *n, const Val *pointer)
{
    const Val *root = root_of(pointer);
    if (root && *n < MAX_ROOTS)
        at[(*n)++] = root;
    else
        k->fits = false;
}

static bool
reads_what_it_stores(const Look *k)
{
    for (int i = 0; i < k->n_read; i++)
        for (int j = 0; j < k->n_stored; j++)
            if (k->read[i] == k->stored[j])
                return true;
    return false;
}

static void look_at(Look *k, const Block *b, bool is_body);

static void
look_at_op(Look *k, const Op *o, bool is_body)
{
    for (int i = 0; i < o->n_results; i++)
        k->fits = k->fits && shapes_fit(k, o->results[i]->type);
    switch (o->op) {
    case OP_LOAD:
        if (!result(o, 0)->type->rank)
            note_pointer(k, k->read, &k->n_read, arg(o, 0));
        else {
            k->row_bytes = MAX(k->row_bytes, elem_info[result(o, 0)->type->elem].bytes);
            k->n_rows += !is_common_load(o);
        }
        return;
    case OP_STORE: note_pointer(k, k->stored, &k->n_stored, arg(o, 0)); return;
    case OP_REDUCE:
        k->n_reduces++;
        k->fits = k->fits && is_body;
        return;
    case OP_FOR:
    case OP_WHILE:
        k->has_loop = true;
        /* fall through */
    case OP_IF:
        for (int i = 0; i < o->n_regions; i++)
            look_at(k, o->regions[i], false);
        return;
    case OPS(OPS_VALUES, OPS_ENDS, OP_ASSUME): return;
    case OPS(OPS_SHAPE, OPS_ELEM, OPS_RARE_ACCESS, OPS_TENSOR, OP_SCAN, OP_DOT,
             OP_GATHER, OP_HISTOGRAM, OP_SORT, OPS_FOREIGN, OP_ASSERT, OP_PRINT,
             OP_DEBUG, OPS_THREADS):
        k->fits = k->fits && op_has(o, OPF_ELEM);
    }
}

static void
look_at(Look *k, const Block *b, bool is_body)
{
    for (const Op *o = b->first; o && k->fits; o = o->next)
        look_at_op(k, o, is_body);
}

/* Should a row of which one block has so many bytes, and a thread so many, be shared? */
static bool
is_too_much(const Options *opt, int64_t of_block, int64_t of_thread)
{
    if (opt->num_ctas > 1)
        return of_thread > MIN_BYTES;
    return of_thread > MAX_BYTES ||
           (of_block > GOOD_BLOCK_BYTES && of_thread > GOOD_BYTES);
}

int
cluster_log2_ctas(const Func *f)
{
    const Options *opt = &f->c->opt;
    if (opt->target.kind == TARGET_CPU || opt->target.sm < 90 || opt->num_ctas > 16)
        return 0;
    Look k = {.fits = true};
    look_at(&k, f->body, true);
    if (!k.fits || reads_what_it_stores(&k) || !k.n_reduces ||
        k.n_reduces > MAX_REDUCES || !k.row_bytes)
        return 0;
    int log2_warps = __builtin_ctz((unsigned)f->team_warps), log2_ctas = 0;
    int64_t threads = 32LL << log2_warps;
    int64_t bytes = k.numel * k.row_bytes; /* of the row, in one block */
    int64_t rows = MAX(MIN(k.n_rows, MOST_ROWS), 1);
    int most = opt->num_ctas > 1 ? __builtin_ctz((unsigned)opt->num_ctas)
               : k.has_loop      ? 0
                                 : LOG2_MAX_CTAS;
    while (
        log2_ctas < most && log2_warps + log2_ctas < LOG2_MAX_WARPS &&
        is_too_much(opt, (bytes >> log2_ctas) * rows, (bytes >> log2_ctas) / threads))
        log2_ctas++;
    return log2_ctas;
}
