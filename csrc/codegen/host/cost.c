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

/* An unrolled loop has a Loc for each turn, so places are compared by what they say. */
void
host_note_text(Host *h, const Op *o, const char *text)
{
    Arena *a = h->c->arena;
    const Loc *at = loc_user(o->loc);
    const char *key = str_printf(a, "%s:%d:%d %s %s", at ? at->file : "",
                                 at ? at->line : 0, at ? at->col : 0,
                                 op_info[o->op].text, text);
    h->notes.a = a;
    if (map_get(&h->notes, key, strlen(key)))
        return;
    Note *n = NEW(a, Note);
    *n = (Note){.op = o, .text = text};
    map_put(&h->notes, key, strlen(key), n);
}

void
host_note(Host *h, const Op *o, Mode m, int lanes)
{
    Arena *a = h->c->arena;
    const Type *t = ty_pointee(h->c, arg(o, 0)->type);
    int bytes = ty_bytes(t);
    bool is_load = o->op == OP_LOAD, is_atomic = !is_load && o->op != OP_STORE;
    const char *text = "atomics, one after another";
    if (is_atomic && m == M_ROW && lanes > 1)
        text = str_printf(a,
                          "%s; vectors of %d elements where one thread launches, on "
                          "one thread",
                          text, lanes);
    else if (!is_atomic && lanes <= 1)
        text = str_printf(a, "one element of %d bytes", bytes);
    else if (!is_atomic && m == M_STRIDE)
        text = str_printf(
            a, "vectors of %d elements, shuffled out of rows or into some", lanes);
    else if (!is_atomic && m != M_GATHER)
        text = str_printf(a, "vectors of %d elements, %d bytes", lanes, lanes * bytes);
    else if (!is_atomic)
        text = str_printf(a, "%s: addresses are not consecutive",
                          !host_gathers(h, t) || !(is_load || h->has_scatter)
                              ? str_printf(a, "%d elements one by one", lanes)
                              : str_printf(a, "%s of %d elements",
                                           is_load ? "gathers" : "scatters", lanes));
    host_note_text(h, o, text);
}

void
host_tell(Host *h)
{
    for (int i = 0; i < h->notes.n; i++) {
        const Note *n = h->notes.slot[i].val;
        ir_report(h->f, n->op->loc, op_info[n->op->op].text, n->text);
    }
}
