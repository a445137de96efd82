/* decode: a statement of a function -> an Ins.
 *
 *     @!%p2 ld.global.v2.b32 {%r1, %r2}, [%rd4+16];
 *
 * The text is taken apart here: guard, opcode, modifiers, operands. What it means is the
 * business of the row of the opcode (integer_ops and the others): it takes each modifier
 * it knows, and one that nobody took is an error; so is an operand of the wrong width.
 * Nothing of the text is looked at when the kernel runs.
 */
#include "ptx/parse.h"

#include <stdarg.h>

void
dec_fail(Dec *d, const char *fmt, ...)
{
    char text[PTX_TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    parse_fail(d->p, d->ins->line, "%s: %s", d->text, text);
}

void
dec_unknown(Dec *d, const char *why)
{
    d->p->unknown = d->text;
    d->p->unknown_line = d->ins->line;
    dec_fail(d, "%s", why);
}

void
dec_refuse(Dec *d, bool is_bad)
{
    if (is_bad)
        dec_fail(d, "no such form");
}

void
dec_since(Dec *d, int sm)
{
    if (dec_sm(d) < sm)
        dec_fail(d, "from sm_%d on", sm);
}

void
dec_operands(Dec *d, int n)
{
    if (d->n_opds != n)
        dec_fail(d, "%d operands, not %d", d->n_opds, n);
}

/* ---- modifiers ------------------------------------------------------------------- */

bool
dec_has(Dec *d, const char *word)
{
    for (int i = 0; i < d->n_mods; i++)
        if (!d->used[i] && !strcmp(d->mod[i], word))
            return d->used[i] = true;
    return false;
}

int
dec_one(Dec *d, const char *const *words)
{
    for (int k = 0; words[k]; k++)
        if (dec_has(d, words[k]))
            return k;
    return -1;
}

Type
dec_maybe_type(Dec *d)
{
    for (int i = 0; i < d->n_mods; i++) {
        Type t = d->used[i] ? T_NONE : type_named(d->mod[i]);
        if (t == T_B128)
            dec_fail(d, ".b128 is not simulated");
        if (t) {
            d->used[i] = true;
            return t;
        }
    }
    return T_NONE;
}

Type
dec_type(Dec *d)
{
    Type t = dec_maybe_type(d);
    if (!t)
        dec_fail(d, "a type is missing");
    return t;
}

void
dec_take_all(Dec *d)
{
    memset(d->used, 1, sizeof d->used);
}

bool
dec_in_kernel(const Dec *d)
{
    return d->p->func->is_entry;
}

bool
dec_in_module(const Dec *d)
{
    return d->p->mod->version;
}

int
dec_sm(const Dec *d)
{
    return d->p->mod->sm;
}

void *
dec_more(Dec *d, size_t n)
{
    void *more = pool_alloc(d->p->mod->pool, n);
    d->ins->more = more;
    return more;
}

/* ---- operands -------------------------------------------------------------------- */

static Opd parse_operand(Parser *p);

static Opd
nested_operand(Parser *p)
{
    if (++p->n_nested > MAX_NESTED)
        parse_fail(p, p->tok.line, "operands nested too deeply");
    Opd o = parse_operand(p);
    p->n_nested--;
    return o;
}

/* {..} or (..) */
static Opd
operand_list(Parser *p)
{
    char end = is_mark(p, '{') ? '}' : ')';
    int cap = 0;
    Opd o = {.kind = end == '}' ? OPD_VEC : OPD_LIST};
    next(p);
    while (!take_mark(p, end)) {
        Opd part = nested_operand(p);
        GROW(p->mod->pool, o.part, o.n_parts, cap);
        o.part[o.n_parts++] = part;
        if (!is_mark(p, end))
            want_mark(p, ',');
    }
    return o;
}

/* A name or a number, into o. */
static void
operand_word(Parser *p, Opd *o)
{
    bool minus = take_mark(p, '-');
    Token t = p->tok;
    next(p);
    o->value = t.value;
    if (t.kind == TOK_WORD && !strcmp(t.text, "WARP_SZ") && !minus) {
        o->kind = OPD_INT;
        o->value = LANES;
    } else if (t.kind == TOK_WORD && !minus) {
        o->kind = OPD_NAME;
        o->name = t.text;
        o->value = 0;
        if (take_mark(p, '|'))
            o->second = want_name(p);
    } else if (t.kind == TOK_INT) {
        o->kind = OPD_INT;
        o->value = minus ? -t.value : t.value;
    } else if (t.kind == TOK_F32 || t.kind == TOK_F64) {
        o->kind = t.kind == TOK_F32 ? OPD_F32 : OPD_F64;
        o->value ^= (uint64_t)minus << (t.kind == TOK_F32 ? 31 : 63);
    } else {
        parse_fail(p, t.line, "expected an operand");
    }
}

static uint64_t
operand_offset(Parser *p)
{
    bool minus = is_mark(p, '-');
    next(p);
    minus ^= take_mark(p, '-');
    if (p->tok.kind != TOK_INT)
        parse_fail(p, p->tok.line, "expected an offset");
    uint64_t value = p->tok.value;
    next(p);
    return minus ? -value : value;
}

static Opd
parse_operand(Parser *p)
{
    if (is_mark(p, '{') || is_mark(p, '('))
        return operand_list(p);
    Opd o = {0};
    bool is_mem = take_mark(p, '[');
    o.is_not = take_mark(p, '!');
    operand_word(p, &o);
    if (o.kind == OPD_NAME && (is_mark(p, '+') || (is_mem && is_mark(p, '-'))))
        o.value = operand_offset(p);
    if (is_mem && take_mark(p, ',')) { /* coordinates */
        o.part = POOL_NEW(p->mod->pool, Opd, 1);
        *o.part = nested_operand(p);
        o.n_parts = 1;
    }
    if (is_mem) {
        want_mark(p, ']');
        o.kind = OPD_MEM;
    }
    return o;
}

static void
note_register(Dec *d, Reg r, bool is_out)
{
    int *n = is_out ? &d->n_out : &d->n_in;
    if (*n == MAX_REGS)
        dec_fail(d, "more than %d registers", MAX_REGS);
    (is_out ? d->out : d->in)[(*n)++] = r;
}

static Reg
dec_const(Dec *d, uint64_t value, int bytes, const Sym *sym)
{
    Func *f = d->p->func;
    value &= bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
    for (int i = 0; i < f->n_consts; i++) {
        Const *c = &f->consts[i];
        if (c->value == value && c->reg.bytes == bytes && c->sym == sym)
            return c->reg;
    }
    Reg r = new_reg(d->p, bytes);
    r.id = 0;
    GROW(d->p->mod->pool, f->consts, f->n_consts, f->cap_consts);
    f->consts[f->n_consts++] = (Const){r, value, sym};
    return r;
}

Sym *
dec_sym(Dec *d, const char *name)
{
    Sym *s = find_name(d->p, name);
    return s ? s : special_name(d->p, name);
}

static Reg
dec_name(Dec *d, const char *name, bool is_out)
{
    Sym *s = dec_sym(d, name);
    if (!s || s->kind != SYM_REG)
        dec_fail(d, "%s is not a register", name);
    if (is_out && !s->reg.id)
        dec_fail(d, "%s cannot be written", name);
    note_register(d, s->reg, is_out);
    return s->reg;
}

static uint64_t
literal(Dec *d, const Opd *o, Type t)
{
    if (o->kind == OPD_F64 && t == T_F32)
        return bits_of_f32((float)f64_of_bits(o->value));
    if ((o->kind == OPD_F32 && type_info[t].bytes != 4) ||
        (o->kind == OPD_F64 && type_info[t].bytes != 8))
        dec_fail(d, "a float where %s is wanted", type_info[t].name);
    return t == T_PRED ? o->value != 0 : o->value; /* of a predicate */
}

static Reg
source(Dec *d, Opd *o, Type t, int bytes, bool may_be_wider)
{
    if (o->is_not)
        dec_fail(d, "'!' stands here only in front of a guard");
    switch (o->kind) {
    case OPD_INT:
    case OPD_F32:
    case OPD_F64: {
        Reg r = dec_const(d, literal(d, o, t), bytes, NULL);
        note_register(d, r, false);
        return r;
    }
    case OPD_NAME: {
        Sym *s = dec_sym(d, o->name);
        if (s && s->kind == SYM_VAR) {
            Reg r = dec_const(d, o->value, bytes, s);
            if (bytes < 4)
                dec_fail(d, "the address of %s in %d bytes", s->name, bytes);
            if (strcmp(d->op, "mov") && strcmp(d->op, "cvta")) /* as ptxas has it */
                dec_fail(d, "%s is no register: mov its address into one", s->name);
            note_register(d, r, false);
            return r;
        }
        Reg r = dec_name(d, o->name, false);
        if (may_be_wider ? r.bytes < bytes : r.bytes != bytes)
            dec_fail(d, "%s has %d bits, %d are wanted", o->name, 8 * r.bytes,
                     8 * bytes);
        return r;
    }
    default: dec_fail(d, "an operand of another kind is wanted");
    }
}

static const Type bits_of[] = {[1] = T_PRED, [2] = T_B16, [4] = T_B32, [8] = T_B64};

static Opd *
nth(Dec *d, int k)
{
    if (k >= d->n_opds)
        dec_fail(d, "operand %d is missing", k + 1);
    return &d->opd[k];
}

Reg
dec_in_opd(Dec *d, Opd *o, int bytes)
{
    return source(d, o, bits_of[bytes], bytes, false);
}

Reg
dec_in(Dec *d, int k, int bytes)
{
    return dec_in_opd(d, nth(d, k), bytes);
}

Reg
dec_in_typed(Dec *d, int k, Type t)
{
    return source(d, nth(d, k), t, type_info[t].bytes, false);
}

Reg
dec_in_wide(Dec *d, Opd *o, int least)
{
    return source(d, o, least == 1 ? T_B8 : bits_of[least], least, true);
}

static Reg
target(Dec *d, Opd *o, int bytes, bool may_be_wider)
{
    if (o->kind != OPD_NAME)
        dec_fail(d, "the result goes to no register");
    if (!strcmp(o->name, "_")) {
        Reg r = new_reg(d->p, bytes);
        note_register(d, r, true);
        return r;
    }
    Reg r = dec_name(d, o->name, true);
    if (may_be_wider ? r.bytes < bytes : r.bytes != bytes)
        dec_fail(d, "%s has %d bits, the result %d", o->name, 8 * r.bytes, 8 * bytes);
    return r;
}

Reg
dec_out_opd(Dec *d, Opd *o, int bytes)
{
    return target(d, o, bytes, false);
}

Reg
dec_out(Dec *d, int k, int bytes)
{
    return dec_out_opd(d, nth(d, k), bytes);
}

void
dec_out_and_truth(Dec *d, int bytes)
{
    dec_out(d, 0, bytes);
    if (d->opd[0].second)
        dec_out_opd(d, &(Opd){.kind = OPD_NAME, .name = d->opd[0].second}, 1);
}

Reg
dec_out_wide(Dec *d, Opd *o, int least)
{
    return target(d, o, least, true);
}

void
dec_vector(Dec *d, int k, int n, int bytes, Reg (*take)(Dec *d, Opd *o, int bytes))
{
    Opd *o = nth(d, k);
    if (o->kind == OPD_VEC ? o->n_parts != n : n != 1)
        dec_fail(d, "operand %d has not %d registers", k + 1, n);
    for (int e = 0; e < n; e++)
        take(d, o->kind == OPD_VEC ? &o->part[e] : o, bytes);
}

const Sym *
dec_address(Dec *d, int k)
{
    Opd *o = nth(d, k);
    Ins *i = d->ins;
    if (o->kind != OPD_MEM || o->n_parts)
        dec_fail(d, "operand %d is no address", k + 1);
    if (!o->name) {
        note_register(d, dec_const(d, o->value, 8, NULL), false);
        return NULL;
    }
    i->imm = (int64_t)o->value;
    Sym *s = dec_sym(d, o->name);
    if (s && s->kind == SYM_VAR) {
        if (i->space == SPACE_GENERIC)
            i->space = (uint8_t)s->space;
        note_register(d, dec_const(d, 0, 8, s), false);
        return s;
    }
    Reg r = dec_name(d, o->name, false);
    if (r.bytes < 4)
        dec_fail(d, "an address of %d bits", 8 * r.bytes);
    return NULL;
}

int
dec_literal(Dec *d, int k, int64_t *value)
{
    if (nth(d, k)->kind != OPD_INT)
        return 0;
    *value = (int64_t)d->opd[k].value;
    return 1;
}

void
dec_label(Dec *d, const char *name)
{
    Parser *p = d->p;
    GROW(p->mod->pool, p->use, p->n_uses, p->cap_uses);
    p->use[p->n_uses++] = (struct Use){name, p->n_scopes, p->func->n_code,
                                       d->ins->line};
}

/* ---- statements ------------------------------------------------------------------ */

static const OpRow *
row_of(const Parser *p, const char *op)
{
    for (int t = 0; p->tables[t]; t++)
        for (const OpRow *r = p->tables[t]; r->name; r++)
            if (!strcmp(r->name, op))
                return r;
    return NULL;
}

/* "ld.global.L1::evict_last.b32" -> op, mod[]. */
static void
split_opcode(Dec *d)
{
    char *s = pool_text(d->p->mod->pool, d->text, strlen(d->text));
    char *dot = strchr(s, '.');
    snprintf(d->op, sizeof d->op, "%.*s", dot ? (int)(dot - s) : 23, s);
    while (dot) {
        *dot = 0;
        if (d->n_mods == MAX_MODS)
            dec_fail(d, "more than %d modifiers", MAX_MODS);
        d->mod[d->n_mods++] = dot + 1;
        dot = strchr(dot + 1, '.');
    }
}

static void
finish(Dec *d)
{
    Func *f = d->p->func;
    Ins *i = d->ins;
    for (int k = 0; k < d->n_mods; k++)
        if (!d->used[k])
            dec_fail(d, ".%s is not simulated", d->mod[k]);
    if (i->space == SPACE_CLUSTER && dec_sm(d) < 90)
        dec_fail(d, "clusters are of sm_90 on");
    since_check(d);
    i->meets |= i->is_aligned || i->flow == FLOW_BARRIER || i->flow == FLOW_CLUSTER;
    Reg *regs = POOL_NEW(d->p->mod->pool, Reg, d->n_out + d->n_in + 1);
    memcpy(regs, d->out, sizeof(Reg) * (size_t)d->n_out);
    memcpy(regs + d->n_out, d->in, sizeof(Reg) * (size_t)d->n_in);
    i->out = regs;
    i->in = regs + d->n_out;
    i->n_out = (uint8_t)d->n_out;
    i->n_in = (uint8_t)d->n_in;
    GROW(d->p->mod->pool, f->code, f->n_code, f->cap_code);
    f->code[f->n_code++] = *i;
}

static void
put_label(Parser *p, const char *name)
{
    Names *scope = p->scope[p->n_scopes - 1];
    if (names_get(scope, name))
        parse_fail(p, p->tok.line, "%s is declared twice", name);
    Sym *s = POOL_NEW(p->mod->pool, Sym, 1);
    *s = (Sym){.kind = SYM_LABEL, .name = name, .target = p->func->n_code};
    names_set(scope, name, s);
}

/* What the words of an access say of its order; they stay to be taken. */
static void
dec_order(Dec *d)
{
    for (int k = 0; k < d->n_mods; k++) {
        const char *w = d->mod[k];
        bool both = !strcmp(w, "acq_rel") || !strcmp(w, "volatile");
        d->ins->order |= (uint8_t)(both || !strcmp(w, "acquire") ? ORDER_ACQUIRE : 0);
        d->ins->order |= (uint8_t)(both || !strcmp(w, "release") ? ORDER_RELEASE : 0);
    }
}

void
decode_statement(Parser *p)
{
    Dec *d = &(Dec){.p = p};
    d->ins = &(Ins){.line = p->tok.line,
                    .file = p->file,
                    .src = p->src,
                    .col = p->col,
                    .target = -1};
    d->text = "@";
    if (take_mark(p, '@')) {
        d->ins->has_guard = true;
        d->ins->guard_not = take_mark(p, '!');
        Sym *s = dec_sym(d, want_name(p));
        if (!s || s->kind != SYM_REG || s->type != T_PRED)
            dec_fail(d, "the guard is no predicate");
        d->ins->guard = s->reg;
    }
    d->text = d->ins->words = want_name(p);
    if (take_mark(p, ':')) {
        put_label(p, d->text);
        return;
    }
    d->ins->line = p->tok.line;
    d->ins->author_line = p->author ? d->ins->line - p->author : 0;
    d->ins->is_library = p->author && p->is_library;
    split_opcode(d);
    dec_order(d);
    while (!take_mark(p, ';')) {
        if (d->n_opds == MAX_OPDS)
            dec_fail(d, "more than %d operands", MAX_OPDS);
        d->opd[d->n_opds++] = parse_operand(p);
        if (!is_mark(p, ';'))
            want_mark(p, ',');
    }
    const OpRow *row = row_of(p, d->op);
    if (!row)
        dec_unknown(d, "this instruction is not simulated");
    row->decode(d);
    finish(d);
}
