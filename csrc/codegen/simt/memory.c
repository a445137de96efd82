/* memory: load, store and atomics on global memory.
 *
 * The layout says which registers are neighbours in the tensor, facts say how many
 * neighbours are contiguous in memory, aligned, and under one mask. As many as both allow
 * become one access:
 *
 *     f16[1024], 4 warps, 16-byte pointer:  registers 0..7  ->  ld.global.v4.b32
 *
 * Elements held by several threads: all load; one stores or acts (the owner), and what an
 * atomic returned goes to the others through shared memory. A scalar is loaded by all
 * threads, stored by thread 0.
 */
#include "codegen/simt/simt.h"

enum { MAX_VEC = SIM_MAX_VECTOR };

SimVector
sim_vector(const int *bit, int log2)
{
    SimVector v = {.log2 = log2};
    for (int i = 0; i < log2; i++)
        v.mask |= 1u << bit[i];
    for (int e = 0; e < 1 << log2; e++)
        for (int i = 0; i < log2; i++)
            v.reg[e] |= (e >> i & 1) << bit[i];
    return v;
}

static SimVector
vector_of(const Op *o, int dim, int most)
{
    int bit[MAX_BITS];
    return sim_vector(bit, layout_run(arg(o, 0)->type->layout, dim, MIN(most, 4), bit));
}

SimVector
sim_copy_vector(Sim *s, const Op *o)
{
    int dim = facts_fastest_dim(s->facts, o), bytes = s->m->max_vec_bytes;
    bool has_count = o->n_args > 4; /* and so pipeline knows of the mask what we need */
    return vector_of(o, dim,
                     has_count ? facts_pointer_log2(s->facts, o, dim, bytes)
                               : facts_access_log2(s->facts, o, dim, bytes));
}

/* Of a load or store. *is_ragged: the mask may be true for the first elements alone. */
static SimVector
access_vector(Sim *s, const Op *o, bool *is_ragged)
{
    *is_ragged = false;
    if (!arg(o, 0)->type->layout)
        return (SimVector){0};
    MaskEdges edges;
    int dim = facts_fastest_dim(s->facts, o);
    SimVector v = vector_of(
        o, dim, facts_ragged_log2(s->facts, o, dim, s->m->max_vec_bytes, &edges));
    *is_ragged = edges.n && v.log2;
    return v;
}

/* Elements of a vector that starts at register r. */
static void
pick(const SimVector *v, Lv *regs, int r, Lv *out)
{
    for (int e = 0; e < 1 << v->log2; e++)
        out[e] = regs[r | v->reg[e]];
}

/* One mask for all of a vector: what else asks for those of the others shall see that, too,
 * and nothing computes them. Not those that a loop carries: they are phis to be filled. */
static void
share_mask(Sim *s, const Val *mask, const SimVector *v, int r)
{
    for (int e = 1; mask && mask->def && e < 1 << v->log2; e++)
        sim_val(s, mask)[r | v->reg[e]] = sim_val(s, mask)[r];
}

static void
check_layouts(Sim *s, const Op *o)
{
    for (int i = 1; i < o->n_args; i++)
        if (arg(o, i)->type->layout != arg(o, 0)->type->layout)
            sim_bad_layout(s, o);
}

/* ---- load, store ------------------------------------------------------------------------- */

/* What a load or store is done with, and how wide. */
typedef struct Mover {
    const Val *v; /* what is loaded or stored */
    Access a;
    SimVector vec;
    Lv *ptr, *mask, *other, *from; /* registers; NULL: none */
    Lv owner;                      /* of a store */
} Mover;

/* Is i the first register of a vector? */
static bool
is_first(const Mover *k, int i)
{
    return !((uint32_t)i & k->vec.mask);
}

/* Is register i loaded from where the one before it is, under the same mask? */
static bool
is_again(const Mover *k, int i)
{
    return i && !k->vec.log2 && !k->a.is_volatile && is_first(k, i - 1) &&
           k->ptr[i] == k->ptr[i - 1] && (!k->mask || k->mask[i] == k->mask[i - 1]) &&
           (!k->other || k->other[i] == k->other[i - 1]);
}

static void
load_vectors(Sim *s, Mover *k, Lv *r)
{
    int n = 1 << k->vec.log2;
    Lt type = sim_packed_type(s, k->v->type, n);
    Lv elems[MAX_VEC];
    k->a.bytes = k->a.align = n * ty_bytes(k->v->type);
    for (int i = 0; i < sim_n_regs(k->v); i++) {
        if (!is_first(k, i))
            continue;
        if (is_again(k, i)) {
            r[i] = r[i - 1];
            continue;
        }
        k->a.ptr = k->ptr[i];
        k->a.pred = k->mask ? k->mask[i] : NULL;
        Lv otherwise = NULL;
        if (k->mask) {
            otherwise = LLVMConstNull(type);
            if (k->other) {
                pick(&k->vec, k->other, i, elems);
                otherwise = sim_pack(s, k->v->type, elems, n);
            }
        }
        sim_unpack(s, k->v->type, s->m->load(s->l, &k->a, type, otherwise), n, elems);
        for (int e = 0; e < n; e++)
            r[i | k->vec.reg[e]] = elems[e];
    }
}

static void
store_vectors(Sim *s, Mover *k)
{
    int n = 1 << k->vec.log2;
    Lv elems[MAX_VEC];
    k->a.bytes = k->a.align = n * ty_bytes(k->v->type);
    for (int i = 0; i < sim_n_regs(k->v); i++) {
        if (!is_first(k, i))
            continue;
        k->a.ptr = k->ptr[i];
        k->a.pred = sim_and(s, k->owner, k->mask ? k->mask[i] : NULL);
        pick(&k->vec, k->from, i, elems);
        s->m->store(s->l, &k->a, sim_pack(s, k->v->type, elems, n));
    }
}

static void
share_masks(Sim *s, const Mover *k, const Val *mask)
{
    for (int i = 0; mask && i < sim_n_regs(k->v); i++)
        if (is_first(k, i))
            share_mask(s, mask, &k->vec, i);
}

/* i1: no vector of this thread ends inside of the mask. */
static Lv
is_whole(Sim *s, const Mover *k)
{
    Lv all = NULL;
    int last = k->vec.reg[(1 << k->vec.log2) - 1];
    for (int i = 0; i < sim_n_regs(k->v); i++) {
        if (!is_first(k, i))
            continue;
        Lv none = LLVMBuildNot(s->l->b, k->mask[i], "");
        all = sim_and(s, all, LLVMBuildOr(s->l->b, none, k->mask[i | last], ""));
    }
    return all;
}

/* Vectors where all of them are whole, and single elements in the threads at an edge:
 *
 *     if (whole)  @mask ld.v4 ..          few threads of few programs take the second way
 *     else        @mask0 ld; @mask1 ld ..
 *
 * r: where what is loaded goes; NULL: a store. */
static void
move_ragged(Sim *s, Mover *k, Lv *r)
{
    Ll *l = s->l;
    LLVMBasicBlockRef way[2] = {ll_block(l, "whole"), ll_block(l, "edge")}, end[2],
                      after = ll_block(l, "moved");
    int n = sim_n_regs(k->v);
    Lv *got[2] = {NEW_N(s->a, Lv, n), NEW_N(s->a, Lv, n)};
    LLVMBuildCondBr(l->b, is_whole(s, k), way[0], way[1]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(l->b, way[i]);
        if (i)
            k->vec = (SimVector){0};
        if (r)
            load_vectors(s, k, got[i]);
        else
            store_vectors(s, k);
        end[i] = LLVMGetInsertBlock(l->b);
        LLVMBuildBr(l->b, after);
    }
    LLVMMoveBasicBlockAfter(after, end[1]);
    LLVMPositionBuilderAtEnd(l->b, after);
    for (int i = 0; r && i < n; i++)
        r[i] = ll_join(l, got[0][i], end[0], got[1][i], end[1]);
}

static void
move(Sim *s, const Op *o, Mover *k)
{
    bool loads = o->op == OP_LOAD, is_ragged;
    int mask = loads ? 1 : 2;
    check_layouts(s, o);
    k->vec = access_vector(s, o, &is_ragged);
    k->ptr = sim_val(s, arg(o, 0));
    k->from = loads ? NULL : sim_val(s, k->v);
    k->mask = o->n_args > mask ? sim_val(s, arg(o, mask)) : NULL;
    k->other = loads && o->n_args > 2 ? sim_val(s, arg(o, 2)) : NULL;
    k->a.cache = (int)ir_attr(o, ATTR_CACHE), k->a.evict = (int)ir_attr(o, ATTR_EVICT);
    Lv *r = loads ? sim_define(s, k->v) : NULL;
    if (!is_ragged)
        share_masks(s, k, k->mask ? arg(o, mask) : NULL);
    if (is_ragged)
        move_ragged(s, k, r);
    else if (loads)
        load_vectors(s, k, r);
    else
        store_vectors(s, k);
}

void
sim_load(Sim *s, const Op *o)
{
    Mover k = {.v = result(o, 0), .a.is_volatile = ir_attr(o, ATTR_VOLATILE) != 0};
    move(s, o, &k);
}

void
sim_store(Sim *s, const Op *o)
{
    Mover k = {.v = arg(o, 1), .owner = sim_owner(s, arg(o, 1)->type->layout)};
    move(s, o, &k);
}

/* ---- atomics ------------------------------------------------------------------------------ */

/* v, a result of o, to shared memory by its owners or, then, from there by all. */
static void
share(Sim *s, const Val *v, int at, bool stores)
{
    if (!shared_result_bytes(v))
        return;
    const Layout *l = v->type->layout;
    int bytes = ty_bytes(v->type);
    Lv *x = sim_val(s, v);
    for (int i = 0; i < sim_n_regs(v); i++) {
        Lv index = l ? sim_index(s, l, i) : ll_i32(s->l, 0);
        Lv offset = sim_shared_offset(s, index, bytes, at);
        if (stores)
            sim_shared_put(s, v->type, offset, &x[i], 1, sim_owner(s, l));
        else
            sim_shared_get(s, v->type, offset, 1, &x[i]);
    }
}

/* What the owners got, to the threads that hold the same elements. */
void
sim_share_results(Sim *s, const Op *o)
{
    if (!o->place)
        return;
    int64_t base = sim_scratch(s, o);
    for (int stores = 1; stores >= 0; stores--) {
        int64_t at = base;
        for (int k = 0; k < o->n_results; k++) {
            at = (at + 15) / 16 * 16;
            share(s, result(o, k), (int)at, stores);
            at += shared_result_bytes(result(o, k));
        }
        if (stores)
            sim_wait(s, o, WAIT_WRITTEN);
    }
}

typedef struct Atomic {
    const Op *o;
    Access a;
    SimVector vec;
    int sem, scope;
    bool is_split; /* of AtomicRun */
    bool is_used;
} Atomic;

/* The registers of vec from r on: x in, what was there out. */
static void
act(Sim *s, Atomic *k, const SimVector *vec, int r, Lv pred, Lv *x, Lv *old)
{
    const Type *t = result(k->o, 0)->type;
    int n = 1 << vec->log2;
    Lv elems[MAX_VEC];
    k->a.pred = pred;
    k->a.bytes = k->a.align = n * ty_bytes(t);
    pick(vec, x, r, elems);
    Lv v = n > 1 ? sim_pack(s, t, elems, n) : elems[0];
    v = s->m->atomic_rmw(s->l, &k->a, t->elem, (int)ir_attr(k->o, ATTR_RMW), k->sem,
                         k->scope, v, k->is_used);
    if (n > 1)
        sim_unpack(s, t, v, n, elems);
    else
        elems[0] = v;
    for (int e = 0; e < n; e++)
        old[r | vec->reg[e]] = elems[e];
}

/* Two neighbours under masks of their own. */
static void
act_on_pair(Sim *s, Atomic *k, int r, const Lv *mask, Lv owner, Lv *ptr, Lv *x, Lv *old)
{
    Ll *l = s->l;
    SimVector one = {0};
    int at[] = {r, r | k->vec.reg[1]};
    Lv both = LLVMBuildAnd(l->b, mask[at[0]], mask[at[1]], ""), together[2];
    k->a.ptr = ptr[r];
    act(s, k, &k->vec, r, sim_and(s, owner, both), x, old);
    for (int i = 0; i < 2; i++) {
        together[i] = old[at[i]];
        Lv alone = LLVMBuildAnd(l->b, mask[at[i]], LLVMBuildNot(l->b, both, ""), "");
        k->a.ptr = ptr[at[i]];
        act(s, k, &one, at[i], sim_and(s, owner, alone), x, old);
        old[at[i]] = LLVMBuildSelect(l->b, both, together[i], old[at[i]], "");
    }
}

static void
act_on_all(Sim *s, Atomic *k)
{
    const Op *o = k->o;
    const Val *v = result(o, 0);
    int n_mask = o->op == OP_ATOMIC_CAS ? 3 : 2;
    Lv *ptr = sim_val(s, arg(o, 0)), *x = sim_val(s, arg(o, 1)),
       *y = n_mask > 2 ? sim_val(s, arg(o, 2)) : NULL, /* what a cas puts there */
           *mask = o->n_args > n_mask ? sim_val(s, arg(o, n_mask)) : NULL,
       owner = sim_owner(s, v->type->layout), *r = sim_define(s, v);
    for (int i = 0; i < sim_n_regs(v); i++) {
        if ((uint32_t)i & k->vec.mask)
            continue;
        k->a.ptr = ptr[i];
        k->a.pred = sim_and(s, owner, mask ? mask[i] : NULL);
        if (y)
            r[i] = s->m->atomic_cas(s->l, &k->a, v->type->elem, k->sem, k->scope, x[i],
                                    y[i]);
        else if (k->is_split)
            act_on_pair(s, k, i, mask, owner, ptr, x, r);
        else
            act(s, k, &k->vec, i, k->a.pred, x, r);
    }
}

void
sim_atomic(Sim *s, const Op *o)
{
    check_layouts(s, o);
    AtomicRun run = facts_atomic_run(s->facts, o);
    int bytes = ty_bytes(result(o, 0)->type), sem = (int)ir_attr(o, ATTR_SEM);
    bool fences = ir_attr(o, ATTR_FENCES);
    Atomic k = {.o = o,
                .a = {.bytes = bytes, .align = bytes},
                .vec = sim_vector(run.bit, run.log2),
                .sem = fences ? SEM_RELAXED : sem,
                .scope = (int)ir_attr(o, ATTR_SCOPE),
                .is_split = run.is_split,
                .is_used = result(o, 0)->uses != NULL};
    if (fences && sem != SEM_ACQUIRE)
        s->m->fence(s->l, k.scope);
    act_on_all(s, &k);
    if (fences && sem != SEM_RELEASE)
        s->m->fence(s->l, k.scope);
    sim_share_results(s, o);
}

/* Once for what a load of the same elements would take at once. */
void
sim_prefetch(Sim *s, const Op *o)
{
    const Val *v = arg(o, 0);
    check_layouts(s, o);
    int dim = facts_fastest_dim(s->facts, o), bytes = s->m->max_vec_bytes;
    SimVector vec = {0};
    if (v->type->layout)
        vec = vector_of(o, dim, facts_access_log2(s->facts, o, dim, bytes));
    Lv *ptr = sim_val(s, v), owner = sim_owner(s, v->type->layout),
       *mask = op_mask(o) ? sim_val(s, op_mask(o)) : NULL;
    Access a = {.cache = (int)ir_attr(o, ATTR_CACHE)};
    for (int i = 0; i < sim_n_regs(v); i++) {
        if ((uint32_t)i & vec.mask)
            continue;
        a.ptr = ptr[i];
        a.pred = sim_and(s, owner, mask ? mask[i] : NULL);
        s->m->load(s->l, &a, s->l->void_, NULL);
    }
}

/* ---- functions with effects ------------------------------------------------------------------ */

/* result = pred ? f(operands) : 0, by a branch that only this thread may take. */
static Lv
call_if(Sim *s, const Op *o, Lv pred, Lv *x)
{
    Ll *l = s->l;
    if (!pred)
        return ll_call_extern(l, o, x);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->b), on = ll_block(l, "owner"),
                      after = ll_block(l, "called");
    ll_if(l, pred, on, after);
    Lv r = ll_call_extern(l, o, x), none = LLVMConstNull(LLVMTypeOf(r));
    ll_jump(l, after);
    return ll_join(l, r, on, none, before);
}

/* Once for an element, as an atomic: by its owner, who tells the others. */
void
sim_extern(Sim *s, const Op *o)
{
    const Val *v = result(o, 0);
    Lv **from = NEW_N(s->a, Lv *, o->n_args + 1), *x = NEW_N(s->a, Lv, o->n_args + 1),
       *r = sim_define(s, v), owner = sim_owner(s, v->type->layout);
    for (int k = 0; k < o->n_args; k++) {
        if (arg(o, k)->type->layout != v->type->layout)
            sim_bad_layout(s, o);
        from[k] = sim_val(s, arg(o, k));
    }
    const Layout *l = v->type->layout;
    int copies = 0; /* bits of a register's number that do not change the element */
    for (int i = 0; l && i < l->n[IN_REG]; i++)
        copies |= (int)!l->basis[IN_REG][i] << i;
    for (int i = 0; i < sim_n_regs(v); i++) {
        if (i & copies) {
            r[i] = r[i & ~copies];
            continue;
        }
        for (int k = 0; k < o->n_args; k++)
            x[k] = from[k][i];
        r[i] = call_if(s, o, owner, x);
    }
    sim_share_results(s, o);
}
