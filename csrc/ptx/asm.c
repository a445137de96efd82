/* asm: the text of a kernel's assembly -> instructions.
 *
 * LLVM's spelling becomes PTX's: $1, ${1}, ${1:r} are names of registers, which the
 * constraints declare, $$ is a dollar, ${:uid} a number. The rest is a body of a function:
 * declarations of registers, braces, labels, statements.
 *
 * Lanes are packs of elements here, not threads of a warp, and a program is one thread: what
 * lanes do together (shuffles, votes, barriers, matrices) is known by name and refused. Where
 * there are threads, it is there: thread_tables.
 */
#include "ptx/async.h"
#include "ptx/run.h"

#include <ctype.h>

enum { MOST_FILE = 1 << 20, MOST_TEXT = 1 << 20, MOST_SHARED = 48 << 10 }; /* bytes */

/* ---- instructions that are refused ----------------------------------------------- */

static void
dec_across(Dec *d)
{
    dec_unknown(d, "threads work together in it");
}

static void
dec_write_alone(Dec *d)
{
    if (dec_has(d, "async"))
        dec_across(d);
    (d->op[0] == 'r' ? dec_atomic : dec_st)(d);
}

static void
dec_leave(Dec *d)
{
    dec_fail(d, "assembly cannot leave the kernel");
}

static void
dec_call(Dec *d)
{
    dec_fail(d, "there is nothing to call");
}

static const OpRow refused_ops[] = {
    {"activemask", dec_across}, {"bar", dec_across},      {"barrier", dec_across},
    {"cp", dec_across},         {"elect", dec_across},    {"getctarank", dec_across},
    {"ldmatrix", dec_across},   {"mapa", dec_across},     {"match", dec_across},
    {"mbarrier", dec_across},   {"mma", dec_across},      {"movmatrix", dec_across},
    {"multimem", dec_across},   {"redux", dec_across},    {"setmaxnreg", dec_across},
    {"shfl", dec_across},       {"stmatrix", dec_across}, {"tcgen05", dec_across},
    {"vote", dec_across},       {"wgmma", dec_across},    {"wmma", dec_across},
    {"st", dec_write_alone},    {"red", dec_write_alone}, {"call", dec_call},
    {"exit", dec_leave},        {"ret", dec_leave},       {NULL, NULL},
};

bool
ptx_asm_meets(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_$%";
    if (strstr(text, ".shared ") || strstr(text, ".shared\t") ||
        strstr(text, "st.async") || strstr(text, "red.async"))
        return true; /* a variable; what is not there by its first word */
    for (const char *p = text; *p;) {
        size_t n = strspn(p, letters);
        for (const OpRow *r = refused_ops; n && r->name; r++)
            if (r->decode == dec_across && strlen(r->name) == n &&
                !strncmp(r->name, p, n) && (p[n] == '.' || p[n] == ' '))
                return true;
        p += n + (p[n] == '.' ? 1 + strspn(p + n + 1, letters) : p[n] != 0);
    }
    return false;
}

/* The first that knows an opcode has it. */
static const OpRow *const tables[] = {integer_ops, narrow_ops, logic_ops,
                                      compare_ops, float_ops,  convert_ops,
                                      refused_ops, memory_ops, atomic_ops,
                                      flow_ops,    NULL};
static const OpRow *const thread_tables[] = {
    integer_ops, narrow_ops, logic_ops,   compare_ops, float_ops, convert_ops,
    async_ops,   memory_ops, atomic_ops,  flow_ops,    warp_ops,  mbarrier_ops,
    matrix_ops,  wmma_ops,   cluster_ops, refused_ops, NULL};

/* ---- LLVM's spelling ------------------------------------------------------------- */

typedef struct Spelling {
    Parser *p;
    const char *in;
    char *out;
    size_t n;
    int line;
    bool is_llvms; /* it knows alternatives, too: "$(a$|b$)" */
} Spelling;

static void
spell(Spelling *s, const char *text)
{
    size_t n = strlen(text);
    memcpy(s->out + s->n, text, n);
    s->n += n;
}

/* Behind a '$'. What is put is never longer than three times what is taken. */
static void
dollar(Spelling *s, int n_operands)
{
    static const struct {
        const char *word, *put;
    } words[] = {{":uid}", "0"}, {":comment}", "//"}, {":private}", "L__"}};
    char name[32];
    bool brace = *s->in == '{';
    s->in += brace;
    if (*s->in == '$' && !brace) {
        s->in++;
        spell(s, "$");
        return;
    }
    for (size_t w = 0; brace && w < sizeof words / sizeof *words; w++) {
        size_t n = strlen(words[w].word);
        if (!strncmp(s->in, words[w].word, n)) {
            s->in += n;
            spell(s, words[w].put);
            return;
        }
    }
    if (s->is_llvms && !brace && *s->in && strchr("(|)", *s->in))
        return;
    if (!isdigit((unsigned char)*s->in))
        parse_fail(s->p, s->line,
                   "'$' wants the number of an operand; a dollar is '$$'");
    long k = 0;
    while (isdigit((unsigned char)*s->in) && k < PTX_MAX_OPERANDS)
        k = 10 * k + (*s->in++ - '0');
    if (k >= n_operands)
        parse_fail(s->p, s->line, "there is no $%ld: the constraints name %d registers",
                   k, n_operands);
    if (brace && !strncmp(s->in, ":r", 2))
        s->in += 2; /* a register, as it is without */
    if (brace && *s->in == ':')
        parse_fail(s->p, s->line, "'${%ld%.2s': a register has no modifier but ':r'", k,
                   s->in);
    if (brace && *s->in++ != '}')
        parse_fail(s->p, s->line, "'${%ld' without '}'", k);
    snprintf(name, sizeof name, "$%ld", k);
    spell(s, name);
}

/* The text in PTX's spelling, as the body of a function. */
static const char *
spelled(Parser *p, const char *text, int n_operands, bool is_llvms)
{
    size_t n = strlen(text);
    if (n > MOST_TEXT)
        parse_fail(p, 1, "more than %d characters", MOST_TEXT);
    Spelling s = {.p = p, .in = text, .line = 1, .is_llvms = is_llvms};
    s.out = pool_alloc(p->mod->pool, 3 * n + 4);
    while (*s.in) {
        if (*s.in == '$') {
            s.in++;
            dollar(&s, n_operands);
            continue;
        }
        s.line += *s.in == '\n';
        s.out[s.n++] = *s.in++;
    }
    return s.out;
}

/* ---- the body -------------------------------------------------------------------- */

static Reg
operand_register(Parser *p, const PtxForm *f, int k)
{
    static const struct {
        char letter;
        Type type;
    } rows[] = {{'b', T_PRED}, {'h', T_B16}, {'r', T_B32},
                {'f', T_F32},  {'l', T_B64}, {'d', T_F64}};
    char name[16];
    snprintf(name, sizeof name, "$%d", k);
    Sym *s = declare(p, pool_text(p->mod->pool, name, strlen(name)), SYM_REG);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].letter == f->letter[k])
            s->type = rows[i].type;
    bool is_tied = k >= f->n_out && f->tied[k] >= 0;
    if (!is_tied)
        return s->reg = new_reg(p, type_info[s->type].bytes);
    snprintf(name, sizeof name, "$%d", f->tied[k]);
    return s->reg = find_name(p, name)->reg;
}

/* What is known by name, but not here. */
static _Noreturn void
not_here(Parser *p, const char *what, int line)
{
    p->unknown = what;
    p->unknown_line = line;
    parse_fail(p, line, "%s is not there", what);
}

static bool
has_threads(const Parser *p)
{
    return p->tables == thread_tables;
}

/* The last instruction: where it goes, and whom it waits for. */
static void
check_last(Parser *p)
{
    Func *f = p->func;
    Ins *i = f->n_code ? &f->code[f->n_code - 1] : NULL;
    if (!i)
        return;
    bool is_shared = i->space == SPACE_SHARED || i->space == SPACE_CLUSTER;
    if (i->space > SPACE_GLOBAL && !(is_shared && has_threads(p)) &&
        strncmp(i->words, "isspacep", 8) != 0)
        not_here(p, i->words, i->line);
    if (!strncmp(i->words, "activemask", 10))
        i->meets = true;
}

/* .shared .align 16 .b8 name[64]; */
static void
shared_variable(Parser *p)
{
    const Module *m = p->mod;
    if (!has_threads(p))
        not_here(p, ".shared", p->tok.line);
    next(p);
    const Sym *s = variable(p, SPACE_SHARED, false);
    want_mark(p, ';');
    if (!s->size || s->align > MOST_SHARED || s->size > MOST_SHARED ||
        m->shared_bytes > MOST_SHARED)
        parse_fail(p, p->tok.line, "more than %d bytes of shared memory", MOST_SHARED);
}

static void
statement(Parser *p)
{
    if (take_mark(p, ';'))
        return;
    if (take_word(p, ".reg")) {
        registers(p);
    } else if (take_word(p, ".pragma")) {
        skip_statement(p);
    } else if (p->tok.kind == TOK_WORD && !strcmp(p->tok.text, ".shared")) {
        shared_variable(p);
    } else if (p->tok.kind == TOK_WORD && p->tok.text[0] == '.') {
        not_here(p, p->tok.text, p->tok.line);
    } else {
        decode_statement(p);
        check_last(p);
    }
    if (p->func->file_bytes > MOST_FILE)
        parse_fail(p, p->tok.line, "too many registers");
}

static void
body(Parser *p)
{
    int depth = p->n_scopes;
    for (;;) {
        if (p->tok.kind == TOK_END && p->n_scopes == depth)
            break;
        if (p->tok.kind == TOK_END)
            unexpected(p, "'}'");
        if (take_mark(p, '{'))
            open_scope(p);
        else if (p->n_scopes > depth && take_mark(p, '}'))
            close_scope(p);
        else
            statement(p);
    }
    close_scope(p);
    if (p->n_uses)
        parse_fail(p, p->use[0].line, "there is no label %s", p->use[0].name);
}

/* ---- all of it ------------------------------------------------------------------- */

/* Registers as they are before the first instruction, but for special ones. */
static void
first_image(PtxAsm *a, const Func *f)
{
    a->image = pool_alloc(a->pool, f->file_bytes + 64);
    Lanes lanes = {.file = a->image};
    for (int k = 0; k < f->n_consts; k++) {
        uint64_t v[LANES];
        for (int l = 0; l < LANES; l++)
            v[l] = f->consts[k].value;
        lanes_put(&lanes, f->consts[k].reg, (uint32_t)FULL, v);
    }
}

static void
read_all(PtxAsm *a, Parser *p, const char *text, int sm, char *err)
{
    const char *nl = strchr(text, '\n');
    p->mod = POOL_NEW(a->pool, Module, 1);
    p->mod->pool = a->pool;
    p->mod->sm = sm & (PTX_THREADS - 1);
    p->func = POOL_NEW(a->pool, Func, 1);
    p->func->mod = p->mod;
    p->func->is_entry = true;
    p->err = err;
    p->who = "";
    p->tables = sm & PTX_THREADS ? thread_tables : tables;
    p->line = 1;
    if (!nl)
        parse_fail(p, 1, "assembly without constraints");
    if (!ptx_form_read(&a->form, text, (size_t)(nl - text), err))
        longjmp(*pool_stop(a->pool), 1);
    int n = a->form.n_out + a->form.n_in;
    open_scope(p); /* of a module: names of the operands */
    open_scope(p); /* of the function: special registers */
    a->reg = POOL_NEW(a->pool, Reg, n + 1);
    for (int k = 0; k < n; k++)
        a->reg[k] = operand_register(p, &a->form, k);
    p->at = spelled(p, nl + 1, n, sm & PTX_SPELLING);
    if (sm & PTX_SPELLING)
        return;
    next(p);
    body(p);
    a->func = p->func;
    a->meets = p->mod->shared_bytes > 0;
    for (int k = 0; k < p->func->n_code; k++)
        a->meets |= p->func->code[k].meets || p->func->code[k].is_threads_own ||
                    p->func->code[k].flow == FLOW_CLUSTER;
    first_image(a, p->func);
}

/* Names and bytes of the text that are not ASCII would not be text in an error. */
static void
make_printable(char *err)
{
    for (char *c = err; *c; c++)
        if ((unsigned char)*c > 126 || (unsigned char)*c < 32)
            *c = '?';
}

PtxStatus
ptx_asm_new(const char *text, int sm, PtxAsm **out, char err[PTX_ERROR])
{
    _Static_assert((int)PTX_ERROR == (int)PTX_TEXT, "one size of messages");
    Pool *pool = pool_new();
    Parser *volatile p = NULL;
    *err = 0;
    if (!pool)
        return PTX_NO_MEMORY;
    if (setjmp(*pool_stop(pool))) {
        PtxStatus s = !*err ? PTX_NO_MEMORY : p && p->unknown ? PTX_UNKNOWN : PTX_BAD;
        if (s == PTX_UNKNOWN)
            snprintf(err, PTX_ERROR, "'%.200s' in line %d of the assembly", p->unknown,
                     p->unknown_line);
        make_printable(err);
        pool_free(pool);
        return s;
    }
    PtxAsm *a = POOL_NEW(pool, PtxAsm, 1);
    a->pool = pool;
    p = POOL_NEW(pool, Parser, 1);
    read_all(a, p, text, sm, err);
    *out = a;
    return PTX_OK;
}

void
ptx_asm_free(PtxAsm *a)
{
    if (a)
        pool_free(a->pool);
}
