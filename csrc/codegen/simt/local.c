/* local: blocks that have more registers than a thread, kept in its local memory.
 *
 * Where pass chunk says so, a value with many registers never is in registers as a whole:
 *
 *     a = load(p, mask)          for i < chunks:  32 loads; to a's place in local memory
 *     m = max(abs(a))            for i < chunks:  32 from there, abs, max; then as always
 *     store(q, a * s, mask)      for i < chunks:  32 from there, times s; 32 stores
 *
 * chunks.c has the loops. Which values have a place is what pass keep_local has marked as kept; each
 * loop computes the others again where it asks for them.
 *
 * Rule 1: an op that knows nothing of chunks (dot, some converts) takes a big value whole:
 *         sim_val reads all of it, for that op alone (sim_forget), and sim_to_local puts
 *         results away.
 * Rule 2: a place is written where its value is defined, so each run of a loop has its own. What
 *         loops carry lies in places of the text (local_alloc).
 */
#include "codegen/simt/local.h"

enum { MAX_BYTES = 448 << 10 }; /* of 512 KB that a thread can have */

/* ---- until when ---------------------------------------------------------------------------- */

bool
sim_is_made_again(const Sim *s, const Val *v)
{
    return v->def && !v->is_kept && is_by_register(s->c, v->def);
}

/* v is asked for after o, an op of b, and by no later one. */
static void
note_death(Sim *s, const Block *b, const Op *o, const Val *v)
{
    struct Local *k = s->local;
    if (k->seen[v->id] == b || !v->def)
        return;
    k->seen[v->id] = b;
    for (int i = 0; sim_is_made_again(s, v) && i < v->def->n_args; i++)
        note_death(s, b, o, arg(v->def, i));
    if (!v->is_kept || v->def->block != b || op_has(v->def, OPF_CONTROL))
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

/* Backwards, so that the first op met that asks for a value is the last one. */
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
    s->local = NEW(s->a, struct Local);
    *s->local = (struct Local){.home = NEW_N(s->a, Lv, n),
                               .seen = NEW_N(s->a, const Block *, n),
                               .dies.a = s->a,
                               .gathered = NEW_N(s->a, const Val *, n)};
    find_deaths(s, s->f->body);
}

void
sim_local_close(Sim *s)
{
    int64_t bytes = local_bytes(s->f);
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

/* Room for n elements in the thread's memory, until it is given back. */
static Lv
new_array(Sim *s, const Type *t, int n)
{
    Ll *l = s->l;
    int64_t bytes = (int64_t)ty_bytes(t) * n;
    LocalArray *old = free_array(s->local, bytes);
    if (old) {
        old->is_free = false;
        return old->at;
    }
    Lv p = ll_slot(l, LLVMArrayType2(type_in_memory(s, t), (unsigned)n));
    LLVMSetAlignment(p, 16);
    PUSH(s->a, &s->local->arrays, ((LocalArray){.at = p, .bytes = bytes}));
    return p;
}

static void
free_again(Sim *s, Lv array)
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
    const Op *store = only_store(v);
    if (store)
        return sim_slices(s, arg(store, 0));
    Lv *p = &s->local->home[v->id];
    if (!*p)
        *p = new_array(s, v->type, sim_n_regs(v));
    return *p;
}

/* ---- the walk ---------------------------------------------------------------------------- */

void
sim_free_dead(Sim *s, const Op *o)
{
    const Values *dead = s->local ? map_get(&s->local->dies, o, 0) : NULL;
    for (int i = 0; dead && o != o->block->last && i < dead->n; i++)
        if (s->local->home[dead->at[i]->id])
            free_again(s, s->local->home[dead->at[i]->id]);
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
    if (!s->local || !v->is_kept || !s->vals[v->id])
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
    if (o->op == OP_LOCAL_STORE && is_big(s->f, arg(o, 2))) {
        if (!arg(o, 2)->is_kept || only_store(arg(o, 2)) != o)
            sim_store_big(s, o);
        return true;
    }
    if (!s->local || !o->n_results || !is_big(s->f, result(o, 0)))
        return false;
    if (!is_by_register(s->c, o) && o->op != OP_JOIN && o->op != OP_CAT)
        return false;
    /* Others are computed where they are asked for. */
    for (int i = 0; i < o->n_results; i++)
        if (result(o, i)->is_kept)
            sim_compute_big(s, result(o, i));
    return true;
}
