/* text: PTX's text -> tokens, names, declarations of registers, scopes.
 *
 * Registers become places in the file when they are declared. Scopes nest by braces, as
 * LLVM writes around calls and people in inline assembly.
 */
#include "ptx/parse.h"

#include <ctype.h>
#include <stdarg.h>

void
parse_fail(Parser *p, int line, const char *fmt, ...)
{
    va_list ap;
    int n = snprintf(p->err, PTX_TEXT, "%sline %d: ", p->who, line);
    va_start(ap, fmt);
    vsnprintf(p->err + n, PTX_TEXT - (size_t)n, fmt, ap);
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

/* Comments say where the text of a kernel's author begins (PTX_AUTHOR), and LLVM's where it
 * ends. */
static void
note_author(Parser *p)
{
    static const char begins[] = "//" PTX_AUTHOR, library[] = "//" PTX_LIBRARY,
                      ends[] = "// end inline asm";
    if (!strncmp(p->at, begins, sizeof begins - 1)) {
        p->author = p->line;
        p->is_library = !strncmp(p->at, library, sizeof library - 1);
        p->mod->has_author = true;
    } else if (!strncmp(p->at, ends, sizeof ends - 1))
        p->author = 0;
}

static void
skip_blanks(Parser *p)
{
    for (;; p->at++) {
        if (*p->at == '\n')
            p->line++;
        else if (p->at[0] == '/' && p->at[1] == '/') {
            note_author(p);
            p->at += strcspn(p->at, "\n") - 1;
        } else if (p->at[0] == '/' && p->at[1] == '*') {
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
parse_number(Parser *p)
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
        parse_number(p);
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

void
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

bool
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

uint64_t
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
        Sym *s = names_get(p->scope[i], name);
        if (s)
            return s;
    }
    return NULL;
}

Sym *
declare(Parser *p, const char *name, int kind)
{
    Names *scope = p->scope[p->n_scopes - 1];
    Sym *old = names_get(scope, name);
    if (old && old->kind != SYM_FUNC)
        parse_fail(p, p->tok.line, "%s is declared twice", name);
    Sym *s = POOL_NEW(p->mod->pool, Sym, 1);
    s->name = name;
    s->kind = kind;
    s->target = -1;
    names_set(scope, name, s);
    return s;
}

void
open_scope(Parser *p)
{
    if (p->n_scopes == MAX_SCOPES)
        parse_fail(p, p->tok.line, "more than %d scopes", MAX_SCOPES);
    p->scope[p->n_scopes++] = names_new(p->mod->pool);
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

Type
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
void
registers(Parser *p)
{
    Type t = want_type(p);
    if (t == T_B128)
        parse_fail(p, p->tok.line, "registers of 128 bits are not simulated");
    do {
        const char *name = want_name(p);
        int n = -1;
        if (take_mark(p, '<')) {
            uint64_t many = want_int(p);
            if (many > MAX_DECLARED)
                parse_fail(p, p->tok.line, "more than %d registers", MAX_DECLARED);
            n = (int)many;
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

/* ---- scopes ---------------------------------------------------------------------- */

/* A label may stand behind its use, in this scope or in one around it. */
void
close_scope(Parser *p)
{
    int n = 0;
    for (int i = 0; i < p->n_uses; i++) {
        struct Use u = p->use[i];
        Sym *s = u.depth == p->n_scopes ? names_get(p->scope[p->n_scopes - 1], u.name)
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
