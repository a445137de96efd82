/* parse.h: the reader's state; decode.c resolves names with it. */
#ifndef TEGULA_PTX_PARSE_H
#define TEGULA_PTX_PARSE_H

#include "ptx/ptx.h"

typedef enum TokenKind {
    TOK_END,
    TOK_WORD,
    TOK_INT,
    TOK_F32,
    TOK_F64,
    TOK_STRING,
    TOK_MARK
} TokenKind;

typedef struct Token {
    TokenKind kind;
    const char *text; /* of a word or string, in the pool */
    char mark;
    uint64_t value;
    int line;
} Token;

enum { MAX_SCOPES = 32, MAX_NESTED = 8, MAX_DECLARED = 1 << 20, MOST_BYTES = 1 << 30 };

struct Parser {
    Module *mod;
    const char *at; /* behind the token */
    int line;
    Token tok;
    char *err;
    Func *func; /* whose body is read */
    Names *scope[MAX_SCOPES];
    int n_scopes;
    int file, src, col; /* of the last .loc */
    int author; /* the line in front of the assembly that a kernel's author wrote; 0: none */
    bool is_library; /* it is an author's of a library */
    struct Use {     /* of a label that has not been met: looked for as scopes close */
        const char *name;
        int depth, ins, line; /* ins: the branch */
    } *use;
    int n_uses, cap_uses;
    int n_nested;               /* braces and brackets around an operand */
    uint32_t param_at;          /* of .param variables inside a body */
    const char *who;            /* stands in front of every error */
    const OpRow *const *tables; /* the instructions there are; NULL ends them */
    const char *unknown;        /* the error: there is no such instruction */
    int unknown_line;
};

_Noreturn void parse_fail(Parser *p, int line, const char *fmt, ...) PTX_PRINTF(3, 4);
_Noreturn void unexpected(Parser *p, const char *wanted);
void next(Parser *p);
bool is_mark(const Parser *p, char c);
bool take_mark(Parser *p, char c);
void want_mark(Parser *p, char c);
const char *want_name(Parser *p);
bool take_word(Parser *p, const char *word);
void skip_statement(Parser *p); /* to its ';' */
/* module.c: [.align n] [.ptr ..] .type name [[n]] [= values] */
Sym *variable(Parser *p, Space space, bool is_extern);
uint64_t want_int(Parser *p);
Type want_type(Parser *p);

Sym *declare(Parser *p, const char *name, int kind);
void registers(Parser *p); /* behind ".reg" */
void open_scope(Parser *p);
void close_scope(Parser *p); /* its labels are known now */
Sym *find_name(const Parser *p, const char *name);
Reg new_reg(Parser *p, int bytes);

/* decode.c */
void decode_statement(Parser *p);
/* since.c: an error where the architecture has not the instruction. */
void since_check(Dec *d);
/* specials.c: %tid.x and its kin; NULL: no such name */
Sym *special_name(Parser *p, const char *name);

/* Room for one more. */
#define GROW(pool, v, n, cap)                                                          \
    ((n) < (cap) ? (void)0 : (void)((v) = grow((pool), (v), sizeof *(v), (n), &(cap))))
void *grow(Pool *p, void *v, size_t size, int n, int *cap);

#endif
