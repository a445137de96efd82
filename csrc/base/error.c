/* error: where, what, whose fault; and the one setjmp of the compiler.
 *
 *     comp_run(c, fn, data)
 *         fn ... err_at(c, loc, SHAPE, a, b)      any depth, never returns
 *     false <- c->err = {ERR_SHAPE, loc, "cannot combine shapes ...", help}
 *
 * Rule 1: raising ERR_MEMORY does not allocate.
 * Rule 2: no jump crosses a foreign frame. A callback from LLVM or a call into Python
 *         records its failure, returns, and then we raise. (LLVM's fatal-error handler
 *         is the one exception: the alternative there is the end of the process.)
 * Rule 3: comp_run writes no local after its setjmp.
 */
#include "base/base.h"

#include <stdlib.h>

const ErrInfo err_info[N_ERR] = {
    [ERR_NONE] = {"NONE", CLASS_USER, ""},
#define ERR(name, cls, fmt) [ERR_##name] = {#name, CLASS_##cls, fmt},
#include "base/errors.def"
#undef ERR
};

bool
comp_init(Comp *c)
{
    memset(c, 0, sizeof *c);
    c->arena = arena_new(c);
    if (!c->arena)
        return false;
    c->strings.a = c->types.a = c->layouts.a = c->arena;
    return true;
}

void
comp_done(Comp *c)
{
    arena_free(c->arena);
    memset(c, 0, sizeof *c);
}

void
comp_move(Comp *to, Comp *from)
{
    *to = *from;
    arena_belongs(to->arena, to);
    memset(from, 0, sizeof *from);
}

bool
comp_run(Comp *c, void (*fn)(Comp *c, void *data), void *data)
{
    jmp_buf here, *const outer = c->escape;
    const Manners was = manners_begin();
    c->err = (Error){0};
    c->pending_help = NULL;
    if (setjmp(here)) {
        c->escape = outer;
        manners_end(was);
        return false;
    }
    c->escape = &here;
    fn(c, data);
    c->escape = outer;
    c->err = (Error){0}; /* of a nested run that the caller has dealt with */
    manners_end(was);
    return true;
}

/* Nobody to jump to. Going on is impossible and there is no one to tell. */
static NORETURN void
die(ErrCode code)
{
    fprintf(stderr, "tegula: error %s raised outside comp_run\n", err_info[code].name);
    abort();
}

const Loc *
loc_user(const Loc *loc)
{
    while (loc && loc->is_library && loc->caller)
        loc = loc->caller;
    return loc;
}

void
err_raise(Comp *c, const Loc *loc, ErrCode code, const char *fmt, ...)
{
    if (!c->escape)
        die(code);
    const char *msg = fmt_MEMORY, *help = NULL;
    if (code != ERR_MEMORY) {
        va_list ap;
        va_start(ap, fmt);
        msg = str_vprintf(c->arena, fmt, ap); /* may raise ERR_MEMORY instead */
        va_end(ap);
        help = c->pending_help;
    }
    c->err = (Error){.code = code, .loc = loc_user(loc), .msg = msg, .help = help};
    c->pending_help = NULL;
    longjmp(*c->escape, 1);
}

void
err_help(Comp *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    c->pending_help = str_vprintf(c->arena, fmt, ap);
    va_end(ap);
}

const Loc *
loc_new(Comp *c, const char *file, const char *func, int line, int col, int end_line,
        int end_col, const Loc *caller)
{
    Loc *l = NEW(c->arena, Loc);
    l->file = str_intern(c, file);
    l->func = func ? str_intern(c, func) : NULL;
    l->line = line, l->col = col;
    l->end_line = end_line, l->end_col = end_col;
    l->caller = caller;
    return l;
}

/* ---- rendering ------------------------------------------------------------------- */

enum { MAX_CHAIN = 8 }; /* inlining steps shown; deeper ones are counted */

static bool
starts_char(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80; /* not a UTF-8 continuation byte */
}

/*     acc = p * scale
 *           ^~~~~~~~~        one column per character; tabs stay tabs */
static void
put_caret(Sb *sb, const Loc *l, const char *text)
{
    int len = (int)strcspn(text, "\r\n");
    int from = MIN(MAX(l->col, 0), len);
    int to = l->end_line > l->line ? len : MIN(l->end_col, len);
    while (to > from && (text[to - 1] == ' ' || text[to - 1] == '\t'))
        to--;
    sb_put(sb, "\n");
    sb_putn(sb, text, (size_t)len);
    sb_put(sb, "\n");
    for (int i = 0; i < from; i++)
        if (starts_char(text[i]))
            sb_put(sb, text[i] == '\t' ? "\t" : " ");
    sb_put(sb, "^");
    for (int i = from + 1; i < to; i++)
        if (starts_char(text[i]))
            sb_put(sb, "~");
}

/* A function that inlines itself, from one place. */
static bool
is_same_step(const Loc *l, const Loc *up)
{
    return up->caller && l->func == up->func && l->caller->line == up->caller->line &&
           l->caller->file == up->caller->file;
}

/* "in softmax(), inlined from layer.py:58", and a line for each further step. */
static void
put_chain(Sb *sb, const Loc *l)
{
    for (int n = 0; l->caller && n < MAX_CHAIN; l = l->caller, n++) {
        int times = 1;
        while (is_same_step(l, l->caller)) {
            times++;
            l = l->caller;
        }
        if (n)
            sb_put(sb, "\n  ");
        sb_printf(sb, "in %s(), inlined from %s:%d", l->func ? l->func : "?",
                  l->caller->file, l->caller->line);
        if (times > 1)
            sb_printf(sb, " (%d times)", times);
    }
    int more = 0;
    for (; l->caller; l = l->caller)
        more++;
    if (more)
        sb_printf(sb, "\n  ... and %d more", more);
}

/* Of the exceptions in tegula/errors.py. */
static const char *const class_names[] = {
    [CLASS_USER] = "CompileError",
    [CLASS_LIMIT] = "UnsupportedError",
    [CLASS_BUG] = "InternalError",
    [CLASS_MEMORY] = "MemoryError",
};

static void
put_error(Comp *c, Sb *sb, const Error *e)
{
    const Loc *l = e->loc;
    ErrClass cls = err_info[e->code].cls;
    if (l)
        sb_printf(sb, "%s:%d:%d: ", l->file, l->line, l->col + 1);
    if (cls == CLASS_MEMORY)
        sb_printf(sb, "MemoryError: %s", e->msg);
    else if (e->shown_as)
        sb_printf(sb, "%s: %s", e->shown_as, e->msg);
    else
        sb_printf(sb, "%s[%s]: %s", class_names[cls], err_info[e->code].name, e->msg);
    const char *text = l && c->source_line ? c->source_line(c, l->file, l->line) : NULL;
    if (text)
        put_caret(sb, l, text);
    const char *help = e->help;
    if (!help && cls == CLASS_BUG)
        help = "this is a fault of the compiler, not of the kernel: please report it";
    if (help)
        sb_printf(sb, "\n  help: %s", help);
    if (l && l->caller) {
        sb_put(sb, "\n  ");
        put_chain(sb, l);
    }
}

typedef struct Render {
    const Error *e;
    char *text;
} Render;

static void
render(Comp *c, void *data)
{
    Render *r = data;
    Sb sb = {.a = c->arena};
    put_error(c, &sb, r->e);
    r->text = sb.at;
}

char *
err_render(Comp *c, const Error *e)
{
    const Error kept = c->err, shown = *e; /* e may be &c->err, which comp_run clears */
    const char *kept_help = c->pending_help;
    Render r = {&shown, NULL};
    bool ok = comp_run(c, render, &r);
    c->err = kept;
    c->pending_help = kept_help;
    return ok ? r.text : NULL;
}
