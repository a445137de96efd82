/* keep_local: which blocks lie in each thread's local memory, where they are taken chunk by chunk.
 *
 *     func @f(..) chunks 32 {                       func @f(..) chunks 32 {
 *       %x = load %p : f32[65536] #l0         =>      %x = load %p : f32[65536] #l0 kept
 *       %y = mul %x, %s : f32[65536] #l0              %y = mul %x, %s : f32[65536] #l0
 *
 * Pass chunk says which functions these are. A value of many registers never is in registers as a
 * whole there (codegen/simt/local.c): either it is kept, or each loop over chunks that asks for it
 * computes it again. What is not computed register by register is kept, and so is what two ask for
 * and what costs more to compute than a store and a load (COST_HEAVY). A value of few registers is
 * kept, too, where a loop asks for the register that its counter says.
 *
 * Rule 1: this pass changes no op, so that what stands in front of it may count registers.
 */
#include "passes/passes.h"

enum {
    MAX_WHOLE = 1 << 10
}; /* registers of what an op takes that knows nothing of chunks */

typedef struct Keep {
    Func *f;
    bool *is_root;  /* by id: no loop computes it */
    bool *is_asked; /* by id: for a register that a number says */
    int *cost;      /* by id: instructions of computing an element again */
} Keep;

/* Instructions of computing v, of o's results, again; -1: no loop should. */
static int
cost_again(const Keep *k, const Op *o, const Val *v)
{
    if (!is_by_register(k->f->c, o))
        return -1;
    int own = moves_registers(k->f->c, o) ? 0 : element_cost(o), cost = own;
    for (int i = 0; i < o->n_args; i++)
        if (is_in_registers(arg(o, i)))
            cost += k->cost[arg(o, i)->id];
    bool again = has_many_registers(v) ? v->uses && v->uses->next : own >= COST_SLOW;
    return again && cost >= COST_HEAVY && !v->type->is_ptr ? -1 : MIN(cost, COST_HEAVY);
}

static void
find_roots(Keep *k, const Block *b)
{
    for (int i = 0; i < b->n_args; i++)
        k->is_root[b->args[i]->id] = true;
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_results; i++) {
            int cost = cost_again(k, o, result(o, i));
            k->is_root[result(o, i)->id] = cost < 0;
            k->cost[result(o, i)->id] = MAX(cost, 0);
        }
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            find_roots(k, o->regions[r]);
    }
}

/* Are registers of o's operands asked for by numbers only known when it runs, in order to
 * make v? */
static bool
asks_by_number(const Keep *k, const Op *o, const Val *v)
{
    if (!is_in_registers(v))
        return false;
    if (o->op == OP_JOIN || o->op == OP_CAT || o->op == OP_CONVERT)
        return has_many_registers(v);
    return is_by_register(k->f->c, o) &&
           (has_many_registers(v) || (k->is_asked[v->id] && !k->is_root[v->id]));
}

/* Backwards: what big values are computed from is asked for. */
static void
find_asked(Keep *k, const Block *b)
{
    for (const Op *o = b->last; o; o = o->prev) {
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            find_asked(k, o->regions[r]);
        bool asks = false;
        for (int i = 0; i < o->n_results; i++)
            asks |= asks_by_number(k, o, result(o, i));
        for (int i = 0; asks && i < o->n_args; i++)
            k->is_asked[arg(o, i)->id] = true;
    }
}

/* Would what is made of v be made once `store` has written the place that v was loaded from? Each
 * register may be made of itself right before it is stored. */
static bool
is_asked_late(const Keep *k, const Val *v, const Op *store, bool is_same_register)
{
    for (const Use *u = v->uses; u; u = u->next) {
        const Op *o = u->user, *p = store;
        if (o == store && is_same_register)
            continue;
        if (o->n_results && is_by_register(k->f->c, o) &&
            !k->is_root[result(o, 0)->id]) {
            bool is_same = is_same_register && op_has(o, OPF_ELEM);
            if (is_asked_late(k, result(o, 0), store, is_same))
                return true;
            continue;
        }
        while (p && p != o)
            p = p->next;
        if (p)
            return true;
    }
    return false;
}

static bool
stores_to(const Op *o, const Val *local)
{
    for (int r = 0; r < o->n_regions; r++)
        EACH_OP(p, o->regions[r])
            if (stores_to(p, local))
                return true;
    return o->op == OP_LOCAL_STORE && arg(o, 0) == local;
}

static void
find_late(Keep *k)
{
    EACH_CONTROL_OP(o, k->f->body) {
        if (o->op != OP_LOCAL_LOAD)
            continue;
        for (const Op *p = o->next; p; p = p->next)
            if (stores_to(p, arg(o, 0)))
                k->is_root[result(o, 0)->id] |= is_asked_late(k, result(o, 0), p, true);
    }
}

static void
settle(const Keep *k, Val *v)
{
    if (!is_in_registers(v) || !k->is_root[v->id])
        return;
    v->is_kept = is_big(k->f, v) || (k->is_asked[v->id] && v->type->layout->n[IN_REG]);
}

/* Is o done chunk by chunk, as far as its operands go, and its results? */
static bool
is_chunked(const Func *f, const Op *o, bool results)
{
    switch (o->op) {
    case OPS(OP_JOIN, OP_CAT, OPS_ACCESS, OP_GATHER, OP_INLINE_ASM, OP_INLINE_ASM_IO,
             OP_ASSERT, OP_PRINT):
        return true;
    case OP_HISTOGRAM: return !results;
    case OPS(OPS_VALUES, OPS_INDEX, OP_SPLIT, OP_RESIZE, OP_CONVERT, OP_KEEP, OPS_ELEM,
             OPS_TENSOR, OP_REDUCE, OP_SCAN, OP_DOT, OP_EXTERN, OP_EXTERN_IO, OPS_FLOW,
             OP_ASSUME, OP_DEBUG, OPS_THREADS):
        break;
    }
    return o->op == OP_LOCAL_STORE || is_by_register(f->c, o);
}

static int
most_registers(const Op *o, bool results)
{
    int most = 0;
    for (int i = 0; i < (results ? o->n_results : o->n_args); i++) {
        const Val *v = results ? result(o, i) : arg(o, i);
        most = MAX(most, is_in_registers(v) ? 1 << v->type->layout->n[IN_REG] : 0);
    }
    return most;
}

/* Ops that take or give big values as a whole are an instruction a register, and more: over
 * thousands in a row ptxas takes minutes. */
static void
check_whole(const Func *f, const Block *b)
{
    EACH_CONTROL_OP(o, b) {
        int n = 0;
        for (int results = 0; results < 2; results++)
            if (!is_chunked(f, o, results))
                n = MAX(n, most_registers(o, results));
        if (n > MAX_WHOLE)
            err_at(f->c, o->loc, RESOURCES, "registers of a thread", (long long)n,
                   (long long)MAX_WHOLE);
    }
}

void
pass_keep_local(Func *f)
{
    if (!f->chunk_bits)
        return;
    Arena *a = f->c->arena;
    Keep k = {.f = f,
              .is_root = NEW_N(a, bool, f->n_vals),
              .is_asked = NEW_N(a, bool, f->n_vals),
              .cost = NEW_N(a, int, f->n_vals)};
    find_roots(&k, f->body);
    find_late(&k);
    find_asked(&k, f->body);
    EACH_CONTROL_VAL(v, f->body)
        settle(&k, v);
    check_whole(f, f->body);
}
