/* carry: big values that go round loops and come out of ifs.
 *
 * A value in registers becomes a phi for each of them. A big one is copied, chunk by chunk:
 * before a loop into the place of what it is inside; at the end of the body what comes next
 * goes there; behind the loop the place has another name. Of an if each branch copies into
 * the place of the result.
 *
 * At the end of a body all operands are read before anything is written, as in
 *
 *     yield %b, %a          %next0 = %b; %next1 = %a; %a = %next0; %b = %next1
 *
 * unless each is made of nothing carried but the same register of itself (a sum).
 */
#include "codegen/simt/local.h"

/* ---- copies --------------------------------------------------------------------------- */

/* Do both lie in one place? The arguments of a while's body are other names for its test's. */
static bool
is_same(const Sim *s, const Val *a, const Val *b)
{
    Lv place = s->local->home[a->id];
    return a == b || (place && place == s->local->home[b->id]);
}

static void
copy_big(Sim *s, const Val *to, const Val *from)
{
    if (is_same(s, to, from))
        return;
    Chunks c = sim_chunks(s, to->type->layout->n[IN_REG], 0, 0);
    sim_chunk_keep(s, &c, to, sim_chunk(s, &c, from));
    sim_chunks_end(s, &c);
    sim_forget(s);
}

void
sim_carry_in(Sim *s, Val *const *to, int n, const Op *o, int first)
{
    for (int i = 0; i < n; i++)
        if (is_big(s->f, to[i]))
            copy_big(s, to[i], arg(o, first + i));
}

void
sim_carry_same(Sim *s, const Val *to, const Val *from)
{
    if (!sim_is_made_again(s, from))
        s->local->home[to->id] = sim_local_home(s, from);
    else
        copy_big(s, to, from);
}

/* ---- the end of a body ------------------------------------------------------------------ */

/* How v is made of `carried`, through what has no place of its own. */
typedef enum Reach { NOT_AT_ALL, ELEMENT_BY_ELEMENT, SOMEHOW } Reach;

static Reach
reach(const Sim *s, const Val *v, const Val *carried)
{
    if (is_same(s, v, carried))
        return ELEMENT_BY_ELEMENT;
    if (!sim_is_made_again(s, v))
        return NOT_AT_ALL;
    Reach most = NOT_AT_ALL;
    for (int i = 0; i < v->def->n_args; i++) {
        Reach r = reach(s, arg(v->def, i), carried);
        if (r && !op_has(v->def, OPF_ELEM))
            r = SOMEHOW;
        most = MAX(most, r);
    }
    return most;
}

/* May the operands of o go to their places one after the other? */
static bool
is_in_place(const Sim *s, Val *const *to, int n, const Op *o)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            if (!is_big(s->f, to[i]) || !is_big(s->f, to[j]))
                continue;
            Reach r = reach(s, arg(o, i), to[j]);
            if (r == SOMEHOW || (r && i != j))
                return false;
        }
    return true;
}

/* Registers of a chunk to or from an array that is laid out as v's place. */
static Lv *
chunk_of(Sim *s, Chunks *c, const Val *v, Lv array, Lv *regs)
{
    Col col[MAX_BITS];
    Lv *r = regs ? regs : NEW_N(s->a, Lv, sim_n_regs(v));
    for (int i = 0; i < c->n; i++)
        col[i] = (Col)1 << c->bit[i];
    Lv base = sim_counted(s, c, col);
    for (int i = 0; i < sim_n_regs(v); i++) {
        if ((uint32_t)i & ~c->regs)
            continue;
        Lv at = LLVMBuildNUWAdd(s->l->b, base, ll_i32(s->l, i), "");
        if (regs)
            sim_local_store(s, v->type, array, at, r[i]);
        else
            r[i] = sim_local_load(s, v->type, array, at);
    }
    return r;
}

void
sim_carry_on(Sim *s, Val *const *to, int n, const Op *o)
{
    if (is_in_place(s, to, n, o)) {
        sim_carry_in(s, to, n, o, 0);
        return;
    }
    Lv *next = NEW_N(s->a, Lv, n);
    for (int i = 0; i < n; i++) {
        if (!is_big(s->f, to[i]) || is_same(s, arg(o, i), to[i]))
            continue;
        Chunks c = sim_chunks(s, to[i]->type->layout->n[IN_REG], 0, 0);
        next[i] = sim_local_array(s, to[i]->type, sim_n_regs(to[i]));
        chunk_of(s, &c, to[i], next[i], sim_chunk(s, &c, arg(o, i)));
        sim_chunks_end(s, &c);
        sim_forget(s);
    }
    for (int i = 0; i < n; i++) {
        if (!next[i])
            continue;
        Chunks c = sim_chunks(s, to[i]->type->layout->n[IN_REG], 0, 0);
        sim_chunk_keep(s, &c, to[i], chunk_of(s, &c, to[i], next[i], NULL));
        sim_chunks_end(s, &c);
        sim_local_free(s, next[i]);
    }
}
