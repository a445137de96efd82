/* cost: what each line of the kernel became, for compiled.report.
 *
 *     line  21  load           4 loads of 16 bytes
 *     line  22  reduce         5 shuffles, 1 barrier, 1 shared store, 1 shared load
 *     line  31  dot (loop)     32 mma m16n8k16, 12 ldmatrix
 *
 * Lowering asks a machine for primitives. Here stands a machine between the two that passes
 * every request on and counts it, so no lowering knows of the report, and nothing that it
 * forgets to say can be missing from it. The numbers are one thread's instructions, as many
 * as are written down: a loop's stand for one iteration.
 */
#include "codegen/simt/simt.h"

/* What is counted: its name for one of them, and for several. */
/* clang-format off */
#define COSTS(X)                                                                       \
    X(LOAD,         "load",              "loads")                                      \
    X(STORE,        "store",             "stores")                                     \
    X(ATOMIC,       "atomic",            "atomics")                                    \
    X(ASYNC_COPY,   "asynchronous copy", "asynchronous copies")                        \
    X(MMA,          "mma",               "mma")                                        \
    X(WGMMA,        "wgmma",             "wgmma")                                      \
    X(SHUFFLE,      "shuffle",           "shuffles")                                   \
    X(SHARED_STORE, "shared store",      "shared stores")                              \
    X(SHARED_LOAD,  "shared load",       "shared loads")                               \
    X(SHARED_ATOMIC,"shared atomic",     "shared atomics")                             \
    X(LDMATRIX,     "ldmatrix",          "ldmatrix")                                   \
    X(BARRIER,      "barrier",           "barriers")                                   \
    X(WARP_SYNC,    "warp barrier",      "warp barriers")                              \
    X(FENCE,        "fence",             "fences")                                     \
    X(EXCHANGE,     "word to the blocks of the cluster", "words to the blocks of the cluster")
/* clang-format on */

typedef enum Cost {
#define X(name, one, many) COST_##name,
    COSTS(X)
#undef X
        N_COST
} Cost;

static const struct {
    const char *one, *many;
} cost_info[N_COST] = {
#define X(name, one, many) {one, many},
    COSTS(X)
#undef X
};

typedef struct Row {
    const Loc *loc; /* of the first op */
    const char *what;
    bool in_loop;
    int n[N_COST];
    int bytes[N_COST]; /* of the widest access */
    MmaKind mma;
} Row;

struct SimCosts {
    Machine machine; /* which counts */
    Arena *a;
    VEC(Row) rows;
    int at; /* the row of the op that is being lowered; -1: none yet */
};

static void
count(Ll *l, Cost cost, int bytes)
{
    SimCosts *k = l->costs;
    if (k->at < 0)
        return;
    Row *r = &k->rows.at[k->at];
    r->n[cost]++;
    r->bytes[cost] = MAX(r->bytes[cost], bytes);
}

/* ---- the machine that counts ---------------------------------------------------------- */

#define SLOT(type, name, params)
#define COUNTED(type, name, cost, bytes, params, args)                                 \
    static type count_##name params                                                    \
    {                                                                                  \
        count(l, COST_##cost, bytes);                                                  \
        return l->machine->name args;                                                  \
    }
#include "codegen/simt/machine.def"

static void
count_mma(Ll *l, MmaKind kind, Lv *d, Lv *a, Lv *b)
{
    count(l, COST_MMA, 0);
    if (l->costs->at >= 0)
        l->costs->rows.at[l->costs->at].mma = kind;
    l->machine->mma(l, kind, d, a, b);
}

static void
count_wgmma(Ll *l, const Wgmma *w, Lv *d, Lv (*a)[4])
{
    for (int i = 0; i < w->n_steps; i++)
        count(l, COST_WGMMA, 0);
    l->machine->wgmma(l, w, d, a);
}

const Machine *
sim_costs_open(Ll *l, Arena *a)
{
    SimCosts *k = l->costs = NEW(a, SimCosts);
    *k = (SimCosts){.machine = *l->machine, .a = a, .at = -1};
    Machine *m = &k->machine;
#define SLOT(type, name, params)
#define COUNTED(type, name, cost, bytes, params, args) m->name = count_##name;
#include "codegen/simt/machine.def"
    m->mma = count_mma;
    m->wgmma = count_wgmma;
    return m;
}

/* ---- rows ------------------------------------------------------------------------------ */

static bool
in_loop(const Op *o)
{
    for (const Op *p = o->block->owner; p; p = p->block->owner)
        if (p->op == OP_FOR || p->op == OP_WHILE)
            return true;
    return false;
}

/* The user's word for the op. */
static const char *
word(const Op *o)
{
    switch (o->op) {
    case OP_CONVERT: return "other threads"; /* the same values, held by */
    case OPS(OP_ASYNC_COPY, OP_ASYNC_COMMIT, OP_ASYNC_WAIT): return "load ahead";
    case OP_SHARED_LOAD:
    case OP_SHARED_STORE: return "staging";
    default: return info(o)->text;
    }
}

static bool
same_line(const Loc *a, const Loc *b)
{
    return a == b || (a && b && a->file == b->file && a->line == b->line);
}

void
sim_costs_enter(Ll *l, const Op *o)
{
    SimCosts *k = l->costs;
    Row r = {.loc = loc_user(o->loc), .what = word(o), .in_loop = in_loop(o)};
    for (int i = k->rows.n - 1; i >= 0; i--) {
        const Row *q = &k->rows.at[i];
        if (same_line(q->loc, r.loc) && q->in_loop == r.in_loop &&
            !strcmp(q->what, r.what)) {
            k->at = i;
            return;
        }
    }
    k->at = k->rows.n;
    PUSH(k->a, &k->rows, r);
}

static void
put_row(Func *f, const Row *r)
{
    Arena *a = f->c->arena;
    Sb costs = {.a = a};
    for (int i = 0; i < N_COST; i++) {
        if (!r->n[i])
            continue;
        sb_printf(&costs, "%s%d %s", costs.n ? ", " : "", r->n[i],
                  r->n[i] == 1 ? cost_info[i].one : cost_info[i].many);
        if (r->bytes[i])
            sb_printf(&costs, " of %d byte%s", r->bytes[i],
                      r->bytes[i] == 1 ? "" : "s");
        if (i == COST_MMA)
            sb_printf(&costs, " m%dn8k%d", mma_shape[r->mma].m, mma_shape[r->mma].k);
    }
    if (!costs.n)
        return;
    const char *what = r->in_loop ? str_printf(a, "%s (loop)", r->what) : r->what;
    ir_report(f, r->loc, what, costs.at);
}

void
sim_costs_report(Ll *l, Func *f)
{
    SimCosts *k = l->costs;
    for (int i = 0; i < k->rows.n; i++)
        put_row(f, &k->rows.at[i]);
}
