/* local: blocks that have more registers than a thread, kept in its local memory.
 *
 * A kernel that wants thousands of registers would be one instruction a register, tens of
 * thousands in a row, all alive at once: ptxas takes minutes to spill them. So where a
 * kernel wants more than MAX_WORDS words (and nowhere else) a value with more than
 * BIG_REGS registers never is in registers as a whole:
 *
 *     a = load(p, mask)          for i < chunks:  32 loads; to a's place in local memory
 *     m = max(abs(a))            for i < chunks:  32 from there, abs, max; then as always
 *     store(q, a * s, mask)      for i < chunks:  32 from there, times s; 32 stores
 *
 * Register r of a chunk is  constant ^ columns of the counter's bits: a linear map, as the
 * layout is, so that elements, other shapes and places in memory are found the same way.
 * What is computed element by element has no place of its own, it is computed again in each
 * loop that asks for it; what costs more than memory does (COSTLY) and is asked for more
 * than once has one. Values with few registers have one, too, if big ones are made of them:
 * a loop asks for the row that its counter says.
 *
 * Rule 1: other ops (scan, dot, convert, ..) take a big value whole: sim_val reads all of
 *         it, for that op alone (sim_forget), and sim_settle puts results away.
 * Rule 2: a place is written where its value is defined, so each run of a loop has its own.
 */
#include "codegen/simt/local.h"

enum {
    MAX_WORDS = 1 << 11, /* that LLVM and ptxas take as they are */
    BIG_REGS = 64,
    LOG2_CHUNK = 5,
    MAX_WHOLE = 1 << 10,  /* registers of what a scan, a dot, .. takes */
    COSTLY = 16,          /* instructions: what a store and a load are worth */
    MAX_BYTES = 448 << 10 /* of 512 KB that a thread can have */
};

struct Local {
    bool *is_root;        /* by id: not computed where it is asked for */
    bool *has_home;       /* by id: is kept in memory */
    int *cost;            /* by id: instructions of computing an element again */
    Lv *home;             /* by id: the place; NULL: none yet */
    const Val **gathered; /* big values that sim_val has read for the current op */
    int n_gathered;
};

/* ---- which values ---------------------------------------------------------------------- */

static bool
is_block(const Val *v)
{
    return v->type->rank && v->type->layout && !v->type->slots;
}

static bool
has_many(const Val *v)
{
    return is_block(v) && sim_n_regs(v) > BIG_REGS;
}

bool
sim_is_big(const Sim *s, const Val *v)
{
    return s->local && has_many(v);
}

static bool
is_elementwise(const Op *o)
{
    return op_has(o, OPF_PURE) && op_has(o, OPF_ELEM) && !op_is_assembly(o) &&
           o->n_results == 1;
}

static int
own_cost(const Op *o)
{
    switch (o->op) {
    case OP_CONST:
    case OP_ARANGE:
    case OP_SPLAT:
    case OP_EXPAND:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS: return 0;
    default:
        return op_has(o, OPF_HEAVY) ? COSTLY : op_has(o, OPF_SLOW) ? COSTLY / 2 : 1;
    }
}

/* Is a register of the result computed from the same register of each operand, or from one
 * that the layout says? */
static bool
is_simple(const Op *o)
{
    return is_elementwise(o) || !own_cost(o);
}

/* Instructions of computing o's result again; -1: it must be kept. */
static int
cost_again(const struct Local *k, const Op *o)
{
    int cost = own_cost(o);
    if (!is_simple(o))
        return -1;
    const Val *v = result(o, 0);
    for (int i = 0; i < o->n_args; i++)
        if (is_block(arg(o, i)))
            cost += k->cost[arg(o, i)->id];
    bool again = has_many(v) ? v->uses && v->uses->next : own_cost(o) >= COSTLY / 2;
    return again && cost >= COSTLY && !v->type->is_ptr ? -1 : MIN(cost, COSTLY);
}

static void
find_roots(struct Local *k, const Block *b)
{
    for (int i = 0; i < b->n_args; i++)
        k->is_root[b->args[i]->id] = true;
    for (const Op *o = b->first; o; o = o->next) {
        int cost = o->n_results == 1 ? cost_again(k, o) : -1;
        for (int i = 0; i < o->n_results; i++) {
            k->is_root[result(o, i)->id] = cost < 0;
            k->cost[result(o, i)->id] = MAX(cost, 0);
        }
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            find_roots(k, o->regions[r]);
    }
}

/* Backwards: what big values are computed from is asked for by numbers only known when it
 * runs. */
static void
find_homes(struct Local *k, const Block *b)
{
    for (const Op *o = b->last; o; o = o->prev) {
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            find_homes(k, o->regions[r]);
        const Val *v = o->n_results == 1 ? result(o, 0) : NULL;
        if (v && is_block(v) && is_simple(o) &&
            (has_many(v) || (k->has_home[v->id] && !k->is_root[v->id])))
            for (int i = 0; i < o->n_args; i++)
                k->has_home[arg(o, i)->id] = true;
    }
}

static int64_t
bytes_of(const struct Local *k, const Val *v)
{
    bool *h = &k->has_home[v->id];
    *h = is_block(v) && k->is_root[v->id] && sim_n_regs(v) > 1 && (*h || has_many(v));
    return *h ? (int64_t)sim_elem_bytes(v->type) * sim_n_regs(v) : 0;
}

static int64_t
settle_homes(const struct Local *k, const Block *b)
{
    int64_t bytes = 0;
    for (int i = 0; i < b->n_args; i++)
        bytes += bytes_of(k, b->args[i]);
    for (const Op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->n_results; i++)
            bytes += bytes_of(k, result(o, i));
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            bytes += settle_homes(k, o->regions[r]);
    }
    return bytes;
}

/* Ops that take or give big values as a whole are an instruction a register, and more: over
 * thousands in a row ptxas takes minutes. */
static void
check_whole(Sim *s, const Block *b)
{
    for (const Op *o = b->first; o; o = o->next) {
        for (int r = 0; r < o->n_regions && op_has(o, OPF_CONTROL); r++)
            check_whole(s, o->regions[r]);
        if (is_simple(o) || o->op == OP_LOAD || o->op == OP_STORE ||
            o->op == OP_ATOMIC_RMW || o->op == OP_ATOMIC_CAS)
            continue;
        int n = 0;
        for (int i = 0; i < o->n_results; i++)
            n = MAX(n, is_block(result(o, i)) ? sim_n_regs(result(o, i)) : 0);
        for (int i = 0; i < o->n_args && o->op != OP_REDUCE; i++)
            n = MAX(n, is_block(arg(o, i)) ? sim_n_regs(arg(o, i)) : 0);
        if (n > MAX_WHOLE)
            err_at(s->c, o->loc, RESOURCES, "registers of a thread", (long long)n,
                   (long long)MAX_WHOLE);
    }
}

void
sim_local_open(Sim *s)
{
    if (most_live_words(s->f) <= MAX_WORDS)
        return;
    int n = s->f->n_vals;
    struct Local *k = s->local = NEW(s->a, struct Local);
    *k = (struct Local){.is_root = NEW_N(s->a, bool, n),
                        .has_home = NEW_N(s->a, bool, n),
                        .cost = NEW_N(s->a, int, n),
                        .home = NEW_N(s->a, Lv, n),
                        .gathered = NEW_N(s->a, const Val *, n)};
    find_roots(k, s->f->body);
    find_homes(k, s->f->body);
    int64_t bytes = settle_homes(k, s->f->body);
    check_whole(s, s->f->body);
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

Lv
sim_local_array(Sim *s, const Type *t, int n)
{
    Ll *l = s->l;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b),
                      entry = LLVMGetEntryBasicBlock(l->fn);
    LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(entry));
    Lv p = LLVMBuildAlloca(l->b, LLVMArrayType2(type_in_memory(s, t), (unsigned)n), "");
    LLVMSetAlignment(p, 16);
    LLVMPositionBuilderAtEnd(l->b, here);
    return p;
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

static Lv
home(Sim *s, const Val *v)
{
    Lv *p = &s->local->home[v->id];
    if (!*p)
        *p = sim_local_array(s, v->type, sim_n_regs(v));
    return *p;
}

/* ---- chunks ------------------------------------------------------------------------------ */

static void
next_bits(Chunks *c, uint32_t bits)
{
    for (int i = 0; i < 32; i++)
        if (bits >> i & 1 && !(c->regs >> i & 1))
            c->bit[c->n++] = i;
}

Chunks
sim_chunks(Sim *s, int bits, uint32_t together, uint32_t first)
{
    uint32_t all = (1u << bits) - 1, order[] = {first, all & ~first};
    Chunks c = {.regs = together, .memo.a = s->a};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < bits; i++)
            if (order[k] >> i & 1 && __builtin_popcount(c.regs) < LOG2_CHUNK)
                c.regs |= 1u << i;
    next_bits(&c, order[0]);
    next_bits(&c, order[1]);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(s->l->b);
    c.body = ll_block(s->l, "chunk");
    LLVMBuildBr(s->l->b, c.body);
    LLVMPositionBuilderAtEnd(s->l->b, c.body);
    c.i = LLVMBuildPhi(s->l->b, s->l->i32, "");
    Lv zero = ll_i32(s->l, 0);
    LLVMAddIncoming(c.i, &zero, &before, 1);
    return c;
}

void
sim_chunks_end(Sim *s, Chunks *c)
{
    Ll *l = s->l;
    Lv next = LLVMBuildAdd(l->b, c->i, ll_i32(l, 1), "");
    Lv more = LLVMBuildICmp(l->b, LLVMIntULT, next, ll_i32(l, 1 << c->n), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(l->b), after = ll_block(l, "chunks");
    LLVMAddIncoming(c->i, &next, &end, 1);
    LLVMBuildCondBr(l->b, more, c->body, after);
    LLVMPositionBuilderAtEnd(l->b, after);
}

/* A register of some value: at[0] ^ at[1 + i] for the set bits i of the counter. Padded to a
 * key without gaps. */
typedef struct Place {
    const Val *v;
    Col at[2 + MAX_BITS];
} Place;
_Static_assert(sizeof(Place) == sizeof(Val *) + (2 + MAX_BITS) * sizeof(Col),
               "no gaps");

static Place
place(const Chunks *c, const Val *v, uint32_t reg)
{
    Place p = {.v = v, .at = {reg}};
    for (int i = 0; c && i < c->n; i++)
        p.at[1 + i] = (Col)1 << c->bit[i];
    return p;
}

/* XOR of the columns of the counter's set bits. */
static Lv
counted(Sim *s, Chunks *c, const Col *at)
{
    Place key = {0};
    memcpy(key.at + 1, at, (size_t)c->n * sizeof *at);
    Lv v = map_get(&c->memo, &key, sizeof key);
    if (!v) {
        v = sim_xor_columns(s, c->i, at, c->n);
        map_put(&c->memo, &key, sizeof key, v);
    }
    return v;
}

static Col
moving(const Chunks *c, const Col *at)
{
    Col seen = 0;
    for (int i = 0; c && i < c->n; i++)
        seen |= at[i];
    return seen;
}

static Lv eval(Sim *s, Chunks *c, const Place *p);

static Lv
arange_at(Sim *s, Chunks *c, const Place *p)
{
    const Layout *l = p->v->type->layout;
    Col flat[MAX_BITS] = {0}, fixed = 0;
    for (int i = 0; c && i < c->n; i++)
        flat[i] = layout_at(l, p->at[1 + i], 0, 0, 0);
    for (int in = IN_LANE; in <= IN_WARP; in++)
        for (int i = 0; i < l->n[in]; i++)
            fixed |= l->basis[in][i];
    fixed |= layout_at(l, p->at[0], 0, 0, 0);
    Lv x = sim_index(s, l, (int)p->at[0]);
    if (moving(c, flat))
        x = sim_joined(s, x, fixed, counted(s, c, flat), moving(c, flat));
    int32_t start = (int32_t)ir_attr(p->v->def, ATTR_START);
    return start ? LLVMBuildAdd(s->l->b, x, ll_i32(s->l, start), "") : x;
}

static Lv
renamed_at(Sim *s, Chunks *c, const Place *p)
{
    const Op *o = p->v->def;
    Col map[MAX_BITS];
    Place from = {.v = arg(o, 0)};
    sim_reg_map(s, o, map);
    for (int i = 0; i < 1 + (c ? c->n : 0); i++)
        from.at[i] = f2_mul(map, p->v->type->layout->n[IN_REG], p->at[i]);
    return eval(s, c, &from);
}

static Lv
compute(Sim *s, Chunks *c, const Place *p)
{
    const Op *o = p->v->def;
    Ll *l = s->l;
    switch (o->op) {
    case OP_CONST:
        return o->results[0]->type->is_ptr
                   ? LLVMConstIntToPtr(ll_i64(l, (int64_t)o->bits), l->gptr)
                   : ll_bits(l, p->v->type->elem, o->bits, 0);
    case OP_ARANGE: return arange_at(s, c, p);
    case OP_SPLAT: return sim_val(s, arg(o, 0))[0];
    case OP_EXPAND:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS: return renamed_at(s, c, p);
    default: break;
    }
    Lv *x = NEW_N(s->a, Lv, o->n_args + 1);
    for (int i = 0; i < o->n_args; i++) {
        Place from = *p;
        from.v = arg(o, i);
        if (from.v->type->layout != p->v->type->layout)
            sim_bad_layout(s, o);
        x[i] = eval(s, c, &from);
    }
    return cg_elementwise(l, o, x);
}

static Lv
from_home(Sim *s, Chunks *c, const Place *p)
{
    Lv at = ll_i32(s->l, (int32_t)p->at[0]);
    if (moving(c, p->at + 1))
        at = sim_joined(s, at, p->at[0], counted(s, c, p->at + 1),
                        moving(c, p->at + 1));
    return sim_local_load(s, p->v->type, home(s, p->v), at);
}

static Lv
eval(Sim *s, Chunks *c, const Place *p)
{
    const Val *v = p->v;
    if (!is_block(v))
        return sim_val(s, v)[0];
    if (s->vals[v->id] && !moving(c, p->at + 1))
        return sim_reg(s, v, (int)p->at[0]);
    Lv x = c ? map_get(&c->memo, p, sizeof *p) : NULL;
    if (x)
        return x;
    x = s->local->is_root[v->id] ? from_home(s, c, p) : compute(s, c, p);
    if (c)
        map_put(&c->memo, p, sizeof *p, x);
    return x;
}

Lv *
sim_chunk(Sim *s, Chunks *c, const Val *v)
{
    Lv *r = NEW_N(s->a, Lv, sim_n_regs(v));
    for (int i = 0; i < sim_n_regs(v); i++) {
        Place p = place(c, v, (uint32_t)i);
        if (!((uint32_t)i & ~c->regs))
            r[i] = eval(s, c, &p);
    }
    return r;
}

void
sim_chunk_keep(Sim *s, Chunks *c, const Val *v, Lv *r)
{
    Place p = place(c, v, 0);
    Lv at = counted(s, c, p.at + 1);
    for (int i = 0; i < sim_n_regs(v); i++)
        if (!((uint32_t)i & ~c->regs))
            sim_local_store(
                s, v->type, home(s, v),
                sim_joined(s, at, moving(c, p.at + 1), ll_i32(s->l, i), (Col)i), r[i]);
}

/* ---- the walk ---------------------------------------------------------------------------- */

Lv *
sim_whole(Sim *s, const Val *v)
{
    struct Local *k = s->local;
    if (k->n_gathered < s->f->n_vals)
        k->gathered[k->n_gathered++] = v;
    Lv *r = sim_define(s, v);
    Chunks whole = {.memo.a = s->a};
    for (int i = 0; i < sim_n_regs(v); i++) {
        Place p = place(&whole, v, (uint32_t)i);
        r[i] = k->is_root[v->id] ? from_home(s, &whole, &p) : compute(s, &whole, &p);
    }
    return r;
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
sim_settle(Sim *s, const Val *v)
{
    if (!s->local || !s->local->has_home[v->id] || !s->vals[v->id])
        return;
    Lv *r = sim_val(s, v);
    for (int i = 0; i < sim_n_regs(v); i++)
        sim_local_store(s, v->type, home(s, v), ll_i32(s->l, i), r[i]);
    if (has_many(v))
        s->vals[v->id] = NULL;
}

bool
sim_local_op(Sim *s, const Op *o)
{
    if (!s->local || o->n_results != 1 || !sim_is_big(s, result(o, 0)))
        return false;
    const Val *v = result(o, 0);
    if (!s->local->is_root[v->id]) /* computed where it is asked for */
        return true;
    if (!is_simple(o))
        return false;
    Chunks c = sim_chunks(s, v->type->layout->n[IN_REG], 0, 0);
    Lv *r = NEW_N(s->a, Lv, sim_n_regs(v));
    for (int i = 0; i < sim_n_regs(v); i++) {
        Place p = place(&c, v, (uint32_t)i);
        if (!((uint32_t)i & ~c.regs))
            r[i] = compute(s, &c, &p);
    }
    sim_chunk_keep(s, &c, v, r);
    sim_chunks_end(s, &c);
    return true;
}
