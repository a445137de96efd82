/* cse: two equal pure ops, the first of which dominates, are one.
 *
 *     %1 = mul %x, %y                   %1 = mul %x, %y
 *     for .. {                          for .. {
 *       %2 = mul %y, %x           =>
 *       %3 = add %2, %z                   %3 = add %1, %z
 *
 * One walk in program order over a table from what an op computes to the op that did. A
 * block's ops dominate what follows in the block and in all regions there, so a find counts
 * when its block ir_encloses the present one; else it is in a region already left, and the
 * present op takes its place in the table.
 *
 * Loads count as pure between two writes of the same block.
 *
 * A combine region keeps to itself: what it needs it computes, on one element at a time.
 *
 * Rule 1: what ops compute is written down whole (type, operands, attributes, constants,
 *         regions): equal keys are equal values. Types are interned, so a pointer says it;
 *         keys are compared, never ordered.
 */
#include "passes/passes.h"

typedef struct Cse {
    Func *f;
    Map table;            /* key -> Op */
    VEC(uint64_t) key;    /* of the op at hand */
    uint64_t epoch;       /* changes where memory may change */
    const Block *combine; /* the region of the reduce or scan we are in, or NULL */
} Cse;

static void
put_key(Cse *w, uint64_t x)
{
    PUSH(w->f->c->arena, &w->key, x);
}

/* A value of a region that is part of the key is named by its place in there. */
static uint64_t
name_of(const Map *local, const Val *v)
{
    uintptr_t place = (uintptr_t)map_get(local, v, 0);
    return place ? (uint64_t)place << 32 : (uint64_t)(uint32_t)v->id;
}

static void
name_local(Map *local, const Val *v)
{
    map_put(local, v, 0, (void *)(uintptr_t)(local->n + 1));
}

static void
put_op(Cse *w, const Op *o, Map *local)
{
    put_key(w, (uint64_t)o->op << 32 | (uint64_t)(uint32_t)o->n_args);
    put_key(w,
            (uint64_t)(uint32_t)o->n_results << 32 | (uint64_t)(uint32_t)o->n_regions);
    int first = w->key.n;
    for (int i = 0; i < o->n_args; i++)
        put_key(w, name_of(local, arg(o, i)));
    if (op_has(o, OPF_COMM) && w->key.at[first] > w->key.at[first + 1]) {
        uint64_t x = w->key.at[first];
        w->key.at[first] = w->key.at[first + 1];
        w->key.at[first + 1] = x;
    }
    for (int i = 0; i < info(o)->n_attrs; i++)
        put_key(w, (uint64_t)o->attr[i]);
    if (o->op == OP_CONST)
        put_key(w, o->bits);
    if (o->text)
        put_key(w, (uintptr_t)o->text);
    for (int i = 0; i < o->n_results; i++)
        put_key(w, (uintptr_t)result(o, i)->type);
    for (int r = 0; r < o->n_regions; r++) {
        const Block *b = o->regions[r];
        put_key(w, (uint64_t)(uint32_t)b->n_args);
        for (int i = 0; i < b->n_args; i++) {
            put_key(w, (uintptr_t)b->args[i]->type);
            name_local(local, b->args[i]);
        }
        for (const Op *p = b->first; p; p = p->next) {
            put_op(w, p, local);
            for (int i = 0; i < p->n_results; i++)
                name_local(local, result(p, i));
        }
    }
}

static bool
is_plain_load(const Op *o)
{
    return o->op == OP_LOAD && !ir_attr(o, ATTR_VOLATILE);
}

/* True when o is gone. */
static bool
merge(Cse *w, Op *o)
{
    Map local = {.a = w->f->c->arena};
    w->key.n = 0;
    put_key(w, (uintptr_t)w->combine);
    put_op(w, o, &local);
    if (o->op == OP_LOAD) {
        put_key(w, w->epoch);
        put_key(w, (uintptr_t)o->block);
    }
    size_t size = (size_t)w->key.n * sizeof w->key.at[0];
    Op *old = map_get(&w->table, w->key.at, size);
    if (!old || !ir_encloses(old->block, o->block)) {
        map_put(&w->table, w->key.at, size, o);
        return false;
    }
    for (int i = 0; i < o->n_results; i++) {
        if (!result(old, i)->name)
            result(old, i)->name = result(o, i)->name;
        ir_replace(result(o, i), result(old, i));
    }
    ir_erase(o);
    return true;
}

static void
cse_block(Cse *w, Block *b)
{
    for (Op *o = b->first, *next; o; o = next) {
        next = o->next;
        /* Regions first: equal combine regions become equal text. */
        const Block *combine = w->combine;
        for (int r = 0; r < o->n_regions; r++) {
            w->epoch++;
            if (op_has(o, OPF_PURE))
                w->combine = o->regions[r];
            cse_block(w, o->regions[r]);
        }
        w->combine = combine;
        if (may_change_memory(o) || o->n_regions)
            w->epoch++;
        if (op_has(o, OPF_PURE) || is_plain_load(o))
            merge(w, o);
    }
}

void
pass_cse(Func *f)
{
    Cse w = {.f = f, .table = {.a = f->c->arena}};
    cse_block(&w, f->body);
}
