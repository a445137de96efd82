/* builtins: a function of tegula.language is called: its row in builtins.def says which
 * parameters it has and which C function it is. What is bound is kept while that runs
 *
 * (Fe.args), so that an error can name and point at the argument that is wrong: blame.c.
 */
#include "frontend/fe.h"

/* ---- the table --------------------------------------------------------------------------- */

/* Row by row as fe_builtin_names. */
static const Builtin builtins[] = {
#define BUILTIN(name, sig, fn, flags, doc) {name, sig, fn, flags, doc},
#define JIT_MEMBER(name) {name, "", NULL, BI_MEMBER, ""},
#include "frontend/builtins.def"
#undef BUILTIN
#undef JIT_MEMBER
};

const Builtin *
fe_member(const char *name)
{
    for (int i = 0; i < n_fe_builtins; i++)
        if ((builtins[i].flags & BI_MEMBER) && !strcmp(builtins[i].name, name))
            return &builtins[i];
    return NULL;
}

const Builtin *
fe_builtin_of(Fe *f, PyObject *o)
{
    const BuiltinName *name = fe_builtin_name_of(f, o);
    return name ? &builtins[name - fe_builtin_names] : NULL;
}

/* ---- a call ------------------------------------------------------------------------------ */

/* One parameter of a signature. */
typedef struct SigParam {
    const char *name;
    bool is_rest, has_default;
} SigParam;

static int
read_signature(Fe *f, const char *s, SigParam *p)
{
    int n = 0;
    while (*s) {
        while (*s == ' ' || *s == ',')
            s++;
        size_t len = strcspn(s, ",");
        if (!len)
            break;
        if (n == MAX_PARAM)
            unreachable(f->c);
        p[n].is_rest = *s == '*';
        p[n].has_default = s[len - 1] == '=' || p[n].is_rest;
        p[n].name = str_intern_n(f->c, s + p[n].is_rest,
                                 len - p[n].is_rest - (s[len - 1] == '='));
        n++;
        s += len;
    }
    return n;
}

/* f(a, b[, c, d]), for the help of a message. */
static const char *
signature_text(Fe *f, const Builtin *bi, const SigParam *p, int n)
{
    Sb sb = {.a = f->a};
    bool optional = false;
    bool is_desc = n && !strcmp(p[0].name, "desc"); /* a method alone */
    sb_printf(&sb, "%s(", bi->name);
    for (int i = is_desc; i < n; i++) {
        bool opens = p[i].has_default && !p[i].is_rest && !optional;
        sb_printf(&sb, "%s%s%s%s", opens ? "[" : "", i > is_desc ? ", " : "",
                  p[i].is_rest ? "*" : "", p[i].name);
        optional |= opens;
    }
    sb_put(&sb, optional ? "])" : ")");
    return sb.at;
}

/* A call of a builtin while its arguments are put in their places. */
typedef struct Binding {
    const Builtin *bi;
    const Node *call; /* or NULL */
    int n;            /* parameters */
    SigParam p[MAX_PARAM];
    Value a[MAX_PARAM];
    const Node *node[MAX_PARAM]; /* where each argument is written; or NULL */
} Binding;

static NORETURN void
bad_argument(Fe *f, const Binding *b, const char *why)
{
    err_at(f->c, f->b.loc, ARGUMENT, str_printf(f->a, "%s()", b->bi->name), why);
}

static NORETURN void
too_many(Fe *f, const Binding *b, int n)
{
    int n_self = b->n && !strcmp(b->p[0].name, "desc");
    bool is_shape = b->n && !strcmp(b->p[0].name, "shape");
    err_help(f->c,
             n_self     ? "it is %s; offsets are one list, [i, j]"
             : is_shape ? "it is %s; a shape is one tuple, (M, N)"
                        : "it is %s",
             signature_text(f, b->bi, b->p, b->n));
    bad_argument(f, b,
                 str_printf(f->a, "it takes %s%d argument%s, but %d %s given",
                            b->n > n_self ? "at most " : "", b->n - n_self,
                            b->n - n_self == 1 ? "" : "s", n - n_self,
                            n - n_self == 1 ? "was" : "were"));
}

static void
bind_positional(Fe *f, Binding *b, int n, const Value *args, bool is_method)
{
    int i = 0;
    for (int at = 0; i < n && at < b->n; at++) {
        if (b->p[at].is_rest) {
            b->a[at] = v_tuple(f, n - i, args + i);
            i = n;
        } else {
            b->node[at] = fe_positional_node(b->call, i, is_method);
            b->a[at] = fe_read(f, args[i++]);
        }
    }
    if (i < n)
        too_many(f, b, n);
}

static NORETURN void
unknown_keyword(Fe *f, const Binding *b, const char *name, const Node *at)
{
    const char *words[MAX_PARAM + 1] = {0};
    for (int j = 0; j < b->n; j++)
        words[j] = b->p[j].name;
    fe_point(f, at);
    err_help(f->c, "it is %s", signature_text(f, b->bi, b->p, b->n));
    fe_unknown_keyword(f, b->bi->name, name, words);
}

static void
bind_keyword(Fe *f, Binding *b, const char *name, Value v, const Node *at)
{
    int to = -1;
    for (int j = 0; j < b->n && to < 0; j++)
        if (!strcmp(b->p[j].name, name))
            to = j;
    /* what a wrapper written for Triton hands on */
    if (to < 0 && (!strcmp(name, "_semantic") || !strcmp(name, "_builder")))
        return;
    if (to < 0)
        unknown_keyword(f, b, name, at);
    if (!is_absent(b->a[to])) {
        fe_point(f, at);
        if (!strcmp(b->p[0].name, "shape"))
            err_help(f->c, "the shape is one tuple, (M, N)");
        bad_argument(f, b, str_printf(f->a, "'%s' is given twice", name));
    }
    b->node[to] = at;
    b->a[to] = fe_read(f, v);
}

static void
check_all_given(Fe *f, const Binding *b)
{
    for (int j = 0; j < b->n; j++)
        if (is_absent(b->a[j]) && !b->p[j].has_default) {
            const char *name = b->bi->name; /* of one: max(x) was meant */
            bool of_two = !strcmp(name, "maximum") || !strcmp(name, "minimum");
            const char *more =
                of_two ? str_printf(f->a, "; tl.%.3s(x) reduces a block", name) : "";
            err_help(f->c, "it is %s%s", signature_text(f, b->bi, b->p, b->n), more);
            bad_argument(
                f, b, str_printf(f->a, "the argument '%s' is missing", b->p[j].name));
        }
}

Value
fe_call_builtin(Fe *f, const Builtin *bi, int n, const Value *args, int n_kw,
                const char *const *kw, const Value *kw_args)
{
    Binding b = {.bi = bi, .call = f->call};
    f->call = NULL;
    b.n = read_signature(f, bi->sig, b.p);
    bind_positional(f, &b, n, args, f->is_method);
    for (int k = 0; k < n_kw; k++)
        bind_keyword(f, &b, kw[k], kw_args[k], fe_keyword_node(b.call, k));
    check_all_given(f, &b);
    const CallArgs now = {f->frame, b.n, b.a, b.node, b.call}, *outer_args = f->args;
    const char *outer = f->callee;
    int outer_which = f->which;
    f->args = &now;
    f->callee = bi->name;
    f->which = bi->flags >> 8;
    Value r = bi->fn(f, b.a);
    f->callee = outer;
    f->which = outer_which;
    f->args = outer_args;
    return r;
}
