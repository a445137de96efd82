/* tokens: what parse.c reads tile IR's text in: words, integers, strings; and the bits of
 * a constant from its text.
 */
#include "ir/parse.h"

#include <errno.h>
#include <stdlib.h>

const Loc *
tok_loc(Parser *p, const char *at, const char *end)
{
    if (at < p->line_at)
        p->line_at = p->text, p->line = 1;
    for (const char *s = p->line_at; s < at; s++)
        if (*s == '\n')
            p->line++, p->line_at = s + 1;
    int col = (int)(at - p->line_at);
    return loc_new(p->c, p->file, NULL, p->line, col, p->line, col + (int)(end - at),
                   NULL);
}

void
tok_skip(Parser *p)
{
    for (;;) {
        p->at += strspn(p->at, " \t\r\n");
        if (p->at[0] != '/' || p->at[1] != '/')
            return;
        p->at += strcspn(p->at, "\n");
    }
}

bool
tok_accept(Parser *p, const char *s)
{
    tok_skip(p);
    size_t n = strlen(s);
    if (strncmp(p->at, s, n) != 0)
        return false;
    p->at += n;
    return true;
}

void
tok_expect(Parser *p, const char *s)
{
    if (!tok_accept(p, s))
        fail(p, "expected '%s'", s);
}

Name
tok_word(Parser *p, const char *what)
{
    tok_skip(p);
    Name w = {p->at, 0};
    while (is_word_char(p->at[w.n]))
        w.n++;
    if (!w.n)
        fail(p, "expected %s", what);
    p->at += w.n;
    return w;
}

bool
tok_accept_word(Parser *p, const char *s)
{
    tok_skip(p);
    size_t n = strlen(s);
    if (strncmp(p->at, s, n) != 0 || is_word_char(p->at[n]))
        return false;
    p->at += n;
    return true;
}

int64_t
tok_integer(Parser *p, int64_t lo, int64_t hi)
{
    tok_skip(p);
    const char *digits = p->at + (*p->at == '-');
    char *end;
    errno = 0;
    long long v = strtoll(p->at, &end, digits[0] == '0' && digits[1] == 'x' ? 16 : 10);
    if (!is_digit(*digits) || is_word_char(*end))
        fail(p, "expected an integer");
    if (errno || v < lo || v > hi)
        fail(p, "integer out of range %lld..%lld", (long long)lo, (long long)hi);
    p->at = end;
    return v;
}

static int
hex_digit(char ch)
{
    if (is_digit(ch))
        return ch - '0';
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

const char *
tok_string(Parser *p)
{
    Sb sb = {.a = p->c->arena};
    tok_expect(p, "\"");
    sb_put(&sb, "");
    for (; *p->at != '"'; p->at++) {
        char ch = *p->at;
        if (!ch || ch == '\n')
            fail(p, "string without an end");
        if (ch == '\\') {
            ch = *++p->at;
            if (ch == 'n') {
                ch = '\n';
            } else if (ch == 'x' && hex_digit(p->at[1]) >= 0 &&
                       hex_digit(p->at[2]) >= 0) {
                ch = (char)(hex_digit(p->at[1]) << 4 | hex_digit(p->at[2]));
                p->at += 2;
                if (!ch)
                    fail(p, "a string cannot hold a NUL");
            } else if (ch != '"' && ch != '\\') {
                fail(p, "unknown escape in a string");
            }
        }
        sb_putn(&sb, &ch, 1);
    }
    p->at++;
    return str_intern(p->c, sb.at);
}

/* ---- constants ------------------------------------------------------------------ */

bool
elem_parse(const Type *t, const char *s, uint64_t *bits)
{
    char *end = (char *)s;
    *bits = 0;
    errno = 0;
    if (s[0] == '0' && s[1] == 'x') {
        *bits = strtoull(s, &end, 16);
        if (ty_bits(t) < 64 && *bits >> ty_bits(t))
            errno = ERANGE;
    } else if (t->is_ptr) {
        return false;
    } else if (t->elem == E_I1) {
        *bits = !strcmp(s, "true");
        return *bits || !strcmp(s, "false");
    } else if (elem_is_float(t->elem)) {
        *bits = elem_from_double(t->elem, strtod(s, &end));
        errno = 0; /* too large is infinity, too small 0 */
    } else if (elem_is_signed(t->elem)) {
        long long v = strtoll(s, &end, 10);
        *bits = elem_from_int(t->elem, v);
        if (elem_to_int(t->elem, *bits) != v)
            errno = ERANGE;
    } else {
        *bits = strtoull(s, &end, 10);
        if (*s == '-' || elem_from_int(t->elem, (int64_t)*bits) != *bits)
            errno = ERANGE;
    }
    return end != s && !*end && !errno;
}
