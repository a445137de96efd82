/* control: the end of a thread, and the functions that the driver brings:
 * vprintf, __assertfail.
 */
#include "ptx/engine.h"

#include <inttypes.h>
#include <stdarg.h>

static void
dec_ret(Dec *d)
{
    dec_has(d, "uni");
    d->ins->flow = dec_in_kernel(d) ? FLOW_EXIT : FLOW_RET;
}

static void
dec_exit(Dec *d)
{
    d->ins->flow = FLOW_EXIT;
}

static void
trap(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    warp_fault(w, i, __builtin_ctz(m), FAULT_TRAP, "trap");
}

static void
dec_trap(Dec *d)
{
    d->ins->run = trap;
}

/* ---- what the driver brings ------------------------------------------------------ */

static uint64_t
argument(const Warp *w, const Call *c, int lane, int k, size_t bytes)
{
    uint64_t v = 0;
    memcpy(&v, w->local + (size_t)lane * w->f->local_bytes + c->arg[k], bytes);
    return v;
}

/* The text at a generic address, up to its end, checked byte by byte. */
static const char *
text_at(Warp *w, const Ins *i, int lane, uint64_t address)
{
    const char *s = (const char *)warp_bytes(&w->lanes, i, lane, SPACE_GENERIC, address,
                                             1, false);
    for (uint64_t k = 0; s[k]; k++)
        warp_bytes(&w->lanes, i, lane, SPACE_GENERIC, address + k + 1, 1, false);
    return s;
}

/* A line being made; what has no room is cut off. */
typedef struct Line {
    char text[2048];
    size_t n;
} Line;

static void PTX_PRINTF(2, 3) put_word(Line *line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line->text + line->n, sizeof line->text - line->n, fmt, ap);
    va_end(ap);
    line->n += n > 0 ? (size_t)n : 0;
    line->n = line->n < sizeof line->text ? line->n : sizeof line->text - 1;
}

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif

/* One conversion of a format, its arguments taken from the buffer. */
static const char *
print_one(Warp *w, const Ins *i, int lane, Line *line, const char *f, uint64_t *at)
{
    char spec[32], last;
    size_t n = 1 + strspn(f + 1, "-+ #0123456789.");
    size_t longs = strspn(f + n, "lhjztL");
    last = f[n + longs];
    if (n + longs + 4 > sizeof spec || !last)
        warp_fault(w, i, lane, FAULT_INVALID, "printf of %.10s", f);
    if (last == '%') {
        put_word(line, "%%");
        return f + n + 1;
    }
    bool is_wide = longs || strchr("fFeEgGaAsp", last);
    uint64_t bytes = is_wide ? 8 : 4, v = 0;
    *at = (*at + bytes - 1) & -bytes;
    memcpy(&v,
           warp_bytes(&w->lanes, i, lane, SPACE_GENERIC, *at, (uint32_t)bytes, false),
           bytes);
    *at += bytes;
    if (strchr("diuxXoc", last)) {
        snprintf(spec, sizeof spec, "%.*s%s%c", (int)n, f, last == 'c' ? "" : "ll",
                 last);
        bool is_signed = last == 'd' || last == 'i';
        long long x = is_wide     ? (long long)v
                      : is_signed ? (long long)(int32_t)v
                                  : (long long)(uint32_t)v;
        if (last == 'c')
            put_word(line, spec, (int)x);
        else
            put_word(line, spec, x);
    } else if (strchr("fFeEgGaA", last)) {
        snprintf(spec, sizeof spec, "%.*s%c", (int)n, f, last);
        put_word(line, spec, f64_of_bits(v));
    } else if (last == 's') {
        snprintf(spec, sizeof spec, "%.*ss", (int)n, f);
        put_word(line, spec, text_at(w, i, lane, v));
    } else if (last == 'p') {
        put_word(line, "%#" PRIx64, v);
    } else {
        warp_fault(w, i, lane, FAULT_INVALID, "printf of %%%c", last);
    }
    return f + n + longs + 1;
}

static void
call_vprintf(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    const Call *c = i->more;
    const Launch *launch = warp_launch(w);
    EACH_LANE_OF(l, m) {
        const char *f = text_at(w, i, l, argument(w, c, l, 0, 8));
        uint64_t at = argument(w, c, l, 1, 8);
        Line line = {.n = 0};
        while (*f)
            if (*f == '%')
                f = print_one(w, i, l, &line, f, &at);
            else
                put_word(&line, "%c", *f++);
        launch->hooks->print(launch, line.text);
        if (c->result >= 0)
            memset(w->local + (size_t)l * w->f->local_bytes + c->result, 0, 4);
    }
}

/* __assertfail(text, file, line, function, bytes of a character) */
static void
call_assertfail(Lanes *lanes, const Ins *i, uint32_t m)
{
    Warp *w = warp_of(lanes);
    const Call *c = i->more;
    int l = __builtin_ctz(m);
    const char *text = text_at(w, i, l, argument(w, c, l, 0, 8)),
               *file = text_at(w, i, l, argument(w, c, l, 1, 8)),
               *function = text_at(w, i, l, argument(w, c, l, 3, 8));
    unsigned line = (unsigned)argument(w, c, l, 2, 4);
    EngineReport *r = &warp_launch(w)->report;
    r->file = file;
    r->function = function;
    r->line = (int)line;
    warp_fault(w, i, l, FAULT_ASSERT, "%s", text);
}

static uint32_t
place_of(Dec *d, const Opd *o)
{
    Sym *s = o->kind == OPD_NAME ? dec_sym(d, o->name) : NULL;
    if (!s || s->kind != SYM_VAR || s->space != SPACE_LOCAL)
        dec_fail(d, "the argument is no .param variable");
    return (uint32_t)s->offset;
}

static void
dec_call(Dec *d)
{
    static const struct {
        const char *name;
        int n_args;
        Run *run;
    } rows[] = {{"vprintf", 2, call_vprintf}, {"__assertfail", 5, call_assertfail}};
    dec_has(d, "uni");
    Call *c = dec_more(d, sizeof *c);
    int at = d->n_opds && d->opd[0].kind == OPD_LIST;
    c->result = at && d->opd[0].n_parts ? (int64_t)place_of(d, &d->opd[0].part[0]) : -1;
    if (at >= d->n_opds || d->opd[at].kind != OPD_NAME)
        dec_fail(d, "no function");
    const char *name = d->opd[at++].name;
    const Opd *args = at < d->n_opds && d->opd[at].kind == OPD_LIST ? &d->opd[at]
                                                                    : NULL;
    c->n_args = args ? args->n_parts : 0;
    if (c->n_args > MAX_ARGS)
        dec_fail(d, "more than %d arguments", MAX_ARGS);
    for (int k = 0; k < c->n_args; k++)
        c->arg[k] = place_of(d, &args->part[k]);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!strcmp(rows[k].name, name) && rows[k].n_args == c->n_args) {
            d->ins->run = rows[k].run;
            d->ins->is_call = true;
            return;
        }
    c->name = name;
    d->ins->is_call = true;
    d->ins->flow = FLOW_CALL;
}

const OpRow control_ops[] = {
    {"ret", dec_ret},   {"exit", dec_exit}, {"trap", dec_trap},
    {"call", dec_call}, {NULL, NULL},
};
