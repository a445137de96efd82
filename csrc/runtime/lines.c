/* lines: where a kernel reads and writes memory, for the message that its process dies with.
 *
 *     k.py:12
 *     k.py:12, 15 or 31
 *
 * Machine code for CPUs does not say which line an instruction is for. What it may be is known:
 * the lines of the loads, or of the stores, and a processor says which of the two it was at. Most
 * kernels have one store.
 *
 * Also where each op stands, as text: an entry on disk answers for every kernel with its IR, so that the
 * lines of its report are those of the file that it was compiled from until they are moved.
 */
#include "runtime/launch.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 6 };
typedef struct Lines {
    const Loc *at[MOST];
    int n;
    bool has_more;
} Lines;

static void
add_line(Lines *l, const Loc *at)
{
    for (int i = 0; i < l->n; i++)
        if (l->at[i]->line == at->line && !strcmp(l->at[i]->file, at->file))
            return;
    l->has_more |= l->n == MOST;
    if (l->n < MOST)
        l->at[l->n++] = at;
}

static void
collect_lines(Lines *l, const Block *b, bool stores)
{
    EACH_OP(o, b) {
        bool loads = o->op == OP_LOAD || o->op == OP_TILE_LOAD;
        const Loc *at = loc_user(o->loc);
        if ((op_is_access(o) || op_is_tile(o)) && loads != stores && at && at->file)
            add_line(l, at);
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
    collect_lines(&l, f->body, stores);
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

/* ---- an entry's report ----------------------------------------------------------------------- */

/* The place of a row: its line, and the file where that is another than the kernel's. */
static void
put_place(FILE *out, const Func *f, const Loc *at)
{
    at = loc_user(at);
    fprintf(out, "line %4d", at ? at->line : 0);
    if (at && f->loc && at->file != f->loc->file)
        fprintf(out, " (%s)", at->file);
    fputc('\n', out);
}

/* Ends a text: what is written, or NULL where memory ended. */
static char *
close_text(FILE *out, char **text)
{
    bool ok = !ferror(out);
    if (!fclose(out) && ok)
        return *text;
    free(*text);
    return NULL;
}

char *
lines_places(const Func *f)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return NULL;
    put_place(out, f, f->loc);
    EACH_OP(o, f->body)
        put_place(out, f, o->loc);
    return close_text(out, &text);
}

enum { LINE_END = 9 }; /* "line %4d" of a row and of a place */

/* Is the row of the report, up to end, about that place? */
static bool
is_at(const char *row, const char *end, const char *place, const char *place_end)
{
    size_t n = (size_t)(place_end - place), n_file = n > LINE_END ? n - LINE_END : 0;
    bool has_file = end > row && end[-1] == ')' && strstr(row, "  (/") &&
                    strstr(row, "  (/") < end;
    if (memcmp(row, place, LINE_END))
        return false;
    return n_file ? (size_t)(end - row) > n_file &&
                        !memcmp(end - n_file, place + LINE_END, n_file)
                  : !has_file;
}

/* The row with the place `now` instead of `was`. */
static void
put_moved(FILE *out, const char *row, const char *end, const char *was,
          const char *was_end, const char *now, const char *now_end)
{
    size_t n_file = (size_t)MAX(was_end - was - LINE_END, 0);
    size_t n_now = (size_t)MAX(now_end - now - LINE_END, 0);
    end -= n_file ? n_file + 1 : 0;
    fprintf(out, "%.*s%.*s", LINE_END, now, (int)(end - row - LINE_END),
            row + LINE_END);
    if (n_now)
        fprintf(out, " %.*s", (int)n_now, now + LINE_END);
    fputc('\n', out);
}

char *
lines_moved(const char *report, const char *was, const char *now)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    for (const char *row = report, *end; out && *row; row = end + 1) {
        end = strchr(row, '\n');
        const char *p = was, *q = now, *pe = p, *qe = q;
        for (; *p && *q; p = pe + 1, q = qe + 1) {
            pe = strchr(p, '\n'), qe = strchr(q, '\n');
            if (is_at(row, end, p, pe))
                break;
        }
        if (*p && *q)
            put_moved(out, row, end, p, pe, q, qe);
        else
            fprintf(out, "%.*s\n", (int)(end - row), row);
    }
    return out ? close_text(out, &text) : NULL;
}
