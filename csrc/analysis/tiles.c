/* tiles: which accesses of descriptors the GPU's copies of tensors (TMA) can make, and how.
 *
 * A copy moves a box, at most 256 elements along each dim. In shared memory the boxes of a block
 * lie one behind the other, and inside of a box lines of up to 128 bytes, swizzled so that a
 * column of chunks meets all banks:
 *
 *     f16[128, 256]     4 boxes [128, 64], swizzle 128
 *     f32[64, 16]       1 box [64, 16], swizzle 64
 *     f16[128, 64]      to a tensor 2 boxes [64, 64]: two warpgroups write one each
 *     f16[2048]         8 boxes [256], no swizzle: there are no columns
 *
 * The copies are of another proxy than loads and stores, and another thread's work. So a tensor
 * that copies load is written by nothing else in the function, and one that they store is not
 * accessed otherwise; a function in which programs wait for each other has none.
 */
#include "analysis/analysis.h"

enum {
    LINE = 128,
    CHUNK = 16,
    LINES = 8,       /* of a swizzle's period, which a box begins with */
    GROUP_ROWS = 64, /* of a product that a warpgroup has */
    MAX_WORDS = 64,  /* of a block that threads hold: more are loops over chunks */
};

/* ---- form ------------------------------------------------------------------------------- */

static const Type *
tile_block(const Op *o)
{
    return o->n_results ? result(o, 0)->type : arg(o, o->n_args - 1)->type;
}

/* The swizzle of lines of so many bytes, of which there are so many. */
static int
swizzle_of(int64_t line, int64_t lines)
{
    int span = (int)MIN(line, LINE);
    bool is_whole = line == span || lines >= LINES; /* boxes begin at its period */
    return span > CHUNK && lines > 1 && is_whole ? span : 0;
}

TileForm
tile_form(const Op *o)
{
    Comp *c = o->block->func->c;
    const Type *block = tile_block(o);
    int rank = block->rank, bytes = elem_info[block->elem].bytes, last = rank - 1;
    TileForm t = {.rank = ir_tile(o).rank, .n_boxes = 1, .box_bytes = bytes};
    t.lead = t.rank - rank;
    for (int d = 0; d < t.lead; d++)
        t.box[d] = 1;
    int64_t line = (int64_t)block->shape[last] * bytes,
            lines = ty_numel(block) / block->shape[last];
    uint8_t shape[MAX_RANK], box[MAX_RANK];
    t.swizzle = swizzle_of(line, MIN(lines, MAX_BOX_SIDE));
    bool is_store = rank == 2 && t.swizzle && !o->n_results &&
                    o->block->func->team_warps == 2 * WARPGROUP;
    ty_log2_shape(block, shape);
    for (int d = 0; d < rank; d++) {
        int most = d == last && t.swizzle      ? t.swizzle / bytes
                   : is_store && d == last - 1 ? GROUP_ROWS
                                               : MAX_BOX_SIDE;
        int side = t.box[t.lead + d] = MIN(block->shape[d], most);
        t.n_boxes *= block->shape[d] / side;
        t.box_bytes *= side;
        box[d] = (uint8_t)log2_of(side);
    }
    t.smem = ty_smem(c, ty_with_layout(c, block, NULL), 1,
                     layout_boxes(c, rank, shape, box, log2_of(bytes), t.swizzle));
    return t;
}

int64_t
tile_form_box(const TileForm *t)
{
    int64_t box = 0;
    for (int d = 0; d < t->rank; d++)
        box |= (int64_t)t->box[d] << (BOX_BITS * d);
    return box;
}

void
tile_form_at(const TileForm *t, int i, int32_t *at)
{
    const Layout *l = t->smem->layout;
    int inside = log2_of(t->box_bytes / elem_info[t->smem->elem].bytes);
    Col flat = 0;
    for (int k = 0; i >> k; k++)
        if (i >> k & 1)
            flat ^= l->basis[IN_REG][inside + k];
    for (int d = 0; d < t->lead; d++)
        at[d] = 0;
    for (int d = 0; d < t->smem->rank; d++)
        at[t->lead + d] = (int32_t)(flat >> layout_dim_shift(l, d)) &
                          (t->smem->shape[d] - 1);
}

/* ---- stages ------------------------------------------------------------------------------ */

/* How many boxes threads write side by side: 1, as each box is written by all; 2, of which each is
 * one warpgroup's; 0: anything else. */
static int
boxes_at_a_time(const TileForm *t, const Layout *l)
{
    enum { GROUP_BIT = 2 }; /* of a warp's number */
    Col offset_of[MAX_BITS];
    Col box = (Col)(t->box_bytes / elem_info[t->smem->elem].bytes);
    int boxes = 1;
    layout_offsets(t->smem->layout, offset_of);
    for (int in = IN_LANE; in <= IN_WARP; in++)
        for (int i = 0; i < l->n[in]; i++) {
            Col at = f2_mul(offset_of, layout_bits(l), l->basis[in][i]);
            if (at == box && in == IN_WARP && i == GROUP_BIT)
                boxes = 2;
            else if (at >= box)
                return 0;
        }
    return t->n_boxes > 1 ? boxes : 0;
}

/* The argument that a copy's tensor begins at, or NULL. */
static const Val *
root_of_map(const Op *o)
{
    return pointer_root(o->block->func, arg(arg(o, 0)->def, 0));
}

/* Does nothing else in a program store to the tensor, and that at most once? Copies of two threads
 * are in no order. */
static bool
stores_once(const Op *store)
{
    if (ir_store_stage(store)) /* late_stores has seen to it */
        return true;
    const Val *root = root_of_map(store);
    EACH_OP(o, store->block->func->body)
        if (o->op == OP_MAP_STORE && o != store && (!root || root_of_map(o) == root))
            return false;
    for (const Op *o = store->block->owner; o; o = o->block->owner)
        if (o->op == OP_WHILE || (o->op == OP_FOR && !op_is_programs_loop(o)))
            return false;
    return true;
}

StoreStage
store_stage(const Op *store)
{
    enum { MOST = 32 << 10 }; /* beside slots for loads */
    const Type *block = arg(store, store->n_args - 1)->type;
    TileForm t = tile_form(store);
    StoreStage g = {.pieces = 1, .boxes = t.n_boxes, .held = 1, .groups = 1};
    int boxes = boxes_at_a_time(&t, block->layout);
    if (boxes) {
        g.pieces = t.n_boxes / boxes;
        g.boxes = boxes;
        g.held = g.pieces > 1 && 2 * boxes * t.box_bytes <= MOST ? 2 : 1;
        g.groups = boxes > 1 && stores_once(store) ? 2 : 1;
    }
    g.bytes = (int64_t)g.held * g.boxes * t.box_bytes;
    return g;
}

/* Where threads may store the block instead, both ways work through the same bytes. */
bool
may_have_stage(const Op *o)
{
    const Op *owner = o->block->owner;
    return o->op == OP_MAP_STORE && !ir_store_stage(o) &&
           !(owner && owner->op == OP_IF && owner->n_regions > 1);
}

bool
has_stage(const Op *o)
{
    if (!may_have_stage(o))
        return false;
    for (o = o->block->owner; o; o = o->block->owner)
        if (o->op == OP_ROLES)
            return true;
    return false;
}

static int64_t
piece_bytes(const StoreStage *g)
{
    return g->bytes / g->held;
}

bool
share_stage(const Op *a, const Op *b)
{
    if (a == b)
        return true;
    if (!may_have_stage(a) || !may_have_stage(b))
        return false;
    StoreStage g = store_stage(a), h = store_stage(b);
    int64_t piece = piece_bytes(&g), other = piece_bytes(&h);
    return g.groups == h.groups && (g.groups == 1 || piece == other) &&
           piece % SHARED_ALIGN == 0 && other % SHARED_ALIGN == 0;
}

SharedStage
shared_stage(const Op *store)
{
    StoreStage own = store_stage(store);
    int64_t middle = 0, most = 0;
    EACH_OP(o, store->block->func->body) {
        if (!share_stage(o, store))
            continue;
        StoreStage g = store_stage(o);
        int64_t piece = piece_bytes(&g);
        middle = MAX(middle, g.held > 1 ? piece : 0);
        most = MAX(most, piece);
    }
    return (SharedStage){
        .bytes = middle + most,
        .at = middle - (own.held > 1 ? piece_bytes(&own) : 0),
    };
}

/* Does it send pieces of a stage, in roles or before there are any? */
static bool
sends_pieces(const Op *o)
{
    return o->op == OP_MAP_STORE && (ir_store_stage(o) || may_have_stage(o));
}

bool
may_lie_in_stage(const Op *o)
{
    const Op *loop = o->block->owner;
    while (loop && loop->op != OP_FOR && loop->op != OP_WHILE)
        loop = loop->block->owner;
    EACH_OP(p, o->block->func->body)
        if (o->op == OP_MAP_LOAD && sends_pieces(p) &&
            (!loop || ir_encloses(loop->regions[0], p->block)))
            return true;
    return false;
}

int
sent_from_place(const Op *load)
{
    const SharedPlace *k = load->place;
    EACH_OP(o, load->block->func->body) {
        const Val *stage = ir_store_stage(o);
        const SharedPlace *own = stage          ? stage->def->place
                                 : has_stage(o) ? o->place
                                                : NULL;
        if (k && own && k->at < own->at + own->bytes && own->at < k->at + k->bytes)
            return store_stage(o).groups;
    }
    return 0;
}

/* Is b at least `least` more or less than a, whatever they are? */
static bool
differ_by(const Val *a, const Val *b, int64_t least)
{
    int64_t more[2] = {0};
    const Val *v[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        const Op *o = v[i]->def;
        int64_t n;
        if (ir_const_as_int(v[i], &n))
            more[i] = n, v[i] = NULL;
        else if (o && o->op == OP_ADD && ir_const_as_int(arg(o, 1), &n))
            more[i] = n, v[i] = arg(o, 0);
        else if (o && o->op == OP_ADD && ir_const_as_int(arg(o, 0), &n))
            more[i] = n, v[i] = arg(o, 1);
    }
    return v[0] == v[1] && MAX(more[0] - more[1], more[1] - more[0]) >= least;
}

/* Do two stores write different elements, in each run of their block? */
static bool
are_apart(const Op *a, const Op *b)
{
    const Val *root = root_of_map(a), *other = root_of_map(b);
    if (root && other && root != other)
        return true;
    if (arg(a, 0) != arg(b, 0))
        return false;
    Window w = ir_tile(a), x = ir_tile(b);
    TileForm form = tile_form(a);
    for (int d = 0; d < w.rank; d++) {
        int along = d - form.lead;
        int64_t side = along < 0 ? 1
                                 : MAX(tile_block(a)->shape[along],
                                       tile_block(b)->shape[along]);
        if (differ_by(w.offsets[d], x.offsets[d], side))
            return true;
    }
    return false;
}

/* The `if` around a store, or the store. */
static const Op *
outermost(const Op *store)
{
    const Op *owner = store->block->owner;
    return owner && owner->op == OP_IF && owner->n_regions == 1 ? owner : store;
}

/* The store that o is, or that an `if` holds and nothing else; NULL: it is none. */
static const Op *
store_at(const Op *o)
{
    const Op *first = o->op == OP_IF && o->n_regions == 1 ? o->regions[0]->first : o;
    bool is_only = first == o || first->next == o->regions[0]->last;
    return first->op == OP_MAP_STORE && is_only ? first : NULL;
}

bool
is_behind_others(const Op *store)
{
    const Op *at = outermost(store), *first = NULL;
    for (const Op *o = at->prev; o; o = o->prev) {
        const Op *other = store_at(o);
        if (!other && op_has(o, OPF_CONTROL))
            break;
        if (!other)
            continue;
        if (ir_store_stage(other) || !are_apart(other, store) ||
            store_stage(other).groups != store_stage(store).groups)
            return false;
        first = o;
    }
    if (!first || (at != store && !store_at(at)))
        return false;
    return first->op != OP_IF || (at != store && arg(first, 0) == arg(at, 0));
}

/* ---- who else is there ------------------------------------------------------------------ */

typedef struct Others {
    const Func *f;
    const Op *o, *instead;
    const Val *root; /* its argument */
    bool meets;
} Others;

/* Accesses whose order is everybody's business. */
static bool
synchronises(const Op *o)
{
    if (o->op == OP_LOAD)
        return ir_attr(o, ATTR_VOLATILE) || ir_attr(o, ATTR_CACHE) == CACHE_CV;
    return op_is_atomic(o) || o->op == OP_BARRIER || o->op == OP_INLINE_ASM_IO ||
           o->op == OP_EXTERN_IO;
}

static bool
copies_in(const Others *k)
{
    return k->o->op == OP_TILE_LOAD || k->o->op == OP_LOAD;
}

/* An atomic whose result nobody looks at waits for nothing, so no load comes behind what another program
 * has done before. What was loaded in front of it has been read by then; what is stored there has to be
 * in memory. */
static bool
only_adds(const Op *o)
{
    return o->op == OP_ATOMIC_RMW && !result(o, 0)->uses;
}

/* May `other` have to be ordered with the copies of k->o? */
static bool
conflicts(const Others *k, const Op *other)
{
    bool is_load = copies_in(k);
    bool writes = other->op == OP_STORE || other->op == OP_TILE_STORE ||
                  only_adds(other),
         reads = other->op == OP_LOAD || other->op == OP_TILE_LOAD;
    if (other == k->o || other == k->instead || (!writes && !(reads && !is_load)))
        return false;
    const Val *root = pointer_root(k->f, arg(other, 0));
    bool both_copy = !is_load && other->op == OP_TILE_STORE;
    return !root || (root == k->root && !both_copy);
}

static void
look_at_others(Others *k, const Block *b, bool in_while)
{
    for (const Op *o = b->first; o; o = o->next) {
        bool may_wait = in_while && op_has(o, OPF_READS);
        bool orders = synchronises(o) && !(copies_in(k) && only_adds(o));
        if (orders || may_wait || conflicts(k, o))
            k->meets = true;
        for (int i = 0; i < o->n_regions; i++)
            look_at_others(k, o->regions[i], in_while || o->op == OP_WHILE);
    }
}

static bool
meets_others(const Func *f, const Op *o, const Op *instead)
{
    Others k = {.f = f, .o = o, .instead = instead, .root = pointer_root(f, arg(o, 0))};
    if (k.root)
        look_at_others(&k, f->body, false);
    return !k.root || k.meets;
}

bool
may_load_early(const Func *f, const Op *load)
{
    return !synchronises(load) && !meets_others(f, load, NULL);
}

/* ---- the tensor ------------------------------------------------------------------------- */

static bool
is_aligned(FactTable *t, const Val *v, int to)
{
    int64_t n;
    if (ir_const_as_int(v, &n))
        return n % to == 0;
    return facts_of(t, v)->scalar_div >= log2_of(to);
}

static const char *
refused_tensor(const Func *f, FactTable *t, const Window *w)
{
    HostOp ops[MAX_HOST_OPS];
    int bytes = elem_info[w->base->type->elem].bytes;
    bool ok = ir_host_ops(f, w->base, ops) > 0;
    for (int d = 0; d < w->rank; d++)
        ok = ok && ir_host_ops(f, w->shape[d], ops) &&
             (!w->strides[d] || ir_host_ops(f, w->strides[d], ops));
    if (!ok)
        return "a launch cannot compute its address, shape and strides";
    ok = is_aligned(t, w->base, CHUNK);
    for (int d = 0; d < w->rank - 1; d++)
        ok = ok && is_aligned(t, w->strides[d], MAX(CHUNK / bytes, 1));
    return ok ? NULL : "its address or a stride is no multiple of 16 bytes";
}

/* Copies begin at 16 bytes of a row, whatever is outside; others are illegal instructions. */
static bool
begins_at_a_chunk(FactTable *t, const Window *w)
{
    int log2 = log2_of(MAX(CHUNK / elem_info[w->base->type->elem].bytes, 1));
    int64_t n;
    const Val *v = w->offsets[w->rank - 1];
    if (ir_const_as_int(v, &n))
        return n % (1 << log2) == 0;
    return facts_divisibility(t, v, log2) >= log2;
}

static const char *
refused_block(Func *f, const Op *o, const Op *instead)
{
    const Type *t = tile_block(o);
    int bytes = elem_info[t->elem].bytes;
    int64_t threads = 32LL * f->team_warps;
    if (ir_tile(o).rank > MAX_TMAP_RANK || t->shape[t->rank - 1] * bytes < CHUNK)
        return "no copies of tensors move such a block";
    for (int d = 0; d < t->rank; d++)
        if (ty_padded_side(t->shape[d]) != t->shape[d])
            return "a side of its block is no power of two";
    if (ir_attr(o, ATTR_PADDING) == PAD_NAN && bytes == 1)
        return "copies of tensors fill no float8 with NaN";
    const Op *read = instead ? instead : o; /* who has the uses */
    bool is_held = !o->n_results || !is_read_by_groups(f, result(read, 0));
    if ((is_held && ty_numel(t) * bytes > 4 * MAX_WORDS * threads) ||
        tile_form(o).n_boxes > MAX_BOXES)
        return "its block is too large";
    return NULL;
}

const char *
tile_refusal(Func *f, FactTable *t, const Op *o, const Op *instead)
{
    Window w = ir_tile(o);
    const char *why = refused_block(f, o, instead);
    if (!why && meets_others(f, o, instead))
        why = "its tensor is accessed in another way, too";
    if (!why && !begins_at_a_chunk(t, &w))
        why = "its last coordinate is not known to be a multiple of 16 bytes";
    return why ? why : refused_tensor(f, t, &w);
}
