/* access_layouts: the layout in which each load, store and atomic takes the fewest steps of memory. Accesses of one
 * shape along one dim are a class, and have one layout, so that what one loads another stores without a move.
 */
#include "passes/simt/layouts.h"

#include <stdlib.h>

enum {
    DOTS_BUDGET = 64,   /* values looked at between an access and a product */
    USES_BUDGET = 32,   /* of what a load feeds */
    STRIDE_DEPTH = 16,  /* ops behind a pointer */
    MOST_ALONG = 5,     /* log2 of the elements that a thread scans in a row */
    MAX_LOG2_BYTES = 4, /* of a vector */
    SECTOR = 32,        /* bytes of a line that an access may take alone */
    WARP = 32,
};

struct Accesses {
    Func *f;
    Comp *c;
    FactTable *facts;
    int log2_warps;
    bool has_dot;
    Map classes;   /* AccessClass -> Width */
    Map layout;    /* Op (load, store, atomic) -> its coalesced Layout */
    Map scattered; /* Op (no atomic) that takes one element at a time -> itself */
};

void
layouts_order(int rank, int first, int *order)
{
    int n = 0;
    order[n++] = first;
    for (int d = rank - 1; d >= 0; d--)
        if (d != first)
            order[n++] = d;
}

const Layout *
layouts_blocked(Comp *c, int log2_warps, const Type *t, int fastest, int log2_vec,
                int along, int log2_line)
{
    int per_thread[MAX_RANK], order[MAX_RANK];
    uint8_t shape[MAX_RANK];
    ty_log2_shape(t, shape);
    int log2_each = log2_of(ty_numel(t)) - LANE_BITS - log2_warps;
    log2_vec = MIN(log2_vec, MIN((int)shape[fastest], MAX(log2_each, 0)));
    for (int d = 0; d < t->rank; d++)
        per_thread[d] = d == fastest ? 1 << log2_vec : 1;
    if (along >= 0)
        per_thread[along] = 1 << MIN(MIN(MAX(log2_each, 0) - log2_vec, MOST_ALONG),
                                     (int)shape[along]);
    layouts_order(t->rank, fastest, order);
    return layout_dedup_regs(c, layout_blocked_lines(c, t->rank, shape, per_thread,
                                                     log2_warps, order, log2_line));
}

int
accesses_run_bytes(const Layout *l, int dim, int elem_bytes)
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

static int
access_bytes(const Op *o)
{
    return elem_info[arg(o, 0)->type->elem].bytes;
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
class_of(Accesses *s, const Op *o)
{
    AccessClass k;
    memset(&k, 0, sizeof k);
    const Type *t = arg(o, 0)->type;
    k.rank = t->rank;
    k.fastest = facts_fastest_dim(s->facts, o);
    memcpy(k.shape, t->shape, sizeof k.shape);
    int budget = DOTS_BUDGET;
    bool moves = op_is_atomic(o)
                     ? comes_from_dot(arg(o, 1), &budget)
                     : o->op == OP_LOAD && is_for_dots(result(o, 0), &budget);
    k.moves = moves ? access_bytes(o) : 0;
    return k;
}

/* Bytes of an element of the operand that tensor cores read in shared memory, and threads compute from
 * v one by one; 0: there is none. */
static int
made_bytes(Accesses *s, const Val *v, int *budget)
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
line_of(Accesses *s, const Op *o)
{
    int budget = USES_BUDGET;
    bool is_byte = o->op == OP_LOAD && access_bytes(o) == 1;
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
count_lines(Accesses *s, const Op *o, int fastest, int vec, Width *w)
{
    int64_t gap = 1, c;
    if (!vec && stride_in_runs(s->facts, arg(o, 0), fastest, STRIDE_DEPTH, &c)) {
        gap = MIN(MAX(llabs(c), 1), LINE);
        int most = 1 + log2_of(SECTOR / access_bytes(o));
        if (c == 1)
            w->in_sector = w->in_sector ? MIN(w->in_sector, most) : most;
    } else if (!vec && !op_is_atomic(o))
        gap = has_some_stride(arg(o, 0), fastest) ? 2 : 1;
    else if (!vec && op_is_atomic(o)) /* at any addresses, in any layout */
        return;
    w->has_gaps |= gap > 1 || op_is_atomic(o);
    for (int v = 0; v <= MAX_LOG2_BYTES; v++) {
        int64_t bytes = (gap * WARP << v) * access_bytes(o),
                lines = MIN(MAX(bytes / LINE, 1), WARP);
        w->steps[v] += lines << (MAX_LOG2_BYTES - MIN(v, vec));
    }
}

/* Quotients and remainders of places are the same, or count, over runs of elements, so a thread computes one for all that it
 * has in a row. The fewer these are, the more quotients there are. An im2col with stride 2 by 1024 elements and 4 warps on
 * an H100 takes 66 us with one element in a row, which touches the fewest lines, and 31 with four. */
static void
count_quotients(Accesses *s, const Val *v, int dim, Map *seen, Width *w)
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

int
accesses_atomic_width(const Accesses *s, const Op *o, int fastest)
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
stored_whole(const Accesses *s, const Type *t, const Width *w)
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
best_width(Accesses *s, const Type *t, int fastest, Width *w)
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
    if (load->op == OP_LOAD && t->shape[fastest] * access_bytes(load) >= LINE / 2)
        dim = scanned_dim(result(load, 0), &budget);
    return dim == 1 + fastest ? 0 : dim;
}

/* Both walks over the accesses: how wide each class is, then the layouts. */
static void
scan_accesses(Accesses *s, const Block *b, bool assign)
{
    EACH_OP_INSIDE_OUT(o, b) {
        if (!op_has_pointers(o) || !is_block(arg(o, 0)))
            continue;
        AccessClass k = class_of(s, o);
        Width *w = map_get(&s->classes, &k, sizeof k);
        if (!w) {
            w = NEW(s->c->arena, Width);
            map_put(&s->classes, &k, sizeof k, w);
        }
        if (assign) {
            map_put(
                &s->layout, o, 0,
                (void *)layouts_blocked(s->c, s->log2_warps, arg(o, 0)->type, k.fastest,
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
            int vec = accesses_atomic_width(s, o, k.fastest);
            w->widest = MAX(w->widest, vec);
            count_lines(s, o, k.fastest, vec, w);
        }
    }
}

Accesses *
accesses_new(Func *f, FactTable *facts)
{
    Accesses *s = NEW(f->c->arena, Accesses);
    *s = (Accesses){.f = f,
                    .c = f->c,
                    .facts = facts,
                    .log2_warps = log2_of(f->team_warps) + f->log2_ctas};
    EACH_OP(o, f->body)
        s->has_dot |= o->op == OP_DOT;
    s->classes.a = s->layout.a = s->scattered.a = f->c->arena;
    scan_accesses(s, f->body, false);
    scan_accesses(s, f->body, true);
    return s;
}

const Layout *
accesses_layout(const Accesses *s, const Op *o)
{
    return map_get(&s->layout, o, 0);
}

bool
accesses_is_scattered(const Accesses *s, const Op *o)
{
    return map_get(&s->scattered, o, 0);
}

const Layout *
accesses_copied_layout(const Accesses *s, const Op *load)
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
