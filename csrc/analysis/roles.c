/* roles: may warps of their own bring what the products of a function read?
 *
 * Such a warp runs the same control flow as the others, and of all else only what tells where
 * tiles lie. So that must be scalars which both may compute: no block, nothing that other threads
 * do together, and no load but of what the kernel neither writes nor waits for (which is what a
 * table of pages or of sequences' lengths is).
 *
 *     for k in range(0, K, 64):
 *         a = desc.load([m, k])         m, k and the loop's bounds: computed twice
 *         acc = dot(a, ..)
 *
 * A tile comes by a ring of slots where all that reads it are products of warpgroups, out of
 * the slot. Others of the same function stay what they are.
 */
#include "analysis/analysis.h"

enum {
    MAX_OPS = 512,  /* that are computed twice */
    MANY_WORDS = 80 /* of sums, with which 168 registers are too few */
};

typedef struct Slice {
    const Func *f;
    Map seen;
    const char *why;
} Slice;

static void need_op(Slice *s, const Op *o, int i);

/* A value that a loop carries, or its counter. */
static void
need_arg(Slice *s, const Val *v)
{
    const Op *o = v->block->owner;
    if (o && o->op != OP_FOR)
        s->why = "where a tile lies is the work of a `while`";
    else if (o && v->index)
        need_op(s, o, v->index - 1);
}

static void
need(Slice *s, const Val *v)
{
    if (s->why || map_get(&s->seen, v, 0))
        return;
    map_put(&s->seen, v, 0, (void *)v);
    if (v->type->rank)
        s->why = "where a tile lies depends on a block";
    else if (s->seen.n > MAX_OPS)
        s->why = "where a tile lies takes long to compute";
    else if (v->def)
        need_op(s, v->def, v->index);
    else
        need_arg(s, v);
}

/* Result i of o. */
static void
need_op(Slice *s, const Op *o, int i)
{
    if (o->op == OP_FOR || o->op == OP_IF) {
        need(s, arg(o, o->op == OP_FOR ? 3 + i : 0));
        for (int r = 0; r < o->n_regions; r++)
            need(s, arg(o->regions[r]->last, i));
        return;
    }
    bool is_load = o->op == OP_LOAD;
    if (is_load && !may_load_early(s->f, o)) {
        s->why = "where a tile lies is loaded from what the kernel writes or waits for";
        return;
    }
    if ((!op_has(o, OPF_PURE) && !is_load) || o->n_regions) {
        s->why = "where a tile lies is no plain number";
        return;
    }
    for (int k = 0; k < o->n_args; k++)
        need(s, arg(o, k));
}

/* What decides whether o runs, and how often. */
static void
need_around(Slice *s, const Op *o)
{
    for (o = o->block->owner; o && !s->why; o = o->block->owner)
        if (o->op == OP_FOR || o->op == OP_IF)
            for (int i = 0; i < (o->op == OP_FOR ? 3 : 1); i++)
                need(s, arg(o, i));
        else
            s->why = "a tile is loaded in a `while`";
}

/* ---- tiles ----------------------------------------------------------------------- */

/* The operand of o that v is. */
static bool
is_operand(const Op *o, const Val *v, int i)
{
    return i < o->n_args && arg(o, i) == v;
}

/* Do all uses of v, under whatever indices, read it as products of warpgroups do? */
static bool
feeds_groups(Func *f, const Val *v)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        DotPlan p = {0};
        if (o->op == OP_TRANS || o->op == OP_TO_SHARED) {
            if (!feeds_groups(f, result(o, 0)))
                return false;
            continue;
        }
        if (o->op != OP_DOT || is_operand(o, v, 2) || hopper_dot(f, o, &p) ||
            (p.is_a_regs && is_operand(o, v, 0)))
            return false;
    }
    return v->uses;
}

bool
roles_bring(Func *f, const Op *o)
{
    const Type *t = o->n_results ? result(o, 0)->type : NULL;
    WgmmaOperand w;
    if (o->op != OP_MAP_LOAD || t->rank != 2 || !feeds_groups(f, result(o, 0)))
        return false;
    TileForm form = tile_form(o);
    int bytes = elem_info[t->elem].bytes;
    bool reads = bytes == 4; /* along K, or word by word */
    for (int mn = 0; mn < 2; mn++)
        reads |= layout_wgmma(form.smem->layout, mn, MIN(t->shape[mn], 64), bytes, &w);
    return reads && form.swizzle > 0;
}

typedef struct Tiles {
    Func *f;
    Slice slice;
    int n;
    bool in_loop;
} Tiles;

static int64_t
copied_bytes(const Op *load)
{
    const Type *t = result(load, 0)->type;
    return ty_numel(t) * elem_info[t->elem].bytes;
}

/* Bytes of the places of what products read, of those in loops with so many slots. Loops one behind the
 * other share theirs. */
static int64_t
look_for_copies(Tiles *k, const Block *b, int slots)
{
    int64_t own = 0, inside = 0;
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_regions; i++) {
            int64_t bytes = look_for_copies(k, o->regions[i],
                                            slots); /* MAX evaluates twice */
            inside = MAX(inside, bytes);
        }
        if (!roles_bring(k->f, o))
            continue;
        k->n++;
        k->in_loop |= b->owner != NULL;
        own += copied_bytes(o) * (b->owner ? slots : 1);
        need_around(&k->slice, o);
        for (int i = 1; i < o->n_args; i++)
            need(&k->slice, arg(o, i));
    }
    return own + inside;
}

/* Do chained products of one warpgroup lose blocks by a warp that brings tiles? What one block computes
 * between its products runs beside the products of another, so more blocks outweigh copies that take no
 * instructions of theirs. Without roles all threads copy to num_stages slots; with them LEAST_SLOTS do, and
 * the mbarriers of RINGS rings take a kilobyte each. Attention on an H100 by 64x64, D = 128, TFLOP/s beside
 * Triton's of the same run: two blocks with roles 532 (465), causal 350 (302), without causal 297 (311). With
 * roles 128x32, D = 64, causal has fewer blocks: 219, and 240 without. */
static const char *
blocks_lost(Func *f, int64_t bytes, int64_t bytes_of_rings)
{
    enum { RINGS = 4 };
    int words = (int)acc_words(f->body),
        without = hopper_blocks(f, f->team_warps, words, bytes),
        with = hopper_blocks(f, f->team_warps + 1, words,
                             bytes_of_rings + (RINGS << 10));
    return with >= without
               ? NULL
               : str_printf(
                     f->c->arena,
                     "of chained products by one warpgroup %d blocks fit with them, %d without",
                     with, without);
}

/* Would two blocks share a multiprocessor? Then what the threads of one compute runs beside the products of
 * the other, and slots that wait for a tile take the room of the second. On an H100 with roles and without,
 * TFLOP/s of 4096^3, two blocks: bf16 @ int8 by 128x128x64, 8 warps, 432 and 518, by 128x128x32, 4 warps, 319
 * and 463, RMS norm and product by 128x128x64 207 and 301. One: 128x256x64 563 and 550, 473 and 420; 64 rows of
 * 4-bit weights by 64x64x64, which are fewer programs than multiprocessors, 62 and 56. */
static bool
has_company(Func *f, int64_t bytes)
{
    return hopper_blocks(f, f->team_warps, (int)acc_words(f->body), bytes) > 1 &&
           !hopper_grid_is(f, GRID_FEW);
}

typedef struct Made {
    bool of_loads, of_products;
} Made;

/* What v is made of in block b. */
static void
look_at_making(const Block *b, const Val *v, int budget, Made *m)
{
    const Op *o = v->def;
    if (!o || o->block != b || !v->type->rank || !budget)
        return;
    m->of_products |= o->op == OP_DOT;
    m->of_loads |= (o->op == OP_LOAD || o->op == OP_MAP_LOAD) && v->type->rank > 1;
    for (int i = 0; i < o->n_args && o->op != OP_DOT && o->op != OP_LOAD; i++)
        look_at_making(b, arg(o, i), budget - 1, m);
}

/* Does a loop's product read what threads load and compute, as dequantised weights? */
bool
has_made_operand(Func *f)
{
    enum { BUDGET = 16 };
    EACH_OP(o, f->body)
        for (int i = 0; i < 2 && o->op == OP_DOT && o->block->owner; i++) {
            const Val *v = arg(o, i);
            while (v->def && (v->def->op == OP_TRANS || v->def->op == OP_TO_SHARED))
                v = arg(v->def, 0);
            Made m = {0};
            if (!(v->def && roles_bring(f, v->def)))
                look_at_making(o->block, v, BUDGET, &m);
            if (m.of_loads && !m.of_products)
                return true;
        }
    return false;
}

const char *
roles_refusal(Func *f)
{
    HopperPlan h = hopper_plan(f);
    int groups = f->team_warps / WARPGROUP;
    if (h.level < 2 || !h.has_maps)
        return h.why_not ? h.why_not : h.no_maps ? h.no_maps : "the chip has none";
    if (groups != 1 && groups != 2)
        return "roles are for 4 or 8 warps";
    Tiles k = {.f = f, .slice = {.f = f, .seen = {.a = f->c->arena}}};
    int64_t bytes = look_for_copies(&k, f->body, f->c->opt.num_stages);
    const char *lost = NULL;
    if (groups == 1 && !h.is_asked && has_chained_dot(f->body))
        lost = blocks_lost(f, bytes, look_for_copies(&k, f->body, LEAST_SLOTS));
    if (lost)
        return lost;
    if (k.n && !h.is_asked && has_made_operand(f) && has_company(f, bytes))
        return "threads make another operand of a product, beside those of a second block";
    return !k.n          ? "no product reads tiles of tensors where they come to lie"
           : k.slice.why ? k.slice.why
           : !k.in_loop  ? "no loop reads tiles of tensors"
                         : NULL;
}

/* Is v a product that what it is added to becomes the sum of (fuse_dot)? */
static bool
is_added_by_itself(const Val *v)
{
    const Op *o = v->def;
    return o && o->op == OP_DOT && !elem_is_f8(arg(o, 0)->type->elem);
}

int64_t
own_sum_words(const Func *f)
{
    int64_t bytes = 0;
    EACH_OP(o, f->body)
        for (int i = 1; o->op == OP_FOR && i < o->regions[0]->n_args; i++) {
            const Val *at = o->regions[0]->args[i];
            const Op *next = arg(o->regions[0]->last, i - 1)->def;
            int own = next && next->op == OP_ADD && arg(next, 1) == at;
            if (at->type->rank == 2 && next && next->op == OP_ADD &&
                arg(next, own) == at && !is_added_by_itself(arg(next, 1 - own)))
                bytes += ty_numel(at->type) * ty_bytes(at->type);
        }
    return bytes / (4 * 32 * f->team_warps);
}

/* What is dealt is what threads begin with: of a user's maxnreg, 240 would never be free. */
RolesPlan
roles_plan(Func *f)
{
    if (f->team_warps == 2 * WARPGROUP && !f->c->opt.maxnreg &&
        acc_words(f->body) + own_sum_words(f) > MANY_WORDS)
        return (RolesPlan){.producers = WARPGROUP, .regs = 240, .producer_regs = 24};
    return (RolesPlan){.producers = 1};
}
