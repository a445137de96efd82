/* module: PTX's text -> a Module: directives, variables, functions; what stands in a function
 * and is no declaration is one instruction, and ptx/decode.c's.
 *
 * What is not understood is an error with its line; directives for debuggers and for the
 * assembler's scheduling are known by name and passed over.
 */
#include "ptx/parse.h"
#include "ptx/engine.h"

/* ---- variables ------------------------------------------------------------------- */

static uint64_t
literal_of(Parser *p, Type t)
{
    bool minus = take_mark(p, '-');
    uint64_t v = p->tok.value;
    if (p->tok.kind == TOK_F64 && t == T_F32) {
        double x = f64_of_bits(v);
        v = bits_of_f32((float)(minus ? -x : x)), minus = false;
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
place_sym(Parser *p, Sym *s)
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
            place_sym(p, s);
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

Sym *
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
        uint64_t n = is_mark(p, ']') ? 0 : want_int(p);
        s->is_extern |= is_extern && !n;
        if (n && s->size > MOST_BYTES / n)
            parse_fail(p, p->tok.line, "%s is too large", s->name);
        s->size *= n;
        want_mark(p, ']');
    }
    if (is_extern && space != SPACE_SHARED)
        parse_fail(p, p->tok.line, "%s is nowhere defined", s->name);
    if (s->align & (s->align - 1))
        parse_fail(p, p->tok.line, "an alignment of %u", s->align);
    place_sym(p, s);
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

void
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
    p->col = (int)want_int(p);
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

static void
body(Parser *p, Func *f)
{
    f->has_body = true;
    f->param_bytes = p->param_at;
    p->file = p->src = p->col = 0;
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
    Sym *old = names_get(p->scope[0], f->name);
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

/* The first that knows an opcode has it: `st` is async.c's before it is memory.c's. */
static const OpRow *const tables[] = {
    async_ops,   matrix_ops, wmma_ops,  wgmma_ops,   control_ops,  cluster_ops,
    integer_ops, narrow_ops, logic_ops, compare_ops, float_ops,    convert_ops,
    memory_ops,  atomic_ops, flow_ops,  warp_ops,    mbarrier_ops, NULL};

static Module *
parse_into(Pool *pool, const char *text, char err[PTX_TEXT])
{
    Parser *p = POOL_NEW(pool, Parser, 1);
    p->mod = POOL_NEW(pool, Module, 1);
    p->mod->pool = pool;
    p->at = text;
    p->line = 1;
    p->err = err;
    p->who = "";
    p->tables = tables;
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
module_parse(const char *text, char err[PTX_TEXT])
{
    Pool *pool = pool_new();
    snprintf(err, PTX_TEXT, "out of memory");
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
    Sym *s = names_get(m->names, name);
    return s && s->kind == SYM_FUNC && s->func->is_entry ? s->func : NULL;
}
