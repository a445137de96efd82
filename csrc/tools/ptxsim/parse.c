/* parse: PTX's text -> a Module. Tokens, directives, declarations; what stands between
 * them is one instruction, and decode.c's.
 *
 * Registers become places in the file when they are declared. Scopes nest by braces, as
 * LLVM writes around calls and people in inline assembly. What is not understood is an
 * error with its line; directives for debuggers and for the assembler's scheduling are
 * known by name and passed over.
 */
#include "tools/ptxsim/parse.h"

#include <ctype.h>
#include <stdarg.h>

void
parse_fail(Parser *p, int line, const char *fmt, ...)
{
    va_list ap;
    int n = snprintf(p->err, SIM_TEXT, "ptxsim: line %d: ", line);
    va_start(ap, fmt);
    vsnprintf(p->err + n, SIM_TEXT - (size_t)n, fmt, ap);
    va_end(ap);
    longjmp(*pool_stop(p->mod->pool), 1);
}

void *
grow(Pool *p, void *v, size_t size, int n, int *cap)
{
    *cap = n ? 2 * n : 16;
    void *more = pool_alloc(p, size * (size_t)*cap);
    if (n)
        memcpy(more, v, size * (size_t)n);
    return more;
}

/* ---- tokens ---------------------------------------------------------------------- */

static bool
in_word(const char *c)
{
    return isalnum((unsigned char)*c) || *c == '_' || *c == '$' || *c == '.' ||
           *c == '%' || (c[0] == ':' && c[1] == ':');
}

static void
skip_blanks(Parser *p)
{
    for (;; p->at++) {
        if (*p->at == '\n')
            p->line++;
        else if (p->at[0] == '/' && p->at[1] == '/')
            p->at += strcspn(p->at, "\n") - 1;
        else if (p->at[0] == '/' && p->at[1] == '*') {
            const char *end = strstr(p->at + 2, "*/");
            if (!end)
                parse_fail(p, p->line, "a comment without end");
            for (; p->at < end + 1; p->at++)
                p->line += *p->at == '\n';
        } else if (!isspace((unsigned char)*p->at))
            return;
    }
}

static void
number(Parser *p)
{
    Token *t = &p->tok;
    char *end;
    t->kind = TOK_INT;
    if (p->at[0] == '0' && strchr("fFdD", p->at[1]) &&
        isxdigit((unsigned char)p->at[2])) {
        bool is_double = p->at[1] == 'd' || p->at[1] == 'D';
        t->kind = is_double ? TOK_F64 : TOK_F32;
        t->value = strtoull(p->at + 2, &end, 16);
        if (end - p->at != (is_double ? 18 : 10))
            parse_fail(p, p->line, "a float of %d digits", (int)(end - p->at - 2));
    } else {
        const char *c = p->at;
        bool is_hex = c[0] == '0' && (c[1] == 'x' || c[1] == 'X');
        bool is_octal = c[0] == '0' && isdigit((unsigned char)c[1]);
        if (c[0] == '0' && (c[1] == 'b' || c[1] == 'B'))
            t->value = strtoull(c + 2, &end, 2);
        else
            t->value = strtoull(c, &end, is_hex ? 16 : is_octal ? 8 : 10);
        if (!is_hex && (*end == '.' || *end == 'e' || *end == 'E')) {
            double x = strtod(c, &end);
            t->kind = TOK_F64;
            memcpy(&t->value, &x, sizeof x);
        } else if (*end == 'U')
            end++;
    }
    p->at = end;
    if (in_word(p->at))
        parse_fail(p, p->line, "a number ends in '%c'", *p->at);
}

void
next(Parser *p)
{
    Token *t = &p->tok;
    skip_blanks(p);
    t->line = p->line;
    t->mark = 0;
    t->text = "";
    if (!*p->at) {
        t->kind = TOK_END;
    } else if (isdigit((unsigned char)*p->at)) {
        number(p);
    } else if (in_word(p->at)) {
        const char *from = p->at;
        while (*p->at && in_word(p->at))
            p->at += *p->at == ':' ? 2 : 1;
        t->kind = TOK_WORD;
        t->text = pool_text(p->mod->pool, from, (size_t)(p->at - from));
    } else if (*p->at == '"') {
        size_t n = strcspn(p->at + 1, "\"\n");
        t->kind = TOK_STRING;
        t->text = pool_text(p->mod->pool, p->at + 1, n);
        p->at += n + 1;
        if (*p->at != '"')
            parse_fail(p, p->line, "a string without end");
        p->at++;
    } else {
        t->kind = TOK_MARK;
        t->mark = *p->at++;
    }
}

bool
is_mark(const Parser *p, char c)
{
    return p->tok.kind == TOK_MARK && p->tok.mark == c;
}

bool
take_mark(Parser *p, char c)
{
    bool is = is_mark(p, c);
    if (is)
        next(p);
    return is;
}

static void
unexpected(Parser *p, const char *wanted)
{
    char here[2] = {p->tok.mark, 0};
    parse_fail(p, p->tok.line, "expected %s, found '%s'", wanted,
               p->tok.kind == TOK_MARK  ? here
               : p->tok.kind == TOK_END ? "the end"
               : p->tok.text[0]         ? p->tok.text
                                        : "a number");
}

void
want_mark(Parser *p, char c)
{
    if (!take_mark(p, c))
        unexpected(p, (char[]){'\'', c, '\'', 0});
}

static bool
take_word(Parser *p, const char *word)
{
    bool is = p->tok.kind == TOK_WORD && !strcmp(p->tok.text, word);
    if (is)
        next(p);
    return is;
}

const char *
want_name(Parser *p)
{
    if (p->tok.kind != TOK_WORD || p->tok.text[0] == '.')
        unexpected(p, "a name");
    const char *name = p->tok.text;
    next(p);
    return name;
}

static uint64_t
want_int(Parser *p)
{
    bool minus = take_mark(p, '-');
    if (p->tok.kind != TOK_INT)
        unexpected(p, "an integer");
    uint64_t v = p->tok.value;
    next(p);
    return minus ? -v : v;
}

/* ---- names ----------------------------------------------------------------------- */

Sym *
find_name(const Parser *p, const char *name)
{
    for (int i = p->n_scopes; i-- > 0;) {
        Sym *s = map_get(p->scope[i], name);
        if (s)
            return s;
    }
    return NULL;
}

static Sym *
declare(Parser *p, const char *name, int kind)
{
    Map *scope = p->scope[p->n_scopes - 1];
    Sym *old = map_get(scope, name);
    if (old && old->kind != SYM_FUNC)
        parse_fail(p, p->tok.line, "%s is declared twice", name);
    Sym *s = POOL_NEW(p->mod->pool, Sym, 1);
    s->name = name;
    s->kind = kind;
    s->target = -1;
    map_set(scope, name, s);
    return s;
}

static void
open_scope(Parser *p)
{
    if (p->n_scopes == MAX_SCOPES)
        parse_fail(p, p->tok.line, "more than %d scopes", MAX_SCOPES);
    p->scope[p->n_scopes++] = map_new(p->mod->pool);
}

Reg
new_reg(Parser *p, int bytes)
{
    Func *f = p->func;
    f->file_bytes = (f->file_bytes + 63) & ~63u;
    Reg r = {f->file_bytes, ++f->n_regs, (uint8_t)bytes};
    f->file_bytes += LANES * (uint32_t)bytes;
    return r;
}

static Type
want_type(Parser *p)
{
    Type t = p->tok.kind == TOK_WORD && p->tok.text[0] == '.'
                 ? type_named(p->tok.text + 1)
                 : T_NONE;
    if (!t)
        unexpected(p, "a type");
    next(p);
    return t;
}

/* .reg .b32 a, %r<20>; */
static void
registers(Parser *p)
{
    Type t = want_type(p);
    if (t == T_B128)
        parse_fail(p, p->tok.line, "registers of 128 bits are not simulated");
    do {
        const char *name = want_name(p);
        int n = -1;
        if (take_mark(p, '<')) {
            n = (int)want_int(p);
            want_mark(p, '>');
        }
        for (int i = 0; i < (n < 0 ? 1 : n); i++) {
            char text[128];
            snprintf(text, sizeof text, n < 0 ? "%s" : "%s%d", name, i);
            Sym *s = declare(p, pool_text(p->mod->pool, text, strlen(text)), SYM_REG);
            s->type = t;
            s->reg = new_reg(p, type_info[t].bytes);
        }
    } while (take_mark(p, ','));
    want_mark(p, ';');
}

/* ---- variables ------------------------------------------------------------------- */

static uint64_t
literal_of(Parser *p, Type t)
{
    bool minus = take_mark(p, '-');
    uint64_t v = p->tok.value;
    if (p->tok.kind == TOK_F64 && t == T_F32) {
        double x;
        memcpy(&x, &v, sizeof x);
        float f = (float)(minus ? -x : x);
        uint32_t bits;
        memcpy(&bits, &f, sizeof f);
        v = bits, minus = false;
    } else if (p->tok.kind == TOK_F64 && minus) {
        v ^= UINT64_C(1) << 63, minus = false;
    } else if (p->tok.kind == TOK_WORD) {
        Sym *s = find_name(p, p->tok.text);
        if (!s || s->kind != SYM_VAR || s->space != SPACE_GLOBAL)
            parse_fail(p, p->tok.line, "%s is no address to start with", p->tok.text);
        v = s->offset;
    } else if (p->tok.kind != TOK_INT && p->tok.kind != TOK_F32 &&
               p->tok.kind != TOK_F64) {
        unexpected(p, "a number");
    }
    next(p);
    return minus ? -v : v;
}

static void
initial(Parser *p, uint8_t *to, uint64_t size, Type t)
{
    uint64_t at = 0;
    int depth = 0;
    do {
        while (take_mark(p, '{'))
            depth++;
        uint64_t v = literal_of(p, t);
        if (at + type_info[t].bytes > size)
            parse_fail(p, p->tok.line, "more values than the variable has room for");
        memcpy(to + at, &v, type_info[t].bytes);
        at += type_info[t].bytes;
        while (depth && take_mark(p, '}'))
            depth--;
    } while (take_mark(p, ','));
    if (depth)
        want_mark(p, '}');
}

static void
place(Parser *p, Sym *s)
{
    Module *m = p->mod;
    switch (s->space) {
    case SPACE_SHARED:
        if (s->align > m->shared_align)
            m->shared_align = s->align;
        if (s->is_extern)
            break;
        m->shared_bytes = (m->shared_bytes + s->align - 1) & -s->align;
        s->offset = SHARED_BASE + m->shared_bytes;
        m->shared_bytes += (uint32_t)s->size;
        break;
    case SPACE_LOCAL: {
        if (!p->func)
            parse_fail(p, p->tok.line, ".local outside of a function");
        uint32_t at = (p->func->local_bytes + s->align - 1) & -s->align;
        s->offset = at;
        p->func->local_bytes = at + (uint32_t)s->size;
        break;
    }
    case SPACE_PARAM: {
        if (p->func &&
            (p->func->has_body || !p->func->is_entry)) { /* each thread's own */
            s->space = SPACE_LOCAL;
            place(p, s);
            return;
        }
        uint32_t at = (p->param_at + s->align - 1) & -s->align;
        s->offset = at;
        p->param_at = at + (uint32_t)s->size;
        break;
    }
    default: {
        uint64_t room = (s->size + 2 * s->align + 64);
        uintptr_t at = (uintptr_t)pool_alloc(m->pool, room);
        s->offset = (at + s->align + 15) & -(uint64_t)(s->align > 16 ? s->align : 16);
        GROW(m->pool, m->globals, m->n_globals, m->cap_globals);
        m->globals[m->n_globals++] = s;
    }
    }
}

/* [.align n] [.ptr ..] .type name [[n]] [= values] */
static Sym *
variable(Parser *p, Space space, bool is_extern)
{
    uint32_t align = 0, n_vec = 1;
    for (;;) {
        if (take_word(p, ".align"))
            align = (uint32_t)want_int(p);
        else if (take_word(p, ".v2"))
            n_vec = 2;
        else if (take_word(p, ".v4"))
            n_vec = 4;
        else
            break;
    }
    Type t = want_type(p);
    if (take_word(p, ".ptr")) { /* what a parameter points to: no fact of it is used */
        while (p->tok.kind == TOK_WORD && p->tok.text[0] == '.')
            if (take_word(p, ".align"))
                want_int(p);
            else
                next(p);
    }
    Sym *s = declare(p, want_name(p), SYM_VAR);
    s->space = space;
    s->type = t;
    s->align = align ? align : n_vec * type_info[t].bytes;
    s->size = (uint64_t)n_vec * type_info[t].bytes;
    while (take_mark(p, '[')) {
        if (is_mark(p, ']'))
            s->is_extern = is_extern, s->size = 0;
        else
            s->size *= want_int(p);
        want_mark(p, ']');
    }
    if (is_extern && space != SPACE_SHARED)
        parse_fail(p, p->tok.line, "%s is nowhere defined", s->name);
    if (s->align & (s->align - 1))
        parse_fail(p, p->tok.line, "an alignment of %u", s->align);
    place(p, s);
    if (take_mark(p, '=')) {
        if (space != SPACE_GLOBAL && space != SPACE_CONST)
            parse_fail(p, p->tok.line, "%s cannot have a value", s->name);
        initial(p, (uint8_t *)(uintptr_t)s->offset, s->size, t);
    }
    return s;
}

static bool
take_space(Parser *p, Space *out)
{
    static const struct {
        const char *word;
        Space space;
    } rows[] = {{".global", SPACE_GLOBAL},
                {".shared", SPACE_SHARED},
                {".local", SPACE_LOCAL},
                {".const", SPACE_CONST},
                {".param", SPACE_PARAM}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (take_word(p, rows[i].word)) {
            *out = rows[i].space;
            return true;
        }
    return false;
}

/* ---- functions ------------------------------------------------------------------- */

static void
parameters(Parser *p, Func *f, bool is_result)
{
    if (!take_mark(p, '('))
        return;
    while (!take_mark(p, ')')) {
        if (!take_word(p, ".param"))
            unexpected(p, ".param");
        Sym *s = variable(p, SPACE_PARAM, false);
        Param one = {(uint32_t)s->offset, (uint32_t)s->size};
        if (is_result) {
            f->result = one;
        } else {
            GROW(p->mod->pool, f->params, f->n_params, f->cap_params);
            f->params[f->n_params++] = one;
        }
        take_mark(p, ',');
    }
}

static void
three(Parser *p, int out[3])
{
    out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        out[i] = (int)want_int(p);
        if (!take_mark(p, ','))
            break;
    }
}

static void
attributes(Parser *p, Func *f)
{
    int unused[3];
    for (;;) {
        if (take_word(p, ".reqntid"))
            three(p, f->reqntid);
        else if (take_word(p, ".maxntid"))
            three(p, f->maxntid);
        else if (take_word(p, ".reqnctapercluster"))
            three(p, f->cluster);
        else if (take_word(p, ".maxclusterrank"))
            want_int(p);
        else if (take_word(p, ".maxnreg"))
            f->max_regs = (int)want_int(p);
        else if (take_word(p, ".minnctapersm") || take_word(p, ".maxnctapersm"))
            three(p, unused);
        else if (!take_word(p, ".explicitcluster") && !take_word(p, ".noreturn"))
            return;
    }
}

/* Passes a directive over, to its ';'. */
static void
skip_statement(Parser *p)
{
    while (!is_mark(p, ';') && p->tok.kind != TOK_END)
        next(p);
    want_mark(p, ';');
}

/* .loc file line column [, function_name label, inlined_at file line column] */
static void
location(Parser *p)
{
    p->file = (int)want_int(p);
    p->src = (int)want_int(p);
    want_int(p);
    while (take_mark(p, ',')) {
        next(p); /* function_name, inlined_at */
        next(p);
        while (p->tok.kind == TOK_INT || is_mark(p, '+'))
            next(p);
    }
}

static void
statement(Parser *p)
{
    Space space;
    if (take_word(p, ".reg")) {
        registers(p);
    } else if (take_word(p, ".loc")) {
        location(p);
    } else if (take_word(p, ".pragma")) {
        skip_statement(p);
    } else if (take_space(p, &space)) {
        do
            variable(p, space, false);
        while (take_mark(p, ','));
        want_mark(p, ';');
    } else {
        decode_statement(p);
    }
}

/* A label may stand behind its use, in this scope or in one around it. */
static void
close_scope(Parser *p)
{
    int n = 0;
    for (int i = 0; i < p->n_uses; i++) {
        struct Use u = p->use[i];
        Sym *s = u.depth == p->n_scopes ? map_get(p->scope[p->n_scopes - 1], u.name)
                                        : NULL;
        if (s && s->kind == SYM_LABEL) {
            p->func->code[u.ins].target = s->target;
            continue;
        }
        u.depth -= u.depth == p->n_scopes;
        p->use[n++] = u;
    }
    p->n_uses = n;
    p->n_scopes--;
}

static void
body(Parser *p, Func *f)
{
    f->has_body = true;
    f->param_bytes = p->param_at;
    p->file = p->src = 0;
    p->n_uses = 0;
    int depth = p->n_scopes;
    want_mark(p, '{');
    open_scope(p);
    while (p->n_scopes > depth) {
        if (p->tok.kind == TOK_END)
            unexpected(p, "'}'");
        if (take_mark(p, '{'))
            open_scope(p);
        else if (take_mark(p, '}'))
            close_scope(p);
        else if (!take_mark(p, ';'))
            statement(p);
    }
    if (p->n_uses)
        parse_fail(p, p->use[0].line, "there is no label %s", p->use[0].name);
}

static void
function(Parser *p, bool is_entry)
{
    Module *m = p->mod;
    Func *f = POOL_NEW(m->pool, Func, 1);
    f->mod = m;
    f->is_entry = is_entry;
    p->func = f;
    p->param_at = 0;
    open_scope(p);
    if (!is_entry)
        parameters(p, f, true);
    f->name = want_name(p);
    Sym *old = map_get(p->scope[0], f->name);
    if (!old || !old->func->has_body) {
        p->n_scopes--;
        Sym *s = declare(p, f->name, SYM_FUNC);
        s->func = f;
        p->n_scopes++;
    }
    parameters(p, f, false);
    attributes(p, f);
    if (!take_mark(p, ';')) {
        body(p, f);
    }
    GROW(m->pool, m->funcs, m->n_funcs, m->cap_funcs);
    m->funcs[m->n_funcs++] = f;
    p->n_scopes--;
    p->func = NULL;
}

/* ---- modules --------------------------------------------------------------------- */

static void
target(Parser *p)
{
    Module *m = p->mod;
    do {
        const char *name = want_name(p);
        if (!strncmp(name, "sm_", 3)) {
            char *end;
            m->sm = (int)strtol(name + 3, &end, 10);
            m->is_accelerated = *end == 'a' || *end == 'f';
        } else if (strcmp(name, "debug")) {
            parse_fail(p, p->tok.line, "target %s", name);
        }
    } while (take_mark(p, ','));
}

static void
skip_braces(Parser *p)
{
    int depth = 0;
    do {
        depth += is_mark(p, '{');
        depth -= is_mark(p, '}');
        if (p->tok.kind == TOK_END)
            unexpected(p, "'}'");
        next(p);
    } while (depth);
}

static void
top(Parser *p)
{
    Space space;
    bool is_extern = false;
    if (take_word(p, ".version")) {
        double v;
        memcpy(&v, &p->tok.value, sizeof v);
        if (p->tok.kind != TOK_F64)
            unexpected(p, "a version");
        p->mod->version = (int)(10 * v + 0.5);
        next(p);
    } else if (take_word(p, ".target")) {
        target(p);
    } else if (take_word(p, ".address_size")) {
        if (want_int(p) != 64)
            parse_fail(p, p->tok.line, "only addresses of 64 bits are simulated");
    } else if (take_word(p, ".file")) {
        uint64_t n = want_int(p);
        if (n < sizeof p->mod->files / sizeof *p->mod->files)
            p->mod->files[n] = p->tok.text;
        next(p);
        while (take_mark(p, ','))
            want_int(p);
    } else if (take_word(p, ".section")) {
        next(p);
        skip_braces(p);
    } else if (take_word(p, ".pragma") || take_word(p, ".alias")) {
        skip_statement(p);
    } else {
        while (p->tok.kind == TOK_WORD) {
            if (take_word(p, ".extern"))
                is_extern = true;
            else if (!take_word(p, ".visible") && !take_word(p, ".weak") &&
                     !take_word(p, ".common"))
                break;
        }
        if (take_word(p, ".entry")) {
            function(p, true);
        } else if (take_word(p, ".func")) {
            function(p, false);
        } else if (take_space(p, &space) && space != SPACE_LOCAL &&
                   space != SPACE_PARAM) {
            do
                variable(p, space, is_extern);
            while (take_mark(p, ','));
            want_mark(p, ';');
        } else {
            unexpected(p, "a directive of a module");
        }
    }
}

static Module *
parse_into(Pool *pool, const char *text, char err[SIM_TEXT])
{
    Parser *p = POOL_NEW(pool, Parser, 1);
    p->mod = POOL_NEW(pool, Module, 1);
    p->mod->pool = pool;
    p->at = text;
    p->line = 1;
    p->err = err;
    open_scope(p);
    p->mod->names = p->scope[0];
    next(p);
    while (p->tok.kind != TOK_END)
        top(p);
    if (!p->mod->sm)
        parse_fail(p, p->line, "no .target");
    for (int i = 0; i < p->mod->n_funcs; i++)
        if (p->mod->funcs[i]->is_entry && !link_kernel(p->mod, p->mod->funcs[i], err))
            longjmp(*pool_stop(pool), 1);
    return p->mod;
}

Module *
module_parse(const char *text, char err[SIM_TEXT])
{
    Pool *pool = pool_new();
    snprintf(err, SIM_TEXT, "ptxsim: out of memory");
    if (!pool)
        return NULL;
    if (setjmp(*pool_stop(pool))) {
        pool_free(pool);
        return NULL;
    }
    return parse_into(pool, text, err);
}

void
module_free(Module *m)
{
    if (m)
        pool_free(m->pool);
}

Func *
module_kernel(const Module *m, const char *name)
{
    Sym *s = map_get(m->names, name);
    return s && s->kind == SYM_FUNC && s->func->is_entry ? s->func : NULL;
}
