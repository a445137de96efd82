/* traffic: how many bytes a launch loads and stores, and how many operations it does.
 *
 *     func @add(%x: ptr<f32>, %n: i32) {            grid (8,), n = 1000
 *       %5 = lt %offs, %n : i1[128]                 true 1000 times in the 8 programs
 *       %6 = load %p, %5 : f32[128]                 4000 bytes, not 4096
 *
 * The launch is run, but for what is in memory: only integers are computed, and of those only
 * what masks, bounds of loops and conditions are made of. An access counts the elements that
 * its mask lets through, each as often as the kernel asks for it: what a cache answers is
 * counted, too.
 *
 * 1. A value that comes out of memory is unknown. A mask of such values counts as all true, a
 *    loop over them as one iteration, a condition as both branches, and the result says so.
 * 2. Grids of more than a few programs are sampled: the last one along an axis, where masks
 *    end, counts for itself, the others stand for equal parts of the rest.
 * 3. A loop is run iteration by iteration only where something in it must be computed, and
 *    only as long as BUDGET lasts; then one iteration stands for those that are left.
 * 4. What memory itself must move is a second question: tiles of a product are read again and
 *    again, out of caches. A second walk computes addresses, in the programs at the corners of
 *    the grid and in the first and the last iteration of loops, where carried values are taken
 *    to have grown by equal steps. The bytes between the lowest and the highest address of a
 *    parameter are all of it that there is to move.
 */
#include "analysis/analysis.h"

enum { SAMPLES = 32, BUDGET = 1 << 24 /* elements computed */ };

/* Of one parameter: bytes, and addresses. */
typedef struct Reach {
    double loaded, stored;
    uint64_t low, high; /* high: behind the last byte; both 0: never reached */
} Reach;

typedef struct Walk {
    const Func *f;
    const uint64_t *params;
    const int32_t *grid;
    int32_t pid[3];
    bool *is_wanted;  /* by id: a mask, a bound or a condition is made of it */
    uint64_t **value; /* by id: a word for each element; NULL: never computed */
    bool *is_known;   /* by id */
    bool has_axis[3]; /* does anything wanted ask for the program's index there? */
    int64_t budget;
    double weight;  /* how many executions this one stands for */
    bool has_spans; /* the second walk: addresses alone */
    Reach *reach;   /* by parameter; the last is for pointers that may be of any */
    Traffic *out;
} Walk;

/* ---- what must be computed ------------------------------------------------------------- */

typedef VEC(const Val *) Vals;

static void
want(Walk *w, Vals *todo, const Val *v)
{
    const Type *t = v->type;
    bool is_number = t->is_ptr ? w->has_spans : elem_is_int(t->elem);
    if (w->is_wanted[v->id] || !is_number || ty_is_named(t))
        return;
    w->is_wanted[v->id] = true;
    PUSH(w->f->c->arena, todo, v);
}

static const Val *
mask_of(const Op *o)
{
    return op_is_access(o) ? op_mask(o) : NULL;
}

static void
want_controls(Walk *w, Vals *todo, const Block *b)
{
    EACH_CONTROL_OP(o, b) {
        if (mask_of(o))
            want(w, todo, mask_of(o));
        if (op_is_access(o))
            want(w, todo, arg(o, 0));
        if (o->op == OP_IF)
            want(w, todo, arg(o, 0));
        for (int i = 0; o->op == OP_FOR && i < 3; i++)
            want(w, todo, arg(o, i));
    }
}

/* What v, a result of a loop or a branch or a value that a loop carries, comes from. */
static void
want_sources(Walk *w, Vals *todo, const Op *o, int i)
{
    if (o->op == OP_FOR)
        want(w, todo, arg(o, i + 3));
    for (int r = 0; r < o->n_regions && (o->op == OP_FOR || o->op == OP_IF); r++)
        want(w, todo, arg(o->regions[r]->last, i));
}

static void
want_all(Walk *w)
{
    Vals todo = {0};
    want_controls(w, &todo, w->f->body);
    while (todo.n) {
        const Val *v = todo.at[--todo.n];
        const Op *o = v->def, *loop = v->block->owner;
        if (o && o->op == OP_PROGRAM_ID)
            w->has_axis[ir_attr(o, ATTR_AXIS)] = true;
        for (int d = 0; d < 3 && o && o->op == OP_BLOCK_ID; d++)
            w->has_axis[d] = true;
        if (o && o->n_regions)
            want_sources(w, &todo, o, v->index);
        for (int i = 0; o && !o->n_regions && i < o->n_args; i++)
            want(w, &todo, arg(o, i));
        if (!o && loop && loop->op == OP_FOR && v->index > 0) {
            want(w, &todo, result(loop, v->index - 1));
            want_sources(w, &todo, loop, v->index - 1);
        }
    }
}

/* ---- integers -------------------------------------------------------------------------- */

static uint64_t *
room(Walk *w, const Val *v)
{
    if (!w->value[v->id])
        w->value[v->id] = NEW_N(w->f->c->arena, uint64_t, ty_numel(v->type));
    return w->value[v->id];
}

static void
copy_value(Walk *w, const Val *to, const Val *from)
{
    if (!w->is_wanted[to->id])
        return;
    w->is_known[to->id] = w->is_known[from->id];
    if (w->is_known[from->id])
        memcpy(room(w, to), w->value[from->id],
               (size_t)ty_numel(to->type) * sizeof(uint64_t));
}

/* Where element i of o's result stands in its operand. */
static int64_t
source(const Op *o, int64_t i)
{
    const Type *t = result(o, 0)->type, *from = arg(o, 0)->type;
    int perm[MAX_RANK];
    int64_t index[MAX_RANK] = {0}, at = 0;
    if (o->op != OP_BROADCAST && o->op != OP_TRANS)
        return from->rank ? i : 0;
    for (int d = t->rank - 1; d >= 0; d--, i /= t->shape[d + 1])
        index[d] = i % t->shape[d];
    if (o->op == OP_BROADCAST) {
        for (int d = 0; d < from->rank; d++)
            at = at * from->shape[d] + (from->shape[d] == 1 ? 0 : index[d]);
        return at;
    }
    int64_t turned[MAX_RANK] = {0};
    ir_perm(o, perm);
    for (int d = 0; d < t->rank; d++)
        turned[perm[d]] = index[d];
    for (int d = 0; d < from->rank; d++)
        at = at * from->shape[d] + turned[d];
    return at;
}

static bool
is_rearranged(const Op *o)
{
    return o->op == OP_SPLAT || o->op == OP_EXPAND || o->op == OP_BROADCAST ||
           o->op == OP_RESHAPE || o->op == OP_TRANS || o->op == OP_HINT ||
           o->op == OP_CONVERT;
}

static bool
element(const Op *o, uint64_t *const *in, int64_t i, uint64_t *r)
{
    uint64_t args[3];
    const Type *of = arg(o, o->op == OP_SELECT || o->op == OP_ADDPTR)->type,
               *out = result(o, 0)->type;
    Elem from = of->is_ptr ? E_U64 : of->elem,
         to = out->is_ptr && o->op != OP_ADDPTR ? E_U64 : out->elem;
    for (int k = 0; k < o->n_args; k++)
        args[k] = in[k][i];
    if (o->op != OP_CAST)
        return ir_eval(o->op, from, to, args, o->n_args, r);
    *r = elem_cast(from, to, args[0], ROUND_RTNE);
    return true;
}

static bool
is_elementwise(const Op *o)
{
    return op_has(o, OPF_ELEM) && op_has(o, OPF_PURE) && !op_is_assembly(o) &&
           !op_is_extern(o) && o->op != OP_BITCAST && o->n_args >= 1 && o->n_args <= 3;
}

static bool
fill_op(Walk *w, const Op *o, uint64_t *r, int64_t n)
{
    uint64_t *in[3];
    for (int k = 0; k < o->n_args; k++)
        if (k == 3 || !w->is_known[arg(o, k)->id])
            return false;
        else
            in[k] = w->value[arg(o, k)->id];
    bool ok = is_rearranged(o) || is_elementwise(o) || !o->n_args;
    for (int64_t i = 0; ok && i < n; i++)
        switch (o->op) {
        case OP_CONST: r[i] = o->bits; break;
        case OP_ARANGE: r[i] = elem_from_int(E_I32, ir_attr(o, ATTR_START) + i); break;
        case OP_PROGRAM_ID: r[i] = (uint32_t)w->pid[ir_attr(o, ATTR_AXIS)]; break;
        case OP_NUM_PROGRAMS: r[i] = (uint32_t)w->grid[ir_attr(o, ATTR_AXIS)]; break;
        case OP_BLOCK_ID: r[i] = ir_block_number(w->pid, w->grid); break;
        case OP_NUM_BLOCKS: r[i] = ir_block_count(w->grid); break;
        case OP_CLUSTER_RANK: r[i] = 0; break;
        case OPS(OP_SPLAT, OPS_SHAPE, OPS_ELEM, OPS_OTHER):
            if (is_rearranged(o))
                r[i] = in[0][source(o, i)];
            else
                ok = element(o, in, i, &r[i]);
        }
    return ok;
}

static void
compute(Walk *w, const Op *o)
{
    const Val *v = result(o, 0);
    int64_t n = ty_numel(v->type);
    w->budget -= n;
    w->is_known[v->id] = fill_op(w, o, room(w, v), n);
}

/* ---- what is counted ------------------------------------------------------------------- */

static double
lanes_on(Walk *w, const Op *o)
{
    const Val *mask = mask_of(o);
    int64_t n = ty_numel(arg(o, 0)->type), on = 0;
    if (!mask)
        return (double)n;
    if (!w->is_known[mask->id]) {
        w->out->is_bound = true;
        return (double)n;
    }
    for (int64_t i = 0; i < ty_numel(mask->type); i++)
        on += w->value[mask->id][i] & 1;
    return mask->type->rank ? (double)on : on ? (double)n : 0;
}

static Reach *
reach_of(Walk *w, const Val *pointer)
{
    int at = ir_origin(pointer);
    return &w->reach[at < 0 ? w->f->body->n_args : at];
}

static void
widen(Reach *r, uint64_t address, uint64_t bytes)
{
    r->low = r->high ? MIN(r->low, address) : address;
    r->high = MAX(r->high, address + bytes);
}

static void
reach(Walk *w, const Op *o, int bytes)
{
    const Val *p = arg(o, 0), *mask = mask_of(o);
    Reach *r = reach_of(w, p);
    if (!w->is_known[p->id])
        return widen(r, 0, UINT64_MAX);
    const uint64_t *on = mask && w->is_known[mask->id] ? w->value[mask->id] : NULL;
    for (int64_t i = 0; i < ty_numel(p->type); i++)
        if (!on || on[mask->type->rank ? i : 0] & 1)
            widen(r, w->value[p->id][i], (uint64_t)bytes);
}

static void
count_access(Walk *w, const Op *o)
{
    int each = ty_bytes(ty_pointee(w->f->c, ty_element(w->f->c, arg(o, 0)->type)));
    if (w->has_spans)
        return reach(w, o, each);
    double bytes = w->weight * lanes_on(w, o) * each;
    Reach *r = reach_of(w, arg(o, 0));
    if (o->op == OP_LOAD) {
        w->out->loaded += bytes;
        r->loaded += bytes;
    } else if (o->op == OP_STORE) {
        w->out->stored += bytes;
        r->stored += bytes;
    } else {
        w->out->atomic += bytes;
        r->stored += bytes;
    }
}

/* Of a descriptor's: what lies outside of the tensor is counted as well. */
static void
count_tile(Walk *w, const Op *o)
{
    bool is_load = o->op == OP_TILE_LOAD || o->op == OP_MAP_LOAD;
    const Type *t = is_load ? result(o, 0)->type : arg(o, o->n_args - 1)->type;
    double bytes = w->weight * (double)ty_numel(t) * elem_info[t->elem].bytes;
    Reach *r = &w->reach[w->f->body->n_args];
    *(is_load ? &w->out->loaded : &w->out->stored) += bytes;
    *(is_load ? &r->loaded : &r->stored) += bytes;
    widen(r, 0, UINT64_MAX);
}

static bool
is_float_arithmetic(const Op *o)
{
    return o->n_results == 1 && elem_is_float(result(o, 0)->type->elem) &&
           ((o->op >= OP_ADD && o->op <= OP_MAXNAN) || o->op == OP_NEG ||
            o->op == OP_ABS || o->op == OP_FMA || (o->op >= OP_EXP && o->op < OP_HINT));
}

static void
count(Walk *w, const Op *o)
{
    if (op_is_access(o)) {
        count_access(w, o);
    } else if (w->has_spans) {
        return;
    } else if (op_is_tile(o) || o->op == OP_MAP_LOAD || o->op == OP_MAP_STORE) {
        count_tile(w, o);
    } else if (o->op == OP_DOT) {
        DotSides s = dot_sides(o);
        const Type *t = result(o, 0)->type;
        double batch = t->rank == 3 ? t->shape[0] : 1;
        w->out->dot_flops += w->weight * batch * 2.0 * s.m * s.n * s.k;
    } else if (o->op == OP_REDUCE || o->op == OP_SCAN) {
        if (elem_is_float(arg(o, 0)->type->elem))
            w->out->flops += w->weight * (double)ty_numel(arg(o, 0)->type);
    } else if (is_float_arithmetic(o)) {
        double each = o->op == OP_FMA ? 2 : 1;
        w->out->flops += w->weight * each * (double)ty_numel(result(o, 0)->type);
    }
}

/* ---- control --------------------------------------------------------------------------- */

static void walk_traffic(Walk *w, const Block *b);

static bool
scalar(const Walk *w, const Val *v, int64_t *out)
{
    if (!w->is_known[v->id])
        return false;
    *out = elem_to_int(v->type->elem, w->value[v->id][0]);
    return true;
}

/* False: nobody knows; then it is 1. */
static bool
trips_of(const Walk *w, const Op *loop, int64_t *lb, int64_t *step, int64_t *trips)
{
    int64_t ub;
    *trips = 1;
    if (!scalar(w, arg(loop, 0), lb) || !scalar(w, arg(loop, 1), &ub) ||
        !scalar(w, arg(loop, 2), step) || !*step)
        return *lb = *step = 0, false;
    int64_t way = *step > 0 ? ub - *lb : *lb - ub, by = *step > 0 ? *step : -*step;
    *trips = way > 0 ? (way - 1) / by + 1 : 0;
    return true;
}

/* Must iterations be told apart? */
static bool
computes(const Walk *w, const Block *b)
{
    for (int i = 0; i < b->n_args; i++)
        if (w->is_wanted[b->args[i]->id])
            return true;
    return false;
}

static void
set_index(Walk *w, const Val *iv, int64_t at, bool is_known)
{
    if (!w->is_wanted[iv->id])
        return;
    w->is_known[iv->id] = is_known;
    room(w, iv)[0] = elem_from_int(iv->type->elem, at);
}

static void
carry(Walk *w, const Op *loop, const Block *body)
{
    for (int i = 0; i < loop->n_results; i++)
        copy_value(w, result(loop, i), arg(body->last, i));
}

/* From one iteration to the k-th behind it, by equal steps. */
static void
leap(Walk *w, const Op *loop, const Block *body, int64_t k)
{
    for (int i = 0; i < loop->n_results; i++) {
        const Val *before = body->args[i + 1], *after = result(loop, i);
        if (!w->is_wanted[after->id] || !w->is_known[after->id])
            continue;
        uint64_t *a = w->value[before->id], *b = w->value[after->id];
        for (int64_t n = 0; n < ty_numel(after->type); n++)
            b[n] += (uint64_t)(k - 1) * (b[n] - a[n]);
    }
}

/* The first iteration and the last. */
static void
walk_ends(Walk *w, const Op *loop, int64_t lb, int64_t step, int64_t trips)
{
    const Block *body = loop->regions[0];
    for (int64_t k = 0; k < trips; k = k ? trips : MAX(trips - 1, 1)) {
        set_index(w, body->args[0], lb + k * step, true);
        if (k > 1)
            leap(w, loop, body, k);
        for (int i = 0; i < loop->n_results; i++)
            copy_value(w, body->args[i + 1], result(loop, i));
        walk_traffic(w, body);
        carry(w, loop, body);
    }
}

static void
walk_for(Walk *w, const Op *loop)
{
    const Block *body = loop->regions[0];
    int64_t lb, step, trips;
    double weight = w->weight;
    bool is_known = trips_of(w, loop, &lb, &step, &trips),
         each = is_known && computes(w, body);
    w->out->is_bound |= !is_known;
    for (int i = 0; i < loop->n_results; i++)
        copy_value(w, result(loop, i), arg(loop, i + 3));
    if (w->has_spans && is_known)
        return walk_ends(w, loop, lb, step, trips);
    for (int64_t k = 0; k < trips;) {
        int64_t n = each && w->budget > 0 ? 1 : trips - k;
        w->out->is_bound |= each && n > 1;
        w->weight = weight * (double)n;
        set_index(w, body->args[0], lb + k * step, is_known);
        for (int i = 0; i < loop->n_results; i++)
            copy_value(w, body->args[i + 1], result(loop, i));
        walk_traffic(w, body);
        carry(w, loop, body);
        k += n;
    }
    w->weight = weight;
}

static void
walk_if(Walk *w, const Op *o)
{
    int64_t cond = 1;
    bool is_known = scalar(w, arg(o, 0), &cond);
    w->out->is_bound |= !is_known;
    for (int r = 0; r < o->n_regions; r++) {
        if (is_known && (r == 0) != (cond != 0))
            continue;
        walk_traffic(w, o->regions[r]);
        for (int i = 0; i < o->n_results; i++) {
            copy_value(w, result(o, i), arg(o->regions[r]->last, i));
            w->is_known[result(o, i)->id] &= is_known;
        }
    }
}

static void
walk_control(Walk *w, const Op *o)
{
    if (o->op == OP_FOR)
        walk_for(w, o);
    else if (o->op == OP_IF)
        walk_if(w, o);
    else
        for (int i = 0; i < o->n_regions; i++) {
            w->out->is_bound = true; /* a while: once */
            walk_traffic(w, o->regions[i]);
        }
}

static void
walk_traffic(Walk *w, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        count(w, o);
        if (op_has(o, OPF_CONTROL))
            walk_control(w, o);
        else if (o->n_results == 1 && w->is_wanted[result(o, 0)->id])
            compute(w, o);
    }
}

/* ---- programs -------------------------------------------------------------------------- */

/* Sample i of n along an axis of `side`: which program, and how many it stands for. */
static int32_t
sample(int32_t side, int i, int n, double *stands_for)
{
    if (n == side || i == n - 1) {
        *stands_for = n == 1 ? side : 1;
        return n == side ? i : side - 1;
    }
    if (n == 2) { /* the corners */
        *stands_for = side - 1;
        return 0;
    }
    int64_t rest = side - 1, first = rest * i / (n - 1),
            last = rest * (i + 1) / (n - 1);
    *stands_for = (double)(last - first);
    return (int32_t)((first + last) / 2);
}

static uint64_t
param_bits(const Type *t, uint64_t word)
{
    return t->is_ptr ? word : elem_cast(t->elem, t->elem, word, ROUND_RTNE);
}

static void
set_params(Walk *w)
{
    const Block *body = w->f->body;
    for (int i = 0; i < body->n_args; i++) {
        const Val *v = body->args[i];
        if (!w->is_wanted[v->id])
            continue;
        w->is_known[v->id] = true;
        room(w, v)[0] = param_bits(v->type, w->params[i]);
    }
}

static void
walk_programs(Walk *w, const int most[3])
{
    int n[3];
    want_all(w);
    set_params(w);
    for (int d = 0; d < 3; d++)
        n[d] = w->has_axis[d] ? MIN(most[d], w->grid[d]) : 1;
    for (int i = 0; i < n[0] * n[1] * n[2]; i++) {
        double stands[3];
        int at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        for (int d = 0; d < 3; d++)
            w->pid[d] = sample(w->grid[d], at[d], n[d], &stands[d]);
        w->weight = stands[0] * stands[1] * stands[2];
        w->budget = BUDGET / MAX(n[0] * n[1] * n[2], 1);
        walk_traffic(w, w->f->body);
    }
}

static Walk
open_on(const Func *f, const uint64_t *params, const int32_t grid[3], Traffic *out)
{
    Arena *a = f->c->arena;
    return (Walk){.f = f,
                  .params = params,
                  .grid = grid,
                  .is_wanted = NEW_N(a, bool, f->n_vals),
                  .is_known = NEW_N(a, bool, f->n_vals),
                  .value = NEW_N(a, uint64_t *, f->n_vals),
                  .out = out};
}

static double
touched(const Reach *r, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double span = (double)(r[i].high - r[i].low);
        sum += MIN(r[i].loaded, span) + MIN(r[i].stored, span);
    }
    return sum;
}

void
traffic_of(const Func *f, const uint64_t *params, const int32_t grid[3], Traffic *out)
{
    *out = (Traffic){0};
    Walk w = open_on(f, params, grid, out), corners = open_on(f, params, grid, out);
    corners.has_spans = true;
    w.reach = corners.reach = NEW_N(f->c->arena, Reach, f->body->n_args + 1);
    bool is_flat = grid[1] == 1 && grid[2] == 1;
    walk_programs(&w, is_flat ? (const int[]){SAMPLES, 1, 1} : (const int[]){8, 8, 4});
    bool is_bound = out->is_bound;
    walk_programs(&corners, (const int[]){2, 2, 2});
    out->is_bound = is_bound;
    out->touched = touched(w.reach, f->body->n_args + 1);
}
