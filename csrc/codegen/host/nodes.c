/* nodes: what a group computes, before anything is emitted.
 *
 * A node is a lazy value seen at certain indices: `map` says which dim of the group runs
 * along each of its dims. Broadcasts, transposes and expand_dims vanish into maps, so one
 * value can have several nodes:
 *
 *     %i = arange 0..16                node (%i, [0])    changes with rows
 *     %i[:, None] == %i[None, :]       node (%i, [1])    changes with columns
 *
 * Here is decided, too, how wide a step is, and which accesses are consecutive.
 */
#include "codegen/host/host.h"

#include <stdlib.h>

/* ---- the nodes of a group ------------------------------------------------------------------ */

/* What tells nodes of a group apart. */
typedef struct NodeKey {
    int32_t id, lane0;
    DimMap map;
} NodeKey;
_Static_assert(sizeof(NodeKey) == 8 + MAX_RANK, "padding in a map key");

static DimMap
identity_map(int rank)
{
    DimMap m = {{0}};
    for (int d = 0; d < rank; d++)
        m.at[d] = (uint8_t)d;
    return m;
}

/* Visits what computing v on demand would compute, and marks it with the stamp. */
bool
host_visits(Host *h, const Val *v)
{
    VState *s = state(h, v);
    if (s->kind != V_LAZY || s->is_virtual || s->stamp == h->stamp)
        return false;
    s->stamp = h->stamp;
    return true;
}

/* v's dim that runs along the group's dim g, or -1. */
static int
dim_along(const Val *v, DimMap map, int g)
{
    for (int d = 0; d < v->type->rank; d++)
        if (map.at[d] == g)
            return d;
    return -1;
}

/* How many lanes from the start of a step are consecutive elements: log2. */
static int
run_log2(Host *h, const Val *ptr, DimMap map, int vec)
{
    int d = dim_along(ptr, map, vec);
    if (d < 0)
        return 0;
    for (int e = d + 1; e < ptr->type->rank; e++)
        if (map.at[e] == vec)
            return 0; /* a diagonal */
    Affine a;
    int64_t c;
    if (affine_of(h->f, ptr, &a) && affine_const_stride(&a, d, &c))
        return c == 1 ? MAX_LOG2 : 0;
    return facts_contiguity(h->facts, ptr, d, MAX_LOG2);
}

typedef struct RunCount {
    int rank, n; /* of the nest; elements that are a run */
    int down, across,
        shorter; /* blocks of memory and of scratch; shorter: than n, along the last dim */
} RunCount;

static void
count_run(RunCount *r, int down, int across)
{
    if (1 << MIN(down, 20) >= r->n)
        r->down++;
    else if (1 << MIN(across, 20) >= r->n)
        r->across++;
    else
        r->shorter += across >= 2;
}

static void
count_runs(Host *h, RunCount *r, const Val *v, DimMap map)
{
    VState *s = state(h, v);
    int row = dim_along(v, map, r->rank - 2), col = dim_along(v, map, r->rank - 1);
    if (s->kind == V_BUFFER && row >= 0 && col >= 0)
        count_run(r, s->view.stride[row] == 1 ? MAX_LOG2 : 0,
                  s->view.stride[col] == 1 ? MAX_LOG2 : 0);
    if (s->kind != V_LAZY || s->is_virtual || s->stamp == h->stamp)
        return;
    s->stamp = h->stamp;
    const Op *o = v->def;
    if (op_is_through(o)) {
        count_runs(h, r, arg(o, 0), op_through_map(o, map));
        return;
    }
    if (o->op == OP_LOAD && row >= 0 && col >= 0) {
        int down = run_log2(h, arg(o, 0), map, r->rank - 2);
        if (1 << MIN(down, 20) < r->n && host_runs_along(h, arg(o, 0), row))
            down = MAX_LOG2;
        count_run(r, down, run_log2(h, arg(o, 0), map, r->rank - 1));
    }
    for (int i = 0; i < o->n_args; i++)
        if (v->type->rank)
            count_runs(h, r, arg(o, i), map);
}

static Runs
runs(const RunCount *r)
{
    if (r->down)
        return r->across || r->shorter ? RUNS_MIXED : RUNS_DOWN;
    return r->across ? RUNS_ACROSS : RUNS_MIXED;
}

Runs
host_runs(Host *h, const Val *v, int n)
{
    RunCount r = {.rank = v->type->rank, .n = MAX(n, 2)};
    h->stamp++;
    count_runs(h, &r, v, identity_map(r.rank));
    return runs(&r);
}

Runs
host_runs_of_pointers(Host *h, const Val *v)
{
    RunCount r = {.rank = v->type->rank, .n = h->vec_bytes};
    DimMap map = identity_map(r.rank);
    count_run(&r, run_log2(h, v, map, r.rank - 2), run_log2(h, v, map, r.rank - 1));
    if (runs(&r) == RUNS_MIXED && v->type->shape[r.rank - 2] >= h->vec_bytes / 4 &&
        host_runs_along(h, v, r.rank - 2))
        return RUNS_DOWN;
    return runs(&r);
}

typedef struct Survey {
    int bytes; /* of the widest data element */
    int n_ops;
    int run;       /* shortest useful run among the accesses: log2 */
    bool has_runs; /* of runs.c, which had better not be cut by long steps */
} Survey;

/* May steps be told apart by whether quotients run on? */
static bool
may_have_runs(const Host *h)
{
    return !h->c->opt.check_bounds;
}

/* Where lanes of the access o are `step` elements apart. */
static bool
is_no_gather(const Host *h, const Op *o, int64_t step)
{
    enum { LEAST = 4 };
    return step == 0 || step == 1 ||
           host_is_stride(h, ty_pointee(h->c, arg(o, 0)->type), LEAST, step);
}

static void
survey_access(Host *h, Group *g, Survey *s, const Op *o, DimMap map)
{
    int run = run_log2(h, arg(o, 0), map, g->vec);
    int64_t step;
    if (1 << MIN(run, 20) < h->vec_bytes / 4 && may_have_runs(h) &&
        host_steps_in_runs(h, g, arg(o, 0), map, &step) && is_no_gather(h, o, step))
        s->has_runs = true;
    else if (run >= 2)
        s->run = MIN(s->run, run);
    int bytes = elem_info[arg(o, 0)->type->elem].bytes;
    s->bytes = MAX(s->bytes, MIN(bytes, 8));
}

/* Is v an index block that a loop moves (passes/tile/scalar_steps.c)? Its address is made once a row. */
static bool
is_moved(const VState *s, const Val *v)
{
    const Op *o = v->def;
    if (!s->is_virtual || (o->op != OP_ADD && o->op != OP_ADDPTR))
        return false;
    const Op *by = arg(o, 1)->def;
    return by && by->op == OP_SPLAT && !arg(by, 0)->def &&
           arg(by, 0)->block == o->block && o->block->owner;
}

static void
survey(Host *h, Group *g, Survey *s, const Val *v, DimMap map)
{
    VState *x = state(h, v);
    if (v->type->rank == 0)
        return;
    bool is_index = v->type->is_ptr || v->type->elem == E_I1 ||
                    (x->kind == V_LAZY && x->is_virtual);
    if (!is_index)
        s->bytes = MAX(s->bytes, ty_bytes(v->type));
    if (x->kind != V_LAZY || x->stamp == h->stamp || is_moved(x, v))
        return;
    x->stamp = h->stamp;
    const Op *o = v->def;
    if (op_is_through(o)) {
        survey(h, g, s, arg(o, 0), op_through_map(o, map));
        return;
    }
    s->n_ops++;
    if (op_has(o, OPF_HEAVY))
        s->n_ops += 12;
    if (o->op == OP_LOAD)
        survey_access(h, g, s, o, map);
    for (int i = 0; i < o->n_args; i++)
        survey(h, g, s, arg(o, i), map);
}

/* The dim that runs in vectors and how many lanes a step has. Wider than a register where
 * the work of an element is small: independent chains hide latency, and the IR is as short
 * as for one register. */
static void
choose_lanes(Host *h, Group *g)
{
    g->vec = g->rank - 1;
    while (g->vec > 0 && g->shape[g->vec] == 1)
        g->vec--;
    if (g->is_turned)
        g->vec = g->rank - 2;
    Survey s = {1, 0, MAX_LOG2, false};
    int most = 64;
    h->stamp++;
    for (int i = 0; i < g->roots.n; i++) {
        Root *r = &g->roots.at[i];
        DimMap id = identity_map(g->rank);
        for (int k = 0; root_value(r, k); k++)
            survey(h, g, &s, root_value(r, k), id);
        if (r->dest.width)
            most = MIN(most, r->dest.width);
        if (host_is_access(r))
            survey_access(h, g, &s, r->o, id);
    }
    int lanes = h->vec_bytes / s.bytes;
    int pair = h->vec_bytes == 64 ? 48 : 24; /* AVX-512 has twice the registers */
    int wider = s.has_runs ? 1 : s.n_ops <= 10 ? 4 : s.n_ops <= pair ? 2 : 1;
    lanes = MIN(lanes * wider, most);
    if (s.run < MAX_LOG2)
        lanes = MIN(lanes, 1 << s.run);
    g->lanes = MIN(lanes, g->shape[g->vec]);
    if (g->side)
        g->lanes = g->side * MAX(g->roots.at[0].dest.group, 1);
    int n = 0;
    for (int d = 0; d < g->rank; d++)
        if (d != g->axis)
            g->order[n++] = d;
    if (g->axis >= 0)
        g->order[n] = g->axis;
    /* With runs, steps are the outer loop: quotients are taken once for all columns. */
    if (g->is_turned && !s.has_runs)
        g->order[g->rank - 2] = g->rank - 1, g->order[g->rank - 1] = g->rank - 2;
}

static int
level_of(const Group *g, unsigned dims)
{
    if (g->n_rows > 1 && dims >> (g->rank - 2) & 1)
        return g->rank; /* the rows of a group follow one another in there */
    if (g->side && dims >> host_other_dim(g) & 1)
        return g->rank; /* as do the columns of a square */
    for (int k = g->rank; k > 0; k--)
        if (dims >> g->order[k - 1] & 1)
            return k;
    return 0;
}

static Node *
finish(Group *g, Node *n)
{
    n->level = level_of(g, n->dims);
    if (is_vector(g, n))
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && (!n->in[i]->lane0 || (g->in_runs && n->kind == N_OP_NODE) ||
                             (n->kind == N_LOAD && i)))
                n->in[i]->want_vec = true;
    return n;
}

static void
add_in(Host *h, Group *g, Node *n, const Val *v, bool lane0)
{
    Node *in = host_node(h, g, v, n->map, lane0);
    if (!n->in)
        n->in = NEW_N(h->c->arena, Node *, n->v->def ? n->v->def->n_args + 1 : 1);
    n->in[n->n_in++] = in;
    n->dims |= in->dims;
}

/* Elements from lane to lane, where the number is a constant. */
static bool
stride_of(Host *h, const Val *ptr, DimMap map, int vec, int64_t *step)
{
    int d = dim_along(ptr, map, vec);
    Affine a;
    for (int e = d + 1; e < ptr->type->rank; e++)
        if (map.at[e] == vec)
            return false; /* a diagonal */
    return d >= 0 && affine_of(h->f, ptr, &a) && affine_const_stride(&a, d, step);
}

/* by: of M_STRIDE; NULL: a gather does. */
static Mode
mode_of(Host *h, Group *g, const Val *ptr, DimMap map, int64_t *by)
{
    int64_t step;
    if (g->lanes == 1)
        return M_ROW;
    bool in_runs = g->in_runs && host_steps_in_runs(h, g, ptr, map, &step);
    if (in_runs && (step == 0 || step == 1))
        return step ? M_ROW : M_SAME;
    if (1 << MIN(run_log2(h, ptr, map, g->vec), 20) >= g->lanes)
        return M_ROW;
    if (!by || !(in_runs || stride_of(h, ptr, map, g->vec, &step)) ||
        !host_is_stride(h, ty_pointee(h->c, ptr->type), g->lanes, step))
        return M_GATHER;
    *by = step;
    return M_STRIDE;
}

/* Can two lanes of the mask tell of all? So where an integer that counts up from lane to lane is
 * compared with one that all lanes share: lane 0 of the former gets a node. */
static bool
look_at_ends(Host *h, Group *g, Node *n)
{
    if (n->by_ends || !is_vector(g, n))
        return true;
    const Op *o = n->kind == N_OP_NODE ? n->v->def : NULL;
    if (o && o->op == OP_AND)
        return n->by_ends = look_at_ends(h, g, n->in[0]) &&
                            look_at_ends(h, g, n->in[1]);
    if (!o || o->op < OP_LT || o->op > OP_GE || !elem_is_int(arg(o, 0)->type->elem))
        return false;
    const Val *up = arg(o, is_vector(g, n->in[1]));
    if ((is_vector(g, n->in[0]) && is_vector(g, n->in[1])) ||
        mode_of(h, g, up, n->map, NULL) != M_ROW)
        return false;
    n->first = host_node(h, g, up, n->map, true);
    return n->by_ends = true;
}

static void
load_node(Host *h, Group *g, Node *n)
{
    const Op *o = n->v->def;
    n->kind = N_LOAD;
    int64_t by = 0;
    n->mode = (uint8_t)mode_of(h, g, arg(o, 0), n->map, &by);
    n->by = (int8_t)by;
    if (n->lane0)
        n->mode = M_ROW;
    add_in(h, g, n, arg(o, 0), n->lane0 || n->mode != M_GATHER);
    for (int i = 1; i < o->n_args; i++)
        add_in(h, g, n, arg(o, i), n->lane0);
    if (n->mode == M_GATHER && !(n->dims >> g->vec & 1))
        n->mode = M_ROW; /* one element for all lanes */
    if (n->n_in > 1 && n->mode != M_GATHER && is_vector(g, n))
        look_at_ends(h, g, n->in[1]);
}

/* Of v, which goes by `step` from lane to lane: what is an index, or is made of some alone. */
static bool
goes_by_runs(Host *h, Group *g, const Val *v, DimMap map, int64_t *step)
{
    const VState *s = state(h, v);
    return g->in_runs && v->type->rank &&
           (is_kept_index(v) || (s->kind == V_LAZY && v->def->op != OP_LOAD)) &&
           host_steps_in_runs(h, g, v, map, step);
}

Node *
host_node(Host *h, Group *g, const Val *v, DimMap map, bool lane0)
{
    VState *s = state(h, v);
    if (v->type->rank == 0)
        map = (DimMap){{0}};
    if (g->lanes == 1)
        lane0 = false;
    if (s->kind == V_LAZY) {
        s->stamp = h->stamp;
        if (op_is_through(v->def))
            return host_node(h, g, arg(v->def, 0), op_through_map(v->def, map), lane0);
        if (v->def->op == OP_SPLAT)
            return host_node(h, g, arg(v->def, 0), (DimMap){{0}}, lane0);
    }
    int64_t step = 0;
    bool runs = goes_by_runs(h, g, v, map, &step);
    lane0 = lane0 || (runs && !step);
    NodeKey key = {v->id, lane0, map};
    Node *n = map_get(&g->nodes, &key, sizeof key);
    if (n)
        return n;
    n = NEW(h->c->arena, Node);
    n->v = v, n->map = map, n->lane0 = lane0;
    n->pos = v->def ? host_pos(h, v->def) : 0;
    int rank = v->type->rank;
    switch (s->kind) {
    case V_SCALAR: n->kind = N_SCALAR, n->pos = 0; break;
    case V_BUFFER:
        n->kind = N_BUFFER, n->pos = 0;
        for (int d = 0; d < rank; d++)
            if (s->view.stride[d] && map.at[d] != NO_DIM)
                n->dims |= 1u << map.at[d];
        break;
    case V_LAZY: {
        const Op *o = v->def;
        if (o->op == OP_CONST) {
            n->kind = N_CONST;
        } else if (o->op == OP_ARANGE) {
            n->kind = N_ARANGE;
            if (map.at[0] != NO_DIM)
                n->dims = 1u << map.at[0];
        } else if (o->op == OP_LOAD) {
            load_node(h, g, n);
        } else {
            bool splits = runs && host_is_split(h, g, o, map);
            n->kind = !splits ? N_OP_NODE : o->op == OP_DIV ? N_QUOTIENT : N_REST;
            for (int i = 0; i < o->n_args; i++)
                add_in(h, g, n, arg(o, i), lane0 || splits);
        }
        break;
    }
    default: unreachable(h->c);
    }
    n->run = runs && !lane0 ? (int32_t)step : 0;
    finish(g, n);
    map_put(&g->nodes, &key, sizeof key, n);
    PUSH(h->c->arena, &g->list, n);
    return n;
}

/* ---- building ------------------------------------------------------------------------- */

static Node *
want(Host *h, Group *g, const Val *v, bool lane0)
{
    Node *n = host_node(h, g, v, identity_map(v->type->rank), lane0);
    if (!lane0)
        n->want_vec = true;
    return n;
}

static void
build_root(Host *h, Group *g, Root *r)
{
    int n = r->kind == R_KEEP ? 1 : r->o->n_args;
    r->in = NEW_N(h->c->arena, Node *, n + 1);
    if (r->kind == R_KEEP) {
        r->in[0] = want(h, g, r->v, false);
        return;
    }
    int64_t by = 0;
    if (host_is_access(r))
        r->mode = mode_of(h, g, arg(r->o, 0), identity_map(g->rank),
                          r->o->op == OP_STORE ? &by : NULL);
    r->by = (int)by, r->fields = 0;
    for (int i = 0; i < n; i++)
        if (r->kind != R_PRINT || i == r->mode || ir_attr(r->o, ATTR_MASKED))
            /* others of a print may have another shape */
            r->in[i] = want(h, g, arg(r->o, i), i == 0 && host_is_by_first(r));
    if (host_is_by_first(r) && op_mask(r->o))
        look_at_ends(h, g, r->in[op_mask_at(r->o)]);
}

static int
by_pos(const void *a, const void *b)
{
    const Node *x = *(Node *const *)a, *y = *(Node *const *)b;
    return x->pos - y->pos;
}

static int
by_root_pos(const void *a, const void *b)
{
    return ((const Root *)a)->pos - ((const Root *)b)->pos;
}

static void
build(Host *h, Group *g)
{
    g->nodes.a = h->c->arena;
    for (int i = 0; i < g->roots.n; i++)
        build_root(h, g, &g->roots.at[i]);
    if (g->list.n)
        qsort(g->list.at, (size_t)g->list.n, sizeof *g->list.at, by_pos);
    qsort(g->roots.at, (size_t)g->roots.n, sizeof *g->roots.at, by_root_pos);
    host_find_fields(h, g);
}

void
host_build_nodes(Host *h, Group *g)
{
    choose_lanes(h, g);
    Group *r = NEW(h->c->arena, Group);
    *r = *g;
    r->in_runs = true;
    build(h, g);
    if (g->lanes == 1 || !may_have_runs(h))
        return;
    memset(&r->roots, 0, sizeof r->roots);
    for (int i = 0; i < g->roots.n; i++)
        PUSH(h->c->arena, &r->roots, g->roots.at[i]);
    build(h, r);
    if (host_gains_by_runs(g, r))
        g->runs = r;
}
