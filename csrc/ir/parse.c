/* parse: text to tile IR, the inverse of print.c. The grammar is in README.md.
 *
 *     file    = {"#" name "=" layout newline} func
 *     func    = "func" "@" name "(" [param {"," param}] ")" ["ctas" int] ["blocks" int]
 *               ["chunks" int] [loc] "{" {op} "}"
 *     param   = value ":" type ["{" fact {"," fact} "}"]    fact: slot=2  div16  ?div16
 *     op      = [value {"," value} "="] word [string] [literal | value {"," value}]
 *               ["{" attr {"," attr} "}"] [place] [":" type {"," type}] {region} [loc]
 *     place   = "shared" "(" "at" "=" int "," "bytes" "=" int {"," ..} ")"     place.c
 *     region  = ["else"] ["^" "(" value ":" type {"," ..} ")"] "{" {op} "}"
 *     type    = (["async"] block | "smem" "<" int "x" block ">") ["#" name]
 *             | "mbar" "<" int ">" | "tmap"
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
#include "ir/parse.h"

enum { MAX_DEPTH = 100 }; /* of regions: the parser, verifier and passes recurse */

typedef VEC(Val *) Vals;
typedef VEC(const Type *) Types;
typedef VEC(Name) Names;

static void parse_ops(Parser *p, Block *b);

/* ---- places --------------------------------------------------------------------- */

/* ("a.py":41:10-41:19 "f", "b.py":58:4-58:20): the place, then the calls that led
 * there. */
static const Loc *
parse_loc(Parser *p)
{
    if (!tok_accept_word(p, "loc"))
        return NULL;
    tok_expect(p, "(");
    Loc *first = NULL, **next = &first;
    do {
        Loc *l = NEW(p->c->arena, Loc);
        l->file = tok_string(p);
        tok_expect(p, ":"), l->line = (int)tok_integer(p, 0, INT32_MAX);
        tok_expect(p, ":"), l->col = (int)tok_integer(p, 0, INT32_MAX);
        tok_expect(p, "-"), l->end_line = (int)tok_integer(p, 0, INT32_MAX);
        tok_expect(p, ":"), l->end_col = (int)tok_integer(p, 0, INT32_MAX);
        tok_skip(p);
        if (*p->at == '"')
            l->func = tok_string(p);
        *next = l;
        next = (Loc **)&l->caller;
    } while (tok_accept(p, ","));
    tok_expect(p, ")");
    return first;
}

/* ---- types ---------------------------------------------------------------------- */

static Elem
parse_elem(Parser *p)
{
    tok_skip(p);
    const char *start = p->at;
    Name w = tok_word(p, "a type");
    for (int e = 0; e < N_ELEM; e++)
        if (tok_is(w, elem_info[e].text))
            return (Elem)e;
    p->at = start;
    fail(p, "unknown type '%.*s'", (int)w.n, w.at);
}

static const Type *
with_layout(Parser *p, const Type *t)
{
    const char *start = p->at;
    tok_expect(p, "#");
    Name w = tok_word(p, "a layout");
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
    tok_expect(p, "#");
    p->at += w.n;
    return ty_with_layout(p->c, t, l);
}

static const Type *
parse_block_type(Parser *p)
{
    const Type *t;
    if (tok_accept_word(p, "ptr")) {
        tok_expect(p, "<");
        bool is_const = tok_accept_word(p, "const");
        t = ty_ptr(p->c, parse_elem(p), is_const);
        tok_expect(p, ">");
    } else {
        t = ty_scalar(p->c, parse_elem(p));
    }
    if (tok_accept(p, "[")) {
        int32_t shape[MAX_RANK];
        int rank = 0;
        int64_t numel = 1;
        do {
            if (rank == MAX_RANK)
                fail(p, "more than %d dims", MAX_RANK);
            shape[rank] = (int32_t)tok_integer(p, 1, MAX_NUMEL);
            numel *= shape[rank++];
            if (numel > MAX_NUMEL)
                fail(p, "a block of more than %d elements", MAX_NUMEL);
        } while (tok_accept(p, ","));
        tok_expect(p, "]");
        t = ty_block(p->c, t, rank, shape);
    }
    return t;
}

static const Type *
parse_type(Parser *p)
{
    const Type *t;
    if (tok_accept_word(p, "smem")) {
        tok_expect(p, "<");
        int slots = (int)tok_integer(p, 1, MAX_SLOTS);
        if (!tok_accept_word(p, "x"))
            fail(p, "expected 'x'");
        t = parse_block_type(p);
        tok_expect(p, ">");
        t = ty_smem(p->c, t, slots, NULL);
    } else if (tok_accept_word(p, "local")) {
        tok_expect(p, "<");
        int slots = (int)tok_integer(p, 1, MAX_SLICES);
        if (!tok_accept_word(p, "x"))
            fail(p, "expected 'x'");
        t = parse_block_type(p);
        tok_expect(p, ">");
        t = ty_local(p->c, t, slots);
    } else if (tok_accept_word(p, "mbar")) {
        tok_expect(p, "<");
        t = ty_mbar(p->c, (int)tok_integer(p, 1, MAX_SLOTS));
        tok_expect(p, ">");
    } else if (tok_accept_word(p, "tmap")) {
        t = ty_tmap(p->c);
    } else if (tok_accept_word(p, "async")) {
        t = ty_with_async(p->c, parse_block_type(p), true);
    } else {
        t = parse_block_type(p);
    }
    tok_skip(p);
    return *p->at == '#' ? with_layout(p, t) : t;
}

/* ---- values --------------------------------------------------------------------- */

static Name
value_name(Parser *p)
{
    tok_expect(p, "%");
    if (!is_word_char(*p->at))
        fail(p, "expected the name of a value");
    return tok_word(p, "a name");
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
    tok_skip(p);
    Name w = {p->at, 0};
    while (is_word_char(p->at[w.n]) || p->at[w.n] == '-' || p->at[w.n] == '+')
        w.n++;
    if (!w.n)
        fail(p, "expected a constant");
    p->at += w.n;
    return w;
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
    *is_splat = tok_accept_word(p, "splat");
    if (*is_splat)
        tok_expect(p, "(");
    Name w = literal_text(p);
    if (*is_splat)
        tok_expect(p, ")");
    return w;
}

/* ---- attributes ----------------------------------------------------------------- */

static bool
attr_by_name(const Op *o, Name w, Attr *a)
{
    for (int i = 0; i < info(o)->n_attrs; i++)
        if (tok_is(w, attr_info[info(o)->attrs[i]].text)) {
            *a = (Attr)info(o)->attrs[i];
            return true;
        }
    return false;
}

static int64_t
attr_list(Parser *p, Attr a, int rank)
{
    int n = 0,
        most = a == ATTR_PERM  ? MAX_RANK
               : a == ATTR_BOX ? MAX_TMAP_RANK
                               : MAX_HINT_RANK,
        at[MAX_RANK];
    do {
        if (n == most)
            fail(p, "more than %d dims", most);
        at[n++] = (int)tok_integer(p, 0, a == ATTR_BOX ? (1 << BOX_BITS) - 1 : 255);
    } while (tok_accept(p, ","));
    tok_expect(p, "]");
    if (a == ATTR_PERM) {
        if (perm_pack(n, at) < 0 || n != rank)
            fail(p, "the list does not permute %d dims", rank);
        return perm_pack(n, at);
    }
    uint64_t v = 0;
    for (int i = 0; i < n; i++)
        v |= (uint64_t)at[i] << ((a == ATTR_BOX ? BOX_BITS : 8) * i);
    return (int64_t)v;
}

static int64_t
attr_value(Parser *p, Attr a, int rank)
{
    tok_skip(p);
    const char *start = p->at, *words = attr_info[a].words;
    if (tok_accept(p, "["))
        return attr_list(p, a, rank);
    if (is_digit(*p->at) || *p->at == '-')
        return tok_integer(p, INT64_MIN, INT64_MAX);
    Name w = tok_word(p, "a value");
    int64_t i = 0;
    for (const char *s = words; s && *s; i++) {
        size_t n = strcspn(s, " ");
        if (tok_is(w, str_printf(p->c->arena, "%.*s", (int)n, s)))
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
    tok_skip(p);
    if (*p->at != '{')
        return false;
    const char *start = p->at++;
    tok_skip(p);
    while (is_word_char(*p->at))
        p->at++;
    tok_skip(p);
    bool yes = *p->at == '=';
    p->at = start;
    return yes;
}

/* rank: of operand 0. */
static void
parse_attrs(Parser *p, int64_t *attr, const Op *o, int rank)
{
    tok_expect(p, "{");
    do {
        Name w = tok_word(p, "an attribute");
        Attr a = 0;
        if (!attr_by_name(o, w, &a)) {
            p->at = w.at;
            fail(p, "%s has no attribute '%.*s'", info(o)->text, (int)w.n, w.at);
        }
        tok_expect(p, "=");
        int64_t v = attr_value(p, a, rank);
        for (int i = 0; i < info(o)->n_attrs; i++)
            if (info(o)->attrs[i] == a)
                attr[i] = v;
    } while (tok_accept(p, ","));
    tok_expect(p, "}");
}

/* ---- ops ------------------------------------------------------------------------ */

static OpCode
parse_opcode(Parser *p)
{
    tok_skip(p);
    const char *start = p->at;
    Name w = tok_word(p, "an op");
    for (int i = 0; i < N_OP; i++)
        if (tok_is(w, op_info[i].text))
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
    if (tok_accept(p, "^")) {
        tok_expect(p, "(");
        do {
            Name n = value_name(p);
            tok_expect(p, ":");
            define(p, n, ir_block_arg(b, parse_type(p), NULL));
        } while (tok_accept(p, ","));
        tok_expect(p, ")");
    }
    tok_expect(p, "{");
    p->depth++;
    parse_ops(p, b);
    p->depth--;
    tok_expect(p, "}");
}

/* An op up to its regions, read but not built. */
typedef struct OpText {
    const char *start; /* of its word, for messages */
    const Loc *loc;    /* of its word */
    Names names;       /* of its results */
    Op head;           /* its code, text and attributes */
    Name literal;      /* of a const */
    bool is_splat;     /* ... the literal */
    Vals args;
    Types types; /* of its results */
} OpText;

static void
parse_op_text(Parser *p, OpText *t)
{
    Arena *a = p->c->arena;
    tok_skip(p);
    if (*p->at == '%') {
        do
            PUSH(a, &t->names, value_name(p));
        while (tok_accept(p, ","));
        tok_expect(p, "=");
    }
    tok_skip(p);
    t->start = p->at;
    t->head.op = parse_opcode(p);
    t->loc = tok_loc(p, t->start, p->at);
    p->at += strspn(p->at, " \t");
    if (*p->at == '"')
        t->head.text = tok_string(p);
    if (t->head.op == OP_CONST)
        t->literal = parse_literal(p, &t->is_splat);
    p->at += strspn(p->at, " \t"); /* a value on the next line is the next op's */
    if (*p->at == '%') {
        do
            PUSH(a, &t->args, value(p));
        while (tok_accept(p, ","));
    }
    if (at_attrs(p))
        parse_attrs(p, t->head.attr, &t->head,
                    t->args.n ? t->args.at[0]->type->rank : 0);
    if (tok_accept_word(p, "shared"))
        t->head.place = parse_place(p);
    if (tok_accept(p, ":")) {
        do
            PUSH(a, &t->types, parse_type(p));
        while (tok_accept(p, ","));
    }
}

/* What the builder must not see, in words; or NULL. */
static const char *
bad_results(Parser *p, const OpText *t)
{
    if (t->types.n != t->names.n)
        return str_printf(p->c->arena, "%d results with %d types", t->names.n,
                          t->types.n);
    if (t->literal.at && t->types.n != 1)
        return "const has one result";
    if (t->literal.at && t->is_splat != (t->types.at[0]->rank > 0))
        return "splat(..) is for blocks, and only for them";
    return NULL;
}

static void
parse_op(Parser *p, Block *b)
{
    OpText t = {0};
    parse_op_text(p, &t);
    const char *wrong = bad_results(p, &t);
    if (wrong) {
        p->at = t.start;
        fail(p, "%s", wrong);
    }
    Build build = {.f = p->f, .block = b, .loc = t.loc};
    Op *o = ir_op(&build, t.head.op, t.args.n, t.args.at, t.types.n, t.types.at);
    memcpy(o->attr, t.head.attr, sizeof o->attr);
    o->text = t.head.text;
    o->place = t.head.place;
    if (t.literal.at)
        o->bits = literal_bits(p, t.literal, t.types.at[0]);
    for (;;) {
        tok_skip(p);
        bool is_else = o->n_regions > 0 && tok_accept_word(p, "else");
        tok_skip(p);
        if (!is_else && *p->at != '^' && *p->at != '{')
            break;
        parse_region(p, o);
    }
    const Loc *l = parse_loc(p);
    if (l)
        o->loc = l;
    for (int i = 0; i < t.names.n; i++)
        define(p, t.names.at[i], result(o, i));
}

static void
parse_ops(Parser *p, Block *b)
{
    for (tok_skip(p); *p->at && *p->at != '}'; tok_skip(p))
        parse_op(p, b);
}

/* ---- the function --------------------------------------------------------------- */

static void
parse_facts(Parser *p, int *slot, ArgFacts *facts)
{
    do {
        bool asked = tok_accept(p, "?");
        Name w = tok_word(p, "a fact");
        unsigned bit = tok_is(w, "eq1")        ? FACT_EQ1
                       : tok_is(w, "div2")     ? FACT_DIV2
                       : tok_is(w, "div4")     ? FACT_DIV4
                       : tok_is(w, "div8")     ? FACT_DIV8
                       : tok_is(w, "div16")    ? FACT_DIV16
                       : tok_is(w, "same")     ? FACT_SAME
                       : tok_is(w, "overlaps") ? FACT_OVERLAPS
                       : tok_is(w, "ge0")      ? FACT_GE0
                       : tok_is(w, "large")    ? FACT_LARGE
                                               : 0;
        if (tok_is(w, "slot") && !asked) {
            tok_expect(p, "=");
            *slot = (int)tok_integer(p, 0, 1 << 16);
        } else if (!bit) {
            p->at = w.at;
            fail(p, "unknown fact '%.*s'", (int)w.n, w.at);
        } else if (asked) {
            facts->asked |= (uint16_t)bit;
        } else {
            /* What is divisible by 16 is by 8, 4 and 2. */
            for (unsigned d = bit; d <= FACT_DIV16 && d >= FACT_DIV2; d >>= 1)
                facts->truth |= (uint16_t)d;
            facts->truth |= (uint16_t)bit;
        }
    } while (tok_accept(p, ","));
    tok_expect(p, "}");
}

static void
parse_param(Parser *p)
{
    Func *f = p->f;
    Name n = value_name(p);
    tok_expect(p, ":");
    const Type *t = parse_type(p);
    int slot = f->body->n_args;
    ArgFacts facts = {0};
    if (tok_accept(p, "{"))
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
    while (tok_accept(p, "#")) {
        Name w = tok_word(p, "the name of a layout");
        tok_expect(p, "=");
        p->at += strspn(p->at, " \t");
        map_put(&p->layouts, w.at, w.n, (void *)p->at);
        p->at += strcspn(p->at, "\n");
    }
}

Func *
ir_parse(Comp *c, const char *text)
{
    return ir_parse_file(c, text, "tir");
}

Func *
ir_parse_file(Comp *c, const char *text, const char *file)
{
    Parser p = {.c = c,
                .text = text,
                .file = str_intern(c, file),
                .at = text,
                .vals = {.a = c->arena},
                .layouts = {.a = c->arena},
                .line_at = text,
                .line = 1};
    parse_layouts(&p);
    if (!tok_accept_word(&p, "func"))
        fail(&p, "expected 'func'");
    const Loc *here = tok_loc(&p, p.at - 4, p.at);
    tok_expect(&p, "@");
    Name n = tok_word(&p, "the name of the function");
    p.f = ir_func(c, str_intern_n(c, n.at, n.n), here);
    tok_expect(&p, "(");
    if (!tok_accept(&p, ")")) {
        do
            parse_param(&p);
        while (tok_accept(&p, ","));
        tok_expect(&p, ")");
    }
    if (tok_accept_word(&p, "ctas")) {
        int64_t ctas = tok_integer(&p, 1, 16);
        if (ctas & (ctas - 1))
            fail(&p, "the number of ctas is a power of two up to 16");
        p.f->log2_ctas = __builtin_ctzll((unsigned long long)ctas);
    }
    if (tok_accept_word(&p, "blocks"))
        p.f->min_blocks = (int)tok_integer(&p, 1, 32);
    const Loc *l = parse_loc(&p);
    if (l)
        p.f->loc = l;
    tok_expect(&p, "{");
    parse_ops(&p, p.f->body);
    tok_expect(&p, "}");
    tok_skip(&p);
    if (*p.at)
        fail(&p, "text after the end of the function");
    return p.f;
}
