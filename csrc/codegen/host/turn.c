/* turn: blocks are turned in registers where memory has columns and scratch rows, or the reverse.
 *
 * As of tl.dot(x, tl.trans(y)), of b.T in a backward pass, or of a transposed copy. Along rows, each
 * element of a vector would be a load of its own; along columns, a store.
 *
 *     loads, along columns          slots           shuffles          rows into scratch
 *         a0 a1 a2 a3                                                     a0 b0 c0 d0
 *         b0 b1 b2 b3        =>   a | b | c | d      =>                   a1 b1 c1 d1
 *         c0 c1 c2 c3                                                     a2 b2 c2 d2
 *         d0 d1 d2 d3                                                     a3 b3 c3 d3
 *
 * The nest (nest.c) goes the way that memory does: `side` columns in an innermost loop that has the body
 * once. Each vector waits in a slot, and behind that loop the square is turned. A unit is an element,
 * or the elements of a group that stand side by side in a panel (panels.c): in memory they do that already.
 *
 * 16 x 16 f32 take 64 shuffles, 16 loads and 16 stores of a register where gathers took 256 loads. One thread
 * of a Xeon, 2048 x 2048 turned in blocks of 64 x 64: f16 13 ms before and 4.6 now, int8 10 and 1.1, f32 by columns
 * into memory 14.7 and 7.5. A gather down columns meets each line once for each of its elements, and rows 4 or 16 KB apart share
 * few places of a cache: 1024 x 1024 f32 by tl.trans took 3.2 ms that way and takes 0.28 (one thread of a Zen 4).
 */
#include "codegen/host/dot.h"

enum {
    LANE = 16,
    MOST = 16
}; /* bytes within which every CPU shuffles; rows of a square */

static int
unit_bytes(const Root *r)
{
    int bytes = r->converts ? elem_info[r->elem].bytes : ty_bytes(r->v->type);
    return bytes * MAX(r->dest.group, 1);
}

int
host_side(Host *h, const Root *r)
{
    const Type *t = r->v->type;
    if (t->rank < 2 || t->is_ptr)
        return 0;
    int group = MAX(r->dest.group, 1), unit = unit_bytes(r);
    int rows = t->shape[t->rank - 2], cols = t->shape[t->rank - 1];
    Runs want = host_is_turned(t, &r->dest) ? RUNS_ACROSS : RUNS_DOWN;
    for (int side = MIN(h->vec_bytes / unit, MOST); side * unit >= LANE; side /= 2)
        if (rows % (side * group) == 0 && cols % side == 0 &&
            r->dest.width % side == 0 && host_runs(h, r->v, side * group) == want)
            return side;
    return 0;
}

bool
host_fills_square(const Group *g, const Root *r)
{
    return g->side && g->lanes == g->side * MAX(r->dest.group, 1) &&
           r->dest.stride[g->vec] != 1 && g->side * unit_bytes(r) >= LANE;
}

/* Which units of two vectors become one. */
typedef struct Zip {
    int n, lane, width; /* units of a vector, of a lane, of a piece */
    int second;         /* the upper halves, the odd lanes */
} Zip;

/* Pieces of x and y by turns, of the lower or upper half of each lane. */
static int
by_pieces(const Zip *z, int i)
{
    int in = i % z->lane, piece = in / z->width;
    return i / z->lane * z->lane + z->second * z->lane / 2 + piece / 2 * z->width +
           in % z->width + piece % 2 * z->n;
}

/* Every other lane of x, then of y. */
static int
by_lanes(const Zip *z, int i)
{
    return (2 * (i / z->lane) + z->second) * z->lane + i % z->lane;
}

/* x and y become both vectors of a zip. */
static void
zip(Host *h, Zip z, int (*from)(const Zip *, int), Lv x, Lv y, Lv *first, Lv *second)
{
    Lv pick[MOST];
    for (z.second = 0; z.second < 2; z.second++) {
        for (int i = 0; i < z.n; i++)
            pick[i] = ll_i32(h->l, from(&z, i));
        *(z.second ? second : first) = LLVMBuildShuffleVector(
            h->l->b, x, y, LLVMConstVector(pick, (unsigned)z.n), "");
    }
}

/* Of n vectors of n units. Pieces of 1, 2, .. units change places within lanes; then each `lane`
 * vectors hold n / lane squares of lanes, which change places as wholes. */
static void
turn(Host *h, Lv *x, int n, int lane)
{
    Lv y[MOST];
    for (int w = 1; w < lane; w *= 2) {
        Zip z = {.n = n, .lane = lane, .width = w};
        for (int i = 0; i < n / 2; i++) {
            int at = i / w * 2 * w, j = i % w;
            zip(h, z, by_pieces, x[at + j], x[at + j + w], &y[at + 2 * j],
                &y[at + 2 * j + 1]);
        }
        memcpy(x, y, (size_t)n * sizeof *x);
    }
    int n_lanes = n / lane;
    for (int times = 1; times < n_lanes; times *= 2) {
        Zip z = {.n = n, .lane = lane};
        for (int c = 0; c < lane; c++)
            for (int i = 0; i < n_lanes / 2; i++)
                zip(h, z, by_lanes, x[2 * i * lane + c], x[(2 * i + 1) * lane + c],
                    &y[i * lane + c], &y[(i + n_lanes / 2) * lane + c]);
        memcpy(x, y, (size_t)n * sizeof *x);
    }
}

void
host_keep_column(Host *h, const Type *t, Root *r, const Group *g, Lv x)
{
    Ll *l = h->l;
    x = host_to_mem(h, t, x);
    Lt column = LLVMTypeOf(x);
    if (!r->acc) {
        r->acc = NEW(h->c->arena, Lv);
        *r->acc = host_slot(h, LLVMArrayType2(column, (unsigned)g->side));
    }
    LLVMBuildStore(l->b, x, ll_element(l, column, *r->acc, g->column));
}

void
host_keep_square(Host *h, const Type *t, const Root *r, const Group *g)
{
    Ll *l = h->l;
    int unit = unit_bytes(r), side = g->side;
    Lt column = LLVMVectorType(LLVMIntTypeInContext(l->cx, 8 * (unsigned)unit),
                               (unsigned)side);
    Lv x[MOST];
    for (int i = 0; i < side; i++) {
        x[i] = ll_load_element(l, column, *r->acc, ll_i64(l, i));
    }
    turn(h, x, side, LANE / unit);
    Lv first = host_address(h, t, &r->dest, g->index);
    int64_t row = r->dest.width ? r->dest.width : r->dest.stride[g->vec];
    for (int i = 0; i < side; i++) {
        Lv at = ll_byte_at(l, first, ll_i64(l, i * row * unit));
        host_store_bytes(h, x[i], at);
    }
}

void
host_store_alone(Host *h, Root r)
{
    const Val *v = arg(r.o, 1);
    const Type *t = v->type;
    Runs to = t->rank > 1 ? host_runs_of_pointers(h, arg(r.o, 0)) : RUNS_MIXED;
    Root keep = {.kind = R_KEEP, .v = v, .dest = host_view(t, NULL)};
    bool turns = to == RUNS_ACROSS;
    r.is_down = to == RUNS_DOWN;
    if (r.is_down && host_runs(h, v, 1) == RUNS_ACROSS) {
        keep.dest.buf = NEW(h->c->arena, Buf);
        keep.dest.stride[t->rank - 2] = 1;
        keep.dest.stride[t->rank - 1] = t->shape[t->rank - 2];
        turns = ir_has_one_use(v);
        r.is_down = turns && host_side(h, &keep);
    }
    VState was = *state(h, v);
    if (turns && (r.is_down || was.kind == V_LAZY) && host_side(h, &keep)) {
        keep.dest.buf = host_buf(h, ty_numel(t) * ty_bytes(t), r.pos);
        host_materialise_to(h, v, keep.dest);
        host_flush(h);
        state(h, v)->kind = V_BUFFER, state(h, v)->view = keep.dest;
    }
    host_add_root(h, r, t);
    host_flush(h);
    *state(h, v) = was;
}
