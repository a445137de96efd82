/* wish_layouts: the first look of assign_layouts: what layout would each value like? It is one file, as
 * the wishes of values, accesses and classes of accesses ask for each other.
 *
 * The rules stand at the top of assign_layouts.c; nothing is changed here. A value's wish
 * is found forward, from its operands; only cheap values carried by a loop look at what
 * they are used for (hinted).
 *
 * Rule 1: facts are asked of the function as it is, before anything changes.
 * Rule 2: a wish without a value is &layouts_any; NULL means scalar, or not seen yet.
 */
#include "passes/simt/layouts.h"

#include <assert.h>
#include <stdlib.h>

enum {
    MAX_ROUNDS = 3, /* over a loop's body until its carried layouts settle */
    CHEAP_BUDGET = WISHES_CHEAP,
    SPREAD_BUDGET = 48, /* ops looked at to see that a value is made of rows */
    SPREAD_SHRINK = 4,  /* by what a row must be smaller than what it is spread over */
    HINT_BUDGET = 64,
    USES_BUDGET = 32,   /* of what a load feeds */
    STRIDE_DEPTH = 16,  /* ops behind a pointer */
    MIN_STORE_RUN = 32, /* bytes: a sector of memory */
    MOST_ALONG = 5,     /* log2 of the elements that a thread scans in a row */
    MAX_VEC_BYTES = 16,
    MAX_LOG2_BYTES = 4, /* of them */
    LINE = 128,         /* bytes of memory that an access takes at a time */
    SECTOR = 32,        /* of which it may take some */
    WARP = 32,
};

static const Layout layouts_any; /* the wish of a cheap value */

typedef struct Wish {
    const Layout *layout; /* NULL, &layouts_any, or interned */
    bool gives_way;       /* made by broadcast: gives way to any other */
    int cost;             /* of making a cheap value again */
    bool is_sum;          /* a product's sum lies so */
} Wish;

struct Wishes {
    Func *f;
    Comp *c;
    FactTable *facts;
    int log2_warps;
    bool has_dot;
    Wish *wish; /* by value id; values made later have none */
    int n_wish;
    Map vec;       /* access class -> Width */
    Map op_layout; /* Op -> Layout of the operands it works on */
    Map access;    /* Op (load, store, atomic) -> its coalesced Layout */
    Map scattered; /* Op (no atomic) that takes one element at a time -> itself */
};

/* ---- layouts ------------------------------------------------------------------------- */

/* Fastest first: `first`, then the others from the last to the first. */
static void
fill_order(int rank, int first, int *order)
{
    int n = 0;
    order[n++] = first;
    for (int d = rank - 1; d >= 0; d--)
        if (d != first)
            order[n++] = d;
}

/* 1 << log2_vec elements a thread along `fastest`, and as many as it may have along `along`, if that is not
 * -1; never so many that threads go idle. A warp has 1 << log2_line elements of a row, and more rows. */
static const Layout *
blocked_lines(Wishes *s, const Type *t, int fastest, int log2_vec, int along,
              int log2_line)
{
    int per_thread[MAX_RANK], order[MAX_RANK];
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    int log2_each = log2_of(ty_numel(t)) - LANE_BITS - s->log2_warps;
    log2_vec = MIN(log2_vec, MIN((int)shape[fastest], MAX(log2_each, 0)));
    for (int d = 0; d < t->rank; d++)
        per_thread[d] = d == fastest ? 1 << log2_vec : 1;
    if (along >= 0)
        per_thread[along] = 1 << MIN(MIN(MAX(log2_each, 0) - log2_vec, MOST_ALONG),
                                     (int)shape[along]);
    fill_order(t->rank, fastest, order);
    return layout_dedup_regs(s->c,
                             layout_blocked_lines(s->c, t->rank, shape, per_thread,
                                                  s->log2_warps, order, log2_line));
}

static const Layout *
blocked(Wishes *s, const Type *t, int fastest, int log2_vec)
{
    return blocked_lines(s, t, fastest, log2_vec, -1, MAX_BITS);
}

const Layout *
wishes_default(Wishes *s, const Type *t)
{
    return blocked(s, t, t->rank - 1, 2);
}

const Layout *
wishes_of_copies(Wishes *s, const Op *load)
{
    enum { MIN_COPY = 4 };
    const Type *t = result(load, 0)->type;
    uint8_t shape[MAX_RANK];
    int bytes = elem_info[t->elem].bytes,
        vec = facts_access_log2(s->facts, load, 0, MAX_VEC_BYTES);
    if (t->rank != 1 || bytes << vec < MIN_COPY)
        return NULL;
    ty_log2_shape(t, shape);
    return layout_dedup_regs(s->c, layout_blocked(s->c, 1, shape, (int[]){1 << vec},
                                                  s->log2_warps, (int[]){0}));
}

/* A block that is read out of shared memory as it lies in its tensor. */
static const Layout *
lines_of(Wishes *s, const Val *v)
{
    const Type *t = v->type;
    return blocked(s, t, t->rank - 1,
                   log2_of(MAX_VEC_BYTES / elem_info[t->elem].bytes));
}

/* The accumulator of a dot by multiply-adds: a square patch a thread, so that operands
 * read from shared memory are used as often as possible. */
static const Layout *
fma_acc_layout(Wishes *s, const Type *t)
{
    int per_thread[MAX_RANK], order[MAX_RANK];
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    for (int d = 0; d < t->rank; d++)
        per_thread[d] = 1;
    int m = t->rank - 2, n = t->rank - 1;
    int left = MAX(shape[m] + shape[n] - LANE_BITS - s->log2_warps, 0);
    int along_n = MIN(MIN((left + 1) / 2, 2), (int)shape[n]);
    int along_m = MIN(MIN(left - along_n, 2), (int)shape[m]);
    per_thread[n] = 1 << along_n;
    per_thread[m] = 1 << along_m;
    fill_order(t->rank, n, order);
    return layout_dedup_regs(s->c, layout_blocked(s->c, t->rank, shape, per_thread,
                                                  s->log2_warps, order));
}

static const Layout *
acc_layout(Wishes *s, const Op *dot)
{
    DotPlan p;
    dot_plan(s->f, dot, &p);
    const Type *t = dot->results[0]->type;
    if (!p.is_mma)
        return fma_acc_layout(s, t);
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    if (p.is_wgmma) {
        const Layout *l = layout_wgmma_acc(s->c, shape, p.log2_warps_m, p.log2_warps_n);
        return p.is_a_words ? layout_wgmma_by_words(s->c, l) : l;
    }
    return layout_mma_acc(s->c, t->rank, shape, p.log2_warps_m, p.log2_warps_n);
}

/* Every basis is one bit or none: an input bit moves along one dim. */
static bool
has_unit_bases(const Layout *l)
{
    for (int in = 0; in < N_IN; in++)
        for (int i = 0; i < l->n[in]; i++)
            if (l->basis[in][i] & (l->basis[in][i] - 1))
                return false;
    return true;
}

/* Bytes that one access of a warp covers without a gap along dim. */
static int
run_bytes(const Layout *l, int dim, int elem_bytes)
{
    int bit[MAX_BITS], shift = layout_dim_shift(l, dim);
    Col seen =
        ((Col)1 << layout_run(l, dim, log2_of(MAX_VEC_BYTES / elem_bytes), bit)) - 1;
    for (int i = 0; i < l->n[IN_LANE]; i++)
        seen |= l->basis[IN_LANE][i] >> shift;
    int run = 0;
    while (run < l->log2_shape[dim] && seen >> run & 1)
        run++;
    return elem_bytes << run;
}

/* ---- accesses --------------------------------------------------------------------------- */

static int
pointee_bytes(const Type *ptr)
{
    return elem_info[ptr->elem].bytes;
}

typedef struct AccessClass {
    int32_t rank, fastest, shape[MAX_RANK];
    int32_t moves; /* bytes of an element that goes to a product or comes from one */
} AccessClass;

/* Does v go to products alone, and so through shared memory? */
static bool
is_for_dots(const Val *v, int *budget)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        bool is_operand = o->op == OP_DOT && u - o->args < 2;
        if (--*budget < 0 || (!is_operand && ((o->op != OP_CAST && o->op != OP_TRANS) ||
                                              !is_for_dots(result(o, 0), budget))))
            return false;
    }
    return true;
}

static AccessClass
class_of(Wishes *s, const Op *o)
{
    AccessClass k;
    memset(&k, 0, sizeof k);
    const Type *t = arg(o, 0)->type;
    k.rank = t->rank;
    k.fastest = facts_fastest_dim(s->facts, o);
    memcpy(k.shape, t->shape, sizeof k.shape);
    int budget = HINT_BUDGET;
    bool moves = op_is_atomic(o)
                     ? comes_from_dot(arg(o, 1), &budget)
                     : o->op == OP_LOAD && is_for_dots(result(o, 0), &budget);
    k.moves = moves ? pointee_bytes(t) : 0;
    return k;
}

/* Bytes of an element of the operand that tensor cores read in shared memory, and threads compute from
 * v one by one; 0: there is none. */
static int
made_bytes(Wishes *s, const Val *v, int *budget)
{
    for (const Use *u = v->uses; u && --*budget >= 0; u = u->next) {
        const Op *o = u->user;
        DotPlan p = {0};
        int i = (int)(u - o->args), bytes = 0;
        if (o->op == OP_DOT && i < 2 && !hopper_dot(s->f, o, &p) &&
            !(p.is_a_regs && !i))
            return elem_info[v->type->elem].bytes;
        if (op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && o->n_results == 1)
            bytes = made_bytes(s, result(o, 0), budget);
        if (bytes)
            return bytes;
    }
    return 0;
}

/* What threads load in 16 bytes and store wider goes to lines of 128 bytes of a swizzled slot. Half of a
 * warp's threads would meet those of the other half in their banks, in the next column of lines, where a warp
 * does not go on in the next row. int8 to bf16, 64x256: 256 accesses of a warp for 512. */
static int
line_of(Wishes *s, const Op *o)
{
    int budget = USES_BUDGET;
    bool is_byte = o->op == OP_LOAD && pointee_bytes(arg(o, 0)->type) == 1;
    int bytes = is_byte ? made_bytes(s, result(o, 0), &budget) : 0;
    return bytes > 1 ? log2_of(LINE / bytes) : MAX_BITS;
}

/* Elements a thread has in a row, for all accesses of a class: 1 << log2. */
typedef struct Width {
    int widest; /* log2 of the widest vector */
    int along; /* 1 + the dim, other than the fastest, of which a thread scans elements in a row; 0: none */
    int loaded; /* 1 + log2 of the widest vector that is loaded; 0: none is */
    int stored; /* 1 + log2 of the narrowest that is stored; 0: none is */
    bool is_masked;
    bool has_gaps; /* an access takes every second element, or fewer */
    int in_sector; /* 1 + log2 of the elements of a sector, where neighbours come one by one; 0: none do */
    VEC(const Op *) accesses;
    /* of a multiprocessor, for so many elements, by log2 */
    int64_t steps[MAX_LOG2_BYTES + 1];
} Width;

/* The constant by which v grows from each element to the next along dim, in aligned runs of
 * 1 << MAX_LOG2_BYTES of them; false: there is none, or it is not plain to see. */
static bool
stride_in_runs(FactTable *t, const Val *v, int dim, int depth, int64_t *c)
{
    enum { RUN = MAX_LOG2_BYTES };
    const Op *o = v->def;
    int64_t x, y;
    if (!v->type->rank || facts_constancy(t, v, dim, RUN) >= RUN)
        return *c = 0, true;
    if (facts_contiguity(t, v, dim, RUN) >= RUN)
        return *c = 1, true;
    if (!o || !depth-- || !op_has(o, OPF_PURE))
        return false;
    if (o->op == OP_BROADCAST || o->op == OP_CAST)
        return stride_in_runs(t, arg(o, 0), dim, depth, c);
    if (o->op == OP_MUL && ir_const_as_int(arg(o, 1), &y) && llabs(y) <= LINE) {
        bool is_known = stride_in_runs(t, arg(o, 0), dim, depth, &x) &&
                        llabs(x) <= LINE;
        *c = is_known ? x * y : 0;
        return is_known;
    }
    if ((o->op != OP_ADD && o->op != OP_SUB && o->op != OP_ADDPTR) ||
        !stride_in_runs(t, arg(o, 0), dim, depth, &x) ||
        !stride_in_runs(t, arg(o, 1), dim, depth, &y))
        return false;
    *c = o->op == OP_SUB ? x - y : x + y;
    return true;
}

/* Is v's stride along dim a number that is not known? It may be 2, as where tensors are stacked; where it
 * is large, it is as large for narrow accesses. */
static bool
has_some_stride(const Val *v, int dim)
{
    int distance = v->type->rank ? facts_distance(NULL, v, dim) : 0;
    return distance > 0 && distance < SCATTERED;
}

/* An access of a warp costs as many steps as it touches lines of memory. Elements that a thread
 * has in a row come by one access where they lie side by side. Where they lie apart they come one by one, and
 * each access touches as many lines as a vector would; so do those of an atomic that adds fewer at a time. */
static void
count_lines(Wishes *s, const Op *o, int fastest, int vec, Width *w)
{
    int64_t gap = 1, c;
    if (!vec && stride_in_runs(s->facts, arg(o, 0), fastest, STRIDE_DEPTH, &c)) {
        gap = MIN(MAX(llabs(c), 1), LINE);
        int most = 1 + log2_of(SECTOR / pointee_bytes(arg(o, 0)->type));
        if (c == 1)
            w->in_sector = w->in_sector ? MIN(w->in_sector, most) : most;
    } else if (!vec && !op_is_atomic(o))
        gap = has_some_stride(arg(o, 0), fastest) ? 2 : 1;
    else if (!vec && op_is_atomic(o)) /* at any addresses, in any layout */
        return;
    w->has_gaps |= gap > 1 || op_is_atomic(o);
    for (int v = 0; v <= MAX_LOG2_BYTES; v++) {
        int64_t bytes = (gap * WARP << v) * pointee_bytes(arg(o, 0)->type),
                lines = MIN(MAX(bytes / LINE, 1), WARP);
        w->steps[v] += lines << (MAX_LOG2_BYTES - MIN(v, vec));
    }
}

/* Quotients and remainders of places are the same, or count, over runs of elements, so a thread computes one for all that it
 * has in a row. The fewer these are, the more quotients there are. An im2col with stride 2 by 1024 elements and 4 warps on
 * an H100 takes 66 us with one element in a row, which touches the fewest lines, and 31 with four. */
static void
count_quotients(Wishes *s, const Val *v, int dim, Map *seen, Width *w)
{
    enum { STEPS = 6, BY_CONSTANT = 2, MOST_SEEN = 256 }; /* a step: 4 instructions */
    const Op *o = v->def;
    int64_t n;
    if (!o || !is_block(v) || !op_has(o, OPF_ELEM) || !op_has(o, OPF_PURE) ||
        seen->n > MOST_SEEN || map_get(seen, v, 0))
        return;
    map_put(seen, v, 0, (void *)v);
    if ((o->op == OP_DIV || o->op == OP_REM) && !elem_is_float(v->type->elem)) {
        int run = o->op == OP_DIV ? facts_constancy(s->facts, v, dim, MAX_LOG2_BYTES)
                                  : facts_contiguity(s->facts, v, dim, MAX_LOG2_BYTES),
            steps = ir_const_as_int(arg(o, 1), &n) ? BY_CONSTANT : STEPS;
        for (int k = 0; k <= MAX_LOG2_BYTES; k++)
            w->steps[k] += steps << (MAX_LOG2_BYTES - MIN(k, run));
    }
    for (int i = 0; i < o->n_args; i++)
        count_quotients(s, arg(o, i), dim, seen, w);
}

/* log2 of the elements that an atomic may take at a time. */
static int
atomic_width(Wishes *s, const Op *o, int fastest)
{
    const Type *t = result(o, 0)->type;
    int bytes = elem_info[t->elem].bytes, most = bytes;
    if (o->op == OP_ATOMIC_RMW && ir_attr(o, ATTR_RMW) == RMW_ADD &&
        elem_is_float(t->elem) && bytes <= 4)
        most = s->c->opt.target.sm >= 90 ? MAX_VEC_BYTES : MAX(bytes, 4);
    return facts_access_log2(s->facts, o, fastest, most);
}

/* The least width, as log2, for which a store leaves no gaps in what a thread loads in a row: those are half sectors of
 * memory. float8 that becomes bf16, 128x128 by 8 warps on an H100, takes 53 us by 16 elements and 36 by 8. A mask of
 * each few elements of a long row is a predicate, of which a thread has seven; MAX_BITS: there is no such width. */
static int
stored_whole(const Wishes *s, const Type *t, const Width *w)
{
    enum { MOST_MASKS = 3 }; /* log2 */
    int each = log2_of(ty_numel(t)) - LANE_BITS - s->log2_warps;
    if (s->has_dot || !w->stored || w->stored >= w->loaded)
        return MAX_BITS;
    return MAX(w->stored - 1, w->is_masked && t->rank == 1 ? each - MOST_MASKS : 0);
}

/* The widest, or less where that leaves gaps. Where threads take neighbours one by one they have no more of them
 * than lie in a sector, which is then read once: what a mask of bytes picks of f32, 2048 by 4 warps on an H100, takes
 * 87 us by 16 elements and 51 by 8 (Triton 65). */
static int
best_width(Wishes *s, const Type *t, int fastest, Width *w)
{
    int best = w->in_sector ? MIN(w->widest, w->in_sector - 1) : w->widest,
        least = w->has_gaps ? 0 : stored_whole(s, t, w);
    if (least >= best)
        return best;
    Map seen = {.a = s->c->arena};
    for (; w->accesses.n; w->accesses.n--) {
        const Op *o = w->accesses.at[w->accesses.n - 1];
        count_quotients(s, arg(o, 0), fastest, &seen, w);
        if (op_mask(o))
            count_quotients(s, op_mask(o), fastest, &seen, w);
    }
    for (int v = best; v >= least; v--)
        if (w->steps[v] < w->steps[best])
            best = v;
    return best;
}

/* 1 + the dim along which what is computed of v, one by one, is scanned; 0: none. */
static int
scanned_dim(const Val *v, int *budget)
{
    int dim = 0;
    for (const Use *u = v->uses; u && !dim && --*budget >= 0; u = u->next) {
        const Op *o = u->user;
        if (o->op == OP_SCAN)
            dim = 1 + (int)ir_attr(o, ATTR_AXIS);
        else if (op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && o->n_results == 1)
            dim = scanned_dim(result(o, 0), budget);
    }
    return dim;
}

/* Threads that have the next elements of a dim in a row scan them alone, and tell others of their sums only. Where
 * rows are lines of memory of their own, it is the same to memory which of them a thread takes. Cumulative sums of
 * 64x64 by 2 warps: 16 shuffles a thread, and 128 where each has every eighth row. */
static int
scanned_rows(const Op *load, int fastest)
{
    int budget = USES_BUDGET, dim = 0;
    const Type *t = arg(load, 0)->type;
    if (load->op == OP_LOAD && t->shape[fastest] * pointee_bytes(t) >= LINE / 2)
        dim = scanned_dim(result(load, 0), &budget);
    return dim == 1 + fastest ? 0 : dim;
}

/* Both walks over the accesses: how wide each class is, then the layouts. */
static void
scan_accesses(Wishes *s, const Block *b, bool assign)
{
    EACH_OP_INSIDE_OUT(o, b) {
        if (!op_has_pointers(o) || !is_block(arg(o, 0)))
            continue;
        AccessClass k = class_of(s, o);
        Width *w = map_get(&s->vec, &k, sizeof k);
        if (!w) {
            w = NEW(s->c->arena, Width);
            map_put(&s->vec, &k, sizeof k, w);
        }
        if (assign) {
            map_put(&s->access, o, 0,
                    (void *)blocked_lines(s, arg(o, 0)->type, k.fastest,
                                          best_width(s, arg(o, 0)->type, k.fastest, w),
                                          w->along - 1, line_of(s, o)));
            continue;
        }
        PUSH(s->c->arena, &w->accesses, o);
        if (!op_is_atomic(o)) {
            MaskEdges e;
            int vec = facts_ragged_log2(s->facts, o, k.fastest, MAX_VEC_BYTES, &e);
            if (!vec)
                map_put(&s->scattered, o, 0, o);
            w->widest = MAX(w->widest, vec);
            if (o->op == OP_STORE && vec)
                w->stored = w->stored ? MIN(w->stored, vec + 1) : vec + 1;
            else if (o->op == OP_LOAD && vec)
                w->loaded = MAX(w->loaded, vec + 1);
            w->is_masked |= op_mask(o) != NULL;
            w->along = MAX(w->along, scanned_rows(o, k.fastest));
            count_lines(s, o, k.fastest, vec, w);
        } else {
            int vec = atomic_width(s, o, k.fastest);
            w->widest = MAX(w->widest, vec);
            count_lines(s, o, k.fastest, vec, w);
        }
    }
}

static const Layout *
access_layout(Wishes *s, const Op *o)
{
    return map_get(&s->access, o, 0);
}

bool
wishes_is_scattered(const Wishes *s, const Op *o)
{
    return map_get(&s->scattered, o, 0);
}

/* ---- first look: wishes ------------------------------------------------------------------- */

static Wish *
wish(Wishes *s, const Val *v)
{
    assert(v->id < s->n_wish);
    return &s->wish[v->id];
}

bool
wishes_any(const Wishes *s, const Val *v)
{
    return v->id < s->n_wish && s->wish[v->id].layout == &layouts_any;
}

/* Is v computed of rows and columns alone: addresses and masks of rows that were loaded?
 *
 *     %p = addptr %e, (add (broadcast %row), (broadcast %column))      128 x 256 pointers
 *
 * Moving %row, 128 numbers, and computing %p again is far less than moving %p. Integers
 * and pointers only: their arithmetic is one instruction, and exact. */
static bool
is_spread(const Wishes *s, const Val *v, int *budget)
{
    if (!is_block(v) || wishes_any(s, v))
        return true;
    const Op *o = v->def;
    if (!o || --*budget < 0 || (elem_is_float(v->type->elem) && !v->type->is_ptr))
        return false;
    if (o->op == OP_BROADCAST)
        return ty_numel(arg(o, 0)->type) * SPREAD_SHRINK <= ty_numel(v->type);
    if (!op_has(o, OPF_ELEM) || !op_has(o, OPF_PURE) || o->n_results != 1 ||
        op_has(o, OPF_SLOW | OPF_HEAVY) || o->n_regions)
        return false;
    for (int i = 0; i < o->n_args; i++)
        if (!is_spread(s, arg(o, i), budget))
            return false;
    return true;
}

bool
wishes_is_spread(const Wishes *s, const Val *v)
{
    int budget = SPREAD_BUDGET;
    return is_spread(s, v, &budget);
}

bool
wishes_gives_way(const Wishes *s, const Val *v)
{
    return v->id < s->n_wish && s->wish[v->id].gives_way;
}

static void
set_wish(Wishes *s, const Val *v, const Layout *l, bool gives_way)
{
    *wish(s, v) = (Wish){.layout = is_block(v) ? l : NULL, .gives_way = gives_way};
}

int
wishes_weight(const Op *o)
{
    if (!op_has(o, OPF_SLOW | OPF_HEAVY))
        return 1;
    return elem_is_float(arg(o, 0)->type->elem) ? CHEAP_BUDGET : 8;
}

/* Is v a product's result, perhaps cast? */
static bool
is_product(const Val *v)
{
    const Op *o = v->def;
    return o && (o->op == OP_DOT || (o->op == OP_CAST && is_product(arg(o, 0))));
}

/* The layout of v in which it meets a product's result under its indices; NULL: none is known. */
static const Layout *
beside_product(Wishes *s, const Val *v, int *budget)
{
    for (const Use *u = v->uses; u && --*budget >= 0; u = u->next) {
        const Op *o = u->user;
        bool is_view = op_has(o, OPF_VIEW) || o->op == OP_BROADCAST,
             is_plain = op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && o->n_results == 1;
        for (int i = 0; i < o->n_args && is_plain; i++)
            if (is_product(arg(o, i)))
                return wish(s, arg(o, i))->layout;
        const Layout *l = is_view || is_plain ? beside_product(s, result(o, 0), budget)
                                              : NULL;
        l = l && is_view ? layouts_operand(s->c, o, l) : l;
        if (l)
            return l;
    }
    return NULL;
}

/* A row of which a thread wants a few numbers beside a product's result, and which comes number by number,
 * is loaded by who wants it: the scales of rows of float8. */
static const Layout *
row_layout(Wishes *s, const Op *load)
{
    enum { FEW = 2 }; /* log2 */
    int budget = USES_BUDGET;
    const Layout *l = load->op == OP_LOAD && result(load, 0)->type->rank == 1 &&
                              wishes_is_scattered(s, load)
                          ? beside_product(s, result(load, 0), &budget)
                          : NULL;
    return l && l->n[IN_REG] <= FEW ? l : NULL;
}

static const Layout *hint_of(Wishes *s, const Val *v, int *budget);

static const Layout *
hint_of_use(Wishes *s, const Use *u, int *budget)
{
    const Op *o = u->user;
    int i = (int)(u - o->args);
    if (op_has_pointers(o)) {
        const Layout *row = i ? NULL : row_layout(s, o);
        return row ? row : access_layout(s, o);
    }
    if (op_has(o, OPF_ELEM))
        return hint_of(s, o->results[0], budget);
    const Layout *l = NULL;
    if (op_has(o, OPF_VIEW) || o->op == OP_BROADCAST) {
        l = hint_of(s, o->results[0], budget);
        return l ? layouts_operand(s->c, o, l) : NULL;
    }
    if (o->op == OP_FOR && i >= 3) {
        l = hint_of(s, o->regions[0]->args[i - 2], budget);
        return l ? l : hint_of(s, o->results[i - 3], budget);
    }
    if (o->op == OP_WHILE)
        return hint_of(s, o->regions[0]->args[i], budget);
    if (o->op == OP_CONDITION && i >= 1) {
        l = hint_of(s, o->block->owner->regions[1]->args[i - 1], budget);
        return l ? l : hint_of(s, o->block->owner->results[i - 1], budget);
    }
    if (o->op == OP_YIELD && o->block->owner->op == OP_IF)
        return hint_of(s, o->block->owner->results[i], budget);
    return NULL;
}

/* The layout that the accesses want which v reaches; NULL: none found. */
static const Layout *
hint_of(Wishes *s, const Val *v, int *budget)
{
    if (v->id < s->n_wish && s->wish[v->id].layout && !wishes_any(s, v))
        return s->wish[v->id].layout;
    const Layout *found = NULL;
    int oldest = INT32_MAX;
    for (const Use *u = v->uses; u; u = u->next) {
        if (--*budget < 0)
            break;
        const Layout *l = hint_of_use(s, u, budget);
        /* The list of uses is newest first; take the earliest access. */
        int id = u->user->n_results ? u->user->results[0]->id : INT32_MAX - 1;
        if (l && id < oldest) {
            found = l;
            oldest = id;
        }
    }
    return found;
}

/* A layout for a value nobody upstream has an opinion on. */
static const Layout *
hinted(Wishes *s, const Val *v)
{
    int budget = HINT_BUDGET;
    const Layout *l = hint_of(s, v, &budget);
    return l ? l : wishes_default(s, v->type);
}

/* The wish of the first block operand from `first` on that has one; NULL: all cheap. */
static const Wish *
first_wish(Wishes *s, const Op *o, int first)
{
    const Wish *weak = NULL;
    for (int i = first; i < o->n_args; i++) {
        const Wish *w = wish(s, arg(o, i));
        if (!w->layout || w->layout == &layouts_any)
            continue;
        if (!w->gives_way)
            return w;
        if (!weak)
            weak = w;
    }
    return weak;
}

/* Is v, perhaps after some arithmetic, a factor of a product, or what a loop carries on? */
static bool
is_factor(const Val *v, int *budget)
{
    for (const Use *u = v->uses; u && --*budget >= 0; u = u->next) {
        const Op *o = u->user, *loop = o->block->owner;
        int i = (int)(u - o->args);
        const Val *next = NULL;
        if (op_has(o, OPF_ELEM) && o->n_results == 1)
            next = result(o, 0);
        if ((o->op == OP_YIELD && loop->op == OP_FOR) || (o->op == OP_DOT && i < 2) ||
            (next && is_factor(next, budget)))
            return true;
    }
    return false;
}

/* Are o's operands that lie elsewhere than the sum made of fewer bytes, which move before they are cast? */
static bool
meets_narrow(Wishes *s, const Op *o, const Wish *sum)
{
    for (int i = 0; i < o->n_args; i++) {
        const Val *v = arg(o, i);
        const Layout *l = wish(s, v)->layout;
        if (l && l != &layouts_any && l != sum->layout &&
            !(v->def && v->def->op == OP_CAST &&
              ty_bits(arg(v->def, 0)->type) < ty_bits(v->type)))
            return false;
    }
    return true;
}

/* In a chain of products, and in a loop that adds to what was loaded, what meets their sums lies as they do: it
 * moves once, and not each sum. So does what has fewer bytes, where the sum is wanted for something else, too. */
static const Wish *
elementwise_wish(Wishes *s, const Op *o)
{
    const Wish *w = first_wish(s, o, 0);
    for (int i = 0; i < o->n_args; i++) {
        const Wish *sum = wish(s, arg(o, i));
        int budget = HINT_BUDGET;
        if (sum->is_sum && w->layout != sum->layout &&
            (is_factor(result(o, 0), &budget) ||
             (!ir_has_one_use(arg(o, i)) && meets_narrow(s, o, sum))))
            return sum;
    }
    return w;
}

static void
wish_elementwise(Wishes *s, const Op *o)
{
    const Val *r = o->results[0];
    const Wish *w = elementwise_wish(s, o);
    if (w) {
        set_wish(s, r, w->layout, w->gives_way);
        wish(s, r)->is_sum = w->is_sum;
        return;
    }
    int cost = wishes_weight(o);
    for (int i = 0; i < o->n_args; i++)
        cost += wish(s, arg(o, i))->cost;
    if (cost >= CHEAP_BUDGET)
        set_wish(s, r, hinted(s, r), false);
    else
        *wish(s, r) = (Wish){.layout = &layouts_any, .cost = cost};
}

/* With effects it runs even if nobody wants what it gives, so it is never cheap; nor is it
 * with several results, all of which lie as one does. */
static void
wish_assembly(Wishes *s, const Op *o)
{
    if (o->op == OP_INLINE_ASM && o->n_results == 1) {
        wish_elementwise(s, o);
        return;
    }
    const Wish *w = first_wish(s, o, 0);
    const Layout *l = w            ? w->layout
                      : !o->n_args ? wishes_default(s, o->results[0]->type)
                                   : wishes_default(s, arg(o, 0)->type);
    for (int i = 0; i < o->n_results; i++)
        set_wish(s, o->results[i], l, false);
}

static void
wish_shape_op(Wishes *s, const Op *o)
{
    const Wish *w = wish(s, arg(o, 0));
    if (!is_block(o->results[0]))
        return; /* a reshape to a scalar */
    if (w->layout == &layouts_any)
        *wish(s, o->results[0]) = (Wish){.layout = &layouts_any, .cost = w->cost};
    else
        set_wish(s, o->results[0], layouts_result(s->c, o, w->layout),
                 w->gives_way || o->op == OP_BROADCAST);
}

/* The layout an op works in, taken from its operands. */
static const Layout *
working_layout(Wishes *s, const Op *o)
{
    const Wish *w = first_wish(s, o, 0);
    return w ? w->layout : wishes_default(s, arg(o, 0)->type);
}

static const Layout *
map_store_layout(Wishes *s, const Op *o)
{
    const Val *v = arg(o, o->n_args - 1);
    const Wish *w = wish(s, v);
    return w->layout == &layouts_any ? lines_of(s, v) : w->layout;
}

/* The same for reduce and scan, which go along an axis bit by bit. */
static const Layout *
axis_layout(Wishes *s, const Op *o)
{
    const Layout *l = working_layout(s, o);
    if (has_unit_bases(l) && layout_is_nested(l, (int)ir_attr(o, ATTR_AXIS)))
        return l;
    return wishes_default(s, arg(o, 0)->type);
}

/* What rows and columns are made into lies as its scan likes, for other users, too: threads have elements in a row
 * along the axis, and lanes take the other dims. NULL: something else says how it lies. Ranks of 256 tokens among 64
 * experts, by rows that are 1 at the token's expert, by 8 warps: 382 shuffles where lanes scanned each column,
 * 194 us on an H100, and 81 (Triton 120). */
static const Layout *
broadcasts_scan_layout(Wishes *s, const Op *o)
{
    const Type *t = arg(o, 0)->type;
    const Wish *w = first_wish(s, o, 0);
    int axis = (int)ir_attr(o, ATTR_AXIS), last = t->rank - 1;
    if (t->rank < 2 || s->f->log2_ctas || (w && !w->gives_way))
        return NULL;
    const Layout *l = blocked_lines(s, t, axis == last ? last - 1 : last, 0, axis,
                                    MAX_BITS);
    for (int i = 0; i < o->n_args; i++)
        if (wish(s, arg(o, i))->gives_way)
            set_wish(s, arg(o, i), l, true);
    return l;
}

/* Lanes scan by five steps for each run of a thread's elements; a thread that has all of its elements in a row
 * scans those alone, and lanes scan once. Moves there and back wait for shared memory: sums of columns of 1024
 * by 4 warps lose by them (394 us without, 535 with them on an H100), cummax wins (67 us without, 35 with them).
 * cummax of 4096 by 4 warps, whose rows are not aligned: 320 shuffles before and 10 then. */
static const Layout *
scan_layout(Wishes *s, const Op *o)
{
    enum { MOVE = 14, MOST_EACH = 6 }; /* larger blocks are cut */
    const Layout *of_broadcasts = broadcasts_scan_layout(s, o),
                 *l = of_broadcasts ? of_broadcasts : axis_layout(s, o);
    const Type *t = arg(o, 0)->type;
    int each = log2_of(ty_numel(t)) - LANE_BITS - s->log2_warps, bit[MAX_BITS],
        work = 0;
    if (t->rank != 1 || each < 1 || each > MOST_EACH || s->f->log2_ctas)
        return l;
    int run = layout_run(l, 0, MAX_BITS, bit);
    EACH_OP(r, o->regions[0])
        work += element_cost(r);
    int by_lanes = (LANE_BITS * (2 * o->n_args + work)) << (each - MIN(run, each)),
        by_moves = (MOVE * 2 * o->n_args) << each;
    return by_moves < by_lanes ? blocked(s, t, 0, each) : l;
}

static void
work_in(Wishes *s, const Op *o, const Layout *l)
{
    map_put(&s->op_layout, o, 0, (void *)l);
}

const Layout *
wishes_of_op(const Wishes *s, const Op *o)
{
    return map_get(&s->op_layout, o, 0);
}

/* Pointers that lie as they do for no better reason than that their rows were loaded. They
 * are made again in another layout for little, so they have no say where a warp would
 * reach more of a row. */
static bool
is_row_address(Wishes *s, const Op *o)
{
    const Wish *p = wish(s, arg(o, 0));
    int dim = facts_fastest_dim(s->facts, o), bytes = pointee_bytes(arg(o, 0)->type);
    return p->layout != &layouts_any && wishes_is_spread(s, arg(o, 0)) &&
           run_bytes(p->layout, dim, bytes) <
               run_bytes(access_layout(s, o), dim, bytes);
}

static const Layout *
load_wish(Wishes *s, const Op *o)
{
    const Wish *p = wish(s, arg(o, 0));
    if (p->layout != &layouts_any && wishes_is_scattered(s, o) && !is_row_address(s, o))
        return p->layout; /* moving pointers costs more than it gives */
    return access_layout(s, o);
}

/* As the operands lie, unless several elements go at a time and a warp's access would cover less than a line in
 * a row. What a product sums lies in pieces of 16 and 32 bytes, and if it was turned (swap_dots) across: sums of
 * bf16 by 32x128 in 8 programs a block took 971 us on an H100, one element an atomic, and 77 moved. */
static const Layout *
atomic_wish(Wishes *s, const Op *o)
{
    const Wish *w = first_wish(s, o, 0);
    const Layout *best = access_layout(s, o);
    int dim = facts_fastest_dim(s->facts, o), bytes = pointee_bytes(arg(o, 0)->type);
    if (!w)
        return best;
    if (result(o, 0)->uses || !atomic_width(s, o, dim))
        return w->layout;
    int run = run_bytes(w->layout, dim, bytes);
    return run < LINE && run < run_bytes(best, dim, bytes) ? best : w->layout;
}

/* Where scattered pointers lie, or the data, unless that gives way, or a warp's access would then cover less
 * than a sector in a row and the coalesced layout covers more. A row that is broadcast and stored has the
 * load's layout, in which each thread stores one column, element by element. */
static const Layout *
store_layout(Wishes *s, const Op *o)
{
    const Wish *p = wish(s, arg(o, 0));
    const Layout *best = access_layout(s, o);
    if (p->layout != &layouts_any && !is_row_address(s, o))
        return p->layout;
    if (op_mask_at(o) < 2) /* no data */
        return best;
    const Wish *v = wish(s, arg(o, 1));
    if (v->layout == &layouts_any || v->gives_way)
        return best;
    int dim = facts_fastest_dim(s->facts, o), bytes = pointee_bytes(arg(o, 0)->type);
    int run = run_bytes(v->layout, dim, bytes);
    if (run >= MIN_STORE_RUN || run >= run_bytes(best, dim, bytes))
        return v->layout;
    return best;
}

/* The layout for split's operand: halves in one register bit. */
static const Layout *
split_layout(Wishes *s, const Op *o)
{
    const Layout *l = working_layout(s, o);
    if (layout_split(s->c, l))
        return l;
    return layout_join(s->c, wishes_default(s, o->results[0]->type));
}

static void look_at(Wishes *s, const Block *b);

/* Carried values take new layouts from what the body yields; true if one changed. */
static bool
take_wishes(Wishes *s, Val *const *args, const Op *yield, int first)
{
    bool changed = false;
    for (int i = first; i < yield->n_args; i++) {
        Wish *old = wish(s, args[i - first]);
        const Wish *new = wish(s, arg(yield, i));
        if (!old->layout || new->layout == &layouts_any || new->layout == old->layout)
            continue;
        if (new->gives_way && !old->gives_way && old->layout != &layouts_any)
            continue;
        *old = *new;
        changed = true;
    }
    return changed;
}

/* The layout of another block of v's shape that the loop carries; NULL: none has one. Both mostly meet behind the loop, as
 * a count does the mean that it is of. */
static const Layout *
carried_beside(Wishes *s, Val *const *args, int n, const Val *v)
{
    for (int i = 0; i < n; i++)
        if (is_block(args[i]) && wish(s, args[i])->layout && !wishes_any(s, args[i]) &&
            args[i]->type->rank == v->type->rank &&
            !memcmp(args[i]->type->shape, v->type->shape, sizeof v->type->shape))
            return wish(s, args[i])->layout;
    return NULL;
}

/* Carried values that are cheap all around get a layout now. */
static bool
fix_wishes(Wishes *s, Val *const *args, int n)
{
    bool changed = false;
    for (int i = 0; i < n; i++)
        if (wishes_any(s, args[i])) {
            int budget = HINT_BUDGET;
            const Layout *l = hint_of(s, args[i], &budget);
            if (!l)
                l = carried_beside(s, args, n, args[i]);
            set_wish(s, args[i], l ? l : wishes_default(s, args[i]->type), false);
            changed = true;
        }
    return changed;
}

/* What a loop carries starts as what enters. Addresses of rows that were loaded have no
 * opinion: they enter in whatever layout the accesses inside want. */
static void
copy_wishes(Wishes *s, Val *const *to, const Op *from, int first)
{
    for (int i = first; i < from->n_args; i++) {
        const Val *v = arg(from, i);
        *wish(s, to[i - first]) = is_block(v) && wishes_is_spread(s, v)
                                      ? (Wish){.layout = &layouts_any,
                                               .cost = wish(s, v)->cost}
                                      : *wish(s, v);
    }
}

static void
wish_for(Wishes *s, const Op *o)
{
    const Block *b = o->regions[0];
    Val *const *carried = b->args + 1;
    copy_wishes(s, carried, o, 3);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        look_at(s, b);
        if (!take_wishes(s, carried, b->last, 0))
            break;
    }
    if (fix_wishes(s, carried, b->n_args - 1)) {
        look_at(s, b);
        if (take_wishes(s, carried, b->last, 0))
            look_at(s, b);
    }
    for (int i = 0; i < o->n_results; i++)
        *wish(s, o->results[i]) = *wish(s, carried[i]);
}

static void
wish_while(Wishes *s, const Op *o)
{
    const Block *before = o->regions[0], *body = o->regions[1];
    copy_wishes(s, before->args, o, 0);
    for (int round = 0; round <= MAX_ROUNDS; round++) {
        if (round == MAX_ROUNDS)
            fix_wishes(s, before->args, before->n_args);
        look_at(s, before);
        copy_wishes(s, body->args, before->last, 1);
        fix_wishes(s, body->args, body->n_args);
        look_at(s, body);
        if (!take_wishes(s, before->args, body->last, 0) && round < MAX_ROUNDS)
            round = MAX_ROUNDS - 1;
    }
    for (int i = 0; i < o->n_results; i++)
        *wish(s, o->results[i]) = *wish(s, body->args[i]);
}

static void
wish_if(Wishes *s, const Op *o)
{
    for (int i = 0; i < o->n_regions; i++)
        look_at(s, o->regions[i]);
    for (int i = 0; i < o->n_results; i++) {
        const Wish *x = wish(s, arg(o->regions[0]->last, i)),
                   *y = wish(s, arg(o->regions[1]->last, i));
        const Wish *w = x->layout == &layouts_any ||
                                (x->gives_way && y->layout != &layouts_any)
                            ? y
                            : x;
        if (w->layout == &layouts_any)
            set_wish(s, o->results[i], hinted(s, o->results[i]), false);
        else
            *wish(s, o->results[i]) = *w;
    }
}

static void
look_at_op(Wishes *s, const Op *o)
{
    const Layout *l = NULL;
    switch (o->op) {
    case OPS(OP_CONST, OP_ARANGE, OP_SPLAT):
        if (is_block(o->results[0]))
            *wish(s, o->results[0]) = (Wish){.layout = &layouts_any, .cost = 1};
        return;
    case OPS_INDEX: wish_shape_op(s, o); return;
    case OP_JOIN:
        work_in(s, o, l = working_layout(s, o));
        set_wish(s, o->results[0], layout_join(s->c, l), false);
        return;
    case OP_SPLIT:
        work_in(s, o, l = split_layout(s, o));
        for (int i = 0; i < 2; i++)
            set_wish(s, o->results[i], layout_dedup_regs(s->c, layout_split(s->c, l)),
                     false);
        return;
    case OP_CAT:
        work_in(s, o, l = working_layout(s, o));
        set_wish(s, o->results[0], layouts_cat(s->c, l), false);
        return;
    case OP_LOAD:
        if (is_block(o->results[0]))
            set_wish(s, o->results[0], load_wish(s, o), false);
        return;
    case OP_MAP_LOAD:
        set_wish(s, o->results[0], lines_of(s, o->results[0]), false);
        return;
    case OP_MAP_STORE: work_in(s, o, map_store_layout(s, o)); return;
    case OPS(OP_STORE, OPS_RARE_ACCESS):
        if (is_block(arg(o, 0)) && o->n_results)
            set_wish(s, o->results[0], atomic_wish(s, o), false);
        else if (is_block(arg(o, 0)))
            work_in(s, o, store_layout(s, o));
        return;
    case OP_REDUCE:
        work_in(s, o, l = axis_layout(s, o));
        for (int i = 0; i < o->n_results; i++)
            set_wish(s, o->results[i], layouts_reduced(s->c, o, l), false);
        return;
    case OP_SCAN:
        work_in(s, o, l = scan_layout(s, o));
        for (int i = 0; i < o->n_results; i++)
            set_wish(s, o->results[i], l, false);
        return;
    case OP_DOT:
        set_wish(s, o->results[0], acc_layout(s, o), false);
        wish(s, o->results[0])->is_sum = true;
        return;
    case OP_GATHER:
        l = wish(s, arg(o, 1))->layout;
        if (l == &layouts_any)
            l = wishes_default(s, arg(o, 1)->type);
        set_wish(s, o->results[0], l, false);
        l = wish(s, arg(o, 0))->layout;
        work_in(s, o, l == &layouts_any ? wishes_default(s, arg(o, 0)->type) : l);
        return;
    case OP_HISTOGRAM:
        work_in(s, o, working_layout(s, o));
        set_wish(s, o->results[0], wishes_default(s, o->results[0]->type), false);
        return;
    case OP_ASSERT:
    case OP_PRINT:
        if (o->n_args && is_block(arg(o, 0)) &&
            (o->op == OP_ASSERT || ir_attr(o, ATTR_MASKED)))
            work_in(s, o, working_layout(s, o));
        return;
    case OP_INLINE_ASM:
    case OP_INLINE_ASM_IO:
        if (is_block(o->results[0]))
            wish_assembly(s, o);
        return;
    case OP_EXTERN_IO: /* runs even if nobody wants what it gives, so it is never cheap */
        if (is_block(o->results[0]))
            set_wish(s, o->results[0],
                     o->n_args ? working_layout(s, o)
                               : wishes_default(s, o->results[0]->type),
                     false);
        return;
    case OP_FOR: wish_for(s, o); return;
    case OP_WHILE: wish_while(s, o); return;
    case OP_IF: wish_if(s, o); return;
    case OP_TILE_LOAD: /* of text that skips lower_desc; codegen refuses it */
        set_wish(s, o->results[0], wishes_default(s, o->results[0]->type), false);
        return;
    case OPS(OPS_GRID, OP_RESIZE, OPS_MOVED, OPS_ELEM, OP_TILE_STORE, OP_TENSOR_MAP,
             OP_LAUNCH_TEST, OP_EXTERN, OPS_ENDS, OP_ASSUME, OP_DEBUG, OPS_THREADS):
        if (op_has(o, OPF_ELEM) && is_block(o->results[0]))
            wish_elementwise(s, o);
        return;
    }
}

static void
look_at(Wishes *s, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next)
        look_at_op(s, o);
}

const Layout *
wishes_of(const Wishes *s, const Val *v)
{
    return v->id < s->n_wish ? s->wish[v->id].layout : NULL;
}

Wishes *
wishes_new(Func *f)
{
    Arena *a = f->c->arena;
    Wishes *s = NEW(a, Wishes);
    s->f = f;
    s->c = f->c;
    s->facts = facts_new(f);
    s->log2_warps = log2_of(f->team_warps) + f->log2_ctas;
    EACH_OP(o, f->body)
        s->has_dot |= o->op == OP_DOT;
    s->n_wish = f->n_vals;
    s->wish = NEW_N(a, Wish, f->n_vals);
    s->vec.a = s->op_layout.a = s->access.a = s->scattered.a = a;
    scan_accesses(s, f->body, false);
    scan_accesses(s, f->body, true);
    look_at(s, f->body);
    return s;
}
