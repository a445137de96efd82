/* runs: steps in which quotients stay the same and remainders count up.
 *
 *     y = at // w, x = at % w, of 8 lanes, w = 28      load p + y * stride + x
 *         at 16..23     y = 0, x = 16..23              one row
 *         at 24..31     y = 0 0 0 0 1 1 1 1            lanes one by one
 *         at 32..39     y = 1, x = 4..11               one row
 *
 * Kernels that number the elements of an image, or of a tensor with odd sides, take their places apart like this, and
 * nothing is consecutive in all steps. So the code of a nest stands there twice: for steps in which no quotient
 * changes, which a comparison of scalars tells, and for the others. In the former a quotient is one scalar and
 * a remainder its first lane and a count, so addresses, masks and loads made of them are as of any row.
 *
 * A split is such a division: of what counts up by 1 from lane to lane, by what all lanes share. What is kept in
 * scratch is seen through, and read there at the first lane.
 *
 * Rule 1: index arithmetic does not wrap within a block (analysis/affine.c); the dividend is looked at all the same.
 * Rule 2: a divisor that is known to be below two steps makes no split: a step would rarely be in one run.
 */
#include "codegen/host/host.h"

enum { MAX_VISITS = 128 };

typedef struct Walk {
    Host *h;
    Group *g;
    bool adds; /* to the splits of the group */
    bool
        is_kept; /* inside of what a keep has put into scratch: what that read may be gone */
    bool has_split;
    int visits;
} Walk;

static bool step_of(Walk *w, const Val *v, DimMap map, int64_t *step);

/* Of the first two operands of o. */
static bool
steps_of(Walk *w, const Op *o, DimMap map, int64_t *a, int64_t *b)
{
    return step_of(w, arg(o, 0), map, a) && step_of(w, arg(o, 1), map, b);
}

static void
add_split(Walk *w, const Op *o, DimMap map)
{
    Group *g = w->g;
    w->has_split = true;
    if (!w->adds)
        return;
    Split s = {.elem = arg(o, 0)->type->elem,
               .first = host_node(w->h, g, arg(o, 0), map, true),
               .by = host_node(w->h, g, arg(o, 1), map, true)};
    for (int i = 0; i < g->splits.n; i++)
        if (g->splits.at[i].first == s.first && g->splits.at[i].by == s.by)
            return;
    PUSH(w->h->c->arena, &g->splits, s);
}

static bool
is_long_enough(const Walk *w, const Val *by)
{
    uint64_t bits;
    return !ir_is_const(by, &bits) ||
           (int64_t)bits >= 2 * MAX(w->g->lanes, w->h->vec_bytes / 4);
}

static bool
step_of_product(Walk *w, const Op *o, DimMap map, int64_t *step)
{
    int64_t a, b;
    uint64_t bits;
    if (!steps_of(w, o, map, &a, &b) || (a && b))
        return false;
    *step = a + b;
    if (!*step)
        return true;
    const Val *by = arg(o, a ? 1 : 0);
    if (!ir_is_const(by, &bits) || (int32_t)bits != (int64_t)bits || *step > INT32_MAX)
        return false;
    *step *= (int64_t)bits;
    return true;
}

static bool
step_of_op(Walk *w, const Op *o, DimMap map, int64_t *step)
{
    const Type *t = result(o, 0)->type;
    int64_t a, b = 0;
    switch (o->op) {
    case OP_CONST:
    case OP_SPLAT: *step = 0; return true;
    case OP_ARANGE: *step = 1; return true;
    case OP_ADD:
    case OP_SUB:
    case OP_ADDPTR:
        if (t->is_ptr || elem_is_int(t->elem)) {
            bool ok = steps_of(w, o, map, &a, &b);
            *step = o->op == OP_SUB ? a - b : a + b;
            return ok;
        }
        break;
    case OP_MUL:
        if (elem_is_int(t->elem))
            return step_of_product(w, o, map, step);
        break;
    case OP_DIV:
    case OP_REM:
        if (!elem_is_int(t->elem) || !steps_of(w, o, map, &a, &b) || b || a > 1 ||
            a < 0)
            return false;
        *step = a && o->op == OP_REM;
        if (a && !is_long_enough(w, arg(o, 1)))
            return false;
        if (a)
            add_split(w, o, map);
        return true;
    case OP_CAST: {
        const Type *from = arg(o, 0)->type;
        if (elem_is_int(t->elem) && elem_is_int(from->elem) &&
            elem_info[t->elem].bits >= elem_info[from->elem].bits)
            return step_of(w, arg(o, 0), map, step);
        break;
    }
    default: break;
    }
    if (!op_has(o, OPF_ELEM) || !op_has(o, OPF_PURE) || o->n_results != 1 ||
        op_is_assembly(o) || op_is_extern(o))
        return false;
    *step = 0; /* the same in all lanes, if all that it takes is */
    for (int i = 0; i < o->n_args; i++)
        if (!step_of(w, arg(o, i), map, &a) || a)
            return false;
    return true;
}

static bool
step_of(Walk *w, const Val *v, DimMap map, int64_t *step)
{
    Host *h = w->h;
    const Op *o = v->def;
    int n = 0;
    for (int d = 0; d < v->type->rank; d++)
        n += map.at[d] == w->g->vec && v->type->shape[d] > 1;
    *step = 0;
    if (!n)
        return true;
    VState *s = state(h, v);
    if (!o || n > 1 || w->visits++ > MAX_VISITS)
        return false;
    if (s->kind == V_BUFFER) {
        if (!is_kept_index(v) || w->is_kept)
            return false;
        w->is_kept = true;
        bool ok = step_of(w, arg(o, 0), map, step);
        w->is_kept = false;
        return ok;
    }
    if (s->kind != V_LAZY)
        return false;
    if (op_is_through(o))
        return step_of(w, arg(o, 0), host_through_map(o, map), step);
    return step_of_op(w, o, map, step);
}

bool
host_is_split(Host *h, Group *g, const Op *o, DimMap map)
{
    Walk w = {.h = h, .g = g};
    int64_t a, b;
    return (o->op == OP_DIV || o->op == OP_REM) && steps_of(&w, o, map, &a, &b) && a;
}

bool
host_steps_in_runs(Host *h, Group *g, const Val *v, DimMap map, int64_t *step)
{
    Walk w = {.h = h, .g = g};
    if (!step_of(&w, v, map, step) || !w.has_split)
        return false;
    w = (Walk){.h = h, .g = g, .adds = g->in_runs};
    return step_of(&w, v, map, step);
}

bool
host_runs_along(Host *h, const Val *v, int dim)
{
    Group g = {.rank = v->type->rank, .vec = dim, .lanes = h->vec_bytes / 4};
    DimMap map = {{0}};
    int64_t step;
    for (int d = 0; d < g.rank; d++)
        map.at[d] = (uint8_t)d;
    return host_steps_in_runs(h, &g, v, map, &step) && step == 1;
}

Lv
host_divide_in_run(Host *h, const Split *s, int lanes, Lv *quotient, Lv *rest)
{
    Ll *l = h->l;
    LLVMBuilderRef b = l->b;
    bool is_signed = elem_is_signed(s->elem);
    LLVMIntPredicate le = is_signed ? LLVMIntSLE : LLVMIntULE;
    Lv first = s->first->x, by = s->by->x;
    Lt t = LLVMTypeOf(first);
    unsigned bits = (unsigned)elem_info[s->elem].bits;
    Lv zero = LLVMConstNull(t), n = LLVMConstInt(t, (unsigned)lanes, false),
       most = LLVMConstInt(
           t, (~(uint64_t)0 >> (64 - bits + is_signed)) - (unsigned)lanes, false);
    Lv has_room = LLVMBuildICmp(b, le, n, by, "");
    Lv d = LLVMBuildSelect(b, has_room, by, n, "");
    *quotient = is_signed ? LLVMBuildSDiv(b, first, d, "")
                          : LLVMBuildUDiv(b, first, d, "");
    *rest = LLVMBuildSub(b, first, LLVMBuildMul(b, *quotient, d, ""), "");
    Lv fits = LLVMBuildICmp(b, le, *rest, LLVMBuildSub(b, d, n, ""), "");
    fits = LLVMBuildAnd(b, fits, LLVMBuildICmp(b, le, zero, first, ""), "");
    fits = LLVMBuildAnd(b, fits, LLVMBuildICmp(b, le, first, most, ""), "");
    return LLVMBuildAnd(b, has_room, fits, "");
}

Lv
host_is_run(Host *h, const Group *g)
{
    Lv is = NULL;
    for (int i = 0; i < g->splits.n; i++) {
        Lv q, r, fits = host_divide_in_run(h, &g->splits.at[i], g->lanes, &q, &r);
        is = is ? LLVMBuildAnd(h->l->b, is, fits, "") : fits;
    }
    return is;
}

/* What takes each lane for itself: accesses of more than one place, and divisions. */
static int
n_by_lanes(const Group *g)
{
    int n = 0;
    for (int i = 0; i < g->list.n; i++) {
        const Node *x = g->list.at[i];
        const Op *o = x->v->def;
        n += x->kind == N_LOAD && x->mode == M_GATHER;
        n += x->kind == N_OP_NODE && is_vector(g, x) && elem_is_int(x->v->type->elem) &&
             (o->op == OP_DIV || o->op == OP_REM) && !ir_is_const(arg(o, 1), NULL);
    }
    for (int i = 0; i < g->roots.n; i++)
        n += host_is_access(&g->roots.at[i]) && g->roots.at[i].mode == M_GATHER;
    return n;
}

bool
host_gains_by_runs(const Group *g, const Group *runs)
{
    enum { MOST = 4 };
    return runs->splits.n && runs->splits.n <= MOST && n_by_lanes(runs) < n_by_lanes(g);
}
