/* report: lines for compiled.report, what a kernel costs that its source does not show.
 *
 *     line  21  padding               blocks of [96] are padded to [128]: 25% of ..
 *     line  22  reduce                5 shuffles, 1 barrier
 *
 * A pass or a lowering adds what it knows; nothing is ever read back.
 */
#include "ir/ir.h"

void
ir_report(Func *f, const Loc *at, const char *what, const char *text)
{
    Sb *out = &f->report;
    out->a = f->c->arena;
    at = loc_user(at);
    sb_printf(out, "line %4d  %-20s  %s", at ? at->line : 0, what, text);
    if (at && f->loc && at->file != f->loc->file)
        sb_printf(out, "  (%s)", at->file);
    sb_put(out, "\n");
}
