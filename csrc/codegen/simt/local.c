/* local: blocks that have more registers than a thread, kept in its local memory.
 *
 * Where pass chunk says so, a value with many registers never is in registers as a whole:
 *
 *     a = load(p, mask)          for i < chunks:  32 loads; to a's place in local memory
 *     m = max(abs(a))            for i < chunks:  32 from there, abs, max; then as always
 *     store(q, a * s, mask)      for i < chunks:  32 from there, times s; 32 stores
 *
 * (chunks.c has the loops.) What is computed element by element has no place of its own, it is computed again in each
 * loop that asks for it; what costs more than memory does (COST_HEAVY) and is asked for more
 * than once has one. Values with few registers have one, too, if big ones are made of them:
 * a loop asks for the row that its counter says.
 *
 * Rule 1: an op that knows nothing of chunks (dot, some converts) takes a big value whole:
 *         sim_val reads all of it, for that op alone (sim_forget), and sim_to_local puts
 *         results away.
 * Rule 2: a place is written where its value is defined, so each run of a loop has its own.
 */
#include "codegen/simt/local.h"

enum {
    MAX_WHOLE = 1 << 10,  /* registers of what such an op takes */
    MAX_BYTES = 448 << 10 /* of 512 KB that a thread can have */
};

/* ---- which values ---------------------------------------------------------------------- */

bool
sim_is_block(const Val *v)
{
    return v->type->rank && v->type->layout && !v->type->slots;
}

static bool
is_elementwise(const Op *o)
{
    return op_has(o, OPF_PURE) && op_has(o, OPF_ELEM) && !op_is_assembly(o) &&
           o->n_results == 1;
}

/* Is a register of the result one of the operand's, or made of none? */
static bool
is_shape(Sim *s, const Op *o)
{
    return op_has(o, OPF_FREE) ||
           (o->op == OP_CONVERT && convert_plan(s->c, o)->kind <= CONV_REGS);
}

static int
own_cost(Sim *s, const Op *o)
{
    if (is_shape(s, o))
        return 0;
    return element_cost(o);
}

/* Is a register of the result computed from the same register of each operand, or from one
 * that the layout says? */
static bool
is_simple(Sim *s, const Op *o)
{
    return is_elementwise(o) || is_shape(s, o);
}

/* Instructions of computing v, of o's results, again; -1: it must be kept. */
static int
cost_again(Sim *s, const Op *o, const Val *v)
{
    int own = own_cost(s, o), cost = own;
    if (!is_simple(s, o))
        return -1;
    for (int i = 0; i < o->n_args; i++)
        if (sim_is_block(arg(o, i)))
            cost += s->local->cost[arg(o, i)->id];
    bool again = has_many_registers(v) ? v->uses && v->uses->next : own >= COST_SLOW;
    return again && cost >= COST_HEAVY && !v->type->is_ptr ? -1 : MIN(cost, COST_HEAVY);
}

static void
find_roots(Sim *s, const Block *b)
{
    struct Local *k = s->local;
    for (int i = 0; i < b->n_args; i++)
        k->is_root[b->args[i]->id] = true;
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_results; i++) {
            int cost = cost_again(s, o, result(o, i));
            k->is_root[result(o, i)->id] = cost < 0;
            k->cost[result(o, i)->id] = MAX(cost, 0);
        }
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            find_roots(s, o->regions[r]);
    }
}

/* Are registers of o's operands asked for by numbers only known when it runs, in order to
 * make v? */
static bool
asks_by_number(Sim *s, const Op *o, const Val *v)
{
    if (!sim_is_block(v))
        return false;
    if (o->op == OP_JOIN || o->op == OP_CAT || o->op == OP_CONVERT)
        return has_many_registers(v);
    const struct Local *k = s->local;
    return is_simple(s, o) &&
           (has_many_registers(v) || (k->has_home[v->id] && !k->is_root[v->id]));
}

/* Backwards: what big values are computed from needs a place. */
static void
find_homes(Sim *s, const Block *b)
{
    for (const Op *o = b->last; o; o = o->prev) {
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            find_homes(s, o->regions[r]);
        bool asks = false;
        for (int i = 0; i < o->n_results; i++)
            asks |= asks_by_number(s, o, result(o, i));
        for (int i = 0; asks && i < o->n_args; i++)
            s->local->has_home[arg(o, i)->id] = true;
    }
}

static void
settle_home(const struct Local *k, const Val *v)
{
    bool *h = &k->has_home[v->id];
    *h = sim_is_block(v) && k->is_root[v->id] && sim_n_regs(v) > 1 &&
         (*h || has_many_registers(v));
}

static void
settle_homes(const struct Local *k, const Block *b)
{
    for (int i = 0; i < b->n_args; i++)
        settle_home(k, b->args[i]);
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_results; i++)
            settle_home(k, result(o, i));
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            settle_homes(k, o->regions[r]);
    }
}

/* Is o done chunk by chunk, as far as its operands go, and its results? */
static bool
is_chunked(Sim *s, const Op *o, bool results)
{
    switch (o->op) {
    case OPS(OP_JOIN, OP_CAT, OPS_ACCESS, OP_GATHER, OP_INLINE_ASM, OP_INLINE_ASM_IO,
             OP_FOR, OP_WHILE, OP_IF, OP_YIELD, OP_CONDITION, OP_ASSERT, OP_PRINT):
        return true;
    case OP_REDUCE: return !results || !s->f->log2_ctas;
    case OP_HISTOGRAM: return !results;
    case OP_SCAN: return scan_has_chunks(s->f, o);
    case OP_CONVERT: return convert_has_chunks(s->c, o);
    default: return is_simple(s, o);
    }
}

/* Ops that take or give big values as a whole are an instruction a register, and more: over
 * thousands in a row ptxas takes minutes. */
static void
check_whole(Sim *s, const Block *b)
{
    EACH_CONTROL_OP(o, b) {
        int n = 0;
        for (int i = 0; i < o->n_results && !is_chunked(s, o, true); i++)
            n = MAX(n, sim_is_block(result(o, i)) ? sim_n_regs(result(o, i)) : 0);
        for (int i = 0; i < o->n_args && !is_chunked(s, o, false); i++)
            n = MAX(n, sim_is_block(arg(o, i)) ? sim_n_regs(arg(o, i)) : 0);
        if (n > MAX_WHOLE)
            err_at(s->c, o->loc, RESOURCES, "registers of a thread", (long long)n,
                   (long long)MAX_WHOLE);
    }
}

/* v is asked for after o, an op of b, and by no later one. */
static void
note_death(Sim *s, const Block *b, const Op *o, const Val *v)
{
    struct Local *k = s->local;
    if (k->seen[v->id] == b || !v->def)
        return;
    k->seen[v->id] = b;
    for (int i = 0; !k->is_root[v->id] && i < v->def->n_args; i++)
        note_death(s, b, o, arg(v->def, i));
    if (!k->has_home[v->id] || v->def->block != b || op_has(v->def, OPF_CONTROL))
        return;
    Values *dead = map_get(&k->dies, o, 0);
    if (!dead)
        map_put(&k->dies, o, 0, dead = NEW(s->a, Values));
    PUSH(s->a, dead, v);
}

static void
note_deaths(Sim *s, const Block *b, const Op *o, const Op *user)
{
    for (int i = 0; i < user->n_args; i++)
        note_death(s, b, o, arg(user, i));
    for (int r = 0; r < user->n_regions; r++)
        for (const Op *p = user->regions[r]->first; p; p = p->next)
            note_deaths(s, b, o, p);
}

/* Backwards, so that the first op met that asks for a value is the last one. What loops
 * carry and what comes out of an if keeps its place. */
static void
find_deaths(Sim *s, const Block *b)
{
    for (const Op *o = b->last; o; o = o->prev)
        note_deaths(s, b, o, o);
    for (const Op *o = b->first; o; o = o->next)
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            find_deaths(s, o->regions[r]);
}

void
sim_local_open(Sim *s)
{
    if (!s->f->chunk_bits)
        return;
    int n = s->f->n_vals;
    struct Local *k = s->local = NEW(s->a, struct Local);
    *k = (struct Local){.is_root = NEW_N(s->a, bool, n),
                        .has_home = NEW_N(s->a, bool, n),
                        .cost = NEW_N(s->a, int, n),
                        .home = NEW_N(s->a, Lv, n),
                        .seen = NEW_N(s->a, const Block *, n),
                        .dies.a = s->a,
                        .gathered = NEW_N(s->a, const Val *, n)};
    find_roots(s, s->f->body);
    find_homes(s, s->f->body);
    settle_homes(k, s->f->body);
    check_whole(s, s->f->body);
    find_deaths(s, s->f->body);
}

void
sim_local_close(Sim *s)
{
    int64_t bytes = 0;
    for (int i = 0; s->local && i < s->local->arrays.n; i++)
        bytes += s->local->arrays.at[i].bytes;
    if (bytes > MAX_BYTES)
        err_at(s->c, s->f->loc, RESOURCES, "local memory of a thread", (long long)bytes,
               (long long)MAX_BYTES);
}

/* ---- places ------------------------------------------------------------------------------ */

static Lt
type_in_memory(Sim *s, const Type *t)
{
    return t->is_ptr ? s->l->gptr : ll_mem(s->l, t->elem);
}

/* The smallest array that nobody has and that is large enough; NULL: none. */
static LocalArray *
free_array(struct Local *k, int64_t bytes)
{
    LocalArray *best = NULL;
    for (int i = 0; i < k->arrays.n; i++) {
        LocalArray *y = &k->arrays.at[i];
        if (y->is_free && y->bytes >= bytes && (!best || y->bytes < best->bytes))
            best = y;
    }
    return best;
}

Lv
sim_local_array(Sim *s, const Type *t, int n)
{
    Ll *l = s->l;
    int64_t bytes = (int64_t)sim_elem_bytes(t) * n;
    LocalArray *old = free_array(s->local, bytes);
    if (old) {
        old->is_free = false;
        return old->at;
    }
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b),
                      entry = LLVMGetEntryBasicBlock(l->fn);
    LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(entry));
    Lv p = LLVMBuildAlloca(l->b, LLVMArrayType2(type_in_memory(s, t), (unsigned)n), "");
    LLVMSetAlignment(p, 16);
    ll_go_on(l, here);
    PUSH(s->a, &s->local->arrays, ((LocalArray){.at = p, .bytes = bytes}));
    return p;
}

void
sim_local_free(Sim *s, Lv array)
{
    for (int i = 0; i < s->local->arrays.n; i++)
        if (s->local->arrays.at[i].at == array)
            s->local->arrays.at[i].is_free = true;
}

static Lv
element(Sim *s, const Type *t, Lv array, Lv at)
{
    Ll *l = s->l;
    Lv index = LLVMBuildZExt(l->b, at, l->i64, "");
    return LLVMBuildInBoundsGEP2(l->b, type_in_memory(s, t), array, &index, 1, "");
}

Lv
sim_local_load(Sim *s, const Type *t, Lv array, Lv at)
{
    Lv x = LLVMBuildLoad2(s->l->b, type_in_memory(s, t), element(s, t, array, at), "");
    return t->is_ptr ? x : cg_from_memory(s->l, t->elem, x);
}

void
sim_local_store(Sim *s, const Type *t, Lv array, Lv at, Lv x)
{
    x = t->is_ptr ? x : cg_to_memory(s->l, t->elem, x);
    LLVMBuildStore(s->l->b, x, element(s, t, array, at));
}

Lv
sim_local_home(Sim *s, const Val *v)
{
    Lv *p = &s->local->home[v->id];
    if (!*p)
        *p = sim_local_array(s, v->type, sim_n_regs(v));
    return *p;
}

/* ---- the walk ---------------------------------------------------------------------------- */

void
sim_free_dead(Sim *s, const Op *o)
{
    const Values *dead = s->local ? map_get(&s->local->dies, o, 0) : NULL;
    for (int i = 0; dead && o != o->block->last && i < dead->n; i++)
        if (s->local->home[dead->at[i]->id])
            sim_local_free(s, s->local->home[dead->at[i]->id]);
}

void
sim_forget(Sim *s)
{
    for (int i = 0; s->local && i < s->local->n_gathered; i++)
        s->vals[s->local->gathered[i]->id] = NULL;
    if (s->local)
        s->local->n_gathered = 0;
}

void
sim_to_local(Sim *s, const Val *v)
{
    if (!s->local || !s->local->has_home[v->id] || !s->vals[v->id])
        return;
    Lv *r = sim_val(s, v);
    for (int i = 0; i < sim_n_regs(v); i++)
        sim_local_store(s, v->type, sim_local_home(s, v), ll_i32(s->l, i), r[i]);
    if (has_many_registers(v))
        s->vals[v->id] = NULL;
}

bool
sim_local_op(Sim *s, const Op *o)
{
    if (!s->local || !o->n_results || !is_big(s->f, result(o, 0)))
        return false;
    if (!is_simple(s, o) && o->op != OP_JOIN && o->op != OP_CAT)
        return false;
    for (int i = 0; i < o->n_results;
         i++) /* others are computed where they are asked for */
        if (s->local->is_root[result(o, i)->id])
            sim_compute_big(s, result(o, i));
    return true;
}
