/* parse: text to tile IR, the inverse of print.c. The grammar is in README.md.
 *
 *     file    = {"#" name "=" layout newline} func
 *     func    = "func" "@" name "(" [param {"," param}] ")" ["ctas" int] [loc] "{" {op} "}"
 *     param   = value ":" type ["{" fact {"," fact} "}"]    fact: slot=2  div16  ?div16
 *     op      = [value {"," value} "="] word [string] [literal | value {"," value}]
 *               ["{" attr {"," attr} "}"] [":" type {"," type}] {region} [loc]
 *     region  = ["else"] ["^" "(" value ":" type {"," ..} ")"] "{" {op} "}"
 *     type    = (block | "smem" "<" int "x" block ">") ["#" name]
 *     block   = (elem | "ptr" "<" ["const"] elem ">") ["[" int {"," int} "]"]
 *               ["#" name]
 *     literal = number | "true" | "false" | ["-"] "inf" | "nan"
 *             | "splat" "(" literal ")"
 *
 * "//" starts a comment. The first operand stands on the line of its op: a value on the
 * next line is a result of the next op. A "{" that is followed by `word =` opens
 * attributes, else a region. An op without loc gets its place in this text as its
 * location, so that later messages point here.
 *
 * Rule 1: any text gives IR or ERR_PARSE_IR; what is left to ir_verify (counts, types)
 *         must not hurt the builder. Sizes are bounded here: dims, ranks, nesting.
 * Rule 2: a value is defined above its uses; there are no forward references.
 */
#include "ir/ir.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_DEPTH = 100 }; /* of regions: the parser, verifier and passes recurse */

typedef struct Parser {
    Comp *c;
    const char *text, *at;
    Func *f;
    Map vals;    /* name -> Val */
    Map layouts; /* name -> text of the layout */
    int depth;
    const char *line_at; /* start of line number `line`, somewhere at or above `at` */
    int line;
} Parser;

typedef VEC(Val *) Vals;
typedef VEC(const Type *) Types;
typedef struct Name {
    const char *at;
    size_t n;
} Name;
typedef VEC(Name) Names;

static void parse_ops(Parser *p, Block *b);

/* ---- places and characters ------------------------------------------------------ */

static const Loc *
loc_at(Parser *p, const char *at, const char *end)
{
    if (at < p->line_at)
        p->line_at = p->text, p->line = 1;
    for (const char *s = p->line_at; s < at; s++)
        if (*s == '\n')
            p->line++, p->line_at = s + 1;
    int col = (int)(at - p->line_at);
    return loc_new(p->c, "tir", NULL, p->line, col, p->line, col + (int)(end - at),
                   NULL);
}

#define fail(p, ...)                                                                   \
    err_at((p)->c, loc_at((p), (p)->at, (p)->at + 1), PARSE_IR,                        \
           str_printf((p)->c->arena, __VA_ARGS__))

static void
skip(Parser *p)
{
    for (;;) {
        p->at += strspn(p->at, " \t\r\n");
        if (p->at[0] != '/' || p->at[1] != '/')
            return;
        p->at += strcspn(p->at, "\n");
    }
}

static bool
accept(Parser *p, const char *s)
{
    skip(p);
    size_t n = strlen(s);
    if (strncmp(p->at, s, n) != 0)
        return false;
    p->at += n;
    return true;
}

static void
expect(Parser *p, const char *s)
{
    if (!accept(p, s))
        fail(p, "expected '%s'", s);
}

static bool
is_word_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
           (ch >= '0' && ch <= '9') || ch == '_' || ch == '.' ||
           (unsigned char)ch >= 0x80;
}

static bool
is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static Name
word(Parser *p, const char *what)
{
    skip(p);
    Name w = {p->at, 0};
    while (is_word_char(p->at[w.n]))
        w.n++;
    if (!w.n)
        fail(p, "expected %s", what);
    p->at += w.n;
    return w;
}

static bool
is(Name w, const char *s)
{
    return strlen(s) == w.n && memcmp(w.at, s, w.n) == 0;
}

static bool
accept_word(Parser *p, const char *s)
{
    skip(p);
    size_t n = strlen(s);
    if (strncmp(p->at, s, n) != 0 || is_word_char(p->at[n]))
        return false;
    p->at += n;
    return true;
}

/* Decimal or 0x, with an optional minus, in lo..hi. */
static int64_t
integer(Parser *p, int64_t lo, int64_t hi)
{
    skip(p);
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

static const char *
string(Parser *p)
{
    Sb sb = {.a = p->c->arena};
    expect(p, "\"");
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

/* ("a.py":41:10-41:19 "f", "b.py":58:4-58:20): the place, then the calls that led
 * there. */
static const Loc *
parse_loc(Parser *p)
{
    if (!accept_word(p, "loc"))
        return NULL;
    expect(p, "(");
    Loc *first = NULL, **next = &first;
    do {
        Loc *l = NEW(p->c->arena, Loc);
        l->file = string(p);
        expect(p, ":"), l->line = (int)integer(p, 0, INT32_MAX);
        expect(p, ":"), l->col = (int)integer(p, 0, INT32_MAX);
        expect(p, "-"), l->end_line = (int)integer(p, 0, INT32_MAX);
        expect(p, ":"), l->end_col = (int)integer(p, 0, INT32_MAX);
        skip(p);
        if (*p->at == '"')
            l->func = string(p);
        *next = l;
        next = (Loc **)&l->caller;
    } while (accept(p, ","));
    expect(p, ")");
    return first;
}

/* ---- types ---------------------------------------------------------------------- */

static Elem
parse_elem(Parser *p)
{
    skip(p);
    const char *start = p->at;
    Name w = word(p, "a type");
    for (int e = 0; e < N_ELEM; e++)
        if (is(w, elem_info[e].text))
            return (Elem)e;
    p->at = start;
    fail(p, "unknown type '%.*s'", (int)w.n, w.at);
}

static const Type *
with_layout(Parser *p, const Type *t)
{
    const char *start = p->at;
    expect(p, "#");
    Name w = word(p, "a layout");
    const char *text = map_get(&p->layouts, w.at, w.n);
    p->at = start;
    if (!text)
        fail(p, "unknown layout '#%.*s'", (int)w.n, w.at);
    if (!t->rank)
        fail(p, "a scalar has no layout");
    uint8_t log2_shape[MAX_RANK];
    ty_log2_shape(t, log2_shape);
    const Layout *l = layout_parse(p->c, t->rank, log2_shape, &text);
    text += strspn(text, " \t\r");
    if (!l || (*text && *text != '\n' && strncmp(text, "//", 2) != 0))
        fail(p, "layout '#%.*s' does not fit this shape", (int)w.n, w.at);
    expect(p, "#");
    p->at += w.n;
    return ty_with_layout(p->c, t, l);
}

static const Type *
parse_block_type(Parser *p)
{
    const Type *t;
    if (accept_word(p, "ptr")) {
        expect(p, "<");
        bool is_const = accept_word(p, "const");
        t = ty_ptr(p->c, parse_elem(p), is_const);
        expect(p, ">");
    } else {
        t = ty_scalar(p->c, parse_elem(p));
    }
    if (accept(p, "[")) {
        int32_t shape[MAX_RANK];
        int rank = 0;
        int64_t numel = 1;
        do {
            if (rank == MAX_RANK)
                fail(p, "more than %d dims", MAX_RANK);
            shape[rank] = (int32_t)integer(p, 1, MAX_NUMEL);
            numel *= shape[rank++];
            if (numel > MAX_NUMEL)
                fail(p, "a block of more than %d elements", MAX_NUMEL);
        } while (accept(p, ","));
        expect(p, "]");
        t = ty_block(p->c, t, rank, shape);
    }
    return t;
}

static const Type *
parse_type(Parser *p)
{
    const Type *t;
    if (accept_word(p, "smem")) {
        expect(p, "<");
        int slots = (int)integer(p, 1, MAX_SLOTS);
        if (!accept_word(p, "x"))
            fail(p, "expected 'x'");
        t = parse_block_type(p);
        expect(p, ">");
        t = ty_smem(p->c, t, slots, NULL);
    } else {
        t = parse_block_type(p);
    }
    skip(p);
    return *p->at == '#' ? with_layout(p, t) : t;
}

/* ---- values --------------------------------------------------------------------- */

static Name
value_name(Parser *p)
{
    expect(p, "%");
    if (!is_word_char(*p->at))
        fail(p, "expected the name of a value");
    return word(p, "a name");
}

static void
define(Parser *p, Name n, Val *v)
{
    if (map_get(&p->vals, n.at, n.n)) {
        p->at = n.at - 1;
        fail(p, "%%%.*s is defined twice", (int)n.n, n.at);
    }
    map_put(&p->vals, n.at, n.n, v);
    if (!is_digit(*n.at))
        v->name = str_intern_n(p->c, n.at, n.n);
}

static Val *
value(Parser *p)
{
    Name n = value_name(p);
    Val *v = map_get(&p->vals, n.at, n.n);
    if (!v) {
        p->at = n.at - 1;
        fail(p, "%%%.*s is not defined above", (int)n.n, n.at);
    }
    return v;
}

/* ---- constants ------------------------------------------------------------------ */

/* The characters of a number or word, to be understood once the type is known. */
static Name
literal_text(Parser *p)
{
    skip(p);
    Name w = {p->at, 0};
    while (is_word_char(p->at[w.n]) || p->at[w.n] == '-' || p->at[w.n] == '+')
        w.n++;
    if (!w.n)
        fail(p, "expected a constant");
    p->at += w.n;
    return w;
}

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

static uint64_t
literal_bits(Parser *p, Name w, const Type *t)
{
    uint64_t bits;
    const char *s = str_printf(p->c->arena, "%.*s", (int)w.n, w.at);
    if (!elem_parse(ty_element(p->c, t), s, &bits)) {
        p->at = w.at;
        fail(p, "'%s' is no constant of type %s", s, ty_str(p->c->arena, t));
    }
    return bits;
}

static Name
parse_literal(Parser *p, bool *is_splat)
{
    *is_splat = accept_word(p, "splat");
    if (*is_splat)
        expect(p, "(");
    Name w = literal_text(p);
    if (*is_splat)
        expect(p, ")");
    return w;
}

/* ---- attributes ----------------------------------------------------------------- */

static bool
attr_by_name(const Op *o, Name w, Attr *a)
{
    for (int i = 0; i < info(o)->n_attrs; i++)
        if (is(w, attr_info[info(o)->attrs[i]].text)) {
            *a = (Attr)info(o)->attrs[i];
            return true;
        }
    return false;
}

static int64_t
attr_list(Parser *p, Attr a)
{
    int width = a == ATTR_PERM ? 4 : 8, n = 0;
    uint64_t v = 0;
    do {
        if (n == MAX_RANK)
            fail(p, "more than %d dims", MAX_RANK);
        v |= (uint64_t)integer(p, 0, (1 << width) - 1) << (width * n++);
    } while (accept(p, ","));
    expect(p, "]");
    return (int64_t)v;
}

static int64_t
attr_value(Parser *p, Attr a)
{
    skip(p);
    const char *start = p->at, *words = attr_info[a].words;
    if (accept(p, "["))
        return attr_list(p, a);
    if (is_digit(*p->at) || *p->at == '-')
        return integer(p, INT64_MIN, INT64_MAX);
    Name w = word(p, "a value");
    int64_t i = 0;
    for (const char *s = words; s && *s; i++) {
        size_t n = strcspn(s, " ");
        if (is(w, str_printf(p->c->arena, "%.*s", (int)n, s)))
            return i;
        s += n + (s[n] == ' ');
    }
    p->at = start;
    fail(p, "'%.*s' is no value of %s", (int)w.n, w.at, attr_info[a].text);
}

/* Does "{" here open attributes? */
static bool
at_attrs(Parser *p)
{
    skip(p);
    if (*p->at != '{')
        return false;
    const char *start = p->at++;
    skip(p);
    while (is_word_char(*p->at))
        p->at++;
    skip(p);
    bool yes = *p->at == '=';
    p->at = start;
    return yes;
}

static void
parse_attrs(Parser *p, int64_t *attr, const Op *o)
{
    expect(p, "{");
    do {
        Name w = word(p, "an attribute");
        Attr a = 0;
        if (!attr_by_name(o, w, &a)) {
            p->at = w.at;
            fail(p, "%s has no attribute '%.*s'", info(o)->text, (int)w.n, w.at);
        }
        expect(p, "=");
        int64_t v = attr_value(p, a);
        for (int i = 0; i < info(o)->n_attrs; i++)
            if (info(o)->attrs[i] == a)
                attr[i] = v;
    } while (accept(p, ","));
    expect(p, "}");
}

/* ---- ops ------------------------------------------------------------------------ */

static OpCode
parse_opcode(Parser *p)
{
    skip(p);
    const char *start = p->at;
    Name w = word(p, "an op");
    for (int i = 0; i < N_OP; i++)
        if (is(w, op_info[i].text))
            return (OpCode)i;
    p->at = start;
    fail(p, "unknown op '%.*s'", (int)w.n, w.at);
}

static void
parse_region(Parser *p, Op *o)
{
    if (o->n_regions == info(o)->n_regions)
        fail(p, "%s has %d regions", info(o)->text, info(o)->n_regions);
    if (p->depth == MAX_DEPTH)
        fail(p, "regions nest deeper than %d", MAX_DEPTH);
    Block *b = ir_block(p->f, o);
    if (accept(p, "^")) {
        expect(p, "(");
        do {
            Name n = value_name(p);
            expect(p, ":");
            define(p, n, ir_block_arg(b, parse_type(p), NULL));
        } while (accept(p, ","));
        expect(p, ")");
    }
    expect(p, "{");
    p->depth++;
    parse_ops(p, b);
    p->depth--;
    expect(p, "}");
}

static void
parse_op(Parser *p, Block *b)
{
    Arena *a = p->c->arena;
    Names names = {0};
    Vals args = {0};
    Types types = {0};
    skip(p);
    if (*p->at == '%') {
        do
            PUSH(a, &names, value_name(p));
        while (accept(p, ","));
        expect(p, "=");
    }
    skip(p);
    const char *start = p->at;
    Op head = {.op = parse_opcode(p)};
    const Loc *here = loc_at(p, start, p->at);
    p->at += strspn(p->at, " \t");
    if (*p->at == '"')
        head.text = string(p);
    Name literal = {0};
    bool is_splat = false;
    if (head.op == OP_CONST)
        literal = parse_literal(p, &is_splat);
    p->at += strspn(p->at, " \t"); /* a value on the next line is the next op's */
    if (*p->at == '%') {
        do
            PUSH(a, &args, value(p));
        while (accept(p, ","));
    }
    if (at_attrs(p))
        parse_attrs(p, head.attr, &head);
    if (accept(p, ":")) {
        do
            PUSH(a, &types, parse_type(p));
        while (accept(p, ","));
    }
    const char *wrong = NULL;
    if (types.n != names.n)
        wrong = str_printf(a, "%d results with %d types", names.n, types.n);
    else if (literal.at && types.n != 1)
        wrong = "const has one result";
    else if (literal.at && is_splat != (types.at[0]->rank > 0))
        wrong = "splat(..) is for blocks, and only for them";
    if (wrong) {
        p->at = start;
        fail(p, "%s", wrong);
    }

    Build build = {.f = p->f, .block = b, .loc = here};
    Op *o = ir_op(&build, head.op, args.n, args.at, types.n, types.at);
    memcpy(o->attr, head.attr, sizeof o->attr);
    o->text = head.text;
    if (literal.at)
        o->bits = literal_bits(p, literal, types.at[0]);
    for (;;) {
        skip(p);
        bool is_else = o->n_regions > 0 && accept_word(p, "else");
        skip(p);
        if (!is_else && *p->at != '^' && *p->at != '{')
            break;
        parse_region(p, o);
    }
    const Loc *l = parse_loc(p);
    if (l)
        o->loc = l;
    for (int i = 0; i < names.n; i++)
        define(p, names.at[i], result(o, i));
}

static void
parse_ops(Parser *p, Block *b)
{
    for (skip(p); *p->at && *p->at != '}'; skip(p))
        parse_op(p, b);
}

/* ---- the function --------------------------------------------------------------- */

static void
parse_facts(Parser *p, int *slot, ArgFacts *facts)
{
    do {
        bool asked = accept(p, "?");
        Name w = word(p, "a fact");
        unsigned bit = is(w, "eq1")     ? FACT_EQ1
                       : is(w, "div2")  ? FACT_DIV2
                       : is(w, "div4")  ? FACT_DIV4
                       : is(w, "div8")  ? FACT_DIV8
                       : is(w, "div16") ? FACT_DIV16
                                        : 0;
        if (is(w, "slot") && !asked) {
            expect(p, "=");
            *slot = (int)integer(p, 0, 1 << 16);
        } else if (!bit) {
            p->at = w.at;
            fail(p, "unknown fact '%.*s'", (int)w.n, w.at);
        } else if (asked) {
            facts->asked |= (uint16_t)bit;
        } else {
            /* What is divisible by 16 is by 8, 4 and 2. */
            for (unsigned d = bit; d >= FACT_DIV2; d >>= 1)
                facts->truth |= (uint16_t)d;
            facts->truth |= (uint16_t)bit;
        }
    } while (accept(p, ","));
    expect(p, "}");
}

static void
parse_param(Parser *p)
{
    Func *f = p->f;
    Name n = value_name(p);
    expect(p, ":");
    const Type *t = parse_type(p);
    int slot = f->body->n_args;
    ArgFacts facts = {0};
    if (accept(p, "{"))
        parse_facts(p, &slot, &facts);
    define(p, n, ir_param(f, t, NULL, slot));
    if (slot >= f->n_facts) {
        ArgFacts *all = NEW_N(p->c->arena, ArgFacts, slot + 1);
        if (f->n_facts)
            memcpy(all, f->facts, (size_t)f->n_facts * sizeof *all);
        f->facts = all;
        f->n_facts = slot + 1;
    }
    f->facts[slot] = facts;
}

static void
parse_layouts(Parser *p)
{
    while (accept(p, "#")) {
        Name w = word(p, "the name of a layout");
        expect(p, "=");
        p->at += strspn(p->at, " \t");
        map_put(&p->layouts, w.at, w.n, (void *)p->at);
        p->at += strcspn(p->at, "\n");
    }
}

Func *
ir_parse(Comp *c, const char *text)
{
    Parser p = {.c = c,
                .text = text,
                .at = text,
                .vals = {.a = c->arena},
                .layouts = {.a = c->arena},
                .line_at = text,
                .line = 1};
    parse_layouts(&p);
    if (!accept_word(&p, "func"))
        fail(&p, "expected 'func'");
    const Loc *here = loc_at(&p, p.at - 4, p.at);
    expect(&p, "@");
    Name n = word(&p, "the name of the function");
    p.f = ir_func(c, str_intern_n(c, n.at, n.n), here);
    expect(&p, "(");
    if (!accept(&p, ")")) {
        do
            parse_param(&p);
        while (accept(&p, ","));
        expect(&p, ")");
    }
    if (accept_word(&p, "ctas")) {
        int64_t ctas = integer(&p, 1, 16);
        if (ctas & (ctas - 1))
            fail(&p, "the number of ctas is a power of two up to 16");
        p.f->log2_ctas = __builtin_ctzll((unsigned long long)ctas);
    }
    const Loc *l = parse_loc(&p);
    if (l)
        p.f->loc = l;
    expect(&p, "{");
    parse_ops(&p, p.f->body);
    expect(&p, "}");
    skip(&p);
    if (*p.at)
        fail(&p, "text after the end of the function");
    return p.f;
}
