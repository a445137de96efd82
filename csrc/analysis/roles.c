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

bool
is_read_by_groups(Func *f, const Val *v)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user;
        DotPlan p = {0};
        if (o->op == OP_TRANS || o->op == OP_TO_SHARED) {
            if (!is_read_by_groups(f, result(o, 0)))
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
    if (o->op != OP_MAP_LOAD || t->rank != 2 || !is_read_by_groups(f, result(o, 0)))
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
    bool in_loop, is_settled; /* is_settled: tiles have layouts */
} Tiles;

int64_t
tile_bytes(const Op *load)
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
        k->is_settled |= result(o, 0)->type->layout != NULL;
        own += tile_bytes(o) * (b->owner ? slots : 1);
        need_around(&k->slice, o);
        for (int i = 1; i < o->n_args; i++)
            need(&k->slice, arg(o, i));
    }
    return own + inside;
}

/* The most that threads store at one time for the products of the function: what two operands of one take that no copy
 * has brought. */
static int64_t
made_bytes(Func *f)
{
    int64_t most = 0;
    EACH_OP(o, f->body) {
        DotPlan p = {0};
        int64_t sum = 0;
        for (int i = 0; i < 2 && o->op == OP_DOT && !hopper_dot(f, o, &p); i++) {
            const Val *v = arg(o, i);
            bool is_made = !comes_from_load(v) && !(p.is_a_regs && i == 0);
            while (v->def && (v->def->op == OP_TRANS || v->def->op == OP_TO_SHARED))
                v = arg(v->def, 0), is_made &= !comes_from_load(v);
            sum += is_made ? ty_numel(v->type) * elem_info[v->type->elem].bytes : 0;
        }
        most = MAX(most, sum);
    }
    return most;
}

/* What a loop's products do that begin at zero, which threads then compute with. */
typedef struct Work {
    int n_chained, n_fresh; /* n_fresh: begin at zero */
    int64_t words;          /* of a thread */
    int64_t again,
        kept; /* bytes that a chained product reads: of tiles behind another one, of words */
} Work;

static bool
is_chained(const Op *dot)
{
    enum { WALK = 256 };
    int budget = WALK;
    return comes_from_dot(arg(dot, 0), &budget) || comes_from_dot(arg(dot, 1), &budget);
}

static const Op *
load_of(const Val *v)
{
    while (v->def && (v->def->op == OP_TRANS || v->def->op == OP_TO_SHARED))
        v = arg(v->def, 0);
    return v->def && v->def->op == OP_MAP_LOAD ? v->def : NULL;
}

/* Does another product of o's block read the tile, too? */
static bool
is_read_before(const Op *o, const Op *load)
{
    for (const Op *p = o->prev; p; p = p->prev)
        for (int i = 0; i < 2 && p->op == OP_DOT; i++)
            if (load_of(arg(p, i)) == load)
                return true;
    return false;
}

static Work
look_at_work(const Block *b)
{
    Work w = {0}, most = {0};
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_regions; i++) {
            Work inside = look_at_work(o->regions[i]);
            if (inside.words > most.words)
                most = inside;
        }
        if (o->op != OP_DOT || !b->owner)
            continue;
        const Type *t = result(o, 0)->type;
        const Op *load = load_of(arg(o, 1));
        if (ir_is_zero(arg(o, 2))) {
            w.n_fresh++;
            w.words += ty_numel(t) * ty_bytes(t) / (4 * 32 * b->func->team_warps);
        }
        if (!is_chained(o))
            continue;
        w.n_chained++;
        w.kept += ty_numel(arg(o, 0)->type) * elem_info[arg(o, 0)->type->elem].bytes;
        if (load && load->block == b && is_read_before(o, load))
            w.again += tile_bytes(load);
    }
    return w.words >= most.words ? w : most;
}

/* Without roles all threads copy to num_stages slots; with them LEAST_SLOTS do, and the mbarriers of RINGS
 * rings take a kilobyte each. A chained product alone is moved behind those of the next iteration
 * (passes/simt/rotate.c): what it reads with them has slots of its own. words: of a thread's registers. */
static RolesBlocks
blocks_of(Func *f, int64_t words)
{
    enum { RINGS = 4 };
    Tiles k = {.f = f, .slice = {.f = f, .seen = {.a = f->c->arena}}};
    int stages = f->c->opt.num_stages;
    int64_t slots = look_for_copies(&k, f->body, stages),
            least = look_for_copies(&k, f->body, LEAST_SLOTS), made = made_bytes(f);
    Work w = look_at_work(f->body);
    if (w.n_chained == 1)
        slots += w.again * stages;
    return (RolesBlocks){.with = hopper_blocks_of(f, f->team_warps + 1, (int)words,
                                                  least + (RINGS << 10) + made),
                         .without = hopper_blocks_of(f, f->team_warps, (int)words,
                                                     slots + made)};
}

/* The most that one store takes through shared memory. */
static int64_t
stored_bytes(const Func *f)
{
    int64_t most = 0;
    EACH_OP(o, f->body) {
        const Type *t = o->op == OP_MAP_STORE ? arg(o, o->n_args - 1)->type : NULL;
        if (t)
            most = MAX(most, ty_numel(t) * ty_bytes(t));
    }
    return most;
}

bool
roles_leave_room(Func *f)
{
    enum { SLOTS = 4, FEW = 3, LARGE = 24 << 10, MBARS = 1 << 10 };
    Tiles k = {.f = f, .slice = {.f = f, .seen = {.a = f->c->arena}}};
    int64_t once = look_for_copies(&k, f->body, 0),
            slot = look_for_copies(&k, f->body, 1) - once,
            bytes = once + slot * (slot < LARGE ? SLOTS : FEW) + made_bytes(f) +
                    stored_bytes(f);
    return hopper_blocks_of(f, f->team_warps + 1, 1, bytes + MBARS) > 1;
}

/* About so many registers has a thread beside its sums. */
static RolesBlocks
some_blocks(Func *f)
{
    int others = has_chained_dot(f->body) ? OTHERS_OF_LOOPS : OTHERS_OF_SUMS;
    return blocks_of(f, acc_words(f->body) + own_sum_words(f) + others);
}

/* Two warpgroups have room for a second block where LEAST are left to a thread beside all that it computes of
 * products: they are told to leave it (rings.c, occupancy.c). What a rotated product reads stays, too, unless threads
 * compute with two fresh products, for whom a second block is the better company: the gradient of queries by 128x64,
 * D = 64, 8 warps on an H100 0.92 of Triton rotated, by warps of their own and in turn, and 1.19 by two blocks. */
RolesBlocks
roles_blocks(Func *f)
{
    enum { LEAST = 32, SOME_FRESH = 2 };
    if (f->team_warps != 2 * WARPGROUP || f->c->hopper.no_pair)
        return some_blocks(f);
    int64_t acc = acc_words(f->body) + own_sum_words(f), sum = most_sum_words(f);
    Work w = look_at_work(f->body);
    RolesBlocks n = blocks_of(f, acc + LEAST);
    if (w.n_chained == 1 && w.n_fresh < SOME_FRESH)
        acc += w.kept / (4 * 32 * f->team_warps);
    n.without = blocks_of(f, MAX(acc, sum) + LEAST).without;
    return n;
}

bool
roles_pair(Func *f)
{
    return hopper_plan(f).level > 1 && !f->c->opt.maxnreg &&
           f->team_warps == 2 * WARPGROUP && look_at_work(f->body).words &&
           some_blocks(f).without < 2 && roles_blocks(f).without == 2;
}

/* Do threads work between the products of a loop, whose blocks are fewer by a warp that brings tiles? What
 * one block computes runs beside the products of another, so a second block outweighs copies that
 * take no instructions of theirs. Where there are two with roles, too, fewer blocks cost a part of that work, and
 * copies as much as so many elements of it. On an H100, us with roles and without:
 *
 *     blocks     1, 2  delta rule 64x64 315, 220; attention 64x32, D = 256 166, 150; its dk and dv, 32x128
 *                      by 8 warps, 395, 290
 *                1, 1  attention 64x64, D = 256 127, 174; dq 64x64, D = 128 178, 225
 *                2, 3  attention 64x32, D = 128 171, 222; causal 128x32, D = 64 157, 147
 *                3, 4  gated layer 64x64 34, 39; attention 64x64, D = 64 166, 163, D = 32 244, 234
 *
 * A sum of the threads' own is less work than a softmax: float8 with scales by 64x128x128 165, 184 (2, 3). */
static const char *
blocks_lost(Func *f)
{
    bool is_chained = has_chained_dot(f->body);
    if (!is_chained && !own_sum_words(f))
        return NULL;
    enum { COPY = 16 };
    RolesBlocks n = roles_blocks(f);
    Tiles k = {.f = f, .slice = {.f = f, .seen = {.a = f->c->arena}}};
    int64_t copies = look_for_copies(&k, f->body, 1) - look_for_copies(&k, f->body, 0);
    copies /= COPY * 32 * f->team_warps;
    int64_t lost = (n.without - n.with) * look_at_work(f->body).words;
    bool is_less = n.with < 2 ? n.without > 1
                              : is_chained && f->team_warps == WARPGROUP &&
                                    lost > n.without * copies;
    if (!is_less || !hopper_holds_fewer(f, n.with, n.without))
        return NULL;
    return str_printf(
        f->c->arena,
        "threads work between products: %d blocks fit with them, %d without", n.with,
        n.without);
}

/* Would two blocks share a multiprocessor? Then what the threads of one compute runs beside the products of
 * the other, and slots that wait for a tile take the room of the second. On an H100 with roles and without,
 * TFLOP/s of 4096^3, two blocks: bf16 @ int8 by 128x128x64, 8 warps, 432 and 518, by 128x128x32, 4 warps, 319
 * and 463, RMS norm and product by 128x128x64 207 and 301. One: 128x256x64 563 and 550, 473 and 420; 64 rows of
 * 4-bit weights by 64x64x64, which are fewer programs than multiprocessors, 62 and 56. */
static bool
has_company(Func *f)
{
    return hopper_holds_fewer(f, 1, some_blocks(f).without);
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
            if (!comes_from_load(v))
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
    look_for_copies(&k, f->body, LEAST_SLOTS);
    /* What has a layout is a tile because roles were worth it (lower_desc): registers are counted anew there, and
     * nobody else would bring it ahead. */
    bool is_open = k.n && !h.is_asked && !k.is_settled;
    const char *lost = is_open ? blocks_lost(f) : NULL;
    if (lost)
        return lost;
    if (is_open && has_made_operand(f) && has_company(f))
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
