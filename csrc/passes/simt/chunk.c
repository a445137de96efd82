/* chunk: blocks of more registers than a thread has become loops over slices.
 *
 *     %x = load %p : f32[32768]         for %i = 0 to 8 step 1 {
 *     %y = exp %x : f32[32768]            %x = load .. : f32[4096]
 *     store %q, %y                 =>     %y = exp %x : f32[4096]
 *                                         store .., %y
 *                                       }
 *
 * A slice is a block like any other, of the same layout with fewer registers, so nothing behind
 * this pass knows of slices but local_load and local_store, which bring what a later loop
 * needs and cannot or should not compute again. chunk_dims.c chooses the dims to cut along,
 * chunk_levels.c the loop for each op, chunk_loops.c what is kept, and it builds the loops.
 *
 * Results that lanes part between them (reduced_layouts.c) are moved to be so where that helps to cut.
 *
 * A kernel of MAX_WORDS words or more would take ptxas minutes to spill as straight code. There what
 * loops carry goes to local memory before it is cut (chunk_carried.c). Where one big value cannot
 * be cut (a gather goes along every dim, a product takes it), moves, reductions and scans are cut each by itself,
 * and then all others: what they take and give goes through local memory. What no slices are made of is loaded as a
 * whole, and gathers and prints read it piece by piece (codegen/simt/pieces.c).
 *
 * Not where it carries few words and the rest is loaded and computed piece by piece, as the assembler has it:
 * sums of a divergence by 4096 and one warp, which a loop carries, are 128 registers, and took 3.5 times as long as
 * Triton's from local memory (H100).
 */
#include "passes/simt/chunk.h"
#include "passes/simt/layouts.h"
#include "passes/tile/tiles.h"

enum {
    CUT_WORDS = 240,    /* of a thread's 255 registers: from here on some would spill */
    MAX_WORDS = 1 << 9, /* from here on: see codegen/simt/README.md */
    MOST_LEAST = 320,   /* piece by piece: a few spill, all would lie in local memory */
    MAX_DOT_WORDS = 1 << 10,     /* the same of what has products: accumulators stay */
    MAX_STRAIGHT_CODE = 1 << 17, /* sorts: few words live, and thousands are made */
    MAX_WHOLE = 1 << 10,         /* registers of what no slices are made of */
};

static bool
has_dot(const Block *b)
{
    EACH_CONTROL_OP(o, b)
        if (o->op == OP_DOT || o->op == OP_MMA_START)
            return true;
    return false;
}

static int
most_register_bits(const Block *b)
{
    int most = 0;
    EACH_CONTROL_OP(o, b)
        for (int i = 0; i < o->n_results; i++)
            if (has_many_registers(result(o, i)))
                most = MAX(most, result(o, i)->type->layout->n[IN_REG]);
    return most;
}

static bool
is_one_loop(const Cut *k)
{
    for (int i = 0; i < k->steps.n; i++)
        if (k->steps.at[i]->is_cut && k->steps.at[i]->level)
            return false;
    return true;
}

/* Slices of 32 registers or, where a dim has no bits for so many slices, of 64; where any bits do, of 128. as_one_loop: or
 * none. */
static bool
cut(Func *f, bool as_one_loop, Slack slack)
{
    int most = most_register_bits(f->body) - MAX_CHUNK_BITS;
    for (int log2 = MIN(most, LOG2_SLICES);
         log2 > 0 && log2 >= most - 1 - (slack == SLACK_BITS); log2--) {
        Cut k = {.f = f, .c = f->c, .a = f->c->arena, .slack = slack, .log2 = log2};
        k.step_of.a = k.a;
        if (!chunk_dims(&k))
            continue;
        chunk_levels(&k);
        if (as_one_loop && !is_one_loop(&k))
            return false;
        chunk_loops(&k);
        return true;
    }
    return false;
}

/* With rows of few registers as the blocks beside them want them. */
static bool
cut_rows(Func *f)
{
    bool is_relaid = chunk_relaid(f);
    return (chunk_carried(f, true) || is_relaid) && cut(f, false, SLACK_NONE);
}

static bool
cut_anyhow(Func *f)
{
    return cut(f, false, SLACK_NONE) || (cut_rows(trial_copy(f)) && cut_rows(f)) ||
           cut(f, false, SLACK_BITS);
}

/* What can be cut by itself, in slices of 32 registers or of 64; of more, where it only moves. */
static void
cut_parts(Func *f, Slack slack)
{
    int most = most_register_bits(f->body) - MAX_CHUNK_BITS;
    for (int log2 = MIN(most, LOG2_SLICES); log2 > 0; log2--) {
        Cut k = {.f = f, .c = f->c, .a = f->c->arena, .slack = slack, .log2 = log2};
        k.step_of.a = k.a;
        if (!chunk_dims(&k))
            continue;
        chunk_levels(&k);
        chunk_loops(&k);
    }
}

static bool
is_along(Func *f, const Op *o)
{
    (void)f;
    return (o->op == OP_SCAN || o->op == OP_REDUCE) && chunk_is_simple(o);
}

/* Operands, then results. */
static const Val *
value_of(const Op *o, int i)
{
    return i < o->n_args ? arg(o, i) : result(o, i - o->n_args);
}

/* It has big values that are not made where they are asked for; slices of many registers, which loops move, are none. */
static bool
is_left(Func *f, const Op *o)
{
    const Op *loop = o->block->owner;
    bool is_slice = loop && loop->op == OP_FOR && ir_attr(loop, ATTR_SLICES),
         any = false;
    for (int i = 0; i < o->n_args + o->n_results; i++)
        any |= has_many_registers(value_of(o, i)) &&
               (is_streamed(o) || !chunk_is_made_anywhere(f, value_of(o, i)));
    return any && !is_slice && !op_has(o, OPF_CONTROL | OPF_TERM) && !chunk_is_local(o);
}

/* What takes or gives a big value as a whole is an instruction a register, and more: over thousands in a row ptxas
 * takes minutes. */
static void
check_whole(Func *f)
{
    EACH_CONTROL_OP(o, f->body)
        for (int i = 0; i < o->n_args + o->n_results && is_left(f, o); i++) {
            const Val *v = value_of(o, i);
            int n = has_many_registers(v) ? 1 << v->type->layout->n[IN_REG] : 0;
            if (n > MAX_WHOLE && !streamed_from(v) && !streamed_to(v))
                err_at(f->c, o->loc, RESOURCES, "registers of a thread", (long long)n,
                       (long long)MAX_WHOLE);
        }
}

/* ---- results that lanes part --------------------------------------------------------- */

typedef struct Parted {
    Val *v;
    const Type *type;
    Op *move; /* NULL: nobody wants it so */
} Parted;
typedef VEC(Parted) Parts;

/* Reductions of big blocks are taken slice by slice or chunk by chunk, and give all results to every lane, which a
 * move parts (reduced_layouts.c). Who moved them back has what is whole. */
static void
have_whole(Func *f, Parts *parts)
{
    EACH_OP(o, f->body)
        for (int i = 0; o->op == OP_REDUCE && i < o->n_results; i++) {
            Val *v = result(o, i);
            const Type *t = v->type, *x = arg(o, 0)->type;
            int axis = (int)ir_attr(o, ATTR_AXIS);
            if (!t->rank || !has_many_registers(arg(o, 0)) ||
                t->layout != axis_parted(f->c, x->layout, axis))
                continue;
            Build b = ir_behind(o);
            v->type = ty_with_layout(f->c, t, layouts_slice(f->c, x->layout, axis));
            Val *parted = ir_op1(&b, OP_CONVERT, 1, &v, t);
            ir_replace(v, parted);
            ir_set_arg(parted->def, 0, v);
            for (Use *u = parted->uses, *next; u; u = next) {
                next = u->next;
                if (u->user->op != OP_CONVERT || result(u->user, 0)->type != v->type)
                    continue;
                ir_replace(result(u->user, 0), v);
                ir_erase(u->user);
            }
            Op *move = parted->uses ? parted->def : NULL;
            if (!move)
                ir_erase(parted->def);
            PUSH(f->c->arena, parts, ((Parted){v, t, move}));
        }
}

static void
have_parted(Func *f, Parts *parts)
{
    for (int i = 0; i < parts->n; i++) {
        Parted *p = &parts->at[i];
        Build b = ir_behind(p->v->def);
        Val *whole = ir_op1(&b, OP_CONVERT, 1, &p->v, p->v->type);
        p->v->type = p->type;
        ir_replace(p->v, whole);
        ir_set_arg(whole->def, 0, p->v);
        if (p->move)
            ir_replace(result(p->move, 0), p->v);
    }
    ir_drop_unused(f->body, true);
}

/* ---- moves through more shared memory than there is ---------------------------------- */

static bool
has_register(const Layout *l, Col basis)
{
    for (int i = 0; i < l->n[IN_REG]; i++)
        if (l->basis[IN_REG][i] == basis)
            return true;
    return false;
}

/* `to`, but n bits more that are registers of `from` are registers; NULL: there are none. */
static const Layout *
between(Comp *c, const Layout *from, const Layout *to, int n)
{
    Layout l = *to;
    int r = l.n[IN_REG];
    for (int in = IN_LANE; in <= IN_WARP; in++)
        for (int i = 0; i < l.n[in] && n > 0; i++) {
            Col x = l.basis[in][i];
            if (!x || !has_register(from, x))
                continue;
            do
                r--;
            while (r >= 0 && has_register(from, l.basis[IN_REG][r]));
            if (r < 0)
                return NULL;
            l.basis[in][i] = l.basis[IN_REG][r], l.basis[IN_REG][r] = x;
            n--;
        }
    return n > 0 ? NULL : layout_intern(c, &l);
}

/* Such a move is cut by bits that are registers before and behind it. Where those are too few, as in a transposition,
 * it becomes two. */
static bool
halve_large_moves(Func *f)
{
    int room = shared_memory_limit(&f->c->opt.target);
    bool any = false;
    EACH_CONTROL_OP(o, f->body) {
        int64_t bytes = o->op == OP_CONVERT ? scratch_of(f, o, room).bytes : 0;
        if (bytes <= room)
            continue;
        const Layout *from = arg(o, 0)->type->layout, *to = result(o, 0)->type->layout;
        int n = 0;
        while (bytes >> n > room)
            n++;
        for (int i = 0; i < to->n[IN_REG]; i++)
            n -= has_register(from, to->basis[IN_REG][i]);
        const Layout *l = n > 0 ? between(f->c, from, to, n) : NULL;
        Build b = ir_before(o);
        if (l)
            ir_set_arg(o, 0,
                       ir_op1(&b, OP_CONVERT, 1, &o->args[0].v,
                              ty_with_layout(f->c, arg(o, 0)->type, l)));
        any = true;
    }
    return any;
}

void
pass_chunk(Func *f)
{
    Parts parts = {0};
    check_threads(f);
    bool has_acc = has_dot(f->body);
    int64_t words = most_live_words(f);
    /* Less than MAX_WORDS are not worth loading twice on an H200: softmax_backward of rows of 4096
     * by 1 warp ran at 0.67 of Triton's speed. Before there were clusters for long rows, such code
     * spills: softmax of 32768 by 4 warps. Nor is what a thread nearly holds once the assembler
     * computes it piece by piece: bisection for top-p over rows of 32768 f32 by 4 warps takes 104 us
     * with 484 bytes spilled, and 516 from local memory. */
    bool as_one_loop = (words < MAX_WORDS || least_words(f) <= MOST_LEAST) &&
                       f->c->opt.target.sm >= 90;
    if (words >= CUT_WORDS && !has_acc && !f->log2_ctas) {
        have_whole(f, &parts);
        if (cut(f, as_one_loop, SLACK_NONE))
            return;
        have_parted(f, &parts);
    }
    bool is_much = words >= (has_acc ? MAX_DOT_WORDS : MAX_WORDS);
    if (!halve_large_moves(f) &&
        !(is_much &&
          (has_acc || words > 2 * MAX_WORDS || least_words(f) > MOST_LEAST)) &&
        code_size(f, f->body, INT32_MAX) < (has_acc ? MAX_CODE : MAX_STRAIGHT_CODE))
        return;
    have_whole(f, &parts);
    chunk_carried(f, false);
    if (!has_acc && !f->log2_ctas && cut_anyhow(f))
        return;
    chunk_apart(f, chunk_is_move, true);
    cut_parts(f, SLACK_WHOLE);
    cut_parts(f, SLACK_MOVES);
    chunk_apart(f, is_along, false);
    cut_parts(f, SLACK_WHOLE);
    chunk_apart(f, is_along, true);
    cut_parts(f, SLACK_WHOLE);
    pass_dce(f); /* whole blocks that only slices are left of */
    chunk_apart(f, is_left, true);
    cut_parts(f, SLACK_WHOLE);
    chunk_forward(f);
    check_whole(f);
}
