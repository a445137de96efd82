/* ahead: while a product runs, what the next turn of its loop multiplies comes into the cache.
 *
 *     for k:                                          rows[i] = the address of row i of a
 *         scratch = a, b                     =>       for tiles, for k:
 *         for tiles, for k: multiply                      every few steps, one line more:
 *                                                             prefetch rows[line / ..] + step
 *                                                         multiply
 *
 * A block of a matrix is short pieces of many rows, each on a page of its own, so the CPU's own
 * prefetchers see nothing to follow: the loads of the next block waited for each line in turn.
 * Meanwhile the product needs neither memory nor the second cache.
 *
 * The nest that loads an operand notes where each row was; a turn moves all of them by one distance,
 * which is a sum of scalars (step_of). So any pointers will do, of rows that wrap or were loaded too.
 *
 * Rule 1: these are hints. What is beyond a tensor, or masked off, may be fetched: no fault
 *         comes of it. The last turn fetches what it has, but of a loop inside another one what
 *         would come next: sums of sums go on there (`acc += part` every 128 products).
 * Rule 2: into the second cache. The first one holds what is multiplied.
 * Rule 3: pieces of rows up to LONGEST. A CPU's own prefetchers follow longer ones: f32 of 2048^3 in blocks of
 *         256^3 by two threads of a Xeon was slower in six of seven series with this, and blocks of 64^3 were
 *         faster by a quarter.
 * Rule 4: not where AMX multiplies (tiles.c), which takes a sixth of the time: there is less to fetch
 *         behind, and bf16 of 2048^3 by two threads of a Xeon took 16.3 ms with it and 12.7 without.
 */
#include "codegen/host/dot.h"

enum {
    LINE = 64,    /* bytes */
    MOST = 32,    /* lines of one load at one visit */
    LONGEST = 512 /* bytes */
};

/* ---- what a turn adds ------------------------------------------------------------------ */

/* All elements of v are this, which is there before the loop: i64, or NULL. */
static Lv
uniform(Host *h, const Val *v, const Block *body)
{
    int64_t c;
    if (ir_const_as_int(v, &c))
        return ll_i64(h->l, c);
    while (v->def && (op_is_through(v->def) || v->def->op == OP_SPLAT))
        v = arg(v->def, 0);
    if (v->type->rank || v->type->is_ptr || v->block == body || !host_is_ready(h, v))
        return NULL;
    return cg_cast(h->l, v->type->elem, E_I64, host_scalar(h, v), ROUND_RTNE);
}

/* The elements or pointers v move by from turn to turn, all by the same: i64; NULL: they do not
 * do that, or nobody knows. */
static Lv step_of(Host *h, const Val *v, const Op *loop);

/* Of a value that the loop carries. */
static Lv
step_of_carried(Host *h, const Val *v, const Op *loop)
{
    const Block *body = loop->regions[0];
    if (v == body->args[0])
        return uniform(h, arg(loop, 2), body);
    Lv sum = ll_i64(h->l, 0);
    int i = 1;
    while (body->args[i] != v)
        i++;
    for (const Val *x = arg(body->last, i - 1); x != v; x = arg(x->def, 0)) {
        if (!x->def || (x->def->op != OP_ADDPTR && x->def->op != OP_ADD))
            return NULL;
        Lv more = uniform(h, arg(x->def, 1), body);
        if (!more)
            return NULL;
        sum = LLVMBuildAdd(h->l->b, sum, more, "");
    }
    return sum;
}

static Lv
step_of(Host *h, const Val *v, const Op *loop)
{
    LLVMBuilderRef b = h->l->b;
    const Block *body = loop->regions[0];
    if (v->block != body)
        return ll_i64(h->l, 0);
    const Op *o = v->def;
    if (!o)
        return step_of_carried(h, v, loop);
    if (op_is_through(o) || o->op == OP_SPLAT || o->op == OP_KEEP)
        return step_of(h, arg(o, 0), loop);
    if (o->op == OP_CAST)
        return elem_is_float(v->type->elem) ? NULL : step_of(h, arg(o, 0), loop);
    bool is_sum = o->op == OP_ADD || o->op == OP_ADDPTR, is_product = o->op == OP_MUL;
    if (!is_sum && !is_product && o->op != OP_SUB)
        return NULL;
    if (elem_is_float(v->type->elem) && !v->type->is_ptr)
        return NULL;
    if (is_product) {
        Lv factor = uniform(h, arg(o, 1), body), step = NULL;
        if (factor)
            step = step_of(h, arg(o, 0), loop);
        else if ((factor = uniform(h, arg(o, 0), body)))
            step = step_of(h, arg(o, 1), loop);
        return step ? LLVMBuildMul(b, step, factor, "") : NULL;
    }
    Lv x = step_of(h, arg(o, 0), loop), y = step_of(h, arg(o, 1), loop);
    if (!x || !y)
        return NULL;
    return is_sum ? LLVMBuildAdd(b, x, y, "") : LLVMBuildSub(b, x, y, "");
}

/* ---- what is loaded -------------------------------------------------------------------- */

static void
add_load(Host *h, const Op *dot, const Op *load)
{
    Ll *l = h->l;
    const Op *loop = dot->block->owner;
    const Type *t = result(load, 0)->type;
    for (int i = 0; i < h->ahead.n; i++)
        if (h->ahead.at[i]->load == load)
            return;
    Lv step = t->rank > 1 ? step_of(h, arg(load, 0), loop) : NULL;
    if (!step || t->is_ptr ||
        (LLVMIsAConstantInt(step) && !LLVMConstIntGetSExtValue(step)))
        return; /* or it stays where it is */
    Ahead *a = NEW(h->c->arena, Ahead);
    a->load = load;
    int least = MIN(t->shape[t->rank - 1], t->shape[t->rank - 2]);
    a->rows = host_buf(h, ty_numel(t) / least * 8, host_pos(h, dot));
    step = LLVMBuildMul(l->b, step, ll_i64(l, ty_bytes(t)), "");
    a->step = step;
    if (!loop->block->owner) {
        Lv is_last = LLVMBuildICmp(l->b, LLVMIntEQ, h->turns_left, ll_i64(l, 1), "");
        a->step = LLVMBuildSelect(l->b, is_last, ll_i64(l, 0), step, "");
    }
    PUSH(h->c->arena, &h->ahead, a);
}

static void
find_loads(Host *h, const Op *dot, const Val *v)
{
    if (v->block != dot->block || !host_visits(h, v))
        return;
    if (v->def->op == OP_LOAD) {
        add_load(h, dot, v->def);
        return;
    }
    for (int i = 0; i < v->def->n_args; i++)
        find_loads(h, dot, arg(v->def, i));
}

void
host_look_ahead(Host *h, const Op *dot)
{
    const Op *loop = dot->block->owner;
    h->ahead.n = 0;
    if (!loop || loop->op != OP_FOR)
        return;
    h->stamp++;
    find_loads(h, dot, arg(dot, 0));
    find_loads(h, dot, arg(dot, 1));
}

static Lv
row_at(Host *h, const Ahead *a, Lv row)
{
    Ll *l = h->l;
    Lv at = LLVMBuildAdd(l->b, LLVMBuildMul(l->b, row, ll_i64(l, 8), ""),
                         ll_i64(l, a->rows->offset), "");
    return ll_byte_at(l, h->scratch, at);
}

void
host_note_row(Host *h, const Group *g, const Node *n, Lv p)
{
    Ll *l = h->l;
    const Type *t = n->v->type;
    Ahead *a = NULL;
    for (int i = 0; i < h->ahead.n; i++)
        if (h->ahead.at[i]->load == n->v->def)
            a = h->ahead.at[i];
    if (!a || n->mode != M_ROW)
        return;
    int along = t->rank - 1;
    if (n->map.at[along] != g->vec && n->map.at[--along] != g->vec)
        return;
    int64_t bytes = (int64_t)t->shape[along] * ty_bytes(t);
    if (bytes > LONGEST)
        return;
    Lv row = ll_i64(l, 0);
    for (int d = 0; d < t->rank; d++) {
        if (d == along || t->shape[d] == 1)
            continue; /* what is loaded before the loop of a dim of one has no index of it */
        row = LLVMBuildMul(l->b, row, ll_i64(l, t->shape[d]), "");
        if (n->map.at[d] != NO_DIM)
            row = LLVMBuildAdd(l->b, row, g->index[n->map.at[d]], "");
    }
    LLVMBuildStore(l->b, p, row_at(h, a, row));
    a->n_rows = ty_numel(t) / t->shape[along];
    a->row_bytes = bytes;
    a->behind = a->row_bytes - (int64_t)g->lanes * ty_bytes(t);
    a->is_noted = true;
}

/* ---- fetching -------------------------------------------------------------------------- */

static int64_t
lines_of_row(const Ahead *a)
{
    return MAX(a->row_bytes / LINE, 1);
}

int64_t
host_ahead_lines(const Host *h)
{
    int64_t n = 0;
    for (int i = 0; i < h->ahead.n; i++)
        if (h->ahead.at[i]->is_noted)
            n = MAX(n, h->ahead.at[i]->n_rows * lines_of_row(h->ahead.at[i]));
    return n;
}

void
host_start_ahead(Host *h)
{
    Ll *l = h->l;
    for (int i = 0; i < h->ahead.n; i++) {
        h->ahead.at[i]->next = host_slot(h, l->i64);
        LLVMBuildStore(l->b, ll_i64(l, 0), h->ahead.at[i]->next);
    }
}

/* n lines of one row, from `line` on, of all lines of so many turns. */
static void
fetch(Host *h, const Ahead *a, Lv line, int64_t n, int turns)
{
    enum { FOR_READING, SECOND_CACHE = 2, DATA = 1 };
    Ll *l = h->l;
    int64_t of_row = lines_of_row(a), of_turn = a->n_rows * of_row;
    Lv last = ll_i64(l, turns * of_turn - n), per_row = ll_i64(l, of_row);
    line = ll_intrinsic(l, "llvm.umin", &l->i64, 1, (Lv[]){line, last}, 2);
    Lv turn = ll_i64(l, 1);
    if (turns > 1) {
        turn = LLVMBuildUDiv(l->b, line, ll_i64(l, of_turn), "");
        turn = LLVMBuildAdd(l->b, turn, ll_i64(l, 1), "");
        line = LLVMBuildURem(l->b, line, ll_i64(l, of_turn), "");
    }
    Lv row = LLVMBuildUDiv(l->b, line, per_row, "");
    Lv col = LLVMBuildURem(l->b, line, per_row, "");
    Lv p = LLVMBuildLoad2(l->b, l->ptr, row_at(h, a, row), "");
    Lv way = LLVMBuildMul(l->b, col, ll_i64(l, LINE), "");
    way = LLVMBuildAdd(l->b, way, LLVMBuildMul(l->b, a->step, turn, ""), "");
    p = ll_byte_at(l, p, way);
    for (int64_t i = 0; i < n; i++) {
        Lv at = ll_byte_at(l, p, ll_i64(l, i * LINE - a->behind));
        ll_intrinsic(l, "llvm.prefetch", &l->ptr, 1,
                     (Lv[]){at, ll_i32(l, FOR_READING), ll_i32(l, SECOND_CACHE),
                            ll_i32(l, DATA)},
                     4);
    }
}

void
host_fetch_ahead(Host *h, int64_t visits, int turns)
{
    Ll *l = h->l;
    for (int i = 0; i < h->ahead.n; i++) {
        const Ahead *a = h->ahead.at[i];
        if (!a->is_noted)
            continue;
        When loads;
        if (a->is_there)
            host_when_open(h, &loads, LLVMBuildNot(l->b, a->is_there, ""));
        int64_t of_row = lines_of_row(a), n = 1; /* powers of two, as blocks' sides */
        while (n < MOST && n * visits < a->n_rows * of_row)
            n *= 2;
        Lv first = LLVMBuildLoad2(l->b, l->i64, a->next, "");
        for (int64_t k = 0; k < n; k += MIN(n, of_row))
            fetch(h, a, LLVMBuildAdd(l->b, first, ll_i64(l, k), ""), MIN(n, of_row),
                  turns);
        LLVMBuildStore(l->b, LLVMBuildAdd(l->b, first, ll_i64(l, n), ""), a->next);
        if (a->is_there)
            host_when_close(h, &loads);
    }
}
