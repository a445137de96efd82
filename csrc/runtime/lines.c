/* lines: where a kernel reads and writes memory, for the message that its process dies with.
 *
 *     k.py:12
 *     k.py:12, 15 or 31
 *
 * Machine code for CPUs does not say which line an instruction is for. What it may be is known:
 * the lines of the loads, or of the stores, and a processor says which of the two it was at. Most
 * kernels have one store.
 */
#include "runtime/launch.h"

#include <stdlib.h>

enum { MOST = 6 };
typedef struct Lines {
    const Loc *at[MOST];
    int n;
    bool has_more;
} Lines;

static void
add(Lines *l, const Loc *at)
{
    for (int i = 0; i < l->n; i++)
        if (l->at[i]->line == at->line && !strcmp(l->at[i]->file, at->file))
            return;
    l->has_more |= l->n == MOST;
    if (l->n < MOST)
        l->at[l->n++] = at;
}

static void
collect(Lines *l, const Block *b, bool stores)
{
    EACH_OP(o, b) {
        bool loads = o->op == OP_LOAD || o->op == OP_TILE_LOAD;
        const Loc *at = loc_user(o->loc);
        if ((op_is_access(o) || op_is_tile(o)) && loads != stores && at && at->file)
            add(l, at);
    }
}

static const char *
base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? slash + 1 : file;
}

/* Appends as printf does, as far as there is room. */
static PRINTF_LIKE(3, 4) void append(char *text, size_t size, const char *fmt, ...)
{
    size_t n = strlen(text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + n, size - n, fmt, ap);
    va_end(ap);
}

char *
lines_text(const Func *f, bool stores)
{
    char text[160] = "";
    Lines l = {.n = 0};
    collect(&l, f->body, stores);
    for (int i = 0; i < l.n; i++) {
        const char *between = !i ? "" : i < l.n - 1 || l.has_more ? ", " : " or ";
        bool same = i && !strcmp(l.at[i]->file, l.at[i - 1]->file);
        append(text, sizeof text, "%s%s%s%d", between,
               same ? "" : base_name(l.at[i]->file), same ? "" : ":", l.at[i]->line);
    }
    if (l.has_more)
        append(text, sizeof text, ", ..");
    return l.n ? strdup(text) : NULL;
}
