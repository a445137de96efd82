/* print: tile IR as text. parse.c reads it back; the grammar is in README.md, and the
 * two files change together.
 *
 *     #l0 = reg [1 2] lane [4 8 16 32 64] warp [] block []
 *     func @scale(%x: ptr<f32>, %n: i32 {slot=2, div16}) {
 *       %0 = arange {start=0, end=128} : i32[128] #l0
 *       ...
 *
 * Rule 1: print -> parse -> print is a fixed point. Values without a name are numbered
 *         in the order of the text, never by id; the second of two equal names gets a
 *         suffix.
 * Rule 2: nothing that changes the meaning is left out. An attribute that is 0 is,
 *         unless op rows would be hard to read without it (always_shown).
 * Rule 3: constants come back bit by bit: an exact decimal where it is short, else the
 *         shortest that the parser's own conversion turns into the same bits, or 0x and
 *         the bits.
 */
#include "ir/parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct Printer {
    Comp *c;
    Sb sb;
    const char **name; /* by Val.id, without the %; NULL: not printed yet */
    Map taken;         /* names in use -> how many suffixes were tried */
    Map layout;        /* Layout * -> its number + 1 */
    int n_unnamed;
    bool with_locs;
} Printer;

static void put_block(Printer *p, const Block *b, int depth);

/* ---- names ---------------------------------------------------------------------- */

/* The name as the parser can read it: no other characters, no digit in front. */
static const char *
clean_name(Comp *c, const char *name)
{
    bool digit = *name >= '0' && *name <= '9';
    char *s = str_printf(c->arena, "%s%s", digit || !*name ? "_" : "", name);
    for (char *p = s; *p; p++)
        if (!is_word_char(*p))
            *p = '_';
    return s;
}

static const char *
unique_name(Printer *p, const char *want)
{
    Arena *a = p->c->arena;
    const char *base = clean_name(p->c, want), *name = base;
    uintptr_t tried = (uintptr_t)map_get(&p->taken, base, strlen(base));
    if (tried) {
        do
            name = str_printf(a, "%s_%d", base, (int)tried++);
        while (map_get(&p->taken, name, strlen(name)));
        map_put(&p->taken, base, strlen(base), (void *)tried);
    }
    map_put(&p->taken, name, strlen(name), (void *)1);
    return name;
}

static void
define(Printer *p, const Val *v)
{
    if (v->name)
        p->name[v->id] = unique_name(p, v->name);
    else
        p->name[v->id] = str_printf(p->c->arena, "%d", p->n_unnamed++);
}

/* A use before the definition is an error of the IR, but a dump must still show it. */
static void
put_val(Printer *p, const Val *v)
{
    const char *name = p->name[v->id];
    if (name)
        sb_printf(&p->sb, "%%%s", name);
    else
        sb_printf(&p->sb, "%%undefined.%d", v->id);
}

static void
put_indent(Printer *p, int depth)
{
    for (int i = 0; i < depth; i++)
        sb_putn(&p->sb, "  ", 2);
}

/* ---- types, locations ----------------------------------------------------------- */

static void
put_type(Printer *p, const Type *t)
{
    sb_put(&p->sb, ty_str(p->c->arena, t));
    if (t->layout)
        sb_printf(&p->sb, " #l%d",
                  (int)(uintptr_t)map_get(&p->layout, t->layout, 0) - 1);
}

static void
put_type_of(Printer *p, const Val *v)
{
    put_type(p, v->type);
}

static void
put_quoted(Sb *sb, const char *s)
{
    sb_put(sb, "\"");
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            sb_printf(sb, "\\%c", *s);
        else if (*s == '\n')
            sb_put(sb, "\\n");
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            sb_printf(sb, "\\x%02x", (unsigned char)*s);
        else
            sb_putn(sb, s, 1);
    }
    sb_put(sb, "\"");
}

static void
put_loc(Printer *p, const Loc *l)
{
    if (!p->with_locs || !l)
        return;
    for (const char *before = " loc("; l; l = l->caller, before = ", ") {
        sb_put(&p->sb, before);
        put_quoted(&p->sb, l->file);
        sb_printf(&p->sb, ":%d:%d-%d:%d", l->line, l->col, l->end_line, l->end_col);
        if (l->func) {
            sb_put(&p->sb, " ");
            put_quoted(&p->sb, l->func);
        }
    }
    sb_put(&p->sb, ")");
}

static void
note_layout(Printer *p, const Type *t)
{
    if (t->layout && !map_get(&p->layout, t->layout, 0)) {
        int n = p->layout.n;
        sb_printf(&p->sb, "#l%d = %s\n", n, layout_str(p->c->arena, t->layout));
        map_put(&p->layout, t->layout, 0, (void *)(uintptr_t)(n + 1));
    }
}

/* ---- constants ------------------------------------------------------------------ */

static char *
float_str(Arena *a, Elem e, uint64_t bits)
{
    double v = elem_to_double(e, bits);
    if (isnan(v) || isinf(v)) {
        if (elem_from_double(e, v) != bits) /* a NaN with a payload; fp8 infinity */
            return str_printf(a, "0x%" PRIx64, bits);
        return str_printf(a, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
    }
    if (v == trunc(v) && fabs(v) < 1e9)
        return str_printf(a, "%.1f", v);
    char s[40];
    for (int digits = 1; digits <= 7; digits++) { /* exact and short: 1.25, not 1.2 */
        snprintf(s, sizeof s, "%.*g", digits, v);
        if (strtod(s, NULL) == v)
            return str_printf(a, strpbrk(s, ".e") ? "%s" : "%s.0", s);
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, v);
        if (elem_from_double(e, strtod(s, NULL)) == bits)
            break;
    }
    return str_printf(a, strpbrk(s, ".e") ? "%s" : "%s.0", s);
}

char *
elem_str(Arena *a, const Type *t, uint64_t bits)
{
    if (t->is_ptr)
        return str_printf(a, "0x%" PRIx64, bits);
    if (elem_is_float(t->elem))
        return float_str(a, t->elem, bits);
    if (t->elem == E_I1)
        return str_printf(a, bits ? "true" : "false");
    if (elem_is_signed(t->elem))
        return str_printf(a, "%" PRId64, elem_to_int(t->elem, bits));
    return str_printf(a, "%" PRIu64, bits);
}

/* ---- attributes ----------------------------------------------------------------- */

static bool
always_shown(Attr a)
{
    return a == ATTR_AXIS || a == ATTR_START || a == ATTR_END || a == ATTR_PERM ||
           a == ATTR_RMW || a == ATTR_BOX || a == ATTR_BINS || a == ATTR_PRECISION;
}

/* Bits of one entry of an attribute that is a list with one entry per dim; 0: no
 * list, or one that is packed otherwise. */
static int
list_width(Attr a)
{
    if (a == ATTR_BOX)
        return BOX_BITS;
    return a == ATTR_DIVISIBLE || a == ATTR_CONTIGUOUS || a == ATTR_CONSTANCY ? 8 : 0;
}

static int
list_length(const Op *o, Attr a)
{
    if (a == ATTR_BOX)
        return o->n_args / 2;
    return o->n_args ? MAX(arg(o, 0)->type->rank, 1) : 0;
}

static void
put_attr_value(Printer *p, const Op *o, Attr a, int64_t v)
{
    Sb *sb = &p->sb;
    const char *word = attr_info[a].words;
    if (word) {
        for (int64_t i = 0; i < v && *word; i++) {
            word += strcspn(word, " ");
            word += *word == ' ';
        }
        if (v >= 0 && *word) {
            sb_putn(sb, word, strcspn(word, " "));
            return;
        }
    }
    int perm[MAX_RANK];
    if (a == ATTR_PERM && o->n_args && perm_unpack(arg(o, 0)->type->rank, v, perm)) {
        for (int i = 0; i < arg(o, 0)->type->rank; i++)
            sb_printf(sb, "%s%d", i ? ", " : "[", perm[i]);
        sb_put(sb, "]");
        return;
    }
    int width = list_width(a), n = list_length(o, a);
    uint64_t rest = n > MAX_HINT_RANK ? 1
                    : n * width < 64  ? (uint64_t)v >> (n * width)
                                      : 0;
    if (width && n && !rest) {
        for (int i = 0; i < n; i++)
            sb_printf(sb, "%s%d", i ? ", " : "[",
                      (int)((uint64_t)v >> (i * width) & ((1u << width) - 1)));
        sb_put(sb, "]");
        return;
    }
    sb_printf(sb, "%" PRId64, v);
}

static void
put_attrs(Printer *p, const Op *o)
{
    const char *before = " {";
    for (int i = 0; i < info(o)->n_attrs; i++) {
        Attr a = info(o)->attrs[i];
        bool is_part = o->op == OP_SHARED_LOAD || o->op == OP_TMA_LOAD;
        if (!o->attr[i] && (!always_shown(a) || is_part))
            continue;
        sb_printf(&p->sb, "%s%s=", before, attr_info[a].text);
        put_attr_value(p, o, a, o->attr[i]);
        before = ", ";
    }
    if (*before == ',')
        sb_put(&p->sb, "}");
}

/* ---- ops, blocks, the function -------------------------------------------------- */

static void
put_region(Printer *p, const Op *o, int i, int depth)
{
    const Block *b = o->regions[i];
    sb_put(&p->sb, i && o->op == OP_IF ? " else" : "");
    for (int k = 0; k < b->n_args; k++) {
        define(p, b->args[k]);
        sb_put(&p->sb, k ? ", " : " ^(");
        put_val(p, b->args[k]);
        sb_put(&p->sb, ": ");
        put_type_of(p, b->args[k]);
    }
    sb_put(&p->sb, b->n_args ? ") {\n" : " {\n");
    put_block(p, b, depth + 1);
    put_indent(p, depth);
    sb_put(&p->sb, "}");
}

static void
put_op(Printer *p, const Op *o, int depth)
{
    Sb *sb = &p->sb;
    put_indent(p, depth);
    for (int i = 0; i < o->n_results; i++) {
        define(p, result(o, i));
        sb_put(sb, i ? ", " : "");
        put_val(p, result(o, i));
    }
    sb_printf(sb, "%s%s", o->n_results ? " = " : "", info(o)->text);
    if (o->text) {
        sb_put(sb, " ");
        put_quoted(sb, o->text);
    }
    if (o->op == OP_CONST && o->n_results) {
        const Type *t = result(o, 0)->type;
        sb_printf(sb, t->rank ? " splat(%s)" : " %s", elem_str(sb->a, t, o->bits));
    }
    for (int i = 0; i < o->n_args; i++) {
        sb_put(sb, i ? ", " : " ");
        put_val(p, arg(o, i));
    }
    put_attrs(p, o);
    if (o->place) {
        sb_put(sb, " ");
        place_print(sb, o->place);
    }
    for (int i = 0; i < o->n_results; i++) {
        sb_put(sb, i ? ", " : " : ");
        put_type_of(p, result(o, i));
    }
    for (int i = 0; i < o->n_regions; i++)
        put_region(p, o, i, depth);
    put_loc(p, o->loc);
    sb_put(sb, "\n");
}

static void
put_block(Printer *p, const Block *b, int depth)
{
    for (const Op *o = b->first; o; o = o->next)
        put_op(p, o, depth);
}

/* {slot=2, eq1, div16, ?div16}: what holds, and with a ? what the compile has asked. */
static void
put_facts(Printer *p, const Func *f, int i)
{
    static const struct {
        unsigned fact;
        const char *text;
    } word[] = {
        {FACT_SAME, "same"},   {FACT_OVERLAPS, "overlaps"}, {FACT_EQ1, "eq1"},
        {FACT_DIV16, "div16"}, {FACT_DIV8, "div8"},         {FACT_DIV4, "div4"},
        {FACT_DIV2, "div2"},   {FACT_GE0, "ge0"},           {FACT_LARGE, "large"},
    };
    enum { DIVS = FACT_DIV2 | FACT_DIV4 | FACT_DIV8 | FACT_DIV16 };
    int slot = f->slot[i];
    ArgFacts facts = {0};
    if (slot >= 0 && slot < f->n_facts)
        facts = f->facts[slot];
    const char *before = " {";
    if (slot != i) {
        sb_printf(&p->sb, " {slot=%d", slot);
        before = ", ";
    }
    for (int asked = 0; asked < 2; asked++)
        for (size_t k = 0; k < COUNT(word); k++)
            if ((asked ? facts.asked : facts.truth) & word[k].fact) {
                sb_printf(&p->sb, "%s%s%s", before, asked ? "?" : "", word[k].text);
                before = ", ";
                if (!asked && word[k].fact & DIVS)
                    break; /* div16 says div8, div4 and div2 */
            }
    if (*before == ',')
        sb_put(&p->sb, "}");
}

char *
ir_print(const Func *f, bool with_locs)
{
    Comp *c = f->c;
    Arena *a = c->arena;
    Printer p = {.c = c,
                 .sb = {.a = a},
                 .taken = {.a = a},
                 .layout = {.a = a},
                 .name = NEW_N(a, const char *, MAX(f->n_vals, 1)),
                 .with_locs = with_locs};
    EACH_VAL(v, f->body)
        note_layout(&p, v->type);
    sb_printf(&p.sb, "func @%s(", clean_name(c, f->name));
    for (int i = 0; i < f->body->n_args; i++) {
        const Val *v = f->body->args[i];
        define(&p, v);
        sb_put(&p.sb, i ? ", " : "");
        put_val(&p, v);
        sb_put(&p.sb, ": ");
        put_type(&p, v->type);
        put_facts(&p, f, i);
    }
    sb_put(&p.sb, ")");
    if (f->log2_ctas)
        sb_printf(&p.sb, " ctas %d", 1 << f->log2_ctas);
    if (f->min_blocks)
        sb_printf(&p.sb, " blocks %d", f->min_blocks);
    put_loc(&p, f->loc);
    sb_put(&p.sb, " {\n");
    put_block(&p, f->body, 1);
    sb_put(&p.sb, "}\n");
    return p.sb.at;
}
