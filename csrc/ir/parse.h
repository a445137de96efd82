/* parse.h: the characters and words of tile IR's text; for parse.c and tokens.c alone.
 *
 * Every function skips white space and comments first, and ends in ERR_PARSE_IR when it
 * does not find what it must.
 */
#ifndef TEGULA_IR_PARSE_H
#define TEGULA_IR_PARSE_H

#include "ir/ir.h"

typedef struct Parser {
    Comp *c;
    const char *text;    /* all of it */
    const char *file;    /* its name, for messages */
    const char *at;      /* the next character */
    Func *f;             /* what is being read */
    Map vals;            /* name -> Val */
    Map layouts;         /* name -> text of the layout */
    int depth;           /* regions around `at` */
    const char *line_at; /* start of line number `line`, somewhere at or above `at` */
    int line;
} Parser;

/* A word of the text, where it stands there. */
typedef struct Name {
    const char *at;
    size_t n;
} Name;

static inline bool
is_word_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
           (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' ||
           (unsigned char)ch >= 0x80;
}

static inline bool
is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static inline bool
tok_is(Name w, const char *s)
{
    return strlen(s) == w.n && memcmp(w.at, s, w.n) == 0;
}

/* Where at..end stands in the text. */
const Loc *tok_loc(Parser *p, const char *at, const char *end);

/* The error at `at`. */
#define fail(p, ...)                                                                   \
    err_at((p)->c, tok_loc((p), (p)->at, (p)->at + 1), PARSE_IR,                       \
           str_printf((p)->c->arena, __VA_ARGS__))

void tok_skip(Parser *p);
bool tok_accept(Parser *p, const char *s);
void tok_expect(Parser *p, const char *s);

/* Characters that make a word; `what` is for the message when there are none. */
Name tok_word(Parser *p, const char *what);

/* The whole word s, not only its beginning. */
bool tok_accept_word(Parser *p, const char *s);

/* Decimal or 0x, with an optional minus, in lo..hi. */
int64_t tok_integer(Parser *p, int64_t lo, int64_t hi);

/* "..", its escapes resolved, interned. */
const char *tok_string(Parser *p);

SharedPlace *parse_place(Parser *p); /* place.c: what stands behind "shared" */

#endif
