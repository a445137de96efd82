/* place: shared memory of an op (SharedPlace, ir.h), made, printed and read.
 *
 *     shared(at=1024, bytes=512, wait=free|written)    its bytes, and where threads wait
 *     shared(at=0, bytes=64, wait=written, by=warp)    ... only for those of their warp
 *     shared(at=0, bytes=64, mbar=64)                  an exchange of a cluster, which has an
 *                                                      mbarrier at 64 instead
 */
#include "ir/parse.h"

enum { MBAR_BYTES = 8, MOST = 1 << 29 }; /* MOST: offsets and sizes that text may say */

static const char *const wait_words[] = {"free", "written", "combined", "read"};

SharedPlace *
ir_place(Op *o, int at, int bytes)
{
    o->place = NEW(o->block->func->c->arena, SharedPlace);
    *o->place = (SharedPlace){.at = at, .bytes = bytes, .mbar = -1};
    return o->place;
}

void
place_print(Sb *sb, const SharedPlace *k)
{
    sb_printf(sb, "shared(at=%d, bytes=%d", k->at, k->bytes);
    const char *before = ", wait=";
    for (size_t i = 0; i < COUNT(wait_words); i++)
        if (k->waits >> i & 1) {
            sb_printf(sb, "%s%s", before, wait_words[i]);
            before = "|";
        }
    if (k->by_warp)
        sb_put(sb, ", by=warp");
    if (k->mbar >= 0)
        sb_printf(sb, ", mbar=%d", k->mbar);
    sb_put(sb, ")");
}

static int
parse_waits(Parser *p)
{
    int waits = 0;
    do {
        Name w = tok_word(p, "what is waited for");
        size_t i = 0;
        while (i < COUNT(wait_words) && !tok_is(w, wait_words[i]))
            i++;
        if (i == COUNT(wait_words)) {
            p->at = w.at;
            fail(p, "nobody waits for '%.*s'", (int)w.n, w.at);
        }
        waits |= 1 << i;
    } while (tok_accept(p, "|"));
    return waits;
}

SharedPlace *
parse_place(Parser *p)
{
    SharedPlace *k = NEW(p->c->arena, SharedPlace);
    k->mbar = -1;
    tok_expect(p, "(");
    do {
        Name w = tok_word(p, "at, bytes, wait, by or mbar");
        tok_expect(p, "=");
        int *number = tok_is(w, "at")      ? &k->at
                      : tok_is(w, "bytes") ? &k->bytes
                      : tok_is(w, "mbar")  ? &k->mbar
                                           : NULL;
        if (number) {
            *number = (int)tok_integer(p, 0, MOST);
        } else if (tok_is(w, "wait")) {
            k->waits = parse_waits(p);
        } else if (tok_is(w, "by") && tok_accept_word(p, "warp")) {
            k->by_warp = true;
        } else {
            p->at = w.at;
            fail(p, "'%.*s' says nothing of a place", (int)w.n, w.at);
        }
    } while (tok_accept(p, ","));
    tok_expect(p, ")");
    return k;
}

static int
end_of_places(const Block *b)
{
    int end = 0;
    EACH_OP(o, b)
        if (o->place)
            end = MAX(end, MAX(o->place->at + o->place->bytes,
                               o->place->mbar < 0 ? 0 : o->place->mbar + MBAR_BYTES));
    return end;
}

int
ir_shared_bytes(const Func *f)
{
    return end_of_places(f->body);
}
