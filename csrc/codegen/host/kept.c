/* kept: an operand that a program of this thread has put into scratch is there for the next ones.
 *
 *     programs of a thread, one after the other          what the second operand is made from
 *         tile (0, 0), for k: a[0, k] @ b[k, 0]              b + 0, k = 0, 1, ..
 *         tile (1, 0), for k: a[1, k] @ b[k, 0]              the same: nothing is loaded
 *         tile (0, 1), for k: a[0, k] @ b[k, 1]              b + 256: loaded
 *
 * A tile of a product is made from memory that no program of the launch writes, from what is the same in
 * all of them (parameters, constants) and from a few scalars: those are its key. The n-th time that a
 * program comes by a product is its n-th visit, and each visit has a slot with a key and a tile:
 *
 *     scratch:  [ misses | key 0 | key 1 | .. | tile 0 | tile 1 | .. | tile of all other visits ]
 *
 *     visit:    slot.key == key ?  multiply slot.tile  :  slot.tile = load; slot.key = key; multiply
 *
 * So which programs share an operand is not for the compiler to know: two visits with one key do. An order of programs
 * in which none do costs one program's worth of slots, as `misses` then says that the rest is not worth it.
 *
 * Rule 1: a key is written behind its tile, so a program that is left in between leaves no half of one.
 * Rule 2: keys are of one launch. pool.c clears a word of scratch when a thread begins, and the first
 *         program that finds it so forgets all keys.
 * Rule 3: what a tile is made from is loaded through parameters that nothing in the launch writes, nor
 *         memory that they share (FACT_SAME, FACT_OVERLAPS). Atomics and barriers, by which programs
 *         tell each other something, rule it out; so do checks of bounds, which look at every load.
 * Rule 4: a load with a second use is not of it: the other one would load again.
 * Rule 5: what is in scratch already (m % M) is what its op makes of its operands, like the rest.
 */
#include "codegen/host/dot.h"

enum {
    FRESH_AT = 8,          /* bytes into scratch: 0 where a thread has just begun */
    LEAST = 1 << 10,       /* bytes of a tile */
    MOST = 4 << 20,        /* of all tiles of one operand */
    MOST_OF_ALL = 8 << 20, /* of a function */
    SLOTS = 64,
    KEYS = 12,
    RECORD = 8 * (KEYS + 1), /* is there one?, key */
    PATIENCE = 2,            /* programs that find nothing, before they stop to keep */
};

typedef struct Key {
    int n;
    Lv word[KEYS]; /* scalars, then as i64 */
    VEC(const Op *) loads;
} Key;

/* ---- what a tile is made from ------------------------------------------------------------ */

static bool
add_word(Key *k, Lv x)
{
    if (LLVMIsConstant(x))
        return true;
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(x));
    if (kind != LLVMPointerTypeKind && kind != LLVMIntegerTypeKind)
        return false;
    for (int i = 0; i < k->n; i++)
        if (k->word[i] == x)
            return true;
    if (k->n == KEYS)
        return false;
    k->word[k->n++] = x;
    return true;
}

static bool
add_scalar(Host *h, Key *k, const Val *v)
{
    if (!v->def && v->block == h->f->body)
        return true; /* a parameter */
    return host_is_ready(h, v) && add_word(k, host_scalar(h, v));
}

static bool
add_value(Host *h, Key *k, const Val *v)
{
    VState *s = state(h, v);
    if (!v->type->rank)
        return add_scalar(h, k, v);
    if ((s->kind != V_LAZY && s->kind != V_BUFFER) || !v->def ||
        (!op_is_lazy(v->def) && v->def->op != OP_KEEP))
        return false;
    if (s->stamp == h->stamp)
        return true;
    s->stamp = h->stamp;
    int n_loads = k->loads.n;
    if (v->def->op == OP_LOAD) {
        if (!written_is_constant(h->written, arg(v->def, 0)))
            return false;
        PUSH(h->c->arena, &k->loads, v->def);
    }
    for (int i = 0; i < v->def->n_args; i++)
        if (!add_value(h, k, arg(v->def, i)))
            return false;
    return k->loads.n == n_loads || s->kind == V_BUFFER || !v->uses->next;
}

/* Does the launch say that the loads go to memory of their own? */
static bool
are_apart(Host *h, const Key *k)
{
    for (int i = 0; i < k->loads.n; i++) {
        const Val *root = pointer_root(h->f, arg(k->loads.at[i], 0));
        if (!root || ir_ask(h->f, root, FACT_SAME) || ir_ask(h->f, root, FACT_OVERLAPS))
            return false;
    }
    return true;
}

/* The slots that v is worth up to end, and its key; 0: it is not kept. */
static int
slots_of(Host *h, const Val *v, int64_t bytes, Lv end, Key *k)
{
    int n = (int)MIN(MIN(MOST, MOST_OF_ALL - h->kept) / bytes, SLOTS);
    if (h->c->opt.check_bounds || bytes < LEAST || n < 1)
        return 0;
    h->stamp++;
    if (!add_value(h, k, v) || (end && !add_word(k, end)) || !k->loads.n ||
        !are_apart(h, k))
        return 0;
    for (int i = 0; i < k->n; i++)
        k->word[i] = LLVMGetTypeKind(LLVMTypeOf(k->word[i])) == LLVMPointerTypeKind
                         ? LLVMBuildPtrToInt(h->l->b, k->word[i], h->l->i64, "")
                         : LLVMBuildZExt(h->l->b, k->word[i], h->l->i64, "");
    return n;
}

/* ---- slots ----------------------------------------------------------------------------- */

static Lv
scratch_at(Host *h, int64_t off)
{
    return ll_byte_at(h->l, h->scratch, ll_i64(h->l, off));
}

static Lv
load_word(Host *h, Lv p)
{
    return LLVMBuildLoad2(h->l->b, h->l->i64, p, "");
}

/* The thread's first program forgets n bytes at `at`: before everything else. */
static void
forget_first(Host *h, int64_t at, int64_t n)
{
    Ll *l = h->l;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    if (!h->forget) {
        Lv leaves = LLVMGetBasicBlockTerminator(h->entry);
        LLVMBasicBlockRef start = LLVMGetSuccessor(leaves, 0),
                          look = ll_block(l, "look");
        h->forget = ll_block(l, "forget");
        LLVMSetSuccessor(leaves, 0, look);
        LLVMPositionBuilderAtEnd(l->b, look);
        Lv is_fresh = LLVMBuildICmp(
            l->b, LLVMIntEQ, load_word(h, scratch_at(h, FRESH_AT)), ll_i64(l, 0), "");
        ll_if(l, is_fresh, h->forget, start);
        LLVMBuildStore(l->b, ll_i64(l, 1), scratch_at(h, FRESH_AT));
        LLVMBuildBr(l->b, start);
    }
    LLVMPositionBuilderBefore(l->b, LLVMGetBasicBlockTerminator(h->forget));
    LLVMBuildMemSet(l->b, scratch_at(h, at), LLVMConstNull(l->i8), ll_i64(l, n), 64);
    LLVMPositionBuilderAtEnd(l->b, here);
}

/* The number of this visit, from 0 in each program. */
static Lv
next_visit(Host *h)
{
    Ll *l = h->l;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(l->b);
    Lv slot = host_slot(h, l->i64);
    LLVMPositionBuilderBefore(l->b, LLVMGetBasicBlockTerminator(h->entry));
    LLVMBuildStore(l->b, ll_i64(l, 0), slot);
    LLVMPositionBuilderAtEnd(l->b, here);
    Lv visit = load_word(h, slot);
    LLVMBuildStore(l->b, LLVMBuildAdd(l->b, visit, ll_i64(l, 1), ""), slot);
    return visit;
}

/* Does the record hold this key? */
static Lv
finds(Host *h, const Key *k, Lv record)
{
    Ll *l = h->l;
    Lv same = LLVMBuildICmp(l->b, LLVMIntNE, load_word(h, record), ll_i64(l, 0), "");
    for (int i = 0; i < k->n; i++) {
        Lv old = load_word(h, ll_byte_at(h->l, record, ll_i64(l, 8 * (i + 1))));
        same = LLVMBuildAnd(l->b, same,
                            LLVMBuildICmp(l->b, LLVMIntEQ, old, k->word[i], ""), "");
    }
    return same;
}

/* Does this program keep what it loads? Programs that find their first tile say yes. */
static Lv
keeps(Host *h, Lv misses, Lv is_first, Lv hit)
{
    Ll *l = h->l;
    Lv was = load_word(h, misses);
    Lv more = LLVMBuildAdd(l->b, was, ll_i64(l, 1), "");
    more = ll_intrinsic(l, "llvm.umin", &l->i64, 1, (Lv[]){more, ll_i64(l, PATIENCE)},
                        2);
    Lv now = LLVMBuildSelect(l->b, hit, ll_i64(l, 0), more, "");
    now = LLVMBuildSelect(l->b, is_first, now, was, "");
    LLVMBuildStore(l->b, now, misses);
    return LLVMBuildOr(l->b, is_first,
                       LLVMBuildICmp(l->b, LLVMIntULT, now, ll_i64(l, PATIENCE), ""),
                       "");
}

static void
remember(Host *h, const Key *k, Lv record, Lv is_there)
{
    Ll *l = h->l;
    for (int i = 0; i < k->n; i++)
        LLVMBuildStore(l->b, k->word[i],
                       ll_byte_at(h->l, record, ll_i64(l, 8 * (i + 1))));
    LLVMBuildStore(l->b, LLVMBuildZExt(l->b, is_there, l->i64, ""), record);
}

/* Does a load of an element of operand i take a share of its products that counts? One thread of a Xeon with AVX-512, f32:
 * with 64 rows on the other side 1024^3 took 0.87 of the time, with 128 0.96, with 256 1.00. But 2048^3 took 0.87 with 256,
 * though a column of 2 MB then fills the second cache: a tile is one piece of memory, where the matrix has a row of 1 KB a page. */
static bool
is_dear(const Product *p, int i)
{
    enum { ROWS = 16, TILES = 16 };
    const Type *rt = result(p->o, 0)->type;
    int64_t others = rt->shape[rt->rank - (i ? 2 : 1)];
    return others <= (int64_t)ROWS * p->t.lanes * p->group * (p->has_tiles ? TILES : 1);
}

View
host_put_operand(Host *h, const Product *p, int i, const Val *v, int dim, const Type *t,
                 View w)
{
    /* Where bounds are checked, all that the kernel loads is. */
    Lv end = h->c->opt.check_bounds ? NULL : i ? p->n : p->m;
    Ll *l = h->l;
    int64_t bytes = (ty_numel(t) * elem_info[t->elem].bytes + 63) & ~(int64_t)63;
    Key k = {0};
    int n = is_dear(p, i) ? slots_of(h, v, bytes, end, &k) : 0;
    if (!n) {
        w.buf = host_late_buf(h, p, bytes);
        host_convert_to(h, v, w, t->elem, dim, end);
        return w;
    }
    host_flush(h);
    int64_t records = (8 + (n + 1) * RECORD + 63) & ~63;
    int64_t at =
        host_own_buf(h, records + (n + p->late.turns) * bytes, INT32_MAX)->offset;
    h->kept += (n + p->late.turns) * bytes;
    forget_first(h, at, records);

    Lv visit = next_visit(h), others = ll_i64(l, n), none = ll_i64(l, 0);
    Lv is_first = LLVMBuildICmp(l->b, LLVMIntEQ, visit, none, "");
    Lv slot = ll_intrinsic(l, "llvm.umin", &l->i64, 1, (Lv[]){visit, others}, 2);
    Lv size = ll_i64(l, RECORD), first = scratch_at(h, at + 8);
    Lv hit = finds(h, &k, ll_byte_at(h->l, first, LLVMBuildMul(l->b, slot, size, "")));
    Lv stays_here = LLVMBuildOr(l->b, hit, keeps(h, scratch_at(h, at), is_first, hit),
                                "");
    slot = LLVMBuildSelect(l->b, stays_here, slot, others, "");
    Lv record = ll_byte_at(h->l, first, LLVMBuildMul(l->b, slot, size, ""));
    Lv tile = LLVMBuildMul(l->b, slot, ll_i64(l, bytes), "");
    Lv stays = LLVMBuildICmp(l->b, LLVMIntNE, slot, others, "");
    Lv behind = LLVMBuildSelect(l->b, stays, none, host_late_offset(h, p, bytes), "");
    w.buf = NEW(h->c->arena, Buf);
    w.buf->at = ll_byte_at(h->l, scratch_at(h, at + records),
                           LLVMBuildAdd(l->b, tile, behind, ""));
    w.buf->is_kept = w.buf->is_fixed = true;
    When miss;
    host_when_open(h, &miss, LLVMBuildNot(l->b, hit, ""));
    host_convert_to(h, v, w, t->elem, dim, end);
    host_flush(h);
    remember(h, &k, record, stays);
    host_when_close(h, &miss);
    for (int a = 0; a < h->ahead.n; a++)
        for (int j = 0; j < k.loads.n; j++)
            if (h->ahead.at[a]->load == k.loads.at[j])
                h->ahead.at[a]->is_there = hit;
    return w;
}
