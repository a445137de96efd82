/* cost: what each access of the kernel became, for compiled.report.
 *
 *     line    7  load                  vectors of 16 elements, 64 bytes
 *     line    9  load                  gathers of 16 elements: addresses are not consecutive
 *     line   12  store                 16 elements one by one: addresses are not consecutive
 *     line   15  dot                   fused multiply-adds of f32, tiles of 8 x 32
 *
 * An access may be emitted more than once (a body with masks and one without, a value that
 * is computed again): what differs in nothing is told once.
 */
#include "codegen/host/host.h"

void
host_note(Host *h, const Op *o, Mode m, int lanes)
{
    const Type *t = ty_pointee(h->c, arg(o, 0)->type);
    int bytes = ty_bytes(t);
    bool is_load = o->op == OP_LOAD;
    Note n = {.op = o, .lanes = MAX(lanes, 1), .bytes = bytes, .how = NOTE_ROW};
    if (!is_load && o->op != OP_STORE)
        n.how = m == M_ROW && n.lanes > 1 ? NOTE_ATOMIC_ROW : NOTE_ATOMIC;
    else if (n.lanes == 1)
        n.how = NOTE_ONE;
    else if (m == M_GATHER)
        n.how = host_gathers(h, t) && (is_load || h->has_scatter) ? NOTE_GATHER
                                                                  : NOTE_EACH;
    for (int i = 0; i < h->notes.n; i++) {
        const Note *p = &h->notes.at[i];
        if (p->op->loc == o->loc && p->op->op == o->op && p->how == n.how &&
            p->lanes == n.lanes && p->bytes == n.bytes)
            return;
    }
    PUSH(h->c->arena, &h->notes, n);
}

void
host_note_dot(Host *h, const Op *o, const char *text)
{
    Note n = {.op = o, .how = NOTE_DOT, .text = text};
    for (int i = 0; i < h->notes.n; i++)
        if (h->notes.at[i].op->loc == o->loc && h->notes.at[i].text &&
            !strcmp(h->notes.at[i].text, text))
            return;
    PUSH(h->c->arena, &h->notes, n);
}

static const char *
words(Host *h, const Note *n)
{
    Arena *a = h->c->arena;
    switch (n->how) {
    case NOTE_ONE: return str_printf(a, "one element of %d bytes", n->bytes);
    case NOTE_ROW:
        return str_printf(a, "vectors of %d elements, %d bytes", n->lanes,
                          n->lanes * n->bytes);
    case NOTE_GATHER:
        return str_printf(a, "%s of %d elements: addresses are not consecutive",
                          n->op->op == OP_LOAD ? "gathers" : "scatters", n->lanes);
    case NOTE_EACH:
        return str_printf(a, "%d elements one by one: addresses are not consecutive",
                          n->lanes);
    case NOTE_ATOMIC: return "atomics, one after another";
    case NOTE_ATOMIC_ROW:
        return str_printf(
            a,
            "atomics, one after another; vectors of %d elements where one "
            "thread launches, on one thread",
            n->lanes);
    case NOTE_DOT: return n->text;
    }
    unreachable(h->c);
}

void
host_tell(Host *h)
{
    const Note *row = h->notes.at;
    for (int i = 0; i < h->notes.n; i++) {
        const Op *o = row[i].op;
        ir_report(h->f, o->loc, op_info[o->op].text, words(h, &row[i]));
    }
}
